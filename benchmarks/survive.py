#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What a script gains that keeps its survivors (docs/survive.md).

Its --parts, all unless said, for each PyTorch that is found:

  commit   TorchState.commit() of --megabytes against memcpy of the same memory, in turns
  small    ms from the SIGKILL of one of 4 and of 8 ranks to a later step of all, small state
  large    the same for 4 ranks with a state of --megabytes, which is committed every 10 steps, and
           written as a checkpoint every 10 steps where the others restart from one
  pool     ms from the SIGKILL of one of --ranks (4) to the next step of all, --after seconds after
           the first step of all, a new job each time; and the memory of the standbys at that moment
  goodput  steps of 4 ranks within --seconds (3600; --short: 600), one rank killed every --between
           seconds (120), a checkpoint every 100 steps: by the seed --seed, the same for all

replace, lasting (replace with DDP outside of `train`, from PyTorch 2.14 on), warm (--on-failure
restart --warm-standby), cold and torchrun take turns. What does not come within a minute counts as
hung.
"""

import argparse
import contextlib
import ctypes
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from contenders import ROOT, add_python_option, describe_machine, find_torches, row

LIMIT = 60
WORKER = ROOT / "benchmarks" / "survive_worker.py"
REPLACING = ("replace", "lasting")


class Hung(Exception):
    """Something did not come in time, or the launcher ended."""


class Job:
    """A launcher, and what its workers noted: (pid, rank, step, ns)."""

    def __init__(self, command, python, workers, megabytes, checkpoint_every, commit_every=1,
                 device="cpu", worker_options=()):
        self.workers = workers
        self.folder = tempfile.TemporaryDirectory(prefix="elastic_benchmark_")
        self.stamps = pathlib.Path(self.folder.name, "stamps")
        self.stamps.touch()
        self.log = pathlib.Path(self.folder.name, "log")
        environment = dict(os.environ, OMP_NUM_THREADS="1", LOGLEVEL="INFO", PYTHON_EXEC=python,
                           GLOO_SOCKET_IFNAME="lo")
        words = [*command, "--nproc_per_node", workers, WORKER, self.stamps, megabytes,
                 pathlib.Path(self.folder.name, "checkpoint"), checkpoint_every, commit_every,
                 device, *worker_options]
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([str(word) for word in words], env=environment,
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def read(self):
        lines = self.stamps.read_text().splitlines()
        return [tuple(map(int, line.split())) for line in lines if line.count(" ") == 3]

    def wait_for(self, condition, what, seconds=LIMIT):
        deadline = time.monotonic() + seconds
        while not (result := condition()):
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise Hung(f"{what} did not come; the launcher: {self.process.poll()}")
            time.sleep(0.003)
        return result

    def all_after(self, ns, dead):
        """When the last rank had done its first step after that time, without the dead process."""
        first = {}
        for pid, rank, _, at in self.read():
            if at > ns and pid != dead:
                first.setdefault(rank, at)
        return max(first.values()) if len(first) == self.workers else None

    def kill_one(self, choose):
        """Result: when, who, and which processes there were, by rank."""
        alive = {rank: pid for pid, rank, _, _ in self.read()}
        victim = alive[choose.randrange(self.workers)]
        began = time.monotonic_ns()
        os.kill(victim, signal.SIGKILL)
        return began, victim, alive

    def await_standbys(self, replaces):
        standing = self.wait_for(lambda: self.find_standbys(replaces), "standbys", 10 * LIMIT)
        time.sleep(0.5)
        # Those that have only imported end as soon as some can run the script.
        if self.find_standbys(replaces) != standing:
            self.await_standbys(replaces)

    def standbys(self):
        """Those that wait, and whether each serves any rank."""
        text = self.log.read_text()
        made = re.findall(r"(\w+) local rank has a standby: process (\d+)", text)
        made += re.findall(r"local rank (\d+) has a standby: process (\d+)", text)
        used = re.findall(r"starts warm: process (\d+)", text)
        return {int(pid): rank == "any" for rank, pid in made
                if pid not in used and os.path.exists(f"/proc/{pid}")}

    def find_standbys(self, replaces):
        """As many as a kill needs: one that serves any rank if only one rank starts again, and
        otherwise one for each rank. None if there are fewer."""
        standing = self.standbys()
        needed = 1 if replaces and all(standing.values()) else self.workers
        return standing if len(standing) >= needed else None


@contextlib.contextmanager
def running(*arguments):
    job = Job(*arguments)
    try:
        yield job
    finally:
        job.process.terminate()
        try:
            job.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            job.process.kill()
            job.process.wait()


def commands(program, python):
    elasticrun = [program, "--standalone", "--max-restarts", 100000]
    replacing = [*elasticrun, "--on-failure", "replace", "--warm-standby"]
    found = {"replace": replacing, "lasting": replacing,
             "warm": [*elasticrun, "--warm-standby"], "cold": elasticrun}
    found["torchrun"] = [python, ROOT / "benchmarks" / "torchrun_113.py", "--standalone",
                         "--max_restarts", 100000, "--monitor_interval", "0.1"]
    return found


def measure_kills(name, command, python, workers, megabytes, arguments):
    """ms of each kill; None where it hung, and then the job is begun again."""
    spans, choose = [], random.Random(arguments.seed)
    commit_every = 10 if megabytes else 1
    checkpoint_every = 10 if megabytes and name not in REPLACING else 0
    while len(spans) < arguments.runs:
        try:
            with running(command, python, workers, megabytes, checkpoint_every,
                         commit_every, arguments.device,
                         ["lasting"] if name == "lasting" else []) as job:
                job.wait_for(lambda: job.all_after(0, 0), "the first step", 2 * LIMIT)
                while len(spans) < arguments.runs:
                    if name in (*REPLACING, "warm"):
                        job.await_standbys(name in REPLACING)
                    time.sleep(0.5 + choose.random())
                    began, victim, before = job.kill_one(choose)
                    end = job.wait_for(lambda: job.all_after(began, victim), "the next step")
                    spans.append((end - began) / 1e6)
                    print(f"   {name}: {spans[-1]:.0f} ms", file=sys.stderr, flush=True)
                    after = {rank: pid for pid, rank, _, at in job.read()
                             if at > began and pid != victim}
                    kept = sum(before[rank] == pid for rank, pid in after.items())
                    if name in REPLACING and kept < workers - 1:
                        print(f"   only {kept} processes were kept", file=sys.stderr)
        except Hung as reason:
            print(f"   {name}: {reason}", file=sys.stderr)
            spans.append(None)
    return spans


def memory_mib(pid):
    """The memory of a process, with its share of what others have, too."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return int(re.search(r"^Pss:\s+(\d+)", file.read(), re.M)[1]) / 1024


def measure_pool(release, python, arguments):
    choose = random.Random(arguments.seed)
    program = [arguments.build / "elasticrun", "--standalone", "--max-restarts", 100]
    spans, amounts = [], []
    while len(spans) < arguments.runs:
        command = [*program, "--on-failure", "replace", "--warm-standby",
                   *arguments.options.split()]
        try:
            with running(command, python, arguments.ranks, 0, 0) as job:
                job.wait_for(lambda: job.all_after(0, 0), "the first step", 2 * LIMIT)
                time.sleep(arguments.after)
                standing = job.standbys()
                amounts.append(sum(map(memory_mib, standing)))
                began, victim, _ = job.kill_one(choose)
                end = job.wait_for(lambda: job.all_after(began, victim), "the next step")
                spans.append((end - began) / 1e6)
                warm = "warm" if "starts warm" in job.log.read_text() else "cold"
                print(f"   {spans[-1]:.0f} ms, {warm}, {len(standing)} standbys of "
                      f"{amounts[-1]:.0f} MiB in all", file=sys.stderr, flush=True)
        except Hung as reason:
            print(f"   {reason}", file=sys.stderr)
            spans.append(None)
    print(f"PyTorch {release}, {arguments.ranks} ranks, {arguments.after} s after the first step "
          f"of all: SIGKILL to the next step of all, ms | median | quartiles | of replace")
    print(row("pool", spans, [span for span in spans if span is not None]), flush=True)
    fast = sum(span is not None and span <= 250 for span in spans)
    print(f"{fast} of {len(spans)} within 250 ms; memory of the standbys: median "
          f"{statistics.median(amounts):.0f} MiB\n", flush=True)


def print_kills(release, python, workers, megabytes, arguments):
    print(f"PyTorch {release}, {workers} ranks, {megabytes} MB: SIGKILL to the next step of all, "
          f"ms | median | quartiles | of replace")
    base = None
    for name, command in selected(arguments, python):
        spans = measure_kills(name, command, python, workers, megabytes, arguments)
        base = base or [span for span in spans if span is not None]
        print(row(name, spans, base), flush=True)
    print()


def selected(arguments, python):
    names = arguments.only.split(",") if arguments.only else None
    for name, command in commands(arguments.build / "elasticrun", python).items():
        if name in names if names else name != "lasting":
            yield name, command


def measure_goodput(release, python, arguments):
    print(f"PyTorch {release}: steps of 4 ranks in {arguments.seconds} s, a kill every "
          f"{arguments.between} s | distinct steps | done twice")
    for name, command in selected(arguments, python):
        choose = random.Random(arguments.seed)
        try:
            with running(command, python, 4, 0, 100, 1, arguments.device) as job:
                job.wait_for(lambda: job.all_after(0, 0), "the first step", 2 * LIMIT)
                end = time.monotonic() + arguments.seconds
                while (left := end - time.monotonic()) > 0:
                    time.sleep(min(left, arguments.between))
                    if time.monotonic() < end and job.process.poll() is None:
                        with contextlib.suppress(ProcessLookupError):
                            job.kill_one(choose)
                done = [step for _, rank, step, _ in job.read() if rank == 0]
                print(f"| {name} | {max(done)} | {len(done) - len(set(done))} |", flush=True)
        except Hung as reason:
            print(f"| {name} | {reason} | |", flush=True)
    print()


def measure_commit(release, python, arguments):
    """In a process of that PyTorch."""
    answer = subprocess.run([python, __file__, "--measure-commit", str(arguments.megabytes),
                             "--runs", str(arguments.runs), "--device", arguments.device],
                            capture_output=True, text=True)
    print(f"PyTorch {release}: {answer.stdout or answer.stderr}", flush=True)


def commit_here(megabytes, runs, device):
    import torch
    sys.path.insert(0, str(ROOT / "python"))
    from elasticrun import survive
    state = survive.TorchState(**{f"part{at}": torch.ones(megabytes << 14, device=device)
                                  for at in range(16)})
    source = torch.ones(megabytes << 18, device=device)
    target = torch.ones(megabytes << 18, pin_memory=device == "cuda")
    torch.set_num_threads(1)
    state.commit()
    spans = {"commit": [], "memcpy": []}
    for _ in range(runs):
        began = time.monotonic()
        state.commit()
        spans["commit"].append(time.monotonic() - began)
        began = time.monotonic()
        if device == "cuda":
            target.copy_(source)
        else:
            ctypes.memmove(target.data_ptr(), source.data_ptr(), megabytes << 20)
        spans["memcpy"].append(time.monotonic() - began)
    commit, memcpy = (statistics.median(spans[name]) for name in ("commit", "memcpy"))
    ratios = [one / other for one, other in zip(spans["commit"], spans["memcpy"])]
    print(f"commit of {megabytes} MB {commit * 1e3:.0f} ms, memcpy {memcpy * 1e3:.0f} ms, median "
          f"of {runs} ratios {statistics.median(ratios):.2f}")


def main():
    # A job must not go on if the time of this is over.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=ROOT / "build" / "release", type=pathlib.Path)
    parser.add_argument("--runs", default=10, type=int, help="kills of each (10)")
    parser.add_argument("--parts", default="commit,small,large,pool,goodput")
    parser.add_argument("--only",
                        help="comma-separated: replace, lasting, warm, cold, torchrun")
    parser.add_argument("--megabytes", default=1024, type=int, help="of the large state (1024)")
    parser.add_argument("--seed", default=1, type=int)
    parser.add_argument("--seconds", default=3600, type=int)
    parser.add_argument("--between", default=120, type=int)
    parser.add_argument("--after", default=10, type=float, help="of the part pool (10)")
    parser.add_argument("--ranks", default=4, type=int, help="of the part pool (4)")
    parser.add_argument("--options", default="", help="more options of its elasticrun")
    parser.add_argument("--short", action="store_true", help="goodput of 600 s")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"],
                        help="cuda: NCCL, with 4 ranks, which may share a GPU")
    parser.add_argument("--measure-commit", type=int, help=argparse.SUPPRESS)
    add_python_option(parser)
    arguments = parser.parse_args()
    if arguments.measure_commit:
        return commit_here(arguments.measure_commit, arguments.runs, arguments.device)
    if arguments.short:
        arguments.seconds = 600
    describe_machine(arguments)
    for release, python in find_torches(arguments.python).items():
        parts = arguments.parts.split(",")
        if "commit" in parts:
            measure_commit(release, python, arguments)
        if "small" in parts:
            for workers in (4, 8) if arguments.device == "cpu" else (4,):
                print_kills(release, python, workers, 0, arguments)
        if "large" in parts:
            print_kills(release, python, 4, arguments.megabytes, arguments)
        if "pool" in parts:
            measure_pool(release, python, arguments)
        if "goodput" in parts:
            measure_goodput(release, python, arguments)


if __name__ == "__main__":
    main()
