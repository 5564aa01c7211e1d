# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Frees a thread that is stuck in a collective of gloo whose peer is silent.

Gloo waits for its time-out (30 minutes) when a peer says nothing, and no call of PyTorch ends that.
A connection that this process shuts down by itself does. Which connections are gloo's is read from
/proc: gloo makes an epoll instance for each process group and watches its connections there.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import threading
from typing import Callable, Iterator, List, Optional, Set

__all__ = ["GroupSockets"]

_DESCRIPTORS = "/proc/self/fd/"
_WATCHED = re.compile(r"^tfd:\s+(\d+)", re.MULTILINE)


class GroupSockets:
    """The connections of the process groups that were made within `beginning`. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._epolls: Set[str] = set()
        self._oldest: Optional[Set[str]] = None  # before the first group of an epoch
        self._before: Optional[Set[str]] = None  # before the group that is being made
        self._store_port = 0

    @contextlib.contextmanager
    def beginning(self, store_port: int) -> Iterator[None]:
        """A block that makes process groups, which meet at a store with this port. The connections
        to the store that these and earlier groups have made are shut down, too, within the block:
        it may be the store's answer that a thread waits for."""
        with self._lock:
            self._store_port = store_port
            self._before = _descriptors()
            if self._oldest is None:
                self._oldest = self._before
        try:
            yield
        finally:
            with self._lock:
                self._epolls |= _epolls(_descriptors() - (self._before or set()))
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
            for epoll in epolls:
                for descriptor in _watched(epoll):
                    # If rank 0 itself serves the store, that has an epoll instance, too.
                    _shut_down(descriptor, lambda here, there: here != self._store_port)

    def forget(self) -> None:
        """The groups have been destroyed: their descriptors may soon be somebody else's."""
        with self._lock:
            self._epolls.clear()
            self._oldest = None


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
            return _WATCHED.findall(file.read())
    except OSError:
        return []


def _shut_down(descriptor: str, is_meant: Callable[[int, int], bool]) -> None:
    """If it is a connection over TCP whose ports (here, there) are meant."""
    number = int(descriptor.split()[0])
    try:
        connection = socket.socket(fileno=os.dup(number))
    except OSError:
        return
    with connection, contextlib.suppress(OSError):
        if connection.family in (socket.AF_INET, socket.AF_INET6):
            here, there = connection.getsockname()[1], connection.getpeername()[1]
            if is_meant(here, there):
                connection.shutdown(socket.SHUT_RDWR)
