// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/store/detail/key_value_engine.hpp>

#include <memory>
#include <utility>

namespace elastic::detail {

/// Wakes a coroutine that waits for a key of the engine or watches it. The flag belongs to the
/// coroutine and is detached when the wait ends, so that an owner of this object keeps nothing of
/// the coroutine alive.
class engine_waker final : public key_value_engine::listener,
                           public std::enable_shared_from_this<engine_waker> {
 public:
  engine_waker(asio::any_io_executor executor, event_flag& flag)
      : executor_(std::move(executor)), flag_(&flag) {}

  void on_ready(key_value_engine::wait_id) noexcept override { wake(); }
  void on_change(const key_value_engine::change_pointer&) noexcept override { wake(); }

  void forget() { flag_ = nullptr; }

 private:
  void wake() noexcept {
    post_work(executor_, [self = shared_from_this()] {
      if (self->flag_ != nullptr) self->flag_->set();
    });
  }

  asio::any_io_executor executor_;
  event_flag* flag_;
};

}  // namespace elastic::detail
