// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/detail/internals.hpp>
#include <elastic/base/event_flag.hpp>
#include <elastic/nodes/detail/rendezvous_message.hpp>
#include <elastic/process/detail/tee.hpp>
#include <elastic/torch/detail/pickle_format.hpp>
#include <support/catch.hpp>
#include <support/co_test.hpp>
#include <support/log_recorder.hpp>
#include <support/manual_time.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace elastic {
namespace {

// Keeps all output that is shown; can be made to block.
class tee_console final : public output_sink {
 public:
  explicit tee_console(asio::any_io_executor executor) : may_go_on(std::move(executor)) {}

  task<void> write(std::string_view bytes) override {
    ++writes;
    if (stands_still) co_await may_go_on.wait();
    text += bytes;
  }
  void break_line() override { text += "|"; }

  std::string text;
  int writes = 0;
  bool stands_still = false;
  event_flag may_go_on;
};

// A log file that is nowhere but in memory.
class tee_file {
 public:
  tee_file() : file_(::memfd_create("log", MFD_CLOEXEC)) {}

  std::shared_ptr<log_file> writer() const {
    return detail::internals::make<log_file>(
        detail::unique_fd(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 3)), "", log_file::rotation(),
        false);
  }
  std::string text() const {
    std::string content(static_cast<std::size_t>(::lseek(file_.get(), 0, SEEK_END)), '\0');
    const ssize_t size = ::pread(file_.get(), content.data(), content.size(), 0);
    REQUIRE(size == static_cast<ssize_t>(content.size()));
    return content;
  }

 private:
  detail::unique_fd file_;
};

struct tee_bench {
  explicit tee_bench(asio::any_io_executor strand)
      : executor(std::move(strand)), console(std::make_shared<tee_console>(executor)) {
    int fds[2];
    if (::pipe2(fds, O_CLOEXEC) != 0) FAIL("no pipe");
    ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
    source = detail::unique_fd(fds[0]);
    sink = detail::unique_fd(fds[1]);
  }

  void begin(detail::tee_outlets outlets, pid_t pid = 1) {
    copy = std::make_unique<detail::tee>(executor, std::move(source), std::move(outlets));
    copy->begin(pid);
    copy->watch_for({"Traceback", "failed"}, [this] { ++alarms; });
    auto note = [this](std::exception_ptr failure) {
      has_ended = true;
      has_failed = failure != nullptr;
    };
    asio::co_spawn(executor, copy->run(), asio::bind_cancellation_slot(cancel.slot(), note));
  }

  detail::tee_outlets outlets(std::string prefix) const {
    detail::tee_outlets result;
    result.console = console;
    result.prefix = std::move(prefix);
    return result;
  }

  void write(std::string_view text) const {
    REQUIRE(::write(sink.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }

  // Until everything that can run has run several times.
  task<void> settle() {
    for (int i = 0; i < 50; ++i) co_await asio::post(executor, asio::use_awaitable);
  }
  task<void> end() {
    while (!has_ended) co_await asio::post(executor, asio::use_awaitable);
  }

  asio::any_io_executor executor;
  std::shared_ptr<tee_console> console;
  detail::unique_fd source;
  detail::unique_fd sink;
  std::unique_ptr<detail::tee> copy;
  int alarms = 0;
  asio::cancellation_signal cancel;
  bool has_ended = false;
  bool has_failed = false;
};

CO_TEST("tee: shows whole lines with their prefix, and ends the unfinished last one", "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  bench.begin(bench.outlets("[trn0]:"));
  bench.write("one\ntw");
  while (bench.console->text.empty()) co_await bench.settle();
  CHECK(bench.console->text == "[trn0]:one\n");
  bench.write("o\nlast");
  bench.sink.reset();
  co_await bench.end();
  CHECK(bench.console->text == "[trn0]:one\n[trn0]:two\n[trn0]:last\n");
}

CO_TEST("tee: without a prefix bytes pass through at once", "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  bench.begin(bench.outlets(""));
  bench.write("Enter: ");
  while (bench.console->text.empty()) co_await bench.settle();
  CHECK(bench.console->text == "Enter: ");
  bench.write("a name\n");
  bench.sink.reset();
  co_await bench.end();
  CHECK(bench.console->text == "Enter: a name\n");
}

CO_TEST("tee: without a prefix the console learns that the stream ended in the middle of a line",
        "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  bench.begin(bench.outlets(""));
  bench.write("one\npart");
  bench.sink.reset();
  co_await bench.end();
  CHECK(bench.console->text == "one\npart|");
}

/// As a user's sink might.
class throwing_console final : public output_sink {
 public:
  task<void> write(std::string_view) override {
    ++writes;
    throw std::runtime_error("the window is closed");
    co_return;
  }

  int writes = 0;
};

CO_TEST("tee: a console that throws is given up with a line of the log", "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  const tee_file file;
  const auto console = std::make_shared<throwing_console>();
  const auto records = std::make_shared<test::log_recorder>();
  detail::tee_outlets outlets;
  outlets.console = console;
  outlets.file = file.writer();
  outlets.log = records->log();
  bench.begin(std::move(outlets), 17);
  bench.write("one\n");
  while (console->writes == 0) co_await bench.settle();
  bench.write("two\n");
  bench.sink.reset();
  co_await bench.end();
  CHECK_FALSE(bench.has_failed);
  CHECK(console->writes == 1);
  CHECK(file.text() == "one\ntwo\n");
  CHECK(records->has("no more output of process 17 is shown: its output sink failed: "
                     "the window is closed",
                     log_level::error));
}

CO_TEST("tee: a console that is abandoned is not said to have failed", "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  const auto records = std::make_shared<test::log_recorder>();
  bench.console->stands_still = true;
  detail::tee_outlets outlets = bench.outlets("");
  outlets.log = records->log();
  bench.begin(std::move(outlets));
  bench.write("one\n");
  while (bench.console->writes == 0) co_await bench.settle();
  bench.copy->abandon_console();
  bench.sink.reset();
  co_await bench.end();
  CHECK_FALSE(records->has("output sink failed", log_level::error));
}

CO_TEST("tee: writes the file before the console", "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  const tee_file file;
  bench.console->stands_still = true;
  detail::tee_outlets outlets = bench.outlets("[p]:");
  outlets.file = file.writer();
  bench.begin(std::move(outlets));
  bench.write("one\nhalf");
  while (bench.console->writes == 0) co_await bench.settle();
  CHECK(bench.console->text.empty());
  CHECK(file.text() == "one\nhalf");
  bench.console->may_go_on.set();
  bench.sink.reset();
  co_await bench.end();
  CHECK(bench.console->text == "[p]:one\n[p]:half\n");
}

TIME_TEST("tee: lines say when they were read and who wrote them", "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  detail::tee_outlets outlets = bench.outlets("");
  outlets.prefix.add_time().add_text(" ").add_pid().add_text(": ");
  outlets.time = std::shared_ptr<time_source>(std::shared_ptr<void>(), &time);
  bench.begin(std::move(outlets), 4711);
  bench.write("one\ntwo\n");
  const std::string stamp = detail::time_text(time.wall_now()) + " 4711: ";
  bench.sink.reset();
  co_await bench.end();
  CHECK(bench.console->text == stamp + "one\n" + stamp + "two\n");
}

CO_TEST("tee: lines are shown as JSON, and the file has them as they were", "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  const tee_file file;
  detail::tee_outlets outlets = bench.outlets("{\"rank\":0,");
  outlets.json = true;
  outlets.file = file.writer();
  bench.begin(std::move(outlets));
  bench.write("say \"hi\"\nlast");
  bench.sink.reset();
  co_await bench.end();
  CHECK(bench.console->text ==
        "{\"rank\":0,\"text\":\"say \\\"hi\\\"\"}\n{\"rank\":0,\"text\":\"last\"}\n");
  CHECK(file.text() == "say \"hi\"\nlast");
}

CO_TEST("tee: lines that match go to a file of their own, whatever is shown", "[process]") {
  for (const bool is_shown : {true, false}) {
    tee_bench bench(co_await asio::this_coro::executor);
    const tee_file file;
    detail::tee_outlets outlets = bench.outlets("");
    if (!is_shown) outlets.console.reset();
    outlets.matches.filters.emplace_back("loss");
    outlets.matches.prefix = "[p]:";
    outlets.matches.file = file.writer();
    bench.begin(std::move(outlets));
    bench.write("loss 1\nstep 2\nlo");
    while (file.text().empty()) co_await bench.settle();
    CHECK(file.text() == "[p]:loss 1\n");
    bench.write("ss 2");
    bench.sink.reset();
    co_await bench.end();
    CHECK(file.text() == "[p]:loss 1\n[p]:loss 2\n");
    CHECK(bench.console->text == (is_shown ? "loss 1\nstep 2\nloss 2|" : ""));
  }
}

CO_TEST("tee: a console that stands still stops the reading, and loses nothing", "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  bench.console->stands_still = true;
  bench.begin(bench.outlets("[p]:"));
  ::fcntl(bench.sink.get(), F_SETFL, O_NONBLOCK);
  std::size_t line_count = 0;
  const std::string line(99, 'x');
  // The writer finds the pipe full although the tee runs.
  for (int full_count = 0; full_count < 20;) {
    const ssize_t size = ::write(bench.sink.get(), (line + "\n").data(), 100);
    if (size == 100) ++line_count;
    if (size < 0) ++full_count;
    co_await bench.settle();
    REQUIRE(line_count < 100'000);
  }
  bench.console->may_go_on.set();
  bench.sink.reset();
  co_await bench.end();
  CHECK(bench.console->text.size() == line_count * 104);
}

CO_TEST("tee: finish copies what is in the pipe and waits for no more", "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  bench.begin(bench.outlets("[p]:"));
  co_await bench.settle();
  bench.write("last words\nunfinished");
  bench.copy->finish();
  bench.write("too late\n");
  co_await bench.end();
  CHECK(bench.console->text == "[p]:last words\n[p]:unfinished\n");
  bench.copy->finish();
}

CO_TEST("tee: finish while the console stands still loses nothing", "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  bench.console->stands_still = true;
  bench.begin(bench.outlets("[p]:"));
  bench.write("one\n");
  while (bench.console->writes == 0) co_await bench.settle();
  bench.write("two\n");
  bench.copy->finish();
  co_await bench.settle();
  CHECK_FALSE(bench.has_ended);
  bench.console->may_go_on.set();
  co_await bench.end();
  CHECK(bench.console->text == "[p]:one\n[p]:two\n");
}

CO_TEST("tee: an abandoned console holds nothing up, and the file is complete", "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  const tee_file file;
  bench.console->stands_still = true;
  detail::tee_outlets outlets = bench.outlets("[p]:");
  outlets.file = file.writer();
  bench.begin(std::move(outlets));
  bench.write("one\n");
  while (bench.console->writes == 0) co_await bench.settle();
  bench.write("two\n");
  bench.copy->abandon_console();
  bench.sink.reset();
  co_await bench.end();
  CHECK_FALSE(bench.has_failed);
  CHECK(bench.console->text.empty());
  CHECK(file.text() == "one\ntwo\n");
}

CO_TEST("tee: ends when it is cancelled", "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  bench.begin(bench.outlets("[p]:"));
  co_await bench.settle();
  bench.cancel.emit(asio::cancellation_type::terminal);
  co_await bench.end();
  CHECK(bench.has_failed);
}

CO_TEST("tee: a file that cannot be written is said and does not stop the console", "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  class recorder final : public log_handler {
   public:
    void write(log_level, std::string_view text) noexcept override { log_text += text; }
    std::string log_text;
  };
  auto log = std::make_shared<recorder>();
  detail::tee_outlets outlets = bench.outlets("[p]:");
  outlets.file = log_file::open("/dev/full");
  outlets.log = logger(log, log_level::debug);
  bench.begin(std::move(outlets));
  bench.write("one\n");
  bench.sink.reset();
  co_await bench.end();
  CHECK(bench.console->text == "[p]:one\n");
  CHECK_THAT(log->log_text, test::contains_text("'/dev/full'"));
  CHECK_THAT(log->log_text, test::contains_text("No space left"));
}

/// A log file that takes nothing: a pipe that is full and that nobody reads.
class stalled_file {
 public:
  stalled_file() {
    int fds[2];
    REQUIRE(::pipe2(fds, O_CLOEXEC) == 0);
    read_ = detail::unique_fd(fds[0]);
    const detail::unique_fd write(fds[1]);
    ::fcntl(write.get(), F_SETFL, O_NONBLOCK);
    const std::string block(4096, 'x');
    while (::write(write.get(), block.data(), block.size()) > 0) {
    }
    ::fcntl(write.get(), F_SETFL, 0);
    file = detail::internals::make<log_file>(
        detail::unique_fd(::fcntl(write.get(), F_DUPFD_CLOEXEC, 3)), "stalled.log",
        log_file::rotation(), true);
  }

  /// Reads until so many bytes came at the end of what filled it.
  std::string read_on(std::size_t size) {
    std::string text;
    std::array<char, 4096> bytes;
    while (text.size() < size) {
      const ssize_t count = ::read(read_.get(), bytes.data(), bytes.size());
      if (count <= 0) break;
      for (ssize_t i = 0; i < count; ++i) {
        if (bytes[static_cast<std::size_t>(i)] != 'x') text += bytes[static_cast<std::size_t>(i)];
      }
    }
    return text;
  }

  void close() { read_.reset(); }

  std::shared_ptr<log_file> file;

 private:
  detail::unique_fd read_;
};

CO_TEST("tee: a file that stalls holds up its own process only", "[process]") {
  const auto executor = co_await asio::this_coro::executor;
  stalled_file stalled_log;
  tee_bench stalled_bench(executor);
  detail::tee_outlets outlets = stalled_bench.outlets("[held]:");
  outlets.file = stalled_log.file;
  stalled_bench.begin(std::move(outlets));
  stalled_bench.write("one\n");
  tee_bench other_bench(executor);
  const tee_file file;
  outlets = other_bench.outlets("[other]:");
  outlets.file = file.writer();
  other_bench.begin(std::move(outlets));
  other_bench.write("two\n");
  while (other_bench.console->text.empty()) co_await other_bench.settle();
  CHECK(file.text() == "two\n");
  CHECK(stalled_bench.console->text.empty());
  // It reads on when the file does, and everything is in order.
  stalled_bench.write("three\n");
  CHECK(stalled_log.read_on(4) == "one\n");
  stalled_bench.sink.reset();
  other_bench.sink.reset();
  co_await stalled_bench.end();
  co_await other_bench.end();
  CHECK(stalled_bench.console->text == "[held]:one\n[held]:three\n");
  CHECK(stalled_log.read_on(6) == "three\n");
}

CO_TEST("tee: while a file stalls it ends when it is cancelled, and says what is lost",
        "[process]") {
  stalled_file stalled_log;
  tee_bench bench(co_await asio::this_coro::executor);
  const auto records = std::make_shared<test::log_recorder>();
  detail::tee_outlets outlets = bench.outlets("[p]:");
  outlets.file = stalled_log.file;
  outlets.log = records->log();
  bench.begin(std::move(outlets));
  bench.write("one\n");
  // The read has begun to be written when the pipe is empty.
  for (int unread_bytes = 1; unread_bytes != 0;) {
    co_await bench.settle();
    ::ioctl(bench.sink.get(), FIONREAD, &unread_bytes);
  }
  bench.cancel.emit(asio::cancellation_type::terminal);
  co_await bench.end();
  CHECK(bench.has_failed);
  CHECK(records->has("'stalled.log'", log_level::error));
  bench.copy.reset();
  // Else the thread would be left behind.
  CHECK(stalled_log.read_on(4) == "one\n");
}

CO_TEST("tee: a text that is watched for is told once the last lines have it", "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  detail::tee_outlets outlets = bench.outlets("");
  outlets.keep_tail = true;
  bench.begin(std::move(outlets));
  bench.write("epoch 3\n");
  co_await bench.settle();
  CHECK(bench.alarms == 0);
  bench.write("one line\nTraceback (most recent call last):\n");
  co_await bench.settle();
  CHECK(bench.alarms == 1);
  CHECK(bench.copy->tail().size() == 3);
  bench.sink.reset();
  co_await bench.end();
  CHECK(bench.alarms == 1);
}

CO_TEST("tee: keeps the last lines", "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  detail::tee_outlets outlets;
  outlets.keep_tail = true;
  bench.begin(std::move(outlets));
  std::string text;
  for (int i = 0; i < 100; ++i) text += "line " + std::to_string(i) + "\n";
  bench.write(text + "unfinished");
  bench.sink.reset();
  co_await bench.end();
  const std::vector<std::string> tail = bench.copy->tail();
  REQUIRE(tail.size() == limits::report_stderr_lines);
  CHECK(tail.front() == "line 81");
  CHECK(tail.back() == "unfinished");
}

CO_TEST("tee: a flood arrives whole and in order", "[process]") {
  tee_bench bench(co_await asio::this_coro::executor);
  const tee_file file;
  detail::tee_outlets outlets = bench.outlets("[p]:");
  outlets.file = file.writer();
  bench.begin(std::move(outlets));
  constexpr int count = 200'000;
  std::thread writer([fd = std::move(bench.sink)] {
    std::string batch;
    for (int i = 0; i < count; ++i) {
      batch += "number " + std::to_string(i) + "\n";
      if (batch.size() < 50'001 && i + 1 < count) continue;
      for (std::string_view rest = batch; !rest.empty();) {
        const ssize_t size = ::write(fd.get(), rest.data(), rest.size());
        if (size < 0) return;
        rest.remove_prefix(static_cast<std::size_t>(size));
      }
      batch.clear();
    }
  });
  co_await bench.end();
  writer.join();
  std::string expected_file;
  std::string expected_console;
  for (int i = 0; i < count; ++i) {
    const std::string line = "number " + std::to_string(i) + "\n";
    expected_file += line;
    expected_console += "[p]:" + line;
  }
  CHECK((file.text() == expected_file));
  CHECK((bench.console->text == expected_console));
}

}  // namespace
}  // namespace elastic
