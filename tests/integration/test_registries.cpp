// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Jobs whose leading agent is registered in a directory or in etcd.

#include <support/agent_command.hpp>
#include <support/catch.hpp>
#include <support/etcd_server.hpp>
#include <support/http_peer.hpp>
#include <support/job_of_nodes.hpp>
#include <support/run_program.hpp>
#include <support/skip.hpp>

#include <sys/mount.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {
namespace registries_test {

using elastic::test::comes_true;
using elastic::test::contains_text;
using elastic::test::etcd_server;
using elastic::test::http_peer;
using elastic::test::job_of_nodes;
using elastic::test::node_of_job;
using elastic::test::program_result;
using elastic::test::skip;
using elastic::test::temporary_directory;
using words = std::vector<std::string>;
using node_pointer = std::unique_ptr<node_of_job>;

/// Where the nodes of a job meet.
class place {
 public:
  virtual ~place() = default;
  /// The options of its nodes.
  virtual words meeting() const = 0;
  /// What a node says when it has found the place.
  virtual std::string found() const = 0;
  /// It cannot be used, until it is back.
  virtual void leave() = 0;
  virtual void come_back() = 0;
};

class directory_place final : public place {
 public:
  words meeting() const override {
    return {"--rdzv-backend", "file", "--rdzv-endpoint", directory_.path()};
  }
  std::string found() const override { return "meeting in the directory"; }
  // As if its file system were not mounted.
  void leave() override { std::filesystem::rename(directory_ / "job", directory_ / "gone"); }
  void come_back() override { std::filesystem::rename(directory_ / "gone", directory_ / "job"); }

 private:
  temporary_directory directory_;
};

// Its file system has no room for another file.
class full_directory_place final : public place {
 public:
  /// Why there can be none on this machine; empty: there can.
  static std::string missing() {
    full_directory_place trial;
    return trial.is_mounted_ ? "" : "it takes the right to mount a file system";
  }

  full_directory_place()
      : is_mounted_(::mount("tmpfs", directory_.path().c_str(), "tmpfs", 0, "size=64k") == 0) {}
  ~full_directory_place() override {
    if (is_mounted_) ::umount2(directory_.path().c_str(), MNT_DETACH);
  }

  words meeting() const override {
    return {"--rdzv-backend", "file", "--rdzv-endpoint", directory_.path()};
  }
  std::string found() const override { return "meeting in the directory"; }
  void leave() override {
    std::ofstream filler(directory_ / "filler");
    filler << std::string(128 * 1024, 'x') << std::flush;
    REQUIRE_FALSE(filler);
  }
  void come_back() override { std::filesystem::remove(directory_ / "filler"); }

 private:
  temporary_directory directory_;
  bool is_mounted_;
};

class etcd_place : public place {
 public:
  words meeting() const override {
    return {"--rdzv-backend", "etcd", "--rdzv-endpoint", server_.endpoint()};
  }
  std::string found() const override { return "meeting at the etcd"; }
  void leave() override { server_.kill(); }
  void come_back() override { server_.start(); }

 protected:
  etcd_server server_;
};

// It keeps its connections, and says nothing.
class stalled_etcd_place final : public etcd_place {
 public:
  void leave() override { server_.hang(); }
  void come_back() override { server_.resume(); }
};

// It has no room for another value.
class full_etcd_place final : public etcd_place {
 public:
  void leave() override {
    const std::string body = R"({"action": "ACTIVATE", "memberID": "1", "alarm": "NOSPACE"})";
    http_peer peer(server_.port());
    peer.send(fmt::format(
        "POST /v3/maintenance/alarm HTTP/1.1\r\nHost: etcd\r\nContent-Length: {}\r\n\r\n{}",
        body.size(), body));
    REQUIRE_THAT(peer.read_to("NOSPACE"), contains_text("200 OK"));
  }
  void come_back() override { server_.control({"alarm", "disarm"}); }
};

std::unique_ptr<place> make_place(const std::string& kind) {
  if (kind == "etcd") return std::make_unique<etcd_place>();
  if (kind == "stalled etcd") return std::make_unique<stalled_etcd_place>();
  if (kind == "full directory") return std::make_unique<full_directory_place>();
  if (kind == "full etcd") return std::make_unique<full_etcd_place>();
  return std::make_unique<directory_place>();
}

/// A job at a place, and its nodes by their coming.
class registered_job {
 public:
  registered_job(const std::string& kind, const std::string& counts, const std::string& conf)
      : at(make_place(kind)), job(counts, at->meeting(), conf) {}

 private:
  temporary_directory sockets_;

 public:
  const std::unique_ptr<place> at;
  job_of_nodes job;
  std::vector<node_pointer> nodes;

  /// One more node, which can be asked and commanded as `socket` of its number.
  void start(words options = {}) {
    options.insert(options.end(), {"--status", socket(nodes.size())});
    nodes.push_back(job.node("", options));
  }
  std::string socket(std::size_t number) const {
    return fmt::format("unix:{}/{}", sockets_.path(), number);
  }
  program_result command(const std::string& name, std::size_t number, words more = {}) const {
    more.insert(more.begin(), {ELASTIC_ELASTICRUN, name, socket(number)});
    return elastic::test::run_agent_command(more);
  }

  /// Waits until each node that is left has begun so often in a world of so many.
  void await_world(int size, int times = 1) {
    for (const node_pointer& node : nodes) {
      if (node) node->await_world(size, times);
    }
  }

  /// The number of the node that leads.
  std::size_t leader() {
    std::size_t found = nodes.size();
    const auto leads = [&] {
      for (std::size_t number = 0; number < nodes.size(); ++number) {
        if (!nodes[number]) continue;
        const program_result shown = command("status", number);
        if (shown.out.find("\nnodes ") != std::string::npos) found = number;
      }
      return found < nodes.size();
    };
    REQUIRE(comes_true(leads));
    return found;
  }

  void lose(std::size_t number) {
    nodes[number]->lose();
    nodes[number].reset();
  }

  void check_success() {
    job.finish();
    for (const node_pointer& node : nodes) {
      if (node) node->check_success();
    }
    job.check_nothing_left();
  }
};

const std::string quick = "last_call_timeout=0.3";

TEST_CASE("registries: a job is joined, paused, drained, and loses whichever node",
          "[integration][nodes]") {
  registered_job set(GENERATE("directory", "etcd"), "1:3", quick);
  set.start();
  set.await_world(1);
  set.start();
  set.await_world(2);
  // A worker dies on one node and the other.
  for (std::size_t number : {0, 1}) {
    ::kill(set.nodes[number]->worker(), SIGKILL);
    set.await_world(2, static_cast<int>(number) + 2);
  }
  // Paused from the node that does not lead.
  const std::size_t leader = set.leader();
  const program_result paused = set.command("pause", 1 - leader, {"maintenance"});
  CHECK(paused.out == "the job is paused: no worker of this node runs\n");
  (*set.nodes[leader])->await_err("the job is paused at ");
  CHECK(set.command("resume", 1 - leader).code == 0);
  set.await_world(2, 4);
  // Both failures counted for the whole job, the pause did not.
  set.start();
  set.await_world(3);
  const auto shows_all = [&] {
    const program_result shown = set.command("status", leader);
    return shown.out.find("nodes 3 of 1 to 3") != std::string::npos &&
           shown.out.find("restarts 2 of 5") != std::string::npos;
  };
  CHECK(comes_true(shows_all));
  CHECK(set.command("drain", 2, {"GPU 3 is hot"}).out == "this node leaves the job\n");
  set.nodes[2]->check_failure(128 + SIGTERM, "GPU 3 is hot");
  set.nodes[2].reset();
  set.await_world(2, 5);
  set.lose(leader);
  set.await_world(1, leader == 0 ? 1 : 2);
  set.check_success();
}

TEST_CASE("registries: whichever agent is killed, nobody waits for its lease",
          "[integration][nodes]") {
  registered_job set(GENERATE("directory", "etcd"), "1:3", elastic::test::long_lease);
  elastic::test::check_agents_killed(set.job);
}

TEST_CASE("registries: a node that waits for others can be interrupted", "[integration][nodes]") {
  registered_job set(GENERATE("directory", "etcd"), "2", quick);
  elastic::test::check_interrupted_wait(set.job, set.at->found());
}

TEST_CASE("registries: a job of named sizes runs with these alone, the rest stand by",
          "[integration][nodes]") {
  registered_job set(GENERATE("directory", "etcd"), "2,4", quick);
  for (int more = 0; more < 2; ++more) set.start();
  set.await_world(2);
  set.start();
  const std::size_t leader = set.leader();
  const auto shows = [&](const words& parts) {
    return comes_true([&] {
      const std::string shown = set.command("status", leader).out;
      return std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
        return shown.find(part) != std::string::npos;
      });
    });
  };
  CHECK(shows({"nodes 3 of 2 to 4", "standing by: "}));
  set.start();
  set.await_world(4);
  // Any of the three that are left may stand by then.
  set.lose(leader == 3 ? 2 : 3);
  CHECK(shows({"standing by: ", "lost: "}));
  set.check_success();
}

TEST_CASE("registries: a node that was drained stays out, whichever agent leads",
          "[integration][nodes]") {
  registered_job set(GENERATE("directory", "etcd"), "1:3", quick);
  set.start();
  set.await_world(1);
  set.start();
  set.await_world(2);
  const words bad = {"--node-name", "gpu7", "--exclude-for", "3600"};
  set.start(bad);
  set.await_world(3);
  CHECK(set.command("drain", 2, {"GPU 3 is hot"}).code == 0);
  set.nodes[2]->check_failure(128 + SIGTERM, "GPU 3 is hot");
  set.nodes[2].reset();
  set.await_world(2, 2);
  set.lose(set.leader());
  set.await_world(1, set.nodes[0] ? 2 : 1);
  const node_pointer again = set.job.node("", bad);
  (*again)->await_err("this node waits: node 'gpu7' is excluded for another ");
  set.check_success();
  CHECK((*again)->wait().out.empty());
}

// ---- the place is lost --------------------------------------------------------------------------

/// A job of 2 to 3 nodes whose place is away for a while.
void check_absence(registered_job& set) {
  for (int more = 0; more < 2; ++more) set.start();
  set.await_world(2);
  const std::size_t leader = set.leader();
  set.at->leave();
  // A round cannot be kept there now: neither a failure nor a node that comes makes one.
  ::kill(set.nodes[1 - leader]->worker(), SIGKILL);
  (*set.nodes[leader])
      ->await_err("the job runs on, but begins no round and takes no node");
  CHECK_THAT(set.command("status", leader).out, contains_text("\nnodes "));
  set.at->come_back();
  set.await_world(2, 2);
  (*set.nodes[leader])->await_err(" can be read and written again");
  set.start();
  set.await_world(3);
  set.check_success();
}

TEST_CASE("registries: a place that is away for a while costs nothing", "[integration][nodes]") {
  registered_job set(GENERATE("directory", "etcd", "full etcd"), "2:3", quick);
  check_absence(set);
}

TEST_CASE("registries: nor does a directory that is full for a while", "[integration][nodes]") {
  if (const std::string why = full_directory_place::missing(); !why.empty()) return skip(why);
  registered_job set("full directory", "2:3", quick);
  check_absence(set);
}

TEST_CASE("registries: a job ends also while the place is away", "[integration][nodes]") {
  registered_job set(GENERATE("directory", "stalled etcd"), "2", quick);
  for (int more = 0; more < 2; ++more) set.start();
  set.await_world(2);
  set.at->leave();
  set.check_success();
}

TEST_CASE("registries: when the place is gone for good, agents stop their workers and end",
          "[integration][nodes]") {
  registered_job set(GENERATE("directory", "stalled etcd", "full etcd"), "2",
                     quick + ",registry_grace=1,host_grace=2");
  for (int more = 0; more < 2; ++more) set.start();
  set.await_world(2);
  const std::size_t leader = set.leader();
  set.at->leave();
  (*set.nodes[leader])->await_err(
      "this node stops leading the job, and its nodes stop their workers");
  for (const node_pointer& node : set.nodes) {
    node->check_failure(1, "and nobody served it again within 2 s (host_grace)");
  }
  set.job.check_nothing_left();
}

}  // namespace registries_test
}  // namespace
