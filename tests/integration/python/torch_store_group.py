#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Several processes share one store, as the workers of a group do; then a gloo process group is
started over it and reduces.

  torch_store_group.py PORT PROCESSES
"""

import datetime
import os
import sys

import torch
import torch.distributed as dist

PORT, PROCESSES = int(sys.argv[1]), int(sys.argv[2])


def expect(wanted, got, what):
    if wanted != got:
        print(f"{what}: expected {wanted!r}, got {got!r}", flush=True)
        os._exit(1)


def member(rank):
    # With the number of workers: the client announces itself under "init/".
    store = dist.TCPStore("127.0.0.1", PORT, PROCESSES, False, datetime.timedelta(seconds=30))
    for round in range(20):
        for each in range(10):
            store.add(f"sum {round}", rank + each)
        store.set(f"done {round} {rank}", "x")
        store.wait([f"done {round} {peer}" for peer in range(PROCESSES)])
        wanted = sum(rank + each for rank in range(PROCESSES) for each in range(10))
        expect(str(wanted).encode(), store.get(f"sum {round}"), f"sum of round {round}")
        winner = store.compare_set(f"winner {round}", "", str(rank))
        expect(winner, store.get(f"winner {round}"), f"winner of round {round}")

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", store=dist.PrefixStore("group", store), rank=rank,
                            world_size=PROCESSES, timeout=datetime.timedelta(seconds=30))
    numbers = torch.full((1000,), float(rank + 1))
    dist.all_reduce(numbers)
    expect(float(PROCESSES * (PROCESSES + 1) // 2), numbers[999].item(), "all_reduce")
    dist.barrier()
    dist.destroy_process_group()


def main():
    children = []
    for rank in range(PROCESSES):
        pid = os.fork()
        if pid == 0:
            member(rank)
            os._exit(0)
        children.append(pid)
    failures = [pid for pid in children if os.waitpid(pid, 0)[1] != 0]
    if failures:
        sys.exit(f"{len(failures)} of {PROCESSES} processes failed")
    print("all processes agree")


main()
