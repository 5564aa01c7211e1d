#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Makes the archive of the sources of a release: all that is committed, and so all that it takes to
build the library and to test it.

  source_archive.py             writes build/elastic-VERSION.tar.gz
  source_archive.py --check     unpacks it elsewhere: it is tidy, and CMake configures all of it

The same commit makes the same bytes. The version is that of base/version.hpp; a release has the tag
"v" and that version. Exit status 77: this tree is not a repository.
"""

import argparse
import gzip
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_HERE = 77


def name_of_release():
    text = (ROOT / "include/elastic/base/version.hpp").read_text(encoding="utf-8")
    return "elastic-" + re.search(r'version_text = "(.+)";', text)[1]


def archive(commit):
    """The bytes of a tar file; None if there is no repository."""
    done = subprocess.run(["git", "-C", str(ROOT), "archive", "--format=tar",
                           f"--prefix={name_of_release()}/", commit],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        print(done.stderr.decode(), file=sys.stderr)
        return None
    return done.stdout


def check(tar, cmake_options):
    """Whether the tree is whole."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        # Tests run as a user without rights, too, who has to reach the tree.
        folder.chmod(0o755)
        (folder / "archive.tar").write_bytes(tar)
        with tarfile.open(folder / "archive.tar") as file:
            file.extractall(folder)
        tree = folder / name_of_release()
        commands = [[sys.executable, "scripts/tidy.py"],
                    ["cmake", "-S", ".", "-B", "build", *cmake_options]]
        for command in commands:
            done = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                print(f"{' '.join(command)}\n{done.stdout[-3000:]}")
                return False
        print(f"{sum(1 for path in tree.rglob('*') if path.is_file())} files")
    return True


def main():
    arguments = argparse.ArgumentParser(description="Makes the archive of the sources.")
    arguments.add_argument("--check", action="store_true", help="look whether it is whole")
    arguments.add_argument("--commit", default="HEAD")
    arguments.add_argument("cmake", nargs="*", help="options of CMake for --check, after --")
    options = arguments.parse_args()
    tar = archive(options.commit)
    if tar is None:
        sys.exit(NOT_HERE)
    if options.check:
        sys.exit(0 if check(tar, options.cmake) else 1)
    target = ROOT / "build" / f"{name_of_release()}.tar.gz"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(gzip.compress(tar, mtime=0))
    print(target.relative_to(ROOT))


if __name__ == "__main__":
    main()
