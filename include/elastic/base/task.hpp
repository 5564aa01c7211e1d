// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/asio_core.hpp>

namespace elastic {

/// The coroutine type of this library: Asio's own awaitable.
///
/// A task is lazy: it starts when it is awaited (or given to `asio::co_spawn`), runs on the
/// executor of the coroutine that awaits it, and takes that coroutine's cancellation. Everything
/// that composes with `asio::awaitable` composes with a task.
template <class T = void>
using task = asio::awaitable<T>;

}  // namespace elastic
