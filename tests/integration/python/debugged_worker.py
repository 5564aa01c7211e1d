# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker of a job in which one rank has a debugger. Its arguments say what else it does."""

import os
import signal
import sys
import time

from elasticrun import worker

rank = os.environ["RANK"]
attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
print(f"rank {rank} runs in attempt {attempt} with {' '.join(sys.argv[1:])}", flush=True)

if "silent" in sys.argv:
    # Its own time-outs are over long before it ends.
    channel = worker.connect()
    channel.heartbeat(timeout=0.05)
    with channel.section("collective", timeout=0.05), channel.expires(after=0.05):
        time.sleep(1)
    print(f"rank {rank} was silent", flush=True)
if "dies" in sys.argv and rank == "1" and attempt == "0":
    os.kill(os.getpid(), signal.SIGKILL)
