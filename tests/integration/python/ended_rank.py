# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A job in gloo whose rank 0 ends with success in its first attempt, while the others wait for it.

Rank 1 keeps the connections of rank 0, so that no other rank sees them close.
"""
import os
import socket

import torch
import torch.distributed as dist

PLACE = "\0ended-rank-" + os.environ["TORCHELASTIC_RUN_ID"]


def is_tcp(descriptor):
    try:
        with socket.socket(fileno=os.dup(descriptor)) as copy:
            return copy.family in (socket.AF_INET, socket.AF_INET6)
    except OSError:
        return False


def hand_over():
    descriptors = [int(name) for name in os.listdir("/proc/self/fd")]
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(PLACE)
        socket.send_fds(client, [b"x"], [each for each in descriptors if is_tcp(each)])
        client.recv(1)


def take_over(server):
    peer, _ = server.accept()
    descriptors = socket.recv_fds(peer, 1, 200)[1]
    peer.sendall(b"x")
    return descriptors


def main():
    is_first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
    dist.init_process_group("gloo")
    server = socket.socket(socket.AF_UNIX)
    if is_first and dist.get_rank() == 1:
        server.bind(PLACE)
        server.listen()
    dist.all_reduce(torch.ones(3))
    if is_first and dist.get_rank() == 0:
        hand_over()
        os._exit(0)
    kept = take_over(server) if is_first and dist.get_rank() == 1 else []
    dist.all_reduce(torch.ones(3))
    print("trained", len(kept), flush=True)
    dist.destroy_process_group()


main()
