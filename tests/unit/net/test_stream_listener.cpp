// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/net/detail/stream_listener.hpp>

#include <elastic/base/error.hpp>
#include <elastic/net/detail/byte_stream.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/manual_time.hpp>
#include <support/run_program.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stream_listener_tests {

using elastic::task;
using elastic::detail::accept_all;
using elastic::detail::accept_terms;
using elastic::detail::accepted_connection;
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

CO_TEST("stream listener: a path that begins with a zero byte needs no file", "[net]") {
  const auto executor = co_await asio::this_coro::executor;
  const std::string path = std::string(1, '\0') + "elastic-" + std::to_string(::getpid());
  stream_listener listener = stream_listener::at_path(executor, path);
  const auto client = co_await connect_path(path);
  const bool is_ready = co_await listener.ready();
  CHECK(is_ready);
  std::vector<accepted_connection> accepted;
  const auto keep = [&](accepted_connection made) { accepted.push_back(std::move(made)); };
  CHECK(listener.accept(2, keep) == 0);
  REQUIRE(accepted.size() == 1);
  CHECK(accepted.front().peer->pid == ::getpid());
}

/// Lets this process open no further file.
class no_descriptors {
 public:
  no_descriptors() {
    ::getrlimit(RLIMIT_NOFILE, &former_);
    rlimit none = former_;
    none.rlim_cur = 0;
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~no_descriptors() { end(); }
  void end() { ::setrlimit(RLIMIT_NOFILE, &former_); }

 private:
  rlimit former_{};
};

TIME_TEST("accept_all: pauses while there is no descriptor, and then accepts", "[net]") {
  const auto executor = co_await asio::this_coro::executor;
  const temporary_directory folder;
  stream_listener listener = stream_listener::at_path(executor, folder / "socket");
  const auto client = co_await connect_path(folder / "socket");
  no_descriptors lack;
  std::vector<std::string> story;
  accept_terms terms;
  terms.time = time.share();
  terms.pause = std::chrono::seconds(7);
  terms.report = [&](const std::string& problem) {
    story.push_back(problem);
    lack.end();
  };
  const auto admit = [&](accepted_connection) {
    story.push_back("accepted");
    listener.close();
  };
  co_await accept_all(listener, std::move(terms), admit);
  CHECK(story == std::vector<std::string>{"Too many open files", "accepted"});
  CHECK(time.elapsed() == std::chrono::seconds(7));
}

TIME_TEST("accept_all: connections beyond the rate wait for the next second", "[net]") {
  const auto executor = co_await asio::this_coro::executor;
  const temporary_directory folder;
  stream_listener listener = stream_listener::at_path(executor, folder / "socket");
  std::vector<std::unique_ptr<elastic::detail::byte_stream>> clients(5);
  for (auto& client : clients) client = co_await connect_path(folder / "socket");
  accept_terms terms;
  terms.time = time.share();
  terms.most_per_second = 2;
  std::size_t count = 0;
  const auto admit = [&](accepted_connection) {
    if (++count == clients.size()) listener.close();
  };
  co_await accept_all(listener, std::move(terms), admit);
  CHECK(count == clients.size());
  CHECK(time.elapsed() == std::chrono::seconds(1));
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
