#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker that saves a checkpoint when its machine is taken away, and resumes from it.

  elasticrun --nproc-per-node 2 --max-restarts 3 --preempt-grace 30 --heartbeat-timeout 60 \\
      examples/python/train_preemptible.py --steps 100 --checkpoint /tmp/model

On SIGTERM elasticrun asks each worker for a checkpoint, waits until the worker reports that it is
saved, and only then stops it. Run the same command again to resume.
"""

import argparse
import os
import sys
import time

# Not needed if elasticrun is installed as a package.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
from elasticrun import worker  # noqa: E402


def load(path):
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except FileNotFoundError:
        return 0


def save(path, step):
    """Replaces the checkpoint atomically: a reader finds the old or the complete new one."""
    with open(path + ".part", "w", encoding="ascii") as file:
        file.write(str(step))
    os.replace(path + ".part", path)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=100)
    options.add_argument("--step-time", type=float, default=0.1)
    options.add_argument("--checkpoint", required=True)
    chosen = options.parse_args()
    rank = os.environ.get("RANK", "0")
    path = f"{chosen.checkpoint}.{rank}"
    agent = worker.connect(checkpoints=True)
    first = load(path)
    print(f"[rank {rank}] starts at step {first}", flush=True)
    for step in range(first, chosen.steps):
        with agent.expires(60, "step"):
            time.sleep(chosen.step_time)  # the training
        agent.progress(step + 1, chosen.steps)
        for asked in agent.requests():
            if asked.kind == "checkpoint":
                save(path, step + 1)
                agent.saved(asked)
                print(f"[rank {rank}] saved step {step + 1}", flush=True)
    save(path, chosen.steps)
    print(f"[rank {rank}] finished", flush=True)


if __name__ == "__main__":
    main()
