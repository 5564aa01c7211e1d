// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/detail/single_option_types.hpp>

#include <elastic/agent/detail/workers/line_template.hpp>
#include <elastic/base/detail/nearest_name.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/cli/detail/chaos_text.hpp>
#include <elastic/cli/detail/option_types.hpp>
#include <elastic/contract/detail/macros.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/process/processor_set.hpp>
#include <elastic/python/warm_standby.hpp>
#include <elastic/status/status_address.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <limits>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic::detail {

/// The number of workers for `cpu`, `gpu`, `auto` or a number; empty for anything else.
inline std::optional<int> worker_count(const option_value& option,
                                       const command_line::facts& facts) {
  if (option.text == "gpu" && facts.accelerators == 0) {
    refuse_value(option, "no GPU was found that workers could use; try a number, cpu or auto");
  }
  if (option.text == "xpu") {
    refuse_value(option, "these devices are not counted by elasticrun; a number is needed");
  }
  if (option.text == "cpu") return facts.processors;
  if (option.text == "gpu") return facts.accelerators;
  if (option.text == "auto") return facts.accelerators > 0 ? facts.accelerators : facts.processors;
  return number_between(option.text, 1, limits::local_world_size);
}

ELASTIC_DECL option_type worker_count_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts& facts,
                 option_target& target) {
    const auto count = worker_count(option, facts);
    if (!count) {
      refuse_value(option, fmt::format("must be a number from 1 to {}, cpu, gpu or auto",
                                       limits::local_world_size));
    }
    target.config.job.workers.nproc_per_node = std::min(*count, limits::local_world_size);
  };
  type.show = [](const option_target& target) {
    return std::to_string(target.config.job.workers.nproc_per_node);
  };
  return type;
}

/// The first `${name}` in a text that stands for nothing; empty: there is none.
inline std::string unknown_field_of(std::string_view text, const std::vector<std::string>& known) {
  for (std::size_t dollar = text.find('$'); dollar != std::string_view::npos;
       dollar = text.find('$')) {
    text.remove_prefix(dollar + 1);
    const bool is_dollar = text.starts_with('$');
    const bool is_braced = text.starts_with('{');
    const macro_reference field = is_dollar ? macro_reference() : read_macro_reference(text);
    const bool is_known = std::find(known.begin(), known.end(), field.name) != known.end();
    if (is_braced && field.length > 0 && !is_known) return std::string(field.name);
    text.remove_prefix(is_dollar ? 1 : field.length);
  }
  return {};
}

inline void refuse_unknown_field(const option_value& option, std::string_view value) {
  std::vector<std::string> known;
  for (const auto& [name, unused] : macros_of(worker_identity(), job_context())) {
    known.push_back(name);
  }
  const std::string field = unknown_field_of(value, known);
  if (field.empty()) return;
  const std::string nearest = nearest_name(field, known);
  const std::string hint =
      nearest.empty() ? std::string() : fmt::format(" (did you mean ${{{}}}?)", nearest);
  const std::string last = known.back();
  known.pop_back();
  refuse_value(option, fmt::format("there is no field ${{{}}}{}; the fields are ${{{}}} and "
                                   "${{{}}}, and $$ means a $",
                                   field, hint, fmt::join(known, "}, ${"), last));
}

ELASTIC_DECL option_type variable_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    const std::size_t equals = option.text.find('=');
    if (equals == std::string::npos || equals == 0) refuse_value(option, "NAME=VALUE is needed");
    refuse_unknown_field(option, std::string_view(option.text).substr(equals + 1));
    target.config.job.workers.env.emplace_back(option.text.substr(0, equals),
                                               option.text.substr(equals + 1));
  };
  return type;
}

ELASTIC_DECL option_type wire_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    wire_terms& terms = target.config.wire;
    try {
      terms.kinds = parse_wire_ups(option.text);
      validate(terms);
    } catch (const error& refusal) {
      refuse_value(option, refusal.what());
    }
  };
  type.choices = {"jax", "mpi", "tf", "jax,tf", "mpi,tf"};
  return type;
}

ELASTIC_DECL option_type vault_limit_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    constexpr std::uint64_t least = 1 << 20;
    vault_terms& terms = target.config.vault;
    terms = vault_terms();
    if (option.text.ends_with('%')) {
      const std::string number = option.text.substr(0, option.text.size() - 1);
      terms.limit_percent = number_between(number, 1, 100).value_or(0);
    } else if (const auto bytes = size_of(option.text); bytes && *bytes >= least) {
      terms.limit_bytes = *bytes;
    }
    if (terms.is_set()) return;
    refuse_value(option, "a size of 1M or more such as 64G, or 1% to 100% of the memory, is "
                         "needed");
  };
  return type;
}

ELASTIC_DECL option_type wrap_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    if (option.text.empty()) refuse_value(option, "a command for the shell is needed");
    refuse_unknown_field(option, option.text);
    target.config.job.workers.wrap.command = option.text;
  };
  return type;
}

ELASTIC_DECL option_type wrap_ranks_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    try {
      target.config.job.workers.wrap.ranks = parse_wrap_ranks(option.text);
    } catch (const error& refusal) {
      throw error(errc::invalid_argument, fmt::format("{}: {}", option.source, refusal.what()));
    }
  };
  return type;
}

ELASTIC_DECL option_type debug_rank_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts& facts,
                 option_target& target) {
    if (!facts.offers_debugger) {
      throw error(errc::invalid_argument,
                  fmt::format("{}: {} starts no debugger", option.source, facts.program));
    }
    std::optional<int>& rank = target.config.debugger.rank;
    if (rank) {
      refuse_value(option, fmt::format("one rank can be debugged, and {} is named already", *rank));
    }
    rank = number_between(option.text, 0, limits::job_ranks - 1);
    if (!rank) {
      refuse_value(option, fmt::format("a rank from 0 to {} is needed", limits::job_ranks - 1));
    }
  };
  return type;
}

ELASTIC_DECL option_type debug_address_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    program_config::debugger_plan& plan = target.config.debugger;
    try {
      std::string_view text = trimmed(option.text);
      if (text.empty()) throw error(errc::invalid_argument, "an address is needed");
      // The address of a network has no colon, or many.
      const std::size_t slash = text.find('/');
      const std::size_t colon = text.find(':', std::min(slash, text.size()));
      const std::string_view network = slash == std::string_view::npos ? "" : text.substr(0, colon);
      if (!network.empty()) text = text.substr(std::min(colon, text.size()));
      const endpoint address = parse_endpoint(network.empty() ? text : fmt::format("x{}", text), 0);
      plan.host = network.empty() ? address.host : std::string(network);
      plan.port = address.port;
    } catch (const error& refusal) {
      throw error(errc::invalid_argument, fmt::format("{}: {}", option.source, refusal.what()));
    }
  };
  return type;
}

ELASTIC_DECL option_type affinity_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    std::vector<processor_set> lists;
    std::string_view rest = option.text;
    for (std::size_t colon = 0; colon != std::string_view::npos;) {
      colon = rest.find(':');
      try {
        lists.push_back(processor_set::parse(rest.substr(0, colon)));
      } catch (const error& refusal) {
        throw error(errc::invalid_argument, fmt::format("{}: {}", option.source, refusal.what()));
      }
      if (colon != std::string_view::npos) rest.remove_prefix(colon + 1);
    }
    target.config.job.workers.cpu_affinity = std::move(lists);
  };
  return type;
}

ELASTIC_DECL option_type nodes_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    const std::string_view text = option.text;
    rendezvous_parameters& rendezvous = target.config.job.rendezvous;
    rendezvous.node_counts.clear();
    if (text.find(',') != std::string_view::npos) {
      try {
        rendezvous.node_counts = parse_node_counts(text);
      } catch (const error& refusal) {
        refuse_value(option, refusal.what());
      }
      rendezvous.min_nodes = rendezvous.node_counts.front();
      rendezvous.max_nodes = rendezvous.node_counts.back();
      return;
    }
    const std::size_t colon = text.find(':');
    const auto least = number_between(text.substr(0, colon), 1, limits::nodes);
    const auto most = colon == std::string_view::npos
                          ? least
                          : number_between(text.substr(colon + 1), 1, limits::nodes);
    if (!least || !most || *least > *most) {
      refuse_value(
          option,
          fmt::format("allowed is N, MIN:MAX with 1 <= MIN <= MAX <= {}, or numbers such as "
                      "2,4,8",
                      limits::nodes));
    }
    rendezvous.min_nodes = *least;
    rendezvous.max_nodes = *most;
  };
  type.show = [](const option_target& target) {
    return std::to_string(target.config.job.rendezvous.max_nodes);
  };
  return type;
}

/// The text within a pair of quotes, which a shell did not remove; else the text itself.
inline std::string_view without_quotes(std::string_view text) {
  const bool is_quoted = text.size() >= 2 && text.front() == text.back() &&
                         (text.front() == '"' || text.front() == '\'');
  return is_quoted ? trimmed(text.substr(1, text.size() - 2)) : text;
}

ELASTIC_DECL option_type chaos_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts& facts,
                 option_target& target) {
    if (!facts.injects_faults) {
      throw error(errc::invalid_argument,
                  fmt::format("{}: {} injects no faults", option.source, facts.program));
    }
    try {
      target.config.chaos = parse_chaos_plan(option.text);
    } catch (const error& failure) {
      throw error(errc::invalid_argument, fmt::format("{} {}", option.source, failure.what()));
    }
  };
  return type;
}

ELASTIC_DECL option_type job_file_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts& facts,
                 option_target& target) {
    if (!facts.reads_job_files) {
      throw error(errc::invalid_argument,
                  fmt::format("{}: {} runs no job files", option.source, facts.program));
    }
    if (option.text.empty()) refuse_value(option, "the path of a file, or -, is needed");
    target.config.job_file = option.text;
  };
  return type;
}

ELASTIC_DECL option_type job_setting_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    target.config.job_settings.push_back(option.text);
  };
  return type;
}

ELASTIC_DECL option_type status_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    try {
      static_cast<void>(parse_status_address(option.text));
    } catch (const error& failure) {
      throw error(errc::invalid_argument, fmt::format("{} {}", option.source, failure.what()));
    }
    target.config.program.status = option.text;
  };
  return type;
}

ELASTIC_DECL option_type settings_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    std::string_view rest = without_quotes(trimmed(option.text));
    if (rest.empty()) return;
    for (std::size_t comma = 0; comma != std::string_view::npos;) {
      comma = rest.find(',');
      const std::string_view pair = rest.substr(0, comma);
      const std::size_t equals = pair.find('=');
      const std::string_view key = without_quotes(trimmed(pair.substr(0, equals)));
      std::string_view value;
      if (equals != std::string_view::npos) value = trimmed(pair.substr(equals + 1));
      if (key.empty() || value.empty()) {
        refuse_value(option, fmt::format("must be key=value,key=value, and {} lacks a key or a "
                                         "value",
                                         in_quotes(pair)));
      }
      target.config.job.rendezvous.set(key, without_quotes(value));
      if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
    }
  };
  return type;
}

ELASTIC_DECL option_type host_type(option_field<std::string> field) {
  option_type type = text_type(field);
  type.read = [=](const option_value& option, const command_line::facts&, option_target& target) {
    try {
      field(target) = parse_endpoint(option.text + ":0", 0).host;
    } catch (const error&) {
      refuse_value(option, "the name or the address of a host is needed, without a port");
    }
  };
  return type;
}

ELASTIC_DECL option_type local_address_type(option_field<std::string> field) {
  option_type type = host_type(field);
  type.read = [=, read = type.read](const option_value& option, const command_line::facts& facts,
                                    option_target& target) {
    // A network is checked later, when the interfaces of this host are read.
    const bool is_network = option.text.find('/') != std::string::npos;
    if (!option.text.empty() && !is_network) return read(option, facts, target);
    field(target) = option.text;
  };
  return type;
}

ELASTIC_DECL option_type factor_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    constexpr double most = 1e6;
    double value = 0;
    const char* end = option.text.data() + option.text.size();
    const auto [stop, failure] = std::from_chars(option.text.data(), end, value);
    const bool allowed = value == 0 || (value >= 1 && value <= most);
    if (failure != std::errc() || stop != end || !allowed) {
      refuse_value(option, "must be 0 (nothing is learned) or a factor from 1 to 1000000");
    }
    target.config.job.workers.liveness.learn_timeouts = value;
  };
  type.show = [](const option_target& target) {
    return fmt::format("{}", target.config.job.workers.liveness.learn_timeouts);
  };
  return type;
}

ELASTIC_DECL option_type command_type(option_field<std::string> field) {
  return filled_text_type("a command for the shell is needed", std::move(field));
}

ELASTIC_DECL option_type file_path_type(option_field<std::string> field) {
  return filled_text_type("the path of a file is needed", std::move(field));
}

ELASTIC_DECL option_type modules_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    warm_standby terms;
    std::string_view rest = option.text;
    for (std::size_t comma = 0; option.text != "auto" && comma != std::string_view::npos;) {
      comma = rest.find(',');
      terms.modules.emplace_back(trimmed(rest.substr(0, comma)));
      if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
    }
    try {
      validate(terms);
    } catch (const error& refusal) {
      throw error(errc::invalid_argument, fmt::format("{}: {}", option.source, refusal.what()));
    }
    target.config.standby.modules = std::move(terms.modules);
  };
  return type;
}

ELASTIC_DECL option_type interval_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    constexpr duration shortest = std::chrono::milliseconds(1);
    target.config.job.workers.monitor_interval = std::max(seconds_of(option), shortest);
  };
  return type;
}

ELASTIC_DECL option_type stall_time_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    const duration time = seconds_of(option);
    if (time < std::chrono::seconds(1)) refuse_value(option, "at least 1 second is needed");
    target.config.diagnosis.stall_after = time;
  };
  return type;
}

ELASTIC_DECL option_type line_prefix_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    try {
      line_template{option.text};
    } catch (const error& refusal) {
      refuse_value(option, refusal.what());
    }
    target.config.job.workers.log_line_prefix_template = option.text;
  };
  return type;
}

ELASTIC_DECL option_type ranks_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    std::vector<int> ranks;
    std::string_view rest = option.text;
    for (std::size_t comma = 0; comma != std::string_view::npos;) {
      comma = rest.find(',');
      const auto rank =
          number_between(trimmed(rest.substr(0, comma)), 0, std::numeric_limits<int>::max());
      if (!rank) refuse_value(option, "a list of local ranks is needed, such as 0,1");
      ranks.push_back(*rank);
      if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
    }
    target.config.job.workers.logs.local_ranks_filter = std::move(ranks);
  };
  return type;
}

ELASTIC_DECL option_type log_size_type() {
  option_type type;
  type.read = [](const option_value& option, const command_line::facts&, option_target& target) {
    constexpr std::uint64_t least = 1024;
    const auto bytes = size_of(option.text);
    if (!bytes || *bytes < least) {
      refuse_value(option, "a size of 1k or more is needed, such as 500k, 100M or 2G");
    }
    target.config.job.workers.logs.rotation.max_size = *bytes;
  };
  return type;
}

}  // namespace elastic::detail
