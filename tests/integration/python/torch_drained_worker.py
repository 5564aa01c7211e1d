# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Trains with DDP until a file is there, and saves when it is asked to.

Called with the path of the checkpoint and that of the file.
"""

import os
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../python"))
from elasticrun import worker  # noqa: E402

checkpoint, end = sys.argv[1:3]
agent = worker.connect(checkpoints=True)
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(7)
network = torch.nn.Linear(4, 1)
step = 0
if os.path.exists(checkpoint):
    kept = torch.load(checkpoint)
    step = kept["step"]
    network.load_state_dict(kept["network"])
model = DistributedDataParallel(network)
print(f"rank {rank} of {dist.get_world_size()} trains from step {step}, "
      f"restart {os.environ['TORCHELASTIC_RESTART_COUNT']}", flush=True)


def save():
    part = f"{checkpoint}.{os.getpid()}"
    torch.save({"step": step, "network": network.state_dict()}, part)
    os.replace(part, checkpoint)


is_over = torch.zeros(1)
while not is_over.item():
    model(torch.ones(2, 4) * (rank + 1)).sum().backward()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter -= 1e-3 * parameter.grad
            parameter.grad = None
    step += 1
    if step == 3:
        print(f"rank {rank} has trained", flush=True)
    for asked in agent.requests():
        if asked.kind == "checkpoint":
            save()
            agent.saved(asked)
    is_over[0] = os.path.exists(end)
    dist.all_reduce(is_over)
    time.sleep(0.02)
weights = [torch.zeros_like(network.weight) for _ in range(dist.get_world_size())]
dist.all_gather(weights, network.weight.data)
alike = all(torch.equal(weights[0], other) for other in weights)
print(f"rank {rank} ends alike {alike}", flush=True)
