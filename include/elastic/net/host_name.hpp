// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>

namespace elastic {

/// The configured name of this host, "localhost" if there is none. Does not query a name server.
ELASTIC_DECL std::string host_name();

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/impl/host_name.ipp>
#endif
