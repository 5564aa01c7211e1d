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

/// No limit.
inline constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

/// A network card.
struct network_card {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  network_card() = default;

  /// "eth0", or "mlx5_0" for one of InfiniBand.
  std::string name;
  bool is_up = true;
  /// "25000 Mb/s"; empty: unknown.
  std::string rate;
};

/// What a job needs of its host, as it is here.
struct host_facts {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  host_facts() = default;

  std::string kernel;
  bool has_pidfds = true;
  /// "I/O: io_uring", or why there is another.
  std::string io;
  /// Why a guard cannot hold a process; empty: it can.
  std::string guard_problem;
  /// The limits of this process: the soft and the hard one of open files, and others.
  std::uint64_t open_files = unlimited;
  std::uint64_t most_open_files = unlimited;
  std::uint64_t processes = unlimited;
  std::uint64_t locked_memory = unlimited;
  /// Network cards that need locked memory.
  bool has_infiniband = false;
  /// Bytes of /dev/shm; empty: there is none.
  std::optional<std::uint64_t> shared_memory;
  /// The temporary folder, and its free bytes; empty: nothing can be written there.
  std::string temporary_folder;
  std::optional<std::uint64_t> temporary_space;
  std::string host_name;
  /// What the host's own name resolves to.
  std::vector<std::string> host_addresses;
  std::vector<elastic::detail::local_interface> interfaces;
  /// The physical ones.
  std::vector<network_card> cards;
  bool is_clock_synchronized = true;
  int processors = 1;
  /// Of this process's cgroup: processors, bytes of memory, processes.
  std::optional<double> processor_quota;
  std::uint64_t memory_limit = unlimited;
  std::uint64_t process_limit = unlimited;
  int accelerators = 0;
  /// Of NVIDIA; empty: there is none.
  std::string driver;
  /// The Python of PYTHON_EXEC, or else the first one that has torch, and the versions in its
  /// packages; empty: there is none.
  std::string python;
  std::string torch;
  std::string cuda;
  std::string nccl;
  /// The usual ports of a job that somebody listens at.
  std::vector<int> taken_ports;
};

/// Finds out. It starts and ends one process, and takes a second at most, but for the resolver of
/// names.
/// Errors: none; what cannot be found out stays as it is by default.
/// Cancellation: all types.
elastic::task<host_facts> gather_host_facts(elastic::environment_map environment);

/// The version in a text such as "__version__ = '2.13.0+cpu'"; empty: there is none.
/// @param name  "__version__"
std::string version_in(const std::string& text, const std::string& name);

/// The number in a file of a cgroup: "max" is not a limit, as is what is not a number.
std::uint64_t limit_in(const std::string& text);

/// The processors of "150000 100000"; empty: there is no limit.
std::optional<double> quota_in(const std::string& text);

}  // namespace elasticrun
