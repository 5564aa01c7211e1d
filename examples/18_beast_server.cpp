// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A job inside a server on Boost.Asio: Beast serves HTTP, on the context that runs the job. GET /
// tells how the job is, POST /stop stops it.
//
//   cmake --preset release -DELASTIC_WITH_BOOST=ON -DBOOST_ROOT=...
//   build/release/examples/18_beast_server

#include <elastic/elastic.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using text_request = http::request<http::string_body>;
using text_response = http::response<http::string_body>;

// [beast]
class job_server {
 public:
  job_server(tcp::acceptor& acceptor, const elastic::launch_config& config)
      : acceptor_(acceptor), job_(acceptor.get_executor(), config) {
    asio::co_spawn(acceptor_.get_executor(), accept(), [](std::exception_ptr) {});
    job_.async_run([this](std::exception_ptr failure, elastic::run_result result) {
      state_ = failure ? "not run" : to_string(result.state);
      acceptor_.close();
    });
  }

  const std::string& state() const { return state_; }

 private:
  // Ends by the closing of the acceptor.
  elastic::task<void> accept() {
    for (;;) {
      tcp::socket client = co_await acceptor_.async_accept(asio::use_awaitable);
      asio::co_spawn(client.get_executor(), answer(std::move(client)), [](std::exception_ptr) {});
    }
  }

  elastic::task<void> answer(tcp::socket client) {
    boost::beast::flat_buffer buffer;
    text_request request;
    co_await http::async_read(client, buffer, request, asio::use_awaitable);
    text_response response(http::status::ok, request.version());
    if (request.method() == http::verb::post && request.target() == "/stop") {
      job_.stop();
      response.body() = "stopping";
    } else if (request.target() == "/") {
      response.body() = state_;
    } else {
      response.result(http::status::not_found);
    }
    response.prepare_payload();
    co_await http::async_write(client, response, asio::use_awaitable);
  }

  tcp::acceptor& acceptor_;
  elastic::job job_;
  std::string state_ = "RUNNING";
};
// [/beast]

// What the server answers to one request.
std::string ask(unsigned short port, http::verb method, const std::string& path) {
  asio::io_context context;
  tcp::socket server(context);
  server.connect({asio::ip::address_v4::loopback(), port});
  http::write(server, text_request(method, path, 11));
  boost::beast::flat_buffer buffer;
  text_response response;
  http::read(server, buffer, response);
  return response.body();
}

// A worker: it asks the server how the job is, has it stopped, and works until it is.
int work(unsigned short port) {
  std::printf("GET /: %s\n", ask(port, http::verb::get, "/").c_str());
  std::fflush(stdout);
  ask(port, http::verb::post, "/stop");  // may end this process before the answer is here
  for (;;) ::pause();
}

int main(int count, char** words) {
  if (count == 2) return work(static_cast<unsigned short>(std::stoi(words[1])));
  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  elastic::launch_config config;
  config.workers.program = std::filesystem::read_symlink("/proc/self/exe");
  config.workers.arguments = {std::to_string(acceptor.local_endpoint().port())};
  config.workers.environment = elastic::environment_from(environ);
  config.standalone = true;
  job_server server(acceptor, config);
  context.run();
  std::printf("the job ended: %s\n", server.state().c_str());
}

// Prints:
// GET /: RUNNING
// the job ended: STOPPED
