// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/detail/http_response_parser.hpp>

#include <elastic/base/error.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL http_response_parser::http_response_parser(std::size_t body_bound)
    : body_bound_(body_bound) {}

ELASTIC_DECL void http_response_parser::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    switch (state_) {
      case state::line: read_line(bytes); break;
      case state::counted:
      case state::chunk: read_counted(bytes); break;
      case state::until_end:
        keep(bytes);
        bytes = {};
        break;
      case state::complete: refuse("there are bytes behind its end"); break;
    }
  }
}

ELASTIC_DECL void http_response_parser::end() {
  if (state_ == state::until_end) state_ = state::complete;
  if (state_ != state::complete) refuse("it ends in the middle");
}

ELASTIC_DECL std::string http_response_parser::header(const std::string& name) const {
  const auto entry = headers_.find(name);
  return entry == headers_.end() ? std::string() : entry->second;
}

ELASTIC_DECL std::string http_response_parser::take_body() {
  return std::exchange(body_, std::string());
}

ELASTIC_DECL void http_response_parser::refuse(const std::string& why) {
  throw error(errc::protocol_violation, "the answer is not valid HTTP/1.1: " + why);
}

ELASTIC_DECL void http_response_parser::refuse_length(const std::string& why) {
  throw error(errc::protocol_violation, "the answer is too long: " + why);
}

ELASTIC_DECL std::string http_response_parser::shown(std::string_view text) {
  constexpr std::size_t most = 60;
  std::string result(text.substr(0, most));
  for (char& letter : result) {
    if (letter < ' ' || letter > '~') letter = '?';
  }
  return result;
}

ELASTIC_DECL void http_response_parser::read_line(std::string_view& bytes) {
  has_begun_ = true;
  const std::size_t end = bytes.find('\n');
  const std::string_view part = bytes.substr(0, end);
  line_.append(part);
  head_bytes_ += part.size() + 1;
  if (line_of_ == line_of::status && !begins_as_http()) {
    refuse(fmt::format("it begins with '{}'", shown(line_)));
  }
  if (head_bytes_ > limits::http_head_bytes) {
    refuse_length(fmt::format("its head has over {} bytes", limits::http_head_bytes));
  }
  bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
  if (end == std::string_view::npos) return;
  if (!line_.empty() && line_.back() == '\r') line_.pop_back();
  const std::string line = std::exchange(line_, std::string());
  switch (line_of_) {
    case line_of::status: read_status(line); break;
    case line_of::header: read_header(line); break;
    case line_of::chunk_size: read_chunk_size(line); break;
    case line_of::chunk_end:
      if (!line.empty()) refuse("a chunk is longer than it says");
      line_of_ = line_of::chunk_size;
      head_bytes_ = 0;
      break;
    case line_of::trailer:
      if (line.empty()) state_ = state::complete;
      break;
  }
}

ELASTIC_DECL bool http_response_parser::begins_as_http() const {
  constexpr std::string_view start = "HTTP/1.";
  const std::size_t size = std::min(line_.size(), start.size());
  return std::string_view(line_).substr(0, size) == start.substr(0, size);
}

ELASTIC_DECL void http_response_parser::read_status(const std::string& line) {
  constexpr std::size_t code_at = 9;
  const bool has_form = line.size() >= code_at + 3 && (line[7] == '0' || line[7] == '1') &&
                        line[8] == ' ' && (line.size() == code_at + 3 || line[12] == ' ');
  const char* digits = line.data() + code_at;
  if (has_form) std::from_chars(digits, digits + 3, status_);
  if (!has_form || status_ < 100 || status_ > 599) {
    refuse(fmt::format("its first line is '{}'", shown(line)));
  }
  keeps_connection_ = line[7] == '1';
  line_of_ = line_of::header;
}

ELASTIC_DECL void http_response_parser::read_header(const std::string& line) {
  if (line.empty()) return end_head();
  const std::size_t colon = line.find(':');
  if (colon == std::string::npos || colon == 0 || line.find_first_of(" \t") < colon) {
    refuse(fmt::format("'{}' is not a header", shown(line)));
  }
  std::string name = line.substr(0, colon);
  for (char& letter : name) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
  const std::size_t last = line.find_last_not_of(" \t");
  std::string value;
  if (begin != std::string::npos) value = line.substr(begin, last + 1 - begin);
  const bool is_framing = name == "content-length" || name == "transfer-encoding";
  const auto [place, is_new] = headers_.emplace(std::move(name), value);
  if (!is_new && is_framing && place->second != value) {
    refuse("it tells its length in two ways");
  }
}

ELASTIC_DECL void http_response_parser::end_head() {
  head_bytes_ = 0;
  if (status_ < 200) {
    // An interim response announces the final one.
    constexpr int most_announcements = 8;
    if (++announcements_ > most_announcements) refuse("it is announced again and again");
    headers_.clear();
    line_of_ = line_of::status;
    return;
  }
  has_head_ = true;
  if (header("connection") == "close") keeps_connection_ = false;
  const std::string encoding = header("transfer-encoding");
  const std::string length = header("content-length");
  if (!encoding.empty() && !length.empty()) refuse("it tells its length in two ways");
  if (status_ == 204 || status_ == 304) {
    state_ = state::complete;
  } else if (!encoding.empty()) {
    if (encoding != "chunked") refuse(fmt::format("'{}' is not known", shown(encoding)));
    line_of_ = line_of::chunk_size;
  } else if (!length.empty()) {
    left_ = read_number(length, 10);
    if (left_ > body_bound_) {
      refuse_length(fmt::format("its body has {} bytes, {} are allowed", left_, body_bound_));
    }
    state_ = left_ == 0 ? state::complete : state::counted;
  } else {
    keeps_connection_ = false;
    state_ = state::until_end;
  }
}

ELASTIC_DECL std::uint64_t http_response_parser::read_number(std::string_view digits, int base) {
  std::uint64_t number = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, number, base);
  if (failure != std::errc() || stop != end) {
    refuse(fmt::format("'{}' is not a length", shown(digits)));
  }
  return number;
}

ELASTIC_DECL void http_response_parser::read_chunk_size(std::string_view line) {
  // Ignores chunk extensions, which follow a semicolon.
  line = line.substr(0, line.find(';'));
  while (!line.empty() && (line.back() == ' ' || line.back() == '\t')) line.remove_suffix(1);
  left_ = read_number(line, 16);
  if (left_ > body_bound_) {
    refuse_length(fmt::format("a chunk has {} bytes, {} are allowed", left_, body_bound_));
  }
  if (left_ > 0) {
    state_ = state::chunk;
  } else {
    head_bytes_ = 0;
    line_of_ = line_of::trailer;
  }
}

ELASTIC_DECL void http_response_parser::read_counted(std::string_view& bytes) {
  const std::size_t size = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
  keep(bytes.substr(0, size));
  bytes.remove_prefix(size);
  left_ -= size;
  if (left_ > 0) return;
  if (state_ == state::counted) {
    state_ = state::complete;
  } else {
    state_ = state::line;
    line_of_ = line_of::chunk_end;
  }
}

ELASTIC_DECL void http_response_parser::keep(std::string_view bytes) {
  if (body_.size() + bytes.size() > body_bound_) {
    refuse_length(fmt::format("its body has over {} bytes", body_bound_));
  }
  body_.append(bytes);
}

}  // namespace elastic::detail
