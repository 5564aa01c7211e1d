# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What torch.distributed.elastic gives to workers.

  torch213_elastic.py

In attempt 0 a timer of rank 0 expires, in attempt 1 rank 1 raises an exception. Each worker asks
its own worker server whether it is there.
"""

import os
import pathlib
import socket
import sys
import time

import torch.distributed.elastic.timer as timer
from torch.distributed.elastic.control_plane import worker_main

RANK = os.environ["RANK"]
ATTEMPT = os.environ["TORCHELASTIC_RESTART_COUNT"]
SOCKET = pathlib.Path(os.environ["TORCH_WORKER_SERVER_SOCKET"])
# A worker that was killed leaves its socket.
SOCKET.unlink(missing_ok=True)


def ask_worker_server():
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(str(SOCKET))
        server.sendall(b"POST /handler/ping HTTP/1.0\r\nContent-Length: 0\r\n\r\n")
        reply = b""
        while data := server.recv(4096):
            reply += data
    return reply.endswith(b"pong")


def mark(rank):
    return SOCKET.parent / f"answered.{ATTEMPT}.{rank}"


def await_other():
    """Who ends stops the other one too, which may still be importing."""
    while not mark(1 - int(RANK)).exists():
        time.sleep(0.01)


@worker_main()
def main():
    timer.configure(timer.FileTimerClient(os.environ["TORCHELASTIC_TIMER_FILE"]))
    with timer.expires(after=300):
        print(f"rank {RANK}, attempt {ATTEMPT}, server answers: {ask_worker_server()};", flush=True)
        mark(RANK).touch()
        await_other()
    if RANK == "0" and ATTEMPT == "0":
        with timer.expires(after=0.5, scope="step"):
            time.sleep(600)
    if RANK == "1" and ATTEMPT == "1":
        raise ValueError("the data is gone")
    time.sleep(600)


main()
