// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/log.hpp>
#include <elastic/base/task.hpp>
#include <elastic/process/output_sink.hpp>

#include <memory>

namespace elastic {

/// A sink that shows copied output on the stdout (1) or stderr (2) of this process.
ELASTIC_DECL std::shared_ptr<output_sink> make_console_writer(const asio::any_io_executor& executor,
                                                              int fd, logger log = {});

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/process/impl/console_output.ipp>
#endif
