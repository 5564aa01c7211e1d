// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/base64.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/random.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/store/etcd_client.hpp>
#include <elastic/store/versioned_keys.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic {

/// The first key behind all those that begin with `prefix`, as etcd wants the end of a range.
inline std::string etcd_prefix_end(std::string prefix) {
  while (!prefix.empty() && prefix.back() == '\xff') prefix.pop_back();
  if (prefix.empty()) return std::string(1, '\0');
  prefix.back() = static_cast<char>(prefix.back() + 1);
  return prefix;
}

/// The changes that one program makes in etcd, each with a name of its own, which is written along
/// with it: where a connection breaks before the answer comes, a second try learns from it that
/// the first one was carried out.
///
/// Thread-safety: one strand at a time.
class etcd_marker {
 public:
  explicit etcd_marker(std::string root) {
    random_source random;
    key_ = root + random_name(random, 16);
  }

  const std::string& key() const { return key_; }
  std::string next() { return std::to_string(++last_); }

 private:
  std::string key_;
  std::uint64_t last_ = 0;
};

/// Keys of etcd, by its v3 API, all under one prefix. A change is told at once.
///
/// Errors: those of `etcd_client`. Thread-safety: one strand at a time.
class etcd_keys final : public versioned_keys {
 public:
  /// @param root    what each key begins with
  /// @param marker  shared by all that the client changes
  etcd_keys(std::shared_ptr<etcd_client> client, std::string root,
            std::shared_ptr<etcd_marker> marker)
      : client_(std::move(client)), root_(std::move(root)), marker_(std::move(marker)) {}

  std::string place_of(const std::string& key) const override {
    return fmt::format("the key '{}{}' of the etcd at {}", root_, key, client_->name());
  }

  task<versioned_value> get(std::string key) override {
    json body;
    body["key"] = to_base64(root_ + key);
    const json answer = co_await client_->call(std::string("/v3/kv/range"), std::move(body));
    co_return first_of(answer);
  }

  task<bool> put(std::string key, std::string value, std::string version) override {
    const std::string name = root_ + key;
    const std::string change = marker_->next();
    json body;
    body["compare"].push_back(unchanged(name, version));
    body["success"].push_back(put_of(name, value));
    body["success"].push_back(put_of(marker_->key(), change));
    body["failure"].push_back(range_of(marker_->key()));
    const json answer = co_await client_->call(std::string("/v3/kv/txn"), std::move(body));
    if (has_succeeded(answer)) co_return true;
    const versioned_value marked = first_of(response_of(answer, 0, "response_range"));
    co_return marked.value == change;
  }

  task<void> put(std::string key, std::string value) override {
    json body;
    body["key"] = to_base64(root_ + key);
    body["value"] = to_base64(value);
    co_await client_->call(std::string("/v3/kv/put"), std::move(body));
  }

  task<bool> erase(std::string key) override {
    json body;
    body["key"] = to_base64(root_ + key);
    const json answer = co_await client_->call(std::string("/v3/kv/deleterange"), std::move(body));
    co_return etcd_client::number_in(answer, "deleted") > 0;
  }

  task<std::int64_t> count() override {
    json body;
    body["key"] = to_base64(root_);
    body["range_end"] = to_base64(etcd_prefix_end(root_));
    body["count_only"] = true;
    const json answer = co_await client_->call(std::string("/v3/kv/range"), std::move(body));
    co_return etcd_client::number_in(answer, "count");
  }

  task<void> wait_for_change(std::string key, std::string version) override {
    json watch;
    watch["key"] = to_base64(root_ + key);
    watch["start_revision"] = std::to_string(seen_revision(version) + 1);
    time_source& time = client_->time();
    task<void> waiting = client_->await_event(std::move(watch));
    co_await with_deadline(time, time.now() + longest_watch, std::move(waiting));
  }

  // ---- what requests and answers are made of --------------------------------------------------

  using json = nlohmann::json;

  /// How long nothing may be heard of a watch until one looks: it may have broken unnoticed.
  static constexpr std::chrono::seconds longest_watch{5};

  /// "<revision of the key>:<revision of etcd at that time>"; the first is 0 for a missing key.
  static std::string version_of(std::int64_t of_key, std::int64_t of_etcd) {
    return fmt::format("{}:{}", of_key, of_etcd);
  }

  static std::int64_t seen_revision(const std::string& version) {
    const std::size_t colon = version.find(':');
    return colon == std::string::npos ? 0 : std::stoll(version.substr(colon + 1));
  }

  static json unchanged(const std::string& key, const std::string& version) {
    json compare;
    compare["key"] = to_base64(key);
    compare["target"] = "MOD";
    compare["mod_revision"] = version.substr(0, version.find(':'));
    return compare;
  }

  static json put_of(const std::string& key, const std::string& value) {
    json put;
    put["request_put"]["key"] = to_base64(key);
    put["request_put"]["value"] = to_base64(value);
    return put;
  }

  static json range_of(const std::string& key, const std::string& end = "") {
    json range;
    range["request_range"]["key"] = to_base64(key);
    if (!end.empty()) range["request_range"]["range_end"] = to_base64(end);
    return range;
  }

  static bool has_succeeded(const json& answer) {
    const json& succeeded = etcd_client::part_of(answer, "succeeded");
    return succeeded.is_boolean() && succeeded.get<bool>();
  }

  /// The answer to one of the requests of a transaction, with the revision of etcd then.
  /// Errors: `errc::protocol_violation`.
  static json response_of(const json& answer, std::size_t place, const char* kind) {
    const json& responses = etcd_client::part_of(answer, "responses");
    if (!responses.is_array() || responses.size() <= place) {
      throw error(errc::protocol_violation, "etcd's answer is not in its form, at 'responses'");
    }
    json response = etcd_client::part_of(responses[place], kind);
    if (!response.is_object()) response = json::object();
    response["header"] = etcd_client::part_of(answer, "header");
    return response;
  }

  /// The one key that a range has found, or has not.
  /// Errors: `errc::protocol_violation`.
  static versioned_value first_of(const json& range) {
    const json& header = etcd_client::part_of(range, "header");
    const std::int64_t revision = etcd_client::number_in(header, "revision");
    const json& found = etcd_client::part_of(range, "kvs");
    versioned_value seen;
    seen.version = version_of(0, revision);
    if (!found.is_array() || found.empty()) return seen;
    seen.value = bytes_in(found[0], "value");
    seen.version = version_of(etcd_client::number_in(found[0], "mod_revision"), revision);
    return seen;
  }

  /// Bytes, which answers have in base64.
  /// Errors: `errc::protocol_violation`.
  static std::string bytes_in(const json& object, const char* name) {
    std::optional<std::string> bytes = from_base64(etcd_client::text_in(object, name));
    if (bytes) return std::move(*bytes);
    throw error(errc::protocol_violation,
                fmt::format("etcd's answer is not in base64, at '{}'", name));
  }

 private:
  std::shared_ptr<etcd_client> client_;
  std::string root_;
  std::shared_ptr<etcd_marker> marker_;
};

}  // namespace elastic
