// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/wire/detail/pmi_request.hpp>
#include <elastic/wire/detail/pmi_session.hpp>
#include <elastic/wire/detail/wire_place.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// The PMI-1 server for the workers of one node in one round. It has a socket for each worker, the
/// keys that workers put, and barriers across all nodes of the round.
///
/// Thread-safety: one strand at a time, that of the executor.
class pmi_node {
 public:
  /// @param places  the nodes of the round in the order of their workers' ranks
  /// Errors: `errc::start_failed` if a socket cannot be created.
  ELASTIC_DECL pmi_node(const asio::any_io_executor& executor, std::shared_ptr<time_source> time,
                        logger log, rendezvous_round round, const std::vector<wire_place>& places,
                        const wire_place& here);
  pmi_node(const pmi_node&) = delete;
  pmi_node& operator=(const pmi_node&) = delete;

  /// The worker's end of its socket.
  int descriptor(std::size_t slot) const { return workers_.at(slot)->theirs.get(); }

  /// Whether a worker has not sent an init request yet.
  ELASTIC_DECL bool is_silent(std::size_t slot) const;

  /// Serves the workers. Call it once they have started. Closes the connection of a worker that
  /// violates the protocol, and all connections if the round's store cannot be reached. After a
  /// worker of this node has disconnected, it also closes those of workers that wait in a barrier:
  /// their MPI library then ends them.
  ///
  /// Cancellation: all types; nothing else ends it.
  ELASTIC_DECL task<void> serve();

 private:
  /// The time from the end of a worker's connection until workers that wait for it in a barrier
  /// lose theirs.
  static constexpr std::chrono::seconds departure_grace{1};

  struct worker {
    worker(const asio::any_io_executor& executor, int ours, int its, pmi_session talk, int its_rank)
        : socket(executor, ours), theirs(its), session(std::move(talk)), rank(its_rank) {}

    asio::posix::stream_descriptor socket;
    unique_fd theirs;
    pmi_session session;
    int rank;
  };

  ELASTIC_DECL task<void> attend(std::size_t slot);
  ELASTIC_DECL task<void> talk(std::size_t slot);
  ELASTIC_DECL bool take_bytes(worker& client);
  ELASTIC_DECL bool send(worker& client);
  ELASTIC_DECL void hang_up(worker& client, const std::string& why);
  ELASTIC_DECL void advance_barrier();
  ELASTIC_DECL void refuse_barrier(const std::string& why);
  ELASTIC_DECL task<void> keep_barriers();
  ELASTIC_DECL task<void> pass_barrier();
  ELASTIC_DECL task<void> exchange_news();

  std::shared_ptr<time_source> time_;
  logger log_;
  rendezvous_round round_;
  std::shared_ptr<pmi_space> space_;
  std::vector<std::unique_ptr<worker>> workers_;
  /// Set when all workers of this node wait in a barrier.
  event_flag all_wait_;
  int barriers_ = 0;
  /// The rank of a worker that has disconnected, so that no barrier of this round can complete.
  std::optional<int> departed_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/wire/detail/pmi_node.ipp>
#endif
