// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/torch_dialect.hpp>

#include <elastic/base/error.hpp>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::string_view to_text(torch_dialect dialect) {
  switch (dialect) {
    case torch_dialect::torch_1_13: return "1.13";
    case torch_dialect::torch_2_0: return "2.0";
    default: return "2.6";
  }
}

ELASTIC_DECL torch_dialect parse_torch_dialect(std::string_view text) {
  for (const torch_dialect each :
       {torch_dialect::torch_1_13, torch_dialect::torch_2_0, torch_dialect::torch_2_6}) {
    if (to_text(each) == text) return each;
  }
  throw error(errc::invalid_argument,
              fmt::format("dialect '{}': 1.13, 2.0 or 2.6 is needed", text));
}

}  // namespace elastic::detail
