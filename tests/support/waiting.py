# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How tests wait for what is about to happen."""

import contextlib
import pathlib
import sys
import time


def comes_true(what, condition, patience, pause=0.02, passing=()):
    """Waits for a condition: its first result that is true. An error of `passing` means not yet.
    The program ends with a line that says `what` if that takes more than `patience` seconds."""
    limit = time.monotonic() + patience
    while True:
        result = None
        with contextlib.suppress(*passing):
            result = condition()
        if result:
            return result
        if time.monotonic() > limit:
            name = pathlib.Path(sys.argv[0]).name
            sys.exit(f"{name}: waited {patience} s in vain until {what}; at last: {result!r}")
        time.sleep(pause)
