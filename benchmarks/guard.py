#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What do guards cost, and how soon is nothing left?

elasticrun with a guard for each worker (`--guard required`) and without (`--guard none`), in turns:
8 x /bin/true; the stop and the death of a job of 8 workers that have each left a child, a daemon
that forked twice, and one that dropped its environment too; what a guard takes of memory, and how
often it is woken while its worker idles. The memory that is charged needs root and a memory cgroup.
"""

import contextlib
import os
import pathlib
import select
import signal
import statistics
import time

from contenders import describe_machine, parse_arguments, row, start, wait

WORKERS, LEFT_BY_EACH = 8, 3
SETTLE, WATCH = 2, 20
MANY = 64


def command(arguments, guard, workers, *program):
    return [str(word) for word in (arguments.build / "elasticrun", "--standalone", "--guard", guard,
                                   "--nproc-per-node", workers, "--no-python", *program)]


def tree(mark):
    """A worker that leaves processes behind, known by an argument that each of them keeps."""
    sleep = f"sleep {mark}"
    daemon = f"(setsid env -i /bin/sh -c '{sleep} & exit' &)"
    return "/bin/sh", "-c", f"{sleep} & (setsid {sleep} &) ; {daemon} ; {sleep}"


def marked(mark):
    found = []
    for process in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            if (process / "cmdline").read_bytes() == f"sleep\0{mark}\0".encode():
                found.append(int(process.name))
    return found


def await_count(mark, count):
    deadline = time.monotonic() + 30
    while len(marked(mark)) != count:
        if time.monotonic() > deadline:
            raise SystemExit(f"{len(marked(mark))} of {count} processes run")
        time.sleep(0.002)
    return marked(mark)


def guards_of(launcher):
    children = pathlib.Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    return [int(pid) for pid in children
            if pathlib.Path(f"/proc/{pid}/comm").read_text() == "elastic-guard\n"]


def trues(arguments, guard):
    began = time.monotonic_ns()
    if wait(start(command(arguments, guard, WORKERS, "/bin/true"))) != 0:
        raise SystemExit("elasticrun failed")
    return (time.monotonic_ns() - began) / 1e6


def end_of_trees(arguments, guard, number):
    """From a signal to elasticrun until nothing is left, ms; None and who is left where some is."""
    mark = f"86400.{time.monotonic_ns()}"
    launcher = start(command(arguments, guard, WORKERS, *tree(mark)))
    pids = await_count(mark, WORKERS * (LEFT_BY_EACH + 1))
    ends = [os.pidfd_open(pid) for pid in pids]
    began = time.monotonic_ns()
    os.kill(launcher, number)
    took = None
    for end in ends:
        if not select.select([end], [], [], 0.5)[0]:
            break
    else:
        took = (time.monotonic_ns() - began) / 1e6
    for end in ends:
        os.close(end)
    wait(launcher)
    left = marked(mark)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    return took, len(left)


def field(path, name):
    return sum(int(line.split()[1]) for line in open(path) if line.startswith(name + ":"))


def idle(arguments):
    """Of each guard: private, proportional and page table memory in kB, wake-ups."""
    launcher = start(command(arguments, "required", WORKERS, "/bin/sleep", "1000"))
    time.sleep(SETTLE)
    guards = guards_of(launcher)

    def switches(pid):
        return field(f"/proc/{pid}/status", "voluntary_ctxt_switches")

    before = [switches(pid) for pid in guards]
    time.sleep(WATCH)
    seen = []
    for pid, woken in zip(guards, before):
        rollup = f"/proc/{pid}/smaps_rollup"
        seen.append((field(rollup, "Private_Clean") + field(rollup, "Private_Dirty"),
                     field(rollup, "Pss"), field(f"/proc/{pid}/status", "VmPTE"),
                     switches(pid) - woken))
    os.kill(launcher, signal.SIGTERM)
    wait(launcher)
    return seen


def charged(arguments, guard):
    """What the kernel charges for a job of idle workers in all, kB; None without a cgroup."""
    for root, usage in (("/sys/fs/cgroup/memory", "memory.usage_in_bytes"),
                        ("/sys/fs/cgroup", "memory.current")):
        group = pathlib.Path(root) / f"elastic_benchmark_{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if not (group / usage).exists():
                continue
            job = command(arguments, guard, MANY, "/bin/sleep", "1000")
            launcher = start(["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"',
                              str(group / "cgroup.procs"), *job])
            time.sleep(SETTLE)
            taken = int((group / usage).read_text()) / 1024
            os.kill(launcher, signal.SIGTERM)
            wait(launcher)
            return taken
        finally:
            with contextlib.suppress(OSError):
                group.rmdir()
    return None


def main():
    arguments = parse_arguments(__doc__.splitlines()[0], runs=30)
    describe_machine(arguments)
    policies = {"guarded": "required", "unguarded": "none"}

    times = {name: [] for name in policies}
    for run in range(arguments.runs + 2):
        for name, guard in policies.items():
            took = trues(arguments, guard)
            if run >= 2:  # the first two warm the caches
                times[name].append(took)
    print(f"{WORKERS} x /bin/true, ms | median | quartiles | of unguarded")
    for name, values in times.items():
        print(row(name, values, times["unguarded"]))
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(f"guards add {medians['guarded'] - medians['unguarded']:.2f} ms\n")

    for number, text in ((signal.SIGTERM, "stop"), (signal.SIGKILL, "SIGKILL")):
        ends = {name: [] for name in policies}
        left = {name: 0 for name in policies}
        for _ in range(arguments.runs):
            for name, guard in policies.items():
                took, survivors = end_of_trees(arguments, guard, number)
                ends[name].append(took)
                left[name] += survivors
        of = arguments.runs * WORKERS * (LEFT_BY_EACH + 1)
        print(f"{text} of {WORKERS} trees until nothing is left, ms | median | quartiles | worst | "
              "left behind")
        for name, values in ends.items():
            done = sorted(value for value in values if value is not None)
            if done:
                low, high = done[len(done) // 4], done[3 * len(done) // 4]
                figures = (f"{statistics.median(done):.1f} | {low:.1f} - {high:.1f} | "
                           f"{done[-1]:.1f}")
            else:
                figures = " | | "
            print(f"| {name} | {figures} | {left[name]} of {of} |")
        print()

    print(f"{WORKERS} idle guards | private kB | PSS kB | page tables kB | wake-ups in {WATCH} s")
    for private, proportional, tables, woken in idle(arguments):
        print(f"| guard | {private} | {proportional} | {tables} | {woken} |")
    with_guards, without = charged(arguments, "required"), charged(arguments, "none")
    if with_guards is not None and without is not None:
        print(f"\ncharged for {MANY} idle workers: {with_guards:.0f} kB with guards, {without:.0f} "
              f"without: {(with_guards - without) / MANY:.0f} kB a guard")


if __name__ == "__main__":
    main()
