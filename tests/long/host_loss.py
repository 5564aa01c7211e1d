#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Takes away the agent that leads a job, or another one, in every way, again and again.

  host_loss.py ELASTICRUN [--rounds N] [--only PATTERN] [--list]

Jobs of real processes on this host, each case so many times. Nodes meet over c10d, in a directory
or over an etcd, which is taken away as well. As root also in network namespaces,
whose cables are cut, one way or both, and whose connections are reset. Workers write down when they
live, in which world, and how many restarts they were told; a judge who reads that looks for

  - two worlds at once: a worker that begins while one of another world lives. Not those of an
    agent that stands still, which cannot end them;
  - restarts that were forgotten, or that nobody caused;
  - nodes that do not meet again, or do not end; ends other than success;
  - processes that are left.

What goes wrong is told with what every node wrote, and makes the exit status 1. Each case has a
line: how often, and how long the new world took, median and worst.
"""

import argparse
import collections
import contextlib
import fnmatch
import json
import os
import pathlib
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from support.candidate_marks import remove_marks
from support.ports import reserved_port

# Overwrites the time of its last sign of life.
WORKER = """
import os, random, signal, sys, time
begin = time.monotonic_ns()
folder, node, stubborn = sys.argv[1:]
if random.random() < float(stubborn): signal.signal(signal.SIGTERM, signal.SIG_IGN)
of = os.environ
words = (f"{begin:020d}", begin, node, of["RANK"], of["WORLD_SIZE"],
         of["MASTER_ADDR"] + ":" + of["MASTER_PORT"], of["TORCHELASTIC_RESTART_COUNT"])
file = os.open(f"{folder}/life.{os.getpid()}", os.O_CREAT | os.O_WRONLY)
os.write(file, (" ".join(map(str, words)) + "\\n").encode())
while not os.path.exists(folder + "/finish"):
    time.sleep(0.005)
    os.pwrite(file, f"{time.monotonic_ns():020d}".encode(), 0)
"""

PATIENCE = 60
MARK = "ELASTIC_HOST_LOSS"
SECOND = 1_000_000_000

Life = collections.namedtuple("Life", "pid last begin node rank size world restarts")


class Wrong(Exception):
    """The job did what it must not."""


# ---- where nodes are ----------------------------------------------------------------------------


class Loopback:
    """All of them at 127.0.0.1."""

    backend = "c10d"

    def __init__(self, endpoints):
        self.endpoint = ",".join(f"127.0.0.1:{reserved_port()}" for _ in range(endpoints))
        self.servers = self.endpoint

    def on(self, host):
        return []

    def close(self):
        pass


class Directory(Loopback):
    """The same, and a directory names the agent that leads."""

    backend = "file"

    def __init__(self):
        super().__init__(1)
        self.endpoint = tempfile.mkdtemp(prefix="host_loss.place.")

    def leave(self):
        for entry in pathlib.Path(self.endpoint).iterdir():
            entry.rename(entry.with_name("gone." + entry.name))

    def come_back(self):
        for entry in pathlib.Path(self.endpoint).iterdir():
            entry.rename(entry.with_name(entry.name.removeprefix("gone.")))

    def close(self):
        shutil.rmtree(self.endpoint)


class Etcd(Loopback):
    """The same, and an etcd of so many members does."""

    backend = "etcd"

    def __init__(self, members):
        super().__init__(members)
        self.ports = [int(member.rpartition(":")[2]) for member in self.endpoint.split(",")]
        self.peers = [f"http://127.0.0.1:{reserved_port()}" for _ in self.ports]
        self.folder = tempfile.mkdtemp(prefix="host_loss.place.", dir="/dev/shm")
        self.processes = [self.start(member) for member in range(members)]
        self.await_leader()

    def start(self, member):
        url = f"http://127.0.0.1:{self.ports[member]}"
        cluster = ",".join(f"m{number}={peer}" for number, peer in enumerate(self.peers))
        return subprocess.Popen(
            ["etcd", f"--name=m{member}", f"--data-dir={self.folder}/{member}", "--logger=zap",
             "--log-level=error", f"--listen-client-urls={url}", f"--advertise-client-urls={url}",
             f"--listen-peer-urls={self.peers[member]}", f"--initial-cluster={cluster}",
             f"--initial-advertise-peer-urls={self.peers[member]}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def leader(self):
        """The member that leads the others; None if none does."""
        for member, port in enumerate(self.ports):
            request = urllib.request.Request(
                f"http://127.0.0.1:{port}/v3/maintenance/status", data=b"{}")
            with contextlib.suppress(OSError, ValueError):
                with urllib.request.urlopen(request, timeout=1) as answer:
                    status = json.load(answer)
                if status.get("leader") == status["header"]["member_id"]:
                    return member
        return None

    def await_leader(self):
        deadline = time.monotonic() + PATIENCE
        while (member := self.leader()) is None:
            if time.monotonic() > deadline:
                raise Wrong("etcd has no leader")
            time.sleep(0.05)
        return member

    def kill(self, member):
        self.processes[member].kill()
        self.processes[member].wait()

    def replace_leader(self):
        """Its leader dies, and is started again."""
        member = self.await_leader()
        self.kill(member)
        self.await_leader()
        self.processes[member] = self.start(member)

    def leave(self):
        for member in range(len(self.ports)):
            self.kill(member)

    def come_back(self):
        self.processes = [self.start(member) for member in range(len(self.ports))]
        self.await_leader()

    def close(self):
        self.leave()
        shutil.rmtree(self.folder)


class Network:
    """Each on a host of its own: a network namespace with an address, 10.79.0.N, on one switch. A
    single endpoint is a name, which may come to mean another host."""

    NOBODY = "02:00:00:00:00:01"
    backend = "c10d"

    def __init__(self, endpoints, hosts):
        self.hosts = range(1, hosts + 1)
        self.name = f"hostloss{os.getpid()}"
        self.names = pathlib.Path("/etc/netns")
        addresses = [self.address(host) for host in self.hosts[:endpoints]]
        self.endpoint = "leading:29400"
        self.servers = ",".join(f"{address}:29400" for address in addresses)
        if endpoints > 1:
            self.endpoint = ",".join([addresses[0] + ":29400", *addresses[1:]])
        ip(f"netns add {self.name}")
        ip(f"-n {self.name} link add switch type bridge")
        ip(f"-n {self.name} link set switch up")
        for host in self.hosts:
            self.add(host)
        self.point_name(1)

    def add(self, host):
        space = self.space(host)
        ip(f"netns add {space}")
        ip(f"link add cable netns {space} type veth peer name port{host} netns {self.name}")
        ip(f"-n {self.name} link set port{host} master switch")
        ip(f"-n {self.name} link set port{host} up")
        ip(f"-n {space} link set lo up")
        ip(f"-n {space} addr add {self.address(host)}/24 dev cable")
        ip(f"-n {space} link set cable up")
        (self.names / space).mkdir(parents=True)
        (self.names / space / "hosts").touch()

    def point_name(self, host):
        """From now on the name of a single endpoint means this host."""
        for other in self.hosts:
            text = f"127.0.0.1 localhost\n{self.address(host)} leading\n"
            (self.names / self.space(other) / "hosts").write_text(text, encoding="ascii")

    def close(self):
        for host in self.hosts:
            ip(f"netns del {self.space(host)}")
            shutil.rmtree(self.names / self.space(host))
        ip(f"netns del {self.name}")

    def space(self, host):
        return f"{self.name}h{host}"

    def address(self, host):
        return f"10.79.0.{host}"

    def on(self, host):
        return ["ip", "netns", "exec", self.space(host)]

    def cut(self, host, way):
        """Nothing gets "out" of the host, or "in", or neither; and nobody is told."""
        if way == "both":
            return ip(f"-n {self.name} link set port{host} down")
        for other in self.hosts:
            if other == host:
                continue
            here, there = (host, other) if way == "out" else (other, host)
            ip(f"-n {self.space(here)} neigh replace {self.address(there)} lladdr {self.NOBODY} "
               "nud permanent dev cable")

    def mend(self, host):
        ip(f"-n {self.name} link set port{host} up")
        for here in self.hosts:
            ip(f"-n {self.space(here)} neigh flush dev cable nud permanent")

    def reset(self, host):
        """Each of the host's connections to others ends by a reset."""
        others = ["dst", "10.79.0.0/24", "and", "not", "dst", self.address(host)]
        subprocess.run([*self.on(host), "ss", "-t", "-K", *others], check=True,
                       stdout=subprocess.DEVNULL)


def ip(words):
    subprocess.run(["ip", *words.split()], check=True, capture_output=True)


# ---- a job --------------------------------------------------------------------------------------


class Node:
    """An agent, and what became of it."""

    def __init__(self, name, host, process, log):
        self.name = name
        self.host = host
        self.process = process
        self.log = log
        # What it is to end with.
        self.code = 0
        # Cannot be in a world now.
        self.is_away = False

    def text(self):
        return self.log.read_text(encoding="utf-8", errors="replace")


class Job:
    """Nodes of one job, and what its workers wrote down."""

    def __init__(self, elasticrun, folder, place, case):
        self.elasticrun = elasticrun
        self.folder = folder
        self.place = place
        self.case = case
        self.nodes = []
        self.mark = f"{os.getpid()}.{time.monotonic_ns()}"
        # Its own: in a network the endpoints of all jobs are the same.
        self.run_id = f"job{self.mark}"
        # Times in which the workers of a node could not be ended: its agent stood still.
        self.excused = []
        self.failures = 0
        self.took = None
        # Any agent may lead.
        self.has_list = case.endpoints > 1 or place.backend != "c10d"

    # ---- nodes ----

    def add(self, host=None, conf=None):
        count = len(self.nodes)
        host = host or count + 1
        settings = ["last_call_timeout=0.5", *self.case.conf]
        if conf:
            settings.append(conf)
        elif not self.has_list:
            settings.append(f"is_host={int(count == 0)}")
        command = [*self.place.on(host), self.elasticrun, "--nnodes",
                   f"2:{self.case.nodes}", "--rdzv-backend", self.place.backend,
                   "--rdzv-endpoint", self.place.endpoint, "--rdzv-id", self.run_id, "--rdzv-conf",
                   ",".join(settings), "--max-restarts", "100", "--shutdown-timeout", "1",
                   "--no-python", sys.executable,
                   "-ISc", WORKER, str(self.folder), str(count), str(self.case.stubborn)]
        log = self.folder / f"node.{count}"
        environment = dict(os.environ, LOGLEVEL="INFO", **{MARK: self.mark})
        with open(log, "w", encoding="ascii") as file:
            process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=file, stderr=file, start_new_session=True)
        self.nodes.append(Node(count, host, process, log))
        return self.nodes[-1]

    def alive(self):
        return [node for node in self.nodes if node.process.returncode is None]

    def leading(self):
        """The node whose server leads the job."""
        if not self.has_list:
            return self.alive()[0]
        terms = {}
        for node in self.alive():
            for term in re.findall(r"(?: leads in term |: this node leads it, in term )(\d+)",
                                   node.text()):
                terms[int(term)] = node
        if not terms:
            raise Wrong("nobody leads")
        return terms[max(terms)]

    def one_of(self, chance):
        """The leading node, or any."""
        return self.leading() if random.random() < chance else random.choice(self.alive())

    def bearable(self, chance):
        """The same, of those without which the others go on."""
        return self.one_of(chance) if self.has_list else random.choice(self.alive()[1:])

    def kill(self, *nodes):
        for node in nodes:
            node.process.kill()
        for node in nodes:
            # Or what it had just ended with.
            node.code = node.process.wait()

    @contextlib.contextmanager
    def stopped(self, node):
        """The agent stands still meanwhile; its workers do not."""
        begin = time.monotonic_ns()
        node.process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            node.process.send_signal(signal.SIGCONT)
            self.excused.append((node.name, begin, time.monotonic_ns() + SECOND))

    # ---- what workers wrote ----

    def lives(self):
        found = []
        for path in self.folder.glob("life.*"):
            words = path.read_text(encoding="ascii").split()
            if len(words) == 7:
                last, begin, node, rank, size, world, restarts = words
                found.append(Life(int(path.suffix[1:]), int(last), int(begin), int(node),
                                  int(rank), int(size), world, int(restarts)))
        return found

    def await_world(self, seconds=PATIENCE):
        """Waits until all nodes that are not away work in one world; its lives."""
        wanted = {node.name for node in self.alive() if not node.is_away}
        deadline = time.monotonic() + seconds
        while True:
            world = self.newest_world()
            if {life.node for life in world} == wanted and world[0].size == len(wanted):
                return world
            for node in self.alive():
                if node.name in wanted and node.process.poll() is not None:
                    raise Wrong(f"node {node.name} ended with {node.process.returncode}")
            if time.monotonic() > deadline:
                raise Wrong(f"nodes {sorted(wanted)} do not meet: after {seconds} s "
                            f"{len(world)} work in the newest world")
            time.sleep(0.01)

    def newest_world(self):
        """The lives of it that go on."""
        lives = self.lives()
        if not lives:
            return []
        newest = max(lives, key=lambda life: life.begin).world
        now = time.monotonic_ns()
        return [life for life in lives if life.world == newest and now - life.last < SECOND / 5]

    def go_on_without(self, cause):
        """Does something after which the others make a new world, and notes how long that took."""
        begin = time.monotonic_ns()
        cause()
        world = self.await_world()
        first = min(life.begin for life in world)
        if first < begin:
            raise Wrong("no new world began")
        self.took = (first - begin) / SECOND

    def fail_worker(self):
        victim = random.choice(self.await_world())
        self.failures += 1
        os.kill(victim.pid, signal.SIGKILL)
        deadline = time.monotonic() + PATIENCE
        while self.await_world()[0].restarts < self.failures:
            if time.monotonic() > deadline:
                raise Wrong("the restart after a failure is not counted")
            time.sleep(0.01)

    # ---- the end ----

    def finish(self):
        (self.folder / "finish").touch()

    def end(self, codes=(0,)):
        """Waits for the end of all, and judges it."""
        deadline = time.monotonic() + PATIENCE
        for node in self.nodes:
            try:
                node.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise Wrong(f"node {node.name} does not end") from None
            wanted = codes if node.code == 0 else (node.code,)
            if node.process.returncode not in wanted:
                raise Wrong(f"node {node.name} ended with {node.process.returncode}, not {wanted}")
        while self.left():
            if time.monotonic() > deadline:
                raise Wrong(f"processes are left: {self.left()}")
            time.sleep(0.01)

    def left(self):
        mark = f"{MARK}={self.mark}".encode()
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            # Guards of agents that were killed end with the last process of their worker's tree.
            with contextlib.suppress(OSError):
                if mark in (path / "environ").read_bytes():
                    found.append(path.name)
        return found

    def close(self):
        for node in self.nodes:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(node.process.pid, signal.SIGKILL)
            node.process.wait()
        remove_marks(self.run_id, self.place.servers)

    # ---- the judge ----

    def judge(self):
        lives = sorted(self.lives(), key=lambda life: life.begin)
        for at, later in enumerate(lives):
            for earlier in lives[:at]:
                overlap = earlier.last - later.begin
                if earlier.world != later.world and overlap > 0 and not self.is_excused(earlier):
                    raise Wrong(f"two worlds: a worker of node {later.node} began in world "
                                f"{later.world} {overlap / 1e6:.1f} ms before the last sign of one "
                                f"of node {earlier.node} in world {earlier.world}")
        restarts = {}
        for life in lives:
            restarts.setdefault(life.world, set()).add(life.restarts)
        counts = list(restarts.values())
        if any(len(count) > 1 for count in counts):
            raise Wrong(f"workers of a world were told different restarts: {counts}")
        told = [count.pop() for count in counts]
        if told != sorted(told) or told[-1] != self.failures:
            raise Wrong(f"restarts were told as {told}, and {self.failures} workers failed")

    def is_excused(self, life):
        return any(node == life.node and begin <= life.last <= end
                   for node, begin, end in self.excused)


# ---- what is done to it -------------------------------------------------------------------------


def kill_leading(job):
    job.go_on_without(lambda: job.kill(job.leading()))


def kill_any(job):
    job.go_on_without(lambda: job.kill(job.bearable(0)))


def kill_two(job):
    """A majority of the candidates is left."""
    leading = job.leading()
    others = [node for node in job.alive() if node is not leading]
    victims = random.sample(others, 2)
    if random.random() < 0.7:
        victims[0] = leading
    job.go_on_without(lambda: job.kill(*victims))


def kill_two_of_three(job):
    """No majority is left until one of them is back."""
    job.kill(*random.sample(job.alive(), 2))
    time.sleep(random.uniform(0, 1))
    job.add()
    job.await_world()


def terminate(job):
    node = job.bearable(0.5)
    node.process.terminate()
    node.process.wait(PATIENCE)
    node.code = 128 + signal.SIGTERM
    job.await_world()


def stop_shortly(job):
    before = job.await_world()[0].world
    with job.stopped(job.one_of(0.5)):
        time.sleep(1)
    time.sleep(0.3)
    if job.await_world()[0].world != before:
        raise Wrong("an agent that stood still for 1 s ended a world")


def stop_long(job):
    """As long as it takes the others to go on."""
    node = job.bearable(0.7)
    with job.stopped(node):
        time.sleep(20)
        node.is_away = True
        job.await_world(10)
    node.is_away = False
    job.await_world()


def come_back(job):
    """Another agent at the same place, soon."""
    job.kill(job.leading())
    time.sleep(random.choice([0, 0, random.uniform(0, 2)]))
    begin = time.monotonic_ns()
    job.add(conf=None if job.has_list else "is_host=1")
    job.took = (min(life.begin for life in job.await_world()) - begin) / SECOND


def come_back_elsewhere(job):
    """A host that none of the endpoints names."""
    job.kill(job.leading())
    time.sleep(random.uniform(0, 1))
    job.add(conf="candidate=none")
    job.await_world()


def stay_away(job):
    """The only server is gone for good: all end, by an error."""
    job.kill(job.leading())
    job.end(codes=(1,))


def die_at_the_end(job):
    job.finish()
    time.sleep(random.uniform(0, 0.08))
    job.kill(job.one_of(0.8))


def lose_place(job):
    """What names the leading agent is away for a while; a worker fails meanwhile."""
    before = job.await_world()[0].world
    job.place.leave()
    time.sleep(random.uniform(0, 3))
    if job.await_world()[0].world != before:
        raise Wrong("the absence of the place ended a world")
    victim = random.choice(job.await_world())
    job.failures += 1
    os.kill(victim.pid, signal.SIGKILL)
    time.sleep(random.uniform(0, 3))
    job.place.come_back()
    while job.await_world()[0].restarts < job.failures:
        time.sleep(0.01)


def disturb_cluster(job):
    """The leader of an etcd of three dies each 5 s, which ends no world; agents die meanwhile."""
    for _ in range(4):
        world = job.await_world()[0].world
        begin = time.monotonic()
        job.place.replace_leader()
        time.sleep(random.uniform(0, 1))
        if job.await_world()[0].world != world:
            raise Wrong("the loss of etcd's leader ended a world")
        killing = threading.Thread(target=job.place.replace_leader)
        killing.start()
        time.sleep(random.uniform(0, 0.5))
        job.go_on_without(lambda: job.kill(job.one_of(0.5)))
        killing.join()
        job.add()
        job.await_world()
        time.sleep(max(0, 5 - (time.monotonic() - begin)))


def move(job):
    """The only server comes back at another address, by the same name."""
    job.kill(job.leading())
    host = max(job.place.hosts)
    job.place.point_name(host)
    job.add(host=host, conf="is_host=1")
    job.await_world()


def cut_shortly(job):
    host = job.one_of(0.7).host
    job.place.cut(host, random.choice(["both", "out", "in"]))
    time.sleep(random.uniform(0.05, 0.8))
    job.place.mend(host)
    time.sleep(0.5)
    job.await_world()


def cut_long(job):
    """The others go on, if they have a server; who was cut off comes back."""
    node = job.one_of(0.7)
    job.place.cut(node.host, random.choice(["both", "out", "in"]))
    if job.has_list or node is not job.leading():
        node.is_away = True
        job.await_world()
        node.is_away = False
    time.sleep(random.uniform(0, 3))
    job.place.mend(node.host)
    job.await_world()


def lose_power(job):
    """Nobody is told that it is gone."""
    node = job.leading()
    job.place.cut(node.host, "both")
    job.go_on_without(lambda: job.kill(node))


def reset(job):
    job.place.reset(job.one_of(0.7).host)
    time.sleep(0.5)
    job.await_world()


def reset_one_end(job):
    """The other ends are not told."""
    host = job.one_of(0.7).host
    job.place.cut(host, random.choice(["out", "both"]))
    job.place.reset(host)
    time.sleep(random.uniform(0.1, 1.5))
    job.place.mend(host)
    time.sleep(0.5)
    job.await_world()


class Case:
    """A way to lose a node, of a job of a certain shape."""

    def __init__(self, name, endpoints, nodes, what, conf=(), hosts=0, place=None):
        self.name = name
        self.endpoints = endpoints
        self.nodes = nodes
        self.what = what
        self.conf = conf
        # If any, each node is on one of its own.
        self.hosts = hosts
        # Makes what names the leading agent; none: the endpoints do.
        self.place = place
        # The share of workers that SIGTERM does not end; where times are taken, it ends all.
        self.stubborn = 0 if what in (kill_leading, kill_any, kill_two, come_back) else 0.25


QUICK = ("keep_alive_interval=1",)
SOON = ("host_grace=2",)
CASES = [
    Case("3 candidates: kill the leading agent", 3, 3, kill_leading),
    Case("3 candidates: kill any agent of 5", 3, 5, kill_any),
    Case("5 candidates: kill the leading agent", 5, 5, kill_leading),
    Case("5 candidates: kill two at once", 5, 5, kill_two),
    Case("3 candidates: kill two, one comes", 3, 3, kill_two_of_three, QUICK),
    Case("3 candidates: SIGTERM", 3, 4, terminate),
    Case("3 candidates: the leading agent comes back", 3, 3, come_back),
    Case("3 candidates: a host that is none of them comes", 3, 3, come_back_elsewhere),
    Case("3 candidates: kill one while the job ends", 3, 4, die_at_the_end),
    Case("3 candidates: SIGSTOP for 1 s", 3, 3, stop_shortly),
    Case("3 candidates: SIGSTOP for 20 s", 3, 3, stop_long),
    Case("one endpoint: kill any but the host", 1, 3, kill_any),
    Case("one endpoint: the host comes back", 1, 3, come_back),
    Case("one endpoint: the host stays away", 1, 3, stay_away, SOON),
    Case("one endpoint: kill the host while the job ends", 1, 3, die_at_the_end, SOON),
    Case("one endpoint: SIGSTOP for 1 s", 1, 3, stop_shortly),
    Case("one endpoint: SIGSTOP for 20 s", 1, 3, stop_long),
    *[Case(f"{name}: {words}", 1, nodes, what, conf, place=place)
      for name, place in (("directory", Directory), ("etcd", lambda: Etcd(1)))
      for words, nodes, what, conf in (
          ("kill the leading agent", 3, kill_leading, ()),
          ("kill any agent of 4", 4, kill_any, ()),
          ("SIGTERM", 3, terminate, ()),
          ("kill one while the job ends", 3, die_at_the_end, ()),
          ("SIGSTOP for 1 s", 3, stop_shortly, ()),
          ("it is away for a while", 3, lose_place, ()))],
    Case("etcd of three: its leader dies each 5 s", 1, 3, disturb_cluster,
         place=lambda: Etcd(3)),
    Case("network, 3 candidates: a cable is out shortly", 3, 3, cut_shortly, QUICK, 3),
    Case("network, 3 candidates: a cable is out for long", 3, 3, cut_long, QUICK, 3),
    Case("network, 3 candidates: the leading host loses power", 3, 3, lose_power, QUICK, 3),
    Case("network, 3 candidates: resets", 3, 3, reset, QUICK, 3),
    Case("network, 3 candidates: resets that one end sees", 3, 3, reset_one_end, QUICK, 3),
    Case("network, one endpoint: a cable is out for long", 1, 3, cut_long, QUICK, 3),
    Case("network, one endpoint: resets that one end sees", 1, 3, reset_one_end, QUICK, 3),
    Case("network, one endpoint: the host comes back elsewhere", 1, 3, move, QUICK, 4),
]


# ---- all of it ----------------------------------------------------------------------------------


def run(elasticrun, case):
    """One job. Result: seconds to the new world, or None."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="host_loss."))
    if case.place:
        place = case.place()
    else:
        place = Network(case.endpoints, case.hosts) if case.hosts else Loopback(case.endpoints)
    job = Job(elasticrun, folder, place, case)
    try:
        for _ in range(case.nodes):
            job.add()
        job.await_world()
        job.fail_worker()
        case.what(job)
        job.judge()
        job.finish()
        # Whoever tells of the end of a job with one server may die before all have heard it.
        is_open = not job.has_list and case.what in (die_at_the_end, stay_away)
        job.end((0, 1) if is_open else (0,))
        job.judge()
    except Exception:
        for node in job.nodes:
            print(f"---- node {node.name}, {node.process.returncode}\n{node.text()}")
        for life in sorted(job.lives(), key=lambda life: life.begin):
            print(life)
        raise
    finally:
        job.close()
        place.close()
        shutil.rmtree(folder)
    return job.took


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("elasticrun", type=os.path.abspath)
    parser.add_argument("--rounds", default=1, type=int, help="of each case (1)")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="cases, as in 'network*'")
    parser.add_argument("--list", action="store_true", help="names the cases")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    chosen = [case for case in CASES if fnmatch.fnmatch(case.name, arguments.only)]
    if arguments.list:
        print("\n".join(case.name for case in chosen))
        return 0
    has_etcd = shutil.which("etcd")
    has_network = os.geteuid() == 0 and all(map(shutil.which, ("ip", "ss")))
    failed = 0
    for case in chosen:
        if case.hosts and not has_network:
            print(f"left out: {case.name}: it takes root, ip and ss", flush=True)
            continue
        if case.name.startswith("etcd") and not has_etcd:
            print(f"left out: {case.name}: it takes etcd", flush=True)
            continue
        took = []
        wrong = 0
        begin = time.monotonic()
        for _ in range(arguments.rounds):
            try:
                took.append(run(arguments.elasticrun, case))
            except Wrong as problem:
                wrong += 1
                print(f"WRONG: {case.name}: {problem}", flush=True)
        took = [seconds for seconds in took if seconds is not None]
        times = (f"; new world after {statistics.median(took):.2f} s, at worst {max(took):.2f}"
                 if took else "")
        print(f"{case.name}: {arguments.rounds} rounds in {time.monotonic() - begin:.0f} s, "
              f"{wrong} wrong{times}, load {os.getloadavg()[0]:.1f}", flush=True)
        failed += wrong
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
