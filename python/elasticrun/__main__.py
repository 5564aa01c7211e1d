# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""python -m elasticrun: becomes the program, which then runs scripts by this Python."""

from __future__ import annotations

import os
import sys

from elasticrun import find_elasticrun


def main() -> None:
    try:
        program = find_elasticrun()
    except FileNotFoundError as missing:
        sys.exit(f"elasticrun: error: {missing}")
    environment = dict(os.environ)
    if not environment.get("PYTHON_EXEC"):
        environment["PYTHON_EXEC"] = sys.executable
    os.execve(program, [program, *sys.argv[1:]], environment)


if __name__ == "__main__":
    main()
