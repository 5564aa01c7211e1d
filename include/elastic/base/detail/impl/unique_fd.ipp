// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/unique_fd.hpp>

#include <unistd.h>

namespace elastic::detail {

ELASTIC_DECL unique_fd& unique_fd::operator=(unique_fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

ELASTIC_DECL void unique_fd::reset() noexcept {
  if (fd_ >= 0) ::close(release());
}

}  // namespace elastic::detail
