// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace elastic {

struct worker_spec;

namespace detail {

/// What an agent runs, for whom, and where. Texts are bounded, whatever the command line has.
struct job_launch {
  /// The Python script, "-m" and the name of a module, or the program of workers without Python;
  /// empty: not known.
  std::string script = {};
  /// Its arguments, which may hold secrets, and the number of those for which there is no room.
  std::vector<std::string> arguments = {};
  std::size_t left_out = 0;
  /// The name of the agent's user, or "uid 1000", and of its host.
  std::string user = {};
  std::string host = {};
  /// The log directory of the run; empty: there is none, or no worker has been started yet.
  std::string log_dir = {};
};

/// The part of a job's documents that is not in its view, for one reader.
struct job_disclosure {
  job_launch launch = {};
  /// Whether the reader may see what can hold secrets: the output of workers, and their arguments.
  bool has_secrets = false;
};

/// The launch of these workers by this process, without the log directory. Reads /etc/passwd, but
/// asks no directory service, which might not answer. Errors: none.
ELASTIC_DECL job_launch launch_of(const worker_spec& workers);

}  // namespace detail

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/job_launch.ipp>
#endif
