// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/roles_outcome.hpp>

#include <elastic/base/printable_text.hpp>
#include <elastic/launch/job_outcome.hpp>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL int exit_code(const roles_result& result) {
  run_result as_one;
  as_one.state = result.state;
  as_one.stop_signal = result.stop_signal;
  as_one.is_hopeless = result.is_hopeless;
  return exit_code(as_one);
}

ELASTIC_DECL std::string closing_words(const std::string& name, const roles_result& result) {
  if (result.state == worker_state::succeeded) return {};
  std::string words;
  if (result.state == worker_state::failed) words = fmt::format("\n{}\n", result.reason);
  for (const roles_result::entry& role : result.roles) {
    if (result.state != worker_state::failed || role.name != result.decided_by) continue;
    if (!role.run) continue;
    run_result cause = *role.run;
    cause.log_directory.clear();
    words += closing_words(fmt::format("{}, role {}", name, role.name), cause);
  }
  words += "Roles:\n";
  for (const roles_result::entry& role : result.roles) {
    words += fmt::format("  {}: {}{}\n", role.name, to_string(role.state),
                         role.reason.empty() ? "" : " (" + role.reason + ")");
  }
  if (!result.log_directory.empty()) words += fmt::format("Logs: {}\n", result.log_directory);
  return printable_text(words);
}

}  // namespace elastic
