#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Shows the purpose of each rule of a job's servers: without it, a simulation goes wrong.

  ablations.py [--build DIR] [--seeds N] [--only WORDS] [--quick]
  ablations.py --check    only checks that the text of each rule is still in its file, and that the
                          page with the rules names each ablation, and no other

docs/design/leaders.md and rendezvous.md have the rules. One at a time is changed in a copy that is
compiled and linked with the simulations and with the rest of the library in the build directory
(libelastic.a and test_main have to be there). Each simulation then runs with up to so many seeds.
If none goes wrong, because that takes an unlikely number of faults at once, the scripted tests run.
With --quick they run first, and the simulations only if they all pass. If nothing goes wrong
without a rule, no test needs it, and the exit status is 1.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

from changed_library import Builder, ROOT, source_of
from seeds import run

# The pages whose tables name the ablations, the first those of a registry.
REGISTRIES = ROOT / "docs" / "design" / "etcd_and_directories.md"
LEADERS = ROOT / "docs" / "design" / "leaders.md"
TESTS = {
    "vote": ("tests/unit/nodes/test_vote_machine.cpp", "vote machine: whatever happens*"),
    "candidates": ("tests/unit/simulation/test_simulated_candidates.cpp",
                   "simulation: candidates*"),
    "one_way": ("tests/unit/simulation/test_simulated_candidates.cpp",
                "simulation: a network that fails*"),
    "native": ("tests/unit/simulation/test_simulation.cpp", "simulation: whatever happens*"),
    "registry": ("tests/unit/simulation/test_simulated_registry.cpp", "simulation: a registry*"),
}
SCRIPTED = [f"tests/unit/nodes/test_{name}.cpp" for name in (
    "c10d_rendezvous", "candidate", "fencing", "previous_membership", "leader_connector",
    "node_contact", "registered_leader", "rendezvous_coordinator", "rendezvous_link",
    "vote_machine")]
VOTE = "nodes/detail/vote_machine.ipp"
C10D = "nodes/detail/c10d_rendezvous.ipp"
CANDIDATE = "nodes/detail/candidate.ipp"
CONNECTOR = "nodes/detail/leader_connector.ipp"
LINK = "nodes/detail/rendezvous_link.ipp"
LEADER = "nodes/detail/registered_leader.ipp"
REGISTRY = "nodes/detail/registry_connector.ipp"
FORMER = "nodes/detail/previous_membership.hpp"
CONTACT = "nodes/detail/node_contact.hpp"
COORDINATOR = "nodes/detail/rendezvous_coordinator.ipp"

# How long the scripted tests may take, in seconds; on a quiet machine they take a tenth of that.
SCRIPTED_PATIENCE = 300

# The rule, its file, the text there, the text that replaces it, and the simulations that may
# notice.
RULES = [
    ("a voter is bound to one leader at a time",
     VOTE, "const bool is_bound = promise_ && !is_bound_to(peer);", "const bool is_bound = false;",
     "vote candidates one_way"),
    ("an end counts only if both connections to a leader end at once",
     VOTE, "if (last - std::min(*leader.lost_at, *leader.left_at) > grace()) return silent;",
     "", "vote candidates one_way"),
    ("a candidate is believed if the agent at its address says the same",
     CANDIDATE, "if (way.node != 0 && way.node == claim.node) return admit(sender);",
     "return admit(sender);", "candidates one_way"),
    ("a voter is bound to an agent, not to its place",
     VOTE, "return promise_ && promise_->to == peer && "
     "promise_->incarnation == incarnation_of(peer);",
     "return promise_ && promise_->to == peer;", "vote candidates one_way"),
    ("a node refuses a candidate that is met at the address of another one",
     CONNECTOR, "if (index == static_cast<int>(place)) return {};", "return {};",
     "candidates one_way"),
    ("a leader acts only while a majority has answered lately",
     VOTE, "std::vector<time_point> ends(1, time_point::max());",
     "if (true) return time_point::max();\nstd::vector<time_point> ends(1, time_point::max());",
     "vote candidates one_way"),
    ("a leader that steps down is bound to itself until its workers are gone",
     VOTE, "promise_ = "
     "promise{chosen_.self, incarnation_of(chosen_.self), term_, now + grace() / 2};",
     "promise_ = promise{chosen_.self, incarnation_of(chosen_.self), term_, now};",
     "vote candidates one_way"),
    ("a leader's own node lives by its lease",
     LINK, "connector_->reaches_own_process() ? fencing::of_step_down(grace) : "
     "fencing::of_end(grace)", "fencing::of_end(grace)", "candidates one_way"),
    ("the nodes of a leader that resigned live by silence",
     LINK, "if (has_server_resigned_) {", "if (false) {", "candidates one_way"),
    ("the successor of a leader that resigned waits only for nodes that it knows",
     LINK, "is_known && has_server_resigned_", "has_server_resigned_", "candidates one_way"),
    ("... and any other new server waits for none",
     LINK, "is_known && has_server_resigned_", "is_known", "candidates one_way"),
    ("... nor for nodes that it may know from a greeting without an answer",
     LINK, "    has_server_resigned_ = false;\n    co_return false;", "    co_return false;",
     "candidates one_way"),
    ("... and nobody waits for the own node of a leader that resigns",
     LINK, "has_server_resigned_ = !connector_->reaches_own_process();",
     "has_server_resigned_ = true;", "candidates one_way"),
    ("a voter that left supports its leader no longer than it could not vote",
     VOTE, "(has_retired ? *voter.retired_at : voter.heard) + patience();",
     "has_retired ? time_point::max() : voter.heard + patience();", "vote candidates one_way"),
    ("... and another agent in its place may be lost",
     VOTE, "const bool is_its_own_end = has_retired && voter.reached_at <= *voter.retired_at;",
     "const bool is_its_own_end = has_retired;", "vote candidates one_way"),
    ("nodes learn only what a majority has",
     CANDIDATE, "return votes_->is_kept();", "return true;", "candidates one_way"),
    ("a new leader takes over the round of the former one",
     COORDINATOR, "for (const std::uint64_t number : kept.members) expect(number, now + "
     "settings.silence());", "", "candidates one_way"),
    ("the node of a leader that made no round is not accounted for by its lease",
     VOTE, "value_.leader_node = 0;", "value_.leader_node = chosen_.node;",
     "vote candidates one_way"),
    ("any join accounts for its node",
     COORDINATOR, "request.after < state_.round && !is_inherited_", "request.after < state_.round",
     "candidates one_way"),
    ("a candidate that knows nothing votes only when any earlier promise of it is void",
     VOTE, "return !is_blank_ || now >= started_ + silence();", "return true;",
     "vote candidates one_way"),
    ("a candidate that finds the mark of a killed one says so",
     VOTE, "has_any_restarted_ = has_any_restarted_ || answer.has_restarted;", "",
     "vote candidates one_way"),
    ("a leader that may not know the newest round waits until that round is over",
     VOTE, "value_.is_uncertain = !is_known || value_.is_uncertain;",
     "value_.is_uncertain = false;", "vote candidates one_way"),
    ("a doubt outlives the leader that had it",
     VOTE, "value_.is_uncertain = !is_known || value_.is_uncertain;",
     "value_.is_uncertain = !is_known;", "vote candidates one_way"),
    ("the loser of an election resigns",
     VOTE, "say_to_asked({term_, false});", "", "vote candidates one_way"),
    ("a voter refuses older terms",
     VOTE, "if (!request.is_prevote && request.term <= term_) return false;", "",
     "vote candidates one_way"),
    ("... and takes nothing of them",
     VOTE, "answer.is_taken = request.term >= term_;", "answer.is_taken = true;",
     "vote candidates one_way"),
    ("a node refuses leaders of older terms",
     CONNECTOR, "if (!leads || leads->term < term_) continue;", "if (!leads) continue;",
     "candidates one_way"),
    ("terms continue from the time of day",
     VOTE, "term_ = std::max<std::int64_t>(term_ + 1, wall_ + elapsed.count());", "++term_;",
     "vote candidates one_way"),
    ("a node waits for a leader's first message as long as that may have to be silent",
     LINK, "return std::max<duration>(attempt_timeout, settings_.silence());",
     "return attempt_timeout;", "candidates one_way"),
    ("a node repeats how the job ends until it is answered",
     C10D, "while (is_to_wait() && time.now() < limit) {", "while (false) {",
     "candidates one_way"),
    ("a node that gives up by silence hangs up when its workers are gone",
     LINK, "is_lost && has_workers ? fence() : known_alive_at_ + patience",
     "known_alive_at_ + patience", "candidates one_way native"),
    ("a node of a round that meets again ends the round, even if others have finished",
     COORDINATOR, "if (some_finished_ && !entry.has_finished) {", "if (false) {",
     "candidates one_way native"),
    ("a node's time counts from its message, not from the answer",
     LINK, "known_alive_at_ = unanswered_.front();", "known_alive_at_ = time_->now();",
     "candidates one_way native"),
    ("a node's time counts from its greeting, not from the welcome",
     LINK, "known_alive_at_ = greeted_at;", "known_alive_at_ = time_->now();",
     "candidates one_way native"),
    ("a leader stays until all nodes know of the end",
     CANDIDATE, "while (is_over) {", "while (false) {", "candidates one_way"),
    ("the first round of a new server waits for the end of the former world",
     COORDINATOR, "return !has_made_round_ && !state_.closed && !former_.is_over(now);",
     "return false && now > now;", "native"),
    ("... unless a node was in it until the connection ended",
     FORMER, "if (!was_last_ || !was_served_here_ ||", "if (!was_served_here_ ||", "native"),
    ("... and the server is where the former one was",
     FORMER, "if (!was_last_ || !was_served_here_ ||", "if (!was_last_ ||", "native"),
    ("... which a node that stood by reports, too",
     COORDINATOR, "if (had_server && !is_elected_)", "if (false)", "native"),
    ("rounds continue from the greatest that a node reports",
     COORDINATOR, "next_round_ = std::max(next_round_, round);", "", "native"),
    ("restarts are the greatest count that a node reports",
     COORDINATOR, "restarts_ = std::max(restarts_, request.former->restarts);", "", "native"),
    ("a node is gone only if both of its connections end",
     CONTACT, "if (!link_ended_at_ || witness) return silent_until;",
     "if (!link_ended_at_) return silent_until;", "candidates one_way native"),
    ("... also if the second one is still to come",
     CONTACT, "if (!witness_ended_at_) return silent_until;",
     "if (!witness_ended_at_) return *link_ended_at_ + settings.reconnect_grace;", "native"),
    ("... and connections from before the node came back are forgotten",
     COORDINATOR, "for (const connection former : node.contact.connections()) drop(former);",
     "if (node.contact.link) drop(*node.contact.link);", "native"),
    ("nodes learn of a round when the registry has it",
     LEADER, "return !needs_record && has_lease();", "return has_lease();", "registry"),
    ("a leader that cannot write the record leads until its lease ends",
     LEADER, "lease_end_ = begun + chosen_.lease;", "lease_end_ = time_point::max();", "registry"),
    ("... and others wait for that end",
     REGISTRY, "return whole + whole / 50 + std::chrono::seconds(1);",
     "return whole / 8;", "registry"),
    ("the time of a record counts from its write, whatever others write",
     REGISTRY, "if (!left.record || !right.record) return left.record.has_value() == "
     "right.record.has_value();", "if (true) return left.version == right.version;", "registry"),
    ("a leader that was replaced disconnects its nodes",
     LEADER, "if (!is_ours && seen.record && seen.record->kept.term > record_.kept.term) {",
     "if (false) {", "registry"),
    ("a leader looks which of its attempts the record shows",
     LEADER, "if (is_ours && seen.record->kept.sequence == record_.kept.sequence) {",
     "if (is_ours) {", "registry"),
    ("all other nodes have lost the leader before another agent leads",
     REGISTRY, "if (!is_theirs) co_return std::nullopt;", "if (!is_theirs) continue;", "registry"),
    ("a node that claims takes no place in that round",
     REGISTRY, "node_.skip_rounds_through(claim.round);", "", "registry"),
    ("a leader that is alone in its round stops its own workers",
     LEADER, "job_->fence_own_node();", "", "registry"),
    ("... also if its node comes back",
     COORDINATOR,
     "const bool is_fenced = own_fence_.is_reached() && node.number.high == own_node_;",
     "const bool is_fenced = false;", "registry"),
    ("... and another one waits until these are gone",
     REGISTRY, "co_return debt + std::max<duration>(*wait, grace / 2);",
     "co_return duration::zero();", "registry"),
    ("... and so does the one after it",
     REGISTRY, "record.kept.is_uncertain ? record.silence + grace : duration::zero();",
     "duration::zero();", "registry"),
    ("leaders that follow each other do not begin a node's wait anew",
     LINK, "if (is_other_server) limit_join();", "", "registry"),
    ("... unless the node could get no place",
     LINK, "was_on_hold_ = true;", "", "registry"),
    ("... such as one that stands by",
     COORDINATOR, "if (!stands_by || knew_it) return;", "if (true) return;", "registry"),
    ("nodes are placed before another one ends their round",
     COORDINATOR, "if (!was_complete && state_.complete) break;", "", "registry"),
]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=ROOT / "build" / "dev", type=pathlib.Path)
    parser.add_argument("--seeds", default=3000, type=int, help="of each simulation (3000)")
    parser.add_argument("--only", default="", metavar="WORDS", help="rules that say so")
    parser.add_argument("--quick", action="store_true", help="the scripted tests first")
    parser.add_argument("--check", action="store_true")
    return parser.parse_args()


def missing_rules():
    for rule, file, text, _, _ in RULES:
        if " ".join(text.split()) not in " ".join(source_of(file).read_text("utf-8").split()):
            yield f"{file}: the text to replace is gone: {rule}"


def page_of(simulations):
    if "native" in simulations:
        return None
    return REGISTRIES if simulations == "registry" else LEADERS


def named_rules(page):
    """The last column of the page's tables."""
    for line in page.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| ") and not set(cells[-1]) <= {"-", "–"} and cells[-1] != "ablation":
            yield from (name.strip() for name in cells[-1].split(";"))


def misnamed_rules():
    for page in (REGISTRIES, LEADERS):
        named = set(named_rules(page))
        known = {rule.removeprefix("... ") for rule, _, _, _, simulations in RULES
                 if page_of(simulations) == page}
        for rule in sorted(known - named):
            yield f"{page.relative_to(ROOT)}: an ablation is not named: {rule}"
        for rule in sorted(named - known):
            yield f"{page.relative_to(ROOT)}: there is no such ablation: {rule}"


def without(file, text, instead):
    """The file's content where `text`, whatever its line breaks, is replaced."""
    source = source_of(file).read_text("utf-8")
    pattern = r"\s+".join(re.escape(word) for word in text.split())
    return re.sub(pattern, lambda _: instead, source)


class Simulations:
    """The simulations and the scripted tests, linked with a library that lacks a rule."""

    def __init__(self, build):
        self.builder = Builder(build, "ablations")
        self.tests = self.builder.compile_tests(
            {*SCRIPTED, *(file for file, _ in TESTS.values())})

    def without(self, file, text, instead):
        changed = self.builder.compile_changed(file, without(file, text, instead))
        return self.builder.link("simulations", [*self.tests, changed])


def break_simulation(program, simulations, seeds):
    """What goes wrong first in a simulation; or None."""
    for name in simulations.split():
        _, which = TESTS[name]
        try:
            problem = run(program, which, 1, seeds)
        except RuntimeError as failure:
            problem = 0, str(failure).splitlines()[0]
        if problem:
            return "{} seed {}: {}".format(name, *problem)
    return None


def break_scripted(program):
    """The first scripted test that fails; or None."""
    try:
        done = subprocess.run([program, "[rendezvous]", "-r", "junit"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, timeout=SCRIPTED_PATIENCE)
        cases = xml.etree.ElementTree.fromstring(done.stdout)
    except subprocess.TimeoutExpired:
        return "a scripted test does not end"
    except xml.etree.ElementTree.ParseError:
        return f"the scripted tests end with {done.returncode}"
    for case in cases.iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            return "the test '{}'".format(case.get("name"))
    return None


def break_something(program, simulations, seeds, is_quick):
    """What goes wrong first; or None."""
    checks = [lambda: break_simulation(program, simulations, seeds),
              lambda: break_scripted(program)]
    if is_quick:
        checks.reverse()
    return checks[0]() or checks[1]()


def main():
    arguments = parse_arguments()
    missing = [*missing_rules(), *misnamed_rules()]
    print("\n".join(missing), end="\n" if missing else "")
    if missing or arguments.check:
        return bool(missing)
    simulations_of = Simulations(arguments.build.resolve())
    tried = needless = 0
    for rule, file, text, instead, simulations in RULES:
        if arguments.only not in rule:
            continue
        begin = time.monotonic()
        program = simulations_of.without(file, text, instead)
        tried += 1
        problem = break_something(program, simulations, arguments.seeds, arguments.quick)
        seconds = f"{time.monotonic() - begin:.0f} s"
        if problem:
            print(f"{rule}: without it {problem} ({seconds})", flush=True)
        else:
            needless += 1
            print(f"{rule}: nothing goes wrong without it ({simulations}, {arguments.seeds} seeds, "
                  f"{seconds})", flush=True)
    print(f"a test notices that a rule is missing for {tried - needless} of {tried} rules")
    return needless > 0


if __name__ == "__main__":
    sys.exit(main())
