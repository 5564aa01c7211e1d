# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker that adds numbers with all others of its job, until a file appears.

  torch_mixed_worker.py FILE

It prints one line when the workers of a round have added for the first time, and ends with success
when one of them has seen FILE. Where another worker dies it fails, as a training step would.
"""

import os
import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
is_first = True
while True:
    # How many are there, the sum of their ranks, and how many have seen the file.
    seen = float(os.path.exists(sys.argv[1]))
    numbers = torch.tensor([1.0, float(rank), seen])
    dist.all_reduce(numbers)
    if numbers[0] != world or numbers[1] != world * (world - 1) / 2:
        sys.exit(f"rank {rank}: wrong sums {numbers.tolist()} of {world} workers")
    if is_first:
        is_first = False
        print(f"rank {rank} adds with {world}, node {os.environ['GROUP_RANK']} of "
              f"{os.environ['GROUP_WORLD_SIZE']}, attempt "
              f"{os.environ['TORCHELASTIC_RESTART_COUNT']}, pid {os.getpid()};", flush=True)
    if numbers[2] > 0:
        break
    time.sleep(0.05)
dist.barrier()
# Left to the interpreter's end, a thread of gloo may abort the process.
dist.destroy_process_group()
