// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/launch/console_log.hpp>
#include <support/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace console_log_test {

/// A clock that stands still.
class stopped_time final : public elastic::time_source {
 public:
  elastic::time_point now() const override { return {}; }
  elastic::wall_time wall_now() const override {
    return elastic::wall_time(std::chrono::milliseconds(1'000'042));
  }
  elastic::task<void> sleep_until(elastic::time_point) override { co_return; }
};

/// A pipe whose reader never waits.
class test_pipe {
 public:
  test_pipe() {
    REQUIRE(::pipe2(ends_.data(), O_CLOEXEC) == 0);
    REQUIRE(::fcntl(ends_[0], F_SETFL, O_NONBLOCK) == 0);
  }
  ~test_pipe() {
    close_reader();
    ::close(ends_[1]);
  }
  int writer() const { return ends_[1]; }
  void close_reader() {
    if (ends_[0] >= 0) ::close(ends_[0]);
    ends_[0] = -1;
  }
  std::string read_all() const {
    std::string text;
    std::array<char, 65536> buffer;
    for (ssize_t count; (count = ::read(ends_[0], buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

/// What is after the level and the time.
std::string text_of(const std::string& line) {
  const auto blank = line.find(' ', line.find(' ', line.find(' ') + 1) + 1);
  return line.substr(blank + 1);
}

}  // namespace console_log_test

TEST_CASE("console_log: a record is one line with its level and time", "[launch]") {
  console_log_test::test_pipe pipe;
  elastic::console_log log(std::make_shared<console_log_test::stopped_time>(), pipe.writer());
  log.write(elastic::log_level::warning, "a worker died");
  const std::string line = pipe.read_all();
  // 1970-01-01 00:16:40 UTC, shown in whatever zone the machine is in.
  CHECK(line.starts_with("WARNING 19"));
  CHECK_THAT(line, elastic::test::contains_text(":40.042 a worker died\n"));
}

TEST_CASE("console_log: a record begins a new line after unfinished output", "[launch]") {
  console_log_test::test_pipe pipe;
  elastic::console_log log(std::make_shared<console_log_test::stopped_time>(), pipe.writer());
  elastic::detail::console_target workers(pipe.writer());
  REQUIRE(workers.write_some("50%").has_value());
  log.write(elastic::log_level::warning, "a worker died");
  log.write(elastic::log_level::warning, "another");
  const std::string text = pipe.read_all();
  CHECK(text.starts_with("50%\nWARNING "));
  CHECK_THAT(text, elastic::test::contains_text("a worker died\nWARNING "));
}

TEST_CASE("console_log: a text that is no record begins a new line, too", "[launch]") {
  console_log_test::test_pipe pipe;
  elastic::detail::console_target workers(pipe.writer());
  REQUIRE(workers.write_some("50%").has_value());
  elastic::show_text("", pipe.writer());
  CHECK(pipe.read_all() == "50%");
  elastic::show_text("a report\n", pipe.writer());
  elastic::show_text("a hint\n", pipe.writer());
  CHECK(pipe.read_all() == "\na report\na hint\n");
  pipe.close_reader();
  elastic::show_text("nobody reads\n", pipe.writer());
}

TEST_CASE("console_log: each level has its name", "[launch]") {
  using elastic::log_level;
  const elastic::wall_time time;
  CHECK(elastic::log_line(log_level::debug, time, "").starts_with("DEBUG "));
  CHECK(elastic::log_line(log_level::info, time, "").starts_with("INFO "));
  CHECK(elastic::log_line(log_level::warning, time, "").starts_with("WARNING "));
  CHECK(elastic::log_line(log_level::error, time, "").starts_with("ERROR "));
}

TEST_CASE("console_log: control characters from outside cannot act on the terminal", "[launch]") {
  const std::string line =
      elastic::log_line(elastic::log_level::error, {}, "a\x1b[2Jb\rc\td\ne\x7f\xc3\xa9");
  CHECK(console_log_test::text_of(line) == "a\\x1b[2Jb\\x0dc\td\n    e\\x7f\xc3\xa9\n");
}

TEST_CASE("console_log: long records arrive whole", "[launch]") {
  console_log_test::test_pipe pipe;
  elastic::console_log log(std::make_shared<console_log_test::stopped_time>(), pipe.writer());
  const std::string text(20'000, 'x');
  log.write(elastic::log_level::info, text);
  CHECK(console_log_test::text_of(pipe.read_all()) == text + "\n");
}

TEST_CASE("console_log: a full pipe blocks nobody, and what was left out is counted", "[launch]") {
  console_log_test::test_pipe pipe;
  elastic::console_log log(std::make_shared<console_log_test::stopped_time>(), pipe.writer());
  // More than a pipe holds: with a tenth of a second for each record this would take minutes.
  const int records = 3000;
  const std::string text(1000, 'y');
  for (int i = 0; i < records; ++i) log.write(elastic::log_level::info, text);
  const std::string first_output = pipe.read_all();
  const auto line_count = std::count(first_output.begin(), first_output.end(), '\n');
  CHECK(line_count < 100);
  log.write(elastic::log_level::info, "again");
  const std::string last_output = pipe.read_all();
  CHECK_THAT(last_output, elastic::test::contains_text(std::to_string(records - line_count) +
                                                       " log records were left out"));
  CHECK_THAT(last_output, elastic::test::contains_text("again\n"));
  log.write(elastic::log_level::info, "last");
  CHECK(console_log_test::text_of(pipe.read_all()) == "last\n");
}

TEST_CASE("console_log: records of several threads arrive whole", "[launch]") {
  console_log_test::test_pipe pipe;
  elastic::console_log log(std::make_shared<console_log_test::stopped_time>(), pipe.writer());
  std::vector<std::thread> writers;
  for (const char letter : {'a', 'b', 'c', 'd'}) {
    writers.emplace_back([&log, letter] {
      const std::string text(100, letter);
      for (int i = 0; i < 50; ++i) log.write(elastic::log_level::info, text);
    });
  }
  for (std::thread& writer : writers) writer.join();
  std::istringstream lines(pipe.read_all());
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const std::string text = console_log_test::text_of(line);
    CHECK(text == std::string(100, text.empty() ? '?' : text[0]));
  }
  CHECK(count == 200);
}

TEST_CASE("console_log: a closed other end is ignored", "[launch]") {
  const auto former_handler = std::signal(SIGPIPE, SIG_IGN);
  console_log_test::test_pipe pipe;
  pipe.close_reader();
  elastic::console_log log(std::make_shared<console_log_test::stopped_time>(), pipe.writer());
  log.write(elastic::log_level::info, "to nobody");
  log.write(elastic::log_level::info, "again");
  std::signal(SIGPIPE, former_handler);
}

TEST_CASE("console_log: a descriptor that is none is ignored", "[launch]") {
  elastic::console_log log(std::make_shared<console_log_test::stopped_time>(), -1);
  log.write(elastic::log_level::info, "to nothing");
}

}  // namespace
