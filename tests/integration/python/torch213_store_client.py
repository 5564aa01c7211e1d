# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Every operation of the TCPStore of PyTorch 2.13 against a server that is not PyTorch's, and its
rendezvous at that.

  torch213_store_client.py PORT

It prints one line at its end. A second process of its own does what others do meanwhile.
"""

import concurrent.futures
import datetime
import os
import subprocess
import sys
import time

import torch.distributed as dist
from torch.distributed.elastic.rendezvous import RendezvousClosedError, RendezvousParameters
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
from torch.distributed.elastic.rendezvous.registry import get_rendezvous_handler

PORT = int(sys.argv[1])
LARGE = "x" * (1 << 20)


def seconds(number):
    return datetime.timedelta(seconds=number)


def client(timeout=20.0):
    return dist.TCPStore("127.0.0.1", PORT, None, False, seconds(timeout), wait_for_workers=False)


def expect(wanted, got, what):
    if wanted != got:
        sys.exit(f"{what}: expected {wanted!r}, got {got!r}")


def expect_failure(kind, call, what):
    start = time.monotonic()
    try:
        call()
    except kind:
        if time.monotonic() - start > 15:
            sys.exit(f"{what}: failed too late")
    else:
        sys.exit(f"{what}: did not fail")


def values(store):
    store.set("k", "v")
    expect(b"v", store.get("k"), "get")
    store.set("k", "")
    expect(b"", store.get("k"), "get of an empty value")
    store.set("large", LARGE)
    expect(LARGE.encode(), store.get("large"), "get of 1 MiB")
    store.set("y" * 8191, "v")
    expect(b"v", store.get("y" * 8191), "get of a long key")
    expect(5, store.add("n", 5), "add")
    expect(-2, store.add("n", -7), "add of a negative number")
    expect(b"first", store.compare_set("c", "", "first"), "compare_set that creates")
    expect(b"second", store.compare_set("c", "first", "second"), "compare_set that replaces")
    expect(b"second", store.compare_set("c", "wrong", "third"), "compare_set that does not")
    expect(b"x", store.compare_set("missing", "x", "y"), "compare_set of a missing key")
    expect(True, store.check(["k", "c"]), "check")
    expect(False, store.check(["k", "missing"]), "check of a missing key")
    keys = store.num_keys()
    expect(True, store.delete_key("c"), "delete_key")
    expect(False, store.delete_key("c"), "delete_key of a missing key")
    expect(keys - 1, store.num_keys(), "num_keys")
    store.append("a", "one")
    store.append("a", "two")
    expect(b"onetwo", store.get("a"), "append")
    store.multi_set(["m1", "m2"], ["1", "22"])
    expect([b"1", b"22"], store.multi_get(["m1", "m2"]), "multi_get")
    for wanted in ("k", "m2"):
        expect(True, wanted in store.list_keys(), "list_keys")


def prefixes(store):
    nested = dist.PrefixStore("outer", dist.PrefixStore("inner", store))
    nested.set("k", "nested")
    expect(b"nested", store.get("inner/outer/k"), "key of nested prefixes")
    nested.queue_push("q", "deep")
    expect(b"deep", store.queue_pop("inner/outer/q"), "queue through prefixes")
    nested.multi_set(["a", "b"], ["1", "2"])
    expect([b"1", b"2"], nested.multi_get(["a", "b"]), "multi_get through prefixes")


def queues(store):
    expect(0, store.queue_len("q"), "length of a new queue")
    for item in ("1", "2", "3"):
        store.queue_push("q", item)
    expect(3, store.queue_len("q"), "queue_len")
    expect(b"1", store.queue_pop("q"), "queue_pop")
    expect(b"2", store.queue_pop("q", block=False), "queue_pop without waiting")
    expect(b"3", store.queue_pop("q"), "last queue_pop")
    expect_failure(dist.QueueEmptyError, lambda: store.queue_pop("q", block=False), "empty queue")


def copies(store):
    clone = store.clone()
    clone.set("from clone", "1")
    expect(b"1", store.get("from clone"), "clone")
    del clone
    expect(b"1", store.get("from clone"), "get after the clone's end")


def timeouts(store):
    hasty = client()
    hasty.set_timeout(seconds(0.2))
    expect_failure(dist.DistStoreError, lambda: hasty.get("never"), "get")
    expect_failure(dist.DistStoreError, lambda: hasty.wait(["k", "never"]), "wait")
    expect_failure(dist.DistStoreError, lambda: hasty.multi_get(["k", "never"]), "multi_get")
    expect_failure(dist.DistStoreError, lambda: hasty.queue_pop("never q"), "queue_pop")
    expect_failure(dist.DistStoreError, lambda: hasty.barrier("alone", 2, seconds(0.2)), "barrier")
    # The waits were given up. That the key comes now must not disturb the next replies.
    store.set("never", "now")
    for number in range(1, 20):
        expect(number, hasty.add("after timeout", 1), "add after a timeout")
    expect(b"now", hasty.get("never"), "get of what was waited for")


# What another process does while this one waits.
OTHER = """
import datetime, sys
import torch.distributed as dist
twenty = datetime.timedelta(seconds=20)
store = dist.TCPStore("127.0.0.1", int(sys.argv[1]), None, False, twenty, wait_for_workers=False)
store.wait(["begin"])
store.set("late", "1")
store.wait(["late was read"])
store.queue_push("late q", "item")
store.barrier("gate", 2, twenty)
store.set("end", "1")
"""


def with_another(store):
    with subprocess.Popen([sys.executable, "-c", OTHER, str(PORT)]) as other:
        store.set("begin", "1")
        expect(b"1", store.get("late"), "a key that came late")
        store.set("late was read", "1")
        expect(b"item", store.queue_pop("late q"), "an item that came late")
        store.barrier("gate", 2, seconds(20))
        store.wait(["end"])
    expect(0, other.returncode, "the other process")


def at_once(*calls):
    """What the calls return that are made on threads, at the same time."""
    with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
        return [each.result(30) for each in [pool.submit(call) for call in calls]]


def crowds(store):
    """Several clients work on the same keys, after PyTorch's own tests of its stores."""
    clients = [client() for _ in range(4)]

    def count(each):
        return [each.add("crowd", 1) for _ in range(50)]
    numbers = [number for part in at_once(*[lambda each=each: count(each) for each in clients])
               for number in part]
    expect(list(range(1, 201)), sorted(numbers), "numbers that several clients drew")

    def take_one(each):
        # PyTorch's client waits for the key and then pops: another may have emptied it between.
        while True:
            try:
                return each.queue_pop("work")
            except dist.QueueEmptyError:
                pass

    def take(each):
        return [take_one(each) for _ in range(25)]

    def give():
        for number in range(75):
            store.queue_push("work", str(number))
    shares = at_once(give, *[lambda each=each: take(each) for each in clients[1:]])[1:]
    expect([str(number).encode() for number in range(75)],
           sorted((item for share in shares for item in share), key=int), "items that were shared")
    for share in shares:
        expect(sorted(share, key=int), share, "the order of one client's items")
    expect(0, store.queue_len("work"), "what is left of the work")

    def replace(each):
        return each.compare_set("winner", "", str(id(each))) == str(id(each)).encode()
    winners = at_once(*[lambda each=each: replace(each) for each in clients])
    expect(1, winners.count(True), "clients that made the same key")
    at_once(*[lambda each=each: each.barrier("crowd gate", 4, seconds(20)) for each in clients])

    def answer():
        for _ in range(20):
            clients[1].queue_push("pong", clients[1].queue_pop("ping") + b"!")

    def ask():
        replies = []
        for number in range(20):
            clients[0].queue_push("ping", str(number))
            replies.append(clients[0].queue_pop("pong"))
        return replies
    expect([f"{number}!".encode() for number in range(20)], at_once(ask, answer)[0],
           "questions and answers by queues")


def urls(_):
    """What init_process_group does with an address, if an agent serves the store."""
    os.environ.update(TORCHELASTIC_USE_AGENT_STORE="True", MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(PORT), RANK="0", WORLD_SIZE="2")

    def meet(url, **more):
        return next(iter(dist.rendezvous(url, timeout=seconds(20), **more)))
    for first, second in ((("env://", {}), ("env://", {"rank": 1})),
                          (("env://?rank=0&world_size=2", {}), ("env://?rank=1&world_size=2", {})),
                          ((f"tcp://127.0.0.1:{PORT}?rank=0&world_size=2", {}),
                           (f"tcp://127.0.0.1:{PORT}?rank=1&world_size=2", {}))):
        met = at_once(*[lambda url=url, more=more: meet(url, **more)
                        for url, more in (first, second)])
        expect([(0, 2), (1, 2)], [(rank, size) for _, rank, size in met], f"ranks of {first[0]}")
        met[0][0].set(first[0], "found")
        expect(b"found", met[1][0].get(first[0]), f"the store of {first[0]}")


def tokens(store):
    backend, other = (C10dRendezvousBackend(each, "tokens") for each in (store, client()))
    expect(None, backend.get_state(), "state of a new rendezvous")
    state, token, is_ours = backend.set_state(b"one")
    expect((b"one", True), (state, is_ours), "first state")
    expect((b"one", token), other.get_state(), "state that another one reads")
    for wrong in (None, b"wrong", "no token"):
        expect((b"one", token, False), other.set_state(b"two", wrong), f"state with token {wrong}")
    newer = other.set_state(b"two", token)
    expect((b"two", True), (newer[0], newer[2]), "state with the token")
    expect((b"two", newer[1], False), backend.set_state(b"three", token), "state with an old token")


def meeting(_):
    """Two real handlers, neither of which serves."""
    def new_handler():
        return get_rendezvous_handler(RendezvousParameters(
            "c10d", f"127.0.0.1:{PORT}", "meeting", 2, 2, local_addr="127.0.0.1", is_host="false"))

    handlers = [new_handler() for _ in range(2)]
    with concurrent.futures.ThreadPoolExecutor() as pool:
        rounds = list(pool.map(lambda handler: handler.next_rendezvous(), handlers))
    expect([0, 1], sorted(each.rank for each in rounds), "ranks")
    expect([2, 2], [each.world_size for each in rounds], "sizes of the world")
    rounds[0].store.set("from", "the other")
    expect(b"the other", rounds[1].store.get("from"), "the store of a round")
    expect(0, handlers[0].num_nodes_waiting(), "nodes that wait")
    handlers[0].set_closed()
    expect_failure(RendezvousClosedError, new_handler().next_rendezvous, "a round after the end")


def main():
    store = client()
    for part in (values, prefixes, queues, copies, timeouts, with_another, crowds, urls, tokens,
                 meeting):
        part(store)
    print("all operations are as expected")


main()
