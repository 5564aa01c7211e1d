# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker that outlives epochs by elasticrun.survive, which the script imports at its beginning as
scripts do that find it installed. It prints and works as survivor.py does."""

import os
import time

from elasticrun import survive


@survive.run
def train():
    line = (f"epoch {survive.epoch()} rank {survive.rank()}/{survive.world_size()} node "
            f"{os.environ['GROUP_RANK']} restarts {os.environ['TORCHELASTIC_RESTART_COUNT']} pid "
            f"{os.getpid()}\n")
    story = os.open(os.environ["STORY"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(story, line.encode())
    os.close(story)
    while not os.path.exists(os.environ["FINISH"]):
        if CHANGES:
            CHANGES.clear()
            raise survive.WorldChanged("the agent said so")
        time.sleep(0.01)


CHANGES = []
survive.on_change(CHANGES.append)
train()
