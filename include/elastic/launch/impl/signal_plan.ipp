// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/signal_plan.hpp>

#include <elastic/base/error.hpp>
#include <elastic/process/exit_status.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace elastic {

ELASTIC_DECL void validate(const signal_plan& plan) {
  const auto refuse = [](int number, const char* why) {
    throw error(errc::invalid_argument, fmt::format("{} {}", signal_name(number), why));
  };
  constexpr int kept[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGSEGV, SIGBUS,
                          SIGFPE,  SIGILL,  SIGTRAP, SIGSYS};
  for (const auto* numbers : {&plan.stop, &plan.forward}) {
    for (const int number : *numbers) {
      const bool exists = (number > 0 && number < 32) || (number >= SIGRTMIN && number <= SIGRTMAX);
      const bool is_kept = std::find(std::begin(kept), std::end(kept), number) != std::end(kept);
      if (!exists || is_kept) refuse(number, "cannot be handled: choose such as SIGTERM, SIGUSR1");
    }
  }
  for (const int number : plan.forward) {
    if (std::find(plan.stop.begin(), plan.stop.end(), number) != plan.stop.end()) {
      refuse(number, "cannot both stop the job and be passed on to the workers");
    }
  }
}

}  // namespace elastic
