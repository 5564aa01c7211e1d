// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/control/detail/timer_fifo.hpp>

#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <support/catch.hpp>
#include <support/run_program.hpp>
#include <support/text.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>

namespace timer_fifo_tests {

using elastic::detail::open_timer_fifo;
using elastic::detail::unique_fd;
using elastic::test::temporary_directory;

/// The umask of a moment.
class umask_scope {
 public:
  explicit umask_scope(mode_t mask) : before_(::umask(mask)) {}
  umask_scope(const umask_scope&) = delete;
  umask_scope& operator=(const umask_scope&) = delete;
  ~umask_scope() { ::umask(before_); }

 private:
  mode_t before_;
};

struct stat status_of(const std::string& path) {
  struct stat status{};
  REQUIRE(::lstat(path.c_str(), &status) == 0);
  return status;
}

TEST_CASE("timer fifo: nobody but its user may read or write it, whatever the umask",
          "[control]") {
  for (const mode_t mask : {0000, 0022, 0077}) {
    const temporary_directory folder;
    const umask_scope scope(mask);
    const unique_fd fifo(open_timer_fifo(folder / "timers"));
    const struct stat made = status_of(folder / "timers");
    CAPTURE(mask);
    CHECK(S_ISFIFO(made.st_mode));
    CHECK((made.st_mode & 07777) == 0600);
    CHECK(made.st_uid == ::geteuid());
  }
}

TEST_CASE("timer fifo: it is closed at an exec, never ends and never blocks", "[control]") {
  const temporary_directory folder;
  const unique_fd fifo(open_timer_fifo(folder / "timers"));
  CHECK((::fcntl(fifo.get(), F_GETFD) & FD_CLOEXEC) != 0);
  const unique_fd client(::open((folder / "timers").c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  REQUIRE(client);
  CHECK(::write(client.get(), "x", 1) == 1);
  char letter = 0;
  CHECK(::read(fifo.get(), &letter, 1) == 1);
  CHECK(::read(fifo.get(), &letter, 1) == -1);
  CHECK(errno == EAGAIN);
}

TEST_CASE("timer fifo: an existing FIFO is replaced", "[control]") {
  const temporary_directory folder;
  REQUIRE(::mkfifo((folder / "timers").c_str(), 0666) == 0);
  REQUIRE(::chmod((folder / "timers").c_str(), 0666) == 0);
  const auto before = status_of(folder / "timers").st_ino;
  const unique_fd reader_of_the_old(
      ::open((folder / "timers").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const unique_fd fifo(open_timer_fifo(folder / "timers"));
  const struct stat made = status_of(folder / "timers");
  CHECK(made.st_ino != before);
  CHECK((made.st_mode & 07777) == 0600);
}

TEST_CASE("timer fifo: a file of another kind stays, and the error names it", "[control]") {
  const temporary_directory folder;
  std::ofstream(folder / "file") << "text";
  REQUIRE(::symlink((folder / "file").c_str(), (folder / "link").c_str()) == 0);
  REQUIRE(::mkdir((folder / "folder").c_str(), 0700) == 0);
  for (const char* const name : {"file", "link", "folder"}) {
    CAPTURE(name);
    try {
      open_timer_fifo(folder / name);
      FAIL("it was replaced");
    } catch (const elastic::error& failure) {
      CHECK(failure.code() == elastic::errc::file_access);
      CHECK(elastic::test::has_text(failure.what(), folder / name));
      CHECK(elastic::test::has_text(failure.what(), "is not a FIFO"));
    }
  }
  CHECK(elastic::test::file_text(folder / "file") == "text");
  CHECK(S_ISLNK(status_of(folder / "link").st_mode));
}

TEST_CASE("timer fifo: a missing folder is an error that names the file", "[control]") {
  const temporary_directory folder;
  try {
    open_timer_fifo(folder / "missing/timers");
    FAIL("it was made");
  } catch (const elastic::error& failure) {
    CHECK(elastic::test::has_text(failure.what(), folder / "missing/timers"));
    CHECK(elastic::test::has_text(failure.what(), "No such file or directory"));
  }
}

}  // namespace timer_fifo_tests
