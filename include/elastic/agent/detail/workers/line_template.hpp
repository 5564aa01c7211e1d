// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/contract/environment.hpp>
#include <elastic/process/line_head.hpp>

#include <string>
#include <string_view>

namespace elastic::detail {

/// The template of the prefix of each copied line of a worker's output: text in which
/// `${role_name}`, `${rank}`, `${local_rank}`, `${pid}`, `${hostname}` and `${time}` (or `$rank`,
/// and so on) are replaced by the worker's values and `$$` by a `$`. A `$` that does not begin a
/// name is kept.
///
/// Source: torch.distributed.elastic's log_line_prefix_template, which keeps unknown names
/// unchanged and has neither `${pid}` nor `${time}`.
class line_template {
 public:
  /// torchrun's prefix: "[<role><local_rank>]:".
  line_template() : text_("[${role_name}${local_rank}]:") {}

  /// Empty text: the default template.
  /// Errors: `errc::invalid_argument` for an unknown field; the message lists the known ones.
  ELASTIC_DECL explicit line_template(const std::string& text);

  /// The prefix of one worker's lines.
  ELASTIC_DECL line_head head_of(const worker_identity& who, const std::string& host) const;

 private:
  ELASTIC_DECL static void add_field(line_head& head, std::string_view name,
                                     const worker_identity& who, const std::string& host);

  std::string text_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/agent/detail/workers/line_template.ipp>
#endif
