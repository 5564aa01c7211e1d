# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A Trainer of Lightning that keeps its process and its module when another rank is replaced
(docs/frameworks.md).

    from elasticrun.lightning import Trainer

It needs `elasticrun --on-failure replace`. Otherwise it is that of Lightning. Needs Lightning 2.6
or later.
"""

from __future__ import annotations

import collections
import copy
import os
import pickle
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Set

import lightning.pytorch
import torch
import torchmetrics
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.loops.fit_loop import _FitLoop
from lightning.pytorch.loops.loop import _Loop
from lightning.pytorch.loops.training_epoch_loop import _TrainingEpochLoop
from lightning.pytorch.plugins import CheckpointIO
from lightning.pytorch.strategies import DDPStrategy
from lightning.pytorch.trainer.connectors.logger_connector.result import _ResultCollection

from elasticrun import _framework, survive, torch_state

__all__ = ["Trainer"]

# What stands for a path where the state in memory is meant.
_MEMORY = "elasticrun.memory"

# What Lightning knows of the metrics, for callbacks, loggers and the progress bar.
_LOGGED = ("_callback_metrics", "_logged_metrics", "_progress_bar_metrics")

# How many elements a state of a metric may have that all ranks get at each commit.
_STATE_LIMIT = 4096

# Whether a Trainer of this process has trained to its end: then no rank can be replaced any more.
_has_finished = False


class _Own(NamedTuple):
    """Stands for a tensor of the module, which is an item of the state itself."""

    name: str


class _Checkpoint:
    """What Lightning saves of a training, but for the tensors of the module: an item of the
    state."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self.content: Dict[str, Any] = {}
        self.ranks: List[bytes] = []  # what differs from rank to rank
        self.saved_steps: List[int] = []  # of each ModelCheckpoint, the last one

    def state_dict(self) -> Dict[str, Any]:
        return {"content": self.content, "ranks": self.ranks, "saved_steps": self.saved_steps}

    def load_state_dict(self, saved: Dict[str, Any]) -> None:
        vars(self).update(saved)

    def read(self, trainer: Any) -> None:
        """Callbacks and hooks may put other weights, such as an average, in the place of those of
        the module, and these elsewhere."""
        own = {tensor.data_ptr(): (name, tensor.shape) for name, tensor in self._tensors().items()
               if tensor.numel()}

        def stand_in(item: Any) -> Any:
            if isinstance(item, torch.Tensor):
                name, shape = own.get(item.data_ptr(), ("", None))
                return _Own(name) if shape == item.shape else item
            return item

        self.content = _replace(
            trainer._checkpoint_connector.dump_checkpoint(weights_only=False), stand_in)
        self.saved_steps = [each._last_global_step_saved for each in _savers(trainer)]

    def write(self) -> Dict[str, Any]:
        """The checkpoint as Lightning loads it."""
        own = self._tensors()
        return _replace(self.content, lambda item: own[item.name].clone()
                        if isinstance(item, _Own) else item)

    def _tensors(self) -> Dict[str, Any]:
        return {name: item for name, item in self._module.state_dict().items()
                if isinstance(item, torch.Tensor)}


def _replace(content: Dict[str, Any], replace: Callable[[Any], Any]) -> Dict[str, Any]:
    """A copy with other items in its state dicts."""
    return {key: {name: replace(item) for name, item in value.items()}
            if type(value) in (dict, collections.OrderedDict) else value
            for key, value in content.items()}


def _savers(trainer: Any) -> List[Any]:
    return [each for each in trainer.callbacks if isinstance(each, ModelCheckpoint)]


class _Metrics:
    """What a rank has summed up itself: logged values of this epoch, the metrics of its module, and
    what Lightning shows of them. Metrics whose states are large, or lists that grow, are kept by
    the rank alone."""

    def __init__(self, module: Any) -> None:
        self._metrics = {name: each for name, each in module.named_modules()
                         if isinstance(each, torchmetrics.Metric)}
        self._kept: Dict[int, Any] = {}  # by step: states that go to no other rank

    def read(self, trainer: Any, committed: int) -> bytes:
        """The part for all ranks. `committed` is the step of the last commit."""
        kept = {name: {key: list(value) if isinstance(value, list) else value.clone()
                       for key, value in _states(metric).items() if not _is_small(value)}
                for name, metric in self._metrics.items()}
        self._kept = {committed: self._kept.get(committed), trainer.global_step: kept}
        return pickle.dumps({
            "sums": {key: _small_states(each) for key, each in trainer.fit_loop._results.items()
                     if each.is_tensor and each.meta.on_epoch and not each.has_reset},
            "metrics": {name: (each._update_count, _small_states(each))
                        for name, each in self._metrics.items()},
            "logged": {name: {key: torch.as_tensor(value).cpu()
                              for key, value in vars(trainer._logger_connector)[name].items()}
                       for name in _LOGGED}})

    def write(self, trainer: Any, step: int, content: bytes) -> None:
        saved = pickle.loads(content)
        kept = self._kept.get(step)
        trainer.fit_loop._results.begun = saved["sums"]
        for name, (updates, states) in saved["metrics"].items():
            metric = self._metrics[name]
            device = metric.device
            metric.reset()
            if kept is None and len(states) < len(metric._defaults):
                survive._say(f"the metric {name} begins anew in this rank: its states are large, "
                             f"or lists, of which no other rank has a copy")
                continue
            metric._update_count = updates
            for key, value in states.items():
                setattr(metric, key, value.to(device))
            for key, value in (kept or {}).get(name, {}).items():
                setattr(metric, key, list(value) if isinstance(value, list) else value.clone())
        device = trainer.strategy.root_device
        for name, values in saved["logged"].items():
            getattr(trainer._logger_connector, name).update(
                {key: value.to(device) for key, value in values.items()})


def _states(metric: Any) -> Dict[str, Any]:
    return {name: getattr(metric, name) for name in metric._defaults}


def _is_small(state: Any) -> bool:
    return isinstance(state, torch.Tensor) and state.numel() <= _STATE_LIMIT


def _small_states(metric: Any) -> Dict[str, Any]:
    return {name: value.detach().cpu() for name, value in _states(metric).items()
            if _is_small(value)}


class _Results(_ResultCollection):
    """Logged values of an epoch, whose sums may go on from those of a commit."""

    def __init__(self) -> None:
        super().__init__(training=True)
        self.begun: Dict[str, Dict[str, Any]] = {}

    def __setitem__(self, key: str, metric: Any) -> None:
        super().__setitem__(key, metric)
        for name, value in self.begun.pop(key, {}).items():
            setattr(metric, name, value)


class _Training:
    """What the attempts at one training have in common."""

    def __init__(self, module: Any) -> None:
        self.modules = _framework.Modules([module])
        self.metrics = _Metrics(module)
        self.checkpoint = _Checkpoint(module)
        self.versions = _framework.Versions("lightning")
        self.preemption = _framework.Preemption()
        self.state = survive.TorchState(module=module, checkpoint=self.checkpoint,
                                        versions=self.versions, step=0)
        self.random: Dict[str, Any] = {}  # as of the commit from which this attempt began
        self.is_resumed = False           # this attempt began from a commit
        self.step = 0                     # the last one that was committed
        self.files: Set[str] = set()      # saved since then
        self.repeated: Set[str] = set()   # that were, in an attempt before

    def begin(self) -> None:
        """When the group of this epoch is there. All ranks know what any has saved."""
        self.versions.check()
        self.random = self.state._committed_random()
        self.modules.reset()
        self.is_resumed = bool(self.checkpoint.content)
        self.repeated = set().union(*_framework.gather(self.files))

    def begin_loop(self, loop: Any) -> None:
        """When Lightning has restored its checkpoint and called the hooks of a start."""
        trainer = loop.trainer
        # A new training commits how it begins.
        self.step = trainer.global_step if self.is_resumed or trainer.ckpt_path else -1
        total = trainer.estimated_stepping_batches
        survive._epochs.total_steps = int(total) if 0 < total < float("inf") else None
        if not self.is_resumed:
            return
        if survive.rank() < len(self.checkpoint.ranks):
            self.metrics.write(trainer, self.step, self.checkpoint.ranks[survive.rank()])
        for saver, step in zip(_savers(trainer), self.checkpoint.saved_steps):
            saver._last_global_step_saved = step
        self._begin_data(loop)
        self.checkpoint.content = {}

    def commit(self, trainer: Any) -> None:
        """Called before whatever follows a batch, its hooks, its validation and, after the last
        one, the end of the epoch. No rank commits before all are there."""
        if trainer.global_step == self.step:
            return  # gradients were accumulated, or the training goes on
        _framework.share_buffers(trainer.model)
        self.checkpoint.ranks = _framework.gather(self.metrics.read(trainer, self.step))
        self.checkpoint.read(trainer)
        self.step = self.state.step = trainer.global_step
        self.state.commit()
        self.files = set()
        self.repeated = set()

    def _begin_data(self, loop: Any) -> None:
        """Lightning begins with the first batches of the data, and has begun to read them in the
        order of the first epoch."""
        fetcher = loop._data_fetcher
        epoch = loop.epoch_progress.current
        done = 0 if epoch.completed == epoch.ready else loop.epoch_loop.batch_progress.current.ready
        for loader in loop._combined_loader.flattened:
            for sampler in (loader.sampler, getattr(loader.batch_sampler, "sampler", None)):
                set_epoch = getattr(sampler, "set_epoch", None)
                if set_epoch is not None:
                    set_epoch(epoch.processed)
        # A later epoch draws its order after the commit.
        is_drawn = bool(done) or not epoch.processed
        if not is_drawn:
            torch_state._write_random(self.random)
        iter(fetcher)
        for _ in range(done):
            next(fetcher)
        if is_drawn:
            torch_state._write_random(self.random)
        fetcher.fetched = 0  # the loop adds what it has read before


class _Epochs(_FitLoop):
    """Commits before an epoch begins. A commit lies between two batches or epochs, so nothing of
    what Lightning does for a checkpoint in the middle of a batch or a validation is to be done."""

    def __init__(self, training: _Training, trainer: Any) -> None:
        original = trainer.fit_loop
        super().__init__(trainer, original.min_epochs, original.max_epochs)
        self.epoch_loop = _Batches(training, trainer)
        self._training = training

    def on_run_start(self) -> None:
        super().on_run_start()
        self._training.begin_loop(self)
        if self._training.is_resumed:
            epoch = self.epoch_progress.current
            self._restarting = False
            if epoch.completed == epoch.ready:
                _Loop.restarting.fset(self, False)  # type: ignore

    def on_advance_start(self) -> None:
        self._training.commit(self.trainer)
        super().on_advance_start()


class _Batches(_TrainingEpochLoop):
    """Commits before a batch."""

    def __init__(self, training: _Training, trainer: Any) -> None:
        original = trainer.fit_loop.epoch_loop
        super().__init__(trainer, original.min_steps, original.max_steps)
        self._results = _Results()
        self._training = training

    def on_run_start(self, data_fetcher: Any) -> None:
        super().on_run_start(data_fetcher)
        if self._training.is_resumed and self._restarting:
            _Loop.restarting.fset(self, False)  # type: ignore
            self.reset_restart_stage()
            self.val_loop.reset_restart_stage()

    def advance(self, data_fetcher: Any) -> None:
        self._training.commit(self.trainer)
        super().advance(data_fetcher)


def _overwrite(saver: Any, training: _Training) -> None:
    """Has a ModelCheckpoint write again what it has written since the last commit: it would else
    write another version beside it."""
    exists = type(saver).file_exists

    def file_exists(path: Any, trainer: Any) -> bool:
        return exists(saver, path, trainer) and str(path) not in training.repeated

    saver.file_exists = file_exists


class _Memory(CheckpointIO):
    """Reads the state of the training from memory, and everything else as before."""

    def __init__(self, files: CheckpointIO, training: _Training) -> None:
        self._files = files
        self._training = training

    def save_checkpoint(self, *arguments: Any, **named: Any) -> None:
        self._files.save_checkpoint(*arguments, **named)

    def load_checkpoint(self, path: Any, *arguments: Any, **named: Any) -> Dict[str, Any]:
        if path != _MEMORY:
            return self._files.load_checkpoint(path, *arguments, **named)
        return self._training.checkpoint.write()

    def remove_checkpoint(self, path: Any) -> None:
        self._files.remove_checkpoint(path)

    def teardown(self) -> None:
        self._files.teardown()


class _Requests(lightning.pytorch.Callback):
    """Answers the agent's requests for a checkpoint, after what all other callbacks do."""

    def __init__(self, preemption: _framework.Preemption) -> None:
        self._preemption = preemption
        self._step = -1

    def on_train_start(self, trainer: Any, _: Any) -> None:
        self._step = trainer.global_step

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        step = trainer.global_step
        if step != self._step and self._preemption.is_due(step):
            path = os.path.join(trainer.default_root_dir, f"hpc_ckpt_{step}.ckpt")
            self._preemption.answer(lambda: trainer.save_checkpoint(path))
        self._step = step


class Trainer(lightning.pytorch.Trainer):
    """The Trainer of Lightning, whose `fit` keeps this process and the module when another rank is
    replaced, or when the number of nodes has changed. Its parameters are those of Lightning, by
    name. The module makes its layers in `__init__`.

    The state is committed before the next batch, after each step of the optimizer: so the hooks and
    callbacks of the batch, a validation and the end of an epoch belong to the step before them, and
    all of it is repeated if a death interrupts it. Hooks such as
    `setup`, `on_train_start` and `on_save_checkpoint` are called again, as by a restart. The
    agent's requests for a checkpoint (`--preempt-grace`) are answered by one in `default_root_dir`,
    after the same step on all ranks, from which `ckpt_path="hpc"` resumes.

    When `fit` has returned, the process group stays, for `test` and `validate`; a rank that is lost
    from then on makes all restart. Errors: those of Lightning; ValueError if this rank has another
    release of PyTorch or Lightning than the ranks that it joins; NotImplementedError for a strategy
    other than DDP.
    """

    def __init__(self, **named: Any) -> None:
        self._named = named
        self._training: Optional[_Training] = None
        super().__init__(**named)

    def save_checkpoint(self, filepath: Any, *arguments: Any, **named: Any) -> None:
        """That of Lightning."""
        if self._training is not None:
            self._training.files.add(str(filepath))
        super().save_checkpoint(filepath, *arguments, **named)

    def fit(self, model: Any, *arguments: Any, **named: Any) -> None:
        """That of Lightning, as described for the class."""
        global _has_finished
        if not _framework.is_replacing() or _has_finished:
            super().fit(model, *arguments, **named)
            return
        if type(self.strategy) is not DDPStrategy:
            raise NotImplementedError(f"elasticrun.lightning does nothing for "
                                      f"{type(self.strategy).__name__}: it takes strategy=\"ddp\"")
        named.update(zip(("ckpt_path", "weights_only"), arguments[3:]))
        arguments = arguments[:3]
        training = _Training(model)
        loggers = self.loggers

        def attempt() -> None:
            self._begin(training, loggers)
            source = {"ckpt_path": _MEMORY} if training.checkpoint.content else {}
            try:
                super(Trainer, self).fit(model, *arguments, **{**named, **source})
            except BaseException:
                model.trainer = None
                super(Trainer, self).__init__(**self._settings(loggers))  # without the old group
                raise

        survive._repeat(attempt, training.state)
        self._training = None
        _has_finished = True
        _framework.end_group_at_exit()

    def _begin(self, training: _Training, loggers: Any) -> None:
        super().__init__(**self._settings(loggers))
        self._training = training
        self.fit_loop = _Epochs(training, self)
        self.callbacks.append(_Requests(training.preemption))  # type: ignore
        for saver in _savers(self):
            _overwrite(saver, training)
        self.strategy.checkpoint_io = _Memory(self.strategy.checkpoint_io, training)
        with _framework.group_of_survivors(training.modules.roots):
            self.strategy.setup_environment()
        training.begin()
        if training.is_resumed:
            self.num_sanity_val_steps = 0

    def _settings(self, loggers: Any) -> Dict[str, Any]:
        """A Trainer is made for one epoch of the job: Lightning changes what it is given."""
        settings = {**self._named, "logger": loggers or False,
                    "num_nodes": int(os.environ["GROUP_WORLD_SIZE"])}
        for name in ("callbacks", "plugins"):
            if isinstance(settings.get(name), list):
                settings[name] = list(settings[name])
        settings["strategy"] = copy.deepcopy(settings.get("strategy", "auto"))
        return settings
