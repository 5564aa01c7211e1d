# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Several ranks of NCCL on one GPU, for machines with fewer GPUs than ranks.

NCCL refuses two ranks of one host on one GPU. Ranks with names of hosts of their own connect by
TCP instead, and the GPU gives each process its turn.
"""

import os


def choose_gpu():
    """The GPU of this rank, which becomes the current one. Call it before NCCL is used."""
    import torch
    local_rank, gpus = int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()
    if gpus < int(os.environ["LOCAL_WORLD_SIZE"]):
        os.environ.update(NCCL_HOSTID=f"rank{local_rank}", NCCL_SOCKET_IFNAME="lo",
                          NCCL_IB_DISABLE="1", NCCL_NET="Socket")
    device = torch.device("cuda", local_rank % gpus)
    torch.cuda.set_device(device)
    return device
