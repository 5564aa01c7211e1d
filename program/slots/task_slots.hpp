// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/process/guard_spawner.hpp>
#include <elastic/process/output_sink.hpp>
#include <program/slots/slot_socket.hpp>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace elasticrun {

/// The agent's connections to the slots of its node: the other tasks that the scheduler started
/// there, which call `run_slot`. `add_slots` makes an agent start its workers in them.
///
/// A slot starts a guard and passes its pidfd to this process, which then watches the guard as one
/// of its own. The worker has the slot's streams, processors, cgroup and environment. If a slot
/// ends, its worker ends with it; if this process ends, all slots end.
/// Thread-safety: one strand at a time.
class task_slots final : public elastic::guard_spawner {
 public:
  /// @param plan  the plan of task 0
  task_slots(elastic::asio::any_io_executor executor, slot_plan plan, elastic::logger log);

  /// Tells the slots to end as soon as this process has ended.
  ~task_slots() override;
  task_slots(const task_slots&) = delete;
  task_slots& operator=(const task_slots&) = delete;

  /// Waits until every slot is connected. Call it once.
  ///
  /// Errors: `errc::timed_out`, naming the tasks that did not connect within
  /// `limits::slot_meeting`; `errc::address_in_use`, naming the process and the user that hold the
  /// socket's name (at once if that is another user); `errc::start_failed` if the socket cannot be
  /// created.
  /// Cancellation: all types.
  elastic::task<void> meet(std::shared_ptr<elastic::time_source> time);

  /// Sets the exit code of the slots, 0 to 255. Until then, it is 1.
  void finish(int code) { code_ = code; }

  const slot_plan& plan() const { return plan_; }

  /// The stdout (1) or stderr (2) of a slot, which must be connected. The descriptor is borrowed.
  int stream(int place, int number) const {
    return slot_at(place).streams[number == 1 ? 0 : 1].get();
  }

  /// A sink that shows copied output on the stdout (1) or stderr (2) of a slot, which must be
  /// connected.
  std::shared_ptr<elastic::output_sink> console(int place, int number) const;

 private:
  struct slot {
    elastic::detail::unique_fd socket;
    slot_peer peer;
    elastic::detail::unique_fd streams[2];
  };

  // Starts a guard in the slot of `process_spec::slot`; in slot 0, this process does.
  elastic::task<std::optional<elastic::detail::spawn_result>> spawn(
      elastic::detail::spawn_request request) override;

  elastic::task<void> listen(elastic::time_source& time, elastic::time_point patience_ends);
  elastic::task<void> await_slots(elastic::time_source& time);
  // Result: false if a task that has come cannot be accepted now.
  bool look();
  bool take_newcomer();
  void greet(elastic::detail::unique_fd socket);
  void watch(int fd);
  std::string missing() const;
  const slot& slot_at(int place) const;

  elastic::asio::any_io_executor executor_;
  slot_plan plan_;
  elastic::logger log_;
  elastic::environment_map own_;
  int code_ = 1;
  elastic::detail::unique_fd listener_;
  // An epoll instance. It is readable when the listener or a newcomer that has not sent its hello
  // is.
  elastic::asio::posix::stream_descriptor room_;
  std::vector<elastic::detail::unique_fd> newcomers_;
  std::vector<slot> slots_;
  std::set<long> strangers_;
};

}  // namespace elasticrun
