// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/etcd.hpp>
#include <elastic/file.hpp>
#include <elastic/nodes.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>
#include <elastic/rendezvous/worker_store.hpp>
#include <elastic/torch.hpp>

#include <support/catch.hpp>
#include <support/fake_rendezvous.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace rendezvous_registry_tests {

using elastic::rendezvous_parameters;
using elastic::rendezvous_registry;

#if defined(ELASTIC_HEADER_ONLY)
constexpr bool is_header_only = true;
#else
constexpr bool is_header_only = false;
#endif

// A registry with every backend: that of a compiled library contains all; a header-only program
// adds them.
rendezvous_registry every_backend() {
  rendezvous_registry registry;
#if defined(ELASTIC_HEADER_ONLY)
  elastic::add_nodes(registry);
  elastic::add_torch_rendezvous(registry);
  elastic::add_etcd_rendezvous(registry);
  elastic::add_file_rendezvous(registry);
#endif
  return registry;
}

TEST_CASE("rendezvous registry: makes the backend of a name", "[rendezvous]") {
  const rendezvous_registry registry = every_backend();
  rendezvous_parameters parameters;
  for (const std::string name : {"static", "c10d"}) {
    parameters.backend = name;
    CHECK(registry.make(parameters).backend() == name);
  }
}

TEST_CASE("rendezvous registry: no backend is made without a time source", "[rendezvous]") {
  const rendezvous_registry registry = every_backend();
  rendezvous_parameters parameters;
  parameters.endpoint = "localhost:1";
  parameters.time = nullptr;
  for (const std::string name : {"static", "etcd", "etcd-v2", "etcd-v3", "file", "c10d"}) {
    CAPTURE(name);
    parameters.backend = name;
    CHECK_THROWS_WITH(registry.make(parameters), "rendezvous_parameters::time is null");
  }
  CHECK_THROWS_WITH(elastic::make_registered_rendezvous(parameters, {}),
                    "rendezvous_parameters::time is null");
}

TEST_CASE("rendezvous registry: who cannot keep to numbers of nodes or a delay refuses them",
          "[rendezvous]") {
  const rendezvous_registry registry = every_backend();
  rendezvous_parameters parameters;
  parameters.min_nodes = 2;
  parameters.max_nodes = 8;
  parameters.endpoint = "localhost:1";
  rendezvous_parameters chosen = parameters;
  chosen.node_counts = {2, 4, 8};
  rendezvous_parameters slow = parameters;
  slow.scale_up_delay = std::chrono::seconds(1);
  for (const std::string name : {"static", "etcd", "etcd-v2", "etcd-v3", "file", "c10d"}) {
    CAPTURE(name);
    const bool is_native = name != "static" && name != "etcd-v2";
    const bool takes_dialect = name == "c10d";
    chosen.backend = slow.backend = name;
    if (is_native) {
      CHECK(registry.make(chosen).backend() == name);
      CHECK(registry.make(slow).backend() == name);
      if (!takes_dialect) continue;
      chosen.conf["dialect"] = slow.conf["dialect"] = "2.6";
    }
    const std::string who =
        takes_dialect ? "a job with a dialect" : "the rendezvous backend '" + name + "'";
    CHECK_THROWS_WITH(registry.make(chosen), elastic::test::contains_text(
                                                 "rendezvous_parameters::node_counts 2,4,8: " +
                                                 who + " takes N or MIN:MAX"));
    CHECK_THROWS_WITH(registry.make(slow), elastic::test::contains_text(
                                               "rendezvous_parameters::scale_up_delay: " + who));
  }
}

TEST_CASE("rendezvous registry: a name that nobody knows is answered by those that are",
          "[rendezvous]") {
  const rendezvous_registry registry = every_backend();
  rendezvous_parameters parameters;
  parameters.backend = "smoke-signals";
  const auto names = elastic::test::contains_text(
      "'smoke-signals'; there are: c10d, etcd, etcd-v2, etcd-v3, file, static");
  CHECK_THROWS_WITH(registry.make(parameters), names);
  try {
    registry.make(parameters);
  } catch (const elastic::error& refusal) {
    CHECK(refusal.code() == elastic::errc::invalid_argument);
  }
}

TEST_CASE("rendezvous registry: says how a backend is added", "[rendezvous]") {
  using elastic::detail::how_to_add;
  for (const char* name : {"etcd", "etcd-v2", "etcd-v3"}) {
    CHECK(how_to_add(name) ==
          "include <elastic/etcd.hpp> (in the single header: define ELASTIC_WITH_ETCD) and call "
          "add_etcd_rendezvous(registry)");
  }
  CHECK(how_to_add("file") ==
        "include <elastic/file.hpp> (in the single header: define ELASTIC_WITH_FILE) and call "
        "add_file_rendezvous(registry)");
  CHECK(how_to_add("static") ==
        "include <elastic/nodes.hpp> (in the single header: define ELASTIC_WITH_NODES) and call "
        "add_nodes(registry)");
  for (const char* name : {"c10d", "smoke-signals"}) CHECK(how_to_add(name).empty());
}

TEST_CASE("rendezvous registry: a compiled library has every backend, headers those that are added",
          "[rendezvous]") {
  const rendezvous_registry registry;
  rendezvous_parameters parameters;
  parameters.endpoint = "localhost:1";
  for (const std::string name : {"static", "etcd", "etcd-v2", "etcd-v3", "file"}) {
    CAPTURE(name);
    parameters.backend = name;
    CHECK(every_backend().make(parameters).backend() == name);
    CHECK(registry.contains(name) == !is_header_only);
    if (!is_header_only) continue;
    CHECK_THROWS_WITH(registry.make(parameters), "the rendezvous backend '" + name +
                                                     "' was not added: " +
                                                     elastic::detail::how_to_add(name));
  }
}

TEST_CASE("rendezvous registry: c10d refuses a job without a name, however its nodes meet",
          "[rendezvous]") {
  const rendezvous_registry registry = every_backend();
  rendezvous_parameters parameters;
  parameters.backend = "c10d";
  parameters.run_id.clear();
  for (const int nodes : {1, 3}) {
    parameters.min_nodes = parameters.max_nodes = nodes;
    for (const std::string at : {"localhost:1", "a:1,b:1,c:1"}) {
      if (nodes == 1 && at != "localhost:1") continue;
      parameters.endpoint = at;
      CHECK_THROWS_WITH(registry.make(parameters), "rendezvous_parameters::run_id must not be "
                                                   "empty for the c10d rendezvous");
    }
  }
}

TEST_CASE("rendezvous registry: a job of one node that needs a server is refused without one",
          "[rendezvous]") {
  using elastic::detail::make_solo;
  const std::string remedy =
      " was not added: include <elastic/rendezvous/worker_store.hpp> and call "
      "add_worker_store(registry)";
  rendezvous_parameters parameters;
  parameters.endpoint = "localhost:0";
  CHECK_THROWS_WITH(make_solo(parameters),
                    "the store of the workers (rendezvous_parameters::share_worker_store)" +
                        remedy);
  parameters.share_worker_store = false;
  CHECK(make_solo(parameters).backend() == "c10d");
  for (const std::string at : {"", "localhost", "localhost:29500"}) {
    parameters.endpoint = at;
    CHECK_THROWS_WITH(make_solo(parameters),
                      "the server at '" + (at.empty() ? "localhost" : at) +
                          "' (rendezvous_parameters::endpoint; port 0 needs none)" + remedy);
  }
}

TEST_CASE("rendezvous registry: several nodes are refused by a registry without them",
          "[rendezvous]") {
  rendezvous_parameters parameters;
  parameters.backend = "c10d";
  parameters.min_nodes = parameters.max_nodes = 4;
  CHECK(every_backend().make(parameters).backend() == "c10d");
  if (!is_header_only) return;
  CHECK_THROWS_WITH(rendezvous_registry().make(parameters),
                    "rendezvous_parameters::max_nodes is 4: include <elastic/nodes.hpp> (in the "
                    "single header: define ELASTIC_WITH_NODES) and call add_nodes(registry)");
}

TEST_CASE("rendezvous registry: one's own backend is added or takes the place of another",
          "[rendezvous]") {
  rendezvous_registry registry;
  std::vector<std::string> made_names;
  const auto make = [&made_names](const rendezvous_parameters& parameters) {
    made_names.push_back(parameters.backend);
    return std::make_shared<elastic::test::fake_rendezvous>(
        std::make_shared<std::vector<std::string>>());
  };
  registry.add("my-own", make);
  registry.add("static", make);
  rendezvous_parameters parameters;
  parameters.backend = "my-own";
  CHECK(registry.make(parameters));
  parameters.backend = "static";
  CHECK(registry.make(parameters));
  CHECK(made_names == std::vector<std::string>{"my-own", "static"});
  // Another registry knows nothing of it.
  parameters.backend = "my-own";
  CHECK_THROWS_AS(rendezvous_registry().make(parameters), elastic::error);
}

// Applies each function that adds backends of the library.
void add_all(rendezvous_registry& registry) {
  elastic::add_worker_store(registry);
  elastic::add_nodes(registry);
  elastic::add_candidates(registry);
  elastic::add_torch_rendezvous(registry);
  elastic::add_etcd_rendezvous(registry);
  elastic::add_file_rendezvous(registry);
}

std::shared_ptr<elastic::rendezvous_handler> fake_handler() {
  return std::make_shared<elastic::test::fake_rendezvous>(
      std::make_shared<std::vector<std::string>>());
}

TEST_CASE("rendezvous registry: a program's own backend stays where the library has the name, too",
          "[rendezvous]") {
  const std::vector<std::string> names{"c10d", "etcd", "etcd-v2", "etcd-v3", "file", "static"};
  const auto own = fake_handler();
  for (const std::string& taken : names) {
    CAPTURE(taken);
    rendezvous_registry registry;
    registry.add(taken, [own](const rendezvous_parameters&) { return own; });
    add_all(registry);
    for (const std::string& name : names) {
      CAPTURE(name);
      rendezvous_parameters parameters;
      parameters.backend = name;
      parameters.endpoint = "localhost:1";
      parameters.min_nodes = parameters.max_nodes = 3;
      const elastic::rendezvous_factory made = registry.make(parameters);
      CHECK((made.handler() == own) == (name == taken));
      if (name != taken) CHECK(made.backend() == name);
    }
  }
}

TEST_CASE("rendezvous registry: add_nodes adds what a program's own backend leaves",
          "[rendezvous]") {
  const auto own = fake_handler();
  rendezvous_parameters parameters;
  parameters.endpoint = "localhost:1";
  parameters.min_nodes = parameters.max_nodes = 3;
  for (const std::string taken : {"static", "c10d"}) {
    CAPTURE(taken);
    rendezvous_registry registry;
    registry.add(taken, [own](const rendezvous_parameters&) { return own; });
    elastic::add_nodes(registry);
    parameters.backend = taken;
    CHECK(registry.make(parameters).handler() == own);
    parameters.backend = taken == "static" ? "c10d" : "static";
    CHECK(registry.make(parameters).backend() == parameters.backend);
  }
}

TEST_CASE("rendezvous registry: add_worker_store adds the store beside a program's own static",
          "[rendezvous]") {
  rendezvous_registry registry;
  registry.add("static", [](const rendezvous_parameters&) { return fake_handler(); });
  elastic::add_worker_store(registry);
  rendezvous_parameters parameters;
  parameters.backend = "c10d";
  parameters.endpoint = "localhost:0";
  CHECK(registry.make(parameters).backend() == "c10d");
}

TEST_CASE("rendezvous registry: a call takes nothing from the backend that another one added",
          "[rendezvous]") {
  rendezvous_registry registry;
  elastic::add_torch_rendezvous(registry);
  elastic::add_candidates(registry);
  elastic::add_nodes(registry);
  elastic::add_worker_store(registry);
  rendezvous_parameters parameters;
  parameters.backend = "c10d";
  parameters.endpoint = "localhost:1";
  parameters.min_nodes = parameters.max_nodes = 2;
  parameters.conf["dialect"] = "2.6";
  CHECK(registry.make(parameters).backend() == "c10d");
}

TEST_CASE("rendezvous registry: a program's own static decides which settings it takes",
          "[rendezvous]") {
  const auto own = fake_handler();
  rendezvous_registry registry;
  registry.add("static", [own](const rendezvous_parameters&) { return own; });
  rendezvous_parameters parameters;
  parameters.backend = "static";
  parameters.min_nodes = 2;
  parameters.max_nodes = 4;
  parameters.node_counts = {2, 4};
  CHECK(registry.make(parameters).handler() == own);
}

TEST_CASE("rendezvous registry: a backend whose factory returns nothing is refused",
          "[rendezvous]") {
  rendezvous_registry registry;
  registry.add("mine", [](const rendezvous_parameters&) { return nullptr; });
  rendezvous_parameters parameters;
  parameters.backend = "mine";
  CHECK_THROWS_WITH(registry.make(parameters), "what the factory of 'mine' returned is null");
}

}  // namespace rendezvous_registry_tests
