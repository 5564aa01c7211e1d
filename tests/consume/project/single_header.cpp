// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#define ELASTIC_SOURCE
#include <elastic/elastic.hpp>
