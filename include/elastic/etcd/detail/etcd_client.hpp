// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/http_connection.hpp>
#include <elastic/net/detail/tls_options.hpp>
#include <elastic/net/endpoint.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace elastic::detail {

/// The address of etcd and the way to reach it.
struct etcd_options {
  /// Members of one cluster, which are interchangeable; at least one.
  std::vector<endpoint> members;
  /// The credentials; an empty user if etcd requires none.
  std::string user;
  std::string password;
  /// Whether the client uses https, and its options.
  bool uses_tls = false;
  tls_options tls;
  /// How long a member may take to answer before the client asks the next one.
  duration answer_timeout = std::chrono::seconds(2);
  /// How long the client tries to reach etcd for the first time, counted from the first request.
  duration first_patience = std::chrono::seconds(600);
  /// How long an etcd that was reached before may be unreachable.
  duration patience = limits::rendezvous_reconnect_timeout;
  /// The name of a setting of the rendezvous in messages.
  std::function<std::string(std::string_view setting)> name_of = [](std::string_view setting) {
    return std::string(setting);
  };
  std::shared_ptr<time_source> time = new_shared<system_time>();
  logger log;
};

/// etcd refused a request. The reason is one of gRPC's status codes. A refusal for lack of space,
/// or because of overload, counts as unreachable: `errc::connection_failed`.
class etcd_refusal final : public error {
 public:
  static constexpr int invalid_argument = 3;
  static constexpr int not_found = 5;
  static constexpr int permission_denied = 7;
  static constexpr int resource_exhausted = 8;
  static constexpr int failed_precondition = 9;
  static constexpr int unauthenticated = 16;
  ELASTIC_DECL etcd_refusal(errc code, const std::string& sentence, int reason);

  int reason() const { return reason_; }

 private:
  int reason_;
};

/// A client of etcd (3.4 or later) over HTTP/1.1 and JSON. It sends each request to the member that
/// last answered, and to the next one if that does not answer.
///
/// While no member answers, the client repeats the request, with pauses, for as long as the options
/// allow; after that it tries the next request only once. etcd may therefore carry out a request
/// twice, so repeating a change must be harmless. The client logs a warning for the first failed
/// attempt, and no further ones until a member answers again.
///
/// Errors of every member that waits: `errc::connection_failed` if no member answered; the message
/// names each of them and its failure. Without retries: `errc::protocol_violation` if the other
/// side is not etcd, and `errc::invalid_argument` if it refuses a certificate or a password.
/// Cancellation of every member that waits: all types; etcd may or may not carry out the request.
/// Thread-safety: one strand at a time; operations may run at the same time.
class etcd_client {
 public:
  using json = nlohmann::json;

  /// Errors: `errc::invalid_argument` if the options require TLS and this build has none, or if
  /// their files are unusable.
  ELASTIC_DECL explicit etcd_client(etcd_options options);

  const etcd_options& options() const { return options_; }
  time_source& time() const { return *options_.time; }

  /// The names of the members, for messages.
  ELASTIC_DECL std::string name() const;

  /// The version that /version reports: "3.4.23".
  ELASTIC_DECL task<std::string> version() &;

  /// Calls a method of the v3 API: "/v3/kv/range".
  /// Errors: also `etcd_refusal`; `errc::not_supported` if there is no such method.
  ELASTIC_DECL task<json> call(std::string target, json body) &;

  /// Waits for an event of the watch that "create_request" describes. Also returns when the watch
  /// has ended or, after a pause, if it failed to start: the caller then reads the key itself.
  ELASTIC_DECL task<void> await_event(json create_request) &;

  /// Sends any request to a member that answers it.
  ELASTIC_DECL task<http_response> ask(http_request request) &;

  /// Sends a request once, to the member that last answered, without a time limit for the answer.
  ELASTIC_DECL task<http_response> ask_patiently(http_request request) &;

  /// An integer of an answer, which etcd writes as text; 0 if it is missing.
  /// Errors: `errc::protocol_violation`.
  ELASTIC_DECL static std::int64_t number_in(const json& object, const char* name);

  /// A text in an answer; empty if it is missing.
  /// Errors: `errc::protocol_violation`.
  ELASTIC_DECL static std::string text_in(const json& object, const char* name);

  /// An object or a list in an answer; null if it is missing.
  /// Errors: `errc::protocol_violation`.
  ELASTIC_DECL static const json& part_of(const json& object, const char* name);

 private:
  static constexpr std::chrono::milliseconds first_pause{50};
  static constexpr std::chrono::milliseconds last_pause{500};
  static constexpr std::chrono::milliseconds watch_pause{200};
  /// How long a member may take to answer after all of them failed to.
  static constexpr std::chrono::milliseconds lost_timeout{500};
  static constexpr std::size_t most_idle = 4;

  [[noreturn]] ELASTIC_DECL static void refuse_form(const char* name);
  ELASTIC_DECL std::string name_of(std::size_t member) const;
  ELASTIC_DECL static std::string to_text(const json& body);

  // The beginning of a response, printable.
  ELASTIC_DECL static std::string shown(const http_response& response);

  // Logs one line for each absence, so that the log shows what the program waits for.
  ELASTIC_DECL void log_absence(const std::string& tried, duration remaining);
  ELASTIC_DECL void mark_reached();

  // ---- connections ----------------------------------------------------------------------------

  ELASTIC_DECL task<std::optional<http_response>> try_member(std::size_t member,
                                                             http_request request,
                                                             std::string& tried);
  ELASTIC_DECL task<http_response> ask_member(std::size_t member, http_request request);
  ELASTIC_DECL void keep(std::size_t member, std::unique_ptr<http_connection> connection);
  ELASTIC_DECL task<std::unique_ptr<http_connection>> connect(std::size_t member);
  ELASTIC_DECL task<std::unique_ptr<http_connection>> connect_in_time(std::size_t member);

  // ---- the v3 API -----------------------------------------------------------------------------

  ELASTIC_DECL http_request v3_request(std::string target, std::string body) const;
  ELASTIC_DECL task<void> authenticate();
  ELASTIC_DECL json read_answer(const http_response& response, const std::string& target) const;
  ELASTIC_DECL std::optional<etcd_refusal> refusal_in(const json& answer) const;

  // Returns when an event arrives, or the watch ends.
  ELASTIC_DECL task<void> follow(http_request request);
  ELASTIC_DECL static bool tells_of_event(const std::string& line);

  etcd_options options_;
  std::size_t current_ = 0;
  std::vector<std::vector<std::unique_ptr<http_connection>>> idle_;
  std::string token_;
  /// etcd has answered that it does not authenticate its clients.
  bool is_open_ = false;
  bool was_reached_ = false;
  bool is_lost_ = false;
  bool is_told_away_ = false;
  std::optional<time_point> first_limit_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/etcd/detail/etcd_client.ipp>
#endif
