#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How many operations a second a store server does, and what CPU each costs it: ours over epoll
and over io_uring, and PyTorch's TCPStore of each release that is there, measured by the same client
in the same run. To PyTorch's of before 2.2 it speaks their protocol, to all others that of 2.2.

The servers run on core 0, the client on core 1; only the server that is measured has something to
do. The rounds alternate between the servers; medians are printed. Each connection has one request
outstanding; "connect" is one connection after the other, each of which sends one CHECK. SET has no
and is measured as SET and CHECK sent together; pipelined SETs are 200 of them and one CHECK, on
each connection. "CPU" is that of all threads of the server. --other NAME=PROGRAM also measures the
servers of another build of this benchmark; the client is always that of --program.
"""

import argparse
import os
import pathlib
import platform
import resource
import statistics
import subprocess

from contenders import add_python_option, find_torches

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPERATIONS = ["get", "set", "add", "check", "wait", "compare_set", "delete_key", "num_keys",
              "pipelined_set", "connect"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=ROOT / "build/release/benchmarks/store")
    parser.add_argument("--other", metavar="NAME=PROGRAM", help="of another build, as in musl=PATH")
    add_python_option(parser)
    parser.add_argument("--rounds", default=30, type=int)
    parser.add_argument("--seconds", default=0.2, type=float, help="of each measurement")
    parser.add_argument("--connections", default=64, type=int)
    parser.add_argument("--value-bytes", default=64, type=int)
    parser.add_argument("--operations", default=",".join(OPERATIONS))
    parser.add_argument("--servers", help="comma-separated names: epoll, ring, PyTorch 2.13, …")
    return parser.parse_args()


class Server:
    def __init__(self, command, protocol="2.2"):
        self.protocol = protocol
        self.process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, preexec_fn=lambda: os.sched_setaffinity(0, {0}))
        self.port = int(self.process.stdout.readline())

    def cpu_seconds(self):
        """Of all its threads, from the scheduler's own count in nanoseconds."""
        total = 0
        tasks = f"/proc/{self.process.pid}/task"
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        return total / 1e9

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def start_servers(arguments):
    wanted = arguments.servers and arguments.servers.split(",")
    commands = {io: [arguments.program, "serve", io] for io in ("epoll", "ring")}
    if arguments.other:
        name, program = arguments.other.split("=", 1)
        commands.update({f"{name} {io}": [program, "serve", io] for io in ("epoll", "ring")})
    for release, python in find_torches(arguments.python).items():
        commands[f"PyTorch {release}"] = [python, ROOT / "benchmarks/store_torch.py"]
    return {name: Server(command, "1.13" if name.startswith("PyTorch 1") else "2.2")
            for name, command in commands.items() if not wanted or name in wanted}


def measure(arguments, server, operation):
    """Operations a second, and the server's CPU time for each in microseconds."""
    client = subprocess.Popen(
        [str(arguments.program), "load", str(server.port), server.protocol, operation,
         str(arguments.connections), str(arguments.seconds), str(arguments.value_bytes)],
        stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {1}))
    client.stdout.readline()  # all are connected
    before = server.cpu_seconds()
    words = client.stdout.readline().split()
    cpu = server.cpu_seconds() - before
    if client.wait() != 0:
        raise SystemExit(f"the client failed at {operation}")
    operations, seconds = int(words[0]), float(words[1])
    return operations / seconds, cpu / operations * 1e6


def medians(arguments, servers, operation):
    results = {name: [] for name in servers}
    for _ in range(arguments.rounds + 1):
        for name, server in servers.items():
            results[name].append(measure(arguments, server, operation))
    # The first round warms up.
    return {name: [statistics.median(column) for column in zip(*rounds[1:])]
            for name, rounds in results.items()}


def ratio(measured, which, base, column):
    """By how much one is better than the other in operations (0) or worse in CPU time (1)."""
    if which not in measured or base not in measured:
        return ""
    return f"{measured[which][column] / measured[base][column]:.2f}"


def least_of(operation):
    """How many times PyTorch's operations ours are to be, at least; none: nothing was asked."""
    return {"pipelined_set": 5, "connect": 1, "num_keys": None}.get(operation, 1.2)


def verdict(operation, measured, newest):
    least = least_of(operation)
    if "ring" not in measured or newest not in measured or least is None:
        return "| "
    faster = measured["ring"][0] / measured[newest][0] >= least
    cheaper = operation == "connect" or measured["ring"][1] / measured[newest][1] <= 0.85
    return f"{least} | {'yes' if faster and cheaper else 'no'}"


def main():
    arguments = parse_arguments()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    servers = start_servers(arguments)
    print(f"Linux {platform.release()}, load {os.getloadavg()[0]:.2f}; {arguments.connections} "
          f"connections, {arguments.value_bytes}-byte values, medians of {arguments.rounds} x "
          f"{arguments.seconds} s; 1000 operations/s (us CPU each)\n")
    others = [name for name in servers if name.startswith("PyTorch")]
    newest = others[-1] if others else ""
    pairs = [("ring", other) for other in others] + [("ring", "epoll")]
    if arguments.other:
        name = arguments.other.split("=", 1)[0]
        pairs = [(f"{name} {io}", io) for io in ("epoll", "ring")]
    columns = ([f"{one} / {base}" for one, base in pairs]
               + [f"CPU {one} / {base}" for one, base in pairs] + ["bound", "reached"])
    print("| | " + " | ".join([*servers, *columns]) + " |")
    print("| --- " * (len(servers) + len(columns) + 1) + "|")
    for operation in arguments.operations.split(","):
        measured = medians(arguments, servers, operation)
        cells = [f"{rate / 1e3:.3g} ({cost:.2f})" for rate, cost in measured.values()]
        cells += [ratio(measured, one, base, which) for which in (0, 1) for one, base in pairs]
        print(f"| {operation} | " + " | ".join(cells)
              + f" | {verdict(operation, measured, newest)} |", flush=True)
    for server in servers.values():
        server.stop()


if __name__ == "__main__":
    main()
