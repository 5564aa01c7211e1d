# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Whether elasticrun takes what torchrun takes: each option, variable and setting of the installed
release of PyTorch, and of those in a table.

  torchrun_options.py ELASTICRUN TABLE

record_torchrun_options.py writes the table.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "vectors"))

import record_torchrun_options as installed

ELASTICRUN = sys.argv.pop(1)
TABLE = json.loads(pathlib.Path(sys.argv.pop(1)).read_text(encoding="utf-8"))

# A value for each option that takes one and has no choices, by where it goes.
VALUES = {
    "nnodes": "1", "nproc_per_node": "1", "rdzv_backend": "static",
    "rdzv_endpoint": "localhost:0", "rdzv_id": "job", "rdzv_conf": "timeout=60",
    "max_restarts": "1", "monitor_interval": "0.1", "event_log_handler": "null",
    "role": "trainer", "log_dir": "/dev/null", "redirects": "0", "tee": "0",
    "log_line_prefix_template": "[${rank}]:", "local_ranks_filter": "0",
    "duplicate_stdout_filters": "text", "duplicate_stderr_filters": "text", "node_rank": "0",
    "master_addr": "localhost", "master_port": "0", "local_addr": "localhost",
    "logs_specs": "default", "signals_to_handle": "SIGTERM", "shutdown_timeout": "30",
}
# With these options a job would use the port 29500, of which there is only one.
COMPANIONS = dict.fromkeys(("master_addr", "node_rank", "rdzv_backend"), ["--master-port=0"])
# A value for each setting of --rdzv-conf; 60 for all others.
SETTINGS = {
    "is_host": "1", "store_type": "tcp", "protocol": "http", "etcd_prefix": "/jobs",
    "keep_alive_interval": "5", "keep_alive_max_attempt": "3",
}
# torchrun sets it itself, to --node-rank.
OWN_SETTINGS = {"rank"}
# Defaults that differ, or have another form: elasticrun's; empty: it has none.
DEFAULTS = {
    "nnodes": "1",
    "monitor_interval": "",  # elasticrun does not poll
    "start_method": "",  # a script always runs in a new process
    "signals_to_handle": "TORCHELASTIC_SIGNALS_TO_HANDLE, else SIGTERM,SIGINT,SIGHUP,SIGQUIT",
}


def releases():
    return {**TABLE, installed.release(): installed.recorded()}


def options():
    """Each option once, with the names and choices that any release has."""
    merged = {}
    for release in releases().values():
        for option in release["options"]:
            known = merged.setdefault(option["dest"], dict(option, names=[], choices=[]))
            known["names"] += [n for n in option["names"] if n not in known["names"]]
            known["choices"] += [c for c in option["choices"] or () if c not in known["choices"]]
    return list(merged.values())


def settings():
    return sorted(set().union(*(release["settings"] for release in releases().values()))
                  - OWN_SETTINGS)


def values(option):
    if option["is_flag"]:
        return [None]
    return option["choices"] or [VALUES[option["dest"]]]


def run(words, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PET_")}
    return subprocess.run([ELASTICRUN, *words], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, env={**environment, **variables})


class Options(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "script.py").write_text("", encoding="utf-8")

    def command(self, option):
        """What to run with an option."""
        if option["dest"] == "module":
            return ["this"]
        if option["dest"] == "no_python":
            return ["true"]
        return [str(self.folder / "script.py")]

    def check(self, cases):
        """Each case is taken: (words, variables)."""
        def outcome(case):
            words, variables = case
            result = run(words, TMPDIR=str(self.folder), **variables)
            return case, result.returncode, result.stderr
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            for case, code, said in pool.map(outcome, cases):
                with self.subTest(case=case):
                    self.assertEqual(0, code, said)

    def test_the_table_has_what_torchrun_has(self):
        if installed.release() in TABLE:
            self.assertEqual(TABLE[installed.release()], installed.recorded())

    def test_each_option_is_taken_by_each_of_its_names(self):
        cases = []
        for option in options():
            for name in option["names"]:
                for value in values(option):
                    words = [name] if value is None else [name, value]
                    words += COMPANIONS.get(option["dest"], [])
                    cases.append((words + self.command(option), {}))
        self.assertGreater(len(cases), 60)
        self.check(cases)

    def test_each_option_is_taken_from_its_variable(self):
        cases = []
        for option in options():
            if option["dest"] == "print_completion":  # it shows something, in place of a job
                continue
            for value in values(option):
                variable = "PET_" + option["dest"].upper()
                words = COMPANIONS.get(option["dest"], []) + self.command(option)
                cases.append((words, {variable: "1" if value is None else value}))
        self.check(cases)

    def test_each_setting_is_taken(self):
        self.check([(["--nnodes=1", "--rdzv-backend", backend, "--rdzv-endpoint", "localhost:0",
                      "--rdzv-conf", f"{name}={SETTINGS.get(name, '60')}", "--no-python", "true"],
                     {}) for name in settings() for backend in ("static", "c10d")])

    def test_the_defaults_are_the_same(self):
        page = run(["--print-man-page"]).stdout.replace("\\-", "-").replace("\\&", "")
        found = {names.split(", ")[-1]: default for names, default in re.findall(
            r"^\.TP\n\\fB(.*?)\\fR.*\n.*?(?:Default: (.*)\.)?$", page, re.MULTILINE)}
        for option in options():
            name, default = "--" + option["dest"].replace("_", "-"), option["default"]
            if default in (None, False, "", []):  # elasticrun says what that means
                continue
            with self.subTest(option=name):
                self.assertEqual(DEFAULTS.get(option["dest"], str(default)), found[name])


if __name__ == "__main__":
    unittest.main()
