// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/nodes/detail/job_file_registry.hpp>

namespace elastic::detail {

ELASTIC_DECL auto job_file_registry::look() -> task<sight> {
  std::string key = file_key;
  const std::string place = keys_->place_of(key);
  versioned_keys::entry found = co_await keys_->get(std::move(key));
  sight seen;
  seen.version = std::move(found.version);
  if (found.value) seen.record = parse_job_file_record(*found.value, place, secret_);
  co_return seen;
}

ELASTIC_DECL task<bool> job_file_registry::try_put(job_file_record record, std::string version) {
  std::string key = file_key;
  std::string text = registry_text(record, secret_);
  co_return co_await keys_->put(std::move(key), std::move(text), std::move(version));
}

}  // namespace elastic::detail
