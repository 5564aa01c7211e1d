// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/nodes/detail/candidate_addresses.hpp>

#include <support/catch.hpp>

#include <functional>
#include <string>
#include <vector>

namespace candidate_addresses_tests {

using elastic::detail::candidate_addresses;
using elastic::detail::objection_to;
using elastic::detail::objection_to_local_addr;

std::vector<asio::ip::address> addresses(const std::vector<std::string>& texts) {
  std::vector<asio::ip::address> result;
  for (const std::string& text : texts) result.push_back(asio::ip::make_address(text));
  return result;
}

TEST_CASE("candidate addresses: two endpoints that are one server are named", "[rendezvous]") {
  struct row {
    const char* name;
    candidate_addresses candidates;
    std::string refusal;
  };
  const std::vector<row> rows = {
      {"three hosts",
       {{{"a", 1}, {"b", 1}, {"c", 1}},
        {addresses({"10.0.0.1"}), addresses({"10.0.0.2"}), addresses({"10.0.0.3"})}},
       ""},
      {"a host by two names",
       {{{"a", 1}, {"b", 1}, {"a.example", 1}},
        {addresses({"10.0.0.1"}), addresses({"10.0.0.2"}), addresses({"fe80::1", "10.0.0.1"})}},
       "a:1 and a.example:1 are one server, 10.0.0.1: each endpoint needs a host of its own"},
      {"the same, wrapped",
       {{{"a", 1}, {"b", 1}}, {addresses({"10.0.0.1"}), addresses({"::ffff:10.0.0.1"})}},
       "a:1 and b:1 are one server, 10.0.0.1: each endpoint needs a host of its own"},
      {"two ports of a host, as in a test",
       {{{"a", 1}, {"a", 2}}, {addresses({"10.0.0.1"}), addresses({"10.0.0.1"})}},
       ""},
      {"names that nobody knows here", {{{"a", 1}, {"b", 1}}, {{}, {}}}, ""},
  };
  for (const row& entry : rows) {
    INFO(entry.name);
    CHECK(objection_to(entry.candidates) == entry.refusal);
  }
}

TEST_CASE("candidate addresses: a node is not known by another's endpoint", "[rendezvous]") {
  const candidate_addresses candidates{
      {{"a", 1}, {"b", 1}, {"c", 1}},
      {addresses({"10.0.0.1"}), addresses({"10.0.0.2", "fe80::2"}), {}}};
  const std::function<bool(const asio::ip::address&)> is_own =
      [](const asio::ip::address& address) { return address.to_string() == "10.0.0.1"; };
  const auto objection = [&](const std::string& name, int own_candidate) {
    return objection_to_local_addr(candidates, name, own_candidate, is_own);
  };
  CHECK(objection("", -1).empty());
  CHECK(objection("a", -1).empty());
  CHECK(objection("10.0.0.1", -1).empty());
  CHECK(objection("10.0.0.9", -1).empty());
  CHECK(objection("elsewhere", -1).empty());
  const std::string refusal =
      " is b:1, which is another host: leave it out, or name an address of this one";
  CHECK(objection("b", -1) == "'b'" + refusal);
  CHECK(objection("10.0.0.2", 0) == "'10.0.0.2'" + refusal);
  // A virtual address, of which the agent was told that it is its own.
  CHECK(objection("b", 1).empty());
  // Nobody here knows whose that is.
  CHECK(objection("c", -1).empty());
}

}  // namespace candidate_addresses_tests
