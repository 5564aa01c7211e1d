// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/status/detail/command_request.hpp>

#include <elastic/base/limits.hpp>
#include <support/catch.hpp>

#include <chrono>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace command_request_tests {

using elastic::job_command;
using elastic::detail::command_answer;
using elastic::detail::command_peer;
using elastic::detail::http_head;
using elastic::detail::read_command;
using elastic::detail::status_answer;

constexpr command_peer own_peer{1000, 1000, true};

http_head post(const std::string& name, const std::string& method = "POST") {
  http_head request;
  request.method = method;
  request.path = "/api/v1/commands/" + name;
  request.headers["content-type"] = "application/json";
  return request;
}

/// "drain 60 by user 1000", or "400 why".
std::string outcome_of(const http_head& request, const std::string& body,
                       const command_peer& peer) {
  const auto outcome = read_command(request, body, peer);
  if (const auto* refusal = std::get_if<status_answer>(&outcome)) {
    return fmt::format("{} {}", refusal->status, refusal->body);
  }
  const auto& command = std::get<job_command>(outcome);
  return fmt::format("{} {} {}", to_string(command.what),
                     std::chrono::duration<double>(command.within).count(), command.reason);
}

TEST_CASE("command request: what a body may say", "[status]") {
  struct row {
    const char* name;
    std::string body;
    std::string outcome;
  };
  const std::string long_reason(elastic::limits::command_reason_bytes + 1, 'x');
  const std::vector<row> rows = {
      {"drain", "", "drain 60 by user 1000"},
      {"drain", "{}", "drain 60 by user 1000"},
      {"drain", R"({"reason": "GPU 3\nis hot \u001b[2J"})",
       "drain 60 by user 1000: GPU 3 is hot \\x1b[2J"},
      {"drain", R"({"reason": " "})", "drain 60 by user 1000"},
      {"drain", R"({"reason": 3})", "400 the body has no text \"reason\"\n"},
      {"drain", R"({"reason": ")" + long_reason + "\"}",
       "400 the body has \"reason\" of 401 bytes; up to 400 are taken\n"},
      {"drain", R"({"within": 3})", "400 the body has a field other than \"reason\"\n"},
      {"drain", "[]", "400 the body is not a JSON object: '[]'\n"},
      {"drain", "{", "400 the body is not a JSON object: '{'\n"},
      {"checkpoint", R"({"within": 0.5, "reason": "a"})", "checkpoint 0.5 by user 1000: a"},
      {"checkpoint", R"({"with": 3})",
       "400 the body has a field other than \"reason\", \"within\"\n"},
      {"checkpoint", R"({"within": 0})",
       "400 the body has \"within\" of 0 seconds; more than 0 and at most 3600 are allowed\n"},
      {"checkpoint", R"({"within": 1e308})",
       "400 the body has \"within\" of 1e+308 seconds; more than 0 and at most 3600 are "
       "allowed\n"},
      {"stacks", R"({"ranks": [0, 3]})", "stacks 60 by user 1000"},
      {"stacks", R"({"ranks": [-1]})",
       "400 the body has ranks that are not a list of numbers from 0 on\n"},
      {"stacks", R"({"ranks": {"a": 1}})",
       "400 the body has ranks that are not a list of numbers from 0 on\n"},
      {"reboot", "", "404 there are these commands: pause, resume, checkpoint, drain, stacks\n"},
      {"", "", "404 there are these commands: pause, resume, checkpoint, drain, stacks\n"},
      {"drain/", "", "404 there are these commands: pause, resume, checkpoint, drain, stacks\n"},
  };
  for (const row& entry : rows) {
    CAPTURE(entry.name, entry.body);
    CHECK(outcome_of(post(entry.name), entry.body, own_peer) == entry.outcome);
  }
}

TEST_CASE("command request: who may command", "[status]") {
  const std::string success = "drain 60 by user 1000";
  CHECK(outcome_of(post("drain"), "", own_peer) == success);
  CHECK(outcome_of(post("drain"), "", {0, 1000, true}) == "drain 60 by user 0");
  CHECK(outcome_of(post("drain"), "", {1001, 1000, true}) ==
        "403 commands are accepted only from user 1000 and root, not from user 1001\n");
  CHECK(outcome_of(post("drain"), "", {{}, 1000, true}) ==
        "403 commands are accepted only over a Unix socket, such as that of --status unix:PATH\n");
  CHECK(outcome_of(post("drain"), "", {1000, 1000, false}) ==
        "501 this program takes no commands\n");
  CHECK(outcome_of(post("drain", "GET"), "", own_peer) == "405 a command is a POST\n");
  CHECK(outcome_of(post("drain", "HEAD"), "", own_peer) == "405 a command is a POST\n");
  http_head form = post("drain");
  form.headers["content-type"] = "application/x-www-form-urlencoded";
  CHECK(outcome_of(form, "{}", own_peer) ==
        "415 a command's body is of the type application/json\n");
  CHECK(outcome_of(form, "", own_peer) == success);
}

TEST_CASE("command request: stacks are read by the same users", "[status]") {
  http_head request = post("", "GET");
  request.path = "/api/v1/stacks";
  CHECK(elastic::detail::is_command_path(request.path));
  CHECK(outcome_of(request, "", own_peer) == "stacks 60 by user 1000");
  CHECK(outcome_of(request, "", {1001, 1000, true}) ==
        "403 commands are accepted only from user 1000 and root, not from user 1001\n");
  CHECK(outcome_of(request, "", {{}, 1000, true}) ==
        "403 commands are accepted only over a Unix socket, such as that of --status unix:PATH\n");
  request.method = "POST";
  CHECK(outcome_of(request, "", own_peer) == "405 stacks are read by GET\n");
}

TEST_CASE("command request: the answer is JSON, or text for who wants that", "[status]") {
  http_head request = post("drain");
  CHECK(command_answer(request, {true, "a \"b\""}).body ==
        "{\"done\": true, \"text\": \"a \\\"b\\\"\"}\n");
  CHECK(command_answer(request, {true, "a"}).status == 200);
  request.headers["accept"] = "text/plain";
  const status_answer refusal = command_answer(request, {false, "why not"});
  CHECK(refusal.status == 409);
  CHECK(refusal.body == "why not\n");
}

}  // namespace command_request_tests
