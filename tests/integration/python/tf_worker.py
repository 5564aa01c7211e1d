# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker that reads TF_CONFIG as TensorFlow does, and meets the others at its addresses.

Each listens at its own address, sends its index to every other, and prints what it received.
"""

import json
import os
import socket
import sys
import time

config = json.loads(os.environ["TF_CONFIG"])
workers = config["cluster"]["worker"]
task = config["task"]
assert list(config["cluster"]) == ["worker"] and task["type"] == "worker"
index = task["index"]


def address_of(text):
    host, port = text.rsplit(":", 1)
    return host.strip("[]"), int(port)


host, port = address_of(workers[index])
server = socket.create_server(("", port))
peers = []
for other in range(len(workers)):
    if other == index:
        continue
    for _ in range(600):
        try:
            peers.append(socket.create_connection(address_of(workers[other]), timeout=60))
            break
        except ConnectionRefusedError:
            time.sleep(0.1)  # it has not come so far
    peers[-1].sendall(bytes([index]))
heard = []
for _ in peers:
    connection, _ = server.accept()
    heard.append(connection.recv(1)[0])
# One write: print() would write the line end by itself, and another worker may write before it.
sys.stdout.write(f"worker {index} of {len(workers)} heard {sorted(heard)} end\n")
sys.stdout.flush()
