#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Two plugins of one program, which contain different versions of the library.

  plugins.py --cxx clang++ --include DIR jobs     runs jobs of one worker, with symbols that the
                                                  compiler hides
  plugins.py --cxx g++ --include DIR processes    runs processes, which is soon compiled, with
                                                  symbols that the linker hides; if nobody does,
                                                  versions that share their variables are refused
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCES = pathlib.Path(__file__).resolve().parent / "plugins"


def run(*call):
    """What a command prints, and its exit status."""
    ended = subprocess.run([str(word) for word in call], stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, timeout=600)
    return ended.stdout, ended.returncode


def built(options, output, *call):
    text, status = run(options.cxx, "-std=c++20", "-O0", *call, "-o", output)
    if status:
        sys.exit(text)
    return output


def other_version(include, folder):
    """A copy of the headers that says that it is of the next minor version."""
    shutil.copytree(include, folder)
    header = folder / "elastic/base/version.hpp"
    text = header.read_text(encoding="utf-8")
    major, minor, patch = re.search(r'"(\d+)\.(\d+)\.(\d+)"', text).groups()
    minor_line = f"ELASTIC_VERSION_MINOR {minor}"
    later = int(minor) + 1
    changed = text.replace(minor_line, f"ELASTIC_VERSION_MINOR {later}")
    changed = changed.replace(f'"{major}.{minor}.{patch}"', f'"{major}.{later}.{patch}"')
    header.write_text(changed, encoding="utf-8")
    return f"{major}.{minor}.{patch}", f"{major}.{later}.{patch}"


def object_of(options, name, include):
    """The plugin, compiled with hidden symbols where it runs a job, and as usual otherwise."""
    call = [f"-I{include}", *(f"-I{folder}" for folder in options.include[1:]
                              if folder != "/usr/include")]
    call += [f"-D{define}" for define in options.define]
    if "clang" in os.path.basename(options.cxx):
        call.append("-DASIO_HAS_CO_AWAIT=1")
    if options.what == "jobs":
        call += ["-DPLUGIN_RUNS_JOB", "-fvisibility=hidden"]
    return built(options, name, "-fPIC", "-c", *call, SOURCES / "plugin.cpp")


def linked(options, name, source, *flags):
    ring = [] if "ELASTIC_NO_RING=1" in options.define else ["-luring"]
    return built(options, name, "-shared", source, *flags, "-lfmt", *ring)


def unique_symbols(plugin):
    """The library's variables that this plugin shares with others."""
    symbols, status = run("nm", "-D", "-C", "--defined-only", plugin)
    if status:
        sys.exit(symbols)
    return re.findall(r" u (.*\belastic::.*)", symbols)


def failures(options, folder):
    versions = other_version(pathlib.Path(options.include[0]), folder / "other")
    includes = {"own": options.include[0], "other": folder / "other"}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        objects = list(pool.map(lambda name: object_of(options, folder / f"{name}.o",
                                                       includes[name]), includes))
    host = built(options, folder / "host", SOURCES / "host.cpp", "-ldl", "-pthread")
    plain = [linked(options, source.with_suffix(".plain.so"), source) for source in objects]
    hidden = plain
    if options.what == "processes":
        script = folder / "exports"
        script.write_text("{ global: plugin_*; local: *; };\n")
        hidden = [linked(options, source.with_suffix(".hidden.so"), source,
                         f"-Wl,--version-script={script}") for source in objects]

    text, status = run(host, *hidden)
    if status or text.split() != list(versions):
        yield f"two versions whose symbols are hidden: exit status {status}, and\n{text}"
    for plugin in hidden:
        for name in unique_symbols(plugin):
            yield f"{plugin.name} hides its symbols, and shares {name}"
    if plain is hidden:
        return

    # Who hides nothing is alone, or with those who do.
    text, status = run(host, plain[0], hidden[1])
    if status:
        yield f"a plugin that hides nothing beside one that does: exit status {status}, and\n{text}"
    text, status = run(host, *plain)
    if not unique_symbols(plain[0]):
        wanted = 0, ""
    else:
        wanted = 1, f"elastic {versions[1]} uses variables of elastic {versions[0]}"
    if status != wanted[0] or wanted[1] not in text:
        yield f"two versions whose symbols are not hidden: exit status {status}, and\n{text}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--cxx", default="g++")
    arguments.add_argument("--include", action="append", required=True,
                           help="the library's headers first")
    arguments.add_argument("--define", action="append", default=[])
    arguments.add_argument("what", choices=["jobs", "processes"])
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = list(failures(options, pathlib.Path(folder)))
    print("\n".join(found) or "each plugin has worked")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
