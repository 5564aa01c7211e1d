// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/job_launch.hpp>

#include <elastic/agent/worker_spec.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/net/host_name.hpp>

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

namespace elastic::detail {

/// The name of a user in /etc/passwd; empty: it is not there.
inline std::string local_user_name(uid_t user) {
  std::ifstream file("/etc/passwd");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string name, secret, number;
    std::getline(std::getline(std::getline(fields, name, ':'), secret, ':'), number, ':');
    if (number == std::to_string(user)) return name;
  }
  return {};
}

/// The name of this process's user. That of a directory service is known from USER only.
inline std::string user_name(const environment_map& variables) {
  std::string name = local_user_name(::geteuid());
  if (name.empty()) name = find_variable(variables, "USER").value_or("");
  return name.empty() ? fmt::format("uid {}", ::geteuid()) : name;
}

/// Takes the arguments for which there is room.
inline void take_arguments(job_launch& launch, const std::vector<std::string>& words,
                           std::size_t first) {
  std::size_t room = 8 * 1024;
  for (std::size_t index = first; index < words.size(); ++index) {
    // An empty argument takes room, too.
    const std::size_t size = words[index].size() + 1;
    if (size > room) {
      launch.left_out = words.size() - index;
      return;
    }
    room -= size;
    launch.arguments.push_back(words[index]);
  }
}

ELASTIC_DECL job_launch launch_of(const worker_spec& workers) {
  constexpr std::size_t most_bytes = 1024;
  const std::vector<std::string>& words = workers.arguments;
  // The command line starts Python in this way. What else has arguments may have secrets in them.
  const bool is_python = words.size() > 1 && words[0] == "-u";
  const bool is_module = is_python && words.size() > 2 && words[1] == "-m";
  job_launch launch;
  std::size_t first = 0;
  launch.script = workers.program;
  if (is_module) {
    first = 3;
    launch.script = "-m " + words[2];
  } else if (is_python) {
    first = 2;
    launch.script = words[1];
  }
  launch.script = beginning_of(launch.script, most_bytes);
  take_arguments(launch, words, first);
  launch.user = beginning_of(user_name(workers.environment), most_bytes);
  launch.host = host_name();
  return launch;
}

}  // namespace elastic::detail
