// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

namespace elastic::detail {

// The beginning of the script of each page (status_page, roles_page).

inline constexpr char page_script_head[] = R"page("use strict";
// Whatever workers and nodes have said goes into the page by textContent alone.
const $ = id => document.getElementById(id);
const make = (tag, kind, text) => {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text !== undefined) made.textContent = text;
  return made;
};
const clock = us => new Date(us / 1000).toLocaleTimeString([], { hour12: false });
const isOver = document => ["succeeded", "failed", "stopped"].includes(document.state);

function pairsOf(facts) {
  return facts.map(([name, value]) => {
    const pair = make("div");
    pair.append(make("dt", "", name), make("dd", "", value));
    return pair;
  });
}
)page";

}  // namespace elastic::detail
