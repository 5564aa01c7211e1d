# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What elasticrun.vault accepts of a slot, and what it does without an agent.

With the argument "torch", the same for tensors; with "dcp", the storage of
torch.distributed.checkpoint.
"""

import array
import collections
import json
import mmap
import os
import random
import socket
import struct
import sys
import threading
import zlib

from elasticrun import vault

SIZE = 1 << 16


def slot_of(value, step=7, checksum=True, room=SIZE):
    """A slot as an agent would give it, with a commit."""
    file = os.memfd_create("slot")
    os.ftruncate(file, room)
    buffers = []
    tree = vault._take(value, "", buffers)
    manifest = vault._Manifest(tree, buffers)
    data_bytes = vault._place(buffers)
    with mmap.mmap(file, room) as memory:
        vault._Vault("@none")._write(
            {"epoch": 1, "generation": 2, "rank": 0, "world_size": 1}, memory, manifest,
            data_bytes, step, checksum)
    return file


def restored(file, state):
    """The state after a restore from a slot."""
    content = vault._Content(os.dup(file))
    try:
        restore = vault._Restore(content)
        restore.check(content.manifest.tree, state, "")
        return restore.put(content.manifest.tree, state)
    finally:
        content.close()


def refusal(call, *arguments):
    try:
        call(*arguments)
    except vault.VaultError as problem:
        return str(problem)
    raise AssertionError("it is accepted")


def check_round_trip():
    state = {"w": bytearray(b"abc" * 1000), "a": array.array("d", [1.5, 2.5]), "empty": bytearray(),
             "nested": {0: {"lr": 0.1, "betas": (0.9, 0.999), "none": None, "nan": float("nan"),
                            "inf": float("-inf")}, "list": [1, [2, "x"]], "flag": True},
             "opaque": {1, 2, 3}, "raw": b"bytes", "long": "\u00e4\ud800"}
    file = slot_of(state)
    fresh = {"w": bytearray(3000), "a": array.array("d", [0, 0]), "empty": bytearray(),
             "nested": {"list": [0, [0, ""]]}}
    kept = fresh["w"]
    again = restored(file, fresh)
    assert again["w"] is kept and bytes(kept) == b"abc" * 1000
    assert again["a"] == state["a"] and again["opaque"] == {1, 2, 3} and again["raw"] == b"bytes"
    inner = again["nested"][0]
    assert inner.pop("nan") != 0 and inner == {"lr": 0.1, "betas": (0.9, 0.999), "none": None,
                                               "inf": float("-inf")}
    assert again["nested"]["list"] == [1, [2, "x"]] and again["nested"]["flag"] is True
    assert again["long"] == state["long"]
    assert restored(file, {})["w"] == state["w"], "what the state lacks is added"
    as_user_dict = restored(slot_of({"n": {"step": 5}}), collections.UserDict(n={"step": 0}))
    assert as_user_dict == collections.UserDict(n={"step": 5})


def check_without_checksum():
    state = {"w": bytearray(b"abc" * 1000), "step": 5}
    file = slot_of(state, checksum=False)
    assert restored(file, {"w": bytearray(3000), "step": 0}) == state
    os.pwrite(file, b"X", 4096)
    assert restored(file, {"w": bytearray(3000)})["w"][:3] == b"Xbc"
    os.pwrite(file, b"X", 100)
    assert "another checksum" in refusal(restored, file, {})


def check_mismatch():
    file = slot_of({"w": bytearray(8), "d": {"x": 1}})
    for state, words in [
            ({"w": bytearray(9), "d": {}},
             "w has to be a writable array of type B and shape [8], and is a bytearray"),
            ({"w": array.array("d", [0]), "d": {}}, "w has to be a writable array"),
            ({"w": b"12345678", "d": {}}, "w has to be a writable array"),
            ({"w": bytearray(8), "v": 1}, "the state in memory has no v"),
            ({"d": 5}, "d is of type int, and a dict in memory")]:
        assert words in refusal(restored, file, state), words
    state = {"w": bytearray(b"unharmed"), "d": {"y": 1}}
    assert "has no d.y" in refusal(restored, file, state)
    assert state["w"] == b"unharmed"


def check_damages():
    """Of 10,000 random damages none is accepted."""
    value = {"w": bytearray(random.randbytes(500)), "n": {"step": 5}}
    file = slot_of(value)
    header = vault._Content(os.dup(file)).header
    used = 4096 + header.data_bytes + header.manifest_bytes
    whole = os.pread(file, SIZE, 0)
    for number in range(10_000):
        place = random.choice([random.randrange(80), random.randrange(4096),
                               random.randrange(4096, used)])
        byte = whole[place] ^ (1 << random.randrange(8))
        os.pwrite(file, bytes([byte]), place)
        state = {"w": bytearray(500), "n": {"step": 0}}
        try:
            restored(file, state)
        except vault.VaultError:
            pass
        else:
            # Between two buffers or before the manifest nothing is stored.
            assert place >= 4096 + 500 and state["w"] == value["w"] and number >= 0, place
            assert state["n"] == {"step": 5}
            assert place < 4096 + header.data_bytes
        os.pwrite(file, whole[place:place + 1], place)
    os.close(file)


def check_manifests():
    """Manifests with the right checksum and the wrong content."""
    def row(name="w", place=0, size=8, kind="array", dtype="B", shape=(8,), check="0" * 8):
        return [name, kind, dtype, list(shape), place, size, check]

    tree = {"d": [["w", {"b": 0}]]}
    for text, words in [
            (b"{", "the manifest is no JSON"),
            (b"[" * 100_000, "the manifest is no JSON"),
            (b"[]", "lists no buffers"),
            ({"tree": tree, "buffers": {}}, "lists no buffers"),
            ({"tree": tree, "buffers": [[]]}, "no list of seven values"),
            ({"tree": tree, "buffers": [row(name=5)]}, "that is no text"),
            ({"tree": tree, "buffers": [row(), row(place=8)]}, "has a name twice"),
            ({"tree": tree, "buffers": [row(), row("v", 4)]}, "overlaps another"),
            ({"tree": tree, "buffers": [row(place=-1)]}, "does not lie in the data"),
            ({"tree": tree, "buffers": [row(size=10**30)]}, "does not lie in the data"),
            ({"tree": tree, "buffers": [row(place=9, size=8)]}, "does not lie in the data"),
            ({"tree": tree, "buffers": [row(size=True)]}, "does not lie in the data"),
            ({"tree": tree, "buffers": [row(shape=[-1])]}, "has no shape"),
            ({"tree": {"b": 1}, "buffers": [row()]}, "unknown field 'b'"),
            ({"tree": {"b": -1}, "buffers": [row()]}, "unknown field 'b'"),
            ({"tree": {"x": 1}, "buffers": []}, "unknown field 'x'"),
            ({"tree": {"d": [[1]]}, "buffers": []}, "no key with a value"),
            ({"tree": {"d": [[None, {"v": 1}]]}, "buffers": []}, "no key with a value"),
            ({"tree": {"v": 1, "f": "nan"}, "buffers": []}, "no object of one field"),
            ({"tree": {"f": "1; import"}, "buffers": []}, "unknown field 'f'"),
            ({"tree": None, "buffers": []}, "no object of one field")]:
        content = text if isinstance(text, bytes) else json.dumps(text).encode()
        assert words in refusal(vault._read_manifest, content, 16), words


def check_headers():
    fields = dict(epoch=1, generation=1, step=1, rank=0, world_size=1, data_bytes=10,
                  manifest_bytes=10, manifest_check=0)
    good = vault._Header(**fields)
    assert vault._unpack(good.pack(), 4116) == good
    refusal(vault._unpack, good.pack(), 4115)
    refusal(vault._unpack, good.pack(), 0)
    refusal(vault._unpack, good.pack()[1:], 4116)
    for change in [dict(manifest_bytes=0), dict(manifest_bytes=2**63), dict(data_bytes=2**63),
                   dict(data_bytes=2**64 - 1), dict(manifest_bytes=(64 << 20) + 1)]:
        refusal(vault._unpack, vault._Header(**{**fields, **change}).pack(), 1 << 30)
    for place, value in [(0, b"X"), (8, b"\2"), (16, b"\0")]:
        head = bytearray(good.pack())
        head[place:place + 1] = value
        head[-4:] = struct.pack("<I", zlib.crc32(head[:-4]))
        refusal(vault._unpack, bytes(head), 4116)


def check_growth():
    """A manifest has room to grow."""
    worker = vault._Vault("@none")

    def room_of(text):
        buffers = []
        tree = vault._take({"w": bytearray(8), "text": text}, "", buffers)
        return worker._manifest_room(vault._Manifest(tree, buffers))

    room = room_of("")
    assert room_of("x" * 90) == room, "a slot need not be larger"
    assert room_of("x" * 9000) > 9000 + 4096
    assert room_of("") > 9000 + 4096, "nor smaller"
    try:
        room_of("x" * (64 << 20))
    except vault._Refused as reason:
        assert "67108864 are allowed" in str(reason)
    else:
        raise AssertionError("it has room")
    assert room_of("") == room


def check_sums():
    """With numpy, the sums of a large buffer are checked, which a reader without it can do, too."""
    import numpy
    check_arrays(numpy)
    size = 3 * vault._ROW_WORDS * 8 + vault._PIECE_BYTES + 5
    content = bytearray(random.randbytes(size))
    changes = [("a bit", lambda: content.__setitem__(9000, content[9000] ^ 1)),
               ("zeros", lambda: content.__setitem__(slice(8000, 9000), bytes(1000))),
               ("the last byte", lambda: content.__setitem__(-1, content[-1] ^ 128)),
               *((f"blocks of {block}", lambda block=block: swap(content, block))
                 for block in (1, 8, 64, 4096, 65536))]
    for number, (name, change) in enumerate(changes):
        before = vault._sums(memoryview(content))
        sums = vault._Buffer("w", "array", size, "B", [size])
        file = slot_of({"w": content}, room=2 * size)
        sums = vault._Content(os.dup(file)).manifest.buffers[0]
        assert sums.check[0] == "s" and len(sums.check) == 9
        assert restored(file, {"w": bytearray(size)})["w"] == content
        change()
        assert vault._sums(memoryview(content)) != before, name
        os.pwrite(file, content, 4096)
        assert "another checksum" in refusal(restored, file, {}), name
        del sys.modules["numpy"]
        try:
            assert vault._sums(memoryview(content)[:9005]) == numpy_sums(numpy, content[:9005])
            if number == 0:
                assert "another checksum" in refusal(restored, file, {}), name
                file = slot_of({"w": content}, room=2 * size)
                bytewise = vault._Content(os.dup(file)).manifest.buffers[0]
                assert len(bytewise.check) == 8, "without numpy, all bytes are"
                assert restored(file, {})["w"] == content
        finally:
            sys.modules["numpy"] = numpy


def check_arrays(numpy):
    """Arrays whose elements do not lie one after the other are arrays all the same."""
    table = numpy.arange(12.0).reshape(4, 3)
    file = slot_of({"t": table.T, "e": numpy.arange(8)[::2]})
    # … and so are those into which they are restored.
    for target in numpy.zeros((3, 4)), numpy.zeros((4, 3)).T, numpy.zeros((6, 8))[::2, ::2]:
        state = restored(file, {"t": target, "e": numpy.zeros(8, dtype=int)[::2]})
        assert state["t"] is target and (target == table.T).all()
        assert list(state["e"]) == [0, 2, 4, 6]
    check_kinds_of_arrays(numpy)
    check_memory_that_is_no_array(numpy)


def check_kinds_of_arrays(numpy):
    """A state without an array gets one like that which was committed."""
    for kind in "?bBhHiIlLqQefdgFDG":
        check_array(numpy, numpy.arange(6).reshape(2, 3).astype(kind))
    for one in [numpy.array(["2026-11-29"], "M8[D]"), numpy.array([5], "m8[s]"),
                numpy.array(["some", "words"]), numpy.array([b"bytes"]), numpy.array(2.5),
                numpy.arange(4, dtype=">i4"), numpy.zeros((0, 3)), numpy.array([], "U")]:
        check_array(numpy, one)
    file = slot_of({"w": numpy.arange(3.0)})
    for other in numpy.zeros(3, "f4"), numpy.zeros(4), numpy.zeros(3, ">f8"), array.array("d", [1]):
        assert "w has to be a writable array of type d and shape [3]" in refusal(
            restored, file, {"w": other})
    locked = numpy.zeros(3)
    locked.flags.writeable = False
    assert "w has to be a writable array" in refusal(restored, file, {"w": locked})
    table = slot_of({"w": numpy.zeros((2, 2))})
    del sys.modules["numpy"]
    try:
        assert restored(file, {})["w"] == array.array("d", [0, 1, 2])
        assert "the state has none for it" in refusal(restored, table, {})
    finally:
        sys.modules["numpy"] = numpy


def check_array(numpy, one):
    file = slot_of({"w": one})
    for state in {}, {"w": numpy.empty_like(one)}:
        again = restored(file, dict(state))["w"]
        assert type(again) is numpy.ndarray and again.dtype == one.dtype, one.dtype
        assert again.shape == one.shape and (again == one).all(), one.dtype
        assert not state or again is state["w"], one.dtype


def check_memory_that_is_no_array(numpy):
    """Memory that nobody may write, or that is not all, is pickled as other objects are."""
    locked = numpy.arange(3.0)
    locked.flags.writeable = False
    values = {"best": numpy.float64(1.5), "day": numpy.datetime64("2026-11-29"),
              "name": numpy.str_("x"), "locked": locked, "long": 10**100,
              "masked": numpy.ma.array([1, 2], mask=[False, True]),
              "matrix": numpy.matrix([[1, 2]]),
              "row": numpy.array([(1, 2.0)], dtype=[("a", int), ("b", float)])}
    file = slot_of(values)
    for state in {}, dict(values):
        again = restored(file, state)
        for name, one in values.items():
            assert type(again[name]) is type(one) and str(again[name]) == str(one), name
    assert restored(slot_of({10**5000: 10**5000}), {}) == {10**5000: 10**5000}
    file = slot_of({"w": 3.5})
    for other in numpy.zeros(3), bytearray(3):
        assert "and a number or a text in memory" in refusal(restored, file, {"w": other})
    assert restored(file, {"w": numpy.float64(1)}) == {"w": 3.5}


def numpy_sums(numpy, content):
    sys.modules["numpy"] = numpy
    try:
        return vault._sums(memoryview(content))
    finally:
        del sys.modules["numpy"]


def swap(content, block):
    """Exchanges two blocks."""
    first, second = block, (len(content) // block - 2) * block
    content[first:first + block], content[second:second + block] = (
        content[second:second + block], content[first:first + block])


def check_without_agent():
    for address in ("", "@elastic-vault-of-nobody", "nonsense"):
        os.environ["ELASTIC_VAULT"] = address
        assert vault.save({"w": bytearray(8)}, 1) is False
        assert vault.commit({"w": bytearray(8)}, 1) is False
        assert vault.load({}) is None
        assert vault.newest() is None
        try:
            vault.read("w", out=bytearray(8))
        except KeyError:
            pass
        else:
            raise AssertionError("something was read")


class Agent:
    """The other end of a connection, which answers what it is told to."""

    made = 0

    def __init__(self):
        Agent.made += 1
        self.address = f"elastic-vault-stub-{os.getpid()}-{Agent.made}"
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind("\0" + self.address)
        self.listener.listen()
        os.environ["ELASTIC_VAULT"] = "@" + self.address
        self.peer = None

    def hear(self):
        if self.peer is None:
            self.peer, _ = self.listener.accept()
        return json.loads(self.peer.recv(65536))

    def close(self):
        for each in (self.peer, self.listener):
            if each is not None:
                each.close()


def check_refusals():
    """What cannot be committed is skipped, counts as a commit, and is said once."""
    agent = Agent()
    deep = []
    for _ in range(100000):
        deep = [deep]
    for value, step, reason in [
            ({"w": 1}, -5, "the step is -5; a whole number from 0 on is needed"),
            ({"w": 1}, 1 << 70, "the step is 1180591620717411303424;"),
            ({"w": 1}, 1.5, "the step is 1.5;"),
            ({"a.b": bytearray(1), "a": {"b": bytearray(1)}}, 1,
             "two entries have the name 'a.b'"),
            ({1: bytearray(1), "1": bytearray(1)}, 1, "two entries have the name '1'"),
            ({"w": deep}, 1, "it is nested too deeply")]:
        assert vault.save(value, step) is False
        told = agent.hear()
        assert told["kind"] == "skip" and told["reason"].startswith(reason), told
    agent.close()


def check_silence():
    """Nothing is restored instead of what an agent that does not answer may have."""
    agent = Agent()
    kept, vault._ANSWER_SECONDS = vault._ANSWER_SECONDS, 0.1
    try:
        for call in (lambda: vault.load({}), vault.newest,
                     lambda: vault.read("w", out=bytearray(1))):
            assert "does not say what there is to restore" in refusal(call)
        try:
            vault.read("w", out=bytearray(1), rank=1 << 80)
        except KeyError:
            pass
        else:
            raise AssertionError("there is such a rank")
    finally:
        vault._ANSWER_SECONDS = kept
        agent.close()


def check_read():
    """What was committed is read, or refused."""
    file = slot_of({"w": bytearray(b"12345678"), "o": b"opaque", "n": 5, "l": [1]})
    agent = Agent()

    def serve():
        while agent.hear()["kind"] != "end":
            socket.send_fds(agent.peer, [b'{"kind": "found"}'], [file])

    serving = threading.Thread(target=serve)
    serving.start()
    out = bytearray(8)
    vault.read("w", out)
    assert out == b"12345678"
    for name in ("o", "n", "l"):
        assert "use load" in refusal(vault.read, name, bytearray(8)), name
    vault._here().tell({"kind": "end"})
    serving.join()
    agent.close()


def check_epochs():
    """What waits for the agent ends with the epoch, and nothing more is asked in it."""
    address = f"elastic-vault-test-{os.getpid()}"
    worker = vault._Vault("@" + address)
    results = []

    def ask():
        try:
            results.append(worker.ask({"kind": "find"}))
        except OSError as problem:
            results.append(type(problem))

    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as agent:
        agent.bind("\0" + address)
        agent.listen()
        for epoch in ("3", "4"):
            os.environ["ELASTIC_EPOCH"] = epoch
            asking = threading.Thread(target=ask)
            asking.start()
            peer, _ = agent.accept()
            assert peer.recv(100) == b'{"kind": "find"}'
            if epoch == "3":
                worker.interrupt()
            else:
                peer.send(b'{"kind": "nothing"}')
            asking.join()
            peer.close()
            ask()
            ask()
        agent.setblocking(False)
        try:
            agent.accept()
            raise AssertionError("it has connected again in an epoch")
        except BlockingIOError:
            pass
    del os.environ["ELASTIC_EPOCH"]
    lost = ConnectionResetError
    assert results == [lost, lost, lost, ({"kind": "nothing"}, -1), lost, lost], results


def check_sharded_state_without_vault():
    """A line says that it is not kept, and it is trained."""
    import contextlib
    import io
    from elasticrun import survive

    @survive.run
    def train(state):
        state.step += 1
        state.commit()
        assert state.restore() is False

    state = survive.TorchState(step=0, sharded=True)
    os.environ["ELASTIC_VAULT"] = ""
    with contextlib.redirect_stderr(io.StringIO()) as told:
        train(state)
    assert state.step == 1 and "torch" not in sys.modules
    assert told.getvalue().count("\n") == 1
    assert "TorchState(sharded=True) keeps its commits in the vault" in told.getvalue()


def check_tensors():
    import torch
    model = torch.nn.Linear(3, 2).to(torch.bfloat16)
    optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
    model(torch.ones(1, 3, dtype=torch.bfloat16)).sum().backward()
    optimizer.step()
    state = {"model": model.state_dict(), "optim": optimizer.state_dict(),
             "turned": torch.arange(6).view(2, 3).t(), "none": torch.empty(0, 4),
             "scalar": torch.tensor(2.5), "conj": torch.tensor([1 + 2j]).conj()}
    file = slot_of(state)
    fresh_model = torch.nn.Linear(3, 2).to(torch.bfloat16)
    fresh = torch.optim.AdamW(fresh_model.parameters(), foreach=False)
    target = {"model": fresh_model.state_dict(), "optim": fresh.state_dict(),
              "turned": torch.zeros(6, dtype=torch.int64).view(2, 3).t()}
    again = restored(file, target)
    assert torch.equal(fresh_model.weight, model.weight), "the model's own tensors are written"
    fresh.load_state_dict(again["optim"])
    assert torch.equal(fresh.state[fresh_model.weight]["exp_avg"],
                       optimizer.state[model.weight]["exp_avg"])
    for name in ("turned", "none", "scalar", "conj"):
        assert torch.equal(again[name], state[name]), name
    for change, words in [({"scalar": torch.zeros(2)}, "and shape [2], in memory of"),
                          ({"scalar": torch.tensor(1)}, "scalar is of torch.int64"),
                          ({"scalar": 1}, "scalar is no tensor")]:
        assert words in refusal(restored, file, change), words
    for tensor in (torch.eye(2).to_sparse(), torch.empty(2, device="meta")):
        try:
            vault._take({"x": tensor}, "", [])
        except vault._Refused as reason:
            assert "x is no plain tensor" in str(reason)
        else:
            raise AssertionError("it is taken")


def check_sharded_state():
    """What a TorchState(sharded=True) commits is restored, and nothing else."""
    import torch
    from elasticrun import survive
    slots = []
    saved, opened = vault.save, vault.open_own
    vault.save = lambda value, step: slots.append(slot_of(value, step)) is None
    vault.open_own = lambda: vault._Content(os.dup(slots[-1])) if slots else None

    def state_of(width=3, dtype=torch.float32, **more):
        model = torch.nn.Linear(width, 2).to(dtype)
        optimizer = torch.optim.AdamW(model.parameters())
        return survive.TorchState(model=model, optimizer=optimizer, step=0, sharded=True, **more)

    def problem_of(call, kind):
        try:
            call()
        except kind as problem:
            return str(problem)
        raise AssertionError("it is accepted")

    try:
        first = state_of()
        first.model(torch.ones(1, 3)).sum().backward()
        first.optimizer.step()
        first.step = 5
        assert "has to restore() before" in problem_of(first.commit, ValueError)
        assert first.restore() is False
        first.commit()
        expected = torch.rand(1)
        other = state_of()
        place = other.model.weight.data_ptr()
        assert other.restore() and other.step == 5 and other.commits == 1
        assert torch.equal(torch.rand(1), expected), "the random state is the same"
        assert other.model.weight.data_ptr() == place
        assert torch.equal(other.model.weight, first.model.weight)
        assert torch.equal(other.optimizer.state[other.model.bias]["exp_avg_sq"],
                           first.optimizer.state[first.model.bias]["exp_avg_sq"])
        assert vault._Content(os.dup(slots[-1])).header.step == 5
        for unfit, words in [
                (state_of(4), "model.tensors.weight is [2, 4] of torch.float32, but in memory "
                              "[2, 3] of torch.float32"),
                (state_of(dtype=torch.float64), "is [2, 3] of torch.float64, but in memory")]:
            before = unfit.model.bias.clone()
            assert words in problem_of(unfit.restore, ValueError), words
            assert torch.equal(unfit.model.bias, before) and unfit.step == 0
        os.pwrite(slots[-1], b"damage", 4096 + 3000)
        assert "another checksum" in problem_of(other.restore, vault.VaultError)
        slots.append(slot_of({"w": torch.ones(2)}))
        assert "is not one of a TorchState" in problem_of(other.restore, ValueError)

        flat = type("FullyShardedDataParallel", (torch.nn.Module,), {})()
        partition = type("DeepSpeedZeroOptimizer", (), {"state_dict": dict,
                                                        "load_state_dict": dict})()
        parameter = torch.ones(2).as_subclass(type("FlatParameter", (torch.Tensor,), {}))
        for item, words in [
                (torch.nn.Sequential(flat), "item consists of the flat tensors of FSDP1"),
                (partition, "item consists of the flat tensors of DeepSpeed"),
                (parameter, "item is sharded (FlatParameter)")]:
            refused = state_of(item=item)
            refused._is_restored = True
            assert words in problem_of(refused.commit, survive.ShardedState), words
    finally:
        vault.save, vault.open_own = saved, opened


def check_storage():
    """Parts of two ranks are read by one that wants the whole."""
    import torch
    import torch.distributed.checkpoint as dcp
    from elasticrun import vault_storage
    weight = torch.arange(24, dtype=torch.float32).view(6, 4)
    common = torch.tensor([1.0, 2.0])
    slots = {rank: slot_of({"storage": [["weight", [6, 4], [3 * rank, 0],
                                         weight[3 * rank:3 * rank + 3]],
                                        ["common", [2], [0], common],
                                        ["rank", bytearray(dumped(rank))]]})
             for rank in (0, 1)}

    def reader_of(parts):
        def open_part(rank):
            if rank not in parts:
                raise vault.VaultError(f"the part of rank {rank} is not here")
            return vault._Content(os.dup(slots[rank]))
        vault.open_part = open_part
        return vault_storage.Reader(vault.Found(1, 2, 7, 2))

    state = {"weight": torch.zeros(6, 4), "common": torch.zeros(2), "rank": None}
    reader = reader_of({0, 1})
    assert reader.step == 7
    dcp.load(state, storage_reader=reader, no_dist=True)
    assert torch.equal(state["weight"], weight) and torch.equal(state["common"], common)
    assert state["rank"] == 0, "of an entry that several ranks have, the own one counts"
    os.environ["RANK"] = "1"
    state = {"common": torch.zeros(2), "rank": None}
    dcp.load(state, storage_reader=reader_of({0, 1}), no_dist=True)
    assert state["rank"] == 1 and torch.equal(state["common"], common)
    assert "rank 1 is not here" in refusal(reader_of({0}).read_metadata)
    slots[1] = slot_of({"storage": [["common", [2], [0], common]]})
    assert "weight has 24 elements, of which the ranks have 12" in refusal(
        reader_of({0, 1}).read_metadata)
    for value, words in [({"w": bytearray(8)}, "was not made by vault.writer"),
                         ({"storage": [["w"]]}, "no name with a buffer"),
                         ({"storage": [[5, bytearray(8)]]}, "no name with a buffer"),
                         ({"storage": [["w", [2], [1], common]]}, "no name with a buffer"),
                         ({"storage": [["w", [2], [-1], common]]}, "no name with a buffer"),
                         ({"storage": [["w", [2, 2], [0], common]]}, "no name with a buffer")]:
        slots[0] = slots[1] = slot_of(value)
        assert words in refusal(reader_of({0, 1}).read_metadata), words


def check_async_save():
    """The state is in the vault when dcp.async_save returns, and is written once."""
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp
    from elasticrun import vault_storage
    slots = []
    saved, opened = vault.save, vault.open_part
    vault.save = lambda value, step: slots.append(slot_of(value, step)) is None
    vault.open_part = lambda rank: vault._Content(os.dup(slots[-1]))
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    os.environ["RANK"] = "0"
    try:
        state = {"weight": torch.arange(6.0), "step": 3}
        writer = vault_storage.Writer(3)
        saving = dcp.async_save(state, storage_writer=writer)
        assert writer.kept and len(slots) == 1
        state["weight"].zero_()
        saving.result()
        assert len(slots) == 1
        found = {"weight": torch.zeros(6), "step": 0}
        dcp.load(found, storage_reader=vault_storage.Reader(vault.Found(1, 2, 3, 1)))
        assert torch.equal(found["weight"], torch.arange(6.0)) and found["step"] == 3
        dcp.save(state, storage_writer=writer)
        assert len(slots) == 2, "a writer that is used again commits again"
    finally:
        vault.save, vault.open_part = saved, opened
        dist.destroy_process_group()


def dumped(value):
    import io
    import torch
    stream = io.BytesIO()
    torch.save(value, stream)
    return stream.getvalue()


if sys.argv[1:] == ["torch"]:
    check_tensors()
    check_sums()
    check_sharded_state()
elif sys.argv[1:] == ["dcp"]:
    check_async_save()
    check_storage()
else:
    check_round_trip()
    check_without_checksum()
    check_mismatch()
    check_manifests()
    check_headers()
    check_growth()
    check_damages()
    check_without_agent()
    check_refusals()
    check_silence()
    check_read()
    check_epochs()
    check_sharded_state_without_vault()
print("passed")
