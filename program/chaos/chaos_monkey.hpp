// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/agent/local_agent.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/launch/chaos_plan.hpp>
#include <elastic/telemetry/worker_observer.hpp>
#include <program/chaos/chaos_schedule.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace elasticrun {

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
class chaos_monkey final : public elastic::worker_observer {
 public:
  /// @param services   those of the agent: time, log, journal, and the observer, which is told the
  ///                   same
  /// @param kill_node  ends this process as a loss of the node would; needed by faults of nodes
  chaos_monkey(asio::any_io_executor strand, elastic::chaos_plan plan,
               const elastic::agent_services& services, std::function<void()> kill_node);

  void started(const elastic::started_workers& job) override;
  void progress(const elastic::worker_progress& made) override;
  void hung(const elastic::hung_worker& worker) override;

  /// Waits for the workers to run and makes the faults; a cut ends with it. Never ends by itself.
  /// The agent must outlive it.
  /// Errors: none of its own. Cancellation: all types.
  elastic::task<void> run(elastic::local_agent& agent);

 private:
  /// The links of this node, while they are cut.
  struct node_cut {
    std::unique_ptr<links_cut> links;
    /// Since the workers first ran.
    elastic::duration until{};
  };

  void carry_out(elastic::local_agent& agent, const chaos_step& step, node_cut& cut);
  void begin(node_cut& cut, const chaos_step& step);
  void end(node_cut& cut, const chaos_step& step);
  void note(const std::string& text);

  elastic::chaos_plan plan_;
  std::shared_ptr<elastic::time_source> time_;
  elastic::logger log_;
  std::shared_ptr<elastic::job_journal> journal_;
  std::function<void()> kill_node_;
  std::shared_ptr<elastic::worker_observer> next_;
  elastic::event_flag begun_;
  elastic::time_point begun_at_{};
  /// The world of the workers that were started last.
  elastic::started_workers world_;
  std::optional<elastic::time_point> last_fault_;
};

}  // namespace elasticrun
