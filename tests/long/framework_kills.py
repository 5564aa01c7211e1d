#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Kills ranks of trainings by frameworks, as survive_kills.py does.

  framework_kills.py ELASTICRUN PYTHON [FRAMEWORK...] [--kills 100] [--each 20] [--seed 1]

Jobs of 2 ranks with each framework: accelerate, transformers and lightning, or those that are
named.
"""

import pathlib
import random

import kills
import survive_kills

WORKER = pathlib.Path(__file__).with_name("framework_worker.py")
FRAMEWORKS = ["accelerate", "transformers", "lightning"]


def main():
    arguments = kills.parse_arguments(
        __doc__, lambda parser: parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK"),
        kills=100, each=20)
    survive_kills.RANKS = 2
    for framework in arguments.frameworks or FRAMEWORKS:
        print(framework, flush=True)
        survive_kills.compare(arguments, random.Random(arguments.seed), worker=WORKER,
                              options=("--framework", framework))


if __name__ == "__main__":
    main()
