// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/diagnosis/detail/recorder_dump.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/detail/stable_order.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

[[noreturn]] inline void refuse_dump(const std::string& why) {
  throw error(errc::protocol_violation, "the dump of PyTorch's recorder " + why);
}

/// An entry of the recorder, as far as it has been read.
struct recorded_entry {
  std::optional<std::int64_t> pg_id = {};
  std::string name = {};
  std::string description = {};
  std::int64_t created_ns = 0;
  std::int64_t point_to_point_sequence = 0;
  bool has_ended = false;
  collective_call call = {};
};

/// A process group, as far as it has been read.
struct recorded_group {
  group_position position = {};
  /// The first send or receive that has not ended.
  std::optional<collective_call> message = {};
  /// PyTorch's own counts, for a group without entries.
  std::optional<std::int64_t> counted_enqueued = {};
  std::optional<std::int64_t> counted_completed = {};
  /// The index of its last entry, from 1; 0: it has none.
  std::size_t last_entry = 0;
};

/// Folds entries into the positions of their groups.
class recorded_groups {
 public:
  /// Null if there are too many.
  recorded_group* find(std::int64_t pg_id) {
    const auto found = groups_.find(pg_id);
    if (found != groups_.end()) return &found->second;
    return groups_.size() < limits::recorder_groups ? &groups_[pg_id] : nullptr;
  }

  void add(recorded_entry& entry, wall_time now) {
    if (++entries_ > limits::recorder_entries) {
      refuse_dump(fmt::format("has more than {} entries", limits::recorder_entries));
    }
    if (!entry.pg_id) refuse_dump("has an entry without \"pg_id\"");
    recorded_group* const group = find(*entry.pg_id);
    if (group == nullptr) return;
    group->last_entry = entries_;
    group_position& position = group->position;
    if (!entry.name.empty()) position.name = std::move(entry.name);
    if (!entry.description.empty()) position.description = std::move(entry.description);
    collective_call& call = entry.call;
    // A send or receive carries the number of the last collective before it.
    position.enqueued = std::max(position.enqueued, call.sequence);
    if (call.is_point_to_point) call.sequence = entry.point_to_point_sequence;
    auto& outstanding = call.is_point_to_point ? group->message : position.outstanding;
    if (entry.has_ended) {
      // Operations of a group end in order, so an earlier one only appears to be outstanding.
      if (outstanding && outstanding->sequence <= call.sequence) outstanding.reset();
      // Operations without inputs do not count: a script that left an operation by an error often
      // calls a barrier at its exit.
      const bool has_inputs = !call.sizes.empty() && call.sizes != "[]";
      if (call.is_point_to_point || !has_inputs) return;
      call.state = collective_state::completed;
      position.previous = std::move(call);
      return;
    }
    if (outstanding) return;
    const auto created = wall_time(std::chrono::duration_cast<wall_time::duration>(
        std::chrono::nanoseconds(entry.created_ns)));
    // An age of 0 means unknown.
    if (entry.created_ns > 0) {
      call.age = std::max<duration>(std::chrono::ceil<std::chrono::milliseconds>(now - created),
                                    std::chrono::milliseconds(1));
    }
    outstanding = std::move(call);
  }

  std::vector<group_position> take() {
    std::vector<recorded_group> groups;
    for (auto& [id, group] : groups_) {
      group_position& position = group.position;
      if (group.last_entry == 0) {
        position.enqueued = std::max<std::int64_t>(group.counted_enqueued.value_or(0), 0);
        position.completed =
            std::clamp<std::int64_t>(group.counted_completed.value_or(0), 0, position.enqueued);
      } else {
        position.completed = position.enqueued;
        if (position.outstanding) {
          position.completed = std::max<std::int64_t>(position.outstanding->sequence, 1) - 1;
        } else {
          position.outstanding = std::move(group.message);
        }
      }
      if (!position.name.empty()) groups.push_back(std::move(group));
    }
    sort_stably(groups, [](const auto& left, const auto& right) {
      return left.last_entry > right.last_entry;
    });
    std::vector<group_position> positions;
    for (recorded_group& group : groups) positions.push_back(std::move(group.position));
    return positions;
  }

 private:
  std::map<std::int64_t, recorded_group> groups_;
  std::size_t entries_ = 0;
};

/// Handles the events of a JSON parser. Skips unknown fields of any structure.
class recorder_reader {
 public:
  using number_integer_t = nlohmann::json::number_integer_t;
  using number_unsigned_t = nlohmann::json::number_unsigned_t;
  using number_float_t = nlohmann::json::number_float_t;
  using string_t = nlohmann::json::string_t;
  using binary_t = nlohmann::json::binary_t;

  explicit recorder_reader(wall_time now) : now_(now) {}

  std::vector<group_position> take() {
    if (!has_version_) refuse_dump("has no \"version\"");
    return groups_.take();
  }

  bool null() { return true; }
  bool boolean(bool value) {
    if (section_ != section::entries || depth_ != entry_depth) return true;
    if (key_ == "is_p2p") entry_.call.is_point_to_point = value;
    if (key_ == "retired" && value) entry_.has_ended = true;
    return true;
  }
  bool number_integer(number_integer_t value) { return number(value); }
  bool number_unsigned(number_unsigned_t value) {
    constexpr auto most = static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
    return number(static_cast<std::int64_t>(std::min(value, most)));
  }
  bool number_float(number_float_t, const string_t&) { return true; }
  bool binary(binary_t&) { return true; }

  bool string(string_t& value) {
    if (depth_ == 1 && key_ == "version") read_version(value);
    if (section_ == section::entries) read_entry_text(value);
    if (section_ == section::status && depth_ == group_depth) read_count(value);
    if (section_ == section::configuration && depth_ == group_depth) read_configuration(value);
    return true;
  }

  bool start_object(std::size_t) { return open(true); }
  bool end_object() {
    if (section_ == section::entries && depth_ == entry_depth) {
      groups_.add(entry_, now_);
      entry_ = {};
    }
    return close();
  }
  bool start_array(std::size_t) {
    if (is_in_sizes()) add_size_text("[");
    return open(false);
  }
  bool end_array() {
    const bool more = close();
    if (is_in_sizes()) add_size_text("]");
    return more;
  }

  bool key(string_t& value) {
    if (depth_ == 1) {
      static constexpr std::array<std::pair<std::string_view, section>, 3> sections{{
          {"entries", section::entries},
          {"pg_status", section::status},
          {"pg_config", section::configuration},
      }};
      section_ = section::other;
      for (const auto& [name, each] : sections) {
        if (value == name) section_ = each;
      }
    }
    if (depth_ == 2 && (section_ == section::status || section_ == section::configuration)) {
      begin_group(value);
    }
    key_ = depth_ <= entry_depth ? value : std::string();
    if (section_ == section::entries && depth_ == entry_depth) entry_key_ = value;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    refuse_dump(fmt::format("is not JSON from byte {} on", position));
  }

 private:
  enum class section { other, entries, status, configuration };

  // {"entries": [{…}], "pg_status": {"0": {…}}}: the nesting depths of the fields of an entry and
  // of a group.
  static constexpr std::size_t entry_depth = 3;
  static constexpr std::size_t group_depth = 3;

  bool open(bool is_object) {
    if (depth_ == 0 && !is_object) refuse_dump("is not a JSON object");
    if (depth_ == 2 && section_ == section::entries && !is_object) {
      refuse_dump("has an entry that is not an object");
    }
    if (++depth_ > limits::recorder_depth) {
      refuse_dump(fmt::format("is nested deeper than {} levels", limits::recorder_depth));
    }
    if (depth_ == entry_depth + 1) names_ = 0;
    return true;
  }
  bool close() {
    --depth_;
    if (depth_ < 2) section_ = section::other;
    return true;
  }

  bool is_in_sizes() const {
    return section_ == section::entries && depth_ >= entry_depth && entry_key_ == "input_sizes";
  }

  void add_size_text(std::string_view part) {
    std::string& sizes = entry_.call.sizes;
    const bool needs_comma = !sizes.empty() && sizes.back() != '[' && part != "]";
    if (needs_comma) sizes += ", ";
    sizes += part;
    if (sizes.size() > limits::collective_sizes_bytes) {
      sizes.resize(limits::collective_sizes_bytes);
    }
  }

  bool number(std::int64_t value) {
    if (section_ == section::status && depth_ == group_depth) count(value);
    if (section_ != section::entries) return true;
    if (depth_ > entry_depth && is_in_sizes()) add_size_text(fmt::format("{}", value));
    if (depth_ != entry_depth) return true;
    constexpr auto most = std::int64_t{1} << 61;
    const std::int64_t bounded = std::clamp<std::int64_t>(value, 0, most);
    if (entry_key_ == "pg_id") entry_.pg_id = value;
    if (entry_key_ == "collective_seq_id") entry_.call.sequence = bounded;
    if (entry_key_ == "p2p_seq_id") entry_.point_to_point_sequence = bounded;
    if (entry_key_ == "time_created_ns") entry_.created_ns = value;
    return true;
  }

  void read_entry_text(const std::string& value) {
    if (depth_ == entry_depth && entry_key_ == "profiling_name") {
      // "gloo:all_reduce"
      const std::string_view name = std::string_view(value).substr(value.find(':') + 1);
      entry_.call.operation = beginning_of(name, limits::collective_name_bytes);
    }
    if (depth_ == entry_depth && entry_key_ == "state") read_state(value);
    if (depth_ != entry_depth + 1) return;
    if (entry_key_ == "process_group") {
      std::string& text = names_++ == 0 ? entry_.name : entry_.description;
      text = beginning_of(value, limits::group_name_bytes);
    }
    if (entry_key_ == "input_dtypes") {
      std::string& types = entry_.call.types;
      if (types.size() >= limits::collective_types_bytes) return;
      types += (types.empty() ? "" : ", ") + value;
      types = beginning_of(types, limits::collective_types_bytes);
    }
  }

  void read_state(std::string_view state) {
    if (state == "started") entry_.call.state = collective_state::started;
    if (state != "completed") return;
    entry_.call.state = collective_state::completed;
    entry_.has_ended = true;
  }

  void read_version(std::string_view version) {
    constexpr std::size_t shown_bytes = 20;
    if (!version.starts_with("2.")) {
      refuse_dump(fmt::format("is of version '{}'; 2.x is understood",
                              printable_line(version.substr(0, shown_bytes))));
    }
    has_version_ = true;
  }

  void begin_group(std::string_view id) {
    std::int64_t number = -1;
    const auto [end, failure] = std::from_chars(id.data(), id.data() + id.size(), number);
    const bool is_number = failure == std::errc() && end == id.data() + id.size();
    // Gloo's configuration contains a group whose name is not a number.
    group_ = is_number ? groups_.find(number) : nullptr;
  }

  void read_count(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failure == std::errc() && end == text.data() + text.size()) count(value);
  }

  void count(std::int64_t value) {
    if (group_ == nullptr) return;
    const std::int64_t bounded = std::clamp<std::int64_t>(value, -1, std::int64_t{1} << 61);
    if (key_ == "last_enqueued_collective") group_->counted_enqueued = bounded;
    if (key_ == "last_completed_collective") group_->counted_completed = bounded;
  }

  void read_configuration(const std::string& value) {
    if (group_ == nullptr) return;
    group_position& position = group_->position;
    if (key_ == "name") position.name = beginning_of(value, limits::group_name_bytes);
    if (key_ == "desc") position.description = beginning_of(value, limits::group_name_bytes);
    if (key_ == "ranks") position.members = read_ranks(value);
  }

  /// "[0, 1, 2]"
  static rank_set read_ranks(std::string_view text) {
    std::vector<int> ranks;
    while (!text.empty()) {
      int rank = -1;
      const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), rank);
      if (failure != std::errc()) {
        text.remove_prefix(1);
        continue;
      }
      if (rank < 0 || rank >= limits::job_ranks) refuse_dump("has a group with a wrong rank");
      ranks.push_back(rank);
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    }
    return rank_set(std::move(ranks));
  }

  wall_time now_;
  recorded_groups groups_;
  recorded_entry entry_;
  recorded_group* group_ = nullptr;
  section section_ = section::other;
  std::size_t depth_ = 0;
  std::size_t names_ = 0;
  std::string key_;
  std::string entry_key_;
  bool has_version_ = false;
};

ELASTIC_DECL std::vector<group_position> parse_recorder_dump(std::string_view text,
                                                             wall_time now) {
  if (text.size() > limits::recorder_dump_bytes) {
    refuse_dump(fmt::format("is {} bytes long; up to {} are taken", text.size(),
                                    limits::recorder_dump_bytes));
  }
  recorder_reader reader(now);
  nlohmann::json::sax_parse(text, &reader);
  return reader.take();
}

}  // namespace elastic::detail
