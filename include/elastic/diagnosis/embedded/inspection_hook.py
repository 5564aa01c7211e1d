# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
#
# The code that a Python worker runs before its script, after the `hook_prelude`, so that the
# agent can inspect it. ELASTIC_INSPECTION is "HAD_PATH:PIPE:FOLDER": the path of the pipe for
# stacks, and the folder of the sockets. No error in it reaches the script.
#
# Stacks: the main thread writes its own to the pipe: at SIGWINCH between two instructions of
# Python, at SIGURG at once, by `faulthandler`. Without a handler, the kernel ignores these
# signals, so they never end a process that has no handler or has removed it. A thread that runs
# Python gets no SIGURG: while Python (up to 3.12) calls a function, its frames are incomplete for
# a moment. So may be those of another thread, which keeps running while they are read. Reading
# incomplete frames can end in SIGSEGV.
# Recorder: once PyTorch's module `torch.distributed` has been imported, PyTorch's own server
# listens at FOLDER/PID, on a thread that needs no Python. The hook does not import the module
# itself. A process that ends by an exception leaves its recorders in FOLDER/PID.last.
#
# The server only gets requests that need no Python. If a thread waits for the GIL while the
# interpreter exits, Python ends it by pthread_exit, and then the server's `catch (...)` makes the
# C library abort the process ("exception not rethrown"). Also, `shutdown` holds the GIL while it
# waits for the server's threads: forever, if one of them waits for the GIL.

LOWEST = 200  # Scripts and libraries may count on the small numbers.
LARGEST = 8 << 20


def move_descriptor(number):
    import fcntl
    try:
        moved = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, LOWEST)
    except OSError:
        return number
    os.close(number)
    return moved


def close_in_children(number, and_then=None):
    mark = os.fstat(number)

    def close():
        try:
            if os.path.samestat(os.fstat(number), mark):
                os.close(number)
        except OSError:
            pass  # The script has closed it.
        if and_then:
            and_then()

    os.register_at_fork(after_in_child=close)


def answer_signal(pipe):
    import _signal
    import faulthandler
    number = move_descriptor(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))

    def write_stack(_, frame):
        text = "Stack (most recent call first):\n"
        try:
            for _ in range(100):
                if frame is None:
                    break
                code = frame.f_code
                text += f'  File "{code.co_filename}", line {frame.f_lineno} in {code.co_name}\n'
                frame = frame.f_back
            os.write(number, text.encode(errors="replace"))
        except Exception:
            pass  # There is no room, or the script has closed it.

    def forget():
        faulthandler.unregister(_signal.SIGURG)
        if _signal.getsignal(_signal.SIGWINCH) is write_stack:
            _signal.signal(_signal.SIGWINCH, _signal.SIG_DFL)

    faulthandler.register(_signal.SIGURG, number, all_threads=False)
    if _signal.getsignal(_signal.SIGWINCH) == _signal.SIG_DFL:
        _signal.signal(_signal.SIGWINCH, write_stack)
    close_in_children(number, forget)


def listening_descriptor(path):
    import _socket
    import stat
    for entry in os.listdir("/proc/self/fd"):
        number = int(entry)
        try:
            if stat.S_ISSOCK(os.fstat(number).st_mode):
                copy = _socket.socket(fileno=os.dup(number))
                if copy.getsockname() == path:
                    return number
        except OSError:
            pass  # That of the list itself has been closed.
    return None


class Silence:
    """PyTorch's server warns on stderr that it listens."""

    def __enter__(self):
        import fcntl
        self.kept = fcntl.fcntl(2, fcntl.F_DUPFD_CLOEXEC, LOWEST)
        nothing = os.open("/dev/null", os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nothing, 2)
        os.close(nothing)

    def __exit__(self, *_):
        os.dup2(self.kept, 2)
        os.close(self.kept)


def ask(path, handler):
    """What the server answers; None if it does not."""
    import _socket
    client = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    answer = b""
    try:
        client.settimeout(1)
        client.connect(path)
        client.sendall(f"POST /handler/{handler} HTTP/1.0\r\nContent-Length: 0\r\n\r\n".encode())
        while len(answer) < LARGEST:
            piece = client.recv(1 << 16)
            if not piece:
                break
            answer += piece
    except OSError:
        return None
    finally:
        client.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head:
        return None
    return body if b" 200 " in head[:20] else b""


def leave_recorders(path):
    """One a line: peers may fail because of what this process did, and be asked first."""
    answers = [ask(path, handler) for handler in ("dump_nccl_trace_json", "fr_trace_json")]
    with open(path + ".new", "wb") as file:
        file.writelines(answer.replace(b"\n", b" ") + b"\n" for answer in answers if answer)
    os.rename(path + ".new", path + ".last")


def open_recorder(folder):
    from torch._C._distributed_c10d import _WorkerServer
    import atexit
    import ctypes
    own = os.getpid()
    path = f"{folder}/{own}"
    with Silence():
        server = _WorkerServer(path, -1)
    # Never destroyed: in a forked child that would wait for a thread that is not there.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))

    def shut_down():
        # Its threads must not outlive the interpreter. A shutdown before the server accepts never
        # returns; then at least nobody is to ask it any more.
        if os.getpid() != own:
            return
        if ask(path, "ping") is not None:
            if hasattr(sys, "last_type"):  # It ends by an exception.
                leave_recorders(path)
            with Silence():
                server.shutdown()
        else:
            os.unlink(path)

    atexit.register(shut_down)
    number = listening_descriptor(path)
    if number is not None:
        os.set_inheritable(number, False)
        close_in_children(number)


class RecorderOpener:
    """A finder that has the recorder opened once `torch.distributed` has been imported."""

    def __init__(self, folder):
        self.folder = folder
        self.process = os.getpid()

    def find_spec(self, name, path=None, target=None):
        if name != "torch.distributed":
            return None
        sys.meta_path.remove(self)
        spec = sys.modules["_frozen_importlib"]._find_spec(name, path, target)
        if spec is not None:
            self.follow(spec.loader)
        return spec

    def follow(self, loader):
        run = loader.exec_module

        def exec_module(module):
            del loader.exec_module
            run(module)
            self.open()

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass  # A loader of an unusual kind.

    def open(self):
        try:
            if os.getpid() == self.process:
                open_recorder(self.folder)
        except Exception:
            pass  # An older PyTorch has no such server.


had_path, _, places = os.environ.pop("ELASTIC_INSPECTION").partition(":")
pipe, _, folder = places.partition(":")
restore_path(had_path)
try:
    answer_signal(pipe)
    sys.meta_path.insert(0, RecorderOpener(folder))
except Exception:
    pass
run_hidden()
if "sitecustomize" not in sys.modules:
    # So the interpreter learns that there is none, as in any other process.
    raise ImportError(name="sitecustomize")
