// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/json_fields.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/detail/record.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/net/job_secret.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace elastic::detail {

inline constexpr std::string_view proof_word = "proof ";

/// A record as text; with a secret, after a line that proves who wrote it.
template <class Record>
std::string proven_text(const Record& record, const std::optional<job_secret>& secret) {
  json_object object;
  write_record(object, record);
  std::string text = object.text();
  if (!secret) return text;
  return fmt::format("{}{}\n{}", proof_word, secret->sign(text), text);
}

/// The text after the proof.
inline std::string_view proven_part(std::string_view text, const std::string& place,
                                    const std::optional<job_secret>& secret) {
  const bool has_proof = text.starts_with(proof_word);
  if (!has_proof && !secret) return text;
  const char* why = nullptr;
  if (!has_proof) why = "it is of a job without a secret, and this node has one (secret_file)";
  if (!secret) why = "it is of a job with a secret, and this node has none (secret_file)";
  const std::size_t end = text.find('\n');
  if (why == nullptr && end != std::string_view::npos) {
    const std::string_view proof = text.substr(proof_word.size(), end - proof_word.size());
    const std::string_view rest = text.substr(end + 1);
    if (secret->is_signed(rest, proof)) return rest;
  }
  if (why == nullptr) why = "it was not written with the secret of this node (secret_file)";
  throw error(errc::invalid_argument, fmt::format("{} cannot be used: {}", place, why));
}

/// Parses such a text.
/// @param place  its name in errors: "the file '/shared/job17/leader'"
/// Errors: `errc::invalid_argument`, naming the place and what is wrong.
template <class Record>
Record parse_proven(std::string_view text, const std::string& place,
                    const std::optional<job_secret>& secret) {
  text = proven_part(text, place, secret);
  Record record;
  try {
    const json_fields fields(place, text, limits::rendezvous_register_bytes);
    read_record(fields, record);
  } catch (const error& failure) {
    throw error(errc::invalid_argument,
                fmt::format("{}: it was not written by elasticrun, or by another release",
                            failure.what()));
  }
  return record;
}

}  // namespace elastic::detail
