# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""The training state that survivors keep in memory and send to a replaced rank (docs/survive.md).

Import it as `elasticrun.survive.TorchState`. This module imports torch only when a state is used.
"""

from __future__ import annotations

import copy
import ctypes
import math
import mmap
import os
import pickle
import random
import sys
from typing import (Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple,
                    cast)

__all__ = ["ShardedState", "TorchState"]

_Path = Tuple[Any, ...]
_PLAIN = (int, float, complex, str, bytes, bool, type(None))
_SHARDED = ("DTensor", "ShardedTensor", "FlatParameter")
# Parts whose tensors are flat pieces of many parameters, which nobody but they can put together.
_FLAT = {"FullyShardedDataParallel": "FSDP1", "DeepSpeedEngine": "DeepSpeed"}


# What `survive` does when a state commits that it does not give to newcomers.
tell_of_stray: Optional[Callable[[], None]] = None
# Called when GPUs have done their work. Raises if it may have failed without an exception.
raise_if_invalid: Optional[Callable[[], None]] = None


class ShardedState(TypeError):
    """A tensor of the state is only this rank's part, which no other rank could replace; or, in a
    sharded state, is divided in a way that this cannot restore."""


class StateLost(RuntimeError):
    """No remaining rank has the state of the training, which must start from its checkpoint."""


class _Division(NamedTuple):
    """How a tensor is divided among the ranks of a mesh."""

    shape: Tuple[int, ...]
    stride: Tuple[int, ...]
    placements: Tuple[Any, ...]


class _Slot(NamedTuple):
    """The place of a tensor in a copied tree; of a divided one, that of this rank's part."""

    path: _Path
    shape: Tuple[int, ...]
    dtype: Any
    device: str
    division: Optional[_Division] = None


class _Copy(NamedTuple):
    """A tree whose tensors have been taken out, and these by their paths."""

    tree: Any
    tensors: Dict[_Path, Any]


class TorchState:
    """The training state, by names: `TorchState(model=model, optimizer=optimizer, step=0)`.

    Takes modules (without their DDP wrapper), optimizers, schedulers, gradient scalers, anything
    else that has `state_dict` and `load_state_dict`, samplers with `set_epoch`, tensors, and plain
    values that can be pickled. Each is an attribute: `state.step += 1`. The random states of
    Python, of numpy if it is loaded, and of torch are part of every commit.

    The state must be the same on all ranks. A replaced rank gets all of it from another rank,
    including the random states.

    With `sharded`, each rank has its own part of the state (FSDP2, HSDP): its commits lie in the
    vault of its agent (`--vault-limit`), and all ranks restore the same one. The sharded module and
    its optimizer belong to the process groups of an epoch: make them in the function under
    `survive.run`, assign them to the state, and call `restore`.

    Errors: TypeError for a module that is wrapped in DDP.
    """

    _tree: Any
    _buffers: Dict[_Path, Any]
    _packed: Any
    _commits: int
    _copied: int

    def __init__(self, *, sharded: bool = False, **named: Any) -> None:
        for name, item in named.items():
            if type(item).__name__ == "DistributedDataParallel":
                raise TypeError(f"TorchState({name}=…) is wrapped in DistributedDataParallel, "
                                f"which is made again in each epoch: pass its module instead")
        self.__dict__["_items"] = dict(named)
        self.__dict__["_buffers"] = {}
        self.__dict__["_tree"] = None
        self.__dict__["_commits"] = 0
        self.__dict__["_copied"] = 0  # the commit that the buffers hold
        self.__dict__["_is_sharded"] = sharded
        self.__dict__["_packed"] = {}  # of a sharded state: what the last commit has pickled
        self.__dict__["_is_restored"] = False  # a sharded state in this epoch, or it need not be
        self.__dict__["_is_kept"] = True
        self.__dict__["_is_spoilt"] = False  # a transfer has begun to overwrite it
        self.__dict__["_before_commit"] = None
        self.__dict__["_after_commit"] = None

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_items"][name]
        except KeyError:
            raise AttributeError(f"this state has no {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:
            self.__dict__[name] = value
        else:
            self.__dict__["_items"][name] = value

    @property
    def commits(self) -> int:
        """How often the training has committed, including commits received from another rank; 0
        before the first."""
        return int(self.__dict__["_commits"])

    def commit(self) -> None:
        """Copies the state into memory, where it survives a change of the world. The first commit
        allocates the buffers, and later ones reuse them. Does nothing without an agent, or without
        `--on-failure replace`, because the copy would be useless.

        Of a sharded state, this rank's part is copied into the vault, where it also survives a
        restart of all ranks, so this needs no `--on-failure replace`. All ranks must commit equally
        often. A commit for which the vault has no room is skipped, as by `vault.save`.

        Errors: `survive.WorldChanged` if the epoch has ended, and RuntimeError if a collective has
        failed since the last commit: let them pass. The last commit then stays as it is.
        `ShardedState` if a tensor is sharded and the state is used without `survive.run`; of a
        sharded state, if it consists of FSDP1's or DeepSpeed's flat tensors, or if a sharded item
        was not assigned in the function under `survive.run`; ValueError if `restore` was not called
        there.
        """
        if self._before_commit is not None:
            self._before_commit()
        if self._is_kept:
            try:
                self._keep(self._commits + 1)
            except ShardedState as problem:
                if self._after_commit is None or self._is_sharded:
                    raise
                self._after_commit(problem)
                return
        if self._after_commit is not None:
            self._after_commit(None)
        elif tell_of_stray is not None:
            tell_of_stray()

    def restore(self) -> bool:
        """Restores the state of the last commit. Of a sharded state, this is the newest one that
        all ranks have; call it once in the function under `survive.run`, on all ranks, when the
        sharded items are assigned. It calls no collective.

        Result: false if there is none: the state is unchanged, and a sharded job begins from its
        checkpoint.
        Errors, all of a sharded state: ValueError if it has another tensor than the commit, or one
        of another type, shape or division: it is unchanged then; `vault.VaultError` if the memory
        is damaged, and OSError if the epoch ends: let them pass.
        """
        if self._is_sharded:
            from elasticrun import sharded_state
            self._is_restored = True
            return sharded_state.restore(self)
        if not self._copied:
            return False
        self._write(_Copy(self._tree, self._buffers))
        self._commits = self._copied
        return True

    # ---- the copy ----------------------------------------------------------------------------

    @property
    def _step(self) -> int:
        """The number that the training itself gives to its progress; else that of the commit."""
        step = self._items.get("step")
        is_number = isinstance(step, int) and not isinstance(step, bool) and step >= 0
        return int(step) if is_number else self.commits

    def _keep(self, number: int) -> None:
        if not self._is_sharded:
            self._copy_state(number)
            return
        from elasticrun import sharded_state
        if not self._is_restored:
            raise ValueError("TorchState(sharded=True) has to restore() before its first commit in "
                             "the function under survive.run: it may be older than other ranks'")
        live = self._read()
        if not self._copied:  # for the first time in this epoch
            self._refuse_shards_outside(live)
        self._validate({tensor.device for tensor in live.tensors.values() if tensor.is_cuda})
        self._packed = sharded_state.commit(live, number, self._step, self._packed)
        self._commits = self._copied = number

    def _begin_epoch(self) -> None:
        """Of a sharded state: keeps the items with which the script begins. They do not belong to
        an epoch."""
        if self._tree is None:
            self._refuse_shards_outside(self._read())
            self._copy_state(0)

    def _end_epoch(self) -> None:
        """Of a sharded state: lets the items of the epoch go, before its process groups are
        destroyed. The others are again as at the beginning."""
        if self._is_sharded and self._tree is not None:
            self._write(_Copy(self._tree, self._buffers))
            self._commits = self._copied = 0
            self._is_restored = False

    def _refuse_shards_outside(self, live: _Copy) -> None:
        outside = {} if self._tree is None else self._tree["items"]
        for slot in _slots(live.tree):
            name = slot.path[1]
            if slot.division and (self._tree is None or outside.get(name) is not None):
                raise ShardedState(f"{name} is sharded, and was in the state before the function "
                                   f"under survive.run: make it there, in each epoch")

    def _copy_state(self, number: int) -> None:
        """Keeps the state as it is now, as the commit of this number."""
        import torch
        live = self._read()
        devices = {tensor.device for tensor in live.tensors.values() if tensor.is_cuda}
        self._validate(devices)
        self._copied = 0
        with torch.no_grad():
            for path, tensor in live.tensors.items():
                buffer = self._buffers.get(path)
                if buffer is None or buffer.shape != tensor.shape or buffer.dtype != tensor.dtype:
                    buffer = self._buffers[path] = _new_buffer(tensor)
                buffer.copy_(tensor, non_blocking=True)
        for path in self._buffers.keys() - live.tensors.keys():
            del self._buffers[path]
        for device in devices:
            torch.cuda.synchronize(device)
        self._tree = live.tree
        self._commits = self._copied = number
        self._is_spoilt = False

    def _validate(self, devices: Iterable[Any]) -> None:
        """Raises if the work of these GPUs, which this waits for, has a wrong result. It must not
        take the place of the last commit."""
        import torch
        is_on_device = False
        for device in devices:
            torch.cuda.synchronize(device)
            is_on_device = True
        if is_on_device and raise_if_invalid is not None:
            raise_if_invalid()

    def _read(self) -> _Copy:
        """The state as it is now. The tensors are those that the training uses."""
        tensors: Dict[_Path, Any] = {}
        if self._is_sharded:
            for name, item in self._items.items():
                _prepare_shards(name, item)
        whole = {"items": {name: _read(item) for name, item in self._items.items()},
                 "random": _read_random()}
        return _Copy(_take_tensors(whole, (), tensors, self._is_sharded), tensors)

    def _write(self, saved: _Copy, is_own: bool = False) -> None:
        """`is_own`: the state may keep the tensors themselves."""
        import torch
        whole = _put_tensors(saved.tree, saved.tensors, is_own)
        with torch.no_grad():
            for name, tree in whole["items"].items():
                self._items[name] = _write(self._items.get(name), tree)
        for name in self._items.keys() - whole["items"].keys():
            del self._items[name]
        _write_random(whole["random"])

    def _committed_random(self) -> Dict[str, Any]:
        """The random states of the last commit; those of now if there is none."""
        if not self._copied:
            return _read_random()
        random_states = _put_tensors(self._tree["random"], self._buffers)
        return cast(Dict[str, Any], _merge(None, random_states))

    # ---- between ranks -----------------------------------------------------------------------

    def _send(self, receiver: int, device: Any) -> None:
        import torch
        content = pickle.dumps(self._tree)
        head = torch.frombuffer(bytearray(content), dtype=torch.uint8).to(device)
        _exchange("isend", [torch.tensor([head.numel()], device=device)], receiver)
        _exchange("isend", [head], receiver)
        # A part at a time: the GPU may have no room for a second copy of the state.
        for slots in _parts(self._tree):
            _exchange("isend", [_bytes_of(self._buffers[slot.path].to(device).contiguous())
                                for slot in slots], receiver)

    def _receive(self, source: int, device: Any) -> None:
        """Into the tensors of the training. The copy of an earlier commit stays as it is."""
        import torch
        devices = [device] if device.type == "cuda" else []
        size = torch.zeros(1, dtype=torch.int64, device=device)
        _exchange("irecv", [size], source)
        self._validate(devices)
        head = torch.empty(int(size.item()), dtype=torch.uint8, device=device)
        _exchange("irecv", [head], source)
        self._validate(devices)
        tree = pickle.loads(bytes(head.cpu().numpy()))
        self._is_spoilt = True
        live = self._read().tensors
        received: Dict[_Path, Any] = {}
        for slots in _parts(tree):
            for slot in slots:
                target = live.get(slot.path)
                if (target is None or tuple(target.shape) != slot.shape
                        or target.dtype != slot.dtype or target.device != device
                        or not target.is_contiguous()):
                    target = torch.empty(slot.shape, dtype=slot.dtype, device=device)
                received[slot.path] = target
            _exchange("irecv", [_bytes_of(received[slot.path]) for slot in slots], source)
        self._validate(devices)
        self._write(_Copy(tree, received))


_NO_STATE = -1


# A large page of x86-64, and of aarch64 with pages of 4 KiB.
_LARGE_PAGE_BYTES = 2 << 20

# How many bytes of the state are under way at a time, if no tensor alone is larger.
_PART_BYTES = 256 << 20


def _parts(tree: Any) -> Iterator[List[_Slot]]:
    """The same on both sides of a transfer. Tensors without elements are in no message."""
    part: List[_Slot] = []
    size = 0
    for slot in _slots(tree):
        part.append(slot)
        size += math.prod(slot.shape) * _bytes_of_element(slot.dtype)
        if size >= _PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _bytes_of_element(dtype: Any) -> int:
    import torch
    return torch.empty(0, dtype=dtype).element_size()


def _exchange(operation: str, tensors: List[Any], peer: int) -> None:
    """Sends the tensors to a rank, or receives them."""
    import torch.distributed as dist
    function = getattr(dist, operation)
    pieces = [tensor for tensor in tensors if tensor.numel()]
    if dist.get_backend() == "nccl" and pieces:
        # Over the connections that the group has: each pair of ranks would make its own else.
        works = dist.batch_isend_irecv([dist.P2POp(function, piece, peer) for piece in pieces])
    else:
        works = [function(piece, peer) for piece in pieces]
    for work in works:
        work.wait()


class _Rank(NamedTuple):
    """What a rank says of itself before states are given."""

    commits: int     # the newest commit that it has; 0: none, -1: no state
    is_new: int      # it was started for this epoch
    began_job: int   # it was started for the first epoch of the job
    node: int


def sync(state: Optional[TorchState], is_new: bool, began_job: bool,
         begin: Optional[Callable[[], None]] = None) -> bool:
    """Called by every rank of the default process group, with or without a state: those that lack
    the newest commit receive it, each from one that has it. If there is none, all call `begin` and
    commit what they have. For `survive` alone.

    Result: whether every rank has a state.
    """
    import torch
    import torch.distributed as dist
    device = _device_of_group(state)
    facts = torch.tensor(_Rank(_NO_STATE if state is None else state._copied, int(is_new),
                               int(began_job and not (state and state._is_spoilt)),
                               int(os.environ.get("GROUP_RANK", 0))),
                         device=device)
    gathered = [torch.empty_like(facts) for _ in range(dist.get_world_size())]
    dist.all_gather(gathered, facts)
    ranks = [_Rank(*each.tolist()) for each in gathered]
    newest = max(each.commits for each in ranks)
    if state is None:
        return False
    do_all_survive = all(each.commits != _NO_STATE for each in ranks)
    if state._is_sharded:
        state._begin_epoch()
        return do_all_survive
    if newest == 0:
        if not _is_at_beginning(ranks):
            raise StateLost("no rank that is left has a committed state: the job has to start "
                            "from its last checkpoint")
        if begin is not None:
            begin()
        state._copy_state(1)  # so that a change before the first commit begins here again
    for source, receiver in _transfers([each.commits for each in ranks],
                                       [each.node for each in ranks]):
        if dist.get_rank() == source:
            state._send(receiver, device)
        elif dist.get_rank() == receiver:
            state._receive(source, device)
            # Before the training changes it: from here on this rank can give it, too.
            state._copy_state(newest)
    return do_all_survive


def _is_at_beginning(ranks: List[_Rank]) -> bool:
    """Whether the state of ranks without any commit is the one that the script has made: all were
    started at the same time, or nobody can have trained yet, since a rank that has been there from
    the first epoch on has never got so far."""
    return all(each.is_new for each in ranks) or any(
        each.began_job and each.commits == 0 for each in ranks)


def _transfers(commits: List[int], nodes: List[int]) -> Iterator[Tuple[int, int]]:
    """Who sends to whom: each rank that lacks the newest commit receives it from one that has it,
    of its own node if there is one, and the load is spread."""
    newest = max(commits)
    sent = {rank: 0 for rank, copied in enumerate(commits) if copied == newest}
    for receiver, copied in enumerate(commits):
        if copied not in (newest, _NO_STATE):
            source = min(sent, key=lambda rank: (nodes[rank] != nodes[receiver], sent[rank], rank))
            sent[source] += 1
            yield source, receiver


def _device_of_group(state: Optional[TorchState]) -> Any:
    import torch
    import torch.distributed as dist
    return cuda_device(state) if dist.get_backend() == "nccl" else torch.device("cpu")


def cuda_device(state: Optional[TorchState]) -> Any:
    """The GPU of this rank: the one that its group is bound to, or its state lies on, or the
    current one."""
    import torch
    import torch.distributed as dist
    bound = getattr(dist.group.WORLD, "bound_device_id", None)
    if bound is not None:
        return bound
    tensors = state._read().tensors.values() if state is not None else []
    return next((tensor.device for tensor in tensors if tensor.is_cuda),
                torch.device("cuda", torch.cuda.current_device()))


# ---- trees: what state_dict returns, and plain values -------------------------------------------


def _take_tensors(tree: Any, path: _Path, tensors: Dict[_Path, Any],
                  takes_shards: bool = False) -> Any:
    """A copy of the tree with a slot in the place of each tensor, which goes to `tensors`; of a
    DTensor, this rank's part, if they are taken."""
    if isinstance(tree, sys.modules["torch"].Tensor):
        is_sharded = type(tree).__name__ in _SHARDED
        division = _division_of(tree, path, takes_shards) if is_sharded else None
        tensor = _part_of(tree) if is_sharded else tree.detach()
        tensors[path] = tensor
        return _Slot(path, tuple(tensor.shape), tensor.dtype, tensor.device.type, division)
    if isinstance(tree, _PLAIN):
        return tree
    if isinstance(tree, dict):
        copied = {key: _take_tensors(each, path + (key,), tensors, takes_shards)
                  for key, each in tree.items()}
        return _like(tree, copied)
    if type(tree) in (list, tuple):
        return type(tree)([_take_tensors(each, path + (at,), tensors, takes_shards)
                           for at, each in enumerate(tree)])
    return copy.deepcopy(tree)


def _name_of(path: _Path) -> str:
    return ".".join(str(part) for part in path[1:])


def _division_of(tensor: Any, path: _Path, takes_shards: bool) -> _Division:
    kind = type(tensor).__name__
    if not takes_shards or kind != "DTensor":
        raise ShardedState(f"{_name_of(path)} is sharded ({kind})")
    return _Division(tuple(tensor.shape), tuple(tensor.stride()), tuple(tensor.placements))


def _part_of(tensor: Any) -> Any:
    """The tensor without its history; of a DTensor, this rank's part of it."""
    import torch
    if type(tensor).__name__ == "DTensor" and hasattr(tensor, "to_local"):
        with torch.no_grad():  # which spares it a function of autograd
            return tensor.to_local().detach()
    return tensor.detach()


def _put_tensors(tree: Any, tensors: Dict[_Path, Any], is_own: bool = False) -> Any:
    if isinstance(tree, _Slot):
        return _OnDevice(tensors[tree.path], tree.device, tree.division, is_own)
    if isinstance(tree, dict):
        return _like(tree, {key: _put_tensors(each, tensors, is_own)
                            for key, each in tree.items()})
    if type(tree) in (list, tuple):
        return type(tree)([_put_tensors(each, tensors, is_own) for each in tree])
    return tree


def _like(tree: Dict[Any, Any], copied: Dict[Any, Any]) -> Dict[Any, Any]:
    """Keeps the type of an ordered or default dictionary."""
    if type(tree) is dict:
        return copied
    other = copy.copy(tree)
    other.clear()
    other.update(copied)
    return other


def _slots(tree: Any) -> Iterator[_Slot]:
    if isinstance(tree, _Slot):
        yield tree
    elif isinstance(tree, dict):
        for each in tree.values():
            yield from _slots(each)
    elif type(tree) in (list, tuple):
        for each in tree:
            yield from _slots(each)


class _OnDevice(NamedTuple):
    """A tensor that was copied, and the kind of device that it was on."""

    tensor: Any
    device: str
    division: Optional[_Division]
    is_own: bool

    def make(self, mesh: Any) -> Any:
        """A tensor of its own, as it was; a DTensor on this mesh."""
        part = self.tensor
        if self.device != part.device.type:
            part = part.to(self.device)
        elif not self.is_own:
            part = part.clone()
        if self.division is None:
            return part
        if mesh is None:
            raise ValueError("the committed state has a sharded tensor for which the state has "
                             "none: make it before the state is restored")
        import torch
        from torch.distributed.tensor import DTensor
        shape, stride, placements = self.division
        return DTensor.from_local(part, mesh, placements, run_check=False, shape=torch.Size(shape),
                                  stride=stride)


def _merge(live: Any, saved: Any, mesh: Any = None) -> Any:
    """The saved value. Tensors that are there and fit are kept, and get the saved values."""
    import torch
    if isinstance(saved, _OnDevice):
        is_divided = type(live).__name__ == "DTensor"
        part = _part_of(live) if isinstance(live, torch.Tensor) else None
        if (part is not None and is_divided == (saved.division is not None)
                and part.shape == saved.tensor.shape and part.dtype == saved.tensor.dtype
                and part.device.type == saved.device):
            if part.data_ptr() != saved.tensor.data_ptr() or part.numel() == 0:
                part.copy_(saved.tensor)
            return live
        return saved.make(mesh)
    if isinstance(saved, dict):
        old = live if isinstance(live, dict) else {}
        return _like(saved, {key: _merge(old.get(key), each, mesh) for key, each in saved.items()})
    if type(saved) in (list, tuple):
        olds = live if isinstance(live, (list, tuple)) and len(live) == len(saved) else None
        return type(saved)([_merge(olds[at] if olds is not None else None, each, mesh)
                            for at, each in enumerate(saved)])
    return saved if isinstance(saved, _PLAIN) else copy.deepcopy(saved)


def _new_buffer(tensor: Any) -> Any:
    import torch
    if tensor.is_cuda:
        return torch.empty_like(tensor, device="cpu", pin_memory=True)
    buffer = torch.empty_like(tensor)
    _advise_large_pages(buffer.data_ptr(), buffer.numel() * buffer.element_size())
    return buffer


def _advise_large_pages(address: int, size: int) -> None:
    """The first touch of a page costs more than a copy into it: with large ones, the first commit
    takes a third of the time. It is advice, which the kernel may refuse."""
    if size < _LARGE_PAGE_BYTES:
        return
    begin = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (address + size) // mmap.PAGESIZE * mmap.PAGESIZE
    ctypes.CDLL(None).madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin),
                              ctypes.c_int(mmap.MADV_HUGEPAGE))


def _bytes_of(tensor: Any) -> Any:
    """The same memory, as the collectives take any of it."""
    import torch
    return tensor.detach().reshape(-1).view(torch.uint8)


# ---- what each kind of item consists of ---------------------------------------------------------


def _bare(module: Any) -> Any:
    """A compiled module shares its parameters with the original one."""
    return getattr(module, "_orig_mod", module)


def _is_module(item: Any) -> bool:
    import torch
    return isinstance(item, torch.nn.Module)


def _is_plain_optimizer(item: Any) -> bool:
    """Whether its state is where torch's own optimizers have it."""
    import torch
    base = torch.optim.Optimizer
    return isinstance(item, base) and type(item).state_dict is base.state_dict


def _has_state_dict(item: Any) -> bool:
    return hasattr(item, "state_dict") and hasattr(item, "load_state_dict")


def _prepare_shards(name: str, item: Any) -> None:
    """Makes the tensors of a module this rank's parts, as they are between two steps.

    Errors: ShardedState if they are flat pieces of many.
    """
    fsdp = getattr(sys.modules.get("torch.distributed.fsdp"), "FSDPModule", None)
    parts = [item, *(_bare(item).modules() if _is_module(item) else ())]
    for part in parts:
        kind = type(part).__name__
        owner = _FLAT.get(kind) or ("DeepSpeed" if kind.startswith("DeepSpeed") else None)
        if owner is not None:
            raise ShardedState(f"{name} consists of the flat tensors of {owner} ({kind}), which "
                               f"only {owner} itself can restore")
        if fsdp is not None and isinstance(part, fsdp):
            cast(Any, part).reshard()  # a forward without a backward leaves it whole


def _is_sampler(item: Any) -> bool:
    return hasattr(item, "set_epoch") and hasattr(item, "epoch")


def _extras(module: Any) -> Iterator[Tuple[str, Any]]:
    """The parts of a module that have a state besides tensors."""
    import torch
    for name, part in module.named_modules():
        if type(part).get_extra_state is not torch.nn.Module.get_extra_state:
            yield name, part


def _tensors_of(module: Any) -> Dict[str, Any]:
    tensors = dict(module.named_parameters())
    tensors.update(module.named_buffers())
    return tensors


def _read(item: Any) -> Any:
    if _is_module(item):
        module = _bare(item)
        return {"tensors": _tensors_of(module),
                "extras": {name: part.get_extra_state() for name, part in _extras(module)}}
    if _has_state_dict(item):
        return item.state_dict()
    if _is_sampler(item):
        return item.epoch
    return item


def _write(item: Any, saved: Any) -> Any:
    """Result: what the item is from now on."""
    if _is_module(item):
        _write_module(_bare(item), saved)
    elif _is_plain_optimizer(item):
        _write_optimizer(item, saved)
    elif _has_state_dict(item):
        item.load_state_dict(_merge(None, saved))
    elif _is_sampler(item):
        item.set_epoch(saved)
    else:
        return _merge(item, saved)
    return item


def _write_module(module: Any, saved: Any) -> None:
    live = _tensors_of(module)
    if live.keys() != saved["tensors"].keys():
        different = sorted(live.keys() ^ saved["tensors"].keys())
        raise ValueError(f"the module differs from that of the committed state in {different[0]!r}")
    for name, tensor in saved["tensors"].items():
        if _merge(live[name], tensor) is not live[name]:
            raise ValueError(f"{name!r} has another shape or type in the committed state")
    for name, part in _extras(module):
        part.set_extra_state(_merge(None, saved["extras"][name]))


def _write_optimizer(optimizer: Any, saved: Any) -> None:
    """By hand: load_state_dict would copy every tensor into a new one."""
    groups, saved_groups = optimizer.param_groups, saved["param_groups"]
    if [len(group["params"]) for group in groups] != [len(each["params"]) for each in saved_groups]:
        raise ValueError("the optimizer has other parameters than that of the committed state")
    by_number: Dict[int, Any] = {}
    for group, saved_group in zip(groups, saved_groups):
        by_number.update(zip(saved_group["params"], group["params"]))
        group.update({key: _merge(group.get(key), value)
                      for key, value in saved_group.items() if key != "params"})
    state = {by_number.get(key, key): value for key, value in saved["state"].items()}
    for key in [key for key in optimizer.state if key not in state]:
        del optimizer.state[key]
    for key, value in state.items():
        # The moments of a new optimizer are divided as its parameters are.
        mesh = getattr(key, "device_mesh", None)
        optimizer.state[key] = _merge(optimizer.state.get(key), value, mesh)


# ---- random states ------------------------------------------------------------------------------


def _read_random() -> Dict[str, Any]:
    import torch
    states: Dict[str, Any] = {"python": pickle.dumps(random.getstate()),
                              "torch": torch.get_rng_state()}
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        states["numpy"] = pickle.dumps(numpy.random.get_state())
    if torch.cuda.is_available() and torch.cuda.is_initialized():
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def _write_random(saved: Dict[str, Any]) -> None:
    import torch
    random.setstate(pickle.loads(saved["python"]))
    torch.set_rng_state(_merge(None, saved["torch"]))
    if "numpy" in saved and "numpy" in sys.modules:
        sys.modules["numpy"].random.set_state(pickle.loads(saved["numpy"]))
    if "cuda" in saved and torch.cuda.is_available():
        torch.cuda.set_rng_state(_merge(None, saved["cuda"]))
