# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker that does what a fault does to a job's time, and notes for how long it made new steps.

  goodput_worker.py FAULT FOLDER

FAULT is crash (rank 1 ends in the midst of a step), hang (both ranks fall silent), or stall (both
stand still for some seconds, and continue). Rank 0 appends the seconds of each new step to
FOLDER/new_steps. The checkpoint is FOLDER/checkpoint.
"""

import os
import pathlib
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "python"))
from elasticrun import worker  # noqa: E402

RANK = int(os.environ["RANK"])
IS_FIRST = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
FAULT, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
STEPS, STEP_SECONDS, FAULT_STEP, SAVED_STEP = 80, 0.05, 50, 30
START_SECONDS, STALL_SECONDS = 2.0, 5.0


def suffer():
    if FAULT == "crash" and RANK == 1:
        time.sleep(STEP_SECONDS / 2)
        os._exit(3)
    if FAULT == "stall":
        time.sleep(STALL_SECONDS)
        return
    time.sleep(1000)  # until this worker is killed


def main():
    time.sleep(START_SECONDS)  # imports, the model, the checkpoint
    agent = worker.connect()
    checkpoint = FOLDER / "checkpoint"
    step = int(checkpoint.read_text()) if checkpoint.exists() else 0
    furthest = 0 if IS_FIRST else FAULT_STEP
    began = time.monotonic()
    while step < STEPS:
        if step == FAULT_STEP and IS_FIRST:
            suffer()
            began = time.monotonic()
        time.sleep(STEP_SECONDS)
        step += 1
        agent.progress(step, STEPS)
        seconds, began = time.monotonic() - began, time.monotonic()
        if RANK == 0 and step > furthest:
            with open(FOLDER / "new_steps", "a", encoding="ascii") as file:
                file.write(f"{seconds}\n")
        if RANK == 0 and step == SAVED_STEP:
            checkpoint.write_text(str(step))


main()
