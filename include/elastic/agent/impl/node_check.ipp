// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/node_check.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL void validate(const node_check& check) {
  if (check.command.find('\0') != std::string::npos) {
    throw error(errc::invalid_argument, "the command of the node check has a zero byte in it");
  }
  if (check.timeout <= duration::zero() || check.timeout > limits::node_check_timeout) {
    throw error(errc::invalid_argument,
                fmt::format("the node check's timeout is {} s: more than 0 and at most {} s are "
                            "allowed",
                            std::chrono::duration<double>(check.timeout).count(),
                            limits::node_check_timeout.count()));
  }
}

}  // namespace elastic
