// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/detail/secure_session.hpp>

#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#if defined(ELASTIC_HAS_TLS)
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>

ELASTIC_AGREE(elastic_has_tls_in_one_object_and_not_in_another, 1);
#else
ELASTIC_AGREE(elastic_has_tls_in_one_object_and_not_in_another, 2);
#endif

namespace elastic::detail {

// A TLS record begins with its type and the first byte of its version.
inline constexpr char alert_record = 0x15;
inline constexpr char handshake_record = 0x16;
inline constexpr char record_version = 0x03;

// Fatal alerts: protocol_version answers input that is not TLS; insufficient_security is the answer
// of a side without a secret, and no server that has one sends it. A busy server sends
// internal_error, as OpenSSL does when it has no memory.
inline constexpr int insufficient_security = 71;
inline constexpr int internal_error = 80;
inline constexpr std::string_view secret_needed_record("\x15\x03\x03\x00\x02\x02\x46", 7);
inline constexpr std::string_view no_secret_record("\x15\x03\x03\x00\x02\x02\x47", 7);
inline constexpr std::string_view busy_record("\x15\x03\x03\x00\x02\x02\x50", 7);

ELASTIC_DECL std::string_view no_secret_alert() { return no_secret_record; }

ELASTIC_DECL std::string_view secret_needed_alert() { return secret_needed_record; }

ELASTIC_DECL std::string_view busy_alert() { return busy_record; }

ELASTIC_DECL bool is_secure_greeting(std::string_view bytes) {
  return bytes.size() >= 2 && may_be_secure_greeting(bytes);
}

ELASTIC_DECL bool may_be_secure_greeting(std::string_view bytes) {
  constexpr std::array<char, 2> greeting = {handshake_record, record_version};
  const std::size_t length = std::min(bytes.size(), greeting.size());
  return bytes.substr(0, length) == std::string_view(greeting.data(), length);
}

ELASTIC_DECL bool is_secret_needed(std::string_view bytes) {
  // Taken as the length of a message, these bytes exceed every limit.
  return bytes.size() >= 4 && bytes[0] == alert_record && bytes[1] == record_version &&
         bytes[3] == 0;
}

#if defined(ELASTIC_HAS_TLS)

inline constexpr std::string_view psk_identity = "elastic agent 1";
inline constexpr std::size_t psk_bytes = 32;

struct context_deleter {
  void operator()(SSL_CTX* context) const { ::SSL_CTX_free(context); }
};
using context_pointer = std::unique_ptr<SSL_CTX, context_deleter>;

struct job_secret_state {
  job_secret_state() = default;
  job_secret_state(const job_secret_state&) = delete;
  job_secret_state& operator=(const job_secret_state&) = delete;
  ~job_secret_state() { ::OPENSSL_cleanse(key.data(), key.size()); }

  std::array<unsigned char, psk_bytes> key{};
  context_pointer client;
  context_pointer server;
};

[[noreturn]] inline void throw_busy() {
  throw error(errc::connection_failed, "the other side has no room for another handshake now");
}

[[noreturn]] inline void throw_no_openssl() {
  throw error(errc::connection_failed, "OpenSSL has no memory left, or no TLS 1.3");
}

/// Result: null if OpenSSL has no memory.
inline SSL_SESSION* session_of_key(SSL* connection) {
  const auto* state =
      static_cast<const job_secret_state*>(SSL_CTX_get_app_data(::SSL_get_SSL_CTX(connection)));
  constexpr unsigned char aes_128_gcm_sha256[] = {0x13, 0x01};
  const SSL_CIPHER* cipher = ::SSL_CIPHER_find(connection, aes_128_gcm_sha256);
  SSL_SESSION* session = ::SSL_SESSION_new();
  const bool is_made =
      session != nullptr && cipher != nullptr &&
      ::SSL_SESSION_set1_master_key(session, state->key.data(), state->key.size()) == 1 &&
      ::SSL_SESSION_set_cipher(session, cipher) == 1 &&
      ::SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1;
  if (is_made) return session;
  ::SSL_SESSION_free(session);
  return nullptr;
}

/// OpenSSL's callback for the key of a client.
inline int use_psk(SSL* connection, const EVP_MD* digest, const unsigned char** identity,
                   std::size_t* size, SSL_SESSION** session) {
  *session = nullptr;
  if (digest != nullptr && ::EVP_MD_get_type(digest) != NID_sha256) return 1;
  *session = session_of_key(connection);
  if (*session == nullptr) return 0;
  *identity = reinterpret_cast<const unsigned char*>(psk_identity.data());
  *size = psk_identity.size();
  return 1;
}

/// OpenSSL's callback for the key of a server.
inline int find_psk(SSL* connection, const unsigned char* identity, std::size_t size,
                    SSL_SESSION** session) {
  *session = nullptr;
  if (std::string_view(reinterpret_cast<const char*>(identity), size) != psk_identity) return 1;
  *session = session_of_key(connection);
  return *session != nullptr ? 1 : 0;
}

inline context_pointer make_context(job_secret_state& state, session_role role) {
  const bool is_server = role == session_role::server;
  context_pointer made(::SSL_CTX_new(is_server ? ::TLS_server_method() : ::TLS_client_method()));
  SSL_CTX* context = made.get();
  const bool is_set =
      context != nullptr && SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
      SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
      ::SSL_CTX_set_ciphersuites(context, "TLS_AES_128_GCM_SHA256") == 1 &&
      SSL_CTX_set1_groups_list(context, "X25519:P-256") == 1 &&
      ::SSL_CTX_set_num_tickets(context, 0) == 1 && ::SSL_CTX_set_max_early_data(context, 0) == 1;
  if (!is_set) throw_no_openssl();
  ::SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_app_data(context, &state);
  if (is_server) {
    ::SSL_CTX_set_psk_find_session_callback(context, &find_psk);
  } else {
    // There are no trusted authorities, so no certificate is accepted.
    ::SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
    ::SSL_CTX_set_psk_use_session_callback(context, &use_psk);
  }
  return made;
}

ELASTIC_DECL std::shared_ptr<const job_secret_state> make_job_secret_state(std::string_view bytes) {
  // Derives a separate key, so that the bytes themselves serve as no other key.
  constexpr std::string_view label = "elastic job secret 1";
  const auto state = new_shared<job_secret_state>();
  unsigned int size = 0;
  const unsigned char* made = ::HMAC(::EVP_sha256(), bytes.data(), static_cast<int>(bytes.size()),
                                     reinterpret_cast<const unsigned char*>(label.data()),
                                     label.size(), state->key.data(), &size);
  if (made == nullptr || size != psk_bytes) throw_no_openssl();
  state->client = make_context(*state, session_role::client);
  state->server = make_context(*state, session_role::server);
  return state;
}

ELASTIC_DECL std::string proof_of(const job_secret_state& state, std::string_view text) {
  constexpr std::string_view label = "elastic record 1\n";
  const std::string labelled = std::string(label) + std::string(text);
  std::array<unsigned char, psk_bytes> made{};
  unsigned int size = 0;
  const unsigned char* done =
      ::HMAC(::EVP_sha256(), state.key.data(), static_cast<int>(state.key.size()),
             reinterpret_cast<const unsigned char*>(labelled.data()), labelled.size(), made.data(),
             &size);
  if (done == nullptr || size != psk_bytes) throw_no_openssl();
  std::string digits;
  for (const unsigned char byte : made) digits += fmt::format("{:02x}", byte);
  return digits;
}

struct secure_session::engine {
  struct deleter {
    void operator()(SSL* freed) const { ::SSL_free(freed); }
  };

  engine(const job_secret& secret, session_role role)
      : engine(internals::state_of(secret), role) {}

  engine(const job_secret_state& keys, session_role role)
      : connection(::SSL_new(role == session_role::client ? keys.client.get()
                                                          : keys.server.get())) {
    BIO* input = ::BIO_new(::BIO_s_mem());
    BIO* out = ::BIO_new(::BIO_s_mem());
    if (connection == nullptr || input == nullptr || out == nullptr) {
      ::BIO_free(input);
      ::BIO_free(out);
      throw_no_openssl();
    }
    ::SSL_set_bio(connection.get(), input, out);
    if (role == session_role::client) {
      ::SSL_set_connect_state(connection.get());
    } else {
      ::SSL_set_accept_state(connection.get());
    }
  }

  bool wants_more(int result) const {
    return ::SSL_get_error(connection.get(), result) == SSL_ERROR_WANT_READ;
  }

  std::unique_ptr<SSL, deleter> connection;
};

ELASTIC_DECL secure_session::secure_session(const job_secret& secret, session_role role)
    : secret_(secret), role_(role) {
  if (role == session_role::server) return;
  engine_ = std::make_unique<engine>(secret_, role_);
  shake_hands();
}

ELASTIC_DECL secure_session::~secure_session() = default;

ELASTIC_DECL void secure_session::send(std::string_view plain) {
  if (!is_ready_) {
    pending_.append(plain);
    return;
  }
  if (plain.empty()) return;
  std::size_t sent = 0;
  ::ERR_clear_error();
  const int result = ::SSL_write_ex(engine_->connection.get(), plain.data(), plain.size(), &sent);
  // A write to memory cannot be incomplete.
  if (result != 1 || sent != plain.size()) refuse();
}

ELASTIC_DECL void secure_session::received(std::string_view bytes, std::string& plain) {
  if (bytes.empty()) return;
  if (!std::exchange(has_heard_, true)) check_first(bytes);
  std::string first_record;
  if (!engine_) {
    if (!take_first(bytes)) return;
    first_record = std::exchange(first_record_, {});
    bytes = first_record;
    engine_ = std::make_unique<engine>(secret_, role_);
  }
  std::size_t written = 0;
  BIO* input = ::SSL_get_rbio(engine_->connection.get());
  if (::BIO_write_ex(input, bytes.data(), bytes.size(), &written) != 1) throw_no_openssl();
  if (!is_ready_) shake_hands();
  if (is_ready_) read_all(plain);
}

ELASTIC_DECL bool secure_session::take_first(std::string_view bytes) {
  constexpr std::size_t header = 5;
  first_record_.append(bytes);
  if (first_record_.size() < header) return false;
  const auto high = static_cast<unsigned char>(first_record_[3]);
  const auto low = static_cast<unsigned char>(first_record_[4]);
  const std::size_t whole = header + (std::size_t{high} << 8 | low);
  if (whole > limits::first_message_bytes) {
    throw error(errc::protocol_violation,
                fmt::format("its first TLS record has {} bytes; up to {} are taken", whole,
                            limits::first_message_bytes));
  }
  if (first_record_.size() < whole) return false;
  check_first_record(std::string_view(first_record_).substr(header, whole - header));
  return true;
}

ELASTIC_DECL void secure_session::check_first_record(std::string_view message) {
  // OpenSSL takes memory for a message as long as its header says, up to 128 KiB.
  constexpr std::size_t header = 4;
  constexpr char client_hello = 1;
  const auto byte = [&](std::size_t index) {
    return std::size_t{static_cast<unsigned char>(message[index])};
  };
  if (message.size() >= header && message[0] == client_hello &&
      header + (byte(1) << 16 | byte(2) << 8 | byte(3)) == message.size()) {
    return;
  }
  alert_ = secret_needed_record;
  throw error(errc::protocol_violation, "its first TLS record is not a whole ClientHello");
}

ELASTIC_DECL std::size_t secure_session::held() const {
  // The memory that OpenSSL allocates, measured with version 3.0: for a connection, during the
  // handshake, and for an incomplete record.
  constexpr std::size_t for_connection = 15 * 1024;
  constexpr std::size_t for_handshake = 45 * 1024;
  constexpr std::size_t for_record = 28 * 1024;
  std::size_t bytes = pending_.capacity() + first_record_.capacity();
  if (!engine_) return bytes;
  bytes += for_connection;
  if (!is_ready_) return bytes + for_handshake;
  return ::SSL_has_pending(engine_->connection.get()) == 1 ? bytes + for_record : bytes;
}

ELASTIC_DECL void secure_session::read_all(std::string& plain) {
  std::array<char, 16 * 1024> piece;
  for (;;) {
    std::size_t size = 0;
    ::ERR_clear_error();
    const int result = ::SSL_read_ex(engine_->connection.get(), piece.data(), piece.size(), &size);
    if (result == 1) {
      plain.append(piece.data(), size);
    } else if (engine_->wants_more(result)) {
      return;
    } else {
      refuse();
    }
  }
}

ELASTIC_DECL std::string secure_session::take_output() {
  std::string output = std::exchange(alert_, {});
  if (!engine_) return output;
  BIO* out = ::SSL_get_wbio(engine_->connection.get());
  const std::size_t size = ::BIO_ctrl_pending(out);
  if (size == 0) return output;
  const std::size_t before = output.size();
  output.resize(before + size);
  std::size_t read = 0;
  ::BIO_read_ex(out, output.data() + before, size, &read);
  output.resize(before + read);
  return output;
}

// Input that is not TLS does not reach OpenSSL, so that the answer to it is always the same.
ELASTIC_DECL void secure_session::check_first(std::string_view bytes) {
  if (bytes[0] == handshake_record) return;
  if (role_ == session_role::server) {
    alert_ = secret_needed_record;
    throw error(errc::protocol_violation, "it has no secret, and this job has one");
  }
  if (bytes[0] == alert_record) return;
  throw error(errc::invalid_argument, std::string(peer_has_no_secret));
}

ELASTIC_DECL void secure_session::shake_hands() {
  ::ERR_clear_error();
  const int result = ::SSL_do_handshake(engine_->connection.get());
  if (result != 1) {
    if (engine_->wants_more(result)) return;
    refuse();
  }
  // A handshake could also succeed by a certificate, but only the key counts.
  if (::SSL_session_reused(engine_->connection.get()) != 1) refuse();
  is_ready_ = true;
  send(std::exchange(pending_, {}));
}

ELASTIC_DECL void secure_session::refuse() {
  const unsigned long failure = ::ERR_peek_last_error();
  const char* reason = ::ERR_reason_error_string(failure);
  const std::string text = reason != nullptr ? reason : "the other side has ended it";
  ::ERR_clear_error();
  if (is_ready_) {
    throw error(errc::connection_failed, fmt::format("the connection broke: TLS: {}", text));
  }
  if (role_ == session_role::server) {
    throw error(errc::protocol_violation,
                fmt::format("it does not hold this job's secret (TLS: {})", text));
  }
  const int alert = ERR_GET_REASON(failure) - SSL_AD_REASON_OFFSET;
  if (alert == internal_error) throw_busy();
  if (alert == insufficient_security) {
    throw error(errc::invalid_argument, std::string(peer_has_no_secret));
  }
  throw error(errc::invalid_argument,
              fmt::format("the secret of this node (secret_file) is not that of the "
                          "other side (TLS: {})",
                          text));
}

#else

struct job_secret_state {};

ELASTIC_DECL std::shared_ptr<const job_secret_state> make_job_secret_state(std::string_view) {
  throw error(errc::invalid_argument,
              "a job's secret cannot be used: this program was built without TLS "
              "(ELASTIC_WITH_TLS, which needs OpenSSL)");
}

ELASTIC_DECL std::string proof_of(const job_secret_state&, std::string_view) { return {}; }

// Without TLS there is no secret, and so no session.
struct secure_session::engine {};

ELASTIC_DECL secure_session::secure_session(const job_secret& secret, session_role role)
    : secret_(secret), role_(role) {
  refuse();
}
ELASTIC_DECL secure_session::~secure_session() = default;
ELASTIC_DECL void secure_session::send(std::string_view) {}
ELASTIC_DECL void secure_session::received(std::string_view, std::string&) {}
ELASTIC_DECL std::string secure_session::take_output() { return {}; }
ELASTIC_DECL bool secure_session::take_first(std::string_view) { return false; }
ELASTIC_DECL std::size_t secure_session::held() const { return 0; }
ELASTIC_DECL void secure_session::read_all(std::string&) {}
ELASTIC_DECL void secure_session::check_first(std::string_view) {}
ELASTIC_DECL void secure_session::shake_hands() {}
ELASTIC_DECL void secure_session::refuse() {
  throw error(errc::invalid_argument, "this program was built without TLS");
}

#endif

}  // namespace elastic::detail
