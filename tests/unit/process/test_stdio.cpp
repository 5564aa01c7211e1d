// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <elastic/base/error.hpp>
#include <elastic/process/stdio.hpp>
#include <support/catch.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace elastic {
namespace {

output_plan plan_to_file(output_plan::how kind, const std::string& file) {
  output_plan plan;
  plan.kind = kind;
  plan.file = file;
  return plan;
}

TEST_CASE("stdio: inherit opens nothing", "[process]") {
  const detail::opened_stream stream = detail::open_stream(output_plan());
  CHECK(stream.process_end.get() == -1);
  CHECK(stream.pipe.get() == -1);
  CHECK_FALSE(stream.file);
}

TEST_CASE("stdio: copy without a file is a pipe whose read end does not block", "[process]") {
  output_plan plan;
  plan.kind = output_plan::how::copy;
  const detail::opened_stream stream = detail::open_stream(plan);
  REQUIRE(stream.process_end.get() > 2);
  CHECK_FALSE(stream.file);
  CHECK((::fcntl(stream.pipe.get(), F_GETFL) & O_NONBLOCK) != 0);
  CHECK((::fcntl(stream.process_end.get(), F_GETFL) & O_NONBLOCK) == 0);
  CHECK((::fcntl(stream.pipe.get(), F_GETFD) & FD_CLOEXEC) != 0);
  CHECK((::fcntl(stream.process_end.get(), F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_CASE("stdio: a log file that cannot be opened is named", "[process]") {
  using how = output_plan::how;
  for (const how kind : {how::file, how::copy}) {
    try {
      detail::open_stream(plan_to_file(kind, "/no/such/folder/stdout.log"));
      FAIL("it was opened");
    } catch (const error& failure) {
      CHECK(failure.code() == errc::file_access);
      CHECK_THAT(failure.what(), test::contains_text("'/no/such/folder/stdout.log'"));
      CHECK_THAT(failure.what(), test::contains_text("No such file or directory"));
    }
  }
}

TEST_CASE("stdio: a pipe that cannot be made is an error", "[process]") {
  detail::syscalls calls = detail::real_syscalls;
  calls.pipe = [](int*) {
    errno = EMFILE;
    return -1;
  };
  output_plan plan;
  plan.kind = output_plan::how::copy;
  try {
    detail::open_stream(plan, calls);
    FAIL("it was opened");
  } catch (const error& failure) {
    CHECK(failure.code() == errc::start_failed);
    CHECK_THAT(failure.what(), test::contains_text("Too many open files"));
  }
}

TEST_CASE("stdio: opening is tried again when a signal interrupts it", "[process]") {
  static int interruptions;
  interruptions = 0;
  detail::syscalls calls = detail::real_syscalls;
  calls.open = [](const char* path, int flags, int mode) {
    if (interruptions++ < 3) {
      errno = EINTR;
      return -1;
    }
    return ::open(path, flags, mode);
  };
  output_plan plan;
  plan.kind = output_plan::how::null;
  CHECK(detail::open_stream(plan, calls).process_end.get() > 2);
  CHECK(interruptions == 4);
}

}  // namespace
}  // namespace elastic
