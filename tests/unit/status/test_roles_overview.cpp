// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What is shown of a job of several roles: its document, its metrics, and which path leads to what.

#include <elastic/base/detail/internals.hpp>
#include <elastic/status/detail/embedded.hpp>
#include <elastic/status/detail/job_document.hpp>
#include <elastic/status/detail/job_monitor_core.hpp>
#include <elastic/status/detail/roles_overview.hpp>
#include <elastic/status/detail/status_answer.hpp>
#include <elastic/status/roles_monitor.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <support/catch.hpp>
#include <support/journal_story.hpp>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace roles_overview_tests {

using elastic::detail::answer_of;
using elastic::detail::http_head;
using elastic::detail::job_view;
using elastic::detail::metrics_format;
using elastic::detail::role_views;
using elastic::job_roles;
using elastic::detail::roles_source;
using elastic::detail::status_answer;
using elastic::detail::status_gate;
using roles_snapshot = elastic::roles_monitor::snapshot;
using elastic::test::contains_text;
using elastic::test::journal_story;

/// A trainer whose worker has failed once, and a rollout that waits.
struct two_roles {
  two_roles() {
    roles.run_id = "grpo";
    roles.node = "node0";
    roles_snapshot::role& trainer = roles.roles.emplace_back();
    trainer.shown.name = "trainer";
    trainer.shown.state = "running";
    trainer.shown.is_ready = true;
    trainer.shown.epoch = 2;
    trainer.shown.workers = {{0, 0, "node0", "10.0.0.1", {}}, {1, 1, "node0", "10.0.0.1", {}}};
    trainer.on_failure = "restart-role";
    roles_snapshot::role& rollout = roles.roles.emplace_back();
    rollout.shown.name = "rollout";
    rollout.on_failure = "restart-worker";
    rollout.starts_after = {"trainer:ready"};
    rollout.stops_with = "trainer";
    rollout.has_world = false;
    journal_story story;
    story.begin().start(1, 2).wait(10).end_worker(1, 3).restart(1).start(2, 2, 1).wait(4);
    now_us = story.now_us;
    views = {std::make_shared<const job_view>(elastic::test::view_of(story.records)),
             std::make_shared<const job_view>()};
  }

  void start_rollout(std::vector<job_roles::worker> workers) {
    roles.roles[1].shown.state = "running";
    roles.roles[1].shown.workers = std::move(workers);
  }

  roles_snapshot roles;
  role_views views;
  std::int64_t now_us = 0;
};

nlohmann::json overview(const two_roles& job) {
  return nlohmann::json::parse(elastic::detail::overview_json(job.roles, job.views, job.now_us));
}

TEST_CASE("roles overview: each role has its state, its policy and its workers", "[status]") {
  two_roles job;
  job.start_rollout({{0, 0, "node0", "127.0.0.1", {{"http", 40123}}}});
  const nlohmann::json shown = overview(job);
  CHECK(shown["run_id"] == "grpo");
  CHECK(shown["state"] == "running");
  REQUIRE(shown["roles"].size() == 2);
  const nlohmann::json& trainer = shown["roles"][0];
  CHECK(trainer["name"] == "trainer");
  CHECK(trainer["path"] == "/roles/trainer/");
  CHECK(trainer["ready"] == true);
  CHECK(trainer["on_failure"] == "restart-role");
  CHECK(trainer["epoch"] == 2);
  CHECK(trainer["activity"] == "running");
  CHECK(trainer["restarts"] == 1);
  CHECK(trainer["max_restarts"] == 3);
  CHECK(trainer["worker_count"] == 2);
  const nlohmann::json& rollout = shown["roles"][1];
  CHECK(rollout["replicas"] == true);
  CHECK(rollout["starts_after"] == nlohmann::json{"trainer:ready"});
  CHECK(rollout["stops_with"] == "trainer");
  CHECK_FALSE(rollout.contains("epoch"));
  CHECK(rollout["workers"][0]["ports"]["http"] == 40123);
}

TEST_CASE("roles overview: is bounded, however many workers other nodes tell of", "[status]") {
  two_roles job;
  constexpr int count = 60000;
  std::vector<job_roles::worker> workers(count);
  for (job_roles::worker& each : workers) each.node = std::string(120, '\x01');
  job.start_rollout(std::move(workers));
  const std::string text = elastic::detail::overview_json(job.roles, job.views, job.now_us);
  CHECK(text.size() < elastic::limits::status_answer_bytes);
  const nlohmann::json rollout = nlohmann::json::parse(text)["roles"][1];
  CHECK(rollout["worker_count"] == count);
  CHECK(rollout["workers"].size() < count);
  CHECK(rollout["workers"].size() > 0);
}

TEST_CASE("roles overview: a terminal shows what is hostile as text", "[status]") {
  two_roles job;
  job.start_rollout({{0, 0, "\x1b[2Jnode", "127.0.0.1", {{"http", 40123}}}});
  CHECK(elastic::detail::overview_text(job.roles, job.views) ==
        "job grpo  running\n"
        "roles\n"
        "  trainer  running, ready  restart-role  restarts 1 of 3  2 workers\n"
        "           rank 0 on node0 (10.0.0.1)\n"
        "           rank 1 on node0 (10.0.0.1)\n"
        "  rollout  running, starting  restart-worker  1 replica\n"
        "           rank 0 on \\x1b[2Jnode (127.0.0.1), http 40123\n");
}

TEST_CASE("roles overview: the job is ready while the workers of all roles that run do",
          "[status]") {
  two_roles job;
  CHECK(why_not_ready(job.roles, job.views).empty());
  job.start_rollout({});
  CHECK(why_not_ready(job.roles, job.views) == "rollout: starting");
  job.roles.roles[1].shown.state = "succeeded";
  CHECK(why_not_ready(job.roles, job.views).empty());
  job.roles.roles[0].shown.state = "waiting";
  CHECK(why_not_ready(job.roles, job.views) == "no role runs");
  job.roles.state = "stopping";
  CHECK(why_not_ready(job.roles, job.views) == "stopping");
}

// ---- metrics ------------------------------------------------------------------------------------

/// The samples of a text that keeps to the rules of its format: each family once, with its help and
/// its type before all of its samples; no sample twice. Each line is one.
std::set<std::string> samples_of(const std::string& text, bool is_open) {
  std::set<std::string> samples;
  std::set<std::string> families;
  std::string family;
  std::string kind;
  std::istringstream lines(text);
  bool has_ended = false;
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    REQUIRE_FALSE(has_ended);
    if (line == "# EOF") {
      has_ended = true;
      continue;
    }
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      REQUIRE(families.insert(family).second);
      std::string type;
      REQUIRE(std::getline(lines, type));
      REQUIRE(type.starts_with("# TYPE " + family + " "));
      kind = type.substr(type.rfind(' ') + 1);
      continue;
    }
    const std::size_t end = line.find_first_of("{ ");
    std::string name = line.substr(0, end);
    const auto drop = [&name](std::string_view suffix) {
      if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
    };
    if (kind == "histogram") {
      for (const char* suffix : {"_bucket", "_sum", "_count"}) drop(suffix);
    }
    if (is_open && kind == "counter") drop("_total");
    if (is_open && kind == "info") drop("_info");
    REQUIRE(name == family);
    const std::size_t value = line.rfind(' ');
    REQUIRE_NOTHROW(std::stod(line.substr(value + 1)));
    const std::string labels = line.substr(end, value - end);
    std::set<std::string> label_names;
    for (std::size_t at = labels.empty() ? labels.npos : 1; at < labels.size();) {
      const std::size_t equals = labels.find("=\"", at);
      REQUIRE(equals != labels.npos);
      REQUIRE(label_names.insert(labels.substr(at, equals - at)).second);
      const std::size_t quote = labels.find('"', equals + 2);
      REQUIRE(quote != labels.npos);
      at = quote + 2;
    }
    REQUIRE(samples.insert(line.substr(0, value)).second);
  }
  REQUIRE(has_ended == is_open);
  return samples;
}

std::string metrics_of(const two_roles& job, metrics_format format) {
  std::vector<elastic::detail::role_metrics> roles;
  for (std::size_t at = 0; at < job.views.size(); ++at) {
    roles.push_back({job.roles.roles[at].shown.name, job.roles.roles[at].shown.state,
                     job.views[at],
                     elastic::detail::viewed_stores{{{"get", 7}}, 3}});
  }
  return elastic::detail::metrics_text(roles, format, job.now_us);
}

TEST_CASE("roles metrics: each sample has its role, each family is there once", "[status]") {
  const two_roles job;
  for (const auto format : {metrics_format::text, metrics_format::openmetrics}) {
    const std::string text = metrics_of(job, format);
    const std::set<std::string> samples = samples_of(text, format == metrics_format::openmetrics);
    for (const std::string& each : samples) {
      INFO(each);
      CHECK((each.find("role=\"trainer\"") != each.npos) !=
            (each.find("role=\"rollout\"") != each.npos));
    }
    for (const char* line :
         {R"(elastic_job_state{role="trainer",state="running"} 1)",
          R"(elastic_job_state{role="rollout",state="running"} 0)",
          R"(elastic_role_state{role="rollout",state="waiting"} 1)",
          R"(elastic_round{role="trainer"} 2)",
          R"(elastic_restarts_total{role="trainer",cause="failure"} 1)",
          R"(elastic_stop_duration_seconds_bucket{role="trainer",le="+Inf"} 1)",
          R"(elastic_stop_duration_seconds_count{role="rollout"} 0)",
          R"(elastic_store_requests_total{role="rollout",op="get"} 7)",
          R"(elastic_job_info{run_id="",role="rollout",backend="",version="0.1.0"} 1)"}) {
      CHECK_THAT(text, contains_text(fmt::format("\n{}\n", line)));
    }
  }
}

TEST_CASE("roles metrics: their names are those of a job without roles, and one more", "[status]") {
  const two_roles job;
  const auto names = [](const std::string& text) {
    std::set<std::string> found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("# TYPE ")) found.insert(line);
    }
    return found;
  };
  const auto stores = elastic::detail::viewed_stores{{{"get", 7}}, 3};
  std::set<std::string> expected =
      names(elastic::detail::metrics_text(*job.views[0], metrics_format::text, job.now_us, stores));
  samples_of(elastic::detail::metrics_text(*job.views[0], metrics_format::text, job.now_us, stores),
             false);
  expected.insert("# TYPE elastic_role_state gauge");
  CHECK(names(metrics_of(job, metrics_format::text)) == expected);
}

// ---- paths --------------------------------------------------------------------------------------

http_head get(const std::string& target, const std::string& header = {},
                      const std::string& value = {}) {
  http_head request;
  request.method = "GET";
  request.path = target.substr(0, target.find('?'));
  if (target.find('?') != target.npos) request.query = target.substr(target.find('?') + 1);
  request.headers["host"] = "localhost";
  if (!header.empty()) request.headers[header] = value;
  return request;
}

roles_source source_of(const two_roles& job) {
  roles_source source;
  source.view = [roles = job.roles] { return std::make_shared<const roles_snapshot>(roles); };
  for (std::size_t at = 0; at < job.views.size(); ++at) {
    roles_source::entry& entry = source.roles.emplace_back();
    entry.name = job.roles.roles[at].shown.name;
    entry.source.view = entry.source.look = [view = job.views[at]] { return view; };
    entry.source.stores = []() -> std::optional<elastic::detail::viewed_stores> { return {}; };
    entry.source.curves = [] { return std::string(); };
    entry.source.records = [] { return std::vector<elastic::journal_record>(); };
    entry.source.disclosure = [] { return elastic::detail::job_disclosure(); };
  }
  return source;
}

TEST_CASE("roles status: each role has the paths of a job below its own", "[status]") {
  const two_roles job;
  const status_gate gate;
  const auto answer = [&](const http_head& request) {
    return answer_of(request, gate, source_of(job), job.now_us);
  };
  CHECK(answer(get("/")).body == elastic::detail::roles_html);
  CHECK(answer(get("/page.css")).body == elastic::detail::page_css);
  const std::string head = elastic::detail::common_js;
  CHECK(answer(get("/roles.js")).body == head + elastic::detail::roles_js);
  CHECK(answer(get("/roles/trainer/page.js")).body == head + elastic::detail::page_js);
  const std::string page = answer(get("/roles/trainer/")).body;
  CHECK_THAT(page, contains_text("<a href=\"../../\">all roles</a></nav>\n<header>"));
  CHECK(answer(get("/roles/trainer/api/v1/job")).body ==
        elastic::detail::job_json(*job.views[0], job.now_us));
  CHECK(answer(get("/roles/trainer/metrics")).body ==
        elastic::detail::metrics_text(*job.views[0], metrics_format::text, job.now_us));
  CHECK(answer(get("/roles/trainer")).status == 303);
  CHECK(answer(get("/roles/trainer")).headers.front().second == "/roles/trainer/");
  const status_answer events = answer(get("/roles/rollout/api/v1/events"));
  CHECK(events.is_stream);
  CHECK(events.role == 1);
  CHECK(answer(get("/api/v1/events")).is_stream);
  CHECK_FALSE(answer(get("/api/v1/events")).role);
  const status_answer output = answer(get("/roles/rollout/api/v1/ranks/3/output"));
  CHECK(output.output_of_rank == 3);
  CHECK(output.role == 1);
  CHECK(answer(get("/api/v1/ranks/3/output")).status == 404);
  CHECK(answer(get("/api/v1/job")).type == "application/json");
  CHECK(answer(get("/api/v1/job", "accept", "text/plain")).body ==
        elastic::detail::overview_text(job.roles, job.views));
  CHECK(answer(get("/livez")).body == "ok\n");
  CHECK(answer(get("/readyz")).status == 200);
  CHECK(answer(get("/roles/rollout/readyz")).status == 503);
}

TEST_CASE("roles status: a role that is not there is none, however it is written", "[status]") {
  const two_roles job;
  for (const std::string& name :
       {std::string("judge"), std::string("train"), std::string("trainer%2f"),
        std::string("%74rainer"), std::string("Trainer"), std::string("..%2ftrainer"),
        std::string(".."), std::string(), std::string("trainer%00"), std::string("trainer\x01"),
        std::string(7000, 'a')}) {
    CAPTURE(name.substr(0, 40));
    for (const char* rest : {"/", "", "/api/v1/job", "/metrics", "/api/v1/events", "/readyz"}) {
      const status_answer answer =
          answer_of(get("/roles/" + name + rest), {}, source_of(job), job.now_us);
      CHECK(answer.status == 404);
      CHECK(answer.body == "there is no such role: the job has trainer, rollout\n");
    }
  }
  CHECK(answer_of(get("/roles"), {}, source_of(job), 0).status == 404);
  CHECK(answer_of(get("/roles/trainer//"), {}, source_of(job), 0).status == 404);
  CHECK(answer_of(get("/roles/trainer/roles/trainer/"), {}, source_of(job), 0).status == 404);
}

TEST_CASE("roles status: who asks for the output of all roles learns how to name one", "[status]") {
  const two_roles job;
  const status_answer answer = answer_of(get("/api/v1/output"), {}, source_of(job), job.now_us);
  CHECK(answer.status == 400);
  CHECK(answer.body == "the job has the roles trainer, rollout: name one by --role, or ask for "
                       "/roles/NAME/api/v1/output\n");
}

TEST_CASE("roles status: who may not look learns no name", "[status]") {
  const two_roles job;
  status_gate gate;
  gate.token = "0123456789abcdef";
  gate.session = "fedcba9876543210";
  for (const char* path : {"/roles/trainer/", "/roles/judge/", "/roles/trainer/readyz", "/",
                           "/roles/trainer", "/api/v1/job"}) {
    const status_answer answer = answer_of(get(path), gate, source_of(job), 0);
    CHECK(answer.status == 401);
    CHECK(answer.body.find("trainer") == std::string::npos);
  }
  CHECK(answer_of(get("/readyz"), gate, source_of(job), 0).status == 200);
  const status_answer let_in =
      answer_of(get("/roles/trainer/?token=" + gate.token), gate, source_of(job), 0);
  CHECK(let_in.status == 303);
  CHECK(let_in.headers.front().second == "/roles/trainer/");
  CHECK(answer_of(get("/roles/judge/?token=" + gate.token), gate, source_of(job), 0).status == 404);
  const status_answer linked =
      answer_of(get("/roles/trainer/", "sec-fetch-site", "cross-site"), {}, source_of(job), 0);
  CHECK(linked.status == 403);
}

TEST_CASE("roles page: is small, and takes nothing from outside", "[status]") {
  const std::string html = elastic::detail::roles_html;
  const std::string js =
      std::string(elastic::detail::common_js) + elastic::detail::roles_js;
  const std::string css = elastic::detail::roles_css;
  CHECK(html.size() + js.size() + css.size() < 12 * 1024);
  for (const std::string& text : {html, js, css}) {
    CHECK(text.find("://") == std::string::npos);
    CHECK(text.find("innerHTML") == std::string::npos);
    CHECK(text.find("style=") == std::string::npos);
    CHECK(text.find("eval(") == std::string::npos);
  }
}

// ---- the monitor --------------------------------------------------------------------------------

TEST_CASE("roles monitor: a role that starts again has another journal and the same view",
          "[status]") {
  elastic::roles_monitor monitor(two_roles().roles);
  int calls = 0;
  monitor.on_change([&] { ++calls; });
  CHECK(monitor.size() == 2);
  CHECK(monitor.find("rollout") == 1);
  CHECK_FALSE(monitor.find("judge"));
  CHECK(monitor.journal(1) == nullptr);
  elastic::job_event event;
  event.kind = elastic::job_event::type::agent_started;
  for (const char* run : {"grpo/rollout", "grpo/rollout_1"}) {
    const auto journal = std::make_shared<elastic::job_journal>(elastic::job_journal::options());
    monitor.begin(1, journal);
    CHECK(monitor.journal(1) == journal);
    event.run_id = run;
    journal->record(event);
    CHECK(elastic::detail::internals::core_of(*monitor.monitor(1))->view()->job().run_id() == run);
  }
  CHECK(calls == 2);
  CHECK(monitor.changes() == 2);
  monitor.change({});
  CHECK(calls == 3);
  CHECK(monitor.view()->roles.empty());
}

}  // namespace roles_overview_tests
