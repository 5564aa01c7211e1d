// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/as_error_code.hpp>
#include <elastic/base/async_run.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>

#include <cstddef>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace async_run_tests {

using elastic::as_error_code;
using elastic::async_run;
using elastic::errc;
using elastic::event_flag;
using elastic::task;

task<std::string> give(std::string text) { co_return text; }

task<std::string> fail_with(std::exception_ptr failure) {
  std::rethrow_exception(std::move(failure));
  co_return "";
}

/// A task that waits for ever.
task<std::string> hang(bool& has_begun) {
  has_begun = true;
  event_flag never(co_await asio::this_coro::executor);
  co_await never.wait();
  co_return "";
}

/// How a task ended, as its handler was told.
struct outcome {
  int calls = 0;
  std::exception_ptr failure;
  std::string result;

  auto handler() {
    return [this](std::exception_ptr thrown, std::string text) {
      ++calls;
      failure = std::move(thrown);
      result = std::move(text);
    };
  }
  std::error_code code() const {
    REQUIRE(calls == 1);
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const std::system_error& known) {
      return known.code();
    }
    return {};
  }
  bool is_aborted() const {
    try {
      if (calls == 1 && failure) std::rethrow_exception(failure);
    } catch (const elastic::detail::asio_system_error& known) {
      return known.code() == asio::error::operation_aborted;
    }
    return false;
  }
};

std::exception_ptr as_exception(errc code) {
  return std::make_exception_ptr(elastic::error(code, "the sentence"));
}

TEST_CASE("async_run: the handler gets the result, and not within the call", "[base]") {
  asio::io_context context;
  outcome end;
  async_run(context.get_executor(), give("done"), end.handler());
  CHECK(end.calls == 0);
  context.run();
  CHECK(end.calls == 1);
  CHECK_FALSE(end.failure);
  CHECK(end.result == "done");
}

TEST_CASE("async_run: the handler gets the exception, and an empty result", "[base]") {
  asio::io_context context;
  outcome end;
  async_run(context.get_executor(), fail_with(as_exception(errc::stopped)), end.handler());
  context.run();
  CHECK(end.code() == errc::stopped);
  CHECK(end.result.empty());
}

TEST_CASE("async_run: a task without a result", "[base]") {
  asio::io_context context;
  int calls = 0;
  const auto nothing = []() -> task<void> { co_return; };
  async_run(context.get_executor(), nothing(), [&](std::exception_ptr failure) {
    ++calls;
    CHECK_FALSE(failure);
  });
  context.run();
  CHECK(calls == 1);
}

TEST_CASE("async_run: with use_future and with deferred", "[base]") {
  asio::io_context context;
  std::future<std::string> future =
      async_run(context.get_executor(), give("later"), asio::use_future);
  outcome end;
  auto operation = async_run(context.get_executor(), give("still later"), elastic::test::deferred);
  context.run();
  CHECK(future.get() == "later");
  CHECK(end.calls == 0);
  std::move(operation)(end.handler());
  context.restart();
  context.run();
  CHECK(end.result == "still later");
}

TEST_CASE("async_run: within a coroutine", "[base]") {
  asio::io_context context;
  std::string result;
  const auto program = [&]() -> task<void> {
    const asio::any_io_executor executor = context.get_executor();
    auto running = async_run(executor, give("awaited"), asio::use_awaitable);
    result = co_await std::move(running);
  };
  asio::co_spawn(context, program(), [](std::exception_ptr failure) { CHECK_FALSE(failure); });
  context.run();
  CHECK(result == "awaited");
}

TEST_CASE("async_run: the handler runs on its executor, whose context waits for it", "[base]") {
  asio::io_context context;
  asio::io_context other;
  outcome end;
  async_run(context.get_executor(), give("there"),
            asio::bind_executor(other.get_executor(), end.handler()));
  std::thread waiting([&] { other.run(); });
  context.run();
  waiting.join();
  CHECK(end.result == "there");
}

/// An allocator that counts.
template <class T>
struct counting_allocator {
  using value_type = T;
  int* used;

  explicit counting_allocator(int* count) : used(count) {}
  template <class U>
  counting_allocator(const counting_allocator<U>& other) : used(other.used) {}
  T* allocate(std::size_t count) {
    ++*used;
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* place, std::size_t count) {
    --*used;
    std::allocator<T>().deallocate(place, count);
  }
  friend bool operator==(const counting_allocator&, const counting_allocator&) = default;
};

/// A handler that has an allocator.
struct counted_handler {
  using allocator_type = counting_allocator<char>;
  int* used;
  int* used_in_call;

  allocator_type get_allocator() const { return allocator_type(used); }
  void operator()(std::exception_ptr, std::string) const { *used_in_call = *used; }
};

TEST_CASE("async_run: the handler waits in memory of its allocator, which it has back", "[base]") {
  asio::io_context context;
  int used = 0;
  int used_in_call = -1;
  async_run(context.get_executor(), give("x"), counted_handler{&used, &used_in_call});
  CHECK(used == 1);
  context.run();
  CHECK(used_in_call == 0);
  {
    asio::io_context never_run;
    async_run(never_run.get_executor(), give("x"), counted_handler{&used, &used_in_call});
    CHECK(used == 1);
  }
  CHECK(used == 0);
}

TEST_CASE("async_run: each type of cancellation before the task has begun ends it", "[base]") {
  const asio::cancellation_type requested =
      GENERATE(asio::cancellation_type::terminal, asio::cancellation_type::partial,
               asio::cancellation_type::total);
  asio::io_context context;
  asio::cancellation_signal cancel;
  outcome end;
  bool has_begun = false;
  async_run(context.get_executor(), hang(has_begun),
            asio::bind_cancellation_slot(cancel.slot(), end.handler()));
  cancel.emit(requested);
  context.run();
  CHECK_FALSE(has_begun);
  CHECK(end.is_aborted());
}

TEST_CASE("async_run: each type of cancellation reaches what the task awaits", "[base]") {
  const asio::cancellation_type requested =
      GENERATE(asio::cancellation_type::terminal, asio::cancellation_type::partial,
               asio::cancellation_type::total);
  asio::io_context context;
  asio::cancellation_signal cancel;
  outcome end;
  bool has_begun = false;
  async_run(context.get_executor(), hang(has_begun),
            asio::bind_cancellation_slot(cancel.slot(), end.handler()));
  context.poll();
  REQUIRE(has_begun);
  std::thread elsewhere([&] { cancel.emit(requested); });
  elsewhere.join();
  context.restart();
  context.run();
  CHECK(end.is_aborted());
}

TEST_CASE("async_run: a cancellation after the end has no effect", "[base]") {
  asio::io_context context;
  asio::cancellation_signal cancel;
  outcome end;
  async_run(context.get_executor(), give("done"),
            asio::bind_cancellation_slot(cancel.slot(), end.handler()));
  context.run();
  cancel.emit(asio::cancellation_type::terminal);
  context.restart();
  context.run();
  CHECK(end.calls == 1);
  CHECK(end.result == "done");
}

TEST_CASE("async_run: a cancellation when its context is gone has no effect", "[base]") {
  const bool begins = GENERATE(true, false);
  asio::cancellation_signal cancel;
  outcome end;
  bool has_begun = false;
  {
    asio::io_context context;
    async_run(context.get_executor(), hang(has_begun),
              asio::bind_cancellation_slot(cancel.slot(), end.handler()));
    if (begins) context.poll();
  }
  CHECK(has_begun == begins);
  cancel.emit(asio::cancellation_type::terminal);
  CHECK(end.calls == 0);
}

TEST_CASE("async_run: a context that ends first destroys the task and its handler", "[base]") {
  const auto held = std::make_shared<int>();
  bool has_begun = false;
  {
    asio::io_context context;
    async_run(context.get_executor(), hang(has_begun),
              [held](std::exception_ptr, std::string) { FAIL("the task has not ended"); });
    context.poll();
    CHECK(held.use_count() == 2);
  }
  CHECK(has_begun);
  CHECK(held.use_count() == 1);
}

TEST_CASE("as_error_code: gives the code of each exception", "[base]") {
  struct row {
    std::exception_ptr thrown;
    std::error_code code;
  };
  const std::vector<row> rows = {
      {as_exception(errc::file_access), make_error_code(errc::file_access)},
      {std::make_exception_ptr(std::system_error(ENOENT, std::generic_category())),
       std::error_code(ENOENT, std::generic_category())},
      {std::make_exception_ptr(std::bad_alloc()),
       std::make_error_code(std::errc::not_enough_memory)},
      {std::make_exception_ptr(std::logic_error("?")),
       std::make_error_code(std::errc::state_not_recoverable)},
  };
  for (const row& each : rows) {
    asio::io_context context;
    int calls = 0;
    async_run(context.get_executor(), fail_with(each.thrown),
              as_error_code([&](std::error_code code, const std::string& result) {
                ++calls;
                CHECK(code == each.code);
                CHECK(result.empty());
              }));
    context.run();
    CHECK(calls == 1);
  }
}

TEST_CASE("as_error_code: gives the result, with no error", "[base]") {
  asio::io_context context;
  std::optional<std::string> result;
  async_run(context.get_executor(), give("done"),
            as_error_code([&](std::error_code code, std::string text) {
              CHECK_FALSE(code);
              result = std::move(text);
            }));
  context.run();
  CHECK(result == "done");
}

TEST_CASE("as_error_code: futures and coroutines throw the code", "[base]") {
  asio::io_context context;
  std::future<std::string> done =
      async_run(context.get_executor(), give("done"), as_error_code(asio::use_future));
  std::future<std::string> failed =
      async_run(context.get_executor(), fail_with(as_exception(errc::stopped)),
                as_error_code(asio::use_future));
  std::error_code caught;
  const auto program = [&]() -> task<void> {
    const asio::any_io_executor executor = context.get_executor();
    auto running = async_run(executor, fail_with(as_exception(errc::timed_out)),
                             as_error_code(asio::use_awaitable));
    try {
      co_await std::move(running);
    } catch (const elastic::detail::asio_system_error& failure) {
      caught = failure.code();
    }
  };
  asio::co_spawn(context, program(), [](std::exception_ptr failure) { CHECK_FALSE(failure); });
  context.run();
  CHECK(done.get() == "done");
  CHECK_THROWS_AS(failed.get(), elastic::detail::asio_system_error);
  CHECK(caught == errc::timed_out);
}

TEST_CASE("as_error_code: can itself be bound, also more than once", "[base]") {
  asio::io_context context;
  asio::cancellation_signal cancel;
  std::error_code aborted;
  bool has_begun = false;
  async_run(context.get_executor(), hang(has_begun),
            asio::bind_cancellation_slot(
                cancel.slot(), as_error_code([&](std::error_code code, const std::string&) {
                  aborted = code;
                })));
  std::string text;
  async_run(context.get_executor(), give("bound"),
            asio::bind_allocator(std::allocator<void>(),
                                 as_error_code([&](std::error_code, std::string result) {
                                   text = std::move(result);
                                 })));
  std::future<std::string> done = async_run(
      context.get_executor(), give("done"),
      asio::bind_cancellation_slot(
          asio::cancellation_slot(),
          asio::bind_executor(context.get_executor(), as_error_code(asio::use_future))));
  context.poll();
  cancel.emit(asio::cancellation_type::terminal);
  context.restart();
  context.run();
  CHECK(aborted == asio::error::operation_aborted);
  CHECK(text == "bound");
  CHECK(done.get() == "done");
}

TEST_CASE("as_error_code: keeps the executor and the cancellation slot of the handler", "[base]") {
  asio::io_context context;
  asio::io_context other;
  asio::cancellation_signal cancel;
  int calls = 0;
  bool has_begun = false;
  auto handler = asio::bind_executor(
      other.get_executor(),
      asio::bind_cancellation_slot(cancel.slot(), [&](std::error_code code, const std::string&) {
        ++calls;
        CHECK(code == asio::error::operation_aborted);
      }));
  async_run(context.get_executor(), hang(has_begun), as_error_code(std::move(handler)));
  context.poll();
  cancel.emit(asio::cancellation_type::partial);
  context.restart();
  context.run();
  CHECK(calls == 0);
  other.run();
  CHECK(calls == 1);
}

}  // namespace async_run_tests
