# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""The death of a worker in a commit or a restore of the vault, or at any other moment."""

import os
import signal
import zlib

from elasticrun import vault


class Kills:
    """A plan such as "1:37,0:~80": in the first attempt, rank 1 dies when it makes its checksum 37;
    in the second one, rank 0 dies after 80 ms."""

    def __init__(self, plan):
        self.plan = [pair.split(":") for pair in plan.split(",") if pair]
        self.calls_left = 0
        self.original = zlib.crc32
        vault.zlib.crc32 = self.count

    def arm(self):
        """Counts from here on, for the attempt of this moment."""
        self.disarm()
        attempt = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", 0))
        rank, moment = self.plan[attempt] if attempt < len(self.plan) else ("", "")
        if rank != os.environ.get("RANK"):
            return
        if moment[0] == "~":
            signal.signal(signal.SIGALRM, signal.SIG_DFL)  # which ends the process
            signal.setitimer(signal.ITIMER_REAL, int(moment[1:]) / 1000)
        else:
            self.calls_left = int(moment)

    def disarm(self):
        self.calls_left = 0
        signal.setitimer(signal.ITIMER_REAL, 0)

    def count(self, *arguments):
        self.calls_left -= 1
        if self.calls_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return self.original(*arguments)
