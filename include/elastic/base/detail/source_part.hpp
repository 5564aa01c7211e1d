// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

// The unit that holds the library: all of it, or one of four parts, which the macro
// ELASTIC_SOURCE_PART names by its number. Each part needs the others: a program that lacks one
// does not link, and the name of the undefined symbol says which part it lacks.

#if defined(ELASTIC_SOURCE) && defined(ELASTIC_SOURCE_PART)
#error "ELASTIC_SOURCE is the whole library, ELASTIC_SOURCE_PART one part of it: define one of them"
#elif defined(ELASTIC_SOURCE_PART) && defined(ELASTIC_HEADER_ONLY)
#error "ELASTIC_SOURCE_PART needs ELASTIC_SEPARATE_COMPILATION, defined for the whole program"
#elif defined(ELASTIC_SOURCE_PART)

extern "C" {
extern const char elastic_source_part_1_is_compiled;
extern const char elastic_source_part_2_is_compiled;
extern const char elastic_source_part_3_is_compiled;
extern const char elastic_source_part_4_is_compiled;
#if ELASTIC_SOURCE_PART == 1
const char elastic_source_part_1_is_compiled = 1;
#elif ELASTIC_SOURCE_PART == 2
const char elastic_source_part_2_is_compiled = 1;
#elif ELASTIC_SOURCE_PART == 3
const char elastic_source_part_3_is_compiled = 1;
#elif ELASTIC_SOURCE_PART == 4
const char elastic_source_part_4_is_compiled = 1;
#else
#error "ELASTIC_SOURCE_PART is the number of a part, from 1 to 4"
#endif
}

namespace elastic::detail {

// References that the compiler has to keep.
[[gnu::used]] static const char* const source_parts[] = {
    &elastic_source_part_1_is_compiled, &elastic_source_part_2_is_compiled,
    &elastic_source_part_3_is_compiled, &elastic_source_part_4_is_compiled};

}  // namespace elastic::detail

#endif
