# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
#
# Python functions with which a worker records its imports for its standby. They come between the
# `hook_prelude` and the hook of standbys, or before `import_recorder_start` in the first attempt.
# Only the standby reads the record.
#
# The record is memory of the agent. A worker opens it as "/proc/AGENT/fd/N" for each write: the
# script would see a descriptor that stayed open, or close it and let another file reuse its
# number. Each line is a module's name, "=NAME" if that variable changed since the previous line,
# or "!" if the script changed sys.path, after which nothing is recorded.

def record_imports(record):
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
