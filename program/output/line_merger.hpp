// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace elasticrun {

/// Shows equal lines of several workers once: "[default0-7,9]:text". A pure value: the caller
/// passes the time.
///
/// A line waits until all workers have written it, at most for `limits::merge_window`. The lines of
/// one worker keep their order. Lines of different workers appear in the order in which the first
/// worker wrote them.
class line_merger {
 public:
  /// @param role  the text before the local ranks
  explicit line_merger(std::string role) : role_(std::move(role)) {}

  /// Sets how many workers write lines from now on. A line stops waiting when that many have
  /// written it.
  void expect(std::size_t workers) { workers_ = workers; }

  /// Adds a line of a worker; `text` includes its end.
  void add(int local_rank, std::string_view text, elastic::time_point now);

  /// Adds a line, or its first piece, that does not wait. Everything before it is shown first.
  void pass(int local_rank, std::string_view text);

  /// Adds a later piece of such a line.
  void pass_piece(std::string_view piece);

  /// The text to show now.
  std::string take(elastic::time_point now);

  /// Everything that was added and not taken yet, including lines that still wait.
  std::string take_all();

  /// Reuses the memory of a text that has been shown.
  void reuse(std::string text);

  /// The time at which the oldest line has waited long enough; `time_point::max()` if no line
  /// waits.
  elastic::time_point next_deadline() const;

 private:
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  /// By text: the numbers of the waiting lines with it, in ascending order.
  using numbers_by_text =
      std::unordered_map<std::string, std::deque<std::uint64_t>, text_hash, std::equal_to<>>;

  struct waiting_line {
    /// Stays where it is until the last line with its text has been shown.
    const numbers_by_text::value_type* text;
    /// The workers, in the order in which they wrote it.
    std::vector<int> local_ranks;
    elastic::time_point deadline;
  };

  bool is_complete(const waiting_line& line) const { return line.local_ranks.size() >= workers_; }
  waiting_line& line_at(std::uint64_t number) { return waiting_[number - first_]; }

  // The first line that waits with this text and may become this worker's next; null if none.
  waiting_line* find(int local_rank, std::string_view text);
  std::uint64_t& last_of(int local_rank);
  void show_first();
  void show_all();
  std::string head_of(std::vector<int> local_ranks) const;

  std::string role_;
  std::size_t workers_ = 1;
  std::deque<waiting_line> waiting_;
  /// The number of the first waiting line; the other lines are numbered consecutively.
  std::uint64_t first_ = 1;
  std::size_t waiting_bytes_ = 0;
  numbers_by_text by_text_;
  /// The number of the last line of each worker, by local rank.
  std::vector<std::uint64_t> last_;
  /// The worker whose lines passed last, and the beginning of each of its lines.
  int passing_ = -1;
  std::string passing_head_;
  std::string shown_;
};

}  // namespace elasticrun
