// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/doctor/host_facts.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/temporary_folder.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/time.hpp>
#include <elastic/cli/default_python.hpp>
#include <elastic/cli/io_choice.hpp>
#include <elastic/cli/machine.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/process/guarded_launcher.hpp>
#include <program/guard_trial.hpp>
#include <program/listening_port.hpp>
#include <program/missing_module.hpp>

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace elasticrun {

namespace fs = std::filesystem;

namespace {

/// The first 64 KiB of a file; empty if it cannot be read.
std::string text_of_file(const std::string& path) {
  constexpr std::size_t most = 64 * 1024;
  std::ifstream file(path, std::ios::binary);
  std::string text(most, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// ---- limits -------------------------------------------------------------------------------------

std::uint64_t number_of(rlim_t limit) {
  return limit == RLIM_INFINITY ? unlimited : static_cast<std::uint64_t>(limit);
}

void read_limits(host_facts& facts) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    facts.open_files = number_of(limit.rlim_cur);
    facts.most_open_files = number_of(limit.rlim_max);
  }
  // The limit on processes does not apply to root.
  if (::geteuid() != 0 && ::getrlimit(RLIMIT_NPROC, &limit) == 0) {
    facts.processes = number_of(limit.rlim_cur);
  }
  if (::getrlimit(RLIMIT_MEMLOCK, &limit) == 0) facts.locked_memory = number_of(limit.rlim_cur);
}

/// The folder of this process's cgroup (version 2); empty: it has none.
std::string cgroup_folder() {
  constexpr std::string_view begin = "0::";
  const std::string line = first_line(text_of_file("/proc/self/cgroup"));
  if (!line.starts_with(begin)) return {};
  return "/sys/fs/cgroup" + line.substr(begin.size());
}

void read_cgroup(host_facts& facts) {
  const std::string own = cgroup_folder();
  if (own.empty()) return;
  // The limits of its ancestors apply, too.
  for (fs::path folder = own; folder.string().starts_with("/sys/fs/cgroup");
       folder = folder.parent_path()) {
    const std::uint64_t memory = limit_in(text_of_file(folder / "memory.max"));
    const std::uint64_t processes = limit_in(text_of_file(folder / "pids.max"));
    const std::optional<double> quota = quota_in(text_of_file(folder / "cpu.max"));
    facts.memory_limit = std::min(facts.memory_limit, memory);
    facts.process_limit = std::min(facts.process_limit, processes);
    if (quota) facts.processor_quota = std::min(facts.processor_quota.value_or(*quota), *quota);
  }
}

// ---- files --------------------------------------------------------------------------------------

std::optional<std::uint64_t> file_system_bytes(const std::string& path, bool free_ones) {
  struct statvfs state{};
  if (::statvfs(path.c_str(), &state) != 0) return std::nullopt;
  const std::uint64_t blocks = free_ones ? state.f_bavail : state.f_blocks;
  return blocks * state.f_frsize;
}

void read_folders(host_facts& facts) {
  facts.shared_memory = file_system_bytes("/dev/shm", false);
  const std::string preferred = elastic::detail::temporary_folders().front();
  facts.temporary_folder = elastic::detail::temporary_folder();
  if (const std::string problem = elastic::detail::folder_problem(preferred); !problem.empty()) {
    facts.temporary_problem = fmt::format("{} cannot be used ({})", preferred, problem);
    if (facts.temporary_folder == preferred) return;
  }
  facts.temporary_space = file_system_bytes(facts.temporary_folder, true);
}

// ---- PyTorch ------------------------------------------------------------------------------------

/// The version in the name of a folder such as "nvidia_nccl_cu12-2.27.5.dist-info".
std::string version_of_package(const fs::path& packages, std::string_view begin) {
  std::error_code failure;
  for (fs::directory_iterator entry(packages, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(begin) || !name.ends_with(".dist-info")) continue;
    const std::size_t dash = name.find('-');
    return name.substr(dash + 1, name.rfind(".dist-info") - dash - 1);
  }
  return {};
}

/// The Python interpreter that runs scripts: that of PYTHON_EXEC, or else the first one that has
/// torch.
std::string python_of_scripts(const elastic::environment_map& environment) {
  const std::string path = elastic::find_variable(environment, "PATH").value_or("");
  const std::string named = elastic::find_variable(environment, "PYTHON_EXEC").value_or("");
  return named.empty() ? find_python_with("torch", path + ":/usr/bin")
                       : elastic::path_of_program(named, path);
}

void read_torch(host_facts& facts, const elastic::environment_map& environment) {
  facts.python = python_of_scripts(environment);
  if (facts.python.empty()) return;
  const fs::path libraries = fs::path(facts.python).parent_path().parent_path() / "lib";
  std::error_code failure;
  for (fs::directory_iterator entry(libraries, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    for (const char* const folder : {"site-packages", "dist-packages"}) {
      const fs::path packages = entry->path() / folder;
      const std::string text = text_of_file(packages / "torch" / "version.py");
      if (text.empty()) continue;
      facts.torch = version_in(text, "__version__");
      facts.cuda = version_in(text, "cuda");
      facts.nccl = version_of_package(packages, "nvidia_nccl");
      return;
    }
  }
}

/// The version in "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  …": the first word
/// with a point that begins with a digit.
std::string driver_version() {
  const std::string line = first_line(text_of_file("/proc/driver/nvidia/version"));
  for (std::size_t index = 0; index < line.size();) {
    const std::size_t end = std::min(line.find(' ', index), line.size());
    const std::string word = line.substr(index, end - index);
    const bool is_number = !word.empty() && word[0] >= '0' && word[0] <= '9';
    if (is_number && word.find('.') != std::string::npos) return word;
    index = end + 1;
  }
  return {};
}

// ---- the network --------------------------------------------------------------------------------

std::vector<std::string> entries_of(const char* folder) {
  std::vector<std::string> found;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    found.push_back(entry->path().filename().string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Reads the cards that the kernel lists with a device, which excludes bridges and tunnels. For
/// InfiniBand, the first port counts.
void read_cards(host_facts& facts) {
  const fs::path network = "/sys/class/net";
  for (const std::string& name : entries_of(network.c_str())) {
    std::error_code failure;
    if (!fs::exists(network / name / "device", failure)) continue;
    network_card& card = facts.cards.emplace_back();
    card.name = name;
    card.is_up = first_line(text_of_file(network / name / "operstate")) != "down";
    const std::string speed = first_line(text_of_file(network / name / "speed"));
    if (card.is_up && !speed.empty() && speed[0] != '-') card.rate = speed + " Mb/s";
  }
  const fs::path infiniband = "/sys/class/infiniband";
  for (const std::string& name : entries_of(infiniband.c_str())) {
    const fs::path port = infiniband / name / "ports/1";
    network_card& card = facts.cards.emplace_back();
    card.name = name;
    // "4: ACTIVE", "200 Gb/sec (4X HDR)".
    card.is_up = text_of_file(port / "state").find("ACTIVE") != std::string::npos;
    if (card.is_up) card.rate = first_line(text_of_file(port / "rate"));
  }
  facts.has_infiniband = !entries_of(infiniband.c_str()).empty();
}

elastic::task<void> read_network(host_facts& facts) {
  read_cards(facts);
  facts.host_name = elastic::host_name();
  const auto addresses = co_await elastic::detail::resolve_addresses(facts.host_name);
  for (const auto& address : addresses) {
    const std::string text = address.to_string();
    const auto known = std::find(facts.host_addresses.begin(), facts.host_addresses.end(), text);
    if (known == facts.host_addresses.end()) facts.host_addresses.push_back(text);
  }
  facts.interfaces = elastic::detail::local_interfaces();
  constexpr int usual_ports[] = {29400, 29500};
  for (const int port : usual_ports) {
    if (is_listened_at(port)) facts.taken_ports.push_back(port);
  }
}

// ---- guards -------------------------------------------------------------------------------------

elastic::task<void> try_guard(host_facts& facts, const elastic::environment_map& environment) {
  elastic::guarded_launcher::options options;
  options.guard_file = elastic::find_variable(environment, "ELASTIC_GUARD").value_or("");
  facts.guard_problem = co_await guard_problem(std::move(options));
}

}  // namespace

elastic::task<host_facts> gather_host_facts(elastic::environment_map environment) {
  host_facts facts;
  utsname system{};
  if (::uname(&system) == 0) facts.kernel = fmt::format("{} {}", system.sysname, system.release);
  const long pidfd = ::syscall(SYS_pidfd_open, ::getpid(), 0);
  facts.has_pidfds = pidfd >= 0;
  if (pidfd >= 0) ::close(static_cast<int>(pidfd));
  facts.io = elastic::describe_io(elastic::command_line::io_choice::automatic);
  read_limits(facts);
  read_cgroup(facts);
  read_folders(facts);
  timex clock{};
  facts.is_clock_synchronized = ::adjtimex(&clock) != TIME_ERROR;
  facts.processors = static_cast<int>(std::thread::hardware_concurrency());
  facts.accelerators = elastic::count_accelerators(environment);
  facts.driver = driver_version();
  read_torch(facts, environment);
  co_await read_network(facts);
  co_await try_guard(facts, environment);
  co_return facts;
}

std::string version_in(const std::string& text, const std::string& name) {
  std::string_view rest = text;
  while (!rest.empty()) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    // "cuda_toolkit" is not "cuda".
    if (!line.starts_with(' ') && !line.starts_with('=') && !line.starts_with(':')) continue;
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::size_t begin = line.find_first_of("'\"", equals);
    if (begin == std::string_view::npos) continue;
    const std::size_t end = line.find(line[begin], begin + 1);
    if (end != std::string_view::npos) return std::string(line.substr(begin + 1, end - begin - 1));
  }
  return {};
}

std::uint64_t limit_in(const std::string& text) {
  std::uint64_t limit = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), limit);
  return failure == std::errc() && end != text.data() ? limit : unlimited;
}

std::optional<double> quota_in(const std::string& text) {
  const std::uint64_t quota = limit_in(text);
  const std::size_t blank = text.find(' ');
  if (quota == unlimited || blank == std::string::npos) return std::nullopt;
  const std::uint64_t period = limit_in(text.substr(blank + 1));
  if (period == unlimited || period == 0) return std::nullopt;
  return static_cast<double>(quota) / static_cast<double>(period);
}

}  // namespace elasticrun
