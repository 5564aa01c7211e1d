// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/base/time.hpp>
#include <elastic/etcd/detail/leased_keys.hpp>
#include <elastic/torch/detail/life_sign.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// The key by which a node shows that it lives. It is refreshed before it expires.
///
/// Thread-safety: one strand at a time.
class legacy_lease final : public std::enable_shared_from_this<legacy_lease> {
 public:
  using job_keeper = std::function<task<void>()>;

  /// @param keep_job  keeps the stored data of the job from expiring; may be empty
  ELASTIC_DECL legacy_lease(std::shared_ptr<leased_keys> keys, job_keeper keep_job,
                            std::shared_ptr<time_source> time, logger log);

  /// Starts to refresh the key.
  ELASTIC_DECL void start(asio::any_io_executor executor);
  ELASTIC_DECL task<void> stop();

  /// Creates or keeps a key, and refreshes it from now on.
  ELASTIC_DECL task<void> hold(std::string key);

  /// Stops refreshing the key.
  ELASTIC_DECL task<void> release();

  /// Removes the key, too.
  ELASTIC_DECL task<void> remove();

  /// The key; empty if there is none.
  const std::string& held() const { return held_; }

  /// The time of the last refresh.
  const life_sign& sign() const { return sign_; }

  /// The reason for the last failure to refresh the key; "no reply" before the first one.
  const std::string& last_problem() const { return last_problem_; }

 private:
  ELASTIC_DECL static task<void> keep(std::shared_ptr<legacy_lease> lease);
  ELASTIC_DECL task<void> refresh();
  ELASTIC_DECL task<void> refresh(std::string key);

  const std::shared_ptr<leased_keys> keys_;
  const job_keeper keep_job_;
  const std::shared_ptr<time_source> time_;
  const logger log_;
  life_sign sign_;
  std::string last_problem_ = "no reply";
  std::string held_;
  time_point job_due_{};
  std::optional<task_group> refreshing_;
  std::optional<event_flag> idle_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/etcd/detail/legacy_lease.ipp>
#endif
