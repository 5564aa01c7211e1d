// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/waiters.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <utility>

namespace elastic::testing {

/// A clock for tests. It stands still while anything can run, and then jumps to the next deadline,
/// so hours pass in milliseconds, and always in the same order:
///
///     asio::io_context context;
///     manual_clock clock(context);
///     const rendezvous_round met = clock.run(node.next_round());
///
/// Sleepers with the same deadline wake together, in the order in which they went to sleep. The
/// clock does not wait for the outside world (sockets, processes) unless `heed_world` was called.
///
/// The context must live longer than the clock. Thread-safety: one thread.
class ELASTIC_EXPORT manual_clock final : public time_source {
 public:
  ELASTIC_DECL explicit manual_clock(asio::io_context& context);
  manual_clock(const manual_clock&) = delete;
  manual_clock& operator=(const manual_clock&) = delete;

  ELASTIC_DECL time_point now() const override;
  ELASTIC_DECL wall_time wall_now() const override;
  ELASTIC_DECL task<void> sleep_until(time_point deadline) override;

  /// This clock as a service for the tested code. The result does not own the clock.
  ELASTIC_DECL std::shared_ptr<time_source> share();

  /// How many coroutines sleep, including those without a deadline.
  std::size_t sleepers() const { return sleepers_.size(); }

  /// The virtual time since the clock was made.
  duration elapsed() const { return elapsed_; }

  /// From now on the clock also stands still until nothing has happened for `quiet` of real time,
  /// for tests with sockets or processes. 0: it does not wait for them.
  void heed_world(std::chrono::milliseconds quiet) { quiet_ = quiet; }

  /// Runs until nothing can run any more and no sleeper has a deadline.
  ELASTIC_DECL void run();

  /// Runs for `span`; the clock then shows the end of it.
  ELASTIC_DECL void run_for(duration span);

  /// Runs a task to its end, and everything else meanwhile.
  ///
  /// Result, errors: those of `work`. `std::logic_error` if it waits for something that cannot
  /// happen any more; the task is then left as it is.
  template <class T>
  T run(task<T> work) {
    const auto result = std::make_shared<std::optional<T>>();
    run(keep(std::move(work), result));
    return std::move(**result);
  }
  ELASTIC_DECL void run(task<void> work);

  asio::io_context& context() { return context_; }

  /// The first time that it shows.
  static constexpr time_point start{std::chrono::hours(1)};
  /// The same as a time of day: 2026-01-01 00:00:00 UTC.
  static constexpr wall_time wall_start{std::chrono::seconds(1'767'225'600)};

 private:
  struct ending {
    bool ended = false;
    std::exception_ptr failure;
  };

  template <class T>
  static task<void> keep(task<T> work, std::shared_ptr<std::optional<T>> result) {
    result->emplace(co_await std::move(work));
  }

  ELASTIC_DECL void run_ready(const ending* until = nullptr);
  ELASTIC_DECL bool something_happens();
  ELASTIC_DECL time_point first_deadline() const;
  // Jumps to the next deadline, at most to `end`, and wakes its sleepers.
  // Result: whether there was one.
  ELASTIC_DECL bool jump(time_point end);

  asio::io_context& context_;
  duration elapsed_{0};
  std::chrono::milliseconds quiet_{0};
  elastic::detail::waiters sleepers_;
};

}  // namespace elastic::testing

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/testing/impl/manual_clock.ipp>
#endif
