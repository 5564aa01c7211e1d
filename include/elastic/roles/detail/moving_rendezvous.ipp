// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/moving_rendezvous.hpp>

#include <elastic/base/detail/new_shared.hpp>

#include <utility>

namespace elastic::detail {

/// Makes the wrapped handler. `tried` holds the inner handler until it is known whether the node
/// can meet others with it.
inline task<std::shared_ptr<rendezvous_handler>> make_moving(
    std::shared_ptr<const rendezvous_factory> inner, logger log,
    std::shared_ptr<rendezvous_handler>& tried) {
  task<std::shared_ptr<rendezvous_handler>> making = inner->make(tried);
  std::shared_ptr<rendezvous_handler> made = co_await std::move(making);
  co_return new_shared<moving_rendezvous>(std::move(made), std::move(log));
}

ELASTIC_DECL rendezvous_factory moving_rendezvous::around(rendezvous_factory inner, logger log) {
  const std::string backend = inner.backend();
  const std::string run_id = inner.run_id();
  const auto kept = new_shared<const rendezvous_factory>(std::move(inner));
  return rendezvous_factory(
      backend, run_id,
      [kept, log = std::move(log)](std::shared_ptr<rendezvous_handler>& tried) {
        return make_moving(kept, log, tried);
      });
}

ELASTIC_DECL task<rendezvous_round> moving_rendezvous::next_round() {
  task<rendezvous_round> meeting = inner_->next_round();
  rendezvous_round round = co_await std::move(meeting);
  if (std::exchange(has_had_place_, true) || round.round == 0) co_return round;
  log_.warning("the node that ran this role is gone: it moves here, which uses up a restart");
  task<rendezvous_change> reporting =
      inner_->report_failure("the node that ran the role is gone");
  co_await std::move(reporting);
  task<rendezvous_round> again = inner_->next_round();
  round = co_await std::move(again);
  co_return round;
}

}  // namespace elastic::detail
