// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// How the library is compiled: with each program that includes it (header-only, the default), or
// once, as `elastic::compiled`, with ELASTIC_SEPARATE_COMPILATION defined for it and its users.
//
// Headers declare functions with ELASTIC_DECL, also within classes: a virtual function that became
// inline only at its definition would make each translation unit emit the whole class. Their
// definitions are in impl/*.ipp, which the headers include in header-only mode and
// <elastic/src.hpp> otherwise.
#if defined(ELASTIC_SEPARATE_COMPILATION)
#define ELASTIC_DECL
#else
#define ELASTIC_HEADER_ONLY 1
#define ELASTIC_DECL inline
#endif

// A program whose translation units take both ways does not link: the symbol has two values, and
// its name is the message. Not seen across shared libraries, nor by link-time optimisation.
#if defined(__ELF__)
#if defined(ELASTIC_HEADER_ONLY)
__asm__(
    ".globl elastic_is_header_only_in_one_object_and_compiled_in_another\n"
    ".set elastic_is_header_only_in_one_object_and_compiled_in_another, 1");
#else
__asm__(
    ".globl elastic_is_header_only_in_one_object_and_compiled_in_another\n"
    ".set elastic_is_header_only_in_one_object_and_compiled_in_another, 2");
#endif
#endif
