// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/diagnosis/detail/thread_stack.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/diagnosis/detail/process_texts.hpp>
#include <elastic/diagnosis/detail/user_frame.hpp>

#include "hang_vectors.hpp"

#include <support/catch.hpp>

#include <string>
#include <vector>

namespace thread_stack_tests {

using elastic::detail::parse_main_stack;
using elastic::detail::parse_process_state;
using elastic::detail::parse_traceback;
using elastic::detail::parse_wait_channel;
using elastic::detail::process_state;
using elastic::detail::stack_frame;
using elastic::test::evidence_of;
namespace limits = elastic::limits;

TEST_CASE("the stack of a real worker ends in the line that it is at", "[diagnosis]") {
  const auto evidence = evidence_of("loader_sleep");
  CHECK(elastic::detail::user_frame(evidence.at(2).stack)->function == "read_shard");
  CHECK(evidence.at(0).stack.at(0).function == "all_reduce");
  CHECK(elastic::detail::user_frame(evidence.at(0).stack)->function == "train");
}

TEST_CASE("the text of faulthandler names threads and frames", "[diagnosis]") {
  const std::string text =
      "Current thread 0x00007f558cf266c0 (most recent call first):\n"
      "  <no Python frame>\n"
      "\n"
      "Thread 0x00007f55b0010b80 [pin_memory] (most recent call first):\n"
      "  File \"/a/b.py\", line 11 in <module>\n"
      "  something that a later Python adds\n"
      "Thread 0x00007f55b0010b81 (most recent call first):\r\n"
      "  File \"a \", line 3 in x.py\", line ??? in f in g\r\n"
      "  File \"/c.py\", line 12 in h\n";
  const auto threads = parse_traceback(text);
  REQUIRE(threads.size() == 3);
  CHECK(threads[0].is_current);
  CHECK(threads[0].frames.empty());
  CHECK(threads[1].frames == std::vector<stack_frame>{{"/a/b.py", 11, "<module>"}});
  CHECK(threads[2].frames ==
        std::vector<stack_frame>{{"a \", line 3 in x.py", 0, "f in g"}, {"/c.py", 12, "h"}});
  CHECK(parse_main_stack(text) == threads[2].frames);
}

TEST_CASE("a thread that writes its own stack alone gives it no number", "[diagnosis]") {
  const auto threads =
      parse_traceback("Stack (most recent call first):\n  File \"/c.py\", line 12 in h\n");
  REQUIRE(threads.size() == 1);
  CHECK(threads[0].is_current);
  CHECK(threads[0].frames == std::vector<stack_frame>{{"/c.py", 12, "h"}});
}

TEST_CASE("a traceback that is cut has no main thread", "[diagnosis]") {
  const std::string thread = "Thread 0x1 (most recent call first):\n  File \"a\", line 1 in f\n";
  CHECK(parse_main_stack(thread).size() == 1);
  CHECK(parse_main_stack(thread + "...\n").empty());
}

TEST_CASE("a traceback keeps to its bounds", "[diagnosis]") {
  std::string text;
  for (int thread = 0; thread < 300; ++thread) {
    text += "Thread 0x" + std::to_string(thread) + " (most recent call first):\n";
    text += "  File \"a\", line " + std::to_string(thread) + " in f\n";
  }
  CHECK(parse_traceback(text).size() == limits::stack_threads);
  CHECK(parse_main_stack(text).at(0).line == 299);
  std::string deep = "Thread 0x1 (most recent call first):\n";
  for (int frame = 0; frame < 300; ++frame) {
    deep += "  File \"" + std::string(500, 'x') + "\", line 1 in " + std::string(500, 'f') + "\n";
  }
  const auto frames = parse_main_stack(deep);
  CHECK(frames.size() == limits::stack_frames);
  CHECK(frames[0].file.size() == limits::stack_file_bytes);
  CHECK(frames[0].function.size() == limits::stack_function_bytes);
}

TEST_CASE("what is not a traceback is refused", "[diagnosis]") {
  CHECK_THROWS_AS(parse_traceback(""), elastic::error);
  CHECK_THROWS_AS(parse_traceback("  File \"a\", line 1 in f\n"), elastic::error);
  CHECK_THROWS_AS(parse_traceback(std::string(limits::traceback_bytes + 1, '\n')), elastic::error);
}

TEST_CASE("the kernel's texts tell what a process does", "[diagnosis]") {
  CHECK(parse_process_state("7 (python) S 1 7 7") == process_state::sleeping);
  CHECK(parse_process_state("7 (a) R (b) D 1 7") == process_state::uninterruptible);
  CHECK(parse_process_state("7 (a\n) t 1") == process_state::stopped);
  CHECK(parse_process_state("Name:\tpython\nUmask:\t0022\nState:\tZ (zombie)\n") ==
        process_state::zombie);
  CHECK(parse_process_state("7 (python) Q 1") == process_state::unknown);
  CHECK(parse_process_state("7 (python) S") == process_state::unknown);
  CHECK(parse_process_state("") == process_state::unknown);
  CHECK(parse_wait_channel("futex_do_wait") == "futex_do_wait");
  CHECK(parse_wait_channel("poll_schedule_timeout.constprop.0\n") ==
        "poll_schedule_timeout.constprop.0");
  CHECK(parse_wait_channel("0").empty());
  CHECK(parse_wait_channel("").empty());
  CHECK(parse_wait_channel(std::string(500, 'x')).size() == limits::wait_channel_bytes);
  CHECK(parse_wait_channel("nfs\x1b[2J") == "nfs");
}

}  // namespace thread_stack_tests
