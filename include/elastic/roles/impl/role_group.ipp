// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/role_group.hpp>

#include <elastic/agent/detail/request_inbox.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/launch/detail/signal_relay.hpp>
#include <elastic/launch/job_outcome.hpp>
#include <elastic/roles/detail/role_plan.hpp>
#include <elastic/roles/detail/role_run.hpp>

#include <exception>
#include <optional>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// Closes the inbox, also if the context is destroyed while the roles run.
struct group_inbox_closer {
  std::shared_ptr<request_inbox> inbox;
  ~group_inbox_closer() { inbox->close(); }
};

inline role_plan::job job_of(const role_group::options& options) {
  role_plan::job job;
  job.run_id = options.run_id;
  job.roles = options.roles;
  job.max_restarts = options.max_restarts;
  job.log_dir = options.log_dir;
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

inline task<role_group::result> run_group(asio::any_io_executor strand,
                                    std::shared_ptr<const role_plan> plan,
                                    std::shared_ptr<request_inbox> inbox) {
  const auto run = new_shared<role_run>(strand, plan);
  const group_inbox_closer closer{inbox};
  inbox->open(strand, [&run](const agent_request& request) {
    std::visit([&](const auto& content) { run->take(content); }, request);
  });
  task<void> running = run->run();
  co_await std::move(running);
  co_return group_result(*run, *plan);
}

}  // namespace detail

ELASTIC_DECL role_group::role_group(asio::any_io_executor executor, named<options> job)
    : plan_(detail::new_shared<detail::role_plan>(std::move(executor), detail::job_of(*job),
                                                  agent_services(), rendezvous_registry())),
      inbox_(detail::new_shared<detail::request_inbox>()) {}

ELASTIC_DECL role_group::role_group(asio::any_io_executor executor, named<options> job,
                                    named<agent_services> services,
                                    const rendezvous_registry& backends)
    : plan_(detail::new_shared<detail::role_plan>(std::move(executor), detail::job_of(*job),
                                                  *services, backends)),
      inbox_(detail::new_shared<detail::request_inbox>()) {}

ELASTIC_DECL role_group::~role_group() = default;

ELASTIC_DECL task<role_group::result> role_group::run() & {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await asio::this_coro::throw_if_cancelled(false);
  const auto plan = std::exchange(plan_, nullptr);
  if (!plan) throw error(errc::invalid_argument, "a role_group runs once");
  const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
  asio::cancellation_slot slot = cancellation.slot();
  if (slot.is_connected()) {
    slot.assign([inbox = inbox_](asio::cancellation_type requested) {
      inbox->push(detail::as_stop_request(requested));
    });
  }
  std::optional<role_group::result> ended;
  std::exception_ptr failure;
  try {
    const asio::any_io_executor strand = asio::make_strand(plan->executor());
    // The body gets an empty slot: what is asked of it comes through the inbox alone.
    task<void> running = detail::keep_result(detail::run_group(strand, plan, inbox_), ended);
    co_await detail::run_on(strand, std::move(running), asio::cancellation_slot());
  } catch (...) {
    failure = std::current_exception();
  }
  co_await asio::this_coro::reset_cancellation_state();
  co_await asio::this_coro::throw_if_cancelled(true);
  if (failure) std::rethrow_exception(failure);
  co_return std::move(*ended);
}

ELASTIC_DECL void role_group::stop(stop_request request) { inbox_->push(std::move(request)); }

ELASTIC_DECL void role_group::signal(int number) { inbox_->push(detail::signal_request{number}); }

namespace detail {

inline task<role_group::result> run_group_with_signals(role_group& group, signal_plan plan) {
  std::optional<role_group::result> result;
  signal_receiver receiver;
  receiver.stop = [&group](stop_request request) { group.stop(std::move(request)); };
  receiver.forward = [&group](int number) { group.signal(number); };
  task<void> running = keep_result(group.run(), result);
  std::vector<task<void>> beside;
  task<void> relaying = relay_signals(std::move(running), std::move(receiver), std::move(plan),
                                      std::move(beside));
  co_await std::move(relaying);
  co_return std::move(*result);
}

}  // namespace detail

ELASTIC_DECL task<role_group::result> run_with_signals(role_group& group, named<signal_plan> plan) {
  return detail::run_group_with_signals(group, *plan);
}

ELASTIC_DECL task<role_group::result> run_with_signals(role_group& group) {
  return detail::run_group_with_signals(group, signal_plan());
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
