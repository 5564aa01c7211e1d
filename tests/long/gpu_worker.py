# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Trains with survive, DDP and NCCL on a GPU, and does to itself what its options say.

`--do WHAT@STEP:RANK`, several of them, each once for all processes of the job: kill (when the
gradients are on their way), kill-late (before the commit), break (an assertion on the GPU, after
which no call of this process works), raise (a ValueError); and with an epoch in the place of the
step kill-init (before it begins its process group) and kill-sync (before the state is given).
"""

import argparse
import os
import pathlib
import signal
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "benchmarks")]
import torch  # noqa: E402
import torch._dynamo  # noqa: E402, F401 - optimizers import it: standbys then have it already
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402
from elasticrun import survive, torch_state  # noqa: E402
from shared_gpu import choose_gpu  # noqa: E402

CHANGES = []
SYNC = torch_state.sync


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--do", action="append", default=[])
    parser.add_argument("--gate", action="store_true",
                        help="does as many steps as the file gate in the folder says")
    parser.add_argument("--groups", action="store_true", help="a second process group")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--prepare", action="store_true", help="standbys run the script")
    parser.add_argument("--megabytes", type=int, default=0, help="of the state, beside the model")
    return parser.parse_args()


def say(text):
    os.write(1, (text + "\n").encode())


def act(place, step, device=None):
    for each in OPTIONS.do:
        what, _, at = each.partition("@")
        when, _, who = at.partition(":")
        its_place = what.partition("-")[2] or "middle"
        if (int(when), int(who), its_place) != (step, survive.rank(), place):
            continue
        try:
            (OPTIONS.folder / each).mkdir()
        except FileExistsError:
            continue
        say(f"does {what} at step {step} pid {os.getpid()}")
        if what.startswith("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        elif what == "raise":
            raise ValueError("the data is bad")
        elif what == "break":
            torch.zeros(1, device=device)[torch.tensor([1 << 20], device=device)].sum().item()


def sync(*arguments):
    act("sync", survive.epoch())
    SYNC(*arguments)


def wait_at_gate(step):
    while True:
        try:
            if step < int((OPTIONS.folder / "gate").read_text() or 0):
                return
        except FileNotFoundError:
            pass
        if CHANGES and CHANGES[-1] >= survive.epoch():
            raise survive.WorldChanged("at the gate")
        time.sleep(0.002)


def used_megabytes():
    free, total = torch.cuda.mem_get_info()
    return (total - free) >> 20


def graphs():
    """How many this process has compiled."""
    return torch._dynamo.utils.counters["stats"]["unique_graphs"] if OPTIONS.compile else 0


def batch(step, device):
    random = torch.Generator().manual_seed(1000 * survive.rank() + step)
    return torch.randn(32, 64, generator=random, dtype=torch.float64).to(device)


def train(state, device):
    say(f"begins epoch {survive.epoch()} rank {survive.rank()} of {survive.world_size()} pid "
        f"{os.getpid()} new {survive.is_new()} restarts "
        f"{os.environ.get('TORCHELASTIC_RESTART_COUNT')} used {used_megabytes()} MB on the GPU, "
        f"graphs {graphs()}")
    act("init", survive.epoch())
    began = time.monotonic()
    survive.init_process_group("nccl")
    group = None
    if OPTIONS.groups:
        groups = [survive.new_group(range(at, survive.world_size(), 2)) for at in (0, 1)]
        group = groups[survive.rank() % 2]
    say(f"rank {survive.rank()} has its groups after {time.monotonic() - began:.3f} s")
    ddp = DistributedDataParallel(state.model, device_ids=[device])
    while state.step < OPTIONS.steps:
        if OPTIONS.gate:
            wait_at_gate(state.step)
        state.optimizer.zero_grad()
        loss = ddp(batch(state.step, device)).pow(2).mean()
        loss.backward()
        act("middle", state.step, device)
        if group is not None:
            dist.all_reduce(loss.detach(), group=group)
        state.optimizer.step()
        act("late", state.step)
        state.step += 1
        state.commit()
        with open(OPTIONS.folder / "steps", "a", encoding="ascii") as file:
            file.write(f"{survive.rank()} {state.step} {os.getpid()} {time.monotonic_ns()}\n")
    total = torch.ones(1, device=device)
    dist.all_reduce(total)
    return int(total)


def checksum(model):
    flat = torch.cat([each.detach().flatten() for each in model.parameters()]).cpu()
    return float(flat @ torch.cos(torch.arange(flat.numel(), dtype=torch.float64)))


def main():
    began = time.monotonic()
    torch_state.sync = sync
    device = choose_gpu()
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Tanh(), torch.nn.Dropout(0.1),
                                torch.nn.Linear(256, 1)).double().to(device)
    if OPTIONS.compile:
        model = torch.compile(model)
        model(torch.zeros(32, 64, dtype=torch.float64, device=device)).sum().backward()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    state = survive.TorchState(model=model, optimizer=optimizer, step=0,
                               bulk=torch.ones(OPTIONS.megabytes << 18, device=device))
    torch.cuda.synchronize()
    took = time.monotonic() - began
    if OPTIONS.prepare:
        survive.prepare()
    if OPTIONS.gate:
        survive.on_change(CHANGES.append)
    say(f"pid {os.getpid()} was ready for rank {survive.rank()} after {took:.3f} s")
    size = survive.run(train)(state, device)
    say(f"finished rank {survive.rank()} of {size} pid {os.getpid()} step {state.step} checksum "
        f"{checksum(model):.9f} noise 0 groups {dist.is_initialized()} graphs {graphs()}")


OPTIONS = parse_arguments()
main()
