// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/node_id.hpp>
#include <elastic/store/store.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// How often workers of a job have failed, as its agents' store has it:
/// "<restarts> <round>\n<what>".
struct counted_failures {
  int restarts = 0;
  /// The round in which they failed last, and what was said of it; -1: they have not.
  std::int64_t round = -1;
  std::string what;

  /// What is kept of a sentence.
  static std::string shortened(std::string_view what) {
    constexpr std::size_t most_bytes = 500;
    return std::string(what.substr(0, most_bytes));
  }

  std::string text() const { return fmt::format("{} {}\n{}", restarts, round, what); }

  /// Errors: `errc::protocol_violation`.
  static counted_failures parse(std::string_view text) {
    constexpr int most_counted = std::numeric_limits<int>::max() / 2;
    counted_failures read;
    const char* const end = text.data() + text.size();
    auto [place, failure] = std::from_chars(text.data(), end, read.restarts);
    bool is_read = failure == std::errc() && place != end && *place == ' ';
    if (is_read) {
      const auto [stop, why] = std::from_chars(place + 1, end, read.round);
      is_read = why == std::errc() && stop != end && *stop == '\n';
      if (is_read) read.what = shortened(std::string_view(stop + 1, end));
    }
    if (is_read && read.restarts >= 0 && read.restarts <= most_counted) return read;
    throw error(errc::protocol_violation,
                fmt::format("the store says '{:.100}' where it counts failures of the job", text));
  }
};

/// The failures of a job's workers, counted by nodes of elasticrun in the store of its agents. This
/// is not part of torchrun's protocol: if nodes of torchrun are in a round, each node counts for
/// itself.
///
/// Errors: those of the store, and `errc::protocol_violation` where it holds nonsense.
/// Thread-safety: one strand at a time.
class job_failures {
 public:
  /// What the nodes of a round agree on.
  struct agreement {
    /// Whether they count together; if not, each counts for itself.
    bool is_joint = false;
    /// How often workers of the job have failed before this round.
    int restarts = 0;
  };

  job_failures(std::shared_ptr<store> agents, const std::string& run_id)
      : agents_(std::move(agents)), prefix_(fmt::format("torch.rendezvous.{}.elastic/", run_id)) {}

  /// Says that this node is one of elasticrun: before it takes a place in its first round.
  /// Cancellation: all types; it may or may not have been said.
  task<void> introduce(node_id self) {
    if (is_introduced_) co_return;
    const std::string key = key_of(self);
    const std::string text = "1";
    co_await agents_->set(key, text);
    is_introduced_ = true;
  }

  /// Agrees with the other nodes of a round, which may begin only then. The node of rank 0 decides:
  /// if it is not one of elasticrun, or says that another is not, each counts for itself.
  ///
  /// @param agents   the store of the round
  /// @param members  its nodes with their ranks
  /// Cancellation: all types; the others may or may not have been told.
  task<agreement> agree(std::shared_ptr<store> agents, std::map<node_id, int> members, int rank) {
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
    const std::string told = co_await agents->get(key);
    co_return parse(told);
  }

  /// The failures so far.
  task<counted_failures> counted() {
    const std::string text = co_await stored();
    co_return parse_failures(text);
  }

  /// Counts a failure, unless one was counted in this round or a later one.
  /// Result: what is counted then, by whomever.
  /// Cancellation: all types; it may or may not have been counted.
  task<counted_failures> count(std::int64_t round, std::string what) {
    const std::string key = count_key();
    for (;;) {
      const std::string before = co_await stored();
      const counted_failures seen = parse_failures(before);
      if (seen.round >= round) co_return seen;
      const counted_failures more{seen.restarts + 1, round, counted_failures::shortened(what)};
      const std::string after = more.text();
      const std::string found = co_await agents_->compare_set(key, before, after);
      if (found == after) co_return more;
    }
  }

 private:
  inline static const std::string restarts_key = "elastic/restarts";
  inline static const std::string each_for_itself = "each for itself";

  /// The key's text; empty where there is none.
  task<std::string> stored() {
    const std::string key = count_key();
    std::vector<std::string> keys(1, key);
    const bool has_begun = co_await agents_->check(std::move(keys));
    if (!has_begun) co_return std::string();
    co_return co_await agents_->get(key);
  }

  static counted_failures parse_failures(const std::string& text) {
    return text.empty() ? counted_failures() : counted_failures::parse(text);
  }

  std::string count_key() const { return prefix_ + "failures"; }
  std::string key_of(const node_id& node) const { return prefix_ + "nodes/" + node.text(); }

  std::vector<std::string> keys_of(const std::map<node_id, int>& members, bool first_only) const {
    std::vector<std::string> keys;
    for (const auto& [node, rank] : members) {
      if (rank == 0 || !first_only) keys.push_back(key_of(node));
    }
    return keys;
  }

  task<agreement> decided(std::map<node_id, int> members) {
    agreement made;
    std::vector<std::string> all = keys_of(members, false);
    made.is_joint = co_await agents_->check(std::move(all));
    if (!made.is_joint) co_return made;
    const counted_failures so_far = co_await counted();
    made.restarts = so_far.restarts;
    co_return made;
  }

  static agreement parse(std::string_view told) {
    agreement made;
    if (told == each_for_itself) return made;
    const char* const end = told.data() + told.size();
    const auto [stop, failure] = std::from_chars(told.data(), end, made.restarts);
    made.is_joint = failure == std::errc() && stop == end && made.restarts >= 0;
    if (made.is_joint) return made;
    throw error(
        errc::protocol_violation,
        fmt::format("the node of rank 0 told '{:.100}' as how often workers have failed", told));
  }

  std::shared_ptr<store> agents_;
  std::string prefix_;
  bool is_introduced_ = false;
};

}  // namespace elastic::detail
