// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/detail/option_row.hpp>

#include <elastic/agent/log_options.hpp>
#include <elastic/agent/shell_command.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/assert.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/cli/detail/option_documents.hpp>
#include <elastic/cli/detail/option_types.hpp>
#include <elastic/cli/detail/single_option_types.hpp>
#include <elastic/process/log_file.hpp>
#include <elastic/python/warm_standby.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::string option_row::long_name() const {
  const std::string_view text = names;
  return std::string(text.substr(text.find("--")));
}

ELASTIC_DECL char option_row::short_name() const { return names[1] == '-' ? '\0' : names[1]; }

ELASTIC_DECL std::string option_row::pet_variable() const {
  std::string name = "PET_";
  for (const char letter : long_name().substr(2)) {
    name += letter == '-' ? '_' : static_cast<char>(letter - 'a' + 'A');
  }
  return name;
}

ELASTIC_DECL std::string option_row::default_value() const {
  std::string text = default_text;
  if (text.empty() && type.show) text = type.show(option_target());
  if (*variable == '\0') return text;
  return fmt::format("{}, else {}", variable, text);
}

inline constexpr char heading_workers[] = "What to run on this node";
inline constexpr char heading_nodes[] = "Which nodes, and how they meet";
inline constexpr char heading_failure[] = "When workers fail or the job is stopped";
inline constexpr char heading_output[] = "Output, logs and events";
inline constexpr char heading_ignored[] = "Accepted because torchrun has it; no effect here";
inline constexpr char heading_other[] = "Other";

template <class Member>
auto in_restart(Member member) {
  return in_job(&launch_config::workers, &worker_spec::restart, member);
}

template <class... Members>
auto in_logs(Members... members) {
  return in_job(&launch_config::workers, &worker_spec::logs, members...);
}

/// A type for whose values shells suggest these words. Other values are valid, too.
inline option_type with_words(option_type type, std::vector<std::string> words) {
  type.choices = std::move(words);
  return type;
}

inline std::vector<option_row> make_option_rows() {
  return {
      {.names = "--nproc-per-node",
       .value = "N",
       .heading = heading_workers,
       .scope = option_scope::world,
       .help = "Number of workers on this node: a number, cpu (one for each processor), gpu (one "
               "for each GPU) or auto (gpu if there is one, else cpu). GPUs are counted by their "
               "device files and CUDA_VISIBLE_DEVICES.",
       .type = with_words(worker_count_type(), {"auto", "cpu", "gpu"})},
      {.names = "--role",
       .value = "NAME",
       .heading = heading_workers,
       .instead = "each role has the name of its table in the file",
       .help = "Name of the workers' role, used in ROLE_NAME, line prefixes, events and metrics.",
       .type = text_type(in_job(&launch_config::workers, &worker_spec::role))},
      {.names = "-m,--module",
       .value = nullptr,
       .heading = heading_workers,
       .instead = "the file has the command of each role",
       .help = "Run the script as a module, like python -m.",
       .type = flag_type([](option_target& target) -> bool& { return target.module; })},
      {.names = "--no-python",
       .value = nullptr,
       .heading = heading_workers,
       .instead = "the file has the command of each role",
       .help = "Run the script directly, without Python. It is looked up in PATH.",
       .type = flag_type([](option_target& target) -> bool& { return target.no_python; })},
      {.names = "--run-path",
       .value = nullptr,
       .heading = heading_workers,
       .instead = "the file has the command of each role",
       .help = "Run the script with Python even if --no-python is given. Same as the default: "
               "every worker is a separate Python process (python -u script); none runs inside "
               "elasticrun.",
       .type = flag_type([](option_target& target) -> bool& { return target.run_path; })},
      {.names = "--env",
       .value = "NAME=VALUE",
       .heading = heading_workers,
       .scope = option_scope::role,
       .help = "Set a variable in the environment of the workers. ${local_rank}, ${rank}, "
               "${local_world_size}, ${world_size}, ${node_rank}, ${master_addr}, ${master_port} "
               "and ${role_name} in the value are replaced for each worker. May be given several "
               "times.",
       .type = variable_type(),
       .default_text = "none",
       .is_own = true,
       .repeats = true},
      {.names = "--wire",
       .value = "NAMES",
       .heading = heading_workers,
       .scope = option_scope::world,
       .help = "Also give the workers what other libraries need to find each other, separated by "
               "commas: jax (jax.distributed.initialize() without arguments), mpi (PMI-1, for "
               "MPICH and its relatives) or tf (TF_CONFIG). Needed on all nodes; jax and mpi "
               "exclude each other.",
       .type = wire_type(),
       .default_text = "none",
       .is_own = true},
      {.names = "--wrap",
       .value = "COMMAND",
       .heading = heading_workers,
       .scope = option_scope::role,
       .help = "Run each worker under this command of the shell, such as 'nsys profile -o "
               "r${rank}'; the program and its arguments are added to it. Fields as for --env.",
       .type = wrap_type(),
       .default_text = "none",
       .is_own = true},
      {.names = "--wrap-ranks",
       .value = "RANKS",
       .heading = heading_workers,
       .scope = option_scope::role,
       .help = "Only these ranks run under the command of --wrap, such as 0,8-15.",
       .type = wrap_ranks_type(),
       .default_text = "all",
       .is_own = true},
      {.names = "--debug-rank",
       .value = "RANK",
       .heading = heading_workers,
       .help = "Start the worker of this rank under debugpy, where it waits for a debugger such as "
               "VS Code. No worker counts as hung in this job. Needed on all nodes.",
       .type = debug_rank_type(),
       .default_text = "none",
       .is_own = true,
       .repeats = true},
      {.names = "--debug-address",
       .value = "ADDRESS[:PORT]",
       .heading = heading_workers,
       .help = "Where debugpy listens: an address of the node, its interface (eth0) or its network "
               "(10.1.0.0/16). Whoever reaches it can run code as this user. Default of the port: "
               "a free one.",
       .type = debug_address_type(),
       .default_text = "127.0.0.1",
       .is_own = true},
      {.names = "--virtual-local-rank",
       .value = nullptr,
       .heading = heading_workers,
       .scope = option_scope::role,
       .help = "Show each worker only its own GPU: LOCAL_RANK is 0 and CUDA_VISIBLE_DEVICES has "
               "one entry, as has HIP_VISIBLE_DEVICES if it is set.",
       .type = flag_type(in_job(&launch_config::workers, &worker_spec::virtual_local_rank))},
      {.names = "--numa-binding",
       .value = "KIND",
       .heading = heading_workers,
       .scope = option_scope::role,
       .help = "Bind each worker to processors: node (the NUMA node of its GPU, or of its share "
               "of the nodes), socket, exclusive (cores of that node that no other worker uses), "
               "core-complex (cores that share a cache).",
       .type = choice_type<launch_config::processor_binding>(
           {{"node", launch_config::processor_binding::node},
            {"socket", launch_config::processor_binding::socket},
            {"exclusive", launch_config::processor_binding::exclusive},
            {"core-complex", launch_config::processor_binding::core_complex}},
           in_job(&launch_config::numa_binding)),
       .default_text = "all processors"},
      {.names = "--cpu-affinity",
       .value = "LISTS",
       .heading = heading_workers,
       .scope = option_scope::role,
       .help = "Bind workers to these processors by local rank: lists separated by colons, such "
               "as 0-3:4-7.",
       .type = affinity_type(),
       .default_text = "all processors",
       .is_own = true},
      {.names = "--job",
       .value = "FILE",
       .heading = heading_workers,
       .help = "In place of a script: run the job of several roles that this TOML file describes; "
               "-: read standard input. The other options then apply to every role that does not "
               "set them.",
       .type = job_file_type(),
       .default_text = "none",
       .is_own = true},
      {.names = "--set",
       .value = "ROLE.KEY=VALUE",
       .heading = heading_workers,
       .help = "With --job: replace a value of the file; KEY=VALUE replaces one of the job. "
               "May be given several times.",
       .type = job_setting_type(),
       .default_text = "none",
       .is_own = true,
       .repeats = true},
      {.names = "--print-job",
       .value = nullptr,
       .heading = heading_workers,
       .help = "With --job: print what was understood, as a job file, and run nothing.",
       .type = flag_type(in_config(&program_config::prints_job)),
       .is_own = true},
      {.names = "--standalone",
       .value = nullptr,
       .heading = heading_nodes,
       .scope = option_scope::job,
       .help = "Run a job of one node, with a fresh run id and without an address or port to "
               "agree on. Any number of such jobs can run on one machine. --rdzv-backend, "
               "--rdzv-endpoint and --rdzv-id are ignored. This is also the default for a job of "
               "one node that names no rendezvous.",
       .type = flag_type(in_job(&launch_config::standalone))},
      {.names = "--nnodes",
       .value = "N|MIN:MAX|N,N,...",
       .heading = heading_nodes,
       .scope = option_scope::world,
       .help = "Number of nodes, or the range within which the job may run. With a range, the "
               "first round waits 30 s for further nodes once it has MIN (--rdzv-conf "
               "last_call_timeout); later rounds begin as soon as all remaining and waiting nodes "
               "are there. With a list such as 2,4,8, the job uses only these numbers (c10d, "
               "etcd-v3 and file); surplus nodes stand by.",
       .type = nodes_type()},
      {.names = "--scale-up-delay",
       .value = "SECONDS",
       .heading = heading_nodes,
       .scope = option_scope::job,
       .help = "How long a node that joins a running job, and could make it larger, stands by "
               "before the workers are stopped for it, so that further nodes can join at the same "
               "time. 0: no delay. For c10d, etcd-v3 and file; the value of the node that serves "
               "the rendezvous applies.",
       .type =
           seconds_type(in_job(&launch_config::rendezvous, &rendezvous_parameters::scale_up_delay)),
       .is_own = true},
      {.names = "--rdzv-backend",
       .value = "NAME",
       .heading = heading_nodes,
       .scope = option_scope::job,
       .help = "How nodes meet: static (ranks given by --node-rank, the node of rank 0 at "
               "--master-addr), c10d (at a server that the node at --rdzv-endpoint hosts; nodes "
               "may join and leave, and wait for a lost server for 60 s or for --rdzv-conf "
               "host_grace), etcd (in an etcd, through its v3 API, or v2 if it has no other, or "
               "as torchrun's etcd if torchrun nodes meet there; etcd-v3 and etcd-v2 select one) "
               "or file (in a directory that all nodes share).",
       .type = with_words(
           text_type(in_job(&launch_config::rendezvous, &rendezvous_parameters::backend)),
           {"c10d", "etcd", "etcd-v2", "etcd-v3", "file", "static"})},
      {.names = "--rdzv-endpoint",
       .value = "HOST[:PORT]",
       .heading = heading_nodes,
       .scope = option_scope::job,
       .help = "Where nodes meet. For etcd: HOST[:PORT] of one or more members, separated by "
               "commas. For file: a directory. For c10d: one host, or several separated by "
               "commas; with several, the job continues as long as more than half of them are "
               "left.",
       .type = text_type(in_job(&launch_config::rendezvous, &rendezvous_parameters::endpoint)),
       .default_text = "the backend's (static: --master-addr and --master-port; c10d: "
                       "localhost:29400; etcd: localhost:2379)"},
      {.names = "--rdzv-id",
       .value = "ID",
       .heading = heading_nodes,
       .instead = "the job's name is its run id: set name in the file, or use --set name=NAME",
       .help = "Name of the job: nodes with the same id meet. Workers see it as "
               "TORCHELASTIC_RUN_ID.",
       .type = text_type(in_job(&launch_config::rendezvous, &rendezvous_parameters::run_id))},
      {.names = "--rdzv-conf",
       .value = "KEY=VALUE,...",
       .heading = heading_nodes,
       .scope = option_scope::job,
       .help = "Further settings of the rendezvous backend.",
       .type = settings_type()},
      {.names = "--node-rank",
       .value = "RANK",
       .heading = heading_nodes,
       .instead = "with a job file, the rendezvous assigns node ranks: use c10d, etcd or file",
       .help = "Rank of this node, for the backend static only.",
       .type =
           number_type<int>(0, limits::nodes - 1,
                            in_job(&launch_config::rendezvous, &rendezvous_parameters::node_rank))},
      {.names = "--master-addr",
       .value = "HOST",
       .heading = heading_nodes,
       .instead = "with a job file, nodes meet by c10d, etcd or file: use --rdzv-endpoint",
       .help = "Address at which the node of rank 0 serves, for the backend static only.",
       .type = host_type(in_job(&launch_config::master_addr))},
      {.names = "--master-port",
       .value = "PORT",
       .heading = heading_nodes,
       .instead = "with a job file, nodes meet by c10d, etcd or file: use --rdzv-endpoint",
       .help = "Port at which the node of rank 0 serves, for the backend static only.",
       .type = number_type<std::uint16_t>(0, 65535, in_job(&launch_config::master_port))},
      {.names = "--local-addr",
       .value = "ADDRESS",
       .heading = heading_nodes,
       .scope = option_scope::job,
       .help = "Address of this node that workers and other nodes use, for backends such as c10d: "
               "an address, an interface such as ib0, or a network such as 10.1.0.0/16 in which "
               "this host has one address.",
       .type = local_address_type(
           in_job(&launch_config::rendezvous, &rendezvous_parameters::local_addr)),
       .default_text = "detected"},
      {.names = "--max-restarts",
       .value = "N",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "How often the workers may be restarted after a failure. All workers restart "
               "together, unless --on-failure says otherwise.",
       .type = number_type<int>(0, std::numeric_limits<int>::max(),
                                in_job(&launch_config::workers, &worker_spec::max_restarts))},
      {.names = "--restart-delay",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "How long to wait before a restart. The wait doubles before each further restart, "
               "up to --restart-delay-max. 0: no wait.",
       .type = seconds_type(in_restart(&worker_spec::restart_terms::delay)),
       .is_own = true},
      {.names = "--restart-delay-max",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "The longest wait before a restart.",
       .type = seconds_type(in_restart(&worker_spec::restart_terms::delay_max)),
       .is_own = true},
      {.names = "--restart-healthy-uptime",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "If the workers ran for at least this long, the wait after their failure is "
               "--restart-delay again.",
       .type = seconds_type(in_restart(&worker_spec::restart_terms::healthy_uptime)),
       .is_own = true},
      {.names = "--restart-window",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "Count only the failures of the last SECONDS against --max-restarts. 0: count all.",
       .type = seconds_type(in_restart(&worker_spec::restart_terms::window)),
       .is_own = true},
      {.names = "--restart-while-progress",
       .value = "N",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "Do not restart after N failures in a row without a new step, as reported over the "
               "control channel; the exit code is then 93. 0: ignore progress.",
       .type = number_type<int>(0, std::numeric_limits<int>::max(),
                                in_restart(&worker_spec::restart_terms::while_progress)),
       .is_own = true},
      {.names = "--restart-never-after",
       .value = "ENDS",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "Do not restart after these ends of a worker: exit codes and signals, such as "
               "93,SIGABRT.",
       .type = ends_type(in_restart(&worker_spec::restart_terms::never_after)),
       .default_text = "none",
       .is_own = true},
      {.names = "--restart-only-after",
       .value = "ENDS",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "Restart only after these ends of a worker: exit codes and signals.",
       .type = ends_type(in_restart(&worker_spec::restart_terms::only_after)),
       .default_text = "any",
       .is_own = true},
      {.names = "--warm-standby",
       .value = nullptr,
       .heading = heading_failure,
       .scope = option_scope::python,
       .help = "Keep Python interpreters that have already imported the modules of the workers, "
               "so that the script begins at once after a failure. It takes the memory of these "
               "interpreters.",
       .type = flag_type(in_config(&program_config::keeps_standbys)),
       .is_own = true},
      {.names = "--preload",
       .value = "MODULES|auto",
       .heading = heading_failure,
       .scope = option_scope::python,
       .help = "Modules that these interpreters import, such as torch,pandas. auto: the installed "
               "modules that the script imports first, and those parts of them that workers have "
               "imported later.",
       .type = modules_type(),
       .default_text = "auto",
       .is_own = true},
      {.names = "--standbys",
       .value = "K",
       .heading = heading_failure,
       .scope = option_scope::python,
       .help = "How many of these interpreters there are on each node while workers run, at most "
               "one for each worker. Each serves any worker of the node if it can.",
       .type = number_type<std::size_t>(1, std::numeric_limits<int>::max(),
                                        in_config(&program_config::standby, &warm_standby::count)),
       .default_text = "one for each worker; 1 with --on-failure replace",
       .is_own = true},
      {.names = "--standby-delay",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::python,
       .help = "How long after the start of the workers these interpreters are started, one by "
               "one, unless all workers report a step before.",
       .type = seconds_type(in_config(&program_config::standby, &warm_standby::delay)),
       .is_own = true},
      {.names = "--on-failure",
       .value = "restart|replace",
       .heading = heading_failure,
       .instead = "each role has its own policy: set on_failure in the file, or use --set "
                  "ROLE.on_failure=POLICY",
       .help = "What happens to the other workers if one fails, or a node joins or leaves: "
               "restart restarts all; with replace, those that can rejoin (elasticrun.survive) "
               "keep their processes.",
       .type = choice_type<failure_policy>(
           {{"restart", failure_policy::restart}, {"replace", failure_policy::replace}},
           in_job(&launch_config::workers, &worker_spec::on_failure)),
       .is_own = true},
      {.names = "--vault-limit",
       .value = "SIZE",
       .heading = heading_failure,
       .scope = option_scope::world,
       .help = "How much memory of this node keeps what the workers commit (elasticrun.vault), so "
               "that it survives them: a size such as 64G, or a percentage such as 40% of the "
               "memory that this process can have. All nodes need it, or none.",
       .type = vault_limit_type(),
       .default_text = "none",
       .is_own = true},
      {.names = "--rejoin-timeout",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::world,
       .help = "With --on-failure replace: how long a worker may take to leave its epoch. After "
               "that, all workers restart.",
       .type = seconds_type(in_job(&launch_config::workers, &worker_spec::rejoin_timeout)),
       .is_own = true},
      {.names = "--shutdown-timeout",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "How long workers may take to end after SIGTERM, or the signal that elasticrun "
               "got, before they are killed.",
       .type = seconds_type(in_job(&launch_config::workers, &worker_spec::shutdown_timeout)),
       .variable = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT"},
      {.names = "--linger",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "How long processes that a worker has left behind may take to end by themselves "
               "before they are killed, such as a logger that writes its last lines. 0: only "
               "helpers that unlink shared memory get time.",
       .type = bounded_seconds_type(limits::linger,
                                    in_job(&launch_config::workers, &worker_spec::linger),
                                    zero_seconds::allowed),
       .is_own = true},
      {.names = "--signal-scope",
       .value = "worker|group",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "Whom the signal that stops the workers reaches: worker, each worker alone, so that "
               "its data loaders work on while it saves (what it has started gets the signal "
               "after half of --shutdown-timeout); or group, at once all that it has started, "
               "too.",
       .type = choice_type<signal_scope>(
           {{"worker", signal_scope::process}, {"group", signal_scope::group}},
           in_job(&launch_config::workers, &worker_spec::signal_scope)),
       .is_own = true},
      {.names = "--exit-barrier-timeout",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::world,
       .help = "How long a node whose workers have succeeded waits for the workers of the other "
               "nodes before it leaves.",
       .type = seconds_type(in_job(&launch_config::workers, &worker_spec::exit_barrier_timeout)),
       .is_own = true},
      {.names = "--signals-to-handle",
       .value = "SIGNALS",
       .heading = heading_failure,
       .scope = option_scope::job,
       .help = "Signals that stop the job and are passed on to the workers, such as "
               "SIGTERM,SIGINT.",
       .type = with_words(signals_type(in_job(&launch_config::signals, &signal_plan::stop)),
                          {"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"}),
       .variable = "TORCHELASTIC_SIGNALS_TO_HANDLE"},
      {.names = "--forward-signals",
       .value = "SIGNALS",
       .heading = heading_failure,
       .scope = option_scope::job,
       .help = "Signals that are passed on to the workers while the job runs, such as "
               "SIGUSR1,SIGUSR2.",
       .type = with_words(signals_type(in_job(&launch_config::signals, &signal_plan::forward)),
                          {"SIGUSR1", "SIGUSR2"}),
       .default_text = "none",
       .is_own = true},
      {.names = "--preempt-grace",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "On SIGTERM, how long workers that use the control channel (ELASTIC_CONTROL) may "
               "take to save a checkpoint before they are told to end. 0: do not ask them.",
       .type = seconds_type(in_job(&launch_config::workers, &worker_spec::preempt_grace)),
       .is_own = true},
      {.names = "--preempt-signal",
       .value = "SIGNAL",
       .heading = heading_failure,
       .scope = option_scope::job,
       .help = "A signal that acts as SIGTERM, such as SIGUSR1, which schedulers can send in "
               "advance. Workers start with it ignored.",
       .type = with_words(signals_type(in_job(&launch_config::signals, &signal_plan::preempt)),
                          {"SIGUSR1", "SIGUSR2"}),
       .default_text = "none",
       .is_own = true},
      {.names = "--drain-file",
       .value = "PATH",
       .heading = heading_failure,
       .scope = option_scope::job,
       .help = "When this file appears or exists, this node leaves the job as on SIGTERM. Its "
               "text is the reason. Its directory must exist, on this host.",
       .type = file_path_type(in_config(&program_config::program, &program_options::drain_file)),
       .default_text = "none",
       .is_own = true},
      {.names = "--exclude-for",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::job,
       .help = "How long this node stays out of the job after it was called bad by a worker or "
               "its check, or was drained. An agent that is started again there waits; if there "
               "are too few nodes without it, it is readmitted. At most 30 days; 0: it is not "
               "excluded. For c10d, etcd-v3 and file.",
       .type =
           seconds_type(in_job(&launch_config::rendezvous, &rendezvous_parameters::exclude_for)),
       .is_own = true},
      {.names = "--node-name",
       .value = "NAME",
       .heading = heading_failure,
       .scope = option_scope::job,
       .help = "Name of this node, used in logs, lists of nodes, the journal and the status page.",
       .type = filled_text_type(
           "the name of this node is needed",
           in_job(&launch_config::rendezvous, &rendezvous_parameters::node_name)),
       .default_text = "the host's name",
       .is_own = true},
      {.names = "--node-check",
       .value = "COMMAND",
       .heading = heading_failure,
       .scope = option_scope::world,
       .help = "Run /bin/sh -c COMMAND before this node takes part in the job and before each "
               "restart. If it fails, the node leaves the job.",
       .type = command_type(
           in_job(&launch_config::workers, &worker_spec::node_check, &shell_command::command)),
       .default_text = "none",
       .is_own = true},
      {.names = "--node-check-timeout",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::world,
       .help = "How long the check may take. After that it is killed and counts as failed.",
       .type = bounded_seconds_type(
           limits::shell_command_timeout,
           in_job(&launch_config::workers, &worker_spec::node_check, &shell_command::timeout)),
       .is_own = true},
      {.names = "--heartbeat-timeout",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "Kill a worker as hung if it has sent a heartbeat over the control channel and "
               "sends no further one for this long. 0: never.",
       .type = seconds_type(in_job(&launch_config::workers, &worker_spec::liveness,
                                   &liveness_settings::heartbeat_timeout)),
       .is_own = true},
      {.names = "--first-heartbeat-timeout",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "The same for the time from a worker's start to its first heartbeat. 0: never.",
       .type = seconds_type(in_job(&launch_config::workers, &worker_spec::liveness,
                                   &liveness_settings::first_heartbeat_timeout)),
       .is_own = true},
      {.names = "--learn-timeouts",
       .value = "FACTOR",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "If no time-out is set for heartbeats or a section of work, use the longest time "
               "observed times this factor. 0: do not learn.",
       .type = factor_type(),
       .is_own = true},
      {.names = "--watch-workers",
       .value = nullptr,
       .heading = heading_failure,
       .help = "Check the workers every 5 s, by the steps that they report and in /proc, and "
               "report in the log and the journal which of them are slow, idle, blocked or "
               "stopped. It only reports them. --status includes it.",
       .type = flag_type([](option_target& target) -> bool& { return target.watch_workers; }),
       .is_own = true},
      {.names = "--end-after-error",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::world,
       .help = "Kill a worker as hung if it has reported an exception, does not end, and has done "
               "nothing at all for this long: no step, output or heartbeat, no computing, reading "
               "or writing. 0: never.",
       .type = seconds_type(in_config(&program_config::diagnosis, &job_diagnosis::end_after_error)),
       .is_own = true},
      {.names = "--hang-hook",
       .value = "COMMAND",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "Run /bin/sh -c COMMAND for each hung worker before any worker is killed because "
               "of it, to collect its stack. ELASTIC_HUNG_RANK, _LOCAL_RANK, _PID, _REASON, "
               "_VERDICT and _LOG_DIR are in its environment.",
       .type = command_type(
           in_job(&launch_config::workers, &worker_spec::hang_hook, &shell_command::command)),
       .default_text = "none",
       .is_own = true},
      {.names = "--hang-hook-timeout",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "How long these commands together may take before they are killed.",
       .type = bounded_seconds_type(
           limits::shell_command_timeout,
           in_job(&launch_config::workers, &worker_spec::hang_hook, &shell_command::timeout)),
       .is_own = true},
      {.names = "--diagnose",
       .value = nullptr,
       .heading = heading_failure,
       .scope = option_scope::role,
       .help = "When the job stalls, or before hung workers are killed, find out which rank the "
               "others wait for, and where it is, from PyTorch's flight recorder (2.13 or later) "
               "and the stacks of Python workers.",
       .type = flag_type(in_config(&program_config::diagnosis, &job_diagnosis::opens_workers)),
       .is_own = true},
      {.names = "--stall-after",
       .value = "SECONDS",
       .heading = heading_failure,
       .scope = option_scope::world,
       .help = "With --diagnose: how long the job must make no progress before it is diagnosed.",
       .type = stall_time_type(),
       .default_text = "30, or 5 times the longest step",
       .is_own = true},
      {.names = "--on-stall",
       .value = "POLICY",
       .heading = heading_failure,
       .scope = option_scope::world,
       .help = "What to do after a stall: warn; restart, which kills the rank that the others "
               "certainly wait for; or replace, the same with --on-failure replace.",
       .type = choice_type<job_diagnosis::policy>(
           {{"warn", job_diagnosis::policy::warn},
            {"restart", job_diagnosis::policy::restart},
            {"replace", job_diagnosis::policy::replace}},
           in_config(&program_config::diagnosis, &job_diagnosis::on_stall)),
       .is_own = true},
      {.names = "--guard",
       .value = "POLICY",
       .heading = heading_failure,
       .scope = option_scope::job,
       .help = "Whether each worker has a guard process, which kills everything that the worker "
               "leaves behind, daemons included, even if elasticrun is killed: required, "
               "best-effort (if guards are not possible, a warning says what is lost) or none.",
       .type = choice_type<guard_policy>({{"required", guard_policy::required},
                                          {"best-effort", guard_policy::best_effort},
                                          {"none", guard_policy::none}},
                                         in_job(&launch_config::guard)),
       .is_own = true},
      {.names = "--chaos",
       .value = "PLAN",
       .heading = heading_failure,
       .scope = option_scope::role,
       .instead = "its ranks are those of one role: set chaos in the table of that role, or use "
                  "--set ROLE.chaos=PLAN",
       .help = "Inject faults to test recovery, separated by commas: kill=rank:3@20s (20 s after "
               "the workers started), stop=rank:2@10s+5s (for 5 s), slow=rank:0@10s+1m (at a "
               "tenth of its speed), kill=node:1@2m (the agent, too), cut=node:1@30s+10s (the "
               "agent's connections, as if its cables were pulled), random=7@20s (seed 7, a fault "
               "about every 20 s). Give it on each node.",
       .type = chaos_type(),
       .default_text = "none",
       .is_own = true},
      {.names = "--log-dir",
       .value = "DIR",
       .heading = heading_output,
       .help = "Where the log files of the workers go, each run in its own directory. In the "
               "temporary folder, the files of a run that succeeds are removed. /dev/null: no "
               "files.",
       .type = text_type(in_job(&launch_config::workers, &worker_spec::log_dir)),
       .default_text = "the temporary folder"},
      {.names = "-r,--redirects",
       .value = "STREAMS",
       .heading = heading_output,
       .scope = option_scope::role,
       .help = "Write streams to files instead of the console: 0 (none), 1 (stdout), 2 (stderr), "
               "3 (both), or by local rank, such as 0:3,1:0.",
       .type = with_words(streams_type(in_job(&launch_config::workers, &worker_spec::redirects)),
                          {"0", "1", "2", "3"})},
      {.names = "-t,--tee",
       .value = "STREAMS",
       .heading = heading_output,
       .scope = option_scope::role,
       .help = "Write streams to files and, with a prefix before each line, to the console. Same "
               "values as --redirects.",
       .type = with_words(streams_type(in_job(&launch_config::workers, &worker_spec::tee)),
                          {"0", "1", "2", "3"})},
      {.names = "--log-line-prefix-template",
       .value = "TEXT",
       .heading = heading_output,
       .scope = option_scope::role,
       .help = "The prefix of teed lines, with ${role_name}, ${rank}, ${local_rank}, ${pid}, "
               "${hostname} and ${time}.",
       .type = line_prefix_type(),
       .default_text = "[${role_name}${local_rank}]:",
       .variable = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"},
      {.names = "--log-format",
       .value = "FORMAT",
       .heading = heading_output,
       .scope = option_scope::role,
       .help = "How output is shown: text or json. json shows each line, teed or not, as an "
               "object with time, host, role, rank, local_rank, attempt, stream and text. Log "
               "files are not changed.",
       .type = choice_type<log_options::line_format>(
           {{"text", log_options::line_format::text}, {"json", log_options::line_format::json}},
           in_logs(&log_options::format)),
       .is_own = true},
      {.names = "--merge-output",
       .value = nullptr,
       .heading = heading_output,
       .scope = option_scope::role,
       .help = "Show a line that several workers of this node write within 0.3 s once, as "
               "[default0-7,9]:text. Log files are not changed.",
       .type = flag_type(in_config(&program_config::merges_output)),
       .is_own = true},
      {.names = "--local-ranks-filter",
       .value = "RANKS",
       .heading = heading_output,
       .scope = option_scope::role,
       .help = "Show only the output of these local ranks, such as 0,1. Log files are not "
               "filtered.",
       .type = ranks_type(),
       .default_text = "all"},
      {.names = "--duplicate-stdout-filters",
       .value = "TEXTS",
       .heading = heading_output,
       .scope = option_scope::world,
       .help = "Also write each line of any worker's stdout that contains one of these texts, "
               "such as loss,error, to filtered_stdout.log in the attempt's log directory, with "
               "its prefix. Write a comma in a text twice.",
       .type = texts_type(in_logs(&log_options::duplicate_stdout_filters)),
       .default_text = "none"},
      {.names = "--duplicate-stderr-filters",
       .value = "TEXTS",
       .heading = heading_output,
       .scope = option_scope::world,
       .help = "The same for stderr and filtered_stderr.log.",
       .type = texts_type(in_logs(&log_options::duplicate_stderr_filters)),
       .default_text = "none"},
      {.names = "--log-max-size",
       .value = "SIZE",
       .heading = heading_output,
       .scope = option_scope::role,
       .help = "Rotate a log file at this size, such as 500k, 100M or 2G: stdout.log.1 is the "
               "previous file. Redirected output then passes through elasticrun.",
       .type = log_size_type(),
       .default_text = "no limit",
       .is_own = true},
      {.names = "--log-max-files",
       .value = "N",
       .heading = heading_output,
       .scope = option_scope::role,
       .help = "How many files of a log to keep, including the current one.",
       .type = number_type<int>(1, limits::log_files,
                                in_logs(&log_options::rotation, &log_file::rotation::max_files)),
       .is_own = true},
      {.names = "--journal",
       .value = "FILE",
       .heading = heading_output,
       .help = "Append what elasticrun decides and why to this file, as JSON lines. It is rotated "
               "at 16 MiB, and 4 files are kept. /dev/null: no journal.",
       .type = file_path_type(in_job(&launch_config::workers, &worker_spec::journal)),
       .default_text = "journal.jsonl in the run's log directory",
       .is_own = true},
      {.names = "--trace",
       .value = "FILE",
       .heading = heading_output,
       .scope = option_scope::job,
       .help = "Write what this node's agent and workers did to this file, as a Chrome trace for "
               "Perfetto. It is readable at any time, even if elasticrun was killed.",
       .type = file_path_type(in_config(&program_config::program, &program_options::trace)),
       .default_text = "none",
       .is_own = true},
      {.names = "--logs-specs",
       .value = "NAME",
       .heading = heading_output,
       .scope = option_scope::role,
       .help = "Name of the component that decides where output goes. default follows the options "
               "above; programs that embed the library can add others.",
       .type = text_type(in_job(&launch_config::logs_specs))},
      {.names = "--no-progress",
       .value = nullptr,
       .heading = heading_output,
       .help = "Do not show the workers' progress in the last row of the terminal. Otherwise it "
               "is shown once a worker reports progress (control channel).",
       .type = flag_type([](option_target& target) -> bool& { return target.no_progress; }),
       .is_own = true},
      {.names = "--status",
       .value = "ADDRESS",
       .heading = heading_output,
       .scope = option_scope::job,
       .help = "Serve the status of the job over HTTP (a page, JSON, metrics and probes), at "
               "[ADDRESS:]PORT (without ADDRESS for this host only, otherwise with a token) or at "
               "a Unix socket, unix:PATH, which also takes commands. 'elasticrun status ADDRESS' "
               "shows it in a terminal.",
       .type = status_type(),
       .default_text = "none",
       .is_own = true},
      {.names = "--status-token-file",
       .value = "FILE",
       .heading = heading_output,
       .scope = option_scope::job,
       .help = "File with the token that clients of --status on other hosts need, readable only "
               "by this user. Without it, a token is generated and printed if --status is open to "
               "other hosts.",
       .type = file_path_type(
           in_config(&program_config::program, &program_options::status_token_file)),
       .default_text = "none",
       .is_own = true},
      {.names = "--event-log-handler",
       .value = "NAME",
       .heading = heading_output,
       .scope = option_scope::job,
       .help = "Where events go: null (nowhere) or console (JSON lines on stderr).",
       .type = text_type(in_job(&launch_config::event_log_handler))},
      {.names = "--monitor-interval",
       .value = "SECONDS",
       .heading = heading_ignored,
       .scope = option_scope::world,
       .help = "elasticrun does not poll its workers: it is told of an exit when it happens.",
       .type = interval_type()},
      {.names = "--start-method",
       .value = "METHOD",
       .heading = heading_ignored,
       .instead = "elasticrun starts each worker as a process of its own",
       .help = "How torchrun starts functions: spawn, fork or forkserver. A script always runs in "
               "a new process.",
       .type = ignored_choice_type({"spawn", "fork", "forkserver"})},
      {.names = "-h,--help",
       .value = nullptr,
       .heading = heading_other,
       .help = "Show this help and exit.",
       .type = option_type(),
       .shows = true},
      {.names = "--version",
       .value = nullptr,
       .heading = heading_other,
       .help = "Show the version and the I/O in use, and exit.",
       .type = option_type(),
       .shows = true},
      {.names = "--print-completion",
       .value = "SHELL",
       .heading = heading_other,
       .help = "Print the completion script for a shell (bash, zsh, fish or tcsh), and exit.",
       .type = ignored_choice_type(completion_shells()),
       .shows = true},
      {.names = "--print-man-page",
       .value = nullptr,
       .heading = heading_other,
       .help = "Print the manual page as roff, and exit.",
       .type = option_type(),
       .is_own = true,
       .shows = true},
  };
}

ELASTIC_DECL const std::vector<option_row>& option_rows() {
  static const std::vector<option_row> rows = make_option_rows();
  return rows;
}

ELASTIC_DECL const option_row& option_named(std::string_view long_name) {
  const std::vector<option_row>& rows = option_rows();
  const auto row = std::find_if(rows.begin(), rows.end(), [&](const option_row& candidate) {
    return candidate.long_name() == long_name;
  });
  ELASTIC_ASSERT(row != rows.end());
  return *row;
}

}  // namespace elastic::detail
