// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/file/file_rendezvous.hpp>

#include <elastic/base/error.hpp>
#include <elastic/file/file_keys.hpp>
#include <elastic/store/versioned_store.hpp>
#include <elastic/torch/detail/chosen_rendezvous.hpp>
#include <elastic/torch/detail/dynamic_options.hpp>
#include <elastic/torch/dynamic_rendezvous.hpp>
#include <elastic/torch/keyed_rendezvous_backend.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace elastic {

namespace detail {

ELASTIC_DECL task<std::shared_ptr<rendezvous_handler>> make_file(rendezvous_parameters parameters) {
  // So that no run id leads out of the directory, nor to that of another.
  const std::string directory = parameters.endpoint + "/" + key_directory_name(parameters.run_id);
  const auto keys = std::make_shared<file_keys>(directory, parameters.time);
  co_await keys->prepare();
  std::vector<std::string> towards;
  dynamic_rendezvous_options options = co_await dynamic_options(parameters, std::move(towards));
  options.links = chosen_links(options);
  options.agents = std::make_shared<versioned_store>(keys);
  options.backend = std::make_shared<keyed_rendezvous_backend>(keys, "rendezvous", options.dialect);
  parameters.log.info("meeting in the directory '{}'", directory);
  co_return std::make_shared<dynamic_rendezvous>(std::move(options));
}

}  // namespace detail

ELASTIC_DECL std::shared_ptr<rendezvous_handler> make_file_rendezvous(
    rendezvous_parameters parameters) {
  if (parameters.run_id.empty()) {
    throw error(errc::invalid_argument, "--rdzv-id must not be empty for the file rendezvous");
  }
  if (parameters.endpoint.empty()) {
    throw error(errc::invalid_argument,
                "--rdzv-endpoint: the file rendezvous needs a directory that all nodes share");
  }
  parameters.endpoint = std::filesystem::absolute(parameters.endpoint).lexically_normal().string();
  parameters.settings();
  detail::check_links(parameters);
  parameters.check_conf({"listen", "join_timeout", "last_call_timeout", "close_timeout",
                         "heartbeat_timeout", "keep_alive_interval", "keep_alive_max_attempt",
                         "read_timeout", "timeout", "links", "reconnect_grace"});
  const std::string backend = parameters.backend;
  const std::string run_id = parameters.run_id;
  const auto make = [parameters] { return detail::make_file(parameters); };
  return std::make_shared<detail::chosen_rendezvous>(backend, run_id, make);
}

ELASTIC_DECL void add_file_rendezvous(rendezvous_registry& registry) {
  registry.add("file", make_file_rendezvous);
}

}  // namespace elastic
