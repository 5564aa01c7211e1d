// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>
#include <string_view>

namespace elastic::detail {

/// A zip archive with one uncompressed file. Python can import modules from it, as from a folder.
ELASTIC_DECL std::string stored_archive(std::string_view name, std::string_view content);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/detail/impl/stored_archive.ipp>
#endif
