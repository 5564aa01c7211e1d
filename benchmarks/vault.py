#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What a commit into the vault costs, and a restore from it, beside a copy of the same memory.

One worker commits a buffer, and copies it into memory that is touched already, in turns; kills
itself; and restores it in the next attempt, in turns with such a copy. Each figure is the CPU time
of the worker. With --tensors, the state is that many small tensors of PyTorch instead, and the
copy is that of each into another tensor.
"""

import argparse
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elasticrun", default=ROOT / "build/release/elasticrun",
                        type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--mebibytes", default=1024, type=int)
    parser.add_argument("--tensors", default=0, type=int)
    parser.add_argument("--pairs", default=10, type=int)
    parser.add_argument("--no-checksum", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def cpu_milliseconds(call):
    before = time.process_time()
    call()
    return 1000 * (time.process_time() - before)


class Buffer:
    """A state of one buffer, and a place for its copy."""

    def __init__(self, arguments):
        import numpy  # noqa: F401  # as scripts with large buffers have: it makes the checksums
        self.checksum = not arguments.no_checksum
        pattern = bytes(range(256)) * 4096
        self.bytes = bytearray(pattern * arguments.mebibytes)
        self.place = bytearray(len(self.bytes))

    def copy(self):
        memoryview(self.place)[:] = self.bytes

    def commit(self):
        from elasticrun import vault
        assert vault.commit({"state": self.bytes}, 1, self.checksum)

    def restore(self):
        from elasticrun import vault
        vault.read("state", out=self.bytes)


class Tensors:
    """A state of many small tensors."""

    def __init__(self, arguments):
        import torch
        torch.set_num_threads(1)
        self.checksum = not arguments.no_checksum
        self.state = {str(number): torch.rand(16) for number in range(arguments.tensors)}
        self.place = {name: torch.zeros(16) for name in self.state}

    def copy(self):
        for name, tensor in self.state.items():
            self.place[name].copy_(tensor)

    def commit(self):
        from elasticrun import vault
        assert vault.save(self.state, 1, self.checksum)

    def restore(self):
        from elasticrun import vault
        assert vault.load(self.state) == 1


def print_pairs(name, call, copy, pairs):
    results = [(cpu_milliseconds(call), cpu_milliseconds(copy)) for _ in range(pairs)]
    own = statistics.median(each for each, _ in results)
    base = statistics.median(each for _, each in results)
    ratio = statistics.median(each / other for each, other in results)
    print(f"{name:<20} {own:8.1f} ms, copy {base:8.1f} ms, ratio {ratio:.2f}", flush=True)


def work(arguments):
    state = Tensors(arguments) if arguments.tensors else Buffer(arguments)
    state.copy()
    if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        for number in (1, 2):
            print(f"commit {number} alone     {cpu_milliseconds(state.commit):8.1f} ms", flush=True)
        print_pairs("commit", state.commit, state.copy, arguments.pairs)
        os.kill(os.getpid(), signal.SIGKILL)
    print_pairs("restore", state.restore, state.copy, arguments.pairs)


def main():
    arguments = parse_arguments()
    if arguments.worker:
        return work(arguments)
    limit = max(64, 2 * arguments.mebibytes + 16)
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.elasticrun, "--nproc-per-node", "1", "--max-restarts", "1",
                   "--log-dir", folder, "--vault-limit", f"{limit}M", __file__, "--worker",
                   "--mebibytes", str(arguments.mebibytes), "--tensors", str(arguments.tensors),
                   "--pairs", str(arguments.pairs)]
        if arguments.no_checksum:
            command.append("--no-checksum")
        environment = dict(os.environ, PYTHON_EXEC=arguments.python,
                           PYTHONPATH=str(ROOT / "python"))
        sys.exit(subprocess.run(list(map(str, command)), env=environment).returncode)


if __name__ == "__main__":
    main()
