// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/detail/ring.hpp>

#include <elastic/base/asio.hpp>
#include <elastic/base/detail/executor_work.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <utility>

namespace elastic::detail {

ELASTIC_DECL void ring_link::unlink() {
  previous->next = next;
  next->previous = previous;
  previous = next = this;
}

ELASTIC_DECL void ring_link::move_before(ring_link& other) {
  unlink();
  previous = other.previous;
  next = &other;
  previous->next = this;
  other.previous = this;
}

ELASTIC_DECL asio_error_code ring::completion::error() const {
  if (result >= 0) return {};
  return {-result, asio::error::get_system_category()};
}

ELASTIC_DECL ring::ring(asio::any_io_executor executor, std::unique_ptr<ring_queue> queue)
    : executor_(std::move(executor)), queue_(std::move(queue)), readiness_(executor_) {}

// The handler that the loop runs for the ring. If it is destroyed without having run, the loop
// itself is being destroyed.
class ring::next_turn {
 public:
  explicit next_turn(std::shared_ptr<ring> owner) : ring_(std::move(owner)) {}
  next_turn(next_turn&&) = default;
  next_turn& operator=(next_turn&&) = delete;
  ~next_turn() {
    if (ring_) ring_->give_up();
  }

  // Runs because an operation was started or cancelled.
  void operator()() {
    const std::shared_ptr<ring> running = std::move(ring_);
    running->turn_wanted_ = false;
    running->turn();
  }
  // Runs because the ring's descriptor is readable.
  void operator()(asio_error_code) {
    const std::shared_ptr<ring> running = std::move(ring_);
    running->armed_ = false;
    running->turn();
  }

 private:
  std::shared_ptr<ring> ring_;
};

ELASTIC_DECL std::shared_ptr<ring> ring::try_make(asio::any_io_executor executor,
                                                  ring_options wanted, std::string* why_not) {
  std::string reason;
  std::shared_ptr<ring> made;
  if (auto queue = ring_queue::open(wanted, reason)) {
    made.reset(new ring(std::move(executor), std::move(queue)));
    asio_error_code failure;
    made->watched_ = unique_fd(::fcntl(made->queue_->fd(), F_DUPFD_CLOEXEC, 0));
    if (made->watched_) {
      made->readiness_.assign(made->watched_.get(), failure);
    } else {
      failure = asio_error_code(errno, asio::error::get_system_category());
    }
    if (failure) {
      reason = "waiting for the ring: " + failure.message();
      made.reset();
    }
  }
  if (why_not) *why_not = reason;
  return made;
}

ELASTIC_DECL ring::~ring() {
  give_up();
  // Not closed here: the reactor would keep watching it, because the queue keeps it open.
  if (readiness_.is_open()) readiness_.release();
}

ELASTIC_DECL void ring::accept(operation& op, int listener, std::shared_ptr<void> owner) {
  start(op, {action::accept, listener, nullptr, 0, 0}, std::move(owner));
}

ELASTIC_DECL void ring::receive(operation& op, int socket, std::shared_ptr<void> owner) {
  start(op, {action::receive, socket, nullptr, 0, 0}, std::move(owner));
}

ELASTIC_DECL void ring::send(operation& op, int socket, std::string_view data,
                             std::shared_ptr<void> owner) {
  ELASTIC_ASSERT(data.size() <= INT_MAX);
  // The kernel only reads the data.
  char* bytes = const_cast<char*>(data.data());
  start(op, {action::send, socket, bytes, static_cast<unsigned>(data.size()), 0}, std::move(owner));
}

ELASTIC_DECL void ring::read(operation& op, int descriptor, std::span<char> buffer,
                             std::shared_ptr<void> owner) {
  ELASTIC_ASSERT(buffer.size() <= INT_MAX);
  start(op, {action::read, descriptor, buffer.data(), static_cast<unsigned>(buffer.size()), 0},
        std::move(owner));
}

ELASTIC_DECL void ring::poll(operation& op, int descriptor, short events,
                             std::shared_ptr<void> owner) {
  start(op, {action::poll, descriptor, nullptr, 0, static_cast<unsigned short>(events)},
        std::move(owner));
}

ELASTIC_DECL void ring::start(operation& op, const request& wanted, std::shared_ptr<void> owner) {
  ELASTIC_ASSERT(!op.running());
  ELASTIC_ASSERT(owner);
  op.wanted_ = wanted;
  op.owner_ = std::move(owner);
  op.progress_ = 0;
  op.in_kernel_ = false;
  op.cancelled_ = false;
  op.move_before(due_);
  ++running_;
  if (++started_ == starts_per_submission) submit_started();
  want_turn();
}

// Lets the kernel send the first of many messages while the rest are still being produced.
ELASTIC_DECL void ring::submit_started() {
  started_ = 0;
  while (!due_.alone()) {
    operation& op = static_cast<operation&>(*due_.next);
    // A cancelled operation completes at the end of the turn, not within a call of its user.
    if (op.cancelled_ || !prepare(op)) break;
    op.move_before(waiting_);
  }
  submit();
}

ELASTIC_DECL void ring::cancel(operation& op) {
  if (!op.running() || op.cancelled_) return;
  op.cancelled_ = true;
  op.move_before(due_);
  want_turn();
}

ELASTIC_DECL void ring::want_turn() {
  if (in_turn_ || turn_wanted_) return;
  turn_wanted_ = true;
  post_work(executor_, next_turn(shared_from_this()));
}

// Submits what is due and takes answers, as long as one causes the other.
ELASTIC_DECL void ring::turn() {
  in_turn_ = true;
  bool all_taken = true;
  for (int batch = 0; batch < batches_per_turn; ++batch) {
    all_taken = submit_due();
    if (take_answers() == 0 && due_.alone()) break;
  }
  in_turn_ = false;
  if (!all_taken || !due_.alone()) want_turn();
  arm();
}

// Waits for answers only if some are due, because the wait counts as work of the loop.
ELASTIC_DECL void ring::arm() {
  if (armed_ && waiting_.alone()) {
    // The wait completes once more, with an error, and has no effect.
    asio_error_code ignored;
    readiness_.cancel(ignored);
    return;
  }
  if (armed_ || waiting_.alone()) return;
  armed_ = true;
  readiness_.async_wait(asio::posix::stream_descriptor::wait_read, next_turn(shared_from_this()));
}

// Result: whether the kernel took everything.
ELASTIC_DECL bool ring::submit_due() {
  started_ = 0;
  while (!due_.alone()) {
    operation& op = static_cast<operation&>(*due_.next);
    if (op.cancelled_ && !op.in_kernel_) {
      finish(op, {-ECANCELED, true, {}});
    } else if (prepare(op)) {
      op.move_before(waiting_);
    } else if (!submit()) {
      return false;
    }
  }
  return submit();
}

ELASTIC_DECL bool ring::submit() {
  const int failure = queue_->submit();
  // ENOMEM, or too many pending answers: a later submission may succeed. Nothing else can fail
  // unless the program forbids itself io_uring_enter while it runs.
  ELASTIC_ASSERT(failure == 0 || failure == EAGAIN || failure == ENOMEM || failure == EBUSY);
  return failure == 0;
}

ELASTIC_DECL bool ring::prepare(operation& op) {
  if (op.cancelled_) return queue_->prepare_cancel(&op);
  request wanted = op.wanted_;
  wanted.data += op.progress_;
  wanted.size -= op.progress_;
  op.in_kernel_ = queue_->prepare(wanted, &op);
  return op.in_kernel_;
}

ELASTIC_DECL std::size_t ring::take_answers() {
  std::array<ring_answer, answers_per_batch> answers;
  const std::size_t count = queue_->take(answers);
  for (std::size_t i = 0; i < count; ++i) take(answers[i]);
  return count;
}

ELASTIC_DECL void ring::take(const ring_answer& answer) {
  if (!answer.who) return;
  operation& op = *static_cast<operation*>(answer.who);
  if (!answer.more) op.in_kernel_ = false;
  if (goes_on(op, answer)) {
    if (!op.in_kernel_) op.move_before(due_);
    return;
  }
  finish(op,
         {op.progress_ > 0 && answer.result >= 0 ? static_cast<int>(op.progress_) : answer.result,
          true,
          {}});
}

// Reports the result of a step. Result: whether more will come, from the kernel as it is or after
// another submission.
ELASTIC_DECL bool ring::goes_on(operation& op, const ring_answer& answer) {
  const int result = answer.result;
  switch (op.wanted_.what) {
    case action::receive:
      if (result > 0) {
        op.completed_(op, {result, false, queue_->buffer(answer.buffer, result)});
      }
      if (answer.has_buffer) queue_->recycle(answer.buffer);
      // ENOBUFS: all buffers were full, and now they are not.
      if (result == -ENOBUFS) queue_->add_buffers();
      if (result > 0 || result == -ENOBUFS) return true;
      break;
    case action::accept:
      if (result >= 0) {
        op.completed_(op, {result, false, {}});
        return true;
      }
      break;
    case action::send:
      if (result > 0) op.progress_ += static_cast<unsigned>(result);
      if (result > 0 && op.progress_ < op.wanted_.size) return true;
      break;
    default: break;
  }
  // The kernel itself cancels requests whose submitting thread has ended.
  return result == -EINTR || (result == -ECANCELED && !op.cancelled_);
}

ELASTIC_DECL void ring::finish(operation& op, const completion& how) {
  op.unlink();
  --running_;
  const std::shared_ptr<void> owner = std::move(op.owner_);
  op.completed_(op, how);
}

// Ends all operations without completions, because no receiver is left. Blocks until the kernel no
// longer uses the memory, which takes no longer than a cancellation.
ELASTIC_DECL void ring::give_up() {
  while (!due_.alone()) {
    operation& op = static_cast<operation&>(*due_.next);
    if (op.in_kernel_) {
      op.move_before(waiting_);
    } else {
      forget(op);
    }
  }
  if (waiting_.alone()) return;
  queue_->submit();
  queue_->prepare_cancel_all();
  queue_->submit();
  for (int wait = 0; wait < give_up_waits && !waiting_.alone(); ++wait) {
    ring_answer answer;
    while (queue_->take({&answer, 1}) == 1) drop(answer);
    if (!waiting_.alone()) queue_->wait(give_up_wait_milliseconds);
  }
  while (!waiting_.alone()) {
    operation& op = static_cast<operation&>(*waiting_.next);
    // The kernel may still write to the memory, so it is never freed.
    new std::shared_ptr<void>(op.owner_);
    forget(op);
  }
}

ELASTIC_DECL void ring::drop(const ring_answer& answer) {
  if (!answer.who) return;
  operation& op = *static_cast<operation*>(answer.who);
  // Nobody will ever use this connection.
  if (op.wanted_.what == action::accept && answer.result >= 0) ::close(answer.result);
  if (!answer.more) forget(op);
}

ELASTIC_DECL void ring::forget(operation& op) {
  op.unlink();
  --running_;
  const std::shared_ptr<void> owner = std::move(op.owner_);
}

}  // namespace elastic::detail
