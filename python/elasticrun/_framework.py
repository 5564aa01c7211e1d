# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What the plug-ins for frameworks share (docs/frameworks.md). Needs torch."""

from __future__ import annotations

import atexit
import contextlib
import importlib.metadata
import os
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional

from elasticrun import survive, worker


def is_replacing() -> bool:
    """Whether elasticrun replaces lost ranks of this job."""
    return os.environ.get("ELASTIC_ON_FAILURE") == "replace"


@contextlib.contextmanager
def group_of_survivors(modules: Iterable[Any] = ()) -> Iterator[None]:
    """Has the framework begin its default process group by `survive.init_process_group`, with the
    backend and the options that it has chosen. Models go to the GPU of this rank before the state
    is exchanged, since tensors of a newcomer must be where those of the others are."""
    import torch
    import torch.distributed as dist
    original = dist.init_process_group

    def begin(backend: Optional[str] = None, *_: Any, **options: Any) -> None:
        dist.init_process_group = original
        if torch.cuda.is_available() and "gloo" != backend:
            device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
            torch.cuda.set_device(device)
            for module in modules:
                module.to(device)
        survive.init_process_group(backend, **options)

    dist.init_process_group = begin
    try:
        yield
    finally:
        dist.init_process_group = original


def end_group_at_exit() -> None:
    """Has the process group, which stays for evaluations, end before the interpreter does: PyTorch
    2.13 may else abort the process when it is done."""
    atexit.register(survive._destroy_groups, True)


def reset_accelerate(modules: Iterable[Any]) -> None:
    """Undoes what Accelerate has done to this process and to the models that it has prepared: it
    remembers the ranks and the group of an epoch, and would wrap a model again."""
    from accelerate.state import AcceleratorState, GradientState  # type: ignore
    AcceleratorState._reset_state(True)
    GradientState._reset_state()
    for module in modules:
        vars(module).pop("_is_accelerate_prepared", None)
        forward = vars(module).pop("_original_forward", None)
        if forward is not None:  # of mixed precision
            module.forward = forward


def gather(item: Any) -> List[Any]:
    """Those of all ranks, in their order. No rank is past this before all are there."""
    import torch.distributed as dist
    items: List[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(items, item)
    return items


def share_buffers(model: Any) -> None:
    """Gives all ranks the buffers of rank 0, such as those of a BatchNorm, with which DDP begins
    its next pass anyway: whichever rank is lost, another one has them."""
    if hasattr(model, "will_sync_module_buffers") and model.will_sync_module_buffers():
        model._sync_buffers()


class Modules:
    """Models that survivors keep: a change may find them in an evaluation, or with gradients of
    batches that come again."""

    def __init__(self, modules: Iterable[Any]) -> None:
        self.roots = list(modules)
        self._modes = [(part, part.training) for root in self.roots for part in root.modules()]

    def reset(self) -> None:
        """As they were at first, but for their parameters."""
        for root in self.roots:
            root.zero_grad()
        for part, is_training in self._modes:
            part.training = is_training


class Versions:
    """The packages that a state depends on. It is an item of the state, so a newcomer compares
    those of the others with its own."""

    def __init__(self, *packages: str) -> None:
        self._own = {name: importlib.metadata.version(name) for name in ("torch", *packages)}
        self._others = self._own

    def state_dict(self) -> Dict[str, str]:
        return self._own

    def load_state_dict(self, others: Dict[str, str]) -> None:
        self._others = others

    def check(self) -> None:
        """Errors: ValueError, which restarts this rank, if it has another release of a package."""
        for name, own in self._own.items():
            if self._others.get(name) != own:
                raise ValueError(f"this rank has {name} {own}, and the ranks that it joins have "
                                 f"{name} {self._others.get(name)}: install the same release")


class Preemption:
    """The agent's requests for checkpoints (`--preempt-grace`). Ranks are asked at different steps,
    and agree on one step after which they save together. A rank that has joined after the agent had
    asked learns it from the others."""

    def __init__(self) -> None:
        self._channel = worker.connect(checkpoints=True)
        self._pending: List[worker.Request] = []
        self._epoch = -1
        self._saves = 0  # in this epoch
        self._announced = ""

    def is_due(self, step: int) -> bool:
        """Whether to save now. Every rank calls it after each step, which collectives separate
        from the next one."""
        self._pending += [each for each in self._channel.requests() if each.kind == "checkpoint"]
        is_late = not survive._epochs.began_job
        if not self._pending and not is_late:
            return False
        import torch.distributed as dist
        if not dist.is_initialized():
            return bool(self._pending)
        if self._epoch != survive.epoch():
            self._epoch, self._saves = survive.epoch(), 0
        store = dist.distributed_c10d._get_default_store()
        prefix = f"elasticrun.save/{self._epoch}.{self._saves}"
        if not self._pending and not store.check([prefix]):
            return False
        if self._announced != prefix:
            self._announced = prefix
            store.set(prefix, "asked")
            store.set(f"{prefix}/{dist.get_rank()}", str(step))
        keys = [f"{prefix}/{rank}" for rank in range(dist.get_world_size())]
        # Nobody has finished the step after the one in which the last rank announced: all of them
        # see that everybody has before they are past the next.
        return store.check(keys) and step > max(int(store.get(key)) for key in keys)

    def answer(self, save: Callable[[], None], refusal: str = "") -> None:
        """Saves and answers what is pending, or refuses it with a reason."""
        if not refusal:
            save()  # if the world changes meanwhile, the next epoch answers
        pending, self._pending = self._pending, []
        self._saves += 1
        for request in pending:
            if refusal:
                self._channel.not_saved(request, refusal)
            else:
                self._channel.saved(request)
