// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/detail/http_parser.hpp>

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

/// Headers of a request of which a second one would leave open which counts.
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

inline std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// The beginning of a line from outside, for a message.
inline std::string shown_beginning(std::string_view line) {
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  return printable_text(line.substr(0, 60));
}

ELASTIC_DECL std::string http_lower_case(std::string_view text) {
  std::string result(text);
  for (char& letter : result) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return result;
}

ELASTIC_DECL std::string http_head::header(const std::string& name) const {
  const auto entry = headers.find(name);
  return entry == headers.end() ? std::string() : entry->second;
}

ELASTIC_DECL std::size_t http_parser::feed(std::string_view bytes) {
  std::size_t taken = 0;
  while (state_ == state::incomplete && taken < bytes.size()) {
    const std::string_view rest = bytes.substr(taken);
    has_begun_ = true;
    switch (part_) {
      case part::counted:
      case part::chunk: taken += read_counted(rest); break;
      case part::until_end: taken += keep(rest); break;
      default: taken += read_line(rest);
    }
  }
  return taken;
}

ELASTIC_DECL void http_parser::end() {
  if (state_ != state::incomplete) return;
  if (part_ == part::until_end) {
    state_ = state::complete;
  } else {
    refuse(400, "it ends in the middle");
  }
}

ELASTIC_DECL std::string http_parser::take_body() { return std::exchange(body_, std::string()); }

ELASTIC_DECL void http_parser::refuse(int status, std::string problem) {
  state_ = state::refused;
  refusal_ = {status, std::move(problem)};
}

// ---- lines --------------------------------------------------------------------------------------

ELASTIC_DECL std::size_t http_parser::read_line(std::string_view bytes) {
  const std::size_t end = bytes.find('\n');
  const std::string_view piece = bytes.substr(0, end == std::string_view::npos ? end : end + 1);
  if (piece.size() > most_.head_bytes - head_bytes_) {
    refuse(431, fmt::format("the head has over {} bytes", most_.head_bytes));
    return piece.size();
  }
  head_bytes_ += piece.size();
  line_.append(piece);
  if (!is_request() && part_ == part::first_line && !begins_as_response()) {
    refuse(400, fmt::format("it begins with '{}'", shown_beginning(line_)));
  } else if (end != std::string_view::npos) {
    const std::string line = std::exchange(line_, std::string());
    const bool has_return = line.size() > 1 && line[line.size() - 2] == '\r';
    if (is_request() && !has_return) {
      refuse(400, "a line does not end with CR and LF");
    } else {
      take_line(std::string_view(line).substr(0, line.size() - (has_return ? 2 : 1)));
    }
  }
  return piece.size();
}

ELASTIC_DECL bool http_parser::begins_as_response() const {
  constexpr std::string_view start = "HTTP/1.";
  const std::size_t size = std::min(line_.size(), start.size());
  return std::string_view(line_).substr(0, size) == start.substr(0, size);
}

ELASTIC_DECL void http_parser::take_line(std::string_view line) {
  switch (part_) {
    case part::first_line:
      part_ = part::header;
      return is_request() ? read_request_line(line) : read_status_line(line);
    case part::header: return line.empty() ? end_head() : read_header(line);
    case part::chunk_size: return read_chunk_size(line);
    case part::chunk_end:
      if (!line.empty()) return refuse(400, "a chunk is longer than it says");
      part_ = part::chunk_size;
      head_bytes_ = 0;
      return;
    default:
      if (line.empty()) state_ = state::complete;
  }
}

ELASTIC_DECL void http_parser::read_request_line(std::string_view line) {
  constexpr const char* form = "the first line is not 'METHOD /path HTTP/1.1'";
  const std::size_t first = line.find(' ');
  const std::size_t second = line.find(' ', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos || line.find(' ', second + 1) != std::string_view::npos) {
    return refuse(400, form);
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
    return refuse(400, form);
  }
  is_http_1_0_ = version == "HTTP/1.0";
  head_.method = method;
  const std::size_t question = target.find('?');
  head_.path = target.substr(0, question);
  if (question != std::string_view::npos) head_.query = target.substr(question + 1);
}

/// "HTTP/1.1 200 OK"
ELASTIC_DECL void http_parser::read_status_line(std::string_view line) {
  constexpr std::size_t code_at = 9;
  const bool has_form = line.size() >= code_at + 3 && (line[7] == '0' || line[7] == '1') &&
                        line[8] == ' ' && (line.size() == code_at + 3 || line[12] == ' ');
  const char* const digits = line.data() + code_at;
  if (has_form) std::from_chars(digits, digits + 3, head_.status);
  if (!has_form || head_.status < 100 || head_.status > 599) {
    return refuse(400, fmt::format("its first line is '{}'", shown_beginning(line)));
  }
  is_http_1_0_ = line[7] == '0';
}

ELASTIC_DECL void http_parser::read_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_http_token(line.substr(0, colon))) {
    return refuse(400, fmt::format("'{}' is not a header", shown_beginning(line)));
  }
  const std::string name = http_lower_case(line.substr(0, colon));
  const std::string_view value = without_blanks(line.substr(colon + 1));
  if (!is_field_value(value)) {
    return refuse(400, fmt::format("the header '{}' has a control character", name));
  }
  join_header(name, value);
}

ELASTIC_DECL void http_parser::join_header(const std::string& name, std::string_view value) {
  const auto [entry, is_new] = head_.headers.emplace(name, value);
  if (head_.headers.size() > most_.headers) {
    return refuse(431, fmt::format("there are over {} headers", most_.headers));
  }
  if (is_new) return;
  const bool is_framing = name == "content-length" || name == "transfer-encoding";
  if (is_request() && is_single_header(name)) {
    return refuse(400, fmt::format("'{}' appears twice", name));
  }
  if (!is_framing) {
    entry->second.append(", ").append(value);
  } else if (entry->second != value) {
    refuse(400, "the length is given in two ways");
  }
}

// ---- the body -----------------------------------------------------------------------------------

ELASTIC_DECL void http_parser::end_head() {
  head_bytes_ = 0;
  if (!is_request() && head_.status < 200) {
    // An interim response announces the final one.
    constexpr int most_announcements = 8;
    if (++announcements_ > most_announcements) refuse(400, "it is announced again and again");
    head_ = http_head();
    part_ = part::first_line;
    return;
  }
  has_head_ = true;
  const bool says_close =
      http_lower_case(head_.header("connection")).find("close") != std::string::npos;
  head_.keeps_connection = !is_http_1_0_ && !says_close;
  const bool has_encoding = head_.headers.contains("transfer-encoding");
  if (has_encoding && head_.headers.contains("content-length")) {
    refuse(400, "the length is given in two ways");
  } else if (is_request()) {
    check_request();
  } else {
    begin_response_body();
  }
}

ELASTIC_DECL void http_parser::check_request() {
  const auto has = [this](const char* name) { return head_.headers.contains(name); };
  if (has("transfer-encoding")) return refuse(501, "chunked bodies are not supported");
  if (!has("host") && !is_http_1_0_) return refuse(400, "the header 'host' is missing");
  if (has("expect")) return refuse(417, "the header 'expect' is not supported");
  if (has("content-length")) return begin_body(head_.header("content-length"));
  state_ = state::complete;
}

ELASTIC_DECL void http_parser::begin_response_body() {
  const std::string encoding = head_.header("transfer-encoding");
  const std::string length = head_.header("content-length");
  if (head_.status == 204 || head_.status == 304) {
    state_ = state::complete;
  } else if (!encoding.empty()) {
    if (encoding != "chunked")
      refuse(400, fmt::format("'{}' is not known", shown_beginning(encoding)));
    part_ = part::chunk_size;
  } else if (!length.empty()) {
    begin_body(length);
  } else {
    head_.keeps_connection = false;
    part_ = part::until_end;
  }
}

ELASTIC_DECL void http_parser::begin_body(std::string_view length) {
  if (!read_size(length, 10)) return;
  part_ = part::counted;
  if (left_ == 0) state_ = state::complete;
}

ELASTIC_DECL void http_parser::read_chunk_size(std::string_view line) {
  // Ignores chunk extensions, which follow a semicolon.
  if (!read_size(without_blanks(line.substr(0, line.find(';'))), 16)) return;
  part_ = left_ > 0 ? part::chunk : part::trailer;
  if (left_ == 0) head_bytes_ = 0;
}

/// Result: false if the message is refused.
ELASTIC_DECL bool http_parser::read_size(std::string_view digits, int base) {
  const char* const end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, left_, base);
  const bool is_number = stop == end && !digits.empty();
  if (!is_number) {
    refuse(400, fmt::format("'{}' is not a length", shown_beginning(digits)));
  } else if (failure != std::errc() || left_ > most_.body_bytes) {
    refuse(413, fmt::format("a body has {} bytes at most", most_.body_bytes));
  }
  return state_ != state::refused;
}

ELASTIC_DECL std::size_t http_parser::read_counted(std::string_view bytes) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
  keep(bytes.substr(0, size));
  left_ -= size;
  if (left_ > 0 || state_ == state::refused) return size;
  if (part_ == part::counted) {
    state_ = state::complete;
  } else {
    part_ = part::chunk_end;
  }
  return size;
}

ELASTIC_DECL std::size_t http_parser::keep(std::string_view bytes) {
  if (body_.size() + bytes.size() > most_.body_bytes) {
    refuse(413, fmt::format("a body has {} bytes at most", most_.body_bytes));
  } else {
    body_.append(bytes);
  }
  return bytes.size();
}

}  // namespace elastic::detail
