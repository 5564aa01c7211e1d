// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>

#include <atomic>

namespace elastic::detail {

/// Called with each TCP socket of the library, before the socket connects or listens and after it
/// was accepted; null: no call. The program simulates a lost network with it.
/// Thread-safety: any thread may set it; a socket that is opened at the same time may still use the
/// old value.
inline ELASTIC_EXPORT std::atomic<void (*)(int fd)> tcp_socket_hook{nullptr};

inline void call_socket_hook(int fd) {
  if (void (*const hook)(int) = tcp_socket_hook.load()) hook(fd);
}

}  // namespace elastic::detail
