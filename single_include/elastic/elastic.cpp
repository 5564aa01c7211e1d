// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The definitions of the library, for programs that compile it once and define
// ELASTIC_SEPARATE_COMPILATION in all units. Made by scripts/amalgamate.py: do not edit it.
//
// Compiled as it is, this file holds every module and takes much memory. Four units with
// ELASTIC_SOURCE_PART from 1 to 4 hold the core, and each opt-in module whose ELASTIC_WITH_<NAME>
// is defined in all four.

#if !defined(ELASTIC_SEPARATE_COMPILATION)
#define ELASTIC_SEPARATE_COMPILATION 1
#endif
#if !defined(ELASTIC_SOURCE) && !defined(ELASTIC_SOURCE_PART)
#define ELASTIC_SOURCE 1
#endif
#include "elastic.hpp"
