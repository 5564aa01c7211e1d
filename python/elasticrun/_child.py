# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Becomes a program that gets SIGTERM when its parent dies:  _child.py PARENT PROGRAM …

`elasticrun.run` starts elasticrun by it, so that a Python that is killed leaves no job behind.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1

signal.signal(signal.SIGINT, signal.SIG_DFL)
# The kernel keeps this across exec. Without it the job runs on if Python is killed.
ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    sys.exit("elasticrun.run: its Python has ended")
os.execv(sys.argv[2], sys.argv[2:])
