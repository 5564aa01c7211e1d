#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What it costs an agent to be looked at: processor time, wake-ups and memory; and how soon its
page shows a death.

  observe.py ELASTICRUN [--ranks N] [--seconds S] [--quiet] [--status] [--pages P]
  observe.py ELASTICRUN --deaths D

N workers, of which each reports a step each second (--quiet: none does), run under one agent, with
or without --status, and P viewers follow its events. After a while the agent's own figures over S
seconds are taken from /proc.

With --deaths a browser (headless Chromium, as in tests/consume/page.py) has the page of a job of 4
ranks open, of which one is killed D times. How long from the signal to the frame of the page after
the one in which the lost attempt came into it?
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "consume"))
from page import Browser, comes_true

# Notes when a frame is drawn of which the attempts that ended by a failure are part.
WATCH = """
window.shown = [];
const failures = () => document.querySelectorAll('.attempt.failure').length;
let known = failures();
new MutationObserver(() => {
  for (; known < failures(); ++known) requestAnimationFrame(() => shown.push(Date.now()));
}).observe(document.body, { childList: true, subtree: true, attributes: true });
"""

WORKER = r"""
#define _GNU_SOURCE
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
int main(int count, char** words) {
  if (count > 1) for (;;) pause();
  const char* where = getenv("ELASTIC_CONTROL");
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  memcpy(name.sun_path, where, strlen(where));
  name.sun_path[0] = 0;
  int channel = socket(AF_UNIX, SOCK_STREAM, 0);
  socklen_t size = offsetof(struct sockaddr_un, sun_path) + strlen(where);
  if (connect(channel, (struct sockaddr*)&name, size)) return 1;
  const char* rank = getenv("LOCAL_RANK");
  dprintf(channel, "{\"kind\":\"hello\",\"version\":1,\"local_rank\":%s}\n", rank);
  // Not all in the same moment, as different machines would not be.
  struct timespec wait = {0, 1000000L * (atoi(rank) * 7 % 1000)};
  nanosleep(&wait, NULL);
  for (int step = 1;; ++step) {
    dprintf(channel, "{\"kind\":\"progress\",\"step\":%d,\"total\":100000}\n", step);
    sleep(1);
  }
}
"""


def text_of(pid, name):
    return pathlib.Path(f"/proc/{pid}/{name}").read_text()


def processor_seconds(pid):
    fields = text_of(pid, "stat").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wake_ups(pid):
    return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text_of(pid, "status"), re.M)[1])


def resident_mib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", text_of(pid, "status"))[1]) / 1024


def follow(path, read):
    """A page: the job once, then its events, for ever."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        client.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        while piece := client.recv(65536):
            read[0] += len(piece)


def measure_deaths(elasticrun, folder, count):
    agent = subprocess.Popen(
        [elasticrun, "--standalone", "--nproc-per-node", "4", "--max-restarts", str(count),
         "--status", "0", "--log-dir", "/dev/null", "--no-python", folder / "worker"],
        stderr=subprocess.PIPE, text=True)
    with contextlib.ExitStack() as stack:
        stack.callback(agent.wait)
        stack.callback(agent.terminate)
        url = next(line.split()[1] for line in agent.stderr if line.startswith("Status: "))
        browser = Browser(folder)
        stack.callback(browser.close)
        browser.open(url)

        def running():
            with urllib.request.urlopen(url + "api/v1/job", timeout=10) as answer:
                workers = json.load(answer)["workers"]
            pids = [worker["pid"] for worker in workers if worker["state"] == "running"]
            return pids if len(pids) == 4 and browser.text("#state") == "running" else None

        comes_true("the workers run", running)
        browser.run(WATCH)
        spans = []
        for turn in range(count):
            victim = random.choice(comes_true("the workers run again", running))
            time.sleep(random.uniform(0.5, 1.5))
            killed = time.time()
            os.kill(victim, signal.SIGKILL)
            comes_true("the page shows the death",
                       lambda turn=turn: browser.run("return shown.length") > turn)
            spans.append(browser.run("return shown.at(-1)") - killed * 1000)
    spans.sort()
    print(f"{count} deaths are on the page after {statistics.median(spans):.0f} ms (median; "
          f"quartiles {spans[count // 4]:.0f} and {spans[3 * count // 4]:.0f}, worst "
          f"{spans[-1]:.0f})")


def main():
    arguments = argparse.ArgumentParser(description="Measures what it costs to be looked at.")
    arguments.add_argument("elasticrun")
    arguments.add_argument("--ranks", type=int, default=1000)
    arguments.add_argument("--seconds", type=float, default=30)
    arguments.add_argument("--quiet", action="store_true")
    arguments.add_argument("--status", action="store_true")
    arguments.add_argument("--pages", type=int, default=0)
    arguments.add_argument("--deaths", type=int, default=0)
    options = arguments.parse_args()
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "worker.c").write_text(WORKER)
        subprocess.run(["cc", "-Os", "-o", folder / "worker", folder / "worker.c"], check=True)
        if options.deaths:
            return measure_deaths(options.elasticrun, folder, options.deaths)
        status = ["--status", f"unix:{folder}/status"] if options.status or options.pages else []
        words = ["quiet"] if options.quiet else []
        agent = subprocess.Popen(
            [options.elasticrun, "--standalone", "--nproc-per-node", str(options.ranks), *status,
             "--log-dir", "/dev/null", "--no-python", folder / "worker", *words],
            stderr=subprocess.DEVNULL)
        stack.callback(agent.wait)
        stack.callback(agent.terminate)
        time.sleep(3 + options.ranks / 200)
        if agent.poll() is not None:
            sys.exit("observe.py: the job has ended")
        read = [0]
        for _ in range(options.pages):
            threading.Thread(target=follow, args=(f"{folder}/status", read), daemon=True).start()
        time.sleep(3)
        used, woken, began = processor_seconds(agent.pid), wake_ups(agent.pid), time.monotonic()
        time.sleep(options.seconds)
        span = time.monotonic() - began
        print(f"{options.ranks} ranks{', quiet' if options.quiet else ''}, "
              f"{'status' if status else 'no status'}, {options.pages} pages: "
              f"{(processor_seconds(agent.pid) - used) / span * 100:.2f} % of a core, "
              f"{(wake_ups(agent.pid) - woken) / span:.2f} wake-ups a second, "
              f"VmRSS {resident_mib(agent.pid):.1f} MiB, {read[0] / 1024:.0f} KiB sent")


if __name__ == "__main__":
    main()
