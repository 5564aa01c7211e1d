// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/log.hpp>

namespace elastic {

ELASTIC_DECL logger::logger(std::shared_ptr<log_handler> handler, log_level threshold)
    : handler_(std::move(handler)), threshold_(threshold) {}

}  // namespace elastic
