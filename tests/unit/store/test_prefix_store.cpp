// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/store/memory_store.hpp>
#include <elastic/store/prefix_store.hpp>

#include <support/catch.hpp>
#include <support/co_test.hpp>

#include "store_conformance.hpp"

#include <memory>

namespace elastic {
namespace {

CO_TEST("prefix_store: has the operations of PyTorch's store", "[store]") {
  const auto inner = std::make_shared<memory_store>();
  const auto tested = std::make_shared<prefix_store>("some/prefix", inner);
  co_await test::check_values(tested, true);
  co_await test::check_waits(tested);
  co_await test::check_cancelled_waits(tested);
  co_await test::check_refusals(tested);
}

CO_TEST("prefix_store: puts the innermost prefix first, as PyTorch does", "[store]") {
  const auto engine = std::make_shared<key_value_engine>();
  const auto whole = std::make_shared<memory_store>(engine);
  const auto inner = std::make_shared<prefix_store>("inner", whole);
  prefix_store outer("outer", inner);
  co_await outer.set("k", "v");
  CHECK(engine->find("/inner/outer/k") == "v");
  prefix_store slashed("/worker/attempt_3", std::make_shared<memory_store>(engine));
  co_await slashed.set("k", "w");
  CHECK(engine->find("//worker/attempt_3/k") == "w");
  prefix_store unnamed("", std::make_shared<memory_store>(engine));
  co_await unnamed.set("k", "u");
  CHECK(engine->find("//k") == "u");
  CHECK_AWAITED(3, outer.num_keys());
}

CO_TEST("prefix_store: stores of different prefixes do not meet", "[store]") {
  const auto inner = std::make_shared<memory_store>();
  prefix_store one("one", inner);
  prefix_store two("two", inner);
  co_await one.set("k", "1");
  const test::store_keys keys = {"k"};
  CHECK_AWAITED(false, two.check(keys));
  CHECK_AWAITED(false, two.erase("k"));
  CHECK_AWAITED("2", two.compare_set("k", "", "2"));
  CHECK_AWAITED("1", one.get("k"));
}

}  // namespace
}  // namespace elastic
