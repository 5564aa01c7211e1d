// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/blocking.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/event_flag.hpp>

#include <signal.h>

#include <exception>
#include <mutex>
#include <system_error>

namespace elastic::detail {

ELASTIC_DECL std::thread start_thread(std::function<void()> work) {
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

/// The state shared between a working thread and the coroutine that waits for it. The executor and
/// the flag belong to the coroutine, and are cleared when it no longer waits.
struct blocking_call {
  blocking_call(asio::any_io_executor waiting, event_flag& over, executor_work doing)
      : executor(std::move(waiting)), ended(&over), work(std::move(doing)) {}

  asio::any_io_executor executor;
  std::mutex mutex;
  event_flag* ended;
  executor_work work;
  std::exception_ptr failure;

  static void run(const std::shared_ptr<blocking_call>& call) {
    std::exception_ptr failure;
    try {
      call->work();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(call->mutex);
    if (call->ended == nullptr) return;
    call->failure = failure;
    post_work(call->executor, [call] {
      if (call->ended != nullptr) call->ended->set();
    });
  }
};

/// The coroutine's part of a call, which ends with its scope.
struct blocking_wait {
  explicit blocking_wait(std::shared_ptr<blocking_call> owner) : call(std::move(owner)) {}
  blocking_wait(const blocking_wait&) = delete;
  blocking_wait& operator=(const blocking_wait&) = delete;

  // The thread may outlive the executor's context and must not touch it then.
  ~blocking_wait() {
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

  std::shared_ptr<blocking_call> call;
  std::thread thread;
  bool has_ended = false;
};

ELASTIC_DECL task<void> run_blocking(executor_work work) {
  const auto executor = co_await asio::this_coro::executor;
  event_flag ended(executor);
  const auto call = new_shared<blocking_call>(executor, ended, std::move(work));
  blocking_wait waiting(call);
  std::function<void()> body = [call] { blocking_call::run(call); };
  try {
    waiting.thread = start_thread(std::move(body));
  } catch (const std::system_error&) {
    // No thread can be created: a blocking call is better than none.
    blocking_call::run(call);
  }
  co_await ended.wait();
  waiting.has_ended = true;
  // Taken out, because the thread may hold the call a moment longer, and must not be the last owner
  // of the exception.
  const std::exception_ptr failure = std::exchange(call->failure, nullptr);
  if (failure) std::rethrow_exception(failure);
}

ELASTIC_DECL void close_on_thread(unique_fd file) noexcept {
  if (!file) return;
  const auto shared = new_shared<unique_fd>(std::move(file));
  try {
    start_thread([shared] { shared->reset(); }).detach();
  } catch (const std::system_error&) {
    // No thread can be created: the file is closed here.
  }
}

}  // namespace elastic::detail
