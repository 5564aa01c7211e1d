#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""elastic::compiled as a shared library: its soname, what it exports, and that two plugins which
hide their own symbols work with it.

  shared_library.py --cxx g++           the part of the library that runs processes
  shared_library.py --cxx g++ --whole   all of it, which takes minutes
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# Each is defined in a file of definitions: what headers declare is exported, a helper is not.
EXPORTED = ["elastic::process_set::process_set(", "elastic::error_category()",
            "vtable for elastic::pidfd_launcher", "typeinfo for elastic::error",
            "vtable for elastic::error"]
HIDDEN = ["elastic::detail::check_version_of_variables()", "elastic::detail::waiters::waiter::",
          "fmt::", "nlohmann::"]


def run(*call, **options):
    ended = subprocess.run([str(word) for word in call], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, **options)
    if ended.returncode:
        sys.exit(f"{' '.join(str(word) for word in call)}: exit status {ended.returncode}\n"
                 f"{ended.stdout[-5000:]}")
    return ended.stdout


def wanted_soname():
    """A version 0.x may change the ABI, and so may 1.x only with another x before it."""
    text = (ROOT / "include/elastic/base/version.hpp").read_text(encoding="utf-8")
    major, minor = re.search(r'version_text = "(\d+)\.(\d+)\.', text).groups()
    return f"libelastic.so.{major}.{minor}" if major == "0" else f"libelastic.so.{major}"


def complaints(build):
    library = build / "elastic/libelastic.so"
    dynamic = run("readelf", "-dW", library)
    soname = re.search(r"\(SONAME\).*\[(.*)\]", dynamic)
    if not soname or soname[1] != wanted_soname():
        yield f"the soname is {soname and soname[1]}, {wanted_soname()} was expected"
    symbols = [line.split(" ", 2)[2]
               for line in run("nm", "-DC", "--defined-only", library).splitlines()]
    yield from (f"{name} is not exported" for name in EXPORTED
                if not any(name in symbol for symbol in symbols))
    yield from (f"{symbol} is exported" for symbol in symbols
                for name in HIDDEN if symbol.startswith(name))
    print(f"{len(symbols)} symbols, {sum(each.startswith('elastic::') for each in symbols)} of "
          "the library's functions")
    dynamic = run("readelf", "-dW", build / "first.so")
    needed = re.findall(r"\(NEEDED\).*\[(libelastic.*)\]", dynamic)
    if needed != [wanted_soname()]:
        yield f"a plugin needs {needed}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--cxx", default="g++")
    arguments.add_argument("--generator", default="Ninja")
    arguments.add_argument("--define", action="append", default=[], help="for CMake")
    arguments.add_argument("--whole", action="store_true")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder)
        run("cmake", "-S", ROOT / "tests/consume/shared", "-B", build, "-G", options.generator,
            f"-DCMAKE_CXX_COMPILER={options.cxx}", "-DCMAKE_CXX_FLAGS=-O0",
            f"-DELASTIC_SOURCE={ROOT}", f"-DELASTIC_WHOLE={'ON' if options.whole else 'OFF'}",
            *(f"-D{define}" for define in options.define))
        run("cmake", "--build", build, "--parallel", "2")
        found = list(complaints(build))
        host = [build / "host", build / "first.so", build / "second.so"]
        # With g++, Asio's variables are unique in a process. With clang the plugins share them only
        # if their host links the library.
        if "clang" not in options.cxx:
            run(*host, timeout=600)
        run("env", f"LD_PRELOAD={build / 'elastic/libelastic.so'}", *host, timeout=600)
    print("\n".join(found) or "the plugins have worked")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
