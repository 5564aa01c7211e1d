// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/role_log.hpp>

#include <elastic/base/detail/new_shared.hpp>

#include <string_view>
#include <utility>

namespace elastic::detail {

class role_log_handler final : public log_handler {
 public:
  role_log_handler(std::string name, logger log) : name_(std::move(name)), log_(std::move(log)) {}

  void write(log_level level, std::string_view text) noexcept override {
    switch (level) {
      case log_level::debug: return log_.debug("{}: {}", name_, text);
      case log_level::info: return log_.info("{}: {}", name_, text);
      case log_level::warning: return log_.warning("{}: {}", name_, text);
      case log_level::error: return log_.error("{}: {}", name_, text);
      case log_level::off: return;
    }
  }

 private:
  std::string name_;
  logger log_;
};

ELASTIC_DECL logger log_of_role(const std::string& name, const logger& log) {
  for (const log_level level :
       {log_level::debug, log_level::info, log_level::warning, log_level::error}) {
    if (log.is_enabled(level)) return logger(new_shared<role_log_handler>(name, log), level);
  }
  return {};
}

}  // namespace elastic::detail
