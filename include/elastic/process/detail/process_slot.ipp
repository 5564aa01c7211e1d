// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/process_slot.hpp>

#include <elastic/base/detail/asio_tasks.hpp>
#include <elastic/base/detail/seconds_text.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/process/detail/file_tail.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/process/exit_status.hpp>

#include <algorithm>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL process_slot::process_slot(asio::any_io_executor executor, std::size_t place)
    : index(place),
      ended(executor),
      copied(executor),
      cleared(executor),
      executor_(executor),
      hurried_(std::move(executor)) {}

ELASTIC_DECL std::unique_ptr<tee> process_slot::make_tee(
    const output_plan& plan, opened_stream& stream, const std::shared_ptr<output_sink>& console,
    const std::shared_ptr<time_source>& time, const logger& log) {
  if (!stream.pipe) return nullptr;
  tee_outlets outlets;
  outlets.file = std::move(stream.file);
  outlets.matches = plan.matches;
  if (plan.console) outlets.console = plan.sink ? plan.sink : console;
  outlets.prefix = plan.prefix;
  outlets.json = plan.json;
  outlets.keep_tail = plan.keep_tail;
  outlets.time = time;
  outlets.log = log;
  log_ = log;
  return std::make_unique<tee>(executor_, std::move(stream.pipe), std::move(outlets));
}

ELASTIC_DECL void process_slot::begin(std::unique_ptr<child> started) {
  process = std::move(started);
  pid = process->pid();
  copy(out, cancel_out_);
  copy(err, cancel_err_);
  if (copying_ == 0) copied.set();
}

ELASTIC_DECL task<void> process_slot::drain(std::shared_ptr<time_source> time) {
  if (copied.is_set()) co_return;
  const time_point deadline = time->now() + limits::drain_after_exit;
  draining_ = true;
  since = time->now();
  if (!hurried_.is_set()) {
    co_await with_deadline(*time, deadline, copied.wait());
  }
  finish_copies();
  co_await wait_for_copies(time);
  if (copied.is_set()) co_return;
  for (auto* cancel : {&cancel_out_, &cancel_err_}) cancel->emit(asio::cancellation_type::terminal);
  co_await copied.wait();
}

ELASTIC_DECL task<void> process_slot::wait_for_copies(std::shared_ptr<time_source> time) {
  co_await race(copied.wait(), hurried_.wait());
  if (copied.is_set()) co_return;
  const time_point deadline = deadline_after(time->now(), limits::file_after_stop);
  co_await with_deadline(*time, deadline, copied.wait());
}

ELASTIC_DECL void process_slot::release() {
  // After `abandon`, other coroutines still use the process; the last of them destroys it.
  if (abandoned) return;
  if (err) kept_ = err->kept();
  process.reset();
  out.reset();
  err.reset();
  cleared.set();
}

ELASTIC_DECL std::vector<std::string> process_slot::tail() const {
  return err || tail_file.empty() ? kept().lines() : read_file_tail(tail_file);
}

ELASTIC_DECL std::string process_slot::text(time_point now) const {
  const auto& [number, sent] = asked;
  std::string text = fmt::format("process {} ", pid);
  if (running()) {
    text += clearing ? "is being killed for " : "runs for ";
  } else if (!clearing) {
    text += "has ended, and waits to be cleared for ";
  } else {
    text += draining_ ? "has ended; waits for its output for "
                      : "has ended; waits for what it left behind for ";
  }
  text += seconds_text(now - since);
  if (number != 0)
    text += fmt::format("; {} was sent {} ago", signal_name(number), seconds_text(now - sent));
  if (running() && snapshot) text += fmt::format("; it is {}", snapshot->text());
  return text;
}

ELASTIC_DECL void process_slot::stop_waiting() {
  hurried_.set();
  abandon_console();
  if (draining_) finish_copies();
}

ELASTIC_DECL void process_slot::give_up(const std::string& why) {
  given_up = true;
  clear_failure = std::make_exception_ptr(error(errc::process_stuck, why));
  cancel_watch.emit(asio::cancellation_type::terminal);
  stop_waiting();
}

ELASTIC_DECL void process_slot::abandon() noexcept {
  abandoned = true;
  if (running()) process->signal(SIGKILL);
  abandon_console();
  for (auto* cancel : {&cancel_out_, &cancel_err_, &cancel_watch, &cancel_clear}) {
    cancel->emit(asio::cancellation_type::terminal);
  }
  cleared.set();
}

ELASTIC_DECL void process_slot::copy(const std::unique_ptr<tee>& stream,
                                     asio::cancellation_signal& cancel) {
  if (!stream) return;
  stream->begin(pid);
  ++copying_;
  run(stream->run(), cancel, [this](const std::exception_ptr& failure) {
    finish_copy(failure);
    if (--copying_ == 0) copied.set();
  });
}

ELASTIC_DECL void process_slot::finish_copy(const std::exception_ptr& failure) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const std::exception& thrown) {
    const auto* const failed = dynamic_cast<const asio_system_error*>(&thrown);
    if (failed && failed->code() == asio::error::operation_aborted) return;
    log_.warning("the output of process {} is no longer read: {}", pid, thrown.what());
  } catch (...) {
    log_.warning("the output of process {} is no longer read", pid);
  }
}

ELASTIC_DECL void process_slot::finish_copies() {
  if (out) out->finish();
  if (err) err->finish();
}

ELASTIC_DECL void process_slot::abandon_console() {
  if (out) out->abandon_console();
  if (err) err->abandon_console();
}

}  // namespace elastic::detail
