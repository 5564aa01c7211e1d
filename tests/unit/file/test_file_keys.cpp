// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/file/file_keys.hpp>

#include <elastic/store/versioned_store.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/run_program.hpp>
#include <support/skip.hpp>
#include <support/slow_clock.hpp>
#include <support/standing_clock.hpp>

#include <unit/store/store_conformance.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace file_keys_tests {

using namespace std::chrono_literals;
using elastic::errc;
using elastic::error;
using elastic::file_keys;
using elastic::task;
using elastic::versioned_keys;
using elastic::test::temporary_directory;
namespace fs = std::filesystem;

task<std::shared_ptr<file_keys>> keys_in(std::string directory,
                                         std::shared_ptr<elastic::time_source> time = nullptr) {
  if (!time) time = std::make_shared<elastic::system_time>();
  auto keys = std::make_shared<file_keys>(std::move(directory), std::move(time));
  co_await keys->prepare();
  co_return keys;
}

task<std::shared_ptr<elastic::store>> store_in(
    std::string directory, std::shared_ptr<elastic::time_source> time = nullptr) {
  auto keys = co_await keys_in(std::move(directory), std::move(time));
  co_return std::make_shared<elastic::versioned_store>(std::move(keys));
}

/// A clock for what has nothing to do with time: it may take long on a machine that is busy.
std::shared_ptr<elastic::time_source> patient_clock() {
  constexpr int slowness = 15;
  return std::make_shared<elastic::test::slow_clock>(slowness);
}

task<std::shared_ptr<elastic::store>> patient_store_in(std::string directory) {
  return store_in(std::move(directory), patient_clock());
}

// The error with which a task ends; empty if it has a result.
template <class Result>
task<std::optional<error>> error_of(task<Result> work) {
  try {
    co_await std::move(work);
  } catch (const error& failure) {
    co_return failure;
  }
  co_return std::nullopt;
}

CO_TEST("file store: has the operations of PyTorch's store", "[store]") {
  const temporary_directory place;
  const auto tested_store = co_await patient_store_in(place / "job");
  co_await elastic::test::check_values(tested_store, true);
}

CO_TEST("file store: waits end when the keys come", "[store]") {
  const temporary_directory place;
  const auto tested_store = co_await patient_store_in(place / "job");
  co_await elastic::test::check_waits(tested_store);
}

CO_TEST("file store: cancelled waits leave nothing", "[store]") {
  const temporary_directory place;
  const auto tested_store = co_await patient_store_in(place / "job");
  co_await elastic::test::check_cancelled_waits(tested_store);
}

CO_TEST("file store: refuses what is too large or no number", "[store]") {
  const temporary_directory place;
  const auto tested_store = co_await patient_store_in(place / "job");
  co_await elastic::test::check_refusals(tested_store);
}

CO_TEST("file keys: only who has seen a value replaces it", "[store]") {
  const temporary_directory place;
  const auto first_keys = co_await keys_in(place / "job");
  const auto second_keys = co_await keys_in(place / "job");
  const versioned_keys::entry absent_value = co_await first_keys->get("k");
  CHECK_FALSE(absent_value.value);
  CHECK_AWAITED(true, second_keys->put("k", "a", absent_value.version));
  CHECK_AWAITED(false, first_keys->put("k", "b", absent_value.version));
  const versioned_keys::entry first_value = co_await first_keys->get("k");
  CHECK(first_value.value == "a");
  // The same bytes again are another value.
  CHECK_AWAITED(true, second_keys->put("k", "a", first_value.version));
  CHECK_AWAITED(false, first_keys->put("k", "c", first_value.version));
  CHECK_AWAITED(true, first_keys->erase("k"));
  const versioned_keys::entry last_value = co_await second_keys->get("k");
  CHECK_FALSE(last_value.value);
}

CO_TEST("file keys: a change is noticed by itself, not when it is time to look", "[store]") {
  const temporary_directory place;
  const auto stopped_clock = std::make_shared<elastic::test::standing_clock>();
  const auto first_keys = co_await keys_in(place / "job", stopped_clock);
  const auto second_keys = co_await keys_in(place / "job");
  co_await first_keys->put("k", "a");
  const versioned_keys::entry first_value = co_await first_keys->get("k");
  const auto change = [](std::shared_ptr<file_keys> keys) -> task<void> {
    elastic::system_time clock;
    co_await clock.sleep_until(clock.now() + 50ms);
    co_await keys->put("k", "b");
  };
  using namespace asio::experimental::awaitable_operators;
  task<void> wait_task = first_keys->wait_for_change("k", first_value.version);
  task<void> change_task = change(second_keys);
  co_await (std::move(wait_task) && std::move(change_task));
  const versioned_keys::entry last_value = co_await first_keys->get("k");
  CHECK(last_value.value == "b");
}

CO_TEST("file keys: processes that add at the same time lose nothing", "[store]") {
  const temporary_directory place;
  // Before this process has a thread for files: ThreadSanitizer allows a copy no other one then.
  constexpr int processes = 4;
  constexpr int times = 50;
  std::vector<pid_t> children;
  for (int i = 0; i < processes; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      asio::io_context context;
      const auto add = [](std::string directory) -> task<void> {
        const auto tested_store = co_await store_in(std::move(directory));
        for (int n = 0; n < times; ++n) co_await tested_store->add("n", 1);
      };
      int code = 1;
      asio::co_spawn(context, add(place / "job"),
                     [&](std::exception_ptr failure) { code = failure ? 1 : 0; });
      context.run();
      ::_exit(code);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  const auto tested_store = co_await store_in(place / "job");
  CHECK_AWAITED(std::to_string(processes * times), tested_store->get("n"));
}

CO_TEST("file keys: who is killed in the middle of a change blocks nobody", "[store]") {
  const temporary_directory place;
  const auto keys = co_await keys_in(place / "job");
  co_await keys->put("k", "a");
  int pipe_ends[2];
  REQUIRE(::pipe(pipe_ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // Holds the lock, with half of a value written.
    const int lock = ::open((place / "job/.lock").c_str(), O_RDWR);
    struct flock whole_file{};
    whole_file.l_type = F_WRLCK;
    ::fcntl(lock, F_OFD_SETLK, &whole_file);
    std::ofstream(place / "job/.new") << "elastic-key-1 half";
    ::write(pipe_ends[1], "x", 1);
    ::pause();
  }
  char byte = 0;
  REQUIRE(::read(pipe_ends[0], &byte, 1) == 1);
  task<void> blocked_put = keys->put("k", "b");
  const std::optional<error> refusal = co_await error_of(std::move(blocked_put));
  REQUIRE(refusal);
  CHECK(refusal->code() == errc::connection_failed);
  CHECK(std::string(refusal->what()).find("job/.lock' has been held by another") !=
        std::string::npos);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
  co_await keys->put("k", "b");
  const versioned_keys::entry last_value = co_await keys->get("k");
  CHECK(last_value.value == "b");
}

CO_TEST("file keys: what was not written here is refused by its name, and stays", "[store]") {
  const temporary_directory place;
  const auto keys = co_await keys_in(place / "job", patient_clock());
  co_await keys->put("k", "value");
  const std::string file = place / "job/k";
  const std::string good_text = elastic::test::file_text(file);
  std::string flipped_text = good_text;
  flipped_text.back() ^= 1;
  std::string other_key_text = elastic::detail::key_file::to_text("v", "other", "value");
  for (const std::string& bad_text :
       {std::string(), std::string("garbage"), good_text.substr(0, good_text.size() - 1),
        good_text + "x", flipped_text, other_key_text, std::string(9'000'000, 'x')}) {
    std::ofstream(file, std::ios::trunc) << bad_text;
    task<versioned_keys::entry> read_task = keys->get("k");
    const std::optional<error> refusal = co_await error_of(std::move(read_task));
    REQUIRE(refusal);
    CHECK(refusal->code() == errc::store_value);
    CHECK(std::string(refusal->what()).find("the file '" + file + "'") == 0);
    const bool is_kept = elastic::test::file_text(file) == bad_text;
    CHECK(is_kept);
  }
  SECTION("a link is not followed") {
    fs::remove(file);
    fs::create_symlink("/etc/hostname", file);
  }
  SECTION("a pipe is not waited for") {
    fs::remove(file);
    REQUIRE(::mkfifo(file.c_str(), 0600) == 0);
  }
  SECTION("a directory is none") {
    fs::remove(file);
    fs::create_directory(file);
  }
  task<versioned_keys::entry> read_task = keys->get("k");
  const std::optional<error> refusal = co_await error_of(std::move(read_task));
  REQUIRE(refusal);
  CHECK(std::string(refusal->what()).find("the file '" + file + "'") == 0);
}

CO_TEST("file keys: what stands in the way of a new value makes way", "[store]") {
  const temporary_directory place;
  const auto keys = co_await keys_in(place / "job");
  const std::string fresh = place / "job/.new";
  SECTION("a pipe that nobody reads") { REQUIRE(::mkfifo(fresh.c_str(), 0600) == 0); }
  SECTION("a link to a file of somebody's") {
    std::ofstream(place / "mine") << "kept";
    fs::create_symlink(place / "mine", fresh);
  }
  co_await keys->put("k", "value");
  const versioned_keys::entry kept = co_await keys->get("k");
  CHECK(kept.value == "value");
  CHECK_FALSE(fs::is_symlink(fs::symlink_status(place / "job/k")));
}

CO_TEST("file keys: a directory that cannot be used is told", "[store]") {
  const temporary_directory place;
  std::ofstream(place / "file") << "x";
  for (const std::string& directory : {place / "missing/job", place / "file/job"}) {
    file_keys keys(directory, std::make_shared<elastic::system_time>());
    task<void> prepare_task = keys.prepare();
    const auto result_of = [](task<void> work) -> task<bool> {
      co_await std::move(work);
      co_return true;
    };
    task<bool> wrapped_task = result_of(std::move(prepare_task));
    const std::optional<error> refusal = co_await error_of(std::move(wrapped_task));
    REQUIRE(refusal);
    CHECK(std::string(refusal->what()).find("the directory '" + place.path()) == 0);
  }
  const auto keys = co_await keys_in(place / "job");
  fs::remove_all(place / "job");
  task<versioned_keys::entry> read_task = keys->get("k");
  const std::optional<error> refusal = co_await error_of(std::move(read_task));
  REQUIRE(refusal);
  CHECK(refusal->code() == errc::connection_failed);
}

CO_TEST("file keys: who may not write the lock and the keys cannot read them", "[store]") {
  for (const mode_t mask : {0077, 0022, 0002, 0000}) {
    INFO("umask " << mask);
    const temporary_directory place;
    const mode_t before = ::umask(mask);
    const auto keys = co_await keys_in(place / "job");
    co_await keys->put("leader", "a password");
    ::umask(before);
    for (const char* name : {"job/.lock", "job/leader"}) {
      struct stat facts{};
      REQUIRE(::stat((place / name).c_str(), &facts) == 0);
      const mode_t writers = 0222 & ~mask;
      CHECK((facts.st_mode & 0222) == writers);
      CHECK((facts.st_mode & 0444 & ~(writers << 1)) == 0);
    }
    const versioned_keys::entry own_value = co_await keys->get("leader");
    CHECK(own_value.value == "a password");
    CHECK_AWAITED(true, keys->erase("leader"));
  }
}

CO_TEST("file keys: a stranger who may read the directory cannot hold the lock", "[store]") {
  if (::geteuid() != 0) co_return elastic::test::skip("it takes root");
  const temporary_directory place;
  REQUIRE(::chmod(place.path().c_str(), 0755) == 0);
  const auto keys = co_await keys_in(place / "job");
  const std::string lock = place / "job/.lock";
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    constexpr uid_t nobody = 65534;
    if (::setgid(nobody) != 0 || ::setuid(nobody) != 0) ::_exit(1);
    const bool is_refused = ::open(lock.c_str(), O_RDONLY) < 0 && errno == EACCES;
    ::_exit(is_refused ? 0 : 2);
  }
  int status = -1;
  REQUIRE(::waitpid(stranger, &status, 0) == stranger);
  CHECK(status == 0);
}

CO_TEST("file keys: files that others may only read are named", "[store]") {
  const temporary_directory place;
  const auto keys = co_await keys_in(place / "job");
  co_await keys->put("leader", "a password");
  const std::vector<std::string> none = co_await keys->exposed_files();
  CHECK(none.empty());
  REQUIRE(::chmod((place / "job/.lock").c_str(), 0644) == 0);
  const std::vector<std::string> lock = co_await keys->exposed_files();
  CHECK(lock == std::vector<std::string>{place / "job/.lock"});
}

TEST_CASE("file keys: every key has a file name of its own", "[store]") {
  using elastic::detail::key_file_name;
  CHECK(key_file_name("state") == "state");
  CHECK(key_file_name("a/b c") == "a%2fb%20c");
  CHECK(key_file_name(".new") == "%2enew");
  CHECK(key_file_name("") == "%");
  CHECK(key_file_name("%") == "%25");
  const std::string first_name = key_file_name(std::string(5000, 'a') + "1");
  const std::string second_name = key_file_name(std::string(5000, 'a') + "2");
  CHECK(first_name != second_name);
  CHECK(first_name.size() <= 255);
}

}  // namespace file_keys_tests
