# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Trains with survive, and does to itself what its options say.

`--do WHAT@STEP:RANK`, several of them, each once for all processes of the job: kill (in the middle
of the step), kill-late (after the optimizer, before the commit), kill-evaluated (before the step,
while rank 0 is at work of its own), stop (falls silent), raise (a ValueError), raise-runtime (what
a lost peer could have caused, but no peer is lost), exit; and with an epoch in the place of the
step kill-init and stop-init (before it begins its process group), kill-sync (when the group is
made, before the state is given), kill-send and kill-receive (while the state is given by it, or to
it), kill-synced (when all ranks have the state).
"""

import argparse
import os
import pathlib
import random
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "python"))
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel  # noqa: E402
from elasticrun import survive, torch_state  # noqa: E402


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--do", action="append", default=[])
    parser.add_argument("--groups", action="store_true", help="a second process group")
    parser.add_argument("--loader", action="store_true", help="a DataLoader with workers")
    parser.add_argument("--outer-loader", action="store_true",
                        help="a DataLoader outside of train; says the pid of its worker")
    parser.add_argument("--sharded", action="store_true", help="a part of a tensor in the state")
    parser.add_argument("--compile", action="store_true",
                        help="compiles the model, and says each time that it is done")
    parser.add_argument("--own-group", action="store_true", help="not by survive")
    parser.add_argument("--mesh", action="store_true", help="computes with a DeviceMesh, too")
    parser.add_argument("--hold", action="store_true",
                        help="keeps DDP outside of train, or the mesh")
    parser.add_argument("--outside", action="store_true",
                        help="makes DDP, and with --groups the groups, before train")
    parser.add_argument("--connect", default="", metavar="HOW:RANK",
                        help="refuse: this rank keeps no group; fail: PyTorch cannot connect those "
                        "that it keeps. With a PyTorch that keeps none, the others pretend to")
    parser.add_argument("--no-commit", action="store_true")
    parser.add_argument("--careless", action="store_true",
                        help="goes on after every exception in a step, as if it were the data's")
    parser.add_argument("--evaluate", type=float,
                        help="rank 0 is at work of its own before step 3 until the epoch ends, "
                        "and then for so many seconds more")
    parser.add_argument("--leave", choices=["return", "exit"],
                        help="how rank 0 leaves its group after the last step; the others commit "
                        "when it has")
    parser.add_argument("--stray", action="store_true",
                        help="a second state, which train closes over")
    parser.add_argument("--plain", default="", help="ranks that do not say survive")
    parser.add_argument("--pause", type=float, default=0)
    parser.add_argument("--gate", action="store_true",
                        help="does as many steps as the file gate in the folder says")
    return parser.parse_args()


class Connected:
    def wait(self):
        pass


def disturb_connections():
    how, _, who = OPTIONS.connect.partition(":")
    is_meant = survive.rank() == int(who)
    original = getattr(dist, "_reconfigure", lambda *_: Connected())
    begin = dist.init_process_group

    def connect(number, handles, *more):
        if is_meant and len(handles) > 1:
            raise RuntimeError("no route to host")
        return original(number, handles, *more)

    def begin_without_option(backend, enable_reconfigure=False, **options):
        begin(backend, **options)

    from elasticrun import kept_groups
    kept_groups._CONNECT_SECONDS = 2
    if how == "refuse" and is_meant:
        kept_groups.is_possible = lambda *_: False
        return
    if not hasattr(dist, "_reconfigure"):
        dist.init_process_group = begin_without_option
        dist._get_reconfigure_handle = str
    dist._reconfigure = connect


PLACES = ("kill-late", "kill-init", "stop-init", "kill-sync", "kill-send", "kill-receive",
          "kill-synced", "kill-evaluated")
OPTIONS = parse_arguments()
HELD = []
STRAY = survive.TorchState(count=0)
CHANGES = []
OUTER = []
OUTSIDE = {"world": None, "ddp": None, "groups": []}
SYNC = torch_state.sync


def say(text):
    os.write(1, (text + "\n").encode())


def act(place, step):
    for each in OPTIONS.do:
        what, _, at = each.partition("@")
        when, _, who = at.partition(":")
        its_place = what.partition("-")[2] if what in PLACES else "middle"
        if (int(when), int(who), its_place) != (step, survive.rank(), place):
            continue
        try:
            (OPTIONS.folder / each).mkdir()
        except FileExistsError:
            continue
        say(f"does {what} at step {step} pid {os.getpid()}")
        if what.startswith("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        elif what.startswith("stop"):
            os.kill(os.getpid(), signal.SIGSTOP)
        elif what == "raise":
            raise ValueError("the data is bad")
        elif what == "raise-runtime":
            raise RuntimeError("no peer is to blame")
        elif what == "exit":
            sys.exit(3)


def sync(*arguments):
    """Gives the state. If ranks are to be killed then, they wait until all have it."""
    act("sync", survive.epoch())
    result = SYNC(*arguments)
    marks = f"synced-{survive.epoch()}-"
    (OPTIONS.folder / f"{marks}{survive.rank()}").touch()
    if f"kill-synced@{survive.epoch()}:{survive.rank()}" in OPTIONS.do:
        while len(list(OPTIONS.folder.glob(f"{marks}*"))) < survive.world_size():
            time.sleep(0.002)
    act("synced", survive.epoch())
    return result


def is_open(step):
    try:
        return step < int((OPTIONS.folder / "gate").read_text() or 0)
    except FileNotFoundError:
        return False


def wait_at_gate(step):
    while not is_open(step):
        if CHANGES and CHANGES[-1] >= survive.epoch():
            raise survive.WorldChanged("at the gate")
        time.sleep(0.002)


class State(survive.TorchState):
    def _send(self, *arguments):
        act("send", survive.epoch())
        super()._send(*arguments)

    def _receive(self, *arguments):
        act("receive", survive.epoch())
        super()._receive(*arguments)


class Data(torch.utils.data.Dataset):
    """Item i is what rank i % world size computes with in step i // world size."""

    def __len__(self):
        return OPTIONS.steps * survive.world_size()

    def __getitem__(self, at):
        return torch.randn(6, 8, generator=torch.Generator().manual_seed(at), dtype=torch.float64)


def batches(step):
    ranks, rank = survive.world_size(), survive.rank()
    mine = [at * ranks + rank for at in range(step, OPTIONS.steps)]
    if OPTIONS.loader:
        # With a generator of its own: else each loader draws from torch's random state.
        return torch.utils.data.DataLoader(Data(), batch_size=None, sampler=mine, num_workers=1,
                                           multiprocessing_context="fork",
                                           generator=torch.Generator().manual_seed(step))
    return map(Data().__getitem__, mine)


def take_from_outer_loader():
    if not OUTER:
        OUTER.append(iter(torch.utils.data.DataLoader(range(1000), num_workers=1,
                                                      multiprocessing_context="fork")))
    next(OUTER[0])
    say(f"loader of rank {survive.rank()} pid {OUTER[0]._workers[0].pid}")


class DTensor(torch.Tensor):
    """By its name, as of torch.distributed.tensor."""


def checksum(model):
    flat = torch.cat([each.detach().flatten().double() for each in model.parameters()])
    return float(flat @ torch.cos(torch.arange(flat.numel(), dtype=torch.float64)))


def do_step(state, ddp, group, batch):
    state.optimizer.zero_grad()
    loss = ddp(batch).pow(2).mean()
    act("middle", state.step)
    loss.backward()
    if group is not None:
        dist.all_reduce(loss.detach(), group=group)
    state.optimizer.step()
    state.scheduler.step()
    state.noise = state.noise + random.random()
    act("late", state.step)


def use_mesh():
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Shard
    mesh = init_device_mesh("cpu", (survive.world_size(),))
    whole = DTensor.from_local(torch.ones(2), mesh, [Shard(0)]) + 1
    assert float(whole.sum().full_tensor()) == 4 * survive.world_size()
    return mesh


def evaluate(step):
    if not OPTIONS.evaluate or step != 3:
        return
    begun = OPTIONS.folder / "evaluates"
    if survive.rank() != 0:
        while not begun.exists():
            time.sleep(0.01)
        act("evaluated", step)
        return
    if begun.exists():
        return
    begun.touch()
    while not CHANGES:
        time.sleep(0.01)
    time.sleep(OPTIONS.evaluate)


def wait_until_rank_0_left(step):
    while (OPTIONS.leave and step == OPTIONS.steps and survive.rank() != 0
           and not survive._epochs.sockets.have_lost_peer()):
        time.sleep(0.002)


def leave():
    """The end of the training, where ranks do not wait for each other."""
    if survive.rank() == 0 and OPTIONS.leave == "exit":
        sys.exit()


def train(state):
    say(f"begins epoch {survive.epoch()} rank {survive.rank()} of {survive.world_size()} pid "
        f"{os.getpid()} new {survive.is_new()} restarts "
        f"{os.environ.get('TORCHELASTIC_RESTART_COUNT')}")
    act("init", survive.epoch())
    if OPTIONS.own_group:
        dist.init_process_group("gloo")
    else:
        survive.init_process_group("gloo")
    assert OUTSIDE["world"] in (None, dist.group.WORLD)
    groups = OUTSIDE["groups"]
    if OPTIONS.groups and not groups:
        groups = [survive.new_group(range(at, survive.world_size(), 2)) for at in (0, 1)]
    group = groups[survive.rank() % 2] if groups else None
    ddp = OUTSIDE["ddp"] or DistributedDataParallel(state.model)
    mesh = use_mesh() if OPTIONS.mesh else None
    if OPTIONS.hold:
        HELD.append(mesh or ddp)
    for batch in batches(state.step):
        time.sleep(OPTIONS.pause)
        if OPTIONS.gate:
            wait_at_gate(state.step)
        evaluate(state.step)
        if OPTIONS.outer_loader:
            take_from_outer_loader()
        try:
            do_step(state, ddp, group, batch)
        except Exception:
            if not OPTIONS.careless:
                raise
        state.step += 1
        wait_until_rank_0_left(state.step)
        if OPTIONS.stray:
            STRAY.commit()
        if not OPTIONS.no_commit:
            state.commit()
        with open(OPTIONS.folder / "steps", "a", encoding="ascii") as file:
            file.write(f"{survive.rank()} {state.step} {os.getpid()} {time.monotonic_ns()}\n")
    if OPTIONS.leave:
        leave()
        return survive.world_size()
    total = torch.ones(1)
    dist.all_reduce(total)
    return int(total)


def make_outside(model):
    ranks = int(os.environ["WORLD_SIZE"])
    survive.init_process_group("gloo", lasting=True)
    OUTSIDE["world"] = dist.group.WORLD
    OUTSIDE["ddp"] = DistributedDataParallel(model)
    if OPTIONS.groups:
        OUTSIDE["groups"] = [survive.new_group(range(at, ranks, 2)) for at in (0, 1)]


def say_compilation(graph, inputs):
    say(f"compiles in pid {os.getpid()}")
    return graph.forward


def main():
    torch_state.sync = sync
    torch.manual_seed(1)
    random.seed(2)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16, bias=False), torch.nn.BatchNorm1d(16),
                                torch.nn.Dropout(0.2), torch.nn.Linear(16, 1)).double()
    if OPTIONS.compile:
        model = torch.compile(model, backend=say_compilation)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.9)
    state = State(model=model, optimizer=optimizer, scheduler=scheduler, step=0, noise=0.0)
    if OPTIONS.sharded:
        state.part = torch.ones(1).as_subclass(DTensor)
    if OPTIONS.outer_loader:
        take_from_outer_loader()
    if OPTIONS.connect:
        disturb_connections()
    if OPTIONS.outside:
        make_outside(model)
    if OPTIONS.gate or OPTIONS.evaluate:
        survive.on_change(CHANGES.append)
    is_plain = str(survive.rank()) in OPTIONS.plain.split(",")
    size = (train if is_plain else survive.run(train))(state)
    say(f"finished rank {survive.rank()} of {size} pid {os.getpid()} step {state.step} checksum "
        f"{checksum(model):.12f} noise {state.noise:.9f} rate {scheduler.get_last_lr()[0]:.9f} "
        f"threads {threading.active_count()} groups {dist.is_initialized()}")


main()
