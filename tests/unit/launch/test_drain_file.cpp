// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/launch/drain_file.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/time.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/log_recorder.hpp>
#include <support/run_program.hpp>
#include <support/skip.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace drain_file_tests {

using elastic::task;
using elastic::wait_for_drain_file;
using elastic::detail::drain_reason;
using elastic::detail::drain_text;

TEST_CASE("drain file: its text is the reason, on one line and bounded", "[launch]") {
  struct row {
    drain_text content;
    std::string reason;
  };
  const std::string long_text(elastic::limits::drain_text_bytes, 'x');
  const std::vector<row> rows = {
      {{"", ""}, "the drain file '/run/d' exists"},
      {{" \n", ""}, "the drain file '/run/d' exists"},
      {{"GPU 3 is hot\n", ""}, "the drain file '/run/d' exists: GPU 3 is hot"},
      {{"a\nb\x1b[2J", ""}, "the drain file '/run/d' exists: a b\\x1b[2J"},
      {{long_text + "yz", ""}, "the drain file '/run/d' exists: " + long_text},
      {{"", "it cannot be read: x"}, "the drain file '/run/d' exists (it cannot be read: x)"},
  };
  for (const row& entry : rows) CHECK(drain_reason("/run/d", entry.content) == entry.reason);
}

TEST_CASE("drain file: in a directory of everybody's it has to be the user's or root's",
          "[launch]") {
  constexpr std::uint32_t own_user = 1000;
  constexpr std::uint32_t other_user = 1001;
  struct row {
    std::uint32_t owner;
    bool has_other_names;
    std::uint32_t mode;
    bool counts;
  };
  const std::vector<row> rows = {{own_user, false, 01777, true},
                                 {0, false, 01777, true},
                                 {other_user, false, 01777, false},
                                 {other_user, false, 0777, false},
                                 {other_user, false, 0775, true},
                                 {other_user, false, 0755, true},
                                 {own_user, false, 0700, true},
                                 {own_user, true, 01777, false},
                                 {0, true, 01777, false},
                                 {0, true, 0777, false},
                                 {0, true, 0755, true},
                                 {own_user, true, 0700, true}};
  for (const row& entry : rows) {
    CAPTURE(entry.owner, entry.has_other_names, entry.mode);
    CHECK(elastic::detail::may_drain(entry.owner, entry.has_other_names, own_user, entry.mode) ==
          entry.counts);
  }
}

/// A wait for a file in a directory of its own.
struct drain_stage {
  elastic::test::temporary_directory folder;
  std::shared_ptr<elastic::test::log_recorder> log =
      std::make_shared<elastic::test::log_recorder>();
  std::string path = folder / "drain";
  std::optional<std::string> reason;

  task<void> wait() {
    reason =
        co_await wait_for_drain_file(path, std::make_shared<elastic::system_time>(), log->log());
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(name) << text;
  }
  std::string expected_reason(const std::string& text) const {
    return drain_reason(path, {text, ""});
  }
};

/// Does something when the wait has begun.
task<void> act_during_wait(std::function<void()> action) {
  const auto executor = co_await asio::this_coro::executor;
  co_await asio::post(executor, asio::use_awaitable);
  action();
  elastic::system_time time;
  co_await time.sleep_until(elastic::time_point::max());
}

/// Makes the file, and writes to it a moment later.
task<void> write_late(std::string path, std::string text) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  elastic::system_time time;
  co_await time.sleep_until(time.now() + std::chrono::milliseconds(20));
  std::fputs(text.c_str(), file);
  std::fclose(file);
  co_await time.sleep_until(elastic::time_point::max());
}

/// Until the log has a warning with these words.
task<void> await_warning(std::shared_ptr<elastic::test::log_recorder> log, std::string words) {
  elastic::system_time time;
  while (!log->has(words, elastic::log_level::warning)) {
    co_await time.sleep_until(time.now() + std::chrono::milliseconds(1));
  }
}

CO_TEST("drain file: one that is there already counts", "[launch]") {
  drain_stage stage;
  stage.write(stage.path, "no\n");
  co_await stage.wait();
  CHECK(stage.reason == stage.expected_reason("no"));
}

CO_TEST("drain file: it counts when it is written, moved there, linked or touched", "[launch]") {
  drain_stage stage;
  const std::string other_file = stage.folder / "other";
  stage.write(other_file, "moved");
  std::string text = "moved";
  std::function<void()> action;
  SECTION("written") {
    text = "written";
    action = [&] { stage.write(stage.path, "written"); };
  }
  SECTION("moved") {
    action = [&] { std::filesystem::rename(other_file, stage.path); };
  }
  SECTION("linked") {
    action = [&] { std::filesystem::create_hard_link(other_file, stage.path); };
  }
  SECTION("touched, after others") {
    text = "";
    action = [&] {
      stage.write(stage.folder / "drain2", "x");
      stage.write(stage.folder / "drai", "x");
      stage.write(stage.path, "");
    };
  }
  task<void> action_task = act_during_wait(action);
  co_await elastic::race(stage.wait(), std::move(action_task));
  CHECK(stage.reason == stage.expected_reason(text));
}

CO_TEST("drain file: text that follows the making of the file is waited for", "[launch]") {
  drain_stage stage;
  task<void> write_task = write_late(stage.path, "late");
  co_await elastic::race(stage.wait(), std::move(write_task));
  CHECK(stage.reason == stage.expected_reason("late"));
}

CO_TEST("drain file: what is not a file with a text counts, and holds up nothing", "[launch]") {
  drain_stage stage;
  SECTION("a pipe") { REQUIRE(::mkfifo(stage.path.c_str(), 0600) == 0); }
  SECTION("a directory") { std::filesystem::create_directory(stage.path); }
  co_await stage.wait();
  CHECK(stage.reason ==
        drain_reason(stage.path, {"", "it cannot be read: it is not a file with a text"}));
}

CO_TEST("drain file: another user's in a directory of everybody's is passed over", "[launch]") {
  if (::geteuid() != 0) co_return elastic::test::skip("it takes root");
  drain_stage stage;
  std::filesystem::permissions(stage.folder.path(),
                               std::filesystem::perms::all | std::filesystem::perms::sticky_bit);
  stage.write(stage.path, "not you\n");
  REQUIRE(::chown(stage.path.c_str(), 4711, 4711) == 0);
  task<void> warning_task = await_warning(stage.log, "is passed over: it belongs to user 4711");
  co_await elastic::race(stage.wait(), std::move(warning_task));
  REQUIRE_FALSE(stage.reason);
  const std::string own_file = stage.folder / "own";
  stage.write(own_file, "mine");
  const std::function<void()> replace = [&] { std::filesystem::rename(own_file, stage.path); };
  task<void> replace_task = act_during_wait(replace);
  co_await elastic::race(stage.wait(), std::move(replace_task));
  CHECK(stage.reason == stage.expected_reason("mine"));
}

CO_TEST("drain file: a link to a file in a directory of everybody's is passed over", "[launch]") {
  drain_stage stage;
  const std::string subfolder = stage.folder / "sub";
  std::filesystem::create_directory(subfolder);
  std::filesystem::permissions(subfolder,
                               std::filesystem::perms::all | std::filesystem::perms::sticky_bit);
  const std::string other_file = stage.folder / "other";
  stage.write(other_file, "not meant for this");
  stage.path = subfolder + "/drain";
  std::filesystem::create_hard_link(other_file, stage.path);
  task<void> warning_task =
      await_warning(stage.log, " and has other names, and everybody may make files");
  co_await elastic::race(stage.wait(), std::move(warning_task));
  CHECK_FALSE(stage.reason);
}

CO_TEST("drain file: a link to nothing counts, and says so", "[launch]") {
  drain_stage stage;
  std::filesystem::create_symlink(stage.folder / "nothing", stage.path);
  co_await stage.wait();
  CHECK(stage.reason ==
        drain_reason(stage.path, {"", "it cannot be read: No such file or directory"}));
}

CO_TEST("drain file: without its directory there is no wait", "[launch]") {
  drain_stage stage;
  stage.path = stage.folder / "missing/drain";
  std::string refusal;
  try {
    co_await stage.wait();
  } catch (const elastic::error& failure) {
    refusal = failure.what();
    CHECK(failure.code() == elastic::errc::file_access);
  }
  CHECK(refusal.find("missing' of the drain file cannot be watched: No such file") !=
        std::string::npos);
}

CO_TEST("drain file: the loss of its directory is said once", "[launch]") {
  drain_stage stage;
  const std::string subfolder = stage.folder / "sub";
  std::filesystem::create_directory(subfolder);
  stage.path = subfolder + "/drain";
  const std::function<void()> lose = [&] { std::filesystem::remove(subfolder); };
  task<void> lose_task = act_during_wait(lose);
  task<void> warning_task = await_warning(stage.log, "is no longer watched");
  co_await elastic::race(stage.wait(), std::move(lose_task), std::move(warning_task));
  CHECK_FALSE(stage.reason);
}

}  // namespace drain_file_tests
