// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/async_run.hpp>

#include <elastic/agent/detail/run/request_inbox.hpp>

namespace elastic::detail {

ELASTIC_DECL void start_run(const asio::any_io_executor& executor, task<run_result> work,
                            run_handler<run_result> on_end) {
  start_uncancelled(executor, std::move(work), std::move(on_end));
}

ELASTIC_DECL std::function<void(asio::cancellation_type)> stop_by_cancellation(
    std::shared_ptr<request_inbox> inbox) {
  return [inbox = std::move(inbox)](asio::cancellation_type requested) {
    if (requested != asio::cancellation_type::none) inbox->push(as_stop_request(requested));
  };
}

ELASTIC_DECL asio::any_io_executor keep_running(asio::any_io_executor executor) {
  return asio::prefer(std::move(executor), asio::execution::outstanding_work.tracked);
}

}  // namespace elastic::detail
