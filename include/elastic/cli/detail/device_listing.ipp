// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/detail/device_listing.hpp>

#include <elastic/contract/detail/visible_devices.hpp>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

namespace elastic::detail {

/// Whether `text` is `prefix` and then a number.
inline bool is_numbered(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix) || text.size() == prefix.size()) return false;
  text.remove_prefix(prefix.size());
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// The index that an entry of CUDA_VISIBLE_DEVICES begins with; -1 if it begins with none.
inline int leading_index(std::string_view entry) {
  const std::size_t start = entry.find_first_not_of(' ');
  if (start == std::string_view::npos) return -1;
  entry.remove_prefix(start + (entry[start] == '+' ? 1 : 0));
  int index = -1;
  std::from_chars(entry.data(), entry.data() + entry.size(), index);
  return index;
}

/// The number of devices that a list such as CUDA_VISIBLE_DEVICES leaves of `count`: indices,
/// or identifiers ("GPU-…" or "MIG-…"), as the first entry is. As the driver reads it, the list
/// ends before the first entry that names no device, and a repeated entry makes all of it void.
inline int visible_count(int count, std::string_view list) {
  const bool by_identifier = list.starts_with("GPU-") || list.starts_with("MIG-");
  const std::string_view kind = list.substr(0, by_identifier ? 4 : 0);
  std::set<std::string, std::less<>> visible;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view entry = list.substr(0, comma);
    const int index = by_identifier ? 0 : leading_index(entry);
    if (!entry.starts_with(kind) || index < 0 || index >= count) break;
    std::string key = by_identifier ? std::string(entry) : std::to_string(index);
    if (!visible.insert(std::move(key)).second) return 0;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return std::min(count, static_cast<int>(visible.size()));
}

inline int visible_count(int count, const environment_map& environment, std::string_view name) {
  const auto list = environment.find(name);
  return list == environment.end() ? count : visible_count(count, list->second);
}

inline int count_nvidia(const device_listing& listing, const environment_map& environment) {
  const auto is_gpu = [](const std::string& name) { return is_numbered(name, "nvidia"); };
  const auto& devices = listing.devices;
  const auto count = std::count_if(devices.begin(), devices.end(), is_gpu);
  return visible_count(static_cast<int>(count), environment, "CUDA_VISIBLE_DEVICES");
}

inline int count_amd(const device_listing& listing, const environment_map& environment) {
  const auto& devices = listing.devices;
  if (std::find(devices.begin(), devices.end(), "kfd") == devices.end()) return 0;
  const auto is_amd = [](const device_listing::render_node& node) {
    return is_numbered(node.name, "renderD") && node.vendor == "0x1002";
  };
  const auto& nodes = listing.render_nodes;
  int count = static_cast<int>(std::count_if(nodes.begin(), nodes.end(), is_amd));
  // The ROCm runtime hides devices from HIP, which then counts those that are left.
  count = visible_count(count, environment, "ROCR_VISIBLE_DEVICES");
  return visible_count(count, environment, device_variable(environment));
}

inline std::vector<std::string> names_in(const char* directory) {
  std::vector<std::string> names;
  std::error_code failure;
  std::filesystem::directory_iterator entry(directory, failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    names.push_back(entry->path().filename().string());
  }
  return names;
}

ELASTIC_DECL int count_accelerators(const device_listing& listing,
                                    const environment_map& environment) {
  const int nvidia = count_nvidia(listing, environment);
  return nvidia > 0 ? nvidia : count_amd(listing, environment);
}

ELASTIC_DECL device_listing list_devices() {
  device_listing listing;
  listing.devices = names_in("/dev");
  for (std::string& name : names_in("/dev/dri")) {
    std::string vendor;
    std::ifstream("/sys/class/drm/" + name + "/device/vendor") >> vendor;
    listing.render_nodes.push_back({std::move(name), std::move(vendor)});
  }
  return listing;
}

}  // namespace elastic::detail
