# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker of `elasticrun.run` that calls a function:  _function_worker.py CALL ANSWER

CALL is the file with the call. What the function returns goes to ANSWER.result, what it raises to
ANSWER.error.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import time
import traceback

# Python puts the folder of a script first. Its modules belong to the package, not to the function.
sys.path[:] = [path for path in sys.path if path != os.path.dirname(os.path.abspath(__file__))]


def _write(path: str, content: bytes) -> None:
    """Replaces a file as a whole."""
    with open(path + ".part", "wb") as file:
        file.write(content)
    os.replace(path + ".part", path)


def _tell_agent(error: BaseException) -> None:
    """Writes the error file, as PyTorch's @record does, for elasticrun's report."""
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not path:
        return
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    extra = {"py_callstack": "".join(lines), "timestamp": str(int(time.time()))}
    message = {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}
    try:
        _write(path, json.dumps({"message": message}).encode())
    except OSError as problem:
        print(f"the error file cannot be written: {problem}", file=sys.stderr)


def _tell_caller(path: str, error: Exception, is_main_importable: bool) -> None:
    """Leaves the exception itself, if it can be pickled."""
    from elasticrun import _calls

    try:
        content = _calls.pickled(error, is_main_importable)
        pickle.loads(content)  # not every exception can be built again
    except Exception:  # pylint: disable=broad-exception-caught
        return
    _write(path, content)


def main() -> None:
    call, answer = sys.argv[1:]
    sys.argv[1:] = []
    is_main_importable = False
    try:
        with open(call, "rb") as file:
            prepared = pickle.load(file)
            sys.path[:] = prepared["sys_path"]
            from elasticrun import _calls

            _calls.is_loading = True
            is_main_importable = _calls.prepare(prepared)
            function, arguments, named = pickle.load(file)
            _calls.is_loading = False
        content = _calls.pickled(function(*arguments, **named), is_main_importable)
    except Exception as error:
        _tell_agent(error)
        _tell_caller(answer + ".error", error, is_main_importable)
        raise
    _write(answer + ".result", content)


if __name__ == "__main__":
    main()
