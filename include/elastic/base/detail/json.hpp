// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

// The only include of nlohmann/json as a whole, which takes half a second of each unit: definitions
// include it, and headers <nlohmann/json_fwd.hpp>.
#include <nlohmann/json.hpp>

// A value then also knows the one that contains it.
#if defined(JSON_DIAGNOSTICS) && JSON_DIAGNOSTICS
ELASTIC_AGREE(elastic_has_json_diagnostics_in_one_object_and_not_in_another, 1);
#else
ELASTIC_AGREE(elastic_has_json_diagnostics_in_one_object_and_not_in_another, 2);
#endif
