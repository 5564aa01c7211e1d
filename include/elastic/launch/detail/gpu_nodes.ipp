// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/launch/detail/gpu_nodes.hpp>

#include <elastic/contract/detail/visible_devices.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace elastic::detail {

/// The NUMA node of a PCI device; -1 if the kernel does not know it.
inline int node_of_device(const std::string& root, std::string address) {
  // The driver may write the address in upper case; sysfs uses lower case.
  for (char& letter : address) {
    if (letter >= 'A' && letter <= 'F') letter = static_cast<char>(letter - 'A' + 'a');
  }
  int node = -1;
  std::ifstream(root + "/sys/bus/pci/devices/" + address + "/numa_node") >> node;
  return node;
}

ELASTIC_DECL std::vector<int> gpu_nodes(const environment_map& environment,
                                        const std::string& root) {
  std::vector<std::string> addresses;
  std::error_code failure;
  std::filesystem::directory_iterator entry(root + "/proc/driver/nvidia/gpus", failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    addresses.push_back(entry->path().filename().string());
  }
  std::sort(addresses.begin(), addresses.end());
  std::vector<int> nodes;
  for (const std::string& address : addresses) {
    nodes.push_back(node_of_device(root, address));
  }
  const std::vector<std::string> visible = visible_devices(environment, "CUDA_VISIBLE_DEVICES");
  if (visible.empty()) return nodes;
  std::vector<int> visible_nodes;
  for (const std::string& device : visible) {
    std::size_t index = nodes.size();  // a name such as GPU-… does not contain an index
    std::from_chars(device.data(), device.data() + device.size(), index);
    visible_nodes.push_back(index < nodes.size() ? nodes[index] : -1);
  }
  return nodes.empty() ? nodes : visible_nodes;
}

}  // namespace elastic::detail
