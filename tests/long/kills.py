# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What the tests share that kill workers, one after the other, in several jobs."""

import argparse
import random


def parse_arguments(description, add=lambda parser: None, kills=1000, each=50):
    """ELASTICRUN, PYTHON, what `add` adds, --kills, --each and --seed; `choose` draws by it."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("elasticrun")
    parser.add_argument("python")
    add(parser)
    parser.add_argument("--kills", type=int, default=kills)
    parser.add_argument("--each", type=int, default=each, help="kills in each job")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.choose = random.Random(arguments.seed)
    return arguments


def jobs(arguments):
    """The number of kills in each job."""
    for done in range(0, arguments.kills, arguments.each):
        yield min(arguments.each, arguments.kills - done)
