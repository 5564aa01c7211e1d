// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#define ELASTIC_VERSION_MAJOR 0
#define ELASTIC_VERSION_MINOR 1
#define ELASTIC_VERSION_PATCH 0

namespace elastic {

/// The version of this library as text, "major.minor.patch".
inline constexpr const char* version_text = "0.1.0";

}  // namespace elastic
