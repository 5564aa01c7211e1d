# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A training by elasticrun.transformers whose ranks are killed, and then the same one by
transformers alone, in the same processes: both have to end with the same parameters.

  plugin_transformers.py FOLDER [KILL...]

KILL is PLACE@STEP:RANK. The place is step (in the middle of it), save or evaluate.
"""

import os
import pathlib
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "python"))
import torch  # noqa: E402
import transformers  # noqa: E402
from checkpoint_requests import ask  # noqa: E402
from elasticrun import survive  # noqa: E402
from elasticrun.transformers import Trainer, TrainingArguments  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1])
SAVES = []  # of this process, while it is disturbed


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        layers = [torch.nn.Linear(4, 16), torch.nn.Dropout(0.3), torch.nn.LayerNorm(16),
                  torch.nn.Linear(16, 1)]
        self.layers = torch.nn.Sequential(*layers).double()

    def forward(self, inputs, labels=None):
        outputs = self.layers(inputs)
        return {"loss": torch.nn.functional.mse_loss(outputs, labels), "logits": outputs}


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, at):
        inputs = torch.arange(4, dtype=torch.double) / 10 + at / 100
        return {"inputs": inputs, "labels": inputs.sum(0, keepdim=True)}


class Average(transformers.TrainerCallback):
    """Its state is in plain attributes."""

    def __init__(self, model):
        self.model = model
        self.average = None
        self.steps = []

    def on_step_end(self, args, state, control, **_):
        flat = torch.cat([each.detach().flatten() for each in self.model.parameters()])
        self.average = flat if self.average is None else 0.9 * self.average + 0.1 * flat
        self.steps.append(state.global_step)


class Killer(transformers.TrainerCallback):
    def on_pre_optimizer_step(self, args, state, control, **_):
        die("step", state.global_step)

    def on_save(self, args, state, control, **_):
        SAVES.append(state.global_step)
        die("save", state.global_step)

    def on_prediction_step(self, args, state, control, **_):
        die("evaluate", state.global_step)


def die(place, step):
    kill = f"{place}@{step}:{survive.rank()}"
    if kill in sys.argv[2:]:
        try:
            (FOLDER / kill).mkdir()
        except FileExistsError:
            return
        os.kill(os.getpid(), signal.SIGKILL)


def train(kind, kind_of_arguments, name, callbacks):
    """6 steps of 2 batches in each of 2 epochs."""
    torch.manual_seed(1)
    arguments = kind_of_arguments(
        str(FOLDER / name), num_train_epochs=2, per_device_train_batch_size=2, use_cpu=True,
        ddp_find_unused_parameters=False,
        gradient_accumulation_steps=2, learning_rate=0.01, weight_decay=0.1, logging_steps=3,
        eval_strategy="epoch", save_steps=5, report_to=[], disable_tqdm=True)
    model = Model()
    average = Average(model)
    trainer = kind(model=model, args=arguments, train_dataset=Data(), eval_dataset=Data(),
                   callbacks=[average, *callbacks])
    result = trainer.train()
    if kind is Trainer and len(sys.argv) > 2:
        assert trainer.went_on_in_memory
    flat = torch.cat([each.detach().flatten() for each in trainer.model.parameters()])
    history = [(entry.get("learning_rate"), entry.get("eval_loss"), entry["step"])
               for entry in trainer.state.log_history]
    weights = torch.cos(torch.arange(flat.numel()).double())
    return (float(flat @ weights), history, result.global_step, float(average.average @ weights),
            average.steps)


def main():
    ask(2)
    print(f"begins rank {survive.rank()} pid {os.getpid()}", flush=True)
    disturbed = train(Trainer, TrainingArguments, "disturbed", [Killer()])
    undisturbed = train(transformers.Trainer, transformers.TrainingArguments, "undisturbed", [])
    print(f"finished rank {survive.rank()} pid {os.getpid()} equal: {disturbed == undisturbed} "
          f"{disturbed} {undisturbed}", flush=True)
    assert (FOLDER / "disturbed" / "checkpoint-4" / "trainer_state.json").exists()
    if survive.rank() == 0:  # which was not lost, but has done the interrupted checkpoint again
        assert SAVES == [4, 5, 10, 10, 12], SAVES


main()
