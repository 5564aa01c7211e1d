// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/store/versioned_keys.hpp>
#include <elastic/torch/detail/rendezvous_backend.hpp>
#include <elastic/torch/detail/torch_dialect.hpp>
#include <elastic/torch/detail/torch_state.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

/// Parses a stored state, which must be in `dialect`.
/// @param place  its location in messages
/// Result: empty if the text says that there is no state yet.
/// Errors: `errc::rendezvous_state`, naming the place.
ELASTIC_DECL std::optional<torch_state> read_stored_text(std::string_view text,
                                                         torch_dialect dialect,
                                                         const std::string& place);

/// The dialect of such a text; empty if it has no state, or one that does not show its dialect.
/// Errors: `errc::rendezvous_state`, naming the place.
ELASTIC_DECL std::optional<torch_dialect> dialect_of(std::string_view text,
                                                     const std::string& place);

/// Stores the state of a rendezvous under one key of a service that supports compare-and-set.
///
/// Errors: also those of the service. Thread-safety: one strand at a time.
class keyed_rendezvous_backend final : public rendezvous_backend {
 public:
  /// @param dialect  the dialect to write; a state in another dialect is refused
  ELASTIC_DECL keyed_rendezvous_backend(std::shared_ptr<versioned_keys> keys, std::string key,
                                        torch_dialect dialect);
  ELASTIC_DECL task<std::optional<stored_state>> get() override;
  ELASTIC_DECL task<set_outcome> set(torch_state state, std::string token) override;
  ELASTIC_DECL task<void> wait_for_change(std::string token) override;

  /// The dialect of the stored state; empty if there is no state yet, or one that does not show its
  /// dialect.
  /// Errors: `errc::rendezvous_state`; those of the service.
  ELASTIC_DECL static task<std::optional<torch_dialect>> seen_dialect(
      std::shared_ptr<versioned_keys> keys, std::string key);

 private:
  ELASTIC_DECL task<versioned_keys::entry> look();
  ELASTIC_DECL std::optional<stored_state> parsed(versioned_keys::entry current);

  std::shared_ptr<versioned_keys> keys_;
  std::string key_;
  torch_dialect dialect_;
  /// The version at which there was no state.
  std::string nothing_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/keyed_rendezvous_backend.ipp>
#endif
