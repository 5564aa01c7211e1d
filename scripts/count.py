#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Counts what the library consists of: lines, headers, public types, by module.

  count.py          the working tree
  count.py FOLDER   another tree of the repository

Lines are those of .hpp and .ipp files that are neither empty nor only a comment. Public types are
the classes, structs, enums and aliases that headers outside of detail/ declare in namespace
elastic itself, forward declarations aside.
"""

import argparse
import collections
import pathlib
import re

INNER = re.compile(r"^namespace (?!elastic\b)(\w+) {")
TYPE = re.compile(r"^(?:class|struct|enum class|enum|using)\s+(?:\[\[\w+\]\]\s+)?(\w+)\b(?!::)")


def code_lines(text):
    return sum(1 for line in text.splitlines()
               if line.strip() and not line.strip().startswith("//"))


def public_types(text):
    """The types that a header defines in namespace elastic itself, not in a namespace in it."""
    names = set()
    inner = None
    before = ""
    for line in text.splitlines():
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
            names.add(found[1])
    return names


def main():
    arguments = argparse.ArgumentParser(description="Counts lines, headers and public types.")
    arguments.add_argument("root", nargs="?", type=pathlib.Path,
                           default=pathlib.Path(__file__).resolve().parent.parent)
    include = arguments.parse_args().root / "include"
    columns = ["headers", "lines .hpp", "lines .ipp", "public headers", "public types"]
    table = collections.defaultdict(lambda: dict.fromkeys(columns, 0))
    for path in sorted([*include.rglob("*.hpp"), *include.rglob("*.ipp")]):
        parts = path.relative_to(include).parts
        module = parts[1] if len(parts) > 2 else "(umbrellas)"
        text = path.read_text(encoding="utf-8")
        row = table[module]
        if path.suffix == ".ipp":
            row["lines .ipp"] += code_lines(text)
            continue
        row["headers"] += 1
        row["lines .hpp"] += code_lines(text)
        if "detail" not in parts:
            row["public headers"] += 1
            row["public types"] += len(public_types(text))
    total = {column: sum(row[column] for row in table.values()) for column in columns}
    print("| module | " + " | ".join(columns) + " |")
    print("| --- |" + " ---: |" * len(columns))
    for module, row in [*sorted(table.items()), ("all", total)]:
        print(f"| {module} | " + " | ".join(str(row[column]) for column in columns) + " |")


if __name__ == "__main__":
    main()
