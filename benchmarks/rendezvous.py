#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How long a round of N nodes takes, from the last join until each knows its rank, world and master
address: at our server, at one of a job with a secret, and at one that only counts N messages and
writes N answers.

Server and nodes are one process each, on the same processors; each node is a handler with a
connection of its own. The servers take turns; medians are printed. Then the same at three servers
of which one leads. What its death costs: nodes.py.
"""

import argparse
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import time

from contenders import find_leader, free_endpoints

ROOT = pathlib.Path(__file__).resolve().parent.parent
# How many times as long as at the bare server a round over the ring may take.
BOUNDS = {256: 1.4, 1024: 1.5, 4096: 1.6}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", default=ROOT / "build/release/benchmarks/rendezvous")
    parser.add_argument("--rounds", default=15, type=int)
    parser.add_argument("--nodes", default="8,64,256,1024,4096")
    parser.add_argument("--candidates", default="8,64,256,1000", help="nodes at three servers")
    return parser.parse_args()


class Server:
    def __init__(self, program, *words):
        self.process = subprocess.Popen([str(program), *words], stdin=subprocess.PIPE,
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


class Candidates:
    """Three servers of one job."""

    def __init__(self, program, nodes):
        self.endpoints = free_endpoints(3)
        self.words = [(program, "candidate", self.endpoints, str(place), str(nodes))
                      for place in range(3)]
        self.servers = [Server(*words) for words in self.words]
        self.lost = None
        self.await_leader()

    def await_leader(self):
        while find_leader(self.endpoints, "job") is None:
            time.sleep(0.01)

    def kill_leader(self):
        """Result: the moment of it."""
        self.lost = find_leader(self.endpoints, "job")
        leader = self.servers[self.lost]
        began = time.monotonic_ns()
        leader.process.kill()
        leader.process.communicate()
        return began

    def restart(self):
        """Starts the one again that was killed."""
        self.servers[self.lost] = Server(*self.words[self.lost])

    def stop(self):
        for server in self.servers:
            server.stop()


def meet_at_candidates(program, nodes):
    servers = Candidates(program, nodes)
    done = subprocess.run([str(program), "meet-candidates", servers.endpoints, str(nodes)],
                          check=True, stdout=subprocess.PIPE, text=True)
    servers.stop()
    return [float(word) for word in done.stdout.split()]


def print_candidates(arguments):
    print("\n| nodes | one server | three | ratio | all leave and meet again: one | three |")
    print("| --- " * 6 + "|")
    for nodes in (int(word) for word in arguments.candidates.split(",")):
        one, three = [], []
        server = Server(arguments.program, "serve", "ring")
        for _ in range(arguments.rounds):
            one.append(meet(arguments.program, server, "meet", nodes))
            three.append(meet_at_candidates(arguments.program, nodes))
        server.stop()
        first, again = zip(*one)
        first_of_three, again_of_three = zip(*three)
        middle = statistics.median
        print(f"| {nodes} | {middle(first):.2f} | {middle(first_of_three):.2f} | "
              f"{middle(first_of_three) / middle(first):.2f} | {middle(again):.1f} | "
              f"{middle(again_of_three):.1f} |", flush=True)
    print(f"\nload {os.getloadavg()[0]:.2f}")


def main():
    arguments = parse_arguments()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    servers = {"bare": "meet-bare", "epoll": "meet", "ring": "meet", "ring-secret": "meet-secret"}
    running = {kind: Server(arguments.program, "serve", kind) for kind in servers}
    print(f"{os.cpu_count()} processors, Linux {platform.release()}, load "
          f"{os.getloadavg()[0]:.2f}; ms, medians of {arguments.rounds}\n")
    print("| nodes | bare | epoll | ring | with a secret | of bare | bound | "
          "all leave and meet again |")
    print("| --- " * 8 + "|")
    for nodes in (int(word) for word in arguments.nodes.split(",") if word):
        rounds = {kind: [] for kind in servers}
        for _ in range(arguments.rounds):
            for kind, what in servers.items():
                rounds[kind].append(meet(arguments.program, running[kind], what, nodes))
        first = {kind: statistics.median(one[0] for one in all_) for kind, all_ in rounds.items()}
        again = statistics.median(one[1] for one in rounds["ring"])
        cells = [f"{first[kind]:.2f}" for kind in servers]
        print(f"| {nodes} | " + " | ".join(cells) + f" | {first['ring'] / first['bare']:.2f} | "
              f"{BOUNDS.get(nodes, '')} | {again:.1f} |", flush=True)
    for server in running.values():
        server.stop()
    print_candidates(arguments)


if __name__ == "__main__":
    main()
