// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/role_run.hpp>

#include <elastic/agent/local_agent.hpp>
#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/time.hpp>
#include <elastic/base/when_all.hpp>
#include <elastic/contract/detail/macros.hpp>
#include <elastic/net/detail/local_interface.hpp>
#include <elastic/net/detail/own_loopback.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/rendezvous/detail/backend_defaults.hpp>
#include <elastic/rendezvous/detail/reachable_address.hpp>
#include <elastic/roles/detail/port_probe.hpp>
#include <elastic/roles/detail/role_command.hpp>
#include <elastic/roles/detail/role_places.hpp>
#include <elastic/roles/detail/role_watch.hpp>
#include <elastic/roles/detail/silence_warning.hpp>

#include <algorithm>
#include <csignal>
#include <functional>
#include <optional>
#include <utility>

namespace elastic::detail {

/// The rules of the machine for roles that `validate` accepts.
inline std::vector<role_rule> rules_of(const std::vector<role>& roles) {
  std::vector<role_rule> rules;
  for (const role& each : roles) {
    role_rule rule;
    rule.name = each.name;
    rule.on_failure = each.on_failure;
    for (const elastic::role::condition& condition : each.starts_after) {
      rule.starts_after.push_back({*place_of(roles, condition.role), condition.what});
    }
    if (!each.stops_with.empty()) rule.stops_with = place_of(roles, each.stops_with);
    rules.push_back(std::move(rule));
  }
  return rules;
}

ELASTIC_DECL role_run::role_run(asio::any_io_executor strand, std::shared_ptr<const role_plan> plan,
                                std::shared_ptr<group_monitor> monitor)
    : strand_(std::move(strand)),
      plan_(std::move(plan)),
      monitor_(std::move(monitor)),
      log_(plan_->services().log),
      machine_(rules_of(plan_->options().roles), plan_->options().max_restarts),
      entries_(plan_->options().roles.size()),
      over_(strand_),
      tasks_(strand_) {}

ELASTIC_DECL task<void> role_run::run() { return with_cleanup(live(), mark_over()); }

ELASTIC_DECL task<void> role_run::live() {
  task<void> opening = open_logs();
  co_await std::move(opening);
  task<void> posting = open_board();
  co_await std::move(posting);
  task<void> supervising = supervise();
  task<void> ending = end_all();
  co_await with_cleanup(std::move(supervising), std::move(ending));
  board_->finish();
  if (journal_) co_await journal_->finish();
  task<void> leaving = leave_logs();
  co_await std::move(leaving);
  if (failure_) std::rethrow_exception(failure_);
}

// ---- requests -----------------------------------------------------------------------------------

ELASTIC_DECL void role_run::take(const stop_request& request) {
  if (!stop_) stop_ = request;
  if (!machine_.verdict()) {
    carry_out(machine_.stop(request.reason.empty() ? "stop requested" : request.reason));
    return;
  }
  // The roles are already stopping, so only a request to kill has an effect.
  if (!request.escalates && request.signal != SIGKILL) return;
  for (const entry& each : entries_) stop(each, request);
}

ELASTIC_DECL void role_run::take(const signal_request& request) {
  for (const entry& each : entries_) {
    if (!each.runner) continue;
    std::visit([&](const auto& runner) { runner->signal(request.number); }, *each.runner);
  }
}

ELASTIC_DECL void role_run::take(const std::shared_ptr<pending_command>& pending) {
  tasks_.spawn(answer(pending));
}

ELASTIC_DECL task<void> role_run::answer(std::shared_ptr<pending_command> pending) {
  job_command::outcome outcome;
  try {
    task<job_command::outcome> working = carry_out(pending->command());
    outcome = co_await std::move(working);
  } catch (const std::exception& failure) {
    outcome.text = failure.what();
  }
  pending->settle(outcome.is_done, std::move(outcome.text));
}

ELASTIC_DECL task<job_command::outcome> role_run::carry_out(job_command command) {
  if (command.what == job_command::kind::drain) co_return drain(command);
  role_command shared(command);
  for (std::size_t role = 0; role < entries_.size(); ++role) {
    if (!command.role.empty() && command.role != name_of(role)) continue;
    if (const auto& runner = entries_[role].runner) {
      shared.add(name_of(role), *runner);
    } else {
      shared.add_idle(name_of(role),
                      fmt::format("it does not run: {}", to_string(machine_.state(role))));
    }
  }
  task<job_command::outcome> working = shared.run(strand_);
  co_return co_await std::move(working);
}

ELASTIC_DECL job_command::outcome role_run::drain(const job_command& command) {
  job_command::outcome outcome;
  if (!command.role.empty()) {
    outcome.text = "a node is drained of all roles: leave out the role";
    return outcome;
  }
  stop_request request;
  request.reason = "drained " + command.reason;
  request.is_node_bad = true;
  take(request);
  outcome.is_done = true;
  outcome.text = "this node leaves the job";
  return outcome;
}

// ---- what the program is told -------------------------------------------------------------------

ELASTIC_DECL task<void> role_run::mark_over() {
  has_ended_ = true;
  if (board_) publish_state();
  co_return;
}

ELASTIC_DECL void role_run::publish_state() {
  if (!plan_->options().on_change) return;
  role_group::snapshot now;
  now.document = board_->document();
  for (std::size_t place = 0; place < entries_.size(); ++place) {
    now.reasons.push_back(machine_.reason(place));
  }
  if (machine_.verdict()) {
    now.verdict = machine_.verdict()->state;
    now.reason = machine_.verdict()->reason;
  }
  now.is_over = has_ended_;
  now.restarts = machine_.restarts();
  plan_->options().on_change(std::move(now));
}

// ---- what the roles share ----------------------------------------------------------------------

/// Opens the servers of this node. Of the nodes that meet at an endpoint, the one with that address
/// hosts the server for all roles, because the server must outlive each of them.
ELASTIC_DECL task<void> role_run::open_servers() {
  for (const auto& [at, parameters] : plan_->meetings()) {
    rendezvous_parameters chosen = parameters;
    chosen.secret = parameters.chosen_secret();
    task<std::unique_ptr<rendezvous_host>> hosting =
        rendezvous_host::try_host(parse_endpoint(at, c10d_port), parameters.yes_or_no("is_host"),
                                  std::move(chosen), rendezvous_protocol::native);
    std::unique_ptr<rendezvous_host> server = co_await std::move(hosting);
    if (server) servers_.emplace(at, std::move(server));
  }
}

ELASTIC_DECL task<void> role_run::open_logs() {
  const role_plan::job& options = plan_->options();
  if (options.log_dir == "/dev/null") {
    open_journal();
    co_return;
  }
  std::function<log_layout()> making = [base = options.log_dir, run_id = options.run_id] {
    return log_layout(base, run_id);
  };
  if (log_layout::base_may_hang(options.log_dir)) {
    task<log_layout> waiting = run_blocking<log_layout>(std::move(making));
    logs_ = co_await std::move(waiting);
  } else {
    logs_ = making();
  }
  if (!logs_.notice().empty()) log_.warning("{}", logs_.notice());
  open_journal();
}

ELASTIC_DECL void role_run::open_journal() {
  const std::string& chosen = plan_->options().journal;
  const std::string path = chosen.empty() ? logs_.journal_file() : chosen;
  if (path.empty() || path == "/dev/null") return;
  journal_ = new_shared<role_journal>(path, log_);
}

/// The rendezvous by which a role meets other nodes or, for a role of one node in a job of several
/// nodes, that of another role. Empty: the job has one node.
inline std::optional<rendezvous_parameters> meeting_of_nodes(const std::vector<role>& roles,
                                                             const role& which) {
  const auto has_several_nodes = [](const role& each) {
    return !each.config.standalone && each.config.rendezvous.max_nodes > 1;
  };
  if (has_several_nodes(which)) return which.config.rendezvous;
  const auto other = std::find_if(roles.begin(), roles.end(), has_several_nodes);
  if (other == roles.end()) return std::nullopt;
  rendezvous_parameters meeting = other->config.rendezvous;
  const std::string& own = which.config.rendezvous.local_addr;
  if (!own.empty()) meeting.local_addr = own;
  return meeting;
}

/// The address at which workers of other nodes reach those of this node.
inline task<std::string> address_for_roles(std::optional<rendezvous_parameters> meeting) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  if (!meeting) co_return own_loopback(executor);
  if (!meeting->local_addr.empty()) co_return local_address_named(meeting->local_addr);
  std::vector<std::string> hosts;
  const std::string& endpoint = meeting->endpoint;
  const bool is_host = !endpoint.empty() && endpoint.find('/') == std::string::npos;
  if (is_host) {
    const std::string first = endpoint.substr(0, endpoint.find(','));
    hosts.push_back(parse_endpoint(first, c10d_port).host);
  }
  task<std::string> finding = reachable_address(std::string(), std::move(hosts));
  co_return co_await std::move(finding);
}

ELASTIC_DECL task<void> role_run::open_board() {
  std::vector<std::string> names;
  const std::vector<role>& roles = plan_->options().roles;
  for (std::size_t place = 0; place < entries_.size(); ++place) {
    names.push_back(name_of(place));
    task<std::string> finding = address_for_roles(meeting_of_nodes(roles, roles[place]));
    entries_[place].address = co_await std::move(finding);
  }
  const auto board = new_shared<role_board>(strand_, std::move(names), log_);
  // Workers read the file, and must not wait for a file system that hangs.
  board->open(logs_.is_enabled() && !logs_.may_hang() ? logs_.root() : std::string());
  board_ = board;
  if (!plan_->options().on_change) co_return;
  board->listen([weak = weak_from_this()](std::int64_t) {
    const auto run = weak.lock();
    if (run && !run->has_ended_) run->publish_state();
    return run != nullptr;
  });
}

/// The services of the agent of a role, or of its replicas.
ELASTIC_DECL agent_services role_run::services_of(std::size_t role) {
  agent_services services = plan_->services_of(role);
  if (journal_) {
    services.journal =
        journal_->of_role(name_of(role), node_of(role), plan_->services().time, log_);
  }
  internals::of(services).roles = make_post(role);
  if (plan_->options().complete) plan_->options().complete(role, services);
  return services;
}

ELASTIC_DECL std::string role_run::node_of(std::size_t role) const {
  const std::string& name = plan_->options().roles[role].config.rendezvous.node_name;
  return name.empty() ? host_name() : name;
}

ELASTIC_DECL std::shared_ptr<role_post> role_run::make_post(std::size_t role) {
  const launch_config& config = plan_->options().roles[role].config;
  role_post::place here;
  here.node = node_of(role);
  here.address = entries_[role].address;
  const auto post = new_shared<role_post>(board_, role, config.workers.nproc_per_node,
                                          port_names(config.workers.arguments), std::move(here));
  const elastic::role::readiness ready_at = plan_->options().roles[role].ready_at;
  if (ready_at == elastic::role::readiness::start) return post;
  post->on_start(
      [weak = weak_from_this(), role, ready_at](std::vector<role_post::running> workers) {
        const auto run = weak.lock();
        if (!run) return;
        if (ready_at == elastic::role::readiness::port) {
          run->await_ports(role, std::move(workers));
        } else {
          run->await_progress(role);
        }
      });
  return post;
}

/// Starts the warnings about a silent role. It detects nothing itself: role_watch detects progress.
ELASTIC_DECL void role_run::await_progress(std::size_t role) {
  entry& self = entries_[role];
  const std::optional<std::string> waiting = waiting_for(role);
  if (!self.runner || !waiting) return;
  std::function<bool()> is_ready = [weak = weak_from_this(), role] {
    const auto run = weak.lock();
    return !run || run->machine_.is_ready(role);
  };
  self.probe = std::make_unique<task_group>(strand_);
  self.probe->spawn(
      warn_of_silence(name_of(role), *waiting, std::move(is_ready), time_of_plan(), log_));
}

ELASTIC_DECL std::optional<std::string> role_run::waiting_for(std::size_t role) const {
  for (const elastic::role& each : plan_->options().roles) {
    for (const elastic::role::condition& condition : each.starts_after) {
      const bool needs_ready = condition.what == elastic::role::condition::event::ready;
      if (needs_ready && condition.role == name_of(role)) return each.name;
    }
  }
  return std::nullopt;
}

ELASTIC_DECL std::shared_ptr<time_source> role_run::time_of_plan() const {
  const auto& given = plan_->services().time;
  return given ? given : new_shared<system_time>();
}

/// Waits for the ports of the role's workers, instead of those of an earlier start.
ELASTIC_DECL void role_run::await_ports(std::size_t role, std::vector<role_post::running> workers) {
  entry& self = entries_[role];
  // The role may have ended meanwhile.
  if (!self.runner) return;
  const elastic::role& which = plan_->options().roles[role];
  const std::shared_ptr<time_source> time = time_of_plan();
  std::vector<task<void>> waits;
  for (const role_post::running& worker : workers) {
    served_port port;
    port.whose = fmt::format("role '{}': worker {}", which.name, worker.local_rank);
    port.pid = worker.pid;
    port.address = {self.address, worker.ports.at(which.ready_port)};
    waits.push_back(await_served_port(std::move(port), time, log_));
  }
  self.probe = std::make_unique<task_group>(strand_);
  if (waits.empty()) return;
  self.probe->spawn(await_open_ports(role, machine_.restarts(), std::move(waits)));
}

/// Stops the role if its ports cannot be watched, since it would never be ready.
/// Errors: none.
ELASTIC_DECL task<void> role_run::await_open_ports(std::size_t role, int restarts,
                                                   std::vector<task<void>> waits) {
  const auto self = shared_from_this();
  try {
    co_await when_all(std::move(waits));
    mark_ready(role, restarts);
  } catch (...) {
    const std::exception_ptr failure = std::current_exception();
    if (is_cancellation(failure)) throw;
    entries_[role].failure = failure;
    stop_request request;
    request.reason = fmt::format("the ports of role '{}' cannot be watched", name_of(role));
    stop(entries_[role], request);
  }
}

/// Like an agent with its own directory, removes one in the temporary folder after success.
ELASTIC_DECL task<void> role_run::leave_logs() {
  const worker_state state = machine_.verdict() ? machine_.verdict()->state : worker_state::failed;
  if (!logs_.is_enabled() || state == worker_state::failed) co_return;
  std::function<log_layout()> leaving = [logs = logs_, state]() mutable {
    if (state == worker_state::succeeded) {
      logs.discard();
    } else {
      logs.discard_if_empty();
    }
    return logs;
  };
  if (!logs_.may_hang()) {
    logs_ = leaving();
    co_return;
  }
  const std::shared_ptr<time_source> time = time_of_plan();
  const time_point limit = deadline_after(time->now(), limits::log_directory_patience);
  task<log_layout> waiting = run_blocking<log_layout>(std::move(leaving));
  const auto left = co_await with_deadline(*time, limit, std::move(waiting));
  if (left) logs_ = *left;
}

// ---- the roles ----------------------------------------------------------------------------------

ELASTIC_DECL task<void> role_run::supervise() {
  task<void> opening = open_servers();
  co_await std::move(opening);
  carry_out(machine_.begin());
  log_waits();
  co_await over_.wait();
}

/// Ends all roles, so that none is left running, even after an error.
ELASTIC_DECL task<void> role_run::end_all() {
  co_await end_roles();
  for (const auto& [at, server] : servers_) co_await server->stop();
  servers_.clear();
}

ELASTIC_DECL task<void> role_run::end_roles() {
  if (!machine_.is_over()) take(stop_request{});
  co_await tasks_.wait();
}

/// Runs a role once. Errors: none; stores them in the entry.
ELASTIC_DECL task<void> role_run::run_role(std::size_t role) {
  entry& self = entries_[role];
  self.result.reset();
  self.failure = nullptr;
  try {
    const role_plan::runner runner = plan_->make_runner(role, circumstances_of(role));
    self.runner = runner;
    update_monitor();
    task<run_result> living = std::visit([](const auto& each) { return each->run(); }, runner);
    // The slot is empty, so that only `stop` ends the run, which then has a result.
    task<void> running = keep_result(std::move(living), self.result);
    co_await run_on(plan_->executor(), std::move(running), asio::cancellation_slot());
  } catch (...) {
    self.failure = std::current_exception();
  }
  self.runner.reset();
  update_monitor();
  if (const auto probe = std::exchange(self.probe, nullptr)) co_await probe->stop();
  take_end(role);
}

ELASTIC_DECL role_plan::circumstances role_run::circumstances_of(std::size_t role) {
  role_plan::circumstances around;
  around.restarts = machine_.restarts();
  around.log_root = logs_.root();
  around.services = services_of(role);
  const auto server = servers_.find(plan_->meeting_of(role));
  around.is_beside_server = server != servers_.end();
  const auto& reports = internals::of(around.services).reports;
  if (around.is_beside_server && reports) {
    server->second->show(plan_->run_id_of(role, around.restarts), reports);
  }
  add_part(around.services, "readiness", make_watch(role));
  return around;
}

ELASTIC_DECL std::shared_ptr<agent_part> role_run::make_watch(std::size_t role) {
  const elastic::role& which = plan_->options().roles[role];
  // The agent calls its parts on its own strand.
  const std::function<void()> on_ready = [weak = weak_from_this(), strand = strand_, role,
                                          restarts = machine_.restarts()] {
    post_work(strand, [weak, role, restarts] {
      if (const auto run = weak.lock()) run->mark_ready(role, restarts);
    });
  };
  return new_shared<role_watch>(which.ready_at, which.config.workers.nproc_per_node, on_ready);
}

ELASTIC_DECL void role_run::take_end(std::size_t role) {
  board_->clear_workers(role);
  role_end end = end_of(role, entries_[role].failure);
  log_.info("role '{}' has ended: {}", name_of(role), end.reason);
  carry_out(machine_.ended(role, std::move(end)));
}

ELASTIC_DECL role_end role_run::end_of(std::size_t role, const std::exception_ptr& failure) {
  using kind = role_end::kind;
  if (failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const error& thrown) {
      // Workers failed on other nodes while this one waited for a place.
      if (thrown.code() == errc::rendezvous_closed) return {kind::failed, thrown.what()};
      if (!failure_) failure_ = failure;
      return {kind::broken, thrown.what()};
    } catch (const std::exception& thrown) {
      if (!failure_) failure_ = failure;
      return {kind::broken, thrown.what()};
    } catch (...) {
      if (!failure_) failure_ = failure;
      return {kind::broken, "unknown error"};
    }
  }
  const run_result& result = *entries_[role].result;
  if (result.left_as_bad) leaves_as_bad_ = true;
  kind how = kind::failed;
  if (result.state == worker_state::succeeded) how = kind::succeeded;
  if (result.state == worker_state::stopped) how = kind::stopped;
  if (result.left_as_bad) how = kind::left;
  return {how, result.reason, result.is_hopeless};
}

ELASTIC_DECL void role_run::mark_ready(std::size_t role, int restarts) {
  if (restarts != machine_.restarts()) return;
  if (machine_.state(role) == role_state::running) log_.info("role '{}' is ready", name_of(role));
  board_->set_ready(role);
  carry_out(machine_.ready(role));
}

ELASTIC_DECL void role_run::carry_out(std::vector<role_step> steps) {
  for (role_step& step : steps) steps_.push_back(std::move(step));
  if (is_carrying_out_) return;
  is_carrying_out_ = true;
  while (!steps_.empty()) {
    log_verdict();
    const role_step step = std::move(steps_.front());
    steps_.pop_front();
    carry_out(step);
  }
  is_carrying_out_ = false;
  log_verdict();
  publish_states();
  if (machine_.is_over()) over_.set();
}

ELASTIC_DECL void role_run::carry_out(const role_step& step) {
  const std::string& name = name_of(step.role);
  switch (step.what) {
    case role_step::action::start:
      log_.info("role '{}' starts: {}", name, step.reason);
      tasks_.spawn(run_role(step.role));
      break;
    case role_step::action::stop:
      log_.info("role '{}' is stopped: {}", name, step.reason);
      // If the runner could not be made, there is none, and the machine learns of that next.
      stop(entries_[step.role], request_for(step));
      break;
    case role_step::action::skip: log_.warning("role '{}' does not start: {}", name, step.reason);
  }
}

ELASTIC_DECL void role_run::update_monitor() const {
  std::vector<group_monitor::entry> roles;
  for (std::size_t place = 0; place < entries_.size(); ++place) {
    roles.push_back({name_of(place), to_string(machine_.state(place)), machine_.reason(place),
                     entries_[place].runner});
  }
  monitor_->take(std::move(roles));
}

ELASTIC_DECL void role_run::publish_states() {
  update_monitor();
  if (!board_) return;
  for (std::size_t place = 0; place < entries_.size(); ++place) {
    board_->set_state(place, to_string(machine_.state(place)));
  }
}

ELASTIC_DECL void role_run::log_verdict() {
  const std::optional<role_verdict>& verdict = machine_.verdict();
  if (!verdict || std::exchange(is_verdict_noted_, true)) return;
  if (verdict->state == worker_state::succeeded) {
    log_.info("the job ends: {}", verdict->reason);
  } else {
    log_.warning("the job ends: {}", verdict->reason);
  }
}

/// Logs what each waiting role waits for, because it is otherwise silent.
ELASTIC_DECL void role_run::log_waits() const {
  for (const role& each : plan_->options().roles) {
    for (const elastic::role::condition& condition : each.starts_after) {
      const bool needs_success = condition.what == elastic::role::condition::event::success;
      log_.info("role '{}' waits until role '{}' {}", each.name, condition.role,
                needs_success ? "has succeeded" : "is ready");
    }
  }
}

ELASTIC_DECL stop_request role_run::request_for(const role_step& step) const {
  const std::optional<role_verdict>& verdict = machine_.verdict();
  stop_request request;
  // The signal of a request to stop the job does not apply to roles that stop for another reason.
  if (stop_ && verdict && verdict->state == worker_state::stopped) request = *stop_;
  request.reason = step.reason;
  request.is_node_bad = request.is_node_bad || leaves_as_bad_;
  request.is_planned = request.is_planned || step.is_planned;
  return request;
}

}  // namespace elastic::detail
