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
  leader  the job has three endpoints, and the agent that leads it is killed, or another one: until
          the first worker of the new world runs
  round   a worker is killed: until all run again, with three endpoints and with one, in turns
  idle    messages that the agents of an idle job with three endpoints send to each other's servers

The first round's last call is avoided by starting as many nodes as the job may have, but where one
is to join. The nodes share the processors of this host, as nodes of a cluster do not.
"""

import os
import random
import re
import shutil
import signal
import socket
import statistics
import subprocess
import tempfile
import time

from contenders import (Stamps, describe_machine, end, find_leader, free_endpoints,
                        parse_arguments, row, start)

LAST_CALL = "0.3"
PARTS = "death,join,return,leader,round,idle"


class Job:
    """Nodes of one job; the first ones serve it."""

    def __init__(self, arguments, stamps, sizes, endpoints=1):
        stamps.forget()  # the nodes of the job before restarted their workers as others left
        self.endpoints = free_endpoints(endpoints)
        program = [arguments.build / "tests" / "puppet", "stamp", stamps.path, "hang"]
        self.command = [str(word) for word in (
            arguments.build / "elasticrun", "--nnodes", sizes, "--rdzv-backend", "c10d",
            "--rdzv-endpoint", self.endpoints, "--rdzv-id", "benchmark", "--rdzv-conf",
            f"last_call_timeout={LAST_CALL}", "--max-restarts", "100", "--no-python", *program)]
        self.stamps = stamps
        self.nodes = []

    def add(self):
        self.nodes.append(start(self.command))

    def await_host(self):
        """Result: the moment at which the last endpoint is listened at."""
        host, port = self.endpoints.split(",")[-1].split(":")
        while True:
            with socket.socket() as probe:
                if probe.connect_ex((host, int(port))) == 0:
                    return time.monotonic_ns()
            time.sleep(0.0005)

    def leading(self):
        """The node that leads the job."""
        port = self.endpoints.split(",")[find_leader(self.endpoints, "benchmark")].split(":")[1]
        listing = subprocess.run(["ss", "-Hltnp", f"sport = :{port}"], capture_output=True,
                                 text=True, check=True).stdout
        return self.nodes.index(int(re.search(r"pid=(\d+)", listing)[1]))

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


def measure_leader(arguments, stamps, count, results):
    """One job of three servers: the leading agent is lost, and another one, in turns."""
    job = Job(arguments, stamps, f"1:{count}", endpoints=3)
    for _ in range(count):
        job.add()
    stamps.take("start", count)
    for _ in range(arguments.runs):
        for which in ("leader", "other"):
            settle()
            leading = job.leading()
            others = [node for node in range(count) if node != leading]
            node = leading if which == "leader" else random.choice(others)
            began = time.monotonic_ns()
            job.kill(node)
            results[which].append((min(ns for _, ns in stamps.take("start", count - 1)) - began)
                                  / 1e6)
            job.add()
            stamps.take("start", count)
    job.end()


def measure_rounds(arguments, stamps, count, results):
    """Of two jobs a worker dies, in turns."""
    for endpoints in (1, 3):
        job = Job(arguments, stamps, str(count), endpoints)
        for _ in range(count):
            job.add()
        alive = stamps.take("start", count)
        for _ in range(5):
            settle()
            began = time.monotonic_ns()
            os.kill(random.choice(alive)[0], signal.SIGKILL)
            alive = stamps.take("start", count)
            results[endpoints].append(last(alive, began))
        job.end()


def count_idle_messages(arguments, stamps, seconds=30):
    """By kind, what the agents of an idle job of three servers send; strace sees what they write
    if no ring carries it."""
    os.environ["ELASTIC_IO"] = "epoll"
    job = Job(arguments, stamps, "3", endpoints=3)
    for _ in range(3):
        job.add()
    stamps.take("start", 3)
    del os.environ["ELASTIC_IO"]
    time.sleep(2)
    with tempfile.NamedTemporaryFile("r") as trace:
        command = ["strace", "-qq", "-f", "-s", "4096", "-o", trace.name, "-e",
                   "trace=write,writev,sendto,sendmsg"]
        for pid in job.nodes:
            command += ["-p", str(pid)]
        tracer = subprocess.Popen(command)
        time.sleep(seconds)
        tracer.terminate()
        tracer.wait()
        kinds = re.findall(r'\\"kind\\": \\"(\w+)\\"', trace.read())
    job.end()
    return {kind: kinds.count(kind) for kind in sorted(set(kinds))}, seconds


def share(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def print_deaths(arguments, stamps):
    for count in (2, 8, 32):
        results = {"start": [], "SIGTERM": [], "death": []}
        for _ in range(arguments.runs):
            measure_start_and_death(arguments, stamps, count, results)
        for name, text in (("start", "the last one starts: all work"),
                           ("SIGTERM", "a worker dies: SIGTERM at the others, median"),
                           ("death", "a worker dies: all work again")):
            print(row(f"{count} nodes, {text}", results[name], []), flush=True)


def print_joins(arguments, stamps):
    results = {"join": [], "loss": []}
    for _ in range(arguments.runs):
        measure_join_and_loss(arguments, stamps, 3, results)
    print(row("3 nodes, one joins: all 4 work", results["join"], []))
    print(row("4 nodes, an agent is killed: the 3 others work", results["loss"], []))


def print_returns(arguments, stamps):
    for count in (3, 8):
        results = {"return": []}
        for _ in range(arguments.runs):
            measure_return(arguments, stamps, count, results)
        print(row(f"{count} nodes, the host's agent is killed and listens again: the first works",
                  results["return"], []), flush=True)


def print_leaders(arguments, stamps):
    for count in (int(word) for word in arguments.nodes.split(",")):
        results = {"leader": [], "other": []}
        measure_leader(arguments, stamps, count, results)
        for which, text in (("leader", "the leading agent"), ("other", "another agent")):
            times = results[which]
            print(row(f"{count} nodes, 3 endpoints, {text} is killed: the first works", times, [])
                  + f" 95 %: {share(times, 0.95):.0f}, worst: {max(times):.0f},"
                    f" load {os.getloadavg()[0]:.1f}", flush=True)


def print_rounds(arguments, stamps):
    results = {1: [], 3: []}
    for _ in range(arguments.runs):
        measure_rounds(arguments, stamps, 8, results)
    for endpoints, times in results.items():
        print(row(f"8 nodes, {endpoints} endpoints, a worker dies: all work again", times,
                  results[1]), flush=True)


def print_idle(arguments, stamps):
    if not shutil.which("strace"):
        return print("left out, for want of strace: messages of an idle job")
    kinds, seconds = count_idle_messages(arguments, stamps)
    words = ", ".join(f"{count} x {kind}" for kind, count in kinds.items())
    print(f"an idle job of 3 nodes and 3 endpoints, in {seconds} s: {words}")


def main():
    arguments = parse_arguments(__doc__.splitlines()[0], runs=10, parts=PARTS, nodes="3,8,32")
    describe_machine(arguments)
    stamps = Stamps()
    print("| ms | median | quartiles | |\n| --- | --- | --- | --- |")
    of = {"death": print_deaths, "join": print_joins, "return": print_returns,
          "leader": print_leaders, "round": print_rounds, "idle": print_idle}
    for part in arguments.parts.split(","):
        of[part](arguments, stamps)


if __name__ == "__main__":
    main()
