# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Trains on all ranks; in the first attempt for ever."""
import os
import sys
import marked
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank = dist.get_rank()
attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
with open(sys.argv[1], "a", encoding="ascii") as starts:
    starts.write(f"{rank} {attempt} {os.getpid()} {marked.pid}\n")
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
step = 0
while attempt == 0 or step < 2:
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    step += 1
    if rank == 0 and step == 1:
        print(f"attempt {attempt}: step 1 of {dist.get_world_size()}", flush=True)
dist.destroy_process_group()
