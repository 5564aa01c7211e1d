// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>
#include <elastic/base/task.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace elastic::detail {

/// The last lines that a worker wrote to a stream. Text of the worker's, which may be hostile.
struct output_tail {
  /// "stdout" or "stderr".
  std::string stream;
  /// The file that has all of it; empty: there is none.
  std::string path;
  /// Oldest first, without their ends, at most `limits::report_stderr_lines`.
  std::vector<std::string> lines;
};

/// How to come by them: `read` may be called on any thread, once, and waits for a file if there is
/// one, which may be for ever if it `may_hang`.
struct output_reader {
  std::function<std::vector<output_tail>()> read;
  bool may_hang = false;
};

/// Where an agent offers the last output of its workers to viewers of the job; see
/// `agent_services::tails`.
///
/// Thread-safety: any thread.
class output_tails : public std::enable_shared_from_this<output_tails> {
 public:
  /// Of the worker of a rank; none if it is not of this node.
  using source = std::function<std::optional<output_reader>(std::int64_t rank)>;

  /// For the agent: from now on `answers` serves all requests; it is called on the executor.
  ELASTIC_DECL void open(asio::any_io_executor executor, source answers);

  /// Nobody is answered any more. To be called on that executor, if anybody may ask.
  ELASTIC_DECL void close();

  /// How to come by what a rank wrote last; none if there is no such worker here, or no agent.
  /// Cancellation: all types.
  ELASTIC_DECL task<std::optional<output_reader>> of(std::int64_t rank);

 private:
  ELASTIC_DECL static task<std::optional<output_reader>> ask(std::shared_ptr<output_tails> self,
                                                             std::int64_t rank);

  std::mutex mutex_;
  asio::any_io_executor executor_;
  source source_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/telemetry/detail/impl/output_tails.ipp>
#endif
