// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/worker/record.hpp>

#include <elastic/contract/error_file.hpp>

#include <cxxabi.h>

#include <cstdio>
#include <memory>
#include <typeinfo>

namespace elastic::detail {

inline std::string demangled(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  const std::string text = status == 0 && name ? name.get() : type.name();
  // The wrappers that std::throw_with_nested adds to a type in libstdc++ and libc++. Users know
  // only the type itself.
  for (const std::string wrapper : {"std::_Nested_exception<", "std::__1::__nested<"}) {
    if (text.starts_with(wrapper) && text.ends_with('>')) {
      return text.substr(wrapper.size(), text.size() - wrapper.size() - 1);
    }
  }
  return text;
}

ELASTIC_DECL std::string exception_message(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const std::exception& failure) {
    return demangled(typeid(failure)) + ": " + failure.what();
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return type ? demangled(*type) : "an unknown exception";
  }
}

/// The exception nested in this one (std::throw_with_nested), which is its cause; null if there is
/// none.
inline std::exception_ptr exception_cause(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const std::nested_exception& outer) {
    return outer.nested_ptr();
  } catch (...) {
    return nullptr;
  }
}

ELASTIC_DECL std::string exception_chain(std::exception_ptr thrown) {
  constexpr int most = 64;
  std::string chain;
  std::exception_ptr cause = exception_cause(thrown);
  for (int count = 0; cause && count < most; ++count) {
    chain += "\ncaused by " + exception_message(cause);
    cause = exception_cause(cause);
  }
  return chain.empty() ? "" : exception_message(thrown) + chain;
}

ELASTIC_DECL void leave_error(std::exception_ptr thrown, const char* path, std::int64_t timestamp) {
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

}  // namespace elastic::detail
