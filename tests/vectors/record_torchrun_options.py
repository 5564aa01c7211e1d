#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Records the options of torchrun and the settings of its --rdzv-conf.

  record_torchrun_options.py TABLE

Adds those of the installed release of PyTorch to TABLE (torchrun_options.json), with the name of
each option, where its value goes, its default and its choices.
"""

import json
import pathlib
import re
import sys

import torch.distributed.elastic.rendezvous as rendezvous
import torch.distributed.run as launch

# How the handlers look up a setting: by its name, or by that of a time-out without its end.
LOOK_UPS = ((re.compile(r'params(?:\.config)?\.get(?:_as_\w+)?\(\s*"(\w+)"'), ""),
            (re.compile(r'_get_timeout\(params, "(\w+)"\)'), "_timeout"))


def release():
    return launch.torch.__version__.partition("+")[0]


def options():
    """The options, in torchrun's order. Its own --help and the script are not among them."""
    return [{"names": action.option_strings, "dest": action.dest, "default": action.default,
             "is_flag": action.nargs == 0, "choices": action.choices}
            for action in launch.get_args_parser()._actions
            if action.option_strings and action.dest != "help"]


def settings():
    found = set()
    for file in pathlib.Path(rendezvous.__file__).parent.glob("*.py"):
        text = file.read_text(encoding="utf-8")
        for pattern, end in LOOK_UPS:
            found.update(name + end for name in pattern.findall(text))
    return sorted(found)


def recorded():
    return {"options": options(), "settings": settings()}


def main():
    path = pathlib.Path(sys.argv[1])
    table = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    table[release()] = recorded()
    path.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
