# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""An agent of a few lines that speaks the contract of survivors with real workers, so that the
Python side is tested by itself: what the workers hear, what they have to answer, and in which
order. Its store is PyTorch's own."""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

import torch.distributed as dist

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
WAIT_SECONDS = 120


class Worker:
    def __init__(self, process, rank):
        self.process = process
        self.rank = rank
        self.said = []          # (kind, epoch)
        self.connection = None  # the one that said survive
        self.is_judged = False


def is_stopped(worker):
    with open(f"/proc/{worker.process.pid}/stat", encoding="ascii", errors="replace") as file:
        return file.read().rsplit(")", 1)[1].split()[0] == "T"


class Agent:
    """Starts `size` workers and replaces those that end with an error, `budget` times."""

    def __init__(self, script, size, budget=8, options=(), environment=None, notices_after=0.0):
        self.folder = tempfile.TemporaryDirectory(prefix="survive_")
        self.command = [sys.executable, os.path.join(ROOT, "tests/integration/python", script),
                        "--folder", self.folder.name, *options]
        self.size = size
        self.budget = budget
        self.notices_after = notices_after  # how many seconds after the end of a worker
        self.more = environment or {}
        self.epoch = 0
        self.restarts = 0
        self.heard = threading.Condition()
        self.output = tempfile.TemporaryFile("w+", dir=self.folder.name)
        self.errors = tempfile.TemporaryFile("w+", dir=self.folder.name)
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind("\0survive-" + os.path.basename(self.folder.name))
        self.listener.listen(64)
        self.workers = []
        self.silent = []        # stopped, and left so: what survivors see of a lost machine
        self.answers = []       # the verdicts on what was asked: (rank, is a change)
        threading.Thread(target=self._accept, daemon=True).start()

    # ---- the job ------------------------------------------------------------------------------

    def begin_epoch(self):
        self.epoch += 1
        self.store = dist.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)

    def environment(self, rank):
        return {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(self.size),
                "LOCAL_WORLD_SIZE": str(self.size), "GROUP_RANK": "0",
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(self.store.port),
                "TORCHELASTIC_RESTART_COUNT": str(self.restarts),
                "TORCHELASTIC_USE_AGENT_STORE": "True", "ELASTIC_EPOCH": str(self.epoch)}

    def start(self, rank):
        variables = dict(os.environ, OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo",
                         ELASTIC_ON_FAILURE="replace",
                         ELASTIC_CONTROL="@survive-" + os.path.basename(self.folder.name),
                         **self.environment(rank))
        variables.update(self.more)
        process = subprocess.Popen(self.command, env=variables, stdout=self.output,
                                   stderr=self.errors)
        return Worker(process, rank)

    def run(self):
        """To its end. Result: the exit codes by rank."""
        try:
            self.begin_epoch()
            self.workers = [self.start(rank) for rank in range(self.size)]
            while True:
                dead = self.wait_for_end()
                if not dead or self.restarts == self.budget:
                    break
                self.restarts += 1
                time.sleep(self.notices_after)
                self.replace(dead)
            return [worker.process.returncode for worker in self.workers]
        finally:
            self.end()

    def wait_for_end(self):
        """Until some worker has failed or all have ended."""
        deadline = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < deadline:
            codes = [worker.process.poll() for worker in self.workers]
            dead = [worker for worker, code in zip(self.workers, codes)
                    if code not in (None, 0) or (code is None and is_stopped(worker))]
            if dead or all(code == 0 for code in codes):
                return dead
            self.judge()
            time.sleep(0.002)
        raise TimeoutError("no worker ended:\n" + self.text())

    def judge(self, seconds=5.0):
        """Nobody has died within this time after an exception: it is the worker's own failure."""
        for worker in list(self.workers):
            asked = [at for kind, epoch, at in worker.said
                     if kind == "ask" and epoch == self.epoch]
            if asked and time.monotonic() - asked[-1] > seconds and not worker.is_judged:
                worker.is_judged = True
                self.answers.append((worker.rank, False))
                self.send(worker, {"kind": "no_change", "epoch": self.epoch})

    def replace(self, dead):
        alive = [worker for worker in self.workers if worker not in dead]
        for worker in alive:
            self.send(worker, {"kind": "change", "epoch": self.epoch, "within": 10})
        self.wait_until(lambda: all(self.is_ready(worker) for worker in alive), "all were ready")
        self.begin_epoch()
        for worker in alive:
            self.send(worker, {"kind": "rejoin", "epoch": self.epoch,
                               "environment": self.environment(worker.rank)})
        self.silent += [worker for worker in dead if worker.process.poll() is None]
        for worker in dead:
            self.workers[worker.rank] = self.start(worker.rank)

    def is_ready(self, worker):
        return ("ready", self.epoch) in [(kind, epoch) for kind, epoch, _ in worker.said] or (
            worker.process.poll() is not None)

    def wait_until(self, condition, what):
        deadline = time.monotonic() + WAIT_SECONDS
        with self.heard:
            while not condition():
                if time.monotonic() > deadline:
                    raise TimeoutError(f"waited in vain until {what}:\n" + self.text())
                self.heard.wait(0.05)

    def end(self):
        for worker in [*self.workers, *self.silent]:
            if worker.process.poll() is None:
                worker.process.kill()
            worker.process.wait()
        self.listener.close()

    def text(self):
        self.output.seek(0)
        self.errors.seek(0)
        return self.output.read() + self.errors.read()

    # ---- the channel --------------------------------------------------------------------------

    def send(self, worker, message):
        with self.heard:
            assert self.heard.wait_for(lambda: worker.connection, WAIT_SECONDS), (
                "no worker said survive")
        try:
            worker.connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            pass  # It has died: its end tells.

    def _accept(self):
        while True:
            try:
                connection = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection):
        pid = int.from_bytes(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 4),
                             sys.byteorder)
        for line in connection.makefile("rb"):
            message = json.loads(line)
            with self.heard:
                worker = next((each for each in self.workers if each.process.pid == pid), None)
                while worker is None:  # It was quicker than the list.
                    self.heard.wait(0.01)
                    worker = next((each for each in self.workers if each.process.pid == pid), None)
                worker.said.append((message["kind"], message.get("epoch"), time.monotonic()))
                if message["kind"] == "survive":
                    worker.connection = connection
                self.heard.notify_all()


# ---- the test ---------------------------------------------------------------------------------


def results(text):
    """What the workers that finished have computed, without what differs by process."""
    return {re.sub(r"rank \d+ |pid \d+ ", "", line)
            for line in text.splitlines() if line.startswith("finished")}


def check(size, disturbances, options=("--loader",), notices_after=0.0):
    """Whatever is done to the workers, they end with what undisturbed ones compute, in the
    processes that nothing was done to."""
    reference = Agent("survive_worker.py", size)
    disturbed = Agent("survive_worker.py", size, notices_after=notices_after, options=[
        "--groups", *options, *(word for each in disturbances for word in ("--do", each))])
    assert reference.run() == [0] * size, reference.text()
    assert disturbed.run() == [0] * size, disturbed.text()
    text = disturbed.text()
    assert text.count("does ") == len(disturbances) == disturbed.restarts, text
    assert len(results(text)) == 1 and results(text) == results(reference.text()), (
        text + reference.text())
    ended = set(re.findall(r"does \S+ at step \d+ pid (\d+)", text))
    began = set(re.findall(r"begins epoch \d+ rank \d+ of \d+ pid (\d+) new True", text))
    finished = set(re.findall(r"finished rank \d+ of \d+ pid (\d+)", text))
    assert len(began) == size + len(disturbances) and finished == began - ended, text
    own = [each for each in disturbances if each.startswith("raise-runtime")]
    assert len(disturbed.answers) == len(own), disturbed.answers


if __name__ == "__main__":
    if sys.argv[1] == "careless":
        # Survivors come to the commit after the failed step long before they hear of the end:
        # nothing inherits the connections of the rank that is killed.
        check(3, ["kill@3:2", "kill@6:0"], ["--careless"], notices_after=1)
    else:
        check(int(sys.argv[1]), sys.argv[2:])
    print("all is as expected")
