// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/failure_report_json.hpp>

#include <elastic/agent/failure_report.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/detail/json.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/exit_status.hpp>

#include <chrono>

namespace elastic {

namespace detail {

inline nlohmann::ordered_json end_json(const exit_status& status) {
  nlohmann::ordered_json end;
  end["text"] = status.text();
  if (const auto code = status.code()) end["code"] = *code;
  if (const auto number = status.signal()) {
    end["signal"] = *number;
    end["signal_name"] = signal_name(*number);
    end["core_dumped"] = status.has_dumped_core();
  }
  return end;
}

inline nlohmann::ordered_json failure_json(const run_result::failure& failure) {
  nlohmann::ordered_json object;
  object["rank"] = failure.rank;
  object["local_rank"] = failure.local_rank;
  object["group_rank"] = failure.group_rank;
  object["role"] = failure.role;
  object["host"] = failure.host;
  object["pid"] = failure.pid;
  object["time"] = std::chrono::duration<double>(failure.moment().time_since_epoch()).count();
  object["end"] = end_json(failure.status);
  object["stopped_by_agent"] = failure.stopped_by_agent;
  object["out_of_memory"] = failure.out_of_memory;
  if (!failure.full_disk.empty()) object["full_disk"] = failure.full_disk;
  if (!failure.stall.empty()) object["stall"] = failure.stall;
  if (!failure.core_file.empty()) object["core"] = failure.core_file;
  if (failure.error) {
    object["error_file"] = failure.error_file;
    object["message"] = failure.error->message;
    if (failure.error->callstack) object["callstack"] = *failure.error->callstack;
  }
  if (!failure.last_stderr.empty()) object["last_stderr"] = failure.last_stderr;
  return object;
}

}  // namespace detail

ELASTIC_DECL std::string failure_report_json(const run_result& result) {
  nlohmann::ordered_json report;
  report["state"] = to_string(result.state);
  report["reason"] = result.reason;
  report["restarts"] = result.restarts;
  report["max_restarts"] = result.max_restarts;
  if (result.starts.all() > 0) {
    report["warm_starts"] = result.starts.warm;
    report["cold_starts"] = result.starts.all_cold();
  }
  for (const auto& [rank, count] : result.replacements.by_rank) {
    nlohmann::ordered_json entry;
    entry["rank"] = rank;
    entry["count"] = count;
    report["replacements"].push_back(std::move(entry));
  }
  if (const run_result::failure* const root = root_cause(result.failures)) {
    report["root_cause"] = root->rank;
  }
  report["failures"] = nlohmann::ordered_json::array();
  for (const run_result::failure& failure : result.failures) {
    report["failures"].push_back(detail::failure_json(failure));
  }
  return report.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace elastic
