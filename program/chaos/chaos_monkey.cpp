// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/chaos/chaos_monkey.hpp>

#include <elastic/base/detail/quantity.hpp>
#include <elastic/base/error.hpp>
#include <elastic/cli/detail/chaos_text.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <program/chaos/network_cut.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <fmt/format.h>

namespace elasticrun {

chaos_monkey::chaos_monkey(asio::any_io_executor strand, chaos_plan plan,
                           const elastic::agent_services& services, std::function<void()> kill_node)
    : plan_(std::move(plan)),
      time_(services.time),
      log_(services.log),
      journal_(services.journal),
      kill_node_(std::move(kill_node)),
      has_started_(std::move(strand)) {
  if (!time_) time_ = std::make_shared<elastic::system_time>();
}

void chaos_monkey::started(const elastic::agent_part::started_workers& job) {
  job_ = job;
  if (!has_started_.is_set()) {
    log_.warning("chaos: this job is disturbed on purpose: {}",
                 elastic::detail::to_text(plan_));
    const std::string missing =
        elastic::detail::missing_targets(plan_, job.world_size, job.group_world_size);
    if (!missing.empty()) {
      log_.warning("chaos: nothing happens to {}: the job has {} and {}", missing,
                   elastic::detail::quantity(job.world_size, "rank"),
                   elastic::detail::quantity(job.group_world_size, "node"));
    }
    start_time_ = time_->now();
    has_started_.set();
  } else if (const auto fault = std::exchange(last_fault_time_, std::nullopt)) {
    report_recovery(job, time_->now() - *fault);
  }
}

void chaos_monkey::report_recovery(const elastic::agent_part::started_workers& job,
                                   elastic::duration took) {
  const bool is_replacement = job.stayed > 0 || !job.replaced.empty();
  ++(is_replacement ? replacements_ : restarts_);
  std::string ranks;
  for (const int rank : job.replaced) {
    ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
  }
  const std::string running = elastic::detail::quantity(job.world_size, "worker") +
                              (job.world_size == 1 ? " runs again" : " run again");
  std::string how = running;
  if (!ranks.empty()) {
    how = fmt::format("rank{} {} replaced, and {}", job.replaced.size() == 1 ? "" : "s",
                      ranks + (job.replaced.size() == 1 ? " was" : " were"), running);
  } else if (is_replacement) {
    how = fmt::format("the {} of this node continued, and {}",
                      elastic::detail::quantity(job.stayed, "worker"), running);
  }
  std::string tally;
  if (replacements_ > 0) {
    tally = fmt::format("; so far {} replacement{}, {} restart{} of all", replacements_,
                        replacements_ == 1 ? "" : "s", restarts_, restarts_ == 1 ? "" : "s");
  }
  log_.warning("chaos: {} {:.3f} s after the last fault (round {}, restarts {}{})", how,
               std::chrono::duration<double>(took).count(), job.round, job.restarts, tally);
}

elastic::task<void> chaos_monkey::run() {
  co_await has_started_.wait();
  chaos_schedule schedule(plan_);
  active_cut cut;
  while (const std::optional<chaos_step> step = schedule.next()) {
    co_await time_->sleep_until(elastic::deadline_after(start_time_, step->time));
    inject(*step, cut);
  }
  co_await time_->sleep_until(elastic::time_point::max());
}

void chaos_monkey::inject(const chaos_step& step, active_cut& cut) {
  using action = chaos_step::action;
  const int target = step.target_in(job_.world_size);
  const bool is_rank = step.target == chaos_plan::fault::target::rank;
  if (!step.fault.empty()) last_fault_time_ = time_->now();
  if (is_rank) {
    if (signal_) signal_(target, step.signal, step.fault.empty() ? "" : "chaos: " + step.fault);
  } else if (step.what == action::restore) {
    restore_network(cut, step);
  } else if (target != job_.group_rank) {
    return;
  } else if (step.what == action::cut) {
    cut_network(cut, step);
  } else {
    report(fmt::format("chaos: {}: this agent is killed", step.fault));
    kill_node_();
  }
}

void chaos_monkey::cut_network(active_cut& cut, const chaos_step& step) {
  try {
    cut.network = std::make_unique<network_cut>();
  } catch (const elastic::error& failure) {
    log_.warning("chaos: {}: not made: {}", step.fault, failure.what());
    return;
  }
  cut.end = std::max(cut.end, step.end);
  report(fmt::format("chaos: {}: the connections and ports of this agent are cut, {} in all",
                     step.fault, cut.network->count()));
}

void chaos_monkey::restore_network(active_cut& cut, const chaos_step& step) {
  if (!cut.network || step.time < cut.end) return;
  cut.network.reset();
  report("chaos: the connections and ports of this agent are whole again");
}

void chaos_monkey::report(const std::string& text) {
  log_.warning("{}", text);
  if (!journal_) return;
  elastic::job_event event;
  event.kind = elastic::job_event::type::fault_injected;
  event.reason = text;
  journal_->record(std::move(event));
}

void add_chaos(elastic::agent_services& services, std::shared_ptr<chaos_monkey> monkey) {
  add_part(services, "chaos", [monkey = std::move(monkey)](elastic::agent_part::context agent) {
    monkey->reach_workers(std::move(agent.signal));
    return monkey;
  });
}

}  // namespace elasticrun
