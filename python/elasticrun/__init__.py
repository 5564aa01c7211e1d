# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""The launcher elasticrun as a Python package. The program is in the same folder as `python`, or in
PATH, as after a build from a clone whose folder `python` is in PYTHONPATH.

    elasticrun --standalone --nproc-per-node 8 train.py
    python -m elasticrun …                       the same, with this Python for the scripts
    elasticrun.run(train, nproc_per_node=8)      the same as a call, in a script or a notebook

A training script talks to its launcher through `elasticrun.worker`.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import sysconfig
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from elasticrun._run import Failure, JobFailed, run

__all__ = ["Failure", "JobFailed", "__version__", "find_elasticrun", "run"]

__version__: str


def _folders() -> list[pathlib.Path]:
    """The folders into which pip puts programs, beginning with that of this installation."""
    library = pathlib.Path(__file__).resolve().parent.parent
    folders = [library / "bin"]  # pip install --target
    if library.name in ("site-packages", "dist-packages"):
        folders += [parent.parent / "bin" for parent in library.parents
                    if parent.name in ("lib", "lib64")]  # PREFIX/lib/python3.11/site-packages
    folders.append(pathlib.Path(sysconfig.get_path("scripts")))
    folders.append(pathlib.Path(sysconfig.get_path("scripts", "posix_user")))
    return folders


def find_elasticrun() -> str:
    """The path of the program: that of this installation, else the first one in PATH.

    Errors: FileNotFoundError, which lists the folders of the installation.
    """
    candidates = [folder / "elasticrun" for folder in _folders()]
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return str(candidate)
    in_path = shutil.which("elasticrun")
    if in_path:
        return os.path.abspath(in_path)
    folders = ", ".join(dict.fromkeys(str(path.parent) for path in candidates))
    raise FileNotFoundError(f"there is no program elasticrun in {folders} or PATH")


def __getattr__(name: str) -> object:
    # Not at import: a worker that imports elasticrun.worker need not wait for these.
    if name == "__version__":
        import importlib.metadata

        return importlib.metadata.version("elasticrun")
    if name in ("Failure", "JobFailed", "run"):
        from elasticrun import _run

        return getattr(_run, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
