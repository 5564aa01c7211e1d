// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/version.hpp>

// How a program compiles the library: in every translation unit that includes it (header-only, the
// default), or once, as `elastic::compiled`, with ELASTIC_SEPARATE_COMPILATION defined for the
// library and its users; ELASTIC_DYN_LINK is defined as well if that is a shared library.
//
// Headers declare functions with ELASTIC_DECL, even within classes: if a virtual function became
// inline only at its definition, each translation unit would emit the whole class. The
// definitions are in impl/*.ipp, which the headers include in header-only mode and
// <elastic/src.hpp> otherwise.
//
// The compiled library hides its symbols. A shared one exports functions with ELASTIC_DECL, and
// the types and virtual tables of classes with ELASTIC_EXPORT.
#if defined(ELASTIC_DYN_LINK)
#define ELASTIC_EXPORT __attribute__((visibility("default")))
#else
#define ELASTIC_EXPORT
#endif
#if defined(ELASTIC_SEPARATE_COMPILATION)
#define ELASTIC_DECL ELASTIC_EXPORT
#else
#define ELASTIC_HEADER_ONLY 1
#define ELASTIC_DECL inline
#endif
#if defined(ELASTIC_DYN_LINK) && defined(ELASTIC_HEADER_ONLY)
#error "ELASTIC_DYN_LINK is for a compiled library: define ELASTIC_SEPARATE_COMPILATION, too"
#endif

// A property in which all objects of a program have to agree: objects that differ do not link,
// because the symbol has two values, and its name is the message. The linker does not see this
// across shared libraries, nor with link-time optimisation. The macros in which objects have to
// agree are listed as AGREED in scripts/tidy.py.
#if defined(__ELF__)
#define ELASTIC_AGREE(symbol, value) ELASTIC_SET_SYMBOL(symbol, value)
#define ELASTIC_SET_SYMBOL(symbol, value) \
  __asm__(".globl " #symbol "\n.hidden " #symbol "\n.set " #symbol ", " #value)
#else
#define ELASTIC_AGREE(symbol, value) static_assert((value) > 0)
#endif

ELASTIC_AGREE(elastic_has_one_version_in_one_object_and_another_in_another,
              ELASTIC_VERSION_MAJOR * 10000 + ELASTIC_VERSION_MINOR * 100 + ELASTIC_VERSION_PATCH);
#if defined(ELASTIC_HEADER_ONLY)
ELASTIC_AGREE(elastic_is_header_only_in_one_object_and_compiled_in_another, 1);
#else
ELASTIC_AGREE(elastic_is_header_only_in_one_object_and_compiled_in_another, 2);
#endif
#if defined(ELASTIC_USE_BOOST_ASIO)
ELASTIC_AGREE(elastic_is_on_boost_asio_in_one_object_and_on_standalone_asio_in_another, 1);
#else
ELASTIC_AGREE(elastic_is_on_boost_asio_in_one_object_and_on_standalone_asio_in_another, 2);
#endif
// Containers of the standard library, which are members of most classes here, have another layout.
#if defined(_GLIBCXX_DEBUG)
ELASTIC_AGREE(elastic_has_debug_containers_in_one_object_and_not_in_another, 1);
#else
ELASTIC_AGREE(elastic_has_debug_containers_in_one_object_and_not_in_another, 2);
#endif
