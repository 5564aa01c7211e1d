# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker's end of elasticrun's control channel (docs/control_channel.md), in one file.

It needs only Python 3.8. If elasticrun is not installed as a package, copy this file
next to your script.

    from elasticrun import worker

    agent = worker.connect(checkpoints=True)
    for step in range(first_step, steps):
        with agent.expires(60, "step"):       # killed if it takes longer
            train(step)
        agent.progress(step + 1, steps, metrics={"loss": loss})
        for request in agent.requests():
            if request.kind == "checkpoint":
                save()
                agent.saved(request)

Without a channel (the script was started by hand, or by torchrun), or when the agent is gone, every
call does nothing. All calls are thread-safe.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import socket
import threading
import time
from types import TracebackType
from typing import Any, Dict, Iterator, List, Mapping, Optional, Type

__all__ = ["Channel", "Request", "connect"]

_LINE_BYTES = 4096
_Fields = Dict[str, Any]


def _line(fields: _Fields) -> bytes:
    message = {key: value for key, value in fields.items() if value is not None}
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _name(name: object) -> str:
    """The name of a section or a timer, as the agent allows it."""
    return str(name).encode("utf-8", "replace")[:100].decode("utf-8", "ignore") or "unnamed"


def _is_ready(connected: socket.socket, events: int, seconds: Optional[float]) -> bool:
    poll = select.poll()
    poll.register(connected, events)
    return bool(poll.poll(None if seconds is None else seconds * 1000))


class Request:
    """A message of the agent: `kind` is checkpoint (with `within`, in seconds), pause, resume, stop
    (with `grace`), or refused (with `reason`)."""

    kind: str
    id: Optional[int]
    within: Optional[float]
    grace: Optional[float]
    reason: Optional[str]

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.kind = fields.get("kind", "")
        self.id = fields.get("id")
        self.within = fields.get("within")
        self.grace = fields.get("grace")
        self.reason = fields.get("reason")


def _requests_of(messages: List[_Fields]) -> List[Request]:
    kinds = ("checkpoint", "pause", "resume", "stop", "refused")
    return [Request(fields) for fields in messages if fields.get("kind") in kinds]


class Channel:
    """Made by `connect`."""

    def __init__(self, connected: Optional[socket.socket] = None) -> None:
        self._socket = connected
        self._sending = threading.Lock()
        self._receiving = threading.Lock()
        self._rest = b""
        self._numbers = itertools.count(1)
        self._end_of_beats: Optional[threading.Event] = None
        self._owner = os.getpid()

    @property
    def connected(self) -> bool:
        """Whether there is an agent at the other end."""
        return self._socket is not None

    # ---- sending -----------------------------------------------------------------------------

    def heartbeat(self, timeout: Optional[float] = None) -> None:
        """Reports that this worker is alive. From the first call on, the next is due within
        `timeout` seconds; without it, within the agent's own time-out, which is set or learned."""
        self._send({"kind": "heartbeat", "timeout": timeout}, can_be_lost=True)

    def beat_every(self, seconds: float, timeout: Optional[float] = None) -> None:
        """Sends heartbeats from a separate thread. They reveal a process that is stopped or gone,
        but not a training loop that hangs."""
        if self._end_of_beats is None and self.connected:
            self._end_of_beats = threading.Event()
            threading.Thread(target=self._beat, args=(self._end_of_beats, seconds, timeout),
                             daemon=True).start()

    def progress(self, step: int, total: int = 0, text: str = "",
                 metrics: Optional[Mapping[str, float]] = None) -> None:
        """Reports the progress of this worker; counts as a heartbeat."""
        self._send({"kind": "progress", "step": int(step), "total": int(total),
                   "text": str(text)[:500],
                   "metrics": {str(name)[:100]: float(value)
                               for name, value in (metrics or {}).items()
                               if abs(float(value)) < float("inf")}}, can_be_lost=True)

    @contextlib.contextmanager
    def section(self, name: str, timeout: Optional[float] = None) -> Iterator[None]:
        """A part of the work. With a `timeout`, or a learned one, it must end by then, and no
        heartbeat is due meanwhile. Without one, it only says where a worker hung."""
        self._send({"kind": "enter", "section": _name(name), "timeout": timeout})
        try:
            yield
        finally:
            self._send({"kind": "leave", "section": _name(name)})

    @contextlib.contextmanager
    def expires(self, after: float, name: str = "scope") -> Iterator[None]:
        """The agent kills this worker if the block takes longer than `after` seconds."""
        timer = f"{_name(name)} #{next(self._numbers)}"
        self._send({"kind": "expires", "timer": timer, "after": max(float(after), 0.001)})
        try:
            yield
        finally:
            self._send({"kind": "release", "timer": timer})

    def do_not_restart(self, reason: str = "") -> None:
        """If a worker fails from now on, the job does not restart."""
        self._send({"kind": "no_restart", "reason": str(reason)[:500]})

    def node_is_bad(self, reason: str = "") -> None:
        """Takes this node out of the job, because it cannot do the work; the others continue."""
        self._send({"kind": "bad_node", "reason": str(reason)[:500]})

    def saved(self, request: Request) -> None:
        """Answers a request for a checkpoint: it is written."""
        self._send({"kind": "saved", "id": request.id})

    def not_saved(self, request: Request, reason: str = "") -> None:
        """Answers a request for a checkpoint: it cannot be written."""
        self._send({"kind": "not_saved", "id": request.id, "reason": str(reason)[:500]})

    def close(self) -> None:
        """Asks the agent to stop watching this worker, and closes the channel."""
        if self._end_of_beats is not None:
            self._end_of_beats.set()
        if self._owner == os.getpid():  # a forked process does not speak for the worker
            self._send({"kind": "bye"})
        self._lose()

    def __enter__(self) -> Channel:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    # ---- receiving ---------------------------------------------------------------------------

    def requests(self) -> List[Request]:
        """Returns the agent's messages since the last call; does not wait."""
        with self._receiving:
            messages: List[_Fields] = []
            while self._read(0):
                messages += self._complete_messages()
            return _requests_of(messages)

    def wait(self, seconds: Optional[float] = None) -> List[Request]:
        """The same, but waits at most `seconds` for a message. The list is empty after that time,
        or if there is no agent."""
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._receiving:
            while self.connected:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                if not self._read(left):
                    break
                requests = _requests_of(self._complete_messages())
                if requests:
                    return requests
        return []

    def _wait_for_messages(self, seconds: Optional[float]) -> List[_Fields]:
        """Every message of the next bytes, of whatever kind. The list is empty if none is complete
        within `seconds`, or if there is no agent."""
        with self._receiving:
            return self._complete_messages() if self._read(seconds) else []

    # ---- the socket --------------------------------------------------------------------------

    def _beat(self, ended: threading.Event, seconds: float, timeout: Optional[float]) -> None:
        while self.connected and not ended.is_set():
            self.heartbeat(timeout)
            ended.wait(seconds)

    def _send(self, fields: _Fields, can_be_lost: bool = False) -> None:
        if self._socket is None:
            return
        data = _line(fields)
        if len(data) > _LINE_BYTES:
            data = _line({**fields, "metrics": None, "text": None})
        with self._sending:
            self._send_bytes(data, can_be_lost)

    def _send_bytes(self, data: bytes, can_be_lost: bool) -> None:
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

    def _read(self, seconds: Optional[float]) -> bool:
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

    def _complete_messages(self) -> List[_Fields]:
        """The messages whose lines have been read to their end."""
        *lines, self._rest = self._rest.split(b"\n")
        messages = []
        for line in lines:
            try:
                fields = json.loads(line)
            except ValueError:
                continue
            if isinstance(fields, dict):
                messages.append(fields)
        return messages

    def _lose(self) -> None:
        connected, self._socket = self._socket, None
        if connected is not None:
            connected.close()


def connect(checkpoints: bool = False,
            environment: Mapping[str, str] = os.environ) -> Channel:
    """Connects to the agent that ELASTIC_CONTROL names. With `checkpoints`, this worker receives
    requests for checkpoints, and answers each with `saved` or `not_saved`."""
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
    channel._send({"kind": "hello", "version": 1, "local_rank": int(environment["LOCAL_RANK"]),
                  "checkpoints": bool(checkpoints)})
    return channel
