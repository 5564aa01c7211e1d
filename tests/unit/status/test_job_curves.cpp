// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/status/detail/job_curves.hpp>

#include <elastic/base/limits.hpp>

#include <support/catch.hpp>
#include <support/journal_story.hpp>

#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace job_curves_tests {

using elastic::job_event;
using elastic::worker_progress;
using elastic::detail::curve;
using elastic::detail::job_curves;
using elastic::test::contains_text;
using elastic::test::journal_story;
using type = job_event::type;

constexpr std::int64_t second = 1'000'000;
// A whole number of the longest spans of these tests.
constexpr std::int64_t start = std::int64_t{1'700'000} * 1024 * second;

/// [time in seconds since the start, step, mean] of each point.
nlohmann::json points_of(const curve& values) {
  nlohmann::json points = nlohmann::json::array();
  for (const curve::point& each : values.points()) {
    points.push_back({(each.begin_us - start) / second, each.step,
                      each.sum / static_cast<double>(each.count)});
  }
  return points;
}

worker_progress report(int rank, std::int64_t step, std::map<std::string, double> metrics) {
  worker_progress made;
  made.rank = made.local_rank = rank;
  made.step = step;
  made.metrics = std::move(metrics);
  return made;
}

nlohmann::json document_of(const job_curves& curves) {
  return nlohmann::json::parse(curves.json());
}

TEST_CASE("curve: values of one second become their mean", "[status]") {
  curve values;
  values.add(1, 10, start);
  values.add(3, 11, start + second / 2);
  values.add(5, 12, start + second);
  CHECK(points_of(values) == nlohmann::json({{0, 11, 2.0}, {1, 12, 5.0}}));
}

TEST_CASE("curve: when it is full, its spans become twice as long", "[status]") {
  curve values;
  const auto most = static_cast<std::int64_t>(elastic::limits::curve_points);
  for (std::int64_t at = 0; at <= most; ++at) {
    values.add(static_cast<double>(at), at, start + at * second);
  }
  CHECK(values.span_us() == 2 * second);
  REQUIRE(values.points().size() == elastic::limits::curve_points / 2 + 1);
  CHECK(points_of(values)[1] == nlohmann::json({2, 3, 2.5}));
  CHECK(points_of(values).back() == nlohmann::json({most, most, static_cast<double>(most)}));
}

TEST_CASE("curve: weeks take as much memory as minutes", "[status]") {
  curve values;
  constexpr std::int64_t weeks = 3 * 7 * 24 * 3600;
  for (std::int64_t at = 0; at < weeks; at += 60) values.add(1, at, start + at * second);
  CHECK(values.points().size() <= elastic::limits::curve_points);
  CHECK(values.points().front().begin_us == start);
  for (const nlohmann::json& point : points_of(values)) CHECK(point[2] == 1.0);
}

TEST_CASE("curve: what is no number is left out, and an earlier time is the last one", "[status]") {
  curve values;
  values.add(std::numeric_limits<double>::quiet_NaN(), 1, start);
  values.add(std::numeric_limits<double>::infinity(), 1, start);
  CHECK(values.points().empty());
  values.add(1, 1, start + 100 * second);
  values.add(3, 2, start);
  CHECK(points_of(values) == nlohmann::json({{100, 2, 2.0}}));
}

TEST_CASE("job curves: steps of all workers, and metrics of the lowest rank", "[status]") {
  job_curves curves;
  curves.take(report(1, 7, {{"loss", 9}}), 0.2, start);
  curves.take(report(0, 7, {{"loss", 1}}), 0.4, start + second);
  curves.take(report(1, 8, {{"loss", 9}, {"accuracy", 0.5}}), 0, start + 2 * second);
  const nlohmann::json shown = document_of(curves)["curves"];
  REQUIRE(shown.size() == 3);
  CHECK(shown[0]["name"] == "step_seconds");
  CHECK(shown[0]["points"] == nlohmann::json({{start, 7, 0.2}, {start + second, 7, 0.4}}));
  CHECK(shown[1]["name"] == "accuracy");
  CHECK(shown[1]["points"] == nlohmann::json({{start + 2 * second, 8, 0.5}}));
  CHECK(shown[2]["name"] == "loss");
  CHECK(shown[2]["points"] == nlohmann::json({{start, 7, 9.0}, {start + second, 7, 1.0}}));
}

TEST_CASE("job curves: another rank may report a metric in the next attempt", "[status]") {
  job_curves curves;
  curves.take(report(0, 1, {{"loss", 1}}), 0, start);
  journal_story story;
  story.begin().start(0, 2);
  for (const elastic::journal_record& each : story.records) curves.take(each);
  curves.take(report(1, 1, {{"loss", 2}}), 0, start + second);
  CHECK(document_of(curves)["curves"][0]["points"].size() == 2);
}

TEST_CASE("job curves: failures, replacements and stalls are marked", "[status]") {
  job_curves curves;
  journal_story story;
  story.begin().start(0, 2);
  job_event failed = journal_story::of(type::round_ended, "rank 1 ended: exit code 1");
  failed.state = "worker_failed";
  job_event joined = journal_story::of(type::round_ended, "node b waits to join");
  joined.state = "node_waiting";
  story.tell(failed).tell(joined).tell(journal_story::of(type::ranks_replaced));
  story.tell(journal_story::of(type::stall_found, "rank 1 sleeps"));
  for (const elastic::journal_record& each : story.records) curves.take(each);
  const nlohmann::json marks = document_of(curves)["marks"];
  std::vector<std::string> kinds;
  for (const nlohmann::json& mark : marks) kinds.push_back(mark["kind"]);
  CHECK(kinds == std::vector<std::string>{"failure", "membership", "replacement", "stall"});
  CHECK_THAT(marks[0]["text"].get<std::string>(), contains_text("rank 1 ended"));
}

TEST_CASE("job curves: they are bounded, whatever workers and the job do", "[status]") {
  job_curves curves;
  constexpr double most = std::numeric_limits<double>::max();
  for (int round = 0; round < 200; ++round) {
    const std::string name = "\"\\\n\x1b<b>" + std::to_string(round);
    curves.take(report(0, round, {{name, most}, {"sum", most}}), most, start);
    elastic::journal_record record;
    record.event = journal_story::of(type::stall_found, name);
    curves.take(record);
  }
  const nlohmann::json shown = document_of(curves);
  CHECK(shown["curves"].size() == elastic::limits::control_metrics + 1);
  CHECK(shown["marks"].size() == elastic::limits::curve_marks);
  // The sum of the largest numbers has no mean.
  CHECK(shown["curves"][0]["points"].empty());
}

}  // namespace job_curves_tests
