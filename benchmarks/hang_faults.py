# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What makes a rank hold up its job, for hangs.py and for tests/vectors/record_hangs.py."""

import os
import pathlib
import signal
import subprocess
import time


def sh(command):
    subprocess.run(command, shell=True, check=True)


# ---- of a rank ----------------------------------------------------------------------------------

class StuckData:
    """A data set whose process never has an item."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        time.sleep(1000)


def read_shard(fault, folder):
    """A loader. If it has no fault, it returns at once."""
    if fault == "loader_sleep":
        time.sleep(1000)
    elif fault == "endless_loop":
        while True:
            pass
    elif fault == "dead_mount":
        pathlib.Path(folder, "mount", "shard").read_bytes()
    elif fault == "loader_process":
        import torch.utils.data
        next(iter(torch.utils.data.DataLoader(StuckData(), num_workers=1)))
    elif fault == "exception":
        raise ValueError("the shard is damaged")
    elif fault == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)


def wait_for_cut(folder, rank):
    """All ranks meet before the cable is cut."""
    pathlib.Path(folder, f"ready{rank}").touch()
    while not os.path.exists(os.path.join(folder, "cut")):
        time.sleep(0.01)


# ---- of the machine -----------------------------------------------------------------------------

class DeadMount:
    """A file system in a folder whose server is stopped: who reads from it waits in the kernel."""

    def __init__(self, folder):
        self.mount = os.path.join(folder, "mount")
        self.behind = os.path.join(folder, "behind")

    def __enter__(self):
        os.mkdir(self.mount)
        os.mkdir(self.behind)
        pathlib.Path(self.behind, "shard").write_bytes(b"1")
        self.daemon = subprocess.Popen(["bindfs", "-f", self.behind, self.mount])
        while not os.path.ismount(self.mount):
            time.sleep(0.05)
        self.daemon.send_signal(signal.SIGSTOP)

    def __exit__(self, *_):
        self.daemon.send_signal(signal.SIGCONT)
        sh(f"umount -l {self.mount}")
        self.daemon.kill()
        self.daemon.wait()


class Cables:
    """Two network namespaces with cables between them. That of the first name has the addresses
    10.91.0.1 and 10.91.0.2, the next 10.92.0.1 and 10.92.0.2. The last is the one to cut."""

    SPACES = [f"hangs{os.getpid()}n{side}" for side in range(2)]

    def __init__(self, *names):
        self.names = names

    @staticmethod
    def address(number, side):
        return f"10.{91 + number}.0.{side + 1}"

    def __enter__(self):
        for space in self.SPACES:
            sh(f"ip netns add {space} && ip -n {space} link set lo up")
        for number, name in enumerate(self.names):
            sh(f"ip link add {name} netns {self.SPACES[0]} type veth "
               f"peer name {name} netns {self.SPACES[1]}")
            for side, space in enumerate(self.SPACES):
                sh(f"ip -n {space} addr add {self.address(number, side)}/24 dev {name} && "
                   f"ip -n {space} link set {name} up")
        return self

    def cut(self, folder, ranks, patience):
        """Once all ranks have met. What is sent to an address that no card has reaches nobody."""
        deadline = time.time() + patience
        while len(list(pathlib.Path(folder).glob("ready*"))) < ranks:
            if time.time() > deadline:
                raise TimeoutError("the ranks do not meet")
            time.sleep(0.05)
        last = len(self.names) - 1
        for side, space in enumerate(self.SPACES):
            sh(f"ip -n {space} neigh replace {self.address(last, 1 - side)} "
               f"lladdr 02:00:00:00:00:99 dev {self.names[last]} nud permanent")
        pathlib.Path(folder, "cut").touch()

    def __exit__(self, *_):
        for space in self.SPACES:
            sh(f"ip netns del {space}")
