# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How a function, its arguments and its result travel between `elasticrun.run` and its workers.

A function travels by its name, as pickle has it, and workers import its module. If that is the
script that runs, they import the script under another name, as those of multiprocessing do. A
function without a name that workers can import (of a notebook, a lambda) is sent by cloudpickle.
"""

from __future__ import annotations

import importlib
import multiprocessing.spawn
import os
import pickle
import pickletools
import sys
from typing import Any, Dict

# True while a worker imports what it needs for its call.
is_loading = False


def _preparation(content: bytes) -> Dict[str, Any]:
    """What a worker does before it loads `content`, for multiprocessing.spawn.prepare."""
    prepared: Dict[str, Any] = {"sys_path": [path or os.getcwd() for path in sys.path]}
    if _names_main(content):
        prepared.update(_main())
    return prepared


def _main() -> Dict[str, str]:
    """Where `__main__` can be imported from; empty: it cannot (a notebook, `python -c`, a package
    that `python -m` runs)."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        # multiprocessing does not import the __main__.py of a package, which often has no guard.
        is_package = spec.name.endswith("__main__")
        return {} if is_package else {"init_main_from_name": spec.name}
    path = getattr(main, "__file__", None)
    if path and os.path.isfile(path):
        return {"init_main_from_path": os.path.abspath(path)}
    return {}


def _names_main(content: bytes) -> bool:
    """Whether a pickle refers to something by its name in `__main__`."""
    if b"__main__" not in content:
        return False
    return any(isinstance(argument, str) and argument.split(" ")[0] == "__main__"
               for _, argument, _ in pickletools.genops(content))


def pickled(value: object, is_main_importable: bool) -> bytes:
    """A value as a pickle that another process can load.

    Errors: TypeError, which says what cannot be sent and what to do.
    """
    try:
        content = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        if is_main_importable or not _names_main(content):
            return content
        why = "workers cannot import __main__, of which it is a part"
    except Exception as problem:  # pylint: disable=broad-exception-caught
        why = str(problem) or type(problem).__name__
    try:
        cloudpickle = importlib.import_module("cloudpickle")
    except ImportError:
        raise TypeError(f"{_described(value)} cannot be sent to another process ({why}). Put it "
                        f"into a module, or install cloudpickle, which sends the code of a "
                        f"function instead of its name") from None
    try:
        return bytes(cloudpickle.dumps(value))
    except Exception as problem:
        raise TypeError(f"{_described(value)} cannot be sent to another process: {problem}") \
            from problem


def _described(value: object) -> str:
    if isinstance(value, tuple) and len(value) == 3 and callable(value[0]):
        name = getattr(value[0], "__qualname__", None) or repr(value[0])
        if value[1] or value[2]:
            return f"the function {name} with its arguments"
        return f"the function {name}"
    return f"a value of the type {type(value).__module__}.{type(value).__qualname__}"


def call(function: object, arguments: object, named: object) -> bytes:
    """The content of the file from which workers load their call.

    Errors: TypeError, as `pickled`.
    """
    content = pickled((function, arguments, named), bool(_main()))
    # What a worker returns of a class of the script names the module as workers import it.
    sys.modules.setdefault("__mp_main__", sys.modules["__main__"])
    return pickle.dumps(_preparation(content)) + content


def prepare(prepared: Dict[str, Any]) -> bool:
    """Makes this process, a worker, ready for loading its call. Returns whether its `__main__` is
    that of the caller. Errors: whatever the import of that raises."""
    multiprocessing.spawn.prepare(prepared)
    return "init_main_from_name" in prepared or "init_main_from_path" in prepared
