// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/process/process_spec.hpp>

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::testing {

/// A process_launcher for tests: its processes are objects of the test, which decides when and how
/// each ends and how it reacts to signals. No real process is started.
///
///     auto launcher = std::make_shared<scripted_launcher>();
///     launcher->on_start = [](scripted_launcher::process& started) { started.on_signal = …; };
///     services.launcher = launcher;
///     …
///     launcher->started.at(1)->end(exit_status::signalled(SIGSEGV));
///
/// Thread-safety: one strand at a time, the one on which it launches; also for the processes.
class ELASTIC_EXPORT scripted_launcher final : public process_launcher {
 public:
  /// A process of the test. It runs until the test or a signal ends it.
  class process : public std::enable_shared_from_this<process> {
   public:
    /// What a process does when it gets a signal.
    using reaction = std::function<void(process&, int signal)>;

    /// @param number  how many processes were started before it
    /// @param record  receives the events of the process
    ELASTIC_DECL process(asio::any_io_executor executor, std::size_t number, process_spec chosen,
                         std::shared_ptr<std::vector<std::string>> record);

    const process_spec spec;
    const std::size_t index;
    /// 1000 plus its number; not a real process.
    const pid_t pid;

    /// Its reaction to a signal other than SIGKILL and SIGCONT. Default: it dies.
    reaction on_signal;
    /// Its reaction to SIGKILL. Default: it dies. Replace it for a process that cannot be killed.
    reaction on_kill;

    /// Ends it. No effect if it has ended.
    ELASTIC_DECL void end(exit_status how);
    ELASTIC_DECL void exit(int code);

    bool running() const { return !status_; }

    /// The signals that it got while it ran, except SIGCONT.
    std::vector<int> signals;
    /// Whether SIGCONT came after the last of them.
    bool continued = false;
    /// Whether the rest of its process tree was ended, too.
    bool tree_ended = false;

    /// A variable of its environment; "<not set>" if there is none.
    ELASTIC_DECL std::string variable(std::string_view name) const;
    /// Its LOCAL_RANK. Errors: `std::invalid_argument` if there is none.
    ELASTIC_DECL int local_rank() const;

    // Reactions.

    /// Ignores one signal and dies of any other.
    ELASTIC_DECL static reaction ignore(int ignored);
    ELASTIC_DECL static reaction ignore_all();
    ELASTIC_DECL static reaction exit_with(int code);
    /// Exits with 0, `span` after the signal. `time` must outlive the process.
    ELASTIC_DECL static reaction exit_after(time_source& time, duration span);

   private:
    friend class scripted_launcher;
    ELASTIC_DECL static task<void> end_later(std::shared_ptr<process> self, time_source& time,
                                             duration span);
    ELASTIC_DECL static task<void> end_tree_of(std::shared_ptr<process> self);
    ELASTIC_DECL void signal(int number);
    ELASTIC_DECL task<exit_status> wait();

    asio::any_io_executor executor_;
    event_flag ended_;
    std::optional<exit_status> status_;
    std::shared_ptr<std::vector<std::string>> notes_;
  };

  ELASTIC_DECL scripted_launcher();

  /// Called for each process before it counts as started: sets its behaviour, or throws, which
  /// makes its start fail.
  std::function<void(process&)> on_start;
  /// The start with this number, counted from 0, waits until `let_go` is called or it is cancelled.
  std::optional<std::size_t> hold_at;

  /// Every process, in the order of the starts.
  std::vector<std::shared_ptr<process>> started;
  /// The events, in order: "start 0", "end 0: SIGTERM", "gone 0" (with its process tree). Other
  /// objects of a test may add to it.
  std::shared_ptr<std::vector<std::string>> notes;
  /// How many starts wait.
  int holding = 0;

  /// Lets the waiting start continue. No effect if none waits.
  ELASTIC_DECL void let_go();

  /// How many processes run.
  ELASTIC_DECL std::size_t running() const;
  /// Whether every process has ended, with its process tree.
  ELASTIC_DECL bool all_gone() const;

  ELASTIC_DECL task<std::unique_ptr<child>> launch(process_spec spec) override;

 private:
  class held_process;

  std::size_t asked_ = 0;
  std::shared_ptr<event_flag> held_;
};

}  // namespace elastic::testing

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/testing/impl/scripted_launcher.ipp>
#endif
