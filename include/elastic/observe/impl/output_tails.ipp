// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/observe/output_tails.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/limits.hpp>

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL void output_tails::open(asio::any_io_executor executor, source answers) {
  const std::lock_guard lock(mutex_);
  executor_ = std::move(executor);
  source_ = std::move(answers);
}

ELASTIC_DECL void output_tails::close() {
  const std::lock_guard lock(mutex_);
  executor_ = {};
  source_ = {};
}

ELASTIC_DECL task<std::optional<output_reader>> output_tails::of(std::int64_t rank) {
  asio::any_io_executor executor;
  {
    const std::lock_guard lock(mutex_);
    executor = executor_;
  }
  if (!executor) co_return std::nullopt;
  co_return co_await asio::co_spawn(executor, ask(shared_from_this(), rank), asio::use_awaitable);
}

/// On the agent's strand, on which nothing changes meanwhile.
ELASTIC_DECL task<std::optional<output_reader>> output_tails::ask(
    std::shared_ptr<output_tails> self, std::int64_t rank) {
  source answers;
  {
    const std::lock_guard lock(self->mutex_);
    answers = self->source_;
  }
  if (!answers) co_return std::nullopt;
  co_return answers(rank);
}

ELASTIC_DECL std::string output_json(std::int64_t rank, const std::vector<output_tail>& tails) {
  std::string text = fmt::format(R"({{"rank": {}, "streams": [)", rank);
  bool is_first_tail = true;
  for (const output_tail& tail : tails) {
    text += fmt::format(R"({}{{"name": {}, "path": {}, "lines": [)",
                        std::exchange(is_first_tail, false) ? "" : ", ",
                        detail::json_string(tail.stream), detail::json_string(tail.path));
    bool is_first_line = true;
    for (const std::string_view line : tail.lines) {
      text += std::exchange(is_first_line, false) ? "" : ", ";
      const std::string_view begin = line.substr(0, limits::shown_line_bytes);
      text +=
          detail::json_string(begin.substr(0, begin.size() - detail::unfinished_character(begin)));
    }
    text += "]}";
  }
  return text + "]}\n";
}

}  // namespace elastic
