// SPDX-FileCopyrightText: 2026 The elastic authors
// SPDX-License-Identifier: MIT
#pragma once

#include <elastic/base/config.hpp>
#include <elastic/base/task.hpp>
#include <elastic/base/time.hpp>
#include <elastic/store/detail/key_value_engine.hpp>
#include <elastic/store/store.hpp>
#include <elastic/torch/detail/rendezvous_backend.hpp>
#include <elastic/torch/detail/torch_dialect.hpp>
#include <elastic/torch/detail/torch_state.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace elastic::detail {

/// The key under which PyTorch's agents store the state of their rendezvous.
ELASTIC_DECL std::string torch_state_key(std::string_view run_id);

/// Stores the state of a rendezvous in a store, with the key and the format of torchrun's `c10d`
/// backend.
///
/// Thread-safety: one strand at a time.
class store_rendezvous_backend final : public rendezvous_backend {
 public:
  /// The time between two reads of a store that cannot report changes.
  static constexpr std::chrono::seconds pause{1};

  /// @param dialect  the dialect to write; a state in another dialect is refused
  /// @param engine   the table of `agents`, if it is in this process: then changes are reported at
  ///                 once
  ELASTIC_DECL store_rendezvous_backend(std::shared_ptr<store> agents, std::string run_id,
                                        torch_dialect dialect, std::shared_ptr<time_source> time,
                                        std::shared_ptr<key_value_engine> engine = nullptr);
  ELASTIC_DECL task<std::optional<stored_state>> get() override;
  ELASTIC_DECL task<set_outcome> set(torch_state state, std::string token) override;
  ELASTIC_DECL task<void> wait_for_change(std::string token) override;

  /// The dialect of the state under a run id; empty if there is no state yet, or one that does not
  /// show its dialect.
  /// Errors: those of the store; `errc::rendezvous_state`.
  ELASTIC_DECL static task<std::optional<torch_dialect>> seen_dialect(std::shared_ptr<store> agents,
                                                                      std::string run_id);

 private:
  // A compare-and-set returns the value in one round trip and, unlike a plain GET, never waits for
  // the key to exist.
  ELASTIC_DECL task<std::string> exchange(std::string expected, std::string desired);
  ELASTIC_DECL static std::string place_of(const std::string& key);
  ELASTIC_DECL std::optional<stored_state> parse(std::string text) const;

  std::shared_ptr<store> store_;
  std::string key_;
  torch_dialect dialect_;
  std::shared_ptr<time_source> time_;
  std::shared_ptr<key_value_engine> engine_;
};

}  // namespace elastic::detail

#if defined(ELASTIC_HEADER_ONLY)
#include <elastic/torch/detail/store_rendezvous_backend.ipp>
#endif
