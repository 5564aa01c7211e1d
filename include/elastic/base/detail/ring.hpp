// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

// Opt-in: includes liburing.

#include <elastic/base/assert.hpp>
#include <elastic/base/config.hpp>
#include <elastic/base/detail/asio_descriptor.hpp>
#include <elastic/base/detail/ring_options.hpp>
#include <elastic/base/detail/ring_queue.hpp>
#include <elastic/base/detail/ring_request.hpp>
#include <elastic/base/detail/unique_fd.hpp>
#include <elastic/base/error.hpp>
#include <elastic/base/task.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace elastic::detail {

// A place in a doubly linked ring of places; one that is linked to itself is in no list.
struct ring_link {
  ring_link* previous = this;
  ring_link* next = this;

  ring_link() = default;
  ring_link(const ring_link&) = delete;
  ring_link& operator=(const ring_link&) = delete;

  bool alone() const { return next == this; }
  ELASTIC_DECL void unlink();
  ELASTIC_DECL void move_before(ring_link& other);
};

/// An io_uring that rides on the user's Asio loop: the kernel does the work of many connections,
/// and one wait for the ring's descriptor brings its answers. Optional: made at run time if the
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
/// Everything that one turn of the loop starts is handed to the kernel by one call at its end, or,
/// if that is much, in batches.
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

    ELASTIC_DECL asio_error_code error() const;
  };

  class operation;
  template <auto Member>
  class member_operation;

  /// Makes a ring and tries it out.
  ///
  /// Result: null if it cannot be had: the kernel is older than 6.0, a seccomp profile or
  /// `kernel.io_uring_disabled` forbids it, or descriptors or memory are short. `why_not` is then
  /// the reason in a few words, such as "io_uring_setup: Operation not permitted".
  ELASTIC_DECL static std::shared_ptr<ring> try_make(asio::any_io_executor executor,
                                                     ring_options wanted = {},
                                                     std::string* why_not = nullptr);
  ELASTIC_DECL ~ring();

  const asio::any_io_executor& get_executor() { return executor_; }

  /// Accepts connections until it is cancelled or fails; one completion each, with a descriptor
  /// that is closed on exec and belongs to the receiver of the completion.
  /// After a failure such as EMFILE it has ended; start it again when there is hope.
  ELASTIC_DECL void accept(operation& on, int listener, std::shared_ptr<void> owner);

  /// Receives until the end of the stream, an error or a cancel; one completion for each piece,
  /// with its bytes, and a last one without: result 0 at the end of the stream.
  /// Pieces that the kernel already has still come after a cancel, before the last completion.
  ELASTIC_DECL void receive(operation& on, int socket, std::shared_ptr<void> owner);

  /// Sends all of `data` (less than 2 GiB), which must stay as it is until the completion. One
  /// operation at a time per socket.
  ELASTIC_DECL void send(operation& on, int socket, std::string_view data,
                         std::shared_ptr<void> owner);

  /// Reads once, up to the size of `into`; result 0 at the end. For pipes: the descriptor must not
  /// be in non-blocking mode, and nothing else is blocked by that.
  ELASTIC_DECL void read(operation& on, int descriptor, std::span<char> into,
                         std::shared_ptr<void> owner);

  /// Waits once for `events` of poll(2), such as POLLIN of a pidfd.
  ELASTIC_DECL void poll(operation& on, int descriptor, short events, std::shared_ptr<void> owner);

  /// Ends an operation early; its last completion comes all the same, with ECANCELED unless it
  /// ended by itself. Does nothing if it does not run. Close a descriptor only after the last
  /// completion of the operations on it.
  ELASTIC_DECL void cancel(operation& on);

  /// The operations that run.
  std::size_t running() const { return running_; }

  /// `poll` for a coroutine. Cancellation: all types; throws `operation_aborted`.
  /// The ring stays until this ends.
  ELASTIC_DECL task<void> wait_readable(int descriptor);

  /// `read` for a coroutine; `into` must stay until it ends. Result: 0 at the end of the stream.
  /// Cancellation: all types; throws `operation_aborted`, or has the result if bytes were read.
  ELASTIC_DECL task<std::size_t> read_some(int descriptor, std::span<char> into);

  /// `send` for a coroutine; `data` must stay until it ends.
  /// Cancellation: all types; throws `operation_aborted`, some bytes may have been sent.
  ELASTIC_DECL task<void> send_all(int socket, std::string_view data);

 private:
  using request = ring_request;
  using action = ring_request::action;

  // One batch of answers, and how many such a turn takes before others on the loop have theirs.
  static constexpr std::size_t answers_per_batch = 128;
  static constexpr int batches_per_turn = 16;
  static constexpr int starts_per_submission = 64;
  // How long the end of operations is waited for when the ring is given up: 20 × 50 ms.
  static constexpr int give_up_waits = 20;
  static constexpr int give_up_wait_milliseconds = 50;

  class next_turn;
  template <class Handler>
  class awaited;
  struct start_awaited;
  ELASTIC_DECL ring(asio::any_io_executor executor, std::unique_ptr<ring_queue> queue);
  ELASTIC_DECL void start(operation& on, const request& wanted, std::shared_ptr<void> owner);
  ELASTIC_DECL void want_turn();
  ELASTIC_DECL void turn();
  ELASTIC_DECL void arm();
  ELASTIC_DECL void submit_started();
  ELASTIC_DECL bool submit_due();
  ELASTIC_DECL bool submit();
  ELASTIC_DECL bool prepare(operation& on);
  ELASTIC_DECL std::size_t take_answers();
  ELASTIC_DECL void take(const ring_answer& answer);
  ELASTIC_DECL bool goes_on(operation& on, const ring_answer& answer);
  ELASTIC_DECL void finish(operation& on, const completion& how);
  ELASTIC_DECL void give_up();
  ELASTIC_DECL void drop(const ring_answer& answer);
  ELASTIC_DECL void forget(operation& on);

  asio::any_io_executor executor_;
  std::unique_ptr<ring_queue> queue_;
  // A second descriptor of the queue's, since liburing closes that by a call that ThreadSanitizer
  // does not see: to it, the next owner of the number would race with this.
  unique_fd watched_;
  // Borrows it.
  asio::posix::stream_descriptor readiness_;
  // Every running operation is in one of these: with something to hand to the kernel (itself or
  // its cancelling), or with nothing to do but to wait.
  ring_link due_;
  ring_link waiting_;
  std::size_t running_ = 0;
  // Operations since the last call of the kernel.
  int started_ = 0;
  bool in_turn_ = false;
  bool turn_wanted_ = false;
  bool armed_ = false;
};

/// Something that a ring does again and again for its user; at most one thing at a time.
///
/// It must not be destroyed or moved while it runs, which the owner given at its start ensures.
class ring::operation : private ring_link {
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

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/impl/ring.ipp>
#endif
