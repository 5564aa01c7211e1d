// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Which coroutines still run to their end when another is cancelled.

#include <elastic/base/scope.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/process/detail/proc_snapshot.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace elastic::test {
namespace scope_tests {

using namespace std::chrono_literals;
using story = std::vector<std::string>;

// A coroutine that somebody else may cancel, and what has happened to it so far.
class stage {
 public:
  stage() : time(context_) {}

  void start(task<void> body) {
    asio::co_spawn(
        context_, std::move(body),
        asio::bind_cancellation_slot(cancel_.slot(), [this](std::exception_ptr exception) {
          events.push_back(exception ? "threw " + text_of(exception) : "returned");
        }));
  }
  void cancel_at(duration moment,
                 asio::cancellation_type type = asio::cancellation_type::terminal) {
    time.run_for(moment - time.elapsed());
    cancel_.emit(type);
  }

 private:
  static std::string text_of(std::exception_ptr exception) {
    try {
      std::rethrow_exception(exception);
    } catch (const std::system_error& failure) {
      return failure.code() == asio::error::operation_aborted ? "aborted" : failure.what();
    } catch (const std::exception& failure) {
      return failure.what();
    }
  }

  asio::io_context context_;
  asio::cancellation_signal cancel_;

 public:
  manual_time time;
  story events;
};

// Begins, needs ten seconds, ends.
task<void> step(stage& coroutine, std::string name) {
  coroutine.events.push_back(name + " begins");
  co_await coroutine.time.sleep_until(coroutine.time.now() + 10s);
  coroutine.events.push_back(name + " ends");
}

task<void> failing_step(stage& coroutine, std::string name) {
  coroutine.events.push_back(name + " begins");
  co_await coroutine.time.sleep_until(coroutine.time.now() + 10s);
  throw std::runtime_error(name + " failed");
}

task<std::string> answering_step(stage& coroutine, std::string name) {
  co_await step(coroutine, name);
  co_return "answer of " + name;
}

task<void> shielded_step(stage& coroutine) {
  co_await shielded(step(coroutine, "work"));
  coroutine.events.push_back("after it");
  co_await step(coroutine, "next");
}

TEST_CASE("shielded: without a cancel it is the work itself", "[base]") {
  stage coroutine;
  coroutine.start(shielded_step(coroutine));
  coroutine.time.run();
  CHECK(coroutine.events ==
        story{"work begins", "work ends", "after it", "next begins", "next ends", "returned"});
}

TEST_CASE("shielded: a cancel does not reach the work, and the next co_await sees it", "[base]") {
  stage coroutine;
  coroutine.start(shielded_step(coroutine));
  coroutine.cancel_at(5s);
  coroutine.time.run();
  CHECK(coroutine.events == story{"work begins", "work ends", "after it", "threw aborted"});
  CHECK(coroutine.time.elapsed() == 10s);
}

task<void> shielded_after_open_filter(stage& coroutine) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await shielded(step(coroutine, "work"));
  auto state = co_await asio::this_coro::cancellation_state;
  coroutine.events.push_back(
      state.cancelled() == asio::cancellation_type::partial ? "noted partial" : "noted otherwise");
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await step(coroutine, "next");
}

TEST_CASE("shielded: the request stays noted with its type, and can be reset", "[base]") {
  stage coroutine;
  coroutine.start(shielded_after_open_filter(coroutine));
  coroutine.cancel_at(5s, asio::cancellation_type::partial);
  coroutine.time.run();
  CHECK(coroutine.events ==
        story{"work begins", "work ends", "noted partial", "next begins", "next ends", "returned"});
}

task<void> shielded_then_quiet(stage& coroutine) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await shielded(step(coroutine, "work"));
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  coroutine.events.push_back(throws ? "throws" : "does not throw");
}

TEST_CASE("shielded: leaves throw_if_cancelled as it was", "[base]") {
  stage coroutine;
  coroutine.start(shielded_then_quiet(coroutine));
  coroutine.cancel_at(5s);
  coroutine.time.run();
  CHECK(coroutine.events == story{"work begins", "work ends", "does not throw", "returned"});
}

TEST_CASE("shielded: leaves the caller's filter as it was", "[base]") {
  stage coroutine;
  coroutine.start(shielded_step(coroutine));
  // Asio's usual filter: a partial or total request is not for this coroutine.
  coroutine.cancel_at(5s, asio::cancellation_type::partial);
  coroutine.cancel_at(15s, asio::cancellation_type::total);
  coroutine.time.run();
  CHECK(coroutine.events.back() == "returned");
}

task<void> shielded_failure(stage& coroutine) {
  co_await shielded(failing_step(coroutine, "work"));
}

TEST_CASE("shielded: throws what the work throws, cancelled or not", "[base]") {
  for (const bool is_cancelled : {false, true}) {
    stage coroutine;
    coroutine.start(shielded_failure(coroutine));
    if (is_cancelled) coroutine.cancel_at(5s);
    coroutine.time.run();
    CHECK(coroutine.events == story{"work begins", "threw work failed"});
  }
}

task<void> shielded_answer(stage& coroutine) {
  coroutine.events.push_back(co_await shielded(answering_step(coroutine, "work")));
}

TEST_CASE("shielded: the result of the work is not lost to a cancel", "[base]") {
  stage coroutine;
  coroutine.start(shielded_answer(coroutine));
  coroutine.cancel_at(5s);
  coroutine.time.run();
  CHECK(coroutine.events == story{"work begins", "work ends", "answer of work", "returned"});
}

task<void> body_and_cleanup(stage& coroutine) {
  co_await with_cleanup(step(coroutine, "body"), step(coroutine, "cleanup"));
  coroutine.events.push_back("after it");
  co_await step(coroutine, "next");
}

TEST_CASE("with_cleanup: runs the clean-up after the body", "[base]") {
  stage coroutine;
  coroutine.start(body_and_cleanup(coroutine));
  coroutine.time.run();
  CHECK(coroutine.events == story{"body begins", "body ends", "cleanup begins", "cleanup ends",
                                  "after it", "next begins", "next ends", "returned"});
}

TEST_CASE("with_cleanup: a cancel of the body runs the whole clean-up and is thrown", "[base]") {
  stage coroutine;
  coroutine.start(body_and_cleanup(coroutine));
  coroutine.cancel_at(5s);
  coroutine.time.run();
  CHECK(coroutine.events ==
        story{"body begins", "cleanup begins", "cleanup ends", "threw aborted"});
  CHECK(coroutine.time.elapsed() == 15s);
}

TEST_CASE("with_cleanup: a cancel of the clean-up waits for its end", "[base]") {
  stage coroutine;
  coroutine.start(body_and_cleanup(coroutine));
  coroutine.cancel_at(15s);
  coroutine.time.run();
  CHECK(coroutine.events == story{"body begins", "body ends", "cleanup begins", "cleanup ends",
                                  "after it", "threw aborted"});
}

TEST_CASE("with_cleanup: a cancel of both runs the clean-up once and whole", "[base]") {
  stage coroutine;
  coroutine.start(body_and_cleanup(coroutine));
  coroutine.cancel_at(5s);
  coroutine.cancel_at(7s);
  coroutine.cancel_at(9s);
  coroutine.time.run();
  CHECK(coroutine.events ==
        story{"body begins", "cleanup begins", "cleanup ends", "threw aborted"});
}

task<void> body_cleanup_and_flags(stage& coroutine) {
  try {
    co_await with_cleanup(step(coroutine, "body"), step(coroutine, "cleanup"));
  } catch (const std::system_error&) {
    coroutine.events.push_back("caught");
  }
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  coroutine.events.push_back(throws ? "throws" : "does not throw");
  co_await asio::this_coro::reset_cancellation_state();
  co_await step(coroutine, "next");
}

TEST_CASE("with_cleanup: leaves throw_if_cancelled and the caller's filter as they were",
          "[base]") {
  stage coroutine;
  coroutine.start(body_cleanup_and_flags(coroutine));
  coroutine.cancel_at(5s);
  coroutine.cancel_at(20s, asio::cancellation_type::partial);
  coroutine.time.run();
  CHECK(coroutine.events == story{"body begins", "cleanup begins", "cleanup ends", "caught",
                                  "throws", "next begins", "next ends", "returned"});
}

task<void> run_with_cleanup(task<void> body, task<void> cleanup) {
  co_await with_cleanup(std::move(body), std::move(cleanup));
}

TEST_CASE("with_cleanup: an error of the body runs the clean-up and is thrown", "[base]") {
  stage coroutine;
  coroutine.start(run_with_cleanup(failing_step(coroutine, "body"), step(coroutine, "cleanup")));
  coroutine.time.run();
  CHECK(coroutine.events ==
        story{"body begins", "cleanup begins", "cleanup ends", "threw body failed"});
}

TEST_CASE("with_cleanup: of two errors the first one counts", "[base]") {
  stage two_errors;
  two_errors.start(
      run_with_cleanup(failing_step(two_errors, "body"), failing_step(two_errors, "cleanup")));
  two_errors.time.run();
  CHECK(two_errors.events.back() == "threw body failed");

  stage cleanup_error;
  cleanup_error.start(
      run_with_cleanup(step(cleanup_error, "body"), failing_step(cleanup_error, "cleanup")));
  cleanup_error.time.run();
  CHECK(cleanup_error.events.back() == "threw cleanup failed");
}

task<void> answer_with_cleanup(stage& coroutine) {
  coroutine.events.push_back(
      co_await with_cleanup(answering_step(coroutine, "body"), step(coroutine, "cleanup")));
}

TEST_CASE("with_cleanup: the body's result is not lost to a cancel of the clean-up", "[base]") {
  stage coroutine;
  coroutine.start(answer_with_cleanup(coroutine));
  coroutine.cancel_at(15s);
  coroutine.time.run();
  CHECK(coroutine.events == story{"body begins", "body ends", "cleanup begins", "cleanup ends",
                                  "answer of body", "returned"});
}

task<void> nested_cleanups(stage& coroutine) {
  auto inner = with_cleanup(step(coroutine, "body"), step(coroutine, "inner"));
  co_await with_cleanup(std::move(inner), step(coroutine, "outer"));
}

TEST_CASE("with_cleanup: nested ones clean up from the inside out", "[base]") {
  stage coroutine;
  coroutine.start(nested_cleanups(coroutine));
  coroutine.cancel_at(5s);
  coroutine.cancel_at(12s);
  coroutine.time.run();
  CHECK(coroutine.events == story{"body begins", "inner begins", "inner ends", "outer begins",
                                  "outer ends", "threw aborted"});
}

task<void> body_and_rollback(task<void> body, task<void> rollback) {
  co_await with_rollback(std::move(body), std::move(rollback));
}

TEST_CASE("with_rollback: undoes what failed or was cancelled, and nothing else", "[base]") {
  stage success;
  success.start(body_and_rollback(step(success, "body"), step(success, "rollback")));
  success.time.run();
  CHECK(success.events == story{"body begins", "body ends", "returned"});

  stage failure;
  failure.start(body_and_rollback(failing_step(failure, "body"), step(failure, "rollback")));
  failure.time.run();
  CHECK(failure.events ==
        story{"body begins", "rollback begins", "rollback ends", "threw body failed"});

  stage cancellation;
  cancellation.start(body_and_rollback(step(cancellation, "body"), step(cancellation, "rollback")));
  cancellation.cancel_at(5s);
  cancellation.cancel_at(8s);
  cancellation.time.run();
  CHECK(cancellation.events ==
        story{"body begins", "rollback begins", "rollback ends", "threw aborted"});
}

// Each row of a table: what is sent to a coroutine whose filter is open or not, and what of it
// is noted by the coroutine that it runs on a strand of its own.
struct passing {
  asio::cancellation_type request;
  bool open_outside;
  bool reaches;
};

task<void> open_step(stage& coroutine) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await step(coroutine, "inner");
}

task<void> on_own_strand(stage& coroutine, bool opens) {
  if (opens) {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  }
  auto strand = asio::make_strand(co_await asio::this_coro::executor);
  co_await asio::co_spawn(strand, open_step(coroutine), asio::use_awaitable);
}

TEST_CASE("cancellation: what reaches a coroutine behind another one's filter", "[base]") {
  using type = asio::cancellation_type;
  const std::vector<passing> table = {
      {type::terminal, true, true},  {type::partial, true, true},   {type::total, true, true},
      {type::terminal, false, true}, {type::partial, false, false}, {type::total, false, false},
  };
  for (const passing& row : table) {
    CAPTURE(static_cast<int>(row.request), row.open_outside);
    stage coroutine;
    coroutine.start(on_own_strand(coroutine, row.open_outside));
    coroutine.cancel_at(5s, row.request);
    coroutine.time.run();
    CHECK(coroutine.events.back() == (row.reaches ? "threw aborted" : "returned"));
  }
}

// Cleans up by hand, without with_cleanup: catches the cancellation and goes on.
task<void> cleaned_up_by_hand(stage& coroutine, bool throws) {
  co_await asio::this_coro::throw_if_cancelled(throws);
  bool was_cancelled = false;
  try {
    co_await step(coroutine, "body");
  } catch (const std::system_error&) {
    was_cancelled = true;
  }
  coroutine.events.push_back(was_cancelled ? "cancelled" : "not cancelled");
  co_await step(coroutine, "cleanup");
}

TEST_CASE("cancellation: a clean-up by hand does not even begin, since the request stays noted",
          "[base]") {
  stage coroutine;
  coroutine.start(cleaned_up_by_hand(coroutine, true));
  coroutine.cancel_at(5s);
  coroutine.time.run();
  CHECK(coroutine.events == story{"body begins", "cancelled", "threw aborted"});
  CHECK(coroutine.time.elapsed() == 5s);
}

TEST_CASE("cancellation: a clean-up by hand runs if nothing throws for a request that is noted",
          "[base]") {
  stage one_request;
  one_request.start(cleaned_up_by_hand(one_request, false));
  one_request.cancel_at(5s);
  one_request.time.run();
  CHECK(one_request.events ==
        story{"body begins", "cancelled", "cleanup begins", "cleanup ends", "returned"});
  CHECK(one_request.time.elapsed() == 15s);

  // But a second request ends it midway: what must be whole is the clean-up of with_cleanup.
  stage two_requests;
  two_requests.start(cleaned_up_by_hand(two_requests, false));
  two_requests.cancel_at(5s);
  two_requests.cancel_at(8s);
  two_requests.time.run();
  CHECK(two_requests.events ==
        story{"body begins", "cancelled", "cleanup begins", "threw aborted"});
  CHECK(two_requests.time.elapsed() == 8s);
}

// A branch of `||`, which has Asio's usual filter for itself unless it opens it.
task<void> branch(stage& coroutine, std::string name, bool opens) {
  if (opens) {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  }
  std::exception_ptr cancellation;
  try {
    co_await step(coroutine, name);
  } catch (const std::system_error&) {
    cancellation = std::current_exception();
  }
  if (!cancellation) co_return;
  auto state = co_await asio::this_coro::cancellation_state;
  const bool is_partial = state.cancelled() == asio::cancellation_type::partial;
  coroutine.events.push_back(name + (is_partial ? " notes partial" : " notes otherwise"));
  std::rethrow_exception(cancellation);
}

task<void> two_branches(stage& coroutine, bool first_opens, bool second_opens) {
  using namespace asio::experimental::awaitable_operators;
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  auto branches =
      branch(coroutine, "first", first_opens) || branch(coroutine, "second", second_opens);
  co_await std::move(branches);
}

TEST_CASE("cancellation: a branch of || hears of partial only if it opens its own filter",
          "[base]") {
  // That the caller's is open is not enough. Who does not hear of it goes on, and wins.
  stage one_open_branch;
  one_open_branch.start(two_branches(one_open_branch, true, false));
  one_open_branch.cancel_at(5s, asio::cancellation_type::partial);
  one_open_branch.time.run();
  CHECK(one_open_branch.events ==
        story{"first begins", "second begins", "first notes partial", "second ends", "returned"});
  CHECK(one_open_branch.time.elapsed() == 10s);

  stage no_open_branch;
  no_open_branch.start(two_branches(no_open_branch, false, false));
  no_open_branch.cancel_at(5s, asio::cancellation_type::partial);
  no_open_branch.time.run();
  CHECK(no_open_branch.events.back() == "returned");
  CHECK(no_open_branch.time.elapsed() == 10s);

  stage two_open_branches;
  two_open_branches.start(two_branches(two_open_branches, true, true));
  two_open_branches.cancel_at(5s, asio::cancellation_type::partial);
  two_open_branches.time.run();
  REQUIRE(two_open_branches.events.size() == 5);
  CHECK(two_open_branches.events[2] == "first notes partial");
  CHECK(two_open_branches.events[3] == "second notes partial");
  CHECK(two_open_branches.events[4].starts_with("threw"));
  CHECK(two_open_branches.time.elapsed() == 5s);
}

}  // namespace scope_tests
}  // namespace elastic::test
