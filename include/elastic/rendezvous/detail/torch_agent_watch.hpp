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
#include <string_view>
#include <utility>

namespace elastic::detail {

/// Warns, once, where agents of PyTorch try to meet in a store whose nodes meet in another way.
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

  // The table tells one change after the other.
  void on_change(const key_value_engine::change& change) noexcept override {
    if (has_warned_) return;
    try {
      const std::optional<torch_dialect> dialect = dialect_of(change.new_value);
      if (!dialect) return;
      has_warned_ = true;
      log_.warning("a node of torchrun came to join the job '{}' and cannot, because the others "
                   "meet in elasticrun's own way: for a mixed job start every node of elasticrun "
                   "with --rdzv-conf dialect={}",
                   run_id_, to_text(*dialect));
    } catch (const std::exception&) {
      // Not a state.
    }
  }

 private:
  // What an agent of PyTorch leaves first says nothing yet.
  static std::optional<torch_dialect> dialect_of(std::string_view value) {
    const std::optional<torch_state> state = parse_stored_text(value);
    return state ? state->seen_dialect : std::nullopt;
  }

  std::shared_ptr<key_value_engine> engine_;
  std::string run_id_;
  logger log_;
  key_value_engine::wait_id id_ = 0;
  bool has_warned_ = false;
};

}  // namespace elastic::detail
