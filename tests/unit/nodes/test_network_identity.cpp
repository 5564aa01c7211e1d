// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/nodes/detail/network_identity.hpp>

#include <elastic/base/detail/unique_fd.hpp>
#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <optional>
#include <string>
#include <thread>

#include <fmt/format.h>

namespace network_identity_tests {

using elastic::detail::network_identity;
using elastic::detail::unique_fd;

/// What another process says, which leaves for the namespaces of `flags` first. None if it may not.
std::optional<std::string> identity_elsewhere(int flags) {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  const unique_fd reading(ends[0]);
  unique_fd writing(ends[1]);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (flags != 0 && ::unshare(flags) != 0) ::_exit(1);
    const std::string said = network_identity();
    const bool is_written =
        ::write(writing.get(), said.data(), said.size()) == static_cast<ssize_t>(said.size());
    ::_exit(is_written ? 0 : 2);
  }
  writing.reset();
  std::string text;
  char part[256];
  for (ssize_t size = 0; (size = ::read(reading.get(), part, sizeof part)) > 0;) {
    text.append(part, static_cast<std::size_t>(size));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  if (status != 0) return std::nullopt;
  return text;
}

TEST_CASE("network identity: it names the boot and the network of this process", "[rendezvous]") {
  std::string boot = elastic::test::file_text("/proc/sys/kernel/random/boot_id");
  boot.pop_back();  // the end of its line
  struct stat network{};
  REQUIRE(::stat("/proc/self/ns/net", &network) == 0);
  CHECK(network_identity() == fmt::format("{}-{}", boot, network.st_ino));
}

TEST_CASE("network identity: processes and threads of one network say the same", "[rendezvous]") {
  const std::string own = network_identity();
  CHECK(identity_elsewhere(0) == own);
  std::string of_thread;
  std::thread([&] { of_thread = network_identity(); }).join();
  CHECK(of_thread == own);
}

TEST_CASE("network identity: each network namespace has its own", "[rendezvous]") {
  std::optional<std::string> other = identity_elsewhere(CLONE_NEWNET);
  if (!other) other = identity_elsewhere(CLONE_NEWUSER | CLONE_NEWNET);
  if (!other) return elastic::test::skip("this system makes no network namespace");
  CHECK(*other != network_identity());
  // The same boot.
  CHECK(other->substr(0, 36) == network_identity().substr(0, 36));
}

TEST_CASE("network identity: other namespaces do not change it", "[rendezvous]") {
  const auto other = identity_elsewhere(CLONE_NEWUTS | CLONE_NEWNS);
  if (!other) return elastic::test::skip("it takes root");
  CHECK(*other == network_identity());
}

}  // namespace network_identity_tests
