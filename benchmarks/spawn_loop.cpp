// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// The limit that launchers are measured against: starts N processes with posix_spawn, waits for
// them, and where one fails stops the others with SIGTERM and starts all again. Nothing else: no
// ranks, no logs, no store, no bound on how long they may take to end.
//
//   spawn_loop RESTARTS N PROGRAM [ARGUMENT...]

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

// Starts all and waits for all; whether all ended with success.
bool run_once(int count, char** program) {
  std::vector<pid_t> running;
  for (int number = 0; number < count; ++number) {
    pid_t pid = 0;
    if (::posix_spawnp(&pid, program[0], nullptr, nullptr, program, environ) != 0) {
      std::fprintf(stderr, "spawn_loop: cannot start %s\n", program[0]);
      std::exit(127);
    }
    running.push_back(pid);
  }
  bool failed = false;
  while (!running.empty()) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    std::erase(running, ended);
    if (status == 0 || failed) continue;
    failed = true;
    for (const pid_t other : running) ::kill(other, SIGTERM);
  }
  return !failed;
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) {
    std::fprintf(stderr, "usage: spawn_loop RESTARTS N PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  for (int left = std::atoi(words[1]); left >= 0; --left) {
    if (run_once(std::atoi(words[2]), words + 3)) return 0;
  }
  return 1;
}
