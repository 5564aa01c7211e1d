// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/worker_group.hpp>
#include <elastic/base/asio.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/functions/entrypoint.hpp>
#include <support/catch.hpp>

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

using namespace elastic;
using list = nlohmann::json::array_t;

nlohmann::json run(const std::string& name, nlohmann::json arguments) {
  return detail::function_table::here().find(name)->run(arguments);
}

double half_of(double value) noexcept { return value / 2; }

struct counter {
  int operator()(const int& step) { return total += step; }
  int total = 10;
};

task<std::string> answer_later(std::string text) { co_return "later: " + text; }

}  // namespace

TEST_CASE("entrypoint: functions, lambdas, objects and coroutines are run by name", "[worker]") {
  const entrypoint half("half", half_of);
  const entrypoint count("count", counter{});
  const entrypoint late_answer("later", answer_later);
  const entrypoint no_result("nothing", [](const std::vector<std::string>&) {});
  const entrypoint no_task("no task", []() -> task<void> { co_return; });
  const entrypoint pass("pass", [](nlohmann::json value) { return value; });
  CHECK(run("half", list{3}) == 1.5);
  CHECK(run("count", list{5}) == 15);
  CHECK(run("later", list{"x"}) == "later: x");
  CHECK(run("nothing", nlohmann::json::array({list{"a", "b"}})).is_null());
  CHECK(run("no task", list{}).is_null());
  CHECK(run("pass", list{{{"a", 1}}}) == nlohmann::json{{"a", 1}});
}

TEST_CASE("entrypoint: a call has the arguments as the function takes them", "[worker]") {
  const entrypoint train("train", [](double rate, const std::string& path, std::vector<int> sizes) {
    return fmt::format("{} {} {}", rate, path, sizes.size());
  });
  const function_call call = train.call(3, "x", {1, 2});
  CHECK(call.name == "train");
  CHECK(call.arguments == R"([3.0,"x",[1,2]])");
  CHECK(run("train", nlohmann::json::parse(call.arguments)) == "3 x 2");
  CHECK_THROWS_WITH(train.call(1, "\xff", {}),
                    Catch::StartsWith("the list of arguments of function 'train' cannot be "
                                      "written as JSON: "));
  CHECK_THROWS_WITH(train.call(1, std::string(limits::function_arguments_bytes, 'x'), {}),
                    Catch::Contains("1048576 are allowed"));
}

TEST_CASE("entrypoint: arguments that do not fit are refused by their place", "[worker]") {
  const entrypoint two_arguments("two", [](int, std::map<std::string, int>) {});
  const auto check = [](const nlohmann::json& arguments) {
    detail::function_table::here().find("two")->check(arguments);
  };
  CHECK_NOTHROW(check(list{1, {{"a", 1}}}));
  CHECK_THROWS_WITH(check(list{1}), "function 'two' takes 2 arguments, 1 were given");
  CHECK_THROWS_WITH(check(list{1, 2, 3}), "function 'two' takes 2 arguments, 3 were given");
  CHECK_THROWS_WITH(check(3), "function 'two' takes 2 arguments, 0 were given");
  CHECK_THROWS_WITH(check(list{"1", {{"a", 1}}}),
                    "argument 1 of function 'two' does not fit: "
                    "type must be number, but is string");
  CHECK_THROWS_WITH(check(list{1, {{"a", "b"}}}),
                    "argument 2 of function 'two' does not fit: "
                    "type must be number, but is string");
}

TEST_CASE("entrypoint: a name is known while its object lives, and must be the only one",
          "[worker]") {
  detail::function_table& table = detail::function_table::here();
  auto first_function = std::make_unique<entrypoint<int()>>("fleeting", [] { return 1; });
  CHECK(run("fleeting", list{}) == 1);
  auto second_function = std::make_unique<entrypoint<int()>>("fleeting", [] { return 2; });
  CHECK_THROWS_WITH(table.find("fleeting"),
                    "two functions of this program are registered as 'fleeting'");
  first_function.reset();
  CHECK(run("fleeting", list{}) == 2);
  second_function.reset();
  CHECK_THROWS_WITH(table.find("fleeting"),
                    Catch::StartsWith("no function of this program is registered as "
                                      "'fleeting'; registered: "));
}

TEST_CASE("entrypoint: what a function throws is thrown, out of a task as well", "[worker]") {
  const entrypoint plain_function("plain", []() -> int { throw std::out_of_range("plain"); });
  const entrypoint late_function("later", []() -> task<int> {
    co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    throw std::out_of_range("later");
  });
  CHECK_THROWS_AS(run("plain", list{}), std::out_of_range);
  CHECK_THROWS_AS(run("later", list{}), std::out_of_range);
}

TEST_CASE("run_entrypoint: a process that is not such a worker goes on", "[worker]") {
  CHECK(run_entrypoint() == std::nullopt);
}
