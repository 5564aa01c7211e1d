#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How long does it take, and how much memory, to compile the library and what uses it?

Three programs are compared with Asio and fmt, on which the library stands, by the same flags in the
same run: one includes a header and has an empty main; one launches a job and prints its result, as
a launcher does; one is the example that composes an agent of its own. The figures are user time and
the peak memory of the compiler, medians of the runs, taken in turn, so the ratios hold on a machine
that does something else as well. With `--before` each program is also compiled, in turn, against
the headers of another checkout.

Then come two units that include the single header and are linked, in times of one such unit, and
the library itself: as it is built for debugging, and the user time of a release build.
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
COMPOSED = (ROOT / "examples" / "11_compose_your_own_agent.cpp").read_text()
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
    ("composes an agent, compiled once, -O2", COMPOSED, COMPILED, ["-O2"]),
    ("`<elastic/worker.hpp>`, compiled once, -O0", WORKER, COMPILED, ["-O0"]),
    *((f"{what}, header-only, {level}", program, [], [level])
      for what, program in (("empty main", UMBRELLA), ("launches a job", LAUNCH))
      for level in ("-O0", "-Og", "-O2")),
]


def usage_of(call, output=None):
    """What a command and all its processes used; it must succeed."""
    _, status, usage = os.wait4(subprocess.Popen(call, stdout=output).pid, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise subprocess.CalledProcessError(code, call)
    return usage


class Compiler:
    def __init__(self, options, folder):
        self.folder = folder
        self.call = [options.cxx, "-std=c++20", "-DELASTIC_HAS_TLS=1"]
        if "clang" in os.path.basename(options.cxx):
            self.call.append("-DASIO_HAS_CO_AWAIT=1")

    def cost(self, program, flags, root=ROOT, name="source"):
        """User seconds and GiB that a program takes to compile."""
        source = self.folder / f"{name}.cpp"
        source.write_text(program)
        usage = usage_of([*self.call, f"-I{root / 'include'}", *flags, "-c", str(source), "-o",
                          str(source.with_suffix(".o"))])
        return usage.ru_utime, usage.ru_maxrss / 1024 ** 2

    def link(self, names):
        """User seconds that it takes to link programs that were compiled under these names."""
        objects = [str(self.folder / f"{name}.o") for name in names]
        usage = usage_of([self.call[0], *objects, "-o", str(self.folder / "program"),
                          "-lfmt", "-luring", "-lssl", "-lcrypto", "-pthread"])
        return usage.ru_utime


def compare(compiler, options):
    roots = [ROOT, *([options.before] if options.before else [])]
    print("| what | user s | memory, GiB | asio + fmt: user s | memory, GiB | ratio (s) |"
          + (" before: user s | memory, GiB | now / before |" if options.before else ""))
    print("| --- |" + " ---: |" * (8 if options.before else 5))
    for name, program, own, flags in CASES:
        if options.only not in name:
            continue
        samples = []
        for _ in range(options.runs):
            sample = compiler.cost(REFERENCE, flags)
            for root in roots:
                sample += compiler.cost(program, [*own, *flags], root)
            samples.append(sample)
        base, base_memory, now, memory, *before = map(statistics.median, zip(*samples))
        row = (f"| {name} | {now:.1f} | {memory:.2f} | {base:.1f} | {base_memory:.2f} | "
               f"{now / base:.1f} |")
        if before:
            row += f" {before[0]:.1f} | {before[1]:.2f} | {now / before[0]:.2f} |"
        print(row, flush=True)


def compare_two_units(compiler, options):
    """The single header in two units of a program, against a program of one."""
    single = ROOT / "single_include"
    flags = ["-Og", f"-I{single}"]
    other = LAUNCH.replace("int main()", "void launch_again()")
    ones, twos = [], []
    for _ in range(options.runs):
        first = compiler.cost(LAUNCH, flags, single, "first")[0]
        second = compiler.cost(other, flags, single, "second")[0]
        ones.append(first + compiler.link(["first"]))
        twos.append(first + second + compiler.link(["first", "second"]))
    one, two = statistics.median(ones), statistics.median(twos)
    print(f"single header, -Og: one unit {one:.1f} s, two units that are linked {two:.1f} s, "
          f"{two / one:.2f} times as much", flush=True)


def build_library(options, folder, build_type, flags):
    """elastic::compiled as users build it, and the memory of its largest unit."""
    subprocess.run(["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja",
                    f"-DCMAKE_CXX_COMPILER={options.cxx}", f"-DCMAKE_BUILD_TYPE={build_type}",
                    f"-DCMAKE_CXX_FLAGS={flags}", "-DELASTIC_BUILD_TESTS=OFF",
                    "-DELASTIC_BUILD_EXAMPLES=OFF", "-DELASTIC_BUILD_BENCHMARKS=OFF"],
                   check=True, stdout=subprocess.DEVNULL)
    begin = time.monotonic()
    usage = usage_of(["cmake", "--build", str(folder), "--target", "elastic_compiled"],
                     subprocess.DEVNULL)
    wall = time.monotonic() - begin
    print(f"library, {flags or build_type}, {os.cpu_count()} cores: {wall:.0f} s, "
          f"{usage.ru_utime:.0f} s of user time, at most {usage.ru_maxrss / 1024 ** 2:.1f} GiB for "
          f"one unit", flush=True)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--cxx", default="g++")
    arguments.add_argument("--runs", type=int, default=3)
    arguments.add_argument("--only", default="", metavar="WORDS",
                           help="the cases whose name has these words, such as 'compiled once'")
    arguments.add_argument("--before", type=pathlib.Path, metavar="FOLDER",
                           help="another checkout, to be compared with")
    arguments.add_argument("--no-library", action="store_true",
                           help="leave the single header and the library itself out")
    options = arguments.parse_args()
    version = subprocess.run([options.cxx, "--version"], check=True, capture_output=True, text=True)
    print(version.stdout.splitlines()[0])
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(options, pathlib.Path(folder))
        compare(compiler, options)
        if not options.no_library:
            compare_two_units(compiler, options)
            build_library(options, pathlib.Path(folder) / "debug", "None", "-Og")
            build_library(options, pathlib.Path(folder) / "release", "Release", "")


if __name__ == "__main__":
    main()
