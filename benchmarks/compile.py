#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How long does it take to compile what includes the library, and the library itself?

Each header is put before an empty main, and compared with Asio and fmt, on which it stands, by the
same flags in the same run: user time, the median of the runs, taken in turn. So the ratios hold
on a machine that does something else as well.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
REFERENCE = "#include <asio.hpp>\n#include <fmt/format.h>\n"
COMPILED = ["-DELASTIC_SEPARATE_COMPILATION=1"]
UMBRELLA = "#include <elastic/elastic.hpp>\n"
CASES = [
    # (name, includes, flags of its own, flags of it and the reference)
    ("umbrella, compiled mode, -O0", UMBRELLA, COMPILED, ["-O0"]),
    ("umbrella, compiled mode, -O2", UMBRELLA, COMPILED, ["-O2"]),
    ("worker.hpp, compiled mode, -O0", "#include <elastic/worker.hpp>\n", COMPILED, ["-O0"]),
    ("umbrella, header-only, -Og", UMBRELLA, [], ["-Og"]),
    ("umbrella, header-only, -O2", UMBRELLA, [], ["-O2"]),
]


def usage_of(call):
    """What a command and all its processes used; it must succeed."""
    _, status, usage = os.wait4(subprocess.Popen(call).pid, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise subprocess.CalledProcessError(code, call)
    return usage


class Compiler:
    def __init__(self, options, folder):
        self.folder = folder
        self.call = [options.cxx, "-std=c++20", f"-I{ROOT / 'include'}", "-DELASTIC_HAS_TLS=1"]
        if "clang" in os.path.basename(options.cxx):
            self.call.append("-DASIO_HAS_CO_AWAIT=1")

    def seconds(self, includes, flags):
        source = self.folder / "source.cpp"
        source.write_text(includes + "int main() {}\n")
        return usage_of([*self.call, *flags, "-c", str(source), "-o",
                         str(self.folder / "object.o")]).ru_utime


def compare(compiler, runs):
    print("| what | user s | asio + fmt, user s | ratio |\n| --- | ---: | ---: | ---: |")
    for name, includes, own, flags in CASES:
        samples = [(compiler.seconds(includes, [*own, *flags]),
                    compiler.seconds(REFERENCE, flags)) for _ in range(runs)]
        ours = statistics.median(sample[0] for sample in samples)
        reference = statistics.median(sample[1] for sample in samples)
        print(f"| {name} | {ours:.1f} | {reference:.1f} | {ours / reference:.1f} |", flush=True)


def build_library(options, folder):
    """elastic::compiled as users build it, and the memory of its largest unit."""
    subprocess.run(["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja",
                    f"-DCMAKE_CXX_COMPILER={options.cxx}", "-DCMAKE_BUILD_TYPE=None",
                    "-DCMAKE_CXX_FLAGS=-Og", "-DELASTIC_BUILD_TESTS=OFF",
                    "-DELASTIC_BUILD_EXAMPLES=OFF", "-DELASTIC_BUILD_BENCHMARKS=OFF"],
                   check=True, stdout=subprocess.DEVNULL)
    begin = time.monotonic()
    usage = usage_of(["cmake", "--build", str(folder), "--target", "elastic_compiled"])
    wall = time.monotonic() - begin
    print(f"library, -Og, {os.cpu_count()} cores: {wall:.0f} s, {usage.ru_utime:.0f} s of user "
          f"time, at most {usage.ru_maxrss / 1024 ** 2:.1f} GiB for one unit")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--cxx", default="g++")
    arguments.add_argument("--runs", type=int, default=5)
    arguments.add_argument("--no-library", action="store_true", help="leave the library itself out")
    options = arguments.parse_args()
    version = subprocess.run([options.cxx, "--version"], check=True, capture_output=True, text=True)
    print(version.stdout.splitlines()[0])
    with tempfile.TemporaryDirectory() as folder:
        compare(Compiler(options, pathlib.Path(folder)), options.runs)
        if not options.no_library:
            build_library(options, pathlib.Path(folder) / "build")


if __name__ == "__main__":
    main()
