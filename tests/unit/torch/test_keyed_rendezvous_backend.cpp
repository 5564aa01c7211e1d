// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/detail/internals.hpp>
#include <elastic/torch/detail/keyed_rendezvous_backend.hpp>

#include <elastic/file/file_keys.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/torch/detail/store_rendezvous_backend.hpp>
#include <elastic/torch/detail/torch_state_codec.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/run_program.hpp>

#include "backend_conformance.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace keyed_rendezvous_backend_tests {

using elastic::errc;
using elastic::error;
using elastic::file_keys;
using elastic::task;
using elastic::detail::keyed_rendezvous_backend;
using elastic::detail::rendezvous_backend;
using elastic::detail::torch_dialect;
using elastic::test::temporary_directory;

const auto system_clock = [] { return std::make_shared<elastic::system_time>(); };

task<std::shared_ptr<rendezvous_backend>> in_directory(std::string directory,
                                                       torch_dialect dialect) {
  const auto keys = std::make_shared<file_keys>(std::move(directory), system_clock());
  co_await keys->prepare();
  co_return std::make_shared<keyed_rendezvous_backend>(keys, "rendezvous", dialect);
}

std::shared_ptr<rendezvous_backend> in_table(
    std::shared_ptr<elastic::detail::key_value_engine> table) {
  return std::make_shared<elastic::detail::store_rendezvous_backend>(
      elastic::detail::internals::make<elastic::memory_store>(table), "j",
      torch_dialect::torch_2_6, system_clock(),
      table);
}

CO_TEST("rendezvous backend in a directory: only who has seen a state replaces it",
        "[rendezvous]") {
  const temporary_directory place;
  const auto backend = co_await in_directory(place / "job", torch_dialect::torch_2_6);
  const auto other = co_await in_directory(place / "job", torch_dialect::torch_2_6);
  co_await elastic::test::check_backend(backend, other);
}

CO_TEST("rendezvous backend in a directory: of two at once one is first", "[rendezvous]") {
  const temporary_directory place;
  const auto backend = co_await in_directory(place / "job", torch_dialect::torch_2_6);
  const auto other = co_await in_directory(place / "job", torch_dialect::torch_2_6);
  co_await elastic::test::check_backend_race(backend, other);
}

CO_TEST("rendezvous backend in a directory: a change is told", "[rendezvous]") {
  const temporary_directory place;
  const auto backend = co_await in_directory(place / "job", torch_dialect::torch_2_6);
  const auto other = co_await in_directory(place / "job", torch_dialect::torch_2_6);
  co_await elastic::test::check_backend_wait(backend, other);
}

CO_TEST("rendezvous backend in a table: does what the others do", "[rendezvous]") {
  const auto table = [] { return std::make_shared<elastic::detail::key_value_engine>(); };
  const auto values = table();
  co_await elastic::test::check_backend(in_table(values), in_table(values));
  const auto races = table();
  co_await elastic::test::check_backend_race(in_table(races), in_table(races));
  const auto waits = table();
  co_await elastic::test::check_backend_wait(in_table(waits), in_table(waits));
}

CO_TEST("rendezvous backend in a directory: what is not understood is named, and stays",
        "[rendezvous]") {
  const temporary_directory place;
  const auto keys = std::make_shared<file_keys>(place / "job", system_clock());
  co_await keys->prepare();
  std::string bad;
  std::string expected;
  SECTION("no state") {
    bad = "Y29zCnN5c3RlbQooUyd0b3VjaCBwd25lZCcKdFIu";
    expected = "(the file '" + (place / "job/rendezvous") + "')";
  }
  SECTION("no base64") {
    bad = "...";
    expected = "(the file '" + (place / "job/rendezvous") + "')";
  }
  SECTION("another dialect") {
    bad = elastic::detail::stored_text(elastic::test::state_with("a"), torch_dialect::torch_1_13);
    expected = "all nodes of a job need one dialect (the setting dialect=1.13)";
  }
  co_await keys->put("rendezvous", bad);
  const auto backend = co_await in_directory(place / "job", torch_dialect::torch_2_6);
  std::vector<std::string> refusals;
  for (const bool is_set : {false, true}) {
    try {
      if (is_set) co_await elastic::test::set_state(backend, "b", "");
      if (!is_set) co_await backend->get();
    } catch (const error& failure) {
      CHECK(failure.code() == errc::rendezvous_state);
      refusals.push_back(failure.what());
    }
  }
  REQUIRE(refusals.size() == 2);
  CHECK(refusals[0].find(expected) != std::string::npos);
  CHECK(refusals[1] == refusals[0]);
  const elastic::versioned_keys::entry kept = co_await keys->get("rendezvous");
  CHECK(kept.value == bad);
}

}  // namespace keyed_rendezvous_backend_tests
