# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What the launch, restart and idle benchmarks have in common: who is measured, and how."""

import argparse
import json
import os
import pathlib
import platform
import select
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Of launchers, in memory where that can be. An ext4 without a journal passes over every inode that
# was deleted within the last seconds when it makes a file: the directories of a job then cost five
# times as much after a hundred other jobs, which one job by itself does not meet.
TEMPORARY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()


def parse_arguments(description, runs, **more):
    """Options that all have, and `more`: names and defaults."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--build", default=ROOT / "build" / "release", type=pathlib.Path)
    parser.add_argument("--runs", default=runs, type=int, help=f"warm runs of each ({runs})")
    add_python_option(parser)
    parser.add_argument("--only", help="comma-separated names: spawn_loop, elasticrun, ...")
    for name, default in more.items():
        parser.add_argument(f"--{name}", default=default, help=f"by default {default}")
    arguments = parser.parse_args()
    for program in ("elasticrun", "tests/puppet", "benchmarks/spawn_loop"):
        if not (arguments.build / program).exists():
            parser.error(f"there is no {arguments.build / program}; benchmarks/README.md says how "
                         "they are built")
    return arguments


def add_python_option(parser):
    parser.add_argument("--python", action="append", metavar="PATH",
                        help="a python3 that imports torch; several times for several releases "
                             "(by default python3, /usr/bin/python3 and build/torch-2.13)")


def find_torches(pythons=None):
    """The Pythons that import torch, by its release: "1.13", "2.13"."""
    question = "import torch.distributed.run, torch; print(torch.__version__)"
    found = {}
    for python in pythons or ("python3", "/usr/bin/python3", ROOT / "build/torch-2.13/bin/python"):
        if not shutil.which(python):
            continue
        answer = subprocess.run([python, "-c", question], capture_output=True, text=True)
        if answer.returncode == 0:
            found.setdefault(".".join(answer.stdout.split(".")[:2]), str(python))
    return dict(sorted(found.items(), key=lambda each: [int(part) for part in each[0].split(".")]))


def launchers_of(release, python, workers, restarts, program):
    """torchrun, and what is installed beside it: Accelerate's launcher, NVIDIA's."""
    # 1.13 polls every 5 s unless told otherwise; 0.1 s is what later versions do.
    common = ["--max_restarts", restarts, "--monitor_interval", "0.1"]
    yield f"torchrun {release}", [python, ROOT / "benchmarks" / "torchrun_113.py", "--standalone",
                                  "--nproc_per_node", workers, *common, "--no_python", *program]
    question = "import importlib.util, sys; sys.exit(not importlib.util.find_spec('{}'))"

    def has(package):
        return subprocess.run([python, "-c", question.format(package)]).returncode == 0

    if has("accelerate"):
        yield f"accelerate {release}", [
            python, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", workers,
            "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no", *common,
            "--no_python", *program]
    if has("nvidia_resiliency_ext"):
        yield f"ft_launcher {release}", [
            python, "-m", "nvidia_resiliency_ext.fault_tolerance.launcher", "--nnodes", "1",
            "--nproc-per-node", workers, "--rdzv_backend", "c10d", "--rdzv_endpoint",
            "localhost:0", *common, "--no_python", *program]


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
    for release, python in find_torches(arguments.python).items():
        found.update(launchers_of(release, python, workers, restarts, program))
    if arguments.only:
        found = {name: found[name] for name in arguments.only.split(",") if name in found}
    return {name: [str(word) for word in command] for name, command in found.items()}


def start(command, **variables):
    """Starts a command with its output discarded; the pid."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    environment = dict(os.environ, OMP_NUM_THREADS="1", TMPDIR=TEMPORARY, **variables)
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


def free_endpoints(count):
    """So many of this host, as --rdzv-endpoint has them."""
    probes = [socket.socket() for _ in range(count)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ",".join(f"127.0.0.1:{port}" for port in ports)


def find_leader(endpoints, run_id):
    """Which of a job's servers leads it: its place in the list; None: nobody does now."""
    question = json.dumps({"kind": "seek", "run_id": run_id, "list": endpoints, "most_term": 0,
                           "index": -1}).encode()
    greeting = b"elastic rendezvous\n" + struct.pack("<I", len(question))
    for place, endpoint in enumerate(endpoints.split(",")):
        host, port = endpoint.split(":")
        try:
            with socket.create_connection((host, int(port)), 1) as server:
                server.sendall(greeting + question)
                size, = struct.unpack("<I", server.recv(4, socket.MSG_WAITALL))
                if json.loads(server.recv(size, socket.MSG_WAITALL))["kind"] == "leads":
                    return place
        except (OSError, struct.error):  # the latter if it hangs up
            continue
    return None


class Stamps:
    """The file that the puppet appends to: "start <pid> <ns>" and "term <pid> <ns>"."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="elastic_benchmark_")
        self.path = os.path.join(self.directory.name, "stamps")
        self.seen = 0
        self.waiting = []
        open(self.path, "w").close()

    def read(self):
        """What came since the last time, as (kind, pid, ns)."""
        with open(self.path) as file:
            file.seek(self.seen)
            text = file.read()
        whole = text[:text.rfind("\n") + 1]
        self.seen += len(whole)
        lines = (line.split() for line in whole.splitlines())
        return [(kind, int(pid), int(nanoseconds)) for kind, pid, nanoseconds in lines]

    def take(self, kind, count, seconds=60):
        """The next `count` stamps of a kind, as (pid, ns); what comes between is dropped."""
        taken = []
        deadline = time.monotonic() + seconds
        while len(taken) < count:
            self.waiting += self.read()
            while self.waiting and len(taken) < count:
                what, pid, nanoseconds = self.waiting.pop(0)
                if what == kind:
                    taken.append((pid, nanoseconds))
            if len(taken) < count:
                if time.monotonic() > deadline:
                    sys.exit(f"only {len(taken)} of {count} {kind} stamps came")
                time.sleep(0.003)
        return taken

    def forget(self):
        """Drops what is there."""
        self.waiting.clear()
        self.read()


def describe_machine(arguments, how=None):
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo")
                  if line.startswith("model name")), "unknown processor")
    print(f"{os.cpu_count()} x {model}, Linux {platform.release()}, load "
          f"{os.getloadavg()[0]:.2f}; {how or f'{arguments.runs} runs of each, in turns'}; "
          f"temporary files in {TEMPORARY}\n")


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
