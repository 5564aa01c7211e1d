// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Before Asio: if no header of the standard library came first, Asio takes its memory from another
// place, and must do so in all translation units or in none.
#include <cstddef>

#include <asio/any_io_executor.hpp>
#include <asio/awaitable.hpp>
#include <asio/this_coro.hpp>

#if !defined(ASIO_HAS_CO_AWAIT)
#error "elastic needs Asio's coroutines: compile as C++20 and define ASIO_HAS_CO_AWAIT=1 for clang"
#endif

namespace elastic {

/// The coroutine type of this library: Asio's own awaitable.
///
/// A task is lazy: it starts when it is awaited (or given to `asio::co_spawn`), runs on the
/// executor of the coroutine that awaits it, and takes that coroutine's cancellation. Everything
/// that composes with `asio::awaitable` composes with a task.
template <class T = void>
using task = asio::awaitable<T>;

}  // namespace elastic
