// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/etcd/etcd_rendezvous.hpp>

#include <elastic/base/error.hpp>
#include <elastic/rendezvous/rendezvous_parameters.hpp>
#include <support/catch.hpp>
#include <support/run_program.hpp>

#include <fstream>
#include <string>

namespace etcd_rendezvous_tests {

using elastic::rendezvous_parameters;

rendezvous_parameters parameters_with(const std::string& name, const std::string& value) {
  rendezvous_parameters parameters;
  parameters.backend = "etcd";
  parameters.endpoint = "127.0.0.1:2379";
  parameters.run_id = "job";
  parameters.set(name, value);
  return parameters;
}

std::string problem_of(const rendezvous_parameters& parameters) {
  try {
    elastic::make_etcd_rendezvous(parameters);
  } catch (const elastic::error& failure) {
    CHECK(failure.code() == elastic::errc::invalid_argument);
    return failure.what();
  }
  return "";
}

std::string password_file(const elastic::test::temporary_directory& directory,
                          const std::string& text) {
  const std::string path = directory / "password";
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

TEST_CASE("etcd rendezvous: a password is the first line of its file", "[rendezvous]") {
  const auto [text, password] = GENERATE(table<std::string, std::string>(
      {{"secret", "secret"}, {"a, b=c \n", "a, b=c "}, {"one\r\ntwo\n", "one"}}));
  const elastic::test::temporary_directory directory;
  const std::string path = password_file(directory, text);
  const auto parameters = elastic::detail::with_password(parameters_with("password_file", path));
  CHECK(elastic::detail::conf_text(parameters, "password") == password);
  CHECK(problem_of(parameters_with("password_file", path)) == "");
}

TEST_CASE("etcd rendezvous: a password that cannot be had is told with its file", "[rendezvous]") {
  const elastic::test::temporary_directory directory;
  const auto check = [](const std::string& path, const std::string& problem) {
    CHECK(problem_of(parameters_with("password_file", path)) ==
          "rendezvous_parameters::conf[\"password_file\"]=" + path +
              ": the first line of the file has to be the password, but " + problem);
  };
  check(directory / "none", "it cannot be read");
  check(directory / "", "it cannot be read");
  check(password_file(directory, ""), "its first line is empty");
  check(password_file(directory, "\nsecret\n"), "its first line is empty");
  check(password_file(directory, std::string(5000, 'x')), "its first line is over 4096 bytes long");
}

TEST_CASE("etcd rendezvous: a password is given in one way only", "[rendezvous]") {
  const elastic::test::temporary_directory directory;
  auto parameters = parameters_with("password_file", password_file(directory, "secret"));
  parameters.conf["password"] = "secret";
  CHECK(problem_of(parameters) ==
        "rendezvous_parameters::conf: either password or password_file is needed, not both");
}

}  // namespace etcd_rendezvous_tests
