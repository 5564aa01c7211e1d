#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Compares two sets of tables and lists the figures that changed by more than 10 %.

  compare.py BEFORE [AFTER]

Each argument is a file (results.md, or the saved output of a benchmark), a git revision, which
stands for its benchmarks/results.md (benchmarks/README.md before there was one), or REVISION:PATH.
AFTER is benchmarks/results.md of the working tree by default. The exit status is that of diff: 0 if
no figure changed, 1 if one did, 2 on an error.

A figure is a number in a cell, and its name is the heading, the table's title (its first header
cell), the row, and the column. Numbers such as "(5.7 - 6.1)" are the spread of the figure before
them: they are not compared, but a move within the spreads is marked as such.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FIGURES = "benchmarks/results.md"
FORMER_FIGURES = "benchmarks/README.md"

NUMBER = r"(?<![\w.])\d+(?:\.\d+)?"
SPREAD = re.compile(rf"\(?({NUMBER}) (?:-|to) ({NUMBER})\)?")
SEPARATOR = re.compile(r"\|?[\s:|-]+\|?")

Figure = collections.namedtuple("Figure", "value spread")
Move = collections.namedtuple("Move", "name before after is_within_spread")
Comparison = collections.namedtuple("Comparison", "moved gone new count")


def cells_of(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().removeprefix("|")
                                              .removesuffix("|"))]


def figures_in(cell):
    """The figures of a cell, each with the spread that follows it, or None."""
    spread = SPREAD.search(cell)
    bounds = (float(spread[1]), float(spread[2])) if spread else None
    numbers = [float(number) for number in re.findall(NUMBER, SPREAD.sub(" ", cell))]
    return [Figure(value, bounds if at == 0 else None) for at, value in enumerate(numbers)]


def read_figures(text):
    """Name -> figure, for all tables of a text."""
    found = {}
    seen = collections.Counter()
    heading, header, is_code = "", None, False
    for line in text.splitlines():
        if line.startswith("```"):
            is_code = not is_code
        if is_code or " | " not in f" {line} ":
            header = None
            if line.startswith("#") and not is_code:
                heading = line.lstrip("#").strip()
        elif header is None:
            header = cells_of(line)
        elif not SEPARATOR.fullmatch(line):
            row, *cells = cells_of(line)
            place = (heading, header[0], row)
            seen[place] += 1
            for column, cell in enumerate(cells, 1):
                title = header[column] if column < len(header) else str(column)
                for at, figure in enumerate(figures_in(cell)):
                    found[(*place, seen[place], title, at)] = figure
    return found


def say(name):
    heading, title, row, occurrence, column, at = name
    words = [heading, title, row + (f" ({occurrence})" if occurrence > 1 else ""), column]
    return ": ".join(word for word in words if word) + (f", figure {at + 1}" if at else "")


def has_moved(before, after, percent):
    return abs(after - before) > percent / 100 * abs(before) + 1e-9


def overlap(one, other):
    if not one.spread or not other.spread:
        return False
    return one.spread[0] <= other.spread[1] and other.spread[0] <= one.spread[1]


def compare(before, after, percent):
    """The changes between two sets of figures by more than so many percent."""
    moved = [Move(say(name), old.value, after[name].value, overlap(old, after[name]))
             for name, old in before.items()
             if name in after and has_moved(old.value, after[name].value, percent)]
    return Comparison(moved, [say(name) for name in before if name not in after],
                      [say(name) for name in after if name not in before],
                      sum(name in after for name in before))


def change(before, after):
    return f"{(after / before - 1) * 100:+.0f} %" if before else "from zero"


def report(result, percent):
    lines = [f"{move.name}: {move.before:g} -> {move.after:g} ({change(move.before, move.after)}"
             f"{', the spreads overlap' if move.is_within_spread else ''})"
             for move in result.moved]
    lines += [f"only before: {name}" for name in result.gone]
    lines += [f"only after: {name}" for name in result.new]
    lines.append(f"{len(result.moved)} of {result.count} figures moved by more than {percent:g} %")
    return "\n".join(lines)


def read(source):
    """The text of a file, of REVISION:PATH, or of a revision's figures."""
    if pathlib.Path(source).is_file():
        return pathlib.Path(source).read_text(encoding="utf-8")
    names = [source] if ":" in source else [f"{source}:{FIGURES}", f"{source}:{FORMER_FIGURES}"]
    for name in names:
        shown = subprocess.run(["git", "-C", str(ROOT), "show", name], capture_output=True,
                               text=True)
        if shown.returncode == 0:
            return shown.stdout
    raise ValueError(f"{source!r} is neither a file nor a git revision: {shown.stderr.strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", help="a file, a git revision, or REVISION:PATH")
    parser.add_argument("after", nargs="?", default=str(ROOT / FIGURES),
                        help=f"the same (by default {FIGURES})")
    parser.add_argument("--percent", type=float, default=10,
                        help="the largest change that is not listed, in percent (10)")
    options = parser.parse_args()
    try:
        before, after = read_figures(read(options.before)), read_figures(read(options.after))
        for source, figures in ((options.before, before), (options.after, after)):
            if not figures:
                raise ValueError(f"{source!r} has no table with figures")
    except (OSError, ValueError) as failure:
        parser.error(str(failure))  # exits with 2
    result = compare(before, after, options.percent)
    print(report(result, options.percent))
    sys.exit(1 if result.moved else 0)


if __name__ == "__main__":
    main()
