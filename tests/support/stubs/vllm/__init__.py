# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""In place of vLLM: what its external launcher takes from the environment, and no model.

The executor reads RANK and LOCAL_RANK, and PyTorch the rest for env://. Each rank then agrees with
the others on the memory that they have, which is the first thing they do together.
"""

import os
import types

import torch
import torch.distributed as dist


class SamplingParams:
    def __init__(self, **parameters):
        self.parameters = parameters


class LLM:
    def __init__(self, model, tensor_parallel_size=1, pipeline_parallel_size=1, seed=None,
                 distributed_executor_backend=None):
        assert distributed_executor_backend == "external_launcher"
        assert seed is not None, "ranks draw different random numbers"
        self.model = model
        self.local_rank = int(os.environ["LOCAL_RANK"])
        dist.init_process_group("gloo", init_method="env://", rank=int(os.environ["RANK"]),
                                world_size=tensor_parallel_size * pipeline_parallel_size)
        memory = torch.tensor([1000 - dist.get_rank()])
        dist.all_reduce(memory, dist.ReduceOp.MIN)
        assert memory.item() == 1000 - (dist.get_world_size() - 1)

    def generate(self, prompts, _parameters):
        dist.barrier()
        return [types.SimpleNamespace(
            prompt=prompt,
            outputs=[types.SimpleNamespace(text=f"stub of {dist.get_world_size()} ranks")])
                for prompt in prompts]
