// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/time.hpp>
#include <elastic/contract/error_file.hpp>

#include <cxxabi.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <utility>

namespace elastic {

namespace detail {

inline std::string demangled(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  const std::string text = status == 0 && name ? name.get() : type.name();
  // What std::throw_with_nested makes of a type, in libstdc++ and libc++; users know the type.
  for (const std::string wrapper : {"std::_Nested_exception<", "std::__1::__nested<"}) {
    if (text.starts_with(wrapper) && text.ends_with('>')) {
      return text.substr(wrapper.size(), text.size() - wrapper.size() - 1);
    }
  }
  return text;
}

/// "std::runtime_error: the text"; an exception that is no std::exception has its type alone.
inline std::string exception_message(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const std::exception& failure) {
    return demangled(typeid(failure)) + ": " + failure.what();
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return type ? demangled(*type) : "an unknown exception";
  }
}

/// The exception that this one was nested in (std::throw_with_nested); null where there is none.
inline std::exception_ptr exception_cause(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const std::nested_exception& outer) {
    return outer.nested_ptr();
  } catch (...) {
    return nullptr;
  }
}

/// The message and, a line each, the causes that were nested in it; empty where there were none.
inline std::string exception_chain(std::exception_ptr thrown) {
  constexpr int most = 64;
  std::string chain;
  std::exception_ptr cause = exception_cause(thrown);
  for (int count = 0; cause && count < most; ++count) {
    chain += "\ncaused by " + exception_message(cause);
    cause = exception_cause(cause);
  }
  return chain.empty() ? "" : exception_message(thrown) + chain;
}

/// Says the failure on stderr and leaves it in the error file, where the agent named one.
inline void leave_error(std::exception_ptr thrown, const char* path, std::int64_t timestamp) {
  const std::string message = exception_message(thrown);
  const std::string chain = exception_chain(thrown);
  std::fprintf(stderr, "%s\n", chain.empty() ? message.c_str() : chain.c_str());
  if (!path || *path == '\0') return;
  try {
    write_error_file(path, error_file_text(message, chain, timestamp));
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
  }
}

}  // namespace detail

/// Runs the main function of a worker so that the reason of its failure reaches the agent's report:
/// `int main() { return elastic::record(&train); }`.
///
/// What `body` throws is written to stderr and, in torchelastic's form, to the file that the agent
/// named in TORCHELASTIC_ERROR_FILE: the exception's type and text, and the exceptions nested in it
/// (std::throw_with_nested). Without that variable, as when the program is started by hand, it
/// goes to stderr alone. A signal or a call of std::exit leaves nothing.
///
/// Result: for main to return: what `body` returns (0 where it returns nothing), 1 where it threw.
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
