// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/as_error_code.hpp>

#include <new>

namespace elastic::detail {

ELASTIC_DECL std::error_code error_code_of(const std::exception_ptr& failure) noexcept {
  if (!failure) return {};
  try {
    std::rethrow_exception(failure);
  } catch (const std::system_error& known) {
    return known.code();
#if defined(ELASTIC_USE_BOOST_ASIO)
  } catch (const asio_system_error& known) {
    return known.code();
#endif
  } catch (const std::bad_alloc&) {
    return std::make_error_code(std::errc::not_enough_memory);
  } catch (...) {
    return std::make_error_code(std::errc::state_not_recoverable);
  }
}

}  // namespace elastic::detail
