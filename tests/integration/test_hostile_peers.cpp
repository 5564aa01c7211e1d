// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What anybody who reaches the ports of a job without a secret can do to it: nothing but take some
// bounded memory and time.

#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/rendezvous/native/rendezvous_message.hpp>
#include <elastic/rendezvous/native/rendezvous_service.hpp>
#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/running_program.hpp>
#include <support/skip.hpp>
#include <support/reserved_port.hpp>

#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {

namespace hostile_peer_tests {

using elastic::detail::unique_fd;
using elastic::test::running_program;

constexpr std::size_t many = 4000;
constexpr long most_growth_kib = 32 * 1024;

/// Lets this process, and what it starts, open many files.
class open_files {
 public:
  open_files() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit raised = before_;
    raised.rlim_cur = std::min<rlim_t>(before_.rlim_max, 2 * many);
    ::setrlimit(RLIMIT_NOFILE, &raised);
  }
  ~open_files() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  open_files(const open_files&) = delete;
  open_files& operator=(const open_files&) = delete;

  bool are_enough() const { return before_.rlim_max >= many + 600; }

 private:
  rlimit before_{};
};

/// A connection that waits for nobody longer than a moment.
unique_fd connect(std::uint16_t port) {
  unique_fd peer(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval moment{0, 200'000};
  ::setsockopt(peer.get(), SOL_SOCKET, SO_SNDTIMEO, &moment, sizeof moment);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ::connect(peer.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at);
  return peer;
}

/// As much as the other side takes.
void say(const unique_fd& peer, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

/// The first words of an agent, up to its wish to join.
std::string words_of_agent() {
  elastic::rendezvous_messages::hello hello;
  hello.run_id = "job";
  hello.node = {"stranger", 1, 0, {1, 2}};
  hello.settings.min_nodes = 1;
  hello.settings.max_nodes = 2;
  std::string words(elastic::rendezvous_service::first_words);
  elastic::detail::append_frame(words, elastic::to_text(elastic::rendezvous_request(hello)));
  // It takes no place: it leaves in the same breath.
  const elastic::rendezvous_request leave = elastic::rendezvous_messages::leave{};
  elastic::detail::append_frame(words, elastic::to_text(leave));
  return words;
}

std::string sized(std::string_view text) {
  std::string bytes;
  for (int byte = 0; byte < 8; ++byte) {
    bytes += static_cast<char>((text.size() >> (8 * byte)) & 0xff);
  }
  return bytes.append(text);
}

const std::string set_key = std::string(1, '\x00') + sized("/k") + sized("value");
const std::string get_key = std::string(1, '\x02') + sized("/k");

/// A client of the store: sets, gets, counts, and waits for what never comes.
std::string words_of_client() {
  std::string wait(1, '\x05');
  wait += std::string("\x01\0\0\0\0\0\0\0", 8) + sized("/never");
  return set_key + get_key + std::string(1, '\x06') + wait;
}

class siege {
 public:
  siege(std::uint16_t rendezvous, std::uint16_t workers) : ports_{rendezvous, workers} {}

  /// Connections that stay, and say nothing or half of something.
  void crowd() {
    const std::string openings[] = {"", "elastic rend", set_key.substr(0, set_key.size() - 1),
                                    words_of_agent().substr(0, 60)};
    while (staying_.size() < many) {
      const std::size_t number = staying_.size();
      staying_.push_back(connect(ports_[number % 2]));
      say(staying_.back(), openings[number / 2 % 4]);
    }
  }

  /// Clients that ask a lot, and read no answer.
  void never_read() {
    std::string questions = set_key;
    while (questions.size() < 1024 * 1024) questions += get_key;
    for (int client = 0; client < 8; ++client) {
      staying_.push_back(connect(ports_[client % 2]));
      say(staying_.back(), questions);
    }
  }

  /// Each conversation, up to each of its bytes.
  void cut_short() const {
    for (const std::string& words : {words_of_agent(), words_of_client()}) {
      for (std::size_t size = 0; size <= words.size(); ++size) {
        for (const std::uint16_t port : ports_) say(connect(port), words.substr(0, size));
      }
    }
  }

  void say_anything() const {
    std::mt19937 random(1);
    for (int stranger = 0; stranger < 1000; ++stranger) {
      std::string bytes(random() % 300, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      say(connect(ports_[stranger % 2]), bytes);
    }
  }

 private:
  std::uint16_t ports_[2];
  std::vector<unique_fd> staying_;
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

TEST_CASE("hostile peers: a job goes on beside thousands, in bounded memory",
          "[integration][io][serial]") {
  const open_files files;
  if (!files.are_enough()) return elastic::test::skip("it takes 5,000 file descriptors");
  elastic::test::leftovers remains;
  const elastic::test::temporary_directory folder;
  const std::uint16_t port = elastic::test::reserved_port();
  const std::string work = "echo \"$RANK/$WORLD_SIZE port $MASTER_PORT.\"; while [ ! -e " +
                           (folder / "end") + " ]; do sleep 0.1; done; echo done";
  const auto start = [&] {
    const std::vector<std::string> command = {ELASTIC_ELASTICRUN,
                                              "--nnodes",
                                              "1:2",
                                              "--rdzv-backend",
                                              "c10d",
                                              "--rdzv-endpoint",
                                              fmt::format("localhost:{}", port),
                                              "--rdzv-id",
                                              "job",
                                              "--rdzv-conf",
                                              "last_call_timeout=0.3",
                                              "--no-python",
                                              "bash",
                                              "-c",
                                              work};
    const std::map<std::string, std::string> variables{{remains.name, remains.value}};
    return std::make_unique<running_program>(command, variables);
  };
  const auto host = start();
  host->await_out("0/1 port ");
  host->await_out(".\n");
  const std::string text = host->out().substr(host->out().find("port ") + 5);
  siege attack(port, static_cast<std::uint16_t>(std::stoi(text)));
  std::ofstream(fmt::format("/proc/{}/clear_refs", host->pid())) << "5";
  const long before = memory_of(host->pid(), "VmRSS");

  attack.crowd();
  attack.never_read();
  attack.cut_short();
  attack.say_anything();
  // Another node still gets in, and its workers meet those of the host.
  const auto other = start();
  other->await_out("/2 port ");
  host->await_out("/2 port ");
  const long most = memory_of(host->pid(), "VmHWM");
  CAPTURE(before, most);
  CHECK(most - before < most_growth_kib);

  std::ofstream(folder / "end") << "now";
  CHECK(host->wait().code == 0);
  CHECK(other->wait().code == 0);
  CHECK(remains.processes().empty());
}

}  // namespace hostile_peer_tests

}  // namespace
