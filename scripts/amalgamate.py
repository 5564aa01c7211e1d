#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Makes the single header out of all headers of the library.

  amalgamate.py             writes single_include/elastic/elastic.hpp
  amalgamate.py --check     compares it with what would be written; exit status 1 if it differs

Declarations come first, then all definitions, which a program that is compiled separately takes in
one of its translation units only. The result depends on the headers alone: no time, no path, no
version control. Each of the library's own headers is put in once, where it is first included;
includes of other libraries stay where they are, a repeated one is left out. Each opt-in module
stands under a condition of its own; what it needs of the core stands before that.
"""

import argparse
import difflib
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
// The opt-in modules are visible where ELASTIC_WITH_<NAME> is defined, such as ELASTIC_WITH_CLI.

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
    """The opt-in module of elastic/cli/command_line.hpp and elastic/cli.hpp; None for the core."""
    name = header.split("/")[1].removesuffix(".hpp")
    return name if name in OPT_IN_LAYERS else None


def condition_of(module):
    return f"ELASTIC_WITH_{module.upper()}"


class Amalgamation:
    """The headers expanded so far, and their text: those of one opt-in module, or of the core."""

    def __init__(self, include_dir, module=None):
        self.include_dir = include_dir
        self.module = module
        self.expanded = set()
        self.included = set()
        self.lines = []
        self.definitions = []
        self.blocks = []

    def part(self, module=None):
        """Another part of the same text, which knows what stands before it."""
        part = Amalgamation(self.include_dir, module)
        part.expanded = self.expanded
        # What one module alone includes stands under its condition.
        part.included = set(self.included) if module else self.included
        return part

    def add(self, header):
        """Puts in `header`, preceded by the headers that it includes."""
        assert module_of(header) == self.module, f"{header}: not of {self.module or 'the core'}"
        self.expanded.add(header)
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
                    self.included.add(other[1])
                    body.append(line)
            elif line.strip() != "#pragma once" and not line.startswith("// SPDX-"):
                body.append(line)
        if any(line.strip() for line in body):
            self.lines += ["", f"// ---- {header} ----", ""] + body

    def add_all(self, headers):
        for header in headers:
            if header not in self.expanded:
                self.add(header)

    def core_needs(self, header, seen):
        """The headers of the core that one of a module includes, also by others of modules."""
        for line in self.read(header):
            own = OWN_INCLUDE.match(line)
            if not own or own[1].endswith(".ipp") or own[1] in seen:
                continue
            seen.add(own[1])
            if module_of(own[1]):
                yield from self.core_needs(own[1], seen)
            else:
                yield own[1]

    def add_module(self, module, headers):
        """Puts in the headers of an opt-in module under its condition."""
        seen = set()
        for header in headers:
            self.add_all(self.core_needs(header, seen))
        block = self.part(module)
        block.add_all(headers)
        self.lines += conditional(module, block.lines)
        self.blocks.append(block)

    def add_definitions(self):
        """Puts in what the headers only declare, preceded by what only definitions include."""
        private = self.part()
        private.definitions = self.definitions
        private.complete()
        for block in self.blocks:
            text = private.part(block.module)
            for definitions in block.definitions:
                private.add_all(private.core_needs(definitions, set()))
                private.complete()
                text.add(definitions)
                block.definitions += text.definitions
                text.definitions = []
            private.lines += conditional(block.module, text.lines)
        self.lines += ["", DEFINITIONS, *private.lines, "", "#endif  // definitions"]

    def complete(self):
        """Puts in the definitions that are due, and those of what they include."""
        while self.definitions:
            self.add(self.definitions.pop(0))

    def read(self, header):
        path = self.include_dir / header
        return path.read_text(encoding="utf-8").splitlines()

    def text(self):
        whole = BANNER + "\n".join(self.lines)
        return re.sub(r"\n{3,}", "\n\n", whole).rstrip() + "\n" + END


def conditional(module, lines):
    condition = condition_of(module)
    return ["", f"#if defined({condition})", *lines, "", f"#endif  // {condition}"]


def implied_modules():
    """What defines the conditions of the modules that another module includes."""
    for module, layers in reversed(OPT_IN_LAYERS.items()):
        for other in layers:
            if other in OPT_IN_LAYERS:
                yield from [f"#if defined({condition_of(module)}) && "
                            f"!defined({condition_of(other)})",
                            f"#define {condition_of(other)} 1", "#endif"]


def amalgamated(include_dir):
    amalgamation = Amalgamation(include_dir)
    amalgamation.lines += implied_modules()
    amalgamation.add("elastic/elastic.hpp")
    headers = sorted(path.relative_to(include_dir).as_posix()
                     for path in (include_dir / "elastic").rglob("*.hpp"))
    headers = [header for header in headers
               if "/detail/" not in header and header not in LEFT_OUT]
    amalgamation.add_all(header for header in headers if not module_of(header))
    for module in OPT_IN_LAYERS:
        amalgamation.add_module(module, [x for x in headers if module_of(x) == module])
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
