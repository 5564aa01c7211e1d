// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/elastic.hpp>

// What the other translation unit sees of the library; both must see the same.
const std::error_category* category_in_second();

// Whether the backend of an opt-in module is there if the program adds that.
bool adds_module_in_second();
