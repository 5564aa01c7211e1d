// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_services.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/telemetry/worker_progress.hpp>
#include <program/chaos/chaos_schedule.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace elasticrun {

class network_cut;

/// Injects the faults of a plan that target this node and its workers. Logs each fault, and the
/// time until workers run again.
///
///     auto chaos = std::make_shared<chaos_monkey>(executor, plan, services,
///                                                 [] { std::raise(SIGKILL); });
///     add_chaos(services, chaos);
///     … co_await race(keep_result(agent.run(), result), chaos->run());
///
/// A cut disconnects every TCP connection and port of this process.
///
/// Thread-safety: one strand at a time, on which the agent calls its parts, too.
class chaos_monkey final : public elastic::agent_part {
 public:
  /// @param services   the agent's time, log and journal
  /// @param kill_node  ends this process as the loss of its node would
  chaos_monkey(asio::any_io_executor strand, chaos_plan plan,
               const elastic::agent_services& services, std::function<void()> kill_node);

  void started(const elastic::agent_part::started_workers& job) override;

  /// Sends a signal to one worker of the job, for a reason: as `local_agent::signal_rank`.
  using worker_signal = std::function<void(int rank, int number, std::string reason)>;

  /// Sets the function that sends signals to the workers of the present agent. Call it before they
  /// start.
  void reach_workers(worker_signal signal) { signal_ = std::move(signal); }

  /// Waits until the workers run, then injects the faults.
  /// Errors: none of its own. Cancellation: all types; only a cancellation ends it, and any cut
  /// with it.
  elastic::task<void> run();

 private:
  struct active_cut {
    std::unique_ptr<network_cut> network;
    /// The end of the cut, counted from the first start of the workers.
    elastic::duration end{};
  };

  void inject(const chaos_step& step, active_cut& cut);
  void cut_network(active_cut& cut, const chaos_step& step);
  void restore_network(active_cut& cut, const chaos_step& step);
  void report_recovery(const elastic::agent_part::started_workers& job,
                       elastic::duration took);
  void report(const std::string& text);

  chaos_plan plan_;
  std::shared_ptr<elastic::time_source> time_;
  elastic::logger log_;
  std::shared_ptr<elastic::job_journal> journal_;
  std::function<void()> kill_node_;
  worker_signal signal_;
  elastic::event_flag has_started_;
  elastic::time_point start_time_{};
  /// The job as of the last start of its workers.
  elastic::agent_part::started_workers job_;
  std::optional<elastic::time_point> last_fault_time_;
  /// How often a fault led to replaced workers, and how often to a restart of all.
  int replacements_ = 0;
  int restarts_ = 0;
};

/// Makes a monkey a part of an agent. Several agents may use it, one after the other.
void add_chaos(elastic::agent_services& services, std::shared_ptr<chaos_monkey> monkey);

}  // namespace elasticrun
