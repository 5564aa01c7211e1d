#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How fast does output of workers get through, in MB/s of what the workers wrote?

Workers write lines of 100 bytes as fast as they can, one worker and four, by writes of 4 KiB as
stdio does where its output is a pipe, or of 256 KiB where it says so. `cat` and `tee FILE`, one for
each worker, are the limits: they know nothing of lines. Consoles are /dev/null, or a `cat` where it
says so; files are in a memory file system, so that no disk is measured. All take turns. What a
command needs for no lines at all is taken off.
"""

import os
import pathlib
import shlex
import statistics
import subprocess
import tempfile
import time

from contenders import ROOT, describe_machine, find_torches, parse_arguments

LINE = 100
MEGABYTES, MEGABYTES_OF_TORCHRUN = 1000, 240
WORKERS = (1, 4)


def small_writes(source):
    """A command that writes so many lines of a file, 4 KiB at a time."""
    return lambda lines: ["head", "-c", str(lines * LINE), str(source)]


def large_writes(puppet):
    return lambda lines: [str(puppet), "flood", str(lines), str(LINE)]


def pipelines(writer, end):
    """`workers` shell pipelines side by side."""
    def command(workers, lines, folder):
        one = f"{shlex.join(writer(lines))} | {end}"
        parts = [one.replace("FILE", f"{folder}/{i}") + " &" for i in range(workers)]
        return " ".join(parts) + " wait"
    return command


def launcher(program, options, writer, end="> /dev/null"):
    def command(workers, lines, folder):
        places = [word.replace("FILE", str(folder)) for word in options]
        words = [*map(str, program), "--standalone", "--nproc_per_node", str(workers),
                 "--no_python", "--tee", "1", *places, *writer(lines)]
        return f"{shlex.join(words)} {end}"
    return command


def contenders(arguments, source):
    write = small_writes(source)
    write_much = large_writes(arguments.build / "tests" / "puppet")
    ours = [arguments.build / "elasticrun"]
    no_files, files = ["--log-dir", "/dev/null"], ["--log-dir", "FILE"]
    stamped = ["--log-line-prefix-template", "${time} ${hostname} ${role_name} ${rank} ${pid}: "]
    found = {
        "cat": pipelines(write, "cat > /dev/null"),
        "elasticrun": launcher(ours, no_files, write),
        "elasticrun with time and pid": launcher(ours, no_files + stamped, write),
        "elasticrun with json": launcher(ours, no_files + ["--log-format", "json"], write),
        "elasticrun with merged lines": launcher(ours, no_files + ["--merge-output"], write),
        "cat (256 KiB writes)": pipelines(write_much, "cat > /dev/null"),
        "elasticrun (256 KiB writes)": launcher(ours, no_files, write_much),
        "tee FILE": pipelines(write, "tee FILE > /dev/null"),
        "elasticrun with files": launcher(ours, files, write),
        "elasticrun with files cut at 16M": launcher(
            ours, files + ["--log-max-size", "16M"], write),
        "elasticrun with files and a filter": launcher(
            ours, files + ["--duplicate-stdout-filters", "00000"], write),
        "cat | cat": pipelines(write, "cat | cat > /dev/null"),
        "elasticrun | cat": launcher(ours, no_files, write, "| cat > /dev/null"),
    }
    for release, python in find_torches(arguments.python).items():
        found[f"torchrun {release}"] = launcher(
            [python, ROOT / "benchmarks" / "torchrun_113.py", "--monitor_interval", "0.1"],
            ["--log_dir", "FILE"], write)
    if arguments.only:
        found = {name: found[name] for name in arguments.only.split(",") if name in found}
    return found


def seconds(command, workers, lines):
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    with tempfile.TemporaryDirectory(prefix="elastic_benchmark_", dir="/dev/shm") as folder:
        text = command(workers, lines, pathlib.Path(folder))
        start = time.monotonic()
        subprocess.run(["bash", "-c", text], check=True, env=environment,
                       stderr=subprocess.DEVNULL)
        return time.monotonic() - start


def megabytes_per_second(name, command, workers):
    total = MEGABYTES_OF_TORCHRUN if name.startswith("torchrun") else MEGABYTES
    took = (seconds(command, workers, total * 1_000_000 // LINE // workers)
            - seconds(command, workers, 0))
    return total / took


def main():
    arguments = parse_arguments(__doc__.splitlines()[0], runs=7)
    describe_machine(arguments)
    with tempfile.NamedTemporaryFile(dir="/dev/shm", prefix="elastic_benchmark_") as source:
        lines = MEGABYTES * 1_000_000 // LINE
        subprocess.run(large_writes(arguments.build / "tests" / "puppet")(lines), stdout=source,
                       check=True)
        compare(arguments, contenders(arguments, source.name))


def compare(arguments, found):
    rates = {(name, workers): [] for name in found for workers in WORKERS}
    for run in range(arguments.runs + 1):
        for name, command in found.items():
            for workers in WORKERS:
                rate = megabytes_per_second(name, command, workers)
                if run > 0:  # the first one warms up
                    rates[name, workers].append(rate)
    limit = {"cat": "cat", "elasticrun": "cat", "cat | cat": "cat | cat",
             "elasticrun with time and pid": "cat", "elasticrun with json": "cat",
             "elasticrun with merged lines": "cat",
             "cat (256 KiB writes)": "cat (256 KiB writes)",
             "elasticrun (256 KiB writes)": "cat (256 KiB writes)", "elasticrun | cat": "cat | cat"}
    print("median (quartiles) in MB/s | 1 worker | of the limit | 4 workers | of the limit | 4 / 1")
    for name in found:
        cells, medians = [], []
        for workers in WORKERS:
            ordered = sorted(rates[name, workers])
            median = statistics.median(ordered)
            medians.append(median)
            bare = rates.get((limit.get(name, "tee FILE"), workers))
            ratio = f"{median / statistics.median(bare):.2f}" if bare else ""
            cells.append(f"{median:.0f} ({ordered[len(ordered) // 4]:.0f} - "
                         f"{ordered[3 * len(ordered) // 4]:.0f}) | {ratio}")
        print(f"| {name} | {cells[0]} | {cells[1]} | {medians[1] / medians[0]:.2f} |")
    print(f"\nload at the end {os.getloadavg()[0]:.2f}")


if __name__ == "__main__":
    main()
