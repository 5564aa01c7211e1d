// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/error.hpp>
#include <support/catch.hpp>

#include <cerrno>
#include <set>
#include <string>
#include <system_error>

namespace elastic::test {
namespace error_tests {

TEST_CASE("errc: every code has a text of its own", "[base]") {
  std::set<std::string> texts;
  int count = 0;
  for (int value = 1; error_category().message(value) != "unknown error"; ++value) {
    texts.insert(error_category().message(value));
    ++count;
  }
  CHECK(count == static_cast<int>(errc::process_stuck));
  CHECK(texts.size() == static_cast<std::size_t>(count));
  CHECK(error_category().message(0) == "unknown error");
}

TEST_CASE("errc: values are part of the interface", "[base]") {
  CHECK(static_cast<int>(errc::invalid_argument) == 1);
  CHECK(static_cast<int>(errc::timed_out) == 2);
  CHECK(static_cast<int>(errc::connection_failed) == 3);
  CHECK(static_cast<int>(errc::protocol_violation) == 4);
  CHECK(static_cast<int>(errc::program_not_found) == 5);
  CHECK(static_cast<int>(errc::program_not_executable) == 6);
  CHECK(static_cast<int>(errc::start_failed) == 7);
  CHECK(static_cast<int>(errc::rendezvous_closed) == 8);
  CHECK(static_cast<int>(errc::rendezvous_timeout) == 9);
  CHECK(static_cast<int>(errc::rendezvous_state) == 10);
  CHECK(static_cast<int>(errc::file_access) == 11);
  CHECK(static_cast<int>(errc::address_in_use) == 12);
  CHECK(static_cast<int>(errc::stopped) == 13);
  CHECK(static_cast<int>(errc::store_value) == 14);
  CHECK(static_cast<int>(errc::not_supported) == 15);
}

TEST_CASE("errc: is an error code of the category \"elastic\"", "[base]") {
  const std::error_code code = errc::timed_out;
  CHECK(code == errc::timed_out);
  CHECK(code != errc::stopped);
  CHECK(code != std::errc::timed_out);
  CHECK(std::string(code.category().name()) == "elastic");
  CHECK(code.message() == "timed out");
}

TEST_CASE("error: has a code to react to and says one sentence, no more", "[base]") {
  try {
    throw error(errc::program_not_found, "cannot find the program \"trian\" in PATH");
  } catch (const std::system_error& failure) {
    CHECK(failure.code() == errc::program_not_found);
    CHECK(std::string(failure.what()) == "cannot find the program \"trian\" in PATH");
  }
}

TEST_CASE("errno_text: is the system's own text", "[base]") {
  CHECK(errno_text(ENOENT) == "No such file or directory");
}

}  // namespace error_tests
}  // namespace elastic::test
