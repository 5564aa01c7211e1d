#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""How much later a job goes on after a replacement whose ranks restore from the vault.

Jobs of FSDP2 with AdamW, in turns one that commits and one that does not. A rank of each is killed
and replaced. Of each job: the time from the kill until all ranks can do the next step, the time
that the slowest rank takes to restore, and the CPU time that all take for it.
"""

import argparse
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]

if "--worker" in sys.argv:  # here, where a standby finds it
    import torch
    import torch.distributed as dist
    from elasticrun import survive
    from torch.distributed.fsdp import fully_shard


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--elasticrun", default=ROOT / "build/release/elasticrun",
                        type=pathlib.Path)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--ranks", default=4, type=int)
    parser.add_argument("--mebibytes", default=256, type=int, help="the state of a rank")
    parser.add_argument("--pairs", default=5, type=int)
    parser.add_argument("--worker", choices=["committed", "empty"], help=argparse.SUPPRESS)
    return parser.parse_args()


def work(arguments):
    torch.set_num_threads(1)
    torch.optim.AdamW([torch.zeros(1, requires_grad=True)])  # the first one imports much
    survive.prepare()
    layers = 16

    @survive.run
    def train(state):
        survive.init_process_group("gloo")
        mesh = survive.init_device_mesh("cpu", (survive.world_size(),))
        # A parameter and its two moments, of 4 bytes.
        size = arguments.mebibytes * 2**20 // (3 * 4 * layers) * survive.world_size()
        model = torch.nn.Sequential(*(torch.nn.Linear(1024, size // 1024, bias=False, device="meta")
                                      for _ in range(layers)))
        fully_shard(model, mesh=mesh)
        state.model = model.to_empty(device="cpu")
        state.optimizer = torch.optim.AdamW(model.parameters())
        start, start_cpu = time.monotonic(), time.process_time()
        is_restored = state.restore()
        seconds, cpu = time.monotonic() - start, time.process_time() - start_cpu
        dist.barrier()
        if survive.epoch() > 0:
            assert is_restored == (arguments.worker == "committed")
            print(f"ready {time.monotonic():.3f} restore {seconds:.3f} cpu {cpu:.3f};", flush=True)
            return
        for parameter in model.parameters():
            parameter.to_local().detach().normal_()
            parameter.grad = torch.ones_like(parameter)
        state.optimizer.step()
        for _ in range(2 if arguments.worker == "committed" else 0):
            state.commit()
            dist.barrier()
        if survive.rank() == 1:
            time.sleep(25)  # the standby is ready
            print(f"killed {time.monotonic()};", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        dist.barrier()

    train(survive.TorchState(sharded=True))


def measure(arguments, kind):
    """Seconds until the next step, those of the slowest restore, and the CPU time of all."""
    limit = arguments.ranks * (2 * arguments.mebibytes + 16)
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.elasticrun, "--nproc-per-node", arguments.ranks, "--max-restarts", 1,
                   "--on-failure", "replace", "--warm-standby", "--standby-delay", 1,
                   "--rejoin-timeout", 60, "--log-dir", folder, "--vault-limit", f"{limit}M",
                   __file__, "--worker", kind, "--mebibytes", arguments.mebibytes]
        environment = dict(os.environ, PYTHON_EXEC=arguments.python, GLOO_SOCKET_IFNAME="lo",
                           OMP_NUM_THREADS="1", PYTHONPATH=str(ROOT / "python"))
        text = subprocess.run(list(map(str, command)), env=environment, check=True,
                              stdout=subprocess.PIPE, text=True).stdout
    killed = float(re.search(r"killed ([\d.]+)", text)[1])
    found = re.findall(r"ready ([\d.]+) restore ([\d.]+) cpu ([\d.]+);", text)
    assert len(found) == arguments.ranks, text
    ready, restore, cpu = zip(*(map(float, each) for each in found))
    return max(ready) - killed, max(restore), sum(cpu)


def main():
    arguments = parse_arguments()
    if arguments.worker:
        return work(arguments)
    differences = []
    for _ in range(arguments.pairs):
        committed, restore, cpu = measure(arguments, "committed")
        empty, _, _ = measure(arguments, "empty")
        differences.append(committed - empty)
        print(f"next step after {committed:.2f} s, of which restore {restore:.2f} s ({cpu:.2f} s "
              f"of CPU time of all); with an empty vault after {empty:.2f} s", flush=True)
    print(f"median of the differences: {statistics.median(differences):+.2f} s")


if __name__ == "__main__":
    main()
