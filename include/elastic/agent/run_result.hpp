// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/worker_state.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/time.hpp>
#include <elastic/contract/error_file.hpp>
#include <elastic/process/exit_status.hpp>

#include <sys/types.h>

#include <cstddef>
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
  /// How one worker failed, with everything that a user needs to act.
  struct failure {
    int rank = 0;
    int local_rank = 0;
    /// The group rank of its node.
    int group_rank = 0;
    std::string role = "default";
    /// The host on which it ran, fully qualified if that is known.
    std::string host = {};
    pid_t pid = 0;
    exit_status status = exit_status::unknown();
    /// When the agent learned of its death.
    wall_time time = {};
    /// The path in its TORCHELASTIC_ERROR_FILE; empty if it had none.
    std::string error_file = {};
    /// The content of that file; empty if there is none.
    std::optional<error_file_content> error = {};
    /// The last lines of its stderr, oldest first, at most `limits::report_stderr_lines`; empty
    /// if its stderr was not captured.
    std::vector<std::string> last_stderr = {};
    /// It was most likely killed by the kernel because memory had run out.
    bool out_of_memory = false;
    /// The path of its core file, or how to obtain it; empty if there is none or that is not known.
    std::string core_file = {};
    /// A sentence that the disk of its log files was full when it failed; empty: it was not.
    std::string full_disk = {};
    /// The reason why the agent considered it hung and killed it, such as "no heartbeat for 12.3 s
    /// (allowed 10 s)"; empty: it did not.
    std::string hung = {};
    /// The operation that the workers waited for just before it was killed as hung, or after it had
    /// aborted; empty if that is not known.
    std::string stall = {};
    /// It ended after the agent had told it to: it is a consequence of another failure, not a
    /// cause.
    bool stopped_by_agent = false;

    /// When it failed, in seconds since 1970: the time that the worker reported, or else when the
    /// agent learned of its death.
    ELASTIC_DECL std::int64_t timestamp() const;

    /// The best known time of the failure: when its error file was written (the worker may live on
    /// for a while after that), or else when the agent learned of its death.
    ELASTIC_DECL wall_time moment() const;
  };

  /// How often ranks were given to new processes while other workers of the job continued.
  struct rank_replacements {
    std::map<int, int> by_rank = {};

    void add(int rank) { ++by_rank[rank]; }
    bool empty() const { return by_rank.empty(); }

    /// "rank 3 was replaced 2 times, rank 5 once", for at most `most_ranks` ranks; empty if none
    /// was.
    ELASTIC_DECL std::string text() const;

    /// The most ranks that a text names.
    static constexpr int most_ranks = 16;
  };

  /// How the processes that could have had a standby were started.
  struct worker_starts {
    /// Started from a standby.
    std::size_t warm = 0;
    /// The largest number of different reasons that are kept.
    static constexpr std::size_t most_reasons = 8;
    /// Started without a standby, by the reason.
    std::map<std::string, std::size_t> cold = {};

    /// Counts processes that were started without a standby.
    ELASTIC_DECL void add_cold(const std::string& reason, std::size_t count = 1);

    /// Adds the counts of another attempt.
    ELASTIC_DECL void add(const worker_starts& more);

    std::size_t all() const { return warm + all_cold(); }
    ELASTIC_DECL std::size_t all_cold() const;

    /// "3 warm; 1 cold, because no standby was ready"; empty if nothing was started.
    ELASTIC_DECL std::string text() const;
  };

  /// `succeeded`, `failed` or `stopped`.
  worker_state state = worker_state::init;
  /// The workers of the last attempt that failed, in the order of their failures; those that ended
  /// because the agent stopped them are marked.
  std::vector<failure> failures = {};
  /// How often the workers were restarted after a failure, and how often that was allowed.
  int restarts = 0;
  int max_restarts = 0;
  /// How the workers of this node were started in all attempts; empty unless an agent_part
  /// starts them.
  worker_starts starts = {};
  /// The ranks of this node that were replaced while other workers of the job continued.
  rank_replacements replacements = {};
  /// The reason for the end of the run, one sentence.
  std::string reason = {};
  /// This node left the job because one of its workers or its node check reported that it is bad;
  /// the state is `failed`, but only for this node.
  bool left_as_bad = false;
  /// Another run of the job would fail in the same way: a worker asked for no restart, or attempts
  /// made no progress (`restart_terms::while_progress`). Set only on the node where it was decided.
  bool is_hopeless = false;
  /// Where the log files are; empty if none are kept.
  std::string log_directory = {};
  /// The signal of the `stop` that ended the run, if it did.
  std::optional<int> stop_signal = {};
  /// After success, if the workers ran a function: its return values in the workers of this node,
  /// by rank in the job, as JSON text; "null" if it returns nothing. A worker that called `exit(0)`
  /// before its function returned has none.
  std::map<int, std::string> return_values = {};

  /// Errors: `errc::invalid_argument` if there is no such value.
  ELASTIC_DECL const std::string& return_value_of(int rank) const;

  /// The return value of the function in the worker of this rank, as a `T`.
  /// Errors: `errc::invalid_argument` if there is no such value, or if it is not a `T`. Needs
  /// <nlohmann/json.hpp>, which <elastic/functions.hpp> includes.
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
