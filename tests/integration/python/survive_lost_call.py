# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Rank 1 dies while a message of rank 0 to it is under way; rank 2 kills it. The argument is the
call of rank 0: send, in which the main thread itself waits, or broadcast, in which one of gloo's
does. What gloo does not send at once it forgets, and waits for it."""

import os
import pathlib
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "python"))
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from elasticrun import group_sockets, survive  # noqa: E402

CALL, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
WRITABLE = 4  # EPOLLOUT: gloo waits for it if it has to send


def wait_for(condition):
    while not condition():
        time.sleep(0.005)


def has_to_send():
    for descriptor in group_sockets._epolls(group_sockets._descriptors()):
        text = pathlib.Path(f"/proc/self/fdinfo/{descriptor.split()[0]}").read_text()
        for line in text.splitlines():
            if line.startswith("tfd") and int(line.split()[3], 16) & WRITABLE:
                return True
    return False


def receives():
    return any(map(group_sockets._waits_with_limit, survive._epochs.sockets._threads))


def victim():
    """The number of rank 1 once it has stopped."""
    number = (FOLDER / "pid").read_text() if (FOLDER / "pid").exists() else ""
    if number and pathlib.Path(f"/proc/{number}/stat").read_text().rsplit(")")[-1][1] == "T":
        return int(number)
    return None


def tell():
    wait_for(has_to_send)
    (FOLDER / "under-way").touch()


def lose_rank_1(pair):
    """Ends by an exception in rank 2, and never in the others."""
    message = torch.zeros(1 << 24)
    if survive.rank() == 0:
        wait_for(victim)
        threading.Thread(target=tell, daemon=True).start()
        if CALL == "send":
            dist.send(message, 1)
        else:
            dist.broadcast(message, 0, group=pair)
    elif survive.rank() == 1:
        if CALL == "send":
            work = dist.irecv(message, 0)
        else:
            work = dist.broadcast(message, 0, group=pair, async_op=True)
            wait_for(receives)
        (FOLDER / "pid").write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGSTOP)
        work.wait()
    else:
        wait_for((FOLDER / "under-way").exists)
        os.kill(victim(), signal.SIGKILL)
    dist.barrier()


@survive.run
def train():
    survive.init_process_group("gloo")
    pair = survive.new_group([0, 1])
    restarts = os.environ["TORCHELASTIC_RESTART_COUNT"]
    os.write(1, f"begins rank {survive.rank()} pid {os.getpid()} restarts {restarts}\n".encode())
    if restarts == "0":
        lose_rank_1(pair)
    dist.barrier()


train()
