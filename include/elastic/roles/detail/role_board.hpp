// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/asio.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/contract/detail/roles_document.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace elastic::detail {

/// Publishes the roles of a job to its workers: the file of ELASTIC_ROLES. Each change replaces the
/// file at once; changes in the same step of the strand are written together.
///
/// Thread-safety: the given strand; `file` and `revision` any thread.
class role_board : public std::enable_shared_from_this<role_board> {
 public:
  /// Called with the revision of each new file. Result: whether to call it for the next one, too.
  using listener = std::function<bool(std::int64_t revision)>;

  ELASTIC_DECL role_board(asio::any_io_executor strand, std::vector<std::string> names, logger log);
  role_board(const role_board&) = delete;
  role_board& operator=(const role_board&) = delete;
  /// Removes the file with the folder that was made for it.
  ELASTIC_DECL ~role_board();

  /// Creates the file, with all roles waiting.
  /// @param folder  the folder of the file; empty: a new one in the temporary folder
  /// Errors: `errc::file_access`.
  ELASTIC_DECL void open(const std::string& folder);

  /// Writes pending changes to the file, if it can be written.
  void finish() {
    if (is_touched_) publish();
  }

  const asio::any_io_executor& strand() const { return strand_; }
  const std::string& file() const { return file_; }
  std::int64_t revision() const { return revision_; }
  /// The current state, which may be newer than the file.
  const job_roles& document() const { return document_; }

  ELASTIC_DECL void listen(listener call);

  ELASTIC_DECL void set_state(std::size_t role, std::string_view state);
  /// The workers of the role are ready. Holds until `clear_workers`.
  ELASTIC_DECL void set_ready(std::size_t role);
  /// @param epoch  the round in which they run
  ELASTIC_DECL void set_workers(std::size_t role, std::int64_t epoch,
                                std::vector<job_roles::worker> workers);
  ELASTIC_DECL void clear_workers(std::size_t role);

 private:
  // Schedules a write of the file after the current step of the strand.
  ELASTIC_DECL void touch();
  ELASTIC_DECL void publish();
  ELASTIC_DECL void write() const;

  asio::any_io_executor strand_;
  logger log_;
  /// The folder that this object created; empty: none.
  std::string folder_;
  std::string file_;
  std::atomic<std::int64_t> revision_ = 0;
  job_roles document_;
  std::vector<job_roles::role> written_;
  bool is_touched_ = false;
  bool has_failed_ = false;
  std::vector<listener> listeners_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/role_board.ipp>
#endif
