# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A sharded model (FSDP2), a DTensor, and a checkpoint that some workers save and others load.

  torch213_shards.py save|load FOLDER

Each worker prints the sum of all parameters, which is the same before and after.
"""

import os
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_model_state_dict, set_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import Shard, distribute_tensor


def train(model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        torch.manual_seed(100 * step + dist.get_rank())
        loss = model(torch.randn(4, 8)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    mode, folder = sys.argv[1:]
    dist.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    tensor = distribute_tensor(torch.arange(16.0).reshape(8, 2), mesh, [Shard(0)])
    if (tensor @ tensor.T).full_tensor().sum().item() != 7232:
        sys.exit("a DTensor has a wrong sum")

    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2))
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)
    if mode == "save":
        train(model)
        dcp.save(get_model_state_dict(model), checkpoint_id=folder)
    else:
        state = get_model_state_dict(model)
        dcp.load(state, checkpoint_id=folder)
        set_model_state_dict(model, state)
    total = sum(each.full_tensor().double().sum().item() for each in model.parameters())
    print(f"checksum {total:.9f} of {dist.get_world_size()};", flush=True)
    dist.barrier()
    dist.destroy_process_group()
    # The model still holds the group. At the interpreter's end one of gloo's threads, which may yet
    # want Python's lock to let go of a tensor, would abort the process.
    sys.stdout.flush()
    os._exit(0)


main()
