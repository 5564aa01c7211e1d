// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_starts.hpp>
#include <elastic/agent/worker_state.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/error_file.hpp>
#include <elastic/process/exit_status.hpp>

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json_fwd.hpp>

namespace elastic {

/// How a job ended on this node.
struct run_result {
  /// How one worker failed: all that a user needs to act.
  struct failure {
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
    /// Why the agent took it for hung and ended it, such as "no heartbeat for 12.3 s (allowed 10
    /// s)"; empty if it did not.
    std::string hung;
    /// What the workers waited for just before it was ended as hung, or after it had aborted;
    /// empty: nobody has found out.
    std::string stall;
    /// It ended after the agent had told it to: it is a victim of another's failure, not a cause.
    bool stopped_by_agent = false;

    /// When it failed, in seconds since 1970: by its own account if it gave one.
    ELASTIC_DECL std::int64_t timestamp() const;

    /// The finest that is known of the same moment: when its error file was written (a worker can
    /// live on for a while after that), else when the agent learned of its death.
    ELASTIC_DECL wall_time moment() const;
  };

  /// How often ranks were given to new processes while other workers of the job went on.
  struct rank_replacements {
    std::map<int, int> by_rank;

    void add(int rank) { ++by_rank[rank]; }
    bool empty() const { return by_rank.empty(); }

    /// "rank 3 was replaced 2 times, rank 5 once", of at most `most_ranks`; empty if none was.
    ELASTIC_DECL std::string text() const;

    /// The ranks that a text names.
    static constexpr int most_ranks = 16;
  };

  /// `succeeded`, `failed` or `stopped`.
  worker_state state = worker_state::init;
  /// The workers of the last attempt that failed, in the order in which they did; those that ended
  /// because the agent stopped them are marked so.
  std::vector<failure> failures;
  /// How often the group was started again after a failure, and how often that was allowed.
  int restarts = 0;
  int max_restarts = 0;
  /// How the workers of this node were started in all attempts; empty without an agent_extension
  /// that takes part in that.
  worker_starts starts;
  /// The ranks of this node that were replaced while other workers of the job went on.
  rank_replacements replacements;
  /// Why the run ended as it did, one sentence.
  std::string reason;
  /// This node left the job because a worker of it or its node check said that it is bad; `failed`,
  /// for the node alone.
  bool left_as_bad = false;
  /// A new start of the job would end in the same way: a worker asked for no restart, or attempts
  /// came no further (`restart_terms::while_progress`). Known on the node where it was decided.
  bool is_hopeless = false;
  /// Where the log files are; empty if none are kept.
  std::string log_directory;
  /// The signal that a `stop` named, if it was that which ended the run.
  std::optional<int> stop_signal;
  /// After success, if the workers ran a function: what it returned in each worker of this node,
  /// by rank in the job, as the text of JSON; "null" for one that returns nothing. A worker that
  /// ended by `exit(0)` before its function returned has none.
  std::map<int, std::string> return_values = {};

  /// Errors: `errc::invalid_argument` if there is no such value.
  ELASTIC_DECL const std::string& return_value_of(int rank) const;

  /// What the function returned in the worker of this rank, as a `T`.
  /// Errors: `errc::invalid_argument` if there is no such value, or if it is no `T`.
  /// Needs <nlohmann/json.hpp>, which <elastic/functions.hpp> includes.
  template <class T, class Json = nlohmann::json>
  T value_of(int rank) const {
    const std::string& text = return_value_of(rank);
    try {
      return Json::parse(text).template get<T>();
    } catch (const typename Json::exception& complaint) {
      throw error(errc::invalid_argument,
                  fmt::format("the return value of rank {} does not fit: {}", rank,
                              detail::json_complaint(complaint.what())));
    }
  }
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/impl/run_result.ipp>
#endif
