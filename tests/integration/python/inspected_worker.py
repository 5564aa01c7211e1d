# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker that is inspected: inspected_worker.py MODE. It prints "ready" when it does that."""
import os
import sys


def say(text):
    print(text, flush=True)


def inspection_folder():
    with open("/proc/self/environ", "rb") as file:
        for entry in file.read().split(b"\0"):
            if entry.startswith(b"ELASTIC_INSPECTION="):
                return os.fsdecode(entry).split(":", 2)[2]


def descriptors():
    """The kinds of what is open besides the standard streams."""
    kinds = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if int(name) > 2:
                kinds.append(os.readlink("/proc/self/fd/" + name).split(":")[0])
        except OSError:
            pass  # That of the list.
    return sorted(kinds)


def sleep_in_loader():
    import time
    say("ready")
    time.sleep(600)


def spin_forever():
    say("ready")
    while True:
        pass


def call_forever():
    def identity(number):
        return number

    say("ready")
    while True:
        list(map(identity, range(1000)))  # C calls Python: its frames are not whole each time.


def recurse_in_threads():
    import threading

    def descend(depth):
        if depth:
            descend(depth - 1)

    def loop():
        while True:
            descend(800)  # Python frees the memory of deep frames as it returns.

    for _ in range(3):
        threading.Thread(target=loop, daemon=True).start()
    say("ready")
    loop()


def sleep_with_torch():
    import torch.distributed
    assert "exec_module" not in vars(torch.distributed.__loader__)
    sleep_in_loader()


def end_with_torch():
    import time
    import torch.distributed
    say("ready")
    time.sleep(0.2)


def await_recorder():
    """Its server begins to answer at some time after the import."""
    import socket
    answer = b""
    while not answer:
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(f"{inspection_folder()}/{os.getpid()}")
                client.sendall(b"POST /handler/ping HTTP/1.0\r\nContent-Length: 0\r\n\r\n")
                answer = client.recv(1)
            except OSError:
                pass


def fail_with_torch():
    import torch.distributed
    await_recorder()
    raise ValueError("the data is bad")


def import_torch():
    import torch.distributed


def show_children():
    import subprocess
    pid = os.fork()
    if pid == 0:
        say(f"fork {descriptors()}")
        sys.exit(0)
    os.waitpid(pid, 0)
    code = "import os; print('exec', [n for n in os.listdir('/proc/self/fd') if int(n) > 3]," \
           " [n for n in os.environ if n.startswith(('ELASTIC_I', 'PYTHONPATH'))], flush=True)"
    subprocess.run([sys.executable, "-c", code])
    say("done")


def execute_other():
    say("ready")
    os.execv("/bin/sleep", ["sleep", "600"])


def serve(answer):
    """As the recorder's server, and as nobody should."""
    import socket
    server = socket.socket(socket.AF_UNIX)
    server.bind(f"{inspection_folder()}/{os.getpid()}")
    server.listen()
    say("ready")
    while True:
        client, _ = server.accept()
        try:
            answer(client)
        except OSError:
            pass


def answer_endlessly(client):
    client.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        client.sendall(b"1000\r\n" + b"x" * 4096 + b"\r\n")


def answer_never(client):
    client.recv(1 << 20)
    sleep_in_loader()


def answer_nonsense(client):
    client.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    client.close()


MODES = {
    "sleep": sleep_in_loader,
    "spin": spin_forever,
    "calls": call_forever,
    "threads": recurse_in_threads,
    "torch": sleep_with_torch,
    "fail": fail_with_torch,
    "import": import_torch,
    "end": end_with_torch,
    "children": show_children,
    "exec": execute_other,
    "endless": lambda: serve(answer_endlessly),
    "never": lambda: serve(answer_never),
    "nonsense": lambda: serve(answer_nonsense),
}

MODES[sys.argv[1]]()
