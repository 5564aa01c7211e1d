#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Does --diagnose name the rank that holds up a job?

  hangs.py --elasticrun FILE --python PYTHON [--runs N] [FAULT…]
  hangs.py … --undisturbed SECONDS    trains without a fault, with both fast and slow ranks

Eight ranks of gloo on two agents take steps, until a fault at one of them, both drawn by chance,
stops the job. Each fault N times: how often the verdict named the right rank first, a wrong one, or
none, and how long it took after the time that --stall-after allows. It fails if a wrong rank is
named, or the right one in less than 95 %. PYTHON needs PyTorch 2.13; dead_mount and cut_link need
root, bindfs and ip.
"""

import argparse
import contextlib
import os
import pathlib
import queue
import random
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

from hang_faults import Cables, DeadMount, read_shard, wait_for_cut

NODES, LOCAL_RANKS = 2, 4
RANKS = NODES * LOCAL_RANKS
STALL_AFTER = 4
PATIENCE = 120
FAULTS = ["loader_sleep", "exception", "mismatched_operation", "mismatched_size", "loader_process",
          "stopped", "endless_loop", "dead_mount", "cut_link"]
SENTENCE = re.compile(r"the job has stalled: (.*)")
HARMLESS = re.compile("slow, not hung|computes or loops|^the cause is unknown")
FIRST_RANK = re.compile(r"\branks? (\d+)")


# ---- a rank -------------------------------------------------------------------------------------

def break_down(fault, folder):
    """The fault of a rank, and the size of its input after it."""
    pathlib.Path(folder, "fault").write_text(repr(time.time()))
    read_shard(fault, folder)
    return 9 if fault == "mismatched_size" else 5


def train(dist, torch):
    rank, folder = dist.get_rank(), os.environ["HANG_FOLDER"]
    fault = os.environ["HANG_FAULT"]
    culprit, last_step = int(os.environ["HANG_RANK"]), int(os.environ["HANG_STEP"])
    step = 0
    while True:
        size = 5
        if step == last_step and fault == "cut_link":
            wait_for_cut(folder, rank)
        elif step == last_step and rank == culprit and fault != "undisturbed":
            size = break_down(fault, folder)
        if fault == "undisturbed":
            compute(rank, step)
        if step == last_step and rank == culprit and fault == "mismatched_operation":
            dist.broadcast(torch.ones(size, 7), src=0)
        else:
            dist.all_reduce(torch.ones(size, 7))
        step += 1


def compute(rank, step):
    """Slow by turns: a step of a rank takes up to twice the time after which a job is stalled."""
    is_slow = step % 20 == 19 and rank == (step // 20) % RANKS
    until = time.monotonic() + (2 * STALL_AFTER if is_slow else 0.02)
    while time.monotonic() < until:
        sum(number * number for number in range(1000))


def rank_main():
    import torch
    import torch.distributed as dist
    dist.init_process_group("gloo")
    try:
        train(dist, torch)
    finally:
        dist.barrier()  # as many scripts end, whatever has happened


# ---- the job ------------------------------------------------------------------------------------

class Job:
    """Two agents; their lines come out of a queue, each with its time."""

    def __init__(self, arguments, fault, rank, step, folder):
        self.lines = queue.Queue()
        self.agents = []
        self.last_line = ""
        is_linked = fault == "cut_link"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        host = Cables.address(0, 0) if is_linked else "127.0.0.1"
        environment = dict(os.environ, HANG_FAULT=fault, HANG_RANK=str(rank), HANG_STEP=str(step),
                           HANG_FOLDER=folder, OMP_NUM_THREADS="1",
                           GLOO_SOCKET_IFNAME="data" if is_linked else "lo")
        for node in range(NODES):
            prefix = ["ip", "netns", "exec", Cables.SPACES[node]] if is_linked else []
            agent = subprocess.Popen(
                [*prefix, arguments.elasticrun, "--nnodes", str(NODES), "--nproc-per-node",
                 str(LOCAL_RANKS), "--rdzv-backend", "c10d",
                 "--rdzv-endpoint", f"{host}:{port}",
                 "--rdzv-id", "hangs", "--diagnose", "--stall-after", str(STALL_AFTER),
                 "--max-restarts", "0", "--no-python", arguments.python,
                 os.path.abspath(__file__), "--rank"],
                env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
            self.agents.append(agent)
            threading.Thread(target=self.read, args=[agent], daemon=True).start()

    def read(self, agent):
        for line in agent.stderr:
            self.lines.put((time.time(), line.rstrip()))
        self.lines.put((time.time(), None))

    def verdict(self, patience):
        """When the sentence of a verdict came, and the sentence; None if there is none."""
        deadline = time.time() + patience
        ended = 0
        while ended < NODES and time.time() < deadline:
            try:
                when, line = self.lines.get(timeout=max(deadline - time.time(), 0.01))
            except queue.Empty:
                break
            if line is None:
                ended += 1
                continue
            self.last_line = line or self.last_line
            if found := SENTENCE.search(line) or re.search(r"stall +: (.*)", line):
                return when, found[1]
        return None

    def end(self):
        for agent in self.agents:
            agent.terminate()
        for agent in self.agents:
            try:
                agent.wait(timeout=60)
            except subprocess.TimeoutExpired:
                agent.kill()
                agent.wait()


def is_right(fault, rank, sentence):
    if fault == "cut_link":
        return "have entered" in sentence
    found = FIRST_RANK.search(sentence)
    return found is not None and int(found[1]) == rank


def run(arguments, fault, chance):
    rank, step = chance.randrange(RANKS), chance.randrange(1, 40)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hangs"))
        if fault == "dead_mount":
            stack.enter_context(DeadMount(folder))
        cables = stack.enter_context(Cables("agents", "data")) if fault == "cut_link" else None
        job = Job(arguments, fault, rank, step, folder)
        try:
            if cables:
                cables.cut(folder, RANKS, PATIENCE)
                pathlib.Path(folder, "fault").write_text(repr(time.time()))
            verdict = job.verdict(PATIENCE)
            if verdict is None:
                return "none", None, f"(rank {rank}, step {step}) {job.last_line}"
            when, sentence = verdict
            began = float(pathlib.Path(folder, "fault").read_text())
            if is_right(fault, rank, sentence):
                return "right", when - began - STALL_AFTER, sentence
            is_wrong = not sentence.startswith("the cause is unknown")
            return "wrong" if is_wrong else "none", None, f"(rank {rank}) {sentence}"
        finally:
            # Who reads from the dead file system ends once it answers.
            if fault == "dead_mount":
                for agent in job.agents:
                    agent.terminate()
                stack.close()
            job.end()


def undisturbed(arguments):
    """Every verdict but that a rank is slow is a wrong one."""
    with tempfile.TemporaryDirectory(prefix="hangs") as folder:
        job = Job(arguments, "undisturbed", 0, -1, folder)
        end = time.time() + arguments.undisturbed
        slow = wrong = 0
        try:
            while time.time() < end and (verdict := job.verdict(end - time.time())):
                is_slow = bool(HARMLESS.search(verdict[1]))
                slow, wrong = slow + is_slow, wrong + (not is_slow)
                print(f"  {verdict[1]}", flush=True)
        finally:
            job.end()
    print(f"{arguments.undisturbed} s undisturbed: {slow} verdicts of slow ranks or nobody, "
          f"{wrong} wrong ones")
    return wrong == 0


def main():
    if "--rank" in sys.argv:
        rank_main()
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elasticrun", default="build/release/elasticrun")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--undisturbed", type=int, metavar="SECONDS")
    parser.add_argument("faults", nargs="*", metavar="FAULT", help=", ".join(FAULTS))
    arguments = parser.parse_args()
    if arguments.undisturbed:
        sys.exit(0 if undisturbed(arguments) else 1)
    chance = random.Random(arguments.seed)
    print("| fault | right | wrong | none | slowest, s after --stall-after |")
    print("| --- | ---: | ---: | ---: | ---: |")
    is_well = True
    for fault in arguments.faults or FAULTS:
        results = [run(arguments, fault, chance) for _ in range(arguments.runs)]
        counts = {name: sum(result[0] == name for result in results)
                  for name in ("right", "wrong", "none")}
        is_well = is_well and counts["wrong"] == 0 and counts["right"] >= 0.95 * arguments.runs
        slowest = max((result[1] for result in results if result[1] is not None), default=None)
        print(f"| {fault} | {counts['right']} | {counts['wrong']} | {counts['none']} | "
              f"{'' if slowest is None else f'{slowest:.1f}'} |", flush=True)
        for outcome, _, sentence in results:
            print(f"  {outcome}: {sentence}", file=sys.stderr)
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
