#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""torchrun, also where PyTorch 1.13 runs under Python 3.11.

There `Std.from_str("0")` returns None, because iterating over a flag no longer yields its zero and
its combinations, and torchrun without -r and -t ends with a TypeError. This puts the lookup right
and then is torchrun; with other versions it changes nothing that matters.

    /usr/bin/python3 benchmarks/torchrun_113.py --standalone --nproc_per_node 2 train.py
"""

import re
import sys

from torch.distributed.elastic.multiprocessing import api
from torch.distributed.run import main


def from_str(text):
    if re.match(r"^[0123]$", text):
        return api.Std(int(text))
    if re.match(r"^(\d:[0123],)*(\d:[0123])$", text):
        pairs = (part.split(":") for part in text.split(","))
        return {int(rank): api.Std(int(value)) for rank, value in pairs}
    raise ValueError(f"{text} is neither a digit from 0 to 3 nor a list such as 0:3,1:0")


if __name__ == "__main__":
    api.Std.from_str = staticmethod(from_str)
    sys.exit(main())
