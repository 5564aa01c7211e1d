// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/net/detail/stream_listener.hpp>

#include <elastic/base/error.hpp>
#include <elastic/net/detail/byte_stream.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/run_program.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

namespace stream_listener_tests {

using elastic::task;
using elastic::detail::connect_path;
using elastic::detail::is_trusted_server;
using elastic::detail::stream_listener;
using elastic::test::temporary_directory;

CO_TEST("stream listener: one that closes leaves the socket of another at its path", "[net]") {
  const auto executor = co_await asio::this_coro::executor;
  const temporary_directory folder;
  const std::string path = folder / "socket";
  stream_listener first = stream_listener::at_path(executor, path);
  std::filesystem::remove(path);
  stream_listener second = stream_listener::at_path(executor, path);
  first.close();
  REQUIRE(std::filesystem::exists(path));
  const auto client = co_await connect_path(path);
  CHECK(client != nullptr);
  second.close();
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("stream listener: a client trusts its own user, root, and as root the folder's owner",
          "[net]") {
  const temporary_directory folder;
  const std::string path = folder / "socket";
  const std::uint32_t owner = ::geteuid();
  const std::uint32_t other = owner + 1000;
  CHECK(is_trusted_server(other, other, path));
  CHECK(is_trusted_server(0, other, path));
  CHECK_FALSE(is_trusted_server(other, other + 1, path));
  CHECK_FALSE(is_trusted_server(other, 0, path));
  CHECK(is_trusted_server(owner, 0, path));
  REQUIRE(::chmod(folder.path().c_str(), 01777) == 0);
  if (owner != 0) CHECK_FALSE(is_trusted_server(owner, 0, path));
}

}  // namespace stream_listener_tests
