// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/job_roles.hpp>
#include <elastic/status/job_monitor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic {

class job_journal;

namespace detail {
struct internals;
class output_tails;
}  // namespace detail

/// The view of a running job of several roles: the state of each role, and a job_monitor for each.
/// A status_server shows it. What runs a role may change several times; its monitor stays.
///
/// Thread-safety: any thread.
class roles_monitor {
 public:
  /// The roles of a job at one moment, as the role_group of one node sees them.
  struct snapshot {
    struct role {
      /// Its name and state, and its workers on all nodes.
      job_roles::role shown = {};
      /// Why it is in its state, half a sentence.
      std::string reason = {};
      /// The settings of the role: "restart-role"; "trainer:ready".
      std::string on_failure = {};
      std::vector<std::string> starts_after = {};
      std::string stops_with = {};
      /// False: its workers are replicas.
      bool has_world = true;
    };

    std::string run_id = {};
    std::string node = {};
    /// The time at which the job began, in microseconds since 1970.
    std::int64_t began_us = 0;
    /// "running", "stopping", "succeeded", "failed" or "stopped", and why.
    std::string state = "running";
    std::string reason = {};
    /// The restarts of all roles so far, and their limit.
    std::int64_t restarts = 0;
    std::int64_t max_restarts = 0;
    /// The roles in the order of the job.
    std::vector<role> roles = {};
  };

  /// @param begin  the roles before any of them has started
  /// @param time   null: `system_time`
  ELASTIC_DECL explicit roles_monitor(snapshot begin, std::shared_ptr<time_source> time = {});
  ELASTIC_DECL ~roles_monitor();
  roles_monitor(const roles_monitor&) = delete;
  roles_monitor& operator=(const roles_monitor&) = delete;

  /// The number of roles.
  std::size_t size() const { return parts_.size(); }

  /// The place of a role; none: there is no role with this name.
  ELASTIC_DECL std::optional<std::size_t> find(std::string_view name) const;

  // ---- one role, by its place -------------------------------------------------------------------

  const std::string& name(std::size_t role) const { return parts_[role].name; }
  const std::shared_ptr<job_monitor>& monitor(std::size_t role) const {
    return parts_[role].monitor;
  }

  /// The journal of what runs the role now, or did last; null: nothing ever did.
  ELASTIC_DECL std::shared_ptr<job_journal> journal(std::size_t role) const;

  /// Something new runs a role, and will record in this journal, which gets the role's monitor as
  /// a sink.
  ELASTIC_DECL void begin(std::size_t role, std::shared_ptr<job_journal> journal);

  // ---- the job ----------------------------------------------------------------------------------

  /// The current state. A view is immutable; a change replaces it by a new one.
  ELASTIC_DECL std::shared_ptr<const snapshot> view() const;

  /// Sets the current state of the roles.
  ELASTIC_DECL void change(snapshot now);

  /// The number of changes so far, of a role or of its monitor's view.
  ELASTIC_DECL std::int64_t changes() const;

  /// Sets the function that any thread calls after each change. It must not throw or call a
  /// monitor. An empty one removes it.
  ELASTIC_DECL void on_change(std::function<void()> call);

 private:
  friend detail::internals;
  struct part {
    std::string name;
    std::shared_ptr<job_monitor> monitor;
    std::shared_ptr<detail::output_tails> tails;
    std::shared_ptr<job_journal> journal;
  };
  /// Lives as long as a monitor may call it.
  struct change_count;

  std::shared_ptr<change_count> count_;
  mutable std::mutex mutex_;
  std::shared_ptr<const snapshot> view_;
  /// Constant but for the journals, which have the mutex.
  std::vector<part> parts_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/impl/roles_monitor.ipp>
#endif
