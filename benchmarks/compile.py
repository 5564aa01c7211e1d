#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How long does it take, and how much memory, to compile the library and what uses it?

  compile.py              the table of docs/library.md: a program for each way to use the library,
                          both ways, and what it takes to compile the library once
  compile.py --programs   only its first half
  compile.py --seconds    renews cmake/compile_milliseconds.txt, by which the compiled library is
                          cut into units

The programs are those of tests/consume/ways. Each is compared with Asio and fmt, on which the
library stands, by the same flags in the same run. The figures are user time and the peak memory of
the compiler, medians of the runs, taken in turn, so the ratios hold on a machine that does
something else as well. With `--before` each program is also compiled, in turn, against the headers
of another checkout.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
from amalgamate import PARTS, macro_of
from tidy import OPT_IN_LAYERS

WAYS = ROOT / "tests" / "consume" / "ways"
REFERENCE = "#include <asio.hpp>\n#include <fmt/format.h>\nint main() {}\n"
UMBRELLA = "#include <elastic/elastic.hpp>\nint main() {}\n"
PROGRAMS = {
    "Asio and fmt alone": REFERENCE,
    "processes": "processes",
    "a store": "store",
    "an agent with its own rendezvous": "agent",
    "`launch`, one node": "launch",
    "`launch`, several nodes": "launch_nodes",
    "every header, little used": "everything",
}
COMPILED = ["-DELASTIC_SEPARATE_COMPILATION=1"]
COLUMNS = [
    ("compiled once, -Og", COMPILED, "-Og"),
    ("compiled once, -O2", COMPILED, "-O2"),
    ("header-only, -Og", [], "-Og"),
    ("header-only, -O2", [], "-O2"),
]
COSTS = ROOT / "cmake" / "compile_milliseconds.txt"
COSTS_HEADER = """\
# Milliseconds of user time that each file of definitions takes in a release build, besides its
# headers. benchmarks/compile.py --seconds measures the units of the library and shares the seconds
# of each among its files by their size; run again, it measures other units, and so finer.
# cmake/ElasticCompiled.cmake makes units of these files that take about as long. It estimates a
# file that is missing here.
"""


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

    def cost(self, program, flags, root=ROOT):
        """User seconds and GiB that a program takes to compile."""
        source = self.folder / "source.cpp"
        source.write_text(program)
        usage = usage_of([*self.call, f"-I{root / 'include'}", *flags, "-c", str(source), "-o",
                          str(source.with_suffix(".o"))])
        return usage.ru_utime, usage.ru_maxrss / 1024 ** 2


def text_of(program):
    """The source of a program of PROGRAMS."""
    return program if "\n" in program else (WAYS / f"{program}.cpp").read_text()


def compare(compiler, options):
    """The table of programs: seconds and GiB in each column, and the ratio with `--before`."""
    roots = [ROOT, *([options.before] if options.before else [])]
    print("| user s, GiB | " + " | ".join(name for name, *_ in COLUMNS) + " |")
    print("| --- |" + " ---: |" * len(COLUMNS))
    for name, program in PROGRAMS.items():
        if options.only not in name:
            continue
        cells = []
        for _, own, level in COLUMNS:
            samples = [[compiler.cost(text_of(program), [*own, level], root) for root in roots]
                       for _ in range(options.runs)]
            seconds, memory = (statistics.median(sample[0][place] for sample in samples)
                               for place in (0, 1))
            cell = f"{seconds:.1f}, {memory:.2f}"
            if options.before:
                before = statistics.median(sample[1][0] for sample in samples)
                cell += f" ({before:.1f} before)"
            cells.append(cell)
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def build_library(options, folder, level):
    """elastic::compiled as users build it, and the memory of its largest unit."""
    subprocess.run(["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja",
                    f"-DCMAKE_CXX_COMPILER={options.cxx}", "-DCMAKE_BUILD_TYPE=None",
                    f"-DCMAKE_CXX_FLAGS={level} -DNDEBUG", "-DELASTIC_BUILD_TESTS=OFF",
                    "-DELASTIC_BUILD_EXAMPLES=OFF", "-DELASTIC_BUILD_BENCHMARKS=OFF"],
                   check=True, stdout=subprocess.DEVNULL)
    begin = time.monotonic()
    usage = usage_of(["cmake", "--build", str(folder), "--target", "elastic_compiled"],
                     subprocess.DEVNULL)
    wall = time.monotonic() - begin
    units = len(list((folder / "compiled").glob("unit_*.cpp")))
    return (f"{usage.ru_utime:.0f} s, {wall:.0f} s on {os.cpu_count()} cores, "
            f"{usage.ru_maxrss / 1024 ** 2:.2f} GiB", units)


def compile_source(compiler, level):
    """Rows for the library without CMake: its four parts, and one unit."""
    every = [f"-D{macro_of(module)}=1" for module in OPT_IN_LAYERS]
    source = "#include <elastic/src.hpp>\n"
    rows = {}
    for name, modules in (("the core", []), ("with every module", every)):
        flags = [*COMPILED, *modules, level]
        parts = [compiler.cost(source, [*flags, f"-DELASTIC_SOURCE_PART={part}"])
                 for part in range(1, len(PARTS) + 1)]
        seconds = ", ".join(f"{cost:.0f}" for cost, _ in parts)
        rows[f"four parts, {name}"] = f"{seconds} s, {max(memory for _, memory in parts):.2f} GiB"
    cost, memory = compiler.cost(source, [*COMPILED, level])
    rows["`ELASTIC_SOURCE`, one unit"] = f"{cost:.0f} s, {memory:.2f} GiB"
    return rows


def compare_libraries(compiler, options, folder):
    """The table of what it takes to compile the library once."""
    columns = {}
    for level in ("-Og", "-O2"):
        built, units = build_library(options, folder / level.strip("-"), level)
        columns[level] = {f"`elastic::compiled`, {units} units": built,
                          **compile_source(compiler, level)}
    print("\n| the library, once | " + " | ".join(columns) + " |")
    print("| --- |" + " ---: |" * len(columns))
    for name in columns["-Og"]:
        print(f"| {name} | " + " | ".join(rows[name] for rows in columns.values()) + " |")


def unit_calls(options, folder):
    """How CMake compiles each unit of the library in a release build: the unit, and the call."""
    subprocess.run(["cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja",
                    f"-DCMAKE_CXX_COMPILER={options.cxx}", "-DCMAKE_BUILD_TYPE=Release",
                    "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON", "-DELASTIC_BUILD_TESTS=OFF",
                    "-DELASTIC_BUILD_EXAMPLES=OFF", "-DELASTIC_BUILD_BENCHMARKS=OFF",
                    "-DELASTIC_BUILD_PROGRAM=OFF"], check=True, stdout=subprocess.DEVNULL)
    commands = json.loads((folder / "compile_commands.json").read_text())
    (folder / "units").mkdir()
    for entry in commands:
        unit = pathlib.Path(entry["file"])
        if unit.parent.name == "compiled":
            call = shlex.split(entry["command"])
            call[call.index("-o") + 1] = str(folder / "units" / f"{unit.stem}.o")
            yield unit, call


def renew_costs(compiler, options, folder):
    """Measures each unit, and shares its seconds among its files by their size."""
    headers = compiler.cost(UMBRELLA, [*COMPILED, "-O2", "-DNDEBUG"])[0]
    include = ROOT / "include"
    lines, every = [], []
    for unit, call in unit_calls(options, folder):
        seconds = usage_of(call).ru_utime
        files = re.findall(r"<(.+)>", unit.read_text())
        sizes = [(include / name).stat().st_size for name in files]
        print(f"{unit.stem}: {seconds:.1f} s, {sum(sizes) / 1000:.0f} kB", flush=True)
        every.append(seconds)
        for name, size in zip(files, sizes):
            lines.append(f"{name} {1000 * (seconds - headers) * size / sum(sizes):.0f}")
    COSTS.write_text(COSTS_HEADER + "\n".join(sorted(lines)) + "\n", encoding="utf-8")
    print(f"{sum(every):.0f} s of user time, the headers take {headers:.1f} s of each unit; "
          f"from {min(every):.1f} to {max(every):.1f} s")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--cxx", default="g++")
    arguments.add_argument("--runs", type=int, default=1)
    arguments.add_argument("--only", default="", metavar="WORDS",
                           help="the programs whose name has these words, such as 'launch'")
    arguments.add_argument("--before", type=pathlib.Path, metavar="FOLDER",
                           help="another checkout, to be compared with")
    arguments.add_argument("--programs", action="store_true",
                           help="leave out what it takes to compile the library once")
    arguments.add_argument("--seconds", action="store_true",
                           help="renew the table by which the library is cut into units")
    options = arguments.parse_args()
    version = subprocess.run([options.cxx, "--version"], check=True, capture_output=True, text=True)
    print(version.stdout.splitlines()[0])
    with tempfile.TemporaryDirectory() as folder:
        compiler = Compiler(options, pathlib.Path(folder))
        if options.seconds:
            renew_costs(compiler, options, pathlib.Path(folder) / "release")
            return
        compare(compiler, options)
        if not options.programs:
            compare_libraries(compiler, options, pathlib.Path(folder))


if __name__ == "__main__":
    main()
