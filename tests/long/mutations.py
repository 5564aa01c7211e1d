#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The elastic authors
# SPDX-License-Identifier: MIT
"""Says which share of small mistakes in the machines that decide a unit test notices.

  mutations.py [--build DIR] [--count N] [--seed N] [MACHINE…]

A mistake is one operator, constant or negation that is another one, or one statement that is left
out. N of them in each machine are drawn by chance; one at a time is compiled and linked with the
unit tests in the build directory (unit_tests has to be there), and the tests of that machine run.
Each mistake that no test notices is printed with its line: it may be harmless, such as a limit that
is one too high, or show what no test asks. What does not compile does not count.
"""

import argparse
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
from typing import NamedTuple

from changed_library import Builder, ROOT, source_of

# A machine's tests may take so many seconds; on a quiet machine they take a tenth of that.
PATIENCE = 300
# The same simulated jobs as in CI.
ENVIRONMENT = {**os.environ, "ELASTIC_SIMULATION_FIRST": "1", "ELASTIC_SIMULATION_SEEDS": "200"}


class Machine(NamedTuple):
    file: str
    tests: str  # as Catch2 selects them: by the files that have them


MACHINES = {
    "votes": Machine("nodes/detail/vote_machine.ipp",
                     "[#test_vote_machine],[#test_simulated_candidates]"),
    "leases": Machine("nodes/detail/registered_leader.ipp",
                      "[#test_registered_leader],[#test_simulated_registry]"),
    "coordinator": Machine("nodes/detail/rendezvous_coordinator.ipp",
                           "[#test_rendezvous_coordinator],[#test_job_roster],"
                           "[#test_rendezvous_bounds],[#test_large_job],[#test_simulation]"),
    "rounds": Machine("nodes/detail/round_machine.ipp", "[#test_round_machine]"),
    "exclusions": Machine("nodes/detail/exclusion_list.ipp", "[#test_exclusion_list]"),
    "rejoin": Machine("agent/detail/rounds/rejoin_machine.ipp", "[#test_rejoin_machine]"),
    "restarts": Machine("agent/impl/restart_ledger.ipp", "[#test_restart_ledger]"),
    "roles": Machine("roles/detail/role_machine.ipp", "[#test_role_machine]"),
    "replicas": Machine("roles/detail/replica_ledger.ipp", "[#test_replica_ledger]"),
    "standbys": Machine("python/detail/standby_plan.ipp",
                        "[#test_standby],[#test_agent_standby]"),
    "stalls": Machine("diagnosis/detail/stall_judge.ipp",
                      "[#test_stall_judge],[#test_stall_watch],[#test_inspection_answer]"),
    "notices": Machine("diagnosis/detail/notice_judge.ipp",
                       "[#test_notice_judge],[#test_notice_watch]"),
    "vault": Machine("vault/detail/vault_step.ipp", "[#test_vault_step]"),
    "state": Machine("status/detail/job_state.ipp", "[#test_job_state]"),
}

# A pattern, and what a match becomes.
CHANGES = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "),
    (r" == ", " != "), (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "),
    (r" \+ (?=\w)", " - "), (r" - (?=\w)", " + "), (r"\+\+", "--"), (r" \+= ", " -= "),
    (r"(?<=[( ])!(?=[a-z(])", ""), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
    (r"\bstd::max\b", "std::min"), (r"\bstd::min\b", "std::max"),
    (r"(?<= )1(?=[;, )])", "2"), (r"(?<= )0(?=[;, )])", "1"),
    # A call or an assignment that is a line of its own is left out.
    (r"^ +[a-z][\w.>-]*(\(.*\)| = .*);$", ""),
]
# Declarations, and what is no code.
NOT_CHANGED = re.compile(r"^\s*(//|#|namespace|template|using|static_assert|return;|\}|"
                         r"ELASTIC_DECL)|^\s*(const |constexpr |auto ).*[^=;]$|\".*\"")


class Mistake(NamedTuple):
    line: int  # counted from 0
    text: str  # of the line, when it is made


def mistakes_in(lines):
    for number, line in enumerate(lines):
        if NOT_CHANGED.search(line):
            continue
        code = line.split(" //")[0]
        for pattern, instead in CHANGES:
            for match in re.finditer(pattern, code):
                yield Mistake(number, code[:match.start()] + instead + code[match.end():])


class Tests:
    """The unit tests, linked with a library that has a mistake."""

    def __init__(self, build):
        self.builder = Builder(build, "mutations")
        words = self.builder.command_of("tests/unit_tests")
        self.objects = [word for word in words if word.endswith(".o") and "test_main" not in word]

    def notice(self, machine, text):
        """Whether a test fails; None: the text does not compile."""
        try:
            changed = self.builder.compile_changed(machine.file, text, stderr=subprocess.DEVNULL)
        except subprocess.CalledProcessError:
            return None
        program = self.builder.link("unit_tests", [*self.objects, changed])
        try:
            done = subprocess.run([program, "-#", machine.tests], env=ENVIRONMENT,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return True
        return done.returncode != 0


def examine(name, tests, count, chance):
    """How many mistakes in a machine were made, and noticed."""
    machine = MACHINES[name]
    lines = source_of(machine.file).read_text("utf-8").splitlines()
    if tests.notice(machine, "\n".join(lines) + "\n"):
        sys.exit(f"mutations.py: the tests of {name} fail without a mistake")
    mistakes = list(mistakes_in(lines))
    chance.shuffle(mistakes)
    made = noticed = 0
    for mistake in mistakes:
        if made == count:
            break
        changed = [*lines[:mistake.line], mistake.text, *lines[mistake.line + 1:]]
        is_noticed = tests.notice(machine, "\n".join(changed) + "\n")
        if is_noticed is None:
            continue
        made += 1
        noticed += is_noticed
        if not is_noticed:
            print(f"{machine.file}:{mistake.line + 1}: no test notices\n"
                  f"  {mistake.text.strip() or 'nothing'}\n  instead of\n"
                  f"  {lines[mistake.line].strip()}", flush=True)
    print(f"{name}: {noticed} of {made} noticed, of {len(mistakes)} that are possible", flush=True)
    return made, noticed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=ROOT / "build" / "dev", type=pathlib.Path)
    parser.add_argument("--count", default=20, type=int, help="of mistakes in each machine (20)")
    parser.add_argument("--seed", default=1, type=int, help="of what is drawn by chance (1)")
    parser.add_argument("machines", nargs="*", metavar="MACHINE",
                        help=f"all by default: {', '.join(MACHINES)}")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.machines if name not in MACHINES]
    if unknown:
        parser.error(f"no machine {unknown[0]!r}: there are {', '.join(MACHINES)}")
    tests = Tests(arguments.build.resolve())
    made = noticed = 0
    for name in arguments.machines or MACHINES:
        chance = random.Random(f"{arguments.seed} {name}")
        more_made, more_noticed = examine(name, tests, arguments.count, chance)
        made, noticed = made + more_made, noticed + more_noticed
    print(f"a test notices {noticed} of {made} mistakes, {100 * noticed / made:.0f} %")


if __name__ == "__main__":
    main()
