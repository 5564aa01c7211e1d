// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/run_program.hpp>
#include <support/skip.hpp>

#include <string>

namespace elastic::test {

/// An interpreter with a package as well as PyTorch 2.13. Otherwise the result is empty, and the
/// test is skipped: it must return.
inline std::string python_with(const std::string& package) {
  const std::string python = torch_213_python();
  if (python.empty()) return python;
  const std::string question =
      "import importlib.util, sys; sys.exit(importlib.util.find_spec('" + package + "') is None)";
  if (run_program({python, "-c", question}).code == 0) return python;
  skip("it takes a Python with torch 2.13.0 and " + package);
  return "";
}

}  // namespace elastic::test
