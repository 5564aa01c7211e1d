// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/output_sink.hpp>

#include <string>
#include <string_view>

namespace elastic::testing {

/// Keeps the output of workers that an agent shows, for tests: as `agent_services::console_out` or
/// `console_err`.
///
/// Thread-safety: one strand at a time, that of the agent.
class ELASTIC_EXPORT output_recorder final : public output_sink {
 public:
  std::string text;

  ELASTIC_DECL task<void> write(std::string_view bytes) override;
};

}  // namespace elastic::testing

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/testing/impl/output_recorder.ipp>
#endif
