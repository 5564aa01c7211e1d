// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elastic::test {

#if defined(__has_feature)  // clang's
inline constexpr bool has_thread_sanitizer = __has_feature(thread_sanitizer);
inline constexpr bool has_address_sanitizer = __has_feature(address_sanitizer);
#else
#if defined(__SANITIZE_THREAD__)
inline constexpr bool has_thread_sanitizer = true;
#else
inline constexpr bool has_thread_sanitizer = false;
#endif
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool has_address_sanitizer = true;
#else
inline constexpr bool has_address_sanitizer = false;
#endif
#endif

/// Whether a sanitizer is active. It makes many things ten times slower and keeps freed memory, so
/// tests then repeat things less often.
inline constexpr bool is_sanitized = has_thread_sanitizer || has_address_sanitizer;

}  // namespace elastic::test
