# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A training by elasticrun.lightning whose ranks are killed, and then the same one by Lightning
alone, in the same processes: both have to end with the same parameters.

  plugin_lightning.py FOLDER [KILL...]

KILL is PLACE@STEP:RANK. The place is step (in the middle of it) or validate.
"""

import logging
import os
import pathlib
import signal
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "python"))
import lightning  # noqa: E402
import torch  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402
from checkpoint_requests import ask  # noqa: E402
from elasticrun import survive  # noqa: E402
from elasticrun.lightning import Trainer  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1])


class Model(lightning.LightningModule):
    def __init__(self, kills):
        super().__init__()
        layers = [torch.nn.Linear(4, 16), torch.nn.Dropout(0.3), torch.nn.Linear(16, 1)]
        self.layers = torch.nn.Sequential(*layers).double()
        self.kills = kills
        self.validations = []

    def training_step(self, batch, _):
        inputs, results = batch
        return torch.nn.functional.mse_loss(self.layers(inputs), results)

    def validation_step(self, batch, _):
        self.die("validate")
        loss = torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1])
        self.log("loss", loss, sync_dist=True)

    def on_after_backward(self):
        self.die("step")

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.9)
        return [optimizer], [{"scheduler": scheduler, "interval": "step"}]

    def die(self, place):
        kill = f"{place}@{self.global_step}:{survive.rank()}"
        if kill in self.kills:
            try:
                (FOLDER / kill).mkdir()
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)


def train(kind, kills):
    """6 batches in each of 3 epochs, two of which make a step."""
    lightning.seed_everything(1, verbose=False)
    inputs = torch.arange(96, dtype=torch.double).reshape(-1, 4) / 100
    data = TensorDataset(inputs, inputs.sum(1, keepdim=True))
    model = Model(kills)
    trainer = kind(accelerator="cpu", devices=int(os.environ["LOCAL_WORLD_SIZE"]), strategy="ddp",
                   default_root_dir=FOLDER, max_epochs=3, accumulate_grad_batches=2, logger=False,
                   num_sanity_val_steps=0, enable_checkpointing=False, enable_progress_bar=False,
                   enable_model_summary=False)
    trainer.fit(model, DataLoader(data, batch_size=2, shuffle=True),
                DataLoader(data, batch_size=4))
    flat = torch.cat([each.detach().flatten() for each in model.parameters()])
    return (float(flat @ torch.cos(torch.arange(flat.numel()).double())), trainer.global_step,
            float(trainer.callback_metrics["loss"]))


def main():
    ask(2)
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    print(f"begins rank {survive.rank()} pid {os.getpid()}", flush=True)
    disturbed = train(Trainer, sys.argv[2:])
    undisturbed = train(lightning.Trainer, [])
    print(f"finished rank {survive.rank()} pid {os.getpid()} equal: {disturbed == undisturbed} "
          f"{disturbed} {undisturbed}", flush=True)
    assert (FOLDER / "hpc_ckpt_4.ckpt").exists()


main()
