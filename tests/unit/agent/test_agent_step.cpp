// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/detail/agent_step.hpp>
#include <elastic/agent/detail/attempt_verdict.hpp>

#include <support/catch.hpp>

#include <optional>
#include <string>
#include <vector>

namespace agent_step_tests {

using elastic::restart_decision;
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

attempt_tally tally(std::size_t ended, std::size_t succeeded) {
  attempt_tally made;
  made.workers = 3;
  made.ended = ended;
  made.succeeded = succeeded;
  return made;
}

attempt_tally failed(attempt_tally made) {
  made.has_failure = true;
  return made;
}

attempt_tally bad_node(attempt_tally made) {
  made.is_node_bad = true;
  return made;
}

attempt_tally stopping(attempt_tally made) {
  made.is_stopping = true;
  return made;
}

TEST_CASE("attempt verdict: what has happened leads to a state and its reason", "[agent]") {
  const std::vector<verdict_case> cases{
      {"all run", tally(0, 0), worker_state::healthy},
      {"some have succeeded", tally(2, 2), worker_state::healthy},
      {"all have succeeded", tally(3, 3), worker_state::succeeded},
      {"all have succeeded while they were stopped", stopping(tally(3, 3)),
       worker_state::succeeded},
      {"all have succeeded on a bad node", bad_node(tally(3, 3)), worker_state::succeeded},
      {"the first has failed", failed(tally(1, 0)), worker_state::failed},
      {"the last has failed", failed(tally(3, 2)), worker_state::failed},
      {"one failed before the stop", failed(stopping(tally(3, 0))), worker_state::failed},
      {"all run on a bad node", bad_node(tally(0, 0)), worker_state::failed},
      {"stopped on a bad node", bad_node(stopping(tally(3, 0))), worker_state::failed},
      {"some have ended since the stop", stopping(tally(2, 0)), worker_state::healthy},
      {"all have ended since the stop", stopping(tally(3, 1)), worker_state::stopped},
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
  action what;
};

agent_view view_of(worker_state workers) {
  agent_view view;
  view.workers = workers;
  return view;
}

agent_view reported(agent_view view) {
  view.is_reported = true;
  return view;
}

agent_view stopping(agent_view view) {
  view.is_stopping = true;
  return view;
}

agent_view on_bad_node(agent_view view) {
  view.is_node_bad = true;
  return view;
}

agent_view late(agent_view view) {
  view.is_late = true;
  return view;
}

agent_view round_over(agent_view view, bool restart) {
  restart_decision decision;
  decision.restart = restart;
  view.after_round = decision;
  return view;
}

TEST_CASE("agent step: what an agent knows leads to one step and its reason", "[agent]") {
  const agent_view none = view_of(worker_state::init);
  const agent_view healthy = view_of(worker_state::healthy);
  const agent_view succeeded = view_of(worker_state::succeeded);
  const agent_view failed = view_of(worker_state::failed);
  const agent_view stopped = view_of(worker_state::stopped);
  const std::vector<step_case> cases{
      {"workers run", healthy, action::watch},
      {"workers succeeded", succeeded, action::wait_for_others},
      {"workers of all nodes succeeded", reported(succeeded), action::finish_succeeded},
      {"workers failed", failed, action::report_failure},
      {"workers failed, and no node can be told", reported(failed), action::finish_failed},

      {"the round ended while workers run", round_over(healthy, true), action::restart},
      {"the round ended at the exit barrier", round_over(reported(succeeded), true),
       action::restart},
      {"the round ended after a failure", round_over(reported(failed), true), action::restart},
      {"no restart is left while workers run", round_over(healthy, false), action::give_up},
      {"no restart is left after a failure", round_over(reported(failed), false), action::give_up},
      {"no restart is left before workers were started", round_over(none, false), action::give_up},

      {"a stop before workers were started", stopping(none), action::stop},
      {"a stop while workers run", stopping(healthy), action::stop},
      {"a stop before the exit barrier", stopping(succeeded), action::stop},
      {"a stop at the exit barrier", stopping(reported(succeeded)), action::finish_succeeded},
      {"a stop after the round ended at the exit barrier",
       stopping(round_over(reported(succeeded), true)), action::stop},
      {"a stop after a failure", stopping(failed), action::stop},
      {"a stop while the failure is reported", stopping(reported(failed)), action::stop},
      {"a stop ended the workers", stopping(stopped), action::stop},
      {"a stop after the round ended", stopping(round_over(healthy, true)), action::stop},
      {"a stop as no restart is left", stopping(round_over(failed, false)), action::stop},

      {"a bad node", on_bad_node(failed), action::leave_job},
      {"a bad node, and the round ended", on_bad_node(round_over(failed, true)), action::leave_job},
      {"a bad node while its failure is reported", on_bad_node(reported(failed)),
       action::leave_job},
      {"a stop on a bad node", stopping(on_bad_node(failed)), action::stop},

      {"the job succeeded before workers were started", late(none), action::finish_late},
      {"the job succeeded before workers were started again", late(round_over(failed, true)),
       action::finish_late},
      {"a stop after the job succeeded", late(stopping(none)), action::finish_late},
  };
  for (const step_case& entry : cases) {
    CAPTURE(entry.name);
    const agent_step step = elastic::detail::next_step(entry.view);
    CHECK(step.what == entry.what);
    CHECK_FALSE(step.reason.empty());
  }
}

}  // namespace agent_step_tests
