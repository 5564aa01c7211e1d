// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/lost_agent.hpp>

#include <elastic/base/detail/mount_table.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/process/detail/process_tree.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <fstream>

#include <fmt/format.h>

namespace elasticrun {

namespace {

/// Whether the process already existed at that time, and is not a later one with the same pid.
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

/// Whether a process of this host, in any pid namespace, has a file open for writing: the kernel
/// then refuses a read lease. Empty: the file system cannot tell, such as a network file system.
std::optional<bool> is_being_written(const std::string& path) {
  if (elastic::detail::may_hang(path)) return std::nullopt;
  const elastic::detail::unique_fd file(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  // A process that opens the file for writing now breaks the lease, which sends a signal to this
  // process. The default signal would kill it.
  if (!file || ::fcntl(file.get(), F_SETSIG, SIGURG) != 0) return std::nullopt;
  if (::fcntl(file.get(), F_SETLEASE, F_RDLCK) == 0) {
    ::fcntl(file.get(), F_SETLEASE, F_UNLCK);
    return false;
  }
  return errno == EAGAIN ? std::optional(true) : std::nullopt;
}

/// Whether this process is in the first pid namespace of its host, which contains all others.
bool is_in_first_pid_namespace() {
  // PROC_PID_INIT_INO of the kernel.
  constexpr ino_t first = 0xEFFFFFFC;
  struct stat about {};
  return ::stat("/proc/self/ns/pid", &about) == 0 && about.st_ino == first;
}

}  // namespace

std::optional<bool> loss_of(const agent_traces& seen) {
  if (seen.is_running || seen.is_writing == true) return std::nullopt;
  return seen.is_writing == false || seen.are_all_visible;
}

std::string lost_agent::sentence(const std::string& rest) const {
  if (!is_certain) {
    return fmt::format("Whether the agent (pid {}) still runs cannot be seen from this pid "
                       "namespace; it was last seen at {}: {}\n",
                       pid, date_text(last_time), rest);
  }
  return fmt::format("The agent (pid {}) is gone, and was last seen at {}: {}\n", pid,
                     date_text(last_time), rest);
}

std::optional<lost_agent> find_lost_agent(const elastic::detail::journal_contents& journal,
                                          const std::string& path) {
  const auto began =
      std::find_if(journal.records.rbegin(), journal.records.rend(), [](const auto& record) {
        return record.event.kind == elastic::job_event::type::agent_started && record.event.pid;
      });
  if (began == journal.records.rend()) return std::nullopt;
  const std::string& host = began->event.host.empty() ? began->node : began->event.host;
  if (host != elastic::host_name()) return std::nullopt;
  lost_agent lost;
  lost.pid = static_cast<pid_t>(*began->event.pid);
  agent_traces seen;
  seen.is_running = is_running_since(lost.pid, std::chrono::microseconds(began->time_us));
  if (!seen.is_running) seen.is_writing = is_being_written(path);
  seen.are_all_visible = is_in_first_pid_namespace();
  const std::optional<bool> loss = loss_of(seen);
  if (!loss) return std::nullopt;
  lost.is_certain = *loss;
  lost.last_time = std::chrono::microseconds(journal.records.back().time_us);
  return lost;
}

}  // namespace elasticrun
