# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""A worker with a process of its own, a loader, that gets SIGTERM. The arguments are what it does
then, and a folder:

save   writes a checkpoint into the folder, for which it needs the loader, and ends
share  goes on until the loader has got SIGTERM, too, and says how often each of them has
"""

import multiprocessing
import os
import pathlib
import signal
import sys
import time

WHAT, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
BATCHES = 50
COUNT = []


def note(number, frame):
    COUNT.append(number)


def write(name, text):
    """Whole or not at all."""
    (FOLDER / (name + ".new")).write_text(text)
    os.replace(FOLDER / (name + ".new"), FOLDER / name)


def load(pipe):
    signal.signal(signal.SIGTERM, note if WHAT == "share" else signal.SIG_DFL)
    pipe.send("ready")
    while WHAT == "save":
        time.sleep(0.002)
        pipe.send(pipe.recv() + 1)
    while not COUNT:
        time.sleep(0.01)
    write("loader", "SIGTERM")
    signal.pause()


def save(pipe):
    batches = []
    for number in range(BATCHES):
        pipe.send(number)
        batches.append(pipe.recv())  # raises once the loader has died
    write("checkpoint", str(sum(batches)))


def main():
    signal.signal(signal.SIGTERM, note)
    here, there = multiprocessing.Pipe()
    multiprocessing.get_context("fork").Process(target=load, args=[there], daemon=True).start()
    there.close()
    here.recv()
    print("ready", flush=True)
    while not COUNT:
        time.sleep(0.01)
    if WHAT == "save":
        save(here)
        return
    while not (FOLDER / "loader").exists():
        time.sleep(0.01)
    print(f"got SIGTERM {len(COUNT)} times", flush=True)
    os._exit(0)


main()
