// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/legacy_machine.hpp>
#include <elastic/store/leased_keys.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace elastic::detail {

/// The key by which a node says that it lives, prolonged in time.
///
/// Thread-safety: one strand at a time.
class legacy_lease final : public std::enable_shared_from_this<legacy_lease> {
 public:
  using job_keeper = std::function<task<void>()>;

  /// @param keep_job  has all that is kept of the job stay for its time; may be empty
  legacy_lease(std::shared_ptr<leased_keys> keys, job_keeper keep_job,
               std::shared_ptr<time_source> time, logger log)
      : keys_(std::move(keys)),
        keep_job_(std::move(keep_job)),
        time_(std::move(time)),
        log_(std::move(log)) {}

  /// Begins to prolong what is held.
  void start(asio::any_io_executor executor) {
    if (ended_) return;
    ended_.emplace(executor);
    idle_.emplace(executor);
    idle_->set();
    auto on_end = [self = shared_from_this()](std::exception_ptr) {
      self->idle_->set();
      self->ended_->set();
    };
    asio::co_spawn(executor, keep(),
                   asio::bind_cancellation_slot(cancel_.slot(), std::move(on_end)));
  }

  task<void> stop() {
    if (!ended_) co_return;
    cancel_.emit(asio::cancellation_type::terminal);
    co_await ended_->wait();
  }

  /// Makes a key, or has it stay; from now on it is prolonged.
  task<void> hold(std::string key) {
    co_await keys_->prolong(key, legacy_lives::lease);
    held_ = std::move(key);
  }

  /// Prolongs it no more.
  task<void> release() {
    held_.clear();
    if (idle_) co_await idle_->wait();
  }

  /// Removes it, too.
  task<void> remove() {
    const std::string key = held_;
    co_await release();
    if (!key.empty()) co_await keys_->erase(key);
  }

  /// The key; empty where there is none.
  const std::string& held() const { return held_; }

 private:
  task<void> keep() {
    // Two may be late or lost.
    const duration interval = duration(legacy_lives::lease) / 3;
    time_point job_due = time_->now() + duration(legacy_lives::job) / 2;
    for (;;) {
      co_await time_->sleep_until(time_->now() + interval);
      idle_->reset();
      try {
        if (!held_.empty()) co_await keys_->prolong(held_, legacy_lives::lease);
        if (keep_job_ && time_->now() >= job_due) {
          co_await keep_job_();
          job_due = time_->now() + duration(legacy_lives::job) / 2;
        }
      } catch (const error& failure) {
        // Whoever waits for the rendezvous hears of it, too.
        log_.debug("this node could not say that it lives: {}", failure.what());
      }
      idle_->set();
    }
  }

  const std::shared_ptr<leased_keys> keys_;
  const job_keeper keep_job_;
  const std::shared_ptr<time_source> time_;
  const logger log_;
  std::string held_;
  std::optional<event_flag> ended_;
  std::optional<event_flag> idle_;
  asio::cancellation_signal cancel_;
};

}  // namespace elastic::detail
