// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/detail/guard_file.hpp>
#include <elastic/process/detail/guard_protocol.hpp>
#include <elastic/process/detail/spawn.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/guard_policy.hpp>
#include <elastic/process/guard_spawner.hpp>
#include <elastic/process/pidfd_launcher.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/process/process_spec.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace elastic {

/// Starts each process with a guard, which is a tiny process. The kernel reparents all processes
/// that the guarded process leaves behind to its guard. The guard kills them when the guarded
/// process has ended, on request, or when this program ends in any way.
///
/// Nothing process-wide is changed in the host process. A guard takes about 80 kB of memory and
/// wakes up only for its worker.
///
/// Thread-safety: one strand at a time.
class ELASTIC_EXPORT guarded_launcher final : public process_launcher {
 public:
  /// How `guarded_launcher` starts processes.
  struct options {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    options() = default;

    guard_policy policy = guard_policy::required;
    /// The guard program, such as the installed one. Empty: the built-in one, which runs from
    /// memory or, if the system forbids that, from an unnamed file.
    std::string guard_file = {};
    /// Used for processes without a guard; `open_files` is used for all.
    pidfd_launcher::options unguarded = {};
    /// Starts guards as children of other processes. Null: this process starts all of them. Only
    /// for the policy `required`.
    std::shared_ptr<guard_spawner> spawner = {};
    logger log = {};
  };

  /// Processes are awaited on `executor`.
  ELASTIC_DECL explicit guarded_launcher(asio::any_io_executor executor);
  ELASTIC_DECL guarded_launcher(asio::any_io_executor executor, options settings);

  /// Errors, besides those of the interface: `errc::start_failed` if a guard is required but not
  /// possible, naming the files that were tried, or if the file in the options cannot be executed
  /// or has another version.
  /// Cancellation: as for the interface; a start that hangs, for example because the program's file
  /// system does not answer, is killed with its guard after `limits::guard_after_cancel`.
  ELASTIC_DECL task<std::unique_ptr<child>> launch(process_spec spec) override;

 private:
  friend detail::internals;

  /// @param calls  must outlive the launcher and its processes
  ELASTIC_DECL guarded_launcher(asio::any_io_executor executor, options settings,
                                const detail::syscalls& calls);

  struct started_guard {
    std::shared_ptr<const detail::guard_file> file;
    detail::unique_fd socket;
    detail::unique_fd pidfd;
  };

  // Result: empty if no guard can be started and none is required.
  ELASTIC_DECL task<std::optional<started_guard>> start_guard(const process_spec& spec,
                                                              const std::string& path);
  ELASTIC_DECL task<detail::spawn_result> spawn_guard(
      const process_spec& spec, const std::string& path,
      std::shared_ptr<const detail::guard_file> file, int socket);

  // Result: false if no source is left and no guard is required.
  ELASTIC_DECL bool take_next_source();

  // Whether the system forbids guards. A reached limit does not count: the next worker may stay
  // within it.
  ELASTIC_DECL static bool is_forbidden(int number);

  // Falls back to no guard, unless the user requires one or has named a guard file: then it throws.
  ELASTIC_DECL void give_up(const std::string& why);
  ELASTIC_DECL void log_unguarded(std::string_view why) const;
  ELASTIC_DECL void log_unheld();
  ELASTIC_DECL void add_problem(std::string_view name, std::string_view problem);

  // Waits for the guard's first message, which says whether the program runs. Result: null if this
  // guard cannot work here. The process_spec must exist until then.
  ELASTIC_DECL task<std::unique_ptr<child>> meet(const process_spec& spec, std::string path,
                                                 started_guard started);
  ELASTIC_DECL static detail::spawn_result as_spawn_result(const detail::guard_message& refused);

  asio::any_io_executor executor_;
  options options_;
  const detail::syscalls& calls_;
  detail::guard_sources sources_;
  // The source in use; each start holds the one that it tries. Null: the next one is to be taken.
  std::shared_ptr<const detail::guard_file> file_;
  std::string problems_;
  detail::unique_fd agent_;
  detail::child_stack stack_;
  pidfd_launcher unguarded_;
  bool is_guarding_;
  bool is_unheld_noted_ = false;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/impl/guarded_launcher.ipp>
#endif
