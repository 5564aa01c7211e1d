// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/elastic.hpp>

// The library as the other translation unit sees it; both must see the same.
const std::error_category* category_in_second();

// Whether the backend of an opt-in module is there if the program adds that.
bool adds_module_in_second();
bool waits_an_hour_in_second();
