// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <optional>
#include <string>

namespace elastic {

/// "SIGKILL" for 9; "signal 42" for a number that has no name.
ELASTIC_DECL std::string signal_name(int number);

/// The end of a process: its own exit code *or* a signal; the two are never mapped to one number.
///
/// Two more values describe a process whose status cannot be known. Both count as failures.
/// `unknown`: other code in the host process took the status (it calls `wait(-1)` or ignores
/// SIGCHLD). `guard_lost`: the guard was killed, and the process died with it.
class exit_status {
 public:
  /// `unknown`.
  exit_status() = default;
  static exit_status exited(int code) { return {kind::exited, code, false}; }
  ELASTIC_DECL static exit_status signalled(int number, bool core_dumped = false);
  static exit_status unknown() { return {}; }
  static exit_status guard_lost() { return {kind::guard_lost, 0, false}; }

  bool is_success() const { return kind_ == kind::exited && value_ == 0; }
  /// The exit code, if the process exited by itself.
  std::optional<int> code() const { return only(kind::exited); }
  /// The signal's number, if a signal ended the process.
  std::optional<int> signal() const { return only(kind::signalled); }
  bool has_dumped_core() const { return core_dumped_; }

  /// The number that Python and torchrun show: the exit code, or the negative signal number; 255 if
  /// neither is known.
  ELASTIC_DECL int as_python() const;

  /// "exit code 3", "SIGKILL", "SIGSEGV (core dumped)", "unknown status (…)".
  ELASTIC_DECL std::string text() const;

  friend bool operator==(const exit_status&, const exit_status&) = default;

 private:
  enum class kind { exited, signalled, unknown, guard_lost };
  ELASTIC_DECL exit_status(kind how, int value, bool core_dumped);
  ELASTIC_DECL std::optional<int> only(kind wanted) const;

  kind kind_ = kind::unknown;
  int value_ = 0;
  bool core_dumped_ = false;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/impl/exit_status.ipp>
#endif
