// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <support/catch.hpp>

#include <charconv>
#include <cstddef>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

// Traffic between PyTorch's TCPStore and its clients, from tests/vectors.
namespace elastic::test {

/// Converts hexadecimal text to bytes, and back.
inline std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned char byte = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, byte, 16);
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}
inline std::string to_hex(std::string_view bytes) {
  constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) {
    hex.push_back(digits[static_cast<unsigned char>(byte) >> 4]);
    hex.push_back(digits[static_cast<unsigned char>(byte) & 15]);
  }
  return hex;
}

/// One message: from the client if `sent`, else from the server. The message "EOF" is the end of
/// the stream.
struct golden_message {
  bool sent = false;
  std::string bytes;
  bool is_end = false;
};

inline nlohmann::json load_vectors(const std::string& file) {
  std::ifstream in(std::string(ELASTIC_SOURCE_DIR) + "/tests/vectors/" + file);
  INFO("vectors " << file);
  REQUIRE(in);
  return nlohmann::json::parse(in);
}

inline std::vector<golden_message> messages_of(const nlohmann::json& list) {
  std::vector<golden_message> messages;
  for (const auto& each : list) {
    const std::string direction = each.at("dir");
    if (direction == "note") continue;
    golden_message message;
    message.sent = direction == "c2s";
    message.bytes = from_hex(each.at("hex").get<std::string>());
    if (each.contains("repeat")) {
      const auto& repeat = each.at("repeat");
      const std::string unit = from_hex(repeat.at("hex").get<std::string>());
      for (std::size_t i = 0; i < repeat.at("count"); ++i) message.bytes += unit;
    }
    message.is_end = each.at("meaning") == "EOF";
    messages.push_back(message);
  }
  return messages;
}

/// The messages of "tcpstore113_<name>.json", captured from PyTorch 1.13.1.
inline std::vector<golden_message> captured(const std::string& name) {
  return messages_of(load_vectors("tcpstore113_" + name + ".json"));
}

/// A captured exchange and the initial keys of the store.
struct captured_case {
  std::string name;
  std::vector<std::pair<std::string, std::string>> before;
};

/// The exchanges that every server answers alike, however the bytes are split.
inline const std::vector<captured_case>& captured_cases() {
  static const std::vector<captured_case> cases = {
      {"add_new_key", {}},
      {"add_negative", {{"/cnt", "5"}}},
      {"add_non_number", {}},
      {"add_numeric_prefix", {{"/pn", "12abc"}}},
      {"check_not_ready", {{"/a", "x"}}},
      {"check_ready", {{"/a", "x"}}},
      {"check_zero_keys", {}},
      {"compare_set_match", {{"/cs", "first"}}},
      {"compare_set_mismatch", {{"/cs", "second"}}},
      {"compare_set_missing_key_empty_expected", {}},
      {"compare_set_missing_key_nonempty_expected", {}},
      {"delete_key_absent", {}},
      {"delete_key_present", {{"/k", "x"}}},
      {"get", {{"/k", "hello"}}},
      {"get_counter", {{"/cnt", "-2"}}},
      {"get_empty_value", {{"/k", ""}}},
      {"num_keys", {{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}, {"e", ""}}},
      {"prefix_store_nested", {}},
      {"prefix_store_set", {}},
      {"set", {}},
      {"set_empty_value", {}},
      {"wait_for_workers_client", {{"init/", "1"}}},
      {"wait_satisfied", {{"/k", ""}, {"/cnt", ""}}},
      {"wait_zero_keys", {}},
  };
  return cases;
}

/// The messages of "tcpstore213_<name>.json", captured from PyTorch 2.13.0. Each file is read once.
inline const std::vector<golden_message>& captured_213(const std::string& name) {
  static std::map<std::string, std::vector<golden_message>> files;
  const auto [position, is_new] = files.try_emplace(name);
  if (is_new) position->second = messages_of(load_vectors("tcpstore213_" + name + ".json"));
  return position->second;
}

/// The messages of the exchange `name`, derived from the source of PyTorch 2.x.
inline std::vector<golden_message> derived(const std::string& name) {
  for (const auto& each : load_vectors("tcpstore2x_derived.json")) {
    if (each.at("name") == name) return messages_of(each.at("exchange"));
  }
  FAIL("no vector named " << name);
  return {};
}

/// The request `name` of "tcpstore21_derived.json".
inline std::string derived_21(const std::string& name) {
  for (const auto& each : load_vectors("tcpstore21_derived.json")) {
    if (each.at("name") == "2.1 " + name) return from_hex(each.at("hex").get<std::string>());
  }
  FAIL("no vector named " << name);
  return {};
}

/// Everything that one side sent, as one text.
inline std::string all_sent(const std::vector<golden_message>& messages, bool by_client) {
  std::string bytes;
  for (const auto& message : messages) {
    if (message.sent == by_client) bytes += message.bytes;
  }
  return bytes;
}

}  // namespace elastic::test
