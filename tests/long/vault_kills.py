#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Kills workers in commits into the vault and in restores, and agents with what they keep.

  vault_kills.py ELASTICRUN PYTHON [--kills 1000] [--each 50] [--agents 50] [--seed 1]

Jobs of 2 ranks of plain Python, with --each kills in each job; half of the kills hit a restore or
the first commit after one. Every job has to end with the state of one that nobody disturbs. Then
agents are killed: their workers have to end, and no process may hold memory of the vault. The first
thing that is wrong ends this with exit status 1, and what the job wrote.
"""

import hashlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import kills as kill_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKER = ROOT / "tests" / "integration" / "python" / "vault_worker.py"
RANKS = 2
# A restore has 5 checksums, and a commit 4.
CALLS = {"restore": 9, "commit": 24}
STEPS_BETWEEN = CALLS["commit"] // 4
PATIENCE = 120


def start(arguments, folder, steps, plan, restarts):
    words = [arguments.elasticrun, "--nproc-per-node", RANKS, "--max-restarts", restarts,
             "--monitor-interval", 0.01, "--vault-limit", "8M", "--log-dir", folder, WORKER, steps,
             plan]
    environment = dict(os.environ, PYTHON_EXEC=arguments.python, TMPDIR=folder,
                       PYTHONPATH=str(ROOT / "python"))
    return subprocess.Popen([str(word) for word in words], env=environment, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT)


def expected_end(rank, steps):
    length = 1000
    state = hashlib.sha256(str(rank).encode()).digest() * length
    for step in range(1, steps + 1):
        state = hashlib.sha256(state + str(step).encode()).digest() * length
    return hashlib.sha256(state).hexdigest()[:16]


def kill_workers(arguments, kills, choose):
    plan = ",".join(
        f"{choose.randrange(RANKS)}:{1 + choose.randrange(CALLS[choose.choice(list(CALLS))])}"
        for _ in range(kills))
    steps = kills * STEPS_BETWEEN + 1
    with tempfile.TemporaryDirectory(prefix="elastic_kills_") as folder:
        job = start(arguments, folder, steps, plan, kills)
        try:
            text, _ = job.communicate(timeout=PATIENCE + kills)
        except subprocess.TimeoutExpired:
            job.kill()
            sys.exit(f"{job.communicate()[0]}\nthe job hangs; its kills: {plan}")
    ends = dict(re.findall(r"rank (\d) ends with (\w+)", text))
    done = len(re.findall(r"ended: SIGKILL", text))
    if job.returncode != 0 or done < kills or ends != {
            str(rank): expected_end(rank, steps) for rank in range(RANKS)}:
        sys.exit(f"{text}\nit ended with {job.returncode} and {ends} after {done} kills: {plan}")


def vault_files(pid):
    """The inodes of the vault's memory that a process has open or mapped."""
    found = set()
    try:
        for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
            if "memfd:elastic-vault" in line:
                found.add(int(line.split()[4]))
        for entry in os.scandir(f"/proc/{pid}/fd"):
            if "memfd:elastic-vault" in os.readlink(entry.path):
                found.add(os.stat(entry.path).st_ino)
    except OSError:
        pass  # it has ended
    return found


def processes():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def wait_for(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"{what} did not come")
        time.sleep(0.005)


def kill_agent(arguments, choose):
    with tempfile.TemporaryDirectory(prefix="elastic_kills_") as folder:
        job = start(arguments, folder, 10**9, "", 0)
        try:
            wait_for(lambda: len(vault_files(job.pid)) == 2 * RANKS, "the memory of all commits")
            files = vault_files(job.pid)
            time.sleep(choose.random() * 0.02)
            job.send_signal(signal.SIGKILL)
            # The workers have the other end of its output.
            text, _ = job.communicate(timeout=PATIENCE)
        finally:
            job.kill()
        wait_for(lambda: not any(files & vault_files(pid) for pid in processes()),
                 f"{text}\nthe end of all that holds memory of the agent")


def main():
    arguments = kill_tests.parse_arguments(
        __doc__, lambda parser: parser.add_argument("--agents", type=int, default=50))
    for kills in kill_tests.jobs(arguments):
        kill_workers(arguments, kills, arguments.choose)
    for _ in range(arguments.agents):
        kill_agent(arguments, arguments.choose)
    print(f"{arguments.kills} kills of workers and {arguments.agents} of agents")


if __name__ == "__main__":
    main()
