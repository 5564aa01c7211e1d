#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Trains a tiny language model by the Trainer of transformers, and survives the loss of a worker.

    elasticrun --standalone --nproc-per-node 2 --max-restarts 2 \\
        examples/python/train_transformers.py --output /tmp/model --kill-rank 1 --kill-step 6

The model has random weights, so nothing is downloaded. The Trainer reads the environment that
elasticrun sets. After a restart it begins with its newest checkpoint.

With `--on-failure replace` for elasticrun and `--survive` for this script, only the rank that was
lost is started again, and no checkpoint is read.
"""

import argparse
import os
import signal

import torch
from transformers import LlamaConfig, LlamaForCausalLM, TrainerCallback, set_seed
from transformers.trainer_utils import get_last_checkpoint

VOCABULARY = 64


class Sequences(torch.utils.data.Dataset):
    """Numbers that count up, from one that differs from sample to sample."""

    def __len__(self):
        return VOCABULARY

    def __getitem__(self, index):
        words = (index + torch.arange(16)) % VOCABULARY
        return {"input_ids": words, "labels": words}


class KillOnce(TrainerCallback):
    """Ends a rank by SIGKILL after a step of the first attempt."""

    def __init__(self, rank, step):
        self.rank, self.step = rank, step

    def on_step_end(self, args, state, control, **_):
        is_first = os.environ["TORCHELASTIC_RESTART_COUNT"] == "0"
        if is_first and int(os.environ["RANK"]) == self.rank and state.global_step == self.step:
            os.kill(os.getpid(), signal.SIGKILL)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", required=True, help="the folder for checkpoints")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--kill-rank", type=int, default=-1)
    parser.add_argument("--kill-step", type=int, default=6)
    parser.add_argument("--survive", action="store_true", help="with elasticrun's Trainer")
    options = parser.parse_args()
    if options.survive:
        from elasticrun.transformers import Trainer, TrainingArguments
    else:
        from transformers import Trainer, TrainingArguments

    set_seed(3)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2,
                                         intermediate_size=64, num_attention_heads=2))
    # [trainer]
    arguments = TrainingArguments(options.output, max_steps=options.steps, save_steps=4,
                                  per_device_train_batch_size=4, report_to=[],
                                  use_cpu=not torch.cuda.is_available())
    trainer = Trainer(model=model, args=arguments, train_dataset=Sequences(),
                      callbacks=[KillOnce(options.kill_rank, options.kill_step)])
    newest = get_last_checkpoint(options.output) if os.path.isdir(options.output) else None
    trainer.train(resume_from_checkpoint=newest)
    # [/trainer]
    source = "memory" if getattr(trainer, "went_on_in_memory", False) else newest
    print(f"[rank {os.environ['RANK']}] finished at step {trainer.state.global_step}, resumed from "
          f"{source}")


if __name__ == "__main__":
    main()
