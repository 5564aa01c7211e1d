# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
#
# The code that a worker runs before its script, after `import_recorder`. ELASTIC_IMPORTS,
# "HAD_PATH:INODE:PATH", names the record. No error in it reaches the script.

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
