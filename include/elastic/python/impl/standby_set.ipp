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
#include <elastic/process/detail/tree_usage.hpp>
#include <elastic/process/stdio.hpp>

#include <fcntl.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic {

namespace detail {

inline duration processor_time_of(pid_t pid) {
  constexpr std::size_t most_files = 64;
  const std::optional<tree_usage> usage = look_at_tree(pid, most_files);
  return usage ? usage->processor_time : duration::zero();
}

}  // namespace detail

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
  if (!services_.processor_time_of) services_.processor_time_of = detail::processor_time_of;
}

ELASTIC_DECL std::string standby_set::name_of(const process_spec& spec) {
  const auto rank = find_variable(environment_from(spec.environment), "LOCAL_RANK");
  return rank ? "local rank " + *rank : spec.program;
}

ELASTIC_DECL std::string standby_set::name_of(const standby& entry) const {
  const auto users = std::count_if(slots_.begin(), slots_.end(), [&](const auto& each) {
    return serves(entry, each.first, each.second.pool);
  });
  return users > 1 ? "any local rank" : name_of(entry.made_for);
}

// ---- pools --------------------------------------------------------------------------------------

/// The slot of a process. Adding a new one shows in which variables the processes differ.
ELASTIC_DECL standby_set::slot& standby_set::add_slot(const std::string& key,
                                                      const process_spec& spec) {
  const auto [position, is_new] = slots_.try_emplace(key);
  if (is_new) log_pool(key, spec);
  slot& entry = position->second;
  entry.spec = spec;
  entry.is_used = true;
  entry.pool = detail::pool_key(spec, by_rank_);
  return entry;
}

ELASTIC_DECL void standby_set::log_pool(const std::string& key, const process_spec& spec) {
  const auto other = std::find_if(slots_.begin(), slots_.end(), [&](const auto& entry) {
    return entry.first != key && entry.second.is_used;
  });
  if (other == slots_.end()) return;
  if (other->second.spec.arguments == spec.arguments) {
    std::set<std::string> names = detail::differing_variables(other->second.spec, spec);
    const std::size_t known = by_rank_.size();
    by_rank_.merge(names);
    if (by_rank_.size() > known) {
      for (auto& [each, entry] : slots_) entry.pool = detail::pool_key(entry.spec, by_rank_);
      for (const auto& each : standbys_) each->pool = detail::pool_key(each->made_for, by_rank_);
    }
  }
  if (detail::pool_key(spec, by_rank_) != other->second.pool) {
    log_bound(spec.slot != other->second.spec.slot
                  ? "each worker has a slot of its own"
                  : "the workers differ in their arguments, or in variables that libraries read");
  }
}

/// Logs once that standbys cannot be shared.
ELASTIC_DECL void standby_set::log_bound(const std::string& reason) {
  if (std::exchange(is_bound_noted_, true)) return;
  services_.log.info("each standby serves only one local rank: {}", reason);
}

/// A script that was run in advance may have read variables by a library.
ELASTIC_DECL bool standby_set::is_bound(const standby& entry) const {
  if (!entry.is_ready) return are_bound_;
  if (entry.runs_script && !by_rank_.empty()) return true;
  return std::any_of(
      entry.variables.begin(), entry.variables.end(),
      [&](const std::string& name) { return detail::is_of_rank(name) || by_rank_.count(name); });
}

ELASTIC_DECL bool standby_set::serves(const standby& entry, const std::string& key,
                                      const std::string& pool) const {
  return entry.pool == pool && (entry.key == key || !is_bound(entry));
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
  slot& entry = add_slot(key, spec);
  const bool is_first = !std::exchange(entry.was_launched, true);
  changed_.set();
  settled_.reset();
  const bool is_recorded = uses_records_ && !plan_.off() && detail::runs_hooks(spec);
  if (!is_recorded) entry.record.reset();
  if (is_recorded && !entry.record) entry.record = detail::new_shared<detail::import_record>();
  const auto record = entry.record;
  const std::string place = record ? record->place() : std::string();
  refusal obstacle;
  obstacle.reason = plan_.off() ? "there are no standbys"
                    : is_first  ? "it is the first start"
                                : "no standby was ready";
  obstacle.is_of_one = true;
  while (obstacle.is_of_one) {
    discarder used{*this, take_for(key)};
    if (!used.standby) break;
    obstacle = co_await become(used.standby, key, spec, place);
    if (!obstacle.reason.empty()) continue;
    const pid_t pid = used.standby->process->pid();
    services_.log.info("{} starts warm: process {}", name_of(spec), pid);
    set_pid(key, pid);
    ++starts_.warm;
    co_return std::exchange(used.standby, nullptr)->process->release();
  }
  starts_.add_cold(obstacle.reason);
  log_end();
  if (!is_first) {
    services_.log.info("{} starts cold, because {}", name_of(spec), obstacle.reason);
  }
  if (record) spec = record->recorded(std::move(spec));
  std::unique_ptr<child> started = co_await launcher->launch(std::move(spec));
  set_pid(key, started->pid());
  co_return started;
}

/// Takes a standby for the process out of the set; null: there is none.
ELASTIC_DECL standby_set::standby_pointer standby_set::take_for(const std::string& key) {
  const auto position = slots_.find(key);
  if (position == slots_.end()) return nullptr;
  const std::string& pool = position->second.pool;
  standby_pointer found = ready_for(key, pool);
  if (!found) found = almost_ready_for(key, pool);
  std::erase(standbys_, found);
  return found;
}

/// A standby that serves only this process is preferred to one that serves others, too.
ELASTIC_DECL standby_set::standby_pointer standby_set::ready_for(const std::string& key,
                                                                 const std::string& pool) const {
  standby_pointer found;
  for (const standby_pointer& each : standbys_) {
    if (!each->is_ready || !serves(*each, key, pool)) continue;
    if (!found || is_bound(*each)) found = each;
  }
  return found;
}

ELASTIC_DECL standby_set::standby_pointer standby_set::almost_ready_for(
    const std::string& key, const std::string& pool) const {
  standby_pointer found;
  duration most = duration::zero();
  for (const standby_pointer& each : standbys_) {
    if (each->is_ready || each->is_awaited || !serves(*each, key, pool)) continue;
    const duration spent = services_.processor_time_of(each->process->pid());
    if (spent <= most || !detail::standby_plan::is_worth_waiting(spent, cost_)) continue;
    found = each;
    most = spent;
  }
  return found;
}

ELASTIC_DECL task<standby_set::refusal> standby_set::become(standby_pointer chosen,
                                                            std::string key, process_spec target,
                                                            std::string record_place) {
  refusal result;
  if (!chosen->is_ready) {
    services_.log.info("{} waits for a standby in the making: process {}", name_of(target),
                       chosen->process->pid());
    co_await wait_for(chosen);
    result.reason = "its standby was not ready in time";
    if (!chosen->is_ready) co_return result;
    result.reason = "its standby serves only another local rank";
    if (!serves(*chosen, key, chosen->pool)) co_return result;
  }
  task<refusal> handing_over =
      hand_over(chosen, std::move(target), std::move(record_place));
  result = co_await std::move(handing_over);
  co_return result;
}

/// Waits until a standby is ready. Busy processors are no reason not to wait: a cold start would
/// have to share them, too.
ELASTIC_DECL task<void> standby_set::wait_for(standby_pointer unfinished) {
  unfinished->process->raise_priority();
  const time_point deadline = deadline_after(services_.time->now(), 2 * cost_);
  task<void> finishing = finish(unfinished);
  co_await with_deadline(*services_.time, deadline, std::move(finishing));
}

ELASTIC_DECL void standby_set::set_pid(const std::string& key, pid_t pid) {
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
  int descriptors[3] = {spec.stdin_fd, spec.stdout_fd, spec.stderr_fd};
  // Only slot 0 shares the standard input of this process.
  static const unique_fd empty_input = open_null(real_syscalls);
  if (spec.slot > 0 && spec.stdin_fd < 0) descriptors[0] = empty_input.get();
  std::vector<int> streams;
  for (int number = 0; number < 3; ++number) {
    const int flags = descriptors[number] >= 0 ? 0 : ::fcntl(number, F_GETFD);
    if (flags < 0 || (flags & FD_CLOEXEC) != 0) return {};
    streams.push_back(descriptors[number] >= 0 ? descriptors[number] : number);
  }
  return streams;
}

}  // namespace detail

ELASTIC_DECL task<standby_set::refusal> standby_set::hand_over(standby_pointer ready,
                                                               process_spec target,
                                                               std::string record_place) {
  using kind = detail::standby_message::kind;
  detail::standby_process& process = *ready->process;
  const std::vector<int> streams = detail::streams_of(target);
  refusal problem;
  problem.reason = "a standard stream of this program is closed";
  if (streams.empty()) co_return problem;
  problem.is_of_one = true;
  problem.reason = "its standby has ended";
  if (!process.is_silent()) co_return problem;
  std::vector<detail::variable_change> changes = detail::standby_changes(ready->made_for, target);
  if (!record_place.empty()) changes.push_back({"ELASTIC_IMPORTS", std::move(record_place)});
  const bool is_elsewhere = !(ready->made_for.processors == target.processors);
  const std::string processors = is_elsewhere ? target.processors.text() : std::string();
  problem.reason = process.send(detail::preparation_of(changes, processors), streams);
  if (!problem.reason.empty()) co_return problem;
  detail::standby_message answer;
  try {
    answer = co_await first_message(ready->process, limits::standby_reply);
  } catch (const std::exception& failure) {
    if (detail::was_cancelled(failure)) throw;
    plan_.refused(failure.what(), attempt_);
    problem.reason = fmt::format("its standby failed: {}", failure.what());
    const auto* const known = dynamic_cast<const error*>(&failure);
    problem.is_of_one = !known || known->code() != errc::timed_out;
    co_return problem;
  }
  if (answer.what == kind::refused) {
    problem.reason = printable_text(answer.reason);
    problem.is_of_one = false;
    if (ready->runs_script) {
      disable_runs(problem.reason);
    } else {
      plan_.refused(problem.reason, attempt_);
    }
    co_return problem;
  }
  problem.reason = "its standby broke the protocol";
  if (answer.what != kind::prepared || !process.is_silent()) co_return problem;
  // From here on, the standby is the worker. Until now, it has run no line of the script.
  problem.reason = process.send(detail::standby_go);
  co_return problem;
}

ELASTIC_DECL task<detail::standby_message> standby_set::first_message(process_pointer process,
                                                                      duration timeout) {
  const time_point deadline = deadline_after(services_.time->now(), timeout);
  std::optional<detail::standby_message> message =
      co_await with_deadline(*services_.time, deadline, process->next_message());
  if (message) co_return std::move(*message);
  throw error(errc::timed_out, "it said nothing in time");
}

ELASTIC_DECL void standby_set::begin_replacement() {
  ++attempt_;
  starts_ = run_result::worker_starts();
  plan_.begin_attempt();
  have_stepped_ = false;
  stage_ = detail::standby_view::stage::work;
}

ELASTIC_DECL void standby_set::begin_attempt() {
  begin_replacement();
  for (auto& [key, entry] : slots_) entry.is_used = false;
}

// ---- making standbys ----------------------------------------------------------------------------

/// Unfinished standbys that were begun while no process ran would slow down those that run now.
ELASTIC_DECL task<void> standby_set::maintain(bool may_restart) {
  // If the round has ended before this call, `hurry` has already set the stage to `last_steps`.
  if (stage_ == detail::standby_view::stage::absence) stage_ = detail::standby_view::stage::work;
  discard_if([](const standby& each) { return !each.is_ready && each.began_alone; });
  return keep(may_restart);
}

/// The processor time that a process has used by its first step is an upper bound of that of its
/// imports.
ELASTIC_DECL void standby_set::mark_stepped() {
  have_stepped_ = true;
  for (const auto& [key, entry] : slots_) {
    if (cost_ > duration::zero() || entry.pid <= 0) continue;
    cost_ = services_.processor_time_of(entry.pid);
  }
  changed_.set();
}

ELASTIC_DECL task<void> standby_set::prestart() {
  stage_ = detail::standby_view::stage::absence;
  return keep(true);
}

ELASTIC_DECL void standby_set::hurry() {
  stage_ = detail::standby_view::stage::last_steps;
  settled_.reset();
  changed_.set();
}

ELASTIC_DECL void standby_set::check() {
  for (const standby_pointer& each : standbys_) {
    // A standby that misses the message checks later.
    if (each->is_ready) each->process->send(detail::standby_check);
  }
}

ELASTIC_DECL void standby_set::run_scripts() {
  if (runs_scripts_) return;
  runs_scripts_ = true;
  discard_if([](const standby& each) { return !each.is_ready && !each.is_awaited; });
  changed_.set();
}

ELASTIC_DECL void standby_set::announce(std::vector<process_spec> specs) {
  for (process_spec& spec : specs) {
    if (spec.stdin_fd >= 0) continue;
    spec = detail::without_attempt(std::move(spec));
    const std::string key = detail::standby_key(spec);
    if (slots_.count(key) == 0) add_slot(key, spec);
  }
  settled_.reset();
  changed_.set();
}

ELASTIC_DECL task<void> standby_set::keep(bool may_restart) {
  discard_unused();
  if (!may_restart) discard_if([](const standby& each) { return !each.is_ready; });
  for (const standby_pointer& each : standbys_) each->is_watched = false;
  task_group watches(co_await asio::this_coro::executor);
  task<void> making = make_forever(may_restart, watches);
  co_await with_cleanup(std::move(making), watches.stop());
}

ELASTIC_DECL task<void> standby_set::make_forever(bool may_restart, task_group& watches) {
  for (;;) {
    for (const standby_pointer& each : standbys_) {
      if (each->is_ready && !std::exchange(each->is_watched, true)) watches.spawn(watch(each));
    }
    co_await end_discarded();
    co_await make_next(may_restart);
  }
}

/// Waits until a ready standby is lost: it ends, or sends a message that nobody asked for.
ELASTIC_DECL task<void> standby_set::watch(standby_pointer ready) {
  co_await ready->process->until_heard();
  if (std::erase(standbys_, ready) == 0) co_return;
  const std::string name = name_of(*ready);
  const pid_t pid = ready->process->pid();
  const discarder lost{*this, ready};
  const std::optional<exit_status> end = co_await end_of(ready->process);
  const std::string how = end ? end->text() : "it broke the protocol";
  services_.log.info("the standby of {}, process {}, is lost: {}", name, pid, how);
  plan_.lost(how, services_.time->now());
  log_end();
  changed_.set();
}

/// The exit status of a standby that ended by itself; empty if it still runs, because it only
/// closed its socket or sent an unexpected message.
ELASTIC_DECL task<std::optional<exit_status>> standby_set::end_of(process_pointer process) {
  const time_point deadline = deadline_after(services_.time->now(), limits::standby_reply);
  const std::optional<exit_status> end =
      co_await with_deadline(*services_.time, deadline, process->wait());
  if (end && on_end_) on_end_(*end);
  co_return end;
}

ELASTIC_DECL void standby_set::discard_unused() {
  std::erase_if(slots_, [](const auto& entry) { return !entry.second.is_used; });
  discard_if([&](const standby& each) {
    return std::none_of(slots_.begin(), slots_.end(), [&](const auto& entry) {
      return serves(each, entry.first, entry.second.pool);
    });
  });
}

ELASTIC_DECL task<void> standby_set::make_next(bool may_restart) {
  using action = detail::standby_step::action;
  changed_.reset();
  report_counts();
  if (plan_.off()) discard_if([](const standby& each) { return !each.is_ready; });
  const standby_pointer begun = unfinished();
  const detail::standby_view view = look(may_restart);
  if (view.outdated == 0) plan_.reviewed(view);
  const detail::standby_step step = plan_.next(view);
  services_.log.debug("standbys: {}", step.reason);
  const bool makes_more = step.what == action::make || step.what == action::make_all;
  if (!begun && (view.missing == 0 || !makes_more)) {
    settled_.set();
  } else {
    settled_.reset();
  }
  if (begun && step.what != action::make_all) {
    co_await finish(begun);
    co_return;
  }
  switch (step.what) {
    case action::rest: co_await changed_.wait(); break;
    case action::wait:
      co_await race(services_.time->sleep_until(step.until), changed_.wait());
      break;
    case action::make: co_await make_one(); break;
    case action::make_all: co_await make_missing(); break;
    case action::end: end_for_memory(step.reason); break;
  }
}

/// A standby that is not ready and that nobody waits for; null: there is none.
ELASTIC_DECL standby_set::standby_pointer standby_set::unfinished() const {
  for (const standby_pointer& each : standbys_) {
    if (!each->is_ready && !each->is_awaited) return each;
  }
  return nullptr;
}

/// The processes that lack a standby. Before the processes start, each of them needs one. Later,
/// the number of standbys may be limited, or one in each pool may suffice.
ELASTIC_DECL std::vector<std::string> standby_set::lacking() const {
  struct share {
    std::size_t all = 0;
    std::size_t for_any = 0;
  };
  std::map<std::string, share> pools;
  std::set<std::string> served;
  for (const standby_pointer& each : standbys_) {
    ++pools[each->pool].all;
    if (!is_bound(*each)) {
      ++pools[each->pool].for_any;
    } else {
      served.insert(each->key);
    }
  }
  const bool is_absent = stage_ == detail::standby_view::stage::absence;
  const bool needs_one = services_.replaces_processes && !are_bound_;
  std::vector<std::string> keys;
  for (const auto& [key, entry] : slots_) {
    share& has = pools[entry.pool];
    if (served.count(key) != 0) continue;
    const bool is_enough = !is_absent && terms_.count == 0 && needs_one && has.all > 0;
    if (is_enough) continue;
    if (has.for_any > 0) {
      --has.for_any;
      continue;
    }
    ++has.all;
    keys.push_back(key);
  }
  if (is_absent || terms_.count == 0) return keys;
  const std::size_t room = terms_.count - std::min(terms_.count, standbys_.size());
  keys.resize(std::min(keys.size(), room));
  return keys;
}

/// The longest record among the processes that the standby serves: it covers the most imports.
ELASTIC_DECL std::shared_ptr<detail::import_record> standby_set::record_for(
    const std::string& key) const {
  std::shared_ptr<detail::import_record> longest;
  const slot& own = slots_.at(key);
  if (!uses_records_) return longest;
  for (const auto& [each, entry] : slots_) {
    const bool is_shared = each == key || (!are_bound_ && entry.pool == own.pool);
    if (!is_shared || !entry.record) continue;
    if (!longest || entry.record->size() > longest->size()) longest = entry.record;
  }
  return longest;
}

/// A ready standby that has not run the script although new standbys do; null: there is none.
ELASTIC_DECL standby_set::standby_pointer standby_set::incomplete() const {
  if (!runs_scripts_.value_or(false)) return nullptr;
  for (const standby_pointer& each : standbys_) {
    if (each->is_ready && !each->runs_script && slots_.count(each->key) != 0) return each;
  }
  return nullptr;
}

/// A ready standby that lacks imports which its workers have made since; null: there is none.
ELASTIC_DECL standby_set::standby_pointer standby_set::outdated() const {
  for (const standby_pointer& each : standbys_) {
    if (!each->is_ready || slots_.count(each->key) == 0) continue;
    const auto record = record_for(each->key);
    if (record && record->size() > each->known_bytes) return each;
  }
  return nullptr;
}

ELASTIC_DECL detail::standby_view standby_set::look(bool may_restart) const {
  detail::standby_view view;
  view.now = services_.time->now();
  view.launched = launched_;
  view.may_restart = may_restart;
  view.workers = stage_;
  view.have_stepped = have_stepped_;
  view.missing = lacking().size();
  view.ready = ready();
  view.lacks_script = incomplete() != nullptr;
  const bool is_recorded = std::any_of(slots_.begin(), slots_.end(),
                                       [](const auto& entry) { return entry.second.record; });
  if (view.ready > 0 && uses_records_ && is_recorded) view.outdated = outdated() ? 1 : 0;
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
  const auto last = std::find_if(standbys_.rbegin(), standbys_.rend(),
                                 [](const standby_pointer& each) { return each->is_ready; });
  if (last != standbys_.rend()) discard(*last);
}

ELASTIC_DECL task<void> standby_set::make_one() {
  const std::vector<std::string> keys = lacking();
  if (!keys.empty()) return make(keys.front(), nullptr);
  standby_pointer old = incomplete();
  if (!old) old = outdated();
  return make(old->key, old->process);
}

ELASTIC_DECL task<void> standby_set::make(std::string key, process_pointer replaced) {
  std::string problem;
  standby_pointer made;
  try {
    made = co_await start(key);
  } catch (const std::exception& failure) {
    if (detail::was_cancelled(failure)) throw;
    problem = failure.what();
  }
  if (!problem.empty()) take_failure(problem);
  log_end();
  if (!made) co_return;
  made->replaced = std::move(replaced);
  report_counts();
  co_await finish(made);
}

ELASTIC_DECL task<void> standby_set::make_missing() {
  std::vector<task<void>> makings;
  for (const standby_pointer& each : standbys_) {
    if (!each->is_ready && !each->is_awaited) makings.push_back(finish(each));
  }
  for (const std::string& key : lacking()) makings.push_back(make(key, nullptr));
  co_await when_all(std::move(makings));
}

ELASTIC_DECL void standby_set::take_failure(const std::string& problem) {
  services_.log.info("a standby could not be made: {}", problem);
  plan_.died(problem, services_.time->now());
}

/// If a standby refuses while it uses records, later standbys do without records.
ELASTIC_DECL void standby_set::take_refusal(const std::string& reason, bool has_record) {
  if (!has_record) return plan_.give_up(reason);
  uses_records_ = false;
  services_.log.info("standbys no longer import what workers imported later: {}", reason);
}

/// If running the script in advance fails, standbys only import from then on.
ELASTIC_DECL void standby_set::disable_runs(const std::string& reason) {
  if (!std::exchange(*runs_scripts_, false)) return;
  services_.log.warning("standbys do not run the script up to survive.prepare(): {}", reason);
}

/// An exit code comes from the script itself, so another try would end the same way. A signal may
/// come from outside, so another standby tries again.
ELASTIC_DECL void standby_set::take_lost_run(const std::optional<exit_status>& end) {
  const std::string reason =
      fmt::format("it did not come so far{}", end ? ": it ended by " + end->text() : " in time");
  const bool may_be_from_outside = end && end->signal();
  if (!may_be_from_outside || ++lost_runs_ >= limits::standby_deaths) {
    return disable_runs(reason);
  }
  services_.log.info("a standby for survive.prepare() is made again: {}", reason);
}

/// Logs once why no more standbys are made.
ELASTIC_DECL void standby_set::log_end() {
  if (!plan_.off() || std::exchange(is_off_noted_, true)) return;
  services_.log.warning("no more standbys are made, so that restarts take longer: {}",
                        *plan_.off());
}

/// Whether a new standby yields the processors to running processes. If processes are replaced one
/// at a time, the first standby does not yield: until it is ready, a failure makes all others wait
/// for an import.
ELASTIC_DECL bool standby_set::stands_back() const {
  const bool is_urgent = services_.replaces_processes && ready() == 0;
  return stage_ != detail::standby_view::stage::absence && !is_urgent;
}

/// Starts a standby, which then imports on its own. Result: null if no standby can be made.
ELASTIC_DECL task<standby_set::standby_pointer> standby_set::start(std::string key) {
  process_spec spec = slots_.at(key).spec;
  const bool runs_script = runs_scripts_.value_or(false);
  if (runs_script) spec = detail::without_attempt(std::move(spec));
  const auto command = detail::parse_python_command(spec.arguments);
  if (!command) {
    plan_.give_up("the arguments are not those of a Python program");
    co_return nullptr;
  }
  if (!co_await is_waiting_kind(spec)) co_return nullptr;
  if (slots_.count(key) == 0) co_return nullptr;
  detail::standby_task plan;
  if (const auto record = record_for(key)) plan.record = record->text();
  plan.modules = modules_text();
  plan.runs_script = runs_script;
  plan.stands_back = stands_back();
  plan.kind = command->what == detail::python_command::kind::script   ? "script"
              : command->what == detail::python_command::kind::module ? "module"
                                                                      : "code";
  plan.name = command->name;
  const auto made = detail::new_shared<standby>();
  made->key = key;
  made->pool = slots_.at(key).pool;
  made->made_for = spec;
  made->runs_script = runs_script;
  made->began_alone = stage_ == detail::standby_view::stage::absence;
  made->known_bytes = plan.record.size();
  made->left_out = plan_.dropped_modules();
  made->process = co_await detail::standby_process::start(services_.launcher, spec, plan);
  standbys_.push_back(made);
  co_return made;
}

/// Waits until a standby is ready, and discards it if it will not be. If this is cancelled, the
/// standby continues.
ELASTIC_DECL task<void> standby_set::finish(standby_pointer unfinished) {
  unfinished->is_awaited = true;
  std::string problem;
  try {
    co_await finish_imports(unfinished);
  } catch (const std::exception& failure) {
    unfinished->is_awaited = false;
    if (detail::was_cancelled(failure)) throw;
    problem = failure.what();
  }
  unfinished->is_awaited = false;
  if (unfinished->is_ready) {
    plan_.ready();
  } else {
    discard(unfinished);
  }
  if (!problem.empty()) take_failure(problem);
  log_end();
  report_counts();
}

ELASTIC_DECL task<void> standby_set::finish_imports(standby_pointer unfinished) {
  using kind = detail::standby_message::kind;
  std::optional<detail::standby_message> answer;
  std::string problem;
  bool is_late = false;
  try {
    answer = co_await first_message(unfinished->process, limits::standby_import);
  } catch (const error& failure) {
    problem = failure.what();
    is_late = failure.code() == errc::timed_out;
  }
  if (!answer) {
    std::optional<exit_status> end;
    if (!is_late) end = co_await end_of(unfinished->process);
    if (unfinished->runs_script) co_return take_lost_run(end);
    throw error(errc::start_failed, end ? fmt::format("{}: {}", problem, end->text()) : problem);
  }
  const detail::standby_message& message = *answer;
  switch (message.what) {
    case kind::dropped: co_return take_dropped(*unfinished, message);
    case kind::refused:
      if (unfinished->runs_script) co_return disable_runs(printable_text(message.reason));
      co_return take_refusal(printable_text(message.reason), unfinished->known_bytes > 0);
    case kind::prepared: throw error(errc::protocol_violation, "it was prepared for nothing");
    case kind::ready: break;
  }
  if (message.pid != unfinished->process->pid()) {
    co_return plan_.give_up("the interpreter is not the process that is started");
  }
  if (!message.missing.empty()) {
    services_.log.info("not installed, and so not imported by standbys: {}",
                       printable_text(fmt::format("{}", fmt::join(message.missing, ", "))));
  }
  if (unfinished->runs_script == runs_scripts_.value_or(false)) {
    take_ready(*unfinished, message);
  }
}

/// Standbys that are made at the same time drop the same modules.
ELASTIC_DECL void standby_set::take_dropped(const standby& entry,
                                            const detail::standby_message& message) {
  const bool is_known = plan_.dropped_modules().count(message.module) != 0;
  if (is_known && entry.left_out.count(message.module) == 0) return;
  if (!plan_.dropped(message.module)) return;
  services_.log.warning("standbys do not import {}: {}", printable_text(message.module),
                        printable_text(message.reason));
}

ELASTIC_DECL void standby_set::take_ready(standby& entry, const detail::standby_message& message) {
  const pid_t pid = entry.process->pid();
  entry.is_ready = true;
  entry.variables = {message.variables.begin(), message.variables.end()};
  entry.is_watched = false;
  are_bound_ = is_bound(entry);
  if (are_bound_ && slots_.size() > 1) {
    log_bound("its imports or its script have read variables in which the workers differ");
  }
  services_.log.info("{} has a standby: process {}{}", name_of(entry), pid,
                     entry.runs_script
                         ? ", which has run the script up to survive.prepare()"
                         : "");
  const process_pointer old = std::exchange(entry.replaced, nullptr);
  discard_if([&](const standby& each) { return old && each.process == old; });
  largest_ = std::max(largest_, services_.memory_of(pid));
  cost_ = services_.processor_time_of(pid);
  is_short_noted_ = false;
  lost_runs_ = 0;
}

ELASTIC_DECL task<bool> standby_set::is_waiting_kind(process_spec spec) {
  const auto command = detail::parse_python_command(spec.arguments);
  spec.arguments = command->flags;
  spec.arguments.insert(spec.arguments.end(), {"-c", "pass"});
  detail::standby_task plan;
  plan.kind = "code";
  plan.stands_back = stands_back();
  const process_pointer probe =
      co_await detail::standby_process::start(services_.launcher, spec, plan);
  const ended_probe made{*this, probe};
  std::string problem;
  bool is_lost = false;
  bool is_late = false;
  try {
    const detail::standby_message message =
        co_await first_message(probe, limits::standby_probe);
    if (message.what == detail::standby_message::kind::refused) {
      problem = "it refuses: " + printable_text(message.reason);
    } else if (message.what != detail::standby_message::kind::ready) {
      problem = "it breaks the protocol";
    } else if (message.pid != probe->pid()) {
      problem = "the interpreter is not the process that is started";
    }
  } catch (const error& failure) {
    is_lost = true;
    is_late = failure.code() == errc::timed_out;
  }
  if (is_lost) {
    std::optional<exit_status> end;
    if (!is_late) end = co_await end_of(probe);
    // The death may have been an accident, so this tries once more.
    throw error(
        errc::start_failed,
        end && !end->is_success()
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

ELASTIC_DECL void standby_set::discard(const standby_pointer& entry) {
  if (!entry || std::exchange(entry->is_discarded, true)) return;
  std::erase(standbys_, entry);
  end(entry->process);
}

ELASTIC_DECL void standby_set::end(const process_pointer& process) {
  process->kill();
  discarded_.push_back(process);
}

ELASTIC_DECL void standby_set::discard_if(
    const std::function<bool(const standby&)>& is_unused) {
  const std::vector<standby_pointer> all = standbys_;
  for (const standby_pointer& each : all) {
    if (is_unused(*each)) discard(each);
  }
}

ELASTIC_DECL task<void> standby_set::end_discarded() {
  while (!discarded_.empty()) {
    // It stays in the list until it has ended, even if this call is cancelled.
    const process_pointer process = discarded_.back();
    const pid_t pid = process->pid();
    const time_point deadline = deadline_after(services_.time->now(), limits::standby_end);
    std::string problem = "it was killed";
    bool has_ended = false;
    try {
      has_ended = co_await with_deadline(*services_.time, deadline, process->end());
    } catch (const std::exception& failure) {
      if (detail::was_cancelled(failure)) throw;
      problem = failure.what();
    }
    if (!has_ended) services_.log.warning("standby {} has not ended: {}", pid, problem);
    std::erase_if(discarded_, [&](const auto& entry) { return entry == process; });
  }
}

ELASTIC_DECL task<void> standby_set::until_ready() { return settled_.wait(); }

ELASTIC_DECL task<void> standby_set::stop() {
  discard_if([](const standby&) { return true; });
  slots_.clear();
  report_counts();
  co_await end_discarded();
}

ELASTIC_DECL std::size_t standby_set::ready() const {
  return static_cast<std::size_t>(
      std::count_if(standbys_.begin(), standbys_.end(),
                    [](const standby_pointer& each) { return each->is_ready; }));
}

ELASTIC_DECL std::size_t standby_set::missing() const {
  return lacking().size() + standbys_.size() - ready();
}

ELASTIC_DECL void standby_set::report_counts() {
  if (!on_change_) return;
  counts now;
  now.ready = ready();
  now.making = standbys_.size() - now.ready;
  if (now.ready == reported_.ready && now.making == reported_.making) return;
  for (const standby_pointer& each : standbys_) {
    if (each->is_ready) now.bytes += services_.memory_of(each->process->pid());
  }
  reported_ = now;
  on_change_(now);
}

}  // namespace elastic
