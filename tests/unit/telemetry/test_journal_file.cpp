// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/detail/mount_table.hpp>
#include <elastic/base/error.hpp>
#include <elastic/status/detail/journal_reader.hpp>
#include <elastic/status/trace_file.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/telemetry/journal_file.hpp>

#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/log_recorder.hpp>
#include <support/run_program.hpp>
#include <support/skip.hpp>
#include <support/stalling_mount.hpp>

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include <fmt/format.h>

namespace journal_file_tests {

using namespace elastic;
using detail::find_journals;
using detail::journal_contents;
using detail::parse_journal;
using detail::read_journal;
using test::contains_text;

struct journal_in_folder {
  test::temporary_directory folder;
  std::string path = folder / "journal.jsonl";
  std::shared_ptr<test::log_recorder> log = std::make_shared<test::log_recorder>();

  journal_file::options options() {
    journal_file::options result;
    result.path = path;
    result.log = log->log();
    return result;
  }
};

journal_record record_of(std::int64_t sequence, std::int64_t epoch = 5) {
  journal_record record;
  record.sequence = sequence;
  record.epoch = epoch;
  record.node = "n";
  record.event.run_id = "job";
  return record;
}

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

TEST_CASE("journal: a journal is written and read, and a later agent writes on", "[telemetry]") {
  journal_in_folder place;
  journal_file(place.options()).take(record_of(1));
  journal_file(place.options()).take(record_of(1, 6));
  const journal_contents contents = read_journal(place.path);
  REQUIRE(contents.records.size() == 2);
  CHECK(contents.records[0] == record_of(1));
  CHECK(contents.records[1] == record_of(1, 6));
  CHECK_FALSE(contents.is_torn);
  CHECK(place.log->text().empty());
}

TEST_CASE("journal: half a line of an agent that died ends before the next one's", "[telemetry]") {
  journal_in_folder place;
  write(place.path, to_json_line(record_of(1)) + "\n{\"seq\": 2, \"ep");
  const journal_contents contents_before = read_journal(place.path);
  CHECK(contents_before.records.size() == 1);
  CHECK(contents_before.is_torn);
  CHECK(contents_before.refused_lines == 0);
  journal_file(place.options()).take(record_of(1, 6));
  const journal_contents contents_after = read_journal(place.path);
  CHECK(contents_after.records.size() == 2);
  CHECK_FALSE(contents_after.is_torn);
  CHECK(contents_after.refused_lines == 1);
  CHECK_THAT(contents_after.first_refusal, contains_text("is not a JSON object"));
}

TEST_CASE("journal: a journal is put aside when it is full, and read as a whole", "[telemetry]") {
  journal_in_folder place;
  auto options = place.options();
  options.max_size = 2 * to_json_line(record_of(1)).size() + 2;
  options.max_files = 3;
  journal_file file(options);
  for (int sequence = 1; sequence <= 9; ++sequence) file.take(record_of(sequence));
  CHECK(std::filesystem::exists(place.path + ".2"));
  CHECK_FALSE(std::filesystem::exists(place.path + ".3"));
  const auto records = read_journal(place.path).records;
  REQUIRE(records.size() == 5);
  CHECK(records.front().sequence == 5);
  CHECK(records.back().sequence == 9);
}

TEST_CASE("journal: a journal and a trace follow no link that another user made", "[telemetry]") {
  if (::geteuid() != 0) return test::skip("it takes root");
  journal_in_folder place;
  const std::string target = place.folder / "target";
  write(target, "kept\n");
  std::filesystem::create_symlink(target, place.path);
  constexpr uid_t other = 65534;
  REQUIRE(::lchown(place.path.c_str(), other, other) == 0);
  journal_file(place.options()).take(record_of(1));
  trace_file(place.path, place.log->log()).take(record_of(1));
  CHECK(test::file_text(target) == "kept\n");
  for (const std::string kind : {"journal", "trace"}) {
    CHECK(place.log->count(fmt::format("the {} '{}' is not written, records are lost: it is a link "
                                       "that another user made",
                                       kind, place.path)) == 1);
  }
}

TEST_CASE("journal: a journal follows a link of its own user", "[telemetry]") {
  journal_in_folder place;
  const std::string target = place.folder / "target";
  std::filesystem::create_symlink(target, place.path);
  journal_file(place.options()).take(record_of(1));
  CHECK(read_journal(target).records.size() == 1);
  CHECK(place.log->text().empty());
}

TEST_CASE("journal: a full disk is said once, and the journal goes on", "[telemetry]") {
  journal_in_folder place;
  place.path = "/dev/full";
  job_journal::options options;
  options.log = place.log->log();
  job_journal journal(options);
  journal.add(std::make_shared<journal_file>(place.options()));
  for (int count = 0; count < 3; ++count) journal.record({});
  CHECK(place.log->count("the journal '/dev/full' cannot be written, records are lost: No space") ==
        1);
  CHECK(journal.after(0).size() == 3);
}

TEST_CASE("journal: a journal that cannot be opened holds up nobody", "[telemetry]") {
  journal_in_folder place;
  place.path = place.folder / "missing/journal.jsonl";
  journal_file(place.options()).take(record_of(1));
  CHECK(place.log->has("cannot be opened, records are lost: No such file"));
  // A pipe that nobody reads.
  place.path = place.folder / "pipe";
  REQUIRE(::mkfifo(place.path.c_str(), 0600) == 0);
  journal_file(place.options()).take(record_of(1));
  CHECK(place.log->has("pipe' cannot be opened, records are lost: "));
}

CO_TEST("journal: a journal on a file system that hangs holds up nobody", "[telemetry]") {
  const std::string reason = test::stalling_mount::missing();
  if (!reason.empty()) co_return test::skip(reason);
  const test::stalling_mount mount;
  journal_in_folder place;
  place.path = mount.path() + "/journal.jsonl";
  // Mounts are looked at again after a second.
  while (!detail::may_hang(place.path)) std::this_thread::yield();
  journal_file file(place.options());
  file.take(record_of(1));
  co_await file.finish();
  CHECK(read_journal(mount.behind() + "/journal.jsonl").records.size() == 1);
  mount.stall();
  for (int count = 0; count < 3 + static_cast<int>(limits::journal_pending_lines); ++count) {
    file.take(record_of(2 + count));
  }
  CHECK(place.log->count("takes no records, which are lost") == 1);
  co_await file.finish();
  CHECK(place.log->count("does not answer: its end is lost") == 1);
  mount.go_on();
  co_await file.finish();
  CHECK(read_journal(mount.behind() + "/journal.jsonl").records.size() >
        limits::journal_pending_lines);
}

TEST_CASE("journal: which journals a path means", "[telemetry]") {
  const test::temporary_directory folder;
  // From when to when a journal was written, in seconds.
  const auto write_journal = [&](const std::string& run, const std::string& run_id, int start,
                                 int end) {
    journal_record record = record_of(1);
    record.time_us = 1'000'000LL * start;
    record.event.run_id = run_id;
    const std::string path = folder / (run + "/journal.jsonl");
    write(path, to_json_line(record) + "\n");
    const auto last_write = std::chrono::sys_seconds(std::chrono::seconds(end));
    std::filesystem::last_write_time(path, std::chrono::file_clock::from_sys(last_write));
    return path;
  };
  CHECK_THROWS_WITH(find_journals(folder / "nothing"), contains_text("does not exist"));
  CHECK_THROWS_WITH(find_journals("a\x1b[31m\nb"),
                    "the log directory or journal 'a\\x1b[31m\\x0ab' does not exist");
  CHECK_THROWS_WITH(find_journals(folder.path()), contains_text("journal.jsonl is looked for"));
  const std::string first_path = write_journal("job_aaaaaaaa", "job", 1000, 2000);
  const std::string second_path = write_journal("job_bbbbbbbb", "job", 1900, 3000);
  const std::string third_path = write_journal("job_cccccccc", "job", 2500, 3100);
  write_journal("job_dddddddd", "job", 100, 900);
  write_journal("old_eeeeeeee", "old", 1000, 3000);
  write(folder / "bad_ffffffff/journal.jsonl", "no record\n");
  CHECK(find_journals(first_path) == std::vector<std::string>{first_path});
  CHECK(find_journals(folder / "job_aaaaaaaa") == std::vector<std::string>{first_path});
  CHECK(find_journals(folder.path()) ==
        std::vector<std::string>{first_path, second_path, third_path});
  CHECK_THROWS_WITH(read_journal(folder.path()), contains_text("is not a file"));
}

TEST_CASE("journal: an empty journal has no records, a whole last line counts", "[telemetry]") {
  CHECK(parse_journal("").records.empty());
  CHECK_FALSE(parse_journal("").is_torn);
  const journal_contents contents = parse_journal("\n" + to_json_line(record_of(1)));
  CHECK(contents.records.size() == 1);
  CHECK_FALSE(contents.is_torn);
}

TEST_CASE("journal: a journal that cannot be read is not taken for an empty one", "[telemetry]") {
  // No page of a process is at address 0, where reading begins.
  CHECK_THROWS_WITH(read_journal("/proc/self/mem"),
                    "the journal '/proc/self/mem' cannot be read: Input/output error");
}

TEST_CASE("journal: a file without a line end is a torn record or none", "[telemetry]") {
  const test::temporary_directory folder;
  const std::string line = to_json_line(record_of(1));
  write(folder / "torn", line.substr(0, line.size() / 2));
  CHECK(read_journal(folder / "torn").is_torn);
  write(folder / "other",
        "\x7f"
        "ELF");
  CHECK_THROWS_WITH(read_journal(folder / "other"), contains_text("is not a journal"));
  write(folder / "damaged", line + "\n" + std::string(100, '\0'));
  const journal_contents damaged = read_journal(folder / "damaged");
  CHECK(damaged.records.size() == 1);
  CHECK(damaged.refused_lines == 1);
  CHECK_FALSE(damaged.is_torn);
}

}  // namespace journal_file_tests
