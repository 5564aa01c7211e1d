// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/file/file_rendezvous.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/file/file_keys.hpp>
#include <elastic/rendezvous/native/registered_rendezvous.hpp>

#include <filesystem>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// Makes the job's directory.
/// Errors: `errc::invalid_argument` if a release of before 0.1 has used it.
inline task<void> prepare_directory(std::string directory, rendezvous_parameters parameters) {
  file_keys keys(directory, parameters.time);
  co_await keys.prepare();
  std::string former_key = "rendezvous";
  const std::string former = keys.place_of(former_key);
  const versioned_keys::entry found = co_await keys.get(std::move(former_key));
  if (found.value) {
    throw error(errc::invalid_argument,
                fmt::format("{} is the state of a job of an earlier release: let that job end, "
                            "remove the directory, and start all nodes with one release",
                            former));
  }
  parameters.log.info("meeting in the directory '{}'", directory);
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
  parameters.check_conf(registered_settings());
  // So that no run id leads out of the directory, nor to that of another.
  const std::string directory = parameters.endpoint + "/" + key_directory_name(parameters.run_id);
  registry_place place;
  place.name = fmt::format("the directory '{}'", directory);
  place.prepare = [directory, parameters] {
    return detail::prepare_directory(directory, parameters);
  };
  place.keys = [directory, time = parameters.time] {
    return detail::new_shared<file_keys>(directory, time);
  };
  return make_registered_rendezvous(std::move(parameters), std::move(place));
}

ELASTIC_DECL void add_file_rendezvous(rendezvous_registry& registry) {
  registry.add("file", make_file_rendezvous);
}

}  // namespace elastic
