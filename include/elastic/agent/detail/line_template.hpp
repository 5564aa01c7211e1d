// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/process/line_head.hpp>

#include <string>
#include <string_view>

namespace elastic::detail {

/// The template of what stands before each line that a worker's output is copied with: text in
/// which `${role_name}`, `${rank}`, `${local_rank}`, `${pid}`, `${hostname}` and `${time}` (or
/// `$rank`, and so on) stand for the worker's and `$$` for a `$`. A `$` that starts no name stays.
///
/// Source: torch.distributed.elastic's log_line_prefix_template, which leaves a name that it does
/// not know as it is, and has neither `${pid}` nor `${time}`.
class line_template {
 public:
  /// What torchrun prints: "[<role><local_rank>]:".
  line_template() : text_("[${role_name}${local_rank}]:") {}

  /// Empty text: as made by default.
  /// Errors: `errc::invalid_argument` for a field that there is not, naming those that there are.
  ELASTIC_DECL explicit line_template(const std::string& text);

  /// What stands before the lines of one worker.
  ELASTIC_DECL line_head head_of(const worker_identity& who, const std::string& host) const;

 private:
  ELASTIC_DECL static void add_field(line_head& head, std::string_view name,
                                     const worker_identity& who, const std::string& host);

  std::string text_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/impl/line_template.ipp>
#endif
