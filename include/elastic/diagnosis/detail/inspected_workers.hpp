// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_part.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/diagnosis/detail/process_facts.hpp>
#include <elastic/diagnosis/detail/socket_folder.hpp>
#include <elastic/diagnosis/detail/stack_pipe.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/detail/process_handle.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/process/process_spec.hpp>
#include <elastic/python/detail/hook_archive.hpp>

#include <sys/types.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// The result of inspecting a worker from outside. Text that the worker wrote is untrusted.
struct worker_inspection {
  agent_part::attempt_worker worker;
  /// Empty: the process has ended.
  std::optional<process_facts> facts;
  /// The stacks of its threads in faulthandler's format; may be empty.
  std::string stacks;
  /// Its flight recorders as JSON: that of NCCL, and that of other backends.
  std::vector<std::string> recorders;
  /// Whether it was started with the hook, which the stacks and the recorders need.
  bool is_hooked = false;
  /// Whether its recorder's server did not answer in time.
  bool is_silent = false;
  /// How many workers the job has, and the folder of the attempt's logs (may be empty).
  int world_size = 1;
  std::string log_folder;
};

/// A launcher that makes Python workers run embedded/inspection_hook.py, and inspects them.
///
/// Thread-safety: one strand at a time.
class inspected_workers final : public process_launcher {
 public:
  /// @param next   starts the processes
  /// @param hooks  false: no worker gets the hook, and inspections contain only the facts of /proc
  ELASTIC_DECL inspected_workers(std::shared_ptr<process_launcher> next,
                                 std::shared_ptr<time_source> time, bool hooks = true);

  ELASTIC_DECL task<std::unique_ptr<child>> launch(process_spec spec) override;

  /// Begins another attempt: forgets the workers that were launched before.
  ELASTIC_DECL void begin_attempt();

  /// Inspects workers concurrently.
  /// @param deadline  workers that have not answered by then count as silent
  /// Errors: none. Cancellation: all types.
  ELASTIC_DECL task<std::vector<worker_inspection>> inspect(
      std::vector<agent_part::attempt_worker> workers, time_point deadline);

 private:
  /// The endpoints for one local rank; reused, so that a worker's environment is the same in each
  /// attempt.
  struct place {
    stack_pipe pipe;
    std::shared_ptr<process_handle> process;
    int world_size = 1;
    std::string log_folder;
    bool is_busy = false;
  };

  /// Null: the process does not get the hook.
  ELASTIC_DECL std::shared_ptr<place> place_of(const process_spec& spec);
  ELASTIC_DECL process_spec hooked(process_spec spec, const place& entry) const;
  ELASTIC_DECL static void describe(const process_spec& spec, place& entry);
  ELASTIC_DECL task<void> inspect_one(worker_inspection& found, time_point deadline);
  ELASTIC_DECL task<void> ask_server(worker_inspection& found, time_point deadline);
  ELASTIC_DECL task<void> ask_python(worker_inspection& found, std::shared_ptr<place> entry,
                                     time_point deadline);

  std::shared_ptr<process_launcher> next_;
  std::shared_ptr<time_source> time_;
  /// Empty: no worker gets the hook.
  std::optional<hook_archive> hook_;
  std::optional<socket_folder> folder_;
  std::map<std::string, std::shared_ptr<place>> places_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/inspected_workers.ipp>
#endif
