// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/guarded_launcher.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/detail/guarded_child.hpp>
#include <elastic/process/detail/limit_reached.hpp>
#include <elastic/process/detail/program_path.hpp>
#include <elastic/process/detail/reaper.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// The first message of a guard, or the fact that it ended without one.
struct guard_greeting {
  std::optional<received_news> news;
  bool has_ended = false;

  bool has_come() const { return news || has_ended; }
};

/// A guard that was started and has not handed over its worker. One that is dropped, for example
/// with the execution context, is left to the reaper.
class unmet_guard {
 public:
  unmet_guard(const asio::any_io_executor& executor, unique_fd descriptor, const syscalls& calls)
      : pidfd(executor), reaper_(reaper::of(executor)), calls_(calls) {
    pidfd.assign(descriptor.release());
  }
  unmet_guard(const unmet_guard&) = delete;
  unmet_guard& operator=(const unmet_guard&) = delete;
  ~unmet_guard() {
    if (pidfd.is_open()) reaper_.adopt(std::move(pidfd), calls_);
  }

  asio::posix::stream_descriptor pidfd;

 private:
  reaper& reaper_;
  const syscalls& calls_;
};

inline task<void> wait_for_greeting(asio::posix::stream_descriptor& socket,
                                    guard_greeting& greeting) {
  for (;;) {
    greeting.news = receive_news(socket.native_handle(), greeting.has_ended);
    if (greeting.has_come()) co_return;
    co_await socket.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
  }
}

/// The same, but also continues a guard that was stopped. The worker may have stopped it: it may
/// run already.
inline task<void> wait_and_wake(asio::posix::stream_descriptor& socket, int guard,
                                const syscalls& calls, guard_greeting& greeting) {
  system_time time;
  for (;;) {
    const time_point silence_ends = deadline_after(time.now(), limits::guard_silence);
    task<void> waiting = wait_for_greeting(socket, greeting);
    if (co_await with_deadline(time, silence_ends, std::move(waiting))) co_return;
    calls.pidfd_send_signal(guard, SIGCONT, 0);
  }
}

inline task<void> wait_a_little_longer(asio::posix::stream_descriptor& socket, int guard,
                                       const syscalls& calls, guard_greeting& greeting) {
  if (greeting.has_come()) co_return;
  // The guard may have been stopped, for example by a pkill that matched the worker's command line.
  calls.pidfd_send_signal(guard, SIGCONT, 0);
  system_time time;
  task<void> waiting = wait_for_greeting(socket, greeting);
  co_await with_deadline(time, deadline_after(time.now(), limits::guard_after_cancel),
                         std::move(waiting));
}

/// A worker that was started must be handed over, so even after a cancellation the guard gets a
/// little time to report it. Result: empty if it did not.
inline task<guard_greeting> meet_guard(asio::posix::stream_descriptor& socket, int guard,
                                       const syscalls& calls) {
  guard_greeting greeting;
  try {
    co_await with_cleanup(wait_and_wake(socket, guard, calls, greeting),
                          wait_a_little_longer(socket, guard, calls, greeting));
  } catch (const asio_system_error& failure) {
    if (failure.code() != asio::error::operation_aborted) throw;
  }
  co_return std::move(greeting);
}

}  // namespace detail

ELASTIC_DECL guarded_launcher::guarded_launcher(asio::any_io_executor executor)
    : guarded_launcher(std::move(executor), options()) {}

ELASTIC_DECL guarded_launcher::guarded_launcher(asio::any_io_executor executor, options settings)
    : guarded_launcher(std::move(executor), std::move(settings), detail::real_syscalls) {}

ELASTIC_DECL guarded_launcher::guarded_launcher(asio::any_io_executor executor, options settings,
                                                const detail::syscalls& calls)
    : executor_(std::move(executor)),
      options_(std::move(settings)),
      calls_(calls),
      sources_(options_.guard_file),
      unguarded_(executor_, options_.unguarded, calls),
      is_guarding_(options_.policy != guard_policy::none) {}

ELASTIC_DECL task<std::unique_ptr<child>> guarded_launcher::launch(process_spec spec) {
  if (is_guarding_) {
    detail::refuse_unusable(spec);
    task<std::string> finding = detail::find_program_on_thread(spec);
    const std::string path = co_await std::move(finding);
    // The start may have been cancelled just as the lookup finished: nobody would then wait for the
    // guard.
    const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) {
      throw detail::asio_system_error(asio::error::operation_aborted);
    }
    task<std::optional<started_guard>> starting = start_guard(spec, path);
    std::optional<started_guard> started = co_await std::move(starting);
    if (started) {
      std::unique_ptr<child> worker = co_await meet(spec, path, std::move(*started));
      if (worker) co_return worker;
    }
  } else if (options_.policy == guard_policy::none && !std::exchange(is_unheld_noted_, true)) {
    log_unguarded("");
  }
  co_return co_await unguarded_.launch(std::move(spec));
}

ELASTIC_DECL auto guarded_launcher::start_guard(const process_spec& spec, const std::string& path)
    -> task<std::optional<started_guard>> {
  for (;;) {
    if (!file_ && !take_next_source()) co_return std::nullopt;
    const std::shared_ptr<const detail::guard_file> file = file_;
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      const int number = errno;
      const std::string why = errno_text(number);
      if (is_forbidden(number)) {
        give_up(fmt::format("no socket can be created: {}", why));
        co_return std::nullopt;
      }
      throw error(errc::start_failed,
                  fmt::format("program '{}' cannot be started: {} (a socket to its guard){}", path,
                              why, detail::limit_reached(number)));
    }
    detail::unique_fd ours(ends[0]);
    const detail::unique_fd theirs = detail::above_passed(detail::unique_fd(ends[1]));
    task<detail::spawn_result> spawning = spawn_guard(spec, path, file, theirs.get());
    const detail::spawn_result result = co_await std::move(spawning);
    if (!result.failure) {
      started_guard started{file, std::move(ours), detail::unique_fd(result.pidfd)};
      co_return std::move(started);
    }
    if (result.stage != detail::spawn_stage::execute || result.failure == E2BIG) {
      detail::throw_start_error(spec, path, result);
    }
    // This file cannot be executed here; perhaps the next one can, which another start that failed
    // with this file may have taken already.
    if (file_ != file) continue;
    add_problem(file->name, errno_text(result.failure));
    file_.reset();
  }
}

ELASTIC_DECL task<detail::spawn_result> guarded_launcher::spawn_guard(
    const process_spec& spec, const std::string& path,
    std::shared_ptr<const detail::guard_file> file, int socket) {
  if (!agent_) agent_ = detail::open_own_pidfd(calls_);
  const bool must_hold = options_.policy == guard_policy::required;
  const char* const promise = must_hold ? detail::guard_must_hold : detail::guard_may_fail;
  std::string linger = std::to_string(detail::linger_of(spec).count());
  std::vector<char*> arguments{const_cast<char*>(detail::guard_version), const_cast<char*>(promise),
                               linger.data(), const_cast<char*>(path.c_str())};
  for (char* argument : detail::pointers_to(&spec.program, spec.arguments))
    arguments.push_back(argument);
  const detail::spawn_request request{.spec = spec,
                                      .path = file->name,
                                      .arguments = std::move(arguments),
                                      .open_files = options_.unguarded.open_files,
                                      .program = file->fd.get(),
                                      .passed = {socket, agent_.get()}};
  if (options_.spawner) {
    task<std::optional<detail::spawn_result>> spawning = options_.spawner->spawn(request);
    const std::optional<detail::spawn_result> result = co_await std::move(spawning);
    if (result) co_return *result;
  }
  co_return detail::spawn(request, stack_, calls_);
}

ELASTIC_DECL bool guarded_launcher::take_next_source() {
  for (;;) {
    std::optional<detail::guard_file> next = sources_.next();
    if (!next) break;
    if (next->fd) {
      file_ = detail::new_shared<const detail::guard_file>(std::move(*next));
      return true;
    }
    add_problem(next->name, next->problem);
  }
  sources_ = detail::guard_sources(options_.guard_file);
  give_up(problems_.empty() ? "none for this processor" : std::exchange(problems_, {}));
  return false;
}

ELASTIC_DECL bool guarded_launcher::is_forbidden(int number) {
  return number == EPERM || number == EACCES || number == ENOSYS;
}

ELASTIC_DECL void guarded_launcher::give_up(const std::string& why) {
  if (options_.policy == guard_policy::required || !options_.guard_file.empty()) {
    throw error(errc::start_failed, fmt::format("no guard is available: {}", why));
  }
  // Only once, although several starts may be in progress.
  if (std::exchange(is_guarding_, false)) log_unguarded(why);
}

ELASTIC_DECL void guarded_launcher::log_unguarded(std::string_view why) const {
  const bool is_wanted = options_.policy == guard_policy::none;
  const std::string_view lost =
      options_.unguarded.parent
          ? "what they leave behind may outlive them and this program"
          : "they outlive this program if it is killed (no executor was named whose thread "
            "lasts), and what they leave behind may outlive them";
  if (is_wanted) {
    options_.log.info("workers have no guard: {}", lost);
  } else {
    options_.log.warning("workers have no guard, so {}; the reason: {}", lost, why);
  }
}

ELASTIC_DECL void guarded_launcher::log_unheld() {
  if (std::exchange(is_unheld_noted_, true)) return;
  options_.log.warning(
      "this kernel does not reparent processes to guards: what workers leave behind may "
      "outlive them and this program");
}

ELASTIC_DECL void guarded_launcher::add_problem(std::string_view name, std::string_view problem) {
  if (!problems_.empty()) problems_ += "; ";
  problems_ += fmt::format("{}: {}", name, problem);
}

ELASTIC_DECL task<std::unique_ptr<child>> guarded_launcher::meet(const process_spec& spec,
                                                                 std::string path,
                                                                 started_guard started) {
  // The guard ends once the socket is closed, so the socket has to go first.
  detail::unmet_guard guard(executor_, std::move(started.pidfd), calls_);
  asio::posix::stream_descriptor socket(executor_, started.socket.release());
  const int pidfd = guard.pidfd.native_handle();
  detail::guard_greeting greeting = co_await detail::meet_guard(socket, pidfd, calls_);
  std::optional<detail::received_news>& first = greeting.news;
  if (first && first->message.news == detail::guard_news::started) {
    if (first->message.stage == detail::guard_stage::hold) log_unheld();
    co_return std::make_unique<detail::guarded_child>(
        executor_, static_cast<pid_t>(first->message.value), std::move(first->attached),
        std::move(socket), std::move(guard.pidfd), options_.log, calls_);
  }
  if (!greeting.has_come()) {
    const detail::guard_standstill why = detail::look_at_guard(pidfd);
    calls_.pidfd_send_signal(pidfd, SIGKILL, 0);
    if (why.is_stopped()) {
      options_.log.warning("the start of '{}' was given up: its guard does not answer, since {}",
                           path, why.text());
    } else {
      options_.log.warning("the start of '{}' hangs in the kernel and was given up", path);
    }
    throw detail::asio_system_error(asio::error::operation_aborted);
  }
  if (!first) {
    give_up(
        fmt::format("the guard ({}) ended unexpectedly: it is of another version, or it was "
                    "killed and what it had just started may survive",
                    started.file->name));
    co_return nullptr;
  }
  if (first->message.stage == detail::guard_stage::hold) {
    give_up(fmt::format("{} (a system call that it needs)", errno_text(first->message.value)));
    co_return nullptr;
  }
  detail::throw_start_error(spec, path, as_spawn_result(first->message));
}

ELASTIC_DECL detail::spawn_result guarded_launcher::as_spawn_result(
    const detail::guard_message& refused) {
  detail::spawn_result result;
  result.failure = refused.value;
  switch (refused.stage) {
    case detail::guard_stage::fork:
    case detail::guard_stage::hold: result.stage = detail::spawn_stage::clone; break;
    case detail::guard_stage::session: result.stage = detail::spawn_stage::session; break;
    case detail::guard_stage::parent_death: result.stage = detail::spawn_stage::parent_death; break;
    case detail::guard_stage::execute: result.stage = detail::spawn_stage::execute; break;
  }
  return result;
}

}  // namespace elastic
