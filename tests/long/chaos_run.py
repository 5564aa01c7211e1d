#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Whether journal, metrics and trace of a disturbed job agree with what was done to it.

  chaos_run.py ELASTICRUN [--minutes M] [--seed N] [--keep FOLDER]

Two nodes of three workers, which report a step each second, run for so long. Every few seconds a
worker is killed, ends by itself with a code or stands still until it is taken for hung, or the
second node is killed or drained and comes again. What was done is written down here alone; in the
end it is compared, for each agent that has lived, with what that agent said of itself.
"""

import argparse
import collections
import contextlib
import functools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import waiting
from ports import reserved_port

WORKER = f"""\
import os, signal, sys, time
sys.path.insert(0, {str(ROOT / "python")!r})
from elasticrun import worker
signal.signal(signal.SIGUSR1, lambda *_: os._exit(3))
channel = worker.connect()
step = 0
while True:
    step += 1
    channel.progress(step, 1000000)
    time.sleep(1)
"""
WORKERS = 3
PATIENCE = 120
HANG_AFTER = 10

comes_true = functools.partial(waiting.comes_true, patience=PATIENCE, pause=0.2,
                               passing=(OSError, ValueError))


class Agent:
    """One life of the agent of a node, and what was done to it."""

    def __init__(self, elasticrun, folder, port, script, number):
        self.folder = folder / f"agent{number}"
        self.folder.mkdir()
        self.socket = self.folder / "status"
        self.trace = self.folder / "trace.json"
        self.log = open(self.folder / "log", "w")
        self.process = subprocess.Popen(
            [elasticrun, "--nnodes", "1:2", "--nproc-per-node", str(WORKERS), "--rdzv-backend",
             "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}", "--rdzv-id", "chaos",
             "--rdzv-conf", "last_call_timeout=1", "--max-restarts", "1000000",
             "--heartbeat-timeout", str(HANG_AFTER), "--status", f"unix:{self.socket}",
             "--trace", self.trace, "--log-dir", self.folder / "logs",
             "--no-python", "/usr/bin/python3", script],
            stdout=self.log, stderr=self.log)
        # By process: what its end is to be called.
        self.ends = {}
        self.hung = set()
        # Failures of workers anywhere in the job, and comings and goings of the other node.
        self.failures = 0
        self.lost = 0
        self.joined = 0
        self.metrics = {}
        self.is_killed = False

    def ask(self, path):
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(10)
            client.connect(str(self.socket))
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n".encode() +
                           b"Connection: close\r\n\r\n")
            answer = b"".join(iter(lambda: client.recv(65536), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        if b" 200 " not in head.split(b"\r\n")[0]:
            raise ValueError(head)
        return body.decode()

    def pids_of_world(self, size):
        """The processes of its workers if these run in a world of that size."""
        job = json.loads(self.ask("/api/v1/job"))
        if job["state"] != "running" or job["attempts"][-1]["world_size"] != size:
            return None
        if any(worker["state"] != "running" or worker.get("step", -1) < 1
               for worker in job["workers"]):
            return None
        return [worker["pid"] for worker in job["workers"]]

    def read_metrics(self):
        self.metrics = dict(re.findall(r"^(\S+) (\S+)$", self.ask("/metrics"), re.MULTILINE))
        self.metrics_at = time.time()

    def kill(self):
        self.read_metrics()
        self.is_killed = True
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.read_metrics()
        self.process.terminate()
        self.process.wait(PATIENCE)

    def resident_kib(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    def journal(self):
        [path] = (self.folder / "logs").glob("*/journal.jsonl")
        return [json.loads(line) for line in path.read_text().splitlines()]


class Job:
    def __init__(self, elasticrun, folder, seed, lives):
        self.elasticrun, self.folder = elasticrun, folder
        self.random = random.Random(seed)
        self.port = reserved_port()
        self.script = folder / "worker.py"
        self.script.write_text(WORKER)
        self.lives = lives
        self.host = self.start_agent()
        self.pids(self.host, WORKERS)
        self.peer = None
        self.bring_peer()
        self.done = collections.Counter()

    def start_agent(self):
        agent = Agent(self.elasticrun, self.folder, self.port, self.script, len(self.lives))
        self.lives.append(agent)
        return agent

    def nodes(self):
        return [self.host, self.peer] if self.peer else [self.host]

    def pids(self, agent, size):
        return comes_true(f"{agent.folder.name} runs in a world of {size}",
                          lambda: agent.pids_of_world(size))

    def settle(self, before=()):
        """Until all run again, none of them in a process of before."""
        def fresh(agent):
            pids = agent.pids_of_world(WORKERS * len(self.nodes()))
            return pids if pids and not set(pids) & set(before) else None
        return [comes_true(f"{agent.folder.name} runs again", lambda agent=agent: fresh(agent))
                for agent in self.nodes()]

    def bring_peer(self):
        before = self.pids(self.host, WORKERS)
        self.peer = self.start_agent()
        self.host.joined += 1
        self.settle(before)

    def lose_peer(self, end):
        before = self.pids(self.peer, 2 * WORKERS) + self.pids(self.host, 2 * WORKERS)
        end(self.peer)
        self.peer = None
        self.host.lost += 1
        self.settle(before)

    def disturb_worker(self, number):
        running = self.settle()
        before = sum(running, [])
        node = self.random.randrange(len(running))
        pid = self.random.choice(running[node])
        agent = self.nodes()[node]
        if number == signal.SIGSTOP:
            agent.hung.add(pid)
            agent.ends[pid] = "signal:9"
        else:
            agent.ends[pid] = "exit:3" if number == signal.SIGUSR1 else f"signal:{number}"
        for witness in self.nodes():
            witness.failures += 1
        os.kill(pid, number)
        self.settle(before)

    def disturb(self):
        deed = self.random.choices(["kill", "exit", "hang", "lose", "drain"], [6, 3, 2, 1, 1])[0]
        self.done[deed] += 1
        if deed == "lose":
            self.lose_peer(Agent.kill)
            self.bring_peer()
        elif deed == "drain":
            self.lose_peer(Agent.stop)
            self.bring_peer()
        else:
            self.disturb_worker({"kill": signal.SIGKILL, "exit": signal.SIGUSR1,
                                 "hang": signal.SIGSTOP}[deed])

    def end(self):
        self.lose_peer(Agent.stop)
        self.host.stop()


# ---- the judge ----------------------------------------------------------------------------------

class Judge:
    def __init__(self):
        self.checks = 0
        self.problems = []

    def expect(self, agent, what, said, done):
        self.checks += 1
        if said != done:
            self.problems.append(f"{agent.folder.name}: {what}: it says {said}, done was {done}")

    def near(self, agent, what, said, done, within):
        self.checks += 1
        if abs(said - done) > within:
            self.problems.append(f"{agent.folder.name}: {what}: it says {said}, the journal {done}")

    def judge(self, agent):
        records = agent.journal()
        self.judge_journal(agent, records)
        self.judge_metrics(agent, records)
        self.judge_trace(agent, records)

    def judge_journal(self, agent, records):
        self.expect(agent, "sequence numbers", [record["seq"] for record in records],
                    list(range(1, len(records) + 1)))
        self.expect(agent, "epochs", len({record["epoch"] for record in records}), 1)
        ended = [record for record in records if record["kind"] == "worker_ended"]
        self.expect(agent, "ends of workers", {record["pid"]: code_of(record) for record in ended},
                    agent.ends)
        self.expect(agent, "each end once", len(ended), len(agent.ends))
        hung = [record["pid"] for record in records if record["kind"] == "worker_hung"]
        self.expect(agent, "hung workers", sorted(hung), sorted(agent.hung))
        changes = collections.Counter(record["state"] for record in records
                                      if record["kind"] == "round_ended")
        self.expect(agent, "failures of workers", changes["worker_failed"], agent.failures)
        self.expect(agent, "nodes that were lost", changes["node_lost"], agent.lost)
        self.expect(agent, "nodes that came", changes["node_waiting"], agent.joined)
        decided = [record for record in records if record["kind"] == "restart_decided"]
        self.expect(agent, "restarts", len(decided), sum(changes.values()))
        self.expect(agent, "an end", records[-1]["kind"] == "agent_ended", not agent.is_killed)

    def judge_metrics(self, agent, records):
        """They were read before the end."""
        counted = {re.search(r'code="(.*)"', name)[1]: int(float(value))
                   for name, value in agent.metrics.items()
                   if name.startswith("elastic_worker_exits_total")}
        done = dict(collections.Counter(agent.ends.values()))
        self.expect(agent, "metrics of ends", counted, done)
        if "elastic_restarts_remaining" in agent.metrics:
            ends = {cause: int(float(agent.metrics[f'elastic_restarts_total{{cause="{cause}"}}']))
                    for cause in ["failure", "hang", "membership"]}
            # A hang elsewhere is a failure here.
            self.expect(agent, "metrics of hangs", ends["hang"], len(agent.hung))
            self.expect(agent, "metrics of failures", ends["failure"],
                        agent.failures - len(agent.hung))
            self.expect(agent, "metrics of nodes", ends["membership"], agent.lost + agent.joined)
        worked, whole = times_of(records, agent.metrics_at)
        productive = float(agent.metrics["elastic_productive_seconds_total"])
        lost = sum(float(value) for name, value in agent.metrics.items()
                   if name.startswith("elastic_lost_seconds_total"))
        # The workers also ran until their first step, when they made steps again, and when they
        # stood still. The step in progress, of a second, belongs to nothing yet.
        ran = productive + sum(
            float(agent.metrics[f'elastic_lost_seconds_total{{phase="{phase}"}}'])
            for phase in ["start", "rollback", "stall"])
        self.near(agent, "time of workers", ran, worked, 1.5)
        self.near(agent, "all time", productive + lost, whole, 1.5)

    def judge_trace(self, agent, records):
        # Its end is left open, so that it can be read at any time.
        events = json.loads(agent.trace.read_text().rstrip().rstrip(",") + "]")
        lives = collections.Counter(event["ph"] for event in events
                                    if event.get("tid", 0) > 0 and event["ph"] in "BE")
        starts = sum(record["kind"] == "workers_started" for record in records)
        self.expect(agent, "lives of workers in the trace", lives["B"], starts * WORKERS)
        if not agent.is_killed:
            self.expect(agent, "their ends", lives["E"], lives["B"])
        marks = [event["name"] for event in events if event["ph"] == "i"]
        self.expect(agent, "failures in the trace", sum(name.endswith(" failed") for name in marks),
                    len(agent.ends))
        self.expect(agent, "hangs in the trace", sum(name.endswith(" hung") for name in marks),
                    len(agent.hung))


def code_of(record):
    return f"signal:{record['signal']}" if "signal" in record else f"exit:{record['exit_code']}"


def times_of(records, until):
    """For how long the workers started and ran and the agent lived, by the journal, up to a time of
    day."""
    worked, began = 0.0, None
    last = until
    if records[-1]["kind"] == "agent_ended":
        last = min(until, records[-1]["time_us"] / 1e6)
    for record in records:
        at = min(record["time_us"] / 1e6, last)
        if record["kind"] == "round_joined":
            began = at
        elif began is not None and record["kind"] in (
                "worker_ended", "worker_hung", "round_ended", "stop_requested", "workers_stopping"):
            worked, began = worked + at - began, None
    if began is not None:
        worked += last - began
    return worked, last - records[0]["time_us"] / 1e6


def main():
    arguments = argparse.ArgumentParser(description="Disturbs a job, and compares.")
    arguments.add_argument("elasticrun")
    arguments.add_argument("--minutes", type=float, default=60)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    arguments.add_argument("--keep", type=pathlib.Path, help="leave logs, journals and traces here")
    options = arguments.parse_args()
    print(f"chaos_run.py: seed {options.seed}", flush=True)
    with contextlib.ExitStack() as stack:
        folder = options.keep or pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(exist_ok=True)
        # Somebody may build it anew meanwhile.
        elasticrun = shutil.copy(options.elasticrun, folder / "elasticrun")
        lives = []
        stack.callback(lambda: [agent.process.kill() for agent in lives
                                if agent.process.poll() is None])
        job = Job(elasticrun, folder, options.seed, lives)
        began, first_kib = time.monotonic(), job.host.resident_kib()
        while time.monotonic() - began < options.minutes * 60:
            job.disturb()
            time.sleep(job.random.uniform(0, 4))
        last_kib = job.host.resident_kib()
        job.end()
        judge = Judge()
        for agent in job.lives:
            judge.judge(agent)
        told = subprocess.run([elasticrun, "explain", job.host.folder / "logs"],
                              capture_output=True, text=True)
        if told.returncode != 0:
            judge.problems.append(f"explain: {told.stderr}")
        if last_kib > first_kib + 8192:
            judge.problems.append(f"the agent grew from {first_kib} to {last_kib} KiB")
    print(f"{(time.monotonic() - began) / 60:.1f} minutes, {sum(job.done.values())} deeds "
          f"({dict(job.done)}), {len(job.lives)} agents, {judge.checks} comparisons, "
          f"{len(judge.problems)} differences, host {first_kib} to {last_kib} KiB")
    for problem in judge.problems[:20]:
        print("  " + problem)
    sys.exit(1 if judge.problems else 0)


if __name__ == "__main__":
    main()
