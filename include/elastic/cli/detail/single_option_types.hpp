// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The types that one option alone has.

#include <elastic/base/config.hpp>
#include <elastic/cli/detail/option_type.hpp>
#include <elastic/cli/detail/option_types.hpp>

namespace elastic::detail {

/// --nproc-per-node: a number, or what the machine has.
ELASTIC_DECL option_type worker_count_type();

/// --chaos: "kill=rank:3@20s,stop=rank:2@10s+5s".
ELASTIC_DECL option_type chaos_type();

/// --job: a path, or "-".
ELASTIC_DECL option_type job_file_type();

/// --set: "ROLE.KEY=VALUE", which the reader of the file checks.
ELASTIC_DECL option_type job_setting_type();

/// --status: "[ADDRESS:]PORT" or "unix:PATH".
ELASTIC_DECL option_type status_type();

/// --env: "NAME=VALUE".
ELASTIC_DECL option_type variable_type();

/// --wire: "jax,tf".
ELASTIC_DECL option_type wire_type();

/// --vault-limit: "64G", "25%".
ELASTIC_DECL option_type vault_limit_type();

/// --wrap: a command for the shell, with fields.
ELASTIC_DECL option_type wrap_type();

/// --wrap-ranks: "0,8-15".
ELASTIC_DECL option_type wrap_ranks_type();

/// --debug-rank: one rank of the job.
ELASTIC_DECL option_type debug_rank_type();

/// --debug-address: "eth0:5678".
ELASTIC_DECL option_type debug_address_type();

/// --cpu-affinity: "0-3:4-7", one list for each worker.
ELASTIC_DECL option_type affinity_type();

/// --nnodes: "N" or "MIN:MAX".
ELASTIC_DECL option_type nodes_type();

/// --rdzv-conf: "key=value,key=value".
ELASTIC_DECL option_type settings_type();

/// A host, which may be an IPv6 address in brackets.
ELASTIC_DECL option_type host_type(option_field<std::string> field);

/// --local-addr: the same, an interface, a network, or nothing.
ELASTIC_DECL option_type local_address_type(option_field<std::string> field);

/// --learn-timeouts: 0, or a factor from 1 on.
ELASTIC_DECL option_type factor_type();

/// --hang-hook, --node-check: a command for the shell.
ELASTIC_DECL option_type command_type(option_field<std::string> field);

/// --drain-file, --journal: the path of a file.
ELASTIC_DECL option_type file_path_type(option_field<std::string> field);

/// --preload: "torch,pandas", or "auto".
ELASTIC_DECL option_type modules_type();

/// --monitor-interval: over 0.
ELASTIC_DECL option_type interval_type();

/// A second or more, for how long a job stands still.
ELASTIC_DECL option_type stall_time_type();

/// --log-line-prefix-template.
ELASTIC_DECL option_type line_prefix_type();

/// --local-ranks-filter: "0,1".
ELASTIC_DECL option_type ranks_type();

/// --log-max-size: "500k", at least 1k.
ELASTIC_DECL option_type log_size_type();

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/cli/detail/single_option_types.ipp>
#endif
