#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How long a round of N nodes takes, from the last join until each knows its rank, world and master
address: at our server, at one of a job with a secret, and at one that only counts N messages and
writes N answers.

Server and nodes are one process each, on the same processors; each node is a handler with a
connection of its own. The servers take turns; medians are printed.
"""

import argparse
import os
import pathlib
import platform
import resource
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Milliseconds that a round may take.
BOUNDS = {256: 6, 1024: 20, 4096: 90}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=ROOT / "build/release/benchmarks/rendezvous")
    parser.add_argument("--rounds", default=15, type=int)
    parser.add_argument("--nodes", default="8,64,256,1024,4096")
    return parser.parse_args()


class Server:
    def __init__(self, program, kind):
        self.process = subprocess.Popen([str(program), "serve", kind], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.port = self.process.stdout.readline().strip()

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/schedstat", encoding="ascii") as file:
            return int(file.read().split()[0]) / 1e9

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def meet(program, server, what, nodes):
    """Milliseconds of a first round, after its last join, and of a whole second one."""
    done = subprocess.run([str(program), what, server.port, str(nodes)], check=True,
                          stdout=subprocess.PIPE, text=True)
    return [float(word) for word in done.stdout.split()]


def main():
    arguments = parse_arguments()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    servers = {"bare": "meet-bare", "epoll": "meet", "ring": "meet", "ring-secret": "meet-secret"}
    running = {kind: Server(arguments.program, kind) for kind in servers}
    print(f"{os.cpu_count()} processors, Linux {platform.release()}, load "
          f"{os.getloadavg()[0]:.2f}; ms, medians of {arguments.rounds}\n")
    print("| nodes | bare | epoll | ring | with a secret | of bare | bound | "
          "all leave and meet again |")
    print("| --- " * 8 + "|")
    for nodes in (int(word) for word in arguments.nodes.split(",")):
        rounds = {kind: [] for kind in servers}
        for _ in range(arguments.rounds):
            for kind, what in servers.items():
                rounds[kind].append(meet(arguments.program, running[kind], what, nodes))
        first = {kind: statistics.median(one[0] for one in all_) for kind, all_ in rounds.items()}
        again = statistics.median(one[1] for one in rounds["ring"])
        cells = [f"{first[kind]:.2f}" for kind in servers]
        print(f"| {nodes} | " + " | ".join(cells) + f" | {first['ring'] / first['bare']:.1f} | "
              f"{BOUNDS.get(nodes, '')} | {again:.1f} |", flush=True)
    for server in running.values():
        server.stop()


if __name__ == "__main__":
    main()
