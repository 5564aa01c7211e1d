// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for etcd and servers of the library.

#include <elastic/base/config.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace elastic::detail {

/// The first line of an HTTP message and its headers.
struct http_head {
  /// Of a request. The path begins with a slash, as it was sent: no escape is resolved. The query
  /// is what follows the question mark.
  std::string method = {};
  std::string path = {};
  std::string query = {};
  /// Of a response.
  int status = 0;
  /// By their names in lower case.
  std::map<std::string, std::string> headers = {};
  /// Whether another message may follow on the connection.
  bool keeps_connection = false;

  /// The value of a header, by its name in lower case; empty if there is none.
  ELASTIC_DECL std::string header(const std::string& name) const;
};

/// Why a message is refused.
struct http_refusal {
  /// The status with which a server answers such a request: 413 and 431 for one that is too long.
  int status = 0;
  /// A clause.
  std::string problem = {};
};

/// Parses HTTP/1.x messages, one after the other, from bytes that arrive in pieces of any size. It
/// is strict: it refuses ambiguous input, and anything that exceeds a bound. A request in chunks is
/// refused, too.
class http_parser {
 public:
  enum class message { request, response };
  enum class state { incomplete, complete, refused };

  /// The most that a message may have.
  struct bounds {
    /// Bytes of the lines before the body, and of those between its chunks.
    std::size_t head_bytes;
    std::size_t headers;
    /// Bytes of a body of known length, and bytes that nobody has taken yet.
    std::size_t body_bytes;
  };

  http_parser(message kind, bounds most) : kind_(kind), most_(most) {}

  /// Takes bytes up to the end of the message. Result: how many; the rest are of the next message.
  /// None once the message is complete or refused.
  ELASTIC_DECL std::size_t feed(std::string_view bytes);

  /// The connection has ended: completes a response without a length, and refuses any other message
  /// that is incomplete.
  ELASTIC_DECL void end();

  state current() const { return state_; }

  /// Whether anything has arrived of the message.
  bool has_begun() const { return has_begun_; }

  /// Whether the head is complete.
  bool has_head() const { return has_head_; }
  const http_head& head() const { return head_; }

  /// The bytes of the body that have arrived and were not taken.
  const std::string& body() const { return body_; }
  ELASTIC_DECL std::string take_body();

  /// Why the message was refused. The parser is then of no more use.
  const http_refusal& refusal() const { return refusal_; }

  /// Begins with the next message.
  void next() { *this = http_parser(kind_, most_); }

 private:
  enum class part { first_line, header, counted, chunk_size, chunk, chunk_end, trailer, until_end };

  bool is_request() const { return kind_ == message::request; }
  ELASTIC_DECL void refuse(int status, std::string problem);

  // ---- lines ------------------------------------------------------------------------------------

  ELASTIC_DECL std::size_t read_line(std::string_view bytes);
  ELASTIC_DECL bool begins_as_response() const;
  ELASTIC_DECL void take_line(std::string_view line);
  ELASTIC_DECL void read_request_line(std::string_view line);
  ELASTIC_DECL void read_status_line(std::string_view line);
  ELASTIC_DECL void read_header(std::string_view line);
  ELASTIC_DECL void join_header(const std::string& name, std::string_view value);

  // ---- the body ---------------------------------------------------------------------------------

  ELASTIC_DECL void end_head();
  ELASTIC_DECL void check_request();
  ELASTIC_DECL void begin_response_body();
  ELASTIC_DECL void begin_body(std::string_view length);
  ELASTIC_DECL void read_chunk_size(std::string_view line);
  ELASTIC_DECL bool read_size(std::string_view digits, int base);
  ELASTIC_DECL std::size_t read_counted(std::string_view bytes);
  ELASTIC_DECL std::size_t keep(std::string_view bytes);

  message kind_;
  bounds most_;
  state state_ = state::incomplete;
  part part_ = part::first_line;
  http_head head_;
  std::string line_;
  std::size_t head_bytes_ = 0;
  bool has_begun_ = false;
  bool has_head_ = false;
  bool is_http_1_0_ = false;
  int announcements_ = 0;
  /// The bytes of the body, or of the chunk, that are still to come.
  std::uint64_t left_ = 0;
  std::string body_;
  http_refusal refusal_;
};

/// The text in lower case, as far as it is ASCII: names of headers and hosts.
ELASTIC_DECL std::string http_lower_case(std::string_view text);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/detail/http_parser.ipp>
#endif
