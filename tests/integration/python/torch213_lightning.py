# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A training by Lightning that loses a worker and goes on from its checkpoint.

  torch213_lightning.py FOLDER
"""

import os
import pathlib
import sys
import warnings

import lightning
import torch
from torch.utils.data import DataLoader, TensorDataset

FOLDER = pathlib.Path(sys.argv[1])
ATTEMPT = int(os.environ["TORCHELASTIC_RESTART_COUNT"])


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1)
        self.first_epoch = None

    def training_step(self, batch, _):
        inputs, results = batch
        return torch.nn.functional.mse_loss(self.layer(inputs), results)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)

    def on_train_epoch_start(self):
        if self.first_epoch is None:
            self.first_epoch = self.current_epoch
        if self.current_epoch == 1 and ATTEMPT == 0 and self.global_rank == 1:
            os.kill(os.getpid(), 9)


class Checkpoint(lightning.Callback):
    def on_train_epoch_end(self, trainer, _):
        trainer.save_checkpoint(FOLDER / "last.ckpt")


def main():
    warnings.simplefilter("ignore")
    lightning.seed_everything(1)
    data = torch.arange(32, dtype=torch.float).reshape(-1, 4) / 100
    loader = DataLoader(TensorDataset(data, data.sum(1, keepdim=True)), batch_size=2)
    model = Model()
    trainer = lightning.Trainer(accelerator="cpu", devices=int(os.environ["LOCAL_WORLD_SIZE"]),
                                num_nodes=1, strategy="ddp", max_epochs=2, logger=False,
                                enable_checkpointing=False, enable_progress_bar=False,
                                enable_model_summary=False, callbacks=[Checkpoint()])
    last = FOLDER / "last.ckpt"
    trainer.fit(model, loader, ckpt_path=last if last.exists() else None)
    total = sum(each.double().sum() for each in model.parameters()).detach()
    totals = trainer.strategy.all_gather(total)
    print(f"attempt {ATTEMPT}, from epoch {model.first_epoch}, {trainer.world_size} workers, "
          f"{type(trainer.strategy.cluster_environment).__name__}, "
          f"equal: {bool((totals == totals[0]).all())};", flush=True)
    # A thread of the group may else still run when the process ends, which aborts it now and then.
    torch.distributed.destroy_process_group()


main()
