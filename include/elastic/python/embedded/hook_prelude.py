# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
#
# The beginning of each hook, in Python: functions that remove its traces before the script runs.

import os
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
