// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/process/detail/program_path.hpp>
#include <elastic/process/detail/spawn.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/pidfd_child.hpp>
#include <elastic/process/process_launcher.hpp>

#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// How `pidfd_launcher` starts processes.
struct pidfd_launcher_options {
  /// Names the thread that starts the processes: an executor that runs on one thread alone, which
  /// lasts as long as they do. The kernel then kills each process when that thread dies, however
  /// it dies (SIGKILL, a crash, the OOM killer). That reaches the process itself, not what it
  /// starts in turn, and not programs that are setuid.
  ///
  /// Empty: the thread that calls `launch` starts them, and they outlive this process where it is
  /// killed. The kernel knows no parent but the thread, and would kill healthy processes when one
  /// of a pool ends.
  asio::any_io_executor parent = {};
};

/// Starts processes of this machine and holds each by its pidfd.
///
/// Each gets a session of its own, default signal handling, an empty signal mask, and no
/// descriptor but 0, 1 and 2. Nothing process-wide is set or changed in the host, and a start
/// costs the same whatever the size of the host (no `fork`). A start blocks its thread until the
/// kernel has loaded the program (some 50 µs).
///
/// Thread-safety: one strand at a time.
class pidfd_launcher final : public process_launcher {
 public:
  /// What it starts is awaited on `executor`. `calls` must outlive the launcher and what it starts.
  explicit pidfd_launcher(asio::any_io_executor executor, pidfd_launcher_options options = {},
                          const detail::syscalls& calls = detail::real_syscalls)
      : executor_(std::move(executor)), options_(options), calls_(calls) {}

  task<std::unique_ptr<child>> launch(process_spec spec) override {
    if (!options_.parent) co_return start(spec);
    // Cancellation does not reach it: what was started is always handed over.
    co_return co_await asio::co_spawn(
        options_.parent, start_on_parent(std::move(spec)),
        asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
  }

 private:
  task<std::unique_ptr<child>> start_on_parent(process_spec spec) { co_return start(spec); }

  std::unique_ptr<child> start(const process_spec& spec) {
    detail::refuse_zero_bytes(spec);
    const std::string path = detail::find_program(spec);
    const detail::spawn_request request{
        .spec = spec,
        .path = path,
        .arguments = detail::pointers_to(&spec.program, spec.arguments),
        .die_with_parent = static_cast<bool>(options_.parent)};
    const detail::spawn_result started = detail::spawn(request, stack_, calls_);
    if (started.failure) detail::throw_start_error(spec, path, started);
    return std::make_unique<pidfd_child>(executor_, started.pid, started.pidfd, calls_);
  }

  asio::any_io_executor executor_;
  pidfd_launcher_options options_;
  const detail::syscalls& calls_;
  detail::child_stack stack_;
};

}  // namespace elastic
