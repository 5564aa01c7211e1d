// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/detail/run/agent_step.hpp>
#include <elastic/agent/detail/workers/attempt_verdict.hpp>

#include <support/catch.hpp>

#include <optional>
#include <string>
#include <vector>

namespace agent_step_tests {

using elastic::restart_ledger;
using elastic::worker_state;
using elastic::detail::agent_step;
using elastic::detail::agent_view;
using elastic::detail::attempt_tally;
using action = agent_step::action;

// ---- the verdict on an attempt ------------------------------------------------------------------

struct verdict_case {
  const char* name;
  attempt_tally tally;
  worker_state state;
};

attempt_tally tally_of(std::size_t ended_count, std::size_t succeeded_count) {
  attempt_tally tally;
  tally.workers = 3;
  tally.ended = ended_count;
  tally.succeeded = succeeded_count;
  return tally;
}

attempt_tally with_failure(attempt_tally tally) {
  tally.has_failure = true;
  return tally;
}

attempt_tally on_bad_node(attempt_tally tally) {
  tally.is_node_bad = true;
  return tally;
}

attempt_tally while_stopping(attempt_tally tally) {
  tally.is_stopping = true;
  return tally;
}

TEST_CASE("attempt verdict: what has happened leads to a state and its reason", "[agent]") {
  const std::vector<verdict_case> cases{
      {"all run", tally_of(0, 0), worker_state::healthy},
      {"some have succeeded", tally_of(2, 2), worker_state::healthy},
      {"all have succeeded", tally_of(3, 3), worker_state::succeeded},
      {"all have succeeded while they were stopped", while_stopping(tally_of(3, 3)),
       worker_state::succeeded},
      {"all have succeeded on a bad node", on_bad_node(tally_of(3, 3)), worker_state::succeeded},
      {"the first has failed", with_failure(tally_of(1, 0)), worker_state::failed},
      {"the last has failed", with_failure(tally_of(3, 2)), worker_state::failed},
      {"one failed before the stop", with_failure(while_stopping(tally_of(3, 0))),
       worker_state::failed},
      {"all run on a bad node", on_bad_node(tally_of(0, 0)), worker_state::failed},
      {"stopped on a bad node", on_bad_node(while_stopping(tally_of(3, 0))), worker_state::failed},
      {"some have ended since the stop", while_stopping(tally_of(2, 0)), worker_state::healthy},
      {"all have ended since the stop", while_stopping(tally_of(3, 1)), worker_state::stopped},
  };
  for (const verdict_case& entry : cases) {
    CAPTURE(entry.name);
    const auto verdict = elastic::detail::judge(entry.tally);
    CHECK(verdict.state == entry.state);
    CHECK_FALSE(verdict.reason.empty());
  }
}

// ---- the next step ------------------------------------------------------------------------------

struct step_case {
  const char* name;
  agent_view view;
  action expected_action;
};

agent_view view_of(worker_state workers) {
  agent_view view;
  view.workers = workers;
  return view;
}

agent_view after_report(agent_view view) {
  view.is_reported = true;
  return view;
}

agent_view while_stopping(agent_view view) {
  view.is_stopping = true;
  return view;
}

agent_view on_bad_node(agent_view view) {
  view.is_node_bad = true;
  return view;
}

agent_view when_late(agent_view view) {
  view.is_late = true;
  return view;
}

agent_view round_over(agent_view view, bool restart) {
  restart_ledger::decision decision;
  decision.restart = restart;
  view.after_round = decision;
  return view;
}

TEST_CASE("agent step: what an agent knows leads to one step and its reason", "[agent]") {
  const agent_view initial_view = view_of(worker_state::init);
  const agent_view healthy_view = view_of(worker_state::healthy);
  const agent_view succeeded_view = view_of(worker_state::succeeded);
  const agent_view failed_view = view_of(worker_state::failed);
  const agent_view stopped_view = view_of(worker_state::stopped);
  const std::vector<step_case> cases{
      {"workers run", healthy_view, action::watch},
      {"workers succeeded", succeeded_view, action::wait_for_others},
      {"workers of all nodes succeeded", after_report(succeeded_view), action::finish_succeeded},
      {"workers failed", failed_view, action::report_failure},
      {"workers failed, and no node can be told", after_report(failed_view), action::finish_failed},

      {"the round ended while workers run", round_over(healthy_view, true), action::restart},
      {"the round ended at the exit barrier", round_over(after_report(succeeded_view), true),
       action::restart},
      {"the round ended after a failure", round_over(after_report(failed_view), true),
       action::restart},
      {"no restart is left while workers run", round_over(healthy_view, false), action::give_up},
      {"no restart is left after a failure", round_over(after_report(failed_view), false),
       action::give_up},
      {"no restart is left before workers were started", round_over(initial_view, false),
       action::give_up},

      {"a stop before workers were started", while_stopping(initial_view), action::stop},
      {"a stop while workers run", while_stopping(healthy_view), action::stop},
      {"a stop before the exit barrier", while_stopping(succeeded_view), action::stop},
      {"a stop at the exit barrier", while_stopping(after_report(succeeded_view)),
       action::finish_succeeded},
      {"a stop after the round ended at the exit barrier",
       while_stopping(round_over(after_report(succeeded_view), true)), action::stop},
      {"a stop after a failure", while_stopping(failed_view), action::stop},
      {"a stop while the failure is reported", while_stopping(after_report(failed_view)),
       action::stop},
      {"a stop ended the workers", while_stopping(stopped_view), action::stop},
      {"a stop after the round ended", while_stopping(round_over(healthy_view, true)),
       action::stop},
      {"a stop as no restart is left", while_stopping(round_over(failed_view, false)),
       action::stop},

      {"a bad node", on_bad_node(failed_view), action::leave_job},
      {"a bad node, and the round ended", on_bad_node(round_over(failed_view, true)),
       action::leave_job},
      {"a bad node while its failure is reported", on_bad_node(after_report(failed_view)),
       action::leave_job},
      {"a stop on a bad node", while_stopping(on_bad_node(failed_view)), action::stop},

      {"the job succeeded before workers were started", when_late(initial_view),
       action::finish_late},
      {"the job succeeded before workers were started again",
       when_late(round_over(failed_view, true)), action::finish_late},
      {"a stop after the job succeeded", when_late(while_stopping(initial_view)),
       action::finish_late},
  };
  for (const step_case& entry : cases) {
    CAPTURE(entry.name);
    const agent_step step = elastic::detail::next_step(entry.view);
    CHECK(step.what == entry.expected_action);
    CHECK_FALSE(step.reason.empty());
  }
}

}  // namespace agent_step_tests
