// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/error.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/store.hpp>

#include <support/catch.hpp>

#include <atomic>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <vector>

namespace elastic {
namespace {

using detail::key_value_engine;

struct engine_ear final : key_value_engine::listener {
  std::vector<key_value_engine::wait_id> ready;
  std::vector<key_value_engine::change> changes;
  std::vector<key_value_engine::change_pointer> shared_changes;

  void on_ready(key_value_engine::wait_id wait) noexcept override { ready.push_back(wait); }
  void on_change(const key_value_engine::change_pointer& change) noexcept override {
    changes.push_back(*change);
    shared_changes.push_back(change);
  }
};

TEST_CASE("engine: watchers of a key share one copy of a change", "[store]") {
  key_value_engine engine;
  const auto first_ear = std::make_shared<engine_ear>();
  const auto second_ear = std::make_shared<engine_ear>();
  engine.watch("/k", first_ear);
  engine.watch("/k", first_ear);
  engine.watch("/k", second_ear);
  engine.set("/k", std::string(1000, 'x'));
  REQUIRE(first_ear->shared_changes.size() == 2);
  REQUIRE(second_ear->shared_changes.size() == 1);
  CHECK(first_ear->shared_changes[0] == first_ear->shared_changes[1]);
  CHECK(first_ear->shared_changes[0] == second_ear->shared_changes[0]);
}

using engine_keys = std::vector<std::string_view>;

TEST_CASE("engine: set, find and erase", "[store]") {
  key_value_engine engine;
  CHECK_FALSE(engine.find("/k"));
  engine.set("/k", "v1");
  CHECK(engine.find("/k") == "v1");
  engine.set("/k", "");
  CHECK(engine.find("/k") == "");
  CHECK(engine.num_keys() == 1);
  CHECK(engine.erase("/k"));
  CHECK_FALSE(engine.erase("/k"));
  CHECK(engine.num_keys() == 0);
  CHECK(engine.bytes() == 0);
}

TEST_CASE("engine: add reads the value as strtoll does", "[store]") {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  constexpr auto smallest = std::numeric_limits<std::int64_t>::min();
  const struct {
    const char* value;
    std::int64_t delta;
    std::int64_t sum;
  } rows[] = {
      {"5", -7, -2},
      {"-2", 2, 0},
      {"12abc", 1, 13},
      {"  7", 1, 8},
      {"\t\n\v\f\r +7", 1, 8},
      {"0x10", 1, 1},
      {"007", 1, 8},
      {"-0", 0, 0},
      {"9223372036854775807", 0, largest},
      {"9223372036854775807", 1, smallest},
      {"-9223372036854775808", 0, smallest},
      {"-9223372036854775808", -1, largest},
      {"1 2", 1, 2},
  };
  for (const auto& row : rows) {
    INFO("value '" << row.value << "' + " << row.delta);
    key_value_engine engine;
    engine.set("n", row.value);
    CHECK(engine.add("n", row.delta) == row.sum);
    CHECK(engine.find("n") == std::to_string(row.sum));
  }
}

TEST_CASE("engine: add to what is not a number changes nothing", "[store]") {
  for (const char* value : {"", "abc", "+", "-", " ", "- 1", "+-1", "9223372036854775808",
                            "-9223372036854775809", "99999999999999999999"}) {
    INFO("value '" << value << "'");
    key_value_engine engine;
    engine.set("n", value);
    CHECK_THROWS_AS(engine.add("n", 1), error);
    CHECK(engine.find("n") == value);
  }
  key_value_engine engine;
  CHECK(engine.add("new", 5) == 5);
  CHECK(engine.find("new") == "5");
}

TEST_CASE("engine: compare_set over every combination of stored, expected and desired", "[store]") {
  const std::vector<const char*> texts = {"", "a", "b"};
  for (const char* stored_value : {static_cast<const char*>(nullptr), "", "a", "b"}) {
    for (const char* expected : texts) {
      for (const char* desired : texts) {
        INFO("stored " << (stored_value ? stored_value : "(none)") << ", expected '" << expected
                       << "', desired '" << desired << "'");
        key_value_engine engine;
        if (stored_value) engine.set("k", stored_value);
        const std::string reply = engine.compare_set("k", expected, desired);
        const std::string_view current_value = stored_value ? stored_value : "";
        if (current_value == expected) {
          CHECK(reply == desired);
          CHECK(engine.find("k") == desired);
        } else if (stored_value) {
          CHECK(reply == stored_value);
          CHECK(engine.find("k") == stored_value);
        } else {
          CHECK(reply == expected);
          CHECK_FALSE(engine.find("k"));
        }
      }
    }
  }
}

TEST_CASE("engine: a wait ends once, when the last of its keys appears", "[store]") {
  key_value_engine engine;
  const auto ear = std::make_shared<engine_ear>();
  engine.set("there", "1");

  CHECK(engine.wait(engine_keys{}, ear) == 0);
  CHECK(engine.wait(engine_keys{"there"}, ear) == 0);
  const auto wait = engine.wait(engine_keys{"a", "there", "b", "a"}, ear);
  CHECK(wait != 0);
  engine.set("a", "1");
  CHECK(ear->ready.empty());
  // Removed again: it was seen.
  engine.erase("a");
  engine.set("b", "1");
  CHECK(ear->ready == std::vector<key_value_engine::wait_id>{wait});
  engine.set("a", "2");
  CHECK(ear->ready.size() == 1);
  CHECK(engine.waiters() == 0);
}

TEST_CASE("engine: every way to store wakes, and what stores nothing does not", "[store]") {
  key_value_engine engine;
  const auto ear = std::make_shared<engine_ear>();
  const auto wakes = [&](auto change) {
    engine.erase("k");
    ear->ready.clear();
    const auto wait = engine.wait(engine_keys{"k"}, ear);
    change();
    const bool is_woken = ear->ready.size() == 1 && ear->ready[0] == wait;
    CHECK(engine.waiters() == (is_woken ? 0 : 1));
    engine.cancel(wait);
    std::int64_t length = 0;
    while (engine.queue_pop("k", length)) {
    }
    return is_woken;
  };
  CHECK(wakes([&] { engine.set("k", ""); }));
  CHECK(wakes([&] { engine.add("k", 0); }));
  CHECK(wakes([&] { engine.append("k", ""); }));
  CHECK(wakes([&] { engine.compare_set("k", "", "x"); }));
  CHECK(wakes([&] { engine.queue_push("k", "x"); }));
  CHECK_FALSE(wakes([&] { engine.compare_set("k", "y", "x"); }));
  CHECK_FALSE(wakes([&] { engine.erase("k"); }));
  CHECK_FALSE(wakes([&] { engine.set("other", "x"); }));
}

TEST_CASE("engine: waiters of a key are told in the order in which they came", "[store]") {
  key_value_engine engine;
  const auto ear = std::make_shared<engine_ear>();
  std::vector<key_value_engine::wait_id> waits;
  for (int i = 0; i < 100; ++i) waits.push_back(engine.wait(engine_keys{"k"}, ear));
  engine.set("k", "v");
  CHECK(ear->ready == waits);
}

TEST_CASE("engine: a cancelled wait leaves nothing and is not told", "[store]") {
  key_value_engine engine;
  const auto ear = std::make_shared<engine_ear>();
  const auto first_wait = engine.wait(engine_keys{"a", "b", "a"}, ear);
  const auto second_wait = engine.wait(engine_keys{"b"}, ear);
  CHECK(engine.waiters() == 2);
  CHECK(engine.cancel(first_wait));
  CHECK_FALSE(engine.cancel(first_wait));
  CHECK_FALSE(engine.cancel(0));
  CHECK(engine.waiters() == 1);
  engine.set("a", "1");
  engine.set("b", "1");
  CHECK(ear->ready == std::vector<key_value_engine::wait_id>{second_wait});
  CHECK_FALSE(engine.cancel(second_wait));
  CHECK(engine.waiters() == 0);
}

TEST_CASE("engine: a listener that is gone is not told", "[store]") {
  key_value_engine engine;
  auto ear = std::make_shared<engine_ear>();
  engine.wait(engine_keys{"k"}, ear);
  engine.watch("k", ear);
  ear.reset();
  engine.set("k", "v");
  CHECK(engine.waiters() == 0);
}

TEST_CASE("engine: append makes and grows a value, up to the bound of values", "[store]") {
  key_value_engine engine;
  engine.append("k", "ab");
  engine.append("k", "cd");
  CHECK(engine.find("k") == "abcd");
  CHECK(engine.bytes() == 5);
  const std::string large_value(limits::store_value_bytes - 4, 'x');
  engine.append("k", large_value);
  CHECK_THROWS_AS(engine.append("k", "y"), error);
  CHECK(engine.find("k")->size() == limits::store_value_bytes);
}

TEST_CASE("engine: holds no more than it may, and takes again what became free", "[store]") {
  key_value_engine engine(100);
  engine.set("0123456789", std::string(90, 'x'));
  CHECK(engine.bytes() == 100);
  CHECK_THROWS_AS(engine.set("k", ""), error);
  CHECK_THROWS_AS(engine.queue_push("q", ""), error);
  CHECK_THROWS_AS(engine.append("0123456789", "x"), error);
  CHECK_THROWS_AS(engine.set("0123456789", std::string(91, 'x')), error);
  CHECK(engine.find("0123456789")->size() == 90);
  engine.set("0123456789", std::string(80, 'x'));
  engine.set("k", std::string(9, 'x'));
  CHECK(engine.bytes() == 100);
}

TEST_CASE("engine: queues are first in, first out, and apart from the values", "[store]") {
  key_value_engine engine;
  std::int64_t length = -1;
  CHECK_FALSE(engine.queue_pop("q", length));
  CHECK(length == 0);
  engine.queue_push("q", "1");
  engine.queue_push("q", "2");
  CHECK(engine.queue_length("q") == 2);
  CHECK(engine.num_keys() == 0);
  CHECK_FALSE(engine.find("q"));
  CHECK(engine.check(engine_keys{"q"}));
  CHECK(engine.queue_pop("q", length) == "1");
  CHECK(length == 2);
  CHECK(engine.queue_pop("q", length) == "2");
  CHECK(length == 1);
  CHECK_FALSE(engine.check(engine_keys{"q"}));
  CHECK(engine.queue_length("q") == 0);
  CHECK(engine.bytes() == 0);
}

TEST_CASE("engine: a push wakes one that waits, the first", "[store]") {
  key_value_engine engine;
  const auto ear = std::make_shared<engine_ear>();
  const auto two_key_wait = engine.wait(engine_keys{"q", "other"}, ear);
  const auto first_wait = engine.wait(engine_keys{"q"}, ear);
  const auto second_wait = engine.wait(engine_keys{"q"}, ear);
  engine.queue_push("q", "x");
  CHECK(ear->ready == std::vector<key_value_engine::wait_id>{first_wait});
  engine.queue_push("q", "y");
  CHECK(ear->ready == std::vector<key_value_engine::wait_id>{first_wait, second_wait});
  engine.set("other", "1");
  CHECK(ear->ready.back() == two_key_wait);
}

TEST_CASE("engine: a barrier lets all pass when the last arrives", "[store]") {
  key_value_engine engine;
  const auto ear = std::make_shared<engine_ear>();
  const auto first_wait = engine.barrier("b", 3, ear);
  const auto second_wait = engine.barrier("b", 3, ear);
  CHECK(first_wait != 0);
  CHECK(second_wait != 0);
  CHECK(engine.find("b") == "2");
  CHECK(ear->ready.empty());
  CHECK(engine.barrier("b", 3, ear) == 0);
  CHECK(ear->ready == std::vector<key_value_engine::wait_id>{first_wait, second_wait});
  CHECK(engine.find("b") == "3");
  CHECK(engine.barrier("one", 1, ear) == 0);
  CHECK(engine.barrier("none", 0, ear) == 0);

  engine.barrier("released", 2, ear);
  engine.set("released", "x");
  CHECK(ear->ready.size() == 3);
  CHECK_THROWS_AS(engine.barrier("released", 2, ear), error);
  CHECK(engine.waiters() == 0);
}

TEST_CASE("engine: watchers are told of every change, in order, until they leave", "[store]") {
  key_value_engine engine;
  const auto ear = std::make_shared<engine_ear>();
  const auto watch = engine.watch("k", ear);
  engine.set("k", "a");
  engine.set("other", "x");
  engine.compare_set("k", "a", "b");
  engine.compare_set("k", "a", "c");
  engine.append("k", "!");
  engine.erase("k");
  engine.add("k", 4);
  engine.unwatch(watch);
  engine.set("k", "z");
  CHECK(engine.watchers() == 0);

  using kind = key_value_engine::change_kind;
  const std::vector<std::tuple<kind, std::string, std::string>> expected = {
      {kind::created, "", "a"},  {kind::updated, "a", "b"}, {kind::updated, "b", "b!"},
      {kind::removed, "b!", ""}, {kind::created, "", "4"},
  };
  REQUIRE(ear->changes.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(ear->changes[i].key == "k");
    CHECK(ear->changes[i].kind == std::get<0>(expected[i]));
    CHECK(ear->changes[i].old_value == std::get<1>(expected[i]));
    CHECK(ear->changes[i].new_value == std::get<2>(expected[i]));
  }
}

TEST_CASE("engine: lists its keys, queues apart", "[store]") {
  key_value_engine engine;
  engine.set("/a", "1");
  engine.set("init/", "2");
  engine.queue_push("/q", "x");
  std::set<std::string> keys;
  engine.for_each_key([&](std::string_view key) { keys.emplace(key); });
  CHECK(keys == std::set<std::string>{"/a", "init/"});
}

// A listener that comes back with a change of its own while it is told of another.
struct engine_echo final : key_value_engine::listener {
  explicit engine_echo(key_value_engine& target) : engine(target) {}
  void on_ready(key_value_engine::wait_id) noexcept override {
    ++notices;
    engine.set("second", "x");
  }
  key_value_engine& engine;
  int notices = 0;
};

TEST_CASE("engine: a listener may call into the engine", "[store]") {
  key_value_engine engine;
  const auto echo = std::make_shared<engine_echo>(engine);
  engine.wait(engine_keys{"first"}, echo);
  engine.wait(engine_keys{"second"}, echo);
  engine.set("first", "x");
  CHECK(echo->notices == 2);
  CHECK(engine.waiters() == 0);
}

// What the engine does is compared with a model that is too simple to be wrong.
TEST_CASE("engine: random waits, cancels and changes agree with a plain model", "[store]") {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    INFO("seed " << seed);
    std::mt19937 chance(seed);
    const auto below = [&](unsigned bound) { return static_cast<unsigned>(chance() % bound); };
    key_value_engine engine;
    const auto ear = std::make_shared<engine_ear>();
    std::set<std::string> present_keys;
    std::map<key_value_engine::wait_id, std::multiset<std::string>> waits;
    std::multiset<key_value_engine::wait_id> expected;
    for (int step = 0; step < 2000; ++step) {
      const std::string key(1, static_cast<char>('a' + below(6)));
      switch (below(5)) {
        case 0: {
          engine.set(key, "v");
          present_keys.insert(key);
          for (auto position = waits.begin(); position != waits.end();) {
            position->second.erase(key);
            if (position->second.empty()) {
              expected.insert(position->first);
              position = waits.erase(position);
            } else {
              ++position;
            }
          }
          break;
        }
        case 1: CHECK(engine.erase(key) == (present_keys.erase(key) == 1)); break;
        case 2: {
          std::vector<std::string> keys;
          for (unsigned i = below(4); i > 0; --i) {
            keys.push_back(std::string(1, static_cast<char>('a' + below(6))));
          }
          std::multiset<std::string> missing_keys;
          for (const auto& name : keys) {
            if (present_keys.count(name) == 0) missing_keys.insert(name);
          }
          const auto wait = engine.wait(engine_keys(keys.begin(), keys.end()), ear);
          REQUIRE((wait == 0) == missing_keys.empty());
          if (wait != 0) waits[wait] = missing_keys;
          break;
        }
        case 3:
          if (!waits.empty()) {
            auto position = std::next(waits.begin(), below(static_cast<unsigned>(waits.size())));
            REQUIRE(engine.cancel(position->first));
            waits.erase(position);
          }
          break;
        default: REQUIRE(engine.check(engine_keys{key}) == (present_keys.count(key) == 1)); break;
      }
      REQUIRE(engine.waiters() == waits.size());
      REQUIRE(ear->ready.size() == expected.size());
    }
    CHECK(std::multiset<key_value_engine::wait_id>(ear->ready.begin(), ear->ready.end()) ==
          expected);
  }
}

struct counting_ear final : key_value_engine::listener {
  std::atomic<int> ready = 0;
  void on_ready(key_value_engine::wait_id) noexcept override { ++ready; }
};

TEST_CASE("engine: threads may use it at once, and no wait is lost", "[store][threads]") {
  key_value_engine engine;
  const auto ear = std::make_shared<counting_ear>();
  constexpr int rounds = 2000;
  constexpr int threads = 3;
  std::atomic<int> registrations = 0;
  std::atomic<int> cancellations = 0;
  std::vector<std::thread> running_threads;
  for (int t = 0; t < threads; ++t) {
    running_threads.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        const std::string round_key = "k" + std::to_string(i);
        engine.add("sum", 1);
        const auto wait = engine.wait(engine_keys{round_key}, ear);
        if (wait != 0) ++registrations;
        if (wait != 0 && i % 7 == t && engine.cancel(wait)) ++cancellations;
        engine.set(round_key, "x");
      }
    });
  }
  for (auto& thread : running_threads) thread.join();
  CHECK(engine.find("sum") == std::to_string(rounds * threads));
  CHECK(engine.waiters() == 0);
  CHECK(ear->ready == registrations - cancellations);
}

}  // namespace
}  // namespace elastic
