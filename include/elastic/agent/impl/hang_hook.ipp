// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/hang_hook.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL void validate(const hang_hook& hook) {
  if (hook.command.find('\0') != std::string::npos) {
    throw error(errc::invalid_argument, "the command of the hang hook has a zero byte in it");
  }
  if (hook.timeout <= duration::zero() || hook.timeout > limits::hang_hook_timeout) {
    throw error(errc::invalid_argument,
                fmt::format("the hang hook's timeout is {} s: more than 0 and at most {} s are "
                            "allowed",
                            std::chrono::duration<double>(hook.timeout).count(),
                            limits::hang_hook_timeout.count()));
  }
}

}  // namespace elastic
