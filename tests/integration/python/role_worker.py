# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker of a job of roles that does what its first argument says.

serve PORT    answers each connection with its epoch; the connection that says "die" kills it
find HOW      finds the server of role "rollout", has it die, and finds its successor at another
              port. HOW is how it waits: wait, iterate, async or call
gather COUNT  waits until role "rollout" has COUNT workers, and prints who they are
"""

import asyncio
import os
import queue
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "python"))
from elasticrun import worker  # noqa: E402


def serve(port):
    with socket.create_server(("", int(port))) as server:
        agent = worker.connect()
        agent.progress(0)
        while True:
            connection, _ = server.accept()
            with connection:
                if connection.recv(100) == b"die":
                    os._exit(3)
                connection.sendall(b"here")


def ask(found, what):
    with socket.create_connection((found.address, found.ports["http"])) as connection:
        connection.sendall(what)
        return connection.recv(100)


def server_of(roles):
    """The worker of a rollout that serves, if there is one."""
    role = roles["rollout"]
    return role.workers[0] if role.ready and role.workers else None


def by_wait():
    changes = worker.roles().changes()
    while True:
        yield changes.wait()


def by_call():
    news = queue.Queue()
    first = worker.roles()
    first.on_change(news.put)
    yield first
    while True:
        yield news.get()


def find(snapshots):
    """The servers one after the other, each asked to die but the last."""
    ports = []
    for roles in snapshots:
        found = server_of(roles)
        if found is None or found.ports["http"] in ports:
            continue
        ports.append(found.ports["http"])
        assert ask(found, b"hello") == b"here"
        if len(ports) == 2:
            break
        ask(found, b"die")
    print("found two servers", flush=True)


async def find_async():
    ports = []
    async for roles in worker.roles().changes():
        found = server_of(roles)
        if found is None or found.ports["http"] in ports:
            continue
        ports.append(found.ports["http"])
        if len(ports) == 2:
            break
        ask(found, b"die")
    print("found two servers", flush=True)


def gather(count):
    for roles in worker.roles().changes():
        workers = roles["rollout"].workers
        if len(workers) == int(count):
            break
    for each in workers:
        print(f"rank {each.rank} on {each.node}: {sorted(each.ports)}", flush=True)


def main():
    what, how = sys.argv[1:]
    if what == "serve":
        serve(how)
    elif what == "gather":
        gather(how)
    elif how == "async":
        asyncio.run(find_async())
    else:
        find({"wait": by_wait, "iterate": worker.roles().changes, "call": by_call}[how]())


main()
