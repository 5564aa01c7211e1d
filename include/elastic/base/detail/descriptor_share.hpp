// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

// Distributes the process's file descriptors among its parts. Servers reserve those that agents
// need for their workers, and close connections if too few are left.
namespace elastic::detail {

/// The maximum number of descriptors of this process.
ELASTIC_DECL std::size_t descriptor_limit();

/// How many more descriptors it can open; `descriptor_limit()` if the kernel does not tell.
ELASTIC_DECL std::size_t free_descriptors();

/// Reserves descriptors for uses other than connections, as long as this object lives.
///
/// Thread-safety: any thread.
class descriptor_need {
 public:
  explicit descriptor_need(std::size_t count) : count_(count) { all_ += count; }
  ~descriptor_need() { all_ -= count_; }
  descriptor_need(const descriptor_need&) = delete;
  descriptor_need& operator=(const descriptor_need&) = delete;

  static std::size_t of_all() { return all_; }

 private:
  static inline std::atomic<std::size_t> all_ = 0;

  const std::size_t count_;
};

/// A request to the holders of connections.
struct descriptor_request {
  /// How many descriptors the lenders must still release, and have released.
  std::atomic<std::size_t> wanted = 0;
  std::atomic<std::size_t> given = 0;
  /// Lenders that have not answered yet.
  std::atomic<int> unanswered = 0;
};

/// A holder of descriptors that can release some, as long as this object lives.
///
/// Thread-safety: any thread.
class descriptor_lender {
 public:
  using request = std::shared_ptr<descriptor_request>;

  /// @param give_up  called by any thread, must not block; it, or what it posts, increases `given`
  ///                 and decreases `unanswered`
  ELASTIC_DECL explicit descriptor_lender(std::function<void(request)> give_up);
  ELASTIC_DECL ~descriptor_lender();
  descriptor_lender(const descriptor_lender&) = delete;
  descriptor_lender& operator=(const descriptor_lender&) = delete;

  /// Sends a request to every lender.
  ELASTIC_DECL static request ask(std::size_t count);

 private:
  struct registry;
  ELASTIC_DECL static registry& all();

  std::function<void(request)> give_up_;
};

/// Makes room for `count` more descriptors, or for fewer if lenders release too few within
/// `limits::descriptor_patience`.
///
/// Cancellation: all types.
ELASTIC_DECL task<void> make_room_for_descriptors(std::shared_ptr<time_source> time,
                                                  std::size_t count);

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/descriptor_share.ipp>
#endif
