// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/file/file_rendezvous.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/base/error.hpp>
#include <elastic/file/file_keys.hpp>
#include <elastic/nodes/registered_rendezvous.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic {

namespace detail {

/// Makes a directory for keys, and warns of files in it that others can read.
inline task<void> prepare_keys(std::shared_ptr<file_keys> keys, logger log) {
  co_await keys->prepare();
  const std::vector<std::string> exposed = co_await keys->exposed_files();
  if (exposed.empty()) co_return;
  log.warning(
      "users who may not write in the directory of the job can read {}, so they can hold up the "
      "job, or take part in it without a secret; as its owner, run: chmod go-r {}",
      fmt::join(exposed, ", "), fmt::join(exposed, " "));
}

/// Makes the job's directory.
inline task<void> prepare_directory(std::string directory, rendezvous_parameters parameters) {
  const auto keys = new_shared<file_keys>(directory, parameters.time);
  co_await prepare_keys(keys, parameters.log);
  parameters.log.info("meeting in the directory '{}'", directory);
}

/// The same, and the directory that all roles of the job share.
inline task<void> prepare_directories(std::function<task<void>()> prepare, std::string shared,
                                      std::shared_ptr<time_source> time, logger log) {
  co_await prepare();
  const auto keys = new_shared<file_keys>(std::move(shared), std::move(time));
  co_await prepare_keys(keys, std::move(log));
}

}  // namespace detail

ELASTIC_DECL std::shared_ptr<rendezvous_handler> make_file_rendezvous(
    rendezvous_parameters parameters) {
  if (parameters.run_id.empty()) {
    throw error(errc::invalid_argument, fmt::format("{} must not be empty for the file rendezvous",
                                                    parameters.name_of("run_id")));
  }
  if (parameters.endpoint.empty()) {
    throw error(errc::invalid_argument,
                fmt::format("{}: the file rendezvous needs a directory that all nodes share",
                            parameters.name_of("endpoint")));
  }
  parameters.endpoint = std::filesystem::absolute(parameters.endpoint).lexically_normal().string();
  parameters.check_conf(registered_settings());
  // No run id can lead out of the directory, or to the directory of another one.
  const std::string directory = parameters.endpoint + "/" + key_directory_name(parameters.run_id);
  registry_place place;
  place.name = fmt::format("the directory '{}'", directory);
  place.prepare = [directory, parameters] {
    return detail::prepare_directory(directory, parameters);
  };
  place.keys = [directory, time = parameters.time] {
    return detail::new_shared<file_keys>(directory, time);
  };
  if (const std::string job = detail::compared_job(parameters); !job.empty()) {
    const std::string shared = parameters.endpoint + "/" + key_directory_name(job);
    place.prepare = [prepare = place.prepare, shared, time = parameters.time,
                     log = parameters.log] {
      return detail::prepare_directories(prepare, shared, time, log);
    };
    place.shared_keys = [shared, time = parameters.time] {
      return detail::new_shared<file_keys>(shared, time);
    };
  }
  return make_registered_rendezvous(std::move(parameters), std::move(place));
}

ELASTIC_DECL void add_file_rendezvous(rendezvous_registry& registry) {
  detail::add_library_backend(registry, "file", detail::backend_capability::several_nodes,
                              make_file_rendezvous);
}

}  // namespace elastic
