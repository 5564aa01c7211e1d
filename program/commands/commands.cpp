// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/commands.hpp>

#include <elastic/base/printable_text.hpp>
#include <elastic/cli/early_exit.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/launch/job_outcome.hpp>
#include <elastic/status/detail/journal_reader.hpp>
#include <program/commands/explanation.hpp>
#include <program/commands/logs_command.hpp>
#include <program/commands/merged_trace.hpp>
#include <program/commands/roles_command.hpp>
#include <program/commands/send_command.hpp>
#include <program/commands/stacks_command.hpp>
#include <program/commands/status_command.hpp>
#include <program/doctor/findings.hpp>
#include <program/doctor/host_facts.hpp>
#include <program/doctor/job_doctor.hpp>
#include <program/doctor/job_findings.hpp>

#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>
#include <fmt/format.h>

namespace elasticrun {

namespace {

using strings = std::vector<std::string>;

/// Journals and their paths, each once.
struct read_journals {
  strings paths;
  std::vector<elastic::detail::journal_contents> contents;
};

read_journals read_all(std::string_view command, const strings& arguments) {
  read_journals journals;
  std::set<std::filesystem::path> known;
  for (const std::string& argument : arguments) {
    if (argument.starts_with("-")) {
      throw elastic::error(elastic::errc::invalid_argument,
                           fmt::format("{}: {} cannot be used; see elasticrun {} --help", command,
                                       elastic::in_quotes(argument), command));
    }
    for (const std::string& path : elastic::detail::find_journals(argument)) {
      if (!known.insert(std::filesystem::weakly_canonical(path)).second) continue;
      journals.paths.push_back(path);
      journals.contents.push_back(elastic::detail::read_journal(path));
    }
  }
  return journals;
}

/// Result: the exit code: 0, unless the text could not be written to a reader.
int print(const std::string& text) { return elastic::leave({0, text, false}); }

int explain_journals(const strings& arguments) {
  return print(explain(read_all("explain", arguments).contents));
}

int merge_journals(const strings& arguments) {
  const read_journals journals = read_all("trace", arguments);
  const auto offsets = clock_offsets(journals.contents);
  for (std::size_t index = 0; index < offsets.size(); ++index) {
    if (offsets[index]) continue;
    std::fputs(fmt::format("elasticrun: warning: {} has no round in common with {}: its times are "
                           "those of its own clock\n",
                           elastic::in_quotes(journals.paths[index]),
                           elastic::in_quotes(journals.paths.front()))
                   .c_str(),
               stderr);
  }
  return print(merged_trace(journals.contents));
}

/// Runs a coroutine to its end. Result: the exit code.
int run_to_end(elastic::task<int> work) {
  asio::io_context context(1);
  int code = 1;
  std::exception_ptr failure;
  asio::co_spawn(context, std::move(work), [&](std::exception_ptr thrown, int result) {
    failure = thrown;
    code = result;
  });
  context.run();
  if (failure) std::rethrow_exception(failure);
  return code;
}

/// The exception that ends a command when stdout cannot be written, or nobody reads it.
struct output_lost {
  /// The exit code.
  int code = 0;
};

/// Errors: `output_lost` if the text cannot be written, which has been reported by then.
void show(std::string_view text) {
  if (const int code = print(std::string(text)); code != 0) throw output_lost{code};
}

/// The same for a command that repeats: one whose reader has closed the pipe would never end.
void show_next(std::string_view text) {
  show(text);
  if (std::ferror(stdout) != 0) throw output_lost();
}

int show_status(const strings& arguments) {
  const auto parsed = parse_status_command(arguments, elastic::environment_from(environ));
  if (const auto* exit = std::get_if<elastic::early_exit>(&parsed)) return elastic::leave(*exit);
  const status_query& query = std::get<status_query>(parsed);
  return run_to_end(run_status_command(query, query.repeats ? show_next : show));
}

int show_logs(const strings& arguments) {
  const auto parsed = parse_logs_command(arguments, elastic::environment_from(environ));
  if (const auto* exit = std::get_if<elastic::early_exit>(&parsed)) return elastic::leave(*exit);
  logs_outlets out;
  out.lines = show_next;
  out.notices = [](std::string_view text) {
    std::fflush(stdout);
    std::fputs(std::string(text).c_str(), stderr);
  };
  out.is_terminal = ::isatty(STDOUT_FILENO) == 1;
  return run_to_end(run_logs_command(std::get<logs_query>(parsed), std::move(out)));
}

int show_roles(const strings& arguments) {
  return print(shown_roles(arguments, elastic::environment_from(environ)));
}

int show_stacks(const strings& arguments) {
  const auto parsed = parse_stacks_command(arguments, elastic::environment_from(environ));
  if (const auto* exit = std::get_if<elastic::early_exit>(&parsed)) return elastic::leave(*exit);
  return run_to_end(run_stacks_command(std::get<stacks_query>(parsed), show));
}

elastic::task<int> examine_host(doctor_query query) {
  elastic::task<host_facts> gathering = gather_host_facts(query.environment);
  const host_facts facts = co_await std::move(gathering);
  const std::vector<finding> findings = examine(facts);
  const std::string text =
      query.as_json ? findings_json(findings, facts.host_name) : findings_text(findings);
  const int printed = print(text);
  co_return printed == 0 ? exit_code(findings) : printed;
}

elastic::task<int> examine_job(doctor_query query) {
  const bool is_default = query.meeting.endpoint.empty();
  std::fputs(fmt::format("elasticrun: {} nodes meet at {} (backend {}) for at most {:.0f} s\n",
                         query.meeting.max_nodes,
                         is_default ? "the default endpoint" : query.meeting.endpoint,
                         query.meeting.backend,
                         std::chrono::duration<double>(query.meeting.last_call_timeout).count())
                 .c_str(),
             stderr);
  job_doctor doctor(query);
  elastic::task<job_view> examining = doctor.run();
  const job_view view = co_await std::move(examining);
  const std::vector<finding> findings = examine(view);
  int printed = 0;
  if (doctor.rank() == 0) {
    printed = print(query.as_json ? job_json(view, findings) : findings_text(findings));
  } else {
    std::fputs(fmt::format("elasticrun: {} shows what the nodes found\n",
                           labels_of(view.nodes).front())
                   .c_str(),
               stderr);
  }
  co_return printed == 0 ? exit_code(findings) : printed;
}

int ask_doctor(const strings& arguments) {
  auto parsed = parse_doctor_command(arguments, elastic::environment_from(environ));
  if (const auto* exit = std::get_if<elastic::early_exit>(&parsed)) return elastic::leave(*exit);
  doctor_query& query = std::get<doctor_query>(parsed);
  if (!query.asks_nodes) return run_to_end(examine_host(std::move(query)));
  try {
    return run_to_end(examine_job(std::move(query)));
  } catch (const std::exception& failure) {
    elastic::leave(elastic::refuse(failure.what()));
    return elastic::exit_code(failure);
  }
}

template <elastic::job_command::kind kind>
int send(const strings& arguments) {
  const auto parsed = parse_command_call(kind, arguments);
  if (const auto* exit = std::get_if<elastic::early_exit>(&parsed)) return elastic::leave(*exit);
  return run_to_end(send_command(std::get<command_call>(parsed), show));
}

/// A new command needs a line here and one in `command_rows`.
const std::map<std::string_view, int (*)(const strings&)>& functions() {
  static const std::map<std::string_view, int (*)(const strings&)> table{
      {"checkpoint", send<elastic::job_command::kind::checkpoint>},
      {"doctor", ask_doctor},
      {"drain", send<elastic::job_command::kind::drain>},
      {"explain", explain_journals},
      {"logs", show_logs},
      {"pause", send<elastic::job_command::kind::pause>},
      {"resume", send<elastic::job_command::kind::resume>},
      {"roles", show_roles},
      {"stacks", show_stacks},
      {"status", show_status},
      {"trace", merge_journals},
  };
  return table;
}

}  // namespace

int run_command(const elastic::command_line::facts::command& command, const strings& arguments) {
  const std::string usage =
      fmt::format("Usage: elasticrun {} {}\n\n{}\n", command.word, command.arguments, command.help);
  if (!arguments.empty() && (arguments.front() == "--help" || arguments.front() == "-h")) {
    return elastic::leave({0, usage, false});
  }
  const bool needs_logs = command.arguments.starts_with("LOGDIR");
  if (arguments.empty() && needs_logs) {
    return elastic::leave(
        elastic::refuse(fmt::format("{} needs {}", command.word, "a log directory or a journal")));
  }
  try {
    return functions().at(command.word)(arguments);
  } catch (const output_lost& lost) {
    return lost.code;
  } catch (const std::exception& failure) {
    return elastic::leave(elastic::refuse(failure.what()));
  }
}

}  // namespace elasticrun
