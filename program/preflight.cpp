// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/preflight.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/detail/mount_table.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/version.hpp>
#include <elastic/launch/launch_config.hpp>
#include <elastic/net/detail/local_interface.hpp>
#include <elastic/process/detail/guard_file.hpp>
#include <elastic/process/guard_policy.hpp>
#include <elastic/process/guarded_launcher.hpp>
#include <program/guard_trial.hpp>
#include <program/limits.hpp>

#include <netdb.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elasticrun {

namespace detail = elastic::detail;

namespace {

/// The script must be a readable file or a readable directory with a __main__.py.
void check_script(const std::string& script) {
  namespace fs = std::filesystem;
  std::error_code failure;
  fs::path file = script;
  const fs::file_type type = fs::status(file, failure).type();
  if (type == fs::file_type::directory) {
    file /= "__main__.py";
    if (!fs::exists(file, failure)) {
      throw elastic::error(elastic::errc::file_access,
                           fmt::format("the script {} is a directory without a "
                                       "__main__.py",
                                       elastic::in_quotes(script)));
    }
  } else if (type != fs::file_type::regular) {
    throw elastic::error(elastic::errc::file_access,
                         fmt::format("the script {} {}", elastic::in_quotes(script),
                                     type == fs::file_type::not_found ? "does not exist"
                                     : failure                        ? failure.message()
                                                                      : "is not a file"));
  }
  if (::access(file.c_str(), R_OK) != 0) {
    throw elastic::error(elastic::errc::file_access, fmt::format("the script {} cannot be read: {}",
                                                                 elastic::in_quotes(file.string()),
                                                                 elastic::errno_text(errno)));
  }
}

/// The log directory must be writable or creatable.
void check_log_directory(const std::string& directory) {
  namespace fs = std::filesystem;
  if (directory.empty() || directory == "/dev/null") return;
  std::error_code failure;
  fs::path nearest = fs::absolute(directory, failure);
  while (!failure && !fs::exists(nearest, failure) && nearest.has_relative_path()) {
    nearest = nearest.parent_path();
  }
  const bool is_directory = !failure && fs::is_directory(nearest, failure);
  const bool writable = is_directory && ::access(nearest.c_str(), W_OK | X_OK) == 0;
  if (writable) return;
  std::string reason = failure ? failure.message() : elastic::errno_text(errno);
  if (!failure && !is_directory) reason = elastic::errno_text(ENOTDIR);
  throw elastic::error(elastic::errc::file_access,
                       fmt::format("the log directory {} is not writable: {}",
                                   elastic::in_quotes(directory), reason));
}

/// Performs a check that may hang, and waits at most `most` for it. A late answer is ignored.
void check_within(std::chrono::milliseconds most, std::function<void()> work) {
  using check = std::packaged_task<void()>;
  const auto asking = std::make_shared<check>(std::move(work));
  std::future<void> answer = asking->get_future();
  try {
    detail::start_thread([asking] { (*asking)(); }).detach();
  } catch (const std::system_error&) {
    return;
  }
  if (answer.wait_for(most) == std::future_status::ready) answer.get();
}

/// Whether a name may be that of a host: false only if the resolver says that there is no such
/// host, not if it cannot be asked.
bool may_be_host(const std::string& name) {
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(name.c_str(), nullptr, nullptr, &found);
  if (failure == 0) ::freeaddrinfo(found);
  return failure != EAI_NONAME;
}

/// The file must be writable or creatable. Checks nothing in a file system that may not answer:
/// everything that writes there uses its own thread.
void check_appendable(const char* purpose, const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty() || detail::may_hang(path)) return;
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  const fs::path folder = fs::absolute(path, failure).parent_path();
  std::string reason;
  if (fs::is_directory(status)) {
    reason = elastic::errno_text(EISDIR);
  } else if (!fs::exists(status) && fs::is_regular_file(folder, failure)) {
    reason = elastic::errno_text(ENOTDIR);
  } else if (fs::exists(status) ? ::access(path.c_str(), W_OK) != 0
                                : ::access(folder.c_str(), W_OK | X_OK) != 0) {
    reason = elastic::errno_text(errno);
  }
  if (reason.empty()) return;
  throw elastic::error(
      elastic::errc::file_access,
      fmt::format("the {} {} cannot be written: {}", purpose, elastic::in_quotes(path), reason));
}

/// The directory of a drain file must exist; the file itself may appear later.
void check_drain_file(const std::string& path) {
  namespace fs = std::filesystem;
  if (path.empty()) return;
  const fs::path file(path);
  const fs::path directory = file.has_parent_path() ? file.parent_path() : fs::path(".");
  std::error_code failure;
  if (!file.has_filename()) {
    throw elastic::error(elastic::errc::invalid_argument,
                         fmt::format("the drain file {} has no name", elastic::in_quotes(path)));
  }
  if (fs::is_directory(directory, failure)) return;
  throw elastic::error(elastic::errc::file_access,
                       fmt::format("the directory {} of the drain file does not exist",
                                   elastic::in_quotes(directory.string())));
}

/// Runs a task to its end, but does not wait for processes that the kernel has not ended yet.
std::string run_alone(elastic::task<std::string> work) {
  elastic::asio::io_context context(1);
  std::exception_ptr failure;
  std::string result;
  elastic::asio::co_spawn(context, std::move(work),
                          [&](std::exception_ptr thrown, std::string value) {
                            failure = thrown;
                            result = std::move(value);
                            context.stop();
                          });
  context.run();
  if (failure) std::rethrow_exception(failure);
  return result;
}

/// The file that ELASTIC_GUARD names must be a guard of this version, unless workers have no guard.
void check_guard(const elastic::launch_config& job) {
  if (job.guard_file.empty() || job.guard == elastic::guard_policy::none) return;
  const auto file = detail::guard_sources(job.guard_file).next();
  std::string problem = file->problem;
  if (problem.empty()) {
    elastic::guarded_launcher::options options;
    options.policy = job.guard;
    options.guard_file = job.guard_file;
    problem = run_alone(guard_problem(std::move(options)));
  }
  if (problem.empty()) return;
  throw elastic::error(
      elastic::errc::invalid_argument,
      fmt::format("ELASTIC_GUARD {}: {}; it has to name an executable elastic-guard of version {}, "
                  "or be unset for the built-in one",
                  elastic::in_quotes(job.guard_file), problem, elastic::version_text));
}

/// Whether --local-addr has an effect. A job that meets no other nodes does not need it, nor does
/// the backend static without a wire-up; a warning says so.
bool uses_local_address(const elastic::program_config& config) {
  const elastic::rendezvous_parameters& meeting = config.job.rendezvous;
  if (config.job.standalone) return false;
  return meeting.backend != "static" || (meeting.max_nodes > 1 && !config.wire.kinds.empty());
}

}  // namespace

void check_local_address(const std::string& text,
                         const std::vector<elastic::detail::local_interface>& interfaces,
                         const std::function<bool(const std::string&)>& may_be_host) {
  // Whether this host has an address in a network is found out before the nodes meet.
  if (text.empty() || text.find('/') != std::string::npos) return;
  detail::asio_error_code failure;
  const elastic::asio::ip::address address = elastic::asio::ip::make_address(text, failure);
  if (!failure && address.is_unspecified()) {
    throw elastic::error(
        elastic::errc::invalid_argument,
        fmt::format("--local-addr {}: it means every address of a host; name the one at which "
                    "other nodes reach this host",
                    elastic::in_quotes(text)));
  }
  if (!failure) return;
  std::string names;
  for (const elastic::detail::local_interface& each : interfaces) {
    if (each.name == text) return;
    names += (names.empty() ? "" : ", ") + each.name;
  }
  if (may_be_host(text)) return;
  throw elastic::error(
      elastic::errc::invalid_argument,
      fmt::format("--local-addr {}: it is not an address, a network, or an interface of this host "
                  "(which has {}), and no host has this name",
                  elastic::in_quotes(text), names.empty() ? "none" : names));
}

std::optional<elastic::early_exit> check_files(const elastic::program_config& config) {
  try {
    if (!config.script.empty()) check_script(config.script);
    if (detail::may_hang(config.job.workers.log_dir)) {
      // Everything that writes there uses its own thread.
      check_within(limits::log_directory_check,
                   [directory = config.job.workers.log_dir] { check_log_directory(directory); });
    } else {
      check_log_directory(config.job.workers.log_dir);
    }
    check_appendable("journal", config.job.workers.journal);
    check_appendable("trace", config.program.trace);
    check_drain_file(config.program.drain_file);
    // Each role of a job file has its own setting.
    if (config.job_file.empty()) check_guard(config.job);
    if (uses_local_address(config)) {
      check_within(limits::host_look_up, [text = config.job.rendezvous.local_addr] {
        check_local_address(text, elastic::detail::local_interfaces(), may_be_host);
      });
    }
  } catch (const elastic::error& refusal) {
    return elastic::refuse(refusal.what());
  }
  return std::nullopt;
}

}  // namespace elasticrun
