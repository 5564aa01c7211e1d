// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/async_run.hpp>

#include <elastic/agent/detail/run/request_inbox.hpp>

namespace elastic::detail {

ELASTIC_DECL void start_run(const asio::any_io_executor& executor, task<run_result> work,
                            end_of_task<run_result>::handler on_end,
                            shared_cancellation cancellation) {
  start_run<run_result>(executor, std::move(work), std::move(on_end), std::move(cancellation));
}

ELASTIC_DECL cancel_function stop_by_cancellation(std::shared_ptr<request_inbox> inbox) {
  return [inbox = std::move(inbox)](asio::cancellation_type requested) {
    if (requested != asio::cancellation_type::none) inbox->push(as_stop_request(requested));
  };
}

}  // namespace elastic::detail
