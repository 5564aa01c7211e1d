// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/status/detail/job_state.hpp>
#include <elastic/telemetry/journal_record.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// Makes events of a Chrome trace of a journal's records, one after the other: the phases of the
/// agent's state, and the lives of its workers, as spans that begin and end, and the rest as
/// moments. In a job of several roles, each has an agent of its own, and so is a process of the
/// trace.
class trace_events {
 public:
  /// @param process   the number of the node in the trace, below `processes_of_role`
  /// @param shift_us  is added to the node's clock
  static constexpr std::int64_t processes_of_role = std::int64_t{1} << 20;

  explicit trace_events(std::int64_t process, std::int64_t shift_us = 0)
      : process_(process), shift_us_(shift_us) {}

  /// The events that a record leads to, JSON objects; none if it was taken before.
  ELASTIC_DECL std::vector<std::string> take(const journal_record& record);

 private:
  struct trace_event;
  /// An agent, after those of the same role before it, and its spans that have not ended.
  struct lane {
    job_state job;
    std::int64_t process = 0;
    agent_phase phase = agent_phase::rest;
    /// Local ranks.
    std::set<std::int64_t> workers;
  };

  ELASTIC_DECL void add(const trace_event& event);
  ELASTIC_DECL void name(const char* field, std::int64_t thread, std::string_view text);
  ELASTIC_DECL void begin_epoch(const journal_record& record);
  ELASTIC_DECL void enter(agent_phase phase, const job_event* event = nullptr);
  ELASTIC_DECL void begin_workers(const job_event& event);
  ELASTIC_DECL void end_worker(std::int64_t local_rank, const std::string& reason);
  ELASTIC_DECL void end_workers();
  ELASTIC_DECL void mark(const job_event& event);

  std::int64_t process_;
  std::int64_t shift_us_;
  std::int64_t now_us_ = 0;
  /// The lanes of the roles, by name; a job without roles has one.
  std::map<std::string, lane> lanes_;
  /// The lanes by their present epoch. A journal may have many roles.
  std::map<std::int64_t, lane*> lane_of_epoch_;
  /// The lane of the present record.
  lane* at_ = nullptr;
  std::vector<std::string> events_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/trace_events.ipp>
#endif
