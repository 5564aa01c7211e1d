# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker of which rank 1 reports an exception in its first attempt and does not end.

  failing_worker.py record    it writes its error file, as PyTorch's @record does, and sleeps
  failing_worker.py print     it ends by an exception, and something sleeps at its end
  failing_worker.py show      it shows an exception that it has caught, and sleeps for a while
  failing_worker.py catch     it writes its error file, goes on to print, and ends well
"""
import atexit
import json
import os
import sys
import time
import traceback

HANG = 600


def record(text):
    path = os.environ["TORCHELASTIC_ERROR_FILE"]
    report = {"message": text, "extraInfo": {"py_callstack": "Traceback", "timestamp": "7"}}
    with open(path, "w") as file:
        json.dump({"message": report}, file)


def print_with_rank(kind, value, trace):
    """As the hook does that PyTorch has after init_process_group."""
    for line in "".join(traceback.format_exception(kind, value, trace)).splitlines():
        sys.stderr.write(f"[rank1]: {line}\n")


def main():
    how = sys.argv[1]
    if os.environ["RANK"] != "1" or os.environ["TORCHELASTIC_RESTART_COUNT"] != "0":
        return
    if how == "print":
        sys.excepthook = print_with_rank
        atexit.register(time.sleep, HANG)
        raise ValueError("no such shard")
    if how == "show":
        raise LookupError
    record("ValueError: no such shard")
    if how == "record":
        time.sleep(HANG)
    for line in range(80):  # longer than the worker may do nothing
        print("it goes on", line, flush=True)
        time.sleep(0.1)


try:
    main()
except LookupError:
    traceback.print_exc()
    time.sleep(3)
