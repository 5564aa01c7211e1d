// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/output_feed.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/blocking.hpp>
#include <elastic/base/limits.hpp>

#include <algorithm>
#include <functional>
#include <utility>

namespace elastic::detail {

/// What a message has for a piece besides its text.
inline constexpr std::size_t piece_overhead = 32;

ELASTIC_DECL void output_feed::update(const std::vector<output_source>& sources) {
  for (stream& each : streams_) each.is_listed = false;
  for (const output_source& source : sources) {
    if (!reading_.wants(source.rank, source.is_err)) continue;
    if (!source.is_kept) lacks_out_ = true;
    if (!source.is_kept) continue;
    const auto known = std::find_if(streams_.begin(), streams_.end(), [&](const stream& each) {
      return each.source.rank == source.rank && each.source.is_err == source.is_err &&
             each.source.path == source.path;
    });
    if (known == streams_.end()) {
      const std::optional<int> all;
      streams_.push_back({source, stream_reader(has_begun_ ? all : reading_.lines)});
    } else {
      known->source = source;
      known->is_listed = true;
    }
  }
  has_begun_ = has_begun_ || !sources.empty();
}

ELASTIC_DECL std::vector<output_piece> output_feed::next(const std::vector<output_source>& sources,
                                                         std::size_t most) {
  update(sources);
  std::vector<output_piece> pieces;
  std::size_t size = 0;
  for (; !unstated_.empty() && size < most; unstated_.pop_back(), size += piece_overhead) {
    const auto [rank, is_err] = unstated_.back();
    pieces.push_back({rank, is_err, ends_[unstated_.back()], {}});
  }
  std::size_t idle = 0;
  while (idle < streams_.size() && size < most) {
    stream& each = streams_[turn_++ % streams_.size()];
    const std::size_t before = pieces.size();
    if (!waits(each)) give(each, std::min(most - size, limits::read_line_bytes * 2), pieces);
    if (pieces.size() > before) size += pieces.back().text.size() + piece_overhead;
    const bool is_idle = each.reader.is_at_end() || waits(each);
    idle = is_idle && pieces.size() == before ? idle + 1 : 0;
  }
  is_drained_ = idle >= streams_.size();
  if (is_drained_) std::erase_if(streams_, [](const stream& each) { return !each.is_listed; });
  return pieces;
}

ELASTIC_DECL void output_feed::restate() {
  unstated_.clear();
  for (const auto& [which, end] : ends_) unstated_.push_back(which);
}

/// Whether the worker's former stream, which has ended, is not read to its end yet.
ELASTIC_DECL bool output_feed::waits(const stream& latter) const {
  return std::any_of(streams_.begin(), streams_.end(), [&](const stream& former) {
    return !former.is_listed && latter.is_listed && former.source.rank == latter.source.rank &&
           former.source.is_err == latter.source.is_err && !former.reader.is_at_end();
  });
}

ELASTIC_DECL void output_feed::give(stream& from, std::size_t most,
                                    std::vector<output_piece>& pieces) {
  const bool has_ended = !from.is_listed || !reading_.follows;
  from.reader.read(from.source, has_ended);
  if (!from.reader.has_lines()) return;
  std::uint64_t& end = ends_[{from.source.rank, from.source.is_err}];
  end += from.reader.take_skipped();
  pieces.push_back({from.source.rank, from.source.is_err, end, from.reader.take(most)});
  end += pieces.back().text.size();
}

ELASTIC_DECL task<std::optional<std::vector<output_piece>>> read_output(
    std::shared_ptr<output_feed> feed, std::shared_ptr<output_tails> tails,
    std::shared_ptr<time_source> time, std::size_t most) {
  output_sources sources;
  if (tails) {
    task<output_sources> asking = tails->sources();
    sources = co_await std::move(asking);
  }
  if (!sources.may_hang) co_return feed->next(sources.streams, most);
  std::function<std::vector<output_piece>()> work = [feed, streams = std::move(sources.streams),
                                                     most] { return feed->next(streams, most); };
  const time_point deadline = time->now() + limits::shown_lines_patience;
  task<std::vector<output_piece>> reading = run_blocking<std::vector<output_piece>>(work);
  co_return co_await with_deadline(*time, deadline, std::move(reading));
}

}  // namespace elastic::detail
