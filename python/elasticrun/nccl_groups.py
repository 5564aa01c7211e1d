# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Frees a thread that waits for a collective of NCCL, and tells whether its results are valid.

A kernel of NCCL whose peer is lost waits on the GPU for ever, or until its group is aborted. Then
it ends, and so do all that were queued after it, as if they had done their work: no call fails, but
the results are wrong. Only the group itself knows.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import Any, Iterator, List

__all__ = ["NcclGroups"]

_ERRORS = "TORCH_NCCL_ASYNC_ERROR_HANDLING"
_NOTHING = "0"
_ABORT_ONLY = "2"
# What PyTorch does about an error: "0": nothing, "2": aborts the group, "1" and "3": ends the
# process.
_ENDING = ("", "1", "3")
# Before it aborts, PyTorch sleeps four times the time that a dump of its recorder may take (15 s),
# and the thread that has the dump written ends the process later on.
_QUICK = {"TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC": "1", "TORCH_NCCL_DUMP_ON_TIMEOUT": "0"}


class NcclGroups:
    """The process groups of NCCL in this process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_closing = False

    @staticmethod
    def configure() -> None:
        """Has an error of a group that is made from now on not end the process, unless the user has
        chosen what it does."""
        if os.environ.get(_ERRORS, "") in _ENDING:
            os.environ[_ERRORS] = _ABORT_ONLY if _tells_errors() else _NOTHING
        for name, value in _QUICK.items():
            os.environ.setdefault(name, value)

    def abort(self) -> None:
        """Ends all that these groups do on the GPU. Groups that were aborted stay so."""
        with self._lock:
            if self._is_closing:
                return
            # One after the other, the first might wait for a kernel of the second.
            threads = [threading.Thread(target=_abort, args=[group], daemon=True)
                       for group in _groups()]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    @contextlib.contextmanager
    def closing(self) -> Iterator[None]:
        """A block that destroys the groups. None is aborted any more."""
        with self._lock:
            self._is_closing = True
        try:
            yield
        finally:
            with self._lock:
                self._is_closing = False

    @staticmethod
    def have_failed() -> bool:
        """Whether PyTorch itself has given up an operation of one of them."""
        for group in _groups():
            with contextlib.suppress(RuntimeError, AttributeError):
                if _backend(group).get_error().name != "SUCCESS":
                    return True
        return False

    @staticmethod
    def is_device_broken() -> bool:
        """Whether the current GPU has failed in a way that only a new process gets over. Does not
        wait for it."""
        torch = sys.modules.get("torch")
        if torch is None or not torch.cuda.is_initialized():
            return False
        try:
            torch.cuda.current_stream().query()
        except RuntimeError:
            return True
        return False


def _tells_errors() -> bool:
    """Whether this PyTorch says that it has aborted a group."""
    c10d = sys.modules.get("torch._C._distributed_c10d")
    return hasattr(getattr(c10d, "ProcessGroupNCCL", None), "get_error")


def _groups() -> List[Any]:
    c10d: Any = sys.modules.get("torch.distributed.distributed_c10d")
    world = getattr(c10d, "_world", None)
    if world is None or not hasattr(world, "pg_backend_config"):
        return []
    backends = dict(world.pg_backend_config)
    return [group for group, backend in backends.items() if "nccl" in str(backend)]


def _backend(group: Any) -> Any:
    return group._get_backend(sys.modules["torch"].device("cuda"))


def _abort(group: Any) -> None:
    # Where it fails, the agent ends this process after --rejoin-timeout.
    with contextlib.suppress(RuntimeError, AttributeError):
        group.abort()
