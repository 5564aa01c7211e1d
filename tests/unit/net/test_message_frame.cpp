// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/net/detail/message_frame.hpp>

#include <support/catch.hpp>

#include <string>

namespace message_frame_tests {

using elastic::detail::append_frame;
using elastic::detail::frame_reader;

TEST_CASE("message frame: messages that arrive in pieces are whole", "[net]") {
  std::string bytes;
  append_frame(bytes, "one");
  append_frame(bytes, "");
  append_frame(bytes, "three");
  frame_reader reader(5);
  std::string heard;
  for (const char byte : bytes) {
    reader.append({&byte, 1});
    while (const auto message = reader.next()) heard += std::string(*message) + ";";
  }
  CHECK(heard == "one;;three;");
}

TEST_CASE("message frame: a longer message and another protocol are refused", "[net]") {
  const auto refuse = [](const std::string& bytes) {
    frame_reader reader(5);
    reader.append(bytes);
    reader.next();
  };
  CHECK_THROWS_WITH(refuse(std::string("\6\0\0\0", 4)),
                    Catch::Contains("a message of 6 bytes was announced; up to 5 are taken"));
  CHECK_THROWS_WITH(refuse("HTTP/1.1 400 Bad Request\r\n\r\n"),
                    Catch::Contains("another protocol: its message begins with 'HTTP'"));
}

}  // namespace message_frame_tests
