// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/etcd/detail/etcd_v2_keys.hpp>

#include <elastic/base/detail/base64.hpp>
#include <elastic/base/detail/json.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/time.hpp>
#include <elastic/store/detail/store_keys.hpp>

#include <optional>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

struct etcd_v2_keys::reply {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  reply() = default;

  json body;
  int code = 0;
  /// etcd's own index at the time of the answer.
  std::int64_t index = 0;
};

ELASTIC_DECL etcd_v2_keys::etcd_v2_keys(std::shared_ptr<etcd_client> client, std::string directory,
                                        etcd_v2_form form, int ttl)
    : client_(std::move(client)), directory_(std::move(directory)), form_(form), ttl_(ttl) {}

ELASTIC_DECL std::string etcd_v2_keys::place_of(const std::string& key) const {
  return fmt::format("the key '{}/{}' of the etcd at {} (v2)", directory_, encoded(key),
                     client_->name());
}

ELASTIC_DECL task<versioned_keys::entry> etcd_v2_keys::get(std::string key) {
  const std::string query = "?quorum=true";
  const reply found = co_await find(key, query);
  versioned_keys::entry seen;
  seen.version = fmt::format("0:{}", found.index);
  if (found.code == key_not_found) co_return seen;
  const json& node = etcd_client::part_of(found.body, "node");
  if (!node.is_object() || !node.contains("value")) refuse_value(key);
  seen.value = decoded(key, etcd_client::text_in(node, "value"));
  seen.version =
      fmt::format("{}:{}", etcd_client::number_in(node, "modifiedIndex"), found.index);
  co_return seen;
}

ELASTIC_DECL task<bool> etcd_v2_keys::exists(std::string key) const {
  const std::string query;
  const reply found = co_await find(std::move(key), query);
  co_return found.code != key_not_found;
}

ELASTIC_DECL task<void> etcd_v2_keys::await_existence() {
  for (;;) {
    const std::string itself;
    const std::string query;
    const reply found = co_await find(itself, query);
    if (found.code != key_not_found) co_return;
    const std::string version = fmt::format("0:{}", found.index);
    const std::string scope;
    co_await watch(itself, version, scope);
  }
}

ELASTIC_DECL task<bool> etcd_v2_keys::put(std::string key, std::string value, std::string version) {
  const std::chrono::seconds ttl(ttl_);
  co_return co_await put(std::move(key), std::move(value), std::move(version), ttl);
}

ELASTIC_DECL task<bool> etcd_v2_keys::put(std::string key, std::string value, std::string version,
                                          std::chrono::seconds ttl) {
  const std::string index = version.substr(0, version.find(':'));
  std::string condition = index == "0" ? "&prevExist=false" : "&prevIndex=" + index;
  condition += ttl_text(ttl);
  co_return co_await write(std::move(key), std::move(value), condition);
}

ELASTIC_DECL task<void> etcd_v2_keys::put(std::string key, std::string value) {
  const std::string condition = ttl_text(std::chrono::seconds(ttl_));
  co_await write(std::move(key), std::move(value), condition);
}

ELASTIC_DECL task<bool> etcd_v2_keys::erase(std::string key, std::string version) {
  return remove(std::move(key), "?prevIndex=" + version.substr(0, version.find(':')));
}

ELASTIC_DECL task<void> etcd_v2_keys::refresh(std::string key, std::chrono::seconds ttl) {
  const std::string wish = "refresh=true&prevExist=true" + ttl_text(ttl);
  const bool was_there = co_await send_form(key, wish);
  if (was_there) co_return;
  const std::string value;
  const std::string condition = ttl_text(ttl);
  co_await write(std::move(key), value, condition);
}

ELASTIC_DECL task<void> etcd_v2_keys::make_directory(std::string key) {
  const std::string wish = "dir=true&prevExist=false";
  co_await send_form(std::move(key), wish);
}

ELASTIC_DECL task<void> etcd_v2_keys::refresh_directory(std::chrono::seconds ttl) {
  const std::string wish = "dir=true" + ttl_text(ttl);
  const std::string itself;
  const std::string if_new = wish + "&prevExist=false";
  const bool is_new = co_await send_form(itself, if_new);
  if (is_new) co_return;
  const std::string if_there = wish + "&prevExist=true";
  co_await send_form(itself, if_there);
}

ELASTIC_DECL task<std::set<std::string>> etcd_v2_keys::names_in(std::string directory) {
  const std::string query = "?quorum=true";
  const reply found = co_await find(directory, query);
  std::set<std::string> names;
  if (found.code == key_not_found) co_return names;
  const json& node = etcd_client::part_of(found.body, "node");
  if (!node.is_object()) refuse_value(directory);
  const json& entries = etcd_client::part_of(node, "nodes");
  if (!entries.is_array()) co_return names;
  for (const json& each : entries) {
    const std::string path = etcd_client::text_in(each, "key");
    names.insert(path.substr(path.rfind('/') + 1));
  }
  co_return names;
}

ELASTIC_DECL task<bool> etcd_v2_keys::erase(std::string key) { return remove(std::move(key), ""); }

ELASTIC_DECL task<std::int64_t> etcd_v2_keys::count() {
  const std::string itself;
  const std::string query = "?recursive=true";
  const reply found = co_await find(itself, query);
  if (found.code == key_not_found) co_return 0;
  co_return leaves_of(etcd_client::part_of(found.body, "node"));
}

ELASTIC_DECL task<void> etcd_v2_keys::wait_for_change(std::string key, std::string version) {
  return watch(std::move(key), std::move(version), "");
}

ELASTIC_DECL task<void> etcd_v2_keys::wait_for_any_change(std::string version) {
  return watch("", std::move(version), "&recursive=true");
}

ELASTIC_DECL task<void> etcd_v2_keys::watch(std::string key, std::string version,
                                            std::string scope) {
  const auto index = static_cast<std::uint64_t>(number_of(version.substr(version.find(':') + 1)));
  http_request request =
      request_of("GET", key, fmt::format("?wait=true&waitIndex={}{}", index + 1, scope));
  time_source& time = client_->time();
  bool is_told = false;
  try {
    task<http_response> waiting = client_->ask_patiently(std::move(request));
    const std::optional<http_response> response =
        co_await with_deadline(time, time.now() + longest_wait, std::move(waiting));
    is_told = !response || response->status == 200;
  } catch (const error& failure) {
    client_->options().log.debug("etcd does not report changes: {}", failure.what());
  }
  if (!is_told) co_await time.sleep_until(time.now() + pause);
}

ELASTIC_DECL std::string etcd_v2_keys::encoded(const std::string& text) const {
  return form_ == etcd_v2_form::base64 ? to_base64(text) : text;
}

ELASTIC_DECL std::string etcd_v2_keys::percent_encoded(std::string_view text,
                                                       std::string_view also) {
  std::string result;
  for (const char letter : text) {
    const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                          (letter >= '0' && letter <= '9') ||
                          also.find(letter) != std::string_view::npos;
    if (is_plain) result.push_back(letter);
    if (!is_plain) result += fmt::format("%{:02X}", static_cast<unsigned char>(letter));
  }
  return result;
}

ELASTIC_DECL std::string etcd_v2_keys::path_of(std::string_view text) {
  return percent_encoded(text, "-._~!$&'()*+,;=:@/");
}

ELASTIC_DECL http_request etcd_v2_keys::request_of(const char* method, const std::string& key,
                                                   const std::string& query) const {
  http_request request;
  request.method = method;
  // Without a key: the path of the directory.
  const std::string below = key.empty() ? "" : "/" + encoded(key);
  request.target = "/v2/keys" + path_of(directory_ + below) + query;
  const etcd_options& options = client_->options();
  if (options.user.empty()) return request;
  const std::string who = to_base64(options.user + ":" + options.password);
  request.headers.emplace_back("Authorization", "Basic " + who);
  return request;
}

ELASTIC_DECL std::string etcd_v2_keys::ttl_text(std::chrono::seconds ttl) {
  return ttl.count() == 0 ? "" : fmt::format("&ttl={}", ttl.count());
}

ELASTIC_DECL task<bool> etcd_v2_keys::write(std::string key, std::string value,
                                            std::string condition) {
  std::string form = "value=" + percent_encoded(encoded(value), "-._~") + condition;
  co_return co_await send_form(std::move(key), std::move(form));
}

ELASTIC_DECL task<bool> etcd_v2_keys::send_form(std::string key, std::string form) {
  http_request request = request_of("PUT", key, "");
  request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
  request.body = std::move(form);
  const reply answer = co_await ask(std::move(request));
  co_return has_held(answer);
}

ELASTIC_DECL task<bool> etcd_v2_keys::remove(std::string key, std::string query) {
  http_request request = request_of("DELETE", key, query);
  const reply answer = co_await ask(std::move(request));
  co_return has_held(answer);
}

ELASTIC_DECL bool etcd_v2_keys::has_held(const reply& answer) const {
  const bool is_condition = answer.code == key_not_found || answer.code == compare_failed ||
                            answer.code == already_there;
  if (!is_condition) refuse_any(answer.body);
  return !is_condition;
}

ELASTIC_DECL auto etcd_v2_keys::find(std::string key, std::string query) const -> task<reply> {
  http_request request = request_of("GET", key, query);
  reply found = co_await ask(std::move(request));
  if (found.code != key_not_found) refuse_any(found.body);
  co_return found;
}

ELASTIC_DECL auto etcd_v2_keys::ask(http_request request) const -> task<reply> {
  const http_response response = co_await client_->ask(std::move(request));
  reply answer;
  answer.body = read_answer(response);
  answer.code = static_cast<int>(etcd_client::number_in(answer.body, "errorCode"));
  const auto header = response.headers.find("x-etcd-index");
  answer.index = header != response.headers.end() ? number_of(header->second)
                                                  : etcd_client::number_in(answer.body, "index");
  co_return answer;
}

ELASTIC_DECL auto etcd_v2_keys::read_answer(const http_response& response) const -> json {
  json answer = json::parse(response.body, nullptr, false);
  if (answer.is_object() && (answer.contains("node") || answer.contains("errorCode"))) {
    return answer;
  }
  if (response.status == 401) {
    throw error(errc::invalid_argument,
                fmt::format("the etcd at {} refuses the user '{}' ({}=…,password=…)",
                            client_->name(), client_->options().user,
                            client_->options().name_of("user")));
  }
  throw error(errc::not_supported,
              fmt::format("the etcd at {} does not offer the v2 API: it has to be started with "
                          "--enable-v2, and be older than 3.6; the rendezvous backend etcd-v3 uses "
                          "the v3 API (HTTP status {})",
                          client_->name(), response.status));
}

ELASTIC_DECL void etcd_v2_keys::refuse_any(const json& answer) const {
  const std::int64_t code = etcd_client::number_in(answer, "errorCode");
  if (code == 0) return;
  std::string advice;
  if (code == not_authorized) {
    advice = fmt::format(" ({}=…,password=…)", client_->options().name_of("user"));
  }
  throw error(errc::invalid_argument,
              fmt::format("the etcd at {} refuses: {:.200}{}", client_->name(),
                          etcd_client::text_in(answer, "message"), advice));
}

ELASTIC_DECL std::int64_t etcd_v2_keys::number_of(const std::string& text) {
  return leading_number(text).value_or(0);
}

ELASTIC_DECL std::string etcd_v2_keys::decoded(const std::string& key, std::string text) const {
  if (form_ == etcd_v2_form::plain) return text;
  std::optional<std::string> bytes = from_base64(text);
  if (!bytes) refuse_value(key);
  return std::move(*bytes);
}

ELASTIC_DECL void etcd_v2_keys::refuse_value(const std::string& key) const {
  throw error(errc::store_value,
              fmt::format("{} does not hold what elasticrun or torchrun store", place_of(key)));
}

ELASTIC_DECL std::int64_t etcd_v2_keys::leaves_of(const json& node) {
  const json& nodes = etcd_client::part_of(node, "nodes");
  if (!nodes.is_array()) {
    const json& is_directory = etcd_client::part_of(node, "dir");
    return is_directory.is_boolean() ? 0 : 1;
  }
  std::int64_t count = 0;
  for (const json& each : nodes) count += leaves_of(each);
  return count;
}

}  // namespace elastic::detail
