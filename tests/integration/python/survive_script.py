# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker that outlives epochs by elasticrun.survive, which the script imports at its beginning as
scripts do that find it installed. It works as survivor.py does. Its arguments, one after the other,
are what it does before it trains:

build    notes in the file named by STORY that this process has built something, and prints it
rank     asks for its rank
prepare  calls survive.prepare()
hook     puts a hook for exceptions before the one that is there
needs-4  fails when it trains with less than 4 ranks, once the file named by LEAVE is there

and what processes do that began as standbys, and only these:

standby-skip    goes on without the word that follows
standby-raise   raises an exception
standby-exit    ends
standby-vanish  ends without a word to the interpreter
"""

import os
import sys
import time

from elasticrun import survive


def note(line):
    story = os.open(os.environ["STORY"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(story, line.encode() + b"\n")
    os.close(story)


@survive.run
def train():
    note(f"epoch {survive.epoch()} rank {survive.rank()}/{survive.world_size()} node "
         f"{os.environ['GROUP_RANK']} restarts {os.environ['TORCHELASTIC_RESTART_COUNT']} pid "
         f"{os.getpid()}")
    if survive.world_size() < LEAST_RANKS and os.path.exists(os.environ["LEAVE"]):
        raise ValueError(f"this needs {LEAST_RANKS} ranks, not {survive.world_size()}")
    while not os.path.exists(os.environ["FINISH"]):
        if CHANGES:
            CHANGES.clear()
            raise survive.WorldChanged("the agent said so")
        time.sleep(0.01)


def put_hook():
    before = sys.excepthook

    def hook(*arguments):
        print("the hook of the script", file=sys.stderr)
        before(*arguments)

    sys.excepthook = hook


def do(word):
    if word == "build":
        note(f"built in a {'standby' if IS_STANDBY else 'worker'} by pid {os.getpid()}")
        print(f"built for local rank {os.environ['LOCAL_RANK']}", flush=True)
    elif word == "rank":
        survive.rank()
    elif word == "prepare":
        survive.prepare()
    elif word == "hook":
        put_hook()
    elif word == "needs-4":
        global LEAST_RANKS
        LEAST_RANKS = 4
    elif word == "standby-raise":
        raise ValueError("a standby")
    elif word == "standby-exit":
        sys.exit(0)
    elif word == "standby-vanish":
        os._exit(0)


CHANGES = []
LEAST_RANKS = 1
IS_STANDBY = "elasticrun.standby" in sys.modules
words = iter(sys.argv[1:])
for each in words:
    if not each.startswith("standby-"):
        do(each)
    elif IS_STANDBY and each == "standby-skip":
        next(words)
    elif IS_STANDBY:
        do(each)
survive.on_change(CHANGES.append)
train()
