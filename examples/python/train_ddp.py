#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Trains a small model with PyTorch DDP, and survives the loss of a worker.

    elasticrun --standalone --nproc-per-node 2 --max-restarts 2 \\
        examples/python/train_ddp.py --checkpoint /tmp/model.pt --kill-rank 1 --kill-epoch 2

Runs unchanged under torchrun, and by hand as a single process. Each step uses the same global
batch, however many workers share it, so the parameters after an epoch are the same (up to
rounding) in every run, with any number of workers, interrupted or not. Every worker prints their
checksum. It uses GPUs if there is one for each worker of the node, and CPUs otherwise.
"""

import argparse
import os
import signal
import sys

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

GLOBAL_BATCH = 24
STEPS_PER_EPOCH = 10


def parse_arguments():
    parser = argparse.ArgumentParser(description="Train a small model with DDP over gloo.")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--checkpoint", help="file to resume from and to write after each epoch")
    parser.add_argument("--kill-rank", type=int, help="this rank kills itself in attempt 0 ...")
    parser.add_argument("--kill-epoch", type=int, default=2, help="... in the middle of this epoch")
    return parser.parse_args()


def make_data():
    """The same data in every process: a noisy function of 8 variables."""
    random = torch.Generator().manual_seed(1)
    count = GLOBAL_BATCH * STEPS_PER_EPOCH
    inputs = torch.randn(count, 8, generator=random, dtype=torch.float64)
    noise = torch.randn(count, 1, generator=random, dtype=torch.float64)
    targets = torch.sin(inputs[:, :1]) + 0.5 * inputs[:, 1:2] + 0.1 * noise
    return TensorDataset(inputs, targets)


def choose_device():
    """A separate GPU for each worker of this node, or else the CPU."""
    local_rank = int(os.environ.get("LOCAL_RANK", 0))
    if torch.cuda.device_count() >= int(os.environ.get("LOCAL_WORLD_SIZE", 1)):
        torch.cuda.set_device(local_rank)
        return torch.device("cuda", local_rank), "nccl"
    return torch.device("cpu"), "gloo"


def checksum(model):
    """A number that changes when any parameter changes."""
    flat = torch.cat([parameter.detach().flatten().cpu() for parameter in model.parameters()])
    weights = torch.cos(torch.arange(flat.numel(), dtype=torch.float64))
    return float(flat @ weights)


# [save]
def save(path, epoch, model, optimizer):
    """Replaces the checkpoint atomically: a reader finds the old or the complete new one."""
    state = {"epoch": epoch, "model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(state, path + ".part")
    os.replace(path + ".part", path)
# [/save]


# [load]
def load(path, model, optimizer, device):
    """The epoch to start with: 0 if there is no checkpoint."""
    if not path or not os.path.exists(path):
        return 0
    state = torch.load(path, map_location=device)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    return state["epoch"] + 1
# [/load]


@record
def main():
    arguments = parse_arguments()
    torch.set_num_threads(1)
    rank = int(os.environ.get("RANK", 0))
    world_size = int(os.environ.get("WORLD_SIZE", 1))
    attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
    if GLOBAL_BATCH % world_size != 0:
        raise ValueError(f"the batch of {GLOBAL_BATCH} cannot be shared by {world_size} workers")

    def say(text):
        # One write, so that lines of several workers do not mix.
        sys.stdout.write(f"[rank {rank}] {text}\n")
        sys.stdout.flush()

    torch.manual_seed(2)
    layers = [torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)]
    device, backend = choose_device()
    model = torch.nn.Sequential(*layers).double().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    first_epoch = load(arguments.checkpoint, model, optimizer, device)
    if first_epoch > 0:
        say(f"resuming from epoch {first_epoch}")

    parallel = model
    if world_size > 1:
        dist.init_process_group(backend)
        parallel = DistributedDataParallel(model)
    # [sampler]
    data = make_data()
    sampler = DistributedSampler(data, world_size, rank, seed=3)
    loader = DataLoader(data, batch_size=GLOBAL_BATCH // world_size, sampler=sampler)
    for epoch in range(first_epoch, arguments.epochs):
        sampler.set_epoch(epoch)
        # [/sampler]
        total = torch.zeros(1, dtype=torch.float64, device=device)
        for step, (inputs, targets) in enumerate(loader):
            doomed = arguments.kill_rank == rank and arguments.kill_epoch == epoch and attempt == 0
            if doomed and step == STEPS_PER_EPOCH // 2:
                say(f"killing itself with SIGKILL in the middle of epoch {epoch}")
                os.kill(os.getpid(), signal.SIGKILL)
            optimizer.zero_grad()
            outputs = parallel(inputs.to(device))
            loss = torch.nn.functional.mse_loss(outputs, targets.to(device))
            loss.backward()  # DDP averages the gradients of all workers in here
            optimizer.step()
            total += loss.detach()
        if world_size > 1:
            dist.all_reduce(total)
        loss = float(total) / world_size / STEPS_PER_EPOCH
        say(f"epoch {epoch}: loss {loss:.6f}, checksum {checksum(model):.12f}")
        if rank == 0 and arguments.checkpoint:
            save(arguments.checkpoint, epoch, model, optimizer)
    say(f"finished: checksum {checksum(model):.12f}")
    if world_size > 1:
        # DDP must not hold the last reference to the group: PyTorch 2.13 would wait for the group's
        # threads while holding the GIL, which these may need.
        del parallel
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
