// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The only include of nlohmann/json as a whole, which takes half a second of each unit: definitions
// include it, and headers <nlohmann/json_fwd.hpp>.
#include <nlohmann/json.hpp>
