// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/doctor/findings.hpp>

#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elasticrun {

namespace {

using level = finding::level;

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;

std::string size_text(std::uint64_t bytes) {
  if (bytes >= gibibyte) {
    return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(gibibyte));
  }
  return fmt::format("{} MiB", bytes / mebibyte);
}

std::string limit_text(std::uint64_t limit) {
  return limit == unlimited ? "no limit" : fmt::format("{}", limit);
}

finding kernel_finding(const host_facts& facts) {
  if (facts.has_pidfds) return {level::ok, "kernel", facts.kernel};
  return {level::problem, "kernel", facts.kernel + " has no pidfds, or a filter forbids them",
          "use Linux 5.4 or newer, and a seccomp profile that allows pidfd_open"};
}

finding io_finding(const host_facts& facts) {
  // epoll is only slower than io_uring, so both are fine.
  return {level::ok, "input and output", facts.io};
}

finding guard_finding(const host_facts& facts) {
  if (facts.guard_problem.empty()) {
    return {level::ok, "guards", "processes that a worker leaves behind end with it"};
  }
  return {level::warning, "guards", facts.guard_problem,
          "processes that a worker leaves behind may outlive it: allow programs to be executed in "
          "/tmp, or name an installed elastic-guard with ELASTIC_GUARD"};
}

finding files_finding(const host_facts& facts) {
  // For eight workers whose data loaders pass tensors as files.
  constexpr std::uint64_t enough = 4096;
  // For an agent with one worker.
  constexpr std::uint64_t fewest = 64;
  std::string text = fmt::format("{}, at most {}", limit_text(facts.open_files),
                                 limit_text(facts.most_open_files));
  if (facts.most_open_files >= enough) return {level::ok, "open files", std::move(text)};
  const level how = facts.most_open_files < fewest ? level::problem : level::warning;
  return {how, "open files", std::move(text),
          "raise the hard limit to 65536 (ulimit -Hn, LimitNOFILE=, docker run --ulimit nofile)"};
}

finding processes_finding(const host_facts& facts) {
  constexpr std::uint64_t enough = 4096;
  const std::uint64_t limit = std::min(facts.processes, facts.process_limit);
  if (limit >= enough) return {level::ok, "processes", limit_text(limit)};
  return {level::warning, "processes", fmt::format("at most {}, threads included", limit),
          "each worker has dozens of threads: raise the limit (ulimit -u, TasksMax=, docker run "
          "--pids-limit)"};
}

finding locked_memory_finding(const host_facts& facts) {
  const std::string text = facts.locked_memory == unlimited ? "no limit"
                                                            : size_text(facts.locked_memory);
  if (!facts.has_infiniband || facts.locked_memory == unlimited) {
    return {level::ok, "locked memory", text};
  }
  return {level::warning, "locked memory", text + ", and this host has InfiniBand",
          "NCCL and MPI register memory with the card: remove the limit (ulimit -l unlimited, "
          "LimitMEMLOCK=infinity)"};
}

finding shared_memory_finding(const host_facts& facts) {
  if (!facts.shared_memory) {
    return {level::problem, "/dev/shm", "not mounted",
            "mount it: NCCL, MPI and data loaders share memory there"};
  }
  const std::string text = size_text(*facts.shared_memory);
  if (*facts.shared_memory >= gibibyte) return {level::ok, "/dev/shm", text};
  return {level::warning, "/dev/shm", text,
          "data loaders die with SIGBUS when it is full: start the container with --shm-size 8g "
          "or --ipc host, or mount an emptyDir with medium Memory there"};
}

finding temporary_finding(const host_facts& facts) {
  if (!facts.temporary_space) {
    return {level::problem, "temporary folder",
            fmt::format("{} is not writable", facts.temporary_folder),
            "set TMPDIR, or --log-dir, to a writable folder"};
  }
  if (!facts.temporary_problem.empty()) {
    return {level::warning, "temporary folder",
            fmt::format("{}: {} is used instead", facts.temporary_problem, facts.temporary_folder),
            "set TMPDIR to a writable folder of this host"};
  }
  const std::string text =
      fmt::format("{} has {} left", facts.temporary_folder, size_text(*facts.temporary_space));
  if (*facts.temporary_space >= gibibyte) return {level::ok, "temporary folder", text};
  return {level::warning, "temporary folder", text,
          "logs go there unless --log-dir names another folder"};
}

bool is_loopback_address(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

finding name_finding(const host_facts& facts) {
  const std::string addresses = fmt::format("{}", fmt::join(facts.host_addresses, ", "));
  if (facts.host_addresses.empty()) {
    return {level::warning, "host name",
            fmt::format("{} has no address", facts.host_name),
            "add it to DNS or /etc/hosts, or name the address of each node with --local-addr"};
  }
  const bool is_local = std::all_of(facts.host_addresses.begin(), facts.host_addresses.end(),
                                    is_loopback_address);
  const std::string text = fmt::format("{} resolves to {}", facts.host_name, addresses);
  if (!is_local) return {level::ok, "host name", text};
  return {level::warning, "host name", text + ", which only this host can reach",
          "jobs on this host alone work; with several hosts, gloo uses this address: set "
          "GLOO_SOCKET_IFNAME, or correct /etc/hosts"};
}

finding interfaces_finding(const host_facts& facts) {
  std::string text;
  for (const elastic::detail::local_interface& each : facts.interfaces) {
    if (!each.is_up || each.addresses.empty() || each.name == "lo") continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", each.name,
                        each.addresses.front().to_string());
  }
  if (!text.empty()) return {level::ok, "interfaces", text};
  return {level::warning, "interfaces", "only the loopback interface has an address",
          "jobs on this host alone work; other hosts cannot reach it"};
}

finding cards_finding(const host_facts& facts) {
  std::string text;
  bool is_infiniband_down = false;
  for (const network_card& card : facts.cards) {
    text += (text.empty() ? "" : ", ") + text_of(card);
    // An Ethernet card may be without a cable on purpose.
    is_infiniband_down |= !card.is_up && card.name.starts_with("mlx");
  }
  if (text.empty()) return {level::ok, "network cards", "none visible"};
  if (!is_infiniband_down) return {level::ok, "network cards", std::move(text)};
  return {level::warning, "network cards", std::move(text),
          "an InfiniBand port is not active: check ibstat, the cable and the subnet manager, or "
          "exclude the card with NCCL_IB_HCA"};
}

finding clock_finding(const host_facts& facts) {
  if (facts.is_clock_synchronized) return {level::ok, "clock", "synchronized"};
  return {level::warning, "clock", "not synchronized, according to the kernel",
          "times in the logs of several hosts cannot be compared: run chrony or systemd-timesyncd "
          "(a container cannot see it)"};
}

finding processors_finding(const host_facts& facts) {
  const std::string text = fmt::format("{}", facts.processors);
  if (!facts.processor_quota || *facts.processor_quota >= facts.processors) {
    return {level::ok, "processors", text};
  }
  return {level::warning, "processors",
          fmt::format("{}, but the cgroup grants only the time of {:.1f}", text,
                      *facts.processor_quota),
          "threads are throttled when that time is used up: choose OMP_NUM_THREADS and the number "
          "of data loaders accordingly, or raise the quota"};
}

finding memory_finding(const host_facts& facts) {
  if (facts.memory_limit == unlimited) return {level::ok, "memory", "no cgroup limit"};
  return {level::ok, "memory",
          fmt::format("the cgroup allows {}", size_text(facts.memory_limit))};
}

finding accelerators_finding(const host_facts& facts) {
  const std::string driver = facts.driver.empty() ? "" : ", driver " + facts.driver;
  const std::string text = fmt::format("{}{}", facts.accelerators, driver);
  if (facts.driver.empty() || facts.accelerators > 0) return {level::ok, "GPUs", text};
  return {level::warning, "GPUs", "none visible, although a driver is loaded: " + facts.driver,
          "pass the GPUs to the container (docker run --gpus all), or correct "
          "CUDA_VISIBLE_DEVICES"};
}

finding torch_finding(const host_facts& facts) {
  if (facts.torch.empty()) {
    const std::string where = facts.python.empty() ? "the interpreters of PATH" : facts.python;
    return {level::ok, "PyTorch", "none in " + where};
  }
  std::string text = fmt::format("{} in {}", facts.torch, facts.python);
  if (!facts.cuda.empty()) text += ", CUDA " + facts.cuda;
  if (!facts.nccl.empty()) text += ", NCCL " + facts.nccl;
  if (facts.accelerators == 0 || !facts.cuda.empty()) return {level::ok, "PyTorch", text};
  return {level::warning, "PyTorch", text + ", built without CUDA",
          "install a build of PyTorch for the GPUs of this host"};
}

finding ports_finding(const host_facts& facts) {
  if (facts.taken_ports.empty()) return {level::ok, "ports", "29400 and 29500 are free"};
  return {level::warning, "ports",
          fmt::format("in use: {}", fmt::join(facts.taken_ports, " and ")),
          "another job or program listens there: jobs of several nodes need another port in "
          "--rdzv-endpoint (or --master-port)"};
}

std::string_view name_of(level how) {
  switch (how) {
    case level::ok: return "ok";
    case level::warning: return "warning";
    case level::problem: return "problem";
  }
  return "";
}

std::ptrdiff_t count_of(const std::vector<finding>& findings, level how) {
  return std::count_if(findings.begin(), findings.end(),
                       [how](const finding& each) { return each.how == how; });
}

}  // namespace

std::string text_of(const network_card& card) {
  if (!card.is_up) return card.name + " (down)";
  return card.rate.empty() ? card.name : fmt::format("{} {}", card.name, card.rate);
}

std::vector<finding> examine(const host_facts& facts) {
  return {kernel_finding(facts),     io_finding(facts),
          guard_finding(facts),      files_finding(facts),
          processes_finding(facts),  locked_memory_finding(facts),
          shared_memory_finding(facts), temporary_finding(facts),
          name_finding(facts),       interfaces_finding(facts),
          cards_finding(facts),      ports_finding(facts),
          clock_finding(facts),
          processors_finding(facts), memory_finding(facts),
          accelerators_finding(facts), torch_finding(facts)};
}

std::string findings_text(const std::vector<finding>& findings) {
  std::string text;
  for (const finding& each : findings) {
    text += fmt::format("{:<8} {:<17} {}\n", name_of(each.how), each.subject,
                        elastic::printable_line(each.text));
    if (!each.advice.empty()) text += fmt::format("{:<8} {:<17} -> {}\n", "", "", each.advice);
  }
  const auto problems = count_of(findings, level::problem);
  const auto warnings = count_of(findings, level::warning);
  text += fmt::format("{} problem{}, {} warning{}\n", problems, problems == 1 ? "" : "s", warnings,
                      warnings == 1 ? "" : "s");
  return text;
}

std::string finding_json(const finding& found) {
  elastic::detail::json_object object;
  object.add("subject", found.subject).add("level", name_of(found.how)).add("text", found.text);
  if (!found.advice.empty()) object.add("advice", found.advice);
  return object.text();
}

void add_findings(elastic::detail::json_object& document, const std::vector<finding>& findings) {
  std::string list;
  for (const finding& each : findings) list += (list.empty() ? "" : ", ") + finding_json(each);
  document.add("problems", count_of(findings, level::problem))
      .add("warnings", count_of(findings, level::warning))
      .add_json("findings", "[" + list + "]");
}

std::string findings_json(const std::vector<finding>& findings, const std::string& host) {
  elastic::detail::json_object document;
  document.add("host", host);
  add_findings(document, findings);
  return document.text() + '\n';
}

int exit_code(const std::vector<finding>& findings) {
  return count_of(findings, level::problem) > 0 ? 1 : 0;
}

}  // namespace elasticrun
