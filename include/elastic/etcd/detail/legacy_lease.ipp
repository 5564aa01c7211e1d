// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/etcd/detail/legacy_lease.hpp>

#include <elastic/base/error.hpp>
#include <elastic/etcd/detail/legacy_machine.hpp>

#include <utility>

namespace elastic::detail {

ELASTIC_DECL legacy_lease::legacy_lease(std::shared_ptr<leased_keys> keys, job_keeper keep_job,
                                        std::shared_ptr<time_source> time, logger log)
    : keys_(std::move(keys)),
      keep_job_(std::move(keep_job)),
      time_(std::move(time)),
      log_(std::move(log)),
      sign_(time_, legacy_ttl::lease) {}

ELASTIC_DECL void legacy_lease::start(asio::any_io_executor executor) {
  if (refreshing_) return;
  idle_.emplace(executor);
  idle_->set();
  job_due_ = time_->now() + duration(legacy_ttl::job) / 2;
  refreshing_.emplace(executor);
  refreshing_->spawn(keep(shared_from_this()));
}

ELASTIC_DECL task<void> legacy_lease::stop() {
  if (refreshing_) co_await refreshing_->stop();
}

ELASTIC_DECL task<void> legacy_lease::hold(std::string key) {
  co_await refresh(key);
  held_ = std::move(key);
}

ELASTIC_DECL task<void> legacy_lease::release() {
  held_.clear();
  if (idle_) co_await idle_->wait();
}

ELASTIC_DECL task<void> legacy_lease::remove() {
  const std::string key = held_;
  co_await release();
  if (!key.empty()) co_await keys_->erase(key);
}

ELASTIC_DECL task<void> legacy_lease::refresh(std::string key) {
  const time_point begun = time_->now();
  co_await keys_->refresh(std::move(key), legacy_ttl::lease);
  sign_.heard(begun);
}

ELASTIC_DECL task<void> legacy_lease::refresh() {
  if (!held_.empty()) co_await refresh(held_);
  if (!keep_job_ || time_->now() < job_due_) co_return;
  co_await keep_job_();
  job_due_ = time_->now() + duration(legacy_ttl::job) / 2;
}

ELASTIC_DECL task<void> legacy_lease::keep(std::shared_ptr<legacy_lease> lease) {
  // A third of the lease, so that two refreshes in a row may be late or lost.
  const duration interval = duration(legacy_ttl::lease) / 3;
  time_source& time = *lease->time_;
  for (;;) {
    co_await time.sleep_until(time.now() + interval);
    lease->idle_->reset();
    try {
      co_await lease->refresh();
    } catch (const error& failure) {
      // The coroutine that waits for the rendezvous gets the error, too.
      lease->last_problem_ = failure.what();
      lease->log_.debug("this node could not refresh its keep-alive: {}", failure.what());
    } catch (...) {
      lease->idle_->set();
      throw;
    }
    lease->idle_->set();
  }
}

}  // namespace elastic::detail
