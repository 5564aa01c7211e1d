// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/detail/internals.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/prefix_store.hpp>
#include <elastic/store/versioned_store.hpp>

#include <support/catch.hpp>
#include <support/co_test.hpp>

#include "store_conformance.hpp"

#include <memory>

namespace elastic {
namespace {

using detail::internals;
using detail::key_value_engine;

CO_TEST("prefix_store: has the operations of PyTorch's store", "[store]") {
  const auto inner_store = std::make_shared<memory_store>();
  const auto tested_store = std::make_shared<prefix_store>("some/prefix", inner_store);
  co_await test::check_values(tested_store, true);
  co_await test::check_waits(tested_store);
  co_await test::check_cancelled_waits(tested_store);
  co_await test::check_refusals(tested_store);
}

TEST_CASE("stores: a null inner store or place of keys is refused", "[store]") {
  CHECK_THROWS_WITH(prefix_store("p", nullptr), "prefix_store: the inner store is null");
  CHECK_THROWS_WITH(versioned_store(nullptr), "versioned_store: the place of the keys is null");
}

CO_TEST("prefix_store: puts the innermost prefix first, as PyTorch does", "[store]") {
  const auto engine = std::make_shared<key_value_engine>();
  const auto whole_store = internals::make<memory_store>(engine);
  const auto inner_store = std::make_shared<prefix_store>("inner", whole_store);
  prefix_store outer_store("outer", inner_store);
  co_await outer_store.set("k", "v");
  CHECK(engine->find("/inner/outer/k") == "v");
  prefix_store slashed_store("/worker/attempt_3", internals::make<memory_store>(engine));
  co_await slashed_store.set("k", "w");
  CHECK(engine->find("//worker/attempt_3/k") == "w");
  prefix_store unnamed_store("", internals::make<memory_store>(engine));
  co_await unnamed_store.set("k", "u");
  CHECK(engine->find("//k") == "u");
  CHECK_AWAITED(3, outer_store.num_keys());
}

CO_TEST("prefix_store: stores of different prefixes do not meet", "[store]") {
  const auto inner_store = std::make_shared<memory_store>();
  prefix_store first_store("one", inner_store);
  prefix_store second_store("two", inner_store);
  co_await first_store.set("k", "1");
  const test::store_keys keys = {"k"};
  CHECK_AWAITED(false, second_store.check(keys));
  CHECK_AWAITED(false, second_store.erase("k"));
  CHECK_AWAITED("2", second_store.compare_set("k", "", "2"));
  CHECK_AWAITED("1", first_store.get("k"));
}

}  // namespace
}  // namespace elastic
