// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/replica_ledger.hpp>

#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <chrono>

#include <fmt/format.h>

namespace elastic::detail {

/// Terms that limit only the number of restarts within the window.
inline worker_spec::restart_terms budget_of(const worker_spec::restart_terms& terms) {
  worker_spec::restart_terms budget;
  budget.window = terms.window;
  return budget;
}

ELASTIC_DECL replica_ledger::replica_ledger(const worker_spec& spec)
    : all_(spec.max_restarts, budget_of(spec.restart)),
      lives_(static_cast<std::size_t>(spec.nproc_per_node),
             restart_ledger(spec.max_restarts, spec.restart, spec.name_of("max_restarts"))) {}

ELASTIC_DECL restart_ledger::decision replica_ledger::failed(std::size_t replica,
                                                             const exit_status& end,
                                                             std::optional<std::int64_t> step,
                                                             time_point now) {
  constexpr auto cause = rendezvous_change::cause::worker_failed;
  restart_ledger& life = lives_[replica];
  life.reached(step);
  life.failed(now);
  all_.failed(now);
  restart_ledger::decision own = life.decide(cause, end, now);
  if (!own.restart) return own;
  restart_ledger::decision next = all_.decide(cause, end, now);
  if (!next.restart || own.delay == duration::zero()) return next;
  next.delay = own.delay;
  next.reason +=
      fmt::format(", after {:g} s", std::chrono::duration<double>(own.delay).count());
  return next;
}

}  // namespace elastic::detail
