// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Jobs whose agents share a secret, and strangers at their ports.

#include <elastic/base/detail/base64.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/raw_client.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/text.hpp>
#include <support/reserved_port.hpp>

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

namespace {

namespace job_secret_tests {

using elastic::test::comes_true;
using elastic::test::has_text;
using elastic::test::leftovers;
using elastic::test::program_result;
using elastic::test::running_program;
using words = std::vector<std::string>;

const std::string secret_text = "correct-horse-battery-staple";

/// The nodes of a job on this host, which meet at one port.
class stage {
 public:
  stage() {
    write("secret", secret_text + "\n", 0600);
    write("other", "another-secret-of-some-length\n", 0600);
  }
  stage(const stage&) = delete;
  stage& operator=(const stage&) = delete;
  ~stage() { CHECK(remains_.processes().empty()); }

  const std::uint16_t port = elastic::test::reserved_port();
  std::string sizes = "2";
  // What a worker does after it has said its place.
  std::string work = "exec sleep 600";
  // Further options of elasticrun.
  words options;

  std::string path(const std::string& name) const { return folder_ / name; }

  void write(const std::string& name, const std::string& text, mode_t mode) const {
    std::ofstream(path(name)) << text;
    REQUIRE(::chmod(path(name).c_str(), mode) == 0);
  }

  /// @param conf       further settings of the rendezvous, with a comma before each
  /// @param variables  further ones of its environment
  std::unique_ptr<running_program> start(const std::string& conf,
                                         std::map<std::string, std::string> variables = {}) const {
    words command = {ELASTIC_ELASTICRUN,
                           "--nnodes",
                           sizes,
                           "--rdzv-backend",
                           "c10d",
                           "--rdzv-endpoint",
                           fmt::format("localhost:{}", port),
                           "--rdzv-id",
                           "job",
                           "--rdzv-conf",
                           "last_call_timeout=0.3" + conf,
                           "--max-restarts",
                           "1"};
    command.insert(command.end(), options.begin(), options.end());
    const words worker = {"--no-python", "sh", "-c",
                          "echo \"$RANK/$WORLD_SIZE $TORCHELASTIC_RESTART_COUNT\"; " + work};
    command.insert(command.end(), worker.begin(), worker.end());
    variables.emplace(remains_.name, remains_.value);
    variables.emplace("LOGLEVEL", "DEBUG");
    return std::make_unique<running_program>(command, variables);
  }

  /// The arguments and the environment of every process of the job.
  std::string arguments_and_environments() const {
    std::string text;
    for (const pid_t pid : remains_.processes()) {
      for (const char* const file : {"cmdline", "environ"}) {
        text += elastic::test::file_text(fmt::format("/proc/{}/{}", pid, file));
      }
    }
    return text;
  }

  /// The contents of the test's files, by path; without those that hold a secret.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (!entry.is_regular_file() || entry.path() == path("secret")) continue;
      found[entry.path()] = elastic::test::file_text(entry.path());
    }
    return found;
  }

 private:
  leftovers remains_;
  elastic::test::temporary_directory folder_;
};

TEST_CASE("secret: nodes that hold it meet, restart and end together",
          "[integration][secret][io]") {
  stage job;
  // The first attempt fails, and shows what workers get.
  job.work = "env; [ $TORCHELASTIC_RESTART_COUNT = 1 ] || exit 1";
  const auto first = job.start(",secret_file=" + job.path("secret"));
  const auto second = job.start("", {{"ELASTIC_JOB_SECRET_FILE", job.path("secret")}});
  const program_result first_result = first->wait();
  const program_result second_result = second->wait();
  CHECK(first_result.code == 0);
  CHECK(second_result.code == 0);
  const std::string output = first_result.out + second_result.out;
  // One of the first attempt may be stopped before it has said anything.
  for (const char* place : {"/2 0\n", "0/2 1\n", "1/2 1\n"}) CHECK(has_text(output, place));
  CHECK(!has_text(output, "ELASTIC_JOB_SECRET_FILE"));
  CHECK(!has_text(output + first_result.err + second_result.err, secret_text));
}

TEST_CASE("secret: a job keeps the one of its start, and no command of its user learns the file",
          "[integration][secret]") {
  stage job;
  job.sizes = "1:2";
  const std::string seen = job.path("seen");
  job.options = {"--node-check", "env > '" + seen + "'"};
  const auto first = job.start("", {{"ELASTIC_JOB_SECRET_FILE", job.path("secret")}});
  first->await_out("0/1 0\n");
  CHECK(has_text(elastic::test::file_text(seen), "LOGLEVEL"));
  CHECK(!has_text(elastic::test::file_text(seen), "ELASTIC_JOB_SECRET_FILE"));
  // Its file has another one from now on; a node with the former one still belongs to it.
  job.write("former", secret_text + "\n", 0600);
  job.write("secret", "another-secret-of-some-length\n", 0600);
  const auto second = job.start(",secret_file=" + job.path("former"));
  second->await_out("/2 0\n");
  first->await_out("/2 0\n");
  for (const auto* node : {&first, &second}) (*node)->signal(SIGTERM);
  for (const auto* node : {&first, &second}) CHECK((*node)->wait().code != 0);
}

std::string hex(std::string_view bytes) {
  std::string text;
  for (const char letter : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(letter));
  return text;
}

/// Texts that would reveal the secret: the secret itself, and the key that is derived from it.
words forms_of_secret() {
  const std::string_view label = "elastic job secret 1";
  unsigned char key[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  REQUIRE(::HMAC(::EVP_sha256(), secret_text.data(), static_cast<int>(secret_text.size()),
                 reinterpret_cast<const unsigned char*>(label.data()), label.size(), key, &size));
  words forms;
  for (const std::string& bytes :
       {secret_text, std::string(reinterpret_cast<const char*>(key), size)}) {
    forms.insert(forms.end(), {bytes, hex(bytes), elastic::detail::to_base64(bytes)});
  }
  return forms;
}

void check_shows_no_secret(const std::string& name, const std::string& text) {
  CAPTURE(name);
  for (const std::string& form : forms_of_secret()) CHECK(!has_text(text, form));
}

TEST_CASE("secret: it is in no log of any level, no file, no argument and no environment",
          "[integration][secret]") {
  const auto level = GENERATE("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL");
  CAPTURE(level);
  stage job;
  job.write("other", "another-secret-of-some-length\n", 0600);
  // The first attempt fails; the second one ends when the test lets it.
  job.work = "env; [ $TORCHELASTIC_RESTART_COUNT = 1 ] || exit 1; echo again; while [ ! -e " +
             job.path("end") + " ]; do sleep 0.05; done";
  const auto start = [&](const std::string& name, const std::string& secret) {
    job.options = {"--log-dir", job.path("logs_" + name), "--tee",    "3",
                   "--trace",   job.path("trace_" + name), "--status", "unix:" + job.path(name)};
    return job.start(",secret_file=" + job.path(secret), {{"LOGLEVEL", level}});
  };
  const auto first = start("first", "secret");
  const auto second = start("second", "secret");
  first->await_out("again\n");
  second->await_out("again\n");
  const program_result refused = start("stranger", "other")->wait();
  CHECK(refused.code == 2);
  const program_result status =
      elastic::test::run_program({ELASTIC_ELASTICRUN, "status", "unix:" + job.path("first")});
  CHECK(status.code == 0);
  const std::string processes = job.arguments_and_environments();
  CHECK(has_text(processes, "secret_file="));  // it did look
  job.write("end", "now", 0600);
  std::string output = status.out + status.err + refused.out + refused.err;
  for (const auto& node : {first.get(), second.get()}) {
    const program_result result = node->wait();
    INFO(result.err);
    CHECK(result.code == 0);
    output += result.out + result.err;
  }
  CHECK(has_text(output, "DEBUG ") == (std::string_view(level) == "DEBUG"));
  check_shows_no_secret("the output", output);
  check_shows_no_secret("the processes", processes);
  const std::map<std::string, std::string> files = job.files();
  CHECK(files.size() >= 2 * 6);  // journals, traces, stdout and stderr of two attempts
  for (const auto& [path, text] : files) check_shows_no_secret(path, text);
}

TEST_CASE("secret: each who has none, or another one, is told so and turned away",
          "[integration][secret][io]") {
  stage job;
  job.sizes = "1:2";
  struct meeting {
    std::string host;
    std::string comer;
    std::string why;
  };
  const std::string needs_one =
      "the other side has a secret, this node has none (secret_file)";
  const std::string has_one =
      "this node has a secret (secret_file), the other side has none";
  const std::string differs =
      "the secret of this node (secret_file) is not that of the other side";
  // A file with a secret, a dialect, or nothing.
  const auto entry = GENERATE_COPY(values<meeting>({
      {"secret", "", needs_one},
      {"secret", ",dialect=2.6", needs_one},
      {"", "secret", has_one},
      {",dialect=2.6", "secret", has_one},
      {"secret", "other", differs},
  }));
  CAPTURE(entry.host, entry.comer);
  const auto conf_of = [&](const std::string& side) {
    return side.empty() || side[0] == ',' ? side : ",secret_file=" + job.path(side);
  };
  const auto host = job.start(conf_of(entry.host));
  host->await_out("0/1 0\n");
  const auto comer = job.start(conf_of(entry.comer));
  const program_result refused = comer->wait();
  INFO(refused.err);
  CHECK(refused.code == 2);
  CHECK(refused.out.empty());
  CHECK(has_text(refused.err, entry.why));
  CHECK(!has_text(refused.err + host->err(), secret_text));
  host->signal(SIGTERM);
  const program_result ended = host->wait();
  CHECK(ended.code == 128 + SIGTERM);
  CHECK(ended.out == "0/1 0\n");
}

TEST_CASE("secret: whoever speaks without it is answered by an alert, and changes nothing",
          "[integration][secret][io]") {
  stage job;
  job.sizes = "1:2";
  const auto host = job.start(",secret_file=" + job.path("secret"));
  host->await_out("0/1 0\n");
  const std::string alert("\x15\x03\x03\x00\x02\x02\x46", 7);
  // A client of PyTorch's store, torchrun's or a worker's, a browser, and one of elasticrun.
  for (const std::string& greeting :
       {std::string("\x00\x3c\x85\xf7\x3c", 5), std::string("\x04\x00\x00", 3),
        std::string("GET / HTTP/1.1\r\n\r\n"), std::string("elastic rendezvous\n")}) {
    elastic::test::raw_client stranger(job.port);
    REQUIRE(stranger.send(greeting));
    CHECK(stranger.receive(100) == alert);
  }
  host->await_err("turned away");
  const auto second = job.start(",secret_file=" + job.path("secret"));
  second->await_out("/2 0\n");
  for (const auto* node : {&second, &host}) (*node)->signal(SIGTERM);
  for (const auto* node : {&second, &host}) {
    const auto result = (*node)->wait();
    INFO(result.err);
    CHECK(result.code == 128 + SIGTERM);
  }
  // Once for an address.
  const std::string& log = host->err();
  const auto first = log.find("turned away");
  CHECK(log.find("turned away", first + 1) == std::string::npos);
}

/// Connects again and again to a port: some say nothing and stay, some begin a handshake and stay,
/// some say what is not TLS and go.
class crowd {
 public:
  explicit crowd(std::uint16_t port) : thread_([this, port] { flood(port); }) {}
  crowd(const crowd&) = delete;
  crowd& operator=(const crowd&) = delete;
  ~crowd() { stop(); }

  /// How many have connected.
  int count() const { return count_; }
  void stop() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
  }

 private:
  // Catch2's assertions are for one thread, so this one makes none.
  void flood(std::uint16_t port) {
    constexpr std::size_t most_at_once = 200;
    const std::string beginning("\x16\x03\x01\x01\x00\x01", 6);
    const std::string openings[] = {"", beginning, "GET / HTTP/1.1\r\n\r\n"};
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    std::deque<elastic::detail::unique_fd> staying;
    while (!is_over_) {
      elastic::detail::unique_fd stranger(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const auto* to = reinterpret_cast<const sockaddr*>(&at);
      if (::connect(stranger.get(), to, sizeof at) != 0) continue;
      const std::string& text = openings[count_ % 3];
      ::send(stranger.get(), text.data(), text.size(), MSG_NOSIGNAL);
      if (++count_ % 3 != 0) staying.push_back(std::move(stranger));
      if (staying.size() > most_at_once) staying.pop_front();
    }
  }

  std::atomic<bool> is_over_ = false;
  std::atomic<int> count_ = 0;
  std::thread thread_;
};

TEST_CASE("secret: a crowd of strangers keeps nobody from the round", "[integration][secret][io]") {
  stage job;
  job.sizes = "1:2";
  const std::string conf = ",secret_file=" + job.path("secret");
  const auto host = job.start(conf);
  host->await_out("0/1 0\n");
  crowd strangers(job.port);
  host->await_err("turned away");
  REQUIRE(comes_true([&] { return strangers.count() > 100; }));
  const auto second = job.start(conf);
  second->await_out("/2 0\n");
  host->await_out("/2 0\n");
  strangers.stop();
  for (const auto* node : {&second, &host}) (*node)->signal(SIGTERM);
  for (const auto* node : {&second, &host}) CHECK((*node)->wait().code == 128 + SIGTERM);
}

TEST_CASE("secret: a file that cannot be used, or a rendezvous that cannot use it, starts nothing",
          "[integration][secret]") {
  stage job;
  job.write("short", "0123456789\n", 0600);
  job.write("empty", "", 0600);
  job.write("open", secret_text, 0644);
  struct refusal {
    std::string file;
    words meeting;
    std::string why;
  };
  const words c10d = {"--rdzv-backend", "c10d"};
  const auto entry = GENERATE_COPY(values<refusal>({
      {"missing", c10d, "cannot be read: No such file or directory"},
      {"empty", c10d, "is empty"},
      {"short", c10d, "has 10 bytes; 16 are the least"},
      {"open", c10d, "is open to others (mode 0644): chmod 600"},
      {"secret", {"--rdzv-backend", "static"}, "the rendezvous backend 'static' cannot"},
      {"secret", {"--rdzv-backend", "etcd-v2"}, "the rendezvous backend 'etcd-v2' cannot"},
  }));
  CAPTURE(entry.file, entry.meeting[1]);
  words command = {ELASTIC_ELASTICRUN,
                   "--nnodes",
                   "2",
                   "--rdzv-endpoint",
                   "127.0.0.1:1",
                   "--rdzv-id",
                   "job",
                   "--rdzv-conf",
                   "secret_file=" + job.path(entry.file)};
  command.insert(command.end(), entry.meeting.begin(), entry.meeting.end());
  command.insert(command.end(), {"--no-python", "sh", "-c", "echo started"});
  const program_result result = elastic::test::run_program(command);
  INFO(result.err);
  CHECK(result.code == 2);
  CHECK(result.out.empty());
  CHECK(has_text(result.err, entry.why));
  CHECK(!has_text(result.err, secret_text));
}

TEST_CASE("secret: it cannot be used with a dialect of torchrun's", "[integration][secret]") {
  stage job;
  const auto node = job.start(",dialect=1.13,secret_file=" + job.path("secret"));
  const program_result result = node->wait();
  CHECK(result.code == 2);
  CHECK(has_text(result.err, "dialect=1.13"));
}

}  // namespace job_secret_tests

}  // namespace
