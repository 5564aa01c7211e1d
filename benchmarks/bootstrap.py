#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How long the store takes to bring the ranks of a job together. Replays, for any number of ranks,
the requests of PyTorch ranks that form a gloo group, in which each rank connects to each other.

  bootstrap.py                  replays 1,024 ranks at our server and at PyTorch's
  bootstrap.py --record RANKS   runs real ranks of PyTorch through a proxy, and checks that they ask
                                for the same as the replay

The law: a rank greets (VALIDATE and PING), counts itself (ADD), sets one key whose value has 154
bytes and 8 for each rank. Then, for each rank in turn, it asks twice whether the key of that rank
is there (WAIT) and gets it. It never has more than one request outstanding, but for SET, which has
no reply. A further group (new_group) does the same without the first three. Barriers go over gloo.

PyTorch's server looks up the name of each client that connects, which takes long where no name
server answers. The time once all are connected excludes these look-ups.

The servers run on core 0, the ranks, all in one process, on core 1; each replay starts a new
server. The rounds alternate between the servers; the script prints medians.
"""

import argparse
import asyncio
import collections
import os
import pathlib
import platform
import resource
import statistics
import struct
import subprocess
import sys

from contenders import add_python_option, find_torches
from store import Server

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPERATIONS = ["validate", "set", "compare_set", "get", "add", "check", "wait"]
RANK = """
import torch.distributed as dist
dist.init_process_group("gloo")
dist.barrier()
dist.new_group(backend="gloo")
dist.barrier()
dist.destroy_process_group()
"""


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/release/benchmarks/store")
    add_python_option(parser)
    parser.add_argument("--ranks", default=1024, type=int)
    parser.add_argument("--rounds", default=3, type=int)
    parser.add_argument("--record", metavar="RANKS", type=int)
    parser.add_argument("--servers", help="comma-separated names: epoll, ring, PyTorch 2.13")
    return parser.parse_args()


# ---- the replay -------------------------------------------------------------------------------


def replay(arguments, command):
    """The seconds of a replay, those after all had connected, and those of the server's CPU."""
    server = Server(command)
    done = subprocess.run(
        [str(arguments.program), "bootstrap", str(server.port), str(arguments.ranks)],
        stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {1}))
    cpu = server.cpu_seconds()
    server.stop()
    if done.returncode != 0:
        raise SystemExit("the replay failed")
    _, seconds, exchange = done.stdout.split()
    return float(seconds), float(exchange), cpu


def compare(arguments):
    torches = find_torches(arguments.python)
    newest = list(torches)[-1]
    commands = {io: [arguments.program, "serve", io] for io in ("epoll", "ring")}
    commands[f"PyTorch {newest}"] = [torches[newest], ROOT / "benchmarks/store_torch.py"]
    if arguments.servers:
        commands = {name: commands[name] for name in arguments.servers.split(",")}
    print(f"Linux {platform.release()}, load {os.getloadavg()[0]:.2f}; {arguments.ranks} ranks, "
          f"medians of {arguments.rounds}\n")
    print("| server | seconds | once all are connected | CPU of the server | / PyTorch's | once "
          "connected | CPU |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    runs = collections.defaultdict(list)
    for _ in range(arguments.rounds):
        for name, command in commands.items():
            runs[name].append(replay(arguments, command))
    medians = {name: [statistics.median(column) for column in zip(*each)]
               for name, each in runs.items()}
    base = medians.get(f"PyTorch {newest}")
    for name, figures in medians.items():
        ratios = [f"{mine / other:.2f}" for mine, other in zip(figures, base or [])] or [""] * 3
        cells = [f"{seconds:.2f}" for seconds in figures] + ratios
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


# ---- the recording ----------------------------------------------------------------------------


class Requests:
    """Splits the requests of one connection; knows only the kinds that the law has."""

    def __init__(self):
        self.bytes = b""

    def feed(self, data):
        self.bytes += data
        while self.bytes:
            try:
                used, request = self.first()
            except struct.error:
                return
            if used > len(self.bytes):
                return
            self.bytes = self.bytes[used:]
            yield request

    def text(self, at):
        size, = struct.unpack_from("<Q", self.bytes, at)
        return at + 8 + size, self.bytes[at + 8:at + 8 + size]

    def first(self):
        code = self.bytes[0]
        if code in (0, 13):  # VALIDATE, PING
            return 5, ("validate" if code == 0 else "ping",)
        if code >= len(OPERATIONS):
            raise SystemExit(f"a request that the law does not have: {code}")
        name = OPERATIONS[code]
        if name == "wait":
            keys, = struct.unpack_from("<Q", self.bytes, 1)
            used, key = self.text(9)
            return used, (name, keys, key.decode())
        used, key = self.text(1)
        if name == "add":
            return used + 8, (name, key.decode())
        if name == "set":
            used, value = self.text(used)
            return used, (name, key.decode(), len(value))
        return used, (name, key.decode())


async def record(ranks, python):
    """For each connection, its requests, and the most that were without a reply at a time."""
    server = Server([python, ROOT / "benchmarks/store_torch.py"])
    seen = []

    async def serve(reader, writer):
        requests, mine = Requests(), {"asked": [], "outstanding": 0, "most": 0}
        seen.append(mine)
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", server.port)

        async def pass_up():
            while data := await reader.read(65536):
                for request in requests.feed(data):
                    mine["asked"].append(request)
                    if request[0] not in ("validate", "set"):
                        mine["outstanding"] += 1
                        mine["most"] = max(mine["most"], mine["outstanding"])
                up_writer.write(data)
            up_writer.close()

        async def pass_down():
            while data := await up_reader.read(65536):
                # With one outstanding whatever comes belongs to it.
                mine["outstanding"] = 0
                writer.write(data)
            writer.close()

        await asyncio.gather(pass_up(), pass_down())

    proxy = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = proxy.sockets[0].getsockname()[1]
    processes = []
    for rank in range(ranks):
        variables = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank),
                         MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1",
                         TORCHELASTIC_USE_AGENT_STORE="True", TORCHELASTIC_RESTART_COUNT="0")
        processes.append(await asyncio.create_subprocess_exec(python, "-c", RANK, env=variables))
    for process in processes:
        if await process.wait() != 0:
            raise SystemExit("a rank failed")
    server.stop()
    return seen


def asked_by_law(ranks, own_key):
    yield ("validate",)
    yield ("ping",)
    yield ("add", "init/")
    for group in ("", "1//"):
        prefix = f"/default_pg/0//{group}cpu//0/"
        yield ("set", prefix + own_key, 154 + 8 * ranks)
        for rank in range(ranks):
            yield ("wait", 1, f"{prefix}{rank}")
            yield ("wait", 1, f"{prefix}{rank}")
            yield ("get", f"{prefix}{rank}")


def check_law(arguments):
    torches = find_torches(arguments.python)
    newest = list(torches)[-1]
    ranks = arguments.record
    seen = asyncio.run(record(ranks, torches[newest]))
    wrong = len(seen) != ranks
    for connection in seen:
        asked = connection["asked"]
        own_key = next(request[1].rsplit("/", 1)[1] for request in asked if request[0] == "set")
        wrong = wrong or asked != list(asked_by_law(ranks, own_key)) or connection["most"] != 1
    total = sum(len(connection["asked"]) for connection in seen)
    print(f"PyTorch {newest}, {ranks} ranks: {len(seen)} connections, {total} requests, "
          f"{'not ' if wrong else ''}as the law has them")
    return 1 if wrong else 0


def main():
    arguments = parse_arguments()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if arguments.record:
        return check_law(arguments)
    compare(arguments)
    return 0


if __name__ == "__main__":
    sys.exit(main())
