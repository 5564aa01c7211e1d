#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Builds the fuzzer with clang, AddressSanitizer and UBSan, and runs every target.

  run.py --seconds 10              each target for so long, on as many cores as there are
  run.py --total 110               all of them together for so long, as in CI
  run.py --seconds 3600 torch_pickle
  run.py --build                   builds only
  run.py --keep …                  adds to the kept inputs what reaches new code (minimised)

New inputs are looked for in build/fuzz/corpus; what breaks a promise is written to build/fuzz/found
and makes the exit status 1.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = ROOT / "build" / "fuzz"


def find_clang():
    for version in range(30, 15, -1):
        if found := shutil.which(f"clang++-{version}"):
            return found
    sys.exit("tests/fuzz/run.py: no clang from 16 on here")


def build():
    if not (BUILD / "CMakeCache.txt").exists():
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        subprocess.run(["cmake", "--preset", "fuzz", *generator,
                        f"-DCMAKE_CXX_COMPILER={find_clang()}",
                        f"-DCMAKE_CXX_COMPILER_LAUNCHER={shutil.which('ccache') or ''}"],
                       cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    compilation = subprocess.run(
        ["cmake", "--build", BUILD, "--target", "fuzzer", "-j", str(os.cpu_count())],
        stdout=subprocess.PIPE, text=True)
    if compilation.returncode != 0:
        sys.exit(compilation.stdout)
    return BUILD / "tests" / "fuzz" / "fuzzer"


def target_names(fuzzer):
    output = subprocess.run([fuzzer], capture_output=True, text=True).stderr
    return re.findall(r"^  (\w+)$", output, re.MULTILINE)


def run_target(fuzzer, name, seconds, more):
    """What libFuzzer says at its end, and whether every promise was kept."""
    kept, new, found = HERE / "corpus" / name, BUILD / "corpus" / name, BUILD / "found"
    for folder in (kept, new, found):
        folder.mkdir(parents=True, exist_ok=True)
    call = [fuzzer, name, f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048",
            "-max_len=65536", "-print_final_stats=1", *more, f"-artifact_prefix={found}/{name}-",
            new, kept]
    run = subprocess.run(call, capture_output=True, text=True, errors="replace")
    return name, run.returncode == 0, run.stderr


def keep(fuzzer, name):
    """Adds what reaches new code to the kept inputs."""
    kept, new = HERE / "corpus" / name, BUILD / "corpus" / name
    subprocess.run([fuzzer, name, "-merge=1", kept, new], check=True, stderr=subprocess.DEVNULL)


def main():
    arguments = argparse.ArgumentParser(description="Runs the fuzz targets.")
    arguments.add_argument("--seconds", type=int, default=10, help="for each target")
    arguments.add_argument("--total", type=int, help="for all targets together")
    arguments.add_argument("--build", action="store_true", help="build only")
    arguments.add_argument("--keep", action="store_true")
    arguments.add_argument("targets", nargs="*")
    options = arguments.parse_args()
    fuzzer = build()
    if options.build:
        return
    names = options.targets or target_names(fuzzer)
    more = []
    if options.total:
        options.seconds = max(1, options.total * os.cpu_count() // len(names))
        # What CI tries is the same each time, so that it fails by a change only.
        more = ["-seed=1"]
    broken = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = pool.map(lambda name: run_target(fuzzer, name, options.seconds, more), names)
        for name, is_fine, output in runs:
            count = re.search(r"number_of_executed_units: (\d+)", output)
            print(f"{name:20} {count[1] if count else '?':>10} runs  "
                  f"{'ok' if is_fine else 'BROKEN'}", flush=True)
            if not is_fine:
                broken += 1
                print(output[-4000:])
            elif options.keep:
                keep(fuzzer, name)
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
