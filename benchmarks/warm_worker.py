# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Trains with DDP for ever; says after its first step when it came how far. Rank 0 notes in a
second file, if there is one, when each step was done."""
import time
stamps = [("statement", time.monotonic_ns())]
import os
import sys
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def stamp(what):
    stamps.append((what, time.monotonic_ns()))


stamp("imported")
dist.init_process_group("gloo")
stamp("group")
model = DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
stamp("model")
steps = 0
is_noted = len(sys.argv) > 2 and dist.get_rank() == 0
step_file = open(sys.argv[2], "ab", buffering=0) if is_noted else None
while True:
    optimizer.zero_grad()
    model(torch.ones(8, 64)).sum().backward()
    optimizer.step()
    steps += 1
    if steps == 1:
        stamp("step")
        with open(sys.argv[1], "a", encoding="ascii") as file:
            file.write("".join(f"{what} {os.getpid()} {ns}\n" for what, ns in stamps))
    if step_file:
        step_file.write(time.monotonic_ns().to_bytes(8, "little"))
    time.sleep(0.01)
