# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Acts by the weights that it is given, and has the actions rated. The same question has the same
answer, so that a trainer may ask again when a rollout has died."""

import itertools
import math
import os
import random
import sys

import peers

requests = itertools.count(1)


def act(question):
    served = next(requests)
    chance = random.Random(question["seed"])
    weights = question["weights"]  # one row for each action, one column for each context
    samples = []
    for _ in range(question["count"]):
        context = chance.randrange(len(weights[0]))
        odds = [math.exp(row[context]) for row in weights]
        samples.append((context, chance.choices(range(len(odds)), odds)[0]))
    peers.crash_at(served)
    rewards = peers.ask("reward", 0, samples)
    return {"samples": samples, "rewards": rewards, "pid": os.getpid(), "served": served}


if __name__ == "__main__":
    peers.serve(sys.argv[1], act)
