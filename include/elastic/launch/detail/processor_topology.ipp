// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/processor_topology.hpp>

#include <elastic/base/error.hpp>
#include <elastic/process/processor_set.hpp>

#include <fstream>

#include <fmt/format.h>

namespace elastic::detail {

/// The processor list in a file of sysfs; empty if there is no such file.
inline processor_set listed_in(const std::string& file) {
  std::string line;
  std::ifstream(file) >> line;
  return line.empty() ? processor_set() : processor_set::parse(line);
}

/// The first processor in a file's list, or else `self`.
inline int first_listed_in(const std::string& file, int self) {
  const processor_set group = listed_in(file);
  return group.empty() ? self : *group.begin();
}

/// The first of the processors that share the last-level cache.
inline int complex_of(const std::string& processor, int self) {
  int complex = self;
  int highest = 0;
  for (int index = 0; index < 16; ++index) {
    const std::string cache = fmt::format("{}/cache/index{}/", processor, index);
    int level = 0;
    if (!(std::ifstream(cache + "level") >> level)) break;
    if (level <= highest) continue;
    highest = level;
    complex = first_listed_in(cache + "shared_cpu_list", self);
  }
  return complex;
}

ELASTIC_DECL processor_topology read_processor_topology(const std::string& sys) {
  const std::string system = sys + "/devices/system";
  const processor_set online = listed_in(system + "/cpu/online");
  if (online.empty()) {
    throw error(errc::file_access,
                fmt::format("{}/cpu/online: the processors are not listed there", system));
  }
  processor_topology topology;
  for (const int number : online) {
    const std::string processor = fmt::format("{}/cpu/cpu{}", system, number);
    logical_processor entry;
    entry.number = number;
    entry.core = first_listed_in(processor + "/topology/thread_siblings_list", number);
    entry.socket = first_listed_in(processor + "/topology/core_siblings_list", *online.begin());
    entry.complex = complex_of(processor, number);
    topology.push_back(entry);
  }
  for (const int node : listed_in(system + "/node/online")) {
    const processor_set inside = listed_in(fmt::format("{}/node/node{}/cpulist", system, node));
    for (logical_processor& entry : topology) {
      if (inside.contains(entry.number)) entry.numa_node = node;
    }
  }
  return topology;
}

}  // namespace elastic::detail
