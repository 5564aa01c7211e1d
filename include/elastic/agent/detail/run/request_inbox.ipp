// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/request_inbox.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/executor_work.hpp>

#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL void request_inbox::push(agent_request request) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  waiting_.push_back(std::move(request));
  if (strand_) post_work(*strand_, [self = this->shared_from_this()] { self->deliver(); });
}

ELASTIC_DECL void request_inbox::open(asio::any_io_executor strand,
                                      std::function<void(const agent_request&)> take) {
  take_ = std::move(take);
  {
    const std::lock_guard lock(mutex_);
    strand_ = std::move(strand);
  }
  deliver();
}

ELASTIC_DECL void request_inbox::close() {
  take_ = nullptr;
  // Destroyed after the lock is released: their destructors notify waiting callers.
  std::deque<agent_request> forgotten;
  const std::lock_guard lock(mutex_);
  closed_ = true;
  strand_.reset();
  forgotten.swap(waiting_);
}

ELASTIC_DECL std::size_t request_inbox::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_.size();
}

ELASTIC_DECL void request_inbox::deliver() {
  while (take_) {
    agent_request request;
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.empty()) return;
      request = std::move(waiting_.front());
      waiting_.pop_front();
    }
    take_(request);
  }
}

ELASTIC_DECL stop_request as_stop_request(asio::cancellation_type requested) {
  const auto gentle = asio::cancellation_type::partial | asio::cancellation_type::total;
  stop_request request;
  const bool kill = (requested & gentle) == asio::cancellation_type::none;
  request.signal = kill ? SIGKILL : SIGTERM;
  request.reason = "cancelled";
  request.escalates = true;
  return request;
}

ELASTIC_DECL stop_request stop_by_destructor(const char* type) {
  stop_request request;
  request.reason = fmt::format("the {} was destroyed", type);
  return request;
}

}  // namespace elastic::detail
