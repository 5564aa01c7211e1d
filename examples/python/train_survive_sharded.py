#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Trains a small model with FSDP2; when a worker dies, the others keep their processes.

    elasticrun --standalone --nproc-per-node 2 --max-restarts 2 --on-failure replace \\
        examples/python/train_survive_sharded.py --output /tmp/model --kill-rank 1

Nobody has a copy of the parameters that a lost rank had, so all ranks load the newest checkpoint,
without starting again. At the end, every worker prints the checksum of the parameters.
"""

import argparse
import os
import pathlib
import signal

import torch
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from elasticrun import survive


def parse_arguments():
    parser = argparse.ArgumentParser(description="Train a small model in parts, and survive.")
    parser.add_argument("--output", required=True, type=pathlib.Path, help="for checkpoints")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--kill-rank", type=int, help="the first process of this rank dies ...")
    parser.add_argument("--kill-step", type=int, default=6, help="... in the middle of this step")
    return parser.parse_args()


# [train]
@survive.run
def train(state, arguments):
    survive.init_process_group("gloo")
    mesh = init_device_mesh("cpu", (survive.world_size(),))
    model = fully_shard(make_model(), mesh=mesh)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    if state.step:
        parts, moments = get_state_dict(model, optimizer)
        dcp.load({"model": parts, "optimizer": moments}, checkpoint_id=folder(arguments, state))
        set_state_dict(model, optimizer, model_state_dict=parts, optim_state_dict=moments)
    for step in range(state.step, arguments.steps):
        loss = model(batch(step, survive.rank())).pow(2).mean()
        if may_die(arguments, step):
            os.kill(os.getpid(), signal.SIGKILL)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if (step + 1) % 4 == 0:
            state.step = step + 1
            parts, moments = get_state_dict(model, optimizer)
            dcp.save({"model": parts, "optimizer": moments}, checkpoint_id=folder(arguments, state))
            state.commit()
    return checksum(model)
# [/train]


def make_model():
    torch.manual_seed(2)
    layers = [torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)]
    return torch.nn.Sequential(*layers).double()


def folder(arguments, state):
    return arguments.output / f"step-{state.step}"


def batch(step, rank):
    """The data of this rank in this step, the same in every process of the rank."""
    random = torch.Generator().manual_seed(1000 * rank + step)
    return torch.randn(16, 8, generator=random, dtype=torch.float64)


def may_die(arguments, step):
    first = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
    return first and survive.rank() == arguments.kill_rank and step == arguments.kill_step


def checksum(model):
    flat = torch.cat([each.detach().full_tensor().flatten() for each in model.parameters()])
    return float(flat @ torch.cos(torch.arange(flat.numel(), dtype=torch.float64)))


def main():
    print(f"begins rank {survive.rank()} pid {os.getpid()}", flush=True)
    state = survive.TorchState(step=0)
    result = train(state, parse_arguments())
    print(f"finished rank {survive.rank()} pid {os.getpid()} checksum {result:.12f}", flush=True)


if __name__ == "__main__":
    main()
