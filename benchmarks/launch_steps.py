#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Where does the time of a launch go? The steps of elasticrun for 8 x /bin/true, as root.

The kernel's trace points of system calls (perf) show when the agent reached each step. Medians of
the runs; perf itself makes each call dearer by about a microsecond.
"""

import os
import re
import statistics
import subprocess
import tempfile

from contenders import contenders, describe_machine, parse_arguments, start, wait

EVENT = re.compile(r"\s*\S+\s+(\d+)\s+([\d.]+):\s+raw_syscalls:sys_(enter|exit): NR (\d+) \(?(.*)")
NAME = re.compile(r"#define __NR_(\w+) (\d+)")
NUMBERS = "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"

SIGPIPE = "d"
MAKES_DIRECTORY = {"mkdir", "mkdirat"}
REMOVES = {"unlinkat", "rmdir", "unlink"}
STARTS = {"clone", "clone3"}

STEPS = ["the loader, until main", "the command line and the machine", "log directory and journal",
         "the store's server and the round", "directories of the workers",
         "control channel, environments", "from the first start to the last",
         "until the last end is heard", "the agent ends", "the log directory is removed",
         "the process ends"]


def call_names():
    with open(NUMBERS, encoding="utf-8") as header:
        return {number: name for name, number in NAME.findall(header.read())}


def read_calls(text, names):
    """(name, arguments, begin, end) of each call of the first process, in seconds."""
    calls, entered, agent = [], None, None
    for line in text.splitlines():
        event = EVENT.match(line)
        if not event:
            continue
        process, when, kind, number, arguments = event.groups()
        agent = agent or process
        if process != agent:
            continue
        if kind == "enter":
            entered = (names.get(number, number), arguments, float(when))
        elif entered:
            calls.append((*entered, float(when)))
            entered = None
    if entered:  # the call that ends it
        calls.append((*entered, entered[2]))
    return calls


def milestones(calls):
    """When each step began, and the end of the last, in seconds."""
    def first(wanted, after=0.0):
        return next(call[2] for call in calls if call[0] in wanted and call[2] >= after)

    def last(wanted):
        return max(call[3] for call in calls if call[0] in wanted)

    main = next(call[2] for call in calls if call[0] == "rt_sigaction" and
                call[1].split(",")[0] == SIGPIPE)
    makes = first(MAKES_DIRECTORY)
    serves = first({"io_uring_setup", "socket"}, makes)
    workers = first(MAKES_DIRECTORY, serves)
    removes = first(REMOVES, last(STARTS))
    return [calls[0][2], main, makes, serves, workers, last(MAKES_DIRECTORY), first(STARTS),
            last(STARTS), last({"waitid"}), removes, last(REMOVES), calls[-1][3]]


def steps_of(command, names, folder):
    data = os.path.join(folder, "perf.data")
    traced = ["perf", "record", "-q", "--no-inherit", "-o", data, "-e",
              "raw_syscalls:sys_enter,raw_syscalls:sys_exit", *command]
    if wait(start(traced)) != 0:
        raise SystemExit("perf cannot trace, or the job failed")
    text = subprocess.run(["perf", "script", "-i", data, "-F", "comm,tid,time,event,trace"],
                          check=True, capture_output=True, text=True).stdout
    times = milestones(read_calls(text, names))
    return [(end - begin) * 1e3 for begin, end in zip(times, times[1:])]


def main():
    arguments = parse_arguments(__doc__.splitlines()[0], runs=30)
    describe_machine(arguments)
    command = contenders(arguments, 8, ["/bin/true"])["elasticrun"]
    names = call_names()
    with tempfile.TemporaryDirectory() as folder:
        runs = [steps_of(command, names, folder) for _ in range(arguments.runs + 2)][2:]
    print("8 x /bin/true | ms, median | quartiles\n| --- | ---: | --- |")
    for step, values in zip(STEPS, zip(*runs)):
        low, _, high = statistics.quantiles(values, n=4)
        print(f"| {step} | {statistics.median(values):.2f} | {low:.2f} - {high:.2f} |")
    print(f"| all | {statistics.median(map(sum, runs)):.2f} | |")


if __name__ == "__main__":
    main()
