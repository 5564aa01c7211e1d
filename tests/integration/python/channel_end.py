# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How a channel of elasticrun.worker ends while a thread waits in it, with a listener in the place
of the agent."""

import os
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "python"))
from elasticrun import worker  # noqa: E402

WAIT_SECONDS = 60
LISTENER = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)


class Waiter:
    """A channel in which a thread waits, and the agent's end of it."""

    def __init__(self):
        self.channel = worker.connect(environment={
            "ELASTIC_CONTROL": "@" + LISTENER.getsockname()[1:].decode(), "LOCAL_RANK": "0"})
        self.number = self.channel._socket.fileno()
        self.agent = LISTENER.accept()[0]
        self.agent.settimeout(WAIT_SECONDS)
        self.heard = []
        self.thread = threading.Thread(target=self.wait, daemon=True)
        self.thread.start()
        while not self.is_in_poll():
            time.sleep(0.001)

    def wait(self):
        self.heard += self.channel.wait()

    def is_in_poll(self):
        with open(f"/proc/self/task/{self.thread.native_id}/wchan", encoding="ascii") as file:
            return "poll" in file.read()


    def check_end(self):
        """The thread has ended, and the agent has been told."""
        self.thread.join(WAIT_SECONDS)
        assert not self.thread.is_alive()
        assert self.heard == [] and not self.channel.connected
        text = b"".join(iter(lambda: self.agent.recv(4096), b""))
        assert text.endswith(b'{"kind": "bye"}\n'), text


def check_that_close_ends_the_wait():
    """Also where the number of the descriptor is soon that of a pipe into which nobody writes."""
    for _ in range(50):
        waiter = Waiter()
        waiter.channel.close()
        pipe = os.pipe()
        waiter.check_end()
        for each in pipe:
            os.close(each)


def check_that_a_forked_process_ends_only_its_own():
    waiter = Waiter()
    child = os.fork()
    if child == 0:
        waiter.channel.close()
        try:
            os.fstat(waiter.number)
        except OSError:
            os._exit(0)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert waiter.thread.is_alive()
    waiter.agent.sendall(b'{"kind": "pause"}\n')
    waiter.thread.join(WAIT_SECONDS)
    assert [request.kind for request in waiter.heard] == ["pause"]
    assert waiter.channel.connected


LISTENER.bind("")  # to a name that the kernel chooses
LISTENER.listen()
check_that_close_ends_the_wait()
check_that_a_forked_process_ends_only_its_own()
print("all is as expected")
