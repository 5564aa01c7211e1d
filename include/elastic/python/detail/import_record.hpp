// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/process/process_spec.hpp>
#include <elastic/python/detail/hook_archive.hpp>

#include <cstddef>
#include <string>

namespace elastic::detail {

/// The imports that a worker records by embedded/import_recorder.py, in memory that the worker
/// writes while the agent reads. Its content is untrusted: it is passed to standbys unchanged, and
/// at most `largest` bytes of it.
///
/// If the memory could not be created, for example because descriptors ran out, it is empty and
/// nothing is recorded.
class import_record {
 public:
  /// The largest record, in bytes.
  static constexpr std::size_t largest = 256 * 1024;

  ELASTIC_DECL import_record();

  /// The record so far.
  ELASTIC_DECL std::string text() const;

  /// The size of the record in bytes; it grows when more is recorded.
  ELASTIC_DECL std::size_t size() const;

  /// "INODE:PATH", for the process that records; empty: recording is impossible.
  ELASTIC_DECL std::string place() const;

  /// The same worker, but recording its imports. Unchanged if that is impossible.
  ELASTIC_DECL process_spec recorded(process_spec spec) const;

 private:
  unique_fd memory_;
  /// The code that the worker runs before its script.
  hook_archive hook_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/detail/import_record.ipp>
#endif
