// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/etcd/detail/legacy_round.hpp>

#include <elastic/base/error.hpp>
#include <elastic/store/versioned_keys.hpp>
#include <elastic/store/versioned_store.hpp>

#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL legacy_round::legacy_round(std::shared_ptr<leased_keys> keys, std::string path,
                                        rendezvous_settings settings,
                                        std::shared_ptr<time_source> time,
                                        std::shared_ptr<legacy_lease> lease)
    : keys_(std::move(keys)),
      path_(std::move(path)),
      settings_(settings),
      time_(std::move(time)),
      lease_(std::move(lease)) {}

ELASTIC_DECL auto legacy_round::look() -> task<view> {
  view current;
  const std::string key = state_key;
  versioned_keys::entry stored = co_await keys_->get(key);
  current.token = std::move(stored.version);
  if (!stored.value) co_return current;
  try {
    current.state = parse_legacy_state(*stored.value);
  } catch (const error& failure) {
    throw error(errc::rendezvous_state,
                fmt::format("{} ({})", failure.what(), keys_->place_of(key)));
  }
  if (current.state->status == legacy_status::complete) {
    std::string directory = directory_of(current.state->version);
    current.living = co_await keys_->names_in(std::move(directory));
  }
  co_return current;
}

ELASTIC_DECL task<void> legacy_round::wait_for_change(std::string token, time_point deadline) {
  task<void> waiting = keys_->wait_for_any_change(std::move(token));
  co_await with_deadline(*time_, deadline, std::move(waiting));
}

ELASTIC_DECL legacy_decision legacy_round::decide(const view& current, time_point deadline) const {
  return decide_legacy(current.state, me_, settings_, current.living, time_->now(), deadline);
}

ELASTIC_DECL task<void> legacy_round::carry_out(view current, legacy_action action) {
  switch (action) {
    case legacy_action::create: co_await create(std::move(current)); break;
    case legacy_action::join: co_await join(std::move(current)); break;
    case legacy_action::refresh_call: co_await refresh_call(std::move(current)); break;
    case legacy_action::freeze: co_await freeze(std::move(current)); break;
    case legacy_action::confirm: co_await confirm(std::move(current)); break;
    case legacy_action::announce: co_await announce(std::move(current)); break;
    case legacy_action::destroy: co_await destroy(std::move(current)); break;
    case legacy_action::forget: co_await forget(); break;
    default: break;
  }
}

ELASTIC_DECL task<void> legacy_round::leave() {
  const std::string key = lease_->held();
  co_await lease_->release();
  if (!key.empty()) co_await keys_->refresh(key, legacy_ttl::lease);
  legacy_standing next;
  next.former_version = std::move(me_.version);
  next.former_rank = me_.rank;
  me_ = std::move(next);
}

ELASTIC_DECL task<void> legacy_round::give_up() {
  co_await lease_->remove();
  const legacy_standing before = std::exchange(me_, legacy_standing());
  for (;;) {
    view current = co_await look();
    if (!current.state) co_return;
    legacy_state& state = *current.state;
    const bool is_passing =
        state.status == legacy_status::joinable || state.status == legacy_status::frozen;
    bool was_done = true;
    if (is_passing && state.version == before.version) {
      was_done = co_await keys_->erase(state_key, current.token);
    } else if (state.status == legacy_status::complete && state.version == before.waits_for &&
               state.waiting > 0) {
      --state.waiting;
      was_done = co_await put(current, for_ever);
    }
    if (was_done) co_return;
  }
}

ELASTIC_DECL task<void> legacy_round::close(job_ending ending) {
  for (;;) {
    view current = co_await look();
    if (current.state && current.state->status == legacy_status::closed) co_return;
    current.state = legacy_state();
    current.state->status = legacy_status::closed;
    current.state->ending = ending;
    const bool was_closed = co_await put(current, for_ever);
    if (was_closed) co_return;
  }
}

ELASTIC_DECL std::string legacy_round::lease_key(const std::string& version, int rank) {
  return directory_of(version) + "/" + legacy_lease_name(rank);
}

ELASTIC_DECL task<bool> legacy_round::put(const view& current, std::chrono::seconds ttl) {
  return keys_->put(state_key, to_text(*current.state), current.token, ttl);
}

ELASTIC_DECL task<void> legacy_round::create(view current) {
  current.state = legacy_state();
  const bool is_maker = co_await put(current, legacy_ttl::setup);
  if (!is_maker) co_return;
  versioned_store counters(keys_);
  const std::int64_t number = co_await counters.add(counter_key, 1);
  const std::string version = std::to_string(number);
  std::string directory = directory_of(version);
  co_await keys_->make_directory(std::move(directory));
  // The state that this node has written, unless that took too long.
  view made = co_await look();
  if (!made.state || made.state->status != legacy_status::setup) co_return;
  made.state->status = legacy_status::joinable;
  made.state->version = version;
  co_await put(made, for_ever);
}

ELASTIC_DECL task<void> legacy_round::join(view current) {
  legacy_state& state = *current.state;
  const int rank = state.participants++;
  if (state.participants == settings_.max_nodes) state.status = legacy_status::frozen;
  const bool is_enough = state.participants >= settings_.min_nodes;
  const bool has_joined = co_await put(current, is_enough ? legacy_ttl::passing : for_ever);
  if (!has_joined) co_return;
  me_.version = state.version;
  me_.rank = rank;
  const bool waits_call =
      state.participants == settings_.min_nodes && state.status == legacy_status::joinable;
  me_.call_end.reset();
  if (!waits_call) co_return;
  me_.call_end = time_->now() + settings_.last_call_timeout;
  schedule_refresh();
}

ELASTIC_DECL task<void> legacy_round::refresh_call(view current) {
  const bool was_refreshed = co_await put(current, legacy_ttl::passing);
  if (was_refreshed) schedule_refresh();
}

ELASTIC_DECL void legacy_round::schedule_refresh() {
  me_.next_refresh = time_->now() + duration(legacy_ttl::passing) / 2;
}

ELASTIC_DECL task<void> legacy_round::freeze(view current) {
  current.state->status = legacy_status::frozen;
  co_await put(current, legacy_ttl::passing);
}

ELASTIC_DECL task<void> legacy_round::confirm(view current) {
  legacy_state& state = *current.state;
  std::string key = lease_key(me_.version, me_.rank);
  state.keep_alives.push_back(path_ + "/" + key);
  co_await lease_->hold(std::move(key));
  const bool is_last = static_cast<int>(state.keep_alives.size()) == state.participants;
  if (is_last) state.status = legacy_status::complete;
  co_await put(current, is_last ? for_ever : legacy_ttl::passing);
}

ELASTIC_DECL task<void> legacy_round::announce(view current) {
  const int before = current.state->waiting++;
  const bool is_counted = co_await put(current, for_ever);
  if (!is_counted) co_return;
  me_.waits_for = current.state->version;
  me_.waiting_before = before;
  me_.waits_since = time_->now();
}

ELASTIC_DECL task<void> legacy_round::destroy(view current) {
  const std::string token = current.token;
  co_await keys_->erase(state_key, token);
}

ELASTIC_DECL task<void> legacy_round::forget() {
  co_await lease_->remove();
  me_ = legacy_standing();
}

}  // namespace elastic::detail
