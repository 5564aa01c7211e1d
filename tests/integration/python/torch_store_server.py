#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Serves a torch.distributed.TCPStore on a free port until a client sets the key "stop".

  torch_store_server.py PORT_FILE [WORLD_SIZE]

With a world size, the server waits for that many processes to announce themselves. With USE_LIBUV
in the environment (0 or 1) it is one of PyTorch 2.x, over libuv or not.
"""

import datetime
import os
import pathlib
import sys

import torch.distributed as dist

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from ports import reserved_port


def main():
    port_file = sys.argv[1]
    world_size = int(sys.argv[2]) if len(sys.argv) > 2 else None
    port = reserved_port()
    with open(port_file + ".new", "w", encoding="ascii") as file:
        file.write(str(port))
    os.rename(port_file + ".new", port_file)
    options = {}
    if "USE_LIBUV" in os.environ:
        options["use_libuv"] = os.environ["USE_LIBUV"] == "1"
    store = dist.TCPStore("127.0.0.1", port, world_size, True, datetime.timedelta(seconds=30),
                          **options)
    print("serving")
    store.set("from torch", "hello")
    store.wait(["stop"])
    print(store.get("from elastic").decode())


main()
