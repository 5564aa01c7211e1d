// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/etcd/detail/etcd_rendezvous_backend.hpp>

#include <elastic/base/detail/base64.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/store/versioned_keys.hpp>
#include <elastic/torch/detail/pickle_format.hpp>
#include <elastic/torch/detail/torch_state_codec.hpp>
#include <elastic/torch/keyed_rendezvous_backend.hpp>

#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic::detail {

ELASTIC_DECL etcd_rendezvous_backend::etcd_rendezvous_backend(std::shared_ptr<etcd_client> client,
                                                              std::string root,
                                                              std::shared_ptr<etcd_marker> marker,
                                                              duration lease, torch_dialect dialect)
    : client_(std::move(client)),
      root_(std::move(root)),
      marker_(std::move(marker)),
      lease_seconds_(std::chrono::ceil<std::chrono::seconds>(lease).count()),
      dialect_(dialect) {}

ELASTIC_DECL task<std::optional<stored_state>> etcd_rendezvous_backend::get() {
  json body;
  body["success"].push_back(etcd_keys::range_of(state_key()));
  body["success"].push_back(range_of_nodes());
  const json answer = co_await client_->call(std::string("/v3/kv/txn"), std::move(body));
  co_return stored_in(answer, 0);
}

ELASTIC_DECL task<set_outcome> etcd_rendezvous_backend::set(torch_state state, std::string token) {
  if (token.empty()) token = "0:0";
  const std::string change = marker_->next();
  const std::string text = stored_text(state, dialect_);
  json body;
  body["compare"].push_back(etcd_keys::unchanged(state_key(), token));
  body["success"].push_back(etcd_keys::put_of(state_key(), text));
  body["success"].push_back(etcd_keys::put_of(marker_->key(), change));
  body["success"].push_back(etcd_keys::range_of(state_key()));
  body["success"].push_back(range_of_nodes());
  body["failure"].push_back(etcd_keys::range_of(marker_->key()));
  body["failure"].push_back(etcd_keys::range_of(state_key()));
  body["failure"].push_back(range_of_nodes());
  const json answer = co_await client_->call(std::string("/v3/kv/txn"), std::move(body));
  set_outcome outcome;
  outcome.was_set = etcd_keys::has_succeeded(answer);
  outcome.stored = stored_in(answer, outcome.was_set ? 2 : 1);
  if (!outcome.was_set) {
    // Unless an answer that never came would have said that it was.
    const json marked = etcd_keys::response_of(answer, 0, "response_range");
    outcome.was_set = etcd_keys::first_of(marked).value == change;
  }
  co_return outcome;
}

ELASTIC_DECL task<void> etcd_rendezvous_backend::wait_for_change(std::string token) {
  if (token.empty()) token = nothing_;
  if (token.empty()) co_return;
  json watch;
  watch["key"] = to_base64(root_);
  watch["range_end"] = to_base64(etcd_prefix_end(root_));
  watch["start_revision"] = etcd_keys::next_revision(token);
  co_await client_->await_event(std::move(watch));
}

ELASTIC_DECL task<void> etcd_rendezvous_backend::say_alive(node_id node) {
  if (lease_ != 0 && co_await refresh()) co_return;
  json wish;
  wish["TTL"] = std::to_string(lease_seconds_);
  const json granted = co_await client_->call(std::string("/v3/lease/grant"), std::move(wish));
  const std::int64_t lease = etcd_client::number_in(granted, "ID");
  json put;
  put["key"] = to_base64(node_key(node));
  put["lease"] = std::to_string(lease);
  co_await client_->call(std::string("/v3/kv/put"), std::move(put));
  lease_ = lease;
}

ELASTIC_DECL task<void> etcd_rendezvous_backend::say_gone() {
  if (lease_ == 0) co_return;
  json body;
  body["ID"] = std::to_string(std::exchange(lease_, 0));
  co_await client_->call(std::string("/v3/lease/revoke"), std::move(body));
  // Nothing is changed any more.
  json mark;
  mark["key"] = to_base64(marker_->key());
  co_await client_->call(std::string("/v3/kv/deleterange"), std::move(mark));
}

ELASTIC_DECL auto etcd_rendezvous_backend::range_of_nodes() const -> json {
  const std::string nodes = root_ + "node/";
  json range = etcd_keys::range_of(nodes, etcd_prefix_end(nodes));
  range["request_range"]["keys_only"] = true;
  return range;
}

ELASTIC_DECL task<bool> etcd_rendezvous_backend::refresh() {
  json body;
  body["ID"] = std::to_string(lease_);
  const json answer = co_await client_->call(std::string("/v3/lease/keepalive"), std::move(body));
  const json& result = etcd_client::part_of(answer, "result");
  co_return etcd_client::number_in(result, "TTL") > 0;
}

ELASTIC_DECL std::optional<stored_state> etcd_rendezvous_backend::stored_in(const json& answer,
                                                                            std::size_t index) {
  const json range = etcd_keys::response_of(answer, index, "response_range");
  versioned_value current = etcd_keys::first_of(range);
  std::optional<torch_state> state;
  if (current.value) {
    const std::string shown =
        fmt::format("the key '{}' of the etcd at {}", state_key(), client_->name());
    state = read_stored_text(*current.value, dialect_, shown);
  }
  if (!state) {
    nothing_ = std::move(current.version);
    return std::nullopt;
  }
  stored_state stored;
  stored.living = living_in(etcd_keys::response_of(answer, index + 1, "response_range"), *state);
  stored.state = std::move(*state);
  stored.token = std::move(current.version);
  return stored;
}

ELASTIC_DECL std::set<node_id> etcd_rendezvous_backend::living_in(const json& range,
                                                                  const torch_state& state) const {
  std::set<std::string> keys;
  const json& pairs = etcd_client::part_of(range, "kvs");
  if (pairs.is_array()) {
    for (const json& each : pairs) keys.insert(etcd_keys::bytes_in(each, "key"));
  }
  std::set<node_id> living;
  for (const node_id& node : nodes_of(state)) {
    if (keys.count(node_key(node)) != 0) living.insert(node);
  }
  return living;
}

}  // namespace elastic::detail
