// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/torch/detail/dynamic_rendezvous.hpp>

#include <memory>
#include <string>
#include <vector>

namespace elastic::detail {

/// What a dynamic_rendezvous of this node is made from, but for the place of its state.
/// @param towards  hosts that every node reaches
ELASTIC_DECL task<dynamic_rendezvous_options> dynamic_options(rendezvous_parameters parameters,
                                                              std::vector<std::string> towards);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/impl/dynamic_options.ipp>
#endif
