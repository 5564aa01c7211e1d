// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/fencing.hpp>

#include <algorithm>

namespace elastic::detail {

ELASTIC_DECL fencing fencing::of_silence(duration silence) {
  const duration margin = std::min<duration>(silence / 50 + kill_time, silence / 8);
  return {silence / 4 * 3, silence - margin, silence};
}

ELASTIC_DECL fencing fencing::of_end(duration grace) { return {grace / 2, grace / 4 * 3, grace}; }

ELASTIC_DECL fencing fencing::of_step_down(duration grace) {
  return {duration::zero(), grace / 4, grace / 2};
}

}  // namespace elastic::detail
