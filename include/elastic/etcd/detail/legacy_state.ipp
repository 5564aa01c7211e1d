// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/etcd/detail/legacy_state.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace elastic::detail {

ELASTIC_DECL std::string legacy_lease_name(int rank) { return "rank_" + std::to_string(rank); }

ELASTIC_DECL bool has_confirmed(const legacy_state& state, int rank) {
  const std::string name = "/" + legacy_lease_name(rank);
  return std::any_of(state.keep_alives.begin(), state.keep_alives.end(),
                     [&](const std::string& key) {
                       return key.size() > name.size() &&
                              key.compare(key.size() - name.size(), name.size(), name) == 0;
                     });
}

inline constexpr std::array<std::string_view, 5> legacy_words = {"setup", "joinable", "frozen",
                                                                 "final", "closed"};

/// Parses a state. Checks only the fields that a state with its status needs.
class legacy_reader {
 public:
  using json = nlohmann::json;

  explicit legacy_reader(std::string_view text) {
    if (text.size() > limits::rendezvous_state_bytes) {
      refuse(fmt::format("it has {} bytes, and {} are allowed", text.size(),
                         limits::rendezvous_state_bytes));
    }
    document_ = json::parse(text, nullptr, false);
    if (!document_.is_object()) refuse("it is not a JSON object");
  }

  legacy_state read() const {
    legacy_state state;
    const std::string& word = text_at(document_, "status");
    const auto value = std::find(legacy_words.begin(), legacy_words.end(), word);
    if (value == legacy_words.end()) {
      refuse(fmt::format("'status' is not one of {}", fmt::join(legacy_words, ", ")));
    }
    state.status = static_cast<legacy_status>(value - legacy_words.begin());
    if (state.status == legacy_status::closed) state.ending = ending();
    // Any state may have preceded this one, so its other fields are useless.
    if (state.status == legacy_status::setup || state.status == legacy_status::closed) return state;
    state.version = version();
    state.participants = participants();
    if (state.status != legacy_status::joinable) state.keep_alives = keep_alives(state);
    if (state.status == legacy_status::complete) {
      state.waiting = number_at("num_workers_waiting", limits::nodes);
    }
    return state;
  }

 private:
  [[noreturn]] static void refuse(const std::string& problem) {
    throw error(errc::rendezvous_state,
                fmt::format("the rendezvous' state is not one of torchrun's 'etcd': {}", problem));
  }

  static const json& part(const json& object, const char* name) {
    const auto value = object.find(name);
    if (value == object.end()) refuse(fmt::format("'{}' is missing", name));
    return *value;
  }

  static const std::string& text_at(const json& object, const char* name) {
    const json& value = part(object, name);
    if (!value.is_string()) refuse(fmt::format("'{}' is not a string", name));
    return value.get_ref<const std::string&>();
  }

  int number_at(const char* name, int most) const {
    const json& value = part(document_, name);
    const bool is_fine = value.is_number_integer() && value.get<std::int64_t>() >= 0 &&
                         value.get<std::int64_t>() <= most;
    if (!is_fine) refuse(fmt::format("'{}' is not a number from 0 to {}", name, most));
    return value.get<int>();
  }

  const json& list_at(const char* name) const {
    const json& value = part(document_, name);
    if (!value.is_array() || value.size() > static_cast<std::size_t>(limits::nodes)) {
      refuse(fmt::format("'{}' is not a list of at most {}", name, limits::nodes));
    }
    return value;
  }

  std::string version() const {
    constexpr std::size_t most_digits = 18;
    const std::string& text = text_at(document_, "version");
    const bool is_number = !text.empty() && text.size() <= most_digits &&
                           std::all_of(text.begin(), text.end(),
                                       [](char letter) { return letter >= '0' && letter <= '9'; });
    if (!is_number) refuse("'version' is not a string that holds a whole number");
    return text;
  }

  int participants() const {
    const json& ranks = list_at("participants");
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] != i) refuse("'participants' is not a list of ranks that begins with 0");
    }
    return static_cast<int>(ranks.size());
  }

  std::vector<std::string> keep_alives(const legacy_state& state) const {
    std::vector<std::string> keys;
    for (const json& each : list_at("keep_alives")) {
      if (!each.is_string()) refuse("'keep_alives' is not a list of strings");
      keys.push_back(each.get<std::string>());
    }
    if (keys.size() > static_cast<std::size_t>(state.participants)) {
      refuse("'keep_alives' is longer than 'participants'");
    }
    return keys;
  }

  // Ignores any other content, which is not elasticrun's.
  std::optional<job_ending> ending() const {
    const auto value = document_.find("elastic_ending");
    if (value == document_.end() || !value->is_object()) return std::nullopt;
    const auto how = value->find("how");
    const auto why = value->find("why");
    if (how == value->end() || why == value->end() || !why->is_string()) return std::nullopt;
    job_ending end;
    if (*how == "succeeded") end.how = rendezvous_handler::job_end::succeeded;
    end.why = why->get<std::string>();
    return end;
  }

  json document_;
};

ELASTIC_DECL legacy_state parse_legacy_state(std::string_view text) {
  return legacy_reader(text).read();
}

ELASTIC_DECL std::string to_text(const legacy_state& state) {
  nlohmann::json document;
  document["status"] = legacy_words[static_cast<std::size_t>(state.status)];
  if (!state.version.empty()) {
    document["version"] = state.version;
    auto& ranks = document["participants"] = nlohmann::json::array();
    for (int rank = 0; rank < state.participants; ++rank) ranks.push_back(rank);
  }
  const bool is_fixed =
      state.status == legacy_status::frozen || state.status == legacy_status::complete;
  if (is_fixed) document["keep_alives"] = state.keep_alives;
  if (state.status == legacy_status::complete) document["num_workers_waiting"] = state.waiting;
  if (state.ending) {
    document["elastic_ending"]["how"] =
        state.ending->how == rendezvous_handler::job_end::succeeded ? "succeeded" : "failed";
    document["elastic_ending"]["why"] = state.ending->why;
  }
  return document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace elastic::detail
