#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Records what the ranks of real jobs show that stand still, one file for each fault.

  record_hangs.py FOLDER [FAULT…]   needs root, /dev/fuse, bindfs, ip and PyTorch 2.13

Four ranks of gloo on this machine take steps until a fault at rank 2 stops them. Each file then has
for each rank, twice within a second: PyTorch's flight recorder, the Python stacks, and /proc. The
recorder keeps few entries, which keeps the files short. Inputs of different sizes are no fault
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

RANKS = 4
LAST_STEP = 5
CULPRIT = 2
PORT = 29817


# ---- a rank -------------------------------------------------------------------------------------

def read_shard(mount):
    """The loader of a rank; a rank without a fault gets its data at once."""
    fault = os.environ["FAULT"]
    if fault == "loader_sleep":
        time.sleep(1000)
    elif fault == "endless_loop":
        while True:
            pass
    elif fault == "dead_mount":
        open(os.path.join(mount, "shard"), "rb").read()
    elif fault == "loader_process":
        import torch.utils.data
        next(iter(torch.utils.data.DataLoader(StuckData(), num_workers=1)))
    elif fault == "exception":
        raise ValueError("the shard is damaged")


class StuckData:
    """A data set whose process never has an item."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        time.sleep(1000)


def train(rank, mount, dist, torch, pair):
    for step in range(LAST_STEP + 3):
        is_faulty = step == LAST_STEP and rank == CULPRIT
        fault = os.environ["FAULT"]
        if is_faulty:
            read_shard(mount)
            if fault == "stopped":
                os.kill(os.getpid(), signal.SIGSTOP)
        if fault == "sub_groups" and rank == CULPRIT and step == LAST_STEP:
            time.sleep(1000)
        if fault == "cut_link" and step == LAST_STEP:
            open(os.path.join(mount, f"ready{rank}"), "w").close()
            while not os.path.exists(os.path.join(mount, "cut")):
                time.sleep(0.01)
        if fault == "sub_groups":
            dist.all_reduce(torch.ones(3, 2), group=pair)
        if is_faulty and fault == "mismatched_operation":
            dist.broadcast(torch.ones(5, 7), src=0)
        else:
            dist.all_reduce(torch.ones(5, 7))


def rank_main(rank, path, mount):
    os.environ["TORCH_FR_BUFFER_SIZE"] = "3"
    import torch
    import torch.distributed as dist
    from torch._C._distributed_c10d import _WorkerServer
    server = _WorkerServer(path, -1)
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    pairs = [dist.new_group(ranks, group_desc=f"pair_{ranks[0]}") for ranks in ([0, 1], [2, 3])]
    try:
        train(rank, mount, dist, torch, pairs[rank // 2])
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
               os.path.dirname(os.path.abspath(__file__)): "/home/user"}
    for folder, name in folders.items():
        text = text and text.replace(folder, name)
    return text


def look(process, path):
    proc = f"/proc/{process.pid}"
    return {"recorder": ask(path, "fr_trace_json"),
            "traceback": without_paths(ask(path, "dump_traceback")),
            "stat": text_of(f"{proc}/stat"), "wchan": text_of(f"{proc}/wchan"),
            "exit": process.poll()}


def sh(command):
    subprocess.run(command, shell=True, check=True)


class Links:
    """Two network namespaces with a cable, for ranks 0 and 1, and 2 and 3."""

    def __enter__(self):
        sh("ip netns add hang0 && ip netns add hang1")
        sh("ip link add cable netns hang0 type veth peer name cable netns hang1")
        for side in (0, 1):
            sh(f"ip -n hang{side} addr add 10.91.0.{side + 1}/24 dev cable")
            sh(f"ip -n hang{side} link set cable up && ip -n hang{side} link set lo up")
        return self

    def cut(self):
        """What is sent to an address that no card has reaches nobody."""
        for side in (0, 1):
            sh(f"ip -n hang{side} neigh replace 10.91.0.{2 - side} lladdr 02:00:00:00:00:99 "
               f"dev cable nud permanent")

    def __exit__(self, *_):
        sh("ip netns del hang0; ip netns del hang1")


class DeadMount:
    """A file system whose server can be stopped: who reads from it then waits in the kernel."""

    def __init__(self, behind, mount):
        self.mount = mount
        pathlib.Path(behind, "shard").write_bytes(b"1")
        self.daemon = subprocess.Popen(["bindfs", "-f", behind, mount])

    def __enter__(self):
        while not os.path.ismount(self.mount):
            time.sleep(0.05)
        self.daemon.send_signal(signal.SIGSTOP)

    def __exit__(self, *_):
        self.daemon.send_signal(signal.SIGCONT)
        sh(f"umount -l {self.mount}")
        self.daemon.kill()
        self.daemon.wait()


def start(rank, fault, folder, mount, is_linked):
    prefix = ["ip", "netns", "exec", f"hang{rank // 2}"] if is_linked else []
    environment = dict(os.environ, FAULT=fault, MASTER_PORT=str(PORT), OMP_NUM_THREADS="1",
                       MASTER_ADDR="10.91.0.1" if is_linked else "127.0.0.1",
                       GLOO_SOCKET_IFNAME="cable" if is_linked else "lo")
    return subprocess.Popen(
        [*prefix, sys.executable, os.path.abspath(__file__), "--rank", str(rank),
         os.path.join(folder, f"s{rank}"), mount],
        env=environment, stderr=open(os.path.join(folder, f"e{rank}"), "w"),
        start_new_session=True)


def look_at(fault, processes, folder):
    looks = []
    for _ in range(2):
        looks.append([look(process, os.path.join(folder, f"s{rank}"))
                      for rank, process in enumerate(processes)])
        time.sleep(1)
    errors = [without_paths(text_of(os.path.join(folder, f"e{rank}")))[-300:]
              for rank in range(RANKS)]
    return {"fault": fault, "time_ns": time.time_ns(),
            "ranks": [{"first": first, "second": second, "stderr": error}
                      for first, second, error in zip(*looks, errors)]}


def record(fault):
    links = Links() if fault == "cut_link" else contextlib.nullcontext()
    with tempfile.TemporaryDirectory(prefix="hang") as folder, links:
        mount = os.path.join(folder, "mount")
        os.mkdir(mount)
        os.mkdir(os.path.join(folder, "behind"))
        disk = contextlib.nullcontext()
        if fault == "dead_mount":
            disk = DeadMount(os.path.join(folder, "behind"), mount)
        with disk:
            processes = [start(rank, fault, folder, mount, fault == "cut_link")
                         for rank in range(RANKS)]
            try:
                if fault == "cut_link":
                    while len(list(pathlib.Path(mount).glob("ready*"))) < RANKS:
                        time.sleep(0.1)
                    links.cut()
                    open(os.path.join(mount, "cut"), "w").close()
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
        rank_main(int(sys.argv[2]), sys.argv[3], sys.argv[4])
        return
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for fault in sys.argv[2:] or FAULTS:
        text = json.dumps(record(fault), indent=1)
        (folder / f"{fault}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
