// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <thread>

namespace elastic::test {

/// The threads of this process.
inline std::ptrdiff_t threads() {
  namespace fs = std::filesystem;
  return std::distance(fs::directory_iterator("/proc/self/task"), fs::directory_iterator());
}

/// The same, after a sanitizer has had the occasion to start its own thread, which it may do with
/// the first thread.
inline std::ptrdiff_t threads_at_first() {
  std::thread([] {}).join();
  return threads();
}

/// Waits until there are at most `count` threads, as long as a test may take.
inline bool threads_become(std::ptrdiff_t count) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(100);
  while (threads() > count) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace elastic::test
