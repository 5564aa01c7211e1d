// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/option_table.hpp>

#include <elastic/base/assert.hpp>
#include <elastic/base/error.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL option_table::option_table() {
  app_.set_help_flag();  // `--help` is a row like the others
  for (const option_row& row : option_rows) {
    CLI::Option* option = nullptr;
    if (row.value != nullptr) {
      option = app_.add_option(row.names, texts_.emplace_back());
    } else {
      option = app_.add_flag(row.names, flags_.emplace_back());
    }
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    option->group(row.heading != nullptr ? row.heading : "");
    options_.push_back(option);
  }
}

ELASTIC_DECL std::string option_table::long_name(const CLI::Option& option) {
  return "--" + option.get_lnames().front();
}

ELASTIC_DECL void option_table::parse(std::vector<std::string> tokens) {
  std::reverse(tokens.begin(), tokens.end());
  try {
    app_.parse(std::move(tokens));
  } catch (const CLI::ParseError& refusal) {
    throw error(errc::invalid_argument, refusal.what());
  }
}

ELASTIC_DECL std::vector<std::string> option_table::all_given(const CLI::Option& option) const {
  return option.count() == 0 ? std::vector<std::string>() : option.results();
}

ELASTIC_DECL std::optional<std::string> option_table::given(const CLI::Option& option) const {
  if (option.count() == 0) return std::nullopt;
  return takes_value(option) ? option.results().back() : std::string("1");
}

ELASTIC_DECL option_values::option_values(const option_table& table,
                                          const environment_map& environment)
    : table_(&table), environment_(&environment) {}

ELASTIC_DECL std::optional<option_value> option_values::find(std::string_view name,
                                                             std::string_view fallback) const {
  if (const auto text = table_->given(option(name))) {
    return option_value{*text, std::string(name)};
  }
  for (const std::string& variable : {variable_of(name), std::string(fallback)}) {
    auto text = find_variable(*environment_, variable);
    if (text && !text->empty()) return option_value{*std::move(text), variable};
  }
  return std::nullopt;
}

ELASTIC_DECL std::vector<option_value> option_values::find_all(std::string_view name) const {
  std::vector<option_value> all;
  for (std::string& text : table_->all_given(option(name))) {
    all.push_back({std::move(text), std::string(name)});
  }
  if (const auto other = find(name); all.empty() && other) all.push_back(*other);
  return all;
}

ELASTIC_DECL bool option_values::flag(std::string_view name) const {
  const auto given = find(name);
  if (!given) return false;
  int value = 0;
  const char* end = given->text.data() + given->text.size();
  const auto [stop, failure] = std::from_chars(given->text.data(), end, value);
  if (failure != std::errc() || stop != end) {
    throw error(errc::invalid_argument,
                fmt::format("{} '{}': allowed are 0 (off) and 1 (on)", given->source, given->text));
  }
  return value != 0;
}

ELASTIC_DECL void option_values::check_refused() const {
  for (const option_row& row : option_rows) {
    if (row.heading != nullptr) continue;
    const auto given = row.value != nullptr ? find(row.names) : given_flag(row.names);
    if (given) {
      throw error(errc::invalid_argument,
                  fmt::format("{} is not supported: {}", given->source, row.text));
    }
  }
}

ELASTIC_DECL const CLI::Option& option_values::option(std::string_view name) const {
  const auto& options = table_->options();
  const auto found = std::find_if(options.begin(), options.end(), [&](const CLI::Option* one) {
    return option_table::long_name(*one) == name;
  });
  ELASTIC_ASSERT(found != options.end());
  return **found;
}

ELASTIC_DECL std::optional<option_value> option_values::given_flag(const char* name) const {
  return flag(name) ? find(name) : std::nullopt;
}

ELASTIC_DECL std::string option_values::variable_of(std::string_view name) {
  std::string variable = "PET_";
  for (const char letter : name.substr(2)) {
    variable += letter == '-' ? '_' : static_cast<char>(letter - 'a' + 'A');
  }
  return variable;
}

/// Appends `text` in lines of at most 79 columns; the first begins at column `indent`, where the
/// output stands, and so do all others.
inline void append_wrapped(std::string& out, std::string_view text, std::size_t indent) {
  constexpr std::size_t width = 79;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    if (column > indent && column + 1 + word.size() > width) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  out += '\n';
}

inline std::string option_help(const option_row& row) {
  constexpr std::size_t indent = 26;
  std::string line = row.names[1] == '-' ? "      " : "  ";
  line += row.names;
  if (const auto comma = line.find(','); comma != std::string::npos) line.insert(comma + 1, " ");
  if (row.value != nullptr) line += fmt::format(" {}", row.value);
  if (line.size() + 2 > indent) {
    line += '\n';
    line.append(indent, ' ');
  } else {
    line.append(indent - line.size(), ' ');
  }
  append_wrapped(line, row.text, indent);
  return line;
}

inline constexpr char help_head[] =
    R"(Usage: elasticrun [options] script [arguments of the script]

Starts several copies of a training script as one job, watches them, and starts
all of them again when one fails. Takes torchrun's options; scripts for torchrun
run unchanged.

  elasticrun --standalone --nproc-per-node 8 train.py --epochs 3
  elasticrun --nnodes 2:4 --rdzv-backend c10d --rdzv-endpoint host0 \
      --rdzv-id job1 train.py
  elasticrun --nproc-per-node 4 --no-python ./worker --shard '${local_rank}'

Everything after the script is the script's. Options may be written with dashes
or underscores and be shortened as long as they stay unique; of a repeated one
the last counts. In the script's arguments, ${local_rank} becomes the worker's
local rank.
)";

inline constexpr char help_tail[] = R"(
Environment:
  PET_<OPTION>      Default of an option, such as PET_NPROC_PER_NODE=8; flags
                    are 1 or 0. Empty is the same as not set.
  PYTHON_EXEC       The Python to use. Default: python3 from PATH.
  OMP_NUM_THREADS   Becomes 1 for several workers where it is not set.
  LOGLEVEL          DEBUG, INFO, WARNING, ERROR or CRITICAL. Default: WARNING.
  ELASTIC_IO        auto, ring (io_uring) or epoll. Default: auto.
  ELASTIC_GUARD     The guard's program. Default: what elasticrun carries.
  TORCHELASTIC_ERROR_FILE
                    Where the error of the first failed worker is copied to.
  TORCHELASTIC_ENABLE_FILE_TIMER
                    1: serve the timers of PyTorch's FileTimerClient, at the
                    path TORCHELASTIC_TIMER_FILE or in the temporary folder.
  TORCH_DISABLE_SHARE_RDZV_TCP_STORE
                    1: the worker of rank 0 serves the workers' store, and not
                    elasticrun (which the static rendezvous always does).

Exit codes:
  0         all workers succeeded
  1         workers failed, or the nodes did not meet
  2         the command line, a file or a port cannot be used; nothing ran
  126, 127  the program to run cannot be executed, does not exist
  128+N     stopped by signal N: the workers were told and had time to end; a
            second SIGINT kills them at once
)";

inline std::string refused_names() {
  std::string names;
  for (const option_row& row : option_rows) {
    if (row.heading == nullptr) names += (names.empty() ? "" : ", ") + std::string(row.names);
  }
  return names;
}

ELASTIC_DECL std::string help_text() {
  std::string text = help_head;
  const char* heading = nullptr;
  for (const option_row& row : option_rows) {
    if (row.heading == nullptr) continue;
    if (row.heading != heading) text += fmt::format("\n{}:\n", row.heading);
    heading = row.heading;
    text += option_help(row);
  }
  text += "\nNot supported (each is refused with the reason):\n  ";
  append_wrapped(text, refused_names(), 2);
  return text + help_tail;
}

}  // namespace elastic::detail
