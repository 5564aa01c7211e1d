# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""What the plug-ins for frameworks share, without a framework."""

import os
import random
import sys
from unittest import mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "python"))
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from elasticrun import _framework, survive, worker  # noqa: E402


class Rank:
    """A rank that does steps, and is asked for a checkpoint after one of them, or has joined a job
    whose other ranks are."""

    def __init__(self, number, size, store, asked, has_joined=False):
        self.number, self.size, self.store, self.asked = number, size, store, asked
        self.has_joined = has_joined
        self.step = 0
        self.saved = []
        self.answers = []
        self.preemption = _framework.Preemption()
        self.preemption._channel = mock.Mock(requests=self.requests, saved=self.answers.append,
                                             not_saved=mock.Mock())

    def requests(self):
        is_asked = self.step == self.asked
        return [worker.Request({"kind": "checkpoint", "id": self.number})] if is_asked else []

    def do_step(self):
        self.step += 1
        with mock.patch.multiple(dist, is_initialized=lambda: True, get_rank=lambda: self.number,
                                 get_world_size=lambda: self.size), \
                mock.patch.object(dist.distributed_c10d, "_get_default_store",
                                  lambda: self.store), \
                mock.patch.multiple(survive._epochs, _current=1, _first=int(self.has_joined)):
            if self.preemption.is_due(self.step):
                self.preemption.answer(lambda: self.saved.append(self.step))


def check_that_all_ranks_save_after_the_same_step():
    """Whoever is asked first: a rank is at most one step ahead of another, since each step has a
    collective of all."""
    for seed in range(300):
        choose = random.Random(seed)
        size = choose.randint(1, 5)
        store = dist.HashStore()
        asked = [choose.randint(1, 8) for _ in range(size)]
        joined = choose.randrange(size + 1)  # nobody, if it is no rank
        if joined < size and size > 1:
            asked[joined] = 0
        ranks = [Rank(number, size, store, asked[number], number == joined)
                 for number in range(size)]
        while any(rank.step < 12 for rank in ranks):
            slowest = min(rank.step for rank in ranks)
            choose.choice([rank for rank in ranks if rank.step == slowest]).do_step()
        saved = {tuple(rank.saved) for rank in ranks}
        # A rank that has joined may see the first announcement a step later.
        steps = (max(asked) + 1, max(asked) + 2) if 0 in asked else (max(asked) + 1,)
        assert len(saved) == 1 and saved <= {(step,) for step in steps}, (seed, asked, saved)
        assert all([each.id for each in rank.answers] == [rank.number] * bool(rank.asked)
                   for rank in ranks)


def check_that_a_change_in_a_checkpoint_asks_again():
    """The answer is given in the next epoch, whose ranks have another store."""
    rank = Rank(0, 1, dist.HashStore(), 1)
    rank.saved = mock.Mock(append=mock.Mock(side_effect=[RuntimeError("a rank is lost"), None]))
    rank.do_step()
    try:
        rank.do_step()
    except RuntimeError:
        assert not rank.answers
    else:
        raise AssertionError("a failure to save was not raised")
    rank.do_step()
    assert [each.id for each in rank.answers] == [0]


def check_that_a_rank_without_a_place_refuses():
    rank = Rank(0, 1, dist.HashStore(), 1)
    rank.step = 1
    assert rank.preemption.is_due(1)
    rank.preemption.answer(lambda: rank.saved.append(1), "no folder")
    assert not rank.saved and not rank.answers
    request, reason = rank.preemption._channel.not_saved.call_args.args
    assert (request.id, reason) == (0, "no folder")


def check_that_another_release_is_refused():
    versions = _framework.Versions()
    versions.check()
    versions.load_state_dict({"torch": "1.0"})
    try:
        versions.check()
    except ValueError as problem:
        own = versions.state_dict()["torch"]
        assert str(problem) == (f"this rank has torch {own}, and the ranks that it joins have "
                                f"torch 1.0: install the same release"), problem
    else:
        raise AssertionError("another release was not refused")


def check_that_models_are_as_at_first():
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    model[1].eval()  # frozen
    modules = _framework.Modules([model])
    model.eval()
    model[0](torch.ones(1, 2)).sum().backward()
    modules.reset()
    assert model.training and model[0].training and not model[1].training
    assert all(each.grad is None for each in model.parameters())


def check_random_states_of_a_commit():
    state = survive.TorchState(step=0)
    torch.manual_seed(1)
    state.commit()
    expected = torch.rand(3)
    committed = state._committed_random()
    torch.manual_seed(2)
    torch.set_rng_state(committed["torch"])
    assert torch.equal(torch.rand(3), expected)


check_that_all_ranks_save_after_the_same_step()
check_that_a_change_in_a_checkpoint_asks_again()
check_that_a_rank_without_a_place_refuses()
check_that_another_release_is_refused()
check_that_models_are_as_at_first()
check_random_states_of_a_commit()
print("all is as expected")
