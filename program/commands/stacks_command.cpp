// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/stacks_command.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/local_stacks.hpp>
#include <elastic/net/detail/http_connection.hpp>
#include <elastic/net/detail/stream_listener.hpp>
#include <elastic/status/detail/job_state.hpp>
#include <elastic/status/detail/journal_reader.hpp>
#include <program/commands/journal_run.hpp>
#include <program/commands/role_path.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elasticrun {

namespace detail = elastic::detail;

namespace {

[[noreturn]] void refuse_stacks(const std::string& why) {
  throw elastic::error(elastic::errc::invalid_argument, "stacks: " + why);
}

void read_ranks(std::string_view text, std::vector<int>& ranks) {
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    int rank = -1;
    const auto [end, failure] = std::from_chars(word.data(), word.data() + word.size(), rank);
    if (failure != std::errc() || end != word.data() + word.size() || rank < 0) {
      refuse_stacks(fmt::format("--rank {}: ranks are needed, such as 3 or 0,3",
                                elastic::in_quotes(std::string(word))));
    }
    ranks.push_back(rank);
    is_last = comma == text.npos;
    text.remove_prefix(is_last ? text.size() : comma + 1);
  }
}

stacks_query read_stacks_query(const std::vector<std::string>& arguments,
                               const elastic::environment_map& environment) {
  constexpr std::string_view unix_prefix = "unix:";
  stacks_query query;
  std::optional<std::string> place;
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    const std::string& argument = arguments[index];
    if (argument == "--rank" && index + 1 < arguments.size()) {
      read_ranks(arguments[++index], query.ranks);
    } else if (argument == "--role" && index + 1 < arguments.size()) {
      query.role = role_name("stacks", arguments[++index]);
    } else if (argument.starts_with("-") || place) {
      refuse_stacks(fmt::format("{} cannot be used; see elasticrun stacks --help",
                                elastic::in_quotes(argument)));
    } else {
      place = argument;
    }
  }
  if (!place) place = elastic::find_variable(environment, "PET_STATUS");
  if (!place || place->empty()) {
    refuse_stacks("which job? Name its --status unix:PATH, or a log directory");
  }
  const bool is_number = place->find_first_not_of("0123456789") == place->npos;
  if (place->starts_with(unix_prefix)) {
    query.socket = place->substr(unix_prefix.size());
  } else if (is_number || place->starts_with("http://")) {
    refuse_stacks("over TCP the user is unknown: start the job with --status unix:PATH");
  } else {
    query.log_directory = *place;
  }
  return query;
}

elastic::task<detail::http_response> ask_agent(std::string socket, detail::http_request request) {
  std::unique_ptr<detail::byte_stream> stream = co_await detail::connect_path(std::move(socket));
  detail::http_connection connection(std::move(stream), "localhost");
  co_return co_await connection.exchange(std::move(request));
}

elastic::task<int> stacks_of_agent(stacks_query query, std::function<void(std::string_view)> out) {
  elastic::system_time time;
  detail::json_object body;
  if (!query.ranks.empty()) {
    body.add_json("ranks", fmt::format("[{}]", fmt::join(query.ranks, ",")));
  }
  detail::http_request request;
  request.method = "POST";
  request.target = path_of_role(query.role, "/api/v1/commands/stacks");
  request.headers.emplace_back("Accept", "text/plain");
  request.headers.emplace_back("Content-Type", "application/json");
  request.body = body.text();
  const elastic::duration patience =
      elastic::limits::status_request + elastic::limits::inspection_answer;
  elastic::task<detail::http_response> asking = ask_agent(query.socket, std::move(request));
  const auto answer =
      co_await elastic::with_deadline(time, time.now() + patience, std::move(asking));
  if (!answer) {
    throw elastic::error(elastic::errc::timed_out, "stacks: the agent does not answer");
  }
  const std::string text = elastic::printable_text(answer->body);
  if (answer->status != 200 && answer->status != 409) {
    refuse_stacks(fmt::format("the server answers {}: {}", answer->status,
                              elastic::printable_line(answer->body.substr(0, 300))));
  }
  out(text);
  co_return answer->status == 200 ? 0 : 1;
}

/// Whether the process is still the worker, rather than one that has reused its pid or belongs to
/// another user.
bool is_worker(const elastic::detail::job_worker& worker, const std::string& run_id) {
  std::ifstream file(fmt::format("/proc/{}/environ", worker.pid), std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  text.insert(text.begin(), '\0');
  const auto has = [&](const std::string& name, const std::string& value) {
    std::string entry(1, '\0');
    entry += name + "=" + value;
    entry += '\0';
    return text.find(entry) != text.npos;
  };
  return has("RANK", std::to_string(worker.rank)) && has("TORCHELASTIC_RUN_ID", run_id);
}

void add_workers(const elastic::detail::job_state& job, const std::vector<int>& ranks,
                 std::vector<elastic::agent_part::attempt_worker>& workers) {
  for (const elastic::detail::job_worker& each : job.workers()) {
    const bool is_wanted =
        ranks.empty() || std::find(ranks.begin(), ranks.end(), each.rank) != ranks.end();
    const bool may_run = each.state == elastic::detail::job_worker::condition::running;
    if (!is_wanted || !may_run || !is_worker(each, job.run_id())) continue;
    workers.push_back({static_cast<int>(each.rank), static_cast<int>(each.local_rank),
                       static_cast<pid_t>(each.pid)});
  }
}

elastic::task<int> stacks_of_journals(stacks_query query,
                                      std::function<void(std::string_view)> out) {
  std::vector<elastic::agent_part::attempt_worker> workers;
  bool has_ended = true;
  for (const std::string& path : elastic::detail::find_journals(query.log_directory)) {
    for (const elastic::detail::job_state& job :
         states_of(elastic::detail::read_journal(path).records)) {
      if (!query.role.empty() && job.role() != query.role) continue;
      has_ended = has_ended && job.has_ended();
      if (!job.has_ended()) add_workers(job, query.ranks, workers);
    }
  }
  if (has_ended) {
    refuse_stacks(fmt::format("the job in {} has ended",
                              elastic::in_quotes(query.log_directory)));
  }
  if (workers.empty()) {
    out("no worker of the job runs on this host as this user\n");
    co_return 1;
  }
  out(co_await elastic::local_stacks(workers));
  co_return 0;
}

}  // namespace

std::variant<stacks_query, elastic::early_exit> parse_stacks_command(
    const std::vector<std::string>& arguments, const elastic::environment_map& environment) {
  try {
    return read_stacks_query(arguments, environment);
  } catch (const elastic::error& refusal) {
    return elastic::refuse(refusal.what());
  }
}

elastic::task<int> run_stacks_command(stacks_query query,
                                      std::function<void(std::string_view)> out) {
  if (query.log_directory.empty()) {
    co_return co_await stacks_of_agent(std::move(query), std::move(out));
  }
  co_return co_await stacks_of_journals(std::move(query), std::move(out));
}

}  // namespace elasticrun
