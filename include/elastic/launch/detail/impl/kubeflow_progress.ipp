// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/kubeflow_progress.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/race.hpp>
#include <elastic/launch/early_exit.hpp>
#include <elastic/net/detail/http_connection.hpp>
#include <elastic/net/detail/tcp_stream.hpp>
#include <elastic/net/detail/tls_stream.hpp>
#include <elastic/net/local_address.hpp>

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

namespace elastic::detail {

/// Neither a blank nor a line end nor anything else that would become another part of a request.
inline bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char letter) { return letter > ' ' && letter < '\x7f'; });
}

/// Errors: `errc::file_access`.
inline std::string read_kubeflow_token(const std::string& path) {
  std::ifstream file(path);
  std::string token(limits::kubeflow_token_bytes, '\0');
  file.read(token.data(), static_cast<std::streamsize>(token.size()));
  token.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (!token.empty() && is_visible(token)) return token;
  throw error(errc::file_access,
              fmt::format("the file {}, which KUBEFLOW_TRAINER_SERVER_TOKEN names, has no token",
                          in_quotes(path)));
}

/// Reads the authorities as well, so that those of a file system that does not answer hang here.
/// Result: the token; empty if none is sent.
/// Errors: `errc::file_access`.
inline std::string read_kubeflow_files(const kubeflow_server& server) {
  if (!server.authorities.empty()) std::ifstream(server.authorities).get();
  return server.token_file.empty() ? std::string() : read_kubeflow_token(server.token_file);
}

inline std::string kubeflow_metric(std::string_view name, const std::string& value) {
  return fmt::format(R"({{"name": {}, "value": {}}})", json_string(name), json_string(value));
}

ELASTIC_DECL std::optional<kubeflow_server> find_kubeflow_server(const environment_map& variables) {
  const std::string url = find_variable(variables, "KUBEFLOW_TRAINER_SERVER_URL").value_or("");
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
    throw error(errc::invalid_argument,
                fmt::format("KUBEFLOW_TRAINER_SERVER_URL is {}: http://HOST[:PORT]/… or https://… "
                            "is needed",
                            in_quotes(url)));
  }
  server.at = parse_endpoint(host, server.uses_tls ? 443 : 80);
  if (slash < url.size()) server.target = url.substr(slash);
  server.authorities = find_variable(variables, "KUBEFLOW_TRAINER_SERVER_CA_CERT").value_or("");
  server.token_file = find_variable(variables, "KUBEFLOW_TRAINER_SERVER_TOKEN").value_or("");
  return server;
}

ELASTIC_DECL bool is_token_exposed(const kubeflow_server& server) {
  return !server.uses_tls && !server.token_file.empty() && !is_loopback(server.at.host);
}

ELASTIC_DECL std::optional<std::string> kubeflow_status(
    const job_view& view, const std::map<std::string, double>& metrics, std::int64_t now_us) {
  const viewed_worker* const slowest = view.slowest();
  if (view.group_rank() != 0 || !slowest) return std::nullopt;
  std::string text = R"({"trainerStatus": {)";
  const double step = static_cast<double>(slowest->step);
  const double total = static_cast<double>(slowest->total);
  if (total > 0) {
    const double part = std::floor(std::clamp(step / total, 0.0, 1.0) * 100);
    text += fmt::format(R"("progressPercentage": {:.0f}, )", part);
    const double median = view.median_step_seconds();
    const double remaining = std::max(total - step, 0.0) * median;
    constexpr double most = 1e9;
    if (median > 0) {
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

ELASTIC_DECL kubeflow_reporter::kubeflow_reporter(asio::any_io_executor strand,
                                                  kubeflow_server server,
                                                  std::shared_ptr<time_source> time, logger log,
                                                  std::shared_ptr<worker_observer> next)
    : server_(std::move(server)),
      time_(std::move(time)),
      log_(std::move(log)),
      monitor_(std::make_shared<job_monitor>(time_, std::move(next))),
      changed_(std::move(strand)) {}

ELASTIC_DECL void kubeflow_reporter::started(const started_workers& job) {
  monitor_->started(job);
  is_first_node_ = job.group_rank == 0;
}

ELASTIC_DECL void kubeflow_reporter::progress(const worker_progress& made) {
  monitor_->progress(made);
  if (made.rank == 0) metrics_ = made.metrics;
  if (is_first_node_) changed_.set();
}

ELASTIC_DECL void kubeflow_reporter::hung(const hung_worker& worker) { monitor_->hung(worker); }

ELASTIC_DECL task<void> kubeflow_reporter::run() {
  for (;;) {
    co_await changed_.wait();
    co_await tell(limits::kubeflow_pause);
    co_await time_->sleep_until(deadline_after(time_->now(), limits::kubeflow_pause));
  }
}

ELASTIC_DECL task<void> kubeflow_reporter::finish() {
  if (was_heard_ && changed_.is_set()) co_await tell(limits::kubeflow_farewell);
}

ELASTIC_DECL task<void> kubeflow_reporter::tell(duration patience) {
  changed_.reset();
  const job_view view = monitor_->view();
  std::optional<std::string> status = kubeflow_status(view, metrics_, monitor_->now_us());
  if (!status) co_return;
  std::string problem;
  try {
    const time_point deadline = deadline_after(time_->now(), patience);
    task<void> posting = post(std::move(*status));
    const bool is_in_time = co_await with_deadline(*time_, deadline, std::move(posting));
    if (!is_in_time) problem = "it does not answer";
  } catch (const std::exception& failure) {
    if (is_cancellation(std::current_exception())) {
      changed_.set();
      throw;
    }
    problem = failure.what();
  }
  was_heard_ = problem.empty();
  if (was_heard_ || std::exchange(is_problem_logged_, true)) co_return;
  log_.warning("Kubeflow Trainer cannot be told how far the job is, which is tried again: {}",
               problem);
}

ELASTIC_DECL task<void> kubeflow_reporter::post(std::string status) {
  http_request request;
  request.method = "POST";
  request.target = server_.target;
  request.headers.emplace_back("Content-Type", "application/json");
  request.headers.emplace_back("Connection", "close");
  if (hanging_read_.use_count() > 1) {
    throw error(errc::file_access, "the file system of its token or certificates does not answer");
  }
  std::function<std::string()> reading = [server = server_, counted = hanging_read_] {
    return read_kubeflow_files(server);
  };
  task<std::string> waiting = run_blocking<std::string>(std::move(reading));
  const std::string token = co_await std::move(waiting);
  if (!token.empty()) request.headers.emplace_back("Authorization", "Bearer " + token);
  request.body = std::move(status);
  auto socket = co_await connect_tcp(server_.at);
  std::unique_ptr<byte_stream> stream;
  if (server_.uses_tls) {
    tls_options trust;
    trust.authorities = server_.authorities;
    stream = co_await greet_by_tls(std::move(socket), server_.at.host, std::move(trust));
  } else {
    stream = std::make_unique<tcp_stream>(std::move(socket));
  }
  http_connection connection(std::move(stream), to_text(server_.at));
  const http_response answer = co_await connection.exchange(std::move(request));
  if (answer.status >= 200 && answer.status < 300) co_return;
  constexpr std::size_t shown = 200;
  throw error(errc::connection_failed, fmt::format("it answered {}: {}", answer.status,
                                                   printable_text(answer.body.substr(0, shown))));
}

}  // namespace elastic::detail
