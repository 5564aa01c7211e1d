# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What elasticrun.survive does in one process: its state, its groups, and scripts without an
agent."""

import contextlib
import json
import os
import random
import socket
import sys
import threading
import types
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "python"))
from elasticrun import survive  # noqa: E402

assert "torch" not in sys.modules, "it imports torch before it is asked for"

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from elasticrun import nccl_groups, torch_state, worker  # noqa: E402
from elasticrun.group_sockets import GroupSockets  # noqa: E402
from elasticrun.nccl_groups import NcclGroups  # noqa: E402


def make(seed):
    torch.manual_seed(seed)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    sampler = torch.utils.data.DistributedSampler(range(8), 2, 0)
    return survive.TorchState(
        model=model, optimizer=optimizer, step=0, sampler=sampler, history=[], nothing=None,
        scheduler=torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5), mean=torch.zeros(2),
        scaler=torch.cuda.amp.GradScaler(enabled=False), nested={"a": (torch.ones(1), 2)})


def work(state):
    state.optimizer.zero_grad()
    state.model(torch.randn(5, 3)).pow(2).sum().backward()
    state.optimizer.step()
    state.scheduler.step()
    state.step += 1
    state.history.append(state.step)
    state.sampler.set_epoch(state.step)
    state.mean += random.random()
    state.nested["a"][0].mul_(2)


def facts(state):
    tensors = [*state.model.state_dict().values(), state.mean, state.nested["a"][0]]
    moments = [each for values in state.optimizer.state.values()
               for each in map(values.get, sorted(values))]
    numbers = [float(torch.as_tensor(each).double().sum()) for each in tensors + moments]
    return (numbers, state.step, list(state.history), state.sampler.epoch, state.nothing,
            state.optimizer.param_groups[0]["lr"], state.scheduler.last_epoch, state.nested["a"][1])


def check_restore():
    state = make(1)
    assert state.restore() is False and state.commits == 0
    work(state)
    state.commit()
    pointers = [each.data_ptr() for each in state.model.parameters()]
    buffers = {path: each.data_ptr() for path, each in state._buffers.items()}
    before = facts(state)
    for _ in range(3):
        work(state)
    after = facts(state)
    assert after != before
    state.extra = 5
    assert state.restore() is True
    assert facts(state) == before, (facts(state), before)
    assert not hasattr(state, "extra"), "what was added after the commit is left"
    assert pointers == [each.data_ptr() for each in state.model.parameters()], "not in place"
    for _ in range(3):
        work(state)
    assert facts(state) == after, "the random states are not those of the commit"
    state.commit()
    assert state.commits == 2
    assert buffers.items() <= {path: each.data_ptr()
                               for path, each in state._buffers.items()}.items(), "new buffers"


def check_restore_before_first_step():
    """The optimizer has no state yet, and is to have none again."""
    state = make(2)
    state.commit()
    before = facts(state)
    work(state)
    assert len(state.optimizer.state) > 0
    state.restore()
    assert facts(state) == before and len(state.optimizer.state) == 0


def check_that_tensors_of_any_size_are_kept():
    """Of one byte, of no whole page, and larger than a large page."""
    sizes = [0, 1, 4095, (2 << 20) - 1, 2 << 20, (6 << 20) + 1]
    state = survive.TorchState(**{f"size{size}": torch.full((size,), 7, dtype=torch.uint8)
                                  for size in sizes})
    for value in (8, 9):
        state.commit()
        for size in sizes:
            getattr(state, f"size{size}").fill_(value)
        assert state.restore()
        for size in sizes:
            kept = getattr(state, f"size{size}")
            assert kept.numel() == size and bool((kept == value - 1).all()), size
            kept.fill_(value)


def check_giving():
    """A newcomer gets the state as it is sent, without a peer: its optimizer has no tensors yet."""
    old, new = make(3), make(4)
    for _ in range(2):
        work(old)
    old.commit()
    tensors = {path: each.clone() for path, each in old._buffers.items()}
    new._write(torch_state._Copy(old._tree, tensors))
    assert facts(new) == facts(old)
    work(old)
    random_state = random.getstate()
    old.restore()
    work(old)
    assert random.getstate() == random_state
    old.restore()
    new._write(torch_state._Copy(old._tree, tensors))
    work(new)
    assert facts(new)[0] == facts_after_one(old)


def facts_after_one(state):
    state.restore()
    work(state)
    return facts(state)[0]


def check_transfers():
    def transfers(commits, nodes):
        return list(torch_state._transfers(commits, nodes))

    assert transfers([3, 3], [0, 0]) == []
    assert transfers([3, 0, 3], [0, 0, 1]) == [(0, 1)]
    assert transfers([3, 2, 3], [0, 1, 1]) == [(2, 1)]
    assert transfers([3, 3, 2, 0], [0, 0, 0, 0]) == [(0, 2), (1, 3)]
    assert transfers([3, 0, 0], [0, 1, 1]) == [(0, 1), (0, 2)]
    assert transfers([3, torch_state._NO_STATE, 0], [0, 0, 0]) == [(0, 2)]


def check_refusals():
    class DTensor(torch.Tensor):  # by its name, as of torch.distributed.tensor
        pass

    state = survive.TorchState(part=torch.ones(1).as_subclass(DTensor))
    try:
        state.commit()
        raise AssertionError("a part of a tensor was committed")
    except survive.ShardedState as problem:
        assert "part" in str(problem)
    other = survive.TorchState(model=torch.nn.Linear(2, 2))
    other.commit()
    other.model = torch.nn.Linear(2, 3)
    try:
        other.restore()
        raise AssertionError("another module was accepted")
    except ValueError as problem:
        assert "weight" in str(problem)


def check_plain_script():
    """By hand: `train` is called once, a group can be made, an exception passes at once."""
    @survive.run
    def train(state, more):
        assert survive.rank() == 0 and survive.world_size() == 1 and survive.epoch() == 0
        assert survive.is_new()
        survive.init_process_group("gloo")
        assert survive.new_group([0]) is not None
        assert dist.get_world_size() == 1
        state.commit()
        assert state.commits == 0, "a copy that nobody can use"
        return more

    assert train(survive.TorchState(step=1), more=7) == 7
    assert not dist.is_initialized()

    @survive.run
    def fail():
        raise RuntimeError("its own")

    try:
        fail()
        raise AssertionError("no exception")
    except RuntimeError as error:
        assert str(error) == "its own"


def check_wrapped_in_ddp():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    try:
        survive.TorchState(model=ddp)
        raise AssertionError("DDP was accepted")
    except TypeError as error:
        assert "pass its module" in str(error)
    del ddp
    dist.destroy_process_group()


def connected_pair():
    with socket.create_server(("127.0.0.1", 0)) as server:
        one = socket.create_connection(server.getsockname())
        return one, server.accept()[0]


def check_that_no_other_connection_ends():
    """Neither those of the script nor the store's, but for those of groups while one is made."""
    import selectors
    mine, peer = connected_pair()
    sockets = GroupSockets()
    store = dist.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)
    early = dist.TCPStore("127.0.0.1", store.port, None, False)
    with sockets.beginning(store.port):
        client = dist.TCPStore("127.0.0.1", store.port, None, False)
    loop = selectors.EpollSelector()
    loop.register(mine, selectors.EVENT_READ)
    sockets.shut_down()
    mine.sendall(b"x")
    assert peer.recv(1) == b"x"
    client.set("key", "value")
    assert store.get("key") == b"value"
    with sockets.beginning(store.port):  # a second group, whose peers are waited for at the store
        sockets.shut_down()
        try:
            client.get("never")
            raise AssertionError("the store was not left")
        except Exception as error:
            assert "imed out" not in str(error), error
    early.set("key", "again")
    mine.sendall(b"y")
    assert peer.recv(1) == b"y"
    loop.close()
    mine.close()
    peer.close()


def check_that_a_lost_peer_is_seen():
    """Whichever side ends the connection, before or after gloo closes it; the store is no peer."""
    import selectors
    for end in ("peer ends", "gloo closes", "store ends", "other group ends", "other is closed"):
        sockets = GroupSockets()
        (mine, peer), (held, client), (other, far) = (connected_pair() for _ in range(3))
        assert not sockets.have_lost_peer(), "there is no group"
        with sockets.beginning(held.getsockname()[1]):
            loop = selectors.EpollSelector()
            for each in (mine, held):
                loop.register(each, selectors.EVENT_READ)
        with sockets.beginning(held.getsockname()[1]):
            second = selectors.EpollSelector()
            second.register(other, selectors.EVENT_READ)
        peer.sendall(b"x")
        assert not sockets.have_lost_peer()
        if end == "gloo closes":
            loop.unregister(mine)
        {"peer ends": peer, "gloo closes": mine, "store ends": client, "other group ends": far,
         "other is closed": other}[end].close()
        assert sockets.have_lost_peer() is (end in ("peer ends", "gloo closes")), end
        sockets.forget()
        assert not sockets.have_lost_peer()
        for each in (loop, second, mine, peer, held, client, other, far):
            each.close()


def check_that_who_waits_for_a_peer_to_connect_is_freed():
    """As NCCL does when it begins a group. Gloo's listening sockets stay as they are."""
    store = dist.TCPStore("127.0.0.1", 0, 1, True, wait_for_workers=False)
    for is_gloo in (False, True):
        sockets, errors = GroupSockets(), []
        with socket.create_server(("127.0.0.1", 0)) as before, \
                sockets.beginning(store.port, is_gloo):
            with socket.create_server(("127.0.0.1", 0)) as server:
                waiting = threading.Thread(target=accept, args=[server, errors])
                waiting.start()
                if is_gloo:
                    sockets.shut_down()
                    socket.create_connection(server.getsockname()).close()
                while waiting.is_alive():
                    sockets.shut_down()
                    waiting.join(0.01)
            assert bool(errors) is not is_gloo, errors
            socket.create_connection(before.getsockname()).close()


def accept(server, errors):
    try:
        server.accept()[0].close()
    except OSError as error:
        errors.append(error)


class Group:
    """A process group of NCCL, as far as it is used."""

    def __init__(self, error="SUCCESS"):
        self.is_aborted = threading.Event()
        self.error = error
        self.peers = []

    def abort(self):
        self.is_aborted.set()
        for peer in self.peers:  # a kernel of it may be in front of this one's
            assert peer.is_aborted.wait(60), "groups are aborted one after the other"

    def _get_backend(self, device):
        assert device.type == "cuda"
        return self

    def get_error(self):
        return types.SimpleNamespace(name=self.error)


@contextlib.contextmanager
def groups_are(**by_backend):
    world = types.SimpleNamespace(pg_backend_config={
        group: backend for backend, group in by_backend.items()})
    with mock.patch.object(dist.distributed_c10d, "_world", world, create=True):
        yield


def check_groups_of_nccl():
    one, two, other = Group(), Group(), Group()
    one.peers, two.peers = [two], [one]
    nccl = NcclGroups()
    with groups_are(**{"cuda:nccl": one, "cpu:gloo,cuda:nccl": two, "cpu:gloo,cuda:gloo": other}):
        assert not nccl.have_failed()
        with nccl.closing():
            nccl.abort()
            assert not one.is_aborted.is_set(), "it is aborted while it is destroyed"
        nccl.abort()
        assert one.is_aborted.is_set() and two.is_aborted.is_set()
        assert not other.is_aborted.is_set(), "it is not a group of NCCL"
        nccl.abort()
        other.error = "COMM_ERROR"
        assert not nccl.have_failed()
        two.error = "COMM_ERROR"
        assert nccl.have_failed()
    with groups_are(**{"cuda:nccl": object()}):  # an old PyTorch
        nccl.abort()
        assert not nccl.have_failed()
    assert not nccl.is_device_broken()


def check_what_nccl_does_about_errors():
    names = ["TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_DUMP_ON_TIMEOUT",
             "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC"]
    for before, tells_errors, after in [
            ({}, True, ["2", "0", "1"]), ({names[0]: "1"}, True, ["2", "0", "1"]),
            ({names[0]: "3"}, True, ["2", "0", "1"]), ({names[0]: "1"}, False, ["0", "0", "1"]),
            ({names[0]: "0", names[1]: "1", names[2]: "9"}, True, ["0", "1", "9"])]:
        with mock.patch.dict(os.environ, before), \
                mock.patch.object(nccl_groups, "_tells_errors", lambda told=tells_errors: told):
            for name in names:
                if name not in before:
                    os.environ.pop(name, None)
            NcclGroups.configure()
            assert [os.environ[name] for name in names] == after, (before, tells_errors)
    assert dist.is_nccl_available() or not nccl_groups._tells_errors()


class OnDevice(torch.Tensor):
    """Of which TorchState thinks that it is on a GPU."""

    is_cuda = True


def check_that_a_commit_takes_no_wrong_results():
    """NCCL that is aborted fails without an exception."""
    calls = []

    def fail():
        assert calls == ["synchronize"], "it does not know yet whether the work failed"
        raise RuntimeError("NCCL has given up")

    weights = torch.zeros(3).as_subclass(OnDevice)
    with mock.patch.object(torch.cuda, "synchronize", lambda *_: calls.append("synchronize")), \
            mock.patch.object(torch_state, "_new_buffer",
                              lambda each: torch.empty(each.shape, dtype=each.dtype)):
        state = survive.TorchState(weights=weights, step=0)
        state.commit()
        state.step = 1
        weights.add_(7)
        with mock.patch.object(torch_state, "raise_if_invalid", fail):
            calls.clear()
            try:
                state.commit()
                raise AssertionError("the commit took them")
            except RuntimeError as error:
                assert "given up" in str(error)
        assert state.commits == 1 and state.restore() and state.step == 0
        assert float(weights.sum()) == 0


def check_that_a_commit_is_a_step():
    """Unless the script reports its own; and nothing that the agent does disturbs it."""
    agent, own = socket.socketpair()
    epochs = survive._Epochs()
    epochs._channel = worker.Channel(own)

    def reports():
        epochs.report_commit()
        try:
            return json.loads(agent.recv(4096, socket.MSG_DONTWAIT))
        except BlockingIOError:
            return None

    assert reports() is None, "there is no state"
    epochs.state = survive.TorchState(step=4)
    assert reports() == {"kind": "progress", "automatic": True, "step": 4}
    epochs.total_steps = 9
    assert reports() == {"kind": "progress", "automatic": True, "step": 4, "total": 9}
    for no_number in ("four", True, -1, torch.zeros(1)):
        epochs.state.step = no_number
        assert reports()["step"] == epochs.state.commits == 0, no_number
    worker.Channel().progress(7)
    assert reports() is None, "the script reports its own steps"
    with mock.patch.object(worker, "has_progress", False):
        for _ in range(100_000):  # more than the agent's end takes
            epochs.report_commit()
        agent.close()
        epochs.report_commit()
    assert not epochs._channel.connected


check_restore()
check_restore_before_first_step()
check_that_a_commit_is_a_step()
check_that_tensors_of_any_size_are_kept()
check_giving()
check_transfers()
check_refusals()
check_that_no_other_connection_ends()
check_that_a_lost_peer_is_seen()
check_that_who_waits_for_a_peer_to_connect_is_freed()
check_groups_of_nccl()
check_what_nccl_does_about_errors()
check_that_a_commit_takes_no_wrong_results()
check_plain_script()
check_wrapped_in_ddp()
print("all is as expected")
