// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// What the doctor says of a host, from facts of all kinds.

#include <program/doctor/findings.hpp>
#include <program/doctor/host_facts.hpp>
#include <support/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace {

namespace doctor_test {

using elasticrun::finding;
using elasticrun::host_facts;
using level = finding::level;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

/// A host that lacks nothing.
host_facts healthy() {
  host_facts facts;
  facts.kernel = "Linux 6.1.0";
  facts.io = "I/O: io_uring";
  facts.open_files = 1024;
  facts.most_open_files = 1'048'576;
  facts.shared_memory = std::uint64_t{64} << 30;
  facts.temporary_folder = "/tmp";
  facts.temporary_space = std::uint64_t{100} << 30;
  facts.host_name = "node1";
  facts.host_addresses = {"10.0.0.1"};
  elastic::detail::local_interface interface;
  interface.name = "eth0";
  interface.is_up = true;
  interface.addresses = {elastic::asio::ip::make_address("10.0.0.1")};
  facts.interfaces = {interface};
  facts.processors = 64;
  facts.accelerators = 8;
  facts.driver = "535.104.05";
  facts.python = "/usr/bin/python3";
  facts.torch = "2.13.0";
  facts.cuda = "12.8";
  facts.nccl = "2.27.5";
  return facts;
}

finding about(const host_facts& facts, const std::string& subject) {
  const std::vector<finding> findings = elasticrun::examine(facts);
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [&](const finding& each) { return each.subject == subject; });
  REQUIRE(found != findings.end());
  return *found;
}

TEST_CASE("doctor: a card of InfiniBand that is down is named, one of Ethernet is shown",
          "[program]") {
  host_facts facts = healthy();
  CHECK(about(facts, "network cards").text == "none visible");
  const auto add = [&](const char* name, bool is_up, const char* rate) {
    elasticrun::network_card& card = facts.cards.emplace_back();
    card.name = name;
    card.is_up = is_up;
    card.rate = rate;
  };
  add("eth0", true, "25000 Mb/s");
  add("eth1", false, "");
  add("mlx5_0", true, "200 Gb/sec (4X HDR)");
  CHECK(about(facts, "network cards").how == level::ok);
  CHECK(about(facts, "network cards").text ==
        "eth0 25000 Mb/s, eth1 (down), mlx5_0 200 Gb/sec (4X HDR)");
  add("mlx5_1", false, "");
  CHECK(about(facts, "network cards").how == level::warning);
}

TEST_CASE("doctor: a host that lacks nothing has no advice", "[program]") {
  const std::vector<finding> findings = elasticrun::examine(healthy());
  CHECK(findings.size() == 17);
  for (const finding& each : findings) {
    INFO(each.subject);
    CHECK(each.how == level::ok);
    CHECK(each.advice.empty());
    CHECK_FALSE(each.text.empty());
  }
  CHECK(elasticrun::exit_code(findings) == 0);
  CHECK(about(healthy(), "PyTorch").text == "2.13.0 in /usr/bin/python3, CUDA 12.8, NCCL 2.27.5");
}

struct row {
  const char* subject;
  level how;
  std::function<void(host_facts&)> spoil;
  const char* text;
  const char* advice;
};

TEST_CASE("doctor: each fact that hinders a job is found, with what to do", "[program]") {
  const std::vector<row> rows = {
      {"kernel", level::problem, [](host_facts& f) { f.has_pidfds = false; },
       "Linux 6.1.0 has no pidfds", "use Linux 5.4 or newer"},
      {"guards", level::warning,
       [](host_facts& f) { f.guard_problem = "no guard is available: x"; },
       "no guard is available: x", "may outlive it"},
      {"open files", level::warning, [](host_facts& f) { f.most_open_files = 1024; },
       "1024, at most 1024", "raise the hard limit"},
      {"open files", level::problem, [](host_facts& f) { f.most_open_files = 8; },
       "1024, at most 8", "raise the hard limit"},
      {"processes", level::warning, [](host_facts& f) { f.processes = 100; }, "at most 100",
       "raise the limit"},
      {"processes", level::warning, [](host_facts& f) { f.process_limit = 50; }, "at most 50",
       "--pids-limit"},
      {"locked memory", level::warning,
       [](host_facts& f) {
         f.has_infiniband = true;
         f.locked_memory = 8 * mebibyte;
       },
       "8 MiB, and this host has InfiniBand", "ulimit -l unlimited"},
      {"/dev/shm", level::problem, [](host_facts& f) { f.shared_memory.reset(); }, "not mounted",
       "mount it"},
      {"/dev/shm", level::warning, [](host_facts& f) { f.shared_memory = 64 * mebibyte; }, "64 MiB",
       "--shm-size 8g"},
      {"temporary folder", level::problem, [](host_facts& f) { f.temporary_space.reset(); },
       "/tmp is not writable", "set TMPDIR"},
      {"temporary folder", level::warning,
       [](host_facts& f) { f.temporary_problem = "/login/tmp cannot be used (gone)"; },
       "/login/tmp cannot be used (gone): /tmp is used instead", "of this host"},
      {"temporary folder", level::warning, [](host_facts& f) { f.temporary_space = mebibyte; },
       "/tmp has 1 MiB left", "--log-dir"},
      {"host name", level::warning, [](host_facts& f) { f.host_addresses.clear(); },
       "node1 has no address", "/etc/hosts"},
      {"host name", level::warning, [](host_facts& f) { f.host_addresses = {"127.0.1.1", "::1"}; },
       "node1 resolves to 127.0.1.1, ::1, which only this host can reach", "GLOO_SOCKET_IFNAME"},
      {"interfaces", level::warning, [](host_facts& f) { f.interfaces.front().is_up = false; },
       "only the loopback interface", "other hosts cannot reach it"},
      {"ports", level::warning, [](host_facts& f) { f.taken_ports = {29400, 29500}; },
       "in use: 29400 and 29500", "--rdzv-endpoint"},
      {"clock", level::warning, [](host_facts& f) { f.is_clock_synchronized = false; },
       "not synchronized", "run chrony"},
      {"processors", level::warning, [](host_facts& f) { f.processor_quota = 1.5; },
       "64, but the cgroup grants only the time of 1.5", "OMP_NUM_THREADS"},
      {"GPUs", level::warning, [](host_facts& f) { f.accelerators = 0; }, "none visible",
       "--gpus all"},
      {"PyTorch", level::warning, [](host_facts& f) { f.cuda.clear(); },
       "built without CUDA", "install a build of PyTorch"},
  };
  for (const row& each : rows) {
    host_facts facts = healthy();
    each.spoil(facts);
    INFO(each.subject << ": " << each.text);
    const finding found = about(facts, each.subject);
    CHECK(found.how == each.how);
    CHECK_THAT(found.text, elastic::test::contains_text(each.text));
    CHECK_THAT(found.advice, elastic::test::contains_text(each.advice));
    CHECK(elasticrun::exit_code(elasticrun::examine(facts)) == (each.how == level::problem));
    // Nothing else is said to be wrong.
    const std::vector<finding> findings = elasticrun::examine(facts);
    CHECK(std::count_if(findings.begin(), findings.end(),
                        [](const finding& one) { return one.how != level::ok; }) == 1);
  }
}

TEST_CASE("doctor: what is no matter to a host without it is fine", "[program]") {
  host_facts facts = healthy();
  facts.accelerators = 0;
  facts.driver.clear();
  facts.python.clear();
  facts.torch.clear();
  facts.cuda.clear();
  facts.locked_memory = 1024;
  facts.memory_limit = std::uint64_t{2} << 30;
  facts.processor_quota = 64;
  const std::vector<finding> findings = elasticrun::examine(facts);
  CHECK(std::all_of(findings.begin(), findings.end(),
                    [](const finding& each) { return each.how == level::ok; }));
  CHECK(about(facts, "memory").text == "the cgroup allows 2.0 GiB");
}

TEST_CASE("doctor: findings are a line each for people", "[program]") {
  const std::vector<finding> findings = {{level::ok, "kernel", "Linux\x1b[31m", ""},
                                         {level::warning, "clock", "late", "run chrony"}};
  const std::string text = elasticrun::findings_text(findings);
  CHECK_THAT(text, elastic::test::contains_text("warning  clock             late\n"
                                                "                           -> run chrony\n"
                                                "0 problems, 1 warning\n"));
  CHECK(text.find('\x1b') == text.npos);
}

TEST_CASE("doctor: findings are one object for programs", "[program]") {
  const std::vector<finding> findings = {{level::ok, "kernel", "Linux", ""},
                                         {level::problem, "/dev/shm", "a \"b\"", "mount it"}};
  const auto json = nlohmann::json::parse(elasticrun::findings_json(findings, "node1"));
  CHECK(json == nlohmann::json::parse(R"({"host": "node1", "problems": 1, "warnings": 0,
      "findings": [{"subject": "kernel", "level": "ok", "text": "Linux"},
                   {"subject": "/dev/shm", "level": "problem", "text": "a \"b\"",
                    "advice": "mount it"}]})"));
}

TEST_CASE("doctor: files of the kernel and of packages are read", "[program]") {
  using elasticrun::limit_in;
  using elasticrun::quota_in;
  using elasticrun::unlimited;
  using elasticrun::version_in;
  CHECK(limit_in("max\n") == unlimited);
  CHECK(limit_in("") == unlimited);
  CHECK(limit_in("-1\n") == unlimited);
  CHECK(limit_in("4096\n") == 4096);
  CHECK(quota_in("max 100000\n") == std::nullopt);
  CHECK(quota_in("150000 100000\n") == 1.5);
  CHECK(quota_in("150000\n") == std::nullopt);
  CHECK(quota_in("150000 0\n") == std::nullopt);
  const std::string file =
      "from typing import Optional\n__all__ = ['__version__', 'cuda']\n"
      "__version__ = '2.13.0+cu128'\ndebug = False\ncuda: Optional[str] = '12.8'\nhip = None\n";
  CHECK(version_in(file, "__version__") == "2.13.0+cu128");
  CHECK(version_in(file, "cuda") == "12.8");
  CHECK(version_in(file, "hip").empty());
  CHECK(version_in("cuda = None\n", "cuda").empty());
  CHECK(version_in("cuda_x = '1'\n", "cuda").empty());
  CHECK(version_in("cuda = 'x", "cuda").empty());
  CHECK(version_in("", "cuda").empty());
}

}  // namespace doctor_test

}  // namespace
