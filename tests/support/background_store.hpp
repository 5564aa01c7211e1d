// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/control/detail/control_message.hpp>
#include <elastic/store/store.hpp>
#include <elastic/store/tcp_store_server.hpp>

#include <exception>
#include <memory>
#include <thread>
#include <utility>

namespace elastic::test {

/// A store server on its own thread, for tests that block.
class background_store {
 public:
  explicit background_store(tcp_store_server::options options = {})
      : server_(context_.get_executor(), std::move(options)) {
    thread_ = std::thread([this] { context_.run(); });
  }
  ~background_store() { stop(); }
  background_store(const background_store&) = delete;
  background_store& operator=(const background_store&) = delete;

  tcp_store_server& operator*() { return server_; }
  tcp_store_server* operator->() { return &server_; }

  /// Stops the server. Returns once nothing of it runs any more.
  void stop() {
    if (!thread_.joinable()) return;
    asio::co_spawn(context_, server_.stop(), [](std::exception_ptr) {});
    thread_.join();
  }

 private:
  asio::io_context context_{1};
  tcp_store_server server_;
  std::thread thread_;
};

}  // namespace elastic::test
