# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Requests for a checkpoint as an agent's, which the ranks get at different steps."""

import os

from elasticrun import survive, worker


def ask(first_step):
    """Asks rank 0 after this step, rank 1 after the next, and so on, if their processes are the
    first ones. Answers are printed."""
    polls = 0

    def requests(_):
        nonlocal polls
        polls += 1
        is_due = survive.epoch() == 0 and polls == first_step + survive.rank()
        return [worker.Request({"kind": "checkpoint", "id": 1})] if is_due else []

    def saved(_, request):
        os.write(1, f"saved rank {survive.rank()} for request {request.id}\n".encode())

    worker.Channel.requests = requests
    worker.Channel.saved = saved
