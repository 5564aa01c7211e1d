// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/signal_plan.hpp>

#include <elastic/base/error.hpp>
#include <elastic/process/detail/signal_number.hpp>
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
  for (const auto* numbers : {&plan.stop, &plan.forward, &plan.preempt}) {
    for (const int number : *numbers) {
      const bool is_kept = std::find(std::begin(kept), std::end(kept), number) != std::end(kept);
      if (!detail::is_signal(number) || is_kept) {
        refuse(number, "cannot be handled: choose such as SIGTERM, SIGUSR1");
      }
    }
  }
  const auto is_in = [](const std::vector<int>& numbers, int number) {
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
  };
  for (const int number : plan.forward) {
    if (is_in(plan.stop, number)) {
      refuse(number, "cannot both stop the job and be passed on to the workers");
    }
  }
  for (const int number : plan.preempt) {
    if (is_in(plan.stop, number)) {
      refuse(number, "stops the job already, and cannot act as SIGTERM too");
    }
    if (is_in(plan.forward, number)) {
      refuse(number, "cannot both act as SIGTERM and be passed on to the workers");
    }
  }
}

}  // namespace elastic
