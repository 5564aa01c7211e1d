// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Strangers cannot exhaust the memory and the file descriptors of a job's host, and the agents'
// store does not grow over many rounds.

#include <elastic/base/detail/unique_fd.hpp>
#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/raw_client.hpp>
#include <support/reserved_port.hpp>
#include <support/running_program.hpp>
#include <support/sanitized.hpp>
#include <support/skip.hpp>
#include <support/stranger.hpp>

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {

namespace stranger_tests {

using elastic::detail::unique_fd;
using elastic::test::connect_stranger;
using elastic::test::raw_client;
using elastic::test::running_program;
using elastic::test::send_bytes;
using words = std::vector<std::string>;

/// A job on this host, whose workers obey files.
class stage {
 public:
  stage() = default;
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;
  ~stage() { CHECK(remains_.processes().empty()); }

  const std::uint16_t port = elastic::test::reserved_port();
  std::string conf = "last_call_timeout=0.3";
  words more;
  /// For the shell, before the program.
  std::string before;
  /// For the shell of a worker.
  std::string work;

  std::string path(const std::string& name) const { return folder_ / name; }
  void touch(const std::string& name) const { std::ofstream(path(name)) << "now"; }

  /// For a shell: waits for a file.
  std::string wait_for(const std::string& name) const {
    return fmt::format("while [ ! -e {} ]; do sleep 0.05; done", path(name));
  }

  std::unique_ptr<running_program> start(const std::string& nodes) const {
    words command = {"/bin/bash", "-c", before + "exec \"$@\"", "bash", ELASTIC_ELASTICRUN};
    const words options = {"--nnodes",    nodes,   "--rdzv-backend", "c10d",        "--rdzv-id",
                           "job",         "--rdzv-conf", conf, "--rdzv-endpoint",
                           fmt::format("localhost:{}", port)};
    command.insert(command.end(), options.begin(), options.end());
    command.insert(command.end(), more.begin(), more.end());
    for (const std::string& word : words{"--no-python", "bash", "-c", work}) {
      command.push_back(word);
    }
    const std::map<std::string, std::string> variables{{remains_.name, remains_.value}};
    return std::make_unique<running_program>(command, variables);
  }

 private:
  elastic::test::leftovers remains_;
  elastic::test::temporary_directory folder_;
};

/// A number of /proc/PID/status, in KiB.
long memory_of(pid_t process, const std::string& name) {
  std::ifstream status(fmt::format("/proc/{}/status", process));
  std::string word;
  long number = 0;
  while (status >> word && word != name + ":") {
  }
  status >> number;
  return number;
}

std::string little_endian(std::uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 0xff);
  return text;
}

/// The beginning of an agent's message that is never completed.
std::string half_frame(std::size_t announced, std::size_t said) {
  return "elastic rendezvous\n" + little_endian(announced, 4) + std::string(said, '{');
}

/// The same of a client of the store: a SET, or a MULTI_GET of keys that take no room.
std::string half_set(std::size_t said) {
  return std::string(1, '\0') + little_endian(2, 8) + "/k" + little_endian(1 << 20, 8) +
         std::string(said, 'x');
}

std::string half_list(std::size_t keys) {
  return std::string("\0\xce\xf7\x85\x3c\x0a", 6) + little_endian(100'000, 8) +
         std::string(8 * keys, '\0');
}

/// The beginning of a TLS record.
std::string half_record(std::size_t announced, std::size_t said) {
  return std::string("\x16\x03\x01", 3) + static_cast<char>(announced >> 8) +
         static_cast<char>(announced & 0xff) + std::string(said, '\x01');
}

constexpr std::size_t many = 10'000;
constexpr long most_growth_kib = 32 * 1024;

class open_files {
 public:
  open_files() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit raised = before_;
    raised.rlim_cur = std::min<rlim_t>(before_.rlim_max, many + 1000);
    ::setrlimit(RLIMIT_NOFILE, &raised);
  }
  ~open_files() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  open_files(const open_files&) = delete;
  open_files& operator=(const open_files&) = delete;

  bool are_enough() const { return before_.rlim_max >= many + 1000; }

 private:
  rlimit before_{};
};

/// The most that the host of a job grows while so many strangers send the openings, in turn, and
/// stay; another node joins in the end.
long growth_by(stage& job, const words& openings) {
  job.work = "echo \"$RANK/$WORLD_SIZE.\"; " + job.wait_for("end");
  const auto host = job.start("1:2");
  host->await_out("0/1.");
  std::ofstream(fmt::format("/proc/{}/clear_refs", host->pid())) << "5";
  const long before = memory_of(host->pid(), "VmRSS");
  std::vector<unique_fd> strangers;
  while (strangers.size() < many) {
    strangers.push_back(connect_stranger(job.port));
    send_bytes(strangers.back(), openings[strangers.size() % openings.size()]);
  }
  const auto other = job.start("1:2");
  other->await_out("/2.");
  host->await_out("/2.");
  const long most = memory_of(host->pid(), "VmHWM");
  job.touch("end");
  CHECK(host->wait().code == 0);
  CHECK(other->wait().code == 0);
  return most - before;
}

TEST_CASE("strangers: ten thousand half messages take bounded memory",
          "[integration][io][serial]") {
  const open_files files;
  if (!files.are_enough()) return elastic::test::skip("it takes 11,000 file descriptors");
  stage job;
  const auto [name, openings] = GENERATE(table<std::string, words>({
      {"nothing", {""}},
      {"half of the greeting", {"elastic rend"}},
      {"a message of an agent that is too long", {half_frame(64 * 1024, 60'000)}},
      {"half of a first message", {half_frame(8 * 1024, 8 * 1024 - 1)}},
      {"half of a value", {half_set(16)}},
      {"half of a large value", {half_set(64 * 1024)}},
      {"half of a list of keys", {half_list(1000)}},
      {"any of these", {"", half_frame(8192, 4000), half_set(9000), half_list(500), "\0"}},
  }));
  const long growth = growth_by(job, openings);
  CAPTURE(name, growth);
  if (elastic::test::is_sanitized) return;
  CHECK(growth < most_growth_kib);
}

TEST_CASE("strangers: half messages take bounded memory of a job with a secret",
          "[integration][secret][serial]") {
  const open_files files;
  if (!files.are_enough()) return elastic::test::skip("it takes 11,000 file descriptors");
  stage job;
  std::ofstream(job.path("secret")) << "correct-horse-battery-staple\n";
  REQUIRE(::chmod(job.path("secret").c_str(), 0600) == 0);
  job.conf += ",secret_file=" + job.path("secret");
  const auto [name, openings] = GENERATE(table<std::string, words>({
      {"nothing", {""}},
      {"half of a record", {half_record(8 * 1024 - 5, 8000)}},
      {"a record that is too long", {half_record(16 * 1024, 16'000)}},
      {"a record that is whole, and none of TLS", {half_record(512, 512)}},
  }));
  const long growth = growth_by(job, openings);
  CAPTURE(name, growth);
  if (elastic::test::is_sanitized) return;
  CHECK(growth < most_growth_kib);
}

TEST_CASE("strangers: a restart finds the file descriptors that it needs", "[integration][io]") {
  constexpr int workers = 16;
  stage job;
  job.before = "ulimit -n 400; ";
  job.more = {"--nproc-per-node", std::to_string(workers), "--max-restarts", "1", "--tee", "3",
              "--log-dir", job.path("logs")};
  job.work = "n=$TORCHELASTIC_RESTART_COUNT; echo \"attempt $n.\"; if [ $n = 0 ]; then "
             "[ $RANK = 0 ] || exec sleep 600; " +
             job.wait_for("fail") + "; exit 1; fi; " + job.wait_for("end");
  const auto host = job.start("1");
  host->await_out("attempt 0.", workers);
  std::vector<unique_fd> strangers;
  for (int i = 0; i < 600; ++i) strangers.push_back(connect_stranger(job.port));
  host->await_err("clients wait to be accepted");
  job.touch("fail");
  host->await_out("attempt 1.", workers);
  job.touch("end");
  CHECK(host->wait().code == 0);
}

TEST_CASE("strangers: the store of the agents does not grow from round to round",
          "[integration][io]") {
  constexpr int rounds = 30;
  stage job;
  job.more = {"--max-restarts", std::to_string(rounds)};
  job.work = fmt::format(
      "if [ $TORCHELASTIC_RESTART_COUNT -lt {} ]; then [ $RANK != 0 ] && exec sleep 600; exit 1; "
      "fi; echo last.; {}",
      rounds, job.wait_for("end"));
  const auto first = job.start("2");
  const auto second = job.start("2");
  first->await_out("last.");
  second->await_out("last.");
  // NUM_KEYS
  raw_client client(job.port);
  const std::string reply = client.ask("\x06", 8);
  REQUIRE(reply.size() == 8);
  std::int64_t keys = 0;
  std::memcpy(&keys, reply.data(), sizeof keys);
  // The keys of two rounds, and the key that identifies the store.
  CHECK(keys <= 20);
  job.touch("end");
  CHECK(first->wait().code == 0);
  CHECK(second->wait().code == 0);
}

}  // namespace stranger_tests

}  // namespace
