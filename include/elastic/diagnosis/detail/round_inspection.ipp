// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/round_inspection.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/when_all.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

inline constexpr std::array<std::string_view, 5> inspection_questions{
    "digests", "stacks", "last_words", "end_rank", "ended"};

inline std::string_view name_of(round_inspection::question what) {
  return inspection_questions[static_cast<std::size_t>(what)];
}

/// "ASKER NAME RANK REASON".
inline std::string text_of(int asker, const round_inspection::request& request) {
  return fmt::format("{} {} {} {}", asker, name_of(request.what), request.rank, request.reason);
}

/// Removes the next word and the blank after it from a text, and returns the word.
inline std::string_view take_part(std::string_view& text) {
  const std::string_view word = text.substr(0, text.find(' '));
  text.remove_prefix(std::min(word.size() + 1, text.size()));
  return word;
}

inline int number_in(std::string_view word) {
  int number = -1;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return number;
}

inline constexpr const char* inspection_counter = "elastic/inspections";

inline std::string question_key(std::int64_t number) {
  return fmt::format("elastic/diagnosis/{}", number);
}

inline std::string answer_key(std::int64_t number, int group_rank) {
  return fmt::format("elastic/diagnosis/{}/{}", number, group_rank);
}

ELASTIC_DECL round_inspection::round_inspection(const rendezvous_round& round,
                                                std::shared_ptr<time_source> time, logger log,
                                                inspector inspect, bool is_open)
    : agents_(round.agents),
      group_rank_(round.group_rank),
      nodes_(round.group_world_size),
      time_(std::move(time)),
      log_(std::move(log)),
      inspect_(std::move(inspect)),
      is_open_(is_open) {}

ELASTIC_DECL task<void> round_inspection::answer_all() {
  // A single node gets no questions from others.
  if (!agents_ || nodes_ <= 1) {
    co_await time_->sleep_until(time_point::max());
    co_return;
  }
  try {
    for (;; ++next_) co_await answer_next(next_);
  } catch (const error& failure) {
    log_.debug("this node answers no more inspections in this round: {}", failure.what());
  }
  co_await time_->sleep_until(time_point::max());
}

ELASTIC_DECL task<void> round_inspection::answer_next(std::int64_t number) {
  const std::string text = co_await agents_->get(question_key(number));
  std::string_view rest = text;
  if (number_in(take_part(rest)) == group_rank_) co_return;
  const std::string_view name = take_part(rest);
  const auto known = std::find(inspection_questions.begin(), inspection_questions.end(), name);
  // A question kind of a later release gets no answer.
  if (known == inspection_questions.end()) co_return;
  request asked;
  asked.what = static_cast<question>(known - inspection_questions.begin());
  if (!is_open_ && asked.what != question::ended) co_return;
  asked.rank = number_in(take_part(rest));
  asked.reason = printable_line(rest.substr(0, limits::verdict_sentence_bytes));
  std::string answer = co_await inspect_(std::move(asked));
  if (answer.empty()) co_return;
  co_await agents_->set(answer_key(number, group_rank_), std::move(answer));
}

ELASTIC_DECL task<std::vector<std::optional<std::string>>> round_inspection::ask(request asked) {
  std::vector<std::optional<std::string>> answers(static_cast<std::size_t>(nodes_));
  const time_point deadline = time_->now() + limits::inspection_answer;
  std::vector<task<void>> asking;
  asking.push_back(answer_own(asked, answers[static_cast<std::size_t>(group_rank_)]));
  if (is_open_ && agents_ && nodes_ > 1) asking.push_back(ask_others(asked, deadline, answers));
  co_await when_all(std::move(asking));
  co_return answers;
}

ELASTIC_DECL task<bool> round_inspection::tell_first(request told) {
  if (!agents_ || nodes_ <= 1) co_return true;
  try {
    const std::string counter = fmt::format("elastic/diagnosis/{}", name_of(told.what));
    const std::int64_t tellers = co_await agents_->add(counter, 1);
    if (tellers > 1) co_return false;
    std::string text = text_of(group_rank_, told);
    co_await put(agents_, std::move(text));
  } catch (const error& failure) {
    log_.debug("the other nodes cannot be told: {}", failure.what());
  }
  co_return true;
}

/// Stores a question. Result: its number.
ELASTIC_DECL task<std::int64_t> round_inspection::put(std::shared_ptr<store> agents,
                                                      std::string text) {
  const std::int64_t number = co_await agents->add(inspection_counter, 1);
  co_await agents->set(question_key(number), std::move(text));
  co_return number;
}

ELASTIC_DECL task<void> round_inspection::answer_own(request asked,
                                                     std::optional<std::string>& answer) {
  answer = co_await inspect_(std::move(asked));
}

ELASTIC_DECL task<void> round_inspection::ask_others(
    request asked, time_point deadline, std::vector<std::optional<std::string>>& answers) {
  try {
    std::string text = text_of(group_rank_, asked);
    task<std::int64_t> storing = put(agents_, std::move(text));
    const auto number = co_await with_deadline(*time_, deadline, std::move(storing));
    if (!number) co_return;
    // Sequentially: all share one deadline.
    for (int node = 0; node < nodes_; ++node) {
      if (node == group_rank_) continue;
      task<std::optional<std::string>> taking = take_answer(answer_key(*number, node), deadline);
      const auto answer = co_await std::move(taking);
      if (!answer) continue;
      answers[static_cast<std::size_t>(node)] = *answer;
      task<bool> erasing = agents_->erase(answer_key(*number, node));
      co_await with_deadline(*time_, deadline, std::move(erasing));
    }
  } catch (const error& failure) {
    log_.debug("the other nodes cannot be asked: {}", failure.what());
  }
}

/// Takes the answer of one node. A node that has left uses up the remaining time; after that, only
/// answers that have already arrived are taken.
ELASTIC_DECL task<std::optional<std::string>> round_inspection::take_answer(std::string key,
                                                                            time_point deadline) {
  constexpr std::chrono::milliseconds rest(200);
  const bool waits = time_->now() < deadline - rest;
  if (!waits) {
    task<bool> looking = agents_->check({key});
    const auto is_there = co_await with_deadline(*time_, deadline, std::move(looking));
    if (!is_there.value_or(false)) co_return std::nullopt;
  }
  task<std::string> getting = agents_->get(std::move(key));
  const time_point end = waits ? deadline - rest : deadline;
  co_return co_await with_deadline(*time_, end, std::move(getting));
}

}  // namespace elastic::detail
