// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/detail/program_path.hpp>

#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/mount_table.hpp>
#include <elastic/base/error.hpp>
#include <elastic/process/detail/signal_number.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <functional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL std::string seen_from(const std::string& directory, const std::string& path) {
  if (directory.empty() || path.starts_with('/')) return path;
  return directory + "/" + path;
}

/// The value of PATH in the environment, or the default of `execvp`.
inline std::string_view search_path(const process_spec& spec) {
  constexpr std::string_view name = "PATH=";
  for (std::string_view entry : spec.environment) {
    if (entry.starts_with(name)) return entry.substr(name.size());
  }
  return "/bin:/usr/bin";
}

enum class program_kind { missing, forbidden, executable };

inline program_kind look_at_program(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) {
    return errno == EACCES ? program_kind::forbidden : program_kind::missing;
  }
  if (S_ISDIR(status.st_mode)) return program_kind::missing;
  const bool allowed = ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0;
  return allowed ? program_kind::executable : program_kind::forbidden;
}

ELASTIC_DECL void refuse_unusable(const process_spec& spec) {
  const auto check = [&](const std::string& text, const char* subject) {
    if (text.find('\0') == text.npos) return;
    throw error(errc::invalid_argument, fmt::format("{} of program '{}' has a zero byte in it",
                                                    subject, spec.program.c_str()));
  };
  check(spec.program, "the name");
  check(spec.directory, "the working directory");
  for (const std::string& argument : spec.arguments) check(argument, "an argument");
  for (const std::string& entry : spec.environment) check(entry, "an environment variable");
  for (const int number : spec.ignored_signals) {
    require_signal(number, "process_spec::ignored_signals");
  }
}

ELASTIC_DECL std::string find_program(const process_spec& spec) {
  const std::string& name = spec.program;
  if (name.empty()) throw error(errc::program_not_found, "no program is named");
  if (name.find('/') != name.npos) return name;

  const std::string_view folders = search_path(spec);
  std::string forbidden;
  for (std::string_view rest = folders;;) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    std::string candidate(folder.empty() ? "." : folder);
    candidate.append("/").append(name);
    const program_kind kind = look_at_program(seen_from(spec.directory, candidate));
    if (kind == program_kind::executable) return candidate;
    if (kind == program_kind::forbidden && forbidden.empty()) forbidden = candidate;
    if (colon == rest.npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (!forbidden.empty()) {
    throw error(errc::program_not_executable,
                fmt::format("program '{}' cannot be executed: {}", forbidden, errno_text(EACCES)));
  }
  throw error(errc::program_not_found,
              fmt::format("program '{}' was not found in PATH ({})", name, folders));
}

/// Whether finding or starting the program may block on a file system that does not answer.
inline bool start_may_hang(const process_spec& spec) {
  if (!spec.directory.empty() && may_hang(spec.directory)) return true;
  if (spec.program.find('/') != spec.program.npos) {
    return may_hang(seen_from(spec.directory, spec.program));
  }
  for (std::string_view rest = search_path(spec);;) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    // The file may be a link to another file system than its folder's.
    const std::string candidate = fmt::format("{}/{}", folder.empty() ? "." : folder, spec.program);
    if (may_hang(seen_from(spec.directory, candidate))) return true;
    if (colon == rest.npos) return false;
    rest.remove_prefix(colon + 1);
  }
}

ELASTIC_DECL task<std::string> find_program_on_thread(const process_spec& spec) {
  if (!start_may_hang(spec)) co_return find_program(spec);
  std::function<std::string()> work = [spec] {
    // Only fills the kernel's caches: the start itself reports problems with these paths.
    if (!spec.directory.empty()) (void)::access(spec.directory.c_str(), X_OK);
    const std::string path = find_program(spec);
    (void)::access(seen_from(spec.directory, path).c_str(), X_OK);
    return path;
  };
  co_return co_await run_blocking<std::string>(std::move(work));
}

}  // namespace elastic::detail
