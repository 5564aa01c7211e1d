# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""One of two workers whose state is a chain of hashes, committed into the vault at every step.

    vault_worker.py STEPS [RANK:CALL,RANK:CALL… [FACTOR [FILE]]]

The kills are those of planned_kills.py, in commits and restores. The state has FACTOR times 32 KB.
Both wait at step 20 until there is a FILE. They find each other by the identifier of the job, which
no other job on this host may have.
"""

import hashlib
import os
import signal
import socket
import sys
import time

from elasticrun import vault
from planned_kills import Kills

STEPS = int(sys.argv[1])
RANK = int(os.environ["RANK"])
ATTEMPT = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
KILLS = Kills(sys.argv[2] if sys.argv[2:] else "")
LENGTH = 1000 * (int(sys.argv[3]) if sys.argv[3:] else 1)
HOLD = sys.argv[4] if sys.argv[4:] else ""


def say(text):
    """Writes a line at once, so that it is not mixed with those of the other rank."""
    os.write(1, (text + "\n").encode())


def meet():
    """A connection to the other rank."""
    address = f"\0vault-test-{os.environ['TORCHELASTIC_RUN_ID']}-{ATTEMPT}"
    if RANK == 0:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(address)
            listener.listen()
            return listener.accept()[0]
    while True:
        connected = socket.socket(socket.AF_UNIX)
        try:
            connected.connect(address)
            return connected
        except ConnectionRefusedError:
            connected.close()
            time.sleep(0.001)


def synchronize(peer):
    """Ends once both ranks have called it. If the other one is dead, the agent ends this one."""
    try:
        peer.send(b".")
        if peer.recv(1):
            return
    except OSError:
        pass
    signal.pause()


peer = meet()
state = bytearray(hashlib.sha256(str(RANK).encode()).digest() * LENGTH)
step = 0
KILLS.arm()
found = vault.newest()
if found is not None:
    vault.read("state", out=state)
    step = found.step
say(f"rank {RANK} begins at step {step}")
kept = 0
while step < STEPS:
    synchronize(peer)
    step += 1
    state[:] = hashlib.sha256(state + str(step).encode()).digest() * LENGTH
    kept += vault.commit({"state": state, "more": b"opaque"}, step)
    if HOLD and step == 20:
        say(f"rank {RANK} waits")
        while not os.path.exists(HOLD):
            time.sleep(0.005)
say(f"rank {RANK} ends with {hashlib.sha256(state).hexdigest()[:16]}, "
      f"{'kept' if kept else 'nothing kept'}")
