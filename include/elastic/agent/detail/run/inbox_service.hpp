// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/request_inbox.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/task.hpp>

#include <memory>
#include <utility>
#include <variant>

namespace elastic::detail {

/// Passes each request of the inbox to the run, while `work`, which is a part of the run, is in
/// progress.
template <class Run, class Result>
task<Result> serve_inbox(asio::any_io_executor strand, inbox_reader requests,
                         std::shared_ptr<Run> run, task<Result> work) {
  const inbox_reader reader = std::move(requests);
  reader.inbox()->open(strand, [&run](const agent_request& request) {
    std::visit([&](const auto& content) { run->take(content); }, request);
  });
  co_return co_await std::move(work);
}

}  // namespace elastic::detail
