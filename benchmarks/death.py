#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Where does the time go between the death of a worker and the others being told?

The profile behind restart.py: `perf record` notes in the kernel when the killed process begins to
end, when its parent is told of it and runs, and when the parent sends its signals; the workers
stamp when their handlers run. Medians; needs perf, and root for the kernel's trace points.
"""

import os
import random
import re
import signal
import statistics
import subprocess
import tempfile
import time

from contenders import Stamps, contenders, describe_machine, end, parse_arguments, start

WORKERS = 8
LINE = re.compile(r"\s(\d+)/\d+\s+(\d+\.\d+):\s+\w+:(\w+): (.*)")
STEPS = (("SIGKILL to its effect: the process is scheduled", "killed", "ending"),
         ("the kernel ends the process, until it tells its parent", "ending", "told"),
         ("until the parent runs", "told", "runs"),
         ("the parent, until its first SIGTERM", "runs", "first"),
         ("the parent, from its first to its last SIGTERM", "first", "last"),
         ("from the median SIGTERM to the median handler: all are scheduled", "middle", "handled"),
         ("in all, to the median SIGTERM sent", "killed", "middle"),
         ("in all, to the median handler", "killed", "handled"))


def record(launcher, output):
    """Notes what happens to the launcher and its workers, until it gets SIGINT."""
    wanted = (("signal:signal_generate", "sig == 9 || sig == 15 || sig == 17"),
              ("sched:sched_process_exit", 'comm == "puppet"'),
              ("sched:sched_switch", f"next_pid == {launcher}"))
    events = [word for event, which in wanted for word in ("-e", event, "--filter", which)]
    command = ["perf", "record", "-q", "-a", "-k", "CLOCK_MONOTONIC", "-o", output, *events]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


def read(recording):
    """(who, ns, event, text) of everything that was recorded, in the order of time."""
    command = ["perf", "script", "--ns", "-i", recording, "-F", "pid,tid,time,event,trace"]
    script = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = (LINE.search(" " + line) for line in script.splitlines())
    return sorted(((int(one[1]), int(one[2].replace(".", "")), one[3], one[4])
                   for one in found if one), key=lambda event: event[1])


def moments(events, launcher, victim, killed, handled):
    """When each step of one death was reached, ns."""
    later = [event for event in events if event[1] >= killed]

    def first(who, kind, *words, since=killed):
        return next(ns for pid, ns, event, text in later if event == kind and ns >= since
                    and who in (None, pid) and all(word in text.split() for word in words))

    ending = first(victim, "sched_process_exit")
    told = first(victim, "signal_generate", "sig=17")
    sent = [ns for pid, ns, event, text in later
            if pid == launcher and event == "signal_generate" and "sig=15" in text.split()]
    sent = sent[:WORKERS - 1]
    # It may run already: the end of the dead worker's pipe comes a moment earlier.
    runs = min(first(None, "sched_switch", f"next_pid={launcher}", since=ending), sent[0])
    return {"killed": killed, "ending": ending, "told": told, "runs": max(runs, told),
            "first": sent[0], "middle": statistics.median(sent), "last": sent[-1],
            "handled": statistics.median(handled)}


def deaths(command, stamps, runs):
    pid = start(command)
    alive = stamps.take("start", WORKERS)
    with tempfile.NamedTemporaryFile() as recording:
        perf = record(pid, recording.name)
        time.sleep(1)
        marks = []
        for _ in range(runs):
            time.sleep(random.uniform(0.2, 0.4))
            victim = random.choice(alive)[0]
            killed = time.monotonic_ns()
            os.kill(victim, signal.SIGKILL)
            handled = [ns for _, ns in stamps.take("term", WORKERS - 1)]
            alive = stamps.take("start", WORKERS)
            marks.append((victim, killed, handled))
        perf.send_signal(signal.SIGINT)
        perf.wait()
        events = read(recording.name)
    end(pid)
    for worker, _ in alive:  # the bare loop forwards nothing
        try:
            os.kill(worker, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return [moments(events, pid, *mark) for mark in marks]


def main():
    arguments = parse_arguments(__doc__.splitlines()[0], runs=30)
    describe_machine(arguments)
    stamps = Stamps()
    program = [arguments.build / "tests" / "puppet", "stamp", stamps.path, "hang"]
    # Guards, which are told of an end before the agent is, are left out.
    arguments.only = "spawn_loop,unguarded"
    commands = contenders(arguments, WORKERS, program, restarts=arguments.runs + 1)
    results = {name: [] for name in commands}
    turns = 3
    for _ in range(turns):
        for name, command in commands.items():
            results[name] += deaths(command, stamps, -(-arguments.runs // turns))
    print("us | " + " | ".join(results))
    for text, since, until in STEPS:
        cells = (f"{statistics.median(one[until] - one[since] for one in all_of_it) / 1e3:.0f}"
                 for all_of_it in results.values())
        print(f"| {text} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
