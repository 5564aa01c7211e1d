// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/cli/early_exit.hpp>
#include <elastic/cli/program_config.hpp>
#include <elastic/net/detail/local_interface.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace elasticrun {

/// Checks the files that a configuration names, so that a mistake is reported before the nodes meet
/// and the workers start: the script, the log directory, the journal, the trace and the drain file.
/// (`process_launcher` looks for the program itself when it starts it.) If nodes meet, it checks
/// --local-addr, too. If ELASTIC_GUARD names a guard for workers, it starts the guard once. A
/// look-up or a file system that does not answer in time counts as usable.
///
/// Result: empty if all of them can be used; otherwise the error, with exit code 2.
std::optional<elastic::early_exit> check_files(const elastic::program_config& config);

/// Checks the value of --local-addr: an address, a network, one of the interfaces of this host, or
/// the name of a host.
/// @param may_be_host  false if it is certain that no host has a name
/// Errors: `errc::invalid_argument` if it is none of these, with the interfaces, or if it is every
/// address of a host.
void check_local_address(const std::string& text,
                         const std::vector<elastic::detail::local_interface>& interfaces,
                         const std::function<bool(const std::string&)>& may_be_host);

}  // namespace elasticrun
