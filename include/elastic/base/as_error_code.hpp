// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_core.hpp>

#include <exception>
#include <system_error>
#include <type_traits>
#include <utility>

namespace elastic {

/// A completion token that gives its handler a `std::error_code` instead of an exception. Made by
/// `as_error_code`.
template <class CompletionToken>
struct error_code_token {
  CompletionToken token;
};

/// Adapts a completion token to the signature `void(std::error_code, result)`, for what has
/// `void(std::exception_ptr, result)`, such as `job::async_run`; with Boost.Asio the code is a
/// `boost::system::error_code`, which converts to that of `std`. The code is that of an
/// `elastic::error` or `std::system_error`; `std::errc::not_enough_memory` for `std::bad_alloc`;
/// `std::errc::state_not_recoverable` for any other exception. The sentence of the error is lost:
/// the log has it, or use the token alone.
///
///     training.async_run(elastic::as_error_code([](std::error_code code, run_result result) {…}));
///
/// `use_awaitable` and `use_future` throw an exception with the code.
template <class CompletionToken>
error_code_token<std::decay_t<CompletionToken>> as_error_code(CompletionToken&& token) {
  return {std::forward<CompletionToken>(token)};
}

namespace detail {

/// The code of an exception, as `as_error_code` has it; success for null.
ELASTIC_DECL std::error_code error_code_of(const std::exception_ptr& failure) noexcept;

template <class Handler>
struct error_code_handler {
  Handler handler;

  template <class... Result>
  void operator()(const std::exception_ptr& failure, Result&&... result) {
    std::move(handler)(asio_error_code(error_code_of(failure)), std::forward<Result>(result)...);
  }
};

/// Derived, so that Asio finds the executor of the operation.
template <class Initiation>
struct error_code_initiation : Initiation {
  template <class Handler, class... Arguments>
  void operator()(Handler handler, Arguments&&... arguments) {
    Initiation& start = *this;
    start(error_code_handler<Handler>{std::move(handler)}, std::forward<Arguments>(arguments)...);
  }
};

}  // namespace detail

}  // namespace elastic

namespace ELASTIC_ASIO_NAMESPACE {

template <class CompletionToken, class... Result>
struct async_result<elastic::error_code_token<CompletionToken>,
                    void(std::exception_ptr, Result...)>
    : async_result<CompletionToken, void(elastic::detail::asio_error_code, Result...)> {
  template <class Initiation, class Token, class... Arguments>
  static auto initiate(Initiation&& initiation, Token&& token, Arguments&&... arguments) {
    using start = elastic::detail::error_code_initiation<std::decay_t<Initiation>>;
    return async_initiate<CompletionToken, void(elastic::detail::asio_error_code, Result...)>(
        start{std::forward<Initiation>(initiation)}, token.token,
        std::forward<Arguments>(arguments)...);
  }
};

template <template <class, class> class Associator, class Handler, class Otherwise>
struct associator<Associator, elastic::detail::error_code_handler<Handler>, Otherwise>
    : Associator<Handler, Otherwise> {
  static auto get(const elastic::detail::error_code_handler<Handler>& adapted) noexcept {
    return Associator<Handler, Otherwise>::get(adapted.handler);
  }
  static auto get(const elastic::detail::error_code_handler<Handler>& adapted,
                  const Otherwise& otherwise) noexcept {
    return Associator<Handler, Otherwise>::get(adapted.handler, otherwise);
  }
};

}  // namespace ELASTIC_ASIO_NAMESPACE

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/impl/as_error_code.ipp>
#endif
