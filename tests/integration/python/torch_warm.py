# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Trains on all ranks; in the first attempt for ever, in the next with loaders and checkpoints."""
import os
import sys
import tempfile
import time
import marked
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


def checkpoint(model):
    """Saves and loads; what 1.13 has for it is private."""
    if not hasattr(dist, "checkpoint") and torch.__version__.startswith("1."):
        return
    import torch.distributed.checkpoint as saved
    folders = [tempfile.mkdtemp()]
    dist.broadcast_object_list(folders)
    state = model.module.state_dict()
    saved.save(state, checkpoint_id=folders[0])
    saved.load(state, checkpoint_id=folders[0])


def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    with open(sys.argv[1], "a", encoding="ascii") as starts:
        starts.write(f"{rank} {attempt} {os.getpid()} {marked.pid}\n")
    model = DistributedDataParallel(torch.nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step = 0
    while attempt == 0 or step < 2:
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
        step += 1
        if rank == 0 and step == 1:
            print(f"attempt {attempt}: step 1 of {dist.get_world_size()}", flush=True)
        if attempt == 0:
            time.sleep(0.1)  # The standbys stand back.
    if rank == 0:
        for method in ("fork", "spawn"):
            items = list(DataLoader(range(3), num_workers=1, multiprocessing_context=method))
            print(f"attempt {attempt}: {len(items)} items by {method}", flush=True)
    checkpoint(model)
    del model  # PyTorch 2.13 may hang if DDP lets go of the group last.
    dist.destroy_process_group()
    # At the interpreter's end one of gloo's threads, which may yet want Python's lock to let go of
    # a tensor, would abort the process.
    os._exit(0)


if __name__ == "__main__":
    main()
