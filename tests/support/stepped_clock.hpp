// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

namespace elastic::test {

/// The time of day of one simulated host, which a test sets while the host's programs run. They see
/// it through support/stepped_clock.cpp. The machine's clock is not changed.
class stepped_clock {
 public:
  /// @param path  of a file that the constructor creates
  explicit stepped_clock(std::string path) : path_(std::move(path)) { step({}); }

  /// The variables for the environment of the programs.
  std::map<std::string, std::string> variables() const {
    return {{"LD_PRELOAD", ELASTIC_STEPPED_CLOCK}, {"ELASTIC_TEST_CLOCK", path_}};
  }

  /// From now on, programs see the machine's time of day with this offset.
  void step(std::chrono::seconds shift) const {
    const std::int64_t seconds = shift.count();
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    REQUIRE(file >= 0);
    const ssize_t size = ::pwrite(file, &seconds, sizeof seconds, 0);
    ::close(file);
    REQUIRE(size == static_cast<ssize_t>(sizeof seconds));
  }

 private:
  std::string path_;
};

}  // namespace elastic::test
