// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/python/detail/import_record.hpp>

#include <elastic/python/detail/embedded.hpp>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL import_record::import_record()
    : memory_(::memfd_create("elastic-imports", MFD_CLOEXEC)),
      hook_(std::string(import_recorder_py) + import_recorder_start_py) {
  if (!hook_.exists()) memory_.reset();
}

ELASTIC_DECL std::string import_record::text() const {
  std::string bytes(largest, '\0');
  const ssize_t size = memory_ ? ::pread(memory_.get(), bytes.data(), bytes.size(), 0) : 0;
  bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  return bytes;
}

ELASTIC_DECL std::size_t import_record::size() const {
  struct stat status{};
  if (!memory_ || ::fstat(memory_.get(), &status) != 0) return 0;
  return std::min(static_cast<std::size_t>(status.st_size), largest);
}

ELASTIC_DECL std::string import_record::place() const {
  struct stat status{};
  if (!memory_ || ::fstat(memory_.get(), &status) != 0) return {};
  return fmt::format("{}:{}", status.st_ino, path_of_own(memory_.get()));
}

ELASTIC_DECL process_spec import_record::recorded(process_spec spec) const {
  const std::string where = place();
  if (where.empty()) return spec;
  return hook_.hooked(std::move(spec), "ELASTIC_IMPORTS", where);
}

}  // namespace elastic::detail
