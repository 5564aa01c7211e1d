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

/// A line of PMI-1 as a worker writes it: "cmd=put kvsname=k key=a value=b", without its end.
/// Source: MPICH, src/pmi/simple (PMI 1.1).
struct pmi_request {
  // Not an aggregate: g++ 12 destroys those twice in an expression that contains co_await.
  pmi_request() = default;

  /// "put".
  std::string command;
  /// The other words, by their names.
  std::map<std::string, std::string, std::less<>> words;

  /// Errors: `errc::protocol_violation` if there is no such word.
  ELASTIC_DECL const std::string& word(std::string_view name) const;

  /// A whole number of 32 bits, with its sign. Errors: `errc::protocol_violation`.
  ELASTIC_DECL int number(std::string_view name) const;
};

/// Errors: `errc::protocol_violation`, naming what is wrong: words are "name=value", separated by
/// blanks; the first is cmd, no name is repeated, and all letters are printable ASCII.
ELASTIC_DECL pmi_request parse_pmi_request(std::string_view line);

/// What the processes of a job put, as far as this node knows it.
class pmi_space {
 public:
  /// Result: false if the key is there already, or there is too much.
  ELASTIC_DECL bool put(const std::string& key, const std::string& value);

  ELASTIC_DECL std::optional<std::string> get(std::string_view key) const;

  /// What was put since the last call, for the other nodes.
  ELASTIC_DECL std::string take_news();

  /// The news of another node. Errors: `errc::protocol_violation`.
  ELASTIC_DECL void add_news(std::string_view text);

 private:
  ELASTIC_DECL bool insert(std::string_view key, std::string_view value);

  std::map<std::string, std::string, std::less<>> values_;
  std::size_t bytes_ = 0;
  std::string news_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/wire/detail/impl/pmi_request.ipp>
#endif
