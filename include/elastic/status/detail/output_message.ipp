// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/output_message.hpp>

#include <elastic/base/detail/base64.hpp>
#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_text.hpp>
#include <elastic/base/detail/record.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/status/detail/status_gate.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL bool output_reading::wants(std::int64_t rank, bool is_err) const {
  const auto has_rank = [rank](const range& each) {
    return rank >= each.first && rank <= each.last;
  };
  return (is_err ? has_err : has_out) &&
         (ranks.empty() || std::any_of(ranks.begin(), ranks.end(), has_rank));
}

[[noreturn]] inline void refuse_reading(const std::string& why) {
  throw error(errc::invalid_argument, why);
}

/// None: it is not a number from 0 to `most`.
inline std::optional<std::int64_t> read_count(std::string_view text, std::int64_t most) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || stop != end || value < 0 || value > most) return std::nullopt;
  return value;
}

ELASTIC_DECL std::vector<output_reading::range> parse_rank_ranges(std::string_view text) {
  constexpr std::int64_t most = limits::job_ranks - 1;
  std::vector<output_reading::range> ranges;
  if (text.size() > limits::read_ranks_bytes) {
    refuse_reading(fmt::format("the ranks are more than {} bytes long", limits::read_ranks_bytes));
  }
  for (bool goes_on = true; goes_on;) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-');
    const auto first = read_count(part.substr(0, dash), most);
    const auto last = dash == part.npos ? first : read_count(part.substr(dash + 1), most);
    if (!first || !last || *last < *first) {
      refuse_reading(fmt::format("ranks are numbers and ranges up to {}, such as 0-7,12: not {}",
                                 most, in_quotes(part)));
    }
    ranges.push_back({*first, *last});
    goes_on = comma != text.npos;
    if (goes_on) text.remove_prefix(comma + 1);
  }
  return ranges;
}

ELASTIC_DECL int parse_read_lines(std::string_view text) {
  const auto lines = read_count(text, limits::read_lines);
  if (!lines) {
    refuse_reading(fmt::format("lines is a number from 0 to {}: not {}", limits::read_lines,
                               in_quotes(text)));
  }
  return static_cast<int>(*lines);
}

ELASTIC_DECL output_reading parse_output_query(std::string_view query) {
  output_reading reading;
  if (const auto ranks = query_value(query, "ranks"); !ranks.empty()) {
    reading.ranks = parse_rank_ranges(ranks);
  }
  if (const auto stream = query_value(query, "stream"); !stream.empty()) {
    reading.has_out = stream == "stdout";
    reading.has_err = stream == "stderr";
    if (!reading.has_out && !reading.has_err) {
      refuse_reading("stream is stdout or stderr: not " + in_quotes(stream));
    }
  }
  if (const auto lines = query_value(query, "lines"); !lines.empty()) {
    reading.lines = parse_read_lines(lines);
  }
  reading.follows = has_parameter(query, "follow");
  return reading;
}

ELASTIC_DECL std::string to_query(const output_reading& reading) {
  std::string query = fmt::format("lines={}", reading.lines);
  std::string ranks;
  for (const output_reading::range& each : reading.ranks) {
    ranks += fmt::format("{}{}-{}", ranks.empty() ? "" : ",", each.first, each.last);
  }
  if (!ranks.empty()) query += "&ranks=" + ranks;
  if (!reading.has_out) query += "&stream=stderr";
  if (!reading.has_err) query += "&stream=stdout";
  if (reading.follows) query += "&follow";
  return query;
}

inline constexpr std::int64_t most_output_number = std::numeric_limits<std::int64_t>::max() / 2;

inline std::string output_entries(const std::vector<output_request::entry>& entries) {
  std::string text;
  for (const output_request::entry& each : entries) {
    text += fmt::format("{}[{},{},{}]", text.empty() ? "" : ",", each.id, each.is_paused,
                        json_string(to_query(each.reading)));
  }
  return "[" + text + "]";
}

inline void describe(output_request& request, record_rows& rows) {
  rows.number("viewer", request.viewer, 0, most_output_number);
  const auto* entries =
      rows.list("readings", output_entries(request.readings), limits::output_readers);
  if (!rows.reads()) return;
  for (const nlohmann::ordered_json& entry : *entries) {
    if (!entry.is_array() || entry.size() != 3 || !entry[0].is_number_integer() ||
        !entry[1].is_boolean() || !entry[2].is_string()) {
      rows.refuse("has a reading that is not a list of a number, a flag and a query");
    }
    request.readings.push_back({entry[0].get<std::int64_t>(), entry[1].get<bool>(),
                               parse_output_query(entry[2].get<std::string>())});
  }
}

ELASTIC_DECL std::string to_text(const output_request& request) {
  json_object object;
  write_record(object, request);
  return object.text();
}

ELASTIC_DECL output_request parse_output_request(std::string_view text) {
  output_request request;
  read_record(json_fields("a request for output", text, limits::output_demand_bytes), request);
  return request;
}

/// Base64, since lines need not be UTF-8.
inline std::string output_pieces(const std::vector<output_piece>& pieces) {
  std::string text;
  for (const output_piece& each : pieces) {
    text += fmt::format("{}[{},{},{},\"{}\"]", text.empty() ? "" : ",", each.rank, each.is_err,
                        each.skipped, to_base64(each.text));
  }
  return "[" + text + "]";
}

inline output_piece read_output_piece(const record_rows& rows,
                                      const nlohmann::ordered_json& entry) {
  const bool has_shape = entry.is_array() && entry.size() == 4 && entry[0].is_number_unsigned() &&
                         entry[1].is_boolean() && entry[2].is_number_unsigned() &&
                         entry[3].is_string();
  if (!has_shape) rows.refuse("has a piece that is not a rank, a flag, a number and a text");
  output_piece piece;
  const auto rank = entry[0].get<std::uint64_t>();
  std::optional<std::string> bytes = from_base64(entry[3].get<std::string>());
  if (rank >= limits::job_ranks || !bytes || !bytes->ends_with('\n')) {
    rows.refuse("has a piece whose rank is too large, or whose text has no whole lines");
  }
  piece.rank = static_cast<std::int64_t>(rank);
  piece.is_err = entry[1].get<bool>();
  piece.skipped = entry[2].get<std::uint64_t>();
  piece.text = std::move(*bytes);
  return piece;
}

inline void describe(output_report& report, record_rows& rows) {
  rows.number("output", report.id, 0, most_output_number);
  rows.flag("drained", report.is_drained, presence::sparse);
  rows.flag("lacks_stdout", report.lacks_out, presence::sparse);
  const auto* pieces =
      rows.list("pieces", output_pieces(report.pieces), limits::node_report_bytes);
  if (!rows.reads()) return;
  for (const nlohmann::ordered_json& entry : *pieces) {
    report.pieces.push_back(read_output_piece(rows, entry));
  }
}

inline constexpr std::string_view output_report_begin = "{\"output\": ";

ELASTIC_DECL std::string to_text(const output_report& report) {
  json_object object;
  write_record(object, report);
  return object.text();
}

ELASTIC_DECL bool is_output_report(std::string_view text) {
  return text.starts_with(output_report_begin);
}

ELASTIC_DECL output_report parse_output_report(std::string_view text) {
  output_report report;
  read_record(json_fields("the output of a node", text, limits::node_report_bytes), report);
  return report;
}

}  // namespace elastic::detail
