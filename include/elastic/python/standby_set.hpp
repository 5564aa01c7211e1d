// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/run_result.hpp>
#include <elastic/python/detail/standby_message.hpp>
#include <elastic/python/detail/standby_plan.hpp>
#include <elastic/python/detail/standby_process.hpp>
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
#include <set>
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
///     co_await race(watch(), standbys->maintain(true));   // as long as the processes run
///     …
///     co_await standbys->stop();
///
/// A standby is made for a process if its program is a Python interpreter (or runs one with all its
/// arguments), if it runs a script, module or code, and if it inherits its standard input and no
/// further descriptor. Processes share a pool of standbys if they differ only in their processors
/// and in variables, except those that libraries read (`OMP_…`, `LD_…`). A standby whose imports
/// have read a variable in which the processes differ serves only the process that it was made for.
/// The script runs only in processes that `launch` returns. If there is a problem with a standby,
/// the process starts without it.
///
/// Thread-safety: one strand at a time, the one it was given.
class ELASTIC_EXPORT standby_set final : public process_launcher {
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
    /// The processor time that a process has used; 0: unknown. Default: as reported by the kernel.
    std::function<duration(pid_t)> processor_time_of = {};
    /// Processes are replaced one at a time, so that one standby for each pool is enough unless
    /// `warm_standby::count` says more.
    bool replaces_processes = false;
  };

  /// The standbys at one moment.
  struct counts {
    std::size_t ready = 0;
    /// Those that have not finished their imports.
    std::size_t making = 0;
    /// The memory of those that are ready.
    std::uint64_t bytes = 0;
  };

  ELASTIC_DECL standby_set(const asio::any_io_executor& strand, warm_standby terms, services parts);
  standby_set(const standby_set&) = delete;
  standby_set& operator=(const standby_set&) = delete;

  /// Kills the standbys without waiting for them: see `stop`.
  ~standby_set() override = default;

  /// Starts a process in one of three ways: from a standby that is ready; from one that has done
  /// more than half of its imports, for which it waits at most twice as long as all imports take;
  /// or with the launcher of the services. If a standby ends instead of becoming the process, the
  /// next one is used. Except for the first start, one line of the log says which way was chosen,
  /// and why.
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
  /// end: as many as `warm_standby::count` says, the first one when `warm_standby::delay` is over
  /// or `mark_stepped` was called.
  /// @param may_restart  whether any of the processes can be restarted; if not, none is made
  ///
  /// Errors: none; problems are logged. It ends only by cancellation.
  /// Cancellation: all types; throws `operation_aborted`. All standbys are kept; unfinished ones
  /// continue with their imports, and the next call waits for them.
  ELASTIC_DECL task<void> maintain(bool may_restart);

  /// Notes that each of the launched processes has done its first step, so that standbys no longer
  /// delay their start.
  ELASTIC_DECL void mark_stepped();

  /// Announces processes that will be launched for the first time, so that `prestart` makes
  /// standbys for them, too. Values that only an attempt decides, such as ranks and sizes, are
  /// unknown. A standby whose imports have read one of them is not used.
  ELASTIC_DECL void announce(std::vector<process_spec> specs);

  /// Does the same as `maintain` between two attempts, and before the first: makes standbys for
  /// all processes to be launched next, without a delay and all at once, since none of them runs.
  ///
  /// Errors, cancellation: those of `maintain`. Only one of the two may run at a time.
  ELASTIC_DECL task<void> prestart();

  /// Makes `maintain` skip its delay until the next attempt or replacement begins, because the
  /// processes will soon be restarted. May be called before `maintain`.
  ELASTIC_DECL void hurry();

  /// Makes waiting standbys check whether the modules that they imported have changed. Call it
  /// while the processes end before a restart, so that `launch` need not wait for the check.
  ELASTIC_DECL void check();

  /// From now on, standbys run the script up to the point that it chooses (`survive.prepare()`).
  /// Waiting standbys are replaced, but can still be used until then. If a standby does not reach
  /// that point, or if its script reads a value that only an attempt decides, this mode ends, and
  /// standbys only import again.
  ELASTIC_DECL void run_scripts();

  /// Waits until all standbys are ready, or no more are being made at present.
  ///
  /// Await it beside `maintain` or `prestart`, which make the standbys.
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

  /// Sets a function, which must not throw, that is called when the number of standbys has changed.
  void on_change(std::function<void(const counts&)> callback) { on_change_ = std::move(callback); }

  /// How many standbys wait.
  ELASTIC_DECL std::size_t ready() const;

  /// The number of standbys that should exist but are not ready.
  ELASTIC_DECL std::size_t missing() const;

  /// The reason why no more standbys are made; empty if they are.
  const std::optional<std::string>& off() const { return plan_.off(); }

  /// How the processes of this attempt were started.
  const run_result::worker_starts& starts() const { return starts_; }

 private:
  using process_pointer = std::shared_ptr<detail::standby_process>;

  /// A process that was launched or is expected.
  struct slot {
    process_spec spec;
    /// The key of its pool: processes with the same key share standbys.
    std::string pool;
    /// The imports of the process; null if they are not recorded.
    std::shared_ptr<detail::import_record> record;
    /// The process.
    pid_t pid = 0;
    /// Whether it was launched in this attempt or is expected.
    bool is_used = true;
    bool was_launched = false;
  };

  /// A standby, from its start until it becomes a process or ends.
  struct standby {
    process_pointer process;
    /// The process that it was made for, and its place in `slots_`.
    process_spec made_for;
    std::string key;
    std::string pool;
    /// It has finished its imports and waits.
    bool is_ready = false;
    /// It runs the script up to its point.
    bool runs_script = false;
    /// No process ran when it was begun.
    bool began_alone = false;
    /// The variables that it has read.
    std::set<std::string> variables;
    /// The number of bytes of the record of imports that it has received.
    std::size_t known_bytes = 0;
    /// The modules that it does not import.
    std::set<std::string> left_out;
    /// The outdated standby whose place it takes.
    process_pointer replaced;
    /// Whether a coroutine waits until it is ready, or until it ends.
    bool is_awaited = false;
    bool is_watched = false;
    bool is_discarded = false;
  };
  using standby_pointer = std::shared_ptr<standby>;

  /// The reason why a standby did not become a process.
  struct refusal {
    std::string reason;
    /// The problem concerns only this standby: another one may work.
    bool is_of_one = false;
  };

  /// Discards a standby when its user leaves the scope, unless the standby was kept.
  struct discarder {
    standby_set& set;
    standby_pointer standby;
    ~discarder() { set.discard(standby); }
  };

  /// Ends a probe when its user leaves the scope.
  struct ended_probe {
    standby_set& set;
    process_pointer process;
    ~ended_probe() { set.end(process); }
  };

  ELASTIC_DECL static std::string name_of(const process_spec& spec);
  ELASTIC_DECL std::string name_of(const standby& entry) const;
  ELASTIC_DECL slot& add_slot(const std::string& key, const process_spec& spec);
  ELASTIC_DECL void log_pool(const std::string& key, const process_spec& spec);
  ELASTIC_DECL void log_bound(const std::string& reason);
  ELASTIC_DECL bool is_bound(const standby& entry) const;
  ELASTIC_DECL bool serves(const standby& entry, const std::string& key,
                           const std::string& pool) const;
  ELASTIC_DECL standby_pointer take_for(const std::string& key);
  ELASTIC_DECL standby_pointer ready_for(const std::string& key, const std::string& pool) const;
  ELASTIC_DECL standby_pointer almost_ready_for(const std::string& key,
                                                const std::string& pool) const;
  ELASTIC_DECL task<refusal> become(standby_pointer chosen, std::string key, process_spec target,
                                    std::string record_place);
  ELASTIC_DECL task<void> wait_for(standby_pointer unfinished);
  ELASTIC_DECL void discard(const standby_pointer& entry);
  ELASTIC_DECL void end(const process_pointer& process);
  ELASTIC_DECL void discard_if(const std::function<bool(const standby&)>& is_unused);
  ELASTIC_DECL void discard_unused();
  ELASTIC_DECL task<void> end_discarded();
  ELASTIC_DECL task<void> keep(bool may_restart);
  ELASTIC_DECL task<void> make_forever(bool may_restart, task_group& watches);
  ELASTIC_DECL task<void> watch(standby_pointer ready);
  ELASTIC_DECL task<std::optional<exit_status>> end_of(process_pointer process);
  ELASTIC_DECL task<void> make_next(bool may_restart);
  ELASTIC_DECL task<void> make_one();
  ELASTIC_DECL task<void> make(std::string key, process_pointer replaced);
  ELASTIC_DECL task<void> make_missing();
  ELASTIC_DECL detail::standby_view look(bool may_restart) const;
  ELASTIC_DECL std::vector<std::string> lacking() const;
  ELASTIC_DECL standby_pointer unfinished() const;
  ELASTIC_DECL standby_pointer incomplete() const;
  ELASTIC_DECL standby_pointer outdated() const;
  ELASTIC_DECL std::shared_ptr<detail::import_record> record_for(const std::string& key) const;
  ELASTIC_DECL std::uint64_t size_of_one() const;
  ELASTIC_DECL void end_for_memory(const std::string& reason);
  ELASTIC_DECL void log_end();
  ELASTIC_DECL void report_counts();
  ELASTIC_DECL void take_failure(const std::string& problem);
  ELASTIC_DECL void take_dropped(const standby& entry, const detail::standby_message& message);
  ELASTIC_DECL void set_pid(const std::string& key, pid_t pid);
  ELASTIC_DECL void take_ready(standby& entry, const detail::standby_message& message);
  ELASTIC_DECL void take_refusal(const std::string& reason, bool has_record);
  ELASTIC_DECL void disable_runs(const std::string& reason);
  ELASTIC_DECL void take_lost_run(const std::optional<exit_status>& end);
  ELASTIC_DECL bool stands_back() const;
  ELASTIC_DECL task<standby_pointer> start(std::string key);
  ELASTIC_DECL task<void> finish(standby_pointer unfinished);
  ELASTIC_DECL task<void> finish_imports(standby_pointer unfinished);

  // Whether a standby of this interpreter would wait rather than run the script; found out by a
  // probe.
  ELASTIC_DECL task<bool> is_waiting_kind(process_spec spec);
  ELASTIC_DECL task<detail::standby_message> first_message(process_pointer process,
                                                           duration timeout);
  ELASTIC_DECL std::string modules_text() const;

  // Makes a standby become the process. Result: the reason why it did not; empty on success.
  ELASTIC_DECL task<refusal> hand_over(standby_pointer ready, process_spec target,
                                       std::string record_place);

  warm_standby terms_;
  services services_;
  detail::standby_plan plan_;
  int attempt_ = 0;
  run_result::worker_starts starts_;
  detail::standby_view::stage stage_ = detail::standby_view::stage::work;
  time_point launched_;
  bool have_stepped_ = false;
  /// By `standby_key`.
  std::map<std::string, slot> slots_;
  /// The variables in which the processes of a pool differ, beside those of the contract.
  std::set<std::string> by_rank_;
  std::vector<standby_pointer> standbys_;
  /// Whether the last one that became ready serves only one process.
  bool are_bound_ = false;
  bool is_bound_noted_ = false;
  std::vector<process_pointer> discarded_;
  bool is_off_noted_ = false;
  /// The memory of the largest standby so far; 0: there was none.
  std::uint64_t largest_ = 0;
  bool is_short_noted_ = false;
  /// The processor time of a standby's imports; 0: unknown.
  duration cost_ = duration::zero();
  /// Standbys also import what workers have imported later.
  bool uses_records_ = true;
  /// The number of standbys in a row that a signal ended before the script reached its point.
  int lost_runs_ = 0;
  /// Whether standbys run the script up to its point; empty: no worker has named a point.
  std::optional<bool> runs_scripts_;
  event_flag changed_;
  /// Set while no standby is being made.
  event_flag settled_;
  std::function<void(const exit_status&)> on_end_;
  std::function<void(const counts&)> on_change_;
  /// As reported last.
  counts reported_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/impl/standby_set.ipp>
#endif
