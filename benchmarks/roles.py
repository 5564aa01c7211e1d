#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What the roles of a job cost, and how soon they learn of each other.

Its --parts, all unless said:

  start   from the start of elasticrun until the workers of all roles run, with 1 role and with 9 of
          one worker each, in turns; and the memory of elasticrun then
  death   from the death of a replica to its successor's first statement
  news    4 nodes: from the death of a worker, whose role starts again, until a worker of another
          role on each node has heard of the new ones; and the same from the first statement of the
          last new one, where below 0 means that all had heard before

Workers stamp their first statement with CLOCK_MONOTONIC.
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from contenders import ROOT, TEMPORARY, describe_machine, free_endpoints, parse_arguments

ROLES = 9
NODES = 4
PATIENCE = 60
LISTENER = f"""\
import os, sys, time
sys.path.insert(0, {str(ROOT / "python")!r})
from elasticrun import worker
seen = None
for roles in worker.roles().changes():
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    server = roles["server"]
    if server.epoch == seen or len(server.workers) < int(sys.argv[1]):
        continue
    seen = server.epoch
    print("news", seen, now, flush=True)
"""


class Job:
    """One elasticrun on each of some nodes, and the stamps of their workers."""

    def __init__(self, build, folder, text, nodes=1, options=()):
        self.folder = folder
        file = folder / "job.toml"
        file.write_text(text)
        self.logs = [folder / f"out{node}" for node in range(nodes)]
        self.began = time.monotonic_ns()
        self.processes = []
        for log in self.logs:
            with open(log, "w", encoding="utf-8") as out:
                self.processes.append(subprocess.Popen(
                    [build / "elasticrun", "--job", file, *options],
                    env=dict(os.environ, OMP_NUM_THREADS="1"), stdin=subprocess.DEVNULL,
                    stdout=out, stderr=subprocess.STDOUT))

    def stamps(self, name):
        """The pid and the time of each start in a file of stamps, complete lines only."""
        path = self.folder / name
        text = path.read_text() if path.exists() else ""
        found = re.findall(r"^start (\d+) (\d+)\n", text, re.MULTILINE)
        return [(int(pid), int(at)) for pid, at in found]

    def wait_for(self, what, condition):
        deadline = time.monotonic() + PATIENCE
        while True:
            found = condition()
            if found:
                return found
            ended = [each.returncode for each in self.processes if each.poll() is not None]
            if ended or time.monotonic() > deadline:
                sys.exit(f"roles.py: {what} did not come; ended: {ended}\n"
                         + self.logs[0].read_text()[-2000:])
            time.sleep(0.001)

    def memory(self):
        status = pathlib.Path(f"/proc/{self.processes[0].pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait(PATIENCE)


@contextlib.contextmanager
def job(build, text, **more):
    with tempfile.TemporaryDirectory(prefix="elastic_benchmark_", dir=TEMPORARY) as name:
        folder = pathlib.Path(name)
        running = Job(build, folder, text.replace("FOLDER", name), **more)
        try:
            yield running
        finally:
            running.end()


def command(build, *acts):
    return json.dumps(["--no-python", str(build / "tests" / "puppet"), *acts])


def print_row(text, values):
    values = sorted(values)
    print(f"| {text} | {statistics.median(values):.2f} ({values[0]:.2f} - {values[-1]:.2f}) "
          f"| {len(values)} |", flush=True)


def measure_start(build, runs):
    times, sizes = {1: [], ROLES: []}, {1: [], ROLES: []}
    for turn in range(runs + 1):
        for count in times:
            text = 'log_dir = "/dev/null"\n' + "".join(
                f"[role.role{at}]\ncommand = {command(build, 'stamp', 'FOLDER/stamps', 'hang')}\n"
                for at in range(count))
            with job(build, text) as running:
                stamps = running.wait_for(
                    f"{count} roles", lambda: len(running.stamps("stamps")) == count
                    and running.stamps("stamps"))
                # The first of each meets cold files.
                if turn > 0:
                    times[count].append((max(at for _, at in stamps) - running.began) / 1e6)
                    sizes[count].append(running.memory())
    for count in times:
        print_row(f"start, {count} roles, ms", times[count])
        print_row(f"memory, {count} roles, MB", sizes[count])
    more = ROLES - 1
    added = (statistics.median(times[ROLES]) - statistics.median(times[1])) / more
    memory = (statistics.median(sizes[ROLES]) - statistics.median(sizes[1])) / more
    print(f"| a further role adds to the start, ms | {added:.2f} | {len(times[1])} |")
    print(f"| a further role adds to the memory, MB | {memory:.2f} | {len(sizes[1])} |", flush=True)


def measure_death(build, runs):
    text = f"""log_dir = "/dev/null"
[role.trainer]
command = {command(build, "hang")}
[role.rollout]
command = {command(build, "stamp", "FOLDER/stamps", "hang")}
processes_per_node = 2
max_restarts = {runs + 1}
stops_with = "trainer"
"""
    spans = []
    with job(build, text) as running:
        running.wait_for("the replicas", lambda: len(running.stamps("stamps")) == 2)
        for turn in range(runs + 1):
            before = running.stamps("stamps")
            # The newest, when the agent has settled.
            time.sleep(0.2)
            killed = time.monotonic_ns()
            os.kill(before[-1][0], signal.SIGKILL)
            after = running.wait_for(
                "the successor",
                lambda: len(running.stamps("stamps")) > len(before) and running.stamps("stamps"))
            if turn > 0:
                spans.append((after[-1][1] - killed) / 1e6)
    print_row("death of a replica to its successor's first statement, ms", spans)


def news_of(running, epochs):
    """When each node has heard of so many epochs of the role; none until all have."""
    times = []
    for log in running.logs:
        found = re.findall(r"news (\d+) (\d+)$", log.read_text(), re.MULTILINE)
        if len(found) < epochs:
            return None
        times.append(int(found[epochs - 1][1]))
    return times


def measure_news(build, runs):
    endpoint = free_endpoints(1)
    script = pathlib.Path(TEMPORARY, f"elastic_listener_{os.getpid()}.py")
    script.write_text(LISTENER)
    text = f"""log_dir = "/dev/null"
nodes = {NODES}
rdzv_backend = "c10d"
rdzv_endpoint = "{endpoint}"
[role.trainer]
command = ["--no-python", "{sys.executable}", "{script}", "{NODES}"]
[role.server]
command = {command(build, "stamp", "FOLDER/stamps", "hang")}
max_restarts = {runs + 1}
stops_with = "trainer"
"""
    spans = []
    deaths = []
    try:
        with job(build, text, nodes=NODES) as running:
            running.wait_for("the first news", lambda: news_of(running, 1))
            for turn in range(runs + 1):
                before = running.stamps("stamps")
                killed = time.monotonic_ns()
                os.kill(before[-1][0], signal.SIGKILL)
                stamps = running.wait_for(
                    "the new workers", lambda: len(running.stamps("stamps")) >= len(before) + NODES
                    and running.stamps("stamps"))
                heard = running.wait_for("the news", lambda: news_of(running, turn + 2))
                last = max(at for _, at in stamps[-NODES:])
                if turn > 0:
                    spans.append((max(heard) - last) / 1e6)
                    deaths.append((max(heard) - killed) / 1e6)
                time.sleep(0.2)
    finally:
        script.unlink()
    print_row(f"first statement of the last new worker to the last of {NODES} nodes that hears of "
              "it, ms", spans)
    print_row(f"death of a worker to the last of {NODES} nodes that hears of the new ones, ms",
              deaths)


def main():
    parts = {"start": measure_start, "death": measure_death, "news": measure_news}
    arguments = parse_arguments(__doc__, 30, parts=",".join(parts))
    describe_machine(arguments)
    print("| roles | median (range) | n |\n| --- | --- | --- |")
    for name in arguments.parts.split(","):
        parts[name](arguments.build, arguments.runs)


if __name__ == "__main__":
    main()
