# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Writes what a script can find out about its process; the same whether it started warm or cold."""
import atexit
import gc
import io
import json
import locale
import marked
import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import traceback

OF_ATTEMPT = ("MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_ERROR_FILE",
              "ELASTIC_CONTROL")


def answer(queue):
    queue.put((__name__, os.environ["MASTER_PORT"] == sys.argv[2]))


def of_stream(stream):
    about = {name: getattr(stream, name) for name in (
        "name", "mode", "encoding", "errors", "newlines", "line_buffering", "write_through")}
    about["type"] = [str(type(each)) for each in (
        stream, stream.buffer, getattr(stream.buffer, "raw", None))]
    about["state"] = [stream.fileno(), stream.isatty(), stream.seekable(), stream.closed]
    raw = getattr(stream.buffer, "raw", stream.buffer)
    about["raw"] = [raw.name, raw.mode, raw.closefd, raw._blksize, os.get_blocking(raw.fileno()),
                    os.get_inheritable(raw.fileno())]
    return about


def of_traceback():
    try:
        raise ValueError("a")
    except ValueError:
        return traceback.format_exc()


def answer_of(method):
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    process = context.Process(target=answer, args=(queue,))
    process.start()
    result = queue.get()
    process.join()
    return [result, process.exitcode]


def properties():
    main = sys.modules["__main__"]
    variables = {name: value for name, value in os.environ.items() if name not in OF_ATTEMPT}
    child = subprocess.run(["/usr/bin/env", "-0"], stdout=subprocess.PIPE, check=True).stdout
    depth = 0
    frame = sys._getframe()
    while frame:
        depth += 1
        frame = frame.f_back
    return {
        "argv": sys.argv[:2], "orig_argv": sys.orig_argv[:-1], "path": sys.path,
        "executable": [sys.executable, sys.prefix, sys.base_prefix], "flags": str(sys.flags),
        "warnoptions": [sys.warnoptions, sys._xoptions],
        "main": sorted(vars(main)), "file": main.__file__, "spec": str(main.__spec__),
        "package": main.__package__, "loader": str(type(main.__loader__)),
        "caches": [path for path in sys.path_importer_cache if "/proc/" in path],
        "finders": [str(finder) for finder in sys.meta_path], "hooks": len(sys.path_hooks),
        "customized": [name in sys.modules for name in ("sitecustomize", "usercustomize")],
        "in": of_stream(sys.stdin), "out": of_stream(sys.stdout), "err": of_stream(sys.stderr),
        "own": [sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__,
                sys.stderr is sys.__stderr__],
        "text": sys.stdin.read(), "streams": [os.readlink(f"/proc/self/fd/{n}").split(":")[0]
                                              for n in (0, 1, 2)],
        "descriptors": sorted(map(int, os.listdir("/proc/self/fd"))),
        "signals": [str(signal.getsignal(n)) for n in sorted(signal.valid_signals())],
        "mask": sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))),
        "umask": os.umask(0o22), "cwd": os.getcwd(), "nice": os.nice(0),
        "limits": [resource.getrlimit(n) for n in range(16)],
        "processors": sorted(os.sched_getaffinity(0)),
        "session": [os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid()],
        "parent": open(f"/proc/{os.getppid()}/comm", encoding="ascii").read(),
        "name": open("/proc/self/comm", encoding="ascii").read(),
        "line": open("/proc/self/cmdline", encoding="utf-8").read().split("\0")[:-2],
        "memory": open("/proc/self/oom_score_adj", encoding="ascii").read(),
        "group": open("/proc/self/autogroup", encoding="ascii").read().split()[-1:]
        if os.path.exists("/proc/self/autogroup") else [],
        "threads": [threading.active_count(), len(os.listdir("/proc/self/task"))],
        "variables": variables, "types": [str(type(os.environ)), str(type(os.environ._data))],
        "bytes": os.environb[b"LOCAL_RANK"].decode(),
        "child": sorted(entry for entry in child.decode().split("\0")
                        if entry.partition("=")[0] not in OF_ATTEMPT),
        "named": all(name in os.environ for name in OF_ATTEMPT),
        "depth": depth, "recursion": sys.getrecursionlimit(), "traceback": of_traceback(),
        "tracing": [str(sys.gettrace()), str(sys.getprofile())],
        "error": sys.excepthook is sys.__excepthook__,
        "collector": [gc.isenabled(), gc.get_threshold(), len(gc.callbacks)],
        "at exit": atexit._ncallbacks(), "locale": locale.setlocale(locale.LC_ALL),
        "io": io.text_encoding(None), "fork": answer_of("fork"), "spawn": answer_of("spawn"),
        "forkserver": answer_of("forkserver"),
    }


if __name__ == "__main__":
    attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
    sys.argv.append(os.environ["MASTER_PORT"])
    found = properties()
    print("out of", os.environ["LOCAL_RANK"])
    print("err of", os.environ["LOCAL_RANK"], file=sys.stderr)
    text = json.dumps(found, indent=1, sort_keys=True, default=str)
    with open(f"{sys.argv[1]}.{attempt}", "w", encoding="utf-8") as file:
        file.write(re.sub(r"0x[0-9a-f]+|attempt_\d", "_", text))
    with open(sys.argv[1], "a", encoding="ascii") as starts:
        starts.write(f"{os.environ['LOCAL_RANK']} {attempt} {os.getpid()} {marked.pid}\n")
    if attempt == "0":
        signal.pause()
