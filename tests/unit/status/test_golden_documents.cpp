// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What users' programs read from a status server and from a journal, compared with tests/golden:
// the names, the types and the values of fields, without sentences and their order.

#include <elastic/base/version.hpp>
#include <elastic/contract/detail/roles_document.hpp>
#include <elastic/status/detail/command_request.hpp>
#include <elastic/status/detail/job_curves.hpp>
#include <elastic/status/detail/job_document.hpp>
#include <elastic/status/detail/job_view.hpp>
#include <elastic/status/detail/roles_overview.hpp>
#include <elastic/status/detail/status_answer.hpp>
#include <support/catch.hpp>
#include <support/golden_file.hpp>
#include <support/recorded_job.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace golden_documents_tests {

using elastic::job_event;
using elastic::journal_record;
using elastic::detail::answer_of;
using elastic::detail::http_head;
using elastic::detail::job_view;
using elastic::detail::status_answer;
using elastic::detail::viewed_stores;
using elastic::test::check_golden;
using elastic::test::flat_json;
using elastic::test::lines_of;
using elastic::test::recorded_journal;

using view_pointer = std::shared_ptr<const job_view>;

/// A moment of a recorded job: what an agent serves after a record.
struct moment {
  std::string journal;
  journal_record record;
  view_pointer view;
  std::int64_t now_us = 0;

  std::string name() const {
    return fmt::format("{}, epoch {}, record {} ({})", journal, record.epoch, record.sequence,
                       to_string(record.event.kind));
  }
};

/// Those of the fixed journals.
std::vector<moment> all_moments() {
  std::vector<moment> moments;
  elastic::test::follow_recorded_job(
      [&](const journal_record& record, const job_view& view, std::int64_t now_us) {
        moments.push_back({"node0", record, std::make_shared<const job_view>(view), now_us});
      });
  for (const std::string journal : {"stalled", "replaced", "vault"}) {
    job_view view;
    for (const journal_record& record : recorded_journal(journal)) {
      view.take(record);
      moments.push_back({journal, record, std::make_shared<const job_view>(view),
                         record.time_us + 1'500'000});
    }
  }
  return moments;
}

/// The moments whose whole documents are recorded: the end of each journal, a stall, and one at
/// which the other nodes are known.
std::vector<moment> shown_moments() {
  const std::vector<moment> all = all_moments();
  std::vector<moment> shown;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const moment& each = all[at];
    const job_event::type kind = each.record.event.kind;
    const bool is_last = at + 1 == all.size() || all[at + 1].journal != each.journal;
    const bool has_nodes =
        kind == job_event::type::workers_started && each.view->whole().is_known();
    if (is_last || has_nodes || kind == job_event::type::stall_found) shown.push_back(each);
  }
  return shown;
}

http_head get(const std::string& path, const std::string& accept = "") {
  http_head request;
  request.method = "GET";
  request.path = path;
  request.headers["host"] = "localhost:8080";
  if (!accept.empty()) request.headers["accept"] = accept;
  return request;
}

viewed_stores some_stores() {
  viewed_stores stores;
  stores.requests = {{"get", 3}, {"set", 2}};
  stores.keys = 7;
  return stores;
}

elastic::detail::status_source source_of(const moment& at) {
  elastic::detail::job_disclosure disclosure;
  disclosure.launch = {"train.py", {"--lr", "1e-3"}, 2, "ada", "node0", "/logs/job7_x"};
  disclosure.has_secrets = at.journal != "node0";
  elastic::detail::status_source source;
  source.view = source.look = [view = at.view] { return view; };
  source.stores = [] { return std::optional(some_stores()); };
  source.curves = [] { return elastic::detail::job_curves().json(); };
  source.records = [at] { return std::vector{at.record}; };
  source.disclosure = [disclosure] { return disclosure; };
  return source;
}

status_answer answer_at(const moment& at, const http_head& request) {
  return answer_of(request, {}, source_of(at), at.now_us);
}

/// The status and the type of an answer.
std::string head_of(const status_answer& answer) {
  return fmt::format("{} {}{}\n", answer.status, answer.type, answer.is_stream ? ", a stream" : "");
}

std::string flat_body(const status_answer& answer) {
  nlohmann::json document = nlohmann::json::parse(answer.body);
  if (document.contains("version")) document["version"] = "VERSION";
  return flat_json(document);
}

/// The paths of all values with their types: "workers[].pid: number". Numbers that a path has
/// between brackets are left out.
class shapes {
 public:
  void add(const std::string& path, const nlohmann::json& value) {
    if (!value.is_structured()) {
      types_[path].insert(value.type_name());
      return;
    }
    if (value.empty()) types_[path].insert(std::string("empty ") + value.type_name());
    for (const auto& [name, part] : value.items()) {
      const std::string key = path.empty() ? name : "." + name;
      add(path + (value.is_array() ? "[]" : key), part);
    }
  }

  std::string text() const {
    std::string text;
    for (const auto& [path, types] : types_) {
      text += fmt::format("{}: {}\n", path, fmt::join(types, ", "));
    }
    return text;
  }

 private:
  std::map<std::string, std::set<std::string>> types_;
};

TEST_CASE("golden documents: the job at /api/v1", "[status][golden]") {
  shapes fields;
  for (const moment& each : all_moments()) {
    fields.add("", nlohmann::json::parse(answer_at(each, get("/api/v1/job")).body));
  }
  std::string text = "== fields\n" + fields.text();
  for (const moment& each : shown_moments()) {
    const status_answer answer = answer_at(each, get("/api/v1/job"));
    text += fmt::format("\n== {}\n{}{}", each.name(), head_of(answer), flat_body(answer));
  }
  check_golden("golden/api_job.txt", text);
}

/// The samples of a document and the types of their families, sorted; not what they mean.
std::string samples_of(const status_answer& answer) {
  std::vector<std::string> lines = lines_of(answer.body);
  std::erase_if(lines, [](const std::string& line) { return line.starts_with("# HELP "); });
  std::sort(lines.begin(), lines.end());
  return fmt::format("{}{}\n", head_of(answer), fmt::join(lines, "\n"));
}

TEST_CASE("golden documents: the metrics in both formats", "[status][golden]") {
  std::string text;
  std::string open;
  for (const moment& each : shown_moments()) {
    const auto add = [&](std::string& document, const std::string& accept) {
      std::string samples = samples_of(answer_at(each, get("/metrics", accept)));
      const std::string version = fmt::format("version=\"{}\"", elastic::version_text);
      samples.replace(samples.find(version), version.size(), "version=\"VERSION\"");
      document += fmt::format("{}== {}\n{}", document.empty() ? "" : "\n", each.name(), samples);
    };
    add(text, "");
    if (open.empty()) add(open, "application/openmetrics-text");
  }
  check_golden("golden/metrics.txt", text);
  check_golden("golden/open_metrics.txt", open);
}

// ---- the other documents -----------------------------------------------------------------------

/// A trainer as it was at a moment, and a server with replicas that waits for it.
elastic::roles_monitor::snapshot two_roles() {
  elastic::roles_monitor::snapshot roles;
  roles.run_id = "grpo";
  roles.node = "node0";
  roles.began_us = 1'700'000'000'000'000;
  roles.max_restarts = 2;
  elastic::roles_monitor::snapshot::role& trainer = roles.roles.emplace_back();
  trainer.shown.name = "trainer";
  trainer.shown.state = "running";
  trainer.shown.is_ready = true;
  trainer.shown.epoch = 2;
  trainer.shown.workers = {{0, 0, "node0", "10.0.0.1", {}}};
  trainer.on_failure = "restart-role";
  elastic::roles_monitor::snapshot::role& server = roles.roles.emplace_back();
  server.shown.name = "server";
  server.shown.workers = {{0, 0, "node0", "10.0.0.1", {{"http", 40123}}}};
  server.reason = "it waits for trainer";
  server.on_failure = "restart-worker";
  server.starts_after = {"trainer:ready"};
  server.stops_with = "trainer";
  server.has_world = false;
  return roles;
}

status_answer answer_of_roles(const moment& trainer, const http_head& request) {
  elastic::detail::roles_source source;
  source.view = [] {
    return std::make_shared<const elastic::roles_monitor::snapshot>(two_roles());
  };
  source.roles = {{"trainer", source_of(trainer)},
                  {"server", source_of({"", {}, std::make_shared<const job_view>(), 0})}};
  return answer_of(request, {}, source, trainer.now_us);
}

/// The names of metrics with their labels and types, without values: "elastic_nodes{state} gauge".
std::string families_of(const status_answer& answer) {
  std::map<std::string, std::string> types;
  std::set<std::string> families;
  for (const std::string& line : lines_of(answer.body)) {
    if (line.starts_with("# TYPE ")) {
      const std::size_t space = line.rfind(' ');
      types[line.substr(7, space - 7)] = line.substr(space + 1);
    }
    if (line.starts_with("#")) continue;
    const std::size_t brace = std::min(line.find('{'), line.find(' '));
    std::string labels;
    for (std::size_t at = brace; (at = line.find("=\"", at)) != std::string::npos; ++at) {
      const std::size_t begin = line.find_last_of("{,", at) + 1;
      labels += (labels.empty() ? "" : ",") + line.substr(begin, at - begin);
    }
    families.insert(fmt::format("{}{{{}}}", line.substr(0, brace), labels));
  }
  std::string text;
  for (const auto& [name, type] : types) text += fmt::format("{} {}\n", name, type);
  return fmt::format("{}{}\n", text, fmt::join(families, "\n"));
}

/// Events as a server sends them, with the values of their data one a line.
std::string flat_events(const std::string& events) {
  std::string text;
  for (const std::string& line : lines_of(events)) {
    const bool is_data = line.starts_with("data: ");
    text += is_data ? flat_json(nlohmann::json::parse(line.substr(6))) : line + "\n";
  }
  return text;
}

TEST_CASE("golden documents: what else a status server answers", "[status][golden]") {
  const moment at = shown_moments().front();
  std::string text;
  const auto add = [&](const std::string& title, const std::string& content) {
    text += fmt::format("{}== {}\n{}", text.empty() ? "" : "\n", title, content);
  };
  for (const std::string path : {"/", "/livez", "/readyz", "/api/v1/curves", "/api/v1/journal",
                                 "/api/v1/events", "/api/v1/none", "/api/v1/ranks/0/output",
                                 "/roles/trainer/api/v1/job"}) {
    add(path, head_of(answer_at(at, get(path))));
  }
  http_head post = get("/api/v1/job");
  post.method = "POST";
  add("POST /api/v1/job", head_of(answer_at(at, post)));
  elastic::detail::event_cursor cursor;
  add("records of /api/v1/events",
      flat_events(elastic::detail::events_text({at.record}, at.record.epoch, cursor)));
  add("progress of /api/v1/events",
      flat_json(nlohmann::json::parse(
          elastic::detail::progress_json(*at.view, at.now_us - 3'000'000, at.now_us))));
  add("the output of a rank",
      flat_json(nlohmann::json::parse(
          elastic::detail::output_json(3, {{"stderr", "/logs/stderr.log", {"one", "two"}}}))));
  for (const bool is_done : {true, false}) {
    const status_answer answer = elastic::detail::command_answer(get(""), {is_done, "a sentence"});
    add(is_done ? "a command that is done" : "a command that is not done",
        head_of(answer) + flat_json(nlohmann::json::parse(answer.body)));
  }
  for (const std::string path : {"/", "/livez", "/readyz", "/api/v1/events", "/roles/trainer",
                                 "/roles/none/", "/roles/trainer/api/v1/job",
                                 "/roles/trainer/api/v1/ranks/0/output"}) {
    add("of roles: " + path, head_of(answer_of_roles(at, get(path))));
  }
  const status_answer overview = answer_of_roles(at, get("/api/v1/job"));
  add("of roles: /api/v1/job", head_of(overview) + flat_body(overview));
  add("of roles: /metrics", families_of(answer_of_roles(at, get("/metrics"))));
  check_golden("golden/api_others.txt", text);
}

// ---- the journal -------------------------------------------------------------------------------

TEST_CASE("golden documents: the fields of each kind of record", "[status][golden]") {
  std::map<std::string, shapes> kinds;
  for (const std::string journal : {"node0", "node1", "stalled", "replaced", "vault"}) {
    for (const journal_record& record : recorded_journal(journal)) {
      kinds[std::string(to_string(record.event.kind))].add(
          "", nlohmann::json::parse(to_json_line(record)));
    }
  }
  std::string text;
  for (const auto& [kind, fields] : kinds) {
    text += fmt::format("{}== {}\n{}", text.empty() ? "" : "\n", kind, fields.text());
  }
  check_golden("golden/journal_records.txt", text);
}

// ---- the comparison itself ---------------------------------------------------------------------

TEST_CASE("golden files: a difference shows the lines that differ", "[status][golden]") {
  using elastic::test::difference_of;
  CHECK(difference_of("a\nb\n", "a\nb\n") == "");
  CHECK(difference_of("a\nb\nc\n", "a\nB\nc\n") == "-    2: b\n+    2: B\n");
  CHECK(difference_of("a\n", "a\na\n") == "+    2: a\n");
  CHECK(difference_of("a\nb\na\n", "a\na\na\n") == "-    2: b\n+    2: a\n");
  CHECK(difference_of("", "a\n") == "+    1: a\n");
  CHECK_FALSE(difference_of("a\nb\n", "b\na\n").empty());
  CHECK_FALSE(difference_of("a\n", "a").empty());
}

}  // namespace golden_documents_tests
