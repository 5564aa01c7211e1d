// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/command_word.hpp>

#include <filesystem>
#include <system_error>

namespace elasticrun {

const std::vector<elastic::command_line_facts::command>& command_rows() {
  static const std::vector<elastic::command_line_facts::command> rows{
      {"checkpoint", "[--within SECONDS] unix:PATH [REASON ...]",
       "Have the workers of a node save a checkpoint now, over the socket of its --status "
       "unix:PATH, and say what came of it; those that want to be asked."},
      {"drain", "unix:PATH [REASON ...]",
       "Take a node out of its job as a drain file does, over the socket of its --status "
       "unix:PATH; the others go on."},
      {"explain", "LOGDIR|FILE ...",
       "Tell the story of a run from the journal in its log directory: what happened, why, where "
       "the time went, what would have helped."},
      {"pause", "unix:PATH [REASON ...]",
       "Have a whole job save, stop its workers and wait, over the socket of a node's --status "
       "unix:PATH, until resume; its nodes stay met."},
      {"resume", "unix:PATH [REASON ...]", "Let a job go on that was paused at this node."},
      {"stacks", "[--rank R,...] unix:PATH|LOGDIR",
       "Show where the workers of a job are: over the socket of a node's --status unix:PATH, for "
       "the whole job if it was started with --diagnose; of a log directory, what the kernel knows "
       "about the workers on this host."},
      {"status", "[--watch | --ready] [--json] [--token-file FILE] [ADDRESS|LOGDIR]",
       "Show what a job does that was started with --status ADDRESS, or that has left a journal in "
       "the log directory LOGDIR; without either, PET_STATUS counts. --watch: refresh each second; "
       "--ready: exit with 0 only if the workers run, which no log directory tells."},
      {"trace", "LOGDIR|FILE ...",
       "Write the journals of all nodes of a run as one Chrome trace to stdout, with clocks that "
       "fit, for Perfetto."},
  };
  return rows;
}

const elastic::command_line_facts::command* find_command(
    const std::vector<std::string>& arguments,
    const std::function<bool(const std::string& name)>& is_script) {
  if (arguments.empty()) return nullptr;
  for (const elastic::command_line_facts::command& row : command_rows()) {
    if (arguments.front() == row.word) return is_script(arguments.front()) ? nullptr : &row;
  }
  return nullptr;
}

bool is_script(const std::string& name) {
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::file_status status = fs::status(name, failure);
  if (!fs::is_directory(status)) return fs::exists(status);
  return fs::exists(fs::path(name) / "__main__.py", failure);
}

}  // namespace elasticrun
