// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The progress of a job on a terminal.

#include <support/catch.hpp>
#include <support/leftovers.hpp>
#include <support/running_program.hpp>

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace {

namespace progress_tests {

using elastic::test::leftovers;
using elastic::test::running_program;
using words = std::vector<std::string>;

/// A terminal of 24 rows and 100 columns.
class terminal {
 public:
  terminal() : fd_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
    winsize size{};
    size.ws_row = 24;
    size.ws_col = 100;
    char path[64];
    if (fd_ < 0 || ::grantpt(fd_) != 0 || ::unlockpt(fd_) != 0 ||
        ::ptsname_r(fd_, path, sizeof path) != 0 || ::ioctl(fd_, TIOCSWINSZ, &size) != 0) {
      FAIL("no terminal can be made");
    }
    path_ = path;
  }
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;
  ~terminal() { ::close(fd_); }

  const std::string& path() const { return path_; }

  /// All that was written to it; to be asked when nobody writes any more.
  std::string text() {
    pollfd more{fd_, POLLIN, 0};
    while (::poll(&more, 1, 0) == 1 && (more.revents & POLLIN) != 0) {
      char part[4096];
      const ssize_t size = ::read(fd_, part, sizeof part);
      if (size <= 0) break;
      text_.append(part, static_cast<std::size_t>(size));
    }
    return text_;
  }

 private:
  int fd_;
  std::string path_;
  std::string text_;
};

/// Runs a job whose one worker reports three steps, with its stderr at a terminal.
std::string shown(const words& options, const std::map<std::string, std::string>& changes) {
  const leftovers remains;
  terminal screen;
  const std::string script = "import sys; sys.path.insert(0, '" ELASTIC_SOURCE_DIR
                             "/python')\n"
                             "import elastic_worker\n"
                             "channel = elastic_worker.connect()\n"
                             "for step in range(1, 4):\n"
                             "    channel.progress(step, 3, metrics={'loss': 0.5})\n"
                             "channel.close()\n";
  words command{"/bin/sh",          "-c",          "exec \"$@\" 2>" + screen.path(), "sh",
                ELASTIC_ELASTICRUN, "--standalone"};
  command.insert(command.end(), options.begin(), options.end());
  for (const std::string& word : words{"--no-python", "/usr/bin/python3", "-c", script}) {
    command.push_back(word);
  }
  std::map<std::string, std::string> variables = changes;
  variables[remains.name] = remains.value;
  running_program run(command, variables);
  CHECK(run.wait().code == 0);
  CHECK(remains.processes().empty());
  return screen.text();
}

TEST_CASE("progress: a terminal shows how far the workers are, and gets its last row back",
          "[integration][progress]") {
  const std::string text = shown({}, {{"TERM", "xterm"}});
  CAPTURE(text);
  // The rows above the last one scroll, and that is written.
  CHECK(text.find("\x1b[1;23r") != text.npos);
  CHECK(text.find("\x1b[24;1H") != text.npos);
  CHECK(text.find("1 worker on 1 node | step ") != text.npos);
  const std::size_t end = text.rfind("\x1b[r");
  CHECK(end != text.npos);
  CHECK(end > text.rfind("\x1b[24;1H"));
}

TEST_CASE("progress: is not shown if it is not wanted or cannot be", "[integration][progress]") {
  CHECK(shown({"--no-progress"}, {{"TERM", "xterm"}}).empty());
  CHECK(shown({}, {{"TERM", "dumb"}}).empty());
}

}  // namespace progress_tests

}  // namespace
