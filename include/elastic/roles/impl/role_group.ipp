// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/role_group.hpp>

#include <elastic/agent/detail/run/command_reply.hpp>
#include <elastic/agent/detail/run/inbox_service.hpp>
#include <elastic/agent/detail/run/request_inbox.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/shielded_run.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/launch/detail/signalled_run.hpp>
#include <elastic/launch/job_outcome.hpp>
#include <elastic/process/detail/signal_number.hpp>
#include <elastic/roles/detail/group_monitor.hpp>
#include <elastic/roles/detail/role_plan.hpp>
#include <elastic/roles/detail/role_run.hpp>

#include <memory>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

inline role_plan::job job_of(const role_group::options& options) {
  role_plan::job job;
  job.run_id = options.run_id;
  job.roles = options.roles;
  job.max_restarts = options.max_restarts;
  job.log_dir = options.log_dir;
  job.journal = options.journal;
  job.complete = options.complete;
  job.on_change = options.on_change;
  return job;
}

inline role_group::result group_result(const role_run& run, const role_plan& plan) {
  const role_verdict& verdict = *run.machine().verdict();
  const std::vector<role>& roles = plan.options().roles;
  role_group::result result;
  result.state = verdict.state;
  result.reason = verdict.reason;
  if (verdict.role) result.decided_by = roles[*verdict.role].name;
  for (std::size_t place = 0; place < roles.size(); ++place) {
    result.roles.push_back({roles[place].name, run.machine().state(place),
                            run.machine().reason(place), run.result_of(place)});
  }
  result.restarts = run.machine().restarts();
  result.is_hopeless = verdict.is_hopeless;
  result.log_directory = run.log_directory();
  if (run.stop() && verdict.state == worker_state::stopped) result.stop_signal = run.stop()->signal;
  return result;
}

inline task<role_group::result> run_to_result(std::shared_ptr<role_run> run,
                                              std::shared_ptr<const role_plan> plan) {
  task<void> running = run->run();
  co_await std::move(running);
  co_return group_result(*run, *plan);
}

/// The state that a group passes to its run, which may outlive it.
struct group_parts {
  group_parts(asio::any_io_executor executor, const role_group::options& options,
              agent_services services, const std::shared_ptr<request_inbox>& inbox,
              std::shared_ptr<group_monitor> follower)
      : plan(new_shared<role_plan>(std::move(executor), job_of(options), std::move(services))),
        monitor(std::move(follower)),
        requests(inbox) {}

  std::shared_ptr<const role_plan> plan;
  std::shared_ptr<group_monitor> monitor;
  inbox_reader requests;
};

inline task<role_group::result> run_group_once(std::unique_ptr<group_parts> parts) {
  if (!parts) throw error(errc::invalid_argument, "a role_group runs once");
  const asio::any_io_executor strand = new_strand(parts->plan->executor());
  const auto run = new_shared<role_run>(strand, parts->plan, parts->monitor);
  auto on_cancel = stop_by_cancellation(parts->requests.inbox());
  task<role_group::result> serving =
      serve_inbox(strand, std::move(parts->requests), run, run_to_result(run, parts->plan));
  task<role_group::result> running =
      run_shielded<role_group::result>(strand, std::move(serving), std::move(on_cancel));
  co_return co_await std::move(running);
}

ELASTIC_DECL void start_run(const asio::any_io_executor& executor, task<role_group::result> work,
                            end_of_task<role_group::result>::handler on_end,
                            shared_cancellation cancellation) {
  start_run<role_group::result>(executor, std::move(work), std::move(on_end),
                                std::move(cancellation));
}

}  // namespace detail

ELASTIC_DECL role_group::role_group(asio::any_io_executor executor, options job)
    : role_group(std::move(executor), std::move(job), agent_services()) {}

ELASTIC_DECL role_group::role_group(asio::any_io_executor executor, options job,
                                    agent_services services)
    : executor_(std::move(executor)),
      inbox_(detail::new_shared<detail::request_inbox>()),
      monitor_(detail::new_shared<detail::group_monitor>()),
      parts_(std::make_unique<detail::group_parts>(executor_, std::move(job), std::move(services),
                                                   inbox_, monitor_)) {}

ELASTIC_DECL role_group::~role_group() { inbox_->push(detail::stop_by_destructor("role_group")); }

ELASTIC_DECL task<role_group::result> role_group::run() & {
  return detail::run_group_once(std::exchange(parts_, nullptr));
}

ELASTIC_DECL task<job_command::outcome> role_group::carry_out(job_command command) & {
  return detail::command_by_inbox(std::move(command), inbox_);
}

ELASTIC_DECL void role_group::stop(stop_request request) {
  detail::require_signal(request.signal, "stop_request::signal");
  inbox_->push(std::move(request));
}

ELASTIC_DECL void role_group::signal(int number) {
  detail::require_signal(number, "role_group::signal");
  inbox_->push(detail::signal_request{number});
}

ELASTIC_DECL void role_group::dump(std::ostream& out) const {
  monitor_->dump(out, inbox_->waiting());
}

ELASTIC_DECL task<role_group::result> run_with_signals(role_group& group, named<signal_plan> plan) {
  return detail::run_signalled<role_group::result>(group, plan, {});
}

ELASTIC_DECL task<role_group::result> run_with_signals(role_group& group) {
  return detail::run_signalled<role_group::result>(group, signal_plan(), {});
}

ELASTIC_DECL int exit_code(const role_group::result& result) {
  run_result as_one;
  as_one.state = result.state;
  as_one.stop_signal = result.stop_signal;
  as_one.is_hopeless = result.is_hopeless;
  return exit_code(as_one);
}

ELASTIC_DECL std::string closing_words(const std::string& name, const role_group::result& result) {
  if (result.state == worker_state::succeeded) return {};
  std::string words;
  if (result.state == worker_state::failed) words = fmt::format("\n{}\n", result.reason);
  for (const role_group::result::entry& role : result.roles) {
    if (result.state != worker_state::failed || role.name != result.decided_by) continue;
    if (!role.run) continue;
    run_result cause = *role.run;
    cause.log_directory.clear();
    words += closing_words(fmt::format("{}, role {}", name, role.name), cause);
  }
  words += "Roles:\n";
  for (const role_group::result::entry& role : result.roles) {
    words += fmt::format("  {}: {}{}\n", role.name, to_string(role.state),
                         role.reason.empty() ? "" : " (" + role.reason + ")");
  }
  if (!result.log_directory.empty()) words += fmt::format("Logs: {}\n", result.log_directory);
  return printable_text(words);
}

}  // namespace elastic
