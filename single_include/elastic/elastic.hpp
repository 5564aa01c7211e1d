// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The whole library in one header, made by scripts/amalgamate.py. Do not edit it: change the
// headers in include/ and run the script again.

// ---- elastic/base/log.hpp ----

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic {

enum class log_level { debug, info, warning, error, off };

/// Where log lines go. Implement it to send them to your own logging system.
///
/// Thread-safety: `write` must be callable from any thread on which an agent or server runs.
class log_handler {
 public:
  virtual ~log_handler() = default;

  /// One line, without a line end. Must not block for long and must not throw.
  virtual void write(log_level level, std::string_view text) noexcept = 0;
};

/// A threshold and a handler, passed by value to whatever logs. A default-made logger is silent:
/// an embedded agent writes nowhere unless it was told where.
class logger {
 public:
  logger() = default;
  logger(std::shared_ptr<log_handler> handler, log_level threshold)
      : handler_(std::move(handler)), threshold_(threshold) {}

  bool enabled(log_level level) const { return handler_ && level >= threshold_; }

  template <class... Args>
  void debug(fmt::format_string<Args...> text, Args&&... args) const {
    write(log_level::debug, text, std::forward<Args>(args)...);
  }
  template <class... Args>
  void info(fmt::format_string<Args...> text, Args&&... args) const {
    write(log_level::info, text, std::forward<Args>(args)...);
  }
  template <class... Args>
  void warning(fmt::format_string<Args...> text, Args&&... args) const {
    write(log_level::warning, text, std::forward<Args>(args)...);
  }
  template <class... Args>
  void error(fmt::format_string<Args...> text, Args&&... args) const {
    write(log_level::error, text, std::forward<Args>(args)...);
  }

 private:
  template <class... Args>
  void write(log_level level, fmt::format_string<Args...> text, Args&&... args) const {
    if (enabled(level)) handler_->write(level, fmt::format(text, std::forward<Args>(args)...));
  }

  std::shared_ptr<log_handler> handler_;
  log_level threshold_ = log_level::off;
};

}  // namespace elastic

// ---- elastic/base/asio.hpp ----

// The one place that knows which Asio is under us. Everything else includes this header and
// writes `asio::`, so that a change in a newer Asio is answered here and nowhere else.

// Before Asio: where no header of the standard library came first, it takes its memory from another
// place, and must do so in all translation units or in none.
#include <cstddef>

#include <asio/version.hpp>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/buffer.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/co_spawn.hpp>
#include <asio/connect.hpp>
#include <asio/detached.hpp>
#include <asio/dispatch.hpp>
#include <asio/error.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/udp.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <asio/strand.hpp>
#include <asio/this_coro.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include <asio/experimental/awaitable_operators.hpp>
#include <asio/experimental/channel.hpp>
#include <asio/experimental/parallel_group.hpp>

// Asio moved these two out of `experimental` after 1.22.
#if __has_include(<asio/as_tuple.hpp>)
#include <asio/as_tuple.hpp>
#else
#include <asio/experimental/as_tuple.hpp>
#endif
#if __has_include(<asio/deferred.hpp>)
#include <asio/deferred.hpp>
#else
#include <asio/experimental/deferred.hpp>
#endif

#if !defined(ASIO_HAS_CO_AWAIT)
#error "elastic needs Asio's coroutines: compile as C++20 and define ASIO_HAS_CO_AWAIT=1 for clang"
#endif

namespace elastic::detail {

// How an operation is awaited when its error is an expected outcome: the result is a tuple that
// starts with the error code, and nothing is thrown.
#if __has_include(<asio/as_tuple.hpp>)
inline constexpr asio::as_tuple_t<asio::use_awaitable_t<>> as_result{asio::use_awaitable};
using asio::deferred;
#else
inline constexpr asio::experimental::as_tuple_t<asio::use_awaitable_t<>> as_result{
    asio::use_awaitable};
using asio::experimental::deferred;
#endif

}  // namespace elastic::detail

// ---- elastic/base/task.hpp ----

namespace elastic {

/// The coroutine type of this library: Asio's own awaitable.
///
/// A task is lazy: it starts when it is awaited (or given to `asio::co_spawn`), runs on the
/// executor of the coroutine that awaits it, and takes that coroutine's cancellation. Everything
/// that composes with `asio::awaitable` composes with a task.
template <class T = void>
using task = asio::awaitable<T>;

}  // namespace elastic

// ---- elastic/base/detail/concurrent_run.hpp ----

#include <exception>
#include <system_error>
#include <vector>

namespace elastic::detail {

/// Whether this is the end of something that was cancelled.
inline bool is_cancellation(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const asio::multiple_exceptions& several) {
    // What `&&` and `||` throw where more than one of their branches did.
    return is_cancellation(several.first_exception());
  } catch (const std::system_error& one) {
    return one.code() == asio::error::operation_aborted ||
           one.code() == std::errc::operation_canceled;
  } catch (...) {
    return false;
  }
}

/// How tasks that ran at once ended: in which order, and each with what.
struct concurrent_outcome {
  std::vector<std::size_t> order;
  std::vector<std::exception_ptr> failures;
};

/// What cancels the tasks that still run.
enum class cancelled_by { first_end, first_failure };

// Tasks that run at once until the last of them has ended. Unlike a parallel_group it lets every
// request of the caller through, not only the first one: a stop that escalates arrives, also after
// the tasks were cancelled.
template <class Handler>
class concurrent_run : public std::enable_shared_from_this<concurrent_run<Handler>> {
 public:
  // The caller's requests go to the first `addressees` of the tasks.
  concurrent_run(Handler handler, std::size_t count, std::size_t addressees, cancelled_by reason)
      : handler_(std::move(handler)),
        addressees_(addressees),
        reason_(reason),
        cancel_(count),
        has_ended_(count) {
    outcome_.failures.resize(count);
  }

  void start(const asio::any_io_executor& executor, std::vector<task<void>> tasks) {
    auto slot = asio::get_associated_cancellation_slot(handler_);
    if (slot.is_connected()) {
      slot.assign([weak = this->weak_from_this()](asio::cancellation_type type) {
        if (const auto run = weak.lock()) run->cancel(run->addressees_, type);
      });
    }
    for (std::size_t place = 0; place < tasks.size(); ++place) {
      auto on_end = [self = this->shared_from_this(), place](std::exception_ptr failure) {
        self->ended(place, failure);
      };
      asio::co_spawn(executor, std::move(tasks[place]),
                     asio::bind_cancellation_slot(cancel_[place].slot(), std::move(on_end)));
    }
  }

 private:
  void cancel(std::size_t count, asio::cancellation_type type) {
    for (std::size_t place = 0; place < count; ++place) {
      if (!has_ended_[place]) cancel_[place].emit(type);
    }
  }

  void ended(std::size_t place, const std::exception_ptr& failure) {
    has_ended_[place] = true;
    outcome_.failures[place] = failure;
    outcome_.order.push_back(place);
    if (!is_cancelled_ && (failure || reason_ == cancelled_by::first_end)) {
      is_cancelled_ = true;
      cancel(cancel_.size(), asio::cancellation_type::all);
    }
    if (outcome_.order.size() < cancel_.size()) return;
    std::move(handler_)(std::move(outcome_));
  }

  Handler handler_;
  std::size_t addressees_;
  cancelled_by reason_;
  std::vector<asio::cancellation_signal> cancel_;
  std::vector<bool> has_ended_;
  bool is_cancelled_ = false;
  concurrent_outcome outcome_;
};

struct start_concurrent_run {
  template <class Handler>
  void operator()(Handler handler, const asio::any_io_executor& executor, std::size_t addressees,
                  cancelled_by reason, std::vector<task<void>> tasks) const {
    const std::size_t count = tasks.size();
    std::make_shared<concurrent_run<Handler>>(std::move(handler), count, addressees, reason)
        ->start(executor, std::move(tasks));
  }
};

/// `tasks` must not be empty.
inline task<concurrent_outcome> run_concurrently(asio::any_io_executor executor,
                                                 std::size_t addressees, cancelled_by reason,
                                                 std::vector<task<void>> tasks) {
  return asio::async_initiate<const asio::use_awaitable_t<>, void(concurrent_outcome)>(
      start_concurrent_run(), asio::use_awaitable, std::move(executor), addressees, reason,
      std::move(tasks));
}

/// The first to end cancels the others. The caller's requests go to the first `addressees`.
template <class... Tasks>
task<concurrent_outcome> run_race(asio::any_io_executor executor, std::size_t addressees,
                                  Tasks... tasks) {
  std::vector<task<void>> all;
  all.reserve(sizeof...(Tasks));
  (all.push_back(std::move(tasks)), ...);
  return run_concurrently(std::move(executor), addressees, cancelled_by::first_end,
                          std::move(all));
}

}  // namespace elastic::detail

// ---- elastic/base/race.hpp ----

namespace elastic {

/// Runs all tasks at once until the first of them ends, by success or by an error; cancels the
/// others, by all types, and waits for their end.
///
/// It differs from Asio's `||` in that a task that throws ends the race, too, and in that every
/// request of the caller arrives, not only the first.
///
/// Result: the index of the first. A later one may have ended with success as well.
/// Errors: that of the first, else one of a later task that is not its cancellation.
/// Cancellation: every request is passed on to every task; then throws what the first threw.
template <class... Tasks>
task<std::size_t> race(Tasks... tasks) {
  auto executor = co_await asio::this_coro::executor;
  const auto outcome =
      co_await detail::run_race(executor, sizeof...(Tasks), std::move(tasks)...);
  const std::size_t first = outcome.order[0];
  if (outcome.failures[first]) std::rethrow_exception(outcome.failures[first]);
  for (std::size_t place : outcome.order) {
    const std::exception_ptr& failure = outcome.failures[place];
    if (failure && !detail::is_cancellation(failure)) std::rethrow_exception(failure);
  }
  co_return first;
}

}  // namespace elastic

// ---- elastic/base/scope.hpp ----

#include <optional>

namespace elastic {

namespace detail {

template <class T>
task<void> keep_result(task<T> work, std::optional<T>& result) {
  result.emplace(co_await std::move(work));
}

}  // namespace detail

/// Runs `work` to its end whatever is cancelled meanwhile, and leaves the caller's cancellation
/// filter, state and `throw_if_cancelled` as they were.
///
/// To be awaited before a request has arrived: in a coroutine that was cancelled already, Asio
/// throws at the `co_await` itself and nothing runs. What must run after a cancellation too is
/// the clean-up of `with_cleanup` or the undoing of `with_rollback`.
///
/// Errors: those of `work`.
/// Cancellation: none reaches `work`; a request that arrives meanwhile stays noted in the
/// caller's state, so that its next `co_await` sees it.
inline task<void> shielded(task<void> work) {
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  co_await asio::this_coro::throw_if_cancelled(false);
  auto executor = co_await asio::this_coro::executor;
  std::exception_ptr failure;
  try {
    // An empty slot in the place of the caller's: nobody can signal through it.
    co_await asio::co_spawn(
        executor, std::move(work),
        asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
  } catch (...) {
    failure = std::current_exception();
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (failure) std::rethrow_exception(failure);
}

/// The same for work that has a result.
template <class T>
task<T> shielded(task<T> work) {
  std::optional<T> result;
  task<void> keeping = detail::keep_result(std::move(work), result);
  co_await shielded(std::move(keeping));
  co_return std::move(*result);
}

namespace detail {

enum class cleanup_when { always, after_failure };

inline task<void> run_with_cleanup(task<void> body, task<void> cleanup, cleanup_when when) {
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  std::exception_ptr failure;
  try {
    co_await std::move(body);
  } catch (...) {
    failure = std::current_exception();
  }
  if (failure || when == cleanup_when::always) {
    // Without this a body that was cancelled takes the clean-up with it.
    co_await asio::this_coro::throw_if_cancelled(false);
    try {
      co_await shielded(std::move(cleanup));
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  co_await asio::this_coro::throw_if_cancelled(throws);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace detail

/// Runs `body`, then `cleanup`: always, also when `body` threw or was cancelled.
///
/// What is to be cleaned up is made in `body`: in a caller that was cancelled already, Asio throws
/// at the `co_await` itself and neither runs.
///
/// Errors: the first one; an error of `cleanup` is reported only where `body` had none.
/// Cancellation: reaches `body` as usual and never `cleanup`, which is shielded.
inline task<void> with_cleanup(task<void> body, task<void> cleanup) {
  return detail::run_with_cleanup(std::move(body), std::move(cleanup),
                                  detail::cleanup_when::always);
}

/// The same for a body that has a result.
template <class T>
task<T> with_cleanup(task<T> body, task<void> cleanup) {
  std::optional<T> result;
  task<void> keeping = detail::keep_result(std::move(body), result);
  co_await with_cleanup(std::move(keeping), std::move(cleanup));
  co_return std::move(*result);
}

/// Runs `body`, and `rollback` only where `body` threw or was cancelled: for what is made in
/// several steps and must be whole or not at all. Otherwise as `with_cleanup`.
///
/// Errors: that of `body`; one of `rollback` is dropped in its favour.
inline task<void> with_rollback(task<void> body, task<void> rollback) {
  return detail::run_with_cleanup(std::move(body), std::move(rollback),
                                  detail::cleanup_when::after_failure);
}

/// The same for a body that has a result.
template <class T>
task<T> with_rollback(task<T> body, task<void> rollback) {
  std::optional<T> result;
  task<void> keeping = detail::keep_result(std::move(body), result);
  co_await with_rollback(std::move(keeping), std::move(rollback));
  co_return std::move(*result);
}

}  // namespace elastic

// ---- elastic/base/time.hpp ----

#include <chrono>

namespace elastic {

using time_point = std::chrono::steady_clock::time_point;
using duration = std::chrono::steady_clock::duration;
using wall_time = std::chrono::system_clock::time_point;

/// Where time comes from. Replaced in tests and simulations by a clock that jumps to the next
/// deadline, so that nothing in this library reads a clock or names a timer but through it.
///
/// Thread-safety: every member may be called from any thread.
class time_source {
 public:
  virtual ~time_source() = default;

  /// The monotonic time: for deadlines and intervals.
  virtual time_point now() const = 0;

  /// The time of day: for what people and files read, never to compare two nodes.
  virtual wall_time wall_now() const = 0;

  /// Waits until `now() >= deadline`; `time_point::max()` waits until it is cancelled.
  ///
  /// Cancellation: all types; throws `operation_aborted`, nothing is left behind.
  virtual task<void> sleep_until(time_point deadline) = 0;
};

/// The clocks of the machine.
class system_time final : public time_source {
 public:
  time_point now() const override { return std::chrono::steady_clock::now(); }
  wall_time wall_now() const override { return std::chrono::system_clock::now(); }
  task<void> sleep_until(time_point deadline) override {
    asio::steady_timer timer(co_await asio::this_coro::executor, deadline);
    co_await timer.async_wait(asio::use_awaitable);
  }
};

/// The one race against time: runs `work`, at most until `deadline`.
///
/// Result: whether `work` ended by itself. Where it did not, it was cancelled (by all types), and
/// has ended, when this returns. Work that ends with success although the deadline cancelled it
/// has ended by itself: no result is lost.
///
/// Errors: those of `work`.
/// Cancellation: every request is passed on to `work`, after the deadline too; then throws what
/// `work` threw.
inline task<bool> with_deadline(time_source& time, time_point deadline, task<void> work) {
  auto executor = co_await asio::this_coro::executor;
  // Requests are for the work alone: the deadline stays in force while it follows them.
  const auto outcome = co_await detail::run_race(executor, 1, std::move(work),
                                                 time.sleep_until(deadline));
  const std::exception_ptr& failure = outcome.failures[0];
  const bool expired = outcome.order[0] == 1 && !outcome.failures[1];
  if (!failure) co_return true;
  if (expired && detail::is_cancellation(failure)) co_return false;
  std::rethrow_exception(failure);
}

/// The same for work that has a result: empty where the deadline came first.
template <class T>
task<std::optional<T>> with_deadline(time_source& time, time_point deadline, task<T> work) {
  std::optional<T> result;
  task<void> keeping = detail::keep_result(std::move(work), result);
  co_await with_deadline(time, deadline, std::move(keeping));
  co_return result;
}

}  // namespace elastic

// ---- elastic/base/error.hpp ----

#include <cerrno>

namespace elastic {

/// What can go wrong in this library, one code per thing that a caller can react to.
/// Values are part of the interface and never change.
enum class errc {
  /// A value given by the caller is outside of what is allowed; the message says what is.
  invalid_argument = 1,
  /// The time that was allowed for the operation is over.
  timed_out = 2,
  /// The service at the other end cannot be reached or the connection to it broke.
  connection_failed = 3,
  /// Bytes from outside break the protocol or a bound of it.
  protocol_violation = 4,
  /// The program of a worker cannot be found.
  program_not_found = 5,
  /// The program of a worker exists but cannot be executed.
  program_not_executable = 6,
  /// A worker could not be started for another reason of the operating system.
  start_failed = 7,
  /// The rendezvous is closed: the job has failed, or was ended, for every node.
  rendezvous_closed = 8,
  /// The rendezvous did not complete within the join timeout.
  rendezvous_timeout = 9,
  /// The state kept by the rendezvous backend cannot be understood.
  rendezvous_state = 10,
  /// A file or directory cannot be read, written or made.
  file_access = 11,
  /// The address is in use by another program.
  address_in_use = 12,
  /// The object was stopped or closed while the operation waited.
  stopped = 13,
  /// The value in the store is not what the operation needs (such as text where a number is due).
  store_value = 14,
  /// The other side does not know the operation.
  not_supported = 15,
  /// The rendezvous is closed: the job has succeeded.
  rendezvous_finished = 16,
  /// A process that was killed does not end: it waits in the kernel for what does not come.
  process_stuck = 17,
};

namespace detail {

class error_category_type final : public std::error_category {
 public:
  const char* name() const noexcept override { return "elastic"; }
  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::invalid_argument: return "invalid argument";
      case errc::timed_out: return "timed out";
      case errc::connection_failed: return "connection failed";
      case errc::protocol_violation: return "protocol violation";
      case errc::program_not_found: return "program not found";
      case errc::program_not_executable: return "program not executable";
      case errc::start_failed: return "start failed";
      case errc::rendezvous_closed: return "rendezvous closed";
      case errc::rendezvous_timeout: return "rendezvous timed out";
      case errc::rendezvous_state: return "rendezvous state not understood";
      case errc::file_access: return "file access failed";
      case errc::address_in_use: return "address in use";
      case errc::stopped: return "stopped";
      case errc::store_value: return "unexpected value in the store";
      case errc::not_supported: return "not supported by the other side";
      case errc::rendezvous_finished: return "rendezvous finished";
      case errc::process_stuck: return "process stuck";
    }
    return "unknown error";
  }
};

}  // namespace detail

/// The category of `errc`.
inline const std::error_category& error_category() noexcept {
  static const detail::error_category_type category;
  return category;
}

inline std::error_code make_error_code(errc value) noexcept {
  return {static_cast<int>(value), error_category()};
}

/// What this library throws at its public boundary: a code to react to and one sentence that
/// says what was wrong, with the names and values that the user needs to act.
class error : public std::system_error {
 public:
  error(errc code, const std::string& sentence)
      : std::system_error(make_error_code(code)), sentence_(sentence) {}

  /// The sentence alone, without the text of the code.
  const char* what() const noexcept override { return sentence_.c_str(); }

 private:
  std::string sentence_;
};

/// "No such file or directory" for ENOENT: the text of an `errno` value.
inline std::string errno_text(int number) { return std::generic_category().message(number); }

}  // namespace elastic

template <>
struct std::is_error_code_enum<elastic::errc> : std::true_type {};

// ---- elastic/process/detail/unique_fd.hpp ----

#include <unistd.h>

namespace elastic::detail {

/// Owns a file descriptor.
class unique_fd {
 public:
  unique_fd() = default;
  explicit unique_fd(int fd) : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  ~unique_fd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset() noexcept {
    if (fd_ >= 0) ::close(release());
  }

 private:
  int fd_ = -1;
};

}  // namespace elastic::detail

// ---- elastic/process/console_target.hpp ----

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace elastic {

namespace detail {

// Blocks SIGPIPE in this thread and takes away the one that a write has raised meanwhile: a host
// that has not chosen to ignore it must not die of a console that went away.
class without_sigpipe {
 public:
  without_sigpipe() {
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    if (!was_pending_) ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  without_sigpipe(const without_sigpipe&) = delete;
  without_sigpipe& operator=(const without_sigpipe&) = delete;
  ~without_sigpipe() {
    if (was_pending_) return;
    if (raised_) {
      constexpr timespec at_once{0, 0};
      while (::sigtimedwait(&pipe_, nullptr, &at_once) == -1 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  void note_raised() { raised_ = true; }

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
  bool raised_ = false;
};

inline ssize_t write_without_sigpipe(int fd, const void* data, std::size_t size) {
  ssize_t written;
  int failure;
  {
    without_sigpipe guard;
    written = ::write(fd, data, size);
    failure = errno;
    if (written < 0 && failure == EPIPE) guard.note_raised();
  }
  errno = failure;
  return written;
}

}  // namespace detail

/// A stdout or stderr, shared with other processes, that is written without blocking and without
/// a change of the flags that they all see: a terminal, a pipe, a file, a socket.
///
/// Thread-safety: one thread at a time.
class console_target {
 public:
  /// `fd` is borrowed: the target keeps a descriptor of its own, and none where `fd` is not open.
  explicit console_target(int fd) {
    struct stat status {};
    if (::fstat(fd, &status) != 0) return;
    if (S_ISSOCK(status.st_mode)) {
      how_ = how::socket;
    } else if (S_ISFIFO(status.st_mode) || ::isatty(fd)) {
      if (!is_terminal_master(fd)) fd_ = reopened(fd);
      how_ = fd_ ? how::own : how::shared;
    }
    if (!fd_) fd_ = detail::unique_fd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  }

  explicit operator bool() const { return static_cast<bool>(fd_); }

  /// For waiting until there is room.
  int fd() const { return fd_.get(); }

  /// Result: how many bytes were written; empty where there is no room now, or with another
  /// `errno` than EAGAIN where there will never be any.
  std::optional<std::size_t> write_some(std::string_view bytes) {
    for (;;) {
      const ssize_t written = attempt(bytes);
      if (written >= 0) return static_cast<std::size_t>(written);
      if (errno != EINTR) return std::nullopt;
    }
  }

 private:
  enum class how {
    /// A file or a device such as /dev/null: takes everything at once.
    blocking,
    /// An open file description of our own that does not block.
    own,
    /// A socket: asked for each write not to block.
    socket,
    /// Shared with others and blocking: written when it has room for `PIPE_BUF`, and no more.
    shared,
  };

  // An open file description of its own, with flags of its own, for the same pipe or terminal.
  static detail::unique_fd reopened(int fd) {
    const std::string path = fmt::format("/proc/self/fd/{}", fd);
    return detail::unique_fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  }

  // The side of a pseudo-terminal where its user sits: opened again, it would be a new one.
  static bool is_terminal_master(int fd) {
    unsigned number = 0;
    return ::ioctl(fd, TIOCGPTN, &number) == 0;
  }

  ssize_t attempt(std::string_view bytes) {
    if (how_ == how::socket) {
      return ::send(fd_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (how_ == how::shared) {
      pollfd room{fd_.get(), POLLOUT, 0};
      if (::poll(&room, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
      }
      bytes = bytes.substr(0, PIPE_BUF);
    }
    return detail::write_without_sigpipe(fd_.get(), bytes.data(), bytes.size());
  }

  how how_ = how::blocking;
  detail::unique_fd fd_;
};

}  // namespace elastic

// ---- elastic/process/console_writer.hpp ----

#include <asio/experimental/concurrent_channel.hpp>

#include <sys/epoll.h>

namespace elastic {

/// Where output that was copied from processes is shown. Implement it to show it elsewhere.
///
/// Thread-safety: `write` must be callable from every strand whose processes write to it.
class output_sink {
 public:
  virtual ~output_sink() = default;

  /// Writes all of `bytes`, which stay valid until it returns, before the bytes of any later call.
  /// Lines come whole and several at a time (a stream without prefix, and the end of one that
  /// ends without a line end, excepted). Taking long makes the processes wait, not the loop.
  ///
  /// Errors: none; what cannot be shown is dropped.
  /// Cancellation: all types; a part may have been written.
  virtual task<void> write(std::string_view bytes) = 0;
};

/// Shows output on a descriptor of this process: a terminal, a pipe, a file, a socket.
///
/// A reader that is slow makes `write` wait, and so the processes whose output it is; never the
/// loop. The descriptor's own flags stay as they are: they are shared with other processes, which
/// would be surprised by a stdout that does not block. When the other end has gone, that is said
/// once in the log, and everything is dropped from then on.
///
/// Thread-safety: `write` may be called from any strand.
class console_writer final : public output_sink {
 public:
  /// `fd` is borrowed: the writer keeps a descriptor of its own. One that is not open takes
  /// everything and shows nothing.
  console_writer(const asio::any_io_executor& executor, int fd, logger log = {})
      : log_(std::move(log)), name_(fd), target_(fd), room_(executor), turn_(executor, 1) {
    is_dropping_ = !target_;
  }

  task<void> write(std::string_view bytes) override {
    // Room for one token: who has put it there has the turn.
    if (!turn_.try_send(asio::error_code(), 0)) {
      co_await turn_.async_send(asio::error_code(), 0, asio::use_awaitable);
    }
    const give_back turn{turn_};
    while (!bytes.empty() && !is_dropping_) {
      const std::optional<std::size_t> written = target_.write_some(bytes);
      if (written) {
        bytes.remove_prefix(*written);
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        co_await wait_for_room();
      } else {
        give_up(errno);
      }
    }
  }

 private:
  using turn_channel = asio::experimental::concurrent_channel<void(asio::error_code, int)>;

  struct give_back {
    turn_channel& turn;
    ~give_back() {
      turn.try_receive([](asio::error_code, int) {});
    }
  };

  task<void> wait_for_room() {
    if (!room_.is_open() && !open_room()) {
      give_up(errno);
      co_return;
    }
    co_await room_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
  }

  // Waits by an epoll of its own around the target: Asio makes what it waits for not block, which
  // everybody who has the same stdout would feel.
  bool open_room() {
    detail::unique_fd waiting(::epoll_create1(EPOLL_CLOEXEC));
    epoll_event writable{};
    writable.events = EPOLLOUT;
    if (!waiting || ::epoll_ctl(waiting.get(), EPOLL_CTL_ADD, target_.fd(), &writable) != 0) {
      return false;
    }
    room_.assign(waiting.release());
    return true;
  }

  void give_up(int number) {
    is_dropping_ = true;
    log_.warning("output can no longer be shown on descriptor {}: {}", name_, errno_text(number));
  }

  logger log_;
  int name_;
  console_target target_;
  bool is_dropping_ = false;
  // Becomes readable when the target has room; made when first needed.
  asio::posix::stream_descriptor room_;
  turn_channel turn_;
};

/// The stdout (1) or stderr (2) of this process as the place where copied output is shown.
inline std::shared_ptr<output_sink> make_console_writer(const asio::any_io_executor& executor,
                                                        int fd, logger log = {}) {
  return std::make_shared<console_writer>(executor, fd, std::move(log));
}

}  // namespace elastic

// ---- elastic/process/guard_policy.hpp ----

namespace elastic {

/// Whether each worker is started behind a guard: a tiny process that ends whatever the worker
/// leaves behind, when the worker ends, when it is told to, or when this program ends.
enum class guard_policy {
  /// It is, or nothing is started.
  required,
  /// It is where a guard can be had; where not, one line of the log says so and what is then lost.
  /// A guard file that is named and cannot be executed is an error all the same.
  best_effort,
  /// It is not.
  none,
};

}  // namespace elastic

// ---- elastic/process/exit_status.hpp ----

#include <csignal>
#include <cstring>

namespace elastic {

/// "SIGKILL" for 9; "signal 42" for a number that has no name.
inline std::string signal_name(int number) {
  if (const char* name = sigabbrev_np(number)) return fmt::format("SIG{}", name);
  return fmt::format("signal {}", number);
}

/// How a process ended: by its own exit code *or* by a signal, never one folded into the other.
///
/// Two more are for a process of which nobody can say how it ended, and which counts as failed:
/// `unknown`, where somebody else took its status (a host that calls `wait(-1)` or ignores
/// SIGCHLD), and `guard_lost`, where its guard was killed, and it with that.
class exit_status {
 public:
  static exit_status exited(int code) { return {kind::exited, code, false}; }
  static exit_status signalled(int number, bool core_dumped = false) {
    return {kind::signalled, number, core_dumped};
  }
  static exit_status unknown() { return {kind::unknown, 0, false}; }
  static exit_status guard_lost() { return {kind::guard_lost, 0, false}; }

  bool success() const { return kind_ == kind::exited && value_ == 0; }
  /// The exit code, where the process exited by itself.
  std::optional<int> code() const { return only(kind::exited); }
  /// The signal's number, where a signal ended the process.
  std::optional<int> signal() const { return only(kind::signalled); }
  bool core_dumped() const { return core_dumped_; }

  /// The one number that Python and torchrun show: the exit code, or the signal's number negated;
  /// 255 where neither is known.
  int as_python() const {
    switch (kind_) {
      case kind::exited: return value_;
      case kind::signalled: return -value_;
      case kind::unknown:
      case kind::guard_lost: break;
    }
    return 255;
  }

  /// "exit code 3", "SIGKILL", "SIGSEGV (core dumped)", "unknown status (…)".
  std::string text() const {
    switch (kind_) {
      case kind::exited: return fmt::format("exit code {}", value_);
      case kind::signalled:
        return signal_name(value_) + (core_dumped_ ? " (core dumped)" : "");
      case kind::guard_lost: return "its guard was killed, descendants of it may survive";
      case kind::unknown: break;
    }
    return "unknown status (taken by this process itself, or SIGCHLD is ignored)";
  }

  friend bool operator==(const exit_status&, const exit_status&) = default;

 private:
  enum class kind { exited, signalled, unknown, guard_lost };
  exit_status(kind how, int value, bool core_dumped)
      : kind_(how), value_(value), core_dumped_(core_dumped) {}
  std::optional<int> only(kind wanted) const {
    return kind_ == wanted ? std::optional<int>(value_) : std::nullopt;
  }

  kind kind_;
  int value_;
  bool core_dumped_;
};

}  // namespace elastic

// ---- elastic/process/child.hpp ----

#include <sys/types.h>

namespace elastic {

/// One started process and what it started in turn: its tree.
///
/// The destructor never waits: a tree that is still alive is killed, and what the kernel then
/// still has to do goes on without us.
/// Thread-safety: one strand at a time, the one on which it was launched.
class child {
 public:
  virtual ~child() = default;

  virtual pid_t pid() const noexcept = 0;

  /// Sends a signal to the process and its process group. After the process has ended: does
  /// nothing. Result: whether it had not ended.
  virtual bool signal(int number) noexcept = 0;

  /// Waits until the process itself has ended; its descendants may live on (see `end_tree`).
  /// May be called again, also after its end; one waiter at a time.
  ///
  /// Cancellation: all types; ends the wait, not the process.
  virtual task<exit_status> wait() = 0;

  /// Kills what is left of the tree, the process included if it still runs, and waits until it is
  /// gone. To be awaited before anything takes the process's place.
  ///
  /// Cancellation: all types; the kill was sent already.
  virtual task<void> end_tree() = 0;

  /// The processes of the tree that have not ended, as far as they can be found: what `end_tree`
  /// waits for. It looks through /proc.
  virtual std::vector<pid_t> left() { return {pid()}; }
};

}  // namespace elastic

// ---- elastic/process/processor_set.hpp ----

#include <sched.h>

#include <charconv>
#include <climits>
#include <set>

namespace elastic {

/// Some of the machine's logical processors, by their numbers.
///
/// Thread-safety: that of a value.
class processor_set {
 public:
  /// Numbers are less than this.
  static constexpr int limit = 8192;

  /// A list as the kernel writes it: "0-3,8".
  ///
  /// Errors: `errc::invalid_argument` for anything else, and for a number of `limit` or more.
  static processor_set parse(std::string_view text);

  /// Those on which the calling thread may run; empty where the kernel does not say.
  static processor_set allowed_here();

  processor_set& add(int number) {
    numbers_.insert(number);
    return *this;
  }

  bool contains(int number) const { return numbers_.count(number) > 0; }
  bool empty() const { return numbers_.empty(); }
  std::size_t size() const { return numbers_.size(); }
  auto begin() const { return numbers_.begin(); }
  auto end() const { return numbers_.end(); }

  /// As `parse` reads it.
  std::string text() const;

  /// As the kernel wants it: a bit for each processor.
  std::vector<unsigned long> mask() const {
    if (numbers_.empty()) return {};
    std::vector<unsigned long> words(static_cast<std::size_t>(*numbers_.rbegin()) / word + 1);
    for (const int number : numbers_) {
      const auto place = static_cast<std::size_t>(number);
      words[place / word] |= 1UL << (place % word);
    }
    return words;
  }

  friend bool operator==(const processor_set&, const processor_set&) = default;

 private:
  static constexpr std::size_t word = sizeof(unsigned long) * CHAR_BIT;
  std::set<int> numbers_;
};

namespace detail {

/// "4" or "0-3". Result: false where it is neither.
inline bool add_processors(std::string_view text, processor_set& all) {
  const auto read = [](std::string_view digits, int& number) {
    const char* const end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, number);
    return failure == std::errc() && stop == end && number >= 0 && number < processor_set::limit;
  };
  const std::size_t dash = text.find('-');
  int first = 0;
  int last = 0;
  if (!read(text.substr(0, dash), first)) return false;
  if (dash == std::string_view::npos) {
    last = first;
  } else if (!read(text.substr(dash + 1), last)) {
    return false;
  }
  for (int number = first; number <= last; ++number) all.add(number);
  return first <= last;
}

}  // namespace detail

inline processor_set processor_set::parse(std::string_view text) {
  processor_set all;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    if (!detail::add_processors(rest.substr(0, comma), all)) {
      throw error(errc::invalid_argument,
                  fmt::format("'{}' is no list of processors: numbers from 0 to {} and ranges are "
                              "needed, such as 0-3,8",
                              text, limit - 1));
    }
    if (comma == std::string_view::npos) return all;
    rest.remove_prefix(comma + 1);
  }
}

inline processor_set processor_set::allowed_here() {
  unsigned long words[limit / word] = {};
  processor_set all;
  if (::sched_getaffinity(0, sizeof words, reinterpret_cast<cpu_set_t*>(words)) != 0) return all;
  for (int number = 0; number < limit; ++number) {
    const auto place = static_cast<std::size_t>(number);
    if ((words[place / word] >> (place % word) & 1UL) != 0) all.add(number);
  }
  return all;
}

inline std::string processor_set::text() const {
  std::string list;
  for (auto at = numbers_.begin(); at != numbers_.end();) {
    const int first = *at;
    int last = first;
    for (++at; at != numbers_.end() && *at == last + 1; ++at) last = *at;
    if (!list.empty()) list += ',';
    list += first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
  }
  return list;
}

}  // namespace elastic

// ---- elastic/process/process_spec.hpp ----

namespace elastic {

/// What to run: program, arguments, environment and the streams it starts with.
struct process_spec {
  /// A path, or a name that is looked up in the PATH of `environment`.
  std::string program;
  /// The arguments after the program's own name.
  std::vector<std::string> arguments;
  /// The whole environment, each entry "NAME=value"; nothing is added to it.
  std::vector<std::string> environment;
  /// The working directory; empty keeps the caller's.
  std::string directory;
  /// The descriptors that become 0, 1 and 2 of the process; -1 keeps the caller's. They are
  /// borrowed: the caller closes its own copies after the start. No other descriptor is inherited.
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  /// The processors on which it may run; empty keeps the caller's.
  processor_set processors = {};
};

}  // namespace elastic

// ---- elastic/process/process_launcher.hpp ----

namespace elastic {

/// How processes are started. Replaced by users that start workers elsewhere (in a container, by
/// way of a guardian), and by tests that start none.
///
/// Thread-safety: one strand at a time.
class process_launcher {
 public:
  virtual ~process_launcher() = default;

  /// Starts one process in a session of its own.
  ///
  /// Result: the running process; `execve` has succeeded when this returns.
  /// Errors: `errc::program_not_found`, `errc::program_not_executable`, `errc::file_access` (no
  /// such working directory), `errc::start_failed`, `errc::invalid_argument` (a zero byte within
  /// an argument); each sentence names the file.
  /// Cancellation: all types; either nothing was started or the result is returned.
  /// May be called again while an earlier call goes on.
  virtual task<std::unique_ptr<child>> launch(process_spec spec) = 0;
};

}  // namespace elastic

// ---- elastic/telemetry/event.hpp ----

#include <cstdint>

namespace elastic {

enum class event_source { agent, worker };

/// The worker that an event is about.
struct event_worker {
  int pid = 0;
  int global_rank = 0;
  int local_rank = 0;
  int role_rank = 0;
  int role_world_size = 0;
};

/// Something that happened to a worker or an agent, in torchelastic's terms
/// (torch.distributed.elastic.events, as recorded by its agent).
struct event {
  /// "torchelastic.worker.status.SUCCEEDED" and the like, for agents too.
  std::string name;
  event_source source = event_source::agent;
  std::string run_id;
  std::string role;
  std::string hostname;
  std::string rdzv_backend;
  /// "SUCCEEDED", "FAILED", "TERMINATED".
  std::string state;
  /// Seconds since the agent started to run.
  std::int64_t total_run_time = 0;
  int agent_restarts = 0;
  std::optional<int> group_rank;
  int group_world_size = 0;
  /// The file name of the program.
  std::string entry_point;
  /// JSON text of the worker's error file, or why the agent failed; none where nothing failed.
  std::optional<std::string> raw_error;

  using worker_part = event_worker;
  /// Of a worker only.
  std::optional<event_worker> worker;
};

}  // namespace elastic

// ---- elastic/telemetry/event_handler.hpp ----

namespace elastic {

/// Where events go. Thread-safety: called on the strand of the agent that records them.
class event_handler {
 public:
  virtual ~event_handler() = default;

  /// Takes one event. What it throws is logged and ends nothing.
  virtual void record(const event& happened) = 0;
};

/// Discards every event: the default.
class null_event_handler final : public event_handler {
 public:
  void record(const event&) override {}
};

}  // namespace elastic

// ---- elastic/telemetry/metric_handler.hpp ----

namespace elastic {

/// One measured value, such as "workers.trainer.remaining_restarts" = 2.
struct metric {
  std::string group = "torchelastic";
  std::string name;
  std::int64_t value = 0;
  wall_time at;
};

/// Where metrics go. Thread-safety: called on the strand of the agent that emits them.
class metric_handler {
 public:
  virtual ~metric_handler() = default;

  /// Takes one value. What it throws is logged and ends nothing.
  virtual void emit(const metric& measured) = 0;
};

/// Discards every metric: the default.
class null_metric_handler final : public metric_handler {
 public:
  void emit(const metric&) override {}
};

}  // namespace elastic

// ---- elastic/telemetry/worker_observer.hpp ----

#include <map>

namespace elastic {

/// How far a worker says it is.
struct worker_progress {
  int rank = 0;
  int local_rank = 0;
  std::int64_t step = 0;
  /// How many steps there are; 0: not known.
  std::int64_t total = 0;
  /// Free text of the worker, without control characters.
  std::string text;
  std::map<std::string, double> metrics;
};

/// A worker that is about to be ended because it said nothing for too long.
struct hung_worker {
  int rank = 0;
  int local_rank = 0;
  pid_t pid = 0;
  /// "no heartbeat for 12.3 s (allowed 10 s) in section 'all_reduce'".
  std::string reason;
};

/// Is told what workers say of themselves over the control channel: implement it to show progress,
/// or to look into a hung worker before it is killed.
///
/// Thread-safety: called on the strand of the agent, which waits meanwhile: be quick.
class worker_observer {
 public:
  virtual ~worker_observer() = default;

  /// What these throw is logged and ends nothing.
  virtual void progress(const worker_progress&) {}
  virtual void hung(const hung_worker&) {}
};

}  // namespace elastic

// ---- elastic/agent/agent_services.hpp ----

namespace elastic {

/// What an agent works with, each replaceable: a null pointer means the default.
struct agent_services {
  /// How workers are started. Default: a `guarded_launcher`, made from the next three.
  std::shared_ptr<process_launcher> launcher = {};
  /// Whether a guard ends what a worker leaves behind, also where this process is killed. Default:
  /// what the launch_config says; best_effort where there is none.
  std::optional<guard_policy> guard = {};
  /// The guard's program, such as the installed elastic-guard. Default: that of the launch_config;
  /// without one, what the library carries.
  std::string guard_file = {};
  /// For workers without a guard: an executor that runs on one thread alone, which lasts as long
  /// as they do. They are started there, and die with it, and so with this process, however it
  /// dies. Default: none, and a line of the log says what is then lost.
  asio::any_io_executor worker_parent = {};
  /// Default: `system_time`.
  std::shared_ptr<time_source> time = {};
  /// Default: events are discarded.
  std::shared_ptr<event_handler> events = {};
  /// Default: metrics are discarded, and no timer runs for them.
  std::shared_ptr<metric_handler> metrics = {};
  /// Is told of the workers' progress, and of hung ones before they are killed. Default: nobody.
  std::shared_ptr<worker_observer> observer = {};
  /// Where output that the agent copies is shown. Default: stdout and stderr of this process.
  std::shared_ptr<output_sink> console_out = {};
  std::shared_ptr<output_sink> console_err = {};
  /// Default: silent.
  logger log = {};
};

}  // namespace elastic

// ---- elastic/base/limits.hpp ----

/// Every bound of this library, named. What comes from outside is checked against these.
namespace elastic::limits {

/// A store key; PyTorch's libuv server allows 8 KiB.
inline constexpr std::size_t store_key_bytes = 8 * 1024;
/// A store value; PyTorch's libuv server allows 8 MiB.
inline constexpr std::size_t store_value_bytes = 8 * 1024 * 1024;
/// Keys named by one request; PyTorch's libuv server allows as many.
inline constexpr std::size_t store_keys_per_request = 131'072;
/// One request to a store server, all of its keys and values together.
inline constexpr std::size_t store_request_bytes = 64 * 1024 * 1024;
/// Replies that wait for a client which does not read; above this its connection is closed.
inline constexpr std::size_t store_reply_bytes = 64 * 1024 * 1024;
/// Replies above which a server executes no further request of that client until they are sent.
inline constexpr std::size_t store_reply_pause_bytes = 256 * 1024;
/// Everything that a store holds, keys and values together.
inline constexpr std::size_t store_total_bytes = std::size_t{4} * 1024 * 1024 * 1024;
/// How long a server that stops waits for its clients to take what they were answered.
inline constexpr std::chrono::milliseconds store_farewell{100};
/// Keys and queued items that a store holds.
inline constexpr std::size_t store_entries = 16 * 1024 * 1024;
/// Keys that one client of a store server watches.
inline constexpr std::size_t store_watches_per_client = 1024;
/// File descriptors of the process that a store server leaves to others, at most.
inline constexpr std::size_t store_spared_descriptors = 256;
/// The state of a rendezvous as agents of PyTorch write it: some 13,000 nodes.
inline constexpr std::size_t rendezvous_state_bytes = 1024 * 1024;
/// The lines before the body of an HTTP response, and those between its chunks.
inline constexpr std::size_t http_head_bytes = 64 * 1024;
/// The body of an HTTP response, as far as nobody has taken it: a value of a store, and what etcd
/// makes of it in base64.
inline constexpr std::size_t http_body_bytes = 16 * 1024 * 1024;
/// What a node tells the others about its workers.
inline constexpr std::size_t rank_exchange_bytes = 16 * 1024;
/// One message of the rendezvous.
inline constexpr std::size_t rendezvous_message_bytes = 64 * 1024;
/// Jobs that meet at one server.
inline constexpr std::size_t rendezvous_jobs = 1024;
/// How long a node looks for a server of the rendezvous that it had reached before.
inline constexpr std::chrono::milliseconds rendezvous_absence{5000};
/// How long the last words of a node that leaves the rendezvous may take.
inline constexpr std::chrono::milliseconds rendezvous_farewell{500};
/// Workers of one agent.
inline constexpr int local_world_size = 4096;
/// Nodes of one job.
inline constexpr int nodes = 100'000;
/// An error file written by a worker; larger ones are cut and count as not parsable.
inline constexpr std::size_t error_file_bytes = 4 * 1024 * 1024;
/// The arguments of a function that workers run, as JSON; larger things go by a file or the store.
inline constexpr std::size_t function_arguments_bytes = 1024 * 1024;
/// What one worker's function returns, as JSON.
inline constexpr std::size_t return_value_bytes = 1024 * 1024;
/// What the functions of all workers of a node return; with many workers each has its share of it.
inline constexpr std::size_t return_values_bytes = 64 * 1024 * 1024;
/// The lines of a failed worker's stderr that a report shows where there is no error file.
inline constexpr std::size_t report_stderr_lines = 20;
/// Of those lines, the bytes kept: a longer end of stderr loses its beginning.
inline constexpr std::size_t report_stderr_bytes = 64 * 1024;
/// The buffer of one stream while its output is copied, and the size that its pipe is given.
inline constexpr std::size_t copy_buffer_bytes = 256 * 1024;
/// A line of output that is held back until it is whole; a longer one is passed on in pieces.
inline constexpr std::size_t copy_line_bytes = 64 * 1024;
/// How long a console that takes nothing is waited for at least, when a stop's grace is over.
inline constexpr std::chrono::milliseconds console_after_stop{1000};
/// How long the kernel has to end a process that was killed, before each look at what holds it up;
/// one that looks the same after it, in uninterruptible sleep, is given up.
inline constexpr std::chrono::seconds killed_patience{20};
/// How long output is still read after a worker has ended, for a descendant that holds its pipe.
inline constexpr std::chrono::milliseconds drain_after_exit{500};
/// One line of the control channel, its end included.
inline constexpr std::size_t control_line_bytes = 4096;
/// A name on the control channel (a section, a timer, a metric), and any other text there.
inline constexpr std::size_t control_name_bytes = 128;
inline constexpr std::size_t control_text_bytes = 1024;
/// The metrics of one progress message.
inline constexpr std::size_t control_metrics = 32;
/// Open sections and armed timers of one worker.
inline constexpr std::size_t worker_sections = 64;
inline constexpr std::size_t worker_timers = 1024;
/// Connections of all workers of an agent to its control channel, for each worker.
inline constexpr std::size_t control_connections = 8;
/// Lines of one connection that are read within a second; the rest waits in the socket.
inline constexpr int control_lines_per_second = 10'000;
/// What workers did wrong on their channels that is logged in one attempt; the rest is not.
inline constexpr int control_complaints = 20;
/// Names of sections for which durations are learned.
inline constexpr std::size_t learned_names = 256;
/// How much later than asked a watch may wake before it is taken for having stood still itself.
inline constexpr std::chrono::milliseconds watch_lateness{1000};

}  // namespace elastic::limits

// ---- elastic/contract/error_file.hpp ----

// How a worker reports its failure: torchelastic's error file (TORCHELASTIC_ERROR_FILE), written
// by C++ workers and by PyTorch's @record, read back by the agent. Includes the whole of
// nlohmann/json, because reading and writing are inline.

#include <nlohmann/json.hpp>

namespace elastic {

/// What a worker's error file says.
struct error_file_content {
  /// "ValueError: no such column"; where the file cannot be understood, a sentence that says so.
  std::string message;
  /// The traceback, several lines; none where the worker gave none.
  std::optional<std::string> callstack;
  /// Seconds since 1970 at which the worker failed; 0 where the file does not say.
  std::int64_t timestamp = 0;
  /// When the file was written, finer than `timestamp`; none where no file was read.
  std::optional<wall_time> written;
  /// The JSON text of the file; JSON that holds `message` alone where the file is not JSON.
  std::string raw_json;
  /// Why the file cannot be understood; none where it can.
  std::optional<std::string> unparsable;
};

namespace detail {

/// Nesting deeper than this is not an error report; writing it back would recurse as deep.
inline constexpr int error_file_depth = 64;
/// More members than this neither; an object that keeps their order looks each one up in turn.
inline constexpr int error_file_members = 4096;

/// `text` as a JSON string as Python's json.dumps writes it: ASCII only, bad UTF-8 replaced.
inline std::string json_quoted(std::string_view text) {
  return nlohmann::ordered_json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

/// A value as Python's json.dumps writes it, with a blank after each comma and colon.
inline std::string json_dumped(const nlohmann::ordered_json& value) {
  if (!value.is_structured()) {
    return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  }
  std::string body;
  for (const auto& [key, element] : value.items()) {
    if (!body.empty()) body += ", ";
    if (value.is_object()) body += json_quoted(key) + ": ";
    body += json_dumped(element);
  }
  return value.is_object() ? "{" + body + "}" : "[" + body + "]";
}

inline error_file_content unparsable_error_file(std::string reason) {
  constexpr std::size_t longest = 300;
  if (reason.size() > longest) reason.resize(longest);
  error_file_content content;
  content.message = "the error file cannot be understood: " + reason;
  content.raw_json = fmt::format("{{\"message\": {}}}", json_quoted(content.message));
  content.unparsable = std::move(reason);
  return content;
}

/// A time as the schema has it, a number or (as torchelastic writes it) a text of digits.
inline std::int64_t error_file_timestamp(const nlohmann::ordered_json& value) {
  constexpr double largest = 253402300799.0;  // the end of the year 9999
  if (value.is_number()) {
    const double seconds = value.get<double>();
    return seconds > 0 && seconds <= largest ? static_cast<std::int64_t>(seconds) : 0;
  }
  if (!value.is_string()) return 0;
  const auto& text = value.get_ref<const std::string&>();
  std::int64_t seconds = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, seconds);
  const bool whole = failure == std::errc() && stop == end;
  return whole && seconds > 0 && static_cast<double>(seconds) <= largest ? seconds : 0;
}

inline std::string text_or_json(const nlohmann::ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : json_dumped(value);
}

/// Why the text is beyond the bounds above; none where it is within. No callback of the parser
/// would do: it runs after the level or member was made.
inline std::optional<std::string> beyond_json_bounds(std::string_view text,
                                                     int most_members = error_file_members) {
  int depth = 0;
  int members = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char letter = text[at];
    if (quoted && letter == '\\') {
      ++at;
    } else if (letter == '"') {
      quoted = !quoted;
    } else if (!quoted && (letter == '{' || letter == '[')) {
      if (++depth > error_file_depth) {
        return fmt::format("nested more than {} levels deep", error_file_depth);
      }
    } else if (!quoted && (letter == '}' || letter == ']')) {
      --depth;
    } else if (!quoted && letter == ':' && ++members > most_members) {
      return fmt::format("more than {} members", most_members);
    }
  }
  return std::nullopt;
}

/// The part of nlohmann's message that says what is wrong, without its own numbering.
inline std::string json_complaint(const std::exception& failure) {
  const std::string_view text = failure.what();
  const std::size_t end = text.starts_with('[') ? text.find("] ") : std::string_view::npos;
  return std::string(end == std::string_view::npos ? text : text.substr(end + 2));
}

}  // namespace detail

/// Understands the text of an error file: `{"message": {"message": …, "extraInfo": {"py_callstack":
/// …, "timestamp": …}}}`, or with a plain text as `message` and "timestamp" beside it.
///
/// Result: never fails; for text of any other form `unparsable` says what is wrong.
inline error_file_content parse_error_file(std::string_view text) {
  if (text.size() > limits::error_file_bytes) {
    return detail::unparsable_error_file(
        fmt::format("larger than {} bytes", limits::error_file_bytes));
  }
  if (auto reason = detail::beyond_json_bounds(text)) {
    return detail::unparsable_error_file(std::move(*reason));
  }
  try {
    const auto root = nlohmann::ordered_json::parse(text);
    if (!root.is_object()) return detail::unparsable_error_file("not a JSON object");
    const auto message = root.find("message");
    if (message == root.end()) return detail::unparsable_error_file("it has no \"message\"");
    error_file_content content;
    content.raw_json = text;
    if (message->is_string()) {
      content.message = message->get<std::string>();
      if (const auto at = root.find("timestamp"); at != root.end()) {
        content.timestamp = detail::error_file_timestamp(*at);
      }
      return content;
    }
    if (!message->is_object()) {
      return detail::unparsable_error_file("\"message\" is neither a text nor an object");
    }
    const auto inner = message->find("message");
    content.message = inner == message->end() ? "<N/A>" : detail::text_or_json(*inner);
    const auto extra = message->find("extraInfo");
    if (extra == message->end() || !extra->is_object()) return content;
    if (const auto stack = extra->find("py_callstack"); stack != extra->end()) {
      content.callstack = detail::text_or_json(*stack);
    }
    if (const auto at = extra->find("timestamp"); at != extra->end()) {
      content.timestamp = detail::error_file_timestamp(*at);
    }
    return content;
  } catch (const std::exception& failure) {
    return detail::unparsable_error_file(detail::json_complaint(failure));
  }
}

/// Reads the error file that a worker may have left.
///
/// Result: none where there is no such file. Where there is one that cannot be read or understood,
/// or that is larger than `limits::error_file_bytes`, `unparsable` says what is wrong.
/// Does not wait, also where somebody put a pipe in the file's place.
inline std::optional<error_file_content> read_error_file(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return detail::unparsable_error_file(errno_text(errno));
  }
  struct stat about {};
  if (::fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
    ::close(file);
    return detail::unparsable_error_file("not a regular file");
  }
  std::string text;
  int failure = 0;
  while (text.size() <= limits::error_file_bytes) {
    char part[16 * 1024];
    const ssize_t count = ::read(file, part, sizeof part);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) failure = errno;
    if (count <= 0) break;
    text.append(part, static_cast<std::size_t>(count));
  }
  ::close(file);
  if (failure != 0) return detail::unparsable_error_file(errno_text(failure));
  error_file_content content = parse_error_file(text);
  content.written = wall_time(std::chrono::duration_cast<wall_time::duration>(
      std::chrono::seconds(about.st_mtim.tv_sec) +
      std::chrono::nanoseconds(about.st_mtim.tv_nsec)));
  return content;
}

/// The text of an error file as PyTorch's @record writes it.
///
/// `callstack` may be empty: the schema's "py_callstack" is then left out and readers show the
/// message. `timestamp` is in seconds since 1970.
inline std::string error_file_text(std::string_view message, std::string_view callstack,
                                   std::int64_t timestamp) {
  const std::string stack =
      callstack.empty() ? ""
                        : fmt::format("\"py_callstack\": {}, ", detail::json_quoted(callstack));
  return fmt::format(
      "{{\"message\": {{\"message\": {}, \"extraInfo\": {{{}\"timestamp\": \"{}\"}}}}}}",
      detail::json_quoted(message), stack, timestamp);
}

/// Puts `text` at `path` at once: a reader sees the old file or the whole new one.
///
/// Errors: `errc::file_access`, the sentence names the file; then nothing is left behind.
inline void write_error_file(const std::string& path, std::string_view text) {
  const std::string draft = fmt::format("{}.{}.tmp", path, ::getpid());
  const auto fail = [&](int number) {
    ::unlink(draft.c_str());
    throw error(errc::file_access,
                fmt::format("cannot write error file {}: {}", path, errno_text(number)));
  };
  const int file = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) fail(errno);
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int number = errno;
      ::close(file);
      fail(number);
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  ::close(file);
  if (::rename(draft.c_str(), path.c_str()) != 0) fail(errno);
}

/// The text that a launcher leaves in its own error file: that of the failed worker, with the
/// worker's exit code (a signal's number negated) added as `message.errorCode`. Text whose
/// `message` is a plain text stays as it is.
inline std::string launcher_error_file_text(const error_file_content& content, int exit_code) {
  if (content.unparsable || exit_code == 0) return content.raw_json;
  nlohmann::ordered_json root = nlohmann::ordered_json::parse(content.raw_json, nullptr, false);
  if (!root.is_object() || !root.contains("message")) return content.raw_json;
  if (root["message"].is_object()) root["message"]["errorCode"] = exit_code;
  return detail::json_dumped(root);
}

}  // namespace elastic

// ---- elastic/agent/worker_failure.hpp ----

namespace elastic {

/// How one worker failed: all that a user needs to act.
struct worker_failure {
  int rank = 0;
  int local_rank = 0;
  /// Which node of the job, by its place in the rendezvous.
  int group_rank = 0;
  std::string role = "default";
  /// The host on which it ran, fully qualified where that is known.
  std::string host;
  pid_t pid = 0;
  exit_status status = exit_status::unknown();
  /// When the agent learned of its death.
  wall_time at;
  /// The path that it was given as TORCHELASTIC_ERROR_FILE; empty where it was given none.
  std::string error_file;
  /// What it left there; none where it left nothing.
  std::optional<error_file_content> error;
  /// The last lines of its stderr, oldest first, at most `limits::report_stderr_lines`; empty
  /// where its stderr was not captured.
  std::vector<std::string> last_stderr;
  /// It was killed while the kernel killed processes because memory had run out: most likely so.
  bool out_of_memory = false;
  /// Where its core is, or how to come by it; empty where it left none or that is not known.
  std::string core_file;
  /// Why the agent took it for hung and ended it, such as "no heartbeat for 12.3 s (allowed 10 s)";
  /// empty where it did not.
  std::string hung;
  /// It ended after the agent had told it to: it is a victim of another's failure, not a cause.
  bool stopped_by_agent = false;

  /// When it failed, in seconds since 1970: by its own account where it gave one.
  std::int64_t timestamp() const {
    if (error && error->timestamp != 0) return error->timestamp;
    return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
  }

  /// The finest that is known of the same moment: when its error file was written (a worker can
  /// live on for a while after that), else when the agent learned of its death.
  wall_time moment() const {
    if (error && error->timestamp != 0 && error->written) return *error->written;
    return at;
  }
};

}  // namespace elastic

// ---- elastic/agent/worker_state.hpp ----

namespace elastic {

/// The state of a worker group, in torchelastic's words (torch.distributed.elastic WorkerState).
enum class worker_state {
  /// No round was met yet, or the group is between two of them.
  init,
  /// All workers run.
  healthy,
  /// At least one worker failed and the group will be started again.
  failed,
  /// The agent was asked to stop and has stopped the workers.
  stopped,
  /// All workers ended with success.
  succeeded,
};

/// The name as torchelastic writes it: "HEALTHY" and the like.
constexpr std::string_view to_string(worker_state state) {
  switch (state) {
    case worker_state::init: return "INIT";
    case worker_state::healthy: return "HEALTHY";
    case worker_state::failed: return "FAILED";
    case worker_state::stopped: return "STOPPED";
    case worker_state::succeeded: return "SUCCEEDED";
  }
  return "UNKNOWN";
}

}  // namespace elastic

// ---- elastic/agent/run_result.hpp ----

namespace elastic {

/// How a job ended on this node.
struct run_result {
  /// `succeeded`, `failed` or `stopped`.
  worker_state state = worker_state::init;
  /// The workers of the last attempt that failed, in the order in which they did; those that ended
  /// because the agent stopped them are marked so.
  std::vector<worker_failure> failures;
  /// How often the group was started again after a failure, and how often that was allowed.
  int restarts = 0;
  int max_restarts = 0;
  /// Why the run ended as it did, one sentence.
  std::string reason;
  /// This node left the job because a worker of it said that the node is bad; `failed`, for the
  /// node alone.
  bool left_as_bad = false;
  /// Where the log files are; empty where none are kept.
  std::string log_directory;
  /// The signal that a `stop` named, where it was that which ended the run.
  std::optional<int> stop_signal;
  /// After success, where the workers ran a function: what it returned in each worker of this node,
  /// by rank in the job; null for one that returns nothing. A worker that ended by `exit(0)` before
  /// its function returned has none.
  std::map<int, nlohmann::json> return_values = {};

  /// What the function returned in the worker of this rank, as a `T`.
  /// Errors: `errc::invalid_argument` where there is no such value, or where it is no `T`.
  template <class T>
  T value_of(int rank) const {
    const auto found = return_values.find(rank);
    if (found == return_values.end()) {
      throw error(errc::invalid_argument,
                  fmt::format("there is no return value of rank {}: there are {} of this node, {}",
                              rank, return_values.size(),
                              return_values.empty()
                                  ? "since no function ran or the job did not succeed"
                                  : fmt::format("of ranks {} to {}", return_values.begin()->first,
                                                return_values.rbegin()->first)));
    }
    try {
      return found->second.template get<T>();
    } catch (const nlohmann::json::exception& failure) {
      throw error(errc::invalid_argument,
                  fmt::format("the return value of rank {} does not fit: {}", rank,
                              detail::json_complaint(failure)));
    }
  }
};

}  // namespace elastic

// ---- elastic/base/random.hpp ----

#include <random>

namespace elastic {

/// Where chance comes from: seeded by the machine, or by a test that wants the same run again.
///
/// Thread-safety: one thread at a time.
class random_source {
 public:
  random_source() {
    std::random_device device;
    engine_.seed((static_cast<std::uint64_t>(device()) << 32) | device());
  }
  explicit random_source(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t next() { return engine_(); }

  /// A number in [0, bound); `bound` must not be 0.
  std::uint64_t below(std::uint64_t bound) {
    return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(engine_);
  }

 private:
  std::mt19937_64 engine_;
};

/// A random UUID (RFC 4122, version 4), as run id where the user named none.
inline std::string random_uuid(random_source& random) {
  const std::uint64_t high = random.next();
  const std::uint64_t low = random.next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xffff,
                     high & 0x0fff, 0x8000 | (low >> 48 & 0x3fff), low & 0xffffffffffff);
}

/// `length` characters of [a-z0-9_], as the part of a directory name that makes it unique.
inline std::string random_name(random_source& random, std::size_t length) {
  constexpr char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
  std::string name(length, '_');
  for (char& letter : name) letter = letters[random.below(sizeof letters - 1)];
  return name;
}

}  // namespace elastic

// ---- elastic/agent/log_layout.hpp ----

#include <filesystem>

namespace elastic {

/// Where the files of a job's workers lie on this node:
/// `<base>/<run_id>_<8 random>/attempt_<restart count>/<local_rank>/`, with `stdout.log`,
/// `stderr.log` and `error.json`.
///
/// Source: the layout of torch.distributed.elastic's LocalElasticAgent.
class log_layout {
 public:
  /// No directory at all: nothing is written, and workers are given no error file.
  log_layout() = default;

  /// Makes the directory of this run below `base`, which is made where it is missing.
  /// `base` empty: a directory of its own in the temporary folder, which `discard` removes.
  /// Errors: `errc::file_access`, naming the directory.
  log_layout(const std::string& base, const std::string& run_id, random_source& random) {
    std::filesystem::path parent = base;
    if (base.empty()) {
      std::error_code failure;
      parent = std::filesystem::temp_directory_path(failure);
      if (failure) {
        throw error(errc::file_access,
                    fmt::format("no temporary folder for log files (TMPDIR): {}; name a log "
                                "directory",
                                failure.message()));
      }
      parent /= fmt::format("torchelastic_{}", random_name(random, 8));
      temporary_ = parent;
    }
    make(parent);
    root_ = parent / fmt::format("{}_{}", file_name_of(run_id), random_name(random, 8));
    make(root_);
  }

  bool enabled() const { return !root_.empty(); }

  /// The directory of this run; empty where there is none (any more).
  std::string root() const { return root_.string(); }

  /// Makes the directories of an attempt. A directory of the same attempt is removed first: a
  /// restart for a changed membership has the number of the attempt before.
  /// Errors: `errc::file_access`, naming the directory.
  void start_attempt(int attempt, int local_world_size) {
    attempt_ = attempt;
    if (!enabled()) return;
    std::error_code ignored;
    std::filesystem::remove_all(attempt_directory(), ignored);
    for (int rank = 0; rank < local_world_size; ++rank) make(worker_directory(rank));
  }

  /// The files of a worker in the attempt started last; empty where there is no directory.
  std::string stdout_file(int local_rank) const { return file(local_rank, "stdout.log"); }
  std::string stderr_file(int local_rank) const { return file(local_rank, "stderr.log"); }
  std::string error_file(int local_rank) const { return file(local_rank, "error.json"); }

  /// Where the report of a run that failed is left; empty where there is no directory.
  std::string report_file() const { return enabled() ? (root_ / "report.json").string() : ""; }

  /// Removes a directory that this made in the temporary folder; one that the user named stays.
  void discard() noexcept {
    if (temporary_.empty()) return;
    std::error_code ignored;
    std::filesystem::remove_all(temporary_, ignored);
    root_.clear();
  }

  /// The same, but only where no worker left a file.
  void discard_if_empty() {
    std::error_code failure;
    for (std::filesystem::recursive_directory_iterator entry(root_, failure), end;
         !failure && entry != end; entry.increment(failure)) {
      if (!entry->is_directory(failure)) return;
    }
    discard();
  }

 private:
  static void make(const std::filesystem::path& directory) {
    std::error_code failure;
    std::filesystem::create_directories(directory, failure);
    if (failure) {
      throw error(errc::file_access, fmt::format("cannot make the log directory '{}': {}",
                                                 directory.string(), failure.message()));
    }
  }

  // A run id is any text; as part of a file name it may not lead elsewhere.
  static std::string file_name_of(std::string run_id) {
    for (char& letter : run_id) {
      if (letter == '/' || letter == '\0') letter = '_';
    }
    return run_id.substr(0, 128);
  }

  std::filesystem::path attempt_directory() const {
    return root_ / fmt::format("attempt_{}", attempt_);
  }
  std::filesystem::path worker_directory(int local_rank) const {
    return attempt_directory() / std::to_string(local_rank);
  }
  std::string file(int local_rank, const char* name) const {
    return enabled() ? (worker_directory(local_rank) / name).string() : std::string();
  }

  std::filesystem::path root_;
  std::filesystem::path temporary_;
  int attempt_ = 0;
};

}  // namespace elastic

// ---- elastic/base/assert.hpp ----

#include <cstdio>
#include <cstdlib>

namespace elastic::detail {

[[noreturn]] inline void assertion_failed(const char* what, const char* file, int line) {
  std::fprintf(stderr, "elastic: broken invariant: %s (%s:%d)\n", what, file, line);
  std::abort();
}

}  // namespace elastic::detail

/// Checks an invariant of this library, in release builds too: a supervisor that goes on with a
/// broken invariant can lose a job that cost days. Never for input from outside.
#define ELASTIC_ASSERT(condition) \
  ((condition) ? (void)0 : ::elastic::detail::assertion_failed(#condition, __FILE__, __LINE__))

// ---- elastic/agent/rank_assignment.hpp ----

namespace elastic {

/// What a node tells the others of a round about its workers.
struct role_info {
  std::string role;
  int local_world_size = 1;
};

/// What a node needs to know to number its workers.
struct assigned_ranks {
  /// The rank of its first worker among all workers, and their number.
  int base_rank = 0;
  int world_size = 0;
  /// The same among the workers of its role.
  int base_role_rank = 0;
  int role_world_size = 0;

  friend bool operator==(const assigned_ranks&, const assigned_ranks&) = default;
};

/// Numbers the workers of a round: contiguous in the order of `nodes`, which is that of the group
/// ranks, and contiguous within each role.
///
/// Source: torch.distributed.elastic.agent.server.api, `_assign_worker_ranks`.
inline std::vector<assigned_ranks> assign_ranks(const std::vector<role_info>& nodes) {
  std::vector<assigned_ranks> assigned(nodes.size());
  int world_size = 0;
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    ELASTIC_ASSERT(nodes[node].local_world_size > 0);
    assigned[node].base_rank = world_size;
    world_size += nodes[node].local_world_size;
    for (std::size_t other = 0; other < nodes.size(); ++other) {
      if (nodes[other].role != nodes[node].role) continue;
      assigned[other].role_world_size += nodes[node].local_world_size;
      if (other > node) assigned[other].base_role_rank += nodes[node].local_world_size;
    }
  }
  for (assigned_ranks& ranks : assigned) ranks.world_size = world_size;
  return assigned;
}

}  // namespace elastic

// ---- elastic/process/signal_number.hpp ----

namespace elastic {

/// The number of a signal that is named as by kill(1) and in <csignal>: "SIGTERM" or "TERM". Empty
/// for a name that none has; real-time signals have none here.
inline std::optional<int> signal_number(std::string_view name) {
  if (name.substr(0, 3) == "SIG") name.remove_prefix(3);
  for (int number = 1; number < NSIG; ++number) {
    const char* const known = sigabbrev_np(number);
    if (known && name == known) return number;
  }
  return std::nullopt;
}

}  // namespace elastic

// ---- elastic/process/exit_selection.hpp ----

namespace elastic {

/// Some of the ways in which a process can end: exit codes and signals.
///
/// Thread-safety: that of a value.
class exit_selection {
 public:
  /// A list such as "93,SIGSEGV": exit codes from 0 to 255, and signals by their names.
  ///
  /// Errors: `errc::invalid_argument`, naming the part that is neither.
  static exit_selection parse(std::string_view text);

  exit_selection& add_code(int code) {
    codes_.insert(code);
    return *this;
  }
  exit_selection& add_signal(int number) {
    signals_.insert(number);
    return *this;
  }

  bool empty() const { return codes_.empty() && signals_.empty(); }

  /// Whether a process ended in one of these ways; one of which nobody knows how it ended did not.
  bool contains(const exit_status& status) const {
    return (status.code() && codes_.count(*status.code()) > 0) ||
           (status.signal() && signals_.count(*status.signal()) > 0);
  }

  friend bool operator==(const exit_selection&, const exit_selection&) = default;

 private:
  std::set<int> codes_;
  std::set<int> signals_;
};

inline exit_selection exit_selection::parse(std::string_view text) {
  exit_selection selection;
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    int code = -1;
    const char* const end = part.data() + part.size();
    const auto [stop, failure] = std::from_chars(part.data(), end, code);
    const bool is_code = failure == std::errc() && stop == end && code >= 0 && code <= 255;
    const std::optional<int> number = is_code ? std::nullopt : signal_number(part);
    if (!is_code && !number) {
      throw error(errc::invalid_argument,
                  fmt::format("'{}' is no way to end: a list of exit codes (0 to 255) and names of "
                              "signals is needed, such as 93,SIGSEGV",
                              part));
    }
    if (is_code) selection.add_code(code);
    if (number) selection.add_signal(*number);
    if (comma == std::string_view::npos) return selection;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace elastic

// ---- elastic/agent/restart_terms.hpp ----

namespace elastic {

/// When workers that failed start again, as long as restarts are left. The defaults are torchrun's:
/// at once, and however they ended.
struct restart_terms {
  /// Only failures of the last so much time use up the restarts. 0: all of the job's.
  duration window = duration::zero();

  /// How long to wait before the first restart; twice as long before the next, up to `max_delay`.
  /// 0: no wait.
  duration delay = duration::zero();
  duration max_delay = std::chrono::seconds(60);
  /// Workers that ran for so long were healthy: the wait after their failure is `delay` again.
  duration healthy_uptime = std::chrono::seconds(60);

  /// Not after a worker that ended in one of these ways.
  exit_selection never_after = {};
  /// Only after a worker that ended in one of these ways, where there are any.
  exit_selection only_after = {};
};

/// Checks the bounds of restart_terms. Errors: `errc::invalid_argument`, saying what is allowed.
inline void validate(const restart_terms& terms) {
  const duration day = std::chrono::hours(24);
  const auto demand = [](bool holds, const char* sentence) {
    if (!holds) throw error(errc::invalid_argument, sentence);
  };
  demand(terms.window >= duration::zero(), "the window of restarts must not be negative");
  demand(terms.delay >= duration::zero() && terms.delay <= day,
         "the delay of restarts is 0 to 24 hours");
  demand(terms.max_delay >= duration::zero() && terms.max_delay <= day,
         "the greatest delay of restarts is 0 to 24 hours");
  demand(terms.healthy_uptime >= duration::zero(), "healthy_uptime must not be negative");
}

}  // namespace elastic

// ---- elastic/contract/environment.hpp ----

#include <functional>

namespace elastic {

/// Environment variables by name.
using environment_map = std::map<std::string, std::string, std::less<>>;

namespace detail {

inline void add_variable(environment_map& variables, std::string_view entry) {
  const std::size_t equals = entry.find('=');
  if (equals == std::string_view::npos || equals == 0) return;
  variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
}

}  // namespace detail

/// The variables of an array such as `environ`, whose end is a null pointer. Each entry is
/// "NAME=value"; one that is not is left out; of a repeated name the first counts, as for `getenv`.
inline environment_map environment_from(const char* const* entries) {
  environment_map variables;
  for (; entries && *entries; ++entries) detail::add_variable(variables, *entries);
  return variables;
}

/// The same for entries in a vector.
inline environment_map environment_from(const std::vector<std::string>& entries) {
  environment_map variables;
  for (const std::string& entry : entries) detail::add_variable(variables, entry);
  return variables;
}

/// Each variable as "NAME=value", in the order of their names.
inline std::vector<std::string> environment_entries(const environment_map& variables) {
  std::vector<std::string> entries;
  entries.reserve(variables.size());
  for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
  return entries;
}

/// The value of a variable; empty where it is not set.
inline std::optional<std::string> find_variable(const environment_map& variables,
                                                std::string_view name) {
  const auto found = variables.find(name);
  if (found == variables.end()) return std::nullopt;
  return found->second;
}

/// Who a worker is: its place on its node, in its role and in the job.
struct worker_identity {
  /// 0 … local_world_size - 1, on this node.
  int local_rank = 0;
  /// 0 … world_size - 1, in the job.
  int rank = 0;
  /// The node's place in the round, 0 … group_world_size - 1.
  int group_rank = 0;
  /// 0 … role_world_size - 1, among the workers of this role.
  int role_rank = 0;
  int local_world_size = 1;
  int world_size = 1;
  int group_world_size = 1;
  int role_world_size = 1;
  std::string role_name = "default";
};

/// What all workers of one start on one node have in common.
struct worker_surroundings {
  /// Where the workers find each other.
  std::string master_addr;
  std::uint16_t master_port = 0;
  /// True: an agent serves a store at the master's address and every worker is its client. False:
  /// the worker of rank 0 serves.
  bool use_agent_store = false;
  std::string run_id;
  /// How many of `max_restarts` are used up.
  int restart_count = 0;
  int max_restarts = 0;
};

namespace detail {

inline void set_job_variables(environment_map& variables, const worker_surroundings& job) {
  variables["MASTER_ADDR"] = job.master_addr;
  variables["MASTER_PORT"] = std::to_string(job.master_port);
  variables["TORCHELASTIC_RESTART_COUNT"] = std::to_string(job.restart_count);
  variables["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(job.max_restarts);
  variables["TORCHELASTIC_RUN_ID"] = job.run_id;
  // Python's spelling of a bool: workers compare with "True".
  variables["TORCHELASTIC_USE_AGENT_STORE"] = job.use_agent_store ? "True" : "False";
  // The name before PyTorch 2.2 and the one since; each worker reads its own.
  variables.emplace("NCCL_ASYNC_ERROR_HANDLING", "1");
  variables.emplace("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
}

inline void set_identity_variables(environment_map& variables, const worker_identity& worker) {
  variables["LOCAL_RANK"] = std::to_string(worker.local_rank);
  variables["RANK"] = std::to_string(worker.rank);
  variables["GROUP_RANK"] = std::to_string(worker.group_rank);
  variables["ROLE_RANK"] = std::to_string(worker.role_rank);
  variables["LOCAL_WORLD_SIZE"] = std::to_string(worker.local_world_size);
  variables["WORLD_SIZE"] = std::to_string(worker.world_size);
  variables["GROUP_WORLD_SIZE"] = std::to_string(worker.group_world_size);
  variables["ROLE_WORLD_SIZE"] = std::to_string(worker.role_world_size);
  variables["ROLE_NAME"] = worker.role_name;
}

}  // namespace detail

/// The whole environment of a worker, each entry "NAME=value": `base` and, instead of what it says
/// under the same names, everything that an agent promises to its workers.
///
/// `error_file` is where the worker leaves the reason of its failure; empty where nobody reads it.
/// `base` reaches the worker unchanged otherwise (CUDA_VISIBLE_DEVICES, OMP_NUM_THREADS,
/// TORCHELASTIC_TIMER_FILE, NCCL's settings, …).
inline std::vector<std::string> worker_environment(environment_map base,
                                                   const worker_identity& worker,
                                                   const worker_surroundings& job,
                                                   const std::string& error_file) {
  detail::set_job_variables(base, job);
  detail::set_identity_variables(base, worker);
  base["TORCHELASTIC_ERROR_FILE"] = error_file;
  return environment_entries(base);
}

/// torchrun's rule for OMP_NUM_THREADS: where it is not set and a node has more than one worker,
/// it becomes 1, since each worker would otherwise start as many threads as there are processors.
///
/// Result: the warning to show where the rule applied and changed `variables`.
inline std::optional<std::string> limit_omp_threads(environment_map& variables,
                                                    int local_world_size) {
  if (local_world_size <= 1 || variables.count("OMP_NUM_THREADS") > 0) return std::nullopt;
  variables["OMP_NUM_THREADS"] = "1";
  return "\n"
         "*****************************************\n"
         "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to "
         "avoid your system being overloaded, please further tune the variable for optimal "
         "performance in your application as needed.\n"
         "*****************************************";
}

}  // namespace elastic

// ---- elastic/contract/function_call.hpp ----

#include <algorithm>
#include <cmath>
#include <limits>

namespace elastic {

/// Set in a worker that is to run a function: the function's name.
inline constexpr const char* entrypoint_variable = "ELASTIC_ENTRYPOINT";

/// Which function every worker runs, and with what. `entrypoint::call` makes one whose arguments
/// fit; by hand for a program of which only the names are known.
struct function_call {
  /// The name under which the worker's program has registered the function.
  std::string name;
  /// A JSON array: the arguments in order.
  nlohmann::json arguments = nlohmann::json::array();
};

namespace detail {

/// Why a value would not arrive as it is; none where it would. `what` names it.
inline std::optional<std::string> unsayable(const nlohmann::json& value, int depth = 1) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    return "holds a number that is not finite, which JSON cannot say";
  }
  if (value.is_binary() || value.is_discarded()) return "holds what JSON cannot say";
  if (!value.is_structured()) return std::nullopt;
  if (depth > error_file_depth) {
    return fmt::format("is nested more than {} levels deep", error_file_depth);
  }
  for (const nlohmann::json& element : value) {
    if (auto reason = unsayable(element, depth + 1)) return reason;
  }
  return std::nullopt;
}

/// A value as it travels between agent and worker. `what` names it in errors.
/// Errors: `errc::invalid_argument`, saying what is wrong with it.
inline std::string call_text(const nlohmann::json& value, std::size_t most,
                             const std::string& what) {
  const auto refuse = [&](const std::string& why) {
    throw error(errc::invalid_argument, what + " " + why);
  };
  if (const auto reason = unsayable(value)) refuse(*reason);
  std::string text;
  try {
    text = value.dump();
  } catch (const nlohmann::json::exception& failure) {
    refuse("cannot be written as JSON: " + json_complaint(failure));
  }
  if (text.size() > most) {
    refuse(fmt::format("is {} bytes of JSON, {} are allowed", text.size(), most));
  }
  return text;
}

/// The value that such a text stands for; the text may be anything.
/// Errors: `errc::protocol_violation`, saying what is wrong with it.
inline nlohmann::json call_value(std::string_view text, const std::string& what) {
  const auto refuse = [&](const std::string& why) {
    throw error(errc::protocol_violation, what + " cannot be understood: " + why);
  };
  if (const auto reason = beyond_json_bounds(text, std::numeric_limits<int>::max())) {
    refuse(*reason);
  }
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& failure) {
    constexpr std::size_t longest = 300;
    refuse(json_complaint(failure).substr(0, longest));
  }
  return {};
}

inline std::string arguments_text(const function_call& call) {
  return call_text(call.arguments, limits::function_arguments_bytes,
                   fmt::format("the list of arguments of function '{}'", call.name));
}

}  // namespace detail

/// How many bytes of JSON each of so many workers of a node may return.
inline std::size_t return_value_bound(int local_world_size) {
  const auto workers = static_cast<std::size_t>(std::max(local_world_size, 1));
  return std::min(limits::return_value_bytes, limits::return_values_bytes / workers);
}

/// Checks what can be said about a call without the program that has the function.
/// Errors: `errc::invalid_argument`, saying what is allowed.
inline void validate(const function_call& call) {
  constexpr std::size_t longest_name = 256;
  if (call.name.empty() || call.name.size() > longest_name ||
      call.name.find('\0') != std::string::npos) {
    throw error(errc::invalid_argument,
                fmt::format("the name of a function has {} bytes: 1 to {} are allowed, none of "
                            "them zero", call.name.size(), longest_name));
  }
  if (!call.arguments.is_array()) {
    throw error(errc::invalid_argument,
                fmt::format("the arguments of function '{}' are no JSON array", call.name));
  }
  detail::arguments_text(call);
}

}  // namespace elastic

// ---- elastic/contract/stream_selection.hpp ----

namespace elastic {

/// Some of a worker's two output streams. The values are those of torchrun's `-r` and `-t`.
enum class std_streams { none = 0, out = 1, err = 2, both = 3 };

constexpr std_streams operator|(std_streams left, std_streams right) {
  return static_cast<std_streams>(static_cast<int>(left) | static_cast<int>(right));
}
constexpr std_streams operator&(std_streams left, std_streams right) {
  return static_cast<std_streams>(static_cast<int>(left) & static_cast<int>(right));
}

/// Whether `streams` has all of `wanted`.
constexpr bool contains(std_streams streams, std_streams wanted) {
  return (streams & wanted) == wanted;
}

/// Which streams of which workers of a node are meant: the same for all, or by local rank.
///
/// Thread-safety: that of a value.
class stream_selection {
 public:
  /// The same streams of every worker; none of any where left out.
  stream_selection(std_streams all = std_streams::none) : others_(all) {}

  /// What torchrun's `-r` and `-t` take: "3" for all workers, or "0:3,1:0" by local rank, where a
  /// rank is one digit and ranks that are not named have no streams; the last of a repeated rank
  /// wins.
  ///
  /// Errors: `errc::invalid_argument` for anything else.
  static stream_selection parse(std::string_view text);

  /// Selects `streams` for one worker, instead of what holds for all.
  stream_selection& set(int local_rank, std_streams streams) {
    by_rank_[local_rank] = streams;
    return *this;
  }

  /// The streams that are meant of the worker with this local rank.
  std_streams of(int local_rank) const {
    const auto named = by_rank_.find(local_rank);
    return named == by_rank_.end() ? others_ : named->second;
  }

  friend bool operator==(const stream_selection&, const stream_selection&) = default;

 private:
  std_streams others_;
  std::map<int, std_streams> by_rank_;
};

namespace detail {

inline bool is_stream_digit(char letter) { return letter >= '0' && letter <= '3'; }

/// "r:v" of a mapping.
inline bool is_stream_pair(std::string_view pair) {
  return pair.size() == 3 && pair[0] >= '0' && pair[0] <= '9' && pair[1] == ':' &&
         is_stream_digit(pair[2]);
}

}  // namespace detail

inline stream_selection stream_selection::parse(std::string_view text) {
  const auto streams = [](char digit) { return static_cast<std_streams>(digit - '0'); };
  if (text.size() == 1 && detail::is_stream_digit(text[0])) return {streams(text[0])};
  stream_selection selection;
  std::string_view rest = text;
  while (detail::is_stream_pair(rest.substr(0, 3))) {
    selection.set(rest[0] - '0', streams(rest[2]));
    if (rest.size() == 3) return selection;
    if (rest[3] != ',') break;
    rest.remove_prefix(4);
  }
  throw error(errc::invalid_argument,
              fmt::format("\"{}\" selects no streams: allowed are 0 (none), 1 (stdout), 2 (stderr) "
                          "and 3 (both) for all workers, or a list such as 0:3,1:1 by local rank "
                          "(one digit)",
                          text));
}

}  // namespace elastic

// ---- elastic/contract/visible_devices.hpp ----

namespace elastic {

/// The entries of CUDA_VISIBLE_DEVICES; empty where it is not set.
inline std::vector<std::string> visible_devices(const environment_map& environment) {
  const std::string list = find_variable(environment, "CUDA_VISIBLE_DEVICES").value_or("");
  std::vector<std::string> entries;
  for (std::string_view rest = list; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    entries.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return entries;
}

/// Leaves one GPU to the worker of a local rank: the entry of CUDA_VISIBLE_DEVICES that has this
/// place, else the GPU that has this number.
/// Source: `torchrun --virtual-local-rank` (PyTorch 2.14).
inline void leave_one_device(environment_map& environment, int local_rank) {
  const std::vector<std::string> entries = visible_devices(environment);
  const auto place = static_cast<std::size_t>(local_rank);
  environment["CUDA_VISIBLE_DEVICES"] =
      place < entries.size() ? entries[place] : std::to_string(local_rank);
}

}  // namespace elastic

// ---- elastic/health/worker_liveness.hpp ----

namespace elastic {

/// After how long a worker that says nothing counts as hung. Zero means: never.
struct liveness_settings {
  /// From its start to its first heartbeat.
  duration first_heartbeat{};
  /// From one heartbeat to the next. What a worker names itself comes before it.
  duration heartbeat{};
  /// Where nothing was named: the longest time seen between two heartbeats, and for each section
  /// the longest that it took, times this factor; 0: nothing is learned. At least 1 otherwise.
  double learn_factor = 0;
  /// What is learned is never shorter than this.
  duration least_learned = std::chrono::seconds(1);
};

/// Time-outs from what was observed: the longest time times a factor.
///
/// Nothing is concluded from fewer than `enough` observations. The workers of a node and its
/// attempts share one: what took its time in one is normal in the other.
class learned_timeouts {
 public:
  static constexpr int enough = 5;

  explicit learned_timeouts(const liveness_settings& settings = {})
      : factor_(settings.learn_factor), least_(settings.least_learned) {}

  void observe(const std::string& what, duration took) {
    if (factor_ <= 0) return;
    auto found = seen_.find(what);
    if (found == seen_.end()) {
      if (seen_.size() >= limits::learned_names) return;
      found = seen_.emplace(what, record()).first;
    }
    ++found->second.count;
    found->second.longest = std::max(found->second.longest, took);
  }

  /// None where too little was seen.
  std::optional<duration> of(const std::string& what) const {
    const auto found = seen_.find(what);
    if (found == seen_.end() || found->second.count < enough) return std::nullopt;
    const double allowed = static_cast<double>(found->second.longest.count()) * factor_;
    constexpr auto most = std::chrono::duration_cast<duration>(std::chrono::hours(24 * 365));
    const double bounded = std::min(allowed, static_cast<double>(most.count()));
    return std::max(duration(static_cast<duration::rep>(bounded)), least_);
  }

 private:
  struct record {
    int count = 0;
    duration longest{};
  };

  double factor_;
  duration least_;
  std::map<std::string, record> seen_;
};

/// Why a worker counts as hung, and what ends it.
struct liveness_verdict {
  /// "no heartbeat for 12.3 s (allowed 10 s) in section 'all_reduce'".
  std::string reason;
  /// The signal for it: SIGKILL, unless a timer of PyTorch's client named another.
  int signal = SIGKILL;
};

/// Judges by heartbeats, sections and timers whether one worker is hung. Pure: what happened and
/// the time go in, the verdict and the next time to ask come out.
///
/// - **Heartbeats.** From the first one on, the next is due within the worker's own time-out, else
///   the settings', else the learned one; where there is none of the three, nothing is expected.
///   Sections that begin or end count as heartbeats once there was one.
/// - **Sections.** One with a time-out, its own or learned, has to end by then; no heartbeat is due
///   meanwhile. Any other only says where a worker hangs.
/// - **Timers** stand by themselves. The same name again starts one anew.
///
/// Nothing is due while the worker is paused. Clocks stand still meanwhile.
class worker_liveness {
 public:
  /// `learned` must outlive this.
  worker_liveness(const liveness_settings& settings, learned_timeouts& learned)
      : settings_(settings), learned_(&learned) {}

  /// The worker runs from now on; what was known of one before is forgotten.
  void start(time_point now) {
    *this = worker_liveness(settings_, *learned_);
    running_ = true;
    started_ = now;
  }

  /// It ended, or wants to be watched no longer.
  void end() { running_ = false; }

  void beat(time_point now, std::optional<duration> timeout = std::nullopt) {
    if (timeout) own_timeout_ = timeout;
    if (last_sign_ && !awaits_section() && !paused_) {
      learned_->observe(beats_name, now - *last_sign_);
    }
    last_sign_ = now;
  }

  /// Result: false where too many sections are open already.
  bool enter(time_point now, const std::string& name, std::optional<duration> timeout) {
    const auto found = find_section(name);
    if (found != sections_.end()) sections_.erase(found);
    if (sections_.size() >= limits::worker_sections) return false;
    if (!timeout) timeout = learned_->of(section_name(name));
    sections_.push_back({name, now, timeout});
    sign_of_life(now);
    return true;
  }

  /// Nothing happens where that section is not open.
  void leave(time_point now, const std::string& name) {
    const auto found = find_section(name);
    if (found == sections_.end()) return;
    if (!paused_) learned_->observe(section_name(name), now - found->entered);
    sections_.erase(found);
    sign_of_life(now);
  }

  /// Result: false where too many timers are armed already.
  bool arm(time_point now, const std::string& name, duration after, int signal = SIGKILL) {
    if (timers_.count(name) == 0 && timers_.size() >= limits::worker_timers) return false;
    timers_[name] = {bounded_sum(now, after), after, signal};
    return true;
  }

  void release(const std::string& name) { timers_.erase(name); }

  void pause(time_point now) {
    if (!paused_) paused_ = now;
  }
  void resume(time_point now) {
    if (const auto since = std::exchange(paused_, std::nullopt)) shift(now - *since);
  }

  /// Whatever is due gets its whole time from now on: the watch itself stood still (a machine that
  /// slept), and nobody knows who else did.
  void renew(time_point now) {
    started_ = now;
    if (last_sign_) last_sign_ = now;
    for (section& one : sections_) one.entered = now;
    for (auto& [name, one] : timers_) one.expiry = bounded_sum(now, one.after);
    if (paused_) paused_ = now;
  }

  /// When to judge again; `time_point::max()` where nothing is due.
  time_point next_expiry() const { return first_due().at; }

  /// None while the worker is in time.
  std::optional<liveness_verdict> judge(time_point now) const {
    const due first = first_due();
    if (first.at > now) return std::nullopt;
    liveness_verdict verdict;
    switch (first.what) {
      case due::kind::first_heartbeat:
        verdict.reason = fmt::format("no heartbeat since its start {} ago (allowed {})",
                                     text_of(now - started_), text_of(settings_.first_heartbeat));
        break;
      case due::kind::heartbeat:
        verdict.reason =
            fmt::format("no heartbeat for {} (allowed {}){}", text_of(now - *last_sign_),
                        text_of(*beat_timeout()), where());
        break;
      case due::kind::section:
        verdict.reason =
            fmt::format("section '{}' took {} (allowed {})", first.section->name,
                        text_of(now - first.section->entered), text_of(*first.section->timeout));
        break;
      case due::kind::timer:
        verdict.reason = fmt::format("timer '{}' expired after {}", *first.timer_name,
                                     text_of(first.armed->after));
        verdict.signal = first.armed->signal;
        break;
    }
    return verdict;
  }

  /// "12.3 s"; "10 s" for whole seconds.
  static std::string text_of(duration span) {
    const double seconds = std::chrono::duration<double>(span).count();
    const double tenths = static_cast<double>(static_cast<long long>(seconds * 10 + 0.5)) / 10;
    return fmt::format("{:g} s", tenths);
  }

 private:
  // Clocks stood still for so long.
  void shift(duration span) {
    started_ += span;
    if (last_sign_) *last_sign_ += span;
    for (section& one : sections_) one.entered += span;
    for (auto& [name, one] : timers_) one.expiry = bounded_sum(one.expiry, span);
  }

  struct section {
    std::string name;
    time_point entered;
    std::optional<duration> timeout;
  };
  struct timer {
    time_point expiry;
    duration after{};
    int signal = SIGKILL;
  };
  /// What is due first.
  struct due {
    enum class kind { first_heartbeat, heartbeat, section, timer };
    time_point at = time_point::max();
    kind what = kind::heartbeat;
    const elastic::worker_liveness::section* section = nullptr;
    const std::string* timer_name = nullptr;
    const timer* armed = nullptr;
  };

  static constexpr const char* beats_name = "heartbeat";
  static std::string section_name(const std::string& name) { return "section " + name; }

  static time_point bounded_sum(time_point from, duration span) {
    return span < time_point::max() - from ? from + span : time_point::max();
  }

  std::vector<section>::iterator find_section(const std::string& name) {
    return std::find_if(sections_.begin(), sections_.end(),
                        [&](const section& one) { return one.name == name; });
  }

  // A section that has a time-out takes the place of heartbeats.
  bool awaits_section() const {
    return std::any_of(sections_.begin(), sections_.end(),
                       [](const section& one) { return one.timeout.has_value(); });
  }

  void sign_of_life(time_point now) {
    if (last_sign_) last_sign_ = now;
  }

  std::optional<duration> beat_timeout() const {
    if (own_timeout_) return own_timeout_;
    if (settings_.heartbeat > duration::zero()) return settings_.heartbeat;
    return learned_->of(beats_name);
  }

  std::string where() const {
    return sections_.empty() ? std::string()
                             : fmt::format(" in section '{}'", sections_.back().name);
  }

  due first_due() const {
    due first;
    if (!running_ || paused_) return first;
    const auto consider = [&first](time_point at, due::kind what) {
      if (at >= first.at) return false;
      first = due();
      first.at = at;
      first.what = what;
      return true;
    };
    if (!last_sign_ && settings_.first_heartbeat > duration::zero()) {
      consider(bounded_sum(started_, settings_.first_heartbeat), due::kind::first_heartbeat);
    }
    if (last_sign_ && !awaits_section()) {
      const auto allowed = beat_timeout();
      if (allowed) consider(bounded_sum(*last_sign_, *allowed), due::kind::heartbeat);
    }
    for (const section& one : sections_) {
      if (one.timeout && consider(bounded_sum(one.entered, *one.timeout), due::kind::section)) {
        first.section = &one;
      }
    }
    for (const auto& [name, one] : timers_) {
      if (consider(one.expiry, due::kind::timer)) {
        first.timer_name = &name;
        first.armed = &one;
      }
    }
    return first;
  }

  liveness_settings settings_;
  learned_timeouts* learned_;
  bool running_ = false;
  time_point started_{};
  /// The last heartbeat, or what counts as one.
  std::optional<time_point> last_sign_;
  std::optional<duration> own_timeout_;
  std::vector<section> sections_;
  std::map<std::string, timer> timers_;
  std::optional<time_point> paused_;
};

}  // namespace elastic

// ---- elastic/agent/worker_spec.hpp ----

namespace elastic {

/// What an agent runs: which program, how many, how often again, and where its output goes.
struct worker_spec {
  /// The role of these workers: a name for ranks, logs, events and metrics.
  std::string role = "default";
  /// How many workers this node runs, 1 to `limits::local_world_size`.
  int local_world_size = 1;

  /// A path, or a name that is looked up in the PATH of `environment`.
  std::string program;
  /// The program's arguments; `${local_rank}` in them becomes the worker's.
  std::vector<std::string> arguments;
  /// What the workers' environment starts from, usually the launcher's (`environment_from`). What
  /// the agent promises its workers is set on top of it.
  environment_map environment;
  /// A function of the program to run: the program's main must begin with `run_entrypoint`. Each
  /// worker's standard input is then what carries the call. None: the program runs as it is.
  std::optional<function_call> function = {};
  /// Variables of the workers alone, set on top of `environment`; `${local_rank}`, `${rank}` and
  /// `${role_name}` in the values become the worker's.
  std::vector<std::pair<std::string, std::string>> variables;
  /// Each worker sees one GPU and takes itself for the only one of its node: LOCAL_RANK is 0, and
  /// CUDA_VISIBLE_DEVICES has one entry, that of its local rank.
  bool virtual_local_rank = false;
  /// The processors of each worker, by local rank; empty: the agent's.
  std::vector<processor_set> processors;
  /// The working directory; empty keeps the agent's.
  std::string directory;

  /// How often the group may be started again after a failure. 0: never.
  int max_restarts = 0;
  /// How soon, for which failures, and how many of them within what time.
  restart_terms restart;
  /// How long workers may take to end after the stop's signal before they are killed.
  duration shutdown_timeout = std::chrono::seconds(30);
  /// How long to wait at the end for the other agents.
  duration exit_barrier_timeout = std::chrono::seconds(300);
  /// How long workers may take to save a checkpoint when the agent is asked to stop by SIGTERM,
  /// before they are stopped. 0: they are not asked.
  duration preempt_grace = duration::zero();
  /// After how long a worker that says nothing over the control channel counts as hung, which is a
  /// failure. Default: never, but for time-outs that the worker itself names.
  liveness_settings liveness;
  /// The period of the state metrics, where a metric handler is given. Nothing else uses it.
  duration monitor_interval = std::chrono::seconds(5);

  /// Where the log directory of the run is made. Empty: in the temporary folder, and removed after
  /// success. "/dev/null": no files at all.
  std::string log_directory;
  /// Which streams of which local rank are written to files by the worker itself.
  stream_selection redirects;
  /// Which streams go to both the file and the console.
  stream_selection tee;
  /// What is put before each line of a teed stream; see `line_prefix` for its fields. Empty:
  /// "[<role><local_rank>]:".
  std::string line_prefix_template;
};

/// Checks the bounds of a worker_spec. Errors: `errc::invalid_argument`, saying what is allowed.
inline void validate(const worker_spec& spec) {
  const auto demand = [](bool holds, const std::string& sentence) {
    if (!holds) throw error(errc::invalid_argument, sentence);
  };
  demand(!spec.program.empty(), "the worker's program is not named");
  if (spec.function) validate(*spec.function);
  demand(spec.local_world_size >= 1 && spec.local_world_size <= limits::local_world_size,
         fmt::format("{} workers on one node: 1 to {} are allowed", spec.local_world_size,
                     limits::local_world_size));
  demand(spec.processors.empty() ||
             spec.processors.size() == static_cast<std::size_t>(spec.local_world_size),
         fmt::format("processors are given for {} workers, but the node has {}",
                     spec.processors.size(), spec.local_world_size));
  for (const auto& [name, value] : spec.variables) {
    demand(!name.empty() && name.find('=') == std::string::npos,
           fmt::format("'{}' is no name of a variable", name));
  }
  demand(!spec.virtual_local_rank ||
             visible_devices(spec.environment).size() >=
                 static_cast<std::size_t>(spec.local_world_size) ||
             visible_devices(spec.environment).empty(),
         fmt::format("CUDA_VISIBLE_DEVICES names fewer devices than the {} workers of the node, of "
                     "which each is to have its own",
                     spec.local_world_size));
  demand(spec.max_restarts >= 0,
         fmt::format("max_restarts is {}: 0 or more is allowed", spec.max_restarts));
  validate(spec.restart);
  demand(spec.shutdown_timeout >= duration::zero(), "shutdown_timeout must not be negative");
  demand(spec.exit_barrier_timeout >= duration::zero(),
         "exit_barrier_timeout must not be negative");
  demand(spec.monitor_interval > duration::zero(), "monitor_interval must be over 0");
  demand(spec.preempt_grace >= duration::zero(), "preempt_grace must not be negative");
  const liveness_settings& liveness = spec.liveness;
  demand(liveness.first_heartbeat >= duration::zero() && liveness.heartbeat >= duration::zero() &&
             liveness.least_learned >= duration::zero(),
         "the times of liveness must not be negative");
  demand(liveness.learn_factor == 0 || liveness.learn_factor >= 1,
         fmt::format("learn_factor is {}: 0 (nothing is learned) or 1 and more are allowed",
                     liveness.learn_factor));
}

}  // namespace elastic

// ---- elastic/base/detail/waiters.hpp ----

#include <asio/execution_context.hpp>

#include <mutex>

namespace elastic::detail {

/// What holds coroutines that wait, as seen by the context on which they do.
class abandonable {
 public:
  virtual ~abandonable() = default;
  /// Destroys who waits.
  virtual void abandon() noexcept = 0;
};

/// Knows, for each execution context, who holds coroutines that wait on it. A coroutine may itself
/// own what it waits in, so that nobody else would destroy it when the context ends.
///
/// Thread-safety: every member may be called from any thread.
class waiting_room final : public asio::execution_context::service {
 public:
  using key_type = waiting_room;
  inline static asio::execution_context::id id;

  explicit waiting_room(asio::execution_context& context) : service(context) {}

  static waiting_room& of(const asio::any_io_executor& executor) {
    return asio::use_service<waiting_room>(asio::query(executor, asio::execution::context));
  }

  void enter(std::shared_ptr<abandonable> holder) {
    const std::lock_guard lock(mutex_);
    holders_.insert(std::move(holder));
  }

  void leave(const std::shared_ptr<abandonable>& holder) {
    const std::lock_guard lock(mutex_);
    holders_.erase(holder);
  }

 private:
  void shutdown() noexcept override {
    std::set<std::shared_ptr<abandonable>> holders;
    {
      const std::lock_guard lock(mutex_);
      holders.swap(holders_);
    }
    for (const auto& holder : holders) holder->abandon();
  }

  std::mutex mutex_;
  std::set<std::shared_ptr<abandonable>> holders_;
};

/// Coroutines of one strand that wait to be woken, ordered by a key of each.
///
/// In the place of Asio's experimental channel, which (in 1.22) loses what is sent after a receive
/// was cancelled, and has error codes of its own.
/// Who is woken no longer needs this object: it may be destroyed before they run.
template <class Key, class... Results>
class waiters {
 public:
  explicit waiters(asio::any_io_executor executor)
      : executor_(std::move(executor)), waiting_(std::make_shared<table>()) {}
  waiters(const waiters&) = delete;
  waiters& operator=(const waiters&) = delete;

  /// Who still waits is woken with `operation_aborted`.
  ~waiters() {
    while (!empty()) wake_first(asio::error::operation_aborted, Results()...);
  }

  /// Waits until it is woken under `key`, which nobody else waits or waited under.
  ///
  /// Result: what it was woken with. Errors: the code that it was woken with.
  /// Cancellation: all types; throws `operation_aborted`. Who was woken is not cancelled any more.
  auto wait(Key key) {
    return asio::async_initiate<const asio::use_awaitable_t<>,
                                void(asio::error_code, Results...)>(start_wait(),
                                                                    asio::use_awaitable, this, key);
  }

  bool empty() const { return waiting_->places.empty(); }
  std::size_t size() const { return waiting_->places.size(); }

  /// The key of who is woken next.
  const Key& first() const { return waiting_->places.begin()->first; }

  void wake_first(asio::error_code failure, Results... results) {
    wake(*waiting_, first(), failure, std::move(results)...);
  }

 private:
  // Its destruction without `resume` destroys who waits.
  class waiter {
   public:
    virtual ~waiter() = default;
    virtual void resume(asio::error_code failure, Results... results) = 0;
    /// The last one gone: the context need not end who waits there any more.
    virtual void leave_room(const std::shared_ptr<abandonable>& holder) = 0;
  };

  struct table final : abandonable, std::enable_shared_from_this<table> {
    void abandon() noexcept override {
      // Out of here first: who is destroyed may destroy the object that this belongs to.
      const auto leaving = std::exchange(places, {});
    }
    std::map<Key, std::unique_ptr<waiter>> places;
  };

  template <class Handler>
  class waiter_of final : public waiter {
   public:
    waiter_of(asio::any_io_executor executor, Handler handler)
        : executor_(std::move(executor)), handler_(std::move(handler)) {}

    void resume(asio::error_code failure, Results... results) override {
      auto executor = asio::get_associated_executor(handler_, executor_);
      auto run = [handler = std::move(handler_), failure,
                  ... results = std::move(results)]() mutable {
        std::move(handler)(failure, std::move(results)...);
      };
      asio::post(executor, std::move(run));
    }

    void leave_room(const std::shared_ptr<abandonable>& holder) override {
      waiting_room::of(executor_).leave(holder);
    }

   private:
    asio::any_io_executor executor_;
    Handler handler_;
  };

  struct start_wait {
    template <class Handler>
    void operator()(Handler handler, waiters* at, Key key) const {
      at->add(std::move(handler), key);
    }
  };

  template <class Handler>
  void add(Handler handler, const Key& key) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    auto place = std::make_unique<waiter_of<Handler>>(executor_, std::move(handler));
    if (empty()) waiting_room::of(executor_).enter(waiting_);
    waiting_->places.emplace(key, std::move(place));
    if (!slot.is_connected()) return;
    // It stays in the slot after the wait, whose owner may be gone by then, and finds nobody.
    slot.assign([weak = std::weak_ptr<table>(waiting_), key](asio::cancellation_type type) {
      const auto waiting = weak.lock();
      if (!waiting || type == asio::cancellation_type::none) return;
      wake(*waiting, key, asio::error::operation_aborted, Results()...);
    });
  }

  // The key by value: it may be the one that is removed.
  static void wake(table& waiting, Key key, asio::error_code failure, Results... results) {
    const auto found = waiting.places.extract(key);
    if (found.empty()) return;
    if (waiting.places.empty()) found.mapped()->leave_room(waiting.shared_from_this());
    found.mapped()->resume(failure, std::move(results)...);
  }

  asio::any_io_executor executor_;
  std::shared_ptr<table> waiting_;
};

}  // namespace elastic::detail

// ---- elastic/base/event_flag.hpp ----

namespace elastic {

/// A condition that any number of coroutines of one strand wait for. True until it is reset.
///
/// Thread-safety: one strand at a time.
class event_flag {
 public:
  explicit event_flag(asio::any_io_executor executor) : waiting_(std::move(executor)) {}

  /// Makes the condition true and wakes all that wait. Further calls do nothing.
  void set() {
    is_set_ = true;
    while (!waiting_.empty()) waiting_.wake_first({});
  }

  /// Makes the condition false again; who was woken before stays awake.
  void reset() { is_set_ = false; }

  bool is_set() const { return is_set_; }

  /// Waits until the condition is true.
  ///
  /// Cancellation: all types; throws `operation_aborted`. So does the end of the flag.
  task<void> wait() {
    // Nothing of the flag is touched after the wait: it may be gone by then.
    if (!is_set_) co_await waiting_.wait(next_++);
  }

 private:
  bool is_set_ = false;
  std::uint64_t next_ = 0;
  detail::waiters<std::uint64_t> waiting_;
};

}  // namespace elastic

// ---- elastic/base/when_all.hpp ----

namespace elastic {

/// Runs all tasks at once, started in their order, until the last of them has ended. The first
/// that throws has the others cancelled, by all types.
///
/// Errors: that of the first that threw.
/// Cancellation: every request is passed on to every task; then throws what the first threw.
inline task<void> when_all(std::vector<task<void>> tasks) {
  if (tasks.empty()) co_return;
  auto executor = co_await asio::this_coro::executor;
  const std::size_t count = tasks.size();
  const auto outcome = co_await detail::run_concurrently(
      executor, count, detail::cancelled_by::first_failure, std::move(tasks));
  for (const std::size_t place : outcome.order) {
    if (outcome.failures[place]) std::rethrow_exception(outcome.failures[place]);
  }
}

}  // namespace elastic

// ---- elastic/contract/call_sheet.hpp ----

#include <sys/mman.h>

namespace elastic {

/// What a worker's function has left behind.
struct call_answer {
  enum class what : std::uint64_t {
    /// Nothing: it did not end, or by `exit`.
    nothing = 0,
    /// JSON: what it returned.
    value = 1,
    /// JSON in the form of an error file: what it threw.
    failure = 2,
    /// Something that no worker of this library leaves; `text` says why.
    garbage = 3,
  };
  what kind = what::nothing;
  std::string text;
};

/// How an agent and the function that a worker runs talk: a file without a name, in memory, which
/// the worker gets as its standard input. The agent writes the arguments before it starts the
/// worker; the worker writes what came of it; the agent reads that when the worker has ended.
///
/// Nobody waits for anybody, no file is left, and the worker can put neither more into it than the
/// agent has made room for (the kernel refuses to let it grow) nor anything that the agent would
/// take for more. Memory is taken for what is written alone.
///
/// Thread-safety: one thread at a time.
class call_sheet {
 public:
  /// None.
  call_sheet() = default;
  call_sheet(call_sheet&& other) noexcept { swap(other); }
  call_sheet& operator=(call_sheet&& other) noexcept {
    call_sheet taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~call_sheet() {
    if (file_ >= 0) ::close(file_);
  }

  /// The agent's side: a sheet with the arguments, and room for an answer of so many bytes.
  /// Errors: `errc::start_failed`.
  static call_sheet make(std::string_view arguments, std::size_t answer_bytes) {
    call_sheet made;
    made.arguments_ = arguments.size();
    made.room_ = answer_bytes;
    made.file_ = open_memory();
    header first;
    first.arguments = arguments.size();
    const auto size = static_cast<off_t>(made.answer_at() + answer_bytes);
    if (made.file_ < 0 || ::ftruncate(made.file_, size) != 0 ||
        !made.write(0, &first, sizeof first) ||
        !made.write(sizeof first, arguments.data(), arguments.size()) ||
        ::fcntl(made.file_, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
      throw error(errc::start_failed,
                  fmt::format("no memory file for the arguments of a function can be had: {}",
                              errno_text(errno)));
    }
    return made;
  }

  /// The worker's side: takes the sheet that is its standard input, and leaves /dev/null there.
  /// Errors: `errc::protocol_violation` where standard input is no such sheet.
  static call_sheet take() {
    call_sheet taken;
    taken.file_ = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
    struct stat about {};
    header first;
    first.arguments = 0;
    const bool is_sheet = taken.file_ >= 0 && ::fstat(taken.file_, &about) == 0 &&
                          S_ISREG(about.st_mode) && taken.read(0, &first, sizeof first) &&
                          std::memcmp(first.mark, header().mark, sizeof first.mark) == 0 &&
                          first.arguments <= limits::function_arguments_bytes;
    const auto size = static_cast<std::uint64_t>(about.st_size);
    if (!is_sheet || size < sizeof first + first.arguments) {
      throw error(errc::protocol_violation,
                  "standard input does not hold a function's arguments: only an agent starts a "
                  "worker that runs a function");
    }
    taken.arguments_ = first.arguments;
    taken.room_ = size - taken.answer_at();
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing >= 0) {
      ::dup2(nothing, 0);
      ::close(nothing);
    }
    return taken;
  }

  /// What becomes the worker's standard input; borrowed.
  int descriptor() const { return file_; }

  /// How many bytes an answer may have.
  std::size_t room() const { return room_; }

  /// The arguments, as they were written by `make`, or by whoever had the file meanwhile.
  /// Errors: `errc::file_access`.
  std::string arguments() const {
    std::string text(arguments_, '\0');
    if (!read(sizeof(header), text.data(), text.size())) fail("read");
    return text;
  }

  /// Leaves an answer, in the place of an earlier one: whole, or not at all.
  /// Errors: `errc::file_access`; the text must fit.
  void leave(call_answer::what kind, std::string_view text) {
    header first;
    first.arguments = arguments_;
    first.answer = text.size();
    first.kind = static_cast<std::uint64_t>(kind);
    const bool is_left = text.size() <= room_ && write(answer_at(), text.data(), text.size()) &&
                         write(0, &first, sizeof first);
    if (!is_left) fail("write");
  }

  /// What the worker has left. Never fails: what makes no sense is `garbage`.
  call_answer answer() const {
    call_answer found;
    if (file_ < 0) return found;
    header first;
    if (!read(0, &first, sizeof first)) return garbage("it cannot be read");
    if (first.kind == static_cast<std::uint64_t>(call_answer::what::nothing)) return found;
    if (first.kind != static_cast<std::uint64_t>(call_answer::what::value) &&
        first.kind != static_cast<std::uint64_t>(call_answer::what::failure)) {
      return garbage(fmt::format("it is of the unknown kind {}", first.kind));
    }
    if (first.answer > room_) {
      return garbage(fmt::format("it is said to have {} bytes, {} are allowed", first.answer,
                                 room_));
    }
    found.kind = static_cast<call_answer::what>(first.kind);
    found.text.resize(first.answer);
    if (!read(answer_at(), found.text.data(), found.text.size())) {
      return garbage("it cannot be read");
    }
    return found;
  }

 private:
  // In this machine's byte order: the file does not leave it.
  struct header {
    char mark[8] = {'e', 'l', 'c', 'a', 'l', 'l', '1', '\n'};
    std::uint64_t arguments = 0;
    std::uint64_t kind = 0;
    std::uint64_t answer = 0;
  };

  static int open_memory() {
    // Systems may allow only files that say they are no programs; older ones do not know the flag.
    constexpr unsigned not_executable = 8;
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    const int file = ::memfd_create("elastic-call", flags | not_executable);
    return file >= 0 || errno != EINVAL ? file : ::memfd_create("elastic-call", flags);
  }

  static call_answer garbage(std::string why) {
    return {call_answer::what::garbage, std::move(why)};
  }

  [[noreturn]] static void fail(const char* step) {
    throw error(errc::file_access, fmt::format("cannot {} the file of a function's arguments and "
                                               "answer: {}", step, errno_text(errno)));
  }

  std::size_t answer_at() const { return sizeof(header) + arguments_; }

  bool read(std::size_t at, void* into, std::size_t size) const {
    return moved(size, [&](std::size_t done) {
      return ::pread(file_, static_cast<char*>(into) + done, size - done,
                     static_cast<off_t>(at + done));
    });
  }
  bool write(std::size_t at, const void* from, std::size_t size) const {
    return moved(size, [&](std::size_t done) {
      return ::pwrite(file_, static_cast<const char*>(from) + done, size - done,
                      static_cast<off_t>(at + done));
    });
  }
  template <class Step>
  static bool moved(std::size_t size, Step step) {
    for (std::size_t done = 0; done < size;) {
      const ssize_t count = step(done);
      if (count < 0 && errno == EINTR) continue;
      if (count == 0) errno = ENODATA;
      if (count <= 0) return false;
      done += static_cast<std::size_t>(count);
    }
    return true;
  }

  void swap(call_sheet& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(arguments_, other.arguments_);
    std::swap(room_, other.room_);
  }

  int file_ = -1;
  std::size_t arguments_ = 0;
  std::size_t room_ = 0;
};

}  // namespace elastic

// ---- elastic/contract/macros.hpp ----

namespace elastic {

/// The names that a template may use, without "$", and what stands for them.
using macro_values = std::map<std::string, std::string, std::less<>>;

namespace detail {

inline bool starts_macro_name(char letter) {
  return letter == '_' || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
}

/// The name at the start of `text`, as long as it can be; empty where there is none.
inline std::string_view leading_macro_name(std::string_view text) {
  if (text.empty() || !starts_macro_name(text[0])) return {};
  std::size_t length = 1;
  while (length < text.size() &&
         (starts_macro_name(text[length]) || (text[length] >= '0' && text[length] <= '9'))) {
    ++length;
  }
  return text.substr(0, length);
}

/// What follows a "$": the name and how many characters it takes with its braces; length 0 where
/// no name follows.
struct macro_reference {
  std::string_view name;
  std::size_t length = 0;
};

inline macro_reference read_macro_reference(std::string_view text) {
  if (!text.empty() && text[0] == '{') {
    const std::string_view name = leading_macro_name(text.substr(1));
    const bool closed = text.size() > name.size() + 1 && text[name.size() + 1] == '}';
    if (name.empty() || !closed) return {};
    return {name, name.size() + 2};
  }
  const std::string_view name = leading_macro_name(text);
  return {name, name.size()};
}

}  // namespace detail

/// Replaces `$name` and `${name}` by their values and `$$` by `$`, by the rules of Python's
/// `string.Template.safe_substitute`: a name that is not in `values`, and a `$` that starts no
/// name, stay as they are.
inline std::string substitute_macros(std::string_view text, const macro_values& values) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t dollar = text.find('$');
    result += text.substr(0, dollar);
    if (dollar == std::string_view::npos) break;
    text.remove_prefix(dollar + 1);
    if (!text.empty() && text[0] == '$') {
      result += '$';
      text.remove_prefix(1);
      continue;
    }
    const detail::macro_reference reference = detail::read_macro_reference(text);
    const auto value = values.find(reference.name);
    if (reference.length > 0 && value != values.end()) {
      result += value->second;
    } else {
      result += '$';
      result += text.substr(0, reference.length);
    }
    text.remove_prefix(reference.length);
  }
  return result;
}

/// An argument of a worker as the worker gets it: `${local_rank}` is replaced.
inline std::string substitute_local_rank(std::string_view argument, int local_rank) {
  macro_values values;
  values.emplace("local_rank", std::to_string(local_rank));
  return substitute_macros(argument, values);
}

/// What names a worker in a template: `${role_name}`, `${rank}` and `${local_rank}`.
inline macro_values macros_of(const std::string& role_name, int rank, int local_rank) {
  macro_values values;
  values.emplace("role_name", role_name);
  values.emplace("rank", std::to_string(rank));
  values.emplace("local_rank", std::to_string(local_rank));
  return values;
}

/// What stands before each line that a worker's output is copied with: the template with
/// `${role_name}`, `${rank}` and `${local_rank}` replaced; "[<role><local_rank>]:", as torchrun
/// prints it, where the template is empty.
inline std::string line_prefix(std::string_view prefix_template, const std::string& role_name,
                               int rank, int local_rank) {
  if (prefix_template.empty()) prefix_template = "[${role_name}${local_rank}]:";
  return substitute_macros(prefix_template, macros_of(role_name, rank, local_rank));
}

}  // namespace elastic

// ---- elastic/health/control_message.hpp ----

// Includes the whole of nlohmann/json.

#include <variant>

namespace elastic {

/// What a worker and its agent tell each other over the control channel: one JSON object a line,
/// whose "kind" is the name of the struct. docs/control_channel.md has the conversation. Times are
/// seconds; fields that are not known are passed over.
namespace control_messages {

// ---- from a worker --------------------------------------------------------------------------

/// The first line of a connection.
struct hello {
  static constexpr int current_version = 1;
  int version = current_version;
  int local_rank = 0;
  /// Whether it wants to be asked for checkpoints.
  bool checkpoints = false;
};

/// It lives. From the first one on the next is expected within `timeout`, where one is named, else
/// within what the agent was told or has learned.
struct heartbeat {
  std::optional<duration> timeout;
};

/// A part of its work begins. With a `timeout` it has to end by then, and no heartbeat is expected
/// meanwhile.
struct enter {
  std::string section;
  std::optional<duration> timeout;
};

/// That part has ended.
struct leave {
  std::string section;
};

/// It is to be killed `after` so long, unless it says `release` before. Said again, the timer
/// starts anew.
struct expires {
  std::string timer;
  duration after{};
};

struct release {
  std::string timer;
};

/// How far it is; counts as a heartbeat.
struct progress {
  std::int64_t step = 0;
  /// How many steps there are; 0: not known.
  std::int64_t total = 0;
  std::string text;
  std::map<std::string, double> metrics;
};

/// The checkpoint of that number is written, or why it is not.
struct saved {
  std::int64_t id = 0;
};
struct not_saved {
  std::int64_t id = 0;
  std::string reason;
};

/// Where workers fail from now on, the job is not to be started again.
struct no_restart {
  std::string reason;
};

/// This node cannot do the work and is to leave the job.
struct bad_node {
  std::string reason;
};

/// It wants to be watched no longer.
struct bye {};

// ---- from the agent -------------------------------------------------------------------------

/// The answer to hello.
struct welcome {
  int version = hello::current_version;
};

/// A line could not be taken; the connection ends.
struct refused {
  std::string reason;
};

/// Save a checkpoint and say so (`saved`, `not_saved`); by then the agent waits no longer.
struct checkpoint {
  std::int64_t id = 0;
  duration within{};
};

/// Do nothing until `resume`; no heartbeat is expected meanwhile.
struct pause {};
struct resume {};

/// You are being stopped: a signal comes now, SIGKILL after `grace` (0: not known).
struct stop {
  duration grace{};
};

}  // namespace control_messages

/// What a worker says.
using worker_message =
    std::variant<control_messages::hello, control_messages::heartbeat, control_messages::enter,
                 control_messages::leave, control_messages::expires, control_messages::release,
                 control_messages::progress, control_messages::saved, control_messages::not_saved,
                 control_messages::no_restart, control_messages::bad_node, control_messages::bye>;

/// What the agent says.
using agent_message =
    std::variant<control_messages::welcome, control_messages::refused,
                 control_messages::checkpoint, control_messages::pause, control_messages::resume,
                 control_messages::stop>;

namespace detail {

/// `text` without what a terminal would obey, at most `most` bytes of whole characters: it is
/// shown to people.
inline std::string printable(std::string_view text, std::size_t most) {
  std::string shown;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto next = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0U;
    if (byte < 0x20 || byte == 0x7f) {
      shown += ' ';
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
      ++at;  // U+0080 to U+009F: control characters, too
      shown += ' ';
    } else {
      shown += text[at];
    }
  }
  if (shown.size() <= most) return shown;
  while (most > 0 && (static_cast<unsigned char>(shown[most]) & 0xc0) == 0x80) --most;
  shown.resize(most);
  return shown;
}

/// The longest time that is said: some three years.
inline constexpr double most_control_seconds = 1e8;

/// The fields of a line, each read with its bounds.
class control_fields {
 public:
  explicit control_fields(std::string_view line) {
    if (line.size() >= limits::control_line_bytes) {
      refuse(fmt::format("is {} bytes long; {} are allowed, the line end included", line.size(),
                         limits::control_line_bytes));
    }
    json_ = nlohmann::json::parse(line, nullptr, false);
    if (!json_.is_object()) {
      refuse(fmt::format("is no JSON object: '{}'", printable(ascii(line), 80)));
    }
  }

  std::string kind() const { return text("kind", limits::control_name_bytes); }

  std::int64_t number(const char* name, std::int64_t least, std::int64_t most) const {
    const nlohmann::json& value = field(name);
    if (!value.is_number_integer()) refuse(fmt::format("has no whole number \"{}\"", name));
    const bool too_large = value.is_number_unsigned() &&
                           value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
    const auto number = too_large ? most : value.get<std::int64_t>();
    if (too_large || number < least || number > most) {
      refuse(fmt::format("has \"{}\" outside of {} to {}", name, least, most));
    }
    return number;
  }

  std::int64_t number_or(const char* name, std::int64_t otherwise, std::int64_t most) const {
    return has(name) ? number(name, 0, most) : otherwise;
  }

  bool flag_or(const char* name, bool otherwise) const {
    if (!has(name)) return otherwise;
    const nlohmann::json& value = field(name);
    if (!value.is_boolean()) refuse(fmt::format("has no true or false \"{}\"", name));
    return value.get<bool>();
  }

  std::string text(const char* name, std::size_t most) const {
    const nlohmann::json& value = field(name);
    if (!value.is_string()) refuse(fmt::format("has no text \"{}\"", name));
    return printable(value.get_ref<const std::string&>(), most);
  }

  std::string text_or_empty(const char* name) const {
    return has(name) ? text(name, limits::control_text_bytes) : std::string();
  }

  /// A name: not empty, and refused where it is too long, since cut ones could be the same.
  std::string name(const char* field_name) const {
    const std::string value = text(field_name, limits::control_line_bytes);
    if (value.empty() || value.size() > limits::control_name_bytes) {
      refuse(fmt::format("has a \"{}\" of {} bytes; 1 to {} are allowed", field_name, value.size(),
                         limits::control_name_bytes));
    }
    return value;
  }

  duration seconds(const char* name) const {
    constexpr double most = most_control_seconds;
    const nlohmann::json& value = field(name);
    if (!value.is_number()) refuse(fmt::format("has no number of seconds \"{}\"", name));
    const double number = value.get<double>();
    if (!(number > 0) || number > most) {
      refuse(fmt::format("has \"{}\" outside of 0 to {} seconds", name, most));
    }
    return std::chrono::ceil<duration>(std::chrono::duration<double>(number));
  }

  std::optional<duration> seconds_or_none(const char* name) const {
    return has(name) ? std::optional<duration>(seconds(name)) : std::nullopt;
  }

  double real(const char* name) const {
    const nlohmann::json& value = field(name);
    if (!value.is_number()) refuse(fmt::format("has no number \"{}\"", name));
    return value.get<double>();
  }

  std::map<std::string, double> metrics(const char* name) const {
    std::map<std::string, double> values;
    if (!has(name)) return values;
    const nlohmann::json& all = field(name);
    if (!all.is_object() || all.size() > limits::control_metrics) {
      refuse(fmt::format("has \"{}\" that are no object of at most {} numbers", name,
                         limits::control_metrics));
    }
    for (const auto& [key, value] : all.items()) {
      if (!value.is_number() || key.size() > limits::control_name_bytes) {
        refuse(fmt::format("has a metric '{:.40}' that is no number, or of a name over {} bytes",
                           printable(key, limits::control_name_bytes),
                           limits::control_name_bytes));
      }
      values[printable(key, limits::control_name_bytes)] = value.get<double>();
    }
    return values;
  }

  [[noreturn]] static void refuse(const std::string& why) {
    throw error(errc::protocol_violation, "a control message " + why);
  }

 private:
  // What is no JSON need not be UTF-8 either.
  static std::string ascii(std::string_view text) {
    std::string shown(text.substr(0, 80));
    for (char& letter : shown) {
      if ((static_cast<unsigned char>(letter) & 0x80) != 0) letter = '?';
    }
    return shown;
  }

  bool has(const char* name) const {
    const auto found = json_.find(name);
    return found != json_.end() && !found->is_null();
  }

  const nlohmann::json& field(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) refuse(fmt::format("has no \"{}\"", name));
    return *found;
  }

  nlohmann::json json_;
};

inline std::string control_quoted(std::string_view text, std::size_t most) {
  return nlohmann::json(printable(text, most))
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}
inline std::string control_quoted(std::string_view text) {
  return control_quoted(text, limits::control_text_bytes);
}
inline std::string control_name(std::string_view text) {
  return control_quoted(text, limits::control_name_bytes);
}

inline double in_seconds(duration span) { return std::chrono::duration<double>(span).count(); }

/// The same within what is allowed: a time that is over already is as short as can be said.
inline double bounded_seconds(duration span) {
  constexpr double least = 0.001;
  return std::clamp(in_seconds(span), least, most_control_seconds);
}

/// Writes a message as JSON.
struct control_writer {
  std::string operator()(const control_messages::hello& said) const {
    return fmt::format(
        R"({{"kind": "hello", "version": {}, "local_rank": {}, "checkpoints": {}}})", said.version,
        said.local_rank, said.checkpoints);
  }
  std::string operator()(const control_messages::heartbeat& said) const {
    return fmt::format(R"({{"kind": "heartbeat"{}}})", timeout(said.timeout));
  }
  std::string operator()(const control_messages::enter& said) const {
    return fmt::format(R"({{"kind": "enter", "section": {}{}}})", control_name(said.section),
                       timeout(said.timeout));
  }
  std::string operator()(const control_messages::leave& said) const {
    return fmt::format(R"({{"kind": "leave", "section": {}}})", control_name(said.section));
  }
  std::string operator()(const control_messages::expires& said) const {
    return fmt::format(R"({{"kind": "expires", "timer": {}, "after": {}}})",
                       control_name(said.timer), bounded_seconds(said.after));
  }
  std::string operator()(const control_messages::release& said) const {
    return fmt::format(R"({{"kind": "release", "timer": {}}})", control_name(said.timer));
  }
  std::string operator()(const control_messages::progress& said) const {
    std::string metrics;
    for (const auto& [name, value] : said.metrics) {
      if (!std::isfinite(value)) continue;  // JSON has no way to say it
      metrics += fmt::format("{}{}: {}", metrics.empty() ? "" : ", ",
                             control_name(name), value);
    }
    return fmt::format(
        R"({{"kind": "progress", "step": {}, "total": {}, "text": {}, "metrics": {{{}}}}})",
        said.step, said.total, control_quoted(said.text), metrics);
  }
  std::string operator()(const control_messages::saved& said) const {
    return fmt::format(R"({{"kind": "saved", "id": {}}})", said.id);
  }
  std::string operator()(const control_messages::not_saved& said) const {
    return fmt::format(R"({{"kind": "not_saved", "id": {}, "reason": {}}})", said.id,
                       control_quoted(said.reason));
  }
  std::string operator()(const control_messages::no_restart& said) const {
    return fmt::format(R"({{"kind": "no_restart", "reason": {}}})", control_quoted(said.reason));
  }
  std::string operator()(const control_messages::bad_node& said) const {
    return fmt::format(R"({{"kind": "bad_node", "reason": {}}})", control_quoted(said.reason));
  }
  std::string operator()(const control_messages::bye&) const { return R"({"kind": "bye"})"; }

  std::string operator()(const control_messages::welcome& said) const {
    return fmt::format(R"({{"kind": "welcome", "version": {}}})", said.version);
  }
  std::string operator()(const control_messages::refused& said) const {
    return fmt::format(R"({{"kind": "refused", "reason": {}}})", control_quoted(said.reason));
  }
  std::string operator()(const control_messages::checkpoint& said) const {
    return fmt::format(R"({{"kind": "checkpoint", "id": {}, "within": {}}})", said.id,
                       bounded_seconds(said.within));
  }
  std::string operator()(const control_messages::pause&) const { return R"({"kind": "pause"})"; }
  std::string operator()(const control_messages::resume&) const { return R"({"kind": "resume"})"; }
  std::string operator()(const control_messages::stop& said) const {
    const double grace = in_seconds(said.grace);
    if (grace <= 0 || grace > most_control_seconds) return R"({"kind": "stop"})";
    return fmt::format(R"({{"kind": "stop", "grace": {}}})", grace);
  }

 private:
  static std::string timeout(const std::optional<duration>& span) {
    return span ? fmt::format(R"(, "timeout": {})", bounded_seconds(*span)) : std::string();
  }
};

inline constexpr std::int64_t most_control_number = std::numeric_limits<std::int64_t>::max();

inline control_messages::hello read_control_hello(const control_fields& fields) {
  control_messages::hello said;
  said.version = static_cast<int>(fields.number("version", 1, 1'000'000));
  said.local_rank =
      static_cast<int>(fields.number("local_rank", 0, limits::local_world_size - 1));
  said.checkpoints = fields.flag_or("checkpoints", false);
  return said;
}

inline control_messages::progress read_progress(const control_fields& fields) {
  control_messages::progress said;
  said.step = fields.number("step", 0, most_control_number);
  said.total = fields.number_or("total", 0, most_control_number);
  said.text = fields.text_or_empty("text");
  said.metrics = fields.metrics("metrics");
  return said;
}

}  // namespace detail

/// The message as a line, its end included; at most `limits::control_line_bytes`. Texts and names
/// are cut where they are too long; metrics that make the line too long are left out.
inline std::string to_line(const worker_message& said) {
  std::string line = std::visit(detail::control_writer(), said) + '\n';
  const auto* progress = std::get_if<control_messages::progress>(&said);
  if (progress == nullptr || (line.size() <= limits::control_line_bytes &&
                              progress->metrics.size() <= limits::control_metrics)) {
    return line;
  }
  control_messages::progress shorter = *progress;
  shorter.metrics.clear();
  return detail::control_writer()(shorter) + '\n';
}
inline std::string to_line(const agent_message& said) {
  return std::visit(detail::control_writer(), said) + '\n';
}

/// Reads what a worker says: a line without its end.
/// Errors: `errc::protocol_violation`, naming what is wrong and what is allowed.
inline worker_message parse_worker_message(std::string_view line) {
  namespace messages = control_messages;
  const detail::control_fields fields(line);
  const std::string kind = fields.kind();
  if (kind == "heartbeat") return messages::heartbeat{fields.seconds_or_none("timeout")};
  if (kind == "progress") return detail::read_progress(fields);
  if (kind == "enter") {
    return messages::enter{fields.name("section"), fields.seconds_or_none("timeout")};
  }
  if (kind == "leave") return messages::leave{fields.name("section")};
  if (kind == "expires") return messages::expires{fields.name("timer"), fields.seconds("after")};
  if (kind == "release") return messages::release{fields.name("timer")};
  if (kind == "saved") return messages::saved{fields.number("id", 0, detail::most_control_number)};
  if (kind == "not_saved") {
    return messages::not_saved{fields.number("id", 0, detail::most_control_number),
                               fields.text_or_empty("reason")};
  }
  if (kind == "no_restart") return messages::no_restart{fields.text_or_empty("reason")};
  if (kind == "bad_node") return messages::bad_node{fields.text_or_empty("reason")};
  if (kind == "hello") return detail::read_control_hello(fields);
  if (kind == "bye") return messages::bye{};
  detail::control_fields::refuse(fmt::format("is of an unknown kind: '{}'", kind));
}

/// Reads what the agent says; nothing where the kind is not known: later agents may say more.
/// Errors: `errc::protocol_violation`, naming what is wrong.
inline std::optional<agent_message> parse_agent_message(std::string_view line) {
  namespace messages = control_messages;
  const detail::control_fields fields(line);
  const std::string kind = fields.kind();
  if (kind == "welcome") {
    return messages::welcome{static_cast<int>(fields.number("version", 1, 1'000'000))};
  }
  if (kind == "refused") return messages::refused{fields.text_or_empty("reason")};
  if (kind == "checkpoint") {
    return messages::checkpoint{fields.number("id", 0, detail::most_control_number),
                                fields.seconds("within")};
  }
  if (kind == "pause") return messages::pause{};
  if (kind == "resume") return messages::resume{};
  if (kind == "stop") {
    messages::stop said;
    said.grace = fields.seconds_or_none("grace").value_or(duration::zero());
    return said;
  }
  return std::nullopt;
}

}  // namespace elastic

// ---- elastic/health/line_intake.hpp ----

namespace elastic {

/// Makes lines of bytes that come in pieces; never holds more than `limits::control_line_bytes` of
/// an unfinished one.
class line_intake {
 public:
  /// What comes next; valid until the next call of any member.
  struct item {
    /// A line without its end; empty where it was `too_long`.
    std::string_view line;
    bool too_long = false;
  };

  void append(std::string_view bytes) {
    held_.erase(0, taken_);
    taken_ = 0;
    held_.append(bytes);
  }

  /// The next line; none where it is not whole yet. One that is too long is told of once, and what
  /// follows of it is passed over.
  std::optional<item> next() {
    for (;;) {
      const std::string_view rest = std::string_view(held_).substr(taken_);
      const std::size_t end = rest.find('\n');
      if (end == rest.npos) {
        if (rest.size() < limits::control_line_bytes) return std::nullopt;
        taken_ = held_.size();
        if (skipping_) return std::nullopt;
        skipping_ = true;
        return item{{}, true};
      }
      taken_ += end + 1;
      const bool rest_of_long = skipping_;
      skipping_ = false;
      if (rest_of_long) continue;
      if (end >= limits::control_line_bytes) return item{{}, true};
      return item{rest.substr(0, end), false};
    }
  }

  std::size_t held() const { return held_.size() - taken_; }

 private:
  std::string held_;
  std::size_t taken_ = 0;
  bool skipping_ = false;
};

}  // namespace elastic

// ---- elastic/health/rate_gate.hpp ----

namespace elastic {

/// Counts what happens within a second.
class rate_gate {
 public:
  explicit rate_gate(int most) : most_(most) {}

  /// Result: when to go on, where this was one too many.
  std::optional<time_point> count(time_point now, int how_many = 1) {
    if (now - since_ >= std::chrono::seconds(1)) {
      since_ = now;
      count_ = 0;
    }
    count_ += how_many;
    if (count_ <= most_) return std::nullopt;
    return since_ + std::chrono::seconds(1);
  }

 private:
  int most_;
  int count_ = 0;
  time_point since_{};
};

}  // namespace elastic

// ---- elastic/health/timer_request.hpp ----

// Includes the whole of nlohmann/json.

namespace elastic {

/// A line that PyTorch's FileTimerClient writes to the file of TORCHELASTIC_TIMER_FILE.
///
/// Source: torch.distributed.elastic.timer.file_based_local_timer, FileTimerRequest.
struct timer_request {
  pid_t pid = 0;
  std::string scope;
  /// The time of day at which it expires; none: the timer is taken back.
  std::optional<wall_time> expiry;
  /// What the process is to be sent then; 0 or less: nothing.
  int signal = 0;
};

/// Reads a line without its end.
/// Errors: `errc::protocol_violation`, naming what is wrong.
inline timer_request parse_timer_request(std::string_view line) {
  const detail::control_fields fields(line);
  timer_request asked;
  asked.pid = static_cast<pid_t>(fields.number("pid", 1, std::numeric_limits<pid_t>::max()));
  asked.scope = fields.text("scope_id", limits::control_text_bytes);
  asked.signal = static_cast<int>(fields.number("signal", -64, 64));
  const double seconds = fields.real("expiration_time");
  if (seconds < 0) return asked;
  constexpr double last = 1e10;  // in the year 2286
  if (!(seconds <= last)) {
    detail::control_fields::refuse(
        fmt::format("has \"expiration_time\" after {} seconds since 1970", last));
  }
  asked.expiry = wall_time(
      std::chrono::ceil<wall_time::duration>(std::chrono::duration<double>(seconds)));
  return asked;
}

}  // namespace elastic

// ---- elastic/health/worker_channels.hpp ----

#include <array>
#include <list>

namespace elastic {

/// What workers say that is not for `worker_channels` itself. Each may be empty, must not throw,
/// and is called on the strand.
struct channel_events {
  /// A worker is hung; it is told of once, and is for the callee to end.
  std::function<void(int local_rank, const liveness_verdict&)> hung{};
  std::function<void(int local_rank, const control_messages::progress&)> progress{};
  std::function<void(int local_rank, const std::string& reason)> no_restart{};
  std::function<void(int local_rank, const std::string& reason)> bad_node{};
  /// Which worker a process is, or descends from: for PyTorch's timers, which name pids.
  std::function<std::optional<int>(pid_t)> owner_of{};
};

struct worker_channels_options {
  liveness_settings liveness{};
  /// Whether timers of PyTorch's FileTimerClient are served, too, and at which path; empty: one in
  /// the temporary folder.
  bool timer_file = false;
  std::string timer_path{};
  /// Null: `system_time`.
  std::shared_ptr<time_source> time{};
  logger log{};
  channel_events events{};
};

/// What came of asking workers for a checkpoint.
struct checkpoint_outcome {
  /// How many were asked (those that said they want to be), and how many have saved it.
  int asked = 0;
  int saved = 0;
  /// Why others have not: "local rank 1 did not answer within 2 s".
  std::vector<std::string> problems;
};

/// The agent's side of the control channel: a Unix socket at which the workers of this node say
/// how they are and are told what to do, and the watch over who is hung.
///
/// The socket has an abstract name, which leaves no file; who is not of this process's user (or
/// root) is not let in. Whatever a worker writes, it can neither block nor end the agent, nor make
/// it keep more than one line of it: what is not of the protocol ends the connection, with a line
/// in the log; who does not read what it is sent is disconnected; who writes much is read slowly.
///
/// Nothing here wakes up by itself but for the next time-out that is due.
/// Thread-safety: one strand at a time, the one it was given.
class worker_channels {
 public:
  worker_channels(asio::any_io_executor strand, worker_channels_options options)
      : strand_(std::move(strand)),
        options_(std::move(options)),
        learned_(std::make_shared<learned_timeouts>(options_.liveness)) {
    if (!options_.time) options_.time = std::make_shared<system_time>();
  }
  worker_channels(const worker_channels&) = delete;
  worker_channels& operator=(const worker_channels&) = delete;
  ~worker_channels() { abandon(); }

  /// Opens the channel of one attempt of so many workers, under a new name. What cannot be opened
  /// is said in the log, and there is none then. The one before must be closed.
  void open(int workers) {
    abandon();
    state_ = std::make_shared<state>(strand_, options_, learned_, workers);
    state_->listen();
    state_->open_timer_file();
  }

  /// What workers are to have in their environment; an empty value: the variable is to be removed.
  std::vector<std::pair<std::string, std::string>> environment() const {
    std::vector<std::pair<std::string, std::string>> variables;
    variables.emplace_back("ELASTIC_CONTROL", state_ ? state_->address : std::string());
    if (state_ && !state_->timer_path.empty()) {
      variables.emplace_back("TORCHELASTIC_TIMER_FILE", state_->timer_path);
    }
    return variables;
  }

  /// That worker runs, and is watched from now on.
  void started(int local_rank) {
    if (state_) state_->started(local_rank);
  }

  /// It has ended; nothing is expected of it any more.
  void ended(int local_rank) {
    if (state_) state_->ended(local_rank);
  }

  /// Whether somebody has a connection.
  bool has_connections() const { return state_ && !state_->connections.empty(); }

  /// Tells every connected worker to pause, or to go on. No heartbeat is due meanwhile.
  void pause() {
    if (state_) state_->pause();
  }
  void resume() {
    if (state_) state_->resume();
  }

  /// Tells every connected worker that it is being stopped.
  void announce_stop(duration grace) {
    if (state_) state_->send_all(agent_message(control_messages::stop{grace}));
  }

  /// Asks the workers for a checkpoint, and waits until each has answered or ended, at most
  /// `within`.
  ///
  /// Cancellation: all types; throws `operation_aborted`. Workers may save it all the same.
  task<checkpoint_outcome> checkpoint(duration within) { return ask_checkpoint(state_, within); }

  /// Closes every connection and waits until nothing of the channel runs any more. May be called
  /// again, and where nothing was opened.
  ///
  /// Cancellation: all types; the channel is closed, but may take a moment more.
  task<void> close() { return close_all(state_); }

 private:
  using socket = asio::local::stream_protocol::socket;

  struct connection {
    explicit connection(socket accepted) : peer(std::move(accepted)) {}
    socket peer;
    std::optional<int> worker;
    bool checkpoints = false;
    bool is_closed = false;
    /// The worker has closed its end.
    bool has_ended = false;
    line_intake lines;
  };
  using connection_pointer = std::shared_ptr<connection>;

  struct place {
    place(const liveness_settings& settings, learned_timeouts& learned)
        : liveness(settings, learned) {}
    worker_liveness liveness;
    bool running = false;
    bool said_bye = false;
  };

  // A checkpoint that was asked for.
  struct question {
    explicit question(asio::any_io_executor strand) : answered(std::move(strand)) {}
    std::int64_t id = 0;
    std::set<int> waiting;
    checkpoint_outcome outcome;
    event_flag answered;

    void settle(int local_rank, const std::string& problem) {
      if (waiting.erase(local_rank) == 0) return;
      if (problem.empty()) {
        ++outcome.saved;
      } else {
        outcome.problems.push_back(fmt::format("local rank {} {}", local_rank, problem));
      }
      if (waiting.empty()) answered.set();
    }
  };

  // One attempt. Shared with its coroutines, which may outlive it by a moment.
  struct state : std::enable_shared_from_this<state> {
    state(asio::any_io_executor executor, const worker_channels_options& chosen,
          std::shared_ptr<learned_timeouts> shared, int workers)
        : strand(std::move(executor)),
          options(chosen),
          learned(std::move(shared)),
          acceptor(strand),
          timer_file(strand),
          closing(strand),
          all_ended(strand),
          changed(strand) {
      for (int rank = 0; rank < workers; ++rank) places.emplace_back(options.liveness, *learned);
      all_ended.set();
    }

    asio::any_io_executor strand;
    worker_channels_options options;
    std::shared_ptr<learned_timeouts> learned;
    std::vector<place> places;
    asio::local::stream_protocol::acceptor acceptor;
    std::string address;
    asio::posix::stream_descriptor timer_file;
    std::string timer_path;
    bool made_timer_file = false;
    std::list<connection_pointer> connections;
    std::list<std::shared_ptr<question>> questions;
    std::int64_t last_question = 0;
    int complaints = 0;
    event_flag closing;
    // How many coroutines run.
    int running = 0;
    event_flag all_ended;
    // The watch is to look again; it runs only while something is due.
    event_flag changed;
    bool is_watching = false;
    time_point watched_until = time_point::max();

    time_source& time() const { return *options.time; }
    bool is_closing() const { return closing.is_set(); }

    // ---- opening and closing --------------------------------------------------------------------

    void listen() {
      random_source random;
      const std::string name = fmt::format("elastic-{}", random_uuid(random));
      const asio::local::stream_protocol::endpoint at(std::string(1, '\0') + name);
      asio::error_code failure;
      acceptor.open(at.protocol(), failure);
      if (!failure) acceptor.bind(at, failure);
      // What waits there is also taken without waiting for it.
      if (!failure) acceptor.non_blocking(true, failure);
      if (!failure) acceptor.listen(asio::socket_base::max_listen_connections, failure);
      if (failure) {
        options.log.warning("there is no control channel for the workers: {}", failure.message());
        acceptor.close(failure);
        return;
      }
      address = "@" + name;
      run(accept_all(shared_from_this()));
    }

    void open_timer_file() {
      if (!options.timer_file) return;
      timer_path = options.timer_path;
      try {
        if (timer_path.empty()) {
          random_source random;
          timer_path = (std::filesystem::temp_directory_path() /
                        fmt::format("watchdog_timer_{}", random_uuid(random)))
                           .string();
        }
        timer_file.assign(open_fifo(timer_path));
        made_timer_file = true;
        run(read_timers(shared_from_this()));
      } catch (const std::exception& failure) {
        options.log.error("{}", failure.what());
      }
    }

    // What lies there from an agent before is replaced, as PyTorch's agent does, but never what is
    // something else.
    static int open_fifo(const std::string& path) {
      struct stat found {};
      if (::lstat(path.c_str(), &found) == 0) {
        if (!S_ISFIFO(found.st_mode)) {
          throw error(errc::file_access,
                      fmt::format("timer file '{}' (TORCHELASTIC_TIMER_FILE) is not a FIFO: "
                                  "timers are not watched; name a path where nothing is",
                                  path));
        }
        ::unlink(path.c_str());
      }
      int fd = -1;
      if (::mkfifo(path.c_str(), 0600) == 0) {
        // For reading and writing: it never ends, and clients always find a reader.
        fd = ::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
      }
      if (fd >= 0) return fd;
      throw error(errc::file_access,
                  fmt::format("timer file '{}' (TORCHELASTIC_TIMER_FILE) cannot be made: {}; "
                              "timers are not watched",
                              path, errno_text(errno)));
    }

    void shut() {
      if (is_closing()) return;
      closing.set();
      changed.set();
      asio::error_code ignored;
      acceptor.close(ignored);
      timer_file.close(ignored);
      if (made_timer_file) ::unlink(timer_path.c_str());
      for (const connection_pointer& one : connections) disconnect(*one);
      for (const auto& one : questions) one->answered.set();
    }

    void run(task<void> work) {
      ++running;
      all_ended.reset();
      asio::co_spawn(strand, std::move(work), [self = shared_from_this()](std::exception_ptr) {
        if (--self->running == 0) self->all_ended.set();
      });
    }

    task<void> rest_until(time_point when) {
      co_await with_deadline(time(), when, closing.wait());
    }

    // ---- connections ----------------------------------------------------------------------------

    template <class... Args>
    void complain(fmt::format_string<Args...> text, Args&&... args) {
      if (complaints >= limits::control_complaints) return;
      ++complaints;
      options.log.warning("{}{}", fmt::format(text, std::forward<Args>(args)...),
                          complaints == limits::control_complaints
                              ? "; more of this is not logged in this attempt"
                              : "");
    }

    void admit(socket accepted) {
      ucred peer{};
      socklen_t size = sizeof peer;
      if (::getsockopt(accepted.native_handle(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0 ||
          (peer.uid != ::geteuid() && peer.uid != 0)) {
        return complain("a process of another user ({}) is not let into the control channel",
                        peer.uid);
      }
      if (connections.size() >= places.size() * limits::control_connections) {
        return complain("there are more than {} connections to the control channel; pid {} is not "
                        "let in",
                        connections.size(), peer.pid);
      }
      auto one = std::make_shared<connection>(std::move(accepted));
      connections.push_back(one);
      run(serve(shared_from_this(), one));
    }

    static void disconnect(connection& one) {
      one.is_closed = true;
      asio::error_code ignored;
      one.peer.close(ignored);
    }

    void forget(const connection_pointer& one) {
      disconnect(*one);
      connections.remove(one);
      if (is_closing()) return;
      if (!one->worker || !one->checkpoints || can_save(*one->worker)) return;
      for (const auto& asked : questions) {
        asked->settle(*one->worker, "closed its channel before it answered");
      }
    }

    bool can_save(int local_rank) const {
      return std::any_of(connections.begin(), connections.end(), [&](const auto& one) {
        return !one->is_closed && one->checkpoints && one->worker == local_rank;
      });
    }

    static std::string name_of(const connection& one) {
      return one.worker ? fmt::format("local rank {}", *one.worker) : "a worker without a name";
    }

    // Result: whether it was taken; who does not read is disconnected.
    bool send(connection& one, const std::string& line) {
      if (one.is_closed) return false;
      const ssize_t sent = ::send(one.peer.native_handle(), line.data(), line.size(),
                                  MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent == static_cast<ssize_t>(line.size())) return true;
      // One that is gone is found where its last words have been read.
      if (sent < 0 && errno != EAGAIN) return false;
      complain("the control channel of {} is closed: it does not read what it is sent",
               name_of(one));
      disconnect(one);
      return false;
    }

    void send_all(const agent_message& said) {
      const std::string line = to_line(said);
      const std::vector<connection_pointer> all(connections.begin(), connections.end());
      for (const auto& one : all) {
        if (one->worker) send(*one, line);
      }
    }

    void refuse(connection& one, const std::string& why) {
      complain("the control channel of {} is closed: {}", name_of(one), why);
      send(one, to_line(agent_message(control_messages::refused{why})));
      disconnect(one);
    }

    // Result: how many lines there were.
    int take(connection& one, std::string_view bytes) {
      one.lines.append(bytes);
      int count = 0;
      while (!one.is_closed) {
        const auto next = one.lines.next();
        if (!next) break;
        ++count;
        if (next->too_long) {
          refuse(one, fmt::format("a control message is longer than {} bytes, the line end "
                                  "included",
                                  limits::control_line_bytes));
        } else {
          take_line(one, next->line);
        }
      }
      return count;
    }

    void take_line(connection& one, std::string_view line) {
      try {
        const worker_message said = parse_worker_message(line);
        if (!one.worker && !std::holds_alternative<control_messages::hello>(said)) {
          throw error(errc::protocol_violation, "a control message comes before hello");
        }
        std::visit([&](const auto& message) { handle(one, message); }, said);
      } catch (const std::exception& failure) {
        return refuse(one, failure.what());
      }
      if (one.worker) look_again(*one.worker);
    }

    // ---- what workers say -----------------------------------------------------------------------

    worker_liveness& liveness_of(const connection& one) {
      return places[static_cast<std::size_t>(*one.worker)].liveness;
    }

    void handle(connection& one, const control_messages::hello& said) {
      if (one.worker) throw error(errc::protocol_violation, "a control message is a second hello");
      if (said.version != control_messages::hello::current_version) {
        throw error(errc::protocol_violation,
                    fmt::format("a control message is of version {}; {} is spoken here",
                                said.version, control_messages::hello::current_version));
      }
      if (static_cast<std::size_t>(said.local_rank) >= places.size()) {
        throw error(errc::protocol_violation,
                    fmt::format("a control message is of local rank {}; there are {} workers",
                                said.local_rank, places.size()));
      }
      one.worker = said.local_rank;
      one.checkpoints = said.checkpoints;
      place& at = places[static_cast<std::size_t>(said.local_rank)];
      if (std::exchange(at.said_bye, false) && at.running) at.liveness.start(time().now());
      send(one, to_line(agent_message(control_messages::welcome())));
    }

    void handle(connection& one, const control_messages::heartbeat& said) {
      liveness_of(one).beat(time().now(), said.timeout);
    }

    void handle(connection& one, const control_messages::enter& said) {
      if (liveness_of(one).enter(time().now(), said.section, said.timeout)) return;
      throw error(errc::protocol_violation,
                  fmt::format("a control message opens more than {} sections",
                              limits::worker_sections));
    }

    void handle(connection& one, const control_messages::leave& said) {
      liveness_of(one).leave(time().now(), said.section);
    }

    void handle(connection& one, const control_messages::expires& said) {
      if (liveness_of(one).arm(time().now(), said.timer, said.after)) return;
      throw error(errc::protocol_violation,
                  fmt::format("a control message arms more than {} timers",
                              limits::worker_timers));
    }

    void handle(connection& one, const control_messages::release& said) {
      liveness_of(one).release(said.timer);
    }

    void handle(connection& one, const control_messages::progress& said) {
      liveness_of(one).beat(time().now());
      if (options.events.progress) options.events.progress(*one.worker, said);
    }

    void handle(connection& one, const control_messages::saved& said) {
      answer(said.id, *one.worker, "");
    }

    void handle(connection& one, const control_messages::not_saved& said) {
      answer(said.id, *one.worker,
             said.reason.empty() ? "has not saved it" : "has not saved it: " + said.reason);
    }

    void handle(connection& one, const control_messages::no_restart& said) {
      if (options.events.no_restart) options.events.no_restart(*one.worker, said.reason);
    }

    void handle(connection& one, const control_messages::bad_node& said) {
      if (options.events.bad_node) options.events.bad_node(*one.worker, said.reason);
    }

    void handle(connection& one, const control_messages::bye&) {
      liveness_of(one).end();
      places[static_cast<std::size_t>(*one.worker)].said_bye = true;
    }

    void answer(std::int64_t id, int local_rank, const std::string& problem) {
      for (const auto& one : questions) {
        if (one->id == id) one->settle(local_rank, problem);
      }
    }

    // ---- PyTorch's timers -----------------------------------------------------------------------

    void take_timer(std::string_view line) {
      try {
        const timer_request asked = parse_timer_request(line);
        const auto owner = options.events.owner_of ? options.events.owner_of(asked.pid)
                                                   : std::nullopt;
        if (!owner) {
          return complain("timer file '{}': pid {} is of no worker of this node; its timer is not "
                          "watched",
                          timer_path, asked.pid);
        }
        worker_liveness& liveness = places.at(static_cast<std::size_t>(*owner)).liveness;
        const std::string name = fmt::format("{} (pid {})", asked.scope, asked.pid);
        if (!asked.expiry || asked.signal <= 0) {
          liveness.release(name);
        } else {
          const auto left = std::chrono::duration_cast<duration>(*asked.expiry - time().wall_now());
          const bool armed = liveness.arm(time().now(), name, std::max(left, duration::zero()),
                                          asked.signal);
          if (!armed) {
            complain("timer file '{}': pid {} has more than {} timers; one is not watched",
                     timer_path, asked.pid, limits::worker_timers);
          }
        }
        look_again(*owner);
      } catch (const std::exception& failure) {
        complain("timer file '{}': {}", timer_path, failure.what());
      }
    }

    // ---- the watch ------------------------------------------------------------------------------

    void started(int local_rank) {
      place& one = places.at(static_cast<std::size_t>(local_rank));
      one.running = true;
      one.liveness.start(time().now());
      look_again(local_rank);
    }

    void ended(int local_rank) {
      hear_out(local_rank);
      place& one = places.at(static_cast<std::size_t>(local_rank));
      one.running = false;
      one.liveness.end();
      for (const auto& asked : questions) asked->settle(local_rank, "ended before it answered");
    }

    void pause() {
      for (place& one : places) one.liveness.pause(time().now());
      send_all(agent_message(control_messages::pause()));
    }

    void resume() {
      for (place& one : places) one.liveness.resume(time().now());
      send_all(agent_message(control_messages::resume()));
      for (std::size_t rank = 0; rank < places.size(); ++rank) look_again(static_cast<int>(rank));
    }

    // Something of that worker may be due earlier than was known. What is due later is found when
    // the watch wakes: a heartbeat costs no timer.
    void look_again(int local_rank) {
      if (is_closing()) return;
      const time_point due = places[static_cast<std::size_t>(local_rank)].liveness.next_expiry();
      if (due == time_point::max()) return;
      if (!is_watching) {
        is_watching = true;
        run(watch(shared_from_this()));
      } else if (due < watched_until) {
        changed.set();
      }
    }

    time_point next_expiry() const {
      time_point first = time_point::max();
      for (const place& one : places) first = std::min(first, one.liveness.next_expiry());
      return first;
    }

    // Reads what a worker has said already, before something is concluded from its silence or its
    // end: a death is often seen before the last words.
    void hear_out(int local_rank) {
      for (std::size_t most = limits::control_connections; most > 0 && !is_closing(); --most) {
        if (accept_one()) break;
      }
      const std::vector<connection_pointer> all(connections.begin(), connections.end());
      for (const auto& one : all) {
        constexpr int most_pieces = 16;
        if (!one->worker || *one->worker == local_rank) read_now(*one, most_pieces);
      }
    }

    // Takes a connection, if one waits. Result: why none was taken.
    asio::error_code accept_one() {
      socket peer(strand);
      asio::error_code failure;
      acceptor.accept(peer, failure);
      if (!failure) admit(std::move(peer));
      return failure;
    }

    // Reads what is there, as much at most. Nothing else reads from a connection, so that no byte
    // is under way in an operation of Asio's while this looks. Result: how many lines there were.
    int read_now(connection& one, int most_pieces) {
      std::array<char, limits::control_line_bytes> piece;
      int lines = 0;
      for (int count = 0; count < most_pieces && !one.is_closed; ++count) {
        const ssize_t size =
            ::recv(one.peer.native_handle(), piece.data(), piece.size(), MSG_DONTWAIT);
        if (size > 0) {
          lines += take(one, std::string_view(piece.data(), static_cast<std::size_t>(size)));
        } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
          one.has_ended = true;
          break;
        } else if (errno == EAGAIN) {
          break;
        }
      }
      return lines;
    }

    void judge(time_point now) {
      for (std::size_t rank = 0; rank < places.size() && !is_closing(); ++rank) {
        place& one = places[rank];
        if (one.liveness.next_expiry() > now) continue;
        hear_out(static_cast<int>(rank));
        const auto verdict = one.liveness.judge(now);
        if (!verdict) continue;
        one.liveness.end();
        if (options.events.hung) options.events.hung(static_cast<int>(rank), *verdict);
      }
    }
  };
  using state_pointer = std::shared_ptr<state>;

  static task<void> accept_all(state_pointer all) {
    constexpr int most_accepts = 1000;
    rate_gate gate(most_accepts);
    while (!all->is_closing()) {
      auto [ended] = co_await all->acceptor.async_wait(socket::wait_read, detail::as_result);
      if (all->is_closing() || ended) co_return;
      const time_point now = all->time().now();
      std::optional<time_point> rest = gate.count(now);
      const asio::error_code failure = all->accept_one();
      if (failure && failure != asio::error::would_block) {
        all->complain("no connection can be taken at the control channel: {}", failure.message());
        rest = now + std::chrono::seconds(1);
      }
      if (rest) co_await all->rest_until(*rest);
    }
  }

  static task<void> serve(state_pointer all, connection_pointer one) {
    rate_gate gate(limits::control_lines_per_second);
    while (!one->is_closed && !one->has_ended) {
      auto [failure] = co_await one->peer.async_wait(socket::wait_read, detail::as_result);
      if (failure || one->is_closed) break;
      const int lines = all->read_now(*one, 1);
      const auto rest = gate.count(all->time().now(), lines);
      if (rest) co_await all->rest_until(*rest);
    }
    all->forget(one);
  }

  static task<void> read_timers(state_pointer all) {
    std::array<char, limits::control_line_bytes> piece;
    rate_gate gate(limits::control_lines_per_second);
    line_intake lines;
    while (!all->is_closing()) {
      auto [failure, size] =
          co_await all->timer_file.async_read_some(asio::buffer(piece), detail::as_result);
      if (all->is_closing()) co_return;
      if (failure) {
        all->options.log.error("timer file '{}' cannot be read any more: {}", all->timer_path,
                               failure.message());
        co_return;
      }
      lines.append(std::string_view(piece.data(), size));
      int count = 0;
      for (auto next = lines.next(); next; next = lines.next()) {
        ++count;
        if (next->too_long) {
          all->complain("timer file '{}': a line is longer than {} bytes", all->timer_path,
                        limits::control_line_bytes);
        } else {
          all->take_timer(next->line);
        }
      }
      const auto rest = gate.count(all->time().now(), count);
      if (rest) co_await all->rest_until(*rest);
    }
  }

  static task<void> watch(state_pointer all) {
    while (!all->is_closing()) {
      const time_point until = all->next_expiry();
      all->watched_until = until;
      if (until == time_point::max()) break;
      all->changed.reset();
      co_await with_deadline(all->time(), until, all->changed.wait());
      if (all->is_closing()) break;
      const time_point woken = all->time().now();
      if (woken < until) continue;
      if (woken - until > limits::watch_lateness) {
        all->options.log.warning("this process stood still for {}: the clocks of its workers start "
                                 "anew",
                                 worker_liveness::text_of(woken - until));
        for (place& one : all->places) one.liveness.renew(woken);
        continue;
      }
      all->judge(woken);
    }
    all->is_watching = false;
  }

  static task<checkpoint_outcome> ask_checkpoint(state_pointer all, duration within) {
    if (!all || all->is_closing()) co_return checkpoint_outcome();
    const auto asked = std::make_shared<question>(all->strand);
    asked->id = ++all->last_question;
    control_messages::checkpoint wanted;
    wanted.id = asked->id;
    wanted.within = within;
    const std::string line = to_line(agent_message(wanted));
    const std::vector<connection_pointer> connected(all->connections.begin(),
                                                    all->connections.end());
    for (const auto& one : connected) {
      const bool wants = one->worker && one->checkpoints &&
                         all->places[static_cast<std::size_t>(*one->worker)].running;
      if (wants && all->send(*one, line)) asked->waiting.insert(*one->worker);
    }
    asked->outcome.asked = static_cast<int>(asked->waiting.size());
    if (asked->waiting.empty()) co_return asked->outcome;
    all->questions.push_back(asked);
    const struct forget_question {
      state_pointer all;
      std::shared_ptr<question> asked;
      ~forget_question() { all->questions.remove(asked); }
    } forgetting{all, asked};
    time_source& time = all->time();
    within = std::min<duration>(within, std::chrono::hours(24 * 365));
    co_await with_deadline(time, time.now() + within, asked->answered.wait());
    const std::set<int> silent = asked->waiting;
    const std::string problem =
        all->is_closing()
            ? "was stopped before it answered"
            : fmt::format("did not answer within {}", worker_liveness::text_of(within));
    for (const int rank : silent) asked->settle(rank, problem);
    co_return asked->outcome;
  }

  static task<void> close_all(state_pointer all) {
    if (!all) co_return;
    all->shut();
    co_await all->all_ended.wait();
  }

  void abandon() {
    if (state_) state_->shut();
  }

  asio::any_io_executor strand_;
  worker_channels_options options_;
  std::shared_ptr<learned_timeouts> learned_;
  state_pointer state_;
};

}  // namespace elastic

// ---- elastic/process/core_file.hpp ----

#include <glob.h>

#include <ctime>
#include <fstream>

namespace elastic {

namespace detail {

/// A core_pattern for glob(3): what is known of the process stands there, and what is not, "*".
inline std::string core_glob(std::string_view pattern, pid_t pid, bool uses_pid) {
  std::string result;
  bool has_pid = false;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char letter = pattern[at];
    if (letter != '%') {
      if (letter == '*' || letter == '?' || letter == '[' || letter == '\\') result += '\\';
      result += letter;
      continue;
    }
    if (++at == pattern.size()) break;
    switch (pattern[at]) {
      case '%': result += '%'; break;
      case 'p':
        result += std::to_string(pid);
        has_pid = true;
        break;
      default: result += '*';
    }
  }
  if (uses_pid && !has_pid) result += fmt::format(".{}", pid);
  return result;
}

/// The newest file that a glob finds, if it was written at `since` or later.
inline std::string newest_file(const std::string& pattern, std::time_t since) {
  ::glob_t found{};
  std::string newest;
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      struct stat status {};
      if (::stat(found.gl_pathv[i], &status) != 0 || !S_ISREG(status.st_mode)) continue;
      if (status.st_mtime < since) continue;
      since = status.st_mtime;
      newest = found.gl_pathv[i];
    }
  }
  ::globfree(&found);
  return newest;
}

}  // namespace detail

/// Where the core of a process that dumped one is: the path of the file, or how to come by it.
/// Empty where it was not found: the process had changed its directory, or another machine has it.
///
/// @param directory  the working directory in which it was started; empty: this process's
/// @param since      when it was started, in seconds since 1970
/// @param root       what stands before /proc
/// Source: core(5).
inline std::string find_core(pid_t pid, const std::string& directory, std::time_t since,
                             const std::string& root = "") {
  std::string pattern;
  std::getline(std::ifstream(root + "/proc/sys/kernel/core_pattern"), pattern);
  if (pattern.starts_with('|')) {
    const std::string program = pattern.substr(1, pattern.find(' ') - 1);
    if (program.find("systemd-coredump") != program.npos) {
      return fmt::format("coredumpctl info {}", pid);
    }
    return fmt::format("given to {}", program);
  }
  int uses_pid = 0;
  std::ifstream(root + "/proc/sys/kernel/core_uses_pid") >> uses_pid;
  std::string path = detail::core_glob(pattern, pid, uses_pid != 0);
  if (path.empty()) return {};
  if (path[0] != '/') {
    std::error_code ignored;
    const auto here = std::filesystem::current_path(ignored);
    path = (here / directory / path).string();
  }
  return detail::newest_file(path, since);
}

}  // namespace elastic

// ---- elastic/process/oom_kills.hpp ----

namespace elastic {

namespace detail {

/// The path of this process in a hierarchy of /proc/self/cgroup, which has lines such as
/// "0::/user.slice" and "4:memory:/jobs/7"; empty where it is in none.
inline std::string cgroup_path(const std::string& file, std::string_view controller) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t names = line.find(':');
    const std::size_t path = line.find(':', names + 1);
    if (names == line.npos || path == line.npos) continue;
    if (line.substr(names + 1, path - names - 1) == controller) return line.substr(path + 1);
  }
  return {};
}

/// The number after "oom_kill " at the start of a line.
inline std::optional<std::uint64_t> oom_kills_in(const std::string& file) {
  std::ifstream words(file);
  std::string name;
  for (std::uint64_t count = 0; words >> name >> count;) {
    if (name == "oom_kill") return count;
  }
  return std::nullopt;
}

}  // namespace detail

/// How many processes the kernel has killed because memory ran out: in the memory cgroup of this
/// process and those below it, or, where that does not tell, on the machine. Empty where neither
/// tells. One small file is read.
///
/// @param root  what stands before /proc and /sys
inline std::optional<std::uint64_t> count_oom_kills(const std::string& root = "") {
  const std::string own = root + "/proc/self/cgroup";
  const std::string mounted = root + "/sys/fs/cgroup";
  if (const std::string path = detail::cgroup_path(own, ""); !path.empty()) {
    if (const auto count = detail::oom_kills_in(mounted + path + "/memory.events")) return count;
  }
  if (const std::string path = detail::cgroup_path(own, "memory"); !path.empty()) {
    for (const std::string& folder : {path, std::string()}) {
      const auto count = detail::oom_kills_in(mounted + "/memory" + folder + "/memory.oom_control");
      if (count) return count;
    }
  }
  return detail::oom_kills_in(root + "/proc/vmstat");
}

}  // namespace elastic

// ---- elastic/process/detail/lines.hpp ----

namespace elastic::detail {

/// Puts a prefix before every line of a stream that comes in pieces. Whole lines go on; an
/// unfinished one is held back until its end comes, or until it is too long to be held.
///
/// A line ends with '\n', or with '\r' where no '\n' follows: progress bars draw themselves so.
class line_prefixer {
 public:
  explicit line_prefixer(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Takes bytes from the front of `bytes` and appends what can go on to `out`; returns how many
  /// it took: all, or fewer where `out` has grown above `limits::copy_buffer_bytes`.
  std::size_t feed(std::string_view bytes, std::string& out) {
    std::size_t taken = end_is_open_ && !bytes.empty() ? close_line(bytes.front(), out) : 0;
    const bool has_returns = bytes.find('\r') != bytes.npos;
    while (taken < bytes.size() && out.size() < limits::copy_buffer_bytes) {
      const std::string_view rest = bytes.substr(taken);
      const std::size_t size = has_returns ? line_size_with_returns(rest) : line_size(rest);
      if (size == 0) {
        hold(rest, out);
        return bytes.size();
      }
      take_line(rest.substr(0, size), out);
      taken += size;
    }
    return taken;
  }

  /// The stream has ended: what was held back goes on as it is.
  void finish(std::string& out) {
    if (!held_.empty()) put_held(out);
  }

 private:
  // The size of the first line with its end; 0 where that has not come yet.
  static std::size_t line_size(std::string_view bytes) {
    const std::size_t end = bytes.find('\n');
    return end == bytes.npos ? 0 : end + 1;
  }

  static std::size_t line_size_with_returns(std::string_view bytes) {
    const std::size_t size = line_size(bytes);
    const std::string_view line = bytes.substr(0, size == 0 ? bytes.size() : size);
    const std::size_t back = line.find('\r');
    if (back == line.npos) return size;
    // At the very end, only what comes next tells what it is.
    if (back + 1 == line.size()) return 0;
    return line[back + 1] == '\n' ? back + 2 : back + 1;
  }

  void take_line(std::string_view line, std::string& out) {
    put_held(out);
    out.append(line);
    in_line_ = false;
  }

  // What is held ends with '\r', and `next` follows.
  std::size_t close_line(char next, std::string& out) {
    end_is_open_ = false;
    const std::string_view rest = next == '\n' ? "\n" : "";
    take_line(rest, out);
    return rest.size();
  }

  void hold(std::string_view rest, std::string& out) {
    held_.append(rest);
    end_is_open_ = held_.ends_with('\r');
    if (held_.size() <= limits::copy_line_bytes) return;
    put_held(out);
    in_line_ = true;
  }

  void put_held(std::string& out) {
    if (!in_line_) out.append(prefix_);
    out.append(held_);
    held_.clear();
  }

  std::string prefix_;
  std::string held_;
  // A piece of the current line has gone on already.
  bool in_line_ = false;
  // The held line ends with a '\r' that may be half of a "\r\n".
  bool end_is_open_ = false;
};

/// Remembers the last lines of a stream that comes in pieces.
class line_tail {
 public:
  void keep(std::string_view bytes) {
    const std::string_view last = last_lines(bytes);
    if (last.size() < bytes.size()) {
      text_.assign(last);
      return;
    }
    text_.append(bytes);
    const std::size_t kept = last_lines(text_).size();
    text_.erase(0, text_.size() - kept);
  }

  /// The lines without their ends.
  std::vector<std::string> lines() const {
    std::vector<std::string> all;
    for (std::string_view rest = text_; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      std::string_view line = rest.substr(0, end);
      rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
      if (line.ends_with('\r')) line.remove_suffix(1);
      all.emplace_back(line);
    }
    return all;
  }

 private:
  // The end of `bytes` that is worth keeping.
  static std::string_view last_lines(std::string_view bytes) {
    if (bytes.size() > limits::report_stderr_bytes) {
      bytes.remove_prefix(bytes.size() - limits::report_stderr_bytes);
    }
    std::size_t begin = bytes.size();
    for (std::size_t line = 0; line < limits::report_stderr_lines; ++line) {
      if (begin == 0) return bytes;
      // The end of the line before this one; the last line may lack its own.
      const std::size_t end = begin < 2 ? bytes.npos : bytes.rfind('\n', begin - 2);
      if (end == bytes.npos) return bytes;
      begin = end + 1;
    }
    return bytes.substr(begin);
  }

  std::string text_;
};

}  // namespace elastic::detail

// ---- elastic/process/process_tree.hpp ----

#include <dirent.h>

namespace elastic {

/// One line of the machine's process table.
struct process_entry {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  /// 'R', 'S', 'D', 'T', 'Z', … as in `ps`.
  char state = '?';
  int threads = 1;
  /// In ticks since the start of the machine: with the pid, it names one process for ever.
  std::uint64_t start_time = 0;

  /// Has ended and only waits for its parent to take note. (One whose first thread alone has
  /// ended looks the same but for its threads.)
  bool dead() const { return (state == 'Z' || state == 'X' || state == 'x') && threads <= 1; }

  friend bool operator==(const process_entry&, const process_entry&) = default;
};

/// Reads the text of `/proc/<pid>/stat`; empty where it is not one.
///
/// The name in it may hold anything, blanks, parentheses and line ends included: it ends at the
/// *last* closing parenthesis.
inline std::optional<process_entry> parse_process_stat(std::string_view text) {
  const std::size_t open = text.find(" (");
  const std::size_t close = text.rfind(')');
  if (open == text.npos || close == text.npos || close < open) return std::nullopt;

  std::size_t at = close + 1;
  const auto field = [&]() -> std::string_view {
    const std::size_t first = text.find_first_not_of(" \n", at);
    if (first == text.npos) return {};
    at = std::min(text.find_first_of(" \n", first), text.size());
    return text.substr(first, at - first);
  };
  const auto read = [](std::string_view digits, auto& value) {
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return failure == std::errc() && end == digits.data() + digits.size();
  };

  process_entry entry;
  if (!read(text.substr(0, open), entry.pid)) return std::nullopt;
  const std::string_view state = field();
  if (state.size() != 1) return std::nullopt;
  entry.state = state[0];
  if (!read(field(), entry.parent) || !read(field(), entry.group) ||
      !read(field(), entry.session)) {
    return std::nullopt;
  }
  for (int skipped = 7; skipped < 20; ++skipped) field();
  if (!read(field(), entry.threads)) return std::nullopt;
  field();
  if (!read(field(), entry.start_time)) return std::nullopt;
  return entry;
}

/// The processes of `all` that belong to a tree, parents before their children: the members of
/// the session `session`, those in `roots`, and the descendants of both. Ended ones are left out.
inline std::vector<process_entry> select_tree(const std::vector<process_entry>& all, pid_t session,
                                              const std::vector<pid_t>& roots) {
  std::vector<process_entry> tree;
  std::vector<bool> taken(all.size(), false);
  const auto take = [&](std::size_t place) {
    taken[place] = true;
    tree.push_back(all[place]);
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_root = std::find(roots.begin(), roots.end(), all[i].pid) != roots.end();
    if (is_root || (session > 0 && all[i].session == session)) take(i);
  }
  // `tree` grows while it is walked: breadth first.
  for (std::size_t next = 0; next < tree.size(); ++next) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!taken[i] && all[i].parent == tree[next].pid) take(i);
    }
  }
  std::erase_if(tree, [](const process_entry& entry) { return entry.dead(); });
  return tree;
}

namespace detail {

struct close_directory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

// Calls `use(number)` for every entry of a directory whose name is a number.
template <class Use>
void for_each_number(const char* path, Use use) {
  const std::unique_ptr<DIR, close_directory> directory(::opendir(path));
  if (!directory) return;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    pid_t number = 0;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (failure == std::errc() && end == name.data() + name.size()) use(number);
  }
}

// The first `bytes.size()` bytes of a file of /proc; empty where it is gone.
template <std::size_t Size>
std::string_view read_small_file(const char* path, std::array<char, Size>& bytes) {
  const unique_fd file(::open(path, O_RDONLY | O_CLOEXEC));
  if (!file) return {};
  const ssize_t size = ::read(file.get(), bytes.data(), bytes.size());
  return {bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

}  // namespace detail

/// One process of this machine; empty where there is none of that number.
inline std::optional<process_entry> read_process(pid_t pid) {
  std::array<char, 1024> bytes;
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  return parse_process_stat(detail::read_small_file(path.c_str(), bytes));
}

/// All processes that this user can see. Costs some 10 µs for each.
inline std::vector<process_entry> read_processes() {
  std::vector<process_entry> all;
  detail::for_each_number("/proc", [&](pid_t pid) {
    if (const auto entry = read_process(pid)) all.push_back(*entry);
  });
  return all;
}

/// The children of a process, of all its threads. Empty, too, where the kernel keeps no such list
/// (CONFIG_PROC_CHILDREN). Costs some 10 µs and 5 µs for each thread.
inline std::vector<pid_t> read_children(pid_t pid) {
  std::vector<pid_t> children;
  const std::string tasks = "/proc/" + std::to_string(pid) + "/task";
  const auto read_list = [&](pid_t thread) {
    const std::string path = tasks + "/" + std::to_string(thread) + "/children";
    const detail::unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return;
    std::string text;
    std::array<char, 4096> bytes;
    for (ssize_t size; (size = ::read(file.get(), bytes.data(), bytes.size())) > 0;) {
      text.append(bytes.data(), static_cast<std::size_t>(size));
    }
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at < end) {
      pid_t child = 0;
      const auto [after, failure] = std::from_chars(at, end, child);
      if (failure == std::errc()) children.push_back(child);
      at = failure == std::errc() ? after + 1 : at + 1;
    }
  };
  // A directory has two links and one more for each directory in it: here, each thread.
  struct stat status {};
  if (::stat(tasks.c_str(), &status) == 0 && status.st_nlink == 3) {
    read_list(pid);
  } else {
    detail::for_each_number(tasks.c_str(), read_list);
  }
  return children;
}

}  // namespace elastic

// ---- elastic/process/process_sight.hpp ----

#include <iterator>

namespace elastic {

/// How a process looks that was killed and has not ended yet.
struct process_sight {
  /// That of a thread in uninterruptible sleep ('D'), where it has one; else of the first.
  char state = '?';
  /// The function of the kernel in which that thread waits; empty where the kernel does not say.
  std::string waits_in;
  /// Memory that the kernel has yet to take back, in kB.
  std::uint64_t resident = 0;
  bool dumps_core = false;

  /// "in uninterruptible sleep (nfs_wait_bit_killable)".
  std::string text() const {
    if (dumps_core) return "writing its core";
    const std::string where = waits_in.empty() ? "" : fmt::format(" ({})", waits_in);
    if (state == 'D') return "in uninterruptible sleep" + where;
    return fmt::format("in state {}{}, with {} MB of memory left", state, where, resident / 1024);
  }

  friend bool operator==(const process_sight&, const process_sight&) = default;
};

/// Whether nothing went on between two looks at a process that was killed, so that nobody can say
/// whether it ever ends: a device or a file server does not answer. One that gives back memory or
/// writes its core takes its time.
inline bool is_stuck(const process_sight& before, const process_sight& now) {
  return now.state == 'D' && !now.dumps_core && before == now;
}

namespace detail {

inline std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The state of a thread of which /proc has the folder; '?' where it has gone.
inline char state_of_thread(const std::string& folder) {
  const auto entry = parse_process_stat(text_of(folder + "/stat"));
  return entry ? entry->state : '?';
}

}  // namespace detail

/// Looks at a process, without any right over it. Empty where there is none, or it has ended.
inline std::optional<process_sight> look_at_process(pid_t pid) {
  const std::string folder = fmt::format("/proc/{}", pid);
  const auto entry = parse_process_stat(detail::text_of(folder + "/stat"));
  if (!entry || entry->dead()) return std::nullopt;
  process_sight sight;
  sight.state = entry->state;
  std::string thread = folder;
  std::error_code failure;
  std::filesystem::directory_iterator one(folder + "/task", failure);
  for (; !failure && one != std::filesystem::directory_iterator(); one.increment(failure)) {
    if (detail::state_of_thread(one->path()) != 'D') continue;
    sight.state = 'D';
    thread = one->path();
    break;
  }
  sight.waits_in = detail::text_of(thread + "/wchan");
  if (sight.waits_in == "0") sight.waits_in.clear();
  std::ifstream status(folder + "/status");
  for (std::string name; status >> name; std::getline(status, name)) {
    if (name == "VmRSS:") status >> sight.resident;
    if (name == "CoreDumping:") status >> sight.dumps_core;
  }
  return sight;
}

}  // namespace elastic

// ---- elastic/process/detail/syscalls.hpp ----

// The one seam between this module and the kernel: a table of functions, given as a parameter.
// Tests give a table in which one of them fails or is interrupted.

#include <linux/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

// A function that runs between clone and exec does so in the parent's memory, on a stack of its
// own. A sanitizer's instrumentation in it would write into the books of the parent's thread.
#if defined(__clang__)
#define ELASTIC_RUNS_IN_CHILD                                        \
  __attribute__((noinline, disable_sanitizer_instrumentation,        \
                 no_sanitize("thread", "address", "undefined")))
#else
#define ELASTIC_RUNS_IN_CHILD \
  __attribute__((noinline, no_sanitize("thread", "address", "undefined")))
#endif

namespace elastic::detail {

#if defined(__GLIBC__)
// The same function as `clone` under the name that sanitizers do not wrap: their wrapper takes
// locks that a child in shared memory would give back a second time.
extern "C" int elastic_clone(int (*entry)(void*), void* stack, int flags, void* argument,
                             ...) noexcept __asm__("__clone");
#else
inline constexpr auto elastic_clone = ::clone;
#endif

// From Linux 6.9 on: the signal goes to the process group whose leader the pidfd is (or was).
inline constexpr unsigned pidfd_signal_process_group = 1U << 2;

/// Everything that this module asks of the kernel about processes. Results as the system calls':
/// -1 and `errno` on failure.
struct syscalls {
  // In the parent.
  pid_t (*clone)(int (*entry)(void*), void* stack_top, int flags, void* argument, int* pidfd);
  int (*waitid)(idtype_t type, id_t id, siginfo_t* info, int options);
  int (*pidfd_open)(pid_t pid);
  int (*pidfd_send_signal)(int pidfd, int number, unsigned flags);
  int (*kill)(pid_t pid, int number);
  int (*set_owner)(int fd, int owner);
  int (*pipe)(int fds[2]);
  int (*open)(const char* path, int flags, int mode);
  // Between clone and exec: nothing but the system call itself.
  int (*set_session)();
  int (*die_with_parent)();
  int (*change_directory)(const char* path);
  int (*duplicate)(int from, int lowest);
  int (*duplicate_to)(int from, int to);
  int (*keep_at_exec)(int fd);
  int (*close_range)(unsigned first, unsigned last);
  int (*execute)(const char* path, char* const* arguments, char* const* environment);
  int (*execute_open)(int program, char* const* arguments, char* const* environment);
};

namespace real {

inline pid_t clone(int (*entry)(void*), void* stack_top, int flags, void* argument, int* pidfd) {
  return elastic_clone(entry, stack_top, flags, argument, pidfd, nullptr, nullptr);
}
inline int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  return ::waitid(type, id, info, options);
}
inline int pidfd_open(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)); }
inline int pidfd_send_signal(int pidfd, int number, unsigned flags) {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd, number, nullptr, flags));
}
inline int kill(pid_t pid, int number) { return ::kill(pid, number); }
inline int set_owner(int fd, int owner) { return ::fcntl(fd, F_SETOWN, owner); }
inline int pipe(int fds[2]) { return ::pipe2(fds, O_CLOEXEC); }
inline int open(const char* path, int flags, int mode) { return ::open(path, flags, mode); }

ELASTIC_RUNS_IN_CHILD inline int set_session() {
  return static_cast<int>(::syscall(SYS_setsid));
}
ELASTIC_RUNS_IN_CHILD inline int die_with_parent() {
  return static_cast<int>(::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0));
}
ELASTIC_RUNS_IN_CHILD inline int change_directory(const char* path) {
  return static_cast<int>(::syscall(SYS_chdir, path));
}
ELASTIC_RUNS_IN_CHILD inline int duplicate(int from, int lowest) {
  return static_cast<int>(::syscall(SYS_fcntl, from, F_DUPFD_CLOEXEC, lowest));
}
ELASTIC_RUNS_IN_CHILD inline int duplicate_to(int from, int to) {
  return static_cast<int>(::syscall(SYS_dup3, from, to, 0));
}
ELASTIC_RUNS_IN_CHILD inline int keep_at_exec(int fd) {
  return static_cast<int>(::syscall(SYS_fcntl, fd, F_SETFD, 0));
}
ELASTIC_RUNS_IN_CHILD inline int execute_open(int program, char* const* arguments,
                                              char* const* environment) {
  return static_cast<int>(
      ::syscall(SYS_execveat, program, "", arguments, environment, AT_EMPTY_PATH));
}
ELASTIC_RUNS_IN_CHILD inline int close_range(unsigned first, unsigned last) {
#if defined(SYS_close_range)
  return static_cast<int>(::syscall(SYS_close_range, first, last, 0U));
#else
  (void)first, (void)last;
  errno = ENOSYS;
  return -1;
#endif
}
ELASTIC_RUNS_IN_CHILD inline int execute(const char* path, char* const* arguments,
                                         char* const* environment) {
  return static_cast<int>(::syscall(SYS_execve, path, arguments, environment));
}

}  // namespace real

/// The kernel itself.
inline constexpr syscalls real_syscalls{
    .clone = real::clone,
    .waitid = real::waitid,
    .pidfd_open = real::pidfd_open,
    .pidfd_send_signal = real::pidfd_send_signal,
    .kill = real::kill,
    .set_owner = real::set_owner,
    .pipe = real::pipe,
    .open = real::open,
    .set_session = real::set_session,
    .die_with_parent = real::die_with_parent,
    .change_directory = real::change_directory,
    .duplicate = real::duplicate,
    .duplicate_to = real::duplicate_to,
    .keep_at_exec = real::keep_at_exec,
    .close_range = real::close_range,
    .execute = real::execute,
    .execute_open = real::execute_open,
};

/// A call that is made again for as long as a signal interrupts it.
template <class Call>
auto uninterrupted(Call call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

}  // namespace elastic::detail

// ---- elastic/process/stdio.hpp ----

namespace elastic {

/// Where one output stream of a process goes.
struct output_plan {
  enum class how {
    /// To the same place as this process's own.
    inherit,
    /// Nowhere.
    null,
    /// To `file`, which the process writes itself.
    file,
    /// Through a pipe to this process, which writes it to `file` first and then to the console.
    copy,
  };
  how kind = how::inherit;
  /// file: what the process writes. copy: what is written before the console; empty: no file.
  /// Emptied first; its directory must exist.
  std::string file;
  /// copy: put before every line on the console. Empty: the bytes pass through as they are and at
  /// once, not line by line.
  std::string prefix;
  /// copy: whether the console gets it at all.
  bool console = true;
  /// file and copy: remember the last lines (`limits::report_stderr_lines`) for a report.
  bool keep_tail = false;
};

namespace detail {

// A log file, emptied. Opened for appending, so that nothing is overwritten where two streams
// go to the same file, and a file cut short by others goes on at its new end.
inline unique_fd open_log_file(const std::string& path, const syscalls& calls) {
  constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOCTTY;
  unique_fd file(uninterrupted([&] { return calls.open(path.c_str(), flags, 0666); }));
  if (!file) {
    throw error(errc::file_access, fmt::format("log file '{}' cannot be opened for writing: {}",
                                               path, errno_text(errno)));
  }
  return file;
}

inline unique_fd open_null(const syscalls& calls) {
  unique_fd file(
      uninterrupted([&] { return calls.open("/dev/null", O_RDWR | O_CLOEXEC, 0); }));
  if (!file) {
    throw error(errc::file_access,
                fmt::format("'/dev/null' cannot be opened: {}", errno_text(errno)));
  }
  return file;
}

/// A pipe whose read end never blocks.
struct pipe_ends {
  unique_fd read;
  unique_fd write;
};

inline pipe_ends open_pipe(const syscalls& calls) {
  int fds[2];
  if (calls.pipe(fds) != 0) {
    throw error(errc::start_failed,
                fmt::format("a pipe for the output cannot be made: {}", errno_text(errno)));
  }
  pipe_ends pipe{unique_fd(fds[0]), unique_fd(fds[1])};
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

/// One stream opened for the start of a process.
struct opened_stream {
  /// The process's end, -1 for `inherit`; to be closed after the start.
  unique_fd process_end;
  /// copy: the pipe to read from, and the file to write to (-1: none).
  unique_fd pipe;
  unique_fd file;
};

/// Opens what a plan needs. Errors: `errc::file_access` naming the path, `errc::start_failed`.
inline opened_stream open_stream(const output_plan& plan, const syscalls& calls = real_syscalls) {
  opened_stream stream;
  switch (plan.kind) {
    case output_plan::how::inherit: break;
    case output_plan::how::null: stream.process_end = open_null(calls); break;
    case output_plan::how::file: stream.process_end = open_log_file(plan.file, calls); break;
    case output_plan::how::copy: {
      if (!plan.file.empty()) stream.file = open_log_file(plan.file, calls);
      pipe_ends pipe = open_pipe(calls);
      stream.pipe = std::move(pipe.read);
      stream.process_end = std::move(pipe.write);
      break;
    }
  }
  return stream;
}

}  // namespace detail

}  // namespace elastic

// ---- elastic/process/tee.hpp ----

namespace elastic {

/// What a `tee` does with the bytes that it reads.
struct tee_outlets {
  /// Written first, byte for byte; -1: no file. `file_name` is for the log.
  detail::unique_fd file;
  std::string file_name;
  /// Shown second, with `prefix` before every line; null: not shown.
  std::shared_ptr<output_sink> console;
  std::string prefix;
  /// Remember the last lines.
  bool keep_tail = false;
  logger log;
};

/// Copies the output of one process from its pipe to a file and to the console.
///
/// Lines of up to `limits::copy_line_bytes` reach the console whole; longer ones in pieces. It
/// reads on only when what it read is written: a slow console makes the process wait. A file that
/// cannot be written is given up with a line in the log.
///
/// Thread-safety: one strand at a time.
class tee {
 public:
  /// Errors: `errc::start_failed` where the pipe cannot be waited for.
  tee(asio::any_io_executor executor, detail::unique_fd pipe, tee_outlets outlets)
      : pipe_(std::move(executor)),
        outlets_(std::move(outlets)),
        lines_(outlets_.prefix) {
    // A refusal (the user has too many large pipes) costs speed only.
    ::fcntl(pipe.get(), F_SETPIPE_SZ, static_cast<int>(limits::copy_buffer_bytes));
    asio::error_code failure;
    pipe_.assign(pipe.get(), failure);
    if (failure) {
      throw error(errc::start_failed,
                  fmt::format("the output of a process cannot be read: {}", failure.message()));
    }
    pipe.release();
  }
  tee(const tee&) = delete;
  tee& operator=(const tee&) = delete;

  /// Copies until every process has closed its end of the pipe, or until `finish`. To be awaited
  /// once.
  ///
  /// Errors: none; what cannot be written is said in the log.
  /// Cancellation: all types; ends it, and what was not read is lost. While it waits for the
  /// console, `abandon_console` is needed, too.
  task<void> run() {
    auto executor = co_await asio::this_coro::executor;
    for (;;) {
      const ssize_t size = read_some();
      if (size > 0) {
        co_await pass_on(std::string_view(buffer(), static_cast<std::size_t>(size)));
        // A process that never stops writing must not keep the loop to itself.
        co_await asio::post(executor, asio::use_awaitable);
        continue;
      }
      if (size == 0 || (errno == EAGAIN && finishing_)) break;
      if (errno == EINTR) continue;
      if (errno != EAGAIN) {
        outlets_.log.warning("output of a process cannot be read: {}", errno_text(errno));
        break;
      }
      free_large_buffers();
      const auto wait_read = asio::posix::stream_descriptor::wait_read;
      auto [failure] = co_await pipe_.async_wait(wait_read, detail::as_result);
      if (failure && !finishing_) throw std::system_error(failure);
    }
    free_large_buffers();
    lines_.finish(batch_);
    co_await show(batch_);
    outlets_.file.reset();
    pipe_.close();
  }

  /// Makes `run` end without waiting for the end of the pipe: what is in it now is still copied.
  /// For a pipe that somebody holds open after the process has ended.
  void finish() {
    if (finishing_ || !pipe_.is_open()) return;
    int waiting = 0;
    ::ioctl(pipe_.native_handle(), FIONREAD, &waiting);
    remaining_ = static_cast<std::size_t>(std::max(waiting, 0));
    finishing_ = true;
    pipe_.cancel();
  }

  /// Shows nothing more, and gives up what is being shown: nobody wants to wait for a console that
  /// stands still. The file still gets everything.
  void abandon_console() {
    outlets_.console.reset();
    showing_.emit(asio::cancellation_type::terminal);
  }

  /// The last lines, at most `limits::report_stderr_lines`, where `keep_tail` was asked for.
  std::vector<std::string> tail() const { return tail_.lines(); }

 private:
  char* buffer() { return large_ ? large_.get() : small_.data(); }
  std::size_t buffer_size() const { return large_ ? limits::copy_buffer_bytes : small_.size(); }

  // As `read`: 0 at the end, and where all was read that `finish` still wanted.
  ssize_t read_some() {
    const std::size_t room = finishing_ ? std::min(remaining_, buffer_size()) : buffer_size();
    if (room == 0) return 0;
    const ssize_t size = ::read(pipe_.native_handle(), buffer(), room);
    if (size > 0 && finishing_) remaining_ -= static_cast<std::size_t>(size);
    // More is coming than a line now and then.
    if (size == static_cast<ssize_t>(small_.size()) && !large_) wants_large_ = true;
    return size;
  }

  task<void> pass_on(std::string_view bytes) {
    if (outlets_.keep_tail) tail_.keep(bytes);
    if (outlets_.file) write_file(bytes);
    if (outlets_.console && outlets_.prefix.empty()) {
      co_await show(bytes);
    } else if (outlets_.console) {
      while (!bytes.empty()) {
        bytes.remove_prefix(lines_.feed(bytes, batch_));
        co_await show(batch_);
        batch_.clear();
      }
    }
    if (std::exchange(wants_large_, false)) {
      large_ = std::make_unique_for_overwrite<char[]>(limits::copy_buffer_bytes);
      if (!outlets_.prefix.empty()) batch_.reserve(2 * limits::copy_buffer_bytes);
    }
  }

  void free_large_buffers() {
    if (!large_) return;
    large_.reset();
    batch_ = std::string();
  }

  void write_file(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(outlets_.file.get(), bytes.data(), bytes.size());
      if (written >= 0) {
        bytes.remove_prefix(static_cast<std::size_t>(written));
      } else if (errno != EINTR) {
        outlets_.log.error("log file '{}' cannot be written, output is lost: {}",
                           outlets_.file_name, errno_text(errno));
        outlets_.file.reset();
        return;
      }
    }
  }

  // In a coroutine of its own, which `abandon_console` can end without ending this one.
  task<void> show(std::string_view bytes) {
    if (bytes.empty() || !outlets_.console) co_return;
    const std::shared_ptr<output_sink> console = outlets_.console;
    auto executor = co_await asio::this_coro::executor;
    try {
      co_await asio::co_spawn(
          executor, console->write(bytes),
          asio::bind_cancellation_slot(showing_.slot(), asio::use_awaitable));
    } catch (...) {
      // Abandoned, or a console that throws: it gets no more.
      outlets_.console.reset();
    }
  }

  asio::posix::stream_descriptor pipe_;
  tee_outlets outlets_;
  detail::line_prefixer lines_;
  detail::line_tail tail_;
  asio::cancellation_signal showing_;
  bool finishing_ = false;
  std::size_t remaining_ = 0;
  // Most processes write little at a time; the large buffer exists while one writes much.
  std::array<char, 4096> small_;
  std::unique_ptr<char[]> large_;
  bool wants_large_ = false;
  std::string batch_;
};

}  // namespace elastic

// ---- elastic/process/detail/process_slot.hpp ----

namespace elastic::detail {

/// The last lines of a file, as many as a report shows; none where it cannot be read.
inline std::vector<std::string> read_file_tail(const std::string& path) {
  // A process may have put anything there, a FIFO that nobody writes to included.
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  constexpr auto most = static_cast<off_t>(limits::report_stderr_bytes);
  const off_t wanted = std::min(status.st_size, most);
  std::string bytes(static_cast<std::size_t>(wanted), '\0');
  const ssize_t size = ::pread(file.get(), bytes.data(), bytes.size(), status.st_size - wanted);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  line_tail tail;
  tail.keep(bytes);
  return tail.lines();
}

/// One process of a set with the copying of its output, from its start until its place is free.
/// Shared with the coroutines that work for it.
class process_slot : public std::enable_shared_from_this<process_slot> {
 public:
  process_slot(asio::any_io_executor executor, std::size_t place)
      : index(place),
        ended(executor),
        copied(executor),
        cleared(executor),
        executor_(std::move(executor)) {}

  /// Prepares the copying of one stream; null where there is none to copy.
  std::unique_ptr<tee> make_tee(const output_plan& plan, opened_stream stream,
                                const std::shared_ptr<output_sink>& console, const logger& log) {
    if (!stream.pipe) return nullptr;
    tee_outlets outlets;
    outlets.file = std::move(stream.file);
    outlets.file_name = plan.file;
    if (plan.console) outlets.console = console;
    outlets.prefix = plan.prefix;
    outlets.keep_tail = plan.keep_tail;
    outlets.log = log;
    return std::make_unique<tee>(executor_, std::move(stream.pipe), std::move(outlets));
  }

  /// Takes over the process that was started, and copies its output from now on.
  void begin(std::unique_ptr<child> started) {
    process = std::move(started);
    pid = process->pid();
    copy(out, cancel_out_);
    copy(err, cancel_err_);
    if (copying_ == 0) copied.set();
  }

  /// Runs `work` on the executor and calls `on_end`, sharing in the ownership of this.
  template <class OnEnd>
  void run(task<void> work, asio::cancellation_signal& cancel, OnEnd on_end) {
    auto ended_then = [self = shared_from_this(), on_end = std::move(on_end)](
                          std::exception_ptr failure) mutable { on_end(failure); };
    asio::co_spawn(executor_, std::move(work),
                   asio::bind_cancellation_slot(cancel.slot(), std::move(ended_then)));
  }

  bool running() const { return process && !ended.is_set(); }
  bool is_free() const { return cleared.is_set(); }

  /// Waits until the pipes have ended; from `deadline` on it takes what is in them and lets go.
  task<void> drain(std::shared_ptr<time_source> time) {
    if (copied.is_set()) co_return;
    const time_point deadline = time->now() + limits::drain_after_exit;
    draining_ = true;
    if (!hurried_) co_await with_deadline(*time, deadline, copied.wait());
    finish_copies();
    co_await copied.wait();
  }

  /// Frees the place; what is left is what a report asks for.
  void release() {
    // Then others still work with it, and the last of them destroys it.
    if (abandoned) return;
    if (err) tail_ = err->tail();
    process.reset();
    out.reset();
    err.reset();
    cleared.set();
  }

  std::vector<std::string> tail() const {
    if (err) return err->tail();
    return tail_file.empty() ? tail_ : read_file_tail(tail_file);
  }

  /// Nobody wants to wait for the output any more.
  void hurry() {
    hurried_ = true;
    abandon_console();
    if (draining_) finish_copies();
  }

  /// It was killed and does not end: it is waited for no longer, and the error of its clearing
  /// says why.
  void give_up(const std::string& why) {
    given_up = true;
    clear_failure = std::make_exception_ptr(error(errc::process_stuck, why));
    cancel_watch.emit(asio::cancellation_type::terminal);
    hurry();
  }

  /// The owner has gone: ends everything without waiting for it.
  void abandon() noexcept {
    abandoned = true;
    if (running()) process->signal(SIGKILL);
    abandon_console();
    for (auto* cancel : {&cancel_out_, &cancel_err_, &cancel_watch, &cancel_clear}) {
      cancel->emit(asio::cancellation_type::terminal);
    }
  }

  const std::size_t index;
  pid_t pid = 0;
  std::unique_ptr<child> process;
  std::unique_ptr<tee> out;
  std::unique_ptr<tee> err;
  /// The file whose end is the tail, where the process writes it itself.
  std::string tail_file;
  event_flag ended;
  event_flag copied;
  event_flag cleared;
  bool clearing = false;
  bool was_stopped = false;
  bool given_up = false;
  bool abandoned = false;
  /// How it looked when it had not ended for a while after it was killed.
  std::optional<process_sight> sight;
  std::exception_ptr clear_failure;
  asio::cancellation_signal cancel_watch;
  asio::cancellation_signal cancel_clear;

 private:
  void copy(const std::unique_ptr<tee>& stream, asio::cancellation_signal& cancel) {
    if (!stream) return;
    ++copying_;
    run(stream->run(), cancel, [this](const std::exception_ptr&) {
      if (--copying_ == 0) copied.set();
    });
  }

  void finish_copies() {
    if (out) out->finish();
    if (err) err->finish();
  }

  void abandon_console() {
    if (out) out->abandon_console();
    if (err) err->abandon_console();
  }

  asio::any_io_executor executor_;
  int copying_ = 0;
  bool draining_ = false;
  bool hurried_ = false;
  std::vector<std::string> tail_;
  asio::cancellation_signal cancel_out_;
  asio::cancellation_signal cancel_err_;
};

}  // namespace elastic::detail

// ---- elastic/process/detail/program_path.hpp ----

namespace elastic::detail {

/// What a relative `path` names for a process that starts in `directory`.
inline std::string seen_from(const std::string& directory, const std::string& path) {
  if (directory.empty() || path.starts_with('/')) return path;
  return directory + "/" + path;
}

/// The value of PATH in an environment; what `execvp` takes where there is none.
inline std::string_view search_path(const process_spec& spec) {
  constexpr std::string_view name = "PATH=";
  for (std::string_view entry : spec.environment) {
    if (entry.starts_with(name)) return entry.substr(name.size());
  }
  return "/bin:/usr/bin";
}

enum class program_kind { missing, forbidden, executable };

inline program_kind look_at_program(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    return errno == EACCES ? program_kind::forbidden : program_kind::missing;
  }
  if (S_ISDIR(status.st_mode)) return program_kind::missing;
  const bool allowed = ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0;
  return allowed ? program_kind::executable : program_kind::forbidden;
}

/// The kernel's strings end at a zero byte, so that an argument would lose its end unnoticed.
inline void refuse_zero_bytes(const process_spec& spec) {
  const auto check = [&](const std::string& text, const char* what) {
    if (text.find('\0') == text.npos) return;
    throw error(errc::invalid_argument, fmt::format("{} of program '{}' has a zero byte in it",
                                                    what, spec.program.c_str()));
  };
  check(spec.program, "the name");
  check(spec.directory, "the working directory");
  for (const std::string& argument : spec.arguments) check(argument, "an argument");
  for (const std::string& entry : spec.environment) check(entry, "an environment variable");
}

/// The path to execute, found as `execvp` does it: a name without a slash is looked for in PATH.
///
/// Done before the start, so that an error can say what was looked for and the child needs no
/// memory of its own. Errors: `errc::program_not_found`, `errc::program_not_executable`.
inline std::string find_program(const process_spec& spec) {
  const std::string& name = spec.program;
  if (name.empty()) throw error(errc::program_not_found, "no program is named");
  if (name.find('/') != name.npos) return name;

  const std::string_view all = search_path(spec);
  std::string forbidden;
  for (std::string_view rest = all;;) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    std::string candidate(folder.empty() ? "." : folder);
    candidate.append("/").append(name);
    const program_kind kind = look_at_program(seen_from(spec.directory, candidate));
    if (kind == program_kind::executable) return candidate;
    if (kind == program_kind::forbidden && forbidden.empty()) forbidden = candidate;
    if (colon == rest.npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (!forbidden.empty()) {
    throw error(errc::program_not_executable,
                fmt::format("program '{}' cannot be executed: {}", forbidden, errno_text(EACCES)));
  }
  throw error(errc::program_not_found,
              fmt::format("program '{}' was not found in PATH ({})", name, all));
}

}  // namespace elastic::detail

// ---- elastic/process/detail/spawn.hpp ----

namespace elastic::detail {

/// The stack on which a child runs until its exec. Made once, with a page below it that no
/// overflow gets past.
class child_stack {
 public:
  child_stack() = default;
  child_stack(const child_stack&) = delete;
  child_stack& operator=(const child_stack&) = delete;
  ~child_stack() {
    if (base_) ::munmap(base_, size);
  }

  /// Its upper end, since stacks grow downwards; null (and `errno`) where there is no memory.
  void* top() {
    if (!base_) {
      void* made = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
      if (made == MAP_FAILED) return nullptr;
      ::mprotect(made, guard, PROT_NONE);
      base_ = made;
    }
    return static_cast<char*>(base_) + size;
  }

 private:
  static constexpr std::size_t size = 128 * 1024;
  // The largest page size of Linux on the processors in use.
  static constexpr std::size_t guard = 64 * 1024;
  void* base_ = nullptr;
};

enum class spawn_stage {
  prepare,
  clone,
  session,
  parent_death,
  processors,
  directory,
  streams,
  execute
};

struct spawn_result {
  pid_t pid = -1;
  int pidfd = -1;
  /// 0 where the program runs; otherwise what failed is in `stage`.
  int failure = 0;
  spawn_stage stage = spawn_stage::prepare;
};

// What the child needs, prepared by the parent. The child writes `failure` and `stage`; both
// share the memory, and the parent stands still until the child has executed or ended.
struct child_plan {
  const syscalls* calls;
  const char* path;
  char* const* arguments;
  char* const* environment;
  const char* directory;
  /// A bit for each processor; null: those of the parent.
  const unsigned long* processors;
  std::size_t processor_bytes;
  int streams[3];
  int passed[2];
  int program;
  pid_t parent;
  bool die_with_parent;
  volatile int failure = 0;
  volatile spawn_stage stage = spawn_stage::session;
};

// The kernel's own form of `struct sigaction`; all zeros is SIG_DFL without flags. Larger than
// any of the forms in use.
struct default_action {
  unsigned long words[8] = {};
};

/// How many bytes the kernel's signal sets have.
inline constexpr std::size_t kernel_signal_bytes = 8;

[[noreturn]] ELASTIC_RUNS_IN_CHILD inline void leave_child() {
  for (;;) ::syscall(SYS_exit_group, 127);
}

// Handlers of the parent must not run in the child, which shares its memory; and what the parent
// ignores (SIGPIPE, often) is none of the program's business.
ELASTIC_RUNS_IN_CHILD inline void reset_signal_handling() {
  static constexpr default_action none{};
  for (int number = 1; number <= 64; ++number) {
    ::syscall(SYS_rt_sigaction, number, &none, nullptr, kernel_signal_bytes);
  }
}

ELASTIC_RUNS_IN_CHILD inline bool take_processors(const child_plan& plan) {
  return !plan.processors ||
         ::syscall(SYS_sched_setaffinity, 0, plan.processor_bytes, plan.processors) >= 0;
}

ELASTIC_RUNS_IN_CHILD inline bool arrange_streams(const child_plan& plan) {
  const syscalls& calls = *plan.calls;
  int from[3] = {plan.streams[0], plan.streams[1], plan.streams[2]};
  // First out of the way what a later stream still needs (such as stdout and stderr exchanged).
  for (int target = 0; target < 3; ++target) {
    if (from[target] < 0 || from[target] > 2 || from[target] == target) continue;
    from[target] = calls.duplicate(from[target], 3);
    if (from[target] < 0) return false;
  }
  for (int target = 0; target < 3; ++target) {
    if (from[target] < 0 || from[target] == target) {
      // A stream that the parent itself has closed stays closed.
      if (calls.keep_at_exec(target) < 0 && errno != EBADF) return false;
    } else if (calls.duplicate_to(from[target], target) < 0) {
      return false;
    }
  }
  return true;
}

// How many descriptors stay, from 0 on.
ELASTIC_RUNS_IN_CHILD inline int kept_descriptors(const child_plan& plan) {
  return 3 + (plan.passed[0] >= 0 ? 1 : 0) + (plan.passed[1] >= 0 ? 1 : 0);
}

// Descriptors 3 and 4, after the streams, for which the sources may have had these numbers.
ELASTIC_RUNS_IN_CHILD inline bool pass_descriptors(const child_plan& plan) {
  for (int place = 0; place < 2; ++place) {
    if (plan.passed[place] < 0) continue;
    if (plan.calls->duplicate_to(plan.passed[place], 3 + place) < 0) return false;
  }
  return true;
}

// For kernels before 5.9 and filters that do not know the call: what /proc lists, else by number.
ELASTIC_RUNS_IN_CHILD inline void close_one_by_one(int first, int kept) {
  struct entry_head {
    std::uint64_t inode;
    std::int64_t offset;
    unsigned short size;
    unsigned char type;
  };
  constexpr std::size_t name_offset = 19;
  const long folder =
      ::syscall(SYS_openat, AT_FDCWD, "/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
  if (folder < 0) {
    for (int fd = first; fd < 65'536; ++fd) {
      if (fd != kept) ::syscall(SYS_close, fd);
    }
    return;
  }
  alignas(entry_head) char entries[2048];
  for (bool closed_some = true; closed_some;) {
    closed_some = false;
    ::syscall(SYS_lseek, folder, 0, SEEK_SET);
    for (;;) {
      const long size = ::syscall(SYS_getdents64, folder, entries, sizeof entries);
      if (size <= 0) break;
      for (long at = 0; at < size;) {
        const auto* head = reinterpret_cast<const entry_head*>(entries + at);
        long fd = 0;
        for (const char* digit = entries + at + name_offset; *digit >= '0' && *digit <= '9';
             ++digit) {
          fd = fd * 10 + (*digit - '0');
        }
        if (fd >= first && fd != folder && fd != kept) {
          ::syscall(SYS_close, fd);
          closed_some = true;
        }
        at += head->size;
      }
    }
  }
  ::syscall(SYS_close, folder);
}

// All but the streams, what is passed and, until it is executed, the program.
ELASTIC_RUNS_IN_CHILD inline void close_others(const child_plan& plan) {
  const auto first = static_cast<unsigned>(kept_descriptors(plan));
  const auto program = static_cast<unsigned>(plan.program);
  const syscalls& calls = *plan.calls;
  int failed = 0;
  if (plan.program < 0) {
    failed = calls.close_range(first, ~0U);
  } else {
    failed = first < program ? calls.close_range(first, program - 1) : 0;
    if (failed == 0) failed = calls.close_range(program + 1, ~0U);
  }
  if (failed < 0) close_one_by_one(static_cast<int>(first), plan.program);
}

// Every step up to exec; returns the one that failed, with its error in `errno`.
ELASTIC_RUNS_IN_CHILD inline spawn_stage become_program(const child_plan& plan) {
  const syscalls& calls = *plan.calls;
  reset_signal_handling();
  if (calls.set_session() < 0) return spawn_stage::session;
  if (plan.die_with_parent) {
    if (calls.die_with_parent() < 0) return spawn_stage::parent_death;
    // The parent may have died before the kernel knew what to do then.
    if (::syscall(SYS_getppid) != plan.parent) leave_child();
  }
  if (!take_processors(plan)) return spawn_stage::processors;
  if (plan.directory && calls.change_directory(plan.directory) < 0) return spawn_stage::directory;
  if (!arrange_streams(plan)) return spawn_stage::streams;
  if (!pass_descriptors(plan)) return spawn_stage::streams;
  close_others(plan);
  static constexpr unsigned long no_signals[kernel_signal_bytes / sizeof(unsigned long)] = {};
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, no_signals, nullptr, kernel_signal_bytes);
  if (plan.program >= 0) {
    calls.execute_open(plan.program, plan.arguments, plan.environment);
  } else {
    calls.execute(plan.path, plan.arguments, plan.environment);
  }
  return spawn_stage::execute;
}

ELASTIC_RUNS_IN_CHILD inline int child_entry(void* argument) {
  auto& plan = *static_cast<child_plan*>(argument);
  const spawn_stage failed = become_program(plan);
  plan.stage = failed;
  plan.failure = errno;
  leave_child();
}

// The strings as `execve` wants them: pointers, with a null pointer after the last.
inline std::vector<char*> pointers_to(const std::string* first,
                                      const std::vector<std::string>& rest) {
  std::vector<char*> all;
  all.reserve(rest.size() + 2);
  if (first) all.push_back(const_cast<char*>(first->c_str()));
  for (const std::string& one : rest) all.push_back(const_cast<char*>(one.c_str()));
  all.push_back(nullptr);
  return all;
}

/// Whether a standard stream was closed when this process began, and its number has gone to a
/// descriptor of this process's own since.
inline bool is_private(int fd) {
  const int flags = ::fcntl(fd, F_GETFD);
  return flags >= 0 && (flags & FD_CLOEXEC) != 0;
}

/// What is started: a program of a process_spec, or another one in its place and on its behalf.
struct spawn_request {
  /// Its environment, directory and streams.
  const process_spec& spec;
  /// Executed where `program` is not set.
  const std::string& path;
  /// From the program's name on.
  std::vector<char*> arguments;
  bool die_with_parent = false;
  /// An open file to be executed; -1: none. It and what is passed have numbers over 4.
  int program = -1;
  /// What becomes descriptors 3 and 4; -1: nothing.
  int passed[2] = {-1, -1};
};

/// Starts a program and returns when it has been executed, or says what failed and leaves nothing.
///
/// The child shares the parent's memory until then (no page table is copied), and the calling
/// thread stands still. All signals are blocked meanwhile, so that no handler runs in the child.
inline spawn_result spawn(const spawn_request& request, child_stack& stack,
                          const syscalls& calls) {
  const process_spec& spec = request.spec;
  spawn_result result;
  void* const stack_top = stack.top();
  if (!stack_top) {
    result.failure = errno;
    return result;
  }
  const std::vector<char*> environment = pointers_to(nullptr, spec.environment);
  const std::vector<unsigned long> processors = spec.processors.mask();
  child_plan plan{.calls = &calls,
                  .path = request.path.c_str(),
                  .arguments = request.arguments.data(),
                  .environment = environment.data(),
                  .directory = spec.directory.empty() ? nullptr : spec.directory.c_str(),
                  .processors = processors.empty() ? nullptr : processors.data(),
                  .processor_bytes = processors.size() * sizeof(unsigned long),
                  .streams = {spec.stdin_fd, spec.stdout_fd, spec.stderr_fd},
                  .passed = {request.passed[0], request.passed[1]},
                  .program = request.program,
                  .parent = ::getpid(),
                  .die_with_parent = request.die_with_parent};

  unique_fd nowhere;
  for (int target = 0; target < 3; ++target) {
    if (plan.streams[target] >= 0 || !is_private(target)) continue;
    if (!nowhere) nowhere = unique_fd(::open("/dev/null", O_RDWR | O_CLOEXEC));
    plan.streams[target] = nowhere.get();
  }

  // By the system call: the library's function leaves out the two signals that threads use.
  constexpr std::size_t words = kernel_signal_bytes / sizeof(unsigned long);
  std::array<unsigned long, words> all;
  std::array<unsigned long, words> before{};
  all.fill(~0UL);
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, all.data(), before.data(), kernel_signal_bytes);
  result.pid = calls.clone(child_entry, stack_top,
                           CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &plan, &result.pidfd);
  const int clone_error = errno;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, before.data(), nullptr, kernel_signal_bytes);

  if (result.pid < 0) {
    result.failure = clone_error;
    result.stage = spawn_stage::clone;
    return result;
  }
  if (plan.failure == 0) return result;
  // It is past its last step, so that this takes no time. ECHILD: the host has done it already.
  siginfo_t ignored{};
  uninterrupted([&] {
    return calls.waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(result.pidfd), &ignored,
                        WEXITED);
  });
  ::close(result.pidfd);
  result.pid = result.pidfd = -1;
  result.failure = plan.failure;
  result.stage = plan.stage;
  return result;
}

/// What follows "#!" in the first line of a script, up to the next blank; empty where it has none.
inline std::string interpreter_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line(256, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  if (!line.starts_with("#!")) return {};
  const std::size_t first = line.find_first_not_of(" \t", 2);
  if (first == line.npos) return {};
  return line.substr(first, line.find_first_of(" \t\r\n", first) - first);
}

[[noreturn]] inline void throw_execute_error(const process_spec& spec, const std::string& path,
                                             int number) {
  const std::string seen = seen_from(spec.directory, path);
  struct stat status {};
  const bool exists = ::stat(seen.c_str(), &status) == 0;
  switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
      if (!exists) {
        throw error(errc::program_not_found, fmt::format("program '{}' cannot be executed: {}",
                                                         path, errno_text(number)));
      }
      if (const std::string interpreter = interpreter_of(seen); !interpreter.empty()) {
        throw error(errc::program_not_executable,
                    fmt::format("program '{}' cannot be executed: its interpreter '{}' was not "
                                "found", path, interpreter));
      }
      throw error(errc::program_not_executable,
                  fmt::format("program '{}' cannot be executed: the loader that it names was not "
                              "found", path));
    case ENOEXEC:
      throw error(errc::program_not_executable,
                  fmt::format("program '{}' cannot be executed: it is neither a program of this "
                              "machine nor a script that names its interpreter in a first line "
                              "that begins with '#!'", path));
    case EACCES:
    case EPERM:
    case ELOOP:
    case ETXTBSY:
    case EISDIR:
    case EINVAL:
    case ELIBBAD:
      throw error(errc::program_not_executable,
                  fmt::format("program '{}' cannot be executed: {}", path,
                              exists && S_ISDIR(status.st_mode) ? errno_text(EISDIR)
                                                                : errno_text(number)));
    default:
      throw error(errc::start_failed,
                  fmt::format("program '{}' cannot be started: {}", path, errno_text(number)));
  }
}

/// Says in one sentence why a start failed, naming the file.
[[noreturn]] inline void throw_start_error(const process_spec& spec, const std::string& path,
                                           const spawn_result& failed) {
  const auto start_failed = [&](const char* step) {
    return error(errc::start_failed, fmt::format("program '{}' cannot be started: {} ({})", path,
                                                 errno_text(failed.failure), step));
  };
  switch (failed.stage) {
    case spawn_stage::execute: throw_execute_error(spec, path, failed.failure);
    case spawn_stage::directory:
      throw error(errc::file_access,
                  fmt::format("working directory '{}' of program '{}' cannot be entered: {}",
                              spec.directory, path, errno_text(failed.failure)));
    case spawn_stage::prepare: throw start_failed("no memory for its start");
    case spawn_stage::clone: throw start_failed("a new process");
    case spawn_stage::session: throw start_failed("its session");
    case spawn_stage::parent_death: throw start_failed("its tie to this process");
    case spawn_stage::processors:
      throw error(errc::start_failed,
                  fmt::format("program '{}' cannot be started on the processors {}: {}", path,
                              spec.processors.text(), errno_text(failed.failure)));
    case spawn_stage::streams: break;
  }
  throw start_failed("its standard streams");
}

}  // namespace elastic::detail

// ---- elastic/process/detail/reaper.hpp ----

#include <atomic>

namespace elastic::detail {

/// Takes in processes that were killed and whose owner could not wait for them, so that no zombie
/// stays in a host that lives on. One for each execution context, made on first use.
///
/// What it waits for keeps `io_context::run` going until the kernel has ended that process.
class reaper final : public asio::execution_context::service {
 public:
  using key_type = reaper;
  inline static asio::execution_context::id id;

  explicit reaper(asio::execution_context& context) : service(context) {}

  static reaper& of(const asio::any_io_executor& executor) {
    return asio::use_service<reaper>(asio::query(executor, asio::execution::context));
  }

  /// Waits in the background until the process has ended, and then takes its status. Where the
  /// context is on its way out, which no background outlives, it waits here, for 1 s at most: the
  /// process was killed.
  void adopt(asio::posix::stream_descriptor pidfd, const syscalls& calls) {
    const auto held = std::make_shared<dying>(std::move(pidfd), calls);
    if (down_) return;
    held->pidfd.async_wait(asio::posix::stream_descriptor::wait_read,
                           [held](asio::error_code) {});
  }

 private:
  // Whoever lets go of it last takes the status: the wait when it is over, or the context that
  // drops the wait.
  struct dying {
    dying(asio::posix::stream_descriptor descriptor, const syscalls& with)
        : pidfd(std::move(descriptor)), calls(with) {}
    ~dying() {
      pollfd end{pidfd.native_handle(), POLLIN, 0};
      uninterrupted([&] { return ::poll(&end, 1, 1000); });
      siginfo_t ignored{};
      calls.waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd.native_handle()),
                   &ignored, WEXITED | WNOHANG);
    }

    asio::posix::stream_descriptor pidfd;
    const syscalls& calls;
  };

  void shutdown() noexcept override { down_ = true; }

  std::atomic<bool> down_{false};
};

}  // namespace elastic::detail

// ---- elastic/process/pidfd_child.hpp ----

namespace elastic {

/// A process of this machine, held by its pidfd, that leads a session of its own.
///
/// What counts as its tree: its session, and those descendants outside of it that can be found:
/// seen as such before a signal was sent, or children of a process that is in the tree. A daemon
/// that had cut both ties before is not found.
///
/// No number is ever signalled that could have passed to a stranger: signals go through pidfds,
/// and a pidfd counts as a member only after its place in the tree was seen while it was held.
/// Until `end_tree` the ended process stays a zombie, which keeps its number, and with it that of
/// its session, from being given away.
///
/// Thread-safety: one strand at a time.
class pidfd_child final : public child {
 public:
  /// Takes over a direct child of this process that has called `setsid`, and its pidfd.
  /// Errors: `errc::start_failed` where the pidfd cannot be waited for; the process is killed then.
  pidfd_child(const asio::any_io_executor& executor, pid_t pid, int pidfd,
              const detail::syscalls& calls)
      : calls_(calls),
        descriptor_(executor),
        reaper_(detail::reaper::of(executor)),
        pid_(pid),
        owner_(::getpid()) {
    asio::error_code failure;
    descriptor_.assign(pidfd, failure);
    if (!failure) return;
    calls_.pidfd_send_signal(pidfd, SIGKILL, 0);
    siginfo_t ignored{};
    detail::uninterrupted([&] { return wait_id(pidfd, ignored, WEXITED); });
    ::close(pidfd);
    throw error(errc::start_failed,
                fmt::format("process {} cannot be waited for: {}", pid, failure.message()));
  }

  pidfd_child(const pidfd_child&) = delete;
  pidfd_child& operator=(const pidfd_child&) = delete;

  ~pidfd_child() override {
    // The copy that a fork of the host leaves behind owns nothing.
    if (::getpid() != owner_ || tree_ended_) return;
    if (!status_) note_outsiders();
    signal_group(SIGKILL);
    look();
    if (status_) reap();
    kill_members();
    if (!reaped_) reaper_.adopt(std::move(descriptor_), calls_);
  }

  pid_t pid() const noexcept override { return pid_; }

  bool signal(int number) noexcept override {
    look();
    if (status_) return false;
    if (number != SIGCONT) note_outsiders();
    signal_group(number);
    return true;
  }

  task<exit_status> wait() override {
    look();
    if (!status_) open_lists();
    while (!status_) {
      co_await descriptor_.async_wait(asio::posix::stream_descriptor::wait_read,
                                      asio::use_awaitable);
      look();
    }
    co_return *status_;
  }

  std::vector<pid_t> left() override {
    std::vector<pid_t> found;
    for (const process_entry& entry : select_tree(read_processes(), pid_, {pid_})) {
      found.push_back(entry.pid);
    }
    return found;
  }

  task<void> end_tree() override {
    if (!status_) {
      note_outsiders();
      signal_group(SIGKILL);
      co_await wait();
    }
    reap();
    for (;;) {
      std::vector<pinned> dying = kill_members();
      if (dying.empty()) break;
      for (pinned& one : dying) co_await gone(std::move(one.pidfd));
    }
    outsiders_.clear();
    threads_.reset();
    children_.reset();
    tree_ended_ = true;
  }

 private:
  // A process that cannot be mistaken for another for as long as it is held.
  struct pinned {
    pid_t pid;
    detail::unique_fd pidfd;
  };

  int wait_id(int pidfd, siginfo_t& info, int options) const noexcept {
    return calls_.waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd), &info, options);
  }

  // Takes note of the end where there is one, and leaves the zombie.
  void look() noexcept {
    if (status_) return;
    siginfo_t info{};
    const int result = detail::uninterrupted([&] {
      return wait_id(descriptor_.native_handle(), info, WEXITED | WNOHANG | WNOWAIT);
    });
    if (result != 0) {
      // Somebody else has taken the status, and with it the number is free.
      status_ = exit_status::unknown();
      reaped_ = number_lost_ = true;
    } else if (info.si_pid != 0) {
      status_ = info.si_code == CLD_EXITED
                    ? exit_status::exited(info.si_status)
                    : exit_status::signalled(info.si_status, info.si_code == CLD_DUMPED);
    }
  }

  void reap() noexcept {
    if (reaped_) return;
    siginfo_t ignored{};
    const int result = detail::uninterrupted(
        [&] { return wait_id(descriptor_.native_handle(), ignored, WEXITED | WNOHANG); });
    reaped_ = true;
    number_lost_ = result != 0;
  }

  void signal_group(int number) noexcept {
    const int pidfd = descriptor_.native_handle();
    if (calls_.pidfd_send_signal(pidfd, number, detail::pidfd_signal_process_group) == 0) return;
    if (errno == ESRCH || reaped_) return;
    // A kernel before 6.9, or a filter. While it is our child that nobody has reaped, its number
    // is that of its group and of no other.
    siginfo_t info{};
    if (wait_id(pidfd, info, WEXITED | WNOHANG | WNOWAIT) == 0) calls_.kill(-pid_, number);
  }

  // Where one of the tree still has the number as that of its session, it is still in use.
  bool session_in_use() noexcept {
    if (number_lost_) return false;
    return calls_.set_owner(descriptor_.native_handle(), -pid_) == 0 || errno != ESRCH;
  }

  bool alive(const pinned& one) const noexcept {
    return calls_.pidfd_send_signal(one.pidfd.get(), 0, 0) == 0 || errno == EPERM;
  }

  bool kill(const pinned& one) const noexcept {
    return calls_.pidfd_send_signal(one.pidfd.get(), SIGKILL, 0) == 0;
  }

  // Holds a process and then reads its entry, which is its own if it is there after that, too.
  std::optional<process_entry> pin(pid_t pid, pinned& held) const {
    held.pid = pid;
    held.pidfd = detail::unique_fd(calls_.pidfd_open(pid));
    if (!held.pidfd) return std::nullopt;
    const std::optional<process_entry> entry = read_process(pid);
    if (!entry || !alive(held)) return std::nullopt;
    return entry;
  }

  static bool holds(const std::vector<pinned>& all, pid_t pid) {
    return std::any_of(all.begin(), all.end(), [&](const pinned& one) { return one.pid == pid; });
  }

  // A host with so many open has no two to spare for each process.
  static constexpr int most_descriptors = 1000;

  // Opened while there is time: to find them in /proc when a signal is due costs twenty times more
  // than to read them, and the others are waiting for the same signal.
  void open_lists() noexcept try {
    if (threads_ || descriptor_.native_handle() > most_descriptors) return;
    const std::string threads = fmt::format("/proc/{}/task", pid_);
    const std::string children = fmt::format("{}/{}/children", threads, pid_);
    threads_ = detail::unique_fd(::open(threads.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    children_ = detail::unique_fd(::open(children.c_str(), O_RDONLY | O_CLOEXEC));
  } catch (...) {
    // Without them it takes longer.
  }

  // Whether it is known at once that the process has no child: it has one thread (a directory has
  // two links, and one for each directory in it), and the list of that thread is empty.
  bool is_childless() const noexcept {
    struct stat status {};
    char byte;
    return threads_ && children_ && ::fstat(threads_.get(), &status) == 0 &&
           status.st_nlink == 3 && ::pread(children_.get(), &byte, 1, 0) == 0;
  }

  // Finds the descendants that have left the session. To be done before a signal: when their
  // parents have ended nobody can tell any more whose they were.
  void note_outsiders() noexcept try {
    if (is_childless()) return;
    std::vector<pinned> tree;
    for (pid_t next : read_children(pid_)) consider(next, pid_, tree);
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const pid_t parent = tree[i].pid;
      for (pid_t next : read_children(parent)) consider(next, parent, tree);
    }
    std::erase_if(outsiders_, [&](const pinned& one) {
      return holds(tree, one.pid) || !alive(one);
    });
    for (pinned& one : tree) {
      const auto entry = read_process(one.pid);
      if (entry && entry->session != pid_) outsiders_.push_back(std::move(one));
    }
  } catch (...) {
    // Without memory for the list the session alone is ended.
  }

  void consider(pid_t pid, pid_t parent, std::vector<pinned>& tree) {
    pinned held{pid, {}};
    const auto entry = pin(pid, held);
    if (entry && entry->parent == parent && !holds(tree, pid)) tree.push_back(std::move(held));
  }

  // Sends SIGKILL to all of the tree that can be found; returns those who could be killed.
  //
  // The process itself keeps its number, and that of its session, until it is reaped. Right after
  // that the number is looked at: if it is in use and no process has it, it is that of our
  // session, since a stranger would first have to become a process of that number.
  std::vector<pinned> kill_members() noexcept try {
    signal_group(SIGKILL);
    std::erase_if(outsiders_, [&](const pinned& one) { return !alive(one); });
    const bool in_use = session_in_use();
    if (!in_use && outsiders_.empty()) return {};

    const std::vector<process_entry> all = read_processes();
    const bool taken_over =
        reaped_ && std::any_of(all.begin(), all.end(),
                               [&](const process_entry& one) { return one.pid == pid_; });
    const pid_t session = in_use && !taken_over ? pid_ : 0;
    std::vector<pid_t> roots;
    for (const pinned& one : outsiders_) roots.push_back(one.pid);

    std::vector<pinned> members;
    for (const process_entry& found : select_tree(all, session, roots)) {
      pinned held{found.pid, {}};
      const auto entry = pin(found.pid, held);
      if (!entry || entry->start_time != found.start_time) continue;
      const bool is_ours = (session != 0 && entry->session == session) ||
                           holds(outsiders_, entry->pid) || holds(members, entry->parent);
      if (is_ours) members.push_back(std::move(held));
    }
    std::erase_if(members, [&](const pinned& one) { return !kill(one); });
    return members;
  } catch (...) {
    return {};
  }

  // Waits until a killed process has ended; reaps it where it has fallen to us (as it does to the
  // first process of a container).
  task<void> gone(detail::unique_fd pidfd) {
    asio::posix::stream_descriptor ending(descriptor_.get_executor());
    ending.assign(pidfd.get());
    pidfd.release();
    co_await ending.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    siginfo_t ignored{};
    wait_id(ending.native_handle(), ignored, WEXITED | WNOHANG);
  }

  const detail::syscalls& calls_;
  asio::posix::stream_descriptor descriptor_;
  // Found at the start: the context may be on its way out at the end.
  detail::reaper& reaper_;
  pid_t pid_;
  pid_t owner_;
  std::optional<exit_status> status_;
  bool reaped_ = false;
  bool number_lost_ = false;
  bool tree_ended_ = false;
  std::vector<pinned> outsiders_;
  detail::unique_fd threads_;
  detail::unique_fd children_;
};

}  // namespace elastic

// ---- elastic/process/pidfd_launcher.hpp ----

namespace elastic {

/// How `pidfd_launcher` starts processes.
struct pidfd_launcher_options {
  /// Names the thread that starts the processes: an executor that runs on one thread alone, which
  /// lasts as long as they do. The kernel then kills each process when that thread dies, however
  /// it dies (SIGKILL, a crash, the OOM killer). That reaches the process itself, not what it
  /// starts in turn, and not programs that are setuid.
  ///
  /// Empty: the thread that calls `launch` starts them, and they outlive this process where it is
  /// killed. The kernel knows no parent but the thread, and would kill healthy processes when one
  /// of a pool ends.
  asio::any_io_executor parent = {};
};

/// Starts processes of this machine and holds each by its pidfd.
///
/// Each gets a session of its own, default signal handling, an empty signal mask, and no
/// descriptor but 0, 1 and 2. Nothing process-wide is set or changed in the host, and a start
/// costs the same whatever the size of the host (no `fork`). A start blocks its thread until the
/// kernel has loaded the program (some 50 µs).
///
/// Thread-safety: one strand at a time.
class pidfd_launcher final : public process_launcher {
 public:
  /// What it starts is awaited on `executor`. `calls` must outlive the launcher and what it starts.
  explicit pidfd_launcher(asio::any_io_executor executor, pidfd_launcher_options options = {},
                          const detail::syscalls& calls = detail::real_syscalls)
      : executor_(std::move(executor)), options_(options), calls_(calls) {}

  task<std::unique_ptr<child>> launch(process_spec spec) override {
    if (!options_.parent) co_return start(spec);
    // Cancellation does not reach it: what was started is always handed over.
    co_return co_await asio::co_spawn(
        options_.parent, start_on_parent(std::move(spec)),
        asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
  }

 private:
  task<std::unique_ptr<child>> start_on_parent(process_spec spec) { co_return start(spec); }

  std::unique_ptr<child> start(const process_spec& spec) {
    detail::refuse_zero_bytes(spec);
    const std::string path = detail::find_program(spec);
    const detail::spawn_request request{
        .spec = spec,
        .path = path,
        .arguments = detail::pointers_to(&spec.program, spec.arguments),
        .die_with_parent = static_cast<bool>(options_.parent)};
    const detail::spawn_result started = detail::spawn(request, stack_, calls_);
    if (started.failure) detail::throw_start_error(spec, path, started);
    return std::make_unique<pidfd_child>(executor_, started.pid, started.pidfd, calls_);
  }

  asio::any_io_executor executor_;
  pidfd_launcher_options options_;
  const detail::syscalls& calls_;
  detail::child_stack stack_;
};

}  // namespace elastic

// ---- elastic/process/stop_ladder.hpp ----

namespace elastic {

/// How processes are stopped: asked by a signal, killed when their grace is over.
struct stop_plan {
  /// What they are asked by. SIGKILL does not ask: they are killed at once.
  int signal = SIGTERM;
  /// How long they may take, all together. Zero or less: they are killed at once.
  duration grace = std::chrono::seconds(30);

  friend bool operator==(const stop_plan&, const stop_plan&) = default;
};

/// What to do next on the way to a stop, and why.
struct stop_step {
  enum class action {
    /// Send `signal` to all that run (and SIGCONT, so that a stopped one can follow it).
    send,
    /// Wait until one has ended, or `until`, whichever is first; then ask again.
    wait,
    /// They were killed a while ago: look at what holds them up; then ask again.
    look,
    /// Nothing runs any more.
    done,
  };
  action what;
  int signal = 0;
  time_point until = time_point::max();
  std::string_view reason;
};

/// The stop as a plan: a signal to all, one deadline for all, SIGKILL for who is left. A machine
/// without clock and processes; who drives it tells it both.
class stop_ladder {
 public:
  explicit stop_ladder(stop_plan plan, duration killed_patience = limits::killed_patience)
      : plan_(plan), killed_patience_(killed_patience) {}

  /// The next step when `running` processes are left at the time `now`. `hurry`: nobody wants to
  /// wait for the grace any more.
  stop_step next(std::size_t running, time_point now, bool hurry = false) {
    using action = stop_step::action;
    if (running == 0) return {action::done, 0, now, "all have ended"};
    if (stage_ == stage::killed) {
      if (now < deadline_) {
        return {action::wait, 0, deadline_, "killed, the kernel has yet to end them"};
      }
      deadline_ = later(now, killed_patience_);
      return {action::look, 0, deadline_, "killed a while ago"};
    }
    if (hurry) return kill(now, "told not to wait");
    if (stage_ == stage::asked) {
      if (now < deadline_) return {action::wait, 0, deadline_, "within their grace"};
      return kill(now, "their grace is over");
    }
    if (plan_.signal == SIGKILL) return kill(now, "to be killed at once");
    if (plan_.grace <= duration::zero()) return kill(now, "no grace is given");
    stage_ = stage::asked;
    deadline_ = later(now, plan_.grace);
    return {action::send, plan_.signal, deadline_, "asked to end"};
  }

 private:
  enum class stage { running, asked, killed };

  // A time without end must not wrap around into the past.
  static time_point later(time_point now, duration how_much) {
    return how_much < time_point::max() - now ? now + how_much : time_point::max();
  }

  stop_step kill(time_point now, std::string_view reason) {
    stage_ = stage::killed;
    deadline_ = later(now, killed_patience_);
    return {stop_step::action::send, SIGKILL, time_point::max(), reason};
  }

  stop_plan plan_;
  duration killed_patience_;
  stage stage_ = stage::running;
  time_point deadline_{};
};

}  // namespace elastic

// ---- elastic/process/process_set.hpp ----

#include <deque>

namespace elastic {

/// A process together with the places where its output goes.
struct supervised_process {
  /// Its stdout and stderr descriptors are ignored: `out` and `err` say where they go.
  process_spec process;
  output_plan out;
  output_plan err;
};

/// How and when a process of a set ended.
struct process_end {
  std::size_t index;
  pid_t pid;
  exit_status status;
  time_point at;
  wall_time wall;
  /// Whether the set had asked it to end, or killed it, before it ended.
  bool was_stopped = false;
};

/// What a `process_set` works with.
struct process_set_services {
  /// Null: a `pidfd_launcher` on the set's strand.
  std::shared_ptr<process_launcher> launcher{};
  /// Null: `system_time`.
  std::shared_ptr<time_source> time{};
  /// Default: silent.
  logger log{};
  /// Where copied output is shown; null: nowhere.
  std::shared_ptr<output_sink> console_out{};
  std::shared_ptr<output_sink> console_err{};
  /// Told of each end the moment it is seen (not before `start` has returned), in the place of
  /// `next_end` and `take_ends`, which then tell nothing. Must not throw, nor destroy the set.
  std::function<void(const process_end&)> on_end{};
  /// How long the kernel has to end a process that was killed before each look at it.
  duration killed_patience = limits::killed_patience;
  /// How that look is taken; nothing: the process has ended meanwhile.
  std::function<std::optional<process_sight>(pid_t)> look = look_at_process;
};

/// Several processes as one: started one by one, watched together, stopped together. Each has a
/// place in the set, its index, which can be used again after `clear`.
///
///     process_set workers(strand, services);
///     for (std::size_t i = 0; i < count; ++i) co_await workers.start(i, worker);
///     for (;;) {                                   // restarts whoever ends
///       process_end end = co_await workers.next_end();
///       co_await workers.clear(end.index);
///       co_await workers.start(end.index, worker);
///     }
///
/// Everything that it runs in the background has ended when `stop` returns. Its destructor waits
/// for nothing: it kills what still runs. Nobody may wait for one of its members then.
/// Thread-safety: one strand at a time, the one it was given.
class process_set {
 public:
  explicit process_set(asio::any_io_executor strand, process_set_services services = {})
      : state_(std::make_shared<state>(std::move(strand), std::move(services))) {}
  process_set(const process_set&) = delete;
  process_set& operator=(const process_set&) = delete;
  ~process_set() { abandon(*state_); }

  /// Starts a process at the place `index`, which must be free: never used, or cleared.
  ///
  /// Errors: those of the launcher; `errc::file_access` (a log file) and `errc::start_failed` (a
  /// pipe) for its output. The place is free then.
  /// Cancellation: all types; either nothing was started or the process runs.
  task<void> start(std::size_t index, const supervised_process& what) & {
    return start_in(state_, index, what);
  }
  /// Name the argument first: g++ 12 destroys a braced one twice within a `co_await`.
  task<void> start(std::size_t index, supervised_process&& what) & = delete;

  /// The end of a process that was not told yet, the earliest first; waits for one where there is
  /// none. It is told at once: the process's descendants and its output may not have ended (see
  /// `clear`).
  ///
  /// Cancellation: all types; throws `operation_aborted`, no end is lost. One waiter at a time.
  task<process_end> next_end() & { return next_end_of(state_); }

  /// The ends that were not told yet, in the order of time.
  std::vector<process_end> take_ends() {
    std::vector<process_end> ends(state_->ends.begin(), state_->ends.end());
    state_->ends.clear();
    return ends;
  }

  /// Sends a signal to every process that runs, and its process group.
  void signal(int number) { signal_all(*state_, number); }

  /// The same for one place; nothing where no process runs.
  void signal(std::size_t index, int number) {
    const auto place = find(*state_, index);
    if (place && place->running()) place->process->signal(number);
  }

  /// Takes the first step of a stop, the plan's signal to each process, and returns. To be followed
  /// by `stop` with the same plan, which goes on from there.
  void begin_stop(stop_plan plan) {
    stop_ladder& ladder = state_->begun.emplace(plan, new_ladder(*state_, plan)).second;
    const stop_step step =
        ladder.next(state_->running, state_->services.time->now(), state_->hurry);
    if (step.what == stop_step::action::send) carry_out(*state_, step);
  }

  /// Stops all: the plan's signal to each at once, one grace for all, SIGKILL for who is left;
  /// then clears every place. When it returns, nothing runs and all output is written, except
  /// what a console did not take within the grace (`limits::console_after_stop` at least). The
  /// ends stay to be told by `next_end` and `take_ends`.
  ///
  /// Errors: the first one of a custom launcher's `end_tree`, after everything else is done;
  /// `errc::process_stuck`, naming the process and where in the kernel it waits, for one that was
  /// killed and in which nothing has gone on for `killed_patience`: it is left to the kernel, and
  /// its place is free.
  /// Cancellation: all types; throws `operation_aborted` with the stop half done; call it again.
  /// One caller at a time.
  task<void> stop(stop_plan plan) & { return stop_all(state_, plan); }

  /// Kills every process now. A stop under way no longer waits, neither for a grace nor for a
  /// console that does not take what is to be shown.
  void kill() {
    state_->hurry = true;
    ask_all(*state_, SIGKILL);
    for (const auto& place : state_->places) {
      if (place) place->hurry();
    }
    state_->progress.set();
  }

  /// Ends what is left at a place: kills the descendants (and the process, if it runs), waits until
  /// they are gone and its output is copied, at most `limits::drain_after_exit` for a descendant
  /// that could not be found and holds the pipe. The place is free then. Does nothing where it is
  /// free already.
  ///
  /// Errors: that of a custom launcher's `end_tree`; `errc::process_stuck` as for `stop`, also for
  /// a descendant; the place is free all the same.
  /// Cancellation: all types; throws `operation_aborted`, and the clearing goes on.
  task<void> clear(std::size_t index) & { return clear_in(state_, index); }

  /// How many processes run.
  std::size_t running() const { return state_->running; }

  /// The process started last at a place; 0 where none was.
  pid_t pid(std::size_t index) const {
    const auto place = find(*state_, index);
    return place ? place->pid : 0;
  }

  /// The last lines of stderr of the process started last at a place, where its plan said
  /// `keep_tail`; complete once the place is cleared.
  std::vector<std::string> tail(std::size_t index) const {
    const auto place = find(*state_, index);
    return place ? place->tail() : std::vector<std::string>();
  }

 private:
  using place_pointer = std::shared_ptr<detail::process_slot>;

  // Shared with the coroutines in the background, which may outlive the set by a moment.
  struct state {
    state(asio::any_io_executor executor, process_set_services parts)
        : strand(std::move(executor)),
          services(std::move(parts)),
          end_noted(strand),
          progress(strand) {
      if (!services.launcher) services.launcher = std::make_shared<pidfd_launcher>(strand);
      if (!services.time) services.time = std::make_shared<system_time>();
    }

    asio::any_io_executor strand;
    process_set_services services;
    std::vector<place_pointer> places;
    std::deque<process_end> ends;
    std::size_t running = 0;
    bool hurry = false;
    bool abandoned = false;
    std::optional<std::pair<stop_plan, stop_ladder>> begun;
    event_flag end_noted;
    /// Set where a stop under way should look again: nothing runs, or nobody wants to wait.
    event_flag progress;
  };
  using state_pointer = std::shared_ptr<state>;

  static place_pointer find(const state& all, std::size_t index) {
    return index < all.places.size() ? all.places[index] : nullptr;
  }

  static void signal_all(state& all, int number) {
    for (const auto& place : all.places) {
      if (place && place->running()) place->process->signal(number);
    }
  }

  // The same for a request to end.
  static void ask_all(state& all, int number) {
    for (const auto& place : all.places) {
      if (place && place->running() && place->process->signal(number)) place->was_stopped = true;
    }
  }

  static void abandon(state& all) noexcept {
    all.abandoned = true;
    for (const auto& place : all.places) {
      if (place) place->abandon();
    }
    all.places.clear();
  }

  static task<void> start_in(state_pointer all, std::size_t index, supervised_process what) {
    if (all->places.size() <= index) all->places.resize(index + 1);
    ELASTIC_ASSERT(!all->places[index] || all->places[index]->is_free());
    all->hurry = false;
    all->begun.reset();

    const process_set_services& services = all->services;
    detail::opened_stream out = detail::open_stream(what.out);
    detail::opened_stream err = detail::open_stream(what.err);
    const detail::unique_fd out_end = std::move(out.process_end);
    const detail::unique_fd err_end = std::move(err.process_end);
    what.process.stdout_fd = out_end.get();
    what.process.stderr_fd = err_end.get();
    const auto place = std::make_shared<detail::process_slot>(all->strand, index);
    place->out = place->make_tee(what.out, std::move(out), services.console_out, services.log);
    place->err = place->make_tee(what.err, std::move(err), services.console_err, services.log);
    if (what.err.kind == output_plan::how::file && what.err.keep_tail) {
      place->tail_file = what.err.file;
    }

    std::unique_ptr<child> started = co_await services.launcher->launch(std::move(what.process));
    if (all->abandoned) throw_aborted();
    place->begin(std::move(started));
    all->places[index] = place;
    ++all->running;
    place->run(watch(all, place), place->cancel_watch, [](const std::exception_ptr&) {});
  }

  // Waits for the end of one process and notes it.
  static task<void> watch(state_pointer all, place_pointer place) {
    exit_status status = exit_status::unknown();
    try {
      // One that has ended already is told of when its starter knows of it.
      co_await asio::post(all->strand, asio::use_awaitable);
      status = co_await place->process->wait();
    } catch (const std::exception& failure) {
      all->services.log.debug("process {} cannot be waited for: {}", place->pid, failure.what());
    }
    place->ended.set();
    if (place->abandoned) co_return;
    const time_source& time = *all->services.time;
    process_end end{place->index, place->pid, status, time.now(), time.wall_now()};
    end.was_stopped = place->was_stopped;
    --all->running;
    if (all->running == 0) all->progress.set();
    if (all->services.on_end) {
      [&]() noexcept { all->services.on_end(end); }();
    } else {
      all->ends.push_back(end);
      all->end_noted.set();
    }
  }

  static task<process_end> next_end_of(state_pointer all) {
    while (all->ends.empty()) {
      all->end_noted.reset();
      co_await all->end_noted.wait();
    }
    const process_end end = all->ends.front();
    all->ends.pop_front();
    co_return end;
  }

  [[noreturn]] static void throw_aborted() {
    throw std::system_error(make_error_code(asio::error::operation_aborted));
  }

  static void carry_out(state& all, const stop_step& step) {
    ask_all(all, step.signal);
    // One that is stopped would sleep through the question.
    if (step.signal != SIGKILL) signal_all(all, SIGCONT);
    all.services.log.debug("{} sent to {} processes: {}", signal_name(step.signal), all.running,
                           step.reason);
  }

  static stop_ladder new_ladder(const state& all, stop_plan plan) {
    return stop_ladder(plan, all.services.killed_patience);
  }

  // Says what holds up those that were killed, and gives up those in which nothing goes on.
  static void look_at_killed(state& all) {
    const std::vector<place_pointer> places = all.places;
    for (const auto& place : places) {
      if (!place || !place->running()) continue;
      const auto sight = all.services.look(place->pid);
      if (!sight) continue;
      const std::string text =
          fmt::format("process {} was killed and has not ended: it is {}", place->pid,
                      sight->text());
      if (place->sight && is_stuck(*place->sight, *sight)) {
        place->give_up(text);
      } else {
        all.services.log.warning("{}", text);
      }
      place->sight = sight;
    }
  }

  static task<void> stop_all(state_pointer all, stop_plan plan) {
    time_source& time = *all->services.time;
    const time_point patience_ends = later(time.now(), plan.grace);
    const auto begun = std::exchange(all->begun, std::nullopt);
    stop_ladder ladder = begun && begun->first == plan ? begun->second : new_ladder(*all, plan);
    for (;;) {
      all->progress.reset();
      const stop_step step = ladder.next(all->running, time.now(), all->hurry);
      if (step.what == stop_step::action::done) break;
      if (step.what == stop_step::action::send) {
        carry_out(*all, step);
      } else if (step.what == stop_step::action::look) {
        look_at_killed(*all);
      } else {
        co_await with_deadline(time, step.until, all->progress.wait());
      }
    }
    begin_clearing_all(*all);
    const time_point give_up =
        std::max(patience_ends, later(time.now(), limits::console_after_stop));
    if (co_await with_deadline(time, give_up, all_cleared(all))) co_return;
    for (const auto& place : all->places) {
      if (place) place->hurry();
    }
    co_await all_cleared(all);
  }

  static time_point later(time_point now, duration how_much) {
    return how_much < time_point::max() - now ? now + how_much : time_point::max();
  }

  static void begin_clearing_all(state& all) {
    const std::vector<place_pointer> places = all.places;
    for (const auto& place : places) {
      if (place) begin_clearing(all, place);
    }
  }

  static task<void> all_cleared(state_pointer all) {
    const std::vector<place_pointer> places = all->places;
    for (const auto& place : places) {
      if (place) co_await place->cleared.wait();
    }
    std::exception_ptr failure;
    for (const auto& place : places) {
      if (place && !failure) failure = std::exchange(place->clear_failure, nullptr);
    }
    if (failure) std::rethrow_exception(failure);
  }

  static task<void> clear_in(state_pointer all, std::size_t index) {
    const place_pointer place = find(*all, index);
    if (!place) co_return;
    begin_clearing(*all, place);
    co_await place->cleared.wait();
    if (const auto failure = std::exchange(place->clear_failure, nullptr)) {
      std::rethrow_exception(failure);
    }
  }

  // In the background, so that who waits for it may stop waiting, and two may wait.
  static void begin_clearing(state& all, const place_pointer& place) {
    if (std::exchange(place->clearing, true)) return;
    if (place->running()) place->was_stopped = true;
    place->run(clear_place(place, all.services), place->cancel_clear,
               [place](const std::exception_ptr& failure) {
                 if (!place->clear_failure) place->clear_failure = failure;
                 place->release();
               });
  }

  // Ends what is left of a tree, or gives it up where nothing goes on in any of its processes.
  static task<void> end_tree(place_pointer place, process_set_services services) {
    time_source& time = *services.time;
    std::map<pid_t, process_sight> before;
    for (;;) {
      const time_point patience_ends = later(time.now(), services.killed_patience);
      if (co_await with_deadline(time, patience_ends, place->process->end_tree())) co_return;
      std::string held_up;
      bool all_stuck = true;
      for (const pid_t pid : place->process->left()) {
        const auto sight = services.look(pid);
        if (!sight) continue;
        const auto known = before.find(pid);
        all_stuck = all_stuck && known != before.end() && is_stuck(known->second, *sight);
        before[pid] = *sight;
        held_up += fmt::format("{}process {} is {}", held_up.empty() ? "" : ", ", pid,
                               sight->text());
      }
      if (held_up.empty()) continue;
      const std::string text = fmt::format(
          "what worker {} left behind was killed and has not ended: {}", place->pid, held_up);
      if (all_stuck) throw error(errc::process_stuck, text);
      services.log.warning("{}", text);
    }
  }

  static task<void> clear_place(place_pointer place, process_set_services services) {
    try {
      if (!place->given_up) co_await end_tree(place, services);
    } catch (...) {
      if (!place->clear_failure) place->clear_failure = std::current_exception();
      // Whatever it still does, the place waits for it no longer.
      place->cancel_watch.emit(asio::cancellation_type::terminal);
    }
    co_await place->ended.wait();
    co_await place->drain(services.time);
  }

  state_pointer state_;
};

}  // namespace elastic

// ---- elastic/store/store.hpp ----

namespace elastic {

/// A key-value store that agents and workers share, with the operations of PyTorch's Store.
///
/// Time limits are the caller's: `with_deadline(time, deadline, shared.get("key"))`.
///
/// Errors of every operation: `errc::connection_failed`, `errc::protocol_violation`,
/// `errc::stopped` (this store was closed), `errc::invalid_argument` (a key or value over
/// `limits::store_key_bytes` / `limits::store_value_bytes`).
/// Cancellation of every operation: all types. A wait that was cancelled leaves nothing behind; a
/// change that was cancelled may or may not have happened.
/// Thread-safety: one strand at a time, unless an implementation says otherwise.
class store {
 public:
  virtual ~store() = default;

  /// Stores `value` under `key` and wakes who waits for it.
  virtual task<void> set(std::string key, std::string value) = 0;

  /// The value of `key`; waits until the key exists.
  virtual task<std::string> get(std::string key) = 0;

  /// Adds to the number that `key` holds as decimal text (0 where the key is missing).
  /// Result: the sum. Errors: `errc::store_value` where the value is not a number.
  virtual task<std::int64_t> add(std::string key, std::int64_t delta) = 0;

  /// Replaces the value if it equals `expected`; a missing key equals the empty text.
  /// Result: what the store holds afterwards (`expected` where the key is missing and stays so),
  /// so the exchange took place if it equals `desired`.
  virtual task<std::string> compare_set(std::string key, std::string expected,
                                        std::string desired) = 0;

  /// Waits until every one of the keys exists.
  virtual task<void> wait(std::vector<std::string> keys) = 0;

  /// Whether every one of the keys exists.
  virtual task<bool> check(std::vector<std::string> keys) = 0;

  /// Removes the key. Result: whether it existed.
  virtual task<bool> erase(std::string key) = 0;

  /// The number of keys in the whole store, those under other prefixes included.
  virtual task<std::int64_t> num_keys() = 0;

  /// Appends to the value of `key`, which is made where it is missing.
  /// Errors: `errc::not_supported` where the server is PyTorch's of before 2.1.
  virtual task<void> append(std::string key, std::string value) = 0;

  /// The values of all keys, in their order; waits until every one exists.
  virtual task<std::vector<std::string>> multi_get(std::vector<std::string> keys) = 0;

  /// Stores every pair of key and value.
  virtual task<void> multi_set(std::vector<std::pair<std::string, std::string>> pairs) = 0;
};

}  // namespace elastic

// ---- elastic/rendezvous/rendezvous_handler.hpp ----

namespace elastic {

/// Where the workers of a round find each other: MASTER_ADDR, MASTER_PORT and who serves there.
struct master_endpoint {
  std::string address;
  std::uint16_t port = 0;
  /// True: an agent serves a store there, and every worker is a client of it. False: the worker
  /// of rank 0 is expected to serve.
  bool served_by_agent = false;
};

/// How the agents of a round tell each other about their workers.
enum class agent_dialect {
  /// As PyTorch's since 2.4: the node of group rank 0 gathers what all told, and assigns.
  assign,
  /// As PyTorch's before: each reads what all told, and counts for itself. Then the node of group
  /// rank 0 tells the others where the workers meet.
  gather,
};

/// What one round of the rendezvous agreed upon.
struct rendezvous_round {
  std::int64_t round = 0;
  /// This node's place among the nodes of the round, 0 … group_world_size - 1.
  int group_rank = 0;
  int group_world_size = 1;
  /// How often workers of the job have failed before: what max_restarts is compared with.
  int restarts = 0;
  /// Shared by the agents of this round and of no other.
  std::shared_ptr<store> agents;
  /// How long these agents wait for each other to tell about their workers.
  duration exchange_timeout = std::chrono::seconds(300);
  agent_dialect dialect = agent_dialect::assign;
  /// With `agent_dialect::gather` that of the node of group rank 0 counts.
  master_endpoint master;
};

/// Why a round ends before its workers do.
enum class change_kind {
  /// A node waits to join.
  node_waiting,
  /// A node is gone.
  node_lost,
  /// Workers failed, on whichever node.
  worker_failed,
};

struct rendezvous_change {
  change_kind kind = change_kind::node_waiting;
  /// One half sentence that names the node: "node a_71_0 waits to join".
  std::string what;
  /// How often workers of the job have failed, this time included; the other kinds are free.
  int restarts = 0;
  /// By when the workers of this node are to be gone, counted from now, because the others may go
  /// on without it then: it has lost them.
  duration grace = duration::max();
};

/// How a job ends, for all of its nodes.
enum class job_end { succeeded, failed };

/// How nodes agree on who is in. Implement it to bring your own; register it under a name
/// (`rendezvous_registry`) to make it available to `--rdzv-backend`.
///
/// Errors of every member that waits: `errc::rendezvous_closed` where the job failed meanwhile,
/// `errc::rendezvous_finished` where it succeeded, `errc::connection_failed`.
/// Thread-safety: one strand at a time.
class rendezvous_handler {
 public:
  virtual ~rendezvous_handler() = default;

  /// The name under which it is registered, such as "c10d".
  virtual std::string backend() const = 0;

  virtual std::string run_id() const = 0;

  /// Leaves the round that this node is in, if any, and takes part in the next one. What served
  /// the workers of the round before (its master endpoint) ends: call it when they are gone.
  ///
  /// Errors: `errc::rendezvous_timeout`, `errc::rendezvous_state`, those of all members.
  /// Cancellation: all types; this node is then in no round.
  virtual task<rendezvous_round> next_round() = 0;

  /// Waits until the round is to end: a node waits to join, one was lost, or workers failed. The
  /// first such change of a round stays: who asks later is told at once.
  ///
  /// Cancellation: all types, no effect.
  virtual task<rendezvous_change> wait_for_change() = 0;

  /// Workers of this node have failed: tells every other node of the round at once.
  ///
  /// @param what  a half sentence, such as "rank 3 ended: signal SIGKILL"
  /// Result: the change that ends the round: this one, or an earlier one, where the failure is
  /// taken for its consequence and costs no restart.
  /// Cancellation: all types; the others may or may not have been told.
  virtual task<rendezvous_change> report_failure(std::string what) = 0;

  /// The workers of this node have succeeded: waits until those of every node of the round have,
  /// so that one that finishes early is not taken for a lost node. Bound it by `with_deadline`,
  /// and race it against `wait_for_change`.
  ///
  /// Cancellation: all types; this node stays counted as one that has finished.
  virtual task<void> exit_barrier() = 0;

  /// How many nodes wait to join the next round.
  virtual task<int> num_nodes_waiting() = 0;

  virtual task<bool> is_closed() = 0;

  /// Closes the rendezvous: the job is over for every node, and later ones are told so.
  /// @param why  one sentence, for them
  virtual task<void> close(job_end how, std::string why) = 0;

  /// Leaves without closing, and ends everything that this handler runs. The last call.
  virtual task<void> shutdown() = 0;
};

}  // namespace elastic

// ---- elastic/agent/worker_group.hpp ----

#include <tuple>

namespace elastic {

/// One worker of this node, in the attempt that was started last.
struct worker {
  worker_identity identity;
  pid_t pid = 0;
  std::string error_file;
  /// How it ended; none while it runs.
  std::optional<process_end> end;
  /// Why it was taken for hung and ended; empty where it was not.
  std::string hung;
  /// It ended after `worker_group::stop` had told it to.
  bool stopped_by_agent = false;
  /// It was killed while the kernel killed processes because memory had run out.
  bool out_of_memory = false;
};

/// Who the workers of this node are in a round, by local rank.
inline std::vector<worker_identity> identities(const worker_spec& spec,
                                               const rendezvous_round& round,
                                               const assigned_ranks& ranks) {
  std::vector<worker_identity> all;
  for (int local_rank = 0; local_rank < spec.local_world_size; ++local_rank) {
    worker_identity who;
    who.local_rank = local_rank;
    who.rank = ranks.base_rank + local_rank;
    who.group_rank = round.group_rank;
    who.role_rank = ranks.base_role_rank + local_rank;
    who.local_world_size = spec.local_world_size;
    who.world_size = ranks.world_size;
    who.group_world_size = round.group_world_size;
    who.role_world_size = ranks.role_world_size;
    who.role_name = spec.role;
    all.push_back(std::move(who));
  }
  return all;
}

/// What the workers of this node have in common in a round.
inline worker_surroundings surroundings(const worker_spec& spec, const rendezvous_round& round,
                                        std::string run_id, int restart_count) {
  worker_surroundings job;
  job.master_addr = round.master.address;
  job.master_port = round.master.port;
  job.use_agent_store = round.master.served_by_agent;
  job.run_id = std::move(run_id);
  job.restart_count = restart_count;
  job.max_restarts = spec.max_restarts;
  return job;
}

namespace detail {

/// Where one stream of a worker goes: torchrun's redirects and tee, and its stderr kept for the
/// report where it is not in a file.
inline output_plan plan_output(const worker_spec& spec, const worker_identity& who,
                               std_streams stream, std::string file) {
  const bool teed = contains(spec.tee.of(who.local_rank), stream);
  const bool redirected = contains(spec.redirects.of(who.local_rank), stream);
  output_plan plan;
  if (teed) {
    plan.kind = output_plan::how::copy;
    plan.file = std::move(file);
    plan.prefix = line_prefix(spec.line_prefix_template, who.role_name, who.rank, who.local_rank);
  } else if (redirected) {
    plan.kind = file.empty() ? output_plan::how::null : output_plan::how::file;
    plan.file = std::move(file);
  } else if (stream == std_streams::err) {
    plan.kind = output_plan::how::copy;
  }
  plan.keep_tail = stream == std_streams::err && plan.kind != output_plan::how::null;
  return plan;
}

/// Whether an end that came after the stop is the stop's doing. A crash of its own that fell into
/// the same moment is not.
inline bool is_due_to_stop(const exit_status& status, int stop_signal) {
  const std::optional<int> signal = status.signal();
  return !signal || *signal == stop_signal || *signal == SIGKILL || *signal == SIGTERM;
}

}  // namespace detail

/// The workers of this node: started together, watched together, stopped together.
///
/// The steps of the agent, each by itself: compose your own agent from them.
/// Thread-safety: one strand at a time, that of the executor it was given.
class worker_group {
 public:
  /// `layout` must outlive the group. The services must be set, but for telemetry.
  worker_group(asio::any_io_executor strand, worker_spec spec, const agent_services& services,
               log_layout& layout)
      : spec_(std::move(spec)),
        layout_(layout),
        log_(services.log),
        observer_(services.observer),
        outcome_known_(strand),
        time_(services.time),
        channels_(strand, channel_options(services)),
        processes_(strand, process_services(services)) {}

  worker_group(const worker_group&) = delete;
  worker_group& operator=(const worker_group&) = delete;

  /// From now on the first worker that fails has the others asked to end in the same moment, before
  /// anybody who waits for the outcome hears of it. `stop` with the same plan then goes on.
  void stop_on_failure(stop_plan plan) { on_failure_ = plan; }

  /// Starts every worker for a round. The group must have no worker that runs.
  ///
  /// Result: all run. Errors: those of the launcher and `errc::file_access`; then none runs.
  /// Cancellation: all types; none runs then.
  task<void> start(rendezvous_round round, assigned_ranks ranks, std::string run_id,
                   int restart_count) {
    ELASTIC_ASSERT(processes_.running() == 0);
    layout_.start_attempt(restart_count, spec_.local_world_size);
    const worker_surroundings job =
        surroundings(spec_, round, std::move(run_id), restart_count);
    started_ = time_->wall_now();
    oom_kills_ = count_oom_kills();
    workers_.clear();
    sheets_.clear();
    ended_.clear();
    succeeded_ = 0;
    has_failed_ = false;
    stop_signal_.reset();
    stop_announced_ = false;
    no_restart_.reset();
    bad_node_.reset();
    outcome_known_.reset();
    base_rank_ = ranks.base_rank;
    channels_.open(spec_.local_world_size);
    state_ = worker_state::init;
    stop_plan at_once;
    at_once.signal = SIGKILL;
    co_await with_rollback(start_all(identities(spec_, round, ranks), job), stop(at_once));
    state_ = worker_state::healthy;
    judge();
  }

  /// Waits until the group's fate is known: all workers ended with success, one failed (or is
  /// hung, or said that the node is bad), or all
  /// ended since `stop` or `kill` told them to. `state()` then says which. The others of a failed
  /// group still run (see `stop_on_failure`).
  ///
  /// Cancellation: all types, no effect; may be awaited again.
  task<void> wait_for_outcome() {
    if (state_ == worker_state::healthy) co_await outcome_known_.wait();
  }

  /// Stops what runs: the plan's signal to all, its grace, SIGKILL. When this returns nothing of
  /// the workers' trees that can be found is left, and all their output is where it belongs.
  ///
  /// Cancellation: all types; throws with the stop half done: call it again, with the same plan or
  /// another. `kill` makes it end at once.
  task<void> stop(stop_plan plan) {
    stop_signal_ = plan.signal;
    announce_stop(plan);
    co_await processes_.stop(plan);
    co_await channels_.close();
  }

  /// Asks the workers for a checkpoint over the control channel; those that want to be asked.
  ///
  /// Result: when all have answered or ended, at the latest after `within`.
  /// Cancellation: all types; throws `operation_aborted`.
  task<checkpoint_outcome> checkpoint(duration within) { return channels_.checkpoint(within); }

  /// Tells the workers on the control channel to pause, or to go on.
  void pause() { channels_.pause(); }
  void resume() { channels_.resume(); }

  /// Why the job is not to be started again where this attempt fails, as a worker said; none where
  /// none did.
  const std::optional<std::string>& no_restart() const { return no_restart_; }

  /// Why this node is to leave the job, as a worker said; none where none did.
  const std::optional<std::string>& bad_node() const { return bad_node_; }

  /// Passes a signal on to every worker that runs.
  void signal(int number) { processes_.signal(number); }

  /// Kills every worker that runs; a stop under way ends at once. Where none is, call it next.
  void kill() {
    if (!stop_signal_) stop_signal_ = SIGKILL;
    processes_.kill();
  }

  worker_state state() const { return state_; }

  /// How many workers run.
  std::size_t running() const { return processes_.running(); }

  /// The workers of the last attempt, by local rank.
  const std::vector<worker>& workers() const { return workers_; }

  /// The worker that ended first without success, as far as anybody knows by now; null: none.
  const worker* first_failed() const {
    for (const std::size_t index : ended_) {
      if (!workers_[index].end->status.success()) return &workers_[index];
    }
    return nullptr;
  }

  /// The workers that did not end with success, in the order of their ends. To be asked after
  /// `stop`: what they wrote is known only then.
  std::vector<worker_failure> failures(const std::string& host) const {
    std::vector<worker_failure> described;
    for (const std::size_t index : ended_) {
      const worker& one = workers_[index];
      if (!one.end->status.success()) described.push_back(describe(one, host));
    }
    return described;
  }

  /// What the workers' function returned, by rank in the job; of those that ended with success and
  /// left a value. To be asked after `stop`.
  std::map<int, nlohmann::json> return_values() const {
    std::map<int, nlohmann::json> values;
    for (std::size_t slot = 0; slot < sheets_.size(); ++slot) {
      const worker& one = workers_[slot];
      if (!one.end || !one.end->status.success()) continue;
      take_value(values, one.identity.rank, sheets_[slot].answer());
    }
    return values;
  }

 private:
  process_set_services process_services(const agent_services& services) {
    process_set_services parts;
    parts.launcher = services.launcher;
    parts.time = services.time;
    parts.log = services.log;
    parts.console_out = services.console_out;
    parts.console_err = services.console_err;
    parts.on_end = [this](const process_end& end) {
      note(end);
      judge();
      note_cause(end);
    };
    return parts;
  }

  worker_channels_options channel_options(const agent_services& services) {
    worker_channels_options parts;
    parts.liveness = spec_.liveness;
    parts.time = services.time;
    parts.log = services.log;
    parts.timer_file = find_variable(spec_.environment, "TORCHELASTIC_ENABLE_FILE_TIMER") == "1";
    parts.timer_path =
        find_variable(spec_.environment, "TORCHELASTIC_TIMER_FILE").value_or(std::string());
    channel_events& events = parts.events;
    events.hung = [this](int local_rank, const liveness_verdict& verdict) {
      end_hung(local_rank, verdict);
    };
    events.progress = [this](int local_rank, const control_messages::progress& said) {
      pass_on(local_rank, said);
    };
    events.no_restart = [this](int local_rank, const std::string& reason) {
      if (no_restart_) return;
      no_restart_ = said_by(local_rank, "asked not to be started again", reason);
      log_.warning("{}", *no_restart_);
    };
    events.bad_node = [this](int local_rank, const std::string& reason) {
      if (bad_node_) return;
      bad_node_ = said_by(local_rank, "says that this node is bad", reason);
      log_.error("{}", *bad_node_);
      judge();
    };
    events.owner_of = [this](pid_t pid) { return owner_of(pid); };
    return parts;
  }

  std::string said_by(int local_rank, const char* what, const std::string& reason) const {
    return fmt::format("rank {} {}{}{}", base_rank_ + local_rank, what, reason.empty() ? "" : ": ",
                       reason);
  }

  void end_hung(int local_rank, const liveness_verdict& verdict) {
    const auto slot = static_cast<std::size_t>(local_rank);
    if (slot >= workers_.size() || workers_[slot].end) return;
    worker& one = workers_[slot];
    one.hung = verdict.reason;
    log_.warning("{} rank {} (local rank {}, pid {}) is hung: {}; it gets {}",
                 one.identity.role_name, one.identity.rank, local_rank, one.pid, one.hung,
                 signal_name(verdict.signal));
    hung_worker found;
    found.rank = one.identity.rank;
    found.local_rank = local_rank;
    found.pid = one.pid;
    found.reason = one.hung;
    tell_observer([&](worker_observer& observer) { observer.hung(found); });
    processes_.signal(slot, verdict.signal);
  }

  void pass_on(int local_rank, const control_messages::progress& said) {
    worker_progress made;
    made.rank = base_rank_ + local_rank;
    made.local_rank = local_rank;
    made.step = said.step;
    made.total = said.total;
    made.text = said.text;
    made.metrics = said.metrics;
    tell_observer([&](worker_observer& observer) { observer.progress(made); });
  }

  template <class Call>
  void tell_observer(Call call) {
    if (!observer_) return;
    try {
      call(*observer_);
    } catch (const std::exception& failure) {
      log_.warning("the observer of workers failed: {}", failure.what());
    } catch (...) {
      log_.warning("the observer of workers failed");
    }
  }

  // The worker that a process is or descends from. Its number may be another process's by now,
  // which costs a worker nothing but a timer of somebody of its own tree.
  std::optional<int> owner_of(pid_t pid) const {
    constexpr int deepest = 64;
    for (int level = 0; level < deepest && pid > 1; ++level) {
      for (const worker& one : workers_) {
        if (one.pid == pid && !one.end) return one.identity.local_rank;
      }
      const auto entry = read_process(pid);
      if (!entry) break;
      pid = entry->parent;
    }
    return std::nullopt;
  }

  void announce_stop(const stop_plan& plan) {
    if (plan.signal == SIGKILL || std::exchange(stop_announced_, true)) return;
    channels_.announce_stop(plan.grace);
  }

  // At once: each waits for the first word of its guard, and these come from other processors.
  task<void> start_all(std::vector<worker_identity> all, const worker_surroundings& job) {
    workers_.resize(all.size());
    if (spec_.function) sheets_.resize(all.size());
    std::vector<task<void>> starts;
    for (worker_identity& who : all) starts.push_back(start_worker(std::move(who), job));
    return when_all(std::move(starts));
  }

  std::vector<std::string> environment_of(const worker_identity& who,
                                          const worker_surroundings& job,
                                          const std::string& error_file) const {
    environment_map variables = spec_.environment;
    for (const auto& [name, value] : channels_.environment()) {
      // What a launcher around this one said of its own channel is not for our workers.
      if (value.empty()) variables.erase(name);
      else variables[name] = value;
    }
    for (const auto& [name, value] : spec_.variables) {
      variables[name] = substitute_macros(value, macros_of(who.role_name, who.rank,
                                                           who.local_rank));
    }
    worker_identity shown = who;
    if (spec_.virtual_local_rank) {
      leave_one_device(variables, who.local_rank);
      shown.local_rank = 0;
    }
    return worker_environment(std::move(variables), shown, job, error_file);
  }

  task<void> start_worker(worker_identity who, const worker_surroundings& job) {
    const auto slot = static_cast<std::size_t>(who.local_rank);
    const std::string error_file = layout_.error_file(who.local_rank);
    supervised_process what;
    what.process.program = spec_.program;
    for (const std::string& argument : spec_.arguments) {
      what.process.arguments.push_back(substitute_local_rank(argument, who.local_rank));
    }
    what.process.environment = environment_of(who, job, error_file);
    if (!spec_.processors.empty()) what.process.processors = spec_.processors.at(slot);
    if (spec_.function) give_call(slot, what.process);
    what.process.directory = spec_.directory;
    what.out = detail::plan_output(spec_, who, std_streams::out,
                                   layout_.stdout_file(who.local_rank));
    what.err = detail::plan_output(spec_, who, std_streams::err,
                                   layout_.stderr_file(who.local_rank));
    workers_.at(slot).error_file = error_file;
    workers_.at(slot).identity = who;
    co_await processes_.start(slot, what);
    workers_.at(slot).pid = processes_.pid(slot);
    if (!workers_.at(slot).end) channels_.started(who.local_rank);
  }

  void give_call(std::size_t slot, process_spec& process) {
    sheets_.at(slot) = call_sheet::make(detail::arguments_text(*spec_.function),
                                        return_value_bound(spec_.local_world_size));
    process.stdin_fd = sheets_[slot].descriptor();
    const std::string variable = fmt::format("{}=", entrypoint_variable);
    std::erase_if(process.environment, [&](const auto& one) { return one.starts_with(variable); });
    process.environment.push_back(variable + spec_.function->name);
  }

  void take_value(std::map<int, nlohmann::json>& values, int rank, call_answer answer) const {
    std::string problem;
    if (answer.kind == call_answer::what::value) {
      try {
        values.emplace(rank, detail::call_value(answer.text, "it"));
        return;
      } catch (const error& failure) {
        problem = failure.what();
      }
    } else {
      problem = answer.kind == call_answer::what::garbage ? answer.text
                                                          : "it ended before its function returned";
    }
    log_.warning("rank {} ended with success, but there is no return value: {}", rank, problem);
  }

  /// The reason of a failure that a function left where there is no error file.
  std::optional<error_file_content> failure_of_call(std::size_t slot) const {
    if (slot >= sheets_.size()) return std::nullopt;
    const call_answer left = sheets_[slot].answer();
    if (left.kind != call_answer::what::failure) return std::nullopt;
    return parse_error_file(left.text);
  }

  void note(const process_end& end) {
    worker& one = workers_.at(end.index);
    one.end = end;
    channels_.ended(static_cast<int>(end.index));
    ended_.push_back(end.index);
    one.stopped_by_agent =
        end.was_stopped && stop_signal_ && detail::is_due_to_stop(end.status, *stop_signal_);
    if (end.status.success()) {
      ++succeeded_;
    } else if (!end.was_stopped) {
      has_failed_ = true;
    }
  }

  /// What takes time to find out, after the others were told.
  void note_cause(const process_end& end) {
    worker& one = workers_.at(end.index);
    if (one.stopped_by_agent || !one.hung.empty() || end.status.signal() != SIGKILL) return;
    const auto kills = count_oom_kills();
    one.out_of_memory = kills && oom_kills_ && *kills > *oom_kills_;
  }

  void judge() {
    if (state_ != worker_state::healthy) return;
    if (succeeded_ == workers_.size()) {
      state_ = worker_state::succeeded;
    } else if (has_failed_ || bad_node_) {
      state_ = worker_state::failed;
    } else if (stop_signal_ && ended_.size() == workers_.size()) {
      state_ = worker_state::stopped;
    } else {
      return;
    }
    if (state_ == worker_state::failed && on_failure_) {
      stop_signal_ = on_failure_->signal;
      announce_stop(*on_failure_);
      processes_.begin_stop(*on_failure_);
    }
    outcome_known_.set();
  }

  worker_failure describe(const worker& one, const std::string& host) const {
    const auto slot = static_cast<std::size_t>(one.identity.local_rank);
    worker_failure failure;
    failure.rank = one.identity.rank;
    failure.local_rank = one.identity.local_rank;
    failure.group_rank = one.identity.group_rank;
    failure.role = spec_.role;
    failure.host = host;
    failure.pid = one.pid;
    failure.status = one.end->status;
    failure.at = one.end->wall;
    failure.error_file = one.error_file;
    failure.error = read_error_file(one.error_file);
    if (!failure.error) failure.error = failure_of_call(slot);
    failure.last_stderr = processes_.tail(slot);
    failure.stopped_by_agent = one.stopped_by_agent;
    failure.out_of_memory = one.out_of_memory;
    failure.hung = one.hung;
    if (one.end->status.core_dumped()) {
      // The directory is that in which the agent's programs start: relative names are of there.
      const auto since = std::chrono::system_clock::to_time_t(started_);
      failure.core_file = find_core(one.pid, spec_.directory, since);
    }
    return failure;
  }

  worker_spec spec_;
  log_layout& layout_;
  logger log_;
  std::shared_ptr<worker_observer> observer_;
  std::optional<stop_plan> on_failure_;
  event_flag outcome_known_;
  std::shared_ptr<time_source> time_;
  wall_time started_;
  /// As counted when the workers were started.
  std::optional<std::uint64_t> oom_kills_;
  worker_channels channels_;
  int base_rank_ = 0;
  bool stop_announced_ = false;
  std::optional<std::string> no_restart_;
  std::optional<std::string> bad_node_;
  std::vector<worker> workers_;
  /// Of the same places, where the workers run a function.
  std::vector<call_sheet> sheets_;
  /// Their places, in the order of their ends.
  std::vector<std::size_t> ended_;
  std::size_t succeeded_ = 0;
  bool has_failed_ = false;
  std::optional<int> stop_signal_;
  worker_state state_ = worker_state::init;
  // The last, since it tells the others of ends.
  process_set processes_;
};

}  // namespace elastic

// ---- elastic/net/host_name.hpp ----

namespace elastic {

/// The name of this host as it is set, "localhost" where none is. No name server is asked.
inline std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

}  // namespace elastic

// ---- elastic/agent/agent_telemetry.hpp ----

namespace elastic {

/// What an agent records of itself and its workers, in torchelastic's names and shape.
///
/// A handler that throws is logged; the job goes on.
/// Thread-safety: the agent's strand.
class agent_telemetry {
 public:
  agent_telemetry(agent_services services, const worker_spec& spec, std::string run_id,
                  std::string rdzv_backend)
      : services_(std::move(services)),
        role_(spec.role),
        entry_point_(spec.program.substr(spec.program.rfind('/') + 1)),
        run_id_(std::move(run_id)),
        rdzv_backend_(std::move(rdzv_backend)),
        started_(services_.time->now()) {}

  /// A step of the agent: emits at its end how long it took, and whether it ended by an exception
  /// or was told to have failed, under the name that torchelastic gives it.
  class timed_step {
   public:
    timed_step(agent_telemetry& telemetry, std::string step)
        : telemetry_(telemetry), step_(std::move(step)), began_(telemetry.services_.time->now()) {}
    timed_step(const timed_step&) = delete;
    timed_step& operator=(const timed_step&) = delete;
    ~timed_step() {
      if (!telemetry_.services_.metrics) return;
      const auto took = telemetry_.services_.time->now() - began_;
      const bool failed = failed_ || std::uncaught_exceptions() > exceptions_;
      telemetry_.emit(step_ + (failed ? ".failure" : ".success"), 1);
      telemetry_.emit(step_ + ".duration.ms",
                      std::chrono::duration_cast<std::chrono::milliseconds>(took).count());
    }
    void fail() { failed_ = true; }

   private:
    agent_telemetry& telemetry_;
    std::string step_;
    time_point began_;
    int exceptions_ = std::uncaught_exceptions();
    bool failed_ = false;
  };

  /// The metrics of a look at the workers, periodic and when their fate is known: the restarts that
  /// are left, and a 1 under the state's name. Looking takes no time: nothing is polled.
  void emit_state(worker_state state, int remaining_restarts) {
    emit("LocalElasticAgent._monitor_workers.success", 1);
    emit("LocalElasticAgent._monitor_workers.duration.ms", 0);
    emit(fmt::format("workers.{}.remaining_restarts", role_), remaining_restarts);
    std::string name(to_string(state));
    for (char& letter : name) letter = static_cast<char>(std::tolower(letter));
    emit(fmt::format("workers.{}.{}", role_, name), 1);
  }

  /// Runs a task as a timed_step.
  template <class T>
  task<T> timed(std::string step, task<T> work) {
    const timed_step timer(*this, std::move(step));
    co_return co_await std::move(work);
  }

  /// The metrics of a run that ended by itself.
  void emit_result(const run_result& result) {
    const bool failed = result.state != worker_state::succeeded;
    const int remaining = result.max_restarts - result.restarts;
    const bool retried = result.restarts > 0;
    const double steady = 100.0 * (remaining + 1) / (result.max_restarts + 1);
    emit(fmt::format("workers.{}.flakiness", role_), failed ? 100 : static_cast<int>(100 - steady));
    emit(fmt::format("workers.{}.run_total", role_), 1);
    const auto count = [&](const char* name, bool counts) {
      emit(fmt::format("workers.{}.{}", role_, name), counts ? 1 : 0);
    };
    count("run_success_with_retries", !failed && retried);
    count("run_success_no_retries", !failed && !retried);
    count("run_failed_with_retries", failed && retried);
    count("run_failed_no_retries", failed && !retried);
  }

  /// One event per worker of the last attempt, how it ended; none for those that never started.
  void record_workers(const worker_group& group, const run_result& result) {
    for (const worker& one : group.workers()) {
      event happened = common(worker_event_state(one), result.restarts, one.identity.group_rank,
                              one.identity.group_world_size);
      happened.source = event_source::worker;
      event::worker_part part;
      part.pid = one.pid;
      part.global_rank = one.identity.rank;
      part.local_rank = one.identity.local_rank;
      part.role_rank = one.identity.role_rank;
      part.role_world_size = one.identity.role_world_size;
      happened.worker = part;
      if (happened.state == "FAILED") {
        const auto content = read_error_file(one.error_file);
        happened.raw_error = content ? content->raw_json : R"({"message": "<NONE>"})";
        if (!content && !one.hung.empty()) happened.raw_error = hung_error(one.hung);
      }
      record(happened);
    }
  }

  /// The agent's own event: SUCCEEDED where it did its work, whatever the workers did; FAILED with
  /// the reason where it could not.
  void record_agent(const worker_group& group, int restarts,
                    const std::optional<std::string>& failure) {
    const bool started = !group.workers().empty();
    const worker_identity who = started ? group.workers().front().identity : worker_identity{};
    event happened = common(failure ? "FAILED" : "SUCCEEDED", restarts,
                            started ? std::optional<int>(who.group_rank) : std::nullopt,
                            started ? who.group_world_size : 0);
    happened.raw_error = failure;
    record(happened);
  }

 private:
  static std::string hung_error(const std::string& reason) {
    return fmt::format(R"({{"message": {}}})", detail::json_quoted("hung: " + reason));
  }

  static std::string worker_event_state(const worker& one) {
    if (one.end && one.end->status.success()) return "SUCCEEDED";
    return one.end && !one.stopped_by_agent ? "FAILED" : "TERMINATED";
  }

  event common(std::string state, int restarts, std::optional<int> group_rank,
               int group_world_size) const {
    event happened;
    happened.name = "torchelastic.worker.status." + state;
    happened.run_id = run_id_;
    happened.role = role_;
    happened.hostname = host_name();
    happened.rdzv_backend = rdzv_backend_;
    happened.state = std::move(state);
    happened.total_run_time =
        std::chrono::duration_cast<std::chrono::seconds>(services_.time->now() - started_).count();
    happened.agent_restarts = restarts;
    happened.group_rank = group_rank;
    happened.group_world_size = group_world_size;
    happened.entry_point = entry_point_;
    return happened;
  }

  void record(const event& happened) {
    if (!services_.events) return;
    try {
      services_.events->record(happened);
    } catch (const std::exception& failure) {
      services_.log.warning("the event handler failed: {}", failure.what());
    } catch (...) {
      services_.log.warning("the event handler failed");
    }
  }

  void emit(std::string name, std::int64_t value) {
    if (!services_.metrics) return;
    metric measured;
    measured.name = std::move(name);
    measured.value = value;
    measured.at = services_.time->wall_now();
    try {
      services_.metrics->emit(measured);
    } catch (const std::exception& failure) {
      services_.log.warning("the metric handler failed: {}", failure.what());
    } catch (...) {
      services_.log.warning("the metric handler failed");
    }
  }

  agent_services services_;
  std::string role_;
  std::string entry_point_;
  std::string run_id_;
  std::string rdzv_backend_;
  time_point started_;
};

}  // namespace elastic

// ---- elastic/agent/failure_report.hpp ----

namespace elastic {

namespace detail {

/// How long the agent may learn of a death after the dead worker's peers have: their lost
/// connections wake them at the same time, and a busy machine runs them first.
inline constexpr std::chrono::seconds notice_delay{1};

/// Whether a signal that the agent did not send ended the worker, one that a peer's failure does
/// not lead to: SIGABRT and SIGPIPE are how programs end that lost a connection.
inline bool was_struck(const worker_failure& failure) {
  const auto number = failure.status.signal();
  return number && *number != SIGABRT && *number != SIGPIPE && !failure.stopped_by_agent;
}

/// The earliest time at which a worker can have failed.
inline wall_time earliest_moment(const worker_failure& failure) {
  if (failure.error && failure.error->timestamp != 0) {
    const wall_time said{std::chrono::seconds(failure.timestamp())};
    const wall_time fine = failure.moment();
    return fine >= said && fine < said + std::chrono::seconds(2) ? fine : said;
  }
  return was_struck(failure) ? failure.at - notice_delay : failure.at;
}

/// When the first worker failed that the agent had not stopped; none where it had stopped all.
inline std::optional<wall_time> first_own_failure(const std::vector<worker_failure>& failures) {
  std::optional<wall_time> first;
  for (const worker_failure& failure : failures) {
    if (failure.stopped_by_agent) continue;
    const wall_time at = earliest_moment(failure);
    if (!first || at < *first) first = at;
  }
  return first;
}

/// Whether a worker failed only because the agent stopped it. One that had left its error file
/// before anybody else failed was failing by itself, and was still busy ending when it was stopped.
inline bool is_victim(const worker_failure& failure, const std::optional<wall_time>& first_own) {
  if (!failure.stopped_by_agent || !first_own) return failure.stopped_by_agent;
  const bool own_account = failure.error && !failure.error->unparsable && failure.error->written;
  return !own_account || *failure.error->written >= *first_own;
}

}  // namespace detail

/// The failure that explains the others: the first in time, by the worker's own account where it
/// gave one; at the same time, the first in the list. A worker that a signal struck counts as of
/// one second before the agent learned of it, since its peers may report their lost connections
/// meanwhile. A worker that failed only because the agent stopped it is chosen only where there is
/// no other. Null where there is none at all.
inline const worker_failure* root_cause(const std::vector<worker_failure>& failures) {
  const auto first_own = detail::first_own_failure(failures);
  const auto before = [&](const worker_failure& left, const worker_failure& right) {
    const bool left_is_victim = detail::is_victim(left, first_own);
    if (left_is_victim != detail::is_victim(right, first_own)) return !left_is_victim;
    return detail::earliest_moment(left) < detail::earliest_moment(right);
  };
  const auto first = std::min_element(failures.begin(), failures.end(), before);
  return first == failures.end() ? nullptr : &*first;
}

namespace detail {

/// "2026-11-20_10:32:44", local time.
inline std::string report_time(std::int64_t timestamp) {
  const std::time_t seconds = static_cast<std::time_t>(timestamp);
  std::tm local{};
  char text[32];
  if (!::localtime_r(&seconds, &local)) return "<N/A>";
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d_%H:%M:%S", &local)};
}

inline std::string indented(std::string_view text, std::string_view indent) {
  std::string result;
  for (const char letter : text) {
    result += letter;
    if (letter == '\n') result += indent;
  }
  return result;
}

/// What stands at "traceback :": torchelastic's words, which people search for.
inline std::string report_message(const worker_failure& failure) {
  if (failure.error) {
    return indented(failure.error->callstack.value_or(failure.error->message), "  ");
  }
  if (!failure.hung.empty()) return "hung: " + failure.hung;
  if (const auto number = failure.status.signal()) {
    return fmt::format("Signal {} ({}) received by PID {}", *number, signal_name(*number),
                       failure.pid);
  }
  return "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html";
}

inline std::string report_failure(const worker_failure& failure, std::size_t index) {
  std::string exit = fmt::format("{} (pid: {})", failure.status.as_python(), failure.pid);
  if (const auto number = failure.status.signal()) {
    exit += fmt::format(" ({}{})", signal_name(*number),
                        failure.status.core_dumped() ? ", core dumped" : "");
  } else if (failure.status == exit_status::guard_lost()) {
    exit += fmt::format(" ({})", failure.status.text());
  } else if (!failure.status.code()) {
    exit += " (unknown status)";
  }
  std::string text = fmt::format(
      "[{}]:\n"
      "  time      : {}\n"
      "  host      : {}\n"
      "  rank      : {} (local_rank: {})\n"
      "  role      : {}\n"
      "  exitcode  : {}\n"
      "  error_file: {}\n"
      "  traceback : {}\n",
      index, report_time(failure.timestamp()), failure.host, failure.rank, failure.local_rank,
      failure.role, exit, failure.error ? failure.error_file : "<N/A>", report_message(failure));
  if (failure.out_of_memory) {
    text += "  reason    : out of memory: the kernel killed processes here when it died\n";
  }
  if (!failure.core_file.empty()) text += fmt::format("  core      : {}\n", failure.core_file);
  return text;
}

/// Whether two workers failed in the same way, as far as the report goes.
inline bool is_same_failure(const worker_failure& left, const worker_failure& right) {
  return left.status == right.status && left.role == right.role &&
         left.out_of_memory == right.out_of_memory && left.core_file == right.core_file &&
         (left.status.signal().has_value() || report_message(left) == report_message(right));
}

inline std::string report_stderr(const worker_failure& failure) {
  const bool explained = failure.error && !failure.error->unparsable;
  if (explained || failure.last_stderr.empty()) return "";
  std::string text = "  its last lines of stderr:\n";
  for (const std::string& line : failure.last_stderr) text += fmt::format("    {}\n", line);
  return text;
}

/// "0, 2-7": ranks in ascending order.
inline std::string rank_ranges(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string text;
  for (std::size_t at = 0; at < ranks.size();) {
    std::size_t last = at;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += fmt::format("{}", ranks[at]);
    if (last > at) text += fmt::format("{}{}", last == at + 1 ? ", " : "-", ranks[last]);
    at = last + 1;
  }
  return text;
}

/// The number of characters of the longest line; what is not ASCII counts once per code point.
inline std::size_t longest_line(std::string_view text) {
  std::size_t longest = 0;
  std::size_t length = 0;
  for (const char letter : text) {
    if (letter == '\n') length = 0;
    else if ((static_cast<unsigned char>(letter) & 0xc0) != 0x80) ++length;
    longest = std::max(longest, length);
  }
  return longest;
}

/// Failures of one kind: the first of them, and the ranks of all.
struct failure_kind {
  std::size_t first = 0;
  std::vector<int> ranks;
};

/// The failures that are nobody else's doing, by their kinds, in the order of the first ones.
inline std::vector<failure_kind> kinds_of(const std::vector<worker_failure>& failures,
                                          const std::optional<wall_time>& first_own,
                                          const worker_failure* root) {
  std::vector<failure_kind> kinds;
  // Of its kind the root cause is the one to be shown.
  kinds.push_back({static_cast<std::size_t>(root - failures.data()), {}});
  for (std::size_t index = 0; index < failures.size(); ++index) {
    const worker_failure& failure = failures[index];
    if (&failure != root && is_victim(failure, first_own)) continue;
    auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const failure_kind& one) {
      return is_same_failure(failures[one.first], failure);
    });
    if (kind == kinds.end()) kind = kinds.insert(kinds.end(), {index, {}});
    kind->ranks.push_back(failure.rank);
  }
  return kinds;
}

inline std::string report_kind(const std::vector<worker_failure>& failures,
                               const failure_kind& kind) {
  std::string text = report_failure(failures[kind.first], kind.first);
  if (kind.ranks.size() > 1) {
    text += fmt::format("  ranks     : {} ({} workers failed in this way)\n",
                        rank_ranges(kind.ranks), kind.ranks.size());
  }
  return text;
}

}  // namespace detail

/// What the user reads at the end of a run that failed, in the form of torchelastic 2.x (labels,
/// order, border), so that scripts that look for them find them. It adds the role, the signal's
/// name, memory that ran out, the core file, the last lines of the root cause's stderr where it
/// left no error file, and which workers ended only because the agent stopped them: these are named
/// in one line and blamed for nothing. Workers that failed in the same way are one entry.
///
/// `name` is the script's file name; the failures are numbered in the order given.
/// Result: lines that begin with a blank one and end with a line end; empty where `failures` is.
inline std::string failure_report(const std::string& name,
                                  const std::vector<worker_failure>& failures) {
  const worker_failure* root = root_cause(failures);
  if (!root) return "";
  const auto first_own = detail::first_own_failure(failures);
  std::string others;
  std::string cause;
  for (const detail::failure_kind& kind : detail::kinds_of(failures, first_own, root)) {
    std::string text = detail::report_kind(failures, kind);
    if (&failures[kind.first] == root) {
      cause = std::move(text) + detail::report_stderr(*root);
    } else {
      others += text;
    }
  }
  if (others.empty()) others = "  <NO_OTHER_FAILURES>\n";
  std::vector<int> stopped;
  for (const worker_failure& failure : failures) {
    if (&failure != root && detail::is_victim(failure, first_own)) stopped.push_back(failure.rank);
  }
  const std::string peers =
      stopped.empty() ? ""
                      : fmt::format("Stopped by the agent because of it: rank {}\n",
                                    detail::rank_ranges(std::move(stopped)));
  const std::string title = name + " FAILED\n";
  constexpr std::size_t widest = 60;
  const std::size_t width = std::min(widest, detail::longest_line(title + others + cause));
  const std::string border(width, '=');
  const std::string section(width, '-');
  return fmt::format(
      "\n{0}\n{2}{1}\nFailures:\n{3}{1}\nRoot Cause (first observed failure):\n{4}{5}{0}\n", border,
      section, title, others, cause, peers);
}

}  // namespace elastic

// ---- elastic/agent/failure_report_json.hpp ----

namespace elastic {

namespace detail {

inline nlohmann::ordered_json end_json(const exit_status& status) {
  nlohmann::ordered_json end;
  end["text"] = status.text();
  if (const auto code = status.code()) end["code"] = *code;
  if (const auto number = status.signal()) {
    end["signal"] = *number;
    end["signal_name"] = signal_name(*number);
    end["core_dumped"] = status.core_dumped();
  }
  return end;
}

inline nlohmann::ordered_json failure_json(const worker_failure& failure) {
  nlohmann::ordered_json one;
  one["rank"] = failure.rank;
  one["local_rank"] = failure.local_rank;
  one["group_rank"] = failure.group_rank;
  one["role"] = failure.role;
  one["host"] = failure.host;
  one["pid"] = failure.pid;
  one["time"] = std::chrono::duration<double>(failure.moment().time_since_epoch()).count();
  one["end"] = end_json(failure.status);
  one["stopped_by_agent"] = failure.stopped_by_agent;
  one["out_of_memory"] = failure.out_of_memory;
  if (!failure.core_file.empty()) one["core"] = failure.core_file;
  if (failure.error) {
    one["error_file"] = failure.error_file;
    one["message"] = failure.error->message;
    if (failure.error->callstack) one["callstack"] = *failure.error->callstack;
  }
  if (!failure.last_stderr.empty()) one["last_stderr"] = failure.last_stderr;
  return one;
}

}  // namespace detail

/// The report of a run that did not succeed, for programs: one JSON object, UTF-8, with a line end.
///
///     {"state": "FAILED", "reason": "...", "restarts": 0, "max_restarts": 0,
///      "root_cause": 1,                    // the rank; none where no worker failed
///      "failures": [{"rank": 1, "local_rank": 1, "group_rank": 0, "role": "default",
///                    "host": "...", "pid": 42, "time": 1795170764.9,
///                    "end": {"text": "SIGSEGV", "signal": 11, ...},
///                    "stopped_by_agent": false, "out_of_memory": false, ...}]}
inline std::string failure_report_json(const run_result& result) {
  nlohmann::ordered_json report;
  report["state"] = to_string(result.state);
  report["reason"] = result.reason;
  report["restarts"] = result.restarts;
  report["max_restarts"] = result.max_restarts;
  if (const worker_failure* const root = root_cause(result.failures)) {
    report["root_cause"] = root->rank;
  }
  report["failures"] = nlohmann::ordered_json::array();
  for (const worker_failure& failure : result.failures) {
    report["failures"].push_back(detail::failure_json(failure));
  }
  return report.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace elastic

// ---- elastic/agent/stop_request.hpp ----

namespace elastic {

/// How to stop an agent: asked for by `local_agent::stop`.
struct stop_request {
  /// The signal that the workers get first. SIGKILL: they are killed at once.
  int signal = SIGTERM;
  /// How long they may take before they are killed; empty: the worker_spec's.
  std::optional<duration> grace = {};
  /// For the log and the result, such as "SIGINT received".
  std::string reason = {};
};

}  // namespace elastic

// ---- elastic/agent/worker_request.hpp ----

namespace elastic {

/// What an agent is to tell its workers over the control channel: asked for by `local_agent::ask`.
struct worker_request {
  enum class kind {
    /// To do nothing until `resume`.
    pause,
    resume,
    /// To save a checkpoint. The log says what came of it.
    checkpoint,
  };
  kind what = kind::checkpoint;
  /// How long a checkpoint may take.
  duration within = std::chrono::seconds(60);
};

}  // namespace elastic

// ---- elastic/agent/detail/request_inbox.hpp ----

namespace elastic::detail {

/// To pass a signal on to the workers, which end or do not as they like.
struct signal_request {
  int number = 0;
};

using agent_request = std::variant<stop_request, signal_request, worker_request>;

/// Carries requests from any thread to the strand of the agent that they are for. Those that come
/// before the agent runs wait for it; those that come after it are dropped.
class request_inbox : public std::enable_shared_from_this<request_inbox> {
 public:
  /// From any thread.
  void push(agent_request request) {
    const std::lock_guard lock(mutex_);
    if (closed_) return;
    waiting_.push_back(std::move(request));
    if (strand_) asio::post(*strand_, [self = this->shared_from_this()] { self->deliver(); });
  }

  /// On the strand: from now on each request is given to `take`, there.
  void open(asio::any_io_executor strand, std::function<void(const agent_request&)> take) {
    take_ = std::move(take);
    {
      const std::lock_guard lock(mutex_);
      strand_ = std::move(strand);
    }
    deliver();
  }

  /// On the strand: nothing is taken any more, and the strand, whose context may end now, is let
  /// go of.
  void close() {
    take_ = nullptr;
    const std::lock_guard lock(mutex_);
    closed_ = true;
    strand_.reset();
  }

 private:
  void deliver() {
    while (take_) {
      agent_request request;
      {
        const std::lock_guard lock(mutex_);
        if (waiting_.empty()) return;
        request = std::move(waiting_.front());
        waiting_.pop_front();
      }
      take_(request);
    }
  }

  std::mutex mutex_;
  std::deque<agent_request> waiting_;
  bool closed_ = false;
  std::optional<asio::any_io_executor> strand_;
  std::function<void(const agent_request&)> take_;
};

/// What a cancellation asks for: the gentlest of the types that it has.
inline stop_request as_stop_request(asio::cancellation_type requested) {
  const auto gentle = asio::cancellation_type::partial | asio::cancellation_type::total;
  stop_request request;
  const bool kill = (requested & gentle) == asio::cancellation_type::none;
  request.signal = kill ? SIGKILL : SIGTERM;
  request.reason = "cancelled";
  return request;
}

}  // namespace elastic::detail

// ---- elastic/rendezvous/gather.hpp ----

namespace elastic {

namespace detail {

/// The keys "<prefix><rank><suffix>" of all ranks.
inline std::vector<std::string> rank_keys(const std::string& prefix, int size,
                                          const std::string& suffix) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < size; ++rank) keys.push_back(prefix + std::to_string(rank) + suffix);
  return keys;
}

inline const std::string gathered_suffix = ".FIN";

}  // namespace detail

/// Tells every agent of a round a text and learns theirs, in the order of their ranks. Rank 0 ends
/// last: it may be the one that serves the store.
///
/// Bound the wait by `with_deadline`. Errors: those of the store.
/// Cancellation: all types; what was told stays in the store.
/// Source: torch.distributed.elastic.utils.store, `synchronize` (PyTorch up to 2.3).
inline task<std::vector<std::string>> gather(std::shared_ptr<store> agents, std::string prefix,
                                             std::string mine, int rank, int size) {
  const std::string my_key = prefix + std::to_string(rank);
  co_await agents->set(my_key, std::move(mine));
  std::vector<std::string> keys = detail::rank_keys(prefix, size, "");
  std::vector<std::string> told = co_await agents->multi_get(std::move(keys));
  const std::string my_end = my_key + detail::gathered_suffix;
  const std::string fin = "FIN";
  co_await agents->set(my_end, fin);
  if (rank == 0) {
    std::vector<std::string> ends = detail::rank_keys(prefix, size, detail::gathered_suffix);
    co_await agents->wait(std::move(ends));
  }
  co_return told;
}

}  // namespace elastic

// ---- elastic/agent/rank_exchange.hpp ----

namespace elastic {

namespace detail {

inline constexpr int most_ranks = 2'000'000'000;

// The JSON type of error files, so that one type is compiled and not two.
using json_value = nlohmann::ordered_json;

/// The JSON text that PyTorch's agents exchange, with the spacing of Python's json.dumps.
inline std::string role_info_text(const role_info& info, int group_rank) {
  return fmt::format(R"({{"role": {}, "rank": {}, "local_world_size": {}}})",
                     json_value(info.role).dump(), group_rank, info.local_world_size);
}

/// The value where it is a whole number in [least, most]; none otherwise.
inline std::optional<int> whole_number(const json_value& value, int least, int most) {
  if (!value.is_number_integer()) return std::nullopt;
  const auto number = value.get<std::int64_t>();
  if (number < least || number > most) return std::nullopt;
  return static_cast<int>(number);
}

/// What another node wrote; not an object nor an array where it is longer than any node writes.
inline json_value parse_told(const std::string& text) {
  if (text.size() > limits::rank_exchange_bytes) return {};
  return json_value::parse(text, nullptr, false);
}

inline role_info parse_role_info(const std::string& text, int group_rank) {
  const auto json = parse_told(text);
  if (json.is_object() && json.contains("role") && json["role"].is_string() &&
      json.contains("local_world_size")) {
    const auto size = whole_number(json["local_world_size"], 1, limits::local_world_size);
    if (size) return {json["role"].get<std::string>(), *size};
  }
  throw error(errc::protocol_violation,
              fmt::format("node {} of the round told its workers in a form that is not "
                          "understood: '{:.200}'",
                          group_rank, text));
}

/// In the order of the group ranks.
inline std::vector<role_info> parse_role_infos(const std::vector<std::string>& told) {
  std::vector<role_info> nodes;
  for (const std::string& text : told) {
    nodes.push_back(parse_role_info(text, static_cast<int>(nodes.size())));
  }
  return nodes;
}

inline assigned_ranks parse_assigned_ranks(const std::string& text) {
  const auto json = parse_told(text);
  std::vector<int> ranks;
  if (json.is_array()) {
    for (const json_value& value : json) {
      if (const auto rank = whole_number(value, 0, most_ranks)) ranks.push_back(*rank);
    }
  }
  if (ranks.size() != 4 || json.size() != 4) {
    throw error(errc::protocol_violation,
                fmt::format("the ranks assigned to this node are not understood: '{:.200}'", text));
  }
  return {ranks[0], ranks[1], ranks[2], ranks[3]};
}

}  // namespace detail

namespace detail {

/// The node of group rank 0 gathers what all told and assigns.
/// Source: the exchange of PyTorch 2.4 and newer (`torchelastic/role_info`,
/// `torchelastic/assigned_ranks`).
inline task<assigned_ranks> exchange_by_assigning(std::shared_ptr<store> agents, std::string mine,
                                                  int group_rank, int group_world_size) {
  const std::string info_key = "torchelastic/role_info/";
  const std::string ranks_key = "torchelastic/assigned_ranks/";
  const std::string my_info_key = info_key + std::to_string(group_rank);
  co_await agents->set(my_info_key, std::move(mine));
  if (group_rank == 0) {
    std::vector<std::string> keys = rank_keys(info_key, group_world_size, "");
    const std::vector<std::string> told = co_await agents->multi_get(std::move(keys));
    std::vector<std::pair<std::string, std::string>> answers;
    for (const assigned_ranks& ranks : assign_ranks(parse_role_infos(told))) {
      answers.emplace_back(ranks_key + std::to_string(answers.size()),
                           fmt::format("[{}, {}, {}, {}]", ranks.base_rank, ranks.world_size,
                                       ranks.base_role_rank, ranks.role_world_size));
    }
    co_await agents->multi_set(std::move(answers));
  }
  const std::string my_ranks_key = ranks_key + std::to_string(group_rank);
  const std::string text = co_await agents->get(my_ranks_key);
  co_return parse_assigned_ranks(text);
}

/// Everybody reads what all told, and comes to the same result.
/// Source: the exchange of PyTorch before 2.4 (`torchelastic/role_info`).
inline task<assigned_ranks> exchange_by_gathering(std::shared_ptr<store> agents, std::string mine,
                                                  int group_rank, int group_world_size) {
  const std::string prefix = "torchelastic/role_info";
  const std::vector<std::string> told =
      co_await gather(std::move(agents), prefix, std::move(mine), group_rank, group_world_size);
  co_return assign_ranks(parse_role_infos(told))[static_cast<std::size_t>(group_rank)];
}

}  // namespace detail

/// Tells the other agents of a round about this node's workers and learns its ranks.
///
/// `agents` is the round's store. Result: the ranks of this node.
/// Errors: those of the store; `errc::protocol_violation` where a node told nonsense.
/// Cancellation: all types; what was told stays in the store.
inline task<assigned_ranks> exchange_ranks(std::shared_ptr<store> agents, role_info mine,
                                           int group_rank, int group_world_size,
                                           agent_dialect dialect = agent_dialect::assign) {
  const std::string text = detail::role_info_text(mine, group_rank);
  if (dialect == agent_dialect::gather) {
    co_return co_await detail::exchange_by_gathering(std::move(agents), text, group_rank,
                                                     group_world_size);
  }
  co_return co_await detail::exchange_by_assigning(std::move(agents), text, group_rank,
                                                   group_world_size);
}

}  // namespace elastic

// ---- elastic/agent/restart_ledger.hpp ----

namespace elastic {

/// Whether the workers start again, when, and the half sentence that says why.
struct restart_decision {
  bool restart = false;
  std::string reason;
  duration delay = duration::zero();
};

/// Decides whether and when the workers start again, from what it was told about the job. Pure: it
/// looks at no clock. A change of the membership is nobody's failure and is free.
class restart_ledger {
 public:
  explicit restart_ledger(int max_restarts, restart_terms terms = {})
      : max_restarts_(max_restarts), terms_(std::move(terms)) {}

  /// They failed once more.
  void failed(time_point now) { count(failures_ + 1, now); }

  /// They have failed so often by now, as somebody says who counts for all nodes.
  void count(int failures, time_point now) {
    if (failures > failures_) note_failures(failures - failures_, now);
    failures_ = failures;
  }

  /// The count to begin with, of failures of which nobody here knows when they were.
  void begin_at(int failures) { failures_ = failures; }

  /// The workers run.
  void started(time_point now) { started_ = now; }

  /// How often workers of the job have failed.
  int failures() const { return failures_; }

  /// Whether the restarts do not reach for the failures that were counted.
  bool is_used_up(time_point now) const { return used(now) > max_restarts_; }

  /// @param ended  how the worker ended that failed first; none where it was on another node
  restart_decision decide(change_kind why, std::optional<exit_status> ended,
                          time_point now) const {
    if (why != change_kind::worker_failed) {
      return {true, "the membership changed; this uses up no restart"};
    }
    if (max_restarts_ == 0) return {false, "no restarts were allowed (--max-restarts 0)"};
    if (ended && terms_.never_after.contains(*ended)) {
      return {false, fmt::format("no restart after {}", ended->text())};
    }
    if (ended && !terms_.only_after.empty() && !terms_.only_after.contains(*ended)) {
      return {false, fmt::format("{} is not among the ends after which there is a restart",
                                 ended->text())};
    }
    const bool is_windowed = terms_.window > duration::zero();
    const std::string within =
        is_windowed ? fmt::format(" within {:g} s", in_seconds(terms_.window)) : "";
    if (is_used_up(now)) {
      return {false, fmt::format("all {} restarts{} are used up", max_restarts_, within)};
    }
    restart_decision decision{true, {}, delay()};
    decision.reason = fmt::format("restart {} of {}{}", used(now), max_restarts_, within);
    if (decision.delay > duration::zero()) {
      decision.reason += fmt::format(", after {:g} s", in_seconds(decision.delay));
    }
    return decision;
  }

 private:
  struct noted {
    time_point at;
    int count;
  };

  static double in_seconds(duration span) { return std::chrono::duration<double>(span).count(); }

  void note_failures(int count, time_point now) {
    recent_.push_back({now, count});
    std::erase_if(recent_, [&](const noted& one) { return one.at <= now - terms_.window; });
    streak_ = was_healthy(now) ? 1 : streak_ + 1;
    started_.reset();
  }

  bool was_healthy(time_point now) const {
    return started_ && now - *started_ >= terms_.healthy_uptime;
  }

  std::int64_t used(time_point now) const {
    if (terms_.window == duration::zero()) return failures_;
    std::int64_t sum = 0;
    for (const noted& one : recent_) {
      if (one.at > now - terms_.window) sum += one.count;
    }
    return sum;
  }

  duration delay() const {
    duration wait = std::min(terms_.delay, terms_.max_delay);
    for (int one = 1; one < streak_ && wait < terms_.max_delay; ++one) {
      wait = wait > terms_.max_delay / 2 ? terms_.max_delay : wait * 2;
    }
    return wait;
  }

  int max_restarts_;
  restart_terms terms_;
  int failures_ = 0;
  /// The failures within the window.
  std::vector<noted> recent_;
  std::optional<time_point> started_;
  int streak_ = 0;
};

}  // namespace elastic

// ---- elastic/base/mailbox.hpp ----

namespace elastic {

/// An unbounded queue between coroutines of one strand: `push` never waits, `pop` does.
///
/// What is pushed must be bounded by its producers (such as one message per worker).
/// Thread-safety: one strand at a time.
template <class T>
class mailbox {
 public:
  explicit mailbox(asio::any_io_executor executor) : waiting_(std::move(executor)) {}

  void push(T value) {
    if (waiting_.empty()) {
      values_.push_back(std::move(value));
    } else {
      waiting_.wake_first({}, std::optional<T>(std::move(value)));
    }
  }

  /// The oldest value not yet popped; waits for one where there is none.
  ///
  /// Cancellation: all types; throws `operation_aborted`, no value is lost. So does the end of the
  /// mailbox.
  task<T> pop() {
    if (values_.empty()) {
      // Nothing of the mailbox is touched after the wait: it may be gone by then.
      std::optional<T> value = co_await waiting_.wait(next_++);
      co_return std::move(*value);
    }
    T value = std::move(values_.front());
    values_.pop_front();
    co_return value;
  }

 private:
  std::deque<T> values_;
  std::uint64_t next_ = 0;
  detail::waiters<std::uint64_t, std::optional<T>> waiting_;
};

}  // namespace elastic

// ---- elastic/process/detail/guard_image.hpp ----

// Written by scripts/guard_image.py from guard/guard.cpp. Do not edit.

namespace elastic::detail {

#if defined(__x86_64__)
inline constexpr unsigned char guard_image[3048] = {
    0x7f, 0x45, 0x4c, 0x46, 0x02, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x02, 0x00, 0x3e, 0x00, 0x01, 0x00, 0x00, 0x00, 0xb0, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x28, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x40, 0x00, 0x38, 0x00, 0x02, 0x00, 0x40, 0x00, 0x03, 0x00, 0x02, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x10, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x51, 0xe5, 0x74, 0x64, 0x06, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x31, 0xed, 0x48, 0x89, 0xe7, 0x48, 0x83, 0xe4, 0xf0, 0xe8, 0xe3, 0x05, 0x00, 0x00, 0x48, 0x63,
    0xff, 0x41, 0xb9, 0xe7, 0x00, 0x00, 0x00, 0x31, 0xd2, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0, 0x4c,
    0x89, 0xc8, 0x48, 0x89, 0xd6, 0x0f, 0x05, 0xeb, 0xee, 0x48, 0x8d, 0x44, 0x24, 0x94, 0x89, 0x7c,
    0x24, 0x94, 0x31, 0xff, 0x48, 0x89, 0x44, 0x24, 0xa0, 0x31, 0xc0, 0x89, 0x74, 0x24, 0x98, 0x31,
    0xf6, 0x89, 0x54, 0x24, 0x9c, 0x31, 0xd2, 0x48, 0x89, 0x44, 0x24, 0xc8, 0x48, 0x8d, 0x44, 0x24,
    0xa0, 0x48, 0xc7, 0x44, 0x24, 0xa8, 0x0c, 0x00, 0x00, 0x00, 0x89, 0x54, 0x24, 0xd0, 0x48, 0x89,
    0x44, 0x24, 0xd8, 0x48, 0xc7, 0x44, 0x24, 0xe0, 0x01, 0x00, 0x00, 0x00, 0x48, 0x89, 0x74, 0x24,
    0xe8, 0x48, 0x89, 0x74, 0x24, 0xf0, 0x89, 0x7c, 0x24, 0xf8, 0x85, 0xc9, 0x78, 0x2f, 0x48, 0xb8,
    0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x89, 0x4c, 0x24, 0xc0, 0x48, 0x89, 0x44, 0x24,
    0xb8, 0x48, 0x8d, 0x44, 0x24, 0xb0, 0x48, 0xc7, 0x44, 0x24, 0xb0, 0x14, 0x00, 0x00, 0x00, 0x48,
    0x89, 0x44, 0x24, 0xe8, 0x48, 0xc7, 0x44, 0x24, 0xf0, 0x18, 0x00, 0x00, 0x00, 0x48, 0x8d, 0x74,
    0x24, 0xc8, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0, 0xb8, 0x2e, 0x00, 0x00, 0x00, 0xbf, 0x03, 0x00,
    0x00, 0x00, 0xba, 0x00, 0x40, 0x00, 0x00, 0x0f, 0x05, 0xc3, 0x53, 0x49, 0x89, 0xf9, 0x48, 0x83,
    0xec, 0x10, 0x48, 0x8d, 0x5c, 0x24, 0x0c, 0x31, 0xff, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0, 0xb8,
    0x3d, 0x00, 0x00, 0x00, 0x89, 0x7c, 0x24, 0x0c, 0xba, 0x01, 0x00, 0x00, 0x40, 0x48, 0x83, 0xcf,
    0xff, 0x48, 0x89, 0xde, 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x74, 0x30, 0x79, 0x09, 0x48, 0x83, 0xf8,
    0xf6, 0x0f, 0x95, 0xc0, 0xeb, 0x27, 0x49, 0x63, 0x51, 0x04, 0x48, 0x39, 0xc2, 0x75, 0xc8, 0x31,
    0xf6, 0x83, 0xc9, 0xff, 0x31, 0xd2, 0xbf, 0x03, 0x00, 0x00, 0x00, 0x41, 0x89, 0x71, 0x04, 0x48,
    0x63, 0x74, 0x24, 0x0c, 0xe8, 0x00, 0xff, 0xff, 0xff, 0xeb, 0xac, 0xb0, 0x01, 0x48, 0x83, 0xc4,
    0x10, 0x5b, 0xc3, 0x48, 0x8b, 0x17, 0x48, 0x39, 0xf2, 0x72, 0x08, 0xb8, 0xff, 0xff, 0xff, 0xff,
    0x75, 0x0e, 0xc3, 0x80, 0x3a, 0x20, 0x75, 0x08, 0x48, 0xff, 0xc2, 0x48, 0x89, 0x17, 0xeb, 0xe3,
    0x8a, 0x12, 0x83, 0xc8, 0xff, 0x83, 0xea, 0x30, 0x80, 0xfa, 0x09, 0x77, 0x27, 0x31, 0xc0, 0x48,
    0x8b, 0x17, 0x48, 0x39, 0xf2, 0x73, 0x1d, 0x8a, 0x0a, 0x83, 0xe9, 0x30, 0x80, 0xf9, 0x09, 0x77,
    0x13, 0x6b, 0xc0, 0x0a, 0x48, 0x8d, 0x4a, 0x01, 0x48, 0x89, 0x0f, 0x0f, 0xbe, 0x12, 0x8d, 0x44,
    0x10, 0xd0, 0xeb, 0xdb, 0xc3, 0x4c, 0x63, 0xce, 0x53, 0x41, 0xba, 0x05, 0x00, 0x00, 0x41, 0x48,
    0x89, 0xfb, 0x45, 0x31, 0xc0, 0x31, 0xd2, 0xb8, 0xf7, 0x00, 0x00, 0x00, 0xbf, 0x01, 0x00, 0x00,
    0x00, 0x4c, 0x89, 0xce, 0x0f, 0x05, 0x31, 0xc9, 0x48, 0x85, 0xc0, 0x78, 0x39, 0x45, 0x31, 0xd2,
    0xb8, 0x3e, 0x00, 0x00, 0x00, 0xbe, 0x09, 0x00, 0x00, 0x00, 0x4c, 0x89, 0xcf, 0x0f, 0x05, 0x48,
    0x85, 0xc0, 0x79, 0x06, 0x80, 0x7b, 0x11, 0x00, 0x74, 0x04, 0xb1, 0x01, 0xeb, 0x18, 0xc6, 0x43,
    0x11, 0x01, 0x83, 0xc9, 0xff, 0x31, 0xd2, 0x4c, 0x89, 0xce, 0xbf, 0x04, 0x00, 0x00, 0x00, 0xe8,
    0x45, 0xfe, 0xff, 0xff, 0xeb, 0xe4, 0x89, 0xc8, 0x5b, 0xc3, 0x41, 0x55, 0x45, 0x31, 0xc9, 0x45,
    0x31, 0xd2, 0x45, 0x31, 0xc0, 0x41, 0x54, 0xbe, 0xaf, 0x0a, 0x40, 0x00, 0x49, 0x89, 0xfc, 0xb8,
    0x01, 0x01, 0x00, 0x00, 0x55, 0x48, 0xc7, 0xc7, 0x9c, 0xff, 0xff, 0xff, 0x4c, 0x89, 0xca, 0x53,
    0x48, 0x81, 0xec, 0x10, 0x10, 0x00, 0x00, 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x78, 0x66, 0x48, 0x8d,
    0x5c, 0x24, 0x10, 0x48, 0x89, 0xc7, 0xba, 0x00, 0x10, 0x00, 0x00, 0x4c, 0x89, 0xc8, 0x48, 0x89,
    0xde, 0x0f, 0x05, 0x49, 0x89, 0xc5, 0x4c, 0x89, 0xce, 0xb8, 0x03, 0x00, 0x00, 0x00, 0x4c, 0x89,
    0xca, 0x0f, 0x05, 0x4d, 0x85, 0xed, 0x78, 0x3c, 0x48, 0x89, 0x5c, 0x24, 0x08, 0x31, 0xed, 0x4c,
    0x01, 0xeb, 0x48, 0x89, 0xde, 0x48, 0x8d, 0x7c, 0x24, 0x08, 0xe8, 0xd4, 0xfe, 0xff, 0xff, 0x89,
    0xc6, 0x85, 0xc0, 0x7e, 0x21, 0x48, 0x39, 0x5c, 0x24, 0x08, 0x75, 0x09, 0x49, 0x81, 0xfd, 0x00,
    0x10, 0x00, 0x00, 0x74, 0x11, 0x4c, 0x89, 0xe7, 0xe8, 0x08, 0xff, 0xff, 0xff, 0x84, 0xc0, 0x0f,
    0x45, 0xe8, 0xeb, 0xce, 0x31, 0xed, 0x48, 0x81, 0xc4, 0x10, 0x10, 0x00, 0x00, 0x89, 0xe8, 0x5b,
    0x5d, 0x41, 0x5c, 0x41, 0x5d, 0xc3, 0x41, 0x57, 0x45, 0x31, 0xd2, 0x49, 0x89, 0xff, 0x45, 0x31,
    0xc0, 0x41, 0x56, 0xbe, 0xca, 0x0a, 0x40, 0x00, 0xb8, 0x01, 0x01, 0x00, 0x00, 0x48, 0xc7, 0xc7,
    0x9c, 0xff, 0xff, 0xff, 0x41, 0x55, 0xba, 0x00, 0x00, 0x01, 0x00, 0x41, 0x54, 0x55, 0x53, 0x48,
    0x81, 0xec, 0x30, 0x09, 0x00, 0x00, 0x0f, 0x05, 0x45, 0x31, 0xe4, 0x48, 0x89, 0x04, 0x24, 0x48,
    0x85, 0xc0, 0x0f, 0x88, 0x4f, 0x01, 0x00, 0x00, 0x4c, 0x8d, 0xb4, 0x24, 0x30, 0x01, 0x00, 0x00,
    0x48, 0x8b, 0x3c, 0x24, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0, 0xb8, 0xd9, 0x00, 0x00, 0x00, 0xba,
    0x00, 0x08, 0x00, 0x00, 0x4c, 0x89, 0xf6, 0x0f, 0x05, 0x48, 0x89, 0x44, 0x24, 0x10, 0x48, 0x85,
    0xc0, 0x0f, 0x8e, 0x0a, 0x01, 0x00, 0x00, 0x31, 0xed, 0x49, 0x8d, 0x1c, 0x2e, 0x48, 0x8d, 0x7c,
    0x24, 0x20, 0x0f, 0xb7, 0x43, 0x10, 0x48, 0x83, 0xc3, 0x13, 0x48, 0x89, 0x5c, 0x24, 0x20, 0x48,
    0x01, 0xc5, 0x49, 0x8d, 0x34, 0x2e, 0xe8, 0x08, 0xfe, 0xff, 0xff, 0x89, 0x44, 0x24, 0x0c, 0x85,
    0xc0, 0x0f, 0x8e, 0xc7, 0x00, 0x00, 0x00, 0x41, 0xb9, 0x01, 0x01, 0x00, 0x00, 0x48, 0x8b, 0x3c,
    0x24, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0, 0xba, 0x00, 0x00, 0x01, 0x00, 0x4c, 0x89, 0xc8, 0x48,
    0x89, 0xde, 0x0f, 0x05, 0x31, 0xdb, 0x48, 0x89, 0x44, 0x24, 0x18, 0xbe, 0xd0, 0x0a, 0x40, 0x00,
    0x4c, 0x89, 0xc8, 0x48, 0x8b, 0x7c, 0x24, 0x18, 0x48, 0x89, 0xda, 0x0f, 0x05, 0x4c, 0x8d, 0x6c,
    0x24, 0x30, 0x48, 0x89, 0xc7, 0xba, 0x00, 0x01, 0x00, 0x00, 0x48, 0x89, 0xd8, 0x4c, 0x89, 0xee,
    0x0f, 0x05, 0x49, 0x89, 0xc1, 0x48, 0x89, 0xde, 0xb8, 0x03, 0x00, 0x00, 0x00, 0x48, 0x89, 0xda,
    0x0f, 0x05, 0xb8, 0x03, 0x00, 0x00, 0x00, 0x48, 0x8b, 0x7c, 0x24, 0x18, 0x0f, 0x05, 0x4d, 0x85,
    0xc9, 0x7e, 0x5b, 0x4b, 0x8d, 0x74, 0x0d, 0x00, 0x48, 0x89, 0xf2, 0x48, 0x89, 0xd1, 0x49, 0x39,
    0xd5, 0x73, 0x0a, 0x48, 0xff, 0xca, 0x80, 0x3a, 0x29, 0x75, 0xf0, 0xeb, 0x08, 0x83, 0xc8, 0xff,
    0x4c, 0x39, 0xea, 0x74, 0x22, 0x48, 0x89, 0xf2, 0x83, 0xc8, 0xff, 0x48, 0x29, 0xca, 0x48, 0x83,
    0xfa, 0x03, 0x7e, 0x13, 0x48, 0x83, 0xc1, 0x03, 0x48, 0x8d, 0x7c, 0x24, 0x28, 0x48, 0x89, 0x4c,
    0x24, 0x28, 0xe8, 0x4c, 0xfd, 0xff, 0xff, 0x41, 0x39, 0x07, 0x75, 0x12, 0x8b, 0x74, 0x24, 0x0c,
    0x4c, 0x89, 0xff, 0xe8, 0x8d, 0xfd, 0xff, 0xff, 0x84, 0xc0, 0x44, 0x0f, 0x45, 0xe0, 0x48, 0x8b,
    0x44, 0x24, 0x10, 0x48, 0x39, 0xc5, 0x0f, 0x8c, 0xfd, 0xfe, 0xff, 0xff, 0xe9, 0xcf, 0xfe, 0xff,
    0xff, 0x31, 0xd2, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0, 0xb8, 0x03, 0x00, 0x00, 0x00, 0x48, 0x8b,
    0x3c, 0x24, 0x48, 0x89, 0xd6, 0x0f, 0x05, 0x48, 0x81, 0xc4, 0x30, 0x09, 0x00, 0x00, 0x44, 0x89,
    0xe0, 0x5b, 0x5d, 0x41, 0x5c, 0x41, 0x5d, 0x41, 0x5e, 0x41, 0x5f, 0xc3, 0x41, 0x54, 0x55, 0x53,
    0x48, 0x89, 0xfb, 0x48, 0x81, 0xec, 0x90, 0x00, 0x00, 0x00, 0x80, 0x7f, 0x10, 0x00, 0x75, 0x20,
    0x8b, 0x7f, 0x04, 0x85, 0xff, 0x7e, 0x19, 0xf7, 0xdf, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0, 0xb8,
    0x3e, 0x00, 0x00, 0x00, 0x48, 0x63, 0xff, 0xbe, 0x09, 0x00, 0x00, 0x00, 0x31, 0xd2, 0x0f, 0x05,
    0x4c, 0x8d, 0x64, 0x24, 0x10, 0xba, 0x80, 0x00, 0x00, 0x00, 0x48, 0x63, 0x7b, 0x0c, 0x45, 0x31,
    0xd2, 0x45, 0x31, 0xc0, 0x31, 0xc0, 0x4c, 0x89, 0xe6, 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7f, 0xea,
    0x48, 0x89, 0xdf, 0xe8, 0x32, 0xfc, 0xff, 0xff, 0x84, 0xc0, 0x74, 0x7e, 0x48, 0x89, 0xdf, 0xe8,
    0x46, 0xfd, 0xff, 0xff, 0x84, 0xc0, 0x75, 0x25, 0x48, 0x89, 0xdf, 0xe8, 0xe6, 0xfd, 0xff, 0xff,
    0x84, 0xc0, 0x75, 0x19, 0xbd, 0x01, 0x00, 0x00, 0x00, 0x89, 0xee, 0x48, 0x89, 0xdf, 0xff, 0xc5,
    0xe8, 0xc0, 0xfc, 0xff, 0xff, 0x81, 0xfd, 0x01, 0x00, 0x40, 0x00, 0x75, 0xec, 0x8a, 0x43, 0x11,
    0x8b, 0x53, 0x0c, 0x48, 0x8d, 0x7c, 0x24, 0x08, 0xbe, 0x01, 0x00, 0x00, 0x00, 0xc7, 0x44, 0x24,
    0x0c, 0x01, 0x00, 0x00, 0x00, 0x3c, 0x01, 0x89, 0x54, 0x24, 0x08, 0x48, 0x19, 0xd2, 0x48, 0xff,
    0xc2, 0x3c, 0x01, 0x48, 0x19, 0xc0, 0x48, 0x89, 0x54, 0x24, 0x10, 0x45, 0x31, 0xd2, 0x45, 0x31,
    0xc0, 0x25, 0x00, 0x2d, 0x31, 0x01, 0x4c, 0x89, 0xe2, 0x48, 0x89, 0x44, 0x24, 0x18, 0xb8, 0x0f,
    0x01, 0x00, 0x00, 0x0f, 0x05, 0xe9, 0x5b, 0xff, 0xff, 0xff, 0xbf, 0x05, 0x00, 0x00, 0x00, 0x83,
    0xc9, 0xff, 0x31, 0xd2, 0x31, 0xf6, 0xe8, 0xfe, 0xfa, 0xff, 0xff, 0x31, 0xff, 0xe8, 0xdc, 0xfa,
    0xff, 0xff, 0x41, 0x54, 0x49, 0x89, 0xd4, 0x31, 0xd2, 0x49, 0x89, 0xc9, 0x55, 0x45, 0x31, 0xd2,
    0x48, 0x89, 0xf5, 0x45, 0x31, 0xc0, 0x53, 0xb8, 0x70, 0x00, 0x00, 0x00, 0x48, 0x63, 0xdf, 0x48,
    0x89, 0xd6, 0x48, 0x89, 0xd7, 0x48, 0x83, 0xec, 0x10, 0x0f, 0x05, 0x49, 0x89, 0x01, 0x49, 0x8b,
    0x01, 0x48, 0x85, 0xc0, 0x78, 0x1c, 0xb8, 0x9d, 0x00, 0x00, 0x00, 0xbf, 0x01, 0x00, 0x00, 0x00,
    0xbe, 0x09, 0x00, 0x00, 0x00, 0x41, 0xc7, 0x41, 0x08, 0x02, 0x00, 0x00, 0x00, 0x0f, 0x05, 0x49,
    0x89, 0x01, 0x49, 0x8b, 0x01, 0x48, 0x85, 0xc0, 0x78, 0x1a, 0x31, 0xd2, 0x45, 0x31, 0xd2, 0x45,
    0x31, 0xc0, 0xb8, 0x6e, 0x00, 0x00, 0x00, 0x48, 0x89, 0xd7, 0x48, 0x89, 0xd6, 0x0f, 0x05, 0x48,
    0x39, 0xc3, 0x74, 0x0a, 0xbf, 0x7f, 0x00, 0x00, 0x00, 0xe8, 0x60, 0xfa, 0xff, 0xff, 0x31, 0xc0,
    0x48, 0x8d, 0x74, 0x24, 0x08, 0x41, 0xba, 0x08, 0x00, 0x00, 0x00, 0x45, 0x31, 0xc0, 0x48, 0x89,
    0x44, 0x24, 0x08, 0xbf, 0x02, 0x00, 0x00, 0x00, 0xb8, 0x0e, 0x00, 0x00, 0x00, 0x0f, 0x05, 0x45,
    0x31, 0xd2, 0x48, 0x8b, 0x7d, 0x10, 0x48, 0x8d, 0x75, 0x18, 0xb8, 0x3b, 0x00, 0x00, 0x00, 0x41,
    0xc7, 0x41, 0x08, 0x03, 0x00, 0x00, 0x00, 0x4c, 0x89, 0xe2, 0x0f, 0x05, 0x49, 0x89, 0x01, 0xeb,
    0xb3, 0x41, 0x57, 0x41, 0x56, 0x41, 0x55, 0x41, 0x54, 0x55, 0x53, 0x48, 0x81, 0xec, 0xc0, 0x00,
    0x00, 0x00, 0x4c, 0x8b, 0x3f, 0x49, 0x83, 0xff, 0x03, 0x7e, 0x23, 0x48, 0x8b, 0x77, 0x08, 0x49,
    0x89, 0xfc, 0x31, 0xc0, 0x8a, 0x0c, 0x06, 0x8a, 0x90, 0x00, 0x0b, 0x40, 0x00, 0x84, 0xc9, 0x74,
    0x09, 0x48, 0xff, 0xc0, 0x38, 0xca, 0x74, 0xec, 0xeb, 0x04, 0x84, 0xd2, 0x74, 0x0a, 0xbf, 0x40,
    0x00, 0x00, 0x00, 0xe9, 0xb9, 0x01, 0x00, 0x00, 0x31, 0xdb, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0,
    0xb8, 0x27, 0x00, 0x00, 0x00, 0x48, 0x89, 0xdf, 0x48, 0x89, 0xde, 0x48, 0x89, 0xda, 0x0f, 0x05,
    0x31, 0xc9, 0x4c, 0x8d, 0x6c, 0x24, 0x40, 0x89, 0x44, 0x24, 0x14, 0xbf, 0x02, 0x00, 0x00, 0x00,
    0x89, 0x4c, 0x24, 0x18, 0x41, 0xba, 0x08, 0x00, 0x00, 0x00, 0xb8, 0x0e, 0x00, 0x00, 0x00, 0x4c,
    0x89, 0xee, 0xc6, 0x44, 0x24, 0x25, 0x00, 0x48, 0xc7, 0x44, 0x24, 0x40, 0xff, 0xff, 0xff, 0xff,
    0x0f, 0x05, 0x41, 0xb9, 0x9d, 0x00, 0x00, 0x00, 0x45, 0x31, 0xd2, 0xbe, 0xd5, 0x0a, 0x40, 0x00,
    0xbf, 0x0f, 0x00, 0x00, 0x00, 0x4c, 0x89, 0xc8, 0x0f, 0x05, 0x41, 0xbe, 0x01, 0x00, 0x00, 0x00,
    0xbf, 0x24, 0x00, 0x00, 0x00, 0x4c, 0x89, 0xc8, 0x4c, 0x89, 0xf6, 0x0f, 0x05, 0x49, 0x89, 0xc1,
    0x48, 0xf7, 0xd0, 0xbd, 0x48, 0x00, 0x00, 0x00, 0xbf, 0x03, 0x00, 0x00, 0x00, 0x48, 0xc1, 0xe8,
    0x3f, 0xbe, 0x02, 0x00, 0x00, 0x00, 0x4c, 0x89, 0xf2, 0x88, 0x44, 0x24, 0x24, 0x48, 0x89, 0xe8,
    0x0f, 0x05, 0xbf, 0x04, 0x00, 0x00, 0x00, 0x48, 0x89, 0xe8, 0x0f, 0x05, 0x48, 0xc1, 0xf8, 0x3f,
    0x48, 0x83, 0xcd, 0xff, 0x48, 0x8d, 0x74, 0x24, 0x08, 0x48, 0xc7, 0x44, 0x24, 0x08, 0x00, 0x00,
    0x01, 0x00, 0x83, 0xc8, 0x04, 0x41, 0xba, 0x00, 0x08, 0x08, 0x00, 0xba, 0x08, 0x00, 0x00, 0x00,
    0x48, 0x89, 0xef, 0x89, 0x44, 0x24, 0x1c, 0xb8, 0x21, 0x01, 0x00, 0x00, 0x0f, 0x05, 0x89, 0x44,
    0x24, 0x20, 0x85, 0xc0, 0x79, 0x08, 0x4c, 0x63, 0xc8, 0xe9, 0xb6, 0x00, 0x00, 0x00, 0x31, 0xd2,
    0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0, 0xb8, 0x0f, 0x01, 0x00, 0x00, 0x48, 0x89, 0x54, 0x24, 0x40,
    0x48, 0x89, 0xdf, 0x48, 0x89, 0xde, 0x48, 0x89, 0x54, 0x24, 0x48, 0x4c, 0x89, 0xea, 0x0f, 0x05,
    0x48, 0x85, 0xc0, 0x78, 0x53, 0xb8, 0x2e, 0x00, 0x00, 0x00, 0x48, 0x89, 0xef, 0x48, 0x89, 0xda,
    0x0f, 0x05, 0x48, 0x83, 0xf8, 0xf7, 0x74, 0x06, 0x48, 0x83, 0xf8, 0xf2, 0x75, 0x3f, 0x31, 0xf6,
    0x48, 0x63, 0x7c, 0x24, 0x14, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0, 0xb8, 0x3e, 0x00, 0x00, 0x00,
    0x48, 0x89, 0xf2, 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x78, 0x1e, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0,
    0xb8, 0x3d, 0x00, 0x00, 0x00, 0x48, 0x83, 0xcf, 0xff, 0xba, 0x01, 0x00, 0x00, 0x40, 0x0f, 0x05,
    0x48, 0x83, 0xf8, 0xf6, 0x75, 0x07, 0xeb, 0x0a, 0x49, 0x89, 0xc1, 0xeb, 0x37, 0x48, 0x85, 0xc0,
    0x75, 0x2a, 0x80, 0x7c, 0x24, 0x24, 0x00, 0x75, 0x4d, 0x49, 0x8b, 0x74, 0x24, 0x10, 0x31, 0xc0,
    0x8a, 0x0c, 0x06, 0x8a, 0x90, 0xe8, 0x0a, 0x40, 0x00, 0x84, 0xc9, 0x74, 0x09, 0x48, 0xff, 0xc0,
    0x38, 0xca, 0x74, 0xec, 0xeb, 0x09, 0x84, 0xd2, 0x74, 0x2c, 0xeb, 0x03, 0x49, 0x89, 0xc1, 0x4d,
    0x85, 0xc9, 0x79, 0x22, 0x4c, 0x89, 0xce, 0x83, 0xc9, 0xff, 0xba, 0x04, 0x00, 0x00, 0x00, 0x48,
    0xf7, 0xde, 0xbf, 0x02, 0x00, 0x00, 0x00, 0xe8, 0x3d, 0xf8, 0xff, 0xff, 0xbf, 0x01, 0x00, 0x00,
    0x00, 0xe8, 0x18, 0xf8, 0xff, 0xff, 0x31, 0xc0, 0xc7, 0x44, 0x24, 0x48, 0x01, 0x00, 0x00, 0x00,
    0x4d, 0x89, 0xe9, 0x48, 0x89, 0x44, 0x24, 0x40, 0xbb, 0x38, 0x00, 0x00, 0x00, 0x48, 0x8d, 0x54,
    0x24, 0x04, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0, 0xc7, 0x44, 0x24, 0x04, 0xff, 0xff, 0xff, 0xff,
    0x31, 0xf6, 0xbf, 0x11, 0x51, 0x00, 0x00, 0x48, 0x89, 0xd8, 0x0f, 0x05, 0x48, 0x83, 0xf8, 0xea,
    0x75, 0x0d, 0xbf, 0x11, 0x41, 0x00, 0x00, 0x48, 0x89, 0xd8, 0x48, 0x89, 0xf2, 0x0f, 0x05, 0x48,
    0x85, 0xc0, 0x75, 0x16, 0x8b, 0x7c, 0x24, 0x14, 0x49, 0x8d, 0x74, 0x24, 0x08, 0x4b, 0x8d, 0x54,
    0xfc, 0x10, 0x4c, 0x89, 0xc9, 0xe8, 0xd8, 0xfc, 0xff, 0xff, 0x79, 0x10, 0x48, 0xf7, 0xd8, 0x83,
    0xc9, 0xff, 0x31, 0xd2, 0x48, 0x89, 0xc6, 0xe9, 0x76, 0xff, 0xff, 0xff, 0x49, 0x8b, 0x11, 0x48,
    0x85, 0xd2, 0x79, 0x12, 0x41, 0x8b, 0x51, 0x08, 0x49, 0x8b, 0x31, 0x83, 0xc9, 0xff, 0x48, 0xf7,
    0xde, 0xe9, 0x5c, 0xff, 0xff, 0xff, 0x8a, 0x54, 0x24, 0x24, 0x8b, 0x4c, 0x24, 0x04, 0x48, 0x89,
    0xc6, 0xbf, 0x01, 0x00, 0x00, 0x00, 0x89, 0x44, 0x24, 0x18, 0x83, 0xf2, 0x01, 0x0f, 0xb6, 0xd2,
    0xc1, 0xe2, 0x02, 0xe8, 0x81, 0xf7, 0xff, 0xff, 0x48, 0x85, 0xc0, 0x79, 0x0a, 0x48, 0x8d, 0x7c,
    0x24, 0x14, 0xe8, 0x85, 0xfb, 0xff, 0xff, 0x41, 0xb9, 0x03, 0x00, 0x00, 0x00, 0x31, 0xd2, 0x48,
    0x63, 0x7c, 0x24, 0x04, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0, 0x4c, 0x89, 0xc8, 0x48, 0x89, 0xd6,
    0x0f, 0x05, 0x4c, 0x89, 0xc8, 0x48, 0x89, 0xd7, 0x0f, 0x05, 0xbf, 0x01, 0x00, 0x00, 0x00, 0x4c,
    0x89, 0xc8, 0x0f, 0x05, 0xbf, 0x02, 0x00, 0x00, 0x00, 0x4c, 0x89, 0xc8, 0x0f, 0x05, 0x48, 0xbb,
    0x03, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0xb8, 0x01, 0x00, 0x00, 0x00, 0x48, 0x89, 0x5c,
    0x24, 0x28, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0, 0x48, 0xc1, 0xe0, 0x20, 0x48, 0x8d, 0x7c, 0x24,
    0x28, 0xbe, 0x03, 0x00, 0x00, 0x00, 0x31, 0xd2, 0x48, 0x89, 0x44, 0x24, 0x30, 0x48, 0x89, 0x44,
    0x24, 0x38, 0x8b, 0x44, 0x24, 0x1c, 0x89, 0x44, 0x24, 0x30, 0x8b, 0x44, 0x24, 0x20, 0x89, 0x44,
    0x24, 0x38, 0xb8, 0x0f, 0x01, 0x00, 0x00, 0x0f, 0x05, 0x48, 0x83, 0xf8, 0xfc, 0x74, 0xb9, 0x48,
    0x85, 0xc0, 0x0f, 0x88, 0x65, 0xff, 0xff, 0xff, 0x66, 0x83, 0x7c, 0x24, 0x3e, 0x00, 0x74, 0x31,
    0xba, 0x80, 0x00, 0x00, 0x00, 0x48, 0x63, 0x7c, 0x24, 0x20, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0,
    0x31, 0xc0, 0x4c, 0x89, 0xee, 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7f, 0xe9, 0x48, 0x8d, 0x7c, 0x24,
    0x14, 0xe8, 0x54, 0xf7, 0xff, 0xff, 0x83, 0x7c, 0x24, 0x18, 0x00, 0x0f, 0x84, 0x2c, 0xff, 0xff,
    0xff, 0x66, 0x83, 0x7c, 0x24, 0x36, 0x00, 0x0f, 0x85, 0x20, 0xff, 0xff, 0xff, 0x66, 0x83, 0x7c,
    0x24, 0x2e, 0x00, 0x0f, 0x84, 0x5f, 0xff, 0xff, 0xff, 0xc6, 0x44, 0x24, 0x03, 0x00, 0x48, 0x8d,
    0x74, 0x24, 0x03, 0x45, 0x31, 0xd2, 0x45, 0x31, 0xc0, 0xb8, 0x2d, 0x00, 0x00, 0x00, 0xbf, 0x03,
    0x00, 0x00, 0x00, 0xba, 0x01, 0x00, 0x00, 0x00, 0x0f, 0x05, 0x48, 0x85, 0xc0, 0x0f, 0x8e, 0xea,
    0xfe, 0xff, 0xff, 0x40, 0x8a, 0x74, 0x24, 0x03, 0x40, 0x80, 0xfe, 0xff, 0x0f, 0x84, 0xdb, 0xfe,
    0xff, 0xff, 0x40, 0x80, 0xfe, 0x40, 0x0f, 0x87, 0x1c, 0xff, 0xff, 0xff, 0x8b, 0x7c, 0x24, 0x18,
    0x85, 0xff, 0x0f, 0x8e, 0x10, 0xff, 0xff, 0xff, 0xf7, 0xdf, 0x40, 0x0f, 0xb6, 0xf6, 0xb8, 0x3e,
    0x00, 0x00, 0x00, 0x31, 0xd2, 0x48, 0x63, 0xff, 0x0f, 0x05, 0xe9, 0xf9, 0xfe, 0xff, 0xff, 0x2f,
    0x70, 0x72, 0x6f, 0x63, 0x2f, 0x74, 0x68, 0x72, 0x65, 0x61, 0x64, 0x2d, 0x73, 0x65, 0x6c, 0x66,
    0x2f, 0x63, 0x68, 0x69, 0x6c, 0x64, 0x72, 0x65, 0x6e, 0x00, 0x2f, 0x70, 0x72, 0x6f, 0x63, 0x00,
    0x73, 0x74, 0x61, 0x74, 0x00, 0x65, 0x6c, 0x61, 0x73, 0x74, 0x69, 0x63, 0x2d, 0x67, 0x75, 0x61,
    0x72, 0x64, 0x00, 0x0f, 0x1f, 0x44, 0x00, 0x00, 0x62, 0x65, 0x73, 0x74, 0x2d, 0x65, 0x66, 0x66,
    0x6f, 0x72, 0x74, 0x00, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00, 0x66, 0x90,
    0x65, 0x6c, 0x61, 0x73, 0x74, 0x69, 0x63, 0x2d, 0x67, 0x75, 0x61, 0x72, 0x64, 0x2d, 0x32, 0x00,
    0x00, 0x2e, 0x73, 0x68, 0x73, 0x74, 0x72, 0x74, 0x61, 0x62, 0x00, 0x2e, 0x74, 0x65, 0x78, 0x74,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0b, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
    0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xb0, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xb0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x60, 0x0a, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x10, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};
#elif defined(__aarch64__)
inline constexpr unsigned char guard_image[3272] = {
    0x7f, 0x45, 0x4c, 0x46, 0x02, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x02, 0x00, 0xb7, 0x00, 0x01, 0x00, 0x00, 0x00, 0xb0, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x0c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x40, 0x00, 0x38, 0x00, 0x02, 0x00, 0x40, 0x00, 0x03, 0x00, 0x02, 0x00,
    0x01, 0x00, 0x00, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xf4, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf4, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x51, 0xe5, 0x74, 0x64, 0x06, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x1d, 0x00, 0x80, 0xd2, 0x1e, 0x00, 0x80, 0xd2, 0xe0, 0x03, 0x00, 0x91, 0xbd, 0x01, 0x00, 0x94,
    0xff, 0xc3, 0x01, 0xd1, 0xe0, 0x07, 0x00, 0x29, 0x80, 0x01, 0x80, 0xd2, 0xe0, 0x0f, 0x00, 0xf9,
    0xe0, 0x03, 0x00, 0x91, 0xe0, 0x0b, 0x00, 0xf9, 0xe0, 0x43, 0x00, 0x91, 0xe2, 0x0b, 0x00, 0xb9,
    0xff, 0x1f, 0x00, 0xf9, 0xff, 0x43, 0x00, 0xb9, 0xe0, 0x27, 0x00, 0xf9, 0x20, 0x00, 0x80, 0xd2,
    0xe0, 0x2b, 0x00, 0xf9, 0xff, 0xff, 0x05, 0xa9, 0xff, 0x6b, 0x00, 0xb9, 0x43, 0x01, 0xf8, 0x37,
    0x80, 0x02, 0x80, 0xd2, 0xe0, 0x13, 0x00, 0xf9, 0xe0, 0x03, 0x00, 0xb2, 0xe0, 0x17, 0x00, 0xf9,
    0xe0, 0x83, 0x00, 0x91, 0xe3, 0x33, 0x00, 0xb9, 0xe0, 0x2f, 0x00, 0xf9, 0x00, 0x03, 0x80, 0xd2,
    0xe0, 0x33, 0x00, 0xf9, 0x68, 0x1a, 0x80, 0xd2, 0x60, 0x00, 0x80, 0xd2, 0xe1, 0xe3, 0x00, 0x91,
    0x02, 0x00, 0x88, 0xd2, 0x03, 0x00, 0x80, 0xd2, 0x04, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4,
    0xff, 0xc3, 0x01, 0x91, 0xc0, 0x03, 0x5f, 0xd6, 0x26, 0x00, 0x80, 0xd2, 0xe5, 0x03, 0x00, 0xaa,
    0x06, 0x00, 0xa8, 0xf2, 0xfe, 0x0f, 0x1e, 0xf8, 0xe1, 0x73, 0x00, 0x91, 0xe2, 0x03, 0x06, 0xaa,
    0x88, 0x20, 0x80, 0xd2, 0x00, 0x00, 0x80, 0x92, 0x03, 0x00, 0x80, 0xd2, 0x04, 0x00, 0x80, 0xd2,
    0xff, 0x1f, 0x00, 0xb9, 0x01, 0x00, 0x00, 0xd4, 0x1f, 0x00, 0x00, 0xf1, 0x00, 0x02, 0x00, 0xb4,
    0xaa, 0x00, 0x00, 0x54, 0x1f, 0x28, 0x00, 0xb1, 0xe0, 0x07, 0x9f, 0x1a, 0xfe, 0x07, 0x42, 0xf8,
    0xc0, 0x03, 0x5f, 0xd6, 0xa1, 0x04, 0x80, 0xb9, 0x3f, 0x00, 0x00, 0xeb, 0xe1, 0xfd, 0xff, 0x54,
    0xe1, 0x1f, 0x80, 0xb9, 0x03, 0x00, 0x80, 0x12, 0xbf, 0x04, 0x00, 0xb9, 0x02, 0x00, 0x80, 0x52,
    0x60, 0x00, 0x80, 0x52, 0xc3, 0xff, 0xff, 0x97, 0xe8, 0xff, 0xff, 0x17, 0x20, 0x00, 0x80, 0x52,
    0xf3, 0xff, 0xff, 0x17, 0xff, 0x03, 0x02, 0xd1, 0xe5, 0x03, 0x00, 0xaa, 0xa0, 0x0c, 0x80, 0xb9,
    0xe1, 0x03, 0x00, 0x91, 0xe8, 0x07, 0x80, 0xd2, 0x02, 0x10, 0x80, 0xd2, 0x03, 0x00, 0x80, 0xd2,
    0x04, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4, 0x1f, 0x00, 0x00, 0xf1, 0x0c, 0xff, 0xff, 0x54,
    0xff, 0x03, 0x02, 0x91, 0xc0, 0x03, 0x5f, 0xd6, 0xe2, 0x03, 0x00, 0xaa, 0x40, 0x00, 0x40, 0xf9,
    0x1f, 0x00, 0x01, 0xeb, 0xe3, 0x00, 0x00, 0x54, 0x21, 0x01, 0x00, 0x54, 0x00, 0x00, 0x80, 0x12,
    0x16, 0x00, 0x00, 0x14, 0x00, 0x04, 0x00, 0x91, 0x40, 0x00, 0x00, 0xf9, 0xf8, 0xff, 0xff, 0x17,
    0x03, 0x00, 0x40, 0x39, 0x7f, 0x80, 0x00, 0x71, 0x60, 0xff, 0xff, 0x54, 0x00, 0x00, 0x40, 0x39,
    0x00, 0xc0, 0x00, 0x51, 0x00, 0x1c, 0x00, 0x12, 0x1f, 0x24, 0x00, 0x71, 0x88, 0xfe, 0xff, 0x54,
    0x00, 0x00, 0x80, 0x52, 0x45, 0x01, 0x80, 0x52, 0x44, 0x00, 0x40, 0xf9, 0x3f, 0x00, 0x04, 0xeb,
    0xc9, 0x00, 0x00, 0x54, 0x83, 0x00, 0x40, 0x39, 0x63, 0xc0, 0x00, 0x51, 0x63, 0x1c, 0x00, 0x12,
    0x7f, 0x24, 0x00, 0x71, 0x49, 0x00, 0x00, 0x54, 0xc0, 0x03, 0x5f, 0xd6, 0x83, 0x04, 0x00, 0x91,
    0x43, 0x00, 0x00, 0xf9, 0x83, 0x00, 0x40, 0x39, 0x63, 0xc0, 0x00, 0x51, 0x00, 0x0c, 0x05, 0x1b,
    0xf2, 0xff, 0xff, 0x17, 0x25, 0x7c, 0x40, 0x93, 0xa3, 0x00, 0x80, 0xd2, 0xe6, 0x03, 0x00, 0xaa,
    0xe1, 0x03, 0x05, 0xaa, 0xe8, 0x0b, 0x80, 0xd2, 0x20, 0x00, 0x80, 0xd2, 0x02, 0x00, 0x80, 0xd2,
    0x03, 0x20, 0xa8, 0xf2, 0x04, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4, 0x80, 0x02, 0xf8, 0xb7,
    0xe0, 0x03, 0x05, 0xaa, 0x28, 0x10, 0x80, 0xd2, 0x21, 0x01, 0x80, 0xd2, 0x03, 0x00, 0x80, 0xd2,
    0x01, 0x00, 0x00, 0xd4, 0x00, 0x02, 0xf8, 0xb6, 0xc0, 0x44, 0x40, 0x39, 0xc0, 0x01, 0x00, 0x35,
    0xfe, 0x0f, 0x1f, 0xf8, 0x20, 0x00, 0x80, 0x52, 0xc0, 0x44, 0x00, 0x39, 0xe1, 0x03, 0x05, 0xaa,
    0x03, 0x00, 0x80, 0x12, 0x02, 0x00, 0x80, 0x52, 0x80, 0x00, 0x80, 0x52, 0x75, 0xff, 0xff, 0x97,
    0xfe, 0x07, 0x41, 0xf8, 0x20, 0x00, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6, 0x00, 0x00, 0x80, 0x52,
    0xc0, 0x03, 0x5f, 0xd6, 0x20, 0x00, 0x80, 0x52, 0xc0, 0x03, 0x5f, 0xd6, 0xe8, 0x03, 0x00, 0xaa,
    0xe0, 0x03, 0x01, 0xaa, 0xe1, 0x03, 0x02, 0xaa, 0xe2, 0x03, 0x03, 0xaa, 0xe3, 0x03, 0x04, 0xaa,
    0x04, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4, 0xc0, 0x03, 0x5f, 0xd6, 0x05, 0x7c, 0x40, 0x93,
    0xfe, 0x0f, 0x1f, 0xf8, 0xe1, 0x03, 0x05, 0xaa, 0x04, 0x00, 0x80, 0xd2, 0x03, 0x00, 0x80, 0xd2,
    0x02, 0x00, 0x80, 0xd2, 0xc0, 0x0b, 0x80, 0xd2, 0xf1, 0xff, 0xff, 0x97, 0xfa, 0xff, 0xff, 0x17,
    0xe9, 0x03, 0x00, 0x2a, 0xe6, 0x03, 0x01, 0xaa, 0xe7, 0x03, 0x02, 0xaa, 0xe5, 0x03, 0x03, 0xaa,
    0xa8, 0x13, 0x80, 0xd2, 0x00, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x80, 0xd2, 0x02, 0x00, 0x80, 0xd2,
    0x03, 0x00, 0x80, 0xd2, 0x04, 0x00, 0x80, 0xd2, 0xfe, 0x0f, 0x1e, 0xf8, 0x01, 0x00, 0x00, 0xd4,
    0xa0, 0x00, 0x00, 0xf9, 0xa0, 0x00, 0x40, 0xf9, 0x00, 0x01, 0xf8, 0xb7, 0x40, 0x00, 0x80, 0x52,
    0xe8, 0x14, 0x80, 0xd2, 0x21, 0x01, 0x80, 0xd2, 0xa0, 0x08, 0x00, 0xb9, 0x20, 0x00, 0x80, 0xd2,
    0x01, 0x00, 0x00, 0xd4, 0xa0, 0x00, 0x00, 0xf9, 0xa0, 0x00, 0x40, 0xf9, 0x40, 0x01, 0xf8, 0xb7,
    0xa8, 0x15, 0x80, 0xd2, 0x00, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x80, 0xd2, 0x02, 0x00, 0x80, 0xd2,
    0x03, 0x00, 0x80, 0xd2, 0x04, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4, 0x1f, 0xc0, 0x29, 0xeb,
    0x60, 0x00, 0x00, 0x54, 0xe0, 0x0f, 0x80, 0x52, 0xd5, 0xff, 0xff, 0x97, 0xe2, 0x63, 0x00, 0x91,
    0x04, 0x01, 0x80, 0xd2, 0x41, 0x00, 0x80, 0xd2, 0xe0, 0x10, 0x80, 0xd2, 0xff, 0x0f, 0x00, 0xf9,
    0xc7, 0xff, 0xff, 0x97, 0x60, 0x00, 0x80, 0x52, 0xc1, 0x60, 0x00, 0x91, 0xe2, 0x03, 0x07, 0xaa,
    0xa8, 0x1b, 0x80, 0xd2, 0x03, 0x00, 0x80, 0xd2, 0x04, 0x00, 0x80, 0xd2, 0xa0, 0x08, 0x00, 0xb9,
    0xc0, 0x08, 0x40, 0xf9, 0x01, 0x00, 0x00, 0xd4, 0xa0, 0x00, 0x00, 0xf9, 0xee, 0xff, 0xff, 0x17,
    0xeb, 0x03, 0x00, 0xaa, 0x08, 0x07, 0x80, 0xd2, 0x60, 0x0c, 0x80, 0x92, 0x01, 0x00, 0x00, 0x90,
    0x02, 0x00, 0x80, 0xd2, 0x21, 0x90, 0x2e, 0x91, 0x03, 0x00, 0x80, 0xd2, 0x04, 0x00, 0x80, 0xd2,
    0x01, 0x00, 0x00, 0xd4, 0x20, 0x05, 0xf8, 0xb7, 0x0c, 0x04, 0x82, 0xd2, 0xff, 0x63, 0x2c, 0xcb,
    0xe7, 0x83, 0x00, 0x91, 0xe6, 0x03, 0x00, 0xaa, 0xe1, 0x03, 0x07, 0xaa, 0xe8, 0x07, 0x80, 0xd2,
    0x02, 0x00, 0x82, 0xd2, 0xfe, 0x03, 0x00, 0xf9, 0x01, 0x00, 0x00, 0xd4, 0x02, 0x00, 0x80, 0xd2,
    0xe9, 0x03, 0x00, 0xaa, 0xe1, 0x03, 0x06, 0xaa, 0x20, 0x07, 0x80, 0xd2, 0xa4, 0xff, 0xff, 0x97,
    0x89, 0x02, 0xf8, 0xb7, 0xe7, 0x0f, 0x00, 0xf9, 0xe7, 0x00, 0x09, 0x8b, 0x0a, 0x00, 0x80, 0x52,
    0xe1, 0x03, 0x07, 0xaa, 0xe0, 0x63, 0x00, 0x91, 0x58, 0xff, 0xff, 0x97, 0xe1, 0x03, 0x00, 0x2a,
    0x1f, 0x00, 0x00, 0x71, 0x8d, 0x01, 0x00, 0x54, 0xe0, 0x0f, 0x40, 0xf9, 0x1f, 0x00, 0x07, 0xeb,
    0x61, 0x00, 0x00, 0x54, 0x3f, 0x05, 0x40, 0xf1, 0xe0, 0x00, 0x00, 0x54, 0xe0, 0x03, 0x0b, 0xaa,
    0x71, 0xff, 0xff, 0x97, 0x01, 0x1c, 0x00, 0x72, 0x2a, 0x10, 0x8a, 0x1a, 0xf1, 0xff, 0xff, 0x17,
    0x0a, 0x00, 0x80, 0x52, 0xfe, 0x03, 0x40, 0xf9, 0xe0, 0x03, 0x0a, 0x2a, 0x0c, 0x04, 0x82, 0xd2,
    0xff, 0x63, 0x2c, 0x8b, 0xc0, 0x03, 0x5f, 0xd6, 0x0a, 0x00, 0x80, 0x52, 0xe0, 0x03, 0x0a, 0x2a,
    0xc0, 0x03, 0x5f, 0xd6, 0xeb, 0x03, 0x00, 0xaa, 0x08, 0x07, 0x80, 0xd2, 0x60, 0x0c, 0x80, 0x92,
    0x01, 0x00, 0x00, 0x90, 0x02, 0x00, 0x88, 0xd2, 0x21, 0xfc, 0x2e, 0x91, 0x03, 0x00, 0x80, 0xd2,
    0x04, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4, 0x60, 0x0c, 0xf8, 0xb7, 0xff, 0x83, 0x24, 0xd1,
    0x0e, 0x00, 0x00, 0x90, 0xe7, 0x03, 0x00, 0xaa, 0xce, 0x15, 0x2f, 0x91, 0x0a, 0x00, 0x80, 0x52,
    0xfe, 0x03, 0x00, 0xf9, 0xe0, 0x03, 0x07, 0xaa, 0xe1, 0x83, 0x04, 0x91, 0xa8, 0x07, 0x80, 0xd2,
    0x02, 0x00, 0x81, 0xd2, 0x03, 0x00, 0x80, 0xd2, 0x04, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4,
    0xec, 0x03, 0x00, 0xaa, 0x1f, 0x00, 0x00, 0xf1, 0x6d, 0x09, 0x00, 0x54, 0x09, 0x00, 0x80, 0xd2,
    0xe0, 0x83, 0x04, 0x91, 0x06, 0x00, 0x09, 0x8b, 0xc6, 0x4c, 0x00, 0x91, 0xc0, 0xd0, 0x5f, 0x78,
    0xe6, 0x0b, 0x00, 0xf9, 0x29, 0x01, 0x00, 0x8b, 0xe0, 0x83, 0x04, 0x91, 0x01, 0x00, 0x09, 0x8b,
    0xe0, 0x43, 0x00, 0x91, 0x1d, 0xff, 0xff, 0x97, 0xed, 0x03, 0x00, 0x2a, 0x1f, 0x00, 0x00, 0x71,
    0xed, 0x06, 0x00, 0x54, 0xe0, 0x03, 0x07, 0xaa, 0xe1, 0x03, 0x06, 0xaa, 0x08, 0x07, 0x80, 0xd2,
    0x02, 0x00, 0x88, 0xd2, 0x03, 0x00, 0x80, 0xd2, 0x04, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4,
    0x02, 0x00, 0x80, 0xd2, 0xef, 0x03, 0x00, 0xaa, 0xe1, 0x03, 0x0e, 0xaa, 0x01, 0x00, 0x00, 0xd4,
    0xe6, 0x83, 0x00, 0x91, 0xf0, 0x03, 0x00, 0xaa, 0xe1, 0x03, 0x06, 0xaa, 0xe8, 0x07, 0x80, 0xd2,
    0x02, 0x20, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4, 0x02, 0x00, 0x80, 0xd2, 0xe5, 0x03, 0x00, 0xaa,
    0xe1, 0x03, 0x10, 0xaa, 0x20, 0x07, 0x80, 0xd2, 0x49, 0xff, 0xff, 0x97, 0xe1, 0x03, 0x0f, 0xaa,
    0x04, 0x00, 0x80, 0xd2, 0x03, 0x00, 0x80, 0xd2, 0x02, 0x00, 0x80, 0xd2, 0x20, 0x07, 0x80, 0xd2,
    0x43, 0xff, 0xff, 0x97, 0xbf, 0x00, 0x00, 0xf1, 0x2d, 0x03, 0x00, 0x54, 0xc1, 0x00, 0x05, 0x8b,
    0xe2, 0x03, 0x01, 0xaa, 0xe0, 0x03, 0x02, 0xaa, 0x5f, 0x00, 0x06, 0xeb, 0xe9, 0x02, 0x00, 0x54,
    0x43, 0xfc, 0x5f, 0x38, 0x7f, 0xa4, 0x00, 0x71, 0x61, 0xff, 0xff, 0x54, 0x22, 0x00, 0x00, 0xcb,
    0x5f, 0x0c, 0x00, 0xf1, 0x4d, 0x02, 0x00, 0x54, 0x00, 0x0c, 0x00, 0x91, 0xe0, 0x0f, 0x00, 0xf9,
    0xe0, 0x63, 0x00, 0x91, 0xed, 0xfe, 0xff, 0x97, 0xe2, 0x03, 0x00, 0x2a, 0x60, 0x01, 0x40, 0xb9,
    0x1f, 0x00, 0x02, 0x6b, 0xc1, 0x00, 0x00, 0x54, 0xe1, 0x03, 0x0d, 0x2a, 0xe0, 0x03, 0x0b, 0xaa,
    0x09, 0xff, 0xff, 0x97, 0x00, 0x1c, 0x00, 0x72, 0x0a, 0x10, 0x8a, 0x1a, 0x3f, 0x01, 0x0c, 0xeb,
    0x8b, 0xf7, 0xff, 0x54, 0xb0, 0xff, 0xff, 0x17, 0xa1, 0xfd, 0xff, 0x54, 0x02, 0x00, 0x80, 0x12,
    0xf3, 0xff, 0xff, 0x17, 0xe1, 0x03, 0x07, 0xaa, 0x02, 0x00, 0x80, 0xd2, 0x20, 0x07, 0x80, 0xd2,
    0x1f, 0xff, 0xff, 0x97, 0xfe, 0x03, 0x40, 0xf9, 0xe0, 0x03, 0x0a, 0x2a, 0xff, 0x83, 0x24, 0x91,
    0xc0, 0x03, 0x5f, 0xd6, 0x0a, 0x00, 0x80, 0x52, 0xe0, 0x03, 0x0a, 0x2a, 0xc0, 0x03, 0x5f, 0xd6,
    0xf3, 0x53, 0xbc, 0xa9, 0xf2, 0x03, 0x00, 0xaa, 0x00, 0x40, 0x40, 0x39, 0xf5, 0x7b, 0x01, 0xa9,
    0x60, 0x01, 0x00, 0x35, 0x41, 0x06, 0x40, 0xb9, 0x3f, 0x00, 0x00, 0x71, 0x0d, 0x01, 0x00, 0x54,
    0xe1, 0x03, 0x01, 0x4b, 0x04, 0x00, 0x80, 0xd2, 0x03, 0x00, 0x80, 0xd2, 0x22, 0x01, 0x80, 0xd2,
    0x21, 0x7c, 0x40, 0x93, 0x20, 0x10, 0x80, 0xd2, 0x09, 0xff, 0xff, 0x97, 0x13, 0xa0, 0x85, 0xd2,
    0x35, 0x00, 0x80, 0x52, 0x34, 0x00, 0x80, 0xd2, 0x33, 0x26, 0xa0, 0xf2, 0xe0, 0x03, 0x12, 0xaa,
    0xb1, 0xfe, 0xff, 0x97, 0xe0, 0x03, 0x12, 0xaa, 0x90, 0xfe, 0xff, 0x97, 0x1f, 0x1c, 0x00, 0x72,
    0x20, 0x04, 0x00, 0x54, 0xe0, 0x03, 0x12, 0xaa, 0x42, 0xff, 0xff, 0x97, 0x1f, 0x1c, 0x00, 0x72,
    0xc1, 0x01, 0x00, 0x54, 0xe0, 0x03, 0x12, 0xaa, 0x73, 0xff, 0xff, 0x97, 0x1f, 0x1c, 0x00, 0x72,
    0x41, 0x01, 0x00, 0x54, 0x29, 0x00, 0x80, 0x52, 0x27, 0x00, 0x80, 0x52, 0x09, 0x08, 0xa0, 0x72,
    0xe1, 0x03, 0x07, 0x2a, 0xe0, 0x03, 0x12, 0xaa, 0xe7, 0x04, 0x00, 0x11, 0xce, 0xfe, 0xff, 0x97,
    0xff, 0x00, 0x09, 0x6b, 0x61, 0xff, 0xff, 0x54, 0x40, 0x46, 0x40, 0x39, 0xe3, 0xc3, 0x00, 0x91,
    0x41, 0x0e, 0x40, 0xb9, 0x04, 0x00, 0x80, 0xd2, 0x1f, 0x00, 0x00, 0x71, 0xe1, 0x57, 0x05, 0x29,
    0x60, 0x02, 0x9f, 0x9a, 0xe1, 0x03, 0x94, 0x9a, 0x22, 0x00, 0x80, 0xd2, 0xe1, 0x1b, 0x00, 0xf9,
    0xe1, 0xa3, 0x00, 0x91, 0xe0, 0x1f, 0x00, 0xf9, 0x20, 0x09, 0x80, 0xd2, 0xe0, 0xfe, 0xff, 0x97,
    0xdb, 0xff, 0xff, 0x17, 0x03, 0x00, 0x80, 0x12, 0x02, 0x00, 0x80, 0x52, 0x01, 0x00, 0x80, 0xd2,
    0xa0, 0x00, 0x80, 0x52, 0x47, 0xfe, 0xff, 0x97, 0x00, 0x00, 0x80, 0x52, 0xe0, 0xfe, 0xff, 0x97,
    0x09, 0x00, 0x40, 0xf9, 0xfe, 0x0f, 0x1a, 0xf8, 0x3f, 0x0d, 0x00, 0xf1, 0x8d, 0x01, 0x00, 0x54,
    0xe5, 0x03, 0x00, 0xaa, 0x01, 0x00, 0x00, 0x90, 0x21, 0x90, 0x2f, 0x91, 0x00, 0x00, 0x80, 0xd2,
    0xa4, 0x04, 0x40, 0xf9, 0x83, 0x68, 0x60, 0x38, 0x22, 0x68, 0x60, 0x38, 0xc3, 0x00, 0x00, 0x34,
    0x00, 0x04, 0x00, 0x91, 0x5f, 0x00, 0x03, 0x6b, 0x60, 0xff, 0xff, 0x54, 0x00, 0x08, 0x80, 0x52,
    0xcf, 0xfe, 0xff, 0x97, 0xc2, 0xff, 0xff, 0x35, 0x88, 0x15, 0x80, 0xd2, 0x00, 0x00, 0x80, 0xd2,
    0x01, 0x00, 0x80, 0xd2, 0x02, 0x00, 0x80, 0xd2, 0x03, 0x00, 0x80, 0xd2, 0x04, 0x00, 0x80, 0xd2,
    0x01, 0x00, 0x00, 0xd4, 0x07, 0x00, 0x80, 0x92, 0xe2, 0x23, 0x01, 0x91, 0x04, 0x01, 0x80, 0xd2,
    0x41, 0x00, 0x80, 0xd2, 0xe0, 0x7f, 0x06, 0x29, 0xe0, 0x10, 0x80, 0xd2, 0xff, 0x07, 0x01, 0x39,
    0xe7, 0x27, 0x00, 0xf9, 0xb6, 0xfe, 0xff, 0x97, 0x04, 0x00, 0x80, 0xd2, 0x03, 0x00, 0x80, 0xd2,
    0xe1, 0x01, 0x80, 0xd2, 0xe0, 0x14, 0x80, 0xd2, 0x02, 0x00, 0x00, 0x90, 0x42, 0x28, 0x2f, 0x91,
    0xaf, 0xfe, 0xff, 0x97, 0xe8, 0x14, 0x80, 0xd2, 0x80, 0x04, 0x80, 0xd2, 0x21, 0x00, 0x80, 0xd2,
    0x02, 0x00, 0x80, 0xd2, 0x03, 0x00, 0x80, 0xd2, 0x04, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4,
    0xe6, 0x03, 0x00, 0xaa, 0xe0, 0x03, 0x20, 0xaa, 0xe3, 0x03, 0x01, 0xaa, 0x42, 0x00, 0x80, 0xd2,
    0x00, 0xfc, 0x7f, 0xd3, 0x61, 0x00, 0x80, 0xd2, 0xe0, 0x03, 0x01, 0x39, 0x20, 0x03, 0x80, 0xd2,
    0x9f, 0xfe, 0xff, 0x97, 0x28, 0x03, 0x80, 0xd2, 0x80, 0x00, 0x80, 0xd2, 0x41, 0x00, 0x80, 0xd2,
    0x22, 0x00, 0x80, 0xd2, 0x03, 0x00, 0x80, 0xd2, 0x04, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4,
    0x1f, 0x00, 0x00, 0xf1, 0x80, 0x00, 0x80, 0x52, 0xe0, 0xb0, 0x80, 0x1a, 0x03, 0x00, 0x81, 0xd2,
    0xe0, 0x3b, 0x00, 0xb9, 0x20, 0x00, 0xa0, 0xd2, 0xe1, 0x63, 0x00, 0x91, 0x48, 0x09, 0x80, 0xd2,
    0x02, 0x01, 0x80, 0xd2, 0x03, 0x01, 0xa0, 0xf2, 0xe0, 0x0f, 0x00, 0xf9, 0xe0, 0x03, 0x07, 0xaa,
    0x01, 0x00, 0x00, 0xd4, 0xe0, 0x3f, 0x00, 0xb9, 0x20, 0x01, 0xf8, 0x36, 0x06, 0x7c, 0x40, 0x93,
    0xe1, 0x03, 0x06, 0xcb, 0x03, 0x00, 0x80, 0x12, 0x82, 0x00, 0x80, 0x52, 0x40, 0x00, 0x80, 0x52,
    0xf0, 0xfd, 0xff, 0x97, 0x20, 0x00, 0x80, 0x52, 0xba, 0xff, 0xff, 0x17, 0xe2, 0x23, 0x01, 0x91,
    0x28, 0x09, 0x80, 0xd2, 0x00, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x80, 0xd2, 0x03, 0x00, 0x80, 0xd2,
    0xff, 0xff, 0x04, 0xa9, 0x01, 0x00, 0x00, 0xd4, 0x80, 0x01, 0xf8, 0xb7, 0xe0, 0x03, 0x07, 0xaa,
    0x68, 0x1a, 0x80, 0xd2, 0x02, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4, 0x1f, 0x24, 0x00, 0xb1,
    0x04, 0x18, 0x4e, 0xba, 0x81, 0x03, 0x00, 0x54, 0xe0, 0x33, 0x80, 0xb9, 0x28, 0x10, 0x80, 0xd2,
    0x01, 0x00, 0x00, 0xd4, 0x60, 0x00, 0xf8, 0xb6, 0xe6, 0x03, 0x00, 0xaa, 0xe5, 0xff, 0xff, 0x17,
    0x22, 0x00, 0x80, 0xd2, 0xe0, 0x03, 0x07, 0xaa, 0x88, 0x20, 0x80, 0xd2, 0x02, 0x00, 0xa8, 0xf2,
    0x01, 0x00, 0x00, 0xd4, 0x1f, 0x28, 0x00, 0xb1, 0xe1, 0x01, 0x00, 0x54, 0xe0, 0x03, 0x41, 0x39,
    0x20, 0x02, 0x00, 0x35, 0xa4, 0x08, 0x40, 0xf9, 0x01, 0x00, 0x00, 0x90, 0x21, 0x60, 0x2f, 0x91,
    0x00, 0x00, 0x80, 0xd2, 0x83, 0x68, 0x60, 0x38, 0x22, 0x68, 0x60, 0x38, 0x23, 0x01, 0x00, 0x34,
    0x00, 0x04, 0x00, 0x91, 0x5f, 0x00, 0x03, 0x6b, 0x60, 0xff, 0xff, 0x54, 0x26, 0xfa, 0xff, 0xb7,
    0x05, 0x00, 0x00, 0x14, 0x40, 0xfe, 0xff, 0xb4, 0xe6, 0x03, 0x00, 0xaa, 0xfc, 0xff, 0xff, 0x17,
    0x62, 0xff, 0xff, 0x35, 0x20, 0x00, 0x80, 0x52, 0xe6, 0x83, 0x00, 0x91, 0xff, 0x13, 0x00, 0xf9,
    0xe0, 0x2b, 0x00, 0xb9, 0x00, 0x00, 0x80, 0x12, 0xe2, 0x53, 0x00, 0x91, 0x88, 0x1b, 0x80, 0xd2,
    0x01, 0x00, 0x80, 0xd2, 0x03, 0x00, 0x80, 0xd2, 0x04, 0x00, 0x80, 0xd2, 0xe0, 0x17, 0x00, 0xb9,
    0x20, 0x22, 0x8a, 0xd2, 0x01, 0x00, 0x00, 0xd4, 0x1f, 0x58, 0x00, 0xb1, 0x81, 0x00, 0x00, 0x54,
    0x20, 0x22, 0x88, 0xd2, 0x02, 0x00, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4, 0x1f, 0x00, 0x00, 0xf1,
    0xe0, 0x00, 0x00, 0xb5, 0xe0, 0x33, 0x40, 0xb9, 0x22, 0x05, 0x00, 0x91, 0xa1, 0x20, 0x00, 0x91,
    0xe3, 0x03, 0x06, 0xaa, 0x22, 0x0c, 0x02, 0x8b, 0x4a, 0xfe, 0xff, 0x97, 0xaa, 0x00, 0x00, 0x54,
    0xe1, 0x03, 0x00, 0xcb, 0x03, 0x00, 0x80, 0x12, 0x02, 0x00, 0x80, 0x52, 0xb0, 0xff, 0xff, 0x17,
    0xc1, 0x00, 0x40, 0xf9, 0xc1, 0x00, 0xf8, 0xb6, 0xc1, 0x00, 0x40, 0xf9, 0x03, 0x00, 0x80, 0x12,
    0xc2, 0x08, 0x40, 0xb9, 0xe1, 0x03, 0x01, 0xcb, 0xa9, 0xff, 0xff, 0x17, 0xe2, 0x03, 0x41, 0x39,
    0xe1, 0x03, 0x00, 0xaa, 0xe3, 0x17, 0x40, 0xb9, 0x42, 0x00, 0x00, 0x52, 0xe0, 0x37, 0x00, 0xb9,
    0x20, 0x00, 0x80, 0x52, 0x42, 0x74, 0x1e, 0x53, 0x92, 0xfd, 0xff, 0x97, 0x60, 0x00, 0xf8, 0xb6,
    0xe0, 0xc3, 0x00, 0x91, 0x0b, 0xff, 0xff, 0x97, 0xe1, 0x17, 0x80, 0xb9, 0x04, 0x00, 0x80, 0xd2,
    0x03, 0x00, 0x80, 0xd2, 0x02, 0x00, 0x80, 0xd2, 0x20, 0x07, 0x80, 0xd2, 0x05, 0x00, 0x80, 0xd2,
    0x1b, 0xfe, 0xff, 0x97, 0xe1, 0x03, 0x05, 0xaa, 0x04, 0x00, 0x80, 0xd2, 0x03, 0x00, 0x80, 0xd2,
    0x02, 0x00, 0x80, 0xd2, 0x20, 0x07, 0x80, 0xd2, 0xa5, 0x04, 0x00, 0x91, 0x14, 0xfe, 0xff, 0x97,
    0xbf, 0x0c, 0x00, 0xf1, 0x01, 0xff, 0xff, 0x54, 0x69, 0x00, 0x80, 0xd2, 0x27, 0x00, 0xc0, 0xd2,
    0x29, 0x00, 0xc0, 0xf2, 0xe0, 0x3b, 0x40, 0xb9, 0x28, 0x09, 0x80, 0xd2, 0xe9, 0x9f, 0x04, 0xa9,
    0x61, 0x00, 0x80, 0xd2, 0x02, 0x00, 0x80, 0xd2, 0xe0, 0x53, 0x00, 0xb9, 0x03, 0x00, 0x80, 0xd2,
    0xe0, 0x3f, 0x40, 0xb9, 0x04, 0x00, 0x80, 0xd2, 0xe7, 0x2f, 0x00, 0xf9, 0xe0, 0x5b, 0x00, 0xb9,
    0xe0, 0x23, 0x01, 0x91, 0x01, 0x00, 0x00, 0xd4, 0x1f, 0x10, 0x00, 0xb1, 0x40, 0xfe, 0xff, 0x54,
    0x80, 0xfb, 0xff, 0xb7, 0xe0, 0xbf, 0xc0, 0x79, 0xe0, 0x00, 0x00, 0x34, 0xe0, 0xc3, 0x00, 0x91,
    0xa9, 0xfd, 0xff, 0x97, 0xe0, 0xc3, 0x00, 0x91, 0x88, 0xfd, 0xff, 0x97, 0xe0, 0x37, 0x40, 0xb9,
    0x80, 0xfa, 0xff, 0x34, 0xe0, 0xaf, 0xc0, 0x79, 0x40, 0xfa, 0xff, 0x35, 0xe0, 0x9f, 0xc0, 0x79,
    0xa0, 0xfc, 0xff, 0x34, 0xe1, 0x4f, 0x00, 0x91, 0xe8, 0x19, 0x80, 0xd2, 0x60, 0x00, 0x80, 0xd2,
    0x22, 0x00, 0x80, 0xd2, 0x03, 0x00, 0x80, 0xd2, 0x04, 0x00, 0x80, 0xd2, 0xff, 0x4f, 0x00, 0x39,
    0x01, 0x00, 0x00, 0xd4, 0x1f, 0x00, 0x00, 0xf1, 0xcd, 0xf8, 0xff, 0x54, 0xe2, 0x4f, 0x40, 0x39,
    0x5f, 0xfc, 0x03, 0x71, 0x60, 0xf8, 0xff, 0x54, 0x5f, 0x00, 0x01, 0x71, 0xc8, 0xfa, 0xff, 0x54,
    0xe1, 0x37, 0x40, 0xb9, 0x3f, 0x00, 0x00, 0x71, 0x6d, 0xfa, 0xff, 0x54, 0xe1, 0x03, 0x01, 0x4b,
    0x42, 0x1c, 0x40, 0x92, 0x20, 0x10, 0x80, 0xd2, 0x21, 0x7c, 0x40, 0x93, 0xdc, 0xfd, 0xff, 0x97,
    0xcd, 0xff, 0xff, 0x17, 0x2f, 0x70, 0x72, 0x6f, 0x63, 0x2f, 0x74, 0x68, 0x72, 0x65, 0x61, 0x64,
    0x2d, 0x73, 0x65, 0x6c, 0x66, 0x2f, 0x63, 0x68, 0x69, 0x6c, 0x64, 0x72, 0x65, 0x6e, 0x00, 0x2f,
    0x70, 0x72, 0x6f, 0x63, 0x00, 0x73, 0x74, 0x61, 0x74, 0x00, 0x65, 0x6c, 0x61, 0x73, 0x74, 0x69,
    0x63, 0x2d, 0x67, 0x75, 0x61, 0x72, 0x64, 0x00, 0x62, 0x65, 0x73, 0x74, 0x2d, 0x65, 0x66, 0x66,
    0x6f, 0x72, 0x74, 0x00, 0x65, 0x6c, 0x61, 0x73, 0x74, 0x69, 0x63, 0x2d, 0x67, 0x75, 0x61, 0x72,
    0x64, 0x2d, 0x32, 0x00, 0x00, 0x2e, 0x73, 0x68, 0x73, 0x74, 0x72, 0x74, 0x61, 0x62, 0x00, 0x2e,
    0x74, 0x65, 0x78, 0x74, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x0b, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00,
    0x06, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xb0, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xb0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x44, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0xf4, 0x0b, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};
#else
// No guard for this processor.
inline constexpr unsigned char guard_image[1] = {};
#endif

}  // namespace elastic::detail

// ---- elastic/process/detail/guard_file.hpp ----

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

namespace elastic::detail {

/// The program of a guard as an open file that can be executed, or why there is none.
struct guard_file {
  unique_fd fd;
  /// For messages: a path, or "memory".
  std::string name;
  std::string problem;
};

/// The same descriptor under a number that leaves 0 to 4 to the streams and what is passed on.
inline unique_fd above_passed(unique_fd fd) {
  constexpr int first = 5;
  if (!fd || fd.get() >= first) return fd;
  return unique_fd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, first));
}

inline bool write_guard_image(int fd) {
  return ::write(fd, guard_image, sizeof guard_image) ==
         static_cast<ssize_t>(sizeof guard_image);
}

/// A file of a user's own, such as the installed one.
inline guard_file named_guard(const std::string& path) {
  guard_file file{unique_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), path, {}};
  if (!file.fd) {
    file.problem = errno_text(errno);
  } else if (::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) != 0) {
    file.problem = errno_text(errno);
    file.fd.reset();
  }
  file.fd = above_passed(std::move(file.fd));
  return file;
}

/// A file that exists in memory alone. Systems can forbid to execute it.
inline guard_file guard_in_memory() {
  guard_file file{{}, "memory", {}};
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  unique_fd fd(::memfd_create("elastic-guard", flags | MFD_EXEC));
  // Kernels before 6.3 do not know the flag, nor the policy that makes it needed.
  if (!fd && errno == EINVAL) fd = unique_fd(::memfd_create("elastic-guard", flags));
  if (!fd || !write_guard_image(fd.get())) {
    file.problem = errno_text(errno);
    return file;
  }
  ::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL);
  file.fd = above_passed(std::move(fd));
  return file;
}

/// A file without a name in `folder`.
inline guard_file guard_in(const std::string& folder) {
  guard_file file{{}, fmt::format("a file in {}", folder), {}};
  const unique_fd written(::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0700));
  if (written && write_guard_image(written.get())) {
    // What is open for writing cannot be executed.
    const std::string path = fmt::format("/proc/self/fd/{}", written.get());
    file.fd = unique_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }
  if (!file.fd) file.problem = errno_text(errno);
  file.fd = above_passed(std::move(file.fd));
  return file;
}

/// Where a guard may run from, one after the other: what is tried next when one cannot be executed.
class guard_sources {
 public:
  /// `named`: the one file to use; empty: any.
  explicit guard_sources(std::string named) : named_(std::move(named)) {}

  /// The next one; empty where all were tried.
  std::optional<guard_file> next() {
    if (!named_.empty()) {
      if (tried_++ > 0) return std::nullopt;
      return named_guard(named_);
    }
    if constexpr (sizeof guard_image == 1) return std::nullopt;
    const char* const run = std::getenv("XDG_RUNTIME_DIR");
    const std::vector<std::string> folders{run ? run : "/run", "/tmp", "/dev/shm"};
    const std::size_t place = tried_++;
    if (place == 0) return guard_in_memory();
    if (place <= folders.size()) return guard_in(folders[place - 1]);
    return std::nullopt;
  }

 private:
  std::string named_;
  std::size_t tried_ = 0;
};

}  // namespace elastic::detail

// ---- elastic/process/detail/guard_protocol.hpp ----

// What an agent and a guard say to each other. The guard has no library: no more than types here.

namespace elastic::detail {

/// What a guard tells, in the order in which it can.
enum class guard_news : int {
  /// The worker was executed; `value` is its pid, and its pidfd is attached where the kernel gives
  /// one. `stage` is `hold` where what leaves the worker's tree is not held.
  started = 1,
  /// It could not be; `value` is the error's number, `stage` the step. The guard ends.
  not_started = 2,
  /// The worker has ended; `value` is its status as `wait4` tells it.
  ended = 3,
  /// A process of the tree cannot be killed, such as a setuid program; `value` is its pid.
  stuck = 4,
  /// Nothing of the tree is left. The guard ends.
  empty = 5,
};

/// The steps by which the worker is started; `hold`: what the guard itself needs of the kernel.
enum class guard_stage : int { fork, session, parent_death, execute, hold };

struct guard_message {
  guard_news news;
  int value;
  guard_stage stage;
};

/// Descriptors that a guard is started with.
inline constexpr int guard_socket = 3;
inline constexpr int guard_agent = 4;

/// A byte to a guard that is none of a signal: end the tree.
inline constexpr unsigned char guard_end_tree = 255;

/// The first argument of a guard of this form of the protocol: of another it refuses to work.
inline constexpr char guard_version[] = "elastic-guard-2";

/// The second argument: whether the worker is started although what leaves its tree is not held.
inline constexpr char guard_must_hold[] = "required";
inline constexpr char guard_may_fail[] = "best-effort";

}  // namespace elastic::detail

// ---- elastic/process/guarded_child.hpp ----

namespace elastic {

namespace detail {

/// A message of a guard with what was attached to it.
struct received_news {
  guard_message message{};
  unique_fd attached;
};

/// Result: the next message; empty where there is none yet, or with `has_ended` none any more.
inline std::optional<received_news> receive_news(int socket, bool& has_ended) noexcept {
  received_news news;
  alignas(cmsghdr) unsigned char control[CMSG_SPACE(sizeof(int))];
  iovec part{&news.message, sizeof news.message};
  msghdr packet{};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  packet.msg_control = control;
  packet.msg_controllen = sizeof control;
  const auto receive = [&] { return ::recvmsg(socket, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC); };
  ssize_t size = uninterrupted(receive);
  // It ended with a request unread, which is told once; what it had said is still there.
  if (size < 0 && errno == ECONNRESET) size = uninterrupted(receive);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::nullopt;
  if (size != static_cast<ssize_t>(sizeof news.message)) {
    has_ended = true;
    return std::nullopt;
  }
  for (cmsghdr* head = CMSG_FIRSTHDR(&packet); head; head = CMSG_NXTHDR(&packet, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(head), sizeof fd);
    news.attached = unique_fd(fd);
  }
  return news;
}

inline exit_status as_exit_status(int waited) {
  if (WIFSIGNALED(waited)) return exit_status::signalled(WTERMSIG(waited), WCOREDUMP(waited));
  return exit_status::exited(WEXITSTATUS(waited));
}

}  // namespace detail

/// A process behind a guard: all that it ever starts, daemons too, ends with it, with this object
/// and with this program, however they end.
///
/// Thread-safety: one strand at a time.
class guarded_child final : public child {
 public:
  /// Takes over the guard of a worker that was started: its pidfd, the socket to it, and the
  /// worker's pidfd.
  guarded_child(const asio::any_io_executor& executor, pid_t worker, detail::unique_fd worker_pidfd,
                asio::posix::stream_descriptor socket, detail::unique_fd guard_pidfd, logger log,
                const detail::syscalls& calls)
      : calls_(calls),
        reaper_(detail::reaper::of(executor)),
        socket_(std::move(socket)),
        guard_(executor),
        worker_(std::move(worker_pidfd)),
        pid_(worker),
        owner_(::getpid()),
        log_(std::move(log)) {
    guard_.assign(guard_pidfd.release());
  }
  guarded_child(const guarded_child&) = delete;
  guarded_child& operator=(const guarded_child&) = delete;

  /// The guard ends the tree when the socket closes.
  ~guarded_child() override {
    // The copy that a fork of the host leaves behind owns nothing.
    if (::getpid() != owner_) return;
    socket_.close();
    if (!is_reaped_) reaper_.adopt(std::move(guard_), calls_);
  }

  pid_t pid() const noexcept override { return pid_; }

  bool signal(int number) noexcept override {
    look();
    if (status_) return false;
    // By itself, which wakes nobody else up. Kernels before 6.9 cannot, and a filter may refuse it.
    constexpr unsigned to_group = detail::pidfd_signal_process_group;
    if (calls_.pidfd_send_signal(worker_.get(), number, to_group) == 0) return true;
    if (errno == ESRCH) return false;
    send(static_cast<unsigned char>(number));
    return true;
  }

  task<exit_status> wait() override {
    look();
    while (!status_) {
      co_await news();
      look();
    }
    co_return *status_;
  }

  task<void> end_tree() override {
    look();
    if (!is_empty_) send(detail::guard_end_tree);
    while (!is_empty_) {
      co_await news();
      look();
    }
    // It says so with its last breath.
    co_await guard_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    reap_guard();
  }

  /// What lives of the tree has fallen, or will fall, to the guard.
  std::vector<pid_t> left() override {
    std::ifstream lines(fmt::format("/proc/self/fdinfo/{}", guard_.native_handle()));
    for (std::string name; lines >> name; std::getline(lines, name)) {
      pid_t guard = -1;
      if (name != "Pid:" || !(lines >> guard) || guard <= 0) continue;
      return read_children(guard);
    }
    return {};
  }

 private:
  task<void> news() {
    co_await socket_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
  }

  void reap_guard() noexcept {
    siginfo_t ignored{};
    detail::uninterrupted([&] {
      const auto guard = static_cast<id_t>(guard_.native_handle());
      return calls_.waitid(static_cast<idtype_t>(P_PIDFD), guard, &ignored, WEXITED | WNOHANG);
    });
    is_reaped_ = true;
  }

  void send(unsigned char request) noexcept {
    ::send(socket_.native_handle(), &request, sizeof request, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  // Takes in all that the guard has told.
  void look() noexcept {
    bool has_ended = false;
    while (const auto news = detail::receive_news(socket_.native_handle(), has_ended)) {
      const int value = news->message.value;
      switch (news->message.news) {
        case detail::guard_news::ended: status_ = detail::as_exit_status(value); break;
        case detail::guard_news::empty: is_empty_ = true; break;
        case detail::guard_news::stuck:
          log_.error("process {}, left by worker {}, cannot be killed: it runs as another user",
                     value, pid_);
          break;
        case detail::guard_news::started:
        case detail::guard_news::not_started: break;
      }
    }
    if (has_ended && !is_empty_) lose_guard();
  }

  // Somebody has killed the guard. Its worker, which it was the parent of, dies with it.
  void lose_guard() noexcept {
    is_empty_ = true;
    calls_.pidfd_send_signal(worker_.get(), SIGKILL, detail::pidfd_signal_process_group);
    calls_.pidfd_send_signal(worker_.get(), SIGKILL, 0);
    log_.error("the guard of worker {} was killed: descendants of the worker may survive", pid_);
    if (!status_) status_ = exit_status::guard_lost();
  }

  const detail::syscalls& calls_;
  detail::reaper& reaper_;
  asio::posix::stream_descriptor socket_;
  asio::posix::stream_descriptor guard_;
  detail::unique_fd worker_;
  pid_t pid_;
  pid_t owner_;
  logger log_;
  std::optional<exit_status> status_;
  // Nothing of the tree is left, or nobody is left who could tell.
  bool is_empty_ = false;
  bool is_reaped_ = false;
};

}  // namespace elastic

// ---- elastic/process/guarded_launcher.hpp ----

namespace elastic {

/// How `guarded_launcher` starts processes.
struct guarded_launcher_options {
  guard_policy policy = guard_policy::required;
  /// The program of the guard, such as the installed one; empty: the bytes that this library
  /// carries, from memory or, where that is forbidden, from a file without a name.
  std::string guard_file = {};
  /// For processes that get no guard.
  pidfd_launcher_options unguarded = {};
  logger log = {};
};

/// Starts each process behind a guard of its own: a tiny process that is told by the kernel of all
/// that the process ever leaves behind, and ends it when the process has ended, when it is told
/// to, or when this program ends, however it does.
///
/// Nothing process-wide is set or changed in the host. A guard takes some 80 kB and wakes up for
/// nothing but its worker.
///
/// Thread-safety: one strand at a time.
class guarded_launcher final : public process_launcher {
 public:
  /// What it starts is awaited on `executor`. `calls` must outlive the launcher and what it starts.
  explicit guarded_launcher(asio::any_io_executor executor, guarded_launcher_options options = {},
                            const detail::syscalls& calls = detail::real_syscalls)
      : executor_(std::move(executor)),
        options_(std::move(options)),
        calls_(calls),
        sources_(options_.guard_file),
        unguarded_(executor_, options_.unguarded, calls),
        is_guarding_(options_.policy != guard_policy::none) {
    if (!is_guarding_) note_unguarded("");
  }

  /// Errors, besides those of the interface: `errc::start_failed` where a guard is required and
  /// cannot be had, naming the files that were tried, or where the file that the options name
  /// cannot be executed or is of another version.
  task<std::unique_ptr<child>> launch(process_spec spec) override {
    if (is_guarding_) {
      detail::refuse_zero_bytes(spec);
      const std::string path = detail::find_program(spec);
      std::optional<started_guard> started = start_guard(spec, path);
      if (started) {
        std::unique_ptr<child> worker = co_await meet(spec, path, std::move(*started));
        if (worker) co_return worker;
      }
    }
    co_return co_await unguarded_.launch(std::move(spec));
  }

 private:
  struct started_guard {
    detail::unique_fd socket;
    detail::unique_fd pidfd;
  };

  // Result: empty where no guard can be had, and none is required.
  std::optional<started_guard> start_guard(const process_spec& spec, const std::string& path) {
    for (;;) {
      if (!file_.fd && !take_next_source()) return std::nullopt;
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        const int number = errno;
        const std::string why = errno_text(number);
        if (is_forbidden(number)) {
          give_up(fmt::format("a socket to it: {}", why));
          return std::nullopt;
        }
        throw error(errc::start_failed,
                    fmt::format("program '{}' cannot be started: {} (a socket to its guard)", path,
                                why));
      }
      detail::unique_fd ours(ends[0]);
      const detail::unique_fd theirs = detail::above_passed(detail::unique_fd(ends[1]));
      const detail::spawn_result result = spawn_guard(spec, path, theirs.get());
      if (!result.failure) {
        return started_guard{std::move(ours), detail::unique_fd(result.pidfd)};
      }
      if (result.stage != detail::spawn_stage::execute || result.failure == E2BIG) {
        detail::throw_start_error(spec, path, result);
      }
      // The file cannot be executed here: perhaps the next one can.
      note_problem(file_.name, errno_text(result.failure));
      file_.fd.reset();
    }
  }

  detail::spawn_result spawn_guard(const process_spec& spec, const std::string& path, int socket) {
    if (!agent_) agent_ = detail::above_passed(detail::unique_fd(calls_.pidfd_open(::getpid())));
    const bool must_hold = options_.policy == guard_policy::required;
    const char* const promise = must_hold ? detail::guard_must_hold : detail::guard_may_fail;
    std::vector<char*> arguments{const_cast<char*>(detail::guard_version),
                                 const_cast<char*>(promise), const_cast<char*>(path.c_str())};
    for (char* one : detail::pointers_to(&spec.program, spec.arguments)) arguments.push_back(one);
    const detail::spawn_request request{.spec = spec,
                                        .path = file_.name,
                                        .arguments = std::move(arguments),
                                        .program = file_.fd.get(),
                                        .passed = {socket, agent_.get()}};
    return detail::spawn(request, stack_, calls_);
  }

  // Result: false where there is none left, and none is required.
  bool take_next_source() {
    for (;;) {
      std::optional<detail::guard_file> next = sources_.next();
      if (!next) break;
      if (next->fd) {
        file_ = std::move(*next);
        return true;
      }
      note_problem(next->name, next->problem);
    }
    sources_ = detail::guard_sources(options_.guard_file);
    give_up(problems_.empty() ? "none for this processor" : std::exchange(problems_, {}));
    return false;
  }

  // A limit that was reached is none: it may be otherwise with the next worker.
  static bool is_forbidden(int number) {
    return number == EPERM || number == EACCES || number == ENOSYS;
  }

  // A file that somebody has named is what they want.
  void give_up(const std::string& why) {
    if (options_.policy == guard_policy::required || !options_.guard_file.empty()) {
      throw error(errc::start_failed, fmt::format("no guard can be had: {}", why));
    }
    // Once, though several may be on their way.
    if (std::exchange(is_guarding_, false)) note_unguarded(why);
  }

  void note_unguarded(std::string_view why) const {
    const bool is_wanted = options_.policy == guard_policy::none;
    const std::string_view lost =
        options_.unguarded.parent
            ? "what they leave behind may outlive them and this program"
            : "they outlive this program if it is killed (no executor was named whose thread "
              "lasts), and what they leave behind may outlive them";
    if (is_wanted) {
      options_.log.info("workers have no guard: {}", lost);
    } else {
      options_.log.warning("workers have no guard, so that {}; none can be had: {}", lost, why);
    }
  }

  void note_unheld() {
    if (std::exchange(is_unheld_noted_, true)) return;
    options_.log.warning("this kernel gives guards no orphans: what workers leave behind may "
                         "outlive them and this program");
  }

  void note_problem(std::string_view name, std::string_view problem) {
    if (!problems_.empty()) problems_ += "; ";
    problems_ += fmt::format("{}: {}", name, problem);
  }

  // The first word of the guard: whether the program runs. Result: null where it cannot guard.
  task<std::unique_ptr<child>> meet(process_spec spec, std::string path, started_guard started) {
    asio::posix::stream_descriptor socket(executor_, started.socket.release());
    bool has_ended = false;
    std::optional<detail::received_news> first;
    while (!(first = detail::receive_news(socket.native_handle(), has_ended)) && !has_ended) {
      // Cancellation does not reach it: what was started is always handed over.
      co_await socket.async_wait(
          asio::posix::stream_descriptor::wait_read,
          asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
    }
    if (first && first->message.news == detail::guard_news::started) {
      if (first->message.stage == detail::guard_stage::hold) note_unheld();
      co_return std::make_unique<guarded_child>(
          executor_, static_cast<pid_t>(first->message.value), std::move(first->attached),
          std::move(socket), std::move(started.pidfd), options_.log, calls_);
    }
    asio::posix::stream_descriptor ending(executor_, started.pidfd.release());
    detail::reaper::of(executor_).adopt(std::move(ending), calls_);
    if (!first) {
      give_up(fmt::format("the guard ({}) ended without a word: it is of another version, or was "
                          "killed", file_.name));
      co_return nullptr;
    }
    if (first->message.stage == detail::guard_stage::hold) {
      give_up(fmt::format("{} (what it needs of the kernel)", errno_text(first->message.value)));
      co_return nullptr;
    }
    detail::throw_start_error(spec, path, as_spawn_result(first->message));
  }

  static detail::spawn_result as_spawn_result(const detail::guard_message& refused) {
    detail::spawn_result result;
    result.failure = refused.value;
    switch (refused.stage) {
      case detail::guard_stage::fork:
      case detail::guard_stage::hold: result.stage = detail::spawn_stage::clone; break;
      case detail::guard_stage::session: result.stage = detail::spawn_stage::session; break;
      case detail::guard_stage::parent_death:
        result.stage = detail::spawn_stage::parent_death;
        break;
      case detail::guard_stage::execute: result.stage = detail::spawn_stage::execute; break;
    }
    return result;
  }

  asio::any_io_executor executor_;
  guarded_launcher_options options_;
  const detail::syscalls& calls_;
  detail::guard_sources sources_;
  detail::guard_file file_;
  std::string problems_;
  detail::unique_fd agent_;
  detail::child_stack stack_;
  pidfd_launcher unguarded_;
  bool is_guarding_;
  bool is_unheld_noted_ = false;
};

}  // namespace elastic

// ---- elastic/rendezvous/master_keys.hpp ----

namespace elastic {

/// Tells the other agents of a round, as PyTorch's do, where the workers meet.
/// Errors, cancellation: those of the store.
inline task<void> publish_master(std::shared_ptr<store> agents, master_endpoint master) {
  std::vector<std::pair<std::string, std::string>> pairs;
  pairs.emplace_back("MASTER_ADDR", master.address);
  pairs.emplace_back("MASTER_PORT", std::to_string(master.port));
  co_await agents->multi_set(std::move(pairs));
}

/// Waits until the agent of group rank 0 has told where the workers meet. Who serves there is not
/// told.
///
/// Errors: those of the store; `errc::protocol_violation` where it told nonsense.
/// Cancellation: all types, no effect.
inline task<master_endpoint> read_master(std::shared_ptr<store> agents) {
  std::vector<std::string> keys;
  keys.push_back("MASTER_ADDR");
  keys.push_back("MASTER_PORT");
  const std::vector<std::string> told = co_await agents->multi_get(std::move(keys));
  master_endpoint master;
  master.address = told[0];
  const char* end = told[1].data() + told[1].size();
  const auto [stop, failure] = std::from_chars(told[1].data(), end, master.port);
  if (master.address.empty() || failure != std::errc() || stop != end || master.port == 0) {
    throw error(errc::protocol_violation,
                fmt::format("the node of rank 0 told that the workers meet at '{:.200}', port "
                            "'{:.20}'",
                            told[0], told[1]));
  }
  co_return master;
}

/// Agrees on where the workers of a round meet: `mine`, where this is the node of group rank 0.
inline task<master_endpoint> agree_on_master(std::shared_ptr<store> agents, master_endpoint mine,
                                             int group_rank) {
  if (group_rank == 0) {
    co_await publish_master(std::move(agents), mine);
    co_return mine;
  }
  master_endpoint told = co_await read_master(std::move(agents));
  told.served_by_agent = mine.served_by_agent;
  co_return told;
}

}  // namespace elastic

// ---- elastic/agent/local_agent.hpp ----

namespace elastic {

/// What a local_agent is made from.
struct agent_options {
  worker_spec workers;
  /// How this node meets the others. Must be set.
  std::shared_ptr<rendezvous_handler> rendezvous;
  agent_services services;
  /// A warning to log when the workers run for the first time: a job that cannot start says only
  /// why it cannot.
  std::string notice = {};
};

/// Supervises the workers of one node: meets the other nodes, starts the workers, watches them,
/// starts them all again when one fails or the membership changes, until they succeed or the
/// restarts are used up.
///
/// It starts no thread, installs no signal handler and keeps no global state. One object runs once.
///
/// Thread-safety: `stop` and `signal` from any thread; the rest from one thread at a time. `run`
/// makes a strand of its caller's executor and does everything there, so the executor may be a
/// thread pool's (but see agent_services::worker_parent).
class local_agent {
 public:
  /// Errors: `errc::invalid_argument` where the worker_spec is out of bounds or there is no
  /// rendezvous.
  explicit local_agent(agent_options options)
      : options_(std::move(options)), inbox_(std::make_shared<detail::request_inbox>()) {
    validate(options_.workers);
    if (!options_.rendezvous) throw error(errc::invalid_argument, "the agent has no rendezvous");
  }

  local_agent(const local_agent&) = delete;
  local_agent& operator=(const local_agent&) = delete;

  /// Runs the job on this node to its end. When it returns, by whatever way, no worker is left, no
  /// output is under way and the rendezvous was left.
  ///
  /// Result: `succeeded`; `failed`, with the failures of the last attempt; or `stopped`, where
  /// `stop` was called.
  /// Errors: `errc::program_not_found`, `errc::program_not_executable`, `errc::start_failed`,
  /// `errc::file_access` (a worker or the log directory could not be had), and those of the
  /// rendezvous.
  /// Cancellation: partial and total stop gracefully, as `stop({})` does; terminal alone kills the
  /// workers now; of several, the gentlest counts, since the loser of `run() || timer` is sent all
  /// of them. A further request during a graceful stop kills. Then throws `operation_aborted`. The
  /// caller's cancellation state is afterwards as Asio makes it: terminal only, nothing pending.
  task<run_result> run() & {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await asio::this_coro::throw_if_cancelled(false);
    const asio::cancellation_state cancellation = co_await asio::this_coro::cancellation_state;
    asio::cancellation_slot slot = cancellation.slot();
    if (slot.is_connected()) {
      slot.assign([inbox = inbox_](asio::cancellation_type requested) {
        inbox->push(detail::as_stop_request(requested));
      });
    }
    const auto strand = asio::make_strand(co_await asio::this_coro::executor);
    std::optional<run_result> result;
    std::exception_ptr failure;
    try {
      // The body gets an empty slot: what is asked of it comes through the inbox alone.
      result = co_await asio::co_spawn(
          strand, serve(strand),
          asio::bind_cancellation_slot(asio::cancellation_slot(), asio::use_awaitable));
    } catch (...) {
      failure = std::current_exception();
    }
    const bool cancelled = cancellation.cancelled() != asio::cancellation_type::none;
    co_await asio::this_coro::reset_cancellation_state();
    co_await asio::this_coro::throw_if_cancelled(true);
    if (failure) std::rethrow_exception(failure);
    if (cancelled && result->state == worker_state::stopped) {
      throw std::system_error(asio::error::operation_aborted);
    }
    co_return std::move(*result);
  }
  /// Make the agent a named object: g++ 12 destroys temporaries of this expression twice.
  task<run_result> run() && = delete;

  /// Asks the agent to stop: the workers get the request's signal, its grace, then SIGKILL. A
  /// second request kills at once. May be called before `run`, and after it without effect.
  void stop(stop_request request) { inbox_->push(std::move(request)); }

  /// Passes a signal, such as SIGUSR1, on to every worker that runs, and its process group; it is
  /// lost where none runs. May be called before `run`, and after it without effect.
  void signal(int number) { inbox_->push(detail::signal_request{number}); }

  /// Asks the agent to tell its workers something over the control channel, one request after the
  /// other. Only workers that run and have connected hear of it; what they answer is logged. May be
  /// called before and after `run` without effect.
  void ask(worker_request request) { inbox_->push(request); }

 private:
  /// Everything that lives as long as the run.
  struct running {
    running(asio::any_io_executor strand, const agent_options& options, agent_services with)
        : rendezvous(options.rendezvous),
          services(std::move(with)),
          layout(make_layout(options)),
          group(strand, options.workers, services, layout),
          telemetry(services, options.workers, options.rendezvous->run_id(),
                    options.rendezvous->backend()),
          ledger(options.workers.max_restarts, options.workers.restart),
          stop_asked(strand),
          requests(strand) {
      // Whether the group restarts or the job ends: the others are to stop, as `usual_stop` does.
      group.stop_on_failure({SIGTERM, options.workers.shutdown_timeout});
    }

    static log_layout make_layout(const agent_options& options) {
      if (options.workers.log_directory == "/dev/null") return {};
      random_source random;
      return {options.workers.log_directory, options.rendezvous->run_id(), random};
    }

    std::shared_ptr<rendezvous_handler> rendezvous;
    agent_services services;
    log_layout layout;
    worker_group group;
    agent_telemetry telemetry;
    /// Of the failures of the job's workers, on whichever node.
    restart_ledger ledger;
    /// How often workers had failed when those of now were started.
    int restarts = 0;
    std::optional<rendezvous_round> round;
    /// Why the round is to end.
    std::optional<rendezvous_change> change;
    event_flag stop_asked;
    std::optional<stop_request> stop;
    /// What the workers are to be told. Bounded by whoever asks.
    mailbox<worker_request> requests;
    /// The job has succeeded without this node.
    bool is_late = false;
    /// The job ended by itself, which ends it for the other nodes, too.
    std::optional<job_end> job_ended;
    std::string end_reason;
  };

  /// Closes the inbox, also where the context is destroyed while the agent runs.
  struct inbox_user {
    std::shared_ptr<detail::request_inbox> inbox;
    ~inbox_user() { inbox->close(); }
  };

  static agent_services with_defaults(agent_services services, asio::any_io_executor strand) {
    if (!services.time) services.time = std::make_shared<system_time>();
    if (!services.launcher) {
      guarded_launcher_options starting;
      starting.policy = services.guard.value_or(guard_policy::best_effort);
      starting.guard_file = services.guard_file;
      starting.unguarded.parent = services.worker_parent;
      starting.log = services.log;
      services.launcher = std::make_shared<guarded_launcher>(strand, std::move(starting));
    }
    if (!services.console_out) services.console_out = make_console_writer(strand, 1);
    if (!services.console_err) services.console_err = make_console_writer(strand, 2);
    return services;
  }

  task<run_result> serve(asio::any_io_executor strand) {
    if (!options_.rendezvous) throw error(errc::invalid_argument, "an agent runs once");
    // The run owns them: they may hold on to the context, which this object may outlive.
    agent_services services = std::exchange(options_.services, {});
    options_.services.log = services.log;
    running state(strand, options_, with_defaults(std::move(services), strand));
    options_.rendezvous.reset();
    const inbox_user listening{inbox_};
    inbox_->open(strand, [this, &state](const detail::agent_request& request) {
      std::visit([&](const auto& one) { take(state, one); }, request);
    });
    agent_telemetry::timed_step timer(state.telemetry, "SimpleElasticAgent.run");
    std::optional<run_result> result;
    std::string breakdown = "unknown error";
    std::exception_ptr failure;
    try {
      result = co_await with_cleanup(attempt_until_done(state), wind_up(state));
    } catch (const std::exception& thrown) {
      failure = std::current_exception();
      breakdown = thrown.what();
    } catch (...) {
      failure = std::current_exception();
    }
    inbox_->close();
    if (failure) {
      state.layout.discard_if_empty();
      state.telemetry.record_agent(state.group, state.restarts, breakdown);
      std::rethrow_exception(failure);
    }
    if (result->state == worker_state::stopped) timer.fail();
    report(state, *result);
    co_return std::move(*result);
  }

  /// A signal to be passed on arrives, on the strand; between two attempts there is nobody for it.
  void take(running& state, const detail::signal_request& request) {
    log().info("{} passed on to {} workers", signal_name(request.number), state.group.running());
    state.group.signal(request.number);
  }

  /// Something that workers are to be told arrives, on the strand.
  static void take(running& state, const worker_request& request) {
    if (state.group.state() == worker_state::healthy) state.requests.push(request);
  }

  /// A stop request arrives, on the strand. The first is carried out by whoever waits for
  /// `stop_asked`.
  void take(running& state, const stop_request& request) {
    const bool now = state.stop.has_value() || request.signal == SIGKILL;
    log().warning("{}: {} the workers",
                  request.reason.empty() ? "stop requested" : request.reason,
                  now ? "killing" : "stopping");
    if (!state.stop) state.stop = request;
    if (now) state.group.kill();
    state.stop_asked.set();
  }

  /// The whole life of the job on this node: each turn of the loop is one attempt.
  task<run_result> attempt_until_done(running& state) {
    co_await begin_attempt(state);
    for (;;) {
      if (state.is_late) co_return finish_late(state);
      if (!state.stop && !state.change) co_await watch(state);
      if (!state.stop && state.group.bad_node()) co_return co_await finish_bad_node(state);
      if (!state.stop && !state.change) {
        co_await take_outcome(state);
        // A stop at the exit barrier only ends the wait: the work was done.
        if (!state.change && succeeded(state)) co_return finish_succeeded(state);
      }
      if (state.stop) co_return co_await finish_stopped(state);
      if (!state.change) co_return finish(state, worker_state::failed, state.end_reason);

      const restart_decision decision = decide(state);
      log_change(state, decision);
      agent_telemetry& telemetry = state.telemetry;
      if (decision.restart) {
        co_await telemetry.timed("SimpleElasticAgent._restart_workers",
                                 restart(state, decision.delay));
        continue;
      }
      co_await telemetry.timed("LocalElasticAgent._stop_workers",
                               stop_workers(state, usual_stop(state)));
      if (!state.stop) {
        co_return finish(state, worker_state::failed,
                         fmt::format("{}: {}", state.change->what, decision.reason));
      }
    }
  }

  restart_decision decide(const running& state) const {
    if (state.change->kind == change_kind::worker_failed && state.group.no_restart()) {
      restart_decision refused;
      refused.reason = *state.group.no_restart();
      return refused;
    }
    const worker* const failed = state.group.first_failed();
    const auto ended = failed ? std::optional(failed->end->status) : std::nullopt;
    return state.ledger.decide(state.change->kind, ended, state.services.time->now());
  }

  /// The workers of this node have ended: tells the others, and learns what that leads to.
  task<void> take_outcome(running& state) {
    if (succeeded(state)) {
      // They have ended; who reads their output slowly is waited for.
      co_await stop_workers(state, {SIGKILL, duration::max()});
      co_await meet_at_exit(state);
    } else {
      co_await race(tell_of_failure(state), state.stop_asked.wait());
    }
  }

  task<void> tell_of_failure(running& state) {
    bool has_told = true;
    try {
      take(state, co_await state.rendezvous->report_failure(first_failure(state)));
    } catch (const error& failure) {
      has_told = false;
      state.end_reason = failure.what();
    }
    // Without the others there is no next attempt; what failed here is said all the same.
    if (!has_told) co_await stop_workers(state, usual_stop(state));
  }

  static bool succeeded(const running& state) {
    return state.group.state() == worker_state::succeeded;
  }

  run_result finish_succeeded(running& state) {
    run_result result =
        finish(state, worker_state::succeeded, "all workers ended with success");
    result.return_values = state.group.return_values();
    return result;
  }

  /// The job had succeeded before this node could take part, or again.
  run_result finish_late(running& state) {
    log().warning("this node has nothing left to do: {}", state.end_reason);
    return finish(state, worker_state::succeeded, state.end_reason);
  }

  /// Ends one attempt and begins the next after a while, unless a stop is asked for meanwhile.
  task<void> restart(running& state, duration delay) {
    co_await state.telemetry.timed("LocalElasticAgent._stop_workers",
                                   stop_workers(state, usual_stop(state)));
    if (delay > duration::zero() && !state.stop) {
      time_source& time = *state.services.time;
      co_await race(time.sleep_until(time.now() + delay), state.stop_asked.wait());
    }
    if (!state.stop) co_await begin_attempt(state);
  }

  /// Until the workers run, a stop is asked for, or there is nothing left to do.
  task<void> begin_attempt(running& state) {
    if (state.stop) co_return;
    try {
      co_await race(state.telemetry.timed("SimpleElasticAgent._initialize_workers",
                                          meet_and_start(state)),
                    state.stop_asked.wait());
    } catch (const error& failure) {
      if (failure.code() != errc::rendezvous_finished) throw;
      state.is_late = true;
      state.end_reason = failure.what();
    }
  }

  task<void> meet_and_start(running& state) {
    const worker_spec& spec = options_.workers;
    agent_telemetry& telemetry = state.telemetry;
    const std::optional<assigned_ranks> met =
        co_await telemetry.timed("SimpleElasticAgent._rendezvous", meet(state));
    if (!met) co_return;
    const assigned_ranks& ranks = *met;
    const rendezvous_round& round = *state.round;
    state.restarts = state.ledger.failures();
    co_await telemetry.timed("LocalElasticAgent._start_workers",
                             state.group.start(round, ranks, state.rendezvous->run_id(),
                                               state.restarts));
    state.ledger.started(state.services.time->now());
    if (!options_.notice.empty()) log().warning("{}", std::exchange(options_.notice, {}));
    log().info("round {}: node {} of {}, ranks {} to {} of {}, master {}:{}", round.round,
               round.group_rank, round.group_world_size, ranks.base_rank,
               ranks.base_rank + spec.local_world_size - 1, ranks.world_size,
               round.master.address, round.master.port);
  }

  /// Meets the other nodes and learns the ranks of this one's workers; again, where one is lost
  /// before all have told about theirs. Result: none where the job's restarts are used up, which a
  /// node that lost the others may learn only here.
  task<std::optional<assigned_ranks>> meet(running& state) {
    const time_source& time = *state.services.time;
    for (;;) {
      const bool is_first = !state.round;
      state.round = co_await state.rendezvous->next_round();
      if (is_first) state.ledger.begin_at(state.round->restarts);
      state.ledger.count(state.round->restarts, time.now());
      state.change.reset();
      if (state.ledger.is_used_up(time.now())) {
        state.change = rendezvous_change{change_kind::worker_failed, "workers of the job failed"};
        co_return std::nullopt;
      }
      std::optional<assigned_ranks> ranks;
      co_await race(keep(state.telemetry.timed("SimpleElasticAgent._assign_worker_ranks",
                                               tell_about_workers(state)),
                         ranks),
                    note_change(state));
      if (ranks) co_return ranks;
      if (state.ledger.is_used_up(time.now())) co_return std::nullopt;
      log().warning("meeting again: {}", state.change->what);
    }
  }

  task<assigned_ranks> tell_about_workers(running& state) {
    const rendezvous_round& round = *state.round;
    role_info mine;
    mine.role = options_.workers.role;
    mine.local_world_size = options_.workers.local_world_size;
    time_source& time = *state.services.time;
    const time_point deadline = time.now() + round.exchange_timeout;
    task<assigned_ranks> exchange = exchange_ranks(round.agents, mine, round.group_rank,
                                                   round.group_world_size, round.dialect);
    const std::optional<assigned_ranks> ranks =
        co_await with_deadline(time, deadline, std::move(exchange));
    bool is_agreed = ranks.has_value();
    if (ranks && round.dialect == agent_dialect::gather) {
      task<master_endpoint> agreement =
          agree_on_master(round.agents, round.master, round.group_rank);
      const std::optional<master_endpoint> master =
          co_await with_deadline(time, deadline, std::move(agreement));
      is_agreed = master.has_value();
      if (master) state.round->master = *master;
    }
    if (is_agreed) co_return *ranks;
    throw error(errc::rendezvous_timeout,
                fmt::format("not all of the {} nodes told about their workers within {} s",
                            round.group_world_size,
                            std::chrono::duration<double>(round.exchange_timeout).count()));
  }

  static task<void> keep(task<assigned_ranks> work, std::optional<assigned_ranks>& result) {
    result = co_await std::move(work);
  }

  static void take(running& state, rendezvous_change change) {
    state.ledger.count(change.restarts, state.services.time->now());
    state.change = std::move(change);
  }

  task<void> note_change(running& state) {
    take(state, co_await state.rendezvous->wait_for_change());
  }

  /// Until the workers' fate is known, the round is to end or a stop is asked for.
  task<void> watch(running& state) {
    co_await race(state.group.wait_for_outcome(), note_change(state), state.stop_asked.wait(),
                  report_state(state), pass_on_requests(state));
    if (!state.stop) emit_state(state);
  }

  /// Tells the workers what `ask` was asked for; ends by cancellation only.
  task<void> pass_on_requests(running& state) {
    for (;;) {
      const worker_request request = co_await state.requests.pop();
      switch (request.what) {
        case worker_request::kind::pause: state.group.pause(); break;
        case worker_request::kind::resume: state.group.resume(); break;
        case worker_request::kind::checkpoint: co_await save(state, request.within); break;
      }
    }
  }

  /// Has the workers save a checkpoint, and says in the log what came of it.
  task<void> save(running& state, duration within) {
    const time_point begun = state.services.time->now();
    const checkpoint_outcome outcome = co_await state.group.checkpoint(within);
    const duration took = state.services.time->now() - begun;
    if (outcome.asked == 0) {
      log().info("no worker wants to be asked for a checkpoint");
      co_return;
    }
    for (const std::string& problem : outcome.problems) log().warning("checkpoint: {}", problem);
    log().info("checkpoint: saved by {} of {} workers in {}", outcome.saved, outcome.asked,
               worker_liveness::text_of(took));
  }

  /// On preemption the workers save what they have before they are stopped. Who asks a second time
  /// wants no more of that: the workers are killed, which ends the wait.
  task<void> save_before_stop(running& state, const stop_request& request) {
    const duration within = options_.workers.preempt_grace;
    if (request.signal != SIGTERM || within <= duration::zero()) co_return;
    if (state.group.state() != worker_state::healthy) co_return;
    log().info("asking the workers for a checkpoint within {}", worker_liveness::text_of(within));
    co_await save(state, within);
  }

  /// The periodic state metrics; waits for ever where nobody takes them.
  task<void> report_state(running& state) {
    time_source& time = *state.services.time;
    if (!state.services.metrics) co_await time.sleep_until(time_point::max());
    for (;;) {
      co_await time.sleep_until(time.now() + options_.workers.monitor_interval);
      emit_state(state);
    }
  }

  void emit_state(running& state) const {
    const int remaining = options_.workers.max_restarts - state.restarts;
    state.telemetry.emit_state(state.group.state(), remaining);
  }

  /// A node that has lost the others has no more time than they leave it.
  stop_plan usual_stop(const running& state) const {
    duration grace = options_.workers.shutdown_timeout;
    if (state.change) grace = std::min(grace, state.change->grace);
    return {SIGTERM, grace};
  }

  /// Stops the workers as planned, or as a request says that was made or comes meanwhile.
  task<void> stop_workers(running& state, stop_plan plan) {
    if (!state.stop) co_await race(state.group.stop(plan), state.stop_asked.wait());
    if (!state.stop) co_return;
    plan.signal = state.stop->signal;
    plan.grace = state.stop->grace.value_or(options_.workers.shutdown_timeout);
    co_await state.group.stop(plan);
  }

  /// Until the other nodes have succeeded, too, or the round is to end.
  task<void> meet_at_exit(running& state) {
    time_source& time = *state.services.time;
    const time_point deadline = time.now() + options_.workers.exit_barrier_timeout;
    bool met = false;
    try {
      task<void> waiting =
          note_met(with_deadline(time, deadline, state.rendezvous->exit_barrier()), met);
      co_await race(std::move(waiting), note_change(state), state.stop_asked.wait());
    } catch (const error& failure) {
      if (failure.code() == errc::rendezvous_closed) throw;
      log().warning("cannot wait for the other agents at the end: {}", failure.what());
      co_return;
    }
    if (met) state.job_ended = job_end::succeeded;
    if (met) state.change.reset();
    if (met || state.change || state.stop) co_return;
    log().warning("some other agents did not end within the exit barrier's time-out");
  }

  static task<void> note_met(task<bool> barrier, bool& met) { met = co_await std::move(barrier); }

  task<run_result> finish_stopped(running& state) {
    const stop_request request = *state.stop;
    co_await save_before_stop(state, request);
    co_await stop_workers(state, usual_stop(state));
    run_result result = finish(state, worker_state::stopped,
                               request.reason.empty() ? "stop requested" : request.reason);
    result.stop_signal = request.signal;
    co_return result;
  }

  /// A worker said that this node is bad. The job is not over: the others go on as when a node is
  /// lost.
  task<run_result> finish_bad_node(running& state) {
    const std::string reason = *state.group.bad_node();
    log().error("this node leaves the job: {}", reason);
    co_await stop_workers(state, usual_stop(state));
    run_result result = finish(state, worker_state::failed, reason);
    state.job_ended.reset();
    result.left_as_bad = true;
    co_return result;
  }

  run_result finish(running& state, worker_state how, std::string reason) {
    if (how == worker_state::failed) state.job_ended = job_end::failed;
    state.end_reason = reason;
    run_result result;
    result.state = how;
    result.failures = state.group.failures(host_name());
    result.max_restarts = options_.workers.max_restarts;
    result.restarts = state.restarts;
    result.reason = std::move(reason);
    return result;
  }

  /// On every way out: no worker, no membership. A job that ended is closed for the other nodes;
  /// an agent that was stopped or broke down only leaves.
  task<void> wind_up(running& state) {
    std::exception_ptr failure;
    try {
      co_await stop_workers(state, usual_stop(state));
    } catch (...) {
      failure = std::current_exception();
    }
    state.round.reset();
    rendezvous_handler& rendezvous = *state.rendezvous;
    if (state.job_ended) {
      co_await in_order(rendezvous.close(*state.job_ended, state.end_reason));
    }
    co_await in_order(rendezvous.shutdown());
    if (failure) std::rethrow_exception(failure);
  }

  /// A step out of the rendezvous, which holds up nothing where it fails.
  task<void> in_order(task<void> step) {
    try {
      co_await std::move(step);
    } catch (const std::exception& failure) {
      log().warning("the rendezvous could not be left in order: {}", failure.what());
    }
  }

  void report(running& state, run_result& result) {
    if (result.state == worker_state::succeeded) {
      state.layout.discard();
    } else {
      state.layout.discard_if_empty();
    }
    result.log_directory = state.layout.root();
    if (result.state == worker_state::failed) leave_report(state, result);
    if (result.state != worker_state::stopped) state.telemetry.emit_result(result);
    state.telemetry.record_workers(state.group, result);
    state.telemetry.record_agent(state.group, result.restarts,
                                 result.state == worker_state::stopped
                                     ? std::optional<std::string>(result.reason)
                                     : std::nullopt);
  }

  /// The report for programs, beside the log files.
  void leave_report(const running& state, const run_result& result) const {
    const std::string path = state.layout.report_file();
    if (path.empty()) return;
    std::ofstream file(path);
    file << failure_report_json(result);
    if (!file.flush()) log().warning("the report '{}' cannot be written", path);
  }

  void log_change(const running& state, const restart_decision& decision) const {
    bool happened_here = false;
    for (const worker& one : state.group.workers()) {
      if (!one.end || one.end->status.success()) continue;
      happened_here = true;
      log().warning("{} rank {} (local rank {}, pid {}) ended: {}{}{}", one.identity.role_name,
                    one.identity.rank, one.identity.local_rank, one.pid, one.end->status.text(),
                    one.hung.empty() ? "" : ", hung: ", one.hung);
    }
    log().warning("{} the workers: {}{}", decision.restart ? "restarting" : "stopping",
                  happened_here ? "" : state.change->what + ": ", decision.reason);
  }

  /// What failed first, for the other nodes.
  static std::string first_failure(const running& state) {
    const worker* const first = state.group.first_failed();
    if (!first) return "workers failed";
    const int rank = first->identity.rank;
    if (!first->hung.empty()) return fmt::format("rank {} was hung: {}", rank, first->hung);
    return fmt::format("rank {} ended: {}", rank, first->end->status.text());
  }

  const logger& log() const { return options_.services.log; }

  agent_options options_;
  std::shared_ptr<detail::request_inbox> inbox_;
};

}  // namespace elastic

// ---- elastic/base/base64.hpp ----

// Base64 with the standard alphabet and padding, without line ends (RFC 4648, section 4).
namespace elastic {

inline constexpr std::string_view base64_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// How many letters stand for `bytes` bytes.
constexpr std::size_t base64_size(std::size_t bytes) { return (bytes + 2) / 3 * 4; }

inline std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve(base64_size(bytes.size()));
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const bool there = at + i < bytes.size();
      group = group << 8 | (there ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const bool is_padding = at + i > bytes.size();
      text.push_back(is_padding ? '=' : base64_letters[group >> (18 - 6 * i) & 63]);
    }
  }
  return text;
}

/// Result: empty where `text` is not what `to_base64` makes of some bytes. So each value has one
/// text, and texts can be compared instead of values.
inline std::optional<std::string> from_base64(std::string_view text) {
  static constexpr auto values = [] {
    std::array<std::uint8_t, 256> table{};
    table.fill(64);
    for (std::uint8_t i = 0; i < 64; ++i) {
      table[static_cast<unsigned char>(base64_letters[i])] = i;
    }
    return table;
  }();
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  const std::size_t letters = text.size() - padding;

  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  std::uint32_t group = 0;
  int bits = 0;
  for (std::size_t at = 0; at < letters; ++at) {
    const std::uint8_t value = values[static_cast<unsigned char>(text[at])];
    if (value == 64) return std::nullopt;
    group = (group << 6 | value) & 0xffff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push_back(static_cast<char>(group >> bits & 0xff));
  }
  const bool has_rest = (group & ((1U << bits) - 1)) != 0;
  if (has_rest) return std::nullopt;
  return bytes;
}

}  // namespace elastic

// ---- elastic/base/blocking.hpp ----

#include <thread>

namespace elastic {

namespace detail {

/// What a thread that works and the coroutine that waits for it share. The flag is the
/// coroutine's, and taken away when that waits no more.
template <class Result>
struct blocking_call {
  asio::any_io_executor executor;
  std::mutex mutex;
  event_flag* ended = nullptr;
  std::optional<Result> result;
  std::exception_ptr failure;

  static void run(std::shared_ptr<blocking_call> call, const std::function<Result()>& work) {
    std::optional<Result> result;
    std::exception_ptr failure;
    try {
      result.emplace(work());
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(call->mutex);
    if (call->ended == nullptr) return;
    call->result = std::move(result);
    call->failure = failure;
    asio::post(call->executor, [call] {
      if (call->ended != nullptr) call->ended->set();
    });
  }
};

}  // namespace detail

/// Runs a call that may block, such as one of a network file system, on a thread of its own.
///
/// Name the callable first: g++ 12 destroys one that is made within the `co_await` twice.
/// Errors: those of `work`; `std::system_error` where no thread can be made.
/// Cancellation: all types, at once; the call goes on by itself, and what comes of it is dropped.
template <class Result>
task<Result> run_blocking(std::function<Result()> work) {
  using call_type = detail::blocking_call<Result>;
  struct scope {
    std::shared_ptr<call_type> call;
    explicit scope(std::shared_ptr<call_type> of) : call(std::move(of)) {}
    ~scope() {
      const std::lock_guard lock(call->mutex);
      call->ended = nullptr;
    }
  };
  event_flag ended(co_await asio::this_coro::executor);
  auto call = std::make_shared<call_type>();
  call->executor = co_await asio::this_coro::executor;
  call->ended = &ended;
  const scope waiting(call);
  std::thread([call, work = std::move(work)] { call_type::run(call, work); }).detach();
  co_await ended.wait();
  if (call->failure) std::rethrow_exception(call->failure);
  co_return std::move(*call->result);
}

}  // namespace elastic

// ---- elastic/base/detail/ring_queue.hpp ----

#include <span>

#if !defined(ELASTIC_NO_RING)
#include <liburing.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>
#endif

namespace elastic {

/// How large a ring is.
struct ring_options {
  /// Requests handed to the kernel by one call; more are taken in several calls.
  unsigned entries = 256;
  /// Buffers that the kernel fills with what was received, shared by all sockets; a power of two,
  /// at most 32768. Few are in use at first, and more when they were all full at once.
  unsigned buffers = 1024;
  /// The size of one of them: how much one completion brings at most.
  unsigned buffer_bytes = 4096;
};

namespace detail {

/// What the kernel is asked to do.
struct ring_request {
  enum class action { none, accept, receive, send, read, poll };
  action what = action::none;
  int fd = -1;
  char* data = nullptr;
  unsigned size = 0;
  unsigned events = 0;
};

/// What the kernel answers. `who` is the pointer that came with the request, null for a cancel.
struct ring_answer {
  void* who = nullptr;
  int result = 0;
  bool more = false;
  bool has_buffer = false;
  std::uint16_t buffer = 0;
};

#if !defined(ELASTIC_NO_RING)

/// One io_uring and its pool of receive buffers: the part that speaks to the kernel. Knows nothing
/// of who asks and why.
class ring_queue {
 public:
  /// Result: null where the kernel, a seccomp filter or a limit forbids it; `why_not` then says so.
  static std::unique_ptr<ring_queue> open(const ring_options& wanted, std::string& why_not) {
    std::unique_ptr<ring_queue> queue(new ring_queue);
    why_not = queue->set_up(wanted);
    if (why_not.empty()) why_not = queue->try_out();
    if (!why_not.empty()) queue.reset();
    return queue;
  }

  ~ring_queue() {
    if (is_open_) io_uring_queue_exit(&ring_);
    if (pool_ != MAP_FAILED) munmap(pool_, pool_bytes_);
  }

  ring_queue(const ring_queue&) = delete;
  ring_queue& operator=(const ring_queue&) = delete;

  int fd() const { return ring_.ring_fd; }

  /// Queues a request. Result: false where the queue is full, until the next `submit`.
  bool prepare(const ring_request& request, void* who) {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (!entry) return false;
    switch (request.what) {
      case ring_request::action::none:
        io_uring_prep_nop(entry);
        break;
      case ring_request::action::accept:
        io_uring_prep_multishot_accept(entry, request.fd, nullptr, nullptr, SOCK_CLOEXEC);
        break;
      case ring_request::action::receive:
        io_uring_prep_recv_multishot(entry, request.fd, nullptr, 0, 0);
        io_uring_sqe_set_flags(entry, IOSQE_BUFFER_SELECT);
        entry->buf_group = buffer_group;
        break;
      case ring_request::action::send:
        io_uring_prep_send(entry, request.fd, request.data, request.size,
                           MSG_NOSIGNAL | MSG_WAITALL);
        break;
      case ring_request::action::read:
        io_uring_prep_read(entry, request.fd, request.data, request.size,
                           static_cast<__u64>(-1));
        break;
      case ring_request::action::poll:
        io_uring_prep_poll_add(entry, request.fd, request.events);
        break;
    }
    // Never left out: liburing does not clear the field, and a stale one reaches a stranger.
    io_uring_sqe_set_data(entry, who);
    return true;
  }

  /// Queues the cancelling of the request that came with `who`. Result: as of `prepare`.
  bool prepare_cancel(void* who) {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (!entry) return false;
    io_uring_prep_cancel64(entry, reinterpret_cast<std::uintptr_t>(who), 0);
    io_uring_sqe_set_data(entry, nullptr);
    return true;
  }

  /// Queues the cancelling of every request. Result: as of `prepare`.
  bool prepare_cancel_all() {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (!entry) return false;
    io_uring_prep_cancel64(entry, 0, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
    io_uring_sqe_set_data(entry, nullptr);
    return true;
  }

  /// Hands what is queued to the kernel. Result: 0, or the `errno` value of a call that failed;
  /// what it did not take stays queued.
  int submit() {
    while (io_uring_sq_ready(&ring_) > 0) {
      const int taken = io_uring_submit(&ring_);
      if (taken < 0 && taken != -EINTR) return -taken;
      if (taken == 0) return EAGAIN;
    }
    return 0;
  }

  /// Takes answers, at most as many as fit. Result: how many.
  unsigned take(std::span<ring_answer> answers) {
    unsigned count = 0;
    io_uring_cqe* entry = nullptr;
    while (count < answers.size() && io_uring_peek_cqe(&ring_, &entry) == 0) {
      answers[count++] = {io_uring_cqe_get_data(entry), entry->res,
                          (entry->flags & IORING_CQE_F_MORE) != 0,
                          (entry->flags & IORING_CQE_F_BUFFER) != 0,
                          static_cast<std::uint16_t>(entry->flags >> IORING_CQE_BUFFER_SHIFT)};
      io_uring_cqe_seen(&ring_, entry);
    }
    return count;
  }

  /// Waits for an answer, at most so long.
  void wait(int milliseconds) {
    __kernel_timespec limit{milliseconds / 1000, (milliseconds % 1000) * 1'000'000LL};
    io_uring_cqe* entry = nullptr;
    io_uring_wait_cqe_timeout(&ring_, &entry, &limit);
  }

  std::string_view buffer(std::uint16_t id, int size) const {
    return {buffer_at(id), static_cast<std::size_t>(size)};
  }

  /// Lends the kernel more of the buffers, where there are more: it found all of them full.
  void add_buffers() {
    const unsigned wanted = std::min(buffers_, std::max(first_buffers, 2 * lent_));
    while (lent_ < wanted) recycle(static_cast<std::uint16_t>(lent_++));
  }

  /// Gives a buffer back to the kernel.
  void recycle(std::uint16_t id) {
    io_uring_buf_ring_add(buffer_ring_, buffer_at(id), buffer_bytes_, id, buffer_mask_, 0);
    io_uring_buf_ring_advance(buffer_ring_, 1);
  }

 private:
  static constexpr std::uint16_t buffer_group = 0;
  // Memory that was never lent was never touched.
  static constexpr unsigned first_buffers = 32;

  ring_queue() = default;

  char* buffer_at(std::uint16_t id) const {
    return static_cast<char*>(pool_) + buffers_offset_ + std::size_t{id} * buffer_bytes_;
  }

  // Result: empty, or why it cannot be.
  std::string set_up(const ring_options& wanted) {
    io_uring_params params{};
    // COOP_TASKRUN spares the interrupts; unlike DEFER_TASKRUN it lets the descriptor of the ring
    // be waited for by epoll and the ring be used from every thread of a strand.
    params.flags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP |
                   IORING_SETUP_CQSIZE;
    params.cq_entries = wanted.entries * 4;
    if (int failed = io_uring_queue_init_params(wanted.entries, &ring_, &params); failed < 0) {
      if (failed == -EINVAL) return "io_uring_setup: the kernel is older than 6.0";
      return "io_uring_setup: " + errno_text(-failed);
    }
    is_open_ = true;
    return set_up_buffers(wanted);
  }

  std::string set_up_buffers(const ring_options& wanted) {
    buffers_ = wanted.buffers;
    buffer_bytes_ = wanted.buffer_bytes;
    buffer_mask_ = io_uring_buf_ring_mask(wanted.buffers);
    const std::size_t page = 4096;
    buffers_offset_ = (wanted.buffers * sizeof(io_uring_buf) + page - 1) / page * page;
    pool_bytes_ = buffers_offset_ + std::size_t{wanted.buffers} * buffer_bytes_;
    pool_ = mmap(nullptr, pool_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool_ == MAP_FAILED) return "mmap: " + errno_text(errno);
    buffer_ring_ = static_cast<io_uring_buf_ring*>(pool_);
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uintptr_t>(buffer_ring_);
    registration.ring_entries = wanted.buffers;
    registration.bgid = buffer_group;
    if (int failed = io_uring_register_buf_ring(&ring_, &registration, 0); failed < 0) {
      return "io_uring_register: " + errno_text(-failed);
    }
    io_uring_buf_ring_init(buffer_ring_);
    add_buffers();
    return {};
  }

  // Whether the kernel receives repeatedly into buffers of the pool cannot be asked, only tried.
  std::string try_out() {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
      return "socketpair: " + errno_text(errno);
    }
    const bool written = write(pair[1], "x", 1) == 1;
    close(pair[1]);
    prepare({ring_request::action::receive, pair[0], nullptr, 0, 0}, this);
    const int failed = written ? submit() : EIO;
    bool received = false;
    for (bool more = failed == 0; more;) {
      wait(1000);
      ring_answer answer;
      if (take({&answer, 1}) == 0) break;
      received = received || (answer.result == 1 && answer.more && answer.has_buffer);
      if (answer.has_buffer) recycle(answer.buffer);
      more = answer.more;
    }
    close(pair[0]);
    if (failed != 0) return "io_uring_enter: " + errno_text(failed);
    return received ? "" : "io_uring: the kernel is older than 6.0";
  }

  io_uring ring_{};
  bool is_open_ = false;
  void* pool_ = MAP_FAILED;
  std::size_t pool_bytes_ = 0;
  std::size_t buffers_offset_ = 0;
  io_uring_buf_ring* buffer_ring_ = nullptr;
  unsigned buffers_ = 0;
  unsigned lent_ = 0;
  unsigned buffer_bytes_ = 0;
  int buffer_mask_ = 0;
};

#else

/// Stands in where the library is built without liburing: there is never an object of it.
class ring_queue {
 public:
  static std::unique_ptr<ring_queue> open(const ring_options&, std::string& why_not) {
    why_not = "built without liburing";
    return nullptr;
  }
  int fd() const { return -1; }
  bool prepare(const ring_request&, void*) { return false; }
  bool prepare_cancel(void*) { return false; }
  bool prepare_cancel_all() { return false; }
  int submit() { return 0; }
  unsigned take(std::span<ring_answer>) { return 0; }
  void wait(int) {}
  std::string_view buffer(std::uint16_t, int) const { return {}; }
  void add_buffers() {}
  void recycle(std::uint16_t) {}

 private:
  ring_queue() = default;
};

#endif

}  // namespace detail

}  // namespace elastic

// ---- elastic/base/ring.hpp ----

namespace elastic {

namespace detail {

// A place in a doubly linked ring of places; one that is linked to itself is in no list.
struct ring_link {
  ring_link* previous = this;
  ring_link* next = this;

  ring_link() = default;
  ring_link(const ring_link&) = delete;
  ring_link& operator=(const ring_link&) = delete;

  bool alone() const { return next == this; }
  void unlink() {
    previous->next = next;
    next->previous = previous;
    previous = next = this;
  }
  void move_before(ring_link& other) {
    unlink();
    previous = other.previous;
    next = &other;
    previous->next = this;
    other.previous = this;
  }
};

}  // namespace detail

/// An io_uring that rides on the user's Asio loop: the kernel does the work of many connections,
/// and one wait for the ring's descriptor brings its answers. Optional: made at run time where the
/// kernel allows it, and who cannot have one does the same on Asio's reactor.
///
/// Operations belong to their user and are used again and again, so that nothing is allocated for
/// a request. While one runs, the ring shares in the ownership of what it is part of:
///
///     class echo : public std::enable_shared_from_this<echo> {
///      public:
///       echo(std::shared_ptr<ring> io, int socket) : io_(std::move(io)), socket_(socket) {}
///       ~echo() { ::close(socket_); }  // no operation runs any more
///       void start() { io_->receive(receiving_, socket_, shared_from_this()); }
///
///      private:
///       void received(const ring::completion& done) noexcept {
///         if (!done.last) waiting_ += done.data;  // `last`: end of stream or error
///         if (!sending_.running()) send_next();
///       }
///       void sent(const ring::completion& done) noexcept {
///         if (done.error()) io_->cancel(receiving_);
///         else send_next();
///       }
///       void send_next() {
///         on_the_way_ = std::exchange(waiting_, {});
///         if (!on_the_way_.empty()) io_->send(sending_, socket_, on_the_way_, shared_from_this());
///       }
///       std::shared_ptr<ring> io_;
///       int socket_;
///       std::string waiting_, on_the_way_;
///       ring::member_operation<&echo::received> receiving_{*this};
///       ring::member_operation<&echo::sent> sending_{*this};
///     };
///
///     std::string why_not;
///     auto io = ring::try_make(strand, ring_options{}, &why_not);
///     if (!io) log.info("io_uring is not available ({}): using epoll", why_not);
///
/// Everything that one turn of the loop starts is handed to the kernel by one call at its end.
/// A running operation counts as work of the io_context; an idle ring does not. An io_context that
/// is destroyed ends what still runs, without completions.
///
/// Thread-safety: everything, destruction included, on the executor that the ring was made with,
/// which is a strand or a context that one thread runs.
class ring : public std::enable_shared_from_this<ring> {
 public:
  /// What became of an operation.
  struct completion {
    /// A new socket (`accept`), the number of bytes (`receive`, `send`, `read`), the events that
    /// are there (`poll`), or an `errno` value negated.
    int result = 0;
    /// Whether the operation has ended; it may then be started again, from its own completion too.
    bool last = true;
    /// What was received; valid during the call.
    std::string_view data;

    /// In Asio's category, which is not the one of `std::system_category()`.
    std::error_code error() const {
      if (result >= 0) return {};
      return {-result, asio::error::get_system_category()};
    }
  };

  class operation;
  template <auto Member>
  class member_operation;

  /// Makes a ring and tries it out.
  ///
  /// Result: null where it cannot be had: the kernel is older than 6.0, a seccomp profile or
  /// `kernel.io_uring_disabled` forbids it, or descriptors or memory are short. `why_not` is then
  /// the reason in a few words, such as "io_uring_setup: Operation not permitted".
  static std::shared_ptr<ring> try_make(asio::any_io_executor executor, ring_options wanted = {},
                                        std::string* why_not = nullptr);

  ~ring();

  const asio::any_io_executor& get_executor() { return executor_; }

  /// Accepts connections until it is cancelled or fails; one completion each, with a descriptor
  /// that is closed on exec and belongs to the receiver of the completion.
  /// After a failure such as EMFILE it has ended; start it again when there is hope.
  void accept(operation& on, int listener, std::shared_ptr<void> owner);

  /// Receives until the end of the stream, an error or a cancel; one completion for each piece,
  /// with its bytes, and a last one without: result 0 at the end of the stream.
  /// Pieces that the kernel already has still come after a cancel, before the last completion.
  void receive(operation& on, int socket, std::shared_ptr<void> owner);

  /// Sends all of `data` (less than 2 GiB), which must stay as it is until the completion. One
  /// operation at a time per socket.
  void send(operation& on, int socket, std::string_view data, std::shared_ptr<void> owner);

  /// Reads once, up to the size of `into`; result 0 at the end. For pipes: the descriptor must not
  /// be in non-blocking mode, and nothing else is blocked by that.
  void read(operation& on, int descriptor, std::span<char> into, std::shared_ptr<void> owner);

  /// Waits once for `events` of poll(2), such as POLLIN of a pidfd.
  void poll(operation& on, int descriptor, short events, std::shared_ptr<void> owner);

  /// Ends an operation early; its last completion comes all the same, with ECANCELED unless it
  /// ended by itself. Does nothing where it does not run. Close a descriptor only after the last
  /// completion of the operations on it.
  void cancel(operation& on);

  /// The operations that run.
  std::size_t running() const { return running_; }

  /// `poll` for a coroutine. Cancellation: all types; throws `operation_aborted`.
  /// The ring stays until this ends.
  task<void> wait_readable(int descriptor);

  /// `read` for a coroutine; `into` must stay until it ends. Result: 0 at the end of the stream.
  /// Cancellation: all types; throws `operation_aborted`, or has the result where bytes were read.
  task<std::size_t> read_some(int descriptor, std::span<char> into);

  /// `send` for a coroutine; `data` must stay until it ends.
  /// Cancellation: all types; throws `operation_aborted`, some bytes may have been sent.
  task<void> send_all(int socket, std::string_view data);

 private:
  using request = detail::ring_request;
  using action = detail::ring_request::action;

  // One batch of answers, and how many such a turn takes before others on the loop have theirs.
  static constexpr std::size_t answers_per_batch = 128;
  static constexpr int batches_per_turn = 16;
  // How long the end of operations is waited for when the ring is given up: 20 × 50 ms.
  static constexpr int give_up_waits = 20;
  static constexpr int give_up_wait_milliseconds = 50;

  class next_turn;
  template <class Handler>
  class awaited;
  struct start_awaited;

  ring(asio::any_io_executor executor, std::unique_ptr<detail::ring_queue> queue)
      : executor_(std::move(executor)), queue_(std::move(queue)), readiness_(executor_) {}

  void start(operation& on, const request& wanted, std::shared_ptr<void> owner);
  void want_turn();
  void turn();
  void arm();
  bool submit_due();
  bool submit();
  bool prepare(operation& on);
  std::size_t take_answers();
  void take(const detail::ring_answer& answer);
  bool goes_on(operation& on, const detail::ring_answer& answer);
  void finish(operation& on, const completion& how);
  void give_up();
  void drop(const detail::ring_answer& answer);
  void forget(operation& on);

  asio::any_io_executor executor_;
  std::unique_ptr<detail::ring_queue> queue_;
  // Borrows the descriptor of the queue.
  asio::posix::stream_descriptor readiness_;
  // Every running operation is in one of these: with something to hand to the kernel (itself or
  // its cancelling), or with nothing to do but to wait.
  detail::ring_link due_;
  detail::ring_link waiting_;
  std::size_t running_ = 0;
  bool in_turn_ = false;
  bool turn_wanted_ = false;
  bool armed_ = false;
};

/// Something that a ring does again and again for its user; at most one thing at a time.
///
/// It must not be destroyed or moved while it runs, which the owner given at its start ensures.
class ring::operation : private detail::ring_link {
 public:
  bool running() const { return owner_ != nullptr; }

 protected:
  using function = void (*)(operation&, const completion&) noexcept;
  explicit operation(function completed) : completed_(completed) {}
  ~operation() { ELASTIC_ASSERT(!running()); }

 private:
  friend class ring;

  function completed_;
  std::shared_ptr<void> owner_;
  request wanted_;
  // How much of what is to be sent was sent.
  unsigned progress_ = 0;
  // Whether the kernel has it and will answer.
  bool in_kernel_ = false;
  bool cancelled_ = false;
};

/// An operation that completes by calling a member function of the object that it is part of:
/// `void (const ring::completion&) noexcept`.
template <auto Member>
class ring::member_operation final : public ring::operation {
  template <class Object>
  static Object& object_of(void (Object::*)(const completion&) noexcept);
  using object_reference = decltype(object_of(Member));

 public:
  explicit member_operation(object_reference object) : operation(&call), object_(object) {}

 private:
  static void call(operation& on, const completion& done) noexcept {
    (static_cast<member_operation&>(on).object_.*Member)(done);
  }
  object_reference object_;
};

// What the loop runs for the ring. One that is destroyed without having run tells that the loop
// itself is destroyed.
class ring::next_turn {
 public:
  explicit next_turn(std::shared_ptr<ring> of) : ring_(std::move(of)) {}
  next_turn(next_turn&&) = default;
  next_turn& operator=(next_turn&&) = delete;
  ~next_turn() {
    if (ring_) ring_->give_up();
  }

  // Wanted by an operation that was started or cancelled.
  void operator()() {
    const std::shared_ptr<ring> running = std::move(ring_);
    running->turn_wanted_ = false;
    running->turn();
  }
  // The descriptor of the ring is readable.
  void operator()(asio::error_code) {
    const std::shared_ptr<ring> running = std::move(ring_);
    running->armed_ = false;
    running->turn();
  }

 private:
  std::shared_ptr<ring> ring_;
};

inline std::shared_ptr<ring> ring::try_make(asio::any_io_executor executor, ring_options wanted,
                                            std::string* why_not) {
  std::string reason;
  std::shared_ptr<ring> made;
  if (auto queue = detail::ring_queue::open(wanted, reason)) {
    made.reset(new ring(std::move(executor), std::move(queue)));
    asio::error_code failure;
    made->readiness_.assign(made->queue_->fd(), failure);
    if (failure) {
      reason = "waiting for the ring: " + failure.message();
      made.reset();
    }
  }
  if (why_not) *why_not = reason;
  return made;
}

inline ring::~ring() {
  give_up();
  if (readiness_.is_open()) readiness_.release();
}

inline void ring::accept(operation& on, int listener, std::shared_ptr<void> owner) {
  start(on, {action::accept, listener, nullptr, 0, 0}, std::move(owner));
}

inline void ring::receive(operation& on, int socket, std::shared_ptr<void> owner) {
  start(on, {action::receive, socket, nullptr, 0, 0}, std::move(owner));
}

inline void ring::send(operation& on, int socket, std::string_view data,
                       std::shared_ptr<void> owner) {
  ELASTIC_ASSERT(data.size() <= INT_MAX);
  // The kernel only reads it.
  char* bytes = const_cast<char*>(data.data());
  start(on, {action::send, socket, bytes, static_cast<unsigned>(data.size()), 0},
        std::move(owner));
}

inline void ring::read(operation& on, int descriptor, std::span<char> into,
                       std::shared_ptr<void> owner) {
  ELASTIC_ASSERT(into.size() <= INT_MAX);
  start(on, {action::read, descriptor, into.data(), static_cast<unsigned>(into.size()), 0},
        std::move(owner));
}

inline void ring::poll(operation& on, int descriptor, short events, std::shared_ptr<void> owner) {
  start(on, {action::poll, descriptor, nullptr, 0, static_cast<unsigned short>(events)},
        std::move(owner));
}

inline void ring::start(operation& on, const request& wanted, std::shared_ptr<void> owner) {
  ELASTIC_ASSERT(!on.running());
  ELASTIC_ASSERT(owner);
  on.wanted_ = wanted;
  on.owner_ = std::move(owner);
  on.progress_ = 0;
  on.in_kernel_ = false;
  on.cancelled_ = false;
  on.move_before(due_);
  ++running_;
  want_turn();
}

inline void ring::cancel(operation& on) {
  if (!on.running() || on.cancelled_) return;
  on.cancelled_ = true;
  on.move_before(due_);
  want_turn();
}

inline void ring::want_turn() {
  if (in_turn_ || turn_wanted_) return;
  turn_wanted_ = true;
  asio::post(executor_, next_turn(shared_from_this()));
}

// Hands over what is due and takes what is answered, as long as one causes the other.
inline void ring::turn() {
  in_turn_ = true;
  bool all_taken = true;
  for (int batch = 0; batch < batches_per_turn; ++batch) {
    all_taken = submit_due();
    if (take_answers() == 0 && due_.alone()) break;
  }
  in_turn_ = false;
  if (!all_taken || !due_.alone()) want_turn();
  arm();
}

// Waits for answers where there are some to come, and only then: the wait is work of the loop.
inline void ring::arm() {
  if (armed_ && waiting_.alone()) {
    // It comes back once more, with an error, and finds nothing to do.
    asio::error_code ignored;
    readiness_.cancel(ignored);
    return;
  }
  if (armed_ || waiting_.alone()) return;
  armed_ = true;
  readiness_.async_wait(asio::posix::stream_descriptor::wait_read, next_turn(shared_from_this()));
}

// Result: whether the kernel took everything.
inline bool ring::submit_due() {
  while (!due_.alone()) {
    operation& on = static_cast<operation&>(*due_.next);
    if (on.cancelled_ && !on.in_kernel_) {
      finish(on, {-ECANCELED, true, {}});
    } else if (prepare(on)) {
      on.move_before(waiting_);
    } else if (!submit()) {
      return false;
    }
  }
  return submit();
}

inline bool ring::submit() {
  const int failure = queue_->submit();
  // Out of memory, or too many answers not yet taken: it may go on later. Nothing else can fail
  // unless the program forbids itself io_uring_enter in the middle of its life.
  ELASTIC_ASSERT(failure == 0 || failure == EAGAIN || failure == ENOMEM || failure == EBUSY);
  return failure == 0;
}

inline bool ring::prepare(operation& on) {
  if (on.cancelled_) return queue_->prepare_cancel(&on);
  request wanted = on.wanted_;
  wanted.data += on.progress_;
  wanted.size -= on.progress_;
  on.in_kernel_ = queue_->prepare(wanted, &on);
  return on.in_kernel_;
}

inline std::size_t ring::take_answers() {
  std::array<detail::ring_answer, answers_per_batch> answers;
  const std::size_t count = queue_->take(answers);
  for (std::size_t i = 0; i < count; ++i) take(answers[i]);
  return count;
}

inline void ring::take(const detail::ring_answer& answer) {
  if (!answer.who) return;
  operation& on = *static_cast<operation*>(answer.who);
  if (!answer.more) on.in_kernel_ = false;
  if (goes_on(on, answer)) {
    if (!on.in_kernel_) on.move_before(due_);
    return;
  }
  finish(on, {on.progress_ > 0 && answer.result >= 0 ? static_cast<int>(on.progress_)
                                                      : answer.result,
              true,
              {}});
}

// Tells what a piece of the operation brought. Result: whether there is more of it to come, from
// the kernel as it is or after handing it over again.
inline bool ring::goes_on(operation& on, const detail::ring_answer& answer) {
  const int result = answer.result;
  switch (on.wanted_.what) {
    case action::receive:
      if (result > 0) {
        on.completed_(on, {result, false, queue_->buffer(answer.buffer, result)});
      }
      if (answer.has_buffer) queue_->recycle(answer.buffer);
      // ENOBUFS: all buffers were full, and now they are not.
      if (result == -ENOBUFS) queue_->add_buffers();
      if (result > 0 || result == -ENOBUFS) return true;
      break;
    case action::accept:
      if (result >= 0) {
        on.completed_(on, {result, false, {}});
        return true;
      }
      break;
    case action::send:
      if (result > 0) on.progress_ += static_cast<unsigned>(result);
      if (result > 0 && on.progress_ < on.wanted_.size) return true;
      break;
    default: break;
  }
  // The kernel cancels by itself what was handed over by a thread that has ended since.
  return result == -EINTR || (result == -ECANCELED && !on.cancelled_);
}

inline void ring::finish(operation& on, const completion& how) {
  on.unlink();
  --running_;
  const std::shared_ptr<void> owner = std::move(on.owner_);
  on.completed_(on, how);
}

// Ends everything without completions: nobody is left to take them. Blocks for as long as the
// kernel needs to let go of the memory, which is no longer than it takes to cancel.
inline void ring::give_up() {
  while (!due_.alone()) {
    operation& on = static_cast<operation&>(*due_.next);
    if (on.in_kernel_) {
      on.move_before(waiting_);
    } else {
      forget(on);
    }
  }
  if (waiting_.alone()) return;
  queue_->submit();
  queue_->prepare_cancel_all();
  queue_->submit();
  for (int wait = 0; wait < give_up_waits && !waiting_.alone(); ++wait) {
    detail::ring_answer answer;
    while (queue_->take({&answer, 1}) == 1) drop(answer);
    if (!waiting_.alone()) queue_->wait(give_up_wait_milliseconds);
  }
  while (!waiting_.alone()) {
    operation& on = static_cast<operation&>(*waiting_.next);
    // The kernel may still write there: never to be freed.
    new std::shared_ptr<void>(on.owner_);
    forget(on);
  }
}

inline void ring::drop(const detail::ring_answer& answer) {
  if (!answer.who) return;
  operation& on = *static_cast<operation*>(answer.who);
  // A connection that nobody will ever hear of.
  if (on.wanted_.what == action::accept && answer.result >= 0) ::close(answer.result);
  if (!answer.more) forget(on);
}

inline void ring::forget(operation& on) {
  on.unlink();
  --running_;
  const std::shared_ptr<void> owner = std::move(on.owner_);
}

// An operation that resumes who awaits it.
template <class Handler>
class ring::awaited final : public operation {
 public:
  awaited(ring& of, Handler handler)
      : operation(&call), ring_(of), handler_(std::move(handler)) {}

  void cancel() { ring_.cancel(*this); }

 private:
  static void call(operation& on, const completion& done) noexcept {
    auto& self = static_cast<awaited&>(on);
    auto executor = asio::get_associated_executor(self.handler_, self.ring_.executor_);
    auto resume = [handler = std::move(self.handler_), done]() mutable {
      std::move(handler)(done.error(), done.result);
    };
    asio::post(executor, std::move(resume));
  }

  ring& ring_;
  Handler handler_;
};

struct ring::start_awaited {
  template <class Handler>
  void operator()(Handler handler, ring* of, request wanted) const {
    auto slot = asio::get_associated_cancellation_slot(handler);
    auto on = std::make_shared<awaited<Handler>>(*of, std::move(handler));
    if (slot.is_connected()) {
      slot.assign([weak = std::weak_ptr<awaited<Handler>>(on)](asio::cancellation_type type) {
        const auto running = weak.lock();
        if (running && type != asio::cancellation_type::none) running->cancel();
      });
    }
    of->start(*on, wanted, on);
  }
};

inline task<void> ring::wait_readable(int descriptor) {
  const request wanted{action::poll, descriptor, nullptr, 0, POLLIN};
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void(asio::error_code, int)>(
      start_awaited(), asio::use_awaitable, this, wanted);
}

inline task<std::size_t> ring::read_some(int descriptor, std::span<char> into) {
  ELASTIC_ASSERT(into.size() <= INT_MAX);
  const request wanted{action::read, descriptor, into.data(), static_cast<unsigned>(into.size()),
                       0};
  const int count =
      co_await asio::async_initiate<const asio::use_awaitable_t<>, void(asio::error_code, int)>(
          start_awaited(), asio::use_awaitable, this, wanted);
  co_return static_cast<std::size_t>(count);
}

inline task<void> ring::send_all(int socket, std::string_view data) {
  ELASTIC_ASSERT(data.size() <= INT_MAX);
  const request wanted{action::send, socket, const_cast<char*>(data.data()),
                       static_cast<unsigned>(data.size()), 0};
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void(asio::error_code, int)>(
      start_awaited(), asio::use_awaitable, this, wanted);
}

}  // namespace elastic

// ---- elastic/base/version.hpp ----

#define ELASTIC_VERSION_MAJOR 0
#define ELASTIC_VERSION_MINOR 1
#define ELASTIC_VERSION_PATCH 0

namespace elastic {

/// The version of this library as text, "major.minor.patch".
inline constexpr const char* version_text = "0.1.0";

}  // namespace elastic

// ---- elastic/launch/gpu_nodes.hpp ----

namespace elastic {

namespace detail {

/// The NUMA node of a PCI device; -1 where the kernel does not know it.
inline int node_of_device(const std::string& root, std::string address) {
  // The driver and the kernel write the same address in other cases.
  for (char& letter : address) {
    if (letter >= 'A' && letter <= 'F') letter = static_cast<char>(letter - 'A' + 'a');
  }
  int node = -1;
  std::ifstream(root + "/sys/bus/pci/devices/" + address + "/numa_node") >> node;
  return node;
}

}  // namespace detail

/// The NUMA nodes of the NVIDIA GPUs that workers see, in the order in which they see them: those
/// of CUDA_VISIBLE_DEVICES, else all by their PCI addresses; -1 where a node is not known. Empty
/// where there are none. No driver library is asked.
///
/// @param root  what stands before /proc and /sys
inline std::vector<int> gpu_nodes(const environment_map& environment,
                                  const std::string& root = "") {
  std::vector<std::string> addresses;
  std::error_code failure;
  std::filesystem::directory_iterator entry(root + "/proc/driver/nvidia/gpus", failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    addresses.push_back(entry->path().filename().string());
  }
  std::sort(addresses.begin(), addresses.end());
  std::vector<int> all;
  for (const std::string& address : addresses) {
    all.push_back(detail::node_of_device(root, address));
  }
  const std::vector<std::string> visible = visible_devices(environment);
  if (visible.empty()) return all;
  std::vector<int> seen;
  for (const std::string& one : visible) {
    std::size_t place = all.size();  // a name such as GPU-… says nothing about its place
    std::from_chars(one.data(), one.data() + one.size(), place);
    seen.push_back(place < all.size() ? all[place] : -1);
  }
  return all.empty() ? all : seen;
}

}  // namespace elastic

// ---- elastic/launch/processor_topology.hpp ----

namespace elastic {

/// A logical processor, and what it is part of. Groups have the number of their first processor,
/// NUMA nodes their own.
struct logical_processor {
  int number = 0;
  /// The physical core, whose threads share its units.
  int core = 0;
  /// Those that share the last level of cache: a core complex.
  int complex = 0;
  int numa_node = 0;
  int socket = 0;

  friend bool operator==(const logical_processor&, const logical_processor&) = default;
};

/// The online processors of a machine, in the order of their numbers.
using processor_topology = std::vector<logical_processor>;

namespace detail {

/// The list in a file of sysfs; empty where there is none.
inline processor_set listed_in(const std::string& file) {
  std::string line;
  std::ifstream(file) >> line;
  return line.empty() ? processor_set() : processor_set::parse(line);
}

/// The first of the processors that a file lists, else the one itself.
inline int first_listed_in(const std::string& file, int self) {
  const processor_set group = listed_in(file);
  return group.empty() ? self : *group.begin();
}

/// What shares the highest level of cache that there is.
inline int complex_of(const std::string& processor, int self) {
  int complex = self;
  int highest = 0;
  for (int index = 0; index < 16; ++index) {
    const std::string cache = fmt::format("{}/cache/index{}/", processor, index);
    int level = 0;
    if (!(std::ifstream(cache + "level") >> level)) break;
    if (level <= highest) continue;
    highest = level;
    complex = first_listed_in(cache + "shared_cpu_list", self);
  }
  return complex;
}

}  // namespace detail

/// Reads the topology from sysfs, which is mounted at `sys`. What a kernel does not tell is left
/// at one node, one socket, a core for each processor.
///
/// Errors: `errc::file_access` where the online processors are not listed;
/// `errc::invalid_argument` where a file there is not as it should be.
inline processor_topology read_processor_topology(const std::string& sys = "/sys") {
  const std::string system = sys + "/devices/system";
  const processor_set online = detail::listed_in(system + "/cpu/online");
  if (online.empty()) {
    throw error(errc::file_access,
                fmt::format("{}/cpu/online: the processors are not listed there", system));
  }
  processor_topology all;
  for (const int number : online) {
    const std::string processor = fmt::format("{}/cpu/cpu{}", system, number);
    logical_processor one;
    one.number = number;
    one.core = detail::first_listed_in(processor + "/topology/thread_siblings_list", number);
    one.socket =
        detail::first_listed_in(processor + "/topology/core_siblings_list", *online.begin());
    one.complex = detail::complex_of(processor, number);
    all.push_back(one);
  }
  for (const int node : detail::listed_in(system + "/node/online")) {
    const processor_set inside =
        detail::listed_in(fmt::format("{}/node/node{}/cpulist", system, node));
    for (logical_processor& one : all) {
      if (inside.contains(one.number)) one.numa_node = node;
    }
  }
  return all;
}

}  // namespace elastic

// ---- elastic/launch/numa_binding.hpp ----

namespace elastic {

/// On which processors the workers of a machine run. torchrun's names.
enum class numa_binding {
  /// Wherever this program may run.
  none,
  /// All processors of the worker's NUMA node.
  node,
  /// All processors of the socket that has the worker's NUMA node.
  socket,
  /// Cores of the worker's NUMA node that are its own: the node's are dealt out evenly.
  exclusive,
  /// One group of cores with a common cache of the last level; another one for each worker of the
  /// node while there are any.
  core_complex,
};

/// The NUMA nodes of `count` workers: that of the GPU that has the number of a worker's local rank,
/// where `gpu_nodes` tells it, else the nodes with allowed processors in turn, in blocks of
/// neighbours.
inline std::vector<int> nodes_of_workers(const processor_topology& topology,
                                         const processor_set& allowed, std::size_t count,
                                         const std::vector<int>& gpu_nodes) {
  std::set<int> found;
  for (const logical_processor& one : topology) {
    if (allowed.contains(one.number)) found.insert(one.numa_node);
  }
  const std::vector<int> nodes(found.begin(), found.end());
  std::vector<int> result;
  for (std::size_t worker = 0; worker < count && !nodes.empty(); ++worker) {
    const bool has_gpu = worker < gpu_nodes.size() && found.count(gpu_nodes[worker]) > 0;
    result.push_back(has_gpu ? gpu_nodes[worker] : nodes[worker * nodes.size() / count]);
  }
  return result;
}

namespace detail {

/// The allowed processors of a node in groups, in the order of their first ones.
template <class GroupOf>
std::vector<processor_set> groups_of_node(const processor_topology& topology,
                                          const processor_set& allowed, int node,
                                          const GroupOf& group_of) {
  std::map<int, processor_set> groups;
  for (const logical_processor& one : topology) {
    if (one.numa_node != node || !allowed.contains(one.number)) continue;
    groups[group_of(one)].add(one.number);
  }
  std::vector<processor_set> result;
  for (const auto& [first, group] : groups) result.push_back(group);
  return result;
}

inline processor_set all_of_node(const processor_topology& topology, const processor_set& allowed,
                                 int node) {
  processor_set all;
  for (const logical_processor& one : topology) {
    if (one.numa_node == node && allowed.contains(one.number)) all.add(one.number);
  }
  return all;
}

inline processor_set all_of_sockets(const processor_topology& topology,
                                    const processor_set& allowed, int node) {
  std::set<int> sockets;
  for (const logical_processor& one : topology) {
    if (one.numa_node == node) sockets.insert(one.socket);
  }
  processor_set all;
  for (const logical_processor& one : topology) {
    if (sockets.count(one.socket) > 0 && allowed.contains(one.number)) all.add(one.number);
  }
  return all;
}

/// The `place`th share of a node's cores among `count` workers.
inline processor_set share_of_node(const processor_topology& topology, const processor_set& allowed,
                                   int node, std::size_t place, std::size_t count) {
  const auto cores = groups_of_node(topology, allowed, node,
                                    [](const logical_processor& one) { return one.core; });
  if (cores.size() < count) {
    throw error(errc::invalid_argument,
                fmt::format("NUMA node {} has {} core{} for {} workers: with the binding exclusive "
                            "each needs one of its own",
                            node, cores.size(), cores.size() == 1 ? "" : "s", count));
  }
  processor_set share;
  for (std::size_t core = place * cores.size() / count; core < (place + 1) * cores.size() / count;
       ++core) {
    for (const int number : cores[core]) share.add(number);
  }
  return share;
}

inline processor_set complex_of_node(const processor_topology& topology,
                                     const processor_set& allowed, int node, std::size_t place) {
  const auto complexes = groups_of_node(topology, allowed, node,
                                        [](const logical_processor& one) { return one.complex; });
  return complexes[place % complexes.size()];
}

}  // namespace detail

/// Where the workers of this machine run, by local rank.
///
/// @param allowed  the processors that may be used
/// @param nodes    the NUMA node of each worker; each must have an allowed processor
/// Result: empty for `numa_binding::none`. Errors: `errc::invalid_argument` where the cores of a
/// node do not reach for `exclusive`.
inline std::vector<processor_set> place_workers(numa_binding how,
                                                const processor_topology& topology,
                                                const processor_set& allowed,
                                                const std::vector<int>& nodes) {
  std::vector<processor_set> places;
  if (how == numa_binding::none) return places;
  std::map<int, std::size_t> placed;
  for (const int node : nodes) {
    const std::size_t place = placed[node]++;
    switch (how) {
      case numa_binding::none:
      case numa_binding::node:
        places.push_back(detail::all_of_node(topology, allowed, node));
        break;
      case numa_binding::socket:
        places.push_back(detail::all_of_sockets(topology, allowed, node));
        break;
      case numa_binding::exclusive: {
        const auto count =
            static_cast<std::size_t>(std::count(nodes.begin(), nodes.end(), node));
        places.push_back(detail::share_of_node(topology, allowed, node, place, count));
        break;
      }
      case numa_binding::core_complex:
        places.push_back(detail::complex_of_node(topology, allowed, node, place));
        break;
    }
  }
  return places;
}

}  // namespace elastic

// ---- elastic/launch/signal_plan.hpp ----

namespace elastic {

/// What a program that runs an agent does on the signals that it gets. Default: torchrun's.
struct signal_plan {
  /// These stop the job in order; the workers get the same signal.
  std::vector<int> stop = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
  /// These are passed on to the workers, and the job goes on.
  std::vector<int> forward = {};
};

/// Checks a signal_plan. Errors: `errc::invalid_argument` for a signal that a program cannot or
/// must not catch (SIGKILL and SIGSTOP, those of faults, and SIGCHLD, which is its host's), and for
/// one that is both to stop the job and to be passed on.
inline void validate(const signal_plan& plan) {
  const auto refuse = [](int number, const char* why) {
    throw error(errc::invalid_argument, fmt::format("{} {}", signal_name(number), why));
  };
  constexpr int kept[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGSEGV, SIGBUS,
                          SIGFPE,  SIGILL,  SIGTRAP, SIGSYS};
  for (const auto* numbers : {&plan.stop, &plan.forward}) {
    for (const int number : *numbers) {
      const bool exists = (number > 0 && number < 32) || (number >= SIGRTMIN && number <= SIGRTMAX);
      const bool is_kept = std::find(std::begin(kept), std::end(kept), number) != std::end(kept);
      if (!exists || is_kept) refuse(number, "cannot be handled: choose such as SIGTERM, SIGUSR1");
    }
  }
  for (const int number : plan.forward) {
    if (std::find(plan.stop.begin(), plan.stop.end(), number) != plan.stop.end()) {
      refuse(number, "cannot both stop the job and be passed on to the workers");
    }
  }
}

}  // namespace elastic

// ---- elastic/launch/start_method.hpp ----

namespace elastic {

/// How the workers that run a function come to be.
enum class start_method {
  /// A new process of the same program, whose main finds the function by its name. Always safe.
  spawn,
  /// A copy of this process, as it is at each start, in which the function runs at once. Only where
  /// this process has one thread; see `fork_launcher` for what the function may use there. It has
  /// no guard.
  fork,
};

}  // namespace elastic

// ---- elastic/launch/launch_config.hpp ----

namespace elastic {

/// Everything that `elasticrun` can be told, with its defaults: a job as one node sees it.
///
/// Only `program` has no default that works, unless a `function` is named. Values out of bounds are
/// refused by `launch` with `errc::invalid_argument` before anything is started.
struct launch_config {
  // What to run.

  /// The program of every worker: a path, or a name that is looked up in the PATH of
  /// `environment`. For a Python script this is the interpreter.
  std::string program;
  /// A function that every worker runs, such as `entrypoint::call` makes it. `program` is then the
  /// one that has the function, empty: this one. Its main must begin with `run_entrypoint`.
  std::optional<function_call> function = {};
  /// How the workers of a function come to be; `fork` has its conditions.
  start_method start = start_method::spawn;
  /// The program's arguments; `${local_rank}` in any of them becomes the worker's local rank.
  std::vector<std::string> arguments;
  /// What the report of a failure calls the job; empty: `program`, or the function.
  std::string name;
  /// The script among the arguments, which must exist before anything is started; empty where
  /// there is none to look for (a program of its own, a Python module).
  std::string script;
  /// What the workers inherit; each gets its own additions. Nothing of the process's environment
  /// is added to it.
  environment_map environment;

  // How many.

  /// The job runs with `min_nodes` … `max_nodes` nodes; 1 ≤ min_nodes ≤ max_nodes ≤
  /// `limits::nodes`.
  int min_nodes = 1;
  int max_nodes = 1;
  /// Workers of this node, 1 … `limits::local_world_size`.
  int nproc_per_node = 1;
  /// The role of the workers, part of their log lines and metrics.
  std::string role = "default";

  /// Variables of the workers alone, on top of `environment`; `${local_rank}`, `${rank}` and
  /// `${role_name}` in the values become the worker's.
  std::vector<std::pair<std::string, std::string>> worker_variables;
  /// Each worker sees one GPU, with LOCAL_RANK 0 (see worker_spec::virtual_local_rank).
  bool virtual_local_rank = false;
  /// On which processors workers run: by the machine's NUMA nodes and the GPUs there, or …
  numa_binding binding = numa_binding::none;
  /// … by local rank; empty: as `binding` says.
  std::vector<processor_set> cpu_affinity;

  // How nodes meet.

  /// One node by itself: the fields of this group are not looked at, but for `run_id`. Any number
  /// of such jobs run side by side on one machine.
  bool standalone = false;
  /// Names the job; nodes with the same run id meet. Empty: a random one, for `standalone` only.
  std::string run_id = "none";
  /// "static", "c10d" or another name of the rendezvous registry.
  std::string rdzv_backend = "static";
  /// "host:port" of the rendezvous; empty: the backend's default (static: `master_addr` and
  /// `master_port`).
  std::string rdzv_endpoint;
  /// Further settings of the backend, in order; the last of a repeated name counts.
  std::vector<std::pair<std::string, std::string>> rdzv_conf;
  /// Backend "static" only: this node's rank, 0 … max_nodes - 1.
  int node_rank = 0;
  /// Backend "static" without an endpoint: where the node of rank 0 serves.
  std::string master_addr = "127.0.0.1";
  std::uint16_t master_port = 29500;
  /// The address that this node tells workers and other nodes, where ranks are not given (not
  /// "static"); empty: found out by itself.
  std::string local_addr;

  // How often again and for how long.

  /// How often the workers are started anew after a failure; 0: never.
  int max_restarts = 0;
  /// How soon, for which failures, and how many of them within what time.
  restart_terms restart;
  /// How long workers may take to end after the stop signal before they are killed; 0: at once.
  std::chrono::milliseconds shutdown_timeout{30'000};
  /// What a program that runs the job by `run_with_signals` does on the signals that it gets; an
  /// embedded agent handles none.
  signal_plan signals;
  /// How long workers may take to save a checkpoint on SIGTERM before they are stopped; 0: they are
  /// not asked.
  std::chrono::milliseconds preempt_grace{0};
  /// After how long without a heartbeat over the control channel a worker is hung: between two, and
  /// from its start to the first; 0: never.
  std::chrono::milliseconds heartbeat_timeout{0};
  std::chrono::milliseconds first_heartbeat_timeout{0};
  /// Where nobody named a time-out: the longest seen times this, 1 or more; 0: nothing is learned.
  double learn_timeouts = 0;
  /// Whether a guard ends what a worker leaves behind, also where this process is killed.
  guard_policy guard = guard_policy::best_effort;
  /// The guard's program, such as the installed elastic-guard; empty: what the library carries.
  std::string guard_file;
  /// The period of the state metrics, for the metric handler that an embedder may give; over 0.
  /// Nothing else is paced by it: workers are not polled.
  std::chrono::milliseconds monitor_interval{5'000};

  // What is written where.

  /// The directory under which each run makes one of its own. Empty: one in the temporary folder;
  /// "/dev/null": no files at all, what is only redirected is discarded.
  std::string log_dir;
  /// Streams that go into files instead of this process's own.
  stream_selection redirects;
  /// Streams that go into files and, line by line with a prefix, to this process's own.
  stream_selection tee;
  /// The prefix of teed lines, with `${role_name}`, `${rank}` and `${local_rank}`; empty:
  /// "[<role><local_rank>]:".
  std::string log_line_prefix_template;
  /// Whether bytes move through an io_uring where the kernel allows one; else by Asio's reactor.
  bool use_ring = true;
  /// Where events go: "null", "console" or another name of the event handler registry.
  std::string event_log_handler = "null";
};

}  // namespace elastic

// ---- elastic/net/endpoint.hpp ----

namespace elastic {

/// A host, by name or by address, and a port.
struct endpoint {
  std::string host;
  std::uint16_t port = 0;

  friend bool operator==(const endpoint&, const endpoint&) = default;
};

/// "host:port", with brackets around an IPv6 address.
inline std::string to_text(const endpoint& at) {
  const bool is_v6 = at.host.find(':') != std::string::npos;
  return is_v6 ? fmt::format("[{}]:{}", at.host, at.port) : fmt::format("{}:{}", at.host, at.port);
}

namespace detail {

inline std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char letter) { return letter == ' ' || (letter >= 9 && letter <= 13); };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

inline std::uint16_t parse_port(std::string_view digits, std::string_view whole) {
  constexpr std::size_t most_digits = 5;
  std::uint32_t port = 0;
  bool valid = !digits.empty() && digits.size() <= most_digits;
  for (const char digit : digits) {
    valid = valid && digit >= '0' && digit <= '9';
    if (valid) port = port * 10 + static_cast<std::uint32_t>(digit - '0');
  }
  if (!valid || port > 65535) {
    throw error(errc::invalid_argument,
                fmt::format("endpoint '{}': the port must be a number from 0 to 65535", whole));
  }
  return static_cast<std::uint16_t>(port);
}

inline void check_host(std::string_view host, std::string_view whole) {
  if (host.empty()) {
    throw error(errc::invalid_argument,
                fmt::format("endpoint '{}' has no host: write host[:port]", whole));
  }
  const auto is_allowed = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '.' || letter == ':' ||
           letter == '-';
  };
  if (!std::all_of(host.begin(), host.end(), is_allowed)) {
    throw error(errc::invalid_argument,
                fmt::format("endpoint '{}': a host consists of letters, digits and the signs "
                            "._-: (an IPv6 address with a port is written [address]:port)",
                            whole));
  }
}

}  // namespace detail

/// Reads `host`, `host:port`, `[v6]` or `[v6]:port` as torchrun does: blanks around it are dropped,
/// the split is at the last colon, and an empty text means localhost at the default port.
///
/// Errors: `errc::invalid_argument`, with a sentence that quotes the text and says what is allowed.
inline endpoint parse_endpoint(std::string_view text, std::uint16_t default_port) {
  const std::string_view whole = detail::trimmed(text);
  if (whole.empty()) return endpoint{"localhost", default_port};

  std::string_view host = whole;
  std::uint16_t port = default_port;
  const bool only_brackets = whole.front() == '[' && whole.back() == ']';
  const std::size_t colon = only_brackets ? std::string_view::npos : whole.rfind(':');
  if (colon != std::string_view::npos) {
    host = whole.substr(0, colon);
    port = detail::parse_port(whole.substr(colon + 1), whole);
  }
  if (host.size() > 1 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  detail::check_host(host, whole);
  return endpoint{std::string(host), port};
}

/// What a machine is called and how it is reached: what `is_this_machine` compares with.
struct machine_identity {
  std::string host_name;
  /// The canonical name that the resolver gives for `host_name`; empty where it gives none.
  std::string canonical_name;
  /// The addresses that the resolver gives for `host_name`.
  std::vector<asio::ip::address> addresses;
};

/// Whether `host` means this machine, as torchrun infers who hosts the store: "localhost", a
/// loopback address, the host name, its canonical name, or an address that both `host` and the
/// host name resolve to.
///
/// @param host_addresses  what `host` resolves to; empty where it does not.
inline bool is_this_machine(const std::string& host, const machine_identity& machine,
                            const std::vector<asio::ip::address>& host_addresses) {
  if (host == "localhost") return true;
  asio::error_code not_an_address;
  const auto literal = asio::ip::make_address(host, not_an_address);
  if (!not_an_address && literal.is_loopback()) return true;
  if (!host.empty() && (host == machine.host_name || host == machine.canonical_name)) return true;
  const auto is_ours = [&](const asio::ip::address& address) {
    return std::find(machine.addresses.begin(), machine.addresses.end(), address) !=
           machine.addresses.end();
  };
  if (!not_an_address) return is_ours(literal);
  return std::any_of(host_addresses.begin(), host_addresses.end(), is_ours);
}

namespace detail {

/// The addresses of `host`, and its canonical name where `canonical` is given. A failure to
/// resolve leaves both empty.
inline task<std::vector<asio::ip::address>> resolve_addresses(std::string host,
                                                              std::string* canonical) {
  std::vector<asio::ip::address> found;
  asio::error_code not_an_address;
  const auto literal = asio::ip::make_address(host, not_an_address);
  if (!not_an_address && canonical == nullptr) {
    // No need for the resolver, nor for its thread.
    found.push_back(literal);
    co_return found;
  }
  asio::ip::tcp::resolver resolver(co_await asio::this_coro::executor);
  const auto flags = canonical != nullptr ? asio::ip::tcp::resolver::canonical_name
                                          : asio::ip::tcp::resolver::flags();
  auto [failure, entries] = co_await resolver.async_resolve(host, "", flags, as_result);
  if (failure) co_return found;
  for (const auto& entry : entries) {
    if (canonical != nullptr && canonical->empty()) *canonical = entry.host_name();
    found.push_back(entry.endpoint().address());
  }
  co_return found;
}

}  // namespace detail

/// Whether `host` means this machine (see the other overload); asks the resolver, which Asio runs
/// on a thread of its own.
///
/// Cancellation: all types, once the resolver has answered (it cannot be interrupted).
inline task<bool> is_this_machine(std::string host) {
  machine_identity machine;
  machine.host_name = host_name();
  const std::vector<asio::ip::address> none;
  if (is_this_machine(host, machine, none)) co_return true;
  machine.addresses =
      co_await detail::resolve_addresses(machine.host_name, &machine.canonical_name);
  if (is_this_machine(host, machine, none)) co_return true;
  const auto of_host = co_await detail::resolve_addresses(host, nullptr);
  co_return is_this_machine(host, machine, of_host);
}

}  // namespace elastic

// ---- elastic/process/fork_launcher.hpp ----

#include <sstream>

namespace elastic {

namespace detail {

/// Whether a thread of this process is the kernel's own (a worker of an io_uring), by its line in
/// /proc. A fork leaves it out, and it holds no lock of the program's.
inline bool is_kernels_thread(const std::string& stat_line) {
  constexpr unsigned long io_worker = 0x10;
  const std::size_t name_end = stat_line.rfind(')');
  if (name_end == std::string::npos) return false;
  std::istringstream rest(stat_line.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 9; ++field) rest >> skipped;
  unsigned long flags = 0;
  rest >> flags;
  return (flags & io_worker) != 0;
}

/// How many threads of the program's this process has. Errors: `errc::start_failed` where /proc
/// does not say.
inline int own_threads() {
  std::error_code failure;
  int count = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/task", failure), end;
       !failure && entry != end; entry.increment(failure)) {
    std::string line;
    std::getline(std::ifstream(entry->path() / "stat"), line);
    if (!is_kernels_thread(line)) ++count;
  }
  if (count > 0 && !failure) return count;
  throw error(errc::start_failed,
              "no worker can be forked: /proc does not say how many threads this process has");
}

}  // namespace detail

/// Starts copies of this process in the place of programs: each calls a function and ends.
///
/// Of a process_spec the copy takes the environment (in the place of this process's), the
/// directory, the processors and the streams; the program's name serves for errors alone. It gets
/// a session of its own, default signal handling and an empty signal mask, as every worker.
///
/// **Only where this process has one thread.** A copy has the calling thread alone: a lock that
/// another thread holds would stay locked for ever in it. Each start looks (Asio makes a thread
/// when it asks the resolver for a host's name), and refuses.
///
/// In the copy all memory is as it is here at the moment of the start. All descriptors but 0, 1 and
/// 2 are closed: files, sockets and io_contexts of this process do not work there, and nobody may
/// touch an executor of this process, nor `asio::signal_set` where this process has used one. It
/// ends without destroying anything that was made before: no destructor, no function of `atexit`.
///
/// No guard holds it. The kernel kills it when this process dies, however that dies (it has one
/// thread, so that this is the same); what it started in turn may outlive it, as without guards.
/// A start costs more the more memory this process has, and needs /proc.
///
/// Thread-safety: the one thread that there is.
class fork_launcher final : public process_launcher {
 public:
  /// `body` is called in each copy and gives its exit code. It must not throw. `calls` must outlive
  /// the launcher and what it starts.
  explicit fork_launcher(std::function<int()> body, logger log = {},
                         const detail::syscalls& calls = detail::real_syscalls)
      : body_(std::move(body)), log_(std::move(log)), calls_(calls) {}

  /// Errors, besides those of the interface: `errc::start_failed` where this process has more
  /// threads than one. What it starts is awaited on the executor of the caller.
  task<std::unique_ptr<child>> launch(process_spec spec) override {
    const asio::any_io_executor executor = co_await asio::this_coro::executor;
    if (const int threads = detail::own_threads(); threads != 1) {
      throw error(errc::start_failed,
                  fmt::format("a worker can be forked only where this process has one thread, it "
                              "has {}: start it by start_method::spawn", threads));
    }
    if (!std::exchange(is_noted_, true)) {
      log_.info("forked workers have no guard: they die with this program, what they leave behind "
                "may outlive them");
    }
    const detail::spawn_result started = start(spec);
    if (started.failure) detail::throw_start_error(spec, spec.program, started);
    co_return std::make_unique<pidfd_child>(executor, started.pid, started.pidfd, calls_);
  }

 private:
  // What the copy says when it is in order, or why it is not.
  struct report {
    int failure;
    detail::spawn_stage stage;
  };

  static constexpr std::size_t signal_words =
      detail::kernel_signal_bytes / sizeof(unsigned long);

  detail::spawn_result start(const process_spec& spec) {
    detail::spawn_result result;
    result.stage = detail::spawn_stage::clone;
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      result.failure = errno;
      return result;
    }
    detail::unique_fd ours(ends[0]);
    detail::unique_fd theirs(ends[1]);
    // What is buffered would be written by each copy once more.
    std::fflush(nullptr);
    const pid_t parent = ::getpid();
    std::array<unsigned long, signal_words> all;
    std::array<unsigned long, signal_words> before{};
    all.fill(~0UL);
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, all.data(), before.data(),
              detail::kernel_signal_bytes);
    const pid_t pid = ::fork();
    if (pid == 0) run_copy(spec, parent, theirs.release());
    const int fork_error = errno;
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, before.data(), nullptr,
              detail::kernel_signal_bytes);
    if (pid < 0) {
      result.failure = fork_error;
      return result;
    }
    theirs.reset();
    // It waits for our word, so that its number is still its own.
    detail::unique_fd pidfd(calls_.pidfd_open(pid));
    if (!pidfd) {
      result.failure = errno;
      ours.reset();
      siginfo_t ignored{};
      detail::uninterrupted(
          [&] { return calls_.waitid(P_PID, static_cast<id_t>(pid), &ignored, WEXITED); });
      return result;
    }
    report said{ECHILD, detail::spawn_stage::clone};
    detail::uninterrupted([&] { return ::recv(ours.get(), &said, sizeof said, 0); });
    if (said.failure == 0) {
      const char go = 1;
      ::send(ours.get(), &go, 1, MSG_NOSIGNAL);
      result.pid = pid;
      result.pidfd = pidfd.release();
      return result;
    }
    result.failure = said.failure;
    result.stage = said.stage;
    siginfo_t ignored{};
    detail::uninterrupted([&] {
      return calls_.waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd.get()),
                           &ignored, WEXITED);
    });
    return result;
  }

  // The one thread of the copy: no lock is held by another, so that all may be called.
  [[noreturn]] void run_copy(const process_spec& spec, pid_t parent, int socket) noexcept {
    const std::vector<unsigned long> processors = spec.processors.mask();
    detail::child_plan plan{.calls = &calls_,
                            .path = nullptr,
                            .arguments = nullptr,
                            .environment = nullptr,
                            .directory = spec.directory.empty() ? nullptr : spec.directory.c_str(),
                            .processors = processors.empty() ? nullptr : processors.data(),
                            .processor_bytes = processors.size() * sizeof(unsigned long),
                            .streams = {spec.stdin_fd, spec.stdout_fd, spec.stderr_fd},
                            .passed = {-1, -1},
                            .program = socket,
                            .parent = parent,
                            .die_with_parent = true};
    report said{0, arrange(plan)};
    if (said.stage != detail::spawn_stage::execute) said.failure = errno;
    char go = 0;
    const bool is_wanted =
        ::send(plan.program, &said, sizeof said, MSG_NOSIGNAL) > 0 &&
        detail::uninterrupted([&] { return ::recv(plan.program, &go, 1, 0); }) == 1;
    ::close(plan.program);
    if (!is_wanted) ::_exit(127);
    take_environment(spec);
    static constexpr std::array<unsigned long, signal_words> no_signals{};
    ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, no_signals.data(), nullptr,
              detail::kernel_signal_bytes);
#if defined(__GLIBC__)
    // The last to be registered, the first to be called: where the function calls std::exit, what
    // this process had registered stays uncalled in the copy.
    ::on_exit([](int status, void*) { leave(status); }, nullptr);
#endif
    leave(body_());
  }

  [[noreturn]] static void leave(int code) {
    std::fflush(nullptr);
    ::_exit(code);
  }

  // Result: `execute` where all is in order, else the step that failed, with its error in `errno`.
  static detail::spawn_stage arrange(detail::child_plan& plan) {
    detail::reset_signal_handling();
    if (plan.calls->set_session() < 0) return detail::spawn_stage::session;
    if (plan.calls->die_with_parent() < 0) return detail::spawn_stage::parent_death;
    if (::getppid() != plan.parent) ::_exit(127);
    if (!detail::take_processors(plan)) return detail::spawn_stage::processors;
    if (plan.directory && plan.calls->change_directory(plan.directory) < 0) {
      return detail::spawn_stage::directory;
    }
    // Standard streams that were closed, and whose numbers are this process's own by now.
    for (int target = 0; target < 3; ++target) {
      if (plan.streams[target] >= 0 || !detail::is_private(target)) continue;
      plan.streams[target] = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    }
    // The socket may have one of these numbers.
    if (plan.program < 3) plan.program = ::fcntl(plan.program, F_DUPFD_CLOEXEC, 3);
    if (plan.program < 0 || !detail::arrange_streams(plan)) return detail::spawn_stage::streams;
    detail::close_others(plan);
    return detail::spawn_stage::execute;
  }

  static void take_environment(const process_spec& spec) {
    ::clearenv();
    for (const std::string& entry : spec.environment) {
      const std::size_t equals = entry.find('=');
      if (equals == std::string::npos || equals == 0) continue;
      ::setenv(entry.substr(0, equals).c_str(), entry.c_str() + equals + 1, 1);
    }
  }

  std::function<int()> body_;
  logger log_;
  const detail::syscalls& calls_;
  bool is_noted_ = false;
};

}  // namespace elastic

// ---- elastic/rendezvous/deferred_rendezvous.hpp ----

namespace elastic {

/// A rendezvous that is made when a node first asks for a round, because that takes time: a server
/// has to be found, or asked which protocol it speaks.
///
/// Thread-safety: one strand at a time.
class deferred_rendezvous final : public rendezvous_handler {
 public:
  using maker = std::function<task<std::shared_ptr<rendezvous_handler>>()>;

  /// @param make  called once, unless it fails; what it throws `next_round` throws
  deferred_rendezvous(std::string backend, std::string run_id, maker make)
      : backend_(std::move(backend)), run_id_(std::move(run_id)), make_(std::move(make)) {}

  std::string backend() const override { return backend_; }
  std::string run_id() const override { return run_id_; }

  task<rendezvous_round> next_round() override {
    if (!made_) made_ = co_await make_();
    co_return co_await made_->next_round();
  }

  task<rendezvous_change> wait_for_change() override { return made().wait_for_change(); }
  task<rendezvous_change> report_failure(std::string what) override {
    return made().report_failure(std::move(what));
  }
  task<void> exit_barrier() override { return made().exit_barrier(); }

  task<int> num_nodes_waiting() override {
    if (!made_) co_return 0;
    co_return co_await made_->num_nodes_waiting();
  }

  task<bool> is_closed() override {
    if (!made_) co_return false;
    co_return co_await made_->is_closed();
  }

  task<void> close(job_end how, std::string why) override {
    if (made_) co_await made_->close(how, std::move(why));
  }

  task<void> shutdown() override {
    if (made_) co_await made_->shutdown();
  }

 private:
  rendezvous_handler& made() const {
    if (!made_) throw error(errc::invalid_argument, "this node was in no round yet");
    return *made_;
  }

  std::string backend_;
  std::string run_id_;
  maker make_;
  std::shared_ptr<rendezvous_handler> made_;
};

}  // namespace elastic

// ---- elastic/net/local_address.hpp ----

namespace elastic {

/// The address, without the wrapping that IPv6 sockets give to an IPv4 one.
inline asio::ip::address plain_address(const asio::ip::address& address) {
  if (!address.is_v6() || !address.to_v6().is_v4_mapped()) return address;
  return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
}

/// Whether `host` means nothing but the host itself, wherever it is said. (A host's own name may
/// stand for a loopback address on that host and for another one elsewhere.)
inline bool is_loopback(const std::string& host) {
  if (host == "localhost") return true;
  asio::error_code failure;
  const auto address = asio::ip::make_address(host, failure);
  return !failure && plain_address(address).is_loopback();
}

/// Whether this host has the address, which is found out by binding it.
inline bool is_local_address(const asio::any_io_executor& executor,
                             const asio::ip::address& address) {
  if (address.is_unspecified()) return false;
  const asio::ip::udp::endpoint end(address, 0);
  asio::error_code failure;
  asio::ip::udp::socket trial(executor);
  trial.open(end.protocol(), failure);
  if (!failure) trial.bind(end, failure);
  return !failure;
}

/// The address of this host on the way to another; unspecified where no way leads there. Nothing is
/// sent.
inline asio::ip::address address_towards(const asio::any_io_executor& executor,
                                         const asio::ip::address& other) {
  constexpr std::uint16_t any_port = 9;
  const asio::ip::udp::endpoint there(other, any_port);
  asio::error_code failure;
  asio::ip::udp::socket trial(executor);
  trial.open(there.protocol(), failure);
  if (!failure) trial.connect(there, failure);
  if (failure) return {};
  const auto here = trial.local_endpoint(failure);
  return failure ? asio::ip::address() : plain_address(here.address());
}

}  // namespace elastic

// ---- elastic/rendezvous/node_id.hpp ----

#include <compare>

namespace elastic {

/// Names one agent in a rendezvous. The order is that by which the nodes of a round get their
/// ranks, on every node the same.
struct node_id {
  /// The name or address of the machine; compared byte by byte.
  std::string host;
  /// The process of the agent.
  std::int64_t pid = 0;
  /// Tells the agents of one process apart, from 0.
  std::int64_t local_id = 0;

  friend auto operator<=>(const node_id&, const node_id&) = default;
  friend bool operator==(const node_id&, const node_id&) = default;

  /// "host_pid_localid", as messages show it.
  std::string text() const { return fmt::format("{}_{}_{}", host, pid, local_id); }
};

/// A new name for an agent of this process: each of its handlers is a node of its own.
/// @param host  what the user calls this host; empty: its own name
inline node_id new_node(const std::string& host) {
  static std::atomic<std::int64_t> next = 0;
  return {host.empty() ? host_name() : host, ::getpid(), next++};
}

}  // namespace elastic

// ---- elastic/rendezvous/torch_dialect.hpp ----

namespace elastic {

/// How the agents of a PyTorch release write the state of their rendezvous. Agents of different
/// dialects cannot read each other's state.
enum class torch_dialect {
  /// PyTorch up to 1.13: nodes have an `fqdn`, times are in UTC without saying so.
  torch_1_13,
  /// PyTorch 2.0 up to 2.2: nodes have an `addr`.
  torch_2_0,
  /// PyTorch 2.6 and later: a redundancy list, and times that say that they are in UTC.
  torch_2_6,
};

/// "1.13", "2.0" or "2.6": the release that a dialect began with.
inline std::string_view to_text(torch_dialect dialect) {
  switch (dialect) {
    case torch_dialect::torch_1_13: return "1.13";
    case torch_dialect::torch_2_0: return "2.0";
    default: return "2.6";
  }
}

/// The dialect that `to_text` shows as `text`.
/// Errors: `errc::invalid_argument` for any other text.
inline torch_dialect parse_torch_dialect(std::string_view text) {
  for (const torch_dialect each :
       {torch_dialect::torch_1_13, torch_dialect::torch_2_0, torch_dialect::torch_2_6}) {
    if (to_text(each) == text) return each;
  }
  throw error(errc::invalid_argument,
              fmt::format("dialect '{}': 1.13, 2.0 or 2.6 is needed", text));
}

}  // namespace elastic

// ---- elastic/rendezvous/torch_state.hpp ----

namespace elastic {

/// A time of day in UTC, as exact as Python's.
using torch_time = std::chrono::sys_time<std::chrono::microseconds>;

/// The value that the agents of PyTorch share in their rendezvous, whatever its dialect.
struct torch_state {
  std::int64_t round = 0;
  /// Whether the round is formed: its participants have their ranks and may start.
  bool complete = false;
  /// Whether the job is over for every node.
  bool closed = false;
  /// When the round is complete although more nodes could join; none while there are too few.
  std::optional<torch_time> deadline;
  /// The nodes of the round and their ranks, which are all 0 until it is complete.
  std::map<node_id, int> participants;
  /// The nodes that wait to join the next round.
  std::set<node_id> wait_list;
  /// The nodes that wait for a place in this one; only `torch_dialect::torch_2_6` has them.
  std::set<node_id> redundancy_list;
  /// When each node last said that it lives, by the clock of that node.
  std::map<node_id, torch_time> last_heartbeats;

  /// Attributes that the dialect does not know, by name. Each is kept as the pickle operations that
  /// make it, as `decode_torch_state` found them, and written back in the same dialect.
  std::map<std::string, std::string> extra;
  /// The dialect that a decoded state was written in; none where it holds nothing that tells.
  std::optional<torch_dialect> seen_dialect;

  friend bool operator==(const torch_state&, const torch_state&) = default;
};

}  // namespace elastic

// ---- elastic/rendezvous/rendezvous_backend.hpp ----

namespace elastic {

/// A state as a backend holds it.
struct stored_state {
  torch_state state;
  /// Names this value: another one that is stored later has another token. Never empty.
  std::string token;
  /// Those of its nodes that live, as of the same moment, where the place watches over them
  /// itself; none where only the heartbeats in the state tell.
  std::optional<std::set<node_id>> living = std::nullopt;
};

/// What came of storing a state.
struct set_outcome {
  /// What is stored now; none where nothing is.
  std::optional<stored_state> stored;
  /// Whether that is the state that was to be stored.
  bool was_set = false;
};

/// Where the nodes of a rendezvous without a server that decides keep the state that they agree on
/// (`dynamic_rendezvous`): one value, which is only ever replaced by whoever has seen it. Implement
/// it to keep the state somewhere of your own.
///
/// Errors of every member: `errc::connection_failed`, and `errc::rendezvous_state` where what is
/// stored cannot be understood; the message names the place, and nothing is overwritten.
/// Cancellation of every member: all types; a state that was to be stored may or may not be.
/// Thread-safety: one strand at a time; operations may run at the same time.
class rendezvous_backend {
 public:
  virtual ~rendezvous_backend() = default;

  /// What is stored; none where nothing is yet.
  virtual task<std::optional<stored_state>> get() = 0;

  /// Stores `state` in place of the value that `token` names; an empty token names that there is
  /// none. Where something else is stored meanwhile, that stays.
  virtual task<set_outcome> set(torch_state state, std::string token) = 0;

  /// Returns when what is stored is not what `token` names, or may not be: at the latest when it is
  /// time to look again, where the place cannot tell by itself.
  virtual task<void> wait_for_change(std::string token) = 0;

  /// Whether it looks by itself for a place that does not answer, for a while, before it ends with
  /// an error: then nobody else has to.
  virtual bool is_patient() const { return false; }

  /// Whether the place itself watches over nodes, by `say_alive`: then no heartbeats are written
  /// into the state, and its states tell which of their nodes live.
  virtual bool watches_over_nodes() const { return false; }

  /// This node lives, and will say so again. Called before the node takes a place.
  virtual task<void> say_alive(node_id) { co_return; }

  /// This node says so no more: others hear of it at once.
  virtual task<void> say_gone() { co_return; }
};

/// All nodes that a state names.
inline std::set<node_id> nodes_of(const torch_state& state) {
  std::set<node_id> nodes = state.wait_list;
  nodes.insert(state.redundancy_list.begin(), state.redundancy_list.end());
  for (const auto& [node, rank] : state.participants) nodes.insert(node);
  for (const auto& [node, time] : state.last_heartbeats) nodes.insert(node);
  return nodes;
}

}  // namespace elastic

// ---- elastic/rendezvous/rendezvous_settings.hpp ----

namespace elastic {

/// By which numbers nodes meet. All durations are over 0.
struct rendezvous_settings {
  /// 1 ≤ min_nodes ≤ max_nodes.
  int min_nodes = 1;
  int max_nodes = 1;
  /// How long a node waits for a round that it can be in.
  duration join_timeout = std::chrono::seconds(600);
  /// How long a round that has enough nodes waits for further ones, where it cannot know them.
  duration last_call_timeout = std::chrono::seconds(30);
  /// How often a node says that it is alive, and after how many that were missed it is lost.
  duration keep_alive_interval = std::chrono::seconds(5);
  int keep_alive_max_attempt = 3;
  /// How long a node whose connection broke has to come back before it is lost.
  duration reconnect_grace = std::chrono::milliseconds(300);

  /// How long a node may be silent.
  duration silence() const { return keep_alive_interval * keep_alive_max_attempt; }
};

}  // namespace elastic

// ---- elastic/rendezvous/round_state.hpp ----

namespace elastic {

/// What nodes agree on: who is in the round, who waits for the next one.
///
/// Times are those of one monotonic clock: of the server that keeps the state, or of the one node
/// that looks at it. Times of two nodes never meet in it.
struct round_state {
  std::int64_t round = 0;
  /// The round has its nodes: those that are in it run.
  bool complete = false;
  /// The job has ended; no round follows.
  bool closed = false;
  /// The nodes of this round are not known beforehand, so it has a last call once it has enough.
  bool unknown_nodes = true;
  /// The end of the last call.
  std::optional<time_point> deadline = std::nullopt;
  /// With their ranks, once the round is complete.
  std::map<node_id, int> participants = {};
  /// Nodes that the next round takes in.
  std::set<node_id> wait_list = {};
  /// Nodes beyond the maximum: they stand by for one that is lost.
  std::set<node_id> redundancy_list = {};

  friend bool operator==(const round_state&, const round_state&) = default;
};

}  // namespace elastic

// ---- elastic/rendezvous/round_machine.hpp ----

namespace elastic {

/// By whose rules nodes meet.
enum class round_rules {
  /// PyTorch's up to 2.2: a node beyond the maximum asks again and again.
  torch_1_13,
  /// PyTorch's of 2.6 and newer: a node beyond the maximum stands by.
  torch_2_6,
  /// Ours, where one server sees every node: a round whose nodes are known is complete as soon as
  /// all of them are there, and the wait list never promises more than the next round can hold.
  direct,
};

/// What is to happen to one node, by `apply` where it changes the state.
enum class round_action {
  /// It is in a complete round.
  placed,
  /// Nothing changes until something else does.
  wait,
  refuse_closed,
  refuse_timeout,
  enter_round,
  enter_wait_list,
  enter_redundancy_list,
  leave_round,
  leave_wait_list,
  leave_redundancy_list,
  /// From the complete round to the wait list of the next.
  leave_to_rejoin,
  complete_round,
};

struct round_decision {
  round_action action;
  /// Why, a half sentence.
  std::string_view reason;

  friend bool operator==(const round_decision&, const round_decision&) = default;
};

namespace detail {

inline bool contains(const round_state& state, const node_id& node) {
  return state.participants.count(node) != 0;
}

inline int size_of(const round_state& state) {
  return static_cast<int>(state.participants.size());
}

/// Whether a place is neither taken nor promised.
inline bool has_place(const round_state& state, const rendezvous_settings& settings,
                      round_rules rules) {
  const std::size_t promised = rules == round_rules::direct ? state.wait_list.size() : 0;
  return state.participants.size() + promised < static_cast<std::size_t>(settings.max_nodes);
}

inline round_decision decide_in_complete_round(const round_state& state, const node_id& node,
                                               const rendezvous_settings& settings,
                                               round_rules rules) {
  if (state.wait_list.count(node) != 0) {
    return {round_action::wait, "waits for the nodes of this round to leave it"};
  }
  if (has_place(state, settings, rules)) {
    return {round_action::enter_wait_list, "the round runs and has a place for one more"};
  }
  if (rules == round_rules::torch_1_13) {
    return {round_action::wait, "the round runs with the most nodes that are allowed"};
  }
  return {round_action::enter_redundancy_list,
          "the round runs with the most nodes that are allowed"};
}

/// A round that has enough nodes: whether it waits for more.
inline round_decision decide_completion(const round_state& state,
                                        const rendezvous_settings& settings, round_rules rules,
                                        time_point now) {
  if (rules == round_rules::direct && !state.unknown_nodes) {
    const bool all_here =
        state.wait_list.empty() &&
        (state.redundancy_list.empty() || size_of(state) == settings.max_nodes);
    if (all_here) return {round_action::complete_round, "every node that is known is there"};
    return {round_action::wait, "nodes that are known are still to enter"};
  }
  if (state.deadline && *state.deadline <= now) {
    return {round_action::complete_round, "the last call is over"};
  }
  return {round_action::wait, "the last call is under way"};
}

}  // namespace detail

/// What the next step of a node is that wants to be in a round. To be asked again after each step,
/// until it is `placed`, refused, or waits.
///
/// @param deadline  until when the node waits for a place; who stands by waits without an end
/// Source: _RendezvousJoinOp of PyTorch's dynamic rendezvous, for the rules of that name.
inline round_decision decide_join(const round_state& state, const node_id& node,
                                  const rendezvous_settings& settings, round_rules rules,
                                  time_point now, time_point deadline) {
  if (state.closed) return {round_action::refuse_closed, "the job has ended"};
  if (state.redundancy_list.count(node) != 0) {
    if (detail::has_place(state, settings, rules)) {
      return {round_action::leave_redundancy_list, "a place has become free"};
    }
    return {round_action::wait, "stands by"};
  }
  const bool is_in = detail::contains(state, node);
  if (state.complete && is_in) return {round_action::placed, "the round is complete"};
  if (now > deadline) {
    if (is_in) return {round_action::leave_round, "waited long enough"};
    if (state.wait_list.count(node) != 0) {
      return {round_action::leave_wait_list, "waited long enough"};
    }
    return {round_action::refuse_timeout, "waited long enough"};
  }
  if (state.complete) return detail::decide_in_complete_round(state, node, settings, rules);
  if (!is_in) {
    const bool may_enter =
        state.wait_list.count(node) != 0 || detail::has_place(state, settings, rules);
    if (may_enter) return {round_action::enter_round, "the round takes nodes"};
    return {round_action::enter_redundancy_list, "all places are promised"};
  }
  if (detail::size_of(state) < settings.min_nodes) {
    return {round_action::wait, "there are not enough nodes"};
  }
  return detail::decide_completion(state, settings, rules, now);
}

/// What the next step of a node is that gives up its place, whatever that is.
inline round_decision decide_leave(const round_state& state, const node_id& node) {
  if (detail::contains(state, node)) return {round_action::leave_round, "leaves"};
  if (state.wait_list.count(node) != 0) return {round_action::leave_wait_list, "leaves"};
  if (state.redundancy_list.count(node) != 0) {
    return {round_action::leave_redundancy_list, "leaves"};
  }
  return {round_action::wait, "has no place"};
}

namespace detail {

inline void complete_round(round_state& state) {
  state.complete = true;
  state.deadline.reset();
  int rank = 0;
  for (auto& [node, its_rank] : state.participants) its_rank = rank++;
}

inline void enter_round(round_state& state, const node_id& node,
                        const rendezvous_settings& settings, time_point now) {
  state.wait_list.erase(node);
  state.participants[node] = 0;
  if (size_of(state) == settings.min_nodes) state.deadline = now + settings.last_call_timeout;
  if (size_of(state) == settings.max_nodes) complete_round(state);
}

/// What follows from a participant's going: the last one of a complete round begins the next.
inline void note_departure(round_state& state, const rendezvous_settings& settings) {
  if (state.complete && state.participants.empty()) {
    state.complete = false;
    ++state.round;
    state.unknown_nodes = state.wait_list.empty() && state.redundancy_list.empty();
  }
  if (!state.complete && size_of(state) < settings.min_nodes) state.deadline.reset();
}

}  // namespace detail

/// Carries out a step of a node.
/// Source: _DistributedRendezvousOpExecutor of PyTorch's dynamic rendezvous.
inline void apply(round_state& state, round_action action, const node_id& node,
                  const rendezvous_settings& settings, time_point now) {
  switch (action) {
    case round_action::placed:
    case round_action::wait:
    case round_action::refuse_closed:
    case round_action::refuse_timeout: break;
    case round_action::enter_round: detail::enter_round(state, node, settings, now); break;
    case round_action::enter_wait_list: state.wait_list.insert(node); break;
    case round_action::enter_redundancy_list: state.redundancy_list.insert(node); break;
    case round_action::leave_wait_list: state.wait_list.erase(node); break;
    case round_action::leave_redundancy_list: state.redundancy_list.erase(node); break;
    case round_action::leave_round:
      state.participants.erase(node);
      detail::note_departure(state, settings);
      break;
    case round_action::leave_to_rejoin:
      ELASTIC_ASSERT(state.complete && detail::contains(state, node));
      state.participants.erase(node);
      state.wait_list.insert(node);
      detail::note_departure(state, settings);
      break;
    case round_action::complete_round: detail::complete_round(state); break;
  }
}

}  // namespace elastic

// ---- elastic/rendezvous/torch_state_clock.hpp ----

namespace elastic {

/// Turns the times of day that a state holds, each by the clock of another node, into times of
/// this node. What counts is when a value was first seen here: no two clocks are compared, so
/// that a node whose clock is wrong is neither lost nor immortal.
class torch_state_clock {
 public:
  /// Takes in a state that was read at `now`. Nodes that it does not name any more are forgotten.
  void observe(const torch_state& state, time_point now) {
    observed_ = now;
    std::map<node_id, seen> heartbeats;
    for (const auto& [id, value] : state.last_heartbeats) {
      const auto known = heartbeats_.find(id);
      const bool is_new = known == heartbeats_.end() || known->second.value != value;
      heartbeats.emplace(id, seen{value, is_new ? now : known->second.since});
    }
    heartbeats_.swap(heartbeats);
    if (!state.deadline) {
      deadline_.reset();
    } else if (!deadline_ || deadline_->value != *state.deadline) {
      deadline_ = seen{*state.deadline, now};
    }
  }

  /// The nodes whose heartbeat had not changed for longer than `allowed` when the state was last
  /// read, in their order. What happened since is not known, so a node is not lost only because
  /// the state was not read for long. At its first sight a heartbeat counts as new, however old it
  /// says that it is.
  std::vector<node_id> dead(duration allowed) const {
    std::vector<node_id> nodes;
    for (const auto& [id, heartbeat] : heartbeats_) {
      if (observed_ - heartbeat.since > allowed) nodes.push_back(id);
    }
    return nodes;
  }

  /// When the deadline that the state has now was first seen; none where it has none.
  std::optional<time_point> deadline_seen() const {
    if (!deadline_) return std::nullopt;
    return deadline_->since;
  }

 private:
  struct seen {
    torch_time value;
    time_point since;
  };

  time_point observed_;
  std::map<node_id, seen> heartbeats_;
  std::optional<seen> deadline_;
};

}  // namespace elastic

// ---- elastic/rendezvous/detail/torch_round.hpp ----

namespace elastic::detail {

/// One node's way to the state that the nodes of a rendezvous share: reads it in this node's time,
/// without those that are dead, changes it step by step, and says that this node lives.
///
/// Thread-safety: one strand at a time; operations may run at the same time.
class torch_round final : public std::enable_shared_from_this<torch_round> {
 public:
  /// The state as it was read, and what it means here and now.
  struct view {
    torch_state stored;
    /// Empty where nothing is stored.
    std::string token;
    /// In this node's time, without the nodes that are dead.
    round_state state;
    std::vector<node_id> dead;
  };

  torch_round(std::string run_id, node_id node, rendezvous_settings settings,
              torch_dialect dialect, std::shared_ptr<rendezvous_backend> backend,
              std::shared_ptr<store> agents, std::shared_ptr<time_source> time, logger log)
      : run_id_(std::move(run_id)),
        node_(std::move(node)),
        settings_(settings),
        dialect_(dialect),
        backend_(std::move(backend)),
        agents_(std::move(agents)),
        time_(std::move(time)),
        log_(std::move(log)) {}

  const node_id& node() const { return node_; }
  round_rules rules() const {
    return dialect_ == torch_dialect::torch_2_6 ? round_rules::torch_2_6 : round_rules::torch_1_13;
  }

  /// The prefix of the keys of one round in the agents' store.
  std::string prefix(std::int64_t round) const {
    return fmt::format("torch.rendezvous.{}.{}", run_id_, round);
  }

  /// The state as it is now.
  task<view> look() {
    const auto get = [](rendezvous_backend& from) { return from.get(); };
    std::optional<stored_state> stored = co_await patiently<std::optional<stored_state>>(get);
    co_return co_await take_in(std::move(stored));
  }

  /// Carries out one step of this node on what was seen.
  /// Result: what is stored then; the step was lost where another node's came first.
  task<view> carry_out(view seen, round_action action) {
    const time_point now = time_->now();
    apply(seen.state, action, node_, settings_, now);
    const bool has_place = is_named(seen.state);
    if (has_place) seen.stored.last_heartbeats[node_] = next_heartbeat();
    if (!has_place) seen.stored.last_heartbeats.erase(node_);
    co_return co_await write(std::move(seen));
  }

  /// Marks the rendezvous as closed.
  task<void> close() {
    view seen = co_await look();
    while (!seen.state.closed) {
      seen.state.closed = true;
      seen = co_await write(std::move(seen));
    }
  }

  /// Gives up whatever place this node has.
  /// @param rejoins  it goes on to the next round
  task<view> leave(bool rejoins) {
    view seen = co_await look();
    for (;;) {
      round_action action = decide_leave(seen.state, node_).action;
      if (action == round_action::wait || seen.state.closed) co_return seen;
      if (action == round_action::leave_round && seen.state.complete && rejoins) {
        // In one step: nobody sees the round without this node but that it waits for the next.
        action = round_action::leave_to_rejoin;
      }
      seen = co_await carry_out(std::move(seen), action);
      if (action == round_action::leave_to_rejoin && !contains(seen.state, node_)) co_return seen;
    }
  }

  /// Waits until the state may have changed, at most until `deadline`.
  task<void> wait_for_change(std::string token, time_point deadline) {
    task<void> waiting = backend_->wait_for_change(std::move(token));
    co_await with_deadline(*time_, deadline, std::move(waiting));
  }

  /// Whether the workers of that node have ended: it waits for the others then, and its heartbeats
  /// cease because PyTorch's agents wait and write over one connection.
  task<bool> has_ended(std::int64_t round, int rank) {
    std::vector<std::string> keys;
    keys.push_back(fmt::format("{}/torchelastic/agent/terminal_state{}", prefix(round), rank));
    co_return co_await agents_->check(std::move(keys));
  }

  /// Says to a place that watches over its nodes that this one lives: before it takes a place.
  task<void> announce() {
    const auto say = [this](rendezvous_backend& to) { return answered(to.say_alive(node_)); };
    co_await patiently<bool>(say);
  }

  /// Says so no more.
  task<void> withdraw() { co_await backend_->say_gone(); }

  /// Begins to say that this node lives, as long as it has a place.
  void start_heartbeats(asio::any_io_executor executor) {
    if (ended_) return;
    ended_.emplace(executor);
    auto on_end = [self = shared_from_this()](std::exception_ptr) { self->ended_->set(); };
    asio::co_spawn(executor, keep_alive(),
                   asio::bind_cancellation_slot(cancel_.slot(), std::move(on_end)));
  }

  task<void> stop_heartbeats() {
    if (!ended_) co_return;
    cancel_.emit(asio::cancellation_type::terminal);
    co_await ended_->wait();
  }

  /// Whether nodes whose workers have ended may be silent. Who looks for a new round must not wait
  /// for them: they cannot know of it.
  void spare_ended(bool whether) { spares_ended_ = whether; }

  /// From now on a place that cannot be reached is not tried again.
  void hurry() { is_patient_ = false; }

 private:
  static constexpr std::chrono::milliseconds retry_pause{200};

  struct own_deadline {
    torch_time written;
    time_point at;
  };

  // A store that was reached before may come back.
  template <class T, class Ask>
  task<T> patiently(Ask ask) {
    if (backend_->is_patient()) co_return co_await ask(*backend_);
    const time_point limit = time_->now() + limits::rendezvous_absence;
    for (;;) {
      std::exception_ptr failure;
      try {
        task<T> asking = ask(*backend_);
        std::optional<T> answer = co_await with_deadline(
            *time_, time_->now() + settings_.silence(), std::move(asking));
        if (answer) {
          was_reached_ = true;
          co_return std::move(*answer);
        }
        throw error(errc::connection_failed, "the rendezvous' state cannot be had: no answer");
      } catch (const error& problem) {
        const bool may_come_back = problem.code() == errc::connection_failed && was_reached_ &&
                                   is_patient_ && time_->now() < limit;
        if (!may_come_back) throw;
        log_.debug("the rendezvous' state cannot be reached, trying again: {}", problem.what());
      }
      co_await time_->sleep_until(time_->now() + retry_pause);
    }
  }

  static task<bool> answered(task<void> work) {
    co_await std::move(work);
    co_return true;
  }

  bool is_named(const round_state& state) const {
    return contains(state, node_) || state.wait_list.count(node_) != 0 ||
           state.redundancy_list.count(node_) != 0;
  }

  // ---- reading --------------------------------------------------------------------------------

  task<view> take_in(std::optional<stored_state> stored) {
    view seen;
    if (stored) {
      seen.stored = std::move(stored->state);
      seen.token = std::move(stored->token);
    }
    clock_.observe(seen.stored, time_->now());
    seen.state = translated(seen.stored);
    const bool is_told = stored && stored->living;
    std::vector<node_id> silent = is_told ? missing(seen.stored, *stored->living)
                                          : clock_.dead(settings_.silence());
    std::erase(silent, node_);
    if (!silent.empty() && seen.state.complete && spares_ended_) {
      silent = co_await without_ended(std::move(silent), seen.state);
    }
    for (const node_id& node : silent) bury(seen, node);
    seen.dead = std::move(silent);
    co_return seen;
  }

  // By what the place itself tells of its nodes.
  static std::vector<node_id> missing(const torch_state& stored, const std::set<node_id>& living) {
    std::vector<node_id> nodes;
    for (const node_id& node : nodes_of(stored)) {
      if (living.count(node) == 0) nodes.push_back(node);
    }
    return nodes;
  }

  round_state translated(const torch_state& stored) const {
    round_state state;
    state.round = stored.round;
    state.complete = stored.complete;
    state.closed = stored.closed;
    state.participants = stored.participants;
    state.wait_list = stored.wait_list;
    state.redundancy_list = stored.redundancy_list;
    if (stored.deadline) {
      // Whoever set it waits so long from then on, by a clock that is not ours.
      const time_point seen = clock_.deadline_seen().value_or(time_->now());
      const bool is_own = own_deadline_ && own_deadline_->written == *stored.deadline;
      state.deadline = is_own ? own_deadline_->at : seen + settings_.last_call_timeout;
    }
    return state;
  }

  // Nodes that wait at the exit barrier are silent, and not dead for those that are in the round.
  task<std::vector<node_id>> without_ended(std::vector<node_id> silent, round_state in) {
    std::vector<node_id> dead;
    int arrived = co_await arrived_at_barrier(in.round);
    for (const node_id& node : silent) {
      const auto place = in.participants.find(node);
      bool is_spared = false;
      if (place != in.participants.end()) {
        is_spared = dialect_ == torch_dialect::torch_2_6
                        ? arrived-- > 0
                        : co_await has_ended(in.round, place->second);
      }
      if (!is_spared) dead.push_back(node);
    }
    co_return dead;
  }

  // PyTorch's newer barrier only counts: who has come there is not known, but how many.
  task<int> arrived_at_barrier(std::int64_t round) {
    if (dialect_ != torch_dialect::torch_2_6) co_return 0;
    const std::string key = prefix(round) + "/torchelastic/agent/terminal_state/num_members";
    std::vector<std::string> keys(1, key);
    const bool has_begun = co_await agents_->check(std::move(keys));
    if (!has_begun) co_return 0;
    co_return static_cast<int>(co_await agents_->add(key, 0));
  }

  void bury(view& seen, const node_id& node) {
    round_state& state = seen.state;
    if (contains(state, node)) apply(state, round_action::leave_round, node, settings_, {});
    state.wait_list.erase(node);
    state.redundancy_list.erase(node);
    seen.stored.last_heartbeats.erase(node);
  }

  // ---- writing --------------------------------------------------------------------------------

  task<view> write(view wanted) {
    torch_state& stored = wanted.stored;
    const round_state& state = wanted.state;
    stored.round = state.round;
    stored.complete = state.complete;
    stored.closed = state.closed;
    stored.participants = state.participants;
    stored.wait_list = state.wait_list;
    stored.redundancy_list = state.redundancy_list;
    if (!state.deadline) stored.deadline.reset();
    if (state.deadline && !stored.deadline) {
      own_deadline_ = own_deadline{wall_now() + std::chrono::duration_cast<torch_time::duration>(
                                                    *state.deadline - time_->now()),
                                   *state.deadline};
      stored.deadline = own_deadline_->written;
    }
    const auto set = [&wanted](rendezvous_backend& to) {
      return to.set(wanted.stored, wanted.token);
    };
    set_outcome outcome = co_await patiently<set_outcome>(set);
    co_return co_await take_in(std::move(outcome.stored));
  }

  torch_time wall_now() const {
    return std::chrono::time_point_cast<torch_time::duration>(time_->wall_now());
  }

  // Each is another one, also where the clock was set back: others look at whether it changes.
  torch_time next_heartbeat() {
    heartbeat_ = std::max(wall_now(), heartbeat_ + torch_time::duration(1));
    return heartbeat_;
  }

  // ---- heartbeats -----------------------------------------------------------------------------

  task<void> keep_alive() {
    for (;;) {
      co_await time_->sleep_until(time_->now() + settings_.keep_alive_interval);
      try {
        co_await beat();
      } catch (const error& failure) {
        // Whoever waits for the rendezvous hears of it, too.
        log_.debug("this node could not say that it lives: {}", failure.what());
      }
    }
  }

  task<void> beat() {
    if (backend_->watches_over_nodes()) {
      co_await announce();
      co_return;
    }
    view seen = co_await look();
    for (;;) {
      const auto mine = seen.stored.last_heartbeats.find(node_);
      if (mine == seen.stored.last_heartbeats.end()) co_return;
      const torch_time before = mine->second;
      mine->second = next_heartbeat();
      seen = co_await write(std::move(seen));
      const auto now = seen.stored.last_heartbeats.find(node_);
      if (now == seen.stored.last_heartbeats.end() || now->second > before) co_return;
    }
  }

  const std::string run_id_;
  const node_id node_;
  const rendezvous_settings settings_;
  const torch_dialect dialect_;
  const std::shared_ptr<rendezvous_backend> backend_;
  const std::shared_ptr<store> agents_;
  const std::shared_ptr<time_source> time_;
  const logger log_;
  torch_state_clock clock_;
  std::optional<own_deadline> own_deadline_;
  torch_time heartbeat_{};
  std::optional<event_flag> ended_;
  asio::cancellation_signal cancel_;
  bool spares_ended_ = false;
  bool was_reached_ = false;
  bool is_patient_ = true;
};

}  // namespace elastic::detail

// ---- elastic/rendezvous/exit_barrier.hpp ----

namespace elastic {

/// Waits until every agent of the round has come here, so that one that finishes early is not
/// taken for a lost node.
///
/// Bound the wait by `with_deadline`. Errors: those of the store.
/// Cancellation: all types; this agent stays counted as having come.
/// Source: the barrier of PyTorch 2.4 and newer (`torchelastic/agent/terminal_state`).
inline task<void> exit_barrier(std::shared_ptr<store> agents, int group_world_size) {
  const std::string prefix = "torchelastic/agent/terminal_state/";
  const std::string last_key = prefix + "last_member";
  const std::int64_t arrived = co_await agents->add(prefix + "num_members", 1);
  if (arrived < group_world_size) {
    co_await agents->get(last_key);
  } else {
    // The last one knows, and does not ask: whoever serves the store may leave at this word.
    co_await agents->set(last_key, "<val_ignored>");
  }
}

}  // namespace elastic

// ---- elastic/rendezvous/rendezvous_parameters.hpp ----

#include <fmt/ranges.h>

namespace elastic {

/// What a rendezvous handler is made from: what the user asked for, and the services it may use.
struct rendezvous_parameters {
  /// A name of the registry: "static", "c10d".
  std::string backend = "static";
  /// Where the nodes meet, "host" or "host:port"; what empty means is the backend's affair.
  std::string endpoint;
  /// Names the job: nodes with the same run id meet. Must not be empty.
  std::string run_id = "none";
  int min_nodes = 1;
  int max_nodes = 1;
  /// This node's group rank, where the backend does not assign one (static).
  int node_rank = 0;
  /// The address that this node gives to others; empty: found out by the backend.
  std::string local_address;
  /// Whether an agent serves the workers' store (torchrun's rule since 2.4) or the worker of rank
  /// 0 does.
  bool share_worker_store = true;
  /// Whether stores that this node serves use an io_uring where the kernel allows one.
  bool use_ring = true;
  /// Further settings of the backend, the `--rdzv-conf` pairs.
  std::map<std::string, std::string, std::less<>> configuration;

  std::shared_ptr<time_source> time = std::make_shared<system_time>();
  logger log;

  /// A setting in seconds, `fallback` where it was not given.
  /// Errors: `errc::invalid_argument` where it is not a number of seconds over 0.
  duration seconds(std::string_view name, duration fallback) const {
    const auto found = configuration.find(name);
    if (found == configuration.end()) return fallback;
    double value = 0;
    const char* end = found->second.data() + found->second.size();
    const auto [stop, failure] = std::from_chars(found->second.data(), end, value);
    if (failure != std::errc() || stop != end || !(value > 0) || value > 1e8) {
      throw error(errc::invalid_argument,
                  fmt::format("--rdzv-conf {}={}: a number of seconds over 0 is needed", name,
                              found->second));
    }
    return std::chrono::duration_cast<duration>(std::chrono::duration<double>(value));
  }

  /// A setting that is a whole number over 0, `fallback` where it was not given.
  /// Errors: `errc::invalid_argument` where it is none.
  int whole_number(std::string_view name, int fallback) const {
    const auto found = configuration.find(name);
    if (found == configuration.end()) return fallback;
    int value = 0;
    const char* end = found->second.data() + found->second.size();
    const auto [stop, failure] = std::from_chars(found->second.data(), end, value);
    if (failure == std::errc() && stop == end && value > 0 && value <= 1'000'000) return value;
    throw error(errc::invalid_argument,
                fmt::format("--rdzv-conf {}={}: a whole number from 1 to 1000000 is needed", name,
                            found->second));
  }

  /// A setting that is yes or no, as PyTorch writes them; empty where it was not given.
  /// Errors: `errc::invalid_argument` where it is none.
  std::optional<bool> yes_or_no(std::string_view name) const {
    const auto found = configuration.find(name);
    if (found == configuration.end()) return std::nullopt;
    std::string value = found->second;
    for (char& letter : value) {
      if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    for (const char* yes : {"1", "true", "t", "yes", "y"}) {
      if (value == yes) return true;
    }
    for (const char* no : {"0", "false", "f", "no", "n"}) {
      if (value == no) return false;
    }
    throw error(errc::invalid_argument, fmt::format("--rdzv-conf {}={}: yes or no is needed", name,
                                                    found->second));
  }

  /// By which numbers the nodes meet.
  /// Errors: `errc::invalid_argument` for a setting out of bounds, also one of PyTorch's names for
  /// waits that do not exist here.
  rendezvous_settings settings() const {
    rendezvous_settings settings;
    settings.min_nodes = min_nodes;
    settings.max_nodes = max_nodes;
    settings.join_timeout = seconds("join_timeout", settings.join_timeout);
    settings.last_call_timeout = seconds("last_call_timeout", settings.last_call_timeout);
    settings.keep_alive_interval = seconds("keep_alive_interval", settings.keep_alive_interval);
    settings.keep_alive_max_attempt =
        whole_number("keep_alive_max_attempt", settings.keep_alive_max_attempt);
    settings.reconnect_grace = seconds("reconnect_grace", settings.reconnect_grace);
    for (const char* name : {"close_timeout", "heartbeat_timeout", "read_timeout", "timeout"}) {
      seconds(name, {});
    }
    return settings;
  }

  /// Warns of settings that `backend` does not use, such as misspelt ones.
  void warn_of_unused(std::vector<std::string_view> used) const {
    for (const auto& [name, value] : configuration) {
      if (std::find(used.begin(), used.end(), name) != used.end()) continue;
      log.warning("--rdzv-conf {}={} is not used by the rendezvous backend '{}', which knows: {}",
                  name, value, backend, fmt::join(used, ", "));
    }
  }
};

}  // namespace elastic

// ---- elastic/net/free_port.hpp ----

namespace elastic {

/// A TCP port that was free a moment ago on `address` (a numeric address of this host). Somebody
/// else may take it before it is used: bind port 0 yourself where you can.
///
/// Errors: `errc::invalid_argument` where the address is none, `errc::connection_failed` where no
/// port of it can be bound.
inline std::uint16_t free_port(const std::string& address) {
  asio::error_code failure;
  const auto parsed = asio::ip::make_address(address, failure);
  if (failure) {
    throw error(errc::invalid_argument, fmt::format("'{}' is not a numeric address", address));
  }
  asio::io_context context(1);
  asio::ip::tcp::acceptor acceptor(context);
  const asio::ip::tcp::endpoint any_port(parsed, 0);
  acceptor.open(any_port.protocol(), failure);
  if (!failure) acceptor.bind(any_port, failure);
  if (failure) {
    throw error(errc::connection_failed,
                fmt::format("no port of {} can be bound: {}", address, failure.message()));
  }
  return acceptor.local_endpoint().port();
}

}  // namespace elastic

// ---- elastic/store/tcp_store_bounds.hpp ----

namespace elastic {

/// What a TCPStore server takes from one client before it hangs up.
struct tcp_store_bounds {
  std::size_t key_bytes = limits::store_key_bytes;
  std::size_t value_bytes = limits::store_value_bytes;
  /// Keys, or pairs of key and value, of one request.
  std::size_t keys_per_request = limits::store_keys_per_request;
  /// One request with all of its keys and values.
  std::size_t request_bytes = limits::store_request_bytes;
};

}  // namespace elastic

// ---- elastic/store/tcp_store_generation.hpp ----

namespace elastic {

/// Which of PyTorch's wire formats a TCPStore speaks. The three share one port of our server; a
/// client has to know which one its server understands.
enum class tcp_store_generation {
  /// PyTorch 1.x up to 2.0.
  torch_1_13,
  /// PyTorch 2.1.
  torch_2_1,
  /// PyTorch 2.2 and later, and our own server.
  torch_2_2,
  /// A client finds out, at the price of a connection (see `tcp_store`).
  probe,
};

/// How a server tells PyTorch up to 2.0 from 2.1, which say the same bytes for different things:
/// 7 is WATCH_KEY or DELETE_KEY, 8 is DELETE_KEY or APPEND.
enum class tcp_store_legacy_dialect {
  /// 7 as the first request of a connection is WATCH_KEY, later DELETE_KEY; 8 is DELETE_KEY until
  /// the connection has sent what only 2.1 knows. Agents and process groups need neither.
  guess,
  torch_1_13,
  torch_2_1,
};

}  // namespace elastic

// ---- elastic/store/detail/tcp_store_protocol.hpp ----

// PyTorch's TCPStore on the wire, as encoding and decoding alone. A request is one byte of
// operation and its operands; there are no frames and no request numbers. Integers are in the
// byte order of the host, texts follow their length in 64 bits.
namespace elastic::detail {

/// What a request asks for, whatever byte its generation has for it.
enum class store_op : std::uint8_t {
  validate,
  set,
  compare_set,
  get,
  add,
  check,
  wait,
  num_keys,
  watch_key,
  erase,
  append,
  multi_get,
  multi_set,
  cancel_wait,
  ping,
  queue_push,
  queue_pop,
  queue_length,
  list_keys,
  barrier,
  unknown,
};

inline constexpr std::uint32_t validate_magic = 0x3C85F7CE;
/// The key that counts the processes of a group, the only one without "/" before it.
inline constexpr std::string_view workers_key = "init/";

inline constexpr char reply_ready = 0;
inline constexpr char reply_not_ready = 1;
inline constexpr char reply_stop_waiting = 0;
inline constexpr char reply_wait_cancelled = 1;
inline constexpr char reply_watching = 3;

// ---- bytes of the operations ----------------------------------------------------------------

inline constexpr std::array<store_op, 9> ops_of_1_13 = {
    store_op::set,  store_op::compare_set, store_op::get,       store_op::add,  store_op::check,
    store_op::wait, store_op::num_keys,    store_op::watch_key, store_op::erase};

inline constexpr std::array<store_op, 12> ops_of_2_1 = {
    store_op::set,  store_op::compare_set, store_op::get,       store_op::add,
    store_op::check, store_op::wait,       store_op::num_keys,  store_op::erase,
    store_op::append, store_op::multi_get, store_op::multi_set, store_op::cancel_wait};

inline constexpr std::array<store_op, 19> ops_of_2_2 = {
    store_op::validate, store_op::set,       store_op::compare_set, store_op::get,
    store_op::add,      store_op::check,     store_op::wait,        store_op::num_keys,
    store_op::erase,    store_op::append,    store_op::multi_get,   store_op::multi_set,
    store_op::cancel_wait, store_op::ping,   store_op::queue_push,  store_op::queue_pop,
    store_op::queue_length, store_op::list_keys, store_op::barrier};

inline std::span<const store_op> ops_of(tcp_store_generation generation) {
  switch (generation) {
    case tcp_store_generation::torch_1_13: return ops_of_1_13;
    case tcp_store_generation::torch_2_1: return ops_of_2_1;
    default: return ops_of_2_2;
  }
}

inline store_op decode_op(tcp_store_generation generation, char byte) {
  const auto ops = ops_of(generation);
  const auto index = static_cast<unsigned char>(byte);
  return index < ops.size() ? ops[index] : store_op::unknown;
}

/// Result: -1 where the generation has no such operation.
inline int encode_op(tcp_store_generation generation, store_op op) {
  const auto ops = ops_of(generation);
  for (std::size_t index = 0; index < ops.size(); ++index) {
    if (ops[index] == op) return static_cast<int>(index);
  }
  return -1;
}

// ---- integers and texts ---------------------------------------------------------------------

template <class Integer>
void append_integer(std::string& out, Integer value) {
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

template <class Integer>
Integer load_integer(const char* bytes) {
  Integer value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

inline void append_text(std::string& out, std::string_view text) {
  append_integer<std::uint64_t>(out, text.size());
  out.append(text);
}

// ---- requests, as a client writes them ------------------------------------------------------

/// Writes requests of one generation behind what `out` holds already. Keys are those of the wire.
/// The operation must be one of the generation's (see `knows`).
class request_writer {
 public:
  explicit request_writer(tcp_store_generation generation) : generation_(generation) {}

  bool knows(store_op op) const { return encode_op(generation_, op) >= 0; }

  /// The first bytes of a connection, none for the generations that have no greeting.
  void greeting(std::string& out) const {
    if (!knows(store_op::validate)) return;
    operation(out, store_op::validate);
    append_integer(out, validate_magic);
  }

  /// An operation without operands.
  void operation(std::string& out, store_op op) const {
    const int byte = encode_op(generation_, op);
    ELASTIC_ASSERT(byte >= 0);
    out.push_back(static_cast<char>(byte));
  }

  /// One with a key: get, erase, queue_pop, queue_length, watch_key.
  void with_key(std::string& out, store_op op, std::string_view key) const {
    operation(out, op);
    append_text(out, key);
  }

  /// One with a key and a value: set, append, queue_push.
  void with_value(std::string& out, store_op op, std::string_view key,
                  std::string_view value) const {
    with_key(out, op, key);
    append_text(out, value);
  }

  /// One with a key and a number: add, barrier.
  void with_number(std::string& out, store_op op, std::string_view key,
                   std::int64_t number) const {
    with_key(out, op, key);
    append_integer(out, number);
  }

  /// One with any number of keys: check, wait, multi_get.
  void with_keys(std::string& out, store_op op, std::span<const std::string> keys) const {
    operation(out, op);
    append_integer<std::uint64_t>(out, keys.size());
    for (const std::string& key : keys) append_text(out, key);
  }

  void compare_set(std::string& out, std::string_view key, std::string_view expected,
                   std::string_view desired) const {
    with_value(out, store_op::compare_set, key, expected);
    append_text(out, desired);
  }

  void ping(std::string& out, std::uint32_t nonce) const {
    operation(out, store_op::ping);
    append_integer(out, nonce);
  }

 private:
  tcp_store_generation generation_;
};

// ---- requests, as a server reads them -------------------------------------------------------

/// One request. The views are into the bytes that were given to the parser.
struct store_request {
  store_op op = store_op::unknown;
  /// Keys and values in the order of the wire: {key, value}, {key, expected, desired}, all keys
  /// of a wait, or key, value, key, value of a multi_set.
  std::vector<std::string_view> texts;
  /// The delta of an add, the world of a barrier, the nonce of a ping, the magic of a validate.
  std::int64_t number = 0;
};

/// Finds the request at the front of a stream of bytes, however it is cut into pieces. What was
/// found of an incomplete request is kept, so that no byte is looked at twice.
class request_parser {
 public:
  enum class outcome { incomplete, complete, malformed };

  explicit request_parser(const tcp_store_bounds& bounds) : bounds_(bounds) {}

  /// True before the first byte of a request.
  bool at_start() const { return used_ == 0; }

  /// Names the operation of the request; its byte is the first of `input`.
  void begin(store_op op) {
    request_.op = op;
    request_.number = 0;
    fields_ = layout_of(op);
    pieces_.clear();
    items_left_ = 0;
    used_ = 1;
  }

  /// Goes on with the request that `begin` named.
  /// @param input  all of its bytes that are there, the first one included
  outcome parse(std::string_view input) {
    while (*fields_ != '\0') {
      const outcome result = parse_field(input);
      if (result != outcome::complete) return result;
    }
    request_.texts.clear();
    for (const piece& text : pieces_) {
      request_.texts.push_back(input.substr(text.offset, text.size));
    }
    return outcome::complete;
  }

  /// The complete request and how many bytes it took.
  const store_request& request() const { return request_; }
  std::size_t used() const { return used_; }

  /// Makes ready for the next request. What a large one needed is not kept.
  void finish() {
    used_ = 0;
    constexpr std::size_t texts_kept = 64;
    if (pieces_.capacity() > texts_kept) {
      pieces_ = {};
      request_.texts = {};
    }
  }

  /// Why a request is malformed.
  std::string_view complaint() const { return complaint_; }

 private:
  struct piece {
    std::size_t offset = 0;
    std::size_t size = 0;
  };

  // One letter per operand: k key, v value, i 64-bit number, u 32-bit number, n count of keys,
  // p count of pairs. While a list is read, `items_left_` counts and the letter stays.
  static const char* layout_of(store_op op) {
    switch (op) {
      case store_op::validate:
      case store_op::ping: return "u";
      case store_op::set:
      case store_op::append:
      case store_op::queue_push: return "kv";
      case store_op::compare_set: return "kvv";
      case store_op::get:
      case store_op::watch_key:
      case store_op::erase:
      case store_op::queue_pop:
      case store_op::queue_length: return "k";
      case store_op::add:
      case store_op::barrier: return "ki";
      case store_op::check:
      case store_op::wait:
      case store_op::multi_get: return "n";
      case store_op::multi_set: return "p";
      default: return "";
    }
  }

  outcome parse_field(std::string_view input) {
    switch (*fields_) {
      case 'k': return parse_single(input, bounds_.key_bytes);
      case 'v': return parse_single(input, bounds_.value_bytes);
      case 'i': return parse_number<std::int64_t>(input);
      case 'u': return parse_number<std::uint32_t>(input);
      default: return parse_list(input);
    }
  }

  outcome parse_single(std::string_view input, std::size_t bound) {
    const outcome result = parse_text(input, bound);
    if (result == outcome::complete) ++fields_;
    return result;
  }

  template <class Integer>
  outcome parse_number(std::string_view input) {
    if (input.size() - used_ < sizeof(Integer)) return outcome::incomplete;
    request_.number = static_cast<std::int64_t>(load_integer<Integer>(input.data() + used_));
    used_ += sizeof(Integer);
    ++fields_;
    return outcome::complete;
  }

  outcome parse_list(std::string_view input) {
    const bool of_pairs = *fields_ == 'p';
    if (items_left_ == 0) {
      if (input.size() - used_ < sizeof(std::uint64_t)) return outcome::incomplete;
      const auto count = load_integer<std::uint64_t>(input.data() + used_);
      if (count > bounds_.keys_per_request) return complain("too many keys");
      used_ += sizeof count;
      items_left_ = of_pairs ? 2 * count : count;
    }
    while (items_left_ > 0) {
      const bool is_value = of_pairs && items_left_ % 2 == 1;
      const outcome result = parse_text(input, is_value ? bounds_.value_bytes : bounds_.key_bytes);
      if (result != outcome::complete) return result;
      --items_left_;
    }
    ++fields_;
    return outcome::complete;
  }

  // The length is judged as soon as it is there, so that nothing is kept for a text that would
  // be refused.
  outcome parse_text(std::string_view input, std::size_t bound) {
    const std::size_t there = input.size() - used_;
    if (there < sizeof(std::uint64_t)) return outcome::incomplete;
    const auto size = load_integer<std::uint64_t>(input.data() + used_);
    if (size > bound) {
      return complain(bound == bounds_.key_bytes ? "a key is too long" : "a value is too long");
    }
    const std::size_t end = used_ + sizeof size + size;
    if (end > bounds_.request_bytes) return complain("the request is too long");
    if (input.size() < end) return outcome::incomplete;
    pieces_.push_back(piece{used_ + sizeof size, static_cast<std::size_t>(size)});
    used_ = end;
    return outcome::complete;
  }

  outcome complain(std::string_view what) {
    complaint_ = what;
    return outcome::malformed;
  }

  tcp_store_bounds bounds_;
  store_request request_;
  const char* fields_ = "";
  std::vector<piece> pieces_;
  std::size_t items_left_ = 0;
  std::size_t used_ = 0;
  std::string_view complaint_;
};

// ---- which generation a connection speaks ---------------------------------------------------

enum class first_bytes { undecided, legacy, modern, foreign, extension };

/// The bytes of a modern greeting, its operation included.
inline constexpr std::size_t greeting_bytes = 1 + sizeof validate_magic;

/// Judges the first bytes of a connection. There is no doubt: the magic as the length of an old
/// client's key would be far over any bound.
inline first_bytes classify(std::string_view input) {
  if (input.empty()) return first_bytes::undecided;
  const auto op = static_cast<unsigned char>(input.front());
  if (op != 0) return op < ops_of_2_1.size() ? first_bytes::legacy : first_bytes::foreign;
  if (input.size() < greeting_bytes) return first_bytes::undecided;
  return load_integer<std::uint32_t>(input.data() + 1) == validate_magic ? first_bytes::modern
                                                                         : first_bytes::legacy;
}

}  // namespace elastic::detail

// ---- elastic/store/detail/store_keys.hpp ----

// What all stores make of the keys and values of their user. All that is named `check` throws
// `errc::invalid_argument`.
namespace elastic::detail {

inline void check_store_key(std::string_view key) {
  if (key.size() <= limits::store_key_bytes) return;
  throw error(errc::invalid_argument,
              fmt::format("a key of {} bytes; a store takes up to {}", key.size(),
                          limits::store_key_bytes));
}

inline void check_store_value(std::string_view value) {
  if (value.size() <= limits::store_value_bytes) return;
  throw error(errc::invalid_argument,
              fmt::format("a value of {} bytes; a store takes up to {}", value.size(),
                          limits::store_value_bytes));
}

inline void check_store_key_count(std::size_t count) {
  if (count <= limits::store_keys_per_request) return;
  throw error(errc::invalid_argument,
              fmt::format("{} keys at once; a store takes up to {}", count,
                          limits::store_keys_per_request));
}

inline void check_store_request(std::size_t bytes) {
  if (bytes <= limits::store_request_bytes) return;
  throw error(errc::invalid_argument,
              fmt::format("keys and values of {} bytes at once; a store takes up to {}", bytes,
                          limits::store_request_bytes));
}

/// What a client of PyTorch makes of the key that its user named.
inline std::string store_wire_key(std::string_view key) {
  std::string wire;
  wire.reserve(key.size() + 1);
  wire.push_back('/');
  wire.append(key);
  check_store_key(wire);
  return wire;
}

inline std::vector<std::string> store_wire_keys(const std::vector<std::string>& keys) {
  check_store_key_count(keys.size());
  std::vector<std::string> wire;
  wire.reserve(keys.size());
  std::size_t bytes = 0;
  for (const std::string& key : keys) {
    wire.push_back(store_wire_key(key));
    bytes += sizeof(std::uint64_t) + wire.back().size();
  }
  check_store_request(bytes);
  return wire;
}

/// The number at the front of a text as `strtoll` reads it in base 10: after blanks, up to the
/// first letter that is none of it. Empty where there is none or it has no place in 64 bits.
inline std::optional<std::int64_t> leading_number(std::string_view text) {
  const auto is_blank = [](char letter) { return letter == ' ' || (letter >= 9 && letter <= 13); };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  const bool is_negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const std::uint64_t bound = is_negative ? largest + 1 : largest;
  std::uint64_t number = 0;
  bool has_digit = false;
  for (const char letter : text) {
    if (letter < '0' || letter > '9') break;
    const auto digit = static_cast<std::uint64_t>(letter - '0');
    if (number > (bound - digit) / 10) return std::nullopt;
    number = number * 10 + digit;
    has_digit = true;
  }
  if (!has_digit) return std::nullopt;
  return static_cast<std::int64_t>(is_negative ? 0 - number : number);
}

}  // namespace elastic::detail

// ---- elastic/store/key_value_engine.hpp ----

#include <unordered_map>

namespace elastic {

/// The table behind a store, with the operations of PyTorch's TCPStore: values, queues, and who
/// waits for a key or watches it. Does no I/O; `memory_store` and `tcp_store_server` are two ways
/// to reach it, and may share one.
///
/// Keys are those of the wire: a client of PyTorch puts "/" before what its user named.
///
/// Errors of every operation that stores something: `errc::invalid_argument` where the table
/// would hold more than it may, or a value grow over `limits::store_value_bytes`.
/// Thread-safety: every member may be called from any thread. Listeners are told by the thread
/// that made the change, after it is done and in the order of the changes.
class key_value_engine {
 public:
  /// Names one wait or watch; 0 names none.
  using wait_id = std::uint64_t;

  enum class change_kind : std::uint8_t { updated = 0, created = 1, removed = 2 };

  /// What a watcher is told.
  struct change {
    change_kind kind = change_kind::updated;
    std::string key;
    std::string old_value;
    std::string new_value;
  };

  /// Who waits or watches. Told once for each wait, unless it was cancelled; a call that crosses
  /// the cancellation is possible.
  class listener {
   public:
    virtual ~listener() = default;
    virtual void on_ready(wait_id wait) noexcept = 0;
    virtual void on_change(const change&) noexcept {}
  };

  /// @param max_bytes  the most that keys and values may take together
  explicit key_value_engine(std::size_t max_bytes = limits::store_total_bytes)
      : max_bytes_(max_bytes) {}

  key_value_engine(const key_value_engine&) = delete;
  key_value_engine& operator=(const key_value_engine&) = delete;

  void set(std::string_view key, std::string_view value);

  /// Appends to the value, which is made where it is missing.
  void append(std::string_view key, std::string_view value);

  /// The value, empty where there is none.
  std::optional<std::string> find(std::string_view key) const;

  /// Hands the value to `use(std::string_view)`. Result: whether there is one. `use` runs under
  /// the lock of this table and must not call into it.
  template <class Use>
  bool read(std::string_view key, Use use) const {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    if (found == values_.end()) return false;
    use(std::string_view(found->second));
    return true;
  }

  /// Adds to the decimal number under `key` (missing: 0). It is read as by `strtoll`: blanks
  /// before it and text behind it are ignored and lost. The sum wraps around.
  /// Errors: `errc::store_value` where the value does not begin with a number of 64 bits.
  std::int64_t add(std::string_view key, std::int64_t delta);

  /// Stores `desired` if the value equals `expected`; a missing key equals the empty text.
  /// Result: what is stored afterwards, `expected` where nothing is.
  std::string compare_set(std::string_view key, std::string_view expected,
                          std::string_view desired);

  /// Whether every key has a value or a queue that is not empty.
  bool check(std::span<const std::string_view> keys) const;

  /// Waits for every key to have a value (or something in its queue). A key that is removed again
  /// meanwhile counts as seen.
  /// Result: 0 where all have one already; then `who` is not told.
  wait_id wait(std::span<const std::string_view> keys, std::weak_ptr<listener> who);

  /// Adds 1 to the number under `key` and waits until `world` have done so.
  /// Result: 0 where they have; all that wait are told.
  /// Errors: `errc::store_value`.
  wait_id barrier(std::string_view key, std::int64_t world, std::weak_ptr<listener> who);

  /// Ends a wait. Result: whether it was still waiting.
  bool cancel(wait_id wait);

  /// Tells `who` of every change of the key's value until `unwatch`.
  wait_id watch(std::string_view key, std::weak_ptr<listener> who);
  void unwatch(wait_id watch);

  /// Result: whether there was a value.
  bool erase(std::string_view key);

  /// The number of values; queues do not count.
  std::int64_t num_keys() const;

  /// Hands every key that has a value to `use(std::string_view)`, in no order, under the lock.
  template <class Use>
  void for_each_key(Use use) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, value] : values_) use(std::string_view(key));
  }

  /// Puts an item at the end of the queue and tells at most one that waits for the key.
  void queue_push(std::string_view key, std::string_view item);

  /// The oldest item, empty where there is none. `length` becomes the length before.
  std::optional<std::string> queue_pop(std::string_view key, std::int64_t& length);

  std::int64_t queue_length(std::string_view key) const;

  /// How many waits, watches and bytes are held.
  std::size_t waiters() const;
  std::size_t watchers() const;
  std::size_t bytes() const;

 private:
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };
  template <class T>
  using table = std::unordered_map<std::string, T, text_hash, std::equal_to<>>;

  // A wait is registered once for every key that it still misses, and each registration knows its
  // place in the wait, so that either side can drop the other in constant time.
  struct pending_wait;
  struct registration {
    pending_wait* wait = nullptr;
    std::size_t index = 0;
  };
  using registrations = std::list<registration>;
  using waiting_key = table<registrations>::value_type;
  struct place {
    waiting_key* key = nullptr;
    registrations::iterator at;
  };
  struct pending_wait {
    wait_id id = 0;
    std::size_t missing = 0;
    std::vector<place> places;
    std::weak_ptr<listener> who;
  };
  struct watch_entry {
    wait_id id = 0;
    std::weak_ptr<listener> who;
  };
  struct notice {
    std::weak_ptr<listener> who;
    wait_id wait = 0;
    std::optional<change> what;
  };

  bool exists(std::string_view key) const {
    return values_.find(key) != values_.end() || queues_.find(key) != queues_.end();
  }
  void grow(std::size_t added, std::size_t removed);
  void refuse_if_full() const;
  void store(std::string_view key, std::string_view value);
  void store_number(std::string_view key, std::int64_t number);
  std::int64_t number_of(std::string_view key) const;
  void note_change(change_kind kind, std::string_view key, std::string_view old_value,
                   std::string_view new_value);
  pending_wait& new_wait(std::weak_ptr<listener> who);
  void register_for(pending_wait& wait, std::string_view key);
  void count_down(registration at);
  void wake_all(std::string_view key);
  void wake_one(std::string_view key);
  void deliver(std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  table<std::string> values_;
  table<std::deque<std::string>> queues_;
  table<registrations> waiting_;
  table<std::vector<watch_entry>> watching_;
  std::unordered_map<wait_id, pending_wait> waits_;
  std::unordered_map<wait_id, std::string> watches_;
  std::deque<notice> notices_;
  bool delivering_ = false;
  wait_id last_id_ = 0;
  std::size_t bytes_ = 0;
  std::size_t queued_items_ = 0;
  const std::size_t max_bytes_;
};

// ---- values ---------------------------------------------------------------------------------

inline void key_value_engine::set(std::string_view key, std::string_view value) {
  std::unique_lock lock(mutex_);
  store(key, value);
  wake_all(key);
  deliver(lock);
}

inline void key_value_engine::append(std::string_view key, std::string_view value) {
  std::unique_lock lock(mutex_);
  const auto found = values_.find(key);
  if (found == values_.end()) {
    store(key, value);
  } else {
    if (found->second.size() + value.size() > limits::store_value_bytes) {
      throw error(errc::invalid_argument,
                  fmt::format("appending would make a value of more than {} bytes",
                              limits::store_value_bytes));
    }
    grow(value.size(), 0);
    const std::string old_value = watching_.empty() ? std::string() : found->second;
    found->second.append(value);
    note_change(change_kind::updated, key, old_value, found->second);
  }
  wake_all(key);
  deliver(lock);
}

inline std::optional<std::string> key_value_engine::find(std::string_view key) const {
  std::optional<std::string> result;
  read(key, [&](std::string_view value) { result.emplace(value); });
  return result;
}

inline std::int64_t key_value_engine::add(std::string_view key, std::int64_t delta) {
  std::unique_lock lock(mutex_);
  const auto sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(number_of(key)) +
                                             static_cast<std::uint64_t>(delta));
  store_number(key, sum);
  wake_all(key);
  deliver(lock);
  return sum;
}

inline std::string key_value_engine::compare_set(std::string_view key, std::string_view expected,
                                                 std::string_view desired) {
  std::unique_lock lock(mutex_);
  const auto found = values_.find(key);
  const bool is_missing = found == values_.end();
  if (is_missing && !expected.empty()) return std::string(expected);
  if (!is_missing && found->second != expected) {
    std::string unchanged = found->second;
    wake_all(key);
    deliver(lock);
    return unchanged;
  }
  store(key, desired);
  wake_all(key);
  deliver(lock);
  return std::string(desired);
}

inline bool key_value_engine::check(std::span<const std::string_view> keys) const {
  const std::lock_guard lock(mutex_);
  for (const std::string_view key : keys) {
    if (!exists(key)) return false;
  }
  return true;
}

inline bool key_value_engine::erase(std::string_view key) {
  std::unique_lock lock(mutex_);
  const auto found = values_.find(key);
  if (found == values_.end()) return false;
  grow(0, found->first.size() + found->second.size());
  note_change(change_kind::removed, key, found->second, {});
  values_.erase(found);
  deliver(lock);
  return true;
}

inline std::int64_t key_value_engine::num_keys() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(values_.size());
}

inline void key_value_engine::grow(std::size_t added, std::size_t removed) {
  ELASTIC_ASSERT(bytes_ >= removed);
  const std::size_t after = bytes_ - removed + added;
  if (after > max_bytes_ && after > bytes_) {
    throw error(errc::invalid_argument,
                fmt::format("the store is full: it may hold {} bytes", max_bytes_));
  }
  bytes_ = after;
}

inline void key_value_engine::refuse_if_full() const {
  if (values_.size() + queued_items_ < limits::store_entries) return;
  throw error(errc::invalid_argument,
              fmt::format("the store is full: it may hold {} keys and items",
                          limits::store_entries));
}

inline void key_value_engine::store(std::string_view key, std::string_view value) {
  const auto found = values_.find(key);
  if (found == values_.end()) {
    refuse_if_full();
    grow(key.size() + value.size(), 0);
    values_.emplace(key, value);
    note_change(change_kind::created, key, {}, value);
    return;
  }
  grow(value.size(), found->second.size());
  note_change(change_kind::updated, key, found->second, value);
  found->second.assign(value);
}

inline void key_value_engine::store_number(std::string_view key, std::int64_t number) {
  const fmt::format_int text(number);
  store(key, std::string_view(text.data(), text.size()));
}

inline std::int64_t key_value_engine::number_of(std::string_view key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) return 0;
  const auto number = detail::leading_number(found->second);
  if (!number) {
    throw error(errc::store_value, fmt::format("the value of '{}' is not a number", key));
  }
  return *number;
}

// ---- waits ----------------------------------------------------------------------------------

inline key_value_engine::wait_id key_value_engine::wait(std::span<const std::string_view> keys,
                                                        std::weak_ptr<listener> who) {
  const std::lock_guard lock(mutex_);
  pending_wait* wait = nullptr;
  for (const std::string_view key : keys) {
    if (exists(key)) continue;
    if (wait == nullptr) wait = &new_wait(std::move(who));
    register_for(*wait, key);
  }
  return wait != nullptr ? wait->id : 0;
}

inline key_value_engine::wait_id key_value_engine::barrier(std::string_view key,
                                                           std::int64_t world,
                                                           std::weak_ptr<listener> who) {
  std::unique_lock lock(mutex_);
  const auto arrived =
      static_cast<std::int64_t>(static_cast<std::uint64_t>(number_of(key)) + 1);
  store_number(key, arrived);
  wait_id id = 0;
  if (arrived < world) {
    pending_wait& wait = new_wait(std::move(who));
    register_for(wait, key);
    id = wait.id;
  } else {
    wake_all(key);
  }
  deliver(lock);
  return id;
}

inline bool key_value_engine::cancel(wait_id wait) {
  const std::lock_guard lock(mutex_);
  const auto found = waits_.find(wait);
  if (found == waits_.end()) return false;
  for (const place& at : found->second.places) {
    if (at.key == nullptr) continue;
    at.key->second.erase(at.at);
    if (at.key->second.empty()) waiting_.erase(waiting_.find(at.key->first));
  }
  waits_.erase(found);
  return true;
}

inline key_value_engine::pending_wait& key_value_engine::new_wait(std::weak_ptr<listener> who) {
  pending_wait& wait = waits_[++last_id_];
  wait.id = last_id_;
  wait.who = std::move(who);
  return wait;
}

inline void key_value_engine::register_for(pending_wait& wait, std::string_view key) {
  auto found = waiting_.find(key);
  if (found == waiting_.end()) found = waiting_.emplace(key, registrations()).first;
  found->second.push_back(registration{&wait, wait.places.size()});
  wait.places.push_back(place{&*found, std::prev(found->second.end())});
  ++wait.missing;
}

// The registration itself is removed by the caller, from the list in which it stands.
inline void key_value_engine::count_down(registration at) {
  pending_wait& wait = *at.wait;
  wait.places[at.index].key = nullptr;
  ELASTIC_ASSERT(wait.missing > 0);
  if (--wait.missing > 0) return;
  notices_.push_back(notice{std::move(wait.who), wait.id, std::nullopt});
  waits_.erase(wait.id);
}

inline void key_value_engine::wake_all(std::string_view key) {
  if (waiting_.empty()) return;
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return;
  for (const registration& at : found->second) count_down(at);
  waiting_.erase(found);
}

inline void key_value_engine::wake_one(std::string_view key) {
  const auto found = waiting_.find(key);
  if (found == waiting_.end()) return;
  registrations& all = found->second;
  bool woke_one = false;
  while (!all.empty() && !woke_one) {
    const registration first = all.front();
    all.pop_front();
    woke_one = first.wait->missing == 1;
    count_down(first);
  }
  if (all.empty()) waiting_.erase(found);
}

// ---- watches --------------------------------------------------------------------------------

inline key_value_engine::wait_id key_value_engine::watch(std::string_view key,
                                                         std::weak_ptr<listener> who) {
  const std::lock_guard lock(mutex_);
  watch_entry added{++last_id_, std::move(who)};
  watching_[std::string(key)].push_back(std::move(added));
  watches_.emplace(last_id_, key);
  return last_id_;
}

inline void key_value_engine::unwatch(wait_id watch) {
  const std::lock_guard lock(mutex_);
  const auto key = watches_.find(watch);
  if (key == watches_.end()) return;
  const auto found = watching_.find(key->second);
  ELASTIC_ASSERT(found != watching_.end());
  std::erase_if(found->second, [&](const watch_entry& entry) { return entry.id == watch; });
  if (found->second.empty()) watching_.erase(found);
  watches_.erase(key);
}

inline void key_value_engine::note_change(change_kind kind, std::string_view key,
                                          std::string_view old_value,
                                          std::string_view new_value) {
  if (watching_.empty()) return;
  const auto found = watching_.find(key);
  if (found == watching_.end()) return;
  for (const watch_entry& entry : found->second) {
    change what{kind, std::string(key), std::string(old_value), std::string(new_value)};
    notices_.push_back(notice{entry.who, entry.id, std::move(what)});
  }
}

// ---- queues ---------------------------------------------------------------------------------

inline void key_value_engine::queue_push(std::string_view key, std::string_view item) {
  std::unique_lock lock(mutex_);
  refuse_if_full();
  grow(key.size() + item.size(), 0);
  ++queued_items_;
  queues_[std::string(key)].emplace_back(item);
  wake_one(key);
  deliver(lock);
}

inline std::optional<std::string> key_value_engine::queue_pop(std::string_view key,
                                                              std::int64_t& length) {
  const std::lock_guard lock(mutex_);
  length = 0;
  const auto found = queues_.find(key);
  if (found == queues_.end()) return std::nullopt;
  length = static_cast<std::int64_t>(found->second.size());
  std::string item = std::move(found->second.front());
  found->second.pop_front();
  --queued_items_;
  grow(0, found->first.size() + item.size());
  if (found->second.empty()) queues_.erase(found);
  return item;
}

inline std::int64_t key_value_engine::queue_length(std::string_view key) const {
  const std::lock_guard lock(mutex_);
  const auto found = queues_.find(key);
  return found == queues_.end() ? 0 : static_cast<std::int64_t>(found->second.size());
}

// ---- telling --------------------------------------------------------------------------------

// Outside of the lock, because a listener may come back with a call. Whoever finds a delivery
// under way leaves its notices to it, which keeps their order.
inline void key_value_engine::deliver(std::unique_lock<std::mutex>& lock) {
  if (notices_.empty() || delivering_) return;
  delivering_ = true;
  while (!notices_.empty()) {
    const notice next = std::move(notices_.front());
    notices_.pop_front();
    lock.unlock();
    if (const auto who = next.who.lock()) {
      if (next.what) {
        who->on_change(*next.what);
      } else {
        who->on_ready(next.wait);
      }
    }
    lock.lock();
  }
  delivering_ = false;
}

inline std::size_t key_value_engine::waiters() const {
  const std::lock_guard lock(mutex_);
  return waits_.size();
}

inline std::size_t key_value_engine::watchers() const {
  const std::lock_guard lock(mutex_);
  return watches_.size();
}

inline std::size_t key_value_engine::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace elastic

// ---- elastic/store/store_extension.hpp ----

namespace elastic {

/// A further protocol on the port of a store server, for clients that begin with its greeting.
/// PyTorch's clients never meet it, and PyTorch's servers hang up on the greeting.
///
/// Thread-safety: the server calls everything on its strand, and is to be called there.
class store_extension {
 public:
  /// One client, as the extension sees it. Lives as long as the conversation with it.
  class client {
   public:
    /// Sends bytes to it, in order; never waits.
    virtual void send(std::string_view bytes) = 0;

    /// Disconnects it once what was sent has left.
    virtual void hang_up() = 0;

    /// The two ends of the connection; a default one where the system does not tell.
    virtual asio::ip::tcp::endpoint here() const = 0;
    virtual asio::ip::tcp::endpoint there() const = 0;

   protected:
    ~client() = default;
  };

  /// What the extension keeps for one client; destroyed when the connection is gone.
  class conversation {
   public:
    virtual ~conversation() = default;

    /// Bytes that have arrived, in whatever pieces.
    /// Errors: `error`, whose sentence is what the server's log says; the client is disconnected.
    virtual void received(std::string_view bytes) = 0;
  };

  virtual ~store_extension() = default;

  /// The first bytes of its clients. The first of them is none of the store's: 32 or above.
  virtual std::string_view greeting() const = 0;

  /// Runs as long as the server does, on its strand; cancelled when it stops.
  virtual task<void> run() = 0;

  /// A client has sent the greeting.
  virtual std::unique_ptr<conversation> begin(client& from) = 0;
};

}  // namespace elastic

// ---- elastic/store/detail/tcp_store_session.hpp ----

namespace elastic::detail {

/// One client as the server sees it, without its socket: bytes in, bytes out.
///
/// Executes what the client sent on the table, in order. It stops to execute while more than
/// `limits::store_reply_pause_bytes` of replies are unsent, so that a client which does not read
/// has no more of them made.
///
/// Thread-safety: one strand at a time.
class tcp_store_session {
 public:
  /// What to do with the connection now: read on; send `output()` first and `resume()`; close it
  /// for what `complaint()` says.
  enum class state { reading, paused, ended };

  tcp_store_session(std::shared_ptr<key_value_engine> engine, const tcp_store_bounds& bounds,
                    tcp_store_legacy_dialect dialect)
      : engine_(std::move(engine)), parser_(bounds), dialect_(dialect) {}

  ~tcp_store_session() { close(); }

  tcp_store_session(const tcp_store_session&) = delete;
  tcp_store_session& operator=(const tcp_store_session&) = delete;

  /// Who is told of waits that end and of changes; passes them on to `ready` and `changed`.
  void listen(std::weak_ptr<key_value_engine::listener> who) { listener_ = std::move(who); }

  /// Lets clients that begin with the greeting of `further` converse with it, as `self`.
  void extend(std::shared_ptr<store_extension> further, store_extension::client& self) {
    extension_ = std::move(further);
    self_ = &self;
  }

  state current() const { return state_; }

  /// Takes what arrived. What comes while paused is kept for `resume`.
  state consume(std::string_view bytes) {
    if (state_ != state::reading) {
      if (state_ == state::paused) input_.append(bytes);
      return state_;
    }
    if (conversation_) {
      converse(bytes);
    } else if (input_.empty()) {
      const std::size_t used = execute_all(bytes);
      if (state_ != state::ended) input_.assign(bytes.substr(used));
    } else {
      input_.append(bytes);
      input_.erase(0, execute_all(input_));
    }
    release_large_input();
    return state_;
  }

  /// Goes on with what was left when the session paused, now that the output is sent.
  state resume() {
    if (state_ != state::paused) return state_;
    state_ = state::reading;
    input_.erase(0, execute_all(input_));
    release_large_input();
    return state_;
  }

  /// A wait has ended. Result: whether that made output.
  bool ready(key_value_engine::wait_id wait) {
    if (wait == 0 || wait != wait_) return false;
    wait_ = 0;
    output_.push_back(reply_stop_waiting);
    return true;
  }

  /// A key that this client watches was changed.
  void changed(const key_value_engine::change& what) {
    output_.push_back(static_cast<char>(what.kind));
    append_text(output_, what.key);
    append_text(output_, what.old_value);
    append_text(output_, what.new_value);
  }

  /// Replies that are to be sent; the transport takes them away.
  std::string& output() { return output_; }

  /// Ends the session by the server's decision.
  void fail(std::string complaint) {
    state_ = state::ended;
    complaint_ = std::move(complaint);
  }

  const std::string& complaint() const { return complaint_; }

  /// Drops the registrations of this client. May be called again.
  void close() {
    conversation_.reset();
    drop_wait();
    for (const auto watch : watches_) engine_->unwatch(watch);
    watches_.clear();
  }

 private:
  using outcome = request_parser::outcome;

  // Result: how many bytes at the front of `input` are done with.
  std::size_t execute_all(std::string_view input) {
    std::size_t done = 0;
    while (state_ == state::reading && done < input.size()) {
      if (generation_ == first_bytes::undecided && !decide(input, done)) break;
      const std::string_view rest = input.substr(done);
      if (rest.empty()) break;
      if (conversation_) {
        converse(rest);
        return input.size();
      }
      drop_stale_wait();
      if (parser_.at_start()) parser_.begin(operation_of(rest.front()));
      const outcome result = parser_.parse(rest);
      if (result == outcome::incomplete) break;
      if (result == outcome::malformed) {
        fail(std::string(parser_.complaint()));
        break;
      }
      if (!execute_guarded(parser_.request())) break;
      done += parser_.used();
      parser_.finish();
      if (output_.size() > limits::store_reply_pause_bytes) pause();
    }
    return done;
  }

  void pause() {
    if (state_ == state::reading) state_ = state::paused;
  }

  bool decide(std::string_view input, std::size_t& done) {
    if (extension_ && input.front() == extension_->greeting().front()) {
      return decide_extension(input, done);
    }
    generation_ = classify(input);
    if (generation_ == first_bytes::modern) done += greeting_bytes;
    if (generation_ == first_bytes::foreign) {
      fail("the first byte is none of a store's client");
    }
    return generation_ == first_bytes::legacy || generation_ == first_bytes::modern;
  }

  // Result: whether the greeting is whole.
  bool decide_extension(std::string_view input, std::size_t& done) {
    const std::string_view greeting = extension_->greeting();
    const std::size_t known = std::min(input.size(), greeting.size());
    if (input.substr(0, known) != greeting.substr(0, known)) {
      fail("the first bytes are none of a store's client");
      return false;
    }
    if (known < greeting.size()) return false;
    done += known;
    generation_ = first_bytes::extension;
    conversation_ = extension_->begin(*self_);
    return true;
  }

  void converse(std::string_view bytes) {
    try {
      conversation_->received(bytes);
    } catch (const error& refused) {
      fail(refused.what());
    }
  }

  bool is_legacy() const { return generation_ == first_bytes::legacy; }

  // A client up to 2.0 gives a wait up without a word. It would take the byte that ends the wait
  // for the first one of its next reply, so the wait ends when the next request begins.
  void drop_stale_wait() {
    if (wait_ != 0 && is_legacy() && !is_2_1_) drop_wait();
  }

  void drop_wait() {
    if (wait_ != 0) engine_->cancel(std::exchange(wait_, 0));
  }

  // ---- operations -----------------------------------------------------------------------------

  store_op operation_of(char byte) {
    if (!is_legacy()) {
      const store_op op = decode_op(tcp_store_generation::torch_2_2, byte);
      return op == store_op::validate ? store_op::unknown : op;
    }
    const store_op op = legacy_operation_of(byte);
    is_first_ = false;
    watches_only_ = op == store_op::watch_key;
    return op;
  }

  store_op legacy_operation_of(char byte) {
    if (dialect_ == tcp_store_legacy_dialect::torch_1_13) {
      return decode_op(tcp_store_generation::torch_1_13, byte);
    }
    const store_op as_2_1 = decode_op(tcp_store_generation::torch_2_1, byte);
    if (as_2_1 == store_op::multi_get || as_2_1 == store_op::multi_set ||
        as_2_1 == store_op::cancel_wait) {
      is_2_1_ = true;
    }
    if (is_2_1_ || dialect_ == tcp_store_legacy_dialect::torch_2_1) return as_2_1;
    const store_op as_1_13 = decode_op(tcp_store_generation::torch_1_13, byte);
    // The connection on which a client of 1.13 watches carries nothing else.
    const bool may_watch = is_first_ || watches_only_;
    return as_1_13 == store_op::watch_key && !may_watch ? store_op::erase : as_1_13;
  }

  // Result: whether the request is done; if not, the session paused within it or has ended.
  bool execute_guarded(const store_request& request) {
    try {
      return execute(request);
    } catch (const error& refused) {
      fail(refused.what());
      return false;
    }
  }

  bool execute(const store_request& request) {
    const auto& texts = request.texts;
    switch (request.op) {
      case store_op::set: engine_->set(texts[0], texts[1]); return true;
      case store_op::get: return reply_value(texts[0]);
      case store_op::add: reply_number(engine_->add(texts[0], request.number)); return true;
      case store_op::compare_set:
        append_text(output_, engine_->compare_set(texts[0], texts[1], texts[2]));
        return true;
      case store_op::check:
        output_.push_back(engine_->check(texts) ? reply_ready : reply_not_ready);
        return true;
      case store_op::wait:
        drop_wait();
        begin_wait(engine_->wait(texts, listener_));
        return true;
      case store_op::cancel_wait:
        drop_wait();
        output_.push_back(reply_wait_cancelled);
        return true;
      case store_op::num_keys: reply_number(engine_->num_keys()); return true;
      case store_op::erase: reply_number(engine_->erase(texts[0]) ? 1 : 0); return true;
      case store_op::append: engine_->append(texts[0], texts[1]); return true;
      case store_op::multi_get: return reply_values(texts);
      case store_op::multi_set:
        for (std::size_t i = 0; i + 1 < texts.size(); i += 2) engine_->set(texts[i], texts[i + 1]);
        return true;
      default: return execute_rare(request);
    }
  }

  bool execute_rare(const store_request& request) {
    const auto& texts = request.texts;
    switch (request.op) {
      case store_op::watch_key:
        if (watches_.size() >= limits::store_watches_per_client) {
          fail("watches too many keys");
          return false;
        }
        output_.push_back(reply_watching);
        watches_.push_back(engine_->watch(texts[0], listener_));
        return true;
      case store_op::ping:
        append_integer(output_, static_cast<std::uint32_t>(request.number));
        return true;
      case store_op::queue_push: engine_->queue_push(texts[0], texts[1]); return true;
      case store_op::queue_pop: reply_popped(texts[0]); return true;
      case store_op::queue_length: reply_number(engine_->queue_length(texts[0])); return true;
      case store_op::list_keys: return reply_keys();
      case store_op::barrier:
        drop_wait();
        begin_wait(engine_->barrier(texts[0], request.number, listener_));
        return true;
      default: fail("unknown operation"); return false;
    }
  }

  // ---- replies --------------------------------------------------------------------------------

  void begin_wait(key_value_engine::wait_id wait) {
    wait_ = wait;
    if (wait == 0) output_.push_back(reply_stop_waiting);
  }

  void reply_number(std::int64_t number) { append_integer(output_, number); }

  // No client asks for a value without having waited for it, unless it was removed since. The
  // server of 1.13 then hangs up, that of 2.x with libuv sends an empty value.
  bool reply_value(std::string_view key) {
    const bool found =
        engine_->read(key, [this](std::string_view value) { append_text(output_, value); });
    if (found) return true;
    if (is_legacy()) {
      fail("asked for a key that does not exist");
      return false;
    }
    append_text(output_, {});
    return true;
  }

  // Pauses between two values where they are many: this request is then parsed again, and the
  // values that are out already are skipped.
  bool reply_values(const std::vector<std::string_view>& keys) {
    while (values_sent_ < keys.size()) {
      if (output_.size() > limits::store_reply_pause_bytes) {
        pause();
        return false;
      }
      if (!reply_value(keys[values_sent_])) return false;
      ++values_sent_;
    }
    values_sent_ = 0;
    return true;
  }

  void reply_popped(std::string_view key) {
    std::int64_t length = 0;
    const auto item = engine_->queue_pop(key, length);
    reply_number(length);
    if (item) append_text(output_, *item);
  }

  bool reply_keys() {
    const std::size_t start = output_.size();
    std::int64_t count = 0;
    bool fits = true;
    append_integer(output_, count);
    engine_->for_each_key([&](std::string_view key) {
      fits = fits && output_.size() - start + key.size() < limits::store_reply_bytes;
      if (!fits) return;
      append_text(output_, key);
      ++count;
    });
    if (!fits) {
      fail("asked for a list of keys that is too long");
      return false;
    }
    std::memcpy(output_.data() + start, &count, sizeof count);
    return true;
  }

  void release_large_input() {
    constexpr std::size_t input_kept = 16 * 1024;
    if (input_.empty() && input_.capacity() > input_kept) input_ = {};
  }

  std::shared_ptr<key_value_engine> engine_;
  request_parser parser_;
  tcp_store_legacy_dialect dialect_;
  std::weak_ptr<key_value_engine::listener> listener_;
  std::shared_ptr<store_extension> extension_;
  store_extension::client* self_ = nullptr;
  std::unique_ptr<store_extension::conversation> conversation_;
  state state_ = state::reading;
  first_bytes generation_ = first_bytes::undecided;
  bool is_first_ = true;
  bool watches_only_ = false;
  bool is_2_1_ = false;
  key_value_engine::wait_id wait_ = 0;
  std::vector<key_value_engine::wait_id> watches_;
  std::size_t values_sent_ = 0;
  std::string input_;
  std::string output_;
  std::string complaint_;
};

}  // namespace elastic::detail

// ---- elastic/store/detail/tcp_store_connection.hpp ----

namespace elastic::detail {

using store_strand = asio::strand<asio::any_io_executor>;

/// One client of a server: a session and the rules by which bytes move, without saying how. The
/// transport derives from it: it brings what arrives to `received`, sends when told to, and calls
/// `advance` when something was sent.
///
/// Everything but the two calls of `listener` happens on the strand.
class tcp_store_connection : public key_value_engine::listener,
                             public store_extension::client,
                             public std::enable_shared_from_this<tcp_store_connection> {
 public:
  /// Called once, on the strand, when the connection is closed and none of its operations is
  /// under way. The text says what the client did wrong, empty where it went by itself.
  using gone_handler = std::function<void(tcp_store_connection&, const std::string& complaint)>;

  tcp_store_connection(store_strand strand, std::shared_ptr<key_value_engine> engine,
                       const tcp_store_bounds& bounds, tcp_store_legacy_dialect dialect,
                       gone_handler on_gone)
      : strand_(std::move(strand)),
        session_(std::move(engine), bounds, dialect),
        on_gone_(std::move(on_gone)) {}

  /// Begins to read. `further` may be null.
  void start(std::shared_ptr<store_extension> further) {
    session_.listen(weak_from_this());
    if (further) session_.extend(std::move(further), *this);
    receive();
  }

  /// Closes it as soon as what it has to say is said.
  void finish() {
    is_finishing_ = true;
    advance();
  }

  /// Closes it now; `gone_handler` follows, at once or later.
  void close() {
    if (is_closed_) return;
    is_closed_ = true;
    session_.close();
    shut();
    tell_if_gone();
  }

  void send(std::string_view bytes) override {
    if (is_closed_) return;
    session_.output().append(bytes);
    send_aside();
  }

  void hang_up() override {
    is_finishing_ = true;
    if (!is_executing_) advance();
  }

  asio::ip::tcp::endpoint here() const override { return end_of(&::getsockname); }
  asio::ip::tcp::endpoint there() const override { return end_of(&::getpeername); }

  void on_ready(key_value_engine::wait_id wait) noexcept override {
    if (strand_.running_in_this_thread()) {
      if (session_.ready(wait)) send_aside();
      return;
    }
    asio::post(strand_, [self = shared_from_this(), wait] {
      if (self->session_.ready(wait)) self->send_aside();
    });
  }

  void on_change(const key_value_engine::change& what) noexcept override {
    if (strand_.running_in_this_thread()) {
      session_.changed(what);
      send_aside();
      return;
    }
    asio::post(strand_, [self = shared_from_this(), what] {
      self->session_.changed(what);
      self->send_aside();
    });
  }

 protected:
  // ---- what the transport does ---------------------------------------------------------------

  /// Begins to receive, unless it does already.
  virtual void receive() = 0;

  /// Sends all of `output` or takes it over, leaving it empty; sets `is_sending_` while something
  /// is unsent. Called only while nothing is.
  virtual void transmit(std::string& output) = 0;

  /// Closes the socket and ends what is under way.
  virtual void shut() = 0;

  /// Whether an operation is under way that refers to this object.
  virtual bool is_busy() const = 0;

  virtual int descriptor() const = 0;

  // ---- what the transport calls --------------------------------------------------------------

  /// Bytes that have arrived.
  void received(std::string_view bytes) {
    is_executing_ = true;
    session_.consume(bytes);
    is_executing_ = false;
  }

  /// Whether nothing more is to be executed, nor to be read, until the output is sent.
  bool is_paused() const { return session_.current() == tcp_store_session::state::paused; }

  /// Sends what is there to be sent, executes what waited for that, then reads on. Does nothing
  /// while something is being sent: the transport calls again when it is.
  void advance() {
    if (is_sending_) return;
    // Enough to keep a socket busy, little enough to keep other clients from waiting.
    constexpr int most_rounds = 16;
    is_executing_ = true;
    for (int round = 0; round < most_rounds && !is_closed_; ++round) {
      if (!session_.output().empty()) transmit(session_.output());
      if (is_closed_ || is_sending_) break;
      if (!is_paused() || is_finishing_) break;
      session_.resume();
    }
    is_executing_ = false;
    if (is_closed_) return tell_if_gone();
    if (is_sending_) return;
    if (is_finishing_) return close();
    if (!session_.output().empty()) {
      asio::post(strand_, [self = shared_from_this()] {
        if (!self->is_closed_) self->advance();
      });
      return;
    }
    if (session_.current() == tcp_store_session::state::ended) return close();
    receive();
  }

  /// Tells the server, where the connection is closed and nothing of it is under way.
  void tell_if_gone() {
    if (!is_closed_ || is_busy() || is_executing_ || !on_gone_) return;
    // The handler drops the server's reference, which may be the last one.
    const auto self = shared_from_this();
    const auto tell = std::exchange(on_gone_, nullptr);
    tell(*this, session_.complaint());
  }

  store_strand strand_;
  bool is_closed_ = false;
  bool is_sending_ = false;

 private:
  // What another client caused. The requests of this one are left alone: each would otherwise run
  // within a request of the other.
  void send_aside() {
    if (is_closed_ || is_executing_) return;
    if (session_.output().size() > limits::store_reply_bytes) {
      session_.fail("does not read what it asked to be told");
      return close();
    }
    if (is_sending_) return;
    is_executing_ = true;
    transmit(session_.output());
    is_executing_ = false;
    tell_if_gone();
  }

  asio::ip::tcp::endpoint end_of(int (*ask)(int, sockaddr*, socklen_t*)) const {
    asio::ip::tcp::endpoint end;
    auto size = static_cast<socklen_t>(end.capacity());
    if (ask(descriptor(), end.data(), &size) == 0) end.resize(size);
    return end;
  }

  tcp_store_session session_;
  gone_handler on_gone_;
  bool is_executing_ = false;
  bool is_finishing_ = false;
};

}  // namespace elastic::detail

// ---- elastic/store/detail/tcp_store_reactor_connection.hpp ----

namespace elastic::detail {

/// The transport over Asio's reactor.
class tcp_store_reactor_connection final : public tcp_store_connection {
 public:
  using socket = asio::basic_stream_socket<asio::ip::tcp, store_strand>;

  /// @param scratch  shared by the connections of a strand, for what exceeds the small buffer
  ///                 that each has of its own
  tcp_store_reactor_connection(socket peer, std::span<char> scratch,
                               std::shared_ptr<key_value_engine> engine,
                               const tcp_store_bounds& bounds, tcp_store_legacy_dialect dialect,
                               gone_handler on_gone)
      : tcp_store_connection(peer.get_executor(), std::move(engine), bounds, dialect,
                             std::move(on_gone)),
        socket_(std::move(peer)),
        scratch_(scratch) {}

 private:
  void receive() override {
    if (is_receiving_) return;
    is_receiving_ = true;
    socket_.async_read_some(asio::buffer(buffer_),
                            [self = shared_from_this()](asio::error_code failure, std::size_t n) {
                              static_cast<tcp_store_reactor_connection&>(*self).on_read(failure, n);
                            });
  }

  void on_read(asio::error_code failure, std::size_t size) {
    is_receiving_ = false;
    if (is_closed_) return tell_if_gone();
    if (failure) return close();
    received({buffer_.data(), size});
    if (size == buffer_.size() && !is_sending_) read_more();
    advance();
  }

  // A client that pipelines fills the small buffer; the rest is taken in large pieces.
  void read_more() {
    asio::error_code failure;
    const std::size_t size = socket_.read_some(asio::buffer(scratch_.data(), scratch_.size()),
                                               failure);
    // Both an end and an error are met again by the next read.
    if (!failure) received({scratch_.data(), size});
  }

  void transmit(std::string& output) override {
    asio::error_code failure;
    const std::size_t sent = socket_.write_some(asio::buffer(output), failure);
    if (failure && failure != asio::error::would_block) {
      output.clear();
      return close();
    }
    if (sent < output.size()) {
      unsent_ = std::move(output);
      sent_ = sent;
      is_sending_ = true;
      send_rest();
    }
    output.clear();
    constexpr std::size_t output_kept = 16 * 1024;
    if (output.capacity() > output_kept) output.shrink_to_fit();
  }

  void send_rest() {
    socket_.async_write_some(asio::buffer(unsent_) + sent_,
                             [self = shared_from_this()](asio::error_code failure, std::size_t n) {
                               static_cast<tcp_store_reactor_connection&>(*self).on_sent(failure,
                                                                                         n);
                             });
  }

  void on_sent(asio::error_code failure, std::size_t size) {
    sent_ += size;
    if (!failure && !is_closed_ && sent_ < unsent_.size()) return send_rest();
    is_sending_ = false;
    unsent_ = {};
    if (is_closed_) return tell_if_gone();
    if (failure) return close();
    advance();
  }

  void shut() override {
    asio::error_code ignored;
    socket_.close(ignored);
  }

  bool is_busy() const override { return is_receiving_ || is_sending_; }

  int descriptor() const override {
    // Asio asks for no change by this, but does not say so.
    return const_cast<socket&>(socket_).native_handle();
  }

  socket socket_;
  std::span<char> scratch_;
  std::array<char, 512> buffer_;
  bool is_receiving_ = false;
  std::string unsent_;
  std::size_t sent_ = 0;
};

}  // namespace elastic::detail

// ---- elastic/store/detail/tcp_store_ring_connection.hpp ----

namespace elastic::detail {

/// The transport over an io_uring: the kernel receives without being asked each time, and what
/// all connections have to send in one turn of the loop is handed over by one call.
class tcp_store_ring_connection final : public tcp_store_connection {
 public:
  /// @param fd  a socket in blocking mode, which this object closes
  tcp_store_ring_connection(int fd, std::shared_ptr<ring> io, store_strand strand,
                            std::shared_ptr<key_value_engine> engine,
                            const tcp_store_bounds& bounds, tcp_store_legacy_dialect dialect,
                            gone_handler on_gone)
      : tcp_store_connection(std::move(strand), std::move(engine), bounds, dialect,
                             std::move(on_gone)),
        ring_(std::move(io)),
        fd_(fd) {}

  ~tcp_store_ring_connection() override { ::close(fd_); }

 private:
  void receive() override {
    if (!receiving_.running()) ring_->receive(receiving_, fd_, shared_from_this());
  }

  void on_received(const ring::completion& done) noexcept {
    if (is_closed_) return tell_if_gone();
    if (!done.last) {
      received(done.data);
      if (is_paused()) ring_->cancel(receiving_);
      return advance();
    }
    // Stopped by a pause: `advance` goes on when the output is sent. The same for an end that
    // comes while something is unsent: the client may have closed only its own direction.
    if (is_sending_ || is_paused()) return;
    if (done.result == -ECANCELED) return receive();
    close();
  }

  void transmit(std::string& output) override {
    on_the_way_.swap(output);
    is_sending_ = true;
    ring_->send(sending_, fd_, on_the_way_, shared_from_this());
  }

  void on_sent(const ring::completion& done) noexcept {
    constexpr std::size_t output_kept = 16 * 1024;
    is_sending_ = false;
    on_the_way_.clear();
    if (on_the_way_.capacity() > output_kept) on_the_way_ = {};
    if (is_closed_) return tell_if_gone();
    if (done.error()) return close();
    advance();
  }

  void shut() override {
    // Ends the connection for the client now; the descriptor stays until no operation has it.
    ::shutdown(fd_, SHUT_RDWR);
    ring_->cancel(receiving_);
    ring_->cancel(sending_);
  }

  bool is_busy() const override { return receiving_.running() || sending_.running(); }

  int descriptor() const override { return fd_; }

  std::shared_ptr<ring> ring_;
  int fd_;
  std::string on_the_way_;
  ring::member_operation<&tcp_store_ring_connection::on_received> receiving_{*this};
  ring::member_operation<&tcp_store_ring_connection::on_sent> sending_{*this};
};

}  // namespace elastic::detail

// ---- elastic/store/tcp_store_server.hpp ----

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>

namespace elastic {

struct tcp_store_server_options {
  /// Where to listen: an IPv4 or IPv6 address ("0.0.0.0" and "::" mean every one of this host), or
  /// a name, which means every address that it stands for. Empty: every address of this host.
  std::string address = "127.0.0.1";
  /// 0: one that the system picks.
  std::uint16_t port = 0;
  /// What one client may send.
  tcp_store_bounds bounds;
  tcp_store_legacy_dialect legacy_dialect = tcp_store_legacy_dialect::guess;
  /// Whether the clients' bytes move through an io_uring where the kernel allows one.
  bool use_ring = true;
  logger log;
  /// The table to serve, which others may share; empty: one of its own.
  std::shared_ptr<key_value_engine> engine;
  /// A further protocol on the same port; empty: none.
  std::shared_ptr<store_extension> extension;
  /// Empty: the clocks of the machine.
  std::shared_ptr<time_source> time;
};

namespace detail {

class tcp_store_server_core;

}  // namespace detail

/// A store that processes reach by PyTorch's TCPStore protocol, of 1.13 up to 2.x on one port.
///
/// Listens from the moment that it is made. A client that blocks, is slow, sends half a request or
/// does not read holds up no other. One that breaks the protocol or a bound is disconnected, with
/// one log line at level info. Where file descriptors run out, clients wait to be accepted.
///
/// A fresh key space is a new server; making one takes some ten microseconds.
///
/// Thread-safety: every member may be called from any thread. The server runs on a strand of the
/// executor that it was given; that executor's context must outlive it.
class tcp_store_server {
 public:
  /// Errors: `errc::address_in_use`, naming address and port; `errc::invalid_argument` where the
  /// address is not one of this host, or may not be used; `errc::connection_failed` where the name
  /// cannot be resolved or the system has no socket left.
  tcp_store_server(asio::any_io_executor executor, tcp_store_server_options options);

  /// Closes everything without waiting for it. Prefer `stop`.
  ~tcp_store_server();

  tcp_store_server(const tcp_store_server&) = delete;
  tcp_store_server& operator=(const tcp_store_server&) = delete;

  /// The port on which it listens.
  std::uint16_t port() const;

  /// The address and port on which it listens.
  elastic::endpoint endpoint() const;

  /// The table that it serves.
  std::shared_ptr<key_value_engine> engine() const;

  /// How many clients are connected.
  std::size_t connections() const;

  /// How the clients' bytes move: "io_uring" or "epoll".
  std::string_view io() const;

  /// Stops to listen and disconnects every client, within `limits::store_farewell` after it was
  /// sent what it was answered; nothing of the server runs when this returns. May be called again.
  ///
  /// Cancellation: all types; the server stops nevertheless, only unwaited for.
  task<void> stop();

 private:
  std::shared_ptr<detail::tcp_store_server_core> core_;
};

namespace detail {

// ---- listening sockets ----------------------------------------------------------------------

/// Result: a socket that listens, closed on exec; -1 with `errno` set where there is none.
inline int listen_at(const asio::ip::tcp::endpoint& at) {
  const int fd = ::socket(at.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1;
  const int off = 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (at.address().is_v6()) {
    // "::" is the whole host, IPv4 included; any other address is only itself.
    const int* only = at.address().is_unspecified() ? &off : &on;
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, only, sizeof *only);
  }
  if (::bind(fd, at.data(), static_cast<socklen_t>(at.size())) == 0 &&
      ::listen(fd, SOMAXCONN) == 0) {
    return fd;
  }
  const int failure = errno;
  ::close(fd);
  errno = failure;
  return -1;
}

[[noreturn]] inline void throw_cannot_listen(const elastic::endpoint& at, int failure) {
  const std::string where = to_text(at);
  switch (failure) {
    case EADDRINUSE:
      throw error(errc::address_in_use,
                  fmt::format("cannot listen on {}: the address is in use by another program",
                              where));
    case EADDRNOTAVAIL:
      throw error(errc::invalid_argument,
                  fmt::format("cannot listen on {}: this is not an address of this host", where));
    case EACCES:
    case EAFNOSUPPORT:
      throw error(errc::invalid_argument,
                  fmt::format("cannot listen on {}: {}", where, errno_text(failure)));
    default:
      throw error(errc::connection_failed,
                  fmt::format("cannot listen on {}: {}", where, errno_text(failure)));
  }
}

/// What means all addresses of this host: those of IPv4, too, where the kernel knows IPv6.
inline std::string every_address() {
  const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return "0.0.0.0";
  ::close(fd);
  return "::";
}

/// The addresses that `host` stands for. Blocks where a resolver has to be asked.
inline std::vector<asio::ip::address> addresses_of(asio::any_io_executor executor,
                                                   const std::string& host) {
  using asio::ip::address;
  asio::error_code failure;
  const address literal = asio::ip::make_address(host, failure);
  if (!failure) return {literal};
  std::vector<address> found;
  if (host == "localhost") {
    found.emplace_back(asio::ip::address_v4::loopback());
    found.emplace_back(asio::ip::address_v6::loopback());
    return found;
  }
  asio::ip::tcp::resolver resolver(std::move(executor));
  const auto entries = resolver.resolve(host, "", failure);
  if (failure || host.empty()) {
    throw error(errc::connection_failed,
                fmt::format("cannot listen on '{}': the name cannot be resolved ({})", host,
                            failure.message()));
  }
  for (const auto& entry : entries) {
    const address next = entry.endpoint().address();
    if (std::find(found.begin(), found.end(), next) == found.end()) found.push_back(next);
  }
  return found;
}

// ---- the server -----------------------------------------------------------------------------

/// The part of a server that its coroutines and connections share, so that it lives while they do.
class tcp_store_server_core : public std::enable_shared_from_this<tcp_store_server_core> {
 public:
  using acceptor = asio::basic_socket_acceptor<asio::ip::tcp, store_strand>;

  tcp_store_server_core(asio::any_io_executor executor, tcp_store_server_options options)
      : strand_(asio::make_strand(executor)),
        options_(std::move(options)),
        scratch_(std::make_unique_for_overwrite<char[]>(scratch_bytes)),
        ended_(strand_) {
    if (!options_.engine) options_.engine = std::make_shared<key_value_engine>();
    if (!options_.time) options_.time = std::make_shared<system_time>();
    if (options_.use_ring) make_ring();
    if (options_.address.empty()) options_.address = every_address();
    open(addresses_of(executor, options_.address));
    options_.log.debug("store: listening at {} (I/O: {})", to_text(endpoint_), io());
  }

  void start() {
    if (options_.extension) start_one(options_.extension->run());
    for (acceptor& listening : acceptors_) start_one(accept_all(listening));
  }

  // What is on its way to a client still goes out, such as the word that all have met: the stop
  // of a server is often what that word leads to.
  task<void> stop() {
    stop_accepting();
    for (const auto& connection : all_connections()) connection->finish();
    time_source& time = *options_.time;
    try {
      co_await with_deadline(time, time.now() + limits::store_farewell, ended_.wait());
    } catch (...) {
      close();
      throw;
    }
    close();
    co_await ended_.wait();
  }

  void close() {
    stop_accepting();
    for (const auto& connection : all_connections()) connection->close();
  }

  const store_strand& strand() const { return strand_; }
  const elastic::endpoint& endpoint() const { return endpoint_; }
  std::shared_ptr<key_value_engine> engine() const { return options_.engine; }
  std::size_t connections() const { return connected_.load(std::memory_order_relaxed); }
  std::string_view io() const { return ring_ ? "io_uring" : "epoll"; }

 private:
  static constexpr std::size_t scratch_bytes = 64 * 1024;
  static constexpr std::chrono::milliseconds pause_without_descriptors{50};

  void make_ring() {
    std::string why_not;
    ring_ = ring::try_make(strand_, ring_options{}, &why_not);
    if (!ring_) options_.log.debug("store: goes on without io_uring: {}", why_not);
  }

  // What runs until the server stops.
  void start_one(task<void> lasting) {
    ++running_;
    auto on_end = [self = shared_from_this()](std::exception_ptr failure) {
      self->on_lasting_ended(failure);
    };
    cancels_.push_back(std::make_unique<asio::cancellation_signal>());
    asio::co_spawn(strand_, std::move(lasting),
                   asio::bind_cancellation_slot(cancels_.back()->slot(), std::move(on_end)));
  }

  // ---- listening -----------------------------------------------------------------------------

  // A name with several addresses listens on all of them, at one port.
  void open(const std::vector<asio::ip::address>& addresses) {
    constexpr int most_tries = 16;
    for (int attempt = 1;; ++attempt) {
      const int failure = try_open(addresses);
      if (failure == 0) return;
      // A port that was free at the first address may be taken at the second.
      const bool try_another_port =
          failure == EADDRINUSE && options_.port == 0 && attempt < most_tries;
      acceptors_.clear();
      if (!try_another_port) {
        throw_cannot_listen(elastic::endpoint{options_.address, options_.port}, failure);
      }
    }
  }

  // Result: 0, or the `errno` of the address that could not be bound. Addresses behind the first
  // that this host does not have (such as ::1 without IPv6) are left out.
  int try_open(const std::vector<asio::ip::address>& addresses) {
    endpoint_ = elastic::endpoint{options_.address, options_.port};
    int failure = EADDRNOTAVAIL;
    for (const auto& address : addresses) {
      const asio::ip::tcp::endpoint at(address, endpoint_.port);
      const int fd = listen_at(at);
      if (fd < 0) {
        const bool is_absent = errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT;
        if (is_absent && addresses.size() > 1) continue;
        return errno;
      }
      acceptors_.emplace_back(strand_, at.protocol(), fd);
      endpoint_.port = acceptors_.back().local_endpoint().port();
      failure = 0;
    }
    return failure;
  }

  // ---- accepting -----------------------------------------------------------------------------

  task<void> accept_all(acceptor& listening) {
    while (!is_closed_) {
      auto [failure] = co_await listening.async_wait(acceptor::wait_read, as_result);
      if (is_closed_ || failure) co_return;
      const int problem = accept_waiting(listening);
      if (problem != 0 && !is_closed_) {
        note_back_off(problem);
        co_await options_.time->sleep_until(options_.time->now() + pause_without_descriptors);
      }
    }
  }

  // Accepts all that wait. Result: 0, or the `errno` that says that there is no room for more.
  int accept_waiting(acceptor& listening) {
    constexpr int most_at_once = 64;
    for (int count = 0; count < most_at_once; ++count) {
      if (connections_.size() >= most_connections_) return EMFILE;
      sockaddr_storage from{};
      socklen_t size = sizeof from;
      // A ring waits for a socket in blocking mode by itself, and not for one that is not.
      const int mode = ring_ ? SOCK_CLOEXEC : SOCK_CLOEXEC | SOCK_NONBLOCK;
      const int fd = ::accept4(listening.native_handle(), reinterpret_cast<sockaddr*>(&from), &size,
                               mode);
      if (fd >= 0) {
        has_backed_off_ = false;
        const int on = 1;
        ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        serve(connect(fd, from.ss_family == AF_INET6));
        continue;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) return 0;
      const bool has_no_room =
          errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      // Anything else is the fate of one client, which has gone again meanwhile.
      if (has_no_room) return errno;
    }
    return 0;
  }

  // How many connections leave descriptors to others: workers have to be started, too.
  static std::size_t spare_descriptors() {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    const auto all = static_cast<std::size_t>(files.rlim_cur);
    return all - std::min(all / 4, limits::store_spared_descriptors);
  }

  void note_back_off(int problem) {
    if (std::exchange(has_backed_off_, true)) return;
    options_.log.warning("store at {}: clients wait to be accepted: {}", to_text(endpoint_),
                         errno_text(problem));
  }

  // Result: null where the reactor cannot take one more.
  std::shared_ptr<tcp_store_connection> connect(int fd, bool is_v6) {
    auto on_gone = [weak = weak_from_this()](tcp_store_connection& connection,
                                             const std::string& complaint) {
      if (const auto self = weak.lock()) self->on_connection_gone(connection, complaint);
    };
    if (ring_) {
      return std::make_shared<tcp_store_ring_connection>(
          fd, ring_, strand_, options_.engine, options_.bounds, options_.legacy_dialect,
          std::move(on_gone));
    }
    tcp_store_reactor_connection::socket peer(strand_);
    asio::error_code failure;
    peer.assign(is_v6 ? asio::ip::tcp::v6() : asio::ip::tcp::v4(), fd, failure);
    if (failure) {
      ::close(fd);
      options_.log.warning("store at {}: a client was turned away: {}", to_text(endpoint_),
                           failure.message());
      return nullptr;
    }
    peer.non_blocking(true, failure);
    return std::make_shared<tcp_store_reactor_connection>(
        std::move(peer), std::span<char>(scratch_.get(), scratch_bytes), options_.engine,
        options_.bounds, options_.legacy_dialect, std::move(on_gone));
  }

  void serve(const std::shared_ptr<tcp_store_connection>& connection) {
    if (!connection) return;
    connections_.emplace(connection.get(), connection);
    connected_.store(connections_.size(), std::memory_order_relaxed);
    connection->start(options_.extension);
  }

  // ---- ends ----------------------------------------------------------------------------------

  void stop_accepting() {
    if (std::exchange(is_closed_, true)) return;
    for (acceptor& listening : acceptors_) {
      asio::error_code ignored;
      listening.close(ignored);
    }
    for (auto& cancel : cancels_) cancel->emit(asio::cancellation_type::terminal);
    note_end();
  }

  // A copy, since those that end leave the table.
  std::vector<std::shared_ptr<tcp_store_connection>> all_connections() const {
    std::vector<std::shared_ptr<tcp_store_connection>> all;
    for (const auto& [key, connection] : connections_) all.push_back(connection);
    return all;
  }

  void on_connection_gone(tcp_store_connection& connection, const std::string& complaint) {
    if (!complaint.empty()) {
      options_.log.info("store at {}: disconnected a client: {}", to_text(endpoint_), complaint);
    }
    connections_.erase(&connection);
    connected_.store(connections_.size(), std::memory_order_relaxed);
    note_end();
  }

  void on_lasting_ended(const std::exception_ptr& failure) {
    --running_;
    if (failure && !is_closed_) {
      options_.log.error("store at {}: no client is served in full any more", to_text(endpoint_));
    }
    note_end();
  }

  void note_end() {
    if (is_closed_ && running_ == 0 && connections_.empty()) ended_.set();
  }

  store_strand strand_;
  tcp_store_server_options options_;
  elastic::endpoint endpoint_;
  std::shared_ptr<ring> ring_;
  std::vector<acceptor> acceptors_;
  std::vector<std::unique_ptr<asio::cancellation_signal>> cancels_;
  std::unordered_map<tcp_store_connection*, std::shared_ptr<tcp_store_connection>> connections_;
  std::atomic<std::size_t> connected_ = 0;
  std::size_t most_connections_ = spare_descriptors();
  std::unique_ptr<char[]> scratch_;
  int running_ = 0;
  bool is_closed_ = false;
  bool has_backed_off_ = false;
  event_flag ended_;
};

}  // namespace detail

inline tcp_store_server::tcp_store_server(asio::any_io_executor executor,
                                          tcp_store_server_options options)
    : core_(std::make_shared<detail::tcp_store_server_core>(std::move(executor),
                                                            std::move(options))) {
  core_->start();
}

inline tcp_store_server::~tcp_store_server() {
  asio::dispatch(core_->strand(), [core = core_] { core->close(); });
}

inline std::uint16_t tcp_store_server::port() const { return core_->endpoint().port; }

inline elastic::endpoint tcp_store_server::endpoint() const { return core_->endpoint(); }

inline std::shared_ptr<key_value_engine> tcp_store_server::engine() const {
  return core_->engine();
}

inline std::size_t tcp_store_server::connections() const { return core_->connections(); }

inline std::string_view tcp_store_server::io() const {
  return core_->io();
}

inline task<void> tcp_store_server::stop() {
  const auto core = core_;
  co_await asio::co_spawn(core->strand(), core->stop(), asio::use_awaitable);
}

}  // namespace elastic

// ---- elastic/rendezvous/worker_store_host.hpp ----

namespace elastic {

/// The store in which the workers of one round find each other, served by the agent on a socket of
/// this node. A new one for every round: PyTorch 2.x does not prefix its keys by the attempt, so
/// only an empty store keeps one attempt from reading what the one before left.
///
/// Thread-safety: one strand at a time.
class worker_store_host {
 public:
  explicit worker_store_host(const rendezvous_parameters& parameters)
      : address_(parameters.local_address),
        share_(parameters.share_worker_store),
        use_ring_(parameters.use_ring),
        log_(parameters.log) {}

  /// Serves a new store at any port and says where: at the address that the user chose for this
  /// node, else at `reachable`. Where agents shall not serve it, picks a free port for the worker
  /// of rank 0.
  ///
  /// @param reachable  a numeric address of this host
  /// @param is_alone   no other host takes part: nobody but this one is let in
  /// Errors: `errc::connection_failed`, naming the address.
  master_endpoint serve(asio::any_io_executor executor, const std::string& reachable,
                        bool is_alone) {
    master_endpoint at;
    at.address = address_.empty() ? reachable : address_;
    at.served_by_agent = share_;
    if (!share_) {
      at.port = free_port(reachable);
      return at;
    }
    tcp_store_server_options options;
    if (is_alone) options.address = reachable;
    if (!is_alone) options.address.clear();
    options.use_ring = use_ring_;
    options.log = log_;
    server_ = std::make_unique<tcp_store_server>(std::move(executor), options);
    at.port = server_->port();
    return at;
  }

  /// Ends what was served; no connection is left when this returns.
  task<void> stop() {
    const std::unique_ptr<tcp_store_server> ending = std::move(server_);
    if (ending) co_await ending->stop();
  }

 private:
  std::string address_;
  bool share_;
  bool use_ring_;
  logger log_;
  std::unique_ptr<tcp_store_server> server_;
};

}  // namespace elastic

// ---- elastic/store/prefix_store.hpp ----

namespace elastic {

/// A view of another store in which every key stands under a prefix: "key" is "prefix/key" there,
/// as PyTorch's PrefixStore has it. `num_keys` counts the whole store.
///
/// Errors, cancellation and thread-safety: those of the store within.
class prefix_store final : public store {
 public:
  prefix_store(std::string prefix, std::shared_ptr<store> inner)
      : prefix_(std::move(prefix) + "/"), inner_(std::move(inner)) {}

  task<void> set(std::string key, std::string value) override {
    return inner_->set(prefix_ + key, std::move(value));
  }

  task<std::string> get(std::string key) override { return inner_->get(prefix_ + key); }

  task<std::int64_t> add(std::string key, std::int64_t delta) override {
    return inner_->add(prefix_ + key, delta);
  }

  task<std::string> compare_set(std::string key, std::string expected,
                                std::string desired) override {
    return inner_->compare_set(prefix_ + key, std::move(expected), std::move(desired));
  }

  task<void> wait(std::vector<std::string> keys) override {
    return inner_->wait(prefixed(std::move(keys)));
  }

  task<bool> check(std::vector<std::string> keys) override {
    return inner_->check(prefixed(std::move(keys)));
  }

  task<bool> erase(std::string key) override { return inner_->erase(prefix_ + key); }

  task<std::int64_t> num_keys() override { return inner_->num_keys(); }

  task<void> append(std::string key, std::string value) override {
    return inner_->append(prefix_ + key, std::move(value));
  }

  task<std::vector<std::string>> multi_get(std::vector<std::string> keys) override {
    return inner_->multi_get(prefixed(std::move(keys)));
  }

  task<void> multi_set(std::vector<std::pair<std::string, std::string>> pairs) override {
    for (auto& pair : pairs) pair.first.insert(0, prefix_);
    return inner_->multi_set(std::move(pairs));
  }

 private:
  std::vector<std::string> prefixed(std::vector<std::string> keys) const {
    for (std::string& key : keys) key.insert(0, prefix_);
    return keys;
  }

  std::string prefix_;
  std::shared_ptr<store> inner_;
};

}  // namespace elastic

// ---- elastic/rendezvous/dynamic_rendezvous.hpp ----

namespace elastic {

/// What a dynamic_rendezvous is made from.
struct dynamic_rendezvous_options {
  rendezvous_parameters parameters;
  /// How the agents of the job talk.
  torch_dialect dialect = torch_dialect::torch_2_6;
  /// Where the state is kept, and a store for what else agents tell each other. Must be set.
  std::shared_ptr<rendezvous_backend> backend;
  std::shared_ptr<store> agents;
  /// Tells this agent from all others.
  node_id node;
  /// A numeric address of this host that the other nodes can reach.
  std::string address = "127.0.0.1";
};

/// A rendezvous without a server that decides, as torchrun's: nodes share one state and each takes
/// its own steps in it, by the rules of torchrun, whose nodes may be among them.
///
/// A node that is silent for `keep_alive_interval` x `keep_alive_max_attempt` is lost; no clock of
/// another node counts. Worker failures are counted by each node for itself.
///
/// Thread-safety: one strand at a time.
/// Source: torch.distributed.elastic.rendezvous.dynamic_rendezvous.
class dynamic_rendezvous final : public rendezvous_handler {
 public:
  /// Errors: `errc::invalid_argument` for a setting out of bounds.
  explicit dynamic_rendezvous(dynamic_rendezvous_options options)
      : parameters_(std::move(options.parameters)),
        settings_(parameters_.settings()),
        dialect_(options.dialect),
        agents_(std::move(options.agents)),
        address_(std::move(options.address)),
        workers_(with_sharing(parameters_, dialect_)),
        shared_(std::make_shared<detail::torch_round>(
            parameters_.run_id, std::move(options.node), settings_, dialect_,
            std::move(options.backend), agents_, parameters_.time, parameters_.log)) {}

  std::string backend() const override { return parameters_.backend; }
  std::string run_id() const override { return parameters_.run_id; }

  task<rendezvous_round> next_round() override {
    co_await workers_.stop();
    auto executor = co_await asio::this_coro::executor;
    shared_->start_heartbeats(executor);
    change_.reset();
    is_finished_ = false;
    members_.clear();
    shared_->spare_ended(false);
    co_await with_rollback(join(), give_up_place());
    co_return co_await placed_round();
  }

  task<rendezvous_change> wait_for_change() override {
    while (!change_) {
      view seen = co_await shared_->look();
      if (seen.state.closed) {
        co_await check_end();
      } else {
        std::optional<rendezvous_change> found = co_await change_of(seen);
        // It may have been found by another meanwhile.
        if (found && !change_) change_ = std::move(found);
        if (change_) break;
      }
      const time_point limit = now() + settings_.keep_alive_interval;
      co_await shared_->wait_for_change(seen.token, limit);
    }
    co_return *change_;
  }

  task<rendezvous_change> report_failure(std::string what) override {
    const view seen = co_await shared_->look();
    if (seen.state.closed) co_await throw_closed();
    if (!change_) change_ = co_await change_of(seen);
    if (!change_) {
      change_ = rendezvous_change{change_kind::worker_failed, std::move(what), ++restarts_};
    }
    co_return *change_;
  }

  task<void> exit_barrier() override {
    is_finished_ = true;
    if (gathers()) {
      const std::string mine = std::to_string(rank_);
      co_await gather(round_agents_, terminal_state, mine, rank_, size());
    } else {
      co_await elastic::exit_barrier(round_agents_, size());
    }
    // A node that has failed comes here as well, so that PyTorch's agents do not wait for it.
    const std::optional<job_ending> end = co_await ending();
    if (end && end->how == job_end::failed) throw error(errc::rendezvous_closed, end->why);
  }

  task<int> num_nodes_waiting() override {
    const view seen = co_await shared_->look();
    co_return static_cast<int>(seen.state.wait_list.size());
  }

  task<bool> is_closed() override {
    const view seen = co_await shared_->look();
    co_return seen.state.closed;
  }

  task<void> close(job_end how, std::string why) override {
    // Whoever served the state may have left, once the job has succeeded.
    shared_->hurry();
    const time_point limit = now() + limits::rendezvous_absence;
    bool is_told = false;
    try {
      is_told = co_await with_deadline(*parameters_.time, limit, tell_end(how, std::move(why)));
    } catch (const error& failure) {
      if (how == job_end::failed || failure.code() != errc::connection_failed) throw;
      is_told = true;
    }
    if (!is_told) throw error(errc::timed_out, "the rendezvous' store does not answer");
  }

  task<void> shutdown() override {
    shared_->hurry();
    co_await shared_->stop_heartbeats();
    co_await workers_.stop();
    co_await say_farewell(depart());
  }

 private:
  using view = detail::torch_round::view;

  struct job_ending {
    job_end how = job_end::failed;
    std::string why;
  };

  inline static const std::string terminal_state = "torchelastic/agent/terminal_state";
  inline static const std::string failed_word = "failed: ";
  inline static const std::string succeeded_word = "succeeded: ";
  /// How long the node of rank 0 has to say where it serves the workers of a round: PyTorch's
  /// agents of 2.6 and newer may say so in the first round only.
  static constexpr std::chrono::seconds master_patience{5};

  // Agents of before 2.4 do not serve the workers' store.
  static rendezvous_parameters with_sharing(rendezvous_parameters parameters,
                                            torch_dialect dialect) {
    if (dialect != torch_dialect::torch_2_6) parameters.share_worker_store = false;
    return parameters;
  }

  bool gathers() const { return dialect_ != torch_dialect::torch_2_6; }
  int size() const { return static_cast<int>(members_.size()); }
  time_point now() const { return parameters_.time->now(); }

  // ---- joining --------------------------------------------------------------------------------

  task<void> join() {
    time_point deadline = now() + settings_.join_timeout;
    co_await shared_->announce();
    view seen = co_await shared_->leave(true);
    std::string_view told;
    for (;;) {
      const round_decision next = decide_join(seen.state, shared_->node(), settings_,
                                              shared_->rules(), now(), deadline);
      if (told != next.reason) {
        parameters_.log.debug("rendezvous '{}', round {}: {}", run_id(), seen.state.round,
                              next.reason);
      }
      told = next.reason;
      switch (next.action) {
        case round_action::placed: take_place(seen.state); co_return;
        case round_action::refuse_closed: co_await throw_closed(); break;
        case round_action::refuse_timeout: throw_timeout(seen.state); break;
        case round_action::wait:
          co_await shared_->wait_for_change(seen.token, next_look(seen.state, deadline));
          seen = co_await shared_->look();
          break;
        default:
          // Who stood by begins to wait anew.
          if (next.action == round_action::leave_redundancy_list) {
            deadline = now() + settings_.join_timeout;
          }
          seen = co_await shared_->carry_out(std::move(seen), next.action);
      }
    }
  }

  // When time alone makes a difference.
  time_point next_look(const round_state& state, time_point deadline) const {
    time_point next = now() + settings_.keep_alive_interval;
    if (state.deadline && *state.deadline > now()) next = std::min(next, *state.deadline);
    if (deadline >= now()) next = std::min(next, deadline + std::chrono::milliseconds(1));
    return next;
  }

  void take_place(const round_state& state) {
    members_ = state.participants;
    round_ = state.round;
    rank_ = members_.at(shared_->node());
    shared_->spare_ended(true);
    round_agents_ = std::make_shared<prefix_store>(shared_->prefix(round_), agents_);
  }

  [[noreturn]] void throw_timeout(const round_state& state) const {
    throw error(errc::rendezvous_timeout,
                fmt::format("no place in a round of '{}' within {} s (--rdzv-conf join_timeout): "
                            "round {} has {} of {} to {} nodes",
                            run_id(), std::chrono::duration<double>(settings_.join_timeout).count(),
                            state.round, state.participants.size(), settings_.min_nodes,
                            settings_.max_nodes));
  }

  task<rendezvous_round> placed_round() {
    rendezvous_round met;
    met.round = round_;
    met.group_rank = rank_;
    met.group_world_size = size();
    met.restarts = restarts_;
    met.agents = round_agents_;
    met.dialect = gathers() ? agent_dialect::gather : agent_dialect::assign;
    if (rank_ == 0) {
      met.master = workers_.serve(co_await asio::this_coro::executor, address_,
                                  is_loopback(address_));
    }
    if (!gathers()) met.master = co_await shared_master(met.master);
    co_return met;
  }

  // Agents of PyTorch 2.4 and newer agree on it before they tell about their workers.
  task<master_endpoint> shared_master(master_endpoint mine) {
    mine.served_by_agent = parameters_.share_worker_store;
    const time_point limit = now() + (master_ ? duration(master_patience) : settings_.join_timeout);
    task<master_endpoint> agreeing = agree_on_master(round_agents_, mine, rank_);
    const std::optional<master_endpoint> told =
        co_await with_deadline(*parameters_.time, limit, std::move(agreeing));
    if (told) master_ = told;
    if (master_) co_return *master_;
    throw error(errc::rendezvous_timeout,
                "the node of rank 0 did not say where it serves the workers' store");
  }

  // ---- what happens in a round ----------------------------------------------------------------

  task<std::optional<rendezvous_change>> change_of(view seen) {
    const round_state& state = seen.state;
    const std::map<node_id, int> members = members_;
    if (state.round != round_ || !detail::contains(state, shared_->node())) {
      co_return change(change_kind::node_lost, "the other nodes have gone on without this one");
    }
    for (const auto& [node, its_rank] : members) {
      if (detail::contains(state, node)) continue;
      if (state.wait_list.count(node) != 0) {
        co_return change(change_kind::node_waiting,
                         fmt::format("node {} has left the round to meet again", node.text()));
      }
      const bool is_dead = std::count(seen.dead.begin(), seen.dead.end(), node) != 0;
      if (!is_dead && gathers() && co_await shared_->has_ended(round_, its_rank)) continue;
      co_return change(change_kind::node_lost,
                       fmt::format("node {} {}", node.text(),
                                   is_dead ? "does not answer" : "has left or was given up"));
    }
    // Whose workers are done does not begin anew for one that comes late.
    if (!state.wait_list.empty() && !is_finished_) {
      co_return change(change_kind::node_waiting, fmt::format("node {} waits to join",
                                                              state.wait_list.begin()->text()));
    }
    co_return std::nullopt;
  }

  rendezvous_change change(change_kind kind, std::string what) const {
    return {kind, std::move(what), restarts_};
  }

  // ---- the end --------------------------------------------------------------------------------

  /// Not part of torchrun's protocol: how the job has ended, for nodes of elasticrun.
  std::string ending_key() const {
    return fmt::format("torch.rendezvous.{}.elastic/end", run_id());
  }

  task<std::optional<job_ending>> ending() {
    std::vector<std::string> keys(1, ending_key());
    const bool is_told = co_await agents_->check(std::move(keys));
    if (!is_told) co_return std::nullopt;
    const std::string key = ending_key();
    const std::string text = co_await agents_->get(key);
    job_ending end;
    const bool has_succeeded = text.rfind(succeeded_word, 0) == 0;
    if (has_succeeded) end.how = job_end::succeeded;
    const std::string& word = has_succeeded ? succeeded_word : failed_word;
    end.why = text.substr(std::min(text.size(), word.size()));
    co_return end;
  }

  task<void> throw_closed() {
    const std::optional<job_ending> end = co_await ending();
    if (!end) {
      throw error(errc::rendezvous_closed,
                  fmt::format("the rendezvous '{}' was closed by a node of torchrun, which does "
                              "not say how the job has ended",
                              run_id()));
    }
    throw error(end->how == job_end::succeeded ? errc::rendezvous_finished
                                               : errc::rendezvous_closed,
                end->why);
  }

  /// The rendezvous was closed: an error, unless all workers have succeeded and only this node is
  /// still about to hear of it.
  task<void> check_end() {
    if (is_finished_) {
      const std::optional<job_ending> end = co_await ending();
      if (end && end->how == job_end::succeeded) co_return;
      if (!end && co_await all_have_ended()) co_return;
    }
    co_await throw_closed();
  }

  task<void> tell_end(job_end how, std::string why) {
    const std::string text = (how == job_end::failed ? failed_word : succeeded_word) + why;
    const std::string key = ending_key();
    const std::string nothing;
    co_await agents_->compare_set(key, nothing, text);
    co_await shared_->close();
    if (how == job_end::failed) co_await release_barrier();
  }

  task<bool> all_have_ended() {
    std::vector<std::string> keys;
    if (gathers()) keys = detail::rank_keys(terminal_state, size(), "");
    if (!gathers()) keys.push_back(terminal_state + "/last_member");
    co_return co_await round_agents_->check(std::move(keys));
  }

  // PyTorch's agents, whose workers may have succeeded, would wait for this node's.
  task<void> release_barrier() {
    if (!gathers() || members_.empty()) co_return;
    const std::string key = terminal_state + std::to_string(rank_);
    std::vector<std::pair<std::string, std::string>> pairs;
    pairs.emplace_back(key, std::to_string(rank_));
    pairs.emplace_back(key + detail::gathered_suffix, "FIN");
    co_await round_agents_->multi_set(std::move(pairs));
  }

  task<void> give_up_place() { return say_farewell(give_up_any_place()); }

  task<void> say_farewell(task<void> words) {
    const time_point limit = now() + limits::rendezvous_farewell;
    try {
      co_await with_deadline(*parameters_.time, limit, std::move(words));
    } catch (const error& failure) {
      // Then the others find out that this node is gone.
      parameters_.log.debug("could not leave the rendezvous: {}", failure.what());
    }
  }

  task<void> give_up_any_place() { co_await shared_->leave(false); }

  task<void> depart() {
    co_await shared_->leave(false);
    co_await shared_->withdraw();
  }

  rendezvous_parameters parameters_;
  rendezvous_settings settings_;
  torch_dialect dialect_;
  std::shared_ptr<store> agents_;
  std::string address_;
  worker_store_host workers_;
  std::shared_ptr<detail::torch_round> shared_;
  /// The round that this node is in: its nodes with their ranks.
  std::map<node_id, int> members_;
  std::int64_t round_ = -1;
  int rank_ = 0;
  std::shared_ptr<store> round_agents_;
  /// Where the workers of the last round met.
  std::optional<master_endpoint> master_;
  std::optional<rendezvous_change> change_;
  int restarts_ = 0;
  bool is_finished_ = false;
};

}  // namespace elastic

// ---- elastic/rendezvous/reachable_address.hpp ----

namespace elastic {

/// A numeric address by which other hosts probably reach this one: that on the way to one of
/// `towards`, else to the outside, else what its own name stands for. Loopback only where there is
/// no other: what is reached by loopback may be there on every host.
inline task<std::string> reachable_address(std::vector<std::string> towards) {
  auto executor = co_await asio::this_coro::executor;
  // Addresses for documentation: nobody has them, and nothing is sent.
  towards.push_back("192.0.2.1");
  towards.push_back("2001:db8::1");
  for (const std::string& host : towards) {
    const auto found = co_await detail::resolve_addresses(host, nullptr);
    for (const auto& address : found) {
      const asio::ip::address own = address_towards(executor, address);
      if (!own.is_unspecified() && !own.is_loopback()) co_return own.to_string();
    }
  }
  const std::string name = host_name();
  const auto own = co_await detail::resolve_addresses(name, nullptr);
  for (const auto& address : own) {
    if (!address.is_loopback()) co_return address.to_string();
  }
  co_return std::string("127.0.0.1");
}

}  // namespace elastic

// ---- elastic/rendezvous/detail/dynamic_options.hpp ----

namespace elastic::detail {

/// What a dynamic_rendezvous of this node is made from, but for where its state is.
/// @param towards  hosts that every node reaches
inline task<dynamic_rendezvous_options> dynamic_options(rendezvous_parameters parameters,
                                                        std::vector<std::string> towards) {
  dynamic_rendezvous_options options;
  options.node = new_node(parameters.local_address);
  const bool stays_here = is_loopback(parameters.local_address);
  if (!stays_here) options.address = co_await reachable_address(std::move(towards));
  options.parameters = std::move(parameters);
  co_return options;
}

}  // namespace elastic::detail

// ---- elastic/rendezvous/detail/pickle_format.hpp ----

// What our reader and our writer of Python's pickle format share: the few operations of it that
// the state of a rendezvous is made of.
namespace elastic::detail {

/// The operations that are read; every other byte is refused.
enum class pickle_op : std::uint8_t {
  mark = 0x28,
  empty_tuple = 0x29,
  stop = 0x2e,
  short_binbytes = 0x43,
  binint = 0x4a,
  binint1 = 0x4b,
  binint2 = 0x4d,
  none = 0x4e,
  reduce = 0x52,
  binunicode = 0x58,
  build = 0x62,
  binget = 0x68,
  long_binget = 0x6a,
  setitem = 0x73,
  setitems = 0x75,
  empty_dict = 0x7d,
  proto = 0x80,
  newobj = 0x81,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  newtrue = 0x88,
  newfalse = 0x89,
  long1 = 0x8a,
  short_binunicode = 0x8c,
  empty_set = 0x8f,
  additems = 0x90,
  stack_global = 0x93,
  memoize = 0x94,
  frame = 0x95,
};

/// The only names of Python that a pickle may mention. They are never looked up: each stands for
/// itself, and what may be done with it is decided by its place in this list.
enum class pickle_global : std::uint8_t { state, node, datetime, timezone, timedelta };

struct pickle_name {
  std::string_view module;
  std::string_view name;
};

/// By `pickle_global`.
inline constexpr std::array<pickle_name, 5> pickle_globals = {{
    {"torch.distributed.elastic.rendezvous.dynamic_rendezvous", "_RendezvousState"},
    {"torch.distributed.elastic.rendezvous.dynamic_rendezvous", "_NodeDesc"},
    {"datetime", "datetime"},
    {"datetime", "timezone"},
    {"datetime", "timedelta"},
}};

/// How deep values may lie within each other; a state needs 6.
inline constexpr int pickle_depth = 32;
/// Marks that are open at the same time, and values on the stack.
inline constexpr std::size_t pickle_marks = 32;
inline constexpr std::size_t pickle_stack = 4 * static_cast<std::size_t>(limits::nodes) + 64;
inline constexpr std::size_t pickle_memo = 64 * 1024;
/// Values that one pickle makes: some 9 for each node.
inline constexpr std::size_t pickle_values = 256 * 1024;

[[noreturn]] inline void refuse_state(const std::string& why) {
  throw error(errc::rendezvous_state, "the state of the rendezvous is refused: " + why);
}

/// Text from outside as a message may show it: on one line, and not all of a long one.
inline std::string shown(std::string_view text) {
  constexpr std::size_t most = 80;
  return text.size() <= most ? fmt::format("{:?}", text)
                             : fmt::format("{:?}…", text.substr(0, most));
}

/// Whether Python takes these bytes for a text: UTF-8, and in it halves of surrogate pairs, which
/// stand for what Python could not decode.
inline bool is_pickle_text(std::string_view bytes) {
  std::size_t at = 0;
  const auto follows = [&](unsigned low, unsigned high) {
    if (at == bytes.size()) return false;
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    return byte >= low && byte <= high;
  };
  while (at < bytes.size()) {
    const auto first = static_cast<unsigned char>(bytes[at++]);
    if (first < 0x80) continue;
    if (first < 0xc2 || first > 0xf4) return false;
    // What is shorter in fewer bytes, or over U+10FFFF, shows in the second byte.
    const unsigned low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    if (!follows(low, first == 0xf4 ? 0x8f : 0xbf)) return false;
    if (first >= 0xe0 && !follows(0x80, 0xbf)) return false;
    if (first >= 0xf0 && !follows(0x80, 0xbf)) return false;
  }
  return true;
}

}  // namespace elastic::detail

// ---- elastic/rendezvous/detail/pickle_reader.hpp ----

namespace elastic::detail {

enum class pickle_kind : std::uint8_t {
  none,
  boolean,
  integer,
  text,
  bytes,
  tuple,
  dict,
  set,
  /// One of `pickle_globals`.
  global,
  /// A state or a node.
  object,
  /// A datetime, a timezone, which is UTC, and a timedelta.
  time,
  zone,
  span,
};

/// A value of a pickle, by its place in the reader.
using pickle_ref = std::uint32_t;

struct pickle_value {
  pickle_kind kind = pickle_kind::none;
  /// Whether it may be the key of a dict or in a set.
  bool is_hashable = true;
  /// Whether it is part of another value or was remembered and taken again: it cannot change any
  /// more, so that no value is ever part of itself.
  bool is_final = false;
  /// Whether a time says that it is in UTC.
  bool is_zoned = false;
  int depth = 1;
  /// A boolean, an integer, the microseconds of a time since 1970 or of a span, the
  /// `pickle_global` of a global or of the class of an object.
  std::int64_t number = 0;
  /// A text or bytes, as they stand in the pickle.
  std::string_view text;
  /// The parts of a tuple or set, the keys and values of a dict in turn, the one dict of an object.
  std::vector<pickle_ref> items;

  bool is(pickle_kind wanted) const { return kind == wanted; }
  bool is(pickle_kind wanted, pickle_global which) const {
    return kind == wanted && number == static_cast<std::int64_t>(which);
  }
};

/// Reads a pickle as a description of values. Python runs a pickle as a program, which may call
/// whatever it names; here nothing is looked up and nothing called.
///
/// The values refer to the bytes of the pickle, which must outlive the reader.
class pickle_reader {
 public:
  explicit pickle_reader(std::string_view pickle) : input_(pickle) {}

  /// Reads the whole pickle.
  /// Result: the value that it stands for.
  /// Errors: `errc::rendezvous_state`.
  pickle_ref read() {
    if (next_op() != pickle_op::proto) fail("it does not begin with the protocol of a pickle");
    const std::uint64_t protocol = number(1);
    if (protocol != 4 && protocol != 5) {
      fail(fmt::format("pickle protocol {} is not read, 4 and 5 are", protocol));
    }
    for (pickle_op op = next_op(); op != pickle_op::stop; op = next_op()) apply(op);
    if (!marks_.empty() || stack_.size() != 1) {
      fail(fmt::format("{} values are left at its end, it must be 1", stack_.size()));
    }
    if (used_ != input_.size()) fail("bytes follow its end");
    return stack_.back();
  }

  const pickle_value& operator[](pickle_ref ref) const { return values_[ref]; }

 private:
  // ---- bytes ----

  std::string_view take(std::uint64_t count) {
    if (count > input_.size() - used_) fail("it is cut off");
    const std::string_view bytes = input_.substr(used_, static_cast<std::size_t>(count));
    used_ += bytes.size();
    return bytes;
  }

  pickle_op next_op() {
    at_ = used_;
    return static_cast<pickle_op>(take(1).front());
  }

  // Little-endian, without a sign.
  std::uint64_t number(std::size_t size) {
    std::uint64_t value = 0;
    int shift = 0;
    for (const char byte : take(size)) {
      value |= std::uint64_t{static_cast<unsigned char>(byte)} << shift;
      shift += 8;
    }
    return value;
  }

  [[noreturn]] void fail(const std::string& why) const {
    refuse_state(fmt::format("{} (at byte {} of {})", why, at_, input_.size()));
  }

  // ---- operations ----

  void apply(pickle_op op) {
    switch (op) {
      case pickle_op::none: return push(pickle_kind::none);
      case pickle_op::newtrue: return push(pickle_kind::boolean, 1);
      case pickle_op::newfalse: return push(pickle_kind::boolean, 0);
      case pickle_op::binint1: return push_integer(1);
      case pickle_op::binint2: return push_integer(2);
      case pickle_op::binint:
        return push(pickle_kind::integer, static_cast<std::int32_t>(number(4)));
      case pickle_op::long1: return push_long();
      case pickle_op::short_binunicode: return push_text(take(number(1)));
      case pickle_op::binunicode: return push_text(take(number(4)));
      case pickle_op::short_binbytes: return push_bytes(take(number(1)));
      case pickle_op::empty_tuple: return push(pickle_kind::tuple);
      case pickle_op::tuple1: return push_tuple(1);
      case pickle_op::tuple2: return push_tuple(2);
      case pickle_op::tuple3: return push_tuple(3);
      case pickle_op::empty_dict: return push_container(pickle_kind::dict);
      case pickle_op::empty_set: return push_container(pickle_kind::set);
      case pickle_op::setitem: return set_item();
      case pickle_op::setitems: return add_all(pickle_kind::dict);
      case pickle_op::additems: return add_all(pickle_kind::set);
      case pickle_op::mark: return open_mark();
      case pickle_op::stack_global: return push_global();
      case pickle_op::newobj: return push_object();
      case pickle_op::reduce: return push_reduced();
      case pickle_op::build: return build();
      case pickle_op::memoize: return memoize();
      case pickle_op::binget: return recall(number(1));
      case pickle_op::long_binget: return recall(number(4));
      case pickle_op::frame:
        // A frame only says how much may be read ahead.
        if (number(8) > input_.size() - used_) fail("it is cut off");
        return;
      default:
        fail(fmt::format("operation 0x{:02x} is not one that the state of a rendezvous needs",
                         static_cast<unsigned>(op)));
    }
  }

  void push_integer(std::size_t size) {
    push(pickle_kind::integer, static_cast<std::int64_t>(number(size)));
  }

  void push_long() {
    const std::uint64_t size = number(1);
    if (size > 8) fail(fmt::format("an integer has {} bytes, 8 are allowed", size));
    std::uint64_t bits = number(static_cast<std::size_t>(size));
    // The highest bit that is there is the sign.
    const bool is_negative = size > 0 && (bits >> (8 * size - 1)) != 0;
    if (is_negative && size < 8) bits |= ~std::uint64_t{0} << 8 * size;
    push(pickle_kind::integer, static_cast<std::int64_t>(bits));
  }

  void push_text(std::string_view text) {
    if (!is_pickle_text(text)) fail(shown(text) + " is not UTF-8");
    push(pickle_kind::text);
    values_.back().text = text;
  }

  void push_bytes(std::string_view bytes) {
    push(pickle_kind::bytes);
    values_.back().text = bytes;
  }

  void push_container(pickle_kind kind) {
    push(kind);
    values_.back().is_hashable = false;
  }

  void push_tuple(std::size_t size) {
    std::vector<pickle_ref> items(size);
    for (std::size_t i = size; i-- > 0;) items[i] = pop();
    push(pickle_kind::tuple);
    for (const pickle_ref item : items) {
      add_item(stack_.back(), item);
      if (!values_[item].is_hashable) values_.back().is_hashable = false;
    }
  }

  void set_item() {
    const pickle_ref value = pop();
    const pickle_ref key = pop();
    add_pair(open_container(pickle_kind::dict), key, value);
  }

  void add_all(pickle_kind kind) {
    if (marks_.empty()) fail("values are added that no mark precedes");
    const std::vector<pickle_ref> items(
        stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back()), stack_.end());
    stack_.resize(marks_.back());
    marks_.pop_back();
    const pickle_ref container = open_container(kind);
    if (kind == pickle_kind::set) {
      for (const pickle_ref item : items) add_key(container, item);
      return;
    }
    if (items.size() % 2 != 0) fail("a key has no value");
    for (std::size_t i = 0; i < items.size(); i += 2) add_pair(container, items[i], items[i + 1]);
  }

  void open_mark() {
    if (marks_.size() == pickle_marks) fail(fmt::format("over {} marks are open", pickle_marks));
    marks_.push_back(stack_.size());
  }

  void push_global() {
    const pickle_value& name = values_[pop()];
    const pickle_value& module = values_[pop()];
    if (!name.is(pickle_kind::text) || !module.is(pickle_kind::text)) {
      fail("what it names is not named by texts");
    }
    for (std::size_t which = 0; which < pickle_globals.size(); ++which) {
      if (module.text != pickle_globals[which].module) continue;
      if (name.text != pickle_globals[which].name) continue;
      return push(pickle_kind::global, static_cast<std::int64_t>(which));
    }
    fail(fmt::format("it names {} of {}, which has no place in the state of a rendezvous",
                     shown(name.text), shown(module.text)));
  }

  void push_object() {
    const pickle_value& arguments = values_[pop()];
    const pickle_value& type = values_[pop()];
    const bool is_class = type.is(pickle_kind::global, pickle_global::state) ||
                          type.is(pickle_kind::global, pickle_global::node);
    if (!is_class) fail("an object is made of what is neither a state nor a node");
    if (!arguments.is(pickle_kind::tuple) || !arguments.items.empty()) {
      fail("an object is made with arguments");
    }
    const std::int64_t which = type.number;
    push(pickle_kind::object, which);
    values_.back().is_hashable = false;
  }

  // Python would call a function here; three names have a meaning.
  void push_reduced() {
    const pickle_value arguments = values_[pop()];
    const pickle_value& what = values_[pop()];
    if (!arguments.is(pickle_kind::tuple)) fail("the arguments of a call are no tuple");
    if (what.is(pickle_kind::global, pickle_global::datetime)) return push_time(arguments.items);
    if (what.is(pickle_kind::global, pickle_global::timezone)) return push_zone(arguments.items);
    if (what.is(pickle_kind::global, pickle_global::timedelta)) return push_span(arguments.items);
    fail("it calls what is neither datetime, timezone nor timedelta");
  }

  void push_time(std::span<const pickle_ref> arguments) {
    namespace chrono = std::chrono;
    constexpr std::size_t size = 10;
    const bool has_bytes = !arguments.empty() && arguments.size() <= 2 &&
                           values_[arguments[0]].is(pickle_kind::bytes) &&
                           values_[arguments[0]].text.size() == size;
    const bool is_zoned = arguments.size() == 2;
    if (!has_bytes || (is_zoned && !values_[arguments[1]].is(pickle_kind::zone))) {
      fail("a datetime is not made of 10 bytes and at most a timezone");
    }
    std::uint32_t byte[size];
    for (std::size_t i = 0; i < size; ++i) {
      byte[i] = static_cast<unsigned char>(values_[arguments[0]].text[i]);
    }
    // The highest bit of the month tells two equal times of a clock that was put back apart, which
    // does not happen in UTC.
    const int year = static_cast<int>(byte[0] << 8 | byte[1]);
    const auto date = chrono::year(year) / chrono::month(byte[2] & 0x7f) / chrono::day(byte[3]);
    const std::uint32_t fraction = byte[7] << 16 | byte[8] << 8 | byte[9];
    const bool is_date = date.ok() && year >= 1 && year <= 9999;
    if (!is_date || byte[4] > 23 || byte[5] > 59 || byte[6] > 59 || fraction > 999'999) {
      fail("a datetime has a part that is out of its range");
    }
    const chrono::sys_time<chrono::microseconds> time =
        chrono::sys_days(date) + chrono::hours(byte[4]) + chrono::minutes(byte[5]) +
        chrono::seconds(byte[6]) + chrono::microseconds(fraction);
    push(pickle_kind::time, time.time_since_epoch().count());
    values_.back().is_zoned = is_zoned;
  }

  void push_zone(std::span<const pickle_ref> arguments) {
    const bool is_utc = arguments.size() == 1 && values_[arguments[0]].is(pickle_kind::span) &&
                        values_[arguments[0]].number == 0;
    if (!is_utc) fail("a timezone is not UTC");
    push(pickle_kind::zone);
  }

  void push_span(std::span<const pickle_ref> arguments) {
    // So that the microseconds fit; Python allows ten times as many days.
    constexpr std::int64_t most_days = 99'999'999;
    const auto part = [&](std::size_t which, std::int64_t least, std::int64_t most) {
      const pickle_value& value = values_[arguments[which]];
      if (!value.is(pickle_kind::integer) || value.number < least || value.number > most) {
        fail("a timedelta has a part that is out of its range");
      }
      return value.number;
    };
    if (arguments.size() != 3) fail("a timedelta is not made of days, seconds and microseconds");
    const std::int64_t days = part(0, -most_days, most_days);
    const std::int64_t seconds = part(1, 0, 86'399);
    push(pickle_kind::span, (days * 86'400 + seconds) * 1'000'000 + part(2, 0, 999'999));
  }

  void build() {
    const pickle_ref attributes = pop();
    const pickle_ref object = open_container(pickle_kind::object);
    const pickle_value& dict = values_[attributes];
    if (!dict.is(pickle_kind::dict)) fail("the attributes of an object are no dict");
    if (!values_[object].items.empty()) fail("an object gets its attributes twice");
    for (std::size_t i = 0; i < dict.items.size(); i += 2) {
      const pickle_value& name = values_[dict.items[i]];
      if (!name.is(pickle_kind::text)) fail("the name of an attribute is no text");
    }
    add_item(object, attributes);
    // Python asks a node for its hash where it becomes a key, so it must be whole by then.
    values_[object].is_hashable = values_[object].is(pickle_kind::object, pickle_global::node);
  }

  void memoize() {
    if (memo_.size() == pickle_memo) fail(fmt::format("over {} values are memoized", pickle_memo));
    memo_.push_back(top());
  }

  void recall(std::uint64_t index) {
    if (index >= memo_.size()) fail("a value is used again that was not memoized");
    const pickle_ref value = memo_[static_cast<std::size_t>(index)];
    values_[value].is_final = true;
    push_ref(value);
  }

  // ---- stack ----

  void push(pickle_kind kind, std::int64_t value = 0) {
    if (values_.size() == pickle_values) fail(fmt::format("it has over {} values", pickle_values));
    pickle_value made;
    made.kind = kind;
    made.number = value;
    values_.push_back(std::move(made));
    push_ref(static_cast<pickle_ref>(values_.size() - 1));
  }

  void push_ref(pickle_ref ref) {
    if (stack_.size() == pickle_stack) fail(fmt::format("its stack is over {}", pickle_stack));
    stack_.push_back(ref);
  }

  // What lies below the last mark is out of reach.
  pickle_ref top() const {
    const std::size_t floor = marks_.empty() ? 0 : marks_.back();
    if (stack_.size() == floor) fail("a value is used that is not there");
    return stack_.back();
  }

  pickle_ref pop() {
    const pickle_ref value = top();
    stack_.pop_back();
    return value;
  }

  pickle_ref open_container(pickle_kind kind) {
    const pickle_ref container = top();
    if (!values_[container].is(kind)) fail("something is put into what cannot hold it");
    if (values_[container].is_final) fail("a value changes after it was used");
    return container;
  }

  void add_pair(pickle_ref dict, pickle_ref key, pickle_ref value) {
    add_key(dict, key);
    add_item(dict, value);
  }

  void add_key(pickle_ref container, pickle_ref key) {
    if (!values_[key].is_hashable) fail("a key cannot be hashed");
    add_item(container, key);
  }

  void add_item(pickle_ref container, pickle_ref item) {
    if (values_[item].is(pickle_kind::global)) fail("a name stands where a value is due");
    values_[item].is_final = true;
    pickle_value& into = values_[container];
    into.depth = std::max(into.depth, values_[item].depth + 1);
    if (into.depth > pickle_depth) {
      fail(fmt::format("values lie over {} deep within each other", pickle_depth));
    }
    into.items.push_back(item);
  }

  std::string_view input_;
  std::size_t used_ = 0;
  // Where the operation began that is being read.
  std::size_t at_ = 0;
  std::vector<pickle_value> values_;
  std::vector<pickle_ref> stack_;
  std::vector<std::size_t> marks_;
  std::vector<pickle_ref> memo_;
};

}  // namespace elastic::detail

// ---- elastic/rendezvous/detail/pickle_writer.hpp ----

namespace elastic::detail {

/// Writes the operations of a pickle, with as few kinds of them as a state needs.
///
/// What comes again and again (names, nodes) is memoized, as Python does it: else the state of
/// some thousand nodes would be several times as long, and every node reads it every few seconds.
class pickle_writer {
 public:
  /// @param memoizes  false for a piece that shall stand anywhere in another pickle
  explicit pickle_writer(bool memoizes) : memoizes_(memoizes) {}

  const std::string& written() const { return out_; }

  void op(pickle_op code) { out_.push_back(static_cast<char>(code)); }

  /// Puts in what another writer, one that did not memoize, wrote.
  void piece(std::string_view operations) { out_ += operations; }

  void begin() {
    op(pickle_op::proto);
    out_.push_back(4);
  }

  void boolean(bool value) { op(value ? pickle_op::newtrue : pickle_op::newfalse); }

  void integer(std::int64_t value) {
    if (value >= 0 && value <= 0xff) return with_number(pickle_op::binint1, value, 1);
    if (value >= 0 && value <= 0xffff) return with_number(pickle_op::binint2, value, 2);
    if (value == static_cast<std::int32_t>(value)) return with_number(pickle_op::binint, value, 4);
    op(pickle_op::long1);
    out_.push_back(8);
    little_endian(value, 8);
  }

  void text(std::string_view value) {
    if (value.size() <= 0xff) {
      with_number(pickle_op::short_binunicode, static_cast<std::int64_t>(value.size()), 1);
    } else {
      with_number(pickle_op::binunicode, static_cast<std::int64_t>(value.size()), 4);
    }
    out_ += value;
  }

  /// A text that comes more than once.
  void name(std::string_view value) {
    once("text " + std::string(value), [&] { text(value); });
  }

  /// At most 255 bytes.
  void bytes(std::string_view value) {
    with_number(pickle_op::short_binbytes, static_cast<std::int64_t>(value.size()), 1);
    out_ += value;
  }

  void global(pickle_global which) {
    const pickle_name& named = pickle_globals[static_cast<std::size_t>(which)];
    once("global " + std::string(named.name), [&] {
      name(named.module);
      name(named.name);
      op(pickle_op::stack_global);
    });
  }

  void node(const node_id& id, std::string_view host_attribute) {
    once("node " + id.text(), [&] {
      global(pickle_global::node);
      op(pickle_op::empty_tuple);
      op(pickle_op::newobj);
      op(pickle_op::empty_dict);
      op(pickle_op::mark);
      name(host_attribute);
      name(id.host);
      name("pid");
      integer(id.pid);
      name("local_id");
      integer(id.local_id);
      op(pickle_op::setitems);
      op(pickle_op::build);
    });
  }

  /// Errors: `errc::invalid_argument` for a year that Python has not.
  void time(torch_time value, bool zoned) {
    namespace chrono = std::chrono;
    const auto day = chrono::floor<chrono::days>(value);
    const chrono::year_month_day date(day);
    if (date.year() < chrono::year(1) || date.year() > chrono::year(9999)) {
      throw error(errc::invalid_argument,
                  "a time of the rendezvous is not in the years 1 to 9999");
    }
    const chrono::hh_mm_ss<chrono::microseconds> clock(value - day);
    std::string packed;
    const auto add = [&](auto number, int size) {
      while (size-- > 0) packed.push_back(static_cast<char>(number >> (8 * size) & 0xff));
    };
    add(static_cast<int>(date.year()), 2);
    add(static_cast<unsigned>(date.month()), 1);
    add(static_cast<unsigned>(date.day()), 1);
    add(clock.hours().count(), 1);
    add(clock.minutes().count(), 1);
    add(clock.seconds().count(), 1);
    add(clock.subseconds().count(), 3);
    global(pickle_global::datetime);
    bytes(packed);
    if (zoned) zone();
    op(zoned ? pickle_op::tuple2 : pickle_op::tuple1);
    op(pickle_op::reduce);
  }

  /// The timezone UTC.
  void zone() {
    once("zone", [&] {
      global(pickle_global::timezone);
      span(std::chrono::microseconds(0));
      op(pickle_op::tuple1);
      op(pickle_op::reduce);
    });
  }

  /// A timedelta.
  void span(std::chrono::microseconds value) {
    const auto days = std::chrono::floor<std::chrono::days>(value);
    const auto seconds = std::chrono::floor<std::chrono::seconds>(value - days);
    global(pickle_global::timedelta);
    integer(days.count());
    integer(seconds.count());
    integer((value - days - seconds).count());
    op(pickle_op::tuple3);
    op(pickle_op::reduce);
  }

 private:
  template <class Write>
  void once(std::string what, Write write) {
    if (!memoizes_) return write();
    const auto known = memo_.find(what);
    if (known != memo_.end()) return recall(known->second);
    write();
    op(pickle_op::memoize);
    const std::size_t index = memo_.size();
    memo_.emplace(std::move(what), index);
  }

  void recall(std::size_t index) {
    const auto number = static_cast<std::int64_t>(index);
    if (index <= 0xff) with_number(pickle_op::binget, number, 1);
    else with_number(pickle_op::long_binget, number, 4);
  }

  void with_number(pickle_op code, std::int64_t value, int size) {
    op(code);
    little_endian(value, size);
  }

  void little_endian(std::int64_t value, int size) {
    for (int i = 0; i < size; ++i) out_.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }

  bool memoizes_;
  std::string out_;
  std::map<std::string, std::size_t> memo_;
};

}  // namespace elastic::detail

// ---- elastic/rendezvous/torch_state_codec.hpp ----

namespace elastic {

/// What a store holds where the rendezvous has no state yet, so that reading it never blocks.
inline constexpr std::string_view torch_no_state = "Y2FuaW1hZGFt";

/// The pickle of a state, as agents of PyTorch read it. Two equal states may have been written as
/// different pickles by others: compare states, not bytes.
///
/// Errors: `errc::invalid_argument` for a value that no state may have, which the message names,
/// and for a redundancy list in a dialect that has none.
std::string encode_torch_state(const torch_state& state, torch_dialect dialect);

/// Reads a state of any dialect. Nothing that the pickle names is executed or looked up; what no
/// agent writes is refused.
///
/// Errors: `errc::rendezvous_state`, saying what was found and where.
torch_state decode_torch_state(std::string_view pickle);

/// The state as the text that a store holds.
/// Errors: those of `encode_torch_state`.
inline std::string stored_text(const torch_state& state, torch_dialect dialect) {
  return to_base64(encode_torch_state(state, dialect));
}

/// Reads what a store holds.
/// Result: none for `torch_no_state` and for an empty text.
/// Errors: `errc::rendezvous_state`.
inline std::optional<torch_state> parse_stored_text(std::string_view text) {
  if (text.empty() || text == torch_no_state) return std::nullopt;
  if (text.size() > base64_size(limits::rendezvous_state_bytes)) {
    detail::refuse_state(fmt::format("it has {} letters, {} are allowed", text.size(),
                                     base64_size(limits::rendezvous_state_bytes)));
  }
  const std::optional<std::string> pickle = from_base64(text);
  if (!pickle) detail::refuse_state("it is not base64");
  return decode_torch_state(*pickle);
}

namespace detail {

/// A longer name of a host is refused, so that a few bytes which are used often cannot fill the
/// memory; this is what the resolver gives at most.
inline constexpr std::size_t node_host_bytes = 1024;

inline constexpr std::string_view redundancy_list_attribute = "redundancy_list";

inline std::string_view host_attribute(torch_dialect dialect) {
  return dialect == torch_dialect::torch_1_13 ? "fqdn" : "addr";
}

// ---- reading ----------------------------------------------------------------------------------

/// Makes a state of the values of a pickle, and notes which dialect they show.
class torch_state_decoder {
 public:
  explicit torch_state_decoder(std::string_view pickle) : values_(pickle) {}

  torch_state decode() {
    attributes_ = attributes_of(values_.read(), pickle_global::state, "its value is no state");
    torch_state state;
    state.round = integer(take("round"), "round");
    if (state.round < 0) refuse_state(fmt::format("its round is {}", state.round));
    state.complete = boolean("complete");
    state.deadline = optional_time(take("deadline"));
    state.closed = boolean("closed");
    read_participants(state);
    state.wait_list = node_set(take("wait_list"), "wait_list");
    read_heartbeats(state);
    const std::optional<pickle_ref> spares = find(redundancy_list_attribute);
    if (spares) state.redundancy_list = node_set(*spares, redundancy_list_attribute);
    pickle_writer extra(false);
    for (const auto& [name, value] : attributes_) keep(state, extra, name, value);
    judge(state, spares.has_value());
    return state;
  }

 private:
  using attributes = std::map<std::string_view, pickle_ref>;

  attributes attributes_of(pickle_ref ref, pickle_global type, const char* otherwise) const {
    const pickle_value& object = values_[ref];
    if (!object.is(pickle_kind::object, type) || object.items.empty()) refuse_state(otherwise);
    const pickle_value& dict = values_[object.items.front()];
    attributes found;
    for (std::size_t i = 0; i < dict.items.size(); i += 2) {
      const std::string_view name = values_[dict.items[i]].text;
      if (!found.emplace(name, dict.items[i + 1]).second) {
        refuse_state(fmt::format("it has the attribute {} twice", shown(name)));
      }
    }
    return found;
  }

  std::optional<pickle_ref> find(std::string_view name) {
    const auto found = attributes_.find(name);
    if (found == attributes_.end()) return std::nullopt;
    const pickle_ref value = found->second;
    attributes_.erase(found);
    return value;
  }

  pickle_ref take(std::string_view name) {
    const std::optional<pickle_ref> value = find(name);
    if (!value) refuse_state(fmt::format("it has no attribute '{}'", name));
    return *value;
  }

  std::int64_t integer(pickle_ref ref, std::string_view name) const {
    const pickle_value& value = values_[ref];
    if (!value.is(pickle_kind::integer)) refuse_state(fmt::format("its {} is no integer", name));
    return value.number;
  }

  bool boolean(std::string_view name) {
    const pickle_value& value = values_[take(name)];
    if (!value.is(pickle_kind::boolean)) refuse_state(fmt::format("its {} is no bool", name));
    return value.number != 0;
  }

  torch_time time(pickle_ref ref) {
    const pickle_value& value = values_[ref];
    if (!value.is(pickle_kind::time)) refuse_state("a time of it is no datetime");
    (value.is_zoned ? sees_zoned_ : sees_unzoned_) = true;
    return torch_time(std::chrono::microseconds(value.number));
  }

  std::optional<torch_time> optional_time(pickle_ref ref) {
    if (values_[ref].is(pickle_kind::none)) return std::nullopt;
    return time(ref);
  }

  node_id node(pickle_ref ref) {
    constexpr std::string_view form = "a node of it is not made of fqdn or addr, pid and local_id";
    const pickle_value& object = values_[ref];
    if (!object.is(pickle_kind::object, pickle_global::node) || object.items.empty()) {
      refuse_state("what should be a node of it is none");
    }
    const pickle_value& dict = values_[object.items.front()];
    if (dict.items.size() != 6) refuse_state(std::string(form));
    node_id id;
    bool has_host = false;
    bool has_pid = false;
    bool has_local_id = false;
    for (std::size_t i = 0; i < dict.items.size(); i += 2) {
      const std::string_view name = values_[dict.items[i]].text;
      const pickle_ref value = dict.items[i + 1];
      if (name == "fqdn" || name == "addr") {
        has_host = true;
        (name == "fqdn" ? sees_fqdn_ : sees_addr_) = true;
        id.host = host(value);
      } else if (name == "pid") {
        has_pid = true;
        id.pid = integer(value, "node's pid");
      } else if (name == "local_id") {
        has_local_id = true;
        id.local_id = integer(value, "node's local_id");
      }
    }
    if (!has_host || !has_pid || !has_local_id) refuse_state(std::string(form));
    return id;
  }

  std::string host(pickle_ref ref) const {
    const pickle_value& value = values_[ref];
    if (!value.is(pickle_kind::text)) refuse_state("a node of it is named by no text");
    if (value.text.size() > node_host_bytes) {
      refuse_state(fmt::format("the name of a node has {} bytes, {} are allowed",
                               value.text.size(), node_host_bytes));
    }
    return std::string(value.text);
  }

  // The items of a dict or a set of nodes.
  const std::vector<pickle_ref>& items(pickle_ref ref, pickle_kind kind,
                                       std::string_view name) const {
    const pickle_value& value = values_[ref];
    const bool is_dict = kind == pickle_kind::dict;
    if (!value.is(kind)) {
      refuse_state(fmt::format("its {} is no {}", name, is_dict ? "dict" : "set"));
    }
    const std::size_t nodes = value.items.size() / (is_dict ? 2 : 1);
    if (nodes > static_cast<std::size_t>(limits::nodes)) {
      refuse_state(fmt::format("its {} has {} nodes, {} are allowed", name, nodes, limits::nodes));
    }
    return value.items;
  }

  [[noreturn]] static void refuse_twice(const node_id& id, std::string_view name) {
    refuse_state(fmt::format("its {} has the node {} twice", name, shown(id.text())));
  }

  void read_participants(torch_state& state) {
    const auto& pairs = items(take("participants"), pickle_kind::dict, "participants");
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      node_id id = node(pairs[i]);
      const std::int64_t rank = integer(pairs[i + 1], "participant's rank");
      if (rank < 0 || rank >= limits::nodes) {
        refuse_state(fmt::format("the node {} has the rank {}, 0 to {} are allowed",
                                 shown(id.text()), rank, limits::nodes - 1));
      }
      const auto [at, is_new] = state.participants.emplace(std::move(id), static_cast<int>(rank));
      if (!is_new) refuse_twice(at->first, "participants");
    }
  }

  void read_heartbeats(torch_state& state) {
    const auto& pairs = items(take("last_heartbeats"), pickle_kind::dict, "last_heartbeats");
    for (std::size_t i = 0; i < pairs.size(); i += 2) {
      node_id id = node(pairs[i]);
      const auto [at, is_new] = state.last_heartbeats.emplace(std::move(id), time(pairs[i + 1]));
      if (!is_new) refuse_twice(at->first, "last_heartbeats");
    }
  }

  std::set<node_id> node_set(pickle_ref ref, std::string_view name) {
    std::set<node_id> nodes;
    for (const pickle_ref item : items(ref, pickle_kind::set, name)) {
      const auto [at, is_new] = nodes.insert(node(item));
      if (!is_new) refuse_twice(*at, name);
    }
    return nodes;
  }

  // ---- what the dialect does not know ----

  // All extra attributes are written by one writer, which bounds them together.
  void keep(torch_state& state, pickle_writer& extra, std::string_view name, pickle_ref value) {
    const std::size_t begin = extra.written().size();
    copy(extra, value);
    state.extra.emplace(name, extra.written().substr(begin));
  }

  void copy(pickle_writer& to, pickle_ref ref) {
    // A value that is used in many places is copied to each of them.
    if (to.written().size() > limits::rendezvous_state_bytes) {
      refuse_state(fmt::format("its unknown attributes take over {} bytes",
                               limits::rendezvous_state_bytes));
    }
    const pickle_value& value = values_[ref];
    switch (value.kind) {
      case pickle_kind::none: return to.op(pickle_op::none);
      case pickle_kind::boolean: return to.boolean(value.number != 0);
      case pickle_kind::integer: return to.integer(value.number);
      case pickle_kind::text: return to.text(value.text);
      case pickle_kind::bytes: return to.bytes(value.text);
      case pickle_kind::time: return to.time(time(ref), value.is_zoned);
      case pickle_kind::zone: return to.zone();
      case pickle_kind::span: return to.span(std::chrono::microseconds(value.number));
      case pickle_kind::object: return copy_node(to, ref);
      case pickle_kind::tuple: return copy_tuple(to, value);
      case pickle_kind::dict:
        to.op(pickle_op::empty_dict);
        return copy_items(to, value, pickle_op::setitems);
      case pickle_kind::set:
        to.op(pickle_op::empty_set);
        return copy_items(to, value, pickle_op::additems);
      default: refuse_state("an unknown attribute of it cannot be kept");
    }
  }

  void copy_node(pickle_writer& to, pickle_ref ref) {
    const bool saw_fqdn = std::exchange(sees_fqdn_, false);
    const node_id id = node(ref);
    to.node(id, sees_fqdn_ ? "fqdn" : "addr");
    sees_fqdn_ = sees_fqdn_ || saw_fqdn;
  }

  void copy_tuple(pickle_writer& to, const pickle_value& tuple) {
    constexpr pickle_op codes[] = {pickle_op::empty_tuple, pickle_op::tuple1, pickle_op::tuple2,
                                   pickle_op::tuple3};
    for (const pickle_ref item : tuple.items) copy(to, item);
    to.op(codes[tuple.items.size()]);
  }

  void copy_items(pickle_writer& to, const pickle_value& container, pickle_op code) {
    if (container.items.empty()) return;
    to.op(pickle_op::mark);
    for (const pickle_ref item : container.items) copy(to, item);
    to.op(code);
  }

  // ---- the dialect ----

  void judge(torch_state& state, bool has_spares) const {
    if (sees_fqdn_ && sees_addr_) {
      refuse_state("it mixes dialects: nodes with fqdn (PyTorch 1.13) and with addr (2.0)");
    }
    if (sees_unzoned_ && sees_zoned_) {
      refuse_state("it mixes dialects: times without a timezone (PyTorch 1.13, 2.0) and in UTC "
                   "(2.6)");
    }
    if (sees_fqdn_ && sees_zoned_) {
      refuse_state("it mixes dialects: nodes with fqdn (PyTorch 1.13) and times in UTC (2.6)");
    }
    if (sees_zoned_ && !has_spares) {
      refuse_state("it mixes dialects: times in UTC (PyTorch 2.6) without a redundancy_list");
    }
    const bool is_old = sees_fqdn_ || sees_unzoned_;
    if (is_old && !state.redundancy_list.empty()) {
      refuse_state(fmt::format("it mixes dialects: nodes in a redundancy_list (PyTorch 2.6) and {}",
                               sees_fqdn_ ? "nodes with fqdn (1.13)"
                                          : "times without a timezone (1.13, 2.0); agents of 2.3 "
                                            "to 2.5, which do, are not supported"));
    }
    if (sees_fqdn_) {
      state.seen_dialect = torch_dialect::torch_1_13;
    } else if (has_spares && !is_old) {
      state.seen_dialect = torch_dialect::torch_2_6;
    } else if (sees_addr_) {
      state.seen_dialect = torch_dialect::torch_2_0;
    }
    if (is_old && has_spares) {
      // An older agent that found an empty state of 2.6 keeps its redundancy list. So do we.
      state.extra.emplace(redundancy_list_attribute,
                          std::string(1, static_cast<char>(pickle_op::empty_set)));
    }
  }

  pickle_reader values_;
  // Those of the state that were not read yet.
  attributes attributes_;
  bool sees_fqdn_ = false;
  bool sees_addr_ = false;
  bool sees_unzoned_ = false;
  bool sees_zoned_ = false;
};

// ---- writing ----------------------------------------------------------------------------------

[[noreturn]] inline void refuse_to_write(const std::string& why) {
  throw error(errc::invalid_argument, "the state of the rendezvous cannot be written: " + why);
}

/// Writes a state for one dialect.
class torch_state_encoder {
 public:
  explicit torch_state_encoder(torch_dialect dialect)
      : host_attribute_(host_attribute(dialect)),
        is_modern_(dialect == torch_dialect::torch_2_6) {}

  std::string encode(const torch_state& state) {
    if (state.round < 0) refuse_to_write(fmt::format("its round is {}", state.round));
    if (!is_modern_ && !state.redundancy_list.empty()) {
      refuse_to_write("it has a redundancy list, which only the dialect 2.6 knows");
    }
    out_.begin();
    out_.global(pickle_global::state);
    out_.op(pickle_op::empty_tuple);
    out_.op(pickle_op::newobj);
    out_.op(pickle_op::empty_dict);
    out_.op(pickle_op::mark);
    out_.text("round");
    out_.integer(state.round);
    out_.text("complete");
    out_.boolean(state.complete);
    out_.text("deadline");
    if (state.deadline) out_.time(*state.deadline, is_modern_);
    else out_.op(pickle_op::none);
    out_.text("closed");
    out_.boolean(state.closed);
    out_.text("participants");
    dict(state.participants, [&](int rank) { write_rank(rank); });
    out_.text("wait_list");
    set(state.wait_list);
    if (is_modern_) {
      out_.text(redundancy_list_attribute);
      set(state.redundancy_list);
    }
    out_.text("last_heartbeats");
    dict(state.last_heartbeats, [&](torch_time time) { out_.time(time, is_modern_); });
    for (const auto& [name, value] : state.extra) {
      if (is_modern_ && name == redundancy_list_attribute) continue;
      out_.text(name);
      out_.piece(value);
    }
    out_.op(pickle_op::setitems);
    out_.op(pickle_op::build);
    out_.op(pickle_op::stop);
    if (out_.written().size() > limits::rendezvous_state_bytes) {
      refuse_to_write(fmt::format("it has {} bytes, {} are allowed", out_.written().size(),
                                  limits::rendezvous_state_bytes));
    }
    return out_.written();
  }

 private:
  template <class Value, class Write>
  void dict(const std::map<node_id, Value>& entries, Write write) {
    out_.op(pickle_op::empty_dict);
    if (entries.empty()) return;
    out_.op(pickle_op::mark);
    for (const auto& [id, value] : entries) {
      write_node(id);
      write(value);
    }
    out_.op(pickle_op::setitems);
  }

  void set(const std::set<node_id>& nodes) {
    out_.op(pickle_op::empty_set);
    if (nodes.empty()) return;
    out_.op(pickle_op::mark);
    for (const node_id& id : nodes) write_node(id);
    out_.op(pickle_op::additems);
  }

  void write_node(const node_id& id) {
    if (id.host.size() > node_host_bytes || !is_pickle_text(id.host)) {
      refuse_to_write(fmt::format("the name of the node {} is not UTF-8 of at most {} bytes",
                                  shown(id.text()), node_host_bytes));
    }
    out_.node(id, host_attribute_);
  }

  void write_rank(int rank) {
    if (rank < 0 || rank >= limits::nodes) {
      refuse_to_write(fmt::format("it has the rank {}, 0 to {} are allowed", rank,
                                  limits::nodes - 1));
    }
    out_.integer(rank);
  }

  std::string_view host_attribute_;
  bool is_modern_;
  pickle_writer out_{true};
};

}  // namespace detail

inline std::string encode_torch_state(const torch_state& state, torch_dialect dialect) {
  return detail::torch_state_encoder(dialect).encode(state);
}

inline torch_state decode_torch_state(std::string_view pickle) {
  if (pickle.size() > limits::rendezvous_state_bytes) {
    detail::refuse_state(fmt::format("it has {} bytes, {} are allowed", pickle.size(),
                                     limits::rendezvous_state_bytes));
  }
  return detail::torch_state_decoder(pickle).decode();
}

}  // namespace elastic

// ---- elastic/store/versioned_keys.hpp ----

namespace elastic {

/// What was seen of a key.
struct versioned_value {
  /// None where the key was missing.
  std::optional<std::string> value;
  /// Names what was seen, the absence of a key included: another value that is stored later has
  /// another version, also where it is made of the same bytes. Never empty.
  std::string version;
};

/// The least that a place has to offer so that nodes can share a store (`versioned_store`) and the
/// state of a rendezvous (`keyed_rendezvous_backend`) in it. Implement it to use a place of your
/// own.
///
/// Errors of every member: `errc::connection_failed` where the place cannot be reached, and those
/// of the implementation; a message names the place.
/// Cancellation of every member: all types; a change that was cancelled may or may not have
/// happened.
/// Thread-safety: one strand at a time; operations may run at the same time.
class versioned_keys {
 public:
  virtual ~versioned_keys() = default;

  /// What people call the place of a key, as in "the file /shared/job/key".
  virtual std::string place_of(const std::string& key) const = 0;

  /// What is there.
  virtual task<versioned_value> get(std::string key) = 0;

  /// Stores `value` where the key is still as `version` saw it. Result: whether it was stored.
  virtual task<bool> put(std::string key, std::string value, std::string version) = 0;

  /// Stores `value`, whatever there is.
  virtual task<void> put(std::string key, std::string value) = 0;

  /// Removes the key. Result: whether there was one.
  virtual task<bool> erase(std::string key) = 0;

  /// How many keys there are.
  virtual task<std::int64_t> count() = 0;

  /// Returns when the key is not as `version` saw it, or may not be: at the latest when it is time
  /// to look again, where the place cannot tell by itself.
  virtual task<void> wait_for_change(std::string key, std::string version) = 0;
};

}  // namespace elastic

// ---- elastic/rendezvous/keyed_rendezvous_backend.hpp ----

namespace elastic {

/// Reads the state that some place holds as text, which has to be in `dialect`.
/// @param place  what messages call it
/// Result: none where the text says that there is none yet.
/// Errors: `errc::rendezvous_state`, naming the place.
inline std::optional<torch_state> read_stored_text(std::string_view text, torch_dialect dialect,
                                                   const std::string& place) {
  std::optional<torch_state> state;
  try {
    state = parse_stored_text(text);
  } catch (const error& failure) {
    throw error(errc::rendezvous_state, fmt::format("{} ({})", failure.what(), place));
  }
  if (!state || !state->seen_dialect || *state->seen_dialect == dialect) return state;
  const torch_dialect seen = *state->seen_dialect;
  throw error(errc::rendezvous_state,
              fmt::format("the state in {} is in the dialect {} and this node speaks {}: all nodes "
                          "of a job need one dialect (--rdzv-conf dialect={})",
                          place, to_text(seen), to_text(dialect), to_text(seen)));
}

/// Keeps the state of a rendezvous under one key of a place that can compare and set.
///
/// Errors: also those of the place. Thread-safety: one strand at a time.
class keyed_rendezvous_backend final : public rendezvous_backend {
 public:
  /// @param dialect  what is written; a state of another dialect is refused
  keyed_rendezvous_backend(std::shared_ptr<versioned_keys> keys, std::string key,
                           torch_dialect dialect)
      : keys_(std::move(keys)), key_(std::move(key)), dialect_(dialect) {}

  task<std::optional<stored_state>> get() override {
    versioned_value seen = co_await look();
    co_return parsed(std::move(seen));
  }

  task<set_outcome> set(torch_state state, std::string token) override {
    // What is there has to be understood before it is replaced.
    if (token.empty()) {
      versioned_value before = co_await look();
      token = before.version;
      std::optional<stored_state> found = parsed(std::move(before));
      if (found) {
        set_outcome outcome;
        outcome.stored = std::move(found);
        co_return outcome;
      }
    }
    std::string wanted = stored_text(state, dialect_);
    set_outcome outcome;
    outcome.was_set = co_await keys_->put(key_, std::move(wanted), std::move(token));
    versioned_value after = co_await look();
    outcome.stored = parsed(std::move(after));
    co_return outcome;
  }

  task<void> wait_for_change(std::string token) override {
    if (token.empty()) token = nothing_;
    if (!token.empty()) co_await keys_->wait_for_change(key_, std::move(token));
  }

  /// Which dialect the state is written in; none where there is none yet, or one that holds
  /// nothing that tells.
  /// Errors: `errc::rendezvous_state`; those of the place.
  static task<std::optional<torch_dialect>> seen_dialect(std::shared_ptr<versioned_keys> keys,
                                                         std::string key) {
    const versioned_value seen = co_await keys->get(key);
    if (!seen.value) co_return std::nullopt;
    try {
      const std::optional<torch_state> state = parse_stored_text(*seen.value);
      if (!state) co_return std::nullopt;
      co_return state->seen_dialect;
    } catch (const error& failure) {
      throw error(errc::rendezvous_state,
                  fmt::format("{} ({})", failure.what(), keys->place_of(key)));
    }
  }

 private:
  task<versioned_value> look() {
    try {
      co_return co_await keys_->get(key_);
    } catch (const error& failure) {
      // A place that cannot understand its own form.
      if (failure.code() != errc::store_value) throw;
      throw error(errc::rendezvous_state, failure.what());
    }
  }

  std::optional<stored_state> parsed(versioned_value seen) {
    std::optional<torch_state> state;
    if (seen.value) state = read_stored_text(*seen.value, dialect_, keys_->place_of(key_));
    if (state) return stored_state{std::move(*state), std::move(seen.version), std::nullopt};
    nothing_ = std::move(seen.version);
    return std::nullopt;
  }

  std::shared_ptr<versioned_keys> keys_;
  std::string key_;
  torch_dialect dialect_;
  /// The version at which no state was seen.
  std::string nothing_;
};

}  // namespace elastic

// ---- elastic/net/byte_stream.hpp ----

namespace elastic {

/// A connection over which bytes go both ways.
///
/// Errors of every member that waits: `errc::connection_failed`, also after `close`.
/// Cancellation of every member that waits: all types; the connection is of no use then.
/// Thread-safety: one strand at a time; one read and one write at a time.
class byte_stream {
 public:
  virtual ~byte_stream() = default;

  /// Waits until bytes have arrived. Result: how many; 0 once the other side has sent its last.
  virtual task<std::size_t> read_some(asio::mutable_buffer into) = 0;

  /// Sends all of the bytes.
  virtual task<void> write(std::string bytes) = 0;

  /// Ends the connection at once; whoever waits is told.
  virtual void close() = 0;
};

}  // namespace elastic

// ---- elastic/net/http_response_parser.hpp ----

namespace elastic {

/// Reads one HTTP/1.1 response from bytes that arrive in whatever pieces. It is strict: what could
/// be understood in two ways is refused, and so is what is larger than it should be.
///
/// Errors of every member that reads: `errc::protocol_violation`, with a sentence that says what
/// was wrong; the parser is of no use then.
class http_response_parser {
 public:
  /// @param body_bound  the most bytes of a body that are held, taken ones not counted
  explicit http_response_parser(std::size_t body_bound = limits::http_body_bytes)
      : body_bound_(body_bound) {}

  /// Takes bytes. Those behind the end of the response are an error: nobody has asked for them.
  void feed(std::string_view bytes) {
    while (!bytes.empty()) {
      switch (state_) {
        case state::line: read_line(bytes); break;
        case state::counted:
        case state::chunk: read_counted(bytes); break;
        case state::until_end:
          keep(bytes);
          bytes = {};
          break;
        case state::complete: refuse("there are bytes behind its end"); break;
      }
    }
  }

  /// The connection has ended. Errors: where the response was not whole.
  void end() {
    if (state_ == state::until_end) state_ = state::complete;
    if (state_ != state::complete) refuse("it ends in the middle");
  }

  /// Whether the status and the headers are known.
  bool has_head() const { return has_head_; }
  bool is_complete() const { return state_ == state::complete; }

  /// Whether anything has arrived.
  bool has_begun() const { return has_begun_; }

  int status() const { return status_; }

  /// The value of a header, whose name is given in small letters; empty where there is none.
  std::string header(const std::string& name) const {
    const auto found = headers_.find(name);
    return found == headers_.end() ? std::string() : found->second;
  }

  const std::map<std::string, std::string>& headers() const { return headers_; }

  /// Whether a further request may be sent over the connection, once the response is complete.
  bool keeps_connection() const { return keeps_connection_; }

  /// What has arrived of the body since it was taken last.
  std::string take_body() { return std::exchange(body_, std::string()); }

 private:
  enum class state { line, counted, chunk, until_end, complete };
  enum class line_of { status, header, chunk_size, chunk_end, trailer };

  [[noreturn]] static void refuse(const std::string& why) {
    throw error(errc::protocol_violation, "the answer is not one of HTTP/1.1: " + why);
  }

  // Printable, so that a message can show it.
  static std::string shown(std::string_view text) {
    constexpr std::size_t most = 60;
    std::string result(text.substr(0, most));
    for (char& letter : result) {
      if (letter < ' ' || letter > '~') letter = '?';
    }
    return result;
  }

  // ---- lines ----------------------------------------------------------------------------------

  void read_line(std::string_view& bytes) {
    has_begun_ = true;
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    line_.append(part);
    head_bytes_ += part.size() + 1;
    if (line_of_ == line_of::status && !begins_as_http()) {
      refuse(fmt::format("it begins with '{}'", shown(line_)));
    }
    if (head_bytes_ > limits::http_head_bytes) {
      refuse(fmt::format("its head has over {} bytes", limits::http_head_bytes));
    }
    bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
    if (end == std::string_view::npos) return;
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    const std::string line = std::exchange(line_, std::string());
    switch (line_of_) {
      case line_of::status: read_status(line); break;
      case line_of::header: read_header(line); break;
      case line_of::chunk_size: read_chunk_size(line); break;
      case line_of::chunk_end:
        if (!line.empty()) refuse("a chunk is longer than it says");
        line_of_ = line_of::chunk_size;
        head_bytes_ = 0;
        break;
      case line_of::trailer:
        if (line.empty()) state_ = state::complete;
        break;
    }
  }

  bool begins_as_http() const {
    constexpr std::string_view start = "HTTP/1.";
    const std::size_t size = std::min(line_.size(), start.size());
    return std::string_view(line_).substr(0, size) == start.substr(0, size);
  }

  // "HTTP/1.1 200 OK"
  void read_status(const std::string& line) {
    constexpr std::size_t code_at = 9;
    const bool has_form = line.size() >= code_at + 3 && (line[7] == '0' || line[7] == '1') &&
                          line[8] == ' ' && (line.size() == code_at + 3 || line[12] == ' ');
    const char* digits = line.data() + code_at;
    if (has_form) std::from_chars(digits, digits + 3, status_);
    if (!has_form || status_ < 100 || status_ > 599) {
      refuse(fmt::format("its first line is '{}'", shown(line)));
    }
    keeps_connection_ = line[7] == '1';
    line_of_ = line_of::header;
  }

  void read_header(const std::string& line) {
    if (line.empty()) return end_head();
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || colon == 0 || line.find_first_of(" \t") < colon) {
      refuse(fmt::format("'{}' is no header", shown(line)));
    }
    std::string name = line.substr(0, colon);
    for (char& letter : name) {
      if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
    const std::size_t last = line.find_last_not_of(" \t");
    std::string value;
    if (begin != std::string::npos) value = line.substr(begin, last + 1 - begin);
    const bool is_framing = name == "content-length" || name == "transfer-encoding";
    const auto [place, is_new] = headers_.emplace(std::move(name), value);
    if (!is_new && is_framing && place->second != value) {
      refuse("it tells its length in two ways");
    }
  }

  void end_head() {
    head_bytes_ = 0;
    if (status_ < 200) {
      // Only announces the response.
      constexpr int most_announcements = 8;
      if (++announcements_ > most_announcements) refuse("it is announced again and again");
      headers_.clear();
      line_of_ = line_of::status;
      return;
    }
    has_head_ = true;
    if (header("connection") == "close") keeps_connection_ = false;
    const std::string encoding = header("transfer-encoding");
    const std::string length = header("content-length");
    if (!encoding.empty() && !length.empty()) refuse("it tells its length in two ways");
    if (status_ == 204 || status_ == 304) {
      state_ = state::complete;
    } else if (!encoding.empty()) {
      if (encoding != "chunked") refuse(fmt::format("'{}' is not known", shown(encoding)));
      line_of_ = line_of::chunk_size;
    } else if (!length.empty()) {
      left_ = read_number(length, 10);
      if (left_ > body_bound_) {
        refuse(fmt::format("its body has {} bytes, {} are allowed", left_, body_bound_));
      }
      state_ = left_ == 0 ? state::complete : state::counted;
    } else {
      keeps_connection_ = false;
      state_ = state::until_end;
    }
  }

  // ---- the body -------------------------------------------------------------------------------

  static std::uint64_t read_number(std::string_view digits, int base) {
    std::uint64_t number = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, number, base);
    if (failure != std::errc() || stop != end) {
      refuse(fmt::format("'{}' is no length", shown(digits)));
    }
    return number;
  }

  void read_chunk_size(std::string_view line) {
    // What follows a semicolon says more about the chunk; nobody uses it.
    line = line.substr(0, line.find(';'));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
    left_ = read_number(line, 16);
    if (left_ > body_bound_) {
      refuse(fmt::format("a chunk has {} bytes, {} are allowed", left_, body_bound_));
    }
    if (left_ > 0) {
      state_ = state::chunk;
    } else {
      head_bytes_ = 0;
      line_of_ = line_of::trailer;
    }
  }

  void read_counted(std::string_view& bytes) {
    const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
    keep(bytes.substr(0, size));
    bytes.remove_prefix(size);
    left_ -= size;
    if (left_ > 0) return;
    if (state_ == state::counted) {
      state_ = state::complete;
    } else {
      state_ = state::line;
      line_of_ = line_of::chunk_end;
    }
  }

  void keep(std::string_view bytes) {
    if (body_.size() + bytes.size() > body_bound_) {
      refuse(fmt::format("its body has over {} bytes", body_bound_));
    }
    body_.append(bytes);
  }

  std::size_t body_bound_;
  state state_ = state::line;
  line_of line_of_ = line_of::status;
  std::string line_;
  std::size_t head_bytes_ = 0;
  bool has_begun_ = false;
  bool has_head_ = false;
  int announcements_ = 0;
  int status_ = 0;
  std::map<std::string, std::string> headers_;
  bool keeps_connection_ = false;
  std::uint64_t left_ = 0;
  std::string body_;
};

}  // namespace elastic

// ---- elastic/net/http_connection.hpp ----

namespace elastic {

/// What is asked of an HTTP server.
struct http_request {
  std::string method = "GET";
  /// From the first slash on, encoded as it is to be sent.
  std::string target = "/";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

/// What it answers.
struct http_response {
  int status = 0;
  /// By their names in small letters.
  std::map<std::string, std::string> headers;
  std::string body;
};

/// A connection to an HTTP/1.1 server, over which one request goes after the other.
///
/// Time limits are the caller's: `with_deadline(time, deadline, connection.exchange(request))`.
///
/// Errors of every member that waits: `errc::connection_failed`, `errc::protocol_violation`.
/// Cancellation of every member that waits: all types; the connection is of no use then.
/// Thread-safety: one strand at a time; one request at a time.
class http_connection {
 public:
  /// @param host  what the server is told that it was called: "host:port"
  http_connection(std::unique_ptr<byte_stream> stream, std::string host)
      : stream_(std::move(stream)), host_(std::move(host)) {}

  /// Sends a request and reads the whole response.
  task<http_response> exchange(http_request request) {
    co_await begin(std::move(request));
    while (!parser_->is_complete()) co_await read_some();
    http_response response;
    response.status = parser_->status();
    response.headers = parser_->headers();
    response.body = parser_->take_body();
    is_usable_ = parser_->keeps_connection();
    co_return response;
  }

  /// Sends a request and reads the beginning of a response whose body comes bit by bit.
  /// Result: the status.
  task<int> begin(http_request request) {
    // Until the response is complete, whatever ends this ends the connection with it.
    is_usable_ = false;
    parser_.emplace();
    std::string bytes = text_of(request);
    co_await stream_->write(std::move(bytes));
    while (!parser_->has_head()) co_await read_some();
    co_return parser_->status();
  }

  /// The next bytes of the body of a response that was begun; empty at its end.
  task<std::string> next_piece() {
    std::string piece = parser_->take_body();
    while (piece.empty() && !parser_->is_complete()) {
      co_await read_some();
      piece = parser_->take_body();
    }
    if (piece.empty()) is_usable_ = parser_->keeps_connection();
    co_return piece;
  }

  /// Whether a further request may be sent.
  bool is_usable() const { return is_usable_; }

  /// Whether the server has answered anything to the last request.
  bool was_answered() const { return parser_ && parser_->has_begun(); }

 private:
  std::string text_of(const http_request& request) const {
    std::string text = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method,
                                   request.target, host_);
    for (const auto& [name, value] : request.headers) {
      text += fmt::format("{}: {}\r\n", name, value);
    }
    text += fmt::format("Content-Length: {}\r\n\r\n", request.body.size());
    return text + request.body;
  }

  task<void> read_some() {
    const asio::mutable_buffer into = asio::buffer(piece_);
    const std::size_t size = co_await stream_->read_some(into);
    if (size > 0) {
      parser_->feed({piece_.data(), size});
    } else if (!parser_->has_begun()) {
      throw error(errc::connection_failed, "the server hung up without an answer");
    } else if (!parser_->has_head() || !ends_with_connection()) {
      throw error(errc::connection_failed, "the server hung up in the middle of its answer");
    } else {
      parser_->end();
    }
  }

  bool ends_with_connection() const {
    return parser_->header("content-length").empty() &&
           parser_->header("transfer-encoding").empty();
  }

  std::unique_ptr<byte_stream> stream_;
  std::string host_;
  std::optional<http_response_parser> parser_;
  std::array<char, 16 * 1024> piece_;
  bool is_usable_ = true;
};

}  // namespace elastic

// ---- elastic/net/tcp_stream.hpp ----

namespace elastic {

namespace detail {

inline task<std::tuple<asio::error_code>> connect_one(asio::ip::tcp::socket& socket,
                                                      asio::ip::tcp::endpoint end) {
  asio::error_code failure;
  socket.close(failure);
  socket.open(end.protocol(), failure);
  if (failure) co_return failure;
  ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
  co_return co_await socket.async_connect(end, as_result);
}

}  // namespace detail

/// Connects to a port of a host, at the first of its addresses where that succeeds.
///
/// Errors: `errc::connection_failed`, naming each address that was tried and what it said.
/// Cancellation: all types; while a name is resolved, once the resolver has answered.
inline task<asio::ip::tcp::socket> connect_tcp(endpoint to) {
  auto executor = co_await asio::this_coro::executor;
  const auto addresses = co_await detail::resolve_addresses(to.host, nullptr);
  if (addresses.empty()) {
    throw error(errc::connection_failed,
                fmt::format("the name '{}' cannot be resolved", to.host));
  }
  asio::ip::tcp::socket socket(executor);
  std::string tried;
  for (const auto& address : addresses) {
    const asio::ip::tcp::endpoint end(address, to.port);
    auto [failure] = co_await detail::connect_one(socket, end);
    if (!failure) {
      asio::error_code ignored;
      socket.set_option(asio::ip::tcp::no_delay(true), ignored);
      co_return std::move(socket);
    }
    if (failure == asio::error::operation_aborted) throw std::system_error(failure);
    const endpoint shown{address.to_string(), to.port};
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", to_text(shown), failure.message());
  }
  throw error(errc::connection_failed, tried);
}

/// A TCP connection as it is, without encryption.
class tcp_stream final : public byte_stream {
 public:
  explicit tcp_stream(asio::ip::tcp::socket connected) : socket_(std::move(connected)) {}

  task<std::size_t> read_some(asio::mutable_buffer into) override {
    auto [failure, size] = co_await socket_.async_read_some(into, detail::as_result);
    if (failure == asio::error::eof) co_return 0;
    throw_if(failure);
    co_return size;
  }

  task<void> write(std::string bytes) override {
    auto [failure, size] =
        co_await asio::async_write(socket_, asio::buffer(bytes), detail::as_result);
    throw_if(failure);
  }

  void close() override {
    asio::error_code ignored;
    socket_.close(ignored);
  }

 private:
  void throw_if(asio::error_code failure) const {
    if (!failure) return;
    if (failure == asio::error::operation_aborted && socket_.is_open()) {
      throw std::system_error(failure);
    }
    throw error(errc::connection_failed,
                fmt::format("the connection broke: {}", failure.message()));
  }

  asio::ip::tcp::socket socket_;
};

}  // namespace elastic

// ---- elastic/net/tls_options.hpp ----

namespace elastic {

/// Whom a TLS connection trusts, and who it says that it is. Files are in PEM form.
struct tls_options {
  /// The certificates of the authorities that a server's certificate may come from; empty: those
  /// that this system trusts.
  std::string authorities;
  /// This side's certificate, with those between it and its authority; empty: none is shown.
  std::string certificate;
  /// The private key of `certificate`; empty: it is in the same file.
  std::string key;
};

}  // namespace elastic

// ---- elastic/net/tls_stream.hpp ----

// Needs OpenSSL, so it is here only where ELASTIC_HAS_TLS is defined: by the CMake target elastic,
// where its option ELASTIC_WITH_TLS is on, or by whoever compiles without CMake.
#if defined(ELASTIC_HAS_TLS)

#include <asio/ssl.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// A TCP connection under TLS, 1.2 or later, to a server whose certificate was checked.
class tls_stream final : public byte_stream {
 public:
  /// Greets the server on a connection that was just made.
  ///
  /// @param host  the name or address that its certificate has to be for
  /// Errors: `errc::invalid_argument` where a file cannot be used or the server is not to be
  /// trusted, `errc::connection_failed` where it broke.
  /// Cancellation: all types.
  static task<std::unique_ptr<tls_stream>> greet(asio::ip::tcp::socket connected,
                                                 std::string host, tls_options options) {
    std::unique_ptr<tls_stream> made(new tls_stream(std::move(connected), options));
    made->expect(host);
    auto [failure] = co_await made->stream_.async_handshake(asio::ssl::stream_base::client,
                                                            detail::as_result);
    if (failure == asio::error::operation_aborted) throw std::system_error(failure);
    if (failure && is_broken(failure)) {
      throw error(errc::connection_failed,
                  fmt::format("the TLS handshake broke off: {}", failure.message()));
    }
    if (failure) {
      throw error(errc::invalid_argument, fmt::format("the TLS handshake failed: {}{}",
                                                      failure.message(), made->why_untrusted()));
    }
    co_return made;
  }

  /// Looks whether the files can be used.
  /// Errors: `errc::invalid_argument`.
  static void check(const tls_options& options) {
    asio::ssl::context context(asio::ssl::context::tls_client);
    prepare(context, options);
  }

  task<std::size_t> read_some(asio::mutable_buffer into) override {
    auto [failure, size] = co_await stream_.async_read_some(into, detail::as_result);
    if (failure == asio::error::eof || failure == asio::ssl::error::stream_truncated) co_return 0;
    throw_if(failure);
    co_return size;
  }

  task<void> write(std::string bytes) override {
    auto [failure, size] =
        co_await asio::async_write(stream_, asio::buffer(bytes), detail::as_result);
    throw_if(failure);
  }

  void close() override {
    asio::error_code ignored;
    stream_.next_layer().close(ignored);
  }

 private:
  tls_stream(asio::ip::tcp::socket connected, const tls_options& options)
      : context_(asio::ssl::context::tls_client),
        stream_(std::move(connected), prepare(context_, options)) {}

  static asio::ssl::context& prepare(asio::ssl::context& context, const tls_options& options) {
    asio::error_code failure;
    ::SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
    context.set_verify_mode(asio::ssl::verify_peer, failure);
    if (options.authorities.empty()) {
      context.set_default_verify_paths(failure);
    } else {
      context.load_verify_file(options.authorities, failure);
      check_file(options.authorities, failure);
    }
    if (options.certificate.empty()) return context;
    context.use_certificate_chain_file(options.certificate, failure);
    check_file(options.certificate, failure);
    const std::string& key = options.key.empty() ? options.certificate : options.key;
    context.use_private_key_file(key, asio::ssl::context::pem, failure);
    check_file(key, failure);
    return context;
  }

  static void check_file(const std::string& file, asio::error_code failure) {
    if (!failure) return;
    throw error(errc::invalid_argument, fmt::format("the file '{}' cannot be used for TLS: {}",
                                                    file, failure.message()));
  }

  void expect(const std::string& host) {
    asio::error_code not_an_address;
    asio::ip::make_address(host, not_an_address);
    // A server of several names wants to be told by which it was called; an address is none.
    if (not_an_address) ::SSL_set_tlsext_host_name(stream_.native_handle(), host.c_str());
    stream_.set_verify_callback(asio::ssl::host_name_verification(host));
  }

  std::string why_untrusted() {
    const long verdict = ::SSL_get_verify_result(stream_.native_handle());
    if (verdict == X509_V_OK) return "";
    return fmt::format(" ({})", ::X509_verify_cert_error_string(verdict));
  }

  // Not by what TLS says, but below it: it may work the next time.
  static bool is_broken(asio::error_code failure) {
    return failure.category() == asio::error::get_system_category() ||
           failure == asio::error::eof || failure == asio::ssl::error::stream_truncated;
  }

  void throw_if(asio::error_code failure) {
    if (!failure) return;
    if (failure == asio::error::operation_aborted && stream_.next_layer().is_open()) {
      throw std::system_error(failure);
    }
    throw error(errc::connection_failed,
                fmt::format("the connection broke: {}", failure.message()));
  }

  asio::ssl::context context_;
  asio::ssl::stream<asio::ip::tcp::socket> stream_;
};

}  // namespace elastic

#endif  // defined(ELASTIC_HAS_TLS)

// ---- elastic/store/etcd_client.hpp ----

namespace elastic {

/// How an etcd is reached.
struct etcd_options {
  /// Members of one cluster, any of which will do; at least one.
  std::vector<endpoint> members;
  /// Who this is; empty where etcd does not want to know.
  std::string user;
  std::string password;
  /// Whether it is spoken to by https, and whom it is trusted then.
  bool uses_tls = false;
  tls_options tls;
  /// How long a member has to answer before the next one is asked.
  duration answer_timeout = std::chrono::seconds(2);
  /// How long an etcd is tried that was never reached, counted from the first request.
  duration first_patience = std::chrono::seconds(600);
  /// How long one that was reached before may be away.
  duration patience = limits::rendezvous_absence;
  std::shared_ptr<time_source> time = std::make_shared<system_time>();
  logger log;
};

/// What etcd says where it does not do what it was asked for, with the code that gRPC has for it.
class etcd_refusal final : public error {
 public:
  static constexpr int invalid_argument = 3;
  static constexpr int not_found = 5;
  static constexpr int permission_denied = 7;
  static constexpr int failed_precondition = 9;
  static constexpr int unauthenticated = 16;

  etcd_refusal(errc code, const std::string& sentence, int reason)
      : error(code, sentence), reason_(reason) {}

  int reason() const { return reason_; }

 private:
  int reason_;
};

/// Speaks with etcd (3.4 or later) over HTTP/1.1 and JSON: one request after the other to whichever
/// member answers.
///
/// A request is repeated, with pauses, while no member answers, for as long as the options allow;
/// where that was not long enough, the next request is tried only once. So it may be carried out
/// twice: whoever changes something has to see to it that this does no harm.
///
/// Errors of every member that waits: `errc::connection_failed` where no member could be reached,
/// naming each and what was wrong; at once `errc::protocol_violation` where something else than
/// etcd answers and `errc::invalid_argument` where a certificate or a password is refused.
/// Cancellation of every member that waits: all types; a request may or may not be carried out.
/// Thread-safety: one strand at a time; operations may run at the same time.
class etcd_client {
 public:
  using json = nlohmann::json;

  /// Errors: `errc::invalid_argument` where TLS is wanted of a build without, or of files that
  /// cannot be used.
  explicit etcd_client(etcd_options options) : options_(std::move(options)) {
    idle_.resize(options_.members.size());
    if (!options_.uses_tls) return;
#if defined(ELASTIC_HAS_TLS)
    tls_stream::check(options_.tls);
#else
    throw error(errc::invalid_argument,
                "https cannot be spoken: this program was built without TLS (ELASTIC_WITH_TLS, "
                "which needs OpenSSL)");
#endif
  }

  const etcd_options& options() const { return options_; }
  time_source& time() const { return *options_.time; }

  /// The members, as messages show them.
  std::string name() const {
    std::string names;
    for (std::size_t i = 0; i < options_.members.size(); ++i) {
      names += (i == 0 ? "" : ", ") + name_of(i);
    }
    return names;
  }

  /// What /version says: "3.4.23".
  task<std::string> version() {
    http_request request;
    request.target = "/version";
    const http_response response = co_await ask(std::move(request));
    const json answer = json::parse(response.body, nullptr, false);
    if (response.status == 200 && answer.is_object()) {
      const auto found = answer.find("etcdserver");
      if (found != answer.end() && found->is_string()) co_return found->get<std::string>();
    }
    throw error(errc::protocol_violation,
                fmt::format("what answers at {} is not etcd: {}", name_of(current_),
                            shown(response)));
  }

  /// Calls a method of the v3 API: "/v3/kv/range".
  /// Errors: also `etcd_refusal`; `errc::not_supported` where there is no such method.
  task<json> call(std::string target, json body) {
    const std::string text = to_text(body);
    bool is_renewed = false;
    for (;;) {
      if (!options_.user.empty() && token_.empty() && !is_open_) co_await authenticate();
      http_request request = v3_request(target, text);
      const http_response response = co_await ask(std::move(request));
      json answer = read_answer(response, target);
      const std::optional<etcd_refusal> refusal = refusal_in(answer);
      if (!refusal) co_return answer;
      // A token ends with the member that gave it, with time, and where users change.
      const bool may_be_old =
          !token_.empty() && (refusal->reason() == etcd_refusal::unauthenticated ||
                              text_in(answer, "error").find("auth store") != std::string::npos);
      if (!may_be_old || is_renewed) throw *refusal;
      is_renewed = true;
      token_.clear();
    }
  }

  /// Waits until something happens that the request for a watch ("create_request") describes.
  /// Result: at once where the watch cannot be had, after a pause: whoever waits looks again.
  task<void> await_event(json create_request) {
    std::string problem;
    try {
      if (!options_.user.empty() && token_.empty() && !is_open_) co_await authenticate();
      json body;
      body["create_request"] = std::move(create_request);
      http_request request = v3_request("/v3/watch", to_text(body));
      co_await follow(std::move(request));
      co_return;
    } catch (const error& failure) {
      problem = failure.what();
    }
    options_.log.debug("etcd does not tell of changes: {}", problem);
    co_await time().sleep_until(time().now() + watch_pause);
  }

  /// Sends a request of any kind to a member that answers it.
  task<http_response> ask(http_request request) {
    duration pause = first_pause;
    const time_point begin = time().now();
    if (!first_limit_) first_limit_ = begin + options_.first_patience;
    const time_point limit = was_reached_ ? begin + options_.patience : *first_limit_;
    for (;;) {
      std::string tried;
      for (std::size_t i = 0; i < options_.members.size(); ++i) {
        std::optional<http_response> answer = co_await try_member(current_, request, tried);
        if (answer) {
          was_reached_ = true;
          is_lost_ = false;
          co_return std::move(*answer);
        }
        current_ = (current_ + 1) % options_.members.size();
      }
      const time_point now = time().now();
      if (is_lost_ || now >= limit) {
        is_lost_ = true;
        throw error(errc::connection_failed, fmt::format("etcd cannot be reached: {}", tried));
      }
      options_.log.debug("etcd cannot be reached, trying again: {}", tried);
      const time_point next_try = std::min(now + pause, limit);
      co_await time().sleep_until(next_try);
      pause = std::min<duration>(2 * pause, last_pause);
    }
  }

  /// Sends a request whose answer takes as long as it takes, once, to the member that answered
  /// last.
  task<http_response> ask_patiently(http_request request) {
    const std::size_t member = current_;
    std::unique_ptr<http_connection> connection = co_await connect_in_time(member);
    co_return co_await connection->exchange(std::move(request));
  }

  /// A whole number in an answer, where they are written as text; 0 where it is missing.
  /// Errors: `errc::protocol_violation`.
  static std::int64_t number_in(const json& object, const char* name) {
    if (!object.is_object()) refuse_form(name);
    const auto found = object.find(name);
    if (found == object.end()) return 0;
    if (found->is_number_integer()) return found->get<std::int64_t>();
    std::int64_t number = 0;
    if (!found->is_string()) refuse_form(name);
    const auto& digits = found->get_ref<const std::string&>();
    const char* end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, number);
    if (failure != std::errc() || stop != end) refuse_form(name);
    return number;
  }

  /// A text in an answer; empty where it is missing.
  /// Errors: `errc::protocol_violation`.
  static std::string text_in(const json& object, const char* name) {
    if (!object.is_object()) refuse_form(name);
    const auto found = object.find(name);
    if (found == object.end()) return "";
    if (!found->is_string()) refuse_form(name);
    return found->get<std::string>();
  }

  /// An object or a list in an answer; null where it is missing.
  /// Errors: `errc::protocol_violation`.
  static const json& part_of(const json& object, const char* name) {
    static const json nothing;
    if (!object.is_object()) refuse_form(name);
    const auto found = object.find(name);
    return found == object.end() ? nothing : *found;
  }

 private:
  static constexpr std::chrono::milliseconds first_pause{50};
  static constexpr std::chrono::milliseconds last_pause{500};
  static constexpr std::chrono::milliseconds watch_pause{200};
  /// How long a member has to answer when all were given up before.
  static constexpr std::chrono::milliseconds lost_timeout{500};
  static constexpr std::size_t most_idle = 4;

  [[noreturn]] static void refuse_form(const char* name) {
    throw error(errc::protocol_violation,
                fmt::format("etcd's answer is not in its form, at '{}'", name));
  }

  std::string name_of(std::size_t member) const {
    return fmt::format("{}://{}", options_.uses_tls ? "https" : "http",
                       elastic::to_text(options_.members[member]));
  }

  static std::string to_text(const json& body) {
    return body.dump(-1, ' ', false, json::error_handler_t::replace);
  }

  // Its beginning, printable.
  static std::string shown(const http_response& response) {
    constexpr std::size_t most = 100;
    std::string text = response.body.substr(0, most);
    while (!text.empty() && text.back() == '\n') text.pop_back();
    for (char& letter : text) {
      if (letter < ' ' || letter > '~') letter = '?';
    }
    return fmt::format("HTTP status {}, '{}'", response.status, text);
  }

  // ---- connections ----------------------------------------------------------------------------

  task<std::optional<http_response>> try_member(std::size_t member, http_request request,
                                                std::string& tried) {
    std::string problem;
    try {
      const duration allowed =
          is_lost_ ? std::min<duration>(lost_timeout, options_.answer_timeout)
                   : options_.answer_timeout;
      const time_point limit = time().now() + allowed;
      task<http_response> asking = ask_member(member, std::move(request));
      std::optional<http_response> answer =
          co_await with_deadline(time(), limit, std::move(asking));
      if (answer && answer->status < 500) co_return answer;
      const std::chrono::duration<double> seconds = allowed;
      problem = answer ? shown(*answer) : fmt::format("no answer within {} s", seconds.count());
    } catch (const error& failure) {
      if (failure.code() != errc::connection_failed) {
        throw error(static_cast<errc>(failure.code().value()),
                    fmt::format("{}: {}", name_of(member), failure.what()));
      }
      problem = failure.what();
    }
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", name_of(member), problem);
    co_return std::nullopt;
  }

  task<http_response> ask_member(std::size_t member, http_request request) {
    std::unique_ptr<http_connection> connection;
    if (!idle_[member].empty()) {
      connection = std::move(idle_[member].back());
      idle_[member].pop_back();
      try {
        http_response response = co_await connection->exchange(request);
        keep(member, std::move(connection));
        co_return response;
      } catch (const error& failure) {
        if (failure.code() != errc::connection_failed || connection->was_answered()) throw;
      }
      // The member has closed it, or has gone and come back: so with all others.
      idle_[member].clear();
    }
    connection = co_await connect(member);
    http_response response = co_await connection->exchange(std::move(request));
    keep(member, std::move(connection));
    co_return response;
  }

  void keep(std::size_t member, std::unique_ptr<http_connection> connection) {
    if (!connection->is_usable() || idle_[member].size() >= most_idle) return;
    idle_[member].push_back(std::move(connection));
  }

  task<std::unique_ptr<http_connection>> connect(std::size_t member) {
    const endpoint at = options_.members[member];
    asio::ip::tcp::socket socket = co_await connect_tcp(at);
    std::unique_ptr<byte_stream> stream;
    if (options_.uses_tls) {
#if defined(ELASTIC_HAS_TLS)
      stream = co_await tls_stream::greet(std::move(socket), at.host, options_.tls);
#endif
    } else {
      stream = std::make_unique<tcp_stream>(std::move(socket));
    }
    co_return std::make_unique<http_connection>(std::move(stream), elastic::to_text(at));
  }

  task<std::unique_ptr<http_connection>> connect_in_time(std::size_t member) {
    const time_point limit = time().now() + options_.answer_timeout;
    task<std::unique_ptr<http_connection>> connecting = connect(member);
    auto connection = co_await with_deadline(time(), limit, std::move(connecting));
    if (!connection) throw error(errc::connection_failed, name_of(member) + " does not answer");
    co_return std::move(*connection);
  }

  // ---- the v3 API -----------------------------------------------------------------------------

  http_request v3_request(std::string target, std::string body) const {
    http_request request;
    request.method = "POST";
    request.target = std::move(target);
    request.headers.emplace_back("Content-Type", "application/json");
    if (!token_.empty()) request.headers.emplace_back("Authorization", token_);
    request.body = std::move(body);
    return request;
  }

  task<void> authenticate() {
    json body;
    body["name"] = options_.user;
    body["password"] = options_.password;
    const std::string target = "/v3/auth/authenticate";
    http_request request = v3_request(target, to_text(body));
    const http_response response = co_await ask(std::move(request));
    const json answer = read_answer(response, target);
    const std::optional<etcd_refusal> refusal = refusal_in(answer);
    if (refusal && refusal->reason() == etcd_refusal::failed_precondition) {
      options_.log.debug("etcd does not want to know the user: {}", refusal->what());
      is_open_ = true;
      co_return;
    }
    if (refusal) throw *refusal;
    token_ = text_in(answer, "token");
    const bool is_header = std::all_of(token_.begin(), token_.end(),
                                       [](char letter) { return letter > ' ' && letter <= '~'; });
    if (token_.empty() || !is_header) refuse_form("token");
  }

  json read_answer(const http_response& response, const std::string& target) const {
    // Of a stream, that is the first and only message.
    json answer = json::parse(response.body, nullptr, false);
    const bool is_ours = answer.is_object() &&
                         (response.status == 200 || answer.contains("error"));
    if (is_ours) return answer;
    if (response.status == 404) {
      throw error(errc::not_supported,
                  fmt::format("the etcd at {} does not offer {}: version 3.4 or later is needed, "
                              "with its gRPC gateway on ({})",
                              name_of(current_), target, shown(response)));
    }
    throw error(errc::protocol_violation,
                fmt::format("what answers at {} is not etcd: {}", name_of(current_),
                            shown(response)));
  }

  std::optional<etcd_refusal> refusal_in(const json& answer) const {
    const json& problem = part_of(answer, "error");
    if (problem.is_null()) return std::nullopt;
    // That of a stream is an object.
    const json& holder = problem.is_object() ? problem : answer;
    const std::string text =
        problem.is_object() ? text_in(problem, "message") : text_in(answer, "error");
    const int reason = static_cast<int>(number_in(
        holder, holder.contains("grpc_code") ? "grpc_code" : "code"));
    std::string advice;
    if (text.find("user name is empty") != std::string::npos) {
      advice = ": it wants to know who this is (--rdzv-conf user=…,password=…)";
    } else if (text.find("authentication failed") != std::string::npos) {
      advice = fmt::format(", for the user '{}'", options_.user);
    } else if (reason == etcd_refusal::permission_denied) {
      advice = fmt::format(": the user '{}' may not use these keys", options_.user);
    }
    const errc code = reason == etcd_refusal::not_found ? errc::store_value
                                                        : errc::invalid_argument;
    return etcd_refusal(code,
                        fmt::format("the etcd at {} refuses: {:.200}{}", name_of(current_), text,
                                    advice),
                        reason);
  }

  // Until an event comes, or the watch ends.
  task<void> follow(http_request request) {
    std::unique_ptr<http_connection> connection = co_await connect_in_time(current_);
    const int status = co_await connection->begin(std::move(request));
    std::string text;
    for (;;) {
      std::string piece = co_await connection->next_piece();
      if (piece.empty()) break;
      text += piece;
      if (text.size() > limits::http_body_bytes) refuse_form("events");
      for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
        const bool has_happened = status != 200 || tells_of_event(text.substr(0, end));
        if (has_happened && status == 200) co_return;
        text.erase(0, end + 1);
      }
    }
    if (status == 401) token_.clear();
    throw error(errc::connection_failed, fmt::format("the watch ended (HTTP status {})", status));
  }

  static bool tells_of_event(const std::string& line) {
    if (line.empty()) return false;
    const json message = json::parse(line, nullptr, false);
    const json& result = part_of(message, "result");
    if (result.is_null()) refuse_form("result");
    const json& canceled = part_of(result, "canceled");
    if (canceled.is_boolean() && canceled.get<bool>()) {
      // What was to be watched is so old that etcd has forgotten it: it may have changed.
      if (number_in(result, "compact_revision") > 0) return true;
      throw error(errc::connection_failed, fmt::format("the watch was cancelled: {:.200}",
                                                       text_in(result, "cancel_reason")));
    }
    const json& events = part_of(result, "events");
    return events.is_array() && !events.empty();
  }

  etcd_options options_;
  std::size_t current_ = 0;
  std::vector<std::vector<std::unique_ptr<http_connection>>> idle_;
  std::string token_;
  /// Etcd has said that it does not ask who one is.
  bool is_open_ = false;
  bool was_reached_ = false;
  bool is_lost_ = false;
  std::optional<time_point> first_limit_;
};

}  // namespace elastic

// ---- elastic/store/etcd_keys.hpp ----

namespace elastic {

/// The first key behind all those that begin with `prefix`, as etcd wants the end of a range.
inline std::string etcd_prefix_end(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');
  prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

/// The changes that one program makes in etcd, each with a name of its own, which is written along
/// with it: where a connection breaks before the answer comes, a second try learns from it that
/// the first one was carried out.
///
/// Thread-safety: one strand at a time.
class etcd_marker {
 public:
  explicit etcd_marker(std::string root) {
    random_source random;
    key_ = root + random_name(random, 16);
  }

  const std::string& key() const { return key_; }
  std::string next() { return std::to_string(++last_); }

 private:
  std::string key_;
  std::uint64_t last_ = 0;
};

/// Keys of etcd, by its v3 API, all under one prefix. A change is told at once.
///
/// Errors: those of `etcd_client`. Thread-safety: one strand at a time.
class etcd_keys final : public versioned_keys {
 public:
  /// @param root    what each key begins with
  /// @param marker  shared by all that the client changes
  etcd_keys(std::shared_ptr<etcd_client> client, std::string root,
            std::shared_ptr<etcd_marker> marker)
      : client_(std::move(client)), root_(std::move(root)), marker_(std::move(marker)) {}

  std::string place_of(const std::string& key) const override {
    return fmt::format("the key '{}{}' of the etcd at {}", root_, key, client_->name());
  }

  task<versioned_value> get(std::string key) override {
    json body;
    body["key"] = to_base64(root_ + key);
    const json answer = co_await client_->call(std::string("/v3/kv/range"), std::move(body));
    co_return first_of(answer);
  }

  task<bool> put(std::string key, std::string value, std::string version) override {
    const std::string name = root_ + key;
    const std::string change = marker_->next();
    json body;
    body["compare"].push_back(unchanged(name, version));
    body["success"].push_back(put_of(name, value));
    body["success"].push_back(put_of(marker_->key(), change));
    body["failure"].push_back(range_of(marker_->key()));
    const json answer = co_await client_->call(std::string("/v3/kv/txn"), std::move(body));
    if (has_succeeded(answer)) co_return true;
    const versioned_value marked = first_of(response_of(answer, 0, "response_range"));
    co_return marked.value == change;
  }

  task<void> put(std::string key, std::string value) override {
    json body;
    body["key"] = to_base64(root_ + key);
    body["value"] = to_base64(value);
    co_await client_->call(std::string("/v3/kv/put"), std::move(body));
  }

  task<bool> erase(std::string key) override {
    json body;
    body["key"] = to_base64(root_ + key);
    const json answer = co_await client_->call(std::string("/v3/kv/deleterange"), std::move(body));
    co_return etcd_client::number_in(answer, "deleted") > 0;
  }

  task<std::int64_t> count() override {
    json body;
    body["key"] = to_base64(root_);
    body["range_end"] = to_base64(etcd_prefix_end(root_));
    body["count_only"] = true;
    const json answer = co_await client_->call(std::string("/v3/kv/range"), std::move(body));
    co_return etcd_client::number_in(answer, "count");
  }

  task<void> wait_for_change(std::string key, std::string version) override {
    json watch;
    watch["key"] = to_base64(root_ + key);
    watch["start_revision"] = std::to_string(seen_revision(version) + 1);
    time_source& time = client_->time();
    task<void> waiting = client_->await_event(std::move(watch));
    co_await with_deadline(time, time.now() + longest_watch, std::move(waiting));
  }

  // ---- what requests and answers are made of --------------------------------------------------

  using json = nlohmann::json;

  /// How long nothing may be heard of a watch until one looks: it may have broken unnoticed.
  static constexpr std::chrono::seconds longest_watch{5};

  /// "<revision of the key>:<revision of etcd at that time>"; the first is 0 for a missing key.
  static std::string version_of(std::int64_t of_key, std::int64_t of_etcd) {
    return fmt::format("{}:{}", of_key, of_etcd);
  }

  static std::int64_t seen_revision(const std::string& version) {
    const std::size_t colon = version.find(':');
    return colon == std::string::npos ? 0 : std::stoll(version.substr(colon + 1));
  }

  static json unchanged(const std::string& key, const std::string& version) {
    json compare;
    compare["key"] = to_base64(key);
    compare["target"] = "MOD";
    compare["mod_revision"] = version.substr(0, version.find(':'));
    return compare;
  }

  static json put_of(const std::string& key, const std::string& value) {
    json put;
    put["request_put"]["key"] = to_base64(key);
    put["request_put"]["value"] = to_base64(value);
    return put;
  }

  static json range_of(const std::string& key, const std::string& end = "") {
    json range;
    range["request_range"]["key"] = to_base64(key);
    if (!end.empty()) range["request_range"]["range_end"] = to_base64(end);
    return range;
  }

  static bool has_succeeded(const json& answer) {
    const json& succeeded = etcd_client::part_of(answer, "succeeded");
    return succeeded.is_boolean() && succeeded.get<bool>();
  }

  /// The answer to one of the requests of a transaction, with the revision of etcd then.
  /// Errors: `errc::protocol_violation`.
  static json response_of(const json& answer, std::size_t place, const char* kind) {
    const json& responses = etcd_client::part_of(answer, "responses");
    if (!responses.is_array() || responses.size() <= place) {
      throw error(errc::protocol_violation, "etcd's answer is not in its form, at 'responses'");
    }
    json response = etcd_client::part_of(responses[place], kind);
    if (!response.is_object()) response = json::object();
    response["header"] = etcd_client::part_of(answer, "header");
    return response;
  }

  /// The one key that a range has found, or has not.
  /// Errors: `errc::protocol_violation`.
  static versioned_value first_of(const json& range) {
    const json& header = etcd_client::part_of(range, "header");
    const std::int64_t revision = etcd_client::number_in(header, "revision");
    const json& found = etcd_client::part_of(range, "kvs");
    versioned_value seen;
    seen.version = version_of(0, revision);
    if (!found.is_array() || found.empty()) return seen;
    seen.value = bytes_in(found[0], "value");
    seen.version = version_of(etcd_client::number_in(found[0], "mod_revision"), revision);
    return seen;
  }

  /// Bytes, which answers have in base64.
  /// Errors: `errc::protocol_violation`.
  static std::string bytes_in(const json& object, const char* name) {
    std::optional<std::string> bytes = from_base64(etcd_client::text_in(object, name));
    if (bytes) return std::move(*bytes);
    throw error(errc::protocol_violation,
                fmt::format("etcd's answer is not in base64, at '{}'", name));
  }

 private:
  std::shared_ptr<etcd_client> client_;
  std::string root_;
  std::shared_ptr<etcd_marker> marker_;
};

}  // namespace elastic

// ---- elastic/rendezvous/etcd_rendezvous_backend.hpp ----

namespace elastic {

/// Keeps the state of a rendezvous in etcd, by its v3 API, and a key for each of its nodes, which
/// etcd removes when it has not heard of the node for the time of a lease. So etcd alone measures
/// that time, and whoever watches is told at once that a node is gone.
///
/// Errors: also those of `etcd_client`. Thread-safety: one strand at a time.
class etcd_rendezvous_backend final : public rendezvous_backend {
 public:
  /// @param root   what the keys begin with: "/elastic/job/rendezvous/"
  /// @param lease  how long a node may be silent; etcd may choose more, in whole seconds
  etcd_rendezvous_backend(std::shared_ptr<etcd_client> client, std::string root,
                          std::shared_ptr<etcd_marker> marker, duration lease,
                          torch_dialect dialect = torch_dialect::torch_2_6)
      : client_(std::move(client)),
        root_(std::move(root)),
        marker_(std::move(marker)),
        lease_seconds_(std::chrono::ceil<std::chrono::seconds>(lease).count()),
        dialect_(dialect) {}

  task<std::optional<stored_state>> get() override {
    json body;
    body["success"].push_back(etcd_keys::range_of(state_key()));
    body["success"].push_back(range_of_nodes());
    const json answer = co_await client_->call(std::string("/v3/kv/txn"), std::move(body));
    co_return stored_in(answer, 0);
  }

  task<set_outcome> set(torch_state state, std::string token) override {
    if (token.empty()) token = "0:0";
    const std::string change = marker_->next();
    const std::string text = stored_text(state, dialect_);
    json body;
    body["compare"].push_back(etcd_keys::unchanged(state_key(), token));
    body["success"].push_back(etcd_keys::put_of(state_key(), text));
    body["success"].push_back(etcd_keys::put_of(marker_->key(), change));
    body["success"].push_back(etcd_keys::range_of(state_key()));
    body["success"].push_back(range_of_nodes());
    body["failure"].push_back(etcd_keys::range_of(marker_->key()));
    body["failure"].push_back(etcd_keys::range_of(state_key()));
    body["failure"].push_back(range_of_nodes());
    const json answer = co_await client_->call(std::string("/v3/kv/txn"), std::move(body));
    set_outcome outcome;
    outcome.was_set = etcd_keys::has_succeeded(answer);
    outcome.stored = stored_in(answer, outcome.was_set ? 2 : 1);
    if (!outcome.was_set) {
      // Unless an answer that never came would have said that it was.
      const json marked = etcd_keys::response_of(answer, 0, "response_range");
      outcome.was_set = etcd_keys::first_of(marked).value == change;
    }
    co_return outcome;
  }

  task<void> wait_for_change(std::string token) override {
    if (token.empty()) token = nothing_;
    if (token.empty()) co_return;
    json watch;
    watch["key"] = to_base64(root_);
    watch["range_end"] = to_base64(etcd_prefix_end(root_));
    watch["start_revision"] = std::to_string(etcd_keys::seen_revision(token) + 1);
    co_await client_->await_event(std::move(watch));
  }

  bool is_patient() const override { return true; }
  bool watches_over_nodes() const override { return true; }

  task<void> say_alive(node_id node) override {
    if (lease_ != 0 && co_await prolong()) co_return;
    json wish;
    wish["TTL"] = std::to_string(lease_seconds_);
    const json granted = co_await client_->call(std::string("/v3/lease/grant"), std::move(wish));
    const std::int64_t lease = etcd_client::number_in(granted, "ID");
    json put;
    put["key"] = to_base64(node_key(node));
    put["lease"] = std::to_string(lease);
    co_await client_->call(std::string("/v3/kv/put"), std::move(put));
    lease_ = lease;
  }

  task<void> say_gone() override {
    if (lease_ == 0) co_return;
    json body;
    body["ID"] = std::to_string(std::exchange(lease_, 0));
    co_await client_->call(std::string("/v3/lease/revoke"), std::move(body));
  }

 private:
  using json = nlohmann::json;

  std::string state_key() const { return root_ + "state"; }
  std::string node_key(const node_id& node) const { return root_ + "node/" + node.text(); }

  json range_of_nodes() const {
    const std::string nodes = root_ + "node/";
    json range = etcd_keys::range_of(nodes, etcd_prefix_end(nodes));
    range["request_range"]["keys_only"] = true;
    return range;
  }

  // False where etcd does not know the lease any more: it was not heard of this node for too long.
  task<bool> prolong() {
    json body;
    body["ID"] = std::to_string(lease_);
    const json answer =
        co_await client_->call(std::string("/v3/lease/keepalive"), std::move(body));
    const json& result = etcd_client::part_of(answer, "result");
    co_return etcd_client::number_in(result, "TTL") > 0;
  }

  // `place` is that of the state among the responses; the nodes come next.
  std::optional<stored_state> stored_in(const json& answer, std::size_t place) {
    const json range = etcd_keys::response_of(answer, place, "response_range");
    versioned_value seen = etcd_keys::first_of(range);
    std::optional<torch_state> state;
    if (seen.value) {
      const std::string shown =
          fmt::format("the key '{}' of the etcd at {}", state_key(), client_->name());
      state = read_stored_text(*seen.value, dialect_, shown);
    }
    if (!state) {
      nothing_ = std::move(seen.version);
      return std::nullopt;
    }
    stored_state stored;
    stored.living = living_in(etcd_keys::response_of(answer, place + 1, "response_range"), *state);
    stored.state = std::move(*state);
    stored.token = std::move(seen.version);
    return stored;
  }

  std::set<node_id> living_in(const json& range, const torch_state& state) const {
    std::set<std::string> keys;
    const json& found = etcd_client::part_of(range, "kvs");
    if (found.is_array()) {
      for (const json& each : found) keys.insert(etcd_keys::bytes_in(each, "key"));
    }
    std::set<node_id> living;
    for (const node_id& node : nodes_of(state)) {
      if (keys.count(node_key(node)) != 0) living.insert(node);
    }
    return living;
  }

  std::shared_ptr<etcd_client> client_;
  std::string root_;
  std::shared_ptr<etcd_marker> marker_;
  std::int64_t lease_seconds_;
  torch_dialect dialect_;
  std::int64_t lease_ = 0;
  /// The version at which no state was seen.
  std::string nothing_;
};

}  // namespace elastic

// ---- elastic/store/etcd_v2_keys.hpp ----

namespace elastic {

/// How keys and values look in the v2 API of etcd, which knows text only.
enum class etcd_v2_form {
  /// As they are: those of torchrun's rendezvous are in base64 already.
  plain,
  /// In base64, as those of torchrun's store.
  base64,
};

/// Keys of etcd, by its v2 API, in one directory of it: for servers of before 3.6 that were started
/// with `--enable-v2`.
///
/// Errors: those of `etcd_client`; `errc::not_supported` where there is no v2 API.
/// Thread-safety: one strand at a time.
/// Source: torch.distributed.elastic.rendezvous, `EtcdStore` and `EtcdRendezvousBackend`.
class etcd_v2_keys final : public versioned_keys {
 public:
  /// @param directory  "/torch/elastic/store"
  /// @param life       how long a key is kept after its last change, in seconds; 0: for ever
  etcd_v2_keys(std::shared_ptr<etcd_client> client, std::string directory, etcd_v2_form form,
               int life = 0)
      : client_(std::move(client)), directory_(std::move(directory)), form_(form), life_(life) {}

  std::string place_of(const std::string& key) const override {
    return fmt::format("the key '{}/{}' of the etcd at {} (v2)", directory_, encoded(key),
                       client_->name());
  }

  task<versioned_value> get(std::string key) override {
    http_request request = request_of("GET", key, "?quorum=true");
    const http_response response = co_await client_->ask(std::move(request));
    const json answer = read_answer(response);
    versioned_value seen;
    seen.version = fmt::format("0:{}", index_in(response, answer));
    if (code_in(answer) == key_not_found) co_return seen;
    refuse_any(answer);
    const json& node = etcd_client::part_of(answer, "node");
    if (!node.is_object() || !node.contains("value")) refuse_value(key);
    seen.value = decoded(key, etcd_client::text_in(node, "value"));
    seen.version = fmt::format("{}:{}", etcd_client::number_in(node, "modifiedIndex"),
                               index_in(response, answer));
    co_return seen;
  }

  /// Whether there is such a key, or directory of keys.
  task<bool> exists(std::string key) const {
    http_request request = request_of("GET", key, "");
    const http_response response = co_await client_->ask(std::move(request));
    const json answer = read_answer(response);
    if (code_in(answer) == key_not_found) co_return false;
    refuse_any(answer);
    co_return true;
  }

  task<bool> put(std::string key, std::string value, std::string version) override {
    const std::string index = version.substr(0, version.find(':'));
    const std::string condition = index == "0" ? "&prevExist=false" : "&prevIndex=" + index;
    co_return co_await write(std::move(key), std::move(value), condition);
  }

  task<void> put(std::string key, std::string value) override {
    const std::string condition;
    co_await write(std::move(key), std::move(value), condition);
  }

  task<bool> erase(std::string key) override {
    http_request request = request_of("DELETE", key, "");
    const http_response response = co_await client_->ask(std::move(request));
    const json answer = read_answer(response);
    if (code_in(answer) == key_not_found) co_return false;
    refuse_any(answer);
    co_return true;
  }

  task<std::int64_t> count() override {
    const std::string query = "?recursive=true";
    http_request request;
    request.target = "/v2/keys" + path_of(directory_) + query;
    authorize(request);
    const http_response response = co_await client_->ask(std::move(request));
    const json answer = read_answer(response);
    if (code_in(answer) == key_not_found) co_return 0;
    refuse_any(answer);
    co_return leaves_of(etcd_client::part_of(answer, "node"));
  }

  task<void> wait_for_change(std::string key, std::string version) override {
    const std::int64_t index = number_of(version.substr(version.find(':') + 1));
    http_request request =
        request_of("GET", key, fmt::format("?wait=true&waitIndex={}", index + 1));
    time_source& time = client_->time();
    bool is_told = false;
    try {
      task<http_response> waiting = client_->ask_patiently(std::move(request));
      const std::optional<http_response> response =
          co_await with_deadline(time, time.now() + longest_wait, std::move(waiting));
      is_told = !response || response->status == 200;
    } catch (const error& failure) {
      client_->options().log.debug("etcd does not tell of changes: {}", failure.what());
    }
    if (!is_told) co_await time.sleep_until(time.now() + pause);
  }

 private:
  using json = nlohmann::json;

  static constexpr int key_not_found = 100;
  static constexpr int compare_failed = 101;
  static constexpr int already_there = 105;
  static constexpr int not_authorized = 110;
  static constexpr std::chrono::seconds longest_wait{5};
  static constexpr std::chrono::milliseconds pause{200};

  // ---- what is sent ---------------------------------------------------------------------------

  std::string encoded(const std::string& text) const {
    return form_ == etcd_v2_form::base64 ? to_base64(text) : text;
  }

  static std::string percent_encoded(std::string_view text, std::string_view also) {
    std::string result;
    for (const char letter : text) {
      const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                            (letter >= '0' && letter <= '9') ||
                            also.find(letter) != std::string_view::npos;
      if (is_plain) result.push_back(letter);
      if (!is_plain) result += fmt::format("%{:02X}", static_cast<unsigned char>(letter));
    }
    return result;
  }

  static std::string path_of(std::string_view text) {
    return percent_encoded(text, "-._~!$&'()*+,;=:@/");
  }

  http_request request_of(const char* method, const std::string& key,
                          const std::string& query) const {
    http_request request;
    request.method = method;
    request.target = "/v2/keys" + path_of(directory_ + "/" + encoded(key)) + query;
    authorize(request);
    return request;
  }

  void authorize(http_request& request) const {
    const etcd_options& options = client_->options();
    if (options.user.empty()) return;
    const std::string who = to_base64(options.user + ":" + options.password);
    request.headers.emplace_back("Authorization", "Basic " + who);
  }

  task<bool> write(std::string key, std::string value, std::string condition) {
    http_request request = request_of("PUT", key, "");
    request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
    request.body = "value=" + percent_encoded(encoded(value), "-._~") + condition;
    if (life_ > 0) request.body += fmt::format("&ttl={}", life_);
    const http_response response = co_await client_->ask(std::move(request));
    const json answer = read_answer(response);
    const int code = code_in(answer);
    if (code == key_not_found || code == compare_failed || code == already_there) co_return false;
    refuse_any(answer);
    co_return true;
  }

  // ---- what is answered -----------------------------------------------------------------------

  json read_answer(const http_response& response) const {
    json answer = json::parse(response.body, nullptr, false);
    if (answer.is_object() && (answer.contains("node") || answer.contains("errorCode"))) {
      return answer;
    }
    if (response.status == 401) {
      throw error(errc::invalid_argument,
                  fmt::format("the etcd at {} refuses the user '{}' (--rdzv-conf "
                              "user=…,password=…)",
                              client_->name(), client_->options().user));
    }
    throw error(errc::not_supported,
                fmt::format("the etcd at {} does not offer the v2 API: it has to be started with "
                            "--enable-v2, and be older than 3.6 (HTTP status {})",
                            client_->name(), response.status));
  }

  static int code_in(const json& answer) {
    return static_cast<int>(etcd_client::number_in(answer, "errorCode"));
  }

  void refuse_any(const json& answer) const {
    const int code = code_in(answer);
    if (code == 0) return;
    std::string advice;
    if (code == not_authorized) advice = " (--rdzv-conf user=…,password=…)";
    throw error(errc::invalid_argument,
                fmt::format("the etcd at {} refuses: {:.200}{}", client_->name(),
                            etcd_client::text_in(answer, "message"), advice));
  }

  // That of etcd at the time of the answer.
  static std::int64_t index_in(const http_response& response, const json& answer) {
    const auto found = response.headers.find("x-etcd-index");
    if (found != response.headers.end()) return number_of(found->second);
    return etcd_client::number_in(answer, "index");
  }

  static std::int64_t number_of(const std::string& text) {
    return detail::leading_number(text).value_or(0);
  }

  std::string decoded(const std::string& key, std::string text) const {
    if (form_ == etcd_v2_form::plain) return text;
    std::optional<std::string> bytes = from_base64(text);
    if (!bytes) refuse_value(key);
    return std::move(*bytes);
  }

  [[noreturn]] void refuse_value(const std::string& key) const {
    throw error(errc::store_value,
                fmt::format("{} does not hold what elasticrun or torchrun store",
                            place_of(key)));
  }

  static std::int64_t leaves_of(const json& node) {
    const json& nodes = etcd_client::part_of(node, "nodes");
    if (!nodes.is_array()) {
      const json& is_directory = etcd_client::part_of(node, "dir");
      return is_directory.is_boolean() ? 0 : 1;
    }
    std::int64_t count = 0;
    for (const json& each : nodes) count += leaves_of(each);
    return count;
  }

  std::shared_ptr<etcd_client> client_;
  std::string directory_;
  etcd_v2_form form_;
  int life_;
};

}  // namespace elastic

// ---- elastic/store/versioned_store.hpp ----

namespace elastic {

/// A store in a place that can compare and set, such as a directory or etcd.
///
/// Errors: those of a store and of the place. Thread-safety: one strand at a time.
class versioned_store final : public store {
 public:
  explicit versioned_store(std::shared_ptr<versioned_keys> keys) : keys_(std::move(keys)) {}

  task<void> set(std::string key, std::string value) override {
    detail::check_store_key(key);
    detail::check_store_value(value);
    co_await keys_->put(std::move(key), std::move(value));
  }

  task<std::string> get(std::string key) override {
    detail::check_store_key(key);
    for (;;) {
      versioned_value seen = co_await keys_->get(key);
      if (seen.value) co_return std::move(*seen.value);
      co_await keys_->wait_for_change(key, std::move(seen.version));
    }
  }

  task<std::int64_t> add(std::string key, std::int64_t delta) override {
    detail::check_store_key(key);
    for (;;) {
      const versioned_value seen = co_await keys_->get(key);
      const std::int64_t sum = sum_of(key, seen.value, delta);
      std::string text = std::to_string(sum);
      const bool was_set = co_await keys_->put(key, std::move(text), seen.version);
      if (was_set) co_return sum;
    }
  }

  task<std::string> compare_set(std::string key, std::string expected,
                                std::string desired) override {
    detail::check_store_key(key);
    detail::check_store_value(expected);
    detail::check_store_value(desired);
    for (;;) {
      versioned_value seen = co_await keys_->get(key);
      if (!seen.value && !expected.empty()) co_return expected;
      if (seen.value && *seen.value != expected) co_return std::move(*seen.value);
      const bool was_set = co_await keys_->put(key, desired, std::move(seen.version));
      if (was_set) co_return desired;
    }
  }

  task<void> wait(std::vector<std::string> keys) override {
    check_keys(keys);
    for (std::string& key : keys) co_await get(std::move(key));
  }

  task<bool> check(std::vector<std::string> keys) override {
    check_keys(keys);
    for (std::string& key : keys) {
      const versioned_value seen = co_await keys_->get(std::move(key));
      if (!seen.value) co_return false;
    }
    co_return true;
  }

  task<bool> erase(std::string key) override {
    detail::check_store_key(key);
    co_return co_await keys_->erase(std::move(key));
  }

  task<std::int64_t> num_keys() override { return keys_->count(); }

  task<void> append(std::string key, std::string value) override {
    detail::check_store_key(key);
    for (;;) {
      versioned_value seen = co_await keys_->get(key);
      std::string whole = seen.value ? std::move(*seen.value) : std::string();
      whole += value;
      detail::check_store_value(whole);
      const bool was_set = co_await keys_->put(key, std::move(whole), std::move(seen.version));
      if (was_set) co_return;
    }
  }

  task<std::vector<std::string>> multi_get(std::vector<std::string> keys) override {
    check_keys(keys);
    std::vector<std::string> values;
    values.reserve(keys.size());
    for (std::string& key : keys) values.push_back(co_await get(std::move(key)));
    co_return values;
  }

  task<void> multi_set(std::vector<std::pair<std::string, std::string>> pairs) override {
    for (const auto& [key, value] : pairs) {
      detail::check_store_key(key);
      detail::check_store_value(value);
    }
    for (auto& [key, value] : pairs) co_await keys_->put(std::move(key), std::move(value));
  }

 private:
  static void check_keys(const std::vector<std::string>& keys) {
    detail::check_store_key_count(keys.size());
    for (const std::string& key : keys) detail::check_store_key(key);
  }

  std::int64_t sum_of(const std::string& key, const std::optional<std::string>& value,
                      std::int64_t delta) const {
    std::int64_t before = 0;
    if (value) {
      const std::optional<std::int64_t> number = detail::leading_number(*value);
      if (!number) {
        throw error(errc::store_value,
                    fmt::format("{} holds '{:.100}', which is no number to add to",
                                keys_->place_of(key), *value));
      }
      before = *number;
    }
    // Over the end it goes on at the other, as the other stores do.
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(before) +
                                     static_cast<std::uint64_t>(delta));
  }

  std::shared_ptr<versioned_keys> keys_;
};

}  // namespace elastic

// ---- elastic/rendezvous/etcd_rendezvous.hpp ----

namespace elastic {

namespace detail {

inline std::string conf_text(const rendezvous_parameters& parameters, std::string_view name,
                             std::string fallback = "") {
  const auto found = parameters.configuration.find(name);
  return found == parameters.configuration.end() ? fallback : found->second;
}

/// The members of an etcd, "host:port,host:port"; the port is 2379 where none is given.
inline std::vector<endpoint> etcd_members(const std::string& text) {
  constexpr std::uint16_t default_port = 2379;
  std::vector<endpoint> members;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t comma = text.find(',', begin);
    members.push_back(parse_endpoint(text.substr(begin, comma - begin), default_port));
    if (members.back().port == 0) {
      throw error(errc::invalid_argument,
                  fmt::format("--rdzv-endpoint '{}': the port of an etcd is needed", text));
    }
    if (comma == std::string::npos) return members;
    begin = comma + 1;
  }
}

/// What the settings say of how etcd is reached, by the names that torchrun has for them.
/// Errors: `errc::invalid_argument`.
inline etcd_options etcd_options_of(const rendezvous_parameters& parameters) {
  etcd_options options;
  options.members = etcd_members(parameters.endpoint);
  options.user = conf_text(parameters, "user");
  options.password = conf_text(parameters, "password");
  const std::string protocol = conf_text(parameters, "protocol", "http");
  if (protocol != "http" && protocol != "https") {
    throw error(errc::invalid_argument,
                fmt::format("--rdzv-conf protocol={}: http or https is needed", protocol));
  }
  options.uses_tls = protocol == "https";
  // torchrun's own backends name these in two ways.
  options.tls.authorities = conf_text(parameters, "cacert", conf_text(parameters, "ca_cert"));
  options.tls.certificate = conf_text(parameters, "cert", conf_text(parameters, "ssl_cert"));
  options.tls.key = conf_text(parameters, "key", conf_text(parameters, "ssl_cert_key"));
  const bool names_files = !options.tls.authorities.empty() || !options.tls.certificate.empty();
  if (names_files && !options.uses_tls) {
    throw error(errc::invalid_argument,
                "--rdzv-conf: certificates are of use with protocol=https only");
  }
  options.answer_timeout = parameters.seconds("read_timeout", options.answer_timeout);
  options.first_patience = parameters.settings().join_timeout;
  options.time = parameters.time;
  options.log = parameters.log;
  return options;
}

/// With `lease_ttl`: the node says often enough that it lives.
inline rendezvous_parameters with_lease(rendezvous_parameters parameters) {
  if (parameters.configuration.count("lease_ttl") == 0) return parameters;
  const duration lease = parameters.seconds("lease_ttl", {});
  const std::chrono::duration<double> third = lease / 3;
  parameters.configuration["keep_alive_interval"] = fmt::format("{:.3f}", third.count());
  parameters.configuration["keep_alive_max_attempt"] = "3";
  return parameters;
}

inline std::vector<std::string> hosts_of(const std::vector<endpoint>& members) {
  std::vector<std::string> hosts;
  for (const endpoint& member : members) hosts.push_back(member.host);
  return hosts;
}

inline task<std::shared_ptr<rendezvous_handler>> make_etcd_v3(
    rendezvous_parameters parameters, std::shared_ptr<etcd_client> client) {
  const std::string root = fmt::format("{}/{}/", conf_text(parameters, "etcd_prefix", "/elastic"),
                                       parameters.run_id);
  const auto marker = std::make_shared<etcd_marker>(root + "change/");
  const auto keys = std::make_shared<etcd_keys>(client, root + "store/", marker);
  std::vector<std::string> towards = hosts_of(client->options().members);
  dynamic_rendezvous_options options = co_await dynamic_options(parameters, std::move(towards));
  options.agents = std::make_shared<versioned_store>(keys);
  options.backend = std::make_shared<etcd_rendezvous_backend>(
      client, root + "rendezvous/", marker, parameters.settings().silence(), options.dialect);
  parameters.log.info("meeting at the etcd {}, by its v3 API", client->name());
  co_return std::make_shared<dynamic_rendezvous>(std::move(options));
}

/// Etcd at its first call: an error says what was tried, and that it was given the join timeout.
inline task<std::string> reach_etcd(std::shared_ptr<etcd_client> client) {
  std::string problem;
  try {
    co_return co_await client->version();
  } catch (const error& failure) {
    if (failure.code() != errc::connection_failed) throw;
    problem = failure.what();
  }
  // Which is how each of the two says that it was taken for the other.
  const bool is_plain = !client->options().uses_tls;
  const char* sign = is_plain ? "hung up without an answer" : "handshake broke off";
  if (problem.find(sign) != std::string::npos) {
    problem += is_plain ? " (does it want --rdzv-conf protocol=https?)" : " (does it speak https?)";
  }
  const std::chrono::duration<double> patience = client->options().first_patience;
  throw error(errc::rendezvous_timeout, fmt::format("{} within {} s (--rdzv-conf join_timeout)",
                                                    problem, patience.count()));
}

/// As torchrun's backend "etcd-v2" has it: its nodes may take part.
inline task<std::shared_ptr<rendezvous_handler>> make_etcd_v2(
    rendezvous_parameters parameters, std::shared_ptr<etcd_client> client) {
  constexpr int two_hours = 7200;
  const auto states = std::make_shared<etcd_v2_keys>(client, "/torch/elastic/rendezvous",
                                                     etcd_v2_form::plain, two_hours);
  const auto keys =
      std::make_shared<etcd_v2_keys>(client, "/torch/elastic/store", etcd_v2_form::base64);
  std::vector<std::string> towards = hosts_of(client->options().members);
  dynamic_rendezvous_options options = co_await dynamic_options(parameters, std::move(towards));
  const std::string dialect = conf_text(parameters, "dialect", "auto");
  if (dialect != "auto") options.dialect = parse_torch_dialect(dialect);
  const std::optional<torch_dialect> seen =
      co_await keyed_rendezvous_backend::seen_dialect(states, parameters.run_id);
  if (seen && dialect == "auto") options.dialect = *seen;
  options.agents = std::make_shared<versioned_store>(keys);
  options.backend = std::make_shared<keyed_rendezvous_backend>(states, parameters.run_id,
                                                               options.dialect);
  parameters.log.info("meeting at the etcd {}, by its v2 API, as agents of PyTorch {} do",
                      client->name(), to_text(options.dialect));
  co_return std::make_shared<dynamic_rendezvous>(std::move(options));
}

/// Refuses to meet where nodes of torchrun meet under the same name, but in a way of their own.
inline task<void> check_legacy(std::shared_ptr<etcd_client> client, std::string run_id) {
  const etcd_v2_keys keys(client, "/torchelastic/p2p", etcd_v2_form::plain);
  bool is_there = false;
  try {
    is_there = co_await keys.exists("run_" + run_id);
  } catch (const error& failure) {
    // No v2 API, or one that is not for this user: then there are no such nodes either.
    if (failure.code() == errc::connection_failed) throw;
  }
  if (!is_there) co_return;
  throw error(errc::invalid_argument,
              fmt::format("nodes of torchrun meet at the etcd {} under the name '{}' by its "
                          "backend 'etcd', which elasticrun does not speak: start every node, "
                          "theirs too, with --rdzv-backend etcd-v2",
                          client->name(), run_id));
}

/// Whether etcd has the v3 API as it is used here.
/// Errors: those of `etcd_client` but for `errc::not_supported`, which `why_not` has then.
inline task<bool> offers_v3(std::shared_ptr<etcd_client> client, std::string& why_not) {
  try {
    // Of nothing but a key that everybody may have.
    nlohmann::json body;
    body["ID"] = "0";
    co_await client->call(std::string("/v3/lease/timetolive"), std::move(body));
  } catch (const etcd_refusal&) {
    // The keys that are used will tell.
  } catch (const error& failure) {
    if (failure.code() != errc::not_supported) throw;
    why_not = failure.what();
    co_return false;
  }
  co_return true;
}

inline task<std::shared_ptr<rendezvous_handler>> make_etcd(rendezvous_parameters parameters) {
  auto client = std::make_shared<etcd_client>(etcd_options_of(parameters));
  const std::string version = co_await reach_etcd(client);
  parameters.log.debug("the etcd at {} is of version {}", client->name(), version);
  if (parameters.backend == "etcd") co_await check_legacy(client, parameters.run_id);
  std::string why_not;
  const bool is_v3 = parameters.backend != "etcd-v2" && co_await offers_v3(client, why_not);
  if (is_v3) co_return co_await make_etcd_v3(std::move(parameters), std::move(client));
  if (parameters.backend == "etcd-v3") throw error(errc::not_supported, why_not);
  co_return co_await make_etcd_v2(std::move(parameters), std::move(client));
}

}  // namespace detail

/// The rendezvous named "etcd", "etcd-v3" and "etcd-v2": nodes meet in an etcd, by the rules of
/// torchrun's dynamic rendezvous. By the v3 API (3.4 or later) each has a lease; by the v2 API
/// nodes of torchrun may take part that were started with its backend "etcd-v2"; "etcd" is v3 where
/// the server has it. docs/guide.md has the settings (`--rdzv-conf`).
///
/// Errors: `errc::invalid_argument` for an empty run id, an endpoint that is none, or a setting out
/// of bounds. Those of etcd itself come with the first round.
inline std::shared_ptr<rendezvous_handler> make_etcd_rendezvous(rendezvous_parameters parameters) {
  if (parameters.run_id.empty()) {
    throw error(errc::invalid_argument, "--rdzv-id must not be empty for an etcd rendezvous");
  }
  parameters.warn_of_unused({"join_timeout", "last_call_timeout", "close_timeout",
                             "heartbeat_timeout", "keep_alive_interval", "keep_alive_max_attempt",
                             "lease_ttl", "read_timeout", "timeout", "protocol", "cacert", "cert",
                             "key", "ca_cert", "ssl_cert", "ssl_cert_key", "user", "password",
                             "etcd_prefix", "dialect"});
  const std::string dialect = detail::conf_text(parameters, "dialect", "auto");
  if (dialect != "auto") parse_torch_dialect(dialect);
  parameters = detail::with_lease(std::move(parameters));
  // So that a mistake is told before anything is waited for.
  const etcd_client trial(detail::etcd_options_of(parameters));
  const std::string backend = parameters.backend;
  const std::string run_id = parameters.run_id;
  const auto make = [parameters] { return detail::make_etcd(parameters); };
  return std::make_shared<deferred_rendezvous>(backend, run_id, make);
}

}  // namespace elastic

// ---- elastic/store/detail/key_file.hpp ----

// What the file of a key is called, and what is in it.
namespace elastic::detail {

/// FNV-1a, 64 bits: finds damage, not malice.
inline std::uint64_t checksum(std::string_view bytes, std::uint64_t start = 14695981039346656037U) {
  std::uint64_t sum = start;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    sum *= 1099511628211U;
  }
  return sum;
}

/// The key, readable where it can be. Begins with no dot, and is no longer than a name may be:
/// a key for which it would be is cut and told apart by its checksums.
inline std::string key_file_name(std::string_view key) {
  constexpr std::size_t longest = 200;
  std::string name;
  for (const char letter : key) {
    const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                          (letter >= '0' && letter <= '9') || letter == '_' || letter == '-' ||
                          (letter == '.' && !name.empty());
    if (is_plain) name.push_back(letter);
    if (!is_plain) name += fmt::format("%{:02x}", static_cast<unsigned char>(letter));
  }
  if (name.empty()) return "%";
  if (name.size() <= longest) return name;
  const std::uint64_t first = checksum(key);
  return fmt::format("{}%-{:016x}{:016x}", name.substr(0, 150), first,
                     checksum(key, first ^ 0x9e3779b97f4a7c15U));
}

/// What a file holds: who wrote it last, which key it is of, and the value.
struct key_file {
  std::string version;
  std::string value;

  static constexpr std::string_view first_word = "elastic-key-1";
  static constexpr std::size_t most_bytes =
      limits::store_value_bytes + limits::store_key_bytes + 256;

  /// "elastic-key-1 <version> <bytes of the key> <bytes of the value> <checksum>\n<key>\n<value>"
  static std::string to_text(std::string_view version, std::string_view key,
                             std::string_view value) {
    std::string body(key);
    body += '\n';
    body += value;
    return fmt::format("{} {} {} {} {:016x}\n{}", first_word, version, key.size(), value.size(),
                       checksum(body), body);
  }

  /// Reads what `to_text` has made of the key. Result: none where the text is anything else.
  static std::optional<key_file> parse(std::string_view text, std::string_view key) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    std::string_view words[5];
    std::string_view line = text.substr(0, end);
    for (std::string_view& word : words) {
      const std::size_t blank = line.find(' ');
      word = line.substr(0, blank);
      line.remove_prefix(blank == std::string_view::npos ? line.size() : blank + 1);
    }
    const std::string_view body = text.substr(end + 1);
    std::size_t key_size = 0;
    std::size_t value_size = 0;
    const bool is_ours = words[0] == first_word && !words[1].empty() && line.empty() &&
                         read_number(words[2], key_size) && read_number(words[3], value_size) &&
                         key_size == key.size() && key_size + 1 <= body.size() &&
                         value_size == body.size() - key_size - 1 &&
                         words[4] == fmt::format("{:016x}", checksum(body)) &&
                         body.substr(0, key_size) == key && body[key_size] == '\n';
    if (!is_ours) return std::nullopt;
    key_file file;
    file.version = std::string(words[1]);
    file.value = std::string(body.substr(key_size + 1));
    return file;
  }

 private:
  static bool read_number(std::string_view digits, std::size_t& number) {
    const char* end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, number);
    return failure == std::errc() && stop == end;
  }
};

}  // namespace elastic::detail

// ---- elastic/store/detail/key_directory.hpp ----

#include <sys/statfs.h>

#include <linux/magic.h>

namespace elastic::detail {

/// A directory with a file for each key. Every call may block, for as long as the file system
/// does.
///
/// Who changes something holds a lock on one file of the directory. It belongs to an open file, so
/// that the kernel, or the server of a network file system, takes it away from a process that was
/// killed. A value comes into being by a rename: nobody sees half of one.
///
/// Errors of every call: `errc::connection_failed` for what may be different the next time,
/// `errc::file_access` for what will not, `errc::store_value` for a file that was not written
/// here or was damaged. Messages name the file.
/// Thread-safety: calls may run on several threads at once.
class key_directory {
 public:
  explicit key_directory(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  std::string file_of(std::string_view key) const { return path_ + "/" + key_file_name(key); }

  /// Makes the directory, in one that has to be there, and finds out whether it can be written to.
  void prepare() const {
    const std::string parent = path_.substr(0, path_.rfind('/'));
    struct stat facts{};
    if (::stat(parent.c_str(), &facts) != 0) refuse("the directory", parent, errno);
    if (!S_ISDIR(facts.st_mode)) refuse("the directory", parent, ENOTDIR);
    if (::mkdir(path_.c_str(), 0777) != 0 && errno != EEXIST) refuse("the directory", path_, errno);
    const descriptor lock = open_lock();
  }

  /// Whether the file system tells of every change, so that nobody but this host makes one.
  bool is_local() const {
    struct statfs facts{};
    if (::statfs(path_.c_str(), &facts) != 0) return false;
    constexpr std::uint32_t xfs = 0x58465342;
    constexpr std::uint32_t zfs = 0x2fc12fc1;
    for (const std::uint32_t known :
         {std::uint32_t{EXT4_SUPER_MAGIC}, std::uint32_t{TMPFS_MAGIC}, std::uint32_t{RAMFS_MAGIC},
          std::uint32_t{BTRFS_SUPER_MAGIC}, std::uint32_t{OVERLAYFS_SUPER_MAGIC},
          std::uint32_t{F2FS_SUPER_MAGIC}, xfs, zfs}) {
      if (static_cast<std::uint32_t>(facts.f_type) == known) return true;
    }
    return false;
  }

  /// What a key holds; none where there is no file.
  std::optional<key_file> read(const std::string& key) const {
    std::optional<key_file> found = read_once(key);
    if (found || is_local()) return found;
    // A network file system may go on saying that a file is missing, because it was a moment ago,
    // until this host has changed the directory itself.
    const std::string probe = fmt::format("{}/.probe-{}-{}", path_, ::getpid(), ::gettid());
    const descriptor made(::open(probe.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
    ::unlink(probe.c_str());
    return read_once(key);
  }

  /// A change that was tried.
  enum class outcome { made, not_made, locked };

  /// Stores a value under a version of its own. With `expected`, only where the key has that
  /// version; empty text: where there is no such key.
  outcome write(const std::string& key, const std::string& value, const std::string& version,
                const std::optional<std::string>& expected) const {
    const descriptor lock = take_lock();
    if (lock.fd < 0) return outcome::locked;
    if (expected) {
      const std::optional<key_file> before = read(key);
      if ((before ? before->version : "") != *expected) return outcome::not_made;
    }
    // Only who holds the lock has such a file: what is left of one is from a process that died.
    const std::string fresh = path_ + "/.new";
    write_file(fresh, key_file::to_text(version, key, value));
    const std::string file = file_of(key);
    if (::rename(fresh.c_str(), file.c_str()) != 0) refuse("the file", file, errno);
    return outcome::made;
  }

  /// Removes a key.
  outcome erase(const std::string& key) const {
    const descriptor lock = take_lock();
    if (lock.fd < 0) return outcome::locked;
    const std::string file = file_of(key);
    if (::unlink(file.c_str()) == 0) return outcome::made;
    if (errno != ENOENT) refuse("the file", file, errno);
    return outcome::not_made;
  }

  std::int64_t count() const {
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(path_.c_str()), &::closedir);
    if (!entries) refuse("the directory", path_, errno);
    std::int64_t count = 0;
    while (const dirent* entry = ::readdir(entries.get())) {
      if (entry->d_name[0] != '.') ++count;
    }
    return count;
  }

 private:
  struct descriptor {
    explicit descriptor(int number) : fd(number) {}
    descriptor(descriptor&& other) noexcept : fd(std::exchange(other.fd, -1)) {}
    descriptor& operator=(descriptor&&) = delete;
    ~descriptor() {
      if (fd >= 0) ::close(fd);
    }
    int fd;
  };

  [[noreturn]] static void refuse(const char* what, const std::string& path, int number) {
    const bool may_pass = number == EIO || number == ESTALE || number == ETIMEDOUT ||
                          number == ENOENT || number == EINTR || number == ENETDOWN ||
                          number == EHOSTDOWN || number == EHOSTUNREACH || number == EMFILE ||
                          number == ENFILE || number == ENOSPC || number == EDQUOT;
    throw error(may_pass ? errc::connection_failed : errc::file_access,
                fmt::format("{} '{}' cannot be used: {}", what, path, errno_text(number)));
  }

  descriptor open_lock() const {
    const std::string file = path_ + "/.lock";
    descriptor lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (lock.fd < 0) refuse("the lock file", file, errno);
    return lock;
  }

  // Without one, where another holds it.
  descriptor take_lock() const {
    descriptor lock = open_lock();
    struct flock whole{};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    if (::fcntl(lock.fd, F_OFD_SETLK, &whole) == 0) return lock;
    if (errno != EAGAIN && errno != EACCES) refuse("the lock file", path_ + "/.lock", errno);
    return descriptor(-1);
  }

  static void write_file(const std::string& path, std::string_view text) {
    const descriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (file.fd < 0) refuse("the file", path, errno);
    while (!text.empty()) {
      const ssize_t size = ::write(file.fd, text.data(), text.size());
      if (size < 0 && errno != EINTR) refuse("the file", path, errno);
      if (size > 0) text.remove_prefix(static_cast<std::size_t>(size));
    }
  }

  std::optional<key_file> read_once(const std::string& key) const {
    const std::string path = file_of(key);
    // Whatever lies there by that name: nothing that could block, nor anything elsewhere.
    const descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (file.fd < 0 && errno == ENOENT) {
      if (::access(path_.c_str(), F_OK) != 0) refuse("the directory", path_, errno);
      return std::nullopt;
    }
    if (file.fd < 0) refuse("the file", path, errno);
    std::string text;
    char part[16 * 1024];
    for (;;) {
      const ssize_t size = ::read(file.fd, part, sizeof part);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) refuse("the file", path, errno);
      text.append(part, static_cast<std::size_t>(size));
      if (size == 0 || text.size() > key_file::most_bytes) break;
    }
    std::optional<key_file> found = key_file::parse(text, key);
    if (!found) {
      throw error(errc::store_value,
                  fmt::format("the file '{}' was not written by elasticrun, or is damaged; it is "
                              "left as it is",
                              path));
    }
    return found;
  }

  std::string path_;
};

}  // namespace elastic::detail

// ---- elastic/store/file_keys.hpp ----

#include <sys/inotify.h>

namespace elastic {

/// What the directory of a job is called: as its run id, where that is a name for one.
inline std::string key_directory_name(const std::string& run_id) {
  return detail::key_file_name(run_id);
}

/// Keys in a directory that several nodes share, a file for each: on a local file system or a
/// network file system with locks, such as NFS.
///
/// A change on this host is told at once where the file system is a local one; what others change
/// is looked for. Files are used on threads of their own, so that a server that hangs stops nobody
/// but those who wait for a key.
///
/// Errors: `errc::connection_failed` where the file system does not answer or the directory is
/// gone, `errc::file_access` where it may not be used, `errc::store_value` for a file that is not
/// understood; each names the file. Thread-safety: one strand at a time.
class file_keys final : public versioned_keys {
 public:
  /// How long a call of the file system may take, and how long others may hold the lock.
  static constexpr std::chrono::milliseconds patience{2000};
  /// How often a key is looked at that is waited for: where the kernel tells of changes and where
  /// it does not.
  static constexpr std::chrono::milliseconds local_pause{1000};
  static constexpr std::chrono::milliseconds remote_pause{100};

  /// @param directory  of these keys alone; the one above it has to exist
  file_keys(std::string directory, std::shared_ptr<time_source> time)
      : directory_(std::make_shared<detail::key_directory>(std::move(directory))),
        time_(std::move(time)) {}

  /// Makes the directory. The first call.
  task<void> prepare() {
    const auto directory = directory_;
    const std::function<bool()> work = [directory] {
      directory->prepare();
      return directory->is_local();
    };
    is_local_ = co_await in_time<bool>(work);
  }

  std::string place_of(const std::string& key) const override {
    return fmt::format("the file '{}'", directory_->file_of(key));
  }

  task<versioned_value> get(std::string key) override {
    const auto directory = directory_;
    const std::function<versioned_value()> work = [directory, key] {
      std::optional<detail::key_file> found = directory->read(key);
      versioned_value seen;
      seen.version = found ? found->version : std::string(nothing);
      if (found) seen.value = std::move(found->value);
      return seen;
    };
    co_return co_await in_time<versioned_value>(work);
  }

  task<bool> put(std::string key, std::string value, std::string version) override {
    std::optional<std::string> expected = version == nothing ? std::string() : std::move(version);
    co_return co_await write(std::move(key), std::move(value), std::move(expected));
  }

  task<void> put(std::string key, std::string value) override {
    std::optional<std::string> whatever;
    co_await write(std::move(key), std::move(value), std::move(whatever));
  }

  task<bool> erase(std::string key) override {
    const auto directory = directory_;
    const std::function<outcome()> work = [directory, key] { return directory->erase(key); };
    co_return co_await under_lock(work);
  }

  task<std::int64_t> count() override {
    const auto directory = directory_;
    const std::function<std::int64_t()> work = [directory] { return directory->count(); };
    co_return co_await in_time<std::int64_t>(work);
  }

  task<void> wait_for_change(std::string key, std::string version) override {
    directory_watch watch(co_await asio::this_coro::executor, directory_->path());
    // It may have changed before it was watched.
    const versioned_value seen = co_await get(std::move(key));
    if (seen.version != version) co_return;
    const bool is_told = is_local_ && watch.is_open();
    const time_point limit = time_->now() + (is_told ? local_pause : remote_pause);
    if (!is_told) {
      co_await time_->sleep_until(limit);
      co_return;
    }
    task<void> waiting = watch.changed();
    co_await with_deadline(*time_, limit, std::move(waiting));
  }

 private:
  using outcome = detail::key_directory::outcome;

  static constexpr const char* nothing = "-";
  static constexpr std::chrono::milliseconds first_lock_pause{1};
  static constexpr std::chrono::milliseconds last_lock_pause{20};

  /// Told by the kernel when something happens in a directory.
  class directory_watch {
   public:
    directory_watch(asio::any_io_executor executor, const std::string& path)
        : stream_(std::move(executor)) {
      const int fd = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
      if (fd < 0) return;
      stream_.assign(fd);
      ::inotify_add_watch(fd, path.c_str(),
                          IN_MOVED_TO | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF);
    }

    bool is_open() const { return stream_.is_open(); }

    /// Needs an open one. Cancellation: all types.
    task<void> changed() {
      co_await stream_.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    }

   private:
    asio::posix::stream_descriptor stream_;
  };

  task<bool> write(std::string key, std::string value, std::optional<std::string> expected) {
    const auto directory = directory_;
    const std::string version = random_uuid(random_);
    const std::function<outcome()> work = [directory, key, value, version, expected] {
      return directory->write(key, value, version, expected);
    };
    co_return co_await under_lock(work);
  }

  // Tries it until nobody else holds the lock: they hold it for a moment, unless they are stopped.
  task<bool> under_lock(std::function<outcome()> work) {
    const time_point limit = time_->now() + patience;
    duration pause = first_lock_pause;
    for (;;) {
      const outcome came = co_await in_time<outcome>(work);
      if (came != outcome::locked) co_return came == outcome::made;
      if (time_->now() >= limit) {
        throw error(errc::connection_failed,
                    fmt::format("the lock file '{}/.lock' has been held by another process for "
                                "over {} ms",
                                directory_->path(), patience.count()));
      }
      const auto most = std::chrono::duration_cast<std::chrono::microseconds>(pause).count();
      const auto chosen = 1 + random_.below(static_cast<std::uint64_t>(most));
      const time_point next_try = time_->now() + std::chrono::microseconds(chosen);
      co_await time_->sleep_until(next_try);
      pause = std::min<duration>(2 * pause, last_lock_pause);
    }
  }

  template <class Result>
  task<Result> in_time(std::function<Result()> work) {
    const time_point limit = time_->now() + patience;
    task<Result> running = run_blocking<Result>(std::move(work));
    std::optional<Result> result = co_await with_deadline(*time_, limit, std::move(running));
    if (result) co_return std::move(*result);
    throw error(errc::connection_failed,
                fmt::format("the directory '{}' cannot be used: its file system does not answer",
                            directory_->path()));
  }

  std::shared_ptr<detail::key_directory> directory_;
  std::shared_ptr<time_source> time_;
  random_source random_;
  bool is_local_ = false;
};

}  // namespace elastic

// ---- elastic/rendezvous/file_rendezvous.hpp ----

namespace elastic {

namespace detail {

inline task<std::shared_ptr<rendezvous_handler>> make_file(rendezvous_parameters parameters) {
  // So that no run id leads out of the directory, nor to that of another.
  const std::string directory = parameters.endpoint + "/" + key_directory_name(parameters.run_id);
  const auto keys = std::make_shared<file_keys>(directory, parameters.time);
  co_await keys->prepare();
  std::vector<std::string> towards;
  dynamic_rendezvous_options options = co_await dynamic_options(parameters, std::move(towards));
  options.agents = std::make_shared<versioned_store>(keys);
  options.backend =
      std::make_shared<keyed_rendezvous_backend>(keys, "rendezvous", options.dialect);
  parameters.log.info("meeting in the directory '{}'", directory);
  co_return std::make_shared<dynamic_rendezvous>(std::move(options));
}

}  // namespace detail

/// The rendezvous named "file": nodes meet in a directory that they share, by the rules of
/// torchrun's dynamic rendezvous. The endpoint is the directory, which has to exist; each job has
/// one of its own in it.
///
/// Errors: `errc::invalid_argument` for an empty run id, an empty endpoint, or a setting out of
/// bounds. Those of the directory come with the first round.
inline std::shared_ptr<rendezvous_handler> make_file_rendezvous(rendezvous_parameters parameters) {
  if (parameters.run_id.empty()) {
    throw error(errc::invalid_argument, "--rdzv-id must not be empty for the file rendezvous");
  }
  if (parameters.endpoint.empty()) {
    throw error(errc::invalid_argument,
                "--rdzv-endpoint: the file rendezvous needs a directory that all nodes share");
  }
  parameters.endpoint = std::filesystem::absolute(parameters.endpoint).lexically_normal().string();
  parameters.settings();
  parameters.warn_of_unused({"join_timeout", "last_call_timeout", "close_timeout",
                             "heartbeat_timeout", "keep_alive_interval", "keep_alive_max_attempt",
                             "read_timeout", "timeout"});
  const std::string backend = parameters.backend;
  const std::string run_id = parameters.run_id;
  const auto make = [parameters] { return detail::make_file(parameters); };
  return std::make_shared<deferred_rendezvous>(backend, run_id, make);
}

}  // namespace elastic

// ---- elastic/net/message_channel.hpp ----

namespace elastic {

/// A connection over which whole messages go, in order.
///
/// Thread-safety: one strand at a time.
class message_channel {
 public:
  virtual ~message_channel() = default;

  /// Sends a message; never waits. After the end of the connection it does nothing.
  virtual void send(std::string message) = 0;

  /// The next message.
  ///
  /// Errors: `errc::connection_failed` where the connection has ended,
  /// `errc::protocol_violation` where the other side sends something else than messages.
  /// Cancellation: all types; throws `operation_aborted`, nothing is lost.
  virtual task<std::string> receive() = 0;

  /// Waits until what was sent has left this process.
  ///
  /// Errors: `errc::connection_failed`. Cancellation: all types.
  virtual task<void> flush() = 0;

  /// Ends the connection now; who receives is told so.
  virtual void close() = 0;

  /// The address of this end, numeric.
  virtual std::string local_address() const = 0;
};

/// Where channels come from.
class message_connector {
 public:
  virtual ~message_connector() = default;

  /// Connects, in one try.
  ///
  /// Errors: `errc::connection_failed`, with a sentence that names the addresses tried.
  /// Cancellation: all types.
  virtual task<std::shared_ptr<message_channel>> connect() = 0;

  /// The other side, for people: "host:port".
  virtual std::string name() const = 0;
};

}  // namespace elastic

// ---- elastic/net/message_frame.hpp ----

namespace elastic {

/// Appends a message as it goes over a stream: its length, 4 bytes with the least first, and its
/// bytes.
inline void append_frame(std::string& out, std::string_view message) {
  const auto size = static_cast<std::uint32_t>(message.size());
  for (int shift = 0; shift < 32; shift += 8) {
    out.push_back(static_cast<char>((size >> shift) & 0xff));
  }
  out.append(message);
}

/// Takes messages out of a stream that comes in pieces.
class frame_reader {
 public:
  /// @param bound  the most bytes of a message
  explicit frame_reader(std::size_t bound) : bound_(bound) {}

  void append(std::string_view bytes) {
    if (taken_ > 0) bytes_.erase(0, std::exchange(taken_, 0));
    bytes_.append(bytes);
  }

  /// The next whole message, which stays valid until the next call of `append`.
  /// Errors: `errc::protocol_violation` where it is longer than the bound.
  std::optional<std::string_view> next() {
    const std::string_view rest = std::string_view(bytes_).substr(taken_);
    if (rest.size() < header) return std::nullopt;
    std::size_t size = 0;
    for (std::size_t i = header; i-- > 0;) {
      size = size << 8 | static_cast<unsigned char>(rest[i]);
    }
    if (size > bound_) {
      throw error(errc::protocol_violation,
                  fmt::format("a message of {} bytes was announced; up to {} are taken", size,
                              bound_));
    }
    if (rest.size() < header + size) return std::nullopt;
    taken_ += header + size;
    return rest.substr(header, size);
  }

 private:
  static constexpr std::size_t header = 4;

  std::size_t bound_;
  std::string bytes_;
  std::size_t taken_ = 0;
};

}  // namespace elastic

// ---- elastic/net/tcp_message_channel.hpp ----

namespace elastic {

/// Messages over a TCP connection. Made by `tcp_message_connector`.
class tcp_message_channel final : public message_channel,
                                  public std::enable_shared_from_this<tcp_message_channel> {
 public:
  /// @param bound  the most bytes of a message that is taken
  tcp_message_channel(asio::ip::tcp::socket connected, std::size_t bound)
      : socket_(std::move(connected)), flushed_(socket_.get_executor()), in_(bound) {
    flushed_.set();
  }

  /// Sends bytes that are no message, such as a greeting.
  void send_raw(std::string_view bytes) {
    out_.append(bytes);
    if (!is_sending_) send_all();
  }

  void send(std::string message) override {
    append_frame(out_, message);
    if (!is_sending_) send_all();
  }

  task<std::string> receive() override {
    for (;;) {
      if (const auto message = in_.next()) co_return std::string(*message);
      auto [failure, size] =
          co_await socket_.async_read_some(asio::buffer(piece_), detail::as_result);
      if (failure == asio::error::operation_aborted && socket_.is_open()) {
        throw std::system_error(failure);
      }
      if (failure) throw error(errc::connection_failed, why(failure));
      in_.append({piece_.data(), size});
    }
  }

  task<void> flush() override {
    co_await flushed_.wait();
    if (!socket_.is_open()) throw error(errc::connection_failed, "the connection was closed");
  }

  void close() override {
    asio::error_code ignored;
    socket_.close(ignored);
    flushed_.set();
  }

  std::string local_address() const override {
    asio::error_code failure;
    const auto end = socket_.local_endpoint(failure);
    return failure ? std::string() : plain_address(end.address()).to_string();
  }

 private:
  static std::string why(asio::error_code failure) {
    if (failure == asio::error::eof) return "the connection was closed by the other side";
    return fmt::format("the connection broke: {}", failure.message());
  }

  void send_all() {
    if (!socket_.is_open()) return;
    asio::error_code failure;
    const std::size_t sent = socket_.write_some(asio::buffer(out_), failure);
    out_.erase(0, sent);
    if (failure && failure != asio::error::would_block) return close();
    if (out_.empty()) return flushed_.set();
    flushed_.reset();
    is_sending_ = true;
    socket_.async_wait(asio::ip::tcp::socket::wait_write,
                       [self = shared_from_this()](asio::error_code) {
                         self->is_sending_ = false;
                         self->send_all();
                       });
  }

  asio::ip::tcp::socket socket_;
  event_flag flushed_;
  frame_reader in_;
  std::array<char, 1024> piece_;
  std::string out_;
  bool is_sending_ = false;
};

/// Connects to a port at which messages are spoken after a greeting.
class tcp_message_connector final : public message_connector {
 public:
  tcp_message_connector(endpoint at, std::string greeting, std::size_t bound)
      : at_(std::move(at)), greeting_(std::move(greeting)), bound_(bound) {}

  std::string name() const override { return to_text(at_); }

  task<std::shared_ptr<message_channel>> connect() override {
    auto executor = co_await asio::this_coro::executor;
    const auto addresses = co_await detail::resolve_addresses(at_.host, nullptr);
    if (addresses.empty()) {
      throw error(errc::connection_failed, fmt::format("the name '{}' cannot be resolved",
                                                       at_.host));
    }
    asio::ip::tcp::socket socket(executor);
    std::string tried;
    for (const auto& address : addresses) {
      const asio::ip::tcp::endpoint end(address, at_.port);
      auto [failure] = co_await connect_one(socket, end);
      if (!failure) co_return converse(std::move(socket));
      if (failure == asio::error::operation_aborted) throw std::system_error(failure);
      tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", address.to_string(),
                           failure.message());
    }
    throw error(errc::connection_failed, tried);
  }

 private:
  static task<std::tuple<asio::error_code>> connect_one(asio::ip::tcp::socket& socket,
                                                        asio::ip::tcp::endpoint end) {
    asio::error_code failure;
    socket.close(failure);
    socket.open(end.protocol(), failure);
    if (failure) co_return failure;
    ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
    co_return co_await socket.async_connect(end, detail::as_result);
  }

  std::shared_ptr<message_channel> converse(asio::ip::tcp::socket socket) const {
    asio::error_code ignored;
    socket.non_blocking(true, ignored);
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    auto channel = std::make_shared<tcp_message_channel>(std::move(socket), bound_);
    channel->send_raw(greeting_);
    return channel;
  }

  endpoint at_;
  std::string greeting_;
  std::size_t bound_;
};

}  // namespace elastic

// ---- elastic/rendezvous/rendezvous_message.hpp ----

namespace elastic {

/// What nodes and the server of a rendezvous tell each other: one JSON object a message, whose
/// "kind" is the name of the struct. docs/design.md has the conversation.
namespace rendezvous_messages {

// ---- from a node ----------------------------------------------------------------------------

/// The first word of a connection, also of one that takes up a broken one.
struct hello {
  static constexpr int current_version = 1;
  int version = current_version;
  std::string run_id;
  node_id node;
  rendezvous_settings settings;
};

/// Leaves round `after`, where the node is in it, for the next.
struct join {
  /// The last round that this node was in; -1: none.
  std::int64_t after = -1;
  duration timeout{};
  /// Where its workers would find each other if it became the node of rank 0.
  master_endpoint offer;
};

struct keep_alive {};

/// Workers of this node failed.
struct failed {
  std::int64_t round = 0;
  std::string what;
};

/// All workers of this node succeeded.
struct finished {
  std::int64_t round = 0;
};

struct leave {};

/// The job has ended, for all nodes.
struct close_job {
  job_end end = job_end::failed;
  std::string why;
};

struct ask_status {};

// ---- from the server ------------------------------------------------------------------------

struct welcome {
  /// Whether the server still knows the node, with its place.
  bool resumed = false;
};

struct refused {
  /// The join timeout; otherwise something that waiting does not mend.
  bool timeout = false;
  std::string why;
};

struct placed {
  std::int64_t round = 0;
  int rank = 0;
  int world = 1;
  master_endpoint master;
  /// How often workers failed so far.
  int restarts = 0;
};

/// The round `round` is to end.
struct changed {
  std::int64_t round = 0;
  rendezvous_change what;
};

/// The workers of every node have succeeded.
struct all_finished {
  std::int64_t round = 0;
};

struct closed {
  job_end end = job_end::failed;
  std::string why;
};

struct alive {};

struct status {
  int waiting = 0;
  bool is_closed = false;
};

}  // namespace rendezvous_messages

using rendezvous_request =
    std::variant<rendezvous_messages::hello, rendezvous_messages::join,
                 rendezvous_messages::keep_alive, rendezvous_messages::failed,
                 rendezvous_messages::finished, rendezvous_messages::leave,
                 rendezvous_messages::close_job, rendezvous_messages::ask_status>;

using rendezvous_answer =
    std::variant<rendezvous_messages::welcome, rendezvous_messages::refused,
                 rendezvous_messages::placed, rendezvous_messages::changed,
                 rendezvous_messages::all_finished, rendezvous_messages::closed,
                 rendezvous_messages::alive, rendezvous_messages::status>;

namespace detail {

using rendezvous_json = nlohmann::ordered_json;

/// Reads the fields of a message. Every error is `errc::protocol_violation` and names the field.
class message_fields {
 public:
  explicit message_fields(std::string_view text) {
    if (text.size() > limits::rendezvous_message_bytes) {
      refuse(fmt::format("is {} bytes long; up to {} are taken", text.size(),
                         limits::rendezvous_message_bytes));
    }
    json_ = rendezvous_json::parse(text, nullptr, false);
    if (!json_.is_object()) refuse("is no JSON object");
  }

  std::int64_t number(const char* name, std::int64_t least, std::int64_t most) const {
    const rendezvous_json& value = field(name);
    if (!value.is_number_integer()) refuse(fmt::format("has no whole number \"{}\"", name));
    const bool too_large = value.is_number_unsigned() &&
                           value.get<std::uint64_t>() > static_cast<std::uint64_t>(most);
    const auto number = too_large ? most : value.get<std::int64_t>();
    if (too_large || number < least || number > most) {
      refuse(fmt::format("has \"{}\" outside of {} to {}", name, least, most));
    }
    return number;
  }

  int small_number(const char* name, int least, int most) const {
    return static_cast<int>(number(name, least, most));
  }

  bool flag(const char* name) const {
    const rendezvous_json& value = field(name);
    if (!value.is_boolean()) refuse(fmt::format("has no true or false \"{}\"", name));
    return value.get<bool>();
  }

  std::string text(const char* name) const {
    const rendezvous_json& value = field(name);
    if (!value.is_string()) refuse(fmt::format("has no text \"{}\"", name));
    return value.get<std::string>();
  }

  duration milliseconds(const char* name) const {
    constexpr std::int64_t longest = 1'000'000'000'000;
    return std::chrono::milliseconds(number(name, 0, longest));
  }

  [[noreturn]] static void refuse(const std::string& why) {
    throw error(errc::protocol_violation, "a message of the rendezvous " + why);
  }

 private:
  const rendezvous_json& field(const char* name) const {
    const auto found = json_.find(name);
    if (found == json_.end()) refuse(fmt::format("has no \"{}\"", name));
    return *found;
  }

  rendezvous_json json_;
};

inline constexpr std::int64_t last_round = std::numeric_limits<std::int64_t>::max() - 1;
inline constexpr int most_restarts = std::numeric_limits<int>::max() - 1;

inline std::int64_t whole_milliseconds(duration time) {
  return std::chrono::ceil<std::chrono::milliseconds>(time).count();
}

inline std::string quoted(const std::string& text) {
  // What is not UTF-8 is replaced and not refused: it may be a worker's last words.
  return rendezvous_json(text).dump(-1, ' ', false, rendezvous_json::error_handler_t::replace);
}

inline std::string master_fields(const master_endpoint& master) {
  return fmt::format(R"("address": {}, "port": {}, "served": {})", quoted(master.address),
                     master.port, master.served_by_agent);
}

inline master_endpoint read_master(const message_fields& fields) {
  constexpr int most_ports = 65535;
  master_endpoint master;
  master.address = fields.text("address");
  master.port = static_cast<std::uint16_t>(fields.small_number("port", 0, most_ports));
  master.served_by_agent = fields.flag("served");
  return master;
}

inline const char* text_of(job_end end) {
  return end == job_end::succeeded ? "succeeded" : "failed";
}

inline job_end read_job_end(const message_fields& fields) {
  const std::string end = fields.text("end");
  if (end == "succeeded") return job_end::succeeded;
  if (end == "failed") return job_end::failed;
  message_fields::refuse(fmt::format("has an unknown \"end\": '{:.40}'", end));
}

inline const char* text_of(change_kind kind) {
  switch (kind) {
    case change_kind::node_waiting: return "node_waiting";
    case change_kind::node_lost: return "node_lost";
    case change_kind::worker_failed: return "worker_failed";
  }
  return "";
}

inline change_kind read_change_kind(const message_fields& fields) {
  const std::string kind = fields.text("change");
  for (const change_kind known :
       {change_kind::node_waiting, change_kind::node_lost, change_kind::worker_failed}) {
    if (kind == text_of(known)) return known;
  }
  message_fields::refuse(fmt::format("has an unknown \"change\": '{:.40}'", kind));
}

/// Writes a message as JSON.
struct message_writer {
  std::string operator()(const rendezvous_messages::hello& said) const {
    const rendezvous_settings& settings = said.settings;
    return fmt::format(
        R"({{"kind": "hello", "version": {}, "run_id": {}, "host": {}, "pid": {}, )"
        R"("local_id": {}, "min_nodes": {}, "max_nodes": {}, "last_call_ms": {}, )"
        R"("keep_alive_ms": {}, "keep_alive_attempts": {}, "grace_ms": {}}})",
        said.version, quoted(said.run_id), quoted(said.node.host), said.node.pid,
        said.node.local_id, settings.min_nodes, settings.max_nodes,
        whole_milliseconds(settings.last_call_timeout),
        whole_milliseconds(settings.keep_alive_interval), settings.keep_alive_max_attempt,
        whole_milliseconds(settings.reconnect_grace));
  }
  std::string operator()(const rendezvous_messages::join& said) const {
    return fmt::format(R"({{"kind": "join", "after": {}, "timeout_ms": {}, {}}})", said.after,
                       whole_milliseconds(said.timeout), master_fields(said.offer));
  }
  std::string operator()(const rendezvous_messages::keep_alive&) const {
    return R"({"kind": "keep_alive"})";
  }
  std::string operator()(const rendezvous_messages::failed& said) const {
    return fmt::format(R"({{"kind": "failed", "round": {}, "what": {}}})", said.round,
                       quoted(said.what));
  }
  std::string operator()(const rendezvous_messages::finished& said) const {
    return fmt::format(R"({{"kind": "finished", "round": {}}})", said.round);
  }
  std::string operator()(const rendezvous_messages::leave&) const { return R"({"kind": "leave"})"; }
  std::string operator()(const rendezvous_messages::close_job& said) const {
    return fmt::format(R"({{"kind": "close", "end": "{}", "why": {}}})", text_of(said.end),
                       quoted(said.why));
  }
  std::string operator()(const rendezvous_messages::ask_status&) const {
    return R"({"kind": "ask_status"})";
  }

  std::string operator()(const rendezvous_messages::welcome& said) const {
    return fmt::format(R"({{"kind": "welcome", "resumed": {}}})", said.resumed);
  }
  std::string operator()(const rendezvous_messages::refused& said) const {
    return fmt::format(R"({{"kind": "refused", "timeout": {}, "why": {}}})", said.timeout,
                       quoted(said.why));
  }
  std::string operator()(const rendezvous_messages::placed& said) const {
    return fmt::format(
        R"({{"kind": "placed", "round": {}, "rank": {}, "world": {}, "restarts": {}, {}}})",
        said.round, said.rank, said.world, said.restarts, master_fields(said.master));
  }
  std::string operator()(const rendezvous_messages::changed& said) const {
    return fmt::format(
        R"({{"kind": "changed", "round": {}, "change": "{}", "restarts": {}, "what": {}}})",
        said.round, text_of(said.what.kind), said.what.restarts, quoted(said.what.what));
  }
  std::string operator()(const rendezvous_messages::all_finished& said) const {
    return fmt::format(R"({{"kind": "all_finished", "round": {}}})", said.round);
  }
  std::string operator()(const rendezvous_messages::closed& said) const {
    return fmt::format(R"({{"kind": "closed", "end": "{}", "why": {}}})", text_of(said.end),
                       quoted(said.why));
  }
  std::string operator()(const rendezvous_messages::alive&) const { return R"({"kind": "alive"})"; }
  std::string operator()(const rendezvous_messages::status& said) const {
    return fmt::format(R"({{"kind": "status", "waiting": {}, "closed": {}}})", said.waiting,
                       said.is_closed);
  }
};

inline rendezvous_messages::hello read_hello(const message_fields& fields) {
  constexpr int most = std::numeric_limits<int>::max();
  rendezvous_messages::hello said;
  said.version = fields.small_number("version", 1, most);
  said.run_id = fields.text("run_id");
  said.node.host = fields.text("host");
  said.node.pid = fields.number("pid", 0, std::numeric_limits<std::int64_t>::max());
  said.node.local_id = fields.number("local_id", 0, std::numeric_limits<std::int64_t>::max());
  rendezvous_settings& settings = said.settings;
  settings.min_nodes = fields.small_number("min_nodes", 1, limits::nodes);
  settings.max_nodes = fields.small_number("max_nodes", settings.min_nodes, limits::nodes);
  settings.last_call_timeout = fields.milliseconds("last_call_ms");
  settings.keep_alive_interval = fields.milliseconds("keep_alive_ms");
  settings.keep_alive_max_attempt = fields.small_number("keep_alive_attempts", 1, 1'000'000);
  settings.reconnect_grace = fields.milliseconds("grace_ms");
  return said;
}

}  // namespace detail

/// The message as one JSON object.
inline std::string to_text(const rendezvous_request& said) {
  return std::visit(detail::message_writer(), said);
}
inline std::string to_text(const rendezvous_answer& said) {
  return std::visit(detail::message_writer(), said);
}

/// Reads what a node says. Errors: `errc::protocol_violation`, naming what is wrong.
inline rendezvous_request parse_rendezvous_request(std::string_view text) {
  namespace messages = rendezvous_messages;
  const detail::message_fields fields(text);
  const std::string kind = fields.text("kind");
  if (kind == "hello") return detail::read_hello(fields);
  if (kind == "join") {
    return messages::join{fields.number("after", -1, detail::last_round),
                          fields.milliseconds("timeout_ms"), detail::read_master(fields)};
  }
  if (kind == "keep_alive") return messages::keep_alive{};
  if (kind == "failed") {
    return messages::failed{fields.number("round", 0, detail::last_round), fields.text("what")};
  }
  if (kind == "finished") return messages::finished{fields.number("round", 0, detail::last_round)};
  if (kind == "leave") return messages::leave{};
  if (kind == "close") return messages::close_job{detail::read_job_end(fields), fields.text("why")};
  if (kind == "ask_status") return messages::ask_status{};
  detail::message_fields::refuse(fmt::format("is of an unknown kind: '{:.40}'", kind));
}

/// Reads what the server says. Errors: `errc::protocol_violation`, naming what is wrong.
inline rendezvous_answer parse_rendezvous_answer(std::string_view text) {
  namespace messages = rendezvous_messages;
  const detail::message_fields fields(text);
  const std::string kind = fields.text("kind");
  if (kind == "welcome") return messages::welcome{fields.flag("resumed")};
  if (kind == "refused") return messages::refused{fields.flag("timeout"), fields.text("why")};
  if (kind == "placed") {
    messages::placed said;
    said.round = fields.number("round", 0, detail::last_round);
    said.world = fields.small_number("world", 1, limits::nodes);
    said.rank = fields.small_number("rank", 0, said.world - 1);
    said.restarts = fields.small_number("restarts", 0, detail::most_restarts);
    said.master = detail::read_master(fields);
    return said;
  }
  if (kind == "changed") {
    messages::changed said;
    said.round = fields.number("round", 0, detail::last_round);
    said.what.kind = detail::read_change_kind(fields);
    said.what.restarts = fields.small_number("restarts", 0, detail::most_restarts);
    said.what.what = fields.text("what");
    return said;
  }
  if (kind == "all_finished") {
    return messages::all_finished{fields.number("round", 0, detail::last_round)};
  }
  if (kind == "closed") return messages::closed{detail::read_job_end(fields), fields.text("why")};
  if (kind == "alive") return messages::alive{};
  if (kind == "status") {
    return messages::status{fields.small_number("waiting", 0, limits::nodes),
                            fields.flag("closed")};
  }
  detail::message_fields::refuse(fmt::format("is of an unknown kind: '{:.40}'", kind));
}

}  // namespace elastic

// ---- elastic/rendezvous/detail/rendezvous_link.hpp ----

namespace elastic::detail {

/// A node's connection to the server of its rendezvous: keeps it, takes it up again where it
/// breaks, and holds the last that was heard.
///
/// Whoever waits for something looks at `heard()`, and awaits `news()` where it is not there yet.
///
/// Thread-safety: one strand at a time.
class rendezvous_link final : public std::enable_shared_from_this<rendezvous_link> {
 public:
  /// What the server said that still holds.
  struct knowledge {
    std::optional<rendezvous_messages::placed> placed;
    std::optional<rendezvous_change> change;
    std::optional<rendezvous_messages::closed> closed;
    std::optional<rendezvous_messages::refused> refused;
    std::optional<rendezvous_messages::status> status;
    bool all_finished = false;
    /// The link has ended for good; nothing more will be heard.
    std::exception_ptr broken;
  };

  rendezvous_link(std::shared_ptr<message_connector> connector, rendezvous_messages::hello greeting,
                  std::shared_ptr<time_source> time, logger log)
      : connector_(std::move(connector)),
        greeting_(std::move(greeting)),
        time_(std::move(time)),
        log_(std::move(log)) {}

  /// Begins to connect, for at most `patience`.
  void start(asio::any_io_executor executor, duration patience) {
    news_.emplace(executor);
    ended_.emplace(executor);
    auto on_end = [self = shared_from_this()](std::exception_ptr failure) {
      self->heard_.broken = failure;
      self->tell();
      self->ended_->set();
    };
    asio::co_spawn(executor, keep_connected(time_->now() + patience),
                   asio::bind_cancellation_slot(cancel_.slot(), std::move(on_end)));
  }

  /// Sends what is still to be said, for at most `limits::rendezvous_farewell`, and ends.
  task<void> stop() {
    if (!ended_) co_return;
    const auto channel = channel_;
    if (channel) {
      try {
        co_await with_deadline(*time_, time_->now() + limits::rendezvous_farewell,
                               channel->flush());
      } catch (const error&) {
        // Whom it was for is gone.
      }
    }
    cancel_.emit(asio::cancellation_type::terminal);
    co_await ended_->wait();
    if (channel_) channel_->close();
    channel_.reset();
    is_welcome_ = false;
  }

  const knowledge& heard() const { return heard_; }

  bool is_connected() const { return is_welcome_; }

  /// The address of this node on the way to the server; empty while there is no connection.
  std::string local_address() const { return channel_ ? channel_->local_address() : std::string(); }

  /// Waits until something more was heard.
  task<void> news() { co_await news_->wait(); }

  /// Says something now, and again whenever the connection was taken up, until something else is
  /// said so: its effect is the same whether it arrives once or twice.
  void insist(rendezvous_request what) {
    standing_ = std::move(what);
    say(*standing_);
  }

  /// Says something; without a connection it is lost.
  void say(const rendezvous_request& what) {
    if (is_welcome_) channel_->send(to_text(what));
  }

  /// This node is between two rounds: what was heard of the one that it leaves holds no longer.
  void begin_join(rendezvous_messages::join wish) {
    heard_.placed.reset();
    heard_.change.reset();
    heard_.refused.reset();
    heard_.all_finished = false;
    insist(std::move(wish));
  }

  void ask_status() {
    heard_.status.reset();
    insist_on_status_ = true;
    say(rendezvous_messages::ask_status{});
  }

  /// Why the last attempt to connect failed.
  const std::string& last_problem() const { return last_problem_; }

 private:
  using channel_pointer = std::shared_ptr<message_channel>;

  static constexpr std::chrono::milliseconds first_pause{20};
  static constexpr std::chrono::milliseconds longest_pause{1000};
  /// After this time without a connection the log says what is waited for.
  static constexpr std::chrono::seconds silent_wait{2};
  /// How long one attempt, and the first answer, may take.
  static constexpr std::chrono::seconds attempt_timeout{5};
  /// A server that is about to stop hangs up once; one that does not know us, always.
  static constexpr int most_hang_ups = 5;
  static constexpr int most_silences = 2;

  // ---- keeping the connection -----------------------------------------------------------------

  task<void> keep_connected(time_point deadline) {
    for (;;) {
      channel_ = co_await connect_until(deadline);
      std::string why;
      // The server waits for as long again until it lets the others go on.
      grace_ = greeting_.settings.reconnect_grace / 2;
      try {
        co_await race(listen(), keep_alive());
      } catch (const error& failure) {
        // A word that makes no sense will make none the next time.
        if (failure.code() == errc::protocol_violation && !heard_.closed) throw;
        why = failure.what();
      }
      channel_->close();
      channel_.reset();
      is_welcome_ = false;
      if (heard_.closed) {
        // The job is over; the server may leave before us.
        co_return;
      }
      log_.debug("the connection to the rendezvous at {} broke: {}", connector_->name(), why);
      const time_point now = time_->now();
      lost_at_ = now + greeting_.settings.reconnect_grace / 2;
      deadline = now + limits::rendezvous_absence;
    }
  }

  /// Tries again and again.
  task<channel_pointer> connect_until(time_point deadline) {
    const time_point begun = time_->now();
    duration pause = first_pause;
    bool has_warned = false;
    for (;;) {
      const channel_pointer channel = co_await try_connect(std::min(deadline, next_limit()));
      if (channel) co_return channel;
      const time_point now = time_->now();
      if (lost_at_ && now >= *lost_at_) {
        note_lost(fmt::format("the connection to the rendezvous at {} was lost",
                              connector_->name()),
                  grace_);
        lost_at_.reset();
      }
      if (now >= deadline) throw error(errc::connection_failed, absence());
      if (!has_warned && now - begun >= silent_wait) {
        has_warned = true;
        log_.warning("waiting for the rendezvous at {} ({})", connector_->name(), last_problem_);
      }
      const time_point next_try = std::min({deadline, next_limit(), now + pause});
      co_await time_->sleep_until(next_try);
      pause = std::min<duration>(pause * 2, longest_pause);
    }
  }

  time_point next_limit() const {
    return lost_at_ ? std::max(*lost_at_, time_->now()) : time_point::max();
  }

  std::string absence() const {
    return fmt::format("{} the rendezvous at {}: {}",
                       was_connected_ ? "lost" : "could not reach", connector_->name(),
                       last_problem_);
  }

  /// Result: null where this attempt failed.
  task<channel_pointer> try_connect(time_point deadline) {
    const time_point limit = std::min(deadline, time_->now() + attempt_timeout);
    channel_pointer channel;
    try {
      auto made = co_await with_deadline(*time_, limit, connector_->connect());
      if (made) channel = std::move(*made);
      if (!channel && last_problem_.empty()) last_problem_ = "no answer";
    } catch (const error& failure) {
      last_problem_ = failure.what();
    }
    if (!channel) co_return nullptr;
    channel->send(to_text(rendezvous_request(greeting_)));
    known_alive_at_ = time_->now();
    unanswered_.clear();
    if (co_await is_welcomed(channel, limit)) co_return channel;
    channel->close();
    co_return nullptr;
  }

  /// Whether the other side answers as a server of the rendezvous does.
  task<bool> is_welcomed(channel_pointer channel, time_point limit) {
    std::optional<rendezvous_answer> said;
    try {
      const auto answer = co_await with_deadline(*time_, limit, channel->receive());
      if (answer) said = parse_rendezvous_answer(*answer);
      if (!answer) {
        last_problem_ = "it accepts connections but does not answer";
        // PyTorch's servers of today ignore what they do not know.
        if (!was_connected_ && ++silences_ >= most_silences) {
          throw error(errc::protocol_violation, last_problem_);
        }
      }
    } catch (const error& failure) {
      last_problem_ = failure.what();
      const bool is_sure =
          failure.code() == errc::protocol_violation || ++hang_ups_ >= most_hang_ups;
      if (is_sure && !was_connected_) throw error(errc::protocol_violation, stranger());
    }
    if (!said) co_return false;
    if (const auto* refusal = std::get_if<rendezvous_messages::refused>(&*said)) {
      throw error(errc::invalid_argument, refusal->why);
    }
    const auto* welcome = std::get_if<rendezvous_messages::welcome>(&*said);
    if (welcome == nullptr) throw error(errc::protocol_violation, stranger());
    take_up(*channel, welcome->resumed);
    co_return true;
  }

  std::string stranger() const {
    return fmt::format("what answers at {} is no rendezvous of elasticrun ({})", connector_->name(),
                       last_problem_);
  }

  void take_up(message_channel& channel, bool resumed) {
    is_welcome_ = true;
    was_connected_ = true;
    lost_at_.reset();
    if (!resumed) note_lost("this node was given up by the others", duration::zero());
    if (standing_) channel.send(to_text(*standing_));
    if (insist_on_status_) channel.send(to_text(rendezvous_messages::ask_status{}));
    tell();
  }

  // ---- the conversation -----------------------------------------------------------------------

  task<void> listen() {
    for (;;) {
      const std::string message = co_await channel_->receive();
      rendezvous_answer said = parse_rendezvous_answer(message);
      std::visit([this](auto& what) { take(what); }, said);
      tell();
    }
  }

  /// Gives up a server that may have heard nothing of us for so long that it soon gives us up: what
  /// it says of itself proves nothing, only its answers do.
  task<void> keep_alive() {
    const duration interval = greeting_.settings.keep_alive_interval;
    const duration patience = std::max(greeting_.settings.silence() - interval, interval * 3 / 2);
    time_point next_word = time_->now() + interval;
    for (;;) {
      const time_point next_look = std::min(next_word, known_alive_at_ + patience);
      co_await time_->sleep_until(next_look);
      const time_point now = time_->now();
      if (now >= known_alive_at_ + patience) {
        grace_ = interval / 2;
        throw error(errc::connection_failed, "the server does not answer");
      }
      if (now < next_word) continue;
      say(rendezvous_messages::keep_alive{});
      unanswered_.push_back(now);
      next_word = now + interval;
    }
  }

  void take(const rendezvous_messages::welcome&) {}
  void take(const rendezvous_messages::alive&) {
    if (unanswered_.empty()) return;
    known_alive_at_ = unanswered_.front();
    unanswered_.pop_front();
  }
  void take(const rendezvous_messages::refused& said) { heard_.refused = said; }
  void take(const rendezvous_messages::closed& said) { heard_.closed = said; }
  void take(const rendezvous_messages::status& said) {
    heard_.status = said;
    insist_on_status_ = false;
  }
  void take(const rendezvous_messages::placed& said) {
    const auto* wish = standing_ ? std::get_if<rendezvous_messages::join>(&*standing_) : nullptr;
    if (wish == nullptr || said.round <= wish->after) return;
    standing_.reset();
    heard_.placed = said;
  }
  void take(const rendezvous_messages::changed& said) {
    if (heard_.placed && heard_.placed->round == said.round && !heard_.change) {
      heard_.change = said.what;
    }
  }
  void take(const rendezvous_messages::all_finished& said) {
    if (heard_.placed && heard_.placed->round == said.round) heard_.all_finished = true;
  }

  void note_lost(std::string why, duration grace) {
    if (!heard_.placed || heard_.change || heard_.all_finished) return;
    const int restarts = heard_.placed->restarts;
    heard_.change = rendezvous_change{change_kind::node_lost, std::move(why), restarts, grace};
    tell();
  }

  void tell() {
    news_->set();
    news_->reset();
  }

  std::shared_ptr<message_connector> connector_;
  rendezvous_messages::hello greeting_;
  std::shared_ptr<time_source> time_;
  logger log_;
  std::optional<event_flag> news_;
  std::optional<event_flag> ended_;
  asio::cancellation_signal cancel_;
  channel_pointer channel_;
  bool is_welcome_ = false;
  bool was_connected_ = false;
  /// When a connection that broke counts as the loss of this node, and how long its workers may
  /// then take to end.
  std::optional<time_point> lost_at_;
  duration grace_{};
  /// When we said the last that the server is known to have heard, and what it has not answered.
  time_point known_alive_at_;
  std::deque<time_point> unanswered_;
  std::optional<rendezvous_request> standing_;
  bool insist_on_status_ = false;
  knowledge heard_;
  std::string last_problem_;
  int hang_ups_ = 0;
  int silences_ = 0;
};

}  // namespace elastic::detail

// ---- elastic/store/key_watch.hpp ----

namespace elastic {

/// Tells a coroutine when one key changes of a table in this process, such as that of a server:
///
///     key_watch watch(executor, server.engine(), "key");
///     while (watch.value() == known) co_await watch.changed();
///
/// Thread-safety: one strand at a time, whoever changes the key.
class key_watch {
 public:
  /// @param key  as users of a store name it
  key_watch(asio::any_io_executor executor, std::shared_ptr<key_value_engine> engine,
            const std::string& key)
      : engine_(std::move(engine)),
        key_(detail::store_wire_key(key)),
        changed_(executor),
        listening_(std::make_shared<listener>(executor, changed_)),
        id_(engine_->watch(key_, listening_)) {}
  ~key_watch() {
    engine_->unwatch(id_);
    listening_->forget();
  }
  key_watch(const key_watch&) = delete;
  key_watch& operator=(const key_watch&) = delete;

  /// The value at present; empty where there is none.
  std::string value() const { return engine_->find(key_).value_or(std::string()); }

  /// Waits for a change after the last that was waited for.
  /// Cancellation: all types, no effect.
  task<void> changed() {
    co_await changed_.wait();
    changed_.reset();
  }

 private:
  // The flag is the watch's own, and taken away with it: a notice may still be under way then.
  class listener final : public key_value_engine::listener,
                         public std::enable_shared_from_this<listener> {
   public:
    listener(asio::any_io_executor executor, event_flag& flag)
        : executor_(std::move(executor)), flag_(&flag) {}

    void on_ready(key_value_engine::wait_id) noexcept override {}
    void on_change(const key_value_engine::change&) noexcept override {
      asio::post(executor_, [self = shared_from_this()] {
        if (self->flag_ != nullptr) self->flag_->set();
      });
    }

    void forget() { flag_ = nullptr; }

   private:
    asio::any_io_executor executor_;
    event_flag* flag_;
  };

  std::shared_ptr<key_value_engine> engine_;
  std::string key_;
  event_flag changed_;
  std::shared_ptr<listener> listening_;
  key_value_engine::wait_id id_;
};

}  // namespace elastic

// ---- elastic/rendezvous/store_rendezvous_backend.hpp ----

namespace elastic {

/// The key under which the agents of PyTorch keep the state of their rendezvous.
inline std::string torch_state_key(std::string_view run_id) {
  return fmt::format("torch.rendezvous.{}", run_id);
}

/// Keeps the state of a rendezvous in a store, where and as torchrun's `c10d` backend does.
///
/// Thread-safety: one strand at a time.
class store_rendezvous_backend final : public rendezvous_backend {
 public:
  /// How long it waits before a store is looked at again that cannot tell of a change.
  static constexpr std::chrono::seconds pause{1};

  /// @param dialect  what is written; a state of another dialect is refused
  /// @param engine   the table of `where`, if that is in this process: then a change is told at
  ///                 once
  store_rendezvous_backend(std::shared_ptr<store> where, std::string run_id, torch_dialect dialect,
                           std::shared_ptr<time_source> time,
                           std::shared_ptr<key_value_engine> engine = nullptr)
      : store_(std::move(where)),
        key_(torch_state_key(run_id)),
        dialect_(dialect),
        time_(std::move(time)),
        engine_(std::move(engine)) {}

  task<std::optional<stored_state>> get() override {
    std::string text = co_await exchange("", std::string(torch_no_state));
    co_return parse(std::move(text));
  }

  task<set_outcome> set(torch_state state, std::string token) override {
    const std::string wanted = stored_text(state, dialect_);
    if (token.empty()) token = torch_no_state;
    std::string text = co_await exchange(token, wanted);
    set_outcome outcome;
    outcome.was_set = text == wanted;
    // A key that is gone is answered by what was expected of it: it is made anew.
    const bool may_be_gone = !outcome.was_set && text == token;
    if (may_be_gone) text = co_await exchange("", std::string(torch_no_state));
    outcome.stored = parse(std::move(text));
    co_return outcome;
  }

  task<void> wait_for_change(std::string token) override {
    if (!engine_) {
      co_await time_->sleep_until(time_->now() + pause);
      co_return;
    }
    if (token.empty()) token = torch_no_state;
    key_watch watch(co_await asio::this_coro::executor, engine_, key_);
    while (watch.value() == token) co_await watch.changed();
  }

  /// Which dialect the state under a run id is written in; none where there is no state yet, or
  /// one that holds nothing that tells.
  /// Errors: those of the store; `errc::rendezvous_state`.
  static task<std::optional<torch_dialect>> seen_dialect(std::shared_ptr<store> where,
                                                         std::string run_id) {
    const std::string key = torch_state_key(run_id);
    const std::string nothing(torch_no_state);
    const std::string text = co_await where->compare_set(key, "", nothing);
    const std::optional<torch_state> state = read(text, key);
    if (!state) co_return std::nullopt;
    co_return state->seen_dialect;
  }

 private:
  // Asking for "the value, if it is X, to become Y" tells the value in one round trip and, unlike
  // a plain GET, never waits for the key to exist.
  task<std::string> exchange(std::string expected, std::string desired) {
    return store_->compare_set(key_, std::move(expected), std::move(desired));
  }

  static std::optional<torch_state> read(const std::string& text, const std::string& key) {
    try {
      return parse_stored_text(text);
    } catch (const error& failure) {
      throw error(errc::rendezvous_state,
                  fmt::format("{} (the store's key '{}')", failure.what(), key));
    }
  }

  std::optional<stored_state> parse(std::string text) const {
    std::optional<torch_state> state = read(text, key_);
    if (!state) return std::nullopt;
    const auto seen = state->seen_dialect;
    if (seen && *seen != dialect_) {
      throw error(errc::rendezvous_state,
                  fmt::format("the state under the store's key '{}' is in the dialect {} and this "
                              "node speaks {}: all nodes of a job need one dialect (--rdzv-conf "
                              "dialect={})",
                              key_, to_text(*seen), to_text(dialect_), to_text(*seen)));
    }
    return stored_state{std::move(*state), std::move(text)};
  }

  std::shared_ptr<store> store_;
  std::string key_;
  torch_dialect dialect_;
  std::shared_ptr<time_source> time_;
  std::shared_ptr<key_value_engine> engine_;
};

}  // namespace elastic

// ---- elastic/rendezvous/detail/torch_agent_watch.hpp ----

namespace elastic::detail {

/// Warns, once, where agents of PyTorch try to meet in a store whose nodes meet in another way.
///
/// Thread-safety: told by whichever thread changes the store.
class torch_agent_watch final : public key_value_engine::listener,
                                public std::enable_shared_from_this<torch_agent_watch> {
 public:
  torch_agent_watch(std::shared_ptr<key_value_engine> engine, std::string run_id, logger log)
      : engine_(std::move(engine)), run_id_(std::move(run_id)), log_(std::move(log)) {}
  ~torch_agent_watch() override { engine_->unwatch(id_); }
  torch_agent_watch(const torch_agent_watch&) = delete;
  torch_agent_watch& operator=(const torch_agent_watch&) = delete;

  void begin() { id_ = engine_->watch("/" + torch_state_key(run_id_), weak_from_this()); }

  void on_ready(key_value_engine::wait_id) noexcept override {}

  // The table tells one change after the other.
  void on_change(const key_value_engine::change& change) noexcept override {
    if (has_warned_) return;
    try {
      const std::optional<torch_dialect> dialect = dialect_of(change.new_value);
      if (!dialect) return;
      has_warned_ = true;
      log_.warning("a node of torchrun came to join the job '{}' and cannot, because the others "
                   "meet in elasticrun's own way: for a mixed job start every node of elasticrun "
                   "with --rdzv-conf dialect={}",
                   run_id_, to_text(*dialect));
    } catch (const std::exception&) {
      // Not a state.
    }
  }

 private:
  // What an agent of PyTorch leaves first says nothing yet.
  static std::optional<torch_dialect> dialect_of(std::string_view value) {
    const std::optional<torch_state> state = parse_stored_text(value);
    return state ? state->seen_dialect : std::nullopt;
  }

  std::shared_ptr<key_value_engine> engine_;
  std::string run_id_;
  logger log_;
  key_value_engine::wait_id id_ = 0;
  bool has_warned_ = false;
};

}  // namespace elastic::detail

// ---- elastic/rendezvous/rendezvous_coordinator.hpp ----

namespace elastic {

/// The server's side of one job's rendezvous, without sockets and clocks: messages of nodes and
/// the time go in, answers come out.
///
/// What it does costs O(N) messages for a round of N nodes. A node's message that arrives twice,
/// because its connection broke in between, has its effect once.
///
/// Thread-safety: one strand at a time.
class rendezvous_coordinator {
 public:
  /// A connection, as its owner numbers it. Never used twice.
  using connection = std::uint64_t;

  /// The two ends of a connection, as the server sees them; numeric.
  struct addresses {
    std::string here;
    std::string there;
    /// The node is on the server's own host, and reaches it without a network.
    bool is_loopback = true;
  };

  struct sending {
    connection to;
    rendezvous_answer what;
  };

  explicit rendezvous_coordinator(std::string run_id, logger log = {})
      : run_id_(std::move(run_id)), log_(std::move(log)) {}

  // ---- what happens ---------------------------------------------------------------------------

  void connected(connection from, addresses ends) { ends_[from] = std::move(ends); }

  /// A node says something. The first thing is its `hello`; a connection that says anything else
  /// before, or after its node was given up, is dropped.
  void received(connection from, const rendezvous_request& said, time_point now) {
    if (const auto* greeting = std::get_if<rendezvous_messages::hello>(&said)) {
      welcome(from, *greeting, now);
      return;
    }
    const auto found = nodes_.find(from);
    if (found == nodes_.end()) {
      dropped_.push_back(from);
      return;
    }
    const node_id node = found->second;
    members_.at(node).heard = now;
    std::visit([&](const auto& what) { take(node, what, now); }, said);
    settle(now);
  }

  /// The connection is gone. Its node has the grace to come back by another one.
  void disconnected(connection from, time_point now) {
    ends_.erase(from);
    const auto found = nodes_.find(from);
    if (found == nodes_.end()) return;
    member& gone = members_.at(found->second);
    nodes_.erase(found);
    gone.link.reset();
    gone.given_up_at = now + settings_.reconnect_grace;
    wake_at(*gone.given_up_at);
  }

  /// The time is now `now`.
  void advance(time_point now) {
    if (now < next_) return;
    for (const node_id& node : overdue_nodes(now)) give_up(node, now);
    settle_all_ = true;
    settle(now);
    plan_next(now);
  }

  // ---- what comes of it -----------------------------------------------------------------------

  /// When `advance` is due; `time_point::max()` where nothing is.
  time_point next_deadline() const { return next_; }

  /// The answers since the last call, in their order.
  std::vector<sending> take_answers() { return std::exchange(answers_, {}); }

  /// The connections to close since the last call.
  std::vector<connection> take_dropped() { return std::exchange(dropped_, {}); }

  const round_state& state() const { return state_; }
  int restarts() const { return restarts_; }

  /// Whether nobody takes part, so that nothing but the end of the job is worth keeping.
  bool is_idle() const { return members_.empty() && nodes_.empty(); }

 private:
  struct member {
    std::optional<connection> link;
    addresses ends;
    time_point heard;
    /// Without a link: when it is lost.
    std::optional<time_point> given_up_at;
    /// Until when it waits for a place; none: it does not.
    std::optional<time_point> join_deadline;
    duration join_timeout{};
    master_endpoint offer;
    bool has_finished = false;
  };

  struct ending {
    job_end how;
    std::string why;
  };

  // ---- connections ----------------------------------------------------------------------------

  void welcome(connection from, const rendezvous_messages::hello& said, time_point now) {
    if (nodes_.count(from) != 0) {
      dropped_.push_back(from);
      return;
    }
    if (const auto why = objection(said)) {
      answers_.push_back({from, rendezvous_messages::refused{false, *why}});
      return;
    }
    if (members_.empty()) settings_ = said.settings;
    const auto [place, is_new] = members_.try_emplace(said.node);
    member& node = place->second;
    if (node.link) {
      // It knows before we do that its former connection is of no use.
      nodes_.erase(*node.link);
      dropped_.push_back(*node.link);
    }
    nodes_[from] = said.node;
    node.link = from;
    node.ends = ends_[from];
    node.heard = now;
    node.given_up_at.reset();
    wake_at(now + settings_.silence());
    answer(said.node, rendezvous_messages::welcome{!is_new});
    if (ending_) return answer(said.node, rendezvous_messages::closed{ending_->how, ending_->why});
    if (!is_new) repeat_news(said.node);
  }

  std::optional<std::string> objection(const rendezvous_messages::hello& said) const {
    if (said.version != rendezvous_messages::hello::current_version) {
      return fmt::format("this node speaks version {} of the rendezvous, the server version {}",
                         said.version, rendezvous_messages::hello::current_version);
    }
    if (said.settings.keep_alive_interval <= duration::zero()) {
      return std::string("the keep-alive interval must be over 0");
    }
    const bool differs = said.settings.min_nodes != settings_.min_nodes ||
                         said.settings.max_nodes != settings_.max_nodes;
    if (members_.empty() || !differs) return std::nullopt;
    return fmt::format("the job '{}' was begun with {}:{} nodes, this node was told {}:{}: another "
                       "job of the same run id, or another --nnodes",
                       run_id_, settings_.min_nodes, settings_.max_nodes, said.settings.min_nodes,
                       said.settings.max_nodes);
  }

  // What a node that has come back may have missed.
  void repeat_news(const node_id& node) {
    if (!state_.complete || state_.participants.count(node) == 0) return;
    if (!members_.at(node).join_deadline) answer_placed(node);
    if (change_) answer(node, rendezvous_messages::changed{state_.round, *change_});
    if (all_finished_) answer(node, rendezvous_messages::all_finished{state_.round});
  }

  // ---- what nodes say -------------------------------------------------------------------------

  // Taken before it comes to this.
  void take(const node_id&, const rendezvous_messages::hello&, time_point) {}

  void take(const node_id& node, const rendezvous_messages::join& said, time_point now) {
    member& one = members_.at(node);
    one.join_timeout = said.timeout;
    one.join_deadline = now + said.timeout;
    one.offer = said.offer;
    joining_.insert(node);
    wake_at(*one.join_deadline);
    if (!state_.complete || state_.participants.count(node) == 0) return step(node, now);
    // A repeated word, where this round is the one that it asked for.
    if (said.after < state_.round) return step(node, now);
    if (!change_) announce(change_kind::node_waiting, fmt::format("node {} waits to join",
                                                                  node.text()));
    carry_out(round_action::leave_to_rejoin, "meets again", node, now);
    step(node, now);
  }

  void take(const node_id& node, const rendezvous_messages::keep_alive&, time_point) {
    answer(node, rendezvous_messages::alive{});
  }

  void take(const node_id& node, const rendezvous_messages::failed& said, time_point) {
    if (ending_) return answer(node, rendezvous_messages::closed{ending_->how, ending_->why});
    const bool is_in = state_.complete && state_.participants.count(node) != 0;
    if (!is_in || said.round != state_.round) {
      const rendezvous_change over{change_kind::node_lost,
                                   fmt::format("round {} is over", said.round), restarts_};
      return answer(node, rendezvous_messages::changed{said.round, over});
    }
    if (change_) return answer(node, rendezvous_messages::changed{state_.round, *change_});
    // Workers whose peers vanish fail, too: that is not their fault.
    if (const auto missing = missing_participant()) {
      return announce(change_kind::node_lost, fmt::format("node {} is gone", missing->text()));
    }
    ++restarts_;
    announce(change_kind::worker_failed, fmt::format("node {}: {}", node.text(), said.what));
  }

  void take(const node_id& node, const rendezvous_messages::finished& said, time_point) {
    if (!state_.complete || said.round != state_.round) return;
    if (state_.participants.count(node) == 0) return;
    members_.at(node).has_finished = true;
    some_finished_ = true;
    look_whether_all_finished();
    if (all_finished_) answer(node, rendezvous_messages::all_finished{state_.round});
  }

  void take(const node_id& node, const rendezvous_messages::leave&, time_point now) {
    nodes_.erase(*members_.at(node).link);
    dropped_.push_back(*members_.at(node).link);
    remove(node, "left", now);
  }

  void take(const node_id&, const rendezvous_messages::close_job& said, time_point) {
    if (ending_) return;
    ending_ = ending{said.end, said.why};
    state_.closed = true;
    log_.info("rendezvous of job '{}': closed: {}", run_id_, said.why);
    for (const auto& [node, one] : members_) {
      if (joining_.count(node) != 0) continue;
      answer(node, rendezvous_messages::closed{ending_->how, ending_->why});
    }
    settle_all_ = true;
  }

  void take(const node_id& node, const rendezvous_messages::ask_status&, time_point) {
    answer(node, rendezvous_messages::status{static_cast<int>(state_.wait_list.size()),
                                             state_.closed});
  }

  // ---- the machine ----------------------------------------------------------------------------

  // All steps that a node can take now.
  void step(const node_id& node, time_point now) {
    for (;;) {
      member& one = members_.at(node);
      const round_decision decision = decide_join(state_, node, settings_, round_rules::direct, now,
                                                  *one.join_deadline);
      switch (decision.action) {
        case round_action::wait: return;
        case round_action::placed:
          end_joining(node);
          return answer_placed(node);
        case round_action::refuse_closed:
          end_joining(node);
          return answer(node, rendezvous_messages::closed{ending_->how, ending_->why});
        case round_action::refuse_timeout:
          end_joining(node);
          return answer(node, rendezvous_messages::refused{true, missing_nodes()});
        default: carry_out(decision.action, decision.reason, node, now);
      }
      if (decision.action == round_action::leave_redundancy_list) {
        one.join_deadline = now + one.join_timeout;
      } else if (decision.action == round_action::enter_wait_list) {
        announce(change_kind::node_waiting, fmt::format("node {} waits to join", node.text()));
      }
    }
  }

  void carry_out(round_action action, std::string_view reason, const node_id& node,
                 time_point now) {
    const std::int64_t round = state_.round;
    const bool was_complete = state_.complete;
    apply(state_, action, node, settings_, now);
    log_.debug("rendezvous of job '{}', round {}: node {} {}: {}", run_id_, round, node.text(),
               verb_of(action), reason);
    const bool frees_place =
        action == round_action::leave_round || action == round_action::leave_wait_list;
    if (frees_place || round != state_.round || was_complete != state_.complete) {
      settle_all_ = true;
    }
    if (round != state_.round) begin_round();
    if (!was_complete && state_.complete) note_completion();
    if (state_.deadline) wake_at(*state_.deadline);
  }

  void begin_round() {
    change_.reset();
    some_finished_ = false;
    all_finished_ = false;
    for (auto& [node, one] : members_) one.has_finished = false;
  }

  // What one node's step makes possible for others.
  void settle(time_point now) {
    while (std::exchange(settle_all_, false)) {
      const std::vector<node_id> waiting(joining_.begin(), joining_.end());
      for (const node_id& node : waiting) {
        if (joining_.count(node) != 0) step(node, now);
      }
    }
  }

  void end_joining(const node_id& node) {
    joining_.erase(node);
    members_.at(node).join_deadline.reset();
  }

  // ---- losses ---------------------------------------------------------------------------------

  std::vector<node_id> overdue_nodes(time_point now) const {
    std::vector<node_id> overdue;
    for (const auto& [node, one] : members_) {
      if (lost_at(one) <= now) overdue.push_back(node);
    }
    return overdue;
  }

  time_point lost_at(const member& one) const {
    return one.given_up_at ? *one.given_up_at : one.heard + settings_.silence();
  }

  void give_up(const node_id& node, time_point now) {
    const member& one = members_.at(node);
    if (one.link) {
      nodes_.erase(*one.link);
      dropped_.push_back(*one.link);
    }
    remove(node, one.link ? "is silent" : "is gone", now);
  }

  void remove(const node_id& node, std::string_view how, time_point now) {
    const bool has_finished = members_.at(node).has_finished;
    const bool ran = state_.complete && state_.participants.count(node) != 0;
    members_.erase(node);
    joining_.erase(node);
    if (ran && !has_finished && !ending_) {
      announce(change_kind::node_lost, fmt::format("node {} {}", node.text(), how));
    }
    const round_decision decision = decide_leave(state_, node);
    carry_out(decision.action, how, node, now);
    look_whether_all_finished();
  }

  std::optional<node_id> missing_participant() const {
    for (const auto& [node, rank] : state_.participants) {
      const auto found = members_.find(node);
      if (found == members_.end() || !found->second.link) return node;
    }
    return std::nullopt;
  }

  // ---- news -----------------------------------------------------------------------------------

  // The first change of a round is the one that counts: what follows, follows from it.
  void announce(change_kind kind, std::string what) {
    const bool is_ending_well = kind == change_kind::node_waiting && some_finished_;
    if (!state_.complete || change_ || is_ending_well) return;
    change_ = rendezvous_change{kind, std::move(what), restarts_};
    log_.info("rendezvous of job '{}', round {}: {}", run_id_, state_.round, change_->what);
    for (const auto& [node, rank] : state_.participants) {
      answer(node, rendezvous_messages::changed{state_.round, *change_});
    }
  }

  void look_whether_all_finished() {
    if (!some_finished_ || all_finished_ || change_ || state_.participants.empty()) return;
    for (const auto& [node, rank] : state_.participants) {
      const auto found = members_.find(node);
      if (found != members_.end() && !found->second.has_finished) return;
    }
    all_finished_ = true;
    for (const auto& [node, rank] : state_.participants) {
      answer(node, rendezvous_messages::all_finished{state_.round});
    }
  }

  void answer_placed(const node_id& node) {
    answer(node, rendezvous_messages::placed{state_.round, state_.participants.at(node), world_,
                                             master_, restarts_});
  }

  void answer(const node_id& node, rendezvous_answer what) {
    const auto found = members_.find(node);
    if (found == members_.end() || !found->second.link) return;
    answers_.push_back({*found->second.link, std::move(what)});
  }

  // For a node that has just given up its place, and is counted all the same.
  std::string missing_nodes() const {
    return fmt::format("{} of at least {} nodes had joined",
                       state_.participants.size() + state_.wait_list.size() + 1,
                       settings_.min_nodes);
  }

  // Kept, because some of the nodes may have left when another asks again for its place.
  void note_completion() {
    world_ = static_cast<int>(state_.participants.size());
    choose_master();
  }

  // The node of rank 0 serves the workers. One on this host reached us without a network and does
  // not know by which address the others reach it; we do, by the way that they came.
  void choose_master() {
    const auto first = members_.find(state_.participants.begin()->first);
    master_ = first == members_.end() ? master_endpoint{} : first->second.offer;
    if (first == members_.end() || !first->second.ends.is_loopback) return;
    if (master_.address != first->second.ends.there) return;
    for (const auto& [node, rank] : state_.participants) {
      const auto other = members_.find(node);
      if (other == members_.end() || other->second.ends.is_loopback) continue;
      master_.address = other->second.ends.here;
      return;
    }
  }

  // ---- time -----------------------------------------------------------------------------------

  void wake_at(time_point when) { next_ = std::min(next_, when); }

  void plan_next(time_point now) {
    next_ = time_point::max();
    for (const auto& [node, one] : members_) {
      wake_at(lost_at(one));
      const bool stands_by = state_.redundancy_list.count(node) != 0;
      if (one.join_deadline && !stands_by) wake_at(std::max(*one.join_deadline, now) + duration(1));
    }
    if (state_.deadline) wake_at(*state_.deadline);
  }

  static std::string_view verb_of(round_action action) {
    switch (action) {
      case round_action::enter_round: return "enters the round";
      case round_action::enter_wait_list: return "waits for the next round";
      case round_action::enter_redundancy_list: return "stands by";
      case round_action::leave_round: return "leaves the round";
      case round_action::leave_wait_list: return "waits no longer";
      case round_action::leave_redundancy_list: return "stands by no longer";
      case round_action::leave_to_rejoin: return "leaves the round for the next";
      case round_action::complete_round: return "completes the round";
      default: return "stays";
    }
  }

  std::string run_id_;
  logger log_;
  rendezvous_settings settings_;
  round_state state_;
  std::map<node_id, member> members_;
  std::unordered_map<connection, node_id> nodes_;
  std::unordered_map<connection, addresses> ends_;
  /// Those that wait for a place.
  std::set<node_id> joining_;
  bool settle_all_ = false;
  /// Why the round ends.
  std::optional<rendezvous_change> change_;
  bool some_finished_ = false;
  bool all_finished_ = false;
  std::optional<ending> ending_;
  master_endpoint master_;
  int world_ = 0;
  int restarts_ = 0;
  time_point next_ = time_point::max();
  std::vector<sending> answers_;
  std::vector<connection> dropped_;
};

}  // namespace elastic

// ---- elastic/rendezvous/rendezvous_service.hpp ----

namespace elastic {

/// The rendezvous of any number of jobs, on the port of a store server.
///
/// Give it to one server, as its extension.
/// Thread-safety: as the server's extensions have it.
class rendezvous_service final : public store_extension {
 public:
  /// What nodes begin with.
  static constexpr std::string_view first_words = "elastic rendezvous\n";

  /// @param time  empty: the clocks of the machine
  explicit rendezvous_service(logger log, std::shared_ptr<time_source> time = nullptr)
      : log_(std::move(log)), time_(std::move(time)) {
    if (!time_) time_ = std::make_shared<system_time>();
  }

  std::string_view greeting() const override { return first_words; }

  task<void> run() override {
    earlier_.emplace(co_await asio::this_coro::executor);
    for (;;) {
      earlier_->reset();
      planned_ = next_deadline();
      co_await with_deadline(*time_, planned_, earlier_->wait());
      for (auto& [run_id, job] : jobs_) {
        job.advance(time_->now());
        deliver(job);
      }
    }
  }

  std::unique_ptr<conversation> begin(client& from) override {
    return std::make_unique<node_conversation>(*this, from);
  }

 private:
  using connection = rendezvous_coordinator::connection;

  class node_conversation final : public conversation {
   public:
    node_conversation(rendezvous_service& of, client& from)
        : of_(of), id_(of.enter(from)), frames_(limits::rendezvous_message_bytes) {}
    ~node_conversation() override { of_.gone(id_); }
    node_conversation(const node_conversation&) = delete;
    node_conversation& operator=(const node_conversation&) = delete;

    void received(std::string_view bytes) override {
      frames_.append(bytes);
      while (const auto message = frames_.next()) of_.received(id_, *message);
    }

   private:
    rendezvous_service& of_;
    connection id_;
    frame_reader frames_;
  };

  struct node_connection {
    client* peer;
    /// Null until it has said which.
    rendezvous_coordinator* job = nullptr;
  };

  // ---- what clients do ------------------------------------------------------------------------

  connection enter(client& from) {
    connections_[++last_] = node_connection{&from};
    return last_;
  }

  void gone(connection id) {
    const auto found = connections_.find(id);
    rendezvous_coordinator* job = found->second.job;
    connections_.erase(found);
    if (job == nullptr) return;
    job->disconnected(id, time_->now());
    plan(*job);
  }

  void received(connection id, std::string_view message) {
    const rendezvous_request said = parse_rendezvous_request(message);
    node_connection& from = connections_.at(id);
    if (const auto* greeting = std::get_if<rendezvous_messages::hello>(&said)) {
      if (from.job == nullptr) introduce(id, from, greeting->run_id);
    }
    if (from.job == nullptr) {
      throw error(errc::protocol_violation, "a node of the rendezvous did not say which job it is "
                                            "of");
    }
    rendezvous_coordinator& job = *from.job;
    job.received(id, said, time_->now());
    deliver(job);
    plan(job);
  }

  void introduce(connection id, node_connection& from, const std::string& run_id) {
    const auto found = jobs_.find(run_id);
    if (found == jobs_.end()) make_room();
    from.job = found != jobs_.end() ? &found->second
                                    : &jobs_.try_emplace(run_id, run_id, log_).first->second;
    const auto here = from.peer->here();
    const auto there = from.peer->there();
    const asio::ip::address node = plain_address(there.address());
    const asio::ip::address server = plain_address(here.address());
    from.job->connected(id, {server.to_string(), node.to_string(),
                             node.is_loopback() || node == server});
  }

  // Jobs that nobody takes part in are forgotten, those that have ended last of all.
  void make_room() {
    std::erase_if(jobs_, [](const auto& job) {
      return job.second.is_idle() && !job.second.state().closed;
    });
    if (jobs_.size() < limits::rendezvous_jobs) return;
    std::erase_if(jobs_, [](const auto& job) { return job.second.is_idle(); });
    if (jobs_.size() < limits::rendezvous_jobs) return;
    throw error(errc::protocol_violation,
                fmt::format("a node of one more job than the {} that may meet here",
                            limits::rendezvous_jobs));
  }

  // ---- what they are told ---------------------------------------------------------------------

  // What is sent may end connections, which is heard of here again.
  void deliver(rendezvous_coordinator& job) {
    for (const auto& answer : job.take_answers()) {
      const auto to = connections_.find(answer.to);
      if (to == connections_.end()) continue;
      frame_.clear();
      append_frame(frame_, to_text(answer.what));
      to->second.peer->send(frame_);
    }
    for (const connection id : job.take_dropped()) {
      const auto to = connections_.find(id);
      if (to != connections_.end()) to->second.peer->hang_up();
    }
  }

  // ---- time -----------------------------------------------------------------------------------

  time_point next_deadline() const {
    time_point next = time_point::max();
    for (const auto& [run_id, job] : jobs_) next = std::min(next, job.next_deadline());
    return next;
  }

  void plan(const rendezvous_coordinator& job) {
    if (earlier_ && job.next_deadline() < planned_) earlier_->set();
  }

  logger log_;
  std::shared_ptr<time_source> time_;
  std::map<std::string, rendezvous_coordinator, std::less<>> jobs_;
  std::unordered_map<connection, node_connection> connections_;
  connection last_ = 0;
  std::optional<event_flag> earlier_;
  time_point planned_ = time_point::max();
  std::string frame_;
};

}  // namespace elastic

// ---- elastic/rendezvous/rendezvous_host.hpp ----

namespace elastic {

/// What a server of a rendezvous is asked by its nodes.
enum class rendezvous_protocol {
  /// What happens next: it decides (`c10d_rendezvous`).
  native,
  /// What its store holds: they decide (`dynamic_rendezvous`). Who asks for more is hung up on.
  torch,
};

/// The server at which nodes meet, on the node that hosts it.
///
/// Thread-safety: one strand at a time.
class rendezvous_host {
 public:
  static constexpr std::uint16_t default_port = 29400;
  /// The key that shows to clients of the store that its server decides.
  static constexpr std::string_view native_key = "elastic.rendezvous.native";

  /// Hosts the server at `at`, where that is an address of this host that nobody serves yet. Of
  /// nodes on one host, the first that comes hosts.
  ///
  /// @param decided  whether to host, where that does not follow from the address (a virtual
  ///                 address, a forwarded port)
  /// Result: null where another node hosts it.
  /// Errors: those of `tcp_store_server`, where `decided` is true.
  static task<std::unique_ptr<rendezvous_host>> try_host(endpoint at, std::optional<bool> decided,
                                                         rendezvous_parameters parameters,
                                                         rendezvous_protocol protocol) {
    if (decided == false) co_return nullptr;
    auto executor = co_await asio::this_coro::executor;
    const auto addresses = co_await detail::resolve_addresses(at.host, nullptr);
    const bool is_ours = std::any_of(
        addresses.begin(), addresses.end(),
        [&](const auto& address) { return is_local_address(executor, address); });
    if (!is_ours && !decided) co_return nullptr;
    const std::string listen_at = is_loopback(at.host) ? at.host : "";
    try {
      co_return std::make_unique<rendezvous_host>(executor, listen_at, at.port, parameters,
                                                  protocol);
    } catch (const error& failure) {
      if (failure.code() != errc::address_in_use || decided) throw;
    }
    co_return nullptr;
  }

  /// Errors: those of `tcp_store_server`.
  rendezvous_host(asio::any_io_executor executor, const std::string& address, std::uint16_t port,
                  const rendezvous_parameters& parameters, rendezvous_protocol protocol) {
    tcp_store_server_options options;
    options.address = address;
    options.port = port;
    options.use_ring = parameters.use_ring;
    options.log = parameters.log;
    options.time = parameters.time;
    if (protocol == rendezvous_protocol::native) {
      options.extension = std::make_shared<rendezvous_service>(parameters.log, parameters.time);
    }
    server_ = std::make_unique<tcp_store_server>(std::move(executor), std::move(options));
    if (protocol == rendezvous_protocol::native) engine()->set("/" + std::string(native_key), "");
  }

  std::shared_ptr<key_value_engine> engine() const { return server_->engine(); }

  /// How many clients are connected.
  std::size_t connections() const { return server_->connections(); }

  /// Ends the server, once the nodes were sent what they were told.
  task<void> stop() { co_await server_->stop(); }

 private:
  std::unique_ptr<tcp_store_server> server_;
};

}  // namespace elastic

// ---- elastic/store/memory_store.hpp ----

namespace elastic {

namespace detail {

/// Tells a coroutine that waits for the engine. The flag is the coroutine's own, so that whoever
/// still holds this object holds nothing of the coroutine; it is taken away when the wait ends.
class engine_wait final : public key_value_engine::listener,
                          public std::enable_shared_from_this<engine_wait> {
 public:
  engine_wait(asio::any_io_executor executor, event_flag& flag)
      : executor_(std::move(executor)), flag_(&flag) {}

  void on_ready(key_value_engine::wait_id) noexcept override {
    asio::post(executor_, [self = shared_from_this()] {
      if (self->flag_ != nullptr) self->flag_->set();
    });
  }

  void forget() { flag_ = nullptr; }

 private:
  asio::any_io_executor executor_;
  event_flag* flag_;
};

/// Ends a wait with its scope.
class engine_wait_scope {
 public:
  engine_wait_scope(key_value_engine& engine, const std::vector<std::string_view>& keys,
                    std::shared_ptr<engine_wait> waiting)
      : engine_(engine), waiting_(std::move(waiting)), id_(engine.wait(keys, waiting_)) {}
  ~engine_wait_scope() {
    engine_.cancel(id_);
    waiting_->forget();
  }
  engine_wait_scope(const engine_wait_scope&) = delete;
  engine_wait_scope& operator=(const engine_wait_scope&) = delete;

  bool is_waiting() const { return id_ != 0; }

 private:
  key_value_engine& engine_;
  std::shared_ptr<engine_wait> waiting_;
  key_value_engine::wait_id id_;
};

}  // namespace detail

/// A store in this process. Where its table is that of a `tcp_store_server`, it sees what the
/// server's clients see, under the same keys, without a socket between.
///
/// Thread-safety: different strands may use it at once; each wait resumes on its own.
class memory_store final : public store {
 public:
  /// A store with a table of its own.
  memory_store() : memory_store(std::make_shared<key_value_engine>()) {}

  /// A store on a table that others use as well.
  explicit memory_store(std::shared_ptr<key_value_engine> engine) : engine_(std::move(engine)) {}

  task<void> set(std::string key, std::string value) override {
    detail::check_store_value(value);
    engine_->set(detail::store_wire_key(key), value);
    co_return;
  }

  task<std::string> get(std::string key) override {
    const std::string wire = detail::store_wire_key(key);
    const std::vector<std::string_view> keys(1, wire);
    for (;;) {
      auto value = engine_->find(wire);
      if (value) co_return std::move(*value);
      co_await wait_for(keys);
    }
  }

  task<std::int64_t> add(std::string key, std::int64_t delta) override {
    co_return engine_->add(detail::store_wire_key(key), delta);
  }

  task<std::string> compare_set(std::string key, std::string expected,
                                std::string desired) override {
    detail::check_store_value(expected);
    detail::check_store_value(desired);
    co_return engine_->compare_set(detail::store_wire_key(key), expected, desired);
  }

  task<void> wait(std::vector<std::string> keys) override {
    const std::vector<std::string> wire = detail::store_wire_keys(keys);
    co_await wait_for(views_of(wire));
  }

  task<bool> check(std::vector<std::string> keys) override {
    const std::vector<std::string> wire = detail::store_wire_keys(keys);
    co_return engine_->check(views_of(wire));
  }

  task<bool> erase(std::string key) override {
    co_return engine_->erase(detail::store_wire_key(key));
  }

  task<std::int64_t> num_keys() override { co_return engine_->num_keys(); }

  task<void> append(std::string key, std::string value) override {
    detail::check_store_value(value);
    engine_->append(detail::store_wire_key(key), value);
    co_return;
  }

  task<std::vector<std::string>> multi_get(std::vector<std::string> keys) override {
    co_await wait(keys);
    std::vector<std::string> values;
    values.reserve(keys.size());
    for (const std::string& key : keys) values.push_back(co_await get(key));
    co_return values;
  }

  task<void> multi_set(std::vector<std::pair<std::string, std::string>> pairs) override {
    for (const auto& [key, value] : pairs) detail::check_store_value(value);
    const std::vector<std::string> wire = wire_keys_of(pairs);
    for (std::size_t i = 0; i < pairs.size(); ++i) engine_->set(wire[i], pairs[i].second);
    co_return;
  }

 private:
  static std::vector<std::string> wire_keys_of(
      const std::vector<std::pair<std::string, std::string>>& pairs) {
    std::vector<std::string> wire;
    wire.reserve(pairs.size());
    for (const auto& pair : pairs) wire.push_back(detail::store_wire_key(pair.first));
    return wire;
  }

  static std::vector<std::string_view> views_of(const std::vector<std::string>& texts) {
    return std::vector<std::string_view>(texts.begin(), texts.end());
  }

  // The views must outlive the call: the engine reads them only before the first suspension.
  task<void> wait_for(std::vector<std::string_view> keys) {
    auto executor = co_await asio::this_coro::executor;
    event_flag is_ready(executor);
    auto waiting = std::make_shared<detail::engine_wait>(executor, is_ready);
    const detail::engine_wait_scope scope(*engine_, keys, std::move(waiting));
    if (scope.is_waiting()) co_await is_ready.wait();
  }

  std::shared_ptr<key_value_engine> engine_;
};

}  // namespace elastic

// ---- elastic/store/detail/tcp_store_link.hpp ----

namespace elastic::detail {

/// One connection of a client to a TCPStore server: requests are written into `out()` and sent by
/// `flush`, replies are read in their order.
///
/// Errors: what the socket says, as `std::system_error`; `errc::protocol_violation`.
/// Cancellation of all members: all types; the link is then of no use, but see `cancel_wait`.
class tcp_store_link {
 public:
  explicit tcp_store_link(asio::any_io_executor executor) : socket_(std::move(executor)) {}

  /// Connects to the first address that accepts.
  task<void> connect(std::vector<asio::ip::tcp::endpoint> addresses) {
    asio::error_code failure = asio::error::host_not_found;
    for (const auto& address : addresses) {
      asio::error_code ignored;
      socket_.close(ignored);
      socket_.open(address.protocol(), failure);
      if (failure) continue;
      ::fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);
      auto [refused] = co_await socket_.async_connect(address, as_result);
      failure = refused;
      if (!failure || failure == asio::error::operation_aborted) break;
    }
    if (failure) throw std::system_error(failure);
    socket_.non_blocking(true);
    socket_.set_option(asio::ip::tcp::no_delay(true));
  }

  /// Ends what is under way with `operation_aborted`.
  void close() {
    asio::error_code ignored;
    socket_.close(ignored);
  }

  /// Where requests are written before they are sent.
  std::string& out() { return out_; }

  task<void> flush() {
    const std::string sending = std::exchange(out_, {});
    co_await asio::async_write(socket_, asio::buffer(sending), asio::use_awaitable);
  }

  task<char> read_byte() {
    co_await settle();
    co_return co_await next_byte();
  }

  task<std::int64_t> read_number() {
    co_await settle();
    co_await fill(sizeof(std::int64_t));
    co_return take_integer<std::int64_t>();
  }

  /// @param bound  the most bytes that are taken
  task<std::string> read_text(std::size_t bound) {
    co_await settle();
    co_await fill(sizeof(std::uint64_t));
    const auto size = take_integer<std::uint64_t>();
    if (size > bound) {
      throw error(errc::protocol_violation,
                  fmt::format("the store sent a value of {} bytes; up to {} are taken", size,
                              bound));
    }
    co_await fill(static_cast<std::size_t>(size));
    std::string text = in_.substr(taken_, static_cast<std::size_t>(size));
    take(text.size());
    co_return text;
  }

  /// Gives up the wait whose reply is due, without waiting for the server's answer: whoever uses
  /// the link next skips it.
  /// Result: whether the link can be used again.
  bool cancel_wait(const request_writer& write) {
    if (!write.knows(store_op::cancel_wait) || !socket_.is_open()) return false;
    std::string request;
    write.operation(request, store_op::cancel_wait);
    asio::error_code failure;
    const std::size_t sent = socket_.write_some(asio::buffer(request), failure);
    if (failure || sent != request.size()) return false;
    ++cancelled_waits_;
    return true;
  }

 private:
  // Each cancelled wait is answered by WAIT_CANCELED, after the STOP_WAITING of one that ended
  // before the server heard of it.
  task<void> settle() {
    while (cancelled_waits_ > 0) {
      const char reply = co_await next_byte();
      if (reply == reply_wait_cancelled) {
        --cancelled_waits_;
      } else if (reply != reply_stop_waiting) {
        throw error(errc::protocol_violation, "the store did not answer CANCEL_WAIT");
      }
    }
  }

  task<char> next_byte() {
    co_await fill(1);
    const char byte = in_[taken_];
    take(1);
    co_return byte;
  }

  // Reads until so many bytes are there.
  task<void> fill(std::size_t size) {
    std::array<char, 4096> piece;
    while (in_.size() - taken_ < size) {
      const std::size_t count =
          co_await socket_.async_read_some(asio::buffer(piece), asio::use_awaitable);
      in_.append(piece.data(), count);
    }
  }

  template <class Integer>
  Integer take_integer() {
    const auto value = load_integer<Integer>(in_.data() + taken_);
    take(sizeof value);
    return value;
  }

  void take(std::size_t size) {
    taken_ += size;
    if (taken_ < in_.size()) return;
    in_.clear();
    taken_ = 0;
  }

  asio::ip::tcp::socket socket_;
  std::string out_;
  std::string in_;
  std::size_t taken_ = 0;
  int cancelled_waits_ = 0;
};

}  // namespace elastic::detail

// ---- elastic/store/tcp_store.hpp ----

namespace elastic {

struct tcp_store_options {
  /// A name or an address.
  std::string host = "127.0.0.1";
  std::uint16_t port = 29500;
  /// What the server understands: `torch_2_2` for our own and PyTorch's of today.
  tcp_store_generation generation = tcp_store_generation::torch_2_2;
  /// Whether the first connection counts this process among those that a PyTorch server waits for
  /// (its `wait_for_workers`).
  bool announce_worker = false;
  /// The largest value that is taken from the server.
  std::size_t value_bytes = limits::store_value_bytes;
  /// With `generation = probe`: how long an old server may take to answer.
  std::chrono::milliseconds probe_silence{500};
  logger log;
  /// Empty: the clocks of the machine.
  std::shared_ptr<time_source> time;
};

/// The client of a TCPStore server, ours or PyTorch's.
///
/// Each operation that runs at the same time as another has a connection of its own, so that one
/// that waits holds up none; connections are kept and used again. A change has reached the server
/// when its operation returns. A connection that breaks fails the operation that uses it; the next
/// operation connects anew.
///
/// A wait that is cancelled is taken back at the server; where the server is of before 2.1, which
/// cannot, by closing the connection.
///
/// `probe` first speaks as PyTorch 1.13 does and takes silence or a hang-up for a server of 2.2 or
/// later. It cannot tell 1.13 from 2.1 and uses what both know, as it does with our own server.
///
/// Thread-safety: one strand at a time.
class tcp_store final : public store {
 public:
  /// Does not connect: `connect` does, or the first operation.
  tcp_store(asio::any_io_executor executor, tcp_store_options options)
      : executor_(std::move(executor)),
        options_(std::move(options)),
        generation_(options_.generation) {
    if (!options_.time) options_.time = std::make_shared<system_time>();
  }

  ~tcp_store() override { close(); }

  tcp_store(const tcp_store&) = delete;
  tcp_store& operator=(const tcp_store&) = delete;

  /// Connects, and tries again for as long as the server cannot be reached: bound it by
  /// `with_deadline`, and say `last_problem()` when that passes.
  ///
  /// Errors: `errc::protocol_violation` where something else answers, `errc::stopped`.
  /// Cancellation: all types.
  task<void> connect();

  /// Why the last attempt to connect failed or what it waits for; empty before one.
  const std::string& last_problem() const { return last_problem_; }

  /// What is spoken with the server; `probe` until it was found out.
  tcp_store_generation generation() const { return generation_; }

  /// Waits until so many processes have announced themselves, as PyTorch's `wait_for_workers` of
  /// the process that hosts the store.
  /// Cancellation: all types, no effect.
  task<void> wait_for_workers(std::int64_t world_size);

  /// Closes every connection; operations that run end with `errc::stopped`, as do later ones.
  void close();

  task<void> set(std::string key, std::string value) override;
  task<std::string> get(std::string key) override;
  task<std::int64_t> add(std::string key, std::int64_t delta) override;
  task<std::string> compare_set(std::string key, std::string expected,
                                std::string desired) override;
  task<void> wait(std::vector<std::string> keys) override;
  task<bool> check(std::vector<std::string> keys) override;
  task<bool> erase(std::string key) override;
  task<std::int64_t> num_keys() override;
  task<void> append(std::string key, std::string value) override;
  task<std::vector<std::string>> multi_get(std::vector<std::string> keys) override;
  task<void> multi_set(std::vector<std::pair<std::string, std::string>> pairs) override;

 private:
  using link = detail::tcp_store_link;
  using op = detail::store_op;
  using pairs_of_texts = std::vector<std::pair<std::string, std::string>>;

  // The use of one connection by one operation. It goes back to the others only when `keep` was
  // called: else a reply may be due on it.
  class lease {
   public:
    lease(tcp_store& of, std::unique_ptr<link> held) : of_(&of), held_(std::move(held)) {
      of_->in_use_.push_back(held_.get());
    }
    lease(lease&& other) noexcept
        : of_(other.of_), held_(std::move(other.held_)), keep_(other.keep_) {}
    lease& operator=(lease&&) = delete;
    ~lease() {
      if (!held_) return;
      std::erase(of_->in_use_, held_.get());
      if (keep_ && !of_->is_closed_) of_->idle_.push_back(std::move(held_));
    }
    link* operator->() const { return held_.get(); }
    void keep() { keep_ = true; }

   private:
    tcp_store* of_;
    std::unique_ptr<link> held_;
    bool keep_ = false;
  };

  detail::request_writer write() const { return detail::request_writer(generation_); }
  std::string where() const { return to_text(elastic::endpoint{options_.host, options_.port}); }

  task<lease> any_link();
  task<lease> new_link();
  task<lease> dial();
  task<std::vector<asio::ip::tcp::endpoint>> addresses();
  task<void> probe();
  task<void> confirm(lease& on);
  task<void> announce(lease& on);

  template <class T>
  task<T> guarded(task<T> work, const char* what);
  [[noreturn]] void throw_translated(const std::system_error& failure, const char* what);
  task<void> explain_refused_add(std::string key);

  task<void> do_set(std::string key, std::string value);
  task<std::string> do_get(std::string key);
  task<std::int64_t> do_add(std::string key, std::int64_t delta);
  task<std::string> do_compare_set(std::string key, std::string expected, std::string desired);
  task<void> do_wait(std::vector<std::string> keys);
  task<bool> do_check(std::vector<std::string> keys);
  task<bool> do_erase(std::string key);
  task<std::int64_t> do_num_keys();
  task<void> do_append(std::string key, std::string value);
  task<std::vector<std::string>> do_multi_get(std::vector<std::string> keys);
  task<void> do_multi_set(pairs_of_texts pairs);
  task<void> wait_on(lease& on, const std::vector<std::string>& keys);

  asio::any_io_executor executor_;
  tcp_store_options options_;
  tcp_store_generation generation_;
  std::vector<std::unique_ptr<link>> idle_;
  std::vector<link*> in_use_;
  std::string last_problem_;
  bool is_announced_ = false;
  bool is_closed_ = false;
};

// ---- connections ----------------------------------------------------------------------------

inline void tcp_store::close() {
  is_closed_ = true;
  idle_.clear();
  for (link* each : in_use_) each->close();
}

inline task<void> tcp_store::connect() {
  constexpr std::chrono::milliseconds first_pause{20};
  constexpr std::chrono::milliseconds longest_pause{500};
  for (auto pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
    bool is_connected = false;
    try {
      lease on = co_await guarded(any_link(), "connecting");
      on.keep();
      is_connected = true;
    } catch (const error& failure) {
      if (failure.code() != errc::connection_failed) throw;
      if (last_problem_ != failure.what()) {
        options_.log.debug("{}; trying again", failure.what());
      }
      last_problem_ = failure.what();
    }
    if (is_connected) break;
    co_await options_.time->sleep_until(options_.time->now() + pause);
  }
  last_problem_.clear();
}

inline task<tcp_store::lease> tcp_store::any_link() {
  if (is_closed_) throw error(errc::stopped, "the store was closed");
  if (!idle_.empty()) {
    std::unique_ptr<link> last = std::move(idle_.back());
    idle_.pop_back();
    co_return lease(*this, std::move(last));
  }
  co_return co_await new_link();
}

inline task<tcp_store::lease> tcp_store::new_link() {
  if (generation_ == tcp_store_generation::probe) co_await probe();
  lease on = co_await dial();
  write().greeting(on->out());
  // One round trip tells that the server is a store and of that generation.
  last_problem_ = fmt::format(
      "{} does not answer; is it a store, and one of the PyTorch generation that was configured?",
      where());
  co_await confirm(on);
  last_problem_.clear();
  if (options_.announce_worker && !is_announced_) co_await announce(on);
  co_return on;
}

inline task<tcp_store::lease> tcp_store::dial() {
  lease on(*this, std::make_unique<link>(executor_));
  co_await on->connect(co_await addresses());
  if (is_closed_) throw error(errc::stopped, "the store was closed");
  co_return on;
}

inline task<std::vector<asio::ip::tcp::endpoint>> tcp_store::addresses() {
  std::vector<asio::ip::tcp::endpoint> found;
  asio::error_code failure;
  const auto literal = asio::ip::make_address(options_.host, failure);
  if (!failure) {
    found.emplace_back(literal, options_.port);
  } else if (options_.host == "localhost") {
    found.emplace_back(asio::ip::address_v4::loopback(), options_.port);
    found.emplace_back(asio::ip::address_v6::loopback(), options_.port);
  } else {
    const auto resolved = co_await detail::resolve_addresses(options_.host, nullptr);
    for (const auto& address : resolved) found.emplace_back(address, options_.port);
  }
  co_return found;
}

// A server of before 2.2 answers the question whether no keys exist. Ours does too. PyTorch's of
// later hangs up or, with libuv, stays silent.
inline task<void> tcp_store::probe() {
  lease on = co_await dial();
  const detail::request_writer as_1_13(tcp_store_generation::torch_1_13);
  const std::vector<std::string> no_keys;
  as_1_13.with_keys(on->out(), op::check, no_keys);
  std::optional<char> answer;
  try {
    co_await on->flush();
    answer = co_await with_deadline(*options_.time, options_.time->now() + options_.probe_silence,
                                    on->read_byte());
  } catch (const std::system_error& failure) {
    const bool hung_up = failure.code() == asio::error::eof ||
                         failure.code() == asio::error::connection_reset ||
                         failure.code() == asio::error::broken_pipe;
    if (!hung_up) throw;
  }
  if (answer && *answer != detail::reply_ready) {
    throw error(errc::protocol_violation, fmt::format("{} is not a TCPStore", where()));
  }
  generation_ = answer ? tcp_store_generation::torch_1_13 : tcp_store_generation::torch_2_2;
}

// What was sent before on this connection has been executed when this returns.
inline task<void> tcp_store::confirm(lease& on) {
  const std::vector<std::string> no_keys;
  write().with_keys(on->out(), op::check, no_keys);
  co_await on->flush();
  const char reply = co_await on->read_byte();
  if (reply != detail::reply_ready) {
    throw error(errc::protocol_violation, fmt::format("{} is not a TCPStore", where()));
  }
}

inline task<void> tcp_store::announce(lease& on) {
  write().with_number(on->out(), op::add, detail::workers_key, 1);
  co_await on->flush();
  co_await on->read_number();
  is_announced_ = true;
}

inline task<void> tcp_store::wait_for_workers(std::int64_t world_size) {
  // The server can only be asked again: no operation waits for a number to be reached.
  constexpr std::chrono::milliseconds pause{10};
  for (;;) {
    task<lease> connecting = any_link();
    lease on = co_await guarded(std::move(connecting), "waiting for the workers");
    write().with_number(on->out(), op::add, detail::workers_key, 0);
    task<void> sending = on->flush();
    co_await guarded(std::move(sending), "waiting for the workers");
    task<std::int64_t> reading = on->read_number();
    const std::int64_t count = co_await guarded(std::move(reading), "waiting for the workers");
    on.keep();
    if (count >= world_size) co_return;
    co_await options_.time->sleep_until(options_.time->now() + pause);
  }
}

// ---- errors ---------------------------------------------------------------------------------

template <class T>
task<T> tcp_store::guarded(task<T> work, const char* what) {
  try {
    co_return co_await std::move(work);
  } catch (const error&) {
    throw;
  } catch (const std::system_error& failure) {
    throw_translated(failure, what);
  }
}

inline void tcp_store::throw_translated(const std::system_error& failure, const char* what) {
  if (is_closed_) throw error(errc::stopped, "the store was closed");
  if (failure.code() == asio::error::operation_aborted) throw failure;
  // What broke one connection has most likely broken the idle ones.
  idle_.clear();
  throw error(errc::connection_failed,
              fmt::format("the store at {} cannot be reached or hung up ({}: {})", where(), what,
                          failure.code().message()));
}

// The protocol has no way to refuse an addition but to hang up. Looks whether that is the reason.
inline task<void> tcp_store::explain_refused_add(std::string key) {
  const bool exists = co_await do_check(std::vector<std::string>(1, key));
  if (!exists) co_return;
  const std::string value = co_await do_get(key);
  if (detail::leading_number(value)) co_return;
  throw error(errc::store_value, fmt::format("the value of '{}' is not a number", key));
}

// ---- operations -----------------------------------------------------------------------------

inline task<void> tcp_store::set(std::string key, std::string value) {
  return guarded(do_set(std::move(key), std::move(value)), "set");
}
inline task<std::string> tcp_store::get(std::string key) {
  return guarded(do_get(std::move(key)), "get");
}
inline task<std::int64_t> tcp_store::add(std::string key, std::int64_t delta) {
  return guarded(do_add(std::move(key), delta), "add");
}
inline task<std::string> tcp_store::compare_set(std::string key, std::string expected,
                                                std::string desired) {
  return guarded(do_compare_set(std::move(key), std::move(expected), std::move(desired)),
                 "compare_set");
}
inline task<void> tcp_store::wait(std::vector<std::string> keys) {
  return guarded(do_wait(std::move(keys)), "wait");
}
inline task<bool> tcp_store::check(std::vector<std::string> keys) {
  return guarded(do_check(std::move(keys)), "check");
}
inline task<bool> tcp_store::erase(std::string key) {
  return guarded(do_erase(std::move(key)), "erase");
}
inline task<std::int64_t> tcp_store::num_keys() { return guarded(do_num_keys(), "num_keys"); }
inline task<void> tcp_store::append(std::string key, std::string value) {
  return guarded(do_append(std::move(key), std::move(value)), "append");
}
inline task<std::vector<std::string>> tcp_store::multi_get(std::vector<std::string> keys) {
  return guarded(do_multi_get(std::move(keys)), "multi_get");
}
inline task<void> tcp_store::multi_set(pairs_of_texts pairs) {
  return guarded(do_multi_set(std::move(pairs)), "multi_set");
}

// SET has no reply. A question behind it has, so that an operation on another connection that
// comes later finds the value, and a broken connection is noticed.
inline task<void> tcp_store::do_set(std::string key, std::string value) {
  const std::string wire = detail::store_wire_key(key);
  detail::check_store_value(value);
  lease on = co_await any_link();
  write().with_value(on->out(), op::set, wire, value);
  co_await confirm(on);
  on.keep();
}

inline task<std::string> tcp_store::do_get(std::string key) {
  const std::vector<std::string> wire(1, detail::store_wire_key(key));
  lease on = co_await any_link();
  co_await wait_on(on, wire);
  write().with_key(on->out(), op::get, wire.front());
  co_await on->flush();
  std::string value = co_await on->read_text(options_.value_bytes);
  on.keep();
  co_return value;
}

inline task<std::int64_t> tcp_store::do_add(std::string key, std::int64_t delta) {
  const std::string wire = detail::store_wire_key(key);
  lease on = co_await any_link();
  write().with_number(on->out(), op::add, wire, delta);
  std::optional<std::system_error> hung_up;
  std::int64_t sum = 0;
  try {
    co_await on->flush();
    sum = co_await on->read_number();
    on.keep();
  } catch (const std::system_error& failure) {
    const bool may_be_refused = failure.code() == asio::error::eof ||
                                failure.code() == asio::error::connection_reset;
    if (!may_be_refused) throw;
    hung_up.emplace(failure);
  }
  if (hung_up) {
    co_await explain_refused_add(std::move(key));
    throw *hung_up;
  }
  co_return sum;
}

inline task<std::string> tcp_store::do_compare_set(std::string key, std::string expected,
                                                   std::string desired) {
  const std::string wire = detail::store_wire_key(key);
  detail::check_store_value(expected);
  detail::check_store_value(desired);
  lease on = co_await any_link();
  write().compare_set(on->out(), wire, expected, desired);
  co_await on->flush();
  std::string stored = co_await on->read_text(options_.value_bytes);
  on.keep();
  co_return stored;
}

inline task<void> tcp_store::do_wait(std::vector<std::string> keys) {
  const std::vector<std::string> wire = detail::store_wire_keys(keys);
  lease on = co_await any_link();
  co_await wait_on(on, wire);
  on.keep();
}

inline task<void> tcp_store::wait_on(lease& on, const std::vector<std::string>& keys) {
  write().with_keys(on->out(), op::wait, keys);
  co_await on->flush();
  char reply = 0;
  try {
    reply = co_await on->read_byte();
  } catch (const std::system_error& failure) {
    if (failure.code() == asio::error::operation_aborted && on->cancel_wait(write())) on.keep();
    throw;
  }
  if (reply != detail::reply_stop_waiting) {
    throw error(errc::protocol_violation, "the store did not answer WAIT");
  }
}

inline task<bool> tcp_store::do_check(std::vector<std::string> keys) {
  const std::vector<std::string> wire = detail::store_wire_keys(keys);
  lease on = co_await any_link();
  write().with_keys(on->out(), op::check, wire);
  co_await on->flush();
  const char reply = co_await on->read_byte();
  if (reply != detail::reply_ready && reply != detail::reply_not_ready) {
    throw error(errc::protocol_violation, "the store did not answer CHECK");
  }
  on.keep();
  co_return reply == detail::reply_ready;
}

inline task<bool> tcp_store::do_erase(std::string key) {
  const std::string wire = detail::store_wire_key(key);
  lease on = co_await any_link();
  write().with_key(on->out(), op::erase, wire);
  co_await on->flush();
  const std::int64_t erased = co_await on->read_number();
  on.keep();
  co_return erased != 0;
}

inline task<std::int64_t> tcp_store::do_num_keys() {
  lease on = co_await any_link();
  write().operation(on->out(), op::num_keys);
  co_await on->flush();
  const std::int64_t count = co_await on->read_number();
  on.keep();
  co_return count;
}

inline task<void> tcp_store::do_append(std::string key, std::string value) {
  const std::string wire = detail::store_wire_key(key);
  detail::check_store_value(value);
  lease on = co_await any_link();
  if (!write().knows(op::append)) {
    on.keep();
    throw error(errc::not_supported,
                fmt::format("the store at {} is of before PyTorch 2.1 and cannot append", where()));
  }
  write().with_value(on->out(), op::append, wire, value);
  co_await confirm(on);
  on.keep();
}

inline task<std::vector<std::string>> tcp_store::do_multi_get(std::vector<std::string> keys) {
  const std::vector<std::string> wire = detail::store_wire_keys(keys);
  lease on = co_await any_link();
  co_await wait_on(on, wire);
  if (write().knows(op::multi_get)) {
    write().with_keys(on->out(), op::multi_get, wire);
  } else {
    for (const std::string& key : wire) write().with_key(on->out(), op::get, key);
  }
  co_await on->flush();
  std::vector<std::string> values;
  values.reserve(wire.size());
  while (values.size() < wire.size()) {
    values.push_back(co_await on->read_text(options_.value_bytes));
  }
  on.keep();
  co_return values;
}

inline task<void> tcp_store::do_multi_set(pairs_of_texts pairs) {
  std::vector<std::string> wire;
  for (const auto& [key, value] : pairs) {
    detail::check_store_value(value);
    wire.push_back(detail::store_wire_key(key));
  }
  detail::check_store_key_count(wire.size());
  lease on = co_await any_link();
  const bool at_once = write().knows(op::multi_set);
  if (at_once) {
    write().operation(on->out(), op::multi_set);
    detail::append_integer<std::uint64_t>(on->out(), wire.size());
  }
  for (std::size_t i = 0; i < wire.size(); ++i) {
    if (!at_once) write().operation(on->out(), op::set);
    detail::append_text(on->out(), wire[i]);
    detail::append_text(on->out(), pairs[i].second);
  }
  detail::check_store_request(on->out().size());
  co_await confirm(on);
  on.keep();
}

}  // namespace elastic

// ---- elastic/rendezvous/c10d_rendezvous.hpp ----

namespace elastic {

/// The rendezvous named "c10d": nodes meet at a store server that one of them hosts.
///
/// Each node holds one connection to the server, says what it wants and is told what comes of it:
/// a round costs O(N) messages, and a node that dies is seen by the end of its connection.
/// docs/design.md has the protocol, docs/guide.md the settings (`--rdzv-conf`).
///
/// Thread-safety: one strand at a time.
class c10d_rendezvous final : public rendezvous_handler {
 public:
  /// Errors: `errc::invalid_argument` for an empty run id, an endpoint that is none, or a setting
  /// out of bounds.
  explicit c10d_rendezvous(rendezvous_parameters parameters)
      : parameters_(std::move(parameters)), workers_(parameters_) {
    if (parameters_.run_id.empty()) {
      throw error(errc::invalid_argument, "--rdzv-id must not be empty for the c10d rendezvous");
    }
    endpoint_ = parse_endpoint(parameters_.endpoint.empty() ? "localhost" : parameters_.endpoint,
                               rendezvous_host::default_port);
    if (endpoint_.port == 0) {
      throw error(errc::invalid_argument,
                  fmt::format("--rdzv-endpoint '{}': several nodes need a port that they all know",
                              parameters_.endpoint));
    }
    settings_ = parameters_.settings();
    is_host_ = parameters_.yes_or_no("is_host");
    parameters_.warn_of_unused({"is_host", "join_timeout", "last_call_timeout", "close_timeout",
                                "heartbeat_timeout", "keep_alive_interval",
                                "keep_alive_max_attempt", "reconnect_grace", "read_timeout",
                                "timeout", "dialect"});
  }

  /// The same at a server that is reached by `connector`, and whose store is `agents`. Nothing is
  /// hosted, and the endpoint is not looked at.
  c10d_rendezvous(rendezvous_parameters parameters, std::shared_ptr<message_connector> connector,
                  std::shared_ptr<store> agents)
      : c10d_rendezvous(std::move(parameters)) {
    connector_ = std::move(connector);
    agents_ = std::move(agents);
  }

  std::string backend() const override { return "c10d"; }
  std::string run_id() const override { return parameters_.run_id; }

  task<rendezvous_round> next_round() override {
    co_await workers_.stop();
    if (!link_) co_await begin();
    throw_if_over();
    co_await join();
    co_return co_await placed_round();
  }

  task<rendezvous_change> wait_for_change() override {
    throw_if_in_no_round();
    for (;;) {
      // Whose job succeeded has no more to hear.
      if (!link_->heard().all_finished) {
        if (link_->heard().change) co_return *link_->heard().change;
        throw_if_over();
      }
      co_await link_->news();
    }
  }

  task<rendezvous_change> report_failure(std::string what) override {
    throw_if_in_no_round();
    link_->insist(rendezvous_messages::failed{round_, std::move(what)});
    while (!link_->heard().change) {
      throw_if_over();
      co_await link_->news();
    }
    co_return *link_->heard().change;
  }

  task<void> exit_barrier() override {
    throw_if_in_no_round();
    link_->insist(rendezvous_messages::finished{round_});
    while (!link_->heard().all_finished) {
      throw_if_over();
      co_await link_->news();
    }
  }

  task<int> num_nodes_waiting() override {
    if (!link_) co_return 0;
    co_await ask_status();
    co_return link_->heard().status->waiting;
  }

  task<bool> is_closed() override {
    if (!link_) co_return false;
    if (link_->heard().closed) co_return true;
    co_await ask_status();
    co_return link_->heard().status->is_closed;
  }

  task<void> close(job_end how, std::string why) override {
    if (link_) link_->say(rendezvous_messages::close_job{how, std::move(why)});
    co_return;
  }

  task<void> shutdown() override {
    co_await workers_.stop();
    if (link_) {
      link_->say(rendezvous_messages::leave{});
      co_await link_->stop();
    }
    agents_.reset();
    const std::unique_ptr<rendezvous_host> hosted = std::move(host_);
    if (hosted) co_await hosted->stop();
  }

 private:
  task<void> begin() {
    auto executor = co_await asio::this_coro::executor;
    if (!connector_) co_await reach_endpoint(executor);
    rendezvous_messages::hello greeting;
    greeting.run_id = parameters_.run_id;
    greeting.node = new_node(parameters_.local_address);
    greeting.settings = settings_;
    link_ = std::make_shared<detail::rendezvous_link>(connector_, std::move(greeting),
                                                      parameters_.time, parameters_.log);
    link_->start(executor, settings_.join_timeout);
  }

  // By the network; as its host, where this node is to be.
  task<void> reach_endpoint(asio::any_io_executor executor) {
    host_ = co_await rendezvous_host::try_host(endpoint_, is_host_, parameters_,
                                               rendezvous_protocol::native);
    connector_ = std::make_shared<tcp_message_connector>(
        endpoint_, std::string(rendezvous_service::first_words), limits::rendezvous_message_bytes);
    if (host_) {
      agents_ = std::make_shared<memory_store>(host_->engine());
      strangers_ = std::make_shared<detail::torch_agent_watch>(host_->engine(), run_id(),
                                                               parameters_.log);
      strangers_->begin();
      co_return;
    }
    tcp_store_options options;
    options.host = endpoint_.host;
    options.port = endpoint_.port;
    options.log = parameters_.log;
    agents_ = std::make_shared<tcp_store>(executor, options);
  }

  // Until this node is placed in a round after its last one.
  task<void> join() {
    while (!link_->is_connected()) {
      throw_if_over();
      co_await link_->news();
    }
    auto executor = co_await asio::this_coro::executor;
    const std::string address = link_->local_address();
    rendezvous_messages::join wish;
    wish.after = round_;
    wish.timeout = settings_.join_timeout;
    wish.offer = workers_.serve(executor, address, is_loopback(endpoint_.host));
    link_->begin_join(std::move(wish));
    while (!link_->heard().placed) {
      throw_if_over();
      if (link_->heard().refused) throw_refused(*link_->heard().refused);
      co_await link_->news();
    }
    round_ = link_->heard().placed->round;
  }

  task<rendezvous_round> placed_round() {
    const rendezvous_messages::placed& placed = *link_->heard().placed;
    rendezvous_round met;
    met.round = placed.round;
    met.group_rank = placed.rank;
    met.group_world_size = placed.world;
    met.restarts = placed.restarts;
    met.master = placed.master;
    met.agents = std::make_shared<prefix_store>(
        fmt::format("torch.rendezvous.{}.{}", parameters_.run_id, met.round), agents_);
    // Only the node of rank 0 serves the workers.
    if (met.group_rank != 0) co_await workers_.stop();
    co_return met;
  }

  task<void> ask_status() {
    link_->ask_status();
    while (!link_->heard().status) {
      throw_if_over();
      co_await link_->news();
    }
  }

  void throw_if_in_no_round() const {
    if (round_ < 0) throw error(errc::invalid_argument, "this node was in no round yet");
  }

  void throw_if_over() const {
    const auto& heard = link_->heard();
    if (heard.closed) {
      const bool succeeded = heard.closed->end == job_end::succeeded;
      throw error(succeeded ? errc::rendezvous_finished : errc::rendezvous_closed,
                  heard.closed->why);
    }
    if (heard.broken) std::rethrow_exception(heard.broken);
  }

  [[noreturn]] void throw_refused(const rendezvous_messages::refused& refused) const {
    if (!refused.timeout) throw error(errc::invalid_argument, refused.why);
    throw error(errc::rendezvous_timeout,
                fmt::format("{} at {} within {} s (--rdzv-conf join_timeout)", refused.why,
                            to_text(endpoint_),
                            std::chrono::duration<double>(settings_.join_timeout).count()));
  }

  rendezvous_parameters parameters_;
  endpoint endpoint_;
  rendezvous_settings settings_;
  std::optional<bool> is_host_;
  worker_store_host workers_;
  std::unique_ptr<rendezvous_host> host_;
  std::shared_ptr<message_connector> connector_;
  std::shared_ptr<detail::torch_agent_watch> strangers_;
  std::shared_ptr<detail::rendezvous_link> link_;
  std::shared_ptr<store> agents_;
  std::int64_t round_ = -1;
};

}  // namespace elastic

// ---- elastic/rendezvous/mixed_rendezvous.hpp ----

namespace elastic {

/// The rendezvous named "c10d", for jobs in which nodes of torchrun may take part: chooses between
/// elasticrun's own way to meet (`c10d_rendezvous`) and torchrun's (`dynamic_rendezvous`).
///
/// `--rdzv-conf dialect=1.13`, `2.0` or `2.6` names torchrun's way, and the release of PyTorch
/// whose agents take part. Without it, or with `auto`, nodes meet in elasticrun's own way, unless
/// the store turns out to be served by torchrun, or by a node of elasticrun with a `dialect`; then
/// the dialect is that of the state, or that of the store's generation where there is no state.
///
/// Thread-safety: one strand at a time.
class mixed_rendezvous final : public rendezvous_handler {
 public:
  /// Errors: those of `c10d_rendezvous`, and for a `dialect` that there is not.
  explicit mixed_rendezvous(rendezvous_parameters parameters)
      : parameters_(std::move(parameters)),
        dialect_(dialect_of(parameters_)),
        chosen_(std::make_shared<c10d_rendezvous>(parameters_)) {
    endpoint_ = parse_endpoint(parameters_.endpoint.empty() ? "localhost" : parameters_.endpoint,
                               rendezvous_host::default_port);
  }

  std::string backend() const override { return "c10d"; }
  std::string run_id() const override { return parameters_.run_id; }

  task<rendezvous_round> next_round() override {
    if (!has_chosen_ && dialect_) co_await choose_torch("");
    if (has_chosen_) co_return co_await chosen_->next_round();
    std::string refusal;
    try {
      rendezvous_round met = co_await chosen_->next_round();
      has_chosen_ = true;
      co_return met;
    } catch (const error& failure) {
      // Whoever serves there does not know what only elasticrun says.
      if (failure.code() != errc::protocol_violation) throw;
      refusal = failure.what();
    }
    parameters_.log.debug("trying to meet in torchrun's way: {}", refusal);
    co_await chosen_->shutdown();
    co_await choose_torch(refusal);
    co_return co_await chosen_->next_round();
  }

  task<rendezvous_change> wait_for_change() override { return chosen_->wait_for_change(); }
  task<rendezvous_change> report_failure(std::string what) override {
    return chosen_->report_failure(std::move(what));
  }
  task<void> exit_barrier() override { return chosen_->exit_barrier(); }
  task<int> num_nodes_waiting() override { return chosen_->num_nodes_waiting(); }
  task<bool> is_closed() override { return chosen_->is_closed(); }

  task<void> close(job_end how, std::string why) override {
    has_succeeded_ = how == job_end::succeeded;
    return chosen_->close(how, std::move(why));
  }

  task<void> shutdown() override {
    co_await chosen_->shutdown();
    if (!host_) co_return;
    if (has_succeeded_) co_await see_off();
    const std::unique_ptr<rendezvous_host> hosted = std::move(host_);
    co_await hosted->stop();
  }

 private:
  /// How long the node that serves the store stays for the others, after success.
  static constexpr std::chrono::seconds farewell{10};
  static constexpr std::chrono::milliseconds farewell_pause{20};
  /// How long a server that was there a moment ago, and does not know elasticrun, has to answer as
  /// a store.
  static constexpr std::chrono::seconds second_try{5};
  /// How long the node that serves the store has to write the first state.
  static constexpr std::chrono::seconds first_state{3};
  static constexpr std::chrono::milliseconds first_state_pause{100};

  static std::optional<torch_dialect> dialect_of(const rendezvous_parameters& parameters) {
    const auto found = parameters.configuration.find("dialect");
    if (found == parameters.configuration.end() || found->second == "auto") return std::nullopt;
    try {
      return parse_torch_dialect(found->second);
    } catch (const error&) {
      throw error(errc::invalid_argument,
                  fmt::format("--rdzv-conf dialect={}: auto, 1.13, 2.0 or 2.6 is needed",
                              found->second));
    }
  }

  // `refusal`: what the server at the endpoint said to a node that meets in elasticrun's own way;
  // empty where none was sent.
  task<void> choose_torch(std::string refusal) {
    dynamic_rendezvous_options options;
    options.parameters = parameters_;
    options.node = new_node(parameters_.local_address);
    options.address = co_await own_address();
    std::shared_ptr<key_value_engine> engine;
    if (dialect_) {
      host_ = co_await rendezvous_host::try_host(endpoint_, parameters_.yes_or_no("is_host"),
                                                 parameters_, rendezvous_protocol::torch);
    }
    if (host_) {
      engine = host_->engine();
      options.agents = std::make_shared<memory_store>(engine);
      options.dialect = *dialect_;
    } else {
      const std::shared_ptr<tcp_store> client = co_await connect(refusal);
      options.agents = client;
      options.dialect = dialect_ ? *dialect_ : co_await detect_dialect(client);
    }
    options.backend = std::make_shared<store_rendezvous_backend>(
        options.agents, parameters_.run_id, options.dialect, parameters_.time, engine);
    parameters_.log.info("{} the store at {}, meeting as agents of PyTorch {} do",
                         host_ ? "serving" : "using", to_text(endpoint_),
                         to_text(options.dialect));
    chosen_ = std::make_shared<dynamic_rendezvous>(std::move(options));
    has_chosen_ = true;
  }

  // A numeric address by which the others reach this node: that on the way to the store.
  task<std::string> own_address() {
    const auto found = co_await detail::resolve_addresses(endpoint_.host, nullptr);
    auto executor = co_await asio::this_coro::executor;
    for (const auto& address : found) {
      const asio::ip::address own = address_towards(executor, address);
      if (!own.is_unspecified()) co_return own.to_string();
    }
    co_return std::string("127.0.0.1");
  }

  task<std::shared_ptr<tcp_store>> connect(std::string refusal) {
    tcp_store_options options;
    options.host = endpoint_.host;
    options.port = endpoint_.port;
    options.generation = tcp_store_generation::probe;
    options.log = parameters_.log;
    options.time = parameters_.time;
    auto client = std::make_shared<tcp_store>(co_await asio::this_coro::executor, options);
    time_source& time = *parameters_.time;
    const duration patience = refusal.empty() ? parameters_.settings().join_timeout : second_try;
    const bool is_there = co_await with_deadline(time, time.now() + patience, client->connect());
    if (!is_there && !refusal.empty()) throw error(errc::protocol_violation, refusal);
    if (!is_there) {
      throw error(errc::rendezvous_timeout,
                  fmt::format("no store answered at {} within {} s: {}", to_text(endpoint_),
                              std::chrono::duration<double>(patience).count(),
                              client->last_problem()));
    }
    std::vector<std::string> keys(1, std::string(rendezvous_host::native_key));
    const bool is_native = co_await client->check(std::move(keys));
    if (!is_native) co_return client;
    if (!refusal.empty()) throw error(errc::protocol_violation, refusal);
    throw error(errc::invalid_argument,
                fmt::format("the nodes at {} meet in elasticrun's own way: for a mixed job start "
                            "every node of elasticrun with --rdzv-conf dialect={}",
                            to_text(endpoint_), to_text(*dialect_)));
  }

  // That of the state; of the server's generation, where nobody has written one.
  task<torch_dialect> detect_dialect(std::shared_ptr<tcp_store> client) {
    time_source& time = *parameters_.time;
    const time_point limit = time.now() + first_state;
    while (time.now() < limit) {
      const std::optional<torch_dialect> seen =
          co_await store_rendezvous_backend::seen_dialect(client, parameters_.run_id);
      if (seen) co_return *seen;
      co_await time.sleep_until(time.now() + first_state_pause);
    }
    co_return client->generation() == tcp_store_generation::torch_2_2 ? torch_dialect::torch_2_6
                                                                      : torch_dialect::torch_1_13;
  }

  // PyTorch's agents look at the state once more before they end.
  task<void> see_off() {
    time_source& time = *parameters_.time;
    const time_point limit = time.now() + farewell;
    while (host_->connections() > 0 && time.now() < limit) {
      co_await time.sleep_until(time.now() + farewell_pause);
    }
  }

  rendezvous_parameters parameters_;
  endpoint endpoint_;
  std::optional<torch_dialect> dialect_;
  std::shared_ptr<rendezvous_handler> chosen_;
  bool has_chosen_ = false;
  std::unique_ptr<rendezvous_host> host_;
  bool has_succeeded_ = false;
};

}  // namespace elastic

// ---- elastic/rendezvous/solo_rendezvous.hpp ----

namespace elastic {

/// The rendezvous named "c10d" for a job of at most one node: the state is kept in this process,
/// and each round serves its workers a store of their own, so that no round sees another's keys.
///
/// `endpoint` with a port other than 0 (29400 where none is named) is bound, so that a second job
/// at the same endpoint is refused; with port 0, as for `--standalone`, no socket is opened for
/// the rendezvous itself.
///
/// Thread-safety: one strand at a time.
class solo_rendezvous final : public rendezvous_handler {
 public:
  /// Errors: `errc::invalid_argument` for an empty run id, an endpoint that is none, or more than
  /// one node.
  explicit solo_rendezvous(rendezvous_parameters parameters)
      : parameters_(std::move(parameters)), workers_(parameters_) {
    if (parameters_.run_id.empty()) {
      throw error(errc::invalid_argument, "--rdzv-id must not be empty for the c10d rendezvous");
    }
    if (parameters_.max_nodes > 1) {
      throw error(errc::invalid_argument, "a job of one node cannot have more");
    }
    endpoint_ = parse_endpoint(parameters_.endpoint.empty() ? "localhost" : parameters_.endpoint,
                               rendezvous_host::default_port);
    for (const char* name : {"join_timeout", "last_call_timeout", "close_timeout",
                             "heartbeat_timeout", "keep_alive_interval", "read_timeout",
                             "timeout"}) {
      // One node waits for nobody; what is not a time is refused all the same.
      parameters_.seconds(name, {});
    }
    parameters_.warn_of_unused({"is_host", "join_timeout", "last_call_timeout", "close_timeout",
                                "heartbeat_timeout", "keep_alive_interval",
                                "keep_alive_max_attempt", "read_timeout", "timeout", "dialect"});
  }

  std::string backend() const override { return "c10d"; }
  std::string run_id() const override { return parameters_.run_id; }

  task<rendezvous_round> next_round() override {
    if (closed_) {
      throw error(errc::rendezvous_closed, "the rendezvous is closed: the job has ended");
    }
    auto executor = co_await asio::this_coro::executor;
    if (endpoint_.port != 0 && !server_) {
      tcp_store_server_options options;
      options.address = endpoint_.host;
      options.port = endpoint_.port;
      options.use_ring = parameters_.use_ring;
      options.log = parameters_.log;
      server_ = std::make_unique<tcp_store_server>(executor, options);
    }
    co_await workers_.stop();
    rendezvous_round met;
    met.round = ++round_ - 1;
    met.agents = std::make_shared<prefix_store>(
        fmt::format("torch.rendezvous.{}.{}", parameters_.run_id, met.round),
        std::make_shared<memory_store>());
    met.master = workers_.serve(executor, "127.0.0.1", parameters_.local_address.empty());
    met.restarts = restarts_;
    co_return met;
  }

  task<rendezvous_change> wait_for_change() override {
    event_flag never(co_await asio::this_coro::executor);
    co_await never.wait();
    co_return rendezvous_change{};
  }

  task<rendezvous_change> report_failure(std::string what) override {
    rendezvous_change change{change_kind::worker_failed, std::move(what), ++restarts_};
    co_return change;
  }

  task<void> exit_barrier() override { co_return; }

  task<int> num_nodes_waiting() override { co_return 0; }
  task<bool> is_closed() override { co_return closed_; }

  task<void> close(job_end, std::string) override {
    closed_ = true;
    co_return;
  }

  task<void> shutdown() override {
    co_await workers_.stop();
    if (server_) co_await server_->stop();
    server_.reset();
  }

 private:
  rendezvous_parameters parameters_;
  endpoint endpoint_;
  worker_store_host workers_;
  std::unique_ptr<tcp_store_server> server_;
  std::int64_t round_ = 0;
  int restarts_ = 0;
  bool closed_ = false;
};

}  // namespace elastic

// ---- elastic/rendezvous/static_rendezvous.hpp ----

namespace elastic {

/// The rendezvous named "static": who is in, and at which rank, was decided by whoever started the
/// nodes (`--node-rank`). Node 0 serves one store at the endpoint, for agents and workers alike.
///
/// Nobody joins, leaves or is missed; a restart is each node's own. The membership never changes.
/// Settings: `timeout`, seconds that the nodes wait for each other (900).
///
/// Thread-safety: one strand at a time.
/// Source: torch.distributed.elastic.rendezvous.static_tcp_rendezvous.
class static_rendezvous final : public rendezvous_handler {
 public:
  /// Errors: `errc::invalid_argument` for an endpoint that is none, a range of nodes, or a node
  /// rank outside of it.
  explicit static_rendezvous(rendezvous_parameters parameters)
      : parameters_(std::move(parameters)) {
    if (parameters_.min_nodes != parameters_.max_nodes) {
      throw error(errc::invalid_argument,
                  fmt::format("the static rendezvous needs a fixed number of nodes, not {}:{}",
                              parameters_.min_nodes, parameters_.max_nodes));
    }
    if (parameters_.node_rank < 0 || parameters_.node_rank >= parameters_.max_nodes) {
      throw error(errc::invalid_argument,
                  fmt::format("--node-rank {}: with {} nodes it is 0 to {}", parameters_.node_rank,
                              parameters_.max_nodes, parameters_.max_nodes - 1));
    }
    endpoint_ = parse_endpoint(parameters_.endpoint.empty() ? "127.0.0.1" : parameters_.endpoint,
                               default_port);
    timeout_ = parameters_.seconds("timeout", std::chrono::seconds(900));
    parameters_.warn_of_unused({"timeout"});
  }

  std::string backend() const override { return "static"; }
  std::string run_id() const override { return parameters_.run_id; }

  task<rendezvous_round> next_round() override {
    if (closed_) {
      throw error(errc::rendezvous_closed, "the rendezvous is closed: the job has ended");
    }
    if (parameters_.max_nodes == 1) {
      // Nobody else holds a connection, so each round can have an empty store at the same port.
      co_await shutdown();
    }
    if (!agents_) co_await connect();
    rendezvous_round met;
    met.round = round_++;
    met.group_rank = parameters_.node_rank;
    met.group_world_size = parameters_.max_nodes;
    met.agents = std::make_shared<prefix_store>(parameters_.run_id, agents_);
    met.exchange_timeout = timeout_;
    met.restarts = restarts_;
    met.master.address = endpoint_.host;
    met.master.port = server_ ? server_->port() : endpoint_.port;
    met.master.served_by_agent = true;
    co_return met;
  }

  task<rendezvous_change> wait_for_change() override {
    event_flag never(co_await asio::this_coro::executor);
    co_await never.wait();
    co_return rendezvous_change{};
  }

  task<rendezvous_change> report_failure(std::string what) override {
    rendezvous_change change{change_kind::worker_failed, std::move(what), ++restarts_};
    co_return change;
  }

  task<void> exit_barrier() override {
    auto agents = std::make_shared<prefix_store>(parameters_.run_id, agents_);
    co_await elastic::exit_barrier(std::move(agents), parameters_.max_nodes);
  }

  task<int> num_nodes_waiting() override { co_return 0; }
  task<bool> is_closed() override { co_return closed_; }

  task<void> close(job_end, std::string) override {
    closed_ = true;
    co_return;
  }

  task<void> shutdown() override {
    agents_.reset();
    const std::unique_ptr<tcp_store_server> ending = std::move(server_);
    if (ending) co_await ending->stop();
  }

 private:
  static constexpr std::uint16_t default_port = 29500;

  task<void> connect() {
    auto executor = co_await asio::this_coro::executor;
    if (parameters_.node_rank == 0) {
      auto table = std::make_shared<key_value_engine>();
      tcp_store_server_options options;
      options.address = endpoint_.host;
      options.port = endpoint_.port;
      options.use_ring = parameters_.use_ring;
      options.log = parameters_.log;
      options.engine = table;
      server_ = std::make_unique<tcp_store_server>(executor, options);
      agents_ = std::make_shared<memory_store>(table);
      co_return;
    }
    tcp_store_options options;
    options.host = endpoint_.host;
    options.port = endpoint_.port;
    options.log = parameters_.log;
    auto client = std::make_shared<tcp_store>(executor, options);
    if (!co_await with_deadline(*parameters_.time, parameters_.time->now() + timeout_,
                                client->connect())) {
      throw error(errc::rendezvous_timeout,
                  fmt::format("node 0 did not answer at {}:{} within {} s: {}", endpoint_.host,
                              endpoint_.port, std::chrono::duration<double>(timeout_).count(),
                              client->last_problem()));
    }
    agents_ = std::move(client);
  }

  rendezvous_parameters parameters_;
  endpoint endpoint_;
  duration timeout_;
  std::unique_ptr<tcp_store_server> server_;
  std::shared_ptr<store> agents_;
  std::int64_t round_ = 0;
  int restarts_ = 0;
  bool closed_ = false;
};

}  // namespace elastic

// ---- elastic/rendezvous/rendezvous_registry.hpp ----

namespace elastic {

/// The rendezvous backends by name: those of this library, and those that you add.
///
/// A plain value; nothing is registered globally.
class rendezvous_registry {
 public:
  using factory =
      std::function<std::shared_ptr<rendezvous_handler>(const rendezvous_parameters&)>;

  /// Knows "static", "c10d", "etcd", "etcd-v2", "etcd-v3" and "file".
  rendezvous_registry() {
    add("static", [](const rendezvous_parameters& parameters) {
      return std::make_shared<static_rendezvous>(parameters);
    });
    add("c10d", [](const rendezvous_parameters& parameters) -> std::shared_ptr<rendezvous_handler> {
      // A job of one node needs no socket to meet.
      if (parameters.max_nodes == 1) return std::make_shared<solo_rendezvous>(parameters);
      return std::make_shared<mixed_rendezvous>(parameters);
    });
    for (const char* name : {"etcd", "etcd-v2", "etcd-v3"}) add(name, make_etcd_rendezvous);
    add("file", make_file_rendezvous);
  }

  /// Adds a backend, or replaces the one of that name.
  void add(std::string name, factory make) { factories_[std::move(name)] = std::move(make); }

  /// Makes the handler that `parameters.backend` names.
  /// Errors: `errc::invalid_argument` where there is none, naming those that there are; what the
  /// factory throws.
  std::shared_ptr<rendezvous_handler> make(const rendezvous_parameters& parameters) const {
    const auto found = factories_.find(parameters.backend);
    if (found != factories_.end()) return found->second(parameters);
    std::string names;
    for (const auto& [name, make] : factories_) names += (names.empty() ? "" : ", ") + name;
    throw error(errc::invalid_argument,
                fmt::format("there is no rendezvous backend '{}'; there are: {}",
                            parameters.backend, names));
  }

 private:
  std::map<std::string, factory> factories_;
};

}  // namespace elastic

// ---- elastic/telemetry/detail/stderr_line.hpp ----

namespace elastic::detail {

/// Writes a line and its end to stderr, in one piece where the kernel takes it so. A reader that
/// takes nothing for a second loses the rest of the line: telemetry must not hold up a job.
inline void write_stderr_line(std::string_view line) {
  const std::string text = std::string(line) + "\n";
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, rest.data(), rest.size());
    if (count >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd writable{STDERR_FILENO, POLLOUT, 0};
      if (::poll(&writable, 1, 1000) <= 0) return;
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace elastic::detail

// ---- elastic/telemetry/console_event_handler.hpp ----

// Includes the whole of nlohmann/json, for the escapes of JSON texts.

namespace elastic {

namespace detail {

/// A JSON text as Python's json.dumps writes it: ASCII only; bad UTF-8 is replaced.
inline std::string event_text(std::string_view text) {
  return nlohmann::ordered_json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

inline std::string event_text(const std::optional<std::string>& text) {
  return text ? event_text(std::string_view(*text)) : "null";
}

/// The part of an event that is JSON within a JSON text.
inline std::string event_inner_metadata(const event& happened) {
  std::string inner = fmt::format("{{\"group_world_size\": {}, \"entry_point\": {}",
                                  happened.group_world_size,
                                  event_text(std::string_view(happened.entry_point)));
  if (const auto& worker = happened.worker) {
    inner += fmt::format(
        ", \"local_rank\": [{}], \"role_rank\": [{}], \"role_world_size\": [{}]",
        worker->local_rank, worker->role_rank, worker->role_world_size);
  }
  return inner + "}";
}

}  // namespace detail

/// One event as a line of JSON, without a line end: keys, their order and the blanks are
/// torchelastic's, so that what reads its log reads this one.
inline std::string to_json_line(const event& happened) {
  const auto text = [](std::string_view value) { return detail::event_text(value); };
  const auto number = [](const std::optional<int>& value) {
    return value ? fmt::format("{}", *value) : std::string("null");
  };
  const auto& worker = happened.worker;
  const std::string metadata = fmt::format(
      "\"run_id\": {}, \"global_rank\": {}, \"group_rank\": {}, \"worker_id\": {}, \"role\": {}, "
      "\"hostname\": {}, \"state\": {}, \"total_run_time\": {}, \"rdzv_backend\": {}, "
      "\"raw_error\": {}, \"metadata\": {}, \"agent_restarts\": {}",
      text(happened.run_id), worker ? fmt::format("{}", worker->global_rank) : "null",
      number(happened.group_rank), worker ? fmt::format("\"{}\"", worker->pid) : "null",
      text(happened.role), text(happened.hostname), text(happened.state), happened.total_run_time,
      text(happened.rdzv_backend), detail::event_text(happened.raw_error),
      text(detail::event_inner_metadata(happened)), happened.agent_restarts);
  return fmt::format(
      "{{\"name\": {}, \"source\": \"{}\", \"timestamp\": 0, \"metadata\": {{{}}}}}",
      text(happened.name), happened.source == event_source::agent ? "AGENT" : "WORKER", metadata);
}

/// Writes each event as one line of JSON.
class console_event_handler final : public event_handler {
 public:
  /// Takes a line without its end.
  using line_sink = std::function<void(std::string_view)>;

  /// To stderr, as torchrun does.
  console_event_handler() : sink_(&detail::write_stderr_line) {}
  /// To a sink of your own; what it throws goes to the caller of `record`.
  explicit console_event_handler(line_sink sink) : sink_(std::move(sink)) {}

  void record(const event& happened) override { sink_(to_json_line(happened)); }

 private:
  line_sink sink_;
};

}  // namespace elastic

// ---- elastic/telemetry/event_handler_registry.hpp ----

namespace elastic {

/// The event handlers by name: those of this library, and those that you add.
///
/// A plain value; nothing is registered globally.
class event_handler_registry {
 public:
  using factory = std::function<std::shared_ptr<event_handler>()>;

  /// Knows torchrun's names: "null" and "dynamic_rendezvous", which discard every event there as
  /// here, and "console", which writes to stderr.
  event_handler_registry() {
    add("null", [] { return std::make_shared<null_event_handler>(); });
    add("console", [] { return std::make_shared<console_event_handler>(); });
    add("dynamic_rendezvous", [] { return std::make_shared<null_event_handler>(); });
  }

  /// Adds a handler, or replaces the one of that name.
  void add(std::string name, factory make) { factories_[std::move(name)] = std::move(make); }

  bool contains(const std::string& name) const { return factories_.count(name) > 0; }

  /// "console, dynamic_rendezvous, null": every name, in order.
  std::string names() const {
    std::string all;
    for (const auto& [name, make] : factories_) all += (all.empty() ? "" : ", ") + name;
    return all;
  }

  /// Makes the handler of that name.
  /// Errors: `errc::invalid_argument` where there is none, naming those that there are; what the
  /// factory throws.
  std::shared_ptr<event_handler> make(const std::string& name) const {
    const auto found = factories_.find(name);
    if (found != factories_.end()) return found->second();
    throw error(errc::invalid_argument,
                fmt::format("there is no event handler '{}'; there are: {}", name, names()));
  }

 private:
  std::map<std::string, factory> factories_;
};

}  // namespace elastic

// ---- elastic/worker/record.hpp ----

#include <cxxabi.h>

#include <type_traits>
#include <typeinfo>

namespace elastic {

namespace detail {

inline std::string demangled(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(
      abi::__cxa_demangle(type.name(), nullptr, nullptr, &status), &std::free);
  const std::string text = status == 0 && name ? name.get() : type.name();
  // What std::throw_with_nested makes of a type, in libstdc++ and libc++; users know the type.
  for (const std::string wrapper : {"std::_Nested_exception<", "std::__1::__nested<"}) {
    if (text.starts_with(wrapper) && text.ends_with('>')) {
      return text.substr(wrapper.size(), text.size() - wrapper.size() - 1);
    }
  }
  return text;
}

/// "std::runtime_error: the text"; an exception that is no std::exception has its type alone.
inline std::string exception_message(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const std::exception& failure) {
    return demangled(typeid(failure)) + ": " + failure.what();
  } catch (...) {
    const std::type_info* type = abi::__cxa_current_exception_type();
    return type ? demangled(*type) : "an unknown exception";
  }
}

/// The exception that this one was nested in (std::throw_with_nested); null where there is none.
inline std::exception_ptr exception_cause(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const std::nested_exception& outer) {
    return outer.nested_ptr();
  } catch (...) {
    return nullptr;
  }
}

/// The message and, a line each, the causes that were nested in it; empty where there were none.
inline std::string exception_chain(std::exception_ptr thrown) {
  constexpr int most = 64;
  std::string chain;
  std::exception_ptr cause = exception_cause(thrown);
  for (int count = 0; cause && count < most; ++count) {
    chain += "\ncaused by " + exception_message(cause);
    cause = exception_cause(cause);
  }
  return chain.empty() ? "" : exception_message(thrown) + chain;
}

/// Says the failure on stderr and leaves it in the error file, where the agent named one.
inline void leave_error(std::exception_ptr thrown, const char* path, std::int64_t timestamp) {
  const std::string message = exception_message(thrown);
  const std::string chain = exception_chain(thrown);
  std::fprintf(stderr, "%s\n", chain.empty() ? message.c_str() : chain.c_str());
  if (!path || *path == '\0') return;
  try {
    write_error_file(path, error_file_text(message, chain, timestamp));
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
  }
}

}  // namespace detail

/// Runs the main function of a worker so that the reason of its failure reaches the agent's report:
/// `int main() { return elastic::record(&train); }`.
///
/// What `body` throws is written to stderr and, in torchelastic's form, to the file that the agent
/// named in TORCHELASTIC_ERROR_FILE: the exception's type and text, and the exceptions nested in it
/// (std::throw_with_nested). Without that variable, as when the program is started by hand, it
/// goes to stderr alone. A signal or a call of std::exit leaves nothing.
///
/// Result: for main to return: what `body` returns (0 where it returns nothing), 1 where it threw.
/// Errors: none. Thread-safety: once per process, on the main thread.
template <class Body>
int record(Body&& body) {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>) {
      std::forward<Body>(body)();
      return 0;
    } else {
      return std::forward<Body>(body)();
    }
  } catch (...) {
    const auto now = system_time().wall_now().time_since_epoch();
    detail::leave_error(std::current_exception(), std::getenv("TORCHELASTIC_ERROR_FILE"),
                        std::chrono::floor<std::chrono::seconds>(now).count());
    return 1;
  }
}

}  // namespace elastic

// ---- elastic/worker/entrypoint.hpp ----

namespace elastic {

namespace detail {

/// A function under its name, with JSON in the place of its types.
struct registered_function {
  std::string name;
  /// Calls it with an array of arguments. Errors: those of `check`, and what the function throws.
  std::function<nlohmann::json(const nlohmann::json& arguments)> run;
  /// Whether the arguments fit. Errors: `errc::invalid_argument`, naming the one that does not.
  std::function<void(const nlohmann::json& arguments)> check;
};

/// The functions of this program. Thread-safe.
class function_table {
 public:
  static function_table& here() {
    static function_table table;
    return table;
  }

  void add(std::shared_ptr<const registered_function> one) {
    const std::lock_guard<std::mutex> hold(mutex_);
    all_.push_back(std::move(one));
  }

  void remove(const registered_function* one) noexcept {
    const std::lock_guard<std::mutex> hold(mutex_);
    std::erase_if(all_, [&](const auto& kept) { return kept.get() == one; });
  }

  /// Errors: `errc::invalid_argument` where no function has this name, or several.
  std::shared_ptr<const registered_function> find(const std::string& name) {
    const std::lock_guard<std::mutex> hold(mutex_);
    std::shared_ptr<const registered_function> found;
    std::string names;
    for (const auto& one : all_) {
      if (!names.empty()) names += ", ";
      names += "'" + one->name + "'";
      if (one->name != name) continue;
      if (found) {
        throw error(errc::invalid_argument,
                    fmt::format("two functions of this program are registered as '{}'", name));
      }
      found = one;
    }
    if (found) return found;
    throw error(errc::invalid_argument,
                fmt::format("no function of this program is registered as '{}': there {}", name,
                            names.empty() ? "is none at all" : "is " + names));
  }

  /// Whether main has asked for calls: a program that does not would begin anew in each worker.
  void note_main() {
    const std::lock_guard<std::mutex> hold(mutex_);
    main_asks_ = true;
  }
  bool main_asks() {
    const std::lock_guard<std::mutex> hold(mutex_);
    return main_asks_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::shared_ptr<const registered_function>> all_;
  bool main_asks_ = false;
};

template <class T>
struct result_of {
  using type = T;
  static constexpr bool is_task = false;
};
template <class T>
struct result_of<task<T>> {
  using type = T;
  static constexpr bool is_task = true;
};

/// Runs a coroutine on a context of its own, on this thread.
inline void run_to_end(task<void> work) {
  asio::io_context context(1);
  bool has_ended = false;
  std::exception_ptr failure;
  asio::co_spawn(context, std::move(work), [&](std::exception_ptr thrown) {
    has_ended = true;
    failure = thrown;
  });
  context.run();
  if (failure) std::rethrow_exception(failure);
  if (!has_ended) {
    throw error(errc::stopped, "the function waits for something that can no longer come");
  }
}

/// Calls a function; of what it returns, a task is run to its end.
template <class R, class Call>
nlohmann::json json_of_call(Call call) {
  using value_type = typename result_of<R>::type;
  if constexpr (!result_of<R>::is_task && std::is_void_v<R>) {
    call();
    return nullptr;
  } else if constexpr (!result_of<R>::is_task) {
    nlohmann::json value = call();
    return value;
  } else if constexpr (std::is_void_v<value_type>) {
    run_to_end(call());
    return nullptr;
  } else {
    std::optional<value_type> result;
    run_to_end(keep_result(call(), result));
    nlohmann::json value = *std::move(result);
    return value;
  }
}

template <class T>
concept json_argument = !std::is_pointer_v<T> && std::is_constructible_v<nlohmann::json, T> &&
                        requires(const nlohmann::json& value) { value.template get<T>(); };

template <class T>
concept json_result = std::is_void_v<typename result_of<T>::type> ||
                      std::is_constructible_v<nlohmann::json, typename result_of<T>::type>;

template <class T>
T argument_of(const std::string& function, const nlohmann::json& arguments, std::size_t place) {
  try {
    return arguments[place].template get<T>();
  } catch (const nlohmann::json::exception& failure) {
    throw error(errc::invalid_argument,
                fmt::format("argument {} of function '{}' does not fit: {}", place + 1, function,
                            json_complaint(failure)));
  }
}

template <class... P, std::size_t... Place>
std::tuple<P...> arguments_of(const std::string& function, const nlohmann::json& arguments,
                              std::index_sequence<Place...>) {
  if (!arguments.is_array() || arguments.size() != sizeof...(P)) {
    throw error(errc::invalid_argument,
                fmt::format("function '{}' takes {} arguments, {} were given", function,
                            sizeof...(P), arguments.is_array() ? arguments.size() : 0));
  }
  return std::tuple<P...>{argument_of<P>(function, arguments, Place)...};
}

}  // namespace detail

template <class Signature>
class entrypoint;

/// A function that workers can run, under a name that the program knows in every process:
///
///     const elastic::entrypoint train("train", [](int epochs, std::string path) {
///       …
///       return loss;
///     });
///
///     int main() {
///       if (const auto code = elastic::run_entrypoint()) return *code;
///       …
///       const elastic::run_result result = co_await elastic::launch(config, train, 3, "x");
///       result.value_of<double>(0);
///     }
///
/// Its parameters and what it returns are of any types that nlohmann/json converts, taken by value
/// or as const&; it may also return nothing, or a `task` of such a type, which is run to its end.
///
/// A worker is a new process of the same program, which knows the function only where the object
/// exists before main asks: at namespace scope. What the function captures is what that process has
/// put there, nothing of the launching one's (see `start_method` for that).
///
/// Errors: none here; two functions of one name are refused where the name is used.
/// Thread-safety: make and destroy it on any thread. It must live while a job runs it.
template <class R, class... P>
class entrypoint<R(P...)> {
  static_assert((... && detail::json_argument<std::decay_t<P>>),
                "each parameter must be of a type that nlohmann/json converts both ways");
  static_assert((... && !(std::is_lvalue_reference_v<P> &&
                          !std::is_const_v<std::remove_reference_t<P>>)),
                "a parameter that is a reference to what can be changed leads nowhere: the "
                "function runs in another process");
  static_assert(detail::json_result<R>, "the result must be of a type that nlohmann/json converts");

 public:
  template <class Function>
  entrypoint(std::string name, Function function) {
    const auto one = std::make_shared<detail::registered_function>();
    one->run = [name, function = std::move(function)](const nlohmann::json& given) mutable {
      auto arguments = decoded(name, given);
      return detail::json_of_call<R>(
          [&]() -> R { return std::apply(function, std::move(arguments)); });
    };
    one->check = [name](const nlohmann::json& given) { decoded(name, given); };
    one->name = std::move(name);
    function_ = one;
    detail::function_table::here().add(one);
  }
  entrypoint(const entrypoint&) = delete;
  entrypoint& operator=(const entrypoint&) = delete;
  ~entrypoint() { detail::function_table::here().remove(function_.get()); }

  const std::string& name() const { return function_->name; }

  /// The call of this function with these arguments, for `launch_config::function`.
  /// Errors: `errc::invalid_argument` where one cannot be written as JSON.
  function_call call(std::decay_t<P>... arguments) const {
    function_call made;
    made.name = name();
    (made.arguments.push_back(nlohmann::json(std::move(arguments))), ...);
    validate(made);
    return made;
  }

 private:
  static std::tuple<std::decay_t<P>...> decoded(const std::string& name,
                                                const nlohmann::json& given) {
    return detail::arguments_of<std::decay_t<P>...>(name, given, std::index_sequence_for<P...>());
  }

  std::shared_ptr<const detail::registered_function> function_;
};

namespace detail {

template <class Function>
struct signature_of;
template <class R, class... P>
struct signature_of<std::function<R(P...)>> {
  using type = R(P...);
};

}  // namespace detail

template <class Function>
entrypoint(std::string, Function)
    -> entrypoint<typename detail::signature_of<decltype(
        std::function(std::declval<Function>()))>::type>;

namespace detail {

/// Runs the function of this name with the arguments that the agent has given, and leaves what
/// came of it. Result: the exit code of the worker.
inline int answer_call(const std::string& name) {
  call_sheet sheet;
  try {
    sheet = call_sheet::take();
    const auto function = function_table::here().find(name);
    const nlohmann::json arguments =
        call_value(sheet.arguments(), fmt::format("the list of arguments of function '{}'", name));
    const nlohmann::json value = function->run(arguments);
    sheet.leave(call_answer::what::value,
                call_text(value, sheet.room(),
                          fmt::format("the return value of function '{}'", name)));
    return 0;
  } catch (...) {
    const std::exception_ptr thrown = std::current_exception();
    const auto now = system_time().wall_now().time_since_epoch();
    const auto seconds = std::chrono::floor<std::chrono::seconds>(now).count();
    leave_error(thrown, std::getenv("TORCHELASTIC_ERROR_FILE"), seconds);
    try {
      const std::string text =
          error_file_text(exception_message(thrown), exception_chain(thrown), seconds);
      if (text.size() <= sheet.room()) sheet.leave(call_answer::what::failure, text);
    } catch (const std::exception& failure) {
      std::fprintf(stderr, "%s\n", failure.what());
    }
    return 1;
  }
}

}  // namespace detail

/// Runs the function for which an agent has started this process, if it has. To be called by main,
/// before anything else: `if (const auto code = elastic::run_entrypoint()) return *code;`.
///
/// What the function throws goes where `record` would put it, and to the agent also where there are
/// no files. A value that it returns and that is over `limits::return_value_bytes` (less with more
/// than 64 workers on a node), or that JSON cannot say, is a failure of the worker, too. Its
/// standard input is empty, and `is_worker()` is true.
///
/// Result: the exit code for main to return; none where this process is no such worker, so that
/// main goes on.
/// Errors: none. Thread-safety: once per process, on the main thread, before there are others.
inline std::optional<int> run_entrypoint() {
  detail::function_table::here().note_main();
  const char* const asked = std::getenv(entrypoint_variable);
  if (!asked) return std::nullopt;
  const std::string name = asked;
  // What the function starts in turn is no worker that runs it.
  ::unsetenv(entrypoint_variable);
  return detail::answer_call(name);
}

}  // namespace elastic

// ---- elastic/launch/launcher.hpp ----

namespace elastic {

namespace detail {

inline rendezvous_parameters rendezvous_of(const launch_config& config, const logger& log) {
  rendezvous_parameters parameters;
  parameters.backend = config.standalone ? "c10d" : config.rdzv_backend;
  parameters.run_id = config.run_id;
  if (config.standalone) {
    parameters.endpoint = "localhost:0";
    if (config.run_id.empty()) {
      random_source random;
      parameters.run_id = random_uuid(random);
    }
  } else if (config.rdzv_backend == "static" && config.rdzv_endpoint.empty()) {
    endpoint master;
    master.host = config.master_addr;
    master.port = config.master_port;
    parameters.endpoint = to_text(master);
  } else {
    parameters.endpoint = config.rdzv_endpoint;
  }
  parameters.min_nodes = config.min_nodes;
  parameters.max_nodes = config.max_nodes;
  parameters.node_rank = config.node_rank;
  parameters.local_address = config.standalone ? "" : config.local_addr;
  parameters.share_worker_store =
      find_variable(config.environment, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE") != "1";
  parameters.use_ring = config.use_ring;
  for (const auto& [name, value] : config.rdzv_conf) parameters.configuration[name] = value;
  parameters.log = log;
  return parameters;
}

/// Where the workers run, by local rank; empty: wherever this program may.
inline std::vector<processor_set> processors_of(const launch_config& config) {
  if (!config.cpu_affinity.empty() || config.binding == numa_binding::none) {
    return config.cpu_affinity;
  }
  const processor_topology topology = read_processor_topology();
  const processor_set allowed = processor_set::allowed_here();
  const auto count = static_cast<std::size_t>(config.nproc_per_node);
  const std::vector<int> nodes =
      nodes_of_workers(topology, allowed, count, gpu_nodes(config.environment));
  return place_workers(config.binding, topology, allowed, nodes);
}

inline worker_spec workers_of(const launch_config& config) {
  worker_spec spec;
  spec.role = config.role;
  spec.local_world_size = config.nproc_per_node;
  spec.program = config.program;
  spec.arguments = config.arguments;
  spec.function = config.function;
  spec.environment = config.environment;
  spec.variables = config.worker_variables;
  spec.virtual_local_rank = config.virtual_local_rank;
  spec.processors = processors_of(config);
  spec.max_restarts = config.max_restarts;
  spec.restart = config.restart;
  spec.shutdown_timeout = config.shutdown_timeout;
  spec.preempt_grace = config.preempt_grace;
  spec.liveness.heartbeat = config.heartbeat_timeout;
  spec.liveness.first_heartbeat = config.first_heartbeat_timeout;
  spec.liveness.learn_factor = config.learn_timeouts;
  spec.monitor_interval = config.monitor_interval;
  spec.log_directory = config.log_dir;
  spec.redirects = config.redirects;
  spec.tee = config.tee;
  spec.line_prefix_template = config.log_line_prefix_template;
  return spec;
}

inline std::string own_program() {
  std::error_code failure;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (!failure) return path.string();
  throw error(errc::program_not_found,
              fmt::format("this program cannot be found by /proc/self/exe ({}): name it by "
                          "launch_config::program", failure.message()));
}

/// Completes what runs a function of this program, and finds out before a process is started what
/// would keep it from running.
inline void prepare_function(const launch_config& config, worker_spec& workers,
                             agent_services& services) {
  const auto refuse = [](const std::string& sentence) {
    throw error(errc::invalid_argument, sentence);
  };
  const bool is_forked = config.start == start_method::fork;
  if (!config.function) {
    if (is_forked) refuse("start_method::fork runs a function: launch_config::function is empty");
    return;
  }
  validate(*config.function);
  if (is_forked && !config.program.empty()) {
    refuse(fmt::format("start_method::fork runs a function of this program: '{}' cannot be named "
                       "as another one", config.program));
  }
  if (!config.program.empty()) return;
  const auto function = function_table::here().find(config.function->name);
  function->check(config.function->arguments);
  workers.program = own_program();
  if (!is_forked) {
    if (function_table::here().main_asks()) return;
    refuse("the workers are this program again, whose main must begin with 'if (const auto code = "
           "elastic::run_entrypoint()) return *code;'");
  }
  if (services.guard.value_or(config.guard) == guard_policy::required) {
    refuse("guard_policy::required cannot be had with start_method::fork: forked workers have no "
           "guard");
  }
  if (services.launcher) {
    refuse("start_method::fork is a launcher by itself: agent_services::launcher must be empty");
  }
  auto body = [] { return run_entrypoint().value_or(1); };
  services.launcher = std::make_shared<fork_launcher>(body, services.log);
}

}  // namespace detail

/// Makes the agent that a configuration describes, for callers that want to `stop` it.
///
/// `services` may be left empty; its guard, the guard's file and its event handler, where it names
/// none, are those of the configuration. `backends` are the rendezvous backends to choose from.
/// Errors: `errc::invalid_argument` where a value is out of bounds, a name unknown, or a function
/// cannot take its arguments.
inline std::unique_ptr<local_agent> make_agent(const launch_config& config,
                                               agent_services services = {},
                                               const rendezvous_registry& backends = {}) {
  agent_options options;
  options.workers = detail::workers_of(config);
  worker_spec& workers = options.workers;
  detail::prepare_function(config, workers, services);
  options.notice =
      limit_omp_threads(workers.environment, workers.local_world_size).value_or(std::string());
  options.rendezvous = backends.make(detail::rendezvous_of(config, services.log));
  if (!services.events) {
    services.events = event_handler_registry().make(config.event_log_handler);
  }
  if (!services.guard) services.guard = config.guard;
  if (services.guard_file.empty()) services.guard_file = config.guard_file;
  options.services = std::move(services);
  return std::make_unique<local_agent>(std::move(options));
}

namespace detail {

inline task<run_result> run_agent(std::unique_ptr<local_agent> agent) {
  co_return co_await agent->run();
}

}  // namespace detail

/// Runs the workers that a configuration describes, on this node, to their end.
///
/// Result, errors and cancellation: those of `local_agent::run`; errors of `make_agent` are
/// thrown by this call, before anything is awaited.
inline task<run_result> launch(const launch_config& config, const agent_services& services) {
  return detail::run_agent(make_agent(config, services));
}
inline task<run_result> launch(const launch_config& config) {
  return detail::run_agent(make_agent(config));
}

// Not with temporaries: g++ 12 destroys those of an expression with co_await twice. Name them.
task<run_result> launch(launch_config&& config, const agent_services& services) = delete;
task<run_result> launch(const launch_config& config, agent_services&& services) = delete;
task<run_result> launch(launch_config&& config, agent_services&& services) = delete;
task<run_result> launch(launch_config&& config) = delete;

/// Runs a function in workers, `co_await launch(config, train, 3, "x")`: in processes of this
/// program, or of `config.program` where that is named. It is what `config.function` says, with
/// arguments that the compiler checks.
///
/// Result: after success `run_result::return_values` has what the function returned in each worker
/// of this node, by rank, and `value_of` gives it as a type. What the function throws is in
/// `run_result::failures`, with its type and message.
/// Errors, besides those of `local_agent::run`, thrown by this call: those of `make_agent`;
/// `errc::invalid_argument` where an argument cannot be said in JSON, or all of them are over
/// `limits::function_arguments_bytes`.
template <class Signature, class... Arguments>
  requires requires(const entrypoint<Signature>& function, Arguments&&... arguments) {
    function.call(std::forward<Arguments>(arguments)...);
  }
task<run_result> launch(const launch_config& config, const agent_services& services,
                        const entrypoint<Signature>& function, Arguments&&... arguments) {
  // By reference: what is not one is a temporary.
  static_assert((... && !(std::is_aggregate_v<Arguments> &&
                          !std::is_trivially_destructible_v<Arguments>)),
                "name an aggregate before it is an argument: g++ 12 destroys it twice");
  launch_config of_function = config;
  of_function.function = function.call(std::forward<Arguments>(arguments)...);
  return detail::run_agent(make_agent(of_function, services));
}
template <class Signature, class... Arguments>
  requires requires(const entrypoint<Signature>& function, Arguments&&... arguments) {
    function.call(std::forward<Arguments>(arguments)...);
  }
task<run_result> launch(const launch_config& config, const entrypoint<Signature>& function,
                        Arguments&&... arguments) {
  const agent_services none;
  return launch(config, none, function, std::forward<Arguments>(arguments)...);
}
template <class Signature, class... Arguments>
task<run_result> launch(launch_config&& config, const entrypoint<Signature>& function,
                        Arguments&&... arguments) = delete;
template <class Signature, class... Arguments>
task<run_result> launch(launch_config&& config, const agent_services& services,
                        const entrypoint<Signature>& function, Arguments&&... arguments) = delete;
template <class Signature, class... Arguments>
task<run_result> launch(const launch_config& config, agent_services&& services,
                        const entrypoint<Signature>& function, Arguments&&... arguments) = delete;

}  // namespace elastic

// ---- elastic/launch.hpp ----

// launch/command_line.hpp is not listed: it needs CLI11, which only a program wants.

// ---- elastic/telemetry/console_metric_handler.hpp ----

namespace elastic {

/// One value as "[time][group]: name=value", without a line end; the time in seconds since 1970
/// with six decimals.
inline std::string to_console_line(const metric& measured) {
  const auto micros = std::chrono::floor<std::chrono::microseconds>(measured.at.time_since_epoch());
  const auto seconds = std::chrono::floor<std::chrono::seconds>(micros);
  return fmt::format("[{}.{:06}][{}]: {}={}", seconds.count(), (micros - seconds).count(),
                     measured.group, measured.name, measured.value);
}

/// Writes each value as one line.
class console_metric_handler final : public metric_handler {
 public:
  /// Takes a line without its end.
  using line_sink = std::function<void(std::string_view)>;

  /// To stderr, so that stdout stays the workers'.
  console_metric_handler() : sink_(&detail::write_stderr_line) {}
  /// To a sink of your own; what it throws goes to the caller of `emit`.
  explicit console_metric_handler(line_sink sink) : sink_(std::move(sink)) {}

  void emit(const metric& measured) override { sink_(to_console_line(measured)); }

 private:
  line_sink sink_;
};

}  // namespace elastic

// ---- elastic/worker/worker_channel.hpp ----

#include <sys/un.h>

namespace elastic {

struct worker_channel_options {
  /// Whether the agent is to ask this worker for checkpoints, such as before it stops the job on
  /// SIGTERM: it then waits for `saved`.
  bool checkpoints = false;
};

/// A worker's end of the control channel: tells the agent how it is, and hears what it is to do.
///
///     elastic::worker_channel agent;
///     for (int step = 0; step < steps; ++step) {
///       const auto limit = agent.expires(60s, "step");  // killed where the step takes longer
///       train(step);
///       agent.progress(step + 1, steps);
///     }
///
/// Where there is no channel (a program that was started by hand, or by torchrun), and from the
/// moment on at which the agent is gone, every call does nothing: a worker needs no second way.
///
/// Errors: none throws, but for a constructor that is given what is not an address.
/// Thread-safety: any thread may call any member at any time, but `poll` and `wait` one at a time.
class worker_channel {
 public:
  /// Connects to the channel that this process's environment names.
  explicit worker_channel(worker_channel_options options = {})
      : worker_channel(environment_from(environ), options) {}

  /// Connects to the channel that `variables` name: ELASTIC_CONTROL and LOCAL_RANK.
  /// Errors: `errc::invalid_argument` where these are set to what cannot be.
  explicit worker_channel(const environment_map& variables, worker_channel_options options = {}) {
    const std::string address = find_variable(variables, "ELASTIC_CONTROL").value_or("");
    if (address.empty()) return;
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (address.size() < 2 || address.size() > sizeof name.sun_path) {
      throw error(errc::invalid_argument,
                  fmt::format("ELASTIC_CONTROL is '{}': @name is allowed, of at most {} characters",
                              address, sizeof name.sun_path));
    }
    std::memcpy(name.sun_path, address.data(), address.size());
    if (name.sun_path[0] == '@') name.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) return;
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&name), size) != 0) {
      ::close(std::exchange(socket_, -1));
      return;
    }
    is_open_ = true;
    control_messages::hello me;
    me.local_rank = rank_from(variables);
    me.checkpoints = options.checkpoints;
    say(worker_message(me));
  }

  worker_channel(const worker_channel&) = delete;
  worker_channel& operator=(const worker_channel&) = delete;

  /// Says that this worker wants to be watched no longer: one that ends its channel is not hung.
  ~worker_channel() {
    if (socket_ < 0) return;
    // A process that was forked from the worker has nothing to say for it.
    if (::getpid() == owner_) say(worker_message(control_messages::bye()));
    ::close(socket_);
  }

  /// Whether there is an agent at the other end.
  bool connected() const { return is_open_; }

  /// This worker lives. From the first call on the agent waits for the next: for `timeout` where it
  /// is named, else for what it was told (--heartbeat-timeout) or has learned.
  void heartbeat(std::optional<duration> timeout = std::nullopt) {
    control_messages::heartbeat beat;
    beat.timeout = timeout;
    say(worker_message(beat), can_be_lost);
  }

  /// How far this worker is; counts as a heartbeat. `total` 0: not known.
  void progress(std::int64_t step, std::int64_t total = 0, std::string text = {},
                std::map<std::string, double> metrics = {}) {
    control_messages::progress made;
    made.step = std::max<std::int64_t>(step, 0);
    made.total = std::max<std::int64_t>(total, 0);
    made.text = std::move(text);
    made.metrics = std::move(metrics);
    say(worker_message(made), can_be_lost);
  }

  /// A part of the work, from its construction to its destruction.
  class [[nodiscard]] section {
   public:
    section(worker_channel& channel, std::string name)
        : channel_(&channel), name_(std::move(name)) {}
    section(section&& other) noexcept
        : channel_(std::exchange(other.channel_, nullptr)), name_(std::move(other.name_)) {}
    section& operator=(section&&) = delete;
    ~section() {
      if (channel_ == nullptr) return;
      control_messages::leave end;
      end.section = name_;
      channel_->say(worker_message(end));
    }

   private:
    worker_channel* channel_;
    std::string name_;
  };

  /// Begins a part of the work. With a `timeout`, or a learned one, it has to end by then, and no
  /// heartbeat is due meanwhile; without one a report of a hang names it.
  section enter(std::string name, std::optional<duration> timeout = std::nullopt) {
    control_messages::enter begin;
    begin.section = name;
    begin.timeout = timeout;
    say(worker_message(begin));
    return section(*this, std::move(name));
  }

  /// A timer, from its construction to its destruction.
  class [[nodiscard]] timer {
   public:
    timer(worker_channel& channel, std::string name) : channel_(&channel), name_(std::move(name)) {}
    timer(timer&& other) noexcept
        : channel_(std::exchange(other.channel_, nullptr)), name_(std::move(other.name_)) {}
    timer& operator=(timer&&) = delete;
    ~timer() {
      if (channel_ == nullptr) return;
      control_messages::release end;
      end.timer = name_;
      channel_->say(worker_message(end));
    }

   private:
    worker_channel* channel_;
    std::string name_;
  };

  /// The agent kills this worker, and reports it as hung, unless the result is destroyed before
  /// `after` is over.
  timer expires(duration after, std::string_view name = "scope") {
    control_messages::expires begin;
    // Scopes nest, and threads have the same ones.
    begin.timer = fmt::format("{} #{}", name.substr(0, limits::control_name_bytes / 2), ++timers_);
    begin.after = after;
    say(worker_message(begin));
    return timer(*this, begin.timer);
  }

  /// Where workers fail from now on, the job is not started again: doing it once more would be in
  /// vain.
  void do_not_restart(std::string reason) {
    control_messages::no_restart said;
    said.reason = std::move(reason);
    say(worker_message(said));
  }

  /// This node cannot do the work: it leaves the job, and the others go on.
  void node_is_bad(std::string reason) {
    control_messages::bad_node said;
    said.reason = std::move(reason);
    say(worker_message(said));
  }

  /// The checkpoint that was asked for is written, or is not and why.
  void saved(const control_messages::checkpoint& asked) {
    control_messages::saved said;
    said.id = asked.id;
    say(worker_message(said));
  }
  void not_saved(const control_messages::checkpoint& asked, std::string reason) {
    control_messages::not_saved said;
    said.id = asked.id;
    said.reason = std::move(reason);
    say(worker_message(said));
  }

  /// What the agent said, the oldest first; none where it said nothing new. Does not wait.
  std::optional<agent_message> poll() { return wait(std::chrono::milliseconds(0)); }

  /// The same, but waits for it so long; without an agent it returns at once.
  std::optional<agent_message> wait(std::chrono::milliseconds longest) {
    const system_time clock;
    const time_point deadline = clock.now() + longest;
    while (is_open_) {
      if (auto said = next_message()) return said;
      if (!is_open_) break;
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock.now());
      constexpr long long most_ms = 1'000'000'000;
      pollfd ready{socket_, POLLIN, 0};
      const int count =
          ::poll(&ready, 1, static_cast<int>(std::clamp<long long>(left.count(), 0, most_ms)));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return std::nullopt;
      receive();
    }
    return next_message();
  }

  /// Readable where `poll` may have something, for those who wait for several things; -1 where
  /// there is no channel.
  int descriptor() const { return socket_; }

 private:
  static constexpr bool can_be_lost = true;

  static int rank_from(const environment_map& variables) {
    const std::string text = find_variable(variables, "LOCAL_RANK").value_or("");
    const bool is_number = !text.empty() && text.size() < 6 &&
                           text.find_first_not_of("0123456789") == std::string::npos;
    if (is_number) return std::stoi(text);
    throw error(errc::invalid_argument,
                fmt::format("LOCAL_RANK is '{}': with ELASTIC_CONTROL it is a number", text));
  }

  // Heartbeats are dropped where the agent does not read; the rest is waited for a while.
  void say(const worker_message& said, bool loses = false) {
    if (!is_open_) return;
    const std::string line = to_line(said);
    const std::lock_guard lock(sending_);
    std::string_view rest = line;
    while (is_open_ && !rest.empty()) {
      const ssize_t sent = ::send(socket_, rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent >= 0) {
        rest.remove_prefix(static_cast<std::size_t>(sent));
      } else if (errno == EAGAIN) {
        if (loses && rest.size() == line.size()) return;
        constexpr int longest_ms = 5000;
        pollfd room{socket_, POLLOUT, 0};
        if (::poll(&room, 1, longest_ms) == 0) is_open_ = false;
      } else if (errno != EINTR) {
        is_open_ = false;
      }
    }
  }

  void receive() {
    std::array<char, limits::control_line_bytes> piece;
    const ssize_t size = ::recv(socket_, piece.data(), piece.size(), MSG_DONTWAIT);
    if (size > 0) {
      lines_.append(std::string_view(piece.data(), static_cast<std::size_t>(size)));
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
      is_open_ = false;
    }
  }

  std::optional<agent_message> next_message() {
    for (auto next = lines_.next(); next; next = lines_.next()) {
      if (next->too_long) continue;
      try {
        if (auto said = parse_agent_message(next->line)) return said;
      } catch (const error&) {
        // Of an agent that speaks otherwise; what is understood still counts.
      }
    }
    return std::nullopt;
  }

  int socket_ = -1;
  pid_t owner_ = ::getpid();
  std::atomic<bool> is_open_ = false;
  std::atomic<std::uint64_t> timers_ = 0;
  std::mutex sending_;
  line_intake lines_;
};

}  // namespace elastic

// ---- elastic/worker/worker_context.hpp ----

namespace elastic {

/// What a worker's agent told it: its place (`rank`, `world_size`, `local_rank`, …), the job
/// (`master_addr`, `master_port`, `run_id`, `restart_count`, …) and where to report a failure.
struct worker_context : worker_identity, worker_surroundings {
  /// Where to leave the reason of a failure (see `record`); empty where nobody reads it.
  std::string error_file;

  // Declared, so that this is no aggregate: g++ 12 destroys a braced aggregate twice where it is an
  // argument of a call that is awaited.
  worker_context() = default;
};

namespace detail {

inline const std::string& promised_variable(const environment_map& variables,
                                            std::string_view name) {
  const auto found = variables.find(name);
  if (found != variables.end()) return found->second;
  throw error(errc::invalid_argument,
              fmt::format("{} is not set: a worker is started by elasticrun or torchrun", name));
}

inline int promised_number(const environment_map& variables, std::string_view name, int lowest,
                           int highest) {
  const std::string& text = promised_variable(variables, name);
  int value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure == std::errc() && stop == end && value >= lowest && value <= highest) return value;
  throw error(errc::invalid_argument, fmt::format("{} is '{}': a number from {} to {} is allowed",
                                                  name, text, lowest, highest));
}

}  // namespace detail

/// Understands the environment of a worker, as elasticrun and torchrun make it.
///
/// Errors: `errc::invalid_argument` where a variable is missing, no number or out of its bounds (a
/// rank must be under its world size); the sentence names the variable and says what is allowed.
inline worker_context worker_context_from(const environment_map& variables) {
  constexpr int largest_world = limits::nodes * limits::local_world_size;
  constexpr int most_restarts = 2'147'483'647;
  const auto size = [&](std::string_view name, int most) {
    return detail::promised_number(variables, name, 1, most);
  };
  const auto rank = [&](std::string_view name, int world_size) {
    return detail::promised_number(variables, name, 0, world_size - 1);
  };
  worker_context context;
  context.world_size = size("WORLD_SIZE", largest_world);
  context.rank = rank("RANK", context.world_size);
  context.local_world_size = size("LOCAL_WORLD_SIZE", limits::local_world_size);
  context.local_rank = rank("LOCAL_RANK", context.local_world_size);
  context.group_world_size = size("GROUP_WORLD_SIZE", limits::nodes);
  context.group_rank = rank("GROUP_RANK", context.group_world_size);
  context.role_world_size = size("ROLE_WORLD_SIZE", largest_world);
  context.role_rank = rank("ROLE_RANK", context.role_world_size);
  context.role_name = detail::promised_variable(variables, "ROLE_NAME");
  context.master_addr = detail::promised_variable(variables, "MASTER_ADDR");
  if (context.master_addr.empty()) throw error(errc::invalid_argument, "MASTER_ADDR is empty");
  context.master_port =
      static_cast<std::uint16_t>(detail::promised_number(variables, "MASTER_PORT", 1, 65535));
  context.use_agent_store =
      detail::promised_variable(variables, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  context.run_id = detail::promised_variable(variables, "TORCHELASTIC_RUN_ID");
  context.max_restarts =
      detail::promised_number(variables, "TORCHELASTIC_MAX_RESTARTS", 0, most_restarts);
  context.restart_count =
      detail::promised_number(variables, "TORCHELASTIC_RESTART_COUNT", 0, most_restarts);
  context.error_file = find_variable(variables, "TORCHELASTIC_ERROR_FILE").value_or("");
  return context;
}

/// The same for the environment of this process.
inline worker_context this_worker() { return worker_context_from(environment_from(environ)); }

/// Whether this process was started as a worker: RANK is set. A program that also runs by hand, as
/// one process, asks this first.
inline bool is_worker() { return environment_from(environ).count("RANK") > 0; }

}  // namespace elastic

// ---- elastic/worker/worker_store.hpp ----

namespace elastic {

/// The prefix under which the workers of one attempt keep their keys: that of PyTorch 1.13, whose
/// workers in the same job read the same keys. An attempt never sees what one before it left.
inline std::string worker_store_prefix(const worker_context& context) {
  return fmt::format("/worker/attempt_{}", context.restart_count);
}

/// Connects to the store that the workers of a job share, at the master's address, and tries again
/// until `timeout` is over while nothing listens there.
///
/// Where an agent serves it (`context.use_agent_store`: always under `elasticrun --standalone`)
/// there is nothing else to do. Where none does, the worker of rank 0 serves it first, with a
/// `tcp_store_server` of its own at that address. `generation` is what the server understands: the
/// default is right for elasticrun and for torchrun since 2.2.
///
/// Result: a client that is connected, on the executor of the caller, under `worker_store_prefix`.
/// Errors: `errc::timed_out`, naming the address and what was wrong last;
/// `errc::protocol_violation` where something else answers there.
/// Cancellation: all types; nothing is left behind.
inline task<std::shared_ptr<store>> connect_worker_store(
    worker_context context, std::chrono::milliseconds timeout = std::chrono::seconds(60),
    tcp_store_generation generation = tcp_store_generation::torch_2_2) {
  tcp_store_options options;
  options.host = context.master_addr;
  options.port = context.master_port;
  options.generation = generation;
  options.time = std::make_shared<system_time>();
  auto client = std::make_shared<tcp_store>(co_await asio::this_coro::executor, options);
  const time_point deadline = options.time->now() + timeout;
  if (!co_await with_deadline(*options.time, deadline, client->connect())) {
    throw error(errc::timed_out,
                fmt::format("no store answered at {}:{} within {} ms: {}", context.master_addr,
                            context.master_port, timeout.count(), client->last_problem()));
  }
  co_return std::make_shared<prefix_store>(worker_store_prefix(context), std::move(client));
}

}  // namespace elastic
