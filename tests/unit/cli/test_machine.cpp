// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/cli/detail/device_listing.hpp>
#include <elastic/cli/machine.hpp>
#include <support/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include <sched.h>

namespace {

namespace machine_test {

using names = std::vector<std::string>;

elastic::detail::device_listing amd(int gpus) {
  elastic::detail::device_listing listing;
  listing.devices = {"kfd", "null"};
  for (int i = 0; i < gpus; ++i) {
    listing.render_nodes.push_back({"renderD" + std::to_string(128 + i), "0x1002"});
  }
  listing.render_nodes.push_back({"card0", "0x1002"});
  return listing;
}

}  // namespace machine_test

TEST_CASE("machine: NVIDIA GPUs are counted by their numbered device files", "[cli]") {
  struct row {
    machine_test::names devices;
    int count;
  };
  const std::vector<row> rows = {
      {{}, 0},
      {{"null", "zero", "tty0"}, 0},
      {{"nvidiactl", "nvidia-uvm", "nvidia-modeset", "nvidia-caps", "nvidia"}, 0},
      {{"nvidia0", "nvidiactl", "nvidia-uvm"}, 1},
      {{"nvidia0", "nvidia1", "nvidia10", "nvidia2x"}, 3},
  };
  for (const row& entry : rows) {
    elastic::detail::device_listing listing;
    listing.devices = entry.devices;
    CHECK(elastic::detail::count_accelerators(listing, {}) == entry.count);
  }
}

TEST_CASE("machine: CUDA_VISIBLE_DEVICES hides GPUs as the driver reads it", "[cli]") {
  elastic::detail::device_listing four_gpus;
  four_gpus.devices = {"nvidia0", "nvidia1", "nvidia2", "nvidia3"};
  struct row {
    const char* list;
    int count;
  };
  const std::vector<row> rows = {
      {"0,1,2,3", 4},
      {"3,1", 2},
      {"2", 1},
      {" 1, 2", 2},
      {"", 0},
      {"-1", 0},
      {"0,-1,1", 1},
      {"0,9,1", 1},
      {"NoDevFiles", 0},
      {"none", 0},
      {"0,0", 0},
      {"0,1,0", 0},
      {"0,,1", 1},
      {"0,1,", 2},
      {"+1", 1},
      {"1x,2", 2},
      {"99999999999", 0},
      {"GPU-aa", 1},
      {"GPU-aa,GPU-bb", 2},
      {"GPU-aa,GPU-aa", 0},
      {"GPU-aa,1", 1},
      {"MIG-aa,MIG-bb", 2},
      {"0,GPU-aa", 1},
      {"GPU-a,GPU-b,GPU-c,GPU-d,GPU-e", 4},
  };
  for (const row& entry : rows) {
    INFO("CUDA_VISIBLE_DEVICES=" << entry.list);
    CHECK(elastic::detail::count_accelerators(four_gpus, {{"CUDA_VISIBLE_DEVICES", entry.list}}) ==
          entry.count);
  }
}

TEST_CASE("machine: AMD GPUs are render nodes of that vendor if there is a kfd", "[cli]") {
  auto listing = machine_test::amd(3);
  CHECK(elastic::detail::count_accelerators(listing, {}) == 3);
  listing.render_nodes.push_back({"renderD140", "0x8086"});
  CHECK(elastic::detail::count_accelerators(listing, {}) == 3);
  listing.devices = {"null"};
  CHECK(elastic::detail::count_accelerators(listing, {}) == 0);
}

TEST_CASE("machine: AMD's variables hide GPUs one after the other", "[cli]") {
  struct row {
    elastic::environment_map environment;
    int count;
  };
  const std::vector<row> rows = {
      {{{"ROCR_VISIBLE_DEVICES", "0,1"}}, 2},
      {{{"HIP_VISIBLE_DEVICES", "3"}}, 1},
      {{{"CUDA_VISIBLE_DEVICES", "0,1,2"}}, 3},
      {{{"HIP_VISIBLE_DEVICES", "0"}, {"CUDA_VISIBLE_DEVICES", "0,1,2"}}, 1},
      {{{"ROCR_VISIBLE_DEVICES", "2,3"}, {"HIP_VISIBLE_DEVICES", "0,1,2"}}, 2},
  };
  for (const row& entry : rows) {
    CHECK(elastic::detail::count_accelerators(machine_test::amd(4), entry.environment) ==
          entry.count);
  }
}

TEST_CASE("machine: NVIDIA goes before AMD", "[cli]") {
  auto listing = machine_test::amd(4);
  listing.devices.push_back("nvidia0");
  CHECK(elastic::detail::count_accelerators(listing, {}) == 1);
}

TEST_CASE("machine: this one has a processor and a /dev with the null device", "[cli]") {
  CHECK(elastic::count_processors() >= 1);
  // Not those that this process may not use.
  cpu_set_t former_set;
  REQUIRE(::sched_getaffinity(0, sizeof former_set, &former_set) == 0);
  cpu_set_t single_processor;
  CPU_ZERO(&single_processor);
  CPU_SET(::sched_getcpu(), &single_processor);
  REQUIRE(::sched_setaffinity(0, sizeof single_processor, &single_processor) == 0);
  CHECK(elastic::count_processors() == 1);
  REQUIRE(::sched_setaffinity(0, sizeof former_set, &former_set) == 0);
  const auto listing = elastic::detail::list_devices();
  CHECK(std::find(listing.devices.begin(), listing.devices.end(), "null") != listing.devices.end());
}

}  // namespace
