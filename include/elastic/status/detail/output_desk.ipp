// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/output_desk.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/status/detail/viewed_job.hpp>

#include <utility>

namespace elastic::detail {

/// Whether a node can be asked for output: it is there, is another one, and sends reports.
inline bool sends_output(const viewed_node& node) {
  return !node.is_own && node.epoch != 0 && node.entry.presence != node_presence::lost;
}

ELASTIC_DECL std::int64_t output_desk::begin(const output_reading& reading,
                                             const viewed_job& job) {
  if (readers_.size() >= limits::output_readers) return 0;
  reader& made = readers_.emplace(++last_, reader{reading, {}}).first->second;
  for (const viewed_node& node : job.nodes()) {
    if (sends_output(node)) made.awaited.insert(node.entry.key);
  }
  return last_;
}

ELASTIC_DECL void output_desk::end(std::int64_t id) { readers_.erase(id); }

ELASTIC_DECL void output_desk::lose_nodes() {
  for (auto& [id, each] : readers_) each.awaited.clear();
}

ELASTIC_DECL void output_desk::take(std::int64_t node, output_report report) {
  const auto place = readers_.find(report.id);
  if (place == readers_.end()) return;
  reader& target = place->second;
  if (report.is_drained) target.awaited.erase(node);
  target.lacks_out = target.lacks_out || report.lacks_out;
  for (output_piece& piece : report.pieces) {
    if (!target.reading.wants(piece.rank, piece.is_err)) continue;
    target.bytes += piece.text.size();
    target.pieces.push_back(std::move(piece));
  }
  while (target.bytes > limits::output_queue_bytes) {
    const output_piece& oldest = target.pieces.front();
    target.dropped[{oldest.rank, oldest.is_err}] += oldest.skipped + oldest.text.size();
    target.bytes -= oldest.text.size();
    target.pieces.pop_front();
  }
  if (target.bytes > limits::output_queue_bytes / 2) target.is_paused = true;
}

ELASTIC_DECL output_delivery output_desk::collect(std::int64_t id, const viewed_job& job) {
  output_delivery made;
  const auto place = readers_.find(id);
  if (place == readers_.end()) return made;
  reader& source = place->second;
  made.lacks_out = source.lacks_out;
  for (const viewed_node& node : job.nodes()) {
    if (source.awaited.contains(node.entry.key) && sends_output(node)) {
      made.awaited.push_back(node.entry.name);
    }
  }
  // The rest waits here, where the oldest of it can be dropped.
  std::size_t size = 0;
  while (!source.pieces.empty() && size < limits::output_queue_bytes / 8) {
    output_piece& piece = source.pieces.front();
    if (const auto lost = source.dropped.extract({piece.rank, piece.is_err})) {
      piece.skipped += lost.mapped();
    }
    size += piece.text.size();
    made.pieces.push_back(std::move(piece));
    source.pieces.pop_front();
  }
  source.bytes -= size;
  if (source.bytes < limits::output_queue_bytes / 4) source.is_paused = false;
  return made;
}

ELASTIC_DECL std::string output_desk::demand(std::int64_t viewer) const {
  if (readers_.empty()) return {};
  output_request request{viewer, {}};
  for (const auto& [id, each] : readers_) {
    request.readings.push_back({id, each.is_paused, each.reading});
  }
  return to_text(request);
}

}  // namespace elastic::detail
