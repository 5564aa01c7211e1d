// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace elastic::detail {

/// What the head of a request says.
struct http_request_head {
  std::string method;
  /// Begins with a slash; as it was sent, no escape is resolved.
  std::string path;
  /// What follows the question mark.
  std::string query;
  /// The names in small letters.
  std::map<std::string, std::string> headers;
  /// Whether the client wants to ask further over this connection.
  bool keeps_connection = false;

  /// The value of a header, whose name is given in small letters; empty if there is none.
  ELASTIC_DECL std::string header(const std::string& name) const;
};

/// Reads one HTTP/1.x request after the other from bytes that arrive in whatever pieces. It is
/// strict: what could be understood in two ways is refused, chunks among them, and so is what is
/// larger than it should be.
class http_request_parser {
 public:
  enum class state { incomplete, complete, refused };

  /// Takes bytes up to the end of the request. Result: how many of them; the rest are of the next
  /// request. None once the request is complete or refused.
  ELASTIC_DECL std::size_t feed(std::string_view bytes);

  state current() const { return state_; }

  /// Whether anything has arrived of a request that is not complete.
  bool has_begun() const { return head_bytes_ > 0; }

  /// Of a complete request.
  const http_request_head& head() const { return head_; }
  const std::string& body() const { return body_; }

  /// Of one that was refused: the status of the answer, after which the connection ends, and a
  /// sentence that says what was wrong.
  int refusal() const { return refusal_; }
  const std::string& problem() const { return problem_; }

  /// Begins with the next request.
  void next() { *this = http_request_parser(); }

 private:
  ELASTIC_DECL void refuse(int status, std::string problem);
  ELASTIC_DECL std::size_t read_line(std::string_view bytes);
  ELASTIC_DECL void read_request_line(std::string_view line);
  ELASTIC_DECL void read_header(std::string_view line);
  ELASTIC_DECL void end_head();
  ELASTIC_DECL void read_length(const std::string& digits);

  state state_ = state::incomplete;
  http_request_head head_;
  std::string line_;
  std::size_t head_bytes_ = 0;
  bool has_request_line_ = false;
  bool is_http_1_0_ = false;
  std::size_t body_left_ = 0;
  std::string body_;
  int refusal_ = 0;
  std::string problem_;
};

/// The text in small letters, as far as it is ASCII: names of headers and hosts.
ELASTIC_DECL std::string http_lower_case(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/impl/http_request_parser.ipp>
#endif
