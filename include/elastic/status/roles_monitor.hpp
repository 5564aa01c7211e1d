// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>
#include <elastic/status/detail/viewed_roles.hpp>
#include <elastic/status/job_monitor.hpp>
#include <elastic/telemetry/detail/output_tails.hpp>
#include <elastic/telemetry/worker_progress.hpp>

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

/// The view of a running job of several roles: the state of each role, and a job_monitor for each.
/// A status_server shows it. What runs a role may change several times; its monitor stays.
///
/// Thread-safety: any thread.
class roles_monitor {
 public:
  /// @param begin  the roles before any of them has started
  /// @param time   null: `system_time`
  ELASTIC_DECL explicit roles_monitor(detail::viewed_roles begin,
                                      std::shared_ptr<time_source> time = {});
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
  const std::shared_ptr<detail::output_tails>& tails(std::size_t role) const {
    return parts_[role].tails;
  }

  /// The journal of what runs the role now, or did last; null: nothing ever did.
  ELASTIC_DECL std::shared_ptr<job_journal> journal(std::size_t role) const;

  /// Something new runs a role, and will record in this journal, which gets the role's monitor as
  /// a sink.
  ELASTIC_DECL void begin(std::size_t role, std::shared_ptr<job_journal> journal);

  // ---- the job ----------------------------------------------------------------------------------

  /// The current state. A view is immutable; a change replaces it by a new one.
  ELASTIC_DECL std::shared_ptr<const detail::viewed_roles> view() const;

  /// Sets the current state of the roles.
  ELASTIC_DECL void change(detail::viewed_roles now);

  /// The number of changes so far, of a role or of its monitor's view.
  ELASTIC_DECL std::int64_t changes() const;

  /// Sets the function that any thread calls after each change. It must not throw or call a
  /// monitor. An empty one removes it.
  ELASTIC_DECL void on_change(std::function<void()> call);

 private:
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
  std::shared_ptr<const detail::viewed_roles> view_;
  /// Constant but for the journals, which have the mutex.
  std::vector<part> parts_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/impl/roles_monitor.ipp>
#endif
