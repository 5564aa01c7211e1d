// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/progress/kubeflow_progress.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/race.hpp>
#include <elastic/net/detail/http_connection.hpp>
#include <elastic/net/detail/socket_stream.hpp>
#include <elastic/net/detail/tls_stream.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/status/detail/job_monitor_core.hpp>
#include <program/limits.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <exception>
#include <fstream>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace elasticrun {

namespace detail = elastic::detail;

namespace {

/// Whether a text contains no space, no line end and no other character that could start another
/// part of a request.
bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char letter) { return letter > ' ' && letter < '\x7f'; });
}

/// Errors: `errc::file_access`.
std::string read_kubeflow_token(const std::string& path) {
  std::ifstream file(path);
  std::string token(limits::kubeflow_token_bytes, '\0');
  file.read(token.data(), static_cast<std::streamsize>(token.size()));
  token.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (!token.empty() && is_visible(token)) return token;
  throw elastic::error(
      elastic::errc::file_access,
      fmt::format("the file {}, which KUBEFLOW_TRAINER_SERVER_TOKEN names, has no token",
                  elastic::in_quotes(path)));
}

/// Reads the certificates, too, so that a file system that does not answer blocks only this thread.
/// Result: the token; empty if there is none to send. Errors: `errc::file_access`.
std::string read_kubeflow_files(const kubeflow_server& server) {
  if (!server.authorities.empty()) std::ifstream(server.authorities).get();
  return server.token_file.empty() ? std::string() : read_kubeflow_token(server.token_file);
}

std::string kubeflow_metric(std::string_view name, const std::string& value) {
  return fmt::format(R"({{"name": {}, "value": {}}})", detail::json_string(name),
                     detail::json_string(value));
}

}  // namespace

std::optional<kubeflow_server> find_kubeflow_server(const elastic::environment_map& variables) {
  const std::string url =
      elastic::find_variable(variables, "KUBEFLOW_TRAINER_SERVER_URL").value_or("");
  if (url.empty()) return std::nullopt;
  constexpr std::string_view secure = "https://";
  constexpr std::string_view open = "http://";
  kubeflow_server server;
  server.uses_tls = url.starts_with(secure);
  const std::size_t begin = server.uses_tls ? secure.size() : open.size();
  const std::size_t slash = url.starts_with(secure) || url.starts_with(open)
                                ? std::min(url.find('/', begin), url.size())
                                : begin;
  const std::string host = slash > begin ? url.substr(begin, slash - begin) : std::string();
  if (host.empty() || !is_visible(url) || host.find('@') != std::string::npos) {
    throw elastic::error(
        elastic::errc::invalid_argument,
        fmt::format("KUBEFLOW_TRAINER_SERVER_URL is {}: http://HOST[:PORT]/… or https://… "
                    "is needed",
                    elastic::in_quotes(url)));
  }
  server.address = elastic::parse_endpoint(host, server.uses_tls ? 443 : 80);
  if (slash < url.size()) server.target = url.substr(slash);
  server.authorities =
      elastic::find_variable(variables, "KUBEFLOW_TRAINER_SERVER_CA_CERT").value_or("");
  server.token_file =
      elastic::find_variable(variables, "KUBEFLOW_TRAINER_SERVER_TOKEN").value_or("");
  return server;
}

bool is_token_exposed(const kubeflow_server& server) {
  return !server.uses_tls && !server.token_file.empty() &&
         !elastic::is_loopback(server.address.host);
}

std::optional<std::string> kubeflow_status(const elastic::detail::job_view& view,
                                           const std::map<std::string, double>& metrics,
                                           std::int64_t now_us) {
  const elastic::detail::viewed_progress progress = view.progress();
  const elastic::detail::viewed_worker* const slowest = progress.slowest;
  if (view.job().group_rank() != 0 || !slowest) return std::nullopt;
  std::string text = R"({"trainerStatus": {)";
  const double step = static_cast<double>(slowest->step);
  const double total = static_cast<double>(slowest->total);
  if (total > 0) {
    const double part = std::floor(std::clamp(step / total, 0.0, 1.0) * 100);
    text += fmt::format(R"("progressPercentage": {:.0f}, )", part);
    const double remaining = std::max(total - step, 0.0) * progress.median_seconds;
    constexpr double most = 1e9;
    if (progress.median_seconds > 0) {
      text += fmt::format(R"("estimatedRemainingSeconds": {:.0f}, )", std::min(remaining, most));
    }
  }
  text += R"("metrics": [)" + kubeflow_metric("step", fmt::format("{}", slowest->step));
  for (const auto& [name, value] : metrics) {
    if (name == "step" || !std::isfinite(value)) continue;
    text += ", " + kubeflow_metric(name, fmt::format("{}", value));
  }
  const std::tm when = fmt::gmtime(static_cast<std::time_t>(now_us / 1'000'000));
  return text + fmt::format(R"(], "lastUpdatedTime": "{:%Y-%m-%dT%H:%M:%SZ}"}}}})", when);
}

kubeflow_reporter::kubeflow_reporter(asio::any_io_executor strand, kubeflow_server server,
                                     std::shared_ptr<elastic::time_source> time,
                                     elastic::logger log)
    : server_(std::move(server)),
      time_(std::move(time)),
      log_(std::move(log)),
      monitor_(std::make_shared<elastic::job_monitor>(time_)),
      changed_(std::move(strand)) {}

void kubeflow_reporter::started(const elastic::agent_part::started_workers& job) {
  is_first_node_ = job.group_rank == 0;
  // A worker may have reported before the agent knew that all of them run.
  if (is_first_node_) changed_.set();
}

void kubeflow_reporter::progressed(const elastic::worker_progress& made) {
  monitor_->progressed(made);
  if (made.rank == 0) metrics_ = made.metrics;
  if (is_first_node_) changed_.set();
}

elastic::task<void> kubeflow_reporter::run() {
  for (;;) {
    co_await changed_.wait();
    co_await report(limits::kubeflow_pause);
    co_await time_->sleep_until(elastic::deadline_after(time_->now(), limits::kubeflow_pause));
  }
}

elastic::task<void> kubeflow_reporter::finish() {
  if (was_delivered_ && changed_.is_set()) co_await report(limits::kubeflow_last_report);
}

elastic::task<void> kubeflow_reporter::report(elastic::duration timeout) {
  changed_.reset();
  const auto& job = elastic::detail::internals::core_of(*monitor_);
  const std::shared_ptr<const elastic::detail::job_view> view = job->view();
  std::optional<std::string> status = kubeflow_status(*view, metrics_, job->now_us());
  if (!status) co_return;
  std::string problem;
  try {
    const elastic::time_point deadline = elastic::deadline_after(time_->now(), timeout);
    elastic::task<void> posting = post(std::move(*status));
    const bool is_in_time = co_await elastic::with_deadline(*time_, deadline, std::move(posting));
    if (!is_in_time) problem = "it does not answer";
  } catch (const std::exception& failure) {
    if (detail::is_cancellation(std::current_exception())) {
      changed_.set();
      throw;
    }
    problem = failure.what();
  }
  was_delivered_ = problem.empty();
  if (was_delivered_ || std::exchange(is_problem_logged_, true)) co_return;
  log_.warning("the progress could not be reported to Kubeflow Trainer, and is reported again: {}",
               problem);
}

elastic::task<void> kubeflow_reporter::post(std::string status) {
  detail::http_request request;
  request.method = "POST";
  request.target = server_.target;
  request.headers.emplace_back("Content-Type", "application/json");
  request.headers.emplace_back("Connection", "close");
  if (hanging_read_.use_count() > 1) {
    throw elastic::error(elastic::errc::file_access,
                         "the file system of its token or certificates does not answer");
  }
  std::function<std::string()> reading = [server = server_, counted = hanging_read_] {
    return read_kubeflow_files(server);
  };
  elastic::task<std::string> waiting = detail::run_blocking<std::string>(std::move(reading));
  const std::string token = co_await std::move(waiting);
  if (!token.empty()) request.headers.emplace_back("Authorization", "Bearer " + token);
  request.body = std::move(status);
  auto socket = co_await detail::connect_tcp(server_.address);
  std::unique_ptr<detail::byte_stream> stream;
  if (server_.uses_tls) {
    elastic::detail::tls_options trust;
    trust.authorities = server_.authorities;
    stream =
        co_await detail::greet_by_tls(std::move(socket), server_.address.host, std::move(trust));
  } else {
    stream = std::make_unique<detail::socket_stream>(std::move(socket));
  }
  detail::http_connection connection(std::move(stream), to_text(server_.address));
  const detail::http_response answer = co_await connection.exchange(std::move(request));
  if (answer.status >= 200 && answer.status < 300) co_return;
  constexpr std::size_t shown = 200;
  throw elastic::error(elastic::errc::connection_failed,
                       fmt::format("it answered {}: {}", answer.status,
                                   elastic::printable_text(answer.body.substr(0, shown))));
}

}  // namespace elasticrun
