# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""`elasticrun.run`: a job as a call. docs/python.md describes it."""

from __future__ import annotations

import codecs
import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import pickle
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
from typing import (IO, Any, Callable, Dict, Iterator, List, Mapping, NoReturn, Optional, Sequence,
                    Set, TextIO, Tuple, TypeVar, Union, cast, overload)

from elasticrun import _calls, find_elasticrun

__all__ = ["Failure", "JobFailed", "Option", "run"]

_Result = TypeVar("_Result")

_SingleOption = Union[str, int, float, "os.PathLike[str]"]
Option = Union[_SingleOption, bool, None, Sequence[_SingleOption]]
"""The value of an option: True for a flag, several values for an option that may be repeated."""

_PACKAGE = pathlib.Path(__file__).resolve().parent
_TAIL_BYTES = 16384


@dataclasses.dataclass(frozen=True)
class Failure:
    """How one worker ended."""

    rank: int
    local_rank: int
    node_rank: int
    """The rank of its node (GROUP_RANK)."""
    role: str
    host: str
    pid: int
    end: str
    """In words: "exit code 1", "SIGKILL"."""
    exit_code: Optional[int]
    """None: a signal ended it."""
    signal: Optional[int]
    message: str
    """What its error file says, as PyTorch's @record writes it; else the last line that it wrote to
    stderr; empty if there is neither."""
    traceback: str
    """From its error file; empty if there is none."""
    error_file: Optional[str]
    stderr: Tuple[str, ...]
    """The last lines that it wrote to stderr, if there is no error file."""
    was_stopped: bool
    """Whether elasticrun stopped it because another worker had failed."""
    out_of_memory: bool
    """Whether the kernel killed it for lack of memory."""


class JobFailed(RuntimeError):
    """The workers of a job did not succeed.

    If a function raised an exception that can be pickled, that is the `__cause__`.
    """

    exit_code: int
    """That of elasticrun (docs/command_line.md); negative: the signal that ended it."""
    reason: str
    """Why the job failed, in one line or a few."""
    failures: Tuple[Failure, ...]
    """The workers of this node that failed or were stopped because of it, in order of time."""
    report: Dict[str, Any]
    """The content of report.json; empty if no worker was started."""
    log_dir: Optional[str]
    """The directory with the files of this run. Without `log_dir` it is in the temporary folder."""

    def __init__(self, exit_code: int, reason: str, report: Dict[str, Any],
                 log_dir: Optional[str]) -> None:
        super().__init__(exit_code, reason, report, log_dir)
        self.exit_code = exit_code
        self.reason = reason
        self.report = report
        self.log_dir = log_dir
        self.failures = tuple(_failure_of(entry) for entry in report.get("failures", ()))

    @property
    def root_cause(self) -> Optional[Failure]:
        """The failure of this node that came first; None: another node had it, or no worker."""
        rank = self.report.get("root_cause")
        return next((failure for failure in self.failures if failure.rank == rank), None)

    def __str__(self) -> str:
        lines = [self.reason]
        cause = self.root_cause
        if cause:
            lines.append(f"rank {cause.rank} ran on {cause.host} (local rank {cause.local_rank}, "
                         f"pid {cause.pid})")
            lines += [cause.traceback.rstrip()] if cause.traceback else list(cause.stderr)
            if cause.message and not cause.traceback and not cause.stderr:
                lines.append(cause.message)
        if self.log_dir:
            lines.append(f"logs: {self.log_dir}")
        return "\n".join(lines)


# As users import them, and as tracebacks name them.
JobFailed.__module__ = Failure.__module__ = "elasticrun"


def _failure_of(entry: Mapping[str, Any]) -> Failure:
    end = entry.get("end", {})
    stderr = tuple(str(line) for line in entry.get("last_stderr", ()))
    return Failure(rank=entry["rank"], local_rank=entry["local_rank"],
                   node_rank=entry["group_rank"], role=entry["role"], host=entry["host"],
                   pid=entry["pid"], end=end.get("text", ""), exit_code=end.get("code"),
                   signal=end.get("signal"),
                   message=entry.get("message") or (stderr[-1] if stderr else ""),
                   traceback=entry.get("callstack", ""), error_file=entry.get("error_file"),
                   stderr=stderr, was_stopped=entry.get("stopped_by_agent", False),
                   out_of_memory=entry.get("out_of_memory", False))


@overload
def run(work: Callable[..., _Result], args: Sequence[object] = (),
        kwargs: Optional[Mapping[str, object]] = None, *, nproc_per_node: Union[int, str] = 1,
        env: Optional[Mapping[str, str]] = None, **options: Option) -> List[_Result]: ...


@overload
def run(work: Union[str, "os.PathLike[str]"], args: Sequence[object] = (), kwargs: None = None, *,
        nproc_per_node: Union[int, str] = 1, env: Optional[Mapping[str, str]] = None,
        **options: Option) -> None: ...


def run(work: Union[Callable[..., _Result], str, "os.PathLike[str]"], args: Sequence[object] = (),
        kwargs: Optional[Mapping[str, object]] = None, *, nproc_per_node: Union[int, str] = 1,
        env: Optional[Mapping[str, str]] = None, **options: Option) -> Optional[List[_Result]]:
    """Runs a job by the program elasticrun, and waits for its end.

    `work`: a function that every worker calls, or the path of a script that every worker runs.
        With `module=True` it is the name of a module, with `no_python=True` a program.
    `args`, `kwargs`: the arguments of the function; of a script, `args` in the form of str().
    `nproc_per_node`: the number of workers: 1 to 4096, "cpu", "gpu" or "auto".
    `env`: variables for the workers, as by --env: `${rank}` and other fields in the values are
        replaced. They are added to os.environ. Other users of the host can see them.
    `options`: every other option of elasticrun, with underscores: max_restarts=3,
        log_dir="logs", tee=3, standalone=True. A value that is False or None leaves an option out.

    Without options that say how nodes meet (nnodes, rdzv_…, node_rank, master_…), the job has one
    node. With them, call this on every node.

    Returns what the functions returned, in order of rank; with several nodes, those of this node.
    A worker that ends by sys.exit(0) has None. For scripts it returns None.

    A function must be importable from a module, or from the script that makes this call; put the
    call below `if __name__ == "__main__":` then. Functions of a notebook or of `python -c`, lambdas
    and functions inside others need the package cloudpickle. The workers run by the Python that
    makes this call.

    What the workers write goes to sys.stdout and sys.stderr, unless options such as `redirects` say
    something else. The workers have no standard input.

    Errors: `JobFailed`, with the report, if elasticrun ends with another exit code than 0;
    TypeError for arguments that do not fit, or that cannot be sent to another process;
    FileNotFoundError if the program elasticrun is missing; RuntimeError in a worker that imports
    the script which makes this call.

    It blocks the calling thread, and the loop if it is called in a coroutine. KeyboardInterrupt, or
    any other exception that a signal handler raises in it, stops the job as Ctrl-C does; it is
    passed on when no worker is left. A second KeyboardInterrupt kills the workers. If the
    calling process dies, elasticrun gets SIGTERM, and stops the workers. Thread-safe: several
    threads may each run a job.
    """
    if _calls.is_loading:
        raise RuntimeError("a worker that imports this script starts the same job again: put the "
                           "call of elasticrun.run below  if __name__ == \"__main__\":")
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        raise RuntimeError("this process ignores SIGCHLD, so it cannot learn how a job ends")
    function: Optional[Callable[..., _Result]] = None
    if not isinstance(work, (str, os.PathLike)):
        if not callable(work):
            raise TypeError(f"a function or the path of a script is needed, not {work!r}")
        unfit = [name for name in ("module", "no_python", "run_path") if options.get(name)]
        if unfit:
            raise TypeError(f"{unfit[0]} is for scripts, not for functions")
        function = work
    elif kwargs:
        raise TypeError("a script has no keyword arguments")

    with contextlib.ExitStack() as cleanup:
        words = [*_option_words({"nproc_per_node": nproc_per_node, **options}),
                 *(f"--env={name}={value}" for name, value in (env or {}).items())]
        if function is None:
            words += ["--", os.fspath(cast("os.PathLike[str]", work)), *map(str, args)]
            answers = None
        else:
            answers = cleanup.enter_context(_temporary_folder())
            (answers / "call").write_bytes(_calls.call(function, tuple(args), dict(kwargs or {})))
            text = str(answers).replace("$", "$$")
            words += ["--", str(_PACKAGE / "_function_worker.py"), f"{text}/call",
                      f"{text}/${{local_rank}}"]
        logs = _LogFolder(options)
        cleanup.callback(logs.remove)
        code, pid, tail = _run_program([find_elasticrun(), *logs.words, *words])
        if code == 0:
            return None if answers is None else _results(answers, nproc_per_node)
        _raise_failure(code, tail, logs, pid, answers)


def _option_words(options: Mapping[str, Option]) -> Iterator[str]:
    meets = ("nnodes", "rdzv_", "node_rank", "master_", "standalone")
    if not any(name.startswith(meets) for name in options):
        yield "--standalone"
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            yield option
        elif isinstance(value, (str, int, float, os.PathLike)):
            yield f"{option}={os.fspath(value) if isinstance(value, os.PathLike) else value}"
        else:
            yield from (f"{option}={each}" for each in value)


@contextlib.contextmanager
def _temporary_folder() -> Iterator[pathlib.Path]:
    folder = tempfile.mkdtemp(prefix="elasticrun_")
    try:
        yield pathlib.Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _LogFolder:
    """Where the files of the run are. If no option names a folder, it is a temporary one, which
    stays only if the job has failed, as elasticrun itself has it."""

    def __init__(self, options: Mapping[str, Option]) -> None:
        given = options.get("log_dir") or os.environ.get("PET_LOG_DIR")
        self._is_own = not given
        self._base = pathlib.Path(tempfile.mkdtemp(prefix="elasticrun_logs_") if not given
                                  else str(given))
        self.words = [f"--log-dir={self._base}"] if self._is_own else []
        self._earlier = self._runs()

    def _runs(self) -> Set[pathlib.Path]:
        return {path.parent for path in self._base.glob("*/report.json")}

    def run_of(self, pid: int) -> Optional[pathlib.Path]:
        """The directory of the run of the agent `pid`; None: it has none."""
        runs = sorted(self._runs() - self._earlier)
        if len(runs) <= 1:
            return runs[0] if runs else None
        return next((run for run in runs if _agent_of(run) == pid), None)

    def keep(self) -> None:
        self._is_own = False

    def remove(self) -> None:
        if self._is_own:
            shutil.rmtree(self._base, ignore_errors=True)


def _agent_of(run: pathlib.Path) -> Optional[int]:
    """The process id of the agent that wrote the journal of a run."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        with open(run / "journal.jsonl", encoding="utf-8") as journal:
            return cast("Optional[int]", json.loads(journal.readline()).get("pid"))
    return None


def _results(answers: pathlib.Path, nproc_per_node: Union[int, str]) -> List[Any]:
    found = {int(path.stem): path for path in answers.glob("*.result")}
    count = int(nproc_per_node) if str(nproc_per_node).isdigit() else max(found, default=-1) + 1
    return [pickle.loads(found[place].read_bytes()) if place in found else None
            for place in range(count)]


def _raise_failure(code: int, tail: str, logs: _LogFolder, pid: int,
                   answers: Optional[pathlib.Path]) -> NoReturn:
    run_folder = logs.run_of(pid)
    report: Dict[str, Any] = {}
    if run_folder:
        logs.keep()
        with contextlib.suppress(OSError, ValueError):
            report = json.loads((run_folder / "report.json").read_text(encoding="utf-8"))
    ended = f"elasticrun ended by {signal.Signals(-code).name}" if code < 0 \
        else f"elasticrun ended with exit code {code}"
    reason = report.get("reason") or "\n".join(filter(None, [ended, tail.strip()]))
    failed = JobFailed(code, reason, report, str(run_folder) if run_folder else None)
    cause = None
    if answers and failed.root_cause:
        # It may be of an earlier attempt, if the last one was killed: then the messages differ.
        with contextlib.suppress(Exception):
            path = answers / f"{failed.root_cause.local_rank}.error"
            raised = pickle.loads(path.read_bytes())
            if f"{type(raised).__name__}: {raised}" == failed.root_cause.message:
                cause = raised
    raise failed from cause


class _Forwarding:
    """Passes on what the program writes, until it has closed its streams.

    A stream of this process that is its own (nothing was put in place of sys.stdout) is the
    program's, too. In a notebook, or under a test that captures, it is not: there each chunk is
    written to sys.stdout.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self.tail = ""

    @staticmethod
    def target(stream: Optional[TextIO], original: Optional[TextIO], is_inherited: bool) -> int:
        """What subprocess.Popen gets for one of the streams."""
        if stream is None:
            return subprocess.DEVNULL
        if stream is original and is_inherited:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
                return stream.fileno()
        return subprocess.PIPE

    def add(self, pipe: Optional[IO[bytes]], stream: Optional[TextIO], keeps: bool) -> None:
        if pipe is not None:
            decoder = codecs.getincrementaldecoder("utf-8")("replace")
            self._selector.register(pipe, selectors.EVENT_READ, [stream, decoder, keeps])

    def forward(self) -> None:
        """Errors: those of writing, after which nothing more is written to that stream."""
        while self._selector.get_map():
            for key, _ in self._selector.select():
                chunk = os.read(key.fd, 65536)
                if not chunk:
                    self._selector.unregister(key.fileobj)
                    cast("IO[bytes]", key.fileobj).close()
                stream, decoder, keeps = key.data
                text = decoder.decode(chunk, not chunk)
                if keeps:
                    self.tail = (self.tail + text)[-_TAIL_BYTES:]
                if stream is None or not text:
                    continue
                try:
                    stream.write(text)
                    stream.flush()
                except Exception:
                    key.data[0] = None
                    raise

    def close(self) -> None:
        self._selector.close()


def _is_terminal(stream: Optional[TextIO]) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def _run_program(command: Sequence[str]) -> Tuple[int, int, str]:
    """Its exit code, its process id, and the end of its stderr if that could be read."""
    forwarding = _Forwarding()
    # A session of its own: Ctrl-C reaches elasticrun once, from here.
    with subprocess.Popen(
            [sys.executable, "-I", "-S", str(_PACKAGE / "_child.py"), str(os.getpid()), *command],
            env={**os.environ, "PYTHON_EXEC": sys.executable}, stdin=subprocess.DEVNULL,
            stdout=forwarding.target(sys.stdout, sys.__stdout__, True),
            stderr=forwarding.target(sys.stderr, sys.__stderr__, _is_terminal(sys.stderr)),
            start_new_session=True) as process:
        try:
            forwarding.add(process.stdout, sys.stdout, False)
            forwarding.add(process.stderr, sys.stderr, True)
            forwarding.forward()
            return process.wait(), process.pid, forwarding.tail
        except BaseException as reason:
            _stop(process, forwarding, isinstance(reason, KeyboardInterrupt))
            raise
        finally:
            forwarding.close()


def _stop(process: subprocess.Popen[bytes], forwarding: _Forwarding, by_keyboard: bool) -> None:
    """Ends a job. As at a terminal, a second Ctrl-C kills the workers; a third one elasticrun."""
    signals = itertools.chain([signal.SIGINT if by_keyboard else signal.SIGTERM, signal.SIGINT],
                              itertools.repeat(signal.SIGKILL))
    due: Optional[signal.Signals] = next(signals)
    while True:
        try:
            if due:
                process.send_signal(due)
                due = None
            forwarding.forward()
            process.wait()
            return
        except KeyboardInterrupt:
            due = next(signals)
        except Exception:  # pylint: disable=broad-exception-caught
            pass  # the job is to end whether or not its output can be shown
