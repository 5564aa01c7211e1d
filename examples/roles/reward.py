# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Says how good actions are: each context has one that is right."""

import itertools
import sys

import peers

ACTIONS = 8
requests = itertools.count(1)


def rate(question):
    peers.crash_at(next(requests))
    return [float(action == (3 * context + 1) % ACTIONS) for context, action in question]


if __name__ == "__main__":
    peers.serve(sys.argv[1], rate)
