// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <string>
#include <type_traits>
#include <utility>

namespace elastic {

namespace detail {

/// "std::runtime_error: the text"; only the type if the exception is not a std::exception.
ELASTIC_DECL std::string exception_message(std::exception_ptr thrown);

/// The message and the nested causes, one line each; empty if there are no causes.
ELASTIC_DECL std::string exception_chain(std::exception_ptr thrown);

/// Writes the failure to stderr and, if the agent named one, to the error file.
ELASTIC_DECL void leave_error(std::exception_ptr thrown, const char* path, std::int64_t timestamp);

}  // namespace detail

/// Runs the main function of a worker so that the reason of a failure appears in the agent's
/// report: `int main() { return elastic::record(&train); }`.
///
/// What `body` throws is written to stderr and, in torchelastic's form, to the file that the agent
/// named in TORCHELASTIC_ERROR_FILE: the exception's type and text, and the exceptions nested in it
/// (std::throw_with_nested). Without that variable, for example when the program is started by
/// hand, it goes only to stderr. A signal or a call of std::exit leaves no error file.
///
/// Result: the value for main to return: the result of `body` (0 if it returns nothing), or 1 if it
/// threw.
/// Errors: none. Thread-safety: once per process, on the main thread.
template <class Body>
int record(Body&& body) {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      std::forward<Body>(body)();
      return 0;
    } else {
      return std::forward<Body>(body)();
    }
  } catch (...) {
    const auto now = system_time().wall_now().time_since_epoch();
    detail::leave_error(std::current_exception(), std::getenv("TORCHELASTIC_ERROR_FILE"),
                        std::chrono::floor<std::chrono::seconds>(now).count());
    return 1;
  }
}

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/worker/impl/record.ipp>
#endif
