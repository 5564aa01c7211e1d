// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/send_command.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/http_connection.hpp>
#include <elastic/net/detail/stream_listener.hpp>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

inline duration parse_command_time(const std::string& text) {
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, seconds);
  const double most = std::chrono::duration<double>(limits::command_time).count();
  if (failure != std::errc() || stop != end || !(seconds > 0 && seconds <= most)) {
    throw error(errc::invalid_argument,
                fmt::format("--within {}: over 0 and at most {} seconds are needed",
                            in_quotes(text), most));
  }
  return std::chrono::duration_cast<duration>(std::chrono::duration<double>(seconds));
}

inline command_call read_command_call(job_command::kind kind,
                                      const std::vector<std::string>& arguments) {
  constexpr std::string_view unix_prefix = "unix:";
  command_call call;
  call.command.what = kind;
  std::size_t at = 0;
  if (kind == job_command::kind::checkpoint && arguments.size() >= 2 &&
      arguments[0] == "--within") {
    call.command.within = parse_command_time(arguments[1]);
    at = 2;
  }
  if (at >= arguments.size() || !arguments[at].starts_with(unix_prefix)) {
    throw error(errc::invalid_argument,
                fmt::format("{}: which job? Name the Unix socket that --status was given, as "
                            "unix:PATH",
                            to_string(kind)));
  }
  call.socket = arguments[at].substr(unix_prefix.size());
  for (++at; at < arguments.size(); ++at) {
    call.command.reason += (call.command.reason.empty() ? "" : " ") + arguments[at];
  }
  if (call.command.reason.size() <= limits::command_reason_bytes) return call;
  throw error(errc::invalid_argument, fmt::format("{}: the reason has over {} bytes",
                                                  to_string(kind), limits::command_reason_bytes));
}

inline http_request request_of(const job_command& command) {
  json_object body;
  if (!command.reason.empty()) body.add("reason", command.reason);
  if (command.what == job_command::kind::checkpoint) {
    body.add("within", std::chrono::duration<double>(command.within).count());
  }
  http_request request;
  request.method = "POST";
  request.target = fmt::format("/api/v1/commands/{}", to_string(command.what));
  request.headers.emplace_back("Accept", "text/plain");
  request.headers.emplace_back("Content-Type", "application/json");
  request.body = body.text();
  return request;
}

ELASTIC_DECL std::variant<command_call, early_exit> parse_command_call(
    job_command::kind kind, const std::vector<std::string>& arguments) {
  try {
    return read_command_call(kind, arguments);
  } catch (const error& refusal) {
    return refuse(refusal.what());
  }
}

inline task<http_response> ask_once(std::string socket, http_request request) {
  std::unique_ptr<byte_stream> stream = co_await connect_path(std::move(socket));
  http_connection connection(std::move(stream), "localhost");
  co_return co_await connection.exchange(std::move(request));
}

/// Errors: `errc::timed_out` if the agent does not answer in time, as one that was stopped; those
/// of `connect_path`.
inline task<void> check_agent(std::string socket, job_command::kind what) {
  system_time time;
  http_request request;
  request.target = "/livez";
  const time_point deadline = time.now() + limits::status_request;
  task<http_response> asking = ask_once(std::move(socket), std::move(request));
  const auto answer = co_await with_deadline(time, deadline, std::move(asking));
  if (answer) co_return;
  throw error(errc::timed_out, fmt::format("{}: the agent does not answer within {} s",
                                           to_string(what), limits::status_request.count()));
}

/// Ends, by an error, when the agent does not answer any more: a command may take long, and nobody
/// carries it out then.
inline task<void> watch_agent(std::string socket, job_command::kind what) {
  system_time time;
  for (;;) {
    co_await time.sleep_until(time.now() + limits::status_request);
    try {
      co_await check_agent(socket, what);
    } catch (const error& failure) {
      // An agent that is about to end accepts nobody, and still says what came of the command.
      if (failure.code() == errc::timed_out) throw;
    }
  }
}

inline task<void> keep_answer(task<http_response> asking, http_response& answer) {
  answer = co_await std::move(asking);
}

ELASTIC_DECL task<int> send_command(command_call call, std::function<void(std::string_view)> out) {
  // Before it is sent: an agent that goes on later would carry it out.
  co_await check_agent(call.socket, call.command.what);
  http_response answer;
  http_request request = request_of(call.command);
  task<http_response> asking = ask_once(call.socket, std::move(request));
  task<void> working = keep_answer(std::move(asking), answer);
  task<void> watching = watch_agent(call.socket, call.command.what);
  co_await race(std::move(working), std::move(watching));
  const std::string text = printable_line(answer.body);
  if (answer.status != 200 && answer.status != 409) {
    throw error(errc::invalid_argument,
                fmt::format("{}: the server answers {}: {}", to_string(call.command.what),
                            answer.status, text));
  }
  out(text + "\n");
  co_return answer.status == 200 ? 0 : 1;
}

}  // namespace elastic::detail
