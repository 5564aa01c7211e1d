// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/leader_registry.hpp>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL auto leader_registry::look() -> task<sight> {
  std::string key = leader_key;
  versioned_keys::entry found = co_await keys_->get(std::move(key));
  sight seen;
  seen.version = std::move(found.version);
  if (found.value) seen.record = parse_leader_record(*found.value, name(), secret_);
  co_return seen;
}

ELASTIC_DECL task<void> leader_registry::try_put(leader_record record, std::string version) {
  std::string key = leader_key;
  std::string text = registry_text(record, secret_);
  co_await keys_->put(std::move(key), std::move(text), std::move(version));
}

ELASTIC_DECL task<void> leader_registry::wait_for_change(std::string version) {
  std::string key = leader_key;
  co_await keys_->wait_for_change(std::move(key), std::move(version));
}

ELASTIC_DECL task<void> leader_registry::claim(std::uint64_t member, loss_claim claim) {
  std::string key = claim_key(member);
  std::string text = registry_text(claim, secret_);
  co_await keys_->put(std::move(key), std::move(text));
}

ELASTIC_DECL task<std::optional<loss_claim>> leader_registry::claim_of(std::uint64_t member) {
  std::string key = claim_key(member);
  const std::string place = keys_->place_of(key);
  const versioned_keys::entry found = co_await keys_->get(std::move(key));
  std::optional<loss_claim> claim;
  if (found.value) claim = parse_loss_claim(*found.value, place, secret_);
  co_return claim;
}

ELASTIC_DECL std::string leader_registry::claim_key(std::uint64_t member) {
  return fmt::format("lost/{:016x}", member);
}

}  // namespace elastic::detail
