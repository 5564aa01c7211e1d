# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Notes its start in the file that it is given; in its first attempt it then waits to be killed."""
import os
import signal
import sys
import marked

attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "none")
with open(sys.argv[1], "a", encoding="ascii") as starts:
    starts.write(f"{os.environ['LOCAL_RANK']} {attempt} {os.getpid()} {marked.pid}\n")
print("attempt", attempt, "of", os.environ.get("MASTER_PORT", "nobody").isdigit(), flush=True)
if attempt != "1":
    signal.pause()
