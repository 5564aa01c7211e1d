// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Who runs to its end when somebody is cancelled.

#include <elastic/base/scope.hpp>
#include <elastic/process/detail/proc_snapshot.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <elastic/rendezvous/native/rendezvous_message.hpp>
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
    asio::co_spawn(context_, std::move(body),
                   asio::bind_cancellation_slot(cancel_.slot(), [this](std::exception_ptr thrown) {
                     events.push_back(thrown ? "threw " + text_of(thrown) : "returned");
                   }));
  }
  void cancel_at(duration when, asio::cancellation_type type = asio::cancellation_type::terminal) {
    time.run_for(when - time.elapsed());
    cancel_.emit(type);
  }

 private:
  static std::string text_of(std::exception_ptr thrown) {
    try {
      std::rethrow_exception(thrown);
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
task<void> step(stage& on, std::string name) {
  on.events.push_back(name + " begins");
  co_await on.time.sleep_until(on.time.now() + 10s);
  on.events.push_back(name + " ends");
}

task<void> failing_step(stage& on, std::string name) {
  on.events.push_back(name + " begins");
  co_await on.time.sleep_until(on.time.now() + 10s);
  throw std::runtime_error(name + " failed");
}

task<std::string> answering_step(stage& on, std::string name) {
  co_await step(on, name);
  co_return "answer of " + name;
}

task<void> shielded_step(stage& on) {
  co_await shielded(step(on, "work"));
  on.events.push_back("after it");
  co_await step(on, "next");
}

TEST_CASE("shielded: without a cancel it is the work itself", "[base]") {
  stage on;
  on.start(shielded_step(on));
  on.time.run();
  CHECK(on.events ==
        story{"work begins", "work ends", "after it", "next begins", "next ends", "returned"});
}

TEST_CASE("shielded: a cancel does not reach the work, and the next co_await sees it", "[base]") {
  stage on;
  on.start(shielded_step(on));
  on.cancel_at(5s);
  on.time.run();
  CHECK(on.events == story{"work begins", "work ends", "after it", "threw aborted"});
  CHECK(on.time.elapsed() == 10s);
}

task<void> shielded_after_open_filter(stage& on) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await shielded(step(on, "work"));
  auto state = co_await asio::this_coro::cancellation_state;
  on.events.push_back(state.cancelled() == asio::cancellation_type::partial ? "noted partial"
                                                                            : "noted otherwise");
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await step(on, "next");
}

TEST_CASE("shielded: the request stays noted with its type, and can be reset", "[base]") {
  stage on;
  on.start(shielded_after_open_filter(on));
  on.cancel_at(5s, asio::cancellation_type::partial);
  on.time.run();
  CHECK(on.events ==
        story{"work begins", "work ends", "noted partial", "next begins", "next ends", "returned"});
}

task<void> shielded_then_quiet(stage& on) {
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await shielded(step(on, "work"));
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  on.events.push_back(throws ? "throws" : "does not throw");
}

TEST_CASE("shielded: leaves throw_if_cancelled as it was", "[base]") {
  stage on;
  on.start(shielded_then_quiet(on));
  on.cancel_at(5s);
  on.time.run();
  CHECK(on.events == story{"work begins", "work ends", "does not throw", "returned"});
}

TEST_CASE("shielded: leaves the caller's filter as it was", "[base]") {
  stage on;
  on.start(shielded_step(on));
  // Asio's usual filter: a partial or total request is not for this coroutine.
  on.cancel_at(5s, asio::cancellation_type::partial);
  on.cancel_at(15s, asio::cancellation_type::total);
  on.time.run();
  CHECK(on.events.back() == "returned");
}

task<void> shielded_failure(stage& on) { co_await shielded(failing_step(on, "work")); }

TEST_CASE("shielded: throws what the work throws, cancelled or not", "[base]") {
  for (const bool cancelled : {false, true}) {
    stage on;
    on.start(shielded_failure(on));
    if (cancelled) on.cancel_at(5s);
    on.time.run();
    CHECK(on.events == story{"work begins", "threw work failed"});
  }
}

task<void> shielded_answer(stage& on) {
  on.events.push_back(co_await shielded(answering_step(on, "work")));
}

TEST_CASE("shielded: the result of the work is not lost to a cancel", "[base]") {
  stage on;
  on.start(shielded_answer(on));
  on.cancel_at(5s);
  on.time.run();
  CHECK(on.events == story{"work begins", "work ends", "answer of work", "returned"});
}

task<void> body_and_cleanup(stage& on) {
  co_await with_cleanup(step(on, "body"), step(on, "cleanup"));
  on.events.push_back("after it");
  co_await step(on, "next");
}

TEST_CASE("with_cleanup: runs the clean-up after the body", "[base]") {
  stage on;
  on.start(body_and_cleanup(on));
  on.time.run();
  CHECK(on.events == story{"body begins", "body ends", "cleanup begins", "cleanup ends", "after it",
                           "next begins", "next ends", "returned"});
}

TEST_CASE("with_cleanup: a cancel of the body runs the whole clean-up and is thrown", "[base]") {
  stage on;
  on.start(body_and_cleanup(on));
  on.cancel_at(5s);
  on.time.run();
  CHECK(on.events == story{"body begins", "cleanup begins", "cleanup ends", "threw aborted"});
  CHECK(on.time.elapsed() == 15s);
}

TEST_CASE("with_cleanup: a cancel of the clean-up waits for its end", "[base]") {
  stage on;
  on.start(body_and_cleanup(on));
  on.cancel_at(15s);
  on.time.run();
  CHECK(on.events == story{"body begins", "body ends", "cleanup begins", "cleanup ends", "after it",
                           "threw aborted"});
}

TEST_CASE("with_cleanup: a cancel of both runs the clean-up once and whole", "[base]") {
  stage on;
  on.start(body_and_cleanup(on));
  on.cancel_at(5s);
  on.cancel_at(7s);
  on.cancel_at(9s);
  on.time.run();
  CHECK(on.events == story{"body begins", "cleanup begins", "cleanup ends", "threw aborted"});
}

task<void> body_cleanup_and_flags(stage& on) {
  try {
    co_await with_cleanup(step(on, "body"), step(on, "cleanup"));
  } catch (const std::system_error&) {
    on.events.push_back("caught");
  }
  const bool throws = co_await asio::this_coro::throw_if_cancelled();
  on.events.push_back(throws ? "throws" : "does not throw");
  co_await asio::this_coro::reset_cancellation_state();
  co_await step(on, "next");
}

TEST_CASE("with_cleanup: leaves throw_if_cancelled and the caller's filter as they were",
          "[base]") {
  stage on;
  on.start(body_cleanup_and_flags(on));
  on.cancel_at(5s);
  on.cancel_at(20s, asio::cancellation_type::partial);
  on.time.run();
  CHECK(on.events == story{"body begins", "cleanup begins", "cleanup ends", "caught", "throws",
                           "next begins", "next ends", "returned"});
}

task<void> run_with_cleanup(task<void> body, task<void> cleanup) {
  co_await with_cleanup(std::move(body), std::move(cleanup));
}

TEST_CASE("with_cleanup: an error of the body runs the clean-up and is thrown", "[base]") {
  stage on;
  on.start(run_with_cleanup(failing_step(on, "body"), step(on, "cleanup")));
  on.time.run();
  CHECK(on.events == story{"body begins", "cleanup begins", "cleanup ends", "threw body failed"});
}

TEST_CASE("with_cleanup: of two errors the first one counts", "[base]") {
  stage both;
  both.start(run_with_cleanup(failing_step(both, "body"), failing_step(both, "cleanup")));
  both.time.run();
  CHECK(both.events.back() == "threw body failed");

  stage second;
  second.start(run_with_cleanup(step(second, "body"), failing_step(second, "cleanup")));
  second.time.run();
  CHECK(second.events.back() == "threw cleanup failed");
}

task<void> answer_with_cleanup(stage& on) {
  on.events.push_back(co_await with_cleanup(answering_step(on, "body"), step(on, "cleanup")));
}

TEST_CASE("with_cleanup: the body's result is not lost to a cancel of the clean-up", "[base]") {
  stage on;
  on.start(answer_with_cleanup(on));
  on.cancel_at(15s);
  on.time.run();
  CHECK(on.events == story{"body begins", "body ends", "cleanup begins", "cleanup ends",
                           "answer of body", "returned"});
}

task<void> nested(stage& on) {
  auto inner = with_cleanup(step(on, "body"), step(on, "inner"));
  co_await with_cleanup(std::move(inner), step(on, "outer"));
}

TEST_CASE("with_cleanup: nested ones clean up from the inside out", "[base]") {
  stage on;
  on.start(nested(on));
  on.cancel_at(5s);
  on.cancel_at(12s);
  on.time.run();
  CHECK(on.events == story{"body begins", "inner begins", "inner ends", "outer begins",
                           "outer ends", "threw aborted"});
}

task<void> body_and_rollback(task<void> body, task<void> rollback) {
  co_await with_rollback(std::move(body), std::move(rollback));
}

TEST_CASE("with_rollback: undoes what failed or was cancelled, and nothing else", "[base]") {
  stage whole;
  whole.start(body_and_rollback(step(whole, "body"), step(whole, "rollback")));
  whole.time.run();
  CHECK(whole.events == story{"body begins", "body ends", "returned"});

  stage failed;
  failed.start(body_and_rollback(failing_step(failed, "body"), step(failed, "rollback")));
  failed.time.run();
  CHECK(failed.events ==
        story{"body begins", "rollback begins", "rollback ends", "threw body failed"});

  stage cancelled;
  cancelled.start(body_and_rollback(step(cancelled, "body"), step(cancelled, "rollback")));
  cancelled.cancel_at(5s);
  cancelled.cancel_at(8s);
  cancelled.time.run();
  CHECK(cancelled.events ==
        story{"body begins", "rollback begins", "rollback ends", "threw aborted"});
}

// Each row of a table: what is sent to a coroutine whose filter is open or not, and what of it
// is noted by the coroutine that it runs on a strand of its own.
struct passing {
  asio::cancellation_type sent;
  bool open_outside;
  bool reaches;
};

task<void> open_step(stage& on) {
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  co_await step(on, "inner");
}

task<void> on_own_strand(stage& on, bool open) {
  if (open) {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  }
  auto strand = asio::make_strand(co_await asio::this_coro::executor);
  co_await asio::co_spawn(strand, open_step(on), asio::use_awaitable);
}

TEST_CASE("cancellation: what reaches a coroutine behind another one's filter", "[base]") {
  using type = asio::cancellation_type;
  const std::vector<passing> table = {
      {type::terminal, true, true},  {type::partial, true, true},   {type::total, true, true},
      {type::terminal, false, true}, {type::partial, false, false}, {type::total, false, false},
  };
  for (const passing& row : table) {
    CAPTURE(static_cast<int>(row.sent), row.open_outside);
    stage on;
    on.start(on_own_strand(on, row.open_outside));
    on.cancel_at(5s, row.sent);
    on.time.run();
    CHECK(on.events.back() == (row.reaches ? "threw aborted" : "returned"));
  }
}

// Cleans up by hand, without with_cleanup: catches the cancellation and goes on.
task<void> cleaned_up_by_hand(stage& on, bool throws) {
  co_await asio::this_coro::throw_if_cancelled(throws);
  bool cancelled = false;
  try {
    co_await step(on, "body");
  } catch (const std::system_error&) {
    cancelled = true;
  }
  on.events.push_back(cancelled ? "cancelled" : "not cancelled");
  co_await step(on, "cleanup");
}

TEST_CASE("cancellation: a clean-up by hand does not even begin, since the request stays noted",
          "[base]") {
  stage on;
  on.start(cleaned_up_by_hand(on, true));
  on.cancel_at(5s);
  on.time.run();
  CHECK(on.events == story{"body begins", "cancelled", "threw aborted"});
  CHECK(on.time.elapsed() == 5s);
}

TEST_CASE("cancellation: a clean-up by hand runs if nothing throws for a request that is noted",
          "[base]") {
  stage once;
  once.start(cleaned_up_by_hand(once, false));
  once.cancel_at(5s);
  once.time.run();
  CHECK(once.events ==
        story{"body begins", "cancelled", "cleanup begins", "cleanup ends", "returned"});
  CHECK(once.time.elapsed() == 15s);

  // But a second request ends it midway: what must be whole is the clean-up of with_cleanup.
  stage twice;
  twice.start(cleaned_up_by_hand(twice, false));
  twice.cancel_at(5s);
  twice.cancel_at(8s);
  twice.time.run();
  CHECK(twice.events == story{"body begins", "cancelled", "cleanup begins", "threw aborted"});
  CHECK(twice.time.elapsed() == 8s);
}

// A branch of `||`, which has Asio's usual filter for itself unless it opens it.
task<void> branch(stage& on, std::string name, bool opens) {
  if (opens) {
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  }
  std::exception_ptr cancelled;
  try {
    co_await step(on, name);
  } catch (const std::system_error&) {
    cancelled = std::current_exception();
  }
  if (!cancelled) co_return;
  auto state = co_await asio::this_coro::cancellation_state;
  const bool partial = state.cancelled() == asio::cancellation_type::partial;
  on.events.push_back(name + (partial ? " notes partial" : " notes otherwise"));
  std::rethrow_exception(cancelled);
}

task<void> two_branches(stage& on, bool first_opens, bool second_opens) {
  using namespace asio::experimental::awaitable_operators;
  co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
  auto either = branch(on, "first", first_opens) || branch(on, "second", second_opens);
  co_await std::move(either);
}

TEST_CASE("cancellation: a branch of || hears of partial only if it opens its own filter",
          "[base]") {
  // That the caller's is open is not enough. Who does not hear of it goes on, and wins.
  stage one;
  one.start(two_branches(one, true, false));
  one.cancel_at(5s, asio::cancellation_type::partial);
  one.time.run();
  CHECK(one.events ==
        story{"first begins", "second begins", "first notes partial", "second ends", "returned"});
  CHECK(one.time.elapsed() == 10s);

  stage none;
  none.start(two_branches(none, false, false));
  none.cancel_at(5s, asio::cancellation_type::partial);
  none.time.run();
  CHECK(none.events.back() == "returned");
  CHECK(none.time.elapsed() == 10s);

  stage both;
  both.start(two_branches(both, true, true));
  both.cancel_at(5s, asio::cancellation_type::partial);
  both.time.run();
  REQUIRE(both.events.size() == 5);
  CHECK(both.events[2] == "first notes partial");
  CHECK(both.events[3] == "second notes partial");
  CHECK(both.events[4].starts_with("threw"));
  CHECK(both.time.elapsed() == 5s);
}

}  // namespace scope_tests
}  // namespace elastic::test
