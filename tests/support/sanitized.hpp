// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elastic::test {

/// Whether a sanitizer watches, which takes ten times as long for much, and keeps memory that was
/// given back. What is done many times is done less often then.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
inline constexpr bool is_sanitized = true;
#else
inline constexpr bool is_sanitized = false;
#endif

}  // namespace elastic::test
