// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Checks the whole table of options: each option must change its setting and nothing else. A row
// without an entry here fails, and so does a row whose value has no effect.

#include <elastic/cli/command_line.hpp>
#include <elastic/cli/detail/chaos_text.hpp>
#include <elastic/cli/detail/option_row.hpp>
#include <support/catch.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace {

namespace option_rows_test {

using elastic::program_config;
using arguments = std::vector<std::string>;
using names = std::set<std::string>;

template <class Value>
std::string text_of(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return std::to_string(static_cast<int>(value));
  } else {
    return fmt::format("{}", value);
  }
}

std::string text_of(const elastic::duration& value) { return std::to_string(value.count()); }

std::string text_of(const elastic::stream_selection& value) {
  std::string text;
  for (int rank = 0; rank < 10; ++rank) text += text_of(value.of(rank));
  return text;
}

std::string text_of(const elastic::exit_selection& value) {
  std::string text;
  for (int code = 0; code < 256; ++code) {
    if (value.contains(elastic::exit_status::exited(code))) text += fmt::format("{},", code);
  }
  return text;
}

std::string text_of(const std::vector<elastic::processor_set>& values) {
  std::string text;
  for (const elastic::processor_set& value : values) text += value.text() + ":";
  return text;
}

std::string wire_text(const elastic::wire_terms& terms) {
  std::string text;
  for (const elastic::wire_up kind : terms.kinds) text += std::string(to_string(kind)) + ' ';
  return text;
}

/// Every member that an option or the script can set, by its name.
std::map<std::string, std::string> members_of(const program_config& config) {
  const elastic::worker_spec& workers = config.job.workers;
  const elastic::rendezvous_parameters& rendezvous = config.job.rendezvous;
  return {
      {"workers.role", text_of(workers.role)},
      {"workers.nproc_per_node", text_of(workers.nproc_per_node)},
      {"workers.program", text_of(workers.program)},
      {"workers.arguments", text_of(workers.arguments)},
      {"workers.environment", text_of(workers.environment)},
      {"workers.env", text_of(workers.env)},
      {"workers.wrap.command", text_of(workers.wrap.command)},
      {"workers.wrap.ranks", std::to_string(workers.wrap.ranks.size())},
      {"wire.kinds", wire_text(config.wire)},
      {"wire.address", text_of(config.wire.address)},
      {"vault.limit_bytes", text_of(config.vault.limit_bytes)},
      {"vault.limit_percent", text_of(config.vault.limit_percent)},
      {"workers.virtual_local_rank", text_of(workers.virtual_local_rank)},
      {"workers.cpu_affinity", text_of(workers.cpu_affinity)},
      {"workers.max_restarts", text_of(workers.max_restarts)},
      {"workers.restart.window", text_of(workers.restart.window)},
      {"workers.restart.while_progress", std::to_string(workers.restart.while_progress)},
      {"workers.restart.delay", text_of(workers.restart.delay)},
      {"workers.restart.delay_max", text_of(workers.restart.delay_max)},
      {"workers.restart.healthy_uptime", text_of(workers.restart.healthy_uptime)},
      {"workers.restart.never_after", text_of(workers.restart.never_after)},
      {"workers.restart.only_after", text_of(workers.restart.only_after)},
      {"keeps_standbys", text_of(config.keeps_standbys)},
      {"standby.modules", text_of(config.standby.modules)},
      {"standby.delay", text_of(config.standby.delay)},
      {"standby.count", text_of(config.standby.count)},
      {"workers.on_failure", std::to_string(static_cast<int>(workers.on_failure))},
      {"workers.rejoin_timeout", text_of(workers.rejoin_timeout)},
      {"diagnosis.opens_workers", text_of(config.diagnosis.opens_workers)},
      {"diagnosis.stall_after",
       text_of(config.diagnosis.stall_after.value_or(elastic::duration()))},
      {"diagnosis.on_stall", text_of(static_cast<int>(config.diagnosis.on_stall))},
      {"diagnosis.end_after_error", text_of(config.diagnosis.end_after_error)},
      {"workers.shutdown_timeout", text_of(workers.shutdown_timeout)},
      {"workers.linger", text_of(workers.linger)},
      {"workers.signal_scope", std::to_string(static_cast<int>(workers.signal_scope))},
      {"workers.exit_barrier_timeout", text_of(workers.exit_barrier_timeout)},
      {"workers.preempt_grace", text_of(workers.preempt_grace)},
      {"workers.liveness.heartbeat_timeout", text_of(workers.liveness.heartbeat_timeout)},
      {"workers.liveness.first_heartbeat_timeout",
       text_of(workers.liveness.first_heartbeat_timeout)},
      {"workers.liveness.learn_timeouts", text_of(workers.liveness.learn_timeouts)},
      {"workers.watch_interval", text_of(workers.watch_interval)},
      {"workers.hang_hook.command", text_of(workers.hang_hook.command)},
      {"workers.hang_hook.timeout", text_of(workers.hang_hook.timeout)},
      {"workers.node_check.command", text_of(workers.node_check.command)},
      {"workers.node_check.timeout", text_of(workers.node_check.timeout)},
      {"workers.monitor_interval", text_of(workers.monitor_interval)},
      {"workers.log_dir", text_of(workers.log_dir)},
      {"workers.journal", text_of(workers.journal)},
      {"trace", text_of(config.program.trace)},
      {"workers.redirects", text_of(workers.redirects)},
      {"workers.tee", text_of(workers.tee)},
      {"workers.log_line_prefix_template", text_of(workers.log_line_prefix_template)},
      {"workers.logs.format", text_of(workers.logs.format)},
      {"workers.logs.local_ranks_filter", text_of(workers.logs.local_ranks_filter)},
      {"workers.logs.duplicate_stdout_filters", text_of(workers.logs.duplicate_stdout_filters)},
      {"workers.logs.duplicate_stderr_filters", text_of(workers.logs.duplicate_stderr_filters)},
      {"workers.logs.rotation.max_size", text_of(workers.logs.rotation.max_size)},
      {"workers.logs.rotation.max_files", text_of(workers.logs.rotation.max_files)},
      {"rendezvous.backend", text_of(rendezvous.backend)},
      {"rendezvous.endpoint", text_of(rendezvous.endpoint)},
      {"rendezvous.run_id", text_of(rendezvous.run_id)},
      {"rendezvous.min_nodes", text_of(rendezvous.min_nodes)},
      {"rendezvous.max_nodes", text_of(rendezvous.max_nodes)},
      {"rendezvous.node_counts", text_of(rendezvous.node_counts)},
      {"rendezvous.scale_up_delay", text_of(rendezvous.scale_up_delay)},
      {"rendezvous.node_name", text_of(rendezvous.node_name)},
      {"rendezvous.exclude_for", text_of(rendezvous.exclude_for)},
      {"rendezvous.node_rank", text_of(rendezvous.node_rank)},
      {"rendezvous.local_addr", text_of(rendezvous.local_addr)},
      {"rendezvous.join_timeout", text_of(rendezvous.join_timeout)},
      {"rendezvous.last_call_timeout", text_of(rendezvous.last_call_timeout)},
      {"rendezvous.keep_alive_interval", text_of(rendezvous.keep_alive_interval)},
      {"rendezvous.keep_alive_max_attempt", text_of(rendezvous.keep_alive_max_attempt)},
      {"rendezvous.reconnect_grace", text_of(rendezvous.reconnect_grace)},
      {"rendezvous.conf", text_of(rendezvous.conf)},
      {"rendezvous.use_ring", text_of(rendezvous.use_ring)},
      {"standalone", text_of(config.job.standalone)},
      {"master_addr", text_of(config.job.master_addr)},
      {"master_port", text_of(config.job.master_port)},
      {"numa_binding", text_of(config.job.numa_binding)},
      {"guard", text_of(config.job.guard)},
      {"guard_file", text_of(config.job.guard_file)},
      {"logs_specs", text_of(config.job.logs_specs)},
      {"event_log_handler", text_of(config.job.event_log_handler)},
      {"name", text_of(config.name)},
      {"script", text_of(config.script)},
      {"signals.stop", text_of(config.job.signals.stop)},
      {"signals.forward", text_of(config.job.signals.forward)},
      {"signals.preempt", text_of(config.job.signals.preempt)},
      {"drain_file", text_of(config.program.drain_file)},
      {"progress", text_of(config.progress)},
      {"merges_output", text_of(config.merges_output)},
      {"chaos", elastic::detail::to_text(config.chaos)},
      {"debugger.rank", text_of(config.debugger.rank.value_or(-1))},
      {"debugger.host", text_of(config.debugger.host)},
      {"debugger.port", text_of(config.debugger.port)},
      {"job_file", text_of(config.job_file)},
      {"job_settings", text_of(config.job_settings)},
      {"prints_job", text_of(config.prints_job)},
      {"status", text_of(config.program.status)},
      {"status_token_file", text_of(config.program.status_token_file)},
  };
}

program_config config_of(arguments options, elastic::environment_map environment = {}) {
  // Two nodes, so that what belongs to one node alone differs.
  options.insert(options.begin(), {"--nnodes", "2", "--rdzv-id", "job"});
  const auto names_job = [](const std::string& option) { return option.starts_with("--job"); };
  const bool has_job = std::any_of(options.begin(), options.end(), names_job) ||
                       environment.count("PET_JOB") > 0;
  if (!has_job) options.emplace_back("train.py");
  elastic::command_line::facts facts;
  facts.reads_job_files = true;
  facts.environment = std::move(environment);
  facts.injects_faults = true;
  facts.offers_debugger = true;
  auto outcome = elastic::parse_command_line(options, facts);
  if (const auto* exit = std::get_if<elastic::early_exit>(&outcome)) FAIL(exit->text);
  return std::get<elastic::command_line>(std::move(outcome)).config;
}

names differences(const program_config& left, const program_config& right) {
  const auto left_members = members_of(left);
  names result;
  for (const auto& [name, text] : members_of(right)) {
    if (left_members.at(name) != text) result.insert(name);
  }
  return result;
}

/// One option: a value that is not its default, and the members that it sets.
struct effect {
  const char* option;
  const char* value;
  names members;
  /// What both configurations are given besides.
  arguments common_arguments = {};
};

const std::vector<effect>& effects() {
  static const std::vector<effect> rows = {
      {"--nproc-per-node", "2", {"workers.nproc_per_node"}},
      {"--role", "r", {"workers.role"}},
      {"--module", "1", {"workers.arguments", "script"}},
      {"--no-python", "1", {"workers.program", "workers.arguments", "script"}},
      {"--run-path", "1", {"workers.program", "workers.arguments", "script"}, {"--no-python"}},
      {"--env", "A=1", {"workers.env"}},
      {"--wire", "jax,tf", {"wire.kinds"}},
      {"--vault-limit", "64G", {"vault.limit_bytes"}, {"--nnodes", "1:1"}},
      {"--vault-limit", "40%", {"vault.limit_percent"}, {"--nnodes", "1:1"}},
      {"--wrap", "nice", {"workers.wrap.command"}},
      {"--wrap-ranks", "0,8-15", {"workers.wrap.ranks"}, {"--wrap", "nice"}},
      {"--debug-rank", "1", {"debugger.rank"}},
      {"--debug-address", "eth0", {"debugger.host"}, {"--debug-rank=0"}},
      {"--virtual-local-rank", "1", {"workers.virtual_local_rank"}},
      {"--numa-binding", "node", {"numa_binding"}},
      {"--cpu-affinity", "0", {"workers.cpu_affinity"}},
      {"--job", "job.toml", {"job_file", "name", "script", "workers.arguments"}},
      {"--set", "a.b=1", {"job_settings"}, {"--job=job.toml"}},
      {"--print-job", "1", {"prints_job"}, {"--job=job.toml"}},
      {"--standalone",
       "1",
       {"standalone", "rendezvous.run_id"},
       {"--nnodes", "1:1", "--rdzv-backend", "static"}},
      {"--nnodes", "3", {"rendezvous.min_nodes", "rendezvous.max_nodes"}},
      {"--scale-up-delay", "1", {"rendezvous.scale_up_delay"}},
      {"--rdzv-backend", "c10d", {"rendezvous.backend"}},
      {"--rdzv-endpoint", "h:1", {"rendezvous.endpoint"}},
      {"--rdzv-id", "other", {"rendezvous.run_id"}},
      {"--rdzv-conf", "timeout=1", {"rendezvous.conf"}},
      {"--rdzv-conf", "join_timeout=1", {"rendezvous.join_timeout"}},
      {"--rdzv-conf", "last_call_timeout=1", {"rendezvous.last_call_timeout"}},
      {"--rdzv-conf", "keep_alive_interval=1", {"rendezvous.keep_alive_interval"}},
      {"--rdzv-conf", "keep_alive_max_attempt=2", {"rendezvous.keep_alive_max_attempt"}},
      {"--rdzv-conf", "reconnect_grace=1", {"rendezvous.reconnect_grace"}},
      {"--node-rank", "1", {"rendezvous.node_rank"}},
      {"--master-addr", "h", {"master_addr"}},
      {"--master-port", "1", {"master_port"}},
      {"--local-addr", "10.0.0.1", {"rendezvous.local_addr", "wire.address"}},
      {"--max-restarts", "1", {"workers.max_restarts"}},
      {"--restart-delay", "1", {"workers.restart.delay"}},
      {"--restart-delay-max", "1", {"workers.restart.delay_max"}},
      {"--restart-healthy-uptime", "1", {"workers.restart.healthy_uptime"}},
      {"--restart-window", "1", {"workers.restart.window"}},
      {"--restart-while-progress", "1", {"workers.restart.while_progress"}},
      {"--restart-never-after", "1", {"workers.restart.never_after"}},
      {"--restart-only-after", "1", {"workers.restart.only_after"}},
      {"--warm-standby", "1", {"keeps_standbys"}},
      {"--preload", "torch", {"standby.modules"}, {"--warm-standby"}},
      {"--standbys", "2", {"standby.count"}, {"--warm-standby"}},
      {"--standby-delay", "1", {"standby.delay"}, {"--warm-standby"}},
      {"--on-failure", "replace", {"workers.on_failure"}},
      {"--rejoin-timeout", "1", {"workers.rejoin_timeout"}, {"--on-failure", "replace"}},
      {"--diagnose", "1", {"diagnosis.opens_workers"}},
      {"--stall-after", "1", {"diagnosis.stall_after"}, {"--diagnose"}},
      {"--on-stall", "restart", {"diagnosis.on_stall"}, {"--diagnose"}},
      {"--end-after-error", "1", {"diagnosis.end_after_error"}},
      {"--shutdown-timeout", "1", {"workers.shutdown_timeout"}},
      {"--linger", "1", {"workers.linger"}},
      {"--signal-scope", "group", {"workers.signal_scope"}},
      {"--exit-barrier-timeout", "1", {"workers.exit_barrier_timeout"}},
      {"--signals-to-handle", "SIGTERM", {"signals.stop"}},
      {"--forward-signals", "SIGUSR1", {"signals.forward"}},
      {"--preempt-grace", "1", {"workers.preempt_grace"}},
      {"--preempt-signal", "SIGUSR1", {"signals.preempt"}},
      {"--drain-file", "/run/drain", {"drain_file"}},
      {"--exclude-for", "60", {"rendezvous.exclude_for"}},
      {"--node-name", "gpu-7", {"rendezvous.node_name"}},
      {"--node-check", "true", {"workers.node_check.command"}},
      {"--node-check-timeout", "1", {"workers.node_check.timeout"}, {"--node-check", "false"}},
      {"--heartbeat-timeout", "1", {"workers.liveness.heartbeat_timeout"}},
      {"--first-heartbeat-timeout", "1", {"workers.liveness.first_heartbeat_timeout"}},
      {"--learn-timeouts", "2", {"workers.liveness.learn_timeouts"}},
      {"--hang-hook", "true", {"workers.hang_hook.command"}},
      {"--hang-hook-timeout", "1", {"workers.hang_hook.timeout"}},
      {"--guard", "none", {"guard"}},
      {"--chaos", "kill=rank:3@20s", {"chaos"}},
      {"--status", "8080", {"status", "workers.watch_interval"}},
      {"--status-token-file", "/token", {"status_token_file"}, {"--status", "8080"}},
      {"--log-dir", "/logs", {"workers.log_dir"}},
      {"--redirects", "3", {"workers.redirects"}},
      {"--tee", "3", {"workers.tee"}},
      {"--log-line-prefix-template", "x", {"workers.log_line_prefix_template"}},
      {"--log-format", "json", {"workers.logs.format"}},
      {"--merge-output", "1", {"merges_output"}},
      {"--local-ranks-filter", "0", {"workers.logs.local_ranks_filter"}},
      {"--duplicate-stdout-filters", "x", {"workers.logs.duplicate_stdout_filters"}},
      {"--duplicate-stderr-filters", "x", {"workers.logs.duplicate_stderr_filters"}},
      {"--log-max-size", "1M", {"workers.logs.rotation.max_size"}},
      {"--log-max-files", "2", {"workers.logs.rotation.max_files"}},
      {"--journal", "/journal", {"workers.journal"}},
      {"--trace", "/trace", {"trace"}},
      {"--logs-specs", "mine", {"logs_specs"}},
      {"--no-progress", "1", {"progress"}},
      {"--watch-workers", "1", {"workers.watch_interval"}},
      {"--event-log-handler", "console", {"event_log_handler"}},
      {"--monitor-interval", "1", {"workers.monitor_interval"}},
      {"--start-method", "fork", {}},
  };
  return rows;
}

}  // namespace option_rows_test

namespace rt = option_rows_test;

TEST_CASE("option_rows: each option sets its own members and no other", "[cli]") {
  for (const rt::effect& row : rt::effects()) {
    INFO(row.option);
    rt::arguments words = row.common_arguments;
    words.emplace_back(row.option);
    if (elastic::detail::option_named(row.option).takes_value()) words.emplace_back(row.value);
    CHECK(rt::differences(rt::config_of(row.common_arguments), rt::config_of(words)) ==
          row.members);
  }
}

TEST_CASE("option_rows: the variable of an option does what the option does", "[cli]") {
  for (const rt::effect& row : rt::effects()) {
    // Both are on every command line of this test.
    if (std::string(row.option) == "--nnodes" || std::string(row.option) == "--rdzv-id") continue;
    const auto& option = elastic::detail::option_named(row.option);
    INFO(option.pet_variable());
    auto expected = row.members;
    expected.insert("workers.environment");
    const auto default_config = rt::config_of(row.common_arguments);
    CHECK(rt::differences(default_config, rt::config_of(row.common_arguments,
                                                        {{option.pet_variable(), row.value}})) ==
          expected);
    if (*option.variable == '\0') continue;
    CHECK(rt::differences(default_config,
                          rt::config_of(row.common_arguments, {{option.variable, row.value}})) ==
          expected);
  }
}

TEST_CASE("option_rows: no option is without a check of its effect", "[cli]") {
  for (const auto& row : elastic::detail::option_rows()) {
    if (row.shows) continue;
    INFO(row.names);
    const auto& effects = rt::effects();
    CHECK(std::any_of(effects.begin(), effects.end(),
                      [&](const rt::effect& effect) { return row.long_name() == effect.option; }));
  }
}

}  // namespace
