// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/race.hpp>
#include <elastic/telemetry/job_journal.hpp>
#include <elastic/vault/detail/vault_header.hpp>
#include <elastic/vault/detail/vault_part.hpp>
#include <support/catch.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace elastic::test {

/// A worker's end of a connection to the vault.
class vault_peer {
 public:
  explicit vault_peer(const std::string& address)
      : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, address.data(), address.size());
    name.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    REQUIRE(::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&name), size) == 0);
  }

  int socket() const { return socket_.get(); }
  void say(const std::string& packet) const {
    ::send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL);
  }
  bool has_answer() const {
    pollfd readable{socket_.get(), POLLIN, 0};
    return ::poll(&readable, 1, 0) != 0;
  }

  /// The answer that is there; null: the connection has ended.
  nlohmann::json hear() {
    std::array<char, 4096> bytes;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control;
    iovec place{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size <= 0) return {};
    file.reset();
    if (const cmsghdr* const head = CMSG_FIRSTHDR(&message)) {
      int received = -1;
      std::memcpy(&received, CMSG_DATA(head), sizeof received);
      file = elastic::detail::unique_fd(received);
    }
    return nlohmann::json::parse(bytes.begin(), bytes.begin() + size);
  }

  /// The file that came with the last answer.
  elastic::detail::unique_fd file;

 private:
  elastic::detail::unique_fd socket_;
};

/// The vault of a node whose workers are all this process, the one that `speaks`.
struct vault_stage {
  vault_stage(manual_time& clock, int workers, std::uint64_t limit, std::string node = "")
      : journal(std::make_shared<job_journal>(options_of(std::move(node)))), time(clock) {
    agent_part::context context;
    context.strand = clock.context().get_executor();
    context.executor = context.strand;
    context.time = clock.share();
    context.log = log->log();
    context.local_world_size = workers;
    context.journal = journal;
    context.workers = [this, workers] {
      std::vector<agent_part::attempt_worker> running;
      for (int rank = 0; rank < workers; ++rank) {
        agent_part::attempt_worker worker;
        worker.rank = worker.local_rank = rank;
        worker.pid = rank == speaks ? ::getpid() : 1;
        running.push_back(worker);
      }
      return running;
    };
    ranks.world_size = workers;
    part.emplace(limit, std::move(context));
    environment_map variables;
    part->change_environment(worker_identity(), variables);
    address = variables["ELASTIC_VAULT"];
  }

  /// Starts the workers in a new round, lets `work` speak for them, and ends them.
  task<void> attempt(task<void> work) {
    ++round.round;
    task<void> agreeing = part->agree(round, ranks);
    co_await std::move(agreeing);
    task<void> serving = part->beside_workers(true);
    co_await race(std::move(serving), std::move(work));
  }

  task<nlohmann::json> ask(vault_peer& peer, std::string packet) {
    peer.say(packet);
    constexpr int most = 1'000'000;
    for (int looks = 0; !peer.has_answer(); ++looks) {
      if (looks == most) throw std::runtime_error("the worker is not answered");
      // An answer that needs no time has come by then.
      constexpr int looks_at_once = 100;
      const std::chrono::milliseconds pause(looks < looks_at_once ? 0 : 1);
      co_await time.sleep_until(time.now() + pause);
    }
    co_return peer.hear();
  }

  /// Commits as a rank. Result: the answer to its begin.
  task<nlohmann::json> commit(vault_peer& peer, int rank, std::int64_t step,
                              std::string data = "data") {
    speaks = rank;
    task<nlohmann::json> asking =
        ask(peer, fmt::format(R"({{"kind": "begin", "bytes": {}}})",
                              limits::vault_header_bytes + data.size() + 2));
    const nlohmann::json place = co_await std::move(asking);
    if (place["kind"] != "write") co_return place;
    elastic::detail::vault_header header;
    header.id = {place["epoch"], place["generation"]};
    header.step = step;
    header.rank = place["rank"];
    header.world_size = place["world_size"];
    header.data_bytes = data.size();
    header.manifest_bytes = 2;
    header.manifest_check = elastic::detail::crc32("{}");
    const std::string content = bytes_of(header) + data + "{}";
    if (publishing) publishing(place);
    CHECK(::pwrite(peer.file.get(), content.data(), content.size(), 0) ==
          static_cast<ssize_t>(content.size()));
    peer.say(fmt::format(R"({{"kind": "committed", "slot": {}}})", place["slot"].dump()));
    // The next answer comes after what was said before.
    task<nlohmann::json> settling = ask(peer, R"({"kind": "find"})");
    co_await std::move(settling);
    co_return place;
  }

  /// "vault_committed 3 of step 30".
  std::vector<std::string> events() const {
    std::vector<std::string> lines;
    for (const journal_record& record : journal->after(0)) {
      const job_event& event = record.event;
      lines.push_back(fmt::format("{} {} of step {}", to_string(event.kind),
                                  event.generation.value_or(-1), event.step.value_or(-1)));
      if (!event.reason.empty()) lines.back() += ": " + event.reason;
    }
    return lines;
  }

  static job_journal::options options_of(std::string node) {
    job_journal::options settings;
    settings.node = std::move(node);
    return settings;
  }

  std::shared_ptr<job_journal> journal;
  manual_time& time;
  std::shared_ptr<log_recorder> log = std::make_shared<log_recorder>();
  rendezvous_round round;
  assigned_ranks ranks;
  int speaks = 0;
  /// Called with the answer to a begin, before the commit is whole.
  std::function<void(const nlohmann::json&)> publishing;
  std::optional<elastic::detail::vault_part> part;
  std::string address;
};

}  // namespace elastic::test
