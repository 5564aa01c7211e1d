// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace elastic::detail {

/// A function on a worker's Python stack and its current line. Never locals or arguments.
struct stack_frame {
  /// The file, as Python names it. At most `limits::stack_file_bytes`; a longer one has lost its
  /// beginning.
  std::string file = {};
  /// 0: unknown.
  int line = 0;
  /// At most `limits::stack_function_bytes`. "<module>" is the file's own code.
  std::string function = {};

  friend bool operator==(const stack_frame&, const stack_frame&) = default;
};

}  // namespace elastic::detail
