// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/python/detail/standby_message.hpp>
#include <elastic/python/detail/standby_plan.hpp>
#include <elastic/python/detail/standby_process.hpp>
#include <elastic/agent/worker_starts.hpp>
#include <elastic/python/standby_terms.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/task_group.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/exit_status.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/process/process_spec.hpp>

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

namespace detail {
class import_record;
}

/// A launcher that restarts a Python program without repeating its imports: while the program runs,
/// it makes a standby for it (see `warm_standby`), which becomes the next process.
///
///     auto standbys = std::make_shared<standby_set>(strand, terms, services);
///     … a process_set or worker_group starts its processes by `standbys`, as its launcher …
///     co_await race(watch(), standbys->keep_warm(true));   // as long as the processes run
///     …
///     co_await standbys->stop();
///
/// A process gets a standby if its program is a Python interpreter (or runs one with all its
/// arguments), runs a script, module or code, and inherits its standard input
/// and no further descriptor. Processes that
/// differ only in the variables of an attempt share standbys. The script runs only in processes
/// that `launch` returns; a problem with a standby leads to a start without it.
///
/// Thread-safety: one strand at a time, the one it was given.
class standby_set final : public process_launcher {
 public:
  /// The services that a `standby_set` uses; launcher and time must be set.
  struct services {
    // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
    services() = default;

    /// How workers and standbys are started.
    std::shared_ptr<process_launcher> launcher;
    std::shared_ptr<time_source> time;
    logger log = {};
    /// The bytes of memory that are available; empty: unknown. Default: those of the machine and of
    /// the memory cgroups (version 2) of this process.
    std::function<std::optional<std::uint64_t>()> available_memory = {};
    /// The bytes that a process uses; 0: unknown. Default: as reported by the kernel.
    std::function<std::uint64_t(pid_t)> memory_of = {};
  };

  ELASTIC_DECL standby_set(const asio::any_io_executor& strand, warm_standby terms, services parts);
  standby_set(const standby_set&) = delete;
  standby_set& operator=(const standby_set&) = delete;

  /// Kills the standbys without waiting for them: see `stop`.
  ~standby_set() override = default;

  /// Starts a process: from its standby, if that is ready, or else with the launcher of the
  /// services. One line of the log says which, and why, except for the first start.
  ///
  /// Errors and cancellation: those of the launcher.
  ELASTIC_DECL task<std::unique_ptr<child>> launch(process_spec spec) override;

  /// From now on, standbys are made for the processes that are launched next, not for those
  /// launched before.
  ELASTIC_DECL void begin_attempt();

  /// The processes that are launched next replace some of those launched before; the rest continue,
  /// and keep their standbys.
  ELASTIC_DECL void begin_replacement();

  /// Makes standbys for the launched processes, one after the other, and new ones for standbys that
  /// end.
  /// @param may_restart  whether any of the processes can be restarted; if not, none is made
  ///
  /// Errors: none; problems are logged. It ends only by cancellation.
  /// Cancellation: all types; throws `operation_aborted`. Unfinished standbys are killed, and
  /// awaited by the next call or by `stop`; those that are ready are kept.
  ELASTIC_DECL task<void> keep_warm(bool may_restart);

  /// Announces processes that will be launched for the first time, so that `make_ahead` makes
  /// standbys for them, too. What only an attempt decides, such as ranks and sizes, is not known: a
  /// standby whose imports asked for it is not used.
  ELASTIC_DECL void expect(std::vector<process_spec> specs);

  /// Does the same as `keep_warm` between two attempts, and before the first: makes standbys for
  /// the processes to be launched next, without a delay and all at once, since none of them runs.
  ///
  /// Errors, cancellation: those of `keep_warm`. Only one of the two may run at a time.
  ELASTIC_DECL task<void> make_ahead();

  /// Makes `keep_warm` skip its delay until the next attempt or replacement begins, because the
  /// processes will soon be restarted. May be called before `keep_warm`.
  ELASTIC_DECL void hurry();

  /// To be called while the processes end before a restart: waiting standbys check whether the
  /// modules that they imported have changed, so that `launch` need not wait for it.
  ELASTIC_DECL void check();

  /// From now on, standbys run the script up to the point that it chooses (`survive.prepare()`).
  /// Waiting standbys are replaced. If a standby does not reach that point, or its script asks for
  /// what only an attempt decides, this mode ends, and standbys only import again.
  ELASTIC_DECL void run_scripts();

  /// Waits until each process that was launched last has a standby, or no more are being made at
  /// present.
  ///
  /// Await it beside `keep_warm` or `make_ahead`, which make the standbys.
  /// Errors: none. Cancellation: all types; throws `operation_aborted`.
  ELASTIC_DECL task<void> until_ready();

  /// Ends every standby and waits until nothing of them is left, but at most `limits::standby_end`
  /// for one that the kernel cannot end.
  ///
  /// Errors: none. Cancellation: all types; throws `operation_aborted`; call it again.
  ELASTIC_DECL task<void> stop();

  /// Sets a function, which must not throw, that is called when a standby has ended by itself, for
  /// example because the kernel killed it for lack of memory.
  void on_end(std::function<void(const exit_status&)> callback) { on_end_ = std::move(callback); }

  /// How many standbys wait.
  ELASTIC_DECL std::size_t ready() const;

  /// How many processes have no standby, of those that were launched last or are expected.
  std::size_t missing() const { return slots_.size() - ready(); }

  /// Why no more standbys are made; empty if they are.
  const std::optional<std::string>& off() const { return plan_.off(); }

  /// How the processes of this attempt were started.
  const worker_starts& starts() const { return starts_; }

 private:
  using standby_pointer = std::shared_ptr<detail::standby_process>;

  /// A process that was launched, and its standby.
  struct slot {
    process_spec spec;
    /// Null if none is ready.
    standby_pointer standby;
    /// The process that the standby was made for.
    process_spec made_for;
    /// The imports of the process; null if they are not recorded.
    std::shared_ptr<detail::import_record> record;
    /// How many bytes of the record the standby knows.
    std::size_t known_bytes = 0;
    /// The standby has run the script up to its point.
    bool has_run_script = false;
    /// The process.
    pid_t pid = 0;
    /// Whether it was launched in this attempt or is expected.
    bool is_used = true;
    bool was_launched = false;
    /// Whether its standby is watched.
    bool is_watched = false;
  };

  /// Discards a standby when its user leaves the scope, unless the standby was kept.
  struct discarder {
    standby_set& set;
    standby_pointer standby;
    ~discarder() { set.discard(std::move(standby)); }
  };

  ELASTIC_DECL static std::string name_of(const process_spec& spec);
  ELASTIC_DECL void discard(standby_pointer standby);
  ELASTIC_DECL void discard_unused();
  ELASTIC_DECL task<void> end_discarded();
  ELASTIC_DECL task<void> keep(bool may_restart);
  ELASTIC_DECL task<void> make_forever(bool may_restart, task_group& watches);
  ELASTIC_DECL task<void> watch(std::string key, standby_pointer standby);
  ELASTIC_DECL task<std::optional<exit_status>> end_of(standby_pointer standby);
  ELASTIC_DECL task<void> make_next(bool may_restart);
  ELASTIC_DECL task<void> make(std::string key);
  ELASTIC_DECL task<void> make_missing();
  ELASTIC_DECL detail::standby_view look(bool may_restart, std::string& key) const;
  ELASTIC_DECL std::uint64_t size_of_one() const;
  ELASTIC_DECL void end_for_memory(const std::string& reason);
  ELASTIC_DECL void note_end();
  ELASTIC_DECL void note_pid(const std::string& key, pid_t pid);
  ELASTIC_DECL void note_refusal(const std::string& reason, bool has_record);
  ELASTIC_DECL void note_failed_run(const std::string& reason);
  ELASTIC_DECL void note_lost_run(const std::optional<exit_status>& end);
  ELASTIC_DECL task<bool> make_in(std::string key);

  // Whether a standby of this interpreter would wait rather than run the script; found out by a
  // probe.
  ELASTIC_DECL task<bool> is_waiting_kind(process_spec spec);
  ELASTIC_DECL task<detail::standby_message> first_message(detail::standby_process& standby,
                                                           duration timeout);
  ELASTIC_DECL std::string modules_text() const;

  // Result: why it did not become the process; empty on success.
  ELASTIC_DECL task<std::string> hand_over(detail::standby_process& standby, process_spec source,
                                           process_spec target, std::string record_place,
                                           bool has_run_script);

  warm_standby terms_;
  services services_;
  detail::standby_plan plan_;
  int attempt_ = 0;
  worker_starts starts_;
  detail::standby_view::stage stage_ = detail::standby_view::stage::work;
  time_point launched_;
  /// By `standby_key`.
  std::map<std::string, slot> slots_;
  std::vector<standby_pointer> discarded_;
  bool is_off_noted_ = false;
  /// The memory of the largest standby so far; 0: there was none.
  std::uint64_t largest_ = 0;
  bool is_short_noted_ = false;
  /// Standbys also import what workers have imported later.
  bool uses_records_ = true;
  /// How many standbys in a row ended by a signal before the script came to its point.
  int lost_runs_ = 0;
  /// Whether standbys run the script up to its point; empty: no worker has named a point.
  std::optional<bool> runs_scripts_;
  event_flag changed_;
  /// Set while no standby is being made.
  event_flag settled_;
  std::function<void(const exit_status&)> on_end_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/impl/standby_set.ipp>
#endif
