// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// The only file that knows which version of Catch2 the tests use.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <string>

namespace elastic::test {

/// Matches a text that contains `part`: `REQUIRE_THROWS_WITH(f(), contains_text("port"))`.
inline auto contains_text(const std::string& part) {
#if __has_include(<catch2/catch_all.hpp>)
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Matchers::Contains(part);
#endif
}

/// Equal up to rounding.
inline auto approximately(double value) {
#if __has_include(<catch2/catch_all.hpp>)
  return Catch::Approx(value);
#else
  return Catch::Detail::Approx(value);
#endif
}

}  // namespace elastic::test
