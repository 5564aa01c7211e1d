// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// tests/vectors/notices.txt has the scenarios: what workers do, and after each scenario, behind
// ">", what is said about them.

#include <elastic/diagnosis/detail/notice_judge.hpp>

#include <support/catch.hpp>
#include <support/golden_file.hpp>
#include <support/run_program.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace notice_judge_tests {

using namespace std::chrono_literals;
using elastic::duration;
using elastic::time_point;
using elastic::detail::notice;
using elastic::detail::notice_judge;
using elastic::detail::worker_activity;
using elastic::detail::worker_signs;

constexpr time_point start{1000s};

duration seconds_of(double seconds) {
  return std::chrono::duration_cast<duration>(std::chrono::duration<double>(seconds));
}

double to_seconds(duration time) { return std::chrono::duration<double>(time).count(); }

/// A worker that does some things all the time.
struct acting_worker {
  worker_signs signs;
  /// Its share of a processor, and how often it takes a step or writes a line; 0: never.
  double share = 0;
  duration step_period{};
  duration output_period{};
  time_point next_step = time_point::max();
  time_point next_output = time_point::max();
  std::uint64_t read_each_second = 0;
};

/// The workers of a node, and a judge that looks at them whenever it wants to.
class node {
 public:
  node(int ranks, duration end_after_error) : judge_(end_after_error, "node3") {
    for (int rank = 0; rank < ranks; ++rank) {
      acting_worker& worker = workers_.emplace_back();
      worker.signs.rank = worker.signs.local_rank = rank;
      worker.signs.pid = 100 + rank;
      worker.signs.activity.emplace().processes = 1;
    }
  }

  time_point now() const { return now_; }
  std::vector<std::string>& lines() { return lines_; }
  acting_worker& at(int rank) { return workers_.at(static_cast<std::size_t>(rank)); }
  std::size_t size() const { return workers_.size(); }

  void run_until(time_point end) {
    while (now_ < end) {
      time_point next = std::min(end, judge_.wake_at());
      for (const acting_worker& each : workers_) {
        if (!each.signs.ended) next = std::min({next, each.next_step, each.next_output});
      }
      pass_to(std::max(next, now_));
      if (now_ >= judge_.wake_at()) look();
    }
  }

  /// Nobody runs meanwhile, not even the judge.
  void suspend(duration time) { now_ += time; }

  void look() {
    std::vector<worker_signs> signs;
    for (const acting_worker& each : workers_) signs.push_back(each.signs);
    for (const notice& each : judge_.take(signs, now_)) note(each);
  }

 private:
  void pass_to(time_point next) {
    const duration span = next - now_;
    now_ = next;
    for (acting_worker& each : workers_) {
      if (each.signs.ended) continue;
      worker_activity& activity = *each.signs.activity;
      activity.processor_time += seconds_of(each.share * to_seconds(span));
      const double read = static_cast<double>(each.read_each_second) * to_seconds(span);
      activity.read += static_cast<std::uint64_t>(read);
      if (now_ >= each.next_step) {
        ++each.signs.step;
        each.signs.step_at = each.signs.heard_at = now_;
        each.next_step += each.step_period;
      }
      if (now_ >= each.next_output) {
        activity.written += 80;
        activity.writes += 1;
        each.next_output += each.output_period;
      }
    }
  }

  void note(const notice& said) {
    std::string text = said.line + said.guess;
    if (said.ended) text = fmt::format("rank {} is ended: {}", *said.ended, said.line);
    for (const int place : said.places) text += fmt::format(" [place of {}]", place);
    lines_.push_back(fmt::format("> {:.1f} {}", to_seconds(now_ - start), text));
    if (said.ended) at(*said.ended).signs.ended = {"SIGKILL", false, now_};
  }

  notice_judge judge_;
  time_point now_ = start;
  std::vector<acting_worker> workers_;
  std::vector<std::string> lines_;
};

/// "rest of the line"
std::string rest_of(std::istringstream& words) {
  std::string text;
  std::getline(words >> std::ws, text);
  return text;
}

void set_period(std::istringstream& words, time_point now, duration& period, time_point& next) {
  double seconds = 0;
  words >> seconds;
  period = seconds_of(seconds);
  next = seconds > 0 ? now + period : time_point::max();
}

/// Carries out "5 fails 1 ValueError: no such shard".
void act(node& stage, std::istringstream& words, const std::string& what) {
  if (what == "until") return;
  if (what == "suspend") {
    double seconds = 0;
    words >> seconds;
    return stage.suspend(seconds_of(seconds));
  }
  std::string first_text;
  words >> first_text;
  const std::size_t dash = first_text.find('-');
  const int first = std::stoi(first_text);
  const int last = dash == first_text.npos ? first : std::stoi(first_text.substr(dash + 1));
  const std::string arguments = rest_of(words);
  for (int rank = first; rank <= last; ++rank) {
    std::istringstream rest(arguments);
    acting_worker& worker = stage.at(rank);
    worker_activity& activity = *worker.signs.activity;
    if (what == "fails" || what == "shows") {
      worker.signs.failure = {arguments, stage.now(), what == "fails"};
    } else if (what == "forgets") {
      worker.signs.failure.reset();
    } else if (what == "ends") {
      worker.signs.ended = {arguments, arguments == "exit code 0", stage.now()};
    } else if (what == "computes") {
      rest >> worker.share;
    } else if (what == "reads") {
      rest >> worker.read_each_second;
    } else if (what == "beats") {
      worker.signs.heard_at = stage.now();
    } else if (what == "sends") {
      activity.sends = arguments == "on";
    } else if (what == "stops") {
      activity.is_stopped = arguments == "on";
    } else if (what == "wakes") {
      activity.written += 8;
      activity.writes += 1;
    } else if (what == "of") {
      rest >> worker.signs.steps;
    } else if (what == "steps") {
      set_period(rest, stage.now(), worker.step_period, worker.next_step);
    } else if (what == "prints") {
      set_period(rest, stage.now(), worker.output_period, worker.next_output);
    } else {
      FAIL("no such act: " << what);
    }
  }
}

/// Plays the lines of a scenario. The first: "ranks 2, end after 30".
std::vector<std::string> play(const std::vector<std::string>& scenario) {
  int ranks = 0;
  double end_after = 0;
  REQUIRE(std::sscanf(scenario.front().c_str(), "ranks %d, end after %lf", &ranks, &end_after) ==
          2);
  node stage(ranks, seconds_of(end_after));
  for (std::size_t line = 1; line < scenario.size(); ++line) {
    std::istringstream words(scenario[line]);
    double at = 0;
    std::string what;
    words >> at >> what;
    stage.run_until(start + seconds_of(at));
    act(stage, words, what);
    // The workers' ends and exceptions wake the judge.
    if (what == "fails" || what == "shows" || what == "ends") stage.look();
  }
  return stage.lines();
}

TEST_CASE("notice judge: the scenarios are judged as recorded", "[diagnosis]") {
  const std::string file = "vectors/notices.txt";
  std::string text;
  std::vector<std::string> scenario;
  const auto end_scenario = [&] {
    if (scenario.empty()) return;
    for (const std::string& line : play(scenario)) text += line + '\n';
    scenario.clear();
  };
  for (const std::string& line :
       elastic::test::lines_of(elastic::test::file_text(ELASTIC_SOURCE_DIR "/tests/" + file))) {
    if (line.starts_with('>')) continue;
    if (line.empty()) end_scenario();
    if (!line.empty() && !line.starts_with('#')) scenario.push_back(line);
    text += line + '\n';
  }
  end_scenario();
  elastic::test::check_golden(file, text);
}

TEST_CASE("notice judge: in a day, no worker is named that makes progress", "[diagnosis]") {
  const unsigned seed = GENERATE(range(1U, 9U));
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> part(0, 1);
  node stage(4, 30s);
  for (int rank = 0; rank < 4; ++rank) {
    acting_worker& worker = stage.at(rank);
    worker.share = part(random);
    const double period = part(random) * 55;
    // Some of them report steps, the others print.
    (part(random) < 0.5 ? worker.next_step : worker.next_output) = start;
    worker.step_period = worker.output_period = seconds_of(1 + period);
  }
  // One ends early with success, one catches an exception, and one uploads at its end.
  stage.run_until(start + 1h);
  stage.at(0).signs.ended = {"exit code 0", true, stage.now()};
  stage.look();
  stage.run_until(start + 2h);
  acting_worker& catches = stage.at(1);
  catches.next_step = stage.now() + 1s;
  catches.step_period = 4s;
  catches.signs.failure = {"ValueError: a bad batch", stage.now(), true};
  stage.look();
  stage.run_until(start + 24h);
  CAPTURE(stage.lines());
  CHECK(stage.lines().empty());
}

}  // namespace notice_judge_tests
