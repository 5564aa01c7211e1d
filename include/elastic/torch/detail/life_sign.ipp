// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/life_sign.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void life_sign::heard(time_point begun) {
  heard_at_ = std::max(heard_at_.value_or(begun), begun);
}

ELASTIC_DECL duration life_sign::age() const {
  return heard_at_ ? time_->now() - *heard_at_ : duration::zero();
}

ELASTIC_DECL duration life_sign::remaining() const {
  return std::max(times_.kill - age(), duration::zero());
}

ELASTIC_DECL task<void> life_sign::wait_for_notice() const { return wait_for_age(times_.notice); }

ELASTIC_DECL task<void> life_sign::wait_for_kill() const { return wait_for_age(times_.kill); }

ELASTIC_DECL task<void> life_sign::wait_for_age(duration limit) const {
  for (;;) {
    const time_point end = heard_at_ ? *heard_at_ + limit : time_point::max();
    if (time_->now() >= end) co_return;
    co_await time_->sleep_until(end);
  }
}

ELASTIC_DECL std::string cut_off_text(const life_sign& sign, const std::string& problem) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(sign.age());
  return fmt::format("this node could not send keep-alives for {} s: {}",
                     seconds.count(), problem);
}

ELASTIC_DECL rendezvous_change cut_off_change(const life_sign& sign, const std::string& problem,
                                              int restarts) {
  return {rendezvous_change::cause::node_lost, cut_off_text(sign, problem), restarts,
          sign.remaining()};
}

ELASTIC_DECL task<void> reach_again(std::shared_ptr<time_source> time, task<void> looking,
                                    std::string why) {
  bool is_reached = false;
  try {
    const time_point deadline = time->now() + second_look;
    is_reached = co_await with_deadline(*time, deadline, std::move(looking));
  } catch (const error& failure) {
    if (failure.code() != errc::connection_failed) throw;
  }
  if (!is_reached) throw error(errc::connection_failed, why);
}

}  // namespace elastic::detail
