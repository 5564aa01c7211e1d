// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/diagnosis/detail/worker_signs.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/contract/detail/printed_exception.hpp>
#include <elastic/contract/error_file.hpp>
#include <elastic/diagnosis/detail/error_file_watch.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/golden_file.hpp>
#include <support/run_program.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace elastic {
namespace {

namespace worker_signs_test {

using namespace std::chrono_literals;
using detail::last_exception;
using detail::reported_exception;

// ---- stderr -------------------------------------------------------------------------------------

const std::string traceback = R"(Traceback (most recent call last):
  File "/home/me/train.py", line 12, in <module>
    main()
    ^^^^^^
  File "/home/me/train.py", line 10, in main
    raise ValueError("no such shard")
)";

/// The same as PyTorch's hook writes it, of which the first lines are lost.
const std::string ranked = R"([rank1]:   File "/home/me/train.py", line 10, in main
[rank1]:     raise ValueError("no such shard")
[rank1]: ValueError: no such shard
)";

std::string exception_in(const std::string& text) {
  const auto last = last_exception(test::lines_of(text));
  return last ? last->text : std::string();
}

TEST_CASE("worker signs: a traceback that nobody has caught ends stderr", "[diagnosis]") {
  CHECK(exception_in(traceback + "ValueError: no such shard\n") == "ValueError: no such shard");
  CHECK(exception_in("epoch 3\n" + traceback + "KeyboardInterrupt\n") == "KeyboardInterrupt");
  CHECK(exception_in(ranked) == "ValueError: no such shard");
  // What PyTorch's log adds, and the rest of a message of C++.
  CHECK(exception_in(ranked + "[rank1]:[W1129 ProcessGroupNCCL.cpp:1] destroy it\n") ==
        "ValueError: no such shard");
  CHECK(exception_in(traceback +
                     "torch.distributed.DistBackendError: NCCL error\n"
                     "Exception raised from doWait at TCPStore.cpp:1 (most recent call first):\n"
                     "frame #0: c10::Error\n\n") ==
        "torch.distributed.DistBackendError: NCCL error");
  CHECK(exception_in("Traceback (most recent call last):\n"
                     "  File \"<frozen runpy>\", line 198, in _run_module_as_main\n"
                     "  File \"/home/me/train.py\", line 2, in main\n"
                     "ValueError\n") == "ValueError");
}

TEST_CASE("worker signs: an exception is fatal if PyTorch's hook has printed it", "[diagnosis]") {
  CHECK(last_exception(test::lines_of(ranked))->is_fatal);
  // A script that catches it in a module, and shows it, prints the same.
  CHECK_FALSE(last_exception(test::lines_of(traceback + "ValueError: no such shard\n"))->is_fatal);
}

TEST_CASE("worker signs: other ends of stderr are no exception", "[diagnosis]") {
  for (const std::string& text : std::vector<std::string>{
           "", "\n", "epoch 3\n", "ValueError: no such shard\n",
           // The program has gone on.
           traceback + "ValueError: no such shard\nepoch 4\n",
           // It is not complete.
           traceback,
           // A function has caught it, and only shows it.
           "Traceback (most recent call last):\n"
           "  File \"/home/me/train.py\", line 10, in load\n    open(path)\n"
           "FileNotFoundError: no such file\n",
           // The begin of the traceback is lost.
           "  File \"/home/me/train.py\", line 10, in load\n    open(path)\nOSError: full\n",
           // A warning of a library.
           "train.py:3: UserWarning: slow\n  warn(text)\n"}) {
    CAPTURE(text);
    CHECK(exception_in(text).empty());
  }
}

// ---- error file ---------------------------------------------------------------------------------

struct error_folder {
  test::temporary_directory folder;
  std::string file = folder / "error.json";
  wall_time since = wall_time(std::chrono::seconds(1));

  void write(const std::string& text) const { std::ofstream(file) << text; }
  std::string exception() const { return reported_exception(file, since); }
};

const std::string record = error_file_text("ValueError: no such shard", "Traceback", 7);

TEST_CASE("worker signs: only a complete file of this worker is a report", "[diagnosis]") {
  error_folder place;
  CHECK(place.exception().empty());
  place.write(record.substr(0, record.size() / 2));
  CHECK(place.exception().empty());
  place.write(record);
  CHECK(place.exception() == "ValueError: no such shard");
  place.since = wall_time::max();
  CHECK(place.exception().empty());
}

TEST_CASE("worker signs: neither a pipe nor a link nor a huge file is a report", "[diagnosis]") {
  error_folder place;
  REQUIRE(::mkfifo(place.file.c_str(), 0600) == 0);
  CHECK(place.exception().empty());
  std::filesystem::remove(place.file);
  std::ofstream(place.folder / "other.json") << record;
  std::filesystem::create_symlink(place.folder / "other.json", place.file);
  CHECK(place.exception().empty());
  std::filesystem::remove(place.file);
  place.write(record);
  std::filesystem::resize_file(place.file, limits::error_file_bytes + 1);
  CHECK(place.exception().empty());
}

CO_TEST("error file watch: it reports a file that is written, or moved to its name",
        "[diagnosis]") {
  error_folder first;
  error_folder second;
  detail::error_file_watch watch(co_await asio::this_coro::executor);
  REQUIRE(watch.open());
  watch.add(3, first.file);
  watch.add(4, second.file);
  watch.add(5, "/no/such/folder/error.json");
  // A file of another name in the folder of a worker is none of it.
  std::ofstream(first.folder / "stderr.log") << "text";
  std::ofstream(second.file + ".tmp") << record;
  std::filesystem::rename(second.file + ".tmp", second.file);
  std::vector<int> written = co_await watch.written();
  CHECK(written == std::vector<int>{4});
  first.write(record);
  written = co_await watch.written();
  CHECK(written == std::vector<int>{3});
}

CO_TEST("error file watch: the files of the next attempt take the place of earlier ones",
        "[diagnosis]") {
  error_folder first;
  error_folder second;
  detail::error_file_watch watch(co_await asio::this_coro::executor);
  REQUIRE(watch.open());
  watch.add(3, first.file);
  watch.clear();
  REQUIRE(watch.open());
  watch.add(4, second.file);
  first.write(record);
  second.write(record);
  const std::vector<int> written = co_await watch.written();
  CHECK(written == std::vector<int>{4});
}

// ---- processes ----------------------------------------------------------------------------------

TEST_CASE("worker signs: a process computes, reads and writes", "[diagnosis]") {
  const auto before = detail::look_at_activity(::getpid(), 1000);
  REQUIRE(before);
  CHECK(before->processes >= 1);
  CHECK_FALSE(before->is_stopped);
  error_folder place;
  place.write(std::string(100'000, 'x'));
  const auto after = detail::look_at_activity(::getpid(), 1000);
  REQUIRE(after);
  CHECK(after->written >= before->written + 100'000);
  CHECK(after->writes > before->writes);
  CHECK_FALSE(detail::look_at_activity(::getpid(), 0));
}

}  // namespace worker_signs_test

}  // namespace
}  // namespace elastic
