// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/status_answer.hpp>

#include <elastic/base/detail/base64.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/error.hpp>
#include <elastic/status/detail/embedded.hpp>
#include <elastic/status/detail/event_sentence.hpp>
#include <elastic/status/detail/job_document.hpp>
#include <elastic/status/detail/job_metrics.hpp>
#include <elastic/status/detail/roles_overview.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic::detail {

inline std::string_view status_words(int status) {
  switch (status) {
    case 200: return "OK";
    case 303: return "See Other";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 417: return "Expectation Failed";
    case 421: return "Misdirected Request";
    case 431: return "Request Header Fields Too Large";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Error";
  }
}

inline bool is_probe(std::string_view path) { return path == "/livez" || path == "/readyz"; }

/// The rank in "/api/v1/ranks/3/output"; none: it is another path.
inline std::optional<std::int64_t> rank_of_output_path(std::string_view path) {
  constexpr std::string_view begin = "/api/v1/ranks/";
  constexpr std::string_view end = "/output";
  if (!path.starts_with(begin) || !path.ends_with(end)) return std::nullopt;
  if (path.size() < begin.size() + end.size()) return std::nullopt;
  const std::string_view digits =
      path.substr(begin.size(), path.size() - begin.size() - end.size());
  std::int64_t rank = 0;
  const char* const last = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), last, rank);
  if (failure != std::errc() || stop != last || rank < 0) return std::nullopt;
  return rank;
}

inline constexpr std::string_view output_path = "/api/v1/output";

inline status_answer output_answer(const http_head& request) {
  status_answer answer;
  answer.type = "text/event-stream";
  answer.is_stream = true;
  try {
    answer.reading = parse_output_query(request.query);
  } catch (const error& refusal) {
    return refusal_answer(400, refusal.what());
  }
  return answer;
}

/// The content for clients that may look; none: there is no such path.
inline std::optional<status_answer> content_of(const http_head& request,
                                               const status_source& source, std::int64_t now_us) {
  const std::string& path = request.path;
  status_answer answer;
  if (path == "/") {
    answer.type = "text/html; charset=utf-8";
    answer.body = page_html;
  } else if (path == "/page.js") {
    answer.type = "text/javascript; charset=utf-8";
    answer.body = std::string(common_js) + page_js;
  } else if (path == "/page.css") {
    answer.type = "text/css; charset=utf-8";
    answer.body = page_css;
  } else if (path == "/metrics") {
    const metrics_format format = metrics_format_for(request.header("accept"));
    answer.type = content_type(format);
    answer.body = metrics_text(*source.view(), format, now_us, source.stores());
  } else if (path == "/api/v1/job") {
    const bool is_plain = request.header("accept") == "text/plain";
    if (!is_plain) answer.type = "application/json";
    const std::shared_ptr<const job_view> view = source.look();
    answer.body = is_plain ? job_text(*view, now_us) : job_json(*view, now_us, source.disclosure());
  } else if (path == "/api/v1/curves") {
    answer.type = "application/json";
    answer.body = source.curves();
  } else if (path == "/api/v1/journal") {
    answer.type = "application/jsonl";
    answer.headers.emplace_back("Content-Disposition", "attachment; filename=\"journal.jsonl\"");
    for (const journal_record& record : source.records()) {
      answer.body += to_json_line(record) + '\n';
    }
  } else if (path == "/api/v1/events") {
    answer.type = "text/event-stream";
    answer.is_stream = true;
  } else if (path == output_path) {
    return output_answer(request);
  } else if (const auto rank = rank_of_output_path(path)) {
    answer.output_of_rank = rank;
  } else {
    return std::nullopt;
  }
  return answer;
}

/// An agent that answers is alive, and ready if its workers run. Only allowed viewers get a reason.
inline status_answer probe_answer(const http_head& request, const status_source& source,
                                  bool may_look, std::int64_t now_us) {
  status_answer answer;
  answer.body = "ok\n";
  const bool is_verbose = may_look && has_parameter(request.query, "verbose");
  if (request.path == "/livez") {
    if (is_verbose) answer.body = "[+]loop answers\nok\n";
    return answer;
  }
  const std::shared_ptr<const job_view> view = source.view();
  const std::string why = why_not_ready(*view);
  if (!why.empty()) {
    answer.status = 503;
    answer.body =
        fmt::format("{}\n", may_look ? std::string_view(why) : to_string(view->job().activity()));
  }
  if (is_verbose) answer.body = ready_checks(*view, now_us);
  return answer;
}

/// A probe that is not ready, if there is a reason.
inline status_answer ready_answer(const std::string& why, bool may_look) {
  status_answer answer;
  answer.body = "ok\n";
  if (why.empty()) return answer;
  answer.status = 503;
  answer.body = fmt::format("{}\n", may_look ? why : std::string("not ready"));
  return answer;
}

inline status_answer refused_admission(admission verdict) {
  if (verdict == admission::wrong_host) {
    return refusal_answer(421, "this is not the host that the request names");
  }
  if (verdict == admission::cross_site) {
    return refusal_answer(403, "the request comes from a page of another site");
  }
  status_answer answer = refusal_answer(
      401, "a token is needed: open /?token=…, or send the header 'Authorization: Bearer …'");
  answer.headers.emplace_back("WWW-Authenticate", "Bearer");
  return answer;
}

ELASTIC_DECL status_answer refusal_answer(int status, std::string_view why) {
  status_answer answer;
  answer.status = status;
  answer.body = fmt::format("{}\n", why);
  return answer;
}

/// The response to a request that the gate admits. `probe` answers one that is a probe, also for
/// clients that may not look; `content` any other.
template <class Probe, class Content>
status_answer admitted_answer(const http_head& request, const status_gate& gate,
                              const Probe& probe, const Content& content) {
  if (request.method != "GET" && request.method != "HEAD") {
    status_answer answer = refusal_answer(405, "nothing can be changed here: GET and HEAD only");
    answer.headers.emplace_back("Allow", "GET, HEAD");
    return answer;
  }
  const admission verdict = admission_of(request, gate);
  const bool may_look = verdict == admission::granted || verdict == admission::granted_by_query;
  if (is_probe(request.path) && (may_look || verdict == admission::token_needed)) {
    return probe(may_look);
  }
  if (!may_look) return refused_admission(verdict);
  const std::optional<status_answer> found = content();
  if (!found) return refusal_answer(404, "there is no such page");
  if (verdict == admission::granted || found->status != 200) return *found;
  status_answer answer;
  answer.status = 303;
  answer.headers.emplace_back("Location", request.path);
  // With SameSite=Strict, a browser would not send the cookie after a link on another site. Lax is
  // safe, because the gate refuses all requests of other sites that do more than open the page.
  answer.headers.emplace_back("Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Lax",
                                                        gate.cookie, gate.session));
  return answer;
}

/// The answer of a job without roles to a request about one.
inline status_answer role_refusal(const http_head& request, const status_gate& gate) {
  const admission verdict = admission_of(request, gate);
  const bool may_look = verdict == admission::granted || verdict == admission::granted_by_query;
  return may_look ? refusal_answer(404, "this job has no roles") : refused_admission(verdict);
}

ELASTIC_DECL status_answer answer_of(const http_head& request, const status_gate& gate,
                                     const status_source& source, std::int64_t now_us) {
  // Also what would be a command if there were roles.
  if (role_path_of(request.path)) return role_refusal(request, gate);
  return admitted_answer(
      request, gate,
      [&](bool may_look) { return probe_answer(request, source, may_look, now_us); },
      [&] { return content_of(request, source, now_us); });
}

// ---- a job of several roles ---------------------------------------------------------------------

ELASTIC_DECL std::optional<role_path> role_path_of(std::string_view path) {
  constexpr std::string_view begin = "/roles/";
  if (!path.starts_with(begin)) return std::nullopt;
  path.remove_prefix(begin.size());
  const std::size_t slash = std::min(path.find('/'), path.size());
  return role_path{path.substr(0, slash), path.substr(slash)};
}

ELASTIC_DECL status_answer unknown_role_answer(const std::vector<std::string>& names) {
  return refusal_answer(404, fmt::format("there is no such role: the job has {}",
                                         fmt::join(names, ", ")));
}

inline std::vector<std::string> names_of(const roles_source& source) {
  std::vector<std::string> names;
  for (const roles_source::entry& each : source.roles) names.push_back(each.name);
  return names;
}

inline role_views views_of(const roles_source& source) {
  role_views views;
  for (const roles_source::entry& each : source.roles) views.push_back(each.source.view());
  return views;
}

/// The same for somebody who looks at the job.
inline role_views looks_of(const roles_source& source) {
  role_views views;
  for (const roles_source::entry& each : source.roles) views.push_back(each.source.look());
  return views;
}

inline std::string metrics_of(const roles_source& source, metrics_format format,
                              std::int64_t now_us) {
  const std::shared_ptr<const roles_monitor::snapshot> view = source.view();
  std::vector<role_metrics> roles;
  for (std::size_t place = 0; place < source.roles.size(); ++place) {
    role_metrics& role = roles.emplace_back();
    role.name = source.roles[place].name;
    role.state = view->roles[place].shown.state;
    role.view = source.roles[place].source.view();
    role.stores = source.roles[place].source.stores();
  }
  return metrics_text(roles, format, now_us);
}

/// The response about the job itself, not about one of its roles.
inline std::optional<status_answer> overview_of(const http_head& request,
                                                const roles_source& source, std::int64_t now_us) {
  const std::string& path = request.path;
  status_answer answer;
  if (path == "/") {
    answer.type = "text/html; charset=utf-8";
    answer.body = roles_html;
  } else if (path == "/roles.js") {
    answer.type = "text/javascript; charset=utf-8";
    answer.body = std::string(common_js) + roles_js;
  } else if (path == "/roles.css") {
    answer.type = "text/css; charset=utf-8";
    answer.body = roles_css;
  } else if (path == "/page.css") {
    answer.type = "text/css; charset=utf-8";
    answer.body = page_css;
  } else if (path == "/metrics") {
    const metrics_format format = metrics_format_for(request.header("accept"));
    answer.type = content_type(format);
    answer.body = metrics_of(source, format, now_us);
  } else if (path == "/api/v1/job") {
    const bool is_plain = request.header("accept") == "text/plain";
    if (!is_plain) answer.type = "application/json";
    const std::shared_ptr<const roles_monitor::snapshot> view = source.view();
    const role_views views = looks_of(source);
    answer.body = is_plain ? overview_text(*view, views) : overview_json(*view, views, now_us);
  } else if (path == "/api/v1/events") {
    answer.type = "text/event-stream";
    answer.is_stream = true;
  } else if (path == output_path) {
    return refusal_answer(400, fmt::format("the job has the roles {}: name one by --role, or ask "
                                           "for /roles/NAME{}",
                                           fmt::join(names_of(source), ", "), output_path));
  } else {
    return std::nullopt;
  }
  return answer;
}

/// The page of a role leads back to that of the job.
inline std::string page_of_role() {
  std::string page = page_html;
  constexpr std::string_view begin = "<header>";
  page.insert(page.find(begin), "<nav><a href=\"../../\">all roles</a></nav>\n");
  return page;
}

inline std::optional<status_answer> role_content(const http_head& request,
                                                 const role_path& path, const roles_source& source,
                                                 std::int64_t now_us) {
  const auto found =
      std::find_if(source.roles.begin(), source.roles.end(),
                   [&](const roles_source::entry& each) { return each.name == path.role; });
  if (found == source.roles.end()) return unknown_role_answer(names_of(source));
  if (path.rest.empty()) {
    status_answer answer;
    answer.status = 303;
    answer.headers.emplace_back("Location", fmt::format("/roles/{}/", found->name));
    return answer;
  }
  http_head inner = request;
  inner.path = path.rest;
  if (is_probe(inner.path)) return probe_answer(inner, found->source, true, now_us);
  std::optional<status_answer> answer = content_of(inner, found->source, now_us);
  if (!answer) return std::nullopt;
  answer->role = static_cast<std::size_t>(found - source.roles.begin());
  if (inner.path == "/") answer->body = page_of_role();
  return answer;
}

ELASTIC_DECL status_answer answer_of(const http_head& request, const status_gate& gate,
                                     const roles_source& source, std::int64_t now_us) {
  const auto probe = [&](bool may_look) {
    const bool asks_readiness = request.path == "/readyz";
    return ready_answer(asks_readiness ? why_not_ready(*source.view(), views_of(source)) : "",
                        may_look);
  };
  return admitted_answer(request, gate, probe, [&]() -> std::optional<status_answer> {
    const auto path = role_path_of(request.path);
    return path ? role_content(request, *path, source, now_us)
                : overview_of(request, source, now_us);
  });
}

ELASTIC_DECL std::string response_text(const status_answer& answer, bool has_body,
                                       bool keeps_connection) {
  std::string text = fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\n", answer.status,
                                 status_words(answer.status), answer.type);
  if (!answer.is_stream) text += fmt::format("Content-Length: {}\r\n", answer.body.size());
  for (const auto& [name, value] : answer.headers) text += fmt::format("{}: {}\r\n", name, value);
  text +=
      "Cache-Control: no-store\r\n"
      "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n"
      "Referrer-Policy: no-referrer\r\n"
      "X-Content-Type-Options: nosniff\r\n";
  text += keeps_connection ? "\r\n" : "Connection: close\r\n\r\n";
  return has_body ? text + answer.body : text;
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const utf8_character first = first_utf8_character(text);
    if (!first.valid) return false;
    text.remove_prefix(first.size);
  }
  return true;
}

ELASTIC_DECL std::string output_event(const output_piece& piece, std::uint64_t skipped) {
  if (piece.text.empty() && skipped == 0) return {};
  json_object object;
  object.add("rank", piece.rank).add("stream", piece.is_err ? "stderr" : "stdout");
  if (skipped > 0) object.add("skipped", skipped);
  // Lines need not be UTF-8, and whoever keeps them wants them as they are.
  is_utf8(piece.text) ? object.add("text", piece.text)
                      : object.add("base64", to_base64(piece.text));
  return fmt::format("data: {}\n\n", std::move(object).text());
}

ELASTIC_DECL std::string output_notice(std::string_view sentence) {
  return fmt::format("event: notice\ndata: {}\n\n", json_object().add("text", sentence).text());
}

ELASTIC_DECL event_cursor cursor_of(const http_head& request) {
  std::string text = request.header("last-event-id");
  if (text.empty()) text = query_value(request.query, "after");
  event_cursor cursor;
  const char* const end = text.data() + text.size();
  const auto [dash, failure] = std::from_chars(text.data(), end, cursor.epoch);
  if (failure != std::errc() || dash == end || *dash != '-') return {};
  const auto [stop, problem] = std::from_chars(dash + 1, end, cursor.sequence);
  if (problem != std::errc() || stop != end || cursor.epoch < 0 || cursor.sequence < 0) return {};
  return cursor;
}

/// A record as followers of the job get it: with a sentence that says what happened.
inline std::string told_record(const journal_record& record) {
  std::string line = to_json_line(record);
  line.pop_back();
  return fmt::format("{}, \"sentence\": {}}}", line, json_string(event_sentence(record.event)));
}

ELASTIC_DECL std::string events_text(const std::vector<journal_record>& records, std::int64_t epoch,
                                     event_cursor& cursor) {
  std::string text;
  const bool is_other = cursor.epoch != epoch;
  const std::int64_t expected = is_other ? 1 : cursor.sequence + 1;
  const bool has_gap = !records.empty() && records.front().sequence > expected;
  if (has_gap || (is_other && cursor.epoch != 0)) text += "event: reset\ndata: {}\n\n";
  if (is_other) cursor = {epoch, 0};
  for (const journal_record& record : records) {
    text +=
        fmt::format("id: {}-{}\ndata: {}\n\n", record.epoch, record.sequence, told_record(record));
    cursor.sequence = record.sequence;
  }
  return text;
}

}  // namespace elastic::detail
