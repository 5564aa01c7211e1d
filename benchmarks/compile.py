#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How long does it take, and how much memory, to compile the library and what uses it?

There are two programs: one includes a header and has an empty main; the other launches a job and
prints its result, as a launcher does. Each is compared with Asio and fmt, on which the library
stands, by the same flags in the same run: user time and the peak memory of the compiler, medians
of the runs, taken in turn. So the ratios hold on a machine that does something else as well.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
EMPTY = "int main() {}\n"
REFERENCE = "#include <asio.hpp>\n#include <fmt/format.h>\n" + EMPTY
UMBRELLA = "#include <elastic/elastic.hpp>\n" + EMPTY
WORKER = "#include <elastic/worker.hpp>\n" + EMPTY
LAUNCH = """\
#include <elastic/elastic.hpp>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <asio/use_future.hpp>

#include <cstdio>

int main() {
  elastic::launch_config config;
  config.workers.program = "true";
  asio::io_context context;
  auto job = asio::co_spawn(context, elastic::launch(config), asio::use_future);
  context.run();
  const elastic::run_result result = job.get();
  std::printf("%s: %s\\n", to_string(result.state).data(), result.reason.c_str());
}
"""
COMPILED = ["-DELASTIC_SEPARATE_COMPILATION=1"]
CASES = [
    # (name, program, flags of its own, flags of it and the reference)
    *((f"{what}, compiled once, {level}", program, COMPILED, [level])
      for what, program in (("empty main", UMBRELLA), ("launches a job", LAUNCH))
      for level in ("-O0", "-Og", "-O2")),
    ("`<elastic/worker.hpp>`, compiled once, -O0", WORKER, COMPILED, ["-O0"]),
    *((f"{what}, header-only, {level}", program, [], [level])
      for what, program in (("empty main", UMBRELLA), ("launches a job", LAUNCH))
      for level in ("-O0", "-Og", "-O2")),
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

    def cost(self, program, flags):
        """User seconds and GiB that a program takes to compile."""
        source = self.folder / "source.cpp"
        source.write_text(program)
        usage = usage_of([*self.call, *flags, "-c", str(source), "-o",
                          str(self.folder / "object.o")])
        return usage.ru_utime, usage.ru_maxrss / 1024 ** 2


def compare(compiler, runs, only):
    print("| what | user s | memory, GiB | asio + fmt: user s | memory, GiB | ratio (s) |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, program, own, flags in CASES:
        if only not in name:
            continue
        samples = [(*compiler.cost(program, [*own, *flags]), *compiler.cost(REFERENCE, flags))
                   for _ in range(runs)]
        seconds, memory, base, base_memory = map(statistics.median, zip(*samples))
        print(f"| {name} | {seconds:.1f} | {memory:.2f} | {base:.1f} | {base_memory:.2f} | "
              f"{seconds / base:.1f} |", flush=True)


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
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--only", default="", metavar="WORDS",
                           help="the cases whose name has these words, such as 'compiled once'")
    arguments.add_argument("--no-library", action="store_true", help="leave the library itself out")
    options = arguments.parse_args()
    version = subprocess.run([options.cxx, "--version"], check=True, capture_output=True, text=True)
    print(version.stdout.splitlines()[0])
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(options, pathlib.Path(folder))
        compare(compiler, options.runs, options.only)
        if not options.no_library:
            build_library(options, pathlib.Path(folder) / "build")


if __name__ == "__main__":
    main()
