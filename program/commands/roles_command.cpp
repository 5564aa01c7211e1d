// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/commands/roles_command.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/contract/detail/roles_document.hpp>
#include <elastic/status/detail/journal_reader.hpp>
#include <program/commands/lost_agent.hpp>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include <fmt/format.h>

namespace elasticrun {

namespace fs = std::filesystem;
using elastic::errc;
using elastic::error;
using elastic::job_roles;

namespace {

constexpr const char* file_name = "roles.json";

/// The newest log directory of a job of roles in a folder; empty if there is none.
fs::path newest_below(const fs::path& folder) {
  fs::path newest;
  fs::file_time_type time;
  std::error_code failure;
  for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const fs::path file = entry->path() / file_name;
    std::error_code missing;
    const fs::file_time_type written = fs::last_write_time(file, missing);
    if (missing || (!newest.empty() && written < time)) continue;
    newest = file;
    time = written;
  }
  return newest;
}

std::string file_at(const std::string& path) {
  std::error_code failure;
  if (!fs::is_directory(path, failure)) return path;
  if (fs::exists(fs::path(path) / file_name, failure)) return fs::path(path) / file_name;
  const fs::path newest = newest_below(path);
  if (!newest.empty()) return newest;
  throw error(errc::file_access,
              fmt::format("roles: there is no {} in {}, nor in a folder there: is it the log "
                          "directory of a job of several roles?",
                          file_name, elastic::in_quotes(path)));
}

[[noreturn]] void refuse_file(const std::string& path, const std::string& why) {
  throw error(errc::file_access, fmt::format("roles: {} {}", elastic::in_quotes(path), why));
}

std::string text_at(const std::string& path) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  // Opening a pipe would wait for its writer.
  if (fs::exists(status) && !fs::is_regular_file(status)) refuse_file(path, "is not a file");
  struct closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  const std::unique_ptr<std::FILE, closer> file(std::fopen(path.c_str(), "rbe"));
  std::string text;
  constexpr std::size_t piece = 64 * 1024;
  for (std::size_t size = piece; file && size == piece;) {
    if (text.size() > elastic::limits::roles_file_bytes) {
      refuse_file(path, fmt::format("is longer than {} bytes; up to that many are read",
                                    elastic::limits::roles_file_bytes));
    }
    const std::size_t before = text.size();
    text.resize(before + piece);
    size = std::fread(text.data() + before, 1, piece, file.get());
    text.resize(before + size);
  }
  if (file && std::ferror(file.get()) == 0) return text;
  refuse_file(path, "cannot be read: " + elastic::errno_text(errno));
}

std::string line_of(const job_roles::role& role, std::size_t width) {
  std::string text = fmt::format("{:<{}}  {}", role.name, width, role.state);
  if (role.is_ready) text += ", ready";
  if (role.epoch) text += fmt::format(", round {}", *role.epoch);
  if (!role.workers.empty()) {
    const std::size_t count = role.workers.size();
    text += fmt::format(", {} worker{}", count, count == 1 ? "" : "s");
  }
  text = elastic::printable_line(text) + "\n";
  for (const job_roles::worker& worker : role.workers) {
    std::string line =
        fmt::format("rank {} on {} ({})", worker.rank, worker.node, worker.address);
    for (const auto& [name, port] : worker.ports) line += fmt::format(", {} {}", name, port);
    text += fmt::format("{:{}}  {}\n", "", width, elastic::printable_line(line));
  }
  return text;
}

bool may_change(const job_roles::role& role) {
  return role.state == "waiting" || role.state == "running" || role.state == "stopping";
}

/// A remark for a job whose agent was killed, so that the file no longer changes. The journal
/// beside the file names the agent's process.
std::string word_on_agent(const fs::path& file, const job_roles& document) {
  if (std::none_of(document.roles.begin(), document.roles.end(), may_change)) return {};
  try {
    const std::string journal = file.parent_path() / "journal.jsonl";
    const auto lost = find_lost_agent(elastic::detail::read_journal(journal), journal);
    return lost ? lost->sentence("the roles were as above then.") : "";
  } catch (const error&) {
    return {};
  }
}

/// Parses the file. If it does not describe roles, the error names it.
job_roles document_in(const std::string& file, const std::string& text) {
  try {
    return elastic::detail::parse_roles(text);
  } catch (const error& failure) {
    throw error(errc::invalid_argument,
                fmt::format("roles: {}: {}", elastic::in_quotes(file), failure.what()));
  }
}

}  // namespace

std::string shown_roles(const std::vector<std::string>& arguments,
                        const elastic::environment_map& environment) {
  bool as_json = false;
  std::optional<std::string> path;
  for (const std::string& argument : arguments) {
    if (argument == "--json") {
      as_json = true;
    } else if (argument.starts_with("-") || path) {
      throw error(errc::invalid_argument,
                  fmt::format("roles: {} cannot be used; see elasticrun roles --help",
                              elastic::in_quotes(argument)));
    } else {
      path = argument;
    }
  }
  if (!path) path = elastic::find_variable(environment, "ELASTIC_ROLES");
  if (!path || path->empty()) {
    throw error(errc::invalid_argument, "roles: which job? Name its log directory");
  }
  const std::string file = file_at(*path);
  const std::string text = text_at(file);
  const job_roles document = document_in(file, text);
  if (as_json) return elastic::detail::roles_text(document);
  std::size_t width = 0;
  for (const job_roles::role& role : document.roles) width = std::max(width, role.name.size());
  std::string shown;
  for (const job_roles::role& role : document.roles) shown += line_of(role, width);
  return shown + word_on_agent(file, document);
}

}  // namespace elasticrun
