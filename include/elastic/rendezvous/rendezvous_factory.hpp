// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/rendezvous/rendezvous_handler.hpp>

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace elastic {

/// Makes the handler with which a node takes part in one job. The handler may already exist.
/// Otherwise a coroutine chooses it, because its kind depends on the server at the endpoint and on
/// the other nodes. The choice holds for the whole job.
///
/// A plain value. Thread-safety: that of the handler.
class rendezvous_factory {
 public:
  /// Chooses a handler, as `make` describes.
  using chooser = std::function<task<std::shared_ptr<rendezvous_handler>>(
      std::shared_ptr<rendezvous_handler>& tried)>;

  /// Makes nothing.
  rendezvous_factory() = default;

  /// Returns an existing handler. A null pointer makes a factory that makes nothing.
  template <std::convertible_to<std::shared_ptr<rendezvous_handler>> Handler>
  rendezvous_factory(Handler handler) : handler_(std::move(handler)) {
    if (!handler_) return;
    backend_ = handler_->backend();
    run_id_ = handler_->run_id();
  }

  /// @param backend  the name that the user gave: `rendezvous_handler::backend`
  /// @param choose   called at most once
  ELASTIC_DECL rendezvous_factory(std::string backend, std::string run_id, chooser choose);

  explicit operator bool() const { return handler_ != nullptr || choose_ != nullptr; }

  const std::string& backend() const { return backend_; }
  const std::string& run_id() const { return run_id_; }

  /// The existing handler; null if one has yet to be chosen.
  const std::shared_ptr<rendezvous_handler>& handler() const { return handler_; }

  /// Makes the handler. Call it once, before the first round.
  ///
  /// @param tried  holds a handler while it is not yet known whether the node can meet with it, so
  ///               that the caller can pause the job or report what the node waits for. It must
  ///               live until the task has ended.
  /// Result: the handler. If the choice depended on the first round, that round is already
  /// complete, and the first `rendezvous_handler::next_round` returns it at once.
  /// Errors: those of `rendezvous_handler::next_round`; `errc::invalid_argument` for a setting that
  /// the chosen kind does not know. The caller shuts down the handler that `tried` then holds, if
  /// any.
  /// Cancellation: all types; as after an error.
  ELASTIC_DECL task<std::shared_ptr<rendezvous_handler>> make(
      std::shared_ptr<rendezvous_handler>& tried) const;

 private:
  std::string backend_;
  std::string run_id_;
  std::shared_ptr<rendezvous_handler> handler_;
  chooser choose_;
};

}  // namespace elastic

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/rendezvous/impl/rendezvous_factory.ipp>
#endif
