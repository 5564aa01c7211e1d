#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""An agent of PyTorch 1.13 meets states that another program put into the store.

  torch_rendezvous_state.py DIRECTORY

For each NAME.stored, the text of a store, it writes NAME.json, what PyTorch reads, and NAME.again,
the text after PyTorch has written the same state. Where the name begins with "join", it takes part
in the rendezvous before that, as the node joiner.example of two.
"""

import datetime
import json
import pathlib
import sys
import time

import torch.distributed as dist
from torch.distributed.elastic.rendezvous import dynamic_rendezvous as dynamic
from torch.distributed.elastic.rendezvous.c10d_rendezvous_backend import C10dRendezvousBackend

KEY = "torch.rendezvous.job"
KNOWN = set(vars(dynamic._RendezvousState()))
# Nobody is taken for dead: the times of the states are any.
SETTINGS = dynamic.RendezvousSettings(
    run_id="job", min_nodes=2, max_nodes=2, timeout=dynamic.RendezvousTimeout(),
    keep_alive_interval=datetime.timedelta(days=100_000), keep_alive_max_attempt=5)


def parts(node, *more):
    return [node.fqdn, node.pid, node.local_id, *more]


def view(state):
    for nodes in (state.participants, state.wait_list, state.last_heartbeats):
        for node in nodes:
            if dynamic._NodeDesc(*parts(node)) not in nodes:
                sys.exit(f"{node} cannot be found")
    return {
        "round": state.round,
        "complete": state.complete,
        "deadline": state.deadline and state.deadline.isoformat(timespec="microseconds"),
        "closed": state.closed,
        "participants": [parts(node, rank) for node, rank in state.participants.items()],
        "wait_list": [parts(node) for node in state.wait_list],
        "last_heartbeats": [parts(node, at.isoformat(timespec="microseconds"))
                            for node, at in state.last_heartbeats.items()],
        "extra": {name: value for name, value in vars(state).items() if name not in KNOWN},
    }


def main():
    for stored in sorted(pathlib.Path(sys.argv[1]).glob("*.stored")):
        store = dist.HashStore()
        if text := stored.read_text(encoding="ascii"):
            store.set(KEY, text)
        holder = dynamic._BackendRendezvousStateHolder(
            C10dRendezvousBackend(store, "job"), SETTINGS, cache_duration=0)
        holder.sync()
        if stored.name.startswith("join"):
            joiner = dynamic._NodeDesc("joiner.example", 77, 0)
            dynamic._DistributedRendezvousOpExecutor(joiner, holder, SETTINGS).run(
                dynamic._RendezvousJoinOp(), time.monotonic() + 60)
        read = json.dumps(view(holder.state), default=sorted)
        holder.mark_dirty()
        if not holder.sync():
            sys.exit(f"{stored.name}: the state cannot be written")
        stored.with_suffix(".json").write_text(read, encoding="utf-8")
        stored.with_suffix(".again").write_bytes(store.get(KEY))


main()
