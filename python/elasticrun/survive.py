# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Keeps this process and its memory when another rank of the job is replaced (docs/survive.md).

    from elasticrun import survive

    state = survive.TorchState(model=model, optimizer=optimizer, step=0)

    @survive.run                       # called again when the world changes
    def train(state):
        survive.init_process_group("gloo")       # of this epoch; also restores the newest state
        ddp = DistributedDataParallel(state.model)
        while state.step < steps:
            ...
            state.step += 1
            state.commit()

    train(state)

It needs `elasticrun --on-failure replace`. Otherwise `train` is called once, as in a plain script.
Needs Python 3.8; torch is imported when a function needs it.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import sys
import threading
import time
import traceback
import weakref
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, TypeVar, cast

from elasticrun import torch_state, vault, worker
from elasticrun.group_sockets import GroupSockets
from elasticrun.nccl_groups import NcclGroups
from elasticrun.torch_state import ShardedState, TorchState

__all__ = ["ShardedState", "TorchState", "WorldChanged", "epoch", "finished", "init_device_mesh",
           "init_process_group", "is_change", "is_new", "new_group", "next_epoch", "on_change",
           "prepare", "rank", "ready", "run", "world_size"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

# Where a standby that runs the script is found.
_STANDBY = "elasticrun.standby"
# How often a thread that is stuck in the end of an epoch is freed again.
_FREE_SECONDS = 0.05
# How long a commit that has lost a peer waits until the agent knows of it.
_LOSS_SECONDS = 60.0
# The key in the store of an epoch that counts the ranks that have finished.
_FINISHED = "elasticrun.survive.finished"


class WorldChanged(RuntimeError):
    """This epoch has ended. The exception must leave the function that `run` decorates."""


class _Epochs:
    """What this process knows of the job's epochs. A thread listens to the agent."""

    def __init__(self) -> None:
        self._current: Optional[int] = None
        self._first: Optional[int] = None  # the one for which this process was started
        self.has_survived = False
        self.state: Optional[TorchState] = None
        self.total_steps: Optional[int] = None  # of the training, if it is known
        self.store: Any = None           # of the process group of this epoch
        self.do_all_survive = False      # every rank of this epoch can begin again from its state
        self.kept: Any = None            # the KeptGroups of this process
        self.can_keep = True
        self.is_in_run = False
        self.is_lasting = False          # a group of all ranks that the function under run expects
        self.sockets = GroupSockets()
        self.nccl = NcclGroups()
        self._channel = worker.Channel()
        self._heard = threading.Condition()
        self._ended = -1        # the last epoch of which the agent said so
        self._denied = -1       # the last epoch that goes on, by its answer
        self._next: Optional[Dict[str, Any]] = None
        self._asked = -1        # the last epoch of which it has asked whether it has ended
        self._is_stopped = False
        self._is_listening = False
        self._holds_group = False
        self._callbacks: List[Callable[[int], None]] = []

    @property
    def current(self) -> int:
        # Not read at import: a standby that has imported this begins in a later epoch.
        if self._current is None:
            self._current = self._first = int(os.environ.get("ELASTIC_EPOCH") or 0)
        return self._current

    @property
    def began_job(self) -> bool:
        """Whether this process was started for the first epoch of the job."""
        return self.current == 0 or self._first == 0

    def connect(self) -> None:
        """Says that this process can rejoin, once."""
        if self.is_connected or os.environ.get("ELASTIC_ON_FAILURE") != "replace":
            return
        self._open()
        self._channel._send({"kind": "survive"})
        self._is_listening = self._channel.connected
        if self._is_listening:
            threading.Thread(target=self._listen, args=[self._channel], name="elasticrun.survive",
                             daemon=True).start()

    def say_prepared(self) -> None:
        """Says that a standby can run the script as far as this."""
        if os.environ.get("ELASTIC_ON_FAILURE") == "replace":
            self._open()
            self._channel._send({"kind": "prepared"})

    def _open(self) -> None:
        if not self._channel.connected:
            self._channel = worker.connect()

    def withdraw(self, reason: str) -> None:
        """From now on a failure of any rank restarts all, for this reason."""
        self.send("withdraw", reason=reason)
        self._channel._lose()

    @property
    def is_connected(self) -> bool:
        return self._is_listening and self._channel.connected

    @property
    def has_ended(self) -> bool:
        return self._ended >= self.current

    def send(self, kind: str, **fields: Any) -> None:
        self._channel._send({"kind": kind, "epoch": self.current, **fields})

    def report_commit(self) -> None:
        """Reports a commit as a step, unless the script reports its own. It is automatic, and so no
        heartbeat: a script that sends none must not count as hung between two commits."""
        if self.state is None or worker.has_progress:
            return
        self._channel._send({"kind": "progress", "automatic": True, "total": self.total_steps,
                             "step": self.state._step}, can_be_lost=True)

    @property
    def holds_group(self) -> bool:
        """Whether this module may have made a process group in this epoch."""
        return self._holds_group

    def hold_group(self, holds: bool) -> None:
        with self._heard:
            self._holds_group = holds

    def add_callback(self, callback: Callable[[int], None]) -> None:
        with self._heard:
            self._callbacks.append(callback)

    def ask(self, reason: str) -> bool:
        """Whether the current epoch has ended, as the agent says."""
        with self._heard:
            self._denied = -1
        self._ask(reason)
        # However long: the agent answers within its --rejoin-timeout, which only it knows.
        self._wait(lambda: self.has_ended or self._denied >= self.current, None)
        return self.has_ended

    def ask_late(self, reason: str) -> None:
        """Asks when the agent has already said that the epoch has ended, which needs no answer: it
        then knows that no work of its own keeps this process in the epoch."""
        if self._asked < self.current:
            self._ask(reason)

    def _ask(self, reason: str) -> None:
        self._asked = self.current
        self.send("ask", reason=reason)

    def wait_for_change(self, seconds: float) -> None:
        self._wait(lambda: self.has_ended, seconds)

    def wait_for_next(self, seconds: Optional[float]) -> None:
        self._wait(lambda: self._next is not None, seconds)
        with self._heard:
            message, self._next = self._next, None
            if message is None:
                reason = "the agent stops this worker" if self._is_stopped else (
                    "no new epoch came in time" if self._channel.connected else
                    "the agent has gone")
                raise RuntimeError(f"epoch {self.current} has ended, but {reason}")
            for name, value in message["environment"].items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = str(value)
            self._current = message["epoch"]
            self.has_survived = True

    def _wait(self, condition: Callable[[], bool], seconds: Optional[float]) -> None:
        with self._heard:
            self._heard.wait_for(lambda: condition() or self._is_stopped
                                 or not self._channel.connected, seconds)

    # ---- the thread that listens --------------------------------------------------------------

    def _listen(self, channel: worker.Channel) -> None:
        try:
            while channel.connected:
                is_leaving = self.has_ended and self._holds_group
                for message in channel._wait_for_messages(_FREE_SECONDS if is_leaving else None):
                    self._take(message)
                if self.has_ended and self._holds_group:
                    if self.sockets.are_in_call(_thread_in_call()):
                        self.ask_late("it is in a collective")
                    # Again and again: the main thread may be just about to connect.
                    self.sockets.shut_down()
                    self.nccl.abort()
                    _end_if_stuck()
        finally:
            channel._lose()  # also if this has failed: nobody may wait for what it would not hear
            with self._heard:
                self._heard.notify_all()

    def _take(self, message: Dict[str, Any]) -> None:
        kind, number = message.get("kind"), message.get("epoch")
        callbacks: List[Callable[[], None]] = []
        with self._heard:
            if kind == "stop":
                self._is_stopped = True
            elif not isinstance(number, int):
                return
            elif kind == "change" and number > self._ended:
                self._ended = number
                callbacks = [functools.partial(each, number) for each in self._callbacks]
            elif kind == "no_change":
                self._denied = max(self._denied, number)
            elif kind == "rejoin" and number > self.current:
                if isinstance(message.get("environment"), dict):
                    self._next = message
            self._heard.notify_all()
        for callback in callbacks:
            try:
                callback()
            except Exception:  # of the script: the other callbacks and this thread go on
                traceback.print_exc()


_epochs = _Epochs()


# ---- the script's side -------------------------------------------------------------------------


def run(train: _Function) -> _Function:
    """Decorates the training function. It is called again, in the same process, when a rank was
    replaced or the number of ranks has changed; if one of its arguments is a `TorchState`, this is
    first restored to its last commit. Only the first such argument counts; if another state
    commits, a line on stderr says that newcomers do not get it.

    An exception that leaves `train` counts as a change only if the agent says that this epoch has
    ended; otherwise it is raised, as this rank's failure. Exceptions that a lost peer cannot cause
    are raised at once. When `train` has returned, the process groups of the epoch are destroyed and
    this rank does not rejoin.
    """
    @functools.wraps(train)
    def survive(*arguments: Any, **named: Any) -> Any:
        state = next((each for each in [*arguments, *named.values()]
                      if isinstance(each, TorchState)), None)
        result = _repeat(functools.partial(train, *arguments, **named), state)
        if _epochs.holds_group or _epochs.kept is not None:
            _destroy_groups(is_last=True)
        _epochs.is_in_run = False
        return result

    return cast(_Function, survive)


def prepare() -> None:
    """Marks the point up to which a warm standby runs the script (`--warm-standby`). Call it once,
    outside `train`, when the model is built and compiled and the data are open. The standby waits
    here until it takes the place of a lost rank.

    Before this point the script must neither write anything that others see nor meet other ranks.
    A standby knows LOCAL_RANK, but not RANK, WORLD_SIZE and the like. If its script asks for these,
    raises or ends, the standby is not used, and standbys then only import, which the agent logs
    once. In any other process this function returns at once.
    """
    standby = sys.modules.pop(_STANDBY, None)
    if _epochs.kept is not None:
        _epochs.kept.settle()
    if standby is not None:
        cast(Any, standby).reach()
    _epochs.say_prepared()


def init_process_group(backend: Optional[str] = None, *, lasting: bool = False,
                       **options: Any) -> None:
    """Creates the default process group of this epoch, and brings the state that was passed to the
    function under `run` to the newest commit of all ranks. Call it first in that function.

    `backend` and `options` are those of `torch.distributed.init_process_group`; the default backend
    is NCCL if there are GPUs, and otherwise gloo. A script that was started by hand is a world of
    one.

    With PyTorch 2.14 or later and gloo, a survivor keeps the group object, which is connected anew.
    `lasting` is for a call before the function under `run`: the group outlives the epochs, and DDP
    and groups of `new_group` may be made with it outside of that function. Until that function
    calls this again, without `lasting`, it is a world of one. Without `--on-failure replace`, it is
    the world of all ranks at once.

    Errors: `WorldChanged`; those of PyTorch; RuntimeError if there is already a process group, if
    every rank that had a committed state is gone, or if no group can be lasting; ValueError if
    `lasting` is given in the function under `run`, or if a DDP module cannot be kept.
    """
    import torch
    import torch.distributed as dist
    # PyTorch 2.13 imports it when a first optimizer is made; its functions then have the group of
    # that moment as a default argument and keep it, and its connections, for ever.
    import torch.distributed.nn.functional  # noqa: F401
    is_replacing = os.environ.get("ELASTIC_ON_FAILURE") == "replace"
    if lasting and _epochs.is_in_run:
        raise ValueError("lasting=True is for a call before the function under survive.run")
    if dist.is_initialized():
        if _epochs.is_lasting:
            _epochs.is_lasting = False
            return
        raise RuntimeError("there is a process group already: survive.init_process_group begins "
                           "the only one of an epoch")
    name = backend or ("nccl" if torch.cuda.is_available() else "gloo")
    if lasting and is_replacing:
        _begin_lasting(name, options)
        return
    if "RANK" not in os.environ:
        options = {"store": dist.HashStore(), "rank": 0, "world_size": 1, **options}
    _traces.hook = sys.excepthook
    if is_replacing:
        _make_groups(name, functools.partial(_begin_epoch, name, options, _can_keep(name, options)))
        # Ranks that do not say survive take part, so that no rank waits for them.
        kept = _epochs.state if _epochs.state is not None and _epochs.state._is_kept else None
        _epochs.do_all_survive = torch_state.sync(
            kept, is_new(), _epochs.began_job, getattr(_epochs.kept, "broadcast_modules", None))
        _epochs.store = dist.distributed_c10d._get_default_store()
    else:
        _make_groups(name, lambda: dist.init_process_group(name, **options))
        _epochs.is_lasting = lasting
    _traces.note()


def new_group(*arguments: Any, **named: Any) -> Any:
    """`torch.distributed.new_group`, for a group that a survivor can leave even if a peer does not
    respond. When `train` is called again, it must create its groups again, in the same order on all
    ranks.

    With a lasting default group, before the function under `run`: takes `ranks` and `timeout`, and
    creates a group that outlives the epochs, too. In a rank that is not one of `ranks`, it is a
    world of one.
    """
    import torch.distributed as dist
    if _epochs.kept is not None and not _epochs.is_in_run:
        return _make_lasting(lambda: _epochs.kept.new_group(*arguments, **named))
    backend = arguments[2] if len(arguments) > 2 else named.get("backend")
    return _make_groups(backend or dist.get_backend(),
                        lambda: dist.new_group(*arguments, **named))


def init_device_mesh(*arguments: Any, **named: Any) -> Any:
    """`torch.distributed.device_mesh.init_device_mesh`, for a mesh whose groups a survivor can
    leave even if a peer does not respond, as those of `new_group`. Needs PyTorch 2.2."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh as make
    return _make_groups(dist.get_backend(), lambda: make(*arguments, **named))


def rank() -> int:
    """The rank of this process in this epoch; 0 if no launcher started it."""
    return int(os.environ.get("RANK", 0))


def world_size() -> int:
    """The number of ranks of this epoch; 1 if no launcher started this process."""
    return int(os.environ.get("WORLD_SIZE", 1))


def epoch() -> int:
    """The number of the round in which the ranks met, which grows with every change. 0 without
    `--on-failure replace`."""
    return _epochs.current


def is_new() -> bool:
    """Whether this process started in this epoch, so that it has survived no change."""
    return not _epochs.has_survived


# ---- for frameworks with a loop of their own; `run` is made of these ----------------------


def on_change(callback: Callable[[int], None]) -> None:
    """Declares that this process can rejoin. `callback` is called with the epoch that has ended, in
    a separate thread, as soon as the agent announces it. The process must then leave its process
    groups and call `ready` and `next_epoch`, within six times `--rejoin-timeout`, or within that
    time itself once `is_change` was called. An exception of `callback` is written to stderr."""
    _end_standby()
    _epochs.add_callback(callback)
    _epochs.connect()


def is_change(error: BaseException) -> bool:
    """Whether this error was caused by a change of the world. Asks the agent, unless it has already
    announced the change, and waits for its answer. False means that the error is a failure of this
    rank; always false without an agent."""
    if not _epochs.is_connected or isinstance(error, torch_state.StateLost):
        return False
    if _epochs.nccl.is_device_broken():
        return False
    if isinstance(error, vault.VaultError) and not _epochs.has_ended:
        return False
    reason = f"{type(error).__name__}: {error}"[:500]
    if _epochs.has_ended:
        _epochs.ask_late(reason)
        return True
    return _can_come_from_a_peer(error) and _epochs.ask(reason)


def ready() -> None:
    """Tells the agent that this process has left the process groups of its epoch."""
    _epochs.send("ready")


def next_epoch(timeout: Optional[float] = None) -> int:
    """Waits at most `timeout` seconds for the next epoch, and updates `os.environ`: RANK,
    WORLD_SIZE, MASTER_ADDR and all other variables are what a restarted process would find.

    Result: its number. Errors: RuntimeError after the time-out, or if the agent stops this worker
    or is gone.
    """
    _epochs.wait_for_next(timeout)
    return _epochs.current


def finished() -> None:
    """Tells the agent and the other ranks that this rank has finished its work and does not
    rejoin."""
    _epochs.send("finished")
    if _epochs.store is not None:
        with contextlib.suppress(RuntimeError, OSError):
            _epochs.store.add(_FINISHED, 1)


# ---- parts -------------------------------------------------------------------------------------


def _repeat(train: Callable[[], Any], state: Optional[TorchState]) -> Any:
    """Calls `train` until it returns. The process groups of its last epoch are left as they are."""
    _begin(state)
    while True:
        try:
            result = train()
            break
        except SystemExit as end:
            if not end.code:
                finished()
            raise
        except Exception as error:
            if not is_change(error):
                raise
        if state is not None and state._is_sharded:
            state._end_epoch()
            gc.collect()  # sharded modules are in cycles: their memory is needed again
        _drop_groups()  # here, where the frames of `train` are gone
        ready()
        if _epochs.kept is not None:
            _epochs.kept.settle()
        if state is not None and not state._is_sharded:
            state.restore()  # while the agent starts the newcomer
        next_epoch()
    finished()
    return result


def _end_standby() -> None:
    """Ends a standby whose script trains without survive.prepare()."""
    if _STANDBY in sys.modules:
        cast(Any, sys.modules[_STANDBY]).refuse_early("it trains before")


def _say(text: str) -> None:
    sys.stderr.write(f"elasticrun.survive: rank {rank()}: {text}\n")
    sys.stderr.flush()


def _begin(state: Optional[TorchState]) -> None:
    _end_standby()
    _epochs.is_in_run = True
    if _epochs.kept is not None and _epochs.kept.is_alive:
        _epochs.kept.settle()
        _epochs.kept.detach()
    # Else a commit may wait for the agent, which waits for this process to leave the epoch.
    _epochs.add_callback(lambda _: vault.interrupt())
    if state is not None and state._is_sharded:
        if not vault.is_here():
            _say("a failure restarts all: TorchState(sharded=True) keeps its commits in the vault, "
                 "and this process has none; use elasticrun --vault-limit")
            state._is_kept = False
            return
    elif state is not None:
        try:
            state._read()
        except ShardedState as problem:
            _say(f"a failure restarts all: {problem}, and no other rank has a copy of this part")
            state._is_kept = False
            return
    _epochs.state = state
    _epochs.connect()
    torch_state.tell_of_stray = _say_stray if _epochs.is_connected else None
    if state is not None:
        state._is_kept = state._is_sharded or _epochs.is_connected
        state._before_commit = _raise_if_failed
        state._after_commit = _after_commit


def _say_stray() -> None:
    torch_state.tell_of_stray = None  # once
    _say("a TorchState commits that is not the first one among the arguments of the function under "
         "survive.run: a rank that is replaced begins without it")


def _after_commit(problem: Optional[ShardedState]) -> None:
    if problem is not None and _epochs.is_connected:
        _say(f"from now on a failure restarts all: {problem}, and no other rank has a copy of this "
             f"part")
        _epochs.withdraw(f"{problem}, and no other rank has a copy of this part")
        cast(TorchState, _epochs.state)._is_kept = False
    _epochs.report_commit()
    _raise_if_changed()


def _raise_if_failed() -> None:
    """Called before a commit. If the script has caught the exception of a collective, the result of
    its step is wrong, and a connection of the group is lost. The connection to a rank that has
    finished is lost, too: then nobody can be replaced any more, and commits do not matter."""
    _raise_if_changed()
    if not (_epochs.is_connected and _epochs.do_all_survive and _epochs.sockets.have_lost_peer()):
        return
    deadline = time.monotonic() + _LOSS_SECONDS
    while not _has_rank_finished():
        _epochs.wait_for_change(_FREE_SECONDS)
        _raise_if_changed()
        if time.monotonic() > deadline:
            raise RuntimeError("a collective has failed, so the results of this step are wrong")


def _has_rank_finished() -> bool:
    try:
        return bool(_epochs.store.add(_FINISHED, 0))
    except (RuntimeError, OSError):
        # It is lost with the agent of its node, or, if a rank serves it, when that ends.
        return os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True"


def _raise_if_invalid() -> None:
    """Called when the GPU has done its work: NCCL fails without an exception."""
    _raise_if_changed()
    if _epochs.is_connected and _epochs.nccl.have_failed():
        raise RuntimeError("NCCL has given up a collective, so the results of this step are wrong")


torch_state.raise_if_invalid = _raise_if_invalid


def _raise_if_changed() -> None:
    if _epochs.is_connected and _epochs.has_ended:
        raise WorldChanged(f"epoch {_epochs.current} has ended")


def _can_come_from_a_peer(error: Optional[BaseException]) -> bool:
    """Collectives raise a RuntimeError or a subclass of it, the store also an OSError; frameworks
    may wrap these."""
    seen = 0
    while error is not None and seen < 20:
        if isinstance(error, (RuntimeError, OSError)):
            return not isinstance(error, (NotImplementedError, RecursionError, FileNotFoundError)) \
                and type(error).__name__ != "OutOfMemoryError"
        error = error.__cause__ or error.__context__
        seen += 1
    return False


def _make_groups(backend: str, make: Callable[[], Any]) -> Any:
    _epochs.hold_group(True)  # first, so that a change from here on is not missed
    _raise_if_changed()
    is_nccl = "nccl" in backend.lower() and _epochs.is_connected
    if is_nccl:
        _epochs.nccl.configure()
    port = int(os.environ.get("MASTER_PORT") or 0)
    with _epochs.sockets.beginning(port, backend.lower() == "gloo"):
        result = make()
        if is_nccl:
            _connect(result)
    _raise_if_changed()
    return result


def _connect(made: Any) -> None:
    """NCCL connects a group, or those of a mesh, when this is first used, which nothing could end
    then if a rank were lost."""
    import torch
    import torch.distributed as dist
    device = torch_state.cuda_device(_epochs.state)
    for group in made.get_all_groups() if hasattr(made, "get_all_groups") else [made]:
        if group is not dist.GroupMember.NON_GROUP_MEMBER:
            dist.all_reduce(torch.zeros(1, device=device), group=group)
    torch.cuda.synchronize(device)


def _make_lasting(make: Callable[[], Any]) -> Any:
    """Makes a group that outlives the epoch, without any other rank. A standby may do so."""
    with _epochs.sockets.beginning(0):
        result = make()
    _epochs.sockets.keep()
    return result


def _begin_kept(options: Dict[str, Any]) -> None:
    from elasticrun import kept_groups
    hook = sys.excepthook
    _epochs.kept = _make_lasting(lambda: kept_groups.KeptGroups(options))
    sys.excepthook = hook  # PyTorch's writes the rank of now before each line


def _begin_lasting(name: str, options: Dict[str, Any]) -> None:
    from elasticrun import kept_groups
    if not kept_groups.is_possible(name, options):
        import torch
        raise RuntimeError(
            f"survive.init_process_group(lasting=True) needs PyTorch 2.14 or later, gloo and no "
            f"other option than timeout, and this is PyTorch {torch.__version__} with "
            f"{', '.join([name, *options])}: create groups and DDP in the function under "
            f"survive.run")
    _begin_kept(options)


def _can_keep(name: str, options: Dict[str, Any]) -> bool:
    """Whether this process has a group that outlives the epoch, which it makes if it can."""
    from elasticrun import kept_groups
    if not (_epochs.is_in_run and _epochs.can_keep and kept_groups.is_possible(name, options)):
        return False
    if _epochs.kept is None or not _epochs.kept.is_alive:
        _begin_kept(options)
    return True


def _begin_epoch(name: str, options: Dict[str, Any], can_keep: bool) -> Any:
    """Connects the groups that are kept to those of the other ranks, or begins a new one."""
    import torch.distributed as dist
    if options.keys() & {"store", "init_method", "rank", "world_size"}:
        return dist.init_process_group(name, **options)
    from elasticrun import kept_groups
    meeting = kept_groups.meet(name, options.get("timeout"))
    if can_keep:
        try:
            return _epochs.kept.attach(_epochs.current, meeting)
        except kept_groups.NotMet as problem:
            _give_up_kept(problem)
    else:
        meeting.refuse()
    return dist.init_process_group(name, store=dist.PrefixStore("default_pg", meeting.store),
                                   rank=meeting.rank, world_size=meeting.size, **options)


def _give_up_kept(problem: Exception) -> None:
    """All ranks do so in the same epoch. Without what needs the groups they begin a new one."""
    if _epochs.kept.are_used:
        _epochs.withdraw(str(problem))
        raise RuntimeError(f"{problem}, and what was made outside of the function under "
                           f"survive.run needs them: all ranks restart") from None
    if rank() == 0:
        _say(f"{problem}: all ranks begin a new process group")
    _epochs.kept.destroy()
    _epochs.sockets.release()
    _epochs.kept, _epochs.can_keep = None, False


class _Traces:
    """What a default process group leaves in this process."""

    holders = 0  # references to it that are PyTorch's own
    hook: Any = None  # sys.excepthook before it

    def note(self) -> None:
        self.holders = self.count_holders()

    @staticmethod
    def count_holders() -> int:
        import torch.distributed as dist
        return sys.getrefcount(dist.group.WORLD)

    def remove(self, c10d: Any) -> None:
        # PyTorch numbers the groups, and keeps the count if it fails to begin the first one: the
        # newcomer would look for another name.
        c10d._group_count = 0
        # Each group of PyTorch 2 puts a hook before that of the one before it.
        if self.hook is not None:
            sys.excepthook, self.hook = self.hook, None


_traces = _Traces()


def _drop_groups() -> None:
    """Leaves the process groups of an epoch that has ended, when the frames of `train` are gone."""
    dist = sys.modules.get("torch.distributed")
    is_initialized = dist is not None and dist.is_available() and dist.is_initialized()
    if is_initialized and not _epochs.holds_group:
        cast(Any, dist).destroy_process_group()  # so that the end of this process cannot hang in it
        raise RuntimeError(
            f"epoch {_epochs.current} has ended, but the script has begun its process group with "
            f"torch.distributed.init_process_group and still has it: begin it with "
            f"survive.init_process_group, or destroy it when an exception leaves `train`")
    # Descriptors may have been inherited by processes such as those of a DataLoader: to close them
    # here would not end the connections.
    _epochs.sockets.shut_down()
    _epochs.nccl.abort()
    _epochs.sockets.wait_for_close()
    _end_if_stuck()
    with _epochs.nccl.closing():
        _wait_for_device()
        _destroy_groups()


def _wait_for_device() -> None:
    """Until it has done what was queued before NCCL was aborted. Raises what broke it."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _thread_in_call() -> Optional[int]:
    """The main thread, if it may be in dist.send or recv, which no thread of gloo does."""
    main = threading.main_thread()
    frame = sys._current_frames().get(main.ident or 0)
    is_in_call = frame is not None and (
        frame.f_code.co_filename == torch_state.__file__
        or f"{os.sep}distributed{os.sep}" in frame.f_code.co_filename)
    return main.native_id if is_in_call else None


def _end_if_stuck() -> None:
    """Ends this process if a thread of gloo cannot be freed: groups wait for their threads as they
    are destroyed. The agent replaces it together with the rank that was lost."""
    if _epochs.sockets.has_lost_call(_thread_in_call()):
        _say("a message was under way to or from a rank when that was lost: gloo never tells the "
             "thread that waits for it, and this process cannot leave the epoch. It ends, to be "
             "replaced, too")
        os._exit(1)


def _destroy_groups(is_last: bool = False) -> None:
    """DDP must be gone before: it would release its group last, and PyTorch 2.13 may then hang.
    Says that something holds a group, unless it is the last one of this process. Groups that are
    kept are only left."""
    _epochs.store = None
    if _epochs.kept is not None and not is_last and _epochs.kept.is_alive:
        _epochs.hold_group(False)  # they have no connection that could have to be freed
        _forget_meshes()
        _epochs.kept.detach()
    else:
        _destroy_all(is_last)
    if _epochs.holds_group:
        _traces.remove(sys.modules["torch.distributed.distributed_c10d"])
    _epochs.hold_group(False)
    _epochs.sockets.forget()


def _destroy_all(is_last: bool) -> None:
    if _epochs.kept is not None:
        _epochs.kept.destroy()
        _epochs.sockets.release()
        _epochs.kept = None
        return
    dist = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available() or not dist.is_initialized():
        return
    _forget_meshes()
    if _traces.count_holders() > _traces.holders:
        gc.collect()
    group = weakref.ref(dist.group.WORLD)
    dist.destroy_process_group()
    if group() is not None and not is_last:
        _say(f"the process group of epoch {_epochs.current} is still in use: {_holder()} "
             f"outside of the function under survive.run holds it")


_DTENSOR = "torch.distributed.tensor"


def _forget_meshes() -> None:
    """DTensor keeps what it has found out about a mesh, and with it the mesh and its groups, which
    it would give to equal meshes of later epochs."""
    _forget_plans()
    if _DTENSOR not in sys.modules:
        return
    for cache in _mesh_caches():
        cache.cache_clear()
    clearers = [(sys.modules.get(f"{_DTENSOR}._redistribute"), "clear_redistribute_planner_cache"),
                (sys.modules.get("torch._C"), "_clear_DTensor_sharding_propagator_cache")]
    for module, name in clearers:
        clear = getattr(module, name, None)  # not in all releases of PyTorch
        if clear is not None:
            clear()


def _forget_plans() -> None:
    """A planner of torch.distributed.checkpoint keeps plans in its class, of which a newcomer among
    the ranks knows nothing: a save would fail."""
    planner = getattr(sys.modules.get("torch.distributed.checkpoint.planner"), "SavePlanner", None)
    for name, plans in list(vars(planner).items()) if planner is not None else []:
        if name.startswith("_cached_") and isinstance(plans, dict):
            plans.clear()


def _mesh_caches() -> Iterator[Any]:
    """The caches of functions that DTensor's modules, classes and objects have. To look through all
    objects of the process would take the time that a newcomer needs to begin."""
    names = [name for name in sys.modules if name.startswith(_DTENSOR)]
    pending = [vars(sys.modules[name]) for name in names]
    seen: Set[int] = set()
    while pending:
        for value in list(pending.pop().values()):
            if isinstance(value, (classmethod, staticmethod)):
                value = value.__func__
            if id(value) in seen:
                continue
            seen.add(id(value))
            if type(value) is functools._lru_cache_wrapper:
                yield value
                continue
            owner = value if isinstance(value, type) else type(value)
            if str(owner.__module__).startswith(_DTENSOR) and hasattr(value, "__dict__"):
                pending.append(vars(value))


def _holder() -> str:
    mesh = getattr(sys.modules.get("torch.distributed.device_mesh"), "DeviceMesh", None)
    if mesh is not None and any(type(each) is mesh for each in gc.get_objects()):
        return "a DeviceMesh"
    return "something"
