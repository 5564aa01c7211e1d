#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Kills and replaces ranks of sharded trainings, whose state lies in the vault.

  shard_kills.py ELASTICRUN PYTHON [--rounds 5] [--seed 1]

In each round FSDP2 with 3 ranks, HSDP with 2x2, and FSDP2 with tensor parallelism with 2x2, and
four kills in each: in a commit, twice in a row, and at any moment. Each has to end with the
parameters, moments and random states of an undisturbed training, and all that were not killed in
their first processes. The first thing that is wrong ends this with exit status 1, and what the job
wrote.
"""

import argparse
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKER = ROOT / "tests" / "integration" / "python" / "survive_shards.py"
RANKS = {"fsdp": 3, "hsdp": 4, "tp": 4}
PATIENCE = 600


def train(arguments, kind, choose):
    ranks = RANKS[kind]
    moments = [choose.randint(1, 150), choose.randint(1, 40), choose.randint(1, 40),
               f"~{choose.randint(1, 400)}"]
    kills = ",".join(f"{choose.randrange(ranks)}:{moment}" for moment in moments)
    with tempfile.TemporaryDirectory(prefix="elastic_kills_") as folder:
        words = [arguments.elasticrun, "--standalone", "--nproc-per-node", ranks, "--max-restarts",
                 8, "--on-failure", "replace", "--rejoin-timeout", 60, "--vault-limit", "64M",
                 "--log-dir", f"{folder}/logs", WORKER, 16, kills, f"{folder}/saved", kind]
        environment = dict(os.environ, PYTHON_EXEC=arguments.python, OMP_NUM_THREADS="1",
                           GLOO_SOCKET_IFNAME="lo", PYTHONPATH=str(ROOT / "python"),
                           TMPDIR=folder)
        job = subprocess.run([str(word) for word in words], env=environment, text=True,
                             timeout=PATIENCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = job.stdout
    lost = set(re.findall(r"rank (\d) \(local rank \d, pid \d+\) ended", text))
    lost |= set(re.findall(r"rank (\d): a message was under way", text))  # gloo cannot free it
    first = dict(reversed(re.findall(r"rank (\d) pid (\d+) begins", text)))
    last = dict(re.findall(r"rank (\d) pid (\d+) ends equal", text))
    kept = {rank for rank in last if last[rank] == first[rank]}
    if (job.returncode != 0 or len(last) != ranks or "all workers of the job restart" in text
            or kept != set(first) - lost):
        sys.exit(f"{text}\n{kind} ended with {job.returncode}; its kills: {kills}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("elasticrun")
    parser.add_argument("python")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    choose = random.Random(arguments.seed)
    for _ in range(arguments.rounds):
        for kind in RANKS:
            train(arguments, kind, choose)
    print(f"{4 * len(RANKS) * arguments.rounds} kills of ranks with shards")


if __name__ == "__main__":
    main()
