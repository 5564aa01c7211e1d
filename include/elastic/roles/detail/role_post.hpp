// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/run/role_link.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/contract/detail/roles_document.hpp>
#include <elastic/net/detail/port_lease.hpp>
#include <elastic/roles/detail/role_board.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace elastic::detail {

/// Connects the agent of a role, on the agent's strand, to the board of the job, on the group's
/// strand: chooses the ports of the workers, and publishes the addresses of the role's workers.
///
/// Thread-safety: that of role_link.
class role_post final : public role_link, public std::enable_shared_from_this<role_post> {
 public:
  /// The name and the address of this node for others.
  struct place {
    std::string node;
    std::string address;
  };

  /// @param role     the index of the role on the board
  /// @param workers  the number of this node's workers
  /// @param ports    the names of the ports that each worker gets
  ELASTIC_DECL role_post(std::shared_ptr<role_board> board, std::size_t role, int workers,
                         std::set<std::string> ports, place here);

  /// A running worker of this node.
  struct running {
    pid_t pid = 0;
    int local_rank = 0;
    port_map ports = {};
  };

  /// Sets a function that is called on the strand of the board after each start, with the workers
  /// of this node. Call this before the agent runs.
  void on_start(std::function<void(std::vector<running>)> call) { on_start_ = std::move(call); }

  std::string file() const override { return board_->file(); }
  std::int64_t revision() const override { return board_->revision(); }
  ELASTIC_DECL void open(asio::any_io_executor executor,
                         std::function<void(std::int64_t)> call) override;
  ELASTIC_DECL void close() override;
  ELASTIC_DECL void choose_ports(const std::vector<std::size_t>& slots) override;
  const port_map& ports(std::size_t slot) const override { return ports_[slot]; }
  ELASTIC_DECL std::string places(int base_rank) override;
  ELASTIC_DECL void met(const std::vector<std::string>& places) override;
  ELASTIC_DECL void started(std::int64_t round, std::vector<pid_t> pids) override;
  ELASTIC_DECL void ended(std::size_t slot) override;
  ELASTIC_DECL void stopped() override;

 private:
  // Result: whether the post is still open.
  ELASTIC_DECL bool notify(std::int64_t revision);
  ELASTIC_DECL void publish();

  std::shared_ptr<role_board> board_;
  std::size_t role_;
  std::set<std::string> names_;
  place here_;
  /// By local rank.
  std::vector<port_map> ports_;
  std::vector<std::vector<port_lease>> leases_;
  /// The workers of all nodes of the round, in the order of their ranks.
  std::vector<job_roles::worker> met_;
  /// The workers that run.
  std::vector<job_roles::worker> workers_;
  int base_rank_ = 0;
  std::int64_t round_ = 0;
  bool is_published_ = false;

  std::function<void(std::vector<running>)> on_start_;

  std::mutex mutex_;
  asio::any_io_executor executor_;
  std::function<void(std::int64_t)> call_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/role_post.ipp>
#endif
