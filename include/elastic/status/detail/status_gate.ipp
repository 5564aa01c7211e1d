// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/status_gate.hpp>

#include <elastic/base/detail/asio_address.hpp>

#include <algorithm>
#include <cstddef>

namespace elastic::detail {

/// "localhost" of "LocalHost:8080", "::1" of "[::1]:8080".
inline std::string named_host(std::string_view header) {
  if (header.starts_with('[')) return std::string(header.substr(1, header.find(']') - 1));
  return http_lower_case(header.substr(0, header.find(':')));
}

inline bool is_own_host(const std::string& header, const status_gate& gate) {
  const std::string host = named_host(header);
  if (host == "localhost") return true;
  asio_error_code failure;
  static_cast<void>(asio::ip::make_address(host, failure));
  if (!failure) return true;
  return std::find(gate.hosts.begin(), gate.hosts.end(), host) != gate.hosts.end();
}

/// The value of a cookie; empty if there is none.
inline std::string_view cookie_value(std::string_view cookies, std::string_view name) {
  while (!cookies.empty()) {
    const std::size_t end = cookies.find(';');
    std::string_view pair = cookies.substr(0, end);
    cookies.remove_prefix(end == std::string_view::npos ? cookies.size() : end + 1);
    while (pair.starts_with(' ')) pair.remove_prefix(1);
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with('=')) {
      return pair.substr(name.size() + 1);
    }
  }
  return {};
}

ELASTIC_DECL bool may_see_secrets(const status_gate& gate, std::optional<std::uint32_t> client,
                                  std::uint32_t owner) {
  if (!client) return !gate.token.empty();
  return *client == owner || *client == 0;
}

ELASTIC_DECL bool is_same_secret(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  unsigned char difference = 0;
  for (std::size_t index = 0; index < left.size(); ++index) {
    difference =
        static_cast<unsigned char>(difference | (static_cast<unsigned char>(left[index]) ^
                                                 static_cast<unsigned char>(right[index])));
  }
  return difference == 0;
}

ELASTIC_DECL std::string_view query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(end == std::string_view::npos ? query.size() : end + 1);
    if (pair.starts_with(name) && pair.substr(name.size()).starts_with('=')) {
      return pair.substr(name.size() + 1);
    }
  }
  return {};
}

ELASTIC_DECL bool has_parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view part = query.substr(0, end);
    if (part.substr(0, part.find('=')) == name) return true;
    if (end == std::string_view::npos) break;
    query.remove_prefix(end + 1);
  }
  return false;
}

/// Whether a program shows the token, which no page of another site can.
inline bool has_bearer(const http_head& request, const status_gate& gate) {
  constexpr std::string_view bearer = "Bearer ";
  const std::string authorization = request.header("authorization");
  const std::string_view shown = authorization;
  return !gate.token.empty() && shown.starts_with(bearer) &&
         is_same_secret(shown.substr(bearer.size()), gate.token);
}

inline bool is_of_other_site(const http_head& request) {
  const std::string site = request.header("sec-fetch-site");
  return !site.empty() && site != "same-origin" && site != "none";
}

/// Whether somebody follows a link to the page: it is shown by itself, and the site that has the
/// link cannot read it.
inline bool follows_link(const http_head& request) {
  return request.method == "GET" && request.path == "/" &&
         request.header("sec-fetch-mode") == "navigate" &&
         request.header("sec-fetch-dest") == "document";
}

ELASTIC_DECL admission admission_of(const http_head& request, const status_gate& gate) {
  if (is_of_other_site(request) && !follows_link(request)) return admission::cross_site;
  if (has_bearer(request, gate)) return admission::granted;
  if (gate.checks_host && request.headers.contains("host") &&
      !is_own_host(request.header("host"), gate)) {
    return admission::wrong_host;
  }
  if (gate.token.empty()) return admission::granted;
  const std::string cookies = request.header("cookie");
  const bool has_session = !gate.session.empty();
  if (has_session && is_same_secret(cookie_value(cookies, gate.cookie), gate.session)) {
    return admission::granted;
  }
  if (is_same_secret(query_value(request.query, "token"), gate.token)) {
    return admission::granted_by_query;
  }
  return admission::token_needed;
}

}  // namespace elastic::detail
