# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A job in gloo of which one rank holds up the others in its first attempt.

  stalled_job.py FAULT [RANK]    rank 1 by default
"""
import os
import signal
import sys
import time

import torch
import torch.distributed as dist


def read_shard():
    time.sleep(600)


def compute_forever():
    while True:
        pass


def hold_up(fault):
    if fault == "sleep":
        read_shard()
    elif fault == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif fault == "loop":
        compute_forever()
    elif fault == "exception":
        try:
            raise ValueError("no such shard")
        except ValueError:
            read_shard()  # The teardown of a thread that never ends.
    elif fault == "mismatch":
        dist.barrier()
    elif fault == "size":
        dist.all_reduce(torch.ones(7))


def main():
    fault = sys.argv[1]
    culprit = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    is_first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    dist.init_process_group("gloo")
    for step in range(6):
        if step == 5 and is_first and dist.get_rank() == culprit:
            hold_up(fault)
        dist.all_reduce(torch.ones(3))
    print("trained", flush=True)
    dist.destroy_process_group()


main()
