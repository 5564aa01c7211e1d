// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace elastic {

/// The outcome of asking workers for a checkpoint.
struct checkpoint_outcome {
  /// How many workers were asked (those that accept requests), and how many have saved a
  /// checkpoint.
  int asked = 0;
  int saved = 0;
  /// Why the others have not: "local rank 1 did not answer within 2 s".
  std::vector<std::string> problems;
};

}  // namespace elastic
