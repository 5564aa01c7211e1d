# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A training of FSDP2 whose ranks are replaced, and whose shards lie in the vault.

    survive_shards.py STEPS KILLS FOLDER [hsdp|tp]

The kills are those of planned_kills.py. When it is done, each rank trains once more, undisturbed,
and says whether the parameters and moments are the same. FOLDER is for checkpoints. With "hsdp",
the shards are there twice; with "tp", the layers are also tensor parallel.
"""

import hashlib
import os
import sys
import types
import warnings

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner
from torch.distributed.fsdp import fully_shard

from elasticrun import survive
from planned_kills import Kills

STEPS = int(sys.argv[1])
KILLS = Kills(sys.argv[2])
FOLDER = sys.argv[3]
KIND = sys.argv[4] if sys.argv[4:] else "fsdp"

warnings.simplefilter("ignore")


def say(text):
    """Writes a line at once, so that it is not mixed with those of other ranks."""
    os.write(1, (text + "\n").encode())


def build(state):
    ranks = survive.world_size()
    mesh = (survive.init_device_mesh("cpu", (ranks,)) if KIND == "fsdp" else
            survive.init_device_mesh("cpu", (2, ranks // 2), mesh_dim_names=("first", "second")))
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Dropout(0.1),
                                torch.nn.Linear(16, 1))
    if KIND == "tp":
        from torch.distributed.tensor.parallel import (
            ColwiseParallel, RowwiseParallel, parallelize_module)
        parallelize_module(model, mesh["second"], {"0": ColwiseParallel(), "3": RowwiseParallel()})
        mesh = mesh["first"]
    for layer in (model[0], model[3], model):
        fully_shard(layer, mesh=mesh)
    state.model = model
    state.optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    torch.manual_seed(100 + survive.rank())


def train_step(state):
    state.optimizer.zero_grad()
    state.model(torch.randn(4, 8)).square().mean().backward()
    state.optimizer.step()
    state.step += 1


def digest(state):
    whole = hashlib.sha256(torch.randn(4).numpy().tobytes())
    for parameter in state.model.parameters():
        for tensor in (parameter, *state.optimizer.state[parameter].values()):
            local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
            whole.update(local.detach().numpy().tobytes())
    return whole.hexdigest()[:16]


def save(state):
    """A checkpoint whose plans are kept for the next one."""
    dcp.save({"model": state.model.state_dict()}, checkpoint_id=f"{FOLDER}/{state.step}",
             planner=DefaultSavePlanner(enable_plan_caching=True))


@survive.run
def train(state):
    assert not hasattr(state, "model")
    survive.init_process_group("gloo")
    KILLS.arm()
    build(state)
    is_restored = state.restore()
    say(f"rank {survive.rank()} pid {os.getpid()} begins at step "
        f"{state.step if is_restored else None}")
    while state.step < STEPS:
        train_step(state)
        state.commit()
        if state.step % 4 == 1:
            save(state)
    KILLS.disarm()
    result = digest(state)
    undisturbed = types.SimpleNamespace(step=0)
    build(undisturbed)
    for _ in range(STEPS):
        train_step(undisturbed)
    say(f"rank {survive.rank()} pid {os.getpid()} ends "
        f"{'equal' if result == digest(undisturbed) else 'different'}")
    dist.barrier()


train(survive.TorchState(step=0, sharded=True))
