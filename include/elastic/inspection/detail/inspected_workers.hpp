// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/agent_extension.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/inspection/detail/process_facts.hpp>
#include <elastic/inspection/detail/socket_folder.hpp>
#include <elastic/inspection/detail/stack_pipe.hpp>
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

/// What could be learned about a worker from outside. What it wrote itself is hostile input.
struct worker_inspection {
  agent_extension::attempt_worker worker;
  /// None: the process has ended.
  std::optional<process_facts> facts;
  /// The stacks of its threads as faulthandler writes them; empty: there are none.
  std::string stacks;
  /// Its flight recorder as JSON; empty: there is none.
  std::string recorder;
  /// It was started with the hook that both of these need.
  bool is_hooked = false;
  /// Its recorder's server did not answer in time.
  bool is_silent = false;
  /// How many workers the job has, and the folder of the attempt's logs; empty: there is none.
  int world_size = 1;
  std::string log_folder;
};

/// A launcher that has Python workers run the `inspection_hook`, and inspects them.
///
/// Thread-safety: one strand at a time.
class inspected_workers final : public process_launcher {
 public:
  /// @param next   starts the processes
  /// @param hooks  false: none gets the hook, and inspections have the facts of /proc alone
  ELASTIC_DECL inspected_workers(std::shared_ptr<process_launcher> next,
                                 std::shared_ptr<time_source> time, bool hooks = true);

  ELASTIC_DECL task<std::unique_ptr<child>> launch(process_spec spec) override;

  /// Another attempt begins: forgets what was launched before.
  ELASTIC_DECL void begin_attempt();

  /// Inspects workers, all at once.
  /// @param deadline  whoever has not answered by then is silent
  /// Errors: none. Cancellation: all types.
  ELASTIC_DECL task<std::vector<worker_inspection>> inspect(
      std::vector<agent_extension::attempt_worker> workers, time_point deadline);

 private:
  /// By local rank, so that a worker's environment is the same in each attempt.
  struct place {
    stack_pipe pipe;
    std::shared_ptr<process_handle> process;
    int world_size = 1;
    std::string log_folder;
    bool is_busy = false;
  };

  /// Null: the process does not get the hook.
  ELASTIC_DECL std::shared_ptr<place> place_of(const process_spec& spec);
  ELASTIC_DECL process_spec hooked(process_spec spec, const place& at) const;
  ELASTIC_DECL static void describe(const process_spec& spec, place& at);
  ELASTIC_DECL task<void> inspect_one(worker_inspection& found, time_point deadline);
  ELASTIC_DECL task<void> ask_server(worker_inspection& found, time_point deadline);
  ELASTIC_DECL task<void> ask_python(worker_inspection& found, std::shared_ptr<place> at,
                                     time_point deadline);

  std::shared_ptr<process_launcher> next_;
  std::shared_ptr<time_source> time_;
  /// None: no worker gets it.
  std::optional<hook_archive> hook_;
  std::optional<socket_folder> folder_;
  std::map<std::string, std::shared_ptr<place>> places_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/inspection/detail/impl/inspected_workers.ipp>
#endif
