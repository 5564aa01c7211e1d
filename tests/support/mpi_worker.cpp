// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// A program of MPI: its processes add up their ranks, again and again with an argument: so often.
// With ELASTIC_TEST_DIES=RANK, that process kills itself in the first attempt when it has met the
// others. In a world of ELASTIC_TEST_WAITS processes, rank 0 waits to be ended after its line, and
// the others wait for it in MPI.

#include <mpi.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value ? value : "";
}

}  // namespace

int main(int count, char** values) {
  MPI_Init(&count, &values);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = count > 1 ? std::atoi(values[1]) : 1;
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  const std::string attempt = variable("TORCHELASTIC_RESTART_COUNT");
  if (attempt == "0" && variable("ELASTIC_TEST_DIES") == std::to_string(rank)) {
    std::raise(SIGKILL);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  // One call: lines of several processes are not to mix.
  const std::string line = "rank " + std::to_string(rank) + " of " + std::to_string(size) +
                           " sum " + std::to_string(sum) + " attempt " + attempt + "\n";
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
  if (variable("ELASTIC_TEST_WAITS") == std::to_string(size)) {
    while (rank == 0) ::pause();
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
