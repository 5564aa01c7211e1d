#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How many operations a second a store server does, and what CPU each costs it: ours over epoll
and over io_uring, and PyTorch's TCPStore, measured by the same client in the same run.

The servers run on core 0, the client on core 1; only the server that is measured has something to
do. The rounds alternate between the servers; medians are printed. Each connection has one request
outstanding. SET has no reply and is measured as SET and CHECK sent together; pipelined SETs are 200
of them and one CHECK, on each connection. "CPU" is that of all threads of the server.
"""

import argparse
import os
import pathlib
import platform
import resource
import statistics
import subprocess

from contenders import find_torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPERATIONS = ["get", "set", "add", "check", "wait", "compare_set", "delete_key", "num_keys",
              "pipelined_set"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=ROOT / "build/release/benchmarks/store")
    parser.add_argument("--python", default=find_torch(), help="imports torch")
    parser.add_argument("--rounds", default=30, type=int)
    parser.add_argument("--seconds", default=0.2, type=float, help="of each measurement")
    parser.add_argument("--connections", default=64, type=int)
    parser.add_argument("--value-bytes", default=64, type=int)
    parser.add_argument("--operations", default=",".join(OPERATIONS))
    parser.add_argument("--servers", default="epoll,ring,torch")
    return parser.parse_args()


class Server:
    def __init__(self, command):
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
    commands = {
        "epoll": [arguments.program, "serve", "epoll"],
        "ring": [arguments.program, "serve", "ring"],
    }
    if arguments.python:
        commands["torch"] = [arguments.python, ROOT / "benchmarks/store_torch.py"]
    wanted = arguments.servers.split(",")
    return {name: Server(command) for name, command in commands.items() if name in wanted}


def measure(arguments, server, operation):
    """Operations a second, and the server's CPU time for each in microseconds."""
    client = subprocess.Popen(
        [str(arguments.program), "load", str(server.port), operation, str(arguments.connections),
         str(arguments.seconds), str(arguments.value_bytes)],
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


def verdict(operation, measured):
    if "ring" not in measured or "torch" not in measured:
        return ""
    least = 2.0 if operation == "pipelined_set" else 1.2
    faster = measured["ring"][0] / measured["torch"][0] >= least
    cheaper = measured["ring"][1] < measured["torch"][1]
    return f"{least} | {'yes' if faster and cheaper else 'no'}"


def main():
    arguments = parse_arguments()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    servers = start_servers(arguments)
    print(f"Linux {platform.release()}, load {os.getloadavg()[0]:.2f}; {arguments.connections} "
          f"connections, {arguments.value_bytes}-byte values, medians of {arguments.rounds} x "
          f"{arguments.seconds} s; 1000 operations/s (us CPU each)\n")
    print("| | " + " | ".join(servers) + " | epoll / torch | ring / torch | CPU ring / torch | "
          "CPU ring / epoll | bound | reached |")
    print("| --- " * (len(servers) + 7) + "|")
    for operation in arguments.operations.split(","):
        measured = medians(arguments, servers, operation)
        cells = [f"{rate / 1e3:.0f} ({cost:.2f})" for rate, cost in measured.values()]
        cells += [ratio(measured, "epoll", "torch", 0), ratio(measured, "ring", "torch", 0),
                  ratio(measured, "ring", "torch", 1), ratio(measured, "ring", "epoll", 1)]
        print(f"| {operation} | " + " | ".join(cells)
              + f" | {verdict(operation, measured) or '| '} |", flush=True)
    for server in servers.values():
        server.stop()


main()
