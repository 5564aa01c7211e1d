// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/etcd/detail/yielding_rendezvous.hpp>

#include <elastic/base/race.hpp>

#include <utility>

namespace elastic::detail {

ELASTIC_DECL yielding_rendezvous::yielding_rendezvous(std::shared_ptr<rendezvous_handler> first,
                                                      std::function<task<void>()> sign, maker other)
    : current_(std::move(first)), sign_(std::move(sign)), other_(std::move(other)) {}

ELASTIC_DECL task<rendezvous_round> yielding_rendezvous::next_round() {
  if (sign_) {
    std::optional<rendezvous_round> met;
    co_await race(meet(met), sign_());
    if (!met) {
      co_await current_->shutdown();
      current_ = co_await other_();
    }
    sign_ = nullptr;
    if (met) co_return std::move(*met);
  }
  co_return co_await current_->next_round();
}

ELASTIC_DECL task<rendezvous_change> yielding_rendezvous::report_failure(std::string what) {
  return current_->report_failure(std::move(what));
}

ELASTIC_DECL task<void> yielding_rendezvous::close(job_end how, std::string why) {
  return current_->close(how, std::move(why));
}

ELASTIC_DECL task<void> yielding_rendezvous::meet(std::optional<rendezvous_round>& met) {
  met = co_await current_->next_round();
}

}  // namespace elastic::detail
