// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/detail/http_parser.hpp>
#include <elastic/status/detail/job_launch.hpp>
#include <elastic/status/detail/job_metrics.hpp>
#include <elastic/status/detail/job_view.hpp>
#include <elastic/status/detail/output_message.hpp>
#include <elastic/status/detail/status_gate.hpp>
#include <elastic/status/roles_monitor.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace elastic::detail {

/// The bounds of a request to a status server.
inline constexpr http_parser::bounds status_request_bounds{
    limits::http_request_head_bytes, limits::http_request_headers, limits::http_request_body_bytes};

/// The response of a status server to a request.
struct status_answer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body = {};
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// The body does not end: events follow.
  bool is_stream = false;
  /// The body is what the worker of this rank wrote last, which is yet to be asked for.
  std::optional<std::int64_t> output_of_rank = {};
  /// The stream is output of the workers, which needs more rights than the rest; none: of events.
  std::optional<output_reading> reading = {};
  /// The place of the role whose events or output these are, in a job of several; none: the
  /// events are of the job.
  std::optional<std::size_t> role = {};
};

/// The source of responses. Each function is called once at most for a request, and not for one
/// that is refused.
struct status_source {
  std::function<std::shared_ptr<const job_view>()> view;
  /// The same for somebody who looks at the job: what changes all the time is measured for it.
  std::function<std::shared_ptr<const job_view>()> look;
  std::function<std::optional<viewed_stores>()> stores;
  std::function<std::string()> curves;
  /// The records that the agent still has, oldest first.
  std::function<std::vector<journal_record>()> records;
  /// What the client may see besides the view.
  std::function<job_disclosure()> disclosure;
};

/// The answer to a request, without I/O.
/// @param now_us  the time of day, in microseconds since 1970
ELASTIC_DECL status_answer answer_of(const http_head& request, const status_gate& gate,
                                     const status_source& source, std::int64_t now_us);

/// The same for a job of several roles.
struct roles_source {
  struct entry {
    std::string name;
    status_source source;
  };

  std::function<std::shared_ptr<const roles_monitor::snapshot>()> view;
  /// The sources of the roles, in the order of the view.
  std::vector<entry> roles;
};

/// A path of one role: "/roles/trainer/metrics" is "/metrics" of the role "trainer". A path with no
/// slash behind the name has no rest.
struct role_path {
  std::string_view role;
  std::string_view rest;
};

/// None: it is not a path of a role. Escapes stay as they are, since no name of a role needs one.
ELASTIC_DECL std::optional<role_path> role_path_of(std::string_view path);

/// The answer to a request about a job of several roles, without I/O. Each role has the same paths
/// as a job without roles, below "/roles/NAME".
ELASTIC_DECL status_answer answer_of(const http_head& request, const status_gate& gate,
                                     const roles_source& source, std::int64_t now_us);

/// The response to a path that names no role of the job.
ELASTIC_DECL status_answer unknown_role_answer(const std::vector<std::string>& names);

/// A response that refuses a request, and says why.
ELASTIC_DECL status_answer refusal_answer(int status, std::string_view why);

/// The answer as it is sent. @param has_body  false: only its head, as HEAD wants it
ELASTIC_DECL std::string response_text(const status_answer& answer, bool has_body,
                                       bool keeps_connection);

/// Lines as an event for readers of output; none if there is nothing to tell.
/// @param skipped  the bytes of the stream that were left out before
ELASTIC_DECL std::string output_event(const output_piece& piece, std::uint64_t skipped);

/// A sentence for readers of output, as an event.
ELASTIC_DECL std::string output_notice(std::string_view sentence);

/// The last event for a reader of output.
inline constexpr std::string_view output_end = "event: end\ndata: {}\n\n";

/// The place in the journal from which a viewer goes on.
struct event_cursor {
  std::int64_t epoch = 0;
  std::int64_t sequence = 0;

  friend bool operator==(const event_cursor&, const event_cursor&) = default;
};

/// The "Last-Event-ID" of a request, or else "after=" of its query: "EPOCH-SEQUENCE".
/// 0 if it names none, or nothing that is one.
ELASTIC_DECL event_cursor cursor_of(const http_head& request);

/// Records as events, from a cursor on, which is moved. A viewer whose cursor is of another epoch,
/// or so old that records are missing, is told to begin anew ("reset").
/// @param records  those after the cursor's number, or all if the cursor is of another epoch
ELASTIC_DECL std::string events_text(const std::vector<journal_record>& records, std::int64_t epoch,
                                     event_cursor& cursor);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/status_answer.ipp>
#endif
