// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/python/standby_set.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/python/detail/import_record.hpp>
#include <elastic/python/detail/python_command.hpp>
#include <elastic/python/detail/standby_environment.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/detail/required.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/base/when_all.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/process/detail/memory_room.hpp>

#include <fcntl.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic {

ELASTIC_DECL standby_set::standby_set(const asio::any_io_executor& strand, warm_standby terms,
                                      services parts)
    : terms_(std::move(terms)),
      services_(std::move(parts)),
      plan_(terms_.delay),
      changed_(strand),
      settled_(strand) {
  detail::required(services_.launcher, "standby_set: the launcher");
  detail::required(services_.time, "standby_set: the time source");
  uses_records_ = terms_.modules.empty();
  if (!services_.available_memory) {
    services_.available_memory = [] { return detail::available_memory(); };
  }
  if (!services_.memory_of) {
    services_.memory_of = [](pid_t pid) { return detail::memory_of(pid); };
  }
}

ELASTIC_DECL std::string standby_set::name_of(const process_spec& spec) {
  const auto rank = find_variable(environment_from(spec.environment), "LOCAL_RANK");
  return rank ? "local rank " + *rank : spec.program;
}

// ---- starting a process -------------------------------------------------------------------------

namespace detail {

/// Whether the interpreter runs the `sitecustomize` found through PYTHONPATH.
inline bool runs_hooks(const process_spec& spec) {
  const auto command = parse_python_command(spec.arguments);
  if (!command) return false;
  return std::none_of(command->flags.begin(), command->flags.end(), [](const std::string& flag) {
    const std::string letters = flag.substr(0, flag.find_first_of("WX"));
    return flag[0] == '-' && letters.find_first_of("IES") != std::string::npos;
  });
}

}  // namespace detail

ELASTIC_DECL task<std::unique_ptr<child>> standby_set::launch(process_spec spec) {
  const auto launcher = services_.launcher;
  launched_ = services_.time->now();
  const bool has_own_descriptor = spec.stdin_fd >= 0 || spec.passed_fd >= 0;
  if (has_own_descriptor) co_return co_await launcher->launch(std::move(spec));
  const std::string key = detail::standby_key(spec);
  slot& entry = slots_.try_emplace(key).first->second;
  const bool is_first = !std::exchange(entry.was_launched, true);
  entry.spec = spec;
  entry.is_used = true;
  changed_.set();
  settled_.reset();
  const bool is_recorded = uses_records_ && !plan_.off() && detail::runs_hooks(spec);
  if (!is_recorded) entry.record.reset();
  if (is_recorded && !entry.record) entry.record = detail::new_shared<detail::import_record>();
  const auto record = entry.record;
  std::string reason = plan_.off() ? "there are no standbys"
                       : is_first  ? "it is the first start"
                                   : "no standby was ready";
  discarder used{*this, std::move(entry.standby)};
  if (used.standby) {
    const process_spec made_for = std::move(entry.made_for);
    const bool has_run_script = entry.has_run_script;
    std::string place;
    if (record) place = record->place();
    reason = co_await hand_over(*used.standby, made_for, spec, place, has_run_script);
    if (reason.empty()) {
      services_.log.info("{} starts warm: process {}", name_of(spec), used.standby->pid());
      std::unique_ptr<child> started = std::exchange(used.standby, nullptr)->release();
      note_pid(key, started->pid());
      ++starts_.warm;
      co_return started;
    }
  }
  starts_.add_cold(reason);
  note_end();
  if (!is_first) services_.log.info("{} starts cold, because {}", name_of(spec), reason);
  if (record) spec = record->recorded(std::move(spec));
  std::unique_ptr<child> started = co_await launcher->launch(std::move(spec));
  note_pid(key, started->pid());
  co_return started;
}

ELASTIC_DECL void standby_set::note_pid(const std::string& key, pid_t pid) {
  const auto position = slots_.find(key);
  if (position != slots_.end()) position->second.pid = pid;
}

namespace detail {

/// Whether the exception means that the coroutine was cancelled, so that it must end.
inline bool was_cancelled(const std::exception& caught) {
  const auto* const failure = dynamic_cast<const asio_system_error*>(&caught);
  return failure && failure->code() == asio::error::operation_aborted;
}

/// The descriptors that become 0, 1 and 2 of a worker; empty if one of them cannot be inherited.
inline std::vector<int> streams_of(const process_spec& spec) {
  const int descriptors[3] = {spec.stdin_fd, spec.stdout_fd, spec.stderr_fd};
  std::vector<int> streams;
  for (int number = 0; number < 3; ++number) {
    const int flags = descriptors[number] >= 0 ? 0 : ::fcntl(number, F_GETFD);
    if (flags < 0 || (flags & FD_CLOEXEC) != 0) return {};
    streams.push_back(descriptors[number] >= 0 ? descriptors[number] : number);
  }
  return streams;
}

}  // namespace detail

ELASTIC_DECL task<std::string> standby_set::hand_over(detail::standby_process& standby,
                                                      process_spec source, process_spec target,
                                                      std::string record_place,
                                                      bool has_run_script) {
  using kind = detail::standby_message::kind;
  const std::vector<int> streams = detail::streams_of(target);
  if (streams.empty()) co_return "a standard stream of this program is closed";
  if (!standby.is_silent()) co_return "its standby has ended";
  std::vector<detail::variable_change> changes = detail::standby_changes(source, target);
  if (!record_place.empty()) changes.push_back({"ELASTIC_IMPORTS", std::move(record_place)});
  const std::string preparation = detail::preparation_of(changes);
  std::string problem = standby.send(preparation, streams);
  if (!problem.empty()) co_return problem;
  detail::standby_message answer;
  try {
    answer = co_await first_message(standby, limits::standby_reply);
  } catch (const std::exception& failure) {
    if (detail::was_cancelled(failure)) throw;
    plan_.refused(failure.what(), attempt_);
    co_return fmt::format("of its standby: {}", failure.what());
  }
  if (answer.what == kind::refused) {
    const std::string reason = printable_text(answer.reason);
    if (has_run_script) {
      note_failed_run(reason);
    } else {
      plan_.refused(reason, attempt_);
    }
    co_return reason;
  }
  if (answer.what != kind::prepared || !standby.is_silent()) {
    co_return "its standby broke the protocol";
  }
  // From here on it is the worker; before this, the script has not begun.
  co_return standby.send(detail::standby_go);
}

ELASTIC_DECL task<detail::standby_message> standby_set::first_message(
    detail::standby_process& standby, duration timeout) {
  const time_point deadline = deadline_after(services_.time->now(), timeout);
  std::optional<detail::standby_message> message =
      co_await with_deadline(*services_.time, deadline, standby.next_message());
  if (message) co_return std::move(*message);
  throw error(errc::timed_out, "it said nothing in time");
}

ELASTIC_DECL void standby_set::begin_replacement() {
  ++attempt_;
  starts_ = worker_starts();
  plan_.begin_attempt();
  stage_ = detail::standby_view::stage::work;
}

ELASTIC_DECL void standby_set::begin_attempt() {
  begin_replacement();
  for (auto& [key, entry] : slots_) entry.is_used = false;
}

// ---- making standbys ----------------------------------------------------------------------------

ELASTIC_DECL task<void> standby_set::keep_warm(bool may_restart) {
  // A round may end before this is called: then the processes are already in their last steps.
  if (stage_ == detail::standby_view::stage::absence) stage_ = detail::standby_view::stage::work;
  return keep(may_restart);
}

ELASTIC_DECL task<void> standby_set::make_ahead() {
  stage_ = detail::standby_view::stage::absence;
  return keep(true);
}

ELASTIC_DECL void standby_set::hurry() {
  stage_ = detail::standby_view::stage::last_steps;
  settled_.reset();
  changed_.set();
}

ELASTIC_DECL void standby_set::check() {
  for (auto& [key, entry] : slots_) {
    // A standby that misses the message checks later.
    if (entry.standby) entry.standby->send(detail::standby_check);
  }
}

ELASTIC_DECL void standby_set::run_scripts() {
  if (runs_scripts_) return;
  runs_scripts_ = true;
  for (auto& [key, entry] : slots_) discard(std::move(entry.standby));
  changed_.set();
}

ELASTIC_DECL void standby_set::expect(std::vector<process_spec> specs) {
  for (process_spec& spec : specs) {
    if (spec.stdin_fd >= 0) continue;
    spec = detail::without_attempt(std::move(spec));
    const auto [position, is_new] = slots_.try_emplace(detail::standby_key(spec));
    if (is_new) position->second.spec = std::move(spec);
  }
  settled_.reset();
  changed_.set();
}

ELASTIC_DECL task<void> standby_set::keep(bool may_restart) {
  discard_unused();
  for (auto& [key, entry] : slots_) entry.is_watched = false;
  task_group watches(co_await asio::this_coro::executor);
  task<void> making = make_forever(may_restart, watches);
  co_await with_cleanup(std::move(making), watches.stop());
}

ELASTIC_DECL task<void> standby_set::make_forever(bool may_restart, task_group& watches) {
  for (;;) {
    for (auto& [key, entry] : slots_) {
      if (entry.standby && !std::exchange(entry.is_watched, true)) {
        watches.spawn(watch(key, entry.standby));
      }
    }
    co_await end_discarded();
    co_await make_next(may_restart);
  }
}

/// Waits until a waiting standby ends or sends something, which it should not.
ELASTIC_DECL task<void> standby_set::watch(std::string key, standby_pointer standby) {
  co_await standby->until_heard();
  const auto position = slots_.find(key);
  if (position == slots_.end() || position->second.standby != standby) co_return;
  const std::string name = name_of(position->second.spec);
  const pid_t pid = standby->pid();
  const discarder lost{*this, std::move(position->second.standby)};
  const std::optional<exit_status> end = co_await end_of(standby);
  const std::string how = end ? end->text() : "it broke the protocol";
  services_.log.info("the standby of {}, process {}, is lost: {}", name, pid, how);
  plan_.lost(how, services_.time->now());
  note_end();
  changed_.set();
}

/// How a standby has ended by itself; empty if it has not, but closed its socket or said something
/// that it should not.
ELASTIC_DECL task<std::optional<exit_status>> standby_set::end_of(standby_pointer standby) {
  const time_point deadline = deadline_after(services_.time->now(), limits::standby_reply);
  const std::optional<exit_status> end =
      co_await with_deadline(*services_.time, deadline, standby->wait());
  if (end && on_end_) on_end_(*end);
  co_return end;
}

ELASTIC_DECL void standby_set::discard_unused() {
  for (auto& [key, entry] : slots_) {
    if (!entry.is_used) discard(std::move(entry.standby));
  }
  std::erase_if(slots_, [](const auto& entry) { return !entry.second.is_used; });
}

ELASTIC_DECL task<void> standby_set::make_next(bool may_restart) {
  using action = detail::standby_step::action;
  changed_.reset();
  std::string key;
  const detail::standby_view view = look(may_restart, key);
  if (view.outdated == 0) plan_.reviewed(view);
  const detail::standby_step step = plan_.next(view);
  services_.log.debug("standbys: {}", step.reason);
  const bool makes_more = step.what == action::make || step.what == action::make_all;
  if (view.missing == 0 || !makes_more) {
    settled_.set();
  } else {
    settled_.reset();
  }
  switch (step.what) {
    case action::rest: co_await changed_.wait(); break;
    case action::wait:
      co_await race(services_.time->sleep_until(step.until), changed_.wait());
      break;
    case action::make: co_await make(key); break;
    case action::make_all: co_await make_missing(); break;
    case action::end: end_for_memory(step.reason); break;
  }
}

/// @param key  the slot that should get the next standby
ELASTIC_DECL detail::standby_view standby_set::look(bool may_restart, std::string& key) const {
  detail::standby_view view;
  view.now = services_.time->now();
  view.launched = launched_;
  view.may_restart = may_restart;
  view.workers = stage_;
  std::string outdated;
  for (const auto& [candidate, entry] : slots_) {
    if (!entry.standby) {
      if (view.missing++ == 0) key = candidate;
      continue;
    }
    ++view.ready;
    if (!entry.record || !uses_records_) continue;
    if (!view.outdated) view.outdated = 0;
    if (entry.record->size() > entry.known_bytes && (*view.outdated)++ == 0) outdated = candidate;
  }
  if (view.missing == 0) key = outdated;
  view.available = services_.available_memory();
  view.size = size_of_one();
  return view;
}

/// The memory of the largest standby so far or, before the first, that of a process that it would
/// replace.
ELASTIC_DECL std::uint64_t standby_set::size_of_one() const {
  constexpr std::uint64_t most = 1024 * 1024 * 1024;
  std::uint64_t size = largest_;
  for (auto entry = slots_.begin(); size == 0 && entry != slots_.end(); ++entry) {
    if (entry->second.pid > 0) size = std::min(services_.memory_of(entry->second.pid), most);
  }
  return size;
}

ELASTIC_DECL void standby_set::end_for_memory(const std::string& reason) {
  if (!std::exchange(is_short_noted_, true)) {
    services_.log.warning("standbys end, so that a restart may take longer: {}", reason);
  }
  for (auto& [key, entry] : slots_) discard(std::move(entry.standby));
}

ELASTIC_DECL task<void> standby_set::make(std::string key) {
  std::string problem;
  try {
    if (co_await make_in(key)) plan_.ready();
  } catch (const std::exception& failure) {
    if (detail::was_cancelled(failure)) throw;
    problem = failure.what();
  }
  if (!problem.empty()) {
    services_.log.info("a standby could not be made: {}", problem);
    plan_.died(problem, services_.time->now());
  }
  note_end();
}

ELASTIC_DECL task<void> standby_set::make_missing() {
  std::vector<task<void>> makings;
  for (const auto& [key, entry] : slots_) {
    if (!entry.standby) makings.push_back(make(key));
  }
  co_await when_all(std::move(makings));
}

/// If a standby refuses while it uses records, later standbys do without records.
ELASTIC_DECL void standby_set::note_refusal(const std::string& reason, bool has_record) {
  if (!has_record) return plan_.give_up(reason);
  uses_records_ = false;
  services_.log.info("standbys no longer import what workers imported later: {}", reason);
}

/// If running the script in advance fails, standbys only import from then on.
ELASTIC_DECL void standby_set::note_failed_run(const std::string& reason) {
  if (!std::exchange(*runs_scripts_, false)) return;
  services_.log.warning("standbys do not run the script up to survive.prepare(): {}", reason);
}

/// A script decides its exit code. A signal may come from outside, so another standby tries again.
ELASTIC_DECL void standby_set::note_lost_run(const std::optional<exit_status>& end) {
  const std::string reason =
      fmt::format("it did not come so far{}", end ? ": it ended by " + end->text() : " in time");
  const bool may_be_from_outside = end && end->signal();
  if (!may_be_from_outside || ++lost_runs_ >= limits::standby_deaths) {
    return note_failed_run(reason);
  }
  services_.log.info("a standby for survive.prepare() is made again: {}", reason);
}

/// Logs once why no more standbys are made.
ELASTIC_DECL void standby_set::note_end() {
  if (!plan_.off() || std::exchange(is_off_noted_, true)) return;
  services_.log.warning("no more standbys are made, so that restarts take longer: {}",
                        *plan_.off());
}

ELASTIC_DECL task<bool> standby_set::make_in(std::string key) {
  using kind = detail::standby_message::kind;
  process_spec spec = slots_.at(key).spec;
  const bool runs_script = runs_scripts_.value_or(false);
  if (runs_script) spec = detail::without_attempt(std::move(spec));
  const auto command = detail::parse_python_command(spec.arguments);
  if (!command) {
    plan_.give_up("the arguments are not those of a Python program");
    co_return false;
  }
  if (!co_await is_waiting_kind(spec)) co_return false;
  detail::standby_task plan;
  const auto record = slots_.at(key).record;
  if (record && uses_records_) plan.record = record->text();
  plan.modules = modules_text();
  plan.runs_script = runs_script;
  plan.stands_back = stage_ != detail::standby_view::stage::absence;
  const std::set<std::string> left_out = plan_.dropped_modules();
  plan.kind = command->what == detail::python_command::kind::script   ? "script"
              : command->what == detail::python_command::kind::module ? "module"
                                                                      : "code";
  plan.name = command->name;
  standby_pointer started = co_await detail::standby_process::start(services_.launcher, spec, plan);
  discarder made{*this, std::move(started)};
  std::optional<detail::standby_message> answer;
  std::string problem;
  bool is_late = false;
  try {
    answer = co_await first_message(*made.standby, limits::standby_import);
  } catch (const error& failure) {
    problem = failure.what();
    is_late = failure.code() == errc::timed_out;
  }
  if (!answer) {
    std::optional<exit_status> end;
    if (!is_late) end = co_await end_of(made.standby);
    if (runs_script) {
      note_lost_run(end);
      co_return false;
    }
    throw error(errc::start_failed, end ? fmt::format("{}: {}", problem, end->text()) : problem);
  }
  const detail::standby_message& message = *answer;
  switch (message.what) {
    case kind::dropped:
      // Standbys that are made at the same time drop the same modules.
      if (left_out.count(message.module) == 0 &&
          plan_.dropped_modules().count(message.module) != 0) {
        co_return false;
      }
      if (plan_.dropped(message.module)) {
        services_.log.warning("standbys do not import {}: {}", printable_text(message.module),
                              printable_text(message.reason));
      }
      co_return false;
    case kind::refused:
      if (runs_script) {
        note_failed_run(printable_text(message.reason));
        co_return false;
      }
      note_refusal(printable_text(message.reason), !plan.record.empty());
      co_return false;
    case kind::prepared: throw error(errc::protocol_violation, "it was prepared for nothing");
    case kind::ready: break;
  }
  if (message.pid != made.standby->pid()) {
    plan_.give_up("the interpreter is not the process that is started");
    co_return false;
  }
  if (!message.missing.empty()) {
    services_.log.info("not installed, and so not imported by standbys: {}",
                       printable_text(fmt::format("{}", fmt::join(message.missing, ", "))));
  }
  const auto position = slots_.find(key);
  if (position == slots_.end() || runs_script != runs_scripts_.value_or(false)) co_return false;
  services_.log.info("{} has a standby: process {}{}", name_of(spec), message.pid,
                     runs_script ? ", which has run the script up to survive.prepare()" : "");
  std::swap(position->second.standby, made.standby);
  position->second.made_for = spec;
  position->second.has_run_script = runs_script;
  position->second.is_watched = false;
  position->second.known_bytes = plan.record.size();
  largest_ = std::max(largest_, services_.memory_of(message.pid));
  is_short_noted_ = false;
  lost_runs_ = 0;
  co_return true;
}

ELASTIC_DECL task<bool> standby_set::is_waiting_kind(process_spec spec) {
  const auto command = detail::parse_python_command(spec.arguments);
  spec.arguments = command->flags;
  spec.arguments.insert(spec.arguments.end(), {"-c", "pass"});
  detail::standby_task plan;
  plan.kind = "code";
  plan.stands_back = stage_ != detail::standby_view::stage::absence;
  standby_pointer started = co_await detail::standby_process::start(services_.launcher, spec, plan);
  const discarder made{*this, std::move(started)};
  std::string problem;
  bool is_lost = false;
  bool is_late = false;
  try {
    const detail::standby_message message =
        co_await first_message(*made.standby, limits::standby_probe);
    if (message.what == detail::standby_message::kind::refused) {
      problem = "it refuses: " + printable_text(message.reason);
    } else if (message.what != detail::standby_message::kind::ready) {
      problem = "it breaks the protocol";
    } else if (message.pid != made.standby->pid()) {
      problem = "the interpreter is not the process that is started";
    }
  } catch (const error& failure) {
    is_lost = true;
    is_late = failure.code() == errc::timed_out;
  }
  if (is_lost) {
    std::optional<exit_status> end;
    if (!is_late) end = co_await end_of(made.standby);
    // The death may have been an accident, so this tries once more.
    throw error(
        errc::start_failed,
        end && !end->success()
            ? fmt::format("the probe of '{}' ended by {}", spec.program, end->text())
            : fmt::format("'{}' does not run what PYTHONPATH names before the script",
                          spec.program));
  }
  if (!problem.empty()) plan_.give_up(problem);
  co_return problem.empty();
}

ELASTIC_DECL std::string standby_set::modules_text() const {
  std::vector<std::string> names;
  const auto& dropped = plan_.dropped_modules();
  if (terms_.modules.empty()) {
    names.emplace_back("auto");
    for (const std::string& name : dropped) names.push_back("-" + name);
  }
  for (const std::string& name : terms_.modules) {
    if (dropped.count(name) == 0) names.push_back(name);
  }
  return fmt::format("{}", fmt::join(names, ","));
}

// ---- ending standbys ----------------------------------------------------------------------------

ELASTIC_DECL void standby_set::discard(standby_pointer standby) {
  if (!standby) return;
  standby->kill();
  discarded_.push_back(std::move(standby));
}

ELASTIC_DECL task<void> standby_set::end_discarded() {
  while (!discarded_.empty()) {
    // It stays in the list until it has ended, even if this call is cancelled.
    detail::standby_process& standby = *discarded_.back();
    const pid_t pid = standby.pid();
    const time_point deadline = deadline_after(services_.time->now(), limits::standby_end);
    std::string problem = "it was killed";
    bool has_ended = false;
    try {
      has_ended = co_await with_deadline(*services_.time, deadline, standby.end());
    } catch (const std::exception& failure) {
      if (detail::was_cancelled(failure)) throw;
      problem = failure.what();
    }
    if (!has_ended) services_.log.warning("standby {} has not ended: {}", pid, problem);
    std::erase_if(discarded_, [&](const auto& entry) { return entry.get() == &standby; });
  }
}

ELASTIC_DECL task<void> standby_set::until_ready() { co_await settled_.wait(); }

ELASTIC_DECL task<void> standby_set::stop() {
  for (auto& [key, entry] : slots_) discard(std::move(entry.standby));
  slots_.clear();
  co_await end_discarded();
}

ELASTIC_DECL std::size_t standby_set::ready() const {
  return static_cast<std::size_t>(
      std::count_if(slots_.begin(), slots_.end(),
                    [](const auto& entry) { return entry.second.standby != nullptr; }));
}

}  // namespace elastic
