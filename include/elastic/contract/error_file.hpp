// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// How a worker reports its failure: torchelastic's error file (TORCHELASTIC_ERROR_FILE), written
// by C++ workers and by PyTorch's @record, read back by the agent. Includes the whole of
// nlohmann/json, because reading and writing are inline.

#include <elastic/base/config.hpp>
#include <elastic/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

namespace elastic {

/// The content of a worker's error file.
struct error_file_content {
  /// "ValueError: no such column"; if the file cannot be understood, a sentence that says so.
  std::string message;
  /// The traceback, several lines; empty if there is none.
  std::optional<std::string> callstack;
  /// Seconds since 1970 at which the worker failed; 0 if the file does not say.
  std::int64_t timestamp = 0;
  /// When the file was written, more precise than `timestamp`; empty if no file was read.
  std::optional<wall_time> written;
  /// The JSON text of the file; JSON with only `message` if the file is not JSON.
  std::string raw_json;
  /// Why the file cannot be understood; empty if it can.
  std::optional<std::string> unparsable;
};

namespace detail {

/// The deepest nesting of an error report. Writing a deeper one back would recurse as deeply.
inline constexpr int error_file_depth = 64;
/// The most members. An object that keeps their order looks each one up by a linear search.
inline constexpr int error_file_members = 4096;

/// `text` as a JSON string, as Python's json.dumps writes it: ASCII only, invalid UTF-8 replaced.
ELASTIC_DECL std::string json_quoted(std::string_view text);

/// Why the text exceeds the bounds above; empty if it does not. A callback of the parser would not
/// do: it runs only after the level or member has been created.
ELASTIC_DECL std::optional<std::string> beyond_json_bounds(std::string_view text,
                                                           int most_members = error_file_members);

/// The same error in at most `most` bytes, at least 1,024: the begin of its message, the end of its
/// traceback, its time and exit code. `text` itself if it is short enough.
ELASTIC_DECL std::string shortened_error(const std::string& text, std::size_t most);

/// The description in an error message of nlohmann/json, without the library's error number.
ELASTIC_DECL std::string json_complaint(std::string_view text);

}  // namespace detail

/// Parses the text of an error file: `{"message": {"message": …, "extraInfo": {"py_callstack": …,
/// "timestamp": …}}}`, or with a plain text as `message` and "timestamp" beside it.
///
/// Result: never fails; for text of any other form `unparsable` says what is wrong.
ELASTIC_DECL error_file_content parse_error_file(std::string_view text);

/// Reads the error file that a worker may have left.
///
/// Result: empty if there is no such file. If it cannot be read or understood, or is larger than
/// `limits::error_file_bytes`, `unparsable` says what is wrong. Does not block, even if the file is
/// a pipe.
ELASTIC_DECL std::optional<error_file_content> read_error_file(const std::string& path);

/// The text of an error file as PyTorch's `@record` writes it.
///
/// `callstack` may be empty: the schema's "py_callstack" is then left out and readers show the
/// message. `timestamp` is in seconds since 1970.
ELASTIC_DECL std::string error_file_text(std::string_view message, std::string_view callstack,
                                         std::int64_t timestamp);

/// Atomically replaces the file at `path` by `text`: a reader sees the old file or the complete new
/// one. A file that cannot be replaced, because it is a mount or its directory is not writable, is
/// overwritten in place if it is a regular file without other names that belongs to this user or to
/// root; a link is never followed.
///
/// Kubernetes reads only the last 4,096 bytes of `/dev/termination-log`: a longer text is written
/// there as the shorter one of `detail::shortened_error`.
///
/// Errors: `errc::file_access`; the message names the file, and no temporary file is left. What is
/// there stays as it is if it is not a regular file.
ELASTIC_DECL void write_error_file(const std::string& path, std::string_view text);

/// The text that a launcher writes to its own error file: that of the failed worker, with the
/// worker's exit code (or negative signal number) added as `message.errorCode`. If `message` is a
/// plain text, it is not changed.
ELASTIC_DECL std::string launcher_error_file_text(const error_file_content& content, int exit_code);

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/contract/impl/error_file.ipp>
#endif
