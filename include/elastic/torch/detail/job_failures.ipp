// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/job_failures.hpp>

#include <elastic/base/error.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::string counted_failures::text() const {
  return fmt::format("{} {} {}\n{}", restarts, round, rank, cause);
}

ELASTIC_DECL counted_failures counted_failures::parse(std::string_view text) {
  constexpr int most_counted = std::numeric_limits<int>::max() / 2;
  counted_failures read;
  const char* const end = text.data() + text.size();
  const char* position = text.data();
  // Parses a number and the character after it.
  const auto take = [&](auto& number, char behind) {
    const auto [stop, failure] = std::from_chars(position, end, number);
    if (failure != std::errc() || stop == end || *stop != behind) return false;
    position = stop + 1;
    return true;
  };
  const bool is_read = take(read.restarts, ' ') && take(read.round, ' ') && take(read.rank, '\n');
  if (is_read && read.restarts >= 0 && read.restarts <= most_counted) {
    read.cause = text.substr(position - text.data(), most_bytes);
    return read;
  }
  throw error(errc::protocol_violation,
              fmt::format("the store says '{:.100}' where it counts failures of the job", text));
}

ELASTIC_DECL job_failures::job_failures(std::shared_ptr<store> agents, const std::string& run_id)
    : agents_(std::move(agents)), prefix_(fmt::format("torch.rendezvous.{}.elastic/", run_id)) {}

ELASTIC_DECL task<void> job_failures::introduce(node_id self) {
  if (is_introduced_) co_return;
  const std::string key = key_of(self);
  const std::string text = "1";
  co_await agents_->set(key, text);
  is_introduced_ = true;
}

ELASTIC_DECL auto job_failures::agree(std::shared_ptr<store> agents, std::map<node_id, int> members,
                                      int rank) -> task<agreement> {
  const std::string key = restarts_key;
  if (rank == 0) {
    const agreement mine = co_await decided(std::move(members));
    std::string text = mine.is_joint ? std::to_string(mine.restarts) : each_for_itself;
    co_await agents->set(key, std::move(text));
    co_return mine;
  }
  std::vector<std::string> first = keys_of(members, true);
  const bool is_ours = co_await agents_->check(std::move(first));
  if (!is_ours) co_return agreement();
  const std::string text = co_await agents->get(key);
  co_return parse(text);
}

ELASTIC_DECL task<std::vector<node_id>> job_failures::strangers(std::map<node_id, int> members) {
  std::vector<node_id> strangers;
  for (const auto& [node, rank] : members) {
    std::vector<std::string> keys(1, key_of(node));
    const bool is_ours = co_await agents_->check(std::move(keys));
    if (!is_ours) strangers.push_back(node);
  }
  co_return strangers;
}

ELASTIC_DECL task<counted_failures> job_failures::counted() {
  const std::string text = co_await stored();
  co_return parse_failures(text);
}

ELASTIC_DECL task<counted_failures> job_failures::count(counted_failures failure) {
  const std::string key = count_key();
  failure.cause.resize(std::min(failure.cause.size(), counted_failures::most_bytes));
  for (;;) {
    const std::string before = co_await stored();
    const counted_failures seen = parse_failures(before);
    if (seen.round >= failure.round) co_return seen;
    failure.restarts = seen.restarts + 1;
    const std::string after = failure.text();
    const std::string position = co_await agents_->compare_set(key, before, after);
    if (position == after) co_return failure;
  }
}

ELASTIC_DECL task<std::string> job_failures::stored() {
  const std::string key = count_key();
  std::vector<std::string> keys(1, key);
  const bool has_begun = co_await agents_->check(std::move(keys));
  if (!has_begun) co_return std::string();
  co_return co_await agents_->get(key);
}

ELASTIC_DECL counted_failures job_failures::parse_failures(const std::string& text) {
  return text.empty() ? counted_failures() : counted_failures::parse(text);
}

ELASTIC_DECL std::vector<std::string> job_failures::keys_of(const std::map<node_id, int>& members,
                                                            bool first_only) const {
  std::vector<std::string> keys;
  for (const auto& [node, rank] : members) {
    if (rank == 0 || !first_only) keys.push_back(key_of(node));
  }
  return keys;
}

ELASTIC_DECL auto job_failures::decided(std::map<node_id, int> members) -> task<agreement> {
  agreement made;
  std::vector<std::string> keys = keys_of(members, false);
  made.is_joint = co_await agents_->check(keys);
  if (!made.is_joint) co_return made;
  const counted_failures so_far = co_await counted();
  made.restarts = so_far.restarts;
  co_return made;
}

ELASTIC_DECL auto job_failures::parse(std::string_view text) -> agreement {
  agreement made;
  if (text == each_for_itself) return made;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, made.restarts);
  made.is_joint = failure == std::errc() && stop == end && made.restarts >= 0;
  if (made.is_joint) return made;
  throw error(
      errc::protocol_violation,
      fmt::format("the node of rank 0 reported '{:.100}' as the number of failures", text));
}

}  // namespace elastic::detail
