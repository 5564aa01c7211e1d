#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What does a launcher cost while its 8 workers run? Its memory and how often it wakes up.

VmRSS and VmHWM, the most that it was, after 10 s, and the voluntary context switches of all of its
threads in the 20 s after that.
"""

import os
import pathlib
import signal
import time

from contenders import Stamps, contenders, describe_machine, end, parse_arguments, start

WORKERS = 8
SETTLE, WATCH = 10, 20


def field(path, name):
    for line in open(path):
        if line.startswith(name + ":"):
            return int(line.split()[1])
    return 0


def wake_ups(pid):
    return sum(field(task / "status", "voluntary_ctxt_switches")
               for task in pathlib.Path(f"/proc/{pid}/task").iterdir())


def main():
    arguments = parse_arguments(__doc__.splitlines()[0], runs=1)
    describe_machine(arguments)
    stamps = Stamps()
    program = [arguments.build / "tests" / "puppet", "stamp", stamps.path, "hang"]
    print(f"{WORKERS} idle workers | VmRSS MiB | VmHWM MiB | wake-ups in {WATCH} s")
    for name, command in contenders(arguments, WORKERS, program).items():
        pid = start(command)
        started = stamps.take("start", WORKERS)
        time.sleep(SETTLE)
        memory, most = (field(f"/proc/{pid}/status", name) / 1024 for name in ("VmRSS", "VmHWM"))
        before = wake_ups(pid)
        time.sleep(WATCH)
        print(f"| {name} | {memory:.1f} | {most:.1f} | {wake_ups(pid) - before} |")
        end(pid)
        for worker, _ in started:  # the bare loop forwards nothing
            try:
                os.kill(worker, signal.SIGKILL)
            except ProcessLookupError:
                pass


if __name__ == "__main__":
    main()
