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

/// One connection of a client to a TCPStore server. Write requests into `out()` and send them with
/// `flush`; read the replies in the same order.
///
/// Errors: those of the socket, as `std::system_error`; `errc::protocol_violation`.
/// Cancellation of all members: all types; the link is then unusable, but see `cancel_wait`.
class tcp_store_link {
 public:
  explicit tcp_store_link(asio::any_io_executor executor) : socket_(std::move(executor)) {}

  /// Connects to the first address that accepts.
  ELASTIC_DECL task<void> connect(std::vector<asio::ip::tcp::endpoint> addresses);

  /// From now on communicates only with a server that has the secret.
  /// Errors: those of `secure_session::received`.
  ELASTIC_DECL task<void> secure(job_secret secret);

  /// Ends pending operations with `operation_aborted`.
  ELASTIC_DECL void close();

  /// Whether the link can be used for another request: the other side has neither closed it nor
  /// sent anything unexpected. Never waits.
  ELASTIC_DECL bool is_open();

  /// When it was last used.
  time_point used_at{};

  /// The buffer for requests that are not sent yet.
  std::string& out() { return out_; }

  ELASTIC_DECL task<void> flush();
  ELASTIC_DECL task<char> read_byte();
  ELASTIC_DECL task<std::int64_t> read_number();

  /// @param bound  the maximum length in bytes
  ELASTIC_DECL task<std::string> read_text(std::size_t bound);

  /// Gives up the wait whose reply is due, without waiting for the server's answer: the next user
  /// of the link skips it.
  /// Result: whether the link is still usable.
  ELASTIC_DECL bool cancel_wait(const request_writer& write);

 private:
  // The bytes to send over the socket.
  ELASTIC_DECL std::string enciphered(std::string bytes);
  ELASTIC_DECL void take_in(std::string_view bytes);

  // The server answers each cancelled wait with WAIT_CANCELED. STOP_WAITING precedes it if the wait
  // ended before the server received the cancellation.
  ELASTIC_DECL task<void> settle();
  ELASTIC_DECL task<char> next_byte();

  // Reads until this many bytes are available.
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
#include <elastic/store/detail/tcp_store_link.ipp>
#endif
