// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/logs_command.hpp>

#include <elastic/agent/failure_report.hpp>
#include <elastic/agent/log_layout.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/detail/base64.hpp>
#include <elastic/base/detail/json_fields.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/time.hpp>
#include <elastic/net/detail/http_connection.hpp>
#include <elastic/status/detail/journal_reader.hpp>
#include <elastic/status/detail/output_feed.hpp>
#include <elastic/status/status_server.hpp>
#include <program/commands/journal_run.hpp>
#include <program/commands/lost_agent.hpp>
#include <program/commands/role_path.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elasticrun {

namespace detail = elastic::detail;

namespace {

[[noreturn]] void refuse_logs(const std::string& why) {
  throw elastic::error(elastic::errc::invalid_argument, "logs: " + why);
}

/// Result: whether the option is one that has no value.
bool take_flag(const std::string& option, detail::output_reading& reading) {
  if (option == "--follow" || option == "-f") {
    reading.follows = true;
  } else if (option == "--stdout") {
    reading.has_err = false;
  } else if (option == "--stderr") {
    reading.has_out = false;
  } else {
    return false;
  }
  return true;
}

/// Result: whether the option is one that has a value.
bool take_value(const std::string& option, const std::string& value, logs_query& query) {
  if (option == "--ranks") {
    query.reading.ranks = detail::parse_rank_ranges(value);
  } else if (option == "--lines") {
    query.reading.lines = detail::parse_read_lines(value);
  } else if (option == "--grep") {
    if (value.empty()) refuse_logs("--grep needs a text");
    query.filter = value;
  } else if (option == "--role") {
    query.job.role = role_name("logs", value);
  } else if (option == "--token-file") {
    query.job.token = elastic::read_status_token(value);
  } else {
    return false;
  }
  return true;
}

logs_query read_logs_query(const std::vector<std::string>& arguments,
                           const elastic::environment_map& environment) {
  logs_query query;
  std::optional<std::string> address;
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    const std::string& argument = arguments[index];
    if (take_flag(argument, query.reading)) continue;
    const bool has_next = index + 1 < arguments.size();
    if (has_next && take_value(argument, arguments[index + 1], query)) {
      ++index;
    } else if (argument.starts_with("-") || address) {
      refuse_logs(elastic::in_quotes(argument) + " cannot be used; see elasticrun logs --help");
    } else {
      address = argument;
    }
  }
  if (!query.reading.has_out && !query.reading.has_err) {
    refuse_logs("either --stdout or --stderr");
  }
  if (!address) address = elastic::find_variable(environment, "PET_STATUS");
  if (!address || address->empty()) {
    refuse_logs("which job? Name what --status was given, or a log directory");
  }
  parse_job_address("logs", *address, query.job);
  return query;
}

/// The lines as they are shown, each after the name of its worker.
std::string shown_lines(const detail::output_piece& piece, std::uint64_t skipped,
                        std::string_view filter, bool is_terminal) {
  const std::string head =
      fmt::format("[rank {}{}]: ", piece.rank, piece.is_err ? " stderr" : "");
  std::string shown;
  if (skipped > 0) shown += fmt::format("{}... {} bytes were skipped ...\n", head, skipped);
  for (std::string_view rest = piece.text; !rest.empty();) {
    const std::size_t size = rest.find('\n') + 1;
    const std::string_view line = rest.substr(0, size);
    rest.remove_prefix(size);
    if (line.find(filter) == line.npos) continue;
    shown += head;
    shown += is_terminal ? elastic::printable_text(line) : std::string(line);
  }
  return shown;
}

// ---- a job that runs ----------------------------------------------------------------------------

/// Takes the events of a status server from a stream that arrives in pieces.
class event_intake {
 public:
  struct event {
    std::string kind;
    std::string data;
  };

  void feed(std::string_view bytes) { held_ += bytes; }

  /// The next event; none if it has not arrived completely. Skips comments.
  std::optional<event> next() {
    for (;;) {
      const std::size_t end = held_.find("\n\n", begin_);
      if (end == held_.npos) {
        held_.erase(0, std::exchange(begin_, 0));
        return std::nullopt;
      }
      event found = parse(std::string_view(held_).substr(begin_, end - begin_));
      begin_ = end + 2;
      if (!found.data.empty()) return found;
    }
  }

 private:
  static event parse(std::string_view text) {
    event found;
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      const std::string_view line = text.substr(0, end);
      if (line.starts_with("event: ")) found.kind = line.substr(7);
      if (line.starts_with("data: ")) found.data = line.substr(6);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return found;
  }

  std::string held_;
  std::size_t begin_ = 0;
};

detail::output_piece read_piece(const detail::json_fields& fields) {
  detail::output_piece piece;
  piece.rank = fields.number("rank", 0, elastic::limits::job_ranks);
  piece.is_err = fields.text("stream") == "stderr";
  if (fields.has("base64")) {
    piece.text = detail::from_base64(fields.text("base64")).value_or("");
  } else {
    piece.text = fields.text("text");
  }
  if (!piece.text.empty() && !piece.text.ends_with('\n')) piece.text += '\n';
  return piece;
}

/// Result: whether it was the last event.
bool show_event(const event_intake::event& event, std::string_view filter,
                const logs_outlets& out) {
  if (event.kind == "end") return true;
  const detail::json_fields fields("an event of the status server", event.data,
                                   elastic::limits::http_body_bytes);
  if (event.kind == "notice") {
    out.notices("elasticrun: logs: " + elastic::printable_text(fields.text("text")) + "\n");
  } else {
    constexpr std::int64_t most_bytes = std::int64_t{1} << 62;
    const auto skipped = fields.has("skipped") ? fields.number("skipped", 0, most_bytes) : 0;
    out.lines(shown_lines(read_piece(fields), static_cast<std::uint64_t>(skipped), filter,
                          out.is_terminal));
  }
  return false;
}

elastic::task<int> show_running_job(logs_query query, logs_outlets out) {
  auto stream = co_await connect_to_job(query.job);
  // The server accepts this name, whatever its host is called.
  detail::http_connection connection(std::move(stream), "localhost");
  detail::http_request request;
  request.target =
      path_of_role(query.job.role, "/api/v1/output") + "?" + to_query(query.reading);
  request.headers.emplace_back("Accept", "text/event-stream");
  if (!query.job.token.empty()) {
    request.headers.emplace_back("Authorization", "Bearer " + query.job.token);
  }
  elastic::system_time time;
  const elastic::time_point deadline = time.now() + elastic::limits::status_request;
  elastic::task<int> asking = connection.begin(std::move(request));
  const std::optional<int> status =
      co_await elastic::with_deadline(time, deadline, std::move(asking));
  if (!status) {
    throw elastic::error(elastic::errc::timed_out, "logs: the server does not answer");
  }
  event_intake events;
  for (;;) {
    const std::string piece = co_await connection.next_piece();
    if (*status != 200) {
      refuse_logs(fmt::format("the server answers {}: {}", *status,
                              elastic::printable_line(piece.substr(0, 300))));
    }
    if (piece.empty()) break;
    events.feed(piece);
    while (const auto event = events.next()) {
      if (show_event(*event, query.filter, out)) co_return 0;
    }
  }
  throw elastic::error(elastic::errc::connection_failed,
                       "logs: the agent has ended before all lines were sent");
}

// ---- a log directory ----------------------------------------------------------------------------

/// The streams that lie in a log directory, and whether the run is over.
struct logged_run {
  std::vector<detail::output_source> sources = {};
  bool has_ended = true;
  /// One line for each agent that ended without recording it.
  std::string losses = {};
};

void add_sources(const std::string& root, std::int64_t base_rank, logged_run& run) {
  for (const auto& worker : elastic::log_layout::find_workers(root)) {
    const std::int64_t rank = base_rank + worker.local_rank;
    run.sources.push_back({rank, false, 0, worker.stdout_file});
    run.sources.push_back({rank, true, 0, worker.stderr_file});
  }
}

/// Refuses a query that names none of several roles, or one that a log directory does not have.
void check_role(const std::string& role, const std::set<std::string>& known, bool are_several) {
  const std::string names = elastic::printable_line(fmt::format("{}", fmt::join(known, ", ")));
  if (role.empty() && are_several) {
    refuse_logs(fmt::format("the job has the roles {}: name one by --role", names));
  }
  if (role.empty() || known.empty() || known.contains(role)) return;
  refuse_logs(fmt::format("there is no role '{}', only {}", role, names));
}

logged_run find_run(const status_query& job) {
  logged_run run;
  std::set<std::string> roles;
  bool are_several = false;
  for (const std::string& path : detail::find_journals(job.log_directory)) {
    const std::filesystem::path root = std::filesystem::path(path).parent_path();
    const detail::journal_contents journal = detail::read_journal(path);
    bool has_ended = true;
    for (const detail::job_state& state : states_of(journal.records)) {
      // In a job of several roles, the run id of one is "JOB/ROLE".
      const bool is_one_of_several = state.run_id().ends_with("/" + state.role());
      if (!state.role().empty()) roles.insert(state.role());
      are_several = are_several || is_one_of_several;
      if (!job.role.empty() && state.role() != job.role) continue;
      has_ended = has_ended && state.has_ended();
      add_sources(is_one_of_several ? root / state.role() : root, state.base_rank(), run);
    }
    if (has_ended) continue;
    const std::optional<lost_agent> lost = find_lost_agent(journal, path);
    const bool is_lost = lost && lost->is_certain;
    run.has_ended = run.has_ended && is_lost;
    if (is_lost) run.losses += "elasticrun: logs: " + lost->sentence("nothing follows its lines.");
  }
  check_role(job.role, roles, are_several);
  return run;
}

/// Refuses ranks of which a log directory has none. A reader that follows may wait for them.
void check_ranks(const detail::output_reading& reading, const logged_run& run) {
  const auto is_wanted = [&](const detail::output_source& source) {
    return reading.wants(source.rank, source.is_err);
  };
  const bool may_begin = reading.follows && !run.has_ended;
  if (may_begin || run.sources.empty()) return;
  if (std::any_of(run.sources.begin(), run.sources.end(), is_wanted)) return;
  std::set<int> ranks;
  for (const detail::output_source& source : run.sources) {
    ranks.insert(static_cast<int>(source.rank));
  }
  refuse_logs(fmt::format("none of the ranks of --ranks is in the log directory, which has {}",
                          detail::rank_ranges({ranks.begin(), ranks.end()})));
}

elastic::task<int> show_log_directory(logs_query query, logs_outlets out) {
  constexpr std::chrono::seconds search_pause(1);
  elastic::system_time time;
  detail::output_feed feed(query.reading);
  detail::output_gaps gaps;
  logged_run run = find_run(query.job);
  check_ranks(query.reading, run);
  elastic::time_point next_search = time.now() + search_pause;
  for (;;) {
    const auto pieces = feed.next(run.sources, elastic::limits::read_piece_bytes);
    for (const detail::output_piece& piece : pieces) {
      out.lines(shown_lines(piece, gaps.take(piece), query.filter, out.is_terminal));
    }
    if (!pieces.empty() || !feed.is_drained()) continue;
    if (!feed.reading().follows) break;
    if (run.has_ended) {
      feed.stop_following();
      continue;
    }
    co_await time.sleep_until(time.now() + elastic::limits::output_look);
    if (time.now() < next_search) continue;
    run = find_run(query.job);
    next_search = time.now() + search_pause;
  }
  if (!run.losses.empty()) out.notices(run.losses);
  if (run.sources.empty()) {
    out.notices("elasticrun: logs: no output lies in the log directory: --tee 3 or --redirects 3 "
                "would keep it\n");
  }
  co_return 0;
}

}  // namespace

std::variant<logs_query, elastic::early_exit> parse_logs_command(
    const std::vector<std::string>& arguments, const elastic::environment_map& environment) {
  try {
    return read_logs_query(arguments, environment);
  } catch (const elastic::error& refusal) {
    return elastic::refuse(refusal.what());
  }
}

elastic::task<int> run_logs_command(logs_query query, logs_outlets out) {
  const bool is_running = query.job.log_directory.empty();
  return is_running ? show_running_job(std::move(query), std::move(out))
                    : show_log_directory(std::move(query), std::move(out));
}

}  // namespace elasticrun
