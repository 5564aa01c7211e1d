# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A training by a framework whose ranks are replaced, for framework_kills.py.

It takes the options of tests/integration/python/survive_worker.py that a test of kills needs, and
writes the same files and lines.
"""

import argparse
import logging
import os
import pathlib
import sys
import time
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "python"))
import torch  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402
from elasticrun import survive  # noqa: E402

BATCHES = 6  # of each rank in an epoch
CHANGES = []


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--framework", choices=["accelerate", "transformers", "lightning"])
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--gate", action="store_true", required=True,
                        help="does as many steps as the file gate in the folder says")
    return parser.parse_args()


OPTIONS = parse_arguments()
EPOCHS = OPTIONS.steps // BATCHES


def begin_step(done):
    """Notes what is done, and waits until more may be."""
    if done:
        with open(OPTIONS.folder / "steps", "a", encoding="ascii") as file:
            file.write(f"{survive.rank()} {done} {os.getpid()} {time.monotonic_ns()}\n")
    while not is_open(done):
        if CHANGES and CHANGES[-1] >= survive.epoch():
            raise survive.WorldChanged("at the gate")
        time.sleep(0.002)


def is_open(done):
    try:
        return done < int((OPTIONS.folder / "gate").read_text() or 0)
    except FileNotFoundError:
        return False


class Data(Dataset):
    """Enough for 2 ranks."""

    def __len__(self):
        return 2 * 2 * BATCHES

    def __getitem__(self, at):
        inputs = torch.arange(4, dtype=torch.double) / 10 + at / 100
        return {"inputs": inputs, "labels": inputs.sum(0, keepdim=True)}


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        layers = [torch.nn.Linear(4, 16), torch.nn.Dropout(0.3), torch.nn.Linear(16, 1)]
        self.layers = torch.nn.Sequential(*layers).double()

    def forward(self, inputs, labels):
        outputs = self.layers(inputs)
        return {"loss": torch.nn.functional.mse_loss(outputs, labels), "logits": outputs}


def train_by_accelerate():
    from elasticrun.accelerate import Accelerator, run

    @run
    def train(model, optimizer):
        accelerator = Accelerator(cpu=True)
        state = accelerator._job.state
        loader = DataLoader(Data(), batch_size=2, shuffle=True)
        parallel, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        for _ in accelerator.epochs(EPOCHS):
            for batch in loader:
                begin_step(state.step)
                accelerator.backward(parallel(**batch)["loss"])
                optimizer.step()
                optimizer.zero_grad()

    model = Model()
    train(model, torch.optim.Adam(model.parameters(), lr=0.001))
    return model


def train_by_transformers():
    import transformers
    from elasticrun.transformers import Trainer, TrainingArguments

    class Gate(transformers.TrainerCallback):
        def on_step_begin(self, args, state, control, **_):
            begin_step(state.global_step)

    arguments = TrainingArguments(
        str(OPTIONS.folder / "model"), num_train_epochs=EPOCHS, per_device_train_batch_size=2,
        use_cpu=True, ddp_find_unused_parameters=False, learning_rate=0.001, logging_steps=5,
        eval_strategy="epoch", save_steps=10, save_total_limit=2, report_to=[], disable_tqdm=True)
    trainer = Trainer(model=Model(), args=arguments, train_dataset=Data(), eval_dataset=Data(),
                      callbacks=[Gate()])
    trainer.train()
    return trainer.model


def train_by_lightning():
    import lightning
    from elasticrun.lightning import Trainer

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = Model()

        def on_train_batch_start(self, *_):
            begin_step(self.global_step)

        def training_step(self, batch, _):
            return self.model(**batch)["loss"]

        def validation_step(self, batch, _):
            self.log("loss", self.model(**batch)["loss"], sync_dist=True)

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=0.001)

    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    lightning.seed_everything(1, verbose=False)
    module = Module()
    trainer = Trainer(accelerator="cpu", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
                      strategy="ddp", max_epochs=EPOCHS, logger=False, enable_checkpointing=False,
                      enable_progress_bar=False, enable_model_summary=False,
                      num_sanity_val_steps=0)
    trainer.fit(module, DataLoader(Data(), batch_size=2, shuffle=True),
                DataLoader(Data(), batch_size=4))
    return module


def main():
    torch.manual_seed(1)
    survive.on_change(CHANGES.append)
    train = {"accelerate": train_by_accelerate, "transformers": train_by_transformers,
             "lightning": train_by_lightning}[OPTIONS.framework]
    flat = torch.cat([each.detach().flatten() for each in train().parameters()])
    total = float(flat @ torch.cos(torch.arange(flat.numel()).double()))
    noise = float(torch.rand(1, dtype=torch.double))
    print(f"finished rank {survive.rank()} of {survive.world_size()} pid {os.getpid()} checksum "
          f"{total:.12f} noise {noise:.9f}", flush=True)


main()
