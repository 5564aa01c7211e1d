// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <string>

namespace elastic {

/// The name of this host as it is set, "localhost" if none is. No name server is asked.
ELASTIC_DECL std::string host_name();

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/impl/host_name.ipp>
#endif
