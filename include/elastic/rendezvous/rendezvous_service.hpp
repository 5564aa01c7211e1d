// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/event_flag.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/net/message_frame.hpp>
#include <elastic/rendezvous/rendezvous_coordinator.hpp>
#include <elastic/rendezvous/rendezvous_message.hpp>
#include <elastic/store/store_extension.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

/// The rendezvous of any number of jobs, on the port of a store server.
///
/// Give it to one server, as its extension.
/// Thread-safety: as the server's extensions have it.
class rendezvous_service final : public store_extension {
 public:
  /// What nodes begin with.
  static constexpr std::string_view first_words = "elastic rendezvous\n";

  /// @param time  empty: the clocks of the machine
  explicit rendezvous_service(logger log, std::shared_ptr<time_source> time = nullptr)
      : log_(std::move(log)), time_(std::move(time)) {
    if (!time_) time_ = std::make_shared<system_time>();
  }

  std::string_view greeting() const override { return first_words; }

  task<void> run() override {
    earlier_.emplace(co_await asio::this_coro::executor);
    for (;;) {
      earlier_->reset();
      planned_ = next_deadline();
      co_await with_deadline(*time_, planned_, earlier_->wait());
      for (auto& [run_id, job] : jobs_) {
        job->advance(time_->now());
        deliver(*job);
      }
    }
  }

  std::unique_ptr<conversation> begin(client& from) override {
    return std::make_unique<node_conversation>(*this, from);
  }

 private:
  using connection = rendezvous_coordinator::connection;

  class node_conversation final : public conversation {
   public:
    node_conversation(rendezvous_service& of, client& from)
        : of_(of), id_(of.enter(from)), frames_(limits::rendezvous_message_bytes) {}
    ~node_conversation() override { of_.gone(id_); }
    node_conversation(const node_conversation&) = delete;
    node_conversation& operator=(const node_conversation&) = delete;

    void received(std::string_view bytes) override {
      frames_.append(bytes);
      while (const auto message = frames_.next()) of_.received(id_, *message);
    }

   private:
    rendezvous_service& of_;
    connection id_;
    frame_reader frames_;
  };

  struct node_connection {
    client* peer;
    /// Null until it has said which. Lives as long as the connection, also if the job is forgotten.
    std::shared_ptr<rendezvous_coordinator> job = nullptr;
  };

  // ---- what clients do ------------------------------------------------------------------------

  connection enter(client& from) {
    connections_[++last_] = node_connection{&from};
    return last_;
  }

  void gone(connection id) {
    const auto found = connections_.find(id);
    const std::shared_ptr<rendezvous_coordinator> job = std::move(found->second.job);
    connections_.erase(found);
    if (!job) return;
    job->disconnected(id, time_->now());
    plan(*job);
  }

  void received(connection id, std::string_view message) {
    const rendezvous_request said = parse_rendezvous_request(message);
    node_connection& from = connections_.at(id);
    if (const auto* greeting = std::get_if<rendezvous_messages::hello>(&said)) {
      if (!from.job) introduce(id, from, greeting->run_id);
    }
    if (!from.job) {
      throw error(errc::protocol_violation, "a node of the rendezvous did not say which job it is "
                                            "of");
    }
    const std::shared_ptr<rendezvous_coordinator> job = from.job;
    job->received(id, said, time_->now());
    deliver(*job);
    plan(*job);
  }

  void introduce(connection id, node_connection& from, const std::string& run_id) {
    const auto found = jobs_.find(run_id);
    if (found == jobs_.end()) make_room();
    from.job = found != jobs_.end() ? found->second : begin_job(run_id);
    const auto here = from.peer->here();
    const auto there = from.peer->there();
    const asio::ip::address node = plain_address(there.address());
    const asio::ip::address server = plain_address(here.address());
    from.job->connected(id, {server.to_string(), node.to_string(),
                             node.is_loopback() || node == server});
  }

  std::shared_ptr<rendezvous_coordinator> begin_job(const std::string& run_id) {
    auto job = std::make_shared<rendezvous_coordinator>(run_id, log_);
    jobs_.emplace(run_id, job);
    return job;
  }

  // Jobs that nobody takes part in are forgotten, those that have ended last of all.
  void make_room() {
    std::erase_if(jobs_, [](const auto& job) {
      return job.second->is_idle() && !job.second->state().closed;
    });
    if (jobs_.size() < limits::rendezvous_jobs) return;
    std::erase_if(jobs_, [](const auto& job) { return job.second->is_idle(); });
    if (jobs_.size() < limits::rendezvous_jobs) return;
    throw error(errc::protocol_violation,
                fmt::format("a node of one more job than the {} that may meet here",
                            limits::rendezvous_jobs));
  }

  // ---- what they are told ---------------------------------------------------------------------

  // What is sent may end connections, which is heard of here again.
  void deliver(rendezvous_coordinator& job) {
    for (const auto& answer : job.take_answers()) {
      const auto to = connections_.find(answer.to);
      if (to == connections_.end()) continue;
      frame_.clear();
      append_frame(frame_, to_text(answer.what));
      to->second.peer->send(frame_);
    }
    for (const connection id : job.take_dropped()) {
      const auto to = connections_.find(id);
      if (to != connections_.end()) to->second.peer->hang_up();
    }
  }

  // ---- time -----------------------------------------------------------------------------------

  time_point next_deadline() const {
    time_point next = time_point::max();
    for (const auto& [run_id, job] : jobs_) next = std::min(next, job->next_deadline());
    return next;
  }

  void plan(const rendezvous_coordinator& job) {
    if (earlier_ && job.next_deadline() < planned_) earlier_->set();
  }

  logger log_;
  std::shared_ptr<time_source> time_;
  std::map<std::string, std::shared_ptr<rendezvous_coordinator>, std::less<>> jobs_;
  std::unordered_map<connection, node_connection> connections_;
  connection last_ = 0;
  std::optional<event_flag> earlier_;
  time_point planned_ = time_point::max();
  std::string frame_;
};

}  // namespace elastic
