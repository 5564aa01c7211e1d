// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic {

/// A command in front of the program of some workers, such as a profiler.
struct worker_wrap {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  worker_wrap() = default;

  /// Words for `/bin/sh`, such as "nsys profile -o r${rank}", to which the program and its
  /// arguments are added; `${rank}` and the others as in `worker_spec::env`. Empty: no worker has a
  /// command.
  std::string command;
  /// For which ranks of the job it is: the first and the last of each part; empty: for all.
  std::vector<std::pair<int, int>> ranks;

  /// Whether it is for the worker of a rank.
  ELASTIC_DECL bool is_for(int rank) const;
};

/// The ranks in a text such as "0,8-15".
/// Errors: `errc::invalid_argument` for another text, and for more than 1024 parts.
ELASTIC_DECL std::vector<std::pair<int, int>> parse_wrap_ranks(std::string_view text);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/worker_wrap.ipp>
#endif
