// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/torch/detail/torch_agent_watch.hpp>

#include <elastic/torch/detail/torch_state.hpp>
#include <elastic/torch/detail/torch_state_codec.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace elastic::detail {

ELASTIC_DECL torch_agent_watch::torch_agent_watch(std::shared_ptr<key_value_engine> engine,
                                                  std::string run_id, std::string setting,
                                                  logger log)
    : engine_(std::move(engine)),
      run_id_(std::move(run_id)),
      setting_(std::move(setting)),
      log_(std::move(log)) {}

ELASTIC_DECL void torch_agent_watch::on_change(
    const key_value_engine::change_pointer& change) noexcept {
  try {
    std::optional<torch_state> state = parse_stored_text(change->new_value);
    // The first value that an agent of PyTorch writes does not show its dialect.
    if (!state || !state->seen_dialect || state->closed) return;
    const torch_dialect dialect = *state->seen_dialect;
    warn(dialect);
    state->closed = true;
    // If an agent was faster, its change comes next.
    engine_->compare_set(change->key, change->new_value, stored_text(*state, dialect));
  } catch (const std::exception&) {
    // Not a state, or the table has no room for one.
  }
}

ELASTIC_DECL void torch_agent_watch::warn(torch_dialect dialect) {
  if (has_warned_) return;
  has_warned_ = true;
  log_.warning(
      "a node of torchrun came to join the job '{}' and was turned away, because the "
      "others meet in elasticrun's own way: for a mixed job start every node of "
      "elasticrun with {}={}",
      run_id_, setting_, to_text(dialect));
}

}  // namespace elastic::detail
