// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/roles/detail/role_board.hpp>

#include <elastic/base/detail/executor_work.hpp>
#include <elastic/base/detail/temporary_folder.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL role_board::role_board(asio::any_io_executor strand, std::vector<std::string> names,
                                    logger log)
    : strand_(std::move(strand)), log_(std::move(log)) {
  for (std::string& name : names) document_.roles.emplace_back().name = std::move(name);
}

ELASTIC_DECL role_board::~role_board() {
  if (folder_.empty()) return;
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

inline std::string make_roles_folder() {
  std::string folder = temporary_folder() + "/elastic_roles_XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    throw error(errc::file_access, fmt::format("the folder '{}' for the file of the roles cannot "
                                               "be made: {}",
                                               folder, errno_text(errno)));
  }
  return folder;
}

ELASTIC_DECL void role_board::open(const std::string& folder) {
  if (folder.empty()) folder_ = make_roles_folder();
  const std::string chosen = (folder.empty() ? folder_ : folder) + "/roles.json";
  // A worker may have another working directory.
  std::error_code failure;
  const std::filesystem::path absolute = std::filesystem::absolute(chosen, failure);
  file_ = failure ? chosen : absolute.string();
  document_.revision = 1;
  write();
  revision_ = document_.revision;
  written_ = document_.roles;
}

ELASTIC_DECL void role_board::listen(listener call) { listeners_.push_back(std::move(call)); }

ELASTIC_DECL void role_board::set_state(std::size_t role, std::string_view state) {
  document_.roles[role].state = state;
  touch();
}

ELASTIC_DECL void role_board::set_ready(std::size_t role) {
  document_.roles[role].is_ready = true;
  touch();
}

ELASTIC_DECL void role_board::set_workers(std::size_t role, std::int64_t epoch,
                                          std::vector<job_roles::worker> workers) {
  document_.roles[role].epoch = epoch;
  document_.roles[role].workers = std::move(workers);
  touch();
}

ELASTIC_DECL void role_board::clear_workers(std::size_t role) {
  document_.roles[role].is_ready = false;
  document_.roles[role].workers.clear();
  touch();
}

ELASTIC_DECL void role_board::touch() {
  if (std::exchange(is_touched_, true)) return;
  post_work(strand_, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->publish();
  });
}

ELASTIC_DECL void role_board::publish() {
  is_touched_ = false;
  if (document_.roles == written_) return;
  ++document_.revision;
  try {
    write();
  } catch (const std::exception& failure) {
    // The workers keep the last file; the next change is written again.
    if (!std::exchange(has_failed_, true)) log_.warning("{}", failure.what());
    return;
  }
  has_failed_ = false;
  written_ = document_.roles;
  revision_ = document_.revision;
  std::erase_if(listeners_, [&](const listener& call) { return !call(document_.revision); });
}

/// Replaces the file atomically: a reader sees either the whole old file or the whole new one.
ELASTIC_DECL void role_board::write() const {
  const std::string fresh = file_ + ".new";
  const std::string text = roles_text(document_);
  const auto check = [&](bool is_done) {
    if (is_done) return;
    throw error(errc::file_access, fmt::format("the file of the roles '{}' cannot be written: {}",
                                               file_, errno_text(errno)));
  };
  // An existing file is removed: a link would be followed, and a FIFO would wait for a reader.
  ::unlink(fresh.c_str());
  constexpr mode_t of_user = 0600;
  unique_fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, of_user));
  check(static_cast<bool>(file));
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t written = ::write(file.get(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    check(written > 0);
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  check(::rename(fresh.c_str(), file_.c_str()) == 0);
}

}  // namespace elastic::detail
