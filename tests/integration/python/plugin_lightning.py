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
import torchmetrics  # noqa: E402
from lightning.pytorch.callbacks import EMAWeightAveraging, ModelCheckpoint  # noqa: E402
from torch.utils.data import DataLoader, TensorDataset  # noqa: E402
from checkpoint_requests import ask  # noqa: E402
from elasticrun import survive  # noqa: E402
from elasticrun.lightning import Trainer  # noqa: E402

FOLDER = pathlib.Path(sys.argv[1])


class Model(lightning.LightningModule):
    def __init__(self, kills):
        super().__init__()
        layers = [torch.nn.Linear(4, 16), torch.nn.BatchNorm1d(16), torch.nn.Dropout(0.3),
                  torch.nn.Linear(16, 1)]
        self.layers = torch.nn.Sequential(*layers).double()
        self.register_buffer("updates", torch.zeros(1))
        self.mean = torchmetrics.MeanMetric()
        self.values = torchmetrics.CatMetric()  # a list, of which a newcomer has the rest only
        self.kills = kills
        self.epochs = []  # what was summed up in each of them

    def training_step(self, batch, _):
        inputs, results = batch
        loss = torch.nn.functional.mse_loss(self.layers(inputs), results)
        self.mean.update(loss.detach())
        self.values.update(loss.detach())
        self.log("train_loss", loss, on_step=False, on_epoch=True, sync_dist=True)
        return loss

    def on_train_batch_end(self, *_):
        self.updates += 1

    def on_train_epoch_end(self):
        self.epochs = self.epochs[:self.current_epoch]
        self.epochs.append((float(self.mean.compute()), float(self.mean.weight),
                            float(self.trainer.callback_metrics["train_loss"]),
                            self.trainer.optimizers[0].param_groups[0]["lr"]))
        assert survive.rank() == 0 or len(self.values.value) == 6, self.values.value
        self.mean.reset()
        self.values.reset()

    def on_save_checkpoint(self, checkpoint):
        checkpoint["epochs"] = self.epochs

    def on_load_checkpoint(self, checkpoint):
        self.epochs = checkpoint["epochs"]

    def validation_step(self, batch, _):
        self.die("validate")
        loss = torch.nn.functional.mse_loss(self.layers(batch[0]), batch[1])
        self.log("loss", loss, sync_dist=True)

    def on_after_backward(self):
        self.die("step")

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.parameters(), lr=0.01)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.9)
        plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, threshold=0.9, patience=0)
        return [optimizer], [{"scheduler": scheduler, "interval": "step"},
                             {"scheduler": plateau, "monitor": "train_loss"}]

    def die(self, place):
        kill = f"{place}@{self.global_step}:{survive.rank()}"
        if kill in self.kills:
            try:
                (FOLDER / kill).mkdir()
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)


class Count(lightning.Callback):
    def __init__(self):
        self.calls = {"batches": 0, "epochs": 0, "validations": 0}

    def on_train_batch_end(self, *_):
        self.calls["batches"] += 1

    def on_train_epoch_end(self, *_):
        self.calls["epochs"] += 1

    def on_validation_end(self, *_):
        self.calls["validations"] += 1

    def state_dict(self):
        return dict(self.calls)

    def load_state_dict(self, saved):
        self.calls = dict(saved)


def train(kind, kills):
    """6 batches in each of 3 epochs, two of which make a step."""
    lightning.seed_everything(1, verbose=False)
    inputs = torch.arange(96, dtype=torch.double).reshape(-1, 4) / 100
    data = TensorDataset(inputs, inputs.sum(1, keepdim=True))
    model = Model(kills)
    count = Count()
    averaging = EMAWeightAveraging(decay=0.5, use_buffers=False)  # each rank has its own buffers
    folder = FOLDER / kind.__module__
    saver = ModelCheckpoint(folder, every_n_train_steps=3, save_top_k=-1, save_last=True)
    trainer = kind(accelerator="cpu", devices=int(os.environ["LOCAL_WORLD_SIZE"]), strategy="ddp",
                   default_root_dir=FOLDER, max_epochs=3, accumulate_grad_batches=2, logger=False,
                   num_sanity_val_steps=0, callbacks=[count, averaging, saver],
                   enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, DataLoader(data, batch_size=2, shuffle=True),
                DataLoader(data, batch_size=4))
    flat = torch.cat([each.detach().flatten() for each in model.layers.state_dict().values()])
    return (float(flat @ torch.cos(torch.arange(flat.numel()).double())), trainer.global_step,
            float(trainer.callback_metrics["loss"]), float(model.updates), count.calls,
            model.epochs, sorted(each.name for each in folder.iterdir()))


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
