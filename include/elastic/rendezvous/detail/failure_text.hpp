// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/node_id.hpp>

#include <string>
#include <string_view>

namespace elastic::detail {

inline std::string failure_prefix(const node_id& node) { return "node " + node.text() + ": "; }

/// How the nodes of a job are told that workers of `node` failed.
inline std::string failure_text(const node_id& node, std::string_view reason) {
  return failure_prefix(node).append(reason);
}

/// Whether a text of `failure_text` is about another node than `self`.
inline bool is_on_other_node(const node_id& self, std::string_view text) {
  return !text.starts_with(failure_prefix(self));
}

}  // namespace elastic::detail
