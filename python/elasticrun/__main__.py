# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""python -m elasticrun: becomes the program, which then runs scripts by this Python."""

from __future__ import annotations

import errno
import os
import sys

from elasticrun import find_elasticrun


# The field e_machine of an ELF file, and the names that uname has for it.
_PROCESSORS = {62: "x86_64", 183: "aarch64"}


def _why_not(program: str, failure: OSError) -> str:
    """Why the system cannot run a program that is there. pip checks the processor and the C
    library, but not in a folder that was copied, or made with --platform."""
    if failure.errno == errno.ENOEXEC:
        with open(program, "rb") as file:
            header = file.read(20)
        processor = _PROCESSORS.get(int.from_bytes(header[18:20], "little"))
        if header.startswith(b"\x7fELF") and processor and processor != os.uname().machine:
            return f"it is for {processor} and this machine is {os.uname().machine}"
    if failure.errno == errno.ENOENT:
        return "it needs glibc, which is not here; the musllinux wheel does not"
    return failure.strerror or str(failure)


def main() -> None:
    try:
        program = find_elasticrun()
    except FileNotFoundError as missing:
        sys.exit(f"elasticrun: error: {missing}")
    environment = dict(os.environ)
    if not environment.get("PYTHON_EXEC"):
        environment["PYTHON_EXEC"] = sys.executable
    try:
        os.execve(program, [program, *sys.argv[1:]], environment)
    except OSError as failure:
        sys.exit(f"elasticrun: error: cannot run {program}: {_why_not(program, failure)}")


if __name__ == "__main__":
    main()
