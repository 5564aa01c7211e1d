// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_tcp.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/secure_session.hpp>
#include <elastic/net/job_secret.hpp>
#include <elastic/store/detail/tcp_store_protocol.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::detail {

/// One connection of a client to a TCPStore server: requests are written into `out()` and sent by
/// `flush`, replies are read in their order.
///
/// Errors: what the socket says, as `std::system_error`; `errc::protocol_violation`.
/// Cancellation of all members: all types; the link is then of no use, but see `cancel_wait`.
class tcp_store_link {
 public:
  explicit tcp_store_link(asio::any_io_executor executor) : socket_(std::move(executor)) {}

  /// Connects to the first address that accepts.
  ELASTIC_DECL task<void> connect(std::vector<asio::ip::tcp::endpoint> addresses);

  /// Has everything from now on go to a server that holds the secret, and to no other.
  /// Errors: those of `secure_session::received`.
  ELASTIC_DECL task<void> secure(job_secret secret);

  /// Ends what is under way with `operation_aborted`.
  ELASTIC_DECL void close();

  /// Whether nothing speaks against using the link for a further request: the other end has neither
  /// closed it nor sent what it was not asked for. Never waits.
  ELASTIC_DECL bool is_open();

  /// When it was last used.
  time_point used_at{};

  /// Where requests are written before they are sent.
  std::string& out() { return out_; }

  ELASTIC_DECL task<void> flush();
  ELASTIC_DECL task<char> read_byte();
  ELASTIC_DECL task<std::int64_t> read_number();

  /// @param bound  the most bytes that are taken
  ELASTIC_DECL task<std::string> read_text(std::size_t bound);

  /// Gives up the wait whose reply is due, without waiting for the server's answer: the link's next
  /// user skips it.
  /// Result: whether the link can be used again.
  ELASTIC_DECL bool cancel_wait(const request_writer& write);

 private:
  // The bytes as they go over the socket.
  ELASTIC_DECL std::string enciphered(std::string bytes);
  ELASTIC_DECL void take_in(std::string_view bytes);

  // Each cancelled wait is answered by WAIT_CANCELED, after the STOP_WAITING of one that ended
  // before the server heard of it.
  ELASTIC_DECL task<void> settle();
  ELASTIC_DECL task<char> next_byte();

  // Reads until so many bytes are there.
  ELASTIC_DECL task<void> fill(std::size_t size);

  template <class Integer>
  Integer take_integer() {
    const auto value = load_integer<Integer>(in_.data() + taken_);
    take(sizeof value);
    return value;
  }

  ELASTIC_DECL void take(std::size_t size);

  asio::ip::tcp::socket socket_;
  std::unique_ptr<secure_session> secure_;
  std::string out_;
  std::string in_;
  std::size_t taken_ = 0;
  int cancelled_waits_ = 0;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/detail/impl/tcp_store_link.ipp>
#endif
