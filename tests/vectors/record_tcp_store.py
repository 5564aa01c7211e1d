#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Records what PyTorch's TCPStore client and server say to each other.

  record_tcp_store.py FOLDER PREFIX

A proxy stands between a real client and a real server. Each conversation becomes a file
PREFIX_<name>.json in FOLDER, as the tests replay it. It is had with the server over libuv and with
the other one (USE_LIBUV=0); what the latter says otherwise is in a file PREFIX_<name>_no_libuv.json.
"""

import datetime
import itertools
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time

if sys.argv[1] != "--proxy":
    import torch.distributed as dist

LARGE = 1 << 20


def seconds(number):
    return datetime.timedelta(seconds=number)


class Helper:
    """A process of its own: some calls of torch's store let no other thread of Python run."""

    def __init__(self, *arguments):
        self.process = subprocess.Popen([sys.executable, __file__, *map(str, arguments)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.hello = json.loads(self.process.stdout.readline())

    def tell(self, *words):
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()

    def ask(self, *words):
        self.tell(*words)
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.kill()
        self.process.wait()


def say(value):
    print(json.dumps(value), flush=True)


class Proxy:
    """Passes on the bytes of each connection and notes them, in their order."""

    def __init__(self, port):
        self.target = port
        self.notes = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        for number in itertools.count():
            client, _ = self.listener.accept()
            server = socket.create_connection(("127.0.0.1", self.target))
            threading.Thread(target=self.pass_on, args=(client, server, number), daemon=True).start()

    def pass_on(self, client, server, number):
        while True:
            for source in select.select([client, server], [], [])[0]:
                try:
                    data = source.recv(1 << 20)
                except ConnectionResetError:
                    data = b""
                self.notes.append(("c2s" if source is client else "s2c", number, data.hex()))
                if not data:
                    client.close()
                    server.close()
                    return
                (server if source is client else client).sendall(data)

    def take(self):
        """What was said since the last call, once nothing more is on its way."""
        count = -1
        while count != len(self.notes):
            count = len(self.notes)
            time.sleep(0.2)
        notes, self.notes = self.notes, []
        return notes


def be_proxy(port):
    proxy = Proxy(int(port))
    say(proxy.listener.getsockname()[1])
    for _ in sys.stdin:
        say(proxy.take())


def be_peer(port):
    """Another client, which does what it is told a moment later."""
    store = connect(int(port))
    say("ready")
    for line in sys.stdin:
        operation, *arguments = json.loads(line)
        time.sleep(0.3)
        if operation == "barrier":
            arguments.append(seconds(20))
        getattr(store, operation)(*arguments)


def connect(port, world_size=None, timeout=20):
    return dist.TCPStore("127.0.0.1", port, world_size, False, seconds(timeout),
                         wait_for_workers=world_size is not None)


def merged(notes):
    """One message for what one side sent before the other side said something."""
    messages = []
    for direction, number, data in notes:
        if messages and data and messages[-1][:2] == [direction, number]:
            messages[-1][2] += data
        else:
            messages.append([direction, number, data])
    return messages


def as_json(notes, meaning):
    rows = []
    for direction, number, data in merged(notes):
        row = {"dir": direction, "conn": number, "hex": data.hex(),
               "meaning": meaning if data else "EOF"}
        if len(data) > LARGE:
            # The value is one byte, so often.
            head = data[: len(data) - LARGE]
            assert data == head + b"x" * LARGE, data[:100]
            row["hex"] = head.hex()
            row["repeat"] = {"hex": "78", "count": LARGE}
        rows.append(row)
    return rows


def times_out(call):
    try:
        call()
    except RuntimeError:
        return
    sys.exit("expected a time-out")


def conversations(server, proxy, peer):
    """Yields the name, what it shows and the messages of each conversation."""

    def had():
        return [(direction, number, bytes.fromhex(data))
                for direction, number, data in proxy.ask("take")]

    store = connect(proxy.hello)
    yield "connect", "greeting and ping", had()

    def said(name, meaning, action):
        action()
        return name, meaning, had()

    yield said("set", "set /k v1", lambda: store.set("k", "v1"))
    yield said("set_empty_value", "set /k2 to nothing", lambda: store.set("k2", ""))
    yield said("get", "get /k", lambda: store.get("k"))
    yield said("get_empty_value", "get /k2", lambda: store.get("k2"))
    yield said("add_new_key", "add 5 to /cnt", lambda: store.add("cnt", 5))
    yield said("add_negative", "add -7 to /cnt", lambda: store.add("cnt", -7))
    yield said("get_counter", "get /cnt", lambda: store.get("cnt"))
    server.set("pn", "12abc")
    yield said("add_numeric_prefix", "add 1 to 12abc", lambda: store.add("pn", 1))
    yield said("compare_set_missing_key_empty_expected", "creates /cs",
               lambda: store.compare_set("cs", "", "first"))
    yield said("compare_set_match", "replaces /cs", lambda: store.compare_set("cs", "first", "second"))
    yield said("compare_set_mismatch", "leaves /cs", lambda: store.compare_set("cs", "wrong", "third"))
    yield said("compare_set_missing_key_nonempty_expected", "creates nothing",
               lambda: store.compare_set("none", "x", "y"))
    yield said("check_ready", "check /k /cs", lambda: store.check(["k", "cs"]))
    yield said("check_not_ready", "check /k /zz", lambda: store.check(["k", "zz"]))
    yield said("check_zero_keys", "check nothing", lambda: store.check([]))
    yield said("wait_satisfied", "wait for /k /cnt", lambda: store.wait(["k", "cnt"], seconds(5)))

    def wait_blocked():
        peer.tell("set", "w1", "1")
        peer.tell("set", "w2", "2")
        store.wait(["w1", "w2"], seconds(20))

    yield said("wait_blocked_then_satisfied", "wait for /w1 /w2, which come later", wait_blocked)
    yield said("wait_timeout", "wait for /never is given up",
               lambda: times_out(lambda: store.wait(["never"], seconds(0.3))))
    yield said("get_after_timeout", "get /k", lambda: store.get("k"))

    def get_timeout():
        store.set_timeout(seconds(0.3))
        times_out(lambda: store.get("never"))
        store.set_timeout(seconds(20))

    yield said("get_timeout", "get of /never is given up", get_timeout)
    yield said("append_new_key", "append to /ap", lambda: store.append("ap", "one"))
    yield said("append_existing_key", "append to /ap", lambda: store.append("ap", "two"))
    yield said("get_appended", "get /ap", lambda: store.get("ap"))
    yield said("multi_set", "multi_set /a /b", lambda: store.multi_set(["a", "b"], ["1", "22"]))
    yield said("multi_get", "multi_get /a /b", lambda: store.multi_get(["a", "b"]))
    yield said("queue_push", "push to /q", lambda: store.queue_push("q", "item"))
    yield said("queue_len", "length of /q", lambda: store.queue_len("q"))
    yield said("queue_pop", "pop from /q", lambda: store.queue_pop("q"))
    yield said("queue_len_empty", "length of /q", lambda: store.queue_len("q"))

    def pop_empty():
        try:
            store.queue_pop("q", block=False)
        except dist.QueueEmptyError:
            return
        sys.exit("expected an empty queue")

    yield said("queue_pop_empty_nonblocking", "pop from the empty /q", pop_empty)

    def pop_blocked():
        peer.tell("queue_push", "q", "late")
        store.queue_pop("q")

    yield said("queue_pop_blocked_then_pushed", "pop from /q, to which something comes later",
               pop_blocked)

    def pop_timeout():
        store.set_timeout(seconds(0.3))
        times_out(lambda: store.queue_pop("q"))
        store.set_timeout(seconds(20))

    yield said("queue_pop_timeout", "pop from the empty /q is given up", pop_timeout)
    yield said("delete_key_present", "delete /k2", lambda: store.delete_key("k2"))
    yield said("delete_key_absent", "delete /k2", lambda: store.delete_key("k2"))
    yield said("num_keys", "number of keys", store.num_keys)
    yield said("list_keys", "all keys", store.list_keys)

    def barrier_blocked():
        peer.tell("barrier", "b1", 2)
        store.barrier("b1", 2, seconds(20))

    yield said("barrier_blocked_then_last", "comes first to /b1, for 2", barrier_blocked)
    peer.tell("barrier", "b2", 2)
    time.sleep(1)
    yield said("barrier_last", "comes last to /b2, for 2", lambda: store.barrier("b2", 2, seconds(20)))
    yield said("barrier_after_last", "comes to /b2, where all have been",
               lambda: store.barrier("b2", 2, seconds(2)))
    yield said("barrier_timeout", "is alone at /b3, for 2",
               lambda: times_out(lambda: store.barrier("b3", 2, seconds(0.3))))
    yield said("list_keys_after_barriers", "all keys", store.list_keys)
    nested = dist.PrefixStore("outer", dist.PrefixStore("inner", store))
    yield said("prefix_store_nested", "set k by two prefixes", lambda: nested.set("k", "v"))
    yield said("large_set", "set /large, 1 MiB", lambda: store.set("large", "x" * LARGE))
    yield said("large_get", "get /large", lambda: store.get("large"))
    yield said("long_key", "set a key of 8 KiB, the longest", lambda: store.set("y" * 8191, "v"))
    copies = []
    yield said("clone", "another connection by clone", lambda: copies.append(store.clone()))
    yield said("clone_get", "get /a by the clone", lambda: copies[0].get("a"))
    yield said("clone_end", "the clone ends", copies.clear)
    workers = []
    yield said("wait_for_workers", "the only one of a group",
               lambda: workers.append(connect(proxy.hello, 1)))
    yield said("add_non_number", "add 1 to v1", lambda: refused(lambda: workers[0].add("k", 1)))


def refused(call):
    try:
        call()
    except RuntimeError:
        return
    sys.exit("expected to be refused")


def record(use_libuv):
    server = dist.TCPStore("127.0.0.1", 0, None, True, seconds(20), wait_for_workers=False,
                           use_libuv=use_libuv)
    proxy = Helper("--proxy", server.port)
    peer = Helper("--peer", server.port)
    found = {}
    try:
        for name, meaning, notes in conversations(server, proxy, peer):
            found[name] = as_json(notes, meaning)
    except (RuntimeError, OSError) as failure:
        # The server without libuv does not know all operations.
        found[""] = [str(failure)]
    proxy.end()
    peer.end()
    return found


def write(folder, name, rows):
    with open(os.path.join(folder, name + ".json"), "w", encoding="ascii") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")


def main():
    folder, prefix = sys.argv[1:]
    usual = record(True)
    for name, rows in usual.items():
        write(folder, f"{prefix}_{name}", rows)
    other = record(False)
    for name, rows in usual.items():
        if other.get(name) != rows:
            print(f"{name}: otherwise without libuv: {other.get(name)}")
    print(usual.get(""), other.get(""))


if sys.argv[1] == "--proxy":
    be_proxy(sys.argv[2])
elif sys.argv[1] == "--peer":
    be_peer(sys.argv[2])
else:
    main()
