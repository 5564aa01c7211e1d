#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Puts code of the examples into the documents, so that what is shown is what is compiled.

  snippets.py             rewrites the code blocks in README.md, CONTRIBUTING.md and docs/
  snippets.py --check     exit status 1 where one is not what the example says

In a document, a line
    <!-- snippet: examples/01_hello_launch.cpp#run -->
before a code block says where the block comes from: the lines between "// [run]" and "// [/run]"
of that file ("#" instead of "//" in shell and Python), without their common indentation. Without
"#run" it is the whole file.
"""

import argparse
import pathlib
import re
import sys
import textwrap

BLOCK = re.compile(r"(<!-- snippet: (?P<file>[\w./-]+)(#(?P<part>\w+))? -->\n)"
                   r"```(?P<language>\w*)\n.*?^```$", re.DOTALL | re.MULTILINE)
MARK = re.compile(r"^\s*(//|#) \[/?\w+\]\s*$")
LANGUAGES = {".cpp": "cpp", ".hpp": "cpp", ".py": "python", ".sh": "sh", ".toml": "toml",
             ".txt": "cmake"}


def cut(root, document, file, part):
    """The code that a marker stands for."""
    path = root / file
    if not path.exists():
        sys.exit(f"{document}: there is no {file}")
    lines = path.read_text(encoding="utf-8").splitlines()
    if part:
        marks = {line.strip().lstrip("/# "): number for number, line in enumerate(lines)
                 if MARK.match(line)}
        start, end = marks.get(f"[{part}]"), marks.get(f"[/{part}]")
        if start is None or end is None or end < start:
            sys.exit(f"{document}: {file} has no part between [{part}] and [/{part}]")
        lines = lines[start + 1:end]
    lines = [line for line in lines if not MARK.match(line)]
    return textwrap.dedent("\n".join(lines)).strip("\n")


def filled(root, document, text):
    """The document with each marked block cut anew."""
    def replace(found):
        code = cut(root, document, found["file"], found["part"])
        language = LANGUAGES.get(pathlib.Path(found["file"]).suffix, "")
        return f"{found[1]}```{language}\n{code}\n```"
    return BLOCK.sub(replace, text)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    arguments = argparse.ArgumentParser(description="Puts code of the examples into documents.")
    arguments.add_argument("--check", action="store_true", help="compare instead of writing")
    arguments.add_argument("--root", type=pathlib.Path, default=root, help="the repository")
    options = arguments.parse_args()

    documents = [options.root / name for name in ("README.md", "CONTRIBUTING.md")]
    documents += sorted((options.root / "docs").rglob("*.md"))
    outdated = []
    for document in documents:
        if not document.exists():
            continue
        text = document.read_text(encoding="utf-8")
        if text.count("<!-- snippet:") != len(BLOCK.findall(text)):
            sys.exit(f"{document}: a snippet marker is not followed by a code block")
        new = filled(options.root, document, text)
        if new != text:
            outdated.append(document)
            if not options.check:
                document.write_text(new, encoding="utf-8")
    if options.check and outdated:
        sys.exit("run scripts/snippets.py, out of date: " + ", ".join(map(str, outdated)))


if __name__ == "__main__":
    main()
