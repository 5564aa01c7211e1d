# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Rank 1 reports an exception, and then hangs at its end, while rank 0 waits for it."""
import atexit
import time

import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record


def upload_logs():
    time.sleep(600)


@record
def main():
    dist.init_process_group("gloo")
    dist.all_reduce(torch.ones(3))
    if dist.get_rank() == 1:
        atexit.register(upload_logs)
        raise ValueError("no such shard")
    dist.all_reduce(torch.ones(3))


main()
