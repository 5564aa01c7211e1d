// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

namespace elastic::detail {

/// A random source: seeded by the machine, or by a test that needs a reproducible run.
///
/// Thread-safety: one thread at a time.
class random_source {
 public:
  ELASTIC_DECL random_source();
  explicit random_source(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t next() { return engine_(); }

  /// A number in [0, bound); `bound` must not be 0.
  ELASTIC_DECL std::uint64_t below(std::uint64_t bound);

 private:
  std::mt19937_64 engine_;
};

/// A random UUID (RFC 4122, version 4): the run id if the user chose none.
ELASTIC_DECL std::string random_uuid(random_source& random);
ELASTIC_DECL std::string random_uuid();

/// `length` characters of [a-z0-9_]: the unique part of a directory name.
ELASTIC_DECL std::string random_name(random_source& random, std::size_t length);
ELASTIC_DECL std::string random_name(std::size_t length);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/impl/random.ipp>
#endif
