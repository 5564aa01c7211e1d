// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>

namespace elastic {

namespace detail {

class error_category_type final : public std::error_category {
 public:
  const char* name() const noexcept override { return "elastic"; }
  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::invalid_argument: return "invalid argument";
      case errc::timed_out: return "timed out";
      case errc::connection_failed: return "connection failed";
      case errc::protocol_violation: return "protocol violation";
      case errc::program_not_found: return "program not found";
      case errc::program_not_executable: return "program not executable";
      case errc::start_failed: return "start failed";
      case errc::rendezvous_closed: return "rendezvous closed";
      case errc::rendezvous_timeout: return "rendezvous timed out";
      case errc::rendezvous_state: return "rendezvous state not understood";
      case errc::file_access: return "file access failed";
      case errc::address_in_use: return "address in use";
      case errc::stopped: return "stopped";
      case errc::store_value: return "unexpected value in the store";
      case errc::not_supported: return "not supported by the other side";
      case errc::rendezvous_finished: return "rendezvous finished";
      case errc::process_stuck: return "process stuck";
    }
    return "unknown error";
  }
};

}  // namespace detail

ELASTIC_DECL const std::error_category& error_category() noexcept {
  static const detail::error_category_type category;
  return category;
}

ELASTIC_DECL const char* error::what() const noexcept { return sentence_.c_str(); }

}  // namespace elastic
