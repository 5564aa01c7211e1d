#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Runs a simulation with many seeds, in parts.

  seeds.py [--first SEED] [--count N] PROGRAM FILTER

PROGRAM has the simulations (unit_tests), FILTER names one of them, as Catch2 has it. Each seed that
goes wrong is told, with how to run it again, and makes the exit status 1; the others still run. The
last line says how many there were, how many a second, and where the next part begins.
"""

import argparse
import os
import re
import subprocess
import sys
import time

BLOCK = 500


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", default=1, type=int, help="seed to begin with (1)")
    parser.add_argument("--count", default=100_000, type=int, help="of seeds (100000)")
    parser.add_argument("program")
    parser.add_argument("filter")
    return parser.parse_args()


def run(program, which, first, count):
    """The first seed that went wrong and what was complained about; None: all are right."""
    environment = dict(os.environ, ELASTIC_SIMULATION_FIRST=str(first),
                       ELASTIC_SIMULATION_SEEDS=str(count))
    done = subprocess.run([program, which], env=environment, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode == 0:
        return None
    complaint = re.search(r"^\s*seed (\d+): (.*)", done.stdout, re.MULTILINE)
    if not complaint:
        raise RuntimeError(f"{program} ended with {done.returncode}\n{done.stdout[-4000:]}")
    return int(complaint[1]), complaint[2]


def main():
    arguments = parse_arguments()
    begun = time.monotonic()
    next_seed, end = arguments.first, arguments.first + arguments.count
    wrong = 0
    try:
        while next_seed < end:
            block = min(BLOCK, end - next_seed)
            problem = run(arguments.program, arguments.filter, next_seed, block)
            next_seed += block
            if problem:
                next_seed = problem[0] + 1
                wrong += 1
                print(f"seed {problem[0]}: {problem[1]}\n  ELASTIC_SIMULATION_FIRST={problem[0]} "
                      f"{arguments.program} '{arguments.filter}'", flush=True)
    except KeyboardInterrupt:
        pass
    count, seconds = next_seed - arguments.first, time.monotonic() - begun
    print(f"'{arguments.filter}': {count} seeds from {arguments.first} on, {count / seconds:.1f} "
          f"a second, {wrong} wrong; the next part: --first {next_seed}", flush=True)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
