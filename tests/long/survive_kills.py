#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Kills ranks of a training that replaces them, one after the other.

  survive_kills.py ELASTICRUN PYTHON [--outside] [--kills 1000] [--each 50] [--seed 1]

Jobs of 4 ranks with DDP, with --each kills in each job. A rank is killed when all have done a step
since the kill before. After each kill the others must have their processes still, but for those
that gloo cannot free, which say so and are counted. No job may start all ranks again, hang for two
minutes or end otherwise than with the parameters of a job that nobody disturbs. The first thing
that is wrong ends this with exit status 1, and what the job wrote.

With --outside, which needs PyTorch 2.14, process groups and DDP are made once in each process,
before the training.
"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import kills as kill_tests

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKER = ROOT / "tests" / "integration" / "python" / "survive_worker.py"
STUCK = re.compile(r"rank (\d+): a message was under way")
RANKS = 4
STEPS_BETWEEN = 6
PATIENCE = 120


class Wrong(Exception):
    """What must not happen."""


class Training:
    def __init__(self, arguments, steps, folder, worker=WORKER, options=()):
        self.folder = pathlib.Path(folder)
        self.last = steps
        self.log = self.folder / "log"
        environment = dict(os.environ, PYTHON_EXEC=arguments.python, OMP_NUM_THREADS="1",
                           LOGLEVEL="INFO", GLOO_SOCKET_IFNAME="lo", TMPDIR=folder)
        words = [arguments.elasticrun, "--standalone", "--nproc-per-node", RANKS, "--max-restarts",
                 steps, "--on-failure", "replace", "--rejoin-timeout", 60, "--warm-standby",
                 "--standby-delay", 1, worker, "--folder", folder, "--gate", "--steps", steps,
                 *options]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([str(word) for word in words], env=environment,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def let_do(self, steps):
        """Lets all come to this step, and no further."""
        draft = self.folder / "draft"
        draft.write_text(str(steps))
        draft.rename(self.folder / "gate")

    def text(self):
        return self.log.read_text(errors="replace")

    def steps(self):
        """(rank, step, pid), in the order in which they were done."""
        try:
            lines = (self.folder / "steps").read_text().splitlines()
        except FileNotFoundError:
            return []
        fields = (line.split() for line in lines)
        return [(int(each[0]), int(each[1]), int(each[2])) for each in fields if len(each) == 4]

    def wait_for(self, condition, what):
        deadline = time.monotonic() + PATIENCE
        while True:
            is_over = time.monotonic() > deadline or self.process.poll() is not None
            result = condition()
            if result:
                return result
            if is_over:
                raise Wrong(f"{what} did not come; the launcher: {self.process.poll()}")
            time.sleep(0.005)

    def all_since(self, done, dead):
        """The process of each rank that has done a step after the first `done`; none if one has
        not."""
        found = {rank: pid for rank, _, pid in self.steps()[done:] if pid != dead}
        return found if len(found) == RANKS else None

    def kill_some(self, kills, choose):
        """How many other ranks gloo could not free."""
        stuck = 0
        self.let_do(STEPS_BETWEEN)
        before = self.wait_for(lambda: self.all_since(0, 0), "the first step")
        for number in range(kills):
            least = (number + 1) * STEPS_BETWEEN
            self.let_do(least + 2 * STEPS_BETWEEN)
            self.wait_for(lambda: max(step for _, step, _ in self.steps()) >= least, "a step")
            rank = choose.randrange(RANKS)
            time.sleep(choose.random() * 0.02)
            done = len(self.steps())
            os.kill(before[rank], signal.SIGKILL)
            self.let_do(least + 3 * STEPS_BETWEEN)
            # Those that were under way count as of before: each has one step in its file at most.
            after = self.wait_for(lambda: self.all_since(done + RANKS, before[rank]),
                                  f"a step of all after kill {number + 1}, of rank {rank},")
            all_stuck = [int(each) for each in STUCK.findall(self.text())]
            lost = {rank, *all_stuck[stuck:]}
            kept = {each for each in after if after[each] == before[each]}
            if kept != set(range(RANKS)) - lost:
                raise Wrong(f"{sorted(lost)} were lost, and {sorted(kept)} kept their processes")
            stuck = len(all_stuck)
            before = after
        return stuck

    def end(self):
        """The parameters of all ranks, which have to be the same."""
        self.let_do(self.last)
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Wrong("the job does not end") from None
        sums = set(re.findall(r"finished rank \d+ of \d+ .* (checksum \S+ noise \S+)", self.text()))
        if code != 0 or len(sums) != 1:
            raise Wrong(f"the job ended with {code} and {sums}")
        if "all workers of the job restart" in self.text():
            raise Wrong("all ranks restarted")
        return sums.pop()


def train(arguments, kills, steps, choose, **worker):
    """The parameters, and how many other ranks were lost."""
    with tempfile.TemporaryDirectory(prefix="elastic_kills_") as folder:
        training = Training(arguments, steps, folder, **worker)
        try:
            stuck = training.kill_some(kills, choose) if kills else 0
            return training.end(), stuck
        except Wrong as problem:
            sys.exit(f"{training.text()}\n{problem}")
        finally:
            training.process.kill()
            training.process.wait()


def compare(arguments, choose, **worker):
    """Kills in one job after the other, which have to end as one without any kill."""
    steps = (arguments.each + 3) * STEPS_BETWEEN
    expected, _ = train(arguments, 0, steps, choose, **worker)
    done = all_stuck = 0
    for kills in kill_tests.jobs(arguments):
        result, stuck = train(arguments, kills, steps, choose, **worker)
        if result != expected:
            sys.exit(f"{result} after {kills} kills, and {expected} without any")
        done += kills
        all_stuck += stuck
        print(f"{done} kills, {all_stuck} other ranks that gloo could not free", flush=True)


def add_outside(parser):
    parser.add_argument("--outside", action="store_true",
                        help="groups and DDP outside of the function under survive.run")


def main():
    arguments = kill_tests.parse_arguments(__doc__, add_outside)
    compare(arguments, arguments.choose,
            options=("--outside", "--groups") if arguments.outside else ())


if __name__ == "__main__":
    main()
