// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/registry_watch.hpp>

#include <elastic/base/error.hpp>

#include <chrono>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// The times before the first request, until its answer is overdue, and between two requests. By
/// the time that a node logs its wait (after 5 s), the first result is known.
inline constexpr std::chrono::seconds registry_first_question{1};
inline constexpr std::chrono::seconds registry_answer{3};
inline constexpr std::chrono::seconds registry_question_pause{3};

ELASTIC_DECL task<void> registry_watch::run() {
  silent_since_.reset();
  duration pause = registry_first_question;
  for (;;) {
    co_await time_->sleep_until(time_->now() + pause);
    pause = registry_question_pause;
    const time_point asked = time_->now();
    std::string problem = fmt::format("no answer within {} s", registry_answer.count());
    bool has_answered = false;
    try {
      task<void> asking = ask_();
      has_answered = co_await with_deadline(*time_, asked + registry_answer, std::move(asking));
    } catch (const error& failure) {
      problem = failure.what();
    }
    if (has_answered) {
      silent_since_.reset();
      continue;
    }
    if (!silent_since_) silent_since_ = asked;
    problem_ = std::move(problem);
  }
}

ELASTIC_DECL std::string registry_watch::obstacle() const {
  if (!silent_since_) return {};
  const std::chrono::duration<double> silent = time_->now() - *silent_since_;
  return fmt::format("{} could not be read for {:.0f} s ({})", name_, silent.count(), problem_);
}

}  // namespace elastic::detail
