// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/log.hpp>

#include <utility>

namespace elastic {

ELASTIC_DECL logger::logger(std::shared_ptr<log_handler> handler, log_level threshold)
    : handler_(std::move(handler)), threshold_(threshold) {}

ELASTIC_DECL void logger::write(log_level level, fmt::string_view text,
                                fmt::format_args arguments) const {
  if (enabled(level)) handler_->write(level, fmt::vformat(text, arguments));
}

}  // namespace elastic
