// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/testing/output_recorder.hpp>

namespace elastic::testing {

ELASTIC_DECL task<void> output_recorder::write(std::string_view bytes) {
  text += bytes;
  co_return;
}

}  // namespace elastic::testing
