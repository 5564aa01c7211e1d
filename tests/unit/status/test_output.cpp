// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The output of a job's workers for readers: from a file to the node that shows the job.

#include <elastic/base/detail/internals.hpp>
#include <elastic/status/detail/job_monitor_core.hpp>
#include <elastic/status/detail/node_report.hpp>
#include <elastic/status/detail/output_desk.hpp>
#include <elastic/status/detail/output_feed.hpp>
#include <elastic/status/detail/output_message.hpp>
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
#include <support/run_program.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
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
using elastic::detail::node_presence;
using elastic::detail::output_desk;
using elastic::detail::output_feed;
using elastic::detail::output_piece;
using elastic::detail::output_reading;
using elastic::detail::output_report;
using elastic::detail::output_request;
using elastic::detail::output_source;
using elastic::detail::parse_output_query;
using elastic::detail::parse_output_report;
using elastic::detail::parse_output_request;
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
    std::filesystem::rename(path, path + ".1");
    write("");
  }
  output_source source(std::int64_t rank = 0, bool is_err = false) const {
    return {rank, is_err, 1, path};
  }

  std::string path;
};

/// Everything that can be read now.
std::string read_all(stream_reader& reader, const output_source& source) {
  std::string text;
  do {
    reader.read(source);
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
  // What is left of the line in the middle of which the rest begins is neither.
  CHECK(skipped + text.size() + std::string("line 0000000\n").size() >=
        std::string("part").size() + lines.size());
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
  output_report report{5, {{3, true, 17, "\xff\x1b[2J\"\\\n"}}, true, true};
  const std::string text = to_text(report);
  CHECK(elastic::detail::is_output_report(text));
  const output_report read = parse_output_report(text);
  CHECK(read.id == 5);
  CHECK(read.is_drained);
  CHECK(read.lacks_out);
  REQUIRE(read.pieces.size() == 1);
  CHECK(read.pieces[0].rank == 3);
  CHECK(read.pieces[0].is_err);
  CHECK(read.pieces[0].skipped == 17);
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
  std::size_t lines = 0;
  do {
    output_report report{1, feed.next(sources, elastic::detail::output_report_lines_bytes)};
    lines += report.pieces.size();
    const std::string text = to_text(report);
    CHECK(text.size() <= limits::node_report_bytes);
    CHECK(parse_output_report(text).pieces.size() == report.pieces.size());
  } while (!feed.is_drained());
  CHECK(lines == files.size());
}

TEST_CASE("output: a message that is none is refused", "[status]") {
  for (const char* text : {"", "{}", "{\"viewer\": 1, \"readings\": [[1, 2, 3]]}",
                           "{\"viewer\": 1, \"readings\": [[1, false, \"ranks=x\"]]}",
                           "{\"viewer\": -1, \"readings\": []}"}) {
    CHECK_THROWS_AS(parse_output_request(text), elastic::error);
  }
  for (const char* text :
       {"", "{\"output\": 1}", "{\"output\": 1, \"pieces\": [[0, false, 0, \"=\"]]}",
        "{\"output\": 1, \"pieces\": [[0, false, 0, \"\"]]}",
        "{\"output\": 1, \"pieces\": [[-1, false, 0, \"Cg==\"]]}",
        "{\"output\": 1, \"pieces\": [[1000000, false, 0, \"Cg==\"]]}"}) {
    CHECK_THROWS_AS(parse_output_report(text), elastic::error);
  }
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

TEST_CASE("output: a desk waits for the other nodes, unless they are lost", "[status]") {
  viewed_job job = job_of_two();
  output_desk desk;
  CHECK(desk.demand(1).empty());
  const std::int64_t id = desk.begin(output_reading(), job);
  CHECK(parse_output_request(desk.demand(1)).readings.size() == 1);
  CHECK(desk.collect(id, job).awaited == std::vector<std::string>{"node2"});
  desk.take(2, {id, {{8, false, 0, "a\n"}}, false, true});
  const auto delivery = desk.collect(id, job);
  CHECK(delivery.pieces.size() == 1);
  CHECK(delivery.lacks_out);
  CHECK(delivery.awaited.size() == 1);
  SECTION("it has sent all") { desk.take(2, {id, {}, true}); }
  SECTION("it is lost") {
    job_roster roster = roster_of({1, 2});
    roster.nodes[1].presence = node_presence::lost;
    job.take(roster, 1);
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
  const std::int64_t id = desk.begin(output_reading(), job);
  const auto is_paused = [&] {
    return parse_output_request(desk.demand(1)).readings.at(0).is_paused;
  };
  const std::string piece = std::string(8191, 'x') + "\n";
  std::uint64_t sent = 0;
  for (int count = 0; count < 2000; ++count, sent += piece.size()) {
    desk.take(2, {id, {{8, count % 2 == 0, 0, piece}, {9, false, 0, "\n"}}});
    if (sent < limits::output_queue_bytes / 4) CHECK_FALSE(is_paused());
  }
  CHECK(is_paused());
  std::uint64_t read = 0;
  std::uint64_t skipped = 0;
  for (;;) {
    const auto delivery = desk.collect(id, job);
    if (delivery.pieces.empty()) break;
    for (const output_piece& each : delivery.pieces) {
      if (each.rank == 9) continue;
      read += each.text.size();
      skipped += each.skipped;
    }
  }
  CHECK_FALSE(is_paused());
  CHECK(read <= limits::output_queue_bytes);
  CHECK(read + skipped == sent);
}

TEST_CASE("output: there are only so many readers", "[status]") {
  const viewed_job job;
  output_desk desk;
  std::vector<std::int64_t> ids;
  for (std::size_t count = 0; count < limits::output_readers; ++count) {
    ids.push_back(desk.begin(output_reading(), job));
    CHECK(ids.back() != 0);
  }
  CHECK(desk.begin(output_reading(), job) == 0);
  desk.end(ids[3]);
  CHECK(desk.begin(output_reading(), job) != 0);
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
  peer->demanded(elastic::detail::report_demand::changes);
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
