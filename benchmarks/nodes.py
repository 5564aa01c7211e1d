#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Jobs of several nodes, all on this host, one worker each: how long until all work, again?

Each part is measured so many times (--parts), with that many nodes:

  leader-N     the job has three endpoints, and the agent that leads it is killed, or another one:
               from SIGKILL to the first statement of the first worker of the new world
  crowd-N      the same with N nodes, each a few connections of one process, at three servers in
               processes of their own: until the first node and the last one have their places
  return-N     one endpoint: the host's agent is killed and started again: from when it listens to
               the first worker of the new world
  etcd-N       over etcd, directory-N: over a directory. The agent of rank 0 is killed, or another
               one: until the first worker of the new world
  start-N      the last node starts, over c10d, etcd and a directory, in turns: until all work
  requests-N   what an idle job asks of its etcd, in so many seconds
  round-N      a worker is killed: until all run again, with three endpoints and with one, in turns
  idle-N       messages between the servers of an idle job with three endpoints
  torchrun-N   its agent that hosts is killed: never
  death-N      the last node starts; a worker is killed: until SIGTERM is handled by the workers of
               the other nodes (the median of them), and until all run again
  join-N       a node joins running ones, until all run in the larger world; it is killed, until the
               others run in the smaller one
  paired-N     one endpoint, in turns with --before, an older elasticrun: the last node starts, a
               worker is killed, an agent is; the median of the ratios

A job lives on: who was killed is started again, and the next round begins when all nodes are in one
world. A round that takes longer than half a minute counts as hung, and ends its job. --jobs are
measured at a time, which share the processors of this host; so do the nodes of each, as those of a
cluster do not.
"""

import collections
import concurrent.futures
import contextlib
import multiprocessing
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import rendezvous
from contenders import (Stamps, describe_machine, end, find_leader, find_torches, free_endpoints,
                        parse_arguments, start)

PARTS = ("leader-3=200,leader-8=200,leader-32=200,crowd-1000=200,return-3=200,return-8=200,"
         "etcd-3=200,directory-3=200,start-8=40,requests-3=60,round-8=200,idle-3=30,"
         "torchrun-3=3,death-2=10,death-8=10,death-32=10,join-3=10,paired-8=100")
LAST_CALL = "0.3"
PATIENCE = 30
NAME = "ELASTIC_BENCHMARK_NODE"

Worker = collections.namedtuple("Worker", "pid node rank")


class Hung(Exception):
    """The nodes did not meet again in time."""


# ---- jobs ---------------------------------------------------------------------------------------


class Job:
    """Nodes of one job, by number; with several endpoints the first of them serve these."""

    def __init__(self, arguments, sizes, backend="c10d", endpoint=None, endpoints=1,
                 launcher=None):
        self.stamps = Stamps()
        self.candidates = endpoints if endpoints > 1 else 0
        self.endpoints = endpoint or free_endpoints(endpoints)
        self.backend = backend
        self.id = f"benchmark-{os.getpid()}-{time.monotonic_ns()}"
        program = [arguments.build / "tests" / "puppet", "stamp", self.stamps.path, "hang"]
        self.words = [str(word) for word in (
            launcher or arguments.build / "elasticrun", "--nnodes", sizes, "--rdzv-backend",
            backend, "--rdzv-endpoint", self.endpoints, "--rdzv-id", self.id, "--max-restarts",
            "100000", "--rdzv-conf", "CONF", "--no-python", *program)]
        self.nodes = {}
        self.members = {}

    def add(self, node):
        conf = f"last_call_timeout={LAST_CALL}"
        if self.candidates:
            conf += f",candidate={node if node < self.candidates else 'none'}"
        elif self.backend == "c10d":
            conf += f",is_host={int(node == 0)}"
        command = [conf if word == "CONF" else word for word in self.words]
        self.nodes[node] = start(command, **{NAME: str(node)})

    def fill(self, count):
        """Starts nodes until there are so many; the first one listens before the others come."""
        for node in range(count):
            if node not in self.nodes:
                self.add(node)
                if node == 0 and self.backend == "c10d":
                    self.await_host()
        self.await_world(count)
        return self

    def await_host(self):
        """Result: the moment at which the first endpoint is listened at."""
        host, port = self.endpoints.split(",")[0].split(":")
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex((host, int(port))) == 0:
                    return time.monotonic_ns()
            time.sleep(0.0005)
        raise Hung("the host does not listen")

    def await_world(self, size):
        """Until all nodes of a world of that size work. Result: when the first worker of any world
        and the last one of this world began."""
        begun = []
        self.members = {}
        deadline = time.monotonic() + PATIENCE
        while len(self.members) < size:
            for kind, pid, nanoseconds in self.stamps.read():
                if kind != "start":
                    continue
                begun.append(nanoseconds)
                variables = read_variables(pid)
                if variables.get("WORLD_SIZE") == str(size):
                    node = int(variables[NAME])
                    self.members[node] = Worker(pid, node, int(variables["GROUP_RANK"]))
            if time.monotonic() > deadline:
                raise Hung(f"{len(self.members)} of {size} nodes work in one world")
            time.sleep(0.002)
        return min(begun), max(begun)

    def leading(self):
        """The node that leads the job."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            place = find_leader(self.endpoints, self.id)
            if place is not None:
                return place
            time.sleep(0.01)
        raise Hung("no server leads")

    def of_rank_0(self):
        return next(member.node for member in self.members.values() if member.rank == 0)

    def kill(self, node):
        """Result: the moment of it."""
        self.stamps.read()
        pid = self.nodes.pop(node)
        began = time.monotonic_ns()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return began

    def lose(self, node):
        """Kills a node and starts it again. Result: ms until the first of the others worked."""
        count = len(self.nodes)
        began = self.kill(node)
        first, _ = self.await_world(count - 1)
        self.add(node)
        self.await_world(count)
        return (first - began) / 1e6

    def start_last(self, count):
        """Starts nodes until there are so many. Result: ms from the start of the last one until all
        work."""
        for node in range(count - 1):
            self.add(node)
            if node == 0 and self.backend == "c10d":
                self.await_host()
        settle(0.1 if self.backend == "c10d" else 0.5)
        began = time.monotonic_ns()
        self.add(count - 1)
        _, finish = self.await_world(count)
        return (finish - began) / 1e6

    def restart(self):
        """Kills a worker. Result: ms until all work again."""
        self.stamps.read()
        began = time.monotonic_ns()
        os.kill(random.choice(list(self.members.values())).pid, signal.SIGKILL)
        _, last = self.await_world(len(self.nodes))
        return (last - began) / 1e6

    def stop(self):
        """Ends all nodes."""
        for pid in self.nodes.values():
            os.kill(pid, signal.SIGTERM)
        for pid in self.nodes.values():
            end(pid)
        self.nodes.clear()
        self.stamps.read()

    def end(self):
        self.stop()
        self.stamps.directory.cleanup()


def read_variables(pid):
    """Those that a worker was given; none if it has ended."""
    try:
        text = pathlib.Path(f"/proc/{pid}/environ").read_text(encoding="utf-8")
    except OSError:
        return {}
    return dict(word.split("=", 1) for word in text.split("\0") if "=" in word)


@contextlib.contextmanager
def etcd():
    """Result: the endpoint of one on this host."""
    client, peer = free_endpoints(2).split(",")
    with tempfile.TemporaryDirectory(prefix="elastic_benchmark_") as directory:
        of_clients, of_peers = f"http://{client}", f"http://{peer}"
        command = ["etcd", f"--data-dir={directory}", "--log-level=error", "--name=one",
                   f"--listen-client-urls={of_clients}", f"--advertise-client-urls={of_clients}",
                   f"--listen-peer-urls={of_peers}", f"--initial-advertise-peer-urls={of_peers}",
                   f"--initial-cluster=one={of_peers}"]
        pid = start(command)
        host, port = client.split(":")
        while socket.socket().connect_ex((host, int(port))) != 0:
            time.sleep(0.05)
        yield client
        end(pid)


# ---- rounds of a job ----------------------------------------------------------------------------


def settle(least=0.1):
    time.sleep(random.uniform(least, 2 * least + 0.1))


def measure(rounds, names, begin, of_round, least=0.1):
    """Figures by name: in each round those of one after the other, after at least so many seconds.
    `begin` makes the job of a name."""
    results = {name: [] for name in names}
    jobs = {}
    for number in range(rounds):
        for name in names if number % 2 == 0 else reversed(names):
            try:
                if name not in jobs:
                    jobs[name] = begin(name)
                settle(least)
                results[name].append(of_round(jobs[name], name))
            except Hung as why:
                print(f"{name}: {why}", file=sys.stderr)
                results[name].append(None)
                job = jobs.pop(name, None)
                if job:
                    job.end()
    for job in jobs.values():
        job.end()
    return results


class Shared:
    """One job for all names, begun anew if a round of it went wrong."""

    def __init__(self, make):
        self.make = make
        self.job = None

    def __call__(self, _name):
        return self

    def get(self):
        if self.job is None:
            self.job = self.make()
        return self.job

    def end(self):
        if self.job is not None:
            self.job.end()
            self.job = None


def measure_leader(arguments, count, rounds):
    def make():
        return Job(arguments, f"1:{count}", endpoints=3).fill(count)

    def lose(shared, name):
        job = shared.get()
        leading = job.leading()
        others = [node for node in range(count) if node != leading]
        return job.lose(leading if name == "the leading agent" else random.choice(others))

    # Until the one that was started again is a voter.
    return measure(rounds, ("the leading agent", "another agent"), Shared(make), lose, 0.4)


def measure_place(arguments, count, rounds, backend, endpoint):
    def make():
        return Job(arguments, f"1:{count}", backend, endpoint).fill(count)

    def lose(shared, name):
        job = shared.get()
        leading = job.of_rank_0()
        others = [node for node in range(count) if node != leading]
        return job.lose(leading if name == "the agent of rank 0" else random.choice(others))

    return measure(rounds, ("the agent of rank 0", "another agent"), Shared(make), lose)


def measure_etcd(arguments, count, rounds):
    with etcd() as endpoint:
        return measure_place(arguments, count, rounds, "etcd", endpoint)


def measure_directory(arguments, count, rounds):
    with tempfile.TemporaryDirectory(prefix="elastic_benchmark_") as directory:
        return measure_place(arguments, count, rounds, "file", directory)


def print_start(arguments, count, rounds):
    with etcd() as endpoint, tempfile.TemporaryDirectory(prefix="elastic_benchmark_") as directory:
        places = {"c10d": ("c10d", None, 20), "etcd": ("etcd", endpoint, 40),
                  "a directory": ("file", directory, 60)}

        def make(name):
            return Job(arguments, str(count), *places[name][:2])

        def start_last(job, _name):
            milliseconds = job.start_last(count)
            job.stop()
            job.id += "'"
            job.words[job.words.index("--rdzv-id") + 1] = job.id
            return milliseconds

        results = measure(rounds, tuple(places), make, start_last)
    for name, times in results.items():
        yield line(f"{count} nodes over {name}, the last one starts: all work", times,
                   places[name][2])


def requests_of(endpoint):
    """By method, those that an etcd has answered."""
    with urllib.request.urlopen(f"http://{endpoint}/metrics") as answer:
        text = answer.read().decode()
    handled = re.findall(r'^grpc_server_handled_total\{.*grpc_method="(\w+)".*\} (\S+)$', text,
                         re.MULTILINE)
    counts = collections.Counter()
    for method, number in handled:
        counts[method] += int(float(number))
    return counts


def print_requests(arguments, count, seconds):
    with etcd() as endpoint:
        job = Job(arguments, str(count), "etcd", endpoint).fill(count)
        time.sleep(5)
        before = requests_of(endpoint)
        time.sleep(seconds)
        asked = requests_of(endpoint) - before
        job.end()
    words = ", ".join(f"{number} {method}" for method, number in sorted(asked.items()))
    return [f"an idle job of {count} nodes over etcd asks in {seconds} s: {words or 'nothing'} "
            f"(bound {seconds / 5:.0f} in all: "
            f"{'reached' if sum(asked.values()) <= seconds / 5 else 'not reached'})"]


def measure_return(arguments, count, rounds):
    def come_back(shared, _name):
        job = shared.get()
        job.kill(0)
        job.add(0)
        listens = job.await_host()
        first, _ = job.await_world(count)
        return (first - listens) / 1e6

    make = Shared(lambda: Job(arguments, str(count)).fill(count))
    return measure(rounds, ("the host's agent, until it listens",), make, come_back)


def measure_round(arguments, count, rounds):
    def make(name):
        return Job(arguments, str(count), endpoints=int(name.split()[0])).fill(count)

    return measure(rounds, ("1 endpoint", "3 endpoints"), make, lambda job, _name: job.restart())


def in_jobs(arguments, of_part, count, rounds):
    """The figures of --jobs processes, each with a job and a share of the rounds."""
    jobs = min(int(arguments.jobs), rounds)
    shares = [rounds // jobs + (job < rounds % jobs) for job in range(jobs)]
    results = collections.defaultdict(list)
    fork = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(jobs, mp_context=fork) as pool:
        for part in pool.map(of_part, [arguments] * jobs, [count] * jobs, shares):
            for name, times in part.items():
                results[name] += times
    return results


# ---- what is printed ----------------------------------------------------------------------------


def share(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def load():
    return f"{os.getloadavg()[0]:.1f}"


def line(name, values, median=None, worst=None, most=None):
    """A row; `median`, `most` (of 95 %) and `worst`: bounds in ms."""
    times = [value for value in values if value is not None]
    hung = f" ({len(values) - len(times)} hung)" if len(times) < len(values) else ""
    if not times:
        return f"| {name} | {len(values)}{hung} | | | | | | {load()} |"
    figures = statistics.median(times), share(times, 0.95), max(times)
    bounds = median, most, worst
    wanted = ", ".join(f"{text} {bound}" for text, bound in
                       zip(("median", "95 %", "worst"), bounds) if bound)
    is_reached = not hung and all(not bound or figure <= bound
                                  for figure, bound in zip(figures, bounds))
    if wanted:
        wanted += ": reached" if is_reached else ": not reached"
    return (f"| {name} | {len(values)}{hung} | {figures[0]:.0f} | {share(times, 0.25):.0f} - "
            f"{share(times, 0.75):.0f} | {figures[1]:.0f} | {figures[2]:.0f} | {wanted} | "
            f"{load()} |")


def print_leader(arguments, count, rounds):
    for name, times in in_jobs(arguments, measure_leader, count, rounds).items():
        bounds = {"most": 1000} if count >= 32 else {"worst": 1000}
        yield line(f"{count} nodes, 3 endpoints, {name} is killed: the first works", times, 500,
                   **bounds)


def print_place(arguments, count, rounds, of_part, place):
    for name, times in in_jobs(arguments, of_part, count, rounds).items():
        yield line(f"{count} nodes over {place}, {name} is killed: the first works", times,
                   worst=1000)


def print_etcd(arguments, count, rounds):
    if not shutil.which("etcd"):
        return ["left out, for want of etcd: the loss of an agent over it"]
    return print_place(arguments, count, rounds, measure_etcd, "etcd")


def print_directory(arguments, count, rounds):
    return print_place(arguments, count, rounds, measure_directory, "a directory")


def print_return(arguments, count, rounds):
    for times in in_jobs(arguments, measure_return, count, rounds).values():
        yield line(f"{count} nodes, 1 endpoint, its host's agent is killed and listens again: the "
                   "first works", times, worst=500)


def print_round(arguments, count, rounds):
    results = measure_round(arguments, count, rounds)
    for name, times in results.items():
        yield line(f"{count} nodes, {name}, a worker dies: all work again", times)
    one, three = ([time for time in times if time is not None] for times in results.values())
    if one and three:
        yield f"three endpoints take {statistics.median(three) / statistics.median(one):.2f} of one"


def print_crowd(arguments, count, rounds):
    program = arguments.build / "benchmarks" / "crowd"
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    firsts, lasts = [], []
    program_of_servers = arguments.build / "benchmarks" / "rendezvous"
    servers = rendezvous.Candidates(program_of_servers, count)
    with subprocess.Popen([str(program), servers.endpoints, str(count)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as crowd:
        crowd.stdout.readline()
        for _ in range(rounds):
            settle(0.6)  # as with agents
            began = servers.kill_leader()
            first, last = ((int(word) - began) / 1e6 for word in crowd.stdout.readline().split())
            firsts.append(first)
            lasts.append(last)
            servers.restart()
        crowd.kill()
    servers.stop()
    for name, times in (("first", firsts), ("last", lasts)):
        yield line(f"{count} simulated nodes, 3 servers, the leading one is killed: the {name} "
                   "knows its place", times, worst=1000)


def count_idle_messages(arguments, count, seconds):
    """By sender and kind, what the agents of an idle job of three servers write; strace sees it
    if no ring carries it."""
    os.environ["ELASTIC_IO"] = "epoll"
    job = Job(arguments, str(count), endpoints=3).fill(count)
    del os.environ["ELASTIC_IO"]
    time.sleep(2)
    kinds = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="elastic_benchmark_") as directory:
        tracers = []
        for node, pid in job.nodes.items():
            command = ["strace", "-qq", "-f", "-s", "65536", "-o", f"{directory}/{node}", "-e",
                       "trace=write,writev,sendto,sendmsg", "-p", str(pid)]
            tracers.append(subprocess.Popen(command))
        time.sleep(seconds)
        for tracer in tracers:
            tracer.terminate()
            tracer.wait()
        for node in job.nodes:
            trace = pathlib.Path(directory, str(node)).read_text(encoding="utf-8")
            for kind in re.findall(r'\\"kind\\": \\"(\w+)\\"', trace):
                kinds[node, kind] += 1
    job.end()
    return kinds


def print_idle(arguments, count, seconds):
    if not shutil.which("strace"):
        return ["left out, for want of strace: messages of an idle job"]
    kinds = count_idle_messages(arguments, count, seconds)
    of_candidates = collections.Counter()
    for (node, kind), number in kinds.items():
        if kind in ("write", "ack", "vote", "grant", "peer", "present", "accepted"):
            of_candidates[node] += number
    most = max(of_candidates.values(), default=0) / seconds
    words = "; ".join(
        f"node {node}: " + ", ".join(f"{number} {kind}" for (at, kind), number in
                                     sorted(kinds.items()) if at == node)
        for node in sorted({node for node, _ in kinds}))
    return [f"an idle job of {count} nodes and 3 endpoints, in {seconds} s: {words}; between "
            f"candidates at most {most:.2f} a second for each (bound 1)"]


# ---- jobs from their start on -------------------------------------------------------------------


def last(stamps, began):
    return (max(nanoseconds for _, nanoseconds in stamps) - began) / 1e6


def print_death(arguments, count, rounds):
    """As many nodes as the job may have, then deaths of workers."""
    results = {"start": [], "SIGTERM": [], "death": []}
    for _ in range(rounds):
        job = Job(arguments, str(count))
        for node in range(count - 1):
            job.add(node)
        settle()
        began = time.monotonic_ns()
        job.add(count - 1)
        alive = job.stamps.take("start", count)
        results["start"].append(last(alive, began))
        for _ in range(5):
            settle()
            began = time.monotonic_ns()
            os.kill(random.choice(alive)[0], signal.SIGKILL)
            told = job.stamps.take("term", count - 1)
            results["SIGTERM"].append(statistics.median((ns - began) / 1e6 for _, ns in told))
            alive = job.stamps.take("start", count)
            results["death"].append(last(alive, began))
        job.end()
    for name, text in (("start", "the last one starts: all work"),
                       ("SIGTERM", "a worker dies: SIGTERM at the others, median"),
                       ("death", "a worker dies: all work again")):
        yield line(f"{count} nodes, {text}", results[name])


def print_join(arguments, count, rounds):
    """A node joins the others, then is killed."""
    joins, losses = [], []
    job = Job(arguments, f"1:{count + 1}").fill(count)
    for _ in range(rounds):
        settle()
        job.stamps.read()
        began = time.monotonic_ns()
        job.add(count)
        _, end_of_join = job.await_world(count + 1)
        joins.append((end_of_join - began) / 1e6)
        settle()
        began = job.kill(count)
        _, end_of_loss = job.await_world(count)
        losses.append((end_of_loss - began) / 1e6)
    job.end()
    yield line(f"{count} nodes, one joins: all {count + 1} work", joins)
    yield line(f"{count + 1} nodes, an agent is killed: the {count} others work", losses)


def print_paired(arguments, count, rounds):
    if not arguments.before:
        yield "left out, for want of --before: one endpoint, beside an older elasticrun"
        return
    launchers = {"now": arguments.build / "elasticrun", "before": pathlib.Path(arguments.before)}

    def make(sizes):
        return lambda name: Job(arguments, sizes, launcher=launchers[name])

    def make_full(sizes):
        return lambda name: make(sizes)(name).fill(count)

    def start_last(job, _name):
        milliseconds = job.start_last(count)
        job.stop()
        return milliseconds

    figures = (
        ("the last one starts: all work", make(str(count)), start_last),
        ("a worker dies: all work again", make_full(str(count)), lambda job, _name: job.restart()),
        ("an agent is killed: the first of the others works", make_full(f"1:{count}"),
         lambda job, _name: job.lose(count - 1)))
    for text, begin, of_round in figures:
        results = measure(rounds, tuple(launchers), begin, of_round)
        for name, times in results.items():
            yield line(f"{count} nodes, 1 endpoint, {name}, {text}", times)
        ratios = [now / before for now, before in zip(*results.values()) if now and before]
        yield (f"{text}: median ratio {statistics.median(ratios):.3f}, quartiles "
               f"{share(ratios, 0.25):.3f} - {share(ratios, 0.75):.3f}, {len(ratios)} pairs "
               "(bound 1.05)")


def lose_host_of_torchrun(arguments, python, count, patience=60):
    """Result: ms until the first worker of a new world, or None, and s until each of the other
    agents had ended."""
    stamps = Stamps()
    endpoint = free_endpoints(1)
    program = [arguments.build / "tests" / "puppet", "stamp", stamps.path, "hang"]
    agents = []
    for node in range(count):
        agents.append(start([str(word) for word in (
            python, pathlib.Path(__file__).with_name("torchrun_113.py"), "--nnodes", f"1:{count}",
            "--rdzv_backend", "c10d", "--rdzv_endpoint", endpoint, "--rdzv_id", "benchmark",
            "--rdzv_conf", f"last_call_timeout=10,is_host={int(node == 0)}", "--max_restarts",
            "100", "--monitor_interval", "0.1", "--no_python", *program)], **{NAME: str(node)}))
    workers = [pid for pid, _ in stamps.take("start", count, 120)]
    settle()
    began = time.monotonic_ns()
    os.kill(agents[0], signal.SIGKILL)
    os.waitpid(agents.pop(0), 0)
    for pid in workers:  # nobody else ends that one
        if read_variables(pid).get(NAME) == "0":
            os.kill(pid, signal.SIGKILL)
    first, ends = None, []
    deadline = time.monotonic() + patience
    while agents and first is None and time.monotonic() < deadline:
        starts = [ns for kind, _, ns in stamps.read() if kind == "start"]
        if starts:
            first = (min(starts) - began) / 1e6
        for pid in list(agents):
            if os.waitpid(pid, os.WNOHANG)[0] != 0:
                agents.remove(pid)
                ends.append((time.monotonic_ns() - began) / 1e9)
        time.sleep(0.01)
    for pid in agents:
        end(pid)
    return first, ends


def print_torchrun(arguments, count, rounds):
    for release, python in find_torches(arguments.python).items():
        losses = [lose_host_of_torchrun(arguments, python, count) for _ in range(rounds)]
        firsts = [first for first, _ in losses if first is not None]
        ends = [moment for _, moments in losses for moment in moments]
        words = f"{len(ends)} of the {rounds * (count - 1)} other agents ended"
        if ends:
            words += f", after {min(ends):.1f} to {max(ends):.1f} s"
        if firsts:
            yield line(f"torchrun {release}, {count} nodes, the agent that hosts is killed", firsts)
        else:
            yield (f"| torchrun {release}, {count} nodes, the agent that hosts is killed: the "
                   f"first works | {rounds} | never: {words} | | | | | {load()} |")


def parts_of(arguments):
    """(what, nodes, rounds) of each."""
    for word in arguments.parts.split(","):
        name, _, rounds = word.partition("=")
        usual = re.search(rf"\b{name.split('-')[0]}-\d+=(\d+)", PARTS)
        what, count = name.split("-")
        yield what, int(count), arguments.runs or int(rounds or usual[1])


def main():
    arguments = parse_arguments(__doc__.splitlines()[0], runs=0, parts=PARTS, jobs=1,
                                before="")
    describe_machine(arguments, f"{arguments.jobs} jobs at a time")
    print("| ms | n | median | quartiles | 95 % | worst | bounds | load |")
    print("| --- " * 8 + "|", flush=True)
    of = {"leader": print_leader, "crowd": print_crowd, "return": print_return,
          "etcd": print_etcd, "directory": print_directory, "start": print_start,
          "requests": print_requests, "round": print_round,
          "idle": print_idle, "torchrun": print_torchrun, "death": print_death,
          "join": print_join, "paired": print_paired}
    for what, count, rounds in parts_of(arguments):
        began = time.monotonic()
        for text in of[what](arguments, count, rounds):
            print(text, flush=True)
        print(f"{what}-{count}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
