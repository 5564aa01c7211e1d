# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""python -m debugpy --listen HOST:PORT --wait-for-client {SCRIPT | -m MODULE} [ARGUMENT ...]"""

import os
import runpy
import socket
import sys


def wait_for_client(place):
    host, _, port = place.rpartition(":")
    with socket.create_server((host, int(port))) as server:
        print(f"rank {os.environ['RANK']} listens", flush=True)
        with server.accept()[0] as client, client.makefile() as lines:
            assert lines.readline() == "go\n"


assert sys.argv[1] == "--listen" and sys.argv[3] == "--wait-for-client", sys.argv
wait_for_client(sys.argv[2])
if sys.argv[4] == "-m":
    sys.argv = sys.argv[5:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
else:
    sys.argv = sys.argv[4:]
    runpy.run_path(sys.argv[0], run_name="__main__")
