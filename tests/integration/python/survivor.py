# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker that outlives epochs, with nothing but the protocol of docs/control_channel.md.

It prints a line for each epoch, also into the file named by STORY, and works until it gets a signal
or the file named by FINISH is there. Arguments such as deaf:1 say what the worker of a rank, or of
all ranks, does wrong or besides:

mute      never says survive
deaf      does not leave an epoch
waits     leaves an epoch when the file named by LEAVE is there
dies      kills itself when an epoch ends
raises    ends when an epoch ends
quits     ends when the next epoch begins
fails     ends as soon as rank 0 has begun the epoch, if it was started for a later one
finishes  says that its work is done, and stays
beats     sends heartbeats
tells     writes its environment beside the story, in environment.EPOCH.RANK
At SIGUSR1 a worker asks whether its epoch has ended.
"""

import json
import os
import select
import signal
import socket
import sys

QUESTIONS = []
FAULTS = dict(argument.split(":") for argument in sys.argv[1:])


def say(line):
    """In one piece: others write to the same place."""
    os.write(1, line.encode() + b"\n")


def is_faulty(fault):
    return FAULTS.get(fault) in (os.environ["RANK"], "all")


def is_there(name):
    return os.path.exists(os.environ.get(name, "/nowhere"))


class Channel:
    def __init__(self):
        address = os.environ["ELASTIC_CONTROL"]
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.connect("\0" + address[1:])
        self.held = b""
        self.say(kind="hello", version=1, local_rank=int(os.environ["LOCAL_RANK"]))

    def say(self, **fields):
        self.socket.sendall(json.dumps(fields).encode() + b"\n")

    def hear(self):
        """The next message; None if none came for a while."""
        if b"\n" not in self.held:
            if not select.select([self.socket], [], [], 0.02)[0]:
                return None
            piece = self.socket.recv(4096)
            if not piece:
                sys.exit(4)
            self.held += piece
            if b"\n" not in self.held:
                return None
        line, self.held = self.held.split(b"\n", 1)
        return json.loads(line)


def has_begun(epoch):
    """Whether rank 0 has. The agent ends it once another worker has failed too often."""
    if not is_there("STORY"):
        return False
    with open(os.environ["STORY"], encoding="utf-8") as story:
        return f"epoch {epoch} rank 0/" in story.read()


def show_epoch():
    # The store of the epoch is there.
    master = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    socket.create_connection(master, timeout=20).close()
    values = [os.environ[name] for name in
              ("ELASTIC_EPOCH", "RANK", "WORLD_SIZE", "GROUP_RANK", "TORCHELASTIC_RESTART_COUNT")]
    line = "epoch {} rank {}/{} node {} restarts {} pid {}".format(*values, os.getpid())
    if is_faulty("tells"):
        with open("{}/environment.{}.{}".format(os.path.dirname(os.environ["STORY"]), *values[:2]),
                  "w", encoding="utf-8") as file:
            file.writelines(f"{name}={value}\n" for name, value in sorted(os.environ.items()))
    say(line)
    if "STORY" in os.environ:
        story = os.open(os.environ["STORY"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.write(story, line.encode() + b"\n")
        os.close(story)


def work(channel):
    """Until this epoch ends, or the job."""
    while True:
        epoch = int(os.environ["ELASTIC_EPOCH"])
        if is_there("FINISH"):
            channel.say(kind="finished", epoch=epoch)
            sys.exit(0)
        if QUESTIONS:
            QUESTIONS.clear()
            channel.say(kind="ask", epoch=epoch, reason="a signal")
        if is_faulty("beats"):
            channel.say(kind="heartbeat")
        message = channel.hear()
        if message is None:
            continue
        if message["kind"] == "no_change":
            say("no change")
            sys.exit(3)
        if message["kind"] == "change" and message["epoch"] == epoch and not is_faulty("deaf"):
            return epoch


def main():
    signal.signal(signal.SIGUSR1, lambda number, frame: QUESTIONS.append(number))
    if is_faulty("fails") and os.environ["ELASTIC_EPOCH"] != "0":
        while not has_begun(os.environ["ELASTIC_EPOCH"]):
            select.select([], [], [], 0.02)
        say("fails")
        sys.exit(7)
    channel = Channel()
    if not is_faulty("mute"):
        channel.say(kind="survive")
    while True:
        show_epoch()
        if is_faulty("finishes"):
            channel.say(kind="finished", epoch=int(os.environ["ELASTIC_EPOCH"]))
        epoch = work(channel)
        if is_faulty("dies"):
            os.kill(os.getpid(), signal.SIGKILL)
        if is_faulty("raises"):
            sys.exit(5)
        while is_faulty("waits") and not is_there("LEAVE"):
            select.select([], [], [], 0.02)
        channel.say(kind="ready", epoch=epoch)
        message = channel.hear()
        while message is None or message["kind"] != "rejoin":
            message = channel.hear()
        os.environ.update(message["environment"])
        if is_faulty("quits"):
            sys.exit(6)


main()
