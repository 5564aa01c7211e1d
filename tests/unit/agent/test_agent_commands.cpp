// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <elastic/agent/local_agent.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/event_flag.hpp>

#include <support/agent_stage.hpp>
#include <support/catch.hpp>
#include <support/channel_peer.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <csignal>
#include <exception>
#include <memory>
#include <optional>
#include <string>

namespace agent_commands_tests {

using namespace elastic;
using elastic::test::agent_stage;

/// A command in progress, and its outcome.
class sent_command {
 public:
  sent_command(agent_stage& stage, job_command::kind kind) {
    job_command command;
    command.what = kind;
    command.reason = "by a test";
    asio::co_spawn(stage.time.context(), stage.agent().carry_out(command),
                   [slot = outcome_](std::exception_ptr failure, job_command::outcome outcome) {
                     CHECK_FALSE(failure);
                     *slot = std::move(outcome);
                   });
  }

  /// "done: text" or "not done: text"; empty: nothing yet.
  std::string text() const {
    if (!*outcome_) return {};
    return ((*outcome_)->is_done ? "done: " : "not done: ") + (*outcome_)->text;
  }

 private:
  std::shared_ptr<std::optional<job_command::outcome>> outcome_ =
      std::make_shared<std::optional<job_command::outcome>>();
};

TIME_TEST("agent commands: drain stops the workers in order, once", "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  const sent_command first_command(stage, job_command::kind::drain);
  const sent_command second_command(stage, job_command::kind::drain);
  co_await stage.quiet();
  CHECK(first_command.text() == "done: this node leaves the job");
  CHECK(second_command.text() == "done: this node leaves the job already");
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::stopped);
  CHECK(stage.result().stop_signal == SIGTERM);
  CHECK(stage.result().reason == "drained by a test");
}

TIME_TEST("agent commands: a checkpoint needs workers that want to be asked", "[agent]") {
  agent_stage stage(time);
  const sent_command early_command(stage, job_command::kind::checkpoint);
  co_await stage.quiet();
  CHECK(early_command.text().empty());
  stage.start();
  co_await stage.quiet();
  CHECK(early_command.text() == "not done: no checkpoint: no workers run on this node now");
  const sent_command checkpoint_command(stage, job_command::kind::checkpoint);
  co_await stage.quiet();
  CHECK(checkpoint_command.text() == "not done: no worker accepts requests for a checkpoint");
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
  const sent_command late_command(stage, job_command::kind::checkpoint);
  co_await stage.quiet();
  CHECK(late_command.text() == "not done: not carried out: the workers, or the job, ended before");
}

TIME_TEST("agent commands: a checkpoint is refused while one is being saved", "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  const test::fake_process& worker = stage.worker(0);
  test::channel_peer peer(worker.variable("ELASTIC_CONTROL"), worker.local_rank(), true);
  co_await stage.quiet();
  const sent_command first_command(stage, job_command::kind::checkpoint);
  co_await stage.pass(std::chrono::seconds(1));
  const sent_command second_command(stage, job_command::kind::checkpoint);
  co_await stage.pass(std::chrono::milliseconds(1));
  CHECK(first_command.text().empty());
  CHECK(second_command.text() == "not done: no checkpoint: one is being saved already");
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
}

TIME_TEST("agent commands: a pause stops the workers, costs no restart, and ends by resume",
          "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  const sent_command early_command(stage, job_command::kind::resume);
  const sent_command pause_command(stage, job_command::kind::pause);
  co_await stage.quiet();
  CHECK(early_command.text() == "not done: not resumed: this node has not paused the job");
  const sent_command second_command(stage, job_command::kind::pause);
  co_await stage.quiet();
  CHECK(second_command.text().starts_with("done: the job is already paused at "));
  CHECK(pause_command.text() == "done: the job is paused: no worker of this node runs");
  CHECK(stage.log->has("stopping the workers: paused at "));
  CHECK(stage.log->has(": this uses up no restart"));
  CHECK_FALSE(stage.log->has("the membership changed"));
  const sent_command resume_command(stage, job_command::kind::resume);
  co_await stage.quiet();
  CHECK(resume_command.text() == "done: the job resumes: its nodes meet");
  stage.worker(2).exit(0);
  stage.worker(3).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
  CHECK(stage.result().restarts == 0);
  CHECK(stage.decisions().find("job_paused round_ended") != std::string::npos);
  CHECK(stage.decisions().find("rendezvous_started job_resumed round_joined") != std::string::npos);
}

TIME_TEST("agent commands: a paused job can be drained", "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  const sent_command pause_command(stage, job_command::kind::pause);
  co_await stage.quiet();
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.quiet();
  const sent_command drain_command(stage, job_command::kind::drain);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::stopped);
  CHECK(drain_command.text() == "done: this node leaves the job");
}

TIME_TEST(
    "agent commands: what is to be asked of workers that are being stopped is asked of nobody",
    "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.worker(0).on_signal = stage.worker(1).on_signal = test::fake_process::ignore_all();
  stage.rendezvous->change();
  co_await stage.quiet();
  const sent_command checkpoint_command(stage, job_command::kind::checkpoint);
  co_await stage.quiet();
  CHECK(checkpoint_command.text().empty());
  co_await stage.pass(std::chrono::minutes(1));
  CHECK(stage.launcher->started.size() == 4);
  CHECK(checkpoint_command.text() ==
        "not done: not carried out: the workers, or the job, ended before");
  stage.worker(2).exit(0);
  stage.worker(3).exit(0);
  co_await stage.end();
}

TIME_TEST("agent commands: a pause that crosses the end of the job has not paused it", "[agent]") {
  agent_stage stage(time);
  stage.rendezvous->on_round = [&stage](int) { stage.rendezvous->group_world_size = 1; };
  stage.rendezvous->is_pause_under_way = true;
  stage.start();
  co_await stage.quiet();
  // The other node has not ended yet.
  stage.rendezvous->group_world_size = 2;
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.quiet();
  const sent_command pause_command(stage, job_command::kind::pause);
  co_await stage.quiet();
  CHECK(pause_command.text().empty());
  stage.rendezvous->what = {elastic::rendezvous_change::cause::node_lost, "node b is gone"};
  const bool is_stopped = GENERATE(true, false);
  if (is_stopped) stage.agent().stop({});
  if (!is_stopped) stage.rendezvous->change();
  co_await stage.quiet();
  if (is_stopped) {
    CHECK(pause_command.text() ==
          "not done: not carried out: the workers, or the job, ended before");
    co_return;
  }
  CHECK(pause_command.text() == "done: the job is paused: no worker of this node runs");
  stage.worker(2).exit(0);
  stage.worker(3).exit(0);
  co_await stage.end();
}

TIME_TEST("agent commands: nodes that cannot pause say so, and go on", "[agent]") {
  agent_stage stage(time);
  stage.rendezvous->pause_failure =
      std::make_exception_ptr(error(errc::invalid_argument, "nobody pauses here"));
  stage.start();
  co_await stage.quiet();
  const sent_command pause_command(stage, job_command::kind::pause);
  co_await stage.quiet();
  CHECK(pause_command.text() == "not done: not paused: nobody pauses here");
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::succeeded);
}

TIME_TEST("agent commands: before a rendezvous is found there is nothing to pause", "[agent]") {
  for (const bool is_tried : {false, true}) {
    CAPTURE(is_tried);
    agent_stage stage(time);
    elastic::event_flag decided(time.context().get_executor());
    stage.choose = [&](auto& tried) -> elastic::task<std::shared_ptr<rendezvous_handler>> {
      if (is_tried) tried = stage.rendezvous;
      co_await decided.wait();
      co_return stage.rendezvous;
    };
    stage.start();
    co_await stage.quiet();
    const sent_command pause_command(stage, job_command::kind::pause);
    co_await stage.quiet();
    if (is_tried) {
      CHECK(pause_command.text() == "done: the job is paused: no worker of this node runs");
      CHECK_THAT(stage.story(), elastic::test::contains_text("pause: paused at "));
      const sent_command resume_command(stage, job_command::kind::resume);
      co_await stage.quiet();
      CHECK(resume_command.text() == "done: the job resumes: its nodes meet");
    } else {
      CHECK(pause_command.text() == "not done: not paused: this node was in no round yet");
    }
    decided.set();
    co_await stage.quiet();
    stage.worker(0).exit(0);
    stage.worker(1).exit(0);
    co_await stage.end();
    CHECK(stage.result().state == worker_state::succeeded);
  }
}

TIME_TEST("agent: its own stop counts, if another node that was told the same has closed the job",
          "[agent]") {
  agent_stage stage(time);
  stage.start();
  co_await stage.quiet();
  stage.rendezvous->break_down(
      std::make_exception_ptr(error(errc::rendezvous_closed, "the host has left")));
  stage.worker(0).exit(0);
  stage.worker(1).exit(0);
  co_await stage.quiet();
  stop_request request;
  request.reason = "SIGTERM received";
  stage.agent().stop(request);
  co_await stage.end();
  CHECK(stage.result().state == worker_state::stopped);
  CHECK(stage.result().reason == "SIGTERM received");
}

}  // namespace agent_commands_tests
