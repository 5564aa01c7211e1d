#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What `elasticrun logs` costs, and how soon it shows a line.

  logs.py [--nodes 64] [--rate 1000] [--seconds 20] [--runs 10]

follow  Each of so many nodes, which are elasticruns on this host, has a worker that writes so many
        numbered lines of 100 bytes a second into its log file, 10 at a time. A reader follows all
        of them at the node that shows the job. The processor time of its agent and of the reader
        is taken over the given seconds, in percent of all processors of this host, and with no
        reader before. What was read must be every line of every rank, in order, and none skipped.
first   Three nodes whose workers have written 100 lines each: from the start of the command to its
        first line, and to the first line of a rank of another node.
"""

import contextlib
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from contenders import describe_machine, free_endpoints, parse_arguments

WORKER = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int count, char** words) {
  (void)count;
  const char* rank = getenv("RANK");
  const int rate = atoi(words[2]), at_once = rate < 10 ? 1 : 10;
  for (int line = 0; line < 100; ++line) printf("%s %d %-86s\n", rank, line, "before");
  fflush(stdout);
  while (access(words[1], F_OK)) usleep(10000);
  struct timespec next;
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (long line = 0;;) {
    for (int more = 0; more < at_once; ++more) printf("%s %ld %-86s\n", rank, line++, "a line");
    fflush(stdout);
    next.tv_nsec += 1000000000L / rate * at_once;
    next.tv_sec += next.tv_nsec / 1000000000L;
    next.tv_nsec %= 1000000000L;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
  }
}
"""


class Job:
    """Nodes of one job on this host; the first shows it."""

    def __init__(self, elasticrun, folder, nodes, rate):
        self.elasticrun, self.folder = elasticrun, pathlib.Path(folder)
        self.gate = self.folder / "gate"
        self.address = f"unix:{folder}/status"
        (self.folder / "worker.c").write_text(WORKER)
        subprocess.run(["cc", "-O1", "-o", self.folder / "worker", self.folder / "worker.c"],
                       check=True)
        endpoint = free_endpoints(1)
        self.nodes = []
        for number in range(nodes):
            shows = ["--status", self.address] if number == 0 else []
            self.nodes.append(subprocess.Popen(
                [elasticrun, "--nnodes", str(nodes), "--rdzv-backend", "c10d", "--rdzv-endpoint",
                 endpoint, "--rdzv-id", "job", "--log-dir", f"{folder}/{number}", "--redirects",
                 "3", *shows, "--no-python", self.folder / "worker", self.gate, str(rate)],
                stderr=subprocess.DEVNULL))
            if number == 0:
                self.wait_for(lambda: (self.folder / "status").exists())
        self.wait_for(lambda: len(self.read("--lines", "1").splitlines()) == nodes)

    def wait_for(self, condition):
        deadline = time.monotonic() + 120
        while not condition():
            if time.monotonic() > deadline or any(node.poll() is not None for node in self.nodes):
                sys.exit("logs.py: the nodes do not meet")
            time.sleep(0.2)

    def command(self, *options):
        return [self.elasticrun, "logs", self.address, "--stdout", *options]

    def read(self, *options):
        return subprocess.run(self.command(*options), stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL).stdout

    def end(self):
        for node in self.nodes:
            node.terminate()
        for node in self.nodes:
            node.wait()


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def shares(pids, seconds):
    """The processor time of these processes meanwhile, in percent of all processors."""
    used, began = [processor_seconds(pid) for pid in pids], time.monotonic()
    time.sleep(seconds)
    span = (time.monotonic() - began) * os.cpu_count()
    return [(processor_seconds(pid) - before) / span * 100 for pid, before in zip(pids, used)]


def check_lines(path, nodes):
    """How many lines of each rank were read, at least; every one of them in its order."""
    following = [0] * nodes
    with open(path) as lines:
        for line in lines:
            found = re.match(r"\[rank (\d+)\]: (\d+) (\d+) a line +$", line)
            if not found or found[1] != found[2] or following[int(found[1])] != int(found[3]):
                sys.exit(f"logs.py: a line is missing, or is in no order: {line}")
            following[int(found[1])] += 1
    return min(following)


def measure_follow(elasticrun, nodes, rate, seconds):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, contextlib.ExitStack() as stack:
        job = Job(elasticrun, folder, nodes, rate)
        stack.callback(job.end)
        path = pathlib.Path(folder) / "read"
        # It reads before the first of these lines is written.
        reader = subprocess.Popen(job.command("--follow", "--lines", "1"), stdout=open(path, "w"))
        job.wait_for(lambda: len(path.read_text().splitlines()) == nodes)
        begin = path.stat().st_size
        job.gate.touch()
        time.sleep(3)
        agent, reading = shares([job.nodes[0].pid, reader.pid], seconds)
        # Some seconds later it has read all that was written until now.
        reader.terminate()
        reader.wait()
        text = path.read_text()[begin:]
        path.write_text(text[:text.rfind("\n") + 1])
        lines = check_lines(path, nodes)
        alone, = shares([job.nodes[0].pid], seconds)
    wanted = rate * (3 + seconds)
    print("nodes | lines/s each | agent, % | reader, % | together, % | agent if nobody reads, % | "
          "read of each rank, of the lines written")
    print("---|---|---|---|---|---|---")
    print(f"{nodes} | {rate} | {agent:.1f} | {reading:.1f} | {agent + reading:.1f} | {alone:.1f} "
          f"| {lines / wanted:.2f}\n")


def first_line(command):
    # What a reader before it has asked for is over.
    time.sleep(0.5)
    began = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as program:
        program.stdout.readline()
        span = time.monotonic() - began
        program.stdout.read()
    return span * 1000


def measure_first(elasticrun, runs):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder, contextlib.ExitStack() as stack:
        job = Job(elasticrun, folder, 3, 1)
        stack.callback(job.end)
        print("first line, ms | median | worst")
        print("---|---|---")
        for name, options in (("of any rank", []), ("of a rank of another node", ["--ranks", "1"])):
            spans = [first_line(job.command(*options)) for _ in range(runs + 1)][1:]
            print(f"{name} | {statistics.median(spans):.1f} | {max(spans):.1f}")


def main():
    arguments = parse_arguments(__doc__.splitlines()[0], runs=10, nodes="64", rate="1000",
                                seconds="20")
    describe_machine(arguments, f"one run over {arguments.seconds} s; {arguments.runs} runs")
    elasticrun = arguments.build / "elasticrun"
    measure_follow(elasticrun, int(arguments.nodes), int(arguments.rate), float(arguments.seconds))
    measure_first(elasticrun, arguments.runs)


if __name__ == "__main__":
    main()
