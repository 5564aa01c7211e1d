#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Trains over every way to meet, with each PyTorch, through the death of a worker and of a node.

  cross_product.py [--way WAY] [--rounds N] ELASTICRUN PYTHON...    each PYTHON has another torch

Each job trains examples/python/train_ddp.py, whose result does not depend on how many workers
share it, nor on what happened to them. What ends otherwise is printed with what it wrote, and makes
the exit status 1. Without etcd its rows are left out, which is said.
"""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from support.candidate_marks import remove_marks
from support.ports import reserved_port

SCRIPT = ROOT / "examples" / "python" / "train_ddp.py"
WAYS = ["standalone", "c10d", "candidates", "dialect", "static", "file", "etcd"]
# One node cannot lose another, and a static world cannot go on without one.
WITHOUT_LOSS = ["standalone", "static"]
# What an agent says of the restart that follows a death.
COUNTED = {"worker": ": restart 1 of 2", "node": "; this uses up no restart"}
PATIENCE = 240
RUN_ID = "cross"


@contextlib.contextmanager
def etcd_place(folder):
    """An etcd of its own, and where it is."""
    client, peer = (f"http://127.0.0.1:{reserved_port()}" for _ in range(2))
    server = subprocess.Popen(
        ["etcd", "--name=one", f"--data-dir={folder}/etcd", "--log-level=error", "--logger=zap",
         f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
         f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
         f"--initial-cluster=one={peer}"], stderr=subprocess.DEVNULL)
    try:
        yield client.removeprefix("http://")
    finally:
        server.kill()
        server.wait()


class Node:
    """An elasticrun that runs, with all that it has written."""

    def __init__(self, command, environment):
        self.text = ""
        self.changed = threading.Condition()
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.text += line
                self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()

    def wait_for(self, words):
        def is_over():
            return words in self.text or self.process.poll() is not None
        with self.changed:
            self.changed.wait_for(is_over, PATIENCE)
        return words in self.text

    def end(self):
        """The exit status; None: it did not end in time, and was killed."""
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None
        finally:
            self.reader.join(20)


def nodes_of(way):
    return {"standalone": 1, "candidates": 3}.get(way, 2)


def find_leading(nodes):
    """Of several candidates the one that leads, and so loses most."""
    terms = {}
    for node in nodes:
        terms.update((int(term), node) for term in re.findall(r" leads in term (\d+)", node.text))
    return terms[max(terms)]


def meeting(way, node, place, torch):
    """The options by which a node meets the others."""
    if way == "standalone":
        return ["--standalone"]
    if way == "static":
        return ["--nnodes", "2", "--node-rank", str(node), "--master-addr", "127.0.0.1",
                "--master-port", place]
    settings = "last_call_timeout=15,keep_alive_interval=1"
    if way in ("c10d", "dialect"):
        settings += f",is_host={1 - node}"
    if way == "dialect":
        settings += ",dialect=" + ("1.13" if torch.startswith("1.") else "2.6")
    backend = "c10d" if way in ("dialect", "candidates") else way
    endpoint = f"127.0.0.1:{place}" if way in ("c10d", "dialect") else place
    return ["--nnodes", f"1:{nodes_of(way)}", "--rdzv-backend", backend,
            "--rdzv-endpoint", endpoint, "--rdzv-id", RUN_ID, "--rdzv-conf", settings]


def is_one(sums):
    """Whether they differ by rounding alone."""
    return max(sums) - min(sums) < 1e-6


def train(elasticrun, python, torch, way, death, place, folder):
    """What went wrong; empty: nothing. And the checksums that came of it."""
    environment = dict(os.environ, PYTHON_EXEC=python, OMP_NUM_THREADS="1", TMPDIR=folder,
                       LOGLEVEL="INFO")
    script = [str(SCRIPT), "--checkpoint", f"{folder}/model.pt"]
    script += ["--epochs", "100"] if death == "node" else ["--epochs", "5"]
    script += ["--kill-rank", "1", "--kill-epoch", "2"] if death == "worker" else []
    nodes = []
    for node in range(nodes_of(way)):
        command = [elasticrun, *meeting(way, node, place, torch), "--max-restarts", "2",
                   "--nproc-per-node", "2" if way == "standalone" else "1", *script]
        nodes.append(Node(command, environment))
    wanted = [0] * len(nodes)
    if death == "node":
        nodes[1].wait_for("epoch 2:")
        victim = find_leading(nodes) if way == "candidates" else nodes[1]
        victim.process.kill()
        wanted[nodes.index(victim)] = -signal.SIGKILL
    codes = [node.end() for node in nodes]
    written = "".join(node.text for node in nodes)
    sums = [float(text) for text in re.findall(r"finished: checksum (\S+)", written)]
    problem = ""
    if codes != wanted:
        problem = f"ended with {codes}, expected {wanted}"
    elif not sums or not is_one(sums):
        problem = f"came to {sums}"
    elif death != "nobody" and "resuming from epoch" not in written:
        problem = "went on as if nothing had happened"
    elif any((text in written) != (cause == death) for cause, text in COUNTED.items()):
        problem = "miscounted the restarts"
    return (f"{problem}\n{written}" if problem else ""), sums


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--way", action="append", choices=WAYS, help="by default all of them")
    parser.add_argument("--rounds", default=1, type=int, help="of each training (1)")
    parser.add_argument("elasticrun", type=os.path.abspath)
    parser.add_argument("python", nargs="+")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    failed = 0
    for python in arguments.python:
        version = subprocess.run([python, "-c", "import torch; print(torch.__version__)"],
                                 check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        results = {}
        for way in arguments.rounds * (arguments.way or WAYS):
            if way == "etcd" and not shutil.which("etcd"):
                print("left out, for want of the program: etcd")
                continue
            for death in ("nobody", "worker", "node"):
                if death == "node" and way in WITHOUT_LOSS:
                    continue
                with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
                    place = str(reserved_port())
                    if way == "candidates":
                        place = ",".join(f"127.0.0.1:{reserved_port()}" for _ in range(3))
                    elif way == "file":
                        place = f"{folder}/meeting"
                        os.mkdir(place)
                    elif way == "etcd":
                        place = stack.enter_context(etcd_place(folder))
                    began = time.monotonic()
                    problem, sums = train(arguments.elasticrun, python, version, way, death, place,
                                          folder)
                    remove_marks(RUN_ID, place)
                # A job that loses a node trains for longer.
                results.setdefault(death == "node", []).extend(sums)
                took = time.monotonic() - began
                print(f"torch {version}, {way}, death of {death}: "
                      f"{problem or f'good ({took:.1f} s)'}", flush=True)
                failed += bool(problem)
        for sums in results.values():
            if not is_one(sums):
                print(f"torch {version}: the same training came to {sorted(set(sums))}")
                failed += 1
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
