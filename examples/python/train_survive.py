#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Trains a small model with PyTorch DDP; when a worker dies, the others keep their processes.

    elasticrun --standalone --nproc-per-node 4 --max-restarts 2 --on-failure replace \\
        examples/python/train_survive.py --kill-rank 1 --kill-step 20

At the end, every worker prints the checksum of its parameters, which is that of an undisturbed
run. Without `--on-failure replace`, under torchrun, or started by hand, it is a plain script.
"""

import argparse
import os
import signal

import torch
from torch.nn.parallel import DistributedDataParallel

from elasticrun import survive


def parse_arguments():
    parser = argparse.ArgumentParser(description="Train a small model, and survive.")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--kill-rank", type=int, help="the first process of this rank dies ...")
    parser.add_argument("--kill-step", type=int, default=20, help="... in the middle of this step")
    return parser.parse_args()


def batch(step, rank):
    """The data of this rank in this step, the same in every process of the rank."""
    random = torch.Generator().manual_seed(1000 * rank + step)
    inputs = torch.randn(16, 8, generator=random, dtype=torch.float64)
    return inputs, torch.sin(inputs[:, :1])


# [train]
@survive.run
def train(state, arguments):
    survive.init_process_group("gloo")
    parallel = DistributedDataParallel(state.model)
    while state.step < arguments.steps:
        inputs, targets = batch(state.step, survive.rank())
        state.optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(parallel(inputs), targets)
        if may_die(arguments, state.step):
            os.kill(os.getpid(), signal.SIGKILL)
        loss.backward()
        state.optimizer.step()
        state.step += 1
        state.commit()
# [/train]


def may_die(arguments, step):
    first = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") == "0"
    return first and survive.rank() == arguments.kill_rank and step == arguments.kill_step


def checksum(model):
    flat = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    return float(flat @ torch.cos(torch.arange(flat.numel(), dtype=torch.float64)))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(2)
    layers = [torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)]
    model = torch.nn.Sequential(*layers).double()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    state = survive.TorchState(model=model, optimizer=optimizer, step=0)
    train(state, parse_arguments())
    print(f"[rank {survive.rank()}] process {os.getpid()} finished step {state.step} in epoch "
          f"{survive.epoch()}: checksum {checksum(model):.12f}", flush=True)


if __name__ == "__main__":
    main()
