#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Every operation of torch.distributed.TCPStore against a server that is not PyTorch's.

  torch_store_client.py PORT
"""

import datetime
import sys
import threading
import time

import torch.distributed as dist

PORT = int(sys.argv[1])


def client(timeout=20.0):
    return dist.TCPStore("127.0.0.1", PORT, None, False, datetime.timedelta(seconds=timeout))


def expect(wanted, got, what):
    if wanted != got:
        sys.exit(f"{what}: expected {wanted!r}, got {got!r}")


def expect_timeout(call, what):
    start = time.monotonic()
    try:
        call()
    except RuntimeError as failure:
        if "imeout" not in str(failure):
            sys.exit(f"{what}: {failure}")
    else:
        sys.exit(f"{what}: did not time out")
    if time.monotonic() - start > 15:
        sys.exit(f"{what}: timed out too late")


def values(store):
    store.set("k", "v")
    expect(b"v", store.get("k"), "get")
    store.set("k", "")
    expect(b"", store.get("k"), "get of an empty value")
    store.set("large", "x" * (8 << 20))
    expect(8 << 20, len(store.get("large")), "length of a large value")
    expect(5, store.add("n", 5), "add")
    expect(-2, store.add("n", -7), "add of a negative number")
    expect(b"-2", store.get("n"), "get of a number")
    store.set("text", "12abc")
    expect(13, store.add("text", 1), "add to a number with text behind it")
    store.set("n", str(2**63 - 1))
    expect(-(2**63), store.add("n", 1), "add that overflows")
    expect(b"first", store.compare_set("c", "", "first"), "compare_set that creates")
    expect(b"second", store.compare_set("c", "first", "second"), "compare_set that replaces")
    expect(b"second", store.compare_set("c", "wrong", "third"), "compare_set that does not")
    expect(b"x", store.compare_set("missing", "x", "y"), "compare_set of a missing key")
    keys = store.num_keys()
    expect(True, store.delete_key("c"), "delete_key")
    expect(False, store.delete_key("c"), "delete_key of a missing key")
    expect(keys - 1, store.num_keys(), "num_keys")
    store.wait(["k", "n", "k"])


def prefixes(store):
    nested = dist.PrefixStore("outer", dist.PrefixStore("inner", store))
    nested.set("k", "nested")
    expect(b"nested", store.get("inner/outer/k"), "key of nested prefixes")
    expect(b"nested", nested.get("k"), "get through prefixes")
    expect(1, nested.add("n", 1), "add through prefixes")
    expect(True, nested.delete_key("k"), "delete_key through prefixes")


def waits(store):
    other = client()

    def set_later():
        time.sleep(0.1)
        other.set("late 1", "1")
        other.add("late 2", 2)
        other.compare_set("late 3", "", "3")

    setting = threading.Thread(target=set_later)
    setting.start()
    store.wait(["late 3", "late 1", "late 2"])
    expect(b"3", store.get("late 3"), "a key that came late")
    setting.join()


def timeouts(store):
    hasty = client()
    hasty.set_timeout(datetime.timedelta(seconds=0.2))
    expect_timeout(lambda: hasty.get("never"), "get")
    expect_timeout(lambda: hasty.wait(["k", "never"]), "wait")
    expect_timeout(lambda: hasty.wait(["never"], datetime.timedelta(seconds=0.1)), "limited wait")
    hasty.set_timeout(datetime.timedelta(seconds=20))
    # The wait was given up. That the key comes now must not disturb the next replies.
    expect(b"v", (hasty.set("given up", "v"), hasty.get("given up"))[1], "get after a timeout")
    store.set("never", "now")
    for number in range(1, 20):
        expect(number, hasty.add("after timeout", 1), "add after a timeout")
    expect(b"now", hasty.get("never"), "get of what was waited for")


def refused(store):
    store.set("word", "abc")
    victim = client()
    try:
        victim.add("word", 1)
    except RuntimeError:
        pass
    else:
        sys.exit("add to a word: not refused")
    expect(b"abc", store.get("word"), "a word that was added to")


def main():
    store = client()
    for part in (values, prefixes, waits, timeouts, refused):
        part(store)
    print("all operations are as expected")


main()
