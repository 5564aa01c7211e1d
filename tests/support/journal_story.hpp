// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/job_view.hpp>
#include <elastic/telemetry/journal_record.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace elastic::test {

/// Builds records of a journal, each some seconds after the one before:
///
///     journal_story story;
///     story.begin(4).run(2).kill(1, 9);
///
class journal_story {
 public:
  std::vector<journal_record> records;

  /// The time of the last record.
  std::int64_t now_us = 1'700'000'000'000'000;

  journal_story& wait(double seconds) {
    now_us += static_cast<std::int64_t>(seconds * 1e6);
    return *this;
  }

  journal_story& tell(job_event event) {
    journal_record record;
    record.sequence = static_cast<std::int64_t>(records.size()) + 1;
    record.epoch = 7;
    record.time_us = now_us;
    record.node = "node0";
    record.event = std::move(event);
    records.push_back(std::move(record));
    return *this;
  }

  journal_story& begin() {
    job_event event;
    event.kind = job_event::type::agent_started;
    event.run_id = "job7";
    event.backend = "c10d";
    event.role = "trainer";
    event.restarts = 0;
    event.max_restarts = 3;
    return tell(event);
  }

  /// Adds a rendezvous of 2 s and a start of workers of 1 s.
  journal_story& start(std::int64_t round, std::int64_t workers, std::int64_t restarts = 0) {
    tell(of(job_event::type::rendezvous_started)).wait(2);
    job_event joined = of(job_event::type::round_joined);
    joined.round = round;
    joined.attempt = restarts;
    joined.group_rank = 0;
    joined.group_world_size = 2;
    joined.world_size = 2 * workers;
    joined.base_rank = 0;
    joined.local_world_size = workers;
    joined.seconds = 2;
    tell(joined).tell(of(job_event::type::workers_starting)).wait(1);
    job_event started = of(job_event::type::workers_started);
    started.round = round;
    started.seconds = 1;
    for (std::int64_t at = 0; at < workers; ++at) started.pids.push_back(100 * round + at);
    return tell(started);
  }

  journal_story& end_worker(std::int64_t local_rank, std::int64_t exit_code,
                            std::int64_t signal = 0, std::string reason = {}) {
    job_event event = of(job_event::type::worker_ended, std::move(reason));
    event.rank = local_rank;
    event.local_rank = local_rank;
    if (signal == 0) event.exit_code = exit_code;
    if (signal != 0) event.signal = signal;
    return tell(event);
  }

  /// Adds what follows a failure: the decision, and a stop of 3 s.
  journal_story& restart(std::int64_t restarts) {
    job_event ended = of(job_event::type::round_ended, "rank 1 failed");
    ended.state = "worker_failed";
    tell(ended);
    job_event decided = of(job_event::type::restart_decided, "restart 1 of 3");
    decided.restarts = restarts;
    tell(decided).tell(of(job_event::type::workers_stopping)).wait(3);
    job_event stopped = of(job_event::type::workers_stopped);
    stopped.seconds = 3;
    return tell(stopped);
  }

  journal_story& end(std::string state, std::string reason = {}) {
    job_event event = of(job_event::type::agent_ended, std::move(reason));
    event.state = std::move(state);
    return tell(event);
  }

  static job_event of(job_event::type kind, std::string reason = {}) {
    job_event event;
    event.kind = kind;
    event.reason = std::move(reason);
    return event;
  }
};

/// What viewers see of a job whose workers report nothing.
inline detail::job_view view_of(const std::vector<journal_record>& records) {
  return detail::job_view(detail::state_of(records));
}

}  // namespace elastic::test
