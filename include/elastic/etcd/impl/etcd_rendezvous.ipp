// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/etcd/etcd_rendezvous.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/race.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/etcd/detail/etcd_client.hpp>
#include <elastic/etcd/detail/etcd_keys.hpp>
#include <elastic/etcd/detail/etcd_v2_keys.hpp>
#include <elastic/etcd/detail/legacy_machine.hpp>
#include <elastic/etcd/detail/legacy_rendezvous.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/nodes/detail/c10d_rendezvous.hpp>
#include <elastic/nodes/detail/leader_registry.hpp>
#include <elastic/nodes/registered_rendezvous.hpp>
#include <elastic/rendezvous/detail/node_id.hpp>
#include <elastic/rendezvous/detail/reachable_address.hpp>
#include <elastic/store/versioned_store.hpp>
#include <elastic/torch/detail/dynamic_rendezvous.hpp>
#include <elastic/torch/detail/keyed_rendezvous_backend.hpp>
#include <elastic/torch/detail/torch_dialect.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <ios>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace elastic {

namespace detail {

ELASTIC_DECL std::string conf_text(const rendezvous_parameters& parameters, std::string_view name,
                                   std::string fallback) {
  const auto position = parameters.conf.find(name);
  return position == parameters.conf.end() ? fallback : position->second;
}

/// The members of etcd, "host:port,host:port"; the port is 2379 if none is given.
inline std::vector<endpoint> etcd_members(const rendezvous_parameters& parameters) {
  constexpr std::uint16_t default_port = 2379;
  const std::string& text = parameters.endpoint;
  std::vector<endpoint> members;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t comma = text.find(',', begin);
    members.push_back(parse_endpoint(text.substr(begin, comma - begin), default_port));
    if (members.back().port == 0) {
      throw error(errc::invalid_argument,
                  fmt::format("{} '{}': the port of an etcd is needed",
                              parameters.name_of("endpoint"), text));
    }
    if (comma == std::string::npos) return members;
    begin = comma + 1;
  }
}

/// The options for reaching etcd, from the settings, by torchrun's names for them.
/// Errors: `errc::invalid_argument`.
inline etcd_options etcd_options_of(const rendezvous_parameters& parameters) {
  etcd_options options;
  options.members = etcd_members(parameters);
  options.user = conf_text(parameters, "user");
  options.password = conf_text(parameters, "password");
  const std::string protocol = conf_text(parameters, "protocol", "http");
  if (protocol != "http" && protocol != "https") {
    throw error(errc::invalid_argument,
                fmt::format("{}={}: http or https is needed", parameters.name_of("protocol"),
                            protocol));
  }
  options.uses_tls = protocol == "https";
  // torchrun's own backends use two names for each of these.
  options.tls.authorities = conf_text(parameters, "cacert", conf_text(parameters, "ca_cert"));
  options.tls.certificate = conf_text(parameters, "cert", conf_text(parameters, "ssl_cert"));
  options.tls.key = conf_text(parameters, "key", conf_text(parameters, "ssl_cert_key"));
  const bool names_files = !options.tls.authorities.empty() || !options.tls.certificate.empty();
  if (names_files && !options.uses_tls) {
    throw error(errc::invalid_argument,
                fmt::format("{}: certificates are of use with protocol=https only",
                            parameters.name_of("conf")));
  }
  if (options.tls.certificate.empty() && !options.tls.key.empty()) {
    throw error(errc::invalid_argument,
                fmt::format("{}: key needs cert", parameters.name_of("conf")));
  }
  options.answer_timeout = parameters.seconds("read_timeout", options.answer_timeout);
  options.first_patience = parameters.settings().join_timeout;
  options.name_of = [parameters](std::string_view setting) { return parameters.name_of(setting); };
  options.time = parameters.time;
  options.log = parameters.log;
  return options;
}

/// Reads a password from the first line of a file.
/// Errors: `errc::invalid_argument`, naming the file.
inline std::string password_in(const rendezvous_parameters& parameters, const std::string& path) {
  constexpr std::size_t most_bytes = 4096;
  std::ifstream file(path, std::ios::binary);
  std::string line;
  char letter = 0;
  while (line.size() <= most_bytes && file.get(letter) && letter != '\n') line.push_back(letter);
  const char* problem = nullptr;
  if (!file && !file.eof()) problem = "it cannot be read";
  if (!line.empty() && line.back() == '\r') line.pop_back();
  if (problem == nullptr && line.empty()) problem = "its first line is empty";
  if (line.size() > most_bytes) problem = "its first line is over 4096 bytes long";
  if (problem == nullptr) return line;
  throw error(errc::invalid_argument,
              fmt::format("{}={}: the first line of the file has to be the password, but {}",
                          parameters.name_of("password_file"), path, problem));
}

ELASTIC_DECL rendezvous_parameters with_password(rendezvous_parameters parameters) {
  const auto file = parameters.conf.find("password_file");
  if (file == parameters.conf.end()) return parameters;
  if (parameters.conf.count("password") != 0) {
    throw error(errc::invalid_argument,
                fmt::format("{}: either password or password_file is needed, not both",
                            parameters.name_of("conf")));
  }
  std::string password = password_in(parameters, file->second);
  parameters.conf.erase(file);
  parameters.conf["password"] = std::move(password);
  return parameters;
}

/// Applies the setting `lease_ttl`: the node shows three times within it that it lives.
inline rendezvous_parameters with_lease(rendezvous_parameters parameters) {
  if (parameters.conf.count("lease_ttl") == 0) return parameters;
  parameters.keep_alive_interval = parameters.seconds("lease_ttl", {}) / 3;
  parameters.keep_alive_max_attempt = 3;
  return parameters;
}

inline std::vector<std::string> hosts_of(const std::vector<endpoint>& members) {
  std::vector<std::string> hosts;
  for (const endpoint& member : members) hosts.push_back(member.host);
  return hosts;
}

/// The keys of a job, over the v3 API.
inline std::shared_ptr<versioned_keys> v3_keys(std::shared_ptr<etcd_client> client,
                                               const rendezvous_parameters& parameters) {
  std::string root = fmt::format("{}/{}/job/", conf_text(parameters, "etcd_prefix", "/elastic"),
                                 parameters.run_id);
  return new_shared<etcd_keys>(std::move(client), std::move(root));
}

/// @param prepare  called before the first round
inline std::shared_ptr<c10d_rendezvous> make_etcd_v3(
    rendezvous_parameters parameters,
    std::function<task<void>(std::shared_ptr<etcd_client>)> prepare) {
  const etcd_options options = etcd_options_of(parameters);
  registry_place place;
  place.name = etcd_client(options).name();
  place.hosts = hosts_of(options.members);
  place.prepare = [options, parameters, prepare]() -> task<void> {
    const auto client = new_shared<etcd_client>(options);
    co_await prepare(client);
    parameters.log.info("meeting at the etcd {}, by its v3 API", client->name());
  };
  etcd_options again = options;
  again.first_patience = again.patience;
  // The registry's user already logs that it waits.
  again.log = logger();
  place.keys = [again, parameters] {
    return v3_keys(new_shared<etcd_client>(again), parameters);
  };
  if (const std::string job = compared_job(parameters); !job.empty()) {
    rendezvous_parameters of_job = parameters;
    of_job.run_id = job;
    place.shared_keys = [again, of_job] {
      return v3_keys(new_shared<etcd_client>(again), of_job);
    };
  }
  return make_registered(std::move(parameters), std::move(place));
}

/// Makes the first call to etcd. Its error says what was tried, and that etcd had the join timeout
/// to answer.
inline task<void> reach_etcd(std::shared_ptr<etcd_client> client, logger log) {
  std::string problem;
  try {
    const std::string version = co_await client->version();
    log.debug("the etcd at {} is of version {}", client->name(), version);
    co_return;
  } catch (const error& failure) {
    if (failure.code() != errc::connection_failed) throw;
    problem = failure.what();
  }
  // The symptom on either side if only one of the two uses TLS.
  const bool is_plain = !client->options().uses_tls;
  const char* sign = is_plain ? "hung up without an answer" : "handshake broke off";
  if (problem.find(sign) != std::string::npos) {
    problem += is_plain ? fmt::format(" (does it need {}=https?)",
                                      client->options().name_of("protocol"))
                        : " (does it serve https?)";
  }
  const std::chrono::duration<double> patience = client->options().first_patience;
  throw error(errc::rendezvous_timeout,
              fmt::format("{}; given up after {} s ({})", problem, patience.count(),
                          client->options().name_of("join_timeout")));
}

/// Like torchrun's backend "etcd-v2", whose nodes may take part.
inline task<std::shared_ptr<dynamic_rendezvous>> make_etcd_v2(rendezvous_parameters parameters,
                                                              std::shared_ptr<etcd_client> client) {
  constexpr int two_hours = 7200;
  const auto states = new_shared<etcd_v2_keys>(client, "/torch/elastic/rendezvous",
                                               etcd_v2_form::plain, two_hours);
  const auto keys =
      new_shared<etcd_v2_keys>(client, "/torch/elastic/store", etcd_v2_form::base64);
  std::vector<std::string> hosts = hosts_of(client->options().members);
  dynamic_rendezvous_options options;
  options.node = new_unnumbered_node(parameters.shown_host());
  options.address = co_await reachable_address(parameters.local_addr, std::move(hosts));
  options.parameters = parameters;
  const std::string dialect = conf_text(parameters, "dialect", "auto");
  if (dialect != "auto") options.dialect = parse_torch_dialect(dialect);
  const std::optional<torch_dialect> written =
      co_await keyed_rendezvous_backend::seen_dialect(states, parameters.run_id);
  if (written && dialect == "auto") options.dialect = *written;
  options.agents = new_shared<versioned_store>(keys);
  options.backend =
      new_shared<keyed_rendezvous_backend>(states, parameters.run_id, options.dialect);
  parameters.log.info("meeting at the etcd {}, by its v2 API, as agents of PyTorch {} do",
                      client->name(), to_text(options.dialect));
  co_return new_shared<dynamic_rendezvous>(std::move(options));
}

/// The path at which nodes of torchrun's backend "etcd" keep the shared state of a job.
inline std::string legacy_path(const rendezvous_parameters& parameters) {
  std::string prefix = conf_text(parameters, "etcd_prefix", "/torchelastic/p2p");
  while (!prefix.empty() && prefix.back() == '/') prefix.pop_back();
  if (!prefix.empty() && prefix.front() != '/') prefix.insert(prefix.begin(), '/');
  return prefix + "/run_" + parameters.run_id;
}

/// Like torchrun's backend "etcd", whose nodes may take part.
inline task<std::shared_ptr<rendezvous_handler>> make_etcd_legacy(
    rendezvous_parameters parameters, std::shared_ptr<etcd_client> client) {
  const std::string path = legacy_path(parameters);
  const auto job = new_shared<etcd_v2_keys>(client, path, etcd_v2_form::plain);
  legacy_rendezvous_options options;
  const std::string dialect = conf_text(parameters, "dialect", "auto");
  if (dialect != "auto") options.dialect = parse_torch_dialect(dialect);
  options.path = path + "/rdzv";
  options.keys = new_shared<etcd_v2_keys>(client, options.path, etcd_v2_form::plain);
  options.store_of = [client, path = options.path](const std::string& version) {
    std::string place = fmt::format("{}/v_{}/kv", path, version);
    return new_shared<versioned_store>(
        new_shared<etcd_v2_keys>(client, std::move(place), etcd_v2_form::base64));
  };
  options.keep_job = [job] { return job->refresh_directory(legacy_ttl::job); };
  std::vector<std::string> hosts = hosts_of(client->options().members);
  options.address = co_await reachable_address(parameters.local_addr, std::move(hosts));
  parameters.log.info("meeting at the etcd {}, as agents of PyTorch {} do by their backend 'etcd'",
                      client->name(), to_text(options.dialect));
  options.parameters = std::move(parameters);
  co_return new_shared<legacy_rendezvous>(std::move(options));
}

/// Whether nodes of torchrun's backend "etcd" meet under the name of this job. Empty if etcd does
/// not answer over its v2 API; then there are no such nodes either.
inline task<std::optional<bool>> sees_legacy(std::shared_ptr<etcd_client> client,
                                             std::string path) {
  const etcd_v2_keys keys(client, path, etcd_v2_form::plain);
  try {
    const std::string itself;
    co_return co_await keys.exists(itself);
  } catch (const error& failure) {
    if (failure.code() == errc::connection_failed) throw;
  }
  co_return std::nullopt;
}

/// Waits until there are such nodes.
inline task<void> await_legacy(std::shared_ptr<etcd_client> client, std::string path) {
  etcd_v2_keys keys(client, path, etcd_v2_form::plain);
  co_await keys.await_existence();
  client->options().log.warning(
      "nodes of torchrun meet at the etcd {} under this run id, by its backend 'etcd': this node "
      "goes to them",
      client->name());
}

/// Refuses to meet nodes of torchrun if nodes of elasticrun are in a round without them. Those that
/// still wait for a round join them, too.
inline task<void> check_no_v3_round(rendezvous_parameters parameters,
                                    std::shared_ptr<etcd_client> client) {
  leader_registry registry(v3_keys(client, parameters), parameters.secret);
  bool has_round = false;
  try {
    const leader_registry::sight seen = co_await registry.look();
    has_round = seen.record && seen.record->address.port != 0 && seen.record->kept.round >= 0 &&
                !seen.record->kept.ending && !seen.record->kept.all_finished;
  } catch (const etcd_refusal&) {
    // These keys are not accessible to this user.
  }
  if (!has_round) co_return;
  throw error(errc::invalid_argument,
              fmt::format("at the etcd {}, under the run id '{}', nodes of elasticrun meet by its "
                          "v3 API and nodes of torchrun by their backend 'etcd': to make one job "
                          "of them, start it again under another id, all nodes of elasticrun with "
                          "{}=1.13 (or 2.0, 2.6)",
                          client->name(), parameters.run_id, parameters.name_of("dialect")));
}

/// Whether etcd has the v3 API in the form that is used here.
/// Errors: those of `etcd_client` except `errc::not_supported`, which `why_not` receives instead.
inline task<bool> offers_v3(std::shared_ptr<etcd_client> client, std::string& why_not) {
  try {
    // Asks only about a lease that any user may query.
    nlohmann::json body;
    body["ID"] = "0";
    co_await client->call(std::string("/v3/lease/timetolive"), std::move(body));
  } catch (const etcd_refusal&) {
    // A refusal is an answer: the keys in use will show whether access is allowed.
  } catch (const error& failure) {
    if (failure.code() != errc::not_supported) throw;
    why_not = failure.what();
    co_return false;
  }
  co_return true;
}

/// The rendezvous "etcd-v2", which waits for its server.
inline task<std::shared_ptr<rendezvous_handler>> make_named_v2(rendezvous_parameters parameters) {
  auto client = new_shared<etcd_client>(etcd_options_of(parameters));
  co_await reach_etcd(client, parameters.log);
  co_return co_await make_etcd_v2(std::move(parameters), std::move(client));
}

/// Waits for the server of the rendezvous "etcd-v3".
inline task<void> reach_v3(std::shared_ptr<etcd_client> client) {
  co_await reach_etcd(client, client->options().log);
  std::string why_not;
  const bool is_v3 = co_await offers_v3(client, why_not);
  if (!is_v3) throw error(errc::not_supported, why_not);
}

/// Completes at once: etcd has been reached.
inline task<void> reached_v3(std::shared_ptr<etcd_client>) { co_return; }

// Nodes of torchrun, and nodes that meet like them, do not know some options.
inline void refuse_own_options(const rendezvous_parameters& parameters, const etcd_client& client) {
  parameters.refuse_choice_of_nodes("a job with nodes of torchrun, or by etcd's v2 API,");
  if (!parameters.chosen_secret()) return;
  throw error(errc::invalid_argument,
              fmt::format("{}: at the etcd {}, nodes meet by torchrun's protocol, which knows no "
                          "secret",
                          parameters.name_of("secret_file"), client.name()));
}

inline task<void> mark_met(task<void> meeting, bool& has_met) {
  co_await std::move(meeting);
  has_met = true;
}

/// Meets through `tried`, unless nodes of torchrun arrive before it has led to a round.
/// @param meeting  leads to that round
inline task<std::shared_ptr<rendezvous_handler>> meet_unless_legacy(
    rendezvous_parameters parameters, std::shared_ptr<etcd_client> client, task<void> meeting,
    std::shared_ptr<rendezvous_handler>& tried) {
  bool has_met = false;
  task<void> legacy = await_legacy(client, legacy_path(parameters));
  co_await race(mark_met(std::move(meeting), has_met), std::move(legacy));
  if (has_met) co_return tried;
  co_await tried->shutdown();
  tried.reset();
  refuse_own_options(parameters, *client);
  co_return co_await make_etcd_legacy(std::move(parameters), std::move(client));
}

/// The rendezvous "etcd": like torchrun's backend of that name if its nodes meet there, or if the
/// user gave a dialect; otherwise over the API that the server has.
inline task<std::shared_ptr<rendezvous_handler>> choose_etcd(
    rendezvous_parameters parameters, std::shared_ptr<rendezvous_handler>& tried) {
  const auto client = new_shared<etcd_client>(etcd_options_of(parameters));
  co_await reach_etcd(client, parameters.log);
  const bool is_announced = conf_text(parameters, "dialect", "auto") != "auto";
  std::optional<bool> is_legacy = true;
  bool is_v3 = false;
  if (!is_announced) {
    std::string path = legacy_path(parameters);
    is_legacy = co_await sees_legacy(client, std::move(path));
    std::string why_not;
    is_v3 = co_await offers_v3(client, why_not);
  }
  const bool is_v3_alone = is_v3 && is_legacy != true;
  if (!is_v3_alone) refuse_own_options(parameters, *client);
  if (is_legacy == true) {
    if (is_v3) co_await check_no_v3_round(parameters, client);
    co_return co_await make_etcd_legacy(std::move(parameters), client);
  }
  task<void> meeting;
  if (is_v3) {
    const auto native = make_etcd_v3(parameters, reached_v3);
    meeting = native->meet();
    tried = native;
  } else {
    const auto dynamic = co_await make_etcd_v2(parameters, client);
    meeting = dynamic->meet();
    tried = dynamic;
  }
  // Without an answer over the v2 API, no nodes of torchrun can come. Otherwise they still may.
  if (!is_legacy) co_return tried;
  co_return co_await meet_unless_legacy(std::move(parameters), client, std::move(meeting), tried);
}

/// The settings of a backend that may use either API.
inline std::vector<std::string_view> etcd_settings(bool may_be_v2, bool may_be_v3) {
  std::vector<std::string_view> names = {"lease_ttl", "protocol", "cacert",       "cert",
                                         "key",       "ca_cert",  "ssl_cert",     "ssl_cert_key",
                                         "user",      "password", "password_file"};
  if (may_be_v2) names.push_back("dialect");
  names.push_back("etcd_prefix");
  const auto meeting = may_be_v3 ? registered_settings() : meeting_settings({});
  names.insert(names.end(), meeting.begin(), meeting.end());
  return names;
}

}  // namespace detail

ELASTIC_DECL rendezvous_factory make_etcd_rendezvous(rendezvous_parameters parameters) {
  if (parameters.run_id.empty()) {
    throw error(errc::invalid_argument, fmt::format("{} must not be empty for an etcd rendezvous",
                                                    parameters.name_of("run_id")));
  }
  const bool may_be_v3 = parameters.backend != "etcd-v2";
  const bool may_be_v2 = parameters.backend != "etcd-v3";
  parameters.check_conf(detail::etcd_settings(may_be_v2, may_be_v3));
  const std::string dialect = detail::conf_text(parameters, "dialect", "auto");
  if (dialect != "auto") detail::parse_torch_dialect(dialect);
  parameters = detail::with_password(detail::with_lease(std::move(parameters)));
  // Reports a mistake before anything waits.
  const detail::etcd_client trial(detail::etcd_options_of(parameters));
  if (parameters.backend == "etcd-v3") {
    return detail::make_etcd_v3(std::move(parameters), detail::reach_v3);
  }
  const std::string backend = parameters.backend;
  const std::string run_id = parameters.run_id;
  rendezvous_factory::chooser choose =
      [parameters = std::move(parameters)](std::shared_ptr<rendezvous_handler>& tried) {
        return parameters.backend == "etcd" ? detail::choose_etcd(parameters, tried)
                                            : detail::make_named_v2(parameters);
      };
  return {backend, run_id, std::move(choose)};
}

ELASTIC_DECL void add_etcd_rendezvous(rendezvous_registry& registry) {
  for (const char* name : {"etcd", "etcd-v2", "etcd-v3"}) {
    detail::add_library_backend(registry, name, detail::backend_capability::several_nodes,
                                make_etcd_rendezvous);
  }
}

}  // namespace elastic
