#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Trains a small model by DeepSpeed with ZeRO-1, and survives the loss of a worker.

    elasticrun --standalone --nproc-per-node 2 --max-restarts 2 \\
        examples/python/train_deepspeed.py --output /tmp/model --kill-rank 1 --kill-step 6

It uses GPUs if there are any, and CPUs over gloo otherwise.
"""

import argparse
import os
import signal

import deepspeed
import torch

CONFIG = {
    "train_micro_batch_size_per_gpu": 4,
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-2, "torch_adam": True}},
    "zero_optimization": {"stage": 1},
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", required=True, help="the folder for checkpoints")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--kill-rank", type=int, default=-1)
    parser.add_argument("--kill-step", type=int, default=6)
    options = parser.parse_args()

    # [engine]
    deepspeed.init_distributed("nccl" if torch.cuda.is_available() else "gloo")
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
    engine, *_ = deepspeed.initialize(model=model, model_parameters=model.parameters(),
                                      config=CONFIG)
    engine.load_checkpoint(options.output)  # of all ranks; it does nothing if there is none
    for step in range(engine.global_steps, options.steps):
        inputs = torch.randn(4, 8, device=engine.device)
        loss = torch.nn.functional.mse_loss(engine(inputs), inputs.sum(1, keepdim=True))
        engine.backward(loss)
        engine.step()
        if (step + 1) % 4 == 0:
            engine.save_checkpoint(options.output)  # of all ranks, too
        # [/engine]
        is_first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
        is_victim = int(os.environ["RANK"]) == options.kill_rank
        if is_first and is_victim and step + 1 == options.kill_step:
            os.kill(os.getpid(), signal.SIGKILL)
    print(f"[rank {os.environ['RANK']}] finished at step {engine.global_steps}")


if __name__ == "__main__":
    main()
