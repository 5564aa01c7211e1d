// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <elastic/store/store.hpp>

#include <support/catch.hpp>

#include <chrono>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// Awaits once and compares. It does not use CHECK(co_await …): Catch2 2.13 repeats the expression
// in an unevaluated context, and g++ 12 nevertheless executes the co_await there.
#define CHECK_AWAITED(expected, ...) \
  ::elastic::test::check_equal(co_await __VA_ARGS__, expected, #__VA_ARGS__, __LINE__)

// Waits in a coroutine until the condition holds, for at most 100 s, and checks that it does.
#define CHECK_BECOMES_TRUE(...)                                                \
  do {                                                                         \
    ::elastic::test::patience patience;                                        \
    while (!(__VA_ARGS__) && patience.is_left()) co_await patience.wait();     \
    ::elastic::test::check_equal((__VA_ARGS__), true, #__VA_ARGS__, __LINE__); \
  } while (false)

// What every store has to do, whatever is behind it.
namespace elastic::test {

// Outside of the coroutines, which are slow to compile with assertions in them.
template <class Actual, class Expected>
void check_equal(const Actual& actual, const Expected& expected, const char* expression, int line) {
  INFO(expression << ", line " << line);
  CHECK(actual == expected);
}

/// How long a test waits for something to become true.
class patience {
 public:
  bool is_left() const { return time_.now() < limit_; }
  task<void> wait() { co_await time_.sleep_until(time_.now() + std::chrono::milliseconds(1)); }

 private:
  system_time time_;
  time_point limit_ = time_.now() + std::chrono::seconds(100);
};

using store_keys = std::vector<std::string>;
using store_pairs = std::vector<std::pair<std::string, std::string>>;

/// Sets the key behind whoever waits already.
inline task<void> set_later(std::shared_ptr<store> target, std::string key, std::string value) {
  system_time time;
  co_await time.sleep_until(time.now() + std::chrono::milliseconds(20));
  co_await target->set(std::move(key), std::move(value));
}

/// Whether the wait was over before `limit`.
inline task<bool> ends_within(task<void> wait_task, std::chrono::milliseconds limit) {
  system_time time;
  co_return co_await with_deadline(time, time.now() + limit, std::move(wait_task));
}

/// Every operation, on keys that nobody else uses. `can_append` is whether the store knows append,
/// `largest` the bytes of a value that it takes at least.
inline task<void> check_values(std::shared_ptr<store> tested_store, bool can_append,
                               std::size_t largest = limits::store_value_bytes) {
  const auto keys_before = co_await tested_store->num_keys();
  co_await tested_store->set("k", "v");
  CHECK_AWAITED("v", tested_store->get("k"));
  co_await tested_store->set("k", "");
  CHECK_AWAITED("", tested_store->get("k"));
  const std::string binary("\0\xff\n\0", 4);
  co_await tested_store->set(binary, binary);
  CHECK_AWAITED(binary, tested_store->get(binary));
  const std::string large_value(largest, 'x');
  co_await tested_store->set("large", large_value);
  const std::string large_copy = co_await tested_store->get("large");
  CHECK((large_copy == large_value));

  CHECK_AWAITED(5, tested_store->add("n", 5));
  CHECK_AWAITED(-2, tested_store->add("n", -7));
  CHECK_AWAITED("-2", tested_store->get("n"));
  co_await tested_store->set("n", std::to_string(std::numeric_limits<std::int64_t>::max()));
  CHECK_AWAITED(std::numeric_limits<std::int64_t>::min(), tested_store->add("n", 1));

  CHECK_AWAITED("first", tested_store->compare_set("c", "", "first"));
  CHECK_AWAITED("second", tested_store->compare_set("c", "first", "second"));
  CHECK_AWAITED("second", tested_store->compare_set("c", "wrong", "third"));
  CHECK_AWAITED("x", tested_store->compare_set("missing", "x", "y"));

  const store_keys present_keys = {"k", "n", "c", "n"};
  const store_keys missing_keys = {"k", "missing"};
  const store_keys no_keys;
  CHECK_AWAITED(true, tested_store->check(present_keys));
  CHECK_AWAITED(true, tested_store->check(no_keys));
  CHECK_AWAITED(false, tested_store->check(missing_keys));
  co_await tested_store->wait(present_keys);
  co_await tested_store->wait(no_keys);

  CHECK_AWAITED(keys_before + 5, tested_store->num_keys());
  CHECK_AWAITED(true, tested_store->erase("c"));
  CHECK_AWAITED(false, tested_store->erase("c"));
  CHECK_AWAITED(keys_before + 4, tested_store->num_keys());

  const store_pairs pairs = {{"p", "1"}, {"q", ""}, {"r", "333"}};
  co_await tested_store->multi_set(pairs);
  const store_keys pair_keys = {"r", "p", "q", "p"};
  const std::vector<std::string> expected = {"333", "1", "", "1"};
  CHECK_AWAITED(expected, tested_store->multi_get(pair_keys));
  const store_pairs no_pairs;
  co_await tested_store->multi_set(no_pairs);
  CHECK_AWAITED(no_keys, tested_store->multi_get(no_keys));

  if (can_append) {
    co_await tested_store->append("a", "1");
    co_await tested_store->append("a", "22");
    CHECK_AWAITED("122", tested_store->get("a"));
  } else {
    CHECK_THROWS_AS(co_await tested_store->append("a", "1"), error);
  }
}

/// Waits that end when their keys come, next to each other and to other operations.
inline task<void> check_waits(std::shared_ptr<store> tested_store) {
  using namespace asio::experimental::awaitable_operators;
  CHECK_AWAITED("v1", (tested_store->get("late") && set_later(tested_store, "late", "v1")));
  const store_keys two_keys = {"late2", "late", "late3"};
  co_await (tested_store->wait(two_keys) && set_later(tested_store, "late3", "") &&
            set_later(tested_store, "late2", ""));
  const store_keys other_keys = {"late4", "late"};
  const auto values =
      co_await (tested_store->multi_get(other_keys) && set_later(tested_store, "late4", "v4"));
  CHECK(values == std::vector<std::string>{"v4", "v1"});
  const store_keys same_key = {"late5"};
  co_await (tested_store->wait(same_key) && tested_store->wait(same_key) &&
            tested_store->wait(same_key) && tested_store->wait(same_key) &&
            set_later(tested_store, "late5", "v5"));
}

/// Waits that are cancelled; the store is as good as before.
inline task<void> check_cancelled_waits(std::shared_ptr<store> tested_store) {
  using namespace std::chrono_literals;
  for (int i = 0; i < 10; ++i) {
    const store_keys never_set = {"never", "never either"};
    CHECK_AWAITED(false, ends_within(tested_store->wait(never_set), 2ms));
    co_await tested_store->set("i", std::to_string(i));
    CHECK_AWAITED(std::to_string(i), tested_store->get("i"));
  }
  co_await tested_store->set("never", "1");
  co_await tested_store->set("never either", "1");
  const store_keys set_keys = {"never", "never either"};
  CHECK_AWAITED(true, ends_within(tested_store->wait(set_keys), 100s));
}

inline errc code_of(const std::system_error& exception) {
  return static_cast<errc>(exception.code().value());
}

/// What is larger than a store takes is refused, and a value that is not a number is not added to.
inline task<void> check_refusals(std::shared_ptr<store> tested_store) {
  const std::string long_key(limits::store_key_bytes + 1, 'k');
  const std::string long_value(limits::store_value_bytes + 1, 'v');
  CHECK_THROWS_AS(co_await tested_store->set(long_key, ""), error);
  CHECK_THROWS_AS(co_await tested_store->get(long_key), error);
  CHECK_THROWS_AS(co_await tested_store->add(long_key, 1), error);
  CHECK_THROWS_AS(co_await tested_store->set("k", long_value), error);
  CHECK_THROWS_AS(co_await tested_store->compare_set("k", "", long_value), error);
  const store_keys many_keys(limits::store_keys_per_request + 1);
  CHECK_THROWS_AS(co_await tested_store->wait(many_keys), error);
  const store_keys long_keys(1, long_key);
  CHECK_THROWS_AS(co_await tested_store->check(long_keys), error);

  co_await tested_store->set("text", "abc");
  errc refusal = errc::invalid_argument;
  try {
    co_await tested_store->add("text", 1);
  } catch (const error& exception) {
    refusal = code_of(exception);
  }
  CHECK(refusal == errc::store_value);
  CHECK_AWAITED("abc", tested_store->get("text"));
}

}  // namespace elastic::test
