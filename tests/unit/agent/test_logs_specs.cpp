// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/detail/workers/default_logs_specs.hpp>
#include <elastic/agent/logs_specs.hpp>

#include <elastic/agent/logs_specs_registry.hpp>
#include <support/catch.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace logs_specs_tests {

using elastic::line_head;
using elastic::log_layout;
using elastic::log_options;
using elastic::logs_specs;
using elastic::output_plan;
using elastic::std_streams;
using elastic::worker_spec;
using elastic::test::contains_text;
using how = elastic::output_plan::how;

/// Three workers, of ranks 8, 9 and 10, and the directory of their attempt.
class logs_stage {
 public:
  logs_stage() {
    spec.program = "/usr/bin/trainer";
    spec.role = "trn";
    spec.nproc_per_node = 3;
    layout = log_layout("", "job");
    layout.start_attempt(2, 3);
  }
  ~logs_stage() { layout.discard(); }

  std::vector<logs_specs::worker_output> plan() {
    std::vector<elastic::worker_identity> workers;
    for (int local_rank = 0; local_rank < 3; ++local_rank) {
      elastic::worker_identity identity;
      identity.role_name = spec.role;
      identity.local_rank = local_rank;
      identity.rank = 8 + local_rank;
      workers.push_back(identity);
    }
    auto plans = elastic::detail::default_logs_specs().plan({spec, workers, layout, "node7"});
    REQUIRE(plans.size() == 3);
    return plans;
  }

  worker_spec spec;
  log_layout layout;
};

std::string text_at_epoch(const line_head& head) { return head.text(42, {}); }

TEST_CASE("logs specs: by default output goes where the agent's goes, stderr is remembered",
          "[agent]") {
  logs_stage stage;
  for (const logs_specs::worker_output& output : stage.plan()) {
    CHECK(output.out.kind == how::inherit);
    CHECK(output.err.kind == how::copy);
    CHECK(output.err.file.empty());
    CHECK(output.err.prefix.empty());
    CHECK(output.err.console);
    CHECK(output.err.keep_tail);
  }
}

TEST_CASE("logs specs: a stream that is only redirected is written by the worker", "[agent]") {
  logs_stage stage;
  stage.spec.redirects.set(1, std_streams::both);
  const logs_specs::worker_output output = stage.plan()[1];
  CHECK(output.out.kind == how::file);
  CHECK(output.out.file == stage.layout.stdout_file(1));
  CHECK_FALSE(output.out.keep_tail);
  CHECK(output.err.kind == how::file);
  CHECK(output.err.file == stage.layout.stderr_file(1));
  CHECK(output.err.keep_tail);
  CHECK(stage.plan()[0].out.kind == how::inherit);

  stage.layout.discard();
  stage.layout = {};
  CHECK(stage.plan()[1].out.kind == how::null);
  CHECK(stage.plan()[1].err.kind == how::null);
}

TEST_CASE("logs specs: a stream that is teed goes to the file and, with its prefix, is shown",
          "[agent]") {
  for (const std_streams redirects : {std_streams::none, std_streams::both}) {
    logs_stage stage;
    stage.spec.redirects = redirects;
    stage.spec.tee = std_streams::both;
    const logs_specs::worker_output output = stage.plan()[1];
    for (const output_plan& plan : {output.out, output.err}) {
      CHECK(plan.kind == how::copy);
      CHECK(plan.prefix == "[trn1]:");
      CHECK(plan.console);
      CHECK_FALSE(plan.json);
    }
    CHECK(output.out.file == stage.layout.stdout_file(1));
    CHECK(output.err.file == stage.layout.stderr_file(1));
  }
}

TEST_CASE("logs specs: of ranks that are filtered out nothing is shown, and files are complete",
          "[agent]") {
  logs_stage stage;
  stage.spec.logs.local_ranks_filter = {0, 2};
  stage.spec.tee.set(1, std_streams::out);
  const auto plans = stage.plan();
  CHECK(plans[0].out.kind == how::inherit);
  CHECK(plans[2].err.console);
  CHECK(plans[1].out.kind == how::copy);
  CHECK(plans[1].out.file == stage.layout.stdout_file(1));
  CHECK_FALSE(plans[1].out.console);
  // For the report of a failure.
  CHECK(plans[1].err.kind == how::copy);
  CHECK_FALSE(plans[1].err.console);
  CHECK(plans[1].err.keep_tail);

  stage.spec.logs.local_ranks_filter = {0};
  CHECK(stage.plan()[2].out.kind == how::null);
}

TEST_CASE("logs specs: lines that match a filter go to one file for all workers", "[agent]") {
  logs_stage stage;
  stage.spec.logs.duplicate_stdout_filters = {"loss", "error"};
  stage.spec.redirects.set(1, std_streams::out);
  const auto plans = stage.plan();
  for (const logs_specs::worker_output& output : plans) {
    CHECK(output.out.kind == how::copy);
    CHECK(output.out.matches.filters == stage.spec.logs.duplicate_stdout_filters);
    CHECK(output.out.matches.file == plans[0].out.matches.file);
    CHECK_FALSE(output.err.matches.file);
  }
  CHECK(plans[2].out.matches.prefix == "[trn2]:");
  // What is shown does not change.
  CHECK(plans[2].out.console);
  CHECK(plans[2].out.prefix.empty());
  CHECK_FALSE(plans[1].out.console);
  CHECK(plans[1].out.file == stage.layout.stdout_file(1));
  const auto attempt = std::filesystem::path(stage.layout.root()) / "attempt_2";
  CHECK(std::filesystem::exists(attempt / "filtered_stdout.log"));
  CHECK_FALSE(std::filesystem::exists(attempt / "filtered_stderr.log"));

  stage.spec.logs.duplicate_stdout_filters.clear();
  stage.spec.logs.duplicate_stderr_filters = {"Traceback"};
  CHECK(stage.plan()[0].err.matches.file);
  CHECK(std::filesystem::exists(attempt / "filtered_stderr.log"));
}

TEST_CASE("logs specs: as JSON all that is shown says whose it is", "[agent]") {
  logs_stage stage;
  stage.spec.role = "a \"role\"";
  stage.spec.logs.format = log_options::line_format::json;
  stage.spec.redirects.set(0, std_streams::out);
  const auto plans = stage.plan();
  CHECK(plans[0].out.kind == how::file);
  CHECK(plans[1].out.kind == how::copy);
  CHECK(plans[1].out.json);
  CHECK(text_at_epoch(plans[1].out.prefix) ==
        "{\"time\":\"1970-01-01T00:00:00.000Z\",\"host\":\"node7\",\"role\":\"a \\\"role\\\"\","
        "\"rank\":9,\"local_rank\":1,\"attempt\":2,\"stream\":\"stdout\",");
  CHECK_THAT(text_at_epoch(plans[1].err.prefix), contains_text("\"stream\":\"stderr\""));
}

TEST_CASE("logs specs: if files have a size what is redirected goes through the agent", "[agent]") {
  logs_stage stage;
  stage.spec.logs.rotation.max_size = 4096;
  stage.spec.logs.rotation.max_files = 3;
  stage.spec.redirects.set(1, std_streams::both);
  const auto plans = stage.plan();
  for (const output_plan& plan : {plans[1].out, plans[1].err}) {
    CHECK(plan.kind == how::copy);
    CHECK(plan.rotation == stage.spec.logs.rotation);
    CHECK_FALSE(plan.console);
  }
  CHECK(plans[0].out.kind == how::inherit);
}

TEST_CASE("logs specs: what cannot be had is refused with the worker_spec", "[agent]") {
  const auto refusal_of = [](auto change) {
    worker_spec spec;
    spec.program = "/usr/bin/trainer";
    spec.nproc_per_node = 4;
    change(spec);
    try {
      validate(spec);
    } catch (const elastic::error& refusal) {
      return std::string(refusal.what());
    }
    return std::string("accepted");
  };
  CHECK(refusal_of([](worker_spec& spec) { spec.logs.local_ranks_filter = {3}; }) == "accepted");
  CHECK_THAT(refusal_of([](worker_spec& spec) { spec.logs.local_ranks_filter = {0, 4}; }),
             contains_text("no local rank 4: the last one of this node is 3"));
  CHECK_THAT(refusal_of([](worker_spec& spec) { spec.logs.local_ranks_filter = {-1}; }),
             contains_text("no local rank -1"));
  CHECK_THAT(refusal_of([](worker_spec& spec) { spec.log_line_prefix_template = "${x}"; }),
             contains_text("no field 'x'"));
  CHECK_THAT(refusal_of([](worker_spec& spec) {
               spec.logs.duplicate_stdout_filters = {"a"};
               spec.log_dir = "/dev/null";
             }),
             contains_text("/dev/null"));
  CHECK_THAT(refusal_of([](worker_spec& spec) { spec.logs.duplicate_stderr_filters = {""}; }),
             contains_text("empty"));
  CHECK_THAT(refusal_of([](worker_spec& spec) { spec.logs.rotation.max_files = 0; }),
             contains_text("1 to 1000"));
}

TEST_CASE("logs specs: the registry knows those that were added, and names them", "[agent]") {
  elastic::logs_specs_registry registry;
  CHECK(registry.make("default"));
  const auto own_specs = std::make_shared<elastic::detail::default_logs_specs>();
  registry.add("mine", [own_specs] { return own_specs; });
  CHECK(registry.contains("mine"));
  CHECK(registry.make("mine") == own_specs);
  CHECK(registry.names() == "default, mine");
  try {
    registry.make("other");
    FAIL("was found");
  } catch (const elastic::error& refusal) {
    CHECK(refusal.code() == elastic::errc::invalid_argument);
    CHECK_THAT(refusal.what(), contains_text("no logs specs 'other'; there are: default, mine"));
  }
}

}  // namespace logs_specs_tests
