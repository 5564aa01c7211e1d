// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/send_command.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/http_connection.hpp>
#include <elastic/net/detail/stream_listener.hpp>
#include <program/commands/role_path.hpp>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elasticrun {

namespace detail = elastic::detail;

namespace {

elastic::duration parse_command_time(const std::string& text) {
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, seconds);
  const double most = std::chrono::duration<double>(elastic::limits::command_time).count();
  if (failure != std::errc() || stop != end || !(seconds > 0 && seconds <= most)) {
    throw elastic::error(elastic::errc::invalid_argument,
                         fmt::format("--within {}: a time above 0 s and up to {} s is needed",
                                     elastic::in_quotes(text), most));
  }
  return std::chrono::duration_cast<elastic::duration>(std::chrono::duration<double>(seconds));
}

command_call read_command_call(elastic::job_command::kind kind,
                               const std::vector<std::string>& arguments) {
  constexpr std::string_view unix_prefix = "unix:";
  command_call call;
  call.command.what = kind;
  const bool takes_time = kind == elastic::job_command::kind::checkpoint;
  std::size_t index = 0;
  for (; index + 1 < arguments.size(); index += 2) {
    if (takes_time && arguments[index] == "--within") {
      call.command.within = parse_command_time(arguments[index + 1]);
    } else if (arguments[index] == "--role") {
      call.command.role = role_name(to_string(kind), arguments[index + 1]);
    } else {
      break;
    }
  }
  if (index >= arguments.size() || !arguments[index].starts_with(unix_prefix)) {
    throw elastic::error(
        elastic::errc::invalid_argument,
        fmt::format("{}: which job? Name the Unix socket that --status was given, as "
                    "unix:PATH",
                    to_string(kind)));
  }
  call.socket = arguments[index].substr(unix_prefix.size());
  for (++index; index < arguments.size(); ++index) {
    call.command.reason += (call.command.reason.empty() ? "" : " ") + arguments[index];
  }
  if (call.command.reason.size() <= elastic::limits::command_reason_bytes) return call;
  throw elastic::error(elastic::errc::invalid_argument,
                       fmt::format("{}: the reason has over {} bytes", to_string(kind),
                                   elastic::limits::command_reason_bytes));
}

detail::http_request request_of(const elastic::job_command& command) {
  detail::json_object body;
  if (!command.reason.empty()) body.add("reason", command.reason);
  if (command.what == elastic::job_command::kind::checkpoint) {
    body.add("within", std::chrono::duration<double>(command.within).count());
  }
  detail::http_request request;
  request.method = "POST";
  request.target = path_of_role(command.role,
                                fmt::format("/api/v1/commands/{}", to_string(command.what)));
  request.headers.emplace_back("Accept", "text/plain");
  request.headers.emplace_back("Content-Type", "application/json");
  request.body = body.text();
  return request;
}

elastic::task<detail::http_response> ask_once(std::string socket, detail::http_request request) {
  std::unique_ptr<detail::byte_stream> stream = co_await detail::connect_path(std::move(socket));
  detail::http_connection connection(std::move(stream), "localhost");
  co_return co_await connection.exchange(std::move(request));
}

/// Errors: `errc::timed_out` if the agent does not answer in time, for example because it is
/// stopped; those of `connect_path`.
elastic::task<void> check_agent(std::string socket, elastic::job_command::kind what) {
  elastic::system_time time;
  detail::http_request request;
  request.target = "/livez";
  const elastic::time_point deadline = time.now() + elastic::limits::status_request;
  elastic::task<detail::http_response> asking = ask_once(std::move(socket), std::move(request));
  const auto answer = co_await elastic::with_deadline(time, deadline, std::move(asking));
  if (answer) co_return;
  throw elastic::error(elastic::errc::timed_out,
                       fmt::format("{}: the agent does not answer within {} s", to_string(what),
                                   elastic::limits::status_request.count()));
}

/// Fails as soon as the agent no longer answers: a command may take long, but such an agent will
/// not finish it.
elastic::task<void> watch_agent(std::string socket, elastic::job_command::kind what) {
  constexpr std::chrono::seconds pause(1);
  elastic::system_time time;
  for (;;) {
    try {
      co_await check_agent(socket, what);
    } catch (const elastic::error& failure) {
      // An agent that is about to end accepts no connection but still sends the outcome.
      if (failure.code() == elastic::errc::timed_out) throw;
    }
    co_await time.sleep_until(time.now() + pause);
  }
}

elastic::task<void> keep_answer(elastic::task<detail::http_response> asking,
                                detail::http_response& answer) {
  answer = co_await std::move(asking);
}

}  // namespace

std::variant<command_call, elastic::early_exit> parse_command_call(
    elastic::job_command::kind kind, const std::vector<std::string>& arguments) {
  try {
    return read_command_call(kind, arguments);
  } catch (const elastic::error& refusal) {
    return elastic::refuse(refusal.what());
  }
}

elastic::task<int> send_command(command_call call, std::function<void(std::string_view)> out) {
  // This check comes first, because an agent that hangs now would carry out the command when it
  // continues.
  co_await check_agent(call.socket, call.command.what);
  detail::http_response answer;
  detail::http_request request = request_of(call.command);
  elastic::task<detail::http_response> asking = ask_once(call.socket, std::move(request));
  elastic::task<void> working = keep_answer(std::move(asking), answer);
  elastic::task<void> watching = watch_agent(call.socket, call.command.what);
  co_await elastic::race(std::move(working), std::move(watching));
  const std::string text = elastic::printable_line(answer.body);
  if (answer.status != 200 && answer.status != 409) {
    throw elastic::error(elastic::errc::invalid_argument,
                         fmt::format("{}: the server answers {}: {}", to_string(call.command.what),
                                     answer.status, text));
  }
  out(text + "\n");
  co_return answer.status == 200 ? 0 : 1;
}

}  // namespace elasticrun
