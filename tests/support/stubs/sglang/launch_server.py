# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Starts a process for each GPU of this node. All of them meet at --dist-init-addr by tcp://, with
ranks of their own making. A server goes on then; this says how many have met, and ends."""

import argparse
import multiprocessing
import sys

import torch
import torch.distributed as dist


def meet(address, rank, world_size):
    dist.init_process_group("gloo", init_method=f"tcp://{address}", rank=rank,
                            world_size=world_size)
    count = torch.ones(1)
    dist.all_reduce(count)
    assert count.item() == world_size
    if rank == 0:
        print(f"stub: {world_size} processes have met", flush=True)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model-path", required=True)
    parser.add_argument("--tp", type=int, required=True)
    parser.add_argument("--nnodes", type=int, default=1)
    parser.add_argument("--node-rank", type=int, default=0)
    parser.add_argument("--dist-init-addr")
    options = parser.parse_args()
    here = options.tp // options.nnodes
    spawn = multiprocessing.get_context("spawn")
    children = [spawn.Process(target=meet, args=(options.dist_init_addr, rank, options.tp))
                for rank in range(options.node_rank * here, (options.node_rank + 1) * here)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    sys.exit(any(child.exitcode for child in children))


if __name__ == "__main__":
    main()
