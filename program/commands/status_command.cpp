// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/status_command.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/http_connection.hpp>
#include <elastic/net/detail/stream_listener.hpp>
#include <elastic/net/detail/socket_stream.hpp>
#include <elastic/status/detail/job_document.hpp>
#include <elastic/status/detail/job_view.hpp>
#include <elastic/status/detail/journal_reader.hpp>
#include <elastic/status/status_server.hpp>
#include <program/commands/journal_run.hpp>
#include <program/commands/lost_agent.hpp>
#include <program/commands/role_path.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elasticrun {

namespace detail = elastic::detail;

namespace {

void parse_http_address(std::string_view rest, status_query& query) {
  const std::size_t slash = rest.find('/');
  query.tcp = elastic::parse_endpoint(rest.substr(0, slash), 80);
  constexpr std::string_view name = "token=";
  const std::size_t index = rest.find(name);
  if (index != std::string_view::npos) query.token = rest.substr(index + name.size());
  if (query.token.find_first_of("\r\n ") != std::string::npos) {
    throw elastic::error(elastic::errc::invalid_argument, "the address has no valid token");
  }
}

}  // namespace

void parse_job_address(std::string_view command, const std::string& address, status_query& query) {
  constexpr std::string_view unix_prefix = "unix:";
  constexpr std::string_view http_prefix = "http://";
  std::error_code failure;
  const bool is_number =
      !address.empty() && address.find_first_not_of("0123456789") == address.npos;
  if (address.starts_with(unix_prefix)) {
    query.socket = address.substr(unix_prefix.size());
    if (query.socket.empty()) {
      throw elastic::error(elastic::errc::invalid_argument,
                           fmt::format("{}: unix: needs the path of a socket, as unix:PATH",
                                       command));
    }
  } else if (address.starts_with(http_prefix)) {
    parse_http_address(std::string_view(address).substr(http_prefix.size()), query);
  } else if (is_number) {
    query.tcp = elastic::parse_endpoint("127.0.0.1:" + address, 0);
  } else if (address.find('/') == address.npos && address.find(':') != address.npos &&
             !std::filesystem::exists(address, failure)) {
    query.tcp = elastic::parse_endpoint(address, 0);
    if (query.tcp.host == "0.0.0.0") query.tcp.host = "127.0.0.1";
    if (query.tcp.host == "::") query.tcp.host = "::1";
  } else {
    query.log_directory = address;
  }
}

elastic::task<std::unique_ptr<detail::byte_stream>> connect_to_job(status_query query) {
  if (!query.socket.empty()) co_return co_await detail::connect_path(query.socket);
  auto socket = co_await detail::connect_tcp(query.tcp);
  co_return std::make_unique<detail::socket_stream>(std::move(socket));
}

namespace {

status_query read_status_query(const std::vector<std::string>& arguments,
                               const elastic::environment_map& environment) {
  status_query query;
  std::optional<std::string> address;
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    const std::string& argument = arguments[index];
    if (argument == "--watch") {
      query.repeats = true;
    } else if (argument == "--json") {
      query.as_json = true;
    } else if (argument == "--ready") {
      query.asks_ready = true;
    } else if (argument == "--role" && index + 1 < arguments.size()) {
      query.role = role_name("status", arguments[++index]);
    } else if (argument == "--token-file" && index + 1 < arguments.size()) {
      query.token = elastic::read_status_token(arguments[++index]);
    } else if (argument.starts_with("-") || address) {
      throw elastic::error(elastic::errc::invalid_argument,
                           fmt::format("status: {} cannot be used; see elasticrun status --help",
                                       elastic::in_quotes(argument)));
    } else {
      address = argument;
    }
  }
  if (query.repeats && query.asks_ready) {
    throw elastic::error(elastic::errc::invalid_argument, "status: either --watch or --ready");
  }
  if (!address) address = elastic::find_variable(environment, "PET_STATUS");
  if (!address || address->empty()) {
    throw elastic::error(elastic::errc::invalid_argument,
                         "status: which job? Name what --status was given, or a log directory");
  }
  parse_job_address("status", *address, query);
  // The journal of an agent that was killed looks like that of an agent whose workers run.
  if (query.asks_ready && !query.log_directory.empty()) {
    throw elastic::error(
        elastic::errc::invalid_argument,
        fmt::format("status: --ready asks a job that runs, by what --status was given; {} "
                    "would be a log directory",
                    elastic::in_quotes(*address)));
  }
  return query;
}

elastic::task<detail::http_response> ask_status(status_query query, std::string target,
                                                std::string accept) {
  auto stream = co_await connect_to_job(query);
  // The server accepts this name, whatever its host is called.
  detail::http_connection connection(std::move(stream), "localhost");
  detail::http_request request;
  request.target = std::move(target);
  request.headers.emplace_back("Accept", std::move(accept));
  if (!query.token.empty()) request.headers.emplace_back("Authorization", "Bearer " + query.token);
  co_return co_await connection.exchange(std::move(request));
}

/// Errors: `errc::timed_out` if the server does not answer within its own time limit.
elastic::task<detail::http_response> answer_for_status(status_query query, std::string target,
                                                       std::string accept) {
  elastic::system_time time;
  const elastic::time_point deadline = time.now() + elastic::limits::status_request;
  elastic::task<detail::http_response> asking =
      ask_status(query, std::move(target), std::move(accept));
  std::optional<detail::http_response> answer =
      co_await elastic::with_deadline(time, deadline, std::move(asking));
  if (!answer) {
    throw elastic::error(elastic::errc::timed_out, "status: the server does not answer");
  }
  co_return std::move(*answer);
}

void refuse_status_answer(const detail::http_response& answer) {
  const std::string why = elastic::printable_text(answer.body.substr(0, 300));
  throw elastic::error(elastic::errc::invalid_argument,
                       fmt::format("status: the server answers {}: {}", answer.status,
                                   std::string_view(why).substr(0, why.find('\n'))));
}

/// Another web server may answer with 200, too, which would make a job look ready.
void refuse_other_server(const detail::http_response& answer, std::string_view type) {
  const auto header = answer.headers.find("content-type");
  const std::string given = header == answer.headers.end() ? "" : header->second;
  if (given.starts_with(type)) return;
  throw elastic::error(
      elastic::errc::protocol_violation,
      fmt::format("status: this is not the server of a job: it sends {} instead of {}",
                  given.empty() ? "no content type" : elastic::in_quotes(given), type));
}

struct shown_status {
  std::string text;
  bool has_ended = false;
  bool is_ready = false;
};

elastic::task<shown_status> status_of_server(status_query query) {
  shown_status shown;
  if (query.asks_ready) {
    const std::string target = path_of_role(query.role, "/readyz");
    const detail::http_response answer = co_await answer_for_status(query, target, "text/plain");
    if (answer.status != 200 && answer.status != 503) refuse_status_answer(answer);
    refuse_other_server(answer, "text/plain");
    shown.is_ready = answer.status == 200;
    shown.text = shown.is_ready ? "" : elastic::printable_text(answer.body);
    co_return shown;
  }
  const char* const accept = query.as_json ? "application/json" : "text/plain";
  const std::string target = path_of_role(query.role, "/api/v1/job");
  const detail::http_response answer = co_await answer_for_status(query, target, accept);
  if (answer.status != 200) refuse_status_answer(answer);
  refuse_other_server(answer, accept);
  // JSON is for programs, which need the unchanged text.
  shown.text = query.as_json ? answer.body : elastic::printable_text(answer.body);
  co_return shown;
}

shown_status status_of_journals(const status_query& query, std::int64_t now_us) {
  shown_status shown;
  shown.has_ended = true;
  for (const std::string& path : elastic::detail::find_journals(query.log_directory)) {
    const elastic::detail::journal_contents journal = elastic::detail::read_journal(path);
    bool has_ended = true;
    for (const elastic::detail::job_state& job : states_of(journal.records)) {
      if (!query.role.empty() && job.role() != query.role) continue;
      has_ended = has_ended && job.has_ended();
      const elastic::detail::job_view view(job);
      shown.text += query.as_json ? elastic::detail::job_json(view, now_us)
                                  : elastic::detail::job_text(view, now_us);
    }
    if (has_ended) continue;
    const std::optional<lost_agent> lost = find_lost_agent(journal, path);
    shown.has_ended = shown.has_ended && lost && lost->is_certain;
    if (lost && !query.as_json) shown.text += lost->sentence("the job was as above then.");
  }
  return shown;
}

std::int64_t microseconds_now(const elastic::time_source& time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.wall_now().time_since_epoch())
      .count();
}

elastic::task<shown_status> status_for(status_query query) {
  if (query.log_directory.empty()) co_return co_await status_of_server(std::move(query));
  co_return status_of_journals(query, microseconds_now(elastic::system_time()));
}

/// The next status of an agent that has answered before. If it does not answer, it may be
/// suspended, and is asked again. Empty: it has ended.
elastic::task<std::optional<shown_status>> next_status(status_query query,
                                                       std::function<void(std::string_view)> out) {
  for (bool is_silent = false;; is_silent = true) {
    try {
      co_return co_await status_for(query);
    } catch (const elastic::error& failure) {
      if (failure.code() == elastic::errc::connection_failed) {
        out("the agent has ended\n");
        co_return std::nullopt;
      }
      if (failure.code() != elastic::errc::timed_out) throw;
      if (!is_silent) out("the agent does not answer\n");
    }
  }
}

}  // namespace

std::variant<status_query, elastic::early_exit> parse_status_command(
    const std::vector<std::string>& arguments, const elastic::environment_map& environment) {
  try {
    return read_status_query(arguments, environment);
  } catch (const elastic::error& refusal) {
    return elastic::refuse(refusal.what());
  }
}

elastic::task<int> run_status_command(status_query query,
                                      std::function<void(std::string_view)> out) {
  elastic::system_time time;
  std::optional<shown_status> shown = co_await status_for(query);
  while (true) {
    // Clear the screen.
    if (query.repeats) out("\x1b[H\x1b[2J");
    out(shown->text);
    if (query.asks_ready) co_return shown->is_ready ? 0 : 1;
    if (!query.repeats || shown->has_ended) co_return 0;
    co_await time.sleep_until(time.now() + std::chrono::seconds(1));
    shown = co_await next_status(query, out);
    if (!shown) co_return 0;
  }
}

}  // namespace elasticrun
