# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A job on a GPU that rank 1 holds up.

  gpu_stalled.py FAULT    sleep, operation, size, stop: with NCCL; gloo: asleep, with gloo alone;
                          both: asleep before a group of gloo, beside NCCL
"""

import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from shared_gpu import choose_gpu  # noqa: E402

FAULT = sys.argv[1]


def read_shard():
    time.sleep(600)


def step(number, device, group):
    size = 3
    if number == 5 and dist.get_rank() == 1:
        if FAULT in ("sleep", "gloo", "both"):
            read_shard()
        elif FAULT == "stop":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif FAULT == "size":
            size = 1 << 20
        elif FAULT == "operation":
            dist.broadcast(torch.ones(3, device=device), src=0)
            return
    values = torch.ones(size, device=device)
    dist.all_reduce(values, group=group)
    values.sum().item()


def main():
    device = choose_gpu() if FAULT != "gloo" else torch.device("cpu")
    dist.init_process_group("gloo" if FAULT == "gloo" else "nccl")
    group = None
    if FAULT == "both":
        group, other = dist.new_group(backend="gloo"), device
        device = torch.device("cpu")
        dist.all_reduce(torch.ones(3, device=other))
    for number in range(10):
        step(number, device, group)
    dist.destroy_process_group()


main()
