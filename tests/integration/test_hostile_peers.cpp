// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Peers that reach the ports of a job can only take bounded memory and time, even if they speak its
// protocol and hold its secret.

#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/detail/message_frame.hpp>
#include <elastic/net/detail/secure_session.hpp>
#include <elastic/net/job_secret.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/nodes/detail/rendezvous_service.hpp>
#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/running_program.hpp>
#include <support/reserved_port.hpp>
#include <support/skip.hpp>
#include <support/stranger.hpp>

#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {

namespace hostile_peer_tests {

using elastic::detail::unique_fd;
using elastic::test::connect_stranger;
using elastic::test::running_program;
using elastic::test::send_bytes;

/// How many peers come by default; tests/long.sh uses 10,000.
std::size_t peers_or(std::size_t usual) {
  const char* const wanted = std::getenv("ELASTIC_HOSTILE_PEERS");
  return wanted != nullptr ? std::stoul(wanted) : usual;
}

/// Lets this process, and what it starts, open many files.
class open_files {
 public:
  explicit open_files(std::size_t peers) : needed_(peers + 2000) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit raised = before_;
    raised.rlim_cur = std::min<rlim_t>(before_.rlim_max, needed_);
    ::setrlimit(RLIMIT_NOFILE, &raised);
  }
  ~open_files() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  open_files(const open_files&) = delete;
  open_files& operator=(const open_files&) = delete;

  bool are_enough() const { return before_.rlim_max >= needed_; }

 private:
  std::size_t needed_;
  rlimit before_{};
};

namespace messages = elastic::detail::rendezvous_messages;
namespace limits = elastic::limits;

std::string frame_of(const elastic::detail::rendezvous_request& request) {
  std::string frame;
  elastic::detail::append_frame(frame, elastic::detail::to_text(request));
  return frame;
}

/// The hello of an agent of a job, with the largest texts that the server accepts.
messages::hello largest_hello(const std::string& run_id, std::uint64_t number) {
  messages::hello hello;
  hello.run_id = run_id;
  hello.node.host.assign(limits::host_name_bytes, 'h');
  hello.node.pid = static_cast<std::int64_t>(number);
  hello.node.number = {number, 1};
  hello.settings.min_nodes = 1;
  hello.settings.max_nodes = 2;
  // It could be missing for years.
  hello.settings.keep_alive_interval = std::chrono::hours(24 * 365);
  hello.settings.reconnect_grace = std::chrono::hours(24 * 365);
  hello.has_reports = true;
  hello.name = fmt::format("{:064}", number);
  return hello;
}

/// The join message of an agent with many addresses.
messages::join largest_join() {
  messages::join wish;
  wish.timeout = std::chrono::hours(24 * 365);
  wish.offer.address.assign(limits::host_name_bytes, 'a');
  const std::string address = "fd00:1111:2222:3333:4444:5555:6666:7777 ";
  while (wish.addresses.size() + address.size() <= limits::node_addresses_bytes) {
    wish.addresses += address;
  }
  return wish;
}

/// The first messages of an agent that takes no place: it leaves at once.
std::string words_of_agent() {
  messages::hello hello;
  hello.run_id = "job";
  hello.node = {"stranger", 1, 0, {1, 2}};
  hello.name = "stranger";
  hello.settings.min_nodes = 1;
  hello.settings.max_nodes = 2;
  return std::string(elastic::detail::rendezvous_service::first_words) + frame_of(hello) +
         frame_of(messages::leave{});
}

/// A peer that speaks as agents do, and holds the secret of the job if that has one.
class insider {
 public:
  insider(std::uint16_t port, const std::optional<elastic::job_secret>& secret)
      : socket_(connect_stranger(port)) {
    const timeval patience{60, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (secret) {
      secure_ = std::make_unique<elastic::detail::secure_session>(
          *secret, elastic::detail::session_role::client);
    }
    say(elastic::detail::rendezvous_service::first_words);
  }

  void say(std::string_view bytes) {
    if (!secure_) return send_bytes(socket_, bytes);
    secure_->send(bytes);
    send_bytes(socket_, secure_->take_output());
  }

  /// Waits until it has heard this, or the connection ends. Result: whether it has.
  bool hear(std::string_view part) {
    char bytes[4096];
    while (heard_.find(part) == std::string::npos) {
      const ssize_t size = ::recv(socket_.get(), bytes, sizeof bytes, 0);
      if (size <= 0) return false;
      take({bytes, static_cast<std::size_t>(size)});
    }
    return true;
  }

 private:
  void take(std::string_view bytes) {
    if (!secure_) {
      heard_.append(bytes);
      return;
    }
    secure_->received(bytes, heard_);
    send_bytes(socket_, secure_->take_output());
  }

  unique_fd socket_;
  std::unique_ptr<elastic::detail::secure_session> secure_;
  std::string heard_;
};

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
  siege(std::size_t peers, std::uint16_t rendezvous, std::uint16_t workers,
        std::optional<elastic::job_secret> secret)
      : many_(peers), ports_{rendezvous, workers}, secret_(std::move(secret)) {}

  /// Agents of the job that leave after the welcome; every second one comes back once.
  void come_and_go() {
    for (std::size_t count = 0; count < many_; ++count) {
      insider peer(ports_[0], secret_);
      peer.say(frame_of(largest_hello("job", count % 3 == 2 ? last_ : ++last_)));
      CHECK(peer.hear("welcome"));
    }
  }

  /// The same, each of a job of its own with the largest possible size.
  void bring_jobs() {
    for (std::size_t count = 0; count < many_; ++count) {
      insider peer(ports_[0], secret_);
      const std::string name(limits::run_id_bytes - 20, 'r');
      messages::hello hello = largest_hello(fmt::format("{}{:020}", name, count % 2000), ++last_);
      hello.settings.max_nodes = limits::nodes;
      peer.say(frame_of(hello));
      CHECK(peer.hear("\"kind\""));
    }
  }

  /// Agents of the job that stay, and send only keep-alives.
  void stay() {
    for (std::size_t count = 0; count < many_; ++count) {
      insiders_.emplace_back(ports_[0], secret_);
      insiders_.back().say(frame_of(largest_hello("job", ++last_)));
      CHECK(insiders_.back().hear("welcome"));
    }
  }

  /// Agents, each welcomed to a job of its own, that then send most of the largest message.
  void stay_in_a_message() {
    std::string most;
    elastic::detail::append_frame(most, std::string(limits::rendezvous_message_bytes, 'x'));
    most.resize(most.size() - 1024);
    for (std::size_t count = 0; count < many_; ++count) {
      insiders_.emplace_back(ports_[0], secret_);
      insiders_.back().say(frame_of(largest_hello(fmt::format("job {}", count), ++last_)));
      REQUIRE(insiders_.back().hear("welcome"));
      insiders_.back().say(most);
    }
    // All have been read once the server has no room for the first of them.
    CHECK_FALSE(insiders_.front().hear("anything more"));
  }

  /// Agents that want to join a full round. Result: how many of them were refused as too many.
  std::size_t crowd_in() {
    insiders_.clear();
    std::size_t refused = 0;
    for (std::size_t count = 0; count < many_; ++count) {
      insiders_.emplace_back(ports_[0], secret_);
      insider& peer = insiders_.back();
      peer.say(frame_of(largest_hello("job", ++last_)));
      CHECK(peer.hear("\"kind\""));
      peer.say(frame_of(largest_join()) + frame_of(messages::keep_alive{}));
      if (peer.hear("\"alive\"")) continue;
      CHECK(peer.hear("twice as many, plus 256"));
      ++refused;
    }
    return refused;
  }

  /// All that have stayed so far leave, and as many come and leave after them.
  void go() {
    insiders_.clear();
    come_and_go();
  }

  /// Connections that stay, and say nothing or half of something.
  void crowd() {
    const std::string openings[] = {"", "elastic rend", set_key.substr(0, set_key.size() - 1),
                                    words_of_agent().substr(0, 60)};
    while (staying_.size() < many_) {
      const std::size_t number = staying_.size();
      staying_.push_back(connect_stranger(ports_[number % 2]));
      send_bytes(staying_.back(), openings[number / 2 % 4]);
    }
  }

  /// Clients that ask a lot, and read no answer.
  void never_read() {
    std::string questions = set_key;
    while (questions.size() < 1024 * 1024) questions += get_key;
    for (int client = 0; client < 8; ++client) {
      staying_.push_back(connect_stranger(ports_[client % 2]));
      send_bytes(staying_.back(), questions);
    }
  }

  /// Each conversation, up to each of its bytes.
  void cut_short() const {
    for (const std::string& words : {words_of_agent(), words_of_client()}) {
      for (std::size_t size = 0; size <= words.size(); ++size) {
        for (const std::uint16_t port : ports_)
          send_bytes(connect_stranger(port), words.substr(0, size));
      }
    }
  }

  void say_anything() const {
    std::mt19937 random(1);
    for (int stranger = 0; stranger < 1000; ++stranger) {
      std::string bytes(random() % 300, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      send_bytes(connect_stranger(ports_[stranger % 2]), bytes);
    }
  }

 private:
  std::size_t many_;
  std::uint16_t ports_[2];
  std::optional<elastic::job_secret> secret_;
  std::vector<unique_fd> staying_;
  std::vector<insider> insiders_;
  std::uint64_t last_ = 0;
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

/// A job of up to two nodes, whose workers end at a command.
class besieged_job {
 public:
  explicit besieged_job(bool has_secret) {
    if (!has_secret) return;
    const std::string text = "a secret of the job that the peers hold, too";
    std::ofstream(folder_ / "secret") << text << "\n";
    REQUIRE(::chmod((folder_ / "secret").c_str(), 0600) == 0);
    secret_.emplace(text);
  }

  std::unique_ptr<running_program> start() const {
    const std::string work = "echo \"$RANK/$WORLD_SIZE port $MASTER_PORT.\"; while [ ! -e " +
                             (folder_ / "end") + " ]; do sleep 0.1; done; echo done";
    std::string conf = "last_call_timeout=0.3";
    if (secret_) conf += ",secret_file=" + (folder_ / "secret");
    const std::vector<std::string> command = {
        ELASTIC_ELASTICRUN, "--nnodes",   "1:2", "--rdzv-backend", "c10d", "--rdzv-endpoint",
        fmt::format("localhost:{}", port_), "--rdzv-id", "job", "--rdzv-conf", conf,
        "--no-python", "bash", "-c", work};
    const std::map<std::string, std::string> variables{{remains_.name, remains_.value}};
    return std::make_unique<running_program>(command, variables);
  }

  void end() const { std::ofstream(folder_ / "end") << "now"; }

  std::uint16_t port() const { return port_; }
  const std::optional<elastic::job_secret>& secret() const { return secret_; }
  bool has_left_nothing() { return remains_.processes().empty(); }

 private:
  elastic::test::leftovers remains_;
  elastic::test::temporary_directory folder_;
  std::uint16_t port_ = elastic::test::reserved_port();
  std::optional<elastic::job_secret> secret_;
};

/// The peak growth of a process' private memory since the construction of this object; pages of
/// its program file do not count.
class growth {
 public:
  /// @param fixed_mib  how much it may grow for however few peers; for 10,000 it is 32 MiB
  growth(pid_t process, std::size_t peers, long fixed_mib) : process_(process), peers_(peers) {
    constexpr long most_mib = 32;
    const long for_peers = (most_mib - fixed_mib) * 1024 * static_cast<long>(peers) / 10'000;
    most_kib_ = fixed_mib * 1024 + for_peers;
    std::ofstream(fmt::format("/proc/{}/clear_refs", process)) << "5";
    before_ = memory_of(process, "RssAnon");
  }

  void check(std::string_view after) const {
    const long most = memory_of(process_, "VmHWM") - memory_of(process_, "RssFile");
    const long grown_kib = most - before_;
    CAPTURE(after, peers_, grown_kib);
    if (std::getenv("ELASTIC_HOSTILE_PEERS") != nullptr) {
      WARN(fmt::format("{:<21} {:>6} peers: the host has grown by {:.1f} MiB", after, peers_,
                       static_cast<double>(grown_kib) / 1024));
    }
    CHECK(grown_kib < most_kib_);
  }

 private:
  pid_t process_;
  std::size_t peers_;
  long most_kib_ = 0;
  long before_ = 0;
};

/// The port of the workers' store, once the workers have printed it.
std::uint16_t worker_port(running_program& host) {
  host.await_out("0/1 port ");
  host.await_out(".\n");
  const std::string text = host.out().substr(host.out().find("port ") + 5);
  return static_cast<std::uint16_t>(std::stoi(text));
}

TEST_CASE("hostile peers: a job goes on beside thousands, in bounded memory",
          "[integration][io][serial]") {
  const std::size_t many = peers_or(4000);
  const open_files files(many);
  if (!files.are_enough()) return elastic::test::skip("it takes 6,000 file descriptors");
  besieged_job job(false);
  const auto host = job.start();
  siege attack(many, job.port(), worker_port(*host), std::nullopt);
  const growth of_host(host->pid(), many, 20);

  attack.crowd();
  attack.never_read();
  attack.cut_short();
  attack.say_anything();
  // Another node still gets in, and its workers meet those of the host.
  const auto other = job.start();
  other->await_out("/2 port ");
  host->await_out("/2 port ");
  of_host.check("strangers");

  job.end();
  CHECK(host->wait().code == 0);
  CHECK(other->wait().code == 0);
  CHECK(job.has_left_nothing());
}

TEST_CASE("hostile peers: a job goes on in bounded memory beside thousands that speak as agents do",
          "[integration][io][serial]") {
  const bool has_secret = GENERATE(false, true);
  CAPTURE(has_secret);
  const std::size_t many = peers_or(1500);
  const open_files files(many);
  if (!files.are_enough()) return elastic::test::skip("it takes 3,500 file descriptors");
  besieged_job job(has_secret);
  const auto host = job.start();
  siege attack(many, job.port(), worker_port(*host), job.secret());
  // The connections of those that may stay are of a fixed number, and encryption takes its buffers.
  const growth of_host(host->pid(), many, has_secret ? 18 : 12);

  attack.come_and_go();
  of_host.check("gone agents");
  attack.bring_jobs();
  of_host.check("jobs of their own");
  attack.stay();
  of_host.check("agents that stay");
  const auto other = job.start();
  other->await_out("/2 port ");
  host->await_out("/2 port ");
  of_host.check("another node");
  // Now the round is full, and a node that joins stands by.
  CHECK(attack.crowd_in() > 0);
  of_host.check("agents that stand by");
  attack.go();
  of_host.check("and have gone");

  job.end();
  CHECK(host->wait().code == 0);
  CHECK(other->wait().code == 0);
  CHECK(job.has_left_nothing());
}

TEST_CASE("hostile peers: welcomed agents that do not finish a message take bounded memory",
          "[integration][io][serial]") {
  // The server takes little more than so many nodes of other jobs.
  constexpr std::size_t many = 1000;
  const open_files files(many);
  if (!files.are_enough()) return elastic::test::skip("it takes 3,000 file descriptors");
  besieged_job job(false);
  const auto host = job.start();
  siege attack(many, job.port(), worker_port(*host), std::nullopt);
  const growth of_host(host->pid(), many, 30);
  attack.stay_in_a_message();
  of_host.check("half a message");
  const auto other = job.start();
  other->await_out("/2 port ");
  job.end();
  CHECK(host->wait().code == 0);
  CHECK(other->wait().code == 0);
  CHECK(job.has_left_nothing());
}

}  // namespace hostile_peer_tests

}  // namespace
