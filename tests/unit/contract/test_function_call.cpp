// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/base/error.hpp>
#include <elastic/contract/detail/call_memfd.hpp>
#include <elastic/contract/error_file.hpp>
#include <elastic/contract/function_call.hpp>
#include <elastic/functions/detail/call_value.hpp>
#include <support/catch.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

namespace elastic {
namespace {

namespace function_call_test {

using content = detail::call_answer::content;

constexpr std::size_t room = 256;
constexpr std::size_t header_bytes = 32;

std::string complaint_of(const nlohmann::json& value, std::size_t bound = 1000) {
  try {
    detail::call_text(value, bound, "it");
  } catch (const error& failure) {
    CHECK(failure.code() == errc::invalid_argument);
    return failure.what();
  }
  return "";
}

std::string complaint_of_text(const std::string& text) {
  try {
    detail::call_value(text, "it");
  } catch (const error& failure) {
    CHECK(failure.code() == errc::protocol_violation);
    return failure.what();
  }
  return "";
}

std::string nested_text(int levels) {
  const auto count = static_cast<std::size_t>(levels);
  return std::string(count, '[') + std::string(count, ']');
}

/// Standard input is `file` while this lives.
class standard_input {
 public:
  explicit standard_input(int file) : saved_file_(::dup(0)) { ::dup2(file, 0); }
  ~standard_input() {
    ::dup2(saved_file_, 0);
    ::close(saved_file_);
  }
  standard_input(const standard_input&) = delete;
  standard_input& operator=(const standard_input&) = delete;

 private:
  int saved_file_;
};

void put(const detail::call_memfd& sheet, std::size_t offset, const void* bytes, std::size_t size) {
  REQUIRE(::pwrite(sheet.descriptor(), bytes, size, static_cast<off_t>(offset)) ==
          static_cast<ssize_t>(size));
}
void put_number(const detail::call_memfd& sheet, std::size_t offset, std::uint64_t number) {
  put(sheet, offset, &number, sizeof number);
}

}  // namespace function_call_test

using namespace function_call_test;

TEST_CASE("function_call: what JSON can say arrives as it was", "[contract]") {
  const nlohmann::json values[] = {nullptr,
                                   true,
                                   -3,
                                   1e300,
                                   0.1,
                                   "x\n\"ü",
                                   nlohmann::json::array(),
                                   {{"a", {1, 2, {{"b", nullptr}}}}}};
  for (const nlohmann::json& value : values) {
    CHECK(detail::call_value(detail::call_text(value, 1000, "it"), "it") == value);
  }
}

TEST_CASE("function_call: what JSON cannot represent is refused by name", "[contract]") {
  CHECK(complaint_of(std::nan("")) ==
        "it holds a number that is not finite, which JSON cannot represent");
  CHECK(complaint_of({{"a", {1.0, std::numeric_limits<double>::infinity()}}}) ==
        "it holds a number that is not finite, which JSON cannot represent");
  CHECK(complaint_of(nlohmann::json::binary({1})) == "it holds a value that JSON cannot represent");
  CHECK(complaint_of("\xff").find("it cannot be written as JSON: invalid UTF-8") == 0);
  CHECK(complaint_of(std::string(999, 'x')) == "it is 1001 bytes of JSON, 1000 are allowed");
  CHECK(complaint_of(std::string(998, 'x')).empty());
  CHECK(complaint_of(nlohmann::json::parse(nested_text(64))).empty());
  CHECK(complaint_of(nlohmann::json::parse(nested_text(65))) ==
        "it is nested more than 64 levels deep");
}

TEST_CASE("function_call: text that is not such JSON is refused", "[contract]") {
  CHECK(complaint_of_text(nested_text(64)).empty());
  CHECK(complaint_of_text(nested_text(65)) ==
        "it cannot be understood: nested more than 64 levels deep");
  CHECK(complaint_of_text(std::string(1'000'000, '[')) ==
        "it cannot be understood: nested more than 64 levels deep");
  for (const std::string text : {"", "[1", "nan", "1 2", "\"\xff\"", "{\"a\":}"}) {
    INFO(text);
    CHECK(complaint_of_text(text).find("it cannot be understood: ") == 0);
  }
}

TEST_CASE("function_call: a call is checked before anything is started", "[contract]") {
  function_call call;
  CHECK_THROWS_WITH(validate(call),
                    "the name of a function has 0 bytes: 1 to 256 are allowed, "
                    "none of them zero");
  call.name = std::string("a\0b", 3);
  CHECK_THROWS_AS(validate(call), error);
  call.name = "train";
  CHECK_NOTHROW(validate(call));
  call.arguments = "3";
  CHECK_THROWS_WITH(validate(call), "the arguments of function 'train' are not a JSON array");
  call.arguments = "[";
  CHECK_THROWS_WITH(validate(call), Catch::StartsWith("the list of arguments of function 'train' "
                                                      "cannot be understood: "));
  call.arguments = "[\"" + std::string(limits::function_arguments_bytes, 'x') + "\"]";
  CHECK_THROWS_WITH(validate(call),
                    "the list of arguments of function 'train' is 1048580 bytes of "
                    "JSON, 1048576 are allowed");
}

TEST_CASE("function_call: with many workers each may return less", "[contract]") {
  CHECK(return_value_bound(1) == limits::return_value_bytes);
  CHECK(return_value_bound(16) == limits::return_value_bytes);
  CHECK(return_value_bound(32) == limits::return_value_bytes / 2);
  CHECK(return_value_bound(limits::local_world_size) == 4 * 1024);
}

TEST_CASE("call_memfd: arguments go there, an answer comes back, both whole", "[contract]") {
  const detail::call_memfd sheet = detail::call_memfd::make("[1, 2]", room);
  CHECK(sheet.answer().kind == content::nothing);
  {
    const standard_input input(sheet.descriptor());
    detail::call_memfd worker_sheet = detail::call_memfd::take();
    CHECK(worker_sheet.arguments() == "[1, 2]");
    CHECK(worker_sheet.room() == room);
    char letter = 0;
    CHECK(::read(0, &letter, 1) == 0);
    worker_sheet.leave(content::failure, "first");
    worker_sheet.leave(content::value, std::string(room, 'v'));
    CHECK_THROWS_AS(worker_sheet.leave(content::value, std::string(room + 1, 'w')), error);
  }
  const detail::call_answer answer = sheet.answer();
  CHECK(answer.kind == content::value);
  CHECK(answer.text == std::string(room, 'v'));
}

TEST_CASE("call_memfd: no arguments, no room", "[contract]") {
  detail::call_memfd sheet = detail::call_memfd::make("", 0);
  CHECK(sheet.arguments().empty());
  sheet.leave(content::value, "");
  CHECK(sheet.answer().kind == content::value);
  CHECK(detail::call_memfd().answer().kind == content::nothing);
}

TEST_CASE("call_memfd: the worker can make it neither larger nor smaller", "[contract]") {
  const detail::call_memfd sheet = detail::call_memfd::make("[]", room);
  const auto size = static_cast<off_t>(header_bytes + 2 + room);
  CHECK(::ftruncate(sheet.descriptor(), size + 1) == -1);
  CHECK(errno == EPERM);
  CHECK(::ftruncate(sheet.descriptor(), 0) == -1);
  CHECK(::pwrite(sheet.descriptor(), "x", 1, size) == -1);
  CHECK(::fcntl(sheet.descriptor(), F_ADD_SEALS, F_SEAL_WRITE) == -1);
}

TEST_CASE("call_memfd: standard input that is none is refused", "[contract]") {
  const int null_file = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  const int empty_file = ::memfd_create("empty", MFD_CLOEXEC);
  const int unrelated_file = ::memfd_create("other", MFD_CLOEXEC);
  REQUIRE(::ftruncate(unrelated_file, 4096) == 0);
  const detail::call_memfd lying_sheet = detail::call_memfd::make("[]", room);
  put_number(lying_sheet, 8, header_bytes + 2 + room);
  const detail::call_memfd larger_lying_sheet = detail::call_memfd::make("[]", room);
  put_number(larger_lying_sheet, 8, ~std::uint64_t{0});
  for (const int file : {null_file, empty_file, unrelated_file, lying_sheet.descriptor(),
                         larger_lying_sheet.descriptor()}) {
    const standard_input input(file);
    CHECK_THROWS_WITH(detail::call_memfd::take(),
                      "standard input does not hold a function's arguments: only an agent starts "
                      "a worker that runs a function");
  }
  for (const int file : {null_file, empty_file, unrelated_file}) ::close(file);
}

TEST_CASE("call_memfd: an answer that says more than there is room for is garbage", "[contract]") {
  const detail::call_memfd sheet = detail::call_memfd::make("[]", room);
  put_number(sheet, 16, 1);
  put_number(sheet, 24, room + 1);
  CHECK(sheet.answer().kind == content::garbage);
  CHECK(sheet.answer().text == "it is said to have 257 bytes, 256 are allowed");
  put_number(sheet, 24, ~std::uint64_t{0});
  CHECK(sheet.answer().kind == content::garbage);
  put_number(sheet, 24, room);
  CHECK(sheet.answer().kind == content::value);
  put_number(sheet, 16, 7);
  CHECK(sheet.answer().text == "it is of the unknown kind 7");
}

TEST_CASE("call_memfd: whatever a worker writes, the agent reads a value or says why not",
          "[contract][fuzz]") {
  std::mt19937 random(20261121);
  const std::string alphabet = "[]{}\",:0123456789eE+-. \\ntrufalsn\xff";
  const auto below = [&](std::size_t count) { return random() % count; };
  int values = 0;
  for (int round = 0; round < 20'000; ++round) {
    const detail::call_memfd sheet = detail::call_memfd::make("[]", room);
    std::string bytes(header_bytes + 2 + room, '\0');
    REQUIRE(::pread(sheet.descriptor(), bytes.data(), bytes.size(), 0) ==
            static_cast<ssize_t>(bytes.size()));
    for (std::size_t offset = header_bytes + 2; offset < bytes.size(); ++offset) {
      bytes[offset] = alphabet[below(alphabet.size())];
    }
    // Mostly a valid kind and size, so that the reader gets as far as the text.
    bytes[16] = static_cast<char>(below(5));
    bytes[24] = static_cast<char>(below(2) ? below(4) : below(256));
    for (std::size_t flips = below(3); flips > 0; --flips) {
      bytes[below(bytes.size())] = static_cast<char>(below(256));
    }
    put(sheet, 0, bytes.data(), bytes.size());
    const detail::call_answer answer = sheet.answer();
    REQUIRE(answer.text.size() <= room);
    if (answer.kind == content::value) {
      try {
        const nlohmann::json value = detail::call_value(answer.text, "it");
        REQUIRE_FALSE(detail::unsayable(value));
        ++values;
      } catch (const error& failure) {
        REQUIRE(failure.code() == errc::protocol_violation);
        REQUIRE(std::string(failure.what()).find('\n') == std::string::npos);
      }
    } else if (answer.kind == content::failure) {
      REQUIRE_FALSE(parse_error_file(answer.text).message.empty());
    }
  }
  CHECK(values > 100);
}

}  // namespace
}  // namespace elastic
