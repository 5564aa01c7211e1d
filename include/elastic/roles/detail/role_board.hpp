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

/// What the workers of a job are told of its roles: the file of ELASTIC_ROLES. It is replaced at
/// once by each change; changes of the same moment make one file.
///
/// Thread-safety: its strand; `file` and `revision` any thread.
class role_board : public std::enable_shared_from_this<role_board> {
 public:
  /// Is told the revision of each new file; returns whether it wants to hear of the next.
  using listener = std::function<bool(std::int64_t revision)>;

  ELASTIC_DECL role_board(asio::any_io_executor strand, std::vector<std::string> names, logger log);
  role_board(const role_board&) = delete;
  role_board& operator=(const role_board&) = delete;
  /// Removes the file with the folder that was made for it.
  ELASTIC_DECL ~role_board();

  /// Makes the file, with all roles waiting.
  /// @param folder  where it stays; empty: in one of its own in the temporary folder
  /// Errors: `errc::file_access`.
  ELASTIC_DECL void open(const std::string& folder);

  /// The file has the last state when this returns, as far as it can be written.
  void finish() {
    if (is_touched_) publish();
  }

  const asio::any_io_executor& strand() const { return strand_; }
  const std::string& file() const { return file_; }
  std::int64_t revision() const { return revision_; }
  /// What is known now, which the file may not have yet.
  const roles_document& document() const { return document_; }

  ELASTIC_DECL void listen(listener call);

  ELASTIC_DECL void set_state(std::size_t role, std::string_view state);
  /// Its workers are ready, until there are none.
  ELASTIC_DECL void set_ready(std::size_t role);
  /// @param epoch  the round in which they run
  ELASTIC_DECL void set_workers(std::size_t role, std::int64_t epoch,
                                std::vector<roles_document::worker> workers);
  ELASTIC_DECL void clear_workers(std::size_t role);

 private:
  // The file is to be written, when what happens now has happened.
  ELASTIC_DECL void touch();
  ELASTIC_DECL void publish();
  ELASTIC_DECL void write() const;

  asio::any_io_executor strand_;
  logger log_;
  /// Of its own; empty: there is none.
  std::string folder_;
  std::string file_;
  std::atomic<std::int64_t> revision_ = 0;
  roles_document document_;
  std::vector<roles_document::role> written_;
  bool is_touched_ = false;
  bool has_failed_ = false;
  std::vector<listener> listeners_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/roles/detail/impl/role_board.ipp>
#endif
