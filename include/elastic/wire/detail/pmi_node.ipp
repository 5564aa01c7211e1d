// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/wire/detail/pmi_node.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/when_all.hpp>
#include <elastic/rendezvous/detail/gather.hpp>

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL pmi_node::pmi_node(const asio::any_io_executor& executor,
                                std::shared_ptr<time_source> time, logger log,
                                rendezvous_round round, const std::vector<wire_place>& places,
                                const wire_place& here)
    : time_(std::move(time)),
      log_(std::move(log)),
      round_(std::move(round)),
      space_(new_shared<pmi_space>()),
      all_wait_(executor) {
  int size = 0;
  for (const wire_place& place : places) size += place.workers;
  const std::string mapping = process_mapping(places);
  if (!mapping.empty()) space_->add_news(fmt::format("PMI_process_mapping={}\n", mapping));
  for (int slot = 0; slot < here.workers; ++slot) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      throw error(errc::start_failed,
                  fmt::format("cannot create the PMI socket of rank {}: {}", here.base_rank + slot,
                              errno_text(errno)));
    }
    workers_.push_back(std::make_unique<worker>(executor, ends[0], ends[1],
                                                pmi_session(space_, size), here.base_rank + slot));
  }
}

ELASTIC_DECL bool pmi_node::is_silent(std::size_t slot) const {
  return workers_.at(slot)->session.at() == pmi_session::stage::silent;
}

ELASTIC_DECL task<void> pmi_node::serve() {
  std::vector<task<void>> talks;
  for (std::size_t slot = 0; slot < workers_.size(); ++slot) {
    // The connection then ends as soon as the worker's processes have closed their copies.
    workers_[slot]->theirs.reset();
    talks.push_back(attend(slot));
  }
  talks.push_back(keep_barriers());
  co_await when_all(std::move(talks));
}

ELASTIC_DECL task<void> pmi_node::attend(std::size_t slot) {
  co_await talk(slot);
  // If the worker failed, its exit is noticed first. That ends the round with a better message.
  const time_point now = time_->now();
  co_await time_->sleep_until(deadline_after(now, departure_grace));
  if (!departed_) departed_ = workers_[slot]->rank;
  advance_barrier();
}

/// Serves one worker until its connection ends.
ELASTIC_DECL task<void> pmi_node::talk(std::size_t slot) {
  worker& client = *workers_[slot];
  while (client.socket.is_open()) {
    const auto [failure] =
        co_await client.socket.async_wait(asio::posix::stream_descriptor::wait_read, as_result);
    // A barrier may have closed the socket meanwhile.
    if (!client.socket.is_open()) co_return;
    if (failure) throw asio_system_error(failure);
    if (!take_bytes(client)) co_return;
    advance_barrier();
  }
}

/// Result: false if the connection has ended.
ELASTIC_DECL bool pmi_node::take_bytes(worker& client) {
  char bytes[4096];
  const ssize_t size = ::recv(client.socket.native_handle(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (size <= 0) {
    client.socket.close();
    return false;
  }
  try {
    client.session.consume({bytes, static_cast<std::size_t>(size)});
  } catch (const error& refusal) {
    hang_up(client, refusal.what());
    return false;
  }
  return send(client);
}

/// A worker reads each reply before its next request, so the socket always has room.
ELASTIC_DECL bool pmi_node::send(worker& client) {
  if (const auto complaint = client.session.take_complaint()) {
    log_.warning("rank {} {}", client.rank, *complaint);
  }
  const std::string bytes = std::exchange(client.session.output(), {});
  if (bytes.empty()) return true;
  const ssize_t sent = ::send(client.socket.native_handle(), bytes.data(), bytes.size(),
                              MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(bytes.size())) return true;
  if (sent < 0 && errno == EPIPE) {
    client.socket.close();
  } else {
    hang_up(client, "it does not read the replies");
  }
  return false;
}

ELASTIC_DECL void pmi_node::hang_up(worker& client, const std::string& why) {
  log_.warning("the PMI connection of rank {} is closed: {}", client.rank, why);
  client.socket.close();
}

ELASTIC_DECL void pmi_node::advance_barrier() {
  if (departed_) {
    return refuse_barrier(fmt::format("rank {} disconnected before this barrier", *departed_));
  }
  const bool all = std::all_of(workers_.begin(), workers_.end(), [](const auto& each) {
    return each->session.at() == pmi_session::stage::in_barrier && each->socket.is_open();
  });
  if (all) all_wait_.set();
}

ELASTIC_DECL void pmi_node::refuse_barrier(const std::string& why) {
  for (const std::unique_ptr<worker>& each : workers_) {
    const bool waits = each->session.at() == pmi_session::stage::in_barrier;
    if (waits && each->socket.is_open()) hang_up(*each, why);
  }
}

ELASTIC_DECL task<void> pmi_node::keep_barriers() {
  for (;;) {
    co_await all_wait_.wait();
    co_await pass_barrier();
    // Bytes from a worker in this barrier may have set the flag again meanwhile.
    all_wait_.reset();
    advance_barrier();
  }
}

ELASTIC_DECL task<void> pmi_node::pass_barrier() {
  std::string problem;
  try {
    co_await exchange_news();
  } catch (const error& failure) {
    problem = failure.what();
  }
  // The node of the store is gone. The round is about to end for that, with a better message.
  if (!problem.empty()) {
    const time_point now = time_->now();
    co_await time_->sleep_until(deadline_after(now, limits::rendezvous_reconnect_timeout));
  }
  for (const std::unique_ptr<worker>& each : workers_) {
    if (!each->socket.is_open()) continue;
    if (!problem.empty()) {
      hang_up(*each, problem);
      continue;
    }
    try {
      each->session.leave_barrier();
      send(*each);
    } catch (const error& refusal) {
      hang_up(*each, refusal.what());
    }
  }
}

/// Exchanges the new keys of all nodes. Waiting for those of every node is what makes the barrier.
ELASTIC_DECL task<void> pmi_node::exchange_news() {
  std::string news = space_->take_news();
  if (round_.group_world_size == 1) co_return;
  const std::string prefix =
      fmt::format("elastic/pmi/{}/{}/{}/", round_.term, round_.round, barriers_++);
  task<std::vector<std::string>> exchange = publish_and_read(
      round_.agents, prefix, std::move(news), round_.group_rank, round_.group_world_size);
  const std::vector<std::string> gathered = co_await std::move(exchange);
  for (const std::string& text : gathered) space_->add_news(text);
}

}  // namespace elastic::detail
