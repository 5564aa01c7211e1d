// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/waiters.hpp>
#include <elastic/base/task.hpp>

#include <utility>

namespace elastic {

/// A condition that any number of coroutines of one strand wait for. True until it is reset.
///
/// Thread-safety: one strand at a time.
class event_flag {
 public:
  explicit event_flag(asio::any_io_executor executor) : waiting_(std::move(executor)) {}

  /// Makes the condition true and wakes all waiting coroutines. Further calls do nothing.
  ELASTIC_DECL void set();

  /// Makes the condition false again; coroutines that were woken before stay awake.
  void reset() { is_set_ = false; }

  bool is_set() const { return is_set_; }

  /// Waits until the condition is true.
  ///
  /// Cancellation: all types; throws `operation_aborted`, as does the end of the flag.
  ELASTIC_DECL task<void> wait();

 private:
  bool is_set_ = false;
  detail::waiters waiting_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/impl/event_flag.ipp>
#endif
