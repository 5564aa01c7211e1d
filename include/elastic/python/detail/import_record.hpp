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

/// What a worker notes of its imports (see `import_recorder`): memory, in which it writes while the
/// agent reads. Another process may write anything, so it is given to a standby as it is, and no
/// more than `largest` of it.
///
/// Without the memory, as for want of descriptors, it is empty and nothing is noted.
class import_record {
 public:
  /// What a worker may note, in bytes.
  static constexpr std::size_t largest = 256 * 1024;

  ELASTIC_DECL import_record();

  /// What was noted until now.
  ELASTIC_DECL std::string text() const;

  /// How many bytes; more than before if more was noted.
  ELASTIC_DECL std::size_t size() const;

  /// "INODE:PATH", for the one that is to note; empty: nobody can.
  ELASTIC_DECL std::string place() const;

  /// The same worker, which notes what it imports. Unchanged if it cannot.
  ELASTIC_DECL process_spec recorded(process_spec spec) const;

 private:
  unique_fd memory_;
  /// What the worker runs before its script.
  hook_archive hook_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/detail/impl/import_record.ipp>
#endif
