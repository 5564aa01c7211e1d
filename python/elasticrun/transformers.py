# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A Trainer of transformers that keeps its process, its model and its optimizer when another rank
is replaced (docs/frameworks.md).

    from elasticrun.transformers import Trainer, TrainingArguments

It needs `elasticrun --on-failure replace`. Otherwise both are those of transformers. Needs
transformers 5.24 or later.
"""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import functools
import json
import os
import sys
import tempfile
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

import torch
import transformers
from transformers.trainer_callback import ExportableState

from elasticrun import _framework, survive, torch_state

__all__ = ["SurvivingArguments", "SurvivingTrainer", "Trainer", "TrainingArguments"]

# What `Trainer` counts in attributes, and begins anew when it resumes.
_COUNTERS = ("_tr_loss", "_total_loss_scalar", "_globalstep_last_logged", "_initial_global_step",
             "_initial_num_input_tokens_seen", "current_flos")

_STATE_FILE = "trainer_state.json"

_PLAIN = (int, float, complex, str, bytes, bool, type(None))
_MAPPINGS = (dict, collections.OrderedDict, collections.Counter)
_SEQUENCES = (list, tuple, set, frozenset, collections.deque)

# Whether a Trainer of this process has trained to its end: then no rank can be replaced any more.
_has_finished = False


def _is_active() -> bool:
    return _framework.is_replacing() and not _has_finished


@contextlib.contextmanager
def _group_of_one() -> Iterator[None]:
    """Until the training begins, a rank is alone: a newcomer would else wait for ranks that are
    past this."""
    import torch.distributed as dist
    if not _is_active() or dist.is_initialized():
        yield
        return
    original = dist.init_process_group

    def begin(backend: Optional[str] = None, *_: Any, **__: Any) -> None:
        hook = sys.excepthook
        original(backend, store=dist.HashStore(), rank=0, world_size=1)
        sys.excepthook = hook  # PyTorch's writes the rank before each line

    dist.init_process_group = begin
    try:
        yield
    finally:
        dist.init_process_group = original


class SurvivingArguments:
    """A mix-in for other classes of arguments: `class Config(SurvivingArguments, SFTConfig)`.

    Until `train`, each rank is a world of its own, because newcomers must not wait for others:
    `main_process_first` makes nobody wait, and an evaluation is of all data in each rank.
    """

    @functools.cached_property
    def _setup_devices(self) -> torch.device:
        with _group_of_one():
            device = super()._setup_devices  # type: ignore
            if _is_active() and self.distributed_state is not None:  # type: ignore
                self.distributed_state.process_index = survive.rank()  # type: ignore
            return device  # type: ignore


class TrainingArguments(SurvivingArguments, transformers.TrainingArguments):
    """The arguments of transformers, for `Trainer`. Until `train`, each rank is a world of its
    own."""


class _Attributes:
    """The plain values in the attributes of callbacks that have changed since the training began.
    Those of transformers itself begin anew, as when it resumes from a file."""

    def __init__(self, trainer: SurvivingTrainer) -> None:
        self._trainer = trainer
        self._first: Dict[str, Dict[str, Any]] = {}  # when all callbacks had begun
        self._marks: Dict[str, Dict[str, Any]] = {}
        self._buffers: Set[int] = set()  # of the model

    def begin(self, saved: Dict[str, Dict[str, Any]]) -> None:
        """Called in each epoch of the job. Survivors may be further than what was saved."""
        if not self._marks:
            self._buffers = {id(each) for each in self._trainer.model.buffers()}
            for name, callback in self._callbacks():
                marks = {key: self._mark(value) for key, value in vars(callback).items()}
                self._marks[name] = marks
                self._first[name] = {key: copy.deepcopy(vars(callback)[key])
                                     for key, mark in marks.items() if mark is not None}
        for name, callback in self._callbacks():
            first = self._first.get(name, {})
            for key in self._changed(name, callback):
                if key in first:
                    vars(callback)[key] = copy.deepcopy(first[key])
                else:
                    del vars(callback)[key]
            vars(callback).update(copy.deepcopy(saved.get(name, {})))

    def read(self) -> Dict[str, Dict[str, Any]]:
        return {name: self._changed(name, callback) for name, callback in self._callbacks()}

    def _changed(self, name: str, callback: Any) -> Dict[str, Any]:
        marks = self._marks.get(name, {})
        now = {key: self._mark(value) for key, value in vars(callback).items()}
        return {key: vars(callback)[key] for key, mark in now.items()
                if mark is not None and mark != marks.get(key)}

    def _callbacks(self) -> Iterator[Tuple[str, Any]]:
        """Those that do not export a state, with names that are the same on all ranks."""
        numbers: Dict[str, int] = collections.Counter()
        for callback in self._trainer.callback_handler.callbacks:
            kind = f"{type(callback).__module__}.{type(callback).__qualname__}"
            is_own = kind.startswith(("transformers.", __name__ + "."))
            if not is_own and not isinstance(callback, ExportableState):
                numbers[kind] += 1
                yield f"{kind} {numbers[kind]}", callback

    def _mark(self, value: Any) -> Any:
        """Differs from that of another value, and of a tensor always; None for what is no plain
        value, belongs to the training, or contains such a thing."""
        kind = type(value)
        if kind is torch.Tensor:
            return None if value.requires_grad or id(value) in self._buffers else object()
        if kind in _PLAIN:
            return (value,)
        dtype = getattr(value, "dtype", None) if kind.__module__ == "numpy" else None
        if dtype is not None and not dtype.hasobject:
            return (str(dtype), value.shape, value.tobytes())
        if kind in _MAPPINGS:
            items = [part for item in value.items() for part in item]
        elif kind in _SEQUENCES:
            items = list(value)
        else:
            return None
        marks = [self._mark(each) for each in items]
        return None if any(mark is None for mark in marks) else marks


class _Progress:
    """What the state has besides the model and the optimizer: an item of it."""

    def __init__(self, trainer: SurvivingTrainer) -> None:
        self._trainer = trainer
        self._attributes = _Attributes(trainer)
        self._saved: Dict[str, Any] = {}
        self._history = ""   # a line of JSON for each entry of the log
        self._entries = 0

    def state_dict(self) -> Dict[str, Any]:
        return self._saved

    def load_state_dict(self, saved: Dict[str, Any]) -> None:
        self._saved = saved
        self._history = saved.get("history", "")
        self._entries = self._history.count("\n")

    def read(self) -> None:
        """Before a commit."""
        trainer = self._trainer
        state, scaler = trainer.state, trainer.accelerator.scaler
        for entry in state.log_history[self._entries:]:
            self._history += json.dumps(entry) + "\n"
        self._entries = len(state.log_history)
        fields = {each.name: getattr(state, each.name) for each in dataclasses.fields(state)
                  if each.name != "log_history"}
        self._saved = {
            "state": json.dumps(fields), "history": self._history,
            "counters": {name: getattr(trainer, name) for name in _COUNTERS},
            "callbacks": [each.state()["attributes"] for each in trainer._stateful_callbacks()],
            "attributes": self._attributes.read(),
            "scheduler": trainer.lr_scheduler.state_dict(),
            "scaler": None if scaler is None else scaler.state_dict()}

    def begin(self) -> None:
        """Called when all callbacks have begun the training."""
        self._attributes.begin(self._saved.get("attributes", {}))

    def write_file(self, folder: str) -> None:
        """The only file that `Trainer` reads, whose other loaders are those of this module."""
        fields = json.loads(self._saved["state"])
        fields["log_history"] = [json.loads(line) for line in self._history.splitlines()]
        with open(os.path.join(folder, _STATE_FILE), "w", encoding="utf-8") as file:
            json.dump(fields, file)

    def __getitem__(self, name: str) -> Any:
        return self._saved[name]

    def __bool__(self) -> bool:
        return bool(self._saved)


class _Counters(transformers.TrainerCallback):
    """Restores what `Trainer` sets to zero as it resumes, and the other callbacks."""

    def __init__(self, trainer: SurvivingTrainer) -> None:
        self._trainer = trainer

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self._trainer._restore_counters()
        self._trainer._progress.begin()


class SurvivingTrainer:
    """A mix-in for other trainers: `class MyTrainer(SurvivingTrainer, Seq2SeqTrainer)`, whose
    arguments have `SurvivingArguments`.

    `train` keeps this process when another rank is replaced, or when the number of ranks has
    changed. The state is committed after each step, when this has been logged, evaluated and saved:
    what a death interrupts is done again. `on_train_begin` of callbacks is called in each epoch of
    the job. The agent's requests for a checkpoint (`--preempt-grace`) are answered by a checkpoint
    of all ranks after the same step.

    When `train` has returned, the process group stays, for evaluations; a rank that is lost from
    then on makes all restart. Errors: those of `Trainer`; ValueError if this rank has another
    release of PyTorch, transformers or Accelerate than the ranks that it joins;
    NotImplementedError for DeepSpeed and FSDP, whose states are sharded, and for `model_init`;
    RuntimeError if the arguments have begun a process group of all ranks.
    """

    # Those of Trainer.
    args: Any
    model: Any
    model_wrapped: Any
    optimizer: Any
    lr_scheduler: Any
    accelerator: Any
    callback_handler: Any
    control: Any
    state: Any
    is_in_train: bool

    # Whether the training went on with the state of this process or of another rank, without a
    # checkpoint.
    went_on_in_memory = False

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._folder = ""  # from which it resumes in memory
        self._updates_per_epoch = 0
        self._seen_step = 0
        self._committed: Optional[survive.TorchState] = None
        with _group_of_one():
            super().__init__(*arguments, **named)
        if _is_active():
            self._check()
            self._preemption = _framework.Preemption()

    def train(self, resume_from_checkpoint: Any = None, *arguments: Any, **named: Any) -> Any:
        """That of `Trainer`, as described for the class."""
        global _has_finished
        if not _is_active():
            return super().train(resume_from_checkpoint, *arguments, **named)  # type: ignore
        torch.distributed.destroy_process_group()  # of this rank alone
        optimizer = self.create_optimizer()  # type: ignore
        versions = _framework.Versions("transformers", "accelerate")
        self._modules = _framework.Modules([self.model])
        self._progress = _Progress(self)
        self._committed = survive.TorchState(model=self.model, optimizer=optimizer,
                                             progress=self._progress, versions=versions, step=0)
        restorer = _Counters(self)
        self.callback_handler.add_callback(restorer)
        train = super().train  # type: ignore

        def attempt() -> Any:
            try:
                self._join()
                versions.check()
                if not self._progress:
                    return train(resume_from_checkpoint, *arguments, **named)
                self.went_on_in_memory = True
                with tempfile.TemporaryDirectory() as self._folder:
                    self._progress.write_file(self._folder)
                    return train(self._folder, *arguments, **named)
            except BaseException:
                self._leave(optimizer)
                raise
            finally:
                self._folder = ""

        try:
            result = survive._repeat(attempt, self._committed)
        finally:
            self._committed = None
            self.callback_handler.remove_callback(restorer)
        _has_finished = True
        _framework.end_group_at_exit()
        return result

    def _check(self) -> None:
        if torch.distributed.is_initialized() and torch.distributed.get_world_size() > 1:
            raise RuntimeError("the arguments of this Trainer have begun the process group of all "
                               "ranks, in which a newcomer would wait for ever: make them of "
                               "elasticrun.transformers.TrainingArguments")
        for name in ("is_deepspeed_enabled", "is_fsdp_enabled", "model_init"):
            if getattr(self, name):
                raise NotImplementedError(f"elasticrun.transformers does nothing for a Trainer "
                                          f"with {name}")

    # ---- an epoch of the job -----------------------------------------------------------------

    def _join(self) -> None:
        arguments = self.args
        with _framework.group_of_survivors([self.model]):
            vars(arguments)["_setup_devices"] = \
                transformers.TrainingArguments._setup_devices.func(arguments)  # type: ignore
        # Trainer has written it into what is the user's, and would take it for the user's.
        (arguments.accelerator_config.gradient_accumulation_kwargs or {}).pop("num_steps", None)
        self.create_accelerator_and_postprocess()  # type: ignore
        self._modules.reset()
        self._seen_step = 0
        self._random = self._committed._committed_random()  # type: ignore
        self._groups = [{name: value for name, value in group.items() if name != "params"}
                        for group in self.optimizer.param_groups]

    def _leave(self, optimizer: Any) -> None:
        """Lets go of all that holds the process group."""
        self.is_in_train = False
        self.model_wrapped, self.optimizer = self.model, optimizer
        for name in ("optimizer", "train_dataloader", "eval_dataloader"):
            setattr(self.callback_handler, name, None)
        accelerator = self.accelerator
        for each in (accelerator._models, accelerator._optimizers, accelerator._schedulers,
                     accelerator._dataloaders):
            each.clear()
        hook = vars(self).pop("neftune_hook_handle", None)
        if hook is not None:
            hook.remove()
        _framework.reset_accelerate([self.model])

    def _maybe_log_save_evaluate(self, *arguments: Any, **named: Any) -> None:
        """Called after each step, and again at the end of each epoch of the data."""
        step = self.state.global_step
        is_step = step != self._seen_step
        self._seen_step = step
        is_due = self._committed is not None and is_step and self._preemption.is_due(step)
        if is_due:
            self.control.should_save = True
        super()._maybe_log_save_evaluate(*arguments, **named)  # type: ignore
        if is_due:
            self._preemption.answer(lambda: None)
        # The last step of an epoch belongs to its end, and that of all to what follows it.
        is_inner = step % self._updates_per_epoch != 0
        is_last = self.control.should_training_stop or self.control.should_epoch_stop
        if self._committed is not None and is_step == is_inner and not is_last:
            # Whatever a rank that is lost was doing for this step is done again.
            self.accelerator.wait_for_everyone()
            _framework.share_buffers(self.model_wrapped)
            self._progress.read()
            self._committed.step = step
            self._committed.commit()

    def set_initial_training_values(self, *arguments: Any, **named: Any) -> Any:
        values = super().set_initial_training_values(*arguments, **named)  # type: ignore
        self._updates_per_epoch = values[1]
        survive._epochs.total_steps = values[-1]
        return values

    # ---- resumption from memory --------------------------------------------------------------

    def _is_memory(self, folder: Optional[str]) -> bool:
        return bool(self._folder) and folder == self._folder

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        if not self._is_memory(resume_from_checkpoint):
            super()._load_from_checkpoint(resume_from_checkpoint, model)  # type: ignore

    def _load_optimizer_and_scheduler(self, folder: Optional[str]) -> None:
        if not self._is_memory(folder):
            super()._load_optimizer_and_scheduler(folder)  # type: ignore
            return
        self.lr_scheduler.load_state_dict(self._progress["scheduler"])
        # The scheduler has set the rates of its beginning.
        for group, saved in zip(self.optimizer.param_groups, self._groups):
            group.update(saved)

    def _load_rng_state(self, folder: Optional[str]) -> None:
        if self._is_memory(folder):
            torch_state._write_random(self._random)
        else:
            super()._load_rng_state(folder)  # type: ignore

    def _load_scaler(self, folder: Optional[str]) -> None:
        if not self._is_memory(folder):
            super()._load_scaler(folder)  # type: ignore
        elif self.accelerator.scaler is not None:
            self.accelerator.scaler.load_state_dict(self._progress["scaler"])

    def _load_callback_state(self) -> None:
        if not self._folder:
            super()._load_callback_state()  # type: ignore
            return
        for callback, saved in zip(self._stateful_callbacks(), self._progress["callbacks"]):
            vars(callback).update(saved)

    def _stateful_callbacks(self) -> List[Any]:
        return [each for each in self.callback_handler.callbacks
                if isinstance(each, ExportableState)]

    def _restore_counters(self) -> None:
        if self._folder:
            for name, value in self._progress["counters"].items():
                setattr(self, name, value)
            # It was read, and a rank that is killed would leave it.
            os.remove(os.path.join(self._folder, _STATE_FILE))
            os.rmdir(self._folder)


class Trainer(SurvivingTrainer, transformers.Trainer):
    """The Trainer of transformers, which survives as described for `SurvivingTrainer`."""
