# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A training by elasticrun.accelerate whose ranks are killed, and then the same one by Accelerate
alone, in the same processes: both have to end with the same parameters.

  plugin_accelerate.py FOLDER [KILL...]

KILL is BATCH:RANK, of all batches of the training, counted from 0: in the middle of its step.
"""

import os
import pathlib
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "python"))
import accelerate  # noqa: E402
import torch  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402
from checkpoint_requests import ask  # noqa: E402
from elasticrun import survive  # noqa: E402
from elasticrun.accelerate import Accelerator, _Job, _Place, run  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1])
KILLS = [tuple(map(int, each.split(":"))) for each in sys.argv[2:]]
EPOCHS, BATCHES = 3, 6


def make():
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Dropout(0.3),
                                torch.nn.Linear(16, 1)).double()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    return model, optimizer, torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.9)


def die(number):
    for kill in KILLS:
        if kill == (number, survive.rank()):
            try:
                (FOLDER / "{}:{}".format(*kill)).mkdir()
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)


def loop(accelerator, epochs, model, optimizer, scheduler, before_step):
    """Gradients of two batches make a step. A first loop is left after one step. In the second one,
    another loader gives noise to each batch, and in the middle of the data a third one is evaluated
    and a checkpoint made."""
    inputs = torch.arange(4 * 4 * BATCHES, dtype=torch.double).reshape(-1, 4) / 100
    loader = DataLoader(TensorDataset(inputs, inputs.sum(1, keepdim=True)), batch_size=2,
                        shuffle=True, num_workers=1)
    noise = DataLoader(TensorDataset(torch.arange(32, dtype=torch.double) / 100), batch_size=2,
                       shuffle=True)
    model, optimizer, scheduler, loader, noise, validation = accelerator.prepare(
        model, optimizer, scheduler, loader, noise, DataLoader(TensorDataset(inputs), batch_size=2))

    def learn(inputs, results):
        with accelerator.accumulate(model):
            loss = torch.nn.functional.mse_loss(model(inputs), results)
            before_step()
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()

    for epoch in epochs:
        for at, (inputs, results) in enumerate(loader):
            learn(inputs, results)
            if at:
                break
        for (inputs, results), (shift,) in zip(loader, noise):
            learn(inputs + shift[:, None], results)
            for (inputs,) in validation:
                with torch.no_grad():
                    model(inputs)  # which draws random numbers
            accelerator.save_state()
        scheduler.step()


def make_accelerator(kind, name):
    return kind(cpu=True, gradient_accumulation_steps=2,
                project_config=accelerate.utils.ProjectConfiguration(
                    str(FOLDER / name), automatic_checkpoint_naming=True))


@run
def train(model, optimizer, scheduler):
    accelerator = make_accelerator(Accelerator, "disturbed")
    state = accelerator._job.state

    def before_step():
        before_step.batches += 1
        die(before_step.batches - 1)

    before_step.batches = 2 * state.step
    loop(accelerator, accelerator.epochs(EPOCHS), model, optimizer, scheduler, before_step)
    other = make()
    loop(make_accelerator(accelerate.Accelerator, "undisturbed"), range(EPOCHS), *other,
         lambda: None)
    return checksum(model, scheduler), checksum(other[0], other[2])


def checksum(model, scheduler):
    flat = torch.cat([each.detach().flatten() for each in model.parameters()])
    return float(flat @ torch.cos(torch.arange(flat.numel()).double())), scheduler.get_last_lr()


@run
def count_ranks():
    """A second function: the group of the first one is still there."""
    return float(Accelerator(cpu=True).reduce(torch.ones(())))


def check_that_a_commit_is_between_bodies():
    """A loader that is read between two steps of a body commits nothing, nor does an outer loop of
    which a batch is under way."""
    job = object.__new__(_Job)
    vars(job).update(passes=[], loaders=[], place=_Place(), moment=0, steps=0, committed_steps=0,
                     is_resuming=False, _leading=None)

    def read(loop, steps):
        is_due = loop.is_active and job.is_between_steps(loop)
        if is_due:
            job.committed_steps = job.steps
        job.moment += 1
        loop.is_active, loop.delivered = True, job.moment
        job.steps += steps
        return is_due

    companion, main = job.begin_pass(1), job.begin_pass(0)
    assert [read(main, 1), read(companion, 1)] == [False, False]
    assert [read(main, 1), read(companion, 1)] == [True, False]
    assert [read(main, 0), read(companion, 0)] == [True, False]
    inner = job.begin_pass(2)
    assert [read(inner, 1), read(inner, 1), read(inner, 1)] == [False, True, True]
    assert not read(companion, 0)
    inner.is_active = False
    assert read(main, 0)
    assert inner not in job.passes


def checkpoints(name):
    return sorted(int(each.parent.name.split("_")[1])
                  for each in (FOLDER / name / "checkpoints").glob("*/model.safetensors"))


def main():
    check_that_a_commit_is_between_bodies()
    ask(2)
    print(f"begins rank {survive.rank()} pid {os.getpid()}", flush=True)
    disturbed, undisturbed = train(*make())
    print(f"finished rank {survive.rank()} pid {os.getpid()} equal: {disturbed == undisturbed} "
          f"{disturbed} {undisturbed}", flush=True)
    assert count_ranks() == 2
    # One more is that of the request.
    assert len(checkpoints("undisturbed")) == EPOCHS * BATCHES
    assert checkpoints("disturbed") == list(range(EPOCHS * BATCHES + 1))


main()
