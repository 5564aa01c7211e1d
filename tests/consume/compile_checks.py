#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What must compile alone, and what must not compile.

  compile_checks.py --cxx g++ --include DIR headers DIR      each header of the library by itself
  compile_checks.py --cxx g++ --include DIR forbidden FILE   the marked lines of FILE are refused

A line that ends in "// refused: deleted" must be an error whose message says that; no
other line may be one.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror"]
REFUSED = re.compile(r"// refused: (.+)$")


def compiler_call(options):
    call = [options.cxx, "-std=c++20", "-fsyntax-only"]
    if "clang" in os.path.basename(options.cxx):
        call.append("-DASIO_HAS_CO_AWAIT=1")
    call += [f"-D{define}" for define in options.define]
    # The system's own directory as -I or -isystem would change the order of the standard headers.
    return call + [f"-I{folder}" for folder in options.include if folder != "/usr/include"]


def compiled(call):
    """What the compiler says, and whether it was content."""
    run = subprocess.run(call, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         errors="replace")
    return run.stdout, run.returncode == 0


def check_headers(options, call):
    root = pathlib.Path(options.path)
    headers = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.hpp"))
    calls = [[*call, *WARNINGS, "-include", header, "-x", "c++", os.devnull] for header in headers]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(compiled, calls))
    failed = [header for header, (_, content) in zip(headers, results) if not content]
    for header, (output, content) in zip(headers, results):
        if not content:
            print(f"==== {header} does not compile alone\n{output[:3000]}")
    print(f"{len(headers)} headers, {len(failed)} do not compile alone")
    return bool(failed) or not headers


def check_forbidden(options, call):
    lines = pathlib.Path(options.path).read_text(encoding="utf-8").splitlines()
    expected = {number: found[1] for number, line in enumerate(lines, 1)
                if (found := REFUSED.search(line))}
    output, _ = compiled([*call, "-w", options.path])
    errors = {}
    for number, message in re.findall(re.escape(options.path) + r":(\d+):\d+: error: (.*)", output):
        errors.setdefault(int(number), []).append(message)
    failed = False
    for number in sorted(set(expected) | set(errors)):
        if not any(expected.get(number, "\0") in message for message in errors.get(number, [])):
            print(f"{options.path}:{number}: {expected.get(number, 'no error')} was expected, "
                  f"the compiler says {errors.get(number, 'nothing')}")
            failed = True
    print(f"{len(expected)} forbidden calls")
    if failed or not expected:
        print(output[:5000])
    return failed or not expected


def main():
    arguments = argparse.ArgumentParser(description="Compiles what must and must not compile.")
    arguments.add_argument("--cxx", default="g++")
    arguments.add_argument("--include", action="append", default=[])
    arguments.add_argument("--define", action="append", default=[])
    arguments.add_argument("--jobs", type=int, default=min(8, os.cpu_count() or 1))
    arguments.add_argument("what", choices=["headers", "forbidden"])
    arguments.add_argument("path")
    options = arguments.parse_args()
    check = check_headers if options.what == "headers" else check_forbidden
    sys.exit(1 if check(options, compiler_call(options)) else 0)


if __name__ == "__main__":
    main()
