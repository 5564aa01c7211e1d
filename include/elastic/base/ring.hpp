// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/assert.hpp>
#include <elastic/base/detail/ring_queue.hpp>
#include <elastic/base/task.hpp>

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace elastic {

namespace detail {

// A place in a doubly linked ring of places; one that is linked to itself is in no list.
struct ring_link {
  ring_link* previous = this;
  ring_link* next = this;

  ring_link() = default;
  ring_link(const ring_link&) = delete;
  ring_link& operator=(const ring_link&) = delete;

  bool alone() const { return next == this; }
  void unlink() {
    previous->next = next;
    next->previous = previous;
    previous = next = this;
  }
  void move_before(ring_link& other) {
    unlink();
    previous = other.previous;
    next = &other;
    previous->next = this;
    other.previous = this;
  }
};

}  // namespace detail

/// An io_uring that rides on the user's Asio loop: the kernel does the work of many connections,
/// and one wait for the ring's descriptor brings its answers. Optional: made at run time where the
/// kernel allows it, and who cannot have one does the same on Asio's reactor.
///
/// Operations belong to their user and are used again and again, so that nothing is allocated for
/// a request. While one runs, the ring shares in the ownership of what it is part of:
///
///     class echo : public std::enable_shared_from_this<echo> {
///      public:
///       echo(std::shared_ptr<ring> io, int socket) : io_(std::move(io)), socket_(socket) {}
///       ~echo() { ::close(socket_); }  // no operation runs any more
///       void start() { io_->receive(receiving_, socket_, shared_from_this()); }
///
///      private:
///       void received(const ring::completion& done) noexcept {
///         if (!done.last) waiting_ += done.data;  // `last`: end of stream or error
///         if (!sending_.running()) send_next();
///       }
///       void sent(const ring::completion& done) noexcept {
///         if (done.error()) io_->cancel(receiving_);
///         else send_next();
///       }
///       void send_next() {
///         on_the_way_ = std::exchange(waiting_, {});
///         if (!on_the_way_.empty()) io_->send(sending_, socket_, on_the_way_, shared_from_this());
///       }
///       std::shared_ptr<ring> io_;
///       int socket_;
///       std::string waiting_, on_the_way_;
///       ring::member_operation<&echo::received> receiving_{*this};
///       ring::member_operation<&echo::sent> sending_{*this};
///     };
///
///     std::string why_not;
///     auto io = ring::try_make(strand, ring_options{}, &why_not);
///     if (!io) log.info("io_uring is not available ({}): using epoll", why_not);
///
/// Everything that one turn of the loop starts is handed to the kernel by one call at its end.
/// A running operation counts as work of the io_context; an idle ring does not. An io_context that
/// is destroyed ends what still runs, without completions.
///
/// Thread-safety: everything, destruction included, on the executor that the ring was made with,
/// which is a strand or a context that one thread runs.
class ring : public std::enable_shared_from_this<ring> {
 public:
  /// What became of an operation.
  struct completion {
    /// A new socket (`accept`), the number of bytes (`receive`, `send`, `read`), the events that
    /// are there (`poll`), or an `errno` value negated.
    int result = 0;
    /// Whether the operation has ended; it may then be started again, from its own completion too.
    bool last = true;
    /// What was received; valid during the call.
    std::string_view data;

    /// In Asio's category, which is not the one of `std::system_category()`.
    std::error_code error() const {
      if (result >= 0) return {};
      return {-result, asio::error::get_system_category()};
    }
  };

  class operation;
  template <auto Member>
  class member_operation;

  /// Makes a ring and tries it out.
  ///
  /// Result: null where it cannot be had: the kernel is older than 6.0, a seccomp profile or
  /// `kernel.io_uring_disabled` forbids it, or descriptors or memory are short. `why_not` is then
  /// the reason in a few words, such as "io_uring_setup: Operation not permitted".
  static std::shared_ptr<ring> try_make(asio::any_io_executor executor, ring_options wanted = {},
                                        std::string* why_not = nullptr);

  ~ring();

  const asio::any_io_executor& get_executor() { return executor_; }

  /// Accepts connections until it is cancelled or fails; one completion each, with a descriptor
  /// that is closed on exec and belongs to the receiver of the completion.
  /// After a failure such as EMFILE it has ended; start it again when there is hope.
  void accept(operation& on, int listener, std::shared_ptr<void> owner);

  /// Receives until the end of the stream, an error or a cancel; one completion for each piece,
  /// with its bytes, and a last one without: result 0 at the end of the stream.
  /// Pieces that the kernel already has still come after a cancel, before the last completion.
  void receive(operation& on, int socket, std::shared_ptr<void> owner);

  /// Sends all of `data` (less than 2 GiB), which must stay as it is until the completion. One
  /// operation at a time per socket.
  void send(operation& on, int socket, std::string_view data, std::shared_ptr<void> owner);

  /// Reads once, up to the size of `into`; result 0 at the end. For pipes: the descriptor must not
  /// be in non-blocking mode, and nothing else is blocked by that.
  void read(operation& on, int descriptor, std::span<char> into, std::shared_ptr<void> owner);

  /// Waits once for `events` of poll(2), such as POLLIN of a pidfd.
  void poll(operation& on, int descriptor, short events, std::shared_ptr<void> owner);

  /// Ends an operation early; its last completion comes all the same, with ECANCELED unless it
  /// ended by itself. Does nothing where it does not run. Close a descriptor only after the last
  /// completion of the operations on it.
  void cancel(operation& on);

  /// The operations that run.
  std::size_t running() const { return running_; }

  /// `poll` for a coroutine. Cancellation: all types; throws `operation_aborted`.
  /// The ring stays until this ends.
  task<void> wait_readable(int descriptor);

  /// `read` for a coroutine; `into` must stay until it ends. Result: 0 at the end of the stream.
  /// Cancellation: all types; throws `operation_aborted`, or has the result where bytes were read.
  task<std::size_t> read_some(int descriptor, std::span<char> into);

  /// `send` for a coroutine; `data` must stay until it ends.
  /// Cancellation: all types; throws `operation_aborted`, some bytes may have been sent.
  task<void> send_all(int socket, std::string_view data);

 private:
  using request = detail::ring_request;
  using action = detail::ring_request::action;

  // One batch of answers, and how many such a turn takes before others on the loop have theirs.
  static constexpr std::size_t answers_per_batch = 128;
  static constexpr int batches_per_turn = 16;
  // How long the end of operations is waited for when the ring is given up: 20 × 50 ms.
  static constexpr int give_up_waits = 20;
  static constexpr int give_up_wait_milliseconds = 50;

  class next_turn;
  template <class Handler>
  class awaited;
  struct start_awaited;

  ring(asio::any_io_executor executor, std::unique_ptr<detail::ring_queue> queue)
      : executor_(std::move(executor)), queue_(std::move(queue)), readiness_(executor_) {}

  void start(operation& on, const request& wanted, std::shared_ptr<void> owner);
  void want_turn();
  void turn();
  void arm();
  bool submit_due();
  bool submit();
  bool prepare(operation& on);
  std::size_t take_answers();
  void take(const detail::ring_answer& answer);
  bool goes_on(operation& on, const detail::ring_answer& answer);
  void finish(operation& on, const completion& how);
  void give_up();
  void drop(const detail::ring_answer& answer);
  void forget(operation& on);

  asio::any_io_executor executor_;
  std::unique_ptr<detail::ring_queue> queue_;
  // Borrows the descriptor of the queue.
  asio::posix::stream_descriptor readiness_;
  // Every running operation is in one of these: with something to hand to the kernel (itself or
  // its cancelling), or with nothing to do but to wait.
  detail::ring_link due_;
  detail::ring_link waiting_;
  std::size_t running_ = 0;
  bool in_turn_ = false;
  bool turn_wanted_ = false;
  bool armed_ = false;
};

/// Something that a ring does again and again for its user; at most one thing at a time.
///
/// It must not be destroyed or moved while it runs, which the owner given at its start ensures.
class ring::operation : private detail::ring_link {
 public:
  bool running() const { return owner_ != nullptr; }

 protected:
  using function = void (*)(operation&, const completion&) noexcept;
  explicit operation(function completed) : completed_(completed) {}
  ~operation() { ELASTIC_ASSERT(!running()); }

 private:
  friend class ring;

  function completed_;
  std::shared_ptr<void> owner_;
  request wanted_;
  // How much of what is to be sent was sent.
  unsigned progress_ = 0;
  // Whether the kernel has it and will answer.
  bool in_kernel_ = false;
  bool cancelled_ = false;
};

/// An operation that completes by calling a member function of the object that it is part of:
/// `void (const ring::completion&) noexcept`.
template <auto Member>
class ring::member_operation final : public ring::operation {
  template <class Object>
  static Object& object_of(void (Object::*)(const completion&) noexcept);
  using object_reference = decltype(object_of(Member));

 public:
  explicit member_operation(object_reference object) : operation(&call), object_(object) {}

 private:
  static void call(operation& on, const completion& done) noexcept {
    (static_cast<member_operation&>(on).object_.*Member)(done);
  }
  object_reference object_;
};

// What the loop runs for the ring. One that is destroyed without having run tells that the loop
// itself is destroyed.
class ring::next_turn {
 public:
  explicit next_turn(std::shared_ptr<ring> of) : ring_(std::move(of)) {}
  next_turn(next_turn&&) = default;
  next_turn& operator=(next_turn&&) = delete;
  ~next_turn() {
    if (ring_) ring_->give_up();
  }

  // Wanted by an operation that was started or cancelled.
  void operator()() {
    const std::shared_ptr<ring> running = std::move(ring_);
    running->turn_wanted_ = false;
    running->turn();
  }
  // The descriptor of the ring is readable.
  void operator()(asio::error_code) {
    const std::shared_ptr<ring> running = std::move(ring_);
    running->armed_ = false;
    running->turn();
  }

 private:
  std::shared_ptr<ring> ring_;
};

inline std::shared_ptr<ring> ring::try_make(asio::any_io_executor executor, ring_options wanted,
                                            std::string* why_not) {
  std::string reason;
  std::shared_ptr<ring> made;
  if (auto queue = detail::ring_queue::open(wanted, reason)) {
    made.reset(new ring(std::move(executor), std::move(queue)));
    asio::error_code failure;
    made->readiness_.assign(made->queue_->fd(), failure);
    if (failure) {
      reason = "waiting for the ring: " + failure.message();
      made.reset();
    }
  }
  if (why_not) *why_not = reason;
  return made;
}

inline ring::~ring() {
  give_up();
  if (readiness_.is_open()) readiness_.release();
}

inline void ring::accept(operation& on, int listener, std::shared_ptr<void> owner) {
  start(on, {action::accept, listener, nullptr, 0, 0}, std::move(owner));
}

inline void ring::receive(operation& on, int socket, std::shared_ptr<void> owner) {
  start(on, {action::receive, socket, nullptr, 0, 0}, std::move(owner));
}

inline void ring::send(operation& on, int socket, std::string_view data,
                       std::shared_ptr<void> owner) {
  ELASTIC_ASSERT(data.size() <= INT_MAX);
  // The kernel only reads it.
  char* bytes = const_cast<char*>(data.data());
  start(on, {action::send, socket, bytes, static_cast<unsigned>(data.size()), 0},
        std::move(owner));
}

inline void ring::read(operation& on, int descriptor, std::span<char> into,
                       std::shared_ptr<void> owner) {
  ELASTIC_ASSERT(into.size() <= INT_MAX);
  start(on, {action::read, descriptor, into.data(), static_cast<unsigned>(into.size()), 0},
        std::move(owner));
}

inline void ring::poll(operation& on, int descriptor, short events, std::shared_ptr<void> owner) {
  start(on, {action::poll, descriptor, nullptr, 0, static_cast<unsigned short>(events)},
        std::move(owner));
}

inline void ring::start(operation& on, const request& wanted, std::shared_ptr<void> owner) {
  ELASTIC_ASSERT(!on.running());
  ELASTIC_ASSERT(owner);
  on.wanted_ = wanted;
  on.owner_ = std::move(owner);
  on.progress_ = 0;
  on.in_kernel_ = false;
  on.cancelled_ = false;
  on.move_before(due_);
  ++running_;
  want_turn();
}

inline void ring::cancel(operation& on) {
  if (!on.running() || on.cancelled_) return;
  on.cancelled_ = true;
  on.move_before(due_);
  want_turn();
}

inline void ring::want_turn() {
  if (in_turn_ || turn_wanted_) return;
  turn_wanted_ = true;
  asio::post(executor_, next_turn(shared_from_this()));
}

// Hands over what is due and takes what is answered, as long as one causes the other.
inline void ring::turn() {
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

// Waits for answers where there are some to come, and only then: the wait is work of the loop.
inline void ring::arm() {
  if (armed_ && waiting_.alone()) {
    // It comes back once more, with an error, and finds nothing to do.
    asio::error_code ignored;
    readiness_.cancel(ignored);
    return;
  }
  if (armed_ || waiting_.alone()) return;
  armed_ = true;
  readiness_.async_wait(asio::posix::stream_descriptor::wait_read, next_turn(shared_from_this()));
}

// Result: whether the kernel took everything.
inline bool ring::submit_due() {
  while (!due_.alone()) {
    operation& on = static_cast<operation&>(*due_.next);
    if (on.cancelled_ && !on.in_kernel_) {
      finish(on, {-ECANCELED, true, {}});
    } else if (prepare(on)) {
      on.move_before(waiting_);
    } else if (!submit()) {
      return false;
    }
  }
  return submit();
}

inline bool ring::submit() {
  const int failure = queue_->submit();
  // Out of memory, or too many answers not yet taken: it may go on later. Nothing else can fail
  // unless the program forbids itself io_uring_enter in the middle of its life.
  ELASTIC_ASSERT(failure == 0 || failure == EAGAIN || failure == ENOMEM || failure == EBUSY);
  return failure == 0;
}

inline bool ring::prepare(operation& on) {
  if (on.cancelled_) return queue_->prepare_cancel(&on);
  request wanted = on.wanted_;
  wanted.data += on.progress_;
  wanted.size -= on.progress_;
  on.in_kernel_ = queue_->prepare(wanted, &on);
  return on.in_kernel_;
}

inline std::size_t ring::take_answers() {
  std::array<detail::ring_answer, answers_per_batch> answers;
  const std::size_t count = queue_->take(answers);
  for (std::size_t i = 0; i < count; ++i) take(answers[i]);
  return count;
}

inline void ring::take(const detail::ring_answer& answer) {
  if (!answer.who) return;
  operation& on = *static_cast<operation*>(answer.who);
  if (!answer.more) on.in_kernel_ = false;
  if (goes_on(on, answer)) {
    if (!on.in_kernel_) on.move_before(due_);
    return;
  }
  finish(on, {on.progress_ > 0 && answer.result >= 0 ? static_cast<int>(on.progress_)
                                                      : answer.result,
              true,
              {}});
}

// Tells what a piece of the operation brought. Result: whether there is more of it to come, from
// the kernel as it is or after handing it over again.
inline bool ring::goes_on(operation& on, const detail::ring_answer& answer) {
  const int result = answer.result;
  switch (on.wanted_.what) {
    case action::receive:
      if (result > 0) {
        on.completed_(on, {result, false, queue_->buffer(answer.buffer, result)});
      }
      if (answer.has_buffer) queue_->recycle(answer.buffer);
      // ENOBUFS: all buffers were full, and now they are not.
      if (result == -ENOBUFS) queue_->add_buffers();
      if (result > 0 || result == -ENOBUFS) return true;
      break;
    case action::accept:
      if (result >= 0) {
        on.completed_(on, {result, false, {}});
        return true;
      }
      break;
    case action::send:
      if (result > 0) on.progress_ += static_cast<unsigned>(result);
      if (result > 0 && on.progress_ < on.wanted_.size) return true;
      break;
    default: break;
  }
  // The kernel cancels by itself what was handed over by a thread that has ended since.
  return result == -EINTR || (result == -ECANCELED && !on.cancelled_);
}

inline void ring::finish(operation& on, const completion& how) {
  on.unlink();
  --running_;
  const std::shared_ptr<void> owner = std::move(on.owner_);
  on.completed_(on, how);
}

// Ends everything without completions: nobody is left to take them. Blocks for as long as the
// kernel needs to let go of the memory, which is no longer than it takes to cancel.
inline void ring::give_up() {
  while (!due_.alone()) {
    operation& on = static_cast<operation&>(*due_.next);
    if (on.in_kernel_) {
      on.move_before(waiting_);
    } else {
      forget(on);
    }
  }
  if (waiting_.alone()) return;
  queue_->submit();
  queue_->prepare_cancel_all();
  queue_->submit();
  for (int wait = 0; wait < give_up_waits && !waiting_.alone(); ++wait) {
    detail::ring_answer answer;
    while (queue_->take({&answer, 1}) == 1) drop(answer);
    if (!waiting_.alone()) queue_->wait(give_up_wait_milliseconds);
  }
  while (!waiting_.alone()) {
    operation& on = static_cast<operation&>(*waiting_.next);
    // The kernel may still write there: never to be freed.
    new std::shared_ptr<void>(on.owner_);
    forget(on);
  }
}

inline void ring::drop(const detail::ring_answer& answer) {
  if (!answer.who) return;
  operation& on = *static_cast<operation*>(answer.who);
  // A connection that nobody will ever hear of.
  if (on.wanted_.what == action::accept && answer.result >= 0) ::close(answer.result);
  if (!answer.more) forget(on);
}

inline void ring::forget(operation& on) {
  on.unlink();
  --running_;
  const std::shared_ptr<void> owner = std::move(on.owner_);
}

// An operation that resumes who awaits it.
template <class Handler>
class ring::awaited final : public operation {
 public:
  awaited(ring& of, Handler handler)
      : operation(&call), ring_(of), handler_(std::move(handler)) {}

  void cancel() { ring_.cancel(*this); }

 private:
  static void call(operation& on, const completion& done) noexcept {
    auto& self = static_cast<awaited&>(on);
    auto executor = asio::get_associated_executor(self.handler_, self.ring_.executor_);
    auto resume = [handler = std::move(self.handler_), done]() mutable {
      std::move(handler)(done.error(), done.result);
    };
    asio::post(executor, std::move(resume));
  }

  ring& ring_;
  Handler handler_;
};

struct ring::start_awaited {
  template <class Handler>
  void operator()(Handler handler, ring* of, request wanted) const {
    auto slot = asio::get_associated_cancellation_slot(handler);
    auto on = std::make_shared<awaited<Handler>>(*of, std::move(handler));
    if (slot.is_connected()) {
      slot.assign([weak = std::weak_ptr<awaited<Handler>>(on)](asio::cancellation_type type) {
        const auto running = weak.lock();
        if (running && type != asio::cancellation_type::none) running->cancel();
      });
    }
    of->start(*on, wanted, on);
  }
};

inline task<void> ring::wait_readable(int descriptor) {
  const request wanted{action::poll, descriptor, nullptr, 0, POLLIN};
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void(asio::error_code, int)>(
      start_awaited(), asio::use_awaitable, this, wanted);
}

inline task<std::size_t> ring::read_some(int descriptor, std::span<char> into) {
  ELASTIC_ASSERT(into.size() <= INT_MAX);
  const request wanted{action::read, descriptor, into.data(), static_cast<unsigned>(into.size()),
                       0};
  const int count =
      co_await asio::async_initiate<const asio::use_awaitable_t<>, void(asio::error_code, int)>(
          start_awaited(), asio::use_awaitable, this, wanted);
  co_return static_cast<std::size_t>(count);
}

inline task<void> ring::send_all(int socket, std::string_view data) {
  ELASTIC_ASSERT(data.size() <= INT_MAX);
  const request wanted{action::send, socket, const_cast<char*>(data.data()),
                       static_cast<unsigned>(data.size()), 0};
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void(asio::error_code, int)>(
      start_awaited(), asio::use_awaitable, this, wanted);
}

}  // namespace elastic
