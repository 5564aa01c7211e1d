// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/cli/program_config.hpp>
#include <elastic/net/detail/port_lease.hpp>
#include <elastic/net/endpoint.hpp>
#include <elastic/process/child.hpp>
#include <elastic/process/process_launcher.hpp>
#include <elastic/process/process_spec.hpp>

#include <memory>

namespace elasticrun {

/// Starts workers, one of them under debugpy, where its script waits until a debugger attaches.
///
/// Thread-safety: one strand at a time.
class debugger_launcher final : public elastic::process_launcher {
 public:
  /// @param plan   names a rank
  /// @param inner  starts the processes
  /// @param log  receives a line at each start of that worker: where to attach
  debugger_launcher(elastic::program_config::debugger_plan plan,
                    std::shared_ptr<elastic::process_launcher> inner, elastic::logger log);

  /// Errors, besides those of the interface: `errc::invalid_argument` if the job does not have that
  /// rank, or this host does not have that address; `errc::address_in_use` if the port is in use;
  /// `errc::connection_failed` if no port is free.
  elastic::task<std::unique_ptr<elastic::child>> launch(elastic::process_spec spec) override;

 private:
  elastic::task<elastic::endpoint> choose_place();

  elastic::program_config::debugger_plan plan_;
  std::shared_ptr<elastic::process_launcher> inner_;
  elastic::logger log_;
  /// The port of the last start, if the plan names none.
  elastic::detail::port_lease port_;
};

/// Inserts debugpy between the Python interpreter with its flags and the script of a worker.
/// @param spec     a command that runs Python, with or without `-u`
/// @param address  the address at which debugpy listens: "127.0.0.1:5678"
void insert_debugpy(elastic::process_spec& spec, const std::string& address);

}  // namespace elasticrun
