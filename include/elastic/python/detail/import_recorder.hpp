// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elastic::detail {

/// Python functions with which a worker records its imports for its standby. They come between the
/// `hook_prelude` and the hook of standbys, or before `import_recorder_start` in the first attempt.
/// Only the standby reads the record.
///
/// The record is memory of the agent. A worker opens it as "/proc/AGENT/fd/N" for each write: the
/// script would see a descriptor that stayed open, or close it and let another file reuse its
/// number. Each line is a module's name, "=NAME" if that variable changed since the previous line,
/// or "!" if the script changed sys.path, after which nothing is recorded.
inline constexpr char import_recorder[] = R"python(
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
)python";

/// The code that a worker runs before its script, after `import_recorder`. ELASTIC_IMPORTS,
/// "HAD_PATH:INODE:PATH", names the record. No error in it reaches the script.
inline constexpr char import_recorder_start[] = R"python(
had_path, _, record = os.environ.pop("ELASTIC_IMPORTS").partition(":")
restore_path(had_path)
run_hidden()
try:
    record_imports(record)
except Exception:
    pass
if "sitecustomize" not in sys.modules:
    # So the interpreter learns that there is none, as in any other process.
    raise ImportError(name="sitecustomize")
)python";

}  // namespace elastic::detail
