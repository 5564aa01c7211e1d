// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/inspected_workers.hpp>
#include <elastic/diagnosis/detail/inspection_answer.hpp>
#include <elastic/diagnosis/detail/kept_recorders.hpp>
#include <elastic/diagnosis/detail/notice_watch.hpp>
#include <elastic/diagnosis/detail/round_inspection.hpp>
#include <elastic/diagnosis/detail/stall_history.hpp>
#include <elastic/diagnosis/detail/stall_judge.hpp>
#include <elastic/diagnosis/detail/stall_watch.hpp>
#include <elastic/diagnosis/job_diagnosis.hpp>
#include <elastic/diagnosis/detail/stall_verdict.hpp>
#include <elastic/telemetry/job_event.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::detail {

/// Inspects the workers of an agent, and reports which of them cannot continue. On the node of
/// group rank 0, it detects stalls of the job. On the node where the first worker ends, it finds
/// out whether others wait for that worker.
class diagnosis_part final : public agent_part {
 public:
  ELASTIC_DECL diagnosis_part(job_diagnosis terms, agent_part::context agent);

  ELASTIC_DECL std::shared_ptr<process_launcher> wrap(
      std::shared_ptr<process_launcher> inner) override;
  ELASTIC_DECL void begin_attempt(const rendezvous_round& round) override;
  ELASTIC_DECL void begin_replacement(const rendezvous_round& round) override;
  ELASTIC_DECL void progressed(const worker_progress& made) override;
  ELASTIC_DECL void ended(const attempt_worker& worker) override;
  void failing(int) override { notices_.failing(); }
  ELASTIC_DECL task<void> beside_workers(bool may_restart) override;
  ELASTIC_DECL task<void> beside_exit_barrier() override;
  ELASTIC_DECL task<std::optional<job_command::outcome>> carry_out(job_command command) override;
  bool wants_last_look() const override { return terms_.opens_workers && context_.has_world; }
  ELASTIC_DECL task<std::string> last_look() override;

 private:
  using question = round_inspection::question;
  /// The evidence about this node's ranks, and the inspections from which it was made.
  struct look {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    look() = default;

    std::vector<inspected_rank> ranks;
    std::vector<worker_inspection> found;
  };
  /// The conclusion from the answers of all nodes.
  struct finding {
    finding() = default;

    stall_verdict verdict;
    stall_remedy remedy;
    /// How many nodes have not answered.
    std::ptrdiff_t silent = 0;
  };

  ELASTIC_DECL void enter_round(const rendezvous_round& round);
  ELASTIC_DECL task<std::string> answer(round_inspection::request asked);
  ELASTIC_DECL task<look> inspect(time_point deadline);
  ELASTIC_DECL task<look> inspect_twice(time_point deadline);
  ELASTIC_DECL notice_watch::place_finder place_finder();
  ELASTIC_DECL task<std::vector<std::string>> find_places(std::vector<int> local_ranks);
  ELASTIC_DECL task<void> keep_recorders(std::vector<worker_inspection> found, time_point deadline);
  ELASTIC_DECL void end_rank(int rank, const std::string& reason);
  ELASTIC_DECL task<finding> judge(question asked);
  ELASTIC_DECL task<void> follow_ends();
  ELASTIC_DECL task<bool> tell_ends();
  ELASTIC_DECL void take_ends(std::string_view told);
  ELASTIC_DECL task<bool> look_for_waiting();
  ELASTIC_DECL task<void> watch();
  ELASTIC_DECL task<void> take_look();
  ELASTIC_DECL void end_stall();
  ELASTIC_DECL void record_stall_elsewhere();
  ELASTIC_DECL task<void> judge_again();
  ELASTIC_DECL void report(const stall_verdict& verdict);
  ELASTIC_DECL task<void> apply(stall_remedy remedy);
  ELASTIC_DECL void record(job_event::type kind, const stall_verdict& verdict);

  job_diagnosis terms_;
  agent_part::context context_;
  /// Null before `wrap`.
  std::shared_ptr<inspected_workers> workers_;
  /// Empty until the first recorder is kept: the number of nodes is unknown before.
  std::optional<kept_recorders> recorders_;
  std::string recorders_place_;
  /// Null before the first attempt.
  std::unique_ptr<round_inspection> round_;
  /// Set on the node that detects stalls, while workers run.
  std::optional<stall_watch> watch_;
  /// The furthest step of this node's workers in the round, and when it was reported; -1: none.
  std::int64_t step_ = -1;
  time_point stepped_{};
  /// This node was asked about a stall, and its workers have made no step since.
  bool is_stalled_elsewhere_ = false;
  /// The end of a worker of this node with success: the event, its time, the delay until the next
  /// inspection whether others wait for it, and whether this node is the first whose worker has
  /// ended. Only the first node inspects; empty: not known yet.
  event_flag has_ended_;
  time_point ended_at_{};
  duration next_look_{};
  std::optional<bool> is_first_;
  /// The verdicts on the present stall that were reported.
  stall_history history_;
  /// Workers of this node that are being killed.
  std::set<pid_t> ending_;
  /// Whether a last look is in progress. Further callers wait for its result.
  bool is_looking_ = false;
  event_flag has_looked_;
  std::string found_;
  time_point found_at_{};
  notice_watch notices_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/diagnosis_part.ipp>
#endif
