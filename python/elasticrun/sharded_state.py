# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""The commits of a sharded `survive.TorchState`, which lie in the vault (docs/survive.md).

A commit is the pickled tree of the state, and the tensors of this rank in the order of its slots.
"""

from __future__ import annotations

import pickle
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple

from elasticrun import vault
from elasticrun.torch_state import (
    TorchState, _advise_large_pages, _Copy, _name_of, _Slot, _slots)

__all__: List[str] = []

# In the place of a key, of an item that is no dict.
_WHOLE = "elasticrun.sharded_state.whole"


# The pickled parts of a tree, and what each part was, by its place.
_Packed = Dict[Tuple[str, Any, Any], Tuple[Any, bytes]]


def commit(live: _Copy, number: int, step: int, last: _Packed) -> _Packed:
    """Commits into the vault. `last` is the result of the last commit, of which parts that are
    still the same are used again: to pickle thousands of slots takes as long as to copy their
    tensors."""
    packed: _Packed = {}
    for place, part in _parts(live.tree):
        known = last.get(place)
        if known is None or not _are_equal(known[0], part):
            known = (part, pickle.dumps(part))
        packed[place] = known
    content = pickle.dumps((number, [(place, content) for place, (_, content) in packed.items()]))
    vault.save({"state": bytearray(content), "tensors": list(live.tensors.values())}, step)
    return packed


def _parts(tree: Any) -> Iterator[Tuple[Tuple[str, Any, Any], Any]]:
    """The parts of a state's tree, with their places: the values of dicts such as an optimizer's
    are parts of their own."""
    for kind, items in tree.items():
        for name, item in items.items():
            if type(item) is dict and item:
                yield from (((kind, name, key), part) for key, part in item.items())
            else:
                yield (kind, name, _WHOLE), item


def _tree_of(parts: Any) -> Any:
    tree: Any = {"items": {}, "random": {}}
    for (kind, name, key), content in parts:
        part = pickle.loads(content)
        if key == _WHOLE:
            tree[kind][name] = part
        else:
            tree[kind].setdefault(name, {})[key] = part
    return tree


def _are_equal(one: Any, other: Any) -> bool:
    try:
        return bool(one == other)
    except Exception:  # arrays and the like, which compare their elements
        return False


def restore(state: TorchState) -> bool:
    """Brings the state to the newest commit that all ranks have. `TorchState.restore` says more."""
    start = time.monotonic()
    content = vault.open_own()
    if content is None:
        return False
    try:
        saved = _read(content, state)
    except vault.VaultError as problem:
        vault.report_damage(problem)
        raise
    finally:
        content.close()
    number, copied = saved
    state._write(copied, is_own=True)
    state._commits = number
    vault.report_restored(time.monotonic() - start)
    return True


def _read(content: Any, state: TorchState) -> Tuple[int, _Copy]:
    """The number of the commit, and what it holds, in the tensors of the state where these fit."""
    head, *buffers = content.manifest.buffers
    if [key for key, _ in content.manifest.tree.get("d", [])] != ["state", "tensors"]:
        raise ValueError("the commit in memory is not one of a TorchState(sharded=True)")
    pickled = bytearray(head.bytes)
    content.read(head, memoryview(pickled))
    number, parts = pickle.loads(pickled)
    tree = _tree_of(parts)
    slots = list(_slots(tree))
    live = state._read()
    _compare(slots, {slot.path: slot for slot in _slots(live.tree)})
    tensors = {slot.path: _fill(content, buffer, slot, live.tensors.get(slot.path))
               for slot, buffer in zip(slots, buffers)}
    return number, _Copy(tree, tensors)


def _compare(saved: List[_Slot], live: Any) -> None:
    """Errors: ValueError if the state has another tensor in the place of a saved one."""
    for slot in saved:
        mine: Optional[_Slot] = live.get(slot.path)
        if mine is not None and mine[1:3] + mine[4:] != slot[1:3] + slot[4:]:
            raise ValueError(f"{_name_of(slot.path)} is {_text(mine)}, but in memory "
                             f"{_text(slot)}")


def _text(slot: _Slot) -> str:
    text = f"{list(slot.shape)} of {slot.dtype}"
    if slot.division is None:
        return text
    return f"{text}, a part of {list(slot.division.shape)} by {slot.division.placements}"


def _fill(content: Any, buffer: Any, slot: _Slot, live: Any) -> Any:
    """The saved tensor: the state's own one if it is on the CPU."""
    import torch
    is_live = live is not None and live.device.type == slot.device and vault.is_direct(live)
    tensor = live if is_live else torch.empty(slot.shape, dtype=slot.dtype)
    if buffer.bytes != tensor.numel() * tensor.element_size():
        raise ValueError(f"{_name_of(slot.path)} has {buffer.bytes} bytes in memory")
    if not is_live:
        _advise_large_pages(tensor.data_ptr(), buffer.bytes)
    content.read(buffer, vault.memory_of(tensor))
    return tensor
