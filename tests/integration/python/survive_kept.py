# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Process groups that outlive an epoch, in one process: what a rank tells the others, whom it
connects, and how DDP stays as a newcomer makes it. What PyTorch 2.14 adds is played here."""

import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "python"))
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed import distributed_c10d as c10d  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402
from elasticrun import kept_groups  # noqa: E402
from elasticrun.kept_groups import KeptGroups, Meeting, NotMet  # noqa: E402

CONNECTIONS = []  # number, handles, group
PROBLEM = []
BEGIN = dist.init_process_group


class Connected:
    def wait(self):
        pass


def play_reconfigure():
    def begin(backend, enable_reconfigure=False, **options):
        BEGIN(backend, **options)

    def reconfigure(number, handles, group, timeout):
        if len(handles) > 1 and PROBLEM:
            raise RuntimeError(PROBLEM[0])
        CONNECTIONS.append((number, handles, group))
        return Connected()

    dist.init_process_group = begin
    dist._get_reconfigure_handle = lambda group: f"own {c10d._world.pg_names[group]}"
    dist._reconfigure = reconfigure


def store():
    return dist.TCPStore("127.0.0.1", 0, None, True, wait_for_workers=False)


def meeting(*others, results=None):
    """Of this rank, which is 0, and others that have said this already."""
    said = Meeting(store(), 0, 1 + len(others))
    for rank, offer in enumerate(others, 1):
        said.store.set(f"elasticrun.groups/{rank}", json.dumps(offer))
        said.store.set(f"elasticrun.groups.met/{rank}",
                       json.dumps((results or {}).get(rank, {"problem": "", "seconds": 1})))
    return said


def offer(*handles, modules=0):
    return {"torch": "2.14.1", "modules": modules, "handles": list(handles)}


def error_of(call, kind):
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"no {kind.__name__}")


def with_kept(call, **options):
    """A new KeptGroups for `call`, which is destroyed afterwards."""
    groups = KeptGroups(options)
    CONNECTIONS.clear()
    try:
        call(groups)
    finally:
        groups.destroy()
    assert not dist.is_initialized()


def model():
    torch.manual_seed(1)
    return torch.nn.Sequential(*[torch.nn.Linear(300, 300) for _ in range(12)])


# ---- the tests -----------------------------------------------------------------------------------


def ranks_say_what_they_have():
    server = store()
    found = {}

    def say(rank):
        client = dist.TCPStore("127.0.0.1", server.port, None, False, wait_for_workers=False)
        found[rank] = Meeting(client, rank, 3).exchange("said/", {"rank": rank})

    threads = [threading.Thread(target=say, args=[rank]) for rank in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {rank: [{"rank": each} for each in range(3)] for rank in range(3)}, found


def groups_are_connected_by_their_members():
    def check(groups):
        default = dist.group.WORLD
        mine, theirs = groups.new_group([0, 2]), groups.new_group([1, 2])
        # Each is alone, by a number that no other process has: else handles would be the same.
        assert [group for _, _, group in CONNECTIONS] == [mine, theirs]
        assert all(number > 1 << 32 for number, _, _ in CONNECTIONS), CONNECTIONS
        groups.detach()
        CONNECTIONS.clear()
        assert not dist.is_initialized()
        groups.attach(7, meeting(offer("a", "b", "c"), offer("d", "e", "f")))
        assert dist.group.WORLD is default
        connected = [(number, handles[1:], group) for number, handles, group in CONNECTIONS]
        assert connected == [(7, ["a", "d"], default), (7, ["e"], mine)], connected
        assert c10d._world.pg_group_ranks[default] == {0: 0, 1: 1, 2: 2}
        assert c10d._world.pg_group_ranks[mine] == {0: 0, 2: 1}
        assert c10d._world.pg_group_ranks[theirs] == {0: 0}

    with_kept(check)


def groups_of_an_epoch_end_with_it():
    def check(groups):
        groups.detach()
        for epoch in (1, 2):
            CONNECTIONS.clear()
            groups.attach(epoch, meeting(offer("a")))
            group = dist.new_group([0])
            name = c10d._world.pg_names[group]
            groups.detach()
            assert group not in c10d._world.pg_map
            # Alone again, by another number.
            assert [len(handles) for _, handles, _ in CONNECTIONS] == [2, 1]
            assert CONNECTIONS[1][0] > 1 << 32
            names.append(name)
        assert names[0] == names[1], names

    names = []
    with_kept(check)


def the_store_is_that_of_the_epoch():
    def check(groups):
        groups.detach()
        for epoch in (1, 2):
            met = meeting(offer("a"))
            groups.attach(epoch, met)
            default = c10d._get_default_store()
            assert default.add("count", 1) == 1
            default.set("key", "value")
            assert default.get("key") == b"value" and default.check(["key"])
            assert met.store.check(["0//key"])
            groups.detach()

    with_kept(check)


def problems_are_the_same_for_all():
    for others, results, expected in (
            ([{"torch": "2.13.0"}], {}, "rank 1 cannot keep its process group (PyTorch 2.13.0)"),
            ([offer("a", modules=1)], {},
             "the number of modules of DDP outside of the function under survive.run is 1 in rank "
             "1 and 0 in rank 0"),
            ([offer("a", "b")], {},
             "the number of process groups outside of the function under survive.run is 2 in rank "
             "1 and 1 in rank 0"),
            ([offer("a"), offer("b")], {2: {"problem": "no route", "seconds": 0}},
             "rank 2 could not connect its process groups (no route)")):
        def check(groups):
            groups.detach()
            text = error_of(lambda: groups.attach(1, meeting(*others, results=results)), NotMet)
            assert text == expected, text
            assert not dist.is_initialized()

        with_kept(check)


def the_first_that_fails_is_named():
    def check(groups):
        groups.detach()
        PROBLEM.append("refused")
        for seconds, rank in ((1e9, 0), (-1, 1)):
            others = {1: {"problem": "timed out", "seconds": seconds}}
            text = error_of(lambda: groups.attach(1, meeting(offer("a"), results=others)), NotMet)
            assert text.startswith(f"rank {rank} could not"), text
        PROBLEM.clear()

    with_kept(check)


def only_modules_before_the_first_epoch_are_kept():
    def check(groups):
        assert not groups.are_used
        before = DistributedDataParallel(torch.nn.Linear(2, 2))
        assert groups.are_used
        groups.settle()
        groups.detach()
        groups.attach(1, meeting(offer("a", modules=1)))
        within = DistributedDataParallel(torch.nn.Linear(2, 2))
        del before
        assert not groups.are_used
        del within

    with_kept(check)


def kept_modules_have_the_buckets_of_a_newcomer():
    def check(groups):
        layers = model()
        parallel = DistributedDataParallel(layers)
        for _ in range(2):  # at first, and after an epoch in which a step was not finished
            groups._settled = 0
            groups.settle()
            assert all(each.grad is None for each in layers.parameters())
            for step in range(3):
                inputs = torch.full((2, 300), float(step))
                parallel.zero_grad()
                parallel(inputs).pow(2).mean().backward()
                expected = torch.autograd.grad(layers(inputs).pow(2).mean(), layers.parameters())
                assert all(map(torch.allclose, [each.grad for each in layers.parameters()],
                               expected))
                assert not parallel.reducer._rebuild_buckets()
            parallel(inputs)

    with_kept(check)


def modules_with_a_state_of_their_own_are_refused():
    def hooked(module):
        parallel = DistributedDataParallel(module)
        parallel.register_comm_hook(None, lambda state, bucket: None)
        return parallel

    for make, expected in (
            (lambda: DistributedDataParallel(model(), static_graph=True), "static_graph=True"),
            (lambda: hooked(model()), "a communication hook"),
            (lambda: DistributedDataParallel(torch.nn.Embedding(4, 2, sparse=True)),
             "sparse gradients")):
        def check(groups):
            parallel = make()
            assert expected in error_of(groups.settle, ValueError)
            del parallel

        with_kept(check)


def main():
    assert kept_groups.is_possible("gloo", {}) == hasattr(dist, "_reconfigure")
    play_reconfigure()
    assert kept_groups.is_possible("gloo", {"timeout": None})
    assert not kept_groups.is_possible("nccl", {})
    assert not kept_groups.is_possible("gloo", {"device_id": 0})
    for test in (ranks_say_what_they_have, groups_are_connected_by_their_members,
                 groups_of_an_epoch_end_with_it, the_store_is_that_of_the_epoch,
                 problems_are_the_same_for_all, the_first_that_fails_is_named,
                 only_modules_before_the_first_epoch_are_kept,
                 kept_modules_have_the_buckets_of_a_newcomer,
                 modules_with_a_state_of_their_own_are_refused):
        test()
    print("all is as expected")


main()
