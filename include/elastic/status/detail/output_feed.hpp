// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/status/detail/output_message.hpp>
#include <elastic/status/detail/stream_reader.hpp>
#include <elastic/telemetry/detail/output_tails.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace elastic::detail {

/// The output of the workers of this node for one reader: each stream in its order, and no stream
/// before another's turn.
///
/// Thread-safety: one thread at a time. It blocks as the files do.
class output_feed {
 public:
  explicit output_feed(output_reading reading) : reading_(std::move(reading)) {}

  const output_reading& reading() const { return reading_; }

  /// Nothing is written any more: what has no line end is a line, too.
  void stop_following() { reading_.follows = false; }

  /// The next lines: up to `most` bytes with what a message has for each piece, and one line more.
  /// @param sources  the present streams; one that is no longer among them is read to its end
  ELASTIC_DECL std::vector<output_piece> next(const std::vector<output_source>& sources,
                                              std::size_t most);

  /// The next pieces begin with how far the streams are that were read: what a connection has lost
  /// shows up even if nothing follows it.
  ELASTIC_DECL void restate();

  /// Everything that was there at the last look was given.
  bool is_drained() const { return is_drained_; }

  /// The stdout of a worker that is read is kept nowhere.
  bool lacks_out() const { return lacks_out_; }

 private:
  struct stream {
    output_source source;
    stream_reader reader;
    bool is_listed = true;
  };

  ELASTIC_DECL void update(const std::vector<output_source>& sources);
  ELASTIC_DECL bool waits(const stream& latter) const;
  ELASTIC_DECL void give(stream& from, std::size_t most, std::vector<output_piece>& pieces);

  output_reading reading_;
  std::vector<stream> streams_;
  /// The bytes of each stream that was read, with those left out; and what is to be restated of it.
  std::map<output_stream, std::uint64_t> ends_;
  std::vector<output_stream> unstated_;
  std::size_t turn_ = 0;
  bool has_begun_ = false;
  bool is_drained_ = false;
  bool lacks_out_ = false;
};

/// Reads on, on a thread if the files may hang, for at most `limits::shown_lines_patience`.
/// Result: none if they did not answer; the feed must not be used again then.
/// Cancellation: all types; the same.
ELASTIC_DECL task<std::optional<std::vector<output_piece>>> read_output(
    std::shared_ptr<output_feed> feed, std::shared_ptr<output_tails> tails,
    std::shared_ptr<time_source> time, std::size_t most);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/status/detail/output_feed.ipp>
#endif
