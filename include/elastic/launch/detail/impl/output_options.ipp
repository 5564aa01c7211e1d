// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/output_options.hpp>

#include <elastic/agent/line_template.hpp>
#include <elastic/agent/log_options.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/launch/detail/option_readers.hpp>
#include <elastic/net/endpoint.hpp>

#include <cstddef>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic::detail {

/// "a,b", where a doubled comma is one of the text. Empty texts are none.
inline std::vector<std::string> split_texts(std::string_view list) {
  std::vector<std::string> texts(1);
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (list[at] != ',') {
      texts.back() += list[at];
    } else if (list.substr(at + 1).starts_with(',')) {
      texts.back() += ',';
      ++at;
    } else {
      texts.emplace_back();
    }
  }
  std::erase(texts, "");
  return texts;
}

/// "0,1": local ranks that this node has.
inline void read_console_ranks(const option_values& values, launch_config& config) {
  const auto given = values.find("--local-ranks-filter");
  if (!given) return;
  for (std::string_view rest = given->text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view one = trimmed(rest.substr(0, comma));
    const auto rank = number_between(one, 0, std::numeric_limits<int>::max());
    if (!rank) refuse_value(*given, "a list of local ranks is needed, such as 0,1");
    if (*rank >= config.nproc_per_node) {
      refuse_value(*given, fmt::format("there is no local rank {}: this node's {} workers have 0 "
                                       "to {}",
                                       *rank, config.nproc_per_node, config.nproc_per_node - 1));
    }
    config.logs.console_ranks.push_back(*rank);
    if (comma == std::string_view::npos) return;
    rest.remove_prefix(comma + 1);
  }
}

inline void read_filters(const option_values& values, const char* name, const launch_config& config,
                         std::vector<std::string>& result) {
  const auto given = values.find(name);
  if (!given) return;
  result = split_texts(given->text);
  if (result.empty()) refuse_value(*given, "texts are needed, such as loss,error");
  if (config.log_dir == "/dev/null") {
    refuse_value(*given, "the lines go to a file, but --log-dir is /dev/null");
  }
}

ELASTIC_DECL std::optional<std::uint64_t> size_of(std::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    const char unit = text.back();
    shift = unit == 'k' || unit == 'K'   ? 10
            : unit == 'm' || unit == 'M' ? 20
            : unit == 'g' || unit == 'G' ? 30
                                         : 0;
  }
  if (shift > 0) text.remove_suffix(1);
  const auto number = number_between(text, 1, std::numeric_limits<int>::max());
  if (!number) return std::nullopt;
  return static_cast<std::uint64_t>(*number) << shift;
}

inline void read_rotation(const option_values& values, launch_config& config,
                          std::vector<std::string>& warnings) {
  constexpr std::uint64_t least = 1024;
  const auto size = values.find("--log-max-size");
  if (size) {
    const auto bytes = size_of(size->text);
    if (!bytes || *bytes < least) {
      refuse_value(*size, "a size of 1k or more is needed, such as 500k, 100M or 2G");
    }
    config.logs.rotation.max_bytes = *bytes;
  }
  read_number(values, "--log-max-files", 1, limits::log_files, config.logs.rotation.max_files);
  const auto files = values.find("--log-max-files");
  if (files && !size) {
    warnings.push_back(fmt::format("{} has no effect without --log-max-size", files->source));
  }
}

inline void read_prefix(const option_values& values, launch_config& config,
                        std::vector<std::string>& warnings) {
  const auto given =
      values.find("--log-line-prefix-template", "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE");
  if (!given) return;
  config.log_line_prefix_template = given->text;
  try {
    line_template{given->text};
  } catch (const error& refusal) {
    refuse_value(*given, refusal.what());
  }
  if (config.logs.format == log_format::json) {
    warnings.push_back(fmt::format("{} has no effect with --log-format json", given->source));
  }
}

ELASTIC_DECL void read_output(const option_values& values, launch_config& config,
                              std::vector<std::string>& warnings) {
  config.progress = !values.flag("--no-progress");
  read_text(values, "--log-dir", config.log_dir);
  read_streams(values, "--redirects", config.redirects);
  read_streams(values, "--tee", config.tee);
  read_text(values, "--event-log-handler", config.event_log_handler);
  read_text(values, "--logs-specs", config.logs_specs);
  if (const auto format = values.find("--log-format")) {
    if (format->text == "json") {
      config.logs.format = log_format::json;
    } else if (format->text != "text") {
      refuse_value(*format, "allowed are text and json");
    }
  }
  read_console_ranks(values, config);
  read_filters(values, "--duplicate-stdout-filters", config, config.logs.stdout_filters);
  read_filters(values, "--duplicate-stderr-filters", config, config.logs.stderr_filters);
  read_rotation(values, config, warnings);
  read_prefix(values, config, warnings);
}

}  // namespace elastic::detail
