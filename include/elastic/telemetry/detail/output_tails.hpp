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

/// The last lines that a worker wrote to a stream. The text comes from the worker, and may be
/// hostile.
struct output_tail {
  /// "stdout" or "stderr".
  std::string stream;
  /// The file with the complete output; empty: there is none.
  std::string path;
  /// Oldest first, without line ends, at most `limits::report_stderr_lines`.
  std::vector<std::string> lines;
};

/// A way to get them. `read` may be called once, on any thread. If there is a file, it waits for
/// the file, forever if it `may_hang`.
struct output_reader {
  std::function<std::vector<output_tail>()> read;
  bool may_hang = false;
};

/// A stream of a worker of this node, for those who follow it.
struct output_source {
  std::int64_t rank = 0;
  bool is_err = false;
  /// The process that writes it.
  std::int64_t pid = 0;
  /// The file with the complete output; empty: there is none.
  std::string path = {};
  /// Without a file: the last lines, and the number of bytes of the stream up to their end.
  std::string kept = {};
  std::uint64_t end = 0;
  /// False: the output is shown, and kept nowhere.
  bool is_kept = true;
};

/// The streams of all workers of this node, by rank, and whether their files may hang.
struct output_sources {
  std::vector<output_source> streams = {};
  bool may_hang = false;
};

/// Where an agent offers the output of its workers to viewers of the job; see
/// `agent_services::tails`.
///
/// Thread-safety: any thread.
class output_tails : public std::enable_shared_from_this<output_tails> {
 public:
  /// Finds the reader for the worker of a rank; empty if the worker is not on this node.
  using source = std::function<std::optional<output_reader>(std::int64_t rank)>;

  /// Lists the streams of all workers.
  using listing = std::function<output_sources()>;

  /// Called by the agent: from now on `answers` and `streams` serve all requests. They are called
  /// on the executor.
  ELASTIC_DECL void open(asio::any_io_executor executor, source answers, listing streams = {});

  /// Stops answering requests. If requests may still arrive, call it on that executor.
  ELASTIC_DECL void close();

  /// Called by the agent: the log directory of the run; empty: there is none.
  ELASTIC_DECL void locate(std::string folder);
  ELASTIC_DECL std::string folder();

  /// A reader for the last output of a rank; empty if there is no such worker here, or no agent.
  /// Cancellation: all types.
  ELASTIC_DECL task<std::optional<output_reader>> of(std::int64_t rank);

  /// The present streams; none if there is no agent. Cancellation: all types.
  ELASTIC_DECL task<output_sources> sources();

 private:
  ELASTIC_DECL asio::any_io_executor executor();
  ELASTIC_DECL static task<output_sources> list(std::shared_ptr<output_tails> self);
  ELASTIC_DECL static task<std::optional<output_reader>> ask(std::shared_ptr<output_tails> self,
                                                             std::int64_t rank);

  std::mutex mutex_;
  asio::any_io_executor executor_;
  source source_;
  listing listing_;
  std::string folder_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/telemetry/detail/output_tails.ipp>
#endif
