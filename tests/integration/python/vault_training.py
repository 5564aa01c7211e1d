# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A training with PyTorch whose state lies in the vault.

    vault_training.py plain|sharded|dcp STEPS [RANK:CALL,RANK:CALL…]

"dcp" is sharded, too, and uses torch.distributed.checkpoint. The kills are those of
planned_kills.py.
"""

import hashlib
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from elasticrun import vault
from planned_kills import Kills

KIND = sys.argv[1]
STEPS = int(sys.argv[2])
KILLS = Kills(sys.argv[3] if sys.argv[3:] else "")


def say(text):
    """Writes a line at once, so that it is not mixed with those of the other rank."""
    os.write(1, (text + "\n").encode())


dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(7)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
if KIND != "plain":
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    trained = model
else:
    trained = DistributedDataParallel(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
if KIND != "plain":
    # The state of the optimizer has to be there, as shards, before it is restored.
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    optimizer.zero_grad()
    torch.manual_seed(8)
    with torch.no_grad():
        for parameter in model.parameters():
            local = parameter.to_local()
            local.copy_(torch.arange(local.numel()).reshape(local.shape) / 100)


def state():
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}


def whole_state():
    from torch.distributed.checkpoint.state_dict import get_state_dict
    return dict(zip(("model", "optim"), get_state_dict(model, optimizer)))


def restore():
    """The step of the state in memory; None: there is none."""
    if KIND == "dcp":
        import torch.distributed.checkpoint as dcp
        from torch.distributed.checkpoint.state_dict import set_state_dict
        reader = vault.reader()
        if reader is None:
            return None
        found = whole_state()
        dcp.load(found, storage_reader=reader)
        set_state_dict(model, optimizer, model_state_dict=found["model"],
                       optim_state_dict=found["optim"])
        return reader.step
    held = state()
    step = vault.load(held)
    if step is not None:
        model.load_state_dict(held["model"])
        optimizer.load_state_dict(held["optimizer"])
    return step


def keep(step):
    if KIND != "dcp":
        return vault.save(state(), step)
    import torch.distributed.checkpoint as dcp
    writer = vault.writer(step)
    dcp.save(whole_state(), storage_writer=writer)
    return writer.kept


start = restore()
say(f"rank {rank} begins at step {start}")
KILLS.arm()
for step in range(start or 0, STEPS):
    torch.manual_seed(1000 * step + rank)
    optimizer.zero_grad()
    trained(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
    if not keep(step + 1):
        say(f"rank {rank} skips step {step + 1}")
digest = hashlib.sha256()
for parameter in model.parameters():
    local = parameter.to_local() if KIND != "plain" else parameter
    digest.update(local.detach().numpy().tobytes())
say(f"rank {rank} ends with {digest.hexdigest()[:16]}")
dist.destroy_process_group()
