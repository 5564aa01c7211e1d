// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#include <program/output/merged_output.hpp>

#include <elastic/agent/detail/workers/default_logs_specs.hpp>
#include <elastic/agent/log_layout.hpp>
#include <elastic/agent/logs_specs.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/scope.hpp>
#include <program/limits.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/manual_time.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace merged_output_tests {

using namespace std::chrono_literals;
using elastic::logs_specs;
using elastic::output_plan;
using elastic::task;
using elastic::time_source;
using how = elastic::output_plan::how;

struct recorder final : elastic::output_sink {
  task<void> write(std::string_view bytes) override {
    text += bytes;
    co_return;
  }
  std::string text;
};

/// The output of three workers of the role "trn", of which the last shows nothing.
class output_stage {
 public:
  output_stage(const asio::any_io_executor& strand, time_source& time)
      : output_(strand, "trn", std::shared_ptr<time_source>(&time, [](auto*) {}), fill()) {
    spec_.program = "/usr/bin/trainer";
    spec_.role = "trn";
    spec_.nproc_per_node = 3;
    spec_.logs.local_ranks_filter = {0, 1};
    std::vector<elastic::worker_identity> workers(3);
    for (int place = 0; place < 3; ++place) workers[place].local_rank = place;
    elastic::log_layout layout("", "job");
    layout.start_attempt(0, 3);
    plans = services_.logs->plan({spec_, workers, layout, "node7"});
    layout.discard();
  }

  /// A worker writes to stdout, as it comes out of its pipe: with its prefix before each line.
  task<void> write(int local_rank, std::string text) {
    const std::string prefix = plans[local_rank].out.prefix.text(42, {});
    std::string lines;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
      lines += prefix + text.substr(begin, end - begin);
      begin = end;
    }
    co_await services_.console_out->write(lines);
  }

  /// The later piece of a line that came in pieces.
  task<void> write_piece(std::string text) { co_await services_.console_out->write(text); }

  /// Until `work` has ended.
  task<void> run(task<void> work) {
    task<void> showing = elastic::with_cleanup(output_.run(), output_.finish());
    co_await elastic::race(std::move(work), std::move(showing));
  }

  const std::string& shown() const { return out_->text; }

  std::vector<logs_specs::worker_output> plans;

 private:
  elastic::agent_services& fill() {
    services_.logs = std::make_shared<elastic::detail::default_logs_specs>();
    services_.console_out = out_;
    services_.console_err = std::make_shared<recorder>();
    return services_;
  }

  elastic::worker_spec spec_;
  std::shared_ptr<recorder> out_ = std::make_shared<recorder>();
  elastic::agent_services services_;
  elasticrun::merged_output output_;
};

TIME_TEST("merged output: everything that is shown passes through it, and nothing else",
          "[program]") {
  output_stage stage(co_await asio::this_coro::executor, time);
  for (int local_rank = 0; local_rank < 2; ++local_rank) {
    CHECK(stage.plans[local_rank].out.kind == how::copy);
    CHECK(stage.plans[local_rank].err.kind == how::copy);
    CHECK_FALSE(stage.plans[local_rank].out.prefix.empty());
  }
  CHECK(stage.plans[2].out.kind == how::null);
  CHECK_FALSE(stage.plans[2].err.console);
  CHECK(stage.plans[2].err.prefix.empty());
}

task<void> write_line_by_line(output_stage& stage, time_source& time) {
  const elastic::time_point start = time.now();
  task<void> first = stage.write(0, "epoch 1\nloss 0.5\n");
  co_await std::move(first);
  CHECK(stage.shown().empty());
  task<void> second = stage.write(1, "epoch 1\n");
  co_await std::move(second);
  CHECK(stage.shown() == "[trn0,1]:epoch 1\n");
  co_await time.sleep_until(start + 299ms);
  CHECK(stage.shown() == "[trn0,1]:epoch 1\n");
  co_await time.sleep_until(start + 301ms);
  CHECK(stage.shown() == "[trn0,1]:epoch 1\n[trn0]:loss 0.5\n");
}

TIME_TEST("merged output: a line appears when all workers have written it, or after a while",
          "[program]") {
  output_stage stage(co_await asio::this_coro::executor, time);
  task<void> work = write_line_by_line(stage, time);
  task<void> running = stage.run(std::move(work));
  co_await std::move(running);
}

task<void> write_and_end(output_stage& stage) {
  task<void> bar = stage.write(1, "50%\r");
  co_await std::move(bar);
  task<void> last = stage.write(1, "the last line\n");
  co_await std::move(last);
}

TIME_TEST("merged output: what waits at the end of the job is shown", "[program]") {
  output_stage stage(co_await asio::this_coro::executor, time);
  task<void> work = write_and_end(stage);
  task<void> running = stage.run(std::move(work));
  co_await std::move(running);
  CHECK(stage.shown() == "[trn1]:50%\r[trn1]:the last line\n");
}

task<void> write_much(output_stage& stage) {
  task<void> first = stage.write(0, "before\n");
  co_await std::move(first);
  const std::string much(elasticrun::limits::merged_write_bytes, 'x');
  task<void> piece = stage.write(1, "short\n" + much);
  co_await std::move(piece);
  task<void> end = stage.write_piece(" the end\n");
  co_await std::move(end);
  CHECK(stage.shown() == "[trn0]:before\n[trn1]:short\n[trn1]:" + much + " the end\n");
}

TIME_TEST("merged output: much at once is shown as it comes", "[program]") {
  output_stage stage(co_await asio::this_coro::executor, time);
  task<void> work = write_much(stage);
  task<void> running = stage.run(std::move(work));
  co_await std::move(running);
}

}  // namespace merged_output_tests
