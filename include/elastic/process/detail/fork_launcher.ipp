// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/fork_launcher.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/process/detail/pidfd_child.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic::detail {

/// Whether a thread of this process is a kernel thread (an io_uring worker), by its line in /proc.
/// Fork does not copy it, and it holds no lock of the program.
inline bool is_kernels_thread(const std::string& stat_line) {
  constexpr unsigned long io_worker = 0x10;
  const std::size_t name_end = stat_line.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream rest(stat_line.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 9; ++field) rest >> skipped;
  unsigned long flags = 0;
  rest >> flags;
  return (flags & io_worker) != 0;
}

/// How many threads of the program this process has, without kernel threads. Errors:
/// `errc::start_failed` if /proc does not say.
inline int own_threads() {
  std::error_code failure;
  int count = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/task", failure), end;
       !failure && entry != end; entry.increment(failure)) {
    std::string line;
    std::getline(std::ifstream(entry->path() / "stat"), line);
    if (!is_kernels_thread(line)) ++count;
  }
  if (count > 0 && !failure) return count;
  throw error(errc::start_failed,
              "no worker can be forked: /proc does not say how many threads this process has");
}

ELASTIC_DECL fork_launcher::fork_launcher(std::function<int()> body, logger log,
                                          const syscalls& calls)
    : body_(std::move(body)), log_(std::move(log)), calls_(calls) {}

ELASTIC_DECL task<std::unique_ptr<child>> fork_launcher::launch(process_spec spec) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  if (const int threads = own_threads(); threads != 1) {
    throw error(errc::start_failed,
                fmt::format("a worker can be forked only where this process has one thread, it "
                            "has {}: start it by start_method::spawn",
                            threads));
  }
  if (!std::exchange(is_noted_, true)) {
    log_.info(
        "forked workers have no guard: they die with this program, what they leave behind "
        "may outlive them");
  }
  const spawn_result started = start(spec);
  if (started.failure) throw_start_error(spec, spec.program, started);
  co_return std::make_unique<pidfd_child>(executor, started.pid, started.pidfd, calls_,
                                          linger_of(spec));
}

ELASTIC_DECL spawn_result fork_launcher::start(const process_spec& spec) {
  spawn_result result;
  result.stage = spawn_stage::clone;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    result.failure = errno;
    return result;
  }
  unique_fd ours(ends[0]);
  unique_fd theirs(ends[1]);
  // Otherwise each copy would write the buffered output again.
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  std::array<unsigned long, signal_words> every_signal;
  std::array<unsigned long, signal_words> before{};
  every_signal.fill(~0UL);
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, every_signal.data(), before.data(),
            kernel_signal_bytes);
  const pid_t pid = ::fork();
  if (pid == 0) {
    // If the copy kept our end open, it would never see the end of its own socket.
    ours.reset();
    run_copy(spec, parent, theirs.release());
  }
  const int fork_error = errno;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, before.data(), nullptr, kernel_signal_bytes);
  if (pid < 0) {
    result.failure = fork_error;
    return result;
  }
  theirs.reset();
  // The copy waits for our message, so its pid cannot have been reused.
  unique_fd pidfd(calls_.pidfd_open(pid));
  if (!pidfd) {
    result.failure = errno;
    ours.reset();
    siginfo_t ignored{};
    uninterrupted([&] { return calls_.waitid(P_PID, static_cast<id_t>(pid), &ignored, WEXITED); });
    return result;
  }
  report news{ECHILD, spawn_stage::clone};
  uninterrupted([&] { return ::recv(ours.get(), &news, sizeof news, 0); });
  if (news.failure == 0) {
    const char go = 1;
    ::send(ours.get(), &go, 1, MSG_NOSIGNAL);
    result.pid = pid;
    result.pidfd = pidfd.release();
    return result;
  }
  result.failure = news.failure;
  result.stage = news.stage;
  siginfo_t ignored{};
  uninterrupted([&] {
    return calls_.waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd.get()), &ignored,
                         WEXITED);
  });
  return result;
}

ELASTIC_DECL void fork_launcher::run_copy(const process_spec& spec, pid_t parent,
                                          int socket) noexcept {
  const std::vector<unsigned long> processors = spec.processors.mask();
  child_plan plan{.calls = &calls_,
                  .path = nullptr,
                  .arguments = nullptr,
                  .environment = nullptr,
                  .directory = spec.directory.empty() ? nullptr : spec.directory.c_str(),
                  .processors = processors.empty() ? nullptr : processors.data(),
                  .processor_bytes = processors.size() * sizeof(unsigned long),
                  .ignored_signals = signal_bits(spec.ignored_signals),
                  .open_files = nullptr,
                  .streams = {spec.stdin_fd, spec.stdout_fd, spec.stderr_fd},
                  .passed = {-1, -1, spec.passed_fd},
                  .program = socket,
                  .parent = parent,
                  .die_with_parent = true};
  report news{0, arrange(plan)};
  if (news.stage != spawn_stage::execute) news.failure = errno;
  char go = 0;
  const bool is_wanted = ::send(plan.program, &news, sizeof news, MSG_NOSIGNAL) > 0 &&
                         news.failure == 0 &&
                         uninterrupted([&] { return ::recv(plan.program, &go, 1, 0); }) == 1;
  ::close(plan.program);
  if (!is_wanted) ::_exit(127);
  take_environment(spec);
  static constexpr std::array<unsigned long, signal_words> no_signals{};
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, no_signals.data(), nullptr, kernel_signal_bytes);
#if defined(__GLIBC__)
  // Handlers run in reverse order, so this one runs first: if the function calls std::exit, the
  // copy calls none of the handlers that this process had registered.
  ::on_exit([](int status, void*) { leave(status); }, nullptr);
#endif
  leave(body_());
}

ELASTIC_DECL void fork_launcher::leave(int code) {
  std::fflush(nullptr);
  ::_exit(code);
}

ELASTIC_DECL spawn_stage fork_launcher::arrange(child_plan& plan) {
  reset_signal_handling(plan);
  if (plan.calls->set_session() < 0) return spawn_stage::session;
  if (plan.calls->die_with_parent() < 0) return spawn_stage::parent_death;
  if (::getppid() != plan.parent) ::_exit(127);
  if (!take_processors(plan)) return spawn_stage::processors;
  if (plan.directory && plan.calls->change_directory(plan.directory) < 0) {
    return spawn_stage::directory;
  }
  // Standard streams that were closed and whose numbers now belong to private descriptors of this
  // process.
  for (int target = 0; target < 3; ++target) {
    if (plan.streams[target] >= 0 || !is_private(target)) continue;
    plan.streams[target] = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  }
  // The socket may have one of these numbers.
  constexpr int first_free = first_passed + passed_places;
  if (plan.program < first_free) {
    plan.program = ::fcntl(plan.program, F_DUPFD_CLOEXEC, first_free);
  }
  if (plan.program < 0 || !arrange_streams(plan) || !pass_descriptors(plan)) {
    return spawn_stage::streams;
  }
  close_others(plan);
  return spawn_stage::execute;
}

ELASTIC_DECL void fork_launcher::take_environment(const process_spec& spec) {
  ::clearenv();
  for (const std::string& entry : spec.environment) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    ::setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
  }
}

}  // namespace elastic::detail
