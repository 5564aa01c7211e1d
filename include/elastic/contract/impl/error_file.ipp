// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/error_file.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_document.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic {

namespace detail {

ELASTIC_DECL std::string json_quoted(std::string_view text) {
  using json = nlohmann::ordered_json;
  return json(text).dump(-1, ' ', true, json::error_handler_t::replace);
}

/// A value as Python's json.dumps writes it, with a space after each comma and colon.
inline std::string json_dumped(const nlohmann::ordered_json& value) {
  if (!value.is_structured()) {
    return value.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
  }
  std::string body;
  for (const auto& [key, element] : value.items()) {
    if (!body.empty()) body += ", ";
    if (value.is_object()) body += json_quoted(key) + ": ";
    body += json_dumped(element);
  }
  return value.is_object() ? "{" + body + "}" : "[" + body + "]";
}

inline error_file_content unparsable_error_file(std::string reason) {
  constexpr std::size_t longest = 300;
  if (reason.size() > longest) reason.resize(longest);
  error_file_content content;
  content.message = "the error file cannot be understood: " + reason;
  content.raw_json = fmt::format("{{\"message\": {}}}", json_quoted(content.message));
  content.unparsable = std::move(reason);
  return content;
}

/// A time of the schema: a number or (as torchelastic writes it) a text of digits.
inline std::int64_t error_file_timestamp(const nlohmann::ordered_json& value) {
  constexpr double largest = 253402300799.0;  // the end of the year 9999
  if (value.is_number()) {
    const double seconds = value.get<double>();
    return seconds > 0 && seconds <= largest ? static_cast<std::int64_t>(seconds) : 0;
  }
  if (!value.is_string()) return 0;
  const auto& text = value.get_ref<const std::string&>();
  std::int64_t seconds = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, seconds);
  const bool whole = failure == std::errc() && stop == end;
  return whole && seconds > 0 && static_cast<double>(seconds) <= largest ? seconds : 0;
}

inline std::string text_or_json(const nlohmann::ordered_json& value) {
  return value.is_string() ? value.get<std::string>() : json_dumped(value);
}

ELASTIC_DECL std::optional<std::string> beyond_json_bounds(std::string_view text,
                                                           int most_members) {
  int depth = 0;
  int members = 0;
  bool quoted = false;
  for (std::size_t index = 0; index < text.size(); ++index) {
    const char letter = text[index];
    if (quoted && letter == '\\') {
      ++index;
    } else if (letter == '"') {
      quoted = !quoted;
    } else if (!quoted && (letter == '{' || letter == '[')) {
      if (++depth > error_file_depth) {
        return fmt::format("nested more than {} levels deep", error_file_depth);
      }
    } else if (!quoted && (letter == '}' || letter == ']')) {
      --depth;
    } else if (!quoted && letter == ':' && ++members > most_members) {
      return fmt::format("more than {} members", most_members);
    }
  }
  return std::nullopt;
}

ELASTIC_DECL std::string json_complaint(std::string_view text) {
  const std::size_t end = text.starts_with('[') ? text.find("] ") : std::string_view::npos;
  return std::string(end == std::string_view::npos ? text : text.substr(end + 2));
}

}  // namespace detail

ELASTIC_DECL error_file_content parse_error_file(std::string_view text) {
  if (text.size() > limits::error_file_bytes) {
    return detail::unparsable_error_file(
        fmt::format("larger than {} bytes", limits::error_file_bytes));
  }
  if (auto reason = detail::beyond_json_bounds(text)) {
    return detail::unparsable_error_file(std::move(*reason));
  }
  try {
    std::string complaint;
    const auto root = detail::parse_json(text, &complaint, detail::error_file_members);
    if (root.is_discarded()) {
      return detail::unparsable_error_file(detail::json_complaint(complaint));
    }
    if (!root.is_object()) return detail::unparsable_error_file("not a JSON object");
    const auto message = root.find("message");
    if (message == root.end()) return detail::unparsable_error_file("it has no \"message\"");
    error_file_content content;
    content.raw_json = text;
    if (message->is_string()) {
      content.message = message->get<std::string>();
      if (const auto stamp = root.find("timestamp"); stamp != root.end()) {
        content.timestamp = detail::error_file_timestamp(*stamp);
      }
      return content;
    }
    if (!message->is_object()) {
      return detail::unparsable_error_file("\"message\" is neither a text nor an object");
    }
    const auto inner = message->find("message");
    content.message = inner == message->end() ? "<N/A>" : detail::text_or_json(*inner);
    const auto extra = message->find("extraInfo");
    if (extra == message->end() || !extra->is_object()) return content;
    if (const auto stack = extra->find("py_callstack"); stack != extra->end()) {
      content.callstack = detail::text_or_json(*stack);
    }
    if (const auto stamp = extra->find("timestamp"); stamp != extra->end()) {
      content.timestamp = detail::error_file_timestamp(*stamp);
    }
    return content;
  } catch (const std::exception& failure) {
    return detail::unparsable_error_file(detail::json_complaint(failure.what()));
  }
}

ELASTIC_DECL std::optional<error_file_content> read_error_file(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return detail::unparsable_error_file(errno_text(errno));
  }
  struct stat about{};
  if (::fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
    ::close(file);
    return detail::unparsable_error_file("not a regular file");
  }
  std::string text;
  int failure = 0;
  while (text.size() <= limits::error_file_bytes) {
    char part[16 * 1024];
    const ssize_t count = ::read(file, part, sizeof part);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) failure = errno;
    if (count <= 0) break;
    text.append(part, static_cast<std::size_t>(count));
  }
  ::close(file);
  if (failure != 0) return detail::unparsable_error_file(errno_text(failure));
  error_file_content content = parse_error_file(text);
  content.written = wall_time(std::chrono::duration_cast<wall_time::duration>(
      std::chrono::seconds(about.st_mtim.tv_sec) +
      std::chrono::nanoseconds(about.st_mtim.tv_nsec)));
  return content;
}

ELASTIC_DECL std::string error_file_text(std::string_view message, std::string_view callstack,
                                         std::int64_t timestamp) {
  const std::string stack =
      callstack.empty() ? ""
                        : fmt::format("\"py_callstack\": {}, ", detail::json_quoted(callstack));
  return fmt::format(
      "{{\"message\": {{\"message\": {}, \"extraInfo\": {{{}\"timestamp\": \"{}\"}}}}}}",
      detail::json_quoted(message), stack, timestamp);
}

namespace detail {

inline bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(file, text.data(), text.size());
    if (count < 0 && errno != EINTR) return false;
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

/// Replaces a file at once. Result: 0, or errno; then no draft is left.
inline int replace_file(const std::string& path, std::string_view text) {
  const std::string draft = fmt::format("{}.{}.tmp", path, ::getpid());
  // In a directory that others may write in, a link could be here.
  ::unlink(draft.c_str());
  const unique_fd file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return errno;
  if (write_all(file.get(), text) && ::rename(draft.c_str(), path.c_str()) == 0) return 0;
  const int number = errno;
  ::unlink(draft.c_str());
  return number;
}

/// Overwrites a file that cannot be replaced. Result: 0, or errno; EPERM for a file of another
/// user, and for one that also has another name.
inline int overwrite_file(const std::string& path, std::string_view text) {
  const unique_fd file(::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat about{};
  if (!file || ::fstat(file.get(), &about) != 0) return errno;
  const bool is_own = about.st_uid == ::geteuid() || about.st_uid == 0;
  if (!S_ISREG(about.st_mode) || !is_own || about.st_nlink != 1) return EPERM;
  return ::ftruncate(file.get(), 0) == 0 && write_all(file.get(), text) ? 0 : errno;
}

ELASTIC_DECL std::string shortened_error(const std::string& text, std::size_t most) {
  if (text.size() <= most) return text;
  const error_file_content content = parse_error_file(text);
  const std::string message = content.message.substr(0, most / 8);
  std::string stack = content.callstack.value_or("");
  if (stack.size() > most) stack.erase(0, stack.size() - most);
  const auto root = parse_json(text, nullptr, error_file_members);
  const nlohmann::ordered_json::json_pointer place("/message/errorCode");
  const bool has_code = root.is_object() && root.contains(place) && root[place].is_number_integer();
  const int code = has_code ? root[place].get<int>() : 0;
  for (;;) {
    const std::string shorter = launcher_error_file_text(
        parse_error_file(error_file_text(message, stack, content.timestamp)), code);
    if (shorter.size() <= most || stack.empty()) return shorter;
    // A byte of the traceback takes up to six.
    stack.erase(0, std::max<std::size_t>(1, (shorter.size() - most) / 6));
  }
}

}  // namespace detail

ELASTIC_DECL void write_error_file(const std::string& path, std::string_view text) {
  constexpr std::size_t termination_log_bytes = 4096;
  std::string shorter;
  if (path == "/dev/termination-log") {
    text = shorter = detail::shortened_error(std::string(text), termination_log_bytes);
  }
  struct stat found{};
  const bool exists = ::lstat(path.c_str(), &found) == 0;
  const bool is_file = exists && S_ISREG(found.st_mode);
  const bool is_replaceable = !exists || is_file || S_ISLNK(found.st_mode);
  int failure = is_replaceable ? detail::replace_file(path, text) : EEXIST;
  // On a full disk, the former content stays.
  const bool is_full = failure == ENOSPC || failure == EDQUOT;
  if (failure != 0 && is_file && !is_full) failure = detail::overwrite_file(path, text);
  if (failure == 0) return;
  const std::string why =
      is_replaceable ? errno_text(failure) : "something that is not a regular file is there";
  throw error(errc::file_access, fmt::format("cannot write error file {}: {}", path, why));
}

ELASTIC_DECL std::string launcher_error_file_text(const error_file_content& content,
                                                  int exit_code) {
  if (content.unparsable || exit_code == 0) return content.raw_json;
  auto root = detail::parse_json(content.raw_json, nullptr, detail::error_file_members);
  if (!root.is_object() || !root.contains("message")) return content.raw_json;
  if (root["message"].is_object()) root["message"]["errorCode"] = exit_code;
  return detail::json_dumped(root);
}

}  // namespace elastic
