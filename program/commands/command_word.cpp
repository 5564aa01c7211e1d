// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/command_word.hpp>

#include <filesystem>
#include <system_error>

namespace elasticrun {

const std::vector<elastic::command_line::facts::command>& command_rows() {
  static const std::vector<elastic::command_line::facts::command> rows{
      {"checkpoint", "[--role NAME] [--within SECONDS] unix:PATH [REASON ...]",
       "Ask the workers of a node that accept requests to save a checkpoint now, over the socket "
       "of its --status unix:PATH, and report the result."},
      {"doctor",
       "[--json] [--nnodes N --rdzv-endpoint HOST:PORT] [--within SECONDS] [--rdzv-backend NAME] "
       "[--rdzv-id NAME] [--rdzv-conf SETTINGS] [--local-addr ADDRESS] [--node-name NAME]",
       "Check whether this host has what jobs need: limits, /dev/shm, addresses, ports, clock, "
       "GPUs and others, and say what to do about each thing that is missing. With --nnodes, on "
       "each node: check also who reaches whom, how fast, and what differs between the nodes. "
       "Exit code 1: no job can run as it should."},
      {"drain", "unix:PATH [REASON ...]",
       "Take a node out of its job as a drain file does, over the socket of its --status "
       "unix:PATH; the other nodes continue."},
      {"explain", "LOGDIR|FILE ...",
       "Explain a run from the journal in its log directory: what happened, why, where the time "
       "went, and what would have helped."},
      {"logs",
       "[--ranks 0-7,12] [--stdout | --stderr] [--lines N] [--follow] [--grep TEXT] [--role NAME] "
       "[--token-file FILE] [ADDRESS|LOGDIR]",
       "Show the output of all ranks of a job: from the node that was started with --status "
       "ADDRESS, which asks the other nodes, or what lies in the log directory LOGDIR. Default: "
       "PET_STATUS. --lines: the last lines of each stream of each rank (100); --follow: until the "
       "job ends; --grep: of these, only lines with this text."},
      {"pause", "[--role NAME] unix:PATH [REASON ...]",
       "Pause a whole job, over the socket of a node's --status unix:PATH: its workers save and "
       "stop, and its nodes wait for resume."},
      {"resume", "[--role NAME] unix:PATH [REASON ...]",
       "Resume a job that was paused at this node."},
      {"roles", "[--json] [LOGDIR|FILE]",
       "Show the roles of a job that was started with --job and where their workers are, from its "
       "log directory. Default: ELASTIC_ROLES. For a job that was killed, the last known state."},
      {"stacks", "[--role NAME] [--rank R,...] unix:PATH|LOGDIR",
       "Show where the workers of a job are: over the socket of a node's --status unix:PATH, for "
       "the whole job if it was started with --diagnose; with a log directory, what the kernel "
       "knows about the workers on this host."},
      {"status", "[--watch | --ready] [--json] [--role NAME] [--token-file FILE] [ADDRESS|LOGDIR]",
       "Show the status of a job that was started with --status ADDRESS, or that has left a "
       "journal in the log directory LOGDIR. Default: PET_STATUS. --watch: refresh every second; "
       "--ready: exit with 0 only if the workers run (not for a log directory)."},
      {"trace", "LOGDIR|FILE ...",
       "Write the journals of all nodes of a run to stdout as one Chrome trace for Perfetto, with "
       "aligned clocks."},
  };
  return rows;
}

const elastic::command_line::facts::command* find_command(
    const std::vector<std::string>& arguments,
    const std::function<bool(const std::string& name)>& is_script) {
  if (arguments.empty()) return nullptr;
  for (const elastic::command_line::facts::command& row : command_rows()) {
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
