#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Kills ranks of trainings by frameworks, as survive_kills.py does.

  framework_kills.py ELASTICRUN PYTHON [FRAMEWORK...] [--kills 100] [--each 20] [--seed 1]

Jobs of 2 ranks with each framework: accelerate, transformers and lightning, or those that are
named.
"""

import argparse
import pathlib
import random

import survive_kills

WORKER = pathlib.Path(__file__).with_name("framework_worker.py")
FRAMEWORKS = ["accelerate", "transformers", "lightning"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("elasticrun")
    parser.add_argument("python")
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    survive_kills.RANKS = 2
    for framework in arguments.frameworks or FRAMEWORKS:
        print(framework, flush=True)
        survive_kills.compare(arguments, random.Random(arguments.seed), worker=WORKER,
                              options=("--framework", framework))


if __name__ == "__main__":
    main()
