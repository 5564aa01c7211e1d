// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>
#include <elastic/rendezvous/rendezvous_host.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <elastic/rendezvous/worker_store_host.hpp>
#include <elastic/store/memory_store.hpp>
#include <elastic/store/prefix_store.hpp>
#include <elastic/store/tcp_store_server.hpp>

#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// The rendezvous named "c10d" for a job of at most one node: the state is kept in this process,
/// and each round serves its workers a store of their own, so that no round sees another's keys.
///
/// `endpoint` with a port other than 0 (29400 where none is named) is bound, so that a second job
/// at the same endpoint is refused; with port 0, as for `--standalone`, no socket is opened for
/// the rendezvous itself.
///
/// Thread-safety: one strand at a time.
class solo_rendezvous final : public rendezvous_handler {
 public:
  /// Errors: `errc::invalid_argument` for an empty run id, an endpoint that is none, or more than
  /// one node.
  explicit solo_rendezvous(rendezvous_parameters parameters)
      : parameters_(std::move(parameters)), workers_(parameters_) {
    if (parameters_.run_id.empty()) {
      throw error(errc::invalid_argument, "--rdzv-id must not be empty for the c10d rendezvous");
    }
    if (parameters_.max_nodes > 1) {
      throw error(errc::invalid_argument, "a job of one node cannot have more");
    }
    endpoint_ = parse_endpoint(parameters_.endpoint.empty() ? "localhost" : parameters_.endpoint,
                               rendezvous_host::default_port);
    for (const char* name : {"join_timeout", "last_call_timeout", "close_timeout",
                             "heartbeat_timeout", "keep_alive_interval", "read_timeout",
                             "timeout"}) {
      // One node waits for nobody; what is not a time is refused all the same.
      parameters_.seconds(name, {});
    }
    parameters_.warn_of_unused({"is_host", "join_timeout", "last_call_timeout", "close_timeout",
                                "heartbeat_timeout", "keep_alive_interval",
                                "keep_alive_max_attempt", "read_timeout", "timeout", "dialect"});
  }

  std::string backend() const override { return "c10d"; }
  std::string run_id() const override { return parameters_.run_id; }

  task<rendezvous_round> next_round() override {
    if (closed_) {
      throw error(errc::rendezvous_closed, "the rendezvous is closed: the job has ended");
    }
    auto executor = co_await asio::this_coro::executor;
    if (endpoint_.port != 0 && !server_) {
      tcp_store_server_options options;
      options.address = endpoint_.host;
      options.port = endpoint_.port;
      options.use_ring = parameters_.use_ring;
      options.log = parameters_.log;
      server_ = std::make_unique<tcp_store_server>(executor, options);
    }
    co_await workers_.stop();
    rendezvous_round met;
    met.round = ++round_ - 1;
    met.agents = std::make_shared<prefix_store>(
        fmt::format("torch.rendezvous.{}.{}", parameters_.run_id, met.round),
        std::make_shared<memory_store>());
    met.master = workers_.serve(executor, "127.0.0.1", parameters_.local_address.empty());
    met.restarts = restarts_;
    co_return met;
  }

  task<rendezvous_change> wait_for_change() override {
    event_flag never(co_await asio::this_coro::executor);
    co_await never.wait();
    co_return rendezvous_change{};
  }

  task<rendezvous_change> report_failure(std::string what) override {
    rendezvous_change change{change_kind::worker_failed, std::move(what), ++restarts_};
    co_return change;
  }

  task<void> exit_barrier() override { co_return; }

  task<int> num_nodes_waiting() override { co_return 0; }
  task<bool> is_closed() override { co_return closed_; }

  task<void> close(job_end, std::string) override {
    closed_ = true;
    co_return;
  }

  task<void> shutdown() override {
    co_await workers_.stop();
    if (server_) co_await server_->stop();
    server_.reset();
  }

 private:
  rendezvous_parameters parameters_;
  endpoint endpoint_;
  worker_store_host workers_;
  std::unique_ptr<tcp_store_server> server_;
  std::int64_t round_ = 0;
  int restarts_ = 0;
  bool closed_ = false;
};

}  // namespace elastic
