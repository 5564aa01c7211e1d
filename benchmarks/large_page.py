#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How soon the page of a large job is there, and what it costs the agent.

  large_page.py ELASTICRUN LARGE_JOB [--nodes N] [--ranks R] [--loads L] [--seconds S]

One real agent serves the rendezvous and the page of a job of N nodes. The others are simulated by
large_job (see large_job.cpp): each says each second what its R workers do while somebody looks.
Headless Chromium loads the page L times: how long until the browser has painted first, and until
every rank is known to the page? Then the agent's processor time over S seconds, with no page and
with one open. Both run on the same processors as the browser and the simulated nodes.
"""

import argparse
import contextlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "consume"), str(ROOT / "tests" / "support"),
                str(ROOT / "benchmarks")]
from observe import processor_seconds
from page import Browser, comes_true, is_open
from ports import reserved_port

# Ends in the frame in which all ranks are known, with both times since the navigation.
LOADED = """
const [count] = [%d];
return new Promise(done => {
  const look = () => {
    const paint = performance.getEntriesByName("first-contentful-paint")[0];
    if (!paint || ranks.size < count) return requestAnimationFrame(look);
    done([paint.startTime, performance.now()]);
  };
  look();
});"""


def job_of(url):
    with urllib.request.urlopen(url + "api/v1/job", timeout=10) as answer:
        return json.load(answer)


def start_job(elasticrun, large_job, options, stack):
    """The agent, and the address of its status, when all simulated nodes have met it."""
    port, nodes = str(reserved_port()), str(options.nodes)
    agent = subprocess.Popen(
        [elasticrun, "--nnodes", nodes, "--nproc-per-node", str(options.ranks), "--rdzv-backend",
         "c10d", "--rdzv-endpoint", f"localhost:{port}", "--rdzv-id", "page", "--status", "0",
         "--log-dir", "/dev/null", "--no-python", "sleep", "1000"],
        stderr=subprocess.PIPE, text=True)
    stack.callback(agent.wait)
    stack.callback(agent.kill)
    url = next(line.split()[1] for line in agent.stderr if line.startswith("Status: "))
    comes_true("the agent serves the rendezvous", lambda: is_open(int(port)))
    crowd = subprocess.Popen([large_job, "nodes", port, "page", "127.0.0.1", "1",
                              str(options.nodes - 1), nodes, str(options.ranks)],
                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    stack.callback(crowd.wait)
    stack.callback(crowd.kill)
    crowd.stdin.write("last\n")
    crowd.stdin.flush()
    comes_true("all nodes are there",
               lambda: (job_of(url)["whole"] or {}).get("active") == options.nodes)
    return agent, url


def processor_share(pid, seconds):
    """The share of one processor that the agent takes, in percent."""
    used, began = processor_seconds(pid), time.monotonic()
    time.sleep(seconds)
    return (processor_seconds(pid) - used) / (time.monotonic() - began) * 100


def spread(times):
    times = sorted(times)
    return (f"{statistics.median(times):.0f} ms (quartiles {times[len(times) // 4]:.0f} and "
            f"{times[3 * len(times) // 4]:.0f}, worst {times[-1]:.0f})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("elasticrun")
    parser.add_argument("large_job")
    parser.add_argument("--nodes", type=int, default=512)
    parser.add_argument("--ranks", type=int, default=8, help="of each node")
    parser.add_argument("--loads", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    # The agent's own workers wait for those of simulated nodes, which do not start any.
    count = (options.nodes - 1) * options.ranks
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        agent, url = start_job(options.elasticrun, options.large_job, options, stack)
        # Whoever looked once is taken for a viewer for a while.
        time.sleep(6)
        unseen = processor_share(agent.pid, options.seconds)
        browser = Browser(folder)
        stack.callback(browser.close)
        paints, loads = [], []
        for _ in range(options.loads):
            browser.open("about:blank")
            browser.open(url)
            paint, load = browser.run(LOADED % count)
            paints.append(paint)
            loads.append(load)
        seen = processor_share(agent.pid, options.seconds)
        if agent.poll() is not None or browser.run("return ranks.size") < count:
            sys.exit("large_page.py: the job has ended")
    print(f"{options.nodes} nodes, {count} ranks of others, {options.loads} loads\n"
          f"first paint after {spread(paints)}, all ranks after {spread(loads)}\n"
          f"the agent takes {unseen:.2f} % of a processor without a page, {seen:.2f} % with one, "
          f"over {options.seconds:.0f} s")


if __name__ == "__main__":
    main()
