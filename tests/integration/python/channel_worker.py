# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker that speaks on the control channel as its first argument says."""

import os
import signal
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "python"))
from elasticrun import worker  # noqa: E402

RANK = int(os.environ["RANK"])
ATTEMPT = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
FOREVER = 1000


def say(text):
    os.write(1, f"[{RANK}] {text}\n".encode())  # in one piece, a signal's handler may say it, too


def hang():
    """Rank 1 of the first attempt beats once and stands still; the others are not late, however
    long it takes."""
    agent = worker.connect()
    if ATTEMPT == 0:
        if RANK == 1:
            # From within: as soon as it can be late, it is known where.
            with agent.section("all_reduce"):
                agent.heartbeat()
                time.sleep(FOREVER)
        agent.beat_every(0.05, timeout=FOREVER)
        time.sleep(FOREVER)
    say("done")  # however long the end of this process takes, nobody waits for a heartbeat


def stuck_timer():
    agent = worker.connect()
    with agent.expires(60, "long"), agent.expires(0.2, "short"):
        time.sleep(FOREVER)


def stuck_section():
    agent = worker.connect()
    with agent.section("save", timeout=0.2):
        time.sleep(FOREVER)


def learned():
    """Beats often enough for a time-out to be learned, and then no more."""
    agent = worker.connect()
    for _ in range(10):
        agent.heartbeat()
        time.sleep(0.02)
    time.sleep(FOREVER)


def mute():
    """Never connects."""
    time.sleep(FOREVER)


def preempted(saves):
    """Saves when it is asked to, and says in which order things come."""
    def on_term(*_):
        say("told to end")
        sys.exit(0)
    signal.signal(signal.SIGTERM, on_term)
    agent = worker.connect(checkpoints=True)
    agent.progress(1, 10, "training", {"loss": 0.5})
    say("ready")
    while True:
        for asked in agent.wait(FOREVER):
            if asked.kind == "checkpoint":
                say("asked for a checkpoint")
                if saves:
                    say("saved it")
                    agent.saved(asked)


def garbage():
    """Writes what is not a message, a line without end, and nothing for ever."""
    address = "\0" + os.environ["ELASTIC_CONTROL"][1:]
    for data in (b"\x00\xff\xfe hello\n", b"x" * 10000,
                 b'{"kind":"hello","version":1,"local_rank":0}\n{"kind":"dance"}\n'):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connected:
            connected.connect(address)
            connected.sendall(data)
            answer = b""
            while True:
                try:
                    piece = connected.recv(4096)
                except ConnectionResetError:
                    break
                if not piece:
                    break
                answer += piece
            say(answer.decode().splitlines()[-1] if answer else "closed")
    silent = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    silent.connect(address)
    agent = worker.connect()
    agent.progress(1)
    say(f"connected: {agent.connected}")


def flood():
    """Rank 0 writes as much as it can until rank 1, which is heard all the same, is hung."""
    if ATTEMPT > 0:
        say("done")
        return
    if RANK == 1:
        agent = worker.connect()
        agent.heartbeat(timeout=1)
        time.sleep(FOREVER)
    address = "\0" + os.environ["ELASTIC_CONTROL"][1:]
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connected.connect(address)
    connected.sendall(b'{"kind":"hello","version":1,"local_rank":0}\n')
    lines = b'{"kind":"heartbeat"}\n' * 10000
    while True:
        connected.sendall(lines)


def no_restart():
    agent = worker.connect()
    agent.do_not_restart("the options are wrong")
    sys.exit(3)


def no_further():
    """Comes to step 3 at first, then to step 4 each time."""
    agent = worker.connect()
    agent.progress(3 if ATTEMPT == 0 else 4, 10)
    if RANK == 0:
        sys.exit(3)
    time.sleep(FOREVER)


def bad_node():
    agent = worker.connect()
    if RANK == 0:
        agent.node_is_bad("GPU 3 fell off the bus")
    time.sleep(FOREVER)


def one_of_nodes():
    """What BEHAVIOUR says: of a node that is bad, of one that must not be started again. The
    others make the file OTHERS when two nodes run; who is bad waits for it."""
    behaviour = os.environ.get("BEHAVIOUR", "")
    say(f"world {os.environ['GROUP_WORLD_SIZE']} attempt {ATTEMPT}")
    agent = worker.connect()
    others = os.environ.get("OTHERS", "")
    if others and not behaviour and os.environ["GROUP_WORLD_SIZE"] == "2":
        with open(others + os.environ["LOCAL_RANK"], "w", encoding="ascii"):
            pass
    if behaviour == "bad" and os.environ["LOCAL_RANK"] == "0":
        while not all(os.path.exists(others + rank) for rank in "01"):
            time.sleep(0.01)
        agent.node_is_bad("GPU 3 fell off the bus")
    if behaviour == "final":
        agent.do_not_restart("the options are wrong")
        sys.exit(3)
    time.sleep(FOREVER)


def torch_timer():
    """The timers of PyTorch itself."""
    import torch.distributed.elastic.timer as timer
    timer.configure(timer.FileTimerClient(os.environ["TORCHELASTIC_TIMER_FILE"]))
    with timer.expires(after=60):
        say("in time")
    if ATTEMPT == 0 and RANK == 1:
        with timer.expires(after=0.3, scope="stuck"):
            time.sleep(FOREVER)
    if ATTEMPT == 0:
        time.sleep(FOREVER)
    say("done")


def timer_garbage():
    with open(os.environ["TORCHELASTIC_TIMER_FILE"], "wb", buffering=0) as fifo:
        fifo.write(b"garbage\n")
        fifo.write(b"x" * 20000 + b"\n")
        fifo.write(b'{"version":1,"pid":1,"scope_id":"init","expiration_time":1,"signal":9}\n')
    say("done")


def main():
    what = sys.argv[1]
    if what == "preempted":
        preempted(saves=True)
    elif what == "silent":
        preempted(saves=False)
    else:
        globals()[what]()


main()
