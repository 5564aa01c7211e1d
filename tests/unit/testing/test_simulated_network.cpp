// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The network between nodes and the server that keeps their keys.

#include <elastic/base/error.hpp>
#include <elastic/base/race.hpp>
#include <elastic/testing/simulated_network.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace simulated_network_tests {

using namespace std::chrono_literals;
using elastic::errc;
using elastic::error;
using elastic::task;
using elastic::testing::manual_clock;
using elastic::testing::simulated_network;

/// The code with which a set of a node fails; none: it is done.
task<std::optional<errc>> set_fails(simulated_network& network, int node, std::string key) {
  const auto store = network.store_of(node);
  try {
    co_await store->set(std::move(key), "value");
  } catch (const error& failure) {
    co_return static_cast<errc>(failure.code().value());
  }
  co_return std::nullopt;
}

TIME_TEST("simulated network: nodes share the keys of the server", "[testing]") {
  simulated_network network(time);
  const auto mine = network.store_of(0);
  const auto yours = network.store_of(1);
  const std::string key = "key";
  co_await mine->set(key, "7");
  const std::int64_t sum = co_await yours->add(key, 1);
  CHECK(sum == 8);
  const std::string seen = co_await mine->get(key);
  CHECK(seen == "8");
  CHECK(time.elapsed() > 0s);
  CHECK(time.elapsed() < 1s);
}

TIME_TEST("simulated network: a request of a node that is cut off waits for its way", "[testing]") {
  simulated_network network(time, 1, elastic::duration::max());
  network.part(1);
  CHECK(network.is_cut_off(1));
  CHECK_FALSE(network.is_cut_off(0));
  task<std::optional<errc>> other = set_fails(network, 0, "other");
  const auto of_other = co_await std::move(other);
  CHECK_FALSE(of_other);
  std::optional<errc> failure = errc::stopped;
  asio::co_spawn(time.context(), set_fails(network, 1, "key"),
                 [&](std::exception_ptr, std::optional<errc> code) { failure = code; });
  co_await time.sleep_until(time.now() + 1h);
  CHECK(failure == errc::stopped);  // it still waits
  network.mend(1);
  co_await time.sleep_until(time.now() + 1s);
  CHECK_FALSE(failure);
}

TIME_TEST("simulated network: a request fails when its patience is over", "[testing]") {
  simulated_network network(time, 1, 5s);
  SECTION("of a node that is cut off") { network.part(0); }
  SECTION("of a node that is gone") { network.kill(0); }
  SECTION("at a server that stalls") { network.stall(1min); }
  task<std::optional<errc>> setting = set_fails(network, 0, "key");
  const auto failure = co_await std::move(setting);
  CHECK(failure == errc::connection_failed);
  CHECK(time.elapsed() >= 5s);
  CHECK(time.elapsed() < 6s);
}

TIME_TEST("simulated network: an answer that is lost is that of a change that was made",
          "[testing]") {
  simulated_network network(time);
  network.lose_one_in(1);
  const auto keys = network.keys_of(0);
  const std::string key = "key";
  const std::string value = "value";
  task<void> putting = keys->put(key, value);
  bool is_lost = false;
  try {
    co_await std::move(putting);
  } catch (const error& failure) {
    is_lost = failure.code() == errc::connection_failed;
  }
  CHECK(is_lost);
  network.heal();
  const elastic::versioned_keys::entry kept = co_await keys->get(key);
  CHECK(kept.value == value);
  CHECK(network.requests() == 2);
}

TIME_TEST("simulated network: a key is put only over the version that is known", "[testing]") {
  simulated_network network(time);
  const auto keys = network.keys_of(0);
  const std::string key = "key";
  const elastic::versioned_keys::entry missing = co_await keys->get(key);
  CHECK_FALSE(missing.value);
  const bool first = co_await keys->put(key, "a", missing.version);
  const bool second = co_await keys->put(key, "b", missing.version);
  CHECK(first);
  CHECK_FALSE(second);
  const elastic::versioned_keys::entry kept = co_await keys->get(key);
  CHECK(kept.value == "a");
}

TIME_TEST("simulated network: a watch of another node reports a change", "[testing]") {
  simulated_network network(time);
  const auto watching = network.keys_of(1);
  const auto writing = network.keys_of(0);
  const std::string key = "key";
  const elastic::versioned_keys::entry missing = co_await watching->get(key);
  bool has_changed = false;
  asio::co_spawn(time.context(), watching->wait_for_change(key, missing.version),
                 [&](std::exception_ptr failure) { has_changed = failure == nullptr; });
  co_await time.sleep_until(time.now() + 10s);
  CHECK_FALSE(has_changed);
  const std::string value = "value";
  co_await writing->put(key, value);
  co_await time.sleep_until(time.now() + 1s);
  CHECK(has_changed);
}

TIME_TEST("simulated network: a watch reports that a key was removed", "[testing]") {
  simulated_network network(time);
  const auto keys = network.keys_of(0);
  const std::string key = "key";
  const std::string value = "value";
  co_await keys->put(key, value);
  const elastic::versioned_keys::entry kept = co_await keys->get(key);
  bool has_changed = false;
  asio::co_spawn(time.context(), keys->wait_for_change(key, kept.version),
                 [&](std::exception_ptr failure) { has_changed = failure == nullptr; });
  co_await time.sleep_until(time.now() + 1s);
  CHECK_FALSE(has_changed);
  const bool was_there = co_await keys->erase(key);
  CHECK(was_there);
  co_await time.sleep_until(time.now() + 1s);
  CHECK(has_changed);
}

TIME_TEST("simulated network: the versions of a key follow those of others, as in an etcd",
          "[testing]") {
  simulated_network network(time);
  const bool shares = GENERATE(false, true);
  if (shares) network.share_revision();
  const auto keys = network.keys_of(0);
  const std::string key = "key";
  const std::string other = "other";
  co_await keys->put(key, other);
  const elastic::versioned_keys::entry before = co_await keys->get(key);
  bool has_changed = false;
  asio::co_spawn(time.context(), keys->wait_for_change(key, before.version),
                 [&](std::exception_ptr failure) { has_changed = failure == nullptr; });

  co_await keys->put(other, key);
  co_await time.sleep_until(time.now() + 1s);
  const elastic::versioned_keys::entry after = co_await keys->get(key);
  CHECK((after.version != before.version) == shares);
  CHECK_FALSE(has_changed);  // a watch sees its own key alone
  const bool was_put = co_await keys->put(key, key, before.version);
  CHECK(was_put);
  const bool was_put_again = co_await keys->put(key, key, after.version);
  CHECK_FALSE(was_put_again);
  co_await time.sleep_until(time.now() + 1s);
  CHECK(has_changed);
}

TEST_CASE("simulated network: the same seed gives the same run", "[testing]") {
  const auto spent = [](std::uint64_t seed) {
    asio::io_context context;
    manual_clock clock(context);
    simulated_network network(clock, seed);
    clock.run(set_fails(network, 0, "key"));
    return clock.elapsed();
  };
  CHECK(spent(1) == spent(1));
  CHECK(spent(1) != spent(2));
}

}  // namespace simulated_network_tests
