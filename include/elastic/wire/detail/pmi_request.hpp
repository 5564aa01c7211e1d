// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

/// A request of a worker, one line of PMI-1: "cmd=put kvsname=k key=a value=b".
/// Source: MPICH, src/pmi/simple (PMI 1.1).
struct pmi_request {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  pmi_request() = default;

  /// The value of "cmd": "put".
  std::string command;
  /// The values of the other words, by name.
  std::map<std::string, std::string, std::less<>> words;

  /// The value of a word. Errors: `errc::protocol_violation` if the request does not have it.
  ELASTIC_DECL const std::string& word(std::string_view name) const;

  /// The value of a word as a signed 32-bit integer. Errors: `errc::protocol_violation` if the word
  /// is missing or has another value.
  ELASTIC_DECL int number(std::string_view name) const;
};

/// Parses a line without its line feed.
/// Errors: `errc::protocol_violation`, naming the mistake, unless the line is made of words
/// "name=value" separated by spaces, the first name is cmd, no name is repeated, and all characters
/// are printable ASCII.
ELASTIC_DECL pmi_request parse_pmi_request(std::string_view line);

/// The key-value space of a job: this node's copy, which has the keys of other nodes as of the last
/// barrier.
class pmi_space {
 public:
  /// Adds a pair. Result: false if the key exists, or if the space would exceed its limits
  /// (`limits::pmi_space_bytes`, `limits::pmi_puts_bytes`).
  ELASTIC_DECL bool put(const std::string& key, const std::string& value);

  ELASTIC_DECL std::optional<std::string> get(std::string_view key) const;

  /// The pairs that were put since the last call, as text for the other nodes.
  ELASTIC_DECL std::string take_news();

  /// Adds the pairs of another node. Errors: `errc::protocol_violation` for a malformed text.
  ELASTIC_DECL void add_news(std::string_view text);

 private:
  ELASTIC_DECL bool insert(std::string_view key, std::string_view value);

  std::map<std::string, std::string, std::less<>> values_;
  std::size_t bytes_ = 0;
  std::string news_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/wire/detail/pmi_request.ipp>
#endif
