// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/detail/spawn.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/process/process_spec.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace elastic {

/// Starts processes on this machine and manages each through its pidfd.
///
/// Each process has a new session, default signal handling, an empty signal mask, and no
/// descriptors but 0, 1, 2 and `process_spec::passed_number`. Nothing process-wide is changed in
/// the host process, and the cost of a start does not depend on the host's size (no `fork`). A
/// start blocks its thread until the kernel has loaded the program (about 50 µs).
///
/// Thread-safety: one strand at a time.
class ELASTIC_EXPORT pidfd_launcher final : public process_launcher {
 public:
  /// How `pidfd_launcher` starts processes.
  struct options {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    options() = default;

    /// Selects the thread that starts the processes: an executor that always runs on the same
    /// thread, which must live as long as they do. The kernel then kills each process when that
    /// thread dies, however it dies (SIGKILL, a crash, the OOM killer). This kills the process
    /// itself, but neither its descendants nor setuid programs.
    ///
    /// Empty: the thread that calls `launch` starts them, and they outlive this process if it is
    /// killed. The kernel ties the signal to the thread, so with a thread pool it would kill
    /// healthy processes when one of its threads ends.
    asio::any_io_executor parent = {};
    /// How many files each process may open (the soft limit), at most its hard limit. Empty: the
    /// same as this process, which may have raised its own limit.
    std::optional<std::uint64_t> open_files = {};
  };

  /// Processes are awaited on `executor`.
  ELASTIC_DECL explicit pidfd_launcher(asio::any_io_executor executor);
  ELASTIC_DECL pidfd_launcher(asio::any_io_executor executor, options settings);
  ELASTIC_DECL task<std::unique_ptr<child>> launch(process_spec spec) override;

 private:
  friend detail::internals;
  friend class guarded_launcher;

  /// @param calls  must outlive the launcher and its processes
  ELASTIC_DECL pidfd_launcher(asio::any_io_executor executor, options settings,
                              const detail::syscalls& calls);

  ELASTIC_DECL task<std::unique_ptr<child>> start_on_parent(process_spec spec, std::string path);
  ELASTIC_DECL std::unique_ptr<child> start(const process_spec& spec, const std::string& path);

  asio::any_io_executor executor_;
  options options_;
  const detail::syscalls& calls_;
  detail::child_stack stack_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/impl/pidfd_launcher.ipp>
#endif
