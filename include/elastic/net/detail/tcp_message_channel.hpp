// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_tcp.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/task.hpp>
#include <elastic/net/detail/message_channel.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/net/detail/secure_session.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/job_secret.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

/// Messages over a TCP connection. Made by `tcp_message_connector`.
class tcp_message_channel final : public message_channel,
                                  public std::enable_shared_from_this<tcp_message_channel> {
 public:
  /// @param bound   the maximum length of a received message in bytes
  /// @param secret  the secret that the other side must have; messages wait until it has proved
  ///                that, and leave during a call of `receive`
  ELASTIC_DECL tcp_message_channel(asio::ip::tcp::socket connected, std::size_t bound,
                                   const std::optional<job_secret>& secret = std::nullopt);

  /// Sends bytes that are not a message, such as a greeting.
  ELASTIC_DECL void send_raw(std::string_view bytes);
  ELASTIC_DECL void send(std::string message) override;

  /// Errors: also `errc::invalid_argument` if only one side has a secret, or the secrets differ.
  ELASTIC_DECL task<std::string> receive() override;
  ELASTIC_DECL task<void> flush() override;
  ELASTIC_DECL void close() override;
  bool is_in_handshake() const override { return secure_ && secure_->is_in_handshake(); }
  std::string local_address() const override { return local_address_; }
  std::string remote_address() const override { return remote_address_; }

 private:
  ELASTIC_DECL static std::string why(asio_error_code failure);
  ELASTIC_DECL void send_bytes(std::string_view bytes);
  ELASTIC_DECL void take_in(std::string_view bytes);
  ELASTIC_DECL void send_all();

  asio::ip::tcp::socket socket_;
  // Empty if the system does not tell them.
  const std::string local_address_;
  const std::string remote_address_;
  event_flag flushed_;
  std::unique_ptr<secure_session> secure_;
  frame_reader in_;
  std::array<char, 1024> piece_;
  std::string out_;
  bool is_sending_ = false;
  bool has_heard_ = false;
};

/// Connects to a port whose protocol is a greeting followed by messages.
class ELASTIC_EXPORT tcp_message_connector final : public message_connector {
 public:
  ELASTIC_DECL tcp_message_connector(endpoint address, std::string greeting, std::size_t bound,
                                     std::optional<job_secret> secret = std::nullopt);
  ELASTIC_DECL std::string name() const override;
  ELASTIC_DECL task<std::shared_ptr<message_channel>> connect() override;

 private:
  ELASTIC_DECL std::shared_ptr<message_channel> converse(asio::ip::tcp::socket socket) const;

  endpoint at_;
  std::string greeting_;
  std::size_t bound_;
  std::optional<job_secret> secret_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/detail/tcp_message_channel.ipp>
#endif
