#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How many operations a second a store server does, and what CPU each costs it: ours over epoll
and over io_uring, and PyTorch's TCPStore, measured by the same client in the same run.

The servers run on core 0, the client on core 1; only the server that is measured has something to
do. The rounds alternate between the servers; medians are printed. SET has no reply and is measured
as SET and CHECK sent together; pipelined SETs are 200 of them and one CHECK, on each connection.
"""

import argparse
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
OPERATIONS = ["get", "set", "add", "check", "compare_set", "wait", "pipelined_set"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", default=ROOT / "build/release/benchmarks/store")
    parser.add_argument("--python", default="/usr/bin/python3", help="imports torch")
    parser.add_argument("--rounds", default=5, type=int)
    parser.add_argument("--seconds", default=0.7, type=float, help="of each measurement")
    parser.add_argument("--connections", default=64, type=int)
    parser.add_argument("--value-bytes", default=64, type=int)
    parser.add_argument("--operations", default=",".join(OPERATIONS))
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


def measure(arguments, server, operation):
    before = server.cpu_seconds()
    client = subprocess.run(
        [str(arguments.program), "load", str(server.port), operation, str(arguments.connections),
         str(arguments.seconds), str(arguments.value_bytes)],
        check=True, capture_output=True, text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {1}))
    operations, seconds = client.stdout.split()
    cpu = server.cpu_seconds() - before
    return int(operations) / float(seconds), cpu / int(operations) * 1e6


def main():
    arguments = parse_arguments()
    servers = {
        "epoll": Server([arguments.program, "serve", "epoll"]),
        "ring": Server([arguments.program, "serve", "ring"]),
        "torch": Server([arguments.python, ROOT / "benchmarks/store_torch.py"]),
    }
    print(f"{arguments.connections} connections, {arguments.value_bytes}-byte values, medians of "
          f"{arguments.rounds} x {arguments.seconds} s; k operations/s (us CPU each)")
    print(f"{'':14}" + "".join(f"{name:>20}" for name in servers) + f"{'epoll/torch':>14}"
          f"{'ring/torch':>12}")
    for operation in arguments.operations.split(","):
        results = {name: [] for name in servers}
        for _ in range(arguments.rounds + 1):
            for name, server in servers.items():
                results[name].append(measure(arguments, server, operation))
        rates, costs = {}, {}
        for name, all_rounds in results.items():
            # The first round warms up.
            rates[name] = statistics.median(rate for rate, _ in all_rounds[1:])
            costs[name] = statistics.median(cost for _, cost in all_rounds[1:])
        print(f"{operation:14}"
              + "".join(f"{rates[name] / 1e3:11.1f} ({costs[name]:6.2f})" for name in servers)
              + f"{rates['epoll'] / rates['torch']:14.2f}{rates['ring'] / rates['torch']:12.2f}",
              flush=True)
    for server in servers.values():
        server.stop()


main()
