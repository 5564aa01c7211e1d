// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/launch/chaos_plan.hpp>
#include <elastic/launch/detail/chaos_schedule.hpp>
#include <elastic/telemetry/worker_observer.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

class links_cut;

/// Makes the faults of a plan that are meant for this node and its workers, and logs each with what
/// follows: how long it takes until workers run again.
///
///     auto chaos = std::make_shared<chaos_monkey>(executor, plan, services,
///                                                 [] { std::raise(SIGKILL); });
///     services.observer = chaos;
///     … co_await race(keep_result(agent.run(), result), chaos->run(agent));
///
/// A cut is that of every TCP connection and port of this process.
///
/// Thread-safety: one strand at a time, on which the agent's observer is called as well.
class chaos_monkey final : public worker_observer {
 public:
  /// @param services   those of the agent: time, log, journal, and the observer, which is told the
  ///                   same
  /// @param kill_node  ends this process as a loss of the node would; needed by faults of nodes
  ELASTIC_DECL chaos_monkey(asio::any_io_executor strand, chaos_plan plan,
                            const agent_services& services, std::function<void()> kill_node);

  ELASTIC_DECL void started(const started_workers& job) override;
  ELASTIC_DECL void progress(const worker_progress& made) override;
  ELASTIC_DECL void hung(const hung_worker& worker) override;

  /// Waits for the workers to run and makes the faults; a cut ends with it. Never ends by itself.
  /// The agent must outlive it.
  /// Errors: none of its own. Cancellation: all types.
  ELASTIC_DECL task<void> run(local_agent& agent);

 private:
  /// The links of this node, while they are cut.
  struct node_cut {
    std::unique_ptr<links_cut> links;
    /// Since the workers first ran.
    duration until{};
  };

  ELASTIC_DECL void carry_out(local_agent& agent, const chaos_step& step, node_cut& cut);
  ELASTIC_DECL void begin(node_cut& cut, const chaos_step& step);
  ELASTIC_DECL void end(node_cut& cut, const chaos_step& step);
  ELASTIC_DECL void note(const std::string& text);

  chaos_plan plan_;
  std::shared_ptr<time_source> time_;
  logger log_;
  std::shared_ptr<job_journal> journal_;
  std::function<void()> kill_node_;
  std::shared_ptr<worker_observer> next_;
  event_flag begun_;
  time_point begun_at_{};
  /// The world of the workers that were started last.
  started_workers world_;
  std::optional<time_point> last_fault_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/chaos.ipp>
#endif
