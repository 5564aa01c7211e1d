# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Learns by trial (REINFORCE) which action is right in which context. Both ranks learn from samples
of their own and share the gradient (DDP over gloo)."""

import argparse
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import peers

CONTEXTS = 8
ACTIONS = 8
SAMPLES = 64
CHECKPOINT = os.environ["CHECKPOINT"]
# One tensor for all steps: to free one that Python has dropped, a thread of gloo needs the GIL, and
# the main thread keeps that while it waits for gloo's threads at the end.
MEAN = torch.zeros(1)


def learn(policy, optimizer, answer):
    """One step. Result: the mean reward of the samples of all ranks."""
    contexts, actions = torch.tensor(answer["samples"]).unbind(1)
    rewards = torch.tensor(answer["rewards"])
    inputs = torch.nn.functional.one_hot(contexts, CONTEXTS).float()
    log_odds = torch.log_softmax(policy(inputs), 1)
    chosen = log_odds.gather(1, actions[:, None])[:, 0]
    loss = -(chosen * (rewards - rewards.mean())).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    MEAN[0] = rewards.mean()
    dist.all_reduce(MEAN)
    return MEAN.item() / dist.get_world_size()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--steps", type=int, default=60)
    steps = arguments.parse_args().steps
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(1)
    policy = DistributedDataParallel(torch.nn.Linear(CONTEXTS, ACTIONS, bias=False))
    optimizer = torch.optim.SGD(policy.parameters(), lr=20.0)
    history = []
    if os.path.exists(CHECKPOINT):
        state = torch.load(CHECKPOINT)
        policy.load_state_dict(state["policy"])
        history = state["history"]
    for step in range(len(history) + 1, steps + 1):
        peers.crash_at(step)
        weights = policy.module.weight.tolist()
        question = {"weights": weights, "count": SAMPLES, "seed": 2 * step + rank}
        answer = peers.ask("rollout", rank, question)
        history.append(learn(policy, optimizer, answer))
        if rank == 0:
            save({"policy": policy.state_dict(), "history": history})
            print(f"step {step}: reward {history[-1]:.3f} (trainer {os.getpid()}, rollout "
                  f"{answer['pid']} has served {answer['served']})", flush=True)
        dist.barrier()  # no rank is ahead of the checkpoint
    del policy  # DDP must not hold the last reference to the group, which may then never end
    dist.destroy_process_group()
    if rank != 0:
        return
    os.remove(CHECKPOINT)
    first, last = sum(history[:5]) / 5, sum(history[-5:]) / 5
    print(f"the reward rose from {first:.2f} to {last:.2f}", flush=True)
    if last < first + 0.3:
        sys.exit("the policy has learned nothing")


def save(state):
    torch.save(state, CHECKPOINT + ".new")
    os.replace(CHECKPOINT + ".new", CHECKPOINT)


if __name__ == "__main__":
    main()
