// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/detail/option_scan.hpp>

#include <elastic/base/detail/nearest_name.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// An option of another launcher, and what to do instead.
struct foreign_option {
  std::string_view name;
  std::string_view hint;
};

inline constexpr std::string_view hint_per_host =
    "start elasticrun on each host, with --nnodes and --rdzv-endpoint";
inline constexpr std::string_view hint_in_script =
    "elasticrun passes on no settings of accelerate: give this one to Accelerator in the script";

inline constexpr foreign_option foreign_options[] = {
    // torch.distributed.launch and torch.multiprocessing.
    {"--nprocs", "did you mean --nproc-per-node?"},
    {"--use-env", "leave it out: workers have LOCAL_RANK in their environment"},
    // accelerate launch.
    {"--num-processes", "use --nproc-per-node, the number of workers on each node: accelerate's "
                        "is that of all nodes together"},
    {"--num-machines", "use --nnodes"},
    {"--machine-rank", "use --node-rank, or --rdzv-endpoint, which needs none"},
    {"--main-process-ip", "use --master-addr, or --rdzv-endpoint"},
    {"--main-process-port", "use --master-port, or --rdzv-endpoint"},
    {"--multi-gpu", "leave it out: --nproc-per-node gpu starts a worker for each GPU"},
    {"--gpu-ids", "set CUDA_VISIBLE_DEVICES"},
    {"--num-cpu-threads-per-process", "use --env OMP_NUM_THREADS=N"},
    {"--config-file", "elasticrun reads no configuration of accelerate: give its own options, and "
                      "the other settings to Accelerator in the script"},
    {"--mixed-precision", hint_in_script},
    {"--dynamo-backend", hint_in_script},
    {"--gradient-accumulation-steps", hint_in_script},
    {"--use-deepspeed", hint_in_script},
    {"--use-fsdp", hint_in_script},
    // deepspeed.
    {"--num-gpus", "use --nproc-per-node"},
    {"--num-nodes", "use --nnodes"},
    {"--hostfile", hint_per_host},
    {"--include", hint_per_host},
    {"--launcher", hint_per_host},
    {"--no-ssh", hint_per_host},
    {"--min-elastic-nodes", "use --nnodes MIN:MAX"},
    {"--max-elastic-nodes", "use --nnodes MIN:MAX"},
    {"--enable-elastic-training", "use --nnodes MIN:MAX"},
    {"--bind-cores-to-rank", "use --numa-binding"},
    {"--bind-core-list", "use --cpu-affinity"},
};

/// A hint about names that other launchers have or had; empty: none.
inline std::string_view hint_for(std::string_view name) {
  for (const foreign_option& option : foreign_options) {
    if (option.name == name) return option.hint;
  }
  return {};
}

class option_scanner {
 public:
  explicit option_scanner(const std::vector<std::string>& arguments) : arguments_(arguments) {}

  scanned_arguments scan() {
    while (next_ < arguments_.size() && !result_.shows) {
      const std::string& argument = arguments_[next_];
      const bool is_option = argument.size() > 1 && argument[0] == '-';
      if (!is_option) break;
      ++next_;
      if (argument == "--") break;
      if (argument[1] == '-') {
        scan_long(argument);
      } else {
        scan_short(argument);
      }
    }
    result_.operands.assign(arguments_.begin() + static_cast<std::ptrdiff_t>(next_),
                            arguments_.end());
    return std::move(result_);
  }

 private:
  /// "--name", "--name=value".
  void scan_long(std::string_view argument) {
    const std::size_t equals = argument.find('=');
    const option_row& option = resolve(argument.substr(0, equals));
    std::optional<std::string> value;
    if (equals != std::string_view::npos) value = argument.substr(equals + 1);
    take(option, option.long_name(), std::move(value));
  }

  /// "-t", "-t3", "-t=3", "-mt3".
  void scan_short(std::string_view argument) {
    for (std::size_t index = 1; index < argument.size(); ++index) {
      const option_row* option = find_short(argument[index]);
      if (option == nullptr) refuse_short(argument[index], argument);
      const std::string shown = fmt::format("-{}", argument[index]);
      std::string_view rest = argument.substr(index + 1);
      if (!option->takes_value() && !rest.starts_with('=')) {
        take(*option, shown, std::nullopt);
        continue;
      }
      std::optional<std::string> value;
      if (!rest.empty()) value = rest.substr(rest[0] == '=' ? 1 : 0);
      take(*option, shown, std::move(value));
      return;
    }
  }

  /// An option, with the value that was attached to it, if any.
  void take(const option_row& option, const std::string& shown, std::optional<std::string> value) {
    if (option.takes_value()) {
      if (!value) value = next_value(shown);
    } else if (value) {
      throw error(errc::invalid_argument,
                  fmt::format("{} takes no value, but was given {}", shown, in_quotes(*value)));
    }
    result_.shows = result_.shows || option.shows;
    result_.options.push_back({&option, value.value_or("1")});
  }

  /// The argument after an option that needs a value. It may start with "-", but an option's own
  /// name there means that the value was forgotten.
  std::string next_value(const std::string& shown) {
    const bool has_next = next_ < arguments_.size();
    if (!has_next || is_option_name(arguments_[next_])) {
      throw error(errc::invalid_argument,
                  fmt::format("{} needs a value{}", shown,
                              has_next ? fmt::format("; to mean the text {}, attach it by =",
                                                     in_quotes(arguments_[next_]))
                                       : std::string()));
    }
    return arguments_[next_++];
  }

  static bool is_option_name(std::string_view text) {
    if (text == "--") return true;
    if (text.starts_with("--")) return matches(text.substr(0, text.find('='))).size() == 1;
    return text.size() == 2 && text[0] == '-' && find_short(text[1]) != nullptr;
  }

  static const option_row* find_short(char letter) {
    for (const option_row& row : option_rows()) {
      if (row.short_name() == letter) return &row;
    }
    return nullptr;
  }

  static std::string with_dashes(std::string_view name) {
    std::string normal(name);
    std::replace(normal.begin(), normal.end(), '_', '-');
    return normal;
  }

  /// The options that a name means: the one that has it, else all of torchrun's that begin with
  /// it, else all others that do.
  static std::vector<const option_row*> matches(std::string_view name) {
    const std::string beginning = with_dashes(name);
    std::vector<const option_row*> torchruns;
    std::vector<const option_row*> own;
    for (const option_row& row : option_rows()) {
      const std::string full = row.long_name();
      if (full == beginning) return {&row};
      if (full.starts_with(beginning)) (row.is_own ? own : torchruns).push_back(&row);
    }
    return torchruns.empty() ? own : torchruns;
  }

  static const option_row& resolve(std::string_view name) {
    const auto candidates = matches(name);
    if (candidates.size() == 1) return *candidates[0];
    if (candidates.empty()) refuse_unknown(name, nearest_option(with_dashes(name)));
    std::string names;
    for (const option_row* row : candidates) {
      names += (names.empty() ? "" : ", ") + row->long_name();
    }
    throw error(errc::invalid_argument,
                fmt::format("option {} is ambiguous: it could be {}", in_quotes(name), names));
  }

  static std::string nearest_option(std::string_view name) {
    std::vector<std::string> names;
    for (const option_row& row : option_rows()) names.push_back(row.long_name());
    return nearest_name(name, names);
  }

  [[noreturn]] static void refuse_unknown(std::string_view name, std::string_view nearest) {
    std::string hint(hint_for(with_dashes(name)));
    if (hint.empty() && !nearest.empty()) hint = fmt::format("did you mean {}?", nearest);
    if (hint.empty()) hint = "see --help for those that exist";
    throw error(errc::invalid_argument,
                fmt::format("unknown option {}; {}", in_quotes(name), hint));
  }

  /// Refuses the unknown option `letter` in an argument such as "-mx". The user may also have
  /// forgotten the second dash of a long name.
  [[noreturn]] static void refuse_short(char letter, std::string_view argument) {
    const std::string as_long = fmt::format("-{}", argument.substr(0, argument.find('=')));
    const auto candidates = matches(as_long);
    if (argument.size() > 2 && candidates.size() == 1) {
      refuse_unknown(argument, candidates[0]->long_name());
    }
    if (argument.size() == 2) refuse_unknown(argument, {});
    throw error(errc::invalid_argument,
                fmt::format("unknown option '-{}' in {}; see --help for those that exist", letter,
                            in_quotes(argument)));
  }

  const std::vector<std::string>& arguments_;
  std::size_t next_ = 0;
  scanned_arguments result_;
};

ELASTIC_DECL scanned_arguments scan_options(const std::vector<std::string>& arguments) {
  return option_scanner(arguments).scan();
}

}  // namespace elastic::detail
