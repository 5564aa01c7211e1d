# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""One of two workers whose state is a chain of hashes, committed into the vault at every step.

    vault_worker.py STEPS [RANK:CALL,RANK:CALL… [FACTOR]]

In the attempt I, the rank of the Ith pair kills itself when it makes that checksum, in the middle
of a commit. The state has FACTOR times 32 KB.
"""

import hashlib
import os
import signal
import socket
import sys
import time
import zlib

from elasticrun import vault

STEPS = int(sys.argv[1])
RANK = int(os.environ["RANK"])
ATTEMPT = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
KILLS = [tuple(map(int, pair.split(":"))) for pair in sys.argv[2].split(",") if pair
         ] if sys.argv[2:] else []
LENGTH = 1000 * (int(sys.argv[3]) if sys.argv[3:] else 1)


def say(text):
    """Writes a line at once, so that it is not mixed with those of the other rank."""
    os.write(1, (text + "\n").encode())


def kill_at(call):
    """Ends this process in the checksum of this number."""
    original = zlib.crc32
    left = [call]

    def counted(*arguments):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*arguments)

    vault.zlib.crc32 = counted


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
found = vault.newest()
if found is not None:
    vault.read("state", out=state)
    step = found.step
say(f"rank {RANK} begins at step {step}")
if ATTEMPT < len(KILLS) and KILLS[ATTEMPT][0] == RANK:
    kill_at(KILLS[ATTEMPT][1])
kept = 0
while step < STEPS:
    synchronize(peer)
    step += 1
    state[:] = hashlib.sha256(state + str(step).encode()).digest() * LENGTH
    kept += vault.commit({"state": state, "more": b"opaque"}, step)
say(f"rank {RANK} ends with {hashlib.sha256(state).hexdigest()[:16]}, "
      f"{'kept' if kept else 'nothing kept'}")
