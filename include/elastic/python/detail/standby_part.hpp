// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/python/standby_set.hpp>
#include <elastic/python/warm_standby.hpp>
#include <elastic/telemetry/worker_progress.hpp>

#include <memory>
#include <optional>
#include <set>

namespace elastic::detail {

/// The standbys of an agent. Decides when they are made, and when the agent waits for them.
class standby_part final : public agent_part {
 public:
  ELASTIC_DECL standby_part(warm_standby terms, agent_part::context agent);

  ELASTIC_DECL std::shared_ptr<process_launcher> wrap(
      std::shared_ptr<process_launcher> inner) override;
  ELASTIC_DECL duration join_delay() override;
  ELASTIC_DECL duration stop_delay(const rendezvous_change& change) override;
  ELASTIC_DECL task<void> until_ready() override;
  ELASTIC_DECL task<void> prepare_attempt() override;
  ELASTIC_DECL void begin_attempt(const rendezvous_round& round) override;
  ELASTIC_DECL void begin_replacement(const rendezvous_round& round) override;
  ELASTIC_DECL std::optional<run_result::worker_starts> starts() const override;
  ELASTIC_DECL void progressed(const worker_progress& made) override;
  void prepared() override { standbys_->run_scripts(); }
  ELASTIC_DECL task<void> beside_workers(bool may_restart) override;
  ELASTIC_DECL void end_attempt() override;
  ELASTIC_DECL task<void> end() override;

 private:
  ELASTIC_DECL bool do_workers_run() const;
  ELASTIC_DECL void record(const standby_set::counts& pool);

  // Whether this node joins only once its standbys are ready. That holds if no attempt has begun
  // and the others may run without this node.
  bool joins_warm() const { return context_.job_may_grow && !has_begun_; }

  warm_standby terms_;
  agent_part::context context_;
  /// Null before `wrap`.
  std::shared_ptr<standby_set> standbys_;
  bool has_begun_ = false;
  /// The workers of the attempt that have reported a step, by local rank.
  std::set<int> stepped_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/detail/standby_part.ipp>
#endif
