// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/diagnosis/detail/kept_recorders.hpp>

#include <elastic/base/time.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/run_program.hpp>

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kept_recorders_tests {

namespace fs = std::filesystem;
using elastic::task;
using elastic::detail::kept_recorders;
using elastic::detail::worker_inspection;

/// Keeps the recorder of rank 3, whose worker may write in `folder`. Result: where it is.
task<std::string> keep_in(std::string folder) {
  worker_inspection found;
  found.worker.rank = 3;
  found.recorders = {"{}"};
  found.log_folder = std::move(folder);
  std::vector<worker_inspection> all{std::move(found)};
  const auto time = std::make_shared<elastic::system_time>();
  kept_recorders kept(1024 * 1024);
  task<std::string> keeping = kept.keep(std::move(all), time, elastic::time_point::max());
  co_return co_await std::move(keeping);
}

CO_TEST("kept recorders: one is a file of its rank", "[inspection]") {
  const elastic::test::temporary_directory place;
  const std::string kept = co_await keep_in(place.path());
  CHECK(kept == place / "flight_recorder");
  CHECK(fs::file_size(place / "flight_recorder/rank_3") > 0);
  CHECK_FALSE(fs::exists(place / "flight_recorder/draft"));
}

CO_TEST("kept recorders: they are their user's alone, whatever the umask", "[inspection]") {
  const elastic::test::temporary_directory place;
  const mode_t before = ::umask(0);
  const std::string kept = co_await keep_in(place.path());
  ::umask(before);
  CHECK(fs::status(kept).permissions() == fs::perms::owner_all);
  const fs::perms of_file = fs::status(kept + "/rank_3").permissions();
  CHECK(of_file == (fs::perms::owner_read | fs::perms::owner_write));
}

CO_TEST("kept recorders: links that a worker has made are not followed", "[inspection]") {
  const elastic::test::temporary_directory place;
  const elastic::test::temporary_directory other_place;
  const std::string precious = other_place / "precious";
  std::ofstream(precious) << "of someone else";
  SECTION("to another folder") {
    fs::create_directory_symlink(other_place.path(), place / "flight_recorder");
    const std::string kept = co_await keep_in(place.path());
    CHECK(kept.empty());
    CHECK_FALSE(fs::exists(other_place / "rank_3"));
  }
  SECTION("to another file") {
    fs::create_directory(place / "flight_recorder");
    fs::create_symlink(precious, place / "flight_recorder/draft");
    fs::create_symlink(precious, place / "flight_recorder/rank_3");
    const std::string kept = co_await keep_in(place.path());
    CHECK(kept == place / "flight_recorder");
    CHECK(fs::is_regular_file(fs::symlink_status(place / "flight_recorder/rank_3")));
  }
  CHECK(elastic::test::file_text(precious) == "of someone else");
}

}  // namespace kept_recorders_tests
