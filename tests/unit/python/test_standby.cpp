// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/agent/run_result.hpp>
#include <elastic/python/detail/import_record.hpp>
#include <elastic/python/detail/python_command.hpp>
#include <elastic/python/detail/standby_environment.hpp>
#include <elastic/python/detail/standby_message.hpp>
#include <elastic/python/detail/standby_plan.hpp>
#include <elastic/python/detail/stored_archive.hpp>
#include <elastic/python/warm_standby.hpp>
#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/contract/environment.hpp>
#include <support/catch.hpp>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace elastic {
namespace {

namespace standby_test {

using namespace std::chrono_literals;
using namespace std::string_literals;
using words = std::vector<std::string>;
using action = detail::standby_step::action;

constexpr time_point start{std::chrono::hours(1)};

/// What the plan says `delay` after the workers' start.
detail::standby_step step_of(const detail::standby_plan& plan, duration delay,
                             std::size_t missing = 2, bool may_restart = true) {
  detail::standby_view view;
  view.now = start + delay;
  view.launched = start;
  view.missing = missing;
  view.may_restart = may_restart;
  return plan.next(view);
}

// ---- when ---------------------------------------------------------------------------------------

TEST_CASE("standby_plan: the first is made after the delay, as long as one is missing",
          "[standby]") {
  const detail::standby_plan plan(10s);
  CHECK(step_of(plan, 0s).what == action::wait);
  CHECK(step_of(plan, 0s).until == start + 10s);
  CHECK(step_of(plan, 9999ms).what == action::wait);
  CHECK(step_of(plan, 10s).what == action::make);
  CHECK(step_of(plan, 10s, 0).what == action::rest);
  CHECK(step_of(plan, 10s, 2, false).what == action::rest);
  CHECK(step_of(plan, 10s, 2, false).reason == "no restart is left");
  CHECK(step_of(detail::standby_plan(duration::max()), 10000h).what == action::wait);
}

TEST_CASE("standby_plan: what the workers do decides how soon, and how many at once", "[standby]") {
  struct row {
    detail::standby_view::stage workers;
    std::size_t missing;
    bool has_died;
    action expected_action;
  };
  using stage = detail::standby_view::stage;
  const row table[] = {
      {stage::work, 2, false, action::wait},        {stage::last_steps, 2, false, action::make},
      {stage::absence, 2, false, action::make_all}, {stage::last_steps, 0, false, action::rest},
      {stage::absence, 0, false, action::rest},     {stage::last_steps, 2, true, action::wait},
      {stage::absence, 2, true, action::wait},
  };
  for (const row& entry : table) {
    CAPTURE(static_cast<int>(entry.workers), entry.missing, entry.has_died);
    detail::standby_plan plan(10s);
    if (entry.has_died) plan.died("x", start);
    detail::standby_view view;
    view.now = start + 1s;
    view.launched = start;
    view.workers = entry.workers;
    view.missing = entry.missing;
    // Those that wait are not made anew just before their workers end.
    view.outdated = 1;
    CHECK(plan.next(view).what == entry.expected_action);
    view.may_restart = false;
    CHECK(plan.next(view).what == action::rest);
    view.may_restart = true;
    plan.give_up("y");
    CHECK(plan.next(view).what == action::rest);
  }
}

TEST_CASE("standby_plan: the first step of all ends the delay", "[standby]") {
  detail::standby_plan plan(10s);
  detail::standby_view view;
  view.now = start + 1s;
  view.launched = start;
  view.missing = 1;
  CHECK(plan.next(view).what == action::wait);
  view.have_stepped = true;
  CHECK(plan.next(view).what == action::make);
  // One that has ended is still made again only a delay later.
  plan.died("x", start + 1s);
  CHECK(plan.next(view).until == start + 11s);
}

TEST_CASE("standby_plan: one in the making is waited for if it has done more than half",
          "[standby]") {
  CHECK_FALSE(detail::standby_plan::is_worth_waiting(4s, 0s));
  CHECK_FALSE(detail::standby_plan::is_worth_waiting(0s, 0s));
  CHECK_FALSE(detail::standby_plan::is_worth_waiting(2s, 4s));
  CHECK(detail::standby_plan::is_worth_waiting(2001ms, 4s));
  CHECK(detail::standby_plan::is_worth_waiting(5s, 4s));
}

TEST_CASE("standby_plan: for many at once there has to be memory for all", "[standby]") {
  const detail::standby_plan plan(10s);
  detail::standby_view view;
  view.workers = detail::standby_view::stage::absence;
  view.missing = 4;
  view.size = 100;
  view.available = 800;
  CHECK(plan.next(view).what == action::make_all);
  view.available = 799;
  CHECK(plan.next(view).what == action::wait);
}

TEST_CASE("worker_starts: each reason is counted, and few of them are kept", "[standby]") {
  run_result::worker_starts starts;
  CHECK(starts.text().empty());
  starts.warm = 3;
  starts.add_cold("no standby was ready");
  CHECK(starts.text() == "3 warm; 1 cold, because no standby was ready");
  run_result::worker_starts job;
  job.add(starts);
  job.add(starts);
  CHECK(job.text() == "6 warm; 2 cold, because no standby was ready");
  CHECK(job.all() == 8);
  for (int number = 0; number < 100; ++number) job.add_cold(std::to_string(number));
  CHECK(job.cold.size() == run_result::worker_starts::most_reasons);
  CHECK(job.all_cold() == 102);
  CHECK(job.cold.at("of other reasons") == 94);
}

TEST_CASE(
    "standby_plan: after a death the next one is made a delay later, the third in a row is "
    "the last",
    "[standby]") {
  detail::standby_plan plan(10s);
  plan.died("a", start + 20s);
  CHECK(step_of(plan, 29s).until == start + 30s);
  CHECK(step_of(plan, 30s).what == action::make);
  plan.died("b", start + 40s);
  plan.ready();
  plan.died("c", start + 60s);
  plan.died("d", start + 80s);
  CHECK_FALSE(plan.off());
  plan.died("e", start + 90s);
  REQUIRE(plan.off());
  CHECK(*plan.off() == "3 of them ended in a row before they were ready, the last: e");
  CHECK(step_of(plan, 1000s).what == action::rest);
}

TEST_CASE("standby_plan: a refusal for the same reason in another attempt is the last",
          "[standby]") {
  detail::standby_plan plan(10s);
  plan.refused("x", 1);
  plan.refused("x", 1);
  plan.refused("y", 2);
  CHECK_FALSE(plan.off());
  plan.refused("x", 3);
  CHECK(plan.off() == "x");
  plan.give_up("z");
  CHECK(plan.off() == "x");
}

TEST_CASE("standby_plan: the tenth that ends while it waits is the last", "[standby]") {
  detail::standby_plan plan(10s);
  for (int loss = 1; loss < limits::standby_losses; ++loss) {
    plan.lost("a", start + 20s * loss);
    CHECK(step_of(plan, 20s * loss).until == start + 20s * loss + 10s);
    plan.ready();
  }
  plan.lost("SIGKILL", start + 1h);
  CHECK(plan.off() == "10 of them ended while they waited, the last: SIGKILL");
}

TEST_CASE("standby_plan: a module is dropped once", "[standby]") {
  detail::standby_plan plan(10s);
  CHECK(plan.dropped("a"));
  CHECK(plan.dropped("b"));
  CHECK(plan.dropped_modules() == std::set<std::string>{"a", "b"});
  CHECK_FALSE(plan.off());
  CHECK_FALSE(plan.dropped("a"));
  CHECK(plan.off());
}

// ---- what is said -------------------------------------------------------------------------------

detail::standby_message ready(pid_t pid, words missing = {}) {
  detail::standby_message message;
  message.pid = pid;
  message.missing = std::move(missing);
  return message;
}

TEST_CASE("standby_message: each kind is read as it was written", "[standby]") {
  detail::standby_message dropped_message;
  dropped_message.what = detail::standby_message::kind::dropped;
  dropped_message.module = "torch";
  dropped_message.reason = "its import failed: \xff\n";
  detail::standby_message refused_message;
  refused_message.what = detail::standby_message::kind::refused;
  detail::standby_message prepared_message;
  prepared_message.what = detail::standby_message::kind::prepared;
  for (const detail::standby_message& message :
       {ready(1), ready(4194304, {"a", "b.c"}), dropped_message, refused_message,
        prepared_message}) {
    CHECK(detail::parse_standby_message(detail::bytes_of(message)) == message);
  }
  detail::standby_message reader = ready(7, {"a"});
  reader.variables = {"LOCAL_RANK", "B-"};
  CHECK(detail::bytes_of(reader) == "ready\0002\0007\0-a\0=LOCAL_RANK\0=B-"s);
  CHECK(detail::parse_standby_message(detail::bytes_of(reader)) == reader);
}

TEST_CASE("standby_message: anything else is refused", "[standby]") {
  const std::string texts[] = {"",
                               "ready",
                               "ready\0002"s,
                               "ready\0001\0007"s,
                               "ready\0002\000"s,
                               "ready\0002\0000"s,
                               "ready\0002\000-1"s,
                               "ready\0002\0001x"s,
                               "ready\0002\00099999999999"s,
                               "ready\0002\0001\000"s,
                               "ready\0002\0001\000-"s,
                               "ready\0002\0001\000="s,
                               "ready\0002\0001\000ab"s,
                               "go",
                               "prepared\0"s,
                               "refused",
                               "refused\0a\0b"s,
                               "dropped\0a"s,
                               "dropped\0\0b"s,
                               "Ready\0002\0001"s,
                               std::string(limits::standby_message_bytes + 1, 'x')};
  for (const std::string& text : texts) {
    INFO(text.substr(0, 40));
    CHECK_THROWS_AS(detail::parse_standby_message(text), error);
  }
}

TEST_CASE("standby_message: a preparation names what changes", "[standby]") {
  CHECK(detail::preparation_of({}) == "prepare");
  CHECK(detail::preparation_of({{"A", "1=\n"}, {"B", std::nullopt}, {"C", ""}}) ==
        "prepare\0+A=1=\n\0-B\0+C="s);
  CHECK(detail::preparation_of({{"A", "1"}}, "0-1,4") == "prepare\0+A=1\0@0-1,4"s);
}

// ---- what it is made for ------------------------------------------------------------------------

process_spec worker(words environment) {
  process_spec spec;
  spec.program = "python3";
  spec.arguments = {"-u", "train.py"};
  spec.environment = std::move(environment);
  return spec;
}

TEST_CASE("standby_environment: a key is the same if only variables of the attempt differ",
          "[standby]") {
  const process_spec spec = worker({"A=1", "LOCAL_RANK=0", "RANK=0", "MASTER_PORT=1"});
  const std::string key = detail::standby_key(spec);
  CHECK(detail::standby_key(worker({"RANK=9", "A=1", "LOCAL_RANK=0"})) == key);
  CHECK(detail::standby_key(worker({"A=2", "LOCAL_RANK=0"})) != key);
  CHECK(detail::standby_key(worker({"A=1", "LOCAL_RANK=1"})) != key);
  CHECK(detail::standby_key(worker({"A=1", "LOCAL_RANK=0", "B="})) != key);
  process_spec other_spec = spec;
  other_spec.arguments.push_back("x");
  CHECK(detail::standby_key(other_spec) != key);
  other_spec = spec;
  other_spec.directory = "/";
  CHECK(detail::standby_key(other_spec) != key);
  other_spec = spec;
  other_spec.processors.add(0);
  CHECK(detail::standby_key(other_spec) != key);
  other_spec = spec;
  other_spec.stdout_fd = 1;
  CHECK(detail::standby_key(other_spec) == key);
}

TEST_CASE("standby_environment: the workers of a node have one pool if only their ranks differ",
          "[standby]") {
  const process_spec spec =
      worker({"A=1", "LOCAL_RANK=0", "RANK=4", "ROLE_RANK=4", "MASTER_PORT=1"});
  const std::string key = detail::pool_key(spec, {});
  CHECK(detail::pool_key(worker({"A=1", "LOCAL_RANK=1", "RANK=5", "ROLE_RANK=5"}), {}) == key);
  CHECK(detail::pool_key(worker({"A=2", "LOCAL_RANK=0"}), {}) != key);
  CHECK(detail::pool_key(worker({"A=2", "LOCAL_RANK=0"}), {"A"}) ==
        detail::pool_key(spec, {"A"}));
  process_spec other_spec = spec;
  other_spec.arguments.push_back("x");
  CHECK(detail::pool_key(other_spec, {}) != key);
  process_spec bound_spec = spec;
  other_spec = spec;
  bound_spec.processors.add(0);
  other_spec.processors.add(1);
  CHECK(detail::pool_key(bound_spec, {}) == detail::pool_key(other_spec, {}));
  other_spec.processors.add(2);
  CHECK(detail::pool_key(bound_spec, {}) != detail::pool_key(other_spec, {}));
}

TEST_CASE("standby_environment: what differs by rank is found, but for what libraries read",
          "[standby]") {
  const process_spec one =
      worker({"LOCAL_RANK=0", "RANK=0", "MASTER_PORT=1", "DEVICE=0", "SAME=x", "ONLY=1",
              "OMP_NUM_THREADS=1", "LD_PRELOAD=a", "PYTHONHASHSEED=1"});
  const process_spec other =
      worker({"LOCAL_RANK=1", "RANK=1", "MASTER_PORT=2", "DEVICE=1", "SAME=x",
              "OMP_NUM_THREADS=2", "LD_PRELOAD=b", "PYTHONHASHSEED=2"});
  CHECK(detail::differing_variables(one, other) == std::set<std::string>{"DEVICE", "ONLY"});
  CHECK(detail::differing_variables(one, one).empty());
}

TEST_CASE("standby_environment: a standby can join nobody, and gets the hook", "[standby]") {
  detail::standby_task task;
  task.modules = "torch";
  task.kind = "script";
  task.name = "a:b.py";
  task.archive_size = 12;
  const process_spec spec = worker({"ELASTIC_CONTROL=c", "MASTER_ADDR=h", "MASTER_PORT=1", "RANK=0",
                                    "TORCHELASTIC_ERROR_FILE=f", "TORCHELASTIC_RESTART_COUNT=1"});
  CHECK(detail::standby_environment(spec, task) ==
        words{"ELASTIC_STANDBY=12:0:1:0:0:script:torch:a:b.py", "PYTHONPATH=/proc/self/fd/1",
              "RANK=0"});
  CHECK(detail::standby_environment(worker({"PYTHONPATH=/a:/b"}), task) ==
        words{"ELASTIC_STANDBY=12:0:1:0:1:script:torch:a:b.py",
              "PYTHONPATH=/proc/self/fd/1:/a:/b"});
  // An empty entry would be the working directory.
  CHECK(detail::standby_environment(worker({"PYTHONPATH="}), task) ==
        words{"ELASTIC_STANDBY=12:0:1:0:1:script:torch:a:b.py", "PYTHONPATH=/proc/self/fd/1"});
}

TEST_CASE("standby_environment: before an attempt nothing is known of what that decides",
          "[standby]") {
  process_spec spec;
  spec.environment = {"A=1",          "LOCAL_RANK=0",  "RANK=3",
                      "WORLD_SIZE=4", "MASTER_ADDR=a", "TORCH_NCCL_ASYNC_ERROR_HANDLING=1"};
  const process_spec spec_without_attempt = detail::without_attempt(spec);
  CHECK(spec_without_attempt.environment == words{"A=1", "LOCAL_RANK=0"});
  CHECK(detail::standby_key(spec_without_attempt) == detail::standby_key(spec));
}

TEST_CASE("standby_environment: what it lacks is set, what is gone is removed", "[standby]") {
  const process_spec old_spec =
      worker({"A=1", "MASTER_PORT=1", "RANK=0", "NCCL_ASYNC_ERROR_HANDLING=1"});
  const process_spec new_spec = worker({"A=1", "MASTER_PORT=1", "RANK=2"});
  CHECK(detail::standby_changes(old_spec, new_spec) ==
        std::vector<detail::variable_change>{
            {"MASTER_PORT", "1"}, {"RANK", "2"}, {"NCCL_ASYNC_ERROR_HANDLING", std::nullopt}});
}

TEST_CASE("import_record: another process writes what is read", "[standby]") {
  const detail::import_record record;
  CHECK(record.size() == 0);
  CHECK(record.text().empty());
  const std::string place = record.place();
  const std::string path = place.substr(place.find(':') + 1);
  const auto write = [&](const std::string& text) { std::ofstream(path, std::ios::app) << text; };
  write("a.b\n=C\n");
  CHECK(record.size() == 7);
  CHECK(record.text() == "a.b\n=C\n");
  write(std::string(detail::import_record::largest, 'x'));
  CHECK(record.size() == detail::import_record::largest);
  CHECK(record.text().size() == detail::import_record::largest);
  std::filesystem::resize_file(path, 3);
  CHECK(record.text() == "a.b");
  const process_spec plain_spec = record.recorded(worker({"A=1"}));
  const auto variables = environment_from(plain_spec.environment);
  CHECK(find_variable(variables, "ELASTIC_IMPORTS") == "0:" + place);
  const std::string archive = find_variable(variables, "PYTHONPATH").value();
  CHECK(std::filesystem::file_size(archive) > 1000);
  const process_spec other_spec = record.recorded(worker({"PYTHONPATH=/a:/b"}));
  CHECK(find_variable(environment_from(other_spec.environment), "ELASTIC_IMPORTS") == "1:" + place);
  CHECK(find_variable(environment_from(other_spec.environment), "PYTHONPATH") ==
        archive + ":/a:/b");
}

TEST_CASE("python_command: flags end where the script begins", "[standby]") {
  using kind = detail::python_command::kind;
  struct row {
    words arguments;
    kind expected_kind;
    std::string name;
    words flags;
  };
  const row rows[] = {
      {{"-u", "train.py", "-c"}, kind::script, "train.py", {"-u"}},
      {{"train.py"}, kind::script, "train.py", {}},
      {{"-u", "-m", "a.b", "-I"}, kind::module, "a.b", {"-u"}},
      {{"-uma.b"}, kind::module, "a.b", {"-u"}},
      {{"-IE", "-W", "error", "-Xdev", "x.py"},
       kind::script,
       "x.py",
       {"-IE", "-W", "error", "-Xdev"}},
      {{"-c", "pass"}, kind::code, "", {}},
      {{"--check-hash-based-pycs", "never", "x.py"},
       kind::script,
       "x.py",
       {"--check-hash-based-pycs", "never"}},
  };
  for (const row& entry : rows) {
    const auto command = detail::parse_python_command(entry.arguments);
    INFO(entry.arguments.back());
    REQUIRE(command);
    CHECK(command->what == entry.expected_kind);
    CHECK(command->name == entry.name);
    CHECK(command->flags == entry.flags);
  }
  for (const words& arguments : std::vector<words>{
           {}, {"-u"}, {"-"}, {"-h"}, {"--help"}, {"-m"}, {"-X"}, {"-uZ", "x.py"}, {""}}) {
    CHECK_FALSE(detail::parse_python_command(arguments));
  }
}

TEST_CASE("stored_archive: it is what zip makes without compression", "[standby]") {
  const std::string bytes = detail::stored_archive("a.py", "x = 1\n");
  CHECK(bytes.substr(0, 4) == "PK\3\4");
  // The sum of the content, as zlib has it.
  CHECK(bytes.substr(14, 4) == "\x3b\x89\xf6\x8b");
  CHECK(bytes.substr(30, 10) == "a.pyx = 1\n");
  CHECK(bytes.size() == 30 + 4 + 6 + 46 + 4 + 22);
}

TEST_CASE("warm_standby: names of modules have bounds", "[standby]") {
  const auto is_allowed = [](words modules) {
    warm_standby terms;
    terms.modules = std::move(modules);
    try {
      validate(terms);
    } catch (const error& refusal) {
      CHECK(refusal.code() == errc::invalid_argument);
      return false;
    }
    return true;
  };
  CHECK(is_allowed({"torch", "a.b_c.d9", "_x", "h\xc3\xa4"}));
  CHECK(is_allowed(words(limits::standby_modules, "a")));
  CHECK_FALSE(is_allowed(words(limits::standby_modules + 1, "a")));
  for (const char* name : {"", ".", "a.", ".a", "a..b", "9a", "a b", "a-b", "a,b", "a:b", "a/b"}) {
    INFO(name);
    CHECK_FALSE(is_allowed({name}));
  }
  warm_standby negative_delay;
  negative_delay.delay = -1s;
  CHECK_THROWS_AS(validate(negative_delay), error);
}

}  // namespace standby_test

}  // namespace
}  // namespace elastic
