# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Training loops of Accelerate that keep their process when another rank is replaced
(docs/frameworks.md).

    from elasticrun.accelerate import Accelerator, run

    @run                                       # called again when the world changes
    def train(model, optimizer, scheduler, loader):
        accelerator = Accelerator()
        model, optimizer, scheduler, loader = accelerator.prepare(
            model, optimizer, scheduler, loader)
        for epoch in accelerator.epochs(3):    # those that are left
            for batch in loader:               # and the batches that are left
                ...

It needs `elasticrun --on-failure replace`. Otherwise `train` is called once, and `Accelerator` is
that of Accelerate. Needs Accelerate 1.15 or later.
"""

from __future__ import annotations

import functools
import itertools
import os
import shutil
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, TypeVar, Union, cast

import accelerate  # type: ignore
import torch
from accelerate import skip_first_batches
from accelerate.data_loader import DataLoaderAdapter, get_sampler  # type: ignore

from elasticrun import _framework, survive, torch_state

__all__ = ["Accelerator", "run"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


# Whether a function under `run` has returned in this process: no rank can be replaced from then on.
_has_finished = False


class _Place:
    """How far the training is in its data: an item of the state.

    `trained` has an entry for each pass through a loader in this epoch in which an optimizer has
    stepped: how many batches, whether it has ended, and how it began.
    """

    def __init__(self) -> None:
        self.epoch = 0
        self.checkpoint: Optional[int] = None  # the number of the next one that is named by it
        self.trained: Dict[str, Dict[str, Any]] = {}
        self.generators: Dict[str, Any] = {}  # of the loaders
        self.scaler: Optional[Dict[str, Any]] = None

    def state_dict(self) -> Dict[str, Any]:
        return dict(vars(self))

    def load_state_dict(self, saved: Dict[str, Any]) -> None:
        vars(self).update(saved)


class _Pass:
    """A loop through the batches of a loader. Moments are counted by the batches of all loaders."""

    def __init__(self, number: int, begun: Dict[str, Any], moment: int, steps: int) -> None:
        self.number = number  # of the loader
        self.begun = begun    # how its random states and its order began, once it has
        self.batches = int(begun.get("batches", 0))
        self.is_active = False
        self.began = self.delivered = moment
        self.begun_steps = steps
        self.has_trained = bool(begun)
        self.end: Optional[Dict[str, Any]] = begun.get("end")  # what was there then, if it was

    def position(self, inner: Optional[_Pass]) -> Dict[str, Any]:
        """The one that belongs to a commit between two batches of `inner`. A loop around that one
        is still in the body of its own batch, which comes again."""
        is_outer = (inner is not None and self.is_active
                    and self.began < self.delivered <= inner.began)
        return {**self.begun, "batches": self.batches - is_outer, "end": self.end}


class _Job:
    """The training that `run` repeats: one at a time in a process."""

    def __init__(self, items: Dict[str, Any]) -> None:
        self.kept = list(items.values())
        self._reset = _framework.Modules(self.modules).reset
        self.place = _Place()
        self.versions = _framework.Versions("accelerate")
        self.preemption = _framework.Preemption()
        self.state = survive.TorchState(**items, place=self.place, versions=self.versions, step=0)
        self.loaders: List[_Loader] = []
        self.passes: List[_Pass] = []     # of this epoch, but for those in a batch that is done
        self.moment = 0
        self._leading: Optional[_Pass] = None  # the one that has committed
        self.samplers: List[Any] = []     # that Accelerate has given a generator
        self.random: Dict[str, Any] = {}  # as of the commit from which this attempt began
        self.is_resuming = False          # nothing was committed in this attempt
        self.steps = 0                    # of optimizers
        self.committed_steps = 0
        for each in self.kept:
            if isinstance(each, torch.optim.Optimizer):
                each.register_step_post_hook(self._count)

    @property
    def modules(self) -> List[torch.nn.Module]:
        return [each for each in self.kept if isinstance(each, torch.nn.Module)]

    def begin(self) -> None:
        self.random = self.state._committed_random()
        self.is_resuming = self.state.commits > 1  # the first one is how the script begins
        self.committed_steps = self.steps
        self._reset()

    def begin_pass(self, number: int) -> _Pass:
        """The next one of this loader, which may have begun before the world has changed."""
        index = sum(each.number == number for each in self.passes)
        begun = self.place.trained.get(f"{number}.{index}", {}) if self.is_resuming else {}
        self.passes.append(_Pass(number, begun, self.moment, self.steps))
        return self.passes[-1]

    def is_between_steps(self, current: _Pass) -> bool:
        """Called when this pass is asked for its next batch. Whether the body of the loop is done
        and has something to commit: steps in the body of an outer loop are not done before that
        asks for a batch, and a batch may be asked for in the body of another loop."""
        self.passes = [each for each in self.passes
                       if each.is_active or each.began < current.delivered]
        if self._is_in_body(current):
            return False
        is_due = self.committed_steps != self.steps and self.committed_steps >= current.begun_steps
        if is_due:
            self._leading = current
        return is_due

    def _is_in_body(self, current: _Pass) -> bool:
        """Whether another loop has begun since this pass has given a batch, or leads: where several
        loaders are read in turn, the one that was the first to be asked after a step does."""
        lead = self._leading
        return any(each.is_active and current.delivered <= each.began for each in self.passes) or (
            lead is not None and lead is not current and lead.is_active
            and current.began < lead.delivered)

    def record(self, current: Optional[_Pass]) -> None:
        """Where all loaders are, before a commit."""
        numbers: Dict[int, int] = {}
        place = self.place
        place.trained = {}
        place.generators = {str(each.number): each.read_generators() for each in self.loaders}
        for each in self.passes:
            if each.is_active and each.begun_steps != self.steps:
                each.has_trained = True
            index = numbers.get(each.number, 0)
            numbers[each.number] = index + 1
            if each.has_trained:
                place.trained[f"{each.number}.{index}"] = each.position(current)
            elif not index and each.begun:  # such as an evaluation, which comes again
                place.generators[str(each.number)] = each.begun["generators"]

    def forget(self) -> None:
        """Undoes what Accelerate has done to this process, some of which holds the group."""
        self.loaders.clear()
        self.passes.clear()
        self._leading = None
        while self.samplers:
            self.samplers.pop().generator = None
        _framework.reset_accelerate(self.modules)

    def _count(self, *_: Any) -> None:
        self.steps += 1


_job: Optional[_Job] = None


def run(train: _Function) -> _Function:
    """Decorates the training function, which begins with `Accelerator()`. It is called again, in
    the same process, when a rank was replaced or the number of ranks has changed. Its arguments
    that have a state (models, optimizers, schedulers, whatever has `state_dict` and
    `load_state_dict`, but for data loaders) are then as after the last commit, and newcomers get
    them. Its plain variables begin anew. Its loops continue where they were, also if they are
    nested or read several loaders.

    The state is committed when the loop asks for the next batch after a step of an optimizer.
    Gradients that were accumulated since are not kept: their batches come again.

    When `train` has returned, its process group stays, for evaluations and further calls of such
    functions; a rank that is lost from then on makes all restart. Errors: those of `train` and of
    `survive.run`.
    """
    @functools.wraps(train)
    def begin(*arguments: Any, **named: Any) -> Any:
        global _job, _has_finished
        if not _framework.is_replacing() or _has_finished:
            return train(*arguments, **named)
        numbered = {f"argument {at}": each for at, each in enumerate(arguments)}
        job = _Job({name: each for name, each in {**numbered, **named}.items()
                    if _has_state(each)})

        def attempt() -> Any:
            try:
                return train(*arguments, **named)
            finally:
                job.forget()

        _job = job
        try:
            result = survive._repeat(attempt, job.state)
        finally:
            _job = None
        _has_finished = True
        _framework.end_group_at_exit()
        return result

    return cast(_Function, begin)


def _has_state(item: Any) -> bool:
    return (hasattr(item, "state_dict") and hasattr(item, "load_state_dict")
            and not isinstance(item, torch.utils.data.DataLoader))


class Accelerator(accelerate.Accelerator):  # type: ignore[misc]
    """Accelerate's own, which in a function under `run` belongs to one epoch of the job: make it
    there, first, and only one. Its parameters are those of `accelerate.Accelerator`.

    The agent's requests for a checkpoint (`--preempt-grace`) are answered by `save_state()`, after
    the same step on all ranks, if a `ProjectConfiguration` with `automatic_checkpoint_naming` says
    where to save.

    Errors: ValueError if this rank has another release of PyTorch or Accelerate than the ranks that
    it joins; NotImplementedError for DeepSpeed, FSDP and Megatron-LM, whose states are sharded.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self._job = _job
        if self._job is None:
            super().__init__(*arguments, **named)
            return
        with _framework.group_of_survivors(self._job.modules):
            super().__init__(*arguments, **named)
        self._job.versions.check()
        kind = self.distributed_type.name
        if kind in ("DEEPSPEED", "FSDP", "MEGATRON_LM"):
            raise NotImplementedError(f"elasticrun.accelerate keeps no state of {kind}")
        if self.scaler is not None and self._job.place.scaler is not None:
            self.scaler.load_state_dict(self._job.place.scaler)
        if self._job.place.checkpoint is not None:
            self.project_configuration.iteration = self._job.place.checkpoint
        self._job.begin()

    def prepare(self, *items: Any, **named: Any) -> Any:
        """Accelerate's own. Errors, under `run`: ValueError for a model to be trained, an optimizer
        or a scheduler that is not an argument of the function, because a newcomer would begin with
        another one."""
        if self._job is not None:
            for each in items:
                _check_is_kept(each, self._job)
        return super().prepare(*items, **named)

    def prepare_data_loader(self, data_loader: Any, *arguments: Any, **named: Any) -> Any:
        """Accelerate's own. Under `run`, the result leaves out the batches that are done. Errors,
        under `run`: NotImplementedError with `use_stateful_dataloader`."""
        job = self._job
        if job is None:
            return super().prepare_data_loader(data_loader, *arguments, **named)
        if self.use_stateful_dataloader:
            raise NotImplementedError("elasticrun.accelerate cannot begin in the middle of a "
                                      "StatefulDataLoader")
        sampler = _sampler_of(data_loader)
        has_none = getattr(sampler, "generator", sampler) is None
        prepared = super().prepare_data_loader(data_loader, *arguments, **named)
        if has_none and sampler.generator is not None:
            job.samplers.append(sampler)
        return self._follow(prepared)

    def skip_first_batches(self, dataloader: Any, num_batches: int = 0) -> Any:
        """Accelerate's own."""
        if isinstance(dataloader, _Loader):
            return self._follow(super().skip_first_batches(dataloader.base_dataloader, num_batches))
        return super().skip_first_batches(dataloader, num_batches)

    def epochs(self, numbers: Union[int, Iterable[int]]) -> Iterator[int]:
        """Those of `numbers`, or of `range(numbers)`, that are left. What the loop's body does
        after the batches, such as an evaluation, is part of the epoch: it is repeated if the world
        changes meanwhile."""
        every = list(range(numbers) if isinstance(numbers, int) else numbers)
        job = self._job
        if job is None:
            yield from every
            return
        place = job.place
        if job.is_resuming and not place.trained:
            torch_state._write_random(job.random)
        while place.epoch < len(every):
            job.passes.clear()
            yield every[place.epoch]
            place.epoch += 1
            job.passes.clear()
            self._commit(job)

    def _follow(self, prepared: Any) -> _Loader:
        job = cast(_Job, self._job)
        loader = _Loader(prepared, len(job.loaders), job, self)
        job.loaders.append(loader)
        if job.is_resuming:
            loader.write_generators(job.place.generators.get(str(loader.number), {}))
        return loader

    def save_state(self, output_dir: Optional[str] = None, *arguments: Any, **named: Any) -> Any:
        """Accelerate's own. Under `run`, returns when all ranks have saved, and a checkpoint that
        `automatic_checkpoint_naming` has numbered is done again under its number if it belongs to a
        step that is."""
        job, project = self._job, self.project_configuration
        if job is None:
            return super().save_state(output_dir, *arguments, **named)
        if job.is_resuming and project.automatic_checkpoint_naming:
            if self.is_local_main_process:
                shutil.rmtree(os.path.join(self.project_dir, "checkpoints",
                                           f"checkpoint_{project.iteration}"), True)
            self.wait_for_everyone()
        place = super().save_state(output_dir, *arguments, **named)
        self.wait_for_everyone()
        return place

    def _commit(self, job: _Job, current: Optional[_Pass] = None) -> None:
        job.record(current)
        if self.even_batches:  # else a rank may be done before others
            for model in self._models:
                _framework.share_buffers(model)
        job.place.checkpoint = self.project_configuration.iteration
        job.place.scaler = None if self.scaler is None else self.scaler.state_dict()
        job.committed_steps = job.steps
        job.state.commit()
        job.is_resuming = False

    def _commit_step(self, job: _Job, current: Optional[_Pass] = None) -> None:
        job.state.step += 1
        if job.preemption.is_due(job.state.step):
            is_named = self.project_configuration.automatic_checkpoint_naming
            job.preemption.answer(self.save_state, "" if is_named else (
                "Accelerator has no ProjectConfiguration with automatic_checkpoint_naming"))
        self._commit(job, current)


def _check_is_kept(item: Any, job: _Job) -> None:
    is_trained = isinstance(item, (torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler)) \
        or (isinstance(item, torch.nn.Module)
            and any(each.requires_grad for each in item.parameters()))
    if is_trained and not any(each is item for each in job.kept):
        raise ValueError(f"{type(item).__name__} is given to prepare, but is no argument of the "
                         f"function under elasticrun.accelerate.run: a newcomer would not get it")


def _sampler_of(loader: Any) -> Any:
    """None for what has no sampler, such as an IterableDataset."""
    try:
        return get_sampler(loader)
    except AttributeError:
        return None


class _Loader(DataLoaderAdapter):  # type: ignore[misc]
    """A prepared loader that commits the steps between its batches. If the world changes, the next
    one of the same number begins after the last step that was committed."""

    def __init__(self, prepared: Any, number: int, job: _Job, accelerator: Accelerator) -> None:
        self.base_dataloader = prepared
        self.number = number
        self._job = job
        self._accelerator = accelerator

    def __iter__(self) -> Iterator[Any]:
        job = self._job
        if job.steps != job.committed_steps and not any(each.is_active for each in job.passes):
            self._accelerator._commit_step(job)  # of a loop that was left before its end
        current = job.begin_pass(self.number)
        return self._deliver(current, self._resume(current.begun) if current.begun else None)

    def read_generators(self) -> Dict[str, Any]:
        return {name: each.get_state() for name, each in self._generators().items()}

    def write_generators(self, states: Dict[str, Any]) -> None:
        for name, each in self._generators().items():
            if name in states:
                each.set_state(states[name])

    def _generators(self) -> Dict[str, torch.Generator]:
        loader = self.base_dataloader
        named = {"loader": loader.generator,
                 "sampler": getattr(_sampler_of(loader), "generator", None),
                 "shared": getattr(loader, "synchronized_generator", None)}
        return {name: each for name, each in named.items() if each is not None}

    def _resume(self, begun: Dict[str, Any]) -> Iterator[Any]:
        """The batches that are left, as they would have come: random states are those of the
        beginning while the order is drawn, and then those of the last commit."""
        loader, end = self.base_dataloader, begun["end"]
        if end is not None:
            self.write_generators(end["generators"])
            loader.iteration = end["iteration"]
            torch_state._write_random(self._job.random)
            return iter(())
        torch_state._write_random(begun["random"])
        self.write_generators(begun["generators"])
        loader.set_epoch(begun["iteration"])
        batches = iter(skip_first_batches(loader, begun["batches"]))
        first = list(itertools.islice(batches, 1))
        loader.iteration = begun["iteration"] + 1
        torch_state._write_random(self._job.random)
        return itertools.chain(first, batches)

    def _deliver(self, current: _Pass, left: Optional[Iterator[Any]]) -> Iterator[Any]:
        job = self._job
        if left is None:  # it begins here, maybe after another one
            current.begun = {"random": torch_state._read_random(),
                             "generators": self.read_generators(),
                             "iteration": self.base_dataloader.iteration}
        current.is_active = True
        try:
            for batch in iter(self.base_dataloader) if left is None else left:
                job.moment += 1
                current.delivered = job.moment
                current.batches += 1
                yield batch
                if job.is_between_steps(current):
                    self._accelerator._commit_step(job, current)
        except GeneratorExit:  # the loop was left, so the next one has the same number
            self.base_dataloader.iteration = current.begun["iteration"]
            raise
        finally:
            current.end = {"generators": self.read_generators(),
                           "iteration": self.base_dataloader.iteration}
            current.is_active = False
            current.has_trained |= current.begun_steps != job.steps
