// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/store/detail/tcp_store_protocol.hpp>
#include <elastic/store/store.hpp>

#include <support/catch.hpp>
#include <support/golden_vectors.hpp>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {
namespace {

using generation = tcp_store_generation;
using test::all_sent;
using test::captured;
using test::derived;
using test::from_hex;
using test::to_hex;

std::string request_hex(generation client_generation, auto write) {
  std::string out;
  write(request_writer(client_generation), out);
  return to_hex(out);
}

std::string client_hex(const std::vector<test::golden_message>& messages) {
  return to_hex(all_sent(messages, true));
}

TEST_CASE("tcp_store_protocol: requests are written as PyTorch 1.13 writes them", "[store]") {
  const auto g = generation::torch_1_13;
  using writer = const request_writer&;
  using text = std::string&;
  CHECK(request_hex(g, [](writer w, text out) { w.with_value(out, store_op::set, "/k", "v1"); }) ==
        client_hex(captured("set")));
  CHECK(request_hex(g, [](writer w, text out) { w.with_value(out, store_op::set, "/k", ""); }) ==
        client_hex(captured("set_empty_value")));
  CHECK(request_hex(g, [](writer w, text out) { w.with_number(out, store_op::add, "/cnt", 5); }) ==
        client_hex(captured("add_new_key")));
  CHECK(request_hex(g, [](writer w, text out) { w.with_number(out, store_op::add, "/cnt", -7); }) ==
        client_hex(captured("add_negative")));
  CHECK(request_hex(g, [](writer w, text out) { w.compare_set(out, "/cs", "first", "second"); }) ==
        client_hex(captured("compare_set_match")));
  CHECK(request_hex(g, [](writer w, text out) { w.with_key(out, store_op::erase, "/k"); }) ==
        client_hex(captured("delete_key_present")));
  CHECK(request_hex(g, [](writer w, text out) { w.operation(out, store_op::num_keys); }) ==
        client_hex(captured("num_keys")));
  CHECK(request_hex(g, [](writer w, text out) { w.with_key(out, store_op::watch_key, "/wk"); }) ==
        client_hex(captured("watch_key")));
  CHECK(request_hex(g, [](writer w, text out) {
          w.with_number(out, store_op::add, workers_key, 1);
        }) == client_hex(captured("wait_for_workers_client")));
  CHECK(request_hex(g, [](writer w, text out) {
          const std::vector<std::string> keys = {"/k"};
          w.with_keys(out, store_op::wait, keys);
          w.with_key(out, store_op::get, "/k");
        }) == client_hex(captured("get")));
  CHECK(request_hex(g, [](writer w, text out) {
          const std::vector<std::string> keys = {"/a", "/zz"};
          w.with_keys(out, store_op::check, keys);
        }) == client_hex(captured("check_not_ready")));
  CHECK(request_hex(g, [](writer w, text out) {
          const std::vector<std::string> no_keys;
          w.with_keys(out, store_op::check, no_keys);
        }) == client_hex(captured("check_zero_keys")));
}

TEST_CASE("tcp_store_protocol: requests are written as PyTorch 2.1 writes them", "[store]") {
  const auto g = generation::torch_2_1;
  using writer = const request_writer&;
  using text = std::string&;
  CHECK(request_hex(g, [](writer w, text out) { w.with_value(out, store_op::set, "/k", "v"); }) ==
        to_hex(test::derived_21("set")));
  CHECK(request_hex(g, [](writer w, text out) { w.with_key(out, store_op::erase, "/k"); }) ==
        to_hex(test::derived_21("delete")));
  CHECK(request_hex(g, [](writer w, text out) {
          w.with_value(out, store_op::append, "/k", "v");
        }) == to_hex(test::derived_21("append")));
  CHECK(request_hex(g, [](writer w, text out) {
          const std::vector<std::string> keys = {"/k"};
          w.with_keys(out, store_op::multi_get, keys);
        }) == to_hex(test::derived_21("multi_get")));
  CHECK(request_hex(g, [](writer w, text out) { w.operation(out, store_op::cancel_wait); }) ==
        to_hex(test::derived_21("cancel_wait")));
}

TEST_CASE("tcp_store_protocol: requests are written as PyTorch 2.2 and later do", "[store]") {
  const auto g = generation::torch_2_2;
  using writer = const request_writer&;
  using text = std::string&;
  CHECK(request_hex(g, [](writer w, text out) { w.greeting(out); }) ==
        client_hex(derived("connect_2.2-2.4")));
  CHECK(request_hex(g, [](writer w, text out) {
          w.greeting(out);
          w.ping(out, 0x1092);
        }) == client_hex(derived("connect_2.5+")));
  CHECK(request_hex(g, [](writer w, text out) { w.with_value(out, store_op::set, "/k", "v1"); }) ==
        client_hex(derived("set")));
  CHECK(request_hex(g, [](writer w, text out) { w.compare_set(out, "/cs", "", "first"); }) ==
        client_hex(derived("compare_set_missing_empty")));
  CHECK(request_hex(g, [](writer w, text out) { w.with_number(out, store_op::add, "/cnt", 5); }) ==
        client_hex(derived("add")));
  CHECK(request_hex(g, [](writer w, text out) {
          const std::vector<std::string> keys = {"/never"};
          w.with_keys(out, store_op::wait, keys);
          w.operation(out, store_op::cancel_wait);
        }) == client_hex(derived("wait_timeout_cancel")));
  CHECK(request_hex(g, [](writer w, text out) {
          w.with_value(out, store_op::append, "/k", "tail");
        }) == client_hex(derived("append")));
  CHECK(request_hex(g, [](writer w, text out) {
          w.with_value(out, store_op::queue_push, "/q", "item");
        }) == client_hex(derived("queue_push")));
  CHECK(request_hex(g, [](writer w, text out) { w.with_key(out, store_op::queue_length, "/q"); }) ==
        client_hex(derived("queue_len")));
  CHECK(request_hex(g, [](writer w, text out) {
          w.with_number(out, store_op::barrier, "/b", 2);
        }) == client_hex(derived("barrier_world2_first")));
}

TEST_CASE("tcp_store_protocol: the first bytes tell the generation", "[store]") {
  CHECK(classify("") == first_bytes::undecided);
  const std::string greeting = from_hex("00cef7853c");
  for (std::size_t size = 1; size < greeting.size(); ++size) {
    CHECK(classify(greeting.substr(0, size)) == first_bytes::undecided);
  }
  CHECK(classify(greeting) == first_bytes::modern);
  CHECK(classify(greeting + "more") == first_bytes::modern);
  CHECK(classify(from_hex("0002000000")) == first_bytes::legacy);
  CHECK(classify(from_hex("00cef7853d")) == first_bytes::legacy);
  for (int op = 1; op < 256; ++op) {
    INFO("operation " << op);
    const std::string byte(1, static_cast<char>(op));
    CHECK(classify(byte) == (op <= 11 ? first_bytes::legacy : first_bytes::foreign));
  }
}

TEST_CASE("tcp_store_protocol: every operation has the byte of its generation", "[store]") {
  const struct {
    store_op op;
    int g1, g2, g3;
  } rows[] = {
      {store_op::validate, -1, -1, 0},   {store_op::set, 0, 0, 1},
      {store_op::compare_set, 1, 1, 2},  {store_op::get, 2, 2, 3},
      {store_op::add, 3, 3, 4},          {store_op::check, 4, 4, 5},
      {store_op::wait, 5, 5, 6},         {store_op::num_keys, 6, 6, 7},
      {store_op::watch_key, 7, -1, -1},  {store_op::erase, 8, 7, 8},
      {store_op::append, -1, 8, 9},      {store_op::multi_get, -1, 9, 10},
      {store_op::multi_set, -1, 10, 11}, {store_op::cancel_wait, -1, 11, 12},
      {store_op::ping, -1, -1, 13},      {store_op::queue_push, -1, -1, 14},
      {store_op::queue_pop, -1, -1, 15}, {store_op::queue_length, -1, -1, 16},
      {store_op::list_keys, -1, -1, 17}, {store_op::barrier, -1, -1, 18},
  };
  for (const auto& row : rows) {
    CHECK(encode_op(generation::torch_1_13, row.op) == row.g1);
    CHECK(encode_op(generation::torch_2_1, row.op) == row.g2);
    CHECK(encode_op(generation::torch_2_2, row.op) == row.g3);
  }
  for (const auto g : {generation::torch_1_13, generation::torch_2_1, generation::torch_2_2}) {
    for (int byte = 0; byte < 256; ++byte) {
      const store_op op = decode_op(g, static_cast<char>(byte));
      CHECK((op == store_op::unknown ? -1 : byte) == encode_op(g, op));
    }
  }
}

// A request of each form, as a 2.2 client writes it.
std::vector<std::string> sample_requests() {
  const request_writer write(generation::torch_2_2);
  const std::vector<std::string> keys = {"/a", "", "/ccc"};
  std::vector<std::string> requests(9);
  write.with_value(requests[0], store_op::set, "/key", "value");
  write.compare_set(requests[1], "/key", "expected", "desired");
  write.with_key(requests[2], store_op::get, "/key");
  write.with_number(requests[3], store_op::add, "/key", -1234567890123);
  write.with_keys(requests[4], store_op::wait, keys);
  write.operation(requests[5], store_op::num_keys);
  write.ping(requests[6], 0xfffffffe);
  write.operation(requests[7], store_op::multi_set);
  append_integer<std::uint64_t>(requests[7], 2);
  for (const char* text : {"/a", "1", "", ""}) append_text(requests[7], text);
  write.with_value(requests[8], store_op::append, "", "");
  return requests;
}

struct parsed_request {
  store_op op;
  std::vector<std::string> texts;
  std::int64_t number;
  bool operator==(const parsed_request&) const = default;
};

// Gives the parser `input` in pieces that end at `cuts`, as a session would.
std::vector<parsed_request> parse_in_pieces(const std::string& input,
                                            const std::vector<std::size_t>& cuts) {
  request_parser parser{tcp_store_bounds{}};
  std::vector<parsed_request> requests;
  std::string buffer;
  std::size_t start = 0;
  for (const std::size_t end : cuts) {
    buffer.append(input, start, end - start);
    start = end;
    while (!buffer.empty()) {
      // A copy, so that nothing may rest on where the bytes lie.
      const std::string bytes = buffer;
      if (parser.at_start()) parser.begin(decode_op(generation::torch_2_2, bytes.front()));
      const auto result = parser.parse(bytes);
      REQUIRE(result != request_parser::outcome::malformed);
      if (result == request_parser::outcome::incomplete) break;
      const auto& request = parser.request();
      requests.push_back({request.op,
                          std::vector<std::string>(request.texts.begin(), request.texts.end()),
                          request.number});
      buffer.erase(0, parser.used());
      parser.finish();
    }
  }
  CHECK(buffer.empty());
  return requests;
}

TEST_CASE("tcp_store_protocol: a request is found however it is cut into pieces", "[store]") {
  std::string input;
  for (const auto& request : sample_requests()) input += request;
  const auto requests = parse_in_pieces(input, {input.size()});
  REQUIRE(requests.size() == sample_requests().size());
  CHECK(requests[1] == parsed_request{store_op::compare_set, {"/key", "expected", "desired"}, 0});
  CHECK(requests[3] == parsed_request{store_op::add, {"/key"}, -1234567890123});
  CHECK(requests[4] == parsed_request{store_op::wait, {"/a", "", "/ccc"}, 0});
  CHECK(requests[6].number == 0xfffffffe);
  CHECK(requests[7] == parsed_request{store_op::multi_set, {"/a", "1", "", ""}, 0});

  for (std::size_t cut = 1; cut < input.size(); ++cut) {
    CHECK(parse_in_pieces(input, {cut, input.size()}) == requests);
  }
  std::vector<std::size_t> every_byte;
  for (std::size_t cut = 1; cut <= input.size(); ++cut) every_byte.push_back(cut);
  CHECK(parse_in_pieces(input, every_byte) == requests);

  std::mt19937 chance(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::size_t> cuts;
    for (std::size_t position = 0; position < input.size();) {
      position = std::min(input.size(), position + 1 + chance() % 20);
      cuts.push_back(position);
    }
    CHECK(parse_in_pieces(input, cuts) == requests);
  }
}

std::string complaint_about(const std::string& hex, tcp_store_bounds bounds = {}) {
  request_parser parser{bounds};
  const std::string input = from_hex(hex);
  parser.begin(decode_op(generation::torch_2_2, input.front()));
  return parser.parse(input) == request_parser::outcome::malformed ? std::string(parser.complaint())
                                                                   : std::string();
}

TEST_CASE("tcp_store_protocol: what is over a bound is refused once its length is there",
          "[store]") {
  // Lengths alone, none of the bytes that they announce.
  CHECK(complaint_about("01"
                        "0020000000000000") == "");
  CHECK(complaint_about("01"
                        "0120000000000000") == "a key is too long");
  CHECK(complaint_about("01"
                        "ffffffffffffffff") == "a key is too long");
  CHECK(complaint_about("01"
                        "0000000000000000"
                        "0000800000000000") == "");
  CHECK(complaint_about("01"
                        "0000000000000000"
                        "0100800000000000") == "a value is too long");
  CHECK(complaint_about("01"
                        "0000000000000000"
                        "ffffffffffffffff") == "a value is too long");
  CHECK(complaint_about("06"
                        "0000020000000000") == "");
  CHECK(complaint_about("06"
                        "0100020000000000") == "too many keys");
  CHECK(complaint_about("06"
                        "ffffffffffffffff") == "too many keys");
  CHECK(complaint_about("0b"
                        "0000000000000080") == "too many keys");

  tcp_store_bounds narrow_bounds;
  narrow_bounds.request_bytes = 30;
  CHECK(complaint_about("06"
                        "0200000000000000"
                        "0400000000000000"
                        "61616161"
                        "0100000000000000",
                        narrow_bounds) == "");
  CHECK(complaint_about("06"
                        "0200000000000000"
                        "0500000000000000"
                        "6161616161"
                        "0100000000000000",
                        narrow_bounds) == "the request is too long");
}

TEST_CASE("tcp_store_protocol: the parser survives random bytes", "[store]") {
  for (std::uint32_t seed = 1; seed <= 500; ++seed) {
    INFO("seed " << seed);
    std::mt19937 chance(seed);
    std::string input(1 + chance() % 300, '\0');
    for (char& byte : input) byte = static_cast<char>(chance() % 4 == 0 ? chance() : chance() % 3);
    request_parser parser{tcp_store_bounds{}};
    parser.begin(decode_op(generation::torch_2_2, static_cast<char>(chance() % 20)));
    for (std::size_t size = 1; size <= input.size(); size += 1 + chance() % 9) {
      const std::string bytes = input.substr(0, size);
      const auto result = parser.parse(bytes);
      REQUIRE(parser.used() <= bytes.size());
      if (result != request_parser::outcome::incomplete) break;
    }
  }
}

}  // namespace
}  // namespace elastic::detail
