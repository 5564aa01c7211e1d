// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/local_agent.hpp>
#include <elastic/base/as_error_code.hpp>
#include <elastic/launch/job.hpp>
#include <elastic/rendezvous/rendezvous_registry.hpp>
#include <elastic/roles/replica_set.hpp>
#include <elastic/roles/role_group.hpp>
#include <elastic/telemetry/worker_progress.hpp>
#include <support/asio.hpp>
#include <support/catch.hpp>
#include <support/leftovers.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace wrong_uses {

using elastic::run_result;
using elastic::task;
using elastic::worker_state;
using words = std::vector<std::string>;

/// The objects that run workers.
enum class kind { job, agent, replicas, roles };

constexpr const char* name_of(kind what) {
  switch (what) {
    case kind::job: return "job";
    case kind::agent: return "local_agent";
    case kind::replicas: return "replica_set";
    case kind::roles: return "role_group";
  }
  return "";
}

/// The completion tokens by which tests start runs.
enum class token { function, error_code, deferred };

constexpr const char* name_of(token how) {
  switch (how) {
    case token::function: return "a function";
    case token::error_code: return "as_error_code";
    case token::deferred: return "deferred";
  }
  return "";
}

/// The token of the section that runs.
inline token current_token = token::function;

/// How a run ended, as its handler was told.
struct outcome {
  int calls = 0;
  std::exception_ptr failure;
  worker_state state = worker_state::init;

  /// Takes the place of a handler.
  void take(std::exception_ptr thrown, worker_state ended) {
    ++calls;
    failure = std::move(thrown);
    state = ended;
  }
  bool is_once(worker_state expected) const { return calls == 1 && !failure && state == expected; }
  std::error_code code() const {
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const std::system_error& thrown) {
      return thrown.code();
    }
    return {};
  }
};

/// One of the objects, by what all of them can do.
class runner {
 public:
  using handler = std::function<void(std::exception_ptr, worker_state)>;

  virtual ~runner() = default;
  /// `async_run` with a handler that has this slot and this executor.
  virtual void start(asio::any_io_executor executor, asio::cancellation_slot slot,
                     asio::any_io_executor handlers, handler on_end) = 0;
  /// `run`. The task is made within this call.
  virtual task<worker_state> run() = 0;
  virtual void stop(elastic::stop_request request) = 0;
};

template <class Result>
task<worker_state> state_of(task<Result> running) {
  const Result result = co_await std::move(running);
  co_return result.state;
}

template <class Object>
class runner_of final : public runner {
 public:
  template <class... Arguments>
  explicit runner_of(Arguments&&... arguments) : object_(std::forward<Arguments>(arguments)...) {}

  void start(asio::any_io_executor executor, asio::cancellation_slot slot,
             asio::any_io_executor handlers, handler on_end) override {
    const auto bound = [&](auto take) {
      return asio::bind_executor(handlers, asio::bind_cancellation_slot(slot, std::move(take)));
    };
    auto take = [on_end](std::exception_ptr failure, const auto& result) {
      on_end(std::move(failure), result.state);
    };
    switch (current_token) {
      case token::function: run(std::move(executor), bound(std::move(take))); return;
      case token::deferred: {
        auto operation = run(std::move(executor), elastic::test::deferred);
        std::move(operation)(bound(std::move(take)));
        return;
      }
      case token::error_code: break;
    }
    auto take_code = [on_end](std::error_code code, const auto& result) {
      on_end(code ? std::make_exception_ptr(std::system_error(code)) : nullptr, result.state);
    };
    run(std::move(executor), elastic::as_error_code(bound(std::move(take_code))));
  }
  task<worker_state> run() override { return state_of(object_.run()); }
  void stop(elastic::stop_request request) override { object_.stop(std::move(request)); }

 private:
  template <class Token>
  auto run(asio::any_io_executor executor, Token&& with) {
    constexpr bool has_executor =
        std::is_same_v<Object, elastic::job> || std::is_same_v<Object, elastic::role_group>;
    if constexpr (has_executor) {
      return object_.async_run(std::forward<Token>(with));
    } else {
      return object_.async_run(std::move(executor), std::forward<Token>(with));
    }
  }

  Object object_;
};

/// Calls somebody when the workers run.
struct starter final : elastic::agent_part {
  std::function<void()> on_start = [] {};
  int starts = 0;
  void started(const elastic::agent_part::started_workers&) override {
    ++starts;
    on_start();
  }
};

/// A program that runs puppets, each of which does `acts`. In the end none of them may be left.
class host {
 public:
  explicit host(words acts = {"hang"}) {
    elastic::worker_spec& workers = config.workers;
    workers.program = ELASTIC_PUPPET;
    workers.arguments = std::move(acts);
    workers.nproc_per_node = 2;
    workers.environment["OMP_NUM_THREADS"] = "1";
    workers.environment[remains_.name] = remains_.value;
    workers.shutdown_timeout = std::chrono::hours(1);
    workers.log_dir = "/dev/null";
    config.standalone = true;
    add_part(services, "observer", observer);
  }
  host(const host&) = delete;
  host& operator=(const host&) = delete;
  ~host() {
    context.reset();
    CHECK(remains_.processes_become(0));
  }

  elastic::launch_config config;
  std::shared_ptr<starter> observer = std::make_shared<starter>();
  elastic::agent_services services;
  std::optional<asio::io_context> context{std::in_place};
  asio::cancellation_signal cancel;
  outcome ended;

  asio::any_io_executor executor() { return context->get_executor(); }

  std::unique_ptr<runner> make(kind what) { return make(what, executor()); }

  std::unique_ptr<runner> make(kind what, asio::any_io_executor its_executor) {
    switch (what) {
      case kind::job:
        return std::make_unique<runner_of<elastic::job>>(its_executor, config, services);
      case kind::agent: {
        elastic::local_agent::options options;
        options.workers = config.workers;
        options.services = services;
        elastic::rendezvous_parameters meeting;
        meeting.backend = "c10d";
        meeting.endpoint = "localhost:0";
        meeting.run_id = "wrong";
        options.rendezvous = elastic::rendezvous_registry().make(meeting);
        return std::make_unique<runner_of<elastic::local_agent>>(options);
      }
      case kind::replicas:
        return std::make_unique<runner_of<elastic::replica_set>>(config, services);
      case kind::roles: break;
    }
    elastic::role_group::options options;
    options.log_dir = "/dev/null";
    elastic::role& only = options.roles.emplace_back();
    only.name = "only";
    only.config = config;
    only.config.workers.log_dir.clear();
    return std::make_unique<runner_of<elastic::role_group>>(its_executor, options, services);
  }

  /// Starts a run whose end is noted in `ended`.
  void start(runner& object) { start(object, executor()); }

  void start(runner& object, asio::any_io_executor handlers) {
    object.start(executor(), cancel.slot(), std::move(handlers),
                 [this](std::exception_ptr failure, worker_state state) {
                   ended.take(std::move(failure), state);
                 });
  }

  /// Does it in the context when the workers have been started, once.
  void when_workers_run(std::function<void()> act) {
    observer->on_start = [this, act = std::move(act)]() mutable {
      if (act) asio::post(*context, std::exchange(act, nullptr));
    };
  }

  void run() {
    context->restart();
    context->run();
  }

  /// Runs what can run without waiting.
  void poll() {
    context->restart();
    context->poll();
  }

 private:
  elastic::test::leftovers remains_;
};

/// An object and a token that starts its run.
struct start_way {
  kind object;
  token how;
};

/// Takes the token for the section that begins.
inline std::string begin_section(const start_way& way) {
  current_token = way.how;
  return std::string(name_of(way.object)) + " by " + name_of(way.how);
}

/// Every kind in turn, and both other tokens, each in a section of its name. All kinds start their
/// runs by the same template.
#define FOR_EACH_KIND(what)                                                                \
  const start_way what##_way = GENERATE(                                                   \
      start_way{kind::job, token::function}, start_way{kind::agent, token::function},      \
      start_way{kind::replicas, token::function}, start_way{kind::roles, token::function}, \
      start_way{kind::job, token::error_code}, start_way{kind::agent, token::deferred});   \
  const kind what = what##_way.object;                                                     \
  DYNAMIC_SECTION(begin_section(what##_way))

}  // namespace wrong_uses
