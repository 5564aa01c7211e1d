#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Makes the single header out of all headers of the library.

  amalgamate.py             writes single_include/elastic/elastic.hpp
  amalgamate.py --check     compares it with what would be written; exit status 1 if it differs

Declarations come first, then all definitions, which a program that is compiled separately takes in
one of its translation units only. The result depends on the headers alone: no time, no path, no
version control. Each of the library's own headers is put in once, where it is first included;
includes of other libraries stay where they are, a repeated one is left out. Headers of an opt-in
module stand under its condition.
"""

import argparse
import difflib
import itertools
import pathlib
import re
import sys

from tidy import OPT_IN_LAYERS

BANNER = """\
// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The whole library in one header. Made by
// scripts/amalgamate.py: do not edit it, change the headers in include/ and run the script again.
//
// Header-only as it is. To compile the library once, define ELASTIC_SEPARATE_COMPILATION for the
// whole program, and ELASTIC_SOURCE in the one translation unit that is to hold the library.
//
// A translation unit that uses an opt-in module defines ELASTIC_WITH_<NAME> before it includes this
// header, such as ELASTIC_WITH_ETCD for <elastic/etcd.hpp>.

#if defined(__GNUC__) && !defined(__clang__)
// If g++ 12 inlines the allocation of a frame of a coroutine but not its release, it takes the pair
// for a mistake.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif
"""
DEFINITIONS = "#if defined(ELASTIC_HEADER_ONLY) || defined(ELASTIC_SOURCE)"
END = """
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
"""
LEFT_OUT = {"elastic/src.hpp"}

OWN_INCLUDE = re.compile(r"#include <(elastic/[\w/]+\.[hi]pp)>\s*$")
OTHER_INCLUDE = re.compile(r"#include <([^>]+)>\s*$")
CONDITIONAL_START = re.compile(r"\s*#\s*if")
CONDITIONAL_END = re.compile(r"\s*#\s*endif")
DEFINITIONS_START = "#if defined(ELASTIC_HEADER_ONLY)"


def module_of(header):
    """The opt-in module of elastic/file/file_keys.hpp and elastic/file.hpp; None for the core."""
    name = header.split("/")[1].removesuffix(".hpp")
    return name if name in OPT_IN_LAYERS else None


def macro_of(module):
    return f"ELASTIC_WITH_{module.upper()}"


class Amalgamation:
    """The headers expanded so far, and their text."""

    def __init__(self, include_dir):
        self.include_dir = include_dir
        self.expanded = set()
        self.included = set()
        self.sections = []  # the opt-in module or None, lines
        self.definitions = []

    def add(self, header):
        """Puts in `header`, preceded by the headers that it includes."""
        self.expanded.add(header)
        module = module_of(header)
        body = []
        depth = 0
        for number, line in enumerate(self.read(header), 1):
            if CONDITIONAL_START.match(line):
                depth += 1
            elif CONDITIONAL_END.match(line):
                depth -= 1
            own, other = OWN_INCLUDE.match(line), OTHER_INCLUDE.match(line)
            if own and own[1].endswith(".ipp"):
                # Between the two lines of its condition, which go with it.
                assert body.pop() == DEFINITIONS_START, f"{header}:{number}"
                body.append(None)
                self.definitions.append(own[1])
            elif body and body[-1] is None:
                assert line == "#endif", f"{header}:{number}"
                body.pop()
            elif own and depth > 0:
                sys.exit(f"{header}:{number}: a header of this library under a condition cannot "
                         "be put into the single header")
            elif own:
                if own[1] not in self.expanded:
                    self.add(own[1])
            elif other and depth == 0:
                if other[1] not in self.included:
                    body.append(line)
                    # Whatever follows may be compiled without the module.
                    if not module:
                        self.included.add(other[1])
            elif line.strip() != "#pragma once" and not line.startswith("// SPDX-"):
                body.append(line)
        if any(line.strip() for line in body):
            self.sections.append((module, ["", f"// ---- {header} ----", "", *body]))

    def add_definitions(self):
        """Puts in what the headers only declare, preceded by what only definitions include."""
        done = 0
        private = Amalgamation(self.include_dir)
        private.expanded, private.included = self.expanded, self.included
        while done < len(self.definitions):
            private.add(self.definitions[done])
            self.definitions += private.definitions
            private.definitions = []
            done += 1
        self.sections += [(None, ["", DEFINITIONS]), *private.sections,
                          (None, ["", "#endif  // definitions"])]

    def read(self, header):
        path = self.include_dir / header
        return path.read_text(encoding="utf-8").splitlines()

    def text(self):
        lines = list(module_macros())
        for module, sections in itertools.groupby(self.sections, lambda section: section[0]):
            part = [line for _, section in sections for line in section]
            if module:
                macro = macro_of(module)
                part = ["", f"#if defined({macro})", *part, "", f"#endif  // {macro}"]
            lines += part
        return re.sub(r"\n{3,}", "\n\n", BANNER + "\n".join(lines)).rstrip() + "\n" + END


def module_macros():
    """Defines the macro of each module that another one includes; of all for ELASTIC_SOURCE."""
    for module in reversed(OPT_IN_LAYERS):
        users = [macro_of(user) for user, layers in OPT_IN_LAYERS.items() if module in layers]
        condition = " || ".join(f"defined({macro})" for macro in ["ELASTIC_SOURCE", *users])
        macro = macro_of(module)
        yield from [f"#if !defined({macro}) && ({condition})", f"#define {macro} 1", "#endif"]


def amalgamated(include_dir):
    amalgamation = Amalgamation(include_dir)
    amalgamation.add("elastic/elastic.hpp")
    headers = sorted(path.relative_to(include_dir).as_posix()
                     for path in (include_dir / "elastic").rglob("*.hpp"))
    for header in headers:
        is_private = "/detail/" in header
        if not is_private and header not in LEFT_OUT and header not in amalgamation.expanded:
            amalgamation.add(header)
    amalgamation.add_definitions()
    return amalgamation.text()


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    arguments = argparse.ArgumentParser(description="Makes the single header.")
    arguments.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments.add_argument("--root", type=pathlib.Path, default=root, help="the repository")
    options = arguments.parse_args()

    text = amalgamated(options.root / "include")
    target = options.root / "single_include" / "elastic" / "elastic.hpp"
    if not options.check:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        return
    current = target.read_text(encoding="utf-8") if target.exists() else ""
    if current != text:
        difference = difflib.unified_diff(current.splitlines(), text.splitlines(),
                                          "committed", "generated", lineterm="", n=1)
        print("\n".join(list(difference)[:40]))
        sys.exit(f"{target} is not up to date: run scripts/amalgamate.py")


if __name__ == "__main__":
    main()
