// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// A word that has elasticrun do something else than run a job.
struct command_row {
  const char* word;
  const char* arguments;
  const char* help;
};

/// All of them, in the order of --help.
ELASTIC_DECL const std::vector<command_row>& command_rows();

/// The command that the arguments of `elasticrun` name, by their first word alone; null: they are
/// to run a job. A script of that name wins, so that every command line of torchrun's keeps its
/// meaning; `./status` is always a script.
/// @param is_script  whether there is a script with this name, see `is_script`
ELASTIC_DECL const command_row* find_command(
    const std::vector<std::string>& arguments,
    const std::function<bool(const std::string& name)>& is_script);

/// Whether Python could run what has this name: a file, or a directory with a __main__.py.
ELASTIC_DECL bool is_script(const std::string& name);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/launch/detail/impl/command_word.ipp>
#endif
