#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Writes the results of the benchmarks, benchmarks/results/*.json, as tables into results.md.

  tables.py                writes benchmarks/results.md
  tables.py --check        exit status 1 if results.md differs from the results
  tables.py --take FILE    prints the tables in the saved output of a benchmark as JSON, to be put
                           into its file of results

A file of results is an object with a title, the programs that take the figures, the question that
they answer, and tables. A table has columns and rows and says how its figures were taken: method,
date, machine, software, load, commit and commands; notes tell what a reader has to know beside the
figures. A cell is a number, a text, null, a median with its quartiles as [median, low, high], or
two figures of one measurement as [rate, processor time].
"""

import argparse
import json
import pathlib
import re
import sys
import textwrap

from compare import SEPARATOR, cells_of

FOLDER = pathlib.Path(__file__).resolve().parent
NUMBER = r"-?\d+(?:\.\d+)?"
ORIGINS = ("method", "date", "machine", "software", "load", "commit")
FIELDS = {"title", "commands", "columns", "rows", "notes", *ORIGINS}
INTRODUCTION = ("The figures of the benchmarks. [README.md](README.md) says how to take and how to "
                "compare them. `tables.py` writes this page from the files in `results/`.")


class Invalid(Exception):
    """A file of results that breaks the format."""


# ---- From results to a page ---------------------------------------------------------------------


def read_results(path):
    """A checked file of results; its numbers are texts, which keep the digits of the file."""
    results = json.loads(path.read_text(encoding="utf-8"), parse_float=str, parse_int=str)
    for table in results["tables"]:
        unknown = table.keys() - FIELDS
        if unknown:
            raise Invalid(f"{path.name}: a table has no field {', '.join(sorted(unknown))}")
        for row in table["rows"]:
            if len(row) != len(table["columns"]):
                raise Invalid(f"{path.name}: the row {row[0]} has {len(row)} cells, "
                              f"there are {len(table['columns'])} columns")
    return results


def text_of(cell):
    if isinstance(cell, list):
        spread = " - ".join(cell[1:])
        cell = f"{cell[0]} ({spread})"
    return (cell or "").replace("|", r"\|")


def line_of(cells):
    return re.sub(r" +", " ", f"| {' | '.join(map(text_of, cells))} |")


def paragraph(text, indent=""):
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False)


def origin_of(table):
    """How the figures of a table were taken."""
    return "; ".join(table[field] for field in ORIGINS if field in table) + "."


def blocks_of(table):
    if "title" in table:
        yield f"### {table['title']}"
    yield paragraph(origin_of(table))
    if "commands" in table:
        yield "\n".join(["```sh", *table["commands"], "```"])
    yield "\n".join([line_of(table["columns"]), "| --- " * len(table["columns"]) + "|",
                     *map(line_of, table["rows"])])
    if "notes" in table:
        yield "\n".join(paragraph(f"- {note}", "  ") for note in table["notes"])


def page(folder):
    """The text of results.md."""
    blocks = ["# Results of the benchmarks", paragraph(INTRODUCTION)]
    files = [read_results(path) for path in sorted(folder.glob("*.json"))]
    for results in sorted(files, key=lambda each: each["title"].lower()):
        programs = ", ".join(f"`{program}`" for program in results["programs"])
        blocks += [f"## {results['title']}", paragraph(f"{results['question']} ({programs})")]
        for table in results["tables"]:
            blocks += blocks_of(table)
    return "\n\n".join(blocks) + "\n"


# ---- From the output of a benchmark to results --------------------------------------------------


def printed_tables(text):
    """(columns, rows) of each table in the output of a benchmark."""
    columns, rows = None, []
    for line in [*text.splitlines(), ""]:
        if " | " not in f" {line} ":
            if rows:
                yield columns, rows
            columns, rows = None, []
        elif columns is None:
            columns = cells_of(line)
        elif not SEPARATOR.fullmatch(line):
            rows.append(cells_of(line))


def result_of(cell):
    """What a printed cell is in a file of results."""
    if not cell:
        return None
    spread = re.fullmatch(rf"({NUMBER}) \(({NUMBER})(?: - ({NUMBER}))?\)", cell)
    if spread:
        return [json.loads(number) for number in spread.groups() if number]
    return json.loads(cell) if re.fullmatch(NUMBER, cell) else cell


def is_of_contenders(columns):
    """Whether a table has a row for each contender: median, quartiles, and perhaps a ratio."""
    return columns[1:3] == ["median", "quartiles"] and all(each.startswith("of ")
                                                           for each in columns[3:])


def measured_row(columns, rows):
    """Column -> cell of a table with a row for each contender, which becomes a column."""
    cells = {"measured": columns[0]}
    for name, median, quartiles, *_ in rows:
        cells[name] = result_of(f"{median} ({quartiles})" if quartiles else median)
    for name, _, _, *ratios in rows:
        if ratios and ratios[0] not in ("", "1.00"):
            cells[f"{name} {columns[3]}"] = result_of(ratios[0])
    return cells


def take(text):
    """The tables of a saved output; those with a row for each contender as one."""
    measured, tables = [], []
    for columns, rows in printed_tables(text):
        if is_of_contenders(columns):
            measured.append(measured_row(columns, rows))
        else:
            tables.append({"columns": columns,
                           "rows": [[row[0], *map(result_of, row[1:])] for row in rows]})
    if measured:
        columns = list(dict.fromkeys(name for cells in measured for name in cells))
        tables.insert(0, {"columns": columns,
                          "rows": [[cells.get(name) for name in columns] for cells in measured]})
    return tables


def json_text(tables):
    """Tables as JSON in the form of a file of results: each row is a line."""
    def line(value):
        return json.dumps(value, ensure_ascii=False)
    return ",\n".join(
        '    {{\n      "columns": {},\n      "rows": [\n        {}\n      ]\n    }}'.format(
            line(table["columns"]), ",\n        ".join(map(line, table["rows"])))
        for table in tables)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--take", metavar="FILE", type=pathlib.Path,
                        help="print the tables of a saved output as JSON")
    options = parser.parse_args()
    if options.take:
        print(json_text(take(options.take.read_text(encoding="utf-8"))))
        return
    results = FOLDER / "results.md"
    try:
        text = page(FOLDER / "results")
    except Invalid as problem:
        sys.exit(str(problem))
    if not options.check:
        results.write_text(text, encoding="utf-8")
    elif not results.exists() or results.read_text(encoding="utf-8") != text:
        sys.exit("benchmarks/results.md differs from benchmarks/results/: run benchmarks/tables.py")


if __name__ == "__main__":
    main()
