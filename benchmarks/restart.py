#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How long from the death of a worker to the others being told, and to all running again?

8 workers stamp the clock as their first statement and in their SIGTERM handler. One of them is
killed; measured from just before the kill: the handlers of the other 7 (the first, the median and
the last of them), and the first statement of the last of the 8 new ones. On few cores the later
handlers wait for the earlier ones to run and exit. The launchers take turns; `death.py` tells where
the time goes.
"""

import os
import random
import signal
import statistics
import time

from contenders import Stamps, contenders, describe_machine, end, parse_arguments, row, start

WORKERS = 8


def restarts(command, stamps, runs):
    """For each run: ms to the first, median and last SIGTERM, and to the last new worker."""
    pid = start(command)
    alive = stamps.take("start", WORKERS)
    results = []
    for run in range(runs):
        # Long enough for all to have settled, and at no fixed phase of anybody's polling.
        time.sleep(random.uniform(0.2, 0.4))
        victim = random.choice(alive)[0]
        began = time.monotonic_ns()
        os.kill(victim, signal.SIGKILL)
        told = [(ns - began) / 1e6 for _, ns in stamps.take("term", WORKERS - 1)]
        alive = stamps.take("start", WORKERS)
        again = (max(ns for _, ns in alive) - began) / 1e6
        results.append((min(told), statistics.median(told), max(told), again))
    end(pid)
    for worker, _ in alive:  # the bare loop forwards nothing
        try:
            os.kill(worker, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return results


def main():
    arguments = parse_arguments(__doc__.splitlines()[0], runs=30)
    describe_machine(arguments)
    stamps = Stamps()
    program = [arguments.build / "tests" / "puppet", "stamp", stamps.path, "hang"]
    commands = contenders(arguments, WORKERS, program, restarts=arguments.runs + 1)
    commands.pop("mpirun", None)  # it ends the job instead
    results = {name: [] for name in commands}
    turns = 6
    for _ in range(turns):
        for name, command in commands.items():
            results[name] += restarts(command, stamps, -(-arguments.runs // turns))
    for which, text in enumerate(("SIGTERM in the first of the other 7",
                                  "SIGTERM in the median of the other 7",
                                  "SIGTERM in the last of the other 7",
                                  "all 8 running again")):
        print(f"death to {text}, ms | median | quartiles | of the bare loop")
        base = [values[which] for values in results.get("spawn_loop", [])]
        for name, values in results.items():
            print(row(name, [one[which] for one in values], base))
        print()


if __name__ == "__main__":
    main()
