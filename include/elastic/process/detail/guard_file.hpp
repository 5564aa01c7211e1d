// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/process/detail/syscalls.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

namespace elastic::detail {

/// The guard program as an open file that can be executed, or the reason why there is none.
struct guard_file {
  unique_fd fd;
  /// For messages: a path, or "memory".
  std::string name;
  std::string problem;
};

/// The same descriptor under a number above 5: the child needs 0 to 5 for its streams and the
/// passed descriptors.
ELASTIC_DECL unique_fd above_passed(unique_fd fd);

/// The pidfd of this process, by which a guard notices its end. Its number, too, is above 5.
ELASTIC_DECL unique_fd open_own_pidfd(const syscalls& calls);

/// The files that a guard may run from. When one cannot be executed, the next is tried.
class guard_sources {
 public:
  /// `named`: the one file to use; empty: any.
  explicit guard_sources(std::string named) : named_(std::move(named)) {}

  /// The next source; empty if all were tried.
  ELASTIC_DECL std::optional<guard_file> next();

 private:
  std::string named_;
  std::size_t tried_ = 0;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/detail/guard_file.ipp>
#endif
