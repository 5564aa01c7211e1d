// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/rounds/survivors.hpp>

#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace elastic::detail {

/// The longest time for which a worker waits for the answer to its question; under a debugger the
/// time-out is a year.
inline constexpr std::chrono::minutes longest_answer{10};

ELASTIC_DECL survivors::survivors(asio::any_io_executor strand, worker_channels& channels,
                                  survivors_options options)
    : channels_(channels), options_(std::move(options)), changed_(std::move(strand)) {}

ELASTIC_DECL void survivors::begin(std::int64_t epoch, std::size_t workers, bool has_survivors) {
  epoch_ = epoch;
  has_survivors_ = has_survivors;
  places_.resize(workers);
}

ELASTIC_DECL void survivors::started(std::size_t slot, int rank) {
  places_.at(slot) = place();
  places_[slot].rank = rank;
  places_[slot].runs = true;
}

ELASTIC_DECL void survivors::ended(std::size_t slot, bool succeeded) {
  if (!is_on() || slot >= places_.size()) return;
  // Takes in messages that have already arrived from the other workers.
  channels_.catch_up();
  place& entry = places_[slot];
  entry.runs = false;
  entry.is_ready = false;
  entry.waits_since.reset();
  if (succeeded) entry.has_finished = true;
  changed_.set();
}

inline bool is_about_epoch(const worker_messages::worker_message& message) {
  return std::holds_alternative<worker_messages::survive>(message) ||
         std::holds_alternative<worker_messages::ask>(message) ||
         std::holds_alternative<worker_messages::ready>(message) ||
         std::holds_alternative<worker_messages::finished>(message) ||
         std::holds_alternative<worker_messages::withdraw>(message);
}

ELASTIC_DECL void survivors::take(int local_rank, const worker_messages::worker_message& message) {
  if (!is_about_epoch(message)) return;
  const auto slot = static_cast<std::size_t>(local_rank);
  if (!is_on() || slot >= places_.size() || !places_[slot].runs) return;
  std::visit([&](const auto& content) { take(places_[slot], content); }, message);
  if (places_[slot].is_ready) channels_.rests(local_rank);
  changed_.set();
}

ELASTIC_DECL void survivors::take(place& entry, const worker_messages::survive&) {
  entry.sent_survive = true;
}

ELASTIC_DECL void survivors::take(place& entry, const worker_messages::ask& message) {
  if (message.epoch != epoch_ || entry.is_ready) return;
  if (!entry.asked_at) entry.asked_at = options_.time->now();
  if (entry.is_notified) return;
  options_.log.info("rank {} asks whether epoch {} has ended: {}", entry.rank, epoch_,
                    message.reason);
  entry.waits_since = options_.time->now();
  entry.is_out = true;
}

ELASTIC_DECL void survivors::take(place& entry, const worker_messages::ready& message) {
  if (message.epoch != epoch_) return;
  entry.is_ready = true;
  if (!entry.is_notified) entry.waits_since = options_.time->now();
}

ELASTIC_DECL void survivors::take(place& entry, const worker_messages::finished& message) {
  if (message.epoch == epoch_) entry.has_finished = true;
}

ELASTIC_DECL void survivors::take(place& entry, const worker_messages::withdraw& message) {
  entry.withdrawn = message.reason.empty() ? "it cannot rejoin any more" : message.reason;
}

ELASTIC_DECL epoch_end survivors::facts() const {
  epoch_end end;
  end.had_survivors = has_survivors_;
  for (std::size_t slot = 0; slot < places_.size(); ++slot) {
    end.workers.push_back(places_[slot]);
    end.workers.back().has_channel = channels_.survives(static_cast<int>(slot));
  }
  return end;
}

ELASTIC_DECL std::optional<int> survivors::finished_rank() const {
  for (const place& entry : places_) {
    if (entry.has_finished) return entry.rank;
  }
  return std::nullopt;
}

ELASTIC_DECL std::string survivors::obstacle() const {
  return is_on() ? obstacle_to(facts()) : "workers do not outlive their epoch";
}

ELASTIC_DECL int survivors::ready() const {
  return static_cast<int>(std::count_if(places_.begin(), places_.end(),
                                        [](const place& entry) { return entry.is_ready; }));
}

ELASTIC_DECL bool survivors::is_inside(std::size_t slot) const {
  if (!is_on() || slot >= places_.size()) return true;
  const place& entry = places_[slot];
  return entry.runs && !entry.is_ready && !entry.is_out;
}

ELASTIC_DECL void survivors::send(std::size_t slot,
                                  const control_messages::agent_message& message) {
  channels_.tell_survivor(static_cast<int>(slot), message);
}

ELASTIC_DECL task<void> survivors::answer() & {
  for (;;) {
    changed_.reset();
    const time_point next = answer_due(options_.time->now());
    if (next == time_point::max()) {
      co_await changed_.wait();
    } else {
      co_await with_deadline(*options_.time, next, changed_.wait());
    }
  }
}

ELASTIC_DECL time_point survivors::answer_due(time_point now) {
  const duration patience = std::min<duration>(options_.timeout, longest_answer);
  time_point next = time_point::max();
  for (std::size_t slot = 0; slot < places_.size(); ++slot) {
    place& entry = places_[slot];
    if (!entry.waits_since) continue;
    const time_point due = *entry.waits_since + patience;
    const std::optional<int> finished = finished_rank();
    if (decide_ask(false, finished, now >= due) == ask_answer::wait) {
      next = std::min(next, due);
      continue;
    }
    entry.waits_since.reset();
    const std::string why =
        finished ? fmt::format("rank {} has already finished, so no new epoch can begin", *finished)
                 : fmt::format("nothing has ended epoch {}", epoch_);
    if (entry.is_ready) {
      options_.log.error("killing rank {}, which left its epoch too early: {}", entry.rank, why);
      options_.kill(slot);
      continue;
    }
    options_.log.warning("rank {} fails with its own error: {}", entry.rank, why);
    entry.is_out = false;
    send(slot, control_messages::no_change{epoch_});
  }
  return next;
}

ELASTIC_DECL time_point survivors::deadline_of(const place& entry, time_point began) const {
  return rejoin_deadline(began, entry.asked_at, options_.timeout);
}

ELASTIC_DECL void survivors::announce_change(time_point began, time_point fence) {
  const epoch_end end = facts();
  for (std::size_t slot = 0; slot < places_.size(); ++slot) {
    place& entry = places_[slot];
    if (!can_stay(end.workers[slot]) || entry.is_ready || entry.is_notified) continue;
    entry.is_notified = true;
    control_messages::change change;
    change.epoch = epoch_;
    const time_point due = deadline_of(entry, began);
    change.within = (entry.is_out ? due : std::min(due, fence)) - options_.time->now();
    send(slot, change);
  }
}

ELASTIC_DECL task<std::string> survivors::leave(bool is_pause, duration most) & {
  using action = rejoin_step::action;
  time_source& time = *options_.time;
  const time_point began = time.now();
  const time_point fence = deadline_after(began, most);
  for (place& entry : places_) entry.waits_since.reset();
  channels_.catch_up();
  for (;;) {
    epoch_end end = facts();
    end.is_pause = is_pause;
    time_point next = time_point::max();
    for (std::size_t slot = 0; slot < places_.size(); ++slot) {
      const time_point due = deadline_of(places_[slot], began);
      end.workers[slot].is_overdue = time.now() >= due;
      if (!end.workers[slot].is_overdue) next = std::min(next, due);
    }
    const rejoin_step step = decide_rejoin(end);
    if (step.what == action::restart_all) co_return step.reason;
    if (step.what == action::meet) co_return std::string();
    announce_change(began, fence);
    changed_.reset();
    co_await with_deadline(time, next, changed_.wait());
  }
}

ELASTIC_DECL bool survivors::rejoin(std::size_t slot, int rank,
                                    const control_messages::rejoin& message) {
  place& entry = places_.at(slot);
  const bool is_sent = channels_.tell_survivor(static_cast<int>(slot), message);
  if (!is_sent) return false;
  entry.rank = rank;
  entry.is_ready = false;
  entry.is_notified = false;
  entry.is_out = false;
  entry.waits_since.reset();
  entry.asked_at.reset();
  channels_.started(static_cast<int>(slot));
  return true;
}

}  // namespace elastic::detail
