// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/torch/dynamic_rendezvous.hpp>

#include <memory>
#include <string>
#include <vector>

namespace elastic::detail {

/// What a dynamic_rendezvous of this node is made from, but for the place of its state.
/// @param towards  hosts that every node reaches
ELASTIC_DECL task<dynamic_rendezvous_options> dynamic_options(rendezvous_parameters parameters,
                                                              std::vector<std::string> towards);

/// Errors: `errc::invalid_argument` for what the settings say of the connections of the agents.
ELASTIC_DECL void check_links(const rendezvous_parameters& parameters);

/// How its agents connect; null if the setting `links` says no.
ELASTIC_DECL std::shared_ptr<link_network> chosen_links(const dynamic_rendezvous_options& options);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/impl/dynamic_options.ipp>
#endif
