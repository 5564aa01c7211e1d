// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/process/detail/process_handle.hpp>

#include <memory>
#include <optional>
#include <string>

namespace elastic::detail {

/// The agent's ends of a pipe to which a Python worker writes its stacks, by
/// embedded/inspection_hook.py. The worker opens it by its path and never waits: output that does
/// not fit into the pipe is lost.
class stack_pipe {
 public:
  ELASTIC_DECL stack_pipe();

  /// The path for the worker; empty if the pipe could not be created because descriptors ran out.
  ELASTIC_DECL std::string path() const;

  /// Makes the main thread of a process write its stack, in faulthandler's format. One call at a
  /// time.
  /// Result: up to `limits::stack_text_bytes`. Empty if the process has not opened the pipe or has
  /// closed it (it then gets no signal), if its main thread neither runs nor sleeps, or if it does
  /// not handle the signal.
  /// Cancellation: all types.
  ELASTIC_DECL task<std::string> ask(std::shared_ptr<process_handle> process,
                                     std::shared_ptr<time_source> time) const;

 private:
  ELASTIC_DECL bool read_all(std::string& text) const;
  ELASTIC_DECL task<std::optional<std::string>> ask_python(
      std::shared_ptr<process_handle> process, std::shared_ptr<time_source> time) const;
  ELASTIC_DECL task<std::string> ask_native(std::shared_ptr<process_handle> process,
                                            std::shared_ptr<time_source> time) const;

  unique_fd ours_;
  unique_fd theirs_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/diagnosis/detail/stack_pipe.ipp>
#endif
