# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A program of JAX, which is told nothing of its processes: they gather their numbers.

It says when it began, when it had imported JAX, and when it had met the others: in seconds of the
monotonic clock, for benchmarks/wire.py. It waits for the end then if ELASTIC_TEST_WAITS names the
number of processes.
"""

import os
import sys
import time

began = time.monotonic()

import jax  # noqa: E402

imported = time.monotonic()
jax.distributed.initialize()
met = time.monotonic()

from jax.experimental import multihost_utils  # noqa: E402
import numpy  # noqa: E402

gathered = multihost_utils.process_allgather(numpy.array([jax.process_index()]))
numbers = sorted(int(number) for number in gathered.reshape(-1))
attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
# One write: print() would write the line end by itself, and another process may write before it.
sys.stdout.write(
    f"process {jax.process_index()} of {jax.process_count()} gathered {numbers} attempt {attempt}"
    f" pid {os.getpid()} moments {began} {imported} {met} end\n"
)
sys.stdout.flush()
if os.environ.get("ELASTIC_TEST_WAITS") == str(jax.process_count()):
    time.sleep(600)
