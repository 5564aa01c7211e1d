// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/vault/worker_vault.hpp>

#include <elastic/base/detail/json.hpp>
#include <elastic/base/detail/json_document.hpp>
#include <elastic/base/detail/json_fields.hpp>
#include <elastic/base/detail/json_object.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>
#include <elastic/base/printable_text.hpp>
#include <elastic/base/time.hpp>
#include <elastic/vault/detail/vault_header.hpp>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <set>

#include <fmt/format.h>

namespace elastic {

namespace detail {

/// A row of the manifest: a buffer, and its place in the data.
struct vault_row {
  std::string name;
  std::string kind;
  std::string type;
  std::uint64_t place = 0;
  std::uint64_t bytes = 0;
  /// The checksum, 8 hexadecimal digits; empty: there is none.
  std::string check;
};

/// A commit that the agent found for the worker.
struct vault_content {
  unique_fd file;
  vault_header header;
  std::vector<vault_row> rows;
};

inline std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::uint64_t end_of_data(const std::vector<vault_row>& rows) {
  return rows.empty() ? 0 : rows.back().place + rows.back().bytes;
}

inline std::string manifest_of(const std::vector<worker_vault::named_buffer>& buffers,
                               const std::vector<vault_row>& rows) {
  std::string tree = "{\"d\": [";
  std::string list = "[";
  for (std::size_t index = 0; index < rows.size(); ++index) {
    const char* const comma = index == 0 ? "" : ", ";
    const vault_row& row = rows[index];
    const std::string name = json_string(row.name);
    tree += fmt::format("{}[{}, {{\"b\": {}}}]", comma, name, index);
    list += fmt::format("{}[{}, \"array\", \"{}\", [{}], {}, {}, \"{}\"]", comma, name, row.type,
                        buffers[index].length, row.place, row.bytes, row.check);
  }
  json_object manifest;
  manifest.add_json("tree", tree + "]}").add_json("buffers", list + "]");
  return manifest.text();
}

/// The rows of a manifest; empty: the text is not a manifest.
inline std::optional<std::vector<vault_row>> parse_manifest(std::string_view manifest_text,
                                                            std::uint64_t data_bytes) {
  const nlohmann::ordered_json manifest = parse_json(manifest_text);
  if (!manifest.is_object() || !manifest.contains("buffers")) return {};
  std::vector<vault_row> rows;
  for (const nlohmann::ordered_json& list : manifest["buffers"]) {
    const auto is_text = [&](std::size_t index) { return list[index].is_string(); };
    const auto is_count = [&](std::size_t index) { return list[index].is_number_unsigned(); };
    const bool is_row = list.is_array() && list.size() == 7 && is_text(0) && is_text(1) &&
                        is_text(2) && is_count(4) && is_count(5) && is_text(6);
    if (!is_row) return {};
    const auto text = [&](std::size_t index) { return list[index].get<std::string>(); };
    const auto count = [&](std::size_t index) { return list[index].get<std::uint64_t>(); };
    vault_row row{text(0), text(1), text(2), count(4), count(5), text(6)};
    if (row.bytes > data_bytes || row.place > data_bytes - row.bytes) return {};
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Reads a part of a file. Result: whether all of it could be read.
inline bool read_part(int file, std::uint64_t place, std::span<std::byte> out) {
  while (!out.empty()) {
    const ssize_t size = ::pread(file, out.data(), out.size(), static_cast<off_t>(place));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(size));
    place += static_cast<std::uint64_t>(size);
  }
  return true;
}

/// Calls `take` for each piece of a buffer. A piece stays in the processor's cache while it is
/// copied and its checksum is computed.
template <class Byte, class Take>
void for_each_piece(std::span<Byte> bytes, Take take) {
  constexpr std::size_t piece_bytes = 1 << 20;
  for (std::size_t done = 0; done < bytes.size(); done += piece_bytes) {
    take(done, bytes.subspan(done, std::min(piece_bytes, bytes.size() - done)));
  }
}

/// The input of a piece's checksum of the kind 's'. The 64-bit words of the piece form rows of 4
/// KiB; the input has the sum of each row, the sum of each column, and then the bytes after the
/// last row.
inline std::string sums_of(std::string_view piece) {
  constexpr std::size_t columns = 512;
  constexpr std::size_t row_bytes = columns * sizeof(std::uint64_t);
  const std::size_t rows = piece.size() / row_bytes;
  std::vector<std::uint64_t> sums(rows == 0 ? 0 : rows + columns);
  std::array<std::uint64_t, columns> words;
  for (std::size_t row = 0; row < rows; ++row) {
    std::memcpy(words.data(), piece.data() + row * row_bytes, row_bytes);
    for (std::size_t column = 0; column < columns; ++column) {
      sums[row] += words[column];
      sums[rows + column] += words[column];
    }
  }
  std::string bytes(text_of(std::as_bytes(std::span(sums))));
  return bytes.append(piece.substr(rows * row_bytes));
}

inline std::string skip_packet(const std::string& reason) {
  json_object packet;
  packet.add("kind", "skip").add("reason", reason.substr(0, limits::control_text_bytes / 2));
  return packet.text();
}

}  // namespace detail

/// The answer of the agent, and the file that comes with it.
struct worker_vault::answer {
  std::string packet;
  detail::unique_fd file;
};

ELASTIC_DECL worker_vault::worker_vault() : worker_vault(environment_from(environ)) {}

ELASTIC_DECL worker_vault::worker_vault(const environment_map& variables)
    : address_(find_variable(variables, "ELASTIC_VAULT").value_or("")), owner_(::getpid()) {
  if (!address_.starts_with("@")) address_.clear();
}

ELASTIC_DECL worker_vault::~worker_vault() {
  for (const auto& [number, each] : slots_) ::munmap(each.memory.data(), each.memory.size());
}

// ---- messages -----------------------------------------------------------------------------------

ELASTIC_DECL bool worker_vault::connect() {
  if (socket_) return true;
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (address_.empty() || address_.size() >= sizeof name.sun_path || ::getpid() != owner_) {
    return false;
  }
  std::copy(address_.begin() + 1, address_.end(), name.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size());
  detail::unique_fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  // An agent that does not answer within this time is stuck.
  const timeval longest{60, 0};
  const bool is_connected =
      socket && ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), size) == 0 &&
      ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &longest, sizeof longest) == 0;
  if (is_connected) socket_ = std::move(socket);
  return is_connected;
}

/// Sends a message that has no answer. It is lost if the agent is gone.
ELASTIC_DECL void worker_vault::tell(const std::string& packet) {
  if (!connect()) return;
  if (::send(socket_.get(), packet.data(), packet.size(), MSG_NOSIGNAL) < 0) socket_.reset();
}

/// Errors: `errc::connection_failed`.
ELASTIC_DECL worker_vault::answer worker_vault::ask(const std::string& packet) {
  // The agent closes connections at the end of each attempt.
  constexpr int tries = 2;
  for (int tried = 0; tried < tries && connect(); ++tried) {
    tell(packet);
    std::array<char, limits::vault_message_bytes> bytes;
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control;
    iovec place{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    ssize_t size = -1;
    do {
      size = socket_ ? ::recvmsg(socket_.get(), &message, MSG_CMSG_CLOEXEC) : 0;
    } while (size < 0 && errno == EINTR);
    answer given;
    const cmsghdr* const head = size > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
    if (head != nullptr && head->cmsg_type == SCM_RIGHTS) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(head), sizeof file);
      given.file = detail::unique_fd(file);
    }
    if (size > 0) given.packet.assign(bytes.data(), static_cast<std::size_t>(size));
    if (size > 0) return given;
    socket_.reset();
    if (size < 0) break;
  }
  throw error(errc::connection_failed, "there is no vault, or its agent is gone");
}

// ---- a commit -----------------------------------------------------------------------------------

ELASTIC_DECL worker_vault::commit_result worker_vault::commit(
    const std::vector<named_buffer>& buffers, std::int64_t step, bool has_checksums) {
  commit_result result;
  try {
    std::set<std::string_view> names;
    for (const named_buffer& each : buffers) {
      if (names.insert(each.name).second) continue;
      result.reason = fmt::format("two buffers have the name {}", in_quotes(each.name));
    }
    if (step < 0) result.reason = fmt::format("the step is {}; at least 0 is needed", step);
    if (!result.reason.empty()) {
      tell(detail::skip_packet(result.reason));
    } else {
      result.reason = write(buffers, step, has_checksums);
    }
  } catch (const error& failure) {
    result.reason = failure.what();
  }
  result.is_kept = result.reason.empty();
  return result;
}

/// Result: the reason why the commit is skipped; empty: it is kept.
ELASTIC_DECL std::string worker_vault::write(const std::vector<named_buffer>& buffers,
                                             std::int64_t step, bool has_checksums) {
  constexpr std::uint64_t alignment = 64;
  std::vector<detail::vault_row> rows;
  for (const named_buffer& each : buffers) {
    const std::uint64_t place = (detail::end_of_data(rows) + alignment - 1) / alignment * alignment;
    rows.push_back({each.name, "array", std::string(1, each.type), place, each.bytes.size(),
                    has_checksums ? "00000000" : ""});
  }
  detail::vault_header header;
  header.data_bytes = detail::end_of_data(rows);
  header.manifest_bytes = detail::manifest_of(buffers, rows).size();
  if (header.manifest_bytes > limits::vault_manifest_bytes) {
    std::string reason = fmt::format("the names of {} buffers are too long", rows.size());
    tell(detail::skip_packet(reason));
    return reason;
  }
  constexpr std::uint64_t page = 4096;
  const std::uint64_t needed =
      limits::vault_header_bytes + header.data_bytes + header.manifest_bytes;
  detail::json_object begin;
  begin.add("kind", "begin").add("bytes", (needed + page - 1) / page * page);
  const answer given = ask(begin.text());
  const detail::json_fields fields("an answer of the vault", given.packet,
                                   limits::vault_message_bytes);
  if (fields.text("kind") != "write" || !given.file) {
    return fields.has("reason") ? std::string(fields.text("reason")) : "the agent has no slot";
  }
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  const auto number = static_cast<int>(fields.number("slot", 0, 1));
  const std::span<std::byte> memory = map(number, given.file.get());
  if (memory.size() < needed) return "the agent's slot cannot be mapped";
  const std::span<std::byte> data = memory.subspan(limits::vault_header_bytes, header.data_bytes);
  for (std::size_t index = 0; index < rows.size(); ++index) {
    std::uint32_t check = 0;
    const std::span<std::byte> target = data.subspan(rows[index].place, rows[index].bytes);
    detail::for_each_piece(buffers[index].bytes, [&](std::size_t done, auto piece) {
      std::memcpy(target.data() + done, piece.data(), piece.size());
      if (has_checksums) check = detail::crc32(detail::text_of(piece), check);
    });
    if (has_checksums) rows[index].check = fmt::format("{:08x}", check);
  }
  const std::string manifest = detail::manifest_of(buffers, rows);
  std::memcpy(data.data() + data.size(), manifest.data(), manifest.size());
  header.id = {fields.number("epoch", 1, any), fields.number("generation", 1, any)};
  header.step = step;
  header.rank = static_cast<int>(fields.number("rank", 0, limits::job_ranks - 1));
  header.world_size = static_cast<int>(fields.number("world_size", 1, limits::job_ranks));
  header.manifest_check = detail::crc32(manifest);
  const std::string head = bytes_of(header);
  std::memcpy(memory.data(), head.data(), head.size());
  detail::json_object end;
  tell(end.add("kind", "committed").add("slot", number).text());
  return {};
}

/// The memory of a slot; empty if it cannot be mapped.
ELASTIC_DECL std::span<std::byte> worker_vault::map(int number, int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return {};
  slot& known = slots_[number];
  if (!known.memory.empty() && known.inode == status.st_ino) return known.memory;
  if (!known.memory.empty()) ::munmap(known.memory.data(), known.memory.size());
  known = slot();
  const auto bytes = static_cast<std::size_t>(status.st_size);
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return {};
  // A forked process must not write into the slot.
  ::madvise(memory, bytes, MADV_DONTFORK);
  known.inode = status.st_ino;
  known.memory = {static_cast<std::byte*>(memory), bytes};
  return known.memory;
}

// ---- a restore ----------------------------------------------------------------------------------

ELASTIC_DECL void worker_vault::call_damaged(const std::string& problem) {
  detail::json_object packet;
  packet.add("kind", "damaged").add("reason", problem);
  try {
    ask(packet.text());
  } catch (const error&) {
    // The agent is gone, and the state with it.
  }
  throw error(errc::protocol_violation, "the state in memory is damaged: " + problem);
}

ELASTIC_DECL std::optional<detail::vault_content> worker_vault::find(std::optional<int> rank) {
  if (!connect()) return {};
  detail::json_object packet;
  packet.add("kind", "find");
  if (rank) packet.add("rank", *rank);
  answer given = ask(packet.text());
  if (!given.file) return {};
  detail::vault_content found;
  found.file = std::move(given.file);
  struct stat status {};
  std::string head(limits::vault_header_bytes, '\0');
  const int file = found.file.get();
  const bool is_there = ::fstat(file, &status) == 0 &&
                        detail::read_part(file, 0, std::as_writable_bytes(std::span(head)));
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  const auto header = is_there ? detail::parse_vault_header(head, bytes) : std::nullopt;
  if (!header) call_damaged("the slot has no commit");
  found.header = *header;
  std::string manifest(header->manifest_bytes, '\0');
  detail::read_part(file, limits::vault_header_bytes + header->data_bytes,
                    std::as_writable_bytes(std::span(manifest)));
  if (detail::crc32(manifest) != header->manifest_check) {
    call_damaged("the manifest has another checksum");
  }
  auto rows = detail::parse_manifest(manifest, header->data_bytes);
  if (!rows) call_damaged("the manifest does not list buffers in the data");
  found.rows = std::move(*rows);
  return found;
}

ELASTIC_DECL auto worker_vault::newest() -> std::optional<found_generation> {
  try {
    const std::optional<detail::vault_content> found = find({});
    if (!found) return {};
    const detail::vault_header& header = found->header;
    return found_generation{header.id.epoch, header.id.number, header.step, header.world_size};
  } catch (const error& failure) {
    if (failure.code() != errc::connection_failed) throw;
    return {};
  }
}

ELASTIC_DECL void worker_vault::read_bytes(std::string_view name, std::span<std::byte> out,
                                           char type, std::optional<int> rank) {
  const system_time clock;
  const time_point begun = clock.now();
  const std::optional<detail::vault_content> found = find(rank);
  const std::string shown = in_quotes(name);
  if (!found) {
    throw error(errc::invalid_argument,
                fmt::format("the vault has no generation with buffer {}", shown));
  }
  const auto row = std::find_if(found->rows.begin(), found->rows.end(),
                                [&](const detail::vault_row& each) { return each.name == name; });
  if (row == found->rows.end()) {
    throw error(errc::invalid_argument, fmt::format("the commit has no buffer {}", shown));
  }
  const bool has_type = row->kind != "array" || type == 'B' || row->type == std::string(1, type);
  if (!has_type || row->bytes != out.size()) {
    throw error(errc::invalid_argument,
                fmt::format("buffer {} has {} bytes of type '{}', and {} of type '{}' are wanted",
                            shown, row->bytes, printable_line(row->type), out.size(), type));
  }
  constexpr std::size_t digits = 8;
  const bool is_summed = row->check.size() == digits + 1 && row->check.starts_with('s');
  if (!row->check.empty() && !is_summed && row->check.size() != digits) {
    throw error(errc::not_supported, fmt::format("buffer {} has a checksum of an unknown kind: {}",
                                                 shown, printable_line(row->check)));
  }
  std::uint32_t check = 0;
  bool is_whole = true;
  detail::for_each_piece(out, [&](std::size_t done, std::span<std::byte> piece) {
    const std::uint64_t place = limits::vault_header_bytes + row->place + done;
    is_whole = is_whole && detail::read_part(found->file.get(), place, piece);
    const std::string_view content = detail::text_of(piece);
    if (is_summed) {
      check = detail::crc32(detail::sums_of(content), check);
    } else if (!row->check.empty()) {
      check = detail::crc32(content, check);
    }
  });
  const std::string made = fmt::format("{}{:08x}", is_summed ? "s" : "", check);
  if (!is_whole || (!row->check.empty() && made != row->check)) {
    call_damaged(fmt::format("buffer {} has another checksum", shown));
  }
  detail::json_object packet;
  const std::chrono::duration<double> seconds = clock.now() - begun;
  tell(packet.add("kind", "restored").add("seconds", seconds.count()).text());
}

}  // namespace elastic
