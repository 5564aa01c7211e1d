// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/store/detail/tcp_store_newcomers.hpp>

#include <elastic/base/limits.hpp>

#include <algorithm>
#include <utility>

namespace elastic::detail {

ELASTIC_DECL tcp_store_newcomers::tcp_store_newcomers(std::shared_ptr<time_source> time,
                                                      std::size_t most, std::function<void()> begun,
                                                      duration head_start)
    : time_(std::move(time)), most_(most), begun_(std::move(begun)), head_start_(head_start) {}

ELASTIC_DECL void tcp_store_newcomers::set(client& holder, std::size_t bytes) {
  const auto [known, is_new] = positions_.try_emplace(&holder);
  if (is_new) {
    const time_point deadline = time_->now() + limits::store_newcomer_time;
    known->second = entries_.insert(entries_.end(), entry{&holder, 0, deadline});
    if (entries_.size() == 1) begun_();
  }
  const position asking = known->second;
  held_ = held_ - asking->bytes + bytes;
  asking->bytes = bytes;
  // The limits are met at the latest when the client that asks is out.
  while (entries_.size() > most_) evict(oldest_or(asking), problem::are_many);
  while (held_ > limits::store_newcomers_bytes) {
    evict(largest_or_oldest_or(asking), problem::hold_much);
  }
}

ELASTIC_DECL void tcp_store_newcomers::remove(client& holder) {
  const auto known = positions_.find(&holder);
  if (known == positions_.end()) return;
  held_ -= known->second->bytes;
  entries_.erase(known->second);
  positions_.erase(known);
}

ELASTIC_DECL std::optional<time_point> tcp_store_newcomers::next_deadline() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.front().deadline;
}

ELASTIC_DECL void tcp_store_newcomers::end_late() {
  while (!entries_.empty() && entries_.front().deadline <= time_->now()) {
    evict(entries_.begin(), problem::is_late);
  }
}

ELASTIC_DECL auto tcp_store_newcomers::oldest_or(position asking) -> position {
  const time_point begun = entries_.front().deadline - limits::store_newcomer_time;
  return time_->now() - begun < head_start_ ? asking : entries_.begin();
}

ELASTIC_DECL auto tcp_store_newcomers::largest_or_oldest_or(position asking) -> position {
  const auto largest =
      std::max_element(entries_.begin(), entries_.end(),
                       [](const entry& a, const entry& b) { return a.bytes < b.bytes; });
  return largest->bytes > limits::store_newcomer_share ? largest : oldest_or(asking);
}

ELASTIC_DECL void tcp_store_newcomers::evict(position which, problem why) {
  client& who = *which->who;
  remove(who);
  who.evict(why);
}

}  // namespace elastic::detail
