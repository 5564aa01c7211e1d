# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""The vault as a storage of torch.distributed.checkpoint (docs/vault.md).

Use it by `elasticrun.vault.writer` and `elasticrun.vault.reader`. This module imports torch.
"""

from __future__ import annotations

import io
import math
import os
import time
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import torch
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner
from torch.distributed.checkpoint.metadata import (
    BytesStorageMetadata, ChunkStorageMetadata, Metadata, MetadataIndex, TensorProperties,
    TensorStorageMetadata)
from torch.distributed.checkpoint.planner import (
    LoadItemType, LoadPlan, LoadPlanner, SavePlan, SavePlanner, WriteItemType)
from torch.distributed.checkpoint.storage import StorageReader, StorageWriter, WriteResult
from torch.futures import Future

from elasticrun import vault

__all__ = ["Reader", "Writer"]

_Path = Union[str, "os.PathLike[str]", None]


def _done(value: Any) -> Any:
    future: Future[Any] = Future()
    future.set_result(value)
    return future


class Writer(StorageWriter):
    """Commits what one `dcp.save` or `dcp.async_save` writes. A commit that the agent refuses is
    skipped, as by `vault.save`; `kept` says so afterwards.

    For `dcp.async_save` it is also the AsyncStager: the commit is complete when that returns, so
    the state is copied once, and the save in the background has nothing to write.
    """

    # Those of AsyncStager, which is a protocol.
    _synchronize_after_execute = False
    should_synchronize_after_execute = False

    def __init__(self, step: int) -> None:
        self.step = step
        self.kept = False
        self._is_staged = False

    def stage(self, state_dict: Dict[str, Any]) -> Dict[str, Any]:
        """Commits the part of this rank. Of what several ranks have, each commits its own."""
        planner = DefaultSavePlanner()
        planner.set_up_planner(state_dict, is_coordinator=True)
        self._commit(planner.create_local_plan(), planner)
        self._is_staged = True
        return state_dict

    def synchronize_staging(self) -> None:
        pass

    def close(self) -> None:
        pass

    def reset(self, checkpoint_id: _Path = None) -> None:
        pass

    def set_up_storage_writer(self, is_coordinator: bool, *args: Any, **kwargs: Any) -> None:
        pass

    def prepare_local_plan(self, plan: SavePlan) -> SavePlan:
        return plan

    def prepare_global_plan(self, plans: List[SavePlan]) -> List[SavePlan]:
        return plans

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Any:
        """The commit of this rank: `finish`, which only one rank calls, has nothing left to do."""
        if not self._is_staged:
            self._commit(plan, planner)
        self._is_staged = False
        # Sizes are for `finish`, which does not ask for them.
        return _done([WriteResult(index=item.index, size_in_bytes=0, storage_data=None)
                      for item in plan.items])

    def _commit(self, plan: SavePlan, planner: SavePlanner) -> None:
        entries: List[List[Any]] = []
        for item in plan.items:
            data: Any = planner.resolve_data(item)
            if item.type == WriteItemType.BYTE_IO:
                entries.append([item.index.fqn, bytearray(data.getbuffer())])
            else:
                part: Any = item.tensor_data
                entries.append([item.index.fqn, list(part.size), list(part.chunk.offsets),
                                data.detach()])
        self.kept = vault.save({"storage": entries}, self.step)

    def finish(self, metadata: Metadata, results: List[List[WriteResult]]) -> None:
        pass

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: _Path) -> bool:
        return checkpoint_id is None


class _Part(NamedTuple):
    """A chunk of a tensor, or an object, in the commit of a rank."""

    rank: int
    buffer: Any


class Reader(StorageReader):
    """Reads the generation that the workers restore, whichever rank has written what. `step` is
    that of its commit."""

    def __init__(self, found: vault.Found) -> None:
        self.step = found.step
        self._world_size = found.world_size
        self._contents: Dict[int, Any] = {}
        self._parts: Dict[MetadataIndex, _Part] = {}

    def reset(self, checkpoint_id: _Path = None) -> None:
        pass

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """The union of what all ranks have written; of what several have, the own part counts."""
        own = int(os.environ.get("RANK", 0)) % self._world_size
        known: Dict[str, Any] = {}
        self._parts = {}
        for rank in [own, *(each for each in range(self._world_size) if each != own)]:
            for entry, buffers in vault.storage_entries(self._content(rank)):
                self._add(known, rank, entry, buffers)
        for name, each in known.items():
            if isinstance(each, TensorStorageMetadata):
                _check_cover(name, each)
        return Metadata(state_dict_metadata=known)

    def _content(self, rank: int) -> Any:
        if rank not in self._contents:
            self._contents[rank] = vault.open_part(rank)
        return self._contents[rank]

    def _add(self, known: Dict[str, Any], rank: int, entry: List[Any], buffer: Any) -> None:
        name, *place = entry
        if not place:
            known.setdefault(name, BytesStorageMetadata())
            self._parts.setdefault(MetadataIndex(name), _Part(rank, buffer))
            return
        size, offsets = place
        chunk = ChunkStorageMetadata(torch.Size(offsets), torch.Size(buffer.shape))
        index = MetadataIndex(name, chunk.offsets)
        if index in self._parts:
            return
        self._parts[index] = _Part(rank, buffer)
        if name not in known:
            properties = TensorProperties(dtype=vault.dtype_named(buffer.dtype))
            known[name] = TensorStorageMetadata(properties, torch.Size(size), [])
        known[name].chunks.append(chunk)

    def set_up_storage_reader(self, metadata: Metadata, is_coordinator: bool, *args: Any,
                              **kwargs: Any) -> None:
        if not self._parts:
            self.read_metadata()

    def prepare_local_plan(self, plan: LoadPlan) -> LoadPlan:
        return plan

    def prepare_global_plan(self, plans: List[LoadPlan]) -> List[LoadPlan]:
        return plans

    def read_data(self, plan: LoadPlan, planner: LoadPlanner) -> Any:
        start = time.monotonic()
        try:
            for item in plan.items:
                part = self._parts[item.storage_index]
                if item.type == LoadItemType.BYTE_IO:
                    content = bytearray(part.buffer.bytes)
                    self._content(part.rank).read(part.buffer, memoryview(content))
                    planner.load_bytes(item, io.BytesIO(content))
                    continue
                target = planner.resolve_tensor(item).detach()
                self._read_tensor(part, item, target)
                planner.commit_tensor(item, target)
        except vault.VaultError as problem:
            vault.report_damage(problem)
            raise
        finally:
            for content in self._contents.values():
                content.close()
            self._contents = {}
        vault.report_restored(time.monotonic() - start)
        return _done(None)

    def _read_tensor(self, part: _Part, item: Any, target: torch.Tensor) -> None:
        shape = part.buffer.shape
        is_whole = list(item.lengths) == shape
        if is_whole and vault.is_direct(target) and target.element_size() * target.numel() == (
                part.buffer.bytes) and target.dtype == vault.dtype_named(part.buffer.dtype):
            self._content(part.rank).read(part.buffer, vault.memory_of(target))
            return
        chunk = torch.empty(shape, dtype=vault.dtype_named(part.buffer.dtype))
        self._content(part.rank).read(part.buffer, vault.memory_of(chunk))
        for dimension, (offset, length) in enumerate(zip(item.storage_offsets, item.lengths)):
            chunk = chunk.narrow(dimension, offset, length)
        target.copy_(chunk)

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id: _Path) -> bool:
        return checkpoint_id is None


def _check_cover(name: str, tensor: TensorStorageMetadata) -> None:
    """Errors: VaultError if the chunks are not the whole tensor."""
    present = sum(math.prod(chunk.sizes) for chunk in tensor.chunks)
    if present != math.prod(tensor.size):
        raise vault.VaultError(f"{name} has {math.prod(tensor.size)} elements, of which the ranks "
                               f"have {present} in memory")
