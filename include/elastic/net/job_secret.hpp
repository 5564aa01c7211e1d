// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace elastic {

namespace detail {
struct internals;

struct job_secret_state;

/// The key material that OpenSSL derives from a secret, once for all of its sessions.
/// Errors: `errc::invalid_argument` if the build has no TLS.
ELASTIC_DECL std::shared_ptr<const job_secret_state> make_job_secret_state(std::string_view bytes);

/// The HMAC-SHA-256 of a text, in hexadecimal digits. Errors: those of OpenSSL.
ELASTIC_DECL std::string proof_of(const job_secret_state& state, std::string_view text);

}  // namespace detail

/// A job's secret: an agent that has it may take part.
///
/// Copies share one state. Neither a member nor a message of this library reveals the bytes.
///
/// Thread-safety: may be used from any number of threads at a time.
class job_secret {
 public:
  /// @param bytes  `limits::job_secret_least_bytes` to `limits::job_secret_bytes` random bytes: an
  ///               attacker who records a handshake can test guesses
  /// Errors: `errc::invalid_argument`, also if the build has no TLS.
  ELASTIC_DECL explicit job_secret(std::string_view bytes);

  /// The secret in a file, without line ends at its end. The file must belong to this user or to
  /// root, and nobody else may read or write it.
  /// Errors: `errc::invalid_argument`, naming the file and what is wrong with it.
  ELASTIC_DECL static job_secret read(const std::string& path);

  /// A proof that the author of a text has the secret: 64 hexadecimal digits.
  std::string sign(std::string_view text) const { return detail::proof_of(*state_, text); }

  /// Whether `proof` belongs to the text, compared in constant time.
  ELASTIC_DECL bool is_signed(std::string_view text, std::string_view proof) const;

 private:
  friend detail::internals;

  std::shared_ptr<const detail::job_secret_state> state_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/impl/job_secret.ipp>
#endif
