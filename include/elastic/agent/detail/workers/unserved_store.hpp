// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// The stores that a worker tries to reach without success.
struct sought_stores {
  /// The path of the worker's script.
  std::string script = {};
  /// Addresses of this host that the script or its arguments name, and at which no process listens:
  /// "127.0.0.1:29777".
  std::vector<std::string> unserved = {};
  /// The script names a store whose address it computes when it runs.
  bool names_other = false;
  /// Addresses to which it tries to connect without an answer.
  std::vector<std::string> silent = {};
  /// The process that listens at such an address, if it is the only one and belongs to this host.
  std::string listener = {};
};

/// The "HOST:PORT" of each `tcp://HOST:PORT` in a text, at most eight different ones. An address
/// that contains a variable is left out.
ELASTIC_DECL std::vector<std::string> store_addresses_in(std::string_view text);

/// Looks for stores at a worker's connections and, if its main thread sleeps, as PyTorch does
/// before it tries again to connect, in its arguments and in its script, if that creates a process
/// group. Runs on a separate thread.
///
/// Cancellation: all types.
ELASTIC_DECL task<sought_stores> look_for_stores(pid_t pid);

/// The behaviour of a worker that is not connected to the workers' store, as the end of a sentence:
/// "; train.py names the store tcp://127.0.0.1:29777, and nobody listens there: …". Empty if it is
/// not known.
ELASTIC_DECL std::string to_text(const sought_stores& stores);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/workers/unserved_store.ipp>
#endif
