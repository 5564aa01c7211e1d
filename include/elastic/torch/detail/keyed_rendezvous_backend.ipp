// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/keyed_rendezvous_backend.hpp>

#include <elastic/base/detail/required.hpp>
#include <elastic/base/error.hpp>
#include <elastic/torch/detail/torch_state_codec.hpp>

#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

inline std::optional<torch_state> state_in(std::string_view text, const std::string& place) {
  try {
    return parse_stored_text(text);
  } catch (const error& failure) {
    throw error(errc::rendezvous_state, fmt::format("{} ({})", failure.what(), place));
  }
}

ELASTIC_DECL std::optional<torch_state> read_stored_text(std::string_view text,
                                                         torch_dialect dialect,
                                                         const std::string& place) {
  std::optional<torch_state> state = state_in(text, place);
  if (!state || !state->seen_dialect || *state->seen_dialect == dialect) return state;
  const torch_dialect current = *state->seen_dialect;
  throw error(errc::rendezvous_state,
              fmt::format("the state in {} is in the dialect {} and this node speaks {}: all nodes "
                          "of a job need one dialect (the setting dialect={})",
                          place, to_text(current), to_text(dialect), to_text(current)));
}

ELASTIC_DECL std::optional<torch_dialect> dialect_of(std::string_view text,
                                                     const std::string& place) {
  const std::optional<torch_state> state = state_in(text, place);
  return state ? state->seen_dialect : std::nullopt;
}

ELASTIC_DECL keyed_rendezvous_backend::keyed_rendezvous_backend(
    std::shared_ptr<versioned_keys> keys, std::string key, torch_dialect dialect)
    : keys_(required(std::move(keys), "keyed_rendezvous_backend: the place of the keys")),
      key_(std::move(key)),
      dialect_(dialect) {}

ELASTIC_DECL task<std::optional<stored_state>> keyed_rendezvous_backend::get() {
  versioned_keys::entry current = co_await look();
  co_return parsed(std::move(current));
}

ELASTIC_DECL task<set_outcome> keyed_rendezvous_backend::set(torch_state state, std::string token) {
  // The existing value must be readable before it is replaced.
  if (token.empty()) {
    versioned_keys::entry before = co_await look();
    token = before.version;
    std::optional<stored_state> stored = parsed(std::move(before));
    if (stored) {
      set_outcome outcome;
      outcome.stored = std::move(stored);
      co_return outcome;
    }
  }
  std::string text = stored_text(state, dialect_);
  set_outcome outcome;
  outcome.was_set = co_await keys_->put(key_, std::move(text), std::move(token));
  versioned_keys::entry after = co_await look();
  outcome.stored = parsed(std::move(after));
  co_return outcome;
}

ELASTIC_DECL task<void> keyed_rendezvous_backend::wait_for_change(std::string token) {
  if (token.empty()) token = nothing_;
  if (!token.empty()) co_await keys_->wait_for_change(key_, std::move(token));
}

ELASTIC_DECL task<std::optional<torch_dialect>> keyed_rendezvous_backend::seen_dialect(
    std::shared_ptr<versioned_keys> keys, std::string key) {
  const versioned_keys::entry current = co_await keys->get(key);
  if (!current.value) co_return std::nullopt;
  co_return dialect_of(*current.value, keys->place_of(key));
}

ELASTIC_DECL task<versioned_keys::entry> keyed_rendezvous_backend::look() {
  try {
    co_return co_await keys_->get(key_);
  } catch (const error& failure) {
    // The service cannot parse its own format.
    if (failure.code() != errc::store_value) throw;
    throw error(errc::rendezvous_state, failure.what());
  }
}

ELASTIC_DECL std::optional<stored_state> keyed_rendezvous_backend::parsed(
    versioned_keys::entry current) {
  std::optional<torch_state> state;
  if (current.value) state = read_stored_text(*current.value, dialect_, keys_->place_of(key_));
  if (state) return stored_state{std::move(*state), std::move(current.version)};
  nothing_ = std::move(current.version);
  return std::nullopt;
}

}  // namespace elastic::detail
