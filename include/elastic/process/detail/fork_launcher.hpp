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

/// Starts copies of this process in the place of programs: each calls a function and ends.
///
/// Of a process_spec the copy takes the environment (in the place of this process's), the
/// directory, the processors and the streams; the program's name serves for errors alone. It gets
/// a session of its own, default signal handling and an empty signal mask, as every worker.
///
/// **Only if this process has one thread.** A copy has the calling thread alone: a lock that
/// another thread holds would stay locked for ever in it. Each start looks (Asio makes a thread
/// when it asks the resolver for a host's name), and refuses.
///
/// In the copy all memory is as it is here at the moment of the start. All descriptors but 0, 1 and
/// 2 are closed: files, sockets and io_contexts of this process do not work there, and nobody may
/// touch an executor of this process, nor `asio::signal_set` if this process has used one. It
/// ends without destroying anything that was made before: no destructor, no function of `atexit`.
///
/// No guard holds it. The kernel kills it when this process dies, however that dies (it has one
/// thread, so that this is the same); what it started in turn may outlive it, as without guards.
/// A start costs more the more memory this process has, and needs /proc.
///
/// Thread-safety: the one thread that there is.
class fork_launcher final : public process_launcher {
 public:
  /// `body` is called in each copy and gives its exit code. It must not throw. `calls` must outlive
  /// the launcher and what it starts.
  ELASTIC_DECL explicit fork_launcher(std::function<int()> body, logger log = {},
                                      const syscalls& calls = real_syscalls);

  /// Errors, besides those of the interface: `errc::start_failed` if this process has more
  /// threads than one. What it starts is awaited on the executor of the caller.
  ELASTIC_DECL task<std::unique_ptr<child>> launch(process_spec spec) override;

 private:
  // What the copy says when it is in order, or why it is not.
  struct report {
    int failure;
    spawn_stage stage;
  };

  static constexpr std::size_t signal_words = kernel_signal_bytes / sizeof(unsigned long);
  ELASTIC_DECL spawn_result start(const process_spec& spec);

  // The one thread of the copy: no lock is held by another, so that all may be called.
  [[noreturn]] ELASTIC_DECL void run_copy(const process_spec& spec, pid_t parent,
                                          int socket) noexcept;

  [[noreturn]] ELASTIC_DECL static void leave(int code);

  // Result: `execute` if all is in order, else the step that failed, with its error in `errno`.
  ELASTIC_DECL static spawn_stage arrange(child_plan& plan);
  ELASTIC_DECL static void take_environment(const process_spec& spec);

  std::function<int()> body_;
  logger log_;
  const syscalls& calls_;
  bool is_noted_ = false;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/impl/fork_launcher.ipp>
#endif
