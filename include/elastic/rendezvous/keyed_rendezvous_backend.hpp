// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/error.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/rendezvous_backend.hpp>
#include <elastic/rendezvous/torch_dialect.hpp>
#include <elastic/rendezvous/torch_state_codec.hpp>
#include <elastic/store/versioned_keys.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// Reads the state that some place holds as text, which has to be in `dialect`.
/// @param place  what messages call it
/// Result: none where the text says that there is none yet.
/// Errors: `errc::rendezvous_state`, naming the place.
inline std::optional<torch_state> read_stored_text(std::string_view text, torch_dialect dialect,
                                                   const std::string& place) {
  std::optional<torch_state> state;
  try {
    state = parse_stored_text(text);
  } catch (const error& failure) {
    throw error(errc::rendezvous_state, fmt::format("{} ({})", failure.what(), place));
  }
  if (!state || !state->seen_dialect || *state->seen_dialect == dialect) return state;
  const torch_dialect seen = *state->seen_dialect;
  throw error(errc::rendezvous_state,
              fmt::format("the state in {} is in the dialect {} and this node speaks {}: all nodes "
                          "of a job need one dialect (--rdzv-conf dialect={})",
                          place, to_text(seen), to_text(dialect), to_text(seen)));
}

/// Keeps the state of a rendezvous under one key of a place that can compare and set.
///
/// Errors: also those of the place. Thread-safety: one strand at a time.
class keyed_rendezvous_backend final : public rendezvous_backend {
 public:
  /// @param dialect  what is written; a state of another dialect is refused
  keyed_rendezvous_backend(std::shared_ptr<versioned_keys> keys, std::string key,
                           torch_dialect dialect)
      : keys_(std::move(keys)), key_(std::move(key)), dialect_(dialect) {}

  task<std::optional<stored_state>> get() override {
    versioned_value seen = co_await look();
    co_return parsed(std::move(seen));
  }

  task<set_outcome> set(torch_state state, std::string token) override {
    // What is there has to be understood before it is replaced.
    if (token.empty()) {
      versioned_value before = co_await look();
      token = before.version;
      std::optional<stored_state> found = parsed(std::move(before));
      if (found) {
        set_outcome outcome;
        outcome.stored = std::move(found);
        co_return outcome;
      }
    }
    std::string wanted = stored_text(state, dialect_);
    set_outcome outcome;
    outcome.was_set = co_await keys_->put(key_, std::move(wanted), std::move(token));
    versioned_value after = co_await look();
    outcome.stored = parsed(std::move(after));
    co_return outcome;
  }

  task<void> wait_for_change(std::string token) override {
    if (token.empty()) token = nothing_;
    if (!token.empty()) co_await keys_->wait_for_change(key_, std::move(token));
  }

  /// Which dialect the state is written in; none where there is none yet, or one that holds
  /// nothing that tells.
  /// Errors: `errc::rendezvous_state`; those of the place.
  static task<std::optional<torch_dialect>> seen_dialect(std::shared_ptr<versioned_keys> keys,
                                                         std::string key) {
    const versioned_value seen = co_await keys->get(key);
    if (!seen.value) co_return std::nullopt;
    try {
      const std::optional<torch_state> state = parse_stored_text(*seen.value);
      if (!state) co_return std::nullopt;
      co_return state->seen_dialect;
    } catch (const error& failure) {
      throw error(errc::rendezvous_state,
                  fmt::format("{} ({})", failure.what(), keys->place_of(key)));
    }
  }

 private:
  task<versioned_value> look() {
    try {
      co_return co_await keys_->get(key_);
    } catch (const error& failure) {
      // A place that cannot understand its own form.
      if (failure.code() != errc::store_value) throw;
      throw error(errc::rendezvous_state, failure.what());
    }
  }

  std::optional<stored_state> parsed(versioned_value seen) {
    std::optional<torch_state> state;
    if (seen.value) state = read_stored_text(*seen.value, dialect_, keys_->place_of(key_));
    if (state) return stored_state{std::move(*state), std::move(seen.version), std::nullopt};
    nothing_ = std::move(seen.version);
    return std::nullopt;
  }

  std::shared_ptr<versioned_keys> keys_;
  std::string key_;
  torch_dialect dialect_;
  /// The version at which no state was seen.
  std::string nothing_;
};

}  // namespace elastic
