// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/contract/detail/call_memfd.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/contract/error_file.hpp>
#include <elastic/contract/function_call.hpp>
#include <elastic/process/process_spec.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic::detail {

/// The calls of a function by the workers of an attempt, by local rank. Each worker shares a file
/// in memory with this process, which carries the arguments and later the answer.
///
/// Thread-safety: one strand at a time.
class worker_calls {
 public:
  /// @param workers  0 if the workers run programs
  explicit worker_calls(std::size_t workers = 0) : files_(workers) {}

  /// Makes a process call the function. Errors: `errc::start_failed`.
  void add(std::size_t slot, const function_call& call, process_spec& process) {
    const auto workers = static_cast<int>(files_.size());
    files_.at(slot) = call_memfd::make(call.arguments, return_value_bound(workers));
    process.stdin_fd = files_[slot].descriptor();
    const std::string variable = std::string(entrypoint_variable) + "=";
    std::erase_if(process.environment,
                  [&](const std::string& entry) { return entry.starts_with(variable); });
    process.environment.push_back(variable + call.name);
  }

  /// Takes over the call of a worker that outlives its attempt.
  void keep(std::size_t slot, worker_calls& previous) {
    if (!files_.empty()) files_.at(slot) = std::move(previous.files_.at(slot));
  }

  /// Whether the workers call a function.
  bool is_used() const { return !files_.empty(); }

  /// The return value, as JSON, of a worker that has ended with success.
  /// Errors: `errc::protocol_violation` if there is no valid value.
  std::string value(std::size_t slot) const {
    call_answer answer = files_.at(slot).answer();
    if (answer.kind == call_answer::content::garbage) {
      throw error(errc::protocol_violation, answer.text);
    }
    if (answer.kind != call_answer::content::value) {
      throw error(errc::protocol_violation, "it ended before its function returned");
    }
    check_call_text(answer.text, "it");
    return std::move(answer.text);
  }

  /// The exception that ended the function of a worker; empty if none did.
  std::optional<error_file_content> failure(std::size_t slot) const {
    if (files_.empty()) return std::nullopt;
    const call_answer answer = files_.at(slot).answer();
    if (answer.kind != call_answer::content::failure) return std::nullopt;
    return parse_error_file(answer.text);
  }

 private:
  std::vector<call_memfd> files_;
};

}  // namespace elastic::detail
