// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/contract/detail/call_memfd.hpp>

#include <elastic/base/error.hpp>
#include <elastic/base/limits.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace elastic::detail {

ELASTIC_DECL call_memfd& call_memfd::operator=(call_memfd&& other) noexcept {
  call_memfd taken(std::move(other));
  swap(taken);
  return *this;
}

ELASTIC_DECL call_memfd::~call_memfd() {
  if (file_ >= 0) ::close(file_);
}

ELASTIC_DECL call_memfd call_memfd::make(std::string_view arguments, std::size_t answer_bytes) {
  call_memfd made;
  made.arguments_ = arguments.size();
  made.room_ = answer_bytes;
  made.file_ = open_memory();
  header first;
  first.arguments = arguments.size();
  const auto size = static_cast<off_t>(made.answer_at() + answer_bytes);
  if (made.file_ < 0 || ::ftruncate(made.file_, size) != 0 ||
      !made.write(0, &first, sizeof first) ||
      !made.write(sizeof first, arguments.data(), arguments.size()) ||
      ::fcntl(made.file_, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    throw error(errc::start_failed,
                fmt::format("cannot create a memory file for a function's arguments: {}",
                            errno_text(errno)));
  }
  return made;
}

ELASTIC_DECL call_memfd call_memfd::take() {
  call_memfd taken;
  taken.file_ = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
  struct stat about{};
  header first;
  first.arguments = 0;
  const bool is_sheet = taken.file_ >= 0 && ::fstat(taken.file_, &about) == 0 &&
                        S_ISREG(about.st_mode) && taken.read(0, &first, sizeof first) &&
                        std::memcmp(first.mark, header().mark, sizeof first.mark) == 0 &&
                        first.arguments <= limits::function_arguments_bytes;
  const auto size = static_cast<std::uint64_t>(about.st_size);
  if (!is_sheet || size < sizeof first + first.arguments) {
    throw error(errc::protocol_violation,
                "standard input does not hold a function's arguments: only an agent starts a "
                "worker that runs a function");
  }
  taken.arguments_ = first.arguments;
  taken.room_ = size - taken.answer_at();
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) {
    ::dup2(nothing, 0);
    ::close(nothing);
  }
  return taken;
}

ELASTIC_DECL std::string call_memfd::arguments() const {
  std::string text(arguments_, '\0');
  if (!read(sizeof(header), text.data(), text.size())) fail("read");
  return text;
}

ELASTIC_DECL void call_memfd::leave(call_answer::content kind, std::string_view text) {
  header first;
  first.arguments = arguments_;
  first.answer = text.size();
  first.kind = static_cast<std::uint64_t>(kind);
  const bool is_left = text.size() <= room_ && write(answer_at(), text.data(), text.size()) &&
                       write(0, &first, sizeof first);
  if (!is_left) fail("write");
}

ELASTIC_DECL call_answer call_memfd::answer() const {
  call_answer answer;
  if (file_ < 0) return answer;
  header first;
  if (!read(0, &first, sizeof first)) return garbage("it cannot be read");
  if (first.kind == static_cast<std::uint64_t>(call_answer::content::nothing)) return answer;
  if (first.kind != static_cast<std::uint64_t>(call_answer::content::value) &&
      first.kind != static_cast<std::uint64_t>(call_answer::content::failure)) {
    return garbage(fmt::format("it is of the unknown kind {}", first.kind));
  }
  if (first.answer > room_) {
    return garbage(fmt::format("it is said to have {} bytes, {} are allowed", first.answer, room_));
  }
  answer.kind = static_cast<call_answer::content>(first.kind);
  answer.text.resize(first.answer);
  if (!read(answer_at(), answer.text.data(), answer.text.size())) {
    return garbage("it cannot be read");
  }
  return answer;
}

ELASTIC_DECL int call_memfd::open_memory() {
  // A system may allow only files that are marked as not executable; older kernels do not know the
  // flag.
  constexpr unsigned not_executable = 8;
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int file = ::memfd_create("elastic-call", flags | not_executable);
  return file >= 0 || errno != EINVAL ? file : ::memfd_create("elastic-call", flags);
}

ELASTIC_DECL call_answer call_memfd::garbage(std::string why) {
  return {call_answer::content::garbage, std::move(why)};
}

ELASTIC_DECL void call_memfd::fail(const char* step) {
  throw error(errc::file_access, fmt::format("cannot {} the file of a function's arguments and "
                                             "answer: {}",
                                             step, errno_text(errno)));
}

ELASTIC_DECL bool call_memfd::read(std::size_t offset, void* target, std::size_t size) const {
  return moved(size, [&](std::size_t done) {
    return ::pread(file_, static_cast<char*>(target) + done, size - done,
                   static_cast<off_t>(offset + done));
  });
}

ELASTIC_DECL bool call_memfd::write(std::size_t offset, const void* source,
                                    std::size_t size) const {
  return moved(size, [&](std::size_t done) {
    return ::pwrite(file_, static_cast<const char*>(source) + done, size - done,
                    static_cast<off_t>(offset + done));
  });
}

ELASTIC_DECL void call_memfd::swap(call_memfd& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(arguments_, other.arguments_);
  std::swap(room_, other.room_);
}

}  // namespace elastic::detail
