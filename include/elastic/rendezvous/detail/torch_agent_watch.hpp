// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/log.hpp>
#include <elastic/rendezvous/store_rendezvous_backend.hpp>
#include <elastic/rendezvous/torch_dialect.hpp>
#include <elastic/rendezvous/torch_state_codec.hpp>
#include <elastic/store/key_value_engine.hpp>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace elastic::detail {

/// Turns away agents of PyTorch that try to meet in a store whose nodes meet in another way: their
/// rendezvous is closed, so that they end at once. Left to themselves they would wait in vain, or,
/// where they are enough, make a second job under the same name. Warns once.
///
/// Thread-safety: told by whichever thread changes the store.
class torch_agent_watch final : public key_value_engine::listener,
                                public std::enable_shared_from_this<torch_agent_watch> {
 public:
  torch_agent_watch(std::shared_ptr<key_value_engine> engine, std::string run_id, logger log)
      : engine_(std::move(engine)), run_id_(std::move(run_id)), log_(std::move(log)) {}
  ~torch_agent_watch() override { engine_->unwatch(id_); }
  torch_agent_watch(const torch_agent_watch&) = delete;
  torch_agent_watch& operator=(const torch_agent_watch&) = delete;

  void begin() { id_ = engine_->watch("/" + torch_state_key(run_id_), weak_from_this()); }

  void on_ready(key_value_engine::wait_id) noexcept override {}

  // The table tells one change after the other, and has no lock while it does.
  void on_change(const key_value_engine::change& change) noexcept override {
    try {
      std::optional<torch_state> state = parse_stored_text(change.new_value);
      // What an agent of PyTorch leaves first says nothing yet.
      if (!state || !state->seen_dialect || state->closed) return;
      const torch_dialect dialect = *state->seen_dialect;
      warn(dialect);
      state->closed = true;
      // Where an agent was quicker, its change comes next.
      engine_->compare_set(change.key, change.new_value, stored_text(*state, dialect));
    } catch (const std::exception&) {
      // Not a state, or no room for one.
    }
  }

 private:
  void warn(torch_dialect dialect) {
    if (has_warned_) return;
    has_warned_ = true;
    log_.warning("a node of torchrun came to join the job '{}' and was turned away, because the "
                 "others meet in elasticrun's own way: for a mixed job start every node of "
                 "elasticrun with --rdzv-conf dialect={}",
                 run_id_, to_text(dialect));
  }

  std::shared_ptr<key_value_engine> engine_;
  std::string run_id_;
  logger log_;
  key_value_engine::wait_id id_ = 0;
  bool has_warned_ = false;
};

}  // namespace elastic::detail
