# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker's end of elasticrun's control channel (docs/control_channel.md), in one file.

Copy it next to your script; it needs Python 3.8 and nothing else.

    import elastic_worker

    agent = elastic_worker.connect(checkpoints=True)
    for step in range(first_step, steps):
        with agent.expires(60, "step"):       # killed if it takes longer
            train(step)
        agent.progress(step + 1, steps, metrics={"loss": loss})
        for asked in agent.requests():
            if asked.kind == "checkpoint":
                save()
                agent.saved(asked)

Where there is no channel (started by hand, or by torchrun), and from the moment on at which the
agent is gone, every call does nothing. Any thread may call anything at any time.
"""

import contextlib
import itertools
import json
import os
import select
import socket
import threading
import time

_LINE_BYTES = 4096


def _line(fields):
    said = {key: value for key, value in fields.items() if value is not None}
    return json.dumps(said, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _name(name):
    """What is allowed as the name of a section or a timer."""
    return str(name).encode("utf-8", "replace")[:100].decode("utf-8", "ignore") or "unnamed"


def _is_ready(connected, events, seconds):
    waiting = select.poll()
    waiting.register(connected, events)
    return bool(waiting.poll(None if seconds is None else seconds * 1000))


class Request:
    """What the agent wants: `kind` is checkpoint (with `within`, seconds), pause, resume, stop."""

    def __init__(self, fields):
        self.kind = fields.get("kind", "")
        self.id = fields.get("id")
        self.within = fields.get("within")
        self.grace = fields.get("grace")
        self.reason = fields.get("reason")


class Channel:
    """Made by `connect`."""

    def __init__(self, connected=None):
        self._socket = connected
        self._sending = threading.Lock()
        self._receiving = threading.Lock()
        self._rest = b""
        self._numbers = itertools.count(1)
        self._beating = None
        self._owner = os.getpid()

    @property
    def connected(self):
        """Whether there is an agent at the other end."""
        return self._socket is not None

    # ---- saying ------------------------------------------------------------------------------

    def heartbeat(self, timeout=None):
        """This worker lives. From the first call on the agent waits for the next, for `timeout`
        seconds if it is named, else for what it was told or has learned."""
        self._say({"kind": "heartbeat", "timeout": timeout}, can_be_lost=True)

    def beat_every(self, seconds, timeout=None):
        """Sends heartbeats from a thread of its own: these tell of a process that is stopped or
        gone, not of a training loop that stands still."""
        if self._beating is None and self.connected:
            self._beating = threading.Event()
            threading.Thread(target=self._beat, args=(self._beating, seconds, timeout),
                             daemon=True).start()

    def progress(self, step, total=0, text="", metrics=None):
        """How far this worker is; counts as a heartbeat."""
        self._say({"kind": "progress", "step": int(step), "total": int(total),
                   "text": str(text)[:500],
                   "metrics": {str(name)[:100]: float(value)
                               for name, value in (metrics or {}).items()
                               if abs(float(value)) < float("inf")}}, can_be_lost=True)

    @contextlib.contextmanager
    def section(self, name, timeout=None):
        """A part of the work. With a `timeout`, or a learned one, it has to end by then, and no
        heartbeat is due meanwhile; without one a report of a hang names it."""
        self._say({"kind": "enter", "section": _name(name), "timeout": timeout})
        try:
            yield
        finally:
            self._say({"kind": "leave", "section": _name(name)})

    @contextlib.contextmanager
    def expires(self, after, name="scope"):
        """The agent kills this worker if the block takes longer than `after` seconds."""
        timer = f"{_name(name)} #{next(self._numbers)}"
        self._say({"kind": "expires", "timer": timer, "after": max(float(after), 0.001)})
        try:
            yield
        finally:
            self._say({"kind": "release", "timer": timer})

    def do_not_restart(self, reason=""):
        """Where workers fail from now on, the job is not started again."""
        self._say({"kind": "no_restart", "reason": str(reason)[:500]})

    def node_is_bad(self, reason=""):
        """This node cannot do the work: it leaves the job, and the others go on."""
        self._say({"kind": "bad_node", "reason": str(reason)[:500]})

    def saved(self, request):
        """The checkpoint that was asked for is written."""
        self._say({"kind": "saved", "id": request.id})

    def not_saved(self, request, reason=""):
        self._say({"kind": "not_saved", "id": request.id, "reason": str(reason)[:500]})

    def close(self):
        """Says that this worker wants to be watched no longer, and leaves."""
        if self._beating is not None:
            self._beating.set()
        if self._owner == os.getpid():  # a forked process has nothing to say for the worker
            self._say({"kind": "bye"})
        self._lose()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # ---- hearing -----------------------------------------------------------------------------

    def requests(self):
        """What the agent said since the last call, a list; does not wait."""
        with self._receiving:
            found = []
            while self._read(0):
                found += self._lines()
            return found

    def wait(self, seconds=None):
        """The same, but waits for something to be said, at most so long. An empty list: the time
        is over, or there is no agent."""
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._receiving:
            while self.connected:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                if not self._read(left):
                    break
                found = self._lines()
                if found:
                    return found
        return []

    # ---- the socket --------------------------------------------------------------------------

    def _beat(self, ended, seconds, timeout):
        while self.connected and not ended.is_set():
            self.heartbeat(timeout)
            ended.wait(seconds)

    def _say(self, fields, can_be_lost=False):
        if self._socket is None:
            return
        data = _line(fields)
        if len(data) > _LINE_BYTES:
            data = _line({**fields, "metrics": None, "text": None})
        with self._sending:
            self._send(data, can_be_lost)

    def _send(self, data, can_be_lost):
        rest = memoryview(data)
        while rest and self._socket is not None:
            try:
                rest = rest[self._socket.send(rest, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL):]
            except BlockingIOError:
                if can_be_lost and len(rest) == len(data):
                    return
                if not _is_ready(self._socket, select.POLLOUT, 5):
                    self._lose()
            except (OSError, ValueError):
                self._lose()

    def _read(self, seconds):
        """Whether something was read."""
        connected = self._socket
        if connected is None:
            return False
        try:
            if not _is_ready(connected, select.POLLIN, seconds):
                return False
            data = connected.recv(_LINE_BYTES, socket.MSG_DONTWAIT)
        except (OSError, ValueError):
            data = b""
        if not data:
            self._lose()
            return False
        self._rest += data
        return True

    def _lines(self):
        *lines, self._rest = self._rest.split(b"\n")
        found = []
        for line in lines:
            try:
                fields = json.loads(line)
            except ValueError:
                continue
            if isinstance(fields, dict) and fields.get("kind") in (
                    "checkpoint", "pause", "resume", "stop", "refused"):
                found.append(Request(fields))
        return found

    def _lose(self):
        lost, self._socket = self._socket, None
        if lost is not None:
            lost.close()


def connect(checkpoints=False, environment=os.environ):
    """Connects to the agent that ELASTIC_CONTROL names. `checkpoints`: whether this worker wants to
    be asked for them; it then answers each by `saved` or `not_saved`."""
    address = environment.get("ELASTIC_CONTROL", "")
    if not address:
        return Channel()
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connected.connect("\0" + address[1:] if address.startswith("@") else address)
    except OSError:
        connected.close()
        return Channel()
    channel = Channel(connected)
    channel._say({"kind": "hello", "version": 1, "local_rank": int(environment["LOCAL_RANK"]),
                  "checkpoints": bool(checkpoints)})
    return channel
