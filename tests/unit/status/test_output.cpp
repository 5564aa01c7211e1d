// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The output of a job's workers for readers: from a file to the node that shows the job.

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/detail/internals.hpp>
#include <elastic/status/detail/job_monitor_core.hpp>
#include <elastic/status/detail/node_report.hpp>
#include <elastic/status/detail/output_desk.hpp>
#include <elastic/status/detail/output_feed.hpp>
#include <elastic/status/detail/output_message.hpp>
#include <elastic/status/detail/output_sender.hpp>
#include <elastic/status/detail/status_answer.hpp>
#include <elastic/status/detail/stream_reader.hpp>
#include <elastic/status/detail/viewed_job.hpp>
#include <elastic/status/status_server.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <support/catch.hpp>
#include <support/http_peer.hpp>
#include <support/journal_story.hpp>
#include <support/manual_time.hpp>
#include <support/run_program.hpp>
#include <support/slow_clock.hpp>

#include <sys/stat.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace output_tests {

using elastic::errc;
using elastic::detail::job_monitor_core;
using elastic::detail::job_roster;
using elastic::detail::lacking_stdout;
using elastic::detail::node_presence;
using elastic::detail::output_desk;
using elastic::detail::output_feed;
using elastic::detail::output_gaps;
using elastic::detail::output_piece;
using elastic::detail::output_reading;
using elastic::detail::output_report;
using elastic::detail::output_request;
using elastic::detail::output_sender;
using elastic::detail::output_source;
using elastic::detail::output_stage;
using elastic::detail::parse_output_query;
using elastic::detail::parse_output_report;
using elastic::detail::parse_output_request;
using elastic::detail::report_demand;
using elastic::detail::stream_reader;
using elastic::detail::viewed_job;
using elastic::test::contains_text;
using elastic::test::http_peer;
using elastic::test::journal_story;
using elastic::test::temporary_directory;
namespace limits = elastic::limits;

constexpr std::size_t much = 16 * 1024 * 1024;

/// A log file that a worker writes.
struct written_file {
  explicit written_file(std::string where) : path(std::move(where)) { write(""); }
  void write(const std::string& text) const { std::ofstream(path, std::ios::app) << text; }
  void rotate() const {
    int last = 0;
    while (std::filesystem::exists(name(last + 1))) ++last;
    for (int number = last; number >= 0; --number) {
      std::filesystem::rename(name(number), name(number + 1));
    }
    write("");
  }
  std::string name(int number) const {
    return number == 0 ? path : fmt::format("{}.{}", path, number);
  }
  output_source source(std::int64_t rank = 0, bool is_err = false) const {
    return {rank, is_err, 1, path};
  }

  std::string path;
};

/// Waits until files get another date: that of a clock that ticks every few milliseconds.
void wait_for_tick() {
  const auto tick = [] {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return std::pair(now.tv_sec, now.tv_nsec);
  };
  for (const auto before = tick(); tick() == before;) std::this_thread::yield();
}

/// Everything that can be read now.
std::string read_all(stream_reader& reader, const output_source& source) {
  std::string text;
  do {
    reader.read(source, false);
    text += reader.take(much);
  } while (!reader.is_at_end());
  return text;
}

// ---- what is read -------------------------------------------------------------------------------

TEST_CASE("output: a reading is the same after it was a query", "[status]") {
  output_reading reading;
  CHECK(parse_output_query(to_query(reading)) == reading);
  reading.ranks = {{0, 7}, {12, 12}};
  reading.has_out = false;
  reading.lines = 0;
  reading.follows = true;
  CHECK(parse_output_query(to_query(reading)) == reading);
  CHECK(reading.wants(12, true));
  CHECK_FALSE(reading.wants(8, true));
  CHECK_FALSE(reading.wants(7, false));
  CHECK(parse_output_query("") == output_reading());
  // The longest text of ranks is not longer for the other nodes.
  std::string ranks = "1";
  while (ranks.size() + 2 <= limits::read_ranks_bytes) ranks += ",1";
  const output_reading many = parse_output_query("ranks=" + ranks);
  CHECK(parse_output_query(to_query(many)) == many);
}

TEST_CASE("output: a query that cannot be meant is refused by what is allowed", "[status]") {
  const auto [query, word] = GENERATE(table<std::string, std::string>(
      {{"ranks=a", "0-7,12"},
       {"ranks=3-1", "0-7,12"},
       {"ranks=-1", "0-7,12"},
       {"ranks=1,", "0-7,12"},
       {"ranks=1000000", "999999"},
       {"ranks=" + std::string(limits::read_ranks_bytes + 1, '1'), "1024 bytes"},
       {"stream=both", "stdout or stderr"},
       {"lines=-1", "0 to 10000"},
       {"lines=10001", "0 to 10000"},
       {"lines=1x", "0 to 10000"}}));
  INFO(query);
  CHECK_THROWS_WITH(parse_output_query(query), contains_text(word));
}

// ---- one stream ---------------------------------------------------------------------------------

TEST_CASE("output: a reader begins with the last lines and goes on", "[status]") {
  const temporary_directory folder;
  const written_file file(folder / "out");
  file.write("one\ntwo\nthree\n");
  stream_reader reader(2);
  CHECK(read_all(reader, file.source()) == "two\nthree\n");
  file.write("fo");
  CHECK(read_all(reader, file.source()).empty());
  file.write("ur\r\nfive\rsix\n");
  CHECK(read_all(reader, file.source()) == "four\nfive\nsix\n");
  CHECK(reader.take_skipped() == 0);
}

TEST_CASE("output: what has no line end is the last line once the stream has ended", "[status]") {
  const temporary_directory folder;
  const written_file file(folder / "out");
  file.write("one\ntwo\nthree");
  stream_reader open(2);
  CHECK(read_all(open, file.source()) == "one\ntwo\n");
  open.read(file.source(), true);
  CHECK(open.take(much) == "three\n");
  stream_reader ended(2);
  ended.read(file.source(), true);
  CHECK(ended.take(much) == "two\nthree\n");
}

TEST_CASE("output: a reader may begin with no line, or with all", "[status]") {
  const temporary_directory folder;
  const written_file file(folder / "out");
  file.write("one\ntwo\n");
  stream_reader none(0);
  CHECK(read_all(none, file.source()).empty());
  stream_reader all(std::nullopt);
  CHECK(read_all(all, file.source()) == "one\ntwo\n");
  file.write("three\n");
  CHECK(read_all(none, file.source()) == "three\n");
}

TEST_CASE("output: a reader follows a file that is rotated, truncated and removed", "[status]") {
  const temporary_directory folder;
  const written_file file(folder / "out");
  stream_reader reader(10);
  file.write("one\n");
  CHECK(read_all(reader, file.source()) == "one\n");
  file.write("two\n");
  file.rotate();
  file.write("three\n");
  CHECK(read_all(reader, file.source()) == "two\nthree\n");
  std::filesystem::resize_file(file.path, 0);
  file.write("4\n");
  CHECK(read_all(reader, file.source()) == "4\n");
  std::filesystem::remove_all(std::filesystem::path(file.path));
  CHECK(read_all(reader, file.source()).empty());
  file.write("five\n");
  CHECK(read_all(reader, file.source()) == "five\n");
}

TEST_CASE("output: of a file that is rotated again and again, a reader misses no line",
          "[status]") {
  const temporary_directory folder;
  const written_file file(folder / "out");
  stream_reader reader(10);
  file.write("one\n");
  CHECK(read_all(reader, file.source()) == "one\n");
  for (const char* line : {"two\n", "three\n", "four\n"}) {
    file.write(line);
    file.rotate();
  }
  CHECK(read_all(reader, file.source()) == "two\nthree\nfour\n");
  file.write("five\n");
  CHECK(read_all(reader, file.source()) == "five\n");
  // Between the two steps of a rotation there is no file of the name.
  std::filesystem::rename(file.path, file.path + ".0");
  CHECK(read_all(reader, file.source()).empty());
  file.write("six\n");
  CHECK(read_all(reader, file.source()) == "six\n");
  // The file that was read is gone: it begins with the newest, and repeats none of the others.
  std::ofstream(folder / "next") << "seven\n";
  std::filesystem::rename(folder / "next", file.path);
  CHECK(read_all(reader, file.source()) == "seven\n");
  CHECK(reader.take_skipped() == 0);
}

TEST_CASE("output: after a file that is no longer kept, a reader goes on with the oldest one",
          "[status]") {
  const temporary_directory folder;
  const written_file file(folder / "out");
  stream_reader reader(10);
  file.write("one\n");
  CHECK(read_all(reader, file.source()) == "one\n");
  std::size_t left = 0;
  const bool was_behind = GENERATE(false, true);
  if (was_behind) {
    std::string lines;
    while (lines.size() < 2 * limits::read_piece_bytes) {
      lines += fmt::format("line {:010}\n", lines.size());
    }
    file.write(lines);
    reader.read(file.source(), false);
    left = lines.size() - reader.take(much).size();
    CHECK(left == limits::read_piece_bytes);
  }
  wait_for_tick();
  for (const char* line : {"two\n", "three\n", "four\n"}) {
    file.rotate();
    file.write(line);
  }
  std::filesystem::remove(file.name(3));
  CHECK(read_all(reader, file.source()) ==
        "… (log files were removed here: lines may be missing)\ntwo\nthree\nfour\n");
  CHECK(reader.take_skipped() == left);
  file.write("five\n");
  CHECK(read_all(reader, file.source()) == "five\n");
  CHECK(reader.take_skipped() == 0);
}

TEST_CASE("output: what is left of a file that is truncated or removed is counted", "[status]") {
  const temporary_directory folder;
  const written_file file(folder / "out");
  stream_reader reader(10);
  CHECK(read_all(reader, file.source()).empty());
  for (const bool is_removed : {false, true}) {
    file.write(std::string(limits::read_piece_bytes - 1, 'x') + "\n" + "rest\n");
    reader.read(file.source(), false);
    CHECK(reader.take(much).size() < limits::read_piece_bytes);
    is_removed ? static_cast<void>(std::filesystem::remove(file.path))
               : std::filesystem::resize_file(file.path, 0);
    CHECK(read_all(reader, file.source()).empty());
    file.write("next\n");
    CHECK(read_all(reader, file.source()) == "next\n");
    CHECK(reader.take_skipped() == 5);
    std::filesystem::resize_file(file.path, 0);
    CHECK(read_all(reader, file.source()).empty());
  }
}

TEST_CASE("output: a file that is made anew is read from its beginning, whatever its number",
          "[status]") {
  const temporary_directory folder;
  const written_file file(folder / "out");
  stream_reader reader(10);
  for (int attempt = 0; attempt < 20; ++attempt) {
    file.write("the same\n");
    CHECK(read_all(reader, file.source()) == "the same\n");
    std::filesystem::remove(file.path);
    wait_for_tick();
  }
}

TEST_CASE("output: what is not a file has no lines", "[status]") {
  const temporary_directory folder;
  const std::string fifo = folder / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  for (const std::string& path : {fifo, std::string(folder / "none"), std::string(folder / ".")}) {
    stream_reader reader(10);
    CHECK(read_all(reader, {0, false, 1, path}).empty());
    CHECK(reader.is_at_end());
  }
}

TEST_CASE("output: a line is cut where it is too long, and the rest is counted", "[status]") {
  const temporary_directory folder;
  const written_file file(folder / "out");
  stream_reader reader(10);
  const std::size_t more = 200'000;
  file.write(std::string(limits::read_line_bytes, 'x') + std::string(more, 'y') + "\nnext\n");
  const std::string text = read_all(reader, file.source());
  CHECK(text == std::string(limits::read_line_bytes, 'x') +
                    fmt::format(" … ({} bytes more)\nnext\n", more));
  // No character is cut in two, and bytes that are none stay.
  file.write(std::string(limits::read_line_bytes - 1, 'x') + "é!\n\xff\xc3\n");
  CHECK(read_all(reader, file.source()) ==
        std::string(limits::read_line_bytes - 1, 'x') + " … (3 bytes more)\n\xff\xc3\n");
}

TEST_CASE("output: of a line of 300 MB only the end of the file is read", "[status]") {
  const temporary_directory folder;
  const written_file file(folder / "out");
  std::filesystem::resize_file(file.path, 300'000'000);
  file.write("\nlast\n");
  stream_reader reader(10);
  CHECK(read_all(reader, file.source()) == "last\n");
}

TEST_CASE("output: a reader that is far behind skips whole lines and counts them", "[status]") {
  const temporary_directory folder;
  const written_file file(folder / "out");
  stream_reader reader(10);
  file.write("begin\npart");
  CHECK(read_all(reader, file.source()) == "begin\n");
  std::string lines;
  while (lines.size() < 2 * limits::read_backlog_bytes) {
    lines += fmt::format("line {:06}\n", lines.size());
  }
  file.write(lines);
  std::string text = read_all(reader, file.source());
  const std::uint64_t skipped = reader.take_skipped();
  CHECK(text.starts_with("line "));
  CHECK(lines.ends_with(text));
  CHECK(text.size() <= limits::read_backlog_bytes);
  // Of lines that are left out, only what was read before is not counted.
  CHECK(skipped + text.size() == lines.size());
}

TEST_CASE("output: what the agent keeps is followed, from one process to the next", "[status]") {
  stream_reader reader(1);
  output_source source{0, true, 1, "", "two\nthree\n", 20};
  CHECK(read_all(reader, source) == "three\n");
  CHECK(reader.take_skipped() == 0);
  source.kept = "three\nfour\npart";
  source.end = 29;
  CHECK(read_all(reader, source) == "four\n");
  // More was written than is kept.
  source.kept = "nine\n";
  source.end = 100;
  CHECK(read_all(reader, source) == "nine\n");
  CHECK(reader.take_skipped() == 66);
  source.kept = "ten";
  source.end = 103;
  CHECK(read_all(reader, source).empty());
  source = {0, true, 2, "", "anew\n", 5};
  CHECK(read_all(reader, source) == "ten\nanew\n");
}

// ---- all streams of a node ----------------------------------------------------------------------

std::string text_of(const std::vector<output_piece>& pieces) {
  std::string text;
  for (const output_piece& piece : pieces) {
    text += fmt::format("{}{}: {}", piece.rank, piece.is_err ? "e" : "o", piece.text);
  }
  return text;
}

TEST_CASE("output: a feed has the streams that are read, and their last lines", "[status]") {
  const temporary_directory folder;
  const written_file first(folder / "first");
  const written_file second(folder / "second");
  first.write("a\nb");
  second.write("c\n");
  output_reading reading;
  reading.ranks = {{2, 3}};
  output_feed feed(reading);
  const std::vector<output_source> sources{first.source(2), first.source(2, true), second.source(3),
                                           second.source(4)};
  CHECK(text_of(feed.next(sources, much)) == "2o: a\nb\n2e: a\nb\n3o: c\n");
  CHECK(feed.is_drained());
  CHECK_FALSE(feed.lacks_out());
}

TEST_CASE("output: no stream of a feed waits for another that never ends", "[status]") {
  const temporary_directory folder;
  const written_file loud(folder / "loud");
  const written_file quiet(folder / "quiet");
  for (int line = 0; line < 10'000; ++line) loud.write(fmt::format("line {}\n", line));
  quiet.write("word\n");
  output_reading reading;
  reading.lines = limits::read_lines;
  output_feed feed(reading);
  std::string loud_text;
  bool is_heard = false;
  for (int turn = 0; turn < 1000 && !(feed.is_drained() && turn > 0); ++turn) {
    const auto pieces = feed.next({loud.source(0), quiet.source(1)}, 8 * 1024);
    for (const output_piece& piece : pieces) {
      if (piece.rank == 0) loud_text += piece.text;
      is_heard = is_heard || piece.rank == 1;
    }
    if (turn == 1) CHECK(is_heard);
  }
  CHECK(loud_text.starts_with("line 0\nline 1\n"));
  CHECK(loud_text.ends_with("line 9998\nline 9999\n"));
  CHECK(std::count(loud_text.begin(), loud_text.end(), '\n') == 10'000);
}

TEST_CASE("output: a feed that follows goes on with the files of the next attempt", "[status]") {
  const temporary_directory folder;
  const written_file former(folder / "attempt_0");
  const written_file latter(folder / "attempt_1");
  output_reading reading;
  reading.lines = 1;
  reading.follows = true;
  output_feed feed(reading);
  former.write("a\nb\n");
  CHECK(text_of(feed.next({former.source()}, much)) == "0o: b\n");
  former.write("c\nlast words");
  latter.write("d\ne\n");
  CHECK(text_of(feed.next({latter.source()}, much)) == "0o: c\nlast words\n0o: d\ne\n");
  // There is no agent any more.
  latter.write("f");
  CHECK(text_of(feed.next({}, much)) == "0o: f\n");
  CHECK(feed.is_drained());
  CHECK(feed.next({}, much).empty());
}

TEST_CASE("output: a feed says that stdout is kept nowhere", "[status]") {
  output_source shown;
  shown.is_kept = false;
  output_reading reading;
  output_feed feed(reading);
  CHECK(feed.next({shown}, much).empty());
  CHECK(feed.lacks_out());
  reading.has_out = false;
  output_feed other(reading);
  CHECK(other.next({shown}, much).empty());
  CHECK_FALSE(other.lacks_out());
}

// ---- between nodes ------------------------------------------------------------------------------

TEST_CASE("output: requests and lines are the same after they have travelled", "[status]") {
  output_request request{7, {{1, false, parse_output_query("ranks=3&follow")},
                             {2, true, parse_output_query("stream=stderr")}}};
  const output_request arrived = parse_output_request(to_text(request));
  CHECK(arrived.viewer == 7);
  REQUIRE(arrived.readings.size() == 2);
  CHECK(arrived.readings[0].reading == request.readings[0].reading);
  CHECK(arrived.readings[1].is_paused);
  output_report report{5, {{3, true, 17, "\xff\x1b[2J\"\\\n"}}, output_stage::drained, true};
  const std::string text = to_text(report);
  CHECK(elastic::detail::is_output_report(text));
  const output_report read = parse_output_report(text);
  CHECK(read.id == 5);
  CHECK(read.stage == output_stage::drained);
  CHECK(read.lacks_out);
  REQUIRE(read.pieces.size() == 1);
  CHECK(read.pieces[0].rank == 3);
  CHECK(read.pieces[0].is_err);
  CHECK(read.pieces[0].begin == 17);
  CHECK(read.pieces[0].text == report.pieces[0].text);
}

TEST_CASE("output: whatever lines there are, they fit into a report", "[status]") {
  const temporary_directory folder;
  const auto length = GENERATE(std::size_t{1}, std::size_t{10}, limits::read_line_bytes,
                               2 * limits::read_line_bytes);
  std::vector<written_file> files;
  std::vector<output_source> sources;
  for (int rank = 0; rank < 300; ++rank) {
    files.emplace_back(folder / std::to_string(rank));
    files.back().write(std::string(length, 'x') + "\n");
    sources.push_back(files.back().source(999'000 + rank));
  }
  output_feed feed{output_reading()};
  const auto pieces_of_all = [&] {
    std::size_t pieces = 0;
    do {
      output_report report{1, feed.next(sources, elastic::detail::output_report_lines_bytes)};
      pieces += report.pieces.size();
      const std::string text = to_text(report);
      CHECK(text.size() <= limits::node_report_bytes);
      CHECK(parse_output_report(text).pieces.size() == report.pieces.size());
    } while (!feed.is_drained());
    return pieces;
  };
  CHECK(pieces_of_all() == files.size());
  CHECK(pieces_of_all() == 0);
  feed.restate();
  CHECK(pieces_of_all() == files.size());
}

TEST_CASE("output: a message that is none is refused", "[status]") {
  std::string many = "7";
  for (std::size_t count = 0; count < limits::output_readers; ++count) many += " 1 0 follow";
  CHECK(parse_output_request(many).readings.size() == limits::output_readers);
  const std::string too_many = many + " 1 0 follow";
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("-1"), std::string("1 2"),
        std::string("1 2 3 follow"), std::string("1 2 0 ranks=x"), too_many,
        "1 2 0 " + std::string(limits::output_demand_bytes, 'x')}) {
    INFO(text);
    CHECK_THROWS_AS(parse_output_request(text), elastic::error);
  }
  for (const char* text :
       {"", "output", "output ", "output 1", "output 1 0", "output 1 0 2", "output 1 3 0",
        "output -1 0 0", "output 1 0 0 0", "output 1 0 0 0 0", "output 1 0 0  0 0 Cg==",
        "output 1 0 0 0 0 0 =", "output 1 0 0 0 0 0 eA==",
        "output 1 0 0 0 0 -1 Cg==", "output 1 0 0 0 2 0 Cg==",
        "output 1 0 0 0 0 9223372036854775807 Cg==", "output 1 0 0 -1 0 0 Cg==",
        "output 1 0 0 1000000 0 0 Cg==", "{\"output\": 1, \"pieces\": []}"}) {
    INFO(text);
    CHECK_THROWS_AS(parse_output_report(text), elastic::error);
  }
  const std::string longer(limits::node_report_bytes, ' ');
  CHECK_THROWS_AS(parse_output_report("output 1 0 0" + longer), elastic::error);
}

job_roster roster_of(std::vector<std::int64_t> keys) {
  job_roster roster;
  for (const std::int64_t key : keys) {
    roster.nodes.push_back(
        {key, "host", fmt::format("node{}", key), node_presence::active, static_cast<int>(key)});
  }
  return roster;
}

/// The nodes 1 and 2, of which 1 is this one.
viewed_job job_of_two() {
  viewed_job job;
  job.take(roster_of({1, 2}), 0);
  for (const std::int64_t key : {1, 2}) {
    elastic::detail::node_report report;
    report.epoch = key;
    job.take(key, report, 1, 0);
  }
  return job;
}

TEST_CASE("output: whatever is missing between pieces of a stream is counted", "[status]") {
  output_gaps gaps;
  CHECK(gaps.take({3, false, 0, "one\n"}) == 0);
  CHECK(gaps.take({3, true, 10, "err\n"}) == 10);
  CHECK(gaps.take({3, false, 4, "two\n"}) == 0);
  CHECK(gaps.take({3, false, 12, "four\n"}) == 4);
  CHECK(gaps.take({3, false, 20, ""}) == 3);
  CHECK(gaps.take({3, false, 20, "five\n"}) == 0);
  // The rank now runs on another node.
  CHECK(gaps.take({3, false, 0, "anew\n"}) == 0);
  CHECK(gaps.take({3, false, 2, "anew\n"}) == 2);
}

TEST_CASE("output: a desk waits for the other nodes, unless they are lost", "[status]") {
  viewed_job job = job_of_two();
  output_desk desk;
  CHECK(desk.demand(1).empty());
  const std::int64_t id = desk.begin(output_reading(), job, 1);
  CHECK(parse_output_request(desk.demand(1)).readings.size() == 1);
  CHECK(desk.collect(id, job).awaited == std::vector<std::string>{"node2"});
  desk.take(2, {id, {{8, false, 0, "a\n"}}, output_stage::behind, true});
  const auto delivery = desk.collect(id, job);
  CHECK(delivery.pieces.size() == 1);
  CHECK(delivery.notices == std::vector<std::string>{std::string(lacking_stdout)});
  CHECK(delivery.awaited.size() == 1);
  SECTION("it has sent all") { desk.take(2, {id, {}, output_stage::drained}); }
  SECTION("it is lost, which the reader is told") {
    job_roster roster = roster_of({1, 2});
    roster.nodes[1].presence = node_presence::lost;
    job.take(roster, 1);
    const auto notices = desk.collect(id, job).notices;
    REQUIRE(notices.size() == 2);
    CHECK(notices[1] == "the node node2 is lost: lines that it had not sent yet are missing");
  }
  SECTION("this node serves no longer") { desk.lose_nodes(); }
  CHECK(desk.collect(id, job).awaited.empty());
  CHECK(desk.collect(id, job).pieces.empty());
  desk.end(id);
  CHECK(desk.demand(1).empty());
  desk.take(2, {id, {{8, false, 0, "late\n"}}});
  CHECK(desk.collect(id, job).pieces.empty());
}

TEST_CASE("output: a reader who does not read makes nodes pause, and costs bounded memory",
          "[status]") {
  const viewed_job job = job_of_two();
  output_desk desk;
  const std::int64_t id = desk.begin(output_reading(), job, 1);
  const auto is_paused = [&] {
    return parse_output_request(desk.demand(1)).readings.at(0).is_paused;
  };
  const std::string piece = std::string(GENERATE(std::size_t{0}, std::size_t{8191}), 'x') + "\n";
  std::uint64_t sent = 0;
  for (; sent / piece.size() < 100'000 && sent < 4 * limits::output_queue_bytes;
       sent += piece.size()) {
    desk.take(2, {id, {{8, false, sent, piece}, {9, true, 0, ""}}});
    if (sent == 0) CHECK_FALSE(is_paused());
  }
  CHECK(is_paused());
  std::uint64_t memory = 0;
  std::uint64_t read = 0;
  std::uint64_t skipped = 0;
  output_gaps gaps;
  for (;;) {
    const auto delivery = desk.collect(id, job);
    if (delivery.pieces.empty()) break;
    for (const output_piece& each : delivery.pieces) {
      memory += sizeof each + each.text.size();
      read += each.text.size();
      skipped += gaps.take(each);
    }
  }
  CHECK_FALSE(is_paused());
  CHECK(memory <= limits::output_queue_bytes);
  CHECK(read + skipped == sent);
}

TEST_CASE("output: nothing is dropped of what 64 nodes send until they have paused", "[status]") {
  const viewed_job job = job_of_two();
  output_desk desk;
  const std::int64_t id = desk.begin(output_reading(), job, 1);
  const std::string line =
      std::string(elastic::detail::output_report_lines_bytes - 1, 'x') + "\n";
  std::map<std::int64_t, std::uint64_t> ends;
  const auto send = [&](std::int64_t node) {
    std::uint64_t& end = ends[node];
    desk.take(node, {id, {{node, false, end, line}}});
    end += line.size();
  };
  for (std::int64_t count = 0; !parse_output_request(desk.demand(1)).readings.at(0).is_paused;) {
    send(++count % 64);
  }
  for (std::int64_t count = 0; count < 64 * limits::node_reports_at_once; ++count) send(count % 64);
  output_gaps gaps;
  for (;;) {
    const auto delivery = desk.collect(id, job);
    if (delivery.pieces.empty()) break;
    for (const output_piece& each : delivery.pieces) CHECK(gaps.take(each) == 0);
  }
}

TEST_CASE("output: a desk waits for the end of the nodes that a reader follows", "[status]") {
  const viewed_job job = job_of_two();
  output_desk desk;
  CHECK_FALSE(desk.awaits_end(job));
  const std::int64_t once = desk.begin(output_reading(), job, 1);
  CHECK_FALSE(desk.awaits_end(job));
  const std::int64_t id = desk.begin(parse_output_query("follow"), job, 1);
  CHECK(desk.awaits_end(job));
  desk.take(2, {once, {}, output_stage::ended});
  desk.take(2, {id, {}, output_stage::drained});
  CHECK(desk.awaits_end(job));
  desk.take(2, {id, {{8, false, 0, "last\n"}}, output_stage::ended});
  CHECK_FALSE(desk.awaits_end(job));
  CHECK(desk.collect(id, job).pieces.size() == 1);
}

TEST_CASE("output: there are only so many readers", "[status]") {
  const viewed_job job;
  output_desk desk;
  std::vector<std::int64_t> ids;
  for (std::size_t count = 0; count < limits::output_readers; ++count) {
    ids.push_back(desk.begin(output_reading(), job, 7));
    CHECK(ids.back() > 7);
  }
  CHECK(desk.begin(output_reading(), job, 7) == 0);
  desk.end(ids[3]);
  CHECK(desk.begin(output_reading(), job, 7) > ids.back());
}

TEST_CASE("output: a monitor asks while somebody reads, and never itself", "[status]") {
  elastic::job_journal::options options;
  options.node = "host1";
  elastic::job_journal journal(options);
  const auto host = std::make_shared<job_monitor_core>(nullptr);
  const auto peer = std::make_shared<job_monitor_core>(nullptr);
  journal_story story;
  story.begin();
  for (elastic::journal_record record : story.records) {
    record.epoch = 5;
    host->take(record);
    record.epoch = 6;
    peer->take(record);
  }
  int demands = 0;
  int wakes = 0;
  int reports = 0;
  host->begin_serving(&demands, [&] { ++demands; });
  peer->on_output_demand([&] { ++wakes; });
  peer->on_report([&] { ++reports; });
  peer->demanded(report_demand::changes);
  while (!peer->next_report().empty()) {
  }
  const int before = reports;
  CHECK(host->output_demand().empty());
  auto opened = host->begin_reading(parse_output_query("follow"));
  REQUIRE(opened);
  CHECK(demands == 1);
  host->demanded_output(host->output_demand());
  CHECK(host->wanted_output().readings.empty());
  peer->demanded_output(host->output_demand());
  CHECK(wakes == 1);
  REQUIRE(peer->wanted_output().readings.size() == 1);
  const std::int64_t id = peer->wanted_output().readings[0].id;
  CHECK(id == *opened);
  peer->send_output(to_text(output_report{id, {{3, false, 0, "word\n"}}}));
  CHECK(peer->has_unsent_output());
  CHECK(reports == before + 1);
  host->reported(2, peer->next_report());
  CHECK_FALSE(peer->has_unsent_output());
  CHECK(host->collect_output(id).pieces.size() == 1);
  opened.reset();
  CHECK(demands == 2);
  CHECK(host->output_demand().empty());
  peer->demanded_output("");
  CHECK(wakes == 2);
  CHECK(peer->wanted_output().readings.empty());
  // Nobody reads: nothing is kept, and nobody is woken.
  peer->send_output(to_text(output_report{id, {{3, false, 0, "late\n"}}}));
  CHECK_FALSE(peer->has_unsent_output());
  peer->demanded_output("");
  CHECK(wakes == 2);
}

TEST_CASE("output: a reader on a node that does not show the job is told so", "[status]") {
  job_monitor_core monitor(nullptr);
  const auto opened = monitor.begin_reading(output_reading());
  REQUIRE(opened);
  CHECK(monitor.collect_output(*opened).notices.empty());
  monitor.demanded(report_demand::changes);
  const auto notices = monitor.collect_output(*opened).notices;
  REQUIRE(notices.size() == 1);
  CHECK(notices[0] == "another node shows the whole job: these are the lines of this one");
  // It leads from now on.
  monitor.begin_serving(&monitor, {});
  monitor.listed(roster_of({1}));
  CHECK(monitor.collect_output(*opened).notices.empty());
}

/// A node whose worker of rank 3 writes to a file, and the connection to the node that shows the
/// job and has one reader.
struct sending_node {
  sending_node() {
    elastic::agent_part::context agent;
    agent.strand = context.get_executor();
    agent.time = time.share();
    tails->open(
        agent.strand, [](std::int64_t) { return std::nullopt; },
        [this] {
          return elastic::detail::output_sources{{file.source(3)}, false};
        });
    sender = std::make_shared<output_sender>(monitor, tails, agent);
    sender->start();
  }
  ~sending_node() { time.run(sender->close()); }

  void connect() {
    monitor->demanded(report_demand::changes);
    monitor->demanded_output(desk.demand(1));
  }
  void write(const std::string& text) {
    file.write(text);
    time.run_for(std::chrono::seconds(1));
  }

  /// What the node has ready to send.
  std::vector<std::string> reports() const {
    std::vector<std::string> texts;
    for (std::string text; !(text = monitor->next_report()).empty();) texts.push_back(text);
    return texts;
  }

  /// What the reader gets: the lines, and before them "-N-" for N bytes that are missing.
  std::string read() {
    for (const std::string& text : reports()) {
      if (elastic::detail::is_output_report(text)) desk.take(2, parse_output_report(text));
    }
    std::string shown;
    for (const output_piece& piece : desk.collect(id, job).pieces) {
      if (const auto missing = gaps.take(piece)) shown += fmt::format("-{}-", missing);
      shown += piece.text;
    }
    return shown;
  }

  temporary_directory folder;
  written_file file{folder / "out"};
  asio::io_context context;
  elastic::test::manual_time time{context};
  std::shared_ptr<elastic::detail::output_tails> tails =
      std::make_shared<elastic::detail::output_tails>();
  std::shared_ptr<job_monitor_core> monitor = std::make_shared<job_monitor_core>(nullptr);
  std::shared_ptr<output_sender> sender;
  viewed_job job = job_of_two();
  output_desk desk;
  output_gaps gaps;
  std::int64_t id = desk.begin(parse_output_query("follow"), job, 1);
};

TEST_CASE("output: lines that are lost with a connection are counted, and no line comes twice",
          "[status]") {
  sending_node node;
  node.file.write("one\n");
  node.connect();
  node.write("two\n");
  CHECK(node.read() == "one\ntwo\n");
  CHECK(node.desk.collect(node.id, node.job).awaited.empty());
  node.write("waits\n");
  SECTION("they were on their way") {
    CHECK(node.reports().size() == 1);
    node.monitor->demanded(report_demand::nothing);
    node.connect();
    SECTION("and others follow") {
      node.write("three\n");
      CHECK(node.read() == "-6-three\n");
    }
    SECTION("and none follows") {
      node.time.run_for(std::chrono::seconds(1));
      CHECK(node.read() == "-6-");
    }
  }
  SECTION("they had not been sent yet, so they are not lost") {
    node.monitor->demanded(report_demand::nothing);
    node.connect();
    CHECK(node.read() == "waits\n");
    node.write("three\n");
    CHECK(node.read() == "three\n");
  }
}

TEST_CASE("output: the last lines are sent before the node leaves", "[status]") {
  sending_node node;
  node.connect();
  node.write("one\n");
  CHECK(node.read() == "one\n");
  node.file.write("two\nthree");
  std::string last;
  node.context.restart();
  asio::co_spawn(node.context, node.sender->end(), [](std::exception_ptr) {});
  for (int part = 0; part < 4; ++part) {
    node.time.run_for(limits::node_report_pause);
    last += node.read();
  }
  CHECK(last == "two\nthree\n");
  CHECK_FALSE(node.desk.awaits_end(node.job));
}

TEST_CASE("output: of two readers who cannot get all, each gets lines", "[status]") {
  sending_node node;
  const std::int64_t other = node.desk.begin(parse_output_query("follow"), node.job, 1);
  node.connect();
  std::size_t reports = 0;
  std::size_t of_other = 0;
  // More than is sent in a second.
  std::string lines;
  while (lines.size() < limits::read_backlog_bytes) lines += "a line that is long enough\n";
  for (int second = 0; second < 10; ++second) {
    node.file.write(lines);
    for (int part = 0; part < 10; ++part) {
      node.time.run_for(limits::node_report_pause);
      for (int count = 0; count < limits::node_reports_at_once; ++count) {
        const std::string text = node.monitor->next_report();
        if (!elastic::detail::is_output_report(text)) continue;
        ++reports;
        if (parse_output_report(text).id == other) ++of_other;
      }
    }
  }
  CHECK(reports > 100);
  CHECK(of_other > reports / 3);
  CHECK(of_other < reports * 2 / 3);
}

TEST_CASE("output: lines for one viewer never come to a reader of the next", "[status]") {
  sending_node node;
  node.connect();
  node.write("for the first\n");
  // Another node leads; its first reader wants no line that is there.
  node.desk = output_desk();
  elastic::detail::output_reading fresh = parse_output_query("follow&lines=0");
  node.id = node.desk.begin(fresh, node.job, 1000);
  node.monitor->demanded(report_demand::nothing);
  node.connect();
  CHECK(node.read().empty());
  node.time.run_for(std::chrono::seconds(1));
  CHECK(node.read().empty());
  node.write("for the second\n");
  CHECK(node.read() == "for the second\n");
}

// ---- the status server --------------------------------------------------------------------------

/// A server of a job whose worker of rank 3 has written to a file.
struct served_job {
  served_job(const std::string& address, const std::string& token) {
    file.write("one\ntwo\n\xff\n");
    elastic::status_server::options settings;
    settings.address = elastic::parse_status_address(address);
    settings.journal = std::make_shared<elastic::job_journal>(elastic::job_journal::options());
    settings.monitor = std::make_shared<elastic::job_monitor>();
    settings.token = token;
    // On a busy machine the last words may take longer than the server waits.
    settings.time = std::make_shared<elastic::test::slow_clock>(5);
    elastic::detail::internals::of(settings).tails = tails;
    tails->open(
        context.get_executor(), [](std::int64_t) { return std::nullopt; },
        [this] {
          return elastic::detail::output_sources{{file.source(3)}, false};
        });
    server.emplace(context.get_executor(), std::move(settings));
    thread = std::thread([this] { context.run(); });
  }
  ~served_job() {
    asio::co_spawn(context, server->stop(), [](std::exception_ptr) {});
    thread.join();
  }
  std::uint16_t port() const { return server->address().tcp.port; }

  temporary_directory folder;
  written_file file{folder / "out"};
  std::shared_ptr<elastic::detail::output_tails> tails =
      std::make_shared<elastic::detail::output_tails>();
  asio::io_context context{1};
  std::optional<elastic::status_server> server;
  std::thread thread;
};

TEST_CASE("output: over TCP it is shown only to who has a token", "[status]") {
  const std::string token = "0123456789abcdef";
  const std::string shown = "Authorization: Bearer " + token + "\r\n";
  const std::string target = "/api/v1/output?lines=2";
  {
    const served_job open("127.0.0.1:0", "");
    CHECK(http_peer(open.port()).get("/api/v1/job").starts_with("HTTP/1.1 200"));
    CHECK(http_peer(open.port()).get(target).starts_with("HTTP/1.1 403"));
  }
  const served_job closed("127.0.0.1:0", token);
  CHECK(http_peer(closed.port()).get(target).starts_with("HTTP/1.1 401"));
  http_peer reader(closed.port());
  CHECK(reader.get(target, shown).starts_with("HTTP/1.1 200"));
  const std::string events = reader.rest();
  CHECK(events == "data: {\"rank\": 3, \"stream\": \"stdout\", \"base64\": \"dHdvCv8K\"}\n\n"
                  "event: end\ndata: {}\n\n");
  CHECK(http_peer(closed.port()).get("/api/v1/output?lines=x", shown).starts_with("HTTP/1.1 400"));
}

TEST_CASE("output: a follower gets lines as they are written, up to the end of the job",
          "[status]") {
  const temporary_directory folder;
  const std::string path = folder / "socket";
  std::optional<http_peer> reader;
  {
    served_job job("unix:" + path, "");
    reader.emplace(path);
    CHECK(reader->get("/api/v1/output?lines=1&follow").starts_with("HTTP/1.1 200"));
    CHECK_THAT(reader->read_to("\n\n"), contains_text("\"base64\": \"/wo=\""));
    job.file.write("first\n");
    CHECK_THAT(reader->read_to("\n\n"), contains_text("\"text\": \"first\\n\""));
    job.file.write("second\n");
    CHECK_THAT(reader->read_to("\n\n"), contains_text("\"text\": \"second\\n\""));
  }
  CHECK(reader->rest() == "event: end\ndata: {}\n\n");
}

TEST_CASE("output: one reader too many is refused", "[status]") {
  const temporary_directory folder;
  const std::string path = folder / "socket";
  const served_job job("unix:" + path, "");
  std::vector<std::unique_ptr<http_peer>> readers;
  for (std::size_t count = 0; count < limits::output_readers; ++count) {
    readers.push_back(std::make_unique<http_peer>(path));
    CHECK(readers.back()->get("/api/v1/output?follow").starts_with("HTTP/1.1 200"));
  }
  CHECK(http_peer(path).get("/api/v1/output?follow").starts_with("HTTP/1.1 503"));
  CHECK(http_peer(path).get("/livez").starts_with("HTTP/1.1 200"));
}

}  // namespace output_tests
