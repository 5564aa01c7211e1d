// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What the nodes tell each other of their workers, and the variables that come of it.

#include <elastic/base/error.hpp>
#include <elastic/wire/detail/wire_place.hpp>
#include <elastic/wire/wire_terms.hpp>
#include <support/catch.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace elastic {
namespace {

namespace wire_place_test {

using detail::wire_place;

wire_place place(int base_rank, int workers, const std::string& address) {
  wire_place made;
  made.kinds = "jax,tf";
  made.base_rank = base_rank;
  made.workers = workers;
  made.address = address;
  for (int worker = 0; worker < workers; ++worker) {
    made.ports.push_back(static_cast<std::uint16_t>(5000 + base_rank + worker));
  }
  return made;
}

template <class Call>
std::string refusal_of(Call call, errc code) {
  try {
    call();
  } catch (const error& refused) {
    CHECK(refused.code() == code);
    return refused.what();
  }
  return {};
}

TEST_CASE("wire: names of wire-ups are read from a list", "[wire]") {
  using kinds = std::set<wire_up>;
  CHECK(parse_wire_ups("jax") == kinds{wire_up::jax});
  CHECK(parse_wire_ups("tf,mpi,tf") == kinds{wire_up::mpi, wire_up::tf});
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "there is no wire-up ''; the wire-ups are jax, mpi and tf, separated by commas"},
      {"jaxx", "there is no wire-up 'jaxx' (did you mean jax?); the wire-ups are"},
      {"mpi,", "there is no wire-up ''; the wire-ups are"},
      {"JAX", "there is no wire-up 'JAX'"},
      {"pmix", "there is no wire-up 'pmix'"},
  };
  for (const auto& [text, message] : rows) {
    INFO(text);
    CHECK_THAT(refusal_of([&] { parse_wire_ups(text); }, errc::invalid_argument),
               test::contains_text(message));
  }
}

TEST_CASE("wire: jax and mpi exclude each other", "[wire]") {
  wire_terms terms;
  CHECK(refusal_of([&] { validate(terms); }, errc::invalid_argument) == "no wire-up is named");
  for (const char* names : {"jax", "mpi", "tf", "jax,tf", "mpi,tf"}) {
    terms.kinds = parse_wire_ups(names);
    CHECK_NOTHROW(validate(terms));
  }
  terms.kinds = parse_wire_ups("jax,mpi,tf");
  CHECK_THAT(refusal_of([&] { validate(terms); }, errc::invalid_argument),
             test::contains_text("the wire-ups jax and mpi exclude each other"));
}

TEST_CASE("wire: a node reads what another one tells", "[wire]") {
  wire_place told = place(4, 2, "10.0.0.1");
  told.coordinator_port = 1234;
  const wire_place read = detail::parse_wire_place(detail::text_of(told));
  CHECK(read.kinds == "jax,tf");
  CHECK(read.base_rank == 4);
  CHECK(read.workers == 2);
  CHECK(read.address == "10.0.0.1");
  CHECK(read.coordinator_port == 1234);
  CHECK(read.ports == std::vector<std::uint16_t>{5004, 5005});
}

TEST_CASE("wire: what no node tells is refused", "[wire]") {
  const std::string rest = R"("address": "a", "coordinator_port": 1)";
  const std::vector<std::string> rows = {
      "", "[]", "{}",
      R"({"wire": "jax", "base_rank": -1, "workers": 1, )" + rest + R"(, "ports": []})",
      R"({"wire": "jax", "base_rank": 0, "workers": 0, )" + rest + R"(, "ports": []})",
      R"({"wire": "jax", "base_rank": 0, "workers": 1, )" + rest + R"(, "ports": [0]})",
      R"({"wire": "jax", "base_rank": 0, "workers": 1, )" + rest + R"(, "ports": [65536]})",
      R"({"wire": "jax", "base_rank": 0, "workers": 1, )" + rest + R"(, "ports": ["1"]})",
      R"({"wire": "jax", "base_rank": 0, "workers": 1, )" + rest + R"(, "ports": 1})",
      R"({"wire": 1, "base_rank": 0, "workers": 1, )" + rest + R"(, "ports": []})",
  };
  for (const std::string& text : rows) {
    INFO(text);
    CHECK_THAT(refusal_of([&] { detail::parse_wire_place(text); }, errc::protocol_violation),
               test::contains_text("a node's wire-up data"));
  }
}

TEST_CASE("wire: nodes are put in the order of their ranks", "[wire]") {
  const auto places = detail::in_order_of_ranks({place(2, 1, "b"), place(0, 2, "a")}, "jax,tf");
  CHECK(places.at(0).address == "a");
  CHECK(places.at(1).address == "b");
  wire_place other = place(2, 2, "b");
  other.kinds = "mpi";
  CHECK(refusal_of([&] { detail::in_order_of_ranks({place(0, 2, "a"), other}, "jax,tf"); },
                   errc::invalid_argument) ==
        "the wire-up jax,tf: the node with ranks 2 to 3 has the wire-up mpi; all nodes of a job "
        "need the same");
  for (const int base_rank : {1, 3}) {
    const auto order = [&] {
      detail::in_order_of_ranks({place(0, 2, "a"), place(base_rank, 1, "b")}, "jax,tf");
    };
    CHECK_THAT(refusal_of(order, errc::protocol_violation),
               test::contains_text("omit or repeat rank"));
  }
}

TEST_CASE("wire: JAX is told of its coordinator at the node of rank 0", "[wire]") {
  std::vector<wire_place> places = {place(0, 2, "fd00::1"), place(2, 2, "fd00::2")};
  places[0].coordinator_port = 4321;
  worker_identity worker;
  worker.rank = 3;
  worker.local_rank = 1;
  worker.world_size = 4;
  const environment_map variables = detail::jax_variables(places, worker);
  CHECK(variables == environment_map{{"JAX_COORDINATOR_ADDRESS", "[fd00::1]:4321"},
                                     {"OMPI_MCA_orte_hnp_uri", "elastic"},
                                     {"OMPI_COMM_WORLD_SIZE", "4"},
                                     {"OMPI_COMM_WORLD_RANK", "3"},
                                     {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}});
}

TEST_CASE("wire: TF_CONFIG has every worker of the job in the order of ranks", "[wire]") {
  const std::vector<wire_place> places = {place(0, 2, "10.0.0.1"), place(2, 1, "10.0.0.2")};
  const auto config = nlohmann::json::parse(detail::tf_config(places, 2));
  CHECK(config == nlohmann::json::parse(R"({
    "cluster": {"worker": ["10.0.0.1:5000", "10.0.0.1:5001", "10.0.0.2:5002"]},
    "task": {"type": "worker", "index": 2}})"));
}

TEST_CASE("wire: the mapping of MPICH has blocks of alike nodes", "[wire]") {
  using nodes = std::vector<int>;
  const auto mapping = [](const nodes& sizes) {
    std::vector<wire_place> places;
    for (const int size : sizes) places.push_back(place(0, size, "a"));
    return detail::process_mapping(places);
  };
  CHECK(mapping({8}) == "(vector,(0,1,8))");
  CHECK(mapping({4, 4}) == "(vector,(0,2,4))");
  CHECK(mapping({4, 4, 2, 4}) == "(vector,(0,2,4),(2,1,2),(3,1,4))");
  nodes uneven;
  for (int node = 0; node < 200; ++node) uneven.push_back(1 + node % 2);
  CHECK(mapping(uneven).empty());
}

TEST_CASE("wire: variables of another launcher are found by what they mislead", "[wire]") {
  const environment_map variables = {
      {"PATH", "/bin"},          {"OMPI_COMM_WORLD_RANK", "1"},   {"OMPI_MCA_btl", "tcp"},
      {"PMIX_RANK", "1"},        {"OMPI_MCA_orte_hnp_uri", "u"},  {"PMI_FD", "7"},
      {"MPI_LOCALRANKID", "0"},  {"JAX_COORDINATOR_ADDRESS", "a"}, {"JAX_PLATFORMS", "cpu"},
      {"TF_CONFIG", "{}"},       {"PMI_RANK", "1"},               {"TF_CPP_MIN_LOG_LEVEL", "2"}};
  using names = std::vector<std::string>;
  CHECK(detail::misleading_variables(variables, "jax") ==
        names{"JAX_COORDINATOR_ADDRESS", "OMPI_COMM_WORLD_RANK", "OMPI_MCA_orte_hnp_uri",
              "PMIX_RANK"});
  CHECK(detail::misleading_variables(variables, "mpi") ==
        names{"MPI_LOCALRANKID", "OMPI_COMM_WORLD_RANK", "OMPI_MCA_orte_hnp_uri", "PMIX_RANK",
              "PMI_FD", "PMI_RANK"});
  CHECK(detail::misleading_variables(variables, "tf") == names{"TF_CONFIG"});
}

}  // namespace wire_place_test

}  // namespace
}  // namespace elastic
