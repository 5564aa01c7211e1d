#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How long does it take to spawn N processes that do nothing, and to end?

Runs N x /bin/true (N = 1, 8, 64) under each launcher and measures the whole command; then what of
it is the start and what the end: the time from the start of the launcher to the first instruction
of its first and of its last worker, a program that stamps the clock as its first statement and
ends, and from there to the end of the launcher. All launchers take turns: elasticrun with a guard
for each worker and without, and the bare loop as the limit.
"""

import time

from contenders import Stamps, contenders, describe_machine, parse_arguments, row, start, wait


def whole_command(command):
    began = time.monotonic_ns()
    status = wait(start(command))
    took = (time.monotonic_ns() - began) / 1e6
    if status is None:
        return None
    if status != 0:
        raise SystemExit(f"{command[0]} failed with status {status}")
    return took


def start_and_end(command, stamps, workers):
    """To the first instruction of the first worker, to that of the last, and from it to the end."""
    began = time.monotonic_ns()
    status = wait(start(command))
    ended = time.monotonic_ns()
    if status is None:
        stamps.forget()
        return None
    starts = [nanoseconds for _, nanoseconds in stamps.take("start", workers)]
    first, last = min(starts), max(starts)
    return (first - began) / 1e6, (last - began) / 1e6, (ended - last) / 1e6


def in_turns(commands, runs, measure):
    results = {name: [] for name in commands}
    for run in range(runs + 2):
        for name, command in commands.items():
            hung = None in results[name]
            if not hung:
                value = measure(command)
                if run >= 2 or value is None:  # the first two warm the caches
                    results[name].append(value)
    return results


def main():
    arguments = parse_arguments(__doc__.splitlines()[0], runs=30, workers="1,8,64",
                                parts="whole,start")
    describe_machine(arguments)
    numbers = [int(number) for number in arguments.workers.split(",")]
    if "whole" in arguments.parts.split(","):
        measure_whole(arguments, numbers)
    if "start" in arguments.parts.split(","):
        measure_start(arguments, numbers)


def measure_whole(arguments, numbers):
    for workers in numbers:
        commands = contenders(arguments, workers, ["/bin/true"])
        results = in_turns(commands, arguments.runs, whole_command)
        print(f"{workers} x /bin/true, ms | median | quartiles | of the bare loop")
        for name, values in results.items():
            print(row(name, values, results.get("spawn_loop")))
        print()


def measure_start(arguments, numbers):
    for workers in numbers:
        stamps = Stamps()
        program = [arguments.build / "tests" / "puppet", "stamp", stamps.path, "exit", "0"]
        commands = contenders(arguments, workers, program)
        results = in_turns(commands, arguments.runs,
                           lambda command: start_and_end(command, stamps, workers))
        steps = (f"start to the first instruction of the first of {workers}",
                 f"start to the first instruction of the last of {workers}",
                 f"from there to the end of the launcher of {workers}")
        for which, text in enumerate(steps):
            print(f"{text}, ms | median | quartiles | of the bare loop")

            def column(values):
                return [times[which] if times else None for times in values]

            for name, values in results.items():
                print(row(name, column(values), column(results.get("spawn_loop", []))))
            print()


if __name__ == "__main__":
    main()
