#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How long a round and the end of a job of thousands of nodes take at one server, and the cost of
its events for the coordinator alone.

The server is one process; the simulated nodes run in as many processes as their descriptors need.
Each process has its own loopback address. All of them run on the same processors. A round lasts
from the last join, or from the first of all joins, until the last node knows its place; the end
from the first node that has finished until the last one knows that all have. Up to 4,096 nodes, it
alternates with a server that only counts messages and writes answers (rendezvous.py).
"""

import argparse
import os
import pathlib
import platform
import resource
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Milliseconds from the last join, and how many times as long as at the bare server.
BOUNDS = {16384: 250}
BARE_BOUNDS = {256: 1.4, 1024: 1.5, 4096: 1.6}
# A process may have 20,000 descriptors, and the ports of a job before are not free at once.
NODES_OF_A_PROCESS = 8192


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", default=ROOT / "build/release/benchmarks", type=pathlib.Path)
    parser.add_argument("--rounds", default=7, type=int)
    parser.add_argument("--nodes", default="256,1024,4096,16384")
    parser.add_argument("--machine", default="256,1024,4096,10000,16384,65536",
                        help="numbers of nodes for the coordinator alone")
    return parser.parse_args()


class Crowd:
    """The simulated nodes of one process."""

    def __init__(self, program, port, run_id, address, first, count, total):
        self.process = subprocess.Popen(
            [str(program), "nodes", port, run_id, address, str(first), str(count), str(total)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def order(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def heard(self, word):
        """The time at which it printed that word, in nanoseconds."""
        said, moment = self.process.stdout.readline().split()
        assert said == word, f"{said} instead of {word}"
        return int(moment)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def milliseconds_of(crowds, ordered, word, answer):
    """From the first of `ordered` that begins until all of `crowds` have their answers."""
    for crowd in ordered:
        crowd.order(word)
    begin = min(crowd.heard("begin") for crowd in ordered)
    return (max(crowd.heard(answer) for crowd in crowds) - begin) / 1e6


def measure(program, port, number, nodes):
    """Milliseconds from the last join, of a whole second round, and of the end."""
    processes = -(-nodes // NODES_OF_A_PROCESS)
    bounds = [nodes * place // processes for place in range(processes + 1)]
    crowds = []
    for place in range(processes):
        # An address has 28,000 ports, and those of the job before are not free at once.
        address = f"127.{1 + place}.{number // 250}.{1 + number % 250}"
        crowds.append(Crowd(program, port, f"job-{number}", address, bounds[place],
                            bounds[place + 1] - bounds[place], nodes))
    for crowd in crowds:
        crowd.heard("ready")
    first = milliseconds_of(crowds, crowds[-1:], "last", "placed")
    again = milliseconds_of(crowds, crowds, "again", "placed")
    end = milliseconds_of(crowds, crowds, "finish", "finished")
    for crowd in crowds:
        crowd.stop()
    return first, again, end


def measure_bare(program, port, nodes):
    """Milliseconds from the last message at the bare server."""
    done = subprocess.run([str(program), "meet-bare", port, str(nodes)], check=True,
                          stdout=subprocess.PIPE, text=True)
    return float(done.stdout.split()[0])


class Server:
    def __init__(self, program, kind):
        self.process = subprocess.Popen([str(program), "serve", kind], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.port = self.process.stdout.readline().strip()

    def stop(self):
        self.process.stdin.close()
        self.process.wait()


def print_rounds(arguments):
    program = arguments.programs / "rendezvous"
    server, bare_server = Server(program, "ring"), Server(program, "bare")
    print("| nodes | bare | from the last join | of bare | bounds | all leave and meet again | "
          "all finish |")
    print("| --- " * 7 + "|")
    number = 0
    for nodes in (int(word) for word in arguments.nodes.split(",") if word):
        rounds, bare = [], []
        for _ in range(arguments.rounds):
            if nodes in BARE_BOUNDS:
                bare.append(measure_bare(program, bare_server.port, nodes))
            rounds.append(measure(arguments.programs / "large_job", server.port, number, nodes))
            number += 1
        first, again, end = (statistics.median(column) for column in zip(*rounds))
        least = statistics.median(bare) if bare else None
        print(f"| {nodes} | {f'{least:.1f}' if least else ''} | {first:.1f} | "
              f"{f'{first / least:.2f}' if least else ''} | "
              f"{BARE_BOUNDS.get(nodes, '')}{BOUNDS.get(nodes, '')} | {again:.1f} | {end:.1f} |",
              flush=True)
    for each in (server, bare_server):
        each.stop()


def main():
    arguments = parse_arguments()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    print(f"{os.cpu_count()} processors, Linux {platform.release()}, load "
          f"{os.getloadavg()[0]:.2f}; ms, medians of {arguments.rounds}\n")
    print_rounds(arguments)
    print()
    subprocess.run([str(arguments.programs / "large_job"), "machine",
                    *arguments.machine.split(",")], check=True)
    print(f"\nload {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
