// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/telemetry/job_event.hpp>

#include <string>

namespace elastic::detail {

/// An event in plain words, for people: "rank 3 (local rank 1, pid 4711) failed: exit code 1". Each
/// event has a sentence. Text from other nodes is made printable.
ELASTIC_DECL std::string event_sentence(const job_event& event);

/// "rank 3 (local rank 1, pid 4711)", with as much of it as the event has.
ELASTIC_DECL std::string worker_words(const job_event& event);

/// The event's reason after a colon; empty if it has none.
ELASTIC_DECL std::string reason_words(const job_event& event);

/// "41 s", "3 min 5 s", "2 h 10 min", "0.25 s".
ELASTIC_DECL std::string span_words(double seconds);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/event_sentence.ipp>
#endif
