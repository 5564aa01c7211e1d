#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What elasticrun costs programs of MPI and JAX (--wire), beside mpiexec and a cold start.

MPI: the whole command of 8 processes that add up their ranks, once, under elasticrun and under
mpiexec.mpich. JAX: from the start of elasticrun to the end of the first collective, of one process
and of two; and from SIGKILL of one of two to the end of the first collective of the next attempt.
Its parts end when the last process runs Python, has imported JAX, has met the others, and has the
collective's result. The sides take turns.
"""

import argparse
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import time

from contenders import ROOT, TEMPORARY, describe_machine, row
from launch import in_turns, whole_command

PROCESSES = 8
WORKER = ROOT / "tests/integration/python/jax_worker.py"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elasticrun", default=ROOT / "build/release/elasticrun",
                        type=pathlib.Path)
    parser.add_argument("--mpi", type=pathlib.Path, metavar="PROGRAM",
                        help="tests/mpi_worker of a build folder (compiled if left out)")
    parser.add_argument("--jax-python", default=ROOT / "build/jax/bin/python", type=pathlib.Path)
    parser.add_argument("--parts", default="mpi,jax")
    parser.add_argument("--runs", default=20, type=int, help="of MPI (20)")
    parser.add_argument("--jax-runs", default=7, type=int, help="of JAX (7)")
    return parser.parse_args()


def print_table(title, results, base):
    print(f"{title}, ms | median | quartiles | of {base}")
    for name, values in results.items():
        print(row(name, values, results[base]))
    print()


# ---- MPI ----------------------------------------------------------------------------------------


def compile_hello():
    program = ROOT / "build/mpi_worker"
    program.parent.mkdir(exist_ok=True)
    subprocess.run(["mpicxx.mpich", "-O2", "-o", program, ROOT / "tests/support/mpi_worker.cpp"],
                   check=True)
    return program


def measure_mpi(arguments):
    program = str(arguments.mpi or compile_hello())
    commands = {
        "mpiexec": [shutil.which("mpiexec.mpich"), "-n", str(PROCESSES), program],
        "elasticrun": [str(arguments.elasticrun), "--standalone", "--nproc-per-node",
                       str(PROCESSES), "--wire", "mpi", "--no-python", program],
    }
    results = in_turns(commands, arguments.runs, whole_command)
    print_table(f"{PROCESSES} processes of MPICH, whole command", results, "mpiexec")


# ---- JAX ----------------------------------------------------------------------------------------


class JaxJob:
    """A job whose processes gather their numbers. `began` is the moment before its start."""

    def __init__(self, arguments, processes):
        self.processes = processes
        environment = dict(os.environ, PYTHON_EXEC=str(arguments.jax_python), JAX_PLATFORMS="cpu",
                           JAX_ENABLE_PREEMPTION_SERVICE="0", TMPDIR=TEMPORARY,
                           OMP_NUM_THREADS="1", ELASTIC_TEST_WAITS=str(processes))
        self.began = time.monotonic()
        self.launcher = subprocess.Popen(
            [str(arguments.elasticrun), "--standalone", "--nproc-per-node", str(processes),
             "--max-restarts", "1", "--wire", "jax", str(WORKER)],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def await_all(self, attempt):
        """Until all have gathered the numbers of all. Result: their pids; when the last one ran
        Python, had imported JAX, had met the others, and was done."""
        pids, moments = [], []
        while len(pids) < self.processes:
            line = self.launcher.stdout.readline()
            if not line:
                raise SystemExit("a job of JAX ended too soon")
            if f" of {self.processes} gathered " in line and f" attempt {attempt} pid " in line:
                said = line.split(" pid ")[1].split()
                pids.append(int(said[0]))
                moments.append([float(moment) for moment in said[2:5]])
        return pids, [*(max(column) for column in zip(*moments)), time.monotonic()]

    def end(self):
        self.launcher.send_signal(signal.SIGTERM)
        self.launcher.communicate()


def durations(began, moments):
    """Of the parts that end at these moments, in ms."""
    return [(end - begin) * 1e3 for begin, end in zip([began, *moments], moments)]


def cold_start(arguments, processes):
    job = JaxJob(arguments, processes)
    _, moments = job.await_all(0)
    job.end()
    return durations(job.began, moments)


def restart(arguments):
    job = JaxJob(arguments, 2)
    pids, _ = job.await_all(0)
    time.sleep(0.5)
    killed = time.monotonic()
    os.kill(pids[1], signal.SIGKILL)
    _, moments = job.await_all(1)
    job.end()
    return durations(killed, moments)


def print_parts(results):
    print("median of each part, ms | until Python runs | import | meeting | collective"
          " | meetings above 500")
    for name, runs in results.items():
        medians = " | ".join(f"{statistics.median(column):.0f}" for column in zip(*runs))
        slow = sum(meeting > 500 for _, _, meeting, _ in runs)
        print(f"| {name} | {medians} | {slow} of {len(runs)} |")
    print()


def measure_jax(arguments):
    measures = {"cold start of one": lambda: cold_start(arguments, 1),
                "cold start of two": lambda: cold_start(arguments, 2),
                "restart of two": lambda: restart(arguments)}
    results = {name: [] for name in measures}
    for run in range(arguments.jax_runs + 1):
        for name, measure in measures.items():
            took = measure()
            if run > 0:  # the first one reads the files
                results[name].append(took)
    totals = {name: [sum(run) for run in runs] for name, runs in results.items()}
    for base in ("cold start of one", "cold start of two"):
        print_table("JAX, to the end of the first collective", totals, base)
    print_parts(results)


def main():
    arguments = parse_arguments()
    parts = arguments.parts.split(",")
    describe_machine(arguments, f"{arguments.runs} runs of MPI, {arguments.jax_runs} of JAX")
    if "mpi" in parts:
        measure_mpi(arguments)
    if "jax" in parts:
        measure_jax(arguments)


if __name__ == "__main__":
    main()
