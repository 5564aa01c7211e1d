// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/etcd/detail/etcd_keys.hpp>

#include <elastic/base/detail/base64.hpp>
#include <elastic/base/detail/json.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/time.hpp>

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::string etcd_prefix_end(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');
  prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

ELASTIC_DECL etcd_keys::etcd_keys(std::shared_ptr<etcd_client> client, std::string root)
    : client_(std::move(client)), root_(std::move(root)) {}

ELASTIC_DECL std::string etcd_keys::place_of(const std::string& key) const {
  return fmt::format("the key '{}{}' of the etcd at {}", root_, key, client_->name());
}

ELASTIC_DECL task<versioned_keys::entry> etcd_keys::get(std::string key) {
  json body;
  body["key"] = to_base64(root_ + key);
  const json answer = co_await client_->call(std::string("/v3/kv/range"), std::move(body));
  co_return first_of(answer);
}

ELASTIC_DECL task<bool> etcd_keys::put(std::string key, std::string value, std::string version) {
  const std::string name = to_base64(root_ + key);
  json unchanged;
  unchanged["key"] = name;
  unchanged["target"] = "MOD";
  unchanged["mod_revision"] = version.substr(0, version.find(':'));
  json put;
  put["request_put"]["key"] = name;
  put["request_put"]["value"] = to_base64(value);
  json body;
  body["compare"].push_back(std::move(unchanged));
  body["success"].push_back(std::move(put));
  const json answer = co_await client_->call(std::string("/v3/kv/txn"), std::move(body));
  const json& succeeded = etcd_client::part_of(answer, "succeeded");
  co_return succeeded.is_boolean() && succeeded.get<bool>();
}

ELASTIC_DECL task<void> etcd_keys::put(std::string key, std::string value) {
  json body;
  body["key"] = to_base64(root_ + key);
  body["value"] = to_base64(value);
  co_await client_->call(std::string("/v3/kv/put"), std::move(body));
}

ELASTIC_DECL task<bool> etcd_keys::erase(std::string key) {
  json body;
  body["key"] = to_base64(root_ + key);
  const json answer = co_await client_->call(std::string("/v3/kv/deleterange"), std::move(body));
  co_return etcd_client::number_in(answer, "deleted") > 0;
}

ELASTIC_DECL task<std::int64_t> etcd_keys::count() {
  json body;
  body["key"] = to_base64(root_);
  body["range_end"] = to_base64(etcd_prefix_end(root_));
  body["count_only"] = true;
  const json answer = co_await client_->call(std::string("/v3/kv/range"), std::move(body));
  co_return etcd_client::number_in(answer, "count");
}

ELASTIC_DECL task<void> etcd_keys::wait_for_change(std::string key, std::string version) {
  json watch;
  watch["key"] = to_base64(root_ + key);
  watch["start_revision"] = next_revision(version);
  time_source& time = client_->time();
  task<void> waiting = client_->await_event(std::move(watch));
  co_await with_deadline(time, time.now() + longest_watch, std::move(waiting));
}

ELASTIC_DECL std::string etcd_keys::version_of(std::int64_t of_key, std::int64_t of_etcd) {
  return fmt::format("{}:{}", of_key, of_etcd);
}

ELASTIC_DECL std::string etcd_keys::next_revision(const std::string& version) {
  const std::size_t colon = version.find(':');
  const std::int64_t seen = colon == std::string::npos ? 0 : std::stoll(version.substr(colon + 1));
  // Unsigned, because an etcd may send any number.
  return std::to_string(static_cast<std::uint64_t>(seen) + 1);
}

ELASTIC_DECL versioned_keys::entry etcd_keys::first_of(const json& range) {
  const json& header = etcd_client::part_of(range, "header");
  const std::int64_t revision = etcd_client::number_in(header, "revision");
  const json& entries = etcd_client::part_of(range, "kvs");
  versioned_keys::entry seen;
  seen.version = version_of(0, revision);
  if (!entries.is_array() || entries.empty()) return seen;
  seen.value = bytes_in(entries[0], "value");
  seen.version = version_of(etcd_client::number_in(entries[0], "mod_revision"), revision);
  return seen;
}

ELASTIC_DECL std::string etcd_keys::bytes_in(const json& object, const char* name) {
  std::optional<std::string> bytes = from_base64(etcd_client::text_in(object, name));
  if (bytes) return std::move(*bytes);
  throw error(errc::protocol_violation,
              fmt::format("etcd's answer is not in base64, at '{}'", name));
}

}  // namespace elastic::detail
