#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Makes the single header out of all headers of the library, and the list of all definitions.

  amalgamate.py             writes single_include/elastic/elastic.hpp and elastic.cpp, and
                            include/elastic/src.hpp
  amalgamate.py --check     compares them with what would be written; exit status 1 if one differs
  amalgamate.py --out DIR   writes the single header and its source into another folder

Declarations come first, then all definitions, which a program that is compiled separately takes in
one of its translation units, or in the four of PARTS. The result depends on the headers alone: no
time, no path, no version control. Each of the library's own headers is put in once, where it is
first included; includes of other libraries stay where they are, a repeated one is left out. Headers
of an opt-in module stand under its condition; what only definitions include, under that of the
parts that do.
"""

import argparse
import difflib
import itertools
import pathlib
import re
import sys

from tidy import ALL_LAYERS, OPT_IN_LAYERS

BANNER = """\
// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The whole library in one header. Made by
// scripts/amalgamate.py: do not edit it, change the headers in include/ and run the script again.
//
// Header-only as it is. To compile the library once, define ELASTIC_SEPARATE_COMPILATION for the
// whole program, and compile elastic.cpp beside this header.
//
// A translation unit that uses an opt-in module defines ELASTIC_WITH_<NAME> before it includes this
// header, such as ELASTIC_WITH_ETCD for <elastic/etcd.hpp>.

#if defined(__GNUC__) && !defined(__clang__)
// If g++ 12 inlines the allocation of a frame of a coroutine but not its release, it takes the pair
// for a mistake; and it takes the lambdas of an included source for those of a header.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif
"""
DEFINITIONS = ("#if defined(ELASTIC_HEADER_ONLY) || defined(ELASTIC_SOURCE) || "
               "defined(ELASTIC_SOURCE_PART)")
END = """
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
"""
SPDX = """\
// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
"""
SOURCE = SPDX + """
// The definitions of the library, for programs that compile it once and define
// ELASTIC_SEPARATE_COMPILATION in all units. Made by scripts/amalgamate.py: do not edit it.
//
// Compiled as it is, this file holds every module and takes much memory. Four units with
// ELASTIC_SOURCE_PART from 1 to 4 hold the core, and each opt-in module whose ELASTIC_WITH_<NAME>
// is defined in all four.

#if !defined(ELASTIC_SEPARATE_COMPILATION)
#define ELASTIC_SEPARATE_COMPILATION 1
#endif
#if !defined(ELASTIC_SOURCE) && !defined(ELASTIC_SOURCE_PART)
#define ELASTIC_SOURCE 1
#endif
#include "elastic.hpp"
"""
LIST_OF_DEFINITIONS = SPDX + """\
#pragma once

// Every definition of the library, for those who compile it once without CMake: include this in one
// translation unit, and define ELASTIC_SEPARATE_COMPILATION in all. `elastic::compiled` does the
// same in several. Made by scripts/amalgamate.py: do not edit it.
//
// One unit with all modules takes much memory. Four units that define ELASTIC_SOURCE_PART from 1 to
// 4 before they include this header hold the core, and each opt-in module whose ELASTIC_WITH_<NAME>
// is defined in all four.

#include <elastic/base/detail/source_part.hpp>

#if defined(__GNUC__) && !defined(__clang__)
// g++ takes the lambdas in a file of definitions for those of a header, because it is included.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif
"""
LEFT_OUT = {"elastic/src.hpp"}
CHECKS_OF_PARTS = "elastic/base/detail/source_part.hpp"

# The modules of each of the four parts, so that all four take about as long, with the core alone
# and with every opt-in module: benchmarks/compile.py measures it.
PARTS = [
    ["agent", "telemetry", "status", "wire", "vault"],
    ["rendezvous", "nodes", "etcd", "cli"],
    ["base", "net", "store", "worker", "file", "torch", "roles"],
    ["contract", "control", "launch", "process", "python", "functions", "diagnosis", "testing"],
]
ALL_PARTS = frozenset(range(1, len(PARTS) + 1))
assert sorted(itertools.chain(*PARTS)) == sorted(ALL_LAYERS), "PARTS lists each module once"

# The former names of modules, whose macros still select them.
FORMER = {"diagnosis": ["inspection"]}

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


def part_of(definitions):
    """The number of the part that has elastic/agent/impl/local_agent.ipp."""
    module = definitions.split("/")[1]
    return next(number for number, modules in enumerate(PARTS, 1) if module in modules)


def condition_of(module, parts):
    """The preprocessor's condition for text of a module that some parts need; "" for all text."""
    conditions = [f"defined({macro_of(module)})"] if module else []
    if parts != ALL_PARTS:
        numbers = [f"ELASTIC_SOURCE_PART == {part}" for part in sorted(parts)]
        either = " || ".join(["!defined(ELASTIC_SOURCE_PART)", *numbers])
        conditions.append(f"({either})" if conditions else either)
    return " && ".join(conditions)


class Amalgamation:
    """The headers expanded so far, and their text."""

    def __init__(self, include_dir):
        self.include_dir = include_dir
        self.expanded = set()
        self.included = set()
        self.parts = {}  # of what only definitions include
        self.sections = []  # the opt-in module or None, the parts that need it, lines
        self.definitions = []

    def add(self, header):
        """Puts in `header`, preceded by the headers that it includes."""
        self.expanded.add(header)
        module = module_of(header)
        parts = self.parts.get(header, ALL_PARTS)
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
                    # Whatever follows may be compiled without the module, or in another part.
                    if not module and parts == ALL_PARTS:
                        self.included.add(other[1])
            elif line.strip() != "#pragma once" and not line.startswith("// SPDX-"):
                body.append(line)
        if any(line.strip() for line in body):
            self.sections.append((module, parts, ["", f"// ---- {header} ----", "", *body]))

    def add_definitions(self):
        """Puts in what the headers only declare, preceded by what only definitions include."""
        done = 0
        private = Amalgamation(self.include_dir)
        private.expanded, private.included = self.expanded, self.included
        self.assign_parts(private)
        private.add(CHECKS_OF_PARTS)
        while done < len(self.definitions):
            private.add(self.definitions[done])
            self.definitions += private.definitions
            private.definitions = []
            done += 1
        self.sections += [(None, ALL_PARTS, ["", DEFINITIONS]), *private.sections,
                          (None, ALL_PARTS, ["", "#endif  // definitions"])]

    def assign_parts(self, private):
        """Notes for each definition file, and for what only such files include, the parts that need
        it."""
        for definitions in all_definitions(self.include_dir):
            part = part_of(definitions)
            left = [definitions]
            while left:
                header = left.pop()
                parts = private.parts.setdefault(header, set())
                is_declared = header in self.expanded
                is_other = header.endswith(".ipp") and header != definitions
                if part in parts or is_declared or is_other:
                    continue
                parts.add(part)
                left += (found[1] for line in self.read(header)
                         if (found := OWN_INCLUDE.match(line)))

    def read(self, header):
        path = self.include_dir / header
        return path.read_text(encoding="utf-8").splitlines()

    def text(self):
        lines = list(module_macros())
        for key, sections in itertools.groupby(self.sections, lambda section: section[:2]):
            text = [line for *_, section in sections for line in section]
            if condition := condition_of(*key):
                text = ["", f"#if {condition}", *text, "", "#endif"]
            lines += text
        return re.sub(r"\n{3,}", "\n\n", BANNER + "\n".join(lines)).rstrip() + "\n" + END


def module_macros(everything="defined(ELASTIC_SOURCE)"):
    """Defines the macro of each module that another one includes; of all under a condition."""
    for module in reversed(OPT_IN_LAYERS):
        users = [macro_of(user) for user, layers in OPT_IN_LAYERS.items() if module in layers]
        users += [macro_of(name) for name in FORMER.get(module, [])]
        condition = " || \\\n     ".join([everything, *(f"defined({macro})" for macro in users)])
        if users:
            condition = f"\\\n    ({condition})"
        macro = macro_of(module)
        yield from [f"#if !defined({macro}) && {condition}", f"#define {macro} 1", "#endif"]


def all_definitions(include_dir):
    return sorted(path.relative_to(include_dir).as_posix()
                  for path in (include_dir / "elastic").rglob("*.ipp"))


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


def list_of_definitions(include_dir):
    """The text of elastic/src.hpp."""
    definitions = all_definitions(include_dir)
    lines = list(module_macros("!defined(ELASTIC_SOURCE_PART)"))
    for number, modules in enumerate(PARTS, 1):
        lines += ["", f"#if {condition_of(None, {number})}"]
        for module in modules:
            of_module = [f"#include <{name}>" for name in definitions
                         if name.split("/")[1] == module]
            if module in OPT_IN_LAYERS:
                of_module = [f"#if defined({macro_of(module)})", *of_module, "#endif"]
            lines += of_module
        lines.append("#endif")
    return LIST_OF_DEFINITIONS + "\n".join(lines) + "\n" + END


def generated(root):
    """Each file that this script makes, by its path in the repository, and its text."""
    include_dir = root / "include"
    return {
        "include/elastic/src.hpp": list_of_definitions(include_dir),
        "single_include/elastic/elastic.hpp": amalgamated(include_dir),
        "single_include/elastic/elastic.cpp": SOURCE,
    }


def check(target, text):
    current = target.read_text(encoding="utf-8") if target.exists() else ""
    if current == text:
        return True
    difference = difflib.unified_diff(current.splitlines(), text.splitlines(),
                                      "committed", "generated", lineterm="", n=1)
    print("\n".join(list(difference)[:40]))
    print(f"{target} is not up to date: run scripts/amalgamate.py")
    return False


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    arguments = argparse.ArgumentParser(description="Makes the single header.")
    arguments.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments.add_argument("--out", type=pathlib.Path, metavar="DIR",
                           help="write elastic/elastic.hpp and elastic.cpp into this folder")
    arguments.add_argument("--root", type=pathlib.Path, default=root, help="the repository")
    options = arguments.parse_args()
    files = generated(options.root)
    if options.check:
        are_current = [check(options.root / name, text) for name, text in files.items()]
        sys.exit(0 if all(are_current) else 1)
    for name, text in files.items():
        target = options.root / name
        if options.out:
            if not name.startswith("single_include/"):
                continue
            target = options.out / name.removeprefix("single_include/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
