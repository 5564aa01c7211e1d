// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/error_file_watch.hpp>
#include <elastic/diagnosis/detail/notice_judge.hpp>
#include <elastic/diagnosis/detail/worker_signs.hpp>
#include <elastic/telemetry/worker_progress.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace elastic {
struct job_diagnosis;
}

namespace elastic::detail {

/// Reports which workers of this node cannot continue, and ends those that have failed but do not
/// end by themselves. It sleeps until there is a sign: a worker ends, writes its error file, or
/// shows an exception on stderr, or another node reports ended workers. Then it samples the signs
/// of all workers whenever the `notice_judge` needs them.
///
/// Thread-safety: the agent's strand.
class notice_watch {
 public:
  /// Returns the locations of the main threads of these local ranks, such as "; it is in data.py:88
  /// read_shard"; leaves out unknown ones.
  using place_finder = std::function<task<std::vector<std::string>>(std::vector<int>)>;

  using reader = std::function<task<worker_look>(worker_look, wall_time)>;

  /// @param agent   must outlive this object
  /// @param places  empty: locations are unknown
  ELASTIC_DECL notice_watch(const job_diagnosis& terms, const agent_part::context& agent,
                            place_finder places, reader read = look_at_workers);

  ELASTIC_DECL void progressed(const worker_progress& made);
  /// A worker has ended.
  void ended() { evidence_.set(); }
  /// Workers of another node have ended with success, the last one at that time. If several nodes
  /// report this, the first report counts.
  ELASTIC_DECL void ended_elsewhere(const std::vector<int>& ranks, time_point at);
  /// The stderr or the error file of a worker may have an exception.
  ELASTIC_DECL void failing();

  /// The workers are active only because they are being inspected.
  void disturb() { is_disturbed_ = true; }

  /// Watches the workers of an attempt, or of an epoch. Without `job_diagnosis::notices` it waits.
  ///
  /// Errors: none; if the workers can no longer be watched, the log says so.
  /// Cancellation: all types; nothing else ends it.
  ELASTIC_DECL task<void> run();

 private:
  ELASTIC_DECL task<void> watch();
  ELASTIC_DECL task<void> follow(std::vector<agent_part::attempt_worker> workers);
  ELASTIC_DECL task<void> judge();
  ELASTIC_DECL task<std::vector<worker_signs>> look();
  ELASTIC_DECL void read_failure(worker_signs& signs);
  ELASTIC_DECL void keep_failure(int local_rank, const std::string& text);
  ELASTIC_DECL task<void> report(notice said);

  bool is_on_;
  duration end_after_error_;
  std::string node_;
  const agent_part::context& agent_;
  place_finder places_;
  reader read_;
  error_file_watch files_;
  event_flag evidence_;
  bool is_urgent_ = false;
  bool is_disturbed_ = false;
  wall_time began_{};
  /// By local rank: how many steps there are, the exceptions in error files and on stderr, and the
  /// error files that may have been written since they were read.
  std::map<int, std::int64_t> steps_;
  std::map<int, worker_signs::exception> recorded_;
  std::map<int, worker_signs::exception> printed_;
  std::set<int> unread_;
  std::vector<worker_signs> elsewhere_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/notice_watch.ipp>
#endif
