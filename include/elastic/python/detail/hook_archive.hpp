// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/process/process_spec.hpp>

#include <string>
#include <string_view>

namespace elastic::detail {

/// The path by which other processes of the same user open a descriptor of this one.
ELASTIC_DECL std::string path_of_own(int descriptor);

/// Python code that a worker runs before its script, as its `sitecustomize`: an archive in memory
/// of the agent, named by PYTHONPATH. Hooks chain: each removes its own entry and then runs the
/// `sitecustomize` that it hid, which may be another hook or the user's own.
class hook_archive {
 public:
  /// @param content  the code after embedded/hook_prelude.py
  ELASTIC_DECL explicit hook_archive(std::string_view content);

  /// False if memory or descriptors were lacking. `hooked` then changes nothing.
  bool exists() const { return static_cast<bool>(memory_); }

  /// The same process with the hook. Sets the variable to "HAD_PATH:VALUE". HAD_PATH is 1 if there
  /// was a PYTHONPATH, which `restore_path` needs to know.
  ELASTIC_DECL process_spec hooked(process_spec spec, const std::string& variable,
                                   std::string_view value) const;

 private:
  unique_fd memory_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/python/detail/hook_archive.ipp>
#endif
