// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/nodes/detail/candidate_marker.hpp>

#include <support/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace candidate_marker_tests {

using elastic::detail::candidate_marker;

TEST_CASE("candidate marker: shows that one was left in this place of the job, and no other",
          "[rendezvous]") {
  const std::string job = "job of " + std::to_string(::getpid());
  const candidate_marker marker(job, "a:1,b:1", 0);
  REQUIRE_FALSE(marker.exists());
  CHECK(marker.leave());
  CHECK(marker.leave());
  CHECK(candidate_marker(job, "a:1,b:1", 0).exists());
  CHECK_FALSE(candidate_marker(job, "a:1,b:1", 1).exists());
  CHECK_FALSE(candidate_marker(job, "a:1,b:2", 0).exists());
  CHECK_FALSE(candidate_marker(job + " two", "a:1,b:1", 0).exists());
  marker.remove();
  marker.remove();
  CHECK_FALSE(marker.exists());
}

TEST_CASE("candidate marker: what is not a file of this user's is none", "[rendezvous]") {
  const candidate_marker marker("job of " + std::to_string(::getpid()), "a:1", 0);
  std::filesystem::create_symlink("/dev/null", marker.path());
  CHECK_FALSE(marker.exists());
  CHECK_FALSE(marker.leave());
  marker.remove();
  // Opening it would wait for a reader.
  REQUIRE(::mkfifo(marker.path().c_str(), 0666) == 0);
  CHECK_FALSE(marker.leave());
  marker.remove();
}

}  // namespace candidate_marker_tests
