// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elastic {

/// On which processors the workers of a machine run. torchrun's names.
enum class numa_binding {
  /// Wherever this program may run.
  none,
  /// All processors of the worker's NUMA node.
  node,
  /// All processors of the socket that has the worker's NUMA node.
  socket,
  /// Cores of the worker's NUMA node that are its own: the node's are dealt out evenly.
  exclusive,
  /// One group of cores with a common cache of the last level; another one for each worker of the
  /// node while there are any.
  core_complex,
};

}  // namespace elastic
