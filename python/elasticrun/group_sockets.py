# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Frees a thread that is stuck in a collective of gloo whose peer is silent.

Gloo waits for its time-out (30 minutes) when a peer says nothing, and no call of PyTorch ends that.
A connection that this process shuts down by itself does. Which connections are gloo's is read from
/proc: gloo makes an epoll instance for each process group and watches its connections there.

One kind of call is left, which nothing can end before the group's time-out: as a connection breaks,
gloo tells the calls that have not begun to use it, but not those of which some bytes were on their
way (`Pair::signalException` looks at other lists). Their thread waits on.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import socket
import threading
import time
from typing import Callable, FrozenSet, Iterator, List, Optional, Set, Tuple

__all__ = ["GroupSockets"]

_DESCRIPTORS = "/proc/self/fd/"
_TASKS = "/proc/self/task/"
# How long gloo may take to close connections that were shut down.
_CLOSE_SECONDS = 1.0
# A descriptor that an epoll instance watches, and its inode, if the kernel tells it (since 4.13).
_WATCHED = re.compile(r"^tfd:\s+(\d+)(?:.* ino:(\w+))?", re.MULTILINE)


class GroupSockets:
    """The connections of the process groups that were made within `beginning`. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._epolls: Set[str] = set()
        self._peers: Set[str] = set()  # the connections of the first group of an epoch
        self._oldest: Optional[Set[str]] = None  # before the first group of an epoch
        self._before: Optional[Set[str]] = None  # before the group that is being made
        self._store_port = 0
        self._is_gloo = True
        self._threads: Set[int] = set()
        self._threads_before: Set[int] = set()
        self._kept: Tuple[FrozenSet[str], FrozenSet[int]] = (frozenset(), frozenset())

    @contextlib.contextmanager
    def beginning(self, store_port: int, is_gloo: bool = True) -> Iterator[None]:
        """A block that makes process groups, which meet at a store with this port. The connections
        to the store that these and earlier groups have made are shut down, too, within the block:
        it may be the store's answer that a thread waits for. Whether threads of these groups are
        stuck is known of gloo's alone. Another library may wait for a peer to connect: within the
        block all sockets that are new are shut down, those that listen, too."""
        with self._lock:
            self._store_port = store_port
            self._is_gloo = is_gloo
            self._before = _descriptors()
            self._threads_before = _threads()
            is_first = self._oldest is None
            if is_first:
                self._oldest = self._before
        try:
            yield
        finally:
            with self._lock:
                self._epolls |= _epolls(_descriptors() - (self._before or set()))
                if is_first:
                    self._peers = {each for each in self._watched() if self._is_peer(each)}
                if is_gloo:
                    self._threads |= _threads() - self._threads_before
                self._before = None

    def shut_down(self) -> None:
        """Every call of these groups ends with an error, in this process and at its peers."""
        with self._lock:
            epolls = set(self._epolls)
            if self._before is not None and self._oldest is not None:
                now = _descriptors()
                epolls |= _epolls(now - self._before)
                for descriptor in now - self._oldest:
                    _shut_down(descriptor, lambda here, there: there == self._store_port)
                if not self._is_gloo:
                    for descriptor in now - self._before:
                        _shut_down_any(descriptor)
            for epoll in epolls:
                for descriptor in _watched(epoll):
                    # If rank 0 itself serves the store, that has an epoll instance, too.
                    _shut_down(descriptor, lambda here, there: here != self._store_port)

    def have_lost_peer(self) -> bool:
        """Whether a connection of the first group has ended since that was made, by its peer or
        because a call of the group has failed. No call fails before this is true."""
        with self._lock:
            if not self._peers <= self._watched():
                return True
            poll = select.poll()
            for peer in self._peers:  # gloo may be about to close it
                poll.register(int(peer.split()[0]), select.POLLRDHUP)
            return bool(poll.poll(0))

    def has_lost_call(self, caller: Optional[int] = None) -> bool:
        """Whether a thread waits for a call that nothing ends before the time-out of these groups.
        `caller` is a thread (its number in the kernel) that may be in a call by itself.

        Exact after `shut_down`: gloo wakes the threads that it tells before it closes a connection,
        and a thread of its own waits with a limit in calls only.
        """
        with self._lock:
            if (self._before is not None or not self._threads
                    or any(map(self._is_peer, self._watched()))):
                return False
            return self._is_in_call(caller)

    def are_in_call(self, caller: Optional[int] = None) -> bool:
        """Whether a call of these groups is under way, or one of them is being made. `caller` is as
        for `has_lost_call`. False of groups that are not gloo's."""
        with self._lock:
            return self._before is not None or (bool(self._threads) and self._is_in_call(caller))

    def _is_in_call(self, caller: Optional[int]) -> bool:
        threads = [*self._threads, *([] if caller is None else [caller])]
        return any(map(_waits_with_limit, threads))

    def wait_for_close(self) -> None:
        """Until gloo has closed what `shut_down` has shut down."""
        deadline = time.monotonic() + _CLOSE_SECONDS
        while time.monotonic() < deadline:
            with self._lock:
                if not any(map(self._is_peer, self._watched())):
                    return
            time.sleep(0.001)

    def keep(self) -> None:
        """The groups that there are now outlive the epoch."""
        with self._lock:
            self._kept = frozenset(self._epolls), frozenset(self._threads)
        self.forget()

    def forget(self) -> None:
        """The other groups have been destroyed: their descriptors may soon be somebody else's."""
        with self._lock:
            self._epolls, self._threads = set(self._kept[0]), set(self._kept[1])
            self._peers.clear()
            self._oldest = None

    def release(self) -> None:
        """The groups that were kept have been destroyed, too."""
        with self._lock:
            self._kept = frozenset(), frozenset()
            self._epolls.clear()
            self._threads.clear()

    def _watched(self) -> Set[str]:
        return {each for epoll in self._epolls for each in _watched(epoll)}

    def _is_peer(self, descriptor: str) -> bool:
        """Whether it is a connection, and not one to the store that this process serves."""
        with _connection(descriptor) as connection:
            return bool(connection and connection.getsockname()[1] != self._store_port)


def _descriptors() -> Set[str]:
    """With what each refers to, so that a number that was used again is another one."""
    found = set()
    for number in os.listdir(_DESCRIPTORS):
        with contextlib.suppress(OSError):
            found.add(f"{number} {os.readlink(_DESCRIPTORS + number)}")
    return found


def _epolls(descriptors: Set[str]) -> Set[str]:
    return {each for each in descriptors if each.endswith("[eventpoll]")}


def _watched(epoll: str) -> List[str]:
    number = epoll.split()[0]
    try:
        if not os.readlink(_DESCRIPTORS + number).endswith("[eventpoll]"):
            return []
        with open(f"/proc/self/fdinfo/{number}", encoding="ascii") as file:
            return [" ".join(each) for each in _WATCHED.findall(file.read())]
    except OSError:
        return []


def _threads() -> Set[int]:
    """Those that Python does not know."""
    known = {each.native_id for each in threading.enumerate()}
    return {int(each) for each in os.listdir(_TASKS)} - known


def _waits_with_limit(thread: int) -> bool:
    """Whether it sleeps in futex(2) with a time limit, its fourth argument."""
    try:
        with open(f"{_TASKS}{thread}/wchan", encoding="ascii") as file:
            place = file.read()
        with open(f"{_TASKS}{thread}/syscall", encoding="ascii") as file:
            call = file.read().split()
    except OSError:
        return False
    return place.startswith("futex") and len(call) > 4 and int(call[4], 16) != 0


@contextlib.contextmanager
def _connection(descriptor: str, listens: bool = False) -> Iterator[Optional[socket.socket]]:
    """A copy of the descriptor, if it is a socket of TCP that is connected, or listens if that is
    allowed."""
    try:
        copy = socket.socket(fileno=os.dup(int(descriptor.split()[0])))
    except OSError:
        yield None
        return
    with copy:
        is_meant = (copy.family in (socket.AF_INET, socket.AF_INET6)
                    and copy.type == socket.SOCK_STREAM
                    and (listens
                         or not copy.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)))
        yield copy if is_meant else None


def _shut_down(descriptor: str, is_meant: Callable[[int, int], bool]) -> None:
    """If it is a connection whose ports (here, there) are meant."""
    with _connection(descriptor) as connection, contextlib.suppress(OSError):
        if connection and is_meant(connection.getsockname()[1], connection.getpeername()[1]):
            connection.shutdown(socket.SHUT_RDWR)


def _shut_down_any(descriptor: str) -> None:
    """If it is a connection, or listens for some."""
    with _connection(descriptor, listens=True) as connection, contextlib.suppress(OSError):
        if connection:
            connection.shutdown(socket.SHUT_RDWR)
