#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Counts what the library consists of: lines, headers, public types, by module.

  count.py          the working tree
  count.py FOLDER   another tree of the repository

Lines are those that are neither empty nor only a comment. Foreign lines are those of what a module
carries in other languages; the generated headers that carry them do not count. The last rows are
sums: all modules, those of the core, the opt-in ones; then elasticrun's own files, with its .cpp in
the column of .ipp. Public types are the classes, structs, enums and aliases that headers outside of
detail/ declare in namespace elastic itself and in elastic::testing, forward declarations aside.
"""

import argparse
import collections
import pathlib
import re

from tidy import OPT_IN_LAYERS

INNER = re.compile(r"^namespace (?!elastic\b)(\w+) {")
TESTING = "namespace elastic::testing {"
COLUMNS = ["headers", "lines .hpp", "lines .ipp", "lines foreign", "public headers",
           "public types"]
FOREIGN = ("embedded", "guard")
GENERATED = ("embedded.hpp", "guard_image.hpp")
TYPE = re.compile(r"^(?:class|struct|enum class|enum|using)\s+"
                  r"(?:\[\[\w+\]\]\s+|ELASTIC_EXPORT )?(\w+)\b(?!::)")


def code_lines(text):
    return sum(1 for line in text.splitlines()
               if line.strip() and not line.strip().startswith("//"))


def public_types(text):
    """The types that a header defines in namespace elastic itself, not in a namespace in it; those
    of elastic::testing as "testing::name"."""
    names = set()
    inner = None
    prefix = ""
    before = ""
    for line in text.splitlines():
        if line == TESTING:
            prefix = "testing::"
        if opened := INNER.match(line):
            inner = opened[1]
        elif inner and (line.startswith(f"}}  // namespace {inner}") or
                        re.match(r"\w.*;$", before) and line == "}"):
            inner = None
        before = line
        found = TYPE.match(line)
        is_forward = (line.rstrip().endswith(";") and not line.startswith("using") and
                      "{" not in line)
        if found and not inner and not is_forward:
            names.add(prefix + found[1])
    return names


def add_file(row, path, is_public):
    text = path.read_text(encoding="utf-8")
    if path.parent.name in FOREIGN:
        row["lines foreign"] += code_lines(text)
        return
    if path.suffix != ".hpp":
        row["lines .ipp"] += code_lines(text)
        return
    row["headers"] += 1
    row["lines .hpp"] += 0 if path.name in GENERATED else code_lines(text)
    if is_public:
        row["public headers"] += 1
        row["public types"] += len(public_types(text))


def sum_of(table):
    return {column: sum(row[column] for row in table.values()) for column in COLUMNS}


def main():
    arguments = argparse.ArgumentParser(description="Counts lines, headers and public types.")
    arguments.add_argument("root", nargs="?", type=pathlib.Path,
                           default=pathlib.Path(__file__).resolve().parent.parent)
    root = arguments.parse_args().root
    include = root / "include"
    table = collections.defaultdict(lambda: dict.fromkeys(COLUMNS, 0))
    for path in sorted(path for path in include.rglob("*.*") if path.is_file()):
        parts = path.relative_to(include).parts
        add_file(table[parts[1] if len(parts) > 2 else "(umbrellas)"], path,
                 is_public="detail" not in parts)
    program = {"program": dict.fromkeys(COLUMNS, 0)}
    for path in sorted([*(root / "program").rglob("*.hpp"), *(root / "program").rglob("*.cpp")]):
        add_file(program["program"], path, is_public=False)
    opt_in = {module: row for module, row in table.items() if module in OPT_IN_LAYERS}
    core = {module: row for module, row in table.items() if module not in OPT_IN_LAYERS}
    sums = [("all", sum_of(table)), ("core", sum_of(core)), ("opt-in", sum_of(opt_in))]
    print("| module | " + " | ".join(COLUMNS) + " |")
    print("| --- |" + " ---: |" * len(COLUMNS))
    for module, row in [*sorted(table.items()), *sums, *program.items()]:
        print(f"| {module} | " + " | ".join(str(row[column]) for column in COLUMNS) + " |")


if __name__ == "__main__":
    main()
