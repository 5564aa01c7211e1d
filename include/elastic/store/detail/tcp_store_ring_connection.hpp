// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/ring.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/detail/tcp_store_bounds.hpp>
#include <elastic/store/detail/tcp_store_connection.hpp>
#include <elastic/store/detail/tcp_store_legacy_dialect.hpp>

#include <cstddef>
#include <memory>
#include <string>

namespace elastic::detail {

/// The transport over an io_uring: the kernel receives without a call each time, and one call
/// submits what all connections send in one turn of the loop.
class tcp_store_ring_connection final : public tcp_store_connection {
 public:
  /// @param fd  a socket in blocking mode, which this object closes
  ELASTIC_DECL tcp_store_ring_connection(int fd, std::shared_ptr<ring> io, store_strand strand,
                                         std::shared_ptr<key_value_engine> engine,
                                         const tcp_store_bounds& bounds,
                                         tcp_store_legacy_dialect dialect,
                                         tcp_store_accounts accounts,
                                         gone_handler on_gone);

  ~tcp_store_ring_connection() override { ::close(fd_); }

 private:
  ELASTIC_DECL void receive() override;
  ELASTIC_DECL void on_received(const ring::completion& done) noexcept;
  ELASTIC_DECL void transmit(std::string& output) override;
  ELASTIC_DECL void on_sent(const ring::completion& done) noexcept;
  std::size_t unsent() const override { return on_the_way_.size(); }
  ELASTIC_DECL void shut() override;

  bool is_busy() const override { return receiving_.running() || sending_.running(); }

  int descriptor() const override { return fd_; }

  std::shared_ptr<ring> ring_;
  int fd_;
  std::string on_the_way_;
  ring::member_operation<&tcp_store_ring_connection::on_received> receiving_{*this};
  ring::member_operation<&tcp_store_ring_connection::on_sent> sending_{*this};
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/store/detail/tcp_store_ring_connection.ipp>
#endif
