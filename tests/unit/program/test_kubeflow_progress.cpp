// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <program/progress/kubeflow_progress.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/time.hpp>
#include <elastic/status/detail/job_view.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/journal_story.hpp>
#include <support/log_recorder.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace kubeflow_progress_tests {

using elastic::worker_progress;
using elastic::detail::job_view;
using elastic::test::journal_story;
using elasticrun::find_kubeflow_server;
using elasticrun::kubeflow_server;
using elasticrun::kubeflow_status;

std::optional<kubeflow_server> server_of(const std::string& url) {
  return find_kubeflow_server({{"KUBEFLOW_TRAINER_SERVER_URL", url}});
}

TEST_CASE("kubeflow: where it wants to be told", "[program]") {
  CHECK_FALSE(find_kubeflow_server({}));
  CHECK_FALSE(server_of(""));
  struct row {
    const char* url;
    const char* host;
    int port;
    bool uses_tls;
    const char* target;
  };
  const row rows[] = {
      {"https://trainer.kubeflow:8082/apis/v1/status?x=1", "trainer.kubeflow", 8082, true,
       "/apis/v1/status?x=1"},
      {"https://trainer", "trainer", 443, true, "/"},
      {"http://[::1]/a", "::1", 80, false, "/a"},
  };
  for (const row& entry : rows) {
    CAPTURE(entry.url);
    const auto server = server_of(entry.url);
    REQUIRE(server);
    CHECK(server->address.host == entry.host);
    CHECK(server->address.port == entry.port);
    CHECK(server->uses_tls == entry.uses_tls);
    CHECK(server->target == entry.target);
  }
  for (const char* url : {"trainer", "ftp://trainer/", "https://", "https:///a", "http", "http:/",
                          "https://user@trainer/", "https://trainer/a b",
                          "https://trainer/\r\nHost: x", "https://trainer:port/"}) {
    CAPTURE(url);
    CHECK_THROWS_AS(server_of(url), elastic::error);
  }
}

TEST_CASE("kubeflow: a token that goes over the network by http is exposed", "[program]") {
  struct row {
    const char* url;
    const char* token_file;
    bool is_exposed;
  };
  const row rows[] = {
      {"http://trainer/a", "/run/token", true},
      {"http://trainer/a", "", false},
      {"https://trainer/a", "/run/token", false},
      {"http://127.0.0.1:8080/a", "/run/token", false},
      {"http://localhost:8080/a", "/run/token", false},
  };
  for (const row& entry : rows) {
    CAPTURE(entry.url, entry.token_file);
    elastic::environment_map variables{{"KUBEFLOW_TRAINER_SERVER_URL", entry.url},
                                       {"KUBEFLOW_TRAINER_SERVER_TOKEN", entry.token_file}};
    CHECK(elasticrun::is_token_exposed(*find_kubeflow_server(variables)) == entry.is_exposed);
  }
}

job_view view_at(std::int64_t step, std::int64_t total) {
  journal_story story;
  story.begin().start(0, 2);
  job_view view = elastic::test::view_of(story.records);
  worker_progress progress;
  progress.step = step;
  progress.total = total;
  view.take(progress, story.now_us);
  return view;
}

TEST_CASE("kubeflow: what it is told", "[program]") {
  const auto status = [](const job_view& view) {
    const std::string text =
        kubeflow_status(view, {{"a\"b", 0.25}, {"nan", std::numeric_limits<double>::quiet_NaN()}},
                        1'700'000'000'000'000)
            .value();
    return nlohmann::json::parse(text)["trainerStatus"];
  };
  job_view view = view_at(100, 300);
  CHECK(status(view) == nlohmann::json::parse(R"({"progressPercentage": 33,
      "metrics": [{"name": "step", "value": "100"}, {"name": "a\"b", "value": "0.25"}],
      "lastUpdatedTime": "2023-11-14T22:13:20Z"})"));
  worker_progress progress;
  progress.step = 110;
  progress.total = 300;
  view.take(progress, journal_story().now_us + 23'000'000);
  CHECK(status(view)["estimatedRemainingSeconds"].get<double>() > 0);
  // How far it is, is known only if it says how far it goes.
  CHECK_FALSE(status(view_at(100, 0)).contains("progressPercentage"));
  CHECK(status(view_at(400, 300))["progressPercentage"] == 100);
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  CHECK(status(view_at(largest, largest))["progressPercentage"] == 100);
}

TEST_CASE("kubeflow: only the first node tells it, and only of steps", "[program]") {
  CHECK_FALSE(kubeflow_status(job_view(), {}, 0));
  journal_story story;
  story.begin().start(0, 2);
  CHECK_FALSE(kubeflow_status(elastic::test::view_of(story.records), {}, 0));
  for (auto& record : story.records) {
    if (record.event.group_rank) record.event.group_rank = 1;
  }
  job_view view = elastic::test::view_of(story.records);
  view.take(worker_progress(), story.now_us);
  CHECK_FALSE(kubeflow_status(view, {}, 0));
}

elastic::task<void> accept_one(std::shared_ptr<asio::ip::tcp::acceptor> server) {
  co_await server->async_accept(asio::use_awaitable);
}

CO_TEST("kubeflow: it is told what a worker reported before all of them ran", "[program]") {
  const auto executor = co_await asio::this_coro::executor;
  const auto server = std::make_shared<asio::ip::tcp::acceptor>(
      executor, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  const kubeflow_server place{.address = {"127.0.0.1", server->local_endpoint().port()},
                              .uses_tls = false};
  elastic::test::log_recorder log;
  elasticrun::kubeflow_reporter reporter(executor, place, std::make_shared<elastic::system_time>(),
                                         log.log());
  journal_story story;
  story.begin().start(0, 2);
  for (const auto& record : story.records) reporter.monitor()->take(record);
  worker_progress made;
  made.step = 3;
  reporter.progressed(made);
  reporter.started({.world_size = 2, .group_world_size = 1});
  elastic::task<void> reporting = reporter.run();
  co_await elastic::race(std::move(reporting), accept_one(server));
}

}  // namespace kubeflow_progress_tests
