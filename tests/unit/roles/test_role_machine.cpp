// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

// How an event of one role affects the roles of a job. The stories document the policies; the
// exploration checks the invariants in every order of events.

#include <elastic/roles/detail/role_machine.hpp>

#include <elastic/base/detail/random.hpp>
#include <support/catch.hpp>
#include <support/simulation_seeds.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace role_machine_tests {

using role_condition = elastic::role::condition;
using role_policy = elastic::role::policy;
using role_state = elastic::role::state;
using elastic::worker_state;
using elastic::detail::role_end;
using elastic::detail::role_machine;
using elastic::detail::role_rule;
using elastic::detail::role_step;
using kind = role_end::kind;
using words = std::vector<std::string>;

role_rule rule(std::string name, role_policy on_failure = role_policy::fail_job) {
  role_rule made;
  made.name = std::move(name);
  made.on_failure = on_failure;
  return made;
}

role_rule after_ready(role_rule made, std::size_t role) {
  made.starts_after.push_back({role, role_condition::event::ready});
  return made;
}

role_rule after_success(role_rule made, std::size_t role) {
  made.starts_after.push_back({role, role_condition::event::success});
  return made;
}

role_rule with(role_rule made, std::size_t role) {
  made.stops_with = role;
  return made;
}

// ---- stories ------------------------------------------------------------------------------------

/// "start 0", "stop 1", "skip 2".
words texts(const std::vector<role_step>& steps) {
  words lines;
  for (const role_step& step : steps) {
    const char* what = step.what == role_step::action::start  ? "start"
                       : step.what == role_step::action::stop ? "stop"
                                                              : "skip";
    lines.push_back(fmt::format("{} {}", what, step.role));
    CHECK_FALSE(step.reason.empty());
  }
  return lines;
}

/// "ready 0", "succeeded 0", "failed 0", "hopeless 0", "stopped 0", "left 0", "broken 0", "stop".
std::vector<role_step> tell(role_machine& machine, const std::string& event) {
  if (event == "begin") return machine.begin();
  if (event == "stop") return machine.stop("SIGINT received");
  const std::size_t blank = event.find(' ');
  const std::string what = event.substr(0, blank);
  const auto role = static_cast<std::size_t>(std::stoi(event.substr(blank + 1)));
  if (what == "ready") return machine.ready(role);
  if (what == "succeeded") return machine.ended(role, {kind::succeeded, "all succeeded"});
  if (what == "stopped") return machine.ended(role, {kind::stopped, "drained"});
  if (what == "left") return machine.ended(role, {kind::left, "a bad GPU"});
  if (what == "broken") return machine.ended(role, {kind::broken, "no such program"});
  return machine.ended(role, {kind::failed, "rank 0 ended: exit code 1", what == "hopeless"});
}

struct chapter {
  std::string event;
  words steps;
};

struct story {
  const char* name;
  std::vector<role_rule> roles;
  int max_restarts;
  std::vector<chapter> chapters;
  worker_state end;
  /// Of the verdict: part of it.
  std::string reason;
  std::optional<std::size_t> decided_by;
};

const role_rule trainer = rule("trainer");
const role_rule rollout = with(rule("rollout", role_policy::restart_role), 0);

std::vector<story> stories() {
  return {
      {"every role without stops_with has to succeed",
       {trainer, rule("evaluator")},
       0,
       {{"begin", {"start 0", "start 1"}}, {"succeeded 0", {}}, {"succeeded 1", {}}},
       worker_state::succeeded,
       "roles 'trainer', 'evaluator' have succeeded",
       1},
      {"a role is stopped with the one that it stops with",
       {trainer, rollout},
       0,
       {{"begin", {"start 0", "start 1"}}, {"succeeded 0", {"stop 1"}}, {"stopped 1", {}}},
       worker_state::succeeded,
       "role 'trainer' has succeeded",
       0},
      {"how a role ends that is stopped does not count",
       {trainer, rollout},
       0,
       {{"begin", {"start 0", "start 1"}}, {"succeeded 0", {"stop 1"}}, {"failed 1", {}}},
       worker_state::succeeded,
       "role 'trainer' has succeeded",
       0},
      {"a role that stops with another may end before it",
       {trainer, rollout},
       0,
       {{"begin", {"start 0", "start 1"}}, {"succeeded 1", {}}, {"succeeded 0", {}}},
       worker_state::succeeded,
       "role 'trainer' has succeeded",
       0},
      {"what is left is stopped when the last role has succeeded that the job waits for",
       {trainer, rule("evaluator"), with(rule("rollout"), 1)},
       0,
       {{"begin", {"start 0", "start 1", "start 2"}},
        {"succeeded 1", {"stop 2"}},
        {"stopped 2", {}},
        {"succeeded 0", {}}},
       worker_state::succeeded,
       "roles 'trainer', 'evaluator' have succeeded",
       1},
      {"a role starts when another is ready, once",
       {trainer, after_ready(rule("rollout"), 0)},
       0,
       {{"begin", {"start 0"}},
        {"ready 0", {"start 1"}},
        {"ready 0", {}},
        {"succeeded 0", {}},
        {"succeeded 1", {}}},
       worker_state::succeeded,
       "have succeeded",
       1},
      {"success is readiness, too",
       {trainer, after_ready(rule("rollout"), 0)},
       0,
       {{"begin", {"start 0"}}, {"succeeded 0", {"start 1"}}, {"succeeded 1", {}}},
       worker_state::succeeded,
       "have succeeded",
       1},
      {"a role that starts after the success of another does not start when that is ready",
       {trainer, after_success(rule("evaluator"), 0)},
       0,
       {{"begin", {"start 0"}},
        {"ready 0", {}},
        {"succeeded 0", {"start 1"}},
        {"succeeded 1", {}}},
       worker_state::succeeded,
       "have succeeded",
       1},
      {"a role starts when all hold that it waits for",
       {rule("data"), rule("reward"), after_success(after_ready(rule("trainer"), 0), 1)},
       0,
       {{"begin", {"start 0", "start 1"}},
        {"succeeded 1", {}},
        {"ready 0", {"start 2"}},
        {"succeeded 2", {}},
        {"succeeded 0", {}}},
       worker_state::succeeded,
       "have succeeded",
       2},

      // Policies.
      {"fail-job: all are stopped",
       {trainer, rollout},
       0,
       {{"begin", {"start 0", "start 1"}}, {"failed 0", {"stop 1"}}, {"stopped 1", {}}},
       worker_state::failed,
       "role 'trainer' failed: rank 0 ended: exit code 1",
       0},
      {"restart-role: the role's agent has used up its restarts, so the job fails",
       {trainer, rollout},
       5,
       {{"begin", {"start 0", "start 1"}}, {"failed 1", {"stop 0"}}, {"stopped 0", {}}},
       worker_state::failed,
       "role 'rollout' failed",
       1},
      {"replace: the same",
       {rule("trainer", role_policy::replace), rollout},
       5,
       {{"begin", {"start 0", "start 1"}}, {"failed 0", {"stop 1"}}, {"stopped 1", {}}},
       worker_state::failed,
       "role 'trainer' failed",
       0},
      {"restart-worker: the replicas have used up the restarts of their role",
       {trainer, with(rule("rollout", role_policy::restart_worker), 0)},
       5,
       {{"begin", {"start 0", "start 1"}}, {"failed 1", {"stop 0"}}, {"stopped 0", {}}},
       worker_state::failed,
       "role 'rollout' failed",
       1},
      {"restart-job: all start again, also those that have succeeded",
       {rule("trainer", role_policy::restart_job), rule("data"),
        after_success(rule("evaluator"), 1)},
       1,
       {{"begin", {"start 0", "start 1"}},
        {"succeeded 1", {"start 2"}},
        {"failed 0", {"stop 2"}},
        {"stopped 2", {"start 0", "start 1"}},
        {"succeeded 0", {}},
        {"succeeded 1", {"start 2"}},
        {"succeeded 2", {}}},
       worker_state::succeeded,
       "have succeeded",
       2},
      {"restart-job: what fails while all are stopped is a part of it",
       {rule("trainer", role_policy::restart_job), rule("data", role_policy::restart_job)},
       1,
       {{"begin", {"start 0", "start 1"}},
        {"failed 0", {"stop 1"}},
        {"failed 1", {"start 0", "start 1"}},
        {"succeeded 0", {}},
        {"succeeded 1", {}}},
       worker_state::succeeded,
       "have succeeded",
       1},
      {"restart-job: until the restarts of the job are used up",
       {rule("trainer", role_policy::restart_job)},
       1,
       {{"begin", {"start 0"}}, {"failed 0", {"start 0"}}, {"failed 0", {}}},
       worker_state::failed,
       "the only restart of the job has been used",
       0},
      {"restart-job: not where a new start would end in the same way",
       {rule("trainer", role_policy::restart_job)},
       1,
       {{"begin", {"start 0"}}, {"hopeless 0", {}}},
       worker_state::failed,
       "role 'trainer' failed",
       0},
      {"ignore: the others go on",
       {trainer, rule("evaluator", role_policy::ignore)},
       0,
       {{"begin", {"start 0", "start 1"}}, {"failed 1", {}}, {"succeeded 0", {}}},
       worker_state::succeeded,
       "role 'trainer' has succeeded",
       0},
      {"ignore: what stops with the role stops",
       {trainer, rule("evaluator", role_policy::ignore), with(rule("viewer"), 1)},
       0,
       {{"begin", {"start 0", "start 1", "start 2"}},
        {"failed 1", {"stop 2"}},
        {"stopped 2", {}},
        {"succeeded 0", {}}},
       worker_state::succeeded,
       "role 'trainer' has succeeded",
       0},
      {"ignore: a job in which no role has succeeded has not, either",
       {rule("evaluator", role_policy::ignore)},
       0,
       {{"begin", {"start 0"}}, {"failed 0", {}}},
       worker_state::failed,
       "no role has succeeded",
       std::nullopt},

      // Roles that can never start.
      {"a role that the job needs waits in vain: the job fails",
       {rule("data", role_policy::ignore), after_success(rule("trainer"), 0)},
       0,
       {{"begin", {"start 0"}}, {"failed 0", {}}},
       worker_state::failed,
       "role 'trainer' can never start: role 'data' has failed",
       1},
      {"a role that stops with another waits in vain: it is left out",
       {trainer, rule("data", role_policy::ignore), with(after_ready(rule("viewer"), 1), 0)},
       0,
       {{"begin", {"start 0", "start 1"}}, {"failed 1", {"skip 2"}}, {"succeeded 0", {}}},
       worker_state::succeeded,
       "role 'trainer' has succeeded",
       0},
      {"a role is stopped before it has started",
       {trainer, rule("data"), with(after_ready(rule("viewer"), 1), 0)},
       0,
       {{"begin", {"start 0", "start 1"}}, {"succeeded 0", {"skip 2"}}, {"succeeded 1", {}}},
       worker_state::succeeded,
       "have succeeded",
       1},

      // From outside.
      {"a stop ends all roles, and those that wait do not start",
       {trainer, rollout, after_success(rule("evaluator"), 0)},
       0,
       {{"begin", {"start 0", "start 1"}},
        {"stop", {"stop 0", "stop 1"}},
        {"succeeded 0", {}},
        {"stopped 1", {}}},
       worker_state::stopped,
       "SIGINT received",
       std::nullopt},
      {"a stop before the begin: nothing starts",
       {trainer},
       0,
       {{"stop", {}}, {"begin", {}}},
       worker_state::stopped,
       "SIGINT received",
       std::nullopt},
      {"a stop while all are stopped so as to start again",
       {rule("trainer", role_policy::restart_job), rollout},
       1,
       {{"begin", {"start 0", "start 1"}},
        {"failed 0", {"stop 1"}},
        {"stop", {}},
        {"stopped 1", {}}},
       worker_state::stopped,
       "SIGINT received",
       std::nullopt},
      {"the first reason is the one that counts",
       {trainer, rollout},
       0,
       {{"begin", {"start 0", "start 1"}},
        {"failed 0", {"stop 1"}},
        {"stop", {}},
        {"failed 1", {}}},
       worker_state::failed,
       "role 'trainer' failed",
       0},
      {"somebody stopped one role: the job stops",
       {trainer, rollout},
       0,
       {{"begin", {"start 0", "start 1"}}, {"stopped 1", {"stop 0"}}, {"stopped 0", {}}},
       worker_state::stopped,
       "role 'rollout' was stopped: drained",
       1},
      {"a node that a role has left is left by all, whatever its policy",
       {trainer, with(rule("rollout", role_policy::ignore), 0)},
       0,
       {{"begin", {"start 0", "start 1"}}, {"left 1", {"stop 0"}}, {"stopped 0", {}}},
       worker_state::failed,
       "role 'rollout' left on this node: a bad GPU",
       1},
      {"a role that cannot do its work ends the job, whatever its policy",
       {trainer, with(rule("rollout", role_policy::ignore), 0)},
       0,
       {{"begin", {"start 0", "start 1"}}, {"broken 1", {"stop 0"}}, {"stopped 0", {}}},
       worker_state::failed,
       "role 'rollout': no such program",
       1},
  };
}

TEST_CASE("role machine: what happened in a role leads to steps for the roles", "[roles]") {
  for (const story& told : stories()) {
    CAPTURE(told.name);
    role_machine machine(told.roles, told.max_restarts);
    for (const chapter& each : told.chapters) {
      CAPTURE(each.event);
      CHECK(texts(tell(machine, each.event)) == each.steps);
    }
    CHECK(machine.is_over());
    REQUIRE(machine.verdict());
    CHECK(machine.verdict()->state == told.end);
    CHECK(machine.verdict()->role == told.decided_by);
    CHECK_THAT(machine.verdict()->reason, elastic::test::contains_text(told.reason));
  }
}

TEST_CASE("role machine: it tells why each role is in its state", "[roles]") {
  role_machine machine({trainer, rollout}, 0);
  tell(machine, "begin");
  CHECK(machine.state(1) == role_state::running);
  tell(machine, "succeeded 0");
  CHECK(machine.state(0) == role_state::succeeded);
  CHECK(machine.state(1) == role_state::stopping);
  CHECK_FALSE(machine.is_over());
  tell(machine, "failed 1");
  CHECK(machine.state(1) == role_state::stopped);
  CHECK(machine.reason(1) == "role 'trainer' has succeeded");
}

TEST_CASE("role machine: a stop is planned if it follows a success", "[roles]") {
  struct row {
    role_rule leader;
    std::string event;
    bool is_planned;
  };
  const role_rule bystander = rule("bystander", role_policy::ignore);
  for (const auto& [leader, event, is_planned] :
       {row{trainer, "succeeded 0", true}, row{trainer, "failed 0", false},
        row{trainer, "stop", false}, row{bystander, "failed 0", false}}) {
    CAPTURE(event);
    role_machine machine({leader, rollout}, 0);
    tell(machine, "begin");
    const std::vector<role_step> steps = tell(machine, event);
    REQUIRE_FALSE(steps.empty());
    CHECK(steps.back().role == 1);
    CHECK(steps.back().what == role_step::action::stop);
    CHECK(steps.back().is_planned == is_planned);
  }
}

TEST_CASE("role machine: that a new start would be in vain is known of the job", "[roles]") {
  role_machine machine({trainer}, 0);
  tell(machine, "begin");
  tell(machine, "hopeless 0");
  CHECK(machine.verdict()->is_hopeless);
}

// ---- exploration --------------------------------------------------------------------------------

/// Roles of a kind that people have, or worse.
std::vector<role_rule> graph(std::size_t number) {
  switch (number) {
    case 0: return {rule("a"), rule("b")};
    case 1: return {rule("a"), with(rule("b"), 0), with(rule("c"), 0)};
    case 2: return {rule("a"), after_ready(rule("b"), 0), after_success(rule("c"), 1)};
    case 3:
      return {after_ready(rule("a"), 1), with(rule("b"), 0), with(after_ready(rule("c"), 1), 0)};
    case 4: return {rule("a"), with(after_success(rule("b"), 0), 2), after_ready(rule("c"), 0)};
    default:
      return {rule("a"), with(rule("b"), 0), with(after_ready(rule("c"), 1), 1),
              after_success(after_ready(rule("d"), 0), 1)};
  }
}
constexpr std::size_t graphs = 6;

/// What a job of roles promises, in whatever order things happen:
///
/// - It ends, and nothing starts after its end is decided.
/// - A role that starts was not running, and everything has happened that it starts after.
/// - Only a role that runs is stopped, and once.
/// - All roles start again no more often than is allowed.
/// - When nothing runs and nobody stopped it, the job is over: nobody waits for ever.
/// - It succeeds only if each role that it needs has succeeded, or may fail.
class exploration {
 public:
  explicit exploration(std::uint64_t seed)
      : random_(seed), roles_(graph(random_.below(graphs))), max_restarts_(chosen_restarts()) {
    constexpr role_policy policies[] = {role_policy::fail_job, role_policy::restart_role,
                                        role_policy::replace, role_policy::restart_job,
                                        role_policy::ignore};
    for (role_rule& each : roles_) each.on_failure = policies[random_.below(5)];
    lives_.resize(roles_.size());
  }

  void run() {
    role_machine machine(roles_, max_restarts_);
    follow(machine, machine.begin());
    for (int turn = 0; !machine.is_over(); ++turn) {
      REQUIRE(turn < 1000);
      act(machine);
    }
    const auto& verdict = machine.verdict();
    CHECK(machine.restarts() <= max_restarts_);
    for (std::size_t role = 0; role < roles_.size(); ++role) {
      CHECK_FALSE(lives_[role].runs);
      const bool may_fail = roles_[role].on_failure == role_policy::ignore;
      if (verdict->state != worker_state::succeeded || roles_[role].stops_with) continue;
      CHECK((lives_[role].succeeded || may_fail));
    }
    CHECK(machine.begin().empty());
    CHECK(machine.stop("too late").empty());
  }

 private:
  struct life {
    bool runs = false;
    bool stops = false;
    bool ready = false;
    bool succeeded = false;
  };

  int chosen_restarts() { return static_cast<int>(random_.below(3)); }

  /// Something happens to a role that runs.
  void act(role_machine& machine) {
    std::vector<std::size_t> running;
    for (std::size_t role = 0; role < roles_.size(); ++role) {
      if (lives_[role].runs) running.push_back(role);
    }
    REQUIRE_FALSE(running.empty());
    if (random_.below(40) == 0) return follow(machine, machine.stop("enough"));
    const std::size_t role = running[random_.below(running.size())];
    life& self = lives_[role];
    const std::uint64_t what = random_.below(10);
    if (what < 4) {
      // It may say so while it is being stopped, which is too late.
      if (!self.stops) self.ready = true;
      return follow(machine, machine.ready(role));
    }
    self.runs = false;
    role_end end{kind::failed, "something", false};
    if (self.stops) {
      constexpr kind ends[] = {kind::succeeded, kind::failed, kind::stopped, kind::broken};
      end.how = ends[random_.below(4)];
    } else if (what < 7) {
      end.how = kind::succeeded;
    } else if (random_.below(10) == 0) {
      constexpr kind ends[] = {kind::stopped, kind::left, kind::broken};
      end.how = ends[random_.below(3)];
    } else {
      end.is_hopeless = random_.below(10) == 0;
    }
    self.succeeded = end.how == kind::succeeded;
    const bool was_decided = machine.verdict().has_value();
    const std::string before = was_decided ? machine.verdict()->reason : "";
    follow(machine, machine.ended(role, end));
    if (was_decided) CHECK(machine.verdict()->reason == before);
  }

  void follow(const role_machine& machine, const std::vector<role_step>& steps) {
    // A restart of the job begins when nothing of the last run is left.
    if (machine.restarts() > restarts_ &&
        std::any_of(steps.begin(), steps.end(), [](const role_step& step) {
          return step.what == role_step::action::start;
        })) {
      restarts_ = machine.restarts();
      for (life& each : lives_) {
        CHECK_FALSE(each.runs);
        each = {};
      }
    }
    for (const role_step& step : steps) {
      CAPTURE(step.role, step.reason);
      life& self = lives_[step.role];
      switch (step.what) {
        case role_step::action::start:
          CHECK_FALSE(machine.verdict());
          CHECK_FALSE(self.runs);
          CHECK(may_start(roles_[step.role]));
          self = {};
          self.runs = true;
          break;
        case role_step::action::stop:
          CHECK(self.runs);
          CHECK_FALSE(self.stops);
          self.stops = true;
          break;
        case role_step::action::skip: CHECK_FALSE(self.runs);
      }
    }
  }

  bool may_start(const role_rule& of) const {
    return std::all_of(of.starts_after.begin(), of.starts_after.end(), [this](const auto& each) {
      const life& other = lives_[each.role];
      return other.succeeded || (each.what == role_condition::event::ready && other.ready);
    });
  }

  elastic::detail::random_source random_;
  std::vector<role_rule> roles_;
  int max_restarts_;
  int restarts_ = 0;
  std::vector<life> lives_;
};

TEST_CASE("role machine: a job ends in order, whatever happens in which order", "[roles]") {
  const std::uint64_t first = elastic::test::number_from("ELASTIC_SIMULATION_FIRST", 1);
  const std::uint64_t seeds = 10 * elastic::test::number_from("ELASTIC_SIMULATION_SEEDS", 200);
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    CAPTURE(seed);
    exploration(seed).run();
  }
}

}  // namespace role_machine_tests
