// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// Programs of JAX, MPI and TensorFlow that elasticrun starts, and that find each other by their
// own means.

#include <support/catch.hpp>
#include <support/elasticrun_stage.hpp>
#include <support/reserved_port.hpp>
#include <support/run_program.hpp>
#include <support/running_program.hpp>
#include <support/skip.hpp>
#include <support/text.hpp>

#include <signal.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {

namespace wire_test {

using elastic::test::elasticrun_stage;
using elastic::test::has_text;
using elastic::test::program_result;
using elastic::test::running_program;
using words = elasticrun_stage::words;
using variables = elasticrun_stage::variables;

constexpr const char* sources = ELASTIC_SOURCE_DIR "/tests/integration/python/";

/// The options of a node of a job whose nodes meet on this host.
class meeting {
 public:
  explicit meeting(std::string sizes, int workers)
      : options_{"--nnodes", std::move(sizes), "--nproc-per-node", std::to_string(workers),
                 "--rdzv-backend", "c10d", "--rdzv-endpoint",
                 fmt::format("localhost:{}", elastic::test::reserved_port()), "--rdzv-id", "wired",
                 "--rdzv-conf", "last_call_timeout=0.5", "--max-restarts", "2"} {}

  std::unique_ptr<running_program> start(const elasticrun_stage& stage, const words& rest,
                                         const variables& more = {}) const {
    return std::make_unique<running_program>(elasticrun_stage::elasticrun({options_, rest}),
                                             stage.environment(more));
  }

 private:
  words options_;
};

int occurrences(const std::string& text, const std::string& part) {
  int count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// ---- MPI ----------------------------------------------------------------------------------------

/// Whether there is a program of MPICH; the test ends otherwise.
bool has_mpi() {
  if (std::filesystem::exists(ELASTIC_MPI_WORKER)) return true;
  elastic::test::skip("it takes MPICH and its compiler (mpich, libmpich-dev)");
  return false;
}

const words mpi = {"--wire", "mpi", "--no-python"};

TEST_CASE("wire: processes of MPICH meet without mpiexec", "[integration][wire]") {
  if (!has_mpi()) return;
  const elasticrun_stage stage;
  const auto result = stage.run_command(
      elasticrun_stage::elasticrun({{"--nproc-per-node", "4"}, mpi, {ELASTIC_MPI_WORKER, "100"}}),
      {{"OMP_NUM_THREADS", "1"}});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  for (int rank = 0; rank < 4; ++rank) {
    CHECK(has_text(result.out, fmt::format("rank {} of 4 sum 6 attempt 0\n", rank)));
  }
  CHECK(result.err.empty());
}

TEST_CASE("wire: processes of MPICH meet again when one of them was killed",
          "[integration][wire]") {
  if (!has_mpi()) return;
  const elasticrun_stage stage;
  const std::string guard = GENERATE("required", "none");
  CAPTURE(guard);
  const auto result = stage.run_command(
      elasticrun_stage::elasticrun(
          {{"--nproc-per-node", "3", "--max-restarts", "1", "--guard", guard}, mpi,
           {ELASTIC_MPI_WORKER}}),
      {{"ELASTIC_TEST_DIES", "1"}});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(has_text(result.err, "SIGKILL"));
  for (int rank = 0; rank < 3; ++rank) {
    CHECK(has_text(result.out, fmt::format("rank {} of 3 sum 3 attempt 1\n", rank)));
  }
}

TEST_CASE("wire: processes of MPICH meet over nodes, and again", "[integration][wire]") {
  if (!has_mpi()) return;
  const elasticrun_stage stage;
  const meeting pair("2", 2);
  const words rest = {"--wire", "mpi", "--no-python", ELASTIC_MPI_WORKER, "10"};
  const auto first = pair.start(stage, rest, {{"ELASTIC_TEST_DIES", "3"}});
  const auto second = pair.start(stage, rest, {{"ELASTIC_TEST_DIES", "3"}});
  const program_result first_result = first->wait();
  const program_result second_result = second->wait();
  CAPTURE(first_result.err, second_result.err);
  CHECK(first_result.code == 0);
  CHECK(second_result.code == 0);
  for (int rank = 0; rank < 4; ++rank) {
    CHECK(has_text(first_result.out + second_result.out,
                   fmt::format("rank {} of 4 sum 6 attempt 1\n", rank)));
  }
  CHECK(stage.left.processes().empty());
}

TEST_CASE("wire: processes of MPICH meet again when a node joins", "[integration][wire]") {
  if (!has_mpi()) return;
  const elasticrun_stage stage;
  const meeting growing("1:2", 2);
  const words rest = {"--wire", "mpi", "--no-python", ELASTIC_MPI_WORKER, "10"};
  const variables more = {{"ELASTIC_TEST_WAITS", "2"}};
  const auto first = growing.start(stage, rest, more);
  first->await_out("rank 0 of 2 sum 1 attempt 0\n");
  first->await_out("rank 1 of 2 sum 1 attempt 0\n");
  const auto second = growing.start(stage, rest, more);
  const program_result second_result = second->wait();
  const program_result first_result = first->wait();
  CAPTURE(first_result.err, second_result.err);
  CHECK(first_result.code == 0);
  CHECK(second_result.code == 0);
  const std::string out = first_result.out + second_result.out;
  for (int rank = 0; rank < 4; ++rank) {
    CHECK(occurrences(out, fmt::format("rank {} of 4 sum 6 attempt 0\n", rank)) == 1);
  }
  CHECK(stage.left.processes().empty());
}

TEST_CASE("wire: a worker that does not speak PMI-1 loses its connection, and goes on",
          "[integration][wire]") {
  const elasticrun_stage stage;
  const std::string script = "printf 'GET / HTTP/1.1\\n' >&$PMI_FD; read line <&$PMI_FD; "
                             "echo \"$PMI_RANK/$PMI_SIZE read '$line'\"";
  const auto result = stage.run_command(elasticrun_stage::elasticrun(
      {{"--nproc-per-node", "2"}, mpi, {"sh", "-c", script}}));
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(has_text(result.out, "0/2 read ''\n"));
  CHECK(has_text(result.out, "1/2 read ''\n"));
  CHECK(has_text(result.err,
                 "the PMI connection of rank 1 is closed: not a PMI-1 request: 'GET / HTTP/1.1'"));
}

TEST_CASE("wire: a worker that ends without MPI_Finalize leaves nobody in a barrier",
          "[integration][wire]") {
  const elasticrun_stage stage;
  const std::string script =
      "say() { echo \"cmd=$1\" >&$PMI_FD; }; hear() { read line <&$PMI_FD; }\n"
      "say 'init pmi_version=1 pmi_subversion=1'; hear\n"
      "[ $PMI_RANK = 1 ] && exit 0\n"
      "say barrier_in; hear && exit 0\n"
      // Neither fails, and so stops the other, before that one was in the barrier, too.
      ": > $LEFT/$PMI_RANK; until [ -e $LEFT/0 ] && [ -e $LEFT/2 ]; do sleep 0.02; done; exit 7";
  const auto result = stage.run_command(
      elasticrun_stage::elasticrun({{"--nproc-per-node", "3"}, mpi, {"bash", "-c", script}}),
      {{"LEFT", stage.folder.path()}});
  CAPTURE(result.err);
  CHECK(result.code == 1);
  for (const int rank : {0, 2}) {
    CHECK(has_text(result.err, fmt::format("the PMI connection of rank {} is closed: rank 1 "
                                           "disconnected before this barrier",
                                           rank)));
  }
}

TEST_CASE("wire: a worker has the socket of PMI, and no other that it did not have",
          "[integration][wire]") {
  const elasticrun_stage stage;
  const std::string guard = GENERATE("required", "none");
  CAPTURE(guard);
  const std::string script =
      "for fd in 0 1 2 3 4 5 6 7 8 9; do [ -e /proc/self/fd/$fd ] && printf '%s ' $fd; done; echo";
  const auto run = [&](const words& wire) {
    return stage.run_command(elasticrun_stage::elasticrun(
        {{"--guard", guard, "--no-python"}, wire, {"bash", "-c", script}}));
  };
  CHECK(run({}).out == "0 1 2 \n");
  CHECK(run({"--wire", "mpi"}).out == "0 1 2 5 \n");
}

TEST_CASE("wire: a program of Open MPI is noticed", "[integration][wire]") {
  const elasticrun_stage stage;
  // As it is loaded by such a program, which asks for no more.
  const std::string library = stage.folder / "libopen-pal.so.40";
  std::filesystem::copy_file(ELASTIC_STEPPED_CLOCK, library);
  const std::string script = fmt::format(
      "import ctypes, time; ctypes.CDLL('{}'); print('loaded', flush=True); time.sleep(600)",
      library);
  running_program job(elasticrun_stage::elasticrun({mpi, {"python3", "-c", script}}),
                      stage.environment());
  job.await_out("loaded");
  job.await_err("the workers use Open MPI, which needs PMIx, but the wire-up mpi provides PMI-1");
  job.signal(SIGTERM);
  CHECK(job.wait().code == 128 + SIGTERM);
}

// ---- JAX ----------------------------------------------------------------------------------------

/// The Python that has jax; empty, and the test ends, if there is none.
std::string python_with_jax() {
  const char* const named = std::getenv("ELASTIC_TEST_JAX_PYTHON");
  const std::string python = named ? named : ELASTIC_SOURCE_DIR "/build/jax/bin/python";
  if (std::filesystem::exists(python)) return python;
  elastic::test::skip("it takes JAX in build/jax, which tests/long.sh installs, or the Python that "
                      "ELASTIC_TEST_JAX_PYTHON names");
  return {};
}

TEST_CASE("wire: processes of JAX meet without arguments, and again when one was killed",
          "[integration][wire]") {
  const std::string python = python_with_jax();
  if (python.empty()) return;
  const elasticrun_stage stage;
  running_program job(
      elasticrun_stage::elasticrun({{"--nproc-per-node", "2", "--max-restarts", "1"},
                                    {"--wire", "jax", std::string(sources) + "jax_worker.py"}}),
      stage.environment({{"PYTHON_EXEC", python}, {"ELASTIC_TEST_WAITS", "2"},
                         {"JAX_PLATFORMS", "cpu"}, {"JAX_ENABLE_PREEMPTION_SERVICE", "0"}}));
  for (const char* line : {"process 0 of 2 gathered [0, 1] attempt 0 pid ",
                           "process 1 of 2 gathered [0, 1] attempt 0 pid "}) {
    job.await_out(line);
  }
  const std::string begin = "process 1 of 2 gathered [0, 1] attempt 0 pid ";
  job.await_out(" end\n", 2);
  const std::string& out = job.out();
  const pid_t pid = std::atoi(out.c_str() + out.find(begin) + begin.size());
  REQUIRE(pid > 0);
  ::kill(pid, SIGKILL);
  job.await_out("process 0 of 2 gathered [0, 1] attempt 1");
  job.await_out("process 1 of 2 gathered [0, 1] attempt 1");
  job.signal(SIGTERM);
  CHECK(job.wait().code == 128 + SIGTERM);
  CHECK(stage.left.processes().empty());
}

TEST_CASE("wire: processes of JAX meet again when a node joins", "[integration][wire]") {
  const std::string python = python_with_jax();
  if (python.empty()) return;
  const elasticrun_stage stage;
  const meeting growing("1:2", 1);
  const words rest = {"--wire", "jax", std::string(sources) + "jax_worker.py"};
  const variables more = {{"PYTHON_EXEC", python}, {"ELASTIC_TEST_WAITS", "1"},
                          {"JAX_PLATFORMS", "cpu"}, {"JAX_ENABLE_PREEMPTION_SERVICE", "0"}};
  const auto first = growing.start(stage, rest, more);
  first->await_out("process 0 of 1 gathered [0] attempt 0");
  const auto second = growing.start(stage, rest, more);
  const program_result second_result = second->wait();
  const program_result first_result = first->wait();
  CAPTURE(first_result.err, second_result.err);
  CHECK(first_result.code == 0);
  CHECK(second_result.code == 0);
  const std::string out = first_result.out + second_result.out;
  CHECK(occurrences(out, "process 0 of 2 gathered [0, 1] attempt 0") == 1);
  CHECK(occurrences(out, "process 1 of 2 gathered [0, 1] attempt 0") == 1);
  CHECK(stage.left.processes().empty());
}

// ---- TensorFlow ---------------------------------------------------------------------------------

TEST_CASE("wire: workers that read TF_CONFIG meet over nodes", "[integration][wire]") {
  const elasticrun_stage stage;
  const meeting pair("2", 2);
  const words rest = {"--wire", "tf", std::string(sources) + "tf_worker.py"};
  const auto first = pair.start(stage, rest);
  const auto second = pair.start(stage, rest);
  const program_result first_result = first->wait();
  const program_result second_result = second->wait();
  CAPTURE(first_result.err, second_result.err);
  CHECK(first_result.code == 0);
  CHECK(second_result.code == 0);
  const std::string out = first_result.out + second_result.out;
  CHECK(has_text(out, "worker 0 of 4 heard [1, 2, 3] end\n"));
  CHECK(has_text(out, "worker 1 of 4 heard [0, 2, 3] end\n"));
  CHECK(has_text(out, "worker 2 of 4 heard [0, 1, 3] end\n"));
  CHECK(has_text(out, "worker 3 of 4 heard [0, 1, 2] end\n"));
}

// ---- what does not fit --------------------------------------------------------------------------

TEST_CASE("wire: variables of a launcher around elasticrun do not reach the workers",
          "[integration][wire]") {
  const elasticrun_stage stage;
  const std::string script = "echo \"$OMPI_COMM_WORLD_RANK $OMPI_COMM_WORLD_SIZE $PMIX_RANK end\"";
  const variables outer = {{"OMPI_COMM_WORLD_RANK", "7"}, {"OMPI_COMM_WORLD_SIZE", "9"},
                           {"PMIX_RANK", "7"}};
  const auto run = [&](const words& wire) {
    return stage.run_command(
        elasticrun_stage::elasticrun({{"--no-python"}, wire, {"sh", "-c", script}}), outer);
  };
  CHECK(run({}).out == "7 9 7 end\n");
  const auto result = run({"--wire", "jax"});
  CHECK(result.out == "0 1  end\n");
  CHECK(has_text(result.err,
                 "the wire-up jax removes variables of another launcher from the workers' "
                 "environment: OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, PMIX_RANK"));
}

TEST_CASE("wire: variables of --env know the world and the master", "[integration][wire]") {
  const elasticrun_stage stage;
  const auto result = stage.run_command(elasticrun_stage::elasticrun(
      {{"--nproc-per-node", "2", "--env",
        "PLACE=${rank}/${world_size} ${local_rank}/${local_world_size} ${node_rank}", "--env",
        "AT=${master_addr}:${master_port}", "--no-python", "sh", "-c",
        "echo \"$PLACE $([ \"$AT\" = \"$MASTER_ADDR:$MASTER_PORT\" ] && echo same)\""}}));
  CHECK(result.code == 0);
  CHECK(has_text(result.out, "0/2 0/2 0 same\n"));
  CHECK(has_text(result.out, "1/2 1/2 0 same\n"));
}

TEST_CASE("wrap: some ranks run under a command, with their own arguments", "[integration][wire]") {
  const elasticrun_stage stage;
  const std::string wrap = "env \"WRAPPED=r${rank} of $HOME\"";
  const auto result = stage.run_command(
      elasticrun_stage::elasticrun(
          {{"--nproc-per-node", "3", "--wrap", wrap, "--wrap-ranks", "0,2", "--no-python"},
           {"sh", "-c", "echo \"$RANK '$WRAPPED' '$1' '$2' end\"", "name", "a  b", "\"c"}}),
      {{"HOME", "/home of"}, {"OMP_NUM_THREADS", "1"}});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(has_text(result.out, "0 'r0 of /home of' 'a  b' '\"c' end\n"));
  CHECK(has_text(result.out, "1 '' 'a  b' '\"c' end\n"));
  CHECK(has_text(result.out, "2 'r2 of /home of' 'a  b' '\"c' end\n"));
}

TEST_CASE("wrap: a command that there is not fails the worker as a program would",
          "[integration][wire]") {
  const elasticrun_stage stage;
  const auto result = stage.run_command(elasticrun_stage::elasticrun(
      {{"--wrap", "no-such-profiler --x", "--no-python", "echo", "started"}}));
  CHECK(result.code == 1);
  CHECK(has_text(result.err, "no-such-profiler"));
  CHECK(has_text(result.err, "exitcode  : 127"));
  CHECK_FALSE(has_text(result.out, "started"));
}

TEST_CASE("wire: a role of a job file has a wire-up", "[integration][wire]") {
  const elasticrun_stage stage;
  const std::string file = stage.folder / "job.toml";
  std::ofstream(file) << "[role.plain]\ncommand = [\"--no-python\", \"sh\", \"-c\", "
                         "'echo \"plain $TF_CONFIG end\"']\n"
                         "[role.wired]\nwire = \"tf\"\ncommand = [\"--no-python\", \"sh\", \"-c\", "
                         "'echo \"wired $TF_CONFIG end\"']\n";
  const auto result = stage.run_command(elasticrun_stage::elasticrun({{"--job", file}}));
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(has_text(result.out, "plain  end\n"));
  CHECK(has_text(result.out, "wired {\"cluster\": {\"worker\": [\"127.0.0.1:"));
}

}  // namespace wire_test

}  // namespace
