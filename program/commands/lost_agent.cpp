// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/lost_agent.hpp>

#include <elastic/base/time.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/process/detail/process_tree.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <ctime>
#include <fstream>

#include <fmt/format.h>

namespace elasticrun {

namespace {

/// Whether a process is the one that was there at that time, and not a later one with its number.
bool is_running_since(pid_t pid, std::chrono::microseconds wall_time) {
  const auto process = elastic::detail::read_process(pid);
  if (!process || process->dead()) return false;
  // The first number is the seconds since the boot.
  double uptime = 0;
  std::ifstream("/proc/uptime") >> uptime;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  const double age = uptime - static_cast<double>(process->start_time) / ticks;
  const auto now = elastic::system_time().wall_now().time_since_epoch();
  const std::chrono::duration<double> since = now - wall_time;
  // The clock may have been set meanwhile.
  constexpr double tolerance = 60;
  return age + tolerance >= since.count();
}

/// "2026-11-27 06:16:29 UTC"
std::string date_text(std::chrono::microseconds wall_time) {
  const auto seconds =
      static_cast<std::time_t>(std::chrono::duration_cast<std::chrono::seconds>(wall_time).count());
  std::tm fields{};
  std::array<char, 32> text{};
  ::gmtime_r(&seconds, &fields);
  const std::size_t size = std::strftime(text.data(), text.size(), "%F %T UTC", &fields);
  return {text.data(), size};
}

}  // namespace

std::string lost_agent::sentence(const std::string& rest) const {
  return fmt::format("The agent (pid {}) is gone, and was last seen at {}: {}\n", pid,
                     date_text(last_time), rest);
}

std::optional<lost_agent> find_lost_agent(const elastic::detail::journal_contents& journal) {
  const auto began =
      std::find_if(journal.records.rbegin(), journal.records.rend(), [](const auto& record) {
        return record.event.kind == elastic::job_event::type::agent_started && record.event.pid;
      });
  if (began == journal.records.rend()) return std::nullopt;
  const std::string& host = began->event.host.empty() ? began->node : began->event.host;
  if (host != elastic::host_name()) return std::nullopt;
  lost_agent lost;
  lost.pid = static_cast<pid_t>(*began->event.pid);
  if (is_running_since(lost.pid, std::chrono::microseconds(began->time_us))) return std::nullopt;
  lost.last_time = std::chrono::microseconds(journal.records.back().time_us);
  return lost;
}

}  // namespace elasticrun
