// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/etcd/detail/etcd_client.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/json.hpp>
#include <elastic/net/detail/byte_stream.hpp>
#include <elastic/net/detail/socket_stream.hpp>
#include <elastic/net/detail/tls_stream.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL etcd_refusal::etcd_refusal(errc code, const std::string& sentence, int reason)
    : error(code, sentence), reason_(reason) {}

ELASTIC_DECL etcd_client::etcd_client(etcd_options options) : options_(std::move(options)) {
  idle_.resize(options_.members.size());
  if (options_.uses_tls) check_tls_options(options_.tls);
}

ELASTIC_DECL std::string etcd_client::name() const {
  std::string names;
  for (std::size_t i = 0; i < options_.members.size(); ++i) {
    names += (i == 0 ? "" : ", ") + name_of(i);
  }
  return names;
}

ELASTIC_DECL task<std::string> etcd_client::version() & {
  http_request request;
  request.target = "/version";
  const http_response response = co_await ask(std::move(request));
  const json answer = json::parse(response.body, nullptr, false);
  if (response.status == 200 && answer.is_object()) {
    const auto field = answer.find("etcdserver");
    if (field != answer.end() && field->is_string()) co_return field->get<std::string>();
  }
  throw error(errc::protocol_violation, fmt::format("the server at {} is not etcd: {}",
                                                    name_of(current_), shown(response)));
}

/// Whether an answer is a refusal. The gateway of etcd 3.6 and later writes "code" and "message"
/// instead of "error".
inline bool holds_refusal(const nlohmann::json& answer) {
  return answer.contains("error") || (answer.contains("code") && answer.contains("message"));
}

/// The text of a refusal, by any gateway.
inline std::string text_of_refusal(const nlohmann::json& answer) {
  const nlohmann::json& problem = etcd_client::part_of(answer, "error");
  if (problem.is_object()) return etcd_client::text_in(problem, "message");
  return etcd_client::text_in(answer, problem.is_null() ? "message" : "error");
}

ELASTIC_DECL auto etcd_client::call(std::string target, json body) & -> task<json> {
  const std::string text = to_text(body);
  bool is_renewed = false;
  for (;;) {
    if (!options_.user.empty() && token_.empty() && !is_open_) co_await authenticate();
    http_request request = v3_request(target, text);
    const http_response response = co_await ask(std::move(request));
    json answer = read_answer(response, target);
    const std::optional<etcd_refusal> refusal = refusal_in(answer);
    if (!refusal) co_return answer;
    // A token becomes invalid when the member that issued it ends, with time, and when users
    // change.
    const bool may_be_old =
        !token_.empty() && (refusal->reason() == etcd_refusal::unauthenticated ||
                            text_of_refusal(answer).find("auth store") != std::string::npos);
    if (!may_be_old || is_renewed) throw *refusal;
    is_renewed = true;
    token_.clear();
  }
}

ELASTIC_DECL task<void> etcd_client::await_event(json create_request) & {
  std::string problem;
  try {
    if (!options_.user.empty() && token_.empty() && !is_open_) co_await authenticate();
    json body;
    body["create_request"] = std::move(create_request);
    http_request request = v3_request("/v3/watch", to_text(body));
    co_await follow(std::move(request));
    co_return;
  } catch (const error& failure) {
    problem = failure.what();
  }
  options_.log.debug("etcd does not report changes: {}", problem);
  co_await time().sleep_until(time().now() + watch_pause);
}

ELASTIC_DECL task<http_response> etcd_client::ask(http_request request) & {
  duration pause = first_pause;
  const time_point begin = time().now();
  if (!first_limit_) first_limit_ = begin + options_.first_patience;
  const time_point limit = was_reached_ ? begin + options_.patience : *first_limit_;
  for (;;) {
    std::string tried;
    for (std::size_t i = 0; i < options_.members.size(); ++i) {
      std::optional<http_response> answer = co_await try_member(current_, request, tried);
      if (answer) {
        mark_reached();
        co_return std::move(*answer);
      }
      current_ = (current_ + 1) % options_.members.size();
    }
    const time_point now = time().now();
    if (is_lost_ || now >= limit) {
      is_lost_ = true;
      throw error(errc::connection_failed, fmt::format("etcd cannot be reached: {}", tried));
    }
    log_absence(tried, limit - now);
    const time_point next_try = std::min(now + pause, limit);
    co_await time().sleep_until(next_try);
    pause = std::min<duration>(2 * pause, last_pause);
  }
}

ELASTIC_DECL task<http_response> etcd_client::ask_patiently(
    http_request request) & {
  const std::size_t member = current_;
  std::unique_ptr<http_connection> connection = co_await connect_in_time(member);
  co_return co_await connection->exchange(std::move(request));
}

ELASTIC_DECL std::int64_t etcd_client::number_in(const json& object, const char* name) {
  if (!object.is_object()) refuse_form(name);
  const auto field = object.find(name);
  if (field == object.end()) return 0;
  if (field->is_number_integer()) return field->get<std::int64_t>();
  std::int64_t number = 0;
  if (!field->is_string()) refuse_form(name);
  const auto& digits = field->get_ref<const std::string&>();
  const char* end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, number);
  if (failure != std::errc() || stop != end) refuse_form(name);
  return number;
}

ELASTIC_DECL std::string etcd_client::text_in(const json& object, const char* name) {
  if (!object.is_object()) refuse_form(name);
  const auto field = object.find(name);
  if (field == object.end()) return "";
  if (!field->is_string()) refuse_form(name);
  return field->get<std::string>();
}

ELASTIC_DECL auto etcd_client::part_of(const json& object, const char* name) -> const json& {
  static const json nothing;
  if (!object.is_object()) refuse_form(name);
  const auto field = object.find(name);
  return field == object.end() ? nothing : *field;
}

ELASTIC_DECL void etcd_client::refuse_form(const char* name) {
  throw error(errc::protocol_violation,
              fmt::format("etcd's answer is not in its form, at '{}'", name));
}

ELASTIC_DECL std::string etcd_client::name_of(std::size_t member) const {
  return fmt::format("{}://{}", options_.uses_tls ? "https" : "http",
                     elastic::to_text(options_.members[member]));
}

ELASTIC_DECL std::string etcd_client::to_text(const json& body) {
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

ELASTIC_DECL std::string etcd_client::shown(const http_response& response) {
  constexpr std::size_t most = 100;
  std::string text = response.body.substr(0, most);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  for (char& letter : text) {
    if (letter < ' ' || letter > '~') letter = '?';
  }
  return fmt::format("HTTP status {}, '{}'", response.status, text);
}

ELASTIC_DECL void etcd_client::log_absence(const std::string& tried, duration remaining) {
  if (!is_told_away_) {
    options_.log.warning("etcd cannot be reached: {}; it is tried for {} s more", tried,
                         std::chrono::ceil<std::chrono::seconds>(remaining).count());
  }
  is_told_away_ = true;
  options_.log.debug("etcd cannot be reached, trying again: {}", tried);
}

ELASTIC_DECL void etcd_client::mark_reached() {
  if (is_told_away_) options_.log.info("the etcd at {} answers", name_of(current_));
  is_told_away_ = false;
  was_reached_ = true;
  is_lost_ = false;
}

ELASTIC_DECL task<std::optional<http_response>> etcd_client::try_member(
    std::size_t member, http_request request, std::string& tried) {
  std::string problem;
  try {
    const duration allowed = is_lost_ ? std::min<duration>(lost_timeout, options_.answer_timeout)
                                      : options_.answer_timeout;
    const time_point limit = time().now() + allowed;
    task<http_response> asking = ask_member(member, std::move(request));
    std::optional<http_response> answer =
        co_await with_deadline(time(), limit, std::move(asking));
    if (answer && answer->status < 500) co_return answer;
    const std::chrono::duration<double> seconds = allowed;
    problem = answer ? shown(*answer) : fmt::format("no answer within {} s", seconds.count());
  } catch (const error& failure) {
    if (failure.code() != errc::connection_failed) {
      throw error(static_cast<errc>(failure.code().value()),
                  fmt::format("{}: {}", name_of(member), failure.what()));
    }
    problem = failure.what();
  }
  tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", name_of(member), problem);
  co_return std::nullopt;
}

ELASTIC_DECL task<http_response> etcd_client::ask_member(std::size_t member,
                                                                 http_request request) {
  std::unique_ptr<http_connection> connection;
  if (!idle_[member].empty()) {
    connection = std::move(idle_[member].back());
    idle_[member].pop_back();
    try {
      http_response response = co_await connection->exchange(request);
      keep(member, std::move(connection));
      co_return response;
    } catch (const error& failure) {
      if (failure.code() != errc::connection_failed || connection->was_answered()) throw;
    }
    // The member has closed the connection, or has restarted; the others have the same fate.
    idle_[member].clear();
  }
  connection = co_await connect(member);
  http_response response = co_await connection->exchange(std::move(request));
  keep(member, std::move(connection));
  co_return response;
}

ELASTIC_DECL void etcd_client::keep(std::size_t member,
                                    std::unique_ptr<http_connection> connection) {
  if (!connection->is_usable() || idle_[member].size() >= most_idle) return;
  idle_[member].push_back(std::move(connection));
}

ELASTIC_DECL task<std::unique_ptr<http_connection>> etcd_client::connect(
    std::size_t member) {
  const endpoint address = options_.members[member];
  asio::ip::tcp::socket socket = co_await connect_tcp(address);
  std::unique_ptr<byte_stream> stream;
  if (options_.uses_tls) {
    stream = co_await greet_by_tls(std::move(socket), address.host, options_.tls);
  } else {
    stream = std::make_unique<socket_stream>(std::move(socket));
  }
  co_return std::make_unique<http_connection>(std::move(stream), elastic::to_text(address));
}

ELASTIC_DECL task<std::unique_ptr<http_connection>> etcd_client::connect_in_time(
    std::size_t member) {
  const time_point limit = time().now() + options_.answer_timeout;
  task<std::unique_ptr<http_connection>> connecting = connect(member);
  auto connection = co_await with_deadline(time(), limit, std::move(connecting));
  if (!connection) throw error(errc::connection_failed, name_of(member) + " does not answer");
  co_return std::move(*connection);
}

ELASTIC_DECL http_request etcd_client::v3_request(std::string target,
                                                          std::string body) const {
  http_request request;
  request.method = "POST";
  request.target = std::move(target);
  request.headers.emplace_back("Content-Type", "application/json");
  if (!token_.empty()) request.headers.emplace_back("Authorization", token_);
  request.body = std::move(body);
  return request;
}

ELASTIC_DECL task<void> etcd_client::authenticate() {
  json body;
  body["name"] = options_.user;
  body["password"] = options_.password;
  const std::string target = "/v3/auth/authenticate";
  http_request request = v3_request(target, to_text(body));
  const http_response response = co_await ask(std::move(request));
  const json answer = read_answer(response, target);
  const std::optional<etcd_refusal> refusal = refusal_in(answer);
  if (refusal && refusal->reason() == etcd_refusal::failed_precondition) {
    options_.log.debug("etcd does not ask for a user: {}", refusal->what());
    is_open_ = true;
    co_return;
  }
  if (refusal) throw *refusal;
  token_ = text_in(answer, "token");
  const bool is_header = std::all_of(token_.begin(), token_.end(),
                                     [](char letter) { return letter > ' ' && letter <= '~'; });
  if (token_.empty() || !is_header) refuse_form("token");
}

ELASTIC_DECL auto etcd_client::read_answer(const http_response& response,
                                           const std::string& target) const -> json {
  // For a stream, this is the first and only message.
  json answer = json::parse(response.body, nullptr, false);
  if (answer.is_object() && (response.status == 200 || holds_refusal(answer))) return answer;
  if (response.status == 404) {
    throw error(errc::not_supported,
                fmt::format("the etcd at {} does not offer {}: version 3.4 or later is needed, "
                            "with its gRPC gateway on ({})",
                            name_of(current_), target, shown(response)));
  }
  throw error(errc::protocol_violation, fmt::format("the server at {} is not etcd: {}",
                                                    name_of(current_), shown(response)));
}

ELASTIC_DECL std::optional<etcd_refusal> etcd_client::refusal_in(const json& answer) const {
  if (!holds_refusal(answer)) return std::nullopt;
  // The error of a stream is an object.
  const json& problem = part_of(answer, "error");
  const json& holder = problem.is_object() ? problem : answer;
  const std::string text = text_of_refusal(answer);
  const int reason =
      static_cast<int>(number_in(holder, holder.contains("grpc_code") ? "grpc_code" : "code"));
  std::string advice;
  if (text.find("user name is empty") != std::string::npos) {
    advice = fmt::format(": it requires a user and a password ({}=…,password=…)",
                         options_.name_of("user"));
  } else if (text.find("authentication failed") != std::string::npos) {
    advice = fmt::format(", for the user '{}'", options_.user);
  } else if (reason == etcd_refusal::permission_denied) {
    advice = fmt::format(": the user '{}' may not use these keys", options_.user);
  }
  errc code = errc::invalid_argument;
  if (reason == etcd_refusal::not_found) code = errc::store_value;
  if (reason == etcd_refusal::resource_exhausted) code = errc::connection_failed;
  return etcd_refusal(
      code, fmt::format("the etcd at {} refuses: {:.200}{}", name_of(current_), text, advice),
      reason);
}

ELASTIC_DECL task<void> etcd_client::follow(http_request request) {
  std::unique_ptr<http_connection> connection = co_await connect_in_time(current_);
  const int status = co_await connection->begin(std::move(request));
  std::string text;
  for (;;) {
    std::string piece = co_await connection->next_piece();
    if (piece.empty()) break;
    text += piece;
    if (text.size() > limits::http_body_bytes) refuse_form("events");
    for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
      const bool has_happened = status != 200 || tells_of_event(text.substr(0, end));
      if (has_happened && status == 200) co_return;
      text.erase(0, end + 1);
    }
  }
  if (status == 401) token_.clear();
  throw error(errc::connection_failed, fmt::format("the watch ended (HTTP status {})", status));
}

ELASTIC_DECL bool etcd_client::tells_of_event(const std::string& line) {
  if (line.empty()) return false;
  const json message = json::parse(line, nullptr, false);
  const json& result = part_of(message, "result");
  if (result.is_null()) refuse_form("result");
  const json& canceled = part_of(result, "canceled");
  if (canceled.is_boolean() && canceled.get<bool>()) {
    // etcd has already discarded the revision to watch from, so the key may have changed.
    if (number_in(result, "compact_revision") > 0) return true;
    throw error(errc::connection_failed,
                fmt::format("the watch was cancelled: {:.200}", text_in(result, "cancel_reason")));
  }
  const json& events = part_of(result, "events");
  return events.is_array() && !events.empty();
}

}  // namespace elastic::detail
