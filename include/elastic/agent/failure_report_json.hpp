// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/failure_report.hpp>
#include <elastic/agent/run_result.hpp>
#include <elastic/agent/worker_failure.hpp>

#include <chrono>
#include <string>

#include <nlohmann/json.hpp>

namespace elastic {

namespace detail {

inline nlohmann::ordered_json end_json(const exit_status& status) {
  nlohmann::ordered_json end;
  end["text"] = status.text();
  if (const auto code = status.code()) end["code"] = *code;
  if (const auto number = status.signal()) {
    end["signal"] = *number;
    end["signal_name"] = signal_name(*number);
    end["core_dumped"] = status.core_dumped();
  }
  return end;
}

inline nlohmann::ordered_json failure_json(const worker_failure& failure) {
  nlohmann::ordered_json one;
  one["rank"] = failure.rank;
  one["local_rank"] = failure.local_rank;
  one["group_rank"] = failure.group_rank;
  one["role"] = failure.role;
  one["host"] = failure.host;
  one["pid"] = failure.pid;
  one["time"] = std::chrono::duration<double>(failure.moment().time_since_epoch()).count();
  one["end"] = end_json(failure.status);
  one["stopped_by_agent"] = failure.stopped_by_agent;
  one["out_of_memory"] = failure.out_of_memory;
  if (!failure.core_file.empty()) one["core"] = failure.core_file;
  if (failure.error) {
    one["error_file"] = failure.error_file;
    one["message"] = failure.error->message;
    if (failure.error->callstack) one["callstack"] = *failure.error->callstack;
  }
  if (!failure.last_stderr.empty()) one["last_stderr"] = failure.last_stderr;
  return one;
}

}  // namespace detail

/// The report of a run that did not succeed, for programs: one JSON object, UTF-8, with a line end.
///
///     {"state": "FAILED", "reason": "...", "restarts": 0, "max_restarts": 0,
///      "root_cause": 1,                    // the rank; none where no worker failed
///      "failures": [{"rank": 1, "local_rank": 1, "group_rank": 0, "role": "default",
///                    "host": "...", "pid": 42, "time": 1795170764.9,
///                    "end": {"text": "SIGSEGV", "signal": 11, ...},
///                    "stopped_by_agent": false, "out_of_memory": false, ...}]}
inline std::string failure_report_json(const run_result& result) {
  nlohmann::ordered_json report;
  report["state"] = to_string(result.state);
  report["reason"] = result.reason;
  report["restarts"] = result.restarts;
  report["max_restarts"] = result.max_restarts;
  if (const worker_failure* const root = root_cause(result.failures)) {
    report["root_cause"] = root->rank;
  }
  report["failures"] = nlohmann::ordered_json::array();
  for (const worker_failure& failure : result.failures) {
    report["failures"].push_back(detail::failure_json(failure));
  }
  return report.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace elastic
