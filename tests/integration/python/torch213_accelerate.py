# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A training by Accelerate that loses a worker and goes on from its checkpoint.

  torch213_accelerate.py FOLDER
"""

import os
import sys

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset

STEPS = 4


def main():
    folder = sys.argv[1]
    attempt = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
    accelerator = Accelerator(cpu=True)
    torch.manual_seed(1)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.arange(8 * STEPS, dtype=torch.float).reshape(-1, 4) / 100
    loader = DataLoader(TensorDataset(data, data.sum(1, keepdim=True)), batch_size=1)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    begin = 0
    if os.path.isdir(folder):
        accelerator.load_state(folder)
        begin = 1
    for number, (inputs, results) in enumerate(loader):
        if number < begin:
            continue
        loss = torch.nn.functional.mse_loss(model(inputs), results)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        if number == 0:
            accelerator.save_state(folder)
            accelerator.wait_for_everyone()
            if attempt == 0 and accelerator.process_index == 1:
                os.kill(os.getpid(), 9)
    total = sum(each.double().sum() for each in model.parameters())
    totals = accelerator.gather(total.detach().reshape(1))
    print(f"attempt {attempt}, from step {begin}, {number + 1} of {len(loader)} steps, "
          f"{accelerator.num_processes} workers, equal: {bool((totals == totals[0]).all())};",
          flush=True)
    del model, optimizer, loader
    accelerator.end_training()


main()
