# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What the launch, restart and idle benchmarks have in common: who is measured, and how."""

import argparse
import os
import pathlib
import platform
import select
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def parse_arguments(description, runs):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", default=ROOT / "build" / "release", type=pathlib.Path)
    parser.add_argument("--runs", default=runs, type=int, help=f"warm runs of each ({runs})")
    parser.add_argument("--python", default=find_torch(), help="the python3 that imports torch")
    parser.add_argument("--only", help="comma-separated names: spawn_loop, elasticrun, ...")
    return parser.parse_args()


def find_torch():
    for python in ("python3", "/usr/bin/python3"):
        command = [python, "-c", "import torch.distributed.run"]
        if shutil.which(python) and subprocess.run(command, capture_output=True).returncode == 0:
            return python
    return None


def contenders(arguments, workers, program, restarts=0):
    """Name -> command line that runs `workers` of `program`; only what is there."""
    build = arguments.build
    found = {
        "spawn_loop": [build / "benchmarks" / "spawn_loop", restarts, workers, *program],
        "elasticrun": [build / "elasticrun", "--standalone", "--nproc-per-node", workers,
                       "--max-restarts", restarts, "--no-python", *program],
    }
    found["unguarded"] = [found["elasticrun"][0], "--guard", "none", *found["elasticrun"][1:]]
    if shutil.which("mpirun"):
        found["mpirun"] = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", workers,
                           *program]
    if arguments.python:
        # 1.13 polls every 5 s unless told otherwise; 0.1 s is what later versions do.
        found["torchrun"] = [arguments.python, ROOT / "benchmarks" / "torchrun_113.py",
                             "--standalone", "--nproc_per_node", workers, "--max_restarts",
                             restarts, "--monitor_interval", "0.1", "--no_python", *program]
    if arguments.only:
        found = {name: found[name] for name in arguments.only.split(",") if name in found}
    return {name: [str(word) for word in command] for name, command in found.items()}


def start(command):
    """Starts a command with its output discarded; the pid."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    actions = [(os.POSIX_SPAWN_DUP2, nowhere, fd) for fd in (0, 1, 2)]
    pid = os.posix_spawnp(command[0], command, environment, file_actions=actions)
    os.close(nowhere)
    return pid


def wait(pid, seconds=30):
    """The wait status of a launcher; None where it hangs, as mpirun does at times: killed then."""
    descriptor = os.pidfd_open(pid)
    ready, _, _ = select.select([descriptor], [], [], seconds)
    os.close(descriptor)
    if not ready:
        os.kill(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    return status if ready else None


def end(pid):
    """Stops a launcher and what it runs."""
    os.kill(pid, signal.SIGTERM)
    wait(pid)


class Stamps:
    """The file that the puppet appends to: "start <pid> <ns>" and "term <pid> <ns>"."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="elastic_benchmark_")
        self.path = os.path.join(self.directory.name, "stamps")
        self.seen = 0
        open(self.path, "w").close()

    def take(self, kind, count, seconds=60):
        """The next `count` stamps of a kind, as (pid, ns); what comes between is dropped."""
        taken = []
        deadline = time.monotonic() + seconds
        while len(taken) < count:
            lines = open(self.path).read().splitlines()
            for line in lines[self.seen:]:
                self.seen += 1
                what, pid, nanoseconds = line.split()
                if what == kind:
                    taken.append((int(pid), int(nanoseconds)))
                if len(taken) == count:
                    break
            if len(taken) < count:
                if time.monotonic() > deadline:
                    sys.exit(f"only {len(taken)} of {count} {kind} stamps came")
                time.sleep(0.003)
        return taken

    def forget(self):
        """Drops what is there."""
        self.seen = len(open(self.path).read().splitlines())


def describe_machine(arguments):
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo")
                  if line.startswith("model name")), "unknown processor")
    print(f"{os.cpu_count()} x {model}, Linux {platform.release()}, load "
          f"{os.getloadavg()[0]:.2f}; {arguments.runs} runs of each, in turns\n")


def row(name, values, base):
    """One line of a table: median, quartiles, and the ratio to the median of the bare loop."""
    ordered = sorted(value for value in values if value is not None)
    hung = len(values) - len(ordered)
    if hung:
        name = f"{name} ({hung} of {len(values)} hung)"
    if not ordered:
        return f"| {name} | | | |"
    low, high = ordered[len(ordered) // 4], ordered[3 * len(ordered) // 4]
    median = statistics.median(ordered)
    ratio = f"{median / statistics.median(base):.2f}" if base else ""
    return f"| {name} | {median:.3f} | {low:.3f} - {high:.3f} | {ratio} |"
