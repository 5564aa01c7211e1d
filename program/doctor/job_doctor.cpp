// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/doctor/job_doctor.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/scope.hpp>
#include <elastic/cli/command_line.hpp>
#include <elastic/net/detail/local_interface.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/net/host_name.hpp>
#include <elastic/net/local_address.hpp>
#include <elastic/rendezvous/detail/gather.hpp>
#include <elastic/rendezvous/detail/reachable_address.hpp>
#include <program/backends.hpp>
#include <program/doctor/host_facts.hpp>
#include <program/doctor/link_probe.hpp>
#include <program/limits.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elasticrun {

using elastic::errc;
using elastic::error;
using texts = std::vector<std::string>;

namespace {

/// The time, in seconds, for which the nodes wait for those that have not joined.
constexpr double usual_wait = 60;
constexpr double longest_wait = 86'400;

/// The options of elasticrun that determine where nodes meet.
constexpr std::array meeting_options{
    "--nnodes",     "--rdzv-backend", "--rdzv-endpoint", "--rdzv-id",    "--rdzv-conf",
    "--local-addr", "--node-name",    "--node-rank",     "--master-addr", "--master-port"};

bool is_meeting_option(const std::string& name) {
  return std::find(meeting_options.begin(), meeting_options.end(), name) != meeting_options.end();
}

/// Removes variables for jobs, such as PET_NPROC_PER_NODE=gpu, which may be invalid here.
elastic::environment_map without_other_options(elastic::environment_map environment) {
  std::erase_if(environment, [](const auto& variable) {
    std::string name = variable.first;
    if (!name.starts_with("PET_")) return false;
    // PET_RDZV_ID becomes --rdzv-id.
    name.erase(0, std::string_view("PET").size());
    std::transform(name.begin(), name.end(), name.begin(), [](char letter) {
      return letter == '_' ? '-' : static_cast<char>(std::tolower(letter));
    });
    return !is_meeting_option('-' + name);
  });
  return environment;
}

double wait_of(const std::string& text) {
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, seconds);
  const bool is_number = failure == std::errc() && stop == end;
  if (is_number && seconds > 0 && seconds <= longest_wait) return seconds;
  throw error(errc::invalid_argument,
              fmt::format("--within {}: a number of seconds above 0 and up to {} is needed",
                          elastic::in_quotes(text), longest_wait));
}

/// The arguments of the command, sorted by their purpose.
struct doctor_words {
  bool as_json = false;
  std::optional<double> wait;
  bool has_backend = false;
  /// Arguments for the command line of a job.
  texts meeting;
};

doctor_words sort_words(const texts& arguments) {
  doctor_words sorted;
  for (std::size_t index = 0; index < arguments.size(); ++index) {
    const std::size_t equals = arguments[index].find('=');
    std::string name = arguments[index].substr(0, equals);
    std::replace(name.begin() + std::min<std::ptrdiff_t>(2, std::ssize(name)), name.end(), '_',
                 '-');
    if (name == "--json" && equals == std::string::npos) {
      sorted.as_json = true;
      continue;
    }
    if (name != "--within" && !is_meeting_option(name)) {
      throw error(errc::invalid_argument,
                  fmt::format("doctor takes --json, --within SECONDS and the options that say "
                              "where nodes meet, such as --nnodes and --rdzv-endpoint, not {}",
                              elastic::in_quotes(arguments[index])));
    }
    if (equals == std::string::npos && index + 1 == arguments.size()) {
      throw error(errc::invalid_argument, fmt::format("{} needs a value", name));
    }
    const std::string value =
        equals == std::string::npos ? arguments[++index] : arguments[index].substr(equals + 1);
    if (name == "--within") {
      sorted.wait = wait_of(value);
      continue;
    }
    sorted.has_backend = sorted.has_backend || name == "--rdzv-backend";
    sorted.meeting.push_back(fmt::format("{}={}", name, value));
  }
  return sorted;
}

elastic::duration duration_of(double seconds) {
  return std::chrono::duration_cast<elastic::duration>(std::chrono::duration<double>(seconds));
}

/// Makes a node that stops after it has joined count as lost after about the wait, if nothing else
/// was chosen. A node on a busy host must not count as stopped.
void shorten_keep_alive(elastic::rendezvous_parameters& meeting, double wait) {
  const elastic::duration usual = elastic::rendezvous_settings().keep_alive_interval;
  constexpr std::chrono::seconds shortest(1);
  if (meeting.keep_alive_interval != usual) return;
  meeting.keep_alive_interval = std::clamp<elastic::duration>(
      duration_of(wait) / meeting.keep_alive_max_attempt, shortest, usual);
}

/// The rendezvous of the doctor's nodes. It has a separate run id, so that they never meet the
/// nodes of a job.
elastic::rendezvous_parameters meeting_of(const elastic::launch_config& config, double wait) {
  elastic::rendezvous_parameters meeting = config.rendezvous;
  if (meeting.backend == "static" && meeting.endpoint.empty()) {
    meeting.endpoint = to_text(elastic::endpoint(config.master_addr, config.master_port));
  }
  meeting.run_id = "doctor-" + meeting.run_id;
  meeting.local_addr = elastic::detail::local_address_named(meeting.local_addr);
  const auto secret = elastic::find_variable(config.workers.environment, "ELASTIC_JOB_SECRET_FILE");
  if (secret && !secret->empty()) meeting.conf.emplace("secret_file", *secret);
  // After the wait, the nodes continue without those that are missing.
  if (meeting.backend != "static") meeting.min_nodes = 1;
  meeting.node_counts.clear();
  meeting.scale_up_delay = elastic::duration::zero();
  meeting.exclude_for = elastic::duration::zero();
  meeting.last_call_timeout = duration_of(wait);
  meeting.join_timeout = duration_of(wait + 1);
  shorten_keep_alive(meeting, wait);
  return meeting;
}

}  // namespace

std::variant<doctor_query, elastic::early_exit> parse_doctor_command(
    const texts& arguments, const elastic::environment_map& environment) {
  try {
    doctor_words sorted = sort_words(arguments);
    doctor_query query;
    query.as_json = sorted.as_json;
    query.environment = environment;
    if (sorted.meeting.empty()) {
      if (!sorted.wait) return query;
      throw error(errc::invalid_argument, "--within is for several nodes: --nnodes is missing");
    }
    const bool names_backend = elastic::find_variable(environment, "PET_RDZV_BACKEND").has_value();
    const bool is_static = std::any_of(
        sorted.meeting.begin(), sorted.meeting.end(), [](const std::string& option) {
          return option.starts_with("--node-rank") || option.starts_with("--master-");
        });
    if (!sorted.has_backend && !names_backend && !is_static) {
      sorted.meeting.push_back("--rdzv-backend=c10d");
    }
    sorted.meeting.insert(sorted.meeting.end(), {"--no-python", "doctor"});
    elastic::command_line::facts facts;
    facts.environment = without_other_options(environment);
    auto parsed = elastic::parse_command_line(sorted.meeting, facts);
    if (auto* exit = std::get_if<elastic::early_exit>(&parsed)) return *std::move(exit);
    const elastic::launch_config& config = std::get<elastic::command_line>(parsed).config.job;
    if (config.standalone || config.rendezvous.max_nodes == 1) {
      throw error(errc::invalid_argument,
                  "doctor of several nodes needs --nnodes with the number of nodes");
    }
    query.asks_nodes = true;
    query.meeting = meeting_of(config, sorted.wait.value_or(usual_wait));
    return query;
  } catch (const error& refusal) {
    return elastic::refuse(refusal.what());
  }
}

// ---- the nodes ----------------------------------------------------------------------------------

job_doctor::job_doctor(doctor_query query)
    : query_(std::move(query)), time_(std::make_shared<elastic::system_time>()) {}

elastic::task<job_view> job_doctor::run() {
  elastic::task<host_facts> gathering = gather_host_facts(query_.environment);
  const host_facts facts = co_await std::move(gathering);
  const std::string& name = query_.meeting.node_name;
  mine_ = report_of(facts, name.empty() ? elastic::host_name() : name);
  factory_ = every_backend()->make(query_.meeting);
  elastic::task<void> working = meet_and_examine();
  elastic::task<void> leaving = leave();
  co_await elastic::with_cleanup(std::move(working), std::move(leaving));
  co_return view_;
}

elastic::task<void> job_doctor::meet_and_examine() {
  const elastic::time_point begin = time_->now();
  elastic::task<void> meeting = meet();
  co_await std::move(meeting);
  has_met_ = true;
  view_.expected = query_.meeting.max_nodes;
  view_.waited = std::chrono::duration<double>(time_->now() - begin).count();
  elastic::task<void> examining = examine_nodes();
  elastic::task<void> watching = watch();
  co_await elastic::race(std::move(examining), std::move(watching));
  is_complete_ = true;
  elastic::task<void> awaiting = await_others();
  co_await std::move(awaiting);
}

elastic::task<void> job_doctor::meet() {
  try {
    elastic::task<std::shared_ptr<elastic::rendezvous_handler>> making = factory_.make(tried_);
    handler_ = co_await std::move(making);
    elastic::task<elastic::rendezvous_round> meeting = handler_->next_round();
    round_ = co_await std::move(meeting);
  } catch (const error& failure) {
    const bool is_alone =
        failure.code() == errc::connection_failed || failure.code() == errc::rendezvous_timeout;
    if (!is_alone) throw;
    const bool has_host = query_.meeting.backend == "c10d" || query_.meeting.backend == "static";
    const char* const question =
        has_host ? "does the node with the endpoint run elasticrun doctor, and is its port open?"
                 : "do the other nodes run elasticrun doctor with the same endpoint and run id?";
    throw error(static_cast<errc>(failure.code().value()),
                fmt::format("{}: {}", failure.what(), question));
  }
}

/// Watches the round. It ends only with an error, when a node is lost.
elastic::task<void> job_doctor::watch() {
  elastic::task<elastic::rendezvous_change> changing = handler_->wait_for_change();
  const elastic::rendezvous_change change = co_await std::move(changing);
  if (change.kind != elastic::rendezvous_change::cause::node_waiting) {
    throw error(errc::connection_failed, change.reason);
  }
  // A node that joins late learns that it is late when this one leaves.
  elastic::task<void> sleeping = time_->sleep_until(elastic::time_point::max());
  co_await std::move(sleeping);
}

elastic::task<void> job_doctor::examine_nodes() {
  const elastic::asio::any_io_executor executor = co_await elastic::asio::this_coro::executor;
  elastic::task<std::string> finding_out = own_address();
  mine_.address = co_await std::move(finding_out);
  link_server server(executor, mine_.address, time_);
  mine_.port = server.port();
  mine_.token = server.token();
  elastic::task<void> exchanging = exchange();
  elastic::task<void> serving = server.run();
  co_await elastic::race(std::move(exchanging), std::move(serving));
}

/// The numeric address at which the other nodes reach this one.
elastic::task<std::string> job_doctor::own_address() {
  const std::string chosen = query_.meeting.local_addr;
  const std::string master = round_.master.address;
  if (!chosen.empty()) {
    auto resolving = elastic::detail::resolve_addresses(chosen);
    const auto addresses = co_await std::move(resolving);
    if (!addresses.empty()) co_return addresses.front().to_string();
    throw error(errc::invalid_argument,
                fmt::format("--local-addr {}: the name has no address",
                            elastic::in_quotes(chosen)));
  }
  if (elastic::is_loopback(master)) co_return "127.0.0.1";
  elastic::task<std::string> finding_out =
      elastic::detail::reachable_address(std::string(), {master});
  co_return co_await std::move(finding_out);
}

elastic::task<void> job_doctor::exchange() {
  elastic::task<texts> gathering = exchange_texts("nodes", text_of(mine_));
  const texts nodes = co_await std::move(gathering);
  for (const std::string& text : nodes) view_.nodes.push_back(parse_node_report(text));
  elastic::task<void> measuring = measure();
  co_await std::move(measuring);
}

/// In each step, the nodes form pairs, and both nodes of a pair measure their link to the other.
elastic::task<void> job_doctor::measure() {
  const int nodes = round_.group_world_size;
  // In a large job, each node sends data only to some of the others.
  constexpr int most_rates = 32;
  std::vector<link_report> links;
  for (int step = 0; step < nodes; ++step) {
    const int peer = ((step - round_.group_rank) % nodes + nodes) % nodes;
    if (peer == round_.group_rank) continue;
    elastic::task<link_report> probing = probe_link(
        view_.nodes[static_cast<std::size_t>(peer)], peer, step < most_rates, time_);
    links.push_back(co_await std::move(probing));
  }
  elastic::task<texts> gathering = exchange_texts("links", text_of(links));
  const texts gathered = co_await std::move(gathering);
  for (const std::string& text : gathered) view_.links.push_back(parse_link_reports(text, nodes));
}

elastic::task<texts> job_doctor::exchange_texts(std::string topic, std::string mine) {
  // Rounds may share a store.
  const std::string prefix =
      fmt::format("elastic/doctor/{}/{}/{}/", round_.term, round_.round, topic);
  elastic::task<texts> gathering = elastic::detail::publish_and_read(
      round_.agents, prefix, std::move(mine), round_.group_rank, round_.group_world_size);
  // Each node that does not answer delays the others by one time-out.
  constexpr int most_silent = 100;
  const elastic::duration probes =
      limits::doctor_answer * std::min(topic == "nodes" ? 0 : round_.group_world_size, most_silent);
  const elastic::time_point deadline =
      elastic::deadline_after(time_->now(), limits::doctor_exchange + probes);
  auto limited = elastic::with_deadline(*time_, deadline, std::move(gathering));
  std::optional<texts> gathered = co_await std::move(limited);
  if (!gathered) {
    throw error(errc::rendezvous_timeout,
                fmt::format("not all of the {} nodes reported their {} in time: does each of them "
                            "run elasticrun doctor?",
                            round_.group_world_size, topic == "nodes" ? "host" : "links"));
  }
  co_return *std::move(gathered);
}

/// Waits until the other nodes have read everything, because this node may serve the store.
elastic::task<void> job_doctor::await_others() {
  const elastic::time_point deadline =
      elastic::deadline_after(time_->now(), limits::doctor_exchange);
  try {
    elastic::task<void> barrier = handler_->exit_barrier();
    elastic::task<void> watching = watch();
    auto waiting = elastic::race(std::move(barrier), std::move(watching));
    auto limited = elastic::with_deadline(*time_, deadline, std::move(waiting));
    co_await std::move(limited);
  } catch (const error&) {
    // This node has all reports already.
  }
}

elastic::task<void> job_doctor::leave() {
  using job_end = elastic::rendezvous_handler::job_end;
  if (!handler_) handler_ = std::move(tried_);
  if (!handler_) co_return;
  try {
    if (has_met_) {
      elastic::task<void> closing =
          handler_->close(is_complete_ ? job_end::succeeded : job_end::failed,
                          is_complete_ ? "the nodes were checked before this one joined"
                                       : "a node could not check the others");
      co_await std::move(closing);
    }
  } catch (const error&) {
    // Another node has closed the rendezvous, or its server is gone.
  }
  try {
    elastic::task<void> ending = handler_->shutdown();
    co_await std::move(ending);
  } catch (const error&) {
    // The command ends anyway.
  }
}

}  // namespace elasticrun
