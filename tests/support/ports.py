# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Ports for servers of tests."""

import itertools
import os
import socket

_LOCKS = []
# Those before it elastic chooses from.
_FIRST = 20000


def _is_free(port):
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("", port))
        except OSError:
            return False
    return True


def _has_taken(port):
    lock = socket.socket(socket.AF_UNIX)
    try:
        lock.bind(f"\0elastic_test_port_{port}")
    except OSError:
        lock.close()
        return False
    _LOCKS.append(lock)
    return True


def _candidates():
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as ranges:
        count = int(ranges.read().split()[0]) - _FIRST
    for step in itertools.count(1):
        yield _FIRST + (os.getpid() + step * 7919) % count


_PORTS = _candidates()


def reserved_port():
    """A port at which nobody listens, and which no other test takes while this process lives.

    It lies below the ports that the kernel gives to programs that name none, and above those that
    elastic chooses from: such a port can have been promised to a program that is not yet there.
    """
    # Not the other way round: a port that is looked at cannot be had by who has reserved it.
    return next(port for port in _PORTS if _has_taken(port) and _is_free(port))
