// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/vault/detail/vault_memory.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL vault_memory::vault_memory(asio::any_io_executor strand, std::uint64_t limit,
                                        int workers)
    : strand_(std::move(strand)), limit_(limit), workers_(static_cast<std::size_t>(workers)) {}

inline std::string no_memory(std::uint64_t bytes, int number) {
  return fmt::format("the agent cannot get {}: {}", memory_text(bytes), errno_text(number));
}

ELASTIC_DECL void vault_memory::erase(const slot& chosen) {
  const char nothing[limits::vault_header_bytes] = {};
  // The write cannot fail: the file is in memory, and all of it is allocated.
  if (chosen.file) (void)!::pwrite(chosen.file.get(), nothing, sizeof nothing, 0);
}

/// Creates the file, but allocates no memory yet. Result: the reason why that failed; empty: it did
/// not.
ELASTIC_DECL std::string vault_memory::create(slot& chosen, std::uint64_t bytes) {
  rlimit most{};
  // Beyond the limit, the kernel would send a signal that ends this process.
  if (::getrlimit(RLIMIT_FSIZE, &most) == 0 && bytes > most.rlim_cur) {
    return fmt::format("the limit of file sizes (ulimit -f) is {}", memory_text(most.rlim_cur));
  }
  unique_fd file(::memfd_create("elastic-vault", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return no_memory(bytes, errno);
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) return no_memory(bytes, errno);
  if (::fchmod(file.get(), S_IRUSR | S_IWUSR) != 0) return no_memory(bytes, errno);
  chosen.file = std::move(file);
  chosen.bytes = bytes;
  return {};
}

ELASTIC_DECL task<std::string> vault_memory::allocate(int file, std::uint64_t bytes) {
  for (std::uint64_t done = 0; done < bytes; done += limits::vault_piece_bytes) {
    const std::uint64_t piece = std::min(limits::vault_piece_bytes, bytes - done);
    int failed = 0;
    do {
      failed = ::fallocate(file, 0, static_cast<off_t>(done), static_cast<off_t>(piece));
    } while (failed != 0 && errno == EINTR);
    if (failed != 0) co_return no_memory(bytes, errno);
    if (done + piece < bytes) co_await asio::post(strand_, asio::use_awaitable);
  }
  // A file without seals could be truncated while others have it mapped.
  if (::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    co_return no_memory(bytes, errno);
  }
  co_return std::string();
}

/// Replaces the file of the slot by a larger one.
ELASTIC_DECL task<std::string> vault_memory::replace(slot& chosen, std::uint64_t bytes) {
  chosen = slot();
  std::string refusal = create(chosen, bytes);
  if (!refusal.empty()) co_return refusal;
  struct release_unless_sealed {
    vault_memory::slot& chosen;
    bool is_sealed = false;
    ~release_unless_sealed() {
      if (!is_sealed) chosen = vault_memory::slot();
    }
  } holding{chosen};
  task<std::string> allocating = allocate(chosen.file.get(), bytes);
  refusal = co_await std::move(allocating);
  holding.is_sealed = refusal.empty();
  co_return refusal;
}

ELASTIC_DECL task<vault_memory::place> vault_memory::open(
    int local_rank, std::uint64_t bytes, std::optional<vault_generation> complete,
    std::function<bool(vault_generation)> is_pending) & {
  worker& owner = workers_.at(static_cast<std::size_t>(local_rank));
  place found;
  if (owner.is_opening) {
    found.refusal = "another commit of this worker waits for its memory";
    co_return found;
  }
  vault_slot_view view = view_of(local_rank);
  view.needed = bytes;
  view.complete = complete;
  for (vault_slot_view::slot& one : view.slots) one.is_pending = one.id && is_pending(*one.id);
  vault_slot_choice choice = next_vault_slot(view);
  found.slot = choice.slot;
  found.refusal = std::move(choice.refusal);
  found.awaited = choice.awaited;
  if (!found.refusal.empty()) co_return found;
  slot& chosen = owner.slots[choice.slot];
  if (choice.is_new) {
    owner.is_opening = true;
    const struct opened {
      worker& owner;
      ~opened() { owner.is_opening = false; }
    } closing{owner};
    task<std::string> replacing = replace(chosen, bytes);
    found.refusal = co_await std::move(replacing);
    if (!found.refusal.empty()) co_return found;
  } else {
    erase(chosen);
  }
  found.file = chosen.file.get();
  found.bytes = chosen.bytes;
  co_return found;
}

ELASTIC_DECL vault_slot_view vault_memory::view_of(int local_rank) const {
  vault_slot_view view;
  for (std::size_t index = 0; index < view.slots.size(); ++index) {
    view.slots[index].bytes = at(local_rank).slots[index].bytes;
    const std::optional<vault_header> header = read(local_rank, index);
    if (header) view.slots[index].id = header->id;
  }
  view.used = used();
  view.limit = limit_;
  return view;
}

ELASTIC_DECL std::optional<vault_header> vault_memory::read(int local_rank,
                                                            std::size_t index) const {
  const slot& chosen = at(local_rank).slots.at(index);
  if (!chosen.file) return {};
  std::string bytes(limits::vault_header_bytes, '\0');
  const ssize_t size = ::pread(chosen.file.get(), bytes.data(), bytes.size(), 0);
  if (size != static_cast<ssize_t>(bytes.size())) return {};
  return parse_vault_header(bytes, chosen.bytes);
}

ELASTIC_DECL std::optional<vault_header> vault_memory::find(int local_rank,
                                                            vault_generation id) const {
  for (std::size_t index = 0; index < at(local_rank).slots.size(); ++index) {
    const std::optional<vault_header> header = read(local_rank, index);
    if (header && header->id == id) return header;
  }
  return {};
}

ELASTIC_DECL unique_fd vault_memory::reader(int local_rank, vault_generation id) const {
  for (std::size_t index = 0; index < at(local_rank).slots.size(); ++index) {
    const std::optional<vault_header> header = read(local_rank, index);
    if (!header || header->id != id) continue;
    const int file = at(local_rank).slots[index].file.get();
    return unique_fd(::open(fmt::format("/proc/self/fd/{}", file).c_str(), O_RDONLY | O_CLOEXEC));
  }
  return unique_fd();
}

ELASTIC_DECL std::vector<vault_commit> vault_memory::commits() const {
  std::vector<vault_commit> all;
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
    for (std::size_t index = 0; index < workers_[rank].slots.size(); ++index) {
      const std::optional<vault_header> header = read(static_cast<int>(rank), index);
      if (header) all.push_back({header->rank, header->world_size, header->id});
    }
  }
  return all;
}

ELASTIC_DECL void vault_memory::keep_until(std::optional<vault_generation> last) {
  for (std::size_t rank = 0; rank < workers_.size(); ++rank) {
    for (std::size_t index = 0; index < workers_[rank].slots.size(); ++index) {
      const std::optional<vault_header> header = read(static_cast<int>(rank), index);
      if (header && (!last || *last < header->id)) erase(workers_[rank].slots[index]);
    }
  }
}

ELASTIC_DECL void vault_memory::clear() {
  for (worker& each : workers_) {
    for (slot& one : each.slots) one = slot();
  }
}

ELASTIC_DECL std::uint64_t vault_memory::used() const {
  std::uint64_t bytes = 0;
  for (const worker& each : workers_) {
    for (const slot& one : each.slots) bytes += one.bytes;
  }
  return bytes;
}

}  // namespace elastic::detail
