// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/workers/node_checker.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/process/output_sink.hpp>
#include <elastic/process/process_set.hpp>
#include <elastic/process/stdio.hpp>
#include <elastic/process/stop_plan.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <exception>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::optional<std::string> judge(const shell_command& check,
                                              const node_check_outcome& outcome) {
  std::string sentence;
  if (!outcome.problem.empty()) {
    sentence = fmt::format("the node check went wrong: {}", printable_line(outcome.problem));
  } else if (!outcome.status) {
    sentence = fmt::format("the node check did not end within {} s",
                           std::chrono::duration<double>(check.timeout).count());
  } else if (!outcome.status->is_success()) {
    sentence = fmt::format("the node check failed: {}", outcome.status->text());
  } else {
    return std::nullopt;
  }
  const std::string output = printable_line(outcome.output);
  if (output.empty()) return sentence;
  return fmt::format("{}; it wrote: {}{}", sentence, outcome.is_cut ? "…" : "", output);
}

/// A sink that keeps only the end of its input.
class end_of_output final : public output_sink {
 public:
  task<void> write(std::string_view bytes) override {
    constexpr std::size_t most = limits::node_check_bytes;
    text += bytes.substr(bytes.size() - std::min(bytes.size(), most + 1));
    is_cut = is_cut || bytes.size() > most || text.size() > most;
    if (text.size() > most) text.erase(0, text.size() - most);
    co_return;
  }

  std::string text;
  bool is_cut = false;
};

/// One run of the command.
struct node_look {
  node_look(asio::any_io_executor strand, shell_command chosen, node_check_services services)
      : check(std::move(chosen)),
        time(services.time),
        output(new_shared<end_of_output>()),
        processes(std::move(strand), services_of(std::move(services), output)) {}

  static process_set::services services_of(node_check_services services,
                                           const std::shared_ptr<output_sink>& sink) {
    process_set::services parts;
    parts.launcher = std::move(services.launcher);
    parts.time = std::move(services.time);
    parts.log = std::move(services.log);
    parts.console_out = sink;
    parts.console_err = sink;
    return parts;
  }

  task<void> run(process_set::process program) {
    const time_point deadline = deadline_after(time->now(), check.timeout);
    co_await processes.start(0, program);
    task<process_set::process_end> ending = processes.next_end();
    const std::optional<process_set::process_end> end =
        co_await with_deadline(*time, deadline, std::move(ending));
    if (end) outcome.status = end->status;
  }

  /// Kills whatever is left of the command's processes.
  task<void> end_all() {
    stop_plan at_once;
    at_once.signal = SIGKILL;
    at_once.grace = duration::zero();
    co_await processes.stop(at_once);
  }

  shell_command check;
  std::shared_ptr<time_source> time;
  std::shared_ptr<end_of_output> output;
  process_set processes;
  node_check_outcome outcome;
};

ELASTIC_DECL task<node_check_outcome> look_at_node(asio::any_io_executor strand,
                                                   shell_command check,
                                                   environment_map environment,
                                                   std::string directory,
                                                   node_check_services services) {
  node_look look(std::move(strand), check, std::move(services));
  process_set::process program;
  program.process.program = "/bin/sh";
  program.process.arguments = {"-c", check.command};
  program.process.environment = environment_entries(environment);
  program.process.directory = directory;
  program.has_empty_input = true;
  program.out.kind = output_plan::how::copy;
  program.err.kind = output_plan::how::copy;
  task<void> running = with_cleanup(look.run(program), look.end_all());
  try {
    co_await std::move(running);
  } catch (const std::runtime_error& failure) {
    if (is_cancellation(std::current_exception())) throw;
    look.outcome.problem = failure.what();
  }
  look.outcome.output = look.output->text;
  look.outcome.is_cut = look.output->is_cut;
  co_return std::move(look.outcome);
}

}  // namespace elastic::detail
