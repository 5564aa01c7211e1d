// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/http_request_parser.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// The letters of a method and of the name of a header.
inline bool is_http_token(std::string_view text) {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= 'a' && letter <= 'z') || others.find(letter) != std::string_view::npos;
  });
}

/// Headers of which a second one would leave open which counts.
inline bool is_single_header(std::string_view name) {
  constexpr std::string_view names[] = {
      "authorization", "connection",    "content-length", "cookie",         "expect",
      "host",          "last-event-id", "origin",         "sec-fetch-site", "transfer-encoding"};
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

inline bool is_field_value(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char letter) {
    const auto code = static_cast<unsigned char>(letter);
    return code == '\t' || (code >= ' ' && code != 0x7f);
  });
}

ELASTIC_DECL std::string http_lower_case(std::string_view text) {
  std::string result(text);
  for (char& letter : result) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return result;
}

ELASTIC_DECL std::string http_request_head::header(const std::string& name) const {
  const auto entry = headers.find(name);
  return entry == headers.end() ? std::string() : entry->second;
}

ELASTIC_DECL std::size_t http_request_parser::feed(std::string_view bytes) {
  std::size_t taken = 0;
  while (state_ == state::incomplete && taken < bytes.size()) {
    if (body_left_ == 0) {
      taken += read_line(bytes.substr(taken));
      continue;
    }
    const std::size_t size = std::min(body_left_, bytes.size() - taken);
    body_.append(bytes.substr(taken, size));
    taken += size;
    body_left_ -= size;
    if (body_left_ == 0) state_ = state::complete;
  }
  return taken;
}

ELASTIC_DECL void http_request_parser::refuse(int status, std::string problem) {
  state_ = state::refused;
  refusal_ = status;
  problem_ = std::move(problem);
}

ELASTIC_DECL std::size_t http_request_parser::read_line(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  const std::string_view part = bytes.substr(0, end == std::string_view::npos ? end : end + 1);
  const std::size_t room = limits::http_request_head_bytes - head_bytes_;
  if (part.size() > room) {
    refuse(431, fmt::format("the head has over {} bytes", limits::http_request_head_bytes));
    return part.size();
  }
  head_bytes_ += part.size();
  line_.append(part);
  if (end == std::string_view::npos) return part.size();
  const std::string line = std::exchange(line_, std::string());
  if (line.size() < 2 || line[line.size() - 2] != '\r') {
    refuse(400, "a line does not end with CR and LF");
    return part.size();
  }
  const std::string_view content = std::string_view(line).substr(0, line.size() - 2);
  if (!has_request_line_) {
    read_request_line(content);
  } else if (content.empty()) {
    end_head();
  } else {
    read_header(content);
  }
  return part.size();
}

ELASTIC_DECL void http_request_parser::read_request_line(std::string_view line) {
  has_request_line_ = true;
  const std::size_t first = line.find(' ');
  const std::size_t second = line.find(' ', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos || line.find(' ', second + 1) != std::string_view::npos) {
    return refuse(400, "the first line is not 'METHOD /path HTTP/1.1'");
  }
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, second - first - 1);
  const std::string_view version = line.substr(second + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    return refuse(505, "only HTTP/1.1 and HTTP/1.0 are supported");
  }
  const bool is_plain = std::all_of(target.begin(), target.end(),
                                    [](char letter) { return letter > ' ' && letter <= '~'; });
  if (!is_http_token(method) || target.empty() || target.front() != '/' || !is_plain) {
    return refuse(400, "the first line is not 'METHOD /path HTTP/1.1'");
  }
  is_http_1_0_ = version == "HTTP/1.0";
  head_.method = method;
  const std::size_t question = target.find('?');
  head_.path = target.substr(0, question);
  if (question != std::string_view::npos) head_.query = target.substr(question + 1);
}

ELASTIC_DECL void http_request_parser::read_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_http_token(line.substr(0, colon))) {
    return refuse(400, fmt::format("'{}' is not a header", printable_text(line.substr(0, 60))));
  }
  const std::string name = http_lower_case(line.substr(0, colon));
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  if (!is_field_value(value)) {
    return refuse(400, fmt::format("the header '{}' has a control character", name));
  }
  const auto [entry, is_new] = head_.headers.emplace(name, value);
  if (head_.headers.size() > limits::http_request_headers) {
    return refuse(431, fmt::format("there are over {} headers", limits::http_request_headers));
  }
  if (is_new) return;
  if (is_single_header(name)) return refuse(400, fmt::format("'{}' appears twice", name));
  entry->second.append(", ").append(value);
}

ELASTIC_DECL void http_request_parser::end_head() {
  const auto has = [this](const char* name) { return head_.headers.contains(name); };
  if (has("transfer-encoding")) {
    if (has("content-length")) return refuse(400, "the length is given in two ways");
    return refuse(501, "chunked bodies are not supported");
  }
  if (!has("host") && !is_http_1_0_) return refuse(400, "the header 'host' is missing");
  if (has("expect")) return refuse(417, "the header 'expect' is not supported");
  const std::string connection = http_lower_case(head_.header("connection"));
  head_.keeps_connection = is_http_1_0_ ? false : connection.find("close") == std::string::npos;
  if (has("content-length")) read_length(head_.header("content-length"));
  if (state_ == state::incomplete && body_left_ == 0) state_ = state::complete;
}

ELASTIC_DECL void http_request_parser::read_length(const std::string& digits) {
  const char* const end = digits.data() + digits.size();
  const bool is_number =
      !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) return refuse(400, "'content-length' is not a number");
  const auto [stop, failure] = std::from_chars(digits.data(), end, body_left_);
  if (failure != std::errc() || stop != end || body_left_ > limits::http_request_body_bytes) {
    body_left_ = 0;
    refuse(413, fmt::format("a body has {} bytes at most", limits::http_request_body_bytes));
  }
}

}  // namespace elastic::detail
