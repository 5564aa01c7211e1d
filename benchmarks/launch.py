#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How long does it take to start N processes that do nothing, and to end?

Runs N x /bin/true (N = 1, 8, 64) under each launcher and measures the whole command; then the time
from the start of the launcher to the first instruction of its first and of its last worker, a
program that stamps the clock as its first statement. All launchers take turns.
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


def to_first_instruction(command, stamps, workers):
    began = time.monotonic_ns()
    pid = start(command)
    starts = [nanoseconds for _, nanoseconds in stamps.take("start", workers)]
    wait(pid)
    return (min(starts) - began) / 1e6, (max(starts) - began) / 1e6


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
    arguments = parse_arguments(__doc__.splitlines()[0], runs=30)
    describe_machine(arguments)
    for workers in (1, 8, 64):
        commands = contenders(arguments, workers, ["/bin/true"])
        results = in_turns(commands, arguments.runs, whole_command)
        print(f"{workers} x /bin/true, ms | median | quartiles | of the bare loop")
        for name, values in results.items():
            print(row(name, values, results.get("spawn_loop")))
        print()
    for workers in (1, 8):
        stamps = Stamps()
        program = [arguments.build / "tests" / "puppet", "stamp", stamps.path, "exit", "0"]
        commands = contenders(arguments, workers, program)
        results = in_turns(commands, arguments.runs,
                           lambda command: to_first_instruction(command, stamps, workers))
        for which, text in ((0, "first"), (1, "last")):
            print(f"start to the first instruction of the {text} of {workers}, ms | median | "
                  "quartiles | of the bare loop")
            base = [pair[which] for pair in results.get("spawn_loop", [])]
            for name, values in results.items():
                print(row(name, [pair[which] for pair in values], base))
            print()


if __name__ == "__main__":
    main()
