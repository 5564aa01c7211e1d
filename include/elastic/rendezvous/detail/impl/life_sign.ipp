// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/detail/life_sign.hpp>

#include <elastic/base/asio.hpp>

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void life_sign::heard(time_point begun) {
  heard_at_ = std::max(heard_at_.value_or(begun), begun);
}

ELASTIC_DECL duration life_sign::age() const {
  return heard_at_ ? time_->now() - *heard_at_ : duration::zero();
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

ELASTIC_DECL error cut_off_error(const life_sign& sign, const std::string& problem) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(sign.age());
  return error(errc::connection_failed,
               fmt::format("this node could not tell the others for {} s that it lives: {}",
                           seconds.count(), problem));
}

}  // namespace elastic::detail
