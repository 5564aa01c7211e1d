// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/task.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/net/detail/local_interface.hpp>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace elasticrun {

/// The value of a limit that is not set.
inline constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

/// A network card.
struct network_card {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  network_card() = default;

  /// The kernel's name: "eth0", or "mlx5_0" for InfiniBand.
  std::string name;
  bool is_up = true;
  /// "25000 Mb/s"; empty: unknown.
  std::string rate;
};

/// The properties of this host that matter to jobs.
struct host_facts {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  host_facts() = default;

  std::string kernel;
  bool has_pidfds = true;
  /// The I/O interface that jobs would use: "I/O: io_uring", or the reason for another one.
  std::string io;
  /// The reason why no guard can run; empty: one can.
  std::string guard_problem;
  /// The resource limits of this process; for open files the soft and the hard limit.
  std::uint64_t open_files = unlimited;
  std::uint64_t most_open_files = unlimited;
  std::uint64_t processes = unlimited;
  std::uint64_t locked_memory = unlimited;
  /// Whether there are InfiniBand cards, which need locked memory.
  bool has_infiniband = false;
  /// The size of /dev/shm in bytes; empty: it is not mounted.
  std::optional<std::uint64_t> shared_memory;
  /// The temporary folder, and its free space in bytes; empty: no file can be created in any.
  std::string temporary_folder;
  std::optional<std::uint64_t> temporary_space;
  /// The reason why it is not the preferred folder; empty: it is.
  std::string temporary_problem;
  std::string host_name;
  /// The addresses to which the host's own name resolves.
  std::vector<std::string> host_addresses;
  std::vector<elastic::detail::local_interface> interfaces;
  /// The physical network cards.
  std::vector<network_card> cards;
  bool is_clock_synchronized = true;
  int processors = 1;
  /// The limits of this process's cgroup: processors, memory in bytes, processes.
  std::optional<double> processor_quota;
  std::uint64_t memory_limit = unlimited;
  std::uint64_t process_limit = unlimited;
  int accelerators = 0;
  /// The version of the NVIDIA driver; empty: none is loaded.
  std::string driver;
  /// The Python interpreter of PYTHON_EXEC, or else the first one of PATH that has torch, and the
  /// versions of its packages. Empty: not found.
  std::string python;
  std::string torch;
  std::string cuda;
  std::string nccl;
  /// The default ports of jobs that are in use.
  std::vector<int> taken_ports;
};

/// Determines the facts. Starts and ends one process. Takes at most a second, unless the resolution
/// of the host's name takes longer.
/// Errors: none; facts that cannot be determined keep their defaults.
/// Cancellation: all types.
elastic::task<host_facts> gather_host_facts(elastic::environment_map environment);

/// The version in a Python file, such as 2.13.0+cpu in "__version__ = '2.13.0+cpu'"; empty: none.
/// @param name  the variable, such as "__version__"
std::string version_in(const std::string& text, const std::string& name);

/// The limit in a file of a cgroup; `unlimited` for "max" and for any other text that is not a
/// number.
std::uint64_t limit_in(const std::string& text);

/// The number of processors in the text of cpu.max: 1.5 for "150000 100000"; empty: no limit.
std::optional<double> quota_in(const std::string& text);

}  // namespace elasticrun
