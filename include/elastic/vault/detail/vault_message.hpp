// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/vault/detail/vault_generation.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace elastic::detail {

/// The messages of a worker to the vault of its agent. Each is a packet with a JSON object.
namespace vault_requests {

/// A commit begins. The answer is `write` with the file of a slot, or `skipped`. Even if it fails,
/// it counts as a commit of this worker.
struct begin {
  /// The size of the whole slot: header, data, manifest.
  std::uint64_t bytes = 0;
};

/// The slot of the last `begin` has a valid header. No answer.
struct committed {
  int slot = 0;
};

/// The worker itself skips a commit, which counts as well. No answer.
struct skip {
  std::string reason;
};

/// Asks for the generation to restore. The answer is `found` with a file for reading, or `nothing`.
struct find {
  /// The rank whose commit the worker wants to read; empty: its own.
  std::optional<std::int64_t> rank = {};
};

/// The worker has read the generation that was found, in this time. No answer.
struct restored {
  double seconds = 0;
};

/// The generation that was found does not match its checksums. The answer is `nothing`. The worker
/// waits for it: if it ended before the agent knows, the next one would restore the same
/// generation.
struct damaged {
  std::string reason;
};

}  // namespace vault_requests

using vault_request =
    std::variant<vault_requests::begin, vault_requests::committed, vault_requests::skip,
                 vault_requests::find, vault_requests::restored, vault_requests::damaged>;

/// Parses a request. Errors: `errc::protocol_violation`, naming the mistake.
ELASTIC_DECL vault_request parse_vault_request(std::string_view packet);

/// An answer with the file that it passes.
struct vault_answer {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  vault_answer() = default;
  explicit vault_answer(std::string text) : packet(std::move(text)) {}

  /// The text of the answer; empty: there is no answer.
  std::string packet;
  /// The file to pass, which is borrowed unless `owned` holds it; -1: none.
  int file = -1;
  unique_fd owned;
};

/// The answers of the vault as packets.
ELASTIC_DECL std::string write_packet(std::size_t slot, std::uint64_t bytes,
                                      const vault_generation& id, int rank, int world_size);
ELASTIC_DECL std::string skipped_packet(std::string_view reason);
ELASTIC_DECL std::string found_packet(const vault_generation& id, std::int64_t step);
ELASTIC_DECL std::string nothing_packet();
ELASTIC_DECL std::string refused_packet(std::string_view reason);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/vault/detail/vault_message.ipp>
#endif
