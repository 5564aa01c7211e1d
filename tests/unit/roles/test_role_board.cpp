// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What the workers of a job learn about its roles, and which ports they get.

#include <elastic/net/detail/port_lease.hpp>
#include <elastic/roles/detail/role_board.hpp>
#include <elastic/roles/detail/role_post.hpp>

#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>
#include <support/run_program.hpp>

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace role_board_tests {

using elastic::detail::port_lease;
using elastic::detail::role_board;
using elastic::detail::role_post;
using elastic::job_roles;
using revisions = std::vector<std::int64_t>;

/// The board of a trainer and a rollout with two workers.
struct stage {
  stage() {
    board->open("");
    board->listen([this](std::int64_t revision) {
      heard.push_back(revision);
      return true;
    });
  }

  job_roles file() const {
    return elastic::detail::parse_roles(elastic::test::file_text(board->file()));
  }

  /// All that is to happen has happened.
  void settle() {
    context.restart();
    context.run();
  }

  std::shared_ptr<role_post> post_of_rollout(std::set<std::string> ports = {}) {
    return std::make_shared<role_post>(board, 1, 2, std::move(ports),
                                       role_post::place{"node0", "10.0.0.1"});
  }

  asio::io_context context;
  std::shared_ptr<elastic::test::log_recorder> log =
      std::make_shared<elastic::test::log_recorder>();
  std::shared_ptr<role_board> board = std::make_shared<role_board>(
      context.get_executor(), std::vector<std::string>{"trainer", "rollout"}, log->log());
  revisions heard;
};

TEST_CASE("role board: the file is there before any role starts", "[roles]") {
  const stage stage;
  const job_roles first = stage.file();
  CHECK(first.revision == 1);
  REQUIRE(first.roles.size() == 2);
  CHECK(first.roles[0] == job_roles::role{"trainer"});
  CHECK(first.roles[1] == job_roles::role{"rollout"});
}

TEST_CASE("role board: changes of one moment are one, and no change is none", "[roles]") {
  stage stage;
  stage.board->set_state(0, "running");
  stage.board->set_ready(0);
  stage.board->set_workers(1, 3, {{0, 0, "node0", "10.0.0.1"}});
  CHECK(stage.file().revision == 1);
  stage.settle();
  CHECK(stage.heard == revisions{2});
  CHECK(stage.board->revision() == 2);
  CHECK(stage.file().roles[0].state == "running");
  CHECK(stage.file().roles[0].is_ready);
  CHECK(stage.file().roles[1].epoch == 3);
  stage.board->set_state(0, "running");
  stage.settle();
  CHECK(stage.heard == revisions{2});
  stage.board->clear_workers(0);
  stage.settle();
  CHECK(stage.heard == revisions{2, 3});
  CHECK_FALSE(stage.file().roles[0].is_ready);
}

TEST_CASE("role board: in a folder that it was given its file stays, with the last state",
          "[roles]") {
  const elastic::test::temporary_directory files;
  asio::io_context context;
  auto board = std::make_shared<role_board>(context.get_executor(),
                                            std::vector<std::string>{"trainer"}, elastic::logger());
  board->open(files.path());
  board->set_state(0, "succeeded");
  board->finish();
  board.reset();
  const job_roles left =
      elastic::detail::parse_roles(elastic::test::file_text(files / "roles.json"));
  CHECK(left.roles.at(0).state == "succeeded");
}

TEST_CASE("role board: workers can read the file from any directory", "[roles]") {
  const elastic::test::temporary_directory files;
  asio::io_context context;
  const auto board = std::make_shared<role_board>(
      context.get_executor(), std::vector<std::string>{"trainer"}, elastic::logger());
  board->open(std::filesystem::relative(files.path()).string());
  CHECK(std::filesystem::path(board->file()).is_absolute());
  CHECK(std::filesystem::equivalent(board->file(), files / "roles.json"));
}

TEST_CASE("role board: nothing is left of the file", "[roles]") {
  auto board = std::make_unique<stage>();
  const std::filesystem::path folder = std::filesystem::path(board->board->file()).parent_path();
  CHECK(std::filesystem::exists(folder / "roles.json"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
  board.reset();
  CHECK_FALSE(std::filesystem::exists(folder));
}

TEST_CASE("role board: what cannot be written is said once, and the workers keep what they know",
          "[roles]") {
  stage stage;
  const std::filesystem::path folder = std::filesystem::path(stage.board->file()).parent_path();
  std::filesystem::create_directory(folder / "roles.json.new");
  for (const char* state : {"running", "stopping"}) {
    stage.board->set_state(0, state);
    stage.settle();
  }
  CHECK(stage.heard.empty());
  CHECK(stage.file().revision == 1);
  CHECK(stage.log->count("cannot be written", elastic::log_level::warning) == 1);
  std::filesystem::remove(folder / "roles.json.new");
  stage.board->set_state(0, "stopped");
  stage.settle();
  CHECK(stage.file().roles[0].state == "stopped");
}

TEST_CASE("role board: whatever lies in the way of the file makes room for it", "[roles]") {
  stage stage;
  const std::string draft = stage.board->file() + ".new";
  const std::filesystem::path victim = draft + ".victim";
  SECTION("a FIFO, which nobody reads") { REQUIRE(::mkfifo(draft.c_str(), 0600) == 0); }
  SECTION("a link to another file") { std::filesystem::create_symlink(victim, draft); }
  stage.board->set_state(0, "running");
  stage.settle();
  CHECK(stage.file().roles[0].state == "running");
  CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(stage.board->file())));
  CHECK_FALSE(std::filesystem::exists(victim));
}

TEST_CASE("role post: the workers of all nodes are on the board while they run", "[roles]") {
  stage stage;
  const auto post = stage.post_of_rollout({"http"});
  post->choose_ports({0, 1});
  const std::string mine = post->places(2);
  const std::string others = elastic::detail::workers_text(
      {{0, 0, "node1", "10.0.0.2"}, {1, 1, "node1", "10.0.0.2"}});
  post->met({mine, others});
  stage.settle();
  CHECK(stage.file().roles[1].workers.empty());
  post->started(5, {});
  stage.settle();
  const job_roles::role all = stage.file().roles[1];
  CHECK(all.epoch == 5);
  REQUIRE(all.workers.size() == 4);
  CHECK(all.workers[0].node == "node1");
  CHECK(all.workers[3].rank == 3);
  CHECK(all.workers[3].local_rank == 1);
  CHECK(all.workers[3].address == "10.0.0.1");
  CHECK(all.workers[3].ports == post->ports(1));
  post->ended(0);
  stage.settle();
  CHECK(stage.file().roles[1].workers.size() == 3);
  CHECK(stage.file().roles[1].workers[2].rank == 3);
  post->stopped();
  stage.settle();
  CHECK(stage.file().roles[1].workers.empty());
}

TEST_CASE("role post: one that ends while the others are started is not on the board", "[roles]") {
  stage stage;
  const auto post = stage.post_of_rollout();
  post->choose_ports({0, 1});
  post->met({post->places(0)});
  post->ended(1);
  post->started(0, {});
  post->ended(1);
  stage.settle();
  REQUIRE(stage.file().roles[1].workers.size() == 1);
  CHECK(stage.file().roles[1].workers[0].rank == 0);
}

TEST_CASE("role post: a worker that starts again gets other ports, one that stays keeps its own",
          "[roles]") {
  stage stage;
  const auto post = stage.post_of_rollout({"http", "rpc"});
  post->choose_ports({0, 1});
  const auto first = post->ports(0);
  const auto second = post->ports(1);
  CHECK(first.size() == 2);
  CHECK(first.at("http") != first.at("rpc"));
  post->choose_ports({1});
  CHECK(post->ports(0) == first);
  CHECK(post->ports(1).at("http") != second.at("http"));
}

TEST_CASE("role post: an agent hears of news until it is gone", "[roles]") {
  stage stage;
  const auto post = stage.post_of_rollout();
  revisions told;
  post->open(stage.context.get_executor(),
             [&](std::int64_t revision) { told.push_back(revision); });
  stage.settle();
  stage.board->set_state(0, "running");
  stage.settle();
  CHECK(told == revisions{2});
  post->close();
  stage.board->set_state(0, "stopping");
  stage.settle();
  CHECK(told == revisions{2});
  CHECK(stage.heard == revisions{2, 3});
}

TEST_CASE("role post: no other job gets a port of a worker, until the worker has another",
          "[roles]") {
  stage stage;
  auto post = stage.post_of_rollout({"http"});
  post->choose_ports({0, 1});
  const std::uint16_t first = post->ports(0).at("http");
  const std::uint16_t second = post->ports(1).at("http");
  CHECK_FALSE(port_lease::of(first));
  CHECK_FALSE(port_lease::of(second));
  post->choose_ports({1});
  CHECK_FALSE(port_lease::of(first));
  CHECK(port_lease::of(second));
  post.reset();
  CHECK(port_lease::of(first));
}

}  // namespace role_board_tests
