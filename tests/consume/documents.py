#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Whether the pages for people who run jobs say what is true.

  documents.py ELASTICRUN PYTHON    PYTHON has torch; without it, what needs it is left out

Of the pages in PAGES:

- every block of shell has a line before it that says <!-- needs: WHAT --> or <!-- runs: WHAT -->:
  plain, torch, transformers, jax, mpi, or stubs, which are tests/support/stubs in place of serving
  stacks; with " on 2 nodes" it is run twice at once. Those that run do, and succeed;
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
sys.path.insert(0, str(ROOT / "tests" / "support"))

from ports import reserved_port

PAGES = ["guide", "train_script", "python", "frameworks", "wire",
         "from_torchrun", "deploy", "troubleshooting"]
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


def python_for(what, python):
    """The Python that the scripts of a block need; None: there is none, so the block is left out.
    `python` has torch, or is empty."""
    if what == "plain":
        return sys.executable
    if what == "jax":
        found = os.environ.get("ELASTIC_TEST_JAX_PYTHON", str(ROOT / "build/jax/bin/python"))
        return found if os.path.exists(found) else None
    if what == "mpi":
        return sys.executable if shutil.which("mpicc.mpich") else None
    if what == "transformers" and python:
        probe = "import importlib.util as u, sys; sys.exit(not u.find_spec('transformers'))"
        found = subprocess.run([python, "-c", probe], check=False).returncode == 0
        return python if found else None
    return python or None


def run_block(code, what, elasticrun, python):
    """Runs a block in a folder of its own; if it is for two hosts, twice at once. The exit status
    that is not 0, if there is one, and the output."""
    what, _, on_nodes = what.partition(" on ")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        programs = folder / "site" / "bin"  # as pip install --target has it
        shutil.copytree(ROOT / "python" / "elasticrun", folder / "site" / "elasticrun")
        programs.mkdir()
        (programs / "elasticrun").symlink_to(elasticrun)
        (programs / "python3").write_text(f'#!/bin/sh\nexec "{python}" "$@"\n')
        (programs / "python3").chmod(0o755)
        (folder / "train.py").write_text(SCRIPT)
        shutil.copytree(ROOT / "examples" / "python", folder / "examples" / "python")
        modules = [folder / "site"] + [ROOT / "tests/support/stubs"] * (what == "stubs")
        environment = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}",
                           PYTHONPATH=os.pathsep.join(map(str, modules)), PYTHON_EXEC=python,
                           GLOO_SOCKET_IFNAME="lo")
        if on_nodes:
            code = code.replace("host0:29400", f"127.0.0.1:{reserved_port()}")
        code = code.replace("localhost:29417", f"localhost:{reserved_port()}")
        runs = [subprocess.Popen(["bash", "-euo", "pipefail", "-c", code], cwd=folder,
                                 env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True)
                for _ in range(2 if on_nodes else 1)]
        outputs = [run.communicate(timeout=900)[0] for run in runs]
        return next((run.returncode for run in runs if run.returncode), 0), "".join(outputs)


def source_text():
    """All sources, with texts that are written in pieces put together."""
    files = [*ROOT.glob("include/**/*.?pp"), *ROOT.glob("program/**/*.?pp"),
             *ROOT.glob("python/elasticrun/*.py")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(files))
    return re.sub(r'"\s*\n\s*f?"', "", text)


def missing_messages(page, sources):
    """Messages of the page's tables of which a part of some length is in no source."""
    for line in page.splitlines():
        message = re.match(r"^\| `([^`]+)`", line)
        # The library has messages without the options by which elasticrun names its settings.
        pieces = re.split(r"…|--rdzv-conf \w+|--[a-z-]+", message[1]) if message else []
        parts = [part.strip() for part in pieces]
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
                continue
            needed = block["what"].split(" ")[0]
            with_python = block["kind"] == "runs" and python_for(needed, python)
            if with_python:
                ran += 1
                status, output = run_block(code, block["what"], elasticrun, with_python)
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
