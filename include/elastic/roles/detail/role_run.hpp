// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/pending_command.hpp>
#include <elastic/agent/detail/run/request_inbox.hpp>
#include <elastic/agent/job_command.hpp>
#include <elastic/agent/log_layout.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/stop_request.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/base/time.hpp>
#include <elastic/nodes/detail/rendezvous_host.hpp>
#include <elastic/roles/detail/group_monitor.hpp>
#include <elastic/roles/detail/role_board.hpp>
#include <elastic/roles/detail/role_journal.hpp>
#include <elastic/roles/detail/role_machine.hpp>
#include <elastic/roles/detail/role_plan.hpp>
#include <elastic/roles/detail/role_post.hpp>
#include <elastic/telemetry/worker_progress.hpp>

#include <cstddef>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace elastic::detail {

/// One run of a role_group: carries out the steps of the role_machine, and reports events to it.
///
/// Thread-safety: the given strand. The agents run on the executor of the plan, each on its own
/// strand.
class role_run : public std::enable_shared_from_this<role_run> {
 public:
  ELASTIC_DECL role_run(asio::any_io_executor strand, std::shared_ptr<const role_plan> plan,
                        std::shared_ptr<group_monitor> monitor);

  role_run(const role_run&) = delete;
  role_run& operator=(const role_run&) = delete;

  /// Runs all roles to the end of the job. The caller never cancels it: only a stop_request ends it
  /// early.
  ELASTIC_DECL task<void> run();

  ELASTIC_DECL void take(const stop_request& request);
  ELASTIC_DECL void take(const signal_request& request);
  ELASTIC_DECL void take(const std::shared_ptr<pending_command>& pending);
  /// A role_group has no functions that make the other requests of an agent.
  template <class Other>
  void take(const Other&) {}

  /// The outcome of the job and the state of each role.
  const role_machine& machine() const { return machine_; }

  /// The result of the last run of a role; empty if it never ran.
  const std::optional<run_result>& result_of(std::size_t role) const {
    return entries_[role].result;
  }

  /// Where the log files are; empty if none are kept.
  std::string log_directory() const { return logs_.root(); }

  /// The request that stopped the job; empty if there was none.
  const std::optional<stop_request>& stop() const { return stop_; }

 private:
  /// A role, apart from its state in the machine.
  struct entry {
    /// Empty while the role does not run.
    std::optional<role_plan::runner> runner;
    std::optional<run_result> result;
    /// The error of its last run; null: none.
    std::exception_ptr failure = {};
    /// The address of this node for workers of other roles.
    std::string address = {};
    /// The tasks that wait until the running workers are ready; null: there are none.
    std::unique_ptr<task_group> probe = {};
  };

  // Opens the logs and the board, runs the roles, and closes what was opened.
  ELASTIC_DECL task<void> live();
  ELASTIC_DECL task<void> open_board();
  ELASTIC_DECL std::shared_ptr<role_post> make_post(std::size_t role);
  ELASTIC_DECL void await_ports(std::size_t role, std::vector<role_post::running> workers);
  ELASTIC_DECL void await_progress(std::size_t role);
  // The name of a role that starts after this one is ready; empty: none does.
  ELASTIC_DECL std::optional<std::string> waiting_for(std::size_t role) const;
  ELASTIC_DECL std::shared_ptr<time_source> time_of_plan() const;
  ELASTIC_DECL task<void> await_open_ports(std::size_t role, int restarts,
                                           std::vector<task<void>> waits);
  ELASTIC_DECL std::string node_of(std::size_t role) const;
  ELASTIC_DECL task<void> open_servers();
  ELASTIC_DECL task<void> open_logs();
  ELASTIC_DECL void open_journal();
  ELASTIC_DECL task<void> leave_logs();
  ELASTIC_DECL task<void> mark_over();
  ELASTIC_DECL void publish_state();
  ELASTIC_DECL task<void> supervise();
  ELASTIC_DECL task<void> run_role(std::size_t role);
  ELASTIC_DECL role_plan::circumstances circumstances_of(std::size_t role);
  ELASTIC_DECL std::shared_ptr<agent_part> make_watch(std::size_t role);
  ELASTIC_DECL void take_end(std::size_t role);
  static void stop(const entry& role, const stop_request& request) {
    if (role.runner) std::visit([&](const auto& each) { each->stop(request); }, *role.runner);
  }
  ELASTIC_DECL agent_services services_of(std::size_t role);
  ELASTIC_DECL task<void> end_all();
  ELASTIC_DECL task<void> end_roles();

  // Commands for all running roles, or for one of them.
  ELASTIC_DECL task<void> answer(std::shared_ptr<pending_command> pending);
  ELASTIC_DECL task<job_command::outcome> carry_out(job_command command);
  ELASTIC_DECL job_command::outcome drain(const job_command& command);

  // Carries out steps in order, including those to which a step leads.
  ELASTIC_DECL void carry_out(std::vector<role_step> steps);
  ELASTIC_DECL void carry_out(const role_step& step);
  ELASTIC_DECL void log_verdict();
  // Publishes the states of all roles to their workers.
  ELASTIC_DECL void publish_states();
  ELASTIC_DECL void update_monitor() const;
  ELASTIC_DECL void log_waits() const;
  ELASTIC_DECL void mark_ready(std::size_t role, int restarts);
  ELASTIC_DECL stop_request request_for(const role_step& step) const;
  ELASTIC_DECL role_end end_of(std::size_t role, const std::exception_ptr& failure);

  const std::string& name_of(std::size_t role) const { return plan_->options().roles[role].name; }

  asio::any_io_executor strand_;
  std::shared_ptr<const role_plan> plan_;
  std::shared_ptr<group_monitor> monitor_;
  const logger& log_;
  role_machine machine_;
  std::vector<entry> entries_;
  log_layout logs_;
  /// Null: the job has no journal.
  std::shared_ptr<role_journal> journal_;
  std::shared_ptr<role_board> board_;
  /// The servers of this node at which several roles meet with those of other nodes, by endpoint.
  std::map<std::string, std::unique_ptr<rendezvous_host>> servers_;
  std::optional<stop_request> stop_;
  bool leaves_as_bad_ = false;
  bool is_verdict_noted_ = false;
  /// The first error of a role.
  std::exception_ptr failure_;
  bool has_ended_ = false;
  std::deque<role_step> steps_;
  bool is_carrying_out_ = false;
  event_flag over_;
  task_group tasks_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/role_run.ipp>
#endif
