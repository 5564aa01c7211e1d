// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/output/line_merger.hpp>

#include <elastic/agent/failure_report.hpp>
#include <program/limits.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace elasticrun {

void line_merger::add(int local_rank, std::string_view text, elastic::time_point now) {
  if (waiting_line* const same = find(local_rank, text)) {
    same->local_ranks.push_back(local_rank);
    return;
  }
  const std::uint64_t number = first_ + waiting_.size();
  auto entry = by_text_.find(text);
  if (entry == by_text_.end()) entry = by_text_.try_emplace(std::string(text)).first;
  entry->second.push_back(number);
  waiting_.push_back({&*entry, {local_rank}, now + limits::merge_window});
  waiting_bytes_ += text.size();
  last_of(local_rank) = number;
  while (waiting_bytes_ > limits::merged_bytes || waiting_.size() > limits::merged_lines) {
    show_first();
  }
}

void line_merger::pass(int local_rank, std::string_view text) {
  show_all();
  if (local_rank != std::exchange(passing_, local_rank)) passing_head_ = head_of({local_rank});
  shown_.append(passing_head_);
  shown_.append(text);
}

void line_merger::pass_piece(std::string_view piece) {
  show_all();
  shown_.append(piece);
}

std::string line_merger::take(elastic::time_point now) {
  while (!waiting_.empty() && (is_complete(waiting_.front()) || waiting_.front().deadline <= now)) {
    show_first();
  }
  return std::exchange(shown_, {});
}

std::string line_merger::take_all() {
  show_all();
  return std::exchange(shown_, {});
}

void line_merger::reuse(std::string text) {
  if (!shown_.empty() || shown_.capacity() >= text.capacity()) return;
  text.clear();
  shown_ = std::move(text);
}

elastic::time_point line_merger::next_deadline() const {
  return waiting_.empty() ? elastic::time_point::max() : waiting_.front().deadline;
}

line_merger::waiting_line* line_merger::find(int local_rank, std::string_view text) {
  const auto numbers = by_text_.find(text);
  if (numbers == by_text_.end()) return nullptr;
  std::uint64_t& last = last_of(local_rank);
  const auto next = std::upper_bound(numbers->second.begin(), numbers->second.end(), last);
  if (next == numbers->second.end()) return nullptr;
  last = *next;
  return &line_at(*next);
}

std::uint64_t& line_merger::last_of(int local_rank) {
  const auto place = static_cast<std::size_t>(local_rank);
  if (place >= last_.size()) last_.resize(place + 1);
  return last_[place];
}

void line_merger::show_first() {
  waiting_line& line = waiting_.front();
  shown_.append(head_of(std::move(line.local_ranks)));
  const std::string& text = line.text->first;
  shown_.append(text);
  waiting_bytes_ -= text.size();
  const auto numbers = by_text_.find(text);
  numbers->second.pop_front();
  if (numbers->second.empty()) by_text_.erase(numbers);
  waiting_.pop_front();
  ++first_;
}

void line_merger::show_all() {
  while (!waiting_.empty()) show_first();
}

std::string line_merger::head_of(std::vector<int> local_ranks) const {
  std::string ranks = elastic::detail::rank_ranges(std::move(local_ranks));
  std::erase(ranks, ' ');
  return fmt::format("[{}{}]:", role_, ranks);
}

}  // namespace elasticrun
