# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker with a training loop of its own, which calls the functions that survive.run calls. It
notes its epochs as survivor.py does. With the argument `fails`, a callback before its own raises;
with `breaks:RANK`, what frees the process groups of that rank does; with `withdraws:RANK`, that
rank says that it cannot rejoin any more."""

import os
import sys
import threading

from elasticrun import survive

CHANGED = threading.Event()


def note_epoch():
    line = (f"epoch {survive.epoch()} rank {survive.rank()}/{survive.world_size()} node "
            f"{os.environ['GROUP_RANK']} restarts {os.environ['TORCHELASTIC_RESTART_COUNT']} pid "
            f"{os.getpid()}\n")
    story = os.open(os.environ["STORY"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(story, line.encode())
    os.close(story)


def enter_next_epoch():
    former = survive.epoch()
    CHANGED.clear()
    assert survive.is_change(RuntimeError("a collective has failed"))
    survive.ready()
    assert survive.next_epoch() == survive.epoch() > former
    assert not survive.is_new()


def fail(epoch):
    raise RuntimeError(f"a callback fails at the end of epoch {epoch}")


def shut_down():
    raise OSError("there are too many open files")


if "fails" in sys.argv:
    survive.on_change(fail)
if f"breaks:{survive.rank()}" in sys.argv:
    survive._epochs.sockets.shut_down = shut_down
    survive._epochs.hold_group(True)
survive.on_change(lambda epoch: CHANGED.set())
assert survive.is_new()
assert not survive.is_change(ValueError("the data is bad"))
if f"withdraws:{survive.rank()}" in sys.argv:
    survive._epochs.withdraw("its part is too large")
note_epoch()
while not os.path.exists(os.environ["FINISH"]):
    if CHANGED.wait(0.01):
        enter_next_epoch()
        note_epoch()
survive.finished()
