#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Builds the reference of the public headers: HTML, by Doxygen.

  build.py [FOLDER]     writes FOLDER/html/index.html (default: build/reference)
  build.py --self-test  shows that each rule finds what breaks it

Exit status 1 if Doxygen warns, for example of a broken reference or a @param that the function does
not have; if a public type has no docstring; or if index.md, which sorts the public types by tier,
does not list each exactly once. Exit status 77 if Doxygen is not installed; 1 if besides
ELASTIC_NOTHING_MISSING is 1.

Public types are those that scripts/count.py counts.
"""

import argparse
import collections
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
from count import public_types  # noqa: E402

SKIPPED = 77
SOURCES = "docs/reference"
INDEX = f"{SOURCES}/index.md"


def headers_of(root):
    """The public headers; Doxyfile says the same by EXCLUDE_PATTERNS."""
    return [path for path in sorted((root / "include").rglob("*.hpp"))
            if "detail" not in path.relative_to(root).parts]


def types_of(root):
    """Each public type → the header that defines it."""
    return {name: path.relative_to(root).as_posix()
            for path in headers_of(root) for name in public_types(path.read_text(encoding="utf-8"))}


def tiers_of(root):
    """The headings of index.md, each with the types that are listed below it."""
    tiers = collections.defaultdict(list)
    heading = ""
    for line in (root / INDEX).read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif found := re.fullmatch(r"- ([\w:]+)", line):
            tiers[heading].append(found[1])
    return tiers


def check_index(root):
    """index.md lists each public type once, and nothing else."""
    types = types_of(root)
    listed = collections.Counter(name for names in tiers_of(root).values() for name in names)
    for name in sorted(types.keys() - listed.keys()):
        yield f"{INDEX}: does not list {name} of {types[name]}"
    for name in sorted(listed.keys() - types.keys()):
        yield f"{INDEX}: lists {name}, which is not a public type"
    for name, times in listed.items():
        if times > 1:
            yield f"{INDEX}: lists {name} {times} times"


def run_doxygen(root, folder):
    """Doxygen's warnings, each once."""
    version = re.search(r'version_text = "(.*)";',
                        (ROOT / "include/elastic/base/version.hpp").read_text(encoding="utf-8"))
    options = (root / SOURCES / "Doxyfile").read_text(encoding="utf-8")
    options += f'OUTPUT_DIRECTORY = "{folder}"\nPROJECT_NUMBER = {version[1]}\n'
    made = subprocess.run(["doxygen", "-"], cwd=root, input=options, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    warnings = list(dict.fromkeys(line for line in made.stdout.splitlines() if line.strip()))
    if made.returncode != 0 and not warnings:
        warnings.append(f"doxygen ended with exit code {made.returncode}")
    return warnings


def docstrings_of(folder):
    """Each type and namespace that Doxygen describes → whether it has a docstring."""
    described = {}
    for path in folder.glob("xml/*.xml"):
        for compound in xml.etree.ElementTree.parse(path).getroot().iter("compounddef"):
            name = compound.find("compoundname").text
            if compound.get("kind") in ("class", "struct", "namespace"):
                described[name] = has_docstring(compound)
            if compound.get("kind") == "namespace":
                for member in compound.iter("memberdef"):
                    if member.get("kind") in ("enum", "typedef"):
                        described[f"{name}::{member.find('name').text}"] = has_docstring(member)
    return described


def has_docstring(element):
    parts = [element.find("briefdescription"), element.find("detaileddescription")]
    return any("".join(part.itertext()).strip() for part in parts)


def check_docstrings(root, folder):
    """Each public type has a docstring, and nothing internal is described."""
    described = docstrings_of(folder)
    for name, header in sorted(types_of(root).items()):
        if not described.get(f"elastic::{name}"):
            yield f"{header}: {name} has no docstring"
    for name in described:
        if name.startswith("elastic::") and "detail" in name.split("::"):
            yield f"{name} is internal, and in the reference"


def findings(root, folder):
    shutil.rmtree(folder / "xml", ignore_errors=True)
    shutil.rmtree(folder / "html", ignore_errors=True)
    return [*run_doxygen(root, folder), *check_index(root), *check_docstrings(root, folder)]


# ---- self-test --------------------------------------------------------------------------------

HEADER = "include/elastic/base/thing.hpp"
CLEAN = {
    HEADER: """#pragma once
#define ELASTIC_DECL inline
namespace elastic {
namespace detail {
struct wheel {};
}  // namespace detail

/// A thing. See `detail`.
struct thing {
  /// Turns it.
  /// @param times  how often
  /// Errors: none.
  ELASTIC_DECL void turn(int times);
};
/// Two things, unlike a `thing`.
using pair = thing[2];
}  // namespace elastic
""",
    "include/elastic/base/detail/gear.hpp": "namespace elastic {\nstruct gear {};\n}\n",
    INDEX: "# Things\n\n## Tier 1\n\n- thing\n- pair\n",
    "docs/stability.md": "# Stability\n",
    **{f"{SOURCES}/{name}": (ROOT / SOURCES / name).read_text(encoding="utf-8")
       for name in ("Doxyfile", "headers.sed", "pages.sed")},
}
BEFORE_END = "}  // namespace elastic\n"
# Each of these replacements in a file of the clean tree must be found.
VIOLATIONS = [
    (HEADER, BEFORE_END, "struct other {};\n" + BEFORE_END, "other has no docstring"),
    (HEADER, BEFORE_END, "enum class other { one };\n" + BEFORE_END, "does not list other"),
    (HEADER, BEFORE_END, "enum class other { one };\n" + BEFORE_END, "other has no docstring"),
    (HEADER, "/// Two things, unlike a `thing`.\n", "", "pair has no docstring"),
    (HEADER, "/// Turns it.", "/// Turns it, @ref elastic::gone.", "elastic::gone"),
    (HEADER, "@param times", "@param turns", "argument 'turns' of command @param is not found"),
    (HEADER, "/// Turns it.", "/// @turns it.", "unknown command"),
    (f"{SOURCES}/Doxyfile", "EXCLUDE_SYMBOLS ", "DOT_PATH ", "elastic::detail::wheel is internal"),
    (INDEX, "- pair\n", "", "does not list pair of " + HEADER),
    (INDEX, "- pair\n", "- pair\n- pair\n", "lists pair 2 times"),
    (INDEX, "- pair\n", "- pair\n- gear\n", "lists gear, which is not a public type"),
]


def findings_in(files):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        return findings(root, root / "made")


def self_test():
    failures = [f"found in a clean tree: {finding}" for finding in findings_in(CLEAN)]
    for name, old, new, wanted in VIOLATIONS:
        found = findings_in({**CLEAN, name: CLEAN[name].replace(old, new)})
        if not any(wanted in finding for finding in found):
            failures.append(f"not found: {new!r} in {name} (wanted: {wanted}; got: {found})")
    print("\n".join(failures) or f"{len(VIOLATIONS)} violations, each one found")
    return 1 if failures else 0


def main():
    arguments = argparse.ArgumentParser(description="Builds the reference of the public headers.")
    arguments.add_argument("folder", nargs="?", type=pathlib.Path, help="where it is written",
                           default=ROOT / "build" / "reference")
    arguments.add_argument("--self-test", action="store_true", help="test the rules themselves")
    options = arguments.parse_args()
    if not shutil.which("doxygen"):
        print("no doxygen here (Debian's package doxygen)", file=sys.stderr)
        sys.exit(1 if os.environ.get("ELASTIC_NOTHING_MISSING") == "1" else SKIPPED)
    if options.self_test:
        sys.exit(self_test())
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    found = findings(ROOT, folder)
    for finding in found:
        print(finding.replace(f"{ROOT}/", ""), file=sys.stderr)
    for heading, names in tiers_of(ROOT).items():
        print(f"{len(names):5} types  {heading}")
    print(f"{len(types_of(ROOT)):5} public types; {folder}/html/index.html")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
