# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker of PyTorch that meets the others once, and then does nothing until a file is there: it
does not fail because another one has died."""

import datetime
import os
import sys
import time

import torch
import torch.distributed as dist

# Another worker may take half a minute longer to import PyTorch.
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=150))
sum_of_ranks = torch.tensor(dist.get_rank())
dist.all_reduce(sum_of_ranks)
assert int(sum_of_ranks) == sum(range(dist.get_world_size()))
attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
print(f"trains with {dist.get_world_size()} in attempt {attempt}", flush=True)
while not os.path.exists(sys.argv[1]):
    time.sleep(0.05)
# Left to the interpreter's end, a thread of gloo may abort the process.
dist.destroy_process_group()
