# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Keeps a worker's state in memory of its agent, where it survives the worker (docs/vault.md).

    from elasticrun import vault

    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    start = vault.load(state)                    # None: nothing is there, use the checkpoint
    if start is not None:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
    for step in range(start or 0, steps):
        train(step)
        if (step + 1) % 10 == 0:
            vault.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, step + 1)

Without PyTorch, commit named buffers:

    vault.commit({"w": array}, step)
    if (found := vault.newest()) is not None:
        vault.read("w", out=array)
        step = found.step

It needs `elasticrun --vault-limit`. Without it, or when the agent has no memory left, nothing is
kept, and `save` and `commit` return False. Every rank has to commit the same number of times: the
agent numbers the calls, and workers restore the newest number that all ranks have. No function
calls a collective. Needs Python 3.8; torch is used if the script has imported it.

Thread-safety: any thread, one call at a time.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import json
import math
import mmap
import operator
import os
import pickle
import re
import socket
import struct
import sys
import threading
import time
import zlib
from typing import (TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, MutableMapping, NamedTuple,
                    Optional, Sequence, Tuple)

if TYPE_CHECKING:
    from elasticrun.vault_storage import Reader, Writer

__all__ = ["Found", "VaultError", "commit", "load", "newest", "read", "reader", "save", "writer"]

_HEADER_BYTES = 4096
_MANIFEST_BYTES = 64 << 20
_PACKET_BYTES = 4096
_MAGIC = b"ELVAULT\n"
_VERSION = 1
_VALID = 0x76616C6964
_HEAD = struct.Struct("<8sQQqqqIIQQI")
_ALIGNMENT = 64
_PAGE_BYTES = 4096
# An agent that answers later than this stands still.
_ANSWER_SECONDS = 60.0
# Buffers are copied and checked in pieces that stay in the processor's cache.
_PIECE_BYTES = 1 << 20
# Of a buffer as large as this, numpy's sums are checked in the place of all bytes.
_SUMMED_BYTES = 1 << 16
_SUMMED = "s"
_CHECK_CHARACTERS = 9
_WORD_BYTES = 8
_ROW_WORDS = 512

_Fields = Dict[str, Any]


class VaultError(RuntimeError):
    """The state in memory does not fit the script, or is damaged. The worker should end: all ranks
    then restart, and restore an earlier generation if this one is damaged."""


class Found(NamedTuple):
    """The generation that this job restores."""

    epoch: int
    generation: int
    step: int
    world_size: int


class _Refused(Exception):
    """A commit is skipped, for this reason."""


# ---- what a slot holds ---------------------------------------------------------------------------


class _Header(NamedTuple):
    epoch: int
    generation: int
    step: int
    rank: int
    world_size: int
    data_bytes: int
    manifest_bytes: int
    manifest_check: int

    def pack(self) -> bytes:
        head = _HEAD.pack(_MAGIC, _VERSION, _VALID, *self)
        head = head.ljust(_HEADER_BYTES - 4, b"\0")
        return head + struct.pack("<I", zlib.crc32(head))


def _unpack(head: bytes, file_bytes: int) -> _Header:
    """Errors: VaultError if it is not the header of a whole commit."""
    if len(head) != _HEADER_BYTES or file_bytes < _HEADER_BYTES:
        raise VaultError("the slot is too short")
    magic, version, state, *rest = _HEAD.unpack_from(head)
    if magic != _MAGIC or version != _VERSION or state != _VALID:
        raise VaultError("the slot has no commit")
    if struct.unpack_from("<I", head, _HEADER_BYTES - 4)[0] != zlib.crc32(head[:-4]):
        raise VaultError("the header has another checksum")
    header = _Header(*rest)
    room = file_bytes - _HEADER_BYTES
    if not 0 < header.manifest_bytes <= min(room, _MANIFEST_BYTES):
        raise VaultError(f"the manifest has {header.manifest_bytes} bytes")
    if header.data_bytes > room - header.manifest_bytes:
        raise VaultError(f"the data have {header.data_bytes} bytes, more than the slot")
    return header


class _Buffer:
    """A buffer of a commit: its place, its checksum, and its type."""

    __slots__ = ("bytes", "check", "dtype", "kind", "like", "name", "place", "shape", "source",
                 "_start")

    def __init__(self, name: str, kind: str, size: int, dtype: str = "",
                 shape: Optional[List[int]] = None, place: int = 0, check: str = "0" * 8) -> None:
        self.name = name
        self.kind = kind  # tensor, shard, array, bytes or object
        self.bytes = size
        self.dtype = dtype
        self.shape = shape or []
        self.place = place
        self.check = check
        self.source: Any = None
        # Of a tensor: what the next one of this name has to be for this to describe it.
        self.like: Any = None
        self._start: Tuple[int, str] = (-1, "")  # the row up to the checksum, for this place

    def row(self) -> str:
        place, start = self._start
        if place != self.place:
            known = [self.name, self.kind, self.dtype, self.shape, self.place, self.bytes]
            start = json.dumps(known, separators=(",", ":"))[:-1] + ',"'
            self._start = (self.place, start)
        return f'{start}{self.check}"]'


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def _read_buffer(row: Any, data_bytes: int) -> _Buffer:
    """Errors: VaultError if it is not that of a buffer within the data."""
    if not isinstance(row, list) or len(row) != 7:
        raise VaultError("a buffer of the manifest is no list of seven values")
    name, kind, dtype, shape, place, size, check = row
    if not all(isinstance(text, str) for text in (name, kind, dtype, check)):
        raise VaultError("a buffer of the manifest has a name, kind or type that is no text")
    if not _is_count(place) or not _is_count(size) or place + size > data_bytes:
        raise VaultError(f"buffer {name!r} does not lie in the data")
    if not isinstance(shape, list) or not all(_is_count(length) for length in shape):
        raise VaultError(f"buffer {name!r} has no shape")
    return _Buffer(name, kind, size, dtype, shape, place, check)


class _Manifest(NamedTuple):
    tree: Any
    buffers: List[_Buffer]

    def tree_text(self) -> str:
        return json.dumps(self.tree, separators=(",", ":"))

    def pack(self, tree_text: str) -> bytes:
        rows = ",".join([buffer.row() for buffer in self.buffers])
        return f'{{"tree":{tree_text},"buffers":[{rows}]}}'.encode()


def _read_manifest(text: bytes, data_bytes: int) -> _Manifest:
    """Errors: VaultError if it is not the manifest of a commit."""
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        raise VaultError("the manifest is no JSON") from None
    if not isinstance(fields, dict) or not isinstance(fields.get("buffers"), list):
        raise VaultError("the manifest lists no buffers")
    buffers = [_read_buffer(row, data_bytes) for row in fields["buffers"]]
    names = {buffer.name for buffer in buffers}
    if len(names) != len(buffers):
        raise VaultError("the manifest has a name twice")
    end = 0
    for buffer in sorted(buffers, key=lambda each: (each.place, each.bytes)):
        if buffer.place < end:
            raise VaultError(f"buffer {buffer.name!r} overlaps another")
        end = buffer.place + buffer.bytes
    try:
        _check_tree(fields.get("tree"), len(buffers))
    except RecursionError:
        raise VaultError("the tree of the manifest is too deep") from None
    return _Manifest(fields.get("tree"), buffers)


def _check_tree(node: Any, buffers: int) -> None:
    """Errors: VaultError if it is no tree over so many buffers."""
    if not isinstance(node, dict) or len(node) != 1:
        raise VaultError("a node of the manifest's tree is no object of one field")
    (kind, content), = node.items()
    if kind in ("l", "t") and isinstance(content, list):
        for child in content:
            _check_tree(child, buffers)
    elif kind == "d" and isinstance(content, list):
        for pair in content:
            if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) not in (str, int):
                raise VaultError("an entry of the manifest's tree is no key with a value")
            _check_tree(pair[1], buffers)
    elif not (kind == "b" and _is_count(content) and content < buffers
              or kind == "f" and content in ("nan", "inf", "-inf")
              or kind == "v" and type(content) in _PLAIN):
        raise VaultError(f"a node of the manifest's tree has the unknown field {kind!r}")


# ---- trees: what state_dict returns --------------------------------------------------------------

_PLAIN = (bool, int, float, str, type(None))


def _torch() -> Any:
    return sys.modules.get("torch")


def _is_tensor(value: Any) -> bool:
    torch = _torch()
    return torch is not None and isinstance(value, torch.Tensor)


def _is_shard(tensor: Any) -> bool:
    return type(tensor).__name__ == "DTensor"


def _local(tensor: Any) -> Any:
    """The part of a tensor that this rank has, without its history."""
    return (tensor.to_local() if _is_shard(tensor) else tensor).detach()


_dtype_texts: Dict[Any, str] = {}


def _dtype_text(tensor: Any) -> str:
    """The type; of a shard, also the whole shape and how it is divided."""
    text = _dtype_texts.get(tensor.dtype) or _dtype_texts.setdefault(tensor.dtype,
                                                                     str(tensor.dtype))
    if _is_shard(tensor):
        text += f" of {list(tensor.shape)} {tuple(tensor.placements)}"
    return text


def _is_array(value: Any) -> bool:
    """Whether it is an array of numpy whose bytes are its elements. One of another class, such as a
    masked one, has more."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray and value.dtype.kind in "biufcmMSU"


def _memory_type(value: Any) -> Optional[Tuple[str, List[int]]]:
    """The type and the shape of an object that lets others write its memory; None: it does not."""
    if _is_array(value):
        dtype = value.dtype
        is_native = dtype.isnative and dtype.kind in "biuf"
        text = dtype.char if is_native else dtype.str
        return (text, list(value.shape)) if value.flags.writeable else None
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return None
    try:
        view = memoryview(value)
    except (TypeError, ValueError, BufferError):
        return None
    if view.readonly or not view.c_contiguous:
        return None
    return view.format, list(view.shape or ())


def _memory(value: Any) -> memoryview:
    """The bytes of such an object; of an array whose elements do not lie one after the other, those
    of a copy."""
    if _is_array(value):
        numpy = sys.modules["numpy"]
        value = numpy.ascontiguousarray(value).reshape(-1).view(numpy.uint8)
    view = memoryview(value)
    return view.cast("B") if view.nbytes else memoryview(bytearray())


def _new_array(buffer: _Buffer) -> Any:
    """An array for a buffer in the place of which the state has nothing.

    Errors: VaultError if none can be made.
    """
    if buffer.kind == "bytes":
        return bytearray(buffer.bytes)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        with contextlib.suppress(TypeError, ValueError):
            made = numpy.empty(buffer.shape, numpy.dtype(buffer.dtype))
            if made.nbytes == buffer.bytes:
                return made
    elif len(buffer.shape) == 1 and buffer.dtype in array.typecodes:
        return array.array(buffer.dtype, bytes(buffer.bytes))
    raise VaultError(f"{buffer.name} is an array of type {buffer.dtype} and shape {buffer.shape}, "
                     f"and the state has none for it")


def _take(value: Any, name: str, buffers: List[_Buffer], last: Sequence[_Buffer] = ()) -> Any:
    """A tree of JSON for a value, whose tensors, arrays and other objects go to `buffers`. Those of
    the `last` commit are used again where they describe the same."""
    if type(value) in _PLAIN and not _is_long(value):
        is_number = isinstance(value, float) and not math.isfinite(value)
        return {"f": repr(value)} if is_number else {"v": value}
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        place = len(buffers)
        buffers.append(_tensor_buffer(value, name, last[place] if place < len(last) else None))
        return {"b": place}
    if isinstance(value, Mapping) and all(type(key) in (str, int) and not _is_long(key)
                                          for key in value):
        return {"d": [[key, _take(each, f"{name}.{key}" if name else str(key), buffers, last)]
                      for key, each in value.items()]}
    if type(value) in (list, tuple):
        kind = "l" if isinstance(value, list) else "t"
        return {kind: [_take(each, f"{name}.{index}", buffers, last)
                       for index, each in enumerate(value)]}
    buffers.append(_buffer_of(value, name))
    return {"b": len(buffers) - 1}


def _tensor_buffer(value: Any, name: str, last: Optional[_Buffer]) -> _Buffer:
    is_shard = type(value).__name__ == "DTensor"
    tensor = value.to_local().detach() if is_shard else value.detach()
    if tensor.layout is not _torch().strided or tensor.is_quantized or tensor.is_meta:
        raise _Refused(f"{name} is no plain tensor ({tensor.layout}, {tensor.dtype}, "
                       f"{tensor.device})")
    like = None if is_shard else (name, tensor.dtype, tensor.shape)
    if last is None or like is None or last.like != like:
        last = _Buffer(name, "shard" if is_shard else "tensor",
                       tensor.numel() * tensor.element_size(), _dtype_text(value),
                       list(tensor.shape))
        last.like = like
    last.source = tensor
    return last


def _is_long(value: Any) -> bool:
    """Whether it is a number that readers of JSON may refuse."""
    return type(value) is int and value.bit_length() > 63


def _buffer_of(value: Any, name: str) -> _Buffer:
    known = _memory_type(value)
    if known is not None:
        memory = _memory(value)
        kind = "bytes" if type(value) is bytearray else "array"
        buffer = _Buffer(name, kind, memory.nbytes, *known)
        buffer.source = memory
        return buffer
    try:
        content = pickle.dumps(value)
    except Exception as problem:
        raise _Refused(f"{name} cannot be pickled: {problem}") from None
    buffer = _Buffer(name, "object", len(content), type(value).__name__[:100])
    buffer.source = memoryview(content)
    return buffer


def memory_of(tensor: Any) -> memoryview:
    """The bytes of a contiguous tensor on the CPU."""
    size = tensor.numel() * tensor.element_size()
    if size == 0:
        return memoryview(bytearray())
    return memoryview((ctypes.c_char * size).from_address(tensor.data_ptr())).cast("B")


def dtype_named(text: str) -> Any:
    """Errors: VaultError if torch has no such type."""
    found = getattr(_torch(), text.partition(".")[2].partition(" ")[0], None)
    if not isinstance(found, _torch().dtype):
        raise VaultError(f"there is no type {text[:100]!r}")
    return found


def is_direct(tensor: Any) -> bool:
    """Whether its bytes are those of its elements, in order."""
    return bool(tensor.is_cpu and tensor.is_contiguous() and not tensor.is_conj()
                and not tensor.is_neg())


# ---- the connection ------------------------------------------------------------------------------


class _Slot(NamedTuple):
    """A slot that this process has mapped."""

    inode: int
    memory: mmap.mmap


class _Vault:
    """The connection of this process to the vault of its agent, and the slots that it knows."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.owner = os.getpid()
        self.lock = threading.RLock()
        self._socket: Optional[socket.socket] = None
        # The epochs for which the connection was made, and in which it was lost.
        self._epoch = ""
        self._lost: Optional[str] = None
        self._slots: Dict[int, _Slot] = {}
        self._told: Dict[str, bool] = {}
        # The buffers of the last commit, its tree with the text, and the room for its manifest.
        self._last: List[_Buffer] = []
        self._tree: Tuple[Any, str] = (None, "")
        self._room = 0
        self.is_refused = False

    # ---- messages ----

    def _connect(self) -> socket.socket:
        """The connection of this epoch. The agent closes it at the end of the epoch; what is asked
        then would be answered in the next one, and count as a commit of that."""
        epoch = _epoch()
        if self._socket is not None and self._epoch != epoch:
            self._close()
        if self._socket is None and self._lost != epoch:
            connected = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            try:
                connected.settimeout(_ANSWER_SECONDS)
                connected.connect("\0" + self.address[1:])
            except OSError:
                connected.close()
                raise
            self._socket, self._epoch = connected, epoch
        if self._socket is None or self._lost == epoch:
            raise ConnectionResetError("the agent has closed the connection")
        return self._socket

    def _lose(self) -> None:
        self._lost = _epoch()
        self._close()

    def _close(self) -> None:
        connected, self._socket = self._socket, None
        if connected is not None:
            connected.close()

    def interrupt(self) -> None:
        """Ends what waits for the agent in another thread, and refuses the rest of this epoch."""
        self._lost = _epoch()
        connected = self._socket
        if connected is not None:
            with contextlib.suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)

    def tell(self, fields: _Fields) -> None:
        """Sends a message that has no answer. It is lost if the agent is gone."""
        with contextlib.suppress(OSError):
            connected = self._connect()
            try:
                connected.send(json.dumps(fields).encode())
            except OSError:
                self._lose()

    def ask(self, fields: _Fields) -> Tuple[_Fields, int]:
        """Sends a request. Result: the answer, and the file that comes with it, or -1.

        Errors: OSError if there is no agent, or if it has ended the epoch.
        """
        connected = self._connect()
        try:
            connected.send(json.dumps(fields).encode())
            return self._receive(connected)
        except (BrokenPipeError, ConnectionResetError, EOFError):
            self._lose()
            raise ConnectionResetError("the agent has closed the connection") from None
        except OSError:
            self._close()  # it is late, and counts the request when it comes to it
            raise

    def _receive(self, connected: socket.socket) -> Tuple[_Fields, int]:
        size = socket.CMSG_SPACE(struct.calcsize("i"))
        data, controls, _, _ = connected.recvmsg(_PACKET_BYTES, size, socket.MSG_CMSG_CLOEXEC)
        file = -1
        for level, kind, content in controls:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                file = struct.unpack("i", content[:struct.calcsize("i")])[0]
        if not data:
            raise EOFError
        fields = json.loads(data)
        if fields.get("kind") == "refused":
            self.is_refused = True
            self.say_once(f"nothing is kept: {fields.get('reason')}", "refused")
        return fields, file

    def say_once(self, sentence: str, kind: str) -> None:
        if not self._told.setdefault(kind, False):
            self._told[kind] = True
            sys.stderr.write(f"elasticrun.vault: {sentence}\n")
            sys.stderr.flush()

    # ---- a commit ----

    def commit(self, value: Any, step: int, checksum: bool) -> bool:
        """Result: whether it is kept. A reason against it is written to stderr once."""
        buffers: List[_Buffer] = []
        try:
            try:
                step = _checked_step(step)
                tree = _take(value, "", buffers, self._last)
                _refuse_twins(buffers)
                manifest = _Manifest(tree, buffers)
                data_bytes = _place(buffers)
                most = self._manifest_room(manifest)
            except (_Refused, RecursionError) as reason:
                text = str(reason) if isinstance(reason, _Refused) else "it is nested too deeply"
                self.tell({"kind": "skip", "reason": text[:500]})
                raise _Refused(text) from None
            place, slot = self._begin(data_bytes + most)
            self._write(place, slot.memory, manifest, data_bytes, step, checksum)
            self.tell({"kind": "committed", "slot": place["slot"]})
            return True
        except _Refused as reason:
            # Reasons differ by the numbers in them.
            self.say_once(f"a commit is skipped: {reason}", re.split(r"\d", str(reason))[0])
        except TimeoutError:
            self.say_once(f"a commit is skipped: the agent has not answered for "
                          f"{_ANSWER_SECONDS:g} s", "TimeoutError")
        except (OSError, ValueError) as problem:
            self.say_once(f"a commit is skipped: {problem}", type(problem).__name__)
        finally:
            for buffer in buffers:
                buffer.source = None  # which may keep a tensor alive
            self._last = buffers
        return False

    def _manifest_room(self, manifest: _Manifest) -> int:
        """The bytes to reserve for the manifest, whose checksums are not known yet. More than it
        needs, and the same as for the last one if that is enough: a slot that becomes too small is
        allocated anew."""
        if self._room > 0 and manifest.buffers == self._last and manifest.tree == self._tree[0]:
            return self._room
        size = len(self._pack(manifest)) + _CHECK_CHARACTERS * len(manifest.buffers)
        if size > self._room:
            self._room = size + size // 16 + _PAGE_BYTES
        if self._room > _MANIFEST_BYTES:
            self._room = 0
            raise _Refused(f"the manifest has {size} bytes; {_MANIFEST_BYTES} are allowed")
        return self._room

    def _pack(self, manifest: _Manifest) -> bytes:
        """The bytes of a manifest, whose tree has seldom changed since the last one."""
        if self._tree[0] != manifest.tree:
            self._tree = (manifest.tree, manifest.tree_text())
        return manifest.pack(self._tree[1])

    def _begin(self, size: int) -> Tuple[_Fields, _Slot]:
        rounded = -(-(_HEADER_BYTES + size) // _PAGE_BYTES) * _PAGE_BYTES
        place, file = self.ask({"kind": "begin", "bytes": rounded})
        try:
            if place["kind"] != "write" or file < 0:
                raise _Refused(str(place.get("reason", "the agent has no slot")))
            return place, self._map(place["slot"], file, place["bytes"])
        finally:
            if file >= 0:
                os.close(file)

    def _map(self, number: int, file: int, size: int) -> _Slot:
        inode = os.fstat(file).st_ino
        known = self._slots.get(number)
        if known is None or known.inode != inode:
            if known is not None:
                del self._slots[number]
                known.memory.close()
            memory = mmap.mmap(file, size)
            # A forked process must not write into it.
            memory.madvise(mmap.MADV_DONTFORK)
            known = self._slots[number] = _Slot(inode, memory)
        return known

    def _write(self, place: _Fields, memory: mmap.mmap, manifest: _Manifest, data_bytes: int,
               step: int, checksum: bool = True) -> None:
        view = memoryview(memory)
        try:
            # The temporary object releases the memory, which may be unmapped later.
            address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            for buffer in manifest.buffers:
                start = _HEADER_BYTES + buffer.place
                target = view[start:start + buffer.bytes]
                buffer.check = _copy(buffer.source, target, address + start, checksum)
                target.release()
            text = self._pack(manifest)
            end = _HEADER_BYTES + data_bytes
            view[end:end + len(text)] = text
            header = _Header(place["epoch"], place["generation"], step, place["rank"],
                             place["world_size"], data_bytes, len(text), zlib.crc32(text))
            view[:_HEADER_BYTES] = header.pack()
        finally:
            view.release()

    # ---- a restore ----

    def find(self, rank: Optional[int] = None) -> Optional[_Content]:
        """The commit of this rank, or another, to restore. The caller closes it."""
        answer, file = self.ask({"kind": "find", "rank": rank})
        if answer["kind"] != "found" or file < 0:
            if file >= 0:
                os.close(file)
            return None
        return _Content(file)

    def call_damaged(self, problem: VaultError) -> None:
        try:
            self.ask({"kind": "damaged", "reason": str(problem)[:500]})
        except OSError:
            pass


def _checked_step(step: Any) -> int:
    """Errors: _Refused if it is no number that a header can hold."""
    try:
        number = operator.index(step)
    except TypeError:
        number = -1
    if not 0 <= number < 1 << 63:
        raise _Refused(f"the step is {str(step)[:50]}; a whole number from 0 on is needed")
    return number


def _refuse_twins(buffers: List[_Buffer]) -> None:
    """Errors: _Refused if two buffers have one name, by which a reader tells them apart."""
    names = set()
    for buffer in buffers:
        if buffer.name in names:
            raise _Refused(f"two entries have the name {buffer.name!r}")
        names.add(buffer.name)


def _place(buffers: List[_Buffer]) -> int:
    """Gives each buffer its place. Result: the bytes of all."""
    end = 0
    for buffer in buffers:
        buffer.place = -(-end // _ALIGNMENT) * _ALIGNMENT
        end = buffer.place + buffer.bytes
    return end


def _copy(source: Any, target: memoryview, address: int, checksum: bool) -> str:
    """Copies a buffer into memory at this address. Result: its checksum, or "" if none is
    wanted."""
    if not isinstance(source, memoryview):
        if not is_direct(source):
            source = source.cpu().contiguous().resolve_conj().resolve_neg()
        if len(target) < _SUMMED_BYTES:
            # To give the tensor's memory the form of an object of Python would take longer.
            ctypes.memmove(address, source.data_ptr(), len(target))
            return f"{zlib.crc32(target):08x}" if checksum else ""
    content = source if isinstance(source, memoryview) else memory_of(source)
    if not checksum:
        target[:] = content
        return ""
    kind = _SUMMED if len(content) >= _SUMMED_BYTES and "numpy" in sys.modules else ""
    check = 0
    for start in range(0, len(content), _PIECE_BYTES):
        piece = content[start:start + _PIECE_BYTES]
        target[start:start + len(piece)] = piece
        check = _add_check(kind, piece, check)
    return f"{kind}{check:08x}"


def _add_check(kind: str, piece: memoryview, check: int) -> int:
    """The CRC-32 of a buffer up to the end of this piece: of its bytes, or, which takes a quarter
    of the time, of its sums."""
    return zlib.crc32(_sums(piece) if kind else piece, check)


def _sums(piece: memoryview) -> bytes:
    """The sums of the words of a piece in rows of 4 KiB: of each row, and of each column. So a word
    that is changed or moved changes two. What is left behind the last row follows as it is."""
    whole = len(piece) // (_WORD_BYTES * _ROW_WORDS) * (_WORD_BYTES * _ROW_WORDS)
    rest = bytes(piece[whole:])
    numpy = sys.modules.get("numpy")
    if whole == 0:
        return rest
    if numpy is not None:
        table = numpy.frombuffer(piece[:whole], "<u8").reshape(-1, _ROW_WORDS)
        return bytes(table.sum(1).tobytes() + table.sum(0).tobytes() + rest)
    words = piece[:whole].cast("Q")
    rows = [sum(words[start:start + _ROW_WORDS]) for start in range(0, len(words), _ROW_WORDS)]
    columns = [sum(words[start::_ROW_WORDS]) for start in range(_ROW_WORDS)]
    return struct.pack(f"<{len(rows) + len(columns)}Q",
                       *(each % 2**64 for each in rows + columns)) + rest


class _Content:
    """A commit in a file."""

    def __init__(self, file: int) -> None:
        self.file = file
        try:
            size = os.fstat(file).st_size
            self.header = _unpack(os.pread(file, _HEADER_BYTES, 0), size)
            text = os.pread(file, self.header.manifest_bytes,
                            _HEADER_BYTES + self.header.data_bytes)
            if zlib.crc32(text) != self.header.manifest_check:
                raise VaultError("the manifest has another checksum")
            self.manifest = _read_manifest(text, self.header.data_bytes)
            # Its seals keep it from becoming shorter. To read it by system calls takes up to twice
            # the time where a buffer does not begin at a cache line, as those of numpy do not.
            self._memory = mmap.mmap(file, size, mmap.MAP_SHARED, mmap.PROT_READ)
        except BaseException:
            os.close(file)
            raise

    def close(self) -> None:
        os.close(self.file)
        del self._memory

    def read(self, buffer: _Buffer, target: memoryview) -> None:
        """Errors: VaultError if the bytes have another checksum than the manifest says."""
        check = 0
        kind = _SUMMED if buffer.check.startswith(_SUMMED) else ""
        first = _HEADER_BYTES + buffer.place
        source = memoryview(self._memory)[first:first + buffer.bytes]
        for start in range(0, buffer.bytes, _PIECE_BYTES):
            piece = target[start:start + _PIECE_BYTES]
            piece[:] = source[start:start + _PIECE_BYTES]
            if buffer.check:
                check = _add_check(kind, piece, check)
        if buffer.check and f"{kind}{check:08x}" != buffer.check:
            raise VaultError(f"buffer {buffer.name!r} has another checksum")


# ---- into the state of a script ------------------------------------------------------------------


class _Restore:
    """Writes a commit into the state of a script."""

    def __init__(self, content: _Content) -> None:
        self._content = content
        self._buffers = content.manifest.buffers

    def check(self, node: Any, current: Any, name: str) -> None:
        """Errors: VaultError if the state has other tensors. Nothing has been changed then."""
        if "b" in node:
            self._check_buffer(self._buffers[node["b"]], current)
        elif "d" in node:
            if current is _MISSING:
                current = {}
            if not isinstance(current, Mapping):
                what = type(current).__name__
                raise VaultError(f"{name or 'the state'} is of type {what}, and a dict in memory")
            known = {key: child for key, child in node["d"]}
            for key in current:
                if key not in known:
                    raise VaultError(f"the state in memory has no "
                                     f"{f'{name}.{key}' if name else key}")
            for key, child in known.items():
                self.check(child, current.get(key, _MISSING), f"{name}.{key}" if name else str(key))
        elif "l" in node or "t" in node:
            children = node.get("l", node.get("t"))
            is_list = isinstance(current, (list, tuple)) and len(current) == len(children)
            for index, child in enumerate(children):
                self.check(child, current[index] if is_list else _MISSING, f"{name}.{index}")
        elif _is_tensor(current) or (_memory_type(current) or ("", []))[1]:
            raise VaultError(f"{name} is a {type(current).__name__}, and a number or a text in "
                             f"memory")

    def _check_buffer(self, buffer: _Buffer, current: Any) -> None:
        if current is _MISSING or buffer.kind == "object":
            if buffer.kind == "shard":
                raise VaultError(f"{buffer.name} is sharded, and the state has no tensor for it: "
                                 f"make the optimizer's state first")
            if buffer.kind == "array":
                _new_array(buffer)
            return
        if buffer.kind in ("array", "bytes"):
            if _memory_type(current) != (buffer.dtype, buffer.shape):
                raise VaultError(f"{buffer.name} has to be a writable array of type {buffer.dtype} "
                                 f"and shape {buffer.shape}, and is a {type(current).__name__}")
            return
        if not _is_tensor(current):
            raise VaultError(f"{buffer.name} is no tensor, but that in memory is")
        mine = [_dtype_text(current), list(_local(current).shape)]
        if mine != [buffer.dtype, buffer.shape]:
            raise VaultError(f"{buffer.name} is of {mine[0]} and shape {mine[1]}, in memory of "
                             f"{buffer.dtype} and {buffer.shape}")

    def put(self, node: Any, current: Any) -> Any:
        """The value of the commit, in the tensors and containers of the state where it has them."""
        if "v" in node:
            return node["v"]
        if "f" in node:
            return float(node["f"])
        if "b" in node:
            return self._put_buffer(self._buffers[node["b"]], current)
        if "d" in node:
            target = current if isinstance(current, MutableMapping) else {}
            for key, child in node["d"]:
                target[key] = self.put(child, target.get(key, _MISSING))
            return target
        children = node.get("l", node.get("t"))
        is_list = isinstance(current, (list, tuple)) and len(current) == len(children)
        values = [self.put(child, current[index] if is_list else _MISSING)
                  for index, child in enumerate(children)]
        if "t" in node:
            return tuple(values)
        if isinstance(current, list):
            current[:] = values
            return current
        return values

    def _put_buffer(self, buffer: _Buffer, current: Any) -> Any:
        if buffer.kind == "object":
            content = bytearray(buffer.bytes)
            self._content.read(buffer, memoryview(content))
            return pickle.loads(content)
        if buffer.kind in ("array", "bytes"):
            target = current if current is not _MISSING else _new_array(buffer)
            is_scattered = _is_array(target) and not target.flags.c_contiguous
            staged = sys.modules["numpy"].empty_like(target, order="C") if is_scattered else target
            self._content.read(buffer, _memory(staged))
            if is_scattered:
                target[...] = staged
            return target
        torch = _torch()
        if torch is None:
            raise VaultError(f"{buffer.name} is a tensor, and torch is not imported")
        if current is _MISSING:
            current = torch.empty(buffer.shape, dtype=dtype_named(buffer.dtype))
        target = _local(current)
        if is_direct(target):
            self._content.read(buffer, memory_of(target))
            return current
        staged = torch.empty(buffer.shape, dtype=target.dtype)
        self._content.read(buffer, memory_of(staged))
        target.copy_(staged)
        return current


_MISSING = object()

# ---- the functions of the module -----------------------------------------------------------------

_vault: Optional[_Vault] = None


def _epoch() -> str:
    """That of this process. A process without epochs is of one attempt."""
    return os.environ.get("ELASTIC_EPOCH", "")


def _here() -> Optional[_Vault]:
    """The vault of this process. None: there is none, or this process was forked by the worker."""
    global _vault
    address = os.environ.get("ELASTIC_VAULT", "")
    if not address.startswith("@"):
        return None
    if _vault is None or _vault.address != address:
        _vault = _Vault(address)
    if _vault.owner != os.getpid():
        _vault.say_once("this process was forked by the worker, and does not use its vault", "fork")
        return None
    return None if _vault.is_refused else _vault


def save(state_dict: Mapping[str, Any], step: int, checksum: bool = True) -> bool:
    """Copies a state into memory of the agent: nested dicts, lists and tuples of tensors (of a
    DTensor: the part of this rank), of arrays, and of values that can be pickled, as an array that
    is read-only is. `step` is what
    `load` returns, at least 0. Without `checksum` a commit takes two thirds of the time, and `load`
    does not notice damaged tensors.

    Result: whether it is kept. Otherwise the last one is, and the reason is written to stderr,
    once. The copy is complete when this returns.
    """
    here = _here()
    if here is None:
        return False
    with here.lock:
        return here.commit(state_dict, step, checksum)


def load(state_dict: Dict[str, Any]) -> Optional[int]:
    """Writes the state of the newest commit that all ranks have into `state_dict`: into its tensors
    and arrays where it has them; entries that it lacks are added, with tensors on the CPU.

    Result: the step of the commit; None if there is nothing to restore: the state is unchanged.
    Errors: TypeError if `state_dict` is no dict; `VaultError` if a tensor has another type or
    shape, or the state has an entry that the commit lacks: it is unchanged then; or if the agent
    does not answer, or the memory is damaged: end the worker. All ranks then restart from an
    earlier commit.
    """
    if not isinstance(state_dict, MutableMapping):
        raise TypeError(f"load writes into a dict, and was given a {type(state_dict).__name__}")
    here = _here()
    if here is None:
        return None
    with here.lock:
        start = time.monotonic()
        content = _find(here)
        if content is None:
            return None
        try:
            restore = _Restore(content)
            restore.check(content.manifest.tree, state_dict, "")
            try:
                restore.put(content.manifest.tree, state_dict)
            except VaultError as problem:
                here.call_damaged(problem)
                raise
        finally:
            content.close()
        here.tell({"kind": "restored", "seconds": time.monotonic() - start})
        return content.header.step


def commit(buffers: Mapping[str, Any], step: int, checksum: bool = True) -> bool:
    """The same as `save`, for named buffers: arrays of numpy, bytearrays, and whatever else gives
    its memory away."""
    return save(buffers, step, checksum)


def newest() -> Optional[Found]:
    """The generation that the workers restore; None: there is none."""
    here = _here()
    if here is None:
        return None
    with here.lock:
        content = _find(here)
        if content is None:
            return None
        content.close()
        return Found(content.header.epoch, content.header.generation, content.header.step,
                     content.header.world_size)


def read(name: str, out: Any, rank: Optional[int] = None) -> None:
    """Reads a buffer of that generation into one of the same type and shape: of this rank, or of
    another one.

    Errors: KeyError if there is no such buffer, generation or rank; `VaultError` as `load`, and if
    what was committed by that name is neither an array nor a tensor.
    """
    here = _here()
    if here is None or rank is not None and not 0 <= operator.index(rank) < 1 << 31:
        raise KeyError(name)
    with here.lock:
        start = time.monotonic()
        content = _find(here, rank)
        if content is None:
            raise KeyError(name)
        try:
            node = dict(map(tuple, content.manifest.tree.get("d", []))).get(name)
            if node is None:
                raise KeyError(name)
            restore = _Restore(content)
            if "b" not in node or content.manifest.buffers[node["b"]].kind == "object":
                raise VaultError(f"{name!r} is no array and no tensor, which read needs: use load")
            restore.check(node, out, name)
            try:
                restore.put(node, out)
            except VaultError as problem:
                here.call_damaged(problem)
                raise
        finally:
            content.close()
        here.tell({"kind": "restored", "seconds": time.monotonic() - start})


def _find(here: _Vault, rank: Optional[int] = None) -> Optional[_Content]:
    try:
        return here.find(rank)
    except VaultError as problem:
        here.call_damaged(problem)
        raise
    except ConnectionRefusedError:
        return None  # there is no agent
    except OSError as problem:
        # Others restore what is there: to begin anew would be another training than theirs.
        raise VaultError(f"the agent does not say what there is to restore: {problem}") from None


# ---- for torch.distributed.checkpoint ------------------------------------------------------------


def writer(step: int) -> Writer:
    """A storage for one `dcp.save(state, storage_writer=vault.writer(step))`: the commit of this
    rank, skipped as by `save` if the agent refuses it. Imports torch."""
    from elasticrun.vault_storage import Writer
    return Writer(step)


def reader() -> Optional[Reader]:
    """A storage for one `dcp.load(state, storage_reader=…)` of what `writer` committed, with its
    `step`; None: there is nothing to restore, or ranks are on several nodes. Imports torch."""
    here, found = _here(), newest()
    if here is None or found is None:
        return None
    if int(os.environ.get("LOCAL_WORLD_SIZE", found.world_size)) != found.world_size:
        here.say_once("vault.reader needs the commits of all ranks, and some are on other nodes: "
                      "save and load need that of each rank only", "nodes")
        return None
    from elasticrun.vault_storage import Reader
    return Reader(found)


def is_here() -> bool:
    """Whether this process has a vault. For `survive`."""
    return _here() is not None


def interrupt() -> None:
    """Called by another thread when the epoch of this process has ended. For `survive`."""
    if _vault is not None:
        _vault.interrupt()


def open_own() -> Optional[_Content]:
    """The commit of this rank to restore, which the caller closes; None: there is none. For
    `sharded_state`.

    Errors: VaultError if it is damaged; OSError if the epoch has ended.
    """
    here = _here()
    if here is None:
        return None
    with here.lock:
        try:
            return here.find()
        except VaultError as problem:
            here.call_damaged(problem)
            raise


def open_part(rank: int) -> _Content:
    """The commit of a rank, which the caller closes. For `vault_storage`.

    Errors: VaultError if it is not here.
    """
    here = _here()
    with here.lock if here is not None else contextlib.nullcontext():
        content = None if here is None else _find(here, rank)
    if content is None:
        raise VaultError(f"the part of rank {rank} is not in the memory of this node")
    return content


def storage_entries(content: _Content) -> Iterator[Tuple[List[Any], _Buffer]]:
    """What `Writer` has committed: name, and for a tensor its size and the offsets of the chunk,
    with the buffer. For `vault_storage`.

    Errors: VaultError if the commit is not one of `Writer`.
    """
    tree = content.manifest.tree
    entries = dict(map(tuple, tree.get("d", []))).get("storage", {}).get("l")
    if entries is None:
        raise VaultError("the commit in memory was not made by vault.writer")
    for entry in entries:
        *place, last = entry.get("l", [{}])
        known = [_plain(node) for node in place]
        buffer = content.manifest.buffers[last["b"]] if "b" in last else None
        is_tensor = len(known) == 3 and buffer is not None and (
            isinstance(known[1], list) and isinstance(known[2], list)
            and len(known[1]) == len(known[2]) == len(buffer.shape)
            and all(map(_is_count, known[1] + known[2]))
            and all(offset + length <= size for size, offset, length in
                    zip(known[1], known[2], buffer.shape)))
        if buffer is None or not isinstance(known[0], str) or (len(known) != 1 and not is_tensor):
            raise VaultError("an entry of vault.writer is no name with a buffer")
        yield known, buffer


def _plain(node: Any) -> Any:
    return [_plain(child) for child in node["l"]] if "l" in node else node.get("v")


def report_restored(seconds: float) -> None:
    here = _here()
    if here is not None:
        with here.lock:
            here.tell({"kind": "restored", "seconds": seconds})


def report_damage(problem: VaultError) -> None:
    here = _here()
    if here is not None:
        with here.lock:
            here.call_damaged(problem)
