// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/detail/option_help.hpp>

#include <elastic/cli/detail/option_row.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

namespace elastic::detail {

/// Appends `text` in lines of at most 79 columns. The last line of `out` already has `indent`
/// columns, and the further lines begin at that column, too.
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
  std::string line = row.short_name() == '\0' ? "      " : "  ";
  line += row.names;
  if (const auto comma = line.find(','); comma != std::string::npos) line.insert(comma + 1, " ");
  if (row.takes_value()) line += fmt::format(" {}", row.value);
  if (line.size() + 2 > indent) {
    line += '\n';
    line.append(indent, ' ');
  } else {
    line.append(indent - line.size(), ' ');
  }
  std::string text = row.help;
  const std::string value = row.default_value();
  if (!value.empty()) text += fmt::format(" Default: {}.", value);
  append_wrapped(line, text, indent);
  return line;
}

inline bool is_of_job_files(const option_row& row) {
  const std::string name = row.long_name();
  return name == "--job" || name == "--set" || name == "--print-job";
}

inline std::string command_help(const command_line::facts::command& row) {
  constexpr std::size_t indent = 26;
  std::string line = fmt::format("  {} {}\n", row.word, row.arguments);
  line.append(indent, ' ');
  append_wrapped(line, row.help, indent);
  return line;
}

inline constexpr char introduction_text[] =
    R"(Starts several copies of a training script as one job, watches them, and starts
all of them again when one fails. Takes torchrun's options; scripts for torchrun
run unchanged.

  elasticrun --standalone --nproc-per-node 8 train.py --epochs 3
  elasticrun --nnodes 2:4 --rdzv-backend c10d --rdzv-endpoint host0 \
      --rdzv-id job1 train.py
  elasticrun --nproc-per-node 4 --no-python ./worker --shard '${local_rank}'

Everything after the script is passed to the script. Options may be written with
dashes or underscores, and shortened as long as they stay unique. If an option
is repeated, the last one counts. In the script's arguments, ${local_rank} is
replaced by the worker's local rank.
)";

inline constexpr char environment_text[] =
    R"(  PET_<OPTION>      Default of an option, such as PET_NPROC_PER_NODE=8; 1 or 0
                    for a flag. Empty is the same as not set.
  PYTHON_EXEC       The Python to use. Default: that of the environment (venv,
                    conda) that elasticrun is in, else python3 from PATH.
  OMP_NUM_THREADS   Set to 1 if it is not set and there are several workers.
  LOGLEVEL          DEBUG, INFO, WARNING, ERROR or CRITICAL. Default: WARNING.
  ELASTIC_IO        auto, ring (io_uring) or epoll. Default: auto.
  ELASTIC_GUARD     The guard's program. Default: the built-in one.
  TORCHELASTIC_ERROR_FILE
                    File to which the first failed worker's error is copied.
  TORCHELASTIC_ENABLE_FILE_TIMER
                    1: serve the timers of PyTorch's FileTimerClient, at the
                    path TORCHELASTIC_TIMER_FILE or in the temporary folder.
  TORCH_DISABLE_SHARE_RDZV_TCP_STORE
                    1: the worker of rank 0 serves the workers' store, not
                    elasticrun (except with the static rendezvous).
)";

inline constexpr char exit_codes_text[] = R"(  0         all workers succeeded
  1         workers failed, or the nodes did not meet
  2         the command line, a file or a port cannot be used; nothing ran
  93        another run would fail in the same way
  126, 127  the program to run cannot be executed, or does not exist
  128+N     stopped by signal N, after the workers had time to end; a second
            SIGINT kills them at once
)";

ELASTIC_DECL std::string_view help_introduction() { return introduction_text; }
ELASTIC_DECL std::string_view help_environment() { return environment_text; }
ELASTIC_DECL std::string_view help_exit_codes() { return exit_codes_text; }

ELASTIC_DECL std::string help_text(const command_line::facts& facts) {
  std::string text =
      fmt::format("Usage: {} [options] script [arguments of the script]\n\n", facts.program);
  text += introduction_text;
  const char* heading = nullptr;
  for (const option_row& row : option_rows()) {
    if (row.long_name() == "--chaos" && !facts.injects_faults) continue;
    if (row.long_name().starts_with("--debug-") && !facts.offers_debugger) continue;
    if (is_of_job_files(row) && !facts.reads_job_files) continue;
    if (row.heading != heading) text += fmt::format("\n{}:\n", row.heading);
    heading = row.heading;
    text += option_help(row);
  }
  if (!facts.commands.empty()) {
    text += "\nCommands in place of a script, if there is no script of that name:\n";
  }
  for (const command_line::facts::command& command : facts.commands) text += command_help(command);
  return text +
         fmt::format("\nEnvironment:\n{}\nExit codes:\n{}", environment_text, exit_codes_text);
}

}  // namespace elastic::detail
