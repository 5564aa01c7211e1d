# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Trains with DDP for ever, and notes in a file when this process has done each step. Arguments:
the file; the state in MB; the checkpoint; after how many steps it is written, 0: never; after how
many steps the state is committed; cpu, for gloo, or cuda, for NCCL; and lasting, if DDP is made
outside of `train`."""
import os
import pathlib
import sys
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

try:
    # A first optimizer of PyTorch 2 imports it: a standby then has it already.
    import torch._dynamo  # noqa: F401
except ImportError:
    pass
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))
from elasticrun import survive  # noqa: E402
from shared_gpu import choose_gpu  # noqa: E402

STAMPS, CHECKPOINT = sys.argv[1], sys.argv[3]
MEGABYTES, EVERY, COMMIT_EVERY = (int(sys.argv[at]) for at in (2, 4, 5))
ON_GPU = sys.argv[6] == "cuda"
IS_LASTING = "lasting" in sys.argv[7:]


@survive.run
def train(state, lasting):
    survive.init_process_group("nccl" if ON_GPU else "gloo")
    parallel = lasting or DistributedDataParallel(state.model)
    with open(STAMPS, "a", encoding="ascii") as stamps:
        while True:
            state.optimizer.zero_grad()
            parallel(torch.ones(8, 64, device=state.bulk.device)).sum().backward()
            state.optimizer.step()
            state.step += 1
            if state.step % COMMIT_EVERY == 0:
                state.commit()
            if EVERY and state.step % EVERY == 0 and survive.rank() == 0:
                content = {"model": state.model.state_dict(), "bulk": state.bulk,
                           "optimizer": state.optimizer.state_dict(), "step": state.step}
                torch.save(content, CHECKPOINT + ".part")
                os.replace(CHECKPOINT + ".part", CHECKPOINT)
            if ON_GPU:
                torch.cuda.synchronize()
            stamps.write(f"{os.getpid()} {survive.rank()} {state.step} {time.monotonic_ns()}\n")
            stamps.flush()
            time.sleep(0.02)


def main():
    torch.manual_seed(1)
    device = choose_gpu() if ON_GPU else torch.device("cpu")
    model = torch.nn.Linear(64, 64, device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    state = survive.TorchState(model=model, optimizer=optimizer, step=0,
                               bulk=torch.ones(MEGABYTES << 18, device=device))
    lasting = None
    if IS_LASTING:
        survive.init_process_group("gloo", lasting=True)
        lasting = DistributedDataParallel(model)
    survive.prepare()
    is_newcomer = os.environ.get("ELASTIC_ON_FAILURE") == "replace"
    if EVERY and os.path.exists(CHECKPOINT) and not is_newcomer:
        content = torch.load(CHECKPOINT)
        model.load_state_dict(content["model"])
        optimizer.load_state_dict(content["optimizer"])
        state.step, state.bulk = content["step"], content["bulk"]
    train(state, lasting)


main()
