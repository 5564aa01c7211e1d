// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/observe/journal_reader.hpp>

#include <string>
#include <vector>

namespace elastic {

/// The story of a run in plain words, from the journals of its nodes: what happened when, root
/// causes, where the time went, and what would have helped. Texts of others are made printable.
///
/// A pure function; times are in UTC.
ELASTIC_DECL std::string explain(const std::vector<journal_contents>& journals);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/observe/impl/explanation.ipp>
#endif
