# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Calls the functions of the hook that standbys run, in the folder of the hooks that is named."""
import os
import sys
import tempfile
import threading

with open(os.path.join(sys.argv[1], "standby_hook.py"), encoding="utf-8") as file:
    source = file.read()
definitions, end, last = source.rpartition("\ntry:\n    Standby().run()")
assert end and "os._exit(70)" in last
compile(source, "hook", "exec")
hook = {"__name__": "hook", "os": os, "sys": sys}
exec(compile(definitions, "hook", "exec"), hook)


def imports_of(kind, name, files=None):
    with tempfile.TemporaryDirectory() as folder:
        for path, text in (files or {}).items():
            path = os.path.join(folder, path + ".py")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        path = os.path.join(folder, name + ".py") if kind == "script" else name
        return hook["imports_of"](kind, path, folder)


def of_text(text, files=None):
    return [name for name, _ in imports_of("script", "train", {"train": text, **(files or {})})]


# What is imported at the beginning, in this order.
assert of_text("import a, b.c\nfrom d.e import f as g\nfrom h import *") == ["a", "b.c", "d.e", "h"]
assert imports_of("script", "train", {"train": "from d import e, f"}) == [("d", ("e", "f"))]
assert of_text("'text'\nfrom __future__ import annotations\nimport a") == ["a"]
assert of_text("def f():\n  import a\nclass C:\n  import b\nimport c\nx = f()\nimport d") == [
    "c", "d"]
assert of_text("try:\n  import a\nexcept ImportError:\n  import b\nimport c") == ["a", "c"]
assert of_text("if TYPE_CHECKING:\n  import a\nimport b") == ["b"]
assert of_text("import a\nif __name__ == '__main__':\n  f()") == ["a"]
# What may change an import ends it.
for ends in ("f()", "os.environ['A'] = '1'", "sys.flags = 1", "if x:\n  pass", "for x in y: pass",
             "with f(): pass", "del x", "x += 1", "assert f()", "try:\n  f()\nfinally: pass"):
    assert of_text(f"import a\n{ends}\nimport b") == ["a"], ends
# What stands beside the script is read, not run; each file once.
assert of_text("import local, a", {"local": "import b\nimport local"}) == ["b", "a"]
assert of_text("import local, a", {"local": "import b\nf()\nimport c"}) == ["b"]
assert of_text("from package import part", {
    "package/__init__": "import a", "package/other": "import c",
    "package/part": "from . import other\nfrom .other import x\nimport b"}) == ["a", "c", "b"]
assert of_text("import (") == []
assert of_text("import a", {"a": ""}) == []
# Modules.
assert imports_of("module", "m", {"m": "import a"}) == [("a", ())]
assert imports_of("module", "p.m", {"p/__init__": "import a", "p/m": "import b"}) == [
    ("a", ()), ("b", ())]
assert imports_of("module", "installed.m") == [("installed", ())]
assert imports_of("code", "") == []

# Who reads variables, and who keeps them.
own = {b"RANK": b"7", b"WORLD_SIZE": b"9", b"A": b"1"}
real = os.environ._data
lookups = os.environ._data = hook["Lookups"](own)
assert len(dict(os.environ.items())) == 3 and list(os.environ.values()) == ["7", "9", "1"]
assert lookups.are_listed and lookups.names == set()
assert os.environ.get("WORLD_SIZE") == "9" and lookups.names == {b"WORLD_SIZE"}
assert not hook["is_copied"](own, (own,))
for make in (os.environ.copy, lambda: {"RANK": "7"}, lambda: {b"RANK": b"7"}):
    copy = make()
    assert hook["is_copied"](own, (own,)), copy
    assert not hook["is_copied"](own, (own, copy))
copy = [{"RANK": "8"}, {"A": "1"}]
assert not hook["is_copied"](own, (own,))
os.environ._data = real

# What imports look for and do not find.
__import__("email")
misses = hook["Misses"]()
finders = list(sys.meta_path)
with misses:
    for name in ("no_such_module", "email.no_such_part"):
        try:
            __import__(name)
        except ImportError:
            pass
assert sys.meta_path == finders and misses.names == {"no_such_module"}, misses.names
with tempfile.TemporaryDirectory() as folder:
    os.mkdir(os.path.join(folder, "package"))
    with open(os.path.join(folder, "module.py"), "w", encoding="utf-8"):
        assert hook["names_in"](folder) == {"module"}
        assert hook["folders_in"](folder) == {"package"}

# A program that is to take this one's place.
functions = os.execv, os.execve
stops = []
end = hook["guard_execution"](lambda: stops.append(1))
kept = os.execv
for execute in (os.execv, os.execve, os.execl, os.execvp):
    try:
        execute("/no/such/program", *([["x"], {}] if execute == os.execve else [["x"]]))
    except (OSError, TypeError):
        pass
assert len(stops) == 4
end()
assert (os.execv, os.execve) == functions
try:
    kept("/no/such/program", ["x"])
except OSError:
    pass
assert len(stops) == 4

# What a standby tells of itself, and which processors it takes.
standby = object.__new__(hook["Standby"])
standby.before = {b"RANK": b"7", b"A": b"1", b"GONE": b""}
standby.lookups = hook["Lookups"]({b"RANK": b"7", b"A": b"2", b"NEW": b"x"})
standby.lookups.names = {b"RANK", b"LONG" * 100}
standby.missing = ["torch.x"]
assert standby.names() == ["-torch.x", "=A", "=GONE", "=NEW", "=RANK"], standby.names()
processors = os.sched_getaffinity(0)
one = min(processors)
ready, go = threading.Event(), threading.Event()
helper = threading.Thread(target=lambda: (ready.set(), go.wait()))
helper.start()
ready.wait()
for fields, expected in (([b"+A=1", b"-B"], processors), ([b"+A=1", b"@%d" % one], {one}),
                         ([b"@%d-%d,%d" % (one, one, one)], {one})):
    standby.change_processors(fields)
    assert os.sched_getaffinity(0) == os.sched_getaffinity(helper.native_id) == expected, fields
go.set()
helper.join()
os.sched_setaffinity(0, processors)

# An import that opens a device.
assert hook["opened_device"]() is None
with tempfile.NamedTemporaryFile(prefix="nvidia") as device:
    hook["DEVICES"] = (os.path.join(os.path.dirname(device.name), "nvidia"),)
    assert hook["opened_device"]() == device.name
print("all functions do as expected")
