#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Records the states that PyTorch's own rendezvous handlers store.

  record_rendezvous.py FILE

Two of them start, a third scales up, a fourth is one too many, one goes, a failure has the others meet
again, and the job closes. Of states that differ by times alone one is kept.
"""

import base64
import json
import os
import pickle
import sys
import threading
import time

os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"

import torch
import torch.distributed as dist
from torch.distributed.elastic.rendezvous import RendezvousParameters
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend
from torch.distributed.elastic.rendezvous.dynamic_rendezvous import create_handler

stored = []


class NotingBackend(C10dRendezvousBackend):
    """Notes what was stored."""

    def set_state(self, state, token=None):
        result = super().set_state(state, token)
        if result is not None and result[2]:
            stored.append(state)
        return result


def new_handler(store):
    # Another one, so that none waits for what another one asks.
    backend = NotingBackend(store.clone(), "job")
    parameters = RendezvousParameters("c10d", "", "job", 2, 3, join_timeout=60,
                                      last_call_timeout=2, keep_alive_interval=1)
    return create_handler(store.clone(), backend, parameters)


def meet(handlers):
    threads = [threading.Thread(target=each.next_rendezvous, daemon=True) for each in handlers]
    for thread in threads:
        thread.start()
    return threads


def finish(threads):
    for thread in threads:
        thread.join()


def await_list(handler, name):
    while not getattr(handler._state_holder.state, name):
        handler.num_nodes_waiting()
        time.sleep(0.2)


def run():
    store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    one, two, three, four = (new_handler(store) for _ in range(4))
    finish(meet([one, two]))
    # Scale up.
    late = meet([three])
    await_list(one, "wait_list")
    finish(meet([one, two]) + late)
    # One too many, until another one has gone.
    spare = meet([four])
    await_list(one, "redundancy_list")
    three._stop_heartbeats()
    time.sleep(4)
    # A failure: the others meet again.
    finish(meet([one, two]) + spare)
    one.shutdown()


def node(entry):
    return [entry.addr, entry.pid, entry.local_id]


def moment(value):
    return None if value is None else value.isoformat(timespec="microseconds")


def decoded(state):
    return {
        "round": state.round,
        "complete": state.complete,
        "deadline": moment(state.deadline),
        "closed": state.closed,
        "participants": [node(each) + [rank] for each, rank in state.participants.items()],
        "wait_list": [node(each) for each in state.wait_list],
        "redundancy_list": [node(each) for each in state.redundancy_list],
        "last_heartbeats": [node(each) + [moment(at)] for each, at in state.last_heartbeats.items()],
    }


def main():
    run()
    rows, shapes = [], set()
    for state in stored:
        content = decoded(pickle.loads(state))
        shape = json.dumps({**content, "deadline": bool(content["deadline"]),
                            "last_heartbeats": len(content["last_heartbeats"])})
        if shape in shapes:
            continue
        shapes.add(shape)
        rows.append({"name": f"recorded {len(rows)}", "dialect": "2.6+",
                     "producer": f"torch {torch.__version__}, Python {sys.version.split()[0]}",
                     "hex": state.hex(), "base64": base64.b64encode(state).decode(),
                     "decoded": content})
    with open(sys.argv[1], "w", encoding="ascii") as file:
        json.dump(rows, file, indent=1)
        file.write("\n")


main()
