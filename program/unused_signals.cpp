// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/unused_signals.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/process/exit_status.hpp>

#include <signal.h>

#include <algorithm>
#include <set>
#include <string>

#include <fmt/format.h>

namespace elasticrun {

namespace {

/// Whether the plan does not use a signal, which would then end this process by default.
bool is_unused(const elastic::signal_plan& plan, int number) {
  for (const auto* numbers : {&plan.stop, &plan.forward, &plan.preempt}) {
    if (std::find(numbers->begin(), numbers->end(), number) != numbers->end()) return false;
  }
  struct sigaction action{};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_DFL;
}

std::string unused_signal_notice(int number) {
  const std::string name = elastic::signal_name(number);
  return fmt::format(
      "{} received and ignored: the job goes on; --preempt-signal {} would end it as SIGTERM does, "
      "--forward-signals {} would pass the signal on to the workers",
      name, name, name);
}

}  // namespace

elastic::task<void> report_unused_signals(elastic::signal_plan plan, elastic::logger log) {
  asio::signal_set signals(co_await asio::this_coro::executor);
  for (const int number : {SIGUSR1, SIGUSR2}) {
    if (is_unused(plan, number)) signals.add(number);
  }
  std::set<int> reported;
  for (;;) {
    const int number = co_await signals.async_wait(asio::use_awaitable);
    if (reported.insert(number).second) log.warning("{}", unused_signal_notice(number));
  }
}

}  // namespace elasticrun
