// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace elastic::detail {

/// What a thread that works and the coroutine that waits for it share. The executor and the flag
/// are the coroutine's, and taken away when that waits no more.
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

/// Runs a call that may block, such as one of a network file system, on a thread of its own.
///
/// Name the callable first: g++ 12 destroys one that is made within the `co_await` twice.
/// Errors: those of `work`; `std::system_error` if no thread can be made.
/// Cancellation: all types, at once; the call goes on by itself, and what comes of it is dropped.
template <class Result>
task<Result> run_blocking(std::function<Result()> work) {
  using call_type = blocking_call<Result>;
  struct scope {
    std::shared_ptr<call_type> call;
    explicit scope(std::shared_ptr<call_type> of) : call(std::move(of)) {}
    // The thread may outlive the context of the executor, which must not be touched then.
    ~scope() {
      const std::lock_guard lock(call->mutex);
      call->ended = nullptr;
      call->executor = {};
    }
  };
  event_flag ended(co_await asio::this_coro::executor);
  auto call = std::make_shared<call_type>();
  call->executor = co_await asio::this_coro::executor;
  call->ended = &ended;
  const scope waiting(call);
  std::thread([call, work = std::move(work)] { call_type::run(call, work); }).detach();
  co_await ended.wait();
  // Taken out: the thread may have the call a moment longer, and must not be the last to have what
  // is thrown here.
  const std::exception_ptr failure = std::exchange(call->failure, nullptr);
  if (failure) std::rethrow_exception(failure);
  co_return std::move(*call->result);
}

}  // namespace elastic::detail
