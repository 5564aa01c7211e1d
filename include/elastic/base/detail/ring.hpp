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

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace elastic::detail {

// A node of a doubly linked, circular list. A node that is linked to itself is in no list.
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

/// An io_uring that is driven by the user's Asio loop: the kernel does the work of many
/// connections, and one wait for the ring's descriptor delivers its answers. It is optional: it is
/// created at run time if the kernel allows it, and otherwise its users work on Asio's reactor.
///
/// Operations belong to their user and are reused, so that a request allocates nothing. While an
/// operation runs, the ring shares ownership of the object that contains it:
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
/// All operations that start in one turn of the loop go to the kernel in one call at its end, or in
/// batches if there are many.
/// A running operation counts as work of the io_context; an idle ring does not. If an io_context is
/// destroyed, running operations end without completions.
///
/// Thread-safety: use everything, including the destructor, on the executor of the ring, which must
/// be a strand, or a context that a single thread runs.
class ring : public std::enable_shared_from_this<ring> {
 public:
  /// The outcome of an operation, or of one step of it.
  struct completion {
    /// A new socket (`accept`), the number of bytes (`receive`, `send`, `read`), the pending events
    /// (`poll`), or a negated `errno` value.
    int result = 0;
    /// Whether the operation has ended; then it may be started again, even from its own completion.
    bool last = true;
    /// The received bytes; valid during the call.
    std::string_view data;

    ELASTIC_DECL asio_error_code error() const;
  };

  class operation;
  template <auto Member>
  class member_operation;

  /// Makes a ring and tests it.
  ///
  /// Result: null if there can be none: the kernel is older than 6.0, a seccomp profile or
  /// `kernel.io_uring_disabled` forbids it, or descriptors or memory are short. `why_not` then
  /// holds the reason in a few words, such as "io_uring_setup: Operation not permitted".
  ELASTIC_DECL static std::shared_ptr<ring> try_make(asio::any_io_executor executor,
                                                     ring_options wanted = {},
                                                     std::string* why_not = nullptr);
  ELASTIC_DECL ~ring();

  const asio::any_io_executor& get_executor() { return executor_; }

  /// Accepts connections until it is cancelled or fails. Each completion has a descriptor that is
  /// closed on exec and belongs to the receiver of the completion.
  /// After a failure such as EMFILE it has ended; start it again once it may succeed.
  ELASTIC_DECL void accept(operation& op, int listener, std::shared_ptr<void> owner);

  /// Receives until the end of the stream, an error or a cancellation. There is one completion with
  /// bytes for each piece, and a last one without: result 0 at the end of the stream.
  /// After a cancellation, pieces that the kernel already has still arrive before the last
  /// completion.
  ELASTIC_DECL void receive(operation& op, int socket, std::shared_ptr<void> owner);

  /// Sends all of `data` (less than 2 GiB), which must not change until the completion. One
  /// operation at a time per socket.
  ELASTIC_DECL void send(operation& op, int socket, std::string_view data,
                         std::shared_ptr<void> owner);

  /// Reads once, at most the size of `buffer`. 0: the end. With pipes, the descriptor must not
  /// be in non-blocking mode; this blocks nothing else.
  ELASTIC_DECL void read(operation& op, int descriptor, std::span<char> buffer,
                         std::shared_ptr<void> owner);

  /// Waits once for `events` of poll(2), such as POLLIN of a pidfd.
  ELASTIC_DECL void poll(operation& op, int descriptor, short events, std::shared_ptr<void> owner);

  /// Ends an operation early. Its last completion still arrives, with ECANCELED unless the
  /// operation ended by itself. Does nothing if the operation does not run. Close a descriptor only
  /// after the last completion of the operations on it.
  ELASTIC_DECL void cancel(operation& op);

  /// The number of running operations.
  std::size_t running() const { return running_; }

 private:
  using request = ring_request;
  using action = ring_request::action;

  // The size of a batch of answers, and how many batches a turn takes before other work on the
  // loop.
  static constexpr std::size_t answers_per_batch = 128;
  static constexpr int batches_per_turn = 16;
  static constexpr int starts_per_submission = 64;
  // How long the destructor waits for operations to end: 20 × 50 ms.
  static constexpr int give_up_waits = 20;
  static constexpr int give_up_wait_milliseconds = 50;

  class next_turn;
  ELASTIC_DECL ring(asio::any_io_executor executor, std::unique_ptr<ring_queue> queue);
  ELASTIC_DECL void start(operation& op, const request& wanted, std::shared_ptr<void> owner);
  ELASTIC_DECL void want_turn();
  ELASTIC_DECL void turn();
  ELASTIC_DECL void arm();
  ELASTIC_DECL void submit_started();
  ELASTIC_DECL bool submit_due();
  ELASTIC_DECL bool submit();
  ELASTIC_DECL bool prepare(operation& op);
  ELASTIC_DECL std::size_t take_answers();
  ELASTIC_DECL void take(const ring_answer& answer);
  ELASTIC_DECL bool goes_on(operation& op, const ring_answer& answer);
  ELASTIC_DECL void finish(operation& op, const completion& how);
  ELASTIC_DECL void give_up();
  ELASTIC_DECL void drop(const ring_answer& answer);
  ELASTIC_DECL void forget(operation& op);

  asio::any_io_executor executor_;
  std::unique_ptr<ring_queue> queue_;
  // A second descriptor of the queue. liburing closes the first by a call that ThreadSanitizer does
  // not see, so the next owner of that number would seem to race with the reactor.
  unique_fd watched_;
  // Borrows `watched_`.
  asio::posix::stream_descriptor readiness_;
  // Every running operation is in one of these lists: `due_` if it has something to submit to the
  // kernel (itself or its cancellation), `waiting_` if it only waits.
  ring_link due_;
  ring_link waiting_;
  std::size_t running_ = 0;
  // The operations started since the last submission.
  int started_ = 0;
  bool in_turn_ = false;
  bool turn_wanted_ = false;
  bool armed_ = false;
};

/// An operation that a ring performs repeatedly for its user, one request at a time.
///
/// It must not be destroyed or moved while it runs, which the owner passed at its start ensures.
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
  // How many bytes of a send have been sent.
  unsigned progress_ = 0;
  // Whether the kernel has it and will answer.
  bool in_kernel_ = false;
  bool cancelled_ = false;
};

/// An operation whose completion calls a member function of the object that contains it:
/// `void (const ring::completion&) noexcept`.
template <auto Member>
class ring::member_operation final : public ring::operation {
  template <class Object>
  static Object& object_of(void (Object::*)(const completion&) noexcept);
  using object_reference = decltype(object_of(Member));

 public:
  explicit member_operation(object_reference object) : operation(&call), object_(object) {}

 private:
  static void call(operation& op, const completion& done) noexcept {
    (static_cast<member_operation&>(op).object_.*Member)(done);
  }
  object_reference object_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/base/detail/ring.ipp>
#endif
