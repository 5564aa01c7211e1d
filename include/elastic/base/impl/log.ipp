// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/log.hpp>

#include <mutex>
#include <string>
#include <utility>

namespace elastic {

ELASTIC_DECL logger::logger(std::shared_ptr<log_handler> handler, log_level threshold)
    : handler_(std::move(handler)), threshold_(threshold) {}

ELASTIC_DECL void logger::write(log_level level, fmt::string_view text,
                                fmt::format_args arguments) const {
  if (!is_enabled(level)) return;
  const std::string line = fmt::vformat(text, arguments);
  const std::lock_guard lock(handler_->mutex_);
  handler_->write(level, line);
}

}  // namespace elastic
