// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/control/detail/channel_attempt.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/detail/quantity.hpp>
#include <elastic/base/detail/random.hpp>
#include <elastic/base/detail/rate_gate.hpp>
#include <elastic/base/detail/temporary_folder.hpp>
#include <elastic/base/error.hpp>
#include <elastic/control/detail/timer_fifo.hpp>
#include <elastic/control/detail/timer_request.hpp>

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <variant>

namespace elastic::detail {

ELASTIC_DECL channel_connection::channel_connection(asio::generic::stream_protocol::socket accepted)
    : peer(std::move(accepted)) {}

ELASTIC_DECL watched_worker::watched_worker(const liveness_settings& settings,
                                            learned_timeouts& learned)
    : liveness(settings, learned) {}

ELASTIC_DECL void checkpoint_question::settle(int local_rank, const std::string& problem) {
  if (waiting.erase(local_rank) == 0) return;
  if (problem.empty()) {
    ++outcome.saved;
    saved.insert(local_rank);
  } else {
    outcome.problems.push_back(fmt::format("local rank {} {}", local_rank, problem));
  }
  if (waiting.empty()) answered.set();
}

ELASTIC_DECL channel_attempt::channel_attempt(asio::any_io_executor executor,
                                              const worker_channels::options& chosen,
                                              std::shared_ptr<learned_timeouts> shared, int workers)
    : strand(std::move(executor)),
      options(chosen),
      learned(std::move(shared)),
      timer_file(strand),
      closing(strand),
      tasks(strand),
      changed(strand) {
  for (int rank = 0; rank < workers; ++rank) places.emplace_back(options.liveness, *learned);
}

ELASTIC_DECL void channel_attempt::listen() {
  const std::string name = fmt::format("elastic-{}", random_uuid());
  try {
    listener.emplace(stream_listener::at_path(strand, std::string(1, '\0') + name));
  } catch (const std::exception& failure) {
    options.log.warning("there is no control channel for the workers: {}", failure.what());
    return;
  }
  address = "@" + name;
  run("the control channel takes no more connections", accept_workers());
}

ELASTIC_DECL void channel_attempt::open_timer_file() {
  if (!options.timer_file) return;
  timer_path = options.timer_path;
  try {
    if (timer_path.empty()) {
      timer_path = fmt::format("{}/watchdog_timer_{}", temporary_folder(), random_uuid());
    }
    timer_file.assign(open_timer_fifo(timer_path));
    made_timer_file = true;
    run(fmt::format("timer file '{}' is no longer read", timer_path),
        read_timers(shared_from_this()));
  } catch (const std::exception& failure) {
    options.log.error("{}", failure.what());
  }
}

ELASTIC_DECL void channel_attempt::shut() {
  if (is_closing()) return;
  closing.set();
  changed.set();
  asio_error_code ignored;
  if (listener) listener->close();
  timer_file.close(ignored);
  if (made_timer_file) ::unlink(timer_path.c_str());
  for (const connection_pointer& client : connections) disconnect(*client);
  for (const auto& pending : questions) pending->answered.set();
}

ELASTIC_DECL void channel_attempt::run(std::string problem, task<void> work) {
  tasks.spawn(run_and_log(shared_from_this(), std::move(problem), std::move(work)));
}

ELASTIC_DECL task<void> channel_attempt::run_and_log(self_pointer attempt, std::string problem,
                                                     task<void> work) {
  try {
    co_await std::move(work);
  } catch (const std::exception& failure) {
    if (!attempt->is_closing()) attempt->options.log.error("{}: {}", problem, failure.what());
  }
}

ELASTIC_DECL task<void> channel_attempt::rest_until(time_point when) {
  co_await with_deadline(time(), when, closing.wait());
}

ELASTIC_DECL bool channel_attempt::may_enter(const ucred& peer) const {
  return peer.uid == ::geteuid() || peer.uid == 0 ||
         (options.owner_of && options.owner_of(peer.pid));
}

ELASTIC_DECL void channel_attempt::admit(accepted_connection accepted) {
  const ucred peer = accepted.peer.value_or(ucred{});
  if (!accepted.peer || !may_enter(peer)) {
    return complain("a process of another user ({}) is not let into the control channel", peer.uid);
  }
  if (connections.size() >= places.size() * limits::control_connections) {
    return complain(
        "there are more than {} connections to the control channel; pid {} is not "
        "let in",
        connections.size(), peer.pid);
  }
  auto client = new_shared<connection>(std::move(accepted.socket));
  connections.push_back(client);
  run("a connection to the control channel is lost", serve(shared_from_this(), client));
}

ELASTIC_DECL void channel_attempt::disconnect(connection& client) {
  client.is_closed = true;
  asio_error_code ignored;
  client.peer.close(ignored);
}

ELASTIC_DECL void channel_attempt::forget(const connection_pointer& client) {
  disconnect(*client);
  connections.remove(client);
  if (is_closing()) return;
  if (!client->worker || !client->checkpoints || can_save(*client->worker)) return;
  for (const auto& pending : questions) {
    pending->settle(*client->worker, "closed its channel before it answered");
  }
}

ELASTIC_DECL bool channel_attempt::can_save(int local_rank) const {
  return std::any_of(connections.begin(), connections.end(), [&](const auto& client) {
    return !client->is_closed && client->checkpoints && client->worker == local_rank;
  });
}

ELASTIC_DECL bool channel_attempt::survives(int local_rank) const {
  return std::any_of(connections.begin(), connections.end(), [&](const auto& client) {
    return !client->is_closed && client->survives && client->worker == local_rank;
  });
}

ELASTIC_DECL bool channel_attempt::send_survivor(int local_rank,
                                                 const control_messages::agent_message& message) {
  const std::string line = to_line(message);
  bool is_sent = false;
  const std::vector<connection_pointer> clients(connections.begin(), connections.end());
  for (const auto& client : clients) {
    if (client->survives && client->worker == local_rank && send(*client, line)) is_sent = true;
  }
  return is_sent;
}

ELASTIC_DECL std::string channel_attempt::name_of(const connection& client) {
  return client.worker ? fmt::format("local rank {}", *client.worker) : "a worker without a name";
}

ELASTIC_DECL bool channel_attempt::send(connection& client, const std::string& line) {
  if (client.is_closed) return false;
  const ssize_t sent =
      ::send(client.peer.native_handle(), line.data(), line.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent == static_cast<ssize_t>(line.size())) return true;
  // A client that is gone is noticed once its last messages have been read.
  if (sent < 0 && errno != EAGAIN) return false;
  complain("the control channel of {} is closed: it does not read what it is sent",
           name_of(client));
  disconnect(client);
  return false;
}

ELASTIC_DECL void channel_attempt::send_all(const control_messages::agent_message& message) {
  const std::string line = to_line(message);
  const std::vector<connection_pointer> clients(connections.begin(), connections.end());
  for (const auto& client : clients) {
    if (client->worker) send(*client, line);
  }
}

/// Sends each worker at most one answer at a time, however many changes there are, so that a worker
/// that does not read keeps its channel.
ELASTIC_DECL void channel_attempt::tell_of_roles(std::int64_t revision) {
  const std::string line =
      to_line(control_messages::agent_message(control_messages::roles{revision}));
  const std::vector<connection_pointer> clients(connections.begin(), connections.end());
  for (const auto& client : clients) {
    if (!client->seen_roles || *client->seen_roles >= revision) continue;
    client->seen_roles.reset();
    send(*client, line);
  }
}

ELASTIC_DECL void channel_attempt::refuse(connection& client, const std::string& why) {
  complain("the control channel of {} is closed: {}", name_of(client), why);
  send(client, to_line(control_messages::agent_message(control_messages::refused{why})));
  disconnect(client);
}

ELASTIC_DECL int channel_attempt::take(connection& client, std::string_view bytes) {
  client.lines.append(bytes);
  int count = 0;
  while (!client.is_closed) {
    const auto next = client.lines.next();
    if (!next) break;
    ++count;
    if (next->too_long) {
      refuse(client, fmt::format("a control message is longer than {} bytes, the line end "
                                 "included",
                                 limits::control_line_bytes));
    } else {
      take_line(client, next->line);
    }
  }
  return count;
}

ELASTIC_DECL void channel_attempt::take_line(connection& client, std::string_view line) {
  try {
    const worker_message message = parse_worker_message(line);
    if (!client.worker && !std::holds_alternative<worker_messages::hello>(message)) {
      throw error(errc::protocol_violation, "a control message comes before hello");
    }
    std::visit([&](const auto& content) { handle(client, content); }, message);
    if (options.message) options.message(*client.worker, message);
  } catch (const std::exception& failure) {
    return refuse(client, failure.what());
  }
  if (client.worker) look_again(*client.worker);
}

ELASTIC_DECL worker_liveness& channel_attempt::liveness_of(const connection& client) {
  return places[static_cast<std::size_t>(*client.worker)].liveness;
}

ELASTIC_DECL void channel_attempt::handle(connection& client,
                                          const worker_messages::hello& message) {
  if (client.worker) throw error(errc::protocol_violation, "a control message is a second hello");
  if (message.version != control_messages::version) {
    throw error(errc::protocol_violation,
                fmt::format("a control message is of version {}; {} is spoken here",
                            message.version, control_messages::version));
  }
  if (static_cast<std::size_t>(message.local_rank) >= places.size()) {
    throw error(errc::protocol_violation,
                fmt::format("a control message is of local rank {}; the node has {}",
                            message.local_rank, quantity(places.size(), "worker")));
  }
  client.worker = message.local_rank;
  client.checkpoints = message.checkpoints;
  place& entry = places[static_cast<std::size_t>(message.local_rank)];
  if (std::exchange(entry.said_bye, false) && entry.running) entry.liveness.start(time().now());
  send(client, to_line(control_messages::agent_message(control_messages::welcome())));
  // One that has just begun, or takes another's place, saves with the others, who may wait for it.
  for (const auto& pending : questions) ask(*pending, client, pending->deadline - time().now());
}

ELASTIC_DECL void channel_attempt::handle(connection& client,
                                          const worker_messages::heartbeat& message) {
  liveness_of(client).beat(time().now(), message.timeout);
}

ELASTIC_DECL void channel_attempt::handle(connection& client,
                                          const worker_messages::enter& message) {
  if (liveness_of(client).enter(time().now(), message.section, message.timeout)) return;
  throw error(errc::protocol_violation, fmt::format("a control message opens more than {} sections",
                                                    limits::worker_sections));
}

ELASTIC_DECL void channel_attempt::handle(connection& client,
                                          const worker_messages::leave& message) {
  liveness_of(client).leave(time().now(), message.section);
}

ELASTIC_DECL void channel_attempt::handle(connection& client,
                                          const worker_messages::expires& message) {
  if (liveness_of(client).arm(time().now(), message.timer, message.after)) return;
  throw error(errc::protocol_violation,
              fmt::format("a control message arms more than {} timers", limits::worker_timers));
}

ELASTIC_DECL void channel_attempt::handle(connection& client,
                                          const worker_messages::release& message) {
  liveness_of(client).release(message.timer);
}

ELASTIC_DECL void channel_attempt::handle(connection& client,
                                          const worker_messages::progress& message) {
  if (!message.automatic) liveness_of(client).beat(time().now());
}

ELASTIC_DECL void channel_attempt::handle(connection& client,
                                          const worker_messages::saved& message) {
  answer(message.id, *client.worker, "");
}

ELASTIC_DECL void channel_attempt::handle(connection& client,
                                          const worker_messages::not_saved& message) {
  answer(message.id, *client.worker,
         message.reason.empty() ? "has not saved it" : "has not saved it: " + message.reason);
}

ELASTIC_DECL void channel_attempt::handle(connection& client, const worker_messages::bye&) {
  liveness_of(client).end();
  places[static_cast<std::size_t>(*client.worker)].said_bye = true;
}

ELASTIC_DECL void channel_attempt::handle(connection& client, const worker_messages::survive&) {
  client.survives = true;
}

ELASTIC_DECL void channel_attempt::handle(connection& client,
                                          const worker_messages::await_roles& message) {
  client.seen_roles = message.revision;
  if (options.roles) tell_of_roles(options.roles());
}

ELASTIC_DECL void channel_attempt::handle(connection& client, const worker_messages::ask&) {
  check_survives(client);
}

ELASTIC_DECL void channel_attempt::handle(connection& client, const worker_messages::ready&) {
  check_survives(client);
}

ELASTIC_DECL void channel_attempt::handle(connection& client, const worker_messages::finished&) {
  check_survives(client);
}

ELASTIC_DECL void channel_attempt::handle(connection& client, const worker_messages::withdraw&) {
  check_survives(client);
}

ELASTIC_DECL void channel_attempt::check_survives(const connection& client) {
  if (client.survives) return;
  throw error(errc::protocol_violation, "a control message about an epoch comes before survive");
}

ELASTIC_DECL void channel_attempt::answer(std::int64_t id, int local_rank,
                                          const std::string& problem) {
  for (const auto& pending : questions) {
    if (pending->id == id) pending->settle(local_rank, problem);
  }
}

ELASTIC_DECL void channel_attempt::take_timer(std::string_view line) {
  try {
    const timer_request request = parse_timer_request(line);
    const auto owner = options.owner_of ? options.owner_of(request.pid) : std::nullopt;
    if (!owner) {
      return complain(
          "timer file '{}': pid {} is of no worker of this node; its timer is not "
          "watched",
          timer_path, request.pid);
    }
    worker_liveness& liveness = place_of(*owner).liveness;
    const std::string name = fmt::format("{} (pid {})", request.scope, request.pid);
    if (!request.expiry || request.signal <= 0) {
      liveness.release(name);
    } else {
      const auto remaining =
          std::chrono::duration_cast<duration>(*request.expiry - time().wall_now());
      const bool armed =
          liveness.arm(time().now(), name, std::max(remaining, duration::zero()), request.signal);
      if (!armed) {
        complain("timer file '{}': pid {} has more than {} timers; one is not watched", timer_path,
                 request.pid, limits::worker_timers);
      }
    }
    look_again(*owner);
  } catch (const std::exception& failure) {
    complain("timer file '{}': {}", timer_path, failure.what());
  }
}

ELASTIC_DECL auto channel_attempt::place_of(int local_rank) -> place& {
  const auto slot = static_cast<std::size_t>(local_rank);
  if (slot < places.size()) return places[slot];
  throw error(errc::invalid_argument,
              fmt::format("worker_channels: there is no local rank {} among {} workers", local_rank,
                          places.size()));
}

ELASTIC_DECL void channel_attempt::started(int local_rank) {
  place& entry = place_of(local_rank);
  entry.running = true;
  entry.liveness.start(time().now());
  look_again(local_rank);
}

ELASTIC_DECL void channel_attempt::ended(int local_rank) {
  place& entry = place_of(local_rank);
  drain_input(local_rank);
  entry.running = false;
  entry.liveness.end();
  for (const auto& pending : questions) pending->settle(local_rank, "ended before it answered");
}

ELASTIC_DECL void channel_attempt::pause() {
  for (place& entry : places) entry.liveness.pause(time().now());
  send_all(control_messages::agent_message(control_messages::pause_work()));
}

ELASTIC_DECL void channel_attempt::resume() {
  for (place& entry : places) entry.liveness.resume(time().now());
  send_all(control_messages::agent_message(control_messages::resume_work()));
  for (std::size_t rank = 0; rank < places.size(); ++rank) look_again(static_cast<int>(rank));
}

ELASTIC_DECL void channel_attempt::look_again(int local_rank) {
  if (is_closing()) return;
  const time_point due = places[static_cast<std::size_t>(local_rank)].liveness.next_expiry();
  if (due == time_point::max()) return;
  if (!is_watching) {
    is_watching = true;
    run("hung workers are no longer noticed", watch(shared_from_this()));
  } else if (due < watched_until) {
    changed.set();
  }
}

ELASTIC_DECL time_point channel_attempt::next_expiry() const {
  time_point first = time_point::max();
  for (const place& entry : places) first = std::min(first, entry.liveness.next_expiry());
  return first;
}

ELASTIC_DECL void channel_attempt::drain_input(int local_rank) {
  if (listener && !is_closing()) {
    listener->accept(limits::control_connections,
                     [this](accepted_connection accepted) { admit(std::move(accepted)); });
  }
  const std::vector<connection_pointer> clients(connections.begin(), connections.end());
  for (const auto& client : clients) {
    constexpr int most_pieces = 16;
    if (!client->worker || *client->worker == local_rank) read_now(*client, most_pieces);
  }
}

ELASTIC_DECL int channel_attempt::read_now(connection& client, int most_pieces) {
  std::array<char, limits::control_line_bytes> piece;
  int lines = 0;
  for (int count = 0; count < most_pieces && !client.is_closed; ++count) {
    const ssize_t size =
        ::recv(client.peer.native_handle(), piece.data(), piece.size(), MSG_DONTWAIT);
    if (size > 0) {
      lines += take(client, std::string_view(piece.data(), static_cast<std::size_t>(size)));
    } else if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
      client.has_ended = true;
      break;
    } else if (errno == EAGAIN) {
      break;
    }
  }
  return lines;
}

ELASTIC_DECL void channel_attempt::judge(time_point now) {
  for (std::size_t rank = 0; rank < places.size() && !is_closing(); ++rank) {
    place& entry = places[rank];
    if (entry.liveness.next_expiry() > now) continue;
    drain_input(static_cast<int>(rank));
    const auto verdict = entry.liveness.judge(now);
    if (!verdict) continue;
    entry.liveness.end();
    if (!options.hung) continue;
    options.hung({static_cast<int>(rank), verdict->reason, verdict->signal});
  }
}

ELASTIC_DECL task<void> channel_attempt::accept_workers() {
  const self_pointer self = shared_from_this();
  accept_terms terms;
  terms.time = options.time;
  terms.report = [self](const std::string& problem) {
    self->complain("no connection can be taken at the control channel: {}", problem);
  };
  return accept_all(*listener, std::move(terms), [self](accepted_connection accepted) {
    if (!self->is_closing()) self->admit(std::move(accepted));
  });
}

ELASTIC_DECL task<void> channel_attempt::serve(self_pointer self, connection_pointer client) {
  std::exception_ptr failure;
  try {
    co_await read_lines(self, client);
  } catch (...) {
    failure = std::current_exception();
  }
  self->forget(client);
  if (failure) std::rethrow_exception(failure);
}

ELASTIC_DECL task<void> channel_attempt::read_lines(self_pointer self, connection_pointer client) {
  rate_gate gate(limits::control_lines_per_second);
  while (!client->is_closed && !client->has_ended) {
    auto [failure] = co_await client->peer.async_wait(socket::wait_read, detail::as_result);
    if (failure || client->is_closed) break;
    const int lines = self->read_now(*client, 1);
    const auto rest = gate.count(self->time().now(), lines);
    if (rest) co_await self->rest_until(*rest);
  }
}

ELASTIC_DECL task<void> channel_attempt::read_timers(self_pointer self) {
  std::array<char, limits::control_line_bytes> piece;
  rate_gate gate(limits::control_lines_per_second);
  line_intake lines;
  while (!self->is_closing()) {
    auto [failure, size] =
        co_await self->timer_file.async_read_some(asio::buffer(piece), detail::as_result);
    if (self->is_closing()) co_return;
    if (failure) {
      self->options.log.error("timer file '{}' can no longer be read: {}", self->timer_path,
                              failure.message());
      co_return;
    }
    lines.append(std::string_view(piece.data(), size));
    int count = 0;
    for (auto next = lines.next(); next; next = lines.next()) {
      ++count;
      if (next->too_long) {
        self->complain("timer file '{}': a line is longer than {} bytes", self->timer_path,
                       limits::control_line_bytes);
      } else {
        self->take_timer(next->line);
      }
    }
    const auto rest = gate.count(self->time().now(), count);
    if (rest) co_await self->rest_until(*rest);
  }
}

ELASTIC_DECL task<void> channel_attempt::watch(self_pointer attempt) {
  while (!attempt->is_closing()) {
    std::string problem;
    try {
      co_await watch_while_due(attempt);
      break;
    } catch (const std::exception& failure) {
      problem = failure.what();
    }
    if (attempt->is_closing()) break;
    attempt->options.log.error("the watch for hung workers failed and begins again: {}", problem);
    co_await attempt->rest_until(attempt->time().now() + limits::watch_restart);
  }
  attempt->is_watching = false;
}

ELASTIC_DECL task<void> channel_attempt::watch_while_due(self_pointer self) {
  while (!self->is_closing()) {
    const time_point until = self->next_expiry();
    self->watched_until = until;
    if (until == time_point::max()) break;
    self->changed.reset();
    co_await with_deadline(self->time(), until, self->changed.wait());
    if (self->is_closing()) break;
    const time_point woken = self->time().now();
    if (woken < until) continue;
    if (woken - until > limits::watch_lateness) {
      self->options.log.warning(
          "this process stood still for {}: the clocks of its workers start again",
          worker_liveness::text_of(woken - until));
      for (place& entry : self->places) entry.liveness.renew(woken);
      continue;
    }
    self->judge(woken);
  }
}

ELASTIC_DECL void channel_attempt::ask(question& pending, connection& client, duration within) {
  const bool wants = client.worker && client.checkpoints && !pending.saved.contains(*client.worker);
  if (!wants || !places[static_cast<std::size_t>(*client.worker)].running) return;
  control_messages::checkpoint wanted;
  wanted.id = pending.id;
  wanted.within = within;
  if (!send(client, to_line(control_messages::agent_message(wanted)))) return;
  pending.waiting.insert(*client.worker);
  pending.asked.insert(*client.worker);
  pending.outcome.asked = static_cast<int>(pending.asked.size());
}

ELASTIC_DECL task<worker_channels::checkpoint_outcome> channel_attempt::ask_checkpoint(
    self_pointer self, duration timeout) {
  if (!self || self->is_closing()) co_return worker_channels::checkpoint_outcome();
  const auto pending = new_shared<question>(self->strand);
  pending->id = ++self->last_question;
  const duration patience = std::min<duration>(timeout, std::chrono::hours(24 * 365));
  time_source& time = self->time();
  pending->deadline = deadline_after(time.now(), patience);
  const std::vector<connection_pointer> connected(self->connections.begin(),
                                                  self->connections.end());
  for (const auto& client : connected) self->ask(*pending, *client, patience);
  if (pending->waiting.empty()) co_return pending->outcome;
  self->questions.push_back(pending);
  const struct forget_question {
    self_pointer self;
    std::shared_ptr<question> pending;
    ~forget_question() { self->questions.remove(pending); }
  } forgetting{self, pending};
  co_await with_deadline(time, pending->deadline, pending->answered.wait());
  const std::set<int> silent = pending->waiting;
  const std::string problem = self->is_closing() ? "was stopped before it answered"
                                                 : fmt::format("did not answer within {}",
                                                               worker_liveness::text_of(timeout));
  for (const int rank : silent) pending->settle(rank, problem);
  co_return pending->outcome;
}

}  // namespace elastic::detail
