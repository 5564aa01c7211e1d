// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/nodes/detail/exclusion_list.hpp>

#include <elastic/base/detail/record.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/nodes/detail/message_rows.hpp>
#include <support/catch.hpp>

#include <chrono>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace exclusion_list_tests {

using namespace std::chrono_literals;
using elastic::time_point;
using elastic::detail::exclusion;
using elastic::detail::exclusion_list;
using elastic::detail::json_fields;
using elastic::detail::json_object;
using elastic::detail::record_rows;
using elastic::detail::text_of;

constexpr time_point start{12h};

TEST_CASE("exclusion list: a node is out for its time", "[rendezvous]") {
  exclusion_list list;
  CHECK(list.is_empty());
  list.add({"gpu7", 10min, "hot"}, start);
  CHECK(list.find("gpu7", start + 9min) == exclusion{"gpu7", 1min, "hot"});
  CHECK_FALSE(list.find("gpu7", start + 10min));
  CHECK_FALSE(list.find("gpu8", start));
  CHECK(list.end_of("gpu7") == start + 10min);
  CHECK(list.end_of("gpu8") == time_point::max());
  list.remove_expired(start + 9min);
  CHECK_FALSE(list.is_empty());
  list.remove_expired(start + 10min);
  CHECK(list.is_empty());
}

TEST_CASE("exclusion list: of two of one name the later end counts, and is the later one",
          "[rendezvous]") {
  exclusion_list list;
  list.add({"a", 10min, "first"}, start);
  list.add({"b", 10min, "other"}, start);
  list.add({"a", 1min, "shorter"}, start);
  CHECK(list.at(start) == std::vector<exclusion>{{"a", 10min, "first"}, {"b", 10min, "other"}});
  CHECK(list.first_of({"b", "a"}) == "a");
  list.add({"a", 10min, "again"}, start + 5min);
  CHECK(list.first_of({"b", "a"}) == "b");
  CHECK(list.at(start + 5min) ==
        std::vector<exclusion>{{"b", 5min, "other"}, {"a", 10min, "again"}});
  CHECK(list.in_full() == std::vector<exclusion>{{"b", 10min, "other"}, {"a", 10min, "again"}});
  list.readmit("b");
  CHECK(list.first_of({"b", "a"}) == "a");
  CHECK(list.first_of({"b"}).empty());
}

TEST_CASE("exclusion list: beyond its bound the first is forgotten", "[rendezvous]") {
  exclusion_list list;
  for (std::size_t i = 0; i <= elastic::limits::excluded_nodes; ++i) {
    list.add({fmt::format("n{}", i), 1h, ""}, start);
  }
  CHECK(list.at(start).size() == elastic::limits::excluded_nodes);
  CHECK_FALSE(list.find("n0", start));
  CHECK(list.find("n1", start));
}

std::vector<exclusion> read(const std::string& text) {
  const std::string object = json_object().add("excluded", text).text();
  const json_fields fields("it", object, object.size());
  record_rows rows(fields);
  std::vector<exclusion> exclusions;
  exclusion_row(rows, exclusions);
  return exclusions;
}

TEST_CASE("exclusion list: what is written can be read", "[rendezvous]") {
  const std::vector<exclusion> exclusions = {
      {"gpu7.example", 600s, "GPU 3 is hot, \"very\""}, {"!", 1ms, ""}, {"b", 720h, "ü x"}};
  CHECK(read(text_of(exclusions)) == exclusions);
  CHECK(text_of({{"a", 1500us, "two\nlines"}}) == "2 a two lines\n");
  // A letter is not cut in two.
  const std::string long_reason =
      std::string(elastic::limits::exclusion_reason_bytes - 1, 'x') + "ü";
  CHECK(text_of({{"a", 1s, long_reason}}) ==
        "1000 a " + long_reason.substr(0, long_reason.size() - 2) + "\n");
  CHECK(read("").empty());
}

TEST_CASE("exclusion list: what is none of it is refused", "[rendezvous]") {
  std::string long_list;
  for (std::size_t i = 0; i <= elastic::limits::excluded_nodes; ++i) long_list += "1 a b\n";
  for (const std::string& text :
       {std::string("a"), std::string("\n"), std::string("0 a b\n"), std::string("-1 a b\n"),
        std::string("2592000001 a b\n"), std::string("99999999999999999999 a b\n"),
        std::string("1 a\n"), std::string("1  b\n"), std::string("1 \xc3\xbc b\n"),
        "1 " + std::string(65, 'a') + " b\n", long_list}) {
    CAPTURE(text);
    CHECK_THROWS_AS(read(text), elastic::error);
  }
}

TEST_CASE("exclusion list: every host has a name that can stand there", "[rendezvous]") {
  using elastic::detail::as_node_name;
  CHECK(as_node_name("gpu-7.example") == "gpu-7.example");
  CHECK(as_node_name("") == "_");
  CHECK(as_node_name("a b\n") == "a_b_");
  CHECK(as_node_name(std::string(100, 'a')) == std::string(64, 'a'));
}

}  // namespace exclusion_list_tests
