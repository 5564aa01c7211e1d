// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/agent/detail/workers/line_template.hpp>

#include <elastic/base/error.hpp>
#include <elastic/contract/detail/macros.hpp>

#include <cstddef>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL line_template::line_template(const std::string& text) : line_template() {
  if (!text.empty()) text_ = text;
  head_of({}, "");
}

ELASTIC_DECL line_head line_template::head_of(const worker_identity& who,
                                              const std::string& host) const {
  line_head head;
  for (std::string_view rest = text_; !rest.empty();) {
    const std::size_t dollar = rest.find('$');
    head.add_text(rest.substr(0, dollar));
    if (dollar == rest.npos) break;
    rest.remove_prefix(dollar + 1);
    if (rest.starts_with('$')) {
      head.add_text("$");
      rest.remove_prefix(1);
      continue;
    }
    const macro_reference reference = read_macro_reference(rest);
    if (reference.length == 0) {
      head.add_text("$");
    } else {
      add_field(head, reference.name, who, host);
    }
    rest.remove_prefix(reference.length);
  }
  return head;
}

ELASTIC_DECL void line_template::add_field(line_head& head, std::string_view name,
                                           const worker_identity& who, const std::string& host) {
  if (name == "role_name") {
    head.add_text(who.role_name);
  } else if (name == "rank") {
    head.add_text(std::to_string(who.rank));
  } else if (name == "local_rank") {
    head.add_text(std::to_string(who.local_rank));
  } else if (name == "hostname") {
    head.add_text(host);
  } else if (name == "pid") {
    head.add_pid();
  } else if (name == "time") {
    head.add_time();
  } else {
    throw error(errc::invalid_argument,
                fmt::format("a line prefix has no field '{}'; there are ${{role_name}}, ${{rank}}"
                            ", ${{local_rank}}, ${{pid}}, ${{hostname}} and ${{time}}, and $$ "
                            "means a $",
                            name));
  }
}

}  // namespace elastic::detail
