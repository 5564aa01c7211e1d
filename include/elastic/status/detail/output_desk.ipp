// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/status/detail/output_desk.hpp>

#include <elastic/base/limits.hpp>
#include <elastic/status/detail/viewed_job.hpp>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

/// Whether a node can be asked for output: it is there, is another one, and sends reports.
inline bool sends_output(const viewed_node& node) {
  return !node.is_own && node.epoch != 0 && node.entry.presence != node_presence::lost;
}

inline std::size_t memory_of(const output_piece& piece) {
  return sizeof piece + piece.text.size();
}

ELASTIC_DECL std::int64_t output_desk::begin(const output_reading& reading, const viewed_job& job,
                                             std::int64_t viewer) {
  if (readers_.size() >= limits::output_readers) return 0;
  last_ = std::max(last_, viewer) + 1;
  reader& made = readers_.emplace(last_, reader{reading}).first->second;
  for (const viewed_node& node : job.nodes()) {
    if (sends_output(node)) made.nodes.emplace(node.entry.key, output_stage::behind);
  }
  return last_;
}

ELASTIC_DECL void output_desk::end(std::int64_t id) { readers_.erase(id); }

ELASTIC_DECL void output_desk::lose_nodes() {
  for (auto& [id, each] : readers_) each.nodes.clear();
}

ELASTIC_DECL void output_desk::take(std::int64_t node, output_report report) {
  const auto place = readers_.find(report.id);
  if (place == readers_.end()) return;
  reader& target = place->second;
  output_stage& stage = target.nodes[node];
  stage = std::max(stage, report.stage);
  target.lacks_out = target.lacks_out || report.lacks_out;
  for (output_piece& piece : report.pieces) {
    if (!target.reading.wants(piece.rank, piece.is_err)) continue;
    target.bytes += memory_of(piece);
    target.pieces.push_back(std::move(piece));
  }
  while (target.bytes > limits::output_queue_bytes) {
    target.bytes -= memory_of(target.pieces.front());
    target.pieces.pop_front();
  }
  // What 64 nodes send until they have heard of it, too, has room.
  if (target.bytes > limits::output_queue_bytes / 4) target.is_paused = true;
}

ELASTIC_DECL output_delivery output_desk::collect(std::int64_t id, const viewed_job& job) {
  output_delivery made;
  const auto place = readers_.find(id);
  if (place == readers_.end()) return made;
  reader& source = place->second;
  if (source.lacks_out) made.notices.emplace_back(lacking_stdout);
  for (const viewed_node& node : job.nodes()) {
    const auto sender = source.nodes.find(node.entry.key);
    if (sender == source.nodes.end()) continue;
    if (node.entry.presence == node_presence::lost) {
      made.notices.push_back(fmt::format(
          "the node {} is lost: lines that it had not sent yet are missing", node.entry.name));
    } else if (sender->second == output_stage::behind) {
      made.awaited.push_back(node.entry.name);
    }
  }
  // The rest waits here, where the oldest of it can be dropped.
  std::size_t size = 0;
  while (!source.pieces.empty() && size < limits::output_queue_bytes / 8) {
    size += memory_of(source.pieces.front());
    made.pieces.push_back(std::move(source.pieces.front()));
    source.pieces.pop_front();
  }
  source.bytes -= size;
  if (source.bytes < limits::output_queue_bytes / 8) source.is_paused = false;
  return made;
}

ELASTIC_DECL bool output_desk::awaits_end(const viewed_job& job) const {
  const auto waits = [&](const auto& each) {
    const reader& target = each.second;
    if (!target.reading.follows || target.is_paused) return false;
    return std::any_of(job.nodes().begin(), job.nodes().end(), [&](const viewed_node& node) {
      const auto sender = target.nodes.find(node.entry.key);
      return sender != target.nodes.end() && sends_output(node) &&
             sender->second != output_stage::ended;
    });
  };
  return std::any_of(readers_.begin(), readers_.end(), waits);
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
