// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_tcp.hpp>
#include <elastic/base/task.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/detail/tcp_store_bounds.hpp>
#include <elastic/store/detail/tcp_store_connection.hpp>
#include <elastic/store/detail/tcp_store_legacy_dialect.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace elastic::detail {

/// The transport over Asio's reactor.
class tcp_store_reactor_connection final : public tcp_store_connection {
 public:
  using socket = asio::basic_stream_socket<asio::ip::tcp, store_strand>;

  /// @param scratch  a buffer that the connections of a strand share, for bytes that exceed the
  ///                 small buffer of each
  ELASTIC_DECL tcp_store_reactor_connection(socket peer, std::span<char> scratch,
                                            std::shared_ptr<key_value_engine> engine,
                                            const tcp_store_bounds& bounds,
                                            tcp_store_legacy_dialect dialect,
                                            tcp_store_accounts accounts,
                                            gone_handler on_gone);

 private:
  ELASTIC_DECL void receive() override;
  ELASTIC_DECL void on_read(asio_error_code failure, std::size_t size);

  // A client that pipelines fills the small buffer; the rest is read in large pieces.
  ELASTIC_DECL void read_more();
  ELASTIC_DECL void transmit(std::string& output) override;
  ELASTIC_DECL void send_rest();
  ELASTIC_DECL void on_sent(asio_error_code failure, std::size_t size);
  std::size_t unsent() const override { return unsent_.size() - sent_; }
  ELASTIC_DECL void shut() override;

  bool is_busy() const override { return is_receiving_ || is_sending_; }

  ELASTIC_DECL int descriptor() const override;

  socket socket_;
  std::span<char> scratch_;
  std::array<char, 512> buffer_;
  bool is_receiving_ = false;
  std::string unsent_;
  std::size_t sent_ = 0;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/detail/tcp_store_reactor_connection.ipp>
#endif
