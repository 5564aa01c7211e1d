#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Whether the page of a job's status shows, in a browser, what the journal of the job says.

  page.py ELASTICRUN [--screenshots FOLDER]

Two nodes of four workers run, and the page is that of the one that serves the rendezvous. A worker
of it is killed, one of the other node hangs, a third node joins; at last the agent is killed, after
which another one serves at its port. A job succeeds and one fails, and the page says so. A job of
several roles has a page for all of them and one for each. What workers say of themselves tries to
become part of the page, and a job of 1,000 ranks is drawn. The workers of a job stand still, and
the one that was stopped is named. A rank is replaced while the others go on. Headless Chromium is
told what to do by the WebDriver protocol. On the way, whether the metrics that examples/observe and
docs/observe.md name are served.

With --screenshots, pictures of these jobs go into the folder, and workers say nothing hostile.
"""

import argparse
import base64
import contextlib
import functools
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import waiting
from ports import reserved_port

HOSTILE = "<img src=x onerror=document.title='owned'></pre><script>document.title='owned'</script>"
FRIENDLY = "loss 0.31"
# Hangs, once, if the second argument and its rank are a file's name; ends as the file says whose
# name is the second argument and "end". All stand still while there is one with "pause".
WORKER = f"""\
import os, sys, time
sys.path.insert(0, {str(ROOT / "python")!r})
from elasticrun import worker
channel = worker.connect()
print(sys.argv[1], "line at the end", file=sys.stderr, flush=True)
for step in range(100000):
    channel.progress(step, 100000, text=sys.argv[1], metrics={{sys.argv[3]: 1 / (step + 1)}})
    if os.path.exists(sys.argv[2] + os.environ["RANK"]):
        os.unlink(sys.argv[2] + os.environ["RANK"])
        with channel.expires(0.1, "all_reduce"):
            time.sleep(1000)
    while os.path.exists(sys.argv[2] + "pause"):
        time.sleep(0.1)
    if os.path.exists(sys.argv[2] + "end"):
        sys.exit(int(open(sys.argv[2] + "end").read()))
    time.sleep(0.1)
"""
SURVIVOR = ROOT / "tests" / "integration" / "python" / "survivor.py"
SKIPPED = 77
METRICS_OF_ROLES = {"elastic_role_state"}
# Only a job that keeps standbys has them.
METRICS_OF_STANDBYS = {"elastic_standbys", "elastic_standby_memory_bytes"}
# Only a job that keeps its workers' commits has them.
METRICS_OF_VAULTS = {"elastic_vault_memory_bytes", "elastic_vault_age_seconds",
                     "elastic_vault_skipped_commits_total", "elastic_vault_restores_total"}

comes_true = functools.partial(waiting.comes_true, patience=60)


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Browser:
    """One page in headless Chromium."""

    def __init__(self, folder):
        port = reserved_port()
        self.driver = subprocess.Popen(["chromedriver", f"--port={port}"], cwd=folder,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.base = f"http://127.0.0.1:{port}"
        comes_true("chromedriver answers", self.is_up)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--no-first-run", "--disable-background-networking", "--disable-lcd-text",
                     "--hide-scrollbars",
                     "--window-size=1000,1100", f"--user-data-dir={folder}/profile"]
        wanted = {"alwaysMatch": {"goog:chromeOptions": {"args": arguments},
                                  "goog:loggingPrefs": {"browser": "ALL"}}}
        self.base += "/session/" + self.ask("POST", "/session",
                                            {"capabilities": wanted})["sessionId"]

    def is_up(self):
        with contextlib.suppress(OSError):
            return self.ask("GET", "/status")["ready"]

    def ask(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + path, data, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["value"]

    def open(self, url):
        self.ask("POST", "/url", {"url": url})

    def run(self, script):
        return self.ask("POST", "/execute/sync", {"script": script, "args": []})

    def text(self, selector):
        return self.run(f"return document.querySelector({selector!r}).textContent")

    def complaints(self):
        """What the console has: what the page may not do, and what it cannot."""
        entries = self.ask("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries
                if entry["level"] == "SEVERE" and "favicon" not in entry["message"]]

    def resize(self, width, height):
        self.ask("POST", "/window/rect", {"width": width, "height": height})

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.ask("GET", "/screenshot")))

    def close(self):
        with contextlib.suppress(OSError):
            self.ask("DELETE", "")
        self.driver.terminate()
        self.driver.wait()


class Album:
    """The pictures of the page, if somebody wants them."""

    def __init__(self, folder):
        self.folder = folder

    def add(self, browser, name):
        if not self.folder:
            return
        # Larger ones would have more than 60 kB.
        browser.resize(760, 560)
        browser.screenshot(self.folder / f"{name}_page.png")
        browser.resize(1000, 1100)


class Agent:
    """One elasticrun, whose status is shown."""

    def __init__(self, elasticrun, folder, status, text, *options):
        (folder / "train.py").write_text(WORKER)
        self.start(folder, [elasticrun, "--nproc-per-node", "4", "--max-restarts", "3", "--status",
                            str(status), *options, "train.py", text, str(folder / "hang-"),
                            "loss" if text == FRIENDLY else "loss <b>"])

    def start(self, folder, command):
        variables = {**os.environ, "PYTHON_EXEC": "/usr/bin/python3"}
        self.process = subprocess.Popen(command, cwd=folder, env=variables, stderr=subprocess.PIPE,
                                        text=True)
        self.url = ""
        for line in self.process.stderr:
            if line.startswith("Status: "):
                self.url = line.split()[1]
                break
        if not self.url:
            sys.exit("page.py: elasticrun ended before it showed anything")

    def job(self, role=""):
        path = f"roles/{role}/api/v1/job" if role else "api/v1/job"
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return json.load(answer)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.stderr.close()
        self.process.wait()


class Survivors(Agent):
    """One elasticrun whose workers can outlive the failure of another one."""

    def __init__(self, elasticrun, folder):
        self.story = folder / "story"
        shutil.copy(SURVIVOR, folder / "train.py")
        self.start(folder, [elasticrun, "--standalone", "--nproc-per-node", "4", "--max-restarts",
                            "3", "--on-failure", "replace", "--rejoin-timeout", "60", "--env",
                            f"STORY={self.story}", "--status", "0", "--log-dir", "/dev/null",
                            "--redirects", "1", "train.py"])

    def count(self, epoch):
        """How many workers have come into an epoch, so that they can leave it."""
        return len(re.findall(f"^epoch {epoch} ", self.story.read_text(), re.MULTILINE))


class Job(Agent):
    """One elasticrun with several roles: a trainer, and two replicas at a port each."""

    def __init__(self, elasticrun, folder, text):
        script = folder / "worker.py"
        script.write_text(WORKER.replace('os.environ["RANK"]', 'os.environ["LOCAL_RANK"]'))
        arguments = json.dumps(["--no-python", "/usr/bin/python3", str(script), text,
                                str(folder / "hang-"), "loss"])
        serving = json.dumps([*json.loads(arguments), "${port.http}"])
        (folder / "job.toml").write_text(f"""
name = "grpo"
log_dir = "/dev/null"
[role.trainer]
command = {arguments}
nproc_per_node = 4
max_restarts = 3
[role.rollout]
command = {serving}
processes_per_node = 2
max_restarts = 10
starts_after = ["trainer:ready"]
stops_with = "trainer"
""")
        self.start(folder, [elasticrun, "--job", "job.toml", "--status", "0"])


def read_journal(folder, name="logs"):
    [path] = (folder / name).glob("*/journal.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def fetched_lines(url):
    with urllib.request.urlopen(url, timeout=60) as answer:
        return [json.loads(line) for line in answer.read().splitlines()]


def check(condition, what):
    if not condition:
        sys.exit(f"page.py: {what}")


def check_head(browser, agent, folder):
    """What runs, for whom and where; no arguments, since everybody of the host may look."""
    launch = agent.job()["launch"]
    check("arguments" not in launch, f"everybody sees arguments: {launch}")
    check(launch["script"] == "train.py", f"another script is shown: {launch}")
    [logs] = (folder / "logs").glob("job_*")
    check(launch["log_dir"] == str(logs), f"the logs are in {logs}, not {launch}")
    facts = browser.text("#facts")
    for value in [*launch.values(), pwd.getpwuid(os.geteuid()).pw_name, socket.gethostname()]:
        check(value in facts, f"{value!r} is not among the facts: {facts!r}")


def check_usage(browser):
    """What the workers of both nodes use, beside the steps."""
    used = comes_true("the page shows what workers of both nodes use", lambda: browser.run("""
        const all = [...ranks.values()];
        return all.every(worker => worker.processors >= 0 && worker.memory_bytes > 1e6) &&
          all.map(worker => columns(worker).slice(-2).join(" of "));"""))
    check(all(re.fullmatch(r"\d+ % of \d+ MiB", text) for text in used), f"they use {used}")


def check_attempts(browser, agent, folder):
    """A worker is killed: the page says which, and that the workers run again."""
    browser.open(agent.url)
    comes_true("the page shows the workers of both nodes",
               lambda: browser.text("#state") == "running"
               and "8 running" in browser.text("#legend"))
    comes_true("the page shows progress of both nodes", lambda: browser.run("""
        return ranks.size === 8 && [...ranks.values()].every(worker => worker.step > 0)"""))
    facts = browser.text("#facts")
    check("2 of 2 to 3" in facts, f"the nodes are shown as {facts}")
    os.kill(agent.job()["workers"][2]["pid"], signal.SIGKILL)
    killed = time.monotonic()
    comes_true("the page shows the death",
               lambda: browser.run("return document.querySelectorAll('.attempt.failure').length"))
    print(f"the page showed the death after {time.monotonic() - killed:.3f} s")
    comes_true("the page shows that the workers run again",
               lambda: browser.text("#state") == "running"
               and "8 running" in browser.text("#legend")
               and browser.run("return document.querySelectorAll('.attempt').length") == 2)

    records = read_journal(folder)
    [end] = [record for record in records if record["kind"] == "worker_ended"]
    check(end["rank"] == agent.job()["base_rank"] + 2, f"another worker was killed: {end}")
    why = browser.text(".attempt.failure")
    check(f"rank {end['rank']} ended: {end['reason']}" in why and "lost" in why, why)
    # Each record of the journal is a line of the page, and nothing else is.
    def shown():
        lines = browser.run("return [...document.querySelectorAll('#events li')]"
                            ".map(line => [+line.dataset.sequence, line.textContent,"
                            "              line.dataset.kind])")
        numbers = sorted(number for number, *_ in lines)
        return lines if numbers == [record["seq"] for record in read_journal(folder)] else None
    lines = comes_true("the page shows every record, and no other", shown)
    texts = [text for _, text, _ in lines]
    check(any("the nodes meet" in text for text in texts), f"no meeting is shown: {texts}")
    died = f"rank {end['rank']} (local rank 2, pid {end['pid']}) failed: {end['reason']}"
    check(any(text.endswith(died) for text in texts), f"{died!r} is not shown: {texts}")
    link = browser.run("return document.querySelector('a[download]').href")
    # The workers may come to their furthest step again between the two looks.
    comes_true(f"{link} has the records of the journal",
               lambda: fetched_lines(link) == read_journal(folder))
    raw = [text for _, text, kind in lines if kind in text]
    check(not raw, f"these are not sentences: {raw}")


def check_curves(browser, metric):
    """How the training goes, over time, with the failure."""
    names = comes_true("the page draws what workers report over time", lambda: browser.run("""
        const names = [...document.querySelectorAll('figcaption b')].map(name => name.textContent);
        const isMarked = document.querySelector('svg line.failure title');
        return names.length === 2 && isMarked && names;"""))
    check(names == ["seconds a step", metric], f"the curves are {names}")
    mark = browser.run("return document.querySelector('svg line.failure title').textContent")
    check("ended" in mark, f"the failure is marked by {mark!r}")
    # The largest numbers, and a time without values.
    broken = browser.run("""
        const points = [[1, 1, -1e308], [2, 2, 1e308], [90, 3, 0]];
        const curve = { name: "x", span_us: 1, points };
        return figureOf(curve, [], 1, 90).querySelector("path").getAttribute("d");""")
    check(broken == "M0.0 95.0h0L11.2 5.0M1000.0 50.0h0", f"large values are drawn as {broken}")


def happened(browser, *parts):
    """The line of "What happened" in which all of these are."""
    lines = browser.run("""return [...document.querySelectorAll('#events li')]
                        .map(line => line.textContent)""")
    return next((line for line in lines if all(part in line for part in parts)), None)


def check_hang(browser, agent, peer, folder):
    """A worker of the other node hangs: the page of this one says which, and why."""
    before = len(agent.job()["attempts"])
    rank = peer.job()["base_rank"] + 1
    (folder / f"hang-{rank}").touch()
    line = comes_true("the page tells of the hung worker",
                      lambda: happened(browser, "on ", f"rank {rank} was hung"))
    [hung] = [record for record in read_journal(folder, "peer") if record["kind"] == "worker_hung"]
    check(hung["rank"] == rank and hung["reason"] in line, f"{line!r} is not {hung}")
    [told] = [record for record in read_journal(folder)
              if record["kind"] == "node_told" and record["state"] == "worker_hung"]
    check(told["reason"] == hung["reason"], f"{told} is not {hung}")
    check(told["epoch"] == read_journal(folder)[0]["epoch"], "it has a number of another journal")
    comes_true("the page shows that the workers run again",
               lambda: browser.text("#state") == "running"
               and "8 running" in browser.text("#legend")
               and len(agent.job()["attempts"]) == before + 1)
    check(peer.job()["whole"] is None, "the other node takes itself for the one that serves")


def check_join(browser, agent):
    """Another node joins: the page shows its workers, and what it cost."""
    comes_true("the page shows the workers of three nodes",
               lambda: "12 running" in browser.text("#legend"))
    facts = browser.text("#facts")
    check("3 of 2 to 3" in facts, f"the nodes are shown as {facts}")
    rows = browser.run("return cells.rows.map(row => [row.first, row.count])")
    check(rows == [[0, 4], [4, 4], [8, 4]], f"the grid has the rows {rows}")
    check(browser.run("return document.querySelectorAll('.attempt.membership').length") == 1,
          "the page does not say that a node joined")
    names = [node["name"] for node in agent.job()["whole"]["nodes"]]
    check(len(set(names)) == 3, f"the nodes are {names}")


def check_stall(browser):
    """While a job stands still, the page says for whom it waits, as text, and marks that rank."""
    shown = browser.run("""
        const kept = [job.stall, job.condition], words = document.querySelector('#stall');
        const badge = () => document.querySelector('#state').textContent;
        const steps = () => {
          showProgress();
          return document.querySelector('#steps').textContent;
        };
        const runs = workers().find(worker => worker.state === 'running').rank;
        job.stall = { is_there: true, sentence: 'rank 5 (<b>node3</b>) has not entered barrier #6',
                      evidence: 'rank 5 sleeps', rank: runs };
        job.condition = 'stalled';
        const legend = () => { drawGrid(); return document.querySelector('#legend').textContent; };
        showHead();
        const during = [words.hidden, words.textContent, words.title, words.children.length,
                        legend().includes('rank ' + runs + ' (holds up the job)'), badge(),
                        steps().includes('left')];
        job.stall.is_there = false;
        job.condition = kept[1];
        showHead();
        const after = [words.hidden, legend().includes('holds up'), badge()];
        job.stall = kept[0];
        showHead();
        steps();
        legend();
        return [...during, ...after];""")
    check(shown == [False, "The job has stalled: rank 5 (<b>node3</b>) has not entered barrier #6",
                    "rank 5 sleeps", 0, True, "stalled", False, True, False, "running"],
          f"a stall is shown as {shown}")


def check_many_ranks(browser):
    """1,000 ranks on 125 nodes, a third of them slow, need no element of the page each."""
    spent = browser.run("""
        const kept = job;
        job = structuredClone(job);
        const [sample] = job.workers;
        job.workers = [];
        job.whole.nodes = [...Array(125).keys()].map(node => ({
          host: "node" + node, name: "node" + node, presence: "active", group_rank: node,
          own: false, since_us: 1, state: "running", base_rank: 8 * node,
          workers: [...Array(8).keys()].map(at => Object.assign({}, sample,
            { rank: 8 * node + at, local_rank: at, ratio: at % 3 ? 1 : 2 })),
        }));
        showAll();
        const count = ranks.size, elements = document.querySelectorAll("*").length;
        const begin = performance.now();
        for (let turn = 0; turn < 5; ++turn) showAll();
        const spent = (performance.now() - begin) / 5;
        job = kept;
        showAll();
        return [count, elements, spent];""")
    check(spent[0] == 1000, f"{spent[0]} ranks are known")
    check(spent[1] < 1000, f"the page has {spent[1]} elements")
    print(f"1,000 ranks are drawn in {spent[2]:.1f} ms")


def check_real_stall(browser, elasticrun, folder, album):
    """All workers of a job stand still, since one is stopped: the page says which."""
    agent = Agent(elasticrun, folder, 0, FRIENDLY, "--standalone", "--diagnose", "--stall-after",
                  "2", "--log-dir", "/dev/null")
    try:
        browser.open(agent.url)
        comes_true("the workers make steps", lambda: browser.run("""
            return ranks.size === 4 && [...ranks.values()].every(worker => worker.step > 2)"""))
        victim = agent.job()["workers"][2]["pid"]
        os.kill(victim, signal.SIGSTOP)
        (folder / "hang-pause").touch()
        comes_true("the page says that the job has stalled",
                   lambda: browser.text("#state") == "stalled")
        stall = agent.job()["stall"]
        check(stall["rank"] == 2 and stall["sentence"] in browser.text("#stall"),
              f"{browser.text('#stall')!r} is not {stall}")
        check("rank 2 (holds up the job)" in browser.text("#legend"), browser.text("#legend"))
        check("left" not in browser.text("#steps"), "the end of a stalled job is estimated")
        browser.run("select(2)")
        album.add(browser, "stalled")
        os.kill(victim, signal.SIGCONT)
        (folder / "hang-pause").unlink()
        comes_true("the page says that the job goes on", lambda: browser.text("#state") == "running"
                   and browser.run("return document.querySelector('#stall').hidden"))
    finally:
        (folder / "hang-pause").unlink(missing_ok=True)
        agent.end(signal.SIGKILL)


def check_replacement(browser, elasticrun, folder, album):
    """A rank is replaced while the others go on: the page says which, and counts it."""
    agent = Survivors(elasticrun, folder)
    try:
        browser.open(agent.url)
        comes_true("the workers can outlive an epoch",
                   lambda: agent.story.exists() and agent.count(0) == 4)
        former = [worker["pid"] for worker in agent.job()["workers"]]
        os.kill(former[1], signal.SIGKILL)
        comes_true("the page says that the rank was replaced",
                   lambda: "replaced rank 1" in browser.text("#attempts")
                   and "4 running" in browser.text("#legend"))
        pids = [worker["pid"] for worker in agent.job()["workers"]]
        changed = [rank for rank in range(4) if pids[rank] != former[rank]]
        check(changed == [1], f"of the processes {former} are left {pids}")
        check("replaced ranks1" in browser.text("#facts"), browser.text("#facts"))
        browser.run("select(1)")
        check("replaced 1 ×" in browser.text("#rank"), browser.text("#rank"))
        album.add(browser, "replaced")
    finally:
        agent.end(signal.SIGKILL)


def check_details(browser, text):
    """One rank by the keyboard; what it says of itself stays text."""
    browser.run("""
        const press = key => document.querySelector('#grid')
          .dispatchEvent(new KeyboardEvent('keydown', { key }));
        press('ArrowRight');
        press('ArrowRight');""")
    rank = browser.text("#rank")
    check("rank " in rank and "running" in rank, f"the chosen rank is shown as {rank!r}")
    comes_true("a rank shows what it says of itself", lambda: text in browser.text("#rank"))
    comes_true("a rank shows what it wrote last",
               lambda: text + " line at the end" in browser.run(
                   "return [...document.querySelectorAll('#rank pre')]"
                   ".map(part => part.textContent).join()"))
    comes_true("progress shows what a worker says", lambda: text in browser.text("#steps"))
    made = browser.run("return document.querySelectorAll('img, script:not([src])').length")
    check(made == 0, "what a worker said became part of the page")
    check("owned" not in browser.run("return document.title"), "what a worker said was run")
    pixels = browser.run("""
        const grid = document.querySelector('#grid');
        const data = grid.getContext('2d').getImageData(0, 0, grid.width, grid.height).data;
        return new Set(data.filter((_, at) => at % 4 === 3)).size;""")
    check(pixels > 1, "nothing is drawn")
    wide = browser.run("return document.documentElement.scrollWidth > innerWidth")
    check(not wide, "the page is wider than its window")
    complaints = browser.complaints()
    check(complaints == [], f"the console says {complaints}")


def check_console(browser):
    """The browser complains of nothing, except that agents of jobs that have ended are gone, and
    that the chosen rank is not there between two attempts."""
    expected = re.compile(r"net::|/ranks/\d+/output .* 404 ")
    complaints = [line for line in browser.complaints() if not expected.search(line)]
    check(complaints == [], f"the console says {complaints}")


def served_metrics(agent):
    with urllib.request.urlopen(agent.url + "metrics", timeout=60) as answer:
        return set(re.findall(r"^# TYPE (\S+)", answer.read().decode(), re.MULTILINE))


def check_examples(agent):
    """What dashboard, rules and the document name is served, once there is progress."""
    json.loads((ROOT / "examples/observe/dashboard.json").read_text())
    for path in [*(ROOT / "examples/observe").iterdir(), ROOT / "docs/observe.md"]:
        named = set(re.findall(r"\belastic_[a-z_]+", path.read_text()))
        bare = {name.removesuffix("_bucket") for name in named}
        bare -= METRICS_OF_ROLES | METRICS_OF_STANDBYS | METRICS_OF_VAULTS
        # A step's time is known after the second one.
        comes_true(f"what {path.name} names is served: {sorted(bare)}",
                   lambda bare=bare: bare <= served_metrics(agent))


def check_not_running(browser):
    """Neither in words nor in the green of what runs."""
    shown = browser.run("""
        const green = getComputedStyle(document.documentElement).getPropertyValue("--run");
        const probe = document.createElement("i");
        probe.style.color = green;
        document.body.append(probe);
        const run = getComputedStyle(probe).color;
        probe.remove();
        return [document.title, document.querySelector("#state").textContent,
                getComputedStyle(document.querySelector("#state")).backgroundColor === run,
                document.querySelector("#attempts").textContent]""")
    title, state, is_green, attempts = shown
    check("running" not in title + state, f"the page says {title!r}, {state!r}")
    check("runs for" not in attempts, f"an attempt goes on: {attempts!r}")
    check(not is_green or state == "succeeded", f"{state!r} is shown in green")


def check_end(browser, elasticrun, folder, album, code, state, legend):
    """All workers end by themselves: the page still shows how, after the server has gone."""
    (folder / "hang-end").unlink(missing_ok=True)
    agent = Agent(elasticrun, folder, 0, FRIENDLY, "--standalone", "--max-restarts", "0",
                  "--rdzv-id", f"ends-by-{code}", "--log-dir", "/dev/null")
    try:
        browser.open(agent.url)
        comes_true("the page shows the workers", lambda: "4 running" in browser.text("#legend"))
        # A worker must not see the file before it has its text.
        (folder / "code").write_text(str(code))
        (folder / "code").rename(folder / "hang-end")
        comes_true("the page says that the agent has ended",
                   lambda: browser.text("#notice") == "The agent has ended.")
        check(agent.process.wait(60) == min(code, 1), f"it ended by {agent.process.returncode}")
        check_not_running(browser)
        check(browser.text("#state") == state, f"the state is {browser.text('#state')!r}")
        check(legend in browser.text("#legend"), f"workers: {browser.text('#legend')!r}")
        check(happened(browser, f"the agent ended, {state}"), "its end is missing among the events")
        check(browser.run("return document.querySelectorAll('.attempt.success').length")
              == (1 if code == 0 else 0), "the last attempt is not over")
        album.add(browser, state)
    finally:
        (folder / "hang-end").unlink(missing_ok=True)
        agent.end(signal.SIGKILL)


def check_return(browser, elasticrun, folder, agent):
    """The agent is killed, and another one serves at its port."""
    agent.end(signal.SIGKILL)
    comes_true("the page says that the agent is gone",
               lambda: "The agent is gone" in browser.text("#notice"))
    check_not_running(browser)
    check(browser.text("#state") == "gone", f"the state is {browser.text('#state')!r}")
    port = agent.url.rsplit(":", 1)[1].strip("/")
    other = Agent(elasticrun, folder, port, HOSTILE, "--standalone", "--rdzv-id", "again",
                  "--log-dir", "/dev/null")
    try:
        comes_true("the page shows the new agent's job",
                   lambda: not browser.text("#notice") and browser.text("#state") == "running"
                   and "4 running" in browser.text("#legend"))
        numbers = browser.run("return document.querySelectorAll('.attempt').length")
        check(numbers == 1, f"{numbers} attempts are shown of a job that has just begun")
    finally:
        other.end()


def hold_answer(browser):
    """An answer of now, "running", reaches the page after it has said that the job has ended."""
    browser.run("""
        const ask = window.fetch;
        window.fetch = async (...request) => {
          window.fetch = ask;
          const answer = await ask(...request), document = await answer.json();
          window.held = true;
          while (!$("notice").textContent) await new Promise(resolve => setTimeout(resolve, 10));
          setTimeout(() => { window.held = false; }, 100);
          return { ok: true, status: answer.status, json: async () => document };
        };
        feed.refresh();""")
    comes_true("an answer is held", lambda: browser.run("return window.held === true"))


def check_roles(browser, elasticrun, folder, text):
    """The page of a job of several roles, and that of one of them."""
    job = Job(elasticrun, folder, text)
    try:
        browser.open(job.url)
        comes_true("the page shows that both roles run", lambda: browser.run("""
            return [...document.querySelectorAll('.role.running h3 b')]
              .map(state => state.textContent).join()""") == "running, ready,running, ready")
        facts = browser.text(".role[data-role=rollout]")
        for part in ["restart-worker", "trainer:ready", "0 of 10", "replicas2", "http"]:
            check(part in facts, f"{part!r} is not shown of the replicas: {facts!r}")
        ports = {str(worker["ports"]["http"]) for worker in job.job()["roles"][1]["workers"]}
        check(all(port in facts for port in ports), f"{ports} are not shown: {facts!r}")
        check(served_metrics(job) >= METRICS_OF_ROLES, "the state of a role is not a metric")
        victim = job.job("rollout")["workers"][1]["pid"]
        os.kill(victim, signal.SIGKILL)
        comes_true("the page shows that a replica has started again",
                   lambda: "1 of 10" in browser.text(".role[data-role=rollout]")
                   and "replicas2" in browser.text(".role[data-role=rollout]"))
        check("0 of 3" in browser.text(".role[data-role=trainer]"), "the trainer started again")
        check_console(browser)
        browser.run("document.querySelector('.role[data-role=trainer] a').click()")
        comes_true("the page of a role shows its workers",
                   lambda: "4 running" in browser.text("#legend"))
        check(browser.text("#job") == "grpo/trainer", f"it is of {browser.text('#job')!r}")
        comes_true("progress shows what a worker says", lambda: text in browser.text("#steps"))
        made = browser.run("return document.querySelectorAll('img, script:not([src])').length")
        check(made == 0, "what a worker said became part of the page")
        browser.run("document.querySelector('nav a').click()")
        comes_true("the page of the job is back",
                   lambda: browser.run("return document.querySelectorAll('.role').length") == 2)
        hold_answer(browser)
        (folder / "code").write_text("0")
        (folder / "code").rename(folder / "hang-end")
        comes_true("the page says that the job has ended",
                   lambda: browser.text("#notice") == "The job has ended.")
        comes_true("the held answer arrives", lambda: browser.run("return window.held === false"))
        check(browser.text("#state") == "succeeded", f"the state is {browser.text('#state')!r}")
        check(job.process.wait(60) == 0, f"it ended by {job.process.returncode}")
        check_console(browser)
    finally:
        (folder / "hang-end").unlink(missing_ok=True)
        job.end(signal.SIGKILL)


def check_output(browser, elasticrun, folder):
    """Who has the token follows the output of a rank of the other node, and sees all in a table."""
    folder = folder / "output"
    folder.mkdir()
    token = folder / "token"
    token.write_text("0123456789abcdef")
    token.chmod(0o600)
    port = reserved_port()
    meeting = ["--nnodes", "2", "--rdzv-id", "output", "--rdzv-backend", "c10d", "--rdzv-endpoint",
               f"localhost:{port}", "--status-token-file", str(token), "--redirects", "3",
               "--log-dir", str(folder / "logs")]
    agents = [Agent(elasticrun, folder, 0, FRIENDLY, *meeting)]
    try:
        # The first one to come shows the whole job.
        comes_true("the first node serves", lambda: is_open(port))
        agents.append(Agent(elasticrun, folder, 0, FRIENDLY, *meeting))
        browser.open(agents[0].url + "?token=" + token.read_text())
        shown = "return job && job.shows_output && ranks.size"
        comes_true("the page shows the ranks of both nodes", lambda: browser.run(shown) == 8)
        facts = browser.text("#facts")
        check(f"train.py {FRIENDLY} {folder}/hang-" in facts, f"no arguments are shown: {facts!r}")
        browser.run("select([...ranks.keys()].find(rank => !isOwn(rank)))")
        written = "return document.querySelector('#rank').textContent"
        comes_true("the page follows a rank of the other node",
                   lambda: FRIENDLY + " line at the end" in browser.run(written))
        browser.run("document.querySelector('#table summary').click()")
        rows = "return document.querySelectorAll('#rows tr').length"
        comes_true("each rank has a row in the table", lambda: browser.run(rows) == 8)
        check_console(browser)
    finally:
        for agent in agents:
            agent.end(signal.SIGKILL)


def main():
    arguments = argparse.ArgumentParser(description="Tests the page of a job's status.")
    arguments.add_argument("elasticrun", type=lambda path: str(pathlib.Path(path).resolve()))
    arguments.add_argument("--screenshots", type=pathlib.Path, metavar="FOLDER",
                           help="where to put pictures of it, with friendly workers")
    options = arguments.parse_args()
    album = Album(options.screenshots)
    for tool in ["chromedriver", "chromium"]:
        if not shutil.which(tool):
            print(f"page.py: {tool} is missing; tests/run.sh installs it")
            sys.exit(1 if os.environ.get("ELASTIC_NOTHING_MISSING") == "1" else SKIPPED)
    with contextlib.ExitStack() as stack:
        folder = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        endpoint = reserved_port()
        meeting = ["--nnodes", "2:3", "--rdzv-id", "job", "--rdzv-backend", "c10d",
                   "--rdzv-endpoint", f"localhost:{endpoint}",
                   "--rdzv-conf", "last_call_timeout=0.2", "--on-failure", "replace"]
        text = FRIENDLY if options.screenshots else HOSTILE
        logs = str(folder / "logs")
        # Another agent has its port later; one that the kernel chose might be taken by then.
        agent = Agent(options.elasticrun, folder, reserved_port(), text, *meeting, "--log-dir",
                      logs)
        stack.callback(agent.end, signal.SIGKILL)
        comes_true("the first node serves", lambda: is_open(endpoint))
        peer = Agent(options.elasticrun, folder, 0, text, *meeting, "--log-dir",
                     str(folder / "peer"))
        stack.callback(peer.end, signal.SIGKILL)
        browser = Browser(folder)
        stack.callback(browser.close)
        check_attempts(browser, agent, folder)
        check_head(browser, agent, folder)
        check_curves(browser, "loss" if options.screenshots else "loss <b>")
        check_usage(browser)
        check_details(browser, text)
        check_hang(browser, agent, peer, folder)
        third = Agent(options.elasticrun, folder, 0, text, *meeting, "--log-dir", "/dev/null")
        stack.callback(third.end, signal.SIGKILL)
        check_join(browser, agent)
        check_examples(agent)
        check_stall(browser)
        check_many_ranks(browser)
        comes_true("the end is estimated", lambda: "left" in browser.text("#steps"))
        album.add(browser, "status")
        check_return(browser, options.elasticrun, folder, agent)
        check_end(browser, options.elasticrun, folder, album, 0, "succeeded", "4 succeeded")
        check_end(browser, options.elasticrun, folder, album, 3, "failed", "failed")
        check_real_stall(browser, options.elasticrun, folder, album)
        check_replacement(browser, options.elasticrun, folder, album)
        check_roles(browser, options.elasticrun, folder, text)
        check_output(browser, options.elasticrun, folder)
    print("the page shows what the journal says")


if __name__ == "__main__":
    main()
