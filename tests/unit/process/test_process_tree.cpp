// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/limits.hpp>
#include <elastic/process/detail/process_tree.hpp>
#include <elastic/process/detail/tree_usage.hpp>
#include <support/catch.hpp>

#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

namespace elastic {
namespace {

// A line of /proc/<pid>/stat with this name and the rest as the kernel writes it.
std::string stat_line(const std::string& name) {
  return "4711 (" + name +
         ") S 12 4700 4699 34816 4711 4194304 1 2 3 4 5 6 7 8 20 0 9 0 123456 1 2 3\n";
}

detail::process_entry tree_entry(pid_t pid, pid_t parent, pid_t session, char state = 'S') {
  detail::process_entry entry;
  entry.pid = pid;
  entry.parent = parent;
  entry.group = session;
  entry.session = session;
  entry.state = state;
  return entry;
}

std::vector<pid_t> pids_of(const std::vector<detail::process_entry>& entries) {
  std::vector<pid_t> pids;
  for (const detail::process_entry& entry : entries) pids.push_back(entry.pid);
  return pids;
}

TEST_CASE("process_tree: reads a line of the process table whatever the name is", "[process]") {
  for (const std::string name : {"sh", "", "a b", ")", "(", "a) S 1 1 1 (b", "x\ny", "((()) R 7"}) {
    CAPTURE(name);
    const auto entry = detail::parse_process_stat(stat_line(name));
    REQUIRE(entry);
    CHECK(entry->pid == 4711);
    CHECK(entry->state == 'S');
    CHECK(entry->parent == 12);
    CHECK(entry->group == 4700);
    CHECK(entry->session == 4699);
    CHECK(entry->threads == 9);
    CHECK(entry->start_time == 123456);
    CHECK(entry->processor_ticks == 5 + 6 + 7 + 8);
  }
}

TEST_CASE("process_tree: what is not a line of the process table is refused", "[process]") {
  const std::string line = stat_line("sh");
  for (std::size_t size = 0; size < line.find(" 123456"); ++size) {
    CAPTURE(size);
    CHECK_FALSE(detail::parse_process_stat(line.substr(0, size)));
  }
  CHECK_FALSE(
      detail::parse_process_stat("x (sh) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"));
  CHECK_FALSE(
      detail::parse_process_stat("1 (sh) SS 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19"));
  CHECK_FALSE(detail::parse_process_stat(") 1 ( S 1 2 3"));
}

TEST_CASE("process_tree: one whose first thread alone has ended is alive", "[process]") {
  detail::process_entry entry = tree_entry(5, 1, 5, 'Z');
  CHECK(entry.dead());
  entry.threads = 2;
  CHECK_FALSE(entry.dead());
}

TEST_CASE("process_tree: a tree is the session, the roots and the descendants of both",
          "[process]") {
  const std::vector<detail::process_entry> entries = {
      tree_entry(1, 0, 1),         tree_entry(10, 1, 10),   // the leader
      tree_entry(11, 10, 10),      tree_entry(12, 11, 12),  // a child; its setsid child
      tree_entry(13, 12, 13),                               // of that a further session
      tree_entry(14, 1, 10),                                // an orphan of the session
      tree_entry(20, 1, 20),       tree_entry(21, 20, 20),  // a root that was noted, its child
      tree_entry(15, 11, 10, 'Z'), tree_entry(30, 1, 30),  tree_entry(31, 30, 30),
  };
  CHECK(pids_of(detail::select_tree(entries, 10, {20})) ==
        std::vector<pid_t>{10, 11, 14, 20, 12, 21, 13});
  CHECK(pids_of(detail::select_tree(entries, 10, {})) == std::vector<pid_t>{10, 11, 14, 12, 13});
  CHECK(pids_of(detail::select_tree(entries, 0, {20})) == std::vector<pid_t>{20, 21});
  CHECK(detail::select_tree(entries, 0, {}).empty());
}

TEST_CASE("process_tree: entries without a session are nobody's", "[process]") {
  // Kernel threads: session 0.
  CHECK(detail::select_tree({tree_entry(2, 0, 0), tree_entry(3, 2, 0)}, 0, {}).empty());
}

TEST_CASE("process_tree: a process that is its own parent does not loop", "[process]") {
  CHECK(detail::select_tree({tree_entry(7, 7, 7)}, 7, {7}).size() == 1);
}

TEST_CASE("process_tree: this process is in the table of the machine", "[process]") {
  const auto self = detail::read_process(::getpid());
  REQUIRE(self);
  CHECK(self->parent == ::getppid());
  CHECK(self->session == ::getsid(0));
  const std::vector<detail::process_entry> entries = detail::read_processes();
  CHECK(std::count_if(entries.begin(), entries.end(), [&](const detail::process_entry& entry) {
          return entry.pid == self->pid;
        }) == 1);
  CHECK_FALSE(detail::read_process(-5));
  CHECK(detail::read_children(-5).empty());
}

TEST_CASE("process_tree: what a tree uses", "[process]") {
  const auto usage = detail::look_at_tree(::getpid(), 1000);
  REQUIRE(usage);
  CHECK(usage->processes >= 1);
  CHECK_FALSE(usage->is_cut);
  CHECK(usage->stopped == 0);
  // One more file is one too many: there is the list of children of at least one thread.
  const auto cut_usage = detail::look_at_tree(::getpid(), 1);
  REQUIRE(cut_usage);
  CHECK(cut_usage->processes == 1);
  CHECK(cut_usage->is_cut);
  CHECK_FALSE(detail::look_at_tree(0, 1000));
  CHECK_FALSE(detail::look_at_tree(2'000'000'000, 1000));
}

TEST_CASE("process_tree: a command line is shown in one line", "[process]") {
  using namespace std::string_literals;
  CHECK(detail::shown_command("sleep\0001000\0"s) == "sleep 1000");
  CHECK(detail::shown_command("a\x1b[31m\0b\nc\x7f\0"s) == "a\\x1b[31m b\\x0ac\\x7f");
  CHECK(detail::shown_command("\0\0"s).empty());
  CHECK(detail::shown_command(std::string(500, 'x')).size() == limits::shown_command_bytes);
}

}  // namespace
}  // namespace elastic
