// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cerrno>
#include <string>
#include <system_error>

namespace elastic {

/// The errors of this library, with one code for each error to which a caller can react. Values are
/// part of the interface and never change.
enum class errc {
  /// A value given by the caller is not allowed; the message says what is allowed.
  invalid_argument = 1,
  /// The time limit of the operation has passed.
  timed_out = 2,
  /// The service at the other end cannot be reached or the connection to it broke.
  connection_failed = 3,
  /// Bytes from outside violate the protocol or one of its limits.
  protocol_violation = 4,
  /// The program of a worker cannot be found.
  program_not_found = 5,
  /// The program of a worker exists but cannot be executed.
  program_not_executable = 6,
  /// A worker could not be started for another reason of the operating system.
  start_failed = 7,
  /// The rendezvous is closed: the job has failed, or was ended, for every node.
  rendezvous_closed = 8,
  /// The rendezvous did not complete within the join timeout.
  rendezvous_timeout = 9,
  /// The state kept by the rendezvous backend cannot be understood.
  rendezvous_state = 10,
  /// A file or directory cannot be read, written or created.
  file_access = 11,
  /// The address is in use by another program.
  address_in_use = 12,
  /// The object was stopped or closed while the operation waited.
  stopped = 13,
  /// The value in the store does not suit the operation (such as text where a number is needed).
  store_value = 14,
  /// The other side does not know the operation.
  not_supported = 15,
  /// The rendezvous is closed: the job has succeeded.
  rendezvous_finished = 16,
  /// A process that was killed does not end, because it waits in the kernel for a device or a file
  /// server.
  process_stuck = 17,
};

/// The category of `errc`.
ELASTIC_DECL const std::error_category& error_category() noexcept;

inline std::error_code make_error_code(errc value) noexcept {
  return {static_cast<int>(value), error_category()};
}

/// The exception of this library at its public boundary: a code for the program, and one sentence
/// that says what was wrong, with the names and values that the user needs to act.
class ELASTIC_EXPORT error : public std::system_error {
 public:
  error(errc code, const std::string& sentence)
      : std::system_error(make_error_code(code)), sentence_(sentence) {}

  /// The sentence alone, without the text of the code.
  ELASTIC_DECL const char* what() const noexcept override;

 private:
  std::string sentence_;
};

/// "No such file or directory" for ENOENT: the text of an `errno` value.
inline std::string errno_text(int number) { return std::generic_category().message(number); }

}  // namespace elastic

template <>
struct std::is_error_code_enum<elastic::errc> : std::true_type {};

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/impl/error.ipp>
#endif
