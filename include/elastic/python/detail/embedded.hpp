// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Written by scripts/embed.py from the files in elastic/python/embedded. Do not edit.

namespace elastic::detail {

inline constexpr char hook_prelude_py[] = R"embedded(import os
import sys


def restore_path(had_path):
    """Takes away the entry of PYTHONPATH from which this was imported."""
    entry, _, rest = os.environ.pop("PYTHONPATH").partition(":")
    if had_path == "1":
        os.environ["PYTHONPATH"] = rest
    sys.path.remove(entry)
    sys.path_importer_cache.pop(entry, None)
    cache = getattr(sys.modules.get("zipimport"), "_zip_directory_cache", {})
    cache.pop(entry, None)


def run_hidden():
    """What this module hid: the user's own sitecustomize, as the interpreter runs it."""
    sys.modules.pop("sitecustomize", None)
    sys.modules["site"].execsitecustomize()
)embedded";

inline constexpr char import_recorder_py[] = R"embedded(def record_imports(record):
    """Notes which modules are found from now on in the record "INODE:PATH"."""
    inode, _, path = record.partition(":")
    finder = sys.modules["_frozen_importlib_external"].PathFinder
    find = finder.__dict__["find_spec"]
    own, variables, folders = os.getpid(), os.environ._data, list(sys.path)
    recorded = dict(variables)
    largest = 1 << 18

    def write(text):
        try:
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            status = os.fstat(file)
            is_ours = str(status.st_ino) == inode and status.st_size + len(text) <= largest
            return is_ours and os.write(file, text.encode("utf-8", "replace")) > 0
        except OSError:
            return False
        finally:
            os.close(file)

    def note(name):
        nonlocal recorded
        text = name + "\n"
        if variables != recorded:
            changed = [each for each in {**recorded, **variables}
                       if recorded.get(each) != variables.get(each)]
            recorded = dict(variables)
            text = "".join(f"={os.fsdecode(each)}\n" for each in changed) + text
        # The interpreter puts the script's folder in front.
        is_same = folders in (sys.path, sys.path[1:])
        if not (write(text if is_same else "!\n") and is_same):
            finder.find_spec = find

    def find_spec(cls, fullname, path=None, target=None):
        spec = find.__func__(cls, fullname, path, target)
        if spec is not None and os.getpid() == own:
            note(fullname)
        return spec

    finder.find_spec = classmethod(find_spec)
)embedded";

inline constexpr char import_recorder_start_py[] = R"embedded(had_path, _, record = os.environ.pop("ELASTIC_IMPORTS").partition(":")
restore_path(had_path)
run_hidden()
try:
    record_imports(record)
except Exception:
    pass
if "sitecustomize" not in sys.modules:
    # So the interpreter learns that there is none, as in any other process.
    raise ImportError(name="sitecustomize")
)embedded";

inline constexpr char standby_hook_py[] = R"embedded(BEFORE = set(sys.modules)
DEVICES = ("/dev/nvidia", "/dev/kfd", "/dev/dri")
# What a worker knows and a standby that runs the script does not.
UNKNOWN = {b"RANK", b"WORLD_SIZE", b"GROUP_RANK", b"GROUP_WORLD_SIZE", b"ROLE_RANK",
           b"ROLE_WORLD_SIZE", b"MASTER_ADDR", b"MASTER_PORT", b"TORCHELASTIC_RESTART_COUNT",
           b"ELASTIC_CONTROL", b"ELASTIC_EPOCH"}
# Where elasticrun.survive finds the standby.
POINT = "elasticrun.standby"


class Refusal(Exception):
    """This standby cannot be used, for a reason that holds for others, too."""


class Lookups(dict):
    """The variables of os.environ; notes which were asked for, and whether all were listed."""

    def __init__(self, variables):
        super().__init__(variables)
        from _collections_abc import ItemsView, ValuesView
        listings = (ItemsView.__iter__, ValuesView.__iter__, type(os.environ).copy)
        self.listings = {function.__code__ for function in listings}
        self.names = set()
        self.are_listed = False

    def __iter__(self):
        self.are_listed = True
        return super().__iter__()

    def __getitem__(self, name):
        if sys._getframe(2).f_code not in self.listings:
            self.names.add(name)
        return super().__getitem__(name)


def write_own(name, text):
    with open("/proc/self/" + name, "w") as file:
        file.write(text)


def read_own(name):
    with open("/proc/self/" + name) as file:
        return file.read().strip()


def guard_execution(stop):
    """Has `stop` called before another program is executed in place of this one, until what this
    returns is called."""
    functions = {name: getattr(os, name) for name in ("execv", "execve")}
    is_over = False

    def guarded(function):
        def execute(*arguments, **named):
            if not is_over:
                stop()
            return function(*arguments, **named)
        return execute

    def end():
        nonlocal is_over
        is_over = True
        for name, function in functions.items():
            setattr(os, name, function)

    for name, function in functions.items():
        setattr(os, name, guarded(function))
    return end


class Misses:
    """The last finder: notes which modules imports look for and do not find."""

    def __init__(self):
        self.names = set()

    def find_spec(self, name, path=None, target=None):
        if path is None:
            self.names.add(name)

    def __enter__(self):
        sys.meta_path.append(self)

    def __exit__(self, *_):
        if self in sys.meta_path:
            sys.meta_path.remove(self)


class Priority:
    """While it imports a standby stands back; if memory runs out it goes first."""

    def lower(self, stands_back):
        import time
        self.began = time.monotonic()
        try:
            self.oom = read_own("oom_score_adj")
            write_own("oom_score_adj", "1000")
        except OSError:
            self.oom = None  # It may not be changed here.
        try:
            self.is_nice = stands_back and read_own("autogroup").endswith("nice 0")
            if self.is_nice:
                write_own("autogroup", "10")
        except (OSError, ValueError):
            self.is_nice = False  # The kernel has no such groups.

    def raise_if_late(self):
        """Where the processors are never idle it would not come to an end."""
        import time
        if time.monotonic() - self.began > 30:
            self.raise_processor()

    def raise_processor(self):
        # The kernel takes 10 such requests a second, of all processes together.
        import time
        for _ in range(100):
            if not self.is_nice:
                return
            try:
                write_own("autogroup", "0")
                self.is_nice = False
            except BlockingIOError:
                time.sleep(0.1)
        raise Refusal("its priority cannot be raised again")

    def raise_memory(self):
        if self.oom is None:
            return
        try:
            write_own("oom_score_adj", self.oom)
        except OSError as failure:
            raise Refusal(f"its oom_score_adj cannot be set back: {failure}") from None


def script_folder(kind, name):
    """What the interpreter puts in front of sys.path when it runs the script."""
    if kind != "script":
        return os.getcwd()
    path = os.path.realpath(name)
    if os.path.isdir(path):
        return path
    if name.endswith((".zip", ".pyz")):
        raise Refusal("the script is an archive, whose modules may hide others")
    return os.path.dirname(path)


def names_in(folder):
    """The modules in the script's folder, which hide those that are installed."""
    from importlib.machinery import all_suffixes
    suffixes = tuple(all_suffixes())
    names = set()
    for entry in os.scandir(folder):
        if entry.name.endswith(suffixes):
            names.add(entry.name.split(".")[0])
        elif entry.is_dir() and os.path.isfile(os.path.join(entry.path, "__init__.py")):
            names.add(entry.name)
    return names


def folders_in(folder):
    """They are modules, too, if there are no others of their names."""
    return {entry.name for entry in os.scandir(folder) if entry.is_dir()}


def is_installed(name):
    top = name.split(".")[0]
    return any(finder.find_spec(top, None) for finder in sys.meta_path
               if hasattr(finder, "find_spec"))


def source_of(parts, folder):
    base = os.path.join(folder, *parts)
    for path in (base + ".py", os.path.join(base, "__init__.py")):
        if os.path.isfile(path):
            return path
    return None


class Finder:
    """The imports at the beginning of a script and of the modules beside it, which are read and
    never run. It ends at the first statement that may change what an import does, such as a call
    or an assignment to os.environ["X"]."""

    def __init__(self, folder):
        self.folder = folder
        self.local = names_in(folder)
        self.read = set()
        self.imports = []

    def visit_file(self, path):
        """Result: false if the rest is not to be looked at."""
        import ast
        if path is None or path in self.read:
            return True
        self.read.add(path)
        try:
            with open(path, "rb") as file:
                tree = ast.parse(file.read(), path)
        except (OSError, SyntaxError, ValueError, RecursionError):
            return False
        return all(self.visit(statement, path, ast) for statement in tree.body)

    def visit(self, statement, path, ast):
        if isinstance(statement, ast.Import):
            return all(self.take(alias.name, (), path) for alias in statement.names)
        if isinstance(statement, ast.ImportFrom):
            names = tuple(alias.name for alias in statement.names if alias.name != "*")
            if statement.level:
                return self.take_relative(statement, names, path)
            return self.take(statement.module, names, path)
        if isinstance(statement, ast.Try):
            return all(self.visit(inner, path, ast) for inner in statement.body)
        if isinstance(statement, ast.If):
            text = ast.dump(statement.test)
            return "TYPE_CHECKING" in text or "'__main__'" in text
        if isinstance(statement, ast.Assign):
            return all(isinstance(target, ast.Name) for target in statement.targets)
        if isinstance(statement, ast.Expr):
            return isinstance(statement.value, ast.Constant)
        return isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef,
                                      ast.AnnAssign, ast.Pass))

    def take(self, name, members, path):
        parts = name.split(".")
        if parts[0] not in self.local:
            if parts[0] != "__future__":
                self.imports.append((name, members))
            return True
        inner = [parts[:end] for end in range(1, len(parts) + 1)]
        inner += [parts + [member] for member in members]
        return all(self.visit_file(source_of(each, self.folder)) for each in inner)

    def take_relative(self, statement, members, path):
        folder = os.path.dirname(path)
        for _ in range(statement.level - 1):
            folder = os.path.dirname(folder)
        parts = statement.module.split(".") if statement.module else []
        inner = ([parts] if parts else []) + [parts + [member] for member in members]
        return all(self.visit_file(source_of(each, folder)) for each in inner)


def imports_of(kind, name, folder):
    finder = Finder(folder)
    if kind == "script":
        finder.visit_file(os.path.join(name, "__main__.py") if os.path.isdir(name) else name)
    elif kind == "module":
        parts = name.split(".")
        if parts[0] not in finder.local and not os.path.isdir(os.path.join(folder, parts[0])):
            return [(parts[0], ())]
        steps = [source_of(parts[:end], folder) for end in range(1, len(parts) + 1)]
        if steps[-1] and steps[-1].endswith("__init__.py"):
            steps.append(os.path.join(os.path.dirname(steps[-1]), "__main__.py"))
        all(finder.visit_file(step) for step in steps)
    return finder.imports


def is_copied(variables, own):
    """Whether anything but `own` keeps a dictionary of these variables, or of the rank alone."""
    import gc
    own_ids = {id(each) for each in own}
    mark = next((name for name in (b"RANK", b"LOCAL_RANK") if name in variables),
                next(iter(variables)))
    text, value = os.fsdecode(mark), variables[mark]
    holders = gc.get_objects()
    for at in range(0, len(holders), 10000):
        for each in gc.get_referents(*holders[at:at + 10000]):
            if type(each) is dict and (text in each or mark in each) and id(each) not in own_ids:
                if value in (each.get(mark), os.fsencode(str(each.get(text)))):
                    return True
    return False


def opened_device():
    for entry in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink("/proc/self/fd/" + entry)
        except OSError:
            continue
        if path.startswith(DEVICES):
            return path
    return None


def versions_of(modules):
    """When what was imported, and where it was looked for, changed last."""
    # By __dict__: a module that is loaded when it is first used is not to be loaded by this.
    files = (getattr(module, "__dict__", {}).get("__file__") for module in list(modules.values()))
    paths = {path for path in files if isinstance(path, str)}
    versions = {}
    for path in paths | set(sys.path):
        try:
            versions[path] = os.stat(path).st_mtime_ns
        except OSError:
            versions[path] = None
    return versions


def reset_stream(stream, number, is_buffered):
    """Makes one of Python's streams anew, in its place, for what its descriptor is now."""
    import io
    if not isinstance(stream, io.TextIOWrapper):
        return
    raw = io.FileIO(number, "wb" if number else "rb", closefd=False)
    raw.name = ("<stdin>", "<stdout>", "<stderr>")[number]
    buffer = stream.buffer
    if hasattr(buffer, "raw"):
        buffer.__init__(raw, raw._blksize if raw._blksize > 1 else io.DEFAULT_BUFFER_SIZE)
    else:
        buffer = raw
    is_line_buffered = is_buffered and (number == 2 or raw.isatty())
    stream.__init__(buffer, encoding=stream.encoding, errors=stream.errors, newline="\n",
                    line_buffering=bool(is_line_buffered), write_through=not is_buffered)
    stream.mode = "w" if number else "r"


def copy_output(source, begin, target):
    """What the imports have written; much of it is nothing that anybody reads."""
    end = os.lseek(source, 0, os.SEEK_CUR)
    piece = os.pread(source, end - begin, begin) if begin < end <= begin + (1 << 20) else b""
    os.close(source)
    try:
        while piece:
            piece = piece[os.write(target, piece):]
    except OSError:
        pass


class Standby:
    LARGEST = 1 << 16
    OUTPUT = 1 << 24
    FRESH = 2  # Seconds for which nothing is looked at again.

    def __init__(self):
        import _socket
        import fcntl
        self.pid = os.getpid()
        try:
            number = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 200)
        except OSError:
            number = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
        self.socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, fileno=number)
        self.socket.setblocking(True)
        for number in (1, 2):  # They are memory, which is to have an end.
            os.ftruncate(number, os.fstat(number).st_size + self.OUTPUT)
            fcntl.fcntl(number, 1033, 4)  # F_ADD_SEALS, F_SEAL_GROW
        nothing = os.open("/dev/null", os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)

    def restore_environment(self):
        size, runs, back, record_size, had_path, self.kind, self.modules, self.name = (
            os.environ.pop("ELASTIC_STANDBY").split(":", 7))
        self.archive_size = int(size)
        self.runs_script = runs == "1"
        self.stands_back = back == "1"
        self.record_size = int(record_size)
        restore_path(had_path)
        self.variables = os.environ._data
        self.lookups = Lookups(self.variables)
        self.before = dict(self.variables)
        os.environ._data = os.environb._data = self.lookups
        self.folder = os.getcwd()
        self.loading = None
        self.misses = Misses()

    def run_hidden(self):
        own = set(sys.modules) - BEFORE
        run_hidden()
        self.standing = set(sys.modules) - own
        self.path = list(sys.path)

    def send(self, *fields):
        texts = (field.replace("\0", " ").encode("utf-8", "replace") for field in fields)
        self.socket.send(b"\0".join(text[:1000] for text in texts))

    def drop(self, name, reason):
        if os.getpid() != self.pid:
            os._exit(0)  # A copy that an import has made.
        self.send("dropped", name, reason)
        os._exit(0)

    def refuse(self, reason):
        if os.getpid() != self.pid:
            os._exit(0)  # A copy that an import has made.
        self.send("refused", reason)
        os._exit(0)

    def refuse_program(self):
        """An interpreter that an import executes anew would run the script."""
        if os.getpid() != self.pid:
            return  # A child is free to.
        if self.loading:
            self.drop(self.loading, "its import executes another program")
        self.refuse("sitecustomize executes another program")

    def load(self):
        self.hidden = script_folder(self.kind, self.name)
        names = self.modules.split(",")
        if names[0] == "auto":
            wanted = [entry for entry in imports_of(self.kind, self.name, self.hidden)
                      if "-" + entry[0] not in names]
        else:
            wanted = [(name, ()) for name in names if name]
        local = names_in(self.hidden)
        self.missing = []
        for name, members in wanted:
            if name.split(".")[0] in local:
                continue
            if not is_installed(name):
                if name not in self.missing:
                    self.missing.append(name)
                continue
            self.load_module(name, members)
        if names[0] == "auto":
            packages = {name.split(".")[0] for name, _ in wanted} - local
            # Python's own parts take no time, and change what a process does at its end.
            self.load_recorded(names, packages - set(getattr(sys, "stdlib_module_names", ())))
            self.load_for_survival(names)

    def load_module(self, name, members, may_lack=False):
        self.loading = name
        try:
            with self.misses:
                __import__(name, None, None, members or ("__name__",))
        except BaseException as failure:
            # What failed in a worker, too, did it no harm.
            if not (may_lack and isinstance(failure, ImportError)):
                self.drop(name, f"its import failed: {type(failure).__name__}: {failure}")
        if os.getpid() != self.pid:
            os._exit(0)
        device = opened_device()
        if device:
            self.drop(name, f"its import opens {device}")
        if sys.path[:len(self.path)] != self.path:
            # The interpreter puts the script's folder in front of all, and only then.
            self.drop(name, "its import puts folders in front of others in sys.path")
        self.priority.raise_if_late()

    def load_recorded(self, names, packages):
        """Of these packages the parts that a worker has imported later, until the script did what
        may change an import."""
        for line in os.pread(2, self.record_size, 0).decode("utf-8", "replace").splitlines():
            if line.startswith("="):
                name = os.fsencode(line[1:])
                if self.lookups.get(name) == self.before.get(name):
                    return  # No import has changed this variable.
            elif line == "!":
                return
            elif line.split(".")[0] in packages and line not in sys.modules:
                if "-" + line not in names:
                    self.load_module(line, (), may_lack=True)

    def load_for_survival(self, names):
        """What takes PyTorch longest of all that elasticrun.survive and a first optimizer import:
        for a newcomer the other ranks wait."""
        if self.variables.get(b"ELASTIC_ON_FAILURE") != b"replace":
            return
        for name in ("torch._dynamo", "torch.distributed.nn.functional"):
            if "torch" in sys.modules and name not in sys.modules and "-" + name not in names:
                self.load_module(name, (), may_lack=True)

    def check_copies(self):
        if self.lookups.are_listed and is_copied(self.before, (self.before, self.variables)):
            raise Refusal("an import keeps a copy of the environment, which would be an old one")

    def check(self):
        if os.getcwd() != self.folder:
            raise Refusal("an import has changed the working directory")
        loaded = {name for name in sys.modules if "." not in name} - self.standing
        hidden = (loaded & names_in(self.hidden)) - set(sys.builtin_module_names)
        if hidden:
            raise Refusal(f"the script's folder has its own {sorted(hidden)[0]}, which would have "
                          f"been imported instead of the installed one")
        missed = self.misses.names & (names_in(self.hidden) | folders_in(self.hidden))
        if missed:
            raise Refusal(f"the script's folder has {sorted(missed)[0]}, which an import has "
                          f"looked for before that folder is searched")

    def check_again(self, versions):
        """Result: why it cannot be used; none if it can."""
        try:
            if not self.runs_script:  # Else what is beside the script was imported by it.
                self.check()
            if versions_of(sys.modules) != versions:
                raise Refusal("what it imported was changed since")
        except Refusal as refusal:
            return refusal
        return None

    def receive_preparation(self, versions):
        """Files may be slow to look at: that is done while the workers end, if the agent says that
        they do."""
        import time
        checked = None
        while True:
            kind, descriptors = self.receive()
            if kind != [b"check"]:
                break
            problem = self.check_again(versions)
            checked = time.monotonic()
        if kind[0] != b"prepare":
            os._exit(71)
        if checked is None or time.monotonic() - checked > self.FRESH:
            problem = self.check_again(versions)
        if problem:
            raise problem
        return kind[1:], descriptors

    def receive(self):
        data, ancillary, flags, _ = self.socket.recvmsg(self.LARGEST, 64)
        if not data or flags:
            os._exit(0)  # The agent has gone.
        descriptors = []
        for _, _, content in ancillary:
            for at in range(0, len(content) - 3, 4):
                descriptors.append(int.from_bytes(content[at:at + 4], sys.byteorder))
        return data.split(b"\0"), descriptors

    def names(self):
        """The modules that are missing, and the variables that were read or changed."""
        known = set(dict.keys(self.lookups)) | set(self.before)
        changed = {name for name in known if self.lookups.get(name) != self.before.get(name)}
        read = sorted(os.fsdecode(name) for name in self.lookups.names | changed if name)
        return ["-" + name for name in self.missing[:64]] + [
            "=" + name for name in read[:400] if len(name) < 100]

    def change_processors(self, changes):
        """Each thread is moved: those that libraries have created, too."""
        ranges = [part.split(b"-") for field in changes if field[:1] == b"@"
                  for part in field[1:].split(b",")]
        processors = {number for first, *last in ranges
                      for number in range(int(first), int(last[0] if last else first) + 1)}
        for thread in os.listdir("/proc/self/task") if processors else ():
            os.sched_setaffinity(int(thread), processors)

    def change_variables(self, changes):
        """Sets what differs between this attempt and the one in which the imports were made."""
        changed = [(field[1:].partition(b"=") if field[:1] == b"+" else (field[1:], b"", None))
                   for field in changes if field[:1] != b"@"]
        for name, _, value in changed:
            text = os.fsdecode(name)
            if name in self.lookups.names and self.before.get(name) != value:
                raise Refusal(f"{self.reader} has read {text}, which has another value now")
            if self.lookups.get(name) != self.before.get(name):
                raise Refusal(f"{self.reader} has changed {text}")
        self.variables.clear()
        self.variables.update(self.lookups)
        os.environ._data = os.environb._data = self.variables
        for name, _, value in changed:
            if value is None:
                os.environb.pop(name, None)
            else:
                os.environb[name] = value
        self.record = os.environ.pop("ELASTIC_IMPORTS", None)

    def take_streams(self, descriptors):
        if len(descriptors) != 3:
            os._exit(71)
        self.outputs = [os.dup(1), os.dup(2)]
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        # "-u" makes raw streams: nothing is between the text and the descriptor.
        is_buffered = hasattr(sys.__stdout__.buffer, "raw")
        for number, stream in enumerate((sys.__stdin__, sys.__stdout__, sys.__stderr__)):
            reset_stream(stream, number, is_buffered)

    def run(self):
        self.priority = Priority()
        self.reader = "an import"
        try:
            self.restore_environment()
            self.priority.lower(self.stands_back)
            self.end_guard = guard_execution(self.refuse_program)
            self.run_hidden()
            self.load()
            self.check_copies()
            self.check()
            if self.runs_script:
                self.begin_script()
        except Refusal as refusal:
            self.refuse(str(refusal))
        except BaseException as failure:
            self.refuse(f"{type(failure).__name__}: {failure}")
        if not self.runs_script:
            self.become_worker()

    def begin_script(self):
        """The script begins, and has to come to its point: it ends this process on no other way."""
        import atexit
        self.reader = "the script"
        self.hook, sys.excepthook = sys.excepthook, self.refuse_failure
        atexit.register(self.refuse_end)
        sys.modules[POINT] = self

    def refuse_failure(self, kind, failure, trace):
        if POINT in sys.modules:
            self.refuse_early(f"it raised {kind.__name__}: {failure}")
        self.hook(kind, failure, trace)  # A hook of the script may call this one later.

    def refuse_end(self):
        self.refuse_early("it ended before")

    def refuse_early(self, reason):
        """What the script may not do before its point."""
        read = sorted(self.lookups.names & UNKNOWN)
        if read:
            reason = f"it reads {os.fsdecode(read[0])} before, which nobody knows yet"
        self.refuse(reason)

    def reach(self):
        """The script is at its point: waits there until this process is needed."""
        import atexit
        if os.getpid() != self.pid:
            os._exit(0)  # A copy that the script has made.
        if self.lookups.names & UNKNOWN:
            self.refuse_early("")
        try:
            self.check_copies()
        except Refusal as refusal:
            self.refuse(str(refusal))
        self.become_worker()
        atexit.unregister(self.refuse_end)
        if sys.excepthook == self.refuse_failure:
            sys.excepthook = self.hook

    def become_worker(self):
        try:
            self.end_guard()
            versions = versions_of(sys.modules)
            self.priority.raise_processor()
            self.send("ready", "2", str(self.pid), *self.names())
            changes, descriptors = self.receive_preparation(versions)
            self.change_variables(changes)
            self.change_processors(changes)
            self.priority.raise_memory()
            self.take_streams(descriptors)
        except Refusal as refusal:
            self.refuse(str(refusal))
        except BaseException as failure:
            self.refuse(f"{type(failure).__name__}: {failure}")
        self.send("prepared")
        kind, _ = self.receive()
        if kind != [b"go"]:
            os._exit(71)
        self.socket.close()
        copy_output(self.outputs[0], self.archive_size, 1)
        copy_output(self.outputs[1], self.record_size, 2)
        if self.record:
            record_imports(self.record)


try:
    Standby().run()
except BaseException:
    try:
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(70)
if "sitecustomize" not in sys.modules:
    # So the interpreter learns that there is none, as in any other process.
    raise ImportError(name="sitecustomize")
)embedded";

}  // namespace elastic::detail
