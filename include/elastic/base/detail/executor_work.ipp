// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/executor_work.hpp>

#include <elastic/base/detail/asio_tasks.hpp>

namespace elastic::detail {

ELASTIC_DECL asio::any_io_executor new_strand(const asio::any_io_executor& executor) {
  const auto* const own = executor.target<asio::io_context::executor_type>();
  if (own) return asio::make_strand(*own);
  return asio::make_strand(executor);
}

ELASTIC_DECL void post_work(const asio::any_io_executor& executor, executor_work work) {
  asio::post(executor, std::move(work));
}

ELASTIC_DECL void post_work(const asio::strand<asio::any_io_executor>& strand, executor_work work) {
  asio::post(strand, std::move(work));
}

ELASTIC_DECL void dispatch_work(const asio::any_io_executor& executor, executor_work work) {
  asio::dispatch(executor, std::move(work));
}

ELASTIC_DECL void dispatch_work(const asio::strand<asio::any_io_executor>& strand,
                                executor_work work) {
  asio::dispatch(strand, std::move(work));
}

ELASTIC_DECL void start_task(const asio::any_io_executor& executor, task<void> work,
                             end_handler on_end, asio::cancellation_slot slot) {
  asio::co_spawn(executor, std::move(work), asio::bind_cancellation_slot(slot, std::move(on_end)));
}

ELASTIC_DECL task<void> run_on(const asio::any_io_executor& executor, task<void> work,
                               asio::cancellation_slot slot) {
  return asio::co_spawn(executor, std::move(work),
                        asio::bind_cancellation_slot(slot, asio::use_awaitable));
}

}  // namespace elastic::detail
