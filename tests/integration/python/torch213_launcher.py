# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What PyTorch's own tests of its launcher ask of it, asked of elasticrun.

  torch213_launcher.py ELASTICRUN [NAME OF A CASE…]

Each case calls torch.distributed.run.main, in whose place elasticrun is put. Without a path
("torchrun" instead) it is PyTorch's own: then the cases are tested.
"""

import concurrent.futures
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import torch.distributed.run as launch
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError, ProcessFailure

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from ports import reserved_port

PROGRAM = sys.argv.pop(1) if __name__ == "__main__" else "torchrun"
ELASTICRUN = None if PROGRAM == "torchrun" else PROGRAM

# Leaves what a worker is told in a file of its rank.
REPORTER = """
import json, os, sys
names = ("RANK", "LOCAL_RANK", "ROLE_NAME", "WORLD_SIZE", "OMP_NUM_THREADS",
         "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RUN_ID",
         "TORCHELASTIC_USE_AGENT_STORE", "CUDA_VISIBLE_DEVICES")
told = {name: os.environ.get(name) for name in names}
told["argv"] = sys.argv[2:]
path = os.path.join(sys.argv[1], os.environ["GROUP_RANK"] + "." + os.environ["RANK"])
with open(path, "w") as file:
    json.dump(told, file)
print("out of", os.environ["RANK"])
print("err of", os.environ["RANK"], file=sys.stderr)
"""

REPORTER_IN_BASH = """#!/bin/bash
echo '{"RANK": "'$RANK'", "WORLD_SIZE": "'$WORLD_SIZE'", "argv": []}' > "$1/$GROUP_RANK.$RANK"
"""

# Adds ranks by a group that meets as it is told to.
ADDER = """
import os, sys
import torch, torch.distributed as dist
assert dist.is_torchelastic_launched()
dist.init_process_group("gloo", init_method=sys.argv[1], rank=int(os.environ["RANK"]),
                        world_size=int(os.environ["WORLD_SIZE"]))
ranks = torch.tensor(dist.get_rank())
dist.all_reduce(ranks)
assert int(ranks) == sum(range(dist.get_world_size()))
print("sum", int(ranks), flush=True)
dist.barrier()
dist.destroy_process_group()
"""

RAISER = """
from torch.distributed.elastic.multiprocessing.errors import record
@record
def main():
    raise RuntimeError("a worker's own words")
main()
"""


def main_of_elasticrun(args=None):
    """torch.distributed.run.main by elasticrun: its exit code 2 is a ValueError, any other failure
    a ChildFailedError."""
    result = subprocess.run([ELASTICRUN, *map(str, args)], text=True, stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                            env={"PYTHON_EXEC": sys.executable, **os.environ})
    sys.stdout.write(result.stdout)
    sys.stderr.write(result.stderr)
    if result.returncode == 2:
        raise ValueError(result.stderr)
    if result.returncode != 0:
        failure = ProcessFailure(local_rank=0, pid=0, exitcode=result.returncode, error_file="")
        raise ChildFailedError("elasticrun", {0: failure})


class Launcher(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "told").mkdir()
        self.script = self.file("reporter.py", REPORTER)
        changed = {"TMPDIR": str(self.folder), "GLOO_SOCKET_IFNAME": "lo"}
        for patch in (unittest.mock.patch.dict(os.environ, changed),
                      unittest.mock.patch("torch.distributed.run.main",
                                          main_of_elasticrun if ELASTICRUN else launch.main)):
            patch.start()
            self.addCleanup(patch.stop)
        os.environ.pop("OMP_NUM_THREADS", None)

    def file(self, name, content):
        path = self.folder / name
        path.write_text(content, encoding="utf-8")
        path.chmod(0o755)
        return path

    @property
    def target(self):
        """Where REPORTER reports."""
        return self.folder / "told"

    def told(self):
        """What each worker was told, by group rank and rank."""
        return {path.name: json.loads(path.read_text()) for path in self.target.iterdir()}

    def check_world(self, size):
        self.assertEqual({f"0.{rank}" for rank in range(size)}, set(self.told()))
        for rank, each in self.told().items():
            self.assertEqual(str(size), each["WORLD_SIZE"])
            self.assertEqual(rank, f"0.{each['RANK']}")

    def launch(self, *args):
        """What the launcher and its workers write."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            launch.main([str(word) for word in args])
        return out.getvalue() + err.getvalue()

    # ---- what is run ----------------------------------------------------------------------------

    def test_a_script_as_before_there_was_a_rendezvous(self):
        self.launch("--nnodes=1", "--nproc-per-node=4", "--monitor-interval=1",
                    "--start-method=spawn", "--master-addr=localhost",
                    f"--master-port={reserved_port()}", "--node-rank=0",
                    self.script, self.target, "--lr", "${local_rank}")
        self.check_world(4)
        for each in self.told().values():
            self.assertEqual(["--lr", each["LOCAL_RANK"]], each["argv"])

    def test_a_script(self):
        for method in ("spawn", "fork", "forkserver"):
            self.launch("--nnodes=1", "--nproc_per_node", "4", "--rdzv-backend=c10d",
                        "--rdzv-endpoint=localhost:0", "--rdzv-id=job1", "--monitor_interval", "1",
                        f"--start-method={method}", "--role", "trainer", "--max-restarts", "3",
                        self.script, self.target)
            self.check_world(4)
            first = self.told()["0.0"]
            self.assertEqual("trainer", first["ROLE_NAME"])
            self.assertEqual("job1", first["TORCHELASTIC_RUN_ID"])
            self.assertEqual("3", first["TORCHELASTIC_MAX_RESTARTS"])
            self.assertEqual("0", first["TORCHELASTIC_RESTART_COUNT"])
            self.assertEqual("True", first["TORCHELASTIC_USE_AGENT_STORE"])
            self.assertEqual("1", first["OMP_NUM_THREADS"])

    def test_a_program(self):
        program = self.file("reporter.sh", REPORTER_IN_BASH)
        common = ["--standalone", "--nproc-per-node=2"]
        with self.assertRaises(ValueError):
            self.launch(*common, "--no-python", "--module", program, self.target)
        with self.assertRaises(ChildFailedError):
            self.launch(*common, program, self.target)
        self.launch(*common, "--no-python", program, self.target)
        self.check_world(2)

    def test_a_module(self):
        with unittest.mock.patch.dict(os.environ, {"PYTHONPATH": str(self.folder)}):
            self.launch("--standalone", "-m", "reporter", self.target)
        self.check_world(1)

    def test_a_path(self):
        self.launch("--run-path", "--standalone", "--nproc-per-node=2", self.script, self.target,
                    "x")
        self.check_world(2)
        self.assertEqual(["x"], self.told()["0.0"]["argv"])

    def test_variables_are_defaults_of_options(self):
        program = self.file("reporter.sh", REPORTER_IN_BASH)
        for name, value, what in (("PET_NO_PYTHON", "1", program), ("PET_MODULE", "1", "reporter"),
                                  ("PET_NO_PYTHON", "0", self.script)):
            changed = {"PET_NNODES": "1", "PET_NPROC_PER_NODE": "3", "PET_STANDALONE": "1",
                       "PET_START_METHOD": "fork", "PYTHONPATH": str(self.folder), name: value}
            with unittest.mock.patch.dict(os.environ, changed):
                self.launch(what, self.target)
            self.check_world(3)
            for path in self.target.iterdir():
                path.unlink()

    # ---- how many -------------------------------------------------------------------------------

    def test_one_worker_is_the_default(self):
        self.launch("--nnodes=1", self.script, self.target)
        self.check_world(1)

    def test_a_worker_for_each_processor(self):
        for kind in ("auto", "cpu"):
            self.launch("--standalone", f"--nproc-per-node={kind}", self.script, self.target)
            self.check_world(len(os.sched_getaffinity(0)))

    def test_a_number_that_is_none(self):
        with self.assertRaises(ValueError):
            self.launch("--standalone", "--nproc-per-node=unknown", self.script, self.target)

    # ---- how they meet --------------------------------------------------------------------------

    def test_a_range_of_nodes_and_quotes_around_settings(self):
        self.launch("--nnodes=1:2", "--nproc-per-node=2", "--rdzv-backend=c10d",
                    f"--rdzv-endpoint=localhost:{reserved_port()}", "--rdzv-id=job2",
                    "--rdzv-conf='join_timeout=30,last_call_timeout=1,timeout=5'",
                    self.script, self.target)
        self.check_world(2)

    def test_two_agents(self):
        words = [ELASTICRUN] if ELASTICRUN else [sys.executable, "-m", "torch.distributed.run"]
        words += ["--nnodes=2", "--nproc-per-node=2", "--rdzv-backend=c10d", "--rdzv-id=job3",
                  f"--rdzv-endpoint=localhost:{reserved_port()}", "--start-method=spawn",
                  str(self.script), str(self.target)]
        environment = {"PYTHON_EXEC": sys.executable, **os.environ}
        with concurrent.futures.ThreadPoolExecutor() as pool:
            agents = [pool.submit(subprocess.run, words, env=environment, check=True,
                                  capture_output=True) for _ in range(2)]
            for agent in agents:
                agent.result()
        self.assertEqual({"0.0", "0.1", "1.2", "1.3"}, set(self.told()))
        self.assertEqual({"4"}, {each["WORLD_SIZE"] for each in self.told().values()})

    def test_groups_of_pytorch_meet_by_their_variables(self):
        adder = self.file("adder.py", ADDER)
        self.launch("--standalone", "--nproc-per-node=2", "--logs_specs=default", "--redirects=3",
                    "--log-dir", self.folder / "logs", adder, "env://")
        for rank in (0, 1):
            log = next(self.folder.glob(f"logs/*/attempt_0/{rank}/stdout.log"))
            self.assertEqual("sum 1\n", log.read_text())

    def test_groups_of_pytorch_meet_at_an_address(self):
        adder, port = self.file("adder.py", ADDER), reserved_port()
        out = self.launch("--nnodes=1", "--nproc-per-node=2", "--node-rank=0", "--tee=1",
                          "--master-addr=localhost", f"--master-port={port}", adder,
                          f"tcp://localhost:{port}")
        if ELASTICRUN:  # PyTorch's own writes past sys.stdout
            self.assertEqual(2, out.count("sum 1\n"))

    # ---- output and failures --------------------------------------------------------------------

    def test_logs(self):
        template = "[${role_name}-${local_rank}-${rank}]:"
        with unittest.mock.patch.dict(os.environ,
                                      {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": template}):
            out = self.launch("--standalone", "--nproc-per-node=2", "--redirect=3", "--tee=3",
                              "--log-dir", self.folder / "logs", self.script, self.target)
        for rank in (0, 1):
            for stream, text in (("stdout", "out"), ("stderr", "err")):
                log = next(self.folder.glob(f"logs/*/attempt_0/{rank}/{stream}.log"))
                self.assertEqual(f"{text} of {rank}\n", log.read_text())
                if ELASTICRUN:
                    self.assertIn(f"[default-{rank}-{rank}]:{text} of {rank}\n", out)

    def test_logs_specs_that_nobody_defines(self):
        with self.assertRaises(ValueError):
            self.launch("--standalone", "--logs-specs=unknown", self.script, self.target)

    def test_a_worker_that_raises(self):
        raiser = self.file("raiser.py", RAISER)
        reply = self.folder / "reply.json"
        with unittest.mock.patch.dict(os.environ, {"TORCHELASTIC_ERROR_FILE": str(reply)}):
            with self.assertRaises(ChildFailedError):
                self.launch("--standalone", "--max-restarts=0", raiser)
        if ELASTICRUN:
            message = json.loads(reply.read_text())["message"]
            self.assertEqual("RuntimeError: a worker's own words", message["message"])

    def test_one_gpu_for_each_worker(self):
        with unittest.mock.patch.dict(os.environ, {"CUDA_VISIBLE_DEVICES": "5, 7"}):
            self.launch("--standalone", "--nproc-per-node=2", "--virtual-local-rank",
                        self.script, self.target)
        self.assertEqual(["0", "0"], [each["LOCAL_RANK"] for each in self.told().values()])
        self.assertEqual(["5", "7"], [self.told()[f"0.{rank}"]["CUDA_VISIBLE_DEVICES"]
                                      for rank in (0, 1)])


# Leaves its whole environment, and fails as its arguments say: of which rank, up to which attempt.
FAILING = """
import json, os, sys
folder, rank, attempts = sys.argv[1], sys.argv[2], int(sys.argv[3])
attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
name = os.path.join(folder, attempt + "." + os.environ["RANK"])
with open(name + ".part", "w") as file:
    json.dump(dict(os.environ), file)
os.rename(name + ".part", name)
if int(attempt) < attempts:
    while sum(not name.endswith(".part") for name in os.listdir(folder)) < 2 * (int(attempt) + 1):
        pass
    if os.environ["RANK"] == rank:
        sys.exit(3)
    import time
    time.sleep(600)
"""


class SameAsTorchrun(unittest.TestCase):
    """A script started by both launchers: what it finds, and what is left of it."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.script = self.folder / "failing.py"
        self.script.write_text(FAILING, encoding="utf-8")

    def run_both(self, *options, attempts):
        return [self.run_one(name, words, options, attempts) for name, words in
                (("torchrun", [sys.executable, "-m", "torch.distributed.run"]),
                 ("elasticrun", [ELASTICRUN]))]

    def run_one(self, name, words, options, attempts):
        folder = self.folder / name
        told, logs = folder / "told", folder / "logs"
        told.mkdir(parents=True)
        environment = {"PYTHON_EXEC": sys.executable, "KEPT": "as it is", **os.environ}
        words = [*words, "--nproc-per-node=2", "--monitor-interval=0.1", "--redirects=3",
                 "--log-dir", logs, "--event-log-handler=console", *options, self.script, told,
                 "1", str(attempts)]
        result = subprocess.run(list(map(str, words)), env=environment, capture_output=True,
                                text=True, check=False)
        return {
            "exit code": result.returncode,
            "environment": {path.name: self.comparable(json.loads(path.read_text()))
                            for path in told.iterdir()},
            "files": sorted(str(path.relative_to(next(logs.iterdir())))
                            for path in logs.rglob("*.log")) if any(logs.iterdir()) else [],
            "events": [self.comparable_event(json.loads(line))
                       for line in result.stderr.splitlines() if line.startswith('{"name"')],
            "report": self.report_of(result.stderr),
        }

    @staticmethod
    def comparable(environment):
        """Without what is random, or documented to differ."""
        for name in ("MASTER_PORT", "MASTER_ADDR", "TORCHELASTIC_RUN_ID", "ELASTIC_CONTROL"):
            environment.pop(name, None)
        error_file = pathlib.Path(environment["TORCHELASTIC_ERROR_FILE"])
        environment["TORCHELASTIC_ERROR_FILE"] = "/".join(error_file.parts[-3:])
        return environment

    @staticmethod
    def comparable_event(event):
        told = event["metadata"]
        inner = json.loads(told["metadata"])
        return (event["source"], told["state"], told["global_rank"], told["group_rank"],
                told["role"], told["agent_restarts"], told["duration_ms"] is None,
                told["raw_error"], inner["group_world_size"], inner["entry_point"],
                inner.get("local_rank"), inner.get("exit_code"))

    @staticmethod
    def report_of(text):
        """The fields of the root cause but for those that differ from run to run."""
        fields = {}
        for line in text.partition("Root Cause (first observed failure):")[2].splitlines():
            name, colon, value = line.partition(":")
            if colon and name.strip() in ("rank", "exitcode", "error_file", "traceback"):
                fields[name.strip()] = value.partition("(pid:")[0].strip()
        return fields

    def test_a_restart(self):
        theirs, ours = self.run_both("--standalone", "--max-restarts=2", attempts=1)
        self.assertEqual({"0.0", "0.1", "1.0", "1.1"}, set(ours["environment"]))
        self.maxDiff = None
        self.assertEqual(theirs, ours)

    def test_a_failure(self):
        theirs, ours = self.run_both("--max-restarts=0", "--role=trainer", attempts=1)
        self.assertEqual(1, ours["exit code"])
        self.assertEqual("3", ours["report"]["exitcode"])
        # The other worker was only stopped, which torchrun says otherwise.
        for each in (theirs, ours):
            each["events"] = [event for event in each["events"] if event[2] != 0]
        self.maxDiff = None
        self.assertEqual(theirs, ours)


if __name__ == "__main__":
    if not ELASTICRUN:
        del SameAsTorchrun
    unittest.main()
