#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Jobs of several nodes, all on this host, one worker each: how long until all work, again?

  start   from the start of the last node to the first statement of the last worker
  death   a worker is killed: until SIGTERM is handled by the workers of the other nodes (the median
          of them), and until all run again
  join    a node joins running ones: from its start until all run in the larger world
  loss    an agent is killed: until the workers of the others run in the smaller world
  return  the host's agent is killed and started again: from when it listens to the first statement
          of the first worker in the new world

The first round's last call is avoided by starting as many nodes as the job may have, but where one
is to join. The nodes share the processors of this host, as nodes of a cluster do not.
"""

import os
import random
import signal
import socket
import statistics
import time

from contenders import Stamps, describe_machine, end, parse_arguments, row, start

LAST_CALL = "0.3"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Job:
    """Nodes of one job; the first hosts the rendezvous."""

    def __init__(self, arguments, stamps, sizes):
        stamps.forget()  # the nodes of the job before restarted their workers as others left
        self.port = free_port()
        program = [arguments.build / "tests" / "puppet", "stamp", stamps.path, "hang"]
        self.command = [str(word) for word in (
            arguments.build / "elasticrun", "--nnodes", sizes, "--rdzv-backend", "c10d",
            "--rdzv-endpoint", f"127.0.0.1:{self.port}", "--rdzv-id", "benchmark", "--rdzv-conf",
            f"last_call_timeout={LAST_CALL}", "--max-restarts", "100", "--no-python", *program)]
        self.stamps = stamps
        self.nodes = []

    def add(self):
        self.nodes.append(start(self.command))

    def await_host(self):
        """Result: the moment at which the port is listened at."""
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return time.monotonic_ns()
            time.sleep(0.0005)

    def kill(self, node):
        os.kill(self.nodes[node], signal.SIGKILL)
        os.waitpid(self.nodes.pop(node), 0)

    def end(self):
        for pid in reversed(self.nodes):
            end(pid)


def last(stamps, began):
    return (max(nanoseconds for _, nanoseconds in stamps) - began) / 1e6


def settle():
    time.sleep(random.uniform(0.2, 0.4))


def measure_start_and_death(arguments, stamps, count, results):
    """As many nodes as the job may have, then deaths of workers."""
    job = Job(arguments, stamps, str(count))
    for _ in range(count - 1):
        job.add()
    settle()
    began = time.monotonic_ns()
    job.add()
    alive = stamps.take("start", count)
    results["start"].append(last(alive, began))
    for _ in range(5):
        settle()
        victim = random.choice(alive)[0]
        began = time.monotonic_ns()
        os.kill(victim, signal.SIGKILL)
        told = stamps.take("term", count - 1)
        results["SIGTERM"].append(statistics.median((ns - began) / 1e6 for _, ns in told))
        alive = stamps.take("start", count)
        results["death"].append(last(alive, began))
    job.end()


def measure_join_and_loss(arguments, stamps, count, results):
    """A node joins the others, then is killed."""
    job = Job(arguments, stamps, f"1:{count + 1}")
    for _ in range(count):
        job.add()
    stamps.take("start", count)
    settle()
    began = time.monotonic_ns()
    job.add()
    results["join"].append(last(stamps.take("start", count + 1), began))
    settle()
    began = time.monotonic_ns()
    job.kill(count)
    results["loss"].append(last(stamps.take("start", count), began))
    job.end()


def measure_return(arguments, stamps, count, results):
    """The host comes back at its address."""
    job = Job(arguments, stamps, str(count))
    job.add()
    job.await_host()
    for _ in range(count - 1):
        job.add()
    stamps.take("start", count)
    settle()
    job.kill(0)
    job.add()
    job.nodes.insert(0, job.nodes.pop())
    listens = job.await_host()
    results["return"].append((min(ns for _, ns in stamps.take("start", count)) - listens) / 1e6)
    job.end()


def main():
    arguments = parse_arguments(__doc__.splitlines()[0], runs=10)
    describe_machine(arguments)
    stamps = Stamps()
    print("| ms | median | quartiles | |\n| --- | --- | --- | --- |")
    for count in (2, 8, 32):
        results = {"start": [], "SIGTERM": [], "death": []}
        for _ in range(arguments.runs):
            measure_start_and_death(arguments, stamps, count, results)
        for name, text in (("start", "the last one starts: all work"),
                           ("SIGTERM", "a worker dies: SIGTERM at the others, median"),
                           ("death", "a worker dies: all work again")):
            print(row(f"{count} nodes, {text}", results[name], []), flush=True)
    results = {"join": [], "loss": []}
    for _ in range(arguments.runs):
        measure_join_and_loss(arguments, stamps, 3, results)
    print(row("3 nodes, one joins: all 4 work", results["join"], []))
    print(row("4 nodes, an agent is killed: the 3 others work", results["loss"], []))
    for count in (3, 8):
        results = {"return": []}
        for _ in range(arguments.runs):
            measure_return(arguments, stamps, count, results)
        print(row(f"{count} nodes, the host's agent is killed and listens again: the first works",
                  results["return"], []), flush=True)


if __name__ == "__main__":
    main()
