// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/error_file.hpp>
#include <elastic/process/exit_status.hpp>

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace elastic {

/// How one worker failed: all that a user needs to act.
struct worker_failure {
  int rank = 0;
  int local_rank = 0;
  /// Which node of the job, by its place in the rendezvous.
  int group_rank = 0;
  std::string role = "default";
  /// The host on which it ran, fully qualified if that is known.
  std::string host;
  pid_t pid = 0;
  exit_status status = exit_status::unknown();
  /// When the agent learned of its death.
  wall_time at;
  /// The path that it was given as TORCHELASTIC_ERROR_FILE; empty if it was given none.
  std::string error_file;
  /// What it left there; none if it left nothing.
  std::optional<error_file_content> error;
  /// The last lines of its stderr, oldest first, at most `limits::report_stderr_lines`; empty
  /// if its stderr was not captured.
  std::vector<std::string> last_stderr;
  /// It was killed while the kernel killed processes because memory had run out: most likely so.
  bool out_of_memory = false;
  /// Where its core is, or how to come by it; empty if it left none or that is not known.
  std::string core_file;
  /// Why the agent took it for hung and ended it, such as "no heartbeat for 12.3 s (allowed 10 s)";
  /// empty if it did not.
  std::string hung;
  /// What the workers waited for just before it was ended as hung, or after it had aborted; empty:
  /// nobody has found out.
  std::string stall;
  /// It ended after the agent had told it to: it is a victim of another's failure, not a cause.
  bool stopped_by_agent = false;

  /// When it failed, in seconds since 1970: by its own account if it gave one.
  ELASTIC_DECL std::int64_t timestamp() const;

  /// The finest that is known of the same moment: when its error file was written (a worker can
  /// live on for a while after that), else when the agent learned of its death.
  ELASTIC_DECL wall_time moment() const;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/worker_failure.ipp>
#endif
