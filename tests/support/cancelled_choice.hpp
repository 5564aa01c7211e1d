// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/concurrent_run.hpp>
#include <elastic/rendezvous/rendezvous_factory.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>

#include <chrono>
#include <exception>
#include <memory>

namespace elastic::test {

/// Makes a handler on its own io_context, cancels that after `events` events, and leaves the
/// handler that exists then, chosen or still being tried. Fails the test if the cancellation leads
/// to another error, or if anything still runs afterwards.
///
/// Result: whether the handler was made before the cancellation.
inline bool is_made_within(int events, const rendezvous_factory& factory) {
  asio::io_context context;
  asio::cancellation_signal cancel;
  std::shared_ptr<rendezvous_handler> handler;
  std::exception_ptr failure;
  bool has_ended = false;
  const auto limit = std::chrono::steady_clock::now() + test_limit;
  const auto run_to_end = [&] {
    while (!has_ended && context.run_one_until(limit) != 0) {
    }
    REQUIRE(has_ended);
  };
  asio::co_spawn(context, factory.make(handler),
                 asio::bind_cancellation_slot(
                     cancel.slot(),
                     [&](std::exception_ptr thrown, std::shared_ptr<rendezvous_handler> made) {
                       has_ended = true;
                       failure = thrown;
                       if (made) handler = std::move(made);
                     }));
  for (int event = 0; event < events && !has_ended; ++event) context.run_one_until(limit);
  const bool is_made = has_ended;
  if (!is_made) cancel.emit(asio::cancellation_type::terminal);
  run_to_end();
  if (is_made && failure) std::rethrow_exception(failure);
  CHECK((!failure || detail::is_cancellation(failure)));
  if (handler) {
    has_ended = false;
    context.restart();
    asio::co_spawn(context, handler->shutdown(), [&](std::exception_ptr thrown) {
      has_ended = true;
      failure = thrown;
    });
    run_to_end();
    if (failure && !detail::is_cancellation(failure)) std::rethrow_exception(failure);
  }
  handler.reset();
  context.restart();
  context.run_for(leftover_limit);
  REQUIRE(context.stopped());
  return is_made;
}

}  // namespace elastic::test
