# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""The files by which candidates that were killed tell those after them of it."""

import contextlib
import os


def mark(run_id, endpoints, place):
    """The path of one, by the numbers of FNV-1a, as candidate_marker has it."""
    number = 14695981039346656037
    for byte in f"{run_id}\n{endpoints}\n{place}".encode():
        number = (number ^ byte) * 1099511628211 % 2**64
    return f"/dev/shm/elastic-candidate-{os.geteuid()}-{number:016x}"


def remove_marks(run_id, endpoints):
    """Those of a job that nobody takes up; its endpoints with all ports."""
    for place in range(endpoints.count(",") + 1):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(mark(run_id, endpoints, place))
