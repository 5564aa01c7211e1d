// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/process/console_output.hpp>

#include <elastic/base/detail/new_shared.hpp>
#include <elastic/process/detail/console_writer.hpp>

#include <utility>

namespace elastic {

ELASTIC_DECL std::shared_ptr<output_sink> make_console_writer(const asio::any_io_executor& executor,
                                                              int fd, logger log) {
  return detail::new_shared<detail::console_writer>(executor, fd, std::move(log));
}

}  // namespace elastic
