#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How long from the death of a rank of a PyTorch job to the first step that all have done again?

4 ranks train with DDP over gloo. One is killed when all have done a step and, with standbys, when
all of these wait. torchrun, elasticrun and elasticrun with standbys take turns. The first restart
of each job is not counted: its standbys may have been made before the workers had imported all.
One that takes more than a minute counts as hung, which it then does for good.
"""

import datetime
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from contenders import ROOT, describe_machine, find_torches, parse_arguments, row

WORKERS = 4
RESTARTS = 5
STAGES = {"statement": "first statement", "imported": "imports", "group": "process group",
          "model": "DDP", "step": "first step"}


class Job:
    """A launcher with its log, in which it says how many standbys wait, and its workers' stamps."""

    def __init__(self, command, python, script):
        self.directory = tempfile.TemporaryDirectory(prefix="elastic_benchmark_")
        self.stamps = pathlib.Path(self.directory.name, "stamps")
        self.stamps.touch()
        self.log = pathlib.Path(self.directory.name, "log")
        environment = dict(os.environ, OMP_NUM_THREADS="1", LOGLEVEL="INFO", PYTHON_EXEC=python,
                           GLOO_SOCKET_IFNAME="lo")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([*command, script, self.stamps], env=environment,
                                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=log)
        self.attempts = 0
        self.log_begin = 0

    def wait_for(self, condition, seconds=300):
        """Result: whether it came true."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            if self.process.poll() is not None:
                raise SystemExit(self.log.read_text())
            time.sleep(0.003)
        return True

    def next_attempt(self):
        """When each worker of the next attempt came to each stage: stage -> pid -> ns; none where
        it hangs."""
        lines = []

        def is_complete():
            lines[:] = self.stamps.read_text().splitlines()
            return len(lines) >= (self.attempts + 1) * WORKERS * len(STAGES)

        if not self.wait_for(is_complete, 60):
            return None
        begin = self.attempts * WORKERS * len(STAGES)
        self.attempts += 1
        reached = {stage: {} for stage in STAGES}
        for line in lines[begin:]:
            stage, pid, ns = line.split()
            reached[stage][int(pid)] = int(ns)
        return reached

    def new_log(self):
        return self.log.read_text()[self.log_begin:]

    def note_log(self):
        """What is in the log by now is of an earlier attempt."""
        self.log_begin = len(self.log.read_text())

    def await_standbys(self):
        """Until each worker of this attempt has one."""
        if not self.wait_for(lambda: self.new_log().count("has a standby") >= WORKERS):
            raise SystemExit(self.log.read_text())

    def went(self):
        """When each standby was told to go, by the log: pid -> ns."""
        pattern = r"INFO +(\S+ \S+) .*starts warm: process (\d+)"
        offset = time.time_ns() - time.monotonic_ns()
        return {int(pid): int(datetime.datetime.fromisoformat(at).timestamp() * 1e9) - offset
                for at, pid in re.findall(pattern, self.new_log())}

    def end(self):
        self.process.terminate()
        self.process.wait()


def restart(job, reached, is_warm):
    """Kills a worker. Result: ms until the last rank has come to each stage, and from GO to the
    script; and when each came there."""
    if is_warm:
        job.await_standbys()
    time.sleep(random.uniform(0.3, 0.5))
    job.note_log()
    victim = random.choice(list(reached["step"]))
    began = time.monotonic_ns()
    os.kill(victim, signal.SIGKILL)
    reached = job.next_attempt()
    if not reached:
        return {stage: None for stage in STAGES}, None
    result = {stage: (max(stamps.values()) - began) / 1e6 for stage, stamps in reached.items()}
    went = job.went()
    result["go"] = [(ns - went[pid]) / 1e6 for pid, ns in reached["statement"].items()
                    if pid in went]
    return result, reached


def restarts(command, python, script, is_warm):
    """The results of some kills, the first left out."""
    results = []
    job = None
    try:
        reached = None
        for _ in range(RESTARTS + 1):
            if not reached:
                if job:
                    job.end()
                job = Job(command, python, script)
                reached = job.next_attempt()
            result, reached = restart(job, reached, is_warm)
            results.append(result)
            print(f"  {job.process.args[0]}: first step after {result['step']} ms",
                  file=sys.stderr)
    finally:
        if job:
            job.end()
    return results[1:]


def report(release, results):
    base = results.get("warm", [])
    for stage, text in STAGES.items():
        print(f"PyTorch {release}: death to the last {text}, ms | median | quartiles | of warm")
        for name, values in results.items():
            print(row(name, [value[stage] for value in values], [value[stage] for value in base]))
        print()
    spans = [span for value in base for span in value.get("go", [])]
    if spans:
        print(f"GO to the first statement, ms: median {statistics.median(spans):.1f}, "
              f"worst {max(spans):.1f} of {len(spans)}; not warm: "
              f"{len(base) * WORKERS - len(spans)}\n")


def script_with(modules, directory):
    """The worker, which imports these modules as well."""
    text = (ROOT / "benchmarks" / "warm_worker.py").read_text()
    more = "".join(f"import {name}\n" for name in modules)
    script = pathlib.Path(directory, "worker.py")
    script.write_text(text.replace("import torch\n", "import torch\n" + more, 1))
    return script


def main():
    arguments = parse_arguments(__doc__.splitlines()[0], runs=20, imports="")
    describe_machine(arguments)
    with tempfile.TemporaryDirectory(prefix="elastic_benchmark_") as directory:
        script = script_with([name for name in arguments.imports.split(",") if name], directory)
        for release, python in find_torches(arguments.python).items():
            common = ["--standalone", "--nproc_per_node", str(WORKERS), "--max_restarts", "1000"]
            elasticrun = [str(arguments.build / "elasticrun"), *common]
            commands = {
                "torchrun": [python, str(ROOT / "benchmarks" / "torchrun_113.py"), *common,
                             "--monitor_interval", "0.1"],
                "cold": elasticrun,
                "warm": [*elasticrun, "--warm-standby", "--standby-delay", "0"],
            }
            if arguments.only:
                commands = {name: commands[name] for name in arguments.only.split(",")}
            results = {name: [] for name in commands}
            for _ in range(-(-arguments.runs // RESTARTS)):
                for name, command in commands.items():
                    results[name] += restarts(command, python, script, name == "warm")
            report(release, results)
            print(f"load at the end: {os.getloadavg()[0]:.2f}\n", flush=True)


if __name__ == "__main__":
    main()
