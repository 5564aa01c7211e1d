// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/detail/tls_stream.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/asio_ssl.hpp>
#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/error.hpp>

#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#if defined(ELASTIC_HAS_TLS)
ELASTIC_AGREE(elastic_has_tls_in_one_object_and_not_in_another, 1);
#else
ELASTIC_AGREE(elastic_has_tls_in_one_object_and_not_in_another, 2);
#endif

namespace elastic::detail {

#if defined(ELASTIC_HAS_TLS)

/// The file of the certificates that this system trusts, if OpenSSL does not find it itself:
/// OpenSSL knows the path of the distribution for which it was built, but a program that contains
/// it also runs on others. Empty: OpenSSL finds its own file, the environment names another one, or
/// there is none.
inline std::string authorities_elsewhere() {
  const auto is_there = [](const char* path) {
    std::error_code cannot_tell;
    return std::filesystem::exists(path, cannot_tell);
  };
  const bool was_told = std::getenv(::X509_get_default_cert_file_env()) != nullptr ||
                        std::getenv(::X509_get_default_cert_dir_env()) != nullptr;
  if (was_told || is_there(::X509_get_default_cert_file()) ||
      is_there(::X509_get_default_cert_dir())) {
    return {};
  }
  for (const char* file : {"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
                           "/etc/ssl/ca-bundle.pem"}) {
    if (is_there(file)) return file;
  }
  return {};
}

class tls_stream final : public byte_stream {
 public:
  static task<std::unique_ptr<byte_stream>> greet(asio::ip::tcp::socket connected, std::string host,
                                                  tls_options options) {
    const std::function<asio::ssl::context()> reading = [options] { return trusted(options); };
    asio::ssl::context context = co_await run_blocking<asio::ssl::context>(reading);
    std::unique_ptr<tls_stream> made(new tls_stream(std::move(connected), std::move(context)));
    made->expect(host);
    auto [failure] =
        co_await made->stream_.async_handshake(asio::ssl::stream_base::client, as_result);
    if (failure == asio::error::operation_aborted) throw asio_system_error(failure);
    if (failure && is_broken(failure)) {
      throw error(errc::connection_failed,
                  fmt::format("the TLS handshake broke off: {}", failure.message()));
    }
    if (failure) {
      throw error(errc::invalid_argument, fmt::format("the TLS handshake failed: {}{}",
                                                      failure.message(), made->why_untrusted()));
    }
    co_return made;
  }

  static void check(const tls_options& options) { static_cast<void>(trusted(options)); }

  task<std::size_t> read_some(asio::mutable_buffer buffer) override {
    auto [failure, size] = co_await stream_.async_read_some(buffer, as_result);
    if (failure == asio::error::eof || failure == asio::ssl::error::stream_truncated) co_return 0;
    throw_if(failure);
    co_return size;
  }

  task<void> write(std::string bytes) override {
    auto [failure, size] = co_await asio::async_write(stream_, asio::buffer(bytes), as_result);
    throw_if(failure);
  }

  void close() override {
    asio_error_code ignored;
    stream_.next_layer().close(ignored);
  }

 private:
  tls_stream(asio::ip::tcp::socket connected, asio::ssl::context context)
      : context_(std::move(context)), stream_(std::move(connected), context_) {}

  /// Loads the files of the options.
  static asio::ssl::context trusted(const tls_options& options) {
    asio::ssl::context context(asio::ssl::context::tls_client);
    asio_error_code failure;
    ::SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
    context.set_verify_mode(asio::ssl::verify_peer, failure);
    if (options.authorities.empty()) {
      context.set_default_verify_paths(failure);
      const std::string elsewhere = authorities_elsewhere();
      if (!elsewhere.empty()) context.load_verify_file(elsewhere, failure);
    } else {
      context.load_verify_file(options.authorities, failure);
      check_file(options.authorities, failure);
    }
    if (options.certificate.empty()) return context;
    context.use_certificate_chain_file(options.certificate, failure);
    check_file(options.certificate, failure);
    const std::string& key = options.key.empty() ? options.certificate : options.key;
    context.use_private_key_file(key, asio::ssl::context::pem, failure);
    if (failure && options.key.empty()) {
      throw error(errc::invalid_argument,
                  fmt::format("cert needs key: the file '{}' holds no private key", key));
    }
    check_file(key, failure);
    return context;
  }

  static void check_file(const std::string& file, asio_error_code failure) {
    if (!failure) return;
    throw error(errc::invalid_argument,
                fmt::format("the file '{}' cannot be used for TLS: {}", file, failure.message()));
  }

  void expect(const std::string& host) {
    asio_error_code not_an_address;
    asio::ip::make_address(host, not_an_address);
    // A server with several names needs the one that the client uses; an address is not a name.
    if (not_an_address) ::SSL_set_tlsext_host_name(stream_.native_handle(), host.c_str());
    stream_.set_verify_callback(asio::ssl::host_name_verification(host));
  }

  std::string why_untrusted() {
    const long verdict = ::SSL_get_verify_result(stream_.native_handle());
    if (verdict == X509_V_OK) return "";
    return fmt::format(" ({})", ::X509_verify_cert_error_string(verdict));
  }

  // Whether the failure is below TLS: another attempt may succeed.
  static bool is_broken(asio_error_code failure) {
    return failure.category() == asio::error::get_system_category() ||
           failure == asio::error::eof || failure == asio::ssl::error::stream_truncated;
  }

  void throw_if(asio_error_code failure) {
    if (!failure) return;
    if (failure == asio::error::operation_aborted && stream_.next_layer().is_open()) {
      throw asio_system_error(failure);
    }
    throw error(errc::connection_failed,
                fmt::format("the connection broke: {}", failure.message()));
  }

  asio::ssl::context context_;
  asio::ssl::stream<asio::ip::tcp::socket> stream_;
};

ELASTIC_DECL task<std::unique_ptr<byte_stream>> greet_by_tls(asio::ip::tcp::socket connected,
                                                             std::string host,
                                                             tls_options options) {
  return tls_stream::greet(std::move(connected), std::move(host), std::move(options));
}

ELASTIC_DECL void check_tls_options(const tls_options& options) { tls_stream::check(options); }

#else

[[noreturn]] inline void throw_no_tls() {
  throw error(errc::invalid_argument,
              "https is not available: this program was built without TLS (ELASTIC_WITH_TLS, "
              "which needs OpenSSL)");
}

ELASTIC_DECL task<std::unique_ptr<byte_stream>> greet_by_tls(asio::ip::tcp::socket, std::string,
                                                             tls_options) {
  throw_no_tls();
}

ELASTIC_DECL void check_tls_options(const tls_options&) { throw_no_tls(); }

#endif

}  // namespace elastic::detail
