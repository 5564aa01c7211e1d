#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Checks what each way to use the library costs a header-only program: budgets.txt.

  budgets.py --cxx g++ --include DIR             fails if a program in ways/ exceeds its budget
  budgets.py --cxx g++ --include DIR --renew     writes what it measures into budgets.txt
  budgets.py … --only store --only launch        only these programs

User time is compared with that of a reference which is compiled before and after each program, so
that the ratio holds on a busy machine; a program that is too slow is compiled once more. Exit
status 77 if the compiler is not the one of the budgets, or a library is missing.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
BUDGETS = FOLDER / "budgets.txt"
REFERENCE = "#include <asio.hpp>\n#include <fmt/format.h>\nint main() {}\n"
# Of the whole library: budgets do not depend on how this build is configured.
FLAGS = ["-std=c++20", "-Og", "-DELASTIC_HAS_TLS=1", "-UELASTIC_NO_RING"]
TOLERANCE = 1.1
SKIPPED = 77


class Budgets:
    """The table: its lines, and the numbers of each program."""

    def __init__(self, text):
        self.lines = text.splitlines()
        self.compiler = re.search(r"^# compiler: (.+)$", text, re.MULTILINE)[1]
        self.rows = {}
        for line in self.lines:
            if not line.startswith("#"):
                program, ratio, code, *links = line.split()
                self.rows[program] = float(ratio), int(code), links

    def renewed(self, measured, compiler):
        """The text of the table with what was measured."""
        lines = []
        for line in self.lines:
            program = line.split()[0]
            if program in measured:
                ratio, code = measured[program]
                links = " ".join(self.rows[program][2])
                line = f"{program:13}{ratio:7.1f}{code:8}  {links}"
            elif line.startswith("# compiler:"):
                line = f"# compiler: {compiler}"
            lines.append(line)
        return "\n".join(lines) + "\n"


def compiler_name(cxx):
    """g++ 12.2, of the compiler's own description."""
    text = subprocess.run([cxx, "--version"], check=True, capture_output=True, text=True).stdout
    kind = "clang" if "clang" in text else "g++"
    version = re.search(r"(\d+\.\d+)\.\d+", text)[1]
    return f"{kind} {version}"


def user_seconds(call):
    _, status, usage = os.wait4(subprocess.Popen(call).pid, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise subprocess.CalledProcessError(code, call)
    return usage.ru_utime


def missing_libraries(options, names, folder):
    """Those of `names` without which a program does not link."""
    source = folder / "empty.cpp"
    source.write_text("int main() {}\n")
    return [name for name in sorted(names)
            if subprocess.run([options.cxx, source, f"-l{name}", "-o", folder / "empty"],
                              stderr=subprocess.DEVNULL).returncode != 0]


class Measurement:
    """Compiles, links and runs programs in a folder."""

    def __init__(self, options, folder):
        self.call = [options.cxx, *FLAGS, *(f"-I{include}" for include in options.include
                                            if include != "/usr/include")]
        self.folder = folder
        (folder / "reference.cpp").write_text(REFERENCE)

    def compile(self, source):
        return user_seconds([*self.call, "-c", source, "-o", self.folder / f"{source.stem}.o"])

    def ratio(self, program):
        reference = self.folder / "reference.cpp"
        before = self.compile(reference)
        seconds = self.compile(FOLDER / "ways" / f"{program}.cpp")
        return 2 * seconds / (before + self.compile(reference)), seconds

    def code(self, program):
        """Kilobytes of code and constants, which are the same in each run."""
        sizes = subprocess.run(["size", self.folder / f"{program}.o"], check=True,
                               capture_output=True, text=True).stdout
        return int(sizes.splitlines()[1].split()[0]) // 1000

    def run(self, program, links):
        subprocess.run([self.call[0], self.folder / f"{program}.o", "-o", self.folder / program,
                        *(f"-l{name}" for name in links), "-pthread"], check=True)
        subprocess.run([self.folder / program], check=True, timeout=60)


def measure(measurement, program, budget, links):
    """The least ratio of at most two runs, and the kilobytes of code."""
    ratio, seconds = measurement.ratio(program)
    measurement.run(program, links)
    if ratio > budget * TOLERANCE:
        again, more = measurement.ratio(program)
        ratio, seconds = min(ratio, again), seconds + more
    code = measurement.code(program)
    print(f"{program}: {ratio:.1f} times the reference, {code} kB, {seconds:.1f} s", flush=True)
    return ratio, code


def skip(why):
    """The exit status of a skip, which is a failure where nothing may be missing."""
    print(f"skipped: {why}")
    return 1 if os.environ.get("ELASTIC_NOTHING_MISSING") else SKIPPED


def excess(program, what, measured, budget):
    """A sentence if a budget is exceeded."""
    if measured <= budget * TOLERANCE:
        return []
    return [f"{program}: {what} {measured:.1f}, the budget is {budget:.1f}: include less, or, if "
            "it is worth it, renew budgets.txt by budgets.py --renew and say why"]


def main():
    arguments = argparse.ArgumentParser(description="Checks the budgets of compile time and code.")
    arguments.add_argument("--cxx", default="g++")
    arguments.add_argument("--include", action="append", default=[])
    arguments.add_argument("--only", action="append", default=[], metavar="PROGRAM")
    arguments.add_argument("--renew", action="store_true")
    options = arguments.parse_args()

    budgets = Budgets(BUDGETS.read_text(encoding="utf-8"))
    compiler = compiler_name(options.cxx)
    if compiler != budgets.compiler and not options.renew:
        return skip(f"the budgets are those of {budgets.compiler}, this is {compiler}")
    rows = {program: row for program, row in budgets.rows.items()
            if not options.only or program in options.only}
    measured = {}
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        libraries = {name for *_, links in rows.values() for name in links}
        if missing := missing_libraries(options, libraries, folder):
            return skip(f"no library {', '.join(missing)}")
        measurement = Measurement(options, folder)
        for program, (ratio, _, links) in rows.items():
            measured[program] = measure(measurement, program, ratio, links)
    if options.renew:
        BUDGETS.write_text(budgets.renewed(measured, compiler), encoding="utf-8")
        return 0
    found = []
    for program, (ratio, code) in measured.items():
        found += excess(program, "times the reference", ratio, rows[program][0])
        found += excess(program, "kilobytes of code", code, rows[program][1])
    print("\n".join(found) or "each program is within its budget")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
