#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Runs an example and compares what it prints with the last comment of its source.

  run_example.py SOURCE PROGRAM [ARGUMENT...]

The example must exit with 0. Where the source ends in a comment block that starts with
"// Prints:", every line after that must appear in the output, in this order; "..." in a line
stands for any text, and a line "..." alone for any lines.
"""

import re
import subprocess
import sys


def expected_lines(source):
    """The lines of the last comment of `source`, or none where it does not say what it prints."""
    block = []
    for line in reversed(source.rstrip().splitlines()):
        if not line.startswith("//"):
            break
        block.insert(0, re.sub(r"^// ?", "", line))
    for start, line in enumerate(block):
        if line.startswith("Prints:"):
            return [text for text in block[start + 1:] if text.strip() not in ("", "...")]
    return []


def first_missing(expected, output):
    """The first of the expected lines that does not follow in the output, or None."""
    lines = iter(output.splitlines())
    for wanted in expected:
        pattern = ".*".join(re.escape(part) for part in wanted.strip().split("..."))
        if not any(re.fullmatch(pattern, line.strip()) for line in lines):
            return wanted
    return None


def main():
    source, command = sys.argv[1], sys.argv[2:]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         errors="replace")
    print(run.stdout, end="")
    if run.returncode != 0:
        sys.exit(f"{command[0]}: exit status {run.returncode}, 0 was expected")
    with open(source, encoding="utf-8") as file:
        missing = first_missing(expected_lines(file.read()), run.stdout)
    if missing is not None:
        sys.exit(f"{source} says that this is printed next, but it is not: {missing}")


if __name__ == "__main__":
    main()
