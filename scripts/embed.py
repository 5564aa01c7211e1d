#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Writes the headers that carry files in other languages: pages and what workers of Python run.

  embed.py           writes the headers
  embed.py --check   says whether they are what the files make, and runs each language's linter

The files of include/elastic/MODULE/embedded are constants of MODULE/detail/embedded.hpp, each with
the name of its file: page.js is `page_js`. A comment at the beginning of a file is left out.

The linters are pyflakes, which sees each hook as a worker runs it, after what comes before it, and
`node --check`. One that is missing is an error with ELASTIC_NOTHING_MISSING=1.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIBRARY = ROOT / "include/elastic"
# A comment at the beginning of a file, in the languages that there are.
COMMENT = {".py": r"(#.*\n)+\n?", ".js": r"(//.*\n)+\n?", ".css": r"/\*(?s:.*?)\*/\n+",
           ".html": r"<!--(?s:.*?)-->\n+"}
# What comes before a file where it runs.
BEFORE = {"import_recorder.py": ["hook_prelude.py"],
          "import_recorder_start.py": ["hook_prelude.py", "import_recorder.py"],
          "standby_hook.py": ["hook_prelude.py", "import_recorder.py"],
          "inspection_hook.py": ["hook_prelude.py"],
          "page.js": ["common.js"], "roles.js": ["common.js"]}


def embedded_files():
    """The files of each module, in the order of their names."""
    modules = {}
    for path in sorted(LIBRARY.glob("*/embedded/*")):
        modules.setdefault(path.parent.parent, []).append(path)
    return modules


def content_of(path):
    """A file without the comment at its beginning."""
    return re.sub(r"\A" + COMMENT[path.suffix], "", path.read_text(encoding="utf-8"))


def header_text(module, paths):
    constants = "\n".join(
        f'inline constexpr char {path.name.replace(".", "_")}[] = '
        f'R"embedded({content_of(path)})embedded";\n' for path in paths)
    return ("// SPDX-FileCopyrightText: 2026 The elastic authors\n"
            "// SPDX-License-Identifier: MIT\n"
            "#pragma once\n\n"
            f"// Written by scripts/embed.py from the files in elastic/{module.name}/embedded. "
            "Do not edit.\n\n"
            "namespace elastic::detail {\n\n" + constants + "\n}  // namespace elastic::detail\n")


def headers():
    return {module / "detail/embedded.hpp": header_text(module, paths)
            for module, paths in embedded_files().items()}


# The linter of a language, and its option, if it needs one. The others have none.
LINTERS = {".py": ["pyflakes3"], ".js": ["node", "--check"]}


def complaints(paths):
    """What the linters find, and which are missing."""
    places = {path.name: path for path in paths}
    for path in paths:
        command = LINTERS.get(path.suffix)
        if not command:
            continue
        if not shutil.which(command[0]):
            yield f"{path}: not checked, {command[0]} is not here"
            continue
        parts = [places[name] for name in BEFORE.get(path.name, [])] + [path]
        with tempfile.TemporaryDirectory() as folder:
            whole = pathlib.Path(folder) / path.name
            whole.write_text("".join(map(content_of, parts)), encoding="utf-8")
            found = subprocess.run([*command, str(whole)], stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, check=False)
        if found.returncode != 0:
            yield f"{path}: {found.stdout}"


def check():
    problems = [f"{path} is not what its files make: run scripts/embed.py"
                for path, text in headers().items()
                if not path.is_file() or path.read_text(encoding="utf-8") != text]
    for complaint in complaints([path for paths in embedded_files().values() for path in paths]):
        if "is not here" in complaint and os.environ.get("ELASTIC_NOTHING_MISSING") != "1":
            print(complaint)
        else:
            problems.append(complaint)
    sys.exit("\n".join(problems) or None)


def main():
    if sys.argv[1:] == ["--check"]:
        check()
    for path, text in headers().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
