// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/detail/proc_snapshot.hpp>
#include <elastic/process/detail/tee.hpp>
#include <elastic/process/output_sink.hpp>
#include <elastic/process/stdio.hpp>

#include <sys/types.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace elastic::detail {

/// One process of a set and the copying of its output, from its start until its slot is free.
/// Shared with the coroutines that work for it.
class process_slot : public std::enable_shared_from_this<process_slot> {
 public:
  ELASTIC_DECL process_slot(asio::any_io_executor executor, std::size_t place);

  /// Prepares the copying of one stream and takes its pipe and file; null if the stream is not
  /// copied.
  ELASTIC_DECL std::unique_ptr<tee> make_tee(const output_plan& plan, opened_stream& stream,
                                             const std::shared_ptr<output_sink>& console,
                                             const std::shared_ptr<time_source>& time,
                                             const logger& log);

  /// Takes over the process that was started, and copies its output from now on.
  ELASTIC_DECL void begin(std::unique_ptr<child> started);

  /// Runs `work` on the executor and then calls `on_end`; keeps this slot alive meanwhile.
  template <class OnEnd>
  void run(task<void> work, asio::cancellation_signal& cancel, OnEnd on_end) {
    start_task(
        executor_, std::move(work),
        [self = shared_from_this(),
         on_end = std::move(on_end)](std::exception_ptr failure) mutable { on_end(failure); },
        cancel.slot());
  }

  bool running() const { return process && !ended.is_set(); }
  bool is_free() const { return cleared.is_set(); }

  /// Waits until the pipes have ended and all output is written. After `limits::drain_after_exit`
  /// it copies what the pipes contain and closes them. After `stop_waiting` it abandons a file that
  /// hangs.
  ELASTIC_DECL task<void> drain(std::shared_ptr<time_source> time);

  /// Frees the slot; keeps only what a report needs.
  ELASTIC_DECL void release();
  ELASTIC_DECL std::vector<std::string> tail() const;

  /// The last lines of stderr that were copied.
  const line_tail& kept() const { return err ? err->kept() : kept_; }

  /// Stops waiting for the output.
  ELASTIC_DECL void stop_waiting();

  /// Abandons a killed process that does not end: nothing waits for it any more, and the error of
  /// its clearing says why.
  ELASTIC_DECL void give_up(const std::string& why);

  /// Ends everything without waiting, because the owner is gone.
  ELASTIC_DECL void abandon() noexcept;

  /// The state of the process and its duration, for messages: "process 1234 runs for 12.0 s".
  ELASTIC_DECL std::string text(time_point now) const;

  const std::size_t index;
  pid_t pid = 0;
  /// The time of the last change: the process was started, has ended, or is being cleared.
  time_point since{};
  /// The signal that was last sent to end it, and when; 0: none was.
  std::pair<int, time_point> asked{};
  /// The time for which processes that it leaves behind may linger.
  duration linger = duration::zero();
  std::unique_ptr<child> process;
  std::unique_ptr<tee> out;
  std::unique_ptr<tee> err;
  /// The file whose end is the tail, if the process writes it itself.
  std::string tail_file;
  event_flag ended;
  event_flag copied;
  event_flag cleared;
  bool clearing = false;
  bool was_stopped = false;
  bool given_up = false;
  bool abandoned = false;
  /// The state of the process some time after SIGKILL, if it had not ended.
  std::optional<proc_snapshot> snapshot;
  std::exception_ptr clear_failure;
  asio::cancellation_signal cancel_watch;
  asio::cancellation_signal cancel_clear;

 private:
  ELASTIC_DECL void copy(const std::unique_ptr<tee>& stream, asio::cancellation_signal& cancel);
  ELASTIC_DECL void finish_copy(const std::exception_ptr& failure);
  ELASTIC_DECL void finish_copies();
  ELASTIC_DECL void abandon_console();
  ELASTIC_DECL task<void> wait_for_copies(std::shared_ptr<time_source> time);

  asio::any_io_executor executor_;
  logger log_;
  int copying_ = 0;
  bool draining_ = false;
  event_flag hurried_;
  line_tail kept_;
  asio::cancellation_signal cancel_out_;
  asio::cancellation_signal cancel_err_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/process_slot.ipp>
#endif
