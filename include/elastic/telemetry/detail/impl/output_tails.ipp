// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/telemetry/detail/output_tails.hpp>

#include <elastic/base/asio.hpp>

#include <utility>

namespace elastic::detail {

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

/// Runs on the agent's strand, on which nothing changes meanwhile.
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

}  // namespace elastic::detail
