// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/net/job_secret.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace elastic::detail {

inline constexpr std::string_view peer_has_no_secret =
    "this node has a secret (secret_file), the other side has none";
inline constexpr std::string_view own_secret_is_missing =
    "the other side has a secret, this node has none (secret_file)";

/// The role in a connection: the side that connected, or the side that accepted.
enum class session_role { client, server };

/// One end of a connection between two agents that have the secret of their job, without its
/// socket: TLS 1.3 with the secret as an external pre-shared key and a fresh Diffie-Hellman
/// exchange (psk_dhe_ke), without certificates, tickets and early data.
///
/// Pass bytes of the other side to `received`. After each call of a member, send the result of
/// `take_output`, even if the call threw. A client starts with output.
///
/// Thread-safety: one strand at a time.
class secure_session {
 public:
  ELASTIC_DECL secure_session(const job_secret& secret, session_role role);
  ELASTIC_DECL ~secure_session();
  secure_session(const secure_session&) = delete;
  secure_session& operator=(const secure_session&) = delete;

  /// Whether the other side has proved that it has the secret.
  bool is_ready() const { return is_ready_; }

  /// Whether the other side has begun to prove it, or has said that it is busy.
  bool is_in_handshake() const { return has_heard_ && !is_ready_; }

  /// Queues bytes for the other side. They wait until it has proved that it has the secret.
  ELASTIC_DECL void send(std::string_view plain);

  /// Takes bytes that have arrived, in pieces of any size, and appends the decrypted bytes to
  /// `plain`. Keeps at most one incomplete record.
  ///
  /// Errors: for a client before it is ready `errc::invalid_argument` if the other side has no
  /// secret or another one; for a server `errc::protocol_violation`; `errc::connection_failed` if
  /// the server is busy or bytes were changed in transit. The session is unusable then.
  ELASTIC_DECL void received(std::string_view bytes, std::string& plain);

  /// The memory that it uses, in bytes, roughly.
  ELASTIC_DECL std::size_t held() const;

  /// The bytes to send now; empty if there are none.
  ELASTIC_DECL std::string take_output();

 private:
  struct engine;

  ELASTIC_DECL void check_first(std::string_view bytes);

  // Keeps the first bytes of a client. Result: whether its first record is complete.
  ELASTIC_DECL bool take_first(std::string_view bytes);
  ELASTIC_DECL void check_first_record(std::string_view message);
  ELASTIC_DECL void shake_hands();
  ELASTIC_DECL void read_all(std::string& plain);
  [[noreturn]] ELASTIC_DECL void refuse();

  // OpenSSL's context refers to it.
  job_secret secret_;
  // A server creates it when the first record is complete, because it takes much more memory than
  // that.
  std::unique_ptr<engine> engine_;
  std::string first_record_;
  session_role role_;
  bool is_ready_ = false;
  bool has_heard_ = false;
  std::string pending_;
  std::string alert_;
};

/// What a side without a secret answers to the first bytes of a side that has one, before it closes
/// the connection.
ELASTIC_DECL std::string_view no_secret_alert();

/// What a server without room for another handshake sends instead of its first answer, before it
/// closes the connection.
ELASTIC_DECL std::string_view busy_alert();

/// What a side with a secret answers to a side that has none, before it closes the connection.
ELASTIC_DECL std::string_view secret_needed_alert();

/// Whether the bytes begin a connection of a side that has a secret. Needs two bytes.
ELASTIC_DECL bool is_secure_greeting(std::string_view bytes);

/// The same for a possible prefix of such bytes.
ELASTIC_DECL bool may_be_secure_greeting(std::string_view bytes);

/// Whether an answer to a side without a secret, of which at least four bytes are there, says that
/// a secret is needed.
ELASTIC_DECL bool is_secret_needed(std::string_view bytes);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/detail/secure_session.ipp>
#endif
