#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What standbys bring a PyTorch job, and what they cost.

Its --parts, all unless said, for each PyTorch that is found:

  restart  from the death of a rank to the first step that all have done again. 4 ranks train with
           DDP over gloo. One is killed when all have done a step and, with standbys, when all of
           these wait. torchrun, elasticrun and elasticrun with standbys take turns. The first
           restart of each job is not counted: its standbys may have been made before the workers
           had imported all.
  first    from the start to the first step of all, without and with the option, in turns
  load     steps per second of 1 and of 4 ranks while standbys are made, against before and after,
           and the processor time of a standby against that of the imports alone
  idle     how often standbys that wait and their guards wake up, and their memory
  off      whole commands without the option, in turns with those of --before, an older elasticrun

Each wait has an end. What fails or takes longer is said, counted as hung, and begun anew; who
fails three times in a row is left out for this turn.
"""

import contextlib
import datetime
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

from contenders import ROOT, describe_machine, find_torches, parse_arguments, row

WORKERS = 4
RESTARTS = 7
START_SECONDS = 120
RESTART_SECONDS = 60
STANDBY_SECONDS = 600
PARTS = "restart,first,load,idle,off"
IMPORTS = "import torch, torch.distributed; from torch.nn.parallel import DistributedDataParallel"
STAGES = {"statement": "first statement", "imported": "imports", "group": "process group",
          "model": "DDP", "step": "first step"}


class Failed(Exception):
    """Something did not come in time, or the launcher ended."""


class Job:
    """A launcher with its log, in which it says how many standbys wait, and its workers' stamps."""

    def __init__(self, command, python, script, workers=WORKERS):
        self.workers = workers
        self.directory = tempfile.TemporaryDirectory(prefix="elastic_benchmark_")
        self.stamps = pathlib.Path(self.directory.name, "stamps")
        self.stamps.touch()
        self.steps = pathlib.Path(self.directory.name, "steps")
        self.log = pathlib.Path(self.directory.name, "log")
        environment = dict(os.environ, OMP_NUM_THREADS="1", LOGLEVEL="INFO", PYTHON_EXEC=python,
                           GLOO_SOCKET_IFNAME="lo")
        words = [*command, "--nproc_per_node", str(workers), script, self.stamps, self.steps]
        self.began = time.monotonic_ns()
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL,
                                            stdout=subprocess.DEVNULL, stderr=log)
        self.attempts = 0
        self.log_begin = 0

    def wait_for(self, what, condition, seconds):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                raise Failed(f"waited {seconds} s in vain until {what}")
            if self.process.poll() is not None:
                last = (self.log.read_text().splitlines() or [""])[-1]
                raise Failed(f"the launcher ended with {self.process.returncode} before {what}: "
                             f"{last}")
            time.sleep(0.003)

    def next_attempt(self):
        """When each worker of the next attempt came to each stage: stage -> pid -> ns."""
        size = self.workers * len(STAGES)
        begin = self.attempts * size
        lines = []

        def is_complete():
            lines[:] = self.stamps.read_text().splitlines()[begin:]
            return len(lines) >= size

        self.wait_for(f"{self.workers} workers had done a step", is_complete,
                      RESTART_SECONDS if self.attempts else START_SECONDS)
        self.attempts += 1
        reached = {stage: {} for stage in STAGES}
        for line in lines:
            stage, pid, ns = line.split()
            reached[stage][int(pid)] = int(ns)
        return reached

    def new_log(self):
        return self.log.read_text()[self.log_begin:]

    def note_log(self):
        """What is in the log by now is of an earlier attempt."""
        self.log_begin = len(self.log.read_text())

    def await_standbys(self):
        """Until each worker of this attempt has one: their pids."""
        def standbys():
            return [int(pid) for pid in re.findall(r"has a standby: process (\d+)", self.new_log())]

        self.wait_for(f"{self.workers} standbys were ready",
                      lambda: len(standbys()) >= self.workers, STANDBY_SECONDS)
        return standbys()[-self.workers:]

    def went(self):
        """When each standby was told to go, by the log: pid -> ns."""
        pattern = r"INFO +(\S+ \S+) .*starts warm: process (\d+)"
        offset = time.time_ns() - time.monotonic_ns()
        return {int(pid): int(datetime.datetime.fromisoformat(at).timestamp() * 1e9) - offset
                for at, pid in re.findall(pattern, self.new_log())}

    def end(self):
        self.process.terminate()
        try:
            self.process.wait(RESTART_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def running(*arguments):
    job = Job(*arguments)
    try:
        yield job
    finally:
        job.end()


def kill_one(job, reached):
    """Result: when, in ns."""
    job.note_log()
    victim = random.choice(list(reached["step"]))
    began = time.monotonic_ns()
    os.kill(victim, signal.SIGKILL)
    return began


def restart(job, reached, is_warm):
    """Kills a worker. Result: ms until the last rank has come to each stage, and from GO to the
    script; and when each came there."""
    if is_warm:
        job.await_standbys()
    time.sleep(random.uniform(0.3, 0.5))
    began = kill_one(job, reached)
    reached = job.next_attempt()
    result = {stage: (max(stamps.values()) - began) / 1e6 for stage, stamps in reached.items()}
    went = job.went()
    result["go"] = [(ns - went[pid]) / 1e6 for pid, ns in reached["statement"].items()
                    if pid in went]
    return result, reached


def say(*words):
    print("  ", *words, file=sys.stderr, flush=True)


def restarts(name, count, command, python, script):
    """The results of so many kills; one more, the first, is left out."""
    results, failures = [], 0
    while len(results) < count and failures < 3:
        try:
            with running(command, python, script) as job:
                reached = job.next_attempt()
                _, reached = restart(job, reached, name == "warm")
                while len(results) < count:
                    result, reached = restart(job, reached, name == "warm")
                    results.append(result)
                    failures = 0
                    say(f"{name}: first step after {result['step']:.0f} ms")
        except Failed as failure:
            say(f"{name}: {failure}")
            results.append({stage: None for stage in STAGES})
            failures += 1
    return results


def measure_restarts(arguments, python, release, script, commands):
    if arguments.only:
        commands = {name: commands[name] for name in arguments.only.split(",")}
    results = {name: [] for name in commands}
    for done in range(0, arguments.runs, RESTARTS):
        for name, command in commands.items():
            count = min(RESTARTS, arguments.runs - done)
            results[name] += restarts(name, count, command, python, script)
    report(release, results)


def measure_first_attempts(arguments, python, release, script, commands):
    spans = {"without": [], "with": []}
    words = {"without": commands["cold"], "with": [*commands["cold"], "--warm-standby"]}
    for _ in range(arguments.runs):
        for name in sorted(spans, key=lambda _: random.random()):
            try:
                with running(words[name], python, script) as job:
                    steps = job.next_attempt()["step"]
                    spans[name].append((max(steps.values()) - job.began) / 1e6)
            except Failed as failure:
                say(f"first attempt {name}: {failure}")
                spans[name].append(None)
    print_pairs(f"PyTorch {release}: start to the first step of all, ms", spans)


def print_pairs(title, spans):
    """Two names and their values, which were taken in turns."""
    base, other = spans.values()
    print(f"{title} | median | quartiles | of the first")
    for name, values in spans.items():
        print(row(name, values, [value for value in base if value]))
    ratios = [two / one for one, two in zip(base, other) if one and two]
    if ratios:
        print(f"median of {len(ratios)} ratios: {statistics.median(ratios):.3f}\n")


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def started_ns(pid):
    """By the clock of the workers: the machine was never suspended."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[19]) * 10**9 // os.sysconf("SC_CLK_TCK")


def import_seconds(python, modules):
    """Processor time of the imports, without that of an interpreter."""
    def seconds(code):
        before = os.times()
        subprocess.run([python, "-c", code], check=True)
        after = os.times()
        return sum(after[2:4]) - sum(before[2:4])

    code = "\n".join([IMPORTS, *(f"import {name}" for name in modules)])
    return statistics.median(seconds(code) for _ in range(5))


def rate(steps, begin, end):
    return sum(begin <= ns < end for ns in steps) / (end - begin) * 1e9


def measure_load(arguments, python, release, script, commands, workers):
    """Kills a worker again and again; between two kills the standbys are made."""
    ratios, spans, seconds, failures = [], [], [], 0
    words = [*commands["cold"], "--warm-standby", "--standby-delay", "4"]
    count = -(-arguments.runs // workers)
    while len(ratios) < count and failures < 3:
        try:
            with running(words, python, script, workers) as job:
                # The first are made anew once the workers have imported all.
                reached = job.next_attempt()
                job.await_standbys()
                while len(ratios) < count:
                    kill_one(job, reached)
                    reached = job.next_attempt()
                    first = max(reached["step"].values())
                    standbys = job.await_standbys()
                    end = time.monotonic_ns()
                    begin = min(started_ns(pid) for pid in standbys)
                    seconds += [processor_seconds(pid) for pid in standbys]
                    time.sleep((end - begin) / 1e9 + 0.1)
                    content = job.steps.read_bytes()
                    steps = [int.from_bytes(content[at:at + 8], "little")
                             for at in range(0, len(content), 8)]
                    before = rate(steps, max(first, 2 * begin - end), begin)
                    after = rate(steps, end, 2 * end - begin)
                    ratios.append(rate(steps, begin, end) / ((before + after) / 2))
                    spans.append((end - begin) / 1e9)
                    say(f"{workers} ranks: {ratios[-1]:.3f} of {before:.1f} and {after:.1f} "
                        f"steps/s")
        except Failed as failure:
            say(f"load: {failure}")
            failures += 1
    if not ratios:
        return
    alone = import_seconds(python, arguments.imports.split(",") if arguments.imports else [])
    print(f"PyTorch {release}: {workers} ranks, {len(ratios)} times: steps/s while standbys are "
          f"made, of those before and after: median {statistics.median(ratios):.3f}, least "
          f"{min(ratios):.3f}; for {statistics.median(spans):.1f} s; processor time of each "
          f"{statistics.median(seconds):.2f} s, of the imports alone {alone:.2f} s "
          f"({statistics.median(seconds) / alone:.2f})\n")


def of_status(pid, name):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"^{name}:\s+(\d+)", text, re.M)[1])


def wake_ups(pid):
    return of_status(pid, "voluntary_ctxt_switches")


def memory_mib(pid, *names):
    text = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(re.search(rf"^{name}:\s+(\d+)", text, re.M)[1]) for name in names) / 1024


def measure_idle(python, release, script, commands):
    with running(commands["warm"], python, script) as job:
        workers = list(job.next_attempt()["step"])
        standbys = job.await_standbys()
        time.sleep(2)
        watched = standbys + [of_status(pid, "PPid") for pid in standbys]
        before = sum(map(wake_ups, watched))
        time.sleep(10)
        woken = sum(map(wake_ups, watched)) - before
        print(f"PyTorch {release}: {len(standbys)} standbys and their guards woke up {woken} times "
              f"in 10 s")
        for name, pids in {"standby": standbys, "worker": workers}.items():
            own = statistics.median(memory_mib(pid, "Private_Clean", "Private_Dirty")
                                    for pid in pids)
            share = statistics.median(memory_mib(pid, "Pss") for pid in pids)
            print(f"a {name}: {own:.0f} MiB for itself, {share:.0f} with its share of what others "
                  f"have, {of_status(pids[0], 'Threads')} threads")
        print()


def measure_off(arguments):
    if not arguments.before:
        return say("off: --before names no older elasticrun")
    programs = {"before": arguments.before, "now": arguments.build / "elasticrun"}
    for program, restarts_of_it in (("true", "0"), ("false", "1")):
        spans = {name: [] for name in programs}
        for _ in range(5 * arguments.runs):
            for name in sorted(programs, key=lambda _: random.random()):
                began = time.monotonic_ns()
                subprocess.run([programs[name], "--standalone", "--nproc_per_node", str(WORKERS),
                                "--max_restarts", restarts_of_it, "--no-python", program],
                               stderr=subprocess.DEVNULL, check=False, timeout=RESTART_SECONDS)
                spans[name].append((time.monotonic_ns() - began) / 1e6)
        print_pairs(f"{WORKERS} x {program}, {restarts_of_it} restarts, ms", spans)


def report(release, results):
    base = results.get("warm", [])
    for stage, text in STAGES.items():
        print(f"PyTorch {release}: death to the last {text}, ms | median | quartiles | of warm")
        warm = [value[stage] for value in base if value[stage]]
        for name, values in results.items():
            print(row(name, [value[stage] for value in values], warm))
        print()
    spans = [span for value in base for span in value.get("go", [])]
    if spans:
        print(f"GO to the first statement, ms: median {statistics.median(spans):.1f}, "
              f"worst {max(spans):.1f} of {len(spans)}; not warm: "
              f"{len(base) * WORKERS - len(spans)}\n")


def script_with(modules, directory):
    """The worker, which imports these modules as well."""
    text = (ROOT / "benchmarks" / "warm_worker.py").read_text()
    more = "".join(f"import {name}\n" for name in modules)
    script = pathlib.Path(directory, "worker.py")
    script.write_text(text.replace("import torch\n", "import torch\n" + more, 1))
    return script


def main():
    arguments = parse_arguments(__doc__.splitlines()[0], runs=20, imports="", parts=PARTS,
                                before="")
    parts = arguments.parts.split(",")
    describe_machine(arguments)
    with tempfile.TemporaryDirectory(prefix="elastic_benchmark_") as directory:
        script = script_with([name for name in arguments.imports.split(",") if name], directory)
        if "off" in parts:
            measure_off(arguments)
        for release, python in find_torches(arguments.python).items():
            common = ["--standalone", "--max_restarts", "1000"]
            elasticrun = [str(arguments.build / "elasticrun"), *common]
            commands = {
                "torchrun": [python, str(ROOT / "benchmarks" / "torchrun_113.py"), *common,
                             "--monitor_interval", "0.1"],
                "cold": elasticrun,
                "warm": [*elasticrun, "--warm-standby", "--standby-delay", "0"],
            }
            of_it = (python, release, script, commands)
            try:
                if "restart" in parts:
                    measure_restarts(arguments, *of_it)
                if "first" in parts:
                    measure_first_attempts(arguments, *of_it)
                if "load" in parts:
                    measure_load(arguments, *of_it, 1)
                    measure_load(arguments, *of_it, WORKERS)
                if "idle" in parts:
                    measure_idle(*of_it)
            except Failed as failure:
                say(failure)
            print(f"load at the end: {os.getloadavg()[0]:.2f}\n", flush=True)


if __name__ == "__main__":
    main()
