// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/output_message.hpp>

#include <elastic/base/detail/base64.hpp>
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
    ranks += fmt::format("{}{}", ranks.empty() ? "" : ",", each.first);
    if (each.last != each.first) ranks += fmt::format("-{}", each.last);
  }
  if (!ranks.empty()) query += "&ranks=" + ranks;
  if (!reading.has_out) query += "&stream=stderr";
  if (!reading.has_err) query += "&stream=stdout";
  if (reading.follows) query += "&follow";
  return query;
}

ELASTIC_DECL std::uint64_t output_gaps::take(const output_piece& piece) {
  std::uint64_t& end = ends_[{piece.rank, piece.is_err}];
  // The stream of a rank that now runs on another node begins anew.
  const std::uint64_t former = piece.begin < end ? 0 : end;
  end = piece.begin + piece.text.size();
  return piece.begin - former;
}

inline constexpr std::int64_t most_output_number = std::numeric_limits<std::int64_t>::max() / 2;

// Messages are words of printable ASCII without quotes, and lines are base64: so the messages that
// carry them need no escapes, and are parsed ten times as fast (see read_plain_json).

/// Takes the words of a message from its front.
class output_words {
 public:
  explicit output_words(std::string_view text) : rest_(text) {}

  bool has_more() const { return !rest_.empty(); }

  std::string_view next() {
    const std::size_t size = std::min(rest_.find(' '), rest_.size());
    const std::string_view word = rest_.substr(0, size);
    rest_.remove_prefix(std::min(size + 1, rest_.size()));
    return word;
  }

  std::int64_t number(std::int64_t most) {
    const std::string_view word = next();
    const auto value = read_count(word, most);
    constexpr std::size_t shown = 40;
    if (!value) {
      refuse(fmt::format("{} is no number up to {}", in_quotes(word.substr(0, shown)), most));
    }
    return *value;
  }

  bool flag() { return number(1) == 1; }

  [[noreturn]] static void refuse(const std::string& why) {
    throw error(errc::protocol_violation, "a message about output cannot be read: " + why);
  }

 private:
  std::string_view rest_;
};

ELASTIC_DECL std::string to_text(const output_request& request) {
  std::string text = fmt::format("{}", request.viewer);
  for (const output_request::entry& each : request.readings) {
    text += fmt::format(" {} {:d} {}", each.id, each.is_paused, to_query(each.reading));
  }
  return text;
}

ELASTIC_DECL output_request parse_output_request(std::string_view text) {
  if (text.size() > limits::output_demand_bytes) output_words::refuse("it is too long");
  output_words words(text);
  output_request request;
  request.viewer = words.number(most_output_number);
  while (words.has_more()) {
    if (request.readings.size() == limits::output_readers) output_words::refuse("too many read");
    output_request::entry& entry = request.readings.emplace_back();
    entry.id = words.number(most_output_number);
    entry.is_paused = words.flag();
    entry.reading = parse_output_query(words.next());
  }
  return request;
}

inline constexpr std::string_view output_report_begin = "output ";

ELASTIC_DECL std::string to_text(const output_report& report) {
  std::string text = fmt::format("{}{} {:d} {:d}", output_report_begin, report.id,
                                 static_cast<int>(report.stage), report.lacks_out);
  for (const output_piece& each : report.pieces) {
    text += fmt::format(" {} {:d} {} {}", each.rank, each.is_err, each.begin, to_base64(each.text));
  }
  return text;
}

ELASTIC_DECL bool is_output_report(std::string_view text) {
  return text.starts_with(output_report_begin);
}

ELASTIC_DECL output_report parse_output_report(std::string_view text) {
  if (text.size() > limits::node_report_bytes) output_words::refuse("it is too long");
  if (!is_output_report(text)) output_words::refuse("it does not begin as output does");
  output_words words(text.substr(output_report_begin.size()));
  output_report report;
  report.id = words.number(most_output_number);
  report.stage = static_cast<output_stage>(words.number(static_cast<int>(output_stage::ended)));
  report.lacks_out = words.flag();
  while (words.has_more()) {
    output_piece& piece = report.pieces.emplace_back();
    piece.rank = words.number(limits::job_ranks - 1);
    piece.is_err = words.flag();
    piece.begin = static_cast<std::uint64_t>(words.number(most_output_number));
    std::optional<std::string> bytes = from_base64(words.next());
    const bool is_whole = bytes && (bytes->empty() || bytes->ends_with('\n'));
    if (!is_whole) output_words::refuse("a piece has no whole lines");
    piece.text = std::move(*bytes);
  }
  return report;
}

}  // namespace elastic::detail
