// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>

/// The bounds of elasticrun that the library does not share; the others are in
/// <elastic/base/limits.hpp>.
namespace elasticrun::limits {

/// The wait for the check of a log directory whose file system may not answer.
inline constexpr std::chrono::milliseconds log_directory_check{1000};
/// The shortest time between two reports to Kubeflow Trainer, the time limit of the last one, and
/// the size of its token.
inline constexpr std::chrono::seconds kubeflow_pause{5};
inline constexpr std::chrono::milliseconds kubeflow_last_report{1000};
inline constexpr std::size_t kubeflow_token_bytes = 16 * 1024;

/// The file of a job of several roles.
inline constexpr std::size_t job_file_bytes = 1024 * 1024;

}  // namespace elasticrun::limits
