// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/detail/ring_options.hpp>
#include <elastic/base/detail/ring_request.hpp>
#include <elastic/base/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#if !defined(ELASTIC_NO_RING)
#include <liburing.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

ELASTIC_AGREE(elastic_has_io_uring_in_one_object_and_not_in_another, 1);
#else
ELASTIC_AGREE(elastic_has_io_uring_in_one_object_and_not_in_another, 2);
#endif

namespace elastic::detail {

#if !defined(ELASTIC_NO_RING)

/// One io_uring and its pool of receive buffers: the part that talks to the kernel. It does not
/// know who uses it.
class ring_queue {
 public:
  /// Result: null if the kernel, a seccomp filter or a limit forbids it; `why_not` then has the
  /// reason.
  static std::unique_ptr<ring_queue> open(const ring_options& wanted, std::string& why_not) {
    std::unique_ptr<ring_queue> queue(new ring_queue);
    why_not = queue->set_up(wanted);
    if (why_not.empty()) why_not = queue->try_out();
    if (!why_not.empty()) queue.reset();
    return queue;
  }

  ~ring_queue() {
    if (is_open_) io_uring_queue_exit(&ring_);
    if (pool_ != MAP_FAILED) munmap(pool_, pool_bytes_);
  }

  ring_queue(const ring_queue&) = delete;
  ring_queue& operator=(const ring_queue&) = delete;

  int fd() const { return ring_.ring_fd; }

  /// Queues a request. Result: false if the queue is full; it is then full until the next `submit`.
  bool prepare(const ring_request& request, void* who) {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (!entry) return false;
    switch (request.what) {
      case ring_request::action::none: io_uring_prep_nop(entry); break;
      case ring_request::action::accept:
        io_uring_prep_multishot_accept(entry, request.fd, nullptr, nullptr, SOCK_CLOEXEC);
        break;
      case ring_request::action::receive:
        io_uring_prep_recv_multishot(entry, request.fd, nullptr, 0, 0);
        io_uring_sqe_set_flags(entry, IOSQE_BUFFER_SELECT);
        entry->buf_group = buffer_group;
        break;
      case ring_request::action::send:
        io_uring_prep_send(entry, request.fd, request.data, request.size,
                           MSG_NOSIGNAL | MSG_WAITALL);
        break;
      case ring_request::action::read:
        io_uring_prep_read(entry, request.fd, request.data, request.size, static_cast<__u64>(-1));
        break;
      case ring_request::action::poll:
        io_uring_prep_poll_add(entry, request.fd, request.events);
        break;
    }
    // Always set: liburing does not clear the field, and a stale value would reach another
    // operation.
    io_uring_sqe_set_data(entry, who);
    return true;
  }

  /// Queues the cancellation of the request that was queued with `who`. Result: as for `prepare`.
  bool prepare_cancel(void* who) {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (!entry) return false;
    io_uring_prep_cancel64(entry, reinterpret_cast<std::uintptr_t>(who), 0);
    io_uring_sqe_set_data(entry, nullptr);
    return true;
  }

  /// Queues the cancellation of all requests. Result: as for `prepare`.
  bool prepare_cancel_all() {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    if (!entry) return false;
    io_uring_prep_cancel64(entry, 0, IORING_ASYNC_CANCEL_ANY | IORING_ASYNC_CANCEL_ALL);
    io_uring_sqe_set_data(entry, nullptr);
    return true;
  }

  /// Submits the queued requests to the kernel. Result: 0, or the `errno` of a failed call;
  /// requests that the kernel did not take stay queued.
  int submit() {
    while (io_uring_sq_ready(&ring_) > 0) {
      const int taken = io_uring_submit(&ring_);
      if (taken < 0 && taken != -EINTR) return -taken;
      if (taken == 0) return EAGAIN;
    }
    return 0;
  }

  /// Takes as many answers as fit. Result: how many.
  unsigned take(std::span<ring_answer> answers) {
    unsigned count = 0;
    io_uring_cqe* entry = nullptr;
    while (count < answers.size() && io_uring_peek_cqe(&ring_, &entry) == 0) {
      answers[count++] = {io_uring_cqe_get_data(entry), entry->res,
                          (entry->flags & IORING_CQE_F_MORE) != 0,
                          (entry->flags & IORING_CQE_F_BUFFER) != 0,
                          static_cast<std::uint16_t>(entry->flags >> IORING_CQE_BUFFER_SHIFT)};
      io_uring_cqe_seen(&ring_, entry);
    }
    return count;
  }

  /// Waits for an answer, for at most this time.
  void wait(int milliseconds) {
    __kernel_timespec limit{milliseconds / 1000, (milliseconds % 1000) * 1'000'000LL};
    io_uring_cqe* entry = nullptr;
    io_uring_wait_cqe_timeout(&ring_, &entry, &limit);
  }

  std::string_view buffer(std::uint16_t id, int size) const {
    return {buffer_at(id), static_cast<std::size_t>(size)};
  }

  /// Lends the kernel more buffers, if there are more: it found all of them full.
  void add_buffers() {
    const unsigned wanted = std::min(buffers_, std::max(first_buffers, 2 * lent_));
    while (lent_ < wanted) recycle(static_cast<std::uint16_t>(lent_++));
  }

  /// Gives a buffer back to the kernel.
  void recycle(std::uint16_t id) {
    io_uring_buf_ring_add(buffer_ring_, buffer_at(id), buffer_bytes_, id, buffer_mask_, 0);
    io_uring_buf_ring_advance(buffer_ring_, 1);
  }

 private:
  static constexpr std::uint16_t buffer_group = 0;
  // Memory that was never lent is never touched.
  static constexpr unsigned first_buffers = 32;

  ring_queue() = default;

  char* buffer_at(std::uint16_t id) const {
    return static_cast<char*>(pool_) + buffers_offset_ + std::size_t{id} * buffer_bytes_;
  }

  // Result: empty, or the reason of the failure.
  std::string set_up(const ring_options& wanted) {
    io_uring_params params{};
    // COOP_TASKRUN avoids interrupts. Unlike DEFER_TASKRUN, it allows epoll to wait for the ring's
    // descriptor, and every thread of a strand to use the ring.
    params.flags = IORING_SETUP_COOP_TASKRUN | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP |
                   IORING_SETUP_CQSIZE;
    params.cq_entries = wanted.entries * 4;
    if (int failed = io_uring_queue_init_params(wanted.entries, &ring_, &params); failed < 0) {
      if (failed == -EINVAL) return "io_uring_setup: the kernel is older than 6.0";
      return "io_uring_setup: " + errno_text(-failed);
    }
    is_open_ = true;
    return set_up_buffers(wanted);
  }

  std::string set_up_buffers(const ring_options& wanted) {
    buffers_ = wanted.buffers;
    buffer_bytes_ = wanted.buffer_bytes;
    buffer_mask_ = io_uring_buf_ring_mask(wanted.buffers);
    const std::size_t page = 4096;
    buffers_offset_ = (wanted.buffers * sizeof(io_uring_buf) + page - 1) / page * page;
    pool_bytes_ = buffers_offset_ + std::size_t{wanted.buffers} * buffer_bytes_;
    pool_ = mmap(nullptr, pool_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pool_ == MAP_FAILED) return "mmap: " + errno_text(errno);
    buffer_ring_ = static_cast<io_uring_buf_ring*>(pool_);
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uintptr_t>(buffer_ring_);
    registration.ring_entries = wanted.buffers;
    registration.bgid = buffer_group;
    if (int failed = io_uring_register_buf_ring(&ring_, &registration, 0); failed < 0) {
      return "io_uring_register: " + errno_text(-failed);
    }
    io_uring_buf_ring_init(buffer_ring_);
    add_buffers();
    return {};
  }

  // Whether the kernel supports multishot receives into buffers of the pool can only be tested.
  std::string try_out() {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
      return "socketpair: " + errno_text(errno);
    }
    const bool written = write(pair[1], "x", 1) == 1;
    close(pair[1]);
    prepare({ring_request::action::receive, pair[0], nullptr, 0, 0}, this);
    const int failed = written ? submit() : EIO;
    bool received = false;
    for (bool more = failed == 0; more;) {
      wait(1000);
      ring_answer answer;
      if (take({&answer, 1}) == 0) break;
      received = received || (answer.result == 1 && answer.more && answer.has_buffer);
      if (answer.has_buffer) recycle(answer.buffer);
      more = answer.more;
    }
    close(pair[0]);
    if (failed != 0) return "io_uring_enter: " + errno_text(failed);
    return received ? "" : "io_uring: the kernel is older than 6.0";
  }

  io_uring ring_{};
  bool is_open_ = false;
  void* pool_ = MAP_FAILED;
  std::size_t pool_bytes_ = 0;
  std::size_t buffers_offset_ = 0;
  io_uring_buf_ring* buffer_ring_ = nullptr;
  unsigned buffers_ = 0;
  unsigned lent_ = 0;
  unsigned buffer_bytes_ = 0;
  int buffer_mask_ = 0;
};

#else

/// Replaces the queue in builds without liburing. There is never an object of it.
class ring_queue {
 public:
  static std::unique_ptr<ring_queue> open(const ring_options&, std::string& why_not) {
    why_not = "built without liburing";
    return nullptr;
  }
  int fd() const { return -1; }
  bool prepare(const ring_request&, void*) { return false; }
  bool prepare_cancel(void*) { return false; }
  bool prepare_cancel_all() { return false; }
  int submit() { return 0; }
  unsigned take(std::span<ring_answer>) { return 0; }
  void wait(int) {}
  std::string_view buffer(std::uint16_t, int) const { return {}; }
  void add_buffers() {}
  void recycle(std::uint16_t) {}

 private:
  ring_queue() = default;
};

#endif

}  // namespace elastic::detail
