#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Records what the ranks of real jobs show that stand still, one file for each fault.

  record_hangs.py FOLDER [FAULT…]   needs root, /dev/fuse, bindfs, ip and PyTorch 2.13

Four ranks of gloo on this machine take steps until a fault at rank 2 stops them. Each file then has
for each rank, twice within a second: PyTorch's flight recorder, the Python stacks, and /proc. The
recorder keeps few entries, which keeps the files short. Inputs of different sizes are not a fault
here: gloo aborts the ranks.
"""

import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

BENCHMARKS = str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks")
sys.path.insert(0, BENCHMARKS)
from hang_faults import Cables, DeadMount, read_shard, wait_for_cut  # noqa: E402

RANKS = 4
LAST_STEP = 5
CULPRIT = 2
PORT = 29817
PATIENCE = 120


# ---- a rank -------------------------------------------------------------------------------------

def socket_of(folder, rank):
    return os.path.join(folder, f"s{rank}")


def train(rank, folder, dist, torch, pair):
    fault = os.environ["FAULT"]
    for step in range(LAST_STEP + 3):
        is_faulty = step == LAST_STEP and rank == CULPRIT
        if is_faulty:
            read_shard(fault, folder)
        if is_faulty and fault == "sub_groups":
            time.sleep(1000)
        if fault == "cut_link" and step == LAST_STEP:
            wait_for_cut(folder, rank)
        if fault == "sub_groups":
            dist.all_reduce(torch.ones(3, 2), group=pair)
        if is_faulty and fault == "mismatched_operation":
            dist.broadcast(torch.ones(5, 7), src=0)
        else:
            dist.all_reduce(torch.ones(5, 7))


def rank_main(rank, folder):
    os.environ["TORCH_FR_BUFFER_SIZE"] = "3"
    import torch
    import torch.distributed as dist
    from torch._C._distributed_c10d import _WorkerServer
    server = _WorkerServer(socket_of(folder, rank), -1)
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    pairs = [dist.new_group(ranks, group_desc=f"pair_{ranks[0]}") for ranks in ([0, 1], [2, 3])]
    try:
        train(rank, folder, dist, torch, pairs[rank // 2])
    finally:
        # As many scripts end, whatever has happened.
        dist.barrier()
        dist.destroy_process_group()
    del server


# ---- the job ------------------------------------------------------------------------------------

class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=2)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(2)
        self.sock.connect(self.path)


def ask(path, handler):
    connection = UnixConnection(path)
    try:
        connection.request("POST", f"/handler/{handler}", body=b"")
        return connection.getresponse().read().decode()
    except OSError:
        return None
    finally:
        connection.close()


def text_of(path):
    try:
        return pathlib.Path(path).read_text()
    except OSError:
        return None


def without_paths(text):
    """The text of a process, with the folders of this machine under usual names."""
    folders = {sys.prefix: "/usr/local", sys.base_prefix: "/usr/local",
               os.path.dirname(os.path.abspath(__file__)): "/home/user", BENCHMARKS: "/home/user"}
    for folder, name in folders.items():
        text = text and text.replace(folder, name)
    return text


def look(process, path):
    proc = f"/proc/{process.pid}"
    return {"recorder": ask(path, "fr_trace_json"),
            "traceback": without_paths(ask(path, "dump_traceback")),
            "stat": text_of(f"{proc}/stat"), "wchan": text_of(f"{proc}/wchan"),
            "exit": process.poll()}


def start(rank, fault, folder):
    is_linked = fault == "cut_link"
    prefix = ["ip", "netns", "exec", Cables.SPACES[rank // 2]] if is_linked else []
    environment = dict(os.environ, FAULT=fault, MASTER_PORT=str(PORT), OMP_NUM_THREADS="1",
                       MASTER_ADDR=Cables.address(0, 0) if is_linked else "127.0.0.1",
                       GLOO_SOCKET_IFNAME="cable" if is_linked else "lo")
    return subprocess.Popen(
        [*prefix, sys.executable, os.path.abspath(__file__), "--rank", str(rank), folder],
        env=environment, stderr=open(os.path.join(folder, f"e{rank}"), "w"),
        start_new_session=True)


def look_at(fault, processes, folder):
    looks = []
    for _ in range(2):
        looks.append([look(process, socket_of(folder, rank))
                      for rank, process in enumerate(processes)])
        time.sleep(1)
    errors = [without_paths(text_of(os.path.join(folder, f"e{rank}")))[-300:]
              for rank in range(RANKS)]
    return {"fault": fault, "time_ns": time.time_ns(),
            "ranks": [{"first": first, "second": second, "stderr": error}
                      for first, second, error in zip(*looks, errors)]}


def record(fault):
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="hang"))
        cables = stack.enter_context(Cables("cable")) if fault == "cut_link" else None
        if fault == "dead_mount":
            stack.enter_context(DeadMount(folder))
        processes = [start(rank, fault, folder) for rank in range(RANKS)]
        try:
            if cables:
                cables.cut(folder, RANKS, PATIENCE)
                time.sleep(4)
            else:
                time.sleep(14)
            return look_at(fault, processes, folder)
        finally:
            for process in processes:
                # Its loader's process, too.
                os.killpg(process.pid, signal.SIGKILL)


FAULTS = ["loader_sleep", "exception", "mismatched_operation", "loader_process", "stopped",
          "endless_loop", "dead_mount", "cut_link", "sub_groups"]


def main():
    if sys.argv[1] == "--rank":
        rank_main(int(sys.argv[2]), sys.argv[3])
        return
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for fault in sys.argv[2:] or FAULTS:
        text = json.dumps(record(fault), indent=1)
        (folder / f"{fault}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
