# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""The library with one change, linked with tests of it."""

import pathlib
import shlex
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAIN = "tests/CMakeFiles/test_main.dir/support/main.cpp.o"


def source_of(file):
    return ROOT / "include" / "elastic" / file


class Builder:
    """Compiles as the build directory does, whose libelastic.a and test_main have to be there."""

    def __init__(self, build, name):
        self.build = build
        self.folder = build / name
        self.folder.mkdir(exist_ok=True)

    def command_of(self, target):
        listing = subprocess.run(["ninja", "-C", self.build, "-t", "commands", "-s", target],
                                 check=True, capture_output=True, text=True).stdout
        return shlex.split(listing.splitlines()[-1])

    def compile(self, like, source, result, overlay=None, **options):
        """Compiles a file with the options of another one. Headers of the overlay come first."""
        command = self.command_of(like)
        for option in ("-MF", "-MT", "-o", "-c"):
            at = command.index(option)
            del command[at:at + 2]
        if overlay:
            at = next(place for place, word in enumerate(command) if word.startswith("-I"))
            command.insert(at, f"-I{overlay}")
        target = self.folder / result
        command = [word for word in command if word != "-MD"]
        subprocess.run([*command, "-w", "-o", target, "-c", source], check=True, cwd=self.build,
                       **options)
        return target

    def compile_tests(self, files):
        return [self.compile(MAIN, ROOT / file, pathlib.Path(file).stem + ".o")
                for file in sorted(files)]

    def compile_changed(self, file, text, **options):
        """The unit of the library that has a file, with another text of that file."""
        overlay = self.folder / "include"
        changed = overlay / "elastic" / file
        shutil.rmtree(overlay, ignore_errors=True)
        changed.parent.mkdir(parents=True)
        changed.write_text(text, "utf-8")
        unit = next(unit for unit in sorted((self.build / "compiled").glob("*.cpp"))
                    if f"<elastic/{file}>" in unit.read_text("utf-8"))
        return self.compile(f"CMakeFiles/elastic_compiled.dir/compiled/{unit.name}.o",
                            unit, "changed.o", overlay, **options)

    def link(self, name, objects):
        words = self.command_of("tests/unit_tests")
        libraries = words[words.index("-o") + 2:]
        libraries = libraries[:libraries.index("&&")]
        compiler = words[words.index("&&") + 1]
        target = self.folder / name
        # What was changed comes before the library, which then gives the rest.
        subprocess.run([compiler, *objects, MAIN, *libraries, "-o", target], check=True,
                       cwd=self.build)
        return target
