#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What only a machine with an NVIDIA GPU can show: four ranks of NCCL that share its GPUs.

  gpu.py ELASTICRUN PYTHON [--parts kills,cases,hangs] [--kills 25] [--compile] [--seed 1]

kills  ranks are killed at any moment, one after the other, and replaced by standbys that have built
       the model: the others keep their processes and what they have compiled, and the parameters
       are those of a job that nobody disturbs
cases  what a rank can do to the others at one moment each, as gpu_worker.py has them
hangs  --diagnose names the rank that others wait for

PYTHON needs PyTorch with NCCL. Ends with 1 if something is wrong, and says what.
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from survive_kills import RANKS, STEPS_BETWEEN, Training, Wrong  # noqa: E402

WORKER = pathlib.Path(__file__).with_name("gpu_worker.py")
STALLED = pathlib.Path(__file__).with_name("gpu_stalled.py")
STALL_AFTER = 5
# How many jobs share the GPUs where nothing is measured.
AT_A_TIME = 4
CASE_STEPS = 12
# What happens, how many of the four processes are kept, and how often ranks are replaced.
CASES = [
    ("when gradients are on their way", ["kill@5:1"], 3),
    ("before the commit", ["kill-late@5:2"], 3),
    ("rank 0", ["kill@5:0"], 3),
    ("two at once", ["kill@5:1", "kill@5:2"], 2),
    ("again, before the group is made", ["kill@5:1", "kill-init@1:3"], 2),
    ("again, when the group is made", ["kill@5:1", "kill-sync@1:2"], 2),
    ("two process groups", ["kill@5:3", "--groups"], 3),
    ("an exception", ["raise@5:1"], 3),
    ("an assertion on the GPU", ["break@5:2"], 3),
]


def options_of(words):
    return [part for word in words
            for part in ([word] if word.startswith("--") else ["--do", word])]


class Replaced(Training):
    """A training of which ranks are killed from outside, and how long each took."""

    def lines(self):
        try:
            lines = (self.folder / "steps").read_text().splitlines()
        except FileNotFoundError:
            return []
        return [tuple(map(int, line.split())) for line in lines if line.count(" ") == 3]

    def first_step(self, rank, not_pid):
        """When a rank had done its first step in another process."""
        return next((ns for each, _, pid, ns in self.lines()
                     if each == rank and pid != not_pid and ns > self.killed_at), None)

    def kill_one(self, choose, number, before):
        """Result: the ms to the first step of the newcomer, which takes all, and the processes."""
        least = (number + 1) * STEPS_BETWEEN
        self.let_do(least + 2 * STEPS_BETWEEN)
        self.wait_for(lambda: max(step for _, step, _ in self.steps()) >= least, "a step")
        rank = choose.randrange(RANKS)
        time.sleep(choose.random() * 0.05)
        done = len(self.steps())
        self.killed_at = time.monotonic_ns()
        os.kill(before[rank], signal.SIGKILL)
        self.let_do(least + 3 * STEPS_BETWEEN)
        what = f"a step after kill {number + 1}, of rank {rank},"
        end = self.wait_for(lambda: self.first_step(rank, before[rank]), what)
        after = self.wait_for(lambda: self.all_since(done + RANKS, before[rank]), what)
        kept = {each for each in after if after[each] == before[each]}
        if kept != set(range(RANKS)) - {rank}:
            raise Wrong(f"rank {rank} was killed, and {sorted(kept)} kept their processes")
        return (end - self.killed_at) / 1e6, after


def steps_of(kills):
    return (kills + 3) * STEPS_BETWEEN


def run_training(arguments, steps, options, act=None):
    """Result: the parameters, what `act` returned, and the log."""
    with tempfile.TemporaryDirectory(prefix="elastic_gpu_") as folder:
        training = Replaced(arguments, steps, folder, WORKER, options)
        try:
            result = act(training) if act else None
            return training.end(), result, training.text()
        except Wrong as problem:
            raise Wrong(f"{training.text()[-6000:]}\n{problem}") from None
        finally:
            training.process.kill()
            training.process.wait()


def has_standbys(training):
    """Whether each local rank has a standby that has run the script up to survive.prepare()."""
    text = training.text()
    made = dict(re.findall(r"local rank (\d+) has a standby: process (\d+), which has run", text))
    used = set(re.findall(r"starts warm: process (\d+)", text))
    lost = set(re.findall(r"the standby of .*, process (\d+), is lost", text))
    return len(made) == RANKS and used.isdisjoint(made.values()) and lost.isdisjoint(made.values())


def kill_many(training, arguments):
    spans, choose = [], random.Random(arguments.seed)
    training.let_do(STEPS_BETWEEN)
    before = training.wait_for(lambda: training.all_since(0, 0), "the first step")
    for number in range(arguments.kills):
        training.wait_for(lambda: has_standbys(training), "a standby for each rank")
        span, before = training.kill_one(choose, number, before)
        spans.append(span)
        print(f"   kill {number + 1}: {span:.0f} ms", flush=True)
    return spans


def show(name, spans):
    ordered = sorted(spans)
    print(f"| {name} | {statistics.median(ordered):.0f} | {ordered[len(ordered) // 4]:.0f} - "
          f"{ordered[3 * len(ordered) // 4]:.0f} | {ordered[-1]:.0f} |", flush=True)


def check_kills(arguments):
    options = ["--prepare"] + ["--compile"] * arguments.compile
    steps = steps_of(arguments.kills)
    expected, _, _ = run_training(arguments, steps, options)
    result, spans, log = run_training(arguments, steps, options,
                                      lambda training: kill_many(training, arguments))
    show(f"{len(spans)} kills, ms from SIGKILL to the next step of all, median, quartiles, worst",
         spans)
    if result != expected:
        raise Wrong(f"{result} after {len(spans)} kills, and {expected} without any")
    used = re.findall(r"epoch \d+ rank \d .* used (\d+) MB", log)
    print(f"memory of the GPU in use as each rank begins an epoch: {', '.join(used)} MB")
    graphs = re.findall(r"finished rank .* graphs (\d+)", log)
    if len(set(graphs)) != 1:
        raise Wrong(f"ranks have compiled {graphs} graphs")


def check_cases(arguments):
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        expected = {more: pool.submit(run_training, arguments, CASE_STEPS, options_of(more))
                    for more in {groups_of(words) for _, words, _ in CASES}}
        results = pool.map(lambda each: check_case(arguments, *each, expected), CASES)
    if not all(results):
        raise Wrong("wrong cases")


def groups_of(words):
    return tuple(word for word in words if word.startswith("--"))


def check_case(arguments, name, words, kept, expected):
    began = time.monotonic()
    try:
        result, _, log = run_training(arguments, CASE_STEPS, options_of(words))
        check_processes(kept, log)
        undisturbed = expected[groups_of(words)].result()[0]
        if result != undisturbed:
            raise Wrong(f"{result}, and {undisturbed} without a failure")
        print(f"{name}: as it should be, {time.monotonic() - began:.0f} s", flush=True)
        return True
    except Wrong as problem:
        print(f"{name}: {problem}", flush=True)
        return False


def check_processes(kept, log):
    """The processes of the first epoch that are there at the end."""
    first = set(re.findall(r"begins epoch 0 rank \d of 4 pid (\d+)", log))
    last = set(re.findall(r"finished rank \d of 4 pid (\d+)", log))
    if len(first) != RANKS or len(last) != RANKS or len(first & last) != kept:
        raise Wrong(f"{log[-6000:]}\nkept {len(first & last)} processes of {len(first)}")


# ---- hangs --------------------------------------------------------------------------------------

# The fault of rank 1, and what the sentence must say.
HANGS = [("sleep", r"^rank 1 .*has not entered all_reduce.*read_shard"),
         ("operation", r"^rank 1 .*was in broadcast .* are in all_reduce"),
         ("size", r"^rank 1 .*was in all_reduce .*1048576"),
         ("stop", r"^rank 1 .*is stopped"),
         ("gloo", r"^rank 1 .*has not entered all_reduce.*read_shard"),
         ("both", r"^rank 1 .*has not entered all_reduce.*read_shard")]


def stalled_job(arguments, fault, folder):
    environment = dict(os.environ, TMPDIR=folder, GLOO_SOCKET_IFNAME="lo")
    words = [arguments.elasticrun, "--standalone", "--nproc-per-node", RANKS, "--diagnose",
             "--stall-after", STALL_AFTER, "--max-restarts", 0, "--no-python", "--status",
             f"unix:{folder}/status", "--log-dir", f"{folder}/logs", arguments.python, STALLED,
             fault]
    with open(f"{folder}/log", "w", encoding="utf-8") as log:
        return subprocess.Popen([str(word) for word in words], env=environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)


def verdict(job, log, patience=60):
    """The sentence, and after how long it came."""
    began = time.monotonic()
    while time.monotonic() < began + patience and job.poll() is None:
        found = re.search(r"the job has stalled: (.*)\n", log.read_text(errors="replace"))
        if found:
            return found[1], time.monotonic() - began
        time.sleep(0.05)
    raise Wrong(f"{log.read_text(errors='replace')[-4000:]}\nno verdict")


def check_hang(arguments, fault, pattern):
    with tempfile.TemporaryDirectory(prefix="elastic_gpu_") as folder:
        job = stalled_job(arguments, fault, folder)
        try:
            sentence, seconds = verdict(job, pathlib.Path(folder, "log"))
            is_right = re.search(pattern, sentence) is not None
            print(f"{fault}: {'right' if is_right else 'WRONG'} after {seconds:.1f} s: {sentence}",
                  flush=True)
            return is_right
        except Wrong as problem:
            print(f"{fault}: {problem}", flush=True)
            return False
        finally:
            keep_evidence(arguments, fault, folder)
            job.kill()
            job.wait()


def check_hangs(arguments):
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        results = pool.map(lambda each: check_hang(arguments, *each), HANGS)
    if not all(results):
        raise Wrong("wrong verdicts")


def keep_evidence(arguments, fault, folder):
    """What the ranks' recorders and stacks say, for --evidence."""
    if not arguments.evidence:
        return
    record = {"fault": fault, "time_ns": time.time_ns(), "ranks": {}}
    for path in pathlib.Path(folder).glob("elastic-sockets-*/*"):
        record["ranks"][path.name] = {handler: ask(str(path), handler) for handler in
                                      ("dump_nccl_trace_json", "fr_trace_json")}
    stacks = subprocess.run([arguments.elasticrun, "stacks", f"unix:{folder}/status"],
                            capture_output=True, text=True)
    record["stacks"] = stacks.stdout + stacks.stderr
    pathlib.Path(arguments.evidence, f"hang_{fault}.json").write_text(json.dumps(record, indent=1))


class UnixConnection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(3)
        self.sock.connect(self.host)


def ask(path, handler):
    connection = UnixConnection(path)
    try:
        connection.request("POST", f"/handler/{handler}", body=b"", headers={"Host": "localhost"})
        answer = connection.getresponse()
        return answer.read().decode() if answer.status == 200 else f"status {answer.status}"
    except OSError as error:
        return repr(error)
    finally:
        connection.close()


def main():
    # What this started must not go on if its time is over.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("elasticrun")
    parser.add_argument("python")
    parser.add_argument("--parts", default="kills,cases,hangs")
    parser.add_argument("--kills", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compile", action="store_true", help="kills: compile the model")
    parser.add_argument("--evidence", help="a folder for what the ranks of stalled jobs show")
    arguments = parser.parse_args()
    checks = {"kills": check_kills, "cases": check_cases, "hangs": check_hangs}
    failed = False
    for part in arguments.parts.split(","):
        began = time.monotonic()
        try:
            checks[part](arguments)
            print(f"{part}: all as it should be, {time.monotonic() - began:.0f} s", flush=True)
        except Wrong as problem:
            print(f"{part}: {problem}", flush=True)
            failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
