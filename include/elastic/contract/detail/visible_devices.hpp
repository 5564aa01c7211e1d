// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/environment.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

inline std::string without_spaces(std::string_view text) {
  constexpr std::string_view spaces = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(spaces);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(spaces) - begin + 1));
}

inline constexpr std::string_view cuda_devices = "CUDA_VISIBLE_DEVICES";
inline constexpr std::string_view hip_devices = "HIP_VISIBLE_DEVICES";

/// The variable by which the GPUs of a worker are selected: HIP_VISIBLE_DEVICES if it is set, which
/// ROCm prefers, or else CUDA_VISIBLE_DEVICES.
inline std::string_view device_variable(const environment_map& environment) {
  return find_variable(environment, hip_devices) ? hip_devices : cuda_devices;
}

/// The entries of a variable such as CUDA_VISIBLE_DEVICES, without surrounding spaces; no entries
/// if it is not set. If it is set to the empty text, which hides all GPUs, there is one empty
/// entry.
inline std::vector<std::string> visible_devices(const environment_map& environment,
                                                std::string_view variable) {
  const std::optional<std::string> list = find_variable(environment, variable);
  std::vector<std::string> entries;
  if (!list) return entries;
  std::string_view rest = *list;
  for (;;) {
    const std::size_t comma = rest.find(',');
    entries.push_back(without_spaces(rest.substr(0, comma)));
    if (comma == std::string_view::npos) return entries;
    rest.remove_prefix(comma + 1);
  }
}

/// Leaves one GPU visible to the worker of a local rank: the entry of the device variable at this
/// index or, if there is none, the GPU of this number. CUDA_VISIBLE_DEVICES has this entry even if
/// HIP_VISIBLE_DEVICES was the source, because ROCm reads both. ROCR_VISIBLE_DEVICES remains: it
/// renumbers the GPUs from which the others select.
/// Source: `torchrun --virtual-local-rank` (PyTorch 2.13; with HIP_VISIBLE_DEVICES 2.15).
inline void leave_one_device(environment_map& environment, int local_rank) {
  const std::string source(device_variable(environment));
  const std::vector<std::string> entries = visible_devices(environment, source);
  const auto place = static_cast<std::size_t>(local_rank);
  const std::string device = place < entries.size() ? entries[place] : std::to_string(local_rank);
  environment[source] = device;
  environment[std::string(cuda_devices)] = device;
}

}  // namespace elastic::detail
