# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Process groups that outlive an epoch: PyTorch 2.14 or later connects them anew (docs/survive.md).

Between epochs each group is a world of this rank alone, and PyTorch knows of no default group.
What is made meanwhile outside of the function under `survive.run`, such as DDP, uses the groups of
later epochs. Ranks meet at the store of an epoch, which their agent serves.

Imports torch; `survive` imports this module when it makes the first group.
"""

from __future__ import annotations

import datetime
import json
import os
import time
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d as c10d
from torch.nn.parallel import DistributedDataParallel
from torch.nn.modules import module as torch_modules

__all__ = ["KeptGroups", "Meeting", "NotMet", "is_possible", "meet"]

# What a rank says of itself before groups are connected, and then of how that went.
_OFFER, _RESULT = "elasticrun.groups/", "elasticrun.groups.met/"
# All ranks are there when they connect; a rank that fails keeps the others waiting for so long.
_CONNECT_SECONDS = 20


class NotMet(RuntimeError):
    """A rank cannot use its groups in this epoch. All ranks raise it, with the same message."""


class Meeting(NamedTuple):
    """The ranks of an epoch and their store."""

    store: Any
    rank: int
    size: int

    def exchange(self, prefix: str, mine: Dict[str, Any]) -> List[Dict[str, Any]]:
        """What all ranks say, in their order."""
        self.store.set(f"{prefix}{self.rank}", json.dumps(mine))
        keys = [f"{prefix}{rank}" for rank in range(self.size)]
        self.store.wait(keys)
        return [json.loads(each) for each in self.store.multi_get(keys)]

    def refuse(self) -> None:
        """Says that this rank begins a group of its own, so that no other waits for its handles."""
        self.store.set(f"{_OFFER}{self.rank}", json.dumps({"torch": torch.__version__}))


def meet(backend: str, timeout: Optional[datetime.timedelta] = None) -> Meeting:
    """Connects to the store of this epoch, as `torch.distributed.init_process_group` does."""
    default_of = getattr(c10d, "_get_default_timeout", lambda _: c10d.default_pg_timeout)
    patience = timeout or default_of(c10d.Backend(backend))
    store, rank, size = next(dist.rendezvous("env://", timeout=patience))
    store.set_timeout(patience)
    return Meeting(store, rank, size)


def is_possible(backend: str, options: Dict[str, Any]) -> bool:
    """Whether a default group with these arguments can outlive an epoch."""
    return (hasattr(dist, "_reconfigure") and backend == "gloo" and options.keys() <= {"timeout"}
            and dist.get_debug_level() != dist.DebugLevel.DETAIL)  # whose groups are wrapped


class _Relay(dist.Store):
    """The store of all kept groups, which keep it: that of the current epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.current: Any = dist.HashStore()


def _forward(name: str) -> Callable[..., Any]:
    return lambda relay, *arguments: getattr(relay.current, name)(*arguments)


for _name in ("add", "append", "check", "compare_set", "delete_key", "get", "has_extended_api",
              "multi_get", "multi_set", "num_keys", "set", "wait"):
    setattr(_Relay, _name, _forward(_name))


class KeptGroups:
    """The default process group of gloo, and the groups and DDP modules that are made before the
    first epoch. Not thread-safe.

    Errors: those of PyTorch.
    """

    def __init__(self, options: Dict[str, Any]) -> None:
        self._relay = _Relay()
        dist.init_process_group("gloo", store=self._relay, rank=0, world_size=1,
                                enable_reconfigure=True, **options)
        self._default = dist.group.WORLD
        self._members: Dict[Any, Optional[Sequence[int]]] = {self._default: None}
        self._modules: List["weakref.ref[Any]"] = []
        self._settled = 0  # how many of them are as a newcomer makes them
        self._hook = torch_modules.register_module_module_registration_hook(self._note_module)
        self._be_alone()

    @property
    def is_alive(self) -> bool:
        """Whether nobody has destroyed the default group."""
        return self._default in c10d._world.pg_map

    @property
    def are_used(self) -> bool:
        """Whether something outside of the function under `survive.run` needs the groups."""
        return len(self._members) > 1 or bool(self._living_modules())

    def new_group(self, ranks: Optional[Sequence[int]], **named: Any) -> Any:
        """A group of these ranks, by default of all, in each later epoch. In a rank that is not
        one of them, it is a world of its own."""
        group = dist.new_group([0], **named)
        self._members[group] = None if ranks is None else sorted(ranks)
        self._isolate(group)
        return group

    def detach(self) -> None:
        """Leaves the groups of the epoch: connections are closed, and groups that were made within
        it are destroyed. The modules have to be settled before the next epoch."""
        self._hook.remove()
        for group in [each for each in c10d._world.pg_map if each not in self._members]:
            dist.destroy_process_group(group)
        # Groups of the next epoch get the names that they have in a newcomer.
        c10d._world.group_count = len(self._members)
        if self._is_connected:
            self._relay.current = dist.HashStore()
            self._be_alone()
            self._settled = 0
        c10d._update_default_pg(None)

    def settle(self) -> None:
        """Prepares the modules that there are for the next epoch, once. Errors: ValueError if one
        cannot be kept."""
        for each in self._modules[self._settled:]:
            module = each()
            if module is not None:
                _settle(module)
            self._settled += 1

    def attach(self, number: int, meeting: Meeting) -> None:
        """Connects the groups to those of the other ranks, in the epoch of this number. Errors:
        `NotMet`, and those of the store."""
        self._hook.remove()
        offers = meeting.exchange(_OFFER, {
            "torch": torch.__version__, "modules": len(self._living_modules()),
            "handles": [dist._get_reconfigure_handle(each) for each in self._members]})
        _check(offers)
        self._relay.current = meeting.store
        self._is_connected = True
        began, problem = time.monotonic(), ""
        try:
            self._connect(number, meeting, [each["handles"] for each in offers])
        except Exception as error:  # by whatever: the others have to know
            problem = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        results = meeting.exchange(_RESULT, {"problem": problem,
                                             "seconds": time.monotonic() - began})
        failed = [rank for rank, each in enumerate(results) if each["problem"]]
        if failed:
            # The others have waited for the one that failed first.
            first = min(failed, key=lambda rank: results[rank]["seconds"])
            raise NotMet(f"rank {first} could not connect its process groups "
                         f"({results[first]['problem']})")
        c10d._update_default_pg(self._default)  # whose rank it notes

    def broadcast_modules(self) -> None:
        """Gives the modules the parameters and buffers of rank 0, as DDP does when it is made."""
        for module in self._living_modules():
            dist.utils._sync_module_states(
                module.module, module.process_group, module.broadcast_bucket_size, 0,
                module.parameters_to_ignore, module.broadcast_buffers)

    def destroy(self) -> None:
        """Destroys all groups of this process."""
        self._hook.remove()
        if self.is_alive:
            c10d._update_default_pg(self._default)
            dist.destroy_process_group()

    # ---- parts -----------------------------------------------------------------------------------

    def _note_module(self, owner: Any, name: str, _: Any) -> None:
        if name == "module" and isinstance(owner, DistributedDataParallel):
            self._modules.append(weakref.ref(owner))

    def _living_modules(self) -> List[Any]:
        return [module for module in (each() for each in self._modules) if module is not None]

    def _be_alone(self) -> None:
        self._is_connected = False
        for group in self._members:
            self._isolate(group)

    def _isolate(self, group: Any) -> None:
        """Makes it a world of one, with a handle that no other process has: the number is in it."""
        number = int.from_bytes(os.urandom(8), "big") >> 1
        self._reconfigure(group, number, [dist._get_reconfigure_handle(group)], [0])

    def _connect(self, number: int, meeting: Meeting, handles: List[List[str]]) -> None:
        everybody = range(meeting.size)
        for at, (group, chosen) in enumerate(self._members.items()):
            ranks = everybody if chosen is None else [each for each in chosen if each in everybody]
            if meeting.rank in ranks:
                self._reconfigure(group, number, [handles[rank][at] for rank in ranks], ranks)

    @staticmethod
    def _reconfigure(group: Any, number: int, handles: List[str], ranks: Sequence[int]) -> None:
        dist._reconfigure(number, handles, group, datetime.timedelta(seconds=_CONNECT_SECONDS)
                          ).wait()
        c10d._world.pg_group_ranks[group] = {rank: at for at, rank in enumerate(ranks)}


def _check(offers: List[Dict[str, Any]]) -> None:
    for rank, offer in enumerate(offers):
        if "handles" not in offer:
            raise NotMet(f"rank {rank} cannot keep its process group (PyTorch {offer['torch']})")
    for what, counts in (("modules of DDP", [each["modules"] for each in offers]),
                         ("process groups", [len(each["handles"]) for each in offers])):
        for rank, count in enumerate(counts):
            if count != counts[0]:
                raise NotMet(f"the number of {what} outside of the function under survive.run is "
                             f"{count} in rank {rank} and {counts[0]} in rank 0")


def _settle(module: Any) -> None:
    """Brings DDP into the state in which a newcomer makes it. In its second iteration, DDP divides
    the gradients into other buckets, by the order in which they came; a newcomer would do that
    later than survivors, or divide them otherwise. So it is done here, with gradients of zero.

    Errors: ValueError if the module has a state of its own that a newcomer lacks.
    """
    parameters, are_sparse = module._build_params_for_reducer()
    for name, is_set in (("static_graph=True", module.static_graph),
                         ("a communication hook", bool(module._comm_hooks)),
                         ("sparse gradients", any(are_sparse)),
                         ("the Python reducer", module._use_python_reducer)):
        if is_set:
            raise ValueError(f"DDP with {name} cannot be kept outside of the function under "
                             f"survive.run: make it there, in each epoch")
    reducer = module.reducer
    reducer._reset_state()
    if module.find_unused_parameters:  # its buckets stay as they are
        return
    reducer.prepare_for_forward()
    reducer.prepare_for_backward([])
    with torch.enable_grad():
        for parameter in reversed(parameters):
            (parameter.reshape(-1)[:1].sum() * 0).backward()
    for parameter in parameters:
        parameter.grad = None
    reducer._rebuild_buckets()
