// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/detail/option_checks.hpp>

#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/cli/detail/option_types.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/launch/signal_plan.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/endpoint_list.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>

namespace elastic::detail {

[[noreturn]] inline void refuse_options(const std::string& sentence) {
  throw error(errc::invalid_argument, sentence);
}

/// "--rdzv-endpoint" of the backends that have one host there. The others have endpoints of
/// another form, or several of them, and check them by themselves.
inline void check_endpoint(const given_options& options, const rendezvous_parameters& rendezvous) {
  const auto text = options.find("--rdzv-endpoint");
  const auto store = rendezvous.conf.find("store_type");
  if (rendezvous.backend == "c10d" && store != rendezvous.conf.end() && store->second == "file") {
    refuse_options(fmt::format("{}=file: use --rdzv-backend file, whose endpoint is a directory",
                               rendezvous.name_of("store_type")));
  }
  if (!text || (rendezvous.backend != "static" && rendezvous.backend != "c10d")) return;
  try {
    if (rendezvous.backend == "c10d") {
      parse_endpoints(text->text, 0, limits::rendezvous_candidates);
    } else if (text->text.find(',') != std::string::npos) {
      throw error(errc::invalid_argument,
                  "several endpoints take --rdzv-backend c10d; static, the default, has one");
    } else {
      parse_endpoint(text->text, 0);
    }
  } catch (const error& refusal) {
    refuse_options(fmt::format("{}: {}", text->source, refusal.what()));
  }
}

/// The backend static: the nodes' ranks are given, not found out.
inline void check_static(const launch_config& config) {
  const rendezvous_parameters& rendezvous = config.rendezvous;
  if (rendezvous.backend != "static" || config.standalone) return;
  if (rendezvous.min_nodes != rendezvous.max_nodes) {
    refuse_options(fmt::format(
        "--nnodes {}:{}: the rendezvous backend static needs a fixed number of nodes; use another "
        "--rdzv-backend for a range",
        rendezvous.min_nodes, rendezvous.max_nodes));
  }
  if (rendezvous.node_rank >= rendezvous.max_nodes) {
    refuse_options(fmt::format("--node-rank {}: with --nnodes {} it is 0 to {}",
                               rendezvous.node_rank, rendezvous.max_nodes,
                               rendezvous.max_nodes - 1));
  }
  if (rendezvous.max_nodes > 1 && rendezvous.endpoint.empty() && config.master_port == 0) {
    refuse_options("--master-port 0: with several nodes it is a number from 1 to 65535");
  }
}

/// Makes a job standalone: one with `--standalone`, or one of a single node whose options name no
/// rendezvous, as torchrun does since 2.14. Otherwise two such jobs on one machine would meet at
/// the default port.
inline void settle_standalone(const given_options& options, launch_config& config) {
  const bool is_standalone = config.standalone;
  rendezvous_parameters& rendezvous = config.rendezvous;
  if (is_standalone && rendezvous.min_nodes > 1) {
    refuse_options(fmt::format("--standalone is for one node, but --nnodes needs at least {}",
                               rendezvous.min_nodes));
  }
  const char* const meeting[] = {"--rdzv-backend", "--rdzv-endpoint", "--master-addr",
                                 "--master-port", "--node-rank"};
  const bool meets = std::any_of(std::begin(meeting), std::end(meeting),
                                 [&](const char* name) { return options.find(name).has_value(); });
  config.standalone = is_standalone || (!meets && rendezvous.max_nodes == 1);
  if (!config.standalone) return;
  rendezvous.max_nodes = 1;
  if (is_standalone || !options.find("--rdzv-id")) rendezvous.run_id.clear();
}

/// Options that the chosen way to meet does not look at.
inline void warn_of_unused(const given_options& options, const launch_config& config,
                           std::vector<std::string>& warnings) {
  const rendezvous_parameters& rendezvous = config.rendezvous;
  const bool is_static = !config.standalone && rendezvous.backend == "static";
  const bool uses_master = is_static && rendezvous.endpoint.empty();
  const auto warn = [&](const char* name, const char* user) {
    const auto value = options.find(name);
    if (value) warnings.push_back(fmt::format("{} has no effect: {} uses it", value->source, user));
  };
  // Every node that is alone has rank 0, and many scripts always give it.
  if (!is_static && rendezvous.node_rank != 0) warn("--node-rank", "only --rdzv-backend static");
  for (const char* name : {"--master-addr", "--master-port"}) {
    if (!uses_master) warn(name, "only --rdzv-backend static without --rdzv-endpoint");
  }
  const bool is_wired = options.find("--wire").has_value();
  if (config.standalone || (is_static && !is_wired)) {
    warn("--local-addr", "only a rendezvous such as c10d");
  }
  if (config.standalone) warn("--scale-up-delay", "only a job of several nodes");
  if (config.standalone) warn("--exclude-for", "only a job of several nodes");
}

/// Warns if other jobs would take this job for theirs.
inline void warn_of_missing_run_id(const given_options& options, const launch_config& config,
                                   std::vector<std::string>& warnings) {
  const rendezvous_parameters& rendezvous = config.rendezvous;
  const bool meets = !config.standalone && rendezvous.max_nodes > 1;
  if (!meets || rendezvous.backend == "static" || options.find("--rdzv-id")) return;
  warnings.push_back(
      fmt::format("no --rdzv-id is given: any other job without one would meet "
                  "this one at the same endpoint, under the name '{}'",
                  rendezvous.run_id));
}

ELASTIC_DECL void settle_nodes(const given_options& options, const command_line::facts& facts,
                               launch_config& config, std::vector<std::string>& warnings) {
  check_endpoint(options, config.rendezvous);
  settle_standalone(options, config);
  check_static(config);
  // A job file may say how nodes meet, and names the job: each of its roles is checked with it.
  if (options.find("--job")) return;
  warn_of_unused(options, config, warnings);
  if (!facts.has_run_id) warn_of_missing_run_id(options, config, warnings);
}

inline void check_affinity(const given_options& options, const launch_config& config) {
  const auto binding = options.find("--numa-binding");
  const auto affinity = options.find("--cpu-affinity");
  if (!affinity) return;
  if (binding) {
    refuse_options(fmt::format("{} and {} exclude each other", binding->source, affinity->source));
  }
  const int count = config.workers.nproc_per_node;
  if (config.workers.cpu_affinity.size() != static_cast<std::size_t>(count)) {
    refuse_value(*affinity, fmt::format("a list for each worker is needed, {} in all", count));
  }
}

inline void check_signals(const given_options& options, const signal_plan& signals) {
  try {
    validate(signals);
  } catch (const error& refusal) {
    auto value = options.find("--preempt-signal");
    if (!value) value = options.find("--forward-signals");
    if (!value) value = options.find("--signals-to-handle");
    refuse_options(fmt::format("{}: {}", value->source, refusal.what()));
  }
}

inline void check_node_check(const given_options& options, const worker_spec& workers) {
  const auto timeout = options.find("--node-check-timeout");
  if (!timeout || !workers.node_check.command.empty()) return;
  refuse_options(fmt::format("{} is allowed only with --node-check", timeout->source));
}

inline void check_wrap(const given_options& options, const worker_spec& workers) {
  const auto ranks = options.find("--wrap-ranks");
  if (!ranks || !workers.wrap.command.empty()) return;
  refuse_options(fmt::format("{} is allowed only with --wrap", ranks->source));
}

inline void check_replacement(const given_options& options, const worker_spec& workers) {
  const auto timeout = options.find("--rejoin-timeout");
  if (workers.on_failure == failure_policy::restart) {
    if (timeout) {
      refuse_options(fmt::format("{} is allowed only with --on-failure replace", timeout->source));
    }
    return;
  }
  if (!timeout || workers.rejoin_timeout > duration::zero()) return;
  refuse_value(*timeout, "more than 0 is allowed");
}

inline void check_standby(const given_options& options, const option_target& target) {
  if (target.config.keeps_standbys) {
    if (!target.config.job.workers.wrap.command.empty()) {
      refuse_options("--warm-standby and --wrap exclude each other: a standby is started before "
                     "the command");
    }
    if (!target.no_python || target.run_path) return;
    refuse_options("--warm-standby and --no-python exclude each other: only Python has standbys");
  }
  for (const char* name : {"--preload", "--standbys", "--standby-delay"}) {
    const auto value = options.find(name);
    if (value) refuse_options(fmt::format("{} is allowed only with --warm-standby", value->source));
  }
}

inline void check_debugger(const given_options& options, const option_target& target) {
  const std::optional<int> rank = target.config.debugger.rank;
  const auto address = options.find("--debug-address");
  if (!rank) {
    if (address) {
      refuse_options(fmt::format("{} is allowed only with --debug-rank", address->source));
    }
    return;
  }
  const option_value option = *options.find("--debug-rank");
  const auto refuse = [&](const char* other, const char* why) {
    refuse_options(fmt::format("{} and {} exclude each other: {}", option.source, other, why));
  };
  const worker_spec& workers = target.config.job.workers;
  if (target.no_python && !target.run_path) refuse("--no-python", "debugpy debugs only Python");
  if (target.config.keeps_standbys) {
    refuse("--warm-standby", "a standby is started before its rank is known");
  }
  if (workers.wrap.is_for(*rank)) {
    refuse("--wrap", "the command would be debugged; name other ranks with --wrap-ranks");
  }
  const bool is_alone = target.config.job.rendezvous.max_nodes == 1;
  if (!is_alone || *rank < workers.nproc_per_node) return;
  refuse_value(option, fmt::format("there is no such rank: the last one of the job is {}",
                                   workers.nproc_per_node - 1));
}

inline void check_wire(const given_options& options, const option_target& target) {
  const std::set<wire_up>& kinds = target.config.wire.kinds;
  const worker_spec& workers = target.config.job.workers;
  const auto refuse = [&](const char* other, const char* why) {
    const option_value wire = *options.find("--wire");
    refuse_options(fmt::format("{} {} and {} exclude each other: {}", wire.source, wire.text, other,
                               why));
  };
  if (kinds.contains(wire_up::jax) && workers.virtual_local_rank) {
    refuse("--virtual-local-rank", "JAX takes the GPU of its local rank by itself");
  }
  if (!kinds.contains(wire_up::mpi)) return;
  if (workers.on_failure == failure_policy::replace) {
    refuse("--on-failure replace", "processes of an MPI program cannot form another world");
  }
  if (target.config.keeps_standbys) {
    refuse("--warm-standby", "a standby cannot be given the socket of PMI");
  }
}

/// The nodes of a job tell each other what their vaults have, in a store of each round.
inline void check_vault(const given_options& options, const option_target& target) {
  const rendezvous_parameters& rendezvous = target.config.job.rendezvous;
  if (!target.config.vault.is_set() || rendezvous.max_nodes == 1) return;
  const auto refuse = [&](const std::string& other, const char* why) {
    const option_value limit = *options.find("--vault-limit");
    refuse_options(fmt::format("{} and {} exclude each other in jobs of several nodes: {}",
                               limit.source, other, why));
  };
  if (rendezvous.backend == "static") {
    refuse("--rdzv-backend static", "its nodes have one store for all rounds; use c10d");
  }
  const auto dialect = rendezvous.conf.find("dialect");
  if (dialect == rendezvous.conf.end() || dialect->second == "auto") return;
  refuse("--rdzv-conf dialect=" + dialect->second, "a node of torchrun has no vault");
}

inline void check_stall_policy(const program_config& config) {
  const bool replaces = config.job.workers.on_failure == failure_policy::replace;
  if (config.diagnosis.on_stall != job_diagnosis::policy::replace || replaces) return;
  refuse_options("--on-stall replace needs --on-failure replace");
}

inline void check_diagnosis(const given_options& options, const option_target& target) {
  if (target.config.diagnosis.opens_workers) return check_stall_policy(target.config);
  for (const char* name : {"--stall-after", "--on-stall"}) {
    const auto value = options.find(name);
    if (value) refuse_options(fmt::format("{} is allowed only with --diagnose", value->source));
  }
}

ELASTIC_DECL void check_workers(const given_options& options, const launch_config& config) {
  check_affinity(options, config);
  validate(config.workers.restart);
  check_signals(options, config.signals);
  check_node_check(options, config.workers);
  check_wrap(options, config.workers);
  check_replacement(options, config.workers);
}

inline void check_ranks(const given_options& options, const worker_spec& workers) {
  const int count = workers.nproc_per_node;
  for (const int rank : workers.logs.local_ranks_filter) {
    if (rank < count) continue;
    refuse_value(*options.find("--local-ranks-filter"),
                 fmt::format("there is no local rank {}: the last one of this node is {}", rank,
                             count - 1));
  }
}

inline void check_status(const given_options& options, const program_options& program) {
  const auto token = options.find("--status-token-file");
  if (!token || !program.status.empty()) return;
  refuse_options(fmt::format("{} is allowed only with --status", token->source));
}

ELASTIC_DECL void check_output(const given_options& options, const program_config& config,
                               std::vector<std::string>& warnings) {
  const worker_spec& workers = config.job.workers;
  check_ranks(options, workers);
  check_status(options, config.program);
  for (const char* name : {"--duplicate-stdout-filters", "--duplicate-stderr-filters"}) {
    const auto filters = options.find(name);
    if (!filters || workers.log_dir != "/dev/null") continue;
    refuse_value(*filters, "the lines go to a file, but --log-dir is /dev/null");
  }
  const auto files = options.find("--log-max-files");
  if (files && !options.find("--log-max-size")) {
    warnings.push_back(fmt::format("{} has no effect without --log-max-size", files->source));
  }
  const bool is_json = workers.logs.format == log_options::line_format::json;
  for (const char* name : {"--log-line-prefix-template", "--merge-output"}) {
    const auto text = options.find(name);
    if (!text || !is_json) continue;
    warnings.push_back(fmt::format("{} has no effect with --log-format json", text->source));
  }
  const auto prefix = options.find("--log-line-prefix-template");
  if (prefix && !is_json && config.merges_output) {
    warnings.push_back(fmt::format("{} has no effect with --merge-output", prefix->source));
  }
}

/// Refuses a script beside a job file, which names the script of each role.
inline void check_job_file(const given_options& options, const std::vector<std::string>& operands,
                           const program_config& config) {
  const char* const companions[] = {"--set", "--print-job"};
  for (const char* const name : companions) {
    const auto value = options.find(name);
    if (value && config.job_file.empty()) {
      refuse_options(fmt::format("{} is allowed only with --job", value->source));
    }
  }
  if (config.job_file.empty() || operands.empty()) return;
  refuse_options(fmt::format("{} and {} exclude each other: the file has the command of each role",
                             in_quotes(operands[0]), options.find("--job")->source));
}

ELASTIC_DECL void settle_program(const given_options& options,
                                 const std::vector<std::string>& operands,
                                 const command_line::facts& facts, option_target& target,
                                 std::vector<std::string>& warnings) {
  program_config& config = target.config;
  check_job_file(options, operands, config);
  if (!config.job_file.empty()) return;
  check_standby(options, target);
  check_debugger(options, target);
  check_wire(options, target);
  check_vault(options, target);
  check_diagnosis(options, target);
  const bool is_direct = target.no_python && !target.run_path;
  if (target.module && (is_direct || target.run_path)) {
    refuse_options(
        fmt::format("{} and {} exclude each other", options.find("--module")->source,
                    options.find(target.run_path ? "--run-path" : "--no-python")->source));
  }
  if (operands.empty() || operands[0].empty()) {
    refuse_options("no script given; the use is: [options] script [arguments], see --help");
  }
  worker_spec& workers = config.job.workers;
  config.name = operands[0];
  if (is_direct) {
    workers.program = operands[0];
    workers.arguments.assign(operands.begin() + 1, operands.end());
    return;
  }
  const auto python = find_variable(workers.environment, "PYTHON_EXEC");
  if (python && !python->empty()) {
    workers.program = *python;
  } else if (!facts.python_warning.empty()) {
    warnings.push_back(facts.python_warning);
  }
  workers.arguments.emplace_back("-u");
  if (target.module) workers.arguments.emplace_back("-m");
  if (!target.module) config.script = operands[0];
  workers.arguments.insert(workers.arguments.end(), operands.begin(), operands.end());
}

}  // namespace elastic::detail
