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

A script of a job of several roles (docs/roles.md) finds the workers of the others:

    roles = worker.roles()
    for each in roles["rollout"].workers:
        ask(each.address, each.ports["http"])
    for roles in worker.roles().changes():    # or async for
        ...

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
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Type

__all__ = ["Channel", "Request", "Role", "RoleChanges", "RoleWorker", "Roles", "connect", "roles"]

_LINE_BYTES = 4096
_Fields = Dict[str, Any]

# Whether the script has reported progress itself, over any channel of this process.
has_progress = False


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
        global has_progress
        has_progress = True
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
        """Asks the agent to stop watching this worker, and closes the channel. Ends the wait of
        other threads."""
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
        if self._socket is None:
            connected.close()
        self._rest += data
        return bool(data)

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
        if connected is None:
            return
        if self._owner != os.getpid():  # a forked process, whose parent keeps its channel
            connected.close()
            return
        with contextlib.suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)  # to close it does not wake a thread that waits
        # That thread closes it, else it might wait on for what gets the number of the descriptor.
        if self._receiving.acquire(blocking=False):
            connected.close()
            self._receiving.release()


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


# ---- the roles of the job ------------------------------------------------------------------------

class RoleWorker:
    """A worker of a role that runs: its rank in the role, the name of its node, the address of the
    node for others, and its ports by the names in the role's command (`${port.NAME}`)."""

    rank: int
    local_rank: int
    node: str
    address: str
    ports: Dict[str, int]

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.rank = int(fields["rank"])
        self.local_rank = int(fields["local_rank"])
        self.node = str(fields["node"])
        self.address = str(fields["address"])
        self.ports = {str(name): int(port) for name, port in fields["ports"].items()}


class Role:
    """A role of the job: `state` is waiting, running, stopping, succeeded, failed or stopped.
    `epoch` is the round in which its workers run, or ran last; None before the first."""

    name: str
    state: str
    ready: bool
    epoch: Optional[int]
    workers: List[RoleWorker]

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        self.name = name
        self.state = str(fields["state"])
        self.ready = bool(fields["ready"])
        self.epoch = fields.get("epoch")
        self.workers = [RoleWorker(worker) for worker in fields["workers"]]


class Roles(Mapping[str, Role]):
    """The roles of the job by name, as they were at one moment. Empty if the job has none."""

    revision: int

    def __init__(self, fields: Mapping[str, Any], environment: Mapping[str, str]) -> None:
        self.revision = int(fields.get("revision", 0))
        self._roles = {str(name): Role(str(name), role)
                       for name, role in fields.get("roles", {}).items()}
        self._environment = environment

    def __getitem__(self, name: str) -> Role:
        return self._roles[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._roles)

    def __len__(self) -> int:
        return len(self._roles)

    def changes(self) -> RoleChanges:
        """These roles, then the roles after each change, until the agent is gone: to be iterated by
        `for` or by `async for`. Changes that come while nobody waits are one."""
        return RoleChanges(self, self._environment)

    def on_change(self, call: Callable[[Roles], object]) -> RoleChanges:
        """Calls `call` with the roles after each change, in a thread of its own, until the result
        is closed or the agent is gone."""
        changes = RoleChanges(self, self._environment)
        changes.wait(0)

        def follow() -> None:
            for roles_now in changes:
                call(roles_now)

        threading.Thread(target=follow, daemon=True).start()
        return changes


class RoleChanges:
    """Made by `Roles.changes`. One thread, or one task, at a time may wait; any may close it."""

    def __init__(self, first: Roles, environment: Mapping[str, str]) -> None:
        self._next: Optional[Roles] = first
        self._revision = first.revision
        self._environment = environment
        self._channel: Optional[Channel] = None
        self._is_asked = False
        self._is_closed = False

    def wait(self, seconds: Optional[float] = None) -> Optional[Roles]:
        """The next roles, the first time those that are known; waits for a change, for at most
        `seconds`. None if the time is over, or if there is no agent or no role."""
        deadline = None if seconds is None else time.monotonic() + seconds
        known, self._next = self._next, None
        if known is not None:
            return known
        channel = self._ask()
        while channel.connected:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if self._has_changed(channel._wait_for_messages(left)):
                return self._read()
            if deadline is not None and time.monotonic() >= deadline:
                return None
        return None

    def close(self) -> None:
        """Ends the iteration, also of one who waits."""
        self._is_closed = True
        connected = None if self._channel is None else self._channel._socket
        if connected is not None:
            with contextlib.suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)

    def __iter__(self) -> RoleChanges:
        return self

    def __next__(self) -> Roles:
        roles_now = self.wait()
        if roles_now is None:
            raise StopIteration
        return roles_now

    def __aiter__(self) -> RoleChanges:
        return self

    async def __anext__(self) -> Roles:
        known, self._next = self._next, None
        if known is not None:
            return known
        channel = self._ask()
        while channel.connected:
            await _readable(channel)
            if self._has_changed(channel._wait_for_messages(0)):
                roles_now = self._read()
                if roles_now is None:
                    break
                return roles_now
        raise StopAsyncIteration

    def _ask(self) -> Channel:
        """Its own connection: nobody else takes its messages, and it says no bye for the worker."""
        if self._channel is None:
            has_roles = bool(self._environment.get("ELASTIC_ROLES")) and not self._is_closed
            self._channel = connect(environment=self._environment) if has_roles else Channel()
        if not self._is_asked:
            self._channel._send({"kind": "await_roles", "revision": self._revision})
            self._is_asked = True
        return self._channel

    def _has_changed(self, messages: List[_Fields]) -> bool:
        news = [fields for fields in messages if fields.get("kind") == "roles"]
        if news:
            self._is_asked = False
        return bool(news)

    def _read(self) -> Optional[Roles]:
        try:
            roles_now = roles(self._environment)
        except OSError:  # the agent has ended
            return None
        self._revision = roles_now.revision
        return roles_now


async def _readable(channel: Channel) -> None:
    import asyncio

    connected = channel._socket
    if connected is None:
        return
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    descriptor = connected.fileno()
    loop.add_reader(descriptor, lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(descriptor)


def roles(environment: Mapping[str, str] = os.environ) -> Roles:
    """The roles of this job as they are now. Errors: OSError if the file that ELASTIC_ROLES names
    cannot be read, as after the end of the agent."""
    path = environment.get("ELASTIC_ROLES", "")
    if not path:
        return Roles({}, environment)
    with open(path, encoding="utf-8") as file:
        return Roles(json.load(file), environment)
