// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/net/endpoint.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <support/catch.hpp>
#include <support/raw_client.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/reserved_port.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace elastic::test {

/// An etcd server from Debian's package etcd-server on this host, with its own directory, which the
/// destructor removes. Fails the test if etcd is not installed.
class etcd_server {
 public:
  /// @param options  further options of etcd's command line
  explicit etcd_server(std::vector<std::string> options = {}, std::string scheme = "http")
      : options_(std::move(options)), scheme_(std::move(scheme)) {
    start();
  }

  std::uint16_t port() const { return port_; }
  std::string endpoint() const { return fmt::format("127.0.0.1:{}", port_); }
  std::string url() const { return fmt::format("{}://{}", scheme_, endpoint()); }

  /// Kills it; its stored data stays.
  void kill() {
    program_->signal(SIGKILL);
    program_.reset();
  }

  /// Stops it: it no longer answers but keeps its connections.
  void hang() { program_->stop(); }

  /// Continues it.
  void resume() { program_->signal(SIGCONT); }

  /// Starts it with its stored data.
  void start() {
    const std::string peer = fmt::format("http://127.0.0.1:{}", peer_port_);
    std::vector<std::string> command = {"etcd",
                                        "--name=one",
                                        "--data-dir=" + (directory_ / "data"),
                                        "--logger=zap",
                                        "--log-level=error",
                                        "--listen-client-urls=" + url(),
                                        "--advertise-client-urls=" + url(),
                                        "--listen-peer-urls=" + peer,
                                        "--initial-advertise-peer-urls=" + peer,
                                        "--initial-cluster=one=" + peer};
    command.insert(command.end(), options_.begin(), options_.end());
    program_ = std::make_unique<running_program>(command);
    INFO("etcd (of the package etcd-server) serves at " << url());
    REQUIRE(comes_true([&] { return is_serving(); }));
  }

  /// The output of etcdctl with these arguments; it must succeed.
  std::string control(std::vector<std::string> words) const {
    std::vector<std::string> command = {"etcdctl", "--command-timeout=60s", "--endpoints=" + url()};
    command.insert(command.end(), words.begin(), words.end());
    const program_result result = run_program(command, {{"ETCDCTL_API", "3"}});
    INFO(result.out << result.err);
    REQUIRE(result.code == 0);
    return result.out;
  }

 private:
  bool is_listening() const {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port_);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool is_there = ::connect(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    ::close(socket);
    return is_there;
  }

  /// Whether it answers a request, or refuses it where it asks for TLS. It listens long before: an
  /// etcd that is killed in between leaves a directory with which the next one never serves.
  bool is_serving() const {
    if (!is_listening()) return false;
    raw_client client(port_);
    if (!client.send("GET /health HTTP/1.0\r\n\r\n")) return false;
    constexpr int patience_ms = 1000;
    pollfd answer{client.socket(), POLLIN, 0};
    return ::poll(&answer, 1, patience_ms) > 0;
  }

  /// A folder in memory, if there is room: on a busy disk, etcd might not answer in time.
  static std::filesystem::path storage() {
    std::error_code failure;
    const auto memory = std::filesystem::space("/dev/shm", failure);
    constexpr std::uintmax_t needed = std::uintmax_t{1} << 30;
    if (failure || memory.available < needed) return std::filesystem::temp_directory_path();
    return "/dev/shm";
  }

  temporary_directory directory_{storage()};
  std::uint16_t port_ = reserved_port();
  std::uint16_t peer_port_ = reserved_port();
  std::vector<std::string> options_;
  std::string scheme_;
  std::unique_ptr<running_program> program_;
};

}  // namespace elastic::test
