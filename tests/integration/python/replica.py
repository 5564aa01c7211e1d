# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Replica 0 stops beating in its first life; replica 1 waits until it is back."""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "python"))
from elasticrun import worker  # noqa: E402

BACK = sys.argv[1]

if os.environ["ROLE_RANK"] == "0" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    worker.connect().heartbeat()
    time.sleep(1000)
elif os.environ["ROLE_RANK"] == "0":
    open(BACK, "w").close()
else:
    agent = worker.connect()
    agent.heartbeat(timeout=1000)  # it may be silent now
    while not os.path.exists(BACK):
        time.sleep(0.01)
