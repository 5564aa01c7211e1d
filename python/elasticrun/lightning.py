# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A Trainer of Lightning that keeps its process and its module when another rank is replaced
(docs/frameworks.md).

    from elasticrun.lightning import Trainer

It needs `elasticrun --on-failure replace`. Otherwise it is that of Lightning. Needs Lightning 2.6
or later.
"""

from __future__ import annotations

import copy
import os
from typing import Any, Dict, Optional

import lightning.pytorch
import torch
from lightning.pytorch.plugins import CheckpointIO
from lightning.pytorch.strategies import DDPStrategy

from elasticrun import _framework, survive, torch_state

__all__ = ["Trainer"]

# What stands for a path where the state in memory is meant.
_MEMORY = "elasticrun.memory"

# Whether a Trainer of this process has trained to its end: then no rank can be replaced any more.
_has_finished = False


class _Checkpoint:
    """What Lightning saves of a training, but for the module: an item of the state."""

    def __init__(self) -> None:
        self.content: Dict[str, Any] = {}

    def state_dict(self) -> Dict[str, Any]:
        return self.content

    def load_state_dict(self, content: Dict[str, Any]) -> None:
        self.content = content


class _Training:
    """What the attempts at one training have in common."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.modules = _framework.Modules([module])
        self.checkpoint = _Checkpoint()
        self.versions = _framework.Versions("lightning")
        self.preemption = _framework.Preemption()
        self.state = survive.TorchState(module=module, checkpoint=self.checkpoint,
                                        versions=self.versions, step=0)
        self.random: Dict[str, Any] = {}  # as of the commit from which this attempt began


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
        # The module has its parameters already.
        return {**self._training.checkpoint.content,
                "state_dict": self._training.module.state_dict()}

    def remove_checkpoint(self, path: Any) -> None:
        self._files.remove_checkpoint(path)

    def teardown(self) -> None:
        self._files.teardown()


class _Commits(lightning.pytorch.Callback):
    """Commits the state after each step, and begins in the middle of the data."""

    def __init__(self, training: _Training) -> None:
        self._training = training
        self._step = -1

    def on_train_start(self, trainer: Any, _: Any) -> None:
        self._step = trainer.global_step
        total = trainer.estimated_stepping_batches
        survive._epochs.total_steps = int(total) if 0 < total < float("inf") else None
        if self._training.checkpoint.content:
            self._go_on(trainer)
        self._training.checkpoint.content = {}

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        loop = trainer.fit_loop.epoch_loop
        step = trainer.global_step
        if step == self._step:
            return  # gradients were accumulated
        self._step = step
        # A validation, or the end of the epoch, belongs to the step: a death repeats both.
        if not loop._num_ready_batches_reached() and not loop._should_check_val_fx(
                trainer.fit_loop._data_fetcher):
            self._commit(trainer)
        if self._training.preemption.is_due(step):
            path = os.path.join(trainer.default_root_dir, f"hpc_ckpt_{step}.ckpt")
            self._training.preemption.answer(lambda: trainer.save_checkpoint(path))

    def on_train_epoch_end(self, trainer: Any, _: Any) -> None:
        self._commit(trainer)

    def _commit(self, trainer: Any) -> None:
        content = trainer._checkpoint_connector.dump_checkpoint(weights_only=False)
        del content["state_dict"]
        self._training.checkpoint.content = content
        self._training.state.step = trainer.global_step
        self._training.state.commit()

    def _go_on(self, trainer: Any) -> None:
        """Lightning begins with the first batches of the data, and has begun to read them in the
        order of the first epoch."""
        loop = trainer.fit_loop
        fetcher = loop._data_fetcher
        done = 0 if loop.epoch_loop.batch_progress.is_last_batch else \
            loop.epoch_loop.batch_progress.current.ready
        for loader in loop._combined_loader.flattened:
            for sampler in (loader.sampler, getattr(loader.batch_sampler, "sampler", None)):
                set_epoch = getattr(sampler, "set_epoch", None)
                if set_epoch is not None:
                    set_epoch(loop.epoch_progress.current.processed)
        if not done:
            torch_state._write_random(self._training.random)
        iter(fetcher)
        for _ in range(done):
            next(fetcher)
        if done:
            torch_state._write_random(self._training.random)
            fetcher.fetched = 0  # the loop adds what it has read before


class Trainer(lightning.pytorch.Trainer):
    """The Trainer of Lightning, whose `fit` keeps this process and the module when another rank is
    replaced, or when the number of nodes has changed. Its parameters are those of Lightning, by
    name. The module makes its layers in `__init__`.

    The state is committed after each step of the optimizer; a validation, and the end of an epoch,
    belong to the step before them, so both are repeated if a death interrupts them. Hooks such as
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
        super().__init__(**named)

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
        _has_finished = True
        _framework.end_group_at_exit()

    def _begin(self, training: _Training, loggers: Any) -> None:
        super().__init__(**self._settings(loggers))
        self.callbacks.insert(0, _Commits(training))  # type: ignore
        self.strategy.checkpoint_io = _Memory(self.strategy.checkpoint_io, training)
        with _framework.group_of_survivors([training.module]):
            self.strategy.setup_environment()
        training.versions.check()
        training.random = training.state._committed_random()
        training.modules.reset()

    def _settings(self, loggers: Any) -> Dict[str, Any]:
        """A Trainer is made for one epoch of the job: Lightning changes what it is given."""
        settings = {**self._named, "logger": loggers or False,
                    "num_nodes": int(os.environ["GROUP_WORLD_SIZE"])}
        for name in ("callbacks", "plugins"):
            if isinstance(settings.get(name), list):
                settings[name] = list(settings[name])
        settings["strategy"] = copy.deepcopy(settings.get("strategy", "auto"))
        return settings
