// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/status/detail/job_launch.hpp>

#include <elastic/agent/worker_spec.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/status/detail/job_document.hpp>
#include <elastic/status/job_monitor.hpp>
#include <support/catch.hpp>
#include <support/journal_story.hpp>

#include <pwd.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace job_launch_tests {

using elastic::detail::job_disclosure;
using elastic::detail::job_launch;
using elastic::detail::launch_of;
using elastic::test::contains_text;
using elastic::test::journal_story;
using elastic::test::view_of;
using words = std::vector<std::string>;

job_launch launch(const std::string& program, const words& arguments) {
  elastic::worker_spec workers;
  workers.program = program;
  workers.arguments = arguments;
  return launch_of(workers);
}

TEST_CASE("job launch: the script is what the command line names, and the rest its arguments",
          "[status]") {
  struct row {
    std::string program;
    words arguments;
    std::string script;
    words rest;
  };
  for (const row& entry :
       {row{"python3", {"-u", "train.py", "--lr", "0.1"}, "train.py", {"--lr", "0.1"}},
        row{"python3", {"-u", "-m", "pkg.train", "-u"}, "-m pkg.train", {"-u"}},
        row{"python3", {"-u", "-m"}, "-m", {}},
        row{"./serve", {"--key", "secret"}, "./serve", {"--key", "secret"}},
        // Of a Python that a program starts in its own way nothing but its name is public.
        row{"python3", {"-c", "password = 1"}, "python3", {"-c", "password = 1"}},
        row{"true", {}, "true", {}}, row{"python3", {"-u"}, "python3", {"-u"}}}) {
    CAPTURE(entry.program, entry.arguments);
    const job_launch shown = launch(entry.program, entry.arguments);
    CHECK(shown.script == entry.script);
    CHECK(shown.arguments == entry.rest);
    CHECK(shown.left_out == 0);
  }
}

TEST_CASE("job launch: texts are bounded, whatever the command line has", "[status]") {
  const job_launch many = launch("true", words(100'000, ""));
  CHECK(many.arguments.size() == 8192);
  CHECK(many.left_out == 100'000 - 8192);
  const job_launch large = launch(std::string(5000, 'p'), {"a", std::string(8191, 'x'), "b"});
  CHECK(large.script == std::string(1024, 'p'));
  CHECK(large.arguments == words{"a"});
  CHECK(large.left_out == 2);
}

TEST_CASE("job launch: the user and the host are those of this process", "[status]") {
  const job_launch shown = launch("true", {});
  CHECK(shown.host == elastic::host_name());
  const passwd* const user = ::getpwuid(::geteuid());
  if (user) CHECK(shown.user == user->pw_name);
  CHECK(shown.log_dir.empty());
}

TEST_CASE("job launch: a document has arguments only for who may see secrets", "[status]") {
  const elastic::detail::job_view view = view_of(journal_story().begin().records);
  job_disclosure shown;
  shown.launch = {"<b>train.py", {"--token=s3cret", "\xff\"\n"}, 3, "ada", "node0", "/logs/job7_x"};
  const auto document = [&] {
    return nlohmann::json::parse(elastic::detail::job_json(view, 0, shown));
  };
  const auto for_all = nlohmann::json::parse(
      R"({"script": "<b>train.py", "user": "ada", "host": "node0", "log_dir": "/logs/job7_x"})");
  CHECK(document()["launch"] == for_all);
  CHECK(document()["shows_output"] == false);
  shown.has_secrets = true;
  CHECK(document()["launch"]["arguments"] == words{"--token=s3cret", "\uFFFD\"\n"});
  CHECK(document()["launch"]["arguments_left_out"] == 3);
  CHECK(document()["shows_output"] == true);
  shown.launch = {};
  CHECK_FALSE(document().contains("launch"));
}

TEST_CASE("job monitor: another HTTP server has what runs, without its arguments", "[status]") {
  elastic::job_monitor monitor;
  elastic::worker_spec workers;
  workers.program = "./serve";
  workers.arguments = {"--key", "s3cret"};
  monitor.describe(workers);
  const std::string json = monitor.json();
  CHECK(nlohmann::json::parse(json)["launch"]["script"] == "./serve");
  CHECK_THAT(json, !contains_text("s3cret"));
}

}  // namespace job_launch_tests
