// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT

#include <program/roles/joined_extensions.hpp>

#include <utility>

namespace elasticrun {

joined_extensions::joined_extensions(std::vector<std::shared_ptr<elastic::role_extension>> parts)
    : parts_(std::move(parts)) {}

void joined_extensions::begin(asio::any_io_executor executor,
                              const elastic::agent_services& services,
                              elastic::job_command::handler commands) {
  for (const auto& part : parts_) part->begin(executor, services, commands);
}

void joined_extensions::prepare(std::size_t role, elastic::agent_services& services) {
  for (const auto& part : parts_) part->prepare(role, services);
}

void joined_extensions::begin_role(std::size_t role, worker_signal signal) {
  for (const auto& part : parts_) part->begin_role(role, signal);
}

void joined_extensions::changed(state now) {
  for (const auto& part : parts_) part->changed(now);
}

elastic::task<void> joined_extensions::close() {
  for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
    elastic::task<void> closing = (*part)->close();
    co_await std::move(closing);
  }
}

}  // namespace elasticrun
