// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>

/// The bounds that only elasticrun needs. The others are in <elastic/base/limits.hpp>.
namespace elasticrun::limits {

/// The time limit for the check of a log directory, whose file system may not answer.
inline constexpr std::chrono::milliseconds log_directory_check{1000};
/// The time limit for the look-up of the name in --local-addr.
inline constexpr std::chrono::milliseconds host_look_up{5000};
/// The shortest time between two reports to Kubeflow Trainer, the time limit of the last one, and
/// the size of its token.
inline constexpr std::chrono::seconds kubeflow_pause{5};
inline constexpr std::chrono::milliseconds kubeflow_last_report{1000};
inline constexpr std::size_t kubeflow_token_bytes = 16 * 1024;

/// For --merge-output: how long a line waits for the same line of other workers, the most lines and
/// bytes that wait, the size of a write that is too large to wait, and the time limit of the last
/// output.
inline constexpr std::chrono::milliseconds merge_window{300};
inline constexpr std::size_t merged_lines = 4096;
inline constexpr std::size_t merged_bytes = 256 * 1024;
inline constexpr std::size_t merged_write_bytes = 32 * 1024;
inline constexpr std::chrono::milliseconds merged_last_output{1000};

/// For a doctor of several nodes: the size of a node's reports about itself and about its links, of
/// their texts and lists, and of the token of its link_server; the time limits for the reports of
/// the others, for the answer of a link_server, and for a connection; the most connections at a
/// time.
inline constexpr std::size_t doctor_report_bytes = 128 * 1024;
inline constexpr std::size_t doctor_links_bytes = 64 * 1024 * 1024;
inline constexpr std::size_t doctor_text_bytes = 512;
inline constexpr std::size_t doctor_list_entries = 64;
inline constexpr std::size_t doctor_token_bytes = 32;
inline constexpr std::chrono::seconds doctor_exchange{30};
inline constexpr std::chrono::milliseconds doctor_answer{1500};
inline constexpr std::chrono::seconds doctor_connection{10};
inline constexpr std::size_t doctor_connections = 64;

/// For the tasks of a node: the time in which they must meet, the pause between two tries, the size
/// of a message, and the number of its descriptors.
inline constexpr std::chrono::seconds slot_meeting{30};
inline constexpr std::chrono::milliseconds slot_retry{5};
inline constexpr std::size_t slot_message_bytes = 128 * 1024;
inline constexpr int slot_descriptors = 7;

/// The largest size of the file of a job of several roles.
inline constexpr std::size_t job_file_bytes = 1024 * 1024;

/// How many parts a key in that file may have, such as the three of `role.trainer.command`.
inline constexpr int key_parts = 16;

}  // namespace elasticrun::limits
