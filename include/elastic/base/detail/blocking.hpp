// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>

#include <signal.h>

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace elastic::detail {

/// What a thread that works and the coroutine that waits for it share. The executor and the flag
/// are the coroutine's, and taken away when it no longer waits.
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
    call->failure = std::move(failure);
    asio::post(call->executor, [call] {
      if (call->ended != nullptr) call->ended->set();
    });
  }
};

/// A thread that takes none of the process's signals: they are for the program's own threads.
/// Errors: `std::system_error` if no thread can be made.
inline std::thread start_thread(std::function<void()> work) {
  struct blocked_signals {
    blocked_signals() {
      sigset_t every;
      ::sigfillset(&every);
      ::pthread_sigmask(SIG_SETMASK, &every, &before);
    }
    ~blocked_signals() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    sigset_t before;
  };
  const blocked_signals scope;
  return std::thread(std::move(work));
}

/// Runs a call that may block, such as one of a network file system, on a thread of its own, which
/// has ended when this returns; if none can be made, here.
///
/// Name the callable first: g++ 12 destroys one that is made within the `co_await` twice.
/// Errors: those of `work`.
/// Cancellation: all types, at once; the call goes on by itself, and what comes of it is dropped.
template <class Result>
task<Result> run_blocking(std::function<Result()> work) {
  using call_type = blocking_call<Result>;
  struct scope {
    std::shared_ptr<call_type> call;
    std::thread thread;
    bool has_ended = false;
    explicit scope(std::shared_ptr<call_type> of) : call(std::move(of)) {}
    // The thread may outlive the context of the executor, which must not be touched then.
    ~scope() {
      {
        const std::lock_guard lock(call->mutex);
        call->ended = nullptr;
        call->executor = {};
      }
      if (!thread.joinable()) return;
      if (has_ended) {
        thread.join();
      } else {
        thread.detach();
      }
    }
  };
  event_flag ended(co_await asio::this_coro::executor);
  auto call = std::make_shared<call_type>();
  call->executor = co_await asio::this_coro::executor;
  call->ended = &ended;
  scope waiting(call);
  const auto body = std::make_shared<std::function<void()>>(
      [call, work = std::move(work)] { call_type::run(call, work); });
  std::function<void()> shared_body = [body] { (*body)(); };
  try {
    waiting.thread = start_thread(std::move(shared_body));
  } catch (const std::system_error&) {
    // No thread can be made: better late than not at all.
    (*body)();
  }
  co_await ended.wait();
  waiting.has_ended = true;
  // Taken out: the thread may have the call a moment longer, and must not be the last to have what
  // is thrown here.
  const std::exception_ptr failure = std::exchange(call->failure, nullptr);
  if (failure) std::rethrow_exception(failure);
  co_return std::move(*call->result);
}

/// Closes a file on a thread, which nobody waits for: where a file system does not answer, a file
/// can be as hard to close as to write.
inline void close_on_thread(unique_fd file) noexcept {
  if (!file) return;
  const auto shared = std::make_shared<unique_fd>(std::move(file));
  try {
    start_thread([shared] { shared->reset(); }).detach();
  } catch (const std::system_error&) {
    // No thread can be made: it is closed here.
  }
}

}  // namespace elastic::detail
