// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: for etcd.

#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace elastic::detail {

/// Parses one HTTP/1.1 response from bytes that arrive in pieces of any size. It is strict: it
/// refuses ambiguous input, and anything that exceeds a limit.
///
/// Errors of every member that parses: `errc::protocol_violation`, with a sentence that names the
/// defect; the parser is unusable then.
class http_response_parser {
 public:
  /// @param body_bound  the most bytes of a body to hold; those already taken do not count
  ELASTIC_DECL explicit http_response_parser(std::size_t body_bound = limits::http_body_bytes);

  /// Takes bytes. Bytes after the end of the response are an error, because nobody requested them.
  ELASTIC_DECL void feed(std::string_view bytes);

  /// The connection has ended. Errors: if the response is incomplete.
  ELASTIC_DECL void end();

  /// Whether the status and the headers are known.
  bool has_head() const { return has_head_; }
  bool is_complete() const { return state_ == state::complete; }

  /// Whether anything has arrived.
  bool has_begun() const { return has_begun_; }

  int status() const { return status_; }

  /// The value of a header, by its name in lower case; empty if there is none.
  ELASTIC_DECL std::string header(const std::string& name) const;

  const std::map<std::string, std::string>& headers() const { return headers_; }

  /// Whether another request may be sent over the connection once the response is complete.
  bool keeps_connection() const { return keeps_connection_; }

  /// The bytes of the body that have arrived since the last call.
  ELASTIC_DECL std::string take_body();

 private:
  enum class state { line, counted, chunk, until_end, complete };
  enum class line_of { status, header, chunk_size, chunk_end, trailer };

  [[noreturn]] ELASTIC_DECL static void refuse(const std::string& why);
  [[noreturn]] ELASTIC_DECL static void refuse_length(const std::string& why);

  // Printable, for use in a message.
  ELASTIC_DECL static std::string shown(std::string_view text);

  // ---- lines ----------------------------------------------------------------------------------

  ELASTIC_DECL void read_line(std::string_view& bytes);
  ELASTIC_DECL bool begins_as_http() const;

  // "HTTP/1.1 200 OK"
  ELASTIC_DECL void read_status(const std::string& line);
  ELASTIC_DECL void read_header(const std::string& line);
  ELASTIC_DECL void end_head();

  // ---- body -----------------------------------------------------------------------------------

  ELASTIC_DECL static std::uint64_t read_number(std::string_view digits, int base);
  ELASTIC_DECL void read_chunk_size(std::string_view line);
  ELASTIC_DECL void read_counted(std::string_view& bytes);
  ELASTIC_DECL void keep(std::string_view bytes);

  std::size_t body_bound_;
  state state_ = state::line;
  line_of line_of_ = line_of::status;
  std::string line_;
  std::size_t head_bytes_ = 0;
  bool has_begun_ = false;
  bool has_head_ = false;
  int announcements_ = 0;
  int status_ = 0;
  std::map<std::string, std::string> headers_;
  bool keeps_connection_ = false;
  std::uint64_t left_ = 0;
  std::string body_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/net/detail/impl/http_response_parser.ipp>
#endif
