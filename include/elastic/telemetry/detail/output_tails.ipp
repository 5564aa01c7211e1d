// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/telemetry/detail/output_tails.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/executor_work.hpp>

#include <utility>

namespace elastic::detail {

ELASTIC_DECL void output_tails::open(asio::any_io_executor executor, source answers,
                                     listing streams) {
  const std::lock_guard lock(mutex_);
  executor_ = std::move(executor);
  source_ = std::move(answers);
  listing_ = std::move(streams);
}

ELASTIC_DECL void output_tails::close() {
  const std::lock_guard lock(mutex_);
  executor_ = {};
  source_ = {};
  listing_ = {};
}

ELASTIC_DECL void output_tails::locate(std::string folder) {
  const std::lock_guard lock(mutex_);
  folder_ = std::move(folder);
}

ELASTIC_DECL std::string output_tails::folder() {
  const std::lock_guard lock(mutex_);
  return folder_;
}

ELASTIC_DECL asio::any_io_executor output_tails::executor() {
  const std::lock_guard lock(mutex_);
  return executor_;
}

ELASTIC_DECL task<std::optional<output_reader>> output_tails::of(std::int64_t rank) {
  const asio::any_io_executor executor = this->executor();
  if (!executor) co_return std::nullopt;
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  task<std::optional<output_reader>> asking = ask(shared_from_this(), rank);
  co_return co_await run_on(executor, std::move(asking), cancellation.slot());
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

ELASTIC_DECL task<output_sources> output_tails::sources() {
  const asio::any_io_executor executor = this->executor();
  if (!executor) co_return output_sources();
  const auto cancellation = co_await asio::this_coro::cancellation_state;
  task<output_sources> asking = list(shared_from_this());
  co_return co_await run_on(executor, std::move(asking), cancellation.slot());
}

ELASTIC_DECL task<output_sources> output_tails::list(std::shared_ptr<output_tails> self) {
  listing streams;
  {
    const std::lock_guard lock(self->mutex_);
    streams = self->listing_;
  }
  if (!streams) co_return output_sources();
  co_return streams();
}

}  // namespace elastic::detail
