// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>

#include <string>
#include <vector>

namespace elastic::detail {

/// A numeric address by which other hosts probably reach this one: that on the way to one of
/// `towards`, else to the outside, else what its own name stands for. Loopback only if there is
/// no other: what is reached by loopback may be there on every host.
ELASTIC_DECL task<std::string> reachable_address(std::vector<std::string> towards);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/impl/reachable_address.ipp>
#endif
