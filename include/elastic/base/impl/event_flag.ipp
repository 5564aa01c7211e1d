// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/event_flag.hpp>

namespace elastic {

ELASTIC_DECL void event_flag::set() {
  is_set_ = true;
  while (!waiting_.empty()) waiting_.wake_first();
}

ELASTIC_DECL task<void> event_flag::wait() {
  // Does not touch the flag after the wait, because it may be gone by then.
  if (!is_set_) co_await waiting_.wait();
}

}  // namespace elastic
