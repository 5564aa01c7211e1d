#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Whether the pages for people who run jobs say what is true.

  documents.py ELASTICRUN PYTHON    PYTHON has torch; without it, what needs it is left out

Of docs/train_script.md, from_torchrun.md, deploy.md and troubleshooting.md:

- every block of shell has a line before it that says <!-- runs: plain -->, <!-- runs: torch --> or
  <!-- needs: WHAT -->; those that run do, and succeed;
- every option that they and the files in examples/deploy give to elasticrun exists;
- every message of the troubleshooting page stands in the sources.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ["train_script", "from_torchrun", "deploy", "troubleshooting"]
BLOCK = re.compile(r"^(?:<!-- (?P<kind>runs|needs): (?P<what>.+?) -->\n)?```sh\n(?P<code>.*?)^```$",
                   re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
SCRIPT = """\
import os
import sys
assert int(os.environ["RANK"]) < int(os.environ["WORLD_SIZE"]), os.environ
print(sys.argv[1:])
"""


def elasticrun_commands(text):
    """The command lines of elasticrun in a text, without the arguments of its script."""
    joined = text.replace("\\\n", " ")
    for line in joined.splitlines():
        _, found, command = line.partition("elasticrun ")
        if found and not line.lstrip().startswith("#"):
            yield re.split(r"\s\S+\.py\b", command)[0]


def unknown_options(text, known):
    return sorted({option for command in elasticrun_commands(text)
                   for option in OPTION.findall(command) if option not in known})


def table_options(page):
    """The options that the middle column of a table names as elasticrun's."""
    for line in page.splitlines():
        cells = line.split("|")
        if len(cells) == 5 and not re.match(r"^[\s-]*$", cells[2]):
            yield from OPTION.findall(cells[2].split(":")[-1])


def run_block(code, what, elasticrun, python):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        programs = folder / "bin"
        programs.mkdir()
        (programs / "elasticrun").symlink_to(elasticrun)
        (folder / "train.py").write_text(SCRIPT)
        shutil.copytree(ROOT / "examples" / "python", folder / "examples" / "python")
        environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}",
                           PYTHONPATH=str(ROOT / "python"),
                           PYTHON_EXEC=python if what == "torch" else sys.executable)
        run = subprocess.run(["bash", "-euo", "pipefail", "-c", code], cwd=folder, env=environment,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, text=True, timeout=240)
        return run.returncode, run.stdout


def source_text():
    """All sources, with texts that are written in pieces put together."""
    files = [*ROOT.glob("include/**/*.?pp"), *ROOT.glob("program/**/*.?pp")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(files))
    return re.sub(r'"\s*\n\s*"', "", text)


def missing_messages(page, sources):
    """Messages of the page's tables of which a part of some length is in no source."""
    for line in page.splitlines():
        message = re.match(r"^\| `([^`]+)`", line)
        parts = [part.strip() for part in message[1].split("…")] if message else []
        long_parts = [part for part in parts if len(part) >= 8]
        if message and (not long_parts or any(part not in sources for part in long_parts)):
            yield message[1]


def main():
    elasticrun, python = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else ""
    help_text = subprocess.run([elasticrun, "--help"], check=True, stdout=subprocess.PIPE,
                               text=True).stdout
    known = set(OPTION.findall(help_text))
    complaints = []
    ran = 0
    for name in PAGES:
        page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        for block in BLOCK.finditer(page):
            code = block["code"]
            complaints += [f"{name}: elasticrun has no {option}"
                           for option in unknown_options(code, known)]
            if block["kind"] is None:
                complaints.append(f"{name}: is this run, or what does it need?\n{code}")
            elif block["kind"] == "runs" and (block["what"] != "torch" or python):
                ran += 1
                status, output = run_block(code, block["what"], elasticrun, python)
                if status != 0:
                    complaints.append(f"{name}: ended with {status}:\n{code}\n{output}")
        complaints += [f"{name}: elasticrun has no {option}" for option in table_options(page)
                       if name == "from_torchrun" and option not in known]
    for path in sorted((ROOT / "examples" / "deploy").iterdir()):
        text = path.read_text(encoding="utf-8")
        listed = re.sub(r"^\s*- ", " ", text, flags=re.MULTILINE)  # a command as a list of YAML
        command = listed.replace("\n", " ") if path.suffix == ".yaml" else text
        complaints += [f"{path.name}: elasticrun has no {option}"
                       for option in unknown_options(command, known)]
        if path.suffix == ".sbatch":
            syntax = subprocess.run(["bash", "-n", str(path)], stderr=subprocess.PIPE, text=True)
            complaints += [syntax.stderr] if syntax.returncode else []
    troubleshooting = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    complaints += [f"troubleshooting: no source says: {message}"
                   for message in missing_messages(troubleshooting, source_text())]
    print("\n".join(complaints) or f"{ran} commands ran")
    return bool(complaints) or ran == 0


if __name__ == "__main__":
    sys.exit(main())
