// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/detail/spawn.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/process/process_spec.hpp>

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace elastic::detail {

/// Starts copies of this process instead of programs: each calls a function and ends.
///
/// The copy uses the environment of a process_spec (instead of this process's), its directory,
/// processors and streams; the program's name appears only in errors. Like every worker, it gets
/// its own session, default signal handling and an empty signal mask.
///
/// **Only if this process has one thread.** A copy has only the calling thread, so a lock held by
/// another thread would stay locked in it forever. Each start counts the threads (Asio creates one
/// to resolve a host name) and refuses if there are more.
///
/// The copy's memory is as it was here at the start. All descriptors but 0, 1 and 2 are closed:
/// files, sockets and io_contexts of this process do not work there. The function must not touch an
/// executor of this process, nor `asio::signal_set` if this process has used one. The copy ends
/// without cleaning up anything created before the start: it runs no destructor and no `atexit`
/// function.
///
/// It has no guard. The kernel kills it when this process dies in any way (precisely, when the
/// starting thread dies, but this process has no other). Processes that the copy started may
/// outlive it. A start takes longer the more memory this process has, and needs /proc.
///
/// Thread-safety: this process's only thread.
class fork_launcher final : public process_launcher {
 public:
  /// `body` is called in each copy and returns its exit code. It must not throw. `calls` must
  /// outlive the launcher and its processes.
  ELASTIC_DECL explicit fork_launcher(std::function<int()> body, logger log = {},
                                      const syscalls& calls = real_syscalls);

  /// Errors, besides those of the interface: `errc::start_failed` if this process has more than one
  /// thread. Processes are awaited on the caller's executor.
  ELASTIC_DECL task<std::unique_ptr<child>> launch(process_spec spec) override;

 private:
  // The report of the copy: it is set up, or a step has failed.
  struct report {
    int failure;
    spawn_stage stage;
  };

  static constexpr std::size_t signal_words = kernel_signal_bytes / sizeof(unsigned long);
  ELASTIC_DECL spawn_result start(const process_spec& spec);

  // The copy's only thread. No other thread holds a lock, so any function may be called.
  [[noreturn]] ELASTIC_DECL void run_copy(const process_spec& spec, pid_t parent,
                                          int socket) noexcept;

  [[noreturn]] ELASTIC_DECL static void leave(int code);

  // Result: `execute` on success, else the step that failed, with its error in `errno`.
  ELASTIC_DECL static spawn_stage arrange(child_plan& plan);
  ELASTIC_DECL static void take_environment(const process_spec& spec);

  std::function<int()> body_;
  logger log_;
  const syscalls& calls_;
  bool is_noted_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/fork_launcher.ipp>
#endif
