#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Makes the single header out of the umbrella header and everything that it includes.

  amalgamate.py             writes single_include/elastic/elastic.hpp
  amalgamate.py --check     compares it with what would be written; exit status 1 where it differs

The result depends on the headers alone: no time, no path, no version control. Each of the
library's own headers is put in once, where it is first included; includes of other libraries stay
where they are, a repeated one is left out. Headers that the umbrella does not reach (the opt-in
ones) are not in it.
"""

import argparse
import difflib
import pathlib
import re
import sys

BANNER = """\
// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The whole library in one header, made by scripts/amalgamate.py. Do not edit it: change the
// headers in include/ and run the script again.

#if defined(__GNUC__) && !defined(__clang__)
// Where g++ 12 inlines the allocation of a coroutine's frame but not its release, it takes the pair
// for a mistake.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
"""
END = """
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
"""
OWN_INCLUDE = re.compile(r"#include <(elastic/[\w/]+\.hpp)>\s*$")
OTHER_INCLUDE = re.compile(r"#include <([^>]+)>\s*$")
CONDITIONAL_START = re.compile(r"\s*#\s*if")
CONDITIONAL_END = re.compile(r"\s*#\s*endif")


class Amalgamation:
    """The headers expanded so far, and their text."""

    def __init__(self, include_dir):
        self.include_dir = include_dir
        self.expanded = set()
        self.included = set()
        self.lines = []

    def add(self, header):
        """Puts in `header`, preceded by the headers that it includes."""
        self.expanded.add(header)
        body = []
        depth = 0
        for number, line in enumerate(self.read(header), 1):
            if CONDITIONAL_START.match(line):
                depth += 1
            elif CONDITIONAL_END.match(line):
                depth -= 1
            own, other = OWN_INCLUDE.match(line), OTHER_INCLUDE.match(line)
            if own and depth > 0:
                sys.exit(f"{header}:{number}: a header of this library under a condition cannot "
                         "be put into the single header")
            if own:
                if own[1] not in self.expanded:
                    self.add(own[1])
            elif other and depth == 0:
                if other[1] not in self.included:
                    self.included.add(other[1])
                    body.append(line)
            elif line.strip() != "#pragma once" and not line.startswith("// SPDX-"):
                body.append(line)
        if any(line.strip() for line in body):
            self.lines += ["", f"// ---- {header} ----", ""] + body

    def read(self, header):
        path = self.include_dir / header
        return path.read_text(encoding="utf-8").splitlines()

    def text(self):
        whole = BANNER + "\n".join(self.lines)
        return re.sub(r"\n{3,}", "\n\n", whole).rstrip() + "\n" + END


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    arguments = argparse.ArgumentParser(description="Makes the single header.")
    arguments.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments.add_argument("--root", type=pathlib.Path, default=root, help="the repository")
    options = arguments.parse_args()

    amalgamation = Amalgamation(options.root / "include")
    amalgamation.add("elastic/elastic.hpp")
    target = options.root / "single_include" / "elastic" / "elastic.hpp"
    if not options.check:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(amalgamation.text(), encoding="utf-8")
        return
    current = target.read_text(encoding="utf-8") if target.exists() else ""
    if current != amalgamation.text():
        difference = difflib.unified_diff(current.splitlines(), amalgamation.text().splitlines(),
                                          "committed", "generated", lineterm="", n=1)
        print("\n".join(list(difference)[:40]))
        sys.exit(f"{target} is not up to date: run scripts/amalgamate.py")


if __name__ == "__main__":
    main()
