// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/journal_reader.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/telemetry/journal_file.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

[[noreturn]] inline void refuse_journal(const std::string& path, const std::string& why) {
  throw error(errc::file_access, fmt::format("the journal {} {}", in_quotes(path), why));
}

inline std::string journal_text_of(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) {
    refuse_journal(path, failure ? "cannot be read: " + failure.message() : "is not a file");
  }
  std::ifstream file(path, std::ios::binary);
  const auto size = std::filesystem::file_size(path, failure);
  if (!file || failure) refuse_journal(path, "cannot be read: " + errno_text(errno));
  if (size > limits::journal_read_bytes) {
    refuse_journal(
        path, fmt::format("is {} bytes long; up to {} are read", size, limits::journal_read_bytes));
  }
  // One byte more than there are, so that a file that cannot be read is not taken for an empty one.
  std::string text(static_cast<std::size_t>(size) + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) refuse_journal(path, "cannot be read: " + errno_text(errno));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

/// The files of a journal, oldest first.
inline std::vector<std::string> journal_parts(const std::string& path) {
  std::vector<std::string> parts{path};
  std::error_code failure;
  for (int number = 1; number < 1000; ++number) {
    std::string part = fmt::format("{}.{}", path, number);
    if (!std::filesystem::is_regular_file(part, failure)) break;
    parts.insert(parts.begin(), std::move(part));
  }
  return parts;
}

/// The run of a journal, and its first and last time, in microseconds since 1970.
struct journal_head {
  std::string path;
  std::string run_id;
  std::int64_t began_us = 0;
  std::int64_t last_us = 0;

  bool overlaps(const journal_head& other) const {
    return began_us <= other.last_us && other.began_us <= last_us;
  }
};

/// The time of the last write to a file.
inline std::int64_t last_write_us(const std::string& path) {
  std::error_code failure;
  const auto time = std::filesystem::last_write_time(path, failure);
  if (failure) return 0;
  const auto since = std::chrono::file_clock::to_sys(time).time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

/// The run id of the job: in one of several roles, that of a role is "JOB/ROLE".
inline std::string run_id_of_job(const job_event& first) {
  const std::string end = "/" + first.role;
  if (first.role.empty() || !first.run_id.ends_with(end)) return first.run_id;
  return first.run_id.substr(0, first.run_id.size() - end.size());
}

/// None of a file whose first line is not a record.
inline std::optional<journal_head> journal_head_of(const std::string& path) {
  std::ifstream file(journal_parts(path).front(), std::ios::binary);
  std::string line(limits::journal_line_bytes, '\0');
  file.read(line.data(), static_cast<std::streamsize>(line.size()));
  line.resize(static_cast<std::size_t>(file.gcount()));
  line.resize(std::min(line.find('\n'), line.size()));
  try {
    const journal_record first = parse_journal_line(line);
    return journal_head{path, run_id_of_job(first.event), first.time_us,
                        std::max(first.time_us, last_write_us(path))};
  } catch (const error&) {
    return std::nullopt;
  }
}

inline std::vector<journal_head> journal_heads_below(const std::filesystem::path& directory) {
  std::vector<journal_head> heads;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(directory, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::filesystem::path path = entry->path() / journal_file_name;
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) continue;
    if (auto head = journal_head_of(path.string())) heads.push_back(std::move(*head));
  }
  return heads;
}

/// The journals of the run that was begun last. A run id may be used again: what was over before
/// any of them began is of an earlier run.
inline std::vector<journal_head> heads_of_newest_run(std::vector<journal_head> heads) {
  std::sort(heads.begin(), heads.end(),
            [](const auto& a, const auto& b) { return a.began_us > b.began_us; });
  std::vector<journal_head> run;
  for (const journal_head& head : heads) {
    const bool belongs = std::any_of(run.begin(), run.end(), [&](const journal_head& other) {
      return other.run_id == head.run_id && other.overlaps(head);
    });
    if (run.empty() || belongs) run.push_back(head);
  }
  return run;
}

ELASTIC_DECL journal_contents parse_journal(std::string_view text) {
  journal_contents contents;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    contents.is_torn = end == text.npos;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(contents.is_torn ? text.size() : end + 1);
    if (line.empty()) continue;
    try {
      contents.records.push_back(parse_journal_line(line));
      contents.is_torn = false;
    } catch (const error& refusal) {
      // The beginning of a record; anything else without an end was not written by a job.
      contents.is_torn = contents.is_torn && line.front() == '{';
      if (contents.is_torn) break;
      if (contents.refused_lines++ == 0) contents.first_refusal = refusal.what();
    }
  }
  return contents;
}

ELASTIC_DECL journal_contents read_journal(const std::string& path) {
  journal_contents whole;
  for (const std::string& part : journal_parts(path)) {
    journal_contents contents = parse_journal(journal_text_of(part));
    std::move(contents.records.begin(), contents.records.end(), std::back_inserter(whole.records));
    whole.refused_lines += contents.refused_lines;
    if (whole.first_refusal.empty()) whole.first_refusal = contents.first_refusal;
    whole.is_torn = contents.is_torn;
  }
  if (whole.records.empty() && whole.refused_lines > 0) {
    refuse_journal(path, fmt::format("is not a journal: {}", whole.first_refusal));
  }
  return whole;
}

ELASTIC_DECL std::vector<std::string> find_journals(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (!fs::exists(status)) {
    throw error(errc::file_access, fmt::format("the log directory or journal {} does not exist",
                                               in_quotes(path)));
  }
  if (!fs::is_directory(status)) return {path};
  const fs::path direct = fs::path(path) / journal_file_name;
  if (fs::is_regular_file(direct, failure)) return {direct.string()};
  const std::vector<journal_head> heads = journal_heads_below(path);
  if (heads.empty()) {
    throw error(errc::file_access,
                fmt::format("no journal is in {}: {} is looked for there and in the directories "
                            "of runs that are in it",
                            in_quotes(path), journal_file_name));
  }
  std::vector<std::string> paths;
  for (const journal_head& head : heads_of_newest_run(heads)) {
    paths.push_back(head.path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace elastic::detail
