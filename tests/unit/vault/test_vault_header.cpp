// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The headers of slots, which a worker may damage, and the messages of workers.

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/vault/detail/vault_header.hpp>
#include <elastic/vault/detail/vault_message.hpp>
#include <support/catch.hpp>

#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <fmt/format.h>

namespace elastic {
namespace {

namespace vault_header_test {

using detail::parse_vault_header;
using detail::vault_header;

constexpr std::uint64_t file_bytes = 1 << 20;

vault_header some_header() {
  vault_header header;
  header.id = {3, 812};
  header.step = 8120;
  header.rank = 5;
  header.world_size = 8;
  header.data_bytes = 70'000;
  header.manifest_bytes = 400;
  header.manifest_check = 0xdeadbeef;
  return header;
}

TEST_CASE("vault header: is read as it was written", "[vault]") {
  const vault_header header = some_header();
  const std::string bytes = bytes_of(header);
  CHECK(bytes.size() == limits::vault_header_bytes);
  CHECK(parse_vault_header(bytes, file_bytes) == header);
}

TEST_CASE("vault header: the checksum is zlib's", "[vault]") {
  CHECK(detail::crc32("") == 0);
  CHECK(detail::crc32("123456789") == 0xcbf43926);
}

TEST_CASE("vault header: nothing else is taken for one", "[vault]") {
  CHECK_FALSE(parse_vault_header("", file_bytes));
  CHECK_FALSE(parse_vault_header(std::string(limits::vault_header_bytes, '\0'), file_bytes));
  const std::string bytes = bytes_of(some_header());
  CHECK_FALSE(parse_vault_header(bytes + '\0', file_bytes));
  CHECK_FALSE(parse_vault_header(bytes.substr(1), file_bytes));
  // One byte less than header, data and manifest take.
  CHECK(parse_vault_header(bytes, 4096 + 70'400));
  CHECK_FALSE(parse_vault_header(bytes, 4096 + 70'399));
  CHECK_FALSE(parse_vault_header(bytes, 0));
}

TEST_CASE("vault header: impossible numbers are refused, whatever the checksum", "[vault]") {
  const auto is_taken = [](auto change) {
    vault_header header = some_header();
    change(header);
    return parse_vault_header(bytes_of(header), file_bytes).has_value();
  };
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  CHECK(is_taken([](vault_header&) {}));
  CHECK_FALSE(is_taken([](vault_header& header) { header.id.epoch = 0; }));
  CHECK_FALSE(is_taken([](vault_header& header) { header.id.number = -1; }));
  CHECK_FALSE(is_taken([](vault_header& header) { header.step = -1; }));
  CHECK_FALSE(is_taken([](vault_header& header) { header.rank = -1; }));
  CHECK_FALSE(is_taken([](vault_header& header) { header.rank = 8; }));
  CHECK_FALSE(is_taken([](vault_header& header) { header.data_bytes = most; }));
  CHECK_FALSE(is_taken([](vault_header& header) { header.data_bytes = most - 400; }));
  CHECK_FALSE(is_taken([](vault_header& header) { header.manifest_bytes = 0; }));
  CHECK_FALSE(is_taken([](vault_header& header) { header.manifest_bytes = most; }));
  vault_header large = some_header();
  large.manifest_bytes = limits::vault_manifest_bytes + 1;
  CHECK_FALSE(parse_vault_header(bytes_of(large), std::uint64_t{1} << 40));
}

TEST_CASE("vault header: of 10,000 random damages none is accepted", "[vault]") {
  std::mt19937 random(54);
  const std::string whole = bytes_of(some_header());
  for (int round = 0; round < 10'000; ++round) {
    std::string bytes = whole;
    const std::size_t changes = 1 + random() % 8;
    for (std::size_t change = 0; change < changes; ++change) {
      // Most of a header is zero: damage the used part as often.
      const std::size_t place = random() % (change % 2 == 0 ? 80 : bytes.size());
      bytes[place] = static_cast<char>(bytes[place] ^ (1 << random() % 8));
    }
    if (bytes == whole) continue;
    if (parse_vault_header(bytes, file_bytes)) FAIL("damage " << round << " is accepted");
  }
}

TEST_CASE("vault message: requests are read, and others refused", "[vault]") {
  namespace requests = detail::vault_requests;
  const auto begun = detail::parse_vault_request(R"({"kind": "begin", "bytes": 8192})");
  CHECK(std::get<requests::begin>(begun).bytes == 8192);
  const auto made = detail::parse_vault_request(R"({"kind": "committed", "slot": 1})");
  CHECK(std::get<requests::committed>(made).slot == 1);
  for (const double seconds : {0.0, 2.5, 1e8}) {
    const auto restored = detail::parse_vault_request(
        fmt::format(R"({{"kind": "restored", "seconds": {}}})", seconds));
    CHECK(std::get<requests::restored>(restored).seconds == seconds);
  }
  for (const char* const text :
       {"", "{}", "[]", R"({"kind": "begin"})", R"({"kind": "begin", "bytes": 0})",
        R"({"kind": "begin", "bytes": 4096})", R"({"kind": "begin", "bytes": -1})",
        R"({"kind": "begin", "bytes": 9223372036854775807})",
        R"({"kind": "begin", "bytes": 18446744073709551616})",
        R"({"kind": "committed", "slot": 2})", R"({"kind": "committed"})", R"({"kind": "give"})",
        R"({"kind": "skip"})", R"({"kind": "restored", "seconds": -1})",
        R"({"kind": "restored", "seconds": 100000001})",
        R"({"kind": "restored", "seconds": 1e300})", R"({"kind": "restored", "seconds": 1e999})",
        R"({"kind": "restored", "seconds": "1"})"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(detail::parse_vault_request(text), error);
  }
}

}  // namespace vault_header_test

}  // namespace
}  // namespace elastic
