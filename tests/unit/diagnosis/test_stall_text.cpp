// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/diagnosis/detail/stall_text.hpp>

#include <elastic/base/limits.hpp>
#include <support/catch.hpp>

#include <utility>
#include <vector>

namespace stall_text_tests {

using elastic::detail::place_of;
using elastic::detail::rank_evidence;
using elastic::detail::stack_frame;

const stack_frame step{"/home/me/train.py", 88, "step"};
const stack_frame script{"/home/me/train.py", 99, "<module>"};
const stack_frame join{"/usr/lib/python3.11/threading.py", 1112, "join"};
const stack_frame shutdown_of_threads{"/usr/lib/python3.11/threading.py", 1583, "_shutdown"};
const stack_frame pool{"/usr/lib/python3.11/concurrent/futures/thread.py", 31, "_python_exit"};
const stack_frame finish{"/usr/lib/python3/dist-packages/wandb/sdk/run.py", 7, "finish"};
const stack_frame own_handler{"/home/me/upload.py", 5, "upload_logs"};

/// @param stack  innermost frame first
rank_evidence at(std::vector<stack_frame> stack) {
  rank_evidence rank;
  rank.stack = std::move(stack);
  return rank;
}

TEST_CASE("stall text: where the main thread of a rank is", "[diagnosis]") {
  CHECK(place_of(at({join, step, script})) == "; it is in train.py:88 step");
  rank_evidence native;
  CHECK(place_of(native).empty());
  native.wait_channel = "futex_do_wait";
  CHECK(place_of(native) == "; its main thread waits in the kernel, in futex_do_wait");
}

TEST_CASE("stall text: what holds an interpreter that does not end", "[diagnosis]") {
  CHECK(place_of(at({finish})) ==
        "; its interpreter does not end, since wandb holds it, in run.py:7 finish");
  CHECK(place_of(at({join, own_handler})) ==
        "; its interpreter does not end, since upload.py holds it, in upload.py:5 upload_logs");
  CHECK(place_of(at({shutdown_of_threads})) ==
        "; its interpreter does not end, since a thread that is not a daemon holds it, in "
        "threading.py:1583 _shutdown");
  CHECK(place_of(at({join, pool, shutdown_of_threads})) ==
        "; its interpreter does not end, since concurrent.futures.thread holds it, in "
        "threading.py:1112 join");
  // A script has called it.
  CHECK(place_of(at({finish, step, script})) == "; it is in train.py:88 step");
  // The outer frames are not known.
  const std::vector<stack_frame> deep(elastic::limits::stack_frames, step);
  CHECK(place_of(at(deep)) == "; it is in train.py:88 step");
}

}  // namespace stall_text_tests
