# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Ports for servers of tests."""

import socket

_HOLDERS = []


def reserved_port():
    """A port at which nobody listens, and which the kernel gives to nobody else meanwhile."""
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("", 0))
    _HOLDERS.append(holder)
    return holder.getsockname()[1]
