// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/rendezvous/etcd/detail/legacy_round.hpp>

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
  view seen;
  const std::string key = state_key;
  versioned_value found = co_await keys_->get(key);
  seen.token = std::move(found.version);
  if (!found.value) co_return seen;
  try {
    seen.state = parse_legacy_state(*found.value);
  } catch (const error& failure) {
    throw error(errc::rendezvous_state,
                fmt::format("{} ({})", failure.what(), keys_->place_of(key)));
  }
  if (seen.state->status == legacy_status::complete) {
    std::string directory = directory_of(seen.state->version);
    seen.living = co_await keys_->names_in(std::move(directory));
  }
  co_return seen;
}

ELASTIC_DECL task<void> legacy_round::wait_for_change(std::string token, time_point deadline) {
  task<void> waiting = keys_->wait_for_any_change(std::move(token));
  co_await with_deadline(*time_, deadline, std::move(waiting));
}

ELASTIC_DECL legacy_decision legacy_round::decide(const view& seen, time_point deadline) const {
  return decide_legacy(seen.state, me_, settings_, seen.living, time_->now(), deadline);
}

ELASTIC_DECL task<void> legacy_round::carry_out(view seen, legacy_action action) {
  switch (action) {
    case legacy_action::create: co_await create(std::move(seen)); break;
    case legacy_action::join: co_await join(std::move(seen)); break;
    case legacy_action::prolong_call: co_await prolong_call(std::move(seen)); break;
    case legacy_action::freeze: co_await freeze(std::move(seen)); break;
    case legacy_action::confirm: co_await confirm(std::move(seen)); break;
    case legacy_action::announce: co_await announce(std::move(seen)); break;
    case legacy_action::destroy: co_await destroy(std::move(seen)); break;
    case legacy_action::forget: co_await forget(); break;
    default: break;
  }
}

ELASTIC_DECL task<void> legacy_round::leave() {
  const std::string key = lease_->held();
  co_await lease_->release();
  if (!key.empty()) co_await keys_->prolong(key, legacy_lives::lease);
  legacy_standing next;
  next.left = std::move(me_.version);
  next.left_rank = me_.rank;
  me_ = std::move(next);
}

ELASTIC_DECL task<void> legacy_round::give_up() {
  co_await lease_->remove();
  const legacy_standing before = std::exchange(me_, legacy_standing());
  for (;;) {
    view seen = co_await look();
    if (!seen.state) co_return;
    legacy_state& state = *seen.state;
    const bool is_passing =
        state.status == legacy_status::joinable || state.status == legacy_status::frozen;
    bool was_done = true;
    if (is_passing && state.version == before.version) {
      was_done = co_await keys_->erase(state_key, seen.token);
    } else if (state.status == legacy_status::complete && state.version == before.waits_for &&
               state.waiting > 0) {
      --state.waiting;
      was_done = co_await put(seen, for_ever);
    }
    if (was_done) co_return;
  }
}

ELASTIC_DECL task<void> legacy_round::close(job_ending ending) {
  for (;;) {
    view seen = co_await look();
    if (seen.state && seen.state->status == legacy_status::closed) co_return;
    seen.state = legacy_state();
    seen.state->status = legacy_status::closed;
    seen.state->ending = ending;
    const bool was_closed = co_await put(seen, for_ever);
    if (was_closed) co_return;
  }
}

ELASTIC_DECL std::string legacy_round::lease_key(const std::string& version, int rank) {
  return directory_of(version) + "/" + legacy_lease_name(rank);
}

ELASTIC_DECL task<bool> legacy_round::put(const view& seen, std::chrono::seconds life) {
  return keys_->put(state_key, to_text(*seen.state), seen.token, life);
}

ELASTIC_DECL task<void> legacy_round::create(view seen) {
  seen.state = legacy_state();
  const bool is_maker = co_await put(seen, legacy_lives::setup);
  if (!is_maker) co_return;
  versioned_store counters(keys_);
  const std::int64_t number = co_await counters.add(counter_key, 1);
  const std::string version = std::to_string(number);
  std::string directory = directory_of(version);
  co_await keys_->make_directory(std::move(directory));
  // What this node has written, unless that took too long.
  view made = co_await look();
  if (!made.state || made.state->status != legacy_status::setup) co_return;
  made.state->status = legacy_status::joinable;
  made.state->version = version;
  co_await put(made, for_ever);
}

ELASTIC_DECL task<void> legacy_round::join(view seen) {
  legacy_state& state = *seen.state;
  const int rank = state.participants++;
  if (state.participants == settings_.max_nodes) state.status = legacy_status::frozen;
  const bool is_enough = state.participants >= settings_.min_nodes;
  const bool has_joined = co_await put(seen, is_enough ? legacy_lives::passing : for_ever);
  if (!has_joined) co_return;
  me_.version = state.version;
  me_.rank = rank;
  const bool waits_call =
      state.participants == settings_.min_nodes && state.status == legacy_status::joinable;
  me_.call_end.reset();
  if (!waits_call) co_return;
  me_.call_end = time_->now() + settings_.last_call_timeout;
  note_prolonging();
}

ELASTIC_DECL task<void> legacy_round::prolong_call(view seen) {
  const bool was_prolonged = co_await put(seen, legacy_lives::passing);
  if (was_prolonged) note_prolonging();
}

ELASTIC_DECL void legacy_round::note_prolonging() {
  me_.next_prolonging = time_->now() + duration(legacy_lives::passing) / 2;
}

ELASTIC_DECL task<void> legacy_round::freeze(view seen) {
  seen.state->status = legacy_status::frozen;
  co_await put(seen, legacy_lives::passing);
}

ELASTIC_DECL task<void> legacy_round::confirm(view seen) {
  legacy_state& state = *seen.state;
  std::string key = lease_key(me_.version, me_.rank);
  state.keep_alives.push_back(path_ + "/" + key);
  co_await lease_->hold(std::move(key));
  const bool is_last = static_cast<int>(state.keep_alives.size()) == state.participants;
  if (is_last) state.status = legacy_status::complete;
  co_await put(seen, is_last ? for_ever : legacy_lives::passing);
}

ELASTIC_DECL task<void> legacy_round::announce(view seen) {
  const int before = seen.state->waiting++;
  const bool is_counted = co_await put(seen, for_ever);
  if (!is_counted) co_return;
  me_.waits_for = seen.state->version;
  me_.waiting_before = before;
  me_.waits_since = time_->now();
}

ELASTIC_DECL task<void> legacy_round::destroy(view seen) {
  const std::string token = seen.token;
  co_await keys_->erase(state_key, token);
}

ELASTIC_DECL task<void> legacy_round::forget() {
  co_await lease_->remove();
  me_ = legacy_standing();
}

}  // namespace elastic::detail
