// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// On Boost.Asio: a task of the library on the program's own io_context, and its errors.

#include <elastic/base/task.hpp>
#include <elastic/store/memory_store.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>

#include <cstdio>
#include <exception>
#include <string>

namespace {

// Waits for ever if it is not cancelled.
elastic::task<void> use(elastic::memory_store& store, std::string& found) {
  const std::string key = "key";
  const std::string value = "value";
  co_await store.set(key, value);
  found = co_await store.get(key);
  const std::string missing = "missing";
  co_await store.get(missing);
}

bool is_cancellation(const std::exception_ptr& failure) {
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (const boost::system::system_error& thrown) {
    return thrown.code() == boost::asio::error::operation_aborted;
  }
  return false;
}

}  // namespace

int main() {
  boost::asio::io_context context;
  elastic::memory_store store;
  boost::asio::cancellation_signal cancel;
  std::string found;
  bool was_cancelled = false;
  boost::asio::co_spawn(
      context, use(store, found),
      boost::asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr failure) {
        was_cancelled = is_cancellation(failure);
      }));
  context.poll();
  cancel.emit(boost::asio::cancellation_type::terminal);
  context.restart();
  context.run();
  std::printf("found: %s, cancelled: %d\n", found.c_str(), was_cancelled);
  return found == "value" && was_cancelled ? 0 : 1;
}
