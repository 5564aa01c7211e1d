// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/when_all.hpp>
#include <elastic/launch/console_log.hpp>
#include <elastic/process/detail/console_writer.hpp>
#include <elastic/process/detail/syscalls.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace elastic {
namespace {

class console_log final : public log_handler {
 public:
  void write(log_level, std::string_view text) noexcept override { lines.emplace_back(text); }
  std::vector<std::string> lines;
};

struct console_pipe {
  console_pipe() {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) FAIL("no pipe");
    read_end = detail::unique_fd(fds[0]);
    write_end = detail::unique_fd(fds[1]);
  }

  // What is in it now.
  std::string take(std::size_t limit = 1 << 20) const {
    std::string output(limit, '\0');
    pollfd poll_entry{read_end.get(), POLLIN, 0};
    const ssize_t size =
        ::poll(&poll_entry, 1, 0) == 1 ? ::read(read_end.get(), output.data(), output.size()) : 0;
    output.resize(static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    return output;
  }

  detail::unique_fd read_end;
  detail::unique_fd write_end;
};

// Reads all of a pipe, slowly: other coroutines run between two reads.
task<void> read_slowly(const console_pipe& pipe, std::size_t wanted_size, std::string& output) {
  auto executor = co_await asio::this_coro::executor;
  asio::posix::stream_descriptor descriptor(executor, ::dup(pipe.read_end.get()));
  while (output.size() < wanted_size) {
    co_await descriptor.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable);
    output += pipe.take(1000);
  }
}

task<void> write_lines(output_sink& sink, char letter, int count, std::size_t size) {
  const std::string line = std::string(size - 1, letter) + "\n";
  for (int i = 0; i < count; ++i) co_await sink.write(line);
}

CO_TEST("console_writer: writes to a pipe, a file and a socket", "[process]") {
  auto executor = co_await asio::this_coro::executor;
  console_pipe pipe;
  detail::console_writer to_pipe(executor, pipe.write_end.get());
  co_await to_pipe.write("hello\n");
  CHECK(pipe.take() == "hello\n");

  const detail::unique_fd file(::memfd_create("console", MFD_CLOEXEC));
  detail::console_writer to_file(executor, file.get());
  co_await to_file.write("hello\n");
  // One offset for all that share the description.
  CHECK(::write(file.get(), "after\n", 6) == 6);
  char lines[32];
  CHECK(std::string(lines, static_cast<std::size_t>(::pread(file.get(), lines, sizeof lines, 0))) ==
        "hello\nafter\n");

  int sockets[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
  const detail::unique_fd left(sockets[0]);
  const detail::unique_fd right(sockets[1]);
  detail::console_writer to_socket(executor, left.get());
  co_await to_socket.write("hello\n");
  char text[16];
  CHECK(::read(right.get(), text, sizeof text) == 6);
}

CO_TEST("console_writer: the flags of the descriptor stay as they are", "[process]") {
  auto executor = co_await asio::this_coro::executor;
  console_pipe pipe;
  const int flags = ::fcntl(pipe.write_end.get(), F_GETFL);
  detail::console_writer writer(executor, pipe.write_end.get());
  std::string output;
  task<void> write_task = write_lines(writer, 'a', 1000, 1000);
  using namespace asio::experimental::awaitable_operators;
  co_await (std::move(write_task) && read_slowly(pipe, 1'000'000, output));
  CHECK(output.size() == 1'000'000);
  CHECK(::fcntl(pipe.write_end.get(), F_GETFL) == flags);
}

CO_TEST("console_writer: lines of several writers come whole through a slow reader", "[process]") {
  auto executor = co_await asio::this_coro::executor;
  console_pipe pipe;
  detail::console_writer writer(executor, pipe.write_end.get());
  std::string output;
  using namespace asio::experimental::awaitable_operators;
  constexpr std::size_t size = 7001;  // more than a pipe takes in one piece
  task<void> write_task = write_lines(writer, 'a', 100, size) &&
                          write_lines(writer, 'b', 100, size) &&
                          write_lines(writer, 'c', 100, size);
  co_await (std::move(write_task) && read_slowly(pipe, 300 * size, output));
  REQUIRE(output.size() == 300 * size);
  std::vector<int> counts(256);
  for (std::size_t line = 0; line < 300; ++line) {
    const std::string text = output.substr(line * size, size);
    REQUIRE(text == std::string(size - 1, text[0]) + "\n");
    ++counts[static_cast<unsigned char>(text[0])];
  }
  CHECK(counts['a'] == 100);
  CHECK(counts['b'] == 100);
  CHECK(counts['c'] == 100);
}

CO_TEST("console_writer: a full socket makes it wait, too", "[process]") {
  auto executor = co_await asio::this_coro::executor;
  int sockets[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) == 0);
  const detail::unique_fd left(sockets[0]);
  console_pipe pipe;
  pipe.read_end = detail::unique_fd(sockets[1]);
  detail::console_writer writer(executor, left.get());
  std::string output;
  using namespace asio::experimental::awaitable_operators;
  task<void> write_task = write_lines(writer, 'a', 1000, 1000);
  co_await (std::move(write_task) && read_slowly(pipe, 1'000'000, output));
  CHECK(output.size() == 1'000'000);
  // Whoever else writes to it expects it to block.
  CHECK((::fcntl(left.get(), F_GETFL) & O_NONBLOCK) == 0);
}

// A pseudo-terminal that passes bytes through as they are: written by a program, read by its user.
void make_terminal(console_pipe& terminal) {
  int master = -1;
  int program = -1;
  termios raw_mode{};
  ::cfmakeraw(&raw_mode);
  if (::openpty(&master, &program, nullptr, &raw_mode, nullptr) != 0) FAIL("no terminal");
  terminal.read_end = detail::unique_fd(master);
  terminal.write_end = detail::unique_fd(program);
}

CO_TEST("console_writer: a terminal that is read slowly shows everything", "[process]") {
  auto executor = co_await asio::this_coro::executor;
  console_pipe terminal;
  make_terminal(terminal);
  const int flags = ::fcntl(terminal.write_end.get(), F_GETFL);
  detail::console_writer writer(executor, terminal.write_end.get());
  std::string output;
  using namespace asio::experimental::awaitable_operators;
  task<void> write_task = write_lines(writer, 'a', 300, 1000);
  co_await (std::move(write_task) && read_slowly(terminal, 300'000, output));
  CHECK(output.size() == 300'000);
  CHECK(::fcntl(terminal.write_end.get(), F_GETFL) == flags);
}

CO_TEST("console_writer: the other side of a terminal is not opened a second time", "[process]") {
  auto executor = co_await asio::this_coro::executor;
  console_pipe terminal;
  make_terminal(terminal);
  detail::console_writer writer(executor, terminal.read_end.get());
  co_await writer.write("typed\n");
  char text[16];
  CHECK(::read(terminal.write_end.get(), text, sizeof text) == 6);
}

CO_TEST("console_writer: a broken line ends before the next output, and only then", "[process]") {
  auto executor = co_await asio::this_coro::executor;
  console_pipe pipe;
  detail::console_writer writer(executor, pipe.write_end.get());
  co_await writer.write("part");
  writer.break_line();
  CHECK(pipe.take() == "part");
  co_await writer.write("of another\n");
  CHECK(pipe.take() == "\nof another\n");
  writer.break_line();
  co_await writer.write("and ");
  co_await writer.write("so on\n");
  CHECK(pipe.take() == "and so on\n");
}

CO_TEST("console_writer: writers to the same file share its last line", "[process]") {
  auto executor = co_await asio::this_coro::executor;
  console_pipe pipe;
  detail::console_writer out(executor, pipe.write_end.get());
  const detail::unique_fd same(::fcntl(pipe.write_end.get(), F_DUPFD_CLOEXEC, 3));
  detail::console_writer err(executor, same.get());
  console_pipe other_pipe;
  detail::console_writer other(executor, other_pipe.write_end.get());
  co_await out.write("part");
  out.break_line();
  co_await other.write("elsewhere\n");
  co_await err.write("next\n");
  CHECK(pipe.take() == "part\nnext\n");
  CHECK(other_pipe.take() == "elsewhere\n");
}

CO_TEST("console_writer: the end of a broken line waits for room, too", "[process]") {
  auto executor = co_await asio::this_coro::executor;
  console_pipe pipe;
  ::fcntl(pipe.write_end.get(), F_SETPIPE_SZ, 4096);
  detail::console_writer writer(executor, pipe.write_end.get());
  co_await writer.write(std::string(4096, 'x'));
  writer.break_line();
  std::string output;
  std::vector<task<void>> both;
  both.push_back(writer.write("next\n"));
  both.push_back(read_slowly(pipe, 4096 + 6, output));
  co_await when_all(std::move(both));
  CHECK(output == std::string(4096, 'x') + "\nnext\n");
}

CO_TEST("console_target: what leaves the cursor where it was ends no line", "[process]") {
  console_pipe pipe;
  detail::console_target target(pipe.write_end.get());
  CHECK(target.write_some("part") == 4u);
  target.break_line();
  CHECK(target.draw_some("\x1b[2K") == 4u);
  CHECK(pipe.take() == "part\x1b[2K");
  CHECK(target.write_some("next\n") == 5u);
  CHECK(pipe.take() == "\nnext\n");
  co_return;
}

CO_TEST("console_writer: says once that the other end has gone, and takes everything from then on",
        "[process]") {
  auto executor = co_await asio::this_coro::executor;
  auto log = std::make_shared<console_log>();
  console_pipe pipe;
  detail::console_writer writer(executor, pipe.write_end.get(), logger(log, log_level::info));
  pipe.read_end.reset();
  co_await writer.write("one\n");  // SIGPIPE would end this program
  co_await writer.write("two\n");
  REQUIRE(log->lines.size() == 1);
  CHECK_THAT(log->lines[0], test::contains_text("Broken pipe"));
  sigset_t pending_signals;
  ::sigpending(&pending_signals);
  CHECK(::sigismember(&pending_signals, SIGPIPE) == 0);
}

CO_TEST("console_writer: an end that goes while it waits for room is noticed", "[process]") {
  auto executor = co_await asio::this_coro::executor;
  auto log = std::make_shared<console_log>();
  console_pipe pipe;
  detail::console_writer writer(executor, pipe.write_end.get(), logger(log, log_level::info));
  bool is_written = false;
  auto note = [&](std::exception_ptr) { is_written = true; };
  asio::co_spawn(executor, write_lines(writer, 'a', 1000, 1000), note);
  while (pipe.take(1).empty()) co_await asio::post(executor, asio::use_awaitable);
  for (int i = 0; i < 10; ++i) co_await asio::post(executor, asio::use_awaitable);
  CHECK_FALSE(is_written);
  pipe.read_end.reset();
  while (!is_written) co_await asio::post(executor, asio::use_awaitable);
  CHECK(log->lines.size() == 1);
}

CO_TEST("console_writer: a descriptor that is not open takes everything", "[process]") {
  auto executor = co_await asio::this_coro::executor;
  detail::console_writer writer(executor, 987654);
  co_await writer.write("hello\n");
}

CO_TEST("console_writer: a cancelled write lets the next one go on", "[process]") {
  auto executor = co_await asio::this_coro::executor;
  console_pipe pipe;
  detail::console_writer writer(executor, pipe.write_end.get());
  asio::cancellation_signal cancel;
  bool has_ended = false;
  auto note = [&](std::exception_ptr) { has_ended = true; };
  asio::co_spawn(executor, write_lines(writer, 'a', 1000, 1000),
                 asio::bind_cancellation_slot(cancel.slot(), note));
  while (pipe.take(1).empty()) co_await asio::post(executor, asio::use_awaitable);
  cancel.emit(asio::cancellation_type::terminal);
  while (!has_ended) co_await asio::post(executor, asio::use_awaitable);
  while (!pipe.take().empty()) {
  }
  co_await writer.write("next\n");
  CHECK(pipe.take() == "next\n");
}

}  // namespace
}  // namespace elastic
